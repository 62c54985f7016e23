//! The book's chapter quotes the examples as they are.

/// Without spaces: the chapter indents less.
fn squeezed(code: &str) -> String {
    code.split_whitespace().collect()
}

#[test]
fn the_chapter_quotes_the_examples() {
    let examples = [
        include_str!("../../examples/first.c"),
        include_str!("../../examples/first.cpp"),
        include_str!("../../examples/modules.cpp"),
        include_str!("../../examples/filters.cpp"),
    ]
    .map(squeezed);
    let chapter = include_str!("../../../book/src/c.md");
    let quoted = chapter.split("```").filter_map(|part| part.strip_prefix("cpp\n").or(part.strip_prefix("c\n")));
    let mut count = 0;
    for code in quoted {
        count += 1;
        assert!(
            examples.iter().any(|example| example.contains(&squeezed(code))),
            "no example has these lines:\n{code}"
        );
    }
    assert!(count >= 6, "the chapter quotes {count} examples");
}

/// A wrapper for modules of another runtime takes less than 20 lines.
#[test]
fn modules_are_wrapped_in_under_20_lines() {
    let example = include_str!("../../examples/modules.cpp");
    let wrapper = example.split("// --- ").find(|part| part.starts_with("the wrapper")).unwrap();
    let lines = wrapper.lines().skip(1).filter(|line| !line.trim().is_empty()).count();
    assert!((5..20).contains(&lines), "the wrapper has {lines} lines");
}

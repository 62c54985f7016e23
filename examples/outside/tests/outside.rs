//! Each program runs, and asserts what it shows; the book quotes it as it is.

use std::process::Command;

const PROGRAMS: [(&str, &str, &str); 7] = [
    ("task_kind", env!("CARGO_BIN_EXE_task_kind"), include_str!("../src/bin/task_kind.rs")),
    ("strategy", env!("CARGO_BIN_EXE_strategy"), include_str!("../src/bin/strategy.rs")),
    ("source", env!("CARGO_BIN_EXE_source"), include_str!("../src/bin/source.rs")),
    ("raw_task", env!("CARGO_BIN_EXE_raw_task"), include_str!("../src/bin/raw_task.rs")),
    ("application", env!("CARGO_BIN_EXE_application"), include_str!("../src/bin/application.rs")),
    ("memory", env!("CARGO_BIN_EXE_memory"), include_str!("../src/bin/memory.rs")),
    ("device", env!("CARGO_BIN_EXE_device"), include_str!("../src/bin/device.rs")),
];

#[test]
fn every_program_runs() {
    for (name, program, _) in PROGRAMS {
        let output = Command::new(program).output().unwrap();
        let (shown, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        println!("{name}:\n{shown}{errors}");
        assert!(output.status.success() && !shown.is_empty(), "{name} fails");
    }
}

#[test]
fn every_program_fits_on_a_page() {
    for (name, _, code) in PROGRAMS {
        assert!(code.lines().count() < 80, "{name} is longer than a page");
    }
}

/// A section of the chapter quotes the program that it names last before the code.
#[test]
fn the_book_quotes_the_programs_as_they_are() {
    let chapter = include_str!("../../../book/src/extending.md");
    let mut quoted = Vec::new();
    let mut before = "";
    for (index, part) in chapter.split("```").enumerate() {
        if let Some(code) = part.strip_prefix("rust,ignore\n") {
            let named = PROGRAMS.iter().max_by_key(|(name, ..)| before.rfind(&format!("{name}.rs")));
            let (name, _, program) = named.unwrap();
            assert!(program.contains(code), "{name}.rs has no such lines:\n{code}");
            quoted.push(*name);
        }
        if index % 2 == 0 {
            before = &chapter[..part.as_ptr() as usize - chapter.as_ptr() as usize + part.len()];
        }
    }
    for (name, ..) in PROGRAMS {
        assert!(quoted.contains(&name), "the chapter does not quote {name}.rs");
    }
}

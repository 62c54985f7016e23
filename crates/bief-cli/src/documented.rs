//! The commands that the README, the book and the help show are commands that there are.

use clap::{CommandFactory, Parser};

use crate::Cli;

/// The text, and what it is part of.
type Text = (String, String);

/// The lines of a document between fences that begin as a shell's do.
fn shell_lines(document: &str) -> impl Iterator<Item = &str> {
    let mut is_shell = false;
    document.lines().filter(move |line| {
        if line.starts_with("```") {
            is_shell = *line == "```sh";
            return false;
        }
        is_shell
    })
}

/// The words of each command of this program in a line of a shell: its part of a pipe, up to a comment or a redirection.
fn commands(line: &str) -> Vec<Vec<String>> {
    let mut commands = vec![Vec::new()];
    let (mut word, mut quote) = (None::<String>, None);
    for c in line.chars().chain([' ']) {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (None, '\'' | '"') => (quote, word) = (Some(c), Some(word.unwrap_or_default())),
            (None, '#') if word.is_none() => break,
            (None, '|' | ';') => commands.push(Vec::new()),
            (None, c) if c.is_whitespace() => commands.last_mut().unwrap().extend(word.take()),
            (_, c) => word.get_or_insert_default().push(c),
        }
    }
    for command in &mut commands {
        command.truncate(command.iter().position(|word| word == ">" || word == "<").unwrap_or(command.len()));
    }
    commands.retain(|command| command.first().is_some_and(|word| word == "bief"));
    commands
}

fn documents() -> Vec<Text> {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    let pages = std::fs::read_dir(format!("{root}/book/src")).unwrap().map(|page| page.unwrap().path());
    let pages = pages.filter(|page| page.extension().is_some_and(|end| end == "md"));
    let read = |path: std::path::PathBuf| {
        let text = std::fs::read_to_string(&path).unwrap();
        (path.display().to_string(), shell_lines(&text).collect::<Vec<_>>().join("\n"))
    };
    pages.chain([format!("{root}/README.md").into()]).map(read).collect()
}

/// The examples behind the options of each command.
fn help(command: &clap::Command, name: &str) -> Vec<Text> {
    let own = command.get_after_help().map(|text| (format!("{name} --help"), text.to_string()));
    let parts = command.get_subcommands().flat_map(|part| help(part, &format!("{name} {}", part.get_name())));
    own.into_iter().chain(parts).collect()
}

#[test]
fn commands_that_are_shown_can_be_typed() {
    let mut count = 0;
    for (source, text) in documents().into_iter().chain(help(&Cli::command(), "bief")) {
        let whole_lines = text.split("\\\n").map(str::trim).collect::<Vec<_>>().join(" ");
        for line in whole_lines.lines() {
            for words in commands(line) {
                // Behind two blanks an example of the help says what it does.
                let shown = line.trim_start();
                let words = match shown.split_once("  ").filter(|_| source.ends_with("--help")) {
                    Some((example, _)) => commands(example).pop().unwrap_or(words),
                    None => words,
                };
                let of_workers = ["worker", "workers", "--workers", "--find", "--router", "--pool"];
                if cfg!(not(feature = "workers")) && words.iter().any(|word| of_workers.contains(&&**word)) {
                    continue;
                }
                let parsed = Cli::try_parse_from(&words);
                assert!(parsed.is_ok(), "{source}: `{line}`: {}", parsed.err().unwrap());
                count += 1;
            }
        }
    }
    assert!(count > 100, "{count} commands");
}

#[test]
fn words_are_those_of_a_shell() {
    let words = |line: &str| commands(line).into_iter().map(|words| words.join("+")).collect::<Vec<_>>();
    assert_eq!(words("radio | bief rx - -o - | player"), ["bief+rx+-+-o+-"]);
    assert_eq!(words("bief run x.toml --place \"0; 1-3 | c2\"  # places"), ["bief+run+x.toml+--place+0; 1-3 | c2"]);
    assert_eq!(words("bief plan - > x.json"), ["bief+plan+-"]);
}

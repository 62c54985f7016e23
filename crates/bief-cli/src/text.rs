//! Text that fits where it is shown.

use std::borrow::Cow;

/// The widest line that is printed, in characters.
pub const COLUMNS: usize = 80;

/// The text without what would move the cursor or break the line.
pub fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '?' } else { c }).collect()
}

/// Lines of text without what would move the cursor, whoever wrote it.
pub fn plain(text: &str) -> Cow<'_, str> {
    let moves = |c: char| c.is_control() && c != '\n';
    if text.contains(moves) { text.replace(moves, "?").into() } else { text.into() }
}

/// The text in at most `width` characters, an ellipsis standing for what is missing.
pub fn shortened(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    let start: String = text.chars().take(width.saturating_sub(1)).collect();
    format!("{}…", start.trim_end_matches(|c: char| !c.is_alphanumeric()))
}

/// The text in lines of at most `width` characters, at least 1; a word that is longer goes on in the next line.
pub fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        let letters: Vec<char> = word.chars().collect();
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + letters.len() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.extend(letters.chunks(width).map(String::from_iter)),
        }
    }
    lines
}

/// `a`, `a and b`, `a, b and c`.
pub fn listed(items: &[String]) -> String {
    match items {
        [] => String::new(),
        [only] => only.clone(),
        [others @ .., last] => format!("{} and {last}", others.join(", ")),
    }
}

/// `1 core`, `2 cores`.
pub fn counted(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

/// The name of a kind of cores in a sentence: in quotes where it would not be taken for a name before the word `core`,
/// as a single letter or a name that says `core` itself.
pub fn kind_name(name: &str) -> String {
    let short = name.chars().count() < 3;
    if short || name.to_lowercase().contains("core") || !name.chars().all(char::is_alphanumeric) {
        format!("`{name}`")
    } else {
        name.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_longer_than_a_line_are_broken() {
        assert_eq!(wrapped("of abcdefgh ij k", 4), ["of", "abcd", "efgh", "ij k"]);
        assert_eq!(wrapped("abcdef gh", 5), ["abcde", "f gh"]);
        assert_eq!(wrapped("éééé ab", 3), ["ééé", "é", "ab"]);
        assert!(wrapped(" ", 3).is_empty());
    }

    #[test]
    fn escape_sequences_are_shown_and_lines_stay() {
        assert_eq!(plain("a\u{1b}[2J\rb\nc\u{9b}\t"), "a?[2J?b\nc??");
        assert!(matches!(plain("a\nb"), Cow::Borrowed(_)));
    }

    #[test]
    fn lists_end_with_and() {
        let items = ["a", "b", "c"].map(str::to_owned);
        assert_eq!([listed(&items[..1]), listed(&items[..2]), listed(&items)], ["a", "a and b", "a, b and c"]);
    }

    #[test]
    fn kinds_that_read_badly_before_core_are_quoted() {
        assert_eq!(["big", "a72", "P", "core", "P-cores"].map(kind_name), ["big", "a72", "`P`", "`core`", "`P-cores`"]);
    }
}

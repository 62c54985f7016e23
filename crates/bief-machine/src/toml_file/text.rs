//! The text of a file, and errors that show where in it they are.

use std::ops::Range;

use crate::error::Error;

/// A part of the text, in bytes.
pub type Span = Range<usize>;

/// Characters of a line that are shown around what is wrong.
const SHOWN: usize = 100;

/// A text and what to call it.
#[derive(Debug, Clone)]
pub struct Text {
    /// What errors call it: the name of the file.
    pub name: String,
    /// All of it.
    pub text: String,
}

impl Text {
    /// The number of the line that holds this byte, counted from 1.
    pub fn line(&self, at: usize) -> usize {
        1 + self.before(at).matches('\n').count()
    }

    /// An error that tells file and line, and shows the line with what is meant underlined.
    pub fn error(&self, span: &Span, message: &str) -> Error {
        let before = self.before(span.start);
        let start = before.rfind('\n').map_or(0, |at| at + 1);
        let line = self.text[start..].lines().next().unwrap_or("");
        let column = before[start..].chars().count();
        let wide = self.text.get(span.clone()).map_or(1, |part| part.lines().next().unwrap_or("").chars().count());

        // Of a long line the part around what is wrong.
        let skipped = if column < SHOWN / 2 { 0 } else { column - SHOWN / 4 };
        let shown: String = line.chars().skip(skipped).take(SHOWN).map(printable).collect();
        let marked = column - skipped;
        let marks = wide.min(shown.chars().count().saturating_sub(marked)).max(1);
        let number = self.line(span.start).to_string();
        let gutter = " ".repeat(number.len());
        let message: String = message.chars().map(printable).collect();
        Error::invalid(format!(
            "{}:{number}: {message}\n{gutter} |\n{number} | {}\n{gutter} | {}{}",
            self.name,
            shown.trim_end(),
            " ".repeat(marked),
            "^".repeat(marks)
        ))
    }

    /// What stands before this byte.
    fn before(&self, at: usize) -> &str {
        let boundary = (0..=at.min(self.text.len())).rev().find(|&at| self.text.is_char_boundary(at)).unwrap_or(0);
        &self.text[..boundary]
    }
}

/// The character, or a stand-in for one that would move the cursor.
fn printable(c: char) -> char {
    match c {
        '\t' => ' ',
        c if c.is_control() => '?',
        c => c,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str, span: Span) -> String {
        Text { name: "x.toml".into(), text: text.into() }.error(&span, "no").to_string()
    }

    #[test]
    fn the_line_is_shown_and_the_part_marked() {
        assert_eq!(shown("a = 1\nbé = [2]\r\n", 12..15), "x.toml:2: no\n  |\n2 | bé = [2]\n  |      ^^^");
        assert_eq!(shown("\n\n\tx\u{1b}", 3..4), "x.toml:3: no\n  |\n3 |  x?\n  |  ^");
        // At the end, in an empty text, and over several lines.
        assert_eq!(shown("ab\n", 3..3), "x.toml:2: no\n  |\n2 | \n  | ^");
        assert_eq!(shown("", 0..0), "x.toml:1: no\n  |\n1 | \n  | ^");
        assert_eq!(shown("ab\ncd\n", 1..6), "x.toml:1: no\n  |\n1 | ab\n  |  ^");
    }

    #[test]
    fn of_a_long_line_a_part_is_shown() {
        let text = format!("{}\n{}WRONG{}", "x\n".repeat(9), "é".repeat(1000), "b".repeat(1000));
        let shown = shown(&text, 19 + 2000..19 + 2005);
        let lines: Vec<&str> = shown.lines().collect();
        assert_eq!(lines[2].chars().count(), 5 + SHOWN);
        let marks = lines[3].chars().position(|c| c == '^').unwrap();
        assert_eq!(lines[2].chars().skip(marks).take(5).collect::<String>(), "WRONG");
        assert_eq!(lines[3].matches('^').count(), 5);
    }
}

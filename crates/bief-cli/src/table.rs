//! Tables as wide as their longest values.

use crate::text::{COLUMNS, wrapped};

/// Lines of `name  value`, the values in one column.
pub fn facts(rows: &[(&str, String)]) -> String {
    let width = rows.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
    let lines: Vec<String> = rows.iter().map(|(name, value)| format!("{name:<width$}  {value}")).collect();
    lines.join("\n")
}

/// Rows under headings, two spaces apart, right-aligned but for the column `words`: that one is aligned at its left, and
/// goes on in further lines where there is no more room in a line.
pub fn columns(headings: &[&str], rows: &[Vec<String>], words: Option<usize>) -> Vec<String> {
    let length = |text: &str| text.chars().count();
    let widest = |column: usize| rows.iter().map(|row| length(&row[column])).max().unwrap_or(0);
    let mut widths: Vec<usize> =
        headings.iter().enumerate().map(|(column, heading)| widest(column).max(length(heading))).collect();
    if let Some(words) = words {
        let others: usize = widths.iter().map(|width| width + 2).sum::<usize>() - widths[words] - 2;
        widths[words] = widths[words].min(COLUMNS.saturating_sub(others).max(LEAST_WORDS));
    }
    let line = |cell: &dyn Fn(usize) -> String| {
        let cells = widths.iter().enumerate().map(|(column, &width)| match words == Some(column) {
            true => format!("{:<width$}", cell(column)),
            false => format!("{:>width$}", cell(column)),
        });
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    let mut lines = vec![line(&|column| headings[column].to_owned())];
    for row in rows {
        let parts = words.map_or_else(Vec::new, |words| wrapped(&row[words], widths[words]));
        for part in 0..parts.len().max(1) {
            lines.push(line(&|column| match (words == Some(column), part) {
                (true, _) => parts.get(part).cloned().unwrap_or_default(),
                (false, 0) => row[column].clone(),
                (false, _) => String::new(),
            }));
        }
    }
    lines
}

/// Adds rows under a heading of its own, an empty line after what is there.
pub fn section(lines: &mut Vec<String>, heading: &str, rows: Vec<String>) {
    if !lines.is_empty() {
        lines.push(String::new());
    }
    lines.extend(wrapped(heading, COLUMNS));
    lines.push(String::new());
    lines.extend(rows);
}

/// The narrowest column of words that do not fit.
const LEAST_WORDS: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_go_on_in_further_lines() {
        let row = |number: &str, words: &str| vec![number.to_owned(), words.to_owned(), "1.5 ms".to_owned()];
        let long = "word ".repeat(20);
        let lines = columns(&["#", "words", "time"], &[row("1", "few"), row("12", &long)], Some(1));
        assert_eq!(lines[0], format!(" #  {:68}    time", "words"));
        assert_eq!(lines[1], format!(" 1  {:68}  1.5 ms", "few"));
        assert_eq!(lines[2].len(), 80);
        assert_eq!((lines.len(), lines[3].trim()), (4, ["word"; 7].join(" ").as_str()));
        assert_eq!(columns(&["a", "b"], &[vec!["10".into(), "2".into()]], None), [" a  b", "10  2"]);
    }

    #[test]
    fn values_stand_in_one_column() {
        assert_eq!(facts(&[("a", "1".into()), ("long", "2".into())]), "a     1\nlong  2");
    }
}

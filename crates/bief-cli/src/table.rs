//! Tables as wide as their longest values.

use crate::text::{COLUMNS, wrapped};

/// Lines of `name  value`, the values in one column.
pub(crate) fn facts(rows: &[(&str, String)]) -> String {
    let width = rows.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
    let lines: Vec<String> = rows.iter().map(|(name, value)| format!("{name:<width$}  {value}")).collect();
    lines.join("\n")
}

/// Rows under headings, two spaces apart. The column `words` is aligned at its left and goes on in further lines where
/// there is no more room in a line; numbers stand at the right of the others.
pub(crate) fn columns(headings: &[&str], rows: &[Vec<String>], words: usize) -> Vec<String> {
    let length = |text: &str| text.chars().count();
    let mut widths: Vec<usize> = (0..headings.len())
        .map(|column| {
            let cells = rows.iter().map(|row| length(&row[column]));
            cells.chain([length(headings[column])]).max().unwrap_or(0)
        })
        .collect();
    let others: usize =
        widths.iter().enumerate().filter(|(column, _)| *column != words).map(|(_, width)| width + 2).sum();
    widths[words] = widths[words].min(COLUMNS.saturating_sub(others)).max(LEAST_WORDS);
    let line = |cells: &[&str]| {
        let cells = cells.iter().zip(&widths).enumerate().map(|(column, (cell, &width))| match column == words {
            true => format!("{cell:<width$}"),
            false => format!("{cell:>width$}"),
        });
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    let mut lines = vec![line(headings)];
    for row in rows {
        let parts = wrapped(&row[words], widths[words]);
        for part in 0..parts.len().max(1) {
            let cell = |(column, cell): (usize, &'_ String)| match (column == words, part) {
                (true, _) => parts.get(part).cloned().unwrap_or_default(),
                (false, 0) => cell.clone(),
                (false, _) => String::new(),
            };
            let cells: Vec<String> = row.iter().enumerate().map(cell).collect();
            lines.push(line(&cells.iter().map(String::as_str).collect::<Vec<_>>()));
        }
    }
    lines
}

/// The narrowest column of words.
const LEAST_WORDS: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_go_on_in_further_lines() {
        let row = |number: &str, words: &str| vec![number.to_owned(), words.to_owned(), "1.5 ms".to_owned()];
        let long = "word ".repeat(20);
        let lines = columns(&["#", "words", "time"], &[row("1", "few"), row("12", &long)], 1);
        assert_eq!(lines[0].trim_end(), format!(" #  {:68}    time", "words"));
        assert_eq!(lines[1], format!(" 1  {:68}  1.5 ms", "few"));
        assert_eq!(lines[2].len(), 80);
        assert_eq!((lines.len(), lines[3].trim()), (4, ["word"; 6].join(" ").as_str()));
    }

    #[test]
    fn values_stand_in_one_column() {
        assert_eq!(facts(&[("a", "1".into()), ("long", "2".into())]), "a     1\nlong  2");
    }
}

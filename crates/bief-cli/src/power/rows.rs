//! Rows of measured power: of a CSV file, of a JSON file, or the published ones.

use std::collections::BTreeMap;
use std::path::Path;

use bief_schedule::{PowerRow, Profile};
use serde::Deserialize;

use crate::document;
use crate::failure::Failure;
use crate::published;
use crate::shipped::Shipped;
use crate::text::{printable, shortened};

/// The column of the power.
const WATTS: &str = "watts";
/// The column of the names.
const NAME: &str = "name";
/// Characters of a file that a message shows at most.
const SHOWN: usize = 120;

/// Measured rows.
#[derive(Debug)]
pub(super) struct Rows {
    /// The kinds of cores that are counted.
    pub(super) kinds: Vec<String>,
    /// What each row is called: its number where it has no name.
    pub(super) names: Vec<String>,
    pub(super) rows: Vec<PowerRow>,
}

/// An entry of the JSON file.
#[derive(Deserialize)]
struct Entry {
    name: Option<String>,
    busy: BTreeMap<String, f64>,
    watts: f64,
}

impl Rows {
    /// Reads a file, or standard input: JSON where the text begins as a list or an object, else CSV.
    pub(super) fn read(path: &Path) -> Result<Self, Failure> {
        let is_json = |text: &str| text.trim_start().starts_with(['[', '{']);
        document::read(path, |text| if is_json(text) { Self::of_json(text) } else { Self::of_csv(text) })
    }

    /// The rows of Table 2 that were measured on a machine that ships, with the cores that were busy at the measured rates.
    pub(super) fn published(machine: &Shipped) -> Result<Self, Failure> {
        let profile = Profile::from_json(machine.profile).map_err(Failure::from_error)?;
        let mut found = Self { kinds: profile.kinds().to_vec(), names: Vec::new(), rows: Vec::new() };
        for run in published::runs().into_iter().filter(|run| run.platform == machine.name) {
            let busy = run
                .schedule(&profile)
                .and_then(|schedule| schedule.busy_cores(&profile, run.measured_period_ns(&profile)));
            let busy = busy.map_err(Failure::from_error)?;
            found.rows.push(PowerRow { busy: found.in_order(&busy), watts: run.watts });
            found.names.push(run.id);
        }
        Ok(found)
    }

    fn in_order(&self, busy: &BTreeMap<String, f64>) -> Vec<f64> {
        self.kinds.iter().map(|kind| busy.get(kind).copied().unwrap_or(0.0)).collect()
    }

    fn of_json(text: &str) -> Result<Self, String> {
        let entries: Vec<Entry> = serde_json::from_str(text).map_err(|error| {
            let error = quoted(&error.to_string());
            format!(
                r#"{error}; rows read [{{"busy": {{"big": 1.7, "little": 3}}, "watts": 9.8}}]; "name" may be added"#
            )
        })?;
        let mut found = Self { kinds: Vec::new(), names: Vec::new(), rows: Vec::new() };
        for kind in entries.iter().flat_map(|entry| entry.busy.keys()) {
            if !found.kinds.contains(kind) {
                found.kinds.push(kind.clone());
            }
        }
        for (index, entry) in entries.into_iter().enumerate() {
            found.rows.push(PowerRow { busy: found.in_order(&entry.busy), watts: entry.watts });
            found.names.push(entry.name.unwrap_or_else(|| (index + 1).to_string()));
        }
        Ok(found)
    }

    fn of_csv(text: &str) -> Result<Self, String> {
        // Empty lines and comments count, so that a line's number is that of an editor.
        let lines = text.lines().map(str::trim).enumerate();
        let mut lines = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
        let example = "the first line names the columns, as in name,big,little,watts";
        let (_, head) = lines.next().ok_or_else(|| format!("no rows: {example}"))?;
        let columns: Vec<&str> = head.split(',').map(str::trim).collect();
        if let Some((at, twice)) = columns.iter().enumerate().find(|(at, column)| columns[..*at].contains(column)) {
            let twice = quoted(twice);
            return Err(format!("column {} is called `{twice}` like one before: {example}", at + 1));
        }
        if !columns.contains(&WATTS) {
            return Err(format!("no column is called `{WATTS}`: {example}"));
        }
        let kinds = columns.iter().filter(|column| ![NAME, WATTS].contains(column));
        let mut found =
            Self { kinds: kinds.map(|kind| (*kind).to_owned()).collect(), names: Vec::new(), rows: Vec::new() };
        for (line, text) in lines {
            let cells: Vec<&str> = text.split(',').map(str::trim).collect();
            if cells.len() != columns.len() {
                return Err(format!("line {}: {} values for {} columns", line + 1, cells.len(), columns.len()));
            }
            let mut row = PowerRow { busy: Vec::new(), watts: 0.0 };
            let mut name = (found.rows.len() + 1).to_string();
            for (column, cell) in columns.iter().zip(cells) {
                if *column == NAME {
                    name = cell.to_owned();
                    continue;
                }
                let number: f64 = cell.parse().map_err(|_| {
                    let [cell, column] = [cell, column].map(quoted);
                    format!("line {}: `{cell}` in column `{column}` is no number", line + 1)
                })?;
                if *column == WATTS {
                    row.watts = number;
                } else {
                    row.busy.push(number);
                }
            }
            found.rows.push(row);
            found.names.push(name);
        }
        Ok(found)
    }
}

/// Text of a file in a message.
fn quoted(text: &str) -> String {
    shortened(&printable(text), SHOWN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn csv_and_json_say_the_same() {
        let csv = Rows::of_csv("# meter: socket\nname, big, watts, little\n\na,1.5,9,0\nb,0,5.5,2\n").unwrap();
        let json =
            r#"[{"name": "a", "busy": {"big": 1.5}, "watts": 9}, {"busy": {"little": 2}, "watts": 5.5, "note": 1}]"#;
        let json = Rows::of_json(json).unwrap();
        assert_eq!((&csv.kinds, &csv.rows), (&json.kinds, &json.rows));
        assert_eq!(
            (csv.kinds, csv.names, json.names),
            (
                vec!["big".to_owned(), "little".to_owned()],
                vec!["a".to_owned(), "b".to_owned()],
                vec!["a".to_owned(), "2".to_owned()],
            )
        );
        assert_eq!(csv.rows[1], PowerRow { busy: vec![0.0, 2.0], watts: 5.5 });
    }

    #[test]
    fn what_cannot_be_read_is_told_with_its_line() {
        for (text, reason) in [
            ("", "no rows: the first line names the columns"),
            ("big,little\n1,2", "no column is called `watts`"),
            ("big,big,watts\n1,2,3", "column 2 is called `big` like one before"),
            ("big,watts\n\n1,2,3", "line 3: 3 values for 2 columns"),
            ("big,watts\n1,9\n2,much", "line 3: `much` in column `watts` is no number"),
        ] {
            let said = Rows::of_csv(text).unwrap_err();
            assert!(said.starts_with(reason), "{said}");
        }
        let long = "x".repeat(100_000);
        for text in [
            format!("big,watts\n\u{1b}[2J,{long}"),
            format!("\u{1b}[2J{long},watts\n\u{7},3"),
            format!("{long}\u{1b},{long}\u{1b},watts"),
            format!(r#"[{{"watts": "\u001b{long}"}}]"#),
        ] {
            let said = Rows::of_csv(&text).and_then(|_| Rows::of_json(&text)).unwrap_err();
            assert!(!said.contains(char::is_control) && said.len() < 500, "{said:?}");
            let said = Rows::of_json(&text).unwrap_err();
            assert!(!said.contains(char::is_control) && said.len() < 500, "{said:?}");
        }
        assert!(Rows::of_json("{}").unwrap_err().contains("rows read [{"));
        let said = Rows::of_json("[{\"watts\": 3}]").unwrap_err();
        assert!(said.contains("missing field `busy`") && said.contains("rows read"), "{said}");
    }
}

//! Two-column tables, as wide as their longest value.

/// Lines of `name  value`, the values in one column.
pub(crate) fn facts(rows: &[(&str, String)]) -> String {
    let width = rows.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
    let lines: Vec<String> = rows.iter().map(|(name, value)| format!("{name:<width$}  {value}")).collect();
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    #[test]
    fn values_stand_in_one_column() {
        assert_eq!(super::facts(&[("a", "1".into()), ("long", "2".into())]), "a     1\nlong  2");
    }
}

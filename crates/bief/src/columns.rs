//! Text in the columns of a terminal.

/// The widest line, in characters.
pub(crate) const COLUMNS: usize = 80;

/// A time in the unit that suits it, in at most 9 characters.
pub(crate) fn scaled(ns: u64) -> String {
    match ns as f64 {
        ns if ns < 999.5 => format!("{ns:.0} ns"),
        ns if ns < 999_950.0 => format!("{:.1} us", ns / 1e3),
        ns if ns < 999_950_000.0 => format!("{:.1} ms", ns / 1e6),
        ns if ns < 99_999.5e9 => format!("{:.1} s", ns / 1e9),
        ns => format!("{:.1e} s", ns / 1e9),
    }
}

/// A name in at most `width` characters, without what would move the cursor or break the line.
pub(crate) fn fitted(text: &str, width: usize) -> String {
    let printable = |c: char| if c.is_control() { '?' } else { c };
    if text.chars().count() <= width {
        return text.chars().map(printable).collect();
    }
    text.chars().take(width - 1).map(printable).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_fit_their_column() {
        let times = [0, 999, 1000, 12_345, 999_949, 999_951, 5_000_000_000, 100_000_000_000_000, u64::MAX].map(scaled);
        let expected = ["0 ns", "999 ns", "1.0 us", "12.3 us", "999.9 us", "1.0 ms", "5.0 s", "1.0e5 s", "1.8e10 s"];
        assert_eq!(times, expected);
        assert!(times.iter().all(|time| time.len() <= 9));
    }
}

//! What tasks of a worker tell of their work, as a text.

use bief::report::{Figures, Reading};

/// The longest text that is read.
const MOST_TEXT: usize = 1 << 20;

/// Figures as a text.
pub(crate) fn write(figures: &Figures) -> String {
    serde_json::to_string(figures).unwrap_or_default()
}

/// The figures of a text; `None` of what is no such text, or tells what no task may.
pub(crate) fn read(text: &str) -> Option<Figures> {
    if text.len() > MOST_TEXT {
        return None;
    }
    let figures: Figures = serde_json::from_str(text).ok()?;
    let is_sane = figures.iter().all(|figure| match &figure.reading {
        Reading::Level { mean, weight } => mean.is_finite() && weight.is_finite() && *weight > 0.0,
        _ => true,
    });
    is_sane.then_some(figures)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_travel_and_nonsense_does_not() {
        let mut figures = Figures::default();
        figures.count("crowded", "frames", 3).of("kind", "x");
        figures.level("level", "dB", -1.5, 7.0);
        assert_eq!(read(&write(&figures)), Some(figures));
        for text in [
            "",
            "{}",
            "[1]",
            r#"[{"task":"a","name":"b","level":{"mean":1.0,"weight":0.0}}]"#,
            r#"[{"task":"a","name":"b","count":-1}]"#,
        ] {
            assert_eq!(read(text), None, "{text}");
        }
        assert_eq!(read(&format!("[{}]", " ".repeat(MOST_TEXT))), None);
    }
}

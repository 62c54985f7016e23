//! The lines that power meters and their loggers write: one reading each, `time,watts` or `watts`.

/// More than any sensor or meter of one machine shows, in watts.
pub(in super::super) const MAX_WATTS: f64 = 1e5;
/// Bytes of a line at most.
const LONGEST_LINE: usize = 1024;
/// Seconds that a time may be away from 0, in either direction: all dates have room in it, and microseconds are told apart.
const MAX_SECONDS: f64 = 1e11;

/// How lines are to be read: known from a header, or from the first reading.
#[derive(Debug, Clone, Default)]
pub(super) struct Format(Option<Layout>);

#[derive(Debug, Clone, Copy)]
struct Layout {
    separator: Separator,
    fields: usize,
    /// The field, and seconds of one unit.
    time: Option<(usize, f64)>,
    /// The field, and watts of one unit; none where a header names no power.
    power: Option<(usize, f64)>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Separator {
    Character(char),
    Blanks,
}

/// What a line is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Line {
    Reading {
        /// By the meter's own clock.
        seconds: Option<f64>,
        watts: f64,
    },
    /// Names of columns, or nothing.
    Other,
    /// What nobody understands, or a reading that cannot be.
    Garbage,
}

impl Format {
    /// Whether a header says that there is no power in the lines.
    pub(super) fn lacks_power(&self) -> bool {
        self.0.is_some_and(|layout| layout.power.is_none())
    }

    fn has_power(&self) -> bool {
        self.0.is_some_and(|layout| layout.power.is_some())
    }

    /// Whether lines tell the time of their reading; `None` as long as nobody knows.
    pub(super) fn has_time(&self) -> Option<bool> {
        self.0.map(|layout| layout.time.is_some())
    }

    /// Reads a line.
    pub(super) fn read(&mut self, line: &[u8]) -> Line {
        let Ok(line) = std::str::from_utf8(line) else { return Line::Garbage };
        let line = line.trim_start_matches('\u{feff}').trim();
        if line.is_empty() || line.starts_with('#') {
            return Line::Other;
        }
        if let Some(reading) = self.0.and_then(|layout| layout.reading(line)) {
            return reading;
        }
        // After readings, names without a power are none that were meant to be.
        if let Some(layout) = Layout::of_header(line).filter(|header| header.power.is_some() || !self.has_power()) {
            self.0 = Some(layout);
            return Line::Other;
        }
        let guess = if self.0.is_none() { Layout::of_reading(line) } else { None };
        let Some((layout, reading)) = guess.and_then(|layout| Some((layout, layout.reading(line)?))) else {
            return Line::Garbage;
        };
        // Only a line that makes sense decides how others are read.
        self.0 = Some(layout);
        reading
    }
}

impl Layout {
    fn of_header(line: &str) -> Option<Self> {
        let separator = Separator::of(line);
        let names = separator.split(line);
        if names.iter().any(|name| number(name, separator).is_some()) {
            return None;
        }
        let columns: Vec<Option<Column>> = names.iter().map(|name| Column::named(name)).collect();
        // Words in a row are a sentence, unless every one of them is a name.
        let is_header = match separator {
            Separator::Character(_) => columns.iter().any(Option::is_some),
            Separator::Blanks => columns.iter().all(Option::is_some),
        };
        let find = |kind: fn(Column) -> Option<f64>| {
            columns.iter().enumerate().find_map(|(index, column)| Some((index, kind((*column)?)?)))
        };
        is_header.then(|| Self {
            separator,
            fields: columns.len(),
            time: find(|column| if let Column::Time(unit) = column { Some(unit) } else { None }),
            power: find(|column| if let Column::Power(unit) = column { Some(unit) } else { None }),
        })
    }

    fn of_reading(line: &str) -> Option<Self> {
        let separator = Separator::of(line);
        let fields = separator.split(line).len();
        let time = (fields == 2).then_some((0, 1.0));
        (fields <= 2).then_some(Self { separator, fields, time, power: Some((fields - 1, 1.0)) })
    }

    fn reading(&self, line: &str) -> Option<Line> {
        let fields = self.separator.split(line);
        if fields.len() != self.fields {
            return None;
        }
        let value = |(index, unit): (usize, f64)| Some(number(fields.get(index)?, self.separator)? * unit);
        let watts = value(self.power?).filter(|watts| (0.0..=MAX_WATTS).contains(watts))?;
        let seconds = match self.time {
            Some(time) => Some(value(time).filter(|seconds| seconds.abs() <= MAX_SECONDS)?),
            None => None,
        };
        Some(Line::Reading { seconds, watts })
    }
}

impl Separator {
    fn of(line: &str) -> Self {
        [';', '\t', ','].into_iter().find(|&c| line.contains(c)).map_or(Self::Blanks, Self::Character)
    }

    fn split(self, line: &str) -> Vec<&str> {
        let fields: Vec<&str> = match self {
            Self::Character(c) => line.split(c).collect(),
            Self::Blanks => line.split_whitespace().collect(),
        };
        fields.into_iter().map(|field| field.trim().trim_matches('"').trim()).collect()
    }
}

/// A finite number; with a comma for its point where fields are separated by `;`.
fn number(field: &str, separator: Separator) -> Option<f64> {
    // `inf`, `nan` and the like are none.
    if !field.bytes().all(|byte| byte.is_ascii_digit() || b"+-.,eE".contains(&byte)) {
        return None;
    }
    let number: f64 = match separator {
        Separator::Character(';') => field.replace(',', ".").parse().ok()?,
        _ => field.parse().ok()?,
    };
    number.is_finite().then_some(number)
}

/// What a header says about a column.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Column {
    /// Seconds of one unit.
    Time(f64),
    /// Watts of one unit.
    Power(f64),
    /// Something else that meters measure.
    Other,
}

impl Column {
    /// `Power (mW)`, `power_mw` and `mW` are the same name.
    fn named(name: &str) -> Option<Self> {
        let words: String =
            name.chars().map(|c| if c.is_alphanumeric() { c.to_ascii_lowercase() } else { ' ' }).collect();
        Some(match words.split_whitespace().collect::<Vec<_>>().join("_").as_str() {
            "time" | "timestamp" | "seconds" | "second" | "sec" | "s" | "t" | "time_s" | "time_sec"
            | "time_seconds" | "timestamp_s" | "elapsed" | "elapsed_s" => Self::Time(1.0),
            "ms" | "milliseconds" | "time_ms" | "timestamp_ms" | "elapsed_ms" => Self::Time(1e-3),
            "us" | "microseconds" | "time_us" | "timestamp_us" | "elapsed_us" => Self::Time(1e-6),
            "watts" | "watt" | "w" | "power" | "power_w" | "power_watts" => Self::Power(1.0),
            "mw" | "milliwatts" | "power_mw" => Self::Power(1e-3),
            "uw" | "microwatts" | "power_uw" => Self::Power(1e-6),
            "volts" | "volt" | "v" | "mv" | "voltage" | "voltage_v" | "voltage_mv" | "amps" | "amperes" | "a"
            | "ma" | "current" | "current_a" | "current_ma" | "energy" | "energy_j" | "energy_wh" | "energy_mwh"
            | "j" | "joules" | "wh" | "mwh" | "frequency" | "hz" => Self::Other,
            _ => return None,
        })
    }
}

/// Bytes cut into lines, however they come.
#[derive(Debug, Clone, Default)]
pub(super) struct Lines {
    /// The line that goes on.
    line: Vec<u8>,
    /// What comes until the next end of a line is no line of its own.
    is_cut: bool,
}

impl Lines {
    /// Lines of which the first lacks its beginning.
    pub(super) fn cut() -> Self {
        Self { line: Vec::new(), is_cut: true }
    }

    /// Gives every line that ends within these bytes; one that is too long is `None`.
    pub(super) fn feed(&mut self, bytes: &[u8], mut each: impl FnMut(Option<&[u8]>)) {
        for piece in bytes.split_inclusive(|byte| b"\r\n".contains(byte)) {
            let (text, ends) = match piece {
                [text @ .., b'\r' | b'\n'] => (text, true),
                text => (text, false),
            };
            if !self.is_cut {
                self.line.extend_from_slice(&text[..text.len().min(LONGEST_LINE + 1 - self.line.len())]);
            }
            if self.line.len() > LONGEST_LINE {
                each(None);
                self.line.clear();
                self.is_cut = true;
            }
            if ends {
                if !std::mem::take(&mut self.is_cut) {
                    each(Some(&self.line));
                }
                self.line.clear();
            }
        }
    }

    /// Gives the last line where nothing ends it.
    pub(super) fn finish(&mut self, mut each: impl FnMut(Option<&[u8]>)) {
        if !self.line.is_empty() {
            each(Some(&std::mem::take(&mut self.line)));
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn reading(seconds: impl Into<Option<f64>>, watts: f64) -> Line {
        Line::Reading { seconds: seconds.into(), watts }
    }

    /// What a format makes of lines, one after the other.
    fn all(lines: &[&str]) -> Vec<Line> {
        let mut format = Format::default();
        lines.iter().map(|line| format.read(line.as_bytes())).collect()
    }

    #[test]
    fn separators_and_commas() {
        assert_eq!(all(&["0.5,12.25", "1,13"]), [reading(0.5, 12.25), reading(1.0, 13.0)]);
        assert_eq!(all(&["0,5;12,25", "1.5;13"]), [reading(0.5, 12.25), reading(1.5, 13.0)]);
        assert_eq!(all(&["1\t2", "  3   4 ", "3\t4"]), [reading(1.0, 2.0), Line::Garbage, reading(3.0, 4.0)]);
        assert_eq!(all(&[" 1   2 ", "\"3\" 4"]), [reading(1.0, 2.0), reading(3.0, 4.0)]);
        assert_eq!(
            all(&["12.5", "# pause", "", "1e1"]),
            [reading(None, 12.5), Line::Other, Line::Other, reading(None, 10.0)]
        );
    }

    #[test]
    fn headers_name_columns_and_units() {
        let named = |header: &str, line: &str| all(&[header, line])[1];
        assert_eq!(named("watts,time", "5,2"), reading(2.0, 5.0));
        assert_eq!(named("\u{feff}Time (ms);Voltage (V);Power (mW)", "1500;5,1;2500,5"), reading(1.5, 2.5005));
        assert_eq!(named("timestamp,power_mw,phase", "7,9000,x"), reading(7.0, 9.0));
        assert_eq!(named("\"W\"", "3"), reading(None, 3.0));
        assert_eq!(named("ms W", "20 4"), reading(0.02, 4.0));
    }

    #[test]
    fn a_header_without_power_makes_every_line_garbage() {
        let mut format = Format::default();
        assert_eq!(format.read(b"time,volts"), Line::Other);
        assert!(format.lacks_power());
        assert_eq!(format.read(b"1,5.1"), Line::Garbage);
        assert_eq!(format.read(b"time,watts"), Line::Other);
        assert_eq!(format.read(b"1,5.1"), reading(1.0, 5.1));
        // A greeting is no header.
        assert_eq!(all(&["Power meter ready", "1 5"]), [Line::Garbage, reading(1.0, 5.0)]);
    }

    #[test]
    fn what_cannot_be_is_garbage() {
        for line in
            ["x", "1,2,3", "nan", "inf", "1,-5", "-1", "1e9", "1,", ",5", "1e12,5", "1e400", "--1", "0x10", "5 W"]
        {
            assert_eq!(all(&[line]), [Line::Garbage], "{line}");
        }
        assert_eq!(Format::default().read(&[b'1', 0xFF]), Line::Garbage);
        // It does not decide how the others are read, and they do decide how it is read.
        assert_eq!(all(&["x;y", "1,2", "3", "4;5"]), [Line::Garbage, reading(1.0, 2.0), Line::Garbage, Line::Garbage]);
        // Nor do letters that could be names.
        assert_eq!(all(&["1,2", "a", "3,4"]), [reading(1.0, 2.0), Line::Garbage, reading(3.0, 4.0)]);
    }

    #[test]
    fn long_lines_pass_in_bounded_memory() {
        let mut lines = Lines::default();
        let mut seen = Vec::new();
        for _ in 0..100 {
            lines.feed(&[b'7'; 333], |line| seen.push(line.map(<[u8]>::to_vec)));
            assert!(lines.line.len() <= LONGEST_LINE);
        }
        lines.feed(b"8\n9\n", |line| seen.push(line.map(<[u8]>::to_vec)));
        assert_eq!(seen, [None, Some(b"9".to_vec())]);
    }

    #[test]
    fn a_first_line_without_its_beginning_is_none() {
        let mut seen = Vec::new();
        let mut lines = Lines::cut();
        lines.feed(b"3.4\r\n5", |line| seen.push(line.map(<[u8]>::to_vec)));
        lines.finish(|line| seen.push(line.map(<[u8]>::to_vec)));
        assert_eq!(seen, [Some(Vec::new()), Some(b"5".to_vec())]);
    }

    proptest! {
        #[test]
        fn lines_do_not_depend_on_how_bytes_come(
            bytes in prop::collection::vec(prop_oneof![Just(b'\n'), Just(b'\r'), any::<u8>(), Just(b'1')], 0..300),
            sizes in prop::collection::vec(1_usize..150, 1..20),
        ) {
            let (mut whole, mut parts) = (Vec::new(), Vec::new());
            let mut lines = Lines::default();
            lines.feed(&bytes, |line| whole.push(line.map(<[u8]>::to_vec)));
            lines.finish(|line| whole.push(line.map(<[u8]>::to_vec)));
            let (mut lines, mut rest) = (Lines::default(), &bytes[..]);
            for size in sizes.iter().cycle() {
                let (chunk, after) = rest.split_at((*size).min(rest.len()));
                lines.feed(chunk, |line| parts.push(line.map(<[u8]>::to_vec)));
                rest = after;
                if rest.is_empty() {
                    break;
                }
            }
            lines.finish(|line| parts.push(line.map(<[u8]>::to_vec)));
            prop_assert_eq!(whole, parts);
        }

        #[test]
        fn written_readings_are_read_back(
            readings in prop::collection::vec((0.0..1e6_f64, 0.0..1e5_f64), 1..20),
            form in prop::sample::select(vec![",", ";", "\t", " ", ";,"]),
            header in any::<bool>(),
        ) {
            let (separator, comma) = (&form[..1], form.len() > 1);
            let mut format = Format::default();
            if header {
                prop_assert_eq!(format.read(format!("time{separator}power_mw").as_bytes()), Line::Other);
            }
            for (seconds, watts) in readings {
                let scale = if header { 1e3 } else { 1.0 };
                let mut text = format!("{seconds}{separator}{}", watts * scale);
                if comma {
                    text = text.replace('.', ",");
                }
                match format.read(text.as_bytes()) {
                    Line::Reading { seconds: Some(read), watts: power } => {
                        prop_assert_eq!(read, seconds);
                        prop_assert!((power - watts).abs() <= 1e-9 * watts);
                    }
                    other => prop_assert!(false, "{}: {:?}", text, other),
                }
            }
        }
    }
}

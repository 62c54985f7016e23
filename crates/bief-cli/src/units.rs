//! Numbers as a reader wants them: few digits, and a unit that suits their size.

use std::time::Duration;

use bief_schedule::Period;

/// The unit that all times of a table are shown in.
#[derive(Clone, Copy)]
pub struct Unit {
    /// Its symbol.
    pub name: &'static str,
    ns: f64,
}

impl Unit {
    /// The unit in which times up to `longest` have few digits.
    pub fn for_times_up_to(longest: Period) -> Self {
        match longest.ns() {
            ns if ns < 1e4 => Self { name: "ns", ns: 1.0 },
            ns if ns < 1e8 => Self { name: "us", ns: 1e3 },
            ns if ns < 1e11 => Self { name: "ms", ns: 1e6 },
            _ => Self { name: "s", ns: 1e9 },
        }
    }

    /// The time, without its unit: with one decimal, or more where that would leave less than a digit that counts, and
    /// below 10 ns, where a rate shows more.
    pub fn number(self, time: Period) -> String {
        let value = time.ns() / self.ns;
        if time == Period::ZERO || (value >= 0.1 && time.ns() >= 10.0) {
            format!("{value:.1}")
        } else {
            significant(value)
        }
    }

    /// The time and its unit.
    pub fn show(self, time: Period) -> String {
        format!("{} {}", self.number(time), self.name)
    }
}

/// A time in the unit that suits it alone.
pub fn time(time: Period) -> String {
    Unit::for_times_up_to(time).show(time)
}

/// How long a computation took, with three digits.
pub fn elapsed(time: Duration) -> String {
    let seconds = time.as_secs_f64();
    let (value, unit) = match seconds {
        s if s < 1e-3 => (s * 1e6, "us"),
        s if s < 1.0 => (s * 1e3, "ms"),
        s => (s, "s"),
    };
    let digits = if value < 10.0 { 2 } else { usize::from(value < 100.0) };
    format!("{value:.digits$} {unit}")
}

/// Reads a time above 0 with its unit, as on a command line.
pub fn parse_time(text: &str) -> Result<Period, String> {
    Period::with_unit(text).ok_or_else(|| "give a time above zero with its unit, such as 750us or 20ms".to_owned())
}

/// The same in whole nanoseconds, rounded up.
pub fn duration(text: &str) -> Result<Duration, String> {
    parse_time(text).map(|time| Duration::from_nanos(time.ns().ceil() as u64))
}

/// A number of nanoseconds, which may be negative, in the unit that suits it, with three digits.
pub fn nanoseconds(ns: f64) -> String {
    let sign = if ns < 0.0 { "-" } else { "" };
    // What would be rounded up to 1000 is 1 of the next unit.
    let (value, unit) = match ns.abs() {
        ns if ns < 999.5 => (ns, "ns"),
        ns if ns < 999.5e3 => ((ns / 1e3).max(1.0), "us"),
        ns if ns < 999.5e6 => ((ns / 1e6).max(1.0), "ms"),
        ns => ((ns / 1e9).max(1.0), "s"),
    };
    format!("{sign}{} {unit}", significant(value))
}

/// An energy in the unit that suits it, with three digits.
pub fn energy(joules: f64) -> String {
    let (value, unit) = match joules {
        j if j >= 1.0 => (j, "J"),
        j if j >= 1e-3 => (j * 1e3, "mJ"),
        j if j >= 1e-6 => (j * 1e6, "uJ"),
        j if j >= 1e-9 || j == 0.0 => (j * 1e9, "nJ"),
        j => (j * 1e12, "pJ"),
    };
    format!("{} {unit}", significant(value))
}

/// A number with three digits that count, or more where it is large; as `5.56e-17` where it is very small, or so
/// large that its digits are hard to count.
pub fn significant(value: f64) -> String {
    match value {
        0.0 => "0".to_owned(),
        v if v < 0.0 => format!("-{}", significant(-v)),
        v if !(1e-3..1e10).contains(&v) => format!("{v:.2e}"),
        v if v >= 100.0 => format!("{v:.0}"),
        v if v >= 10.0 => format!("{v:.1}"),
        v if v >= 1.0 => format!("{v:.2}"),
        v if v >= 0.1 => format!("{v:.3}"),
        v if v >= 0.01 => format!("{v:.4}"),
        v => format!("{v:.5}"),
    }
}

/// A power of ten, in few characters: `0.01`, `1000`, `1e5`.
pub fn decade_name(value: f64) -> String {
    if value < 1e5 { value.to_string() } else { format!("{value:e}") }
}

/// Which part of `whole` the time `part` is; 0 where the whole is no time at all.
pub fn share(part: Period, whole: Period) -> f64 {
    if whole == Period::ZERO { 0.0 } else { part.ns() / whole.ns() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_the_unit_that_suits_them() {
        for (ns, shown) in [
            (0, "0.0 ns"),
            (9_999, "9999.0 ns"),
            (950_900, "950.9 us"),
            (120_000_000, "120.0 ms"),
            (1_080_000_000_000, "1080.0 s"),
        ] {
            assert_eq!(time(Period::from(ns)), shown);
        }
        for (ns, shown) in
            [(4_100, "4.10 us"), (57_300, "57.3 us"), (119_300_000, "119 ms"), (68_170_000_000, "68.2 s")]
        {
            assert_eq!(elapsed(Duration::from_nanos(ns)), shown);
        }
    }

    #[test]
    fn short_times_keep_their_digits() {
        for ((num, den), shown) in [
            ((42, 16_000), "0.00263 ns"),
            ((1, 16_000), "6.25e-5 ns"),
            ((1, 3), "0.333 ns"),
            ((9, 1), "9.00 ns"),
            ((25, 2), "12.5 ns"),
        ] {
            assert_eq!(time(Period::new(num, den).unwrap()), shown);
        }
        let ms = Unit::for_times_up_to(Period::from(200_000_000));
        assert_eq!([23_000, 120_000].map(|ns| ms.show(Period::from(ns))), ["0.0230 ms", "0.1 ms"]);
    }

    #[test]
    fn energies_have_the_unit_that_suits_them() {
        for (joules, shown) in [
            (0.0, "0 nJ"),
            (7.94e-7, "794 nJ"),
            (0.0113, "11.3 mJ"),
            (2.5e-5, "25.0 uJ"),
            (3e-11, "30.0 pJ"),
            (42.0, "42.0 J"),
        ] {
            assert_eq!(energy(joules), shown);
        }
    }

    #[test]
    fn nanoseconds_have_the_unit_that_suits_them() {
        for (ns, shown) in [
            (0.0, "0 ns"),
            (83.0, "83.0 ns"),
            (999.7, "1.00 us"),
            (12e6, "12.0 ms"),
            (-4_550.0, "-4.55 us"),
            (3.2e9, "3.20 s"),
        ] {
            assert_eq!(nanoseconds(ns), shown);
        }
    }

    #[test]
    fn decades_have_short_names() {
        assert_eq!([-2, 0, 4, 5, 7].map(|power| decade_name(10f64.powi(power))), ["0.01", "1", "10000", "1e5", "1e7"]);
    }

    #[test]
    fn numbers_keep_three_digits_however_small_or_large() {
        for (value, shown) in [
            (5.5555e-17, "5.56e-17"),
            (0.001234, "0.00123"),
            (0.04567, "0.0457"),
            (0.5, "0.500"),
            (59.87, "59.9"),
            (8e6, "8000000"),
            (380_952_380_952.0, "3.81e11"),
            (0.0, "0"),
            (-1.894, "-1.89"),
        ] {
            assert_eq!(significant(value), shown);
        }
    }

    #[test]
    fn times_have_units() {
        for (text, ns) in [("50us", 50_000), ("750 us", 750_000), ("0.5ms", 500_000), ("1s", 1_000_000_000), ("8ns", 8)]
        {
            assert_eq!(duration(text), Ok(Duration::from_nanos(ns)), "{text}");
        }
        for text in ["50", "us", "-1us", "0ms", "infs", "1h", ""] {
            assert!(duration(text).unwrap_err().contains("750us"), "{text}");
        }
    }
}

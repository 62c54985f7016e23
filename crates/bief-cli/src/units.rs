//! Numbers as a reader wants them: few digits, and a unit that suits their size.

use std::time::Duration;

use bief_schedule::Period;

/// The unit that all times of a table are shown in.
#[derive(Clone, Copy)]
pub(crate) struct Unit {
    /// Its symbol.
    pub(crate) name: &'static str,
    ns: f64,
}

impl Unit {
    /// The unit in which times up to `longest` have few digits.
    pub(crate) fn for_times_up_to(longest: Period) -> Self {
        match longest.ns() {
            ns if ns < 1e4 => Self { name: "ns", ns: 1.0 },
            ns if ns < 1e8 => Self { name: "us", ns: 1e3 },
            ns if ns < 1e11 => Self { name: "ms", ns: 1e6 },
            _ => Self { name: "s", ns: 1e9 },
        }
    }

    /// The time, without its unit.
    pub(crate) fn number(self, time: Period) -> String {
        format!("{:.1}", time.ns() / self.ns)
    }

    /// The time and its unit.
    pub(crate) fn show(self, time: Period) -> String {
        format!("{} {}", self.number(time), self.name)
    }
}

/// A time in the unit that suits it alone.
pub(crate) fn time(time: Period) -> String {
    Unit::for_times_up_to(time).show(time)
}

/// How long a computation took, with three digits.
pub(crate) fn elapsed(time: Duration) -> String {
    let seconds = time.as_secs_f64();
    let (value, unit) = match seconds {
        s if s < 1e-3 => (s * 1e6, "us"),
        s if s < 1.0 => (s * 1e3, "ms"),
        s => (s, "s"),
    };
    let digits = if value < 10.0 { 2 } else { usize::from(value < 100.0) };
    format!("{value:.digits$} {unit}")
}

/// A number with three digits that count, or more where it is large.
pub(crate) fn significant(value: f64) -> String {
    match value {
        v if v >= 100.0 => format!("{v:.0}"),
        v if v >= 10.0 => format!("{v:.1}"),
        v if v >= 1.0 => format!("{v:.2}"),
        v => format!("{v:.3}"),
    }
}

/// Which part of `whole` the time `part` is; 0 where the whole is no time at all.
pub(crate) fn share(part: Period, whole: Period) -> f64 {
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
}

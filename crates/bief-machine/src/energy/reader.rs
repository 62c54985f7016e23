//! How a source is read: counters of energy, or sensors of power.

use std::path::PathBuf;
use std::time::Duration;

use super::battery::Battery;
use super::meter::{MAX_WATTS, Meter};
use super::perf;
use super::tree::{number, why};

/// More than what one counter counts ever takes, in watts: a step that means more is none that it took.
const MAX_COUNTED: f64 = 5e3;
/// Counters are brought up to date by a clock of their own, in seconds at most.
const TICK: f64 = 0.1;

/// What a source is read by.
#[derive(Debug)]
pub(super) enum Reader {
    /// Each counts another part: they are added.
    Counters(Vec<Counter>),
    Power(Power),
    Meter(Meter),
}

/// A counter of energy that only grows.
#[derive(Debug)]
pub(super) struct Counter {
    pub(super) input: Input,
    /// The last count before 0, where it begins anew.
    pub(super) range: Option<u64>,
    /// Joules of one count.
    pub(super) unit: f64,
}

#[derive(Debug)]
pub(super) enum Input {
    File(PathBuf),
    Perf(perf::Counter),
}

/// A sensor of power.
#[derive(Debug)]
pub(super) enum Power {
    /// A file in microwatts.
    File(PathBuf),
    /// Files in millivolts and milliamperes.
    Product(PathBuf, PathBuf),
    Batteries(Vec<Battery>),
}

impl Reader {
    /// Whether it can be read now; else why not.
    pub(super) fn check(&self) -> Result<(), String> {
        match self {
            Self::Counters(counters) => counters.iter().try_for_each(|counter| {
                counter.check()?;
                counter.read().map(drop)
            }),
            Self::Power(power) => power.watts().map(drop),
            // What it says comes by itself.
            Self::Meter(_) => Ok(()),
        }
    }

    /// How long readings are apart: a counter cannot go round in it, and a sensor is not disturbed.
    pub(super) fn interval(&self) -> Duration {
        match self {
            Self::Counters(counters) => counters.iter().map(Counter::interval).min().unwrap_or(Duration::MAX),
            Self::Power(Power::Batteries(_)) => Duration::from_secs(1),
            Self::Power(_) => Duration::from_millis(100),
            // It has a thread of its own.
            Self::Meter(_) => Duration::from_secs(3600),
        }
    }
}

impl Counter {
    pub(super) fn read(&self) -> Result<u64, String> {
        match &self.input {
            Input::File(path) => number(path).map_err(|error| why(path, &error)),
            Input::Perf(counter) => counter.read().map_err(|error| format!("the kernel's counter: {error}")),
        }
    }

    /// Whether no step that it can take is longer than its range; else why it is of no use.
    pub(super) fn check(&self) -> Result<(), String> {
        let joules = self.range.map_or(f64::INFINITY, |range| range as f64 * self.unit);
        if joules < MAX_COUNTED / 2.0 {
            return Err(format!("begins anew after {joules} J, so soon that readings cannot follow"));
        }
        Ok(())
    }

    fn interval(&self) -> Duration {
        let round = self.range.map_or(f64::INFINITY, |range| range as f64 * self.unit / MAX_COUNTED);
        Duration::from_secs_f64((round / 2.0).clamp(0.1, 1.0))
    }

    /// Joules from one reading to the next, which is so much later.
    pub(super) fn between(&self, last: u64, now: u64, apart: Duration) -> Result<f64, String> {
        let most = MAX_COUNTED * (apart.as_secs_f64() + TICK);
        let counts = match self.range {
            Some(range) if range as f64 * self.unit <= most => {
                return Err(format!(
                    "was not read for {:.1} s, in which it may have gone round more than once",
                    apart.as_secs_f64()
                ));
            }
            Some(range) if now < last && last <= range => (range - last).saturating_add(now),
            _ if now < last => return Err(format!("went backwards, from {last} to {now}")),
            _ => now - last,
        };
        let joules = counts as f64 * self.unit;
        if joules <= most {
            return Ok(joules);
        }
        let what = if now < last { "went backwards" } else { "jumped" };
        Err(format!("{what}, from {last} to {now} in {:.1} s", apart.as_secs_f64()))
    }
}

impl Power {
    pub(super) fn watts(&self) -> Result<f64, String> {
        let read = |path: &PathBuf| number::<i64>(path).map_err(|error| why(path, &error));
        let watts = match self {
            Self::File(power) => read(power)? as f64 * 1e-6,
            Self::Product(millivolts, milliamperes) => read(millivolts)? as f64 * read(milliamperes)? as f64 * 1e-6,
            Self::Batteries(batteries) => Battery::watts(batteries)?,
        };
        if (0.0..=MAX_WATTS).contains(&watts) { Ok(watts) } else { Err(format!("shows {watts} W")) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn counter(range: Option<u64>) -> Counter {
        Counter { input: Input::File(PathBuf::new()), range, unit: 1e-6 }
    }

    #[test]
    fn a_counter_begins_anew_at_its_range() {
        let rapl = counter(Some(65_532_610_987));
        assert_eq!(rapl.between(1_000_000, 3_500_000, SECOND), Ok(2.5));
        assert_eq!(rapl.between(65_532_610_987 - 1_000_000, 2_000_000, SECOND), Ok(3.0));
        assert_eq!(rapl.between(7, 7, SECOND), Ok(0.0));
    }

    #[test]
    fn steps_that_no_machine_takes_are_refused() {
        let rapl = counter(Some(65_532_610_987));
        let backwards = rapl.between(9_000_000, 8_000_000, SECOND).unwrap_err();
        assert_eq!(backwards, "went backwards, from 9000000 to 8000000 in 1.0 s");
        let jump = rapl.between(0, 60_000_000_000, SECOND).unwrap_err();
        assert_eq!(jump, "jumped, from 0 to 60000000000 in 1.0 s");
        let beyond = rapl.between(70_000_000_000, 5, SECOND).unwrap_err();
        assert_eq!(beyond, "went backwards, from 70000000000 to 5");
        let late = rapl.between(0, 1, Duration::from_secs(20)).unwrap_err();
        assert_eq!(late, "was not read for 20.0 s, in which it may have gone round more than once");
        assert!(counter(None).between(2, 1, SECOND).unwrap_err().starts_with("went backwards"));
        assert_eq!(counter(None).between(0, 1_000_000, Duration::from_secs(3600)), Ok(1.0));
    }

    #[test]
    fn a_counter_is_read_before_it_can_go_round() {
        for range in [2_500_000_000, 4_000_000_000, 65_532_610_987, u64::MAX] {
            let counter = counter(Some(range));
            assert_eq!(counter.check(), Ok(()));
            assert!(MAX_COUNTED * (counter.interval().as_secs_f64() + TICK) < range as f64 * 1e-6, "{range}");
        }
        assert!(counter(Some(1_000_000)).check().unwrap_err().contains("after 1 J"));
        assert!(counter(Some(0)).check().is_err());
    }
}

//! What a run under a real-time class had, and how far its frames kept to their bound.

use std::fmt;
use std::time::Duration;

use bief_machine::class::{Class, Forecast, Reservation};
use bief_machine::clock::nanoseconds;
use bief_machine::histogram::Histogram;
use serde::{Deserialize, Serialize};

use crate::columns::{fitted, scaled};

/// The scheduling classes of a run, and how well they held; asked for by [`RealTime`](super::RealTime).
#[derive(Debug, Clone, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RealTimeReport {
    /// The stages, from source to sink.
    pub stages: Vec<StageClass>,
    /// What was reserved, beside what could be; `None` if no reservations were asked for.
    pub reservations: Option<Forecast>,
    /// Whether the memory of this process was fetched and kept before the run.
    pub memory_is_locked: bool,
    /// Processor time that this virtual machine had work for and was not given, of all its cores and programs together;
    /// `None` where no system tells.
    pub stolen_seconds: Option<f64>,
    /// Frames against their bound; `None` if none was set.
    pub bound: Option<AgainstBound>,
}

/// The scheduling class of one stage's threads.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[non_exhaustive]
pub struct StageClass {
    /// The stage's name.
    pub name: String,
    /// The class of all its threads: the ordinary one if another was refused to one of them.
    pub class: Class,
    /// What each of its threads had reserved.
    pub reservation: Option<Reservation>,
    /// How often a thread had used up its budget before it was done, at least: the kernel looks at each tick of its clock.
    /// `None` without reservations, or where that is not told.
    pub overruns: Option<u64>,
    /// How often its threads lost their core while they had work; `None` where no system tells.
    pub interruptions: Option<u64>,
}

/// Latencies of frames compared with a bound, in nanoseconds. Every frame that passed the last task is counted exactly;
/// quantiles are accurate to 2 %.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct AgainstBound {
    /// The bound.
    pub bound_ns: u64,
    /// What is added to it for the machine.
    pub allowance_ns: u64,
    /// Frames that passed the last task.
    pub frames: u64,
    /// Those within the bound, by the tenth of it that they took: up to a tenth, more than that up to two, and so on.
    pub tenths: [u64; 10],
    /// Those over the bound.
    pub over: u64,
    /// Those over bound and allowance.
    pub beyond: u64,
    /// The time that half of the frames took at most.
    pub median_ns: u64,
    /// The time that 99 of 100 frames took at most.
    pub p99_ns: u64,
    /// The time that 999 of 1000 frames took at most.
    pub p999_ns: u64,
    /// The longest time.
    pub max_ns: u64,
}

/// Frames counted against a bound while they are delivered.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Tally {
    bound: u64,
    allowance: u64,
    tenths: [u64; 10],
    over: u64,
    beyond: u64,
}

impl Tally {
    pub(crate) fn new(bound: Duration, allowance: Duration) -> Self {
        Self { bound: nanoseconds(bound), allowance: nanoseconds(allowance), tenths: [0; 10], over: 0, beyond: 0 }
    }

    pub(crate) fn clear(&mut self) {
        (self.tenths, self.over, self.beyond) = ([0; 10], 0, 0);
    }

    /// Counts frames that took so long.
    pub(crate) fn record(&mut self, ns: u64, frames: u64) {
        if ns > self.bound {
            self.over += frames;
            self.beyond += if ns - self.bound > self.allowance { frames } else { 0 };
        } else {
            let tenth = u128::from(ns.saturating_sub(1)) * 10 / u128::from(self.bound);
            self.tenths[tenth as usize] += frames;
        }
    }

    /// Counts what `other`, of the same bound, has counted too.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.tenths.iter_mut().zip(other.tenths).for_each(|(mine, theirs)| *mine += theirs);
        self.over += other.over;
        self.beyond += other.beyond;
    }
}

impl AgainstBound {
    /// Of frames whose times are in `times`, too.
    pub(crate) fn of(tally: &Tally, times: &Histogram) -> Self {
        Self {
            bound_ns: tally.bound,
            allowance_ns: tally.allowance,
            frames: tally.tenths.iter().sum::<u64>() + tally.over,
            tenths: tally.tenths,
            over: tally.over,
            beyond: tally.beyond,
            median_ns: times.percentile(50),
            p99_ns: times.percentile(99),
            p999_ns: times.per_mille(999),
            max_ns: times.max(),
        }
    }
}

/// A table of 80 columns.
impl fmt::Display for RealTimeReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:<22} {:<9} {:>9} {:>9} {:>9} {:>8} {:>8}",
            "real time", "class", "budget", "deadline", "period", "overruns", "lost cpu"
        )?;
        let or_dash = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
        for stage in &self.stages {
            let time = |part: fn(&Reservation) -> u64| or_dash(stage.reservation.as_ref().map(|all| scaled(part(all))));
            write!(
                f,
                "\n{:<22} {:<9} {:>9} {:>9} {:>9} {:>8} {:>8}",
                fitted(&stage.name, 22),
                stage.class,
                time(|reservation| reservation.budget_ns),
                time(|reservation| reservation.deadline_ns),
                time(|reservation| reservation.period_ns),
                or_dash(stage.overruns.map(|count| count.to_string())),
                or_dash(stage.interruptions.map(|count| count.to_string())),
            )?;
        }
        if let Some(Forecast { capacity, reserved, margin, .. }) = self.reservations
            && reserved > 0.0
        {
            write!(
                f,
                "\nreserved: {reserved:.2} of {capacity:.2} cores, with {:.0} % of the wished margins",
                100.0 * margin
            )?;
        }
        if !self.memory_is_locked {
            write!(f, "\nmemory: not locked")?;
        }
        if let Some(seconds) = self.stolen_seconds {
            write!(f, "\nstolen from this machine meanwhile: {seconds:.2} s of processor time")?;
        }
        self.bound.map_or(Ok(()), |bound| write!(f, "\n\n{bound}"))
    }
}

/// A table of 80 columns.
impl fmt::Display for AgainstBound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:<30} {:>9} {:>9} {:>9} {:>9} {:>9}\n{:<30} {:>9}",
            "against the bound",
            "frames",
            "median",
            "p99",
            "p99.9",
            "max",
            format!("{}, allowance {}", scaled(self.bound_ns), scaled(self.allowance_ns)),
            self.frames
        )?;
        for ns in [self.median_ns, self.p99_ns, self.p999_ns, self.max_ns] {
            write!(f, " {:>9}", scaled(ns))?;
        }
        let tenths: Vec<String> = self.tenths.iter().map(u64::to_string).collect();
        write!(f, "\nframes by tenths of the bound: {}", tenths.join(" "))?;
        write!(f, "\nframes over the bound: {}; over bound and allowance: {}", self.over, self.beyond)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn every_frame_is_counted_where_it_belongs(
            bound in 1..u64::MAX / 2,
            allowance in 0..1_000_000_u64,
            times in proptest::collection::vec((any::<u64>(), 0..64_u32, 1..5_u64), 1..50),
        ) {
            let mut tally = Tally::new(Duration::from_nanos(bound), Duration::from_nanos(allowance));
            let mut apart = [tally, tally];
            let mut histogram = Histogram::new();
            let (mut over, mut beyond, mut tenths) = (0, 0, [0; 10]);
            for (index, (ns, shift, frames)) in times.into_iter().enumerate() {
                let ns = ns >> shift;
                tally.record(ns, frames);
                apart[index % 2].record(ns, frames);
                histogram.record(ns, frames);
                over += if ns > bound { frames } else { 0 };
                beyond += if ns > bound + allowance { frames } else { 0 };
                let tenth = (1..=10_u128).find(|&tenth| u128::from(ns) * 10 <= u128::from(bound) * tenth);
                if let Some(tenth) = tenth {
                    tenths[tenth as usize - 1] += frames;
                }
            }
            let found = AgainstBound::of(&tally, &histogram);
            prop_assert_eq!((found.over, found.beyond, found.tenths), (over, beyond, tenths));
            prop_assert_eq!((found.frames, found.max_ns), (histogram.count(), histogram.max()));
            let [mut merged, other] = apart;
            merged.merge(&other);
            prop_assert_eq!(AgainstBound::of(&merged, &histogram), found);
            merged.clear();
            prop_assert_eq!(AgainstBound::of(&merged, &Histogram::new()).frames, 0);
        }
    }

    #[test]
    fn the_table_fits_a_terminal_and_names_units() {
        let reservation = Reservation { budget_ns: 2_400_000, deadline_ns: 4_000_000, period_ns: 4_000_000 };
        let stage = |name: &str, class, reservation, overruns| StageClass {
            name: name.to_owned(),
            class,
            reservation,
            overruns,
            interruptions: Some(12_345_678),
        };
        let mut tally = Tally::new(Duration::from_millis(12), Duration::from_millis(1));
        let mut times = Histogram::new();
        for (ns, frames) in [(1_000_000, 996), (12_500_000, 3), (14_000_000, 1)] {
            tally.record(ns, frames);
            times.record(ns, frames);
        }
        let report = RealTimeReport {
            stages: vec![
                stage("a stage with a name that is\nmuch too long", Class::Deadline, Some(reservation), Some(3)),
                stage("out", Class::Ordinary, None, None),
            ],
            reservations: Some(Forecast { capacity: 1.8, least: 0.6, reserved: 1.2, margin: 0.5 }),
            memory_is_locked: false,
            stolen_seconds: Some(0.25),
            bound: Some(AgainstBound::of(&tally, &times)),
        };
        let text = report.to_string();
        for part in [
            "deadline     2.4 ms    4.0 ms    4.0 ms        3 12345678",
            "ordinary          -         -         -        -",
            "1.20 of 1.80 cores, with 50 % of the wished margins",
            "0.25 s",
            "12.0 ms, allowance 1.0 ms",
            "996 0 0 0 0 0 0 0 0 0",
            "frames over the bound: 4; over bound and allowance: 1",
        ] {
            assert!(text.contains(part), "`{part}` in\n{text}");
        }
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        let json = serde_json::to_value(&report).unwrap();
        assert_eq!(json["stages"][0]["class"], "deadline");
        assert_eq!(json["stages"][0]["reservation"]["budget_ns"], 2_400_000);
        assert_eq!((&json["bound"]["over"], &json["reservations"]["margin"]), (&4.into(), &0.5.into()));
    }
}

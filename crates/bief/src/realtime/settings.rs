//! What is wanted: a class for the threads of a pipeline, and what happens when the system refuses it.

use std::str::FromStr;
use std::time::Duration;

use bief_machine::class::{Class, Demand, online_cores};
use bief_machine::clock::nanoseconds;

use crate::error::{Error, Result, counted};
use crate::placement::{Placement, StageSlots};
use crate::suggest::suggestion;
use crate::wait::Waiting;

/// The shortest budget that Linux reserves.
const LEAST_BUDGET: Duration = Duration::from_nanos(1024);
/// The shortest and the longest period of a reservation, unless its `sched_deadline_period_*_us` are set otherwise.
const LEAST_PERIOD: Duration = Duration::from_micros(100);
const MOST_PERIOD: Duration = Duration::from_micros(1 << 22);

/// What to do if the system refuses a thread its class.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Mode {
    /// Nothing is asked of the system, as if no class was wanted.
    Off,
    /// Its stage runs in the ordinary class, and the report says so and why ([`Report::notes`](crate::Report::notes)).
    #[default]
    Try,
    /// The run ends with an error that says why, before any frame is worked on.
    Require,
}

impl Mode {
    /// Every mode, by its name.
    pub const NAMED: [(&str, Self); 3] = [("off", Self::Off), ("try", Self::Try), ("require", Self::Require)];
}

impl FromStr for Mode {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        let found = Self::NAMED.iter().find(|(known, _)| *known == name);
        found.map(|&(_, mode)| mode).ok_or_else(|| {
            Error::build(format!(
                "there is no real-time mode named `{name}`{}",
                suggestion(name, Self::NAMED.map(|(name, _)| name))
            ))
        })
    }
}

/// When batches arrive at a stage, and how long it works on each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StageTiming {
    /// From one batch to the next. Each of *r* replicas gets every *r*-th batch, so its period is *r* times as long.
    pub period: Duration,
    /// The longest that a thread works on one batch.
    pub execution: Duration,
    /// From when a batch is there to when the stage should be done with it: its thread's period unless it is set. It decides
    /// who goes first.
    pub deadline: Option<Duration>,
}

impl StageTiming {
    /// With a deadline as long as its thread's period.
    pub fn new(period: Duration, execution: Duration) -> Self {
        Self { period, execution, deadline: None }
    }

    /// Sets the deadline: at least the execution time, at most the period of a thread.
    #[must_use]
    pub fn deadline(mut self, deadline: Duration) -> Self {
        self.deadline = Some(deadline);
        self
    }

    /// What each of so many threads asks for: each works on every so many-th batch.
    fn demand(&self, threads: usize) -> Demand {
        let period = nanoseconds(self.period).saturating_mul(threads as u64);
        Demand::new(nanoseconds(self.execution), self.deadline.map_or(period, nanoseconds), period)
    }

    /// Whether Linux takes it for a stage of so many threads.
    fn check(&self, threads: usize) -> Result<(), String> {
        let Self { period, execution, deadline } = *self;
        let most = period.saturating_mul(threads as u32);
        if execution < LEAST_BUDGET {
            return Err(format!(
                "an execution time of {execution:?} is less than 1024 ns, the shortest budget that Linux reserves: work on more \
                 frames at once"
            ));
        }
        if !(LEAST_PERIOD..=MOST_PERIOD).contains(&most) {
            return Err(format!(
                "a thread's period of {most:?} is not from 100 us to 4.194304 s, which Linux reserves for: change the batch"
            ));
        }
        let deadline = deadline.unwrap_or(most);
        if deadline > most {
            return Err(format!("a deadline of {deadline:?} is after the next batch of its thread, {most:?} later"));
        }
        if execution > deadline {
            return Err(format!(
                "an execution time of {execution:?} does not fit before the deadline, {deadline:?}: use more replicas, lower \
                 the rate or raise the batch"
            ));
        }
        Ok(())
    }
}

/// What class its threads have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Wanted {
    Ordinary,
    Fifo { priority: u32 },
    Deadline { stages: Vec<StageTiming> },
}

/// The scheduling class of a pipeline's threads in its runs, given to [`Pipeline::real_time`](crate::Pipeline::real_time).
///
/// Linux only; elsewhere every class but the ordinary one is refused at run time. A class other than the ordinary one needs a
/// right: `CAP_SYS_NICE`, or for [`fifo`](Self::fifo) a limit `RLIMIT_RTPRIO`. Whatever is refused is said, with what to do
/// about it, in the report or as an error ([`Mode`]).
///
/// ```
/// use std::time::Duration;
///
/// use bief::realtime::{RealTime, StageTiming};
/// use bief::{Chain, Flow, sink, source};
///
/// let mut chain = Chain::new();
/// let frames = chain.add(source::from_slice(&[1, 2, 3, 4], 1), ());
/// chain.stage("out");
/// chain.add(sink::for_each(|_: &[i32]| Ok(Flow::Next)), &frames);
///
/// let timing = StageTiming::new(Duration::from_millis(10), Duration::from_micros(50));
/// let real_time = RealTime::deadline(vec![timing; 2]).bound(Duration::from_millis(20), Duration::from_millis(5));
/// let report = chain.build()?.pipeline_as_marked()?.real_time(real_time)?.run()?;
/// println!("{report}");
/// let bound = report.real_time.expect("it was asked for").bound.expect("it was set");
/// assert_eq!(bound.frames, 4);
/// # Ok::<(), bief::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct RealTime {
    pub(crate) mode: Mode,
    pub(crate) wanted: Wanted,
    reclaim: Option<bool>,
    pub(crate) locks_memory: bool,
    /// Longest latency, and what is added to it for the machine.
    pub(crate) bound: Option<(Duration, Duration)>,
}

impl RealTime {
    fn new(wanted: Wanted) -> Self {
        Self { mode: Mode::default(), locks_memory: wanted != Wanted::Ordinary, wanted, reclaim: None, bound: None }
    }

    /// Reserves processor time for each stage (`SCHED_DEADLINE`), from source to sink: the basis of latency bounds.
    /// Other threads, even those with priorities, cannot take it away, and a task that overruns cannot take that of
    /// other stages.
    ///
    /// A thread's budget is its execution time and a margin: as much again and 250 µs at least, or as much less as the machine has
    /// room for ([`Pipeline::forecast`](crate::Pipeline::forecast)). The times are those of a batch. Threads with reservations
    /// cannot be pinned.
    pub fn deadline(stages: Vec<StageTiming>) -> Self {
        Self::new(Wanted::Deadline { stages })
    }

    /// Gives all threads priority over every ordinary one (`SCHED_FIFO`), from 1 to 99: short latencies, but no bound.
    /// If tasks never wait, as with a source that is always ready, other programs get only the 5 % or so that the
    /// kernel keeps for them.
    pub fn fifo(priority: u32) -> Self {
        Self::new(Wanted::Fifo { priority })
    }

    /// Leaves threads in their class, for comparison: the other settings are still measured and reported.
    pub fn ordinary() -> Self {
        Self::new(Wanted::Ordinary)
    }

    /// Sets what happens when the system refuses ([`Mode::Try`] unless set).
    #[must_use]
    pub fn mode(mut self, mode: Mode) -> Self {
        self.mode = mode;
        self
    }

    /// Sets whether threads with reservations may use the unused time of others (the default): after a disturbance they
    /// catch up sooner. Reservations still hold, but a task that overruns leaves little time to ordinary threads.
    #[must_use]
    pub fn reclaim(mut self, reclaim: bool) -> Self {
        self.reclaim = Some(reclaim);
        self
    }

    /// Sets whether the memory of this process is fetched and kept before a run (`mlockall`), as it is unless set, or the class
    /// is [`ordinary`](Self::ordinary): a page that must be fetched takes long. All that the process has then stays locked
    /// after the run. Where the system refuses, the report says so, in every mode.
    #[must_use]
    pub fn lock_memory(mut self, lock: bool) -> Self {
        self.locks_memory = lock;
        self
    }

    /// Counts frames whose latency exceeds `bound`, and those that exceed it by more than `allowance`, which is the machine's
    /// part ([`probe`](crate::machine::class::probe)); runs are [observed](crate::Pipeline::observe) for it.
    #[must_use]
    pub fn bound(mut self, bound: Duration, allowance: Duration) -> Self {
        self.bound = Some((bound, allowance));
        self
    }

    /// Whether threads of its class must not look for their frames: they would keep others from running, or use up what is
    /// reserved.
    pub(crate) fn parks(&self) -> bool {
        self.wanted != Wanted::Ordinary
    }

    pub(crate) fn reclaims(&self) -> bool {
        self.reclaim.unwrap_or(true)
    }

    /// What each thread of these stages asks for.
    pub(crate) fn demands(&self, stages: &[StageSlots]) -> Vec<Demand> {
        let Wanted::Deadline { stages: timings } = &self.wanted else { return Vec::new() };
        let each = timings.iter().zip(stages);
        each.flat_map(|(timing, stage)| std::iter::repeat_n(timing.demand(stage.threads), stage.threads)).collect()
    }

    /// Whether threads that wait so, of these stages at these places, can have it.
    pub(crate) fn check(&self, stages: &[StageSlots], waiting: Waiting, placement: Option<&Placement>) -> Result<()> {
        if self.bound.is_some_and(|(bound, _)| bound.is_zero()) {
            return Err(Error::build("no frame meets a bound of 0: give at least 1 ns"));
        }
        if self.parks() && waiting == Waiting::Active {
            return Err(Error::build(
                "threads with `active` waiting would keep all others from their cores in a real-time class: choose another way to \
                 wait",
            ));
        }
        if self.parks() && placement.is_some_and(Placement::is_dynamic) {
            return Err(Error::build(match self.wanted {
                Wanted::Deadline { .. } => {
                    "placed dynamic, threads are bound to kinds of cores, but Linux reserves time on all cores together and refuses to \
                     bind a thread that has some: place them loose, or reserve nothing"
                }
                _ => {
                    "placed dynamic, threads are bound to kinds of cores, where one of a real-time class would wait for another for as \
                     long as that works, and so would the mapper: place them loose, or use the ordinary class"
                }
            }));
        }
        match &self.wanted {
            Wanted::Deadline { stages: timings } => {
                check_timings(timings, stages)?;
                placement.and_then(|placement| placement.pinned(online_cores())).map_or(Ok(()), |stage| {
                    Err(Error::build(format!(
                        "stage `{stage}` is pinned, but Linux reserves time on all cores together and refuses to bind a thread \
                         that has some: place it loose, in a program that may use all cores, or use the class fifo"
                    )))
                })
            }
            _ if self.reclaim.is_some() => {
                Err(Error::build("only threads with reservations reclaim: leave it out, or use the class deadline"))
            }
            Wanted::Fifo { priority } => {
                Class::Fifo { priority: *priority }.check()?;
                Ok(())
            }
            Wanted::Ordinary => Ok(()),
        }
    }
}

fn check_timings(timings: &[StageTiming], stages: &[StageSlots]) -> Result<()> {
    if timings.len() != stages.len() {
        return Err(Error::build(format!(
            "{} for a pipeline of {}: give one for each stage",
            counted(timings.len(), "timing"),
            counted(stages.len(), "stage")
        )));
    }
    timings.iter().zip(stages).try_for_each(|(timing, stage)| {
        timing
            .check(stage.threads)
            .map_err(|reason| Error::build(format!("real time, stage `{}`: {reason}", stage.name)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const US: fn(u64) -> Duration = Duration::from_micros;

    fn stages(threads: &[usize]) -> Vec<StageSlots> {
        let slots = |&threads| StageSlots { name: format!("s{threads}"), kinds: Vec::new(), threads, planned_ns: None };
        threads.iter().map(slots).collect()
    }

    #[test]
    fn modes_are_read_as_they_are_written() {
        for (name, mode) in Mode::NAMED {
            assert_eq!(name.parse::<Mode>().unwrap(), mode);
        }
        let error = "tri".parse::<Mode>().unwrap_err();
        assert!(error.message().contains("`tri`") && error.message().contains("try"), "{error}");
    }

    #[test]
    fn each_limit_is_named_where_it_is_violated() {
        let check = |timing: StageTiming, threads| {
            RealTime::deadline(vec![timing]).check(&stages(&[threads]), Waiting::default(), None)
        };
        let timing = StageTiming::new(US(1000), US(200));
        for (timing, threads) in [
            (timing, 1),
            (StageTiming::new(US(100), Duration::from_nanos(1024)), 1),
            (StageTiming::new(US(4_194_304), US(4_194_304)), 1),
            (StageTiming::new(US(50), US(100)), 2),
            (timing.deadline(US(200)), 1),
            (timing.deadline(US(3000)), 3),
        ] {
            check(timing, threads).unwrap();
        }
        for (timing, threads, part) in [
            (StageTiming::new(US(1000), Duration::from_nanos(1023)), 1, "1024 ns"),
            (StageTiming::new(Duration::ZERO, US(2)), 1, "100 us"),
            (StageTiming::new(US(99), US(2)), 1, "100 us"),
            (StageTiming::new(US(4_194_305), US(2)), 1, "4.194304 s"),
            (StageTiming::new(US(2_097_153), US(2)), 2, "4.194304 s"),
            (StageTiming::new(US(1000), US(1001)), 1, "does not fit"),
            (timing.deadline(US(199)), 1, "does not fit"),
            (timing.deadline(US(1001)), 1, "next batch"),
            (StageTiming::new(Duration::MAX, US(2)), 2, "4.194304 s"),
        ] {
            let error = check(timing, threads).unwrap_err();
            assert_eq!(error.kind(), crate::error::ErrorKind::Build);
            assert!(error.message().contains(part) && error.message().contains("stage `s"), "{timing:?}: {error}");
        }
    }

    #[test]
    fn what_does_not_go_together_is_refused() {
        let timing = StageTiming::new(US(1000), US(200));
        let refused = |real_time: RealTime, part: &str| {
            let error = real_time.check(&stages(&[1, 2]), Waiting::default(), None).unwrap_err();
            assert!(error.message().contains(part), "{error}");
        };
        refused(RealTime::deadline(vec![timing]), "1 timing for a pipeline of 2 stages");
        refused(RealTime::fifo(0), "1 to 99");
        refused(RealTime::fifo(3).reclaim(true), "reclaim");
        refused(RealTime::ordinary().reclaim(false), "reclaim");
        refused(RealTime::fifo(3).bound(Duration::ZERO, US(1)), "1 ns");
        RealTime::deadline(vec![timing; 2])
            .reclaim(false)
            .bound(US(1), Duration::ZERO)
            .check(&stages(&[1, 2]), Waiting::Passive, None)
            .unwrap();
    }
}

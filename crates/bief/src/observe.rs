//! What a worker notes while it is observed: the times of its tasks, how full its rings are, how long frames took, and the
//! latest batches for a trace.
//!
//! Times are sampled: a batch is timed task by task, then so many are not that reading the clock takes about a quarter of a
//! percent of the time. Everything is allocated before the run.

use std::hint::black_box;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use bief_machine::clock::{self, nanoseconds};
use fastrand::Rng;

use crate::clock::Moment;
use crate::count::Count;
use crate::error::{Error, Result};
use crate::histogram::Histogram;
use crate::realtime::Tally;
use crate::watch::Meter;

/// A worker's time for each part of it that goes into reading the clock.
const TIME_PER_COST: f64 = 400.0;

/// What reading the clock costs, and what asking for interruptions does. Measured once: that takes longer than a change of plans may.
fn costs() -> (Duration, Duration) {
    static COSTS: OnceLock<(Duration, Duration)> = OnceLock::new();
    let asking = || {
        black_box(clock::interruptions());
    };
    *COSTS.get_or_init(|| (clock::cost(), clock::cost_of(asking)))
}

/// What one worker notes in a run.
pub(crate) struct Observer {
    /// Batches that are not timed before the next one that is.
    skip: u64,
    /// What the ring before the worker held when it came for this batch, and how much it can; `None` if it did not look.
    found: Option<(usize, usize)>,
    /// Varies the skips, so that they never keep step with work that repeats itself.
    random: Rng,
    clock_cost: Duration,
    /// What it costs to ask how often the thread was interrupted.
    asking_cost: Duration,
    /// How often it was, when the batch that is timed began.
    interruptions: u64,
    /// Batches that were timed.
    pub(crate) timed: u64,
    /// For each task, how long the batch that is timed took it, if it had frames to work on.
    batch: Vec<Option<u64>>,
    /// For each task, how long a batch took it in which the thread kept its core, and of one in which it lost it.
    pub(crate) tasks: Vec<Histogram>,
    pub(crate) interrupted: Vec<Interrupted>,
    /// How long frames took through the whole chain: noted by the last stage.
    pub(crate) latency: Histogram,
    /// The same against a bound, if there is one.
    pub(crate) tally: Option<Tally>,
    pub(crate) held: Held,
    pub(crate) recorder: Option<Recorder>,
}

impl Observer {
    /// For a worker of so many tasks; workers with different seeds take different samples.
    pub(crate) fn new(tasks: usize, seed: u64) -> Self {
        let (clock_cost, asking_cost) = costs();
        Self {
            skip: 0,
            found: None,
            random: Rng::with_seed(seed),
            clock_cost,
            asking_cost,
            interruptions: 0,
            timed: 0,
            batch: vec![None; tasks],
            tasks: vec![Histogram::new(); tasks],
            interrupted: vec![Interrupted::default(); tasks],
            latency: Histogram::new(),
            tally: None,
            held: Held::default(),
            recorder: None,
        }
    }

    /// Makes ready for another run.
    pub(crate) fn clear(&mut self) {
        self.skip = 0;
        self.timed = 0;
        self.interrupted.fill(Interrupted::default());
        self.tasks.iter_mut().for_each(Histogram::clear);
        self.latency.clear();
        if let Some(tally) = &mut self.tally {
            tally.clear();
        }
        self.held = Held::default();
        if let Some(recorder) = &mut self.recorder {
            recorder.recorded = 0;
        }
    }

    /// Lets it keep the latest batches, so many at most, if any.
    ///
    /// # Errors
    /// Memory that the system refuses.
    pub(crate) fn record(&mut self, most: Option<usize>) -> Result<()> {
        self.recorder = most.map(|most| Recorder::new(most, self.tasks.len())).transpose()?;
        Ok(())
    }

    /// How many of the latest batches it keeps, if any.
    pub(crate) fn recorded_at_most(&self) -> Option<usize> {
        self.recorder.as_ref().map(|recorder| recorder.visits.len() - 1)
    }

    /// Whether the next batch is timed: decided before anything of it is known. If so, `held` tells how many batches the
    /// ring holds, and how many at most.
    pub(crate) fn samples(&mut self, held: impl FnOnce() -> Option<(usize, usize)>) -> bool {
        let due = self.skip == 0;
        self.skip = self.skip.saturating_sub(1);
        self.found = if due { held() } else { None };
        due
    }

    /// Begins to time the tasks of a batch.
    pub(crate) fn begin(&mut self) {
        self.batch.fill(None);
        self.interruptions = clock::interruptions();
    }

    /// Notes how long a task took for so many batches together, if it had frames to work on: each has its share.
    pub(crate) fn task(&mut self, task: usize, time: TaskTime, batches: u32) {
        self.batch[task] = time.map(|(_, time)| nanoseconds(time.saturating_sub(self.clock_cost) / batches));
        if let Some(recorder) = &mut self.recorder {
            recorder.task(task, time);
        }
    }

    /// Notes the frames of a batch that the last task is done with; it had `begun` when the source was asked for it or it was due.
    pub(crate) fn delivered(&mut self, begun: Option<Moment>, frames: u64, end: Instant) {
        let Some(begun) = begun else { return };
        let ns = nanoseconds(begun.until(end));
        self.latency.record(ns, frames);
        if let Some(tally) = &mut self.tally {
            tally.record(ns, frames);
        }
    }

    /// Notes that the worker is done with a batch, after which it has done so much, and shows the times to those who watch.
    pub(crate) fn visited(&mut self, visit: Visit, count: &Count, meter: Option<&Meter>) {
        if let Some(found) = self.found {
            self.held.record(found);
        }
        if visit.sampled && visit.frames.is_some() {
            self.timed += 1;
            let is_interrupted = clock::interruptions() != self.interruptions;
            for (task, ns) in self.batch.iter().enumerate() {
                match *ns {
                    Some(ns) if is_interrupted => self.interrupted[task].record(ns),
                    Some(ns) => {
                        self.tasks[task].record(ns, 1);
                        if let Some(meter) = meter {
                            meter.time(task, ns);
                        }
                    }
                    None => {}
                }
            }
            self.skip = self.next_skip(count.busy, count.batches);
        }
        if let Some(recorder) = &mut self.recorder {
            recorder.record(visit);
        }
    }

    /// How many batches are not timed before the next one, after `batches` in so much working time.
    fn next_skip(&mut self, busy: Duration, batches: u64) -> u64 {
        let reads = 2 * (self.tasks.len() + 1) as u32;
        let mean = busy.as_secs_f64() / batches as f64;
        let cost = self.clock_cost * reads + self.asking_cost * 2;
        let skip = TIME_PER_COST * cost.as_secs_f64() / mean.max(1e-9);
        // From half to one and a half times as many; the last summand rounds, up or down, without a bias.
        (skip * (0.5 + self.random.f64()) + self.random.f64()) as u64
    }
}

/// How long a task took in batches in which its thread lost its core to another one.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Interrupted {
    pub(crate) count: u64,
    pub(crate) sum_ns: u128,
    pub(crate) max_ns: u64,
}

impl Interrupted {
    pub(crate) fn record(&mut self, ns: u64) {
        self.merge(&Self { count: 1, sum_ns: ns.into(), max_ns: ns });
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        self.count += other.count;
        self.sum_ns += other.sum_ns;
        self.max_ns = self.max_ns.max(other.max_ns);
    }
}

/// How many batches a ring held when its receiver came for one.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Held {
    pub(crate) samples: u64,
    pub(crate) sum: u64,
    pub(crate) most: usize,
    /// How often it was full.
    pub(crate) full: u64,
}

impl Held {
    pub(crate) fn record(&mut self, (held, depth): (usize, usize)) {
        self.samples += 1;
        self.sum += held as u64;
        self.most = self.most.max(held);
        self.full += u64::from(held == depth);
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        self.samples += other.samples;
        self.sum += other.sum;
        self.most = self.most.max(other.most);
        self.full += other.full;
    }
}

/// A batch at one worker.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Visit {
    /// Number of the first frame.
    pub(crate) first: u64,
    /// Frames that were left after the last task; `None` if it was passed on without any work.
    pub(crate) frames: Option<u64>,
    /// When the worker was ready for it.
    pub(crate) asked: Instant,
    /// When the tasks began, and when they were done.
    pub(crate) begin: Instant,
    pub(crate) end: Instant,
    /// Its tasks were timed.
    pub(crate) sampled: bool,
    /// What a device did for it, and for those batches that a lane took with it.
    pub(crate) launch: Option<Launch>,
}

impl Visit {
    /// When anything of it is seen for the first time: an emulated device may have begun a little before its lane, which slept too long.
    pub(crate) fn begun(&self) -> Instant {
        self.launch.map_or(self.asked, |launch| launch.parts[0].0.min(self.asked))
    }
}

/// What a device did for one or several batches: when it began to copy them in, to work on them and to copy them back, and how long each
/// took.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Launch {
    pub(crate) batches: usize,
    pub(crate) parts: [(Instant, Duration); 3],
}

impl Launch {
    /// When it was done.
    pub(crate) fn end(&self) -> Instant {
        let (start, time) = self.parts[2];
        start + time
    }
}

/// When a task began and how long it took; `None` without frames to work on.
pub(crate) type TaskTime = Option<(Instant, Duration)>;

/// The latest batches of one worker, in memory that is used again and again.
#[derive(Debug, Clone)]
pub(crate) struct Recorder {
    /// One more than are kept: where the next one goes, of which a fault leaves the times of some tasks and nothing else.
    visits: Vec<Visit>,
    /// For each visit, the times of the tasks.
    tasks: Vec<TaskTime>,
    /// Visits ever recorded in this run.
    recorded: usize,
}

impl Recorder {
    /// Room for the latest `most` batches of a worker of so many tasks.
    ///
    /// # Errors
    /// Memory that the system refuses.
    pub(crate) fn new(most: usize, tasks: usize) -> Result<Self> {
        let now = Instant::now();
        let blank = Visit { first: 0, frames: None, asked: now, begin: now, end: now, sampled: false, launch: None };
        let rows = most.saturating_add(1);
        let visits = filled(rows, blank).zip(filled(rows.saturating_mul(tasks), None)).ok_or_else(|| {
            Error::build(format!("a trace of {most} batches is more than memory can hold: ask for fewer"))
        });
        visits.map(|(visits, tasks)| Self { visits, tasks, recorded: 0 })
    }

    /// Notes the time of a task of the batch that is recorded next.
    fn task(&mut self, task: usize, time: TaskTime) {
        let count = self.tasks.len() / self.visits.len();
        let row = self.recorded % self.visits.len();
        self.tasks[row * count + task] = time;
    }

    pub(crate) fn record(&mut self, visit: Visit) {
        let row = self.recorded % self.visits.len();
        self.visits[row] = visit;
        self.recorded += 1;
    }

    /// The latest visits, the oldest first, each with the times of its tasks: none if it was not sampled.
    pub(crate) fn visits(&self) -> impl Iterator<Item = (Visit, &[TaskTime])> {
        let count = self.tasks.len() / self.visits.len();
        let kept = self.recorded.min(self.visits.len() - 1);
        (self.recorded - kept..self.recorded).map(move |number| {
            let row = number % self.visits.len();
            let tasks = if self.visits[row].sampled { &self.tasks[row * count..][..count] } else { &[] };
            (self.visits[row], tasks)
        })
    }
}

/// So many copies, in memory that has been written: none is left to be fetched while the pipeline runs.
fn filled<T: Clone>(count: usize, value: T) -> Option<Vec<T>> {
    let mut values = Vec::new();
    values.try_reserve_exact(count).ok()?;
    values.resize(count, value);
    Some(values)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The share of batches that are timed, and the longest row of them that are not, for batches of `ns` each.
    fn share(tasks: usize, ns: u64) -> (f64, u64) {
        let mut observer = Observer {
            clock_cost: Duration::from_nanos(15),
            asking_cost: Duration::from_nanos(50),
            ..Observer::new(tasks, 7)
        };
        let (mut timed, mut row, mut longest) = (0, 0, 0);
        const BATCHES: u64 = 200_000;
        for batch in 1..=BATCHES {
            row += 1;
            if observer.samples(|| None) {
                observer.skip = observer.next_skip(Duration::from_nanos(ns * batch), batch);
                (timed, longest, row) = (timed + 1, row.max(longest), 0);
            }
        }
        (timed as f64 / BATCHES as f64, longest)
    }

    #[test]
    fn the_clock_takes_a_quarter_of_a_percent_of_the_time() {
        // Ten reads of 15 ns and two of 50 ns: 250 ns of every 100 us are a quarter of a percent.
        for (ns, expected) in [(50, 1.0 / 2001.0), (2_500, 1.0 / 41.0), (25_000, 1.0 / 5.0), (100_000, 1.0 / 2.0)] {
            let (timed, longest) = share(4, ns);
            assert!((timed / expected - 1.0).abs() < 0.1, "{timed} of batches of {ns} ns, not {expected}");
            assert!(longest as f64 <= 1.5 / expected + 2.0, "{longest} in a row of {ns} ns");
        }
        assert!(share(4, 1_000_000_000).0 > 0.999, "long batches are all timed, nearly");
    }

    #[test]
    fn the_latest_visits_are_kept() {
        let mut recorder = Recorder::new(3, 2).unwrap();
        let now = Instant::now();
        for number in 0..5 {
            let sampled = number != 3;
            if sampled {
                recorder.task(0, Some((now, Duration::from_nanos(number))));
                recorder.task(1, None);
            }
            recorder.record(Visit {
                first: number,
                frames: Some(1),
                asked: now,
                begin: now,
                end: now,
                sampled,
                launch: None,
            });
        }
        // A fault: the batch is never recorded.
        recorder.task(0, Some((now, Duration::from_nanos(5))));
        let kept: Vec<_> = recorder.visits().map(|(visit, tasks)| (visit.first, tasks.to_vec())).collect();
        let timed = |number| vec![Some((now, Duration::from_nanos(number))), None];
        assert_eq!(kept, [(2, timed(2)), (3, vec![]), (4, timed(4))]);
    }

    #[test]
    fn a_trace_longer_than_memory_is_refused() {
        let Err(error) = Recorder::new(usize::MAX, 1) else { panic!("it has no room") };
        assert!(error.message().contains("ask for fewer"), "{error}");
    }
}

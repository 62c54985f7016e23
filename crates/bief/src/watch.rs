//! Looking at a run while it goes on, from another thread.

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use bief_machine::clock::nanoseconds;
use serde::Serialize;

use crate::columns::{COLUMNS, fitted};
use crate::figures::Figures;

/// Where a worker shows what it has done, on cache lines that only it writes.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(crate) struct Meter {
    batches: AtomicU64,
    frames: AtomicU64,
    busy_ns: AtomicU64,
    ended: AtomicU64,
    /// Someone wants to know the figures of its tasks.
    asked: AtomicBool,
    figures: Mutex<Figures>,
    /// For each of its tasks, what the batches took that were timed, and how many those are.
    times: Box<[TaskMeter]>,
}

#[derive(Debug, Default)]
struct TaskMeter {
    ns: AtomicU64,
    count: AtomicU64,
}

impl Meter {
    /// For a worker of so many tasks.
    pub(crate) fn new(tasks: usize) -> Self {
        Self { times: (0..tasks).map(|_| TaskMeter::default()).collect(), ..Self::default() }
    }

    /// Shows how long a batch took one of the tasks.
    pub(crate) fn time(&self, task: usize, ns: u64) {
        self.times[task].ns.fetch_add(ns, Ordering::Relaxed);
        self.times[task].count.fetch_add(1, Ordering::Relaxed);
    }

    /// Shows the counts of this run. `ended` counts the batches that go no further than this worker.
    pub(crate) fn show(&self, batches: u64, frames: u64, busy: Duration, ended: u64) {
        self.batches.store(batches, Ordering::Relaxed);
        self.frames.store(frames, Ordering::Relaxed);
        self.busy_ns.store(nanoseconds(busy), Ordering::Relaxed);
        self.ended.store(ended, Ordering::Relaxed);
    }

    /// Whether someone has asked for figures since this was asked last.
    pub(crate) fn is_asked(&self) -> bool {
        self.asked.load(Ordering::Relaxed) && self.asked.swap(false, Ordering::Relaxed)
    }

    /// Shows what its tasks tell.
    pub(crate) fn tell(&self, figures: Figures) {
        *self.figures.lock().unwrap_or_else(PoisonError::into_inner) = figures;
    }
}

/// Observes a run in progress; made by [`Pipeline::watch`](crate::Pipeline::watch).
///
/// ```
/// use std::time::Duration;
/// use bief::{Chain, Flow, sink, source};
///
/// let mut chain = Chain::new();
/// let ticks = chain.add(source::from_fn(1, |tick: &mut [u32]| {
///     std::thread::sleep(Duration::from_millis(1));
///     tick[0] = 1;
///     Ok(Flow::Next)
/// }), ());
/// chain.stage("count");
/// chain.add(sink::for_each(|_: &[u32]| Ok(Flow::Next)), &ticks);
/// let mut pipeline = chain.build()?.pipeline_as_marked()?;
///
/// let mut watch = pipeline.watch();
/// let stopper = pipeline.stopper();
/// std::thread::scope(|scope| {
///     scope.spawn(|| {
///         while watch.status().frames < 10 {
///             std::thread::sleep(Duration::from_millis(5));
///         }
///         println!("{}", watch.status()); // 15 frames, 941/s, 0 in flight, busy 100 0 %
///         stopper.stop();
///     });
///     pipeline.run()
/// })?;
/// # Ok::<(), bief::Error>(())
/// ```
#[derive(Debug)]
pub struct Watch {
    shown: Arc<Shown>,
    /// Which stages these are: a run may go on in others.
    version: u64,
    stages: Vec<Watched>,
    /// Frames that had left the last stage when it was last looked.
    frames: u64,
    looked: Instant,
}

/// What there is to look at: the stages of the plan in force, and what was done before it.
#[derive(Debug, Default)]
pub(crate) struct Shown(Mutex<ShownStages>);

#[derive(Debug, Default)]
struct ShownStages {
    version: u64,
    stages: Vec<ShownStage>,
    frames: u64,
    figures: Figures,
}

/// A stage to look at: its name, and what each of its replicas shows, on which kind of core.
#[derive(Debug, Clone)]
pub(crate) struct ShownStage {
    pub(crate) name: Arc<str>,
    pub(crate) replicas: Vec<(Arc<Meter>, Option<String>)>,
}

impl Shown {
    /// Shows these stages, and the frames and figures of the run before them.
    pub(crate) fn show(&self, stages: Vec<ShownStage>, frames: u64, figures: Figures) {
        let mut shown = self.get();
        *shown = ShownStages { version: shown.version + 1, stages, frames, figures };
    }

    fn get(&self) -> MutexGuard<'_, ShownStages> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One stage, as it was when it was last looked.
#[derive(Debug)]
struct Watched {
    name: Arc<str>,
    /// For each replica, what it shows, and its working time then.
    replicas: Vec<(Arc<Meter>, u64)>,
}

/// What a task took on a kind of core since it was last looked.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct TaskTime {
    /// Its number in the chain.
    pub(crate) task: usize,
    pub(crate) kind: Option<String>,
    /// All batches that were timed, together, and how many these are.
    pub(crate) ns: u64,
    pub(crate) count: u64,
}

/// The progress of a run; returned by [`Watch::status`]. `Display` is one line of at most 80 columns.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Status {
    /// Frames of this run that passed the last task.
    pub frames: u64,
    /// Frames per second since the last look.
    pub frames_per_second: f64,
    /// Batches that the first stage has made, and that have neither passed the last task nor lost all their frames. After a run
    /// that a fault or a task ended, those that were on their way.
    pub batches_in_flight: u64,
    /// The stages, from source to sink.
    pub stages: Vec<StageStatus>,
}

/// The progress of one stage.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StageStatus {
    /// The stage's name.
    pub name: String,
    /// Share of the time since the last look that its replicas worked, 0 to 1. A batch counts when it is done.
    pub busy: f64,
}

impl Watch {
    pub(crate) fn new(shown: Arc<Shown>) -> Self {
        let mut watch = Self { shown, version: 0, stages: Vec::new(), frames: 0, looked: Instant::now() };
        watch.status();
        watch
    }

    /// Looks at the stages of the plan in force; answers how many frames the run had before it.
    fn follow(&mut self) -> u64 {
        let shown = self.shown.get();
        if shown.version != self.version {
            let watched = |stage: &ShownStage| Watched {
                name: Arc::clone(&stage.name),
                replicas: stage.replicas.iter().map(|(meter, _)| (Arc::clone(meter), 0)).collect(),
            };
            self.stages = shown.stages.iter().map(watched).collect();
            self.version = shown.version;
        }
        shown.frames
    }

    /// The progress of the run since the last call, or since the watch was made. Between runs, it is that of the last
    /// one.
    pub fn status(&mut self) -> Status {
        let now = Instant::now();
        let time = now - std::mem::replace(&mut self.looked, now);
        self.status_after(time)
    }

    /// The figures that the tasks of the run report ([`Task::figures`](crate::Task::figures)), merged over replicas.
    /// Workers answer between two batches: a call returns the figures reported since the last call, and all of them
    /// once the run has ended, even by a fault.
    pub fn figures(&mut self) -> Figures {
        self.follow();
        let mut all = self.shown.get().figures.clone();
        for (meter, _) in self.stages.iter().flat_map(|stage| &stage.replicas) {
            all.merge(meter.figures.lock().unwrap_or_else(PoisonError::into_inner).clone());
            meter.asked.store(true, Ordering::Relaxed);
        }
        all
    }

    /// What the tasks of an observed run took since the last call, for each replica.
    pub(crate) fn task_times(&self) -> Vec<TaskTime> {
        let shown = self.shown.get();
        let mut first = 0;
        let mut times = Vec::new();
        for stage in &shown.stages {
            for (meter, kind) in &stage.replicas {
                times.extend(meter.times.iter().enumerate().map(|(task, time)| TaskTime {
                    task: first + task,
                    kind: kind.clone(),
                    ns: time.ns.swap(0, Ordering::Relaxed),
                    count: time.count.swap(0, Ordering::Relaxed),
                }));
            }
            first += stage.replicas.first().map_or(0, |(meter, _)| meter.times.len());
        }
        times
    }

    fn status_after(&mut self, time: Duration) -> Status {
        let time = time.as_secs_f64().max(1e-9);
        let earlier = self.follow();
        // In this order, a batch that ends meanwhile is still taken for one in flight.
        let ended = self.sum(|meter| &meter.ended);
        let frames = earlier + self.stages.last().map_or(0, |stage| stage.sum(|meter| &meter.frames));
        let begun = self.stages.first().map_or(0, |stage| stage.sum(|meter| &meter.batches));
        let frames_since = since(&mut self.frames, frames);
        let stages = self.stages.iter_mut().map(|stage| {
            let replicas = stage.replicas.len() as f64;
            let busy = |(meter, before): &mut (Arc<Meter>, u64)| since(before, meter.busy_ns.load(Ordering::Relaxed));
            let busy_ns: u64 = stage.replicas.iter_mut().map(busy).sum();
            StageStatus { name: stage.name.to_string(), busy: (busy_ns as f64 / 1e9 / (time * replicas)).min(1.0) }
        });
        Status {
            frames,
            frames_per_second: frames_since as f64 / time,
            batches_in_flight: begun.saturating_sub(ended),
            stages: stages.collect(),
        }
    }

    fn sum(&self, part: fn(&Meter) -> &AtomicU64) -> u64 {
        self.stages.iter().map(|stage| stage.sum(part)).sum()
    }
}

impl Watched {
    fn sum(&self, part: fn(&Meter) -> &AtomicU64) -> u64 {
        self.replicas.iter().map(|(meter, _)| part(meter).load(Ordering::Relaxed)).sum()
    }
}

/// How much was counted since `before`, which becomes `now`. A count that is less than before is that of a new run.
fn since(before: &mut u64, now: u64) -> u64 {
    let before = std::mem::replace(before, now);
    if now < before { now } else { now - before }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { frames, frames_per_second, batches_in_flight, stages } = self;
        let line = format!("{frames} frames, {frames_per_second:.0}/s, {batches_in_flight} in flight, busy");
        let percent = |stage: &StageStatus| format!("{:.0}", 100.0 * stage.busy);
        let shares = stages.iter().map(percent).collect::<Vec<_>>().join(" ");
        let all = format!("{line} {shares} %");
        let busiest = stages.iter().max_by(|a, b| a.busy.total_cmp(&b.busy));
        match busiest {
            Some(stage) if all.chars().count() > COLUMNS => {
                f.write_str(&fitted(&format!("{line} {} %, most in {}", percent(stage), stage.name), COLUMNS))
            }
            _ => f.write_str(&all),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn shares(status: &Status) -> Vec<f64> {
        status.stages.iter().map(|stage| stage.busy).collect()
    }

    #[test]
    fn a_look_tells_what_happened_since_the_last_one() {
        let meters: Vec<Arc<Meter>> = (0..3).map(|_| Arc::default()).collect();
        let [source, first, second] = [0, 1, 2].map(|index| Arc::clone(&meters[index]));
        let shown = Arc::<Shown>::default();
        let stage = |name: &str, meters: &[Arc<Meter>]| ShownStage {
            name: name.into(),
            replicas: meters.iter().map(|meter| (Arc::clone(meter), None)).collect(),
        };
        shown.show(vec![stage("in", &meters[..1]), stage("out", &meters[1..])], 0, Figures::default());
        let mut watch = Watch::new(Arc::clone(&shown));
        source.show(9, 36, SECOND / 4, 1);
        first.show(3, 12, SECOND, 3);
        second.show(2, 8, SECOND / 2, 2);
        let status = watch.status_after(SECOND);
        assert_eq!((status.frames, status.frames_per_second, status.batches_in_flight), (20, 20.0, 3));
        assert_eq!(shares(&status), [0.25, 0.75]);
        assert_eq!(status.to_string(), "20 frames, 20/s, 3 in flight, busy 25 75 %");

        first.show(5, 20, SECOND * 2, 5);
        let status = watch.status_after(SECOND * 2);
        assert_eq!((status.frames, status.frames_per_second, status.batches_in_flight), (28, 4.0, 1));
        assert_eq!(shares(&status), [0.0, 0.25]);

        // Another run.
        meters.iter().for_each(|meter| meter.show(0, 0, Duration::ZERO, 0));
        source.show(1, 4, SECOND / 10, 0);
        let status = watch.status_after(SECOND);
        assert_eq!((status.frames, status.frames_per_second, status.batches_in_flight), (0, 0.0, 1));
        assert_eq!(shares(&status), [0.1, 0.0]);

        // The same run in another plan: what it delivered before counts.
        let meter = Arc::<Meter>::default();
        shown.show(vec![stage("all", &[Arc::clone(&meter)])], 7, Figures::default());
        meter.show(2, 8, SECOND / 2, 2);
        let status = watch.status_after(SECOND);
        assert_eq!((status.frames, status.frames_per_second, status.batches_in_flight), (15, 15.0, 0));
        assert_eq!(shares(&status), [0.5]);
    }

    #[test]
    fn one_line_fits_whatever_happens() {
        for (stages, frames) in [(0, 0), (1, 1), (4, 123_456), (40, 123_456_789), (3, u64::MAX)] {
            let stage = |index| StageStatus { name: format!("stage\n{index} of many"), busy: index as f64 / 50.0 };
            let status = Status {
                frames,
                frames_per_second: 1e9,
                batches_in_flight: frames,
                stages: (0..stages).map(stage).collect(),
            };
            let line = status.to_string();
            assert!(line.chars().count() <= 80 && !line.contains('\n'), "{line}");
        }
    }
}

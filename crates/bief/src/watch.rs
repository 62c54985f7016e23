//! Looking at a run while it goes on, from another thread.

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use bief_machine::clock::nanoseconds;
use serde::Serialize;

use crate::columns::{COLUMNS, fitted};
use crate::energy::{RunEnergy, Watts};
use crate::figures::Figures;
use crate::machine::energy::SoFar;
use crate::report::PlanChange;

/// Where a worker shows what it has done, on cache lines that only it writes.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(crate) struct Meter {
    batches: AtomicU64,
    frames: AtomicU64,
    busy_ns: AtomicU64,
    ended: AtomicU64,
    /// Someone wants to know the figures of its tasks, and how full the ring before it is.
    asked: AtomicBool,
    told: Mutex<Told>,
    /// For each of its tasks, what the batches took that were timed, and how many those are.
    times: Box<[TaskMeter]>,
}

/// What a worker told when it was asked last.
#[derive(Debug, Default)]
struct Told {
    figures: Figures,
    /// How many batches waited for it, and how many might.
    held: Option<(usize, usize)>,
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

    /// Shows what its tasks tell, and how full the ring before it is, if there is one.
    pub(crate) fn tell(&self, figures: Figures, held: Option<(usize, usize)>) {
        *self.told() = Told { figures, held };
    }

    fn told(&self) -> MutexGuard<'_, Told> {
        self.told.lock().unwrap_or_else(PoisonError::into_inner)
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

/// What is shown of a plan.
#[derive(Debug, Default)]
pub(crate) struct ShownPlan {
    pub(crate) stages: Vec<ShownStage>,
    /// What the run did before it: frames, figures of what is not at work any more, seconds of the run, for which each kind of core
    /// was busy.
    pub(crate) frames: u64,
    pub(crate) figures: Figures,
    pub(crate) seconds: f64,
    pub(crate) busy: Vec<(Option<String>, f64)>,
    /// How the run came to it.
    pub(crate) changes: Vec<PlanChange>,
    /// What tells its energy: a measurement that goes on, or what cores draw. And the bits of a frame.
    pub(crate) measured: Option<SoFar>,
    pub(crate) watts: Option<Watts>,
    pub(crate) bits_per_frame: Option<u64>,
}

#[derive(Debug, Default)]
struct ShownStages {
    version: u64,
    plan: ShownPlan,
    clock: Clock,
}

/// How long the plan in force has been at work.
#[derive(Debug, Default, Clone, Copy)]
enum Clock {
    #[default]
    Before,
    Since(Instant),
    Ended(Duration),
}

impl Clock {
    fn elapsed(self) -> Duration {
        match self {
            Self::Before => Duration::ZERO,
            Self::Since(start) => start.elapsed(),
            Self::Ended(after) => after,
        }
    }
}

/// A stage to look at: what it is, and what each of its replicas shows, on which kind of core.
#[derive(Debug, Clone)]
pub(crate) struct ShownStage {
    pub(crate) name: Arc<str>,
    /// The cores that it has, in words.
    pub(crate) cores: String,
    pub(crate) tasks: Vec<Arc<str>>,
    pub(crate) planned_ns: Option<f64>,
    pub(crate) replicas: Vec<(Arc<Meter>, Option<String>)>,
}

impl Shown {
    /// Shows this plan from now on.
    pub(crate) fn show(&self, plan: ShownPlan) {
        let mut shown = self.get();
        *shown = ShownStages { version: shown.version + 1, plan, clock: Clock::Before };
    }

    /// The plan begins to work.
    pub(crate) fn begin(&self) {
        self.get().clock = Clock::Since(Instant::now());
    }

    /// The run is over.
    pub(crate) fn end(&self) {
        let mut shown = self.get();
        shown.clock = Clock::Ended(shown.clock.elapsed());
    }

    fn get(&self) -> MutexGuard<'_, ShownStages> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One stage, as it was when it was last looked.
#[derive(Debug)]
struct Watched {
    name: Arc<str>,
    cores: String,
    tasks: Vec<Arc<str>>,
    planned_ns: Option<f64>,
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
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Status {
    /// Whether a run goes on.
    pub is_running: bool,
    /// Seconds since it began, or of the last one.
    pub seconds: f64,
    /// Frames of this run that passed the last task.
    pub frames: u64,
    /// Frames per second since the last look.
    pub frames_per_second: f64,
    /// Batches that the first stage has made, and that have neither passed the last task nor lost all their frames. After a run
    /// that a fault or a task ended, those that were on their way.
    pub batches_in_flight: u64,
    /// The stages of the plan in force, from source to sink.
    pub stages: Vec<StageStatus>,
    /// The rings between them, where their receivers have said how full they are: when [`Watch::figures`] asked them last.
    pub rings: Vec<RingStatus>,
}

/// The progress of one stage.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct StageStatus {
    /// The stage's name.
    pub name: String,
    /// Its tasks, in order.
    pub tasks: Vec<String>,
    /// The cores that it has, such as `2 big + 1 little`: a number alone where any will do.
    pub cores: String,
    /// Its replicas.
    pub threads: usize,
    /// Planned time per execution in this plan, divided by the replicas; `None` without a profile.
    pub planned_ns: Option<f64>,
    /// Working time per execution since this plan began, divided by the replicas; `None` before the first batch.
    pub measured_ns: Option<f64>,
    /// Share of the time since the last look that its replicas worked, 0 to 1. A batch counts when it is done.
    pub busy: f64,
    /// Seconds that they worked since this plan began, together.
    pub busy_seconds: f64,
}

/// How full a ring was.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct RingStatus {
    /// Number of the stage that receives: the ring lies before it.
    pub stage: usize,
    /// Batches that waited.
    pub held: usize,
    /// Batches that may wait.
    pub slots: usize,
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
                cores: stage.cores.clone(),
                tasks: stage.tasks.clone(),
                planned_ns: stage.planned_ns,
                replicas: stage.replicas.iter().map(|(meter, _)| (Arc::clone(meter), 0)).collect(),
            };
            self.stages = shown.plan.stages.iter().map(watched).collect();
            self.version = shown.version;
        }
        shown.plan.frames
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
        let mut all = self.shown.get().plan.figures.clone();
        for (meter, _) in self.stages.iter().flat_map(|stage| &stage.replicas) {
            all.merge(meter.told().figures.clone());
            meter.asked.store(true, Ordering::Relaxed);
        }
        all
    }

    /// The plans that the run was changed to so far, as the [`Report`](crate::Report::changes) will have them.
    pub fn changes(&self) -> Vec<PlanChange> {
        self.shown.get().plan.changes.clone()
    }

    /// What the run has cost so far, as the [`Report`](crate::Report::energy) will have it; `None` where nothing tells it yet. The
    /// readings of an external meter count at the end alone.
    pub fn energy(&mut self) -> Option<RunEnergy> {
        let frames = self.follow() + self.stages.last().map_or(0, |stage| stage.sum(|meter| &meter.frames));
        let shown = self.shown.get();
        let (plan, seconds) = (&shown.plan, shown.plan.seconds + shown.clock.elapsed().as_secs_f64());
        let measured = plan.measured.as_ref().map(SoFar::look).unwrap_or_default();
        RunEnergy::measured(&measured, seconds, frames, plan.bits_per_frame).or_else(|| {
            let replicas = plan.stages.iter().flat_map(|stage| &stage.replicas);
            let here =
                replicas.map(|(meter, kind)| (kind.as_deref(), meter.busy_ns.load(Ordering::Relaxed) as f64 / 1e9));
            let before = plan.busy.iter().map(|(kind, busy)| (kind.as_deref(), *busy));
            let cores = here.chain(before).map(|(kind, busy)| (kind, busy / seconds.max(1e-9)));
            RunEnergy::modelled(plan.watts.as_ref()?, cores, seconds, frames, plan.bits_per_frame)
        })
    }

    /// What the tasks of an observed run took since the last call, for each replica.
    pub(crate) fn task_times(&self) -> Vec<TaskTime> {
        let shown = self.shown.get();
        let mut first = 0;
        let mut times = Vec::new();
        for stage in &shown.plan.stages {
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
        let (is_running, seconds) = {
            let shown = self.shown.get();
            (matches!(shown.clock, Clock::Since(_)), shown.plan.seconds + shown.clock.elapsed().as_secs_f64())
        };
        let rings = self.stages.iter().enumerate().filter_map(|(stage, watched)| {
            let (held, slots) = watched.replicas.iter().find_map(|(meter, _)| meter.told().held)?;
            Some(RingStatus { stage, held, slots })
        });
        let rings = rings.collect();
        let stages = self.stages.iter_mut().map(|stage| stage.status(time, begun)).collect();
        Status {
            is_running,
            seconds,
            frames,
            frames_per_second: frames_since as f64 / time,
            batches_in_flight: begun.saturating_sub(ended),
            stages,
            rings,
        }
    }

    fn sum(&self, part: fn(&Meter) -> &AtomicU64) -> u64 {
        self.stages.iter().map(|stage| stage.sum(part)).sum()
    }
}

impl Watched {
    /// What it did in so many seconds since the last look, in a plan of so many executions.
    fn status(&mut self, time: f64, executions: u64) -> StageStatus {
        let threads = self.replicas.len();
        let busy_seconds = self.sum(|meter| &meter.busy_ns) as f64 / 1e9;
        let busy = |(meter, before): &mut (Arc<Meter>, u64)| since(before, meter.busy_ns.load(Ordering::Relaxed));
        let busy_ns: u64 = self.replicas.iter_mut().map(busy).sum();
        StageStatus {
            name: self.name.to_string(),
            tasks: self.tasks.iter().map(ToString::to_string).collect(),
            cores: self.cores.clone(),
            threads,
            planned_ns: self.planned_ns,
            measured_ns: (executions > 0).then(|| busy_seconds * 1e9 / (executions as f64 * threads as f64)),
            busy: (busy_ns as f64 / 1e9 / (time * threads as f64)).min(1.0),
            busy_seconds,
        }
    }

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
        let Self { frames, frames_per_second, batches_in_flight, stages, .. } = self;
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
            cores: meters.len().to_string(),
            tasks: Vec::new(),
            planned_ns: None,
            replicas: meters.iter().map(|meter| (Arc::clone(meter), None)).collect(),
        };
        let stages = vec![stage("in", &meters[..1]), stage("out", &meters[1..])];
        shown.show(ShownPlan { stages, ..ShownPlan::default() });
        let mut watch = Watch::new(Arc::clone(&shown));
        source.show(9, 36, SECOND / 4, 1);
        first.show(3, 12, SECOND, 3);
        second.show(2, 8, SECOND / 2, 2);
        let status = watch.status_after(SECOND);
        assert_eq!((status.frames, status.frames_per_second, status.batches_in_flight), (20, 20.0, 3));
        assert_eq!(shares(&status), [0.25, 0.75]);
        let measured: Vec<_> = status.stages.iter().map(|stage| stage.measured_ns.unwrap().round()).collect();
        assert_eq!(measured, [27_777_778.0, 83_333_333.0], "per batch of the first stage, and replica");
        assert!(!status.is_running && status.rings.is_empty());
        first.tell(Figures::default(), Some((3, 8)));
        assert_eq!(status.to_string(), "20 frames, 20/s, 3 in flight, busy 25 75 %");

        first.show(5, 20, SECOND * 2, 5);
        let status = watch.status_after(SECOND * 2);
        assert_eq!((status.frames, status.frames_per_second, status.batches_in_flight), (28, 4.0, 1));
        assert_eq!(shares(&status), [0.0, 0.25]);
        assert_eq!(status.rings, [RingStatus { stage: 1, held: 3, slots: 8 }]);

        // Another run.
        meters.iter().for_each(|meter| meter.show(0, 0, Duration::ZERO, 0));
        source.show(1, 4, SECOND / 10, 0);
        let status = watch.status_after(SECOND);
        assert_eq!((status.frames, status.frames_per_second, status.batches_in_flight), (0, 0.0, 1));
        assert_eq!(shares(&status), [0.1, 0.0]);

        // The same run in another plan: what it delivered before counts.
        let meter = Arc::<Meter>::default();
        let stages = vec![stage("all", &[Arc::clone(&meter)])];
        shown.show(ShownPlan { stages, frames: 7, seconds: 2.0, ..ShownPlan::default() });
        meter.show(2, 8, SECOND / 2, 2);
        let status = watch.status_after(SECOND);
        assert_eq!((status.frames, status.frames_per_second, status.batches_in_flight), (15, 15.0, 0));
        assert_eq!((shares(&status), status.seconds), (vec![0.5], 2.0));
        shown.begin();
        assert!(watch.status().is_running);
        shown.end();
        let ended = watch.status();
        assert!(!ended.is_running && ended.seconds >= 2.0 && ended.seconds == watch.status().seconds);
    }

    #[test]
    fn one_line_fits_whatever_happens() {
        for (stages, frames) in [(0, 0), (1, 1), (4, 123_456), (40, 123_456_789), (3, u64::MAX)] {
            let stage = |index| StageStatus {
                name: format!("stage\n{index} of many"),
                busy: index as f64 / 50.0,
                ..StageStatus::default()
            };
            let status = Status {
                frames,
                frames_per_second: 1e9,
                batches_in_flight: frames,
                stages: (0..stages).map(stage).collect(),
                ..Status::default()
            };
            let line = status.to_string();
            assert!(line.chars().count() <= 80 && !line.contains('\n'), "{line}");
        }
    }
}

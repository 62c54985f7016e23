//! What happened in a run, beside the plan, and what its tasks tell.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::count::Count;
pub use crate::energy::{EnergyOrigin, RunEnergy};
pub use crate::figures::{Figure, Figures, Reading};
use crate::histogram::Histogram;
use crate::observe::{Held, Interrupted};
use crate::placement::{DynamicReport, Placement};
use crate::profile::INTERRUPTION_NS;
use crate::realtime::RealTimeReport;
use crate::stage::StagePlan;

/// The result of a run compared with its plan: a table (by `Display`) or JSON (by `serde`).
///
/// Periods are nanoseconds per execution; one execution is one batch of [`batch`](Self::batch) frames.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Report {
    /// Frames per execution.
    pub batch: usize,
    /// Batches that the first stage worked on.
    pub executions: u64,
    /// Frames that passed the last task.
    pub frames: u64,
    /// Most frames that could be on their way at once: what the rings and the threads have room for.
    pub max_frames_in_flight: u64,
    /// Elements that sources had to drop because the chain was too slow for them ([`Task::lost`](crate::Task::lost)).
    pub lost: u64,
    /// Time from the start of the work to its end on every thread, in seconds.
    pub seconds: f64,
    /// Period that the schedule promised; `None` for stages marked by hand and for one core.
    pub planned_period_ns: Option<f64>,
    /// Time of the run divided by the executions.
    pub measured_period_ns: f64,
    /// Index of the stage with the longest measured period: the one that limits.
    pub limiting_stage: usize,
    /// The stages, from source to sink.
    pub stages: Vec<StageReport>,
    /// What lies between them: between the first and the second stage, and so on.
    pub boundaries: Vec<BoundaryReport>,
    /// How long frames took; `None` unless the run was observed and a frame passed the last task.
    pub latency: Option<Latency>,
    /// What it cost, measured or modelled; `None` where neither was asked for ([`Pipeline::meter`](crate::Pipeline::meter),
    /// [`Pipeline::watts`](crate::Pipeline::watts)) or possible.
    pub energy: Option<RunEnergy>,
    /// What its threads had of the class that was wanted for them, and how far frames kept to a bound; `None` unless
    /// [`Pipeline::real_time`](crate::Pipeline::real_time) asked for it.
    pub real_time: Option<RealTimeReport>,
    /// Whether threads outnumbered the cores that they could run on: then their times hold those of others.
    pub shares_cores: bool,
    /// What its tasks tell ([`Task::figures`](crate::Task::figures)), those of replicas put together.
    pub figures: Figures,
    /// Where its threads ran, if they were placed.
    pub placement: Option<Placement>,
    /// How its threads were moved between kinds of cores, if they were placed [`Policy::Dynamic`](crate::placement::Policy::Dynamic) and there
    /// were any to choose among; else [`notes`](Self::notes) say why not.
    pub dynamic: Option<DynamicReport>,
    /// The plans that it was changed to while it went on ([`Changer`](crate::pipeline::Changer)). Then stages, boundaries, rings and task times are
    /// those of the last one; frames, executions, seconds, latency, energy and figures those of the whole run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<PlanChange>,
    /// What a reader should know about the figures: a thread that could not take its place or has not the class that was
    /// wanted.
    pub notes: Vec<String>,
}

/// A change of plan while a run went on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct PlanChange {
    /// The first frame of the new plan.
    pub frame: u64,
    /// When its stages began, in seconds of the run.
    pub seconds: f64,
    /// For how long the source was not asked for a batch.
    pub pause_seconds: f64,
    /// The median latency of frames in the plan before, in seconds: the last ones take that to pass, for the most of a pause. `None`
    /// where none was observed.
    #[serde(default)]
    pub latency_seconds: Option<f64>,
    /// The new stages: names, threads, kinds.
    pub stages: Vec<String>,
    /// Why it was changed.
    pub reason: String,
}

/// The result of one stage, over all its replicas.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[non_exhaustive]
pub struct StageReport {
    /// The stage's name.
    pub name: String,
    /// Its tasks, in order.
    pub tasks: Vec<TaskReport>,
    /// Replicas that ran it.
    pub threads: usize,
    /// Kind of core that the schedule asked for, where it is one.
    pub kind: Option<String>,
    /// What the replicas on each kind of core did, where the schedule asked for several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kinds: Vec<KindReport>,
    /// Planned time per execution, divided by the replicas; `None` without a profile.
    pub planned_ns: Option<f64>,
    /// Working time per execution, divided by the replicas.
    pub measured_ns: f64,
    /// Share of the run that the replicas worked, 0 to 1.
    pub busy: f64,
    /// Share of the run that they waited for input, 0 to 1.
    pub waiting_for_input: f64,
    /// Share of the run that they waited for room in the output, 0 to 1.
    pub waiting_for_output: f64,
    /// Batches that the replicas had to wait for: they found the ring before them empty.
    pub waits_for_input: u64,
    /// Batches that had to wait for room: the replicas found the ring behind them full.
    pub waits_for_output: u64,
    /// Frames that left the stage.
    pub frames: u64,
    /// Elements that its tasks had to drop.
    pub lost: u64,
    /// What it did on a device, if it ran there: its replicas are lanes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<DeviceReport>,
    /// Where the period went; `None` unless the run was observed and stood beside a profile
    /// ([`Pipeline::compare_with`](crate::Pipeline::compare_with)).
    pub gap: Option<Gap>,
}

/// How long a stage kept the parts of its device busy, in nanoseconds per execution. Their sum divided by the lanes is the stage's
/// [`measured_ns`](StageReport::measured_ns), or the longest of the three, where each works for one lane at a time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct DeviceReport {
    /// The device.
    pub name: String,
    /// Copies to it.
    pub copy_in_ns: f64,
    /// Its tasks.
    pub tasks_ns: f64,
    /// Copies back.
    pub copy_out_ns: f64,
    /// Whether it works for all lanes at a time ([`Profile::with_overlap`](bief_schedule::Profile::with_overlap)).
    #[serde(default)]
    pub overlaps: bool,
    /// Bytes of an execution that were copied to it, and back, in the mean.
    #[serde(default)]
    pub copied_bytes: [f64; 2],
    /// Processor time of the threads of its lanes: of this machine's cores, which is all of the tasks' own time where the device is emulated.
    #[serde(default)]
    pub host_ns: f64,
    /// How many executions a launch had at most.
    pub gather: usize,
    /// How many it had, in the mean.
    pub executions_per_launch: f64,
    /// How long the first launch of a lane took, in the mean, in seconds: it makes buffers, so it counts in none of the others where there
    /// are some. 0 where the device is emulated.
    #[serde(default)]
    pub first_launch_seconds: f64,
}

impl DeviceReport {
    /// Of a device, which may overlap all that its lanes do: how long it was busy, and bytes copied, in so many executions; and how many a
    /// launch had at most, and in the mean.
    pub(crate) fn new(
        (name, overlaps): (&str, bool),
        (busy, copied): ([Duration; 3], [u64; 2]),
        executions: u64,
        (gather, executions_per_launch): (usize, f64),
    ) -> Self {
        let [copy_in_ns, tasks_ns, copy_out_ns] = busy.map(|busy| per(busy, executions));
        let name = name.to_owned();
        let copied_bytes = copied.map(|bytes| bytes as f64 / executions.max(1) as f64);
        Self {
            name,
            copy_in_ns,
            tasks_ns,
            copy_out_ns,
            overlaps,
            copied_bytes,
            host_ns: 0.0,
            gather,
            executions_per_launch,
            first_launch_seconds: 0.0,
        }
    }

    /// How fast it copied, to it and back, in gigabytes per second; `None` for what took no time.
    pub fn copy_gb_per_s(&self) -> [Option<f64>; 2] {
        let [read, write] = self.copied_bytes;
        [(read, self.copy_in_ns), (write, self.copy_out_ns)].map(|(bytes, ns)| (ns > 0.0).then(|| bytes / ns))
    }

    /// The least time from one execution to the next, where so many lanes share them.
    pub(crate) fn pace_ns(&self, lanes: usize) -> f64 {
        pace_ns([self.copy_in_ns, self.tasks_ns, self.copy_out_ns], 0.0, lanes, self.overlaps)
    }
}

/// The least time from one execution to the next, where so many lanes share these parts of it, and hand over beside; and where a device
/// that does not overlap all of it has each part done for one of them at a time.
pub(crate) fn pace_ns(parts_ns: [f64; 3], sync_ns: f64, lanes: usize, overlaps: bool) -> f64 {
    let shared_ns = (parts_ns.iter().sum::<f64>() + sync_ns) / lanes as f64;
    if overlaps { shared_ns } else { parts_ns.into_iter().fold(shared_ns, f64::max) }
}

/// The result of the replicas of a stage that run on cores of one of its several kinds.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[non_exhaustive]
pub struct KindReport {
    /// The kind of core.
    pub kind: String,
    /// Replicas on such cores.
    pub threads: usize,
    /// Batches that they worked on.
    pub executions: u64,
    /// Planned time of a batch on one core; `None` without a profile.
    pub planned_ns: Option<f64>,
    /// Working time of a batch on one core.
    pub measured_ns: f64,
    /// Share of the run that they worked, 0 to 1.
    pub busy: f64,
    /// The stage's tasks, in order, as they ran there.
    pub tasks: Vec<TaskReport>,
}

impl KindReport {
    pub(crate) fn new(
        (kind, threads): (&str, usize),
        tasks: Vec<TaskReport>,
        elapsed: Duration,
        count: &Count,
        planned_ns: Option<f64>,
    ) -> Self {
        let all = elapsed.as_secs_f64() * threads as f64;
        Self {
            kind: kind.to_owned(),
            threads,
            executions: count.batches,
            planned_ns,
            measured_ns: per(count.busy, count.batches),
            busy: if all > 0.0 { (count.busy.as_secs_f64() / all).min(1.0) } else { 0.0 },
            tasks,
        }
    }
}

/// The parts of a stage's measured period, in nanoseconds per execution and replica: they add up to
/// [`Report::measured_period_ns`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Gap {
    /// What was planned: its tasks, one hand-over, and the cuts on both sides.
    pub planned_ns: f64,
    /// What all tasks on this kind of core took longer alike (less than 0: shorter): mostly the clock, which drops when all
    /// cores work. A quarter of the planned work took no more than this longer.
    pub clock_ns: f64,
    /// What the copies of frames to a device and back took longer than planned, and with them the stage; 0 on cores.
    #[serde(default)]
    pub copy_ns: f64,
    /// What single tasks took longer than that: mostly caches and memory, and data that another core wrote. On a device, what all of them
    /// took longer.
    pub cache_ns: f64,
    /// The task of which most of that is.
    pub slowest_task: Option<String>,
    /// What the tasks' longest times add: interruptions, by other threads on the core and by a host that takes the core away
    /// (steal).
    pub interrupted_ns: f64,
    /// What the replicas worked beside their tasks, beyond the planned hand-over (less than 0: less than planned).
    pub hand_over_ns: f64,
    /// What they waited, for input, for room in the output, and for the run to begin and to end.
    pub waiting_ns: f64,
}

/// One task of a stage.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[non_exhaustive]
pub struct TaskReport {
    /// The task's name.
    pub name: String,
    /// How long a batch took it; `None` unless the run was observed and it had a frame to work on.
    pub times: Option<Times>,
}

/// The times of a task per batch, over all replicas, in nanoseconds.
///
/// Batches are sampled, so that observing them takes about a quarter of a percent of the time, and only those are counted in which the
/// task had a frame to work on. Means, least and greatest are exact, the others within 2 %.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Times {
    /// Batches that were timed.
    pub count: u64,
    /// Share of the timed batches in which the task had a frame to work on, 0 to 1: only these are counted.
    pub share: f64,
    /// The mean time.
    pub mean_ns: f64,
    /// The mean time of the batches in which the thread kept its core, where each of the longest hundredth counts as 20 us more
    /// than the longest of the others at most: what a profile promises.
    pub usual_ns: f64,
    /// The shortest time.
    pub min_ns: u64,
    /// The time that half of the batches took at most, of those in which the thread kept its core.
    pub median_ns: u64,
    /// The time that 99 of 100 batches took at most, of those in which the thread kept its core.
    pub p99_ns: u64,
    /// The longest time.
    pub max_ns: u64,
}

/// How long frames took from source to sink, in nanoseconds: from when the source was asked for a batch, or when its first
/// frame was due if a task says so ([`Task::due`](crate::Task::due)), until the last task was done with it.
///
/// So it is the time of every task on the whole batch, of every wait in between, and of the source's own waiting for the
/// input that fills the batch; a frame counts as long as its batch. Every frame that passed the last task is counted. Least
/// and greatest are exact, the others within 2 %.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Latency {
    /// Frames that passed the last task.
    pub frames: u64,
    /// The shortest time.
    pub min_ns: u64,
    /// The time that half of the frames took at most.
    pub median_ns: u64,
    /// The time that 90 of 100 frames took at most.
    pub p90_ns: u64,
    /// The time that 99 of 100 frames took at most.
    pub p99_ns: u64,
    /// The longest time.
    pub max_ns: u64,
}

/// The ring between two stages.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[non_exhaustive]
pub struct BoundaryReport {
    /// Name of the stage that sends.
    pub from: String,
    /// Name of the stage that receives.
    pub to: String,
    /// How many batches it holds at most: [`Pipeline::depth`](crate::Pipeline::depth) for each replica of the larger side.
    pub slots: usize,
    /// How many more it may hold while one replica that sends is held up and the others go on, or while another program takes slices of
    /// the scheduler from threads that share cores.
    #[serde(default)]
    pub spare_slots: usize,
    /// How full it was; `None` unless the run was observed.
    pub occupancy: Option<Occupancy>,
}

/// How many batches a ring held when a receiver came for one: sampled as the [`Times`] are.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Occupancy {
    /// How often it was looked at.
    pub samples: u64,
    /// Mean number of batches, 0 to [`slots`](BoundaryReport::slots).
    pub mean: f64,
    /// The most batches.
    pub max: usize,
    /// Share of the looks that found it full, 0 to 1.
    pub full: f64,
}

impl Report {
    pub(crate) fn new(
        batch: usize,
        executions: u64,
        elapsed: Duration,
        planned_period_ns: Option<f64>,
        max_frames_in_flight: u64,
        stages: Vec<StageReport>,
    ) -> Self {
        let longest =
            |a: &(usize, &StageReport), b: &(usize, &StageReport)| a.1.measured_ns.total_cmp(&b.1.measured_ns);
        Self {
            batch,
            executions,
            frames: stages.last().map_or(0, |stage| stage.frames),
            max_frames_in_flight,
            lost: stages.iter().fold(0, |sum, stage| sum.saturating_add(stage.lost)),
            seconds: elapsed.as_secs_f64(),
            planned_period_ns,
            measured_period_ns: per(elapsed, executions),
            limiting_stage: stages.iter().enumerate().max_by(longest).map_or(0, |(index, _)| index),
            stages,
            boundaries: Vec::new(),
            latency: None,
            energy: None,
            real_time: None,
            shares_cores: false,
            figures: Figures::default(),
            placement: None,
            dynamic: None,
            changes: Vec::new(),
            notes: Vec::new(),
        }
    }

    /// Adds what the same run did before, in other plans.
    pub(crate) fn continue_from(&mut self, executions: u64, frames: u64, elapsed: Duration) {
        self.executions += executions;
        self.frames += frames;
        let elapsed = elapsed + Duration::from_secs_f64(self.seconds);
        self.seconds = elapsed.as_secs_f64();
        self.measured_period_ns = per(elapsed, self.executions);
    }

    /// For each kind of core of each stage, how many of them it kept busy.
    pub(crate) fn busy_cores(&self) -> impl Iterator<Item = (Option<&str>, f64)> {
        self.stages.iter().flat_map(|stage| {
            let whole = (stage.kind.as_deref(), stage.busy * stage.threads as f64);
            let of_kind = |kind: &'_ KindReport| kind.busy * kind.threads as f64;
            let parts = stage.kinds.iter().map(move |kind| (Some(kind.kind.as_str()), of_kind(kind)));
            parts.chain(stage.kinds.is_empty().then_some(whole))
        })
    }
}

impl StageReport {
    pub(crate) fn new(
        plan: &StagePlan,
        tasks: Vec<TaskReport>,
        executions: u64,
        elapsed: Duration,
        count: &Count,
    ) -> Self {
        let all = elapsed.as_secs_f64() * plan.threads as f64;
        let share = |time: Duration| if all > 0.0 { (time.as_secs_f64() / all).min(1.0) } else { 0.0 };
        Self {
            name: plan.name.to_string(),
            tasks,
            threads: plan.threads,
            kind: plan.kind().map(str::to_owned),
            kinds: Vec::new(),
            planned_ns: plan.planned_ns,
            measured_ns: measured_ns(count, executions, plan.threads),
            busy: share(count.busy),
            waiting_for_input: share(count.starved),
            waiting_for_output: share(count.blocked),
            waits_for_input: count.waits_for_input,
            waits_for_output: count.waits_for_output,
            frames: count.frames,
            lost: 0,
            device: None,
            gap: None,
        }
    }
}

impl Times {
    /// Of what was recorded in so many batches, some of them interrupted, if anything was.
    pub(crate) fn of(times: &Histogram, interrupted: &Interrupted, batches: u64) -> Option<Self> {
        let count = times.count() + interrupted.count;
        let sum = times.mean() * times.count() as f64 + interrupted.sum_ns as f64;
        let mean_ns = sum / count as f64;
        // Where every batch was interrupted, that is what is usual.
        let is_quiet = times.count() > 0;
        let or_mean = |ns: u64| if is_quiet { ns } else { mean_ns as u64 };
        (count > 0).then(|| Self {
            count,
            share: count as f64 / batches.max(count) as f64,
            mean_ns,
            usual_ns: if is_quiet { times.mean_within(times.count() / 100, INTERRUPTION_NS) } else { mean_ns },
            min_ns: or_mean(times.min()),
            median_ns: or_mean(times.percentile(50)),
            p99_ns: or_mean(times.percentile(99)),
            max_ns: times.max().max(interrupted.max_ns),
        })
    }
}

impl Latency {
    /// Of what was recorded, if anything was.
    pub(crate) fn of(times: &Histogram) -> Option<Self> {
        (times.count() > 0).then(|| Self {
            frames: times.count(),
            min_ns: times.min(),
            median_ns: times.percentile(50),
            p90_ns: times.percentile(90),
            p99_ns: times.percentile(99),
            max_ns: times.max(),
        })
    }
}

impl Occupancy {
    /// Of what was noted, if anything was.
    pub(crate) fn of(held: &Held) -> Option<Self> {
        let samples = held.samples;
        let mean = |sum: u64| sum as f64 / samples as f64;
        (samples > 0).then(|| Self { samples, mean: mean(held.sum), max: held.most, full: mean(held.full) })
    }
}

/// Working time of a stage per execution, divided by its replicas.
pub(crate) fn measured_ns(count: &Count, executions: u64, threads: usize) -> f64 {
    per(count.busy, executions) / threads as f64
}

pub(crate) fn per(time: Duration, executions: u64) -> f64 {
    if executions == 0 { 0.0 } else { time.as_nanos() as f64 / executions as f64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stage(name: &str, threads: usize, busy_us: u64) -> StageReport {
        let plan = StagePlan {
            name: name.into(),
            planned_ns: Some(5000.0),
            ..StagePlan::named(&[], 0..1, threads, Vec::new())
        };
        let elapsed = Duration::from_millis(1);
        let count = Count {
            frames: 99,
            busy: Duration::from_micros(busy_us),
            starved: elapsed / 4,
            blocked: elapsed / 8,
            ..Count::default()
        };
        StageReport::new(&plan, vec![TaskReport { name: name.into(), times: None }], 100, elapsed, &count)
    }

    #[test]
    fn periods_are_per_execution_and_replica() {
        let stages = vec![stage("front", 1, 500), stage("decode", 2, 1800)];
        let report = Report::new(1, 100, Duration::from_millis(1), Some(9000.0), 12, stages);
        assert_eq!(report.measured_period_ns, 10_000.0);
        assert_eq!(report.stages[0].measured_ns, 5_000.0);
        assert_eq!(report.stages[1].measured_ns, 9_000.0);
        assert!((report.stages[1].busy - 0.9).abs() < 1e-9);
        assert_eq!((report.limiting_stage, report.frames), (1, 99));
    }

    #[test]
    fn the_table_fits_a_terminal() {
        let stages = vec![stage("a stage with a name that is\nmuch too long", 1, 500), stage("decode", 2, 1800)];
        let mut report = Report::new(16, 100, Duration::from_millis(1), None, 48, stages);
        let plain = report.to_string();
        assert!(plain.contains("9.0") && plain.contains("whole, per 16 frames"), "{plain}");
        assert_eq!(plain.lines().count(), 4, "{plain}");

        let mut histogram = Histogram::new();
        [3, 12_345, u64::MAX].iter().for_each(|&ns| histogram.record(ns, 50_000_000));
        report.stages[0].tasks[0].times = Times::of(&histogram, &Interrupted::default(), 3);
        report.latency = Latency::of(&histogram);
        report.boundaries.push(BoundaryReport {
            from: report.stages[0].name.clone(),
            to: "decode".into(),
            slots: 1000,
            spare_slots: 0,
            occupancy: Occupancy::of(&Held { samples: 4, sum: 3002, most: 1000, full: 3 }),
        });
        let table = report.to_string();
        assert!(table.starts_with(&plain), "{table}");
        for part in ["150000000", "12.4 us", "750.5  1000    75", "> decode"] {
            assert!(table.contains(part), "{part} in {table}");
        }
        assert!(table.lines().all(|line| line.chars().count() <= 80), "{table}");
    }

    #[test]
    fn what_was_lost_is_summed_and_told_for_its_stage() {
        let lossy = |name, lost| StageReport { lost, ..stage(name, 1, 500) };
        let stages = vec![lossy("radio", 40), lossy("decode", 0), lossy("clock", 2)];
        let report = Report::new(1, 100, Duration::from_millis(1), None, 12, stages);
        assert_eq!(report.lost, 42);
        let table = report.to_string();
        let lost: Vec<&str> = table.lines().filter(|line| line.ends_with("lost")).collect();
        assert_eq!(lost.len(), 2, "{table}");
        assert!(lost[0].starts_with("radio ") && lost[0].ends_with(" 40 elements lost"), "{table}");
    }

    #[test]
    fn nothing_run_is_not_a_division_by_zero() {
        let report = Report::new(1, 0, Duration::ZERO, None, 1, vec![]);
        assert_eq!(report.measured_period_ns, 0.0);
    }
}

//! Why a run differs from its plan: the time of each stage beyond what was planned, by cause; and the profile that the run
//! would have been planned with, had it been known.

use std::ops::Range;

use bief_schedule::{Profile, TaskProfile};

use crate::error::{Error, Result};
use crate::report::{DeviceReport, Gap, KindReport, Report, StageReport, TaskReport, pace_ns};

/// The part of a task's measured time that is its own at least, whatever its cuts were planned to cost.
const LEAST_OWN: f64 = 0.05;

/// A task of a stage: what was planned for one execution, and what it took, in nanoseconds.
struct Task<'a> {
    name: &'a str,
    /// With the cuts before the first task of the stage and behind the last.
    planned: f64,
    cuts: f64,
    usual: f64,
    mean: f64,
}

/// What the replicas of a stage on one kind of core did: most stages have one such part.
struct Part<'a> {
    /// The position of the kind in the profile.
    kind: usize,
    /// Which part of the stage's executions was theirs.
    share: f64,
    /// What one of them worked for an execution.
    work: f64,
    tasks: Vec<Task<'a>>,
}

impl Part<'_> {
    fn sum(&self, part: fn(&Task<'_>) -> f64) -> f64 {
        self.tasks.iter().map(part).sum()
    }
}

impl Report {
    /// What the run tells about a stage, by kind of core; `None` unless it was observed.
    fn parts<'a>(&'a self, stage: &'a StageReport, first: usize, profile: &Profile) -> Option<Vec<Part<'a>>> {
        if stage.device.is_some() {
            // What lanes overlap is no sum; `gap_on` tells of it.
            return Some(Vec::new());
        }
        if stage.kinds.is_empty() {
            let kind = stage.kind.as_ref().map_or(Some(0), |name| profile.kind(name))?;
            let work = stage.measured_ns * stage.threads as f64;
            return Some(vec![Part { kind, share: 1.0, work, tasks: self.tasks(&stage.tasks, first, kind, profile)? }]);
        }
        let all: u64 = stage.kinds.iter().map(|kind| kind.executions).sum();
        // Those that did nothing tell nothing.
        let active = stage.kinds.iter().filter(|kind| kind.executions > 0);
        let part = |of: &'a KindReport| {
            let kind = profile.kind(&of.kind)?;
            let share = of.executions as f64 / all as f64;
            Some(Part { kind, share, work: of.measured_ns, tasks: self.tasks(&of.tasks, first, kind, profile)? })
        };
        active.map(part).collect::<Option<Vec<_>>>().filter(|parts| !parts.is_empty())
    }

    /// What the run tells about a stage's tasks on a kind of core; `None` unless it was observed.
    fn tasks<'a>(
        &self,
        reports: &'a [TaskReport],
        first: usize,
        kind: usize,
        profile: &Profile,
    ) -> Option<Vec<Task<'a>>> {
        let scale = self.scale(profile);
        let task = |(index, task): (usize, &'a TaskReport)| {
            let number = first + index;
            let own_ns = profile.tasks().get(number)?.ns[kind]?;
            let enter_ns = if index == 0 { profile.enter_ns(number, kind) } else { 0 };
            let leave_ns = if index + 1 == reports.len() { profile.leave_ns(number, kind) } else { 0 };
            let cuts = (enter_ns + leave_ns) as f64 * scale;
            let planned = own_ns as f64 * scale + cuts;
            let (usual, mean) =
                task.times.map_or((0.0, 0.0), |times| (times.usual_ns * times.share, times.mean_ns * times.share));
            Some(Task { name: &task.name, planned, cuts, usual, mean })
        };
        let is_observed = reports.iter().any(|task| task.times.is_some());
        is_observed.then(|| reports.iter().enumerate().map(task).collect())?
    }

    /// Executions of the profile in one of the run.
    fn scale(&self, profile: &Profile) -> f64 {
        self.batch as f64 / f64::from(profile.frames_per_execution())
    }

    /// What the run tells about every stage; `None` unless it was observed, or for a profile of another chain.
    fn all_parts<'a>(&'a self, profile: &Profile) -> Option<Vec<Vec<Part<'a>>>> {
        let mut first = 0;
        let parts = self.stages.iter().map(|stage| {
            let parts = self.parts(stage, first, profile);
            first += stage.tasks.len();
            parts
        });
        let parts = parts.collect::<Option<Vec<_>>>()?;
        (first == profile.tasks().len()).then_some(parts)
    }

    /// Notes for each stage where its time went, if the run was observed and executed anything.
    pub(crate) fn explain(&mut self, profile: &Profile) {
        let Some(parts) = self.all_parts(profile).filter(|_| self.executions > 0) else { return };
        let clock = |kind: usize| {
            let on_kind = parts.iter().flatten().filter(|part| part.kind == kind);
            common_factor(on_kind.flat_map(|part| &part.tasks))
        };
        let clocks: Vec<f64> = (0..profile.kinds().len()).map(clock).collect();
        let stages = self.stages.iter().zip(&parts);
        let mut first = 0;
        let gap = |(stage, own): (&StageReport, &Vec<Part<'_>>)| {
            let tasks = first..first + stage.tasks.len();
            first = tasks.end;
            match &stage.device {
                Some(device) => self.gap_on(device, stage, tasks, profile),
                None => Some(self.gap(stage, own, &clocks, profile)),
            }
        };
        let gaps: Vec<Option<Gap>> = stages.map(gap).collect();
        self.stages.iter_mut().zip(gaps).for_each(|(stage, gap)| stage.gap = gap);
    }

    /// That of a stage on a device: what its copies took longer first, then its tasks, as far as the others do not hide it. `None` where the
    /// profile does not know the device.
    fn gap_on(
        &self,
        device: &DeviceReport,
        stage: &StageReport,
        tasks: Range<usize>,
        profile: &Profile,
    ) -> Option<Gap> {
        let kind = profile.kind(&device.name)?;
        let profile = profile.gathering(kind, device.gather as u32);
        let scale = self.scale(&profile);
        let (enter_ns, leave_ns) = (profile.enter_ns(tasks.start, kind), profile.leave_ns(tasks.end - 1, kind));
        let sync_ns = profile.sync_ns(kind);
        let tasks_ns = profile.stage_ns(tasks, kind)? - sync_ns - enter_ns - leave_ns;
        let [read, work, write, sync] = [enter_ns, tasks_ns, leave_ns, sync_ns].map(|ns| ns as f64 * scale);
        let pace = |parts| pace_ns(parts, sync, stage.threads, profile.overlaps(kind));
        let (copy_in, copy_out) = (device.copy_in_ns, device.copy_out_ns);
        let (planned, copied) = (pace([read, work, write]), pace([copy_in, work, copy_out]));
        let worked = pace([copy_in, device.tasks_ns, copy_out]);
        Some(Gap {
            planned_ns: planned,
            clock_ns: 0.0,
            copy_ns: copied - planned,
            cache_ns: worked - copied,
            slowest_task: None,
            interrupted_ns: 0.0,
            hand_over_ns: stage.measured_ns - worked,
            waiting_ns: self.measured_period_ns - stage.measured_ns,
        })
    }

    fn gap(&self, stage: &StageReport, parts: &[Part<'_>], clocks: &[f64], profile: &Profile) -> Gap {
        // Per execution of the stage, each kind by the part that was its own, and replica.
        let replicas = stage.threads as f64;
        let sum = |of_part: &dyn Fn(&Part<'_>) -> f64| {
            parts.iter().map(|part| part.share * of_part(part)).sum::<f64>() / replicas
        };
        let planned = sum(&|part| part.sum(|task| task.planned));
        let (usual, mean) = (sum(&|part| part.sum(|task| task.usual)), sum(&|part| part.sum(|task| task.mean)));
        let at_clock = sum(&|part| clocks[part.kind] * part.sum(|task| task.planned));
        let sync = sum(&|part| profile.sync_ns(part.kind) as f64 * self.scale(profile));
        let beyond = |part: &Part<'_>, task: &Task<'_>| part.share * (task.usual - clocks[part.kind] * task.planned);
        let tasks = parts.iter().flat_map(|part| part.tasks.iter().map(move |task| (beyond(part, task), task.name)));
        let slowest = tasks.max_by(|a, b| a.0.total_cmp(&b.0)).filter(|(beyond, _)| *beyond > 0.0);
        Gap {
            planned_ns: planned + sync,
            clock_ns: at_clock - planned,
            copy_ns: 0.0,
            cache_ns: usual - at_clock,
            slowest_task: slowest.map(|(_, name)| name.to_owned()),
            interrupted_ns: mean - usual,
            hand_over_ns: stage.measured_ns - mean - sync,
            waiting_ns: self.measured_period_ns - stage.measured_ns,
        }
    }

    /// The profile corrected by this run: each task on the kinds of core that it ran on, and the hand-over of the kinds
    /// that were used. On other kinds a task's time is scaled by the same factor.
    ///
    /// Stages made of it have the working time that was measured, so that a schedule that is kept is planned with the period
    /// that it reached, but for the waiting. Where threads shared cores, what they were interrupted is left out: it is the
    /// others' work, which a plan counts there. On a device, a task's times alone and in launches change by the same factor, as do
    /// copies at the ends of its stage; its times on cores stay.
    ///
    /// # Errors
    /// A run that was not observed, or a profile of another chain.
    pub fn corrected(&self, profile: &Profile) -> Result<Profile> {
        let Some(stages) = self.all_parts(profile).filter(|_| self.executions > 0) else {
            return Err(Error::build(
                "this run cannot correct the profile: it must be an observed run of the chain that was profiled, with at \
                 least one execution",
            ));
        };
        let scale = self.scale(profile);
        let own = |task: &Task<'_>| if self.shares_cores { task.usual } else { task.mean };
        let mean = |part: &Part<'_>| part.tasks.iter().map(own).sum::<f64>();
        let work = |part: &Part<'_>| part.work - part.tasks.iter().map(|task| task.mean - own(task)).sum::<f64>();
        let sync: Vec<f64> = (0..profile.kinds().len())
            .map(|kind| {
                let on_kind = stages.iter().flatten().filter(|part| part.kind == kind);
                let beyond: Vec<f64> = on_kind.map(|part| (work(part) - mean(part)).max(0.0)).collect();
                match beyond.len() {
                    0 => profile.sync_ns(kind) as f64 * scale,
                    parts => beyond.iter().sum::<f64>() / parts as f64,
                }
            })
            .collect();
        let mut corrected = Vec::new();
        for (stage, parts) in self.stages.iter().zip(&stages) {
            let first = corrected.len();
            let old = &profile.tasks()[first..first + stage.tasks.len()];
            if let Some(device) = &stage.device {
                corrected.extend(self.corrected_on(device, &stage.tasks, first, profile));
                continue;
            }
            for (index, old) in old.iter().enumerate() {
                let mut measured = vec![None; profile.kinds().len()];
                let mut factors = Vec::new();
                for part in parts {
                    let task = &part.tasks[index];
                    // What is not in the mean hand-over is the tasks' own.
                    let share = ((work(part) - sync[part.kind]) / mean(part)).max(0.0);
                    let whole = own(task) * if share.is_finite() { share } else { 1.0 };
                    // The cuts are counted by themselves.
                    let ns = (whole - task.cuts).max(whole * LEAST_OWN) / scale;
                    measured[part.kind] = Some(ns);
                    factors.push(old.ns[part.kind].filter(|&old| old > 0).map_or(1.0, |old| ns / old as f64));
                }
                let factor = factors.iter().sum::<f64>() / factors.len() as f64;
                let times = old.ns.iter().zip(measured).map(|(old, measured)| {
                    let ns = measured.map_or_else(|| Some((*old)? as f64 * factor), Some)?;
                    Some((ns.round() as u64).max(1))
                });
                corrected.push(TaskProfile { seen: None, ns: times.collect(), ..old.clone() });
            }
        }
        let sync: Vec<u64> = sync.iter().map(|ns| (ns / scale).round() as u64).collect();
        Ok(profile.clone().with_tasks(corrected)?.with_sync_ns(sync)?)
    }

    /// The tasks of a stage on a device, of which `first` is the first, as they were there.
    fn corrected_on(
        &self,
        device: &DeviceReport,
        tasks: &[TaskReport],
        first: usize,
        profile: &Profile,
    ) -> Vec<TaskProfile> {
        let mut corrected = profile.tasks()[first..first + tasks.len()].to_vec();
        let Some(kind) = profile.kind(&device.name) else { return corrected };
        let scale = self.scale(profile);
        let correct = |ns: &mut u64, measured: f64, planned: u64| {
            if measured > 0.0 && planned > 0 {
                *ns = ((*ns as f64 * measured / (planned as f64 * scale)).round() as u64).max(1);
            }
        };
        // What was planned for launches of as many executions as there were.
        let launched = profile.gathering(kind, (device.executions_per_launch.round() as u32).max(1));
        for (index, (task, report)) in corrected.iter_mut().zip(tasks).enumerate() {
            let measured = report.times.map_or(0.0, |times| times.mean_ns * times.share);
            let planned = launched.tasks()[first + index].ns[kind].unwrap_or(0);
            let alone = task.ns[kind].iter_mut();
            let gathered = task.gathered_ns.iter_mut().flat_map(|ns| &mut ns[kind]);
            alone.chain(gathered).for_each(|ns| correct(ns, measured, planned));
            task.seen = None;
        }
        let last = corrected.len() - 1;
        if let Some(enter_ns) = &mut corrected[0].enter_ns {
            correct(&mut enter_ns[kind], device.copy_in_ns, profile.enter_ns(first, kind));
        }
        if let Some(leave_ns) = &mut corrected[last].leave_ns {
            correct(&mut leave_ns[kind], device.copy_out_ns, profile.leave_ns(first + last, kind));
        }
        corrected
    }
}

/// The factor by which a quarter of the planned work took no more than longer.
fn common_factor<'t>(tasks: impl Iterator<Item = &'t Task<'t>>) -> f64 {
    let mut factors: Vec<(f64, f64)> =
        tasks.filter(|task| task.planned > 0.0).map(|task| (task.usual / task.planned, task.planned)).collect();
    factors.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut left = factors.iter().map(|&(_, planned)| planned).sum::<f64>() / 4.0;
    let reached = |&(_, planned): &(f64, f64)| {
        left -= planned;
        left <= 0.0
    };
    factors.iter().copied().find(reached).map_or(1.0, |(factor, _)| factor)
}

#[cfg(test)]
pub(crate) mod tests {
    use std::time::Duration;

    use bief_schedule::{Gather, Schedule, Stage};
    use proptest::prelude::*;

    use super::*;
    use crate::count::Count;
    use crate::histogram::Histogram;
    use crate::observe::Interrupted;
    use crate::report::{TaskReport, Times};
    use crate::stage::StagePlan;

    pub(crate) fn profile(tasks: &[(bool, u64, u64)], sync: u64) -> Profile {
        let task = |&(replicable, big, little): &(bool, u64, u64)| TaskProfile {
            replicable,
            ..TaskProfile::sequential("task", [big, little])
        };
        let profile = Profile::new(["big", "little"], tasks.iter().map(task)).unwrap();
        profile
            .with_sync_ns([sync, sync])
            .unwrap()
            .with_frames_per_execution(2)
            .unwrap()
            .with_bits_per_frame(8)
            .unwrap()
    }

    /// A run of 1000 executions in which tasks and hand-overs took so long, and each stage's replicas waited `wait` beside.
    pub(crate) fn run(schedule: &Schedule, truth: &Profile, wait: u64) -> Report {
        const EXECUTIONS: u64 = 1000;
        let loads = schedule.loads(truth).unwrap();
        let period = schedule.period(truth).unwrap().ns().ceil() as u64 + wait;
        let elapsed = Duration::from_nanos(period * EXECUTIONS);
        let stages = schedule.stages().iter().zip(&loads).map(|(stage, load)| {
            let threads = stage.cores.iter().map(|(kind, &cores)| (kind.as_str(), cores as usize));
            let plan = StagePlan {
                name: "stage".into(),
                tasks: load.tasks.clone(),
                threads: stage.replicas() as usize,
                kinds: threads.clone().flat_map(|(kind, cores)| vec![kind.to_owned(); cores]).collect(),
                planned_ns: None,
                device: None,
                gather: 1,
                ahead: 0,
                depth: None,
            };
            // Each kind does its part, in proportion to its speed.
            let parts: Vec<KindReport> = threads
                .map(|(name, cores)| {
                    let (kind, work_ns) = (truth.kind(name).unwrap(), load.works_ns[name]);
                    let share = cores as f64 * load.period.ns() / work_ns as f64;
                    let batches = (EXECUTIONS as f64 * share).round() as u64;
                    let busy = Duration::from_nanos(work_ns * batches);
                    let task = |task: &TaskProfile| {
                        let mut times = Histogram::new();
                        times.record(task.ns[kind].unwrap(), batches);
                        let times = Times::of(&times, &Interrupted::default(), batches);
                        TaskReport { name: task.name.clone(), times }
                    };
                    let tasks = truth.tasks()[load.tasks.clone()].iter().map(task).collect();
                    KindReport::new((name, cores), tasks, elapsed, &Count { batches, busy, ..Count::default() }, None)
                })
                .collect();
            let busy =
                parts.iter().map(|part| Duration::from_nanos((part.measured_ns * part.executions as f64) as u64));
            let count = Count { busy: busy.sum(), ..Count::default() };
            let whole = StageReport::new(&plan, parts[0].tasks.clone(), EXECUTIONS, elapsed, &count);
            StageReport { kinds: if parts.len() > 1 { parts } else { Vec::new() }, ..whole }
        });
        Report::new(2, EXECUTIONS, elapsed, None, 1, stages.collect())
    }

    fn schedule(profile: &Profile) -> Schedule {
        let stages = [Stage::new(2, 1, "big"), Stage::new(1, 3, "little")];
        Schedule::new("hand", stages, profile).unwrap()
    }

    #[test]
    fn each_cause_has_its_share() {
        let plan = profile(&[(false, 1000, 9), (false, 3000, 9), (true, 9, 6000)], 100);
        // On the big core all takes a tenth longer, the second task a fifth beside that, and hand-overs 150 ns.
        let truth = profile(&[(false, 1100, 9), (false, 3900, 9), (true, 9, 6000)], 250);
        let mut report = run(&schedule(&plan), &truth, 500);
        report.explain(&plan);
        let gap = report.stages[0].gap.as_ref().unwrap();
        let close = |a: f64, b: f64| assert!((a - b).abs() < 1.0, "{a} for {b}: {gap:?}");
        close(gap.planned_ns, 4100.0);
        close(gap.clock_ns, 400.0);
        close(gap.cache_ns, 600.0);
        assert_eq!(gap.slowest_task.as_deref(), Some("task"));
        close(gap.interrupted_ns, 0.0);
        close(gap.hand_over_ns, 150.0);
        close(gap.waiting_ns, 500.0);
        let little = report.stages[1].gap.as_ref().unwrap();
        assert_eq!((little.clock_ns, little.cache_ns, &little.slowest_task), (0.0, 0.0, &None));
        let table = report.to_string();
        assert!(table.contains("where the period goes") && table.contains("+0.4    +0.6"), "{table}");
        assert!(table.lines().all(|line| line.chars().count() <= 80), "{table}");
    }

    /// A stage of both kinds tells about both.
    #[test]
    fn kinds_that_share_a_stage_are_corrected_each() {
        let plan = profile(&[(false, 1000, 2000), (true, 3000, 9000), (true, 2000, 5000)], 100);
        let truth = profile(&[(false, 1000, 2000), (true, 3300, 18000), (true, 2000, 10000)], 200);
        let stages = [Stage::new(1, 1, "big"), Stage::mixed(2, [("big", 2), ("little", 1)])];
        let schedule = Schedule::new("hand", stages, &plan).unwrap();
        let mut report = run(&schedule, &truth, 300);
        report.explain(&plan);
        let gap = report.stages[1].gap.as_ref().unwrap();
        let sum = gap.planned_ns + gap.clock_ns + gap.cache_ns + gap.interrupted_ns + gap.hand_over_ns + gap.waiting_ns;
        assert!((sum / report.measured_period_ns - 1.0).abs() < 1e-9, "{gap:?}");
        assert!(gap.clock_ns > 0.0 && gap.hand_over_ns > 0.0, "{gap:?}");
        let busy: Vec<(Option<&str>, f64)> = report.busy_cores().collect();
        assert_eq!(busy.iter().map(|(kind, _)| kind.unwrap()).collect::<Vec<_>>(), ["big", "big", "little"]);
        let table = report.to_string();
        assert!(table.contains("each little") && table.lines().all(|line| line.chars().count() <= 80), "{table}");
        let corrected = report.corrected(&plan).unwrap();
        for (tasks, kind) in [(0..1, 0), (1..3, 0), (1..3, 1)] {
            let [found, real] = [&corrected, &truth].map(|of| of.stage_ns(tasks.clone(), kind).unwrap() as f64);
            assert!((found / real - 1.0).abs() < 0.003, "{found} for {real}");
        }
        assert_eq!(corrected.tasks()[1].ns[0], Some(3300));
        let json = serde_json::to_value(&report).unwrap();
        assert_eq!(json["stages"][1]["kinds"][1]["kind"], "little");
        assert!(json["stages"][0].get("kinds").is_none());
    }

    #[test]
    fn on_a_device_copies_and_tasks_count_as_far_as_they_are_not_hidden() {
        let tasks = [
            TaskProfile::sequential("before", [1000, 0]).not_on(1),
            TaskProfile::replicable("there", [9000, 2000]).with_cut_ns([0, 1500], [0, 500]),
        ];
        let plan = Profile::new(["cpu", "gpu"], tasks).unwrap().with_lanes([None, Some(3)]).unwrap();
        let plan = plan.with_frames_per_execution(2).unwrap();
        let gap = |copy_in: u64, tasks: u64, overlaps: bool| {
            let plan = plan.clone().with_overlap([false, overlaps]).unwrap();
            let stages = [Stage::new(1, 1, "cpu"), Stage::new(1, 1, "gpu")];
            let schedule = Schedule::new("hand", stages, &plan).unwrap();
            let mut report = run(&schedule, &plan, 0);
            report.stages[1].threads = 3;
            let busy = [copy_in, tasks, 500].map(|ns| Duration::from_nanos(ns * report.executions));
            let device = DeviceReport::new(("gpu", overlaps), (busy, [0; 2]), report.executions, (1, 1.0));
            report.stages[1].measured_ns = device.pace_ns(3);
            report.stages[1].device = Some(device);
            report.explain(&plan);
            let table = report.to_string();
            assert!(table.contains("copies") && table.lines().all(|line| line.chars().count() <= 80), "{table}");
            let gap = report.stages[1].gap.clone().unwrap();
            let sum = gap.planned_ns + gap.copy_ns + gap.cache_ns + gap.hand_over_ns + gap.waiting_ns;
            assert!((sum - report.measured_period_ns).abs() < 1.0, "{gap:?}");
            [gap.planned_ns, gap.copy_ns, gap.cache_ns].map(f64::round)
        };
        assert_eq!(gap(1500, 2000, false), [2000.0, 0.0, 0.0]);
        assert_eq!(gap(2600, 2000, false), [2000.0, 600.0, 0.0], "the copies are the longest part");
        assert_eq!(gap(1900, 2300, false), [2000.0, 0.0, 300.0], "the tasks hide them");
        assert_eq!(
            gap(1800, 2600, true),
            [1167.0, 267.0, 200.0],
            "a third of each, and of copies back that were not planned"
        );
    }

    #[test]
    fn a_run_corrects_what_tasks_and_copies_take_on_a_device() {
        let tasks = |gathered: Option<u64>| {
            let there = TaskProfile::replicable("there", [9000, 2000]).with_cut_ns([7, 1500], [8, 500]);
            [
                TaskProfile::sequential("before", [1000, 0]).not_on(1),
                TaskProfile { gathered_ns: gathered.map(|ns| vec![None, Some(ns)]), ..there },
                TaskProfile::sequential("behind", [1000, 0]).not_on(1),
            ]
        };
        let plan = Profile::new(["cpu", "gpu"], tasks(None)).unwrap().with_lanes([None, Some(3)]).unwrap();
        let plan = plan.with_gather([None, Some(Gather { most: 8, measured: 4 })]).unwrap();
        let plan = plan.with_tasks(tasks(Some(5000))).unwrap().with_frames_per_execution(2).unwrap();
        let stages = [(1, "cpu"), (1, "gpu"), (1, "cpu")].map(|(tasks, kind)| Stage::new(tasks, 1, kind));
        let schedule = Schedule::new("hand", stages, &plan).unwrap();
        let mut report = run(&schedule, &plan, 0);
        // Four a launch, 1250 ns each, were planned; a tenth more was seen, and copies of twice and half the time.
        let times = report.stages[1].tasks[0].times.as_mut().unwrap();
        times.mean_ns = 1375.0;
        let busy = [3000, 1375, 250].map(|ns| Duration::from_nanos(ns * report.executions));
        report.stages[1].device = Some(DeviceReport::new(("gpu", false), (busy, [0; 2]), report.executions, (8, 4.2)));
        let corrected = report.corrected(&plan).unwrap();
        let there = &corrected.tasks()[1];
        assert_eq!(there.ns, [Some(9000), Some(2200)]);
        assert_eq!(there.gathered_ns, Some(vec![None, Some(5500)]));
        assert_eq!((there.enter_ns.as_deref(), there.leave_ns.as_deref()), (Some(&[7, 3000][..]), Some(&[8, 250][..])));
        assert_eq!(corrected.tasks()[0].ns, plan.tasks()[0].ns);
        let overlapping = corrected.with_overlap([false, true]).unwrap();
        let pace_ns = overlapping.gathering(1, 4).pace_ns(1..2, 1);
        assert_eq!(pace_ns, Some((3000 + 1375 + 250_u64).div_ceil(3)), "what was seen, shared by the lanes");
    }

    #[test]
    fn only_an_observed_run_of_the_same_chain_corrects() {
        let plan = profile(&[(false, 1000, 9), (false, 3000, 9), (true, 9, 6000)], 100);
        let mut report = run(&schedule(&plan), &plan, 0);
        let other = profile(&[(false, 1000, 9)], 0);
        assert!(report.corrected(&other).unwrap_err().to_string().contains("observed run of the chain"));
        for task in report.stages.iter_mut().flat_map(|stage| &mut stage.tasks) {
            task.times = None;
        }
        assert!(report.corrected(&plan).is_err());
        report.explain(&plan);
        assert!(report.stages[0].gap.is_none());
    }

    #[test]
    fn where_threads_share_cores_the_others_work_is_no_time_of_a_task() {
        let plan = profile(&[(false, 1000, 9), (false, 3000, 9), (true, 9, 6000)], 0);
        let mut report = run(&schedule(&plan), &plan, 0);
        // Each execution of the first stage was interrupted for 2 us, in its second task.
        let stage = &mut report.stages[0];
        stage.measured_ns += 2000.0;
        stage.tasks[1].times.as_mut().unwrap().mean_ns += 2000.0;
        let of_first = |report: &Report| report.corrected(&plan).unwrap().stage_ns(0..2, 0);
        assert_eq!(of_first(&report), Some(6000));
        report.shares_cores = true;
        assert_eq!(of_first(&report), Some(4000));
    }

    /// What crosses is in the measured times of the tasks beside the cut.
    #[test]
    fn cuts_that_cost_what_was_planned_are_no_gap_and_stay_in_the_profile() {
        let free = profile(&[(false, 1000, 9), (false, 3000, 9), (true, 9, 6000)], 100);
        let cuts = [([70, 7], [80, 8]), ([90, 9], [400, 4]), ([60, 600], [50, 5])];
        let tasks = free.tasks().iter().zip(cuts).map(|(task, (enter, leave))| task.clone().with_cut_ns(enter, leave));
        let plan = Profile::new(free.kinds().to_vec(), tasks.collect::<Vec<_>>()).unwrap();
        let plan = plan.with_sync_ns([100, 100]).unwrap().with_frames_per_execution(2).unwrap();
        let truth = profile(&[(false, 1000, 9), (false, 3400, 9), (true, 9, 6600)], 100);
        let mut report = run(&schedule(&plan), &truth, 0);
        report.explain(&plan);
        for stage in &report.stages {
            let gap = stage.gap.as_ref().unwrap();
            let beyond = [gap.clock_ns, gap.cache_ns, gap.hand_over_ns].map(f64::abs).into_iter().sum::<f64>();
            assert!(beyond < 1.0, "{gap:?}");
        }
        let corrected = report.corrected(&plan).unwrap();
        assert_eq!(corrected.stage_ns(0..2, 0), Some(4500));
        assert_eq!(corrected.stage_ns(2..3, 1), Some(6700));
        assert_eq!((corrected.tasks()[1].ns[0], corrected.tasks()[2].ns[1]), (Some(3000), Some(6000)));
        assert_eq!(corrected.stage_ns(1..2, 0), Some(90 + 3000 + 400 + 100), "other cuts are as they were");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 2 } else { 256 }))]

        #[test]
        fn the_parts_add_up_and_a_corrected_profile_plans_what_was_measured(
            planned in proptest::collection::vec(1_000u64..1_000_000, 6),
            factors in proptest::collection::vec(0.5f64..3.0, 6),
            sync in (0u64..500, 0u64..5_000),
            wait in 0u64..10_000,
        ) {
            let tasks = |ns: &dyn Fn(usize) -> u64| [(false, ns(0), ns(3)), (false, ns(1), ns(4)), (true, ns(2), ns(5))];
            let plan = profile(&tasks(&|index| planned[index]), sync.0);
            let truth = profile(&tasks(&|index| (planned[index] as f64 * factors[index]) as u64), sync.1);
            let schedule = schedule(&plan);
            let mut report = run(&schedule, &truth, wait);
            report.explain(&plan);
            for stage in &report.stages {
                let gap = stage.gap.clone().unwrap();
                let sum = gap.planned_ns + gap.clock_ns + gap.cache_ns + gap.interrupted_ns + gap.hand_over_ns
                    + gap.waiting_ns;
                prop_assert!((sum / report.measured_period_ns - 1.0).abs() < 1e-9);
            }
            let corrected = report.corrected(&plan).unwrap();
            prop_assert_eq!(corrected.bits_per_frame(), plan.bits_per_frame());
            let measured = schedule.loads(&truth).unwrap();
            for (load, truth) in schedule.loads(&corrected).unwrap().iter().zip(&measured) {
                let error = load.work_ns as f64 / truth.work_ns as f64 - 1.0;
                prop_assert!(error.abs() < 0.003, "{} for {}", load.work_ns, truth.work_ns);
            }
        }
    }
}

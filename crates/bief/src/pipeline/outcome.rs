//! What a run of a pipeline came to: the counts of all its workers, as a report.

use std::time::Duration;

use bief_schedule::Profile;

use super::Pipeline;
use super::change::Earlier;
use crate::boundary::{Contents, crossing};
use crate::count::Count;
use crate::device::Launched;
use crate::energy::RunEnergy;
use crate::error::{Error, Result};
use crate::figures::Figures;
use crate::histogram::Histogram;
use crate::machine::energy::Measured;
use crate::observe::{Held, Interrupted, Observer};
use crate::placement::DynamicReport;
use crate::realtime::{AgainstBound, Outcome, RealTimeReport};
use crate::report::{
    BoundaryReport, DeviceReport, KindReport, Latency, Occupancy, Report, StageReport, TaskReport, Times, per,
};
use crate::stage::StagePlan;
use crate::worker::Worker;

impl Pipeline {
    pub(super) fn workers_of(&self, stage: usize) -> impl Iterator<Item = &Worker> {
        self.workers.iter().filter(move |worker| worker.stage_index == stage)
    }

    /// What the replicas of a stage did in the last run, together.
    pub(super) fn count(&self, stage: usize) -> Count {
        let mut total = Count::default();
        self.workers_of(stage).for_each(|worker| total += &worker.count);
        total
    }

    /// The report of a run of which the plan in force took `elapsed`.
    pub(super) fn report(
        &mut self,
        elapsed: Duration,
        measured: Measured,
        real_time: Option<Outcome>,
        (dynamic, moved): (Option<DynamicReport>, Vec<String>),
    ) -> Result<Report> {
        let earlier = std::mem::take(&mut self.earlier);
        let executions = self.count(0).batches;
        let stages = self.stages.iter().enumerate().map(|(index, plan)| {
            let tasks = self.task_reports(plan, &self.workers_of(index).collect::<Vec<_>>());
            let kinds = match plan.kind() {
                Some(_) => Vec::new(),
                None => self.kind_reports(index, elapsed),
            };
            let mut lost = self.workers_of(index).map(|worker| worker.stage.lost());
            let lost = lost.try_fold(0, |sum: u64, lost| Ok::<_, Error>(sum.saturating_add(lost?)))?;
            let mut report =
                StageReport { lost, kinds, ..StageReport::new(plan, tasks, executions, elapsed, &self.count(index)) };
            if let Some(device) = self.device_report(index, executions) {
                report.measured_ns = device.pace_ns(plan.threads);
                report.device = Some(device);
            }
            Ok(report)
        });
        let stages = stages.collect::<Result<Vec<_>>>()?;
        let boundaries: Vec<BoundaryReport> = self
            .stages
            .windows(2)
            .enumerate()
            .map(|(index, pair)| {
                let mut held = Held::default();
                self.observers(index + 1).for_each(|observer| held.merge(&observer.held));
                let ends = self.ends(&pair[0], &pair[1]);
                let contents = Contents::new(&crossing(&self.wires, pair[0].tasks.end), &self.wires, self.batch);
                BoundaryReport {
                    from: pair[0].name.to_string(),
                    to: pair[1].name.to_string(),
                    slots: ends.slots(&contents),
                    spare_slots: ends.spare(&contents, self.memories[index].as_ref()),
                    occupancy: Occupancy::of(&held),
                }
            })
            .collect();
        let slots: usize = boundaries.iter().map(|boundary| boundary.slots + boundary.spare_slots).sum();
        let at_work: usize = self.stages.iter().map(|stage| stage.threads * stage.gather).sum();
        let most_in_flight = (self.batch * (slots + at_work)) as u64;
        let notes = self.workers.iter().filter_map(|worker| {
            let refusal = worker.refusal.as_ref()?;
            Some(format!("stage `{}`: a thread could not take its place: {refusal}", worker.stage.name()))
        });
        let (real_time, refused) = real_time.map(|outcome| (outcome.report, outcome.notes)).unzip();
        let notes = notes.chain(moved).chain(refused.into_iter().flatten());
        let notes = notes.chain(measured.notes.iter().map(|note| format!("energy: {note}"))).collect();
        let mut latency = self.histogram(self.stages.len() - 1, |observer| &observer.latency);
        if let Some(before) = &earlier.latency {
            latency.merge(before);
        }
        let real_time = real_time.map(|told| RealTimeReport { bound: self.against_bound(&latency), ..told });
        let mut report = Report {
            boundaries,
            notes,
            shares_cores: self.shares_cores,
            figures: self.figures(&earlier),
            placement: self.placement.clone(),
            dynamic,
            latency: Latency::of(&latency),
            real_time,
            ..Report::new(self.batch, executions, elapsed, self.planned_period_ns, most_in_flight, stages)
        };
        let mut busy: Vec<(Option<String>, f64)> =
            report.busy_cores().map(|(kind, cores)| (kind.map(str::to_owned), cores)).collect();
        if !earlier.changes.is_empty() {
            let here = elapsed.as_secs_f64();
            let whole = (earlier.elapsed + elapsed).as_secs_f64();
            let seconds = busy.into_iter().map(|(kind, cores)| (kind, cores * here)).chain(earlier.busy);
            busy = seconds.map(|(kind, seconds)| (kind, seconds / whole)).collect();
            report.continue_from(earlier.executions, earlier.frames, earlier.elapsed);
            report.lost = report.lost.saturating_add(earlier.aside.lost()?);
            report.changes = earlier.changes;
        }
        let bits = self.profile.as_ref().and_then(Profile::bits_per_frame);
        let (seconds, frames) = (report.seconds, report.frames);
        report.energy = RunEnergy::measured(&measured, seconds, frames, bits).or_else(|| {
            let busy = busy.iter().map(|(kind, cores)| (kind.as_deref(), *cores));
            RunEnergy::modelled(self.watts.as_ref()?, busy, seconds, frames, bits)
        });
        if let Some(profile) = &self.profile {
            report.explain(profile);
        }
        Ok(report)
    }

    /// The tasks of a stage, as these of its replicas ran them.
    fn task_reports(&self, plan: &StagePlan, workers: &[&Worker]) -> Vec<TaskReport> {
        let observers = || workers.iter().filter_map(|worker| worker.observer.as_deref());
        let timed = observers().map(|observer| observer.timed).sum();
        let task = |(task, number): (usize, usize)| {
            let (mut times, mut interrupted) = (Histogram::new(), Interrupted::default());
            for observer in observers() {
                times.merge(&observer.tasks[task]);
                interrupted.merge(&observer.interrupted[task]);
            }
            TaskReport { name: self.tasks[number].0.to_string(), times: Times::of(&times, &interrupted, timed) }
        };
        plan.tasks.clone().enumerate().map(task).collect()
    }

    /// What the lanes of a stage did, if it ran on a device.
    fn device_report(&self, stage: usize, executions: u64) -> Option<DeviceReport> {
        let device = self.stages[stage].device.as_ref()?;
        let lanes = || self.workers_of(stage).filter_map(|worker| worker.lane.as_deref());
        // First launches count where there are no others.
        let first: Launched = lanes().map(|lane| lane.first).sum();
        let usual: Launched = lanes().map(|lane| lane.usual).sum();
        let did = if usual.launches > 0 { usual } else { first };
        let host: Duration = lanes().map(|lane| lane.host).sum();
        let overlaps = lanes().any(|lane| !lane.is_emulated());
        let part = did.batches as f64 / (first.batches + usual.batches).max(1) as f64;
        let per_launch = did.batches as f64 / did.launches.max(1) as f64;
        let report = DeviceReport::new(
            (device.name(), overlaps),
            (did.busy, did.copied),
            (executions as f64 * part).round() as u64,
            (self.stages[stage].gather, per_launch),
        );
        let first_launch = first.busy.iter().sum::<Duration>();
        Some(DeviceReport {
            host_ns: per(host, executions),
            first_launch_seconds: 1e-9 * per(first_launch, first.launches),
            ..report
        })
    }

    /// What the replicas on each kind of core of a stage did.
    fn kind_reports(&self, stage: usize, elapsed: Duration) -> Vec<KindReport> {
        let plan = &self.stages[stage];
        let mut workers = self.workers_of(stage);
        let planned = |kind: &str| {
            let profile = self.profile.as_ref()?;
            let ns = profile.stage_ns(plan.tasks.clone(), profile.kind(kind)?)?;
            Some(ns as f64 * self.batch as f64 / f64::from(profile.frames_per_execution()))
        };
        let report = |(kind, threads): (&str, usize)| {
            let own: Vec<&Worker> = workers.by_ref().take(threads).collect();
            let mut count = Count::default();
            own.iter().for_each(|worker| count += &worker.count);
            KindReport::new((kind, threads), self.task_reports(plan, &own), elapsed, &count, planned(kind))
        };
        plan.threads_by_kind().into_iter().map(report).collect()
    }

    /// What the tasks tell, those of replicas put together.
    fn figures(&self, earlier: &Earlier) -> Figures {
        let mut all = earlier.aside.figures();
        self.workers.iter().for_each(|worker| all.merge(worker.stage.figures()));
        all
    }

    /// Frames against their bound, if there is one; they took these times.
    fn against_bound(&self, times: &Histogram) -> Option<AgainstBound> {
        let tallies = self.observers(self.stages.len() - 1).map(|observer| observer.tally);
        let total = tallies.reduce(|total, tally| {
            let (mut total, tally) = (total?, tally?);
            total.merge(&tally);
            Some(total)
        });
        total.flatten().map(|tally| AgainstBound::of(&tally, times))
    }

    fn observers(&self, stage: usize) -> impl Iterator<Item = &Observer> {
        self.workers_of(stage).filter_map(|worker| worker.observer.as_deref())
    }

    /// What the replicas of a stage recorded, together.
    pub(super) fn histogram(&self, stage: usize, part: impl Fn(&Observer) -> &Histogram) -> Histogram {
        let mut whole = Histogram::new();
        self.observers(stage).for_each(|observer| whole.merge(part(observer)));
        whole
    }
}

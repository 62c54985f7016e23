//! One run of a plan.

use std::collections::BTreeSet;
use std::thread;

use bief::machine::Core;
use bief::placement::Policy;
use bief::schedule::{Platform, Profile, Schedule};
use bief::{Error, Machine, Pipeline, Report, Result};

use super::subject::Subject;

/// Executions of a run, at least.
const LEAST_EXECUTIONS: f64 = 10.0;

/// Where it is measured, for how long, and what the runs note.
pub(super) struct Bench {
    pub(super) machine: Machine,
    pub(super) seconds: f64,
    pub(super) notes: BTreeSet<String>,
}

/// What was planned, and what became of it.
pub(super) struct Trial {
    pub(super) planned_ns: f64,
    pub(super) report: Report,
}

impl Bench {
    pub(super) fn new(machine: Machine, seconds: f64) -> Self {
        Self { machine, seconds, notes: BTreeSet::new() }
    }

    pub(super) fn platform(&self) -> Platform {
        self.machine.platform()
    }

    /// Runs a plan in the places of a policy, observed and beside the profile that it was made with.
    pub(super) fn run(
        &mut self,
        subject: &Subject,
        profile: &Profile,
        schedule: &Schedule,
        policy: &Policy,
    ) -> Result<Trial> {
        let machine = self.machine.clone();
        self.run_on(&machine, subject, profile, schedule, policy)
    }

    /// The same on another machine.
    pub(super) fn run_on(
        &mut self,
        machine: &Machine,
        subject: &Subject,
        profile: &Profile,
        schedule: &Schedule,
        policy: &Policy,
    ) -> Result<Trial> {
        let planned_ns = schedule.period(profile)?.ns();
        let executions = (self.seconds * 1e9 / planned_ns.max(1.0)).max(LEAST_EXECUTIONS);
        let frames = executions * f64::from(profile.frames_per_execution());
        let pipeline = subject.program(frames as u64)?.pipeline_on(schedule, machine)?.compare_with(profile)?;
        let report = pipeline.place(policy, machine)?.observe().run()?;
        if report.executions == 0 {
            return Err(Error::new("a run worked on no frame at all: give more --seconds"));
        }
        self.notes.extend(report.notes.iter().map(|note| format!("{}: {note}.", subject.name)));
        Ok(Trial { planned_ns, report })
    }

    /// What a frame takes on the slower of two cores, each of which has its half of a chain and hands nothing over: no plan of
    /// these stages can be faster. `None` for chains without halves, and on a machine of one core.
    pub(super) fn apart_ns(&self, subject: &Subject, planned_ns: f64) -> Result<Option<f64>> {
        let frames = (self.seconds * 1e9 / planned_ns.max(1.0)).max(LEAST_EXECUTIONS) as u64;
        let [one, other, ..] = self.machine.cores() else { return Ok(None) };
        let half = |core: &Core| -> Result<Option<Pipeline>> {
            let Some(half) = subject.half(frames) else { return Ok(None) };
            let policy: Policy = core.threads[0].to_string().parse()?;
            Ok(Some(half?.pipeline_as_marked()?.place(&policy, &self.machine)?))
        };
        let (Some(mut one), Some(mut other)) = (half(one)?, half(other)?) else { return Ok(None) };
        let (one, other) = thread::scope(|scope| {
            let one = scope.spawn(move || one.run());
            let other = other.run();
            (one.join().expect("arithmetic does not panic"), other)
        });
        Ok(Some(one?.measured_period_ns.max(other?.measured_period_ns)))
    }
}

impl Trial {
    pub(super) fn measured_ns(&self) -> f64 {
        self.report.measured_period_ns
    }
}

/// Measured over planned period, less one.
pub(super) fn gap(measured_ns: f64, planned_ns: f64) -> f64 {
    measured_ns / planned_ns.max(1.0) - 1.0
}

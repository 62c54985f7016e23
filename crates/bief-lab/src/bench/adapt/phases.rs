//! A world that changes, a run that adapts to it, and the best plan for each of its phases.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

use bief::machine::affinity::Mask;
use bief::plan::{Adapting, GoalHandle};
use bief::schedule::Goal;
use bief::{Machine, Pipeline, Planned, Planner, Report};
use bief_cli::failure::Failure;

use super::chain::{Load, Steps, World, profile};
use crate::bench::background::Background;
use crate::bench::rings::compete;

/// How long a phase lasts.
const PHASE: Duration = Duration::from_secs(2);

/// How the world is for a while.
#[derive(Clone)]
pub(super) struct Phase {
    pub(super) load: Load,
    pub(super) goal: Goal,
    /// The hardware threads that the process may use, where that is not all.
    pub(super) allowed: Option<Vec<usize>>,
    /// Those that another program works on.
    pub(super) competitor: Option<Vec<usize>>,
    /// Work takes so many percent as long on this one.
    pub(super) slow: Option<(usize, u64)>,
    /// The most cores that plans for it are tried with, besides fewer.
    pub(super) cores: u32,
}

pub(super) struct Scenario {
    pub(super) name: &'static str,
    pub(super) machine: Machine,
    pub(super) phases: [Phase; 3],
}

/// What came of a scenario.
pub(super) struct Outcome {
    /// Frames over those of the best plans.
    pub(super) share: f64,
    pub(super) after_seconds: f64,
    /// In median latencies.
    pub(super) pause: f64,
}

/// What holds while a phase lasts.
struct Entered {
    _competitor: Option<Background>,
}

impl Scenario {
    /// Whether its phases differ.
    pub(super) fn changes(&self) -> bool {
        self.name != "nothing"
    }

    pub(super) fn run(&self) -> Result<Outcome, Failure> {
        let outcome = self.compare();
        // Whatever happened, the process may use all of its cores again.
        let left = allow(&self.all_threads());
        let outcome = outcome?;
        left?;
        Ok(outcome)
    }

    fn all_threads(&self) -> Vec<usize> {
        self.machine.cores().iter().flat_map(|core| core.threads.clone()).collect()
    }

    fn compare(&self) -> Result<Outcome, Failure> {
        let bests = self.phases.iter().map(|phase| self.best(phase)).collect::<Result<Vec<f64>, Failure>>()?;
        let world = World::new();
        let (planned, mut pipeline) = self.planned(&world, &self.phases[0], self.phases[0].cores)?;
        let goal = planned.goal_handle();
        let entered = self.enter(&world, &self.phases[0], &goal)?;
        let (begin, drive) = (Instant::now(), Arc::clone(&world));
        let (frames, report) = thread::scope(|scope| {
            let driver = scope.spawn(move || {
                let mut entered = Some(entered);
                let mut frames = Vec::new();
                for (number, phase) in self.phases.iter().enumerate() {
                    if number > 0 {
                        drop(entered.take());
                        entered = Some(self.enter(&drive, phase, &goal)?);
                    }
                    let before = drive.delivered.load(Ordering::Relaxed);
                    let end = begin + PHASE * (number as u32 + 1);
                    thread::sleep(end.saturating_duration_since(Instant::now()));
                    frames.push(drive.delivered.load(Ordering::Relaxed) - before);
                }
                drive.over.store(true, Ordering::Relaxed);
                Ok::<_, Failure>(frames)
            });
            let report = planned.run_adapting(&mut pipeline, Adapting::default()).map_err(Failure::from_error);
            world.over.store(true, Ordering::Relaxed);
            (driver.join().expect("it does nothing that panics"), report)
        });
        let (frames, report) = (frames?, report?);
        let all: u64 = frames.iter().sum();
        let best = bests.iter().sum::<f64>() * PHASE.as_secs_f64();
        Ok(Outcome { share: all as f64 / best, after_seconds: last_change(&report), pause: longest_pause(&report) })
    }

    /// Frames per second of the best plan for a phase, of those for all numbers of cores, with nothing to follow.
    fn best(&self, phase: &Phase) -> Result<f64, Failure> {
        let mut best: f64 = 0.0;
        // A goal that asks for few cores decides by itself.
        let fewest = if phase.goal == Goal::default() { 1 } else { phase.cores };
        for cores in fewest..=phase.cores {
            let world = World::new();
            let (planned, mut pipeline) = self.planned(&world, phase, cores)?;
            let _entered = self.enter(&world, phase, &planned.goal_handle())?;
            let over = Arc::clone(&world);
            let report = thread::scope(|scope| {
                scope.spawn(move || {
                    thread::sleep(PHASE);
                    over.over.store(true, Ordering::Relaxed);
                });
                pipeline.run()
            });
            best = best.max(report.map_err(Failure::from_error)?.frames as f64 / PHASE.as_secs_f64());
        }
        Ok(best)
    }

    /// The best plan that knows all about a phase, for so many cores at most; the first of them are used.
    fn planned(&self, world: &Arc<World>, phase: &Phase, cores: u32) -> Result<(Planned, Pipeline), Failure> {
        let mut steps = Steps(Arc::clone(world));
        let profile = profile(&self.machine, &phase.load).map_err(Failure::from_error)?;
        let mut planner =
            Planner::new(self.machine.clone()).goal(phase.goal).profile(profile, "what the tasks were told");
        if cores < phase.cores || phase.allowed.is_some() {
            planner = planner.cores(format!("{}={cores}", self.machine.kinds()[0].name));
        }
        let planned = planner.plan(&steps).map_err(Failure::from_error)?;
        let pipeline = planned.pipeline(&mut steps).map_err(Failure::from_error)?;
        Ok((planned, pipeline))
    }

    /// Makes the world as it is in a phase.
    fn enter(&self, world: &World, phase: &Phase, goal: &GoalHandle) -> Result<Entered, Failure> {
        world.take(phase.load.us);
        let (thread, percent) = phase.slow.unwrap_or((usize::MAX, 100));
        world.slow_down(thread, percent);
        goal.set(phase.goal).map_err(Failure::from_error)?;
        allow(phase.allowed.as_deref().unwrap_or(&self.all_threads()))?;
        let competitor = phase.competitor.clone();
        let competitor =
            competitor.map(|threads| Background::begin(1, "competitor", move |over| compete(over, &threads)));
        Ok(Entered { _competitor: competitor.transpose()? })
    }
}

/// Lets the process use these hardware threads only: its main thread, by which a run learns of it.
pub(super) fn allow(threads: &[usize]) -> Result<(), Failure> {
    let process =
        i32::try_from(std::process::id()).map_err(|_| Failure::new("the number of the process is too large"))?;
    let allowed = Mask::of(threads).and_then(|mask| mask.set(process));
    allowed.map_err(|error| Failure::new(format!("the system does not let the process be kept on cores: {error}")))
}

/// The longest time from a change of the world to the last plan that was put in force before the next.
fn last_change(report: &Report) -> f64 {
    let phase = PHASE.as_secs_f64();
    let after = |number: u32| {
        let begin = f64::from(number) * phase;
        let here =
            report.changes.iter().map(|change| change.seconds - begin).filter(|after| (0.0..phase).contains(after));
        here.fold(0.0, f64::max)
    };
    after(1).max(after(2))
}

/// In latencies of the plan that a pause ends: pipelines have another one than a single stage, and most of a pause is that the last
/// frames pass.
fn longest_pause(report: &Report) -> f64 {
    let pauses = report.changes.iter().map(|change| change.pause_seconds / change.latency_seconds.unwrap_or(0.0));
    pauses.fold(0.0, f64::max)
}

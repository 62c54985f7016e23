//! A plan that follows the world: what tasks take, which cores there are and what is wanted is looked at while a run goes on, and a
//! better plan is put in force.

mod cores;
mod goal;
mod times;

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use bief_schedule::{Goal, Platform, Profile, Schedule};

use self::cores::Cores;
pub use self::goal::GoalHandle;
use self::times::Times;
use super::Planned;
use crate::error::{Error, Result};
use crate::pipeline::{Changer, Pipeline, Watch};
use crate::report::Report;

/// The time for each part of it that goes into looking.
const TIME_PER_LOOK: u32 = 200;
/// A task's time is another one than was planned with where it differs by more than this share.
const SAME: f64 = 0.01;

/// How a run follows what changes ([`Planned::run_adapting`]).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Adapting {
    /// The time from one look at the run to the next; 50 ms unless set. It is longer where looking takes more than half a percent of it.
    pub interval: Duration,
    /// The plan is changed where another one makes the period shorter by at least this share; 0.05 unless set.
    pub least_gain: f64,
    /// So many looks in a row must find the same plan better; 2 unless set.
    pub looks: u32,
}

impl Default for Adapting {
    fn default() -> Self {
        Self { interval: Duration::from_millis(50), least_gain: 0.05, looks: 2 }
    }
}

impl Planned {
    /// Runs the pipeline, which [`pipeline`](Self::pipeline) made, and changes its plan where the world is another one than was planned
    /// for. The changes, with their reasons, are in [`Report::changes`](crate::Report::changes).
    ///
    /// - Tasks take other times than the profile says, as a signal changes its mode or a clock drops, and another plan is better by
    ///   enough. Times are those of [observed](Pipeline::observe) runs, of some of the batches; a batch in which the thread
    ///   lost its core does not count. Where most of what runs on a kind of core is slower by some factor, the kind is.
    /// - The cores are others that the process may use (its affinity, a cpuset), where the plan is for this machine as it is.
    /// - The goal is another one, or someone wishes a new plan, by the [`goal_handle`](Self::goal_handle).
    ///
    /// # Errors
    /// Those of [`Pipeline::changer`] and [`Pipeline::run`].
    pub fn run_adapting(&self, pipeline: &mut Pipeline, adapting: Adapting) -> Result<Report> {
        let changer = pipeline.changer()?;
        let scale = pipeline.frames_per_batch() as f64 / f64::from(self.profile.frames_per_execution());
        let mut adapter = Adapter::new(self, pipeline.watch(), scale, adapting);
        let (run, over) = channel::<()>();
        std::thread::scope(|scope| {
            let follows = scope.spawn(move || {
                let mut pause = adapting.interval;
                while over.recv_timeout(pause) == Err(RecvTimeoutError::Timeout) {
                    let begin = Instant::now();
                    adapter.look(&changer);
                    pause = adapting.interval.max(TIME_PER_LOOK * begin.elapsed());
                }
            });
            let outcome = pipeline.run();
            drop(run);
            follows.join().map_err(Error::panic)?;
            outcome
        })
    }
}

/// Looks at a run, and says when another plan is better.
struct Adapter<'p> {
    planned: &'p Planned,
    watch: Watch,
    adapting: Adapting,
    times: Times,
    cores: Cores,
    platform: Platform,
    goal: Goal,
    /// The plan in force.
    schedule: Schedule,
    /// A better plan, and how many looks in a row found it.
    better: Option<(Schedule, u32)>,
    /// Why the plan is to be made anew, however little is gained.
    due: Option<String>,
    /// What no better plan was found for.
    settled: Option<Profile>,
}

impl<'p> Adapter<'p> {
    fn new(planned: &'p Planned, watch: Watch, scale: f64, adapting: Adapting) -> Self {
        Self {
            planned,
            watch,
            adapting,
            times: Times::new(&planned.profile, scale),
            cores: Cores::of(&planned.machine),
            platform: planned.platform.clone(),
            goal: planned.goal.unwrap_or_default(),
            schedule: planned.schedule.clone(),
            better: None,
            due: None,
            settled: None,
        }
    }

    /// Takes what was seen since the last look into account, and asks for another plan where that is due.
    fn look(&mut self, changer: &Changer) {
        let times = self.watch.task_times();
        self.times.learn(&self.planned.profile, &times);
        self.look_around();
        // What cannot be planned now may be so later: the plan in force stays.
        let Ok(profile) = self.times.corrected(&self.planned.profile) else { return };
        if let Some(reason) = self.planned.goal_handle.take_wish() {
            let outcome = self.grant(&profile, changer, reason);
            self.planned.goal_handle.tell(outcome);
        }
        if let Some(reason) = &self.due {
            let Ok(schedule) = self.plan(&profile) else { return };
            if changer.change_on(&schedule, self.cores.machine(), reason.clone()).is_ok() {
                self.due = None;
                self.is_in_force(schedule);
            }
            return;
        }
        if self.settled.as_ref().is_some_and(|settled| are_alike(settled, &profile)) {
            return;
        }
        let Some((schedule, gain)) = self.better_plan(&profile) else {
            (self.better, self.settled) = (None, Some(profile));
            return;
        };
        let looks = match self.better.take() {
            Some((known, looks)) if known.stages() == schedule.stages() => looks + 1,
            _ => 1,
        };
        if looks < self.adapting.looks {
            self.better = Some((schedule, looks));
            return;
        }
        if changer.change(&schedule, self.reason(gain)).is_ok() {
            self.is_in_force(schedule);
        }
    }

    /// Plans anew because someone wishes it; answers what came of it.
    fn grant(&mut self, profile: &Profile, changer: &Changer, reason: String) -> String {
        let schedule = match self.plan(profile) {
            Ok(schedule) => schedule,
            Err(error) => return format!("planned again: {error}; the plan in force stays"),
        };
        if schedule.stages() == self.schedule.stages() {
            return "planned again: the plan in force is the best".to_owned();
        }
        match changer.change_on(&schedule, self.cores.machine(), reason) {
            Ok(()) => {
                self.is_in_force(schedule);
                "planned again: another plan is put in force".to_owned()
            }
            Err(error) => format!("planned again: {error}; the plan in force stays"),
        }
    }

    fn is_in_force(&mut self, schedule: Schedule) {
        self.schedule = schedule;
        (self.better, self.settled) = (None, None);
        self.times.begin_anew();
    }

    /// Looks whether the cores or the goal are others than before.
    fn look_around(&mut self) {
        if let Some(told) = self.cores.look()
            && let Ok(platform) = self.planned.platform_on(self.cores.machine())
        {
            self.platform = platform;
            self.due = Some(told);
        }
        let goal = self.planned.goal_handle.get();
        if goal != self.goal {
            self.goal = goal;
            self.due = Some(format!("the goal is {goal} now"));
        }
    }

    fn plan(&self, profile: &Profile) -> Result<Schedule> {
        let kinds = self.cores.machine().kinds();
        // A stage does not come to a device, nor leave one, while a run goes on.
        let of_cores: Vec<&str> = kinds.iter().map(|kind| kind.name.as_str()).collect();
        Ok(self.planned.strategy.0.plan(profile, &self.platform.only(&of_cores)?, &self.goal)?)
    }

    /// The plan that is better than the one in force, and by which share of the period.
    fn better_plan(&self, profile: &Profile) -> Option<(Schedule, f64)> {
        let plan = self.plan(profile).ok()?;
        if plan.stages() == self.schedule.stages() {
            return None;
        }
        let now = self.schedule.period(profile).ok()?;
        let then = plan.period(profile).ok()?;
        let gain = 1.0 - then.ns() / now.ns().max(1.0);
        let longest = self.goal.longest_period(profile).ok()?;
        let cores = |schedule: &Schedule| schedule.cores().values().sum::<u32>();
        let is_better = match longest {
            // Where a pace is demanded, being faster is of no use.
            Some(longest) if now <= longest => cores(&plan) < cores(&self.schedule),
            Some(_) => then < now,
            None => gain >= self.adapting.least_gain,
        };
        is_better.then_some((plan, gain))
    }

    fn reason(&self, gain: f64) -> String {
        let seen = self.times.farthest(&self.planned.profile);
        if gain < 0.0 {
            return format!("{seen}; fewer cores keep the pace");
        }
        format!("{seen}; the period becomes {:.1} % shorter", 100.0 * gain)
    }
}

/// Whether tasks take as long in both, all but a little.
fn are_alike(one: &Profile, other: &Profile) -> bool {
    let times = |profile: &Profile| -> Vec<Option<u64>> {
        profile.tasks().iter().flat_map(|task| task.ns.iter().copied()).collect()
    };
    let is_alike = |(one, other): (Option<u64>, Option<u64>)| match (one, other) {
        (Some(one), Some(other)) => one.abs_diff(other) as f64 <= SAME * one as f64,
        (one, other) => one == other,
    };
    times(one).into_iter().zip(times(other)).all(is_alike)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use bief_schedule::{Stage, TaskProfile};

    use super::*;
    use crate::machine::Machine;
    use crate::planner::Planner;
    use crate::watch::{Shown, TaskTime};

    /// Three sequential tasks of 10, 4 and 4 us on two cores, and what the plan is.
    fn planned(goal: &str) -> Planned {
        let task = |(name, ns)| TaskProfile::sequential(name, [ns]);
        let profile = Profile::new(["cpu"], [("a", 10_000), ("b", 4_000), ("c", 4_000)].map(task)).unwrap();
        let platform = bief_schedule::Platform::parse_cores("cpu=2", &profile).unwrap();
        let planner = Planner::new(Machine::here()).goal(goal.parse().unwrap());
        let schedule = planner.chosen().0.plan(&profile, &platform, &goal.parse().unwrap()).unwrap();
        planner.planned(profile, platform, schedule, None, Vec::new())
    }

    fn adapter(planned: &Planned) -> Adapter<'_> {
        Adapter::new(planned, Watch::new(Arc::<Shown>::default()), 1.0, Adapting::default())
    }

    fn times(us: [u64; 3]) -> Vec<TaskTime> {
        let time = |(task, us)| TaskTime { task, kind: Some("cpu".into()), ns: us * 1000 * 20, count: 20 };
        (0..).zip(us).map(time).collect()
    }

    /// The plan that is asked for after each of these looks, if any is.
    fn better(adapter: &mut Adapter<'_>, us: [u64; 3]) -> Option<Vec<Stage>> {
        adapter.times.learn(&adapter.planned.profile, &times(us));
        let profile = adapter.times.corrected(&adapter.planned.profile).unwrap();
        adapter.better_plan(&profile).map(|(plan, _)| plan.stages().to_vec())
    }

    #[test]
    fn a_plan_is_better_once_tasks_take_other_times() {
        let planned = planned("max-throughput");
        assert_eq!(planned.schedule.stages(), [Stage::new(1, 1, "cpu"), Stage::new(2, 1, "cpu")]);
        let mut adapter = adapter(&planned);
        // As planned, and all slower alike.
        assert_eq!(better(&mut adapter, [10, 4, 4]), None);
        assert_eq!(better(&mut adapter, [20, 8, 8]), None);
        let other = Some(vec![Stage::new(2, 1, "cpu"), Stage::new(1, 1, "cpu")]);
        let plans: Vec<_> = (0..4).map(|_| better(&mut adapter, [5, 4, 11])).collect();
        assert!(plans.contains(&other) && plans.last() == Some(&other), "{plans:?}");
        assert!(adapter.reason(0.25).starts_with("`c` takes 2."), "{}", adapter.reason(0.25));
        assert!(adapter.reason(0.25).ends_with("the period becomes 25.0 % shorter"));
    }

    #[test]
    fn what_varies_a_little_changes_nothing() {
        let planned = planned("max-throughput");
        let mut adapter = adapter(&planned);
        for round in 0..100 {
            let us = if round % 2 == 0 { [10, 4, 4] } else { [9, 5, 4] };
            assert_eq!(better(&mut adapter, us), None, "round {round}");
        }
    }

    #[test]
    fn where_a_pace_is_kept_only_fewer_cores_are_better() {
        let planned = planned("fewest-cores,period=12us");
        assert_eq!(planned.schedule.stages().len(), 2);
        let mut adapter = adapter(&planned);
        assert_eq!(better(&mut adapter, [5, 4, 7]), None, "the pace is kept");
        let one = (0..8).filter_map(|_| better(&mut adapter, [2, 1, 1])).last();
        assert_eq!(one, Some(vec![Stage::new(3, 1, "cpu")]));
        assert!(adapter.reason(-0.5).ends_with("fewer cores keep the pace"));
    }
}

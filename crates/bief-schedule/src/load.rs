//! What a schedule asks of its cores: the work, period and use of each stage, the latency, and what limits them.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::error::Error;
use crate::period::Period;
use crate::profile::Profile;
use crate::schedule::{Schedule, Stage, check_stages};

/// The load of a stage on a profile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StageLoad {
    /// The stage's tasks, as positions in the chain.
    pub tasks: Range<usize>,
    /// Whether all of them may be replicated, so that more cores would shorten the stage's period.
    pub replicable: bool,
    /// The work of one execution, hand-over included, in nanoseconds on one core of the stage's kind. It is what the
    /// stage adds to the latency of a frame, however many replicas it has.
    pub work_ns: u64,
    /// The work divided by the replicas that share it (eq. 1).
    pub period: Period,
}

impl StageLoad {
    /// The share of the time, from 0 to 1, that the stage's cores are busy in a pipeline of that period; 0 where the period
    /// is zero.
    pub fn utilisation(&self, period: Period) -> f64 {
        if period == Period::ZERO { 0.0 } else { self.period.ns() / period.ns() }
    }
}

/// What limits the period of a schedule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Limit {
    /// The stage at this position takes the whole period; the first of them, if several do.
    ///
    /// [`StageLoad::replicable`] says whether more cores would help it.
    Stage(usize),
    /// More threads than cores share the cores of this kind, which are busy all the time.
    Cores(String),
}

impl Schedule {
    /// The tasks, work and period of each stage on a profile.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Schedule`](crate::ErrorKind::Schedule) where the stages do not go with the profile (see
    /// [`check`](Self::check)).
    pub fn loads(&self, profile: &Profile) -> Result<Vec<StageLoad>, Error> {
        check_stages(self.stages(), profile)?;
        let mut start = 0;
        let load = |stage: &Stage| {
            let tasks = start..start + stage.tasks;
            start = tasks.end;
            let kind = profile.kind(&stage.kind).expect("check_stages found the kind");
            let replicable = profile.is_replicable(tasks.clone());
            let work_ns = profile.stage_ns(tasks.clone(), kind).expect("check_stages found that the tasks run there");
            StageLoad {
                tasks,
                replicable,
                work_ns,
                period: Period::shared(work_ns, if replicable { stage.cores } else { 1 }),
            }
        };
        Ok(self.stages().iter().map(load).collect())
    }

    /// The period on a profile (eq. 2): that of the slowest stage, and no less than what the cores of a
    /// kind need for their work where threads share them.
    ///
    /// It differs from [`planned_period`](Self::planned_period) where the schedule was made for other times.
    ///
    /// # Errors
    ///
    /// Those of [`loads`](Self::loads).
    pub fn period(&self, profile: &Profile) -> Result<Period, Error> {
        Ok(self.slowest(profile)?.1)
    }

    /// What holds the period up on a profile.
    ///
    /// # Errors
    ///
    /// Those of [`loads`](Self::loads).
    pub fn limit(&self, profile: &Profile) -> Result<Limit, Error> {
        Ok(self.slowest(profile)?.0)
    }

    /// How long one execution is under way in the stages, in nanoseconds: the sum of their works on the kinds that they run
    /// on. Waiting between stages comes on top, and waiting for a core where threads share cores.
    ///
    /// # Errors
    ///
    /// Those of [`loads`](Self::loads).
    ///
    /// # Example
    ///
    /// ```
    /// use bief_schedule::{Profile, Schedule, Stage, TaskProfile};
    ///
    /// let profile = Profile::new(
    ///     ["big"],
    ///     [TaskProfile::sequential("receive", [200]), TaskProfile::replicable("decode", [900])],
    /// )?;
    /// let schedule = Schedule::new("hand", [Stage::new(1, 1, "big"), Stage::new(1, 4, "big")], &profile)?;
    /// assert_eq!(schedule.latency_ns(&profile)?, 1100);
    /// assert_eq!(schedule.loads(&profile)?[0].utilisation(schedule.planned_period()), 200.0 / 225.0);
    /// # Ok::<(), bief_schedule::Error>(())
    /// ```
    pub fn latency_ns(&self, profile: &Profile) -> Result<u64, Error> {
        Ok(self.loads(profile)?.iter().fold(0, |sum, load| sum.saturating_add(load.work_ns)))
    }

    /// How long after its due time the oldest frame of an execution is done, at most, in nanoseconds, where executions come at
    /// the period `pace` and tasks take no longer than the profile says; `None` where that has no bound: at a pace faster than
    /// the [period](Self::period), and where threads share cores.
    ///
    /// It is the [latency](Self::latency_ns), as a stage is done with an execution before the next one comes to that replica, and
    /// the time for which the oldest frame waits until its execution is complete: what
    /// [`realtime`](crate::realtime) proves of stages on cores of their own.
    ///
    /// # Errors
    ///
    /// Those of [`loads`](Self::loads).
    ///
    /// # Example
    ///
    /// ```
    /// use bief_schedule::{Period, Profile, Schedule, Stage, TaskProfile};
    ///
    /// let profile = Profile::new(
    ///     ["big"],
    ///     [TaskProfile::sequential("receive", [200]), TaskProfile::replicable("decode", [900])],
    /// )?
    /// .with_frames_per_execution(4)?;
    /// let schedule = Schedule::new("hand", [Stage::new(1, 1, "big"), Stage::new(1, 4, "big")], &profile)?;
    /// // Three frames of 100 ns each come after the oldest one.
    /// assert_eq!(schedule.latency_bound_ns(&profile, Period::from(400))?, Some(300 + 1100));
    /// assert_eq!(schedule.latency_bound_ns(&profile, Period::from(200))?, None);
    /// # Ok::<(), bief_schedule::Error>(())
    /// ```
    pub fn latency_bound_ns(&self, profile: &Profile, pace: Period) -> Result<Option<u64>, Error> {
        let latency = self.latency_ns(profile)?;
        let is_kept = !self.is_oversubscribed() && self.period(profile)? <= pace;
        Ok(is_kept.then(|| latency.saturating_add(profile.filling_ns(pace))))
    }

    /// How many cores of each kind are busy on average in a pipeline of that period, in nanoseconds: for each stage its work
    /// divided by the period, and no more than its cores, which can do no more. In a period of no time nothing is done.
    ///
    /// # Errors
    ///
    /// Those of [`loads`](Self::loads).
    ///
    /// # Example
    ///
    /// ```
    /// use bief_schedule::{Profile, Schedule, Stage, TaskProfile};
    ///
    /// let profile = Profile::new(
    ///     ["big"],
    ///     [TaskProfile::sequential("receive", [200]), TaskProfile::replicable("decode", [900])],
    /// )?;
    /// let schedule = Schedule::new("hand", [Stage::new(1, 1, "big"), Stage::new(1, 4, "big")], &profile)?;
    /// assert_eq!(schedule.busy_cores(&profile, 400.0)?["big"], 200.0 / 400.0 + 900.0 / 400.0);
    /// # Ok::<(), bief_schedule::Error>(())
    /// ```
    pub fn busy_cores(&self, profile: &Profile, period_ns: f64) -> Result<BTreeMap<String, f64>, Error> {
        let mut busy = BTreeMap::new();
        for (stage, load) in self.stages().iter().zip(self.loads(profile)?) {
            let share = if period_ns > 0.0 { load.work_ns as f64 / period_ns } else { 0.0 };
            *busy.entry(stage.kind.clone()).or_default() += share.min(f64::from(stage.cores));
        }
        Ok(busy)
    }

    fn slowest(&self, profile: &Profile) -> Result<(Limit, Period), Error> {
        let loads = self.loads(profile)?;
        let mut slowest = (Limit::Stage(0), loads[0].period);
        for (stage, load) in loads.iter().enumerate() {
            if load.period > slowest.1 {
                slowest = (Limit::Stage(stage), load.period);
            }
        }
        if self.is_oversubscribed() {
            for (kind, &cores) in self.cores() {
                let on_kind = self.stages().iter().zip(&loads).filter(|(stage, _)| stage.kind == *kind);
                let shared = Period::shared(on_kind.map(|(_, load)| load.work_ns).sum(), cores);
                if shared > slowest.1 {
                    slowest = (Limit::Cores(kind.clone()), shared);
                }
            }
        }
        Ok(slowest)
    }
}

//! What a schedule asks of its cores: the work, period and use of each stage, the latency, and what limits them.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;

use crate::error::{Error, ErrorKind};
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
    /// The work of one execution, hand-over included, in nanoseconds on one core of the stage's kind, and of several on the
    /// slowest for it. It is what the stage adds to the latency of a frame, however many replicas it has.
    pub work_ns: u64,
    /// The same for each of its kinds.
    pub works_ns: BTreeMap<String, u64>,
    /// The work divided by the replicas that share it (eq. 1); where they are of several kinds, 1 / Σ(cores / work). On devices,
    /// the [pace](Profile::pace_ns) divided by them.
    pub period: Period,
    /// How many executions the ring behind the stage must hold for none of its cores to wait: [`Profile::ahead`].
    pub ahead: u64,
    /// How many executions a launch has, on a device: its works are those of so many, for which each of them waits.
    pub gather: u32,
}

impl StageLoad {
    /// The share of the time, from 0 to 1, that the stage's cores are busy in a pipeline of that period; 0 where the period
    /// is zero. Cores of several kinds are taken to be equally busy: they share frames in proportion to their speeds.
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
    /// [`check`](Self::check)), or kinds of core share a stage whose period is no fraction of 128-bit numbers.
    pub fn loads(&self, profile: &Profile) -> Result<Vec<StageLoad>, Error> {
        check_stages(self.stages(), profile)?;
        let mut start = 0;
        let load = |(index, stage): (usize, &Stage)| {
            let tasks = start..start + stage.tasks;
            start = tasks.end;
            let gathering = gathering(profile, stage);
            let alone_ns = |name: &String| {
                let kind = profile.kind(name).expect("check_stages found the kind");
                gathering.stage_ns(tasks.clone(), kind).expect("check_stages found that the tasks run there")
            };
            let work = |name: &String| alone_ns(name).saturating_mul(stage.gather.into());
            let works_ns: BTreeMap<String, u64> = stage.cores.keys().map(|kind| (kind.clone(), work(kind))).collect();
            let cores: Vec<_> =
                stage.cores.iter().filter_map(|(name, &cores)| Some((profile.kind(name)?, cores))).collect();
            let ahead = gathering.ahead(tasks.clone(), cores.iter().copied());
            let period = gathering.mixed_period(tasks.clone(), cores).ok_or_else(|| {
                let reason = "its tasks take so long that the period of the kinds of core that share it has no exact fraction: give \
                              it cores of one kind";
                Error::new(ErrorKind::Schedule, format!("schedule, stages[{index}]"), reason)
            })?;
            Ok(StageLoad {
                replicable: profile.is_replicable(tasks.clone()),
                tasks,
                work_ns: works_ns.values().copied().max().expect("check_itself found cores"),
                works_ns,
                period,
                ahead,
                gather: stage.gather,
            })
        };
        self.stages().iter().enumerate().map(load).collect()
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
    /// on, on the slowest where a stage has several. Waiting between stages comes on top, and waiting for a core where threads share cores.
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
    /// At a stage with cores of several kinds an execution may have to wait for a free one, by less than what the slowest works beyond the
    /// pace. Let all `m` cores be busy from the moment `s`, at which execution `j` took the last free one, to the moment `c`, at which
    /// execution `k` that waited is taken. In between each core with the work `W` ends at least `(c - s) / W - 1` executions,
    /// together `N` of at least `(c - s) / p - m`, where `p` is the stage's period; these are those before `k`, so `k` is
    /// `j + N + 1`. It was due `N + 1` paces after `j`, and waits no longer than `p (N + m)` less that; as `p` is no more than the
    /// pace, and `p m` no more than the greatest work, that is no more than this work less the pace.
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
        let loads = self.loads(profile)?;
        let waits = loads.iter().filter(|load| load.works_ns.len() > 1).map(|load| waiting_ns(load.work_ns, pace));
        let latency = waits.fold(self.latency_ns(profile)?, u64::saturating_add);
        let is_kept = !self.is_oversubscribed() && self.period(profile)? <= pace;
        Ok(is_kept.then(|| latency.saturating_add(profile.filling_ns(pace))))
    }

    /// How many cores of each kind are busy on average in a pipeline of that period, in nanoseconds: for each stage its work
    /// divided by the period, and no more than its cores, which can do no more; for a device its [pace](Profile::pace_ns) is the
    /// work. Cores of several kinds share a stage's frames in
    /// proportion to their speeds: all are busy for the same part of the time. In a period of no time nothing is done.
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
            for (kind, &cores) in &stage.cores {
                let work_ns = match stage.cores.len() {
                    1 => pace_ns(profile, &load, kind) as f64,
                    _ => load.period.ns() * f64::from(cores),
                };
                let share = if period_ns > 0.0 { work_ns / period_ns } else { 0.0 };
                *busy.entry(kind.clone()).or_default() += share.min(f64::from(cores));
            }
        }
        Ok(busy)
    }

    fn slowest(&self, profile: &Profile) -> Result<(Limit, Period), Error> {
        let sharing = if self.is_oversubscribed() { profile.while_sharing() } else { Cow::Borrowed(profile) };
        let profile = &*sharing;
        let loads = self.loads(profile)?;
        let mut slowest = (Limit::Stage(0), loads[0].period);
        for (stage, load) in loads.iter().enumerate() {
            if load.period > slowest.1 {
                slowest = (Limit::Stage(stage), load.period);
            }
        }
        if self.is_oversubscribed() {
            for (kind, &cores) in self.cores() {
                // Where threads share cores, each stage has one kind.
                let on_kind = loads.iter().filter(|load| load.works_ns.contains_key(kind));
                let on_kind = on_kind.map(|load| pace_ns(profile, load, kind));
                let shared = Period::shared(on_kind.sum(), cores);
                if shared > slowest.1 {
                    slowest = (Limit::Cores(kind.clone()), shared);
                }
            }
        }
        Ok(slowest)
    }
}

/// The profile of the launches of that stage.
pub(crate) fn gathering<'p>(profile: &'p Profile, stage: &Stage) -> Cow<'p, Profile> {
    let kind = stage.kind().and_then(|kind| profile.kind(kind));
    kind.map_or(Cow::Borrowed(profile), |kind| profile.gathering(kind, stage.gather))
}

/// The time from one execution to the next on one core of a kind that the stage runs on.
fn pace_ns(profile: &Profile, load: &StageLoad, kind: &str) -> u64 {
    let kind = profile.kind(kind).expect("the load has been found on the profile");
    profile
        .gathering(kind, load.gather)
        .pace_ns(load.tasks.clone(), kind)
        .expect("the load has been found on the profile")
}

/// How long an execution waits at most, at that pace, for one of a stage's cores of several kinds, the slowest of which works so
/// long on one: what [`Schedule::latency_bound_ns`] proves.
pub(crate) fn waiting_ns(slowest_ns: u64, pace: Period) -> u64 {
    slowest_ns.saturating_sub(pace.whole())
}

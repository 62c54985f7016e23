//! The ways to schedule a chain, and the list of them.
//!
//! Beside Nicol's algorithm, the slides of the DVB-S2 receiver that Idouar et al. schedule name `RPTm` and `RBm`,
//! in the legend of one figure and without a description: they are left out. [`RecursiveBisection`] is the
//! recursive bisection of the literature on chains-to-chains partitioning.

use crate::error::{Error, ErrorKind};
use crate::goal::Goal;
use crate::platform::Platform;
use crate::profile::Profile;
use crate::schedule::Schedule;
use crate::smt;

mod exact;
mod fertac;
mod greedy;
mod herad;
mod nicol;
mod otac;
mod rb;
mod shared;
mod thread_per_task;
mod two_catac;
mod work;

pub use exact::{Exact, Optimum, StageKinds};
pub use fertac::Fertac;
pub use herad::Herad;
pub use nicol::Nicol;
pub use otac::Otac;
pub use rb::RecursiveBisection;
pub use shared::Shared;
pub use thread_per_task::ThreadPerTask;
pub use two_catac::TwoCatac;

/// A way to cut a chain into stages and to give each its cores.
pub trait Strategy: Sync {
    /// The name under which [`strategy`] finds it, and which its schedules carry.
    fn name(&self) -> &'static str;

    /// One sentence that says what it does and when to choose it.
    fn summary(&self) -> &'static str;

    /// What it can schedule.
    fn capabilities(&self) -> Capabilities;

    /// Schedules the chain on the cores of the platform. The result passes [`Schedule::check`].
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Platform`] where the platform has cores of a kind that the profile does not know;
    /// [`ErrorKind::Strategy`] where it has cores of more kinds than the strategy can use together or none on which some
    /// task can run, or the strategy cannot schedule the chain for another reason, which it says.
    fn schedule(&self, profile: &Profile, platform: &Platform) -> Result<Schedule, Error>;

    /// Schedules the chain for a goal: unless the strategy [serves goals](Capabilities::goals), for the default one only,
    /// which is what [`schedule`](Self::schedule) does.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Strategy`] where the strategy does not serve the goal; [`ErrorKind::Goal`] where the goal cannot be
    /// met; else those of [`schedule`](Self::schedule).
    ///
    /// ```
    /// use bief_schedule::{Goal, Platform, Profile, TaskProfile, strategy};
    ///
    /// let profile = Profile::new(["cpu"], [TaskProfile::replicable("decode", [900])])?;
    /// let platform = Platform::parse_cores("4", &profile)?;
    /// let goal: Goal = "fewest-cores,period=450ns".parse()?;
    /// assert_eq!(strategy("exact")?.plan(&profile, &platform, &goal)?.stages()[0].replicas(), 2);
    /// let error = strategy("otac")?.plan(&profile, &platform, &goal).unwrap_err();
    /// assert!(error.reason().ends_with("leave the goal out, or take one of: exact, exact:one-kind"));
    /// # Ok::<(), bief_schedule::Error>(())
    /// ```
    fn plan(&self, profile: &Profile, platform: &Platform, goal: &Goal) -> Result<Schedule, Error> {
        self.serves(goal)?;
        self.schedule(profile, platform)
    }

    /// Whether the strategy serves a goal: known before there is a profile.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Strategy`], which names the strategies that do, where it does not.
    fn serves(&self, goal: &Goal) -> Result<(), Error> {
        if self.capabilities().goals || *goal == Goal::default() {
            return Ok(());
        }
        let able = strategies().iter().filter(|strategy| strategy.capabilities().goals);
        let able: Vec<_> = able.map(|strategy| strategy.name()).collect();
        let reason = format!(
            "it serves no goal but `{}`, and `{goal}` is given: leave the goal out, or take one of: {}",
            Goal::default(),
            able.join(", ")
        );
        Err(Error::new(ErrorKind::Strategy, format!("strategy `{}`", self.name()), reason))
    }
}

impl<S: Strategy + ?Sized> Strategy for &S {
    fn name(&self) -> &'static str {
        (**self).name()
    }

    fn summary(&self) -> &'static str {
        (**self).summary()
    }

    fn capabilities(&self) -> Capabilities {
        (**self).capabilities()
    }

    fn schedule(&self, profile: &Profile, platform: &Platform) -> Result<Schedule, Error> {
        (**self).schedule(profile, platform)
    }

    fn plan(&self, profile: &Profile, platform: &Platform, goal: &Goal) -> Result<Schedule, Error> {
        (**self).plan(profile, platform, goal)
    }

    fn serves(&self, goal: &Goal) -> Result<(), Error> {
        (**self).serves(goal)
    }
}

/// What a [`Strategy`] can schedule; by default, chains on one kind of cores, and nothing else. Name what more it can, and leave the
/// rest to the default, as there may be more to name one day.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Capabilities {
    /// How many kinds of cores it can use together, at most. A kind of which a platform has no core does not count.
    pub max_kinds: usize,
    /// Whether it serves every [`Goal`]; else the default one only.
    pub goals: bool,
    /// Whether it schedules tasks that can run on some of the given kinds only, each where it can; else all tasks must run
    /// on every kind that is given.
    pub absent_times: bool,
    /// Whether it weighs what cutting the chain costs ([`Profile::has_cut_costs`]); else it cuts as if that were free, and its
    /// schedules have the period that this leads to.
    pub cut_costs: bool,
    /// Whether it schedules on [devices](Profile::with_lanes); else only cores may be given.
    pub devices: bool,
    /// The values of the parameter in its name, the default first: `1`, `2` and `3` of `thread_per_task:2`. Empty where it
    /// has none.
    pub parameters: &'static [&'static str],
}

impl Default for Capabilities {
    fn default() -> Self {
        Self { max_kinds: 1, goals: false, absent_times: false, cut_costs: false, devices: false, parameters: &[] }
    }
}

/// All strategies: first the one to take, then those without replicas, those for one kind of cores, those for two, and last
/// those that leave the cores to the operating system. One with a parameter is there once for each value.
///
/// ```
/// for strategy in bief_schedule::strategies() {
///     println!("{:16} {}", strategy.name(), strategy.summary());
/// }
/// ```
pub fn strategies() -> &'static [&'static dyn Strategy] {
    &[
        &Exact,
        &Exact::ONE_KIND,
        &Shared,
        &Nicol,
        &RecursiveBisection,
        &Otac,
        &Fertac,
        &TwoCatac,
        &Herad,
        &ThreadPerTask::R1,
        &ThreadPerTask::R2,
        &ThreadPerTask::R3,
    ]
}

/// The strategy of that name. One with a parameter is named with its value, as in `thread_per_task:2`; without it the
/// parameter has its [default](Capabilities::parameters).
///
/// # Errors
///
/// [`ErrorKind::Strategy`] where there is none, which lists the names, or none with that parameter, which lists the values.
///
/// ```
/// assert_eq!(bief_schedule::strategy("otac")?.name(), "otac");
/// assert_eq!(bief_schedule::strategy("thread_per_task:2")?.name(), "thread_per_task:2");
/// assert!(bief_schedule::strategy("otak").is_err());
/// # Ok::<(), bief_schedule::Error>(())
/// ```
pub fn strategy(name: &str) -> Result<&'static dyn Strategy, Error> {
    let named = |name: &str| strategies().iter().copied().find(|strategy| strategy.name() == name);
    if let Some(strategy) = named(name) {
        return Ok(strategy);
    }
    let refused = |reason| Err(Error::new(ErrorKind::Strategy, format!("strategy `{name}`"), reason));
    if let Some((family, value)) = name.split_once(':')
        && let Some(strategy) = named(family)
    {
        return match strategy.capabilities().parameters {
            [default, ..] if *default == value => Ok(strategy),
            [] => refused(format!("`{family}` takes no parameter: write `{family}`")),
            values => refused(format!("`{family}` takes no parameter `{value}`: write one of {}", values.join(", "))),
        };
    }
    let names: Vec<_> = strategies().iter().map(|strategy| strategy.name()).collect();
    refused(format!("there is no strategy of that name: choose one of {}", names.join(", ")))
}

/// The kinds that have cores, by position in the profile, and how many each has.
///
/// # Errors
///
/// [`ErrorKind::Platform`] and [`ErrorKind::Strategy`] as [`Strategy::schedule`] says.
pub(crate) fn given_cores(
    strategy: &dyn Strategy,
    profile: &Profile,
    platform: &Platform,
) -> Result<Vec<(usize, u32)>, Error> {
    let cores = platform.cores_for(profile)?;
    if smt::is_open(platform) {
        let reason = "cores that work whole or on their hardware threads, and it takes these for other cores: let a `BusyPlan` choose, \
                      or leave the threads out";
        return Err(Error::new(ErrorKind::Strategy, format!("strategy `{}`", strategy.name()), reason));
    }
    let given: Vec<(usize, u32)> = cores.into_iter().enumerate().filter(|&(_, cores)| cores > 0).collect();
    let most = strategy.capabilities().max_kinds;
    check_devices(strategy, profile, &given)?;
    if given.len() <= most {
        check_runnable(strategy, profile, &given)?;
        return Ok(given);
    }
    let list = |separator: &str| {
        let kinds = given.iter().map(|&(kind, cores)| format!("{}={cores}", profile.kinds()[kind]));
        kinds.collect::<Vec<_>>().join(separator)
    };
    let (can, remedy) = match most {
        1 => ("one kind".to_owned(), format!("one kind only, {}", list(" or "))),
        _ => (format!("at most {most} kinds"), "fewer kinds".to_owned()),
    };
    let reason = format!(
        "it schedules for cores of {can}, and {} are given: give cores of {remedy}, or take a strategy for more kinds",
        list(",")
    );
    Err(Error::new(ErrorKind::Strategy, format!("strategy `{}`", strategy.name()), reason))
}

/// Refuses devices that the strategy knows nothing of.
fn check_devices(strategy: &dyn Strategy, profile: &Profile, given: &[(usize, u32)]) -> Result<(), Error> {
    if strategy.capabilities().devices {
        return Ok(());
    }
    let Some(&(kind, devices)) = given.iter().find(|&&(kind, _)| profile.lanes(kind).is_some()) else { return Ok(()) };
    let name = &profile.kinds()[kind];
    let able = strategies().iter().filter(|strategy| strategy.capabilities().devices);
    let able: Vec<_> = able.map(|strategy| strategy.name()).collect();
    let reason = format!(
        "it schedules for cores, and {name}={devices} is given, where `{name}` is a device with lanes: leave that out, or take \
         one of: {}",
        able.join(", ")
    );
    Err(Error::new(ErrorKind::Strategy, format!("strategy `{}`", strategy.name()), reason))
}

/// Why a strategy finds no schedule in any period: tasks that run on different kinds need more stages than there are cores.
pub(crate) fn no_schedule(strategy: &dyn Strategy, remedy: &str) -> Error {
    let reason = format!(
        "it finds no schedule, however long the period is: a task that cannot run on the kind of the one before it begins a \
         stage on a core of its own: {remedy}"
    );
    Error::new(ErrorKind::Strategy, format!("strategy `{}`", strategy.name()), reason)
}

/// Refuses kinds on none of which some task can run.
fn check_runnable(strategy: &dyn Strategy, profile: &Profile, given: &[(usize, u32)]) -> Result<(), Error> {
    if given.iter().any(|&(kind, _)| profile.runnable_from(kind).is_none()) {
        return Ok(());
    }
    let homeless = profile.tasks().iter().find(|task| given.iter().all(|&(kind, _)| task.ns[kind].is_none()));
    let Some(task) = homeless else { return Ok(()) };
    let kinds = profile.kinds_of(task);
    let remedy = match strategy.capabilities().absent_times {
        true => "give cores of it, too",
        false => "take a strategy for tasks that run on different kinds, such as `exact`, and give cores of it, too",
    };
    let reason = format!("the task `{}` runs on {kinds} only, and no core of that kind is given: {remedy}", task.name);
    Err(Error::new(ErrorKind::Strategy, format!("strategy `{}`", strategy.name()), reason))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use proptest::strategy::Strategy as Generator;

    use super::{Strategy, *};
    use crate::brute;
    use crate::period::Period;
    use crate::profile::TaskProfile;
    use crate::schedule::Stage;

    /// Tasks that may be replicated or not, with their times on each kind of cores.
    pub(super) fn tasks_of<const KINDS: usize>(tasks: &[(bool, [u64; KINDS])]) -> impl Iterator<Item = TaskProfile> {
        tasks.iter().map(|&(replicable, ns)| TaskProfile { replicable, ..TaskProfile::sequential("t", ns) })
    }

    /// A chain on one kind of cores.
    pub(super) fn profile_of(tasks: &[(bool, u64)], sync_ns: u64) -> Profile {
        let tasks: Vec<_> = tasks.iter().map(|&(replicable, ns)| (replicable, [ns])).collect();
        Profile::new(["cpu"], tasks_of(&tasks)).unwrap().with_sync_ns([sync_ns]).unwrap()
    }

    /// The schedule, which must be valid and have the period that it says.
    pub(super) fn scheduled(strategy: &dyn Strategy, profile: &Profile, cores: &str) -> Schedule {
        let platform = Platform::parse_cores(cores, profile).unwrap();
        let schedule = strategy.schedule(profile, &platform).unwrap();
        schedule.check(profile, &platform).unwrap();
        assert_eq!(schedule.period(profile).unwrap(), schedule.planned_period());
        assert_eq!(schedule.strategy(), strategy.name());
        schedule
    }

    /// Times of all magnitudes, with many ties and zeros.
    fn times() -> impl Generator<Value = u64> {
        prop_oneof![
            3 => 1u64..=100,
            2 => 0u64..=3,
            1 => Just(50u64),
            1 => (0u32..=33, 1u64..=2).prop_map(|(shift, odd)| odd << shift),
            1 => 1u64..=10_000_000_000,
        ]
    }

    /// Chains on one kind of cores of at most `longest` tasks: whether each may be replicated, and its time.
    pub(super) fn chains(longest: usize) -> impl Generator<Value = Vec<(bool, u64)>> {
        chains_with(longest, times)
    }

    pub(super) fn chains_with<T: Generator>(
        longest: usize,
        ns: fn() -> T,
    ) -> impl Generator<Value = Vec<(bool, T::Value)>>
    where
        T::Value: std::fmt::Debug,
    {
        let replicable = prop_oneof![2 => 0.0f64..=1.0, 1 => Just(0.0), 1 => Just(1.0)];
        replicable
            .prop_flat_map(move |share| proptest::collection::vec((proptest::bool::weighted(share), ns()), 1..=longest))
    }

    /// Times on two kinds of cores: most are slower on the second.
    pub(super) fn pairs() -> impl Generator<Value = [u64; 2]> {
        prop_oneof![
            2 => (times(), 1u64..=5).prop_map(|(ns, slower)| [ns, ns * slower]),
            1 => [times(), times()],
        ]
    }

    proptest! {
        #[test]
        fn schedules_are_valid_and_not_better_than_the_best(
            tasks in chains_with(5, pairs),
            sync in [0u64..=20, 0u64..=20],
            cut in prop_oneof![2 => Just(0u64), 1 => 1u64..=40],
            big in 0u32..=4,
            little in 0u32..=4,
        ) {
            prop_assume!(big + little > 0);
            let tasks = tasks_of(&tasks).enumerate().map(|(task, made)| {
                let cut = cut * (task as u64 % 3);
                made.with_cut_ns([cut, cut / 2], [cut / 3, cut])
            });
            let profile = Profile::new(["big", "little"], tasks).unwrap();
            let profile = profile.with_sync_ns(sync.map(|ns| ns.saturating_sub(15))).unwrap();
            let cores = format!("big={big},little={little}");
            let best = brute::optimum(&profile, &[big, little]).period;
            let best_mixed = brute::optimum_if_any(&profile, &[big, little], StageKinds::Mixed).unwrap().period;
            for strategy in strategies() {
                if strategy.capabilities().max_kinds == 1 && big > 0 && little > 0 {
                    continue;
                }
                let schedule = scheduled(*strategy, &profile, &cores);
                if strategy.name() == "exact" {
                    prop_assert_eq!(schedule.planned_period(), best_mixed);
                    continue;
                }
                if strategy.name() == "shared" {
                    prop_assert!(schedule.planned_period() <= best_mixed);
                    continue;
                }
                // Threads that share cores share them more evenly than stages can be cut.
                prop_assert!(
                    schedule.planned_period() >= best || schedule.is_oversubscribed(),
                    "{} of {schedule:?} is better than {best}",
                    schedule.planned_period()
                );
            }
        }

        /// Tasks that cannot run on both kinds: where there is a schedule, HeRAD and threads that share cores have one, and
        /// no strategy has a wrong one.
        #[test]
        fn schedules_of_tasks_that_cannot_run_everywhere_are_valid(
            tasks in chains_with(5, || (pairs(), 0usize..6)),
            sync in [0u64..=20, 0u64..=20],
            big in 0u32..=4,
            little in 0u32..=4,
        ) {
            prop_assume!(big + little > 0);
            let tasks = tasks.iter().map(|&(replicable, (ns, absent))| {
                let task = TaskProfile { replicable, ..TaskProfile::sequential("t", ns) };
                if absent < 2 { task.not_on(absent) } else { task }
            });
            let profile = Profile::new(["big", "little"], tasks.collect::<Vec<_>>()).unwrap().with_sync_ns(sync).unwrap();
            let platform = Platform::parse_cores(&format!("big={big},little={little}"), &profile).unwrap();
            let best = brute::optimum_if_any(&profile, &[big, little], StageKinds::One).map(|best| best.period);
            for strategy in strategies() {
                let schedule = match strategy.schedule(&profile, &platform) {
                    Ok(schedule) => schedule,
                    Err(error) => {
                        prop_assert_eq!(error.kind(), ErrorKind::Strategy);
                        let able = ["exact", "exact:one-kind", "herad", "thread_per_task"];
                        prop_assert!(best.is_none() || !able.contains(&strategy.name()));
                        continue;
                    }
                };
                schedule.check(&profile, &platform).unwrap();
                prop_assert_eq!(schedule.period(&profile).unwrap(), schedule.planned_period());
                if ["exact", "shared"].contains(&strategy.name()) && !schedule.is_oversubscribed() {
                    prop_assert!(best.is_some() && Some(schedule.planned_period()) <= best);
                    continue;
                }
                prop_assert!(schedule.is_oversubscribed() || Some(schedule.planned_period()) >= best && best.is_some());
                if ["exact:one-kind", "herad"].contains(&strategy.name()) {
                    prop_assert_eq!(Some(schedule.planned_period()), best);
                }
            }
        }

        /// On cores of one kind all greedy strategies are the same.
        #[test]
        fn one_kind_of_two_is_scheduled_as_if_alone(tasks in chains_with(12, pairs), cores in 1u32..=8) {
            let profile = Profile::new(["big", "little"], tasks_of(&tasks)).unwrap();
            for kind in profile.kinds() {
                let cores = format!("{kind}={cores}");
                let otac = scheduled(&Otac, &profile, &cores);
                for strategy in [&Fertac as &dyn Strategy, &TwoCatac] {
                    let schedule = scheduled(strategy, &profile, &cores);
                    // Their searches end a little earlier.
                    let sooner = schedule.planned_period().ns() - otac.planned_period().ns();
                    prop_assert!((0.0..=1.0).contains(&sooner), "{sooner} ns longer than {otac:?}");
                }
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]

        #[test]
        #[ignore = "long: part of .ci/run"]
        fn long_chains_are_scheduled(
            tasks in chains_with(60, pairs),
            big in 0u32..=20,
            little in 0u32..=20,
        ) {
            prop_assume!(big + little > 0);
            let profile = Profile::new(["big", "little"], tasks_of(&tasks)).unwrap();
            let cores = format!("big={big},little={little}");
            // `shared` takes as much as a second for some of them, optimised.
            for strategy in strategies().iter().filter(|strategy| strategy.name() != Shared.name()) {
                if strategy.capabilities().max_kinds > 1 || big == 0 || little == 0 {
                    scheduled(*strategy, &profile, &cores);
                }
            }
        }
    }

    /// All tasks are sequential, and the published upper bound excludes every schedule.
    #[test]
    fn slow_little_cores_are_used_where_big_ones_do_not_suffice() {
        let profile = Profile::new(["big", "little"], tasks_of(&[(false, [1, 5]); 100])).unwrap();
        let fertac = scheduled(&Fertac, &profile, "big=1,little=9");
        let two_catac = scheduled(&TwoCatac, &profile, "big=1,little=9");
        let best = Period::from(37);
        assert!(fertac.planned_period() >= best && fertac.planned_period() <= Period::from(40), "{fertac:?}");
        assert_eq!(two_catac.planned_period(), best);
    }

    /// Algorithm 2 as printed cuts the valid stage of the heavy task down to one core less, which is not valid.
    #[test]
    fn a_heavy_task_before_a_light_sequential_one_keeps_its_cores() {
        let profile = profile_of(&[(true, 100), (false, 10)], 0);
        for strategy in [&Otac as &dyn Strategy, &Fertac, &TwoCatac] {
            let schedule = scheduled(strategy, &profile, "5");
            assert_eq!(schedule.stages(), [Stage::new(1, 4, "cpu"), Stage::new(1, 1, "cpu")]);
        }
    }

    #[test]
    fn the_heaviest_times_do_not_overflow() {
        let half = u64::MAX / 2;
        let tasks = [(true, [half, half - 7]), (true, [half, half]), (false, [1, 0])];
        let profile = Profile::new(["big", "little"], tasks_of(&tasks)).unwrap();
        for cores in ["big=1,little=1", "big=16000,little=16000", "big=16000,little=1"] {
            for strategy in [&Fertac as &dyn Strategy, &TwoCatac, &ThreadPerTask::R3] {
                scheduled(strategy, &profile, cores);
            }
        }
    }
}

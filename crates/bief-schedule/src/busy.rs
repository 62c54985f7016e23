//! Schedules by the times that tasks take while as many cores, and hardware threads of them, work as the schedule uses.

use std::cmp::Ordering;

use crate::error::Error;
use crate::goal::{Aim, Goal};
use crate::period::Period;
use crate::platform::{CoreKind, Platform};
use crate::power::Power;
use crate::profile::Profile;
use crate::schedule::Schedule;
use crate::smt;
use crate::strategy::Strategy;

/// The most numbers of busy cores that are tried, each with a schedule of its own.
const MOST_CHOICES: usize = 4096;

/// The schedule that serves a goal best where tasks take longer the more cores work ([`Profile::with_busy`]): with the times that its
/// own number of cores makes for.
///
/// One more core makes all of its kind slower, and may be worth less than it takes. So all numbers of cores of each kind are tried: for
/// each a schedule on no more cores than these, by the times while all of them work. No schedule is missed by that: the best one
/// of all is among those of its own number of cores. And none is told shorter than it is: one that uses fewer cores than those that it
/// was made for is faster than its strategy took it to be, and is told with the times of its own.
///
/// Where there are more than 4096 such numbers, they begin with all cores, and go on with those that the schedule uses, until it uses all of
/// them: then it is one that agrees with itself, but a better one may be missed.
///
/// Where a platform has [hardware threads](crate::Smt) of cores, each number of cores that work whole, and on their threads, is tried in
/// the same way. Beyond 512 such numbers, those that leave cores idle are not, and then only all or none that work on their threads.
///
/// ```
/// use bief_schedule::strategy::Exact;
/// use bief_schedule::{Busy, BusyPlan, Goal, Period, Platform, Profile, TaskProfile};
///
/// // With four cores at work each is half as fast as alone.
/// let tasks = [TaskProfile::sequential("read", [300]), TaskProfile::replicable("decode", [600])];
/// let busy = Busy { cores: 4, ns: vec![Some(600), Some(1200)] };
/// let profile = Profile::new(["cpu"], tasks)?.with_busy([Some(busy)])?;
/// let plan = BusyPlan::find(&Exact, &profile, &Platform::parse_cores("4", &profile)?, &Goal::default())?;
/// assert_eq!(plan.schedule.cores()["cpu"], 3);
/// assert_eq!(plan.schedule.planned_period(), Period::from(500)); // with four cores reading alone takes 600
/// assert_eq!(plan.profile.tasks()[1].ns, [Some(1000)]);
/// # Ok::<(), bief_schedule::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct BusyPlan {
    /// The schedule; its period and its power are those with the times of its own cores. Where the profile tells of busy cores, it has
    /// no [front](Schedule::front).
    pub schedule: Schedule,
    /// The profile while so many cores work as the schedule uses: it tells nothing else of busy cores.
    pub profile: Profile,
    /// The platform, of whose cores so many work whole, and so many on their [threads](crate::Smt), as the schedule was made for: as
    /// kinds that share nothing.
    pub platform: Platform,
}

impl BusyPlan {
    /// Finds it, among the schedules of a strategy. For a profile that tells nothing of busy cores, it is the strategy's
    /// [plan](Strategy::plan).
    ///
    /// # Errors
    ///
    /// Those of [`Strategy::plan`] where no number of cores serves the goal.
    pub fn find(strategy: &dyn Strategy, profile: &Profile, platform: &Platform, goal: &Goal) -> Result<Self, Error> {
        let are_fewer_better = matches!(goal.aim, Aim::FewestBig | Aim::FewestCores);
        let (mut best, mut refused) = (None::<Self>, None);
        for split in smt::splits(platform, are_fewer_better)? {
            match Self::on(strategy, profile, &split, goal) {
                Ok(found) if best.as_ref().is_none_or(|best| found.beats(best, goal, platform)) => best = Some(found),
                Ok(_) => {}
                // The first is that of whole cores.
                Err(error) => _ = refused.get_or_insert(error),
            }
        }
        best.ok_or_else(|| refused.expect("a number of cores was tried"))
    }

    /// Finds it on cores of kinds that share nothing.
    fn on(strategy: &dyn Strategy, profile: &Profile, platform: &Platform, goal: &Goal) -> Result<Self, Error> {
        let most = platform.cores_for(profile)?;
        // With more cores than were busy nothing changes any more: then all may be used.
        let numbers = |kind: usize| match profile.busy(kind) {
            Some(busy) => most[kind].min(busy.cores).max(1),
            None => 1,
        };
        if (0..most.len()).all(|kind| numbers(kind) == 1) {
            let profile = profile.while_busy(&most).into_owned();
            let schedule = strategy.plan(&profile, platform, goal)?;
            return Ok(Self { schedule, profile, platform: platform.clone() });
        }
        let count = (0..most.len()).try_fold(1usize, |count, kind| count.checked_mul(numbers(kind) as usize));
        let mut best: Option<Self> = None;
        let mut consider = |cores: &[u32]| -> Result<Vec<u32>, Error> {
            let found = Self::of(strategy, profile, platform, goal, cores)?;
            let used = found.used();
            if best.as_ref().is_none_or(|best| found.beats(best, goal, platform)) {
                best = Some(found);
            }
            Ok(used)
        };
        if count.is_none_or(|count| count > MOST_CHOICES) {
            let mut cores = most;
            loop {
                match consider(&cores) {
                    Ok(used) if used == cores => break,
                    Ok(used) => cores = used,
                    Err(error) => return best.ok_or(error),
                }
            }
            return Ok(best.expect("it was considered"));
        }
        let mut refused = None;
        for choice in 0..count.unwrap_or(1) {
            let mut left = choice;
            let mut cores = most.clone();
            for (kind, cores) in cores.iter_mut().enumerate() {
                let numbers = numbers(kind) as usize;
                // From all cores downwards.
                let fewer = (left % numbers) as u32;
                left /= numbers;
                *cores = if fewer == 0 { *cores } else { numbers as u32 - fewer };
            }
            if let Err(error) = consider(&cores) {
                // The first is that of all cores.
                refused.get_or_insert(error);
            }
        }
        best.ok_or_else(|| refused.expect("a choice was tried"))
    }

    /// The schedule on at most so many cores, made for the times while all of them work.
    fn of(
        strategy: &dyn Strategy,
        profile: &Profile,
        platform: &Platform,
        goal: &Goal,
        cores: &[u32],
    ) -> Result<Self, Error> {
        let limited = |kind: &CoreKind| {
            let most = profile.kind(&kind.name).map_or(kind.cores, |position| cores[position]);
            CoreKind { cores: kind.cores.min(most), ..kind.clone() }
        };
        let few = platform.with_kinds(platform.kinds().iter().map(limited).collect())?;
        let made = strategy.plan(&profile.while_busy(cores), &few, goal)?;
        let own = profile.while_busy(&counts(&made, profile)).into_owned();
        let mut schedule = made.with_times_of(&own)?;
        if made.watts().is_some() {
            let pace = goal.longest_period(profile)?.filter(|_| goal.aim != Aim::MaxThroughput);
            let pace = pace.unwrap_or(schedule.planned_period());
            if let Some(power) = Power::paced(&schedule, &own, platform, pace)? {
                schedule = schedule.with_watts(power.watts)?;
            }
        }
        Ok(Self { schedule, profile: own, platform: platform.clone() })
    }

    /// The cores of each kind that the schedule uses, in the order of the profile's kinds.
    fn used(&self) -> Vec<u32> {
        counts(&self.schedule, &self.profile)
    }

    /// Whether it serves the goal better than another that serves it, on the cores of the same platform.
    fn beats(&self, other: &Self, goal: &Goal, platform: &Platform) -> bool {
        let any_period = goal.aim != Aim::MaxThroughput && (goal.period.is_some() || goal.rate.is_some());
        let period = |plan: &Self| if any_period { Period::ZERO } else { plan.schedule.planned_period() };
        let watts = |plan: &Self| match goal.aim {
            Aim::LeastPower => plan.schedule.watts().unwrap_or(f64::INFINITY),
            _ => 0.0,
        };
        let taken = |plan: &Self| smt::cores_taken(platform, plan.profile.kinds(), plan.used());
        let all = |plan: &Self| match goal.aim {
            Aim::FewestCores => taken(plan).iter().map(|&cores| u64::from(cores)).sum(),
            Aim::MaxThroughput => plan.schedule.stages().len() as u64,
            Aim::FewestBig | Aim::LeastPower => 0,
        };
        let rest = |plan: &Self| (all(plan), taken(plan), plan.used(), plan.schedule.stages().len());
        let order = period(self).cmp(&period(other)).then(watts(self).total_cmp(&watts(other)));
        order.then_with(|| rest(self).cmp(&rest(other))) == Ordering::Less
    }
}

/// The cores of each kind that a schedule uses, in the order of the profile's kinds.
fn counts(schedule: &Schedule, profile: &Profile) -> Vec<u32> {
    profile.kinds().iter().map(|kind| schedule.cores().get(kind).copied().unwrap_or(0)).collect()
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::{Aim, BusyPlan, Goal, Period, Platform, Power, Profile, Schedule};
    use crate::brute;
    use crate::platform::CoreKind;
    use crate::profile::{Busy, TaskProfile};
    use crate::smt::Smt;
    use crate::strategy::{Exact, StageKinds, Strategy as _};

    const KINDS: [&str; 3] = ["a", "b", "c"];

    /// Tasks with two times on each kind, the second for so many cores at work.
    #[derive(Debug, Clone)]
    struct Case {
        tasks: Vec<(bool, [(u64, u64); 3])>,
        kinds: Vec<(u32, u32, f64)>,
    }

    impl Case {
        fn profile(&self) -> Profile {
            let kinds = self.kinds.len();
            let tasks = self.tasks.iter().map(|(replicable, ns)| TaskProfile {
                replicable: *replicable,
                ..TaskProfile::sequential("t", ns[..kinds].iter().map(|ns| ns.0).collect::<Vec<_>>())
            });
            let busy = |(kind, &(_, cores, _)): (usize, &(u32, u32, f64))| {
                Some(Busy { cores, ns: self.tasks.iter().map(|(_, ns)| Some(ns[kind].0 + ns[kind].1)).collect() })
            };
            let busy: Vec<_> = self.kinds.iter().enumerate().map(busy).collect();
            Profile::new(KINDS[..kinds].iter().copied(), tasks).unwrap().with_busy(busy).unwrap()
        }

        fn platform(&self) -> Platform {
            let kind = |(name, &(cores, _, watts)): (&&str, &_)| CoreKind {
                watts: Some(watts),
                ..CoreKind::new(*name, cores)
            };
            Platform::new(KINDS.iter().zip(&self.kinds).map(kind)).unwrap()
        }

        /// The plain profile of a schedule that uses so many cores.
        fn plain(&self, used: &[u32]) -> Profile {
            let kinds = self.kinds.len();
            let ns = |ns: &[(u64, u64); 3], kind: usize| {
                let (idle, more) = ns[kind];
                let (busy, used) = (self.kinds[kind].1, used[kind].max(1));
                if used >= busy {
                    idle + more
                } else {
                    idle + (more * u64::from(used - 1)).div_ceil(u64::from(busy - 1))
                }
            };
            let tasks = self.tasks.iter().map(|(replicable, times)| TaskProfile {
                replicable: *replicable,
                ..TaskProfile::sequential("t", (0..kinds).map(|kind| ns(times, kind)).collect::<Vec<_>>())
            });
            Profile::new(KINDS[..kinds].iter().copied(), tasks).unwrap()
        }

        /// Every schedule there is, by the times of its own cores.
        fn schedules(&self) -> Vec<(Schedule, Profile)> {
            let cores: Vec<u32> = self.kinds.iter().map(|kind| kind.0).collect();
            let all = brute::schedules(&self.profile(), &cores, StageKinds::Mixed).into_iter().map(|stages| {
                let used = KINDS[..cores.len()]
                    .iter()
                    .map(|kind| stages.iter().filter_map(|stage| stage.cores.get(kind)).sum());
                let plain = self.plain(&used.collect::<Vec<u32>>());
                (Schedule::new("brute", stages, &plain).unwrap(), plain)
            });
            all.collect()
        }
    }

    fn cases(kinds: usize) -> impl proptest::strategy::Strategy<Value = Case> {
        let (tasks, cores) = [(5, 5_u32), (4, 3), (3, 2)][kinds - 1];
        let task = (any::<bool>(), [(1..200_u64, 0..200_u64), (1..300_u64, 0..200_u64), (1..400_u64, 0..200_u64)]);
        let kind = (1..=cores, 2..6_u32, 0.5..4.0_f64);
        (vec(task, 1..=tasks), vec(kind, kinds)).prop_map(|(tasks, kinds)| Case { tasks, kinds })
    }

    fn check(case: &Case, factor: f64) -> Result<(), TestCaseError> {
        let (profile, platform) = (case.profile(), case.platform());
        let all = case.schedules();
        let shortest = all.iter().map(|(schedule, _)| schedule.planned_period()).min().unwrap();
        let find = |goal: &Goal| BusyPlan::find(&Exact, &profile, &platform, goal).unwrap();
        let found = find(&Goal::default());
        prop_assert_eq!(found.schedule.planned_period(), shortest);
        let plain = case.plain(&found.used());
        prop_assert_eq!(found.profile.tasks(), plain.tasks());
        prop_assert_eq!(found.schedule.period(&found.profile).unwrap(), shortest);

        let period = Period::from((shortest.ns() * factor).ceil() as u64);
        let serving = || all.iter().filter(|(schedule, _)| schedule.planned_period() <= period);
        let cores = |schedule: &Schedule| schedule.cores().values().sum::<u32>();
        let found = find(&Goal { aim: Aim::FewestCores, period: Some(period), ..Goal::default() });
        prop_assert!(found.schedule.planned_period() <= period);
        prop_assert_eq!(cores(&found.schedule), serving().map(|(schedule, _)| cores(schedule)).min().unwrap());

        let watts = |(schedule, profile): &(Schedule, Profile)| {
            Power::paced(schedule, profile, &platform, period).unwrap().unwrap().watts
        };
        let least = serving().map(watts).fold(f64::INFINITY, f64::min);
        let found = find(&Goal { aim: Aim::LeastPower, period: Some(period), ..Goal::default() });
        let watts = found.schedule.watts().unwrap();
        prop_assert!((watts - least).abs() <= 1e-9 * least, "{watts} W, {least} W are possible");
        Ok(())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn on_one_kind_nothing_is_better(case in cases(1), factor in 1.0..3.0_f64) {
            check(&case, factor)?;
        }

        #[test]
        fn on_two_kinds_nothing_is_better(case in cases(2), factor in 1.0..3.0_f64) {
            check(&case, factor)?;
        }

        #[test]
        fn on_three_kinds_nothing_is_better(case in cases(3), factor in 1.0..3.0_f64) {
            check(&case, factor)?;
        }
    }

    /// Tasks, cores, threads of each, and watts of a core and of a thread.
    type OnThreads = (Vec<(bool, u64, u64)>, u32, u32, [f64; 2]);

    /// Tasks with a time on a whole core and one on a hardware thread, of which the cores have 2 or 3.
    fn on_threads() -> impl proptest::strategy::Strategy<Value = OnThreads> {
        let task = (any::<bool>(), 1..200_u64, 0..200_u64);
        (vec(task, 1..=4), 1..=2_u32, 2..=3_u32, [0.5..4.0_f64, 0.3..3.0_f64])
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(96))]

        #[test]
        fn of_whole_cores_and_hardware_threads_nothing_is_better(
            (tasks, cores, threads, watts) in on_threads(),
            factor in 1.0..3.0_f64,
            thread_first in any::<bool>(),
        ) {
            let order = |mut both: [u32; 2]| { if thread_first { both.reverse() }; both };
            let tasks = tasks.iter().map(|&(replicable, ns, more)| {
                let mut ns = [ns, ns + more];
                if thread_first { ns.reverse() }
                TaskProfile { replicable, ..TaskProfile::sequential("t", ns) }
            });
            let names = if thread_first { ["thread", "cpu"] } else { ["cpu", "thread"] };
            let profile = Profile::new(names, tasks).unwrap();
            let smt = Some(Smt { of: "cpu".into(), threads });
            let thread = CoreKind { smt, watts: Some(watts[1]), ..CoreKind::new("thread", cores * threads) };
            let platform =
                Platform::new([CoreKind { watts: Some(watts[0]), ..CoreKind::new("cpu", cores) }, thread]).unwrap();
            prop_assert!(Exact.schedule(&profile, &platform).is_err(), "the same cores twice");

            let taken = |schedule: &Schedule| {
                let used = |kind: &str| schedule.cores().get(kind).copied().unwrap_or(0);
                used("cpu") + used("thread").div_ceil(threads)
            };
            let all = brute::schedules(&profile, &order([cores, cores * threads]), StageKinds::Mixed).into_iter();
            let all: Vec<Schedule> = all
                .map(|stages| Schedule::new("brute", stages, &profile).unwrap())
                .filter(|schedule| taken(schedule) <= cores)
                .collect();
            let shortest = all.iter().map(Schedule::planned_period).min().unwrap();
            let find = |goal: &Goal| BusyPlan::find(&Exact, &profile, &platform, goal).unwrap();
            let found = find(&Goal::default());
            prop_assert_eq!(found.schedule.planned_period(), shortest);
            found.schedule.check(&profile, &platform).unwrap();
            found.schedule.check(&profile, &found.platform).unwrap();
            let least = all.iter().filter(|schedule| schedule.planned_period() == shortest).map(taken).min().unwrap();
            prop_assert_eq!(taken(&found.schedule), least);

            let period = Period::from((shortest.ns() * factor).ceil() as u64);
            let serving = || all.iter().filter(|schedule| schedule.planned_period() <= period);
            for aim in [Aim::FewestCores, Aim::FewestBig] {
                let found = find(&Goal { aim, period: Some(period), ..Goal::default() });
                prop_assert!(found.schedule.planned_period() <= period);
                prop_assert_eq!(taken(&found.schedule), serving().map(taken).min().unwrap());
            }
            let watts = |schedule: &Schedule| Power::paced(schedule, &profile, &platform, period).unwrap().unwrap().watts;
            let least = serving().map(watts).fold(f64::INFINITY, f64::min);
            let found = find(&Goal { aim: Aim::LeastPower, period: Some(period), ..Goal::default() });
            let watts = found.schedule.watts().unwrap();
            prop_assert!((watts - least).abs() <= 1e-9 * least, "{watts} W, {least} W are possible");
        }
    }

    #[test]
    fn threads_of_cores_that_are_not_there_are_refused() {
        let kinds = |smt: &str| {
            let text = format!(
                r#"{{"format": 1, "kinds": [{{"name": "cpu", "cores": 2}}, {{"name": "t", "cores": 4, "smt": {smt}}}]}}"#
            );
            Platform::from_json(&text)
        };
        for (smt, said) in [
            (r#"{"of": "big", "threads": 2}"#, "kinds[1].smt.of: there is no kind of whole cores `big`"),
            (r#"{"of": "t", "threads": 2}"#, "kinds[1].smt.of: there is no kind of whole cores `t`"),
            (r#"{"of": "cpu", "threads": 1}"#, "kinds[1].smt.threads: 1 threads"),
        ] {
            let error = kinds(smt).unwrap_err().to_string();
            assert!(error.contains(said), "{error}");
        }
        let platform = kinds(r#"{"of": "cpu", "threads": 2}"#).unwrap();
        assert_eq!(Platform::from_json(&platform.to_json()).unwrap(), platform);
    }

    #[test]
    fn on_many_cores_the_schedule_agrees_with_itself() {
        let tasks = [TaskProfile::sequential("read", [300, 500]), TaskProfile::replicable("work", [40_000, 60_000])];
        let busy = |slow: u64| {
            let ns = tasks.iter().map(move |task| Some(task.ns[0].unwrap() * slow)).collect();
            Some(Busy { cores: 100, ns })
        };
        let profile = Profile::new(["a", "b"], tasks.clone()).unwrap().with_busy([busy(2), busy(3)]).unwrap();
        let platform = Platform::parse_cores("a=100,b=100", &profile).unwrap();
        let found = BusyPlan::find(&Exact, &profile, &platform, &Goal::default()).unwrap();
        assert_eq!(found.profile, *profile.while_busy(&found.used()));
        assert_eq!(found.schedule.period(&found.profile).unwrap(), found.schedule.planned_period());
    }

    #[test]
    fn two_measurements_make_one_profile() {
        let of = |ns: [u64; 2]| Profile::new(["cpu"], ns.map(|ns| TaskProfile::sequential("t", [ns]))).unwrap();
        let platform = |cores: u32| Platform::new([CoreKind::new("cpu", cores)]).unwrap();
        let both = of([300, 400]).with_busy_measured(&of([290, 480]), &platform(4)).unwrap();
        assert_eq!(both.busy(0), Some(&Busy { cores: 4, ns: vec![Some(300), Some(480)] }));
        assert_eq!(of([300, 400]).with_busy_measured(&of([290, 480]), &platform(1)).unwrap(), of([300, 400]));
        let other = Profile::new(["cpu"], [TaskProfile::sequential("t", [1])]).unwrap();
        assert!(of([1, 2]).with_busy_measured(&other, &platform(2)).is_err());
    }

    #[test]
    fn times_that_are_none_of_busy_cores_are_refused() {
        let tasks = || [TaskProfile::sequential("read", [300]), TaskProfile::replicable("work", [400])];
        let refused = |cores: u32, ns: &[Option<u64>]| {
            let busy = [Some(Busy { cores, ns: ns.to_vec() })];
            Profile::new(["cpu"], tasks()).unwrap().with_busy(busy).unwrap_err().to_string()
        };
        for (cores, ns, said) in [
            (1, &[Some(300), Some(400)][..], "busy[0].cores"),
            (2, &[Some(300)], "1 time for 2 tasks"),
            (2, &[Some(300), Some(399)], "busy[0].ns[1]"),
            (2, &[Some(300), None], "task `work` has null"),
            (2, &[Some(u64::MAX / 2), Some(u64::MAX / 2 + 2)], "2^64"),
        ] {
            assert!(refused(cores, ns).contains(said), "{}", refused(cores, ns));
        }
        let told = Profile::new(["cpu"], tasks()).unwrap();
        let told = told.with_busy([Some(Busy { cores: 2, ns: vec![Some(300), Some(500)] })]).unwrap();
        assert_eq!(Profile::from_json(&told.to_json()).unwrap(), told);
    }
}

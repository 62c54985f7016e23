//! The clocks that a chain needs least power with.

use crate::busy::BusyPlan;
use crate::error::{Error, ErrorKind};
use crate::goal::{Aim, Goal};
use crate::platform::{Clock, CoreKind, Platform};
use crate::profile::{Profile, counted};
use crate::schedule::Schedule;
use crate::strategy::Strategy;

/// The most choices of clocks that are tried, each with a schedule of its own.
const MOST_CHOICES: usize = 4096;

/// The schedule that serves a goal best, where it aims for the least power at a pace with the clocks that it needs least with.
///
/// Cores of a kind share a clock. A slow clock needs more cores for the same rate, or kinds that draw less; so all choices of a clock
/// for each kind are tried, and the schedule with the least power for each. As a strategy finds that for fixed clocks, the least
/// of all is the least there is. For any other goal, and where a platform tells no clocks, it is the [`BusyPlan`].
///
/// ```
/// use bief_schedule::strategy::Exact;
/// use bief_schedule::{ClockPlan, Platform, Profile, TaskProfile};
///
/// let profile = Profile::new(["cpu"], [TaskProfile::replicable("decode", [900_000])])?;
/// let platform = Platform::from_json(
///     r#"{"format": 1, "kinds": [
///         {"name": "cpu", "cores": 4, "watts": 8.0, "clocks": [{"mhz": 1000, "slowdown": 2.0, "watts": 2.5}]}
///     ]}"#,
/// )?;
/// // At half the speed the work takes twice the time, and 5 of 8 parts of the energy.
/// let plan = ClockPlan::find(&Exact, &profile, &platform, &"least-power,period=1ms".parse()?)?;
/// assert_eq!((plan.schedule.cores()["cpu"], plan.schedule.watts()), (2, Some(4.5)));
/// assert_eq!(plan.clocks[0].unwrap().mhz, 1000);
/// // Where all cores are needed, they need their own clock.
/// let plan = ClockPlan::find(&Exact, &profile, &platform, &"least-power,period=225us".parse()?)?;
/// assert_eq!(plan.clocks, [None]);
/// # Ok::<(), bief_schedule::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct ClockPlan {
    /// The schedule; its period and its power are those with these clocks.
    pub schedule: Schedule,
    /// For each kind of the platform its clock; `None` for the one that the profile's times are of, and where the schedule uses no
    /// core of the kind.
    pub clocks: Vec<Option<Clock>>,
    /// The profile with these clocks.
    pub profile: Profile,
    /// The platform with these clocks.
    pub platform: Platform,
}

impl ClockPlan {
    /// Finds it, among the schedules of a strategy. Where several choices of clocks need the same power, it is the one that comes first,
    /// kind by kind.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Platform`] where there are more than 4096 choices, those of [`Strategy::plan`] where no choice serves the goal.
    pub fn find(strategy: &dyn Strategy, profile: &Profile, platform: &Platform, goal: &Goal) -> Result<Self, Error> {
        let has_clocks = platform.kinds().iter().any(|kind| !kind.clocks.is_empty());
        if !has_clocks || goal.aim != Aim::LeastPower || goal.longest_period(profile)?.is_none() {
            return Self::with(strategy, profile, platform, goal, vec![None; platform.kinds().len()]);
        }
        let kinds = platform.kinds();
        let choices = |kind: &CoreKind| if kind.cores > 0 { 1 + kind.clocks.len() } else { 1 };
        let count = kinds.iter().try_fold(1, |count: usize, kind| count.checked_mul(choices(kind)));
        let Some(count) = count.filter(|&count| count <= MOST_CHOICES) else {
            let reason = format!("its clocks can be chosen in more than {MOST_CHOICES} ways: leave some out");
            return Err(Error::new(ErrorKind::Platform, "platform, kinds", reason));
        };
        let mut best: Option<(f64, Self)> = None;
        let mut refused = None;
        for choice in 0..count {
            let mut left = choice;
            // The last kind's clock changes first, as in a table of numbers.
            let mut clocks: Vec<Option<Clock>> = Vec::with_capacity(kinds.len());
            for kind in kinds.iter().rev() {
                clocks.push((left % choices(kind)).checked_sub(1).map(|clock| kind.clocks[clock]));
                left /= choices(kind);
            }
            clocks.reverse();
            let found = match Self::with(strategy, profile, platform, goal, clocks) {
                Ok(found) => found,
                // The first is that of the clocks that the profile is of.
                Err(error) => {
                    refused.get_or_insert(error);
                    continue;
                }
            };
            let Some(watts) = found.schedule.watts() else { continue };
            if best.as_ref().is_none_or(|(least, _)| watts < *least) {
                best = Some((watts, found));
            }
        }
        match (best, refused) {
            (Some((_, best)), _) => Ok(best),
            (None, Some(error)) => Err(error),
            (None, None) => {
                let kinds = counted(kinds.len(), "kind");
                let reason = format!("it does not tell the watts of its {kinds}: write \"watts\" for each");
                Err(Error::new(ErrorKind::Platform, "platform, kinds", reason))
            }
        }
    }

    /// The schedule with these clocks.
    fn with(
        strategy: &dyn Strategy,
        profile: &Profile,
        platform: &Platform,
        goal: &Goal,
        mut clocks: Vec<Option<Clock>>,
    ) -> Result<Self, Error> {
        let (mut profile, mut kinds) = (profile.clone(), platform.kinds().to_vec());
        for (kind, clock) in kinds.iter_mut().zip(&clocks) {
            let Some(clock) = clock else { continue };
            kind.watts = Some(clock.watts);
            if let Some(position) = profile.kind(&kind.name) {
                profile = profile.slowed(position, clock.slowdown)?;
            }
        }
        let clocked = platform.with_kinds(kinds)?;
        let BusyPlan { schedule, profile, platform: clocked } = BusyPlan::find(strategy, &profile, &clocked, goal)?;
        for (kind, clock) in clocked.kinds().iter().zip(&mut clocks) {
            clock.take_if(|_| !schedule.cores().contains_key(&kind.name));
        }
        let named =
            clocked.kinds().iter().zip(&clocks).filter_map(|(kind, clock)| Some((kind.name.clone(), (*clock)?.mhz)));
        let schedule = schedule.with_clocks(named)?;
        Ok(Self { schedule, clocks, profile, platform: clocked })
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;
    use proptest::strategy::Strategy;

    use super::{Aim, Clock, ClockPlan, CoreKind, ErrorKind, Goal, Platform, Profile, Schedule};
    use crate::brute;
    use crate::period::Period;
    use crate::power::Power;
    use crate::profile::TaskProfile;
    use crate::strategy::{Exact, StageKinds};

    fn clocks() -> impl Strategy<Value = Vec<Clock>> {
        let clock = (prop_oneof![Just(0.5), Just(1.0), 1.0..4.0_f64], 0.0..10.0_f64);
        let numbered = |(index, (slowdown, watts)): (u32, _)| Clock { mhz: 100 + index, slowdown, watts };
        vec(clock, 0..3).prop_map(move |clocks| (0..).zip(clocks).map(numbered).collect())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]

        /// Every choice of clocks, and for each every schedule there is.
        #[test]
        fn no_clocks_and_no_schedule_need_less(
            tasks in vec((any::<bool>(), 1..60_u64, 1..120_u64), 1..4),
            kinds in [(0..3_u32, 0.0..10.0_f64, clocks()), (0..3_u32, 0.0..10.0_f64, clocks())],
            period in 20..200_u64,
        ) {
            prop_assume!(kinds.iter().any(|&(cores, ..)| cores > 0));
            let task = |&(replicable, big, little): &_| TaskProfile { replicable, ..TaskProfile::sequential("t", [big, little]) };
            let profile = Profile::new(["a", "b"], tasks.iter().map(task)).unwrap().with_sync_ns([1, 2]).unwrap();
            let kind = |(name, (cores, watts, clocks)): (_, &(u32, f64, Vec<Clock>))| {
                CoreKind { watts: Some(*watts), clocks: clocks.clone(), ..CoreKind::new(name, *cores) }
            };
            let platform = Platform::new(["a", "b"].into_iter().zip(&kinds).map(kind)).unwrap().with_idle_watts(1.5).unwrap();
            let goal = Goal { aim: Aim::LeastPower, period: Some(Period::from(period)), ..Goal::default() };

            let own = |watts: f64| Clock { mhz: 1, slowdown: 1.0, watts };
            let choices = |kind: usize| kinds[kind].2.iter().copied().chain([own(kinds[kind].1)]).collect::<Vec<_>>();
            let mut least: Option<f64> = None;
            for (a, b) in choices(0).into_iter().flat_map(|a| choices(1).into_iter().map(move |b| (a, b))) {
                let slow = |ns: u64, clock: Clock| (ns as f64 * clock.slowdown).round() as u64;
                let tasks = tasks.iter().map(|&(replicable, ns_a, ns_b)| task(&(replicable, slow(ns_a, a), slow(ns_b, b))));
                let profile = Profile::new(["a", "b"], tasks).unwrap().with_sync_ns([slow(1, a), slow(2, b)]).unwrap();
                let cores = [kinds[0].0, kinds[1].0];
                let fixed = [("a", a), ("b", b)].map(|(name, clock)| CoreKind { watts: Some(clock.watts), ..CoreKind::new(name, 9) });
                let platform = Platform::new(fixed).unwrap().with_idle_watts(1.5).unwrap();
                for stages in brute::schedules(&profile, &cores, StageKinds::Mixed) {
                    let schedule = Schedule::new("brute", stages, &profile).unwrap();
                    if schedule.planned_period() <= Period::from(period) {
                        let power = Power::paced(&schedule, &profile, &platform, Period::from(period)).unwrap().unwrap();
                        least = Some(least.map_or(power.watts, |least| least.min(power.watts)));
                    }
                }
            }
            let found = ClockPlan::find(&Exact, &profile, &platform, &goal);
            match (found, least) {
                (Ok(found), Some(least)) => {
                    let watts = found.schedule.watts().unwrap();
                    prop_assert!((watts - least).abs() <= 1e-9 * least, "{watts} W, {least} W are possible");
                    let power = Power::paced(&found.schedule, &found.profile, &found.platform, Period::from(period)).unwrap();
                    prop_assert!((power.unwrap().watts - watts).abs() <= 1e-9 * watts);
                    prop_assert!(found.schedule.planned_period() <= Period::from(period));
                }
                (Err(error), None) => prop_assert_eq!(error.kind(), ErrorKind::Goal),
                (found, least) => prop_assert!(false, "{found:?} {least:?}"),
            }
        }
    }

    #[test]
    fn what_cannot_be_chosen_is_refused() {
        let profile = Profile::new(["cpu"], [TaskProfile::replicable("decode", [900])]).unwrap();
        let clock = |mhz| Clock { mhz, slowdown: 2.0, watts: 1.0 };
        let of = |kind: CoreKind| Platform::new([kind]);
        let kind = |clocks| CoreKind { watts: Some(3.0), clocks, ..CoreKind::new("cpu", 4) };
        let platform = of(kind((1..=5000).map(clock).collect())).unwrap();
        let find = |platform: &Platform, goal: &str| {
            ClockPlan::find(&Exact, &profile, platform, &goal.parse().unwrap()).unwrap_err().to_string()
        };
        assert!(find(&platform, "least-power,period=1us").contains("more than 4096 ways"));
        let platform = of(kind(vec![clock(1000)])).unwrap();
        let plain = ClockPlan::find(&Exact, &profile, &platform, &Goal::default()).unwrap();
        assert_eq!(plain.clocks, [None], "clocks are chosen for the least power at a pace alone");
        assert!(find(&platform, "least-power,period=1ns").contains("the shortest period on these cores"));
        for (clocks, watts, said) in [
            (vec![clock(0)], Some(3.0), "clocks[0].mhz"),
            (vec![clock(1), clock(1)], Some(3.0), "clocks[1].mhz"),
            (vec![Clock { slowdown: f64::NAN, ..clock(1) }], Some(3.0), "clocks[0].slowdown"),
            (vec![Clock { watts: -1.0, ..clock(1) }], Some(3.0), "clocks[0].watts"),
            (vec![clock(1)], None, "needs \"watts\""),
        ] {
            let error = of(CoreKind { watts, ..kind(clocks) }).unwrap_err().to_string();
            assert!(error.contains(said), "{error}");
        }
    }
}

//! OTAC: the best pipeline on cores of one kind.

use super::greedy::Greedy;
use super::{Capabilities, Strategy, given_cores};
use crate::error::Error;
use crate::platform::Platform;
use crate::profile::Profile;
use crate::schedule::Schedule;

/// The shortest period on cores of one kind, by greedy packing.
///
/// OTAC (Orhan et al., as Idouar et al., *Energy-Aware Scheduling Strategies for Partially-Replicable Task Chains
/// on Heterogeneous Processors*, tell it in section 4) halves an interval of periods. For each period it packs
/// stage after stage: the longest that one core can take; where that ends among replicable tasks, all of those on
/// as many cores as they need, or on one core fewer if the next stage takes the last of them along. On one kind
/// of cores this packing keeps every period that can be kept.
///
/// The published search stops at a period of `1 / cores` nanoseconds precision. This one stops at `1 / cores²`,
/// nearer than two different periods can lie, and so always ends at the shortest. It does not save cores beyond
/// what the packing does.
///
/// One period is tried in time proportional to the stages and the logarithm of the tasks; a search tries about as
/// many as the heaviest task's nanoseconds, times `cores²`, have binary digits.
///
/// ```
/// use bief_schedule::strategy::Otac;
/// use bief_schedule::{Period, Platform, Profile, Stage, Strategy, TaskProfile};
///
/// let profile = Profile::new(
///     ["cpu"],
///     [
///         TaskProfile::sequential("receive", [300]),
///         TaskProfile::replicable("filter", [400]),
///         TaskProfile::replicable("decode", [500]),
///     ],
/// )?;
/// let schedule = Otac.schedule(&profile, &Platform::parse_cores("4", &profile)?)?;
/// assert_eq!(schedule.planned_period(), Period::from(300));
/// assert_eq!(schedule.stages(), [Stage::new(1, 1, "cpu"), Stage::new(2, 3, "cpu")]);
/// # Ok::<(), bief_schedule::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Otac;

impl Strategy for Otac {
    fn name(&self) -> &'static str {
        "otac"
    }

    fn summary(&self) -> &'static str {
        "The shortest period on cores of one kind, by greedy packing."
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities::default()
    }

    fn schedule(&self, profile: &Profile, platform: &Platform) -> Result<Schedule, Error> {
        let given = given_cores(self, profile, platform)?;
        let (_, cores) = given[0];
        let greedy = Greedy::new(profile, &given);
        let stages = greedy.search(cores * cores, |target, stages| Ok(greedy.least_power_first(target, stages)))?;
        let stages = stages.expect("on one kind, one core runs the chain");
        Schedule::new(self.name(), stages, profile)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::tests::{chains, profile_of, scheduled};
    use super::{Strategy, *};
    use crate::brute;
    use crate::error::ErrorKind;
    use crate::period::Period;
    use crate::profile::TaskProfile;
    use crate::schedule::Stage;

    fn otac(tasks: &[(bool, u64)], cores: u32) -> Schedule {
        scheduled(&Otac, &profile_of(tasks, 0), &cores.to_string())
    }

    proptest! {
        #[test]
        fn nothing_that_can_be_tried_is_better(tasks in chains(7), cores in 1u32..=6, sync in 0u64..=20) {
            let profile = profile_of(&tasks, sync.saturating_sub(15));
            let schedule = scheduled(&Otac, &profile, &cores.to_string());
            prop_assert_eq!(schedule.planned_period(), brute::optimum(&profile, &[cores]).period);
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(500))]

        #[test]
        fn long_chains_reach_the_period_of_the_recurrence(
            tasks in chains(40),
            cores in 1u32..=16,
            sync in 0u64..=20,
        ) {
            let profile = profile_of(&tasks, sync.saturating_sub(15));
            let schedule = scheduled(&Otac, &profile, &cores.to_string());
            prop_assert_eq!(schedule.planned_period(), brute::shortest_period(&profile, 0, cores));
        }

        /// Periods that differ by less than a floating-point number tells.
        #[test]
        fn times_of_centuries_reach_the_period_of_the_recurrence(
            tasks in proptest::collection::vec((any::<bool>(), (1u64 << 58) - 9..=(1u64 << 58) + 9), 1..=12),
            cores in 1u32..=24,
        ) {
            let profile = profile_of(&tasks, 0);
            let schedule = scheduled(&Otac, &profile, &cores.to_string());
            prop_assert_eq!(schedule.planned_period(), brute::shortest_period(&profile, 0, cores));
        }

        #[test]
        fn the_unit_of_time_does_not_change_the_period(tasks in chains(20), cores in 1u32..=16) {
            let longer: Vec<_> = tasks.iter().map(|&(replicable, ns)| (replicable, ns * 100_000)).collect();
            let (period, longer) = (otac(&tasks, cores).planned_period(), otac(&longer, cores).planned_period());
            prop_assert_eq!(Period::wide(period.num() * 100_000, period.den()), Some(longer));
        }
    }

    #[test]
    fn one_task_takes_all_cores_or_one() {
        let replicable = otac(&[(true, 10)], 16_000);
        assert_eq!(replicable.stages(), [Stage::new(1, 16_000, "cpu")]);
        assert_eq!(replicable.planned_period(), Period::new(1, 1600).unwrap());
        let sequential = otac(&[(false, 10)], 16_000);
        assert_eq!(sequential.stages(), [Stage::new(1, 1, "cpu")]);
    }

    #[test]
    fn tasks_without_weight_need_one_core() {
        let schedule = otac(&[(false, 0), (true, 0), (false, 0)], 4);
        assert_eq!(schedule.stages(), [Stage::new(3, 1, "cpu")]);
        assert_eq!(schedule.planned_period(), Period::ZERO);
    }

    #[test]
    fn the_heaviest_times_do_not_overflow() {
        let half = u64::MAX / 2;
        let schedule = otac(&[(true, half), (false, half)], 3);
        assert_eq!(schedule.planned_period(), Period::from(half));
        assert_eq!(schedule.stages(), [Stage::new(1, 1, "cpu"), Stage::new(1, 1, "cpu")]);
        let schedule = otac(&[(true, half), (true, half), (false, 1)], 5);
        assert_eq!(schedule.planned_period(), Period::new(2 * half, 4).unwrap());
        let schedule = otac(&[(true, u64::MAX)], 16_000);
        assert_eq!(schedule.planned_period(), Period::new(u64::MAX, 16_000).unwrap());
    }

    /// The upper bound of the published Algorithm 1 excludes every schedule of such chains.
    #[test]
    fn many_light_sequential_tasks_on_few_cores() {
        let schedule = otac(&[(false, 1); 100], 9);
        assert_eq!(schedule.planned_period(), Period::from(12));
    }

    #[test]
    fn cores_of_several_kinds_are_refused() {
        let profile = Profile::new(["big", "little"], [TaskProfile::replicable("t", [1, 2])]).unwrap();
        let platform = Platform::parse_cores("big=4,little=8", &profile).unwrap();
        let error = Otac.schedule(&profile, &platform).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Strategy);
        assert_eq!(
            error.to_string(),
            "strategy `otac`: it schedules for cores of one kind, and big=4,little=8 are given: \
             give cores of one kind only, big=4 or little=8, or take a strategy for more kinds"
        );
    }
}

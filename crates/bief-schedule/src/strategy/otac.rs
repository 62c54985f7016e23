//! OTAC: the best pipeline on cores of one kind.

use super::{Strategy, given_cores};
use crate::error::Error;
use crate::period::Period;
use crate::platform::Platform;
use crate::profile::Profile;
use crate::schedule::{Schedule, Stage};

/// The shortest period on cores of one kind; among the schedules that have it, one with the fewest cores,
/// and among those one with the fewest stages.
///
/// OTAC searches the shortest period for which the stages fit the cores. The published form (Algorithm 1 of
/// Idouar et al., *Energy-Aware Scheduling Strategies for Partially-Replicable Task Chains on Heterogeneous
/// Processors*) packs stages greedily and stops its search at a tolerance that depends on the unit of time,
/// which loses the best period. Here a period is tried by dynamic programming over the stages' ends, and
/// the search goes from one period at which something can change to the next, in exact fractions: it ends at
/// the best period, whatever the times, from 1 ns up.
///
/// Trying a period costs time proportional to the tasks and, for each, to the ways to begin a replicated
/// stage that ends there; a search tries one period where the heaviest sequential task limits, else ten to fifteen.
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
        "The shortest period on cores of one kind, with the fewest cores that reach it."
    }

    fn most_kinds(&self) -> usize {
        1
    }

    fn schedule(&self, profile: &Profile, platform: &Platform) -> Result<Schedule, Error> {
        let (kind, cores) = given_cores(self, profile, platform)?[0];
        let stages = Search::new(profile, kind, cores).run();
        let name = &profile.kinds()[kind];
        let stages = stages.into_iter().map(|(tasks, cores)| Stage::new(tasks, cores, name.as_str()));
        Schedule::new(self.name(), stages, profile)
    }
}

/// The search for the shortest period on `cores` cores of one kind.
///
/// Tasks are numbered from 0; a stage is a range `from..to` of them.
struct Search<'a> {
    /// The work of the first 0, 1, … n tasks.
    prefix_ns: &'a [u64],
    /// What a stage spends on handing over, once per execution.
    sync_ns: u64,
    /// The least work of a stage with a task that may not be replicated; 0 where there is none.
    heaviest_sequential_ns: u64,
    /// For each `to`, the first `from` such that all tasks of `from..to` may be replicated.
    run_start: Vec<usize>,
    cores: u32,
    /// The work that 1, 2, … cores do in the period that is being tried, up to all work.
    capacity_ns: Vec<u64>,
    /// For each `to`, the best stages for the tasks before it in the period that is being tried.
    best: Vec<Best>,
    /// How many periods were tried.
    #[cfg(test)]
    tried: u32,
}

/// Stages for the first tasks of the chain, known by the last of them.
#[derive(Debug, Clone, Copy)]
struct Best {
    cores: u32,
    stages: u32,
    /// Where the last stage begins, and its cores.
    last_from: usize,
    last_cores: u32,
}

enum Tried {
    Fits,
    /// It does not fit in this period, nor in any longer one before `next`.
    Fails {
        next: Period,
    },
}

impl<'a> Search<'a> {
    fn new(profile: &'a Profile, kind: usize, cores: u32) -> Self {
        let mut run_start = vec![0];
        let mut start = 0;
        let mut heaviest_sequential_ns = 0;
        for (index, task) in profile.tasks().iter().enumerate() {
            if !task.replicable {
                start = index + 1;
                heaviest_sequential_ns = heaviest_sequential_ns.max(task.ns[kind] + profile.sync_ns(kind));
            }
            run_start.push(start);
        }
        Self {
            prefix_ns: profile.prefix_ns(kind),
            sync_ns: profile.sync_ns(kind),
            heaviest_sequential_ns,
            run_start,
            cores,
            capacity_ns: Vec::new(),
            best: Vec::with_capacity(profile.tasks().len() + 1),
            #[cfg(test)]
            tried: 0,
        }
    }

    fn work_ns(&self, from: usize, to: usize) -> u64 {
        self.prefix_ns[to] - self.prefix_ns[from] + self.sync_ns
    }

    fn tasks(&self) -> usize {
        self.prefix_ns.len() - 1
    }

    /// The tasks and cores of each stage of the best schedule.
    fn run(&mut self) -> Vec<(usize, u32)> {
        let all_ns = self.work_ns(0, self.tasks());
        // No period below `low` fits; `high` fits, and some schedule has exactly this period.
        let mut low = Period::shared(all_ns, self.cores).max(Period::from(self.heaviest_sequential_ns));
        let mut high = Period::from(all_ns);
        let mut period = low;
        loop {
            match self.fit(period) {
                Tried::Fits => {
                    high = self.period();
                    if high <= low {
                        return self.stages();
                    }
                }
                Tried::Fails { next } => low = next,
            }
            period = if low >= high { high } else { Period::between(low, high) };
        }
    }

    /// Finds the fewest cores, and among those the fewest stages, for which no stage takes longer than
    /// `period`, in which all cores together could do all work.
    ///
    /// Taking the last task away from a schedule never costs cores or stages. Of all stages that end at a
    /// task and have the same number of cores, only the longest is therefore of use.
    fn fit(&mut self, period: Period) -> Tried {
        #[cfg(test)]
        {
            self.tried += 1;
        }
        self.set_capacity(period);
        self.best.clear();
        self.best.push(Best { cores: 0, stages: 0, last_from: 0, last_cores: 0 });
        // All on one core fits in the end. Every stage that does not fit here, but would in a longer period,
        // may bring `next` down.
        let mut next = Period::from(self.work_ns(0, self.tasks()));
        let mut one_core_from = 0;
        for to in 1..=self.tasks() {
            while one_core_from < to && self.work_ns(one_core_from, to) > self.capacity_ns[0] {
                one_core_from += 1;
            }
            if one_core_from > 0 {
                next = next.min(Period::from(self.work_ns(one_core_from - 1, to)));
            }
            let mut best = None;
            if one_core_from < to {
                self.improve(&mut best, one_core_from, 1);
            }
            let mut from = one_core_from;
            let mut cores = 1;
            while from > self.run_start[to] {
                let wanted_ns = self.work_ns(from - 1, to);
                while self.capacity_ns[cores as usize - 1] < wanted_ns {
                    cores += 1;
                }
                next = next.min(Period::shared(wanted_ns, cores - 1));
                while from > self.run_start[to] && self.work_ns(from - 1, to) <= self.capacity_ns[cores as usize - 1] {
                    from -= 1;
                }
                self.improve(&mut best, from, cores);
            }
            match best {
                Some(best) if best.cores <= self.cores => self.best.push(best),
                _ => return Tried::Fails { next },
            }
        }
        Tried::Fits
    }

    fn improve(&self, best: &mut Option<Best>, from: usize, cores: u32) {
        let before = self.best[from];
        let new = Best { cores: before.cores + cores, stages: before.stages + 1, last_from: from, last_cores: cores };
        if best.is_none_or(|best| (new.cores, new.stages) < (best.cores, best.stages)) {
            *best = Some(new);
        }
    }

    fn set_capacity(&mut self, period: Period) {
        let all_ns = self.work_ns(0, self.tasks());
        let (whole, part) = (period.num() / period.den(), u128::from(period.num() % period.den()));
        let den = u128::from(period.den());
        let (mut capacity, mut carry) = (0u64, 0u128);
        self.capacity_ns.clear();
        for _ in 0..self.cores {
            carry += part;
            let over = carry >= den;
            carry -= if over { den } else { 0 };
            capacity = capacity.saturating_add(whole).saturating_add(u64::from(over));
            self.capacity_ns.push(capacity);
            if capacity >= all_ns {
                break;
            }
        }
    }

    /// The last stages first, from the best of the whole chain.
    fn stages_backwards(&self) -> impl Iterator<Item = (usize, usize, u32)> {
        let mut to = self.tasks();
        std::iter::from_fn(move || {
            let best = self.best[to];
            let stage = (best.last_from, to, best.last_cores);
            (to > 0).then(|| {
                to = best.last_from;
                stage
            })
        })
    }

    fn period(&self) -> Period {
        let periods = self.stages_backwards().map(|(from, to, cores)| Period::shared(self.work_ns(from, to), cores));
        periods.max().unwrap_or(Period::ZERO)
    }

    fn stages(&self) -> Vec<(usize, u32)> {
        let mut stages: Vec<_> = self.stages_backwards().map(|(from, to, cores)| (to - from, cores)).collect();
        stages.reverse();
        stages
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use proptest::strategy::Strategy;

    use super::{Strategy as _, *};
    use crate::brute;
    use crate::error::ErrorKind;
    use crate::profile::TaskProfile;

    fn chain(tasks: &[(bool, u64)], sync_ns: u64) -> Profile {
        let tasks = tasks.iter().map(|&(replicable, ns)| {
            let task = TaskProfile::sequential("t", [ns]);
            TaskProfile { replicable, ..task }
        });
        Profile::new(["cpu"], tasks).unwrap().with_sync_ns([sync_ns]).unwrap()
    }

    fn otac(profile: &Profile, cores: u32) -> Schedule {
        let platform = Platform::parse_cores(&cores.to_string(), profile).unwrap();
        let schedule = Otac.schedule(profile, &platform).unwrap();
        schedule.check(profile, &platform).unwrap();
        assert_eq!(schedule.period(profile).unwrap(), schedule.planned_period());
        schedule
    }

    fn used(schedule: &Schedule) -> u32 {
        schedule.cores().values().sum()
    }

    /// Times of all magnitudes, with many ties and zeros.
    fn times() -> impl Strategy<Value = u64> {
        prop_oneof![
            3 => 1u64..=100,
            2 => 0u64..=3,
            1 => Just(50u64),
            1 => (0u32..=33, 1u64..=2).prop_map(|(shift, odd)| odd << shift),
            1 => 1u64..=10_000_000_000,
        ]
    }

    fn chains(longest: usize) -> impl Strategy<Value = Vec<(bool, u64)>> {
        let replicable = prop_oneof![2 => 0.0f64..=1.0, 1 => Just(0.0), 1 => Just(1.0)];
        replicable.prop_flat_map(move |share| {
            proptest::collection::vec((proptest::bool::weighted(share), times()), 1..=longest)
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(8000))]

        #[test]
        fn nothing_that_can_be_tried_is_better(tasks in chains(7), cores in 1u32..=6, sync in 0u64..=20) {
            let profile = chain(&tasks, if sync < 15 { 0 } else { sync });
            let schedule = otac(&profile, cores);
            let best = brute::optimum(&profile, &[cores]);
            prop_assert_eq!(schedule.planned_period(), best.period);
            prop_assert_eq!(used(&schedule), best.front[0][0]);
            prop_assert_eq!(schedule.stages().len(), best.fewest_stages[0]);
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(500))]

        #[test]
        fn long_chains_reach_the_period_of_the_recurrence(tasks in chains(40), cores in 1u32..=16) {
            let profile = chain(&tasks, 0);
            let shortest = brute::shortest_period(&profile, 0, cores);
            prop_assert_eq!(otac(&profile, cores).planned_period(), shortest);
        }

        #[test]
        fn the_unit_of_time_changes_nothing(tasks in chains(20), cores in 1u32..=16) {
            let scaled: Vec<_> = tasks.iter().map(|&(replicable, ns)| (replicable, ns * 100_000)).collect();
            let (small, large) = (otac(&chain(&tasks, 0), cores), otac(&chain(&scaled, 0), cores));
            prop_assert_eq!(small.stages(), large.stages());
        }
    }

    #[test]
    fn one_task_takes_all_cores_or_one() {
        let replicable = otac(&chain(&[(true, 10)], 0), 16_000);
        assert_eq!(replicable.stages(), [Stage::new(1, 16_000, "cpu")]);
        assert_eq!(replicable.planned_period(), Period::new(1, 1600).unwrap());
        let sequential = otac(&chain(&[(false, 10)], 0), 16_000);
        assert_eq!(sequential.stages(), [Stage::new(1, 1, "cpu")]);
    }

    #[test]
    fn tasks_without_weight_need_one_core() {
        let schedule = otac(&chain(&[(false, 0), (true, 0), (false, 0)], 0), 4);
        assert_eq!(schedule.stages(), [Stage::new(3, 1, "cpu")]);
        assert_eq!(schedule.planned_period(), Period::ZERO);
    }

    #[test]
    fn the_heaviest_times_do_not_overflow() {
        let half = u64::MAX / 2;
        let schedule = otac(&chain(&[(true, half), (false, half)], 0), 3);
        assert_eq!(schedule.planned_period(), Period::from(half));
        assert_eq!(schedule.stages(), [Stage::new(1, 1, "cpu"), Stage::new(1, 1, "cpu")]);
        let schedule = otac(&chain(&[(true, half), (true, half), (false, 1)], 0), 5);
        assert_eq!(schedule.planned_period(), Period::new(2 * half, 4).unwrap());
    }

    /// The upper bound of the published Algorithm 1 excludes every schedule of such chains.
    #[test]
    fn many_light_sequential_tasks_on_few_cores() {
        let schedule = otac(&chain(&[(false, 1); 100], 0), 9);
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

    #[test]
    fn searches_try_few_periods() {
        let mut state = 1u64;
        let mut random = |below: u64| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 33) % below
        };
        for _ in 0..200 {
            let tasks: Vec<_> = (0..60).map(|_| (random(2) == 0, 1 + random(1_000_000))).collect();
            let profile = chain(&tasks, 0);
            let mut search = Search::new(&profile, 0, 20);
            search.run();
            assert!(search.tried <= 30, "{} periods tried for {tasks:?}", search.tried);
        }
    }
}

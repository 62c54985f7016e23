//! Recursive bisection: a quick pipeline without replicas on cores of one kind.

use super::work::Work;
use super::{Capabilities, Strategy, given_cores};
use crate::error::Error;
use crate::platform::Platform;
use crate::profile::Profile;
use crate::schedule::{Schedule, Stage};

/// Halves the cores and cuts the chain where the halves' loads are most even, again and again, down to one core
/// per stage: a classic heuristic of chains-to-chains partitioning (section 3 of Pinar and Aykanat, *Fast optimal
/// load balancing algorithms for 1D partitioning*, 2004).
///
/// Of `c` cores the front part gets `c / 2`, rounded down, and the back part the others. The cut is the one for
/// which the greater of the parts' work per core is least, the first of such cuts, and leaves each part a task. A
/// part with fewer tasks than cores leaves the rest of its cores idle. There are no replicas, and the period is
/// never shorter than that of [`Nicol`](super::Nicol).
///
/// ```
/// use bief_schedule::strategy::RecursiveBisection;
/// use bief_schedule::{Period, Platform, Profile, Stage, Strategy, TaskProfile};
///
/// let profile = Profile::new(
///     ["cpu"],
///     [
///         TaskProfile::sequential("receive", [300]),
///         TaskProfile::replicable("filter", [400]),
///         TaskProfile::replicable("decode", [500]),
///         TaskProfile::sequential("send", [100]),
///     ],
/// )?;
/// let schedule = RecursiveBisection.schedule(&profile, &Platform::parse_cores("2", &profile)?)?;
/// assert_eq!(schedule.planned_period(), Period::from(700));
/// assert_eq!(schedule.stages(), [Stage::new(2, 1, "cpu"), Stage::new(2, 1, "cpu")]);
/// # Ok::<(), bief_schedule::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecursiveBisection;

impl Strategy for RecursiveBisection {
    fn name(&self) -> &'static str {
        "rb"
    }

    fn summary(&self) -> &'static str {
        "A pipeline without replicas on cores of one kind, by halving chain and cores again and again."
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities::default()
    }

    fn schedule(&self, profile: &Profile, platform: &Platform) -> Result<Schedule, Error> {
        let (kind, cores) = given_cores(self, profile, platform)?[0];
        let work = Work::new(profile, kind);
        let mut tasks = Vec::new();
        bisect(work, 0, work.tasks(), cores, &mut tasks);
        let stages = tasks.into_iter().map(|tasks| Stage::new(tasks, 1, profile.kinds()[kind].as_str()));
        Schedule::new(self.name(), stages, profile)
    }
}

/// Adds the numbers of tasks of the stages that take the tasks `from..to`.
fn bisect(work: Work, from: usize, to: usize, cores: u32, stages: &mut Vec<usize>) {
    if cores == 1 || to - from == 1 {
        stages.push(to - from);
        return;
    }
    let (front, back) = (cores / 2, cores - cores / 2);
    let cut = even_cut(work, from, to, front, back);
    bisect(work, from, cut, front, stages);
    bisect(work, cut, to, back, stages);
}

/// Where to cut `from..to` so that the greater work per core of the two parts is least.
fn even_cut(work: Work, from: usize, to: usize, front: u32, back: u32) -> usize {
    // The parts' work per core, both times the cores of both.
    let front_load = |cut: usize| u128::from(work.ns(from, cut)) * u128::from(back);
    let back_load = |cut: usize| u128::from(work.ns(cut, to)) * u128::from(front);
    // Up to the first cut at which the front part has the greater load the maximum falls, from there on it grows.
    let (mut first, mut last) = (from + 1, to - 1);
    while first < last {
        let cut = first.midpoint(last);
        if front_load(cut) >= back_load(cut) {
            last = cut;
        } else {
            first = cut + 1;
        }
    }
    let greater = |cut: usize| front_load(cut).max(back_load(cut));
    let mut best = first;
    while best > from + 1 && greater(best - 1) <= greater(best) {
        best -= 1;
    }
    best
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::Nicol;
    use super::super::tests::{chains, profile_of, scheduled};
    use super::*;
    use crate::period::Period;

    proptest! {
        #[test]
        fn it_is_a_partition_and_never_better_than_nicol(tasks in chains(30), cores in 1u32..=12) {
            let profile = profile_of(&tasks, 0);
            let schedule = scheduled(&RecursiveBisection, &profile, &cores.to_string());
            prop_assert!(schedule.stages().iter().all(|stage| stage.replicas() == 1));
            let nicol = scheduled(&Nicol, &profile, &cores.to_string());
            prop_assert!(schedule.planned_period() >= nicol.planned_period());
        }

        #[test]
        fn the_cut_is_the_first_of_the_most_even(tasks in chains(20), front in 1u32..=9, more in 0u32..=1, sync in 0u64..=9) {
            prop_assume!(tasks.len() > 1);
            let profile = profile_of(&tasks, sync);
            let back = front + more;
            let per_core = |cut: usize| {
                let load = |tasks: std::ops::Range<usize>, cores: u32| {
                    Period::shared(profile.stage_ns(tasks, 0).unwrap(), cores)
                };
                load(0..cut, front).max(load(cut..tasks.len(), back))
            };
            let first = (1..tasks.len()).min_by_key(|&cut| per_core(cut)).unwrap();
            prop_assert_eq!(even_cut(Work::new(&profile, 0), 0, tasks.len(), front, back), first);
        }
    }

    #[test]
    fn an_odd_core_goes_to_the_back() {
        let schedule = scheduled(&RecursiveBisection, &profile_of(&[(true, 10); 6], 0), "3");
        assert_eq!(schedule.stages().iter().map(|stage| stage.tasks).collect::<Vec<_>>(), [2, 2, 2]);
        let schedule = scheduled(&RecursiveBisection, &profile_of(&[(true, 30), (true, 10), (true, 10)], 0), "3");
        assert_eq!(schedule.stages().iter().map(|stage| stage.tasks).collect::<Vec<_>>(), [1, 1, 1]);
    }

    /// The first of two even cuts, behind 2 and 1, leaves 3 and 6 to one core.
    #[test]
    fn a_cut_is_not_taken_back() {
        let profile = profile_of(&[2, 1, 3, 6, 2, 1].map(|ns| (true, ns)), 0);
        assert_eq!(scheduled(&RecursiveBisection, &profile, "3").planned_period(), Period::from(9));
        assert_eq!(scheduled(&Nicol, &profile, "3").planned_period(), Period::from(6));
    }
}

//! Nicol: the best pipeline without replicas on cores of one kind.

use super::work::Work;
use super::{Capabilities, Strategy, given_cores};
use crate::error::Error;
use crate::platform::Platform;
use crate::profile::Profile;
use crate::schedule::{Schedule, Stage};

/// The shortest period on cores of one kind where every stage has one core: pipelining without replication.
///
/// This is the partitioning of a chain into as many runs as there are cores, such that the heaviest is lightest.
/// Nicol's algorithm finds the first stage whose work, taken as the period, is kept by the rest of the chain on
/// the other cores, while the stage without its last task is too short a period: the shortest period is this
/// work, or the first stage ends before that task and the search goes on behind it. As in Pinar and Aykanat, *Fast
/// optimal load balancing algorithms for 1D partitioning* (2004), bounds known so far save most trials. The period
/// is the work of a stage, an integer, so the search is exact.
///
/// ```
/// use bief_schedule::strategy::Nicol;
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
/// let schedule = Nicol.schedule(&profile, &Platform::parse_cores("2", &profile)?)?;
/// assert_eq!(schedule.planned_period(), Period::from(700));
/// assert_eq!(schedule.stages(), [Stage::new(2, 1, "cpu"), Stage::new(1, 1, "cpu")]);
/// # Ok::<(), bief_schedule::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Nicol;

impl Strategy for Nicol {
    fn name(&self) -> &'static str {
        "nicol"
    }

    fn summary(&self) -> &'static str {
        "The shortest period on cores of one kind without replicas, every stage on one core."
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities::default()
    }

    fn schedule(&self, profile: &Profile, platform: &Platform) -> Result<Schedule, Error> {
        let (kind, cores) = given_cores(self, profile, platform)?[0];
        let work = Work::new(profile, kind);
        let period_ns = shortest_ns(work, cores);
        let mut from = 0;
        let stages = std::iter::from_fn(|| {
            let to = work.reach(from, work.tasks(), period_ns);
            let tasks = to - from;
            from = to;
            (tasks > 0).then(|| Stage::new(tasks, 1, profile.kinds()[kind].as_str()))
        });
        Schedule::new(self.name(), stages, profile)
    }
}

/// The shortest period of at most `cores` stages of one core each.
fn shortest_ns(work: Work, cores: u32) -> u64 {
    let tasks = work.tasks();
    let heaviest_ns = (0..tasks).map(|task| work.ns(task, task + 1)).max().unwrap_or(0);
    let hand_over_ns = work.ns(0, 0);
    let shared_ns = (work.ns(0, tasks) - hand_over_ns).div_ceil(u64::from(cores)) + hand_over_ns;
    // The shortest period is from `low` to `high`, and `high` can be kept.
    let mut low = heaviest_ns.max(shared_ns);
    let mut high = work.ns(0, tasks);
    let mut from = 0;
    for left in (1..=cores).rev() {
        if low >= high || from == tasks {
            break;
        }
        // Stages from `from` to any `to` before `short` are too short a period, to any from `long` on are none.
        let (mut short, mut long) = (from + 1, tasks + 1);
        while short < long {
            let to = short.midpoint(long);
            let period_ns = work.ns(from, to);
            if period_ns >= high {
                long = to;
            } else if period_ns < low {
                short = to + 1;
            } else if keeps(work, from, left, period_ns) {
                high = period_ns;
                long = to;
            } else {
                low = period_ns + 1;
                short = to + 1;
            }
        }
        from = long - 1;
    }
    high
}

/// Whether `cores` stages of one core each take all tasks from `from` on in a period no task is longer than.
fn keeps(work: Work, mut from: usize, cores: u32, period_ns: u64) -> bool {
    for _ in 0..cores {
        from = work.reach(from, work.tasks(), period_ns);
        if from == work.tasks() {
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::tests::{chains, profile_of, scheduled};
    use super::*;
    use crate::period::Period;

    /// The shortest period without replicas, from the recurrence over the last stage.
    fn shortest_by_recurrence(profile: &Profile, cores: usize) -> u64 {
        let tasks = profile.tasks().len();
        let mut shortest = vec![u64::MAX; tasks + 1];
        shortest[0] = 0;
        for _ in 0..cores {
            let fewer = shortest.clone();
            for to in 1..=tasks {
                let with_last = |from: usize| fewer[from].max(profile.stage_ns(from..to, 0).unwrap());
                shortest[to] = (0..to).map(with_last).min().unwrap().min(fewer[to]);
            }
        }
        shortest[tasks]
    }

    proptest! {
        #[test]
        fn no_partition_is_better(tasks in chains(30), cores in 1u32..=12, sync in 0u64..=20) {
            let profile = profile_of(&tasks, sync.saturating_sub(15));
            let schedule = scheduled(&Nicol, &profile, &cores.to_string());
            prop_assert!(schedule.stages().iter().all(|stage| stage.replicas() == 1));
            let shortest = shortest_by_recurrence(&profile, cores as usize);
            prop_assert_eq!(schedule.planned_period(), Period::from(shortest));
        }
    }

    #[test]
    fn the_heaviest_times_do_not_overflow() {
        let third = u64::MAX / 3;
        let schedule = scheduled(&Nicol, &profile_of(&[(true, third), (true, third), (false, third)], 0), "2");
        assert_eq!(schedule.planned_period(), Period::from(2 * third));
    }
}

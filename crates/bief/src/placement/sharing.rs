//! Where threads of a plan outnumber its cores: how many these are, and which of them each thread gets.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::BTreeMap;

use bief_schedule::Schedule;

use super::Policy;
use crate::machine::Machine;

/// How many cores of each kind the threads of a plan share; of no kind, where each has one for itself.
#[derive(Debug, Clone, Default)]
pub(crate) struct SharedCores(BTreeMap<String, u32>);

impl SharedCores {
    pub(crate) fn of(schedule: &Schedule) -> Self {
        Self(if schedule.is_oversubscribed() { schedule.cores().clone() } else { BTreeMap::new() })
    }

    /// Whether any are shared.
    pub(crate) fn are_any(&self) -> bool {
        !self.0.is_empty()
    }

    /// The machine with these cores alone, unless places are told one by one.
    pub(crate) fn part_of<'m>(&self, machine: &'m Machine, policy: &Policy) -> Cow<'m, Machine> {
        if !self.are_any() || matches!(policy, Policy::Explicit(_)) {
            return Cow::Borrowed(machine);
        }
        let most = |kind: &str| self.0.get(kind).map_or(usize::MAX, |&cores| cores as usize);
        Cow::Owned(machine.with_cores_at_most(most))
    }
}

impl Policy {
    /// By which policy a [`Planner`](crate::Planner) places the threads of a plan, unless it is told: packed. Where they share cores and no
    /// stage has a replica on each, which would level out what they have to do, guided: the system sees how much that is.
    pub fn usual(schedule: &Schedule) -> Self {
        let levels = |(kind, cores): (&String, &u32)| {
            let threads = || schedule.stages().iter().filter_map(|stage| stage.cores.get(kind).copied());
            threads().map(u64::from).sum::<u64>() <= u64::from(*cores) || threads().any(|threads| threads >= *cores)
        };
        if schedule.cores().iter().all(levels) { Self::Packed } else { Self::Guided }
    }
}

/// A stage's threads, and how long each works between two executions of its chain by the plan: the same for all stages without one.
pub(super) struct Load {
    pub(super) threads: usize,
    pub(super) ns: u64,
}

/// For each stage and thread the core of so many that it gets; `None` where no stage has a thread on each core, which would work the more,
/// the less others do there.
///
/// Those that nobody can stand in for come first, the longest ahead, each on the core that has least to do by then. Threads of one stage are
/// on different cores.
pub(super) fn divided(stages: &[Load], cores: usize) -> Option<Vec<Vec<usize>>> {
    stages.iter().any(|stage| stage.threads >= cores).then(|| {
        let mut order: Vec<usize> = (0..stages.len()).collect();
        order.sort_by_key(|&stage| (stages[stage].threads, Reverse(stages[stage].ns)));
        let mut busy_ns = vec![0_u64; cores];
        let mut places = vec![Vec::new(); stages.len()];
        for stage in order {
            let mut idlest: Vec<usize> = (0..cores).collect();
            idlest.sort_by_key(|&core| busy_ns[core]);
            places[stage] = idlest.into_iter().cycle().take(stages[stage].threads).collect();
            for &core in &places[stage] {
                busy_ns[core] = busy_ns[core].saturating_add(stages[stage].ns);
            }
        }
        places
    })
}

#[cfg(test)]
mod tests {
    use bief_schedule::{Profile, Stage, TaskProfile};

    use super::*;

    fn places<const N: usize>(stages: [(usize, u64); N], cores: usize) -> Option<Vec<Vec<usize>>> {
        divided(&stages.map(|(threads, ns)| Load { threads, ns }), cores)
    }

    #[test]
    fn cores_have_as_much_to_do_as_can_be() {
        assert_eq!(places([(1, 10), (2, 40), (1, 20)], 2).unwrap(), [vec![1], vec![1, 0], vec![0]]);
        assert_eq!(places([(1, 10), (2, 40), (1, 10)], 2).unwrap(), [vec![0], vec![0, 1], vec![1]]);
        let five = places([(1, 30), (3, 40), (1, 20), (1, 20), (1, 50)], 3).unwrap();
        assert_eq!(five, [vec![1], vec![1, 2, 0], vec![2], vec![2], vec![0]]);
        assert_eq!(places([(1, 10), (5, 40)], 2).unwrap()[1], [1, 0, 1, 0, 1]);
        assert_eq!(places([(1, u64::MAX), (3, u64::MAX)], 2).unwrap()[1], [1, 0, 1]);
    }

    #[test]
    fn threads_have_places_of_their_own_where_replicas_level_out_what_they_share() {
        let profile =
            Profile::new(["big", "little"], [100, 900, 100].map(|ns| TaskProfile::replicable("t", [ns, ns]))).unwrap();
        let usual = |replicas: [u32; 3], cores: &[(&str, u32)]| {
            let stages = replicas.map(|replicas| Stage::new(1, replicas, cores[0].0)).to_vec();
            let cores = cores.iter().map(|&(kind, cores)| (kind.to_owned(), cores)).collect();
            Policy::usual(&Schedule::sharing("hand", stages, &cores, &profile).unwrap())
        };
        assert_eq!(usual([1, 2, 1], &[("big", 2)]), Policy::Packed);
        assert_eq!(usual([1, 2, 1], &[("big", 3)]), Policy::Guided);
        assert_eq!(usual([1, 1, 1], &[("big", 2)]), Policy::Guided);
        assert_eq!(usual([1, 1, 1], &[("big", 3)]), Policy::Packed, "a core for each");
    }

    #[test]
    fn nothing_levels_out_where_no_stage_is_on_each_core() {
        assert_eq!(places([(1, 60), (1, 60), (1, 60)], 2), None);
        assert_eq!(places([(1, 60), (2, 60), (1, 60)], 3), None);
    }
}

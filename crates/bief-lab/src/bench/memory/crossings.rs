//! How the boundaries between stages lie on the machine.

use bief::Machine;
use bief::machine::Core;
use bief::placement::Placement;

/// How many boundaries between consecutive stages join which cores.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Crossings {
    /// One core: the stages take turns.
    pub(super) same_core: f64,
    /// Cores of different clusters: the buffer leaves the cache that the cores of a cluster share.
    pub(super) other_cluster: f64,
    /// Cores of different packages; these are of different clusters too.
    pub(super) other_package: f64,
}

impl Crossings {
    /// As the placement says; `None` where it leaves a thread the choice between cores.
    pub(super) fn placed(machine: &Machine, placement: &Placement) -> Option<Self> {
        let core = |threads: &[usize]| {
            let core = machine.core_of(*threads.first()?)?;
            threads.iter().all(|thread| core.threads.contains(thread)).then_some(core)
        };
        let stages = placement.stages().iter().map(|stage| core(stage.threads.first()?));
        Some(Self::along(&stages.collect::<Option<Vec<&Core>>>()?))
    }

    /// Of stages on these cores.
    fn along(cores: &[&Core]) -> Self {
        let count = |is: fn(&Core, &Core) -> bool| cores.windows(2).filter(|pair| is(pair[0], pair[1])).count() as f64;
        Self {
            same_core: count(|from, to| from.threads == to.threads),
            other_cluster: count(|from, to| (from.package, from.cluster) != (to.package, to.cluster)),
            other_package: count(|from, to| from.package != to.package),
        }
    }
}

/// Buffers that were followed through the stages.
#[derive(Debug, Default)]
pub(super) struct Tally {
    buffers: u64,
    sum: Crossings,
}

impl Tally {
    /// Adds buffers by the hardware threads that they were on in each stage. One that was on a hardware thread that is not of
    /// the machine does not count.
    pub(super) fn add(&mut self, machine: &Machine, seen_on: &[Vec<usize>]) {
        for buffer in 0..seen_on.iter().map(Vec::len).min().unwrap_or(0) {
            let cores: Option<Vec<&Core>> = seen_on.iter().map(|stage| machine.core_of(stage[buffer])).collect();
            if let Some(cores) = cores {
                let crossings = Crossings::along(&cores);
                self.buffers += 1;
                self.sum.same_core += crossings.same_core;
                self.sum.other_cluster += crossings.other_cluster;
                self.sum.other_package += crossings.other_package;
            }
        }
    }

    /// The mean of the buffers; `None` where there are none.
    pub(super) fn mean(&self) -> Option<Crossings> {
        let buffers = (self.buffers > 0).then_some(self.buffers as f64)?;
        let Crossings { same_core, other_cluster, other_package } = self.sum;
        Some(Crossings {
            same_core: same_core / buffers,
            other_cluster: other_cluster / buffers,
            other_package: other_package / buffers,
        })
    }
}

#[cfg(test)]
mod tests {
    use bief::placement::{Policy, StageSlots};

    use super::*;

    fn core(threads: &[usize], cluster: usize, package: usize) -> Core {
        Core { threads: threads.to_vec(), kind: 0, cluster, package, node: package }
    }

    #[test]
    fn boundaries_are_told_apart() {
        let cores = [core(&[0, 4], 0, 0), core(&[1, 5], 0, 0), core(&[2], 1, 0), core(&[3], 2, 1)];
        let along = |path: &[usize]| {
            let cores: Vec<&Core> = path.iter().map(|&index| &cores[index]).collect();
            let Crossings { same_core, other_cluster, other_package } = Crossings::along(&cores);
            [same_core, other_cluster, other_package]
        };
        assert_eq!(along(&[0, 0, 0]), [2.0, 0.0, 0.0]);
        assert_eq!(along(&[0, 1, 0]), [0.0, 0.0, 0.0]);
        assert_eq!(along(&[0, 1, 2, 3, 3, 0]), [1.0, 3.0, 2.0]);
        assert_eq!(along(&[0]), [0.0; 3]);
    }

    #[test]
    fn a_placement_tells_where_it_leaves_no_choice() {
        let machine = Machine::here();
        let stages: Vec<StageSlots> = (0..9)
            .map(|stage| StageSlots { name: stage.to_string(), kinds: Vec::new(), threads: 1, planned_ns: None })
            .collect();
        let on_one = format!("{}|*", ["c0"; 8].join("|"));
        let placed = |policy: Policy| Crossings::placed(&machine, &policy.place(&machine, &stages).unwrap());
        let seen = placed("c0|c0|c0|c0|c0|c0|c0|c0|c0".parse().unwrap()).unwrap();
        assert_eq!(seen, Crossings { same_core: 8.0, other_cluster: 0.0, other_package: 0.0 });
        assert!(placed(Policy::Packed).is_some());
        if machine.cores().len() > 1 {
            assert_eq!([placed(Policy::Loose), placed(on_one.parse().unwrap())], [None; 2]);
            // Neighbours share cores where threads outnumber these; by turns, none do.
            assert_eq!(placed(Policy::Packed).unwrap().same_core, 9_usize.saturating_sub(machine.cores().len()) as f64);
            assert_eq!(placed(Policy::Distant).unwrap().same_core, 0.0);
        }
    }

    #[test]
    fn buffers_that_were_followed_are_averaged() {
        let machine = Machine::here();
        let here = machine.cores()[0].threads[0];
        let mut tally = Tally::default();
        assert_eq!(tally.mean(), None);
        tally.add(&machine, &[vec![here], vec![]]);
        tally.add(&machine, &[vec![usize::MAX], vec![here]]);
        assert_eq!(tally.mean(), None, "none was seen in all stages");
        tally.add(&machine, &[vec![here, here], vec![here, here], vec![here, usize::MAX]]);
        assert_eq!(tally.mean(), Some(Crossings { same_core: 2.0, other_cluster: 0.0, other_package: 0.0 }));
    }
}

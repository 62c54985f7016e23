//! The policies that place threads.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use super::explicit::Places;
use super::sharing::{Load, divided};
use super::{PlacedStage, Placement, StageSlots, all_threads};
use crate::error::{Error, Result};
use crate::machine::{Core, Machine};

/// How the threads of a pipeline are placed on a machine.
///
/// The names and meanings are those of Idouar et al., section 6.4.3, but for `dynamic`. Read from a word (`packed`) or, for explicit places,
/// from a list in the grammar below.
///
/// # Explicit places
///
/// Stages are parted by `|`, in the order of the chain, and the replicas of a stage by `;`. One place for a stage of several
/// replicas holds for all of them. A place is a list with commas of
///
/// | written | means |
/// | --- | --- |
/// | `3` | hardware thread 3, as the system counts |
/// | `4-7` | hardware threads 4, 5, 6 and 7 |
/// | `c2` | all hardware threads of core 2, counted as in [`Machine::cores`] |
/// | `cluster1` | all cores of that cluster |
/// | `package0` | all cores of that package |
/// | `numa1` | all cores of that NUMA node |
/// | `little` | all cores of a kind |
/// | `*` | all cores |
///
/// `"0; 1-3 | c2 | numa1"` is a pipeline of three stages: the first with two replicas, one on hardware thread 0 and one
/// on any of 1, 2 and 3; the second on core 2; the third anywhere on NUMA node 1.
///
/// ```
/// use bief::placement::Policy;
///
/// assert_eq!("packed".parse::<Policy>()?, Policy::Packed);
/// assert_eq!("0; 1-3 | c2 | numa1".parse::<Policy>()?.to_string(), "0; 1-3 | c2 | numa1");
/// assert!("pakced".parse::<Policy>().is_err());
/// # Ok::<(), bief::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Policy {
    /// Every thread on any core: the system decides.
    Loose,
    /// Every thread on any core of the kind that its stage was planned for.
    Guided,
    /// Every thread on a core of its own, in the order of the chain, so that neighbours are near each other: the fewest
    /// clusters are used. Where a kind has fewer cores than threads, neighbours share cores; if a stage has a thread for each core, threads of
    /// a stage are on different cores, and cores have as much to do by the plan as can be, as those of that stage take what time is left.
    #[default]
    Packed,
    /// Every thread on a core of its own, by turns from different packages and clusters, so that most caches and memory
    /// paths are used. Where a kind has fewer cores than threads, these take them by turns.
    Distant,
    /// Every thread on any core, and while a run goes on a mapper moves those that need the most to the fastest kinds of cores
    /// ([`mapping`](crate::machine::mapper); [`Pipeline::mapping`](crate::Pipeline::mapping) sets how). When the run has ended, they may run
    /// on any core again. [`Waiting::Adaptive`](crate::pipeline::Waiting::Adaptive) does not look for a while first: threads that look would
    /// seem to need a core.
    Dynamic,
    /// As told.
    Explicit(Places),
}

impl Policy {
    /// The policies that have names.
    pub const NAMED: [Self; 5] = [Self::Loose, Self::Guided, Self::Packed, Self::Distant, Self::Dynamic];

    /// Places the threads of these stages. Those of a stage on a [device](Machine::devices) of the machine wait for it, on any core; where it
    /// is emulated they do its work, on those cores that no other stage has or, where there are none, on those of the stage that has least
    /// to do by its plan. Explicit places hold for them, too.
    ///
    /// # Errors
    /// A stage for a kind of core that the machine does not have, where the policy gives it one; explicit places that name what the machine does not have, or
    /// that are not for these stages.
    pub fn place(&self, machine: &Machine, stages: &[StageSlots]) -> Result<Placement> {
        let cores = || thread_cores(machine, stages);
        let placed = |threads: &dyn Fn(usize, &StageSlots) -> Vec<Vec<usize>>| {
            let on_cores = |(index, stage): (usize, &StageSlots)| match is_on_device(machine, stage) {
                true => Vec::new(),
                false => threads(index, stage),
            };
            let on_cores: Vec<_> = stages.iter().enumerate().map(on_cores).collect();
            let stage = |(stage, threads): (&StageSlots, &Vec<Vec<usize>>)| PlacedStage {
                name: stage.name.clone(),
                threads: match is_on_device(machine, stage) {
                    true => vec![of_lanes(machine, stage, stages, &on_cores); stage.threads],
                    false => threads.clone(),
                },
            };
            Placement::new(self, stages.iter().zip(&on_cores).map(stage).collect())
        };
        let each = |cores: Vec<Vec<Vec<&Core>>>, of_thread: fn(&Among) -> Vec<usize>| {
            placed(&|index, _| {
                let of_thread =
                    |(thread, cores): (usize, &Vec<&Core>)| of_thread(&Among::of(stages, (index, thread), cores));
                cores[index].iter().enumerate().map(of_thread).collect()
            })
        };
        Ok(match self {
            Self::Loose | Self::Dynamic => placed(&|_, stage| vec![all_threads(machine); stage.threads]),
            Self::Guided => each(cores()?, |among| all_of(among.cores)),
            Self::Packed => each(cores()?, |among| among.packed().threads.clone()),
            Self::Distant => {
                let of_stage = |threads: Vec<Vec<_>>| threads.into_iter().map(by_turns).collect();
                let by_turns = cores()?.into_iter().map(of_stage).collect();
                each(by_turns, |among| among.cores[among.before() % among.cores.len()].threads.clone())
            }
            Self::Explicit(explicit) => Placement::new(self, explicit.place(machine, stages)?),
        })
    }
}

impl Policy {
    /// Whether all places that it names are there, whatever the stages.
    ///
    /// # Errors
    /// The first explicit place that the machine does not have.
    pub fn check(&self, machine: &Machine) -> Result<()> {
        match self {
            Self::Explicit(places) => places.check(machine),
            _ => Ok(()),
        }
    }
}

/// A thread among those that may use the same cores.
struct Among<'a> {
    cores: &'a [&'a Core],
    /// Of each stage.
    loads: Vec<Load>,
    stage: usize,
    /// Its number among those of its stage.
    thread: usize,
}

impl<'a> Among<'a> {
    fn of(stages: &[StageSlots], (stage, thread): (usize, usize), cores: &'a [&'a Core]) -> Self {
        let kind = stages[stage].kind_of(thread);
        let alike = |stage: &StageSlots, threads: usize| (0..threads).filter(|&one| stage.kind_of(one) == kind).count();
        let load =
            |stage: &StageSlots| Load { threads: alike(stage, stage.threads), ns: stage.planned_ns.unwrap_or(1) };
        Self { cores, loads: stages.iter().map(load).collect(), stage, thread: alike(&stages[stage], thread) }
    }

    fn all(&self) -> usize {
        self.loads.iter().map(|load| load.threads).sum()
    }

    /// How many come before it in the order of the chain.
    fn before(&self) -> usize {
        self.loads[..self.stage].iter().map(|load| load.threads).sum::<usize>() + self.thread
    }

    /// The core that it has to itself or, where these are too few, shares.
    fn packed(&self) -> &Core {
        let (all, cores) = (self.all(), self.cores.len());
        let core = if all <= cores {
            self.before()
        } else if let Some(places) = divided(&self.loads, cores) {
            places[self.stage][self.thread]
        } else {
            self.before() * cores / all
        };
        self.cores[core]
    }
}

/// The hardware threads of these cores.
fn all_of(cores: &[&Core]) -> Vec<usize> {
    let mut threads: Vec<usize> = cores.iter().flat_map(|core| core.threads.clone()).collect();
    threads.sort_unstable();
    threads
}

/// For each thread of each stage, the cores that it may use: those of its kind, or all, the fastest kind first.
fn thread_cores<'m>(machine: &'m Machine, stages: &[StageSlots]) -> Result<Vec<Vec<Vec<&'m Core>>>> {
    let of_thread = |stage: &StageSlots, thread: usize| {
        let of_kind = |kind: usize| machine.cores().iter().filter(move |core| core.kind == kind);
        let Some(name) = stage.kind_of(thread).filter(|_| !is_on_device(machine, stage)) else {
            return Ok((0..machine.kinds().len()).flat_map(of_kind).collect());
        };
        let kind = machine.kinds().iter().position(|kind| kind.name == name);
        let cores: Vec<&Core> = kind.into_iter().flat_map(of_kind).collect();
        if cores.is_empty() {
            let kinds: Vec<&str> = machine.kinds().iter().map(|kind| kind.name.as_str()).collect();
            return Err(Error::build(format!(
                "stage `{}` is planned for cores of the kind `{name}`, this machine has {}: plan with this machine's \
                 cores, or place it `loose`",
                stage.name,
                kinds.join(", ")
            )));
        }
        Ok(cores)
    };
    stages.iter().map(|stage| (0..stage.threads).map(|thread| of_thread(stage, thread)).collect()).collect()
}

/// Whether a stage runs on a device, its threads being lanes.
fn is_on_device(machine: &Machine, stage: &StageSlots) -> bool {
    stage.kind_of(0).is_some_and(|kind| machine.device(kind).is_some())
}

/// Where the lanes of a stage run, beside what was given to the `stages`.
fn of_lanes(machine: &Machine, stage: &StageSlots, stages: &[StageSlots], given: &[Vec<Vec<usize>>]) -> Vec<usize> {
    let all = all_threads(machine);
    let is_emulated = stage.kind_of(0).and_then(|kind| machine.device(kind)).is_some_and(|spec| spec.backend.is_none());
    if !is_emulated {
        return all;
    }
    let is_free = |core: &&Core| !given.iter().flatten().flatten().any(|thread| core.threads.contains(thread));
    let mut free: Vec<usize> = machine.cores().iter().filter(is_free).flat_map(|core| core.threads.clone()).collect();
    free.sort_unstable();
    if !free.is_empty() {
        return free;
    }
    let planned = stages.iter().zip(given).filter(|(_, given)| !given.is_empty());
    let planned = planned.map(|(stage, given)| stage.planned_ns.map(|ns| (ns, given)));
    let Some((_, given)) = planned.collect::<Option<Vec<_>>>().and_then(|planned| planned.into_iter().min()) else {
        return all;
    };
    let mut given: Vec<usize> = given.iter().flatten().copied().collect();
    given.sort_unstable();
    given.dedup();
    given
}

/// Cores by turns from different packages and, within these, from different clusters.
fn by_turns(cores: Vec<&Core>) -> Vec<&Core> {
    in_rounds(in_rounds(cores, |core| core.cluster), |core| core.package)
}

/// The first core of each group, then the second of each, and so on.
fn in_rounds(cores: Vec<&Core>, group: fn(&Core) -> usize) -> Vec<&Core> {
    let mut taken = BTreeMap::new();
    let mut rounds: Vec<(usize, &Core)> = Vec::new();
    for core in cores {
        let round: &mut usize = taken.entry(group(core)).or_default();
        rounds.push((*round, core));
        *round += 1;
    }
    rounds.sort_by_key(|&(round, _)| round);
    rounds.into_iter().map(|(_, core)| core).collect()
}

impl fmt::Display for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Loose => f.write_str("loose"),
            Self::Guided => f.write_str("guided"),
            Self::Packed => f.write_str("packed"),
            Self::Distant => f.write_str("distant"),
            Self::Dynamic => f.write_str("dynamic"),
            Self::Explicit(explicit) => explicit.fmt(f),
        }
    }
}

impl FromStr for Policy {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let named = Self::NAMED.into_iter().find(|policy| policy.to_string() == text.trim());
        named.map_or_else(|| Places::parse(text).map(Self::Explicit), Ok)
    }
}

#[cfg(all(test, not(any(bief_loom, bief_shuttle))))]
mod tests {
    use super::super::tests::{illustrated, seats};
    use super::*;
    use crate::machine::DeviceSpec;

    fn places(policy: &str, stages: &[StageSlots]) -> Vec<Vec<Vec<usize>>> {
        let placement = policy.parse::<Policy>().unwrap().place(&illustrated(), stages).unwrap();
        placement.check(&illustrated()).unwrap();
        placement.check_stages(stages).unwrap();
        placement.stages().iter().map(|stage| stage.threads.clone()).collect()
    }

    /// The four threads of Figure 6: 1 and 4 for big cores, 2 and 3 for little ones.
    fn figure() -> Vec<StageSlots> {
        seats(&[("1", Some("big"), 1), ("2", Some("little"), 1), ("3", Some("little"), 1), ("4", Some("big"), 1)])
    }

    #[test]
    fn the_policies_are_those_of_the_paper() {
        let all = vec![vec![1, 2, 3, 4, 5, 6, 7, 8]];
        let (big, little) = (vec![vec![1, 2, 5, 6]], vec![vec![3, 4, 7, 8]]);
        assert_eq!(places("loose", &figure()), vec![all; 4]);
        assert_eq!(places("dynamic", &figure()), places("loose", &figure()));
        assert_eq!(places("guided", &figure()), [big.clone(), little.clone(), little, big]);
        let each = |cores: [usize; 4]| cores.map(|core| vec![vec![core]]).to_vec();
        assert_eq!(places("packed", &figure()), each([1, 3, 4, 2]));
        assert_eq!(places("distant", &figure()), each([1, 3, 7, 5]));
    }

    #[test]
    fn threads_without_a_core_of_their_own_share() {
        let mut stages = seats(&[("a", Some("little"), 3), ("b", Some("little"), 2)]);
        assert_eq!(places("packed", &stages), [vec![vec![3], vec![3], vec![4]], vec![vec![7], vec![8]]]);
        assert_eq!(places("distant", &stages), [vec![vec![3], vec![7], vec![4]], vec![vec![8], vec![3]]]);
        let cores = |threads| -> Vec<usize> {
            places("packed", &seats(&[("a", None, threads)]))[0].iter().map(|threads| threads[0]).collect()
        };
        assert_eq!(cores(8), [1, 2, 5, 6, 3, 4, 7, 8], "big cores first");
        assert_eq!(cores(10), [1, 2, 5, 6, 3, 4, 7, 8, 1, 2]);
        stages = seats(&[("a", Some("little"), 1), ("b", Some("little"), 4), ("c", Some("little"), 1)]);
        let each = [vec![3], vec![4], vec![7], vec![8]];
        let placed = |stages: &[StageSlots]| places("packed", stages);
        assert_eq!(placed(&stages), [vec![vec![3]], [each[2..].to_vec(), each[..2].to_vec()].concat(), vec![vec![4]]]);
        for (stage, planned) in stages.iter_mut().zip([10, 50, 20]) {
            stage.planned_ns = Some(planned);
        }
        assert_eq!(
            [0, 2].map(|stage| placed(&stages)[stage].clone()),
            [vec![vec![4]], vec![vec![3]]],
            "the longer first"
        );
    }

    #[test]
    fn lanes_of_an_emulated_device_keep_off_the_cores_of_stages() {
        let on = |cores: usize| seats(&[("a", Some("big"), cores), ("b", Some("gpu"), 2), ("c", Some("little"), 1)]);
        let placed = |policy: &str, cores, device: DeviceSpec| {
            let machine = illustrated().with_device(device).unwrap();
            let placement = policy.parse::<Policy>().unwrap().place(&machine, &on(cores)).unwrap();
            placement.stages()[1].threads.clone()
        };
        let emulated = || DeviceSpec { backend: None, ..DeviceSpec::of_backend("", "gpu") };
        assert_eq!(placed("packed", 3, emulated()), vec![vec![4, 6, 7, 8]; 2]);
        assert_eq!(placed("guided", 3, emulated()), vec![vec![1, 2, 3, 4, 5, 6, 7, 8]; 2], "no core is free");
        assert_eq!(placed("packed", 3, DeviceSpec::of_backend("own", "gpu")), vec![vec![1, 2, 3, 4, 5, 6, 7, 8]; 2]);
    }

    #[test]
    fn lanes_of_an_emulated_device_share_the_cores_of_the_stage_that_has_least_to_do() {
        let device = DeviceSpec { backend: None, ..DeviceSpec::of_backend("", "gpu") };
        let machine = illustrated().with_device(device).unwrap();
        let mut stages =
            seats(&[("a", Some("big"), 4), ("b", Some("gpu"), 2), ("c", Some("little"), 3), ("d", Some("little"), 1)]);
        let lanes = |stages: &[StageSlots]| Policy::Packed.place(&machine, stages).unwrap().stages()[1].threads.clone();
        for (stage, planned) in stages.iter_mut().zip([50, 10, 30, 40]) {
            stage.planned_ns = Some(planned);
        }
        assert_eq!(lanes(&stages), vec![vec![3, 4, 7]; 2]);
        stages[3].planned_ns = Some(20);
        assert_eq!(lanes(&stages), vec![vec![8]; 2]);
    }

    #[test]
    fn a_kind_that_is_not_there_is_named() {
        let stages = seats(&[("a", Some("huge"), 1)]);
        let error = Policy::Packed.place(&illustrated(), &stages).unwrap_err().to_string();
        assert!(error.contains("stage `a`") && error.contains("`huge`") && error.contains("big, little"), "{error}");
        // As it advises, and where kinds are found out in the run.
        for policy in [Policy::Loose, Policy::Dynamic] {
            policy.place(&illustrated(), &stages).unwrap();
        }
    }
}

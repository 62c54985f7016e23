//! The shortest period where stages may share cores, for where that is shorter than with a core for each replica.

use std::collections::BTreeMap;

use super::work::{Work, run_starts};
use super::{Capabilities, Exact, Strategy, given_cores};
use crate::error::{Error, ErrorKind};
use crate::period::Period;
use crate::platform::Platform;
use crate::profile::Profile;
use crate::schedule::{Schedule, Stage};

/// The part of the time that each replica works at most where cores are shared, if there are enough of these: its thread waits for those
/// that it shares a core with.
const MOST_OF_PERIOD: f64 = 0.5;
/// How many loads of the cores are compared at most: about a second.
const MOST_STEPS: usize = 1 << 29;

/// The shortest period where several stages may share cores; the schedule of [`Exact`](struct@Exact) where none is shorter.
///
/// Where a task that may not be replicated has little work, a core of its own is wasted on it, and sharing a core with the tasks beside it
/// would keep these from being replicated. Here its thread shares cores with others, and replicas take what time is left: frames go to
/// the replica that is free, and there are so many that each works for half of the time at most. The operating system divides the time of the
/// cores ([`is_oversubscribed`](Schedule::is_oversubscribed)); to go from one thread to another costs these what the profile
/// [says](Profile::with_switch_ns).
///
/// ```
/// use bief_schedule::strategy::{Exact, Shared};
/// use bief_schedule::{Period, Platform, Profile, Stage, Strategy, TaskProfile};
///
/// let tasks = [
///     TaskProfile::sequential("read", [100]),
///     TaskProfile::replicable("decode", [1000]),
///     TaskProfile::sequential("write", [100]),
/// ];
/// let profile = Profile::new(["cpu"], tasks)?;
/// let platform = Platform::parse_cores("2", &profile)?;
/// assert_eq!(Exact.schedule(&profile, &platform)?.planned_period(), Period::from(1100));
/// let shared = Shared.schedule(&profile, &platform)?;
/// assert_eq!(shared.planned_period(), Period::from(600));
/// assert_eq!(shared.stages(), [Stage::new(1, 1, "cpu"), Stage::new(1, 2, "cpu"), Stage::new(1, 1, "cpu")]);
/// # Ok::<(), bief_schedule::Error>(())
/// ```
///
/// # Why the answer is right
///
/// Where cores are shared, a change of threads is work of each stage, and the period is the greatest of two numbers: the longest work `L` of a
/// stage that may not be replicated, and the work on the cores of a kind, divided by their number. Replicas never limit it otherwise: with as
/// many as there are cores, a stage takes no longer than its kind does with all its work. For a limit of `L`, the least that the second can be is `g(L)`, which falls as `L` grows: it
/// follows from the loads of the kinds that the first tasks can have, of which those are kept that no other is below. So the shortest period
/// is at one of two limits among the works of stages: the least `L` that is no less than `g(L)`, or the one before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Shared;

impl Strategy for Shared {
    fn name(&self) -> &'static str {
        "shared"
    }

    fn summary(&self) -> &'static str {
        "The shortest period where stages may share cores, if that is shorter than `exact`'s."
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities { max_kinds: 4, absent_times: true, cut_costs: true, ..Capabilities::default() }
    }

    fn schedule(&self, profile: &Profile, platform: &Platform) -> Result<Schedule, Error> {
        let given = given_cores(self, profile, platform)?;
        let alone = Exact.schedule(profile, platform);
        let longest = alone.as_ref().map_or(Period::from(u64::MAX), Schedule::planned_period);
        if let Some(stages) = Chain::new(&profile.while_sharing(), &given, longest).shortest()? {
            let shared = self.sharing(profile, &given, &stages)?;
            if shared.planned_period() < longest {
                return Ok(shared);
            }
        }
        let alone = alone?;
        Schedule::new(self.name(), alone.stages().to_vec(), profile)?.with_front(alone.front().to_vec())
    }
}

impl Shared {
    /// The schedule of these stages.
    fn sharing(&self, profile: &Profile, given: &[(usize, u32)], stages: &[(usize, usize)]) -> Result<Schedule, Error> {
        let kinds = profile.kinds();
        let cores: BTreeMap<_, _> = given.iter().map(|&(kind, cores)| (kinds[kind].clone(), cores)).collect();
        let with = |replicas: &dyn Fn(usize, usize, usize) -> u32| {
            let mut from = 0;
            let stages: Vec<Stage> = stages
                .iter()
                .map(|&(to, at)| {
                    let first = std::mem::replace(&mut from, to);
                    let is_replicable = profile.tasks()[first..to].iter().all(|task| task.replicable);
                    let replicas = if is_replicable { replicas(first, to, at) } else { 1 };
                    Stage::new(to - first, replicas, kinds[given[at].0].as_str())
                })
                .collect();
            Schedule::sharing(self.name(), stages, &cores, profile)
        };
        // On as many cores as there are, for the period; then on as few as keep it, and where these are shared, have time to wait
        // for others.
        let period = with(&|_, _, at| given[at].1)?.planned_period();
        let sharing = profile.while_sharing();
        let on_few = |is_enough: &dyn Fn(Period) -> bool| {
            with(&|from, to, at| {
                let (kind, cores) = given[at];
                let keeps = |&replicas: &u32| sharing.stage_period(from..to, replicas, kind).is_some_and(is_enough);
                (1..=cores).find(keeps).unwrap_or(cores)
            })
        };
        let fewest = on_few(&|own| own <= period)?;
        match fewest.is_oversubscribed() {
            true => on_few(&|own| own.ns() <= MOST_OF_PERIOD * period.ns()),
            false => Ok(fewest),
        }
    }
}

/// The stages of a chain: where each ends, and the position of its kind among those given.
type Stages = Vec<(usize, usize)>;

/// The chain and the kinds of core.
struct Chain<'a> {
    works: Vec<Work<'a>>,
    cores: Vec<u32>,
    run_starts: Vec<usize>,
    /// Only shorter periods are wanted.
    longest: Period,
    /// What each kind can do at most in the longest period.
    most_ns: Vec<u64>,
    /// Comparisons of loads that are left.
    steps: usize,
}

/// How busy the first tasks keep each kind, and their last stage: where it begins, its kind, and the load before it.
#[derive(Clone)]
struct Load {
    ns: Vec<u64>,
    stages: usize,
    from: usize,
    kind: usize,
    before: usize,
}

impl<'a> Chain<'a> {
    /// Of which a period below `longest` is wanted.
    fn new(profile: &'a Profile, given: &[(usize, u32)], longest: Period) -> Self {
        let most_ns = |&(_, cores): &(usize, u32)| u64::try_from(longest.times(cores.into()).0).unwrap_or(u64::MAX);
        Self {
            most_ns: given.iter().map(most_ns).collect(),
            longest,
            steps: MOST_STEPS,
            works: given.iter().map(|&(kind, _)| Work::with_cuts(profile, kind)).collect(),
            cores: given.iter().map(|&(_, cores)| cores).collect(),
            run_starts: run_starts(profile),
        }
    }

    fn tasks(&self) -> usize {
        self.run_starts.len() - 1
    }

    fn is_replicable(&self, from: usize, to: usize) -> bool {
        from >= self.run_starts[to]
    }

    /// The stages of the shortest period; `None` where there is none as short as wanted.
    fn shortest(&mut self) -> Result<Option<Stages>, Error> {
        let limits = self.limits();
        // The first limit that is no less than what the cores have to do.
        let (mut low, mut high) = (0, limits.len());
        let mut best: Option<(Period, Stages)> = None;
        while low < high {
            let middle = low.midpoint(high);
            let found = self.least_load(limits[middle])?;
            let load = found.as_ref().map(|(load, _)| *load);
            if let Some((load, stages)) = found {
                let period = load.max(Period::from(self.longest_sequential(&stages)));
                if best.as_ref().is_none_or(|(best, _)| period < *best) {
                    best = Some((period, stages));
                }
            }
            if load.is_some_and(|load| load <= Period::from(limits[middle])) { high = middle } else { low = middle + 1 }
        }
        Ok(best.map(|(_, stages)| stages))
    }

    /// The works of stages that may not be replicated, as far as they are short enough, and 0, ascending.
    fn limits(&self) -> Vec<u64> {
        let mut limits = vec![0];
        for work in &self.works {
            for to in 1..=self.tasks() {
                let from = work.runnable_from(to)..self.run_starts[to];
                limits.extend(from.map(|from| work.ns(from, to)));
            }
        }
        limits.retain(|&limit| Period::from(limit) < self.longest);
        limits.sort_unstable();
        limits.dedup();
        limits
    }

    fn longest_sequential(&self, stages: &[(usize, usize)]) -> u64 {
        let mut from = 0;
        let sequential = stages.iter().filter_map(|&(to, kind)| {
            let from = std::mem::replace(&mut from, to);
            (!self.is_replicable(from, to)).then(|| self.works[kind].ns(from, to))
        });
        sequential.max().unwrap_or(0)
    }

    /// The least time for which some kind's cores are busy with a frame, where no stage that may not be replicated has more work than
    /// `limit`, and the stages with it, as few as possible.
    fn least_load(&mut self, limit: u64) -> Result<Option<(Period, Stages)>, Error> {
        let none = Load { ns: vec![0; self.works.len()], stages: 0, from: 0, kind: 0, before: 0 };
        let mut ends: Vec<Vec<Load>> = vec![vec![none]];
        for to in 1..=self.tasks() {
            let mut here: Vec<Load> = Vec::new();
            for from in (0..to).rev() {
                let is_replicable = self.is_replicable(from, to);
                for (kind, work) in self.works.iter().enumerate().filter(|(_, work)| work.can_run(from, to)) {
                    let work_ns = work.ns(from, to);
                    if work_ns > limit && !is_replicable {
                        continue;
                    }
                    for (before, load) in ends[from].iter().enumerate() {
                        let mut ns = load.ns.clone();
                        ns[kind] = ns[kind].saturating_add(work_ns);
                        if ns[kind] > self.most_ns[kind] {
                            continue;
                        }
                        self.steps = self.steps.checked_sub(here.len()).ok_or_else(too_many)?;
                        keep(&mut here, Load { ns, stages: load.stages + 1, from, kind, before });
                    }
                }
            }
            ends.push(here);
        }
        let busiest = |load: &Load| {
            let each = load.ns.iter().zip(&self.cores);
            each.map(|(&ns, &cores)| Period::new(ns, cores.into()).expect("a kind has cores"))
                .max()
                .unwrap_or(Period::ZERO)
        };
        let Some(best) = ends[self.tasks()].iter().min_by_key(|load| (busiest(load), load.stages)) else {
            return Ok(None);
        };
        let (mut stages, mut to, mut load) = (Vec::new(), self.tasks(), best);
        while to > 0 {
            stages.push((to, load.kind));
            (to, load) = (load.from, &ends[load.from][load.before]);
        }
        stages.reverse();
        Ok(Some((busiest(best), stages)))
    }
}

fn too_many() -> Error {
    let reason = "the kinds of core can share the work in too many ways: give cores of fewer kinds, or take `exact`";
    Error::new(ErrorKind::Strategy, "strategy `shared`", reason)
}

/// Keeps a load where no other is below it, and drops those that it is below.
fn keep(loads: &mut Vec<Load>, new: Load) {
    let is_below = |one: &Load, other: &Load| {
        one.ns.iter().zip(&other.ns).all(|(one, other)| one <= other)
            && (one.ns != other.ns || one.stages <= other.stages)
    };
    if loads.iter().any(|load| is_below(load, &new)) {
        return;
    }
    loads.retain(|load| !is_below(&new, load));
    loads.push(new);
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::{Exact, Period, Platform, Profile, Schedule, Shared, Stage, Strategy as _};
    use crate::profile::TaskProfile;

    const KINDS: [&str; 3] = ["a", "b", "c"];

    /// The shortest period of all cuts, kinds and numbers of replicas, where cores are shared.
    fn shortest(profile: &Profile, cores: &[u32]) -> Period {
        let (tasks, kinds) = (profile.tasks().len(), cores.len());
        let given: std::collections::BTreeMap<String, u32> =
            KINDS.iter().map(|kind| (*kind).to_owned()).zip(cores.iter().copied()).collect();
        let mut best: Option<Period> = None;
        for cuts in 0..1_u32 << (tasks - 1) {
            let mut lengths = vec![1];
            for task in 0..tasks - 1 {
                if cuts >> task & 1 == 1 { lengths.push(1) } else { *lengths.last_mut().unwrap() += 1 }
            }
            for choice in 0..kinds.pow(lengths.len() as u32) {
                let mut first = 0;
                let stage = |(index, &length): (usize, &usize)| {
                    let kind = choice / kinds.pow(index as u32) % kinds;
                    let tasks = first..first + length;
                    first += length;
                    let is_replicable = profile.tasks()[tasks].iter().all(|task| task.replicable);
                    Stage::new(length, if is_replicable { cores[kind] } else { 1 }, KINDS[kind])
                };
                let stages: Vec<Stage> = lengths.iter().enumerate().map(stage).collect();
                if let Ok(schedule) = Schedule::sharing("brute", stages, &given, profile) {
                    best = Some(best.map_or(schedule.planned_period(), |best| best.min(schedule.planned_period())));
                }
            }
        }
        best.unwrap()
    }

    type Case = (Vec<(bool, [u64; 3], [u64; 2])>, Vec<u32>, [u64; 2]);

    fn cases(kinds: usize) -> impl Strategy<Value = Case> {
        let (tasks, cores) = [(7, 4_u32), (5, 3), (4, 2)][kinds - 1];
        let task = (any::<bool>(), [1..200_u64, 1..300, 1..400], [0..60_u64, 0..60]);
        (vec(task, 1..=tasks), vec(1..=cores, kinds), [0..30_u64, 0..30])
    }

    fn check((tasks, cores, [sync_ns, switch_ns]): &Case) -> Result<(), TestCaseError> {
        let kinds = cores.len();
        let tasks = tasks.iter().map(|(replicable, ns, [enter, leave])| {
            let task = TaskProfile { replicable: *replicable, ..TaskProfile::sequential("t", ns[..kinds].to_vec()) };
            task.with_cut_ns(vec![*enter; kinds], vec![*leave; kinds])
        });
        let profile = Profile::new(KINDS[..kinds].iter().copied(), tasks).unwrap();
        let profile = profile.with_sync_ns(vec![*sync_ns; kinds]).unwrap();
        let profile = profile.with_switch_ns(vec![*switch_ns; kinds]).unwrap();
        let each: Vec<String> = KINDS.iter().zip(cores).map(|(kind, cores)| format!("{kind}={cores}")).collect();
        let platform = Platform::parse_cores(&each.join(","), &profile).unwrap();
        let found = Shared.schedule(&profile, &platform).unwrap();
        found.check(&profile, &platform).unwrap();
        prop_assert_eq!(found.period(&profile).unwrap(), found.planned_period());
        let alone = Exact.schedule(&profile, &platform).unwrap();
        prop_assert_eq!(found.planned_period(), shortest(&profile, cores).min(alone.planned_period()));
        // Where nothing is gained nothing is shared.
        prop_assert_eq!(found.planned_period() < alone.planned_period(), found.stages() != alone.stages());
        Ok(())
    }

    /// Where one kind is shared, and the other has a single stage that takes the whole period.
    #[test]
    fn a_stage_beside_those_that_share_cores_has_a_change_of_threads_too() {
        let tasks = [
            (false, [1, 88, 1], [0, 0]),
            (false, [23, 89, 1], [1, 53]),
            (false, [18, 226, 1], [23, 0]),
            (false, [151, 152, 1], [40, 39]),
            (false, [40, 201, 1], [30, 0]),
        ];
        check(&(tasks.to_vec(), vec![2, 2], [0, 1])).unwrap();
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(128))]

        #[test]
        fn on_one_kind_nothing_is_shorter(case in cases(1)) {
            check(&case)?;
        }

        #[test]
        fn on_two_kinds_nothing_is_shorter(case in cases(2)) {
            check(&case)?;
        }

        #[test]
        fn on_three_kinds_nothing_is_shorter(case in cases(3)) {
            check(&case)?;
        }
    }
}

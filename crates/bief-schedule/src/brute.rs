//! Exhaustive search, slow and plain: what the strategies are tested against.

use std::ops::Range;

use crate::period::Period;
use crate::profile::Profile;
use crate::schedule::Stage;
use crate::strategy::StageKinds;

/// The best that any schedule reaches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Optimum {
    pub(crate) period: Period,
    /// The Pareto-least numbers of cores per kind that reach the period, in lexicographic order.
    pub(crate) front: Vec<Vec<u32>>,
    /// For each point of the front, the fewest stages.
    pub(crate) fewest_stages: Vec<usize>,
}

/// Tries every cut of the chain, and for each every allocation of the cores; `None` where no schedule is possible, as tasks
/// cannot run where there are cores.
pub(crate) fn optimum_if_any(profile: &Profile, cores: &[u32], stages: StageKinds) -> Option<Optimum> {
    let mut found = Vec::new();
    let empty = Partial { period: Period::ZERO, used: vec![0; cores.len()], stages: 0 };
    extend(profile, cores, stages, 0, &empty, &mut found);
    let period = found.iter().map(|partial| partial.period).min()?;
    found.retain(|partial| partial.period == period);
    let dominates = |a: &[u32], b: &[u32]| a != b && a.iter().zip(b).all(|(a, b)| a <= b);
    let mut front: Vec<Vec<u32>> = found
        .iter()
        .map(|partial| partial.used.clone())
        .filter(|used| !found.iter().any(|other| dominates(&other.used, used)))
        .collect();
    front.sort();
    front.dedup();
    let fewest = |used: &Vec<u32>| {
        let stages = found.iter().filter(|partial| partial.used == *used).map(|partial| partial.stages);
        stages.min().expect("the point was found")
    };
    Some(Optimum { period, fewest_stages: front.iter().map(fewest).collect(), front })
}

/// The same for a chain that can run on the cores, where each stage has one kind.
pub(crate) fn optimum(profile: &Profile, cores: &[u32]) -> Optimum {
    optimum_if_any(profile, cores, StageKinds::One).expect("every task can run on every kind")
}

/// The stages of every schedule there is, wasteful ones included.
pub(crate) fn schedules(profile: &Profile, cores: &[u32], stages: StageKinds) -> Vec<Vec<Stage>> {
    let mut found = Vec::new();
    extend_stages(profile, cores, stages, 0, &mut Vec::new(), &mut found);
    found
}

/// Every number of cores of each kind that a stage may have, of those that are left.
fn allocations(
    profile: &Profile,
    left: &[u32],
    tasks: Range<usize>,
    replicable: bool,
    stages: StageKinds,
) -> Vec<Vec<u32>> {
    let mut all: Vec<Vec<u32>> = vec![Vec::new()];
    for (kind, &left) in left.iter().enumerate() {
        let most = if work(profile, tasks.clone(), kind).is_some() { left } else { 0 };
        let with = |cores: Vec<u32>| (0..=most).map(move |more| [&cores[..], &[more]].concat());
        all = all.into_iter().flat_map(with).collect();
    }
    all.retain(|cores| {
        let kinds = cores.iter().filter(|&&cores| cores > 0).count();
        let device = cores.iter().enumerate().any(|(kind, &cores)| cores > 0 && profile.lanes(kind).is_some());
        let may_share = stages == StageKinds::Mixed && !device;
        kinds > 0 && (kinds == 1 || may_share) && (replicable || cores.iter().sum::<u32>() == 1)
    });
    all
}

fn extend_stages(
    profile: &Profile,
    left: &[u32],
    stages: StageKinds,
    from: usize,
    before: &mut Vec<Stage>,
    found: &mut Vec<Vec<Stage>>,
) {
    if from == profile.tasks().len() {
        found.push(before.clone());
        return;
    }
    for to in from + 1..=profile.tasks().len() {
        let replicable = profile.tasks()[from..to].iter().all(|task| task.replicable);
        for cores in allocations(profile, left, from..to, replicable, stages) {
            let rest: Vec<u32> = left.iter().zip(&cores).map(|(left, cores)| left - cores).collect();
            let named = profile.kinds().iter().zip(&cores).filter(|&(_, &cores)| cores > 0);
            before.push(Stage::mixed(to - from, named.map(|(kind, &cores)| (kind.as_str(), cores))));
            extend_stages(profile, &rest, stages, to, before, found);
            before.pop();
        }
    }
}

/// The time from one execution of a stage to the next on one core or device; `None` where one of its tasks cannot run on the kind.
pub(crate) fn pace(profile: &Profile, tasks: Range<usize>, kind: usize) -> Option<u64> {
    let work = work(profile, tasks.clone(), kind)?;
    let chain = profile.tasks();
    let lanes = profile.lanes(kind).filter(|_| chain[tasks.clone()].iter().all(|task| task.replicable));
    let own: u64 = chain[tasks.clone()].iter().filter_map(|task| task.ns[kind]).sum();
    let enter = profile.enter_ns(tasks.start, kind);
    let leave = work - own - enter - profile.sync_ns(kind);
    Some(match lanes {
        None => work,
        Some(lanes) if profile.overlaps(kind) => work.div_ceil(lanes.into()),
        Some(lanes) => [enter, own, leave, work.div_ceil(lanes.into())].into_iter().max()?,
    })
}

/// The work of a stage, added up; `None` where one of its tasks cannot run on the kind.
pub(crate) fn work(profile: &Profile, tasks: Range<usize>, kind: usize) -> Option<u64> {
    let chain = profile.tasks();
    let times: Option<Vec<u64>> = chain[tasks.clone()].iter().map(|task| task.ns[kind]).collect();
    let of_kind = |ns: &Option<Vec<u64>>| ns.as_ref().map_or(0, |ns| ns[kind]);
    let enter = if tasks.start > 0 { of_kind(&chain[tasks.start].enter_ns) } else { 0 };
    let leave = if tasks.end < chain.len() { of_kind(&chain[tasks.end - 1].leave_ns) } else { 0 };
    Some(times?.iter().sum::<u64>() + profile.sync_ns(kind) + enter + leave)
}

/// The period of a stage, as all of its cores would have it in the time in which each of them does a whole number of executions.
fn stage_period(profile: &Profile, tasks: Range<usize>, cores: &[u32]) -> Period {
    let used = || (0..cores.len()).filter(|&kind| cores[kind] > 0);
    let works: Vec<u128> =
        used().map(|kind| pace(profile, tasks.clone(), kind).expect("the stage runs there").into()).collect();
    if works.contains(&0) {
        return Period::ZERO;
    }
    let time: u128 = works.iter().product();
    let done = used().zip(&works).map(|(kind, work)| u128::from(cores[kind]) * (time / work)).sum();
    Period::wide(time, done).unwrap()
}

#[derive(Clone)]
struct Partial {
    period: Period,
    used: Vec<u32>,
    stages: usize,
}

fn extend(
    profile: &Profile,
    cores: &[u32],
    stages: StageKinds,
    from: usize,
    before: &Partial,
    found: &mut Vec<Partial>,
) {
    if from == profile.tasks().len() {
        found.push(before.clone());
        return;
    }
    for to in from + 1..=profile.tasks().len() {
        let tasks = &profile.tasks()[from..to];
        let replicable = tasks.iter().all(|task| task.replicable);
        let left: Vec<u32> = cores.iter().zip(&before.used).map(|(cores, used)| cores - used).collect();
        for own in allocations(profile, &left, from..to, replicable, stages) {
            let mut with = before.clone();
            with.period = with.period.max(stage_period(profile, from..to, &own));
            with.used.iter_mut().zip(&own).for_each(|(used, own)| *used += own);
            with.stages += 1;
            extend(profile, cores, stages, to, &with, found);
        }
    }
}

/// The shortest period on `cores` cores of one kind, straight from the recurrence (eq. 4); for chains that
/// are too long to try everything.
pub(crate) fn shortest_period(profile: &Profile, kind: usize, cores: u32) -> Period {
    let tasks = profile.tasks();
    // shortest[to][c]: for the first `to` tasks on at most c cores; None where there is no way.
    let mut shortest = vec![vec![Some(Period::ZERO); cores as usize + 1]];
    for to in 1..=tasks.len() {
        let mut row = vec![None; cores as usize + 1];
        for from in 0..to {
            let Some(work) = work(profile, from..to, kind) else { continue };
            let replicable = tasks[from..to].iter().all(|task| task.replicable);
            for given in 1..=cores as usize {
                for stage_cores in 1..=if replicable { given } else { 1 } {
                    let Some(before) = shortest[from][given - stage_cores] else {
                        continue;
                    };
                    let period = before.max(Period::new(work, stage_cores as u64).unwrap());
                    row[given] = Some(row[given].map_or(period, |best: Period| best.min(period)));
                }
            }
        }
        shortest.push(row);
    }
    shortest[tasks.len()][cores as usize].expect("one core runs any chain")
}

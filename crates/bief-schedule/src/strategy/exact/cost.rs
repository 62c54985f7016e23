//! Schedules that fit in a period, with what they cost besides cores: energy, and latency.
//!
//! Both add up over the stages, and neither depends on how many replicas of one kind share a stage's work; so each stage of one
//! kind gets the fewest cores that fit. Longest stages no longer suffice: a shorter one may be cheaper on another kind. Every stage
//! that fits is tried, for every number of cores used so far, and of the schedules that use the same cores those are kept that no
//! other beats in all that is wanted.
//!
//! Where kinds share a stage in proportion to their speeds, its energy is the mean of what it costs on each, weighed by the frames
//! that each takes. One core less of a kind on which it costs no less than this mean is no dearer, and no later: stages are tried on
//! all cores with which they would not fit without such a core. Their energy is no whole number, and is rounded up to one: by
//! less than 10^-15 J.

use std::cell::Cell;

use super::candidates::Fewest;
use super::instance::{Candidate, Instance, MAX_KINDS, VALUE, Works, fraction};
use super::search::Refused;
use crate::load::waiting_ns;
use crate::period::Period;

/// The most schedules of first tasks that are kept, over all ends: about 300 MiB.
const MAX_KEPT: usize = 1 << 22;

/// What counts, besides cores.
#[derive(Debug, Clone)]
pub(super) struct Prices {
    /// For each kind of the instance, the price of a busy core; all 0 where energy does not count. It is what the core draws,
    /// in microwatts, unless the kind saturates.
    pub(super) of_kinds: Vec<u64>,
    /// Whether latency counts.
    pub(super) latency: bool,
    /// The most latency that is of use, in nanoseconds.
    pub(super) latency_at_most: u64,
    /// The pace at which executions come, where one is demanded: they may wait for kinds that share a stage.
    pub(super) pace: Option<Period>,
    /// The most energy of one execution that is of use, as prices times nanoseconds.
    pub(super) energy_at_most: u128,
    /// Whether it counts that a stage takes the whole period.
    pub(super) full: bool,
}

/// The last stage of a schedule of the first tasks, and what all of it costs.
#[derive(Debug, Clone, Copy)]
pub(super) struct Costed {
    /// The energy of one execution above idle, as prices times nanoseconds.
    pub(super) energy: u128,
    /// The sum of the stages' works, in nanoseconds.
    pub(super) latency_ns: u64,
    pub(super) stages: u32,
    /// Whether a stage takes the whole period.
    pub(super) full: bool,
    last: Candidate,
    /// The schedule without its last stage.
    before: u32,
}

/// The schedules of the first tasks that are worth keeping, for every end.
pub(super) struct Costs {
    kept: Vec<Costed>,
    boxes: Vec<CostBox>,
}

/// For one end, the schedules by the cores that they use along each axis.
struct CostBox {
    extent: [usize; MAX_KINDS],
    /// Where the schedules for each number of cores begin, and after the last where they end.
    starts: Vec<u32>,
}

impl CostBox {
    fn index(&self, used: [usize; MAX_KINDS]) -> usize {
        used.iter().zip(&self.extent).fold(0, |index, (used, extent)| index * extent + used)
    }

    fn used(&self, mut index: usize) -> [usize; MAX_KINDS] {
        let mut used = [0; MAX_KINDS];
        for (used, extent) in used.iter_mut().zip(&self.extent).rev() {
            *used = index % extent;
            index /= extent;
        }
        used
    }
}

impl Costs {
    /// All schedules of the chain that fit in the period, but for those that another beats; `steps` is how many schedules of
    /// first tasks may be tried, and is lowered by how many were.
    pub(super) fn new(
        instance: &Instance,
        period: Period,
        prices: &Prices,
        steps: &Cell<u64>,
    ) -> Result<Self, Refused> {
        let nothing = Candidate { from: 0, cores: [0; MAX_KINDS] };
        let empty = Costed { energy: 0, latency_ns: 0, stages: 0, full: false, last: nothing, before: 0 };
        let mut costs = Self { kept: vec![empty], boxes: vec![CostBox { extent: [1; MAX_KINDS], starts: vec![0, 1] }] };
        let rest = Rest::new(instance, prices);
        // No schedule uses more cores of a kind than one that makes a stage of every task.
        let mut most = [0usize; MAX_KINDS];
        let mut tried = Vec::new();
        for to in 1..=instance.tasks() {
            for kind in instance.kinds().iter().filter(|kind| kind.work.can_run(to - 1, to)) {
                let cores = cores_for(kind.work.ns(to - 1, to), period).unwrap_or(kind.cores);
                most[kind.axis] = most[kind.axis].saturating_add(cores).min(kind.cores);
            }
            let extent = most.map(|most| most + 1);
            let size =
                extent.iter().try_fold(1usize, |size, &extent| size.checked_mul(extent)).ok_or(Refused::TooLarge)?;
            if size > MAX_KEPT {
                return Err(Refused::TooLarge);
            }
            let stages = last_stages(instance, period, prices, to, steps)?;
            let mut here = CostBox { extent, starts: Vec::with_capacity(size + 1) };
            for index in 0..size {
                here.starts.push(costs.kept.len() as u32);
                let used = here.used(index);
                for stage in &stages {
                    costs.extend(prices, used, stage, &mut tried);
                }
                let left = steps.get().checked_sub((stages.len() + tried.len()) as u64).ok_or(Refused::TooLarge)?;
                steps.set(left);
                tried.retain(|schedule| rest.may_meet(schedule, to, prices));
                keep_unbeaten(&mut tried, &mut costs.kept);
                if costs.kept.len() > MAX_KEPT {
                    return Err(Refused::TooLarge);
                }
            }
            here.starts.push(costs.kept.len() as u32);
            costs.boxes.push(here);
        }
        Ok(costs)
    }

    /// Adds to `tried` what the stage makes of the schedules before it, where all together use so many cores.
    fn extend(&self, prices: &Prices, mut used: [usize; MAX_KINDS], stage: &LastStage, tried: &mut Vec<Costed>) {
        for (used, &cores) in used.iter_mut().zip(&stage.candidate.cores) {
            let Some(before_it) = used.checked_sub(usize::from(cores)) else { return };
            *used = before_it;
        }
        let before = &self.boxes[stage.candidate.from as usize];
        if used.iter().zip(&before.extent).any(|(used, extent)| used >= extent) {
            return;
        }
        let index = before.index(used);
        for before in before.starts[index]..before.starts[index + 1] {
            let schedule = &self.kept[before as usize];
            tried.push(Costed {
                energy: schedule.energy + stage.energy,
                latency_ns: if prices.latency { schedule.latency_ns.saturating_add(stage.latency_ns) } else { 0 },
                stages: schedule.stages + 1,
                full: schedule.full || stage.full,
                last: stage.candidate,
                before,
            });
        }
    }

    /// The schedules of the whole chain: the cores that each uses along each axis, and what it costs.
    pub(super) fn schedules(&self) -> impl Iterator<Item = ([usize; MAX_KINDS], &Costed)> {
        let last = &self.boxes[self.boxes.len() - 1];
        last.starts.windows(2).enumerate().flat_map(move |(index, ends)| {
            let used = last.used(index);
            self.kept[ends[0] as usize..ends[1] as usize].iter().map(move |schedule| (used, schedule))
        })
    }

    /// The stages of a schedule: where each ends, the first stage first.
    pub(super) fn stages(&self, schedule: &Costed) -> Vec<(usize, Candidate)> {
        let mut to = self.boxes.len() - 1;
        let mut schedule = schedule;
        let mut stages = Vec::new();
        while to > 0 {
            stages.push((to, schedule.last));
            to = schedule.last.from as usize;
            schedule = &self.kept[schedule.before as usize];
        }
        stages.reverse();
        stages
    }
}

/// A stage that ends where schedules are being extended.
struct LastStage {
    candidate: Candidate,
    latency_ns: u64,
    energy: u128,
    /// Whether it takes the whole period.
    full: bool,
}

/// All stages that end at `to` and fit in the period, each on the fewest cores of one kind, or on cores of several of which none
/// can be spared without a loss.
fn last_stages(
    instance: &Instance,
    period: Period,
    prices: &Prices,
    to: usize,
    steps: &Cell<u64>,
) -> Result<Vec<LastStage>, Refused> {
    let mut stages = Vec::new();
    for (index, kind) in instance.kinds().iter().enumerate() {
        for from in (kind.work.runnable_from(to)..to).rev() {
            let work_ns = kind.work.ns(from, to);
            let fits = |cores: usize| cores <= kind.cores && (cores == 1 || from >= instance.run_start(to));
            let Some(cores) = cores_for(work_ns, period).filter(|&cores| fits(cores)) else {
                // A longer one fits only where it costs less to cut there.
                if instance.cuts_cost() {
                    continue;
                }
                break;
            };
            stages.push(LastStage {
                candidate: Candidate::of_one(from, kind.axis, cores),
                latency_ns: kind.work.latency_ns(from, to),
                energy: u128::from(work_ns) * u128::from(prices.of_kinds[index]),
                full: prices.full && is_full(work_ns, cores, period),
            });
        }
    }
    if instance.mixes() {
        mixed_last_stages(instance, period, prices, to, steps, &mut stages)?;
    }
    Ok(stages)
}

/// Those on cores of several kinds.
fn mixed_last_stages(
    instance: &Instance,
    period: Period,
    prices: &Prices,
    to: usize,
    steps: &Cell<u64>,
    stages: &mut Vec<LastStage>,
) -> Result<(), Refused> {
    let mut fewest = Fewest::default();
    for from in (instance.run_start(to)..to).rev() {
        let works = instance.shareable(instance.works(from, to));
        let mut entries = 0;
        let fits = fewest.find(instance, &works, period, &mut entries)?;
        steps.set(steps.get().checked_sub(entries).ok_or(Refused::TooLarge)?);
        if !fits {
            // A longer one fits only where it costs less to cut there.
            if instance.cuts_cost() {
                continue;
            }
            break;
        }
        for [i, j, k] in fewest.all_cores() {
            let Some(least) = fewest.get([i, j, k]) else { continue };
            let most = if works[VALUE].is_some() { instance.cores()[VALUE] } else { least };
            for cores in (least..=most).map(|last| [i, j, k, last]) {
                if dear_axes(instance, prices, &works, cores).any(|axis| fits_without(&fewest, cores, axis)) {
                    // With more along the last axis, too.
                    break;
                }
                let candidate = Candidate { from: from as u32, cores: cores.map(|cores| cores as u16) };
                if candidate.axis().is_none() {
                    stages.push(mixed_stage(instance, period, prices, (candidate, to))?);
                }
            }
        }
    }
    Ok(())
}

fn mixed_stage(
    instance: &Instance,
    period: Period,
    prices: &Prices,
    (candidate, to): (Candidate, usize),
) -> Result<LastStage, Refused> {
    let own = instance.period_of(to, &candidate).ok_or(Refused::TooLong)?;
    let works = instance.works(candidate.from as usize, to);
    let used = works.iter().zip(&candidate.cores).filter(|&(_, &cores)| cores > 0);
    let slowest_ns = used.filter_map(|(&work, _)| work).max().expect("the stage has cores");
    let waiting_ns = prices.pace.map_or(0, |pace| waiting_ns(slowest_ns, pace));
    let price = instance
        .kinds()
        .iter()
        .zip(&prices.of_kinds)
        .map(|(kind, price)| u64::from(candidate.cores[kind.axis]).saturating_mul(*price));
    let (energy, more) = own.times(price.fold(0, u64::saturating_add));
    Ok(LastStage {
        candidate,
        latency_ns: slowest_ns.saturating_add(waiting_ns),
        energy: energy + u128::from(more),
        full: prices.full && own == period,
    })
}

/// The axes of cores on which the stage costs no less than on all of its cores together, or nothing: of which one less is no loss
/// if it fits without.
fn dear_axes(
    instance: &Instance,
    prices: &Prices,
    works: &Works,
    cores: [usize; MAX_KINDS],
) -> impl Iterator<Item = usize> + use<> {
    let mut energies = [None; MAX_KINDS];
    let (mut power, mut speed) = (0.0, 0.0);
    for (kind, &price) in instance.kinds().iter().zip(&prices.of_kinds) {
        if let (Some(work), 1..) = (works[kind.axis], cores[kind.axis]) {
            energies[kind.axis] = Some(work as f64 * price as f64);
            power += cores[kind.axis] as f64 * price as f64;
            speed += cores[kind.axis] as f64 / work as f64;
        }
    }
    // Where rounding leaves a doubt, the core is kept: that is only one more stage to try.
    let mean = power / speed * (1.0 + 1e-9);
    (0..MAX_KINDS).filter(move |&axis| energies[axis].is_some_and(|energy| energy >= mean))
}

/// Whether one core less along the axis is enough.
fn fits_without(fewest: &Fewest, [i, j, k, last]: [usize; MAX_KINDS], axis: usize) -> bool {
    let mut cores = [i, j, k];
    if axis == VALUE {
        return fewest.get(cores).is_some_and(|least| least < last);
    }
    cores[axis] -= 1;
    fewest.get(cores).is_some_and(|least| least <= last)
}

/// For each end, the least that the tasks after it cost, each on the kind that suits it best, of those on which it can run.
struct Rest {
    energy: Vec<u128>,
    latency_ns: Vec<u64>,
}

impl Rest {
    fn new(instance: &Instance, prices: &Prices) -> Self {
        let tasks = instance.tasks();
        let (mut energy, mut latency_ns) = (vec![0; tasks + 1], vec![0u64; tasks + 1]);
        for task in (0..tasks).rev() {
            let works = instance.kinds().iter().map(|kind| kind.work.task_ns(task));
            let energies = works.clone().zip(&prices.of_kinds);
            let energies = energies.filter_map(|(ns, &price)| Some(u128::from(ns?) * u128::from(price)));
            energy[task] = energy[task + 1] + energies.min().unwrap_or(0);
            latency_ns[task] = latency_ns[task + 1].saturating_add(works.flatten().min().unwrap_or(0));
        }
        Self { energy, latency_ns }
    }

    /// Whether a schedule of the tasks before `to` may still lead to one of the chain that costs no more than is of use.
    fn may_meet(&self, schedule: &Costed, to: usize, prices: &Prices) -> bool {
        let latency_ns = if prices.latency { schedule.latency_ns.saturating_add(self.latency_ns[to]) } else { 0 };
        latency_ns <= prices.latency_at_most && schedule.energy + self.energy[to] <= prices.energy_at_most
    }
}

/// Moves those of `tried` that no other beats to `kept`: none has less energy and less latency, or the same and fewer stages,
/// unless it lacks the full stage that the other has.
fn keep_unbeaten(tried: &mut Vec<Costed>, kept: &mut Vec<Costed>) {
    tried.sort_unstable_by_key(|schedule| (schedule.energy, schedule.latency_ns, !schedule.full, schedule.stages));
    // The least latency so far, of all and of those with a full stage.
    let (mut min_ns, mut min_full_ns) = (None, None);
    for schedule in tried.drain(..) {
        let best = if schedule.full { min_full_ns } else { min_ns };
        if best.is_some_and(|best| best <= schedule.latency_ns) {
            continue;
        }
        min_ns = Some(min_ns.map_or(schedule.latency_ns, |least: u64| least.min(schedule.latency_ns)));
        if schedule.full {
            min_full_ns = Some(schedule.latency_ns);
        }
        kept.push(schedule);
    }
}

/// The fewest cores that do the work in the period; `None` where no number of them does.
pub(super) fn cores_for(work_ns: u64, period: Period) -> Option<usize> {
    if work_ns == 0 {
        return Some(1);
    }
    let (whole, more) = period.goes_into(work_ns)?;
    usize::try_from(whole).ok()?.checked_add(usize::from(more))
}

fn is_full(work_ns: u64, cores: usize, period: Period) -> bool {
    fraction((work_ns, cores)) == period
}

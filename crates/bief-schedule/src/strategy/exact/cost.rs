//! Schedules that fit in a period, with what they cost besides cores: energy, and latency.
//!
//! Both add up over the stages, and neither depends on how many replicas share a stage's work; so each stage gets the
//! fewest cores that fit. Longest stages no longer suffice: a shorter one may be cheaper on another kind. Every stage that
//! fits is tried, for every number of cores used so far, and of the schedules that use the same cores those are kept that no
//! other beats in all that is wanted.

use super::candidates::Candidate;
use super::instance::{Instance, Kind, MOST_KINDS};
use super::search::TooLarge;
use crate::period::Period;

/// The most schedules of first tasks that are kept, over all ends: about 1.5 GiB.
const MOST_KEPT: usize = 1 << 24;

/// What counts, besides cores.
#[derive(Debug, Clone)]
pub(super) struct Prices {
    /// For each kind of the instance, what a busy core draws, in microwatts; all 0 where energy does not count.
    pub(super) microwatts: Vec<u64>,
    /// Whether latency counts.
    pub(super) latency: bool,
    /// The most latency that is of use, in nanoseconds.
    pub(super) latency_at_most: u64,
    /// Whether it counts that a stage takes the whole period.
    pub(super) full: bool,
}

/// The last stage of a schedule of the first tasks, and what all of it costs.
#[derive(Debug, Clone, Copy)]
pub(super) struct Costed {
    /// The energy of one execution above idle, in microwatts times nanoseconds.
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

impl Costed {
    /// Whether the other is of no use beside this one.
    fn beats(&self, other: &Self) -> bool {
        let no_worse = self.energy <= other.energy && self.latency_ns <= other.latency_ns && self.full >= other.full;
        let equal = (self.energy, self.latency_ns, self.full) == (other.energy, other.latency_ns, other.full);
        no_worse && (!equal || self.stages <= other.stages)
    }
}

/// The schedules of the first tasks that are worth keeping, for every end.
pub(super) struct Costs {
    kept: Vec<Costed>,
    boxes: Vec<CostBox>,
}

/// For one end, the schedules by the cores that they use along each axis.
struct CostBox {
    extent: [usize; MOST_KINDS],
    /// Where the schedules for each number of cores begin, and after the last where they end.
    starts: Vec<u32>,
}

impl CostBox {
    fn index(&self, used: [usize; MOST_KINDS]) -> usize {
        used.iter().zip(&self.extent).fold(0, |index, (used, extent)| index * extent + used)
    }

    fn used(&self, mut index: usize) -> [usize; MOST_KINDS] {
        let mut used = [0; MOST_KINDS];
        for (used, extent) in used.iter_mut().zip(&self.extent).rev() {
            *used = index % extent;
            index /= extent;
        }
        used
    }
}

impl Costs {
    /// All schedules of the chain that fit in the period, but for those that another beats.
    pub(super) fn new(instance: &Instance, period: Period, prices: &Prices) -> Result<Self, TooLarge> {
        let nothing = Candidate { from: 0, cores: 0, kind: 0 };
        let empty = Costed { energy: 0, latency_ns: 0, stages: 0, full: false, last: nothing, before: 0 };
        let mut costs =
            Self { kept: vec![empty], boxes: vec![CostBox { extent: [1; MOST_KINDS], starts: vec![0, 1] }] };
        // No schedule uses more cores of a kind than one that makes a stage of every task.
        let mut most = [0usize; MOST_KINDS];
        let mut cells: Vec<Vec<Costed>> = Vec::new();
        for to in 1..=instance.tasks() {
            for kind in instance.kinds() {
                let cores = cores_for(kind.work.ns(to - 1, to), period).unwrap_or(kind.cores);
                most[kind.axis] = most[kind.axis].saturating_add(cores).min(kind.cores);
            }
            let extent = most.map(|most| most + 1);
            let size = extent.iter().try_fold(1usize, |size, &extent| size.checked_mul(extent)).ok_or(TooLarge)?;
            if size > MOST_KEPT {
                return Err(TooLarge);
            }
            let mut here = CostBox { extent, starts: Vec::with_capacity(size + 1) };
            cells.iter_mut().for_each(Vec::clear);
            cells.resize_with(size, Vec::new);
            for (index, kind) in instance.kinds().iter().enumerate() {
                costs.end_at(instance, period, prices, to, (index, kind), &here, &mut cells);
            }
            for cell in &cells {
                here.starts.push(costs.kept.len() as u32);
                costs.kept.extend_from_slice(cell);
            }
            here.starts.push(costs.kept.len() as u32);
            if costs.kept.len() > MOST_KEPT {
                return Err(TooLarge);
            }
            costs.boxes.push(here);
        }
        Ok(costs)
    }

    /// Puts into the cells what the stages that end at `to` on cores of a kind make of the schedules before them.
    #[allow(clippy::too_many_arguments)]
    fn end_at(
        &self,
        instance: &Instance,
        period: Period,
        prices: &Prices,
        to: usize,
        (kind_index, kind): (usize, &Kind),
        here: &CostBox,
        cells: &mut [Vec<Costed>],
    ) {
        for from in (0..to).rev() {
            let work_ns = kind.work.ns(from, to);
            let Some(cores) = cores_for(work_ns, period) else { break };
            if cores > kind.cores || cores > 1 && from < instance.run_start(to) {
                break;
            }
            let energy = u128::from(work_ns) * u128::from(prices.microwatts[kind_index]);
            let full = prices.full && is_full(work_ns, cores, period);
            let last = Candidate { from: from as u32, cores: cores as u16, kind: kind_index as u8 };
            let before = &self.boxes[from];
            for (index, ends) in before.starts.windows(2).enumerate() {
                if ends[0] == ends[1] {
                    continue;
                }
                let mut used = before.used(index);
                used[kind.axis] += cores;
                if used[kind.axis] > kind.cores {
                    continue;
                }
                let cell = &mut cells[here.index(used)];
                for before in ends[0]..ends[1] {
                    let schedule = &self.kept[before as usize];
                    let latency_ns = if prices.latency { schedule.latency_ns.saturating_add(work_ns) } else { 0 };
                    if latency_ns > prices.latency_at_most {
                        continue;
                    }
                    let new = Costed {
                        energy: schedule.energy + energy,
                        latency_ns,
                        stages: schedule.stages + 1,
                        full: schedule.full || full,
                        last,
                        before,
                    };
                    if !cell.iter().any(|kept| kept.beats(&new)) {
                        cell.retain(|kept| !new.beats(kept));
                        cell.push(new);
                    }
                }
            }
        }
    }

    /// The schedules of the whole chain: the cores that each uses along each axis, and what it costs.
    pub(super) fn schedules(&self) -> impl Iterator<Item = ([usize; MOST_KINDS], &Costed)> {
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

/// The fewest cores that do the work in the period; `None` where no number of them does.
fn cores_for(work_ns: u64, period: Period) -> Option<usize> {
    if work_ns == 0 {
        return Some(1);
    }
    if period == Period::ZERO {
        return None;
    }
    let cores = (u128::from(work_ns) * u128::from(period.den())).div_ceil(u128::from(period.num()));
    usize::try_from(cores).ok()
}

fn is_full(work_ns: u64, cores: usize, period: Period) -> bool {
    u128::from(work_ns) * u128::from(period.den()) == u128::from(period.num()) * cores as u128
}

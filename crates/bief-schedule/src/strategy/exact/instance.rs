//! The chain and the cores as the solver sees them.

use super::StageKinds;
use crate::period::Period;
use crate::profile::Profile;
use crate::schedule::Stage;
use crate::share::shared_period;
use crate::strategy::work::{Work, less, run_starts};

/// A stage that ends at a known task: where it begins, and its cores along each axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Candidate {
    pub(super) from: u32,
    pub(super) cores: [u16; MAX_KINDS],
}

impl Candidate {
    /// A stage with cores of one kind.
    #[inline]
    pub(super) fn of_one(from: usize, axis: usize, cores: usize) -> Self {
        let mut along = [0; MAX_KINDS];
        along[axis] = cores as u16;
        Self { from: from as u32, cores: along }
    }

    /// The axis of its kind, where it has cores of one.
    #[inline]
    pub(super) fn axis(&self) -> Option<usize> {
        // All numbers at once, the first axis in the lowest bits.
        let all = self.cores.iter().rev().fold(0u64, |all, &cores| all << 16 | u64::from(cores));
        let axis = all.trailing_zeros() / 16;
        (axis < MAX_KINDS as u32 && all >> (16 * axis) <= 0xffff).then_some(axis as usize)
    }
}

/// How many kinds of cores the solver can use together.
pub(super) const MAX_KINDS: usize = 4;

/// The axis along which the table counts nothing: its entries are the cores of this kind.
pub(super) const VALUE: usize = MAX_KINDS - 1;

/// A chain and the cores that it may use, of at most [`MAX_KINDS`] kinds.
///
/// Each kind has an axis, from 0 to [`VALUE`]; the kinds with most cores have the last ones, and axes without a kind
/// have no cores. Tasks are numbered from 0; a stage is a range `from..to` of them.
pub(super) struct Instance<'a> {
    /// The kinds in the order of their axes; those that are missing are the first axes.
    kinds: Vec<Kind<'a>>,
    /// For each `to`, the first `from` such that all tasks of `from..to` may be replicated.
    run_start: Vec<usize>,
    /// The cores along each axis.
    cores: [usize; MAX_KINDS],
    /// A period below which no schedule lies.
    lower_bound: Period,
    /// Whether cutting costs, or there are devices: then a longer stage may have less work, or not more by its tasks.
    cuts_cost: bool,
    /// Whether a stage may have cores of several kinds.
    mixes: bool,
}

/// The work of a stage on one core along each axis, in nanoseconds: `None` where there is none on which it can run.
pub(super) type Works = [Option<u64>; MAX_KINDS];

/// One kind of core.
pub(super) struct Kind<'a> {
    /// Its position in the profile.
    pub(super) position: usize,
    pub(super) axis: usize,
    pub(super) cores: usize,
    pub(super) work: Work<'a>,
    /// A device shares no stage with another kind.
    pub(super) is_device: bool,
}

impl<'a> Instance<'a> {
    /// The chain of `profile` on `cores`: positions of kinds in the profile, and how many cores each has, at least 1.
    pub(super) fn new(profile: &'a Profile, cores: &[(usize, u32)], stages: StageKinds) -> Self {
        let mut ascending = cores.to_vec();
        ascending.sort_by_key(|&(_, cores)| cores);
        let first_axis = MAX_KINDS - ascending.len();
        let kinds: Vec<_> = ascending
            .into_iter()
            .enumerate()
            .map(|(index, (position, cores))| Kind {
                position,
                axis: first_axis + index,
                cores: cores as usize,
                work: Work::with_cuts(profile, position),
                is_device: profile.lanes(position).is_some(),
            })
            .collect();
        let mut on_axis = [0; MAX_KINDS];
        for kind in &kinds {
            on_axis[kind.axis] = kind.cores;
        }
        let kinds_of_cores = kinds.iter().filter(|kind| !kind.is_device).count();
        let has_devices = kinds_of_cores < kinds.len();
        let mut instance = Self {
            kinds,
            run_start: run_starts(profile),
            cores: on_axis,
            lower_bound: Period::ZERO,
            cuts_cost: profile.has_cut_costs() || has_devices,
            mixes: stages == StageKinds::Mixed && kinds_of_cores > 1,
        };
        instance.lower_bound = instance.heaviest_task();
        // The cores of one kind alone, were all tasks replicable, would share the work in this time; the load shared by all
        // kinds is no greater, and often it need not be looked at. A kind on which some task cannot run tells nothing.
        let share = |kind: &Kind| Some((kind.work.all_ns()? - kind.work.ns(0, 0), kind.cores));
        let shared = instance.kinds.iter().filter_map(share).reduce(|a, b| if less(a, b) { a } else { b });
        if shared.is_none_or(|shared| fraction(shared) > instance.lower_bound) {
            instance.lower_bound = instance.lower_bound.max(instance.shared_load());
        }
        instance
    }

    pub(super) fn kinds(&self) -> &[Kind<'a>] {
        &self.kinds
    }

    pub(super) fn cores(&self) -> &[usize; MAX_KINDS] {
        &self.cores
    }

    pub(super) fn tasks(&self) -> usize {
        self.run_start.len() - 1
    }

    /// The first `from` such that all tasks of `from..to` may be replicated.
    #[inline]
    pub(super) fn run_start(&self, to: usize) -> usize {
        self.run_start[to]
    }

    /// A period below which no schedule lies.
    pub(super) fn lower_bound(&self) -> Period {
        self.lower_bound
    }

    /// Whether cutting costs, or there are devices: then a longer stage may have less work than a shorter one, or lanes overlap
    /// what it costs to hand over.
    #[inline]
    pub(super) fn cuts_cost(&self) -> bool {
        self.cuts_cost
    }

    /// Whether a stage may have cores of several kinds.
    #[inline]
    pub(super) fn mixes(&self) -> bool {
        self.mixes
    }

    /// Lets stages have cores of several kinds, or of one; answers what they might before. No bound that holds for the former is wrong for
    /// the latter.
    pub(super) fn let_mix(&mut self, mixes: bool) -> bool {
        std::mem::replace(&mut self.mixes, mixes)
    }

    /// The kind of an axis that has one.
    #[inline]
    pub(super) fn kind_on(&self, axis: usize) -> &Kind<'a> {
        &self.kinds[axis + self.kinds.len() - MAX_KINDS]
    }

    /// The works of the stage `from..to`.
    pub(super) fn works(&self, from: usize, to: usize) -> Works {
        let mut works = [None; MAX_KINDS];
        for kind in self.kinds.iter().filter(|kind| kind.work.can_run(from, to)) {
            works[kind.axis] = Some(kind.work.ns(from, to));
        }
        works
    }

    /// Those on the kinds that may share a stage.
    pub(super) fn shareable(&self, mut works: Works) -> Works {
        for kind in self.kinds.iter().filter(|kind| kind.is_device) {
            works[kind.axis] = None;
        }
        works
    }

    /// The same without what the cuts on its sides cost: none of them falls as the stage gets longer.
    pub(super) fn uncut_works(&self, from: usize, to: usize) -> Works {
        let mut works = [None; MAX_KINDS];
        for kind in self.kinds.iter().filter(|kind| kind.work.can_run(from, to)) {
            works[kind.axis] = Some(kind.work.uncut_ns(from, to));
        }
        works
    }

    /// The period of a stage that ends before task `to`; `None` where it has no exact fraction.
    pub(super) fn period_of(&self, to: usize, stage: &Candidate) -> Option<Period> {
        let works = self.works(stage.from as usize, to);
        shared_period((0..MAX_KINDS).filter_map(|axis| Some((works[axis]?, u32::from(stage.cores[axis])))))
    }

    /// Cores along the axes, as cores of each kind of the profile.
    pub(super) fn counts(&self, profile: &Profile, used: [usize; MAX_KINDS]) -> Vec<u32> {
        let mut counts = vec![0; profile.kinds().len()];
        self.count(used, &mut counts);
        counts
    }

    /// The same, into a place for each kind of the profile; those of kinds without cores are left alone.
    pub(super) fn count(&self, used: [usize; MAX_KINDS], counts: &mut [u32]) {
        for kind in &self.kinds {
            counts[kind.position] = used[kind.axis] as u32;
        }
    }

    /// A stage that ends before task `to`, for a schedule.
    pub(super) fn stage(&self, profile: &Profile, to: usize, stage: Candidate) -> Stage {
        if let Some(axis) = stage.axis() {
            let kind = profile.kinds()[self.kind_on(axis).position].as_str();
            return Stage::new(to - stage.from as usize, u32::from(stage.cores[axis]), kind);
        }
        let used = self.kinds.iter().filter(|kind| stage.cores[kind.axis] > 0);
        let cores = used.map(|kind| (profile.kinds()[kind.position].as_str(), u32::from(stage.cores[kind.axis])));
        Stage::mixed(to - stage.from as usize, cores)
    }

    /// The shortest period on one core, which a schedule always reaches; `None` where there is no kind on which all tasks
    /// can run.
    pub(super) fn one_core(&self) -> Option<Period> {
        self.kinds.iter().filter_map(|kind| kind.work.all_ns()).min().map(Period::from)
    }

    /// The heaviest work that any stage may have, whatever its kind: in this period, every stage that can run at all fits on
    /// one core.
    pub(super) fn max_work_ns(&self) -> u64 {
        self.kinds.iter().map(|kind| kind.work.max_ns()).max().expect("a platform has a core")
    }

    /// No stage is shorter than its heaviest task on the kind, and the replicas, that suit that task best, or on all replicas of
    /// all kinds where they may share a stage.
    fn heaviest_task(&self) -> Period {
        let mut heaviest = (0, 1);
        let mut heaviest_mixed = Period::ZERO;
        for to in 1..=self.tasks() {
            let replicable = self.run_start[to] < to;
            if replicable && self.mixes {
                // All cores together: where their period is too long a fraction, the task tells nothing.
                let works = self.uncut_works(to - 1, to);
                let cores = (0..MAX_KINDS).filter_map(|axis| Some((works[axis]?, self.cores[axis] as u32)));
                heaviest_mixed = heaviest_mixed.max(shared_period(cores).unwrap_or(Period::ZERO));
                continue;
            }
            let mut best = (u64::MAX, 1);
            for kind in self.kinds.iter().filter(|kind| kind.work.can_run(to - 1, to)) {
                let here = (kind.work.uncut_ns(to - 1, to), if replicable { kind.cores } else { 1 });
                if less(here, best) {
                    best = here;
                }
            }
            if less(heaviest, best) {
                heaviest = best;
            }
        }
        fraction(heaviest).max(heaviest_mixed)
    }

    /// Cores that are busy all the time cannot do the work faster: weigh the cores of each kind by some factor, and count
    /// each task on the kind where it weighs least, of those on which it can run; then no period is shorter than the weighed
    /// work divided by the weighed cores, however stages share their frames among kinds. Any factors give a bound; a grid of them is tried.
    fn shared_load(&self) -> Period {
        let kinds = self.kinds.len();
        let steps: u32 = [1, 8, 8, 6][kinds - 1];
        let mut grid = vec![[0u32; MAX_KINDS]];
        for index in 0..kinds {
            let last = index + 1 == kinds;
            grid = grid
                .into_iter()
                .flat_map(|factors| {
                    let left = steps - factors.iter().sum::<u32>();
                    let remaining = (kinds - index - 1) as u32;
                    // Each later kind takes at least one step: a kind that weighs nothing makes the bound nothing.
                    let range = if last { left..=left } else { 1..=left - remaining };
                    range.map(move |factor| {
                        let mut factors = factors;
                        factors[index] = factor;
                        factors
                    })
                })
                .collect();
        }
        let mut load = vec![0f64; grid.len()];
        for task in 0..self.tasks() {
            let mut ns = [f64::INFINITY; MAX_KINDS];
            for (ns, kind) in ns.iter_mut().zip(&self.kinds) {
                *ns = kind.work.task_ns(task).map_or(f64::INFINITY, |ns| ns as f64);
            }
            for (load, factors) in load.iter_mut().zip(&grid) {
                let mut least = f64::from(factors[0]) * ns[0];
                for kind in 1..kinds {
                    least = least.min(f64::from(factors[kind]) * ns[kind]);
                }
                *load += least;
            }
        }
        let capacity = |factors: &[u32; MAX_KINDS]| -> u64 {
            self.kinds.iter().zip(factors).map(|(kind, &factor)| kind.cores as u64 * u64::from(factor)).sum()
        };
        let bound = |index: usize| load[index] / capacity(&grid[index]) as f64;
        let best = (0..grid.len()).max_by(|&a, &b| bound(a).total_cmp(&bound(b))).expect("the grid is not empty");

        // The factors were chosen with rounded numbers; the bound itself is exact, or rounded down.
        let mut exact = 0u128;
        for task in 0..self.tasks() {
            let weighed = self
                .kinds
                .iter()
                .zip(&grid[best])
                .filter_map(|(kind, &factor)| Some(u128::from(kind.work.task_ns(task)?) * u128::from(factor)));
            exact += weighed.min().expect("checked: each task can run on some kind");
        }
        let mut capacity = capacity(&grid[best]);
        while exact > u128::from(u64::MAX) {
            exact /= 2;
            capacity = capacity.div_ceil(2);
        }
        Period::new(exact as u64, capacity).expect("every kind has a core and weighs something")
    }
}

/// Work shared by cores.
pub(super) fn fraction((work_ns, cores): (u64, usize)) -> Period {
    Period::new(work_ns, cores as u64).expect("work is shared by at least one core")
}

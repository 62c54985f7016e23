//! The stages that a schedule of a given period needs to be made of.

mod mixed;

use super::instance::{Candidate, Instance, fraction};
use super::search::Refused;
use crate::period::Period;
use crate::strategy::work::less;
pub(super) use mixed::{Fewest, Mix};

/// For each end, kind and number of cores the longest stage that fits in a period; a stage on more cores only where it
/// is longer than on fewer.
#[derive(Default)]
pub(super) struct Candidates {
    /// By end, then by kind, then by increasing cores.
    stages: Vec<Candidate>,
    /// Where the stages of each end begin.
    starts: Vec<usize>,
    /// The work that 1, 2, … cores do in the period, up to all the work there is.
    capacity_ns: Vec<u64>,
    /// For each kind, the first task of the longest one-core stage that ends where the last one did.
    one_core_from: Vec<usize>,
    /// For each end, where cutting costs, whether no schedule of the tasks before it fits on the cores: no stage begins there.
    unreached: Vec<bool>,
    /// Those of an end that have cores of several kinds, while they are put behind the others.
    shared: Vec<Candidate>,
    /// What is looked up for stages of several kinds.
    pub(super) mix: Mix,
}

impl Candidates {
    /// Forgets all stages, and begins anew for a period.
    pub(super) fn begin(&mut self, instance: &Instance, period: Period) {
        self.stages.clear();
        self.stages.reserve(instance.tasks() * 4);
        self.starts.clear();
        self.starts.reserve(instance.tasks() + 1);
        self.starts.push(0);
        self.unreached.clear();
        self.unreached.push(false);
        self.one_core_from.clear();
        self.one_core_from.resize(instance.kinds().len(), 0);
        self.set_capacity(instance, period);
        self.mix.begin(period);
    }

    /// The work that u cores do in the period is u times the period, rounded down; it is added up, not multiplied out.
    fn set_capacity(&mut self, instance: &Instance, period: Period) {
        let all_ns = instance.max_work_ns();
        let most = instance.cores().iter().copied().max().unwrap_or(0);
        self.capacity_ns.clear();
        let Some((num, den)) = period.short() else {
            let capacity = |cores: usize| u64::try_from(period.times(cores as u64).0).unwrap_or(u64::MAX);
            let enough = (1..=most).find(|&cores| capacity(cores) >= all_ns).unwrap_or(most);
            self.capacity_ns.extend((1..=enough).map(capacity));
            return;
        };
        let (whole, part) = (num / den, num % den);
        let (mut capacity, mut carry) = (0u64, 0u64);
        for _ in 0..most {
            // Both are below `den`, which may be any 64-bit number.
            let (sum, wrapped) = carry.overflowing_add(part);
            let over = wrapped || sum >= den;
            carry = if over { sum.wrapping_sub(den) } else { sum };
            capacity = capacity.saturating_add(whole).saturating_add(u64::from(over));
            self.capacity_ns.push(capacity);
            if capacity >= all_ns {
                break;
            }
        }
    }

    /// Notes whether some schedule of the tasks before the end that was asked for last fits on the cores.
    pub(super) fn note_reached(&mut self, is_reached: bool) {
        self.unreached.push(!is_reached);
    }

    /// Finds the stages that end before task `to`; all earlier ends must have been asked for.
    #[inline]
    pub(super) fn end_at(&mut self, instance: &Instance, to: usize) -> Result<&[Candidate], Refused> {
        let first = self.stages.len();
        if instance.mixes() {
            if instance.cuts_cost() {
                self.all_mixed_end_at(instance, to)?;
            } else {
                self.longest_mixed_end_at(instance, to)?;
            }
            // Where both will do, a stage on one kind of core is simpler, and is to be found first.
            let Self { stages, shared, .. } = self;
            let mut kept = first;
            for index in first..stages.len() {
                let stage = stages[index];
                if stage.axis().is_some() {
                    stages[kept] = stage;
                    kept += 1;
                } else {
                    shared.push(stage);
                }
            }
            stages.truncate(kept);
            stages.append(shared);
        } else if instance.cuts_cost() {
            self.all_end_at(instance, to);
        } else {
            self.longest_end_at(instance, to);
        }
        self.starts.push(self.stages.len());
        Ok(&self.stages[first..])
    }

    /// Finds for each kind and number of cores the longest stage that fits.
    #[inline]
    fn longest_end_at(&mut self, instance: &Instance, to: usize) {
        let sequential_start = instance.run_start(to);
        let one_core_ns = self.capacity_ns[0];
        for (kind, one_core_from) in instance.kinds().iter().zip(&mut self.one_core_from) {
            let work_ns = kind.work.ending_at(to);
            // No stage reaches back over a task that cannot run on the kind.
            let runnable_from = kind.work.runnable_from(to);
            let run_start = sequential_start.max(runnable_from);
            let mut from = runnable_from.max(*one_core_from);
            while from < to && work_ns(from) > one_core_ns {
                from += 1;
            }
            *one_core_from = from;
            if from < to {
                self.stages.push(Candidate::of_one(from, kind.axis, 1));
            }
            let mut cores = 1;
            'longer: while from > run_start {
                let wanted_ns = work_ns(from - 1);
                let capacity_ns = loop {
                    cores += 1;
                    if cores > kind.cores {
                        break 'longer;
                    }
                    // Beyond the end of the list there is capacity for all the work.
                    let capacity_ns = self.capacity_ns.get(cores - 1).copied().unwrap_or(u64::MAX);
                    if capacity_ns >= wanted_ns {
                        break capacity_ns;
                    }
                };
                from -= 1;
                while from > run_start && work_ns(from - 1) <= capacity_ns {
                    from -= 1;
                }
                self.stages.push(Candidate::of_one(from, kind.axis, cores));
            }
        }
    }

    /// Finds all stages that fit, each on the fewest cores: where cutting costs, a longer one need not be of more use.
    fn all_end_at(&mut self, instance: &Instance, to: usize) {
        let Self { stages, capacity_ns, unreached, .. } = self;
        let capacity_ns = |cores: usize| capacity_ns.get(cores - 1).copied().unwrap_or(u64::MAX);
        let sequential_start = instance.run_start(to);
        for kind in instance.kinds() {
            let most_ns = [capacity_ns(1), capacity_ns(kind.cores)];
            let mut cores = 1;
            for from in (kind.work.runnable_from(to)..to).rev() {
                let is_replicable = from >= sequential_start;
                let most_ns = most_ns[usize::from(is_replicable)];
                if kind.work.uncut_ns(from, to) > most_ns {
                    // Nor does any longer one: what a replicable one may have is no less than what others may.
                    break;
                }
                let work_ns = kind.work.ns(from, to);
                if work_ns > most_ns || unreached[from] {
                    continue;
                }
                while capacity_ns(cores) < work_ns {
                    cores += 1;
                }
                while cores > 1 && capacity_ns(cores - 1) >= work_ns {
                    cores -= 1;
                }
                stages.push(Candidate::of_one(from, kind.axis, cores));
            }
        }
    }

    /// The stages that end before task `to`.
    pub(super) fn ending_at(&self, to: usize) -> &[Candidate] {
        &self.stages[self.starts[to - 1]..self.starts[to]]
    }

    /// How many stages were found.
    pub(super) fn len(&self) -> usize {
        self.stages.len()
    }

    /// The shortest of the longer periods in which one of the stages found could take one more task. In all periods
    /// before it the stages are the same.
    pub(super) fn next_period(&mut self, instance: &Instance) -> Result<Period, Refused> {
        match (instance.mixes(), instance.cuts_cost()) {
            (true, _) => self.next_of_mixed(instance),
            (false, true) => Ok(self.next_of_all(instance)),
            (false, false) => Ok(self.next_of_longest(instance)),
        }
    }

    fn next_of_longest(&self, instance: &Instance) -> Period {
        let mut next = (u64::MAX, 1);
        let mut consider = |work_ns: u64, cores: usize| {
            if less((work_ns, cores), next) {
                next = (work_ns, cores);
            }
        };
        for to in 1..self.starts.len() {
            let sequential_start = instance.run_start(to);
            let mut stages = self.ending_at(to).iter().peekable();
            for kind in instance.kinds() {
                let runnable_from = kind.work.runnable_from(to);
                let run_start = sequential_start.max(runnable_from);
                let mut from = to;
                let mut alone = true;
                while let Some(stage) = stages.next_if(|stage| stage.cores[kind.axis] > 0) {
                    let cores = usize::from(stage.cores[kind.axis]);
                    if cores > 1 {
                        // The stage before could not be longer on any number of cores below this one.
                        consider(kind.work.ns(from - 1, to), cores - 1);
                        alone = false;
                    }
                    from = stage.from as usize;
                }
                if from > run_start {
                    consider(kind.work.ns(from - 1, to), kind.cores);
                } else if alone && from > runnable_from {
                    consider(kind.work.ns(from - 1, to), 1);
                }
            }
        }
        fraction(next)
    }

    /// The shortest of the longer periods in which any stage fits on fewer cores than in this one, or fits at all.
    fn next_of_all(&self, instance: &Instance) -> Period {
        let capacity_ns = |cores: usize| self.capacity_ns.get(cores - 1).copied().unwrap_or(u64::MAX);
        let mut next = (u64::MAX, 1);
        for to in 1..self.starts.len() {
            let sequential_start = instance.run_start(to);
            for kind in instance.kinds() {
                // The most cores on which the stage does not fit; 0 where it fits on one.
                let mut cores = 0;
                for from in (kind.work.runnable_from(to)..to).rev() {
                    let most = if from >= sequential_start { kind.cores } else { 1 };
                    if !less((kind.work.uncut_ns(from, to), most), next) {
                        break;
                    }
                    let work_ns = kind.work.ns(from, to);
                    cores = cores.min(most);
                    while cores < most && capacity_ns(cores + 1) < work_ns {
                        cores += 1;
                    }
                    while cores > 0 && capacity_ns(cores) >= work_ns {
                        cores -= 1;
                    }
                    if cores > 0 && less((work_ns, cores), next) {
                        next = (work_ns, cores);
                    }
                }
            }
        }
        fraction(next)
    }
}

//! The search for the shortest period.

use super::StageKinds;
use super::candidates::Candidates;
use super::instance::{Instance, VALUE, fraction};
use super::table::Table;
use crate::period::Period;
use crate::profile::Profile;
use crate::strategy::work::less;

/// The most values, and the most stages to choose from, that are kept: about 1 GiB each.
pub(super) const MAX_KEPT: usize = 1 << 29;

/// The most values that are computed in all periods tried together: about ten seconds.
const MAX_STEPS: u64 = 1 << 37;

/// Why a search is given up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Refused {
    /// The chain and cores are so many that the tables would not fit in memory, or take too long.
    TooLarge,
    /// Tasks take so long that the period of a stage on cores of several kinds is no fraction of 128-bit numbers.
    TooLong,
}

/// What trying one number of cores for a shared stage takes, in values of a table.
const STEPS_PER_ENTRY: u64 = 128;

/// How far a period that is tried lies between two others, in 32nds of the way. Where the upper one is near, what fits is most often
/// there already.
const HALF: u32 = 16;
const NEARLY: u32 = 28;
const JUST_BELOW: u32 = 31;

/// One part in 2^7 is near.
const NEAR: u32 = 7;

/// Tries periods, and keeps the tables of the one tried last.
pub(super) struct Search<'a> {
    pub(super) instance: Instance<'a>,
    pub(super) candidates: Candidates,
    pub(super) table: Table<i16>,
    /// For each end, how many cores of each axis' kind alone the tasks before it need.
    alone: Vec<[u32; VALUE]>,
    /// How many periods were tried.
    pub(super) tried: u32,
    /// How many values were computed.
    steps: u64,
}

impl<'a> Search<'a> {
    /// A search for a profiled chain on cores of some kinds, given by their positions in the profile.
    pub(super) fn new(profile: &'a Profile, cores: &[(usize, u32)], stages: StageKinds) -> Self {
        let instance = Instance::new(profile, cores, stages);
        Self {
            instance,
            candidates: Candidates::default(),
            table: Table::default(),
            alone: Vec::new(),
            tried: 0,
            steps: 0,
        }
    }

    /// Fills the tables for a period, and says whether any schedule has no longer one.
    ///
    /// Where none has, the tables end at the first task that does not fit, unless cutting costs.
    pub(super) fn fits(&mut self, period: Period) -> Result<bool, Refused> {
        self.tried += 1;
        let most = self.instance.cores()[VALUE];
        self.candidates.begin(&self.instance, period);
        let all: [usize; VALUE] = std::array::from_fn(|axis| self.instance.cores()[axis] + 1);
        self.table.begin(self.instance.tasks(), all);
        // With as many cores along an axis as its kind alone needs, nothing of the last axis' kind is needed: the boxes are
        // cut off there.
        self.alone.clear();
        self.alone.push([0; VALUE]);
        let mut least = 0;
        for to in 1..=self.instance.tasks() {
            let stages = self.candidates.end_at(&self.instance, to)?;
            let mut extent = [1; VALUE];
            let mut needed = [0; VALUE];
            for kind in self.instance.kinds().iter().filter(|kind| kind.axis < VALUE) {
                needed[kind.axis] = u32::MAX;
            }
            for stage in stages {
                if let Some(axis) = stage.axis().filter(|&axis| axis < VALUE) {
                    let before = self.alone[stage.from as usize][axis];
                    needed[axis] = needed[axis].min(before.saturating_add(u32::from(stage.cores[axis])));
                }
            }
            for kind in self.instance.kinds().iter().filter(|kind| kind.axis < VALUE) {
                extent[kind.axis] = kind.cores.min(needed[kind.axis] as usize) + 1;
            }
            self.alone.push(needed);
            let values = Table::<i16>::size(extent);
            let stages = self.candidates.ending_at(to).len();
            self.steps = self.steps.saturating_add(values.saturating_mul(stages) as u64);
            let kept = self.table.len().saturating_add(values);
            let steps = self.steps.saturating_add(self.candidates.mix.entries * STEPS_PER_ENTRY);
            if kept > MAX_KEPT || self.candidates.len() > MAX_KEPT / 8 || steps > MAX_STEPS {
                return Err(Refused::TooLarge);
            }
            least = self.table.push(extent, self.candidates.ending_at(to));
            // Where cutting costs, more tasks may need fewer cores.
            let is_reached = least as usize <= most;
            if !is_reached && !self.instance.cuts_cost() {
                return Ok(false);
            }
            self.candidates.note_reached(is_reached);
        }
        Ok(least as usize <= most)
    }

    /// Finds the shortest period, and fills the tables for it; `None` where nothing fits in any period, as tasks that run
    /// on different kinds need more cores than there are. The tables then end at the first task that does not fit. `known` is a
    /// period that some schedule has, and that is near, where one is known.
    pub(super) fn run(&mut self, known: Option<Period>) -> Result<Option<Period>, Refused> {
        let Some((period, is_filled)) = self.narrow(known, |low, high| high <= low)? else { return Ok(None) };
        // In a longer period fewer cores may do: the front is that of the shortest one.
        if !is_filled {
            self.fits(period)?;
        }
        Ok(Some(period))
    }

    /// Finds a period that some schedule of stages of one kind each has, no more than one part in 2^[`NEAR`] longer than their shortest.
    pub(super) fn near_of_one_kind(&mut self) -> Result<Option<Period>, Refused> {
        let is_near = |low: Period, high: Period| high <= low || stretched(low, NEAR).is_some_and(|near| high <= near);
        let mixes = self.instance.let_mix(false);
        let near = self.narrow(None, is_near);
        self.instance.let_mix(mixes);
        self.tried = 0;
        Ok(near?.map(|(period, _)| period))
    }

    /// Closes in on the shortest period until its bounds are near `enough`; answers with the upper one, and whether the tables are filled for
    /// it.
    fn narrow(
        &mut self,
        known: Option<Period>,
        enough: impl Fn(Period, Period) -> bool,
    ) -> Result<Option<(Period, bool)>, Refused> {
        // No period below `low` fits; `high` fits, and some schedule has exactly this period.
        let mut low = self.instance.lower_bound();
        let mut high = match known.or_else(|| self.instance.one_core()) {
            Some(period) => period,
            None if self.fits(Period::from(self.instance.max_work_ns()))? => self.realised_period()?,
            None => return Ok(None),
        };
        // What is known is often the shortest already: then a period just below it does not fit. As long as nothing but the one-core
        // period is known to fit, `high` is far off: go up in growing steps.
        let (mut period, after_fit) = match known {
            Some(_) if low < high => (Period::between(low, high, JUST_BELOW), NEARLY),
            _ => (low, HALF),
        };
        let mut step = Some(2u32).filter(|_| known.is_none());
        loop {
            let fits = self.fits(period)?;
            if fits {
                high = self.realised_period()?;
                step = None;
            } else {
                low = self.candidates.next_period(&self.instance)?;
                step = step.and_then(|step| step.checked_sub(1));
            }
            if enough(low, high) {
                return Ok(Some((high, fits && period == high)));
            }
            let ceiling = step.and_then(|step| stretched(low, step)).map_or(high, |ceiling| ceiling.min(high));
            period = Period::between(low, ceiling, if fits { after_fit } else { HALF });
        }
    }

    /// The period of one of the schedules that fit in the period tried last.
    fn realised_period(&self) -> Result<Period, Refused> {
        let most: [usize; VALUE] = std::array::from_fn(|axis| self.instance.cores()[axis]);
        let stages = self.table.stages_backwards(most, |to| self.candidates.ending_at(to));
        let (mut longest, mut longest_mixed) = ((0, 1), Period::ZERO);
        for (to, stage) in stages {
            let Some(axis) = stage.axis() else {
                longest_mixed = longest_mixed.max(self.instance.period_of(to, &stage).ok_or(Refused::TooLong)?);
                continue;
            };
            let work_ns = self.instance.kind_on(axis).work.ns(stage.from as usize, to);
            let here = (work_ns, usize::from(stage.cores[axis]));
            if less(longest, here) {
                longest = here;
            }
        }
        Ok(fraction(longest).max(longest_mixed))
    }
}

/// A period longer by one part in 2^step, where it can be written.
fn stretched(period: Period, step: u32) -> Option<Period> {
    let num = period.num().checked_mul((1 << step) + 1)?;
    Period::wide(num, period.den().checked_mul(1 << step)?)
}

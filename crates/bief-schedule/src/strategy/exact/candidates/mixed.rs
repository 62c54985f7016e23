//! Stages whose frames cores of several kinds share.

use super::Candidates;
use crate::period::Period;
use crate::share::shared_period;
use crate::strategy::exact::cost::cores_for;
use crate::strategy::exact::instance::{Candidate, Instance, MAX_KINDS, VALUE, Works};
use crate::strategy::exact::search::Refused;

/// The most numbers of cores that are tried for one stage, along all axes but the last.
const MAX_BOX: usize = 1 << 20;

/// The most that are tried in a search: some seconds.
pub(super) const MAX_ENTRIES: u64 = 1 << 30;

/// How far rounded numbers are taken to be off, relatively: more than any few operations on them.
const ROUNDING: f64 = 1.0 / (1u64 << 47) as f64;

/// A period, for stages that cores of several kinds share; and the fewest cores for the stage that was looked at last and the one
/// before it.
#[derive(Default)]
pub(in crate::strategy::exact) struct Mix {
    period: Option<Period>,
    /// Its inverse, rounded.
    rate: f64,
    here: Fewest,
    shorter: Fewest,
    /// How many numbers of cores were tried, in all periods.
    pub(in crate::strategy::exact) entries: u64,
}

/// For each number of cores along the first axes the fewest along the last with which a stage fits in a period.
#[derive(Default)]
pub(in crate::strategy::exact) struct Fewest {
    extent: [usize; VALUE],
    values: Vec<u16>,
}

/// No number of cores along the last axis is enough.
const NONE: u16 = u16::MAX;

/// Rounded numbers do not tell how many are enough.
const DOUBT: u16 = NONE - 1;

impl Fewest {
    /// For a stage of these works; returns whether it fits at all. `entries` counts what was tried.
    pub(in crate::strategy::exact) fn find(
        &mut self,
        instance: &Instance,
        works: &Works,
        period: Period,
        entries: &mut u64,
    ) -> Result<bool, Refused> {
        self.extent = std::array::from_fn(|axis| instance.cores()[axis] + 1);
        let size = self.extent.iter().try_fold(1usize, |size, &extent| size.checked_mul(extent));
        let size = size.filter(|&size| size <= MAX_BOX).ok_or(Refused::TooLarge)?;
        *entries += size as u64;
        if *entries > MAX_ENTRIES {
            return Err(Refused::TooLarge);
        }
        let rate = period.den() as f64 / period.num() as f64;
        let per_core = works.map(per_core);
        self.values.clear();
        self.values.reserve(size);
        for i in 0..self.extent[0] {
            for j in 0..self.extent[1] {
                let row =
                    Row { works, cores: [i, j], done: share(i as f64, per_core[0]) + share(j as f64, per_core[1]) };
                if row.can_run() {
                    self.find_row(instance, &row, per_core, (period, rate))?;
                } else {
                    self.values.resize(self.values.len() + self.extent[2], NONE);
                }
            }
        }
        // With the most cores along the third axis fewest of the last are needed.
        Ok(self.values.chunks_exact(self.extent[2]).any(|row| row[0] != NONE || row[row.len() - 1] != NONE))
    }

    /// For so many cores along the first two axes: in rounded numbers at once for all numbers along the third, and where these
    /// leave a doubt, or are not finite, one by one.
    fn find_row(
        &mut self,
        instance: &Instance,
        row: &Row,
        per_core: [f64; MAX_KINDS],
        (period, rate): (Period, f64),
    ) -> Result<(), Refused> {
        let (first, extent) = (self.values.len(), self.extent[2]);
        let most = instance.cores()[VALUE];
        let mut is_sure = true;
        match (row.works[2], row.works[VALUE]) {
            (Some(1..), Some(work @ 1..)) if rate.is_finite() && row.done.is_finite() => {
                let (work, beyond) = (work as f64, most as f64 + 1.0);
                // From here on those along the third axis are enough, unless one of them is no more than what rounding leaves.
                let counts = per_core[2] > 4.0 * ROUNDING * (rate + row.done);
                let enough = if counts { (rate - row.done) / per_core[2] } else { f64::INFINITY };
                let enough = enough.clamp(0.0, extent as f64) as usize + 2;
                for first in (0..extent.min(enough)).step_by(LANES) {
                    let (mut lows, mut highs) = ([0.0; LANES], [0.0; LANES]);
                    for (lane, (low, high)) in lows.iter_mut().zip(&mut highs).enumerate() {
                        let done = row.done + (first + lane) as f64 * per_core[2];
                        let (left, doubt) = (rate - done, (rate + done) * ROUNDING);
                        let (needed, doubt) = (left * work, (doubt + left.abs() * ROUNDING) * work);
                        *low = ceil((needed - doubt).clamp(0.0, beyond));
                        *high = ceil((needed + doubt).clamp(0.0, beyond));
                    }
                    self.values.extend(lows.into_iter().zip(highs).map(|(low, high)| {
                        let value = if low < beyond { small(low) } else { NONE };
                        is_sure &= low == high;
                        if low == high { value } else { DOUBT }
                    }));
                }
                self.values.resize(first + extent, 0);
            }
            _ => {
                self.values.resize(first + extent, DOUBT);
                is_sure = false;
            }
        }
        if is_sure {
            return Ok(());
        }
        for (k, value) in self.values[first..].iter_mut().enumerate().filter(|(_, value)| **value == DOUBT) {
            let done = row.done + share(k as f64, per_core[2]);
            let can_run = k == 0 || row.works[2].is_some();
            let cores = [row.cores[0], row.cores[1], k];
            *value = if can_run { last(row.works, cores, most, (period, rate), done)? } else { NONE };
        }
        Ok(())
    }

    fn index(&self, [i, j, k]: [usize; VALUE]) -> usize {
        (i * self.extent[1] + j) * self.extent[2] + k
    }

    /// Considers the periods of the stage of these works on all cores with which it does not fit, of at most `most` along the last
    /// axis.
    fn next(&self, works: &Works, most: usize, next: &mut Next) -> Result<(), Refused> {
        let too_few = |fewest: u16| if fewest == NONE { most } else { usize::from(fewest) - 1 };
        let per_core = works.map(per_core);
        let [_, width, length] = self.extent;
        for (index, row) in self.values.chunks_exact(length).enumerate() {
            let (i, j) = (index / width, index % width);
            let done = share(i as f64, per_core[0]) + share(j as f64, per_core[1]);
            if !(Row { works, cores: [i, j], done }).can_run() {
                continue;
            }
            // Along the third axis more than none can only be where the stage can run there.
            let row = if works[2].is_some() { row } else { &row[..1] };
            let unfit = row.iter().position(|&fewest| fewest == 0).unwrap_or(row.len());
            let rate = |(k, &fewest): (usize, &u16)| {
                let last = if fewest == NONE { most as f64 } else { f64::from(fewest) - 1.0 };
                done + share(k as f64, per_core[2]) + share(last, per_core[VALUE])
            };
            let most_done =
                row[..unfit].iter().enumerate().map(rate).fold(0.0, |most, rate| if rate > most { rate } else { most });
            if next.is_beaten_by(1.0 / most_done) {
                continue;
            }
            for (k, &fewest) in row[..unfit].iter().enumerate() {
                next.consider(works, [i, j, k, too_few(fewest)])?;
            }
        }
        Ok(())
    }

    /// The fewest along the last axis, where so many along the others and any there are enough.
    pub(in crate::strategy::exact) fn get(&self, cores: [usize; VALUE]) -> Option<usize> {
        let value = self.values[self.index(cores)];
        (value != NONE).then_some(value.into())
    }

    /// All numbers along the first axes, in the order of the values.
    pub(in crate::strategy::exact) fn all_cores(&self) -> impl Iterator<Item = [usize; VALUE]> + use<> {
        let extent = self.extent;
        (0..extent[0]).flat_map(move |i| (0..extent[1]).flat_map(move |j| (0..extent[2]).map(move |k| [i, j, k])))
    }

    /// Tells all cores with which the stage fits and with one less of any kind does not.
    fn each_least(&self, mut tell: impl FnMut([usize; MAX_KINDS])) {
        let [_, width, length] = self.extent;
        for (index, row) in self.values.chunks_exact(length).enumerate() {
            let (i, j) = (index / width, index % width);
            let row_before = |rows: usize| &self.values[(index - rows) * length..][..length];
            let before = [(i > 0).then(|| row_before(width)), (j > 0).then(|| row_before(1))];
            let mut fewer = NONE;
            for (k, &value) in row.iter().enumerate() {
                let is_least = value < fewer && before.iter().flatten().all(|before| before[k] > value);
                if is_least {
                    tell([i, j, k, value.into()]);
                }
                fewer = value;
                if value == 0 {
                    // More along the third axis are of no use.
                    break;
                }
            }
        }
    }
}

/// A stage on so many cores along the first two axes, which do `done` of it per nanosecond.
struct Row<'a> {
    works: &'a Works,
    cores: [usize; 2],
    done: f64,
}

impl Row<'_> {
    fn can_run(&self) -> bool {
        self.cores.iter().zip(self.works).all(|(&cores, work)| cores == 0 || work.is_some())
    }
}

/// What a core of a kind does of a stage per nanosecond, rounded.
fn per_core(work: Option<u64>) -> f64 {
    work.map_or(0.0, |work| 1.0 / work as f64)
}

/// What so many cores do, where one may do it in no time.
fn share(cores: f64, per_core: f64) -> f64 {
    if cores > 0.0 { cores * per_core } else { 0.0 }
}

/// How many numbers are computed at once.
const LANES: usize = 8;

/// Numbers of this size are whole, and their lowest bits those of the whole number.
const WHOLE: f64 = (1u64 << 52) as f64;

/// A number of 0 to 2^16, rounded up.
fn ceil(number: f64) -> f64 {
    let rounded = (number + WHOLE) - WHOLE;
    if rounded < number { rounded + 1.0 } else { rounded }
}

/// The same whole number.
fn small(whole: f64) -> u16 {
    (whole + WHOLE).to_bits() as u16
}

/// The fewest cores of at most `most` along the last axis with which a stage fits in a period, where those along the others do
/// `done` of it per nanosecond. It is found in rounded numbers, and made sure of in exact ones where these leave a doubt.
fn last(
    works: &Works,
    cores: [usize; VALUE],
    most: usize,
    (period, rate): (Period, f64),
    done: f64,
) -> Result<u16, Refused> {
    if done == f64::INFINITY {
        return Ok(0);
    }
    let fits = |last: usize| {
        let along = [cores[0], cores[1], cores[2], last];
        Ok(exact_period(works, along)? <= period)
    };
    let (left, doubt) = (rate - done, (rate + done) * ROUNDING);
    let (fewest, enough) = match works[VALUE] {
        _ if left < -doubt => (0, 0),
        // Nothing along the other axes does it in no time.
        Some(0) if rate == f64::INFINITY => (1, 1),
        None if left > doubt => return Ok(NONE),
        _ if rate == f64::INFINITY => return Ok(NONE),
        None => (0, most + 1),
        Some(0) => (if left > doubt { 1 } else { 0 }, 1),
        Some(work) => {
            let (needed, doubt) = (left * work as f64, (doubt + left.abs() * ROUNDING) * work as f64);
            ((needed - doubt).ceil().max(0.0) as usize, (needed + doubt).ceil().max(0.0) as usize)
        }
    };
    // The answer is one of these, or none.
    let (mut low, mut high) = (fewest, enough.min(most + 1));
    if works[VALUE].is_none() && high > 0 {
        return Ok(if fits(0)? { 0 } else { NONE });
    }
    while low < high {
        let middle = low.midpoint(high);
        if fits(middle)? { high = middle } else { low = middle + 1 }
    }
    Ok(if low <= most { low as u16 } else { NONE })
}

/// The period of a stage on cores along all axes.
fn exact_period(works: &Works, cores: [usize; MAX_KINDS]) -> Result<Period, Refused> {
    let shares = works.iter().zip(cores).filter_map(|(work, cores)| Some(((*work)?, cores as u32)));
    shared_period(shares).ok_or(Refused::TooLong)
}

/// The same, rounded; infinite where there are no cores.
fn rounded_period(works: &Works, cores: [usize; MAX_KINDS]) -> f64 {
    let share = |(work, cores): (&Option<u64>, usize)| match work {
        Some(work) if cores > 0 => cores as f64 / *work as f64,
        _ => 0.0,
    };
    1.0 / works.iter().zip(cores).map(share).sum::<f64>()
}

impl Mix {
    pub(super) fn begin(&mut self, period: Period) {
        self.period = Some(period);
        self.rate = period.den() as f64 / period.num() as f64;
    }

    fn period(&self) -> Period {
        self.period.expect("a period is being tried")
    }

    /// Looks at a stage, and keeps the one that was looked at before.
    fn look(&mut self, instance: &Instance, works: &Works) -> Result<bool, Refused> {
        std::mem::swap(&mut self.here, &mut self.shorter);
        let period = self.period();
        self.here.find(instance, works, period, &mut self.entries)
    }
}

fn candidate(from: usize, cores: [usize; MAX_KINDS]) -> Candidate {
    Candidate { from: from as u32, cores: cores.map(|cores| cores as u16) }
}

/// The shortest period so far of those that are looked for.
struct Next {
    best: Option<Period>,
    rounded: f64,
}

impl Next {
    /// Whether a period of which a rounded number is known cannot be shorter.
    fn is_beaten_by(&self, rounded: f64) -> bool {
        rounded > self.rounded * (1.0 + 1e-9)
    }

    fn consider(&mut self, works: &Works, cores: [usize; MAX_KINDS]) -> Result<(), Refused> {
        if self.is_beaten_by(rounded_period(works, cores)) || cores == [0; MAX_KINDS] {
            return Ok(());
        }
        let period = exact_period(works, cores)?;
        if self.best.is_none_or(|best| period < best) {
            self.best = Some(period);
            self.rounded = period.ns();
        }
        Ok(())
    }
}

impl Candidates {
    /// Finds for all cores the longest stage that fits, where it is longer than with one less of any kind.
    pub(super) fn longest_mixed_end_at(&mut self, instance: &Instance, to: usize) -> Result<(), Refused> {
        let one_core_ns = self.capacity_ns[0];
        for (kind, one_core_from) in instance.kinds().iter().zip(&mut self.one_core_from) {
            let work_ns = kind.work.ending_at(to);
            let mut from = kind.work.runnable_from(to).max(*one_core_from);
            while from < to && work_ns(from) > one_core_ns {
                from += 1;
            }
            *one_core_from = from;
            if from < to {
                self.stages.push(Candidate::of_one(from, kind.axis, 1));
            }
        }
        // Stages on one core are there by now: they may reach further than those on several.
        let several = |cores: &[usize; MAX_KINDS]| cores.iter().sum::<usize>() > 1;
        let mut longest = None;
        for from in (instance.run_start(to)..to).rev() {
            let fits = self.mix.look(instance, &instance.works(from, to))?;
            if longest.is_some() {
                // Where one task more needs more, or does not fit.
                let Self { stages, mix: Mix { here, shorter, .. }, .. } = self;
                shorter.each_least(|cores| {
                    let [i, j, k, last] = cores;
                    if several(&cores) && here.get([i, j, k]) != Some(last) {
                        stages.push(candidate(from + 1, cores));
                    }
                });
            }
            longest = fits.then_some(from);
            if !fits {
                break;
            }
        }
        if let Some(from) = longest {
            let Self { stages, mix: Mix { here, .. }, .. } = self;
            here.each_least(|cores| {
                if several(&cores) {
                    stages.push(candidate(from, cores));
                }
            });
        }
        Ok(())
    }

    /// Finds all stages that fit, each on all cores of which none can be spared: where cutting costs, a longer one need not be of
    /// more use.
    pub(super) fn all_mixed_end_at(&mut self, instance: &Instance, to: usize) -> Result<(), Refused> {
        let one_core_ns = self.capacity_ns[0];
        for from in (0..to).rev() {
            let uncut = instance.uncut_works(from, to);
            if from >= instance.run_start(to) {
                // Nor does any longer stage fit where this one would not if cuts were free.
                if rounded_period(&uncut, *instance.cores()) * self.mix.rate > 1.0 + 1e-9 {
                    break;
                }
                if self.unreached[from] {
                    continue;
                }
                let works = instance.works(from, to);
                self.mix.look(instance, &instance.shareable(works))?;
                let Self { stages, mix: Mix { here, .. }, .. } = self;
                here.each_least(|cores| stages.push(candidate(from, cores)));
                for kind in instance.kinds().iter().filter(|kind| kind.is_device) {
                    let fewest = works[kind.axis].and_then(|work_ns| cores_for(work_ns, self.mix.period()));
                    let fewest = fewest.filter(|&cores| cores <= kind.cores);
                    self.stages.extend(fewest.map(|cores| Candidate::of_one(from, kind.axis, cores)));
                }
                continue;
            }
            let fits = |work: &Option<u64>| work.is_some_and(|work| work <= one_core_ns);
            if !uncut.iter().any(fits) {
                break;
            }
            if self.unreached[from] {
                continue;
            }
            let works = instance.works(from, to);
            let axes = (0..MAX_KINDS).filter(|&axis| fits(&works[axis]));
            self.stages.extend(axes.map(|axis| Candidate::of_one(from, axis, 1)));
        }
        Ok(())
    }

    /// The shortest of the longer periods that some stage has on cores with which it does not fit in this one.
    pub(super) fn next_of_mixed(&mut self, instance: &Instance) -> Result<Period, Refused> {
        let mut next = Next { best: None, rounded: f64::INFINITY };
        for to in 1..self.starts.len() {
            self.mix.next_that_ends_at(instance, to, &mut next)?;
        }
        Ok(next.best.unwrap_or(Period::from(u64::MAX)))
    }
}

impl Mix {
    fn next_that_ends_at(&mut self, instance: &Instance, to: usize, next: &mut Next) -> Result<(), Refused> {
        for from in (0..to).rev() {
            let uncut = instance.uncut_works(from, to);
            let is_replicable = from >= instance.run_start(to);
            // No longer stage has a shorter period than this one on all cores, or on the best one.
            let least = match is_replicable {
                true => rounded_period(&uncut, *instance.cores()),
                false => uncut.iter().flatten().min().map_or(f64::INFINITY, |&work| work as f64),
            };
            if least == f64::INFINITY || next.is_beaten_by(least) {
                break;
            }
            let works = instance.works(from, to);
            if !is_replicable {
                for (axis, work) in works.iter().enumerate() {
                    if work.is_some_and(|work| Period::from(work) > self.period()) {
                        let mut cores = [0; MAX_KINDS];
                        cores[axis] = 1;
                        next.consider(&works, cores)?;
                    }
                }
                continue;
            }
            for kind in instance.kinds().iter().filter(|kind| kind.is_device) {
                let Some(work_ns) = works[kind.axis] else { continue };
                let too_few = cores_for(work_ns, self.period()).map_or(kind.cores, |fewest| kind.cores.min(fewest - 1));
                let mut cores = [0; MAX_KINDS];
                cores[kind.axis] = too_few;
                next.consider(&works, cores)?;
            }
            let works = instance.shareable(works);
            self.look(instance, &works)?;
            let most = if works[VALUE].is_some() { instance.cores()[VALUE] } else { 0 };
            self.here.next(&works, most, next)?;
        }
        Ok(())
    }

    /// The shortest period longer than this one that any stage of the chain can have, whatever else there is.
    pub(in crate::strategy::exact) fn next_of_chain(
        &mut self,
        instance: &Instance,
        period: Period,
    ) -> Result<Option<Period>, Refused> {
        self.begin(period);
        let mut next = Next { best: None, rounded: f64::INFINITY };
        for to in 1..=instance.tasks() {
            self.next_that_ends_at(instance, to, &mut next)?;
        }
        Ok(next.best)
    }
}

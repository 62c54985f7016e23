//! HeRAD: the best pipeline on cores of two kinds, by dynamic programming over all numbers of cores.

use std::ops::{Add, Div, Mul, Range, Sub};

use super::work::{Work, run_starts};
use super::{Capabilities, Strategy, given_cores, no_schedule};
use crate::error::{Error, ErrorKind};
use crate::platform::Platform;
use crate::profile::Profile;
use crate::schedule::{Schedule, Stage};

/// The shortest period on cores of one or two kinds; among the schedules that have it, one with the fewest
/// cores of the first kind, and among those one with the fewest of the second.
///
/// This is the optimal dynamic programming of Idouar et al., *Energy-Aware Scheduling Strategies for
/// Partially-Replicable Task Chains on Heterogeneous Processors* (eq. 4, Algorithms 7 to 11): it finds the best
/// period and cores for the first 1, 2, … n tasks on each number of big and little cores, one cell of a table
/// each. Its result is that of the published algorithm down to the stages, ties included, and like there,
/// neighbouring stages on one kind that may be replicated are joined at the end. (A first task that takes no
/// time is the exception: there it takes all cores, here one.) The big cores are those of the first kind of the
/// profile of which the platform has any, the little ones those of the second. Periods are compared exactly, and
/// what a stage spends on handing over ([`Profile::with_sync_ns`]) counts as its work.
///
/// # Cost
///
/// The published algorithm tries each number of cores for each stage, in O(n² b l (b + l)) for n tasks on
/// b big and l little cores. Here a cell passes over the candidates that cannot become its result, which
/// leaves O(n b l (n + b + l)), and far less where tasks that may not be replicated cut the chain: milliseconds
/// for tens of cores, seconds for hundreds. What may take more than some ten seconds is refused. The table has n (b + 1) (l + 1) cells of 16 bytes (32 where the
/// work of the chain times the square of the cores of a kind reaches 2^62 ns), and at most
/// [`MAX_CELLS`](Self::MAX_CELLS) of them.
///
/// # Errors
///
/// [`schedule`](Strategy::schedule) fails with [`ErrorKind::Strategy`] where the table would have more cells or take too
/// long to fill.
///
/// # Example
///
/// ```
/// use bief_schedule::strategy::Herad;
/// use bief_schedule::{Period, Platform, Profile, Stage, Strategy, TaskProfile};
///
/// let profile = Profile::new(
///     ["big", "little"],
///     [
///         TaskProfile::sequential("receive", [200, 300]),
///         TaskProfile::replicable("filter", [600, 900]),
///         TaskProfile::replicable("decode", [800, 1200]),
///     ],
/// )?;
/// let schedule = Herad.schedule(&profile, &Platform::parse_cores("big=4,little=2", &profile)?)?;
/// assert_eq!(schedule.planned_period(), Period::from(350));
/// assert_eq!(schedule.stages(), [Stage::new(1, 1, "little"), Stage::new(2, 4, "big")]);
/// # Ok::<(), bief_schedule::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Herad;

impl Herad {
    /// The most cells that the table may have: 2^26, which take 1 GiB, or 2 GiB where the times are long.
    pub const MAX_CELLS: usize = 1 << 26;
}

/// The most steps, of n b l (n + b + l), that are done: some ten seconds.
const MAX_STEPS: f64 = 4e9;

impl Strategy for Herad {
    fn name(&self) -> &'static str {
        "herad"
    }

    fn summary(&self) -> &'static str {
        "The shortest period on cores of two kinds, with the fewest of the first kind; slow where there are many cores."
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities { max_kinds: 2, absent_times: true, ..Capabilities::default() }
    }

    fn schedule(&self, profile: &Profile, platform: &Platform) -> Result<Schedule, Error> {
        let given = given_cores(self, profile, platform)?;
        let big = given[0];
        // Without a second kind, little cores are big ones of which there are none.
        let little = given.get(1).copied().unwrap_or((big.0, 0));
        check_size(self.name(), profile.tasks().len(), big.1, little.1)?;
        let stages = if fits_u64(profile, [big, little]) {
            Table::<u64>::new(profile, [big, little]).stages()
        } else {
            Table::<u128>::new(profile, [big, little]).stages()
        };
        let stages =
            stages.ok_or_else(|| no_schedule(self, "give more cores of the kinds on which its tasks can run"))?;
        let stages = merged(stages, profile).into_iter().map(|stage| {
            let kind = profile.kinds()[stage.kind].as_str();
            Stage::new(stage.tasks.len(), stage.cores, kind)
        });
        Schedule::new(self.name(), stages, profile)
    }
}

fn check_size(name: &str, tasks: usize, big: u32, little: u32) -> Result<(), Error> {
    let refused = |costs: String| {
        let reason = format!(
            "{tasks} tasks on {big} and {little} cores {costs}: take the strategy `exact`, which is fast there, or give fewer \
             cores"
        );
        Err(Error::new(ErrorKind::Strategy, format!("strategy `{name}`"), reason))
    };
    let plane = (big as usize + 1) * (little as usize + 1);
    let cells = tasks as f64 * plane as f64;
    if cells > Herad::MAX_CELLS as f64 {
        return refused(format!("make a table of {cells:.1e} cells, more than the {} that it fills", Herad::MAX_CELLS));
    }
    let steps = cells * (tasks as f64 + f64::from(big) + f64::from(little));
    if steps > MAX_STEPS {
        return refused(format!("take up to {steps:.1e} steps, more than the {MAX_STEPS:.1e} that it does"));
    }
    Ok(())
}

/// A stage that was chosen, its kind by position in the profile.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Chosen {
    tasks: Range<usize>,
    cores: u32,
    kind: usize,
}

/// Joins neighbouring stages on one kind that may be replicated. No period grows by it: that of the joined
/// stage lies between those of the two, or below where it saves a hand-over.
fn merged(stages: Vec<Chosen>, profile: &Profile) -> Vec<Chosen> {
    let mut merged: Vec<Chosen> = Vec::new();
    for stage in stages {
        match merged.last_mut() {
            Some(last) if last.kind == stage.kind && profile.is_replicable(last.tasks.start..stage.tasks.end) => {
                last.tasks.end = stage.tasks.end;
                last.cores += stage.cores;
            }
            _ => merged.push(stage),
        }
    }
    merged
}

/// Two periods of at most D cores each, if they differ, do so by 1 / D² or more. Work is therefore counted in
/// units of 1 / D² ns: rounded down to whole units, periods are ordered as the fractions are, and equal where
/// they are equal.
fn scale(cores: [(usize, u32); 2]) -> u64 {
    let most = u64::from(cores[0].1.max(cores[1].1));
    most * most
}

/// Whether scaled work fits u64 as often as the table needs (see [`exceeds`]).
fn fits_u64(profile: &Profile, cores: [(usize, u32); 2]) -> bool {
    cores.iter().all(|&(kind, _)| u128::from(Work::new(profile, kind).max_ns()) * u128::from(scale(cores)) < 1 << 62)
}

/// The integers that scaled work and periods are counted in.
trait Scaled:
    Copy + Ord + From<u64> + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> + Div<Output = Self>
{
    /// Stands for no way at all.
    const MAX: Self;

    /// Longer than any period of the table, and so much less than [`MAX`](Self::MAX) that [`exceeds`] may be asked about it
    /// and one core.
    const LONG: Self;

    /// As a number of cores; more than there can be where it is no `usize`.
    fn count(self) -> usize;
}

impl Scaled for u64 {
    const MAX: Self = Self::MAX;
    const LONG: Self = 1 << 62;

    fn count(self) -> usize {
        self.try_into().unwrap_or(usize::MAX)
    }
}

impl Scaled for u128 {
    const MAX: Self = Self::MAX;
    // Work is below 2^64 ns, and its scale at most the square of 16 000 cores.
    const LONG: Self = 1 << 100;

    fn count(self) -> usize {
        self.try_into().unwrap_or(usize::MAX)
    }
}

/// Whether `work` on `cores` cores takes longer than `period`, without a division.
///
/// Callers ask about one core, or about cores with one less of which it takes `period` or longer. The product
/// therefore stays below twice the work of the chain and a few units.
fn exceeds<T: Scaled>(work: T, cores: usize, period: T) -> bool {
    work >= (period + T::from(1)) * T::from(cores as u64)
}

/// The best for some first tasks of the chain on some cores; the better of two is the lesser.
///
/// The published CompareCells is no order, but it decides as this one does wherever it is asked. Let
/// (p, b, l) be the least that is possible in a cell. It is among the candidates: if it leaves a core unused, a
/// neighbour with one core less has it, else all schedules of period p use just these cores, and so does the
/// one that eq. 4 finds. CompareCells replaces any other candidate of period p by it, as that has more big
/// cores, or as many and more little ones; and it by none but equal ones. The last of the equal ones stays.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Cell<T> {
    /// The period in scaled nanoseconds; the greatest integer where there is no way.
    period: T,
    /// The cores in use: 2^16 for each big and 1 for each little one.
    used: u32,
}

impl<T: Scaled> Cell<T> {
    /// No way to schedule the tasks on the cores.
    const NONE: Self = Self { period: T::MAX, used: 0 };
    /// What any way is better than.
    const WORST: Self = Self { period: T::LONG, used: 0 };
}

/// The cores of one kind.
struct Pool<T> {
    kind: usize,
    cores: usize,
    /// The scaled work of the first 0, 1, … n tasks, without hand-overs.
    prefix: Vec<T>,
    sync: T,
    /// For each `to`, the first `from` such that all tasks of `from..to` can run on the kind.
    runnable_from: Vec<usize>,
    /// How far apart cells with one core more or less lie.
    stride: usize,
    /// What one core counts in [`Cell::used`].
    unit: u32,
}

impl<T: Scaled> Pool<T> {
    fn new(profile: &Profile, (kind, cores): (usize, u32), scale: u64, stride: usize, unit: u32) -> Self {
        let scaled = |ns: u64| T::from(ns) * T::from(scale);
        let prefix = profile.prefix_ns(kind).iter().map(|&ns| scaled(ns)).collect();
        let work = Work::new(profile, kind);
        let runnable_from = (0..=work.tasks()).map(|to| work.runnable_from(to)).collect();
        Self { kind, cores: cores as usize, prefix, sync: scaled(profile.sync_ns(kind)), runnable_from, stride, unit }
    }

    fn work(&self, from: usize, to: usize) -> T {
        self.prefix[to] - self.prefix[from] + self.sync
    }

    /// All tasks before `to` as a single stage on 0, 1, … cores (Algorithm 8); no way where one cannot run on the kind.
    fn alone(&self, to: usize, replicable: bool) -> Vec<Cell<T>> {
        if self.runnable_from[to] > 0 {
            return vec![Cell::NONE; self.cores + 1];
        }
        let work = self.work(0, to);
        let with = |given: usize| {
            let cores = if replicable { given } else { 1 };
            Cell { period: work / T::from(cores as u64), used: cores as u32 * self.unit }
        };
        std::iter::once(Cell::NONE).chain((1..=self.cores).map(with)).collect()
    }

    /// The better of `best` and all that ends with a stage of this kind (the loops of Algorithm 9) in cell `at`
    /// of the row, which has `cores` cores of this kind. `tried` is told of each candidate: where its last stage
    /// begins, on how many cores, and what the candidate is. `best` is not [`Cell::NONE`], so that tasks before the stage
    /// that cannot be scheduled exceed it.
    ///
    /// The further left a stage begins, and the fewer cores it has, the longer it takes; the more it has, the
    /// fewer are left for the tasks before it, and these take longer. Candidates fall away in three places.
    ///
    /// - With too few cores the stage alone exceeds `best`. How many are too few only grows as `from` goes left
    ///   and `best` improves; where all are, they are too few for what begins further left.
    /// - Once the tasks before the stage exceed `best`, they do so with each core that is taken from them.
    /// - Once the tasks before take at least as long as the stage, one more core for it only makes the candidate
    ///   worse. If the period stays, the tasks before use no less than they did, being the least of what fewer
    ///   cores make possible, and the stage uses one core more.
    ///
    /// Where the third does not end it, `best` is not longer than the stage was, so the next stage needs as many
    /// cores: all stages together are tried with O(to + cores) candidates.
    fn improve(
        &self,
        mut best: Cell<T>,
        row: &Row<T>,
        at: usize,
        cores: usize,
        mut tried: impl FnMut(usize, usize, Cell<T>),
    ) -> Cell<T> {
        let mut too_few = 0;
        for from in (self.runnable_from[row.to].max(1)..row.to).rev() {
            let work = self.work(from, row.to);
            let most = if from >= row.run_start { cores } else { cores.min(1) };
            if exceeds(work, too_few + 1, best.period) {
                too_few = (work / (best.period + T::from(1))).count();
            }
            if too_few >= most {
                break;
            }
            let before = row.before(from);
            for taken in too_few + 1..=most {
                let before = before[at - taken * self.stride];
                if before.period > best.period {
                    break;
                }
                let limits = exceeds(work, taken, before.period);
                let period = if limits { work / T::from(taken as u64) } else { before.period };
                let candidate = Cell { period, used: before.used + taken as u32 * self.unit };
                tried(from, taken, candidate);
                best = best.min(candidate);
                if !limits {
                    break;
                }
            }
        }
        best
    }
}

/// The cells of the tasks before `to`, and what they are made of.
struct Row<'a, T> {
    to: usize,
    /// Stages that begin here or later may be replicated.
    run_start: usize,
    /// The cells of the first 1, 2, … tasks, `plane` cells each.
    cells: &'a [Cell<T>],
    plane: usize,
}

impl<T> Row<'_, T> {
    /// The cells of the tasks before `from`.
    fn before(&self, from: usize) -> &[Cell<T>] {
        &self.cells[(from - 1) * self.plane..from * self.plane]
    }
}

/// The table of Algorithm 7. The published one also holds, for each cell, where its last stage begins and which
/// cores it has; here these are found again for the few cells that the schedule goes through.
struct Table<T> {
    big: Pool<T>,
    little: Pool<T>,
    /// For each `to`, the first `from` such that all tasks of `from..to` may be replicated.
    run_start: Vec<usize>,
    /// For the first 1, 2, … n tasks on 0, 1, … big cores, the cells of 0, 1, … little cores.
    cells: Vec<Cell<T>>,
}

impl<T: Scaled> Table<T> {
    fn new(profile: &Profile, [big, little]: [(usize, u32); 2]) -> Self {
        let scale = scale([big, little]);
        let big = Pool::new(profile, big, scale, little.1 as usize + 1, 1 << 16);
        let little = Pool::new(profile, little, scale, 1, 1);
        let run_start = run_starts(profile);
        let cells = (run_start.len() - 1) * (big.cores + 1) * (little.cores + 1);
        let mut table = Self { big, little, run_start, cells: vec![Cell::NONE; cells] };
        table.fill();
        table
    }

    fn plane(&self) -> usize {
        (self.big.cores + 1) * (self.little.cores + 1)
    }

    fn fill(&mut self) {
        let plane = self.plane();
        for to in 1..self.run_start.len() {
            let replicable = self.run_start[to] == 0;
            let (alone_big, alone_little) = (self.big.alone(to, replicable), self.little.alone(to, replicable));
            let (before, now) = self.cells.split_at_mut((to - 1) * plane);
            let row = Row { to, run_start: self.run_start[to], cells: before, plane };
            for (big, &alone_big) in alone_big.iter().enumerate() {
                for (little, &alone_little) in alone_little.iter().enumerate() {
                    let at = big * self.big.stride + little;
                    let mut best = alone_big.min(alone_little);
                    if little > 0 {
                        best = best.min(now[at - self.little.stride]);
                    }
                    if big > 0 {
                        best = best.min(now[at - self.big.stride]);
                    }
                    if at > 0 {
                        best = best.min(Cell::WORST);
                        best = self.big.improve(best, &row, at, big, |_, _, _| ());
                        best = self.little.improve(best, &row, at, little, |_, _, _| ());
                    }
                    now[at] = if best < Cell::WORST { best } else { Cell::NONE };
                }
            }
        }
    }

    /// The stages that the published algorithm holds in the cell of all tasks and cores (Algorithm 11); `None` where there
    /// is no way.
    fn stages(&self) -> Option<Vec<Chosen>> {
        let (mut to, mut big, mut little) = (self.run_start.len() - 1, self.big.cores, self.little.cores);
        if self.cells[self.cells.len() - 1] == Cell::NONE {
            return None;
        }
        let mut stages = Vec::new();
        while to > 0 {
            let at = big * self.big.stride + little;
            let row = Row { to, run_start: self.run_start[to], cells: &self.cells, plane: self.plane() };
            let now = row.before(to);
            let used = (now[at].used >> 16, now[at].used & 0xffff);
            if let Some((from, pool, taken)) = self.last_stage(&row, big, little) {
                stages.push(Chosen { tasks: from..to, cores: taken as u32, kind: pool.kind });
                // What is left of this kind, and of the other no more than is used.
                (big, little) = match pool.unit {
                    1 => (used.0 as usize, little - taken),
                    _ => (big - taken, used.1 as usize),
                };
                to = from;
            } else if big > 0 && now[at - self.big.stride] == now[at] {
                big -= 1;
            } else if little > 0 && now[at - self.little.stride] == now[at] {
                little -= 1;
            } else {
                let (pool, cores) = if used.0 > 0 { (&self.big, used.0) } else { (&self.little, used.1) };
                stages.push(Chosen { tasks: 0..to, cores, kind: pool.kind });
                to = 0;
            }
        }
        stages.reverse();
        Some(stages)
    }

    /// The last of the candidates of Algorithm 9 that equal their cell: where the stage starts, its kind and cores.
    fn last_stage(&self, row: &Row<T>, big: usize, little: usize) -> Option<(usize, &Pool<T>, usize)> {
        let at = big * self.big.stride + little;
        let cell = row.before(row.to)[at];
        let last = |pool: &Pool<T>, cores: usize| {
            let mut last = None;
            pool.improve(cell, row, at, cores, |from, taken, candidate| {
                if candidate == cell {
                    last = Some((from, taken));
                }
            });
            last
        };
        // They come with `from` going left, and the little cores after the big ones.
        match (last(&self.big, big), last(&self.little, little)) {
            (Some(with_big), with_little) if with_little.is_none_or(|with_little| with_big.0 < with_little.0) => {
                Some((with_big.0, &self.big, with_big.1))
            }
            (_, with_little) => with_little.map(|(from, taken)| (from, &self.little, taken)),
        }
    }
}

#[cfg(test)]
mod published;

#[cfg(test)]
mod tests;

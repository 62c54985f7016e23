//! The dynamic programming tables: for the first tasks of the chain and every number of cores along the first axes, the
//! least that is needed along the last.

use super::instance::{Candidate, VALUE};

/// What a table counts. A greater value is worse, and adding to the worst keeps it the worst.
pub(super) trait Value: Copy + Ord {
    /// Nothing at all: what no task needs.
    const NOTHING: Self;
    /// More than any schedule needs.
    const WORST: Self;

    fn plus(self, other: Self) -> Self;

    /// What one more stage costs that has `cores` cores of the last axis' kind.
    fn stage(cores: u16) -> Self;
}

/// Cores of the last axis' kind. Sixteen bits with a sign: the minimum of these has an instruction on every processor.
impl Value for i16 {
    const NOTHING: Self = 0;
    const WORST: Self = i16::MAX;

    #[inline]
    fn plus(self, other: Self) -> Self {
        self.saturating_add(other)
    }

    #[inline]
    fn stage(cores: u16) -> Self {
        cores as i16
    }
}

/// Cores of the last axis' kind, and stages: of the schedules with the fewest such cores, those with the fewest stages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct CoresAndStages(u32);

impl Value for CoresAndStages {
    const NOTHING: Self = Self(0);
    const WORST: Self = Self(u32::MAX);

    #[inline]
    fn plus(self, other: Self) -> Self {
        // A stage has a core, and there are at most 4 kinds of 16 000: both halves hold what any schedule can have,
        // and the worst value is never reached by one.
        Self(self.0.saturating_add(other.0))
    }

    #[inline]
    fn stage(cores: u16) -> Self {
        Self(u32::from(cores) << 16 | 1)
    }
}

/// Room is made at once for so many values at most: larger tables grow.
const RESERVED: usize = 1 << 15;

/// How many values are computed at once: rows are made of so many, or a multiple.
const LANES: usize = 16;

/// For each end, a box of values: one for each number of cores along the first axes.
///
/// A value is the least for **at most** so many cores; it never grows along an axis, and never shrinks from one end to
/// the next (taking the last task away from a schedule costs nothing). Boxes are cut off where their values stay the
/// same: reading beyond an edge reads the edge.
pub(super) struct Table<V> {
    values: Vec<V>,
    blocks: Vec<Block>,
}

/// The values of one end: where they begin, and how many there are along each axis, the last axis innermost.
#[derive(Clone, Copy)]
struct Block {
    at: usize,
    extent: [usize; VALUE],
}

impl Block {
    /// Where the row begins that lies at `i` and `j` along the outer axes. A row ends in [`LANES`] values to spare, so
    /// that it can be written in whole lanes from anywhere in it; they are never read.
    fn row(&self, i: usize, j: usize) -> usize {
        self.at + (i * self.extent[1] + j) * (self.extent[2] + LANES)
    }

    fn rows(&self) -> usize {
        self.extent[0] * self.extent[1]
    }
}

impl<V> Default for Table<V> {
    fn default() -> Self {
        Self { values: Vec::new(), blocks: Vec::new() }
    }
}

impl<V: Value> Table<V> {
    /// Begins anew for a chain of `tasks` tasks, with the values of none of them. An end will want no more than `extent` along each
    /// axis.
    pub(super) fn begin(&mut self, tasks: usize, extent: [usize; VALUE]) {
        self.values.clear();
        self.values.reserve(Self::size(extent).saturating_mul(tasks + 1).min(RESERVED));
        self.blocks.clear();
        self.blocks.reserve(tasks + 1);
        self.values.resize(2 * LANES, V::NOTHING);
        self.blocks.push(Block { at: 0, extent: [1, 1, LANES] });
    }

    /// Adds the values of the next end, of which at least `extent` are wanted along each axis, from the stages that end
    /// there. Returns the last of those that are wanted.
    pub(super) fn push(&mut self, extent: [usize; VALUE], stages: &[Candidate]) -> V {
        let new = Block { at: self.values.len(), extent: padded(extent) };
        let width = new.extent[2];
        self.values.resize(new.at + new.rows() * (width + LANES), V::WORST);
        let (before, values) = self.values.split_at_mut(new.at);
        for stage in stages {
            let source = self.blocks[stage.from as usize];
            let shift: [usize; VALUE] = std::array::from_fn(|axis| usize::from(stage.cores[axis]));
            let cost = V::stage(stage.cores[VALUE]);
            if new.rows() == 1 && source.rows() == 1 {
                // Where no cores are wanted along the outer axes, stages on such cores are not, either.
                if shift[0] + shift[1] > 0 {
                    continue;
                }
                relax(values, &before[source.at..source.at + source.extent[2]], shift[2], cost);
                continue;
            }
            for i in shift[0]..extent[0] {
                for j in shift[1]..extent[1] {
                    let from =
                        source.row((i - shift[0]).min(source.extent[0] - 1), (j - shift[1]).min(source.extent[1] - 1));
                    let to = new.row(i, j) - new.at;
                    relax(&mut values[to..to + width + LANES], &before[from..from + source.extent[2]], shift[2], cost);
                }
            }
        }
        self.blocks.push(new);
        values[new.row(extent[0] - 1, extent[1] - 1) - new.at + extent[2] - 1]
    }

    /// How many values there are.
    pub(super) fn len(&self) -> usize {
        self.values.len()
    }

    /// How many values an end with `extent` along each axis adds.
    pub(super) fn size(extent: [usize; VALUE]) -> usize {
        let [i, j, k] = padded(extent);
        i.saturating_mul(j).saturating_mul(k + LANES)
    }

    /// How many ends there are values for.
    pub(super) fn ends(&self) -> usize {
        self.blocks.len() - 1
    }

    /// How many values there are, at least, along each axis for the last end.
    pub(super) fn last_extent(&self) -> [usize; VALUE] {
        self.blocks[self.ends()].extent
    }

    /// The value for the tasks before `to` on at most `cores` cores along each axis.
    pub(super) fn get(&self, to: usize, cores: [usize; VALUE]) -> V {
        let here = &self.blocks[to];
        let inside = |axis: usize| cores[axis].min(here.extent[axis] - 1);
        self.values[here.row(inside(0), inside(1)) + inside(2)]
    }

    /// The stages of a schedule that has the value for all tasks on at most `cores` cores, the last stage first.
    /// `ending_at` gives the stages that the values were made from.
    pub(super) fn stages_backwards<'a>(
        &'a self,
        mut cores: [usize; VALUE],
        ending_at: impl Fn(usize) -> &'a [Candidate],
    ) -> impl Iterator<Item = (usize, Candidate)> {
        let mut to = self.ends();
        let mut value = self.get(to, cores);
        std::iter::from_fn(move || {
            if to == 0 {
                return None;
            }
            let (stage, before, before_value) = ending_at(to)
                .iter()
                .find_map(|stage| {
                    let mut before = cores;
                    for (before, &cores) in before.iter_mut().zip(&stage.cores) {
                        *before = before.checked_sub(usize::from(cores))?;
                    }
                    let before_value = self.get(stage.from as usize, before);
                    (before_value.plus(V::stage(stage.cores[VALUE])) == value).then_some((*stage, before, before_value))
                })
                .expect("every value comes from one of the stages");
            let end = to;
            (to, cores, value) = (stage.from as usize, before, before_value);
            Some((end, stage))
        })
    }
}

/// Rows are made of whole lanes.
fn padded([i, j, k]: [usize; VALUE]) -> [usize; VALUE] {
    [i, j, k.next_multiple_of(LANES)]
}

/// Lowers each value of a row, from place `shift` on, to that of the source so many places before, plus a cost.
#[inline]
fn relax<V: Value>(row: &mut [V], source: &[V], shift: usize, cost: V) {
    let width = row.len() - LANES;
    if shift >= width {
        return;
    }
    if let (LANES, Some(source)) = (width, <&[V; LANES]>::try_from(source).ok()) {
        // A constant number of values: no loop is left of it.
        let values: &mut [V; LANES] = row[shift..].first_chunk_mut().expect("a row has lanes to spare");
        *values = std::array::from_fn(|lane| values[lane].min(source[lane].plus(cost)));
        return;
    }
    let end = shift + (width - shift).next_multiple_of(LANES);
    let values = &mut row[shift..end];
    let (inside, beyond) = values.split_at_mut(values.len().min(source.len()));
    for (value, source) in inside.iter_mut().zip(source) {
        *value = (*value).min(source.plus(cost));
    }
    let edge = source[source.len() - 1].plus(cost);
    for value in beyond {
        *value = (*value).min(edge);
    }
}

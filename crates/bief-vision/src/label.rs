//! Connected regions of pixels that are more than sky: found by runs.
//!
//! A strip of rows becomes bits, 64 pixels at a time; bits become runs; a run joins the runs of the row above that it touches, corners
//! included. Regions that turn out to be one are merged. What a region adds up, it adds up run by run: the sums of places in closed
//! form, those of grey levels pixel by pixel. All of it happens in one pass, while a strip is in the nearest cache.

use std::hint::{black_box, select_unpredictable};
use std::ops::{Range, RangeInclusive};

use fearless_simd::{Simd, dispatch, prelude::*};

use crate::ahead::Ahead;
use crate::bits::{Bits, LANES, LARGER, LATER, WORD, Word, place};
use crate::region::{FEW, Region, Totals};
use crate::sky::{STRIP, Sky};

/// Rows from the ones at hand to those that are asked for: the sky is measured up to 44 rows ahead.
const AHEAD: usize = 56;
/// From a place to the one in the next row.
const ROW: u64 = place(1, 0);

/// Pixels of rows that lie side by side, all of them more than sky: of each such run the [`place`] of the first one and the one behind the
/// last, and its region. Rows count from 1. There is room for all that a strip and the row above it can have.
#[derive(Debug, Clone)]
struct Runs {
    firsts: Vec<u64>,
    ends: Vec<u64>,
    regions: Vec<u32>,
    /// Its first pixels, the first one in the lowest byte.
    pixels: Vec<u64>,
}

impl Runs {
    fn new(width: usize) -> Self {
        // Of the row above, there may be two more; a mark is behind the last one, and vectors reach up to seven further.
        let most = (STRIP + 1) * width.div_ceil(2) + LANES;
        Self { firsts: vec![0; most], ends: vec![0; most], regions: vec![0; most], pixels: vec![0; most] }
    }

    /// Keeps some of them; how many these are.
    #[inline(always)]
    fn keep(&mut self, kept: Range<usize>) -> usize {
        let count = kept.len();
        self.firsts.copy_within(kept.clone(), 0);
        self.ends.copy_within(kept.clone(), 0);
        self.regions.copy_within(kept, 0);
        count
    }

    /// Takes those of the next strip, whose first row begins at `start`: behind so many that are there. Answers how many there are then.
    /// Asks for memory meanwhile.
    #[inline(always)]
    fn take<S: Simd>(&mut self, simd: S, bits: &Bits, start: u64, count: usize, ahead: &mut Ahead<'_>) -> usize {
        let (mut begun, mut ended) = (count, count);
        bits.each(simd, |Word { place, light, before, behind }| {
            ahead.ask(1);
            let place = start.wrapping_add(place);
            let firsts = light & !(light << 1 | before >> (WORD - 1));
            let lasts = light & !(light >> 1 | behind << (WORD - 1));
            begun = append(&mut self.firsts, begun, place, firsts);
            ended = append(&mut self.ends, ended, place + 1, lasts);
        });
        self.firsts[begun] = u64::MAX;
        begun
    }
}

/// Appends the places of a word's bits to so many that there are; answers how many there are then. In most words a run begins and one ends,
/// in some only one of both: there is no branch for the first bit.
#[inline(always)]
fn append(places: &mut [u64], mut count: usize, place: u64, mut bits: u64) -> usize {
    places[count] = place + u64::from(bits.trailing_zeros());
    count += usize::from(bits != 0);
    bits &= bits.wrapping_sub(1);
    while bits != 0 {
        places[count] = place + u64::from(bits.trailing_zeros());
        count += 1;
        bits &= bits - 1;
    }
    count
}

/// Finds the connected regions of pictures. It keeps its room from picture to picture, and nothing else.
///
/// ```
/// use bief_vision::{Labeller, Size, Sky, Threshold};
///
/// let size = Size::new(5, 3)?;
/// let mut labeller = Labeller::new(Sky::new(size, Threshold::Fixed(100)));
/// labeller.label(&[
///       0, 200,   0,   0, 150, //
///     100,   0,   0,   0, 150, //
///       0,   0,   0,   0,   0, //
/// ], 1, 100);
/// let regions: Vec<_> = labeller.regions().collect();
/// assert_eq!(regions.len(), 2); // corners touch
/// assert_eq!((regions[0].pixels, regions[0].sum, regions[1].right), (2, 300, 4));
/// # Ok::<(), bief::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Labeller {
    sky: Sky,
    limits: Vec<u8>,
    bits: Bits,
    runs: Runs,
    /// All that began as a region, in order; and the one that each is a part of, an earlier one or itself.
    begun: Vec<Totals>,
    parents: Vec<u32>,
    /// How many pixels the regions have that are wanted.
    wanted: RangeInclusive<u64>,
}

impl Labeller {
    /// Finds regions of what is brighter than this sky.
    pub fn new(sky: Sky) -> Self {
        let width = sky.size().width();
        Self {
            limits: vec![255; width.next_multiple_of(WORD)],
            bits: Bits::new(width),
            runs: Runs::new(width),
            begun: Vec::new(),
            parents: Vec::new(),
            wanted: 0..=0,
            sky,
        }
    }

    /// Finds the regions of a picture that have `least` to `most` pixels.
    ///
    /// # Panics
    /// A picture of another size.
    pub fn label(&mut self, picture: &[u8], least: u32, most: u32) {
        assert_eq!(picture.len(), self.sky.size().pixels(), "a picture of {}", self.sky.size());
        self.wanted = least.into()..=most.into();
        dispatch!(self.sky.level(), simd => self.find(simd, picture, least >= LARGER));
    }

    /// The regions that it found last, in the order in which their first pixels are read, row by row.
    pub fn regions(&self) -> impl Iterator<Item = Region> {
        self.totals().map(Totals::region)
    }

    /// The same, as they were added up.
    #[inline(always)]
    pub(crate) fn totals(&self) -> impl Iterator<Item = &Totals> {
        let whole = (0..).zip(&self.parents).zip(&self.begun).filter(|((own, parent), _)| own == *parent);
        whole.map(|(_, totals)| totals).filter(|totals| self.wanted.contains(&totals.pixels()))
    }

    /// The sky of the picture that it looked at last.
    pub fn sky(&self) -> &Sky {
        &self.sky
    }

    /// Goes through the picture once, from above: each strip is looked at while it is at hand.
    #[inline(always)]
    fn find<S: Simd>(&mut self, simd: S, picture: &[u8], only_larger: bool) {
        let (width, height) = (self.sky.size().width(), self.sky.size().height());
        self.begun.clear();
        self.parents.clear();
        self.bits.begin();
        self.sky.begin();
        // The first rows are needed at once: reading them one after the other is the fastest way to have them at hand.
        black_box(picture[..picture.len().min(AHEAD * width)].iter().fold(0, |all: u8, &pixel| all.max(pixel)));
        let (mut above, mut runs) = (0, 0);
        for strip in 0..(height + LATER).div_ceil(STRIP) {
            let rows = |first: usize| &picture[first.min(height) * width..(first + STRIP).min(height) * width];
            let pixels = rows(strip * STRIP);
            let mut ahead = Ahead(rows(strip * STRIP + AHEAD));
            if !pixels.is_empty() {
                self.sky.limits(simd, picture, strip, &mut self.limits);
            }
            self.bits.take(simd, width, pixels, &self.limits, &mut ahead);
            if only_larger {
                self.bits.larger(simd, &mut ahead);
            } else {
                self.bits.all();
            }
            // Rows of runs count from 1, and come later.
            let start = (ROW * (strip * STRIP + 1) as u64).wrapping_sub(ROW * LATER as u64);
            let first = self.runs.keep(above..runs);
            runs = self.runs.take(simd, &self.bits, start, first, &mut ahead);
            above = self.join(first..runs, &mut ahead);
            self.sum_up(simd, first..runs, picture, &mut ahead);
            ahead.ask_for_all();
        }
        for part in 0..self.parents.len() {
            // That of an earlier one is the whole already.
            let whole = self.parents[self.parents[part] as usize] as usize;
            self.parents[part] = whole as u32;
            let (earlier, later) = self.begun.split_at_mut(part);
            if let Some(whole) = earlier.get_mut(whole) {
                whole.add(simd, &later[0]);
            }
        }
    }

    /// Adds some runs to their regions.
    #[inline(always)]
    fn sum_up<S: Simd>(&mut self, simd: S, runs: Range<usize>, picture: &[u8], ahead: &mut Ahead<'_>) {
        let width = self.sky.size().width();
        self.begun.resize(self.parents.len(), Totals::EMPTY);
        // Vectors reach beyond the last run.
        let vectors = runs.start..runs.start + runs.len().next_multiple_of(LANES);
        let (firsts, ends) = (&self.runs.firsts[vectors.clone()], &self.runs.ends[vectors.clone()]);
        let pixels = &mut self.runs.pixels[vectors];
        let regions = &self.runs.regions[runs];
        let start = |first: u64| (first / ROW - 1) as usize * width + (first % ROW) as usize;
        for ((&first, &end), pixels) in firsts.iter().zip(ends).zip(&mut *pixels).take(regions.len()) {
            let count = (end - first).min(FEW as u64);
            let behind = &picture[start(first)..];
            let few = behind.first_chunk().copied().unwrap_or_else(|| {
                let mut few = [0; FEW];
                few[..behind.len()].copy_from_slice(behind);
                few
            });
            *pixels = u64::from_le_bytes(few) & u64::MAX >> (64 - 8 * count);
        }
        let lanes = S::u64s::LEN;
        let pixels = pixels.chunks_exact(lanes);
        let vectors = firsts.chunks_exact(lanes).zip(ends.chunks_exact(lanes)).zip(pixels).zip(regions.chunks(lanes));
        let mut few = [Totals::EMPTY; LANES];
        for (((firsts, ends), pixels), regions) in vectors {
            let first = S::u64s::from_slice(simd, firsts);
            let count = S::u64s::from_slice(simd, ends) - first;
            let (row, column) = ((first >> ROW.ilog2()) - 1, first & (ROW - 1));
            Totals::of_few(simd, [row, column, count, S::u64s::from_slice(simd, pixels)], &mut few[..lanes]);
            for (((few, &region), &first), &end) in few.iter().zip(regions).zip(firsts).zip(ends) {
                let whole = &mut self.begun[region as usize];
                let count = (end - first) as usize;
                ahead.ask(2);
                if count <= FEW {
                    whole.add(simd, few);
                } else {
                    let pixels = &picture[start(first)..][..count];
                    whole.add(simd, &Totals::of_many((first / ROW - 1) as u16, (first % ROW) as u16, pixels));
                }
            }
        }
    }

    /// Gives each of some runs the region that it touches in the row above, or a new one. Answers which run is the first that later ones
    /// may touch.
    #[inline(always)]
    fn join(&mut self, runs: Range<usize>, ahead: &mut Ahead<'_>) -> usize {
        let Runs { firsts, ends, regions, .. } = &mut self.runs;
        // Room for a region that each run may begin. Whether it touches one above cannot be foretold, so there is no branch for that.
        let mut begun = self.parents.len() as u32;
        self.parents.extend(begun..begun + runs.len() as u32);
        let mut above = 0;
        for index in runs {
            let (left, right) = (firsts[index] - ROW, ends[index] - ROW);
            // Those that end before this run begins touch no later one either.
            above += usize::from(ends[above] < left);
            while ends[above] < left {
                above += 1;
            }
            let touches = firsts[above] <= right;
            let own = select_unpredictable(touches, regions[above], begun);
            begun += u32::from(!touches);
            regions[index] = own;
            ahead.ask(2);
            let mut other = above + 1;
            while firsts[other] <= right {
                let (one, two) = (root(&mut self.parents, own), root(&mut self.parents, regions[other]));
                self.parents[one.max(two) as usize] = one.min(two);
                other += 1;
            }
        }
        self.parents.truncate(begun as usize);
        above
    }
}

/// The region that one is a part of; the way there gets shorter.
#[inline(always)]
fn root(parents: &mut [u32], mut region: u32) -> u32 {
    while parents[region as usize] != region {
        let next = parents[region as usize];
        parents[region as usize] = parents[next as usize];
        region = next;
    }
    region
}

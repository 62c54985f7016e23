//! Connected regions of pixels that are more than sky: found by runs.
//!
//! A row becomes bits, 64 pixels at a time; bits become runs; a run joins the runs of the row above that it touches, corners
//! included. Regions that turn out to be one are merged. What a region adds up, it adds up run by run: the sums of places in closed
//! form, those of grey levels pixel by pixel. All of it happens in one pass, while a row is in the nearest cache.

use std::hint::select_unpredictable;
use std::ops::RangeInclusive;

use bief::memory::prefetch;
use fearless_simd::{Simd, dispatch, prelude::*, u8x16, u64x2};

use crate::bits::{Bits, LARGER, LATER, WORD, Words};
use crate::sky::{STRIP, Sky};

/// Rows from the one at hand to the one that is asked for: the sky is measured up to 44 rows ahead.
const AHEAD: usize = 52;
/// Parts of a row that are asked for one by one.
const PARTS: usize = 4;

/// A connected region of pixels: where it is, and its sums. Rows and columns count from 0.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Region {
    /// First column.
    pub left: u16,
    /// Last column.
    pub right: u16,
    /// First row.
    pub top: u16,
    /// Last row.
    pub bottom: u16,
    /// Pixels.
    pub pixels: u64,
    /// Sum of columns.
    pub x: u64,
    /// Sum of rows.
    pub y: u64,
    /// Sum of squares of columns.
    pub xx: u64,
    /// Sum of squares of rows.
    pub yy: u64,
    /// Sum of columns times rows.
    pub xy: u64,
    /// Sum of grey levels.
    pub sum: u64,
    /// The brightest grey level.
    pub max: u8,
    /// Sum of grey levels times columns.
    pub grey_x: u64,
    /// Sum of grey levels times rows.
    pub grey_y: u64,
    /// Sum of grey levels times squares of columns.
    pub grey_xx: u64,
    /// Sum of grey levels times squares of rows.
    pub grey_yy: u64,
    /// Sum of grey levels times columns times rows.
    pub grey_xy: u64,
}

impl Region {
    /// Of no pixels.
    fn empty() -> Self {
        Self { left: u16::MAX, top: u16::MAX, ..Self::default() }
    }

    /// A run of a row, of which all pixels are given.
    #[inline(always)]
    fn of_run<S: Simd>(simd: S, row: u16, run: &Run, pixels: &[u8]) -> Self {
        let (first, y) = (u64::from(run.first), u64::from(row));
        let Sums { count, place, square, grey, grey_place, grey_square, max } =
            Sums::of(simd, pixels, run.first.into(), run.end.into());
        // Places from the first pixel on become columns.
        let (x, grey_x) = (first * count + place, first * grey + grey_place);
        let (row_count, row_grey) = (y * count, y * grey);
        Self {
            left: run.first,
            right: run.end - 1,
            top: row,
            bottom: row,
            pixels: count,
            x,
            y: row_count,
            xx: first * (x + place) + square,
            yy: y * row_count,
            xy: y * x,
            sum: grey,
            max,
            grey_x,
            grey_y: row_grey,
            grey_xx: first * (grey_x + grey_place) + grey_square,
            grey_yy: y * row_grey,
            grey_xy: y * grey_x,
        }
    }

    /// Adds another part of the same one.
    #[inline(always)]
    fn merge(&mut self, other: &Self) {
        self.left = self.left.min(other.left);
        self.right = self.right.max(other.right);
        self.top = self.top.min(other.top);
        self.bottom = self.bottom.max(other.bottom);
        self.max = self.max.max(other.max);
        for (sum, more) in [
            (&mut self.pixels, other.pixels),
            (&mut self.x, other.x),
            (&mut self.y, other.y),
            (&mut self.xx, other.xx),
            (&mut self.yy, other.yy),
            (&mut self.xy, other.xy),
            (&mut self.sum, other.sum),
            (&mut self.grey_x, other.grey_x),
            (&mut self.grey_y, other.grey_y),
            (&mut self.grey_xx, other.grey_xx),
            (&mut self.grey_yy, other.grey_yy),
            (&mut self.grey_xy, other.grey_xy),
        ] {
            *sum += more;
        }
    }
}

/// Sums over pixels side by side, whose places count from the first one.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Sums {
    count: u64,
    place: u64,
    square: u64,
    grey: u64,
    /// Of grey levels times places, and times their squares.
    grey_place: u64,
    grey_square: u64,
    max: u8,
}

impl Sums {
    /// Pixels of most runs: all of them at once.
    const FEW: usize = 8;
    /// Pixels of which sums fit 32 bits.
    const BLOCK: usize = 128;

    /// Of pixels `first..end` of a row.
    #[inline(always)]
    fn of<S: Simd>(simd: S, row: &[u8], first: usize, end: usize) -> Self {
        let count = end - first;
        match row[first..].first_chunk::<{ Self::FEW }>() {
            Some(few) if count <= Self::FEW => Self::of_few(simd, *few, count),
            _ => Self::of_many(&row[first..end]),
        }
    }

    /// Of the first `count` pixels, 1 to 8. Two of them are in each of four lanes of 16 bits; a multiplication adds the lanes up,
    /// weighted, in the highest one.
    #[inline(always)]
    fn of_few<S: Simd>(simd: S, pixels: [u8; Self::FEW], count: usize) -> Self {
        const EVEN: u64 = 0x00ff_00ff_00ff_00ff;
        const PLACES: [u8; 16] = [0, 0, 1, 3, 6, 10, 15, 21, 28, 0, 0, 0, 0, 0, 0, 0];
        const SQUARES: [u8; 16] = [0, 0, 1, 5, 14, 30, 55, 91, 140, 0, 0, 0, 0, 0, 0, 0];
        let pixels = u64::from_le_bytes(pixels) & (u64::MAX >> (64 - 8 * count));
        let odd = pixels >> 8 & EVEN;
        let pairs = (pixels & EVEN) + odd;
        let all = |lanes: u64| lanes.wrapping_mul(0x0001_0001_0001_0001) >> 48;
        let by_number = |lanes: u64| lanes.wrapping_mul(0x0000_0001_0002_0003) >> 48;
        let by_square = |lanes: u64| lanes.wrapping_mul(0x0000_0001_0004_0009) >> 48;
        // Pixel 2 k, or 2 k + 1, is in lane k.
        let (odd_all, odd_by_number) = (all(odd), by_number(odd));
        Self {
            count: count as u64,
            place: PLACES[count % 16].into(),
            square: SQUARES[count % 16].into(),
            grey: all(pairs),
            grey_place: 2 * by_number(pairs) + odd_all,
            grey_square: 4 * by_square(pairs) + 4 * odd_by_number + odd_all,
            max: u64x2::simd_from(simd, [pixels, 0]).bitcast::<u8x16<S>>().reduce_max(),
        }
    }

    fn of_many(pixels: &[u8]) -> Self {
        // Up to n: n (n + 1) / 2, and n (n + 1) (2 n + 1) / 6 of squares.
        let (count, n) = (pixels.len() as u64, pixels.len() as u64 - 1);
        let (place, square) = (n * count / 2, n * count * (2 * n + 1) / 6);
        let mut all = Self { count, place, square, ..Self::default() };
        for (number, block) in pixels.chunks(Self::BLOCK).enumerate() {
            let (mut grey, mut by_place, mut by_square) = (0, 0, 0);
            for (place, &pixel) in (0..).zip(block) {
                let (place, light): (u32, u32) = (place, pixel.into());
                grey += light;
                by_place += place * light;
                by_square += place * place * light;
                all.max = all.max.max(pixel);
            }
            let (start, grey, by_place) = ((number * Self::BLOCK) as u64, u64::from(grey), u64::from(by_place));
            all.grey += grey;
            all.grey_place += start * grey + by_place;
            all.grey_square += start * start * grey + 2 * start * by_place + u64::from(by_square);
        }
        all
    }
}

/// Pixels of a row that lie side by side, all of them more than sky.
#[derive(Debug, Clone, Copy)]
struct Run {
    first: u16,
    /// Behind the last one.
    end: u16,
    region: u32,
}

impl Run {
    /// Behind all others.
    const NONE: Self = Self { first: u16::MAX, end: u16::MAX, region: 0 };
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
    /// Of a row, and of the one above it, with [`Run::NONE`] behind them: room for as many as there can be.
    runs: Vec<Run>,
    above: Vec<Run>,
    /// All that began as a region, in order; and the one that each is a part of, an earlier one or itself.
    begun: Vec<Region>,
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
            runs: vec![Run::NONE; width.div_ceil(2) + 1],
            above: vec![Run::NONE; width.div_ceil(2) + 1],
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
    #[inline(always)]
    pub fn regions(&self) -> impl Iterator<Item = &Region> {
        let whole = (0..).zip(&self.parents).zip(&self.begun).filter(|((own, parent), _)| own == *parent);
        whole.map(|(_, region)| region).filter(|region| self.wanted.contains(&region.pixels))
    }

    /// The sky of the picture that it looked at last.
    pub fn sky(&self) -> &Sky {
        &self.sky
    }

    /// Goes through the picture once, from above: each row is looked at while it is at hand.
    #[inline(always)]
    fn find<S: Simd>(&mut self, simd: S, picture: &[u8], only_larger: bool) {
        let (width, height) = (self.sky.size().width(), self.sky.size().height());
        self.begun.clear();
        self.parents.clear();
        self.bits.begin();
        self.sky.begin();
        prefetch(&picture[..picture.len().min(AHEAD * width)]);
        let mut runs = 0;
        self.runs[0] = Run::NONE;
        let later = if only_larger { LATER } else { 0 };
        for row in 0..height + later {
            // In parts: memory takes so many requests at a time.
            let ahead = picture.get((row + AHEAD) * width..(row + AHEAD + 1) * width).unwrap_or_default();
            let mut parts = ahead.chunks(width.div_ceil(PARTS));
            let mut ask_for_part = || parts.next().map_or((), prefetch);
            ask_for_part();
            match picture.get(row * width..(row + 1) * width) {
                Some(pixels) => {
                    if row % STRIP == 0 {
                        self.sky.limits(simd, picture, row / STRIP, &mut self.limits);
                    }
                    self.bits.take(simd, pixels, &self.limits);
                }
                None => self.bits.take_nothing(),
            }
            ask_for_part();
            let words = if only_larger { self.bits.kept(simd) } else { self.bits.latest(simd) };
            ask_for_part();
            let Some(row) = row.checked_sub(later) else { continue };
            std::mem::swap(&mut self.runs, &mut self.above);
            let above = std::mem::replace(&mut runs, find_runs(words, &mut self.runs));
            ask_for_part();
            self.join(simd, [above, runs], row as u16, &picture[row * width..(row + 1) * width]);
        }
    }

    /// Adds each of the runs of a row to the region that it touches in the row above, or begins a new one.
    #[inline(always)]
    fn join<S: Simd>(&mut self, simd: S, [above, runs]: [usize; 2], row: u16, pixels: &[u8]) {
        // Room for a region that each run may begin. Whether it touches one above cannot be foretold, so there is no branch for that.
        let mut begun = self.begun.len() as u32;
        self.parents.extend(begun..begun + runs as u32);
        self.begun.resize(self.parents.len(), Region::empty());
        let mut above = &self.above[..=above];
        for run in &mut self.runs[..runs] {
            // Those that end before this run begins touch no later one either.
            while above[0].end < run.first {
                above = &above[1..];
            }
            let touches = above[0].first <= run.end;
            let mut own = root(&mut self.parents, select_unpredictable(touches, above[0].region, begun));
            begun += u32::from(!touches);
            for other in above[1..].iter().take_while(|above| above.first <= run.end) {
                let other = root(&mut self.parents, other.region);
                if other != own {
                    let (first, second) = (other.min(own), other.max(own));
                    self.parents[second as usize] = first;
                    let (earlier, later) = self.begun.split_at_mut(second as usize);
                    earlier[first as usize].merge(&later[0]);
                    own = first;
                }
            }
            self.begun[own as usize].merge(&Region::of_run(simd, row, run, pixels));
            run.region = own;
        }
        self.parents.truncate(begun as usize);
        self.begun.truncate(begun as usize);
    }
}

/// The runs of a row, from its bits, and [`Run::NONE`] behind them; how many there are. There is room for as many as a row can have.
#[inline(always)]
fn find_runs(Words { words, filled }: Words<'_>, runs: &mut [Run]) -> usize {
    let (mut count, mut before) = (0, Run::NONE.first);
    // Where noise is, it cannot be foretold which words have runs, nor how many: each turn takes a run, and chooses the next word
    // without a branch.
    for ((block, words), &filled) in words.chunks(WORD).enumerate().zip(filled) {
        let mut filled = filled;
        let mut index = filled.trailing_zeros() as usize % WORD;
        let mut word = words[index];
        while filled != 0 {
            // Adding its lowest bit carries over the lowest run, to the place behind it.
            let carried = word.wrapping_add(word & word.wrapping_neg());
            let place = ((block * WORD + index) * WORD) as u16;
            let (first, end) = (place + word.trailing_zeros() as u16, place + carried.trailing_zeros() as u16);
            // It may go on from the word before.
            let goes_on = first == before;
            count -= usize::from(goes_on);
            let run = &mut runs[count];
            *run = Run { first: if goes_on { run.first } else { first }, end, region: 0 };
            count += 1;
            before = end;
            word &= carried;
            filled = if word == 0 { filled & (filled - 1) } else { filled };
            index = filled.trailing_zeros() as usize % WORD;
            word = if word == 0 { words[index] } else { word };
        }
    }
    runs[count] = Run::NONE;
    count
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

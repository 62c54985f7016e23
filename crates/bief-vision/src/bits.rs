//! Rows of a picture as bits: which pixels are more than sky, 64 of them in a word.
//!
//! Rows come from above, a strip of eight at a time. Of most regions with fewer than three pixels, which noise mostly is, nothing stays:
//! a pixel of a larger one has two neighbours, or one that has two. That is known two rows later.

use fearless_simd::{Simd, prelude::*, u8x64};

use crate::ahead::Ahead;
use crate::sky::STRIP;

/// Pixels of a word.
pub(crate) const WORD: usize = 64;
/// From so many pixels on, a region stays.
pub(crate) const LARGER: u32 = 3;
/// Rows until it is known what stays of one.
pub(crate) const LATER: usize = 2;
/// Words of a vector, at most.
pub(crate) const LANES: usize = 8;
/// Rows of a strip, and those before it that it changes.
const ROWS: usize = LATER + STRIP;

/// The bits of the latest rows of a picture.
#[derive(Debug, Clone)]
pub(crate) struct Bits {
    /// Words of a row, and from a row to the next: a vector of empty ones, then those of the row, up to whole vectors.
    words: usize,
    stride: usize,
    /// Row by row: those before the strip, then the strip.
    light: Vec<u64>,
    /// Light with two neighbours or more, a row later.
    inner: Vec<u64>,
    /// What stays of a strip, row by row; and where each word begins.
    kept: Vec<u64>,
    places: Vec<u64>,
}

/// A word of a row: its first pixel is the lowest bit.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Word {
    /// The [`place`] of its first pixel; rows count from the first one of the strip.
    pub(crate) place: u64,
    pub(crate) light: u64,
    /// Those before and behind it in the row.
    pub(crate) before: u64,
    pub(crate) behind: u64,
}

/// A pixel's place as a number that rises from pixel to pixel, row by row.
pub(crate) const fn place(row: usize, column: usize) -> u64 {
    (row << u16::BITS | column) as u64
}

impl Bits {
    /// For rows of so many pixels.
    pub(crate) fn new(width: usize) -> Self {
        let words = width.div_ceil(WORD);
        let stride = LANES + words.next_multiple_of(LANES);
        // Nothing is in the empty words: where they begin does not matter.
        let place_of = |row, word: usize| place(row, word.saturating_sub(LANES) * WORD);
        let places = (0..STRIP).flat_map(|row| (0..stride).map(move |word| place_of(row, word)));
        Self {
            words,
            stride,
            light: vec![0; ROWS * stride + LANES],
            inner: vec![0; ROWS * stride + LANES],
            kept: vec![0; STRIP * stride + LANES],
            places: places.collect(),
        }
    }

    /// Begins a picture: above it, all is empty.
    pub(crate) fn begin(&mut self) {
        self.light.fill(0);
        self.inner.fill(0);
    }

    /// Takes the next strip, from rows of so many pixels; below the picture, all is empty. Light is what is above its limits. Limits
    /// there are for whole words, 255 behind the last pixel. Asks for memory meanwhile.
    #[inline(always)]
    pub(crate) fn take<S: Simd>(&mut self, simd: S, width: usize, pixels: &[u8], limits: &[u8], ahead: &mut Ahead<'_>) {
        let stride = self.stride;
        self.light.copy_within(STRIP * stride..ROWS * stride, 0);
        let rows = pixels.len() / width;
        let light = &mut self.light[LATER * stride..];
        light[rows * stride..].fill(0);
        let limits = limits.as_chunks().0;
        for (pixels, light) in pixels.chunks_exact(width).zip(light.chunks_exact_mut(stride)) {
            ahead.ask(4);
            let (words, rest) = pixels.as_chunks();
            for ((light, word), limits) in light[LANES..].iter_mut().zip(words).zip(limits) {
                *light = brighter(simd, word, limits);
            }
            if let Some(limits) = limits.get(words.len()) {
                let mut last = [0; WORD];
                last[..rest.len()].copy_from_slice(rest);
                light[LANES + words.len()] = brighter(simd, &last, limits);
            }
        }
    }

    /// All light, down to [`LATER`] rows above the last one that was taken.
    pub(crate) fn all(&mut self) {
        let strip = STRIP * self.stride;
        self.kept[..strip].copy_from_slice(&self.light[..strip]);
    }

    /// The light that stays, down to [`LATER`] rows above the last one that was taken. To be asked once for each strip; asks for memory
    /// meanwhile.
    #[inline(always)]
    pub(crate) fn larger<S: Simd>(&mut self, simd: S, ahead: &mut Ahead<'_>) {
        let stride = self.stride;
        let vectors = (LANES..LANES + self.words).step_by(S::u64s::LEN);
        self.inner.copy_within(STRIP * stride..ROWS * stride, 0);
        for first in vectors.clone() {
            let (mut above, mut own) = (Sum::of(simd, &self.light, first), Sum::of(simd, &self.light, stride + first));
            for row in (0..STRIP).map(|row| row * stride + first) {
                ahead.ask(1);
                let below = Sum::of(simd, &self.light, row + 2 * stride);
                let (Sum { one: a, two: aa, .. }, Sum { one: b, two: bb, light }) = (above, own);
                let Sum { one: c, two: cc, .. } = below;
                // Of a pixel and its neighbours, three are light.
                let (one, two) = (a | b, aa | bb);
                let three = aa & bb | two & cc | (one | c) & (two | cc) | a & b & c;
                (light & three).store_slice(&mut self.inner[row + 2 * stride..][..S::u64s::LEN]);
                (above, own) = (own, below);
            }
        }
        for first in vectors {
            let (mut above, mut own) = (near(simd, &self.inner, first), near(simd, &self.inner, stride + first));
            for row in (0..STRIP).map(|row| row * stride + first) {
                ahead.ask(1);
                let below = near(simd, &self.inner, row + 2 * stride);
                let light = S::u64s::from_slice(simd, &self.light[row..][..S::u64s::LEN]) & (above | own | below);
                light.store_slice(&mut self.kept[row..][..S::u64s::LEN]);
                (above, own) = (own, below);
            }
        }
    }

    /// Tells all words of what stays of the strip that are not empty, in order.
    #[inline(always)]
    pub(crate) fn each<S: Simd>(&self, simd: S, mut word: impl FnMut(Word)) {
        for (number, words) in self.kept.as_chunks::<WORD>().0.iter().enumerate() {
            let mut filled = 0;
            for (part, words) in words.chunks_exact(S::u64s::LEN).enumerate() {
                let empty = S::u64s::from_slice(simd, words).simd_eq(S::u64s::splat(simd, 0)).to_bitmask();
                filled |= empty << (part * S::u64s::LEN);
            }
            filled = !filled;
            while filled != 0 {
                let index = number * WORD + filled.trailing_zeros() as usize;
                filled &= filled - 1;
                // Those at both ends of a row are empty.
                let [before, light, behind] = [index - 1, index, index + 1].map(|index| self.kept[index]);
                word(Word { place: self.places[index], light, before, behind });
            }
        }
    }
}

/// A bit for each pixel that is above its limit.
#[inline(always)]
fn brighter<S: Simd>(simd: S, pixels: &[u8; WORD], limits: &[u8; WORD]) -> u64 {
    let limits = u8x64::from_slice(simd, limits);
    !u8x64::from_slice(simd, pixels).max(limits).simd_eq(limits).to_bitmask()
}

/// How much of each pixel and the two beside it is light: a number of two bits.
#[derive(Clone, Copy)]
struct Sum<S: Simd> {
    one: S::u64s,
    two: S::u64s,
    light: S::u64s,
}

impl<S: Simd> Sum<S> {
    #[inline(always)]
    fn of(simd: S, words: &[u64], first: usize) -> Self {
        let [left, light, right] = sides(simd, words, first);
        let one = left ^ light;
        Self { one: one ^ right, two: left & light | one & right, light }
    }
}

/// What is there, on the left, or on the right.
#[inline(always)]
fn near<S: Simd>(simd: S, words: &[u64], first: usize) -> S::u64s {
    let [left, own, right] = sides(simd, words, first);
    left | own | right
}

/// The neighbours of some pixels on the left, they themselves, and their neighbours on the right.
#[inline(always)]
fn sides<S: Simd>(simd: S, words: &[u64], first: usize) -> [S::u64s; 3] {
    const TOP: u32 = WORD as u32 - 1;
    // One look at bounds for all three. Loads take less time than moving words from vector to vector.
    let words = &words[first - 1..][..2 + S::u64s::LEN];
    let before = S::u64s::from_slice(simd, &words[..S::u64s::LEN]);
    let own = S::u64s::from_slice(simd, &words[1..1 + S::u64s::LEN]);
    let behind = S::u64s::from_slice(simd, &words[2..]);
    [own << 1 | before >> TOP, own, own >> 1 | behind << TOP]
}

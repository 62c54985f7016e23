//! Rows of a picture as bits: which pixels are more than sky, 64 of them in a word.
//!
//! Rows come from above, one by one. Of most regions with fewer than three pixels, which noise mostly is, nothing stays: a pixel of a
//! larger one has two neighbours, or one that has two. That is known two rows later.

use fearless_simd::{Simd, prelude::*, u8x64, u64x8};

/// Pixels of a word.
pub(crate) const WORD: usize = 64;
/// From so many pixels on, a region stays.
pub(crate) const LARGER: u32 = 3;
/// Rows until it is known what stays of one: two below it tell, and each of two steps waits for a row.
pub(crate) const LATER: usize = 4;
/// Words at a time: a block.
const LANES: usize = 8;
/// Rows that are known at a time.
const ROWS: usize = LATER + 2;

/// The bits of the latest rows of a picture.
#[derive(Debug, Clone)]
pub(crate) struct Bits {
    /// From above; the latest one is the last. Each ends with an empty block, so that all others have a neighbour on the right.
    rows: [Box<[Block]>; ROWS],
    kept: Vec<[u64; LANES]>,
    /// A bit for each word of `kept` that is not empty.
    filled: Vec<u64>,
}

/// Pixels of a row: the first one is the lowest bit of the first word.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Words<'a> {
    pub(crate) words: &'a [u64],
    /// A bit for each word that is not empty.
    pub(crate) filled: &'a [u64],
}

/// What is known of some pixels of a row.
#[derive(Debug, Clone, Copy, Default)]
struct Block {
    light: [u64; LANES],
    /// How much of each pixel and the two beside it is light: a number of two bits.
    ones: [u64; LANES],
    twos: [u64; LANES],
    /// Light with two neighbours or more.
    inner: [u64; LANES],
    /// Such light is there, on the left, or on the right.
    near: [u64; LANES],
}

impl Bits {
    /// For rows of so many pixels.
    pub(crate) fn new(width: usize) -> Self {
        let blocks = width.div_ceil(WORD * LANES);
        let rows = [(); ROWS].map(|()| vec![Block::default(); blocks + 1].into());
        Self { rows, kept: vec![[0; LANES]; blocks], filled: vec![0; blocks.div_ceil(WORD / LANES)] }
    }

    /// Begins a picture: above it, all is empty.
    pub(crate) fn begin(&mut self) {
        self.rows.iter_mut().for_each(|row| row.fill(Block::default()));
    }

    /// Takes the next row: light is what is above its limits. Limits there are for whole words, 255 behind the last pixel.
    #[inline(always)]
    pub(crate) fn take<S: Simd>(&mut self, simd: S, pixels: &[u8], limits: &[u8]) {
        self.rows.rotate_left(1);
        compare(simd, pixels, limits, &mut self.rows[ROWS - 1]);
    }

    /// Takes an empty row, from below the picture.
    pub(crate) fn take_nothing(&mut self) {
        self.rows.rotate_left(1);
        self.rows[ROWS - 1].iter_mut().for_each(|block| block.light = [0; LANES]);
    }

    /// All light of the latest row.
    #[inline(always)]
    pub(crate) fn latest<S: Simd>(&mut self, simd: S) -> Words<'_> {
        let latest = &self.rows[ROWS - 1];
        keep(simd, &mut self.kept, &mut self.filled, latest.iter().map(|block| vector(simd, &block.light)));
        Words { words: self.kept.as_flattened(), filled: &self.filled }
    }

    /// The light that stays of the row that came [`LATER`] rows before the latest one. To be asked once for each row that is taken.
    #[inline(always)]
    pub(crate) fn kept<S: Simd>(&mut self, simd: S) -> Words<'_> {
        let blocks = self.kept.len();
        let [first, second, third, fourth, fifth, _] = &mut self.rows;
        let [first, second] = [&first[..blocks], &second[..blocks]];
        let [third, fourth, fifth] = [third, fourth, fifth].map(|row| &mut row[..=blocks]);
        let (mut lights, mut inners) = (Neighbours::of(simd, &fifth[0].light), Neighbours::of(simd, &third[0].inner));
        let kept = (0..blocks).map(|index| {
            // The fifth row's sides are seen, then the fourth's inner light, and what is near the third's.
            let [left, light, right] = lights.next(simd, &fifth[index + 1].light);
            let one = left ^ light;
            let (c, cc) = (one ^ right, left & light | one & right);
            (fifth[index].ones, fifth[index].twos) = (c.into(), cc.into());
            let [(a, aa), (b, bb)] =
                [&third[index], &fourth[index]].map(|block| (vector(simd, &block.ones), vector(simd, &block.twos)));
            let (one, two) = (a | b, aa | bb);
            // Of a pixel and its neighbours, three are light.
            let three = aa & bb | two & cc | (one | c) & (two | cc) | a & b & c;
            fourth[index].inner = (vector(simd, &fourth[index].light) & three).into();
            let [left, inner, right] = inners.next(simd, &third[index + 1].inner);
            let below = left | inner | right;
            third[index].near = below.into();
            let [above, own] = [&first[index], &second[index]].map(|block| vector(simd, &block.near));
            vector(simd, &second[index].light) & (above | own | below)
        });
        keep(simd, &mut self.kept, &mut self.filled, kept);
        Words { words: self.kept.as_flattened(), filled: &self.filled }
    }
}

/// Keeps the blocks of a row, and which words of them are not empty.
#[inline(always)]
fn keep<S: Simd>(simd: S, kept: &mut [[u64; LANES]], filled: &mut [u64], mut blocks: impl Iterator<Item = u64x8<S>>) {
    const ALL: u64 = (1 << LANES) - 1;
    for (filled, kept) in filled.iter_mut().zip(kept.chunks_mut(WORD / LANES)) {
        *filled = 0;
        for (number, (kept, words)) in kept.iter_mut().zip(&mut blocks).enumerate() {
            let empty = words.simd_eq(u64x8::splat(simd, 0)).to_bitmask();
            *filled |= (empty ^ ALL) << (number * LANES);
            *kept = words.into();
        }
    }
}

/// Sets a bit for each pixel that is above its limit.
#[inline(always)]
fn compare<S: Simd>(simd: S, pixels: &[u8], limits: &[u8], row: &mut [Block]) {
    let above = |word: &[u8; WORD], limits: &[u8; WORD]| {
        let limits = u8x64::from_slice(simd, limits);
        !u8x64::from_slice(simd, word).max(limits).simd_eq(limits).to_bitmask()
    };
    const PIXELS: usize = WORD * LANES;
    for ((block, pixels), limits) in row.iter_mut().zip(pixels.chunks(PIXELS)).zip(limits.chunks(PIXELS)) {
        let ((words, rest), (limits, _)) = (pixels.as_chunks(), limits.as_chunks());
        for ((bits, word), limits) in block.light.iter_mut().zip(words).zip(limits) {
            *bits = above(word, limits);
        }
        if let Some(limits) = limits.get(words.len()) {
            let mut last = [0; WORD];
            last[..rest.len()].copy_from_slice(rest);
            block.light[words.len()] = above(&last, limits);
        }
    }
}

#[inline(always)]
fn vector<S: Simd>(simd: S, words: &[u64; LANES]) -> u64x8<S> {
    u64x8::simd_from(simd, *words)
}

/// The blocks of a row, one by one, with what is beside their pixels.
struct Neighbours<S: Simd> {
    before: u64x8<S>,
    block: u64x8<S>,
}

impl<S: Simd> Neighbours<S> {
    /// From the first block on.
    #[inline(always)]
    fn of(simd: S, first: &[u64; LANES]) -> Self {
        Self { before: u64x8::splat(simd, 0), block: vector(simd, first) }
    }

    /// The neighbours of a block's pixels on the left, they themselves, and their neighbours on the right; `behind` is the next block.
    #[inline(always)]
    fn next(&mut self, simd: S, behind: &[u64; LANES]) -> [u64x8<S>; 3] {
        let (before, block, behind, top) = (self.before, self.block, vector(simd, behind), WORD as u32 - 1);
        (self.before, self.block) = (block, behind);
        let [left, right] = [before.slide::<{ LANES - 1 }>(block), block.slide::<1>(behind)];
        [block << 1 | left >> top, block, block >> 1 | right << top]
    }
}

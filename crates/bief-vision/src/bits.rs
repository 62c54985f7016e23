//! Rows of a picture as bits: which pixels are more than sky, 64 of them in a word.
//!
//! Rows come from above, one by one. Of most regions with fewer than three pixels, which noise mostly is, nothing stays: a pixel of a
//! larger one has two neighbours, or one that has two. That is known two rows later.

use fearless_simd::{Simd, prelude::*, u8x64, u64x4};

/// Pixels of a word.
pub(crate) const WORD: usize = 64;
/// From so many pixels on, a region stays.
pub(crate) const LARGER: u32 = 3;
/// Rows until it is known what stays of one: two below it tell, and each of two steps waits for a row.
pub(crate) const LATER: usize = 4;
/// Words at a time: a block. One at each end of a row is empty, so that all pixels have neighbours.
const LANES: usize = 4;
/// Rows that are known at a time.
const ROWS: usize = LATER + 2;

/// The bits of the latest rows of a picture.
#[derive(Debug, Clone)]
pub(crate) struct Bits {
    words: usize,
    /// From above; the latest one is the last.
    rows: [Box<Row>; ROWS],
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

/// What is known of the pixels of a row.
#[derive(Debug, Clone)]
struct Row {
    light: Vec<u64>,
    sides: Vec<Sides>,
    /// Light with two neighbours or more.
    inner: Vec<u64>,
    /// Such light is there, on the left, or on the right.
    near: Vec<[u64; LANES]>,
}

/// Light, and how much of it each pixel of a block and the two beside it are: a number of two bits.
#[derive(Debug, Clone, Copy, Default)]
struct Sides {
    light: [u64; LANES],
    ones: [u64; LANES],
    twos: [u64; LANES],
}

impl Bits {
    /// For rows of so many pixels.
    pub(crate) fn new(width: usize) -> Self {
        let words = width.div_ceil(WORD);
        let blocks = words.div_ceil(LANES);
        let bordered = vec![0; (blocks + 2) * LANES];
        let row = || Row {
            light: bordered.clone(),
            sides: vec![Sides::default(); blocks],
            inner: bordered.clone(),
            near: vec![[0; LANES]; blocks],
        };
        let rows = [(); ROWS].map(|()| Box::new(row()));
        Self { words, rows, kept: vec![[0; LANES]; blocks], filled: vec![0; blocks.div_ceil(WORD / LANES)] }
    }

    /// Begins a picture: above it, all is empty.
    pub(crate) fn begin(&mut self) {
        for row in &mut self.rows {
            row.light.fill(0);
            row.sides.fill(Sides::default());
            row.inner.fill(0);
            row.near.fill([0; LANES]);
        }
    }

    /// Takes the next row: light is what is above its limits. Limits there are for whole words, 255 behind the last pixel.
    #[inline(always)]
    pub(crate) fn take<S: Simd>(&mut self, simd: S, pixels: &[u8], limits: &[u8]) {
        self.rows.rotate_left(1);
        compare(simd, pixels, limits, &mut self.rows[ROWS - 1].light[LANES..LANES + self.words]);
    }

    /// Takes an empty row, from below the picture.
    pub(crate) fn take_nothing(&mut self) {
        self.rows.rotate_left(1);
        self.rows[ROWS - 1].light.fill(0);
    }

    /// All light of the latest row.
    #[inline(always)]
    pub(crate) fn latest<S: Simd>(&mut self, simd: S) -> Words<'_> {
        let light = self.rows[ROWS - 1].light[LANES..].as_chunks().0;
        keep(simd, &mut self.kept, &mut self.filled, light.iter().map(|light| block(simd, light)));
        Words { words: self.kept.as_flattened(), filled: &self.filled }
    }

    /// The light that stays of the row that came [`LATER`] rows before the latest one. To be asked once for each row that is taken.
    #[inline(always)]
    pub(crate) fn kept<S: Simd>(&mut self, simd: S) -> Words<'_> {
        // Words beside a word are read at places where they were not written: a row later, when they have reached the cache.
        let [first, second, third, fourth, fifth, _] = &mut self.rows;
        see_sides(simd, fifth);
        see_inner(simd, &third.sides, &mut fourth.inner, &fourth.sides, &fifth.sides);
        see_near(simd, third);
        let near = first.near.iter().zip(&second.near).zip(&third.near);
        let kept = second.sides.iter().zip(near).map(|(sides, ((above, own), below))| {
            let near = block(simd, above) | block(simd, own) | block(simd, below);
            block(simd, &sides.light) & near
        });
        keep(simd, &mut self.kept, &mut self.filled, kept);
        Words { words: self.kept.as_flattened(), filled: &self.filled }
    }
}

/// Keeps the blocks of a row, and which words of them are not empty.
#[inline(always)]
fn keep<S: Simd>(simd: S, kept: &mut [[u64; LANES]], filled: &mut [u64], mut blocks: impl Iterator<Item = u64x4<S>>) {
    const ALL: u64 = (1 << LANES) - 1;
    for (filled, kept) in filled.iter_mut().zip(kept.chunks_mut(WORD / LANES)) {
        *filled = 0;
        for (number, (kept, words)) in kept.iter_mut().zip(&mut blocks).enumerate() {
            let empty = words.simd_eq(u64x4::splat(simd, 0)).to_bitmask();
            *filled |= (empty ^ ALL) << (number * LANES);
            *kept = words.into();
        }
    }
}

/// Sets a bit for each pixel that is above its limit.
#[inline(always)]
fn compare<S: Simd>(simd: S, pixels: &[u8], limits: &[u8], bits: &mut [u64]) {
    let (words, rest) = pixels.as_chunks::<WORD>();
    let (of_words, of_rest) = limits.as_chunks::<WORD>().0.split_at(words.len());
    let above = |word: &[u8; WORD], limits: &[u8; WORD]| {
        let limits = u8x64::from_slice(simd, limits);
        !u8x64::from_slice(simd, word).max(limits).simd_eq(limits).to_bitmask()
    };
    for ((bits, word), limits) in bits.iter_mut().zip(words).zip(of_words) {
        *bits = above(word, limits);
    }
    if let Some(limits) = of_rest.first() {
        let mut last = [0; WORD];
        last[..rest.len()].copy_from_slice(rest);
        bits[words.len()] = above(&last, limits);
    }
}

/// What the pixels of a row have beside them.
#[inline(always)]
fn see_sides<S: Simd>(simd: S, row: &mut Row) {
    for (sides, words) in row.sides.iter_mut().zip(bordered(&row.light)) {
        let [left, light, right] = beside(simd, words);
        let one = left ^ light;
        let (ones, twos) = (one ^ right, left & light | one & right);
        *sides = Sides { light: light.into(), ones: ones.into(), twos: twos.into() };
    }
}

/// The pixels of a row that have two neighbours or more: of them and their neighbours, three are light.
#[inline(always)]
fn see_inner<S: Simd>(simd: S, above: &[Sides], inner: &mut [u64], row: &[Sides], below: &[Sides]) {
    let inner = &mut inner.as_chunks_mut().0[1..];
    for (((inner, above), row), below) in inner.iter_mut().zip(above).zip(row).zip(below) {
        let [[a, aa], [b, bb], [c, cc]] =
            [above, row, below].map(|sides| [block(simd, &sides.ones), block(simd, &sides.twos)]);
        let (one, two) = (a | b, aa | bb);
        let three = aa & bb | two & cc | (one | c) & (two | cc) | a & b & c;
        *inner = (block(simd, &row.light) & three).into();
    }
}

/// Where in a row there is a pixel that has two neighbours, or one beside it that has.
#[inline(always)]
fn see_near<S: Simd>(simd: S, row: &mut Row) {
    for (near, words) in row.near.iter_mut().zip(bordered(&row.inner)) {
        let [left, inner, right] = beside(simd, words);
        *near = (left | inner | right).into();
    }
}

#[inline(always)]
fn block<S: Simd>(simd: S, words: &[u64; LANES]) -> u64x4<S> {
    u64x4::simd_from(simd, *words)
}

/// The blocks of a row, each with the word before it and the one behind it.
#[inline(always)]
fn bordered(row: &[u64]) -> impl Iterator<Item = &[u64; LANES + 2]> {
    let windows = row[LANES - 1..].windows(LANES + 2).step_by(LANES);
    windows.filter_map(|words| words.first_chunk())
}

/// The neighbours of a block's pixels on the left, they themselves, and their neighbours on the right.
#[inline(always)]
fn beside<S: Simd>(simd: S, words: &[u64; LANES + 2]) -> [u64x4<S>; 3] {
    let at = |first: usize| u64x4::from_slice(simd, &words[first..first + LANES]);
    let (before, middle, behind, top) = (at(0), at(1), at(2), WORD as u32 - 1);
    [middle << 1 | before >> top, middle, middle >> 1 | behind << top]
}

//! A picture as bits: which pixels are more than sky, 64 of them in a word.

use fearless_simd::{Level, Simd, dispatch, prelude::*, u8x64, u64x8};

use crate::size::Size;

/// Pixels of a word.
pub(crate) const WORD: usize = 64;
/// Empty rows above the first row and below the last one; a word at each end of a row is empty, too. So all pixels have neighbours.
const BORDER: usize = 1;
/// Words at a time.
const LANES: usize = 8;
/// From so many pixels on, each pixel of a region has two neighbours, or one that has two.
const LARGER: u32 = 3;

/// The bits of pictures of one size.
#[derive(Debug, Clone)]
pub(crate) struct Bits {
    level: Level,
    words: usize,
    height: usize,
    bits: Vec<u64>,
    /// Those that have two neighbours or more.
    inner: Vec<u64>,
}

impl Bits {
    pub(crate) fn new(size: Size, level: Level) -> Self {
        let words = size.width().div_ceil(WORD);
        let room = vec![0; stride(words) * (size.height() + 2 * BORDER)];
        Self { level, words, height: size.height(), inner: room.clone(), bits: room }
    }

    /// The bits of a row: its first pixel is the lowest one of the first word.
    pub(crate) fn row(&self, row: usize) -> &[u64] {
        let start = (row + BORDER) * self.stride() + BORDER;
        &self.bits[start..start + self.words]
    }

    /// Sets the bits of a row: of the pixels that are above their limits. Limits there are for whole words, 255 behind the last pixel.
    pub(crate) fn compare(&mut self, row: usize, pixels: &[u8], limits: &[u8]) {
        let start = (row + BORDER) * self.stride() + BORDER;
        let bits = &mut self.bits[start..start + self.words];
        dispatch!(self.level, simd => compare(simd, pixels, limits, bits));
    }

    /// Removes pixels of regions that have fewer than `least` pixels, of some such regions: noise is mostly that.
    pub(crate) fn remove_small(&mut self, least: u32) {
        if least >= LARGER {
            let (stride, height) = (self.stride(), self.height);
            let (bits, inner) = (&mut self.bits, &mut self.inner);
            dispatch!(self.level, simd => keep_larger(simd, bits, inner, stride, height));
        }
    }

    fn stride(&self) -> usize {
        stride(self.words)
    }
}

fn stride(words: usize) -> usize {
    words.next_multiple_of(LANES) + 2 * BORDER
}

/// Sets a bit for each pixel that is above its limit.
#[inline(always)]
fn compare<S: Simd>(simd: S, pixels: &[u8], limits: &[u8], bits: &mut [u64]) {
    let (words, rest) = pixels.as_chunks::<WORD>();
    let (of_words, of_rest) = limits.as_chunks::<WORD>().0.split_at(words.len());
    let above = |word: &[u8; WORD], limits: &[u8; WORD]| {
        u8x64::from_slice(simd, word).simd_gt(u8x64::from_slice(simd, limits)).to_bitmask()
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

/// Keeps the regions of [`LARGER`] pixels and more.
#[inline(always)]
fn keep_larger<S: Simd>(simd: S, bits: &mut [u64], inner: &mut [u64], stride: usize, height: usize) {
    for row in BORDER..height + BORDER {
        for column in (BORDER..stride - BORDER).step_by(LANES) {
            let word = row * stride + column;
            let [above, own, below] = Words::around(simd, bits, word, stride);
            let (mut one, mut two) = (own.left | own.right, own.left & own.right);
            for neighbour in [above.left, above.middle, above.right, below.left, below.middle, below.right] {
                two |= one & neighbour;
                one |= neighbour;
            }
            (own.middle & two).store_slice(&mut inner[word..word + LANES]);
        }
    }
    for row in BORDER..height + BORDER {
        for column in (BORDER..stride - BORDER).step_by(LANES) {
            let word = row * stride + column;
            let [above, own, below] = Words::around(simd, inner, word, stride);
            let bits = &mut bits[word..word + LANES];
            (u64x8::from_slice(simd, bits) & (above.any() | own.any() | below.any())).store_slice(bits);
        }
    }
}

/// Words of a row, and the neighbours on the left and on the right of each of their pixels.
struct Words<S: Simd> {
    left: u64x8<S>,
    middle: u64x8<S>,
    right: u64x8<S>,
}

impl<S: Simd> Words<S> {
    /// Those of a row, with those above and below.
    #[inline(always)]
    fn around(simd: S, words: &[u64], index: usize, stride: usize) -> [Self; 3] {
        [Self::at(simd, words, index - stride), Self::at(simd, words, index), Self::at(simd, words, index + stride)]
    }

    #[inline(always)]
    fn at(simd: S, words: &[u64], index: usize) -> Self {
        let words = &words[index - 1..index + LANES + 1];
        let before = u64x8::from_slice(simd, &words[..LANES]);
        let middle = u64x8::from_slice(simd, &words[1..=LANES]);
        let behind = u64x8::from_slice(simd, &words[2..]);
        let top = WORD as u32 - 1;
        Self { left: middle << 1 | before >> top, middle, right: middle >> 1 | behind << top }
    }

    #[inline(always)]
    fn any(self) -> u64x8<S> {
        self.left | self.middle | self.right
    }
}

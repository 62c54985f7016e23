//! What a region of pixels adds up, run by run: the sums of places in closed form, those of grey levels pixel by pixel.

use fearless_simd::{Simd, prelude::*, u16x8, u64x2, u64x4, u64x8};

use crate::bits::LANES;

/// Pixels of most runs: those of as many runs as a vector has lanes are added up at once.
pub(crate) const FEW: usize = 8;

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
    /// The middle of its pixels.
    #[inline(always)]
    pub(crate) fn middle(&self) -> (f32, f32) {
        let per_pixel = 1.0 / self.pixels as f64;
        ((self.x as f64 * per_pixel) as f32, (self.y as f64 * per_pixel) as f32)
    }
}

/// What a part of a region adds up, as vectors have it: twelve sums, the sides of the box around it in 16 bits each, and the brightest
/// grey level. Of right, bottom and brightness it has the complement, so that of two parts all of them are the lesser ones.
#[derive(Debug, Clone, Copy)]
#[repr(align(64))]
pub(crate) struct Totals([u64; 2 * LANES]);

/// Where the sums end, and the box begins.
const SUMS: usize = 12;

impl Totals {
    /// Of no pixels.
    pub(crate) const EMPTY: Self = {
        let mut totals = [0; 2 * LANES];
        (totals[SUMS], totals[SUMS + 1]) = (u64::MAX, u64::MAX);
        Self(totals)
    };

    pub(crate) fn pixels(&self) -> u64 {
        self.0[0]
    }

    #[inline(always)]
    pub(crate) fn region(&self) -> Region {
        let [pixels, x, y, xx, yy, xy, sum, grey_x, grey_y, grey_xx, grey_yy, grey_xy, sides, darkness, ..] = self.0;
        let side = |number: u32| (sides >> (u16::BITS * number)) as u16;
        let (left, right, top, bottom, max) = (side(0), !side(1), side(2), !side(3), !darkness as u8);
        let region = Region { left, right, top, bottom, pixels, x, y, xx, yy, xy, ..Region::default() };
        Region { sum, max, grey_x, grey_y, grey_xx, grey_yy, grey_xy, ..region }
    }

    /// Adds another part of the same one.
    #[inline(always)]
    pub(crate) fn add<S: Simd>(&mut self, simd: S, other: &Self) {
        let sums = u64x8::from_slice(simd, &self.0[..LANES]) + u64x8::from_slice(simd, &other.0[..LANES]);
        sums.store_slice(&mut self.0[..LANES]);
        let sums = u64x4::from_slice(simd, &self.0[LANES..SUMS]) + u64x4::from_slice(simd, &other.0[LANES..SUMS]);
        sums.store_slice(&mut self.0[LANES..SUMS]);
        let own = u64x2::from_slice(simd, &self.0[SUMS..SUMS + 2]).bitcast::<u16x8<S>>();
        let least = own.min(u64x2::from_slice(simd, &other.0[SUMS..SUMS + 2]).bitcast::<u16x8<S>>());
        least.bitcast::<u64x2<S>>().store_slice(&mut self.0[SUMS..SUMS + 2]);
    }

    /// Of as many runs as a vector has lanes, of at most [`FEW`] pixels: of each its row, its first column, how many pixels it has, and
    /// these, the first one in the lowest byte and 0 behind the last.
    #[inline(always)]
    pub(crate) fn of_few<S: Simd>(simd: S, [row, first, count, pixels]: [S::u64s; 4], totals: &mut [Self]) {
        // Two pixels are in each of four parts of 16 bits: pixel 2 k, or 2 k + 1, is in part k.
        const EVEN: u64 = 0x00ff_00ff_00ff_00ff;
        let odd = (pixels >> 8) & EVEN;
        let pairs = (pixels & EVEN) + odd;
        let grey = across(simd, pairs, 0x07ff);
        let grey_place = across(simd, weighted(simd, pairs, [0, 2, 4, 6]) + odd, 0x1fff);
        let grey_square =
            across(simd, weighted(simd, pairs, [0, 4, 16, 36]) + weighted(simd, odd, [1, 5, 9, 13]), 0xffff);
        // Masks change nothing: they tell that all factors have at most 32 bits, for which a multiplication takes one instruction, not eight.
        let (row, first, count) = (row & 0xffff, first & 0xffff, count & 0xf);
        // Up to n: n (n - 1) / 2, and n (n - 1) (2 n - 1) / 6 of squares. Of such numbers, 171 / 512 are a third.
        let place = ((count * count - count) >> 1) & 0x1f;
        let square = (((place * (count << 1) - place) & 0x1ff) * 171) >> 9;
        // Places from the first pixel on become columns.
        let (x, grey_x) = (first * count + place, first * grey + grey_place);
        let (xx, grey_xx) = (first * (x + place) + square, first * (grey_x + grey_place) + grey_square);
        let (y, grey_y) = (row * count, row * grey);
        let (yy, grey_yy) = (row * y, row * grey_y);
        let (xy, grey_xy) = (row * x, row * grey_x);
        let mut max: S::u8s = pixels.bitcast();
        for shift in [32, 16, 8] {
            let beside: S::u8s = (max.bitcast::<S::u64s>() >> shift).bitcast();
            max = max.max(beside);
        }
        let darkness = !(max.bitcast::<S::u64s>() & 0xff);
        let last = first + count - 1;
        let sides = first | (row << 32) | (((last << 16) | (row << 48)) ^ 0xffff_0000_ffff_0000);
        let sums = [count, x, y, xx, yy, xy, grey, grey_x, grey_y, grey_xx, grey_yy, grey_xy];
        let mut all = [darkness; 2 * LANES];
        all[..SUMS].copy_from_slice(&sums);
        all[SUMS] = sides;
        for (number, sums) in all.chunks_exact_mut(S::u64s::LEN).enumerate() {
            transpose(simd, sums);
            for (totals, sums) in totals.iter_mut().zip(&*sums) {
                sums.store_slice(&mut totals.0[number * S::u64s::LEN..][..S::u64s::LEN]);
            }
        }
    }

    /// Of a run of any length, from its row and its first column on. Long ones take half as long as in pieces of eight pixels.
    pub(crate) fn of_many(row: u16, first: u16, pixels: &[u8]) -> Self {
        /// Pixels of which sums fit 32 bits.
        const BLOCK: usize = 128;
        let (count, n) = (pixels.len() as u64, pixels.len() as u64 - 1);
        let (place, square) = (n * count / 2, n * count * (2 * n + 1) / 6);
        let (mut grey, mut grey_place, mut grey_square, mut max) = (0, 0, 0, 0);
        for (number, block) in pixels.chunks(BLOCK).enumerate() {
            let (mut all, mut by_place, mut by_square) = (0, 0, 0);
            for (place, &pixel) in (0..).zip(block) {
                let (place, light): (u32, u32) = (place, pixel.into());
                all += light;
                by_place += place * light;
                by_square += place * place * light;
                max = pixel.max(max);
            }
            let (start, all, by_place) = ((number * BLOCK) as u64, u64::from(all), u64::from(by_place));
            grey += all;
            grey_place += start * all + by_place;
            grey_square += start * start * all + 2 * start * by_place + u64::from(by_square);
        }
        let last = u64::from(first) + n;
        let (row, first) = (u64::from(row), u64::from(first));
        let (x, grey_x) = (first * count + place, first * grey + grey_place);
        let (xx, grey_xx) = (first * (x + place) + square, first * (grey_x + grey_place) + grey_square);
        let (y, grey_y) = (row * count, row * grey);
        let sides = first | (last ^ 0xffff) << 16 | row << 32 | (row ^ 0xffff) << 48;
        let darkness = !u64::from(max);
        let mut totals = Self::EMPTY;
        let (yy, xy, grey_yy, grey_xy) = (row * y, row * x, row * grey_y, row * grey_x);
        totals.0[..LANES].copy_from_slice(&[count, x, y, xx, yy, xy, grey, grey_x]);
        totals.0[LANES..SUMS + 2].copy_from_slice(&[grey_y, grey_xx, grey_yy, grey_xy, sides, darkness]);
        totals
    }
}

/// Parts of 16 bits, each by its weight.
#[inline(always)]
fn weighted<S: Simd>(simd: S, parts: S::u64s, weights: [u16; 4]) -> S::u64s {
    let [a, b, c, d] = weights.map(u64::from);
    let weights = S::u64s::splat(simd, a | b << 16 | c << 32 | d << 48);
    (parts.bitcast::<S::u16s>() * weights.bitcast::<S::u16s>()).bitcast()
}

/// The sum of all four parts of 16 bits, which has no other bits than these.
#[inline(always)]
fn across<S: Simd>(_: S, parts: S::u64s, bits: u64) -> S::u64s {
    let halves = parts + (parts >> 32);
    (halves + (halves >> 16)) & bits
}

/// Of as many vectors as they have lanes, the first lanes, then the second ones, and so on.
#[inline(always)]
fn transpose<S: Simd>(simd: S, vectors: &mut [S::u64s]) {
    // Each turn moves the bits of vector and lane by one place.
    for _ in 0..S::u64s::LEN.ilog2() {
        let mut turned = [S::u64s::splat(simd, 0); LANES];
        let (left, right) = vectors.split_at(S::u64s::LEN / 2);
        for ((turned, &left), &right) in turned.as_chunks_mut().0.iter_mut().zip(left).zip(right) {
            *turned = left.interleave(right).into();
        }
        vectors.copy_from_slice(&turned[..S::u64s::LEN]);
    }
}

//! Soft demapping by a table: the plane of received symbols in small cells, and the LLRs of each.

use std::sync::OnceLock;

use num_complex::Complex32;

use super::{BLOCK, COUNTS, MAX};
use crate::dvbs2::{Constellation, FrameSize, Modcod};
use crate::simd::{Simd, f32x16, i32x16, prelude::*};

/// Cells on either side of the table.
pub(super) const SIDE: usize = 128;
/// Standard deviations of the noise that the table reaches beyond the points.
const BEYOND: f32 = 4.0;
/// Logarithm of the share of a point below which it is left out of a sum: no count depends on it.
const NEGLIGIBLE: f32 = -14.0;

/// LLRs of every cell, in counts, at the least Es/N0 at which the MODCOD is of use; exact at the middle of the cell.
///
/// Where mirror images of a point differ in one label bit each, as all constellations of 16 points and more have it, one quadrant
/// is enough. The width of a cell is about a fifth of the noise's standard deviation at most, which costs some 0.01 dB.
#[derive(Debug)]
pub(super) struct Cells {
    /// The LLR of label bit b is byte b. One more, the last, is an erasure.
    cells: Vec<u64>,
    per_unit: f32,
    /// What is added to coordinates to count from the edge of the table; 0 for one quadrant.
    reach: f32,
    /// The bits that tell on which side of the Q and of the I axis a point lies; one quadrant only where there are both.
    pub(super) signs: Option<[usize; 2]>,
    /// Variance of the noise for which LLRs hold.
    pub(super) n0: f32,
}

impl Cells {
    /// The table of a kind of frame, made when it is first asked for, and kept.
    pub(super) fn of(modcod: Modcod, size: FrameSize) -> &'static Cells {
        static MADE: [[OnceLock<Cells>; 3]; 256] = [const { [const { OnceLock::new() }; 3] }; 256];
        MADE[usize::from(modcod.number())][size as usize].get_or_init(|| Cells::new(modcod, size))
    }

    fn new(modcod: Modcod, size: FrameSize) -> Cells {
        let points = Constellation::new(modcod, size).points();
        let bits = modcod.modulation().bits_per_symbol();
        let n0 = 10f32.powf(-0.1 * modcod.ideal_esn0_db());
        let signs = mirror_bit(points, bits, |point| Complex32::new(-point.re, point.im))
            .zip(mirror_bit(points, bits, |point| point.conj()))
            .map(|(re, im)| [re, im]);
        let largest = points.iter().map(|point| point.re.abs().max(point.im.abs())).fold(0.0, f32::max);
        let range = largest + BEYOND * (0.5 * n0).sqrt();
        let (reach, width) = if signs.is_some() { (0.0, range) } else { (range, 2.0 * range) };
        let step = width / SIDE as f32;
        let middle = |index: usize| (index as f32 + 0.5) * step - reach;
        let mut metrics = vec![0.0; points.len()];
        let mut cells: Vec<u64> = (0..SIDE * SIDE)
            .map(|cell| llrs(points, Complex32::new(middle(cell % SIDE), middle(cell / SIDE)), n0, bits, &mut metrics))
            .collect();
        cells.push(0);
        Cells { cells, per_unit: step.recip(), reach, signs, n0 }
    }

    /// All cells, the erasure last; cells per unit, and what is added to coordinates before.
    pub(super) fn table(&self) -> (&[u64], f32, f32) {
        (&self.cells, self.per_unit, self.reach)
    }

    /// The cells that symbols of these parts lie in.
    #[inline(always)]
    pub(super) fn look_up<S: Simd>(&self, simd: S, re: f32x16<S>, im: f32x16<S>) -> [u64; BLOCK] {
        const LAST: f32 = (SIDE - 1) as f32;
        let (re, im) = match self.signs {
            Some(_) => (re.abs(), im.abs()),
            None => (re + self.reach, im + self.reach),
        };
        let column = (re * self.per_unit).max(0.0).min(LAST).to_int::<i32x16<S>>();
        let row = (im * self.per_unit).max(0.0).min(LAST).to_int::<i32x16<S>>();
        let erased = i32x16::splat(simd, (SIDE * SIDE) as i32);
        let places: [i32; BLOCK] = (re + im).is_nan().select(erased, (row << SIDE.ilog2()) + column).into();
        let mut cells = [0; BLOCK];
        for (cell, place) in cells.iter_mut().zip(places) {
            *cell = self.cells[place as usize];
        }
        cells
    }
}

/// The label bit in which every point differs from its image in a mirror, and nothing else.
fn mirror_bit(points: &[Complex32], bits: usize, image: impl Fn(Complex32) -> Complex32) -> Option<usize> {
    (0..bits).find(|bit| {
        let other = |label: usize| points[label ^ 1 << (bits - 1 - bit)];
        points.iter().enumerate().all(|(label, point)| (image(*point) - other(label)).norm() < 1e-5)
    })
}

/// LLRs of the label bits of a symbol in counts, in the bytes of a number. `metrics` has room for as many numbers as there are
/// points.
fn llrs(points: &[Complex32], symbol: Complex32, n0: f32, bits: usize, metrics: &mut [f32]) -> u64 {
    let mut best = f32::MIN;
    for (metric, point) in metrics.iter_mut().zip(points) {
        *metric = -(symbol - point).norm_sqr() / n0;
        best = best.max(*metric);
    }
    // The nearest point of either value of a bit may be far from the nearest of all: sums are relative to it.
    let mut nearest = [[f32::MIN; 2]; 8];
    for (label, metric) in metrics.iter().enumerate().filter(|(_, metric)| **metric > best - 2.0 * MAX / COUNTS) {
        for (bit, nearest) in nearest[..bits].iter_mut().enumerate() {
            let value = label >> (bits - 1 - bit) & 1;
            nearest[value] = nearest[value].max(*metric);
        }
    }
    let mut sums = [[0.0f32; 2]; 8];
    for (label, metric) in metrics.iter().enumerate().filter(|(_, metric)| **metric > best - 2.0 * MAX / COUNTS) {
        for (bit, (sums, nearest)) in sums[..bits].iter_mut().zip(&nearest).enumerate() {
            let value = label >> (bits - 1 - bit) & 1;
            let beside = *metric - nearest[value];
            if beside > NEGLIGIBLE {
                sums[value] += beside.exp();
            }
        }
    }
    let mut bytes = [0; 8];
    for (byte, (sums, nearest)) in bytes.iter_mut().zip(sums.iter().zip(&nearest)).take(bits) {
        let logarithm = |value: usize| if sums[value] > 0.0 { nearest[value] + sums[value].ln() } else { f32::MIN };
        let llr = COUNTS * (logarithm(0) - logarithm(1));
        *byte = (llr.clamp(-MAX, MAX).round_ties_even() as i8).cast_unsigned();
    }
    u64::from_le_bytes(bytes)
}

//! Powers of PSK symbols, which take away what was sent, and the frequency that they show.

use std::f64::consts::TAU;

use num_complex::{Complex32, Complex64};

use super::known::{SEARCH, widen};
use super::line::{Line, Payload, STILL, middle};
use super::walk::Point;
use super::{Modulation, Pls};
use crate::derotate::multiply_by_phasor;

/// Payload symbols whose powers are summed.
pub(super) const BLOCK: usize = 64;
/// Distances in blocks of the products that show the frequency: each is the more exact, and needs the one before
/// to be unambiguous.
const LAGS: [usize; 3] = [1, 4, 16];
/// Share of the signal in a block below which the products are too noisy, and the frequency is searched instead.
pub(super) const LEAST_COHERENCE: f64 = 0.3;
/// Significance of a peak that noise does not reach.
pub(super) const SIGNIFICANT: f64 = 16.0;

/// The power that makes all symbols of a frame the same: 4 for QPSK and dummy frames, 8 for 8PSK, none for others.
pub(super) fn power_of(pls: Pls) -> Option<usize> {
    match pls.modcod().map(|modcod| modcod.modulation()) {
        None | Some(Modulation::Qpsk) => Some(4),
        Some(Modulation::Psk8) => Some(8),
        _ => None,
    }
}

/// Share of signal in a sum of powers, by how much it is like the one before.
pub(super) fn coherence(powers: &[Complex32]) -> f64 {
    let energy: f64 = powers.iter().map(|sum| f64::from(sum.norm_sqr())).sum();
    (lagged(powers, 1).norm() / energy.max(f64::MIN_POSITIVE)).min(0.999)
}

/// Sum of products of powers so many blocks apart.
fn lagged(powers: &[Complex32], lag: usize) -> Complex64 {
    let late = powers.get(lag..).unwrap_or_default();
    powers.iter().zip(late).map(|(early, late)| widen(late * early.conj())).sum()
}

/// The payload of a PSK frame without pilots, by its M-th powers.
pub(super) struct Powers<'a> {
    pub(super) m: usize,
    pub(super) powers: &'a [Complex32],
}

impl Powers<'_> {
    /// The powers turned by a line, so that they are real and positive if the line is right.
    fn straight(&self, line: Line) -> impl Iterator<Item = Complex64> {
        // Points of QPSK lie on the diagonals.
        let sign = if self.m == 4 { -1.0 } else { 1.0 };
        let turn = Complex64::cis(-TAU * line.frequency * (self.m * BLOCK) as f64);
        let mut phasor = Complex64::from_polar(sign, -(self.m as f64) * line.at(middle(0, BLOCK)));
        self.powers.iter().map(move |power| {
            let straight = widen(*power) * phasor;
            phasor *= turn;
            straight
        })
    }
}

impl Payload for Powers<'_> {
    fn misfit(&self, line: Line) -> f64 {
        let energy: f64 = self.powers.iter().map(|sum| f64::from(sum.norm_sqr())).sum();
        let sum: f64 = self.straight(line).map(|power| power.re).sum();
        -sum.max(0.0).powi(2) / energy.max(f64::MIN_POSITIVE)
    }

    fn beside(&self, line: Line, course: &mut Vec<Point>) -> Option<f64> {
        let (mut along, mut across) = (0.0, 0.0);
        let added = course.len();
        let mut powers = self.straight(line);
        for (index, blocks) in self.powers.chunks(STILL / BLOCK).enumerate() {
            let count = blocks.len();
            let mut sum = Complex64::ZERO;
            for power in powers.by_ref().take(count) {
                sum += power;
                across += power.im * power.im;
            }
            along += sum.re;
            let position = middle(index * STILL, count * BLOCK);
            course.push(Point { position, phase: sum.im / count as f64, variance: 1.0 / count as f64 });
        }
        let blocks = self.powers.len() as f64;
        for point in &mut course[added..] {
            point.variance *= across / blocks;
        }
        (along > 0.0).then(|| blocks / (along * self.m as f64))
    }
}

/// Removes the frequency of the sums of M-th powers. Returns it, in cycles per symbol, and the share of signal in
/// a sum.
pub(super) fn straighten_powers(powers: &mut [Complex32], m: usize) -> (f64, f64) {
    let per_block = (m * BLOCK) as f64;
    if coherence(powers) < LEAST_COHERENCE {
        let (frequency, _) = search_powers(powers, m, SEARCH);
        multiply_by_phasor(powers, -frequency * per_block, Complex64::ONE);
        return (frequency, coherence(powers));
    }
    let mut frequency = 0.0;
    for lag in LAGS {
        let residual = lagged(powers, lag).arg() / (TAU * per_block * lag as f64);
        frequency += residual;
        multiply_by_phasor(powers, -residual * per_block, Complex64::ONE);
    }
    (frequency, coherence(powers))
}

/// The frequency within ±`range` cycles per symbol at which sums of M-th powers add up best, and the significance
/// of this peak: its power over the mean power of noise.
pub(super) fn search_powers(powers: &[Complex32], m: usize, range: f64) -> (f64, f64) {
    let per_block = (m * BLOCK) as f64;
    let energy: f64 = powers.iter().map(|sum| f64::from(sum.norm_sqr())).sum();
    if energy == 0.0 {
        return (0.0, 0.0);
    }
    let add_up = |frequency: f64| -> f64 {
        let turn = Complex64::cis(-TAU * frequency * per_block);
        let mut phasor = Complex64::ONE;
        let mut sum = Complex64::ZERO;
        for power in powers {
            sum += widen(*power) * phasor;
            phasor *= turn;
        }
        sum.norm_sqr() / energy
    };
    let bins = (2.0 * range * per_block * powers.len() as f64).ceil().max(1.0);
    let step = range / bins;
    let bins = bins as i32;
    let peak = (-bins..=bins).map(|bin| (add_up(f64::from(bin) * step), bin)).max_by(|a, b| a.0.total_cmp(&b.0));
    let (significance, bin) = peak.unwrap_or_default();
    let frequency = f64::from(bin) * step;
    // The vertex of the parabola through the peak and its neighbours.
    let (before, after) = (add_up(frequency - step), add_up(frequency + step));
    let bend = 2.0 * significance - before - after;
    let vertex = if bend > 0.0 { 0.5 * (after - before) / bend } else { 0.0 };
    (frequency + step * vertex.clamp(-1.0, 1.0), significance)
}

/// Sums, over blocks, of the M-th powers of symbols brought to modulus 1, times their modulus.
#[inline(always)]
pub(super) fn sum_powers<const M: usize>(symbols: &[Complex32], sums: &mut Vec<Complex32>) {
    for block in symbols.as_chunks::<BLOCK>().0 {
        let mut re = [0.0; 16];
        let mut im = [0.0; 16];
        for part in block.as_chunks::<16>().0 {
            for (i, symbol) in part.iter().enumerate() {
                let modulus = (symbol.re * symbol.re + symbol.im * symbol.im).sqrt();
                let scale = modulus.max(f32::MIN_POSITIVE).recip();
                let (mut x, mut y) = (symbol.re * scale, symbol.im * scale);
                let mut power = 1;
                while power < M {
                    (x, y) = (x * x - y * y, 2.0 * x * y);
                    power *= 2;
                }
                re[i] += x * modulus;
                im[i] += y * modulus;
            }
        }
        sums.push(Complex32::new(re.iter().sum(), im.iter().sum()));
    }
}

//! Powers of PSK symbols, which take away what was sent, and the frequency that they show.

use std::f64::consts::TAU;

use num_complex::{Complex32, Complex64};

use super::known::{SEARCH, widen};
use super::level::{Energies, Moments, RUN};
use super::line::{Line, Payload, middle};
use super::walk::STILL;
use super::walk::{Point, nearest};
use super::{Modulation, Pls};
use crate::derotate::multiply_by_phasor;
use crate::planar::{LANES, Planar, recip_sqrt};
use crate::simd::{Level, Simd, dispatch, prelude::*};

/// Payload symbols whose powers are summed.
pub(super) const BLOCK: usize = 64;
/// Distances in blocks of the products that show the frequency: each is the more exact, and needs the one before
/// to be unambiguous.
const LAGS: [usize; 3] = [1, 4, 16];
/// Share of the signal in a block below which the products are too noisy, and the frequency is searched instead.
pub(super) const LEAST_COHERENCE: f64 = 0.3;
/// Standard deviations of noise from which a sum of powers shows more of the phase than headers do.
const VISIBLE: f64 = 2.0;
/// Significance of a peak that noise does not reach.
pub(super) const SIGNIFICANT: f64 = 16.0;

/// Quarters of a bin within which the significance is greatest.
const NEAR: i32 = 3;

/// The power that makes all symbols of a frame the same: 4 for QPSK and dummy frames, 8 for 8PSK, none for others.
pub(super) fn power_of(pls: Pls) -> Option<usize> {
    match pls.modcod().map(|modcod| modcod.modulation()) {
        None if pls.is_dummy() => Some(4),
        Some(Modulation::Qpsk) => Some(4),
        Some(Modulation::Psk8) => Some(8),
        _ => None,
    }
}

fn energy(powers: &[Complex32]) -> f64 {
    Moments::of(Level::best(), powers).second
}

/// Share of signal in a sum of powers, by how much it is like the one before.
pub(super) fn coherence(powers: &[Complex32]) -> f64 {
    let energy = energy(powers);
    (lagged(powers, 1).norm() / energy.max(f64::MIN_POSITIVE)).min(0.999)
}

/// Sum of products of powers so many blocks apart.
fn lagged(powers: &[Complex32], lag: usize) -> Complex64 {
    let late = powers.get(lag..).unwrap_or_default();
    let level = Level::best();
    widen(dispatch!(level, simd => correlate(simd, late, &powers[..late.len()])))
}

/// Sum of the products of numbers with the conjugates of others.
#[inline(always)]
fn correlate<S: Simd>(simd: S, numbers: &[Complex32], others: &[Complex32]) -> Complex32 {
    let mut sum = Planar::splat(simd, Complex32::ZERO);
    let (numbers, rest) = numbers.as_chunks();
    let (others, others_rest) = others.as_chunks();
    for (number, other) in numbers.iter().zip(others) {
        sum = Planar::load(simd, number).times_conj(Planar::load(simd, other)).plus(sum);
    }
    Planar::load_some(simd, rest).times_conj(Planar::load_some(simd, others_rest)).plus(sum).sum()
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
        let energy = energy(self.powers);
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
        (along > VISIBLE * across.sqrt()).then(|| blocks / (along * self.m as f64))
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
/// of this peak.
pub(super) fn search_powers(powers: &[Complex32], m: usize, range: f64) -> (f64, f64) {
    let bins = (2.0 * range * (m * BLOCK * powers.len()) as f64).ceil().max(1.0);
    let step = range / bins;
    let bins = bins as i32;
    let significance = significance(powers, m);
    let peak = (-bins..=bins).map(|bin| (significance(f64::from(bin) * step), bin)).max_by(|a, b| a.0.total_cmp(&b.0));
    let (most, bin) = peak.filter(|(most, _)| *most != 0.0).unwrap_or_default();
    let frequency = f64::from(bin) * step;
    // The vertex of the parabola through the peak and its neighbours.
    let (before, after) = (significance(frequency - step), significance(frequency + step));
    let bend = 2.0 * most - before - after;
    let vertex = if bend > 0.0 { 0.5 * (after - before) / bend } else { 0.0 };
    (frequency + step * vertex.clamp(-1.0, 1.0), most)
}

/// The greatest significance near a frequency that known symbols show a little less exactly.
pub(super) fn significance_near(powers: &[Complex32], m: usize, frequency: f64) -> f64 {
    let step = 0.25 / (m * BLOCK * powers.len().max(1)) as f64;
    let near = (-NEAR..=NEAR).map(|bin| frequency + f64::from(bin) * step);
    near.map(significance(powers, m)).fold(0.0, f64::max)
}

/// The power of the sum of M-th powers at a frequency over the mean power of noise: noise alone exceeds it with a probability of
/// exp(-significance).
fn significance(powers: &[Complex32], m: usize) -> impl Fn(f64) -> f64 {
    let energy = energy(powers);
    move |frequency| {
        let turn = Complex64::cis(-TAU * frequency * (m * BLOCK) as f64);
        let mut phasor = Complex64::ONE;
        let mut sum = Complex64::ZERO;
        for power in powers {
            sum += widen(*power) * phasor;
            phasor *= turn;
        }
        sum.norm_sqr() / energy.max(f64::MIN_POSITIVE)
    }
}

/// Phases of powers, in cycles, each summed with `reach` neighbours on either side and unwrapped from one to the next.
pub(super) fn smoothed_phases(level: Level, powers: &[Complex32], reach: usize, phases: &mut Vec<f64>) {
    phases.clear();
    let mut sum: Complex64 = powers[..reach.min(powers.len())].iter().copied().map(widen).sum();
    let (mut last, mut turns) = (0.0, 0.0);
    let mut index = 0;
    while index < powers.len() {
        let mut sums = [Complex32::ZERO; LANES];
        let count = LANES.min(powers.len() - index);
        for slot in &mut sums[..count] {
            sum += powers.get(index + reach).copied().map_or(Complex64::ZERO, widen);
            *slot = Complex32::new(sum.re as f32, sum.im as f32);
            sum -= index.checked_sub(reach).map_or(Complex64::ZERO, |gone| widen(powers[gone]));
            index += 1;
        }
        let mut cycles = [0.0; LANES];
        dispatch!(level, simd => cycles_of(simd, &sums, &mut cycles));
        for phase in &cycles[..count] {
            let phase = f64::from(*phase);
            turns -= nearest(phase - last);
            last = phase;
            phases.push(phase + turns);
        }
    }
}

#[inline(always)]
fn cycles_of<S: Simd>(simd: S, numbers: &[Complex32; LANES], cycles: &mut [f32; LANES]) {
    Planar::load(simd, numbers).cycles(simd).store_slice(cycles);
}

/// Sums, over blocks, of the M-th powers of symbols brought to modulus 1, times their modulus; both moduli to 0.2 %. Answers the moments
/// of all symbols.
pub(super) fn sum_powers<const M: usize>(level: Level, symbols: &[Complex32], sums: &mut Vec<Complex32>) -> Moments {
    let (_, rest) = symbols.as_chunks::<BLOCK>();
    let mut moments = dispatch!(level, simd => sum_powers_kernel::<_, M>(simd, symbols, sums));
    moments.add(level, rest);
    moments
}

#[inline(always)]
fn sum_powers_kernel<S: Simd, const M: usize>(simd: S, symbols: &[Complex32], sums: &mut Vec<Complex32>) -> Moments {
    const { assert!(LANES * BLOCK <= RUN) };
    let mut moments = Moments::default();
    let (many, few) = symbols.as_chunks::<{ LANES * BLOCK }>();
    for many in many {
        let (mut all, mut energies) = ([Planar::splat(simd, Complex32::ZERO); LANES], Energies::none(simd));
        for (sum, block) in all.iter_mut().zip(many.as_chunks().0) {
            *sum = power_sums::<S, M>(simd, block, &mut energies);
        }
        moments.add_energies(energies);
        let mut added = [Complex32::ZERO; LANES];
        Planar::sums(all).store(&mut added);
        sums.extend_from_slice(&added);
    }
    let mut energies = Energies::none(simd);
    for block in few.as_chunks().0 {
        sums.push(power_sums::<S, M>(simd, block, &mut energies).sum());
    }
    moments.add_energies(energies);
    moments
}

/// Numbers that add up to the sum of a block.
#[inline(always)]
fn power_sums<S: Simd, const M: usize>(simd: S, block: &[Complex32; BLOCK], energies: &mut Energies<S>) -> Planar<S> {
    let mut sum = Planar::splat(simd, Complex32::ZERO);
    for part in block.as_chunks().0 {
        let symbol = Planar::load(simd, part);
        let energy = symbol.norm_sqr();
        energies.add(energy);
        let scale = recip_sqrt(simd, energy);
        let mut power = symbol.scale(scale);
        for _ in 0..M.ilog2() {
            power = power.square();
        }
        sum = power.scale_add(energy * scale, sum);
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dvbs2::walk::wrap;

    #[test]
    fn silence_shows_no_frequency() {
        for m in [4, 8] {
            assert_eq!(search_powers(&[Complex32::ZERO; 100], m, 1e-4), (0.0, 0.0));
        }
    }

    fn noise(count: usize, seed: u64) -> Vec<Complex32> {
        let mut random = fastrand::Rng::with_seed(seed);
        (0..count).map(|_| Complex32::new(random.f32() - 0.4, random.f32() - 0.3)).collect()
    }

    #[test]
    fn powers_are_those_of_the_definition_at_every_level() {
        let symbols = noise(10 * BLOCK + 5, 1);
        let exact = |m: u32| -> Vec<Complex64> {
            let power = |symbol: &Complex32| widen(*symbol).powu(m) / widen(*symbol).norm().powi(m as i32 - 1);
            symbols.as_chunks::<BLOCK>().0.iter().map(|block| block.iter().map(power).sum()).collect()
        };
        for level in Level::all() {
            let (mut fourth, mut eighth) = (vec![], vec![]);
            sum_powers::<4>(level, &symbols, &mut fourth);
            sum_powers::<8>(level, &symbols, &mut eighth);
            for (powers, exact) in [(fourth, exact(4)), (eighth, exact(8))] {
                assert_eq!(powers.len(), exact.len());
                for (power, exact) in powers.iter().zip(exact) {
                    assert!(
                        (widen(*power) - exact).norm() < 0.02 * BLOCK as f64 * 0.5,
                        "{level}: {power}, not {exact}"
                    );
                }
            }
        }
    }

    #[test]
    fn phases_are_those_of_the_definition_at_every_level() {
        for (count, reach) in [(0, 0), (0, 5), (1, 0), (1, 5), (16, 1), (130, 0), (130, 5), (517, 16)] {
            let powers = noise(count, 2);
            let mut exact = vec![];
            let mut last = 0.0;
            for index in 0..count {
                let neighbours = &powers[index.saturating_sub(reach)..count.min(index + reach + 1)];
                let sum: Complex64 = neighbours.iter().copied().map(widen).sum();
                last += wrap(sum.arg() - last);
                exact.push(last / TAU);
            }
            for level in Level::all() {
                let mut phases = vec![7.0];
                smoothed_phases(level, &powers, reach, &mut phases);
                assert_eq!(phases.len(), count);
                for (phase, exact) in phases.iter().zip(&exact) {
                    assert!((phase - exact).abs() < 1e-6, "{level}, {reach}: {phase}, not {exact}");
                }
            }
        }
    }

    #[test]
    fn products_are_summed_at_every_lag() {
        let powers = noise(130, 3);
        for lag in [0, 1, 4, 16, 129, 130, 200] {
            let pairs = powers.iter().zip(powers.iter().skip(lag));
            let exact: Complex64 = pairs.map(|(early, late)| widen(*late) * widen(*early).conj()).sum();
            assert!((lagged(&powers, lag) - exact).norm() < 1e-4, "{lag}");
        }
    }
}

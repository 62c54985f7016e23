//! Carrier phase along one PLFRAME, from the frame alone.

mod kernel;

use std::f64::consts::{PI, TAU};

use num_complex::{Complex32, Complex64};

use super::decided::Decisions;
use super::known::{Known, KnownParts, SEARCH, search_frequency};
use super::line::{Residual, follow_line};
use super::powers::{
    BLOCK, LEAST_COHERENCE, Powers, coherence, power_of, smoothed_phases, straighten_powers, sum_powers,
};
use super::scramble::PlScrambler;
use super::walk::{Point, nearest, smooth_walk, wrap};
use super::{HEADER, Layout, MAX_SYMBOLS, Moments, Pls};
use crate::planar::{LANES, Planar};
use crate::simd::{Level, Simd, dispatch, f32x16, prelude::*};

pub use kernel::{PhaseReads, PhaseSegment};

/// Blocks from one knot of the phase to the next.
const BLOCKS_PER_KNOT: usize = 4;
/// Symbols that are turned back in a row by single-precision phasors.
const EXACT: usize = 512;
/// Symbols of two vectors, which do not wait for each other.
const PAIR: usize = 2 * LANES;
/// Ratio of signal to noise wanted in the sum of neighbouring blocks, and how many of them it may take on either side.
const SMOOTHED_SNR: f64 = 60.0;
const MAX_REACH: usize = 16;
/// The same with pilots: less than half of their distance in all, and the ratio below which pilots alone do better.
const REACH_BETWEEN_PILOTS: usize = 5;
const LEAST_SNR_BETWEEN_PILOTS: f64 = 10.0;
/// Standard deviation of the frequency that a [`Tracker`](super::Tracker) leaves, in cycles per symbol, at the least Es/N0 at
/// which 16APSK is of use, 8PSK, and QPSK.
const TRACKED: f64 = 4e-5;
const TRACKED_OF_8PSK: f64 = 6e-5;
const TRACKED_OF_QPSK: f64 = 1e-4;

/// What [`CarrierPhase::estimate`] found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PhaseReport {
    /// Frequency left in the symbols, in cycles per symbol.
    pub frequency: f64,
    /// Cycle slips that pilots and the header of the next frame revealed and that were repaired, in steps of the
    /// constellation's symmetry.
    pub slips: usize,
    /// Whether the header of the next frame was there and good.
    pub next_header: bool,
}

/// Estimates the carrier phase along a PLFRAME and removes it.
///
/// Nothing is remembered from frame to frame, so frames may be treated in any order, on any core.
///
/// * QPSK and 8PSK: phases of the 4th (8th) power of the payload, smoothed over as many symbols as their noise
///   asks for. Header, pilots and next header give the absolute phase and reveal cycle slips. The residual
///   frequency may be up to 1e-3 cycles per symbol. With pilots and much noise (below about 2 dB for QPSK, 8 dB
///   for 8PSK), as follows.
/// * Others with pilots: the phases of header, pilot blocks and next header, smoothed as far as they are noise rather
///   than phase noise, and joined by straight lines. The residual frequency may be up to 3e-4 cycles per symbol.
/// * APSK without pilots: the straight line between the headers that decided symbols fit best, and what these
///   show beside it. The residual frequency may be up to 1.5e-4 cycles per symbol.
///
/// # Source
/// A. J. Viterbi and A. M. Viterbi, "Nonlinear estimation of PSK-modulated carrier phase with application to burst
/// digital transmission", IEEE Trans. Inf. Theory 29 (1983), with the amplitude to the power of one.
///
/// # Example
/// ```
/// use bief_dsp::{Complex32, derotate::derotate};
/// use bief_dsp::dvbs2::{CarrierPhase, Pls, PlframeBuilder, scramble::PlScrambler};
///
/// let pls = Pls::new(43); // QPSK 8/9 short, pilots
/// let scrambler = PlScrambler::broadcast();
/// let builder = PlframeBuilder::new(pls, scrambler)?;
/// let mut sent = vec![Complex32::ZERO; builder.layout().symbols()];
/// builder.build(&[0x5A; 2_025], &mut sent);
///
/// let mut received = sent.clone();
/// derotate(&mut received, 1e-4, 2.0);
/// let mut phase = CarrierPhase::new();
/// let report = phase.estimate(pls, &received, scrambler);
/// assert!((report.frequency + 1e-4).abs() < 1e-6);
/// phase.correct(&mut received);
/// assert!(received.iter().zip(&sent).all(|(y, s)| (y - s).norm() < 1e-3));
/// # Ok::<(), bief_dsp::dvbs2::UndefinedFrameError>(())
/// ```
#[derive(Clone, Debug)]
pub struct CarrierPhase {
    level: Level,
    knots: Vec<Point>,
    /// Slope before the first knot and after the last one, in cycles per symbol.
    frequency: f64,
    /// Sums of powers of the payload's blocks.
    powers: Vec<Complex32>,
    /// Their unwrapped phases.
    phases: Vec<f64>,
    /// Of the frame of the last estimate.
    moments: Moments,
}

impl Default for CarrierPhase {
    fn default() -> CarrierPhase {
        CarrierPhase::new()
    }
}

impl CarrierPhase {
    /// Room for the longest frame; no later call allocates.
    pub fn new() -> CarrierPhase {
        let blocks = MAX_SYMBOLS / BLOCK;
        CarrierPhase {
            level: Level::best(),
            knots: Vec::with_capacity(blocks / BLOCKS_PER_KNOT + 2),
            frequency: 0.0,
            powers: Vec::with_capacity(blocks),
            phases: Vec::with_capacity(blocks),
            moments: Moments::default(),
        }
    }

    /// Finds the course of the phase along the frame that starts at `symbols[0]`.
    ///
    /// `symbols` is the frame of `pls`, of any amplitude, followed by the 90 symbols of the next header where they
    /// are at hand: they end the last straight line, and reveal cycle slips.
    ///
    /// # Panics
    /// When `pls` has no [`Layout`], or `symbols` is shorter than the frame.
    pub fn estimate(&mut self, pls: Pls, symbols: &[Complex32], scrambler: &PlScrambler) -> PhaseReport {
        let layout = Layout::new(pls).expect("the PLS describes a frame");
        let payload = &symbols[HEADER..layout.symbols()];
        self.powers.clear();
        self.moments = match power_of(pls) {
            Some(4) => sum_powers::<4>(self.level, payload, &mut self.powers),
            Some(8) => sum_powers::<8>(self.level, payload, &mut self.powers),
            _ => Moments::of(self.level, payload),
        };
        self.moments.add(self.level, &symbols[..HEADER]);
        self.estimate_by_powers(pls, symbols, scrambler)
    }

    /// The same where the powers of the payload were summed elsewhere: of `symbols` those alone are read that
    /// [`PhaseReads`] tells.
    ///
    /// # Panics
    /// As [`estimate`](Self::estimate).
    pub fn estimate_from(
        &mut self,
        pls: Pls,
        symbols: &[Complex32],
        powers: &[Complex32],
        scrambler: &PlScrambler,
    ) -> PhaseReport {
        self.powers.clear();
        self.powers.extend_from_slice(powers);
        self.estimate_by_powers(pls, symbols, scrambler)
    }

    fn estimate_by_powers(&mut self, pls: Pls, symbols: &[Complex32], scrambler: &PlScrambler) -> PhaseReport {
        let layout = Layout::new(pls).expect("the PLS describes a frame");
        let known = KnownParts::of(pls, &layout, symbols, scrambler);
        let payload = layout.symbols() - HEADER;
        let followed = match power_of(pls) {
            Some(4) => self.follow_powers::<4>(payload, &known),
            Some(8) => self.follow_powers::<8>(payload, &known),
            _ => pls.modcod().filter(|_| !known.has_pilots()).map(|modcod| {
                let frame = &symbols[..layout.symbols()];
                let kind = (modcod, pls.frame_size());
                let decisions = Decisions::new(self.level, kind, frame, &known, scrambler);
                (
                    follow_line(
                        &decisions,
                        frame.len(),
                        &known,
                        Residual::of(TRACKED),
                        decisions.variance,
                        &mut self.knots,
                    ),
                    0,
                )
            }),
        };
        let (frequency, slips) = followed.unwrap_or_else(|| (self.join(&known), 0));
        self.frequency = frequency;
        PhaseReport { frequency, slips, next_header: known.next_header }
    }

    /// The moments of the frame of the last [`estimate`](Self::estimate), which [`correct`](Self::correct) does not change.
    pub fn moments(&self) -> Moments {
        self.moments
    }

    /// Turns every symbol back by the phase found, in place; the first symbol is the first of the frame.
    pub fn correct(&self, symbols: &mut [Complex32]) {
        let level = self.level;
        dispatch!(level, simd => self.correct_kernel(simd, symbols));
    }

    #[inline(always)]
    fn correct_kernel<S: Simd>(&self, simd: S, symbols: &mut [Complex32]) {
        let mut rest = symbols;
        let mut position = 0;
        let Some(mut knot) = self.knots.first() else { return };
        let mut slope = self.frequency;
        for end in &self.knots {
            if end.position > knot.position {
                slope = (end.phase - knot.phase) / (TAU * (end.position - knot.position));
            }
            let count = (end.position.ceil() as usize).saturating_sub(position).min(rest.len());
            let (segment, after) = rest.split_at_mut(count);
            turn_back(simd, segment, slope, knot.phase / TAU + slope * (position as f64 - knot.position));
            position += count;
            rest = after;
            knot = end;
        }
        turn_back(simd, rest, self.frequency, knot.phase / TAU + self.frequency * (position as f64 - knot.position));
    }

    /// Knots at known symbols; returns the frequency.
    fn join(&mut self, known: &KnownParts) -> f64 {
        let frequency = search_frequency(std::slice::from_ref(known));
        let parts = known.parts();
        let turned =
            |(position, correlation): (f64, Complex64)| correlation * Complex64::cis(-TAU * frequency * position);
        let mean: Complex64 = parts.iter().flat_map(Known::halves).map(turned).sum();
        let variance = phase_variance(parts, frequency);
        let mut last = 0.0;
        self.knots.clear();
        self.knots.extend(parts.iter().map(|part| {
            // What is left beside the straight line is followed from part to part.
            last += wrap((turned((part.position, part.correlation())) * mean.conj()).arg() - last);
            Point { position: part.position, phase: last, variance: variance / part.length() }
        }));
        smooth_walk(&mut self.knots, variance);
        for knot in &mut self.knots {
            knot.phase += mean.arg() + TAU * frequency * knot.position;
        }
        frequency
    }

    /// Knots from the M-th power of all that follows the header, so many symbols. Returns the frequency and the slips repaired, or
    /// nothing when pilots do better.
    fn follow_powers<const M: usize>(&mut self, payload: usize, known: &KnownParts) -> Option<(f64, usize)> {
        let symmetry = TAU / M as f64;
        let position = |index: usize| (HEADER + BLOCK * index) as f64 + 0.5 * (BLOCK - 1) as f64;

        let powers = &mut self.powers;
        if !known.has_pilots() && coherence(powers) < LEAST_COHERENCE {
            let powers = Powers { m: M, powers };
            let length = HEADER + payload;
            let variance = phase_variance(known.parts(), 0.0);
            let tracked = if M == 4 { TRACKED_OF_QPSK } else { TRACKED_OF_8PSK };
            let residual = Residual { tracked, widest: 0.25 * SEARCH };
            return Some((follow_line(&powers, length, known, residual, variance, &mut self.knots), 0));
        }
        let (frequency, coherence) = straighten_powers(powers, M);
        let block_snr = (coherence / (1.0 - coherence)).max(1e-3);
        let wanted = (0.5 * SMOOTHED_SNR / block_snr).ceil().max(1.0) as usize;
        let reach = if known.has_pilots() {
            let reach = wanted.min(REACH_BETWEEN_PILOTS);
            if block_snr * ((2 * reach + 1) as f64) < LEAST_SNR_BETWEEN_PILOTS {
                return None;
            }
            reach
        } else {
            wanted.min(MAX_REACH)
        };

        // From phases of the powers to phases of the carrier, but for a multiple of the symmetry.
        let upright = if M == 4 { PI } else { 0.0 };
        let phases = &mut self.phases;
        smoothed_phases(self.level, powers, reach, phases);
        for (index, phase) in phases.iter_mut().enumerate() {
            *phase = (TAU * *phase - upright) / M as f64 + TAU * frequency * (position(index) - position(0));
        }
        let end = phases.len().checked_sub(1)?;

        // The known parts tell the multiple, the first one for the whole frame, each other one when it has changed.
        let mut slips = 0;
        let mut before = 0;
        for (number, part) in known.parts().iter().enumerate() {
            let index = ((part.position - position(0)) / BLOCK as f64).round().clamp(0.0, end as f64) as usize;
            let expected = phases[index] + TAU * frequency * (part.position - position(index));
            let steps = (wrap(part.correlation().arg() - expected) / symmetry).round();
            if steps != 0.0 {
                let mut from = 0;
                if number > 0 {
                    slips += steps.abs() as usize;
                    let per_block = TAU * frequency * BLOCK as f64;
                    from = likeliest_slip(&phases[before..=index], steps.signum(), per_block) + before;
                }
                for phase in &mut phases[from..] {
                    *phase += symmetry * steps;
                }
            }
            before = index;
        }
        let knots = &mut self.knots;
        knots.clear();
        let knot = |index: usize| Point { position: position(index), phase: phases[index], variance: 0.0 };
        knots.extend((0..phases.len()).step_by(BLOCKS_PER_KNOT).map(knot));
        Some((frequency, slips))
    }
}

/// Variance of a phase measured on one symbol, by how much the halves of known parts differ at a frequency.
fn phase_variance(parts: &[Known], frequency: f64) -> f64 {
    let (mut noise, mut amplitude, mut symbols) = (0.0, 0.0, 0.0);
    for part in parts {
        let [first, second] = part.halves().map(|(position, half)| half * Complex64::cis(-TAU * frequency * position));
        noise += (first - second).norm_sqr();
        amplitude += (first + second).norm();
        symbols += part.length();
    }
    (0.5 * noise * symbols / (amplitude * amplitude)).max(f64::MIN_POSITIVE)
}

/// Turns symbols back by a phase that begins with `start` and grows by `slope`, in cycles.
#[inline(always)]
fn turn_back<S: Simd>(simd: S, symbols: &mut [Complex32], slope: f64, start: f64) {
    // By half a pair: the product is as exact as another phasor, and sooner there.
    let half = -slope * LANES as f64;
    let half = Planar::cis(simd, f32x16::splat(simd, (half - nearest(half)) as f32));
    let step = half.times(half);
    let mut phase = start;
    for run in symbols.chunks_mut(EXACT) {
        // In single precision phases, and products of so many phasors, are exact to some 1e-6.
        let mut even = back(simd, phase, slope);
        let mut odd = even.times(half);
        phase += slope * EXACT as f64;
        let (pairs, rest) = run.as_chunks_mut::<PAIR>();
        for pair in pairs {
            let [first, second] = pair.as_chunks_mut::<LANES>().0 else { return };
            Planar::load(simd, first).times(even).store(first);
            Planar::load(simd, second).times(odd).store(second);
            (even, odd) = (even.times(step), odd.times(step));
        }
        for (part, by) in rest.chunks_mut(LANES).zip([even, odd]) {
            Planar::load_some(simd, part).times(by).store_some(part);
        }
    }
}

/// Phasors that turn back symbols of a phase, in cycles, that grows by `slope`.
#[inline(always)]
fn back<S: Simd>(simd: S, phase: f64, slope: f64) -> Planar<S> {
    let lanes = f32x16::from_slice(
        simd,
        &[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0, 12.0, 13.0, 14.0, 15.0],
    );
    Planar::cis(simd, lanes * -slope as f32 - (phase - nearest(phase)) as f32)
}

/// Index of the phase, the last one at the latest, that most looks as if it had been taken the wrong way round
/// from the one before: too low if `direction` is positive, else too high.
fn likeliest_slip(phases: &[f64], direction: f64, per_block: f64) -> usize {
    let excess = |pair: &[f64]| (pair[1] - pair[0] - per_block) * direction;
    let place = phases.windows(2).map(excess).enumerate().min_by(|a, b| a.1.total_cmp(&b.1));
    place.map_or(0, |(before, _)| before + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::channel::Channel;
    use crate::dvbs2::PlframeBuilder;
    use crate::dvbs2::known::widen;
    use crate::dvbs2::plheader::header_symbols;

    /// A frame of random payload and the header of the next one.
    fn frame(value: u8, seed: u64) -> (Pls, Vec<Complex32>) {
        let pls = Pls::new(value);
        let builder = PlframeBuilder::new(pls, PlScrambler::broadcast()).unwrap();
        let mut random = fastrand::Rng::with_seed(seed);
        let bytes = pls.fec().map_or(0, |fec| fec.nldpc / 8);
        let codeword: Vec<u8> = (0..bytes).map(|_| random.u8(..)).collect();
        let mut symbols = vec![Complex32::ZERO; builder.layout().symbols()];
        builder.build(&codeword, &mut symbols);
        symbols.extend(header_symbols(Pls::DUMMY));
        (pls, symbols)
    }

    /// Symbols turned by `phase(k)`, in noise.
    fn receive(sent: &[Complex32], es_n0: f64, seed: u64, phase: impl Fn(usize) -> f64) -> Vec<Complex32> {
        let turned = sent.iter().enumerate().map(|(k, symbol)| symbol * Complex32::cis(phase(k) as f32));
        let turned: Vec<Complex32> = turned.collect();
        let noise_power = Channel::noise_for(es_n0, 1.0);
        Channel { noise_power, seed, gain: 0.01, ..Channel::clear() }.apply(&turned)
    }

    /// Ratio in dB of what symbols have along those sent to what they have besides.
    fn mer(sent: &[Complex32], symbols: &[Complex32]) -> f64 {
        let aligned: Complex64 = sent.iter().zip(symbols).map(|(sent, symbol)| widen(symbol * sent.conj())).sum();
        let gain = (aligned.re / sent.iter().map(|sent| f64::from(sent.norm_sqr())).sum::<f64>()) as f32;
        let errors = sent.iter().zip(symbols).map(|(sent, symbol)| f64::from((symbol / gain - sent).norm_sqr()));
        -10.0 * (errors.sum::<f64>() / sent.len() as f64).log10()
    }

    /// Loss in dB against a receiver that knows the phase.
    fn loss(sent: &[Complex32], received: &[Complex32], corrected: &[Complex32], phase: impl Fn(usize) -> f64) -> f64 {
        let known = received.iter().enumerate().map(|(k, symbol)| symbol * Complex32::cis(-phase(k) as f32));
        mer(sent, &known.take(sent.len()).collect::<Vec<_>>()) - mer(sent, corrected)
    }

    #[test]
    fn every_kind_of_frame_is_turned_back() {
        // PLS, Es/N0 of its use, residual frequency that must be harmless, loss allowed.
        for (value, es_n0, frequency, allowed) in [
            (43, 6.5, 1e-3, 0.03),    // QPSK 8/9 short, pilots
            (5, -2.0, 3e-4, 0.07),    // QPSK 1/4 normal, pilots
            (53, 7.0, 3e-4, 0.07),    // 8PSK 2/3 normal, pilots: headers in line with the pilots
            (75, 11.0, 3e-4, 0.10),   // 16APSK 2/3 short, pilots
            (97, 13.5, 3e-4, 0.07),   // 32APSK 3/4 normal, pilots: headers in line with the pilots
            (42, 6.5, 1e-3, 0.03),    // QPSK 8/9 short
            (16, 2.0, 5e-4, 0.05),    // QPSK 1/2 normal
            (4, 0.0, 3e-4, 0.15),     // QPSK 1/4 normal
            (54, 7.0, 3e-4, 0.10),    // 8PSK 2/3 short
            (72, 10.0, 1.2e-4, 0.08), // 16APSK 2/3 normal
            (74, 10.0, 1e-4, 0.10),   // 16APSK 2/3 short
            (96, 13.5, 1.2e-4, 0.08), // 32APSK 3/4 normal
            (0, 2.0, 5e-4, 0.20),     // dummy
        ] {
            let (pls, sent) = frame(value, 1);
            let length = Layout::new(pls).unwrap().symbols();
            for (seed, frequency) in [(1, 0.0), (2, frequency), (3, -frequency), (4, 0.3 * frequency)] {
                let start = seed as f64;
                let course = |k: usize| start + TAU * frequency * k as f64;
                let received = receive(&sent, es_n0, seed, course);
                let mut symbols = received.clone();
                let mut phase = CarrierPhase::new();
                let report = phase.estimate(pls, &symbols, PlScrambler::broadcast());
                phase.correct(&mut symbols);
                let loss = loss(&sent[..length], &received, &symbols[..length], course);
                let name = format!("{pls}, {frequency} cycles per symbol");
                println!("{name}: {loss:.3} dB");
                assert!(loss < allowed, "{name}: {loss} dB");
                assert!((report.frequency - frequency).abs() < 2e-5, "{name}: {report:?}");
                assert!(report.next_header && report.slips == 0, "{name}: {report:?}");
            }
        }
    }

    #[test]
    fn moments_are_those_of_the_frame() {
        for value in [0, 4, 16, 42, 43, 54, 72, 75, 97, 132, 214] {
            let (pls, sent) = frame(value, 6);
            let length = Layout::new(pls).unwrap().symbols();
            let received = receive(&sent, 7.0, 8, |k| 0.3 + 1e-4 * k as f64);
            let mut phase = CarrierPhase::new();
            phase.estimate(pls, &received, PlScrambler::broadcast());
            let (told, expected) = (phase.moments(), Moments::of(Level::best(), &received[..length]));
            assert!((told.second / expected.second - 1.0).abs() < 1e-6, "{pls}: {told:?}, not {expected:?}");
            assert!((told.fourth / expected.fourth - 1.0).abs() < 1e-6, "{pls}: {told:?}, not {expected:?}");
        }
    }

    #[test]
    fn the_next_header_may_be_missing() {
        for value in [42, 43, 54, 75] {
            let (pls, sent) = frame(value, 2);
            let length = Layout::new(pls).unwrap().symbols();
            let course = |k: usize| 2.0 + TAU * 1e-4 * k as f64;
            let received = receive(&sent[..length], 12.0, 5, course);
            let mut symbols = received.clone();
            let mut phase = CarrierPhase::new();
            let report = phase.estimate(pls, &symbols, PlScrambler::broadcast());
            phase.correct(&mut symbols);
            assert!(!report.next_header);
            let loss = loss(&sent[..length], &received, &symbols, course);
            assert!(loss < 0.15, "{pls}: {loss} dB");
        }
    }

    #[test]
    fn phase_noise_is_followed() {
        for (value, es_n0, walked, allowed) in [
            (43, 6.5, 0.1, 0.05),
            (42, 6.5, 0.1, 0.05),
            (54, 8.0, 0.1, 0.3),
            (75, 11.0, 0.1, 0.4),
            (16, 1.5, 0.05, 0.05),
            (50, 6.5, 0.1, 0.1),
            (6, 0.0, 0.1, 0.05),
            (72, 10.5, 0.03, 0.1),
            (98, 14.0, 0.06, 0.06),
            (96, 14.0, 0.03, 0.05),
        ] {
            let (pls, sent) = frame(value, 3);
            let length = Layout::new(pls).unwrap().symbols();
            // A random walk that goes so many radians from one pilot block to the next.
            let mut random = fastrand::Rng::with_seed(4);
            let mut walk = 0.0;
            let mut step = || {
                walk += (random.f64() - 0.5) * 12f64.sqrt() * walked / 1_476f64.sqrt();
                walk
            };
            let course: Vec<f64> = sent.iter().map(|_| step()).collect();
            let received = receive(&sent, es_n0, 6, |k| course[k]);
            let mut symbols = received.clone();
            let mut phase = CarrierPhase::new();
            let report = phase.estimate(pls, &symbols, PlScrambler::broadcast());
            phase.correct(&mut symbols);
            let loss = loss(&sent[..length], &received, &symbols[..length], |k| course[k]);
            println!("{pls}: {loss:.3} dB");
            assert!(report.slips == 0 && loss < allowed, "{pls}: {loss} dB");
        }
    }

    #[test]
    fn a_cycle_slip_is_found_and_repaired() {
        for (value, turn, slips) in [(42, 1.2, 1), (42, -1.2, 1), (42, 2.8, 2), (43, 1.2, 1), (43, 2.8, 2)] {
            let (pls, sent) = frame(value, 4);
            let length = Layout::new(pls).unwrap().symbols();
            // The phase jumps in the middle of the frame, farther than the payload's symmetry can tell.
            let mut symbols = receive(&sent, 8.0, 7, |k| if k < 4_000 { 0.5 } else { 0.5 + turn });
            let mut phase = CarrierPhase::new();
            let report = phase.estimate(pls, &symbols, PlScrambler::broadcast());
            phase.correct(&mut symbols[..length]);
            assert_eq!(report.slips, slips, "{turn}");
            for part in [0..3_700, 4_300..length] {
                let mer = mer(&sent[part.clone()], &symbols[part.clone()]);
                assert!(mer > 7.7, "{turn}: {mer} dB in {part:?}");
            }
        }
    }

    #[test]
    fn symbols_that_say_nothing_do_no_harm() {
        let mut phase = CarrierPhase::new();
        for value in [0, 42, 43, 54, 72, 75, 99] {
            let (pls, sent) = frame(value, 5);
            for symbol in [Complex32::ZERO, Complex32::new(f32::NAN, 0.0), Complex32::new(f32::MAX, f32::INFINITY)] {
                let mut symbols = vec![symbol; sent.len()];
                phase.estimate(pls, &symbols, PlScrambler::broadcast());
                phase.correct(&mut symbols);
            }
            // Nothing of that remains for the next frame.
            let mut symbols = sent.clone();
            phase.estimate(pls, &symbols, PlScrambler::broadcast());
            phase.correct(&mut symbols);
            assert!(symbols.iter().zip(&sent).all(|(symbol, sent)| (symbol - sent).norm() < 0.02), "{pls}");
        }
    }
}

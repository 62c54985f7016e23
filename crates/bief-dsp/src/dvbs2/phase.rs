//! Carrier phase along one PLFRAME, from the frame alone.

use std::array;
use std::f64::consts::{PI, TAU};

use num_complex::{Complex32, Complex64};

use super::plheader::{self, header_symbols};
use super::scramble::PlScrambler;
use super::{HEADER, Layout, MAX_SYMBOLS, Modulation, PILOT, PILOT_BLOCK, PILOT_PERIOD, Pls};
use crate::derotate::multiply_by_phasor;
use crate::simd::{Level, dispatch};

/// Known parts of a frame: header, pilot blocks, header of the next frame.
const MAX_KNOWN: usize = MAX_SYMBOLS / PILOT_PERIOD + 2;
/// Residual frequency searched on either side of zero, in cycles per symbol. Pilot blocks alone repeat their
/// phases every 1/1476: this is almost to the next such frequency.
pub(super) const SEARCH: f64 = 6e-4;
/// Share of the search's metric that a frequency at the end of its range loses. It decides for the smaller
/// frequency in the frames where the headers stand in line with the pilot blocks and tell nothing.
const PENALTY: f64 = 0.1;
/// Quality from which the header of the next frame is believed.
const NEXT_HEADER_QUALITY: f32 = 0.2;
/// Payload symbols whose powers are summed.
pub(super) const BLOCK: usize = 64;
/// Blocks from one knot of the phase to the next.
const BLOCKS_PER_KNOT: usize = 4;
/// Distances in blocks of the products that show the frequency: each is the more exact, and needs the one before
/// to be unambiguous.
const LAGS: [usize; 3] = [1, 4, 16];
/// Share of the signal in a block below which the products are too noisy, and the frequency is searched instead.
const LEAST_COHERENCE: f64 = 0.3;
/// Significance of a peak that noise does not reach.
pub(super) const SIGNIFICANT: f64 = 16.0;
/// Ratio of signal to noise wanted in the sum of neighbouring blocks, and how many of them it may take on either side.
const SMOOTHED_SNR: f64 = 60.0;
const MAX_REACH: usize = 16;
/// The same with pilots: less than half of their distance in all, and the ratio below which pilots alone do better.
const REACH_BETWEEN_PILOTS: usize = 5;
const LEAST_SNR_BETWEEN_PILOTS: f64 = 10.0;

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
/// * QPSK and 8PSK: phases of the 4th (8th) power of the payload, smoothed over as many symbols as their noise asks for. Header,
///   pilots and next header give the absolute phase and reveal cycle slips. The residual frequency may be up to 1e-3
///   cycles per symbol. With pilots and much noise (below about 2 dB for QPSK, 8 dB for 8PSK), as follows.
/// * Others with pilots: the phases of header, pilot blocks and next header, joined by straight lines. The residual frequency may
///   be up to 3e-4 cycles per symbol (5e-4 in most frames, where the headers do not stand in line with the pilot
///   blocks).
/// * 16APSK and 32APSK without pilots: a straight line between the headers. The residual frequency may be up to
///   half a cycle per frame.
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
/// let pls = Pls::new(43).unwrap(); // QPSK 8/9 short, pilots
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
    knots: Vec<Knot>,
    /// Slope before the first knot and after the last one, in cycles per symbol.
    frequency: f64,
    /// Sums of powers of the payload's blocks.
    powers: Vec<Complex32>,
    /// Their unwrapped phases.
    phases: Vec<f64>,
}

/// A point of the phase's course. Positions count symbols from the start of the frame, to the centre of a symbol.
#[derive(Clone, Copy, Debug)]
struct Knot {
    position: f64,
    phase: f64,
}

/// Known symbols in a row.
#[derive(Clone, Copy, Debug)]
pub(super) struct Known {
    /// Their middle.
    position: f64,
    /// Distance of the middles of the first and the second half from it.
    half: f64,
    /// Sums of y · conj(s) over both halves.
    correlations: [Complex64; 2],
}

impl Known {
    /// Symbols from number `start` on, times the conjugate of what was sent.
    fn new(start: usize, aligned: &[Complex32]) -> Known {
        let length = aligned.len() as f64;
        let (first, second) = aligned.split_at(aligned.len() / 2);
        Known {
            position: start as f64 + 0.5 * (length - 1.0),
            half: 0.25 * length,
            correlations: [first, second].map(|half| widen(half.iter().sum())),
        }
    }

    fn correlation(&self) -> Complex64 {
        self.correlations[0] + self.correlations[1]
    }

    /// Both halves and where they lie.
    fn halves(&self) -> [(f64, Complex64); 2] {
        [(self.position - self.half, self.correlations[0]), (self.position + self.half, self.correlations[1])]
    }
}

/// The known parts of a frame.
#[derive(Clone, Debug)]
pub(super) struct KnownParts {
    parts: [Known; MAX_KNOWN],
    count: usize,
    /// Whether the header of the next frame is the last part.
    next_header: bool,
}

impl KnownParts {
    /// Those of the frame at the start of `symbols`, and the next header where it follows and is good.
    pub(super) fn of(pls: Pls, layout: &Layout, symbols: &[Complex32], scrambler: &PlScrambler) -> KnownParts {
        let length = layout.symbols();
        let header = Known::new(0, &align_header(symbols, pls));
        let mut known = KnownParts { parts: [header; MAX_KNOWN], count: 1, next_header: false };
        for block in layout.pilots() {
            known.push(Known::new(block.start, &align_pilots(&symbols[block.clone()], block.start, scrambler)));
        }
        let next = symbols[length..].first_chunk().map(plheader::decode);
        if let Some(next) = next.filter(|next| next.quality > NEXT_HEADER_QUALITY) {
            known.push(Known::new(length, &align_header(&symbols[length..], next.pls)));
            known.next_header = true;
        }
        known
    }

    fn push(&mut self, part: Known) {
        self.parts[self.count] = part;
        self.count += 1;
    }

    fn parts(&self) -> &[Known] {
        &self.parts[..self.count]
    }

    fn has_pilots(&self) -> bool {
        self.count > 1 + usize::from(self.next_header)
    }
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
        let known = KnownParts::of(pls, &layout, symbols, scrambler);
        let payload = &symbols[HEADER..layout.symbols()];
        let followed = match power_of(pls) {
            Some(4) => self.follow_powers::<4>(payload, &known),
            Some(8) => self.follow_powers::<8>(payload, &known),
            _ => None,
        };
        let (frequency, slips) = followed.unwrap_or_else(|| (self.join(&known), 0));
        self.frequency = frequency;
        PhaseReport { frequency, slips, next_header: known.next_header }
    }

    /// Turns every symbol back by the phase found, in place; the first symbol is the first of the frame.
    pub fn correct(&self, symbols: &mut [Complex32]) {
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
            turn_back(segment, slope, knot.phase + TAU * slope * (position as f64 - knot.position));
            position += count;
            rest = after;
            knot = end;
        }
        let start = knot.phase + TAU * self.frequency * (position as f64 - knot.position);
        turn_back(rest, self.frequency, start);
    }

    /// Knots at known symbols; returns the frequency.
    fn join(&mut self, known: &KnownParts) -> f64 {
        let frequency = search_frequency(std::slice::from_ref(known), PENALTY);
        let parts = known.parts();
        let turned = |part: &Known| part.correlation() * Complex64::cis(-TAU * frequency * part.position);
        let mean: Complex64 = parts.iter().map(turned).sum();
        let mut last = 0.0;
        self.knots.clear();
        self.knots.extend(parts.iter().map(|part| {
            // What is left beside the straight line is followed from knot to knot.
            last += wrap((turned(part) * mean.conj()).arg() - last);
            Knot { position: part.position, phase: mean.arg() + TAU * frequency * part.position + last }
        }));
        frequency
    }

    /// Knots from the M-th power of all that follows the header. Returns the frequency and the slips repaired, or
    /// nothing when pilots do better.
    fn follow_powers<const M: usize>(&mut self, payload: &[Complex32], known: &KnownParts) -> Option<(f64, usize)> {
        let symmetry = TAU / M as f64;
        let position = |index: usize| (HEADER + BLOCK * index) as f64 + 0.5 * (BLOCK - 1) as f64;

        let powers = &mut self.powers;
        powers.clear();
        let level = self.level;
        dispatch!(level => sum_powers::<M>(payload, powers));
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
        phases.clear();
        let mut last = 0.0;
        for index in 0..powers.len() {
            let neighbours = &powers[index.saturating_sub(reach)..powers.len().min(index + reach + 1)];
            let sum: Complex32 = neighbours.iter().sum();
            last += wrap(f64::from(sum.arg()) - last);
            phases.push((last - upright) / M as f64 + TAU * frequency * (position(index) - position(0)));
        }
        let end = phases.len().checked_sub(1)?;

        // The known parts tell the multiple, the first one for the whole frame, each other one when it has changed.
        let mut slips = 0;
        let mut before = 0;
        for (number, part) in known.parts().iter().enumerate() {
            let index = ((part.position - position(0)) / BLOCK as f64).round().clamp(0.0, end as f64) as usize;
            let expected = phases[index] + TAU * frequency * (part.position - position(index));
            let steps = (wrap(part.correlation().arg() - expected) / symmetry).round();
            let mut from = 0;
            if number > 0 && steps != 0.0 {
                slips += steps.abs() as usize;
                from = likeliest_slip(&phases[before..=index], steps.signum(), TAU * frequency * BLOCK as f64) + before;
            }
            for phase in &mut phases[from..] {
                *phase += symmetry * steps;
            }
            before = index;
        }
        let knots = &mut self.knots;
        knots.clear();
        let knot = |index: usize| Knot { position: position(index), phase: phases[index] };
        knots.extend((0..phases.len()).step_by(BLOCKS_PER_KNOT).map(knot));
        Some((frequency, slips))
    }
}

fn turn_back(symbols: &mut [Complex32], frequency: f64, phase: f64) {
    multiply_by_phasor(symbols, -frequency, Complex64::cis(-phase));
}

fn widen(value: Complex32) -> Complex64 {
    Complex64::new(value.re.into(), value.im.into())
}

/// To -π..π.
fn wrap(angle: f64) -> f64 {
    angle - TAU * (angle / TAU).round()
}

fn align_header(symbols: &[Complex32], pls: Pls) -> [Complex32; HEADER] {
    let sent = header_symbols(pls);
    array::from_fn(|k| symbols[k] * sent[k].conj())
}

/// `start` is the place of the pilots in the frame.
fn align_pilots(symbols: &[Complex32], start: usize, scrambler: &PlScrambler) -> [Complex32; PILOT_BLOCK] {
    let sent = [PILOT, Complex32::I * PILOT, -PILOT, -Complex32::I * PILOT];
    let turns = &scrambler.rotations()[start - HEADER..];
    array::from_fn(|k| symbols[k] * sent[usize::from(turns[k] % 4)].conj())
}

/// The power that makes all symbols of a frame the same: 4 for QPSK and dummy frames, 8 for 8PSK, none for others.
pub(super) fn power_of(pls: Pls) -> Option<usize> {
    match pls.modcod().map(|modcod| modcod.modulation()) {
        None | Some(Modulation::Qpsk) => Some(4),
        Some(Modulation::Psk8) => Some(8),
        _ => None,
    }
}

/// The frequency at which the known symbols of frames add up best, each frame for itself, in cycles per symbol.
///
/// A frequency at the end of the range loses the share `penalty`.
pub(super) fn search_frequency(frames: &[KnownParts], penalty: f64) -> f64 {
    let span_of = |known: &KnownParts| known.parts()[known.count - 1].position - known.parts()[0].position;
    let span = frames.iter().map(span_of).fold(0.0, f64::max);
    if span == 0.0 {
        return 0.0;
    }
    // Two headers alone repeat their phases after one cycle per frame.
    let range = if frames.iter().all(|known| known.count <= 2) { 0.5 / span } else { SEARCH };
    let bins = (6.0 * range * span).ceil();
    let step = range / bins;
    let mut metrics = [0.0; (12.0 * SEARCH * MAX_SYMBOLS as f64) as usize + 3];
    let metrics = &mut metrics[..2 * bins as usize + 1];
    for known in frames {
        let mut turned = [[Complex64::ZERO; 2]; 2 * MAX_KNOWN];
        let parts = known.parts().iter().flat_map(Known::halves);
        for (slot, (position, correlation)) in turned.iter_mut().zip(parts) {
            *slot = [correlation * Complex64::cis(TAU * range * position), Complex64::cis(-TAU * step * position)];
        }
        let turned = &mut turned[..2 * known.count];
        for metric in metrics.iter_mut() {
            let mut sum = Complex64::ZERO;
            for [value, turn] in turned.iter_mut() {
                sum += *value;
                *value *= *turn;
            }
            *metric += sum.norm_sqr();
        }
    }
    let frequency = |bin: usize| bin as f64 * step - range;
    let weighted = |(bin, metric): (usize, &f64)| metric * (1.0 - penalty * (frequency(bin) / range).powi(2)).powi(2);
    let best = metrics.iter().enumerate().map(weighted).enumerate().max_by(|a, b| a.1.total_cmp(&b.1));
    let mut frequency = best.map_or(0.0, |(bin, _)| frequency(bin));
    // Two steps of Newton's method from the best bin to the peak.
    for _ in 0..2 {
        let (mut slope, mut curvature) = (0.0, 0.0);
        for known in frames {
            let parts = || known.parts().iter().flat_map(Known::halves);
            let weight: f64 = parts().map(|(_, correlation)| correlation.norm()).sum();
            let centre = parts().map(|(position, correlation)| position * correlation.norm()).sum::<f64>() / weight;
            let (mut sum, mut moment, mut spread) = (Complex64::ZERO, Complex64::ZERO, 0.0);
            for (position, correlation) in parts() {
                let distance = position - centre;
                let turned = correlation * Complex64::cis(-TAU * frequency * distance);
                sum += turned;
                moment += turned * distance;
                spread += correlation.norm() * distance * distance / weight;
            }
            slope += (moment * sum.conj()).im;
            curvature += spread * sum.norm_sqr();
        }
        let correction = slope / (TAU * curvature);
        if correction.abs() < step {
            frequency += correction;
        }
    }
    frequency
}

/// Removes the frequency of the sums of M-th powers. Returns it, in cycles per symbol, and the share of signal in a sum.
fn straighten_powers(powers: &mut [Complex32], m: usize) -> (f64, f64) {
    let per_block = (m * BLOCK) as f64;
    let energy: f64 = powers.iter().map(|sum| f64::from(sum.norm_sqr())).sum();
    let lagged = |powers: &[Complex32], lag: usize| -> Complex64 {
        let late = powers.get(lag..).unwrap_or_default();
        powers.iter().zip(late).map(|(early, late)| widen(late * early.conj())).sum()
    };
    let coherence = |powers: &[Complex32]| (lagged(powers, 1).norm() / energy.max(f64::MIN_POSITIVE)).min(0.999);
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

/// The frequency within ±`range` cycles per symbol at which sums of M-th powers add up best, and the significance of this
/// peak: its power over the mean power of noise.
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

/// Index of the phase, the last one at the latest, that most looks as if it had been taken the wrong way round from the one before:
/// too low if `direction` is positive, else too high.
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

    /// A frame of random payload and the header of the next one.
    fn frame(value: u8, seed: u64) -> (Pls, Vec<Complex32>) {
        let pls = Pls::new(value).unwrap();
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
            (43, 6.5, 5e-4, 0.07),            // QPSK 8/9 short, pilots
            (5, -2.0, 3e-4, 0.07),            // QPSK 1/4 normal, pilots
            (53, 7.0, 3e-4, 0.07),            // 8PSK 2/3 normal, pilots: headers in line with the pilots
            (75, 11.0, 5e-4, 0.10),           // 16APSK 2/3 short, pilots
            (97, 13.5, 3e-4, 0.07),           // 32APSK 3/4 normal, pilots: headers in line with the pilots
            (42, 6.5, 1e-3, 0.03),            // QPSK 8/9 short
            (16, 2.0, 5e-4, 0.05),            // QPSK 1/2 normal
            (4, 0.0, 3e-4, 0.15),             // QPSK 1/4 normal
            (54, 7.0, 3e-4, 0.10),            // 8PSK 2/3 short
            (72, 11.0, 0.4 / 16_290.0, 0.50), // 16APSK 2/3 normal
            (0, 2.0, 5e-4, 0.20),             // dummy
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
        for (value, allowed) in [(43, 0.05), (42, 0.05)] {
            let (pls, sent) = frame(value, 3);
            let length = Layout::new(pls).unwrap().symbols();
            // A random walk that goes 0.2 rad from one pilot block to the next.
            let mut random = fastrand::Rng::with_seed(4);
            let mut walk = 0.0;
            let mut step = || {
                walk += (random.f64() - 0.5) * 12f64.sqrt() * 0.2 / 1_476f64.sqrt();
                walk
            };
            let course: Vec<f64> = sent.iter().map(|_| step()).collect();
            let received = receive(&sent, 6.5, 6, |k| course[k]);
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

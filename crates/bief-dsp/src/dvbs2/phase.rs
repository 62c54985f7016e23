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
/// Payload symbols whose powers are summed, where there are no pilots.
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
/// Ratio of signal to noise wanted in the sum of neighbouring blocks, and how many of them it may take.
const SMOOTHED_SNR: f64 = 60.0;
const MAX_SMOOTHING: usize = 16;

/// What [`CarrierPhase::estimate`] found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PhaseReport {
    /// Frequency left in the symbols, in cycles per symbol.
    pub frequency: f64,
    /// Cycle slips that the header of the next frame revealed and that were repaired, in steps of the
    /// constellation's symmetry. Always 0 with pilots.
    pub slips: usize,
    /// Whether the header of the next frame was there and good.
    pub next_header: bool,
}

/// Estimates the carrier phase along a PLFRAME and removes it.
///
/// Nothing is remembered from frame to frame, so frames may be treated in any order, on any core.
///
/// * With pilots: the phases of header, pilot blocks and next header, joined by straight lines. The residual
///   frequency may be up to 3e-4 cycles per symbol (5e-4 in most frames, where the headers do not stand in line
///   with the pilot blocks).
/// * QPSK and 8PSK without pilots, and dummy frames: phases of the 4th (8th) power of the payload, smoothed over
///   as many symbols as their noise asks for, with the absolute phase from the header and the check for cycle
///   slips from the next header. The residual frequency may be up to 1e-3 cycles per symbol.
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

    /// The part at the start of the frame, and that after its end.
    fn headers(&self) -> (Known, Option<Known>) {
        let next = self.next_header.then(|| self.parts[self.count - 1]);
        (self.parts[0], next)
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
        let (frequency, slips) = match power_of(pls) {
            Some(4) if layout.pilot_blocks() == 0 => self.follow_powers::<4>(payload, &known),
            Some(8) if layout.pilot_blocks() == 0 => self.follow_powers::<8>(payload, &known),
            _ => (self.join(&known), 0),
        };
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

    /// Knots from the M-th power of the payload; returns the frequency and the slips repaired.
    fn follow_powers<const M: usize>(&mut self, payload: &[Complex32], known: &KnownParts) -> (f64, usize) {
        let symmetry = TAU / M as f64;
        let block = BLOCK as f64;
        let position = |index: usize| HEADER as f64 + block * index as f64 + 0.5 * (block - 1.0);

        let powers = &mut self.powers;
        powers.clear();
        let level = self.level;
        dispatch!(level => sum_powers::<M>(payload, powers));
        let (frequency, coherence) = straighten_powers(powers, M);
        // Share of signal in a block, hence the blocks to sum for a phase that is good enough.
        let blocks = SMOOTHED_SNR * (1.0 - coherence) / coherence.max(1e-3);
        let reach = (0.5 * blocks).ceil().clamp(1.0, MAX_SMOOTHING as f64) as usize;

        let phases = &mut self.phases;
        phases.clear();
        let mut last = 0.0;
        for index in 0..powers.len() {
            let neighbours = &powers[index.saturating_sub(reach)..powers.len().min(index + reach + 1)];
            let sum: Complex32 = neighbours.iter().sum();
            last += wrap(f64::from(sum.arg()) - last);
            phases.push(last);
        }
        // From phases of powers to phases of the carrier, with the ambiguity that the header resolves.
        let upright = if M == 4 { PI } else { 0.0 };
        for (index, phase) in phases.iter_mut().enumerate() {
            *phase = (*phase - upright) / M as f64 + TAU * frequency * (position(index) - position(0));
        }
        let (Some(&begin), Some(&end)) = (phases.first(), phases.last()) else {
            return (self.join(known), 0);
        };
        let steps_to = |known: Known, position: f64, phase: f64| {
            let expected = phase + TAU * frequency * (known.position - position);
            (wrap(known.correlation().arg() - expected) / symmetry).round()
        };
        let (first, next) = known.headers();
        let ambiguity = symmetry * steps_to(first, position(0), begin);
        for phase in phases.iter_mut() {
            *phase += ambiguity;
        }
        let slips = next.map_or(0.0, |next| steps_to(next, position(phases.len() - 1), end + ambiguity));
        for _ in 0..slips.abs() as usize {
            repair_slip(phases, symmetry * slips.signum(), TAU * frequency * block);
        }
        let knots = &mut self.knots;
        knots.clear();
        let knot = |index: usize| Knot { position: position(index), phase: phases[index] };
        knots.extend((0..phases.len()).step_by(BLOCKS_PER_KNOT).map(knot));
        (frequency, slips.abs() as usize)
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

/// Adds `jump` to all phases from the block on that most looks as if it had been taken the wrong way round.
fn repair_slip(phases: &mut [f64], jump: f64, per_block: f64) {
    let lag = |pair: &[f64]| (pair[1] - pair[0] - per_block) * jump.signum();
    let place = phases.windows(2).map(lag).enumerate().min_by(|a, b| a.1.total_cmp(&b.1));
    if let Some((before, _)) = place {
        for phase in &mut phases[before + 1..] {
            *phase += jump;
        }
    }
}

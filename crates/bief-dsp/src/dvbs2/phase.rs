//! Carrier phase along one PLFRAME, from the frame alone.

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
const SEARCH: f64 = 6e-4;
/// Share of the search's metric that a frequency at the end of its range loses. It decides for the smaller
/// frequency in the frames where the headers stand in line with the pilot blocks and tell nothing.
const PENALTY: f64 = 0.1;
/// Quality from which the header of the next frame is believed.
const NEXT_HEADER_QUALITY: f32 = 0.2;
/// Payload symbols whose powers are summed, where there are no pilots.
const BLOCK: usize = 64;
/// Blocks from one knot of the phase to the next.
const BLOCKS_PER_KNOT: usize = 4;
/// Distances in blocks of the products that show the frequency: each is the more exact, and needs the one before
/// to be unambiguous.
const LAGS: [usize; 3] = [1, 4, 16];
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

/// Known symbols: their place, and the sum of y · conj(s).
#[derive(Clone, Copy, Debug)]
struct Known {
    position: f64,
    correlation: Complex64,
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
        let (frame, rest) = symbols.split_at(layout.symbols());
        let (header, payload) = frame.split_at(HEADER);
        let first = Known::new(0, HEADER, correlate(header, &header_symbols(pls)));
        let next = rest.first_chunk().map(plheader::decode).filter(|next| next.quality > NEXT_HEADER_QUALITY);
        let next = next.map(|next| Known::new(frame.len(), HEADER, next.correlation));

        let modulation = pls.modcod().map_or(Modulation::Qpsk, |modcod| modcod.modulation());
        let (frequency, slips) = match modulation {
            Modulation::Qpsk if layout.pilot_blocks() == 0 => self.follow_powers::<4>(payload, first, next),
            Modulation::Psk8 if layout.pilot_blocks() == 0 => self.follow_powers::<8>(payload, first, next),
            _ => {
                let mut known = [first; MAX_KNOWN];
                let mut count = 1;
                for block in layout.pilots() {
                    let correlation = correlate_pilots(&frame[block.clone()], scrambler, block.start - HEADER);
                    known[count] = Known::new(block.start, PILOT_BLOCK, correlation);
                    count += 1;
                }
                if let Some(next) = next {
                    known[count] = next;
                    count += 1;
                }
                (self.join(&known[..count]), 0)
            }
        };
        self.frequency = frequency;
        PhaseReport { frequency, slips, next_header: next.is_some() }
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
    fn join(&mut self, known: &[Known]) -> f64 {
        let frequency = search_frequency(known);
        let turned = |known: &Known| known.correlation * Complex64::cis(-TAU * frequency * known.position);
        let mean: Complex64 = known.iter().map(turned).sum();
        let mut last = 0.0;
        self.knots.clear();
        self.knots.extend(known.iter().map(|known| {
            // What is left beside the straight line is followed from knot to knot.
            last += wrap((turned(known) * mean.conj()).arg() - last);
            Knot { position: known.position, phase: mean.arg() + TAU * frequency * known.position + last }
        }));
        frequency
    }

    /// Knots from the M-th power of the payload; returns the frequency and the slips repaired.
    fn follow_powers<const M: usize>(
        &mut self,
        payload: &[Complex32],
        first: Known,
        next: Option<Known>,
    ) -> (f64, usize) {
        let symmetry = TAU / M as f64;
        let block = BLOCK as f64;
        let position = |index: usize| HEADER as f64 + block * index as f64 + 0.5 * (block - 1.0);

        let powers = &mut self.powers;
        powers.clear();
        let level = self.level;
        dispatch!(level => sum_powers::<M>(payload, powers));

        let energy: f64 = powers.iter().map(|sum| f64::from(sum.norm_sqr())).sum();
        let mut frequency = 0.0;
        let mut coherence = 0.0;
        for lag in LAGS {
            let products = powers.iter().zip(powers.iter().skip(lag));
            let lagged: Complex64 = products.map(|(early, late)| widen(late * early.conj())).sum();
            let residual = lagged.arg() / (TAU * (M * BLOCK * lag) as f64);
            frequency += residual;
            coherence = f64::max(coherence, lagged.norm() / energy.max(f64::MIN_POSITIVE));
            multiply_by_phasor(powers, -residual * (M * BLOCK) as f64, Complex64::ONE);
        }
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
            self.knots.clear();
            self.knots.push(Knot { position: first.position, phase: first.correlation.arg() });
            return (0.0, 0);
        };
        let steps_to = |known: Known, position: f64, phase: f64| {
            let expected = phase + TAU * frequency * (known.position - position);
            (wrap(known.correlation.arg() - expected) / symmetry).round()
        };
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

impl Known {
    fn new(start: usize, length: usize, correlation: Complex32) -> Known {
        Known { position: start as f64 + 0.5 * (length - 1) as f64, correlation: widen(correlation) }
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

fn correlate(symbols: &[Complex32], sent: &[Complex32]) -> Complex32 {
    symbols.iter().zip(sent).map(|(symbol, sent)| symbol * sent.conj()).sum()
}

/// Sum of the pilots' y · conj(s); the first is symbol `start` after the header.
fn correlate_pilots(symbols: &[Complex32], scrambler: &PlScrambler, start: usize) -> Complex32 {
    let sent = [PILOT, Complex32::I * PILOT, -PILOT, -Complex32::I * PILOT];
    let turns = &scrambler.rotations()[start..];
    symbols.iter().zip(turns).map(|(symbol, &turns)| symbol * sent[usize::from(turns % 4)].conj()).sum()
}

/// The frequency at which the known symbols add up best, in cycles per symbol.
fn search_frequency(known: &[Known]) -> f64 {
    let &[first, .., last] = known else { return 0.0 };
    let span = last.position - first.position;
    // Two headers alone repeat their phases after one cycle per frame.
    let range = if known.len() == 2 { 0.5 / span } else { SEARCH };
    let bins = (6.0 * range * span).ceil();
    let step = range / bins;

    let mut turned = [Complex64::ZERO; MAX_KNOWN];
    let mut turn = [Complex64::ZERO; MAX_KNOWN];
    for ((turned, turn), known) in turned.iter_mut().zip(&mut turn).zip(known) {
        let distance = TAU * (known.position - first.position);
        *turned = known.correlation * Complex64::cis(distance * range);
        *turn = Complex64::cis(-distance * step);
    }
    let (turned, turn) = (&mut turned[..known.len()], &turn[..known.len()]);
    let mut best = (-1.0, 0.0);
    for bin in 0..=2 * bins as usize {
        let frequency = bin as f64 * step - range;
        let metric = turned.iter().sum::<Complex64>().norm() * (1.0 - PENALTY * (frequency / range).powi(2));
        if metric > best.0 {
            best = (metric, frequency);
        }
        for (turned, turn) in turned.iter_mut().zip(turn) {
            *turned *= turn;
        }
    }
    // Two steps of Newton's method from the best bin to the peak.
    let mut frequency = best.1;
    for _ in 0..2 {
        let weight: f64 = known.iter().map(|known| known.correlation.norm()).sum();
        let centre = known.iter().map(|known| known.position * known.correlation.norm()).sum::<f64>() / weight;
        let mut sum = Complex64::ZERO;
        let mut moment = Complex64::ZERO;
        let mut spread = 0.0;
        for known in known {
            let distance = known.position - centre;
            let turned = known.correlation * Complex64::cis(-TAU * frequency * distance);
            sum += turned;
            moment += turned * distance;
            spread += known.correlation.norm() * distance * distance / weight;
        }
        let correction = (moment * sum.conj()).im / (TAU * spread * sum.norm_sqr());
        if correction.abs() < step {
            frequency += correction;
        }
    }
    frequency
}

/// Sums, over blocks, of the M-th powers of symbols brought to modulus 1, times their modulus.
#[inline(always)]
fn sum_powers<const M: usize>(symbols: &[Complex32], sums: &mut Vec<Complex32>) {
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

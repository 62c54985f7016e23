//! What is known of a received PLFRAME beforehand, header and pilots, and the frequency that it shows.

use std::array;
use std::f64::consts::TAU;
use std::ops::Range;

use num_complex::{Complex32, Complex64};

use super::plheader::{self, header_symbols};
use super::scramble::PlScrambler;
use super::{HEADER, Layout, MAX_SYMBOLS, PILOT, PILOT_BLOCK, PILOT_PERIOD, Pls, VL_SNR_HEADER};

/// Known parts of a frame: header, pilot blocks, header of the next frame; of VL-SNR frames twice as many blocks, and parts of the
/// second header.
pub(super) const MAX_KNOWN: usize = 2 * (MAX_SYMBOLS / PILOT_PERIOD) + VL_SNR_HEADER / VL_SNR_PART + 2;
/// Symbols of a part of the second header of VL-SNR frames.
const VL_SNR_PART: usize = 90;
/// Residual frequency searched on either side of zero, in cycles per symbol. Pilot blocks alone repeat their
/// phases every 1/1476: this is almost to the next such frequency.
pub(super) const SEARCH: f64 = 6e-4;
/// Share of the search's metric that a frequency at the end of its range loses. It decides for the smaller
/// frequency in the frames where the headers stand in line with the pilot blocks and tell nothing.
const PENALTY: f64 = 0.1;
/// Frequencies at which it is searched, in the reciprocal of the symbols that are searched.
const BINS: f64 = 6.0;
/// Standard deviations by which the frequency of headers may be wrong, the least that is taken for one, and the furthest that is
/// searched, in cycles per symbol: not noise alone moves it.
const DEVIATIONS: f64 = 5.0;
const LEAST_DEVIATION: f64 = 1e-4;
const FURTHEST: f64 = 2e-3;
/// How much less likely a frequency may be by the known symbols alone, in powers of e, and still be the likeliest by all; and the share
/// of its likelihood that it lacks at most where it lies between two frequencies that are searched: (π / `BINS`)² / 4, of two ends alone.
const DOUBTFUL: f64 = 20.0;
const BETWEEN: f64 = 0.069;
/// Quality from which the header of the next frame is believed.
const NEXT_HEADER_QUALITY: f32 = 0.2;

/// Known symbols in a row.
#[derive(Clone, Copy, Debug)]
pub(super) struct Known {
    /// Their middle.
    pub(super) position: f64,
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

    pub(super) fn length(&self) -> f64 {
        4.0 * self.half
    }

    pub(super) fn correlation(&self) -> Complex64 {
        self.correlations[0] + self.correlations[1]
    }

    /// Both halves and where they lie.
    pub(super) fn halves(&self) -> [(f64, Complex64); 2] {
        [(self.position - self.half, self.correlations[0]), (self.position + self.half, self.correlations[1])]
    }
}

/// The known parts of a frame.
#[derive(Clone, Debug)]
pub(super) struct KnownParts {
    parts: [Known; MAX_KNOWN],
    count: usize,
    /// Whether the header of the next frame is the last part.
    pub(super) next_header: bool,
}

impl KnownParts {
    /// Those of the frame at the start of `symbols`, and the next header where it follows and is good.
    pub(super) fn of(pls: Pls, layout: &Layout, symbols: &[Complex32], scrambler: &PlScrambler) -> KnownParts {
        let length = layout.symbols();
        let header = Known::new(0, &align_header(symbols, pls));
        let mut known = KnownParts { parts: [header; MAX_KNOWN], count: 1, next_header: false };
        let align = |block: Range<usize>| {
            let aligned = align_pilots(&symbols[block.clone()], block.start, scrambler);
            Known::new(block.start, &aligned[..block.len()])
        };
        match pls.vl_snr() {
            None => layout.pilots().for_each(|block| known.push(align(block))),
            Some(kind) => {
                let sent = kind.header_symbols();
                let received = &symbols[HEADER..HEADER + VL_SNR_HEADER];
                for part in (0..VL_SNR_HEADER).step_by(VL_SNR_PART) {
                    let aligned: [Complex32; VL_SNR_PART] =
                        array::from_fn(|k| received[part + k] * sent[part + k].conj());
                    known.push(Known::new(HEADER + part, &aligned));
                }
                kind.runs()
                    .map(|(_, pilots)| pilots)
                    .filter(|pilots| !pilots.is_empty())
                    .for_each(|block| known.push(align(block)));
            }
        }
        let next = symbols[length..].first_chunk().map(|header| plheader::decode_expecting(header, pls));
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

    pub(super) fn parts(&self) -> &[Known] {
        &self.parts[..self.count]
    }

    /// Scales the sums so that |Σ y · conj(s)|² is the logarithm of a likelihood, with noise of this variance: that of noise alone is 1
    /// on average.
    fn scale_to_noise(&mut self, noise: f64) {
        let symbols: f64 = self.parts().iter().map(Known::length).sum();
        let scale = (noise * symbols).sqrt().recip();
        for part in &mut self.parts[..self.count] {
            part.correlations = part.correlations.map(|correlation| correlation * scale);
        }
    }

    /// Adds |Σ y · conj(s)|² at frequencies a step apart from -`range` on.
    fn add_metrics(&self, range: f64, step: f64, metrics: &mut [f64]) {
        let mut turned = [[Complex64::ZERO; 2]; 2 * MAX_KNOWN];
        let parts = self.parts().iter().flat_map(Known::halves);
        for (slot, (position, correlation)) in turned.iter_mut().zip(parts) {
            *slot = [correlation * Complex64::cis(TAU * range * position), Complex64::cis(-TAU * step * position)];
        }
        let turned = &mut turned[..2 * self.count];
        for metric in metrics {
            let mut sum = Complex64::ZERO;
            for [value, turn] in turned.iter_mut() {
                sum += *value;
                *value *= *turn;
            }
            *metric += sum.norm_sqr();
        }
    }

    pub(super) fn has_pilots(&self) -> bool {
        self.count > 1 + usize::from(self.next_header)
    }
}

/// Where the known symbols of a frame lie, without those of the next header.
pub(super) fn places(pls: Pls, layout: &Layout) -> Vec<Range<usize>> {
    let header = std::iter::once(0..HEADER);
    match pls.vl_snr() {
        None => header.chain(layout.pilots()).collect(),
        Some(kind) => {
            let pilots = kind.runs().map(|(_, pilots)| pilots).filter(|pilots| !pilots.is_empty());
            header.chain(std::iter::once(HEADER..HEADER + VL_SNR_HEADER)).chain(pilots).collect()
        }
    }
}

fn align_header(symbols: &[Complex32], pls: Pls) -> [Complex32; HEADER] {
    let sent = header_symbols(pls);
    array::from_fn(|k| symbols[k] * sent[k].conj())
}

/// `start` is the place of the pilots in the frame; zeros follow where there are fewer than in a block.
fn align_pilots(symbols: &[Complex32], start: usize, scrambler: &PlScrambler) -> [Complex32; PILOT_BLOCK] {
    let sent = [PILOT, Complex32::I * PILOT, -PILOT, -Complex32::I * PILOT];
    let turns = &scrambler.rotations()[start - HEADER..];
    array::from_fn(|k| match symbols.get(k) {
        Some(symbol) => symbol * sent[usize::from(turns[k] % 4)].conj(),
        None => Complex32::ZERO,
    })
}

/// The frequency at which the known symbols of frames add up best, each frame for itself, in cycles per symbol.
pub(super) fn search_frequency(frames: &[KnownParts]) -> f64 {
    let span = longest_span(frames);
    if span == 0.0 {
        return 0.0;
    }
    // Two headers alone repeat their phases after one cycle per frame.
    let range = if frames.iter().all(|known| known.count <= 2) { 0.5 / span } else { SEARCH };
    let bins = (BINS * range * span).ceil();
    let step = range / bins;
    let mut metrics = [0.0; (2.0 * BINS * SEARCH * MAX_SYMBOLS as f64) as usize + 3];
    let metrics = &mut metrics[..2 * bins as usize + 1];
    frames.iter().for_each(|known| known.add_metrics(range, step, metrics));
    let weight = |frequency: f64| (1.0 - PENALTY * (frequency / range).powi(2)).powi(2);
    let frequency_of = |bin: usize| bin as f64 * step - range;
    let weighted = |(bin, metric): (usize, &f64)| metric * weight(frequency_of(bin));
    let best = metrics.iter().enumerate().map(weighted).enumerate().max_by(|a, b| a.1.total_cmp(&b.1));
    let mut frequency = best.map_or(0.0, |(bin, _)| frequency_of(bin));
    let refine = |frequency: f64| refined(frames, frequency, step);
    frequency = refine(refine(frequency));
    // The bins are too coarse to tell frequencies at which the pilots add up equally well.
    let alike = [0.0, -1.0, 1.0].map(|turns| frequency + turns / PILOT_PERIOD as f64);
    let candidates = alike.into_iter().filter(|frequency| frequency.abs() <= range);
    let weighted = candidates.map(|frequency| (add_up(frames, frequency).0 * weight(frequency), frequency));
    let best = weighted.max_by(|a, b| a.0.total_cmp(&b.0)).map_or(frequency, |(_, best)| best);
    if best == frequency { frequency } else { refine(best) }
}

/// The likeliest frequency of frames, in cycles per symbol, judged by three things together: their known symbols, each frame for itself,
/// in noise of this variance; the frequency of their headers, which is 0 with this standard deviation; and `beside`, the logarithm of
/// another likelihood.
///
/// Pilots alone repeat their phases every 1/1476, and where there is more noise than signal, the headers on either side of a frame hardly
/// tell these frequencies apart.
pub(super) fn likeliest_frequency(
    mut frames: Vec<KnownParts>,
    noise: f64,
    deviation: f64,
    beside: impl Fn(f64) -> f64,
) -> f64 {
    let span = longest_span(&frames);
    if span == 0.0 {
        return 0.0;
    }
    let deviation = deviation.max(LEAST_DEVIATION);
    let range = (DEVIATIONS * deviation).min(FURTHEST);
    let bins = (BINS * range * span).ceil();
    let step = range / bins;
    let before = |frequency: f64| -0.5 * (frequency / deviation).powi(2);
    let mut likelihoods: Vec<f64> = (0..=2 * bins as usize).map(|bin| before(bin as f64 * step - range)).collect();
    for known in &mut frames {
        known.scale_to_noise(noise);
        known.add_metrics(range, step, &mut likelihoods);
    }
    let most = likelihoods.iter().copied().fold(0.0, f64::max);
    let least = (1.0 - BETWEEN) * most - DOUBTFUL;
    let at = |bin: usize| likelihoods.get(bin).copied().unwrap_or(f64::NEG_INFINITY);
    let is_peak = |bin: &usize| at(*bin) >= least && at(*bin) >= at(bin.wrapping_sub(1)) && at(*bin) >= at(bin + 1);
    let refine = |frequency: f64| refined(&frames, frequency, step);
    let peaks = (0..likelihoods.len()).filter(is_peak).map(|bin| refine(refine(bin as f64 * step - range)));
    let judged =
        peaks.map(|frequency| (add_up(&frames, frequency).0 + before(frequency) + beside(frequency), frequency));
    judged.max_by(|a, b| a.0.total_cmp(&b.0)).map_or(0.0, |(_, frequency)| frequency)
}

/// Symbols from the first known part of a frame to its last, at most.
fn longest_span(frames: &[KnownParts]) -> f64 {
    let span_of = |known: &KnownParts| known.parts()[known.count - 1].position - known.parts()[0].position;
    frames.iter().map(span_of).fold(0.0, f64::max)
}

/// A frequency nearer to the peak beside it, unless that is further than a step.
fn refined(frames: &[KnownParts], frequency: f64, step: f64) -> f64 {
    let (_, correction) = add_up(frames, frequency);
    if correction.abs() < step { frequency + correction } else { frequency }
}

/// The sum over frames of |Σ y · conj(s)|² at a frequency, and the step of Newton's method from there to the peak.
fn add_up(frames: &[KnownParts], frequency: f64) -> (f64, f64) {
    let (mut metric, mut slope, mut curvature) = (0.0, 0.0, 0.0);
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
        metric += sum.norm_sqr();
        slope += (moment * sum.conj()).im;
        curvature += spread * sum.norm_sqr();
    }
    (metric, slope / (TAU * curvature))
}

/// In double precision.
pub(super) fn widen(value: Complex32) -> Complex64 {
    Complex64::new(value.re.into(), value.im.into())
}

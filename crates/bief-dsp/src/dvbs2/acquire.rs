//! Finding a signal in samples about which only the symbol rate is known.

mod vl_snr;

use std::f64::consts::TAU;
use std::ops::Range;

use num_complex::{Complex32, Complex64};

use super::candidate::{Candidate, candidates};
use super::clock::symbol_clock;
use super::decided::Decisions;
use super::known::{KnownParts, likeliest_frequency, widen};
use super::layout::HEADER_SPREAD;
use super::line::{Residual, follow_line};
use super::plheader;
use super::powers::{BLOCK, SIGNIFICANT, power_of, search_powers, significance_near, sum_powers};
use super::scramble::PlScrambler;
use super::steady::steady_parts;
use super::track::{header_moments, residual_frequency};
use super::{HEADER, Layout, Pls};
use crate::derotate::{derotate, multiply_by_phasor};
use crate::filter::MatchedFilter;
use crate::simd::Level;

/// Symbols of the shortest PLFRAME, a dummy.
const SHORTEST: usize = 3_330;
/// Frequencies examined on either side of a candidate's own, and the distance between them in cycles per symbol.
const FREQUENCY_BINS: i32 = 15;
const FREQUENCY_BIN: f64 = 0.004;
/// Quality of a header that another one, a frame away, confirms; and of one that stands alone.
const CONFIRMED_QUALITY: f32 = 0.2;
const ALONE_QUALITY: f32 = 0.45;
/// Share of the quality of the header found that one which announces another frame has at least.
const CHANGE_SHARE: f32 = 0.6;
/// Headers in a row that may be missing.
const MAX_MISSING: usize = 3;
/// Frequency, in cycles per symbol, by which headers of one signal may differ: so far a header shows it rightly, and says what it
/// announces.
const MAX_STEP: f64 = 0.004;
/// How often the frequency of headers is measured: what is far off is measured too large at first.
const MEASURED: usize = 3;
/// Frames that refine the frequency, and symbols of them whose powers do.
const MAX_REFINED: usize = 16;
const MAX_POWERS: usize = 65_536;
/// Frames of APSK without pilots that refine it by their decided symbols, and the least standard deviation taken
/// for that of the frequency so far, in cycles per symbol.
const MAX_DECIDED: usize = 5;
const LEAST_DEVIATION: f64 = 1e-5;

/// Parts of a recording whose means tell how much a mean varies, and variances that a mean must exceed to be a constant.
const DC_PARTS: usize = 64;
const DC_DOUBT: f64 = 4.0;
/// Share of the power below which a constant that changes hides no signal.
const DC_SAME: f64 = 1e-3;
/// Share of the power that varies, below which samples are constant but for rounding.
const LEAST_VARYING: f64 = 1e-10;

/// What [`acquire`] found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Lock {
    /// Centre of the first symbol of the first whole PLFRAME, in samples from the first one given. A frame that
    /// begins with the recording may be found up to half a symbol before it.
    pub position: f64,
    /// Samples per symbol as the receiver's clock sees them.
    pub samples_per_symbol: f64,
    /// Carrier frequency in cycles per symbol.
    pub frequency: f64,
    /// Modulus of a symbol sent with energy 1, after the matched filter.
    pub amplitude: f32,
    /// Es/N0 as a ratio, measured on the headers. Noise of the measurement may make it too large, never negative.
    pub es_n0: f32,
    /// What the header of the first whole frame announces. It has a [`Layout`].
    pub pls: Pls,
    /// Headers found.
    pub headers: usize,
    /// Whether the spectrum is inverted: the other fields, but for `dc`, then describe the conjugated samples.
    pub inverted: bool,
    /// Constant that the receiver adds to all samples, in units of the samples as received.
    pub dc: Complex32,
}

/// Why [`acquire`] found nothing.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum NoSignal {
    /// Less than the shortest PLFRAME.
    #[error("{samples} samples hold no PLFRAME; give at least {needed}, better several frames")]
    TooShort {
        /// Samples given.
        samples: usize,
        /// Samples of the shortest PLFRAME.
        needed: usize,
    },
    /// A sample, or the power of all, is not a finite number.
    #[error("the samples contain a value that is not finite, or are too large to be squared")]
    NotFinite,
    /// All samples are zero.
    #[error("all samples are zero; check the receiver and its gain")]
    Silence,
    /// No header.
    #[error(
        "no PLHEADER found (best quality {best_quality:.2}); check symbol rate, frequency and gain, or give more samples"
    )]
    NoHeader {
        /// Quality of the best header-like place, 0 to 1.
        best_quality: f32,
    },
    /// Headers, but no whole frame.
    #[error("a PLHEADER ({pls}) but no whole PLFRAME found; give at least {needed} samples")]
    NoWholeFrame {
        /// What the header announces.
        pls: Pls,
        /// Samples that hold a whole frame wherever they begin.
        needed: usize,
    },
}

/// Finds a DVB-S2 signal in the first samples of a recording: position, symbol rate, carrier frequency and PLS of its
/// first whole PLFRAME.
///
/// One whole frame suffices from an Es/N0 of about 3 dB on; more frames make the result better, and from two on the
/// limit is below 0 dB. Amplitude, phase and fraction of a symbol may be anything, the carrier up to 0.1 cycles per
/// symbol away, the spectrum inverted, and the symbol rate ±100 ppm wrong. A constant as strong as the signal may be
/// added. Where the carrier or the constant jumps within the samples, the lock is that of the signal before, if it has a whole
/// frame. Frames may be of different kinds. Time and memory grow in proportion to the samples: 32 frames are plenty.
/// [`remove_impulses`](crate::impulses::remove_impulses) takes out single samples that would hide the signal.
///
/// `filter` is made for the nominal samples per symbol; `scrambler` is needed for the pilots that refine the frequency.
///
/// Symbol clock from the squared signal, frame grid from products of neighbouring symbols (25 of the start of frame, 32
/// within the pairs of the PLS code), PLS by coherent correlation over a few frequencies, confirmed by the next or the
/// previous header. Where no header is found, VL-SNR frames are looked for: down to -10 dB, where they follow each other without others
/// in between, and their spectrum is not inverted.
///
/// # Errors
/// When there is no signal, with the reason as far as it can be told.
///
/// # Source
/// M. Oerder and H. Meyr, "Digital filter and square timing recovery", IEEE Trans. Commun. 36 (1988).
///
/// # Example
/// From samples to the symbols of a frame:
///
/// ```
/// use bief_dsp::Complex32;
/// use bief_dsp::channel::Channel;
/// use bief_dsp::dvbs2::scramble::PlScrambler;
/// use bief_dsp::dvbs2::{CarrierPhase, HEADER, PlframeBuilder, Pls, SignalLevel, Tracker, acquire};
/// use bief_dsp::filter::MatchedFilter;
/// use bief_dsp::pulse::Shaper;
///
/// // Three frames of QPSK 8/9 short with pilots, at 2 samples per symbol.
/// let scrambler = PlScrambler::broadcast();
/// let builder = PlframeBuilder::new(Pls::new(43), scrambler)?;
/// let mut sent = vec![Complex32::ZERO; builder.layout().symbols()];
/// builder.build(&[0x6C; 2_025], &mut sent);
/// let mut samples = vec![Complex32::ZERO; 6 * sent.len() + 100];
/// let mut symbols = sent.repeat(3);
/// symbols.resize(samples.len() / 2, Complex32::ZERO);
/// Shaper::new(0.2, 2.0).unwrap().shape(&symbols, &mut samples);
/// let channel = Channel { clock_ppm: 20.0, carrier: 0.004, gain: 0.1, ..Channel::clear() };
/// let samples = channel.apply(&samples);
///
/// let filter = MatchedFilter::new(0.25, 2.0);
/// let lock = acquire(&filter, &samples, scrambler)?;
/// assert_eq!((lock.pls, lock.headers), (Pls::new(43), 3));
///
/// let mut tracker = Tracker::new(filter.clone(), &lock, 0);
/// let frame = tracker.track(&samples, 0)?;
/// let mut window = samples[..frame.samples(&filter).end as usize].to_vec();
/// let mut received = vec![Complex32::ZERO; sent.len() + HEADER];
/// frame.cut(&filter, &mut window, &mut received);
/// let mut phase = CarrierPhase::new();
/// phase.estimate(frame.pls, &received, scrambler);
/// phase.correct(&mut received);
/// let gain = SignalLevel::measure(frame.pls, &received, scrambler).gain();
/// assert!(received.iter().zip(&sent).all(|(received, sent)| (received * gain - sent).norm() < 0.05));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn acquire(filter: &MatchedFilter, samples: &[Complex32], scrambler: &PlScrambler) -> Result<Lock, NoSignal> {
    let needed = samples_needed(filter);
    if samples.len() < needed {
        return Err(NoSignal::TooShort { samples: samples.len(), needed });
    }
    let power = mean_power(samples);
    if !(power as f32).is_finite() {
        return Err(NoSignal::NotFinite);
    }
    let means = means_of(samples);
    // One part is all of them, which are searched in any case.
    for part in steady_dc(samples, &means, power).into_iter().filter(|part| part.len() < samples.len()) {
        let samples = &samples[part.clone()];
        if let Ok(lock) = acquire_steady(filter, samples, (mean_power(samples), &means_of(samples)), scrambler) {
            return Ok(Lock { position: lock.position + part.start as f64, ..lock });
        }
    }
    acquire_steady(filter, samples, (power, &means), scrambler)
}

/// [`acquire`] in samples whose constant does not change, with their power and the means of their parts.
fn acquire_steady(
    filter: &MatchedFilter,
    samples: &[Complex32],
    (power, means): (f64, &[Complex64]),
    scrambler: &PlScrambler,
) -> Result<Lock, NoSignal> {
    let needed = samples_needed(filter);
    if samples.len() < needed {
        return Err(NoSignal::TooShort { samples: samples.len(), needed });
    }
    if power < f64::from(f32::MIN_POSITIVE) {
        return Err(NoSignal::Silence);
    }
    let dc = dc_of(means);
    let mut samples: Vec<Complex32> = samples.iter().map(|sample| sample - dc).collect();
    let varying = mean_power(&samples);
    if varying < LEAST_VARYING * power {
        return Err(NoSignal::NoHeader { best_quality: 0.0 });
    }
    let scale = varying.sqrt().recip();
    let mut search = Search::new(filter, &samples, scale);
    let mut found = search.find_header();
    let inverted = matches!(found, Ok(Found { inverted: true, .. }));
    if inverted {
        for sample in &mut samples {
            *sample = sample.conj();
        }
        search = Search::new(filter, &samples, scale);
        found = search.find_header().and_then(|found| if found.inverted { Err(found.quality) } else { Ok(found) });
    }
    let lock = match found {
        Ok(found) => {
            let lock = search.lock(found, scrambler)?;
            // Of weak headers the first ones may have been missed.
            let is_weak = found.pls.is_vl_snr() && found.quality < ALONE_QUALITY;
            let earlier = if is_weak { search.lock_vl_snr(scrambler) } else { None };
            earlier.filter(|earlier| earlier.position < lock.position - earlier.samples_per_symbol).unwrap_or(lock)
        }
        Err(best_quality) => search.lock_vl_snr(scrambler).ok_or(NoSignal::NoHeader { best_quality })?,
    };
    Ok(Lock { amplitude: lock.amplitude / scale as f32, inverted, dc, ..lock })
}

/// Samples of the shortest PLFRAME.
fn samples_needed(filter: &MatchedFilter) -> usize {
    (SHORTEST as f64 * filter.samples_per_symbol()).ceil() as usize
}

fn mean_power(samples: &[Complex32]) -> f64 {
    samples.iter().map(|sample| f64::from(sample.norm_sqr())).sum::<f64>() / samples.len() as f64
}

/// Ranges of samples, in order, in each of which the constant stays the same; the places where it changes are left out.
fn steady_dc(samples: &[Complex32], means: &[Complex64], power: f64) -> Vec<Range<usize>> {
    let length = part_length(samples);
    let in_samples = |part: Range<usize>| {
        // The constant may change anywhere in the parts on either side of where it was seen to.
        let start = if part.start == 0 { 0 } else { (part.start + 1) * length };
        let end = if part.end == means.len() { samples.len() } else { (part.end - 1) * length };
        start..end.max(start)
    };
    steady_parts(means, 0.0, (DC_SAME * power).sqrt()).into_iter().map(in_samples).collect()
}

fn part_length(samples: &[Complex32]) -> usize {
    (samples.len() / DC_PARTS).max(1)
}

/// The mean of each part.
fn means_of(samples: &[Complex32]) -> Vec<Complex64> {
    let parts = samples.chunks_exact(part_length(samples));
    parts.map(|part| part.iter().map(|sample| widen(*sample)).sum::<Complex64>() / part.len() as f64).collect()
}

/// The constant in samples, from the means of their parts. The mean of so many samples of a signal is not exactly zero
/// either: the constant is taken to be nearer to zero than the mean, the more so the less they differ, and zero when it
/// may well be.
fn dc_of(means: &[Complex64]) -> Complex32 {
    let count = means.len() as f64;
    let mean = means.iter().sum::<Complex64>() / count;
    let spread: f64 = means.iter().map(|part| (part - mean).norm_sqr()).sum();
    let variance = spread / (count * (count - 1.0));
    let share = 1.0 - DC_DOUBT * variance / mean.norm_sqr();
    if share > 0.0 { Complex32::new((share * mean.re) as f32, (share * mean.im) as f32) } else { Complex32::ZERO }
}

/// Symbols of a recording, at the instants that the symbol clock gives.
struct Search {
    /// Frequency removed, in cycles per symbol.
    frequency: f64,
    /// Samples given.
    samples: usize,
    /// Position of the first symbol, and from symbol to symbol, in samples.
    start: f64,
    step: f64,
    symbols: Vec<Complex32>,
}

/// A header: the index of its first symbol, and what it says.
#[derive(Clone, Copy, Debug)]
struct Found {
    index: usize,
    pls: Pls,
    quality: f32,
    /// Frequency left in the symbols, in cycles per symbol.
    frequency: f64,
    inverted: bool,
}

/// What all headers of a recording show.
struct HeaderMeans {
    /// Frequency left, in cycles per symbol.
    frequency: f64,
    /// Energy of a symbol, and variance of its noise.
    signal: f64,
    noise: f64,
}

impl HeaderMeans {
    /// Standard deviation of the frequency measured on so many headers, by the Cramér-Rao bound.
    fn deviation(&self, headers: usize) -> f64 {
        let symbols = (headers * HEADER) as f64;
        (0.5 * self.noise / (self.signal * symbols * HEADER_SPREAD)).sqrt() / TAU
    }
}

impl Search {
    fn new(filter: &MatchedFilter, samples: &[Complex32], scale: f64) -> Search {
        let rate = filter.samples_per_symbol();
        let frequency = coarse_frequency(samples, rate);
        let mut turned = samples.to_vec();
        multiply_by_phasor(&mut turned, -frequency / rate, scale.into());
        let (start, step) = symbol_clock(filter, &turned);
        // Half a symbol beyond either end, a symbol still has half of its energy.
        let count = ((samples.len() as f64 - 0.5 - start) / step).floor() as usize + 1;
        let mut symbols = vec![Complex32::ZERO; count];
        filter.symbols(&turned, start, step, &mut symbols);
        Search { frequency, samples: samples.len(), start, step, symbols }
    }

    /// A header that is confirmed, or else the best quality seen.
    fn find_header(&self) -> Result<Found, f32> {
        let mut best_quality = 0.0f32;
        let candidates = candidates(&self.symbols);
        for candidate in &candidates {
            let found = self.examine(candidate);
            best_quality = best_quality.max(found.quality);
            if self.is_confirmed(&found) {
                return Ok(self.earliest(found, &candidates));
            }
        }
        Err(best_quality)
    }

    /// The first header of the chain that leads to `found`. Where frames are of different kinds, only headers tell how
    /// far they reach, so that a chain can be followed forwards only.
    fn earliest(&self, found: Found, candidates: &[Candidate]) -> Found {
        let mut before: Vec<&Candidate> = candidates.iter().filter(|candidate| candidate.index < found.index).collect();
        before.sort_by_key(|candidate| candidate.index);
        let leads_to_found = |header: &Found| self.chain(*header).iter().any(|header| header.index == found.index);
        let good = |header: &Found| header.quality >= CONFIRMED_QUALITY && header.inverted == found.inverted;
        let earlier = before.into_iter().map(|candidate| self.examine(candidate));
        earlier.filter(good).find(leads_to_found).unwrap_or(found)
    }

    /// Decodes a candidate at all frequencies that are near to what its products say.
    fn examine(&self, candidate: &Candidate) -> Found {
        let mut symbols = [Complex32::ZERO; HEADER];
        symbols.copy_from_slice(&self.symbols[candidate.index..][..HEADER]);
        // On an inverted spectrum all products change their signs.
        let inverted = candidate.frequency.abs() > 0.25;
        let mut frequency = candidate.frequency;
        if inverted {
            symbols = symbols.map(|symbol| symbol.conj());
            frequency = 0.5 - frequency.rem_euclid(1.0);
        }
        let turned = |frequency: f64| {
            let mut symbols = symbols;
            derotate(&mut symbols, frequency, 0.0);
            symbols
        };
        let (mut decoded, mut frequency) = (-FREQUENCY_BINS..=FREQUENCY_BINS)
            .map(|bin| frequency + f64::from(bin) * FREQUENCY_BIN)
            .map(|frequency| (plheader::decode(&turned(frequency)), frequency))
            .max_by(|a, b| a.0.quality.total_cmp(&b.0.quality))
            .expect("there are bins");
        for _ in 0..2 {
            frequency += residual_frequency(&turned(frequency), decoded.pls);
            decoded = plheader::decode(&turned(frequency));
        }
        Found { index: candidate.index, pls: decoded.pls, quality: decoded.quality, frequency, inverted }
    }

    /// Whether the next header, or the one before, is where it has to be. A frame alone must be beyond doubt.
    fn is_confirmed(&self, found: &Found) -> bool {
        let Some(length) = length_of(found.pls).filter(|_| found.quality >= CONFIRMED_QUALITY) else { return false };
        let good = |header: Option<Found>| header.map(|header| header.quality >= CONFIRMED_QUALITY);
        let next = good(self.header(found.index + length, found));
        let previous = found.index.checked_sub(length).and_then(|index| self.header(index, found));
        let previous = good(previous.filter(|previous| previous.pls == found.pls));
        match (next, previous) {
            (Some(true), _) | (_, Some(true)) => true,
            (Some(false), _) => false,
            (None, _) => found.quality >= ALONE_QUALITY,
        }
    }

    /// What stands at `index`, taken for a header with the frequency and orientation of `like`.
    fn header(&self, index: usize, like: &Found) -> Option<Found> {
        let symbols = self.header_symbols(index, like)?;
        let decoded = plheader::decode(&symbols);
        Some(Found { index, pls: decoded.pls, quality: decoded.quality, ..*like })
    }

    fn header_symbols(&self, index: usize, like: &Found) -> Option<[Complex32; HEADER]> {
        let mut symbols: [Complex32; HEADER] = *self.symbols.get(index..)?.first_chunk()?;
        if like.inverted {
            symbols = symbols.map(|symbol| symbol.conj());
        }
        derotate(&mut symbols, like.frequency, 0.0);
        Some(symbols)
    }

    /// Follows the frames to both ends, and measures them all.
    fn lock(&self, found: Found, scrambler: &PlScrambler) -> Result<Lock, NoSignal> {
        let mut headers = self.chain(found);
        let whole = headers.len();
        headers.truncate(self.steady_headers(&headers));
        let mut frequency = found.frequency;
        let mut means = self.measure_headers(&headers);
        for _ in 1..MEASURED {
            frequency += means.frequency;
            headers.iter_mut().for_each(|header| header.frequency = frequency);
            means = self.measure_headers(&headers);
        }
        frequency += means.frequency;
        // The carrier changes in the last frame before a step.
        let steady = if headers.len() < whole { &headers[..headers.len().max(2) - 1] } else { &headers[..] };
        frequency += self.refine_frequency(steady, frequency, (means.deviation(headers.len()), means.noise), scrambler);

        let position = |index: usize| self.start + index as f64 * self.step;
        let last_sample = (self.samples - 1) as f64;
        let is_whole = |header: &&Found| {
            let end = header.index + length_of(header.pls).unwrap_or(usize::MAX / 2) - 1;
            position(header.index) >= -0.5 * self.step && position(end) <= last_sample + 0.5 * self.step
        };
        let first = headers.iter().find(is_whole).ok_or_else(|| {
            let symbols = 2 * length_of(found.pls).unwrap_or_default() + HEADER;
            NoSignal::NoWholeFrame { pls: found.pls, needed: (symbols as f64 * self.step).ceil() as usize }
        })?;
        Ok(Lock {
            position: position(first.index),
            samples_per_symbol: self.step,
            frequency: self.frequency + frequency,
            amplitude: means.signal.sqrt() as f32,
            es_n0: (means.signal / means.noise) as f32,
            pls: first.pls,
            headers: headers.len(),
            inverted: false,
            dc: Complex32::ZERO,
        })
    }

    /// How many of the first headers have the same carrier.
    fn steady_headers(&self, headers: &[Found]) -> usize {
        let frequencies: Vec<Complex64> = headers.iter().map(|header| self.residual(header).into()).collect();
        let variance = self.measure_headers(headers).deviation(1).powi(2);
        steady_parts(&frequencies, variance, 0.0).first().map_or(0, |part| part.end)
    }

    /// Frequency left in a header, in cycles per symbol.
    fn residual(&self, header: &Found) -> f64 {
        self.header_symbols(header.index, header).map_or(0.0, |symbols| residual_frequency(&symbols, header.pls))
    }

    /// All good headers that hang together with `found`, in the order of time.
    fn chain(&self, found: Found) -> Vec<Found> {
        let good = |header: &Found| {
            // At another frequency, a header may seem to announce anything.
            let needed = if header.pls == found.pls { 0.0 } else { CHANGE_SHARE * found.quality };
            header.quality >= needed.max(CONFIRMED_QUALITY)
                && length_of(header.pls).is_some()
                && self.residual(header).abs() <= MAX_STEP
        };
        let mut headers = vec![found];
        // Back, as long as the frames before are of the same kind.
        let length = length_of(found.pls).unwrap_or(usize::MAX);
        let mut index = found.index;
        while let Some(previous) = index.checked_sub(length) {
            match self.header(previous, &found).filter(good) {
                Some(header) if length_of(header.pls) == Some(length) => headers.push(header),
                _ => break,
            }
            index = previous;
        }
        headers.reverse();
        let (mut index, mut pls, mut missing) = (found.index, found.pls, 0);
        while let Some(length) = length_of(pls).filter(|_| missing < MAX_MISSING) {
            index += length;
            match self.header(index, &found) {
                Some(header) if good(&header) => {
                    headers.push(header);
                    pls = header.pls;
                    missing = 0;
                }
                Some(_) => missing += 1,
                None => break,
            }
        }
        headers
    }

    /// What the headers, each with a phase of its own, show together.
    fn measure_headers(&self, headers: &[Found]) -> HeaderMeans {
        let (mut slope, mut sums, mut energy) = (0.0, 0.0, 0.0);
        for header in headers {
            let Some(symbols) = self.header_symbols(header.index, header) else { continue };
            let (sum, moment) = header_moments(&symbols, header.pls);
            slope += (moment * sum.conj()).im;
            sums += sum.norm_sqr();
            energy += symbols.iter().map(|symbol| f64::from(symbol.norm_sqr())).sum::<f64>();
        }
        let (count, symbols) = (headers.len() as f64, HEADER as f64);
        let explained = sums / symbols;
        let noise = ((energy - explained) / (count * (symbols - 1.0))).max(1e-9 * energy);
        HeaderMeans {
            frequency: slope / (TAU * HEADER_SPREAD * sums),
            signal: (explained / count - noise).max(0.0) / symbols,
            noise,
        }
    }

    /// Frequency that is left when `frequency`, good to the standard deviation `deviation`, is removed from symbols with noise of the
    /// variance `noise`: of the powers of all symbols if they are PSK and strong enough, of decided symbols if they are APSK without
    /// pilots, else the likeliest by headers and pilots and, of PSK, by these powers.
    fn refine_frequency(
        &self,
        headers: &[Found],
        frequency: f64,
        (deviation, noise): (f64, f64),
        scrambler: &PlScrambler,
    ) -> f64 {
        let turned = |range: Range<usize>| {
            let mut symbols = self.symbols[range].to_vec();
            derotate(&mut symbols, frequency, 0.0);
            symbols
        };
        let end_of = |header: &Found| header.index + length_of(header.pls).unwrap_or_default();
        let whole = headers.iter().filter(|header| end_of(header) <= self.symbols.len()).take(MAX_REFINED);
        let whole: Vec<&Found> = whole.collect();
        let Some(first) = whole.first() else { return 0.0 };

        // Headers and pilots are points of QPSK.
        let powers = headers.iter().map(|header| power_of(header.pls)).collect::<Option<Vec<usize>>>();
        let m = powers.and_then(|powers| powers.into_iter().max());
        let mut powers = Vec::new();
        if let Some(m) = m {
            let end = headers.last().map_or(0, end_of).min(self.symbols.len());
            let symbols = turned(first.index..end.min(first.index + MAX_POWERS));
            let level = Level::best();
            match m {
                4 => sum_powers::<4>(level, &symbols, &mut powers),
                _ => sum_powers::<8>(level, &symbols, &mut powers),
            };
            let range = (6.0 * deviation).clamp(1e-4, 0.9 * 0.5 / (m * BLOCK) as f64);
            let (residual, significance) = search_powers(&powers, m, range);
            if significance > SIGNIFICANT {
                return residual;
            }
        }
        let known = |header: &Found| {
            let symbols = turned(header.index..(end_of(header) + HEADER).min(self.symbols.len()));
            let layout = Layout::new(header.pls)?;
            Some((KnownParts::of(header.pls, &layout, &symbols, scrambler), layout, symbols))
        };
        // Headers alone do not tell how often the phase turns from one to the next.
        let decided = whole.iter().filter_map(|header| {
            let modcod = header.pls.modcod().filter(|_| power_of(header.pls).is_none() && !header.pls.pilots())?;
            let kind = (modcod, header.pls.frame_size());
            let (known, layout, symbols) = known(header)?;
            let frame = &symbols[..layout.symbols()];
            let decisions = Decisions::new(Level::best(), kind, frame, &known, scrambler);
            let deviation = deviation.max(LEAST_DEVIATION);
            Some(follow_line(
                &decisions,
                frame.len(),
                &known,
                Residual::of(deviation),
                decisions.variance,
                &mut Vec::new(),
            ))
        });
        let mut decided: Vec<f64> = decided.take(MAX_DECIDED).collect();
        if !decided.is_empty() {
            decided.sort_by(f64::total_cmp);
            return decided[decided.len() / 2];
        }
        let known = whole.iter().filter_map(|header| known(header)).map(|(known, ..)| known);
        let by_powers = |frequency: f64| m.map_or(0.0, |m| significance_near(&powers, m, frequency));
        likeliest_frequency(known.collect(), noise, deviation, by_powers)
    }
}

fn length_of(pls: Pls) -> Option<usize> {
    Layout::new(pls).map(|layout| layout.symbols())
}

/// Carrier frequency in cycles per symbol, from the samples' autocorrelation half a symbol apart: its argument is
/// that of the spectrum's centre of gravity. Good to about 0.005 over a frame.
fn coarse_frequency(samples: &[Complex32], rate: f64) -> f64 {
    let lag = (0.5 * rate).round().max(1.0) as usize;
    let products = samples.iter().zip(&samples[lag..]);
    let sum: Complex64 = products.map(|(early, late)| widen(late * early.conj())).sum();
    let frequency = sum.arg() / (TAU * lag as f64) * rate;
    if frequency.is_finite() { frequency } else { 0.0 }
}

//! The matched filter of a receiver.
//!
//! Its kernel, `accumulate`, computes 64 outputs together, so that a tap is broadcast once for all of them and
//! a vector of samples, once loaded, serves two taps.

mod integers;
mod kernel;
mod turn;

use std::array;
use std::f64::consts::{FRAC_1_SQRT_2, PI};

use num_complex::Complex32;

use crate::simd::{Level, Simd, dispatch, f32x16, prelude::*};

pub use integers::IntegerFilter;
pub use kernel::{FilterFrames, FilterTables};
pub use turn::{Recorded, Turn};

/// Outputs that the kernel computes together.
const TILE: usize = 64;
/// Complex numbers in the widest vector.
const LANES: usize = 8;
/// Vectors of taps that share the loads of samples.
const GROUPS: usize = 2;
/// Taps that the kernel applies to each of its streams.
const STREAM_TAPS: usize = GROUPS * LANES;
/// Complex numbers that the kernel reads of each of its streams.
const STREAM: usize = TILE + STREAM_TAPS;

/// Adds to `sums` (real and imaginary parts of [`TILE`] outputs) the products of [`STREAM_TAPS`] · D taps:
/// output k gains Σ taps\[j\] · samples\[first + k·D + j\]. Samples outside of the slice are zero.
#[inline(always)]
fn accumulate<const D: usize>(
    sums: &mut [[f32; 2 * LANES]; TILE / LANES],
    taps: &[Taps],
    samples: &[Complex32],
    first: i64,
) {
    // Sample d of every D goes to stream d: there, the samples that meet one tap are neighbours.
    let mut streams = [[[0.0f32; 2]; STREAM]; D];
    match inside(samples, first, STREAM * D) {
        Some(samples) => {
            for (i, samples) in samples.as_chunks::<D>().0.iter().enumerate() {
                for d in 0..D {
                    streams[d][i] = [samples[d].re, samples[d].im];
                }
            }
        }
        None => fill_at_edge(&mut streams, samples, first),
    }
    // Slices of constant length, without tests of bounds, and sums by name: in a loop over an array of
    // sums the compiler leaves them in memory, or vectorises across them with gathers.
    let taps = &taps[..GROUPS * D];
    let [mut a, mut b, mut c, mut d, mut e, mut f, mut g, mut h] = *sums;
    for (phase, stream) in streams.iter().enumerate() {
        for lane in 0..LANES {
            let tap: [f32; GROUPS] = array::from_fn(|group| {
                let tap = (lane + group * LANES) * D + phase;
                taps[tap / LANES].0[tap % LANES][0]
            });
            let samples = stream[lane..][..TILE + (GROUPS - 1) * LANES].as_flattened();
            multiply_add(&mut a, tap, samples, 0);
            multiply_add(&mut b, tap, samples, 1);
            multiply_add(&mut c, tap, samples, 2);
            multiply_add(&mut d, tap, samples, 3);
            multiply_add(&mut e, tap, samples, 4);
            multiply_add(&mut f, tap, samples, 5);
            multiply_add(&mut g, tap, samples, 6);
            multiply_add(&mut h, tap, samples, 7);
        }
    }
    *sums = [a, b, c, d, e, f, g, h];
}

/// Fills the streams when some of the samples are missing.
#[cold]
#[inline(never)]
fn fill_at_edge<const D: usize>(streams: &mut [[[f32; 2]; STREAM]; D], samples: &[Complex32], first: i64) {
    for (d, stream) in (0..).zip(streams) {
        for (index, slot) in (first + d..).step_by(D).zip(stream) {
            let sample = sample_or_zero(samples, index);
            *slot = [sample.re, sample.im];
        }
    }
}

/// Adds the products of taps with the vectors `vector`, `vector` + 1, … of `samples`.
#[inline(always)]
fn multiply_add(sum: &mut [f32; 2 * LANES], taps: [f32; GROUPS], samples: &[f32], vector: usize) {
    let (vectors, _) = samples.as_chunks::<{ 2 * LANES }>();
    let operands: [&[f32; 2 * LANES]; GROUPS] = array::from_fn(|g| &vectors[vector + g]);
    for i in 0..2 * LANES {
        let mut product = taps[0] * operands[0][i];
        for g in 1..GROUPS {
            product += taps[g] * operands[g][i];
        }
        sum[i] += product;
    }
}

/// `length` samples from index `first` on, if all exist.
#[inline(always)]
fn inside(samples: &[Complex32], first: i64, length: usize) -> Option<&[Complex32]> {
    let first = usize::try_from(first).ok()?;
    samples.get(first..first.checked_add(length)?)
}

fn sample_or_zero(samples: &[Complex32], index: i64) -> Complex32 {
    let sample = usize::try_from(index).ok().and_then(|index| samples.get(index));
    sample.copied().unwrap_or_default()
}

/// Positions between two samples at which a [`MatchedFilter`] holds its taps.
const PHASES: usize = 128;
/// Symbols that its impulse response spans at least at fractional rates. At whole ones it spans 16, where the truncation of a
/// pulse of roll-off 0.25 happens to do no more harm than at 24.
const SPAN: f64 = 20.0;
/// Roll-offs below which it spans two and three times as much: pulses fade the more slowly, the smaller the roll-off.
const SLOW: f64 = 0.18;
const SLOWEST: f64 = 0.12;
const MOST_SPANS: usize = 3;
/// Samples per symbol that it accepts.
const RATES: std::ops::RangeInclusive<f64> = 1.5..=8.0;
/// Taps of the longest filter.
const LONGEST: usize = (MOST_SPANS * SPAN as usize * *RATES.end() as usize + 1).next_multiple_of(LANES);
/// Relative difference between a step and a whole number of samples up to which the fast kernel serves:
/// the timing is then off by 0.005 symbols at most, at both ends of a tile.
const WHOLE_STEP: f64 = 150e-6;

/// Whether the fast kernel for `whole` samples per symbol (0: there is none) serves steps of `step`.
fn is_near(whole: usize, step: f64) -> bool {
    whole > 0 && (step / whole as f64 - 1.0).abs() <= WHOLE_STEP
}

/// Root-raised-cosine filter that can be centred anywhere between two samples.
///
/// Matched filtering, interpolation to the symbol instants and decimation are one dot product per symbol: a
/// bank holds the taps for 128 positions of the centre between two samples, the nearest of which serves.
/// At 2 samples per symbol the rounding of the position limits the signal-to-distortion ratio to 55 dB.
///
/// The taps of each position have unit energy, so that the variance of white noise is the same before
/// and after the filter. The impulse response spans 16 symbols at whole rates, 20 at others, twice as many below a roll-off of
/// 0.18, three times below 0.12, and is not tapered: against a transmitter of the same roll-off its distortion is at -45 to
/// -60 dB. A roll-off of 0.25 receives a
/// signal of 0.20 with distortion at -50 dB, and one of 0.35 at -44 dB, so it serves while the roll-off is
/// unknown.
///
/// Steps of (nearly) 2, 3, 4 or 8 samples per symbol are several times faster than others.
///
/// # Source
/// EN 302 307-1, clause 5.6.
///
/// # Example
/// ```
/// use bief_dsp::{Complex32, filter::{MatchedFilter, root_raised_cosine}};
///
/// // One symbol of amplitude 1 at sample 60.5, 2 samples per symbol.
/// let pulse = |n: i32| root_raised_cosine((f64::from(n) - 60.5) / 2.0, 0.25) as f32;
/// let samples: Vec<Complex32> = (0..121).map(|n| pulse(n).into()).collect();
/// let mut symbols = [Complex32::ZERO; 3];
/// let filter = MatchedFilter::new(0.25, 2.0);
/// filter.symbols(&samples, 58.5, 2.0, &mut symbols);
/// let amplitude = 2f32.sqrt(); // root of the pulse's energy, 2 samples per symbol
/// assert!((symbols[1].re - amplitude).abs() < 0.005);
/// assert!(symbols[0].norm() < 0.01 && symbols[2].norm() < 0.01);
/// ```
#[derive(Clone, Debug)]
pub struct MatchedFilter {
    level: Level,
    samples_per_symbol: f64,
    /// Taps of one phase, a multiple of [`LANES`].
    length: usize,
    /// Index of the tap at the centre.
    half: usize,
    /// Samples per symbol when the fast kernel can serve, else 0.
    whole_rate: usize,
    /// `length` taps for each phase, in the order of phases, each twice: for real and imaginary part.
    bank: Vec<Taps>,
}

/// Taps for a vector of samples, placed so that no load crosses a cache line.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Taps([[f32; 2]; LANES]);

impl MatchedFilter {
    /// A filter for a roll-off of 0.01 to 1 and 1.5 to 8 samples per symbol.
    ///
    /// # Panics
    /// When either is outside its range.
    pub fn new(rolloff: f64, samples_per_symbol: f64) -> MatchedFilter {
        assert!((0.01..=1.0).contains(&rolloff), "the roll-off must be 0.01 to 1, not {rolloff}");
        assert!(
            RATES.contains(&samples_per_symbol),
            "the matched filter takes 1.5 to 8 samples per symbol, not {samples_per_symbol}"
        );
        let whole = samples_per_symbol.round();
        let is_whole = (samples_per_symbol / whole - 1.0).abs() < 1e-3;
        let whole_rate = match whole as usize {
            rate @ (2 | 3 | 4 | 8) if is_whole => rate,
            _ => 0,
        };
        let spans = match rolloff {
            ..SLOWEST => MOST_SPANS,
            ..SLOW => 2,
            _ => 1,
        };
        let length = match whole_rate {
            0 => (spans as f64 * SPAN * samples_per_symbol + 1.0).ceil() as usize,
            rate => spans * STREAM_TAPS * rate,
        }
        .next_multiple_of(LANES);
        let half = (length - 1) / 2;
        let bank: Vec<[f32; 2]> = (0..PHASES)
            .flat_map(|phase| {
                let centre = half as f64 + phase as f64 / PHASES as f64;
                let taps: Vec<f64> = (0..length)
                    .map(|i| root_raised_cosine((i as f64 - centre) / samples_per_symbol, rolloff))
                    .collect();
                let energy: f64 = taps.iter().map(|tap| tap * tap).sum();
                let scale = energy.sqrt().recip();
                taps.into_iter().map(move |tap| [(tap * scale) as f32; 2])
            })
            .collect();
        let bank = bank.as_chunks().0.iter().copied().map(Taps).collect();
        MatchedFilter { level: Level::best(), samples_per_symbol, length, half, whole_rate, bank }
    }

    /// The same filter, run with the instructions of `level`.
    pub fn with_level(self, level: Level) -> MatchedFilter {
        MatchedFilter { level, ..self }
    }

    /// The rate that the filter is made for.
    pub fn samples_per_symbol(&self) -> f64 {
        self.samples_per_symbol
    }

    /// Samples that an output needs on either side of its position.
    pub fn half_length(&self) -> usize {
        self.length - self.half
    }

    /// Sets `out[k]` to the filter's output centred on the position `start + k · step`, in samples.
    ///
    /// Position 0 is the first sample; positions may have any sign and fraction. Samples outside of the slice
    /// count as zero: the outputs whose position is [`half_length`](MatchedFilter::half_length) or more away
    /// from both ends are exact.
    pub fn symbols(&self, samples: &[Complex32], start: f64, step: f64, out: &mut [Complex32]) {
        let level = self.level;
        match self.whole_rate {
            rate if !is_near(rate, step) => {
                dispatch!(level, simd => self.symbols_one_by_one(simd, samples, start, step, out));
            }
            2 => self.symbols_by_tiles::<2>(samples, start, step, out),
            3 => self.symbols_by_tiles::<3>(samples, start, step, out),
            4 => self.symbols_by_tiles::<4>(samples, start, step, out),
            _ => self.symbols_by_tiles::<8>(samples, start, step, out),
        }
    }

    /// First sample and taps of the filter centred on `position`.
    #[inline(always)]
    fn at(&self, position: f64) -> (i64, &[Taps]) {
        let phases = PHASES as i64;
        let nearest = (position * PHASES as f64).round_ties_even() as i64;
        let first = nearest.div_euclid(phases) - self.half as i64;
        let phase = nearest.rem_euclid(phases) as usize;
        let vectors = self.length / LANES;
        (first, &self.bank[phase * vectors..][..vectors])
    }

    /// For steps close to D samples.
    #[inline(always)]
    fn symbols_by_tiles<const D: usize>(&self, samples: &[Complex32], start: f64, step: f64, out: &mut [Complex32]) {
        // One phase serves a whole tile: the one that is right in its middle.
        let drift = (step - D as f64) * (TILE / 2) as f64;
        for (tile, out) in out.chunks_mut(TILE).enumerate() {
            let (first, taps) = self.at(start + (tile * TILE) as f64 * step + drift);
            let mut sums = [[0.0; 2 * LANES]; TILE / LANES];
            let level = self.level;
            for (part, taps) in taps.chunks_exact(GROUPS * D).enumerate() {
                let first = first + (part * STREAM_TAPS * D) as i64;
                dispatch!(level => accumulate::<D>(&mut sums, taps, samples, first));
            }
            store(&sums, out);
        }
    }

    /// For any step.
    #[inline(always)]
    fn symbols_one_by_one<S: Simd>(
        &self,
        simd: S,
        samples: &[Complex32],
        start: f64,
        step: f64,
        out: &mut [Complex32],
    ) {
        let mut padded = [Complex32::ZERO; LONGEST];
        for (k, symbol) in out.iter_mut().enumerate() {
            let (first, taps) = self.at(start + k as f64 * step);
            let window = match inside(samples, first, self.length) {
                Some(window) => window,
                None => {
                    copy_at_edge(&mut padded[..self.length], samples, first);
                    &padded[..self.length]
                }
            };
            *symbol = dot_product(simd, window, taps);
        }
    }
}

/// Copies the window that starts at `first` when some of its samples are missing.
#[cold]
#[inline(never)]
fn copy_at_edge(window: &mut [Complex32], samples: &[Complex32], first: i64) {
    for (slot, index) in window.iter_mut().zip(first..) {
        *slot = sample_or_zero(samples, index);
    }
}

#[inline(always)]
fn dot_product<S: Simd>(simd: S, samples: &[Complex32], taps: &[Taps]) -> Complex32 {
    let mut sums = f32x16::splat(simd, 0.0);
    let (samples, _) = samples.as_chunks::<LANES>();
    for (samples, taps) in samples.iter().zip(taps) {
        let parts = samples.map(|sample| [sample.re, sample.im]);
        let parts = f32x16::from_slice(simd, parts.as_flattened());
        sums += parts * f32x16::from_slice(simd, taps.0.as_flattened());
    }
    let (low, high) = sums.split();
    let (low, high) = (low + high).split();
    let [a, b, c, d] = (low + high).into();
    Complex32::new(a + c, b + d)
}

#[inline(always)]
fn store(sums: &[[f32; 2 * LANES]; TILE / LANES], out: &mut [Complex32]) {
    for (output, [re, im]) in out.iter_mut().zip(sums.as_flattened().as_chunks().0) {
        *output = Complex32::new(*re, *im);
    }
}

/// The root-raised-cosine pulse at time `t`, in symbol periods, for a roll-off above 0.
///
/// Its energy, the integral of its square over `t`, is 1.
pub fn root_raised_cosine(t: f64, rolloff: f64) -> f64 {
    let a = rolloff;
    let pole = 4.0 * a * t.abs();
    if t.abs() < 1e-9 {
        1.0 - a + 4.0 * a / PI
    } else if (pole - 1.0).abs() < 1e-9 {
        let (sin, cos) = (PI / (4.0 * a)).sin_cos();
        a * FRAC_1_SQRT_2 * ((1.0 + 2.0 / PI) * sin + (1.0 - 2.0 / PI) * cos)
    } else {
        let (low, high) = (PI * t * (1.0 - a), PI * t * (1.0 + a));
        (low.sin() + 4.0 * a * t * high.cos()) / (PI * t * (1.0 - pole * pole))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pulse::Shaper;

    fn noise(count: usize, seed: u64) -> Vec<Complex32> {
        let mut random = fastrand::Rng::with_seed(seed);
        (0..count).map(|_| Complex32::new(random.f32() - 0.5, random.f32() - 0.5)).collect()
    }

    /// The filter as it is defined, centred exactly on `position`.
    fn matched(filter: &MatchedFilter, rolloff: f64, samples: &[Complex32], position: f64) -> Complex32 {
        let first = position.floor() as i64 - filter.half as i64;
        let tap = |index: i64| root_raised_cosine((index as f64 - position) / filter.samples_per_symbol, rolloff);
        let indices = first..first + filter.length as i64;
        let energy: f64 = indices.clone().map(|index| tap(index).powi(2)).sum();
        let sum: Complex32 = indices.map(|index| sample_or_zero(samples, index) * tap(index) as f32).sum();
        sum / energy.sqrt() as f32
    }

    #[test]
    fn symbols_are_those_of_the_definition() {
        let samples = noise(700, 1);
        for level in Level::all() {
            for rate in [1.5, 1.7, 2.0, 2.5, 3.0, 4.0, 5.0, 8.0] {
                let filter = MatchedFilter::new(0.25, rate).with_level(level);
                for (start, step, count) in [
                    (200.0, rate, 1),
                    (40.25, rate, 63),
                    (-60.5, rate, 64),
                    (3.0 / 128.0, rate, 65),
                    (100.125, 2.0 * rate, 200),
                    (650.0, rate, 200),
                    (1e15, rate, 3),
                    (-1e15, rate, 3),
                ] {
                    let mut symbols = vec![Complex32::ONE; count];
                    filter.symbols(&samples, start, step, &mut symbols);
                    for (k, symbol) in symbols.iter().enumerate() {
                        let position = start + k as f64 * step;
                        let nearest = (position * 128.0).round_ties_even() / 128.0;
                        let expected = matched(&filter, 0.25, &samples, nearest);
                        let error = (symbol - expected).norm();
                        assert!(error < 2e-6, "{level}, {rate}, symbol {k} at {position}: {error}");
                    }
                }
            }
        }
    }

    #[test]
    fn a_drifting_clock_is_followed() {
        let samples = noise(5_000, 2);
        for rate in [2.0, 2.5, 4.0] {
            let filter = MatchedFilter::new(0.2, rate);
            for ppm in [-140.0, 20.0, 140.0] {
                let step = rate * (1.0 + 1e-6 * ppm);
                let mut symbols = vec![Complex32::ZERO; 1_000];
                filter.symbols(&samples, 51.3, step, &mut symbols);
                let mut error = 0.0;
                for (k, symbol) in symbols.iter().enumerate() {
                    error += (symbol - matched(&filter, 0.2, &samples, 51.3 + k as f64 * step)).norm_sqr();
                }
                let energy: f32 = symbols.iter().map(Complex32::norm_sqr).sum();
                assert!(error < 1e-4 * energy, "{rate}, {ppm} ppm: {}", error / energy);
            }
        }
    }

    #[test]
    fn longer_filters_are_those_of_the_definition() {
        let samples = noise(900, 4);
        for (rolloff, rate) in [(0.15, 2.0), (0.05, 2.0), (0.1, 4.0), (0.05, 2.5)] {
            let filter = MatchedFilter::new(rolloff, rate);
            let mut symbols = vec![Complex32::ONE; 130];
            filter.symbols(&samples, 200.25, rate, &mut symbols);
            for (k, symbol) in symbols.iter().enumerate() {
                let error = (symbol - matched(&filter, rolloff, &samples, 200.25 + k as f64 * rate)).norm();
                assert!(error < 3e-6, "{rolloff}, {rate}, symbol {k}: {error}");
            }
        }
    }

    #[test]
    fn neighbouring_symbols_do_not_interfere() {
        for (rate, least) in [(1.5, 48.0), (2.0, 52.0), (2.5, 50.0), (3.0, 50.0), (4.0, 50.0), (8.0, 50.0)] {
            let mut shaper = Shaper::new(0.25, rate).unwrap();
            let mut random = fastrand::Rng::with_seed(3);
            let mut bit = || if random.bool() { 1.0 } else { -1.0 };
            let sent: Vec<Complex32> = (0..600).map(|_| Complex32::new(bit(), bit())).collect();
            let mut samples = vec![Complex32::ZERO; shaper.samples(sent.len()).unwrap()];
            shaper.shape(&sent, &mut samples);
            let mut symbols = vec![Complex32::ZERO; 500];
            MatchedFilter::new(0.25, rate).symbols(&samples, (50 + Shaper::DELAY) as f64 * rate, rate, &mut symbols);
            let amplitude = (rate as f32).sqrt();
            let errors = symbols.iter().zip(&sent[50..]).map(|(symbol, sent)| (symbol / amplitude - sent).norm_sqr());
            let distortion = 10.0 * (1_000.0 / errors.sum::<f32>()).log10();
            assert!(distortion > least, "{rate} samples per symbol: {distortion} dB");
        }
    }

    #[test]
    fn noise_keeps_its_variance() {
        let samples = noise(40_000, 4);
        let power = |samples: &[Complex32]| {
            samples.iter().map(|sample| f64::from(sample.norm_sqr())).sum::<f64>() / samples.len() as f64
        };
        for rate in [1.5, 2.0, 4.0] {
            let mut symbols = vec![Complex32::ZERO; 9_000];
            MatchedFilter::new(0.35, rate).symbols(&samples, 100.0, rate, &mut symbols);
            let ratio = power(&symbols) / power(&samples);
            assert!((ratio - 1.0).abs() < 0.05, "{rate}: {ratio}");
        }
    }

    #[test]
    fn positions_that_are_no_numbers_do_no_harm() {
        let filter = MatchedFilter::new(0.25, 2.0);
        let mut symbols = [Complex32::ZERO; 70];
        for (start, step) in [(f64::NAN, 2.0), (f64::INFINITY, 2.0), (f64::NEG_INFINITY, 2.5), (0.0, f64::NAN)] {
            filter.symbols(&noise(100, 5), start, step, &mut symbols);
        }
        assert!(symbols.iter().all(|symbol| symbol.norm() < 10.0));
    }

    #[test]
    #[should_panic(expected = "takes 1.5 to 8 samples per symbol, not 1.4")]
    fn a_rate_below_the_bandwidth_is_refused() {
        MatchedFilter::new(0.25, 1.4);
    }

    #[test]
    #[should_panic(expected = "roll-off must be 0.01 to 1, not 0")]
    fn a_roll_off_of_zero_is_refused() {
        MatchedFilter::new(0.0, 2.0);
    }
}

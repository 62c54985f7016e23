//! The matched filter on 16-bit integers, which processors multiply twice as many of at once as of floats.

use std::array;

use num_complex::Complex32;

use super::{GROUPS, LANES, LONGEST, MatchedFilter, PHASES, STREAM, STREAM_TAPS, TILE, is_near};
use crate::simd::{
    Level, Simd, add_pair_products, dispatch, f32x16, four_further, has_registers, i16x32, i32x16, prelude::*,
};

/// Real and imaginary part of a sample.
type Sample = [i16; 2];
/// Two samples: their real parts, then their imaginary parts.
type Pair = [i16; 4];

/// Vectors of sums that are made together, each of [`LANES`] outputs.
const VECTORS: usize = TILE / LANES;
/// Numbers in a vector of sums.
const SUMS: usize = 2 * LANES;
/// Samples of a vector where outputs are made one by one.
const SINGLE: usize = 16;
/// The largest power of two that taps are multiplied by.
const MOST_SHIFT: i32 = 14;

/// A [`MatchedFilter`] for samples that are 16-bit integers, real part first: faster, and as exact as 16 bits are.
///
/// Its taps are integers too, with 14 bits behind the point where that leaves room for sums: the distortion that this adds is
/// at -75 dB, far below that of the filter itself. Samples should make use of the range of integers, but leave room above the signal
/// for noise and for other signals. Whatever they are, no sum overflows.
///
/// ```
/// use bief_dsp::Complex32;
/// use bief_dsp::filter::{IntegerFilter, MatchedFilter};
///
/// let filter = MatchedFilter::new(0.25, 2.0);
/// let samples: Vec<[i16; 2]> = (0..200).map(|k| [20 * k, 5_000 - 30 * k]).collect();
/// let floats: Vec<Complex32> = samples.iter().map(|[re, im]| Complex32::new((*re).into(), (*im).into())).collect();
/// let (mut made, mut expected) = ([Complex32::ZERO; 40], [Complex32::ZERO; 40]);
/// IntegerFilter::new(&filter).symbols(&samples, 60.25, 2.0, 1.0, &mut made);
/// filter.symbols(&floats, 60.25, 2.0, &mut expected);
/// assert!(made.iter().zip(&expected).all(|(made, expected)| (made - expected).norm() < 2.0));
/// ```
#[derive(Clone, Debug)]
pub struct IntegerFilter {
    level: Level,
    /// Taps of a phase.
    length: usize,
    half: usize,
    whole_rate: usize,
    /// Taps of each phase, with zeros behind them up to whole vectors.
    singles: Vec<Singles>,
    /// The same, for whole rates, in pairs in the order in which the kernel takes them.
    pairs: Vec<[i16; 2]>,
    /// What the taps were multiplied by.
    scale: f32,
}

/// Taps for a vector of samples, each with a 0 beside it: in one form they meet the real parts alone, in the other the imaginary
/// ones. Placed so that no load crosses a cache line.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Singles {
    of_re: [[i16; 2]; SINGLE],
    of_im: [[i16; 2]; SINGLE],
}

impl IntegerFilter {
    /// The same filter, for integers.
    pub fn new(filter: &MatchedFilter) -> IntegerFilter {
        let MatchedFilter { level, length, half, whole_rate, .. } = *filter;
        let tap = |phase: usize, index: usize| filter.bank[(phase * length + index) / LANES].0[index % LANES][0];
        let magnitude = |phase| (0..length).map(|index| tap(phase, index).abs()).sum::<f32>();
        let largest = (0..PHASES).map(magnitude).fold(0.0, f32::max);
        // 2^15 times the sum of all magnitudes, and what rounding adds to it, is less than 2^31.
        let fits = |shift: &i32| largest * 2f32.powi(*shift) + 0.5 * (length as f32) < 65_536.0;
        let scale = 2f32.powi((0..=MOST_SHIFT).rev().find(fits).unwrap_or(0));
        let integer = |phase: usize, index: usize| match index < length {
            true => (tap(phase, index) * scale).round_ties_even() as i16,
            false => 0,
        };
        let vectors = length.div_ceil(SINGLE);
        let vector = |k: usize| {
            let taps: [i16; SINGLE] = array::from_fn(|lane| integer(k / vectors, k % vectors * SINGLE + lane));
            Singles { of_re: taps.map(|tap| [tap, 0]), of_im: taps.map(|tap| [0, tap]) }
        };
        let singles = (0..PHASES * vectors).map(vector).collect();
        let mut pairs = Vec::new();
        for phase in 0..PHASES {
            for part in (0..length * whole_rate.min(1)).step_by(STREAM_TAPS * whole_rate.max(1)) {
                for stream in (0..whole_rate).step_by(2) {
                    for lane in 0..LANES {
                        pairs.extend((0..GROUPS).map(|group| {
                            let first = part + (lane + group * LANES) * whole_rate + stream;
                            let has_second = stream + 1 < whole_rate;
                            [integer(phase, first), if has_second { integer(phase, first + 1) } else { 0 }]
                        }));
                    }
                }
            }
        }
        IntegerFilter { level, length, half, whole_rate, singles, pairs, scale }
    }

    /// The same filter, run with the instructions of `level`.
    pub fn with_level(self, level: Level) -> IntegerFilter {
        IntegerFilter { level, ..self }
    }

    /// The taps of all phases one after the other, and how many each has.
    pub(super) fn taps(&self) -> (Vec<i16>, usize) {
        let vectors = self.singles.len() / PHASES;
        let taps = |phase: &[Singles]| -> Vec<i16> {
            phase.iter().flat_map(|taps| taps.of_re.map(|[tap, _]| tap)).take(self.length).collect()
        };
        (self.singles.chunks(vectors).flat_map(taps).collect(), self.length)
    }

    /// Which tap is at the centre, the rate that tiles serve (0: none), and what the taps were multiplied by.
    pub(super) fn centre(&self) -> (usize, usize, f32) {
        (self.half, self.whole_rate, self.scale)
    }

    /// Sets `out[k]` to `gain` times the filter's output centred on the position `start + k · step`; else as
    /// [`MatchedFilter::symbols`].
    pub fn symbols(&self, samples: &[Sample], start: f64, step: f64, gain: f32, out: &mut [Complex32]) {
        let (level, gain) = (self.level, gain / self.scale);
        match self.whole_rate {
            rate if !is_near(rate, step) => {
                dispatch!(level, simd => self.one_by_one(simd, samples, start, step, gain, out));
            }
            2 => dispatch!(level, simd => self.by_tiles::<_, 2, 1>(simd, samples, start, step, gain, out)),
            3 => dispatch!(level, simd => self.by_tiles::<_, 3, 2>(simd, samples, start, step, gain, out)),
            4 => dispatch!(level, simd => self.by_tiles::<_, 4, 2>(simd, samples, start, step, gain, out)),
            _ => dispatch!(level, simd => self.by_tiles::<_, 8, 4>(simd, samples, start, step, gain, out)),
        }
    }

    /// First sample and phase of the filter centred on `position`.
    #[inline(always)]
    fn at(&self, position: f64) -> (i64, usize) {
        let phases = PHASES as i64;
        let nearest = (position * PHASES as f64).round_ties_even() as i64;
        (nearest.div_euclid(phases) - self.half as i64, nearest.rem_euclid(phases) as usize)
    }

    /// For steps close to D samples, in which there are P pairs.
    #[inline(always)]
    fn by_tiles<S: Simd, const D: usize, const P: usize>(
        &self,
        simd: S,
        samples: &[Sample],
        start: f64,
        step: f64,
        gain: f32,
        out: &mut [Complex32],
    ) {
        let drift = (step - D as f64) * (TILE / 2) as f64;
        let entries = self.pairs.len() / PHASES;
        for (tile, out) in out.chunks_mut(TILE).enumerate() {
            let (first, phase) = self.at(start + (tile * TILE) as f64 * step + drift);
            let pairs = &self.pairs[phase * entries..][..entries];
            let mut sums = [i32x16::splat(simd, 0); VECTORS];
            for (part, taps) in pairs.chunks_exact(STREAM_TAPS * P).enumerate() {
                let first = first + (part * STREAM_TAPS * D) as i64;
                accumulate::<S, D, P>(simd, &mut sums, taps, samples, first);
            }
            let mut whole = [Complex32::ZERO; TILE];
            let parts: &mut [f32; 2 * TILE] = bytemuck::cast_mut(&mut whole);
            for (sums, parts) in sums.into_iter().zip(parts.as_chunks_mut::<SUMS>().0) {
                (sums.to_float::<f32x16<S>>() * gain).store_slice(parts);
            }
            out.copy_from_slice(&whole[..out.len()]);
        }
    }

    /// For any step.
    #[inline(always)]
    fn one_by_one<S: Simd>(
        &self,
        simd: S,
        samples: &[Sample],
        start: f64,
        step: f64,
        gain: f32,
        out: &mut [Complex32],
    ) {
        let vectors = self.singles.len() / PHASES;
        let mut window = [[0; 2]; LONGEST.next_multiple_of(SINGLE)];
        for (k, symbol) in out.iter_mut().enumerate() {
            let (first, phase) = self.at(start + k as f64 * step);
            let taps = &self.singles[phase * vectors..][..vectors];
            let samples = match inside(samples, first, vectors * SINGLE) {
                Some(samples) => samples,
                None => {
                    copy_at_edge(&mut window[..vectors * SINGLE], samples, first);
                    &window[..vectors * SINGLE]
                }
            };
            let (mut re, mut im) = (i32x16::splat(simd, 0), i32x16::splat(simd, 0));
            for (samples, taps) in samples.as_chunks::<SINGLE>().0.iter().zip(taps) {
                let samples = i16x32::from_slice(simd, samples.as_flattened());
                re = add_pair_products(simd, re, samples, i16x32::from_slice(simd, taps.of_re.as_flattened()));
                im = add_pair_products(simd, im, samples, i16x32::from_slice(simd, taps.of_im.as_flattened()));
            }
            let (low, high) = re.interleave(im);
            let (low, high) = (low + high).split();
            let (low, high) = (low + high).split();
            let [a, b, c, d]: [i32; 4] = (low + high).into();
            *symbol = Complex32::new((a + c) as f32, (b + d) as f32) * gain;
        }
    }
}

/// Adds to `sums` (real and imaginary parts of [`TILE`] outputs) the products of [`STREAM_TAPS`] · D taps: output k gains
/// Σ taps\[j\] · samples\[first + k·D + j\]. Samples outside of the slice are zero.
#[inline(always)]
fn accumulate<S: Simd, const D: usize, const P: usize>(
    simd: S,
    sums: &mut [i32x16<S>; VECTORS],
    taps: &[[i16; 2]],
    samples: &[Sample],
    first: i64,
) {
    // The pairs that one pair of taps meets are neighbours.
    let mut streams = [[[0i16; 4]; STREAM]; P];
    match inside(samples, first, STREAM * D) {
        Some(samples) => {
            for (i, samples) in samples.as_chunks::<D>().0.iter().enumerate() {
                for p in 0..P {
                    // Where there is no second sample its tap is 0.
                    streams[p][i] = pair_of(samples[2 * p], samples[(2 * p + 1).min(D - 1)]);
                }
            }
        }
        None => fill_at_edge::<D, P>(&mut streams, samples, first),
    }
    for (stream, taps) in streams.iter().zip(taps.as_chunks::<STREAM_TAPS>().0) {
        let taps = taps.as_chunks::<GROUPS>().0;
        if has_registers(simd) {
            from_registers(simd, sums, stream, taps);
        } else {
            from_memory(simd, sums, stream, taps);
        }
    }
}

/// The pairs of a stream are read once, and moved on from lane to lane.
#[inline(always)]
fn from_registers<S: Simd>(
    simd: S,
    sums: &mut [i32x16<S>; VECTORS],
    stream: &[Pair; STREAM],
    taps: &[[[i16; 2]; GROUPS]],
) {
    let (vectors, _) = stream.as_flattened().as_chunks::<{ 4 * LANES }>();
    let mut vectors: [_; VECTORS + GROUPS] = array::from_fn(|index| i16x32::from_slice(simd, &vectors[index]));
    for taps in taps {
        let taps = taps.map(|pair| i16x32::from_slice(simd, [pair; 2 * LANES].as_flattened()));
        for index in 0..VECTORS {
            for (group, taps) in taps.into_iter().enumerate() {
                sums[index] = add_pair_products(simd, sums[index], vectors[index + group], taps);
            }
        }
        for index in 1..vectors.len() {
            vectors[index - 1] = four_further(simd, vectors[index - 1], vectors[index]);
        }
        vectors[VECTORS + GROUPS - 1] = four_further(simd, vectors[VECTORS + GROUPS - 1], vectors[0]);
    }
}

/// The pairs of a stream are read for every lane.
#[inline(always)]
fn from_memory<S: Simd>(
    simd: S,
    sums: &mut [i32x16<S>; VECTORS],
    stream: &[Pair; STREAM],
    taps: &[[[i16; 2]; GROUPS]],
) {
    // Sums by name: in an array they stay in memory.
    let [mut a, mut b, mut c, mut d, mut e, mut f, mut g, mut h] = *sums;
    for (lane, taps) in taps.iter().enumerate() {
        let taps = taps.map(|pair| i16x32::from_slice(simd, [pair; 2 * LANES].as_flattened()));
        let (vectors, _) = stream[lane..][..TILE + (GROUPS - 1) * LANES].as_flattened().as_chunks::<{ 4 * LANES }>();
        let vector = |index: usize| i16x32::from_slice(simd, &vectors[index]);
        let mut last = vector(0);
        for (index, sum) in [&mut a, &mut b, &mut c, &mut d, &mut e, &mut f, &mut g, &mut h].into_iter().enumerate() {
            let next = vector(index + 1);
            *sum = add_pair_products(simd, *sum, last, taps[0]);
            *sum = add_pair_products(simd, *sum, next, taps[1]);
            last = next;
        }
    }
    *sums = [a, b, c, d, e, f, g, h];
}

#[inline(always)]
fn pair_of(first: Sample, second: Sample) -> Pair {
    [first[0], second[0], first[1], second[1]]
}

/// Fills the streams when some of the samples are missing.
#[cold]
#[inline(never)]
fn fill_at_edge<const D: usize, const P: usize>(streams: &mut [[Pair; STREAM]; P], samples: &[Sample], first: i64) {
    for (i, start) in (first..).step_by(D).take(STREAM).enumerate() {
        for (stream, start) in streams.iter_mut().zip((start..).step_by(2)) {
            stream[i] = pair_of(sample_or_zero(samples, start), sample_or_zero(samples, start + 1));
        }
    }
}

/// `length` samples from index `first` on, if all exist.
#[inline(always)]
fn inside(samples: &[Sample], first: i64, length: usize) -> Option<&[Sample]> {
    let first = usize::try_from(first).ok()?;
    samples.get(first..first.checked_add(length)?)
}

/// Copies the window that starts at `first` when some of its samples are missing.
#[cold]
#[inline(never)]
fn copy_at_edge(window: &mut [Sample], samples: &[Sample], first: i64) {
    for (slot, index) in window.iter_mut().zip(first..) {
        *slot = sample_or_zero(samples, index);
    }
}

fn sample_or_zero(samples: &[Sample], index: i64) -> Sample {
    let sample = usize::try_from(index).ok().and_then(|index| samples.get(index));
    sample.copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sums of products of integers, tap by tap.
    fn naive(filter: &IntegerFilter, samples: &[Sample], position: f64) -> [i64; 2] {
        let (first, phase) = filter.at(position);
        let vectors = filter.singles.len() / PHASES;
        let taps = filter.singles[phase * vectors..][..vectors].iter().flat_map(|taps| taps.of_re);
        let mut sums = [0; 2];
        for (index, [tap, _]) in (first..).zip(taps) {
            let sample = sample_or_zero(samples, index);
            for (sum, part) in sums.iter_mut().zip(sample) {
                *sum += i64::from(tap) * i64::from(part);
            }
        }
        sums
    }

    #[test]
    fn sums_are_exact_at_every_level() {
        let mut random = fastrand::Rng::with_seed(1);
        let samples: Vec<Sample> = (0..700).map(|_| [random.i16(..), random.i16(..)]).collect();
        for rate in [1.5, 1.7, 2.0, 2.5, 3.0, 4.0, 8.0] {
            let filter = IntegerFilter::new(&MatchedFilter::new(0.1, rate));
            for level in Level::all() {
                let filter = filter.clone().with_level(level);
                for (start, step, count) in [
                    (200.0, rate, 1),
                    (40.25, rate, 65),
                    (-60.5, rate, 64),
                    (100.125, 2.0 * rate, 200),
                    (650.0, rate, 200),
                    (1e15, rate, 3),
                ] {
                    let mut symbols = vec![Complex32::ONE; count];
                    filter.symbols(&samples, start, step, filter.scale, &mut symbols);
                    for (k, symbol) in symbols.iter().enumerate() {
                        let expected = naive(&filter, &samples, start + k as f64 * step);
                        let [re, im] = expected.map(|sum| sum as f32);
                        assert_eq!((symbol.re, symbol.im), (re, im), "{level}, {rate}, {start}, {k}");
                    }
                }
            }
        }
    }

    #[test]
    fn no_sum_overflows() {
        for (roll_off, rate) in [(0.25, 2.0), (0.05, 8.0), (0.05, 1.5), (0.35, 7.3)] {
            let filter = IntegerFilter::new(&MatchedFilter::new(roll_off, rate));
            for taps in filter.singles.chunks(filter.singles.len() / PHASES) {
                let magnitude: i64 = taps.iter().flat_map(|taps| taps.of_re).map(|[tap, _]| i64::from(tap).abs()).sum();
                assert!(magnitude << 15 < 1 << 31, "{roll_off}, {rate}: {magnitude}");
            }
        }
    }

    #[test]
    fn it_is_as_exact_as_16_bits_are() {
        let mut random = fastrand::Rng::with_seed(2);
        let samples: Vec<Sample> = (0..4_000).map(|_| [random.i16(-800..800), random.i16(-800..800)]).collect();
        let floats: Vec<Complex32> =
            samples.iter().map(|[re, im]| Complex32::new((*re).into(), (*im).into())).collect();
        for rate in [1.7, 2.0, 3.0, 4.0] {
            let filter = MatchedFilter::new(0.1, rate);
            let (mut made, mut expected) = (vec![Complex32::ZERO; 900], vec![Complex32::ZERO; 900]);
            IntegerFilter::new(&filter).symbols(&samples, 100.3, rate, 1.0, &mut made);
            filter.symbols(&floats, 100.3, rate, &mut expected);
            let error: f32 = made.iter().zip(&expected).map(|(made, expected)| (made - expected).norm_sqr()).sum();
            let power: f32 = expected.iter().map(Complex32::norm_sqr).sum();
            let db = 10.0 * (error / power).log10();
            assert!(db < -72.0, "{rate}: {db} dB");
        }
    }
}

//! The matched filter on 16-bit integers, which processors multiply twice as many of at once as of floats.

use std::array;
use std::f64::consts::TAU;
use std::sync::Arc;

use num_complex::{Complex32, Complex64};

use super::turn::{Arrangement, MOST, Recorded, TOGETHER, Turn, Turned};
use super::{GROUPS, LANES, MatchedFilter, PHASES, STREAM, STREAM_TAPS, TILE, is_near};
use crate::simd::{
    Level, Simd, add_pair_products, add_pair_products_half, dispatch, f32x16, four_further, has_registers, i16x16,
    i16x32, i32x8, i32x16, prelude::*, u8x16, u8x64,
};

/// Two samples: their real parts, then their imaginary parts.
type Pair = [i16; 4];

/// Vectors of sums that are made together, each of [`LANES`] outputs.
const VECTORS: usize = TILE / LANES;
/// Numbers in a vector of sums.
const SUMS: usize = 2 * LANES;
/// Samples of a vector where outputs are made one by one, and outputs that share what is turned.
const SINGLE: usize = 16;
pub(super) const SHARING: usize = 128;
/// The largest power of two that taps are multiplied by.
const MOST_SHIFT: i32 = 14;

/// A [`MatchedFilter`] for samples as they were recorded, which removes the carrier from them on the way: on 16-bit integers, faster,
/// and as exact as those are.
///
/// Its taps are integers too, with 14 bits behind the point where that leaves room for sums: the distortion that this adds is
/// at -75 dB, far below that of the filter itself. Whatever samples are, no sum overflows.
///
/// ```
/// use bief_dsp::Complex32;
/// use bief_dsp::filter::{IntegerFilter, MatchedFilter, Recorded, Turn};
///
/// let filter = MatchedFilter::new(0.25, 2.0);
/// let samples: Vec<[i16; 2]> = (0..200).map(|k| [20 * k, 5_000 - 30 * k]).collect();
/// let bytes: Vec<u8> = samples.iter().flatten().flat_map(|part| part.to_le_bytes()).collect();
/// let turn = Turn { frequency: 0.0, start: 0.5.into(), constant: Complex32::ZERO, inverted: false };
/// let (mut made, mut expected) = ([Complex32::ZERO; 40], [Complex32::ZERO; 40]);
/// IntegerFilter::new(&filter).symbols(Recorded::I16(&bytes), &turn, 30_000.0, (60.25, 2.0), &mut made);
/// let half = |part: i16| 0.5 * f32::from(part) / 32_768.0;
/// let floats: Vec<Complex32> = samples.iter().map(|[re, im]| Complex32::new(half(*re), half(*im))).collect();
/// filter.symbols(&floats, 60.25, 2.0, &mut expected);
/// assert!(made.iter().zip(&expected).all(|(made, expected)| (made - expected).norm() < 1e-4));
/// ```
#[derive(Clone, Debug)]
pub struct IntegerFilter {
    level: Level,
    /// Taps of a phase.
    length: usize,
    half: usize,
    whole_rate: usize,
    /// Taps of each phase, with zeros behind them up to whole vectors.
    singles: Arc<[Singles]>,
    /// The same, for whole rates, in pairs in the order in which the kernel takes them.
    pairs: Arc<[[i16; 2]]>,
    /// What the taps were multiplied by.
    scale: f32,
    /// Samples on their way.
    turned: Turned,
}

/// Taps for a vector of samples, placed so that no load crosses a cache line.
#[derive(Clone, Copy, Debug)]
#[repr(align(32))]
struct Singles([i16; SINGLE]);

impl IntegerFilter {
    /// The same filter, for integers.
    pub fn new(filter: &MatchedFilter) -> IntegerFilter {
        let MatchedFilter { level, length, half, .. } = *filter;
        // An odd number of samples leaves pairs torn: outputs are made one by one.
        let whole_rate = if filter.whole_rate.is_multiple_of(2) { filter.whole_rate } else { 0 };
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
        let vector = |k: usize| Singles(array::from_fn(|lane| integer(k / vectors, k % vectors * SINGLE + lane)));
        let singles = (0..PHASES * vectors).map(vector).collect();
        let mut pairs = Vec::new();
        for phase in 0..PHASES {
            for part in (0..length * whole_rate.min(1)).step_by(STREAM_TAPS * whole_rate.max(1)) {
                for stream in (0..whole_rate).step_by(2) {
                    for lane in 0..LANES {
                        pairs.extend((0..GROUPS).map(|group| {
                            let first = part + (lane + group * LANES) * whole_rate + stream;
                            [integer(phase, first), integer(phase, first + 1)]
                        }));
                    }
                }
            }
        }
        let (pairs, turned) = (pairs.into(), Turned::new());
        IntegerFilter { level, length, half, whole_rate, singles, pairs, scale, turned }
    }

    /// The same filter, run with the instructions of `level`.
    pub fn with_level(self, level: Level) -> IntegerFilter {
        IntegerFilter { level, ..self }
    }

    /// The same filter, which has `prefetch` ask memory for samples before it reads them: it works while they come into a cache. This
    /// crate, which has no unsafe code, has no instruction for it.
    pub fn prefetching(mut self, prefetch: fn(&[u8])) -> IntegerFilter {
        self.turned.prefetch = prefetch;
        self
    }

    /// The taps of all phases one after the other, and how many each has.
    pub(super) fn taps(&self) -> (Vec<i16>, usize) {
        let of_phases = self.singles.chunks(self.length.div_ceil(SINGLE));
        let taps = of_phases.flat_map(|phase| phase.iter().flat_map(|taps| taps.0).take(self.length));
        (taps.collect(), self.length)
    }

    /// Which tap is at the centre, and the rate that tiles serve (0: none).
    pub(super) fn centre(&self) -> (usize, usize) {
        (self.half, self.whole_rate)
    }

    /// Sets `out[k]` to the filter's output centred on the position `start + k · step` of samples that `turn` has turned; else as
    /// [`MatchedFilter::symbols`].
    ///
    /// What is filtered are integers, `level` times as large as turned samples: they should make use of the range of 16 bits, but leave
    /// room above the signal for noise and for other signals.
    pub fn symbols(
        &mut self,
        recorded: Recorded<'_>,
        turn: &Turn,
        level: f32,
        (start, step): (f64, f64),
        out: &mut [Complex32],
    ) {
        let is_whole = self.prepare(recorded, turn, level, step);
        let mut anchor = self.anchor(turn, level);
        match self.whole_rate {
            _ if !is_whole => self.one_by_one(recorded, &mut anchor, (start, step), out),
            2 => self.by_tiles::<2, 1>(recorded, &mut anchor, (start, step), out),
            4 => self.by_tiles::<4, 2>(recorded, &mut anchor, (start, step), out),
            _ => self.by_tiles::<8, 4>(recorded, &mut anchor, (start, step), out),
        }
    }

    /// Makes ready to turn the samples of a tile, or of outputs that share them; whether steps are close to the filter's whole rate.
    pub(super) fn prepare(&mut self, recorded: Recorded<'_>, turn: &Turn, level: f32, step: f64) -> bool {
        let rate = self.whole_rate;
        let (is_whole, parts) = (is_near(rate, step), self.length / (STREAM_TAPS * rate.max(1)));
        let samples = match is_whole {
            true => ((parts - 1) * STREAM_TAPS + STREAM) * rate,
            false => ((SHARING as f64 * step) as usize).saturating_add(self.window() + TOGETHER).min(MOST),
        };
        self.turned.prepare(recorded, turn, level, samples);
        is_whole
    }

    /// What is prepared.
    pub(super) fn turned(&self) -> &Turned {
        &self.turned
    }

    /// What turned samples lack.
    pub(super) fn anchor(&self, turn: &Turn, level: f32) -> Anchor {
        Anchor::new(turn, f64::from(level) * f64::from(self.scale))
    }

    /// First sample and phase of the filter centred on `position`.
    #[inline(always)]
    pub(super) fn at(&self, position: f64) -> (i64, usize) {
        let phases = PHASES as i64;
        let nearest = nearest(position * PHASES as f64);
        (nearest.div_euclid(phases) - self.half as i64, nearest.rem_euclid(phases) as usize)
    }

    /// Samples of a window where outputs are made one by one.
    fn window(&self) -> usize {
        self.length.next_multiple_of(SINGLE)
    }

    /// For steps close to D samples, in which there are P pairs.
    fn by_tiles<const D: usize, const P: usize>(
        &mut self,
        recorded: Recorded<'_>,
        anchor: &mut Anchor,
        (start, step): (f64, f64),
        out: &mut [Complex32],
    ) {
        let drift = (step - D as f64) * (TILE / 2) as f64;
        let entries = self.pairs.len() / PHASES;
        let level = self.level;
        for (tile, out) in out.chunks_mut(TILE).enumerate() {
            let (first, phase) = self.at(start + (tile * TILE) as f64 * step + drift);
            let taps = &self.pairs[phase * entries..][..entries];
            let pairs = bytemuck::cast_slice(self.turned.turn(level, recorded, first, Arrangement::Pairs));
            let gain = anchor.at(first);
            match out.try_into() {
                Ok(out) => dispatch!(level, simd => filter_tile::<_, D, P>(simd, taps, pairs, gain, out)),
                Err(_) => {
                    let mut whole = [Complex32::ZERO; TILE];
                    dispatch!(level, simd => filter_tile::<_, D, P>(simd, taps, pairs, gain, &mut whole));
                    out.copy_from_slice(&whole[..out.len()]);
                }
            }
        }
    }

    /// For any step.
    fn one_by_one(
        &mut self,
        recorded: Recorded<'_>,
        anchor: &mut Anchor,
        (start, step): (f64, f64),
        out: &mut [Complex32],
    ) {
        let (level, window) = (self.level, self.window());
        let room = ((self.turned.len() - window + 1) * PHASES) as u64;
        let mut next = 0;
        while next < out.len() {
            let (first, _) = self.at(start + next as f64 * step);
            let mut places = [0; SHARING];
            dispatch!(level => place(&mut places, (start, step), next, first + self.half as i64));
            let places = &places[..SHARING.min(out.len() - next)];
            let count = places.iter().position(|place| place.cast_unsigned() >= room).unwrap_or(places.len()).max(1);
            let samples = self.turned.turn(level, recorded, first, Arrangement::Apart);
            let (gain, singles) = (anchor.at(first), &self.singles);
            let (places, out) = (&places[..count], &mut out[next..next + count]);
            let samples = samples.as_flattened();
            match window / SINGLE {
                2 => dispatch!(level, simd => filter_singly::<_, 2>(simd, singles, samples, places, gain, out)),
                3 => dispatch!(level, simd => filter_singly::<_, 3>(simd, singles, samples, places, gain, out)),
                4 => dispatch!(level, simd => filter_singly::<_, 4>(simd, singles, samples, places, gain, out)),
                _ => dispatch!(level, simd => filter_singly::<_, 0>(simd, singles, samples, places, gain, out)),
            }
            next += count;
        }
    }
}

/// Places of outputs from number `next` on, beside a sample, in parts of the distance from one to the next.
#[inline(always)]
fn place(places: &mut [i64; SHARING], (start, step): (f64, f64), next: usize, sample: i64) {
    let (first, parts) = (next as f64, PHASES as i64);
    for (k, place) in (0..SHARING as i32).zip(places) {
        *place =
            nearest((start + (first + f64::from(k)) * step) * PHASES as f64).wrapping_sub(sample.wrapping_mul(parts));
    }
}

/// The nearest whole number, where that is less than 2⁵¹; else some other.
#[inline(always)]
fn nearest(number: f64) -> i64 {
    // From here on a float has no room for fractions: its lowest bits are the number. The library's rounding may be a call.
    const WHOLE: f64 = 1.5 * (1_u64 << 52) as f64;
    (number + WHOLE).to_bits() as i64 - WHOLE.to_bits() as i64
}

/// What turned samples lack: the phase of the first of them, and the gain of what they went through.
pub(super) struct Anchor {
    frequency: f64,
    /// The sample that it stands at.
    sample: i64,
    value: Complex64,
    /// The last distance, and what it turns by.
    step: (i64, Complex64),
}

impl Anchor {
    fn new(turn: &Turn, gain: f64) -> Anchor {
        Anchor { frequency: turn.frequency, sample: 0, value: turn.start / gain, step: (0, Complex64::ONE) }
    }

    /// Goes to a sample. A product for each step: after 10⁶ of them their rounding errors are still below 1e-9.
    #[inline(always)]
    pub(super) fn at(&mut self, sample: i64) -> Complex32 {
        let distance = sample.wrapping_sub(self.sample);
        if distance != self.step.0 {
            self.step = (distance, Complex64::cis(TAU * (self.frequency * distance as f64).fract()));
        }
        self.sample = sample;
        self.value *= self.step.1;
        Complex32::new(self.value.re as f32, self.value.im as f32)
    }
}

/// Filters a tile: output k is `gain` times Σ taps\[j\] · sample\[k·D + j\].
#[inline(always)]
fn filter_tile<S: Simd, const D: usize, const P: usize>(
    simd: S,
    taps: &[[i16; 2]],
    pairs: &[Pair],
    gain: Complex32,
    out: &mut [Complex32; TILE],
) {
    let mut sums = [i32x16::splat(simd, 0); VECTORS];
    for (part, taps) in taps.chunks_exact(STREAM_TAPS * P).enumerate() {
        let pairs = &pairs[part * STREAM_TAPS * D / 2..][..STREAM * D / 2];
        if let (2, Some(stream)) = (D, pairs.first_chunk()) {
            add_stream(simd, &mut sums, stream, taps);
            continue;
        }
        // The pairs that one pair of taps meets are neighbours.
        for (p, taps) in taps.as_chunks::<STREAM_TAPS>().0.iter().enumerate() {
            let mut stream = [[0; 4]; STREAM];
            for (i, slot) in stream.iter_mut().enumerate() {
                *slot = pairs[i * D / 2 + p];
            }
            add_stream(simd, &mut sums, &stream, taps);
        }
    }
    let [direct, crossed] = factors(simd, gain);
    let parts: &mut [f32; 2 * TILE] = bytemuck::cast_mut(out);
    for (sums, parts) in sums.into_iter().zip(parts.as_chunks_mut::<SUMS>().0) {
        let sums = sums.to_float::<f32x16<S>>();
        (sums * direct + swapped(simd, sums) * crossed).store_slice(parts);
    }
}

/// What complex numbers, parts in turn, and the same with parts exchanged are multiplied by, so that the sum is a product.
#[inline(always)]
fn factors<S: Simd>(simd: S, gain: Complex32) -> [f32x16<S>; 2] {
    let crossed: [f32; SUMS] = array::from_fn(|lane| if lane % 2 == 0 { -gain.im } else { gain.im });
    [f32x16::splat(simd, gain.re), f32x16::load_array(simd, crossed)]
}

/// Real and imaginary parts exchanged.
#[inline(always)]
fn swapped<S: Simd>(simd: S, parts: f32x16<S>) -> f32x16<S> {
    const SWAP: [u8; 16] = [4, 5, 6, 7, 0, 1, 2, 3, 12, 13, 14, 15, 8, 9, 10, 11];
    parts.swizzle_dyn_within_blocks(u8x64::block_splat(u8x16::load_array(simd, SWAP)))
}

/// Adds what taps make of a stream to `sums`: real and imaginary parts of [`TILE`] outputs.
#[inline(always)]
fn add_stream<S: Simd>(simd: S, sums: &mut [i32x16<S>; VECTORS], stream: &[Pair; STREAM], taps: &[[i16; 2]]) {
    let taps = taps.as_chunks::<GROUPS>().0;
    if has_registers(simd) {
        from_registers(simd, sums, stream, taps);
    } else {
        from_memory(simd, sums, stream, taps);
    }
}

/// Makes outputs at places among the samples, real parts and imaginary parts, each with the taps of its phase: so many
/// vectors, or, if 0, any number.
#[inline(always)]
fn filter_singly<S: Simd, const VECTORS: usize>(
    simd: S,
    singles: &[Singles],
    samples: &[i16],
    places: &[i64],
    gain: Complex32,
    out: &mut [Complex32],
) {
    let vectors = if VECTORS > 0 { VECTORS } else { singles.len() / PHASES };
    let (samples_re, samples_im) = samples.split_at(samples.len() / 2);
    let mut made = [[0; 2]; SHARING];
    for (made, place) in made.iter_mut().zip(places) {
        let (first, phase) = (*place as usize / PHASES, *place as usize % PHASES);
        let taps = &singles[phase * vectors..][..vectors];
        let samples_re = samples_re[first..][..vectors * SINGLE].as_chunks::<SINGLE>().0;
        let samples_im = samples_im[first..][..vectors * SINGLE].as_chunks::<SINGLE>().0;
        let (mut re, mut im) = (i32x8::splat(simd, 0), i32x8::splat(simd, 0));
        for (taps, (samples_re, samples_im)) in taps.iter().zip(samples_re.iter().zip(samples_im)) {
            let taps = i16x16::load_array_ref(simd, &taps.0);
            re = add_pair_products_half(simd, re, i16x16::load_array_ref(simd, samples_re), taps);
            im = add_pair_products_half(simd, im, i16x16::load_array_ref(simd, samples_im), taps);
        }
        let ((re, re_high), (im, im_high)) = (re.split(), im.split());
        let (low, high) = (re + re_high).interleave(im + im_high);
        let [a, b, c, d]: [i32; 4] = (low + high).into();
        *made = [a + c, b + d];
    }
    let [direct, crossed] = factors(simd, gain);
    for (made, out) in made.as_chunks::<LANES>().0.iter().zip(out.chunks_mut(LANES)) {
        let sums = i32x16::from_slice(simd, made.as_flattened()).to_float::<f32x16<S>>();
        let parts: [f32; SUMS] = (sums * direct + swapped(simd, sums) * crossed).into();
        let whole: [Complex32; LANES] = bytemuck::cast(parts);
        match out.as_chunks_mut().0 {
            [out] => *out = whole,
            _ => out.copy_from_slice(&whole[..out.len()]),
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

/// The pairs of a stream are read for every lane, each time for four pairs of taps. Half of the sums at a time: all do not fit the
/// registers.
#[inline(always)]
fn from_memory<S: Simd>(
    simd: S,
    sums: &mut [i32x16<S>; VECTORS],
    stream: &[Pair; STREAM],
    taps: &[[[i16; 2]; GROUPS]],
) {
    const AT_ONCE: usize = 8;
    let spread = |pair: [i16; 2]| -> i16x16<S> { i32x8::splat(simd, bytemuck::cast(pair)).bitcast() };
    for (half, sums) in sums.as_chunks_mut::<{ AT_ONCE / 2 }>().0.iter_mut().enumerate() {
        let [(a, b), (c, d), (e, f), (g, h)] = [sums[0].split(), sums[1].split(), sums[2].split(), sums[3].split()];
        let mut made = [a, b, c, d, e, f, g, h];
        for lane in 0..LANES / 2 {
            let [[a, c], [b, d]] = [taps[lane], taps[lane + LANES / 2]];
            let taps = [spread(a), spread(b), spread(c), spread(d)];
            let first = lane + half * TILE / 2;
            let (vectors, _) = stream[first..][..TILE / 2 + 3 * LANES / 2].as_flattened().as_chunks::<{ 2 * LANES }>();
            for index in 0..AT_ONCE + taps.len() - 1 {
                let vector = i16x16::from_slice(simd, &vectors[index]);
                for (group, taps) in taps.into_iter().enumerate() {
                    if index >= group && index - group < AT_ONCE {
                        made[index - group] = add_pair_products_half(simd, made[index - group], vector, taps);
                    }
                }
            }
        }
        let [a, b, c, d, e, f, g, h] = made;
        *sums = [a.combine(b), c.combine(d), e.combine(f), g.combine(h)];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STILL: Turn = Turn { frequency: 0.0, start: Complex64::ONE, constant: Complex32::ZERO, inverted: false };

    /// Sums of products of integers, tap by tap.
    fn naive(filter: &IntegerFilter, samples: &[[i16; 2]], position: f64) -> [i64; 2] {
        let (first, phase) = filter.at(position);
        let (taps, length) = filter.taps();
        let mut sums = [0; 2];
        for (index, tap) in (first..).zip(&taps[phase * length..][..length]) {
            let sample = usize::try_from(index).ok().and_then(|index| samples.get(index)).copied();
            for (sum, part) in sums.iter_mut().zip(sample.unwrap_or_default()) {
                *sum += i64::from(*tap) * i64::from(part);
            }
        }
        sums
    }

    #[test]
    fn sums_are_exact_at_every_level() {
        let mut random = fastrand::Rng::with_seed(1);
        let samples: Vec<[i16; 2]> = (0..700).map(|_| [random.i16(..), random.i16(..)]).collect();
        for rate in [1.5, 1.7, 2.0, 2.5, 3.0, 4.0, 8.0] {
            let filter = IntegerFilter::new(&MatchedFilter::new(0.1, rate));
            for level in Level::all() {
                let mut filter = filter.clone().with_level(level);
                for (start, step, count) in [
                    (200.0, rate, 1),
                    (40.25, rate, 65),
                    (-60.5, rate, 64),
                    (100.125, 2.0 * rate, 200),
                    (650.0, rate, 200),
                    (1e15, rate, 3),
                ] {
                    let mut symbols = vec![Complex32::ONE; count];
                    let recorded = Recorded::I16(bytemuck::cast_slice(&samples));
                    // Integers are the samples themselves.
                    filter.symbols(recorded, &STILL, 32_768.0, (start, step), &mut symbols);
                    for (k, symbol) in symbols.iter().enumerate() {
                        let expected = naive(&filter, &samples, start + k as f64 * step);
                        let [re, im] = expected.map(|sum| sum as f32 / (32_768.0 * filter.scale));
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
            let (taps, length) = filter.taps();
            for taps in taps.chunks(length) {
                let magnitude: i64 = taps.iter().map(|tap| i64::from(*tap).abs()).sum();
                assert!(magnitude << 15 < 1 << 31, "{roll_off}, {rate}: {magnitude}");
            }
        }
    }

    /// Bytes of samples in each form, and what each counts.
    fn recordings(count: usize) -> [(&'static str, Vec<u8>, Vec<Complex64>); 4] {
        let mut random = fastrand::Rng::with_seed(2);
        let numbers: Vec<f64> = (0..2 * count).map(|_| 0.3 * (random.f64() - 0.5)).collect();
        let make = |scale: f64, zero: f64| -> (Vec<f64>, Vec<Complex64>) {
            let counts: Vec<f64> = numbers.iter().map(|number| (number * scale + zero).round()).collect();
            let units: Vec<f64> = counts.iter().map(|count| (count - zero) / scale).collect();
            (counts, units.as_chunks().0.iter().map(|[re, im]| Complex64::new(*re, *im)).collect())
        };
        let (of_i16, of_i8, of_u8) = (make(32_768.0, 0.0), make(128.0, 0.0), make(127.5, 127.5));
        let floats: Vec<f32> = numbers.iter().map(|number| *number as f32).collect();
        let of_floats = floats.as_chunks().0.iter().map(|[re, im]| Complex64::new((*re).into(), (*im).into()));
        [
            ("i16", of_i16.0.iter().flat_map(|count| (*count as i16).to_le_bytes()).collect(), of_i16.1),
            ("i8", of_i8.0.iter().map(|count| (*count as i8).cast_unsigned()).collect(), of_i8.1),
            ("u8", of_u8.0.iter().map(|count| *count as u8).collect(), of_u8.1),
            ("f32", floats.iter().flat_map(|float| float.to_le_bytes()).collect(), of_floats.collect()),
        ]
    }

    fn recorded<'a>(form: &str, bytes: &'a [u8]) -> Recorded<'a> {
        match form {
            "i16" => Recorded::I16(bytes),
            "i8" => Recorded::I8(bytes),
            "u8" => Recorded::U8(bytes),
            _ => Recorded::F32(bytes),
        }
    }

    #[test]
    fn recordings_are_turned_and_filtered_as_exactly_as_16_bits_allow() {
        const SAMPLES: usize = 1_500;
        for (form, bytes, samples) in recordings(SAMPLES) {
            for (rate, roll_off, frequency, inverted) in [
                (2.0, 0.25, 0.004, false),
                (2.0, 0.1, -0.37, true),
                (1.7, 0.25, 0.21, true),
                (3.0, 0.1, -0.01, false),
                (4.0, 0.25, 0.4999, true),
                (8.0, 0.25, 0.001, false),
            ] {
                let constant = Complex32::new(0.05, -0.02);
                let turn = Turn { frequency, start: Complex64::from_polar(0.7, 2.0), constant, inverted };
                let turned: Vec<Complex32> = samples
                    .iter()
                    .enumerate()
                    .map(|(n, sample)| {
                        let beside = sample - Complex64::new(constant.re.into(), constant.im.into());
                        let upright = if inverted { beside.conj() } else { beside };
                        let turned = upright * turn.start * Complex64::cis(TAU * (frequency * n as f64).fract());
                        Complex32::new(turned.re as f32, turned.im as f32)
                    })
                    .collect();
                let filter = MatchedFilter::new(roll_off, rate);
                // Beyond both ends, too.
                let (start, step) = (-20.3, rate);
                let count = ((SAMPLES as f64 + 60.0) / rate) as usize;
                let (mut expected, mut first) = (vec![Complex32::ZERO; count], None);
                filter.symbols(&turned, start, step, &mut expected);
                for level in Level::all() {
                    let mut made = vec![Complex32::ONE; count];
                    let mut filter = IntegerFilter::new(&filter).with_level(level);
                    filter.symbols(recorded(form, &bytes), &turn, 5_000.0, (start, step), &mut made);
                    let error: f32 =
                        made.iter().zip(&expected).map(|(made, expected)| (made - expected).norm_sqr()).sum();
                    let power: f32 = expected.iter().map(Complex32::norm_sqr).sum();
                    let db = 10.0 * (error / power).log10();
                    assert!(db < -58.0, "{form}, {rate}, {level}: {db} dB");
                    if form != "f32" {
                        assert!(*first.get_or_insert_with(|| made.clone()) == made, "{form}, {rate}, {level}");
                    }
                }
            }
        }
    }

    #[test]
    fn damaged_floats_count_as_zero_and_large_numbers_as_the_largest() {
        let mut floats = vec![[0.0f32; 2]; 300];
        for (k, damaged) in [f32::NAN, f32::INFINITY, -1e13, f32::NEG_INFINITY].into_iter().enumerate() {
            floats[100 + 10 * k][k % 2] = damaged;
        }
        let mut filter = IntegerFilter::new(&MatchedFilter::new(0.25, 2.0));
        let mut symbols = [Complex32::ONE; 100];
        filter.symbols(Recorded::F32(bytemuck::cast_slice(&floats)), &STILL, 700.0, (40.0, 2.0), &mut symbols);
        assert!(symbols.iter().all(|symbol| *symbol == Complex32::ZERO));
        floats[100] = [9e11, -9e11];
        filter.symbols(Recorded::F32(bytemuck::cast_slice(&floats)), &STILL, 700.0, (100.0, 2.0), &mut symbols);
        assert!(symbols[0].re > 20.0 && symbols[0].im < -20.0 && symbols[0].norm() < 70.0, "{}", symbols[0]);
    }
}

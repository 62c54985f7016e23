//! FIR with real taps on real or complex samples, which keeps one output of every D.
//!
//! Polyphase: of every D samples, sample d goes to stream d, where the samples that meet the taps of phase d are neighbours. A
//! tile of outputs is then computed together, so that a tap is broadcast once for all of them and a vector of samples, once
//! loaded, serves up to three taps. The sums of a tile stay in registers over all taps.

use num_complex::Complex32;

use crate::simd::{Level, Simd, dispatch, f32x16, prelude::*};

/// Numbers in the widest vector.
const VECTOR: usize = 16;
/// Vectors of outputs that are computed together: with AVX2, which has the fewest registers for it, their sums fill half of them.
const TILE: usize = 4;
/// Vectors of taps that share the loads of samples, at most.
const GROUPS: usize = 3;
/// Numbers that the streams hold together, about: half of a first-level cache.
const STREAMED: usize = 4096;

mod sealed {
    pub trait Sealed {}
    impl Sealed for f32 {}
    impl Sealed for super::Complex32 {}
}

/// What a [`Fir`] filters: `f32` or [`Complex32`].
pub trait Sample: sealed::Sealed + Copy + Default + Send + Sync + 'static {
    /// Real numbers in a sample.
    const WIDTH: usize;
    /// Writes samples as real numbers, and zeros behind them, until `parts` are full.
    #[doc(hidden)]
    fn flatten(samples: impl Iterator<Item = Self>, parts: &mut [f32]);
    /// Makes samples of real numbers.
    #[doc(hidden)]
    fn gather(parts: &[f32], samples: &mut [Self]);
    /// The filter's work, for each type where it is named: generic, it would be compiled again by every crate that filters, as that
    /// crate is compiled.
    #[doc(hidden)]
    fn filter(fir: &mut Fir<Self>, history: &[Self], samples: &[Self], out: &mut [Self]);
}

impl Sample for f32 {
    const WIDTH: usize = 1;

    #[inline(always)]
    fn flatten(samples: impl Iterator<Item = f32>, parts: &mut [f32]) {
        let mut slots = parts.iter_mut();
        for (sample, slot) in samples.zip(slots.by_ref()) {
            *slot = sample;
        }
        slots.into_slice().fill(0.0);
    }

    #[inline(always)]
    fn gather(parts: &[f32], samples: &mut [f32]) {
        samples.copy_from_slice(&parts[..samples.len()]);
    }

    fn filter(fir: &mut Fir<Self>, history: &[Self], samples: &[Self], out: &mut [Self]) {
        let level = fir.level;
        dispatch!(level, simd => fir.filter_blocks(simd, history, samples, out));
    }
}

impl Sample for Complex32 {
    const WIDTH: usize = 2;

    #[inline(always)]
    fn flatten(samples: impl Iterator<Item = Complex32>, parts: &mut [f32]) {
        let mut slots = parts.as_chunks_mut().0.iter_mut();
        for (sample, slot) in samples.zip(slots.by_ref()) {
            *slot = [sample.re, sample.im];
        }
        slots.into_slice().fill([0.0; 2]);
    }

    #[inline(always)]
    fn gather(parts: &[f32], samples: &mut [Complex32]) {
        for (sample, [re, im]) in samples.iter_mut().zip(parts.as_chunks().0) {
            *sample = Complex32::new(*re, *im);
        }
    }

    fn filter(fir: &mut Fir<Self>, history: &[Self], samples: &[Self], out: &mut [Self]) {
        let level = fir.level;
        dispatch!(level, simd => fir.filter_blocks(simd, history, samples, out));
    }
}

/// FIR with real taps that keeps one output of every D.
///
/// It remembers nothing: each call is given the samples before those that it filters. So frames of a stream may be filtered side
/// by side, each by a copy of the filter, with the same result.
///
/// # Example
/// ```
/// use bief_dsp::fir::Fir;
///
/// let mut mean_of_four = Fir::new(&[0.25; 4], 2);
/// let samples: Vec<f32> = (0..8).map(|n| n as f32).collect();
/// let mut out = [0.0; 2];
/// mean_of_four.filter(&[0.0; 3], &samples[..4], &mut out);
/// assert_eq!(out, [0.0, 0.75]); // 0; (0 + 1 + 2) / 4
/// mean_of_four.filter(&samples[1..4], &samples[4..], &mut out);
/// assert_eq!(out, [2.5, 4.5]);
/// ```
#[derive(Clone, Debug)]
pub struct Fir<S> {
    level: Level,
    decimation: usize,
    /// Samples before the newest that an output is made of.
    history: usize,
    /// Taps of phase 0, then of phase 1, and so on, `phase` of each, the last ones 0 where there are not so many; the tap of the
    /// oldest sample first.
    taps: Vec<f32>,
    phase: usize,
    /// Outputs that are made of the streams at a time: a multiple of a tile.
    block: usize,
    /// One stream for each phase, real numbers.
    streams: Vec<f32>,
    sample: std::marker::PhantomData<S>,
}

impl<S: Sample> Fir<S> {
    /// Samples in a vector.
    const LANES: usize = VECTOR / S::WIDTH;
    /// Outputs in a tile.
    const TILE: usize = TILE * Self::LANES;

    /// A filter with this impulse response, of any length.
    ///
    /// # Panics
    /// When `decimation` is 0.
    pub fn new(taps: &[f32], decimation: usize) -> Self {
        assert!(decimation > 0, "a filter decimates by 1 or more");
        let phase = taps.len().max(1).div_ceil(decimation);
        let mut by_phase = vec![0.0; phase * decimation];
        for (age, tap) in taps.iter().rev().enumerate() {
            by_phase[age % decimation * phase + age / decimation] = *tap;
        }
        // What the streams of two neighbouring blocks share, a phase of samples, should be less than a block.
        let block = (STREAMED / (S::WIDTH * decimation)).max(phase).next_multiple_of(Self::TILE);
        let stream = block + phase;
        Self {
            level: Level::best(),
            decimation,
            history: taps.len().saturating_sub(1),
            taps: by_phase,
            phase,
            block,
            streams: vec![0.0; decimation * stream * S::WIDTH],
            sample: std::marker::PhantomData,
        }
    }

    /// The same filter, run with the instructions of `level`.
    pub fn with_level(self, level: Level) -> Self {
        Self { level, ..self }
    }

    /// Samples of history that it needs: one less than there are taps.
    pub fn history(&self) -> usize {
        self.history
    }

    /// One output is kept of so many.
    pub fn decimation(&self) -> usize {
        self.decimation
    }

    /// Sets `out[k]` to Σ taps\[j\] · x\[k · D − j\], where x is `samples`, and before them `history`.
    ///
    /// # Panics
    /// When `history` is shorter than [`history`](Self::history) says, or `out` is not `samples.len()` / D long.
    pub fn filter(&mut self, history: &[S], samples: &[S], out: &mut [S]) {
        assert_eq!(out.len() * self.decimation, samples.len(), "one output of {}", self.decimation);
        let history = &history[history.len() - self.history..];
        S::filter(self, history, samples, out);
    }

    #[inline(always)]
    fn filter_blocks<V: Simd>(&mut self, simd: V, history: &[S], samples: &[S], out: &mut [S]) {
        for (block, out) in out.chunks_mut(self.block).enumerate() {
            let used = out.len().next_multiple_of(Self::TILE) + self.phase;
            self.fill_streams(history, samples, block * self.block * self.decimation, used);
            for (tile, out) in out.chunks_mut(Self::TILE).enumerate() {
                let mut sums = [0.0; TILE * VECTOR];
                self.tile(simd, tile * TILE * VECTOR, &mut sums);
                S::gather(&sums, out);
            }
        }
    }

    /// Fills the streams from sample `first` on, counted from the start of the history, with `used` samples each.
    #[inline(always)]
    fn fill_streams(&mut self, history: &[S], samples: &[S], first: usize, used: usize) {
        let stream = self.streams.len() / self.decimation;
        for (phase, stream) in self.streams.chunks_exact_mut(stream).enumerate() {
            let (first, stream) = (first + phase, &mut stream[..used * S::WIDTH]);
            let old = history.get(first..).unwrap_or_default();
            // Where the stream goes on in the samples.
            let next = first + old.len().next_multiple_of(self.decimation) - history.len();
            let new = samples.get(next..).unwrap_or_default();
            let old = old.iter().step_by(self.decimation);
            let (before, after) = stream.split_at_mut((old.len() * S::WIDTH).min(stream.len()));
            S::flatten(old.copied(), before);
            S::flatten(new.iter().step_by(self.decimation).copied(), after);
        }
    }

    /// The outputs whose samples are `first` numbers after the start of the streams.
    #[inline(always)]
    fn tile<V: Simd>(&self, simd: V, first: usize, out: &mut [f32; TILE * VECTOR]) {
        let zero = f32x16::splat(simd, 0.0);
        let mut sums = [zero; TILE];
        let length = self.streams.len() / self.decimation;
        for phase in 0..self.decimation {
            let mut taps = &self.taps[phase * self.phase..][..self.phase];
            let mut samples = &self.streams[phase * length..][..length][first..];
            while let Some((now, rest)) = taps.split_at_checked(GROUPS * Self::LANES) {
                accumulate::<S, V, GROUPS>(simd, &mut sums, now, samples);
                samples = &samples[GROUPS * VECTOR..];
                taps = rest;
            }
            let (whole, rest) = taps.split_at(taps.len() / Self::LANES * Self::LANES);
            match whole.len() / Self::LANES {
                0 => {}
                1 => accumulate::<S, V, 1>(simd, &mut sums, whole, samples),
                _ => accumulate::<S, V, 2>(simd, &mut sums, whole, samples),
            }
            accumulate_few::<S, V>(simd, &mut sums, rest, &samples[whole.len() * S::WIDTH..]);
        }
        for (sum, out) in sums.into_iter().zip(out.as_chunks_mut::<VECTOR>().0) {
            *out = sum.into();
        }
    }
}

/// Adds the products of G vectors of taps to the sums of a tile.
#[inline(always)]
fn accumulate<S: Sample, V: Simd, const G: usize>(
    simd: V,
    sums: &mut [f32x16<V>; TILE],
    taps: &[f32],
    samples: &[f32],
) {
    let lanes = VECTOR / S::WIDTH;
    let taps = &taps[..G * lanes];
    let samples = &samples[..(TILE + G) * VECTOR];
    for lane in 0..lanes {
        let (vectors, _) = samples[lane * S::WIDTH..][..(TILE + G - 1) * VECTOR].as_chunks::<VECTOR>();
        for group in 0..G {
            let tap = f32x16::splat(simd, taps[lane + group * lanes]);
            for i in 0..TILE {
                sums[i] += tap * f32x16::from_slice(simd, &vectors[i + group]);
            }
        }
    }
}

/// The same of taps that fill no vector.
#[inline(always)]
fn accumulate_few<S: Sample, V: Simd>(simd: V, sums: &mut [f32x16<V>; TILE], taps: &[f32], samples: &[f32]) {
    for (lane, tap) in taps.iter().enumerate() {
        let (vectors, _) = samples[lane * S::WIDTH..][..TILE * VECTOR].as_chunks::<VECTOR>();
        let tap = f32x16::splat(simd, *tap);
        for i in 0..TILE {
            sums[i] += tap * f32x16::from_slice(simd, &vectors[i]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The filter as it is defined.
    fn defined<S: Sample + std::iter::Sum + std::ops::Mul<f32, Output = S>>(
        taps: &[f32],
        decimation: usize,
        history: &[S],
        samples: &[S],
    ) -> Vec<S> {
        let all = [history, samples].concat();
        (0..samples.len() / decimation)
            .map(|k| taps.iter().enumerate().map(|(j, tap)| all[history.len() + k * decimation - j] * *tap).sum())
            .collect()
    }

    fn noise(count: usize, seed: u64) -> Vec<f32> {
        let mut random = fastrand::Rng::with_seed(seed);
        (0..count).map(|_| random.f32() - 0.5).collect()
    }

    fn complex_noise(count: usize, seed: u64) -> Vec<Complex32> {
        noise(2 * count, seed).chunks(2).map(|parts| Complex32::new(parts[0], parts[1])).collect()
    }

    fn check(taps: usize, decimation: usize, outputs: usize, more_history: usize) {
        let taps = noise(taps, 1);
        let history = taps.len().saturating_sub(1) + more_history;
        let tolerance = 1e-5 + 1e-7 * taps.len() as f32;
        for level in Level::all() {
            let name = format!("{level}, {} taps, 1 of {decimation}, {outputs} outputs", taps.len());
            let (before, samples) = (noise(history, 2), noise(outputs * decimation, 3));
            let mut out = vec![9.0; outputs];
            Fir::new(&taps, decimation).with_level(level).filter(&before, &samples, &mut out);
            let expected = defined(&taps, decimation, &before, &samples);
            assert!(out.iter().zip(expected).all(|(out, expected)| (out - expected).abs() < tolerance), "{name}, real");

            let (before, samples) = (complex_noise(history, 4), complex_noise(outputs * decimation, 5));
            let mut out = vec![Complex32::ONE; outputs];
            Fir::new(&taps, decimation).with_level(level).filter(&before, &samples, &mut out);
            let expected = defined(&taps, decimation, &before, &samples);
            assert!(
                out.iter().zip(expected).all(|(out, expected)| (out - expected).norm() < tolerance),
                "{name}, complex"
            );
        }
    }

    #[test]
    fn outputs_are_those_of_the_definition() {
        for (taps, decimation, outputs, more_history) in [
            (0, 1, 5, 0),
            (1, 1, 1, 0),
            (80, 2, 1000, 3),
            (555, 3, 2600, 0),
            (925, 4, 2048, 100),
            (7, 100, 70, 0),
            (20_000, 2, 70, 0),
        ] {
            check(taps, decimation, outputs, more_history);
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(60))]

        #[test]
        fn any_shape_is_filtered_as_defined(
            taps in 0_usize..300, decimation in 1_usize..12, outputs in 0_usize..600, more_history in 0_usize..9
        ) {
            check(taps, decimation, outputs, more_history);
        }

        #[test]
        fn frames_with_their_history_make_the_same_stream(
            taps in 1_usize..200, decimation in 1_usize..8, frame in 1_usize..300
        ) {
            let taps = noise(taps, 6);
            let mut whole = Fir::new(&taps, decimation);
            let samples = complex_noise(whole.history() + 4 * frame * decimation, 7);
            let (before, stream) = samples.split_at(whole.history());
            let mut expected = vec![Complex32::ZERO; 4 * frame];
            whole.filter(before, stream, &mut expected);
            for (number, expected) in expected.chunks(frame).enumerate() {
                let first = number * frame * decimation;
                let (before, rest) = samples[first..].split_at(whole.history());
                let mut out = vec![Complex32::ZERO; frame];
                // A copy: nothing is remembered.
                whole.clone().filter(before, &rest[..frame * decimation], &mut out);
                prop_assert_eq!(&out, expected, "frame {}", number);
            }
        }
    }

    #[test]
    #[should_panic(expected = "decimates by 1 or more")]
    fn no_output_at_all_is_refused() {
        Fir::<f32>::new(&[1.0], 0);
    }
}

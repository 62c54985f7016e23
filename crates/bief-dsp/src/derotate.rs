//! Rotation by a carrier, and its removal: sample after sample, by the phase that the carrier has there.

use std::f64::consts::TAU;

use num_complex::{Complex32, Complex64};

use crate::planar::{LANES, Planar};
use crate::simd::{Level, Simd, dispatch};

/// Samples that share one start phase.
const BLOCK: usize = 2 * LANES;

/// Multiplies sample k by exp(-j (2π · `frequency` · k + `phase`)), in place.
///
/// `frequency` is in cycles per sample and may have any value, `phase` in radians. The phase is carried in
/// double precision, so that it stays exact to 1e-7 rad over slices of any length.
///
/// ```
/// use bief_dsp::{Complex32, derotate::derotate};
///
/// let carrier = |k: i32| Complex32::from_polar(1.0, 0.3 + 0.1 * k as f32);
/// let mut samples: Vec<Complex32> = (0..100).map(carrier).collect();
/// derotate(&mut samples, 0.1 / std::f64::consts::TAU, 0.3);
/// assert!(samples.iter().all(|sample| (sample - 1.0).norm() < 1e-5));
/// ```
pub fn derotate(samples: &mut [Complex32], frequency: f64, phase: f64) {
    multiply_by_phasor(samples, -frequency, Complex64::cis(-phase));
}

/// Multiplies sample k by `start` · exp(2πj · `frequency` · k), in place; |`start`| is a gain.
pub fn multiply_by_phasor(samples: &mut [Complex32], frequency: f64, start: Complex64) {
    multiply_with(Level::best(), samples, frequency, start);
}

fn multiply_with(level: Level, samples: &mut [Complex32], frequency: f64, start: Complex64) {
    Phasor::with_level(level, frequency, start).multiply(samples);
}

/// A carrier that goes on from one slice of samples to the next.
///
/// ```
/// use bief_dsp::{Complex32, derotate::Phasor};
///
/// let mut carrier = Phasor::new(0.25, num_complex::Complex64::ONE); // a quarter of a turn per sample
/// let mut samples = [Complex32::ONE; 4];
/// carrier.multiply(&mut samples[..3]);
/// carrier.multiply(&mut samples[3..]);
/// assert!((samples[3] + Complex32::I).norm() < 1e-6);
/// ```
#[derive(Clone, Debug)]
pub struct Phasor {
    level: Level,
    /// What it turns by from the first sample of a block to each, and to the next block.
    block: [Complex32; BLOCK],
    advance: Complex64,
    /// At the next sample; its modulus is a gain.
    next: Complex64,
    frequency: f64,
}

impl Phasor {
    /// A frequency in cycles per sample, and its value at the first sample, whose modulus is a gain.
    pub fn new(frequency: f64, start: Complex64) -> Phasor {
        Phasor::with_level(Level::best(), frequency, start)
    }

    fn with_level(level: Level, frequency: f64, start: Complex64) -> Phasor {
        let mut power = Complex64::cis(TAU * frequency.fract());
        let (mut re, mut im) = ([1.0; BLOCK], [0.0; BLOCK]);
        dispatch!(level => powers(&mut power, &mut re, &mut im));
        let block = std::array::from_fn(|k| Complex32::new(re[k] as f32, im[k] as f32));
        Phasor { level, block, advance: power, next: start, frequency }
    }

    /// The same carrier from here on at another frequency, in cycles per sample.
    pub fn at_frequency(&self, frequency: f64) -> Phasor {
        Phasor::with_level(self.level, frequency, self.next)
    }

    /// Multiplies the next samples, in place.
    pub fn multiply(&mut self, samples: &mut [Complex32]) {
        let level = self.level;
        dispatch!(level, simd => self.multiply_kernel(simd, samples));
        let rest = samples.len() % BLOCK;
        if rest > 0 {
            self.next *= Complex64::cis(TAU * (self.frequency * rest as f64).fract());
        }
    }

    #[inline(always)]
    fn multiply_kernel<S: Simd>(&mut self, simd: S, samples: &mut [Complex32]) {
        let [even, odd] = self.block.as_chunks::<LANES>().0 else { return };
        let (even, odd) = (Planar::load(simd, even), Planar::load(simd, odd));
        let mut anchor = self.next;
        let (blocks, rest) = samples.as_chunks_mut::<BLOCK>();
        for block in blocks {
            let [first, second] = block.as_chunks_mut::<LANES>().0 else { return };
            let turn = Planar::splat(simd, Complex32::new(anchor.re as f32, anchor.im as f32));
            Planar::load(simd, first).times(even.times(turn)).store(first);
            Planar::load(simd, second).times(odd.times(turn)).store(second);
            // A product per block: after 10⁶ blocks its rounding errors are still below 1e-9.
            anchor *= self.advance;
        }
        self.next = anchor;
        let turn = Planar::splat(simd, Complex32::new(anchor.re as f32, anchor.im as f32));
        let (first, second) = rest.split_at_mut(rest.len().min(LANES));
        Planar::load_some(simd, first).times(even.times(turn)).store_some(first);
        Planar::load_some(simd, second).times(odd.times(turn)).store_some(second);
    }
}

/// Fills in the powers 0 to [`BLOCK`] - 1, real and imaginary parts, and leaves power [`BLOCK`]. The first ones are 1.
#[inline(always)]
fn powers(power: &mut Complex64, re: &mut [f64; BLOCK], im: &mut [f64; BLOCK]) {
    // By doubling: five roundings at most lie between the first power and any other.
    let mut known = 1;
    while known < BLOCK {
        let (a, b) = (power.re, power.im);
        let (known_re, new_re) = re.split_at_mut(known);
        let (known_im, new_im) = im.split_at_mut(known);
        for k in 0..known {
            new_re[k] = known_re[k] * a - known_im[k] * b;
            new_im[k] = known_re[k] * b + known_im[k] * a;
        }
        *power *= *power;
        known *= 2;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_level_follows_the_exact_phase() {
        let start = Complex64::from_polar(1.5, 2.0);
        for level in Level::all() {
            for frequency in [0.0, 0.0123, -0.4999, 0.25, 1.1, -3e-7] {
                for length in [0, 1, 63, 64, 65, 1_000, 100_003] {
                    let mut samples = vec![Complex32::new(0.6, -0.8); length];
                    multiply_with(level, &mut samples, frequency, start);
                    for (k, sample) in samples.iter().enumerate() {
                        let turns = (frequency * k as f64).fract();
                        let exact = start * Complex64::cis(TAU * turns) * Complex64::new(0.6, -0.8);
                        let error = Complex64::new(sample.re.into(), sample.im.into()) - exact;
                        assert!(error.norm() < 1e-6, "{level} {frequency} {k}: {error}");
                    }
                }
            }
        }
    }

    #[test]
    fn a_phasor_goes_on_where_it_was() {
        let samples: Vec<Complex32> = (0..2_000).map(|k| Complex32::new(k as f32, 1.0)).collect();
        let start = Complex64::from_polar(1.5, 2.0);
        let mut whole = samples.clone();
        multiply_by_phasor(&mut whole, 0.0123, start);
        let mut parts = samples;
        let (mut phasor, mut random) = (Phasor::new(0.0123, start), fastrand::Rng::with_seed(3));
        let mut rest = &mut parts[..];
        while !rest.is_empty() {
            let (part, after) = rest.split_at_mut(random.usize(0..100).min(rest.len()));
            phasor.multiply(part);
            rest = after;
        }
        assert!(parts.iter().zip(&whole).all(|(part, whole)| (part - whole).norm() < 1e-6 * (1.0 + whole.norm())));
    }

    #[test]
    fn what_was_turned_is_turned_back() {
        let original: Vec<Complex32> = (0..500).map(|k| Complex32::new(k as f32, 1.0)).collect();
        let mut samples = original.clone();
        multiply_by_phasor(&mut samples, 0.013, Complex64::cis(0.7));
        derotate(&mut samples, 0.013, 0.7);
        for (sample, original) in samples.iter().zip(&original) {
            assert!((sample - original).norm() < 1e-6 * (1.0 + original.norm()));
        }
    }
}

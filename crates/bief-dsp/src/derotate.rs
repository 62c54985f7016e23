//! Rotation by a carrier, and its removal: sample after sample, by the phase that the carrier has there.

use std::array;
use std::f64::consts::TAU;

use num_complex::{Complex32, Complex64};

use crate::simd::{Level, dispatch};

/// Samples that share one start phase. A multiple of every vector length.
const BLOCK: usize = 32;

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
    let phasor = Phasor::new(frequency);
    dispatch!(level => phasor.multiply(samples, start));
}

/// A constant frequency: its phasors over one block of samples, and over the whole block.
struct Phasor {
    re: [f32; BLOCK],
    im: [f32; BLOCK],
    block: Complex64,
}

impl Phasor {
    fn new(frequency: f64) -> Phasor {
        let mut phasors = [Complex64::ONE; BLOCK + 1];
        phasors[1] = Complex64::cis(TAU * frequency.fract());
        for k in 2..=BLOCK {
            // By halves: five roundings at most lie between the first phasor and any other.
            phasors[k] = phasors[k / 2] * phasors[k - k / 2];
        }
        Phasor {
            re: array::from_fn(|k| phasors[k].re as f32),
            im: array::from_fn(|k| phasors[k].im as f32),
            block: phasors[BLOCK],
        }
    }

    #[inline(always)]
    fn multiply(&self, samples: &mut [Complex32], start: Complex64) {
        // A product per block: after 10⁶ blocks its rounding errors are still below 1e-9.
        let mut anchor = start;
        let (blocks, rest) = samples.as_chunks_mut::<BLOCK>();
        for block in blocks {
            self.multiply_block(block, anchor);
            anchor *= self.block;
        }
        self.multiply_block(rest, anchor);
    }

    #[inline(always)]
    fn multiply_block(&self, samples: &mut [Complex32], anchor: Complex64) {
        let (a, b) = (anchor.re as f32, anchor.im as f32);
        for ((sample, re), im) in samples.iter_mut().zip(&self.re).zip(&self.im) {
            let (re, im) = (a * re - b * im, a * im + b * re);
            *sample = Complex32::new(sample.re * re - sample.im * im, sample.re * im + sample.im * re);
        }
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

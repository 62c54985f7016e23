//! The power of samples by frequency, to be looked at.

use std::f64::consts::TAU;

use num_complex::Complex32;
use rustfft::Fft;

use crate::fft::{FftDirection, transform};

/// Below this a bin counts as empty, in dB: 0 has no logarithm.
const FLOOR_DB: f32 = -200.0;

/// The mean power of windows of samples in equally wide bins, with a Hann window (Welch's method without overlap).
///
/// A tone of amplitude 1 in the middle of a bin is 0 dB there. Bin 0 is the lowest frequency, −½ cycle per sample, and the middle one
/// 0.
///
/// ```
/// use bief_dsp::spectrum::Spectrum;
/// use num_complex::Complex32;
/// // An eighth of a cycle per sample.
/// let tone: Vec<Complex32> = (0..256).map(|k| Complex32::cis(std::f32::consts::TAU * k as f32 / 8.0)).collect();
/// let decibels = Spectrum::new(64).of(&tone);
/// assert!(decibels[32 + 8].abs() < 1e-3 && decibels[32] < -80.0);
/// ```
pub struct Spectrum {
    window: Box<[f32]>,
    transform: std::sync::Arc<dyn Fft<f32>>,
}

impl Spectrum {
    /// Of so many bins: a power of two.
    ///
    /// # Panics
    /// Bins that are none.
    pub fn new(bins: usize) -> Self {
        assert!(bins.is_power_of_two(), "{bins} bins are no power of two");
        // The window's mean is ½: so a tone is as high as its amplitude.
        let hann = |k: usize| ((1.0 - (TAU * k as f64 / bins as f64).cos()) / bins as f64) as f32;
        Self { window: (0..bins).map(hann).collect(), transform: transform(bins, FftDirection::Forward) }
    }

    /// The mean power of whole windows of `samples`, one after the other, in dB; samples that fill no window, and windows that
    /// hold something that is not finite, are left out. Without a window all bins are −200 dB.
    pub fn of(&self, samples: &[Complex32]) -> Vec<f32> {
        let bins = self.window.len();
        let (mut power, mut windows) = (vec![0.0_f64; bins], 0_u32);
        let mut work = vec![Complex32::ZERO; bins];
        let mut scratch = vec![Complex32::ZERO; self.transform.get_inplace_scratch_len()];
        for chunk in samples.chunks_exact(bins).filter(|chunk| chunk.iter().all(|sample| sample.is_finite())) {
            work.iter_mut().zip(chunk.iter().zip(&self.window)).for_each(|(to, (sample, gain))| *to = sample * gain);
            self.transform.process_with_scratch(&mut work, &mut scratch);
            // The lower half of a transform are the frequencies from 0.
            let shifted = work[bins / 2..].iter().chain(&work[..bins / 2]);
            power.iter_mut().zip(shifted).for_each(|(sum, bin)| *sum += f64::from(bin.norm_sqr()));
            windows += 1;
        }
        let mean = |sum: f64| (10.0 * (sum / f64::from(windows.max(1))).log10()) as f32;
        power.into_iter().map(|sum| mean(sum).max(FLOOR_DB)).collect()
    }
}

impl std::fmt::Debug for Spectrum {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Spectrum of {} bins", self.window.len())
    }
}

#[cfg(test)]
mod tests {
    use num_complex::Complex64;

    use super::*;

    #[test]
    fn it_is_the_sum_that_defines_it() {
        let mut random = fastrand::Rng::with_seed(5);
        for bins in [1, 2, 16, 64] {
            let samples: Vec<Complex32> =
                (0..3 * bins).map(|_| Complex32::new(random.f32() - 0.5, random.f32() + 1.0)).collect();
            let power = |bin: usize, chunk: &[Complex32]| {
                let term = |(k, sample): (usize, &Complex32)| {
                    let hann = 1.0 - (TAU * k as f64 / bins as f64).cos();
                    let frequency = bin as f64 / bins as f64 - if bins > 1 { 0.5 } else { 0.0 };
                    let turn = Complex64::cis(-TAU * frequency * k as f64);
                    turn * hann * Complex64::new(sample.re.into(), sample.im.into()) / bins as f64
                };
                chunk.iter().enumerate().map(term).sum::<Complex64>().norm_sqr()
            };
            for (bin, decibels) in Spectrum::new(bins).of(&samples).into_iter().enumerate() {
                let mean = samples.chunks(bins).map(|chunk| power(bin, chunk)).sum::<f64>() / 3.0;
                let expected = (10.0 * mean.log10()).max(f64::from(FLOOR_DB));
                assert!((f64::from(decibels) - expected).abs() < 1e-3, "{bin} of {bins}: {decibels} for {expected}");
            }
        }
    }

    #[test]
    fn what_is_no_number_spoils_its_window_alone() {
        let mut samples = vec![Complex32::ONE; 64];
        samples[40].re = f32::NAN;
        samples[63].im = f32::INFINITY;
        let decibels = Spectrum::new(32).of(&samples);
        assert!(decibels[16].abs() < 1e-3, "{decibels:?}");
        assert_eq!(Spectrum::new(128).of(&samples), vec![FLOOR_DB; 128]);
        assert_eq!(Spectrum::new(4).of(&[Complex32::ZERO; 4]), [FLOOR_DB; 4]);
    }
}

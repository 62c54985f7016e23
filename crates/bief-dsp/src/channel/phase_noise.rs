//! Phase noise of oscillators, given by its spectral density.

use num_complex::Complex32;

use super::gaussian::Gaussian;
use crate::fft::{FftDirection, transform};

/// Phase noise of a spectral density that a mask gives: straight lines between points, over the logarithm of the offset from the
/// carrier; beyond its ends it is as at its ends.
///
/// Noise is made up to half the sample rate. A block of samples gets noise that repeats after a power of two of samples, no fewer
/// than there are; it has none slower than that.
///
/// ```
/// use bief_dsp::channel::PhaseNoise;
///
/// let noise = PhaseNoise { mask: PhaseNoise::DVB_S2, shift_db: -3.0, sample_rate: 2e6 };
/// assert_eq!(noise.dbc_per_hz(1e3), -53.0);
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PhaseNoise {
    /// Offsets from the carrier in Hz, rising, above 0, and the density there in dBc/Hz, of one side.
    pub mask: &'static [(f64, f64)],
    /// What is added to the densities of the mask, in dB.
    pub shift_db: f64,
    /// Samples per second.
    pub sample_rate: f64,
}

impl PhaseNoise {
    /// The mask that a DVB-S2 receiver is expected to tolerate, as makers of professional receivers quote it.
    pub const DVB_S2: &'static [(f64, f64)] =
        &[(1e2, -25.0), (1e3, -50.0), (1e4, -73.0), (1e5, -93.0), (1e6, -103.0), (1e7, -114.0)];

    /// The density in dBc/Hz at that offset from the carrier, in Hz, above 0.
    ///
    /// # Panics
    /// When the mask has no points.
    pub fn dbc_per_hz(&self, offset: f64) -> f64 {
        let above = self.mask.iter().position(|point| point.0 > offset);
        let density = match above {
            Some(0) => self.mask[0].1,
            Some(above) => {
                let ((f0, d0), (f1, d1)) = (self.mask[above - 1], self.mask[above]);
                d0 + (d1 - d0) * (offset / f0).ln() / (f1 / f0).ln()
            }
            None => self.mask[self.mask.len() - 1].1,
        };
        density + self.shift_db
    }

    /// The phase of so many consecutive samples, in radians.
    pub(super) fn phases(&self, count: usize, seed: u64) -> Vec<f32> {
        let length = count.next_power_of_two().max(2);
        let resolution = self.sample_rate / length as f64;
        let mut gaussian = Gaussian::with_seed(seed);
        let mut spectrum = vec![Complex32::ZERO; length];
        // The density of one side is the density of the phase over both; the real part keeps half of what real and imaginary
        // parts of the spectrum bring. No constant phase: that is no noise.
        for k in 1..=length / 2 {
            let deviation = (10_f64.powf(0.1 * self.dbc_per_hz(k as f64 * resolution)) * resolution).sqrt();
            let mut draw =
                || Complex32::new((gaussian.next() * deviation) as f32, (gaussian.next() * deviation) as f32);
            (spectrum[k], spectrum[length - k]) = (draw(), draw());
        }
        transform(length, FftDirection::Inverse).process(&mut spectrum);
        spectrum.truncate(count);
        spectrum.into_iter().map(|value| value.re).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::f64::consts::TAU;

    use num_complex::Complex64;

    use super::*;

    #[test]
    fn the_mask_is_met_at_its_points_and_kept_beyond_its_ends() {
        let noise = PhaseNoise { mask: PhaseNoise::DVB_S2, shift_db: 0.0, sample_rate: 2e6 };
        for &(offset, density) in PhaseNoise::DVB_S2 {
            assert!((noise.dbc_per_hz(offset) - density).abs() < 1e-9);
        }
        assert_eq!([1.0, 1e9].map(|offset| noise.dbc_per_hz(offset)), [-25.0, -114.0]);
        assert!((noise.dbc_per_hz(10_f64.powf(3.5)) - -61.5).abs() < 1e-9);
    }

    /// Power of the phase per Hz around `frequency`, of both sides together, from segments under a window.
    fn density(phases: &[f32], rate: f64, frequency: f64) -> f64 {
        // A segment holds 32 periods, so that the window lets through about a sixteenth of the frequency.
        let segment = (32.0 * rate / frequency) as usize;
        let window = |n: usize| (0.5 * TAU * n as f64 / segment as f64).sin().powi(4);
        let turn = Complex64::cis(-TAU * frequency / rate);
        let energy: f64 = (0..segment).map(|n| window(n).powi(2)).sum();
        let powers = phases.chunks_exact(segment).map(|phases| {
            let mut phasor = Complex64::ONE;
            let mut sum = Complex64::ZERO;
            for (n, phase) in phases.iter().enumerate() {
                sum += phasor * (f64::from(*phase) * window(n));
                phasor *= turn;
            }
            sum.norm_sqr()
        });
        let powers: Vec<f64> = powers.collect();
        powers.iter().sum::<f64>() / powers.len() as f64 / energy / rate
    }

    #[test]
    fn the_measured_density_follows_the_mask() {
        for (rate, offsets) in [(20e3, &[100.0, 250.0, 1e3, 3e3][..]), (4e6, &[3e4, 1e5, 3e5, 1e6][..])] {
            let noise = PhaseNoise { mask: PhaseNoise::DVB_S2, shift_db: 2.0, sample_rate: rate };
            let phases = noise.phases(1 << 20, 7);
            for &offset in offsets {
                let measured = 10.0 * density(&phases, rate, offset).log10();
                let expected = noise.dbc_per_hz(offset);
                assert!((measured - expected).abs() < 1.0, "at {offset} Hz: {measured} dBc/Hz, not {expected}");
            }
        }
    }
}

//! What headers tell of a signal that is not what it was, though they are good: its carrier has jumped, or the constant added to it.

use std::f64::consts::TAU;

use num_complex::Complex64;

use super::HEADER;
use super::layout::HEADER_SPREAD;

/// A sum of frequencies left in headers, in standard deviations, each less by an allowance, from which the carrier has jumped:
/// noise alone reaches it in 10⁹ headers. A smaller difference is followed.
const JUMPED: f64 = 6.5;
const ALLOWANCE: f64 = 1.5;
/// Share of a new header in the variance of these frequencies, and how many times the variance its square counts at most.
const VARIANCE_SHARE: f64 = 1.0 / 64.0;
const MOST_COUNTED: f64 = 4.0;
/// Their standard deviation in cycles per symbol, at first, and the least: a carrier that moves by less costs no frame.
const FIRST_DEVIATION: f64 = 1.5e-4;
const LEAST_DEVIATION: f64 = 1e-4;

/// Smoothed difference of the constant from the one before, squared, in variances of one header, from which the constant has
/// jumped: of noise, a third is the mean, and it reaches this in 10¹⁰ headers.
const CONSTANT_JUMPED: f64 = 8.0;
/// Share of a new header in this difference, and headers over which the constant before is averaged.
const SHARE: f64 = 0.5;
const AVERAGED: f64 = 64.0;
/// Least standard deviation of the constant of a header, in amplitudes of the signal: one that jumps by less costs no frame.
const LEAST_CONSTANT: f64 = 0.012;

/// Whether the carrier is where it is expected, by the frequencies left in headers.
///
/// E. S. Page, "Continuous inspection schemes", Biometrika 41 (1954): cumulative sums, to either side.
#[derive(Clone, Copy, Debug)]
pub(super) struct CarrierJumps {
    /// Sums of what is left, upwards and downwards.
    sums: [f64; 2],
    /// Variance of what is left, as headers showed it: phase noise adds to what noise makes of it.
    variance: f64,
}

impl Default for CarrierJumps {
    fn default() -> CarrierJumps {
        CarrierJumps { sums: [0.0; 2], variance: FIRST_DEVIATION * FIRST_DEVIATION }
    }
}

impl CarrierJumps {
    /// Notes the frequency left in a header, in cycles per symbol, where headers have this quality: whether the carrier has jumped.
    pub(super) fn shown_by(&mut self, residual: f64, quality: f32) -> bool {
        let cramer_rao = 0.5 * noise(quality) / (HEADER as f64 * HEADER_SPREAD * TAU * TAU);
        let variance = self.variance.max(cramer_rao).max(LEAST_DEVIATION * LEAST_DEVIATION);
        self.variance = variance + VARIANCE_SHARE * ((residual * residual).min(MOST_COUNTED * variance) - variance);
        let deviations = residual / variance.sqrt();
        for (sum, deviations) in self.sums.iter_mut().zip([deviations, -deviations]) {
            *sum = (*sum + deviations - ALLOWANCE).max(0.0);
        }
        self.sums.iter().any(|sum| *sum > JUMPED)
    }
}

/// Whether the constant added to the samples is the one that it was.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ConstantJumps {
    /// Mean over so many headers.
    mean: Complex64,
    headers: f64,
    /// Smoothed difference from it, in standard deviations of a header.
    difference: Complex64,
}

impl ConstantJumps {
    /// Notes the constant of a header, in amplitudes of the signal, where headers have this quality: whether it has jumped.
    pub(super) fn shown_by(&mut self, constant: Complex64, quality: f32) -> bool {
        let deviation = (noise(quality) / HEADER as f64).sqrt().max(LEAST_CONSTANT);
        if self.headers > 0.0 {
            self.difference += SHARE * ((constant - self.mean) / deviation - self.difference);
        }
        self.headers = (self.headers + 1.0).min(AVERAGED);
        self.mean += (constant - self.mean) / self.headers;
        self.difference.norm_sqr() > CONSTANT_JUMPED
    }
}

/// Noise of a symbol sent with energy 1, where headers have this quality.
fn noise(quality: f32) -> f64 {
    1.0 / f64::from(quality).clamp(0.01, 1.0) - 1.0
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Nearly Gaussian, of variance 1.
    fn gaussian(random: &mut fastrand::Rng) -> f64 {
        (0..12).map(|_| random.f64() - 0.5).sum()
    }

    #[test]
    fn noise_shows_no_jump_and_a_jump_is_shown_soon() {
        let mut random = fastrand::Rng::with_seed(1);
        for quality in [0.4, 0.8, 0.95] {
            let noise = noise(quality);
            let frequency = (0.5 * noise / (HEADER as f64 * HEADER_SPREAD)).sqrt() / TAU;
            let constant = (0.5 * noise / HEADER as f64).sqrt();
            let (mut carrier, mut constants) = (CarrierJumps::default(), ConstantJumps::default());
            let mut show = |jump: f64| {
                let beside = Complex64::new(gaussian(&mut random), gaussian(&mut random) + 5.0 * jump) * constant;
                let residual = (gaussian(&mut random) + 4.0 * jump) * frequency.max(LEAST_DEVIATION);
                [carrier.shown_by(residual, quality), constants.shown_by(beside, quality)]
            };
            for _ in 0..100_000 {
                assert_eq!(show(0.0), [false; 2]);
            }
            let shown: Vec<[bool; 2]> = (0..8).map(|_| show(1.0)).collect();
            assert!(shown.iter().any(|shown| shown[0]) && shown.iter().any(|shown| shown[1]), "{quality}: {shown:?}");
        }
    }

    #[test]
    fn phase_noise_is_learned() {
        let mut random = fastrand::Rng::with_seed(2);
        let mut carrier = CarrierJumps::default();
        // It grows to three times the deviation at first.
        let jumps = (0..20_000).filter(|index| {
            let deviation = LEAST_DEVIATION * (1.0 + 3.5 * f64::from((*index).min(2_000)) / 2_000.0);
            carrier.shown_by(gaussian(&mut random) * deviation, 0.99)
        });
        assert_eq!(jumps.count(), 0);
    }
}

//! The frequency of a signal, from sample to sample: demodulation of FM.

use std::f32::consts::{FRAC_PI_2, PI};

use num_complex::Complex32;

use crate::simd::{Level, dispatch};

/// Sets `out[k]` to `gain` · arg(x\[k\] · x\*\[k − 1\]), where x is `samples`, and before them `previous`.
///
/// With a gain of 1 that is the frequency in radians per sample, from −π to π, whatever the amplitude; the angle is right to
/// 5e-7 rad. Samples of amplitude 0, or not finite, have frequency 0.
///
/// ```
/// use bief_dsp::{Complex32, discriminator::discriminate};
///
/// let samples: Vec<Complex32> = (1..50).map(|k| Complex32::from_polar(0.1, 0.25 * k as f32)).collect();
/// let mut frequency = [0.0; 49];
/// discriminate(Complex32::ONE, &samples, 4.0, &mut frequency);
/// assert!(frequency.iter().all(|f| (f - 1.0).abs() < 1e-5));
/// ```
///
/// # Panics
/// When `out` is not as long as `samples`.
pub fn discriminate(previous: Complex32, samples: &[Complex32], gain: f32, out: &mut [f32]) {
    discriminate_with(Level::best(), previous, samples, gain, out);
}

fn discriminate_with(level: Level, previous: Complex32, samples: &[Complex32], gain: f32, out: &mut [f32]) {
    assert_eq!(samples.len(), out.len(), "one frequency for each sample");
    if let (Some(sample), Some((first, rest))) = (samples.first(), out.split_first_mut()) {
        *first = gain * angle_between(previous, *sample);
        dispatch!(level => angles(samples, gain, rest));
    }
}

#[inline(always)]
fn angles(samples: &[Complex32], gain: f32, out: &mut [f32]) {
    for ((before, sample), out) in samples.iter().zip(&samples[1..]).zip(out) {
        *out = gain * angle_between(*before, *sample);
    }
}

#[inline(always)]
fn angle_between(before: Complex32, sample: Complex32) -> f32 {
    let re = sample.re * before.re + sample.im * before.im;
    let im = sample.im * before.re - sample.re * before.im;
    angle(im, re)
}

/// Four-quadrant arc tangent without branches.
#[inline(always)]
fn angle(y: f32, x: f32) -> f32 {
    /// Coefficients of atan(t) / t in t², which interpolate it at the Chebyshev nodes of 0 to 1: right to 6.4e-8.
    const ATAN: [f32; 8] = [
        0.999_999_9,
        -0.333_318_13,
        0.199_669_62,
        -0.140_032_9,
        0.098_688_655,
        -0.058_829_755,
        0.023_780_518,
        -0.004_559_792,
    ];
    let (a, b) = (x.abs(), y.abs());
    let (low, high) = if a < b { (a, b) } else { (b, a) };
    let t = low / high;
    // 0 / 0 and NaN do not compare; what is divided by infinity does.
    let has_angle = t <= 1.0 && high < f32::INFINITY;
    let t = if has_angle { t } else { 0.0 };
    let u = t * t;
    let mut sum = ATAN[7];
    for coefficient in ATAN[..7].iter().rev() {
        sum = sum * u + coefficient;
    }
    let of_octant = sum * t;
    let of_quadrant = if a < b { FRAC_PI_2 - of_octant } else { of_octant };
    let of_half = if x < 0.0 { PI - of_quadrant } else { of_quadrant };
    if has_angle { of_half.copysign(y) } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::f64::consts::TAU;

    #[test]
    fn angles_are_right_in_every_direction_and_at_every_amplitude() {
        for amplitude in [1e-12, 0.3, 1e9] {
            for step in 0..40_000 {
                let exact = TAU * f64::from(step) / 40_000.0;
                let (y, x) = ((amplitude * exact.sin()) as f32, (amplitude * exact.cos()) as f32);
                let expected = f64::from(y).atan2(f64::from(x));
                let error = f64::from(angle(y, x)) - expected;
                assert!(error.abs() < 5e-7, "{amplitude}, {exact} rad: {error}");
            }
        }
    }

    #[test]
    fn every_level_follows_the_definition() {
        let mut random = fastrand::Rng::with_seed(1);
        let samples: Vec<Complex32> =
            (0..1003).map(|_| Complex32::new(random.f32() - 0.5, random.f32() - 0.5)).collect();
        for level in Level::all() {
            for length in [0, 1, 2, 17, 1002] {
                let mut out = vec![9.0; length];
                discriminate_with(level, samples[0], &samples[1..=length], 0.5, &mut out);
                for (k, out) in out.iter().enumerate() {
                    let expected = 0.5 * (samples[k + 1] * samples[k].conj()).arg();
                    assert!((out - expected).abs() < 1e-6, "{level}, sample {k} of {length}: {out}, not {expected}");
                }
            }
        }
    }

    #[test]
    fn what_has_no_angle_has_frequency_zero() {
        let parts = [0.0, 0.5, -0.5, 1e30, -1e30, f32::NAN, f32::INFINITY, f32::NEG_INFINITY];
        let all = || parts.into_iter().flat_map(|re| parts.map(|im| Complex32::new(re, im)));
        for (before, sample) in all().flat_map(|before| all().map(move |sample| (before, sample))) {
            let mut out = [9.0];
            discriminate(before, &[sample], 1.0, &mut out);
            assert!(out[0].abs() <= PI, "{before}, {sample}: {}", out[0]);
            if before.norm_sqr() == 0.0 || sample.norm_sqr() == 0.0 || !before.is_finite() || !sample.is_finite() {
                assert_eq!(out[0].abs(), 0.0, "{before}, {sample}");
            }
        }
    }
}

//! Fourier transforms of lengths that are powers of two.
//!
//! `rustfft` plans any length; the plans that nothing here uses were half of the code of this crate.

use std::sync::Arc;

use rustfft::Fft;
pub(crate) use rustfft::FftDirection;
use rustfft::algorithm::Radix4;

/// The transform of so many samples, a power of two.
pub(crate) fn transform(length: usize, direction: FftDirection) -> Arc<dyn Fft<f32>> {
    debug_assert!(length.is_power_of_two(), "{length}");
    fast(length, direction).unwrap_or_else(|| Arc::new(Radix4::new(length, direction)))
}

#[cfg(target_arch = "x86_64")]
fn fast(length: usize, direction: FftDirection) -> Option<Arc<dyn Fft<f32>>> {
    Some(rustfft::FftPlannerAvx::new().ok()?.plan_fft(length, direction))
}

#[cfg(target_arch = "aarch64")]
fn fast(length: usize, direction: FftDirection) -> Option<Arc<dyn Fft<f32>>> {
    Some(rustfft::FftPlannerNeon::new().ok()?.plan_fft(length, direction))
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn fast(_: usize, _: FftDirection) -> Option<Arc<dyn Fft<f32>>> {
    None
}

#[cfg(test)]
mod tests {
    use std::f64::consts::TAU;

    use num_complex::{Complex32, Complex64};

    use super::*;

    #[test]
    fn both_ways_give_the_sums_that_define_a_transform() {
        let mut random = fastrand::Rng::with_seed(7);
        for length in (0..=9).map(|exponent| 1 << exponent) {
            let samples: Vec<Complex32> =
                (0..length).map(|_| Complex32::new(random.f32() - 0.5, random.f32() - 0.5)).collect();
            for (direction, sign) in [(FftDirection::Forward, -1.0), (FftDirection::Inverse, 1.0)] {
                let portable: Arc<dyn Fft<f32>> = Arc::new(Radix4::new(length, direction));
                for transform in [transform(length, direction), portable] {
                    let mut bins = samples.clone();
                    transform.process(&mut bins);
                    for (k, bin) in bins.iter().enumerate() {
                        let term = |(n, sample): (usize, &Complex32)| {
                            let turn = sign * ((k * n) % length) as f64 / length as f64;
                            Complex64::from_polar(1.0, TAU * turn) * Complex64::new(sample.re.into(), sample.im.into())
                        };
                        let sum: Complex64 = samples.iter().enumerate().map(term).sum();
                        let error = (sum - Complex64::new(bin.re.into(), bin.im.into())).norm();
                        assert!(error < 1e-5 * (length as f64).sqrt(), "{length}, bin {k}: {bin} for {sum}");
                    }
                }
            }
        }
    }
}

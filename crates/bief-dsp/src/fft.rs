//! Discrete Fourier transform of powers of two, for what is done once and not for each frame.

use std::f64::consts::TAU;

use num_complex::{Complex32, Complex64};

/// Replaces x\[n\] by X\[k\] = Σ x\[n\] · exp(-2πj · n · k / N), in place; N is a power of two.
pub(crate) fn transform(values: &mut [Complex32]) {
    let count = values.len();
    assert!(count.is_power_of_two(), "a transform of {count} values");
    let bits = count.trailing_zeros();
    for index in 0..count {
        let mirrored = index.reverse_bits().checked_shr(usize::BITS - bits).unwrap_or(0);
        if index < mirrored {
            values.swap(index, mirrored);
        }
    }
    let phasors: Vec<Complex32> = (0..count / 2)
        .map(|k| Complex64::cis(-TAU * k as f64 / count as f64))
        .map(|phasor| Complex32::new(phasor.re as f32, phasor.im as f32))
        .collect();
    let mut half = 1;
    while half < count {
        let stride = count / (2 * half);
        for block in values.chunks_exact_mut(2 * half) {
            let (low, high) = block.split_at_mut(half);
            for ((a, b), phasor) in low.iter_mut().zip(high).zip(phasors.iter().step_by(stride)) {
                let turned = *b * phasor;
                (*a, *b) = (*a + turned, *a - turned);
            }
        }
        half *= 2;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transforms_are_those_of_the_definition() {
        let mut random = fastrand::Rng::with_seed(1);
        for count in [1usize, 2, 4, 32, 256] {
            let values: Vec<Complex32> =
                (0..count).map(|_| Complex32::new(random.f32() - 0.5, random.f32() - 0.5)).collect();
            let mut transformed = values.clone();
            transform(&mut transformed);
            for (k, found) in transformed.iter().enumerate() {
                let phasor = |n: usize| Complex32::cis((-TAU * (n * k % count) as f64 / count as f64) as f32);
                let expected: Complex32 = values.iter().enumerate().map(|(n, value)| value * phasor(n)).sum();
                assert!((found - expected).norm() < 1e-4, "{count}: {k}");
            }
        }
    }
}

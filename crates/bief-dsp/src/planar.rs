//! Complex numbers in vectors, real and imaginary parts apart, for kernels that the compiler does not vectorise well by itself.

use std::f32::consts::PI;

use num_complex::Complex32;

use crate::simd::{Simd, f32x16, prelude::*, u32x16};

/// Complex numbers in a [`Planar`].
pub(crate) const LANES: usize = 16;
/// π to the power n over n factorial, of sin: n = 1, 3, … 11, with its sign.
const SIN: [f32; 6] = [PI, -5.167_712_7, 2.550_164, -0.599_264_5, 0.082_145_885, -0.007_370_431];
/// The same of cos: n = 0, 2, … 12.
const COS: [f32; 7] = [1.0, -4.934_802, 4.058_712, -1.335_262_8, 0.235_330_63, -0.025_806_89, 0.001_929_574_3];
/// Of the powers 1, 3, … 13: the Chebyshev series of atan, in cycles, from -1 to 1.
const ATAN: [f32; 7] =
    [0.159_154_25, -0.053_024_065, 0.031_507_73, -0.021_001_931, 0.012_573_214, -0.005_268_864_3, 0.001_059_699_7];

/// Sixteen complex numbers.
#[derive(Clone, Copy)]
pub(crate) struct Planar<S: Simd> {
    pub(crate) re: f32x16<S>,
    pub(crate) im: f32x16<S>,
}

impl<S: Simd> Planar<S> {
    #[inline(always)]
    pub(crate) fn splat(simd: S, value: Complex32) -> Self {
        Self { re: f32x16::splat(simd, value.re), im: f32x16::splat(simd, value.im) }
    }

    #[inline(always)]
    pub(crate) fn load(simd: S, numbers: &[Complex32; LANES]) -> Self {
        let parts: &[f32; 2 * LANES] = bytemuck::cast_ref(numbers);
        let (low, high) = parts.split_at(LANES);
        let (re, im) = f32x16::from_slice(simd, low).deinterleave(f32x16::from_slice(simd, high));
        Self { re, im }
    }

    /// Loads as many as there are; the others are 0.
    #[inline(always)]
    pub(crate) fn load_some(simd: S, numbers: &[Complex32]) -> Self {
        let mut all = [Complex32::ZERO; LANES];
        all[..numbers.len()].copy_from_slice(numbers);
        Self::load(simd, &all)
    }

    #[inline(always)]
    pub(crate) fn store(self, numbers: &mut [Complex32; LANES]) {
        let (low, high) = self.re.interleave(self.im);
        let parts: &mut [f32; 2 * LANES] = bytemuck::cast_mut(numbers);
        low.store_slice(&mut parts[..LANES]);
        high.store_slice(&mut parts[LANES..]);
    }

    /// Stores as many as there are places.
    #[inline(always)]
    pub(crate) fn store_some(self, numbers: &mut [Complex32]) {
        let mut all = [Complex32::ZERO; LANES];
        self.store(&mut all);
        numbers.copy_from_slice(&all[..numbers.len()]);
    }

    /// exp(2πj · `cycles`), to about 2e-7. Not for more than 10⁶ cycles.
    #[inline(always)]
    pub(crate) fn cis(simd: S, cycles: f32x16<S>) -> Self {
        // Of half the angle, which is at most a quarter of a turn.
        let half = cycles - cycles.round_ties_even();
        let square = half * half;
        let (mut sin, mut cos) = (f32x16::splat(simd, SIN[5]), f32x16::splat(simd, COS[6]));
        for k in (0..5).rev() {
            sin = sin.mul_add(square, f32x16::splat(simd, SIN[k]));
        }
        for k in (0..6).rev() {
            cos = cos.mul_add(square, f32x16::splat(simd, COS[k]));
        }
        let (sin, one) = (sin * half, f32x16::splat(simd, 1.0));
        let twice = sin + sin;
        Self { re: (-twice).mul_add(sin, one), im: twice * cos }
    }

    /// The arguments, in cycles from -0.5 to 0.5, to about 1e-7; 0 of 0.
    #[inline(always)]
    pub(crate) fn cycles(self, simd: S) -> f32x16<S> {
        let (x, y) = (self.re.abs(), self.im.abs());
        let least = f32x16::splat(simd, f32::MIN_POSITIVE);
        let ratio = x.min(y) / x.max(y).max(least);
        let square = ratio * ratio;
        let mut atan = f32x16::splat(simd, ATAN[6]);
        for k in (0..6).rev() {
            atan = atan.mul_add(square, f32x16::splat(simd, ATAN[k]));
        }
        let octant = atan * ratio;
        let quadrant = y.simd_gt(x).select(f32x16::splat(simd, 0.25) - octant, octant);
        let zero = f32x16::splat(simd, 0.0);
        self.re.simd_lt(zero).select(f32x16::splat(simd, 0.5) - quadrant, quadrant).copysign(self.im)
    }

    #[inline(always)]
    pub(crate) fn norm_sqr(self) -> f32x16<S> {
        self.re.mul_add(self.re, self.im * self.im)
    }

    #[inline(always)]
    pub(crate) fn square(self) -> Self {
        Self { re: self.re.mul_add(self.re, -(self.im * self.im)), im: (self.re + self.re) * self.im }
    }

    #[inline(always)]
    pub(crate) fn scale(self, gain: f32x16<S>) -> Self {
        Self { re: self.re * gain, im: self.im * gain }
    }

    #[inline(always)]
    pub(crate) fn times(self, other: Self) -> Self {
        Self { re: self.re.mul_add(other.re, -(self.im * other.im)), im: self.re.mul_add(other.im, self.im * other.re) }
    }

    #[inline(always)]
    pub(crate) fn times_conj(self, other: Self) -> Self {
        Self { re: self.re.mul_add(other.re, self.im * other.im), im: self.im.mul_add(other.re, -(self.re * other.im)) }
    }

    /// self · `gain` + `other`.
    #[inline(always)]
    pub(crate) fn scale_add(self, gain: f32x16<S>, other: Self) -> Self {
        Self { re: self.re.mul_add(gain, other.re), im: self.im.mul_add(gain, other.im) }
    }

    #[inline(always)]
    pub(crate) fn plus(self, other: Self) -> Self {
        Self { re: self.re + other.re, im: self.im + other.im }
    }

    #[inline(always)]
    pub(crate) fn sum(self) -> Complex32 {
        Complex32::new(self.re.reduce_sum(), self.im.reduce_sum())
    }

    /// The sum of each: faster than one by one.
    #[inline(always)]
    pub(crate) fn sums(mut all: [Self; LANES]) -> Self {
        let added = |first: f32x16<S>, second: f32x16<S>| {
            let (even, odd) = first.deinterleave(second);
            even + odd
        };
        // Each step adds up neighbours: two vectors become one.
        for count in [8, 4, 2, 1] {
            for index in 0..count {
                let (first, second) = (all[2 * index], all[2 * index + 1]);
                all[index] = Self { re: added(first.re, second.re), im: added(first.im, second.im) };
            }
        }
        all[0]
    }
}

/// 1 / √x to 0.2 %, for x > 0.
#[inline(always)]
pub(crate) fn recip_sqrt<S: Simd>(simd: S, x: f32x16<S>) -> f32x16<S> {
    // Half the exponent, negated, and one step of Newton's method.
    let guess = f32x16::from_bits(u32x16::splat(simd, 0x5F37_5A86) - (x.to_bits() >> 1));
    let half = x * -0.5;
    guess * (half * guess).mul_add(guess, f32x16::splat(simd, 1.5))
}

#[cfg(test)]
mod tests {
    use std::f64::consts::TAU;

    use super::*;
    use crate::simd::{Level, dispatch};

    /// Numbers of all arguments and moduli.
    fn numbers() -> Vec<Complex32> {
        let mut random = fastrand::Rng::with_seed(1);
        (0..16 * 500)
            .map(|k| Complex32::from_polar(10f32.powf(random.f32() * 20.0 - 10.0), k as f32 / 500.0 - 8.0))
            .collect()
    }

    #[inline(always)]
    fn apply<S: Simd>(simd: S, numbers: &mut [Complex32], function: usize) {
        for numbers in numbers.as_chunks_mut::<LANES>().0 {
            let x = Planar::load(simd, numbers);
            let zero = f32x16::splat(simd, 0.0);
            let result = match function {
                0 => Planar::cis(simd, x.re),
                1 => Planar { re: x.cycles(simd), im: zero },
                2 => Planar { re: recip_sqrt(simd, x.norm_sqr()), im: zero },
                3 => x.square(),
                4 => x.times(x.square()),
                _ => x.times_conj(x.square()),
            };
            result.store(numbers);
        }
    }

    fn check(function: usize, input: &[Complex32], expected: impl Fn(Complex32) -> Complex32, error: f32) {
        for level in Level::all() {
            let mut output = input.to_vec();
            dispatch!(level, simd => apply(simd, &mut output, function));
            for (output, input) in output.iter().zip(input) {
                let expected = expected(*input);
                let bound = error * expected.norm().max(f32::MIN_POSITIVE);
                assert!((output - expected).norm() <= bound, "{level}: {output}, not {expected}, of {input}");
            }
        }
    }

    #[test]
    fn phasors_are_those_of_their_angles() {
        let cycles: Vec<Complex32> = (-8000..8000).map(|k| Complex32::from(k as f32 / 3000.0)).collect();
        let exact = |cycles: Complex32| num_complex::Complex64::cis(TAU * f64::from(cycles.re));
        let narrow = |x: num_complex::Complex64| Complex32::new(x.re as f32, x.im as f32);
        check(0, &cycles, |cycles| narrow(exact(cycles)), 1e-6);
    }

    #[test]
    fn arguments_are_those_of_the_library() {
        let exact = |x: Complex32| Complex32::from((f64::from(x.im).atan2(x.re.into()) / TAU) as f32);
        let numbers: Vec<Complex32> = numbers().into_iter().filter(|x| exact(*x).re.abs() > 1e-3).collect();
        check(1, &numbers[..numbers.len() / LANES * LANES], exact, 1e-4);
        let signs = [(1.0, 0.0), (0.0, 1.0), (-1.0, 0.0), (0.0, -1.0), (0.0, 0.0)];
        let axes = [0, 1, 2, 3, 4, 0, 1, 2, 3, 4, 0, 1, 2, 3, 4, 0].map(|k| Complex32::new(signs[k].0, signs[k].1));
        check(1, &axes, exact, 1e-6);
    }

    #[test]
    fn products_are_those_of_the_library() {
        let numbers: Vec<Complex32> = numbers().into_iter().map(|x| x / x.norm() * (1.0 + x.norm().min(1.0))).collect();
        check(2, &numbers, |x| Complex32::from(x.norm().recip()), 2e-3);
        check(3, &numbers, |x| x * x, 1e-6);
        check(4, &numbers, |x| x * x * x, 1e-6);
        check(5, &numbers, |x| x * (x * x).conj(), 1e-6);
    }
}

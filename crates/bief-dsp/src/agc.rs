//! Automatic gain control, forward: each block is measured, and then scaled.

use num_complex::Complex32;

use crate::simd::{Level, dispatch};

/// Brings blocks of samples to a wanted level (root mean square).
///
/// The gain of a block follows from the block itself. It is reached on a straight line from the gain of the block before, so that
/// no step is heard where blocks meet; the first block begins with its own. A block without signal keeps the gain before it.
///
/// ```
/// use bief_dsp::{Complex32, agc::Agc};
///
/// let mut agc = Agc::new(0.5, 1000.0);
/// let mut block = [Complex32::new(0.0, 0.01); 64];
/// let level = agc.control(&mut block);
/// assert!((level - 0.01).abs() < 1e-6 && (block[63].im - 0.5).abs() < 1e-5);
/// ```
#[derive(Clone, Debug)]
pub struct Agc {
    simd: Level,
    target: f32,
    most: f32,
    /// The gain at the end of the block before.
    gain: Option<f32>,
}

impl Agc {
    /// Controls to the level `target` by gains of `most` or less.
    pub fn new(target: f32, most: f32) -> Self {
        Self { simd: Level::best(), target, most, gain: None }
    }

    /// Scales a block; the level that it had.
    pub fn control(&mut self, block: &mut [Complex32]) -> f32 {
        let simd = self.simd;
        let power = dispatch!(simd => power(block));
        let level = (power / block.len().max(1) as f64).sqrt() as f32;
        let wanted = if level > 0.0 && level.is_finite() { Some((self.target / level).min(self.most)) } else { None };
        let to = wanted.or(self.gain).unwrap_or(1.0);
        let from = self.gain.unwrap_or(to);
        dispatch!(simd => scale(block, from, to));
        self.gain = wanted.or(self.gain);
        level
    }
}

/// Sum of |x|².
#[inline(always)]
fn power(samples: &[Complex32]) -> f64 {
    let mut power = 0.0;
    for block in samples.chunks(256) {
        let mut sums = [0.0_f32; 16];
        for part in block.chunks(16) {
            for (sum, sample) in sums.iter_mut().zip(part) {
                *sum += sample.re * sample.re + sample.im * sample.im;
            }
        }
        power += f64::from(sums.iter().sum::<f32>());
    }
    power
}

/// Scales sample k of n by the gain at (k + 1) / n of the way.
#[inline(always)]
fn scale(samples: &mut [Complex32], from: f32, to: f32) {
    let step = (to - from) / samples.len().max(1) as f32;
    for (k, sample) in (1_u32..).zip(samples) {
        let gain = from + step * k as f32;
        sample.re *= gain;
        sample.im *= gain;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn noise(count: usize, amplitude: f32) -> Vec<Complex32> {
        let mut random = fastrand::Rng::with_seed(1);
        (0..count).map(|_| Complex32::new(random.f32() - 0.5, random.f32() - 0.5) * amplitude).collect()
    }

    fn rms(samples: &[Complex32]) -> f64 {
        (samples.iter().map(|z| f64::from(z.re).powi(2) + f64::from(z.im).powi(2)).sum::<f64>() / samples.len() as f64)
            .sqrt()
    }

    #[test]
    fn levels_are_those_of_the_definition_and_become_the_target() {
        for simd in Level::all() {
            for count in [1, 15, 16, 1000] {
                for amplitude in [1e-9, 0.2, 1e6] {
                    let mut block = noise(count, amplitude);
                    let exact = rms(&block);
                    let level = Agc { simd, ..Agc::new(0.5, 1e12) }.control(&mut block);
                    assert!(
                        (f64::from(level) / exact - 1.0).abs() < 1e-5,
                        "{simd}, {count} samples: {level}, not {exact}"
                    );
                    assert!((rms(&block) - 0.5).abs() < 1e-4, "{simd}, {count} samples become {}", rms(&block));
                }
            }
        }
    }

    #[test]
    fn the_gain_goes_straight_from_block_to_block() {
        let mut agc = Agc::new(1.0, 100.0);
        agc.control(&mut [Complex32::ONE; 10]);
        let mut louder = [Complex32::new(0.0, 4.0); 100];
        assert_eq!(agc.control(&mut louder), 4.0);
        for (k, sample) in louder.iter().enumerate() {
            let gain = 1.0 - 0.75 * (k + 1) as f32 / 100.0;
            assert!((sample.im - 4.0 * gain).abs() < 1e-5, "sample {k}: {sample}");
        }
    }

    #[test]
    fn silence_keeps_the_gain_and_weak_blocks_get_the_most() {
        let mut agc = Agc::new(1.0, 100.0);
        let mut silence = [Complex32::ZERO; 8];
        assert_eq!(agc.control(&mut silence), 0.0);
        let mut weak = [Complex32::new(1e-6, 0.0); 8];
        agc.control(&mut weak);
        assert!((weak[7].re - 1e-4).abs() < 1e-9, "{}", weak[7]);
        agc.control(&mut silence);
        let mut broken = [Complex32::new(f32::NAN, 0.0)];
        agc.control(&mut broken);
        let mut weak = [Complex32::new(1e-6, 0.0); 8];
        agc.control(&mut weak);
        assert!((weak[0].re - 1e-4).abs() < 1e-9, "{}", weak[0]);
    }
}

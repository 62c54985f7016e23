//! A channel between transmitter and receiver: clock error, delay, carrier offset and phase noise, noise, the faults of a mixer.

mod gaussian;
mod phase_noise;

use std::f64::consts::PI;
use std::sync::LazyLock;

use num_complex::{Complex32, Complex64};

use crate::derotate::multiply_by_phasor;
use crate::simd::{Level, dispatch};
use gaussian::Gaussian;

pub use phase_noise::PhaseNoise;

/// What a channel does to samples, in this order: the receiver's clock takes them at other instants, the carrier is turned,
/// steadily and by phase noise, white Gaussian noise is added, I and Q are swapped, a constant is added, everything is scaled.
///
/// ```
/// use bief_dsp::Complex32;
/// use bief_dsp::channel::Channel;
///
/// let sent = vec![Complex32::new(1.0, 0.0); 1000];
/// let received = Channel { gain: 0.5, ..Channel::clear() }.apply(&sent);
/// assert!((received[500].re - 0.5).abs() < 0.01);
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Channel {
    /// By how much the receiver's samples lie further apart than the sender's, in parts per million.
    pub clock_ppm: f64,
    /// Instant of the first sample received, in samples sent; at least 0.
    pub start: f64,
    /// Carrier offset in cycles per sample.
    pub carrier: f64,
    /// Carrier phase of the first sample received, in radians.
    pub phase: f64,
    /// Phase noise; `None` for none.
    pub phase_noise: Option<PhaseNoise>,
    /// Power of the noise in each complex sample, before the gain; 0 for none. [`noise_for`](Self::noise_for) gives it for a
    /// ratio Es/N0.
    pub noise_power: f64,
    /// Whether I and Q are swapped: the spectrum is inverted.
    pub swapped: bool,
    /// What a mixer that leaks adds to every sample, before the gain.
    pub dc: Complex32,
    /// Factor on everything.
    pub gain: f64,
    /// Where the pseudo-random noise starts.
    pub seed: u64,
}

/// Samples on either side of an instant from which its value is interpolated.
const HALF: usize = 24;
/// Instants between two samples for which the interpolator is tabulated.
const PHASES: usize = 1024;

impl Channel {
    /// The channel that changes nothing.
    pub const fn clear() -> Self {
        Self {
            clock_ppm: 0.0,
            start: 0.0,
            carrier: 0.0,
            phase: 0.0,
            phase_noise: None,
            noise_power: 0.0,
            swapped: false,
            dc: Complex32::ZERO,
            gain: 1.0,
            seed: 1,
        }
    }

    /// Noise of the power that gives this ratio Es/N0, for samples shaped to unit energy per symbol by pulses of unit energy
    /// at this many samples per symbol.
    ///
    /// A matched filter passes a share 1 / `samples_per_symbol` of the noise, and the whole pulse.
    pub fn noise_for(es_n0_db: f64, samples_per_symbol: f64) -> f64 {
        samples_per_symbol / 10_f64.powf(es_n0_db / 10.0)
    }

    /// What is received when `sent` is sent: as many samples as there are instants in it.
    pub fn apply(&self, sent: &[Complex32]) -> Vec<Complex32> {
        let mut samples = self.sampled(sent);
        if self.carrier != 0.0 || self.phase != 0.0 {
            multiply_by_phasor(&mut samples, self.carrier, Complex64::cis(self.phase));
        }
        if let Some(noise) = &self.phase_noise {
            // Unrelated to the white noise of the same seed.
            let phases = noise.phases(samples.len(), self.seed ^ 0x9E37_79B9_7F4A_7C15);
            for (sample, phase) in samples.iter_mut().zip(phases) {
                *sample *= Complex32::cis(phase);
            }
        }
        if self.noise_power > 0.0 {
            let mut gaussian = Gaussian::with_seed(self.seed);
            let deviation = (0.5 * self.noise_power).sqrt();
            for sample in &mut samples {
                sample.re += (gaussian.next() * deviation) as f32;
                sample.im += (gaussian.next() * deviation) as f32;
            }
        }
        let gain = self.gain as f32;
        for sample in &mut samples {
            if self.swapped {
                *sample = Complex32::new(sample.im, sample.re);
            }
            *sample = (*sample + self.dc) * gain;
        }
        samples
    }

    /// The samples at the instants of the receiver's clock.
    fn sampled(&self, sent: &[Complex32]) -> Vec<Complex32> {
        let step = 1.0 + 1e-6 * self.clock_ppm;
        let count = ((sent.len() as f64 - self.start) / step).floor().max(0.0) as usize;
        if self.clock_ppm == 0.0 && self.start == 0.0 {
            return sent.to_vec();
        }
        // Zeros around, so that every instant has neighbours.
        let mut padded = vec![Complex32::ZERO; sent.len() + 2 * HALF];
        padded[HALF..HALF + sent.len()].copy_from_slice(sent);
        let mut samples = vec![Complex32::ZERO; count];
        let bank = &**INTERPOLATORS;
        dispatch!(Level::best() => interpolate(&padded, bank, self.start, step, &mut samples));
        samples
    }
}

/// Values of an interpolator, each twice: for both parts of a sample.
type Taps = [f32; 4 * HALF];

/// Windowed sinc functions for each phase between two samples.
static INTERPOLATORS: LazyLock<Vec<Taps>> = LazyLock::new(|| {
    (0..=PHASES)
        .map(|phase| {
            let fraction = phase as f64 / PHASES as f64;
            std::array::from_fn(|part| {
                let x = fraction + (HALF - 1) as f64 - (part / 2) as f64;
                let sinc = if x == 0.0 { 1.0 } else { (PI * x).sin() / (PI * x) };
                let window = (0.5 * PI * x / HALF as f64).cos().powi(2);
                (sinc * window) as f32
            })
        })
        .collect()
});

/// Takes samples `step` apart from instant `start` on; `padded` begins [`HALF`] samples before instant 0.
#[inline(always)]
fn interpolate(padded: &[Complex32], bank: &[Taps], start: f64, step: f64, samples: &mut [Complex32]) {
    /// Parts that are summed side by side.
    const LANES: usize = 16;
    for (n, sample) in samples.iter_mut().enumerate() {
        let instant = start + n as f64 * step;
        let before = instant as usize;
        let taps = &bank[((instant - before as f64) * PHASES as f64 + 0.5) as usize];
        let mut parts = [0.0; 4 * HALF];
        for (parts, value) in parts.as_chunks_mut::<2>().0.iter_mut().zip(&padded[before + 1..before + 1 + 2 * HALF]) {
            *parts = [value.re, value.im];
        }
        let mut sums = [0.0; LANES];
        for (parts, taps) in parts.as_chunks::<LANES>().0.iter().zip(taps.as_chunks::<LANES>().0) {
            for lane in 0..LANES {
                sums[lane] += parts[lane] * taps[lane];
            }
        }
        let mut width = LANES / 2;
        while width >= 2 {
            for lane in 0..width {
                sums[lane] += sums[lane + width];
            }
            width /= 2;
        }
        *sample = Complex32::new(sums[0], sums[1]);
    }
}

#[cfg(test)]
mod tests {
    use std::f64::consts::TAU;

    use super::*;

    #[test]
    fn the_clock_takes_a_tone_at_the_right_instants() {
        let tone = |instant: f64| Complex64::cis(TAU * 0.21 * instant);
        let sent: Vec<Complex32> =
            (0..4000).map(|n| tone(n as f64)).map(|z| Complex32::new(z.re as f32, z.im as f32)).collect();
        let channel = Channel { clock_ppm: 80.0, start: 0.37, carrier: -0.01, ..Channel::clear() };
        for (n, received) in channel.apply(&sent).iter().enumerate().take(3900).skip(100) {
            let expected = tone(0.37 + n as f64 * (1.0 + 80e-6)) * Complex64::cis(-TAU * 0.01 * n as f64);
            let error = Complex64::new(received.re.into(), received.im.into()) - expected;
            assert!(error.norm() < 3e-3, "sample {n}: {error}");
        }
    }

    #[test]
    fn noise_has_the_power_asked_for_and_is_repeatable() {
        let channel = Channel { noise_power: Channel::noise_for(3.0, 2.0), ..Channel::clear() };
        let noise = channel.apply(&[Complex32::ZERO; 100_000]);
        let power = noise.iter().map(|z| f64::from(z.norm_sqr())).sum::<f64>() / noise.len() as f64;
        assert!((power - 2.0 / 10_f64.powf(0.3)).abs() < 0.02, "{power}");
        assert_eq!(noise, channel.apply(&[Complex32::ZERO; 100_000]));
    }

    #[test]
    fn a_delay_of_whole_samples_keeps_them_and_what_lies_outside_is_zero() {
        let sent: Vec<Complex32> = (0..100).map(|n| Complex32::new(n as f32, -(n as f32))).collect();
        let received = Channel { start: 60.0, ..Channel::clear() }.apply(&sent);
        assert_eq!(received.len(), 40);
        for (received, sent) in received.iter().zip(&sent[60..]) {
            assert!((received - sent).norm() < 1e-3);
        }
    }

    #[test]
    fn a_mixer_swaps_leaks_and_scales_in_this_order() {
        let channel = Channel { swapped: true, dc: Complex32::new(0.5, 0.25), gain: 2.0, ..Channel::clear() };
        assert_eq!(channel.apply(&[Complex32::new(3.0, 4.0)]), [Complex32::new(9.0, 6.5)]);
    }

    #[test]
    fn phase_noise_turns_samples_and_depends_on_the_seed() {
        let noise = PhaseNoise { mask: PhaseNoise::DVB_S2, shift_db: 0.0, sample_rate: 2e6 };
        let turned = |seed: u64| {
            Channel { phase_noise: Some(noise), seed, ..Channel::clear() }.apply(&vec![Complex32::ONE; 10_000])
        };
        let first = turned(1);
        assert!(first.iter().all(|sample| (sample.norm() - 1.0).abs() < 1e-5));
        assert!(first.iter().zip(&first[1..]).any(|(a, b)| a != b));
        assert!(first == turned(1) && first != turned(2));
    }
}

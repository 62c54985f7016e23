//! A channel between transmitter and receiver: clock error, delay, carrier offset, noise, gain.

use std::f64::consts::{PI, TAU};

use num_complex::{Complex32, Complex64};

/// What a channel does to samples, in this order: the receiver's clock takes them at other instants, the carrier is turned,
/// white Gaussian noise is added, everything is scaled.
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
    /// Power of the noise in each complex sample, before the gain; 0 for none. [`noise_for`](Self::noise_for) gives it for a
    /// ratio Es/N0.
    pub noise_power: f64,
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
        Self { clock_ppm: 0.0, start: 0.0, carrier: 0.0, phase: 0.0, noise_power: 0.0, gain: 1.0, seed: 1 }
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
        let step = 1.0 + 1e-6 * self.clock_ppm;
        let count = ((sent.len() as f64 - self.start) / step).floor().max(0.0) as usize;
        let exact = self.clock_ppm == 0.0 && self.start == 0.0;
        let bank = if exact { Vec::new() } else { interpolators() };
        let mut random = fastrand::Rng::with_seed(self.seed);
        let deviation = (0.5 * self.noise_power).sqrt();
        (0..count)
            .map(|n| {
                let sample = if exact { sent[n] } else { interpolate(sent, &bank, self.start + n as f64 * step) };
                let turns = (self.carrier * n as f64).fract();
                let turned =
                    Complex64::new(sample.re.into(), sample.im.into()) * Complex64::cis(TAU * turns + self.phase);
                let noise = if deviation > 0.0 { gaussian(&mut random) * deviation } else { Complex64::ZERO };
                let received = (turned + noise) * self.gain;
                Complex32::new(received.re as f32, received.im as f32)
            })
            .collect()
    }
}

/// Two independent normal deviates, by the method of Box and Muller.
fn gaussian(random: &mut fastrand::Rng) -> Complex64 {
    let radius = (-2.0 * (1.0 - random.f64()).ln()).sqrt();
    Complex64::from_polar(radius, TAU * random.f64())
}

/// Windowed sinc functions for each phase between two samples.
fn interpolators() -> Vec<[f32; 2 * HALF]> {
    (0..=PHASES)
        .map(|phase| {
            let fraction = phase as f64 / PHASES as f64;
            std::array::from_fn(|tap| {
                let x = fraction + (HALF - 1) as f64 - tap as f64;
                let sinc = if x == 0.0 { 1.0 } else { (PI * x).sin() / (PI * x) };
                let window = (0.5 * PI * x / HALF as f64).cos().powi(2);
                (sinc * window) as f32
            })
        })
        .collect()
}

fn interpolate(samples: &[Complex32], bank: &[[f32; 2 * HALF]], instant: f64) -> Complex32 {
    let before = instant.floor();
    let taps = &bank[((instant - before) * PHASES as f64).round() as usize];
    let first = before as i64 - (HALF as i64 - 1);
    let value = |index: usize| {
        usize::try_from(first + index as i64).ok().and_then(|at| samples.get(at)).copied().unwrap_or_default()
    };
    taps.iter().enumerate().map(|(index, tap)| value(index) * tap).sum()
}

#[cfg(test)]
mod tests {
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
}

//! Filters with one pole: what an RC circuit does to audio.

use std::f64::consts::TAU;

/// A low-pass filter with one pole, or by difference a high-pass filter. It remembers, so that calls continue one another.
///
/// y\[n\] = y\[n − 1\] + a · (x\[n\] − y\[n − 1\]) with a = 1 − exp(−1 / τ), where τ is the time constant in samples: the answer to a
/// step is exactly that of the circuit. A sample that is not finite counts as 0, so that those after it are not lost.
///
/// ```
/// use bief_dsp::one_pole::OnePole;
///
/// let mut samples = [1.0; 100];
/// OnePole::new(100.0).low_pass(&mut samples);
/// assert!((samples[99] - (1.0 - (-1_f32).exp())).abs() < 1e-6);
/// ```
#[derive(Clone, Debug)]
pub struct OnePole {
    share: f64,
    value: f64,
}

impl OnePole {
    /// A filter of this time constant in samples.
    pub fn new(time_constant: f64) -> Self {
        Self { share: -(-time_constant.recip()).exp_m1(), value: 0.0 }
    }

    /// A filter of this corner frequency in cycles per sample: τ = 1 / (2π · corner).
    pub fn with_corner(corner: f64) -> Self {
        Self::new((TAU * corner).recip())
    }

    /// Forgets what went before.
    pub fn reset(&mut self) {
        self.value = 0.0;
    }

    /// Keeps what changes slowly, in place.
    pub fn low_pass(&mut self, samples: &mut [f32]) {
        for sample in samples {
            *sample = self.next(finite(*sample)) as f32;
        }
    }

    /// Keeps what changes fast, in place: what the low-pass filter takes away.
    pub fn high_pass(&mut self, samples: &mut [f32]) {
        for sample in samples {
            let now = finite(*sample);
            *sample = (now - self.next(now)) as f32;
        }
    }

    fn next(&mut self, sample: f64) -> f64 {
        self.value += self.share * (sample - self.value);
        self.value
    }
}

fn finite(sample: f32) -> f64 {
    if sample.is_finite() { sample.into() } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Amplitude of a tone after the filter has settled, in dB.
    fn response(corner: f64, frequency: f64, filter: impl Fn(&mut OnePole, &mut [f32])) -> f64 {
        let mut samples: Vec<f32> = (0..200_000).map(|k| (TAU * frequency * f64::from(k)).sin() as f32).collect();
        let mut one_pole = OnePole::with_corner(corner);
        // In two calls, to see that they continue one another.
        let (before, after) = samples.split_at_mut(77_777);
        filter(&mut one_pole, before);
        filter(&mut one_pole, after);
        let settled = &samples[100_000..];
        let power = settled.iter().map(|x| f64::from(x * x)).sum::<f64>() / settled.len() as f64;
        10.0 * (2.0 * power).log10()
    }

    #[test]
    fn the_response_is_that_of_the_circuit() {
        let corner = 0.001;
        for ratio in [0.1, 0.5, 1.0, 2.0, 10.0] {
            let low = response(corner, ratio * corner, OnePole::low_pass);
            let high = response(corner, ratio * corner, OnePole::high_pass);
            let expected_low = -10.0 * f64::log10(1.0 + ratio * ratio);
            let expected_high = -10.0 * f64::log10(1.0 + 1.0 / (ratio * ratio));
            assert!((low - expected_low).abs() < 0.1, "{ratio}: {low}, not {expected_low} dB");
            assert!((high - expected_high).abs() < 0.1, "{ratio}: {high}, not {expected_high} dB");
        }
    }

    #[test]
    fn both_filters_together_pass_everything() {
        let samples: Vec<f32> = (0..1000_u32).map(|k| ((k * k) % 97) as f32 / 97.0).collect();
        let (mut low, mut high) = (samples.clone(), samples.clone());
        OnePole::new(30.0).low_pass(&mut low);
        OnePole::new(30.0).high_pass(&mut high);
        assert!(low.iter().zip(&high).zip(&samples).all(|((low, high), sample)| (low + high - sample).abs() < 1e-6));
    }

    #[test]
    fn a_broken_sample_counts_as_zero() {
        for broken in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
            for filter in [OnePole::low_pass, OnePole::high_pass] {
                let (mut with, mut without) = ([1.0, broken, 1.0, 1.0], [1.0, 0.0, 1.0, 1.0]);
                filter(&mut OnePole::new(30.0), &mut with);
                filter(&mut OnePole::new(30.0), &mut without);
                assert_eq!(with, without);
            }
        }
    }

    #[test]
    fn a_reset_forgets() {
        let mut filter = OnePole::new(30.0);
        filter.low_pass(&mut [1.0; 50]);
        filter.reset();
        let mut silence = [0.0; 2];
        filter.low_pass(&mut silence);
        assert_eq!(silence, [0.0; 2]);
    }
}

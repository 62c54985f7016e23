//! Pulse shaping: from symbols to the samples that a transmitter sends.

use num_complex::Complex32;

use crate::filter::root_raised_cosine;

/// Symbols on either side of an instant that shape it.
const HALF_SPAN: usize = 32;
/// The most instants at which pulses are held: samples until one falls on a symbol again.
const MAX_PHASES: usize = 64;

/// Shapes symbols by root-raised-cosine pulses of unit energy per symbol (EN 302 307-1, clause 5.6), at a rational number
/// of samples per symbol. Remembers the last symbols, so that calls continue one another.
///
/// ```
/// use bief_dsp::Complex32;
/// use bief_dsp::pulse::Shaper;
///
/// let mut shaper = Shaper::new(0.25, 2.0).unwrap();
/// let symbols = [Complex32::new(1.0, 0.0); 100];
/// let mut samples = [Complex32::ZERO; 200];
/// shaper.shape(&symbols, &mut samples);
/// assert!((samples[150].re - 1.0).abs() < 0.01); // a constant stays one, 32 symbols later
/// ```
#[derive(Clone, Debug)]
pub struct Shaper {
    /// For each phase: how many symbols have been taken since phase 0, and the pulse at this instant, the tap of the oldest
    /// symbol first.
    phases: Vec<(usize, [f32; 2 * HALF_SPAN])>,
    /// Symbols per round of all phases.
    round: usize,
    /// The last symbols of the call before, then those of this one.
    symbols: Vec<Complex32>,
}

impl Shaper {
    /// Symbols by which the samples lag behind.
    pub const DELAY: usize = HALF_SPAN;

    /// A shaper of this roll-off (0 to 1) at `samples_per_symbol`; `None` when no round of up to 64 samples is a whole number
    /// of symbols.
    pub fn new(rolloff: f64, samples_per_symbol: f64) -> Option<Shaper> {
        let round_of = |phases: usize| phases as f64 / samples_per_symbol;
        let whole = |phases: &usize| {
            let round = round_of(*phases);
            round >= 1.0 && (round - round.round()).abs() < 1e-9
        };
        let count = (1..=MAX_PHASES).find(whole).filter(|_| samples_per_symbol >= 1.0)?;
        let phases = (0..count).map(|phase| {
            let instant = phase as f64 / samples_per_symbol;
            let taken = instant.floor();
            let fraction = instant - taken;
            let mut pulse = [0.0; 2 * HALF_SPAN];
            for (tap, value) in pulse.iter_mut().enumerate() {
                // Tap 0 belongs to the symbol HALF_SPAN - 1 before the one that this instant lies behind.
                let distance = fraction + (HALF_SPAN - 1) as f64 - tap as f64;
                *value = root_raised_cosine(distance, rolloff) as f32;
            }
            (taken as usize, pulse)
        });
        Some(Shaper {
            phases: phases.collect(),
            round: round_of(count).round() as usize,
            symbols: vec![Complex32::ZERO; 2 * HALF_SPAN - 1],
        })
    }

    /// Samples that so many symbols make; `None` when it is not a whole number of rounds.
    pub fn samples(&self, symbols: usize) -> Option<usize> {
        symbols.is_multiple_of(self.round).then(|| symbols / self.round * self.phases.len())
    }

    /// Shapes the symbols that continue the stream.
    ///
    /// # Panics
    /// When `samples` is not as long as [`samples`](Self::samples) says.
    pub fn shape(&mut self, symbols: &[Complex32], samples: &mut [Complex32]) {
        assert_eq!(Some(samples.len()), self.samples(symbols.len()), "samples of {} symbols", symbols.len());
        self.symbols.extend_from_slice(symbols);
        for (round, samples) in samples.chunks_exact_mut(self.phases.len()).enumerate() {
            for (sample, (taken, pulse)) in samples.iter_mut().zip(&self.phases) {
                let first = round * self.round + taken;
                let window = &self.symbols[first..first + 2 * HALF_SPAN];
                *sample = window.iter().zip(pulse).map(|(symbol, tap)| symbol * tap).sum();
            }
        }
        self.symbols.drain(..symbols.len());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_are_the_sum_of_all_pulses() {
        for samples_per_symbol in [1.5, 2.0, 2.5, 4.0] {
            let mut shaper = Shaper::new(0.2, samples_per_symbol).unwrap();
            let symbols: Vec<Complex32> =
                (0..180).map(|k| Complex32::new(((k * 7) % 5) as f32 - 2.0, ((k * 11) % 3) as f32 - 1.0)).collect();
            let mut samples = vec![Complex32::ZERO; shaper.samples(symbols.len()).unwrap()];
            // In two calls, to see that they continue one another.
            let half = samples.len() / 2;
            shaper.shape(&symbols[..90], &mut samples[..half]);
            shaper.shape(&symbols[90..], &mut samples[half..]);
            for (n, sample) in samples.iter().enumerate() {
                let instant = n as f64 / samples_per_symbol;
                let mut expected = Complex32::ZERO;
                for (k, symbol) in symbols.iter().enumerate() {
                    let age = instant.floor() as i64 - k as i64;
                    if (0..2 * HALF_SPAN as i64).contains(&age) {
                        let distance = instant - (k + Shaper::DELAY) as f64;
                        expected += symbol * root_raised_cosine(distance, 0.2) as f32;
                    }
                }
                assert!(
                    (sample - expected).norm() < 1e-4,
                    "{samples_per_symbol}: sample {n}: {sample}, not {expected}"
                );
            }
        }
    }

    #[test]
    fn an_irrational_rate_is_refused() {
        assert!(Shaper::new(0.2, std::f64::consts::PI).is_none());
        assert!(Shaper::new(0.2, 0.9).is_none());
        assert_eq!(Shaper::new(0.2, 2.5).unwrap().samples(9), None);
    }
}

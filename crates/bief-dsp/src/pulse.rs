//! Pulse shaping: from symbols to the samples that a transmitter sends.

use num_complex::Complex32;

use crate::filter::root_raised_cosine;

/// Symbols on either side of an instant that shape it.
const HALF_SPAN: usize = 32;
/// The most instants at which pulses are held: samples until one falls on a symbol again.
const MAX_PHASES: usize = 64;

/// Shapes symbols by root-raised-cosine pulses of unit energy per symbol (EN 302 307-1, clause 5.6), at a rational number
/// of samples per symbol. Remembers the last symbols, so that calls of any lengths continue one another.
///
/// ```
/// use bief_dsp::Complex32;
/// use bief_dsp::pulse::Shaper;
///
/// let mut shaper = Shaper::new(0.25, 2.0).unwrap();
/// let symbols = [Complex32::new(1.0, 0.0); 100];
/// let mut samples = vec![Complex32::ZERO; shaper.max_samples(symbols.len())];
/// let made = shaper.shape(&symbols, &mut samples);
/// assert_eq!(made, 200);
/// assert!((samples[150].re - 1.0).abs() < 0.01); // a constant stays one, 32 symbols later
/// ```
#[derive(Clone, Debug)]
pub struct Shaper {
    /// For each symbol of a round, the pulses at the instants from it to the next, the tap of the oldest symbol first.
    round: Vec<Vec<[f32; 2 * HALF_SPAN]>>,
    /// Samples of a round.
    phases: usize,
    /// The symbol of the round that comes next.
    next: usize,
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
        let phases = (1..=MAX_PHASES).find(whole).filter(|_| samples_per_symbol >= 1.0)?;
        let mut round = vec![Vec::new(); round_of(phases).round() as usize];
        for phase in 0..phases {
            let instant = phase as f64 / samples_per_symbol;
            let taken = instant.floor();
            let fraction = instant - taken;
            let mut pulse = [0.0; 2 * HALF_SPAN];
            for (tap, value) in pulse.iter_mut().enumerate() {
                // Tap 0 belongs to the symbol HALF_SPAN - 1 before the one that this instant lies behind.
                let distance = fraction + (HALF_SPAN - 1) as f64 - tap as f64;
                *value = root_raised_cosine(distance, rolloff) as f32;
            }
            round[taken as usize].push(pulse);
        }
        Some(Shaper { round, phases, next: 0, symbols: vec![Complex32::ZERO; 2 * HALF_SPAN - 1] })
    }

    /// Samples that so many symbols make; `None` when it is not a whole number of rounds.
    pub fn samples(&self, symbols: usize) -> Option<usize> {
        symbols.is_multiple_of(self.round.len()).then(|| self.max_samples(symbols))
    }

    /// The most samples that so many symbols make; fewer by up to one round where they do not begin with one.
    pub fn max_samples(&self, symbols: usize) -> usize {
        symbols.div_ceil(self.round.len()) * self.phases
    }

    /// Shapes the symbols that continue the stream; answers how many samples it made.
    ///
    /// # Panics
    /// When `samples` is shorter than [`max_samples`](Self::max_samples) says.
    pub fn shape(&mut self, symbols: &[Complex32], samples: &mut [Complex32]) -> usize {
        let most = self.max_samples(symbols.len());
        assert!(samples.len() >= most, "{} symbols need room for {most} samples, not {}", symbols.len(), samples.len());
        self.symbols.extend_from_slice(symbols);
        let mut made = 0;
        for window in self.symbols.windows(2 * HALF_SPAN) {
            for pulse in &self.round[self.next] {
                samples[made] = window.iter().zip(pulse).map(|(symbol, tap)| symbol * tap).sum();
                made += 1;
            }
            self.next = (self.next + 1) % self.round.len();
        }
        self.symbols.drain(..symbols.len());
        made
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
            let mut samples = vec![Complex32::ZERO; shaper.max_samples(symbols.len()) + 8];
            // In several calls, to see that they continue one another.
            let mut made = 0;
            for part in [&symbols[..91], &symbols[91..92], &[], &symbols[92..]] {
                made += shaper.shape(part, &mut samples[made..]);
            }
            assert_eq!(made as f64, 180.0 * samples_per_symbol);
            samples.truncate(made);
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

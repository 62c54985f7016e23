//! The reference: nothing to synchronise, exact LLRs, decoding as good as it gets.

use bief_cli::failure::Failure;
use bief_dsp::Complex32;
use bief_dsp::channel::Channel;
use bief_dsp::dvbs2::bch::{Bch, Outcome};
use bief_dsp::dvbs2::ldpc::{Code, Encoder, SumProduct};
use bief_dsp::dvbs2::{Constellation, Interleaver};

use super::count::Tally;
use super::measure::Chain;
use super::setup::{EsN0, Setup};

/// Frames of a block.
const FRAMES: u64 = 16;
/// Iterations after which a frame is given up.
pub(super) const ITERATIONS: u32 = 50;
/// The most bits of a label.
const MAX_BITS: usize = 5;

/// Symbols that the channel adds noise to, and nothing else, demapped and decoded in floating point.
pub(super) struct Ideal {
    bch: Bch,
    encoder: Encoder,
    decoder: SumProduct,
    interleaver: Interleaver,
    constellation: Constellation,
    codeword: Vec<u8>,
    labels: Vec<u8>,
    symbols: Vec<Complex32>,
    llrs: Vec<f32>,
    received: Vec<u8>,
}

impl Ideal {
    /// # Errors
    /// A rate that the frame size does not have.
    pub(super) fn new(setup: &Setup) -> Result<Self, Failure> {
        let (size, modcod) = (setup.size, setup.modcod);
        let codes = Bch::new(size, modcod.rate(size)).zip(Code::get(size, modcod.rate(size)));
        let (bch, code) = codes.ok_or_else(|| Failure::new(format!("DVB-S2 has no {modcod} with {size} frames")))?;
        let symbols = code.nldpc / modcod.modulation().bits_per_symbol();
        Ok(Self {
            encoder: Encoder::new(code),
            decoder: SumProduct::new(code, ITERATIONS),
            interleaver: Interleaver::new(modcod, size),
            constellation: Constellation::new(modcod, size),
            codeword: vec![0; code.nldpc / 8],
            labels: vec![0; symbols],
            symbols: vec![Complex32::ZERO; symbols],
            llrs: vec![0.0; code.nldpc],
            received: vec![0; bch.codeword_bytes()],
            bch,
        })
    }

    /// Writes the exact LLR of every bit of the codeword, positive for 0.
    fn demap(&mut self, symbols: &[Complex32], n0: f64) {
        let points = self.constellation.points();
        let bits = self.constellation.modulation().bits_per_symbol();
        for (k, symbol) in symbols.iter().enumerate() {
            // For each bit of the label, the likelihoods of its two values.
            let mut likelihoods = [[0.0_f64; 2]; MAX_BITS];
            for (label, point) in points.iter().enumerate() {
                let likelihood = (-f64::from((symbol - point).norm_sqr()) / n0).exp();
                for (bit, of_bit) in likelihoods[..bits].iter_mut().enumerate() {
                    of_bit[label >> (bits - 1 - bit) & 1] += likelihood;
                }
            }
            for (bit, of_bit) in likelihoods[..bits].iter().enumerate() {
                // Where both are nothing, at ratios at which no bit is in doubt, the nearest point would decide.
                let [zero, one] = of_bit.map(|likelihood| likelihood.max(f64::MIN_POSITIVE));
                self.llrs[self.interleaver.bit(k, bit)] = (zero / one).ln() as f32;
            }
        }
    }
}

impl Chain for Ideal {
    fn block(&mut self, es_n0: EsN0, seed: u64) -> Result<Tally, Failure> {
        let mut random = fastrand::Rng::with_seed(seed);
        let mut errors = 0;
        for _ in 0..FRAMES {
            let (message, parity) = self.codeword.split_at_mut(self.bch.message_bytes());
            random.fill(message);
            self.bch.encode(message, &mut parity[..self.received.len() - message.len()]);
            self.encoder.encode(&mut self.codeword);
            self.interleaver.labels(&self.codeword, 0, &mut self.labels);
            self.constellation.map(&self.labels, &mut self.symbols);
            let n0 = Channel::noise_for(es_n0.db(), 1.0);
            let channel = Channel { noise_power: n0, seed: random.u64(..), ..Channel::clear() };
            let symbols = channel.apply(&self.symbols);
            self.demap(&symbols, n0);
            self.decoder.decode(&self.llrs, &mut self.received);
            let sound = self.bch.decode(&mut self.received) != Outcome::Uncorrectable;
            errors += u64::from(!sound || self.received != self.codeword[..self.received.len()]);
        }
        Ok(Tally { frames: FRAMES, errors, lost: 0 })
    }
}

#[cfg(test)]
mod tests {
    use super::super::setup::TESTED;
    use super::*;

    fn ideal(modcod: &str) -> Ideal {
        Ideal::new(&Setup { modcod: modcod.parse().unwrap(), ..TESTED }).unwrap()
    }

    #[test]
    fn a_qpsk_symbol_has_the_llrs_of_the_formula() {
        let mut ideal = ideal("qpsk-1/2");
        let symbols = vec![Complex32::new(0.3, -0.9); ideal.symbols.len()];
        ideal.demap(&symbols, 0.4);
        let expected = [0.3, -0.9].map(|part| 8_f32.sqrt() * part / 0.4);
        assert!(ideal.llrs.chunks(2).all(|llrs| llrs.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-4)));
    }

    #[test]
    fn far_above_the_threshold_no_frame_is_wrong_and_far_below_all_are() {
        for modcod in ["qpsk-1/4", "8psk-3/5", "16apsk-8/9", "32apsk-3/4"] {
            let mut ideal = ideal(modcod);
            assert_eq!(ideal.block(EsN0(40_000), 1).unwrap(), Tally { frames: FRAMES, errors: 0, lost: 0 }, "{modcod}");
            assert_eq!(ideal.block(EsN0(-8_000), 1).unwrap().errors, FRAMES, "{modcod}");
        }
    }
}

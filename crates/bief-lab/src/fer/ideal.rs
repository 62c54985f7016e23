//! Chains with nothing to synchronise: the reference, with exact LLRs and decoding as good as it gets, and the receiver's own
//! demapper and decoders.

use bief_cli::failure::Failure;
use bief_dsp::Complex32;
use bief_dsp::channel::Channel;
use bief_dsp::dvbs2::bch::{Bch, Outcome};
use bief_dsp::dvbs2::ldpc::{Code, Decoder, Encoder, SumProduct};
use bief_dsp::dvbs2::{Constellation, Demapper, Interleaver};

use super::count::Tally;
use super::measure::Chain;
use super::setup::{EsN0, Setup};

/// Frames of a block.
const FRAMES: u64 = 16;
/// Iterations after which a frame is given up.
pub(super) const ITERATIONS: u32 = 50;
/// The most bits of a label.
const MAX_BITS: usize = 8;

/// Symbols that the channel adds noise to, and nothing else.
pub(super) struct Synchronised<R> {
    bch: Bch,
    encoder: Encoder,
    interleaver: Interleaver,
    constellation: Constellation,
    codeword: Vec<u8>,
    labels: Vec<u8>,
    symbols: Vec<Complex32>,
    received: Vec<u8>,
    receive: R,
}

/// From symbols in so much noise to the bits of a codeword that carry information.
pub(super) trait Receive: Send {
    fn bits(&mut self, symbols: &[Complex32], n0: f64, bits: &mut [u8]);
}

/// Demaps and decodes in floating point.
pub(super) struct Ideal {
    decoder: SumProduct,
    interleaver: Interleaver,
    constellation: Constellation,
    llrs: Vec<f32>,
}

/// Demaps and decodes as the receiver does.
pub(super) struct Own {
    demapper: Demapper,
    decoder: Decoder,
    llrs: Vec<i8>,
}

impl Synchronised<Ideal> {
    /// # Errors
    /// A rate that the frame size does not have.
    pub(super) fn ideal(setup: &Setup) -> Result<Self, Failure> {
        Self::new(setup, |code| Ideal {
            decoder: SumProduct::new(code, ITERATIONS),
            interleaver: Interleaver::new(setup.modcod, setup.size),
            constellation: Constellation::new(setup.modcod, setup.size),
            llrs: vec![0.0; code.nldpc],
        })
    }
}

impl Synchronised<Own> {
    /// # Errors
    /// A rate that the frame size does not have.
    pub(super) fn own(setup: &Setup) -> Result<Self, Failure> {
        Self::new(setup, |code| Own {
            demapper: Demapper::new(setup.modcod, setup.size),
            decoder: Decoder::new(code, ITERATIONS),
            llrs: vec![0; code.nldpc],
        })
    }
}

impl<R> Synchronised<R> {
    fn new(setup: &Setup, receive: impl FnOnce(&'static Code) -> R) -> Result<Self, Failure> {
        let (size, modcod) = (setup.size, setup.modcod);
        let codes = Bch::new(size, modcod.rate(size)).zip(Code::get(size, modcod.rate(size)));
        let (bch, code) = codes.ok_or_else(|| Failure::new(format!("DVB-S2 has no {modcod} with {size} frames")))?;
        let symbols = Demapper::new(modcod, size).symbols();
        Ok(Self {
            encoder: Encoder::new(code),
            interleaver: Interleaver::new(modcod, size),
            constellation: Constellation::new(modcod, size),
            codeword: vec![0; code.nldpc / 8],
            labels: vec![0; symbols],
            symbols: vec![Complex32::ZERO; symbols],
            received: vec![0; bch.codeword_bytes()],
            bch,
            receive: receive(code),
        })
    }
}

impl Receive for Own {
    fn bits(&mut self, symbols: &[Complex32], n0: f64, bits: &mut [u8]) {
        self.demapper.demap(symbols, n0 as f32, &mut self.llrs);
        self.decoder.decode(&self.llrs, bits);
    }
}

impl Receive for Ideal {
    fn bits(&mut self, symbols: &[Complex32], n0: f64, bits: &mut [u8]) {
        self.demap(symbols, n0);
        self.decoder.decode(&self.llrs, bits);
    }
}

impl Ideal {
    /// Writes the exact LLR of every bit of the codeword, positive for 0.
    fn demap(&mut self, symbols: &[Complex32], n0: f64) {
        let points = self.constellation.points();
        let bits = self.constellation.modulation().bits_per_symbol();
        // Symbols behind these fill the last slot.
        let rows = self.llrs.len().div_ceil(bits);
        for (k, symbol) in symbols.iter().take(rows).enumerate() {
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
                // Of the last symbol, some bits may lie behind the codeword.
                if let Some(llr) = self.llrs.get_mut(self.interleaver.bit(k, bit)) {
                    *llr = (zero / one).ln() as f32;
                }
            }
        }
    }
}

impl<R: Receive> Chain for Synchronised<R> {
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
            self.receive.bits(&symbols, n0, &mut self.received);
            let sound = self.bch.decode(&mut self.received) != Outcome::Uncorrectable;
            errors += u64::from(!sound || self.received != self.codeword[..self.received.len()]);
        }
        Ok(Tally { frames: FRAMES, errors, lost: 0 })
    }
}

#[cfg(test)]
mod tests {
    use bief_dsp::dvbs2::{FrameSize, Pls};

    use super::super::setup::TESTED;
    use super::*;

    fn setup(modcod: &str) -> Setup {
        let modcod = modcod.parse().unwrap();
        let has_short = Pls::from_parts(modcod, FrameSize::Short, true).is_some();
        Setup { modcod, size: if has_short { FrameSize::Short } else { FrameSize::Normal }, ..TESTED }
    }

    #[test]
    fn a_qpsk_symbol_has_the_llrs_of_the_formula() {
        let mut ideal = Synchronised::ideal(&setup("qpsk-1/2")).unwrap().receive;
        let symbols = vec![Complex32::new(0.3, -0.9); ideal.llrs.len() / 2];
        ideal.demap(&symbols, 0.4);
        let expected = [0.3, -0.9].map(|part| 8_f32.sqrt() * part / 0.4);
        assert!(ideal.llrs.chunks(2).all(|llrs| llrs.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-4)));
    }

    #[test]
    fn far_above_the_threshold_no_frame_is_wrong_and_far_below_all_are() {
        fn check(mut chain: impl Chain, modcod: &str, below: i32) {
            assert_eq!(chain.block(EsN0(40_000), 1).unwrap(), Tally { frames: FRAMES, errors: 0, lost: 0 }, "{modcod}");
            assert_eq!(chain.block(EsN0(below), 1).unwrap().errors, FRAMES, "{modcod}");
        }
        for modcod in ["qpsk-1/4", "8psk-3/5", "16apsk-8/9", "32apsk-3/4"] {
            check(Synchronised::ideal(&setup(modcod)).unwrap(), modcod, -8_000);
            check(Synchronised::own(&setup(modcod)).unwrap(), modcod, -8_000);
        }
        for modcod in ["128apsk-3/4", "256apsk-3/4"] {
            check(Synchronised::own(&setup(modcod)).unwrap(), modcod, 10_000);
        }
    }

    #[test]
    fn exact_llrs_of_128_points_decide_the_codeword_that_was_sent() {
        let mut chain = Synchronised::ideal(&setup("128apsk-3/4")).unwrap();
        fastrand::Rng::with_seed(1).fill(&mut chain.codeword);
        chain.interleaver.labels(&chain.codeword, 0, &mut chain.labels);
        chain.constellation.map(&chain.labels, &mut chain.symbols);
        chain.receive.demap(&chain.symbols, 0.001);
        for (bit, llr) in chain.receive.llrs.iter().enumerate() {
            let sent = chain.codeword[bit / 8] >> (7 - bit % 8) & 1;
            assert_eq!(u8::from(*llr < 0.0), sent, "bit {bit}");
        }
    }
}

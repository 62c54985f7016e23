//! What is measured: the signal, the channel, and which random numbers.

use std::fmt;

use bief_dsp::dvbs2::{Fec, FrameSize, Modcod, Pls, RollOff};
use clap::ValueEnum;
use fastrand::Rng;

/// A chain whose frame errors are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub(super) enum Kind {
    /// The whole receiver, with its own synchronisation
    Receiver,
    /// Perfect synchronisation, exact LLRs, 50 iterations of layered sum-product, BCH
    Ideal,
    /// Perfect synchronisation, then the receiver's own demapper and decoders
    Decoder,
}

impl Kind {
    pub(super) const ALL: [Self; 3] = [Self::Receiver, Self::Ideal, Self::Decoder];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Receiver => "receiver",
            Self::Ideal => "ideal",
            Self::Decoder => "decoder",
        }
    }
}

/// A ratio Es/N0, in thousandths of a decibel: exact, so that points are found again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct EsN0(pub(super) i32);

impl EsN0 {
    /// The ratio nearest to so many decibels; `None` beyond ±60 dB.
    pub(super) fn from_db(db: f64) -> Option<Self> {
        (db.abs() <= 60.0).then(|| Self((1000.0 * db).round() as i32))
    }

    pub(super) fn db(self) -> f64 {
        f64::from(self.0) / 1000.0
    }
}

impl fmt::Display for EsN0 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{:.*}", if self.0 % 10 == 0 { 2 } else { 3 }, self.db()))
    }
}

/// Phase noise of the channel.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Oscillator {
    /// Where its density lies above the mask of DVB-S2, in dB.
    pub(super) shift_db: f64,
    /// Symbols per second.
    pub(super) symbol_rate: f64,
}

/// All that the numbers of frames and errors depend on.
#[derive(Debug, Clone, Copy)]
pub(super) struct Setup {
    pub(super) modcod: Modcod,
    pub(super) size: FrameSize,
    pub(super) pilots: bool,
    pub(super) roll_off: RollOff,
    pub(super) samples_per_symbol: f64,
    /// Carrier offset in cycles per symbol; `None`: another in each block, within [`CARRIER`].
    pub(super) carrier: Option<f64>,
    /// Clock error in parts per million; `None`: another in each block, within [`CLOCK_PPM`].
    pub(super) clock_ppm: Option<f64>,
    pub(super) oscillator: Option<Oscillator>,
    pub(super) seed: u64,
}

/// Largest carrier offset that is drawn, in cycles per symbol.
pub(super) const CARRIER: f64 = 0.01;
/// Largest clock error that is drawn, in parts per million.
pub(super) const CLOCK_PPM: f64 = 20.0;

impl Setup {
    /// MODCOD, frame size and pilots, which were read as those of a frame.
    pub(super) fn pls(&self) -> Pls {
        Pls::from_parts(self.modcod, self.size, self.pilots).expect("checked when the arguments were read")
    }

    /// Names and values, as a file of results repeats them in each row.
    pub(super) fn columns(&self) -> [(&'static str, String); 11] {
        let drawn = |value: Option<f64>| value.map_or_else(|| "random".to_owned(), |value| value.to_string());
        let of_oscillator = |value: fn(Oscillator) -> f64| {
            self.oscillator.map_or_else(|| "off".to_owned(), |oscillator| value(oscillator).to_string())
        };
        [
            ("version", env!("CARGO_PKG_VERSION").to_owned()),
            ("modcod", self.modcod.name()),
            ("frame", self.size.to_string()),
            ("pilots", if self.pilots { "on" } else { "off" }.to_owned()),
            ("rolloff", format!("{:.2}", self.roll_off.value())),
            ("sps", self.samples_per_symbol.to_string()),
            ("carrier", drawn(self.carrier)),
            ("clock_ppm", drawn(self.clock_ppm)),
            ("phase_noise_db", of_oscillator(|oscillator| oscillator.shift_db)),
            ("symbol_rate", of_oscillator(|oscillator| oscillator.symbol_rate)),
            ("seed", self.seed.to_string()),
        ]
    }

    /// The seed of a block: nothing else decides what happens in it.
    pub(super) fn seed(&self, kind: Kind, es_n0: EsN0, block: u64) -> u64 {
        let parts = [self.seed, kind as u64, es_n0.0 as u64, block];
        parts.iter().fold(0, |seed, part| Rng::with_seed(seed ^ part).u64(..))
    }

    /// Es/N0 in dB about which frame error rates fall: Table 13, and for short frames, whose rate is not always what its name
    /// says, as much less as less rate needs.
    pub(super) fn threshold_db(&self) -> f64 {
        let rate =
            |size: FrameSize| Fec::new(size, self.modcod.rate(size)).map(|fec| fec.nbch as f64 / fec.nldpc as f64);
        let bits = self.modcod.modulation().bits_per_symbol() as f64;
        let needed = |rate: f64| 10.0 * ((bits * rate).exp2() - 1.0).log10();
        let less = match (rate(FrameSize::Normal), rate(self.size)) {
            (Some(normal), Some(own)) => needed(normal) - needed(own),
            _ => 0.0,
        };
        f64::from(self.modcod.ideal_esn0_db()) - less
    }
}

/// What a block is decided by, for the tests of this folder.
#[cfg(test)]
pub(super) const TESTED: Setup = Setup {
    modcod: Modcod::new(10).expect("QPSK 8/9"),
    size: FrameSize::Short,
    pilots: true,
    roll_off: RollOff::R20,
    samples_per_symbol: 2.0,
    carrier: None,
    clock_ppm: None,
    oscillator: None,
    seed: 1,
};

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn each_block_has_a_seed_of_its_own() {
        let mut seeds = HashSet::new();
        for seed in 0..3 {
            for kind in Kind::ALL {
                for es_n0 in [-100, -1, 0, 1, 6200] {
                    for block in 0..100 {
                        assert!(seeds.insert(Setup { seed, ..TESTED }.seed(kind, EsN0(es_n0), block)));
                    }
                }
            }
        }
    }

    #[test]
    fn ratios_are_shown_with_the_digits_that_they_have() {
        let shown = [6.2, -2.355, 0.0, -0.05].map(|db| EsN0::from_db(db).unwrap().to_string());
        assert_eq!(shown, ["6.20", "-2.355", "0.00", "-0.05"]);
        assert_eq!((EsN0::from_db(61.0), EsN0::from_db(f64::NAN)), (None, None));
    }

    #[test]
    fn short_frames_of_less_rate_need_less() {
        let threshold =
            |name: &str, size: FrameSize| Setup { modcod: name.parse().unwrap(), size, ..TESTED }.threshold_db();
        assert_eq!(threshold("qpsk-1/4", FrameSize::Normal), f64::from(-2.35_f32));
        assert!((threshold("qpsk-8/9", FrameSize::Short) - 6.2).abs() < 1e-6);
        // Rate 1/5 in place of 1/4.
        assert!((threshold("qpsk-1/4", FrameSize::Short) - -3.48).abs() < 0.01);
    }
}

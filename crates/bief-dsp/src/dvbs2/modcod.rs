//! Modulation, code rate, and the 28 pairs of them that DVB-S2 allows.

use std::fmt;
use std::str::FromStr;

/// Modulation of the payload (EN 302 307-1, clause 5.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Modulation {
    /// 4 points, 2 bits per symbol.
    Qpsk,
    /// 8 points, 3 bits per symbol.
    Psk8,
    /// 4 + 12 points on two rings, 4 bits per symbol.
    Apsk16,
    /// 4 + 12 + 16 points on three rings, 5 bits per symbol.
    Apsk32,
}

impl Modulation {
    /// Bits carried by one symbol: 2, 3, 4 or 5.
    pub const fn bits_per_symbol(self) -> usize {
        match self {
            Modulation::Qpsk => 2,
            Modulation::Psk8 => 3,
            Modulation::Apsk16 => 4,
            Modulation::Apsk32 => 5,
        }
    }
}

impl fmt::Display for Modulation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Modulation::Qpsk => "QPSK",
            Modulation::Psk8 => "8PSK",
            Modulation::Apsk16 => "16APSK",
            Modulation::Apsk32 => "32APSK",
        })
    }
}

/// Nominal rate of the inner (LDPC) code.
///
/// Short FECFRAMEs of rates 1/4, 1/2, 3/4, 4/5 and 5/6 carry a little less than the name says: use
/// [`Fec`](super::Fec) for lengths, never the rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[expect(missing_docs, reason = "the name is the rate")]
pub enum Rate {
    R1_4,
    R1_3,
    R2_5,
    R1_2,
    R3_5,
    R2_3,
    R3_4,
    R4_5,
    R5_6,
    R8_9,
    R9_10,
}

impl Rate {
    /// Every rate, from the most robust to the most efficient.
    pub const ALL: [Rate; 11] = [
        Rate::R1_4,
        Rate::R1_3,
        Rate::R2_5,
        Rate::R1_2,
        Rate::R3_5,
        Rate::R2_3,
        Rate::R3_4,
        Rate::R4_5,
        Rate::R5_6,
        Rate::R8_9,
        Rate::R9_10,
    ];
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Rate::R1_4 => "1/4",
            Rate::R1_3 => "1/3",
            Rate::R2_5 => "2/5",
            Rate::R1_2 => "1/2",
            Rate::R3_5 => "3/5",
            Rate::R2_3 => "2/3",
            Rate::R3_4 => "3/4",
            Rate::R4_5 => "4/5",
            Rate::R5_6 => "5/6",
            Rate::R8_9 => "8/9",
            Rate::R9_10 => "9/10",
        })
    }
}

/// A modulation and a code rate: MODCOD 1 to 28 (EN 302 307-1, Table 12).
///
/// ```
/// use bief_dsp::dvbs2::{Modcod, Modulation, Rate};
///
/// let modcod: Modcod = "qpsk-8/9".parse()?;
/// assert_eq!(modcod.number(), 10);
/// assert_eq!((modcod.modulation(), modcod.rate()), (Modulation::Qpsk, Rate::R8_9));
/// assert_eq!(modcod.to_string(), "QPSK 8/9");
/// # Ok::<(), bief_dsp::dvbs2::ParseModcodError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Modcod(u8);

/// Modulation, rate and ideal Es/N0 in dB of MODCOD 1, 2, … (Tables 12 and 13).
#[rustfmt::skip]
const MODCODS: [(Modulation, Rate, f32); 28] = [
    (Modulation::Qpsk, Rate::R1_4, -2.35),
    (Modulation::Qpsk, Rate::R1_3, -1.24),
    (Modulation::Qpsk, Rate::R2_5, -0.30),
    (Modulation::Qpsk, Rate::R1_2, 1.00),
    (Modulation::Qpsk, Rate::R3_5, 2.23),
    (Modulation::Qpsk, Rate::R2_3, 3.10),
    (Modulation::Qpsk, Rate::R3_4, 4.03),
    (Modulation::Qpsk, Rate::R4_5, 4.68),
    (Modulation::Qpsk, Rate::R5_6, 5.18),
    (Modulation::Qpsk, Rate::R8_9, 6.20),
    (Modulation::Qpsk, Rate::R9_10, 6.42),
    (Modulation::Psk8, Rate::R3_5, 5.50),
    (Modulation::Psk8, Rate::R2_3, 6.62),
    (Modulation::Psk8, Rate::R3_4, 7.91),
    (Modulation::Psk8, Rate::R5_6, 9.35),
    (Modulation::Psk8, Rate::R8_9, 10.69),
    (Modulation::Psk8, Rate::R9_10, 10.98),
    (Modulation::Apsk16, Rate::R2_3, 8.97),
    (Modulation::Apsk16, Rate::R3_4, 10.21),
    (Modulation::Apsk16, Rate::R4_5, 11.03),
    (Modulation::Apsk16, Rate::R5_6, 11.61),
    (Modulation::Apsk16, Rate::R8_9, 12.89),
    (Modulation::Apsk16, Rate::R9_10, 13.13),
    (Modulation::Apsk32, Rate::R3_4, 12.73),
    (Modulation::Apsk32, Rate::R4_5, 13.64),
    (Modulation::Apsk32, Rate::R5_6, 14.28),
    (Modulation::Apsk32, Rate::R8_9, 15.69),
    (Modulation::Apsk32, Rate::R9_10, 16.05),
];

impl Modcod {
    /// The MODCOD of that number, or `None` outside 1..=28 (0 is the dummy PLFRAME, 29 to 31 are reserved).
    pub const fn new(number: u8) -> Option<Modcod> {
        match number {
            1..=28 => Some(Modcod(number)),
            _ => None,
        }
    }

    /// Every MODCOD in the order of its number.
    pub fn all() -> impl Iterator<Item = Modcod> + Clone {
        (1..=28).map(Modcod)
    }

    /// Number in the PLS code, 1 to 28.
    pub const fn number(self) -> u8 {
        self.0
    }

    /// The name used on command lines, such as `qpsk-8/9`.
    pub fn name(self) -> String {
        format!("{}-{}", self.modulation(), self.rate()).to_lowercase()
    }

    /// Modulation of the payload.
    pub const fn modulation(self) -> Modulation {
        MODCODS[self.0 as usize - 1].0
    }

    /// Nominal rate of the inner code.
    pub const fn rate(self) -> Rate {
        MODCODS[self.0 as usize - 1].1
    }

    /// Es/N0 in dB at which an ideal receiver of normal frames loses one packet in 10⁷ (Table 13, AWGN).
    /// Short frames need 0.2 to 0.3 dB more.
    pub const fn ideal_esn0_db(self) -> f32 {
        MODCODS[self.0 as usize - 1].2
    }
}

impl fmt::Debug for Modcod {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Modcod({}: {self})", self.0)
    }
}

impl fmt::Display for Modcod {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{} {}", self.modulation(), self.rate()))
    }
}

/// A text that names no MODCOD.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no DVB-S2 MODCOD; use one of {names}", names = names())]
pub struct ParseModcodError(String);

/// Every name that [`Modcod::from_str`] accepts, as a list.
fn names() -> String {
    let names: Vec<String> = Modcod::all().map(Modcod::name).collect();
    names.join(", ")
}

/// Accepts `qpsk-8/9` and `QPSK 8/9`, in either case.
impl FromStr for Modcod {
    type Err = ParseModcodError;

    fn from_str(text: &str) -> Result<Modcod, ParseModcodError> {
        let wanted = text.trim().to_lowercase().replace(' ', "-");
        Modcod::all().find(|modcod| modcod.name() == wanted).ok_or_else(|| ParseModcodError(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_outside_the_table_are_refused() {
        assert_eq!(Modcod::new(0), None);
        assert_eq!(Modcod::new(29), None);
        assert_eq!(Modcod::all().count(), 28);
    }

    #[test]
    fn names_are_read_back() {
        for modcod in Modcod::all() {
            assert_eq!(modcod.name().parse(), Ok(modcod));
            assert_eq!(modcod.to_string().parse(), Ok(modcod));
            assert_eq!(modcod.name().to_uppercase().parse(), Ok(modcod));
        }
    }

    #[test]
    fn an_unknown_name_is_answered_with_the_known_ones() {
        let error = "qpsk-7/8".parse::<Modcod>().unwrap_err().to_string();
        assert!(error.starts_with("`qpsk-7/8` is no DVB-S2 MODCOD; use one of qpsk-1/4, "));
        assert!(error.ends_with(", 32apsk-9/10"));
    }
}

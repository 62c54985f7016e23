//! Modulation, code rate, and the pairs of them that DVB-S2 and DVB-S2X allow.

use std::fmt;
use std::str::FromStr;

use super::{FrameSize, s2x};

/// Modulation of the payload (EN 302 307-1, clause 5.4; EN 302 307-2, clause 5.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Modulation {
    /// 4 points, 2 bits per symbol.
    Qpsk,
    /// 8 points, 3 bits per symbol.
    Psk8,
    /// 2 + 4 + 2 points on three rings, 3 bits per symbol (DVB-S2X).
    Apsk8,
    /// 16 points on two rings, 4 bits per symbol.
    Apsk16,
    /// 32 points on three or four rings, 5 bits per symbol.
    Apsk32,
    /// 64 points on four rings, 6 bits per symbol (DVB-S2X).
    Apsk64,
    /// 128 points on six rings, 7 bits per symbol (DVB-S2X).
    Apsk128,
    /// 256 points, 8 bits per symbol (DVB-S2X).
    Apsk256,
}

impl Modulation {
    /// Bits carried by one symbol, 2 to 8.
    pub const fn bits_per_symbol(self) -> usize {
        match self {
            Modulation::Qpsk => 2,
            Modulation::Psk8 | Modulation::Apsk8 => 3,
            Modulation::Apsk16 => 4,
            Modulation::Apsk32 => 5,
            Modulation::Apsk64 => 6,
            Modulation::Apsk128 => 7,
            Modulation::Apsk256 => 8,
        }
    }
}

impl fmt::Display for Modulation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Modulation::Qpsk => "QPSK",
            Modulation::Psk8 => "8PSK",
            Modulation::Apsk8 => "8APSK",
            Modulation::Apsk16 => "16APSK",
            Modulation::Apsk32 => "32APSK",
            Modulation::Apsk64 => "64APSK",
            Modulation::Apsk128 => "128APSK",
            Modulation::Apsk256 => "256APSK",
        })
    }
}

/// Name of the inner (LDPC) code: its nominal rate.
///
/// Short FECFRAMEs of rates 1/4, 1/2, 3/4, 4/5 and 5/6 carry a little less than the name says: use
/// [`Fec`](super::Fec) for lengths, never the rate. Names are not reduced: 90/180 is another code than 1/2.
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
    R11_45,
    R4_15,
    R13_45,
    R14_45,
    R9_20,
    R7_15,
    R90_180,
    R8_15,
    R96_180,
    R11_20,
    R100_180,
    R26_45,
    R104_180,
    R18_30,
    R28_45,
    R23_36,
    R116_180,
    R20_30,
    R124_180,
    R25_36,
    R32_45,
    R128_180,
    R13_18,
    R22_30,
    R132_180,
    R135_180,
    R7_9,
    R140_180,
    R154_180,
}

impl Rate {
    /// Every rate: those of DVB-S2, then those that DVB-S2X adds, each from the most robust to the most efficient.
    pub const ALL: [Rate; 40] = [
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
        Rate::R11_45,
        Rate::R4_15,
        Rate::R13_45,
        Rate::R14_45,
        Rate::R9_20,
        Rate::R7_15,
        Rate::R90_180,
        Rate::R8_15,
        Rate::R96_180,
        Rate::R11_20,
        Rate::R100_180,
        Rate::R26_45,
        Rate::R104_180,
        Rate::R18_30,
        Rate::R28_45,
        Rate::R23_36,
        Rate::R116_180,
        Rate::R20_30,
        Rate::R124_180,
        Rate::R25_36,
        Rate::R32_45,
        Rate::R128_180,
        Rate::R13_18,
        Rate::R22_30,
        Rate::R132_180,
        Rate::R135_180,
        Rate::R7_9,
        Rate::R140_180,
        Rate::R154_180,
    ];

    /// How many of [`ALL`](Rate::ALL), the first ones, are those of DVB-S2.
    pub const OF_S2: usize = 11;
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
            Rate::R11_45 => "11/45",
            Rate::R4_15 => "4/15",
            Rate::R13_45 => "13/45",
            Rate::R14_45 => "14/45",
            Rate::R9_20 => "9/20",
            Rate::R7_15 => "7/15",
            Rate::R90_180 => "90/180",
            Rate::R8_15 => "8/15",
            Rate::R96_180 => "96/180",
            Rate::R11_20 => "11/20",
            Rate::R100_180 => "100/180",
            Rate::R26_45 => "26/45",
            Rate::R104_180 => "104/180",
            Rate::R18_30 => "18/30",
            Rate::R28_45 => "28/45",
            Rate::R23_36 => "23/36",
            Rate::R116_180 => "116/180",
            Rate::R20_30 => "20/30",
            Rate::R124_180 => "124/180",
            Rate::R25_36 => "25/36",
            Rate::R32_45 => "32/45",
            Rate::R128_180 => "128/180",
            Rate::R13_18 => "13/18",
            Rate::R22_30 => "22/30",
            Rate::R132_180 => "132/180",
            Rate::R135_180 => "135/180",
            Rate::R7_9 => "7/9",
            Rate::R140_180 => "140/180",
            Rate::R154_180 => "154/180",
        })
    }
}

/// A modulation and a code rate: MODCOD 1 to 28 of DVB-S2 (EN 302 307-1, Table 12), or one of the 52 that DVB-S2X adds
/// (EN 302 307-2, Table 17a).
///
/// ```
/// use bief_dsp::dvbs2::{FrameSize, Modcod, Modulation, Rate};
///
/// let modcod: Modcod = "qpsk-8/9".parse()?;
/// assert_eq!(modcod.number(), 10);
/// assert_eq!((modcod.modulation(), modcod.rate(FrameSize::Short)), (Modulation::Qpsk, Rate::R8_9));
/// assert_eq!(modcod.to_string(), "QPSK 8/9");
///
/// let modcod: Modcod = "256apsk-29/45-l".parse()?;
/// assert_eq!((modcod.number(), modcod.rate(FrameSize::Normal)), (204, Rate::R116_180));
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
    /// The MODCOD of that number, or `None` where there is none (0 is the dummy PLFRAME).
    pub const fn new(number: u8) -> Option<Modcod> {
        match number {
            1..=28 => Some(Modcod(number)),
            _ => match s2x::frame(number) {
                Some(frame) if frame.modcod().0 == number => Some(Modcod(number)),
                _ => None,
            },
        }
    }

    /// Every MODCOD: those of DVB-S2, then those of DVB-S2X, in the order of their numbers.
    pub fn all() -> impl Iterator<Item = Modcod> + Clone {
        Modcod::of_s2().chain((0..=u8::MAX).skip(128).filter_map(Modcod::new))
    }

    /// Those of DVB-S2.
    pub fn of_s2() -> impl Iterator<Item = Modcod> + Clone {
        (1..=28).map(Modcod)
    }

    /// The MODCOD of a frame of DVB-S2X.
    pub(super) const fn of_frame(number: u8) -> Modcod {
        Modcod(number)
    }

    /// Number in the PLS code: 1 to 28 in DVB-S2. DVB-S2X numbers MODCOD and frame size together: there it is the PLS value
    /// without pilots, from 132 on, and that of the normal frame where there are both.
    pub const fn number(self) -> u8 {
        self.0
    }

    /// The first kind of frame of a MODCOD of DVB-S2X.
    const fn s2x(self) -> Option<&'static s2x::Frame> {
        s2x::frame(self.0)
    }

    /// The name used on command lines, such as `qpsk-8/9`.
    pub fn name(self) -> String {
        self.to_string().to_lowercase().replace(' ', "-")
    }

    /// Modulation of the payload.
    pub const fn modulation(self) -> Modulation {
        match self.s2x() {
            Some(frame) => frame.modulation,
            None => MODCODS[self.0 as usize - 1].0,
        }
    }

    /// The inner code of frames of that size. Where there are none ([`Pls::from_parts`](super::Pls::from_parts) tells), that of
    /// the others.
    pub const fn rate(self, size: FrameSize) -> Rate {
        match (s2x::frame_of(self, size), self.s2x()) {
            (Some(frame), _) | (None, Some(frame)) => frame.rate,
            _ => MODCODS[self.0 as usize - 1].1,
        }
    }

    /// Es/N0 in dB at which an ideal receiver of normal frames loses one packet in 10⁷ (Table 13, AWGN).
    /// Short frames need 0.2 to 0.3 dB more. Of MODCODs of DVB-S2X: one frame in 10⁵; what has short frames only is not in that
    /// table, and told by simulation.
    pub const fn ideal_esn0_db(self) -> f32 {
        match self.s2x() {
            Some(frame) => frame.esn0_db,
            None => MODCODS[self.0 as usize - 1].2,
        }
    }
}

impl fmt::Debug for Modcod {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Modcod({}: {self})", self.0)
    }
}

impl fmt::Display for Modcod {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.s2x() {
            Some(frame) => f.pad(&format!("{} {}", self.modulation(), frame.name)),
            None => f.pad(&format!("{} {}", self.modulation(), self.rate(FrameSize::Normal))),
        }
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
        // Pilots and short frames are not part of the number.
        assert_eq!([133, 176, 240, 250].map(Modcod::new), [None; 4]);
        assert_eq!(Modcod::all().count(), 28 + 52);
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
        assert!(error.ends_with(", 32apsk-2/3"));
    }
}

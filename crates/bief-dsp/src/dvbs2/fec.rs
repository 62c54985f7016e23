//! Block lengths of the two codes of a FECFRAME.

use super::{FrameSize, Rate};

/// Block lengths of a FECFRAME, in bits (EN 302 307-1, Tables 5a, 5b, 7a and 7b; EN 302 307-2, clause 5.3).
///
/// ```
/// use bief_dsp::dvbs2::{Fec, FrameSize, Rate};
///
/// let fec = Fec::new(FrameSize::Short, Rate::R8_9).unwrap();
/// assert_eq!((fec.kbch, fec.nbch, fec.nldpc), (14_232, 14_400, 16_200));
/// assert_eq!(Fec::new(FrameSize::Short, Rate::R9_10), None);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Fec {
    /// Bits of a BBFRAME: what the outer (BCH) code protects.
    pub kbch: usize,
    /// Bits of a BCH codeword, which are the information bits of the inner (LDPC) code.
    pub nbch: usize,
    /// Bits of an LDPC codeword, the FECFRAME.
    pub nldpc: usize,
    /// Errors that the BCH code corrects.
    pub bch_t: usize,
    /// Step between the parity addresses of neighbouring information bits: LDPC parity bits / 360.
    pub q: usize,
}

impl Fec {
    /// Lengths for a frame size and a rate; `None` where there is no such code, as 9/10 short.
    pub const fn new(size: FrameSize, rate: Rate) -> Option<Fec> {
        // BCH codeword length and correctable errors.
        let (nbch, bch_t) = match (size, rate) {
            (FrameSize::Normal, Rate::R1_4) => (16_200, 12),
            (FrameSize::Normal, Rate::R1_3) => (21_600, 12),
            (FrameSize::Normal, Rate::R2_5) => (25_920, 12),
            (FrameSize::Normal, Rate::R1_2) => (32_400, 12),
            (FrameSize::Normal, Rate::R3_5) => (38_880, 12),
            (FrameSize::Normal, Rate::R2_3) => (43_200, 10),
            (FrameSize::Normal, Rate::R3_4) => (48_600, 12),
            (FrameSize::Normal, Rate::R4_5) => (51_840, 12),
            (FrameSize::Normal, Rate::R5_6) => (54_000, 10),
            (FrameSize::Normal, Rate::R8_9) => (57_600, 8),
            (FrameSize::Normal, Rate::R9_10) => (58_320, 8),
            (FrameSize::Short, Rate::R1_4) => (3_240, 12),
            (FrameSize::Short, Rate::R1_3) => (5_400, 12),
            (FrameSize::Short, Rate::R2_5) => (6_480, 12),
            (FrameSize::Short, Rate::R1_2) => (7_200, 12),
            (FrameSize::Short, Rate::R3_5) => (9_720, 12),
            (FrameSize::Short, Rate::R2_3) => (10_800, 12),
            (FrameSize::Short, Rate::R3_4) => (11_880, 12),
            (FrameSize::Short, Rate::R4_5) => (12_600, 12),
            (FrameSize::Short, Rate::R5_6) => (13_320, 12),
            (FrameSize::Short, Rate::R8_9) => (14_400, 12),
            (FrameSize::Normal, Rate::R13_45) => (18_720, 12),
            (FrameSize::Normal, Rate::R9_20) => (29_160, 12),
            (FrameSize::Normal, Rate::R11_20) => (35_640, 12),
            (FrameSize::Normal, Rate::R100_180) => (36_000, 12),
            (FrameSize::Normal, Rate::R104_180) => (37_440, 12),
            (FrameSize::Normal, Rate::R23_36) => (41_400, 12),
            (FrameSize::Normal, Rate::R25_36) => (45_000, 12),
            (FrameSize::Normal, Rate::R13_18) => (46_800, 12),
            (FrameSize::Normal, Rate::R90_180) => (32_400, 12),
            (FrameSize::Normal, Rate::R96_180) => (34_560, 12),
            (FrameSize::Normal, Rate::R26_45) => (37_440, 12),
            (FrameSize::Normal, Rate::R18_30) => (38_880, 12),
            (FrameSize::Normal, Rate::R28_45) => (40_320, 12),
            (FrameSize::Normal, Rate::R20_30) => (43_200, 12),
            (FrameSize::Normal, Rate::R140_180) => (50_400, 12),
            (FrameSize::Normal, Rate::R154_180) => (55_440, 12),
            (FrameSize::Normal, Rate::R128_180) => (46_080, 12),
            (FrameSize::Normal, Rate::R132_180) => (47_520, 12),
            (FrameSize::Normal, Rate::R7_9) => (50_400, 12),
            (FrameSize::Normal, Rate::R135_180) => (48_600, 12),
            (FrameSize::Normal, Rate::R116_180) => (41_760, 12),
            (FrameSize::Normal, Rate::R124_180) => (44_640, 12),
            (FrameSize::Normal, Rate::R22_30) => (47_520, 12),
            (FrameSize::Short, Rate::R11_45) => (3_960, 12),
            (FrameSize::Short, Rate::R4_15) => (4_320, 12),
            (FrameSize::Short, Rate::R14_45) => (5_040, 12),
            (FrameSize::Short, Rate::R7_15) => (7_560, 12),
            (FrameSize::Short, Rate::R8_15) => (8_640, 12),
            (FrameSize::Short, Rate::R32_45) => (11_520, 12),
            (FrameSize::Short, Rate::R26_45) => (9_360, 12),
            _ => return None,
        };
        Some(Fec {
            kbch: nbch - size.field_degree() * bch_t,
            nbch,
            nldpc: size.bits(),
            bch_t,
            q: (size.bits() - nbch) / 360,
        })
    }

    /// Longest DATA FIELD of a BBFRAME, in bits: the BBFRAME without its 80-bit header.
    pub const fn max_dfl(&self) -> usize {
        self.kbch - 80
    }
}

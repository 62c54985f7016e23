//! Sets of MODCODs.

use bief_dsp::dvbs2::{Modcod, Pls};

/// The MODCODs that a receiver delivers.
///
/// ```
/// use bief_dsp::dvbs2::Pls;
/// use bief_radio::dvbs2::Modcods;
/// let wanted: Modcods = ["qpsk-8/9".parse().unwrap()].into_iter().collect();
/// let qpsk_8_9_short = Pls::new(43).unwrap();
/// assert!(wanted.contains(qpsk_8_9_short) && Modcods::ALL.contains(qpsk_8_9_short));
/// assert!(!wanted.contains(Pls::new(44).unwrap()) && !Modcods::ALL.contains(Pls::DUMMY));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Modcods(u32);

impl Modcods {
    /// All 28.
    pub const ALL: Self = Self(0x1FFF_FFFE);

    /// Whether frames of this kind are delivered; dummy frames never are.
    pub fn contains(self, pls: Pls) -> bool {
        pls.fec().is_some() && self.0 >> (pls.value() >> 2) & 1 == 1
    }
}

impl Default for Modcods {
    fn default() -> Self {
        Self::ALL
    }
}

impl FromIterator<Modcod> for Modcods {
    fn from_iter<I: IntoIterator<Item = Modcod>>(modcods: I) -> Self {
        Self(modcods.into_iter().fold(0, |set, modcod| set | 1 << modcod.number()))
    }
}

//! Sets of MODCODs.

use bief_dsp::dvbs2::{Modcod, Pls};

/// The MODCODs that a receiver delivers.
///
/// ```
/// use bief_dsp::dvbs2::Pls;
/// use bief_radio::dvbs2::Modcods;
/// let wanted: Modcods = ["qpsk-8/9".parse().unwrap()].into_iter().collect();
/// let qpsk_8_9_short = Pls::new(43);
/// assert!(wanted.contains(qpsk_8_9_short) && Modcods::ALL.contains(qpsk_8_9_short));
/// assert!(!wanted.contains(Pls::new(44)) && !Modcods::ALL.contains(Pls::DUMMY));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Modcods(u128);

/// The place of a MODCOD in the set: those of DVB-S2X have even numbers above the others'.
fn place(modcod: Modcod) -> u32 {
    let number = u32::from(modcod.number());
    if number < 32 { number } else { number / 2 }
}

impl Modcods {
    /// All of them.
    pub const ALL: Self = Self(u128::MAX);

    /// Whether frames of this kind are delivered: VL-SNR frames where all are, other frames without a MODCOD never.
    pub fn contains(self, pls: Pls) -> bool {
        if pls.vl_snr().is_some() {
            return self == Self::ALL;
        }
        pls.fec().is_some() && pls.modcod().is_some_and(|modcod| self.0 >> place(modcod) & 1 == 1)
    }
}

impl Default for Modcods {
    fn default() -> Self {
        Self::ALL
    }
}

impl FromIterator<Modcod> for Modcods {
    fn from_iter<I: IntoIterator<Item = Modcod>>(modcods: I) -> Self {
        Self(modcods.into_iter().fold(0, |set, modcod| set | 1 << place(modcod)))
    }
}

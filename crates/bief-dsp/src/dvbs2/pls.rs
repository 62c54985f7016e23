//! Physical-layer signalling: the seven bits in a PLHEADER that describe the frame.

use std::fmt;

use super::{Fec, Modcod};

/// Length of an LDPC codeword.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum FrameSize {
    /// 64 800 bits.
    Normal,
    /// 16 200 bits.
    Short,
}

impl FrameSize {
    /// Bits of a FECFRAME: 64 800 or 16 200.
    pub const fn bits(self) -> usize {
        match self {
            FrameSize::Normal => 64_800,
            FrameSize::Short => 16_200,
        }
    }
}

impl fmt::Display for FrameSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            FrameSize::Normal => "normal",
            FrameSize::Short => "short",
        })
    }
}

/// The PLS value of a frame: MODCOD, FECFRAME size and pilots in 7 bits (EN 302 307-1, clause 5.5.2). The default is a dummy.
///
/// Every value 0 to 127 exists, because a receiver can decode any; those that describe a frame which
/// DVB-S2 defines have a [`Layout`](super::Layout), and those that carry data a [`Fec`].
///
/// ```
/// use bief_dsp::dvbs2::{FrameSize, Modcod, Pls};
///
/// let pls = Pls::from_parts("qpsk-8/9".parse()?, FrameSize::Short, true);
/// assert_eq!(pls.value(), 43);
/// assert_eq!(pls.to_string(), "QPSK 8/9 short, pilots");
/// assert_eq!(pls.fec().unwrap().kbch, 14_232);
/// # Ok::<(), bief_dsp::dvbs2::ParseModcodError>(())
/// ```
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Pls(u8);

impl Pls {
    /// The dummy PLFRAME: no data, no pilots, constant payload.
    pub const DUMMY: Pls = Pls(0);

    /// The PLS of that value, or `None` above 127.
    pub const fn new(value: u8) -> Option<Pls> {
        if value < 128 { Some(Pls(value)) } else { None }
    }

    /// Puts the parts together. Rate 9/10 has no short FECFRAME: that value has neither [`Fec`] nor
    /// [`Layout`](super::Layout).
    pub const fn from_parts(modcod: Modcod, size: FrameSize, pilots: bool) -> Pls {
        let short = matches!(size, FrameSize::Short);
        Pls(modcod.number() << 2 | (short as u8) << 1 | pilots as u8)
    }

    /// Every value, 0 to 127.
    pub fn all() -> impl Iterator<Item = Pls> + Clone {
        (0..128).map(Pls)
    }

    /// MODCOD · 4 + 2 (short) + 1 (pilots), 0 to 127.
    pub const fn value(self) -> u8 {
        self.0
    }

    /// The MODCOD, or `None` for a dummy frame and for the reserved numbers 29 to 31.
    pub const fn modcod(self) -> Option<Modcod> {
        Modcod::new(self.0 >> 2)
    }

    /// Size of the FECFRAME (meaningless in a dummy frame).
    pub const fn frame_size(self) -> FrameSize {
        if self.0 & 2 == 0 { FrameSize::Normal } else { FrameSize::Short }
    }

    /// Whether pilot blocks are present. A dummy frame has none, whatever its pilot bit says.
    pub const fn pilots(self) -> bool {
        self.0 & 1 == 1 && !self.is_dummy()
    }

    /// Whether this is a dummy frame (MODCOD 0).
    pub const fn is_dummy(self) -> bool {
        self.0 >> 2 == 0
    }

    /// Block lengths of the code, or `None` when the frame carries none: dummy, reserved MODCOD, 9/10 short.
    pub const fn fec(self) -> Option<Fec> {
        match self.modcod() {
            Some(modcod) => Fec::new(self.frame_size(), modcod.rate()),
            None => None,
        }
    }
}

impl fmt::Debug for Pls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Pls({}: {self})", self.0)
    }
}

impl fmt::Display for Pls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let pilots = if self.pilots() { ", pilots" } else { "" };
        f.pad(&match self.modcod() {
            Some(modcod) => format!("{modcod} {}{pilots}", self.frame_size()),
            None if self.is_dummy() => "dummy PLFRAME".to_owned(),
            None => format!("reserved MODCOD {} {}{pilots}", self.0 >> 2, self.frame_size()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_read_back() {
        for modcod in Modcod::all() {
            for size in [FrameSize::Normal, FrameSize::Short] {
                for pilots in [false, true] {
                    let pls = Pls::from_parts(modcod, size, pilots);
                    assert_eq!(pls.modcod(), Some(modcod));
                    assert_eq!(pls.frame_size(), size);
                    assert_eq!(pls.pilots(), pilots);
                    assert_eq!(Pls::new(pls.value()), Some(pls));
                }
            }
        }
        assert_eq!(Pls::new(128), None);
    }

    #[test]
    fn names_say_what_the_frame_is() {
        let name = |value| Pls::new(value).unwrap().to_string();
        assert_eq!(name(20), "QPSK 3/5 normal");
        assert_eq!(name(115), "32APSK 9/10 short, pilots");
        assert_eq!(name(1), "dummy PLFRAME");
        assert_eq!(name(118), "reserved MODCOD 29 short");
    }
}

//! Physical-layer signalling: the eight bits in a PLHEADER that describe the frame.

use std::fmt;

use super::{Fec, Modcod, s2x};

/// Length of an LDPC codeword.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum FrameSize {
    /// 64 800 bits.
    Normal,
    /// 16 200 bits.
    Short,
    /// 32 400 bits: VL-SNR frames of DVB-S2X alone have it.
    Medium,
}

impl FrameSize {
    /// Bits of a FECFRAME: 64 800, 16 200 or 32 400.
    pub const fn bits(self) -> usize {
        match self {
            FrameSize::Normal => 64_800,
            FrameSize::Short => 16_200,
            FrameSize::Medium => 32_400,
        }
    }
}

impl fmt::Display for FrameSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            FrameSize::Normal => "normal",
            FrameSize::Short => "short",
            FrameSize::Medium => "medium",
        })
    }
}

/// The PLS value of a frame: MODCOD, FECFRAME size and pilots (EN 302 307-1, clause 5.5.2; EN 302 307-2, Table 17a). The
/// default is a dummy.
///
/// Every value exists, because a receiver can decode any: 0 to 127 are those of DVB-S2, the others those of DVB-S2X. Those that
/// describe a frame whose length is known have a [`Layout`](super::Layout), and those that carry data a [`Fec`].
///
/// ```
/// use bief_dsp::dvbs2::{FrameSize, Modcod, Pls};
///
/// let pls = Pls::from_parts("qpsk-8/9".parse()?, FrameSize::Short, true).unwrap();
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

    /// The PLS of that value.
    pub const fn new(value: u8) -> Pls {
        Pls(value)
    }

    /// Puts the parts together; `None` where there is no such frame, as of rate 9/10 with short FECFRAMEs.
    pub const fn from_parts(modcod: Modcod, size: FrameSize, pilots: bool) -> Option<Pls> {
        let value = match (modcod.number(), s2x::frame_of(modcod, size)) {
            (number @ 1..=28, _) => number << 2 | (matches!(size, FrameSize::Short) as u8) << 1,
            (_, Some(frame)) => frame.pls,
            _ => return None,
        };
        let pls = Pls(value | pilots as u8);
        if pls.fec().is_some() { Some(pls) } else { None }
    }

    /// Every value, 0 to 255.
    pub fn all() -> impl Iterator<Item = Pls> + Clone {
        (0..=u8::MAX).map(Pls)
    }

    /// Those of DVB-S2, 0 to 127.
    pub fn of_s2() -> impl Iterator<Item = Pls> + Clone {
        (0..128).map(Pls)
    }

    /// Whether this is a value of DVB-S2X.
    pub const fn is_s2x(self) -> bool {
        self.0 >= 128
    }

    /// In DVB-S2 MODCOD · 4 + 2 (short) + 1 (pilots), 0 to 127; in DVB-S2X 128 to 255.
    pub const fn value(self) -> u8 {
        self.0
    }

    /// The MODCOD, or `None` for a dummy frame, for VL-SNR frames and for reserved values.
    pub const fn modcod(self) -> Option<Modcod> {
        match s2x::frame(self.0) {
            Some(frame) => Some(frame.modcod()),
            None if self.is_s2x() => None,
            None => Modcod::new(self.0 >> 2),
        }
    }

    /// Size of the FECFRAME (meaningless in frames without a MODCOD).
    pub const fn frame_size(self) -> FrameSize {
        match s2x::frame(self.0) {
            Some(frame) => frame.size,
            None if self.0 & 2 == 0 || self.is_s2x() => FrameSize::Normal,
            None => FrameSize::Short,
        }
    }

    /// Whether pilot blocks are present. A dummy frame has none, whatever its pilot bit says.
    pub const fn pilots(self) -> bool {
        match s2x::passed_over(self.0) {
            Some((_, pilots)) => pilots,
            None => self.0 & 1 == 1 && !self.is_dummy(),
        }
    }

    /// Whether this is a dummy frame (MODCOD 0).
    pub const fn is_dummy(self) -> bool {
        self.0 >> 2 == 0
    }

    /// Block lengths of the code, or `None` when the frame carries none: dummy, VL-SNR, reserved, 9/10 short.
    pub const fn fec(self) -> Option<Fec> {
        match self.modcod() {
            Some(modcod) => Fec::new(self.frame_size(), modcod.rate(self.frame_size())),
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
            None if s2x::is_vl_snr(self.0) => format!("VL-SNR frame of set {}", (self.0 - 127) / 2),
            None if self.is_s2x() => format!("reserved PLS {}{pilots}", self.0),
            None => format!("reserved MODCOD {} {}{pilots}", self.0 >> 2, self.frame_size()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_read_back() {
        let mut seen = 0;
        for modcod in Modcod::all() {
            for size in [FrameSize::Normal, FrameSize::Short] {
                for pilots in [false, true] {
                    let Some(pls) = Pls::from_parts(modcod, size, pilots) else { continue };
                    seen += 1;
                    assert_eq!(pls.modcod(), Some(modcod));
                    assert_eq!(pls.frame_size(), size);
                    assert_eq!(pls.pilots(), pilots);
                    assert_eq!(Pls::new(pls.value()), pls);
                }
            }
        }
        assert_eq!(seen, 2 * (52 + 55));
        assert_eq!(Pls::from_parts(Modcod::new(11).unwrap(), FrameSize::Short, true), None);
        assert_eq!(Pls::from_parts(Modcod::new(132).unwrap(), FrameSize::Short, true), None);
    }

    #[test]
    fn names_say_what_the_frame_is() {
        let name = |value| Pls::new(value).to_string();
        assert_eq!(name(20), "QPSK 3/5 normal");
        assert_eq!(name(115), "32APSK 9/10 short, pilots");
        assert_eq!(name(1), "dummy PLFRAME");
        assert_eq!(name(118), "reserved MODCOD 29 short");
        assert_eq!(name(205), "256APSK 29/45-L normal, pilots");
        assert_eq!(name(131), "VL-SNR frame of set 2");
        assert_eq!(name(250), "reserved PLS 250, pilots");
    }
}

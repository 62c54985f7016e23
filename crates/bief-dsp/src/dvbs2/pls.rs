//! Physical-layer signalling: the eight bits in a PLHEADER that describe the frame.

use std::fmt;

use super::{Fec, Modcod, VlSnr, s2x};

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

    /// Degree of the field that the BCH code is built on: each error that it corrects costs that many bits.
    pub(super) const fn field_degree(self) -> usize {
        match self {
            FrameSize::Normal => 16,
            FrameSize::Short => 14,
            FrameSize::Medium => 15,
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
pub struct Pls {
    value: u8,
    /// In a VL-SNR frame whose second header is known, one more than the index in it; else 0.
    vl_snr: u8,
}

impl Pls {
    /// The dummy PLFRAME: no data, no pilots, constant payload.
    pub const DUMMY: Pls = Pls::new(0);

    /// The PLS of that value.
    pub const fn new(value: u8) -> Pls {
        Pls { value, vl_snr: 0 }
    }

    /// The PLS of a kind of VL-SNR frame: what its second header says goes with it.
    pub const fn of_vl_snr(kind: VlSnr) -> Pls {
        Pls { vl_snr: kind.header_index() + 1, ..kind.pls() }
    }

    /// The kind of VL-SNR frame, if this is one and its second header is known.
    pub const fn vl_snr(self) -> Option<VlSnr> {
        match self.vl_snr {
            0 => None,
            number => VlSnr::of_header(number - 1),
        }
    }

    /// Whether this is a VL-SNR frame of either set.
    pub const fn is_vl_snr(self) -> bool {
        s2x::is_vl_snr(self.value)
    }

    /// Puts the parts together; `None` where there is no such frame, as of rate 9/10 with short FECFRAMEs.
    pub const fn from_parts(modcod: Modcod, size: FrameSize, pilots: bool) -> Option<Pls> {
        let value = match (modcod.number(), s2x::frame_of(modcod, size)) {
            (number @ 1..=28, _) => number << 2 | (matches!(size, FrameSize::Short) as u8) << 1,
            (_, Some(frame)) => frame.pls,
            _ => return None,
        };
        let pls = Pls::new(value | pilots as u8);
        if pls.fec().is_some() { Some(pls) } else { None }
    }

    /// Every value, 0 to 255.
    pub fn all() -> impl Iterator<Item = Pls> + Clone {
        (0..=u8::MAX).map(Pls::new)
    }

    /// Those of DVB-S2, 0 to 127.
    pub fn of_s2() -> impl Iterator<Item = Pls> + Clone {
        (0..128).map(Pls::new)
    }

    /// Whether this is a value of DVB-S2X.
    pub const fn is_s2x(self) -> bool {
        self.value >= 128
    }

    /// In DVB-S2 MODCOD · 4 + 2 (short) + 1 (pilots), 0 to 127; in DVB-S2X 128 to 255.
    pub const fn value(self) -> u8 {
        self.value
    }

    /// The MODCOD, or `None` for a dummy frame, for VL-SNR frames and for reserved values.
    pub const fn modcod(self) -> Option<Modcod> {
        match s2x::frame(self.value) {
            Some(frame) => Some(frame.modcod()),
            None if self.is_s2x() => None,
            None => Modcod::new(self.value >> 2),
        }
    }

    /// Size of the FECFRAME (meaningless in frames without a MODCOD whose kind is unknown).
    pub const fn frame_size(self) -> FrameSize {
        if let Some(kind) = self.vl_snr() {
            return kind.frame_size();
        }
        match s2x::frame(self.value) {
            Some(frame) => frame.size,
            None if self.value & 2 == 0 || self.is_s2x() => FrameSize::Normal,
            None => FrameSize::Short,
        }
    }

    /// Whether pilot blocks are present. A dummy frame has none, whatever its pilot bit says.
    pub const fn pilots(self) -> bool {
        match s2x::passed_over(self.value) {
            Some((_, pilots)) => pilots,
            None => self.value & 1 == 1 && !self.is_dummy(),
        }
    }

    /// Whether this is a dummy frame (MODCOD 0).
    pub const fn is_dummy(self) -> bool {
        self.value >> 2 == 0
    }

    /// Block lengths of the code, or `None` when the frame carries none: dummy, VL-SNR, reserved, 9/10 short.
    pub const fn fec(self) -> Option<Fec> {
        match (self.modcod(), self.vl_snr()) {
            (Some(modcod), _) => Fec::new(self.frame_size(), modcod.rate(self.frame_size())),
            (None, Some(kind)) => Some(kind.fec()),
            (None, None) => None,
        }
    }
}

impl fmt::Debug for Pls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Pls({}: {self})", self.value)
    }
}

impl fmt::Display for Pls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let pilots = if self.pilots() { ", pilots" } else { "" };
        if let Some(kind) = self.vl_snr() {
            return f.pad(&format!("VL-SNR {kind}"));
        }
        f.pad(&match self.modcod() {
            Some(modcod) => format!("{modcod} {}{pilots}", self.frame_size()),
            None if self.is_dummy() => "dummy PLFRAME".to_owned(),
            None if s2x::is_vl_snr(self.value) => format!("VL-SNR frame of set {}", (self.value - 127) / 2),
            None if self.is_s2x() => format!("reserved PLS {}{pilots}", self.value),
            None => format!("reserved MODCOD {} {}{pilots}", self.value >> 2, self.frame_size()),
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
        let kind: VlSnr = "bpsk-s-1/5:short".parse().unwrap();
        let pls = Pls::of_vl_snr(kind);
        assert_eq!((pls.to_string().as_str(), pls.value(), pls.vl_snr()), ("VL-SNR BPSK-S 1/5 short", 129, Some(kind)));
        assert_eq!(name(250), "reserved PLS 250, pilots");
    }
}

//! What goes with a frame as bytes, for whoever sends frames elsewhere: little endian, the same on every machine.

use num_complex::Complex32;

use super::{FrameSync, Pls, SignalLevel, VlSnr};

const MEASURED: u8 = 1;
const INVERTED: u8 = 2;

impl Pls {
    /// The value, and of a VL-SNR frame one more than the index in its second header.
    ///
    /// ```
    /// use bief_dsp::dvbs2::Pls;
    ///
    /// assert_eq!(Pls::new(43).to_bytes(), [43, 0]);
    /// assert_eq!(Pls::from_bytes([43, 0]), Some(Pls::new(43)));
    /// assert_eq!(Pls::from_bytes([43, 99]), None);
    /// ```
    pub fn to_bytes(self) -> [u8; 2] {
        [self.value(), self.vl_snr().map_or(0, |kind| kind.header_index() + 1)]
    }

    /// What [`to_bytes`](Self::to_bytes) gave; `None` of bytes that stand for no PLS.
    pub fn from_bytes(bytes: [u8; 2]) -> Option<Self> {
        match bytes {
            [value, 0] => Some(Self::new(value)),
            [value, number] => {
                let kind = VlSnr::of_header(number - 1)?;
                (kind.pls().value() == value).then(|| Self::of_vl_snr(kind))
            }
        }
    }
}

impl SignalLevel {
    /// Amplitude, then noise.
    pub fn to_bytes(self) -> [u8; 8] {
        let mut bytes = [0; 8];
        bytes[..4].copy_from_slice(&self.amplitude.to_le_bytes());
        bytes[4..].copy_from_slice(&self.n0.to_le_bytes());
        bytes
    }

    /// What [`to_bytes`](Self::to_bytes) gave.
    pub fn from_bytes(bytes: [u8; 8]) -> Self {
        let [amplitude, n0] = [0, 4].map(|start| f32::from_le_bytes(array(&bytes, start)));
        Self { amplitude, n0 }
    }
}

impl FrameSync {
    /// Its fields in their order, the two flags in one byte.
    pub fn to_bytes(self) -> [u8; 51] {
        let Self { pls, position, step, frequency, phase, amplitude, quality, measured, inverted, dc } = self;
        let mut bytes = [0; 51];
        bytes[..2].copy_from_slice(&pls.to_bytes());
        for (number, value) in [position, step, frequency, phase].into_iter().enumerate() {
            bytes[2 + 8 * number..][..8].copy_from_slice(&value.to_le_bytes());
        }
        for (number, value) in [amplitude, quality, dc.re, dc.im].into_iter().enumerate() {
            bytes[34 + 4 * number..][..4].copy_from_slice(&value.to_le_bytes());
        }
        bytes[50] = if measured { MEASURED } else { 0 } | if inverted { INVERTED } else { 0 };
        bytes
    }

    /// What [`to_bytes`](Self::to_bytes) gave; `None` of bytes that stand for no place of a frame: a place or a rate that is no number,
    /// other flags, a PLS that is none.
    pub fn from_bytes(bytes: [u8; 51]) -> Option<Self> {
        let [position, step, frequency, phase] = [2, 10, 18, 26].map(|start| f64::from_le_bytes(array(&bytes, start)));
        let [amplitude, quality, re, im] = [34, 38, 42, 46].map(|start| f32::from_le_bytes(array(&bytes, start)));
        let (pls, flags) = (Pls::from_bytes([bytes[0], bytes[1]])?, bytes[50]);
        let is_one = position.is_finite() && step.is_finite() && flags & !(MEASURED | INVERTED) == 0;
        is_one.then_some(Self {
            pls,
            position,
            step,
            frequency,
            phase,
            amplitude,
            quality,
            measured: flags & MEASURED != 0,
            inverted: flags & INVERTED != 0,
            dc: Complex32::new(re, im),
        })
    }
}

fn array<const N: usize>(bytes: &[u8], start: usize) -> [u8; N] {
    bytes[start..start + N].try_into().expect("it is as long")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_read_again() {
        for pls in (0..=255).map(Pls::new).chain(VlSnr::all().map(Pls::of_vl_snr)) {
            assert_eq!(Pls::from_bytes(pls.to_bytes()), Some(pls));
        }
        let level = SignalLevel { amplitude: 0.3, n0: 1e-3 };
        assert_eq!(SignalLevel::from_bytes(level.to_bytes()), level);
        for (measured, inverted) in [(false, false), (true, false), (false, true), (true, true)] {
            let sync = FrameSync {
                pls: Pls::of_vl_snr(VlSnr::all().last().unwrap()),
                position: 123.456,
                step: 2.000_001,
                frequency: -1e-7,
                phase: 3.1,
                amplitude: 0.25,
                quality: 0.99,
                measured,
                inverted,
                dc: Complex32::new(-0.5, 1e-9),
            };
            assert_eq!(FrameSync::from_bytes(sync.to_bytes()), Some(sync));
        }
    }

    #[test]
    fn bytes_that_are_none_are_refused() {
        let bytes = [0; 51];
        assert!(FrameSync::from_bytes(bytes).is_some());
        for (place, byte) in [(50, 4), (1, 99), (1, 1)] {
            let mut bytes = bytes;
            bytes[place] = byte;
            assert_eq!(FrameSync::from_bytes(bytes), None, "{byte} at {place}");
        }
        for start in [2, 10] {
            let mut bytes = bytes;
            bytes[start..start + 8].copy_from_slice(&f64::NAN.to_le_bytes());
            assert_eq!(FrameSync::from_bytes(bytes), None, "not a number at {start}");
        }
    }
}

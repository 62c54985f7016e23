//! Unidirectional lightweight encapsulation (RFC 4326): SNDUs in the payloads of one PID.

use bief_dsp::transport::crc32;

use crate::counts::Counts;

/// Bytes of length and type, which the length does not count.
const FRONT: usize = 4;
const ADDRESS: usize = 6;
const CRC: usize = 4;
/// In the place of a length: the rest of the payload is padding.
const END: u16 = 0xFFFF;

/// The SNDU that is coming in.
#[derive(Clone, Debug, Default)]
pub(super) struct Ule {
    /// Empty between two, and where it is not known where one begins; else two bytes or more.
    bytes: Vec<u8>,
}

impl Ule {
    /// What has come is not continued; whether that was something.
    pub(super) fn lose(&mut self) -> bool {
        let was_inside = !self.bytes.is_empty();
        self.bytes.clear();
        was_inside
    }

    /// Takes a payload, in which an SNDU begins if it `starts`.
    pub(super) fn push(&mut self, payload: &[u8], starts: bool, counts: &mut Counts, out: &mut impl FnMut(&[u8])) {
        if !starts {
            // Behind the end is padding: another one would have begun with a pointer.
            if !self.bytes.is_empty() {
                self.go_on(payload, counts, out);
            }
            return;
        }
        let pointer = usize::from(payload[0]);
        let Some((before, mut after)) = payload[1..].split_at_checked(pointer) else {
            counts.malformed += 1;
            self.lose();
            return;
        };
        if !self.bytes.is_empty() {
            let agrees = length(&self.bytes) == self.bytes.len() + before.len();
            if agrees {
                self.go_on(before, counts, out);
            }
            counts.incomplete += u64::from(self.lose());
        }
        while let [high, low, ..] = after {
            if u16::from_be_bytes([*high, *low]) == END {
                return;
            }
            let whole = length(after);
            if whole > after.len() {
                self.bytes.extend_from_slice(after);
                return;
            }
            let (unit, rest) = after.split_at(whole);
            deliver(unit, counts, out);
            after = rest;
        }
    }

    fn go_on(&mut self, bytes: &[u8], counts: &mut Counts, out: &mut impl FnMut(&[u8])) {
        let whole = length(&self.bytes);
        let part = (whole - self.bytes.len()).min(bytes.len());
        self.bytes.extend_from_slice(&bytes[..part]);
        if self.bytes.len() == whole {
            deliver(&self.bytes, counts, out);
            self.bytes.clear();
        }
    }
}

/// The bytes of an SNDU that begins so.
fn length(front: &[u8]) -> usize {
    FRONT + usize::from(u16::from_be_bytes([front[0], front[1]]) & 0x7FFF)
}

fn deliver(unit: &[u8], counts: &mut Counts, out: &mut impl FnMut(&[u8])) {
    let has_address = unit[0] & 0x80 == 0;
    let front = FRONT + if has_address { ADDRESS } else { 0 };
    if unit.len() < front + CRC {
        counts.malformed += 1;
    } else if crc32(unit) != 0 {
        counts.crc_errors += 1;
    } else {
        counts.deliver(u16::from_be_bytes([unit[2], unit[3]]), &unit[front..unit.len() - CRC], out);
    }
}

//! Sections, put together from the payloads of one PID.

use crate::counts::Counts;

/// Bytes before those that a section's length counts, and of the longest section.
const FRONT: usize = 3;
const LONGEST: usize = 4096;
/// A table that there is none of: the rest of the payload is stuffing.
const STUFFING: u8 = 0xFF;

/// The section that is coming in.
#[derive(Clone, Debug, Default)]
pub(super) struct Sections {
    /// Empty where it is not known where one begins.
    bytes: Vec<u8>,
}

impl Sections {
    /// What has come is not continued; whether that was something.
    pub(super) fn lose(&mut self) -> bool {
        let was_inside = !self.bytes.is_empty();
        self.bytes.clear();
        was_inside
    }

    /// Takes a payload, in which a section begins if it `starts`; gives each whole section to `take`.
    pub(super) fn push(
        &mut self,
        payload: &[u8],
        starts: bool,
        counts: &mut Counts,
        take: &mut impl FnMut(&[u8], &mut Counts),
    ) {
        if !starts {
            if !self.bytes.is_empty() {
                self.go_on(payload, counts, take);
            }
            return;
        }
        let pointer = usize::from(payload[0]);
        let Some((before, after)) = payload[1..].split_at_checked(pointer) else {
            counts.malformed += 1;
            self.lose();
            return;
        };
        if !self.bytes.is_empty() {
            self.go_on(before, counts, take);
            counts.incomplete += u64::from(self.lose());
        }
        self.go_on(after, counts, take);
    }

    /// Takes bytes, of the section that is coming in or else of those that begin here.
    fn go_on(&mut self, mut bytes: &[u8], counts: &mut Counts, take: &mut impl FnMut(&[u8], &mut Counts)) {
        while !bytes.is_empty() {
            if self.bytes.is_empty() && bytes[0] == STUFFING {
                return;
            }
            // What a section needs as far as its length, then as far as that says.
            let held = self.bytes.len();
            let wanted = if held < FRONT { FRONT } else { length(&self.bytes) };
            let (part, rest) = bytes.split_at((wanted - held).min(bytes.len()));
            self.bytes.extend_from_slice(part);
            bytes = rest;
            if self.bytes.len() < FRONT {
                return;
            }
            let whole = length(&self.bytes);
            if whole > LONGEST {
                counts.malformed += 1;
                self.lose();
                return;
            }
            if self.bytes.len() == whole {
                take(&self.bytes, counts);
                self.bytes.clear();
            }
        }
    }
}

/// The bytes of a section that has this front.
fn length(front: &[u8]) -> usize {
    FRONT + usize::from(u16::from_be_bytes([front[1], front[2]]) & 0xFFF)
}

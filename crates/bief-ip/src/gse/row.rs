//! GSE-HEM: the row of GSE packets that data fields cut anywhere, at bits.

use super::FRONT;

/// The bits from the beginning of a packet on.
#[derive(Clone, Debug, Default)]
pub(super) struct Row {
    /// Left-aligned; behind `bits`, zeros.
    bytes: Vec<u8>,
    bits: usize,
    /// Whether it is known where the next packet begins.
    known: bool,
}

impl Row {
    pub(super) fn is_known(&self) -> bool {
        self.known
    }

    /// Whether a packet has begun that is not complete.
    pub(super) fn is_inside(&self) -> bool {
        self.bits > 0
    }

    pub(super) fn bits(&self) -> usize {
        self.bits
    }

    /// The bytes of the first packet, where its length has come.
    pub(super) fn front(&self) -> Option<usize> {
        let word = self.whole_bytes().first_chunk::<FRONT>()?;
        Some(FRONT + usize::from(u16::from_be_bytes(*word) & 0xFFF))
    }

    pub(super) fn whole_bytes(&self) -> &[u8] {
        &self.bytes[..self.bits / 8]
    }

    /// It is not known where a packet begins.
    pub(super) fn forget(&mut self) {
        self.bytes.clear();
        (self.bits, self.known) = (0, false);
    }

    /// A packet begins at bit `start` of a data field of so many bits.
    pub(super) fn begin(&mut self, field: &[u8], start: usize, bits: usize) {
        self.forget();
        self.known = true;
        self.append(field, start, bits);
    }

    /// Appends bits `start` to `end` of a data field.
    pub(super) fn append(&mut self, field: &[u8], start: usize, end: usize) {
        // The bits of this byte of the row that are free.
        let free = self.bytes.len() * 8 - self.bits;
        let (mut at, skip) = (start, free.min(end - start));
        if skip > 0 {
            let last = self.bytes.len() - 1;
            self.bytes[last] |= (byte_at(field, at) & !(0xFF_u16 >> skip) as u8) >> (8 - free);
            at += skip;
        }
        if at.is_multiple_of(8) {
            self.bytes.extend_from_slice(&field[at / 8..end.div_ceil(8)]);
        } else {
            self.bytes.extend((at..end).step_by(8).map(|bit| byte_at(field, bit)));
        }
        self.bits += end - start;
        let beyond = self.bytes.len() * 8 - self.bits;
        if let Some(last) = self.bytes.last_mut().filter(|_| beyond > 0) {
            *last &= 0xFF << beyond;
        }
    }

    /// Keeps the last of the whole bytes, and the bits behind them.
    pub(super) fn keep_last(&mut self, bytes: usize) {
        let gone = self.bits / 8 - bytes;
        self.bytes.drain(..gone);
        self.bits -= 8 * gone;
    }
}

/// The eight bits from bit `bit` on; zeros behind the end.
fn byte_at(field: &[u8], bit: usize) -> u8 {
    let byte = |index: usize| u16::from(field.get(index).copied().unwrap_or(0));
    ((byte(bit / 8) << 8 | byte(bit / 8 + 1)) << (bit % 8) >> 8) as u8
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn bit(bytes: &[u8], bit: usize) -> bool {
        bytes[bit / 8] >> (7 - bit % 8) & 1 != 0
    }

    proptest! {
        #[test]
        fn bits_are_appended_wherever_they_lie(
            parts in prop::collection::vec((prop::collection::vec(any::<u8>(), 1..6), 0_usize..24, 0_usize..24), 1..6),
        ) {
            let (mut row, mut expected) = (Row::default(), Vec::new());
            for (field, a, b) in parts {
                let (start, end) = (a.min(b).min(8 * field.len()), a.max(b).min(8 * field.len()));
                row.append(&field, start, end);
                expected.extend((start..end).map(|at| bit(&field, at)));
                prop_assert_eq!(row.bits(), expected.len());
                prop_assert_eq!(row.bytes.len(), expected.len().div_ceil(8));
                let got: Vec<bool> = (0..8 * row.bytes.len()).map(|at| bit(&row.bytes, at)).collect();
                prop_assert_eq!(&got[..expected.len()], &expected[..]);
                prop_assert!(got[expected.len()..].iter().all(|bit| !bit));
            }
        }
    }
}

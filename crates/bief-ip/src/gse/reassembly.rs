//! PDUs that come in pieces, put together in bounded memory.

use bief_dsp::transport::crc32;

use crate::counts::Counts;

/// Bytes of a CRC-32.
const CRC: usize = 4;
/// Bytes of a total length.
const TOTAL: usize = 2;
/// BBFRAMEs of its stream that a PDU may take.
const LONGEST_WAIT: u64 = 256;
/// Bytes of memory for the PDUs of a stream, for as long as they announce to be: the oldest gives way. Some 700 of 1500 bytes, or 15 of
/// the longest.
const ROOM: usize = 1 << 20;

/// A PDU that has begun.
#[derive(Clone, Debug)]
struct Pdu {
    fragment: u8,
    /// Bytes announced: protocol type, label, PDU.
    total: u16,
    label: usize,
    /// Those that have come, behind the total length.
    bytes: Vec<u8>,
    /// Frame in which it began.
    since: u64,
}

/// The open PDUs of a stream.
#[derive(Clone, Debug, Default)]
pub(super) struct Reassembly {
    /// The oldest first.
    open: Vec<Pdu>,
    /// Memory for further ones.
    spare: Vec<Vec<u8>>,
    /// Bytes of memory of all of them.
    held: usize,
    frames: u64,
}

impl Reassembly {
    /// A frame of the stream has come: PDUs that began too long ago are given up.
    pub(super) fn next_frame(&mut self, counts: &mut Counts) {
        self.frames += 1;
        while self.open.first().is_some_and(|pdu| self.frames - pdu.since >= LONGEST_WAIT) {
            self.give_up(0, counts);
        }
    }

    /// A first piece, `piece` being protocol type, label and the PDU's first bytes.
    pub(super) fn begin(&mut self, fragment: u8, total: u16, label: usize, piece: &[u8], counts: &mut Counts) {
        if let Some(old) = self.find(fragment) {
            self.give_up(old, counts);
        }
        let whole = usize::from(total);
        if piece.len() < 2 + label || piece.len() > whole {
            counts.malformed += 1;
            return;
        }
        let mut bytes = self.spare.pop().unwrap_or_default();
        self.held -= bytes.capacity();
        let needed = bytes.capacity().max(TOTAL + whole);
        while self.held + needed > ROOM {
            match self.spare.pop() {
                Some(spare) => self.held -= spare.capacity(),
                None => self.give_up(0, counts),
            }
        }
        bytes.reserve_exact(TOTAL + whole);
        self.held += bytes.capacity();
        bytes.extend_from_slice(&total.to_be_bytes());
        bytes.extend_from_slice(piece);
        self.open.push(Pdu { fragment, total, label, bytes, since: self.frames });
    }

    /// A piece that is neither the first nor the last.
    pub(super) fn go_on(&mut self, fragment: u8, piece: &[u8], counts: &mut Counts) {
        // Of one that has not begun the last piece tells.
        let Some(index) = self.find(fragment) else { return };
        let pdu = &mut self.open[index];
        if pdu.bytes.len() - TOTAL + piece.len() > usize::from(pdu.total) {
            return self.give_up(index, counts);
        }
        pdu.bytes.extend_from_slice(piece);
    }

    /// The last piece, its CRC-32 behind it.
    pub(super) fn end(&mut self, fragment: u8, piece: &[u8], counts: &mut Counts, out: &mut impl FnMut(&[u8])) {
        let Some(index) = self.find(fragment) else {
            counts.incomplete += 1;
            return;
        };
        let Some((piece, crc)) = piece.split_last_chunk::<CRC>() else {
            counts.malformed += 1;
            return self.remove(index);
        };
        let pdu = &mut self.open[index];
        if pdu.bytes.len() - TOTAL + piece.len() != usize::from(pdu.total) {
            return self.give_up(index, counts);
        }
        pdu.bytes.extend_from_slice(piece);
        if crc32(&pdu.bytes) == u32::from_be_bytes(*crc) {
            let kind = u16::from_be_bytes([pdu.bytes[TOTAL], pdu.bytes[TOTAL + 1]]);
            counts.deliver(kind, &pdu.bytes[TOTAL + 2 + pdu.label..], out);
        } else {
            counts.crc_errors += 1;
        }
        self.remove(index);
    }

    fn find(&self, fragment: u8) -> Option<usize> {
        self.open.iter().position(|pdu| pdu.fragment == fragment)
    }

    fn give_up(&mut self, index: usize, counts: &mut Counts) {
        counts.incomplete += 1;
        self.remove(index);
    }

    fn remove(&mut self, index: usize) {
        let mut bytes = self.open.remove(index).bytes;
        bytes.clear();
        self.spare.push(bytes);
    }

    pub(super) fn open(&self) -> usize {
        self.open.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_bounded_whatever_is_announced() {
        let (mut reassembly, mut counts) = (Reassembly::default(), Counts::default());
        let mut random = fastrand::Rng::with_seed(2);
        for frame in 0..20_000 {
            reassembly.next_frame(&mut counts);
            let total = if random.bool() { random.u16(2..) } else { random.u16(2..1500) };
            let piece = vec![0; usize::from(total).min(random.usize(2..4000))];
            reassembly.begin(random.u8(..), total, 0, &piece, &mut counts);
            reassembly.go_on(random.u8(..), &piece, &mut counts);
            reassembly.end(random.u8(..), &piece, &mut counts, &mut |_: &[u8]| ());
            let memory = reassembly.open.iter().map(|pdu| &pdu.bytes).chain(&reassembly.spare).map(Vec::capacity);
            assert_eq!(memory.sum::<usize>(), reassembly.held);
            assert!(reassembly.held <= ROOM && reassembly.open() <= 256, "frame {frame}");
        }
        assert!(counts.incomplete > 1000);
    }
}

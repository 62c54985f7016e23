//! IP packets into BBFRAMEs.

use bief_dsp::dvbs2::{BBHEADER, BbHeader, RollOff, StreamType};
use bief_dsp::transport::{crc32, crc32_continued};

use super::FRONT;
use crate::pdu::protocol;

/// Bytes of the longest packet: its total length counts the protocol type, too.
pub const LONGEST_PDU: usize = u16::MAX as usize - 2;
/// The most that a length counts.
const LONGEST: usize = 0xFFF;
/// No label: for all.
const BROADCAST: u16 = 2 << 12;
/// The label type of pieces behind the first.
const NO_LABEL: u16 = 3 << 12;
const STARTS: u16 = 1 << 15;
const ENDS: u16 = 1 << 14;
/// Bytes of a first piece, another piece and a CRC-32 beside the PDU's.
const FIRST: usize = FRONT + 5;
const NEXT: usize = FRONT + 1;
const CRC: usize = 4;
/// Bytes of a PDU for which it pays to cut it: a data field that has fewer left ends there.
const LEAST_PIECE: usize = 32;

/// Fills BBFRAMEs of a generic continuous stream with GSE packets, without labels: one after the other, cut where a frame ends.
/// [`Gse`](super::Gse) has an example.
#[derive(Clone, Debug)]
pub struct Encapsulator {
    header: BbHeader,
    /// What is being sent.
    packet: Vec<u8>,
    place: Place,
    /// The next fragment identifier.
    fragment: u8,
}

/// How far the packet is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// It is sent.
    Done,
    Waiting,
    /// So many bytes are sent, under this fragment identifier.
    Cut(usize, u8),
}

impl Encapsulator {
    /// Of a single stream with constant coding and modulation.
    pub fn new(roll_off: RollOff) -> Self {
        let header =
            BbHeader { stream: StreamType::GenericContinuous, upl: 0, sync: 0, ..BbHeader::transport(roll_off, 0) };
        Self { header, packet: Vec::new(), place: Place::Done, fragment: 0 }
    }

    /// As input stream `isi` of a carrier of several.
    #[must_use]
    pub fn of_stream(mut self, isi: u8) -> Self {
        self.header.isi = Some(isi);
        self
    }

    /// On a carrier whose coding or modulation changes.
    #[must_use]
    pub fn variable_coding(mut self) -> Self {
        self.header.constant_coding = false;
        self
    }

    /// Makes a BBFRAME of packets that `next` puts into its argument, answering whether there was one; whether it holds any data.
    ///
    /// # Panics
    /// A frame of fewer than 49 bytes or more than 8201; a packet that is no IP packet or longer than [`LONGEST_PDU`].
    pub fn fill(&mut self, frame: &mut [u8], mut next: impl FnMut(&mut Vec<u8>) -> bool) -> bool {
        let (header, field) = frame.split_first_chunk_mut::<BBHEADER>().expect("room for a header");
        let may = FIRST + LEAST_PIECE..=usize::from(u16::MAX / 8);
        assert!(may.contains(&field.len()), "no frame has {} bytes", BBHEADER + field.len());
        let mut used = 0;
        loop {
            if self.place == Place::Done {
                if !next(&mut self.packet) {
                    break;
                }
                assert!(self.packet.len() <= LONGEST_PDU, "a packet of {} bytes is too long", self.packet.len());
                self.place = Place::Waiting;
            }
            match self.put(&mut field[used..]) {
                0 => break,
                bytes => used += bytes,
            }
        }
        field[used..].fill(0);
        self.header.dfl = 8 * used as u16;
        *header = self.header.to_bytes();
        used > 0
    }

    /// Puts a packet, or a piece of it, to the front of `room`: bytes used, 0 where it has to wait for the next frame.
    fn put(&mut self, room: &mut [u8]) -> usize {
        let long = self.packet.len();
        let kind = protocol(&self.packet).expect("an IP packet").to_be_bytes();
        match self.place {
            Place::Done => 0,
            Place::Waiting if 2 + long <= LONGEST && FRONT + 2 + long <= room.len() => {
                self.place = Place::Done;
                write(room, STARTS | ENDS | BROADCAST, &[&kind, &self.packet])
            }
            Place::Waiting => {
                let piece = room.len().saturating_sub(FIRST).min(LONGEST + FRONT - FIRST).min(long - 1);
                if piece < LEAST_PIECE.min(long - 1) {
                    return 0;
                }
                let fragment = self.fragment;
                self.fragment = fragment.wrapping_add(1);
                self.place = Place::Cut(piece, fragment);
                let total = (2 + long as u16).to_be_bytes();
                write(room, STARTS | BROADCAST, &[&[fragment], &total, &kind, &self.packet[..piece]])
            }
            Place::Cut(sent, fragment) => {
                let rest = &self.packet[sent..];
                let last = NEXT + rest.len() + CRC;
                if last <= room.len() && last - FRONT <= LONGEST {
                    self.place = Place::Done;
                    let total = (2 + long as u16).to_be_bytes();
                    let crc = [&kind, &self.packet[..]].into_iter().fold(crc32(&total), crc32_continued);
                    return write(room, ENDS | NO_LABEL, &[&[fragment], rest, &crc.to_be_bytes()]);
                }
                // The last piece has at least a byte of its own.
                let piece = room.len().saturating_sub(NEXT).min(LONGEST + FRONT - NEXT).min(rest.len() - 1);
                if piece == 0 {
                    return 0;
                }
                self.place = Place::Cut(sent + piece, fragment);
                write(room, NO_LABEL, &[&[fragment], &rest[..piece]])
            }
        }
    }
}

/// Writes a GSE packet of these parts to the front of `room`: its bytes.
fn write(room: &mut [u8], flags: u16, parts: &[&[u8]]) -> usize {
    let length: usize = parts.iter().map(|part| part.len()).sum();
    room[..FRONT].copy_from_slice(&(flags | length as u16).to_be_bytes());
    let mut at = FRONT;
    for part in parts {
        room[at..at + part.len()].copy_from_slice(part);
        at += part.len();
    }
    at
}

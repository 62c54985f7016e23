//! Generic stream encapsulation (GSE, ETSI TS 102 606-1): IP packets in the data fields of BBFRAMEs.

mod encapsulate;
mod reassembly;
mod row;

pub use encapsulate::{Encapsulator, LONGEST_PDU};

use bief_dsp::dvbs2::{BbHeader, NO_PACKET_STARTS, StreamType};

use crate::counts::Counts;
use reassembly::Reassembly;
use row::Row;

/// Bytes of a GSE packet before those that its length counts.
const FRONT: usize = 2;

/// Takes IP packets out of the data fields of one stream: generic continuous, or GSE-HEM.
///
/// PDUs come whole or in pieces; those of up to 256 may interleave. A frame that is missing costs the PDUs that had a piece in it:
/// of those in pieces the CRC-32 tells; a whole packet has none.
///
/// Memory is bounded: PDUs that have begun have 1 MiB together, for as long as they announce to be, and the oldest gives way; one
/// that is not complete within 256 frames is given up.
///
/// # Example
/// ```
/// use bief_dsp::dvbs2::{BBHEADER, BbHeader, RollOff};
/// use bief_ip::gse::{Encapsulator, Gse};
/// let mut packet = vec![0; 1000];
/// (packet[0], packet[2], packet[3]) = (0x45, 3, 0xE8);
/// let (mut gse, mut got) = (Gse::new(), Vec::new());
/// let mut encapsulator = Encapsulator::new(RollOff::R20);
/// let mut to_send = vec![packet.clone()];
/// let mut frame = [0; 384]; // QPSK 1/4 short
/// while encapsulator.fill(&mut frame, |next| to_send.pop().map(|packet| *next = packet).is_some()) {
///     let header = BbHeader::parse(&frame)?;
///     gse.push(&header, &frame[BBHEADER..], &mut |packet: &[u8]| got.push(packet.to_vec()));
/// }
/// assert_eq!(got, [packet]);
/// # Ok::<(), bief_dsp::dvbs2::BbHeaderError>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Gse {
    reassembly: Reassembly,
    /// Of GSE-HEM, what has come of the packet that the next frame goes on with.
    row: Row,
    counts: Counts,
}

/// What lies at the front of some bytes.
enum Front {
    /// Nothing up to the end of the data field.
    Padding,
    /// A packet of so many bytes.
    Packet(usize),
    /// The beginning of a packet.
    Cut,
}

impl Gse {
    /// Of a stream of which nothing has come.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes the data field behind this header, as long as DFL says or longer, and gives each IP packet that it completes to `out`.
    /// What is no stream of GSE packets is passed over.
    pub fn push(&mut self, header: &BbHeader, field: &[u8], out: &mut impl FnMut(&[u8])) {
        self.reassembly.next_frame(&mut self.counts);
        let bits = usize::from(header.dfl).min(8 * field.len());
        match header.stream {
            StreamType::GenericContinuous => {
                if self.walk(&field[..bits / 8], out).is_some_and(|cut| cut.len() >= FRONT) {
                    self.counts.malformed += 1;
                }
            }
            StreamType::GseHem => self.push_row(header, field, bits, out),
            StreamType::Transport | StreamType::GenericPacketised => {}
        }
    }

    /// A frame that may be of this stream cannot be read.
    pub fn lose(&mut self) {
        if self.row.is_inside() {
            self.counts.incomplete += 1;
        }
        self.row.forget();
    }

    /// What came of the stream. PDUs that have begun are incomplete.
    pub fn counts(&self) -> Counts {
        Counts { incomplete: self.counts.incomplete + self.reassembly.open() as u64, ..self.counts }
    }

    /// GSE-HEM: goes on with the packet that the frame before cut, if this frame is the next one.
    fn push_row(&mut self, header: &BbHeader, field: &[u8], bits: usize, out: &mut impl FnMut(&[u8])) {
        let start = usize::from(header.syncd);
        let has_start = header.syncd != NO_PACKET_STARTS && start < bits;
        let mut row = std::mem::take(&mut self.row);
        if row.is_known() {
            let before = row.bits();
            row.append(field, 0, bits);
            // Bits until the next packet begins; more than the field has where not even the length has come.
            let rest = match row.front() {
                _ if before == 0 => 0,
                Some(bytes) => (8 * bytes).saturating_sub(before),
                None => usize::MAX,
            };
            let agrees = if rest < bits { has_start && start == rest } else { !has_start };
            if !agrees {
                self.counts.incomplete += u64::from(before > 0);
                row.forget();
            }
        }
        if !row.is_known() && has_start {
            row.begin(field, start, bits);
        }
        if row.is_known() {
            match self.walk(row.whole_bytes(), out) {
                Some(cut) => {
                    let cut = cut.len();
                    row.keep_last(cut);
                }
                None => row.forget(),
            }
        }
        self.row = row;
    }

    /// Takes packets from the front of these bytes; the last one if it is cut, `None` behind padding.
    fn walk<'a>(&mut self, mut bytes: &'a [u8], out: &mut impl FnMut(&[u8])) -> Option<&'a [u8]> {
        loop {
            match front(bytes) {
                Front::Padding => return None,
                Front::Cut => return Some(bytes),
                Front::Packet(length) => {
                    self.packet(&bytes[..length], out);
                    bytes = &bytes[length..];
                }
            }
        }
    }

    /// Takes a packet.
    fn packet(&mut self, packet: &[u8], out: &mut impl FnMut(&[u8])) {
        let (starts, ends) = (packet[0] & 0x80 != 0, packet[0] & 0x40 != 0);
        let label = match packet[0] >> 4 & 3 {
            0 => 6,
            1 => 3,
            _ => 0,
        };
        let body = &packet[FRONT..];
        match (starts, ends) {
            (true, true) => match body.split_first_chunk() {
                Some((&kind, rest)) if rest.len() >= label => {
                    self.counts.deliver(u16::from_be_bytes(kind), &rest[label..], out);
                }
                _ => self.counts.malformed += 1,
            },
            (true, false) => match body {
                [fragment, high, low, piece @ ..] => {
                    let total = u16::from_be_bytes([*high, *low]);
                    self.reassembly.begin(*fragment, total, label, piece, &mut self.counts);
                }
                _ => self.counts.malformed += 1,
            },
            (false, ends) => match body {
                [fragment, piece @ ..] if ends => self.reassembly.end(*fragment, piece, &mut self.counts, out),
                [fragment, piece @ ..] => self.reassembly.go_on(*fragment, piece, &mut self.counts),
                [] => self.counts.malformed += 1,
            },
        }
    }
}

/// What lies at the front of these bytes.
fn front(bytes: &[u8]) -> Front {
    let Some(&word) = bytes.first_chunk().map(|word: &[u8; FRONT]| word) else { return Front::Cut };
    let word = u16::from_be_bytes(word);
    if word >> 12 == 0 {
        return Front::Padding;
    }
    let length = FRONT + usize::from(word & 0xFFF);
    if length <= bytes.len() { Front::Packet(length) } else { Front::Cut }
}

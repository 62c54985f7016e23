//! From transport-stream packets to BBFRAMEs (EN 302 307-1, clauses 5.1.4 to 5.1.6).

use super::bbheader::{BBHEADER, BbHeader, NO_PACKET_STARTS, RollOff};
use super::crc::crc8_continued;

/// Bytes of a transport-stream packet.
pub const PACKET: usize = 188;
/// First byte of a transport-stream packet.
pub const SYNC_BYTE: u8 = 0x47;
/// A packet to be thrown away on reception (PID 0x1FFF).
const NULL_PACKET: [u8; PACKET] = {
    let mut packet = [0xFF; PACKET];
    packet[0] = SYNC_BYTE;
    packet[1] = 0x1F;
    packet[3] = 0x10;
    packet
};

/// Cuts a transport stream into the data fields of BBFRAMEs, with the CRC-8 of each packet in place of the
/// sync byte of the next one.
///
/// Data fields are as long as their frame allows, and packets straddle frames. The position in the current
/// packet is all that is kept between frames, so that frames of different lengths may follow each other.
///
/// ```
/// use bief_dsp::dvbs2::{Fec, FrameSize, Rate, RollOff, Slicer};
///
/// let fec = Fec::new(FrameSize::Short, Rate::R1_4).unwrap();
/// let mut packet = [0; 188];
/// packet[0] = 0x47;
/// let mut frame = vec![0; fec.kbch / 8];
/// let taken = Slicer::new(RollOff::R20).fill(&packet, &mut frame)?;
/// assert_eq!(taken, 188); // null packets fill the rest of the frame
/// # Ok::<(), bief_dsp::dvbs2::SliceError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Slicer {
    roll_off: RollOff,
    constant_coding: bool,
    /// Bytes of the current packet that are sent, 0 to 187.
    position: usize,
    /// Whether the current packet is a null packet added here.
    null: bool,
    /// CRC-8 of the current packet so far; of the one before while `position` is 0.
    crc: u8,
    /// Whether a whole packet is sent and its CRC-8 is not.
    crc_due: bool,
}

/// A transport stream that cannot be sliced.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SliceError {
    /// A packet does not start where the one before ended.
    #[error("transport stream: byte {offset} starts a packet and must be 0x47, not {found:#04x}")]
    Sync {
        /// Offset in the bytes given.
        offset: usize,
        /// The byte found there.
        found: u8,
    },
    /// The bytes end within a packet and do not fill the frame.
    #[error("transport stream: ends {missing} bytes before the end of a packet; give whole packets")]
    Incomplete {
        /// Bytes missing.
        missing: usize,
    },
}

impl Slicer {
    /// A slicer for a single transport stream with constant coding and modulation.
    pub const fn new(roll_off: RollOff) -> Slicer {
        Slicer { roll_off, constant_coding: true, position: 0, null: false, crc: 0, crc_due: false }
    }

    /// Announces that coding and modulation vary from frame to frame (VCM, ACM).
    pub const fn variable_coding(self) -> Slicer {
        Slicer { constant_coding: false, ..self }
    }

    /// Makes the next BBFRAME in `frame` (kbch / 8 bytes, not scrambled) from the bytes that continue the
    /// stream; answers how many it took.
    ///
    /// Give at least `frame.len() - 10` bytes while there are as many. With fewer, which must end with a
    /// packet, null packets fill the frame; with none the whole frame. A receiver checks a packet when the byte
    /// behind it has come: where the last packet of a stream ends with its frame, one more frame, made from no
    /// bytes, carries that byte.
    ///
    /// # Errors
    /// When a packet does not start with 0x47, or when too few bytes end within a packet. Nothing has then
    /// changed, except the content of `frame`.
    ///
    /// # Panics
    /// When `frame` has no room for data or more than 65 535 bits of it.
    pub fn fill(&mut self, stream: &[u8], frame: &mut [u8]) -> Result<usize, SliceError> {
        let (header, field) = frame.split_first_chunk_mut::<BBHEADER>().expect("a BBFRAME has a header of 10 bytes");
        assert!(!field.is_empty(), "a BBFRAME has room for data");
        let dfl = u16::try_from(8 * field.len()).expect("a data field has at most 65535 bits");

        let mut next = self.clone();
        let taken = next.fill_field(stream, field)?;
        let until_start = (PACKET - self.position) % PACKET;
        *header = BbHeader {
            constant_coding: self.constant_coding,
            syncd: if until_start < field.len() { 8 * until_start as u16 } else { NO_PACKET_STARTS },
            ..BbHeader::transport(self.roll_off, dfl)
        }
        .to_bytes();
        *self = next;
        Ok(taken)
    }

    /// Makes a BBFRAME in `frame` (kbch / 8 bytes, not scrambled) from the last bytes of the stream: its data field ends
    /// with them and, where there is room, the CRC-8 of the last packet; zeros pad the rest.
    ///
    /// Answers whether the CRC-8 found room; if not, the next call, with no bytes, sends it. Nothing but empty frames may
    /// follow.
    ///
    /// # Errors
    /// When a packet does not start with 0x47, or the bytes do not end with a packet. Nothing has then changed, except the
    /// content of `frame`.
    ///
    /// # Panics
    /// When `frame` has no room for data or more than 65 535 bits of it, or the bytes do not fit it.
    pub fn finish(&mut self, stream: &[u8], frame: &mut [u8]) -> Result<bool, SliceError> {
        let (header, field) = frame.split_first_chunk_mut::<BBHEADER>().expect("a BBFRAME has a header of 10 bytes");
        let (data, rest) = field.split_at_mut(stream.len());
        assert!(data.len() + rest.len() <= 8191, "a data field has at most 65535 bits");
        let mut next = self.clone();
        next.fill_field(stream, data)?;
        if next.position != 0 {
            return Err(SliceError::Incomplete { missing: PACKET - next.position });
        }
        rest.fill(0);
        let trailer = match rest.first_mut() {
            Some(place) if next.crc_due => {
                *place = next.crc;
                next.crc_due = false;
                1
            }
            _ => 0,
        };
        let until_start = (PACKET - self.position) % PACKET;
        let bytes = stream.len() + trailer;
        *header = BbHeader {
            constant_coding: self.constant_coding,
            syncd: if until_start < bytes { 8 * until_start as u16 } else { NO_PACKET_STARTS },
            ..BbHeader::transport(self.roll_off, 8 * bytes as u16)
        }
        .to_bytes();
        *self = next;
        Ok(!self.crc_due)
    }

    fn fill_field(&mut self, stream: &[u8], field: &mut [u8]) -> Result<usize, SliceError> {
        let (mut taken, mut made) = (0, 0);
        while made < field.len() {
            if self.position == 0 {
                self.null = taken == stream.len();
                if !self.null && stream[taken] != SYNC_BYTE {
                    let (offset, found) = (taken, stream[taken]);
                    return Err(SliceError::Sync { offset, found });
                }
            }
            let count = (PACKET - self.position).min(field.len() - made);
            let source = if self.null {
                &NULL_PACKET[self.position..self.position + count]
            } else {
                let available = stream.len() - taken;
                if available < count {
                    let missing = PACKET - self.position - available;
                    return Err(SliceError::Incomplete { missing });
                }
                taken += count;
                &stream[taken - count..taken]
            };
            let target = &mut field[made..made + count];
            target.copy_from_slice(source);
            if self.position == 0 {
                target[0] = self.crc;
                self.crc = crc8_continued(0, &source[1..]);
            } else {
                self.crc = crc8_continued(self.crc, source);
            }
            self.position = (self.position + count) % PACKET;
            self.crc_due = self.position == 0;
            made += count;
        }
        Ok(taken)
    }
}

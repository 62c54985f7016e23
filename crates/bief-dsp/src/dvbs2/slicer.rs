//! From input streams to BBFRAMEs (EN 302 307-1, clauses 5.1.4 to 5.1.6).

use super::bbheader::{BBHEADER, BbHeader, NO_PACKET_STARTS, RollOff, StreamType};
use super::crc::crc8_continued;
use super::packet::{DeleteNullPackets, NULL_PACKET, PACKET};

/// Bytes of a generic packet, at most: its length in bits is a number of 16 bits.
const LONGEST_PACKET: u16 = 8_191;
/// SYNC of a continuous stream: the least value that is its user's own.
const PRIVATE: u8 = 0xB9;

/// Cuts an input stream into the data fields of BBFRAMEs, with the CRC-8 of each packet in place of the
/// sync byte of the next one.
///
/// Data fields are as long as their frame allows, and packets straddle frames. The position in the current
/// packet is all that is kept between frames, so that frames of different lengths may follow each other. Where several streams
/// share a carrier, each has a slicer of its own.
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
    /// What all headers have in common.
    header: BbHeader,
    /// Bytes of the current packet that are sent, fewer than all.
    position: usize,
    /// Whether the current packet is a null packet added here.
    null: bool,
    /// CRC-8 of the current packet so far; of the one before while `position` is 0.
    crc: u8,
    /// Whether a whole packet is sent and its CRC-8 is not.
    crc_due: bool,
    /// Whether the next header names the roll-off; of those of DVB-S2X, every second one does.
    names_roll_off: bool,
}

/// An input stream that cannot be sliced.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SliceError {
    /// A packet does not start where the one before ended.
    #[error("input stream: byte {offset} starts a packet and must be {sync:#04x}, not {found:#04x}")]
    Sync {
        /// Offset in the bytes given.
        offset: usize,
        /// What every packet starts with.
        sync: u8,
        /// The byte found there.
        found: u8,
    },
    /// The bytes end within a packet, or no null packets can be added, and the frame is not full.
    #[error("input stream: {missing} bytes are missing to the end of a packet; give whole packets")]
    Incomplete {
        /// Bytes missing.
        missing: usize,
    },
}

impl Slicer {
    /// A slicer for a single transport stream with constant coding and modulation.
    pub const fn new(roll_off: RollOff) -> Slicer {
        Slicer::of(BbHeader::transport(roll_off, 0))
    }

    /// A slicer for a transport stream without its null packets: for what [`DeleteNullPackets`] makes.
    pub const fn without_null_packets(roll_off: RollOff) -> Slicer {
        let upl = 8 * DeleteNullPackets::USER_PACKET as u16;
        Slicer::of(BbHeader { npd: true, upl, ..BbHeader::transport(roll_off, 0) })
    }

    /// A slicer for a generic continuous stream: bytes as they are, unchecked.
    pub const fn continuous(roll_off: RollOff) -> Slicer {
        let stream = StreamType::GenericContinuous;
        Slicer::of(BbHeader { stream, upl: 0, sync: PRIVATE, ..BbHeader::transport(roll_off, 0) })
    }

    /// A slicer for generic packets of so many bytes, which start with 0 unless [`with_sync`](Self::with_sync) says otherwise;
    /// `None` when they cannot have that length, 2 to 8191.
    pub const fn packets(roll_off: RollOff, bytes: u16) -> Option<Slicer> {
        if bytes < 2 || bytes > LONGEST_PACKET {
            return None;
        }
        let stream = StreamType::GenericPacketised;
        Some(Slicer::of(BbHeader { stream, upl: 8 * bytes, sync: 0, ..BbHeader::transport(roll_off, 0) }))
    }

    /// Says what every generic packet starts with.
    #[must_use]
    pub const fn with_sync(mut self, sync: u8) -> Slicer {
        self.header.sync = sync;
        self
    }

    const fn of(header: BbHeader) -> Slicer {
        let names_roll_off = match header.roll_off {
            Some(roll_off) => !roll_off.is_s2x(),
            None => false,
        };
        Slicer { header, position: 0, null: false, crc: 0, crc_due: false, names_roll_off }
    }

    /// Announces that coding and modulation vary from frame to frame (VCM, ACM).
    #[must_use]
    pub const fn variable_coding(mut self) -> Slicer {
        self.header.constant_coding = false;
        self
    }

    /// Announces that this is input stream `isi` of several.
    #[must_use]
    pub const fn of_stream(mut self, isi: u8) -> Slicer {
        self.header.isi = Some(isi);
        self
    }

    /// Makes the next BBFRAME in `frame` (kbch / 8 bytes, not scrambled) from the bytes that continue the
    /// stream; answers how many it took.
    ///
    /// Give at least `frame.len() - 10` bytes while there are as many. With fewer, which must end with a
    /// packet, null packets fill the frame of a transport stream; with none the whole frame. A receiver checks a packet when the
    /// byte behind it has come: where the last packet of a stream ends with its frame, one more frame, made from no
    /// bytes, carries that byte.
    ///
    /// # Errors
    /// When a packet does not start as it has to, or when too few bytes end within a packet or are not of a transport stream.
    /// Nothing has then changed, except the content of `frame`.
    ///
    /// # Panics
    /// When `frame` has no room for data or more than 65 535 bits of it.
    pub fn fill(&mut self, stream: &[u8], frame: &mut [u8]) -> Result<usize, SliceError> {
        let (header, field) = split(frame);
        let mut next = self.clone();
        let taken = next.fill_field(stream, field)?;
        *header = self.header(field.len());
        next.turn_roll_off();
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
    /// When a packet does not start as it has to, or the bytes do not end with a packet. Nothing has then changed, except the
    /// content of `frame`.
    ///
    /// # Panics
    /// When `frame` has no room for data or more than 65 535 bits of it, or the bytes do not fit it.
    pub fn finish(&mut self, stream: &[u8], frame: &mut [u8]) -> Result<bool, SliceError> {
        let (header, field) = split(frame);
        let (data, rest) = field.split_at_mut(stream.len());
        let mut next = self.clone();
        next.fill_field(stream, data)?;
        if next.position != 0 {
            return Err(SliceError::Incomplete { missing: self.packet() - next.position });
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
        *header = self.header(stream.len() + trailer);
        next.turn_roll_off();
        *self = next;
        Ok(!self.crc_due)
    }

    /// Bytes of a user packet; 0 in a continuous stream.
    const fn packet(&self) -> usize {
        self.header.upl as usize / 8
    }

    /// The header of the next data field, of so many bytes.
    fn header(&self, bytes: usize) -> [u8; BBHEADER] {
        let until_start = if self.position == 0 { 0 } else { self.packet() - self.position };
        let syncd = match 8 * until_start {
            _ if self.packet() == 0 => 0,
            distance if until_start < bytes => distance as u16,
            _ => NO_PACKET_STARTS,
        };
        let roll_off = self.header.roll_off.filter(|_| self.names_roll_off);
        BbHeader { dfl: 8 * bytes as u16, syncd, roll_off, ..self.header }.to_bytes()
    }

    /// A header is made: whether the next one names the roll-off.
    fn turn_roll_off(&mut self) {
        self.names_roll_off ^= self.header.roll_off.is_some_and(RollOff::is_s2x);
    }

    fn fill_field(&mut self, stream: &[u8], field: &mut [u8]) -> Result<usize, SliceError> {
        if self.packet() == 0 {
            let missing = field.len().saturating_sub(stream.len());
            if missing > 0 {
                return Err(SliceError::Incomplete { missing });
            }
            field.copy_from_slice(&stream[..field.len()]);
            return Ok(field.len());
        }
        let is_transport = self.header.stream == StreamType::Transport;
        let (mut taken, mut made) = (0, 0);
        while made < field.len() {
            if self.position == 0 {
                self.null = is_transport && taken == stream.len();
                let sync = self.header.sync;
                if let Some(&found) = stream.get(taken)
                    && found != sync
                {
                    return Err(SliceError::Sync { offset: taken, sync, found });
                }
            }
            let count = (self.packet() - self.position).min(field.len() - made);
            let source = if self.null {
                &NULL_USER_PACKET[self.position..self.position + count]
            } else {
                let available = stream.len() - taken;
                if available < count {
                    return Err(SliceError::Incomplete { missing: self.packet() - self.position - available });
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
            self.position = (self.position + count) % self.packet();
            self.crc_due = self.position == 0;
            made += count;
        }
        Ok(taken)
    }
}

/// A null packet, and behind it the count of those left out before it, which is 0.
const NULL_USER_PACKET: [u8; DeleteNullPackets::USER_PACKET] = {
    let mut packet = [0; DeleteNullPackets::USER_PACKET];
    let (bytes, _) = packet.split_at_mut(PACKET);
    bytes.copy_from_slice(&NULL_PACKET);
    packet
};

/// The places of header and data field.
fn split(frame: &mut [u8]) -> (&mut [u8; BBHEADER], &mut [u8]) {
    let (header, field) = frame.split_first_chunk_mut::<BBHEADER>().expect("a BBFRAME has a header of 10 bytes");
    assert!((1..=8_191).contains(&field.len()), "a data field has 1 to 8191 bytes, not {}", field.len());
    (header, field)
}

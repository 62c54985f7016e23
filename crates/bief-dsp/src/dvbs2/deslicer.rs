//! From BBFRAMEs back to transport-stream packets (EN 302 307-1, clauses 5.1.4 to 5.1.6).

use super::bbheader::{BBHEADER, BbHeader, BbHeaderError, NO_PACKET_STARTS, StreamType};
use super::bits;
use super::crc::crc8;
use super::slicer::{PACKET, SYNC_BYTE};

/// Bits of a packet.
const PACKET_BITS: usize = 8 * PACKET;
/// Bits of the CRC-8 that replaces the sync byte.
const CRC_BITS: usize = 8;

/// Puts packets together from the data fields of consecutive BBFRAMEs, and checks them.
///
/// A packet is delivered when the byte behind it, its CRC-8, has come. A packet found wrong is delivered with
/// its transport error indicator set. When frames are missing, the packet that they cut is dropped, one that
/// lacks nothing but its CRC-8 is delivered as wrong, and delivery goes on with the first packet that starts
/// in the next good frame.
///
/// ```
/// use bief_dsp::dvbs2::{Deslicer, RollOff, Slicer};
///
/// let mut stream = [0; 10 * 188];
/// for packet in stream.chunks_exact_mut(188) {
///     packet[0] = 0x47;
/// }
/// let (mut slicer, mut deslicer) = (Slicer::new(RollOff::R20), Deslicer::new());
/// let mut frame = [0; 384]; // QPSK 1/4 short
/// let mut packets = vec![0; Deslicer::room(frame.len())];
/// let (mut taken, mut received) = (0, Vec::new());
/// while taken < stream.len() {
///     taken += slicer.fill(&stream[taken..], &mut frame)?;
///     let delivered = deslicer.push(&frame, true, &mut packets);
///     received.extend_from_slice(&packets[..delivered.bytes()]);
/// }
/// assert_eq!(received[..stream.len()], stream);
/// # Ok::<(), bief_dsp::dvbs2::SliceError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Deslicer {
    /// The input stream to deliver on a carrier of several.
    isi: Option<u8>,
    /// The last whole packet, while its CRC-8 has not come.
    whole: Option<Packet>,
    /// The packet that is coming in.
    partial: Packet,
    /// Bits of it that have come, 0 to 1503; `None` while it is unknown where packets start.
    held: Option<usize>,
}

/// A packet as it comes: the CRC-8 of the packet before in place of its sync byte.
#[derive(Clone, Debug)]
struct Packet {
    bytes: [u8; PACKET],
    /// Whether all 187 bytes come from frames without known errors.
    sound: bool,
    /// The same for the CRC-8 of the packet before.
    crc_sound: bool,
}

impl Packet {
    const EMPTY: Packet = Packet { bytes: [0; PACKET], sound: true, crc_sound: true };
}

/// What a call delivered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Delivered {
    /// Packets written, wrong ones included.
    pub packets: usize,
    /// Those of them whose transport error indicator was set here.
    pub errors: usize,
    /// Packets cut by missing frames and dropped, or starts that were not where they had to be: 0 or 1.
    pub discontinuities: usize,
    /// Why the data field of this frame was not used.
    pub rejected: Option<Rejection>,
}

impl Delivered {
    /// Bytes written.
    pub const fn bytes(&self) -> usize {
        self.packets * PACKET
    }
}

/// Why the data field of a BBFRAME cannot be delivered as transport-stream packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Rejection {
    /// The frame was not decoded.
    #[error(transparent)]
    Header(#[from] BbHeaderError),
    /// The frame belongs to another input stream, or to one of several when one alone was expected.
    #[error("BBFRAME belongs to {}, which is not the one to be received", stream_name(*.0))]
    OtherStream(Option<u8>),
    /// The frame carries something else than a transport stream.
    #[error("BBFRAME carries a {0}, not a transport stream")]
    NotTransport(StreamType),
    /// Packets carry time stamps or counts of deleted null packets.
    #[error("BBFRAME carries packets with ISSY or NPD fields, which are not supported")]
    PacketFields,
}

impl Rejection {
    /// Whether the frame is damaged, rather than of another kind than expected.
    pub const fn is_damage(self) -> bool {
        matches!(self, Rejection::Header(_))
    }
}

fn stream_name(isi: Option<u8>) -> String {
    match isi {
        Some(isi) => format!("input stream {isi}"),
        None => "a single input stream".to_owned(),
    }
}

/// Where the packets of one call go.
struct Output<'a> {
    packets: &'a mut [u8],
    delivered: Delivered,
}

impl Output<'_> {
    fn deliver(&mut self, packet: &Packet, wrong: bool) {
        let start = self.delivered.bytes();
        let target = &mut self.packets[start..start + PACKET];
        target.copy_from_slice(&packet.bytes);
        target[0] = SYNC_BYTE;
        if wrong {
            target[1] |= 0x80;
            self.delivered.errors += 1;
        }
        self.delivered.packets += 1;
    }
}

impl Default for Deslicer {
    fn default() -> Deslicer {
        Deslicer::new()
    }
}

impl Deslicer {
    /// A deslicer for a carrier with a single input stream.
    pub const fn new() -> Deslicer {
        Deslicer { isi: None, whole: None, partial: Packet::EMPTY, held: None }
    }

    /// A deslicer for input stream `isi` of a carrier with several; frames of the others are passed over.
    pub const fn of_stream(isi: u8) -> Deslicer {
        Deslicer { isi: Some(isi), ..Deslicer::new() }
    }

    /// Bytes that one BBFRAME of `frame` bytes can deliver at most.
    pub const fn room(frame: usize) -> usize {
        (8 * frame.saturating_sub(BBHEADER) / PACKET_BITS + 1) * PACKET
    }

    /// Takes the next BBFRAME (descrambled) and writes the packets that it completes to `packets`.
    ///
    /// `sound` says whether the outer code found the frame free of errors. If not, its packets are still
    /// delivered, but marked: an 8-bit CRC alone would pass one wrong packet in 256.
    ///
    /// # Panics
    /// When `frame` is shorter than a BBHEADER, or `packets` than [`room`](Deslicer::room).
    pub fn push(&mut self, frame: &[u8], sound: bool, packets: &mut [u8]) -> Delivered {
        assert!(
            packets.len() >= Deslicer::room(frame.len()),
            "a frame of {} bytes needs room for {} bytes of packets",
            frame.len(),
            Deslicer::room(frame.len())
        );
        let mut output = Output { packets, delivered: Delivered::default() };
        match self.accept(frame) {
            Ok(header) => self.take(&header, &frame[BBHEADER..], sound, &mut output),
            Err(rejection) => {
                output.delivered.rejected = Some(rejection);
                if let Rejection::Header(_) = rejection {
                    self.interrupt(&mut output);
                }
            }
        }
        output.delivered
    }

    /// Ends the stream: delivers a last packet whose CRC-8 has not come, unchecked, and drops an incomplete
    /// one. What is pushed afterwards is a new stream.
    ///
    /// # Panics
    /// When `packets` is shorter than a packet.
    pub fn flush(&mut self, packets: &mut [u8]) -> Delivered {
        let mut output = Output { packets, delivered: Delivered::default() };
        if let Some(packet) = self.whole.take() {
            output.deliver(&packet, !packet.sound);
        }
        self.held = None;
        output.delivered
    }

    fn accept(&self, frame: &[u8]) -> Result<BbHeader, Rejection> {
        let header = BbHeader::parse(frame)?;
        if header.isi != self.isi {
            return Err(Rejection::OtherStream(header.isi));
        }
        if header.stream != StreamType::Transport {
            return Err(Rejection::NotTransport(header.stream));
        }
        if header.issy || header.npd {
            return Err(Rejection::PacketFields);
        }
        Ok(header)
    }

    fn take(&mut self, header: &BbHeader, field: &[u8], sound: bool, output: &mut Output<'_>) {
        let (dfl, syncd) = (usize::from(header.dfl), usize::from(header.syncd));
        if dfl == 0 {
            return;
        }
        let (mut held, mut position) = match self.held {
            Some(held) if continues(held, header) => (held, 0),
            _ => {
                self.interrupt(output);
                if syncd >= dfl {
                    return;
                }
                self.partial = Packet::EMPTY;
                (0, syncd)
            }
        };
        while position < dfl {
            let in_crc = held < CRC_BITS;
            let end = if in_crc { CRC_BITS } else { PACKET_BITS };
            let count = (end - held).min(dfl - position);
            bits::copy(field, position, &mut self.partial.bytes, held, count);
            position += count;
            held += count;
            if in_crc {
                self.partial.crc_sound &= sound;
            } else {
                self.partial.sound &= sound;
            }
            if held == end {
                if in_crc {
                    self.check(output);
                } else {
                    self.whole = Some(std::mem::replace(&mut self.partial, Packet::EMPTY));
                    held = 0;
                }
            }
        }
        self.held = Some(held);
    }

    /// Delivers the whole packet, now that its CRC-8 is the first byte of the next one.
    fn check(&mut self, output: &mut Output<'_>) {
        if let Some(packet) = self.whole.take() {
            let matches = crc8(&packet.bytes[1..]) == self.partial.bytes[0];
            // A CRC-8 that is itself in doubt says nothing against a packet that is not.
            let wrong = !packet.sound || (!matches && self.partial.crc_sound);
            output.deliver(&packet, wrong);
        }
    }

    /// The stream does not go on where it was.
    fn interrupt(&mut self, output: &mut Output<'_>) {
        if self.held.take().is_some() {
            output.delivered.discontinuities += 1;
        }
        // Frames too short for a packet to start in them may have been missed before this was noticed.
        if let Some(packet) = self.whole.take() {
            output.deliver(&packet, true);
        }
    }
}

/// Whether a packet of which `held` bits have come goes on in the data field of that header.
fn continues(held: usize, header: &BbHeader) -> bool {
    let until_start = (PACKET_BITS - held) % PACKET_BITS;
    let (dfl, syncd) = (usize::from(header.dfl), usize::from(header.syncd));
    if until_start < dfl {
        syncd == until_start
    } else {
        header.syncd == NO_PACKET_STARTS || (syncd == dfl && until_start == dfl)
    }
}

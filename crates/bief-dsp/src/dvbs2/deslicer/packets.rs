//! The user packets of one stream, put together from data fields.

use super::super::bbheader::{BbHeader, NO_PACKET_STARTS, StreamType};
use super::super::bits;
use super::super::crc::crc8;
use super::super::packet::{NULL_PACKET, PACKET, SYNC_BYTE, TRANSPORT_ERROR};
use super::Output;

/// Bits of the CRC-8 that replaces the sync byte.
const CRC_BITS: usize = 8;
/// Frames in a row that may be lost and yet have their packets replaced: longer ones may hide frames that were never seen.
const MOST_LOST: u32 = 64;

/// What is between two sync bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Format {
    is_transport: bool,
    /// Bits of a user packet.
    upl: usize,
    sync: u8,
    /// Bytes of its time stamp.
    issy: usize,
    npd: bool,
}

impl Format {
    fn of(header: &BbHeader) -> Format {
        let upl = usize::from(header.upl);
        let is_transport = header.stream == StreamType::Transport;
        if !is_transport {
            // A time stamp behind a generic packet is not told from it.
            return Format { is_transport, upl, sync: header.sync, issy: 0, npd: false };
        }
        let issy = upl / 8 - PACKET - usize::from(header.npd);
        Format { is_transport, upl, sync: SYNC_BYTE, issy, npd: header.npd }
    }
}

/// A packet as it comes: the CRC-8 of the packet before in place of its sync byte.
#[derive(Clone, Debug)]
struct Packet {
    bytes: Box<[u8]>,
    /// Whether all bytes but the first come from frames without known errors.
    sound: bool,
    /// The same for the CRC-8 of the packet before.
    crc_sound: bool,
}

impl Packet {
    fn new(format: Format) -> Packet {
        Packet { bytes: vec![0; format.upl / 8].into(), sound: true, crc_sound: true }
    }

    fn begin(&mut self) {
        (self.sound, self.crc_sound) = (true, true);
    }
}

/// Where in its packets the stream is.
#[derive(Clone, Copy, Debug)]
enum Place {
    Unknown,
    /// So many bits of the current packet have come, fewer than all.
    Known(usize),
    /// Since the current packet began there were so many bits, of which the last were in so many frames that are lost.
    Lost {
        bits: usize,
        frames: u32,
    },
}

/// Puts packets together and checks them.
#[derive(Clone, Debug)]
pub(super) struct Packets {
    format: Format,
    /// The last whole packet, which waits for its CRC-8 if `waits`.
    whole: Packet,
    waits: bool,
    /// The packet that is coming in.
    partial: Packet,
    place: Place,
}

impl Packets {
    pub(super) fn new(header: &BbHeader) -> Packets {
        let format = Format::of(header);
        let (whole, partial) = (Packet::new(format), Packet::new(format));
        Packets { format, whole, waits: false, partial, place: Place::Unknown }
    }

    /// Whether packets of frames with that header are like these.
    pub(super) fn are_of(&self, header: &BbHeader) -> bool {
        self.format == Format::of(header)
    }

    /// Takes a data field.
    pub(super) fn take(&mut self, header: &BbHeader, field: &[u8], sound: bool, output: &mut Output<'_>) {
        let dfl = usize::from(header.dfl);
        if dfl == 0 {
            return;
        }
        let Some((mut held, mut position)) = self.resume(header, output) else { return };
        while position < dfl {
            let in_crc = held < CRC_BITS;
            let end = if in_crc { CRC_BITS } else { self.format.upl };
            let count = (end - held).min(dfl - position);
            bits::copy(field, position, &mut self.partial.bytes, held, count);
            position += count;
            held += count;
            if in_crc {
                self.partial.crc_sound &= sound;
            } else {
                self.partial.sound &= sound;
            }
            if held == CRC_BITS && in_crc {
                self.check(output);
            }
            if held == self.format.upl {
                std::mem::swap(&mut self.whole, &mut self.partial);
                self.partial.begin();
                self.waits = true;
                held = 0;
            }
        }
        self.place = Place::Known(held);
    }

    /// Where to go on: the bits held of the current packet, and the place in the data field. `None` where no packet is.
    fn resume(&mut self, header: &BbHeader, output: &mut Output<'_>) -> Option<(usize, usize)> {
        let (dfl, syncd) = (usize::from(header.dfl), usize::from(header.syncd));
        match self.place {
            Place::Known(held) if self.continues(held, header) => return Some((held, 0)),
            // Nothing tells yet whether the lost frames were as long as was thought; what is here belongs to a packet that they cut.
            Place::Lost { bits, frames } if header.syncd == NO_PACKET_STARTS && frames < MOST_LOST => {
                self.place = Place::Lost { bits: bits + dfl, frames: frames + 1 };
                return None;
            }
            Place::Lost { bits, .. }
                if header.syncd != NO_PACKET_STARTS && self.continues(bits % self.format.upl, header) =>
            {
                self.replace(bits.div_ceil(self.format.upl), output);
            }
            _ => {
                self.interrupt(output);
                if syncd >= dfl {
                    return None;
                }
            }
        }
        self.partial.begin();
        Some((0, syncd))
    }

    /// Whether a packet of which `held` bits have come goes on in the data field of that header.
    fn continues(&self, held: usize, header: &BbHeader) -> bool {
        let until_start = (self.format.upl - held) % self.format.upl;
        let (dfl, syncd) = (usize::from(header.dfl), usize::from(header.syncd));
        if until_start < dfl {
            syncd == until_start
        } else {
            header.syncd == NO_PACKET_STARTS || (syncd == dfl && until_start == dfl)
        }
    }

    /// A frame could not be read, whose data field had so many bits, where that is known.
    pub(super) fn lose(&mut self, bits: Option<usize>, output: &mut Output<'_>) {
        let known = bits.filter(|_| self.format.is_transport && !self.format.npd);
        self.place = match (self.place, known) {
            (Place::Known(held), Some(bits)) => {
                self.give_up_check(output);
                Place::Lost { bits: held + bits, frames: 1 }
            }
            (Place::Lost { bits: before, frames }, Some(bits)) if frames < MOST_LOST => {
                Place::Lost { bits: before + bits, frames: frames + 1 }
            }
            _ => return self.interrupt(output),
        };
    }

    /// A frame is missing that may have been of this stream or of another.
    pub(super) fn doubt(&mut self) {
        // If it was of this one, and held whole packets, the next byte is the CRC-8 of another packet.
        if let Place::Known(held) = self.place
            && held < CRC_BITS
        {
            self.partial.crc_sound = false;
        }
    }

    /// Ends the stream.
    pub(super) fn flush(&mut self, output: &mut Output<'_>) {
        if let Place::Lost { .. } = self.place {
            output.delivered.gaps += 1;
        }
        if std::mem::take(&mut self.waits) {
            self.deliver(!self.whole.sound, output);
        }
        self.place = Place::Unknown;
    }

    /// The stream does not go on where it was.
    fn interrupt(&mut self, output: &mut Output<'_>) {
        if !matches!(self.place, Place::Unknown) {
            output.delivered.gaps += 1;
        }
        self.place = Place::Unknown;
        self.give_up_check(output);
    }

    /// Delivers the whole packet, now that its CRC-8 is the first byte of the next one.
    fn check(&mut self, output: &mut Output<'_>) {
        if std::mem::take(&mut self.waits) {
            let matches = crc8(&self.whole.bytes[1..]) == self.partial.bytes[0];
            // A CRC-8 that is itself in doubt says nothing against a packet that is not.
            let wrong = !self.whole.sound || (!matches && self.partial.crc_sound);
            self.deliver(wrong, output);
        }
    }

    /// Delivers the whole packet, whose CRC-8 will not come, as wrong: frames too short for a packet to start in them may have
    /// been missed before this was noticed.
    fn give_up_check(&mut self, output: &mut Output<'_>) {
        if std::mem::take(&mut self.waits) {
            self.deliver(true, output);
        }
    }

    fn deliver(&self, wrong: bool, output: &mut Output<'_>) {
        let Output { bytes, delivered } = output;
        let packet = &self.whole.bytes;
        delivered.packets += 1;
        delivered.errors += usize::from(wrong);
        let start = bytes.len();
        if !self.format.is_transport {
            bytes.extend_from_slice(packet);
            bytes[start] = self.format.sync;
            return;
        }
        let (packet, stamp) = packet.split_at(PACKET);
        if !wrong && self.format.issy > 0 {
            delivered.stamps += 1;
            let value = stamp[..self.format.issy].iter().fold(0, |value, &byte| value << 8 | u32::from(byte));
            delivered.last_stamp = Some(value);
        }
        if !wrong && self.format.npd {
            let nulls = usize::from(stamp[self.format.issy]);
            (0..nulls).for_each(|_| bytes.extend_from_slice(&NULL_PACKET));
            delivered.packets += nulls;
            delivered.restored += nulls;
        }
        let start = bytes.len();
        bytes.extend_from_slice(packet);
        bytes[start] = SYNC_BYTE;
        if wrong {
            bytes[start + 1] |= TRANSPORT_ERROR;
        }
    }

    /// Delivers null packets with errors in the place of packets that are lost.
    fn replace(&mut self, count: usize, output: &mut Output<'_>) {
        let mut null = NULL_PACKET;
        null[1] |= TRANSPORT_ERROR;
        (0..count).for_each(|_| output.bytes.extend_from_slice(&null));
        output.delivered.packets += count;
        output.delivered.errors += count;
        output.delivered.replaced += count;
    }
}

//! Packets of a transport stream, and how null packets are left out of it.

/// Bytes of a transport-stream packet.
pub const PACKET: usize = 188;
/// First byte of a transport-stream packet.
pub const SYNC_BYTE: u8 = 0x47;
/// A packet to be thrown away on reception (PID 0x1FFF).
pub const NULL_PACKET: [u8; PACKET] = {
    let mut packet = [0xFF; PACKET];
    packet[0] = SYNC_BYTE;
    packet[1] = 0x1F;
    packet[3] = 0x10;
    packet
};
/// In byte 1 of a packet: it has errors (transport error indicator).
pub(super) const TRANSPORT_ERROR: u8 = 0x80;

/// Leaves null packets out of a transport stream, and tells behind each packet how many there were before it: null-packet
/// deletion (EN 302 307-1, Annex D).
///
/// A count has one byte. Where more than 255 null packets come together, every 256th of them stays.
///
/// ```
/// use bief_dsp::dvbs2::{DeleteNullPackets, NULL_PACKET};
///
/// let mut packet = [0x55; 188];
/// packet[0] = 0x47;
/// let stream = [NULL_PACKET, NULL_PACKET, packet].concat();
/// let mut users = Vec::new();
/// DeleteNullPackets::default().delete(&stream, &mut users);
/// assert_eq!(users, [&packet[..], &[2]].concat());
/// ```
#[derive(Clone, Debug, Default)]
pub struct DeleteNullPackets {
    /// Null packets left out since the last packet that stayed.
    deleted: u8,
}

impl DeleteNullPackets {
    /// Bytes of a packet and the count behind it.
    pub const USER_PACKET: usize = PACKET + 1;

    /// Appends to `users` the packets that stay, each with its count behind it. Null packets with their transport error
    /// indicator set stay.
    pub fn delete(&mut self, packets: &[u8], users: &mut Vec<u8>) {
        for packet in packets.as_chunks::<PACKET>().0 {
            let is_null = packet[1] & 0x9F == 0x1F && packet[2] == 0xFF;
            if is_null && self.deleted < u8::MAX {
                self.deleted += 1;
            } else {
                self.keep(packet, users);
            }
        }
    }

    /// Ends the stream: when null packets were left out at its end, the last of them stays, to tell of the others.
    pub fn finish(&mut self, users: &mut Vec<u8>) {
        if let Some(before) = self.deleted.checked_sub(1) {
            self.deleted = before;
            self.keep(&NULL_PACKET, users);
        }
    }

    fn keep(&mut self, packet: &[u8; PACKET], users: &mut Vec<u8>) {
        users.extend_from_slice(packet);
        users.push(std::mem::take(&mut self.deleted));
    }
}

//! What came of a stream.

use crate::pdu::{NoPacket, ip_packet};

/// Counts of one stream, since it began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// IP packets delivered.
    pub packets: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Whole PDUs that carry something else than IP.
    pub other: u64,
    /// PDUs or sections whose CRC-32, or total length, is wrong.
    pub crc_errors: u64,
    /// PDUs of which something is missing, or that wait for too long, or for which there is no room.
    pub incomplete: u64,
    /// Places where a length lies.
    pub malformed: u64,
    /// PDUs that are scrambled, or otherwise not to be read.
    pub unreadable: u64,
}

impl Counts {
    /// Delivers the IP packet of a PDU, if it is one.
    pub(crate) fn deliver(&mut self, kind: u16, bytes: &[u8], out: &mut impl FnMut(&[u8])) {
        match ip_packet(kind, bytes) {
            Ok(packet) => {
                self.packets += 1;
                self.bytes += packet.len() as u64;
                out(packet);
            }
            Err(NoPacket::Other) => self.other += 1,
            Err(NoPacket::Malformed) => self.malformed += 1,
        }
    }
}

//! Sections: tables in pieces, put together from packets.

use super::Packet;

/// Bytes of a section at most.
pub const MAX_SECTION: usize = 4096;

/// Puts the sections of one PID together.
///
/// ```
/// use bief_dsp::transport::{Packet, Sections};
/// let mut bytes = [0xFF; 188];
/// bytes[..8].copy_from_slice(&[0x47, 0x40, 0x11, 0x10, 0, 0x72, 0x00, 0x02]); // a stuffing table of two bytes
/// let mut sections = Sections::default();
/// let mut seen = Vec::new();
/// sections.push(&Packet::new(&bytes).unwrap(), |section| seen.push(section.to_vec()));
/// assert_eq!(seen, [[0x72, 0x00, 0x02, 0xFF, 0xFF]]);
/// ```
#[derive(Debug, Clone, Default)]
pub struct Sections {
    /// The beginning of the section that goes on in the next packet; empty when none does.
    begun: Vec<u8>,
    counter: Option<u8>,
}

impl Sections {
    /// Takes the next packet of the PID, and hands over each section that ends in it. What a lost packet was part of is left out.
    pub fn push(&mut self, packet: &Packet<'_>, mut section: impl FnMut(&[u8])) {
        if packet.payload.is_empty() || packet.is_scrambled {
            return;
        }
        let before = self.counter.replace(packet.counter);
        if before == Some(packet.counter) && !packet.is_discontinuous {
            return; // The same packet again.
        }
        if before.is_none_or(|before| (before + 1) & 15 != packet.counter) {
            self.begun.clear();
        }
        let mut payload = packet.payload;
        if packet.starts {
            let Some((end, new)) = payload[1..].split_at_checked(payload[0].into()) else { return self.begun.clear() };
            self.go_on(end, &mut section);
            self.begun.clear();
            payload = new;
            while payload.first().is_some_and(|table| *table != 0xFF) {
                let Some(whole) = length(payload).and_then(|length| payload.split_at_checked(length)) else {
                    // A length of three bytes may be cut, too.
                    self.begun.extend_from_slice(payload);
                    break;
                };
                section(whole.0);
                payload = whole.1;
            }
        } else if !self.begun.is_empty() {
            self.go_on(payload, &mut section);
        }
    }

    /// Adds to the section that was begun.
    fn go_on(&mut self, bytes: &[u8], section: &mut impl FnMut(&[u8])) {
        if self.begun.is_empty() {
            return;
        }
        let room = (MAX_SECTION + 3).saturating_sub(self.begun.len());
        self.begun.extend_from_slice(&bytes[..bytes.len().min(room)]);
        let Some(length) = length(&self.begun) else { return };
        if let Some(whole) = self.begun.get(..length) {
            section(whole);
            self.begun.clear();
        }
    }
}

/// Bytes of a section, by its own word.
fn length(section: &[u8]) -> Option<usize> {
    let [_, high, low, ..] = section else { return None };
    Some(3 + usize::from(u16::from_be_bytes([high & 0x0F, *low])))
}

/// The CRC-32 of sections (polynomial 0x04C11DB7, from ones); 0 over a section with its CRC behind it.
///
/// ```
/// assert_eq!(bief_dsp::transport::crc32(b"123456789"), 0x0376E6E7);
/// ```
pub fn crc32(bytes: &[u8]) -> u32 {
    const TABLE: [u32; 256] = {
        let mut table = [0; 256];
        let mut index = 0;
        while index < 256 {
            let (mut crc, mut bit) = ((index as u32) << 24, 0);
            while bit < 8 {
                crc = if crc >> 31 == 1 { crc << 1 ^ 0x04C1_1DB7 } else { crc << 1 };
                bit += 1;
            }
            table[index] = crc;
            index += 1;
        }
        table
    };
    bytes.iter().fold(u32::MAX, |crc, byte| crc << 8 ^ TABLE[usize::from((crc >> 24) as u8 ^ byte)])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Packets of one PID that carry sections back to back, with this many payload bytes in each.
    fn packets(sections: &[Vec<u8>], room: usize) -> Vec<[u8; 188]> {
        let stream: Vec<u8> = sections.concat();
        let starts: Vec<usize> =
            sections.iter().scan(0, |at, section| Some(std::mem::replace(at, *at + section.len()))).collect();
        let (mut at, mut all) = (0, Vec::new());
        while at < stream.len() {
            let start = starts.iter().find(|start| (at..at + room - 1).contains(start));
            let mut payload: Vec<u8> = start.map(|start| (start - at) as u8).into_iter().collect();
            // Only behind a pointer may a section begin: a packet without one ends before.
            let next = starts.iter().copied().find(|next| start.is_none() && *next > at).unwrap_or(stream.len());
            let some = (room - payload.len()).min(next - at);
            payload.extend_from_slice(&stream[at..at + some]);
            at += some;
            let mut packet = [0xFF; 188];
            packet[..4].copy_from_slice(&[
                0x47,
                if start.is_some() { 0x40 } else { 0 },
                0x11,
                0x30 | all.len() as u8 & 15,
            ]);
            let field = 183 - room;
            packet[4] = field as u8;
            packet[5] = 0;
            packet[5 + field..5 + field + payload.len()].copy_from_slice(&payload);
            all.push(packet);
        }
        all
    }

    fn section(table: u8, length: usize) -> Vec<u8> {
        let mut section = vec![table, 0xB0 | (length >> 8) as u8, length as u8];
        section.extend((0..length).map(|k| (k * 7) as u8 ^ table));
        section
    }

    fn heard<'a>(packets: impl IntoIterator<Item = &'a [u8; 188]>) -> Vec<Vec<u8>> {
        let (mut sections, mut all) = (Sections::default(), Vec::new());
        packets.into_iter().for_each(|bytes| {
            sections.push(&Packet::new(bytes).unwrap(), |section| all.push(section.to_vec()));
        });
        all
    }

    #[test]
    fn sections_come_whole_however_they_are_cut() {
        let sent: Vec<Vec<u8>> =
            [5, 0, 1, 180, 181, 4093, 300, 2].iter().zip(1..).map(|(&length, table)| section(table, length)).collect();
        for room in [2, 3, 4, 10, 100, 182] {
            assert_eq!(heard(&packets(&sent, room)), sent, "{room}");
        }
    }

    #[test]
    fn a_lost_packet_costs_its_sections_alone() {
        let sent = [section(1, 400), section(2, 400), section(3, 10)];
        let packets = packets(&sent, 182);
        for lost in 0..packets.len() {
            let left = packets.iter().enumerate().filter(|(number, _)| *number != lost).map(|(_, packet)| packet);
            let got = heard(left);
            assert!(got.iter().all(|section| sent.contains(section)), "{lost}");
            assert!(!got.is_empty() && got.len() < 3, "{lost}");
        }
        let twice = packets.iter().flat_map(|packet| [packet, packet]);
        assert_eq!(heard(twice), sent);
    }
}

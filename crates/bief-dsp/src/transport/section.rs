//! Sections: tables in pieces, put together from the payloads of packets.

/// Bytes of a section at most, and of those before the ones that its length counts.
pub const MAX_SECTION: usize = 4096;
const FRONT: usize = 3;
/// A table that there is none of: the rest of the payload is stuffing.
const STUFFING: u8 = 0xFF;

/// Puts the sections of one PID together.
///
/// Packets in their order, each once: [`Continuity`](super::Continuity) tells.
///
/// ```
/// use bief_dsp::transport::{Packet, Sections};
/// let mut bytes = [0xFF; 188];
/// bytes[..8].copy_from_slice(&[0x47, 0x40, 0x11, 0x10, 0, 0x72, 0x00, 0x02]); // a stuffing table of two bytes
/// let packet = Packet::new(&bytes).unwrap();
/// let mut sections = Sections::default();
/// let mut seen = Vec::new();
/// sections.push(packet.payload, packet.starts, |section| seen.push(section.to_vec()));
/// assert_eq!(seen, [[0x72, 0x00, 0x02, 0xFF, 0xFF]]);
/// ```
#[derive(Debug, Clone, Default)]
pub struct Sections {
    /// The beginning of the section that goes on in the next packet; empty when none does.
    begun: Vec<u8>,
}

/// What of a payload made no section.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SectionFaults {
    /// Sections that another one began before the end of.
    pub incomplete: u64,
    /// Pointers behind the end of the payload, and lengths beyond [`MAX_SECTION`].
    pub malformed: u64,
}

impl Sections {
    /// Packets are missing: the section that was begun does not go on. Whether there was one.
    pub fn lose(&mut self) -> bool {
        let was_begun = !self.begun.is_empty();
        self.begun.clear();
        was_begun
    }

    /// Takes the next payload, in which a section begins if it `starts`, and gives each section that ends in it to `section`.
    pub fn push(&mut self, payload: &[u8], starts: bool, mut section: impl FnMut(&[u8])) -> SectionFaults {
        let mut faults = SectionFaults::default();
        if !starts {
            if !self.begun.is_empty() {
                self.go_on(payload, &mut faults, &mut section);
            }
            return faults;
        }
        let parts = payload.split_first().and_then(|(pointer, rest)| rest.split_at_checked((*pointer).into()));
        let Some((end, new)) = parts else {
            faults.malformed += 1;
            self.lose();
            return faults;
        };
        if !self.begun.is_empty() {
            self.go_on(end, &mut faults, &mut section);
            faults.incomplete += u64::from(self.lose());
        }
        self.go_on(new, &mut faults, &mut section);
        faults
    }

    /// Takes bytes of the section that was begun, or else of those that begin here.
    fn go_on(&mut self, mut bytes: &[u8], faults: &mut SectionFaults, section: &mut impl FnMut(&[u8])) {
        while let Some(first) = bytes.first() {
            let held = self.begun.len();
            if held == 0 && *first == STUFFING {
                return;
            }
            // What a section needs as far as its length, then as far as that says.
            let wanted = if held < FRONT { FRONT } else { length(&self.begun) };
            let (part, rest) = bytes.split_at((wanted - held).min(bytes.len()));
            self.begun.extend_from_slice(part);
            bytes = rest;
            if self.begun.len() < FRONT {
                return;
            }
            let whole = length(&self.begun);
            if whole > MAX_SECTION {
                faults.malformed += 1;
                self.lose();
                return;
            }
            if self.begun.len() == whole {
                section(&self.begun);
                self.begun.clear();
            }
        }
    }
}

/// Bytes of a section that has this front.
fn length(front: &[u8]) -> usize {
    FRONT + usize::from(u16::from_be_bytes([front[1] & 0x0F, front[2]]))
}

#[cfg(test)]
mod tests {
    use super::super::{Continuity, Packet, Step};
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
        let (mut continuity, mut sections, mut all) = (Continuity::default(), Sections::default(), Vec::new());
        for bytes in packets {
            let packet = Packet::new(bytes).unwrap();
            match continuity.push(&packet) {
                Step::Next => {}
                Step::Repeated => continue,
                Step::Jump => _ = sections.lose(),
            }
            sections.push(packet.payload, packet.starts, |section| all.push(section.to_vec()));
        }
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
    #[test]
    fn what_makes_no_section_is_counted() {
        let mut sections = Sections::default();
        let mut faults = |payload: &[u8], starts| {
            let SectionFaults { incomplete, malformed } = sections.push(payload, starts, |_| panic!("no section"));
            (incomplete, malformed)
        };
        assert_eq!(faults(&[9, 1, 2], true), (0, 1), "a pointer behind the end");
        assert_eq!(faults(&[], true), (0, 1));
        assert_eq!(faults(&[0, 1, 0x0F, 0xFE, 0], true), (0, 1), "a length beyond the longest");
        assert_eq!(faults(&[1, 2, 3], false), (0, 0), "nothing was begun");
        assert_eq!(faults(&[0, 1, 0, 9, 0], true), (0, 0));
        assert_eq!(faults(&[2, 1, 2, STUFFING], true), (1, 0), "another one begins before the end");
    }
}

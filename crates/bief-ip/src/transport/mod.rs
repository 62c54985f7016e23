//! IP packets in MPEG transport streams: MPE sections (EN 301 192) and ULE (RFC 4326).

mod section;
mod tables;
mod ule;

use std::collections::BTreeMap;

use bief_dsp::dvbs2::{PACKET, SYNC_BYTE};

use crate::counts::Counts;
use crate::crc32::crc32;
use section::Sections;
use tables::{Encapsulation, PAT_PID, associations, programs};
use ule::Ule;

/// The PID of null packets.
const NULL_PID: u16 = 0x1FFF;
/// PIDs that are looked into at most: those beyond are passed over.
const MOST_PIDS: usize = 256;
/// The table of MPE sections.
const MPE_TABLE: u8 = 0x3E;
/// Bytes of the header of an MPE section, and of the CRC-32 behind it.
const MPE_HEADER: usize = 12;
const CRC: usize = 4;
/// What comes before a protocol type where a section says so.
const SNAP: [u8; 6] = [0xAA, 0xAA, 3, 0, 0, 0];

/// Takes IP packets out of a transport stream, packet by packet.
///
/// Which PIDs carry ULE is told by the tables of the stream (PAT, PMT); MPE sections are found on any PID, by their table. Of a PID
/// that is chosen ([`of_pid`](Self::of_pid)) and that no table tells of, what comes first says what it is.
///
/// A packet that is lost, damaged or out of order costs the section or SNDU that it was part of. Memory is bounded: of 256 PIDs at
/// most, 32 KiB each.
///
/// # Example
/// ```
/// use bief_ip::transport::TransportIp;
/// let mut ip = TransportIp::new();
/// let null = [&[0x47, 0x1F, 0xFF, 0x10][..], &[0xFF; 184]].concat();
/// ip.push(null[..].try_into().unwrap(), &mut |_: &[u8]| panic!("null packets carry nothing"));
/// assert_eq!(ip.streams().count(), 0);
/// ```
#[derive(Clone, Debug, Default)]
pub struct TransportIp {
    wanted: Option<u16>,
    pids: BTreeMap<u16, Pid>,
}

/// What is known of a PID.
#[derive(Clone, Debug)]
struct Pid {
    /// The continuity counter of the last packet.
    last: Option<u8>,
    content: Content,
    counts: Counts,
}

#[derive(Clone, Debug)]
enum Content {
    /// Nothing yet: where MPE begins is looked for.
    Unknown,
    Tables(Sections),
    Mpe(Sections),
    Ule(Ule),
}

impl Pid {
    fn new(content: Content) -> Self {
        Self { last: None, content, counts: Counts::default() }
    }
}

/// What comes out of the tables of a packet, put into force when it has been read.
#[derive(Default)]
struct Told {
    tables: Vec<u16>,
    streams: Vec<(u16, Encapsulation)>,
}

impl TransportIp {
    /// Of all PIDs.
    pub fn new() -> Self {
        Self::default()
    }

    /// Of this PID alone.
    pub fn of_pid(pid: u16) -> Self {
        Self { wanted: Some(pid), ..Self::default() }
    }

    /// Takes the next packet, and gives each IP packet that it completes to `out`.
    pub fn push(&mut self, packet: &[u8; PACKET], out: &mut impl FnMut(&[u8])) {
        let pid = u16::from_be_bytes([packet[1], packet[2]]) & 0x1FFF;
        let is_damaged = packet[0] != SYNC_BYTE || packet[1] & 0x80 != 0;
        if is_damaged {
            // Not even its PID is sure; the counters of the others tell if it was theirs.
            if let Some(state) = self.pids.get_mut(&pid) {
                state.lose();
            }
            return;
        }
        let Some(payload) = payload(packet).filter(|_| pid != NULL_PID) else { return };
        let starts = packet[1] & 0x40 != 0;
        let wanted = self.wanted;
        let is_wanted = |pid: u16| wanted.is_none_or(|wanted| wanted == pid);
        if !self.pids.contains_key(&pid) {
            let content = match pid {
                PAT_PID => Content::Tables(Sections::default()),
                _ if !is_wanted(pid) || self.pids.len() >= MOST_PIDS => return,
                _ => Content::Unknown,
            };
            // A PID that carries something else has no state.
            match content.found(payload, starts, wanted == Some(pid)) {
                Some(content) => self.pids.insert(pid, Pid::new(content)),
                None => return,
            };
        }
        let state = self.pids.get_mut(&pid).expect("just looked up");
        let mut told = Told::default();
        if state.follows(packet) {
            if packet[3] & 0xC0 != 0 {
                state.counts.unreadable += u64::from(starts);
                state.lose();
                return;
            }
            state.take(payload, starts, &mut told, out);
        }
        for pid in told.tables {
            if self.pids.len() < MOST_PIDS {
                self.pids.entry(pid).or_insert_with(|| Pid::new(Content::Tables(Sections::default())));
            }
        }
        for (pid, encapsulation) in told.streams.into_iter().filter(|&(pid, _)| is_wanted(pid)) {
            if self.pids.len() < MOST_PIDS {
                self.pids.entry(pid).or_insert_with(|| Pid::new(encapsulation.into()));
            }
        }
    }

    /// Packets are missing, nobody knows of which PIDs.
    pub fn lose(&mut self) {
        self.pids.values_mut().for_each(Pid::lose);
    }

    /// The PIDs that carry IP, whether they are MPE or ULE (as a word), and what came of each.
    pub fn streams(&self) -> impl Iterator<Item = (u16, &'static str, Counts)> {
        self.pids.iter().filter_map(|(&pid, state)| match &state.content {
            Content::Mpe(_) => Some((pid, "MPE", state.counts)),
            Content::Ule(_) => Some((pid, "ULE", state.counts)),
            Content::Tables(_) | Content::Unknown => None,
        })
    }
}

impl From<Encapsulation> for Content {
    fn from(encapsulation: Encapsulation) -> Self {
        match encapsulation {
            Encapsulation::Mpe => Self::Mpe(Sections::default()),
            Encapsulation::Ule => Self::Ule(Ule::default()),
        }
    }
}

impl Content {
    /// What it is, where the front of this payload tells.
    fn found(self, payload: &[u8], starts: bool, is_chosen: bool) -> Option<Self> {
        if !matches!(self, Self::Unknown) {
            return Some(self);
        }
        let first = payload.first().filter(|_| starts).and_then(|&pointer| payload.get(1 + usize::from(pointer)..));
        match first? {
            // A length that has four bits of flags before it, and room for a header.
            [MPE_TABLE, flags, ..] if flags & 0x30 == 0x30 => Some(Encapsulation::Mpe.into()),
            _ if is_chosen => Some(Encapsulation::Ule.into()),
            _ => None,
        }
    }
}

impl Pid {
    /// Whether this packet brings something new; one that is missing before it is noticed.
    fn follows(&mut self, packet: &[u8; PACKET]) -> bool {
        let counter = packet[3] & 0xF;
        let has_jump = packet[3] & 0x20 != 0 && packet[4] > 0 && packet[5] & 0x80 != 0;
        let last = self.last.replace(counter).filter(|_| !has_jump);
        match last {
            Some(last) if last == counter => false,
            Some(last) if (last + 1) & 0xF != counter => {
                self.content_lost();
                true
            }
            _ => true,
        }
    }

    fn lose(&mut self) {
        self.last = None;
        self.content_lost();
    }

    fn content_lost(&mut self) {
        let was_inside = match &mut self.content {
            Content::Unknown => false,
            Content::Tables(sections) | Content::Mpe(sections) => sections.lose(),
            Content::Ule(ule) => ule.lose(),
        };
        self.counts.incomplete += u64::from(was_inside);
    }

    fn take(&mut self, payload: &[u8], starts: bool, told: &mut Told, out: &mut impl FnMut(&[u8])) {
        let Self { content, counts, .. } = self;
        match content {
            Content::Unknown => {}
            Content::Tables(sections) => sections.push(payload, starts, &mut Counts::default(), &mut |section, _| {
                if crc32(section) == 0 {
                    told.tables.extend(programs(section));
                    told.streams.extend(associations(section));
                }
            }),
            Content::Mpe(sections) => sections.push(payload, starts, counts, &mut |section, counts| {
                datagram(section, counts, out);
            }),
            Content::Ule(ule) => ule.push(payload, starts, counts, out),
        }
    }
}

/// The bytes behind header and adaptation field; `None` where there are none.
fn payload(packet: &[u8; PACKET]) -> Option<&[u8]> {
    let start = match packet[3] >> 4 & 3 {
        1 => 4,
        3 => 5 + usize::from(packet[4]),
        _ => return None,
    };
    packet.get(start..).filter(|payload| !payload.is_empty())
}

/// The datagram of an MPE section.
fn datagram(section: &[u8], counts: &mut Counts, out: &mut impl FnMut(&[u8])) {
    if section[0] != MPE_TABLE {
        return;
    }
    if section.len() < MPE_HEADER + CRC {
        counts.malformed += 1;
        return;
    }
    let (has_crc, flags) = (section[1] & 0x80 != 0, section[5]);
    let in_parts = section[6] != 0 || section[7] != 0;
    // Without a CRC-32 there is a checksum of another kind; payloads may be scrambled, or cut over several sections.
    if !has_crc || flags & 0x30 != 0 || in_parts {
        counts.unreadable += 1;
        return;
    }
    if crc32(section) != 0 {
        counts.crc_errors += 1;
        return;
    }
    let body = &section[MPE_HEADER..section.len() - CRC];
    if flags & 2 == 0 {
        match crate::pdu::protocol(body) {
            Some(kind) => counts.deliver(kind, body, out),
            None => counts.other += 1,
        }
        return;
    }
    match body.split_first_chunk() {
        Some((front, [high, low, rest @ ..])) if *front == SNAP => {
            counts.deliver(u16::from_be_bytes([*high, *low]), rest, out);
        }
        _ => counts.other += 1,
    }
}

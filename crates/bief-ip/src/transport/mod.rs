//! IP packets in MPEG transport streams: MPE sections (EN 301 192) and ULE (RFC 4326).

mod ule;

use std::collections::BTreeMap;

use bief_dsp::dvbs2::PACKET;
use bief_dsp::transport::{Continuity, Packet, Pat, Pmt, Sections, Step, crc32};

use crate::counts::Counts;
use ule::Ule;

/// The PIDs of the PAT, and of null packets.
const PAT_PID: u16 = 0;
const NULL_PID: u16 = 0x1FFF;
/// Stream types of MPE (DSM-CC sections) and of ULE.
const MPE_STREAM: u8 = 0x0D;
const ULE_STREAM: u8 = 0x91;
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
    continuity: Continuity,
    content: Content,
    counts: Counts,
}

#[derive(Clone, Debug)]
enum Content {
    Tables(Sections),
    Mpe(Sections),
    Ule(Ule),
}

impl Pid {
    fn new(content: Content) -> Self {
        Self { continuity: Continuity::default(), content, counts: Counts::default() }
    }
}

/// What comes out of the tables of a packet, put into force when it has been read.
#[derive(Default)]
struct Told {
    tables: Vec<u16>,
    streams: Vec<(u16, Content)>,
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
        let Some(packet) = Packet::new(packet) else {
            // Not even its PID is sure; the counters of the others tell if it was theirs.
            let pid = u16::from_be_bytes([packet[1] & 0x1F, packet[2]]);
            if let Some(state) = self.pids.get_mut(&pid) {
                state.lose();
            }
            return;
        };
        let pid = packet.pid;
        if packet.payload.is_empty() || pid == NULL_PID {
            return;
        }
        let wanted = self.wanted;
        let is_wanted = |pid: u16| wanted.is_none_or(|wanted| wanted == pid);
        if !self.pids.contains_key(&pid) {
            let content = match pid {
                PAT_PID => Some(Content::Tables(Sections::default())),
                _ if !is_wanted(pid) || self.pids.len() >= MOST_PIDS => return,
                _ => Content::found(&packet, wanted == Some(pid)),
            };
            // A PID that carries something else has no state.
            let Some(content) = content else { return };
            self.pids.insert(pid, Pid::new(content));
        }
        let state = self.pids.get_mut(&pid).expect("just looked up");
        let mut told = Told::default();
        match state.continuity.push(&packet) {
            Step::Next => {}
            Step::Repeated => return,
            Step::Jump => state.content_lost(),
        }
        if packet.is_scrambled {
            state.counts.unreadable += u64::from(packet.starts);
            state.lose();
            return;
        }
        state.take(&packet, &mut told, out);
        let tables = told.tables.into_iter().map(|pid| (pid, Content::Tables(Sections::default())));
        for (pid, content) in tables.chain(told.streams.into_iter().filter(|&(pid, _)| is_wanted(pid))) {
            if self.pids.len() < MOST_PIDS {
                self.pids.entry(pid).or_insert_with(|| Pid::new(content));
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
            Content::Tables(_) => None,
        })
    }
}

impl Content {
    /// What a PID carries, where the front of this packet tells.
    fn found(packet: &Packet<'_>, is_chosen: bool) -> Option<Self> {
        let first = packet.payload.first().filter(|_| packet.starts);
        match first.and_then(|&pointer| packet.payload.get(1 + usize::from(pointer)..))? {
            // A length that has four bits of flags before it, and room for a header.
            [MPE_TABLE, flags, ..] if flags & 0x30 == 0x30 => Some(Self::Mpe(Sections::default())),
            _ if is_chosen => Some(Self::Ule(Ule::default())),
            _ => None,
        }
    }

    /// What a stream of this type carries, if that is IP.
    fn of_type(kind: u8) -> Option<Self> {
        match kind {
            MPE_STREAM => Some(Self::Mpe(Sections::default())),
            ULE_STREAM => Some(Self::Ule(Ule::default())),
            _ => None,
        }
    }
}

impl Pid {
    fn lose(&mut self) {
        self.continuity.forget();
        self.content_lost();
    }

    fn content_lost(&mut self) {
        let was_inside = match &mut self.content {
            Content::Tables(sections) | Content::Mpe(sections) => sections.lose(),
            Content::Ule(ule) => ule.lose(),
        };
        self.counts.incomplete += u64::from(was_inside);
    }

    fn take(&mut self, packet: &Packet<'_>, told: &mut Told, out: &mut impl FnMut(&[u8])) {
        let Self { content, counts, .. } = self;
        match content {
            Content::Tables(sections) => {
                sections.push(packet.payload, packet.starts, |section| told.read(section));
            }
            Content::Mpe(sections) => {
                let faults = sections.push(packet.payload, packet.starts, |section| datagram(section, counts, out));
                counts.incomplete += faults.incomplete;
                counts.malformed += faults.malformed;
            }
            Content::Ule(ule) => ule.push(packet.payload, packet.starts, counts, out),
        }
    }
}

impl Told {
    fn read(&mut self, section: &[u8]) {
        if let Some(pat) = Pat::new(section) {
            self.tables.extend(pat.services().map(|(_, pid)| pid));
        }
        if let Some(pmt) = Pmt::new(section) {
            let of_ip = |(pid, kind)| Content::of_type(kind).map(|content| (pid, content));
            self.streams.extend(pmt.streams().map(|stream| (stream.pid, stream.kind)).filter_map(of_ip));
        }
    }
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

//! What a transport stream carries, found out packet by packet.

use std::collections::BTreeMap;

use super::{Clock, ClockFigures, Continuity, Packet, Pat, Pmt, Sdt, Sections, Step, crc32, text};
use crate::dvbs2::PACKET;

/// Services, and streams of each, that are looked at.
const MOST_SERVICES: usize = 128;
const MOST_STREAMS: usize = 64;
/// PIDs of clocks that are followed.
const MOST_CLOCKS: usize = 128;
/// Bytes of a name that are kept.
const MOST_NAME: usize = 255;
const SDT_PID: u16 = 0x11;
const NULL_PID: u16 = 0x1FFF;
const PIDS: usize = 0x2000;

/// Watches a transport stream: services by their names, packets and faults of each PID, clocks.
///
/// Memory is bounded whatever comes: 8192 PIDs, 128 services, 64 streams of each.
///
/// ```
/// use bief_dsp::dvbs2::NULL_PACKET;
/// use bief_dsp::transport::Services;
/// let mut services = Services::new();
/// services.push(&NULL_PACKET.repeat(10));
/// assert_eq!((services.packets(), services.services().count()), (10, 0));
/// ```
#[derive(Debug, Clone)]
pub struct Services {
    packets: u64,
    errors: u64,
    pids: Box<[Pid]>,
    services: BTreeMap<u16, Known>,
    /// Sections of the tables that are read, by PID.
    sections: BTreeMap<u16, Sections>,
    /// The last sections, to be read once.
    seen: BTreeMap<(u16, u8, u16, u8), u32>,
    clocks: BTreeMap<u16, Clock>,
    has_pat: bool,
}

#[derive(Debug, Clone, Default)]
struct Pid {
    packets: u64,
    continuity_errors: u64,
    scrambled: u64,
    continuity: Continuity,
}

/// A service.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Known {
    /// The PID of its map.
    pub map: u16,
    /// Its name and who provides it, once they are known.
    pub name: Option<String>,
    /// Who provides it.
    pub provider: Option<String>,
    /// What it is: see [`Service::kind`](super::Service::kind).
    pub kind: Option<u8>,
    /// Whether it is told to be scrambled.
    pub is_scrambled: bool,
    /// The PID of its clock.
    pub clock: Option<u16>,
    /// PIDs and types of its streams.
    pub streams: Vec<(u16, u8)>,
}

/// What came of a PID.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PidFigures {
    /// Which.
    pub pid: u16,
    /// Its packets.
    pub packets: u64,
    /// Of these, scrambled ones.
    pub scrambled: u64,
    /// Times that its counter did not go on by one: packets are missing, or doubled more than once.
    pub continuity_errors: u64,
    /// Bits per second, where a clock is known.
    pub rate: Option<f64>,
    /// Its clock.
    pub clock: Option<ClockFigures>,
}

impl Default for Services {
    fn default() -> Self {
        Self::new()
    }
}

impl Services {
    /// Nothing has come.
    pub fn new() -> Self {
        let sections = [0, SDT_PID].map(|pid| (pid, Sections::default())).into();
        Self {
            packets: 0,
            errors: 0,
            pids: vec![Pid::default(); PIDS].into(),
            services: BTreeMap::new(),
            sections,
            seen: BTreeMap::new(),
            clocks: BTreeMap::new(),
            has_pat: false,
        }
    }

    /// Takes the next packets, whole ones of 188 bytes. Those with their transport error indicator set are only counted.
    pub fn push(&mut self, packets: &[u8]) {
        for bytes in packets.chunks_exact(PACKET) {
            self.packets += 1;
            match Packet::new(bytes) {
                Some(packet) => self.packet(&packet),
                None => self.errors += 1,
            }
        }
    }

    fn packet(&mut self, packet: &Packet<'_>) {
        let pid = &mut self.pids[usize::from(packet.pid)];
        pid.packets += 1;
        pid.scrambled += u64::from(packet.is_scrambled);
        if packet.pid == NULL_PID {
            return;
        }
        let step = pid.continuity.push(packet);
        pid.continuity_errors += u64::from(step == Step::Jump && !packet.is_discontinuous);
        if let Some(ticks) = packet.pcr {
            let has_room = self.clocks.len() < MOST_CLOCKS;
            if has_room || self.clocks.contains_key(&packet.pid) {
                self.clocks.entry(packet.pid).or_default().push(self.packets, ticks, packet.is_discontinuous);
            }
        }
        let Some(sections) = self.sections.get_mut(&packet.pid) else { return };
        if step == Step::Jump {
            sections.lose();
        }
        if step == Step::Repeated || packet.is_scrambled || packet.payload.is_empty() {
            return;
        }
        // Put back below: what a section tells changes which PIDs are read.
        let mut own = std::mem::take(sections);
        own.push(packet.payload, packet.starts, |section| self.section(packet.pid, section));
        if let Some(sections) = self.sections.get_mut(&packet.pid) {
            *sections = own;
        }
    }

    /// Reads a section, if it is not the one that came before.
    fn section(&mut self, pid: u16, section: &[u8]) {
        let [table, _, _, high, low, _, number, ..] = *section else { return };
        let key = (pid, table, u16::from_be_bytes([high, low]), number);
        let crc = section.last_chunk().map_or(0, |crc| u32::from_be_bytes(*crc));
        let is_table = matches!((pid, table), (0, 0) | (SDT_PID, 0x42)) || (pid != 0 && pid != SDT_PID && table == 2);
        if !is_table || self.seen.get(&key) == Some(&crc) || crc32(section) != 0 {
            return;
        }
        if self.seen.len() >= 4 * MOST_SERVICES {
            self.seen.clear();
        }
        self.seen.insert(key, crc);
        match table {
            0 => Pat::new(section).into_iter().for_each(|pat| self.associate(&pat)),
            2 => Pmt::new(section).into_iter().for_each(|pmt| self.map(pid, &pmt)),
            _ => Sdt::new(section).into_iter().for_each(|sdt| self.describe(&sdt)),
        }
    }

    fn service(&mut self, service: u16) -> Option<&mut Known> {
        let has_room = self.services.len() < MOST_SERVICES;
        (has_room || self.services.contains_key(&service)).then(|| self.services.entry(service).or_default())
    }

    fn associate(&mut self, pat: &Pat<'_>) {
        self.has_pat = true;
        for (service, map) in pat.services() {
            if let Some(known) = self.service(service) {
                known.map = map;
            }
        }
        let read = |pid: &u16| *pid == 0 || *pid == SDT_PID || self.services.values().any(|known| known.map == *pid);
        self.sections.retain(|pid, _| read(pid));
        for map in self.services.values().map(|known| known.map).filter(|map| *map != 0 && *map != SDT_PID) {
            self.sections.entry(map).or_default();
        }
    }

    fn map(&mut self, pid: u16, pmt: &Pmt<'_>) {
        let Some(known) = self.services.get_mut(&pmt.service).filter(|known| known.map == pid) else { return };
        known.clock = Some(pmt.clock).filter(|clock| *clock != NULL_PID);
        known.streams.clear();
        known.streams.extend(pmt.streams().take(MOST_STREAMS).map(|stream| (stream.pid, stream.kind)));
    }

    fn describe(&mut self, sdt: &Sdt<'_>) {
        for told in sdt.services() {
            let Some(known) = self.service(told.service) else { return };
            let named = |bytes: &[u8]| Some(text(&bytes[..bytes.len().min(MOST_NAME)])).filter(|name| !name.is_empty());
            (known.name, known.provider) = (named(told.name), named(told.provider));
            (known.kind, known.is_scrambled) = (Some(told.kind), told.is_scrambled);
        }
    }

    /// Packets so far.
    pub fn packets(&self) -> u64 {
        self.packets
    }

    /// Of these, packets with errors.
    pub fn errors(&self) -> u64 {
        self.errors
    }

    /// Whether a programme association table has come: then it is a multiplex as broadcasters send it.
    pub fn is_multiplex(&self) -> bool {
        self.has_pat
    }

    /// Services by their numbers.
    pub fn services(&self) -> impl Iterator<Item = (u16, &Known)> {
        self.services.iter().map(|(number, known)| (*number, known))
    }

    /// Packets of the stream per second, by the clock that has most PCRs.
    pub fn packets_per_second(&self) -> Option<f64> {
        let all = self.clocks.values().filter_map(Clock::figures);
        all.max_by_key(|figures| figures.marks).map(|figures| figures.packets_per_second)
    }

    /// What came of a PID.
    pub fn pid(&self, pid: u16) -> PidFigures {
        let &Pid { packets, continuity_errors, scrambled, .. } = &self.pids[usize::from(pid) % PIDS];
        let share = packets as f64 / self.packets.max(1) as f64;
        let rate = self.packets_per_second().map(|all| all * share * (8 * PACKET) as f64);
        let clock = self.clocks.get(&pid).and_then(Clock::figures);
        PidFigures { pid, packets, scrambled, continuity_errors, rate, clock }
    }

    /// The PIDs that packets came of, from the lowest on.
    pub fn pids(&self) -> impl Iterator<Item = u16> {
        let came = |(pid, state): (usize, &Pid)| (state.packets > 0).then_some(pid as u16);
        self.pids.iter().enumerate().filter_map(came)
    }
}

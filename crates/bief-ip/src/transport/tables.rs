//! The tables that tell what a transport stream consists of: PAT and PMT.

/// The PID of the PAT.
pub(super) const PAT_PID: u16 = 0;
const PAT: u8 = 0;
const PMT: u8 = 2;
/// Bytes of a table's header and of its CRC-32.
const HEADER: usize = 8;
const CRC: usize = 4;
/// Stream types of MPE (DSM-CC sections) and of ULE.
const MPE: u8 = 0x0D;
const ULE: u8 = 0x91;

/// How a PID carries IP packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Encapsulation {
    Mpe,
    Ule,
}

/// The content of a section of this table, between its header and its CRC-32.
fn body(section: &[u8], table: u8) -> &[u8] {
    let end = section.len().saturating_sub(CRC);
    if section.first() == Some(&table) { section.get(HEADER..end).unwrap_or_default() } else { &[] }
}

/// The PIDs of the PMTs that a PAT tells.
pub(super) fn programs(section: &[u8]) -> impl Iterator<Item = u16> {
    // Program 0 is the network's own table.
    body(section, PAT)
        .as_chunks::<4>()
        .0
        .iter()
        .filter(|[high, low, ..]| (*high, *low) != (0, 0))
        .map(|entry| pid(&entry[2..]))
}

/// The PIDs that carry IP, by a PMT.
pub(super) fn associations(section: &[u8]) -> impl Iterator<Item = (u16, Encapsulation)> {
    let mut rest = match body(section, PMT) {
        [_, _, high, low, rest @ ..] => rest.get(length(*high, *low)..).unwrap_or_default(),
        _ => &[],
    };
    std::iter::from_fn(move || {
        let [kind, high, low, info_high, info_low, after @ ..] = rest else { return None };
        rest = after.get(length(*info_high, *info_low)..).unwrap_or_default();
        Some((*kind, pid(&[*high, *low])))
    })
    .filter_map(|(kind, pid)| match kind {
        MPE => Some((pid, Encapsulation::Mpe)),
        ULE => Some((pid, Encapsulation::Ule)),
        _ => None,
    })
}

fn pid(word: &[u8]) -> u16 {
    u16::from_be_bytes([word[0], word[1]]) & 0x1FFF
}

fn length(high: u8, low: u8) -> usize {
    usize::from(u16::from_be_bytes([high, low]) & 0xFFF)
}

//! Whole streams: those that others encapsulated, and hostile ones.

mod hostile;
mod loops;
mod published;

use std::collections::BTreeMap;

use bief_dsp::dvbs2::{BBHEADER, BbHeader};
use bief_ip::Counts;
use bief_ip::bbframes::{BbframeReader, Item};
use bief_ip::gse::Gse;

/// IP packets.
type Packets = Vec<Vec<u8>>;

/// What comes out of a file of BBFRAMEs, for each input stream, and how many frames are damaged.
fn read_bbframes(file: &[u8]) -> (BTreeMap<Option<u8>, (Packets, Counts)>, usize) {
    let mut frames = BbframeReader::new(file, None).unwrap();
    let mut streams: BTreeMap<Option<u8>, (Gse, Packets)> = BTreeMap::new();
    let mut damaged = 0;
    while let Some(item) = frames.next_frame().unwrap() {
        let Item::Frame(frame) = item else {
            damaged += 1;
            streams.values_mut().for_each(|(gse, _)| gse.lose());
            continue;
        };
        let header = BbHeader::parse(frame).unwrap();
        let (gse, packets) = streams.entry(header.isi).or_default();
        gse.push(&header, &frame[BBHEADER..], &mut |packet: &[u8]| packets.push(packet.to_vec()));
    }
    (streams.into_iter().map(|(isi, (gse, packets))| (isi, (packets, gse.counts()))).collect(), damaged)
}

//! Streams of other encapsulators: every packet, in order, and nothing else.

use std::path::{Path, PathBuf};

use bief_ip::pcap::PcapReader;
use bief_ip::transport::TransportIp;

use super::{Packets, read_bbframes};

fn shared() -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/ip");
    if !folder.is_dir() {
        println!("skipped: {} not found", folder.display());
        return None;
    }
    Some(folder)
}

fn expected(folder: &Path, name: &str) -> Packets {
    let file = std::fs::File::open(folder.join(format!("{name}.expected.pcap"))).unwrap();
    let (mut all, mut packet) = (Vec::new(), Vec::new());
    let mut reader = PcapReader::new(std::io::BufReader::new(file)).unwrap();
    while reader.read(&mut packet).unwrap() {
        all.push(packet.clone());
    }
    assert_eq!(reader.passed_over(), 0);
    all
}

fn check(name: &str, packets: &Packets, expected: &Packets) {
    let same = packets.iter().zip(expected).take_while(|(a, b)| a == b).count();
    assert!(packets == expected, "{name}: {} packets, not {}; the first {same} agree", packets.len(), expected.len());
    assert!(!packets.is_empty());
}

#[test]
fn gse_streams_give_every_packet() {
    let Some(folder) = shared() else { return };
    for name in ["gse_libgse", "gse_labels", "gse_hem", "gse_mis", "gse_damaged"] {
        let file = std::fs::read(folder.join(format!("{name}.bbf"))).unwrap();
        let (streams, damaged) = read_bbframes(&file);
        for (isi, (packets, counts)) in &streams {
            let name = isi.map_or(name.to_owned(), |isi| format!("{name}.isi{isi}"));
            check(&name, packets, &expected(&folder, &name));
            let lost = counts.crc_errors + counts.incomplete;
            assert_eq!((counts.packets as usize, counts.malformed, counts.other), (packets.len(), 0, 0));
            assert_eq!(lost > 0, name == "gse_damaged", "{counts:?}");
        }
        assert_eq!(damaged, if name == "gse_damaged" { 2 } else { 0 }, "{name}");
        assert_eq!(streams.len(), if name == "gse_mis" { 2 } else { 1 }, "{name}");
    }
}

#[test]
fn the_same_frames_without_padding_give_the_same() {
    let Some(folder) = shared() else { return };
    for (name, size) in [("gse_labels", 879), ("gse_mis", 1419)] {
        let file = std::fs::read(folder.join(format!("{name}.bbf"))).unwrap();
        for l3 in [false, true] {
            let frame = |(number, frame): (usize, &[u8])| {
                let length = 10 + usize::from(u16::from_be_bytes([frame[4], frame[5]])) / 8;
                let before: &[u8] = if l3 { &[0xB8, 0x44, 70, number as u8] } else { &[] };
                [before, &frame[..length]].concat()
            };
            let packed: Vec<u8> = file.chunks(size).enumerate().flat_map(frame).collect();
            assert!(read_bbframes(&packed) == read_bbframes(&file), "{name} {l3}");
        }
    }
}

fn transport(file: &[u8], pid: Option<u16>) -> (Packets, TransportIp) {
    let mut packets = Vec::new();
    let mut ip = pid.map_or_else(TransportIp::new, TransportIp::of_pid);
    for packet in file.as_chunks().0 {
        ip.push(packet, &mut |packet: &[u8]| packets.push(packet.to_vec()));
    }
    (packets, ip)
}

#[test]
fn transport_streams_give_every_packet() {
    let Some(folder) = shared() else { return };
    let read = |name: &str| std::fs::read(folder.join(name)).unwrap();
    for (name, pid, expected_name) in [
        ("mpe.ts", Some(513), "mpe.pid513"),
        ("mpe.ts", Some(514), "mpe.pid514"),
        ("ule.ts", Some(769), "ule"),
        ("ule.ts", None, "ule"),
    ] {
        let (packets, ip) = transport(&read(name), pid);
        check(expected_name, &packets, &expected(&folder, expected_name));
        let (_, kind, counts) = ip.streams().next().unwrap();
        assert_eq!(kind.to_lowercase(), name[..3]);
        assert_eq!(counts.packets as usize, packets.len());
        assert_eq!((counts.crc_errors, counts.incomplete, counts.malformed), (0, 0, 0));
    }
    let found: Vec<_> = transport(&read("mpe.ts"), None).1.streams().map(|(pid, kind, _)| (pid, kind)).collect();
    assert_eq!(found, [(513, "MPE"), (514, "MPE")]);
    // Without its tables, a PID that is chosen.
    let mut without: Vec<u8> = read("ule.ts");
    without = without
        .chunks(188)
        .filter(|packet| packet[1..3] == [0x43, 1] || packet[1..3] == [3, 1])
        .flatten()
        .copied()
        .collect();
    assert!(transport(&without, None).0.is_empty());
    check("ule alone", &transport(&without, Some(769)).0, &expected(&folder, "ule"));
}

#[test]
fn a_lost_packet_costs_what_it_was_part_of() {
    let Some(folder) = shared() else { return };
    for (name, pid, expected_name) in [("mpe.ts", 513, "mpe.pid513"), ("ule.ts", 769, "ule")] {
        let file = std::fs::read(folder.join(name)).unwrap();
        let all = expected(&folder, expected_name);
        let of_pid = |packet: &&[u8]| u16::from_be_bytes([packet[1] & 0x1F, packet[2]]) == pid;
        let count = file.chunks(188).filter(of_pid).count();
        for lost in (0..count).step_by(29) {
            let mut seen = 0;
            let kept = file.chunks(188).filter(|packet| {
                seen += usize::from(of_pid(packet));
                !of_pid(packet) || seen != lost + 1
            });
            let kept: Vec<u8> = kept.flatten().copied().collect();
            let (packets, ip) = transport(&kept, Some(pid));
            let mut rest = all.iter();
            assert!(
                packets.iter().all(|packet| rest.any(|known| known == packet)),
                "{name} {lost}: none wrong, in order"
            );
            // A packet of 188 bytes touches at most the packets of which a part is in it: eight of the shortest.
            let gone = all.len() - packets.len();
            let (_, _, counts) = ip.streams().next().unwrap();
            assert!((1..=8).contains(&gone), "{name} {lost}: {gone}");
            assert_eq!(counts.crc_errors, 0, "{name} {lost}: {counts:?}");
        }
    }
}

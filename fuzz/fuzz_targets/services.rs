//! Any bytes as packets of a transport stream: what they tell is bounded, and what comes of packets adds up.
#![no_main]

use bief_dsp::transport::{Descriptors, MAX_SECTION, Packet, Pat, Pmt, Sdt, Sections, Services, text};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    // Packets mostly of the PIDs that are read: the first byte of each chooses among them.
    let mut stream = Vec::new();
    for chunk in bytes.chunks(184) {
        let mut packet = [0xFF; 188];
        packet[0] = 0x47;
        packet[4..4 + chunk.len()].copy_from_slice(chunk);
        let pid: u16 = [0, 0x11, 0x100, 0x1FFF][usize::from(chunk[0] & 3)];
        packet[1..3].copy_from_slice(&(pid | u16::from(chunk[0] & 0x40) << 8).to_be_bytes());
        packet[3] = chunk[chunk.len() - 1] & 0x3F;
        stream.extend_from_slice(&packet);
    }
    let mut services = Services::new();
    services.push(&stream);
    services.push(bytes);
    let of_pids: u64 = services.pids().map(|pid| services.pid(pid).packets).sum();
    assert_eq!(of_pids + services.errors(), services.packets());
    assert!(services.services().count() <= 128);
    assert!(services.services().all(|(_, known)| known.streams.len() <= 64));
    assert!(services.pids().all(|pid| services.pid(pid).rate.is_none_or(f64::is_finite)));

    let mut sections = Sections::default();
    for packet in stream.chunks(188).filter_map(Packet::new) {
        sections.push(packet.payload, packet.starts, |section| assert!((3..=MAX_SECTION).contains(&section.len())));
    }
    for bytes in [bytes, bytes.get(1..).unwrap_or_default()] {
        Pat::new(bytes).into_iter().for_each(|pat| drop(pat.services().count()));
        Pmt::new(bytes).into_iter().for_each(|pmt| drop(pmt.streams().count()));
        Sdt::new(bytes).into_iter().for_each(|sdt| drop(sdt.services().count()));
        assert!(Descriptors::new(bytes).count() <= bytes.len() / 2);
        assert!(!text(bytes).contains(char::is_control));
    }
});

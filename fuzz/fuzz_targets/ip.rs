//! Any bytes as BBFRAMEs, packets and pcap files: what comes out are whole IP packets, and as many as are counted. IP packets that are
//! encapsulated come out again.
#![no_main]

use bief_dsp::dvbs2::{BBHEADER, BbHeader, NO_PACKET_STARTS, PACKET, RollOff, StreamType};
use bief_fuzz::cycled;
use bief_ip::bbframes::{BbframeReader, Item, PacketReader};
use bief_ip::gse::{Encapsulator, Gse};
use bief_ip::pcap::PcapReader;
use bief_ip::pdu::protocol;
use bief_ip::transport::TransportIp;
use libfuzzer_sys::arbitrary::{self, Arbitrary};
use libfuzzer_sys::fuzz_target;

#[derive(Arbitrary, Debug)]
struct Input<'a> {
    /// Data fields, each with what its header says.
    fields: Vec<(bool, u16, Option<u16>, &'a [u8])>,
    /// Payloads of a PID, each with its flags.
    payloads: Vec<(u8, &'a [u8])>,
    chosen: bool,
    file: &'a [u8],
    /// Lengths of packets, and of the frames that carry them.
    packets: Vec<u16>,
    frames: [u16; 3],
}

/// Counts an IP packet, which must be whole.
fn check(packet: &[u8], count: &mut u64) {
    *count += 1;
    let long = match packet[0] >> 4 {
        4 => usize::from(u16::from_be_bytes([packet[2], packet[3]])),
        _ => 40 + usize::from(u16::from_be_bytes([packet[4], packet[5]])),
    };
    assert!(protocol(packet).is_some() && long == packet.len());
}

fn header(is_row: bool, dfl: u16, syncd: Option<u16>) -> BbHeader {
    let stream = if is_row { StreamType::GseHem } else { StreamType::GenericContinuous };
    BbHeader { stream, upl: 0, syncd: syncd.unwrap_or(NO_PACKET_STARTS), ..BbHeader::transport(RollOff::R20, dfl) }
}

fuzz_target!(|input: Input| {
    let (mut gse, mut count) = (Gse::new(), 0);
    for (is_row, dfl, syncd, field) in &input.fields {
        gse.push(&header(*is_row, *dfl, *syncd), field, &mut |packet: &[u8]| check(packet, &mut count));
        if dfl % 64 == 5 {
            gse.lose();
        }
    }
    assert_eq!(gse.counts().packets, count);

    let (mut ip, mut count) = (if input.chosen { TransportIp::of_pid(33) } else { TransportIp::new() }, 0);
    for (number, (flags, payload)) in input.payloads.iter().enumerate() {
        let mut packet = [0xFF; PACKET];
        let pid = if flags & 1 != 0 { 33 } else { (flags >> 5).into() };
        packet[..4].copy_from_slice(&[0x47, flags & 0xC0, pid, 0x10 | flags & 0x20 | number as u8 & 15]);
        packet[4..].copy_from_slice(&cycled(payload, PACKET - 4));
        ip.push(&packet, &mut |packet: &[u8]| check(packet, &mut count));
    }
    assert_eq!(ip.streams().map(|(_, _, counts)| counts.packets).sum::<u64>(), count);

    if let Ok(mut frames) = BbframeReader::new(input.file, None) {
        let mut bytes = 0;
        while let Some(item) = frames.next_frame().unwrap() {
            if let Item::Frame(frame) = item {
                let header = BbHeader::parse(frame);
                assert!(header.is_ok_and(|header| frame.len() == BBHEADER + usize::from(header.dfl).div_ceil(8)));
                bytes += frame.len();
            }
        }
        assert!(bytes <= input.file.len());
    }
    if let Ok(mut packets) = PacketReader::new(input.file) {
        let mut bytes = 0;
        while let Some(packets) = packets.next_packets().unwrap() {
            assert!(packets.chunks(PACKET).all(|packet| packet.len() == PACKET && packet[0] == 0x47));
            bytes += packets.len() as u64;
        }
        let short = packets.short().map_or(0, |bytes| bytes as u64);
        assert_eq!(bytes + packets.passed_over() + short, input.file.len() as u64);
    }
    if let Ok(mut packets) = PcapReader::new(input.file) {
        let mut packet = Vec::new();
        while let Ok(true) = packets.read(&mut packet) {
            check(&packet, &mut count);
        }
    }

    let packet = |len: &u16| {
        let mut packet = cycled(input.file, (*len).clamp(20, 65_533).into());
        packet[0] = 0x45;
        let len = packet.len() as u16;
        packet[2..4].copy_from_slice(&len.to_be_bytes());
        packet
    };
    let sent: Vec<Vec<u8>> = input.packets.iter().take(40).map(packet).collect();
    let (mut waiting, mut gse, mut got) = (sent.iter(), Gse::new(), Vec::new());
    let mut encapsulator = Encapsulator::new(RollOff::R35);
    for len in input.frames.iter().cycle() {
        let mut frame = vec![0; 384 + usize::from(len % 7000)];
        if !encapsulator.fill(&mut frame, |next| waiting.next().map(|packet| next.clone_from(packet)).is_some()) {
            break;
        }
        let header = BbHeader::parse(&frame).unwrap();
        gse.push(&header, &frame[BBHEADER..], &mut |packet: &[u8]| got.push(packet.to_vec()));
    }
    assert!(got == sent, "{} of {}", got.len(), sent.len());
});

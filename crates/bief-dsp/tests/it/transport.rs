//! Transport streams made by hand, and read.

use bief_dsp::dvbs2::NULL_PACKET;
use bief_dsp::transport::{Packet, Pat, Pmt, Sdt, Services, crc32};

/// A section of a table with its CRC-32.
fn section(table: u8, extension: u16, content: &[u8]) -> Vec<u8> {
    let length = content.len() + 9;
    let mut section = vec![table, 0xB0 | (length >> 8) as u8, length as u8];
    section.extend(extension.to_be_bytes());
    section.extend([0xC1, 0, 0]);
    section.extend(content);
    section.extend(crc32(&section).to_be_bytes());
    section
}

/// Packets of a PID, with a section or a part of it in each.
fn packets(pid: u16, counter: &mut u8, section: &[u8]) -> Vec<u8> {
    let mut all = Vec::new();
    let mut left = [&[0], section].concat();
    let mut starts = 0x40;
    while !left.is_empty() {
        let mut packet = [0xFF; 188];
        packet[..4].copy_from_slice(&[0x47, starts | (pid >> 8) as u8, pid as u8, 0x10 | *counter]);
        *counter = (*counter + 1) & 15;
        let some = left.len().min(184);
        packet[4..4 + some].copy_from_slice(&left[..some]);
        left.drain(..some);
        all.extend(packet);
        starts = 0;
    }
    all
}

fn pat() -> Vec<u8> {
    section(0, 1, &[0, 0, 0xE0, 0x10, 0x12, 0x34, 0xE1, 0x00, 0x12, 0x35, 0xE1, 0x01])
}

fn pmt() -> Vec<u8> {
    // The clock with the video; a descriptor of the programme, and one of the sound.
    let content =
        [0xE2, 0x00, 0xF0, 3, 9, 1, 7, 0x1B, 0xE2, 0x00, 0xF0, 0, 0x0F, 0xE2, 0x01, 0xF0, 4, 0x0A, 2, b'd', b'e'];
    section(2, 0x1234, &content)
}

fn sdt() -> Vec<u8> {
    let mut content = vec![0, 1, 0xFF, 0x12, 0x34, 0xFC, 0x80 | 0x10, 0];
    let descriptor = [&[0x48, 0, 1, 3][..], b"ARD", &[12], b"Das Erste HD"].concat();
    content[7] = descriptor.len() as u8;
    content.extend(descriptor);
    content[9] = (content.len() - 10) as u8;
    section(0x42, 1, &content)
}

#[test]
fn services_are_found_with_names_streams_clocks_and_faults() {
    let (mut counters, mut services) = ([0; 4], Services::new());
    let picture = |counter: u8, clock: Option<u64>| {
        let mut packet = [0; 188];
        packet[..4].copy_from_slice(&[0x47, 2, 0, 0x10 | counter & 15]);
        if let Some(ticks) = clock {
            let base = ticks / 300;
            packet[3] |= 0x20;
            packet[4..6].copy_from_slice(&[7, 0x10]);
            packet[6..10].copy_from_slice(&((base >> 1) as u32).to_be_bytes());
            packet[10..12].copy_from_slice(&[(base as u8 & 1) << 7 | 0x7E, (ticks % 300) as u8]);
        }
        packet
    };
    // 10 packets in each 10 ms: 1.504 Mb/s. A picture is left out once, and one comes twice, which is allowed.
    let mut counter = 0_u8;
    for round in 0..50_u64 {
        services.push(&packets(0, &mut counters[0], &pat()));
        services.push(&packets(0x100, &mut counters[1], &pmt()));
        services.push(&packets(0x11, &mut counters[2], &sdt()));
        services.push(&picture(counter, Some(round * 270_000)));
        counter += if round == 20 { 2 } else { 1 };
        services.push(&picture(counter, None));
        if round == 30 {
            services.push(&picture(counter, None));
        } else {
            services.push(&NULL_PACKET);
        }
        counter += 1;
        services.push(&NULL_PACKET.repeat(4));
    }
    assert!(services.is_multiplex());
    let all: Vec<_> = services.services().collect();
    assert_eq!(all.len(), 2);
    let (number, known) = all[0];
    assert_eq!((number, known.map, known.clock), (0x1234, 0x100, Some(0x200)));
    assert_eq!((known.name.as_deref(), known.provider.as_deref()), (Some("Das Erste HD"), Some("ARD")));
    assert!(known.is_scrambled);
    assert_eq!(known.streams, [(0x200, 0x1B), (0x201, 0x0F)]);
    assert_eq!((all[1].0, all[1].1.name.as_deref()), (0x1235, None));
    let video = services.pid(0x200);
    assert_eq!((video.packets, video.continuity_errors), (101, 1));
    let clock = video.clock.unwrap();
    assert_eq!((clock.marks, clock.jumps), (50, 0));
    assert!(clock.jitter < 1e-9 && (clock.packets_per_second - 1000.0).abs() < 1e-6, "{clock:?}");
    assert!((video.rate.unwrap() - 101.0 / 500.0 * 1.504e6).abs() < 1.0);
    assert_eq!(services.pids().collect::<Vec<_>>(), [0, 0x11, 0x100, 0x200, 0x1FFF]);
}

#[test]
fn tables_with_errors_and_lengths_that_lie_are_left_out() {
    for good in [pat(), pmt(), sdt()] {
        for at in 0..good.len() {
            let mut bad = good.clone();
            bad[at] ^= 1 << (at % 8);
            assert!(Pat::new(&bad).is_none() && Pmt::new(&bad).is_none() && Sdt::new(&bad).is_none(), "byte {at}");
            assert!(
                Pat::new(&good[..at]).is_none() && Pmt::new(&good[..at]).is_none() && Sdt::new(&good[..at]).is_none()
            );
        }
    }
    // Right CRC-32, wrong lengths inside.
    let lies = section(2, 1, &[0xE2, 0, 0xFF, 0xFF, 1, 2, 3]);
    assert_eq!(Pmt::new(&lies).map(|pmt| pmt.streams().count()), Some(0));
    let lies = section(0x42, 1, &[0, 1, 0xFF, 0, 1, 0xFC, 0x8F, 0xFF, 0x48, 200, 1]);
    assert_eq!(Sdt::new(&lies).map(|sdt| sdt.services().count()), Some(0));
    let mut field = NULL_PACKET;
    (field[3], field[4]) = (0x30, 200);
    assert_eq!(Packet::new(&field), None, "an adaptation field that is longer than its packet");
    assert_eq!(Packet::new(&NULL_PACKET[1..]), None);
}

#[test]
fn any_packets_keep_memory_bounded() {
    let mut services = Services::new();
    let mut random = fastrand::Rng::with_seed(1);
    let mut counter = 0;
    for _ in 0..300 {
        // Tables that are right, of ever new services and PIDs.
        let content: Vec<u8> = (0..120).map(|_| random.u8(..)).collect();
        services.push(&packets(0, &mut counter, &section(0, 1, &content)));
        let mut packet = [0; 188];
        random.fill(&mut packet);
        packet[0] = 0x47;
        services.push(&packet);
    }
    assert_eq!(services.services().count(), 128);
    let of_pids: u64 = services.pids().map(|pid| services.pid(pid).packets).sum();
    assert_eq!(of_pids + services.errors(), services.packets());
}

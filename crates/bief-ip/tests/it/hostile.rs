//! Streams that lie: nothing panics, and nothing is delivered that was not sent whole.

use bief_dsp::dvbs2::{BbHeader, NO_PACKET_STARTS, RollOff, StreamType};
use bief_ip::bbframes::{BbframeReader, Item, PacketReader};
use bief_ip::gse::Gse;
use bief_ip::transport::TransportIp;
use proptest::prelude::*;

fn header(stream: StreamType, bytes: usize) -> BbHeader {
    BbHeader { stream, upl: 0, ..BbHeader::transport(RollOff::R20, 8 * bytes as u16) }
}

/// Gives a field to a stream: the packets that come out, and what is counted.
fn push(gse: &mut Gse, field: &[u8]) -> usize {
    let mut packets = 0;
    gse.push(&header(StreamType::GenericContinuous, field.len()), field, &mut |_: &[u8]| packets += 1);
    packets
}

/// The first piece of a PDU of so many bytes.
fn first(fragment: u8, total: u16, piece: &[u8]) -> Vec<u8> {
    let length = (5 + piece.len()) as u16;
    [&(0xA000 | length).to_be_bytes()[..], &[fragment], &total.to_be_bytes(), &[8, 0], piece].concat()
}

fn middle(fragment: u8, piece: &[u8]) -> Vec<u8> {
    [&(0x3000 | (1 + piece.len()) as u16).to_be_bytes()[..], &[fragment], piece].concat()
}

fn last(fragment: u8, piece: &[u8]) -> Vec<u8> {
    [&(0x7000 | (1 + piece.len()) as u16).to_be_bytes()[..], &[fragment], piece].concat()
}

#[test]
fn pieces_that_do_not_fit_together_are_counted() {
    for (fields, incomplete, crc_errors, malformed) in [
        (vec![first(1, 30, &[0; 20])], 1, 0, 0),
        (vec![first(1, 30, &[0; 20]), first(1, 30, &[0; 20])], 2, 0, 0),
        (vec![first(1, 30, &[0; 20]), last(1, &[0; 12])], 0, 1, 0),
        (vec![first(1, 30, &[0; 20]), last(1, &[0; 11])], 1, 0, 0),
        (vec![first(1, 30, &[0; 20]), last(1, &[0; 3])], 0, 0, 1),
        (vec![first(1, 30, &[0; 20]), middle(1, &[0; 9])], 1, 0, 0),
        (vec![first(1, 10, &[0; 20])], 0, 0, 1),
        (vec![last(7, &[0; 20])], 1, 0, 0),
        (vec![middle(7, &[0; 20])], 0, 0, 0),
        // A length behind the end of the data field; packets too short for their own headers.
        (vec![vec![0xCF, 0xFF, 1]], 0, 0, 1),
        (vec![vec![0xC0, 0, 0x80, 0, 0x40, 0]], 0, 0, 3),
        (vec![vec![0xC0, 5, 8, 0, 1, 2, 3]], 0, 0, 1),
    ] {
        let mut gse = Gse::new();
        let packets: usize = fields.iter().map(|field| push(&mut gse, field)).sum();
        let counts = gse.counts();
        let got = (packets, counts.incomplete, counts.crc_errors, counts.malformed);
        assert_eq!(got, (0, incomplete, crc_errors, malformed), "{fields:02x?}");
    }
}

#[test]
fn pieces_that_never_end_are_given_up() {
    let mut gse = Gse::new();
    // All identifiers, as long as can be: there is room for fifteen.
    for fragment in 0..=255 {
        push(&mut gse, &first(fragment, u16::MAX, &[0; 10]));
    }
    assert_eq!(gse.counts().incomplete, 256);
    let before = gse.counts();
    // Frames go by.
    (0..256).for_each(|_| {
        push(&mut gse, &middle(255, &[1]));
    });
    assert_eq!(push(&mut gse, &last(255, &[0; 4])), 0);
    assert_eq!(gse.counts().incomplete, before.incomplete + 1, "the last piece finds none that is open");
}

#[test]
fn a_row_that_does_not_go_on_is_dropped() {
    let packet = |len: u16| {
        let mut bytes = vec![7; usize::from(len)];
        bytes[0] = 0x45;
        bytes[2..4].copy_from_slice(&len.to_be_bytes());
        [&(0xE000 | (len + 2)).to_be_bytes()[..], &[8, 0], &bytes].concat()
    };
    let row: Vec<u8> = (0..40).flat_map(|index| packet(20 + index * 13)).collect();
    let starts: Vec<usize> = (0..40).scan(0, |at, index| Some(std::mem::replace(at, *at + 24 + 13 * index))).collect();
    let frame = 333;
    let push = |lost: Option<usize>, announced: bool, bits: usize| {
        let (mut gse, mut got) = (Gse::new(), Vec::new());
        // Data fields of any number of bits.
        let all = 8 * row.len();
        for (index, start) in (0..all).step_by(bits).enumerate() {
            let count = bits.min(all - start);
            let field: Vec<u8> = (0..count.div_ceil(8))
                .map(|byte| {
                    (0..8).fold(0, |sum, bit| {
                        sum << 1 | {
                            let at = start + 8 * byte + bit;
                            if 8 * byte + bit < count { row[at / 8] >> (7 - at % 8) & 1 } else { 1 }
                        }
                    })
                })
                .collect();
            let syncd = starts.iter().map(|at| 8 * at).find(|at| (start..start + count).contains(at));
            let syncd = syncd.map_or(NO_PACKET_STARTS, |at| (at - start) as u16);
            if lost == Some(index) {
                if announced {
                    gse.lose();
                }
                continue;
            }
            let header = BbHeader { dfl: count as u16, syncd, ..header(StreamType::GseHem, 0) };
            gse.push(&header, &field, &mut |packet: &[u8]| got.push(packet.len()));
        }
        (got, gse.counts())
    };
    let all: Vec<usize> = (0..40).map(|index| 20 + 13 * index).collect();
    for bits in [8 * frame, 2000, 2001, 2003, 555, 17, 9] {
        assert_eq!(push(None, false, bits).0, all, "{bits}");
    }
    for bits in [8 * frame, 2003] {
        for lost in (0..(8 * row.len()).div_ceil(bits)).step_by(3) {
            for announced in [false, true] {
                let (got, counts) = push(Some(lost), announced, bits);
                let is_touched = |index: usize| {
                    let (start, end) = (8 * starts[index], 8 * (starts[index] + 24 + 13 * index));
                    start < (lost + 1) * bits && lost * bits < end
                };
                let expected: Vec<usize> =
                    (0..40).filter(|&index| !is_touched(index)).map(|index| all[index]).collect();
                assert_eq!(got, expected, "{lost} {announced} {bits} {counts:?}");
            }
        }
    }
}

proptest! {
    #[test]
    fn any_bytes_are_taken(
        fields in prop::collection::vec((any::<[u8; 10]>(), prop::collection::vec(any::<u8>(), 0..400), any::<bool>()), 0..20),
    ) {
        let mut gse = Gse::new();
        for (flags, field, is_lost) in &fields {
            let stream = [StreamType::GenericContinuous, StreamType::GseHem][usize::from(flags[0] & 1)];
            let dfl = u16::from_be_bytes([flags[1] & 0xF, flags[2]]);
            let header = BbHeader { dfl, syncd: u16::from(flags[3]), ..header(stream, 0) };
            gse.push(&header, field, &mut |packet: &[u8]| assert!(packet.len() >= 20));
            if *is_lost {
                gse.lose();
            }
        }
        let bytes: Vec<u8> = fields.into_iter().flat_map(|(_, field, _)| field).collect();
        let mut ip = TransportIp::of_pid(5);
        for part in bytes.chunks(184).filter(|part| part.len() == 184) {
            let mut packet = [0; 188];
            packet[..4].copy_from_slice(&[0x47, 0x40, 5, 0x10 | part[0] & 3]);
            packet[4..].copy_from_slice(part);
            ip.push(&packet, &mut |packet: &[u8]| assert!(packet.len() >= 20));
            packet[2] = 0;
            ip.push(&packet, &mut |_: &[u8]| ());
        }
        if let Ok(mut frames) = BbframeReader::new(&bytes[..], None) {
            while let Some(item) = frames.next_frame().unwrap() {
                if let Item::Frame(frame) = item {
                    assert!(frame.len() >= 10);
                }
            }
        }
        if let Ok(mut packets) = PacketReader::new(&bytes[..]) {
            while packets.next_packets().unwrap().is_some() {}
        }
    }
}

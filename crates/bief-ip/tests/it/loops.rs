//! What is encapsulated here comes out again.

use bief_dsp::dvbs2::RollOff;
use bief_ip::gse::{Encapsulator, LONGEST_PDU};
use proptest::prelude::*;

use super::{Packets, read_bbframes};

/// An IP packet of this length, all its bytes behind the header random.
fn packet(random: &mut fastrand::Rng, len: usize) -> Vec<u8> {
    let mut packet: Vec<u8> = (0..len).map(|_| random.u8(..)).collect();
    if random.bool() && len >= 40 {
        packet[0] = 0x60;
        packet[4..6].copy_from_slice(&(len as u16 - 40).to_be_bytes());
    } else {
        packet[0] = 0x45;
        packet[2..4].copy_from_slice(&(len as u16).to_be_bytes());
    }
    packet
}

/// BBFRAMEs with the packets, each of a size of its own.
fn frames(packets: &Packets, mut size: impl FnMut() -> usize) -> Packets {
    let (mut encapsulator, mut frames) = (Encapsulator::new(RollOff::R25).of_stream(9).variable_coding(), Vec::new());
    let mut waiting = packets.iter();
    loop {
        let mut frame = vec![0xEE; size()];
        let has_data =
            encapsulator.fill(&mut frame, |next| waiting.next().map(|packet| next.clone_from(packet)).is_some());
        if !has_data {
            return frames;
        }
        frames.push(frame);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn packets_come_back_whatever_their_length_and_that_of_frames(
        seed: u64,
        lens in prop::collection::vec(prop_oneof![8 => 20_usize..1600, 2 => 20_usize..60, 1 => 4000_usize..4200, 1 => 20..=LONGEST_PDU], 1..60),
        sizes in prop::collection::vec(384_usize..8000, 1..5),
    ) {
        let mut random = fastrand::Rng::with_seed(seed);
        let packets: Packets = lens.iter().map(|&len| packet(&mut random, len)).collect();
        let mut sizes = sizes.into_iter().cycle();
        let frames = frames(&packets, || sizes.next().unwrap());
        // As files hold frames of several lengths: without padding.
        let packed: Vec<u8> = frames.iter().flat_map(|frame| &frame[..10 + usize::from(u16::from_be_bytes([frame[4], frame[5]])) / 8]).copied().collect();
        let (streams, damaged) = read_bbframes(&packed);
        prop_assert_eq!(damaged, 0);
        let (got, counts) = &streams[&Some(9)];
        prop_assert!(got == &packets, "{} of {} packets; {:?}", got.len(), packets.len(), counts);
    }
}

#[test]
fn lost_frames_cost_the_packets_that_were_in_them() {
    let mut random = fastrand::Rng::with_seed(4);
    let packets: Packets = (0..400)
        .map(|_| random.usize(20..1500))
        .collect::<Vec<_>>()
        .into_iter()
        .map(|len| packet(&mut random, len))
        .collect();
    let frames = frames(&packets, || 879);
    // The frames that each packet is in: a tap behind each shows how many packets were complete.
    for round in 0..30 {
        let lost: Vec<bool> = frames.iter().map(|_| random.usize(..10) == 0).collect();
        let kept: Vec<u8> =
            frames.iter().zip(&lost).filter(|(_, lost)| !**lost).flat_map(|(frame, _)| frame).copied().collect();
        let (streams, _) = read_bbframes(&kept);
        let got = &streams[&Some(9)].0;
        let mut expected = packets.clone();
        let mut touched = std::collections::HashSet::new();
        for (index, _) in lost.iter().enumerate().filter(|(_, lost)| **lost) {
            touched.extend(in_frame(&frames, &packets, index));
        }
        let mut number = 0;
        expected.retain(|_| {
            number += 1;
            !touched.contains(&(number - 1))
        });
        assert!(got == &expected, "round {round}: {} packets, not {}", got.len(), expected.len());
    }
}

/// The packets of which a part is in a frame: those that are missing when it alone is.
fn in_frame(frames: &Packets, packets: &Packets, index: usize) -> Vec<usize> {
    let front: usize = frames[..index].iter().map(|frame| starts(frame)).sum();
    let begun = starts(&frames[index]);
    let goes_on = frames[index][10] & 0x80 == 0;
    assert!(front + begun <= packets.len());
    (front - usize::from(goes_on)..front + begun).collect()
}

/// Packets that begin in a frame, by the flags of its GSE packets.
fn starts(frame: &[u8]) -> usize {
    let mut field = &frame[10..10 + usize::from(u16::from_be_bytes([frame[4], frame[5]])) / 8];
    let mut count = 0;
    while let [high, low, ..] = field {
        count += usize::from(high & 0x80 != 0);
        field = &field[2 + usize::from(u16::from_be_bytes([high & 0xF, *low]))..];
    }
    count
}

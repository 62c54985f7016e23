//! Frames that are lost: what keeps its place, and what is only counted.

use bief_dsp::dvbs2::{BBHEADER, DeleteNullPackets, NULL_PACKET, PACKET, Rejection, RollOff, Slicer};
use proptest::prelude::*;

use super::{PACKET_BITS, Receiver, bbframe, mark, packets, user_packet_bits};

/// A frame that cannot be read, of the same length.
fn unreadable(frame: &[u8]) -> Vec<u8> {
    let mut frame = frame.to_vec();
    frame[4] ^= 0x55;
    frame
}

/// What is delivered when the bits of those ranges are lost and their packets replaced.
fn with_replaced(stream: &[u8], lost: &[(usize, usize)]) -> (Vec<u8>, usize, usize) {
    let mut null = NULL_PACKET;
    mark(&mut null);
    let mut expected = stream.to_vec();
    let (mut errors, mut replaced) = (0, 0);
    for (k, packet) in expected.chunks_exact_mut(PACKET).enumerate() {
        let (start, end) = (k * PACKET_BITS, (k + 1) * PACKET_BITS);
        if lost.iter().any(|&(from, to)| from < end && start < to) {
            packet.copy_from_slice(&null);
            replaced += 1;
        } else if lost.iter().any(|&(from, _)| (end..end + 8).contains(&from)) {
            mark(packet); // its CRC-8 is lost
            errors += 1;
        }
    }
    (expected, errors + replaced, replaced)
}

proptest! {
    #[test]
    fn packets_of_frames_that_cannot_be_read_are_replaced(
        // The data fields are all of one length in padded frames, or of any length and full.
        dfl in prop_oneof![(100usize..6_000).prop_map(Some), Just(None)],
        frames in prop::collection::vec((40usize..750, 0u8..3), 10..40),
        seed in any::<u32>(),
    ) {
        let bytes = |frame: usize| dfl.map_or(frames[frame].0, |dfl| dfl.div_ceil(8) + 1);
        let bits_of = |frame: usize| dfl.unwrap_or(8 * bytes(frame));
        let total: usize = (0..frames.len()).map(bits_of).sum();
        let stream = packets(total / PACKET_BITS + 1, seed);
        let bits = user_packet_bits(&stream);
        let mut receiver = Receiver::new();
        let (mut start, mut lost) = (0, Vec::new());
        for (i, &(_, fate)) in frames.iter().enumerate() {
            let frame = bbframe(&bits, start, bits_of(i), BBHEADER + bytes(i));
            // Four frames show what to expect, and the last ones show where the stream is.
            if fate == 0 && (4..frames.len() - 2).contains(&i) && 8 * bytes(frames.len() - 1) > PACKET_BITS {
                let rejected = receiver.push(&unreadable(&frame), false);
                prop_assert!(matches!(rejected, Some(Rejection::Header(_))));
                lost.push((start, start + bits_of(i)));
            } else {
                prop_assert_eq!(receiver.push(&frame, true), None);
            }
            start += bits_of(i);
        }
        receiver.flush();
        let (expected, errors, replaced) = with_replaced(&stream[..start / PACKET_BITS * PACKET], &lost);
        prop_assert!(receiver.stream() == expected, "{} bytes, not {}", receiver.stream().len(), expected.len());
        prop_assert_eq!((receiver.errors, receiver.replaced, receiver.gaps), (errors, replaced, 0));
    }

    #[test]
    fn nothing_is_invented_when_a_frame_is_missing_without_a_sign(
        dfl in 1_504usize..6_000,
        missing in 1usize..4,
        unread in 1usize..4,
        seed in any::<u32>(),
    ) {
        prop_assume!(!(missing * dfl).is_multiple_of(PACKET_BITS));
        let stream = packets(16 * dfl / PACKET_BITS, seed);
        let bits = user_packet_bits(&stream);
        let mut receiver = Receiver::new();
        for frame in 0..15 {
            let bytes = bbframe(&bits, frame * dfl, dfl, BBHEADER + dfl.div_ceil(8) + 1);
            match frame.checked_sub(6) {
                Some(after) if after < missing => continue,
                Some(after) if after < missing + unread => drop(receiver.push(&unreadable(&bytes), false)),
                _ => prop_assert_eq!(receiver.push(&bytes, true), None),
            }
        }
        receiver.flush();
        prop_assert_eq!((receiver.replaced, receiver.gaps), (0, 1));
        let sent: Vec<&[u8]> = stream.chunks_exact(PACKET).collect();
        let known = receiver.stream().chunks_exact(PACKET).filter(|packet| sent.contains(packet)).count();
        prop_assert_eq!(known + receiver.errors, receiver.packets);
    }

    #[test]
    fn lengths_that_changed_are_not_guessed(lengths in prop::collection::vec(1_504usize..6_000, 12), seed: u32) {
        prop_assume!(lengths[..6].windows(2).all(|pair| pair[0] != pair[1]));
        let stream = packets(60, seed);
        let bits = user_packet_bits(&stream);
        let mut receiver = Receiver::new();
        let mut start = 0;
        for (i, &dfl) in lengths.iter().enumerate() {
            let frame = bbframe(&bits, start, dfl, BBHEADER + dfl.div_ceil(8) + 1);
            receiver.push(&if i == 6 { unreadable(&frame) } else { frame }, i != 6);
            start += dfl;
        }
        prop_assert_eq!((receiver.replaced, receiver.gaps), (0, 1));
    }
}

#[test]
fn what_is_lost_at_the_end_is_a_gap() {
    let stream = packets(30, 1);
    let bits = user_packet_bits(&stream);
    let mut receiver = Receiver::new();
    for frame in 0..10 {
        let bytes = bbframe(&bits, frame * 4_000, 4_000, 600);
        let lost = frame > 7;
        receiver.push(&if lost { unreadable(&bytes) } else { bytes }, !lost);
    }
    receiver.flush();
    assert_eq!((receiver.packets, receiver.replaced, receiver.gaps), (8 * 4_000 / PACKET_BITS, 0, 1));
    assert_eq!(receiver.errors, 0);
}

#[test]
fn a_long_loss_is_a_gap() {
    for (lost, gaps) in [(64, 0), (65, 1)] {
        let stream = packets(80 * 2, 1);
        let bits = user_packet_bits(&stream);
        let mut receiver = Receiver::new();
        for frame in 0..75 {
            let bytes = bbframe(&bits, frame * 3_000, 3_000, 500);
            let lost = (5..5 + lost).contains(&frame);
            receiver.push(&if lost { unreadable(&bytes) } else { bytes }, !lost);
        }
        assert_eq!((receiver.gaps, receiver.replaced > 0), (gaps, gaps == 0), "{lost} frames");
    }
}

#[test]
fn where_null_packets_are_left_out_a_lost_frame_is_a_gap() {
    let mut users = Vec::new();
    DeleteNullPackets::default().delete(&packets(60, 1), &mut users);
    let mut slicer = Slicer::without_null_packets(RollOff::R20);
    let mut receiver = Receiver::new();
    let mut taken = 0;
    for frame in 0..12 {
        let mut bytes = [0; 700];
        taken += slicer.fill(&users[taken..], &mut bytes).unwrap();
        receiver.push(&if frame == 7 { unreadable(&bytes) } else { bytes.to_vec() }, frame != 7);
    }
    assert_eq!((receiver.replaced, receiver.restored, receiver.gaps), (0, 0, 1));
}

//! Transport streams of a single carrier: data fields of any length, errors, ends.

use bief_dsp::dvbs2::{BBHEADER, BbHeaderError, Fec, FrameSize, PACKET, Rate, Rejection, RollOff, SliceError, Slicer};
use proptest::prelude::*;

use super::{PACKET_BITS, Receiver, bbframe, cut, mark, packets, user_packet_bits};

proptest! {
    #[test]
    fn data_fields_of_any_length_carry_every_packet(
        lengths in prop::collection::vec(0usize..4_000, 1..40),
        padding in 0usize..3,
        seed in any::<u32>(),
    ) {
        let stream = packets(40, seed);
        let bits = user_packet_bits(&stream);
        let mut receiver = Receiver::new();
        let fields = cut(&lengths, bits.len());
        for &(start, dfl) in &fields {
            let frame = bbframe(&bits, start, dfl, BBHEADER + dfl.div_ceil(8) + padding);
            prop_assert_eq!(receiver.push(&frame, true), None);
        }
        receiver.flush();
        let sent: usize = fields.iter().map(|(_, dfl)| dfl).sum();
        prop_assert_eq!(receiver.stream(), &stream[..sent / PACKET_BITS * PACKET]);
        prop_assert_eq!((receiver.errors, receiver.gaps), (0, 0));
    }

    #[test]
    fn lost_frames_cost_the_packets_they_touch(
        frames in prop::collection::vec((1_504usize..6_000, 0u8..4), 1..40),
        unreadable in any::<bool>(),
        seed in any::<u32>(),
    ) {
        let stream = packets(60, seed);
        let bits = user_packet_bits(&stream);
        let lengths: Vec<usize> = frames.iter().map(|frame| frame.0).collect();
        let fields = cut(&lengths, bits.len());
        let is_lost = |frame: usize| frames[frame].1 == 0;
        // Runs of bits received without a gap.
        let mut runs: Vec<(usize, usize)> = Vec::new();
        let mut receiver = Receiver::new();
        for (i, &(start, dfl)) in fields.iter().enumerate() {
            // Padded: what a frame that is not read held is not known.
            let mut frame = bbframe(&bits, start, dfl, BBHEADER + dfl.div_ceil(8) + 1);
            if is_lost(i) {
                if unreadable {
                    frame[4] ^= 0x55;
                    let rejected = receiver.push(&frame, false);
                    prop_assert!(matches!(rejected, Some(Rejection::Header(_))));
                }
                continue;
            }
            prop_assert_eq!(receiver.push(&frame, true), None);
            match runs.last_mut() {
                Some(run) if run.1 == start => run.1 = start + dfl,
                Some(run) => {
                    // A gap of whole packet lengths cannot be seen.
                    prop_assume!(unreadable || !(start - run.1).is_multiple_of(PACKET_BITS));
                    runs.push((start, start + dfl));
                }
                None => runs.push((start, start + dfl)),
            }
        }
        receiver.flush();

        let mut expected = Vec::new();
        let (mut errors, mut whole) = (0, 0);
        for (i, &(start, end)) in runs.iter().enumerate() {
            let last_run = i == runs.len() - 1;
            let noticed = !last_run || (unreadable && is_lost(fields.len() - 1));
            for (k, packet) in stream.chunks_exact(PACKET).enumerate() {
                if k * PACKET_BITS < start || (k + 1) * PACKET_BITS > end {
                    continue;
                }
                whole += 1;
                expected.extend_from_slice(packet);
                if (k + 1) * PACKET_BITS + 8 > end && noticed {
                    errors += 1;
                    mark(&mut expected[(whole - 1) * PACKET..]);
                }
            }
        }
        prop_assert_eq!(receiver.stream(), &expected);
        prop_assert_eq!(receiver.errors, errors);
        let breaks = runs.len().saturating_sub(1)
            + usize::from(unreadable && !runs.is_empty() && is_lost(fields.len() - 1));
        prop_assert_eq!(receiver.gaps, breaks);
    }

    #[test]
    fn a_wrong_bit_marks_the_packet_it_is_in(
        lengths in prop::collection::vec(1usize..4_000, 12),
        position in any::<prop::sample::Index>(),
        seed in any::<u32>(),
    ) {
        let stream = packets(40, seed);
        let mut bits = user_packet_bits(&stream);
        let sent: usize = cut(&lengths, bits.len()).iter().map(|(_, dfl)| dfl).sum();
        let position = position.index(sent);
        bits[position] ^= 1;
        let mut receiver = Receiver::new();
        for (start, dfl) in cut(&lengths, bits.len()) {
            let frame = bbframe(&bits, start, dfl, BBHEADER + dfl.div_ceil(8));
            prop_assert_eq!(receiver.push(&frame, true), None);
        }
        receiver.flush();

        let mut expected = stream[..sent / PACKET_BITS * PACKET].to_vec();
        let (packet, bit) = (position / PACKET_BITS, position % PACKET_BITS);
        let checked = |packet: usize| (packet + 1) * PACKET_BITS + 8 <= sent;
        let mut errors = 0;
        if bit >= 8 && (packet + 1) * PACKET_BITS <= sent {
            expected[packet * PACKET + bit / 8] ^= 0x80 >> (bit % 8);
        }
        let blamed = if bit >= 8 { Some(packet) } else { packet.checked_sub(1) };
        if let Some(blamed) = blamed.filter(|&blamed| checked(blamed)) {
            mark(&mut expected[blamed * PACKET..]);
            errors = 1;
        }
        prop_assert_eq!(receiver.stream(), &expected);
        prop_assert_eq!(receiver.errors, errors);
    }

    #[test]
    fn a_frame_with_known_errors_marks_the_packets_it_carries(
        lengths in prop::collection::vec(1usize..4_000, 12),
        bad in 0usize..12,
        seed in any::<u32>(),
    ) {
        let stream = packets(40, seed);
        let bits = user_packet_bits(&stream);
        let fields = cut(&lengths, bits.len());
        let mut receiver = Receiver::new();
        for (i, &(start, dfl)) in fields.iter().enumerate() {
            let frame = bbframe(&bits, start, dfl, BBHEADER + dfl.div_ceil(8));
            receiver.push(&frame, i != bad);
        }
        receiver.flush();
        let sent: usize = fields.iter().map(|(_, dfl)| dfl).sum();
        let mut expected = stream[..sent / PACKET_BITS * PACKET].to_vec();
        let bad = fields.get(bad).map_or(0..0, |&(start, dfl)| start..start + dfl);
        for (k, packet) in expected.chunks_exact_mut(PACKET).enumerate() {
            let (first, end) = (k * PACKET_BITS + 8, (k + 1) * PACKET_BITS);
            if first < bad.end && bad.start < end {
                mark(packet);
            }
        }
        prop_assert_eq!(receiver.stream(), &expected);
    }

    #[test]
    fn the_slicer_makes_the_frames_that_the_rule_gives(
        sizes in prop::collection::vec((0usize..11, any::<bool>()), 1..12),
        seed in any::<u32>(),
    ) {
        let stream = packets(600, seed);
        let bits = user_packet_bits(&stream);
        let mut slicer = Slicer::new(RollOff::R20);
        let mut taken = 0;
        for (rate, normal) in sizes {
            let size = if normal { FrameSize::Normal } else { FrameSize::Short };
            let Some(fec) = Fec::new(size, Rate::ALL[rate]) else { continue };
            let mut frame = vec![0xFF; fec.kbch / 8];
            let start = 8 * taken;
            taken += slicer.fill(&stream[taken..], &mut frame).unwrap();
            prop_assert_eq!(frame, bbframe(&bits, start, fec.max_dfl(), fec.kbch / 8));
        }
    }

    #[test]
    fn a_stream_that_comes_in_bursts_arrives_whole(
        bursts in prop::collection::vec(0usize..12, 1..12),
        bytes in 20usize..600,
        seed in any::<u32>(),
    ) {
        let stream = packets(bursts.iter().sum(), seed);
        let mut slicer = Slicer::new(RollOff::R35).variable_coding();
        let mut receiver = Receiver::new();
        let mut frame = vec![0; bytes];
        let (mut taken, mut available) = (0, 0);
        for burst in bursts {
            available += burst * PACKET;
            // Frames leave as the clock asks for them, whether there is data or not.
            for _ in 0..3 {
                taken += slicer.fill(&stream[taken..available], &mut frame).unwrap();
                prop_assert_eq!(receiver.push(&frame, true), None);
            }
        }
        while taken < stream.len() {
            taken += slicer.fill(&stream[taken..], &mut frame).unwrap();
            receiver.push(&frame, true);
        }
        // The frame that carries the last CRC-8, wherever null packets may end.
        for _ in 0..=PACKET.div_ceil(bytes - BBHEADER) {
            slicer.fill(&[], &mut frame).unwrap();
            receiver.push(&frame, true);
        }
        let user: Vec<u8> = receiver
            .stream()
            .chunks_exact(PACKET)
            .filter(|packet| packet[..4] != [0x47, 0x1F, 0xFF, 0x10])
            .flatten()
            .copied()
            .collect();
        prop_assert_eq!(user, stream);
        prop_assert_eq!((receiver.errors, receiver.gaps), (0, 0));
    }
}

#[test]
fn a_stream_without_packet_starts_is_refused() {
    let mut stream = packets(3, 1);
    stream[2 * PACKET] = 0x48;
    let mut frame = [0; 400];
    let error = Slicer::new(RollOff::R20).fill(&stream, &mut frame).unwrap_err();
    assert_eq!(error, SliceError::Sync { offset: 376, sync: 0x47, found: 0x48 });
    assert_eq!(error.to_string(), "input stream: byte 376 starts a packet and must be 0x47, not 0x48");
}

#[test]
fn a_stream_that_ends_within_a_packet_is_refused_and_goes_on_when_completed() {
    let stream = packets(2, 1);
    let mut slicer = Slicer::new(RollOff::R20);
    let mut frame = [0; 400];
    let error = slicer.fill(&stream[..370], &mut frame).unwrap_err();
    assert_eq!(error, SliceError::Incomplete { missing: 6 });
    assert_eq!(slicer.fill(&stream, &mut frame), Ok(376));
    let mut receiver = Receiver::new();
    receiver.push(&frame, true);
    assert_eq!(receiver.stream(), stream);
}

#[test]
fn noise_is_no_frame() {
    let mut receiver = Receiver::new();
    let mut refused = 0;
    for frame in packets(400, 7).chunks_exact(PACKET) {
        let Some(Rejection::Header(error)) = receiver.push(frame, false) else {
            continue;
        };
        assert!(!matches!(error, BbHeaderError::Crc { found, computed } if found == computed));
        refused += 1;
    }
    assert!(refused >= 390, "{refused} of 400 refused");
}

/// The whole stream as a transmitter ends it: full frames, then what is left.
fn ended(stream: &[u8], bytes: usize) -> Vec<Vec<u8>> {
    let mut slicer = Slicer::new(RollOff::R20);
    let mut frames = Vec::new();
    let mut taken = 0;
    loop {
        let mut frame = vec![0xAA; bytes];
        let rest = &stream[taken..];
        if rest.len() >= bytes - BBHEADER {
            taken += slicer.fill(rest, &mut frame).unwrap();
            frames.push(frame);
            continue;
        }
        let complete = slicer.finish(rest, &mut frame).unwrap();
        taken = stream.len();
        frames.push(frame);
        if complete {
            return frames;
        }
    }
}

proptest! {
    #[test]
    fn a_finished_stream_is_delivered_whole_and_alone(count in 0_usize..40, bytes in 200_usize..2000, seed: u32) {
        let stream = packets(count, seed);
        let mut receiver = Receiver::new();
        for frame in ended(&stream, bytes) {
            prop_assert_eq!(receiver.push(&frame, true), None);
        }
        // Every packet is checked: nothing is left for the flush.
        let before = receiver.packets;
        receiver.flush();
        prop_assert_eq!((receiver.packets, receiver.errors, receiver.gaps), (before, 0, 0));
        prop_assert!(receiver.stream() == stream);
    }
}

#[test]
fn a_stream_cannot_finish_inside_a_packet() {
    let stream = packets(2, 1);
    let error = Slicer::new(RollOff::R20).finish(&stream[..300], &mut [0; 400]).unwrap_err();
    assert_eq!(error, SliceError::Incomplete { missing: 76 });
}

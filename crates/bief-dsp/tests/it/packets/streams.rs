//! Streams of every kind, alone and several on a carrier.

use std::collections::BTreeMap;

use bief_dsp::dvbs2::{
    BBHEADER, BbHeader, DeleteNullPackets, Deslicer, NULL_PACKET, PACKET, Rejection, RollOff, Slicer, StreamId,
    StreamType,
};
use proptest::prelude::*;

use super::{Receiver, bits, crc8, cut, headed, packet_bits, packets};

/// Packets with as many null packets before each as asked for, and behind the last.
fn with_nulls(runs: &[usize], seed: u32) -> Vec<u8> {
    let mut user = packets(runs.len().saturating_sub(1), seed);
    user.iter_mut().skip(2).step_by(PACKET).for_each(|byte| *byte = 0); // none of them is a null packet
    let mut stream = Vec::new();
    for (i, &nulls) in runs.iter().enumerate() {
        (0..nulls).for_each(|_| stream.extend_from_slice(&NULL_PACKET));
        stream.extend_from_slice(user.chunks_exact(PACKET).nth(i).unwrap_or_default());
    }
    stream
}

/// A sender of one stream: what it sends, and how.
#[derive(Clone, Debug)]
enum Source {
    Transport,
    WithoutNulls,
    Packets(u16),
    Continuous,
}

impl Source {
    fn strategy() -> impl Strategy<Value = Source> {
        prop_oneof![
            Just(Source::Transport),
            Just(Source::WithoutNulls),
            (2u16..1_000).prop_map(Source::Packets),
            Just(Source::Continuous),
        ]
    }

    /// What goes in, what the slicer gets, and the slicer.
    fn stream(&self, seed: u32) -> (Vec<u8>, Vec<u8>, Slicer) {
        match *self {
            Source::Transport => {
                let stream = packets(50, seed);
                (stream.clone(), stream, Slicer::new(RollOff::R25))
            }
            Source::WithoutNulls => {
                let stream = with_nulls(&[0, 3, 0, 0, 1, seed as usize % 300, 0, 700, 0, 2], seed);
                let (mut delete, mut users) = (DeleteNullPackets::default(), Vec::new());
                delete.delete(&stream, &mut users);
                delete.finish(&mut users);
                (stream, users, Slicer::without_null_packets(RollOff::R25))
            }
            Source::Packets(bytes) => {
                let mut stream = packets(50, seed);
                stream.truncate(stream.len() / usize::from(bytes) * usize::from(bytes));
                stream.iter_mut().step_by(bytes.into()).for_each(|byte| *byte = 0x1D);
                (stream.clone(), stream, Slicer::packets(RollOff::R25, bytes).unwrap().with_sync(0x1D))
            }
            Source::Continuous => {
                let stream = packets(50, seed);
                (stream.clone(), stream, Slicer::continuous(RollOff::R25))
            }
        }
    }
}

/// Frames of these lengths, over and over, until all is sent.
fn frames(mut slicer: Slicer, stream: &[u8], lengths: &[usize]) -> Vec<Vec<u8>> {
    let (mut taken, mut frames) = (0, Vec::new());
    for &bytes in lengths.iter().cycle() {
        let mut frame = vec![0x33; bytes];
        let rest = &stream[taken..];
        let ended = rest.len() < bytes - BBHEADER;
        let complete = if ended {
            taken = stream.len();
            slicer.finish(rest, &mut frame).unwrap()
        } else {
            taken += slicer.fill(rest, &mut frame).unwrap();
            false
        };
        frames.push(frame);
        if complete {
            break;
        }
    }
    frames
}

proptest! {
    #[test]
    fn several_streams_share_a_carrier(
        sources in prop::collection::vec(Source::strategy(), 1..5),
        lengths in prop::collection::vec(12usize..900, 1..6),
        order in prop::collection::vec(0usize..5, 40),
        wanted in prop::option::of(0u8..5),
        seed in any::<u32>(),
    ) {
        let mut sent = BTreeMap::new();
        let mut queues = Vec::new();
        for (isi, source) in sources.iter().enumerate() {
            let (stream, users, slicer) = source.stream(seed ^ isi as u32);
            let kind = match source {
                Source::Transport | Source::WithoutNulls => StreamType::Transport,
                Source::Packets(_) => StreamType::GenericPacketised,
                Source::Continuous => StreamType::GenericContinuous,
            };
            let id = StreamId { isi: Some(isi as u8), kind };
            sent.insert(id, stream);
            queues.push((id, frames(slicer.of_stream(isi as u8).variable_coding(), &users, &lengths).into_iter()));
        }
        let mut receiver = Receiver::new();
        if let Some(isi) = wanted {
            receiver.deslicer = Deslicer::of_stream(isi);
            sent.retain(|id, _| id.isi == wanted);
        }
        let mut order = order.iter().cycle();
        while !queues.is_empty() {
            let at = order.next().unwrap() % queues.len();
            let (id, frames) = &mut queues[at];
            let Some(frame) = frames.next() else {
                drop(queues.remove(at));
                continue;
            };
            let other = wanted.is_some() && wanted != id.isi;
            prop_assert_eq!(receiver.push(&frame, true), other.then_some(Rejection::OtherStream(*id)));
        }
        receiver.flush();
        prop_assert!(receiver.streams == sent);
        prop_assert_eq!((receiver.errors, receiver.gaps, receiver.replaced), (0, 0, 0));
    }

    #[test]
    fn what_is_delivered_of_several_streams_was_sent_or_is_marked(
        // No few of which make up whole packets: where such are missing, an 8-bit CRC alone tells.
        lengths in prop::collection::vec(
            (25usize..445).prop_map(|half| 2 * half + 11).prop_filter("of 47 bytes", |bytes| (bytes - 10) % 47 != 0),
            1..4,
        ),
        fates in prop::collection::vec(0u8..12, 60),
        seed in any::<u32>(),
    ) {
        let streams = [packets(60, seed), packets(60, !seed)];
        let mut receiver = Receiver::new();
        let queues: Vec<_> = streams.iter().zip(0u8..).map(|(stream, isi)| {
            frames(Slicer::new(RollOff::R20).of_stream(isi), stream, &lengths)
        }).collect();
        let mut fates = fates.iter().cycle();
        for (first, second) in queues[0].iter().zip(&queues[1]) {
            for frame in [first, second] {
                let mut frame = frame.clone();
                match fates.next().unwrap() {
                    0 => frame[3] ^= 0x10,
                    1 => continue,
                    _ => {}
                }
                receiver.push(&frame, true);
            }
        }
        receiver.flush();
        let (mut errors, mut wrong) = (0, 0);
        for (id, received) in &receiver.streams {
            let sent: Vec<_> = streams[usize::from(id.isi.unwrap())].chunks_exact(PACKET).collect();
            let mut next = 0;
            for packet in received.chunks_exact(PACKET) {
                if packet[1] & 0x80 != 0 {
                    errors += 1;
                } else if let Some(at) = sent[next..].iter().position(|sent| *sent == packet) {
                    next += at + 1;
                } else {
                    wrong += 1;
                }
            }
        }
        // Different ones may do so all the same, and the CRC misses one in 256.
        prop_assert!(wrong <= 3, "{wrong} packets were not sent, or in another order");
        prop_assert_eq!(receiver.errors, errors);
    }

    #[test]
    fn null_packets_come_back_in_their_places(
        runs in prop::collection::vec(prop_oneof![4 => 0usize..3, 1 => 200usize..600], 1..20),
        lengths in prop::collection::vec(12usize..900, 1..6),
        seed in any::<u32>(),
    ) {
        let stream = with_nulls(&runs, seed);
        let (mut delete, mut users) = (DeleteNullPackets::default(), Vec::new());
        // In two calls, to see that they continue one another.
        let (first, second) = stream.split_at(stream.len() / PACKET / 2 * PACKET);
        delete.delete(first, &mut users);
        delete.delete(second, &mut users);
        delete.finish(&mut users);
        let mut receiver = Receiver::new();
        for frame in frames(Slicer::without_null_packets(RollOff::R35), &users, &lengths) {
            prop_assert_eq!(receiver.push(&frame, true), None);
        }
        receiver.flush();
        prop_assert!(receiver.stream() == stream);
        let kept = users.len() / DeleteNullPackets::USER_PACKET;
        prop_assert_eq!((receiver.packets, receiver.restored), (stream.len() / PACKET, stream.len() / PACKET - kept));
        // At most one null packet stays of 256.
        prop_assert!(kept <= runs.len() + runs.iter().sum::<usize>() / 256);
    }

    #[test]
    fn bits_of_a_continuous_stream_follow_each_other(
        lengths in prop::collection::vec(0usize..300, 1..40),
        lost in 0usize..40,
        seed in any::<u32>(),
    ) {
        let sent = bits(&packets(40, seed));
        let header = BbHeader {
            stream: StreamType::GenericContinuous, upl: 0, ..BbHeader::transport(RollOff::R20, 0)
        };
        let mut receiver = Receiver::new();
        let mut expected: Vec<u8> = Vec::new();
        for (i, (start, dfl)) in cut(&lengths, sent.len()).into_iter().enumerate() {
            let mut frame = headed(header, &sent, start, dfl, BBHEADER + dfl.div_ceil(8) + 2);
            if i == lost && i > 0 {
                frame[1] ^= 1;
                expected.resize(expected.len().next_multiple_of(8), 0);
            } else {
                expected.extend_from_slice(&sent[start..start + dfl]);
            }
            receiver.push(&frame, true);
        }
        receiver.flush();
        expected.resize(expected.len().next_multiple_of(8), 0);
        prop_assert_eq!(bits(receiver.stream()), expected);
        prop_assert_eq!(receiver.gaps, usize::from(lost > 0 && lost < lengths.len()));
    }

    #[test]
    fn time_stamps_are_taken_off_and_told(
        stamp in 2usize..4,
        npd in any::<bool>(),
        lengths in prop::collection::vec(0usize..4_000, 1..40),
        wrong in 0usize..30,
        seed in any::<u32>(),
    ) {
        let stream = packets(30, seed);
        let count_bytes = usize::from(npd);
        let length = PACKET + stamp + count_bytes;
        let (mut users, mut expected) = (Vec::new(), Vec::new());
        let last = |k: usize| 0x81_0203 + 0x1_0111 * k;
        for (k, packet) in stream.chunks_exact(PACKET).enumerate() {
            users.extend_from_slice(packet);
            users.extend_from_slice(&(last(k) as u32).to_be_bytes()[4 - stamp..]);
            users.extend_from_slice(&[2][..count_bytes]);
        }
        let mut sent = packet_bits(&users, length);
        // The count of a packet that is wrong is not believed, nor is its time stamp.
        sent[(wrong + 1) * 8 * length - 1] ^= 1;
        let header = BbHeader {
            issy: true, npd, upl: 8 * length as u16, ..BbHeader::transport(RollOff::R20, 0)
        };
        let fields = cut(&lengths, sent.len());
        let end = fields.last().map_or(0, |(start, dfl)| start + dfl);
        let mut receiver = Receiver::new();
        for &(start, dfl) in &fields {
            let frame = headed(header, &sent, start, dfl, BBHEADER + dfl.div_ceil(8));
            prop_assert_eq!(receiver.push(&frame, true), None);
        }
        receiver.flush();
        for (k, packet) in stream.chunks_exact(PACKET).enumerate().take(end / (8 * length)) {
            let checked = end >= (k + 1) * 8 * length + 8;
            let is_wrong = k == wrong && checked;
            // Unchecked, the flipped bit turns 2 into 3.
            let nulls = if !npd || is_wrong { 0 } else if k == wrong { 3 } else { 2 };
            (0..nulls).for_each(|_| expected.extend_from_slice(&NULL_PACKET));
            expected.extend_from_slice(packet);
            if is_wrong {
                let start = expected.len() - PACKET;
                super::mark(&mut expected[start..]);
            }
        }
        prop_assert!(receiver.stream() == expected);
        let known = (0..30).map(|k| last(k) as u32 & ((1 << (8 * stamp)) - 1)).collect::<Vec<_>>();
        let of_wrong = |stamp: u32| npd || stamp != known[wrong] ^ 1;
        prop_assert!(receiver.stamps.iter().filter(|&&stamp| of_wrong(stamp)).all(|stamp| known.contains(stamp)));
    }

    #[test]
    fn no_frame_makes_it_panic(
        frames in prop::collection::vec((prop::collection::vec(any::<u8>(), 0..120), 0u8..4, any::<bool>()), 1..60),
        wanted in prop::option::of(any::<u8>()),
    ) {
        let mut receiver = Receiver::new();
        receiver.deslicer = wanted.map_or_else(Deslicer::new, Deslicer::of_stream);
        for (mut frame, kind, sound) in frames {
            if kind > 0 && frame.len() >= BBHEADER {
                // A header that the checks accept, of few streams.
                frame[0] |= 0x20;
                (frame[2], frame[4]) = (0, 0);
                frame[3] &= 0x38;
                if kind > 1 {
                    frame[0] |= 0xC0;
                    let upl = 1_504 + if frame[0] & 8 != 0 { 16 } else { 0 } + if frame[0] & 4 != 0 { 8 } else { 0 };
                    frame[2..4].copy_from_slice(&u16::to_be_bytes(upl));
                }
                frame[7] = if kind > 2 { 0xFF } else { 0 };
                frame[8] = if kind > 2 { 0xFF } else { frame[8] & 0x3F };
                frame[9] = crc8(&frame[..9]);
            }
            receiver.push(&frame, sound);
        }
        receiver.flush();
    }
}

#[test]
fn generic_packets_with_errors_are_counted() {
    let (stream, users, slicer) = Source::Packets(100).stream(5);
    let mut frames = frames(slicer, &users, &[400]);
    frames[3][200] ^= 4;
    let mut receiver = Receiver::new();
    for frame in &frames {
        receiver.push(frame, true);
    }
    receiver.flush();
    assert_eq!((receiver.packets, receiver.errors, receiver.gaps), (stream.len() / 100, 1, 0));
    assert!(receiver.stream().chunks(100).all(|packet| packet[0] == 0x1D));
}

#[test]
fn frames_of_other_kinds_are_named() {
    let header = BbHeader::transport(RollOff::R20, 3_000);
    let frame = |header: BbHeader| {
        let mut frame = vec![0; 400];
        frame[..BBHEADER].copy_from_slice(&header.to_bytes());
        frame
    };
    let refuse = |deslicer: Deslicer, header: BbHeader, sound| {
        let mut receiver = Receiver { deslicer, ..Receiver::new() };
        receiver.push(&frame(header), sound).map(|rejection| rejection.to_string())
    };
    assert_eq!(refuse(Deslicer::new(), header, true), None);
    assert_eq!(refuse(Deslicer::new(), header, false), None);
    let hem = BbHeader { stream: StreamType::GseHem, upl: 0, ..header };
    assert_eq!(refuse(Deslicer::new(), hem, true), None);
    let third = BbHeader { isi: Some(3), ..header };
    assert_eq!(refuse(Deslicer::of_stream(3), third, true), None);
    let told = refuse(Deslicer::of_stream(4), third, true).unwrap();
    assert_eq!(told, "BBFRAME belongs to a transport stream of ISI 3, which is not the one to be received");
    let told = refuse(Deslicer::of_stream(4), header, true).unwrap();
    assert_eq!(told, "BBFRAME belongs to a single transport stream, which is not the one to be received");
    let generic = BbHeader { stream: StreamType::GenericContinuous, upl: 0, ..header };
    assert_eq!(refuse(Deslicer::new(), generic, true), None);
    let told = refuse(Deslicer::new(), generic, false).unwrap();
    assert_eq!(told, "BBFRAME with errors, which seem to have made up a single generic continuous stream");
    let long = BbHeader { dfl: 3_128, ..header };
    let told = refuse(Deslicer::new(), long, true).unwrap();
    assert_eq!(told, "BBHEADER: DFL is 3128 bits, the frame has room for 3120");
}

#[test]
fn frames_with_errors_begin_no_second_stream() {
    let header = |isi| BbHeader { isi, ..BbHeader::transport(RollOff::R20, 3_000) };
    let bits = vec![0; 3_000];
    let push = |receiver: &mut Receiver, isi, sound| receiver.push(&headed(header(isi), &bits, 0, 3_000, 400), sound);
    let mut receiver = Receiver::new();
    assert_eq!(push(&mut receiver, None, false), None);
    let told = push(&mut receiver, Some(0), false).unwrap().to_string();
    assert_eq!(told, "BBFRAME with errors, which seem to have made up a transport stream of ISI 0");
    assert_eq!(push(&mut receiver, Some(0), true), None);
    assert_eq!(push(&mut receiver, Some(0), false), None);
    // Nor do they tell of one that is passed over.
    let mut receiver = Receiver { deslicer: Deslicer::of_stream(1), ..Receiver::new() };
    assert!(matches!(push(&mut receiver, Some(2), false), Some(Rejection::Doubtful(_))));
    for sound in [true, false] {
        assert!(matches!(push(&mut receiver, Some(2), sound), Some(Rejection::OtherStream(_))));
    }
}

#[test]
fn generic_packets_that_do_not_begin_alike_or_do_not_fill_a_frame_are_refused() {
    assert!(Slicer::packets(RollOff::R20, 1).is_none() && Slicer::packets(RollOff::R20, 8_192).is_none());
    let mut slicer = Slicer::packets(RollOff::R20, 100).unwrap().with_sync(7);
    let mut frame = [0; 400];
    let told = slicer.fill(&[7; 300], &mut frame).unwrap_err().to_string();
    assert_eq!(told, "input stream: 100 bytes are missing to the end of a packet; give whole packets");
    let mut stream = [7; 400];
    stream[200] = 8;
    let told = slicer.fill(&stream, &mut frame).unwrap_err().to_string();
    assert_eq!(told, "input stream: byte 200 starts a packet and must be 0x07, not 0x08");
}

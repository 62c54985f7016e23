//! Any frames, some with valid headers of any streams, some that continue a stream of any type: whole packets come out, and unbroken
//! streams are the ones that went in; of a stream alone on its carrier as many packets are marked as were counted.
#![no_main]

use std::collections::BTreeMap;
use std::sync::LazyLock;

use bief_dsp::dvbs2::{
    BBHEADER, BbHeader, DeleteNullPackets, Deslicer, NULL_PACKET, PACKET, RollOff, SYNC_BYTE, Slicer, StreamId,
    StreamType,
};
use bief_fuzz::cycled;
use libfuzzer_sys::arbitrary::{self, Arbitrary};
use libfuzzer_sys::fuzz_target;

const FRAMES: usize = 32;
const LONGEST_FIELD: usize = 8_000;

/// A transport stream that fills all frames.
static STREAM: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let packets = (0..(FRAMES + 1) * LONGEST_FIELD / PACKET).map(|index| {
        let mut packet = [index as u8; PACKET];
        packet[..3].copy_from_slice(&[SYNC_BYTE, index as u8 & 0x7F, (index >> 8) as u8]);
        packet
    });
    packets.flatten().collect()
});

/// Bytes of a generic packet.
const GENERIC: usize = 94;

/// A stream of a carrier of several: what is sliced, and what should be delivered.
struct Other {
    id: StreamId,
    slicer: Slicer,
    sliced: Vec<u8>,
    delivered: Vec<u8>,
}

static OTHERS: LazyLock<[Other; 3]> = LazyLock::new(|| {
    let id = |isi, kind| StreamId { isi: Some(isi), kind };
    let mut with_nulls = STREAM.clone();
    for packet in with_nulls.chunks_mut(PACKET).filter(|packet| packet[1] % 3 > 0) {
        packet.copy_from_slice(&NULL_PACKET);
    }
    let mut users = Vec::new();
    DeleteNullPackets::default().delete(&with_nulls.repeat(4), &mut users);
    let mut packets = STREAM.clone();
    packets.iter_mut().step_by(GENERIC).for_each(|byte| *byte = 0);
    [
        Other {
            id: id(1, StreamType::Transport),
            slicer: Slicer::without_null_packets(RollOff::R20).of_stream(1),
            sliced: users,
            delivered: with_nulls.repeat(4),
        },
        Other {
            id: id(2, StreamType::GenericPacketised),
            slicer: Slicer::packets(RollOff::R20, GENERIC as u16).unwrap().of_stream(2),
            sliced: packets.clone(),
            delivered: packets,
        },
        Other {
            id: id(3, StreamType::GenericContinuous),
            slicer: Slicer::continuous(RollOff::R20).of_stream(3),
            sliced: STREAM.clone(),
            delivered: STREAM.clone(),
        },
    ]
});

#[derive(Arbitrary, Debug)]
enum Frame<'a> {
    /// Bytes as they are.
    Raw(&'a [u8]),
    /// A valid header with these lengths and flags.
    Headed { dfl: u16, syncd: u16, upl: Option<u16>, flags: u8, bytes: &'a [u8] },
    /// The next frame of a transport stream.
    Next { length: u16, fate: Fate },
    /// The next frame of another stream.
    NextOfOther { which: u8, length: u16 },
}

#[derive(Arbitrary, Clone, Copy, Debug, PartialEq)]
enum Fate {
    Whole,
    Lost,
    Unreadable,
}

fn headed(dfl: u16, syncd: u16, upl: Option<u16>, flags: u8, bytes: &[u8]) -> Vec<u8> {
    let mut header = BbHeader { syncd, ..BbHeader::transport(RollOff::R35, dfl) };
    header.issy = flags & 1 != 0;
    header.npd = flags & 2 != 0;
    let fields = if header.npd { 8 } else { 0 } + if header.issy { 16 + (flags as u16 & 8) } else { 0 };
    header.upl = upl.unwrap_or(header.upl + fields);
    header.isi = (flags & 4 != 0).then_some(flags);
    header.stream = match flags >> 3 & 3 {
        0 | 1 => StreamType::Transport,
        2 => StreamType::GenericPacketised,
        _ => StreamType::GenericContinuous,
    };
    [&header.to_bytes(), &*cycled(bytes, usize::from(dfl).div_ceil(8) + usize::from(flags >> 5))].concat()
}

fuzz_target!(|input: (bool, Vec<(Frame, bool)>)| {
    let (of_stream, frames) = input;
    let mut deslicer = if of_stream { Deslicer::of_stream(4) } else { Deslicer::new() };
    let mut slicer = Slicer::new(RollOff::R20);
    let mut others = OTHERS.each_ref().map(|other| (other.slicer.clone(), 0));
    let (mut taken, mut unbroken, mut alone) = (0, !of_stream, !of_stream);
    let (mut streams, mut out) = (BTreeMap::<_, Vec<u8>>::new(), Vec::new());
    let (mut packets, mut errors) = (0, 0);
    for (frame, sound) in frames.into_iter().take(FRAMES) {
        let (frame, fate) = match frame {
            Frame::Raw(bytes) => (bytes.to_vec(), None),
            Frame::Headed { dfl, syncd, upl, flags, bytes } => (headed(dfl, syncd, upl, flags, bytes), None),
            Frame::Next { length, fate } => {
                let mut frame = vec![0; BBHEADER + 1 + usize::from(length) % LONGEST_FIELD];
                taken += slicer.fill(&STREAM[taken..], &mut frame).unwrap();
                if fate == Fate::Unreadable {
                    frame[5] ^= 0x11;
                }
                (frame, Some(fate))
            }
            Frame::NextOfOther { which, length } => {
                let which = usize::from(which) % OTHERS.len();
                let (slicer, taken) = &mut others[which];
                let mut frame = vec![0; BBHEADER + 1 + usize::from(length) % LONGEST_FIELD];
                *taken += slicer.fill(&OTHERS[which].sliced[*taken..], &mut frame).unwrap();
                alone = false;
                (frame, Some(Fate::Whole))
            }
        };
        unbroken &= fate == Some(Fate::Whole) && sound;
        alone &= fate.is_some();
        if fate == Some(Fate::Lost) {
            continue;
        }
        let delivered = deslicer.push(&frame, sound, &mut out);
        assert!(delivered.replaced <= delivered.errors && delivered.gaps <= 1, "{delivered:?}");
        assert!(delivered.replaced + delivered.restored <= delivered.packets, "{delivered:?}");
        match delivered.stream {
            Some(id) => streams.entry(id).or_default().extend_from_slice(&out),
            None => assert!(out.is_empty() && delivered.rejected.is_some()),
        }
        (packets, errors) = (packets + delivered.packets, errors + delivered.errors);
    }
    while let Some(delivered) = deslicer.flush(&mut out) {
        streams.entry(delivered.stream.unwrap()).or_default().extend_from_slice(&out);
        (packets, errors) = (packets + delivered.packets, errors + delivered.errors);
    }
    for (id, bytes) in &streams {
        let is_whole = bytes.chunks(PACKET).all(|packet| packet.len() == PACKET && packet[0] == SYNC_BYTE);
        assert!(is_whole || id.kind != StreamType::Transport, "{id}");
    }
    if let (true, Some(received)) = (alone, streams.values().next()) {
        assert_eq!(received.len(), packets * PACKET);
        let marked = received.chunks(PACKET).filter(|packet| packet[1] & 0x80 != 0).count();
        assert_eq!(marked, errors);
    }
    if unbroken {
        for (other, (_, taken)) in OTHERS.iter().zip(others) {
            let received = streams.remove(&other.id).unwrap_or_default();
            assert!(other.delivered.starts_with(&received), "{}: {} bytes of {taken}", other.id, received.len());
            let expected = match other.id.kind {
                StreamType::GenericContinuous => taken,
                StreamType::GenericPacketised => taken / GENERIC * GENERIC,
                _ => received.len() / PACKET * PACKET,
            };
            assert_eq!(received.len(), expected, "{}", other.id);
        }
        let received = streams.into_values().next().unwrap_or_default();
        assert!(received == STREAM[..taken / PACKET * PACKET], "{} bytes of {taken}", received.len());
    }
});

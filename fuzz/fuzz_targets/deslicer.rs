//! Any frames, some with valid headers of any streams, some that continue a stream: whole packets come out, and those of an unbroken
//! stream are the ones that went in; of a stream alone on its carrier as many are marked as were counted.
#![no_main]

use std::collections::BTreeMap;
use std::sync::LazyLock;

use bief_dsp::dvbs2::{BBHEADER, BbHeader, Deslicer, PACKET, RollOff, SYNC_BYTE, Slicer, StreamType};
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

#[derive(Arbitrary, Debug)]
enum Frame<'a> {
    /// Bytes as they are.
    Raw(&'a [u8]),
    /// A valid header with these lengths and flags.
    Headed { dfl: u16, syncd: u16, upl: Option<u16>, flags: u8, bytes: &'a [u8] },
    /// The next frame of a transport stream.
    Next { length: u16, fate: Fate },
}

#[derive(Arbitrary, Clone, Copy, Debug, PartialEq)]
enum Fate {
    Whole,
    Lost,
    Unreadable,
}

fn headed(dfl: u16, syncd: u16, upl: Option<u16>, flags: u8, bytes: &[u8]) -> Vec<u8> {
    let mut header = BbHeader { syncd, ..BbHeader::transport(RollOff::R35, dfl) };
    header.upl = upl.unwrap_or(header.upl);
    header.issy = flags & 1 != 0;
    header.npd = flags & 2 != 0;
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
        let received = streams.into_values().next().unwrap_or_default();
        assert!(received == STREAM[..taken / PACKET * PACKET], "{} bytes of {taken}", received.len());
    }
});

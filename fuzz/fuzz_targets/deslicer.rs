//! Any frames, some with valid headers, some that continue a stream: packets come out, and those of an unbroken stream are
//! the ones that went in.
#![no_main]

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
    Next { length: u16, lost: bool },
}

fn headed(dfl: u16, syncd: u16, upl: Option<u16>, flags: u8, bytes: &[u8]) -> Vec<u8> {
    let mut header = BbHeader { syncd, ..BbHeader::transport(RollOff::R35, dfl) };
    header.upl = upl.unwrap_or(header.upl);
    header.issy = flags & 1 != 0;
    header.npd = flags & 2 != 0;
    header.isi = (flags & 4 != 0).then_some(flags);
    if flags & 8 != 0 {
        header.stream = StreamType::GenericContinuous;
    }
    [&header.to_bytes(), &*cycled(bytes, usize::from(dfl).div_ceil(8) + usize::from(flags >> 4))].concat()
}

fuzz_target!(|input: (bool, Vec<(Frame, bool)>)| {
    let (of_stream, frames) = input;
    let mut deslicer = if of_stream { Deslicer::of_stream(4) } else { Deslicer::new() };
    let mut slicer = Slicer::new(RollOff::R20);
    let (mut taken, mut received, mut unbroken) = (0, Vec::new(), !of_stream);
    for (frame, sound) in frames.into_iter().take(FRAMES) {
        let (frame, next) = match frame {
            Frame::Raw(bytes) if bytes.len() < BBHEADER => continue,
            Frame::Raw(bytes) => (bytes.to_vec(), false),
            Frame::Headed { dfl, syncd, upl, flags, bytes } => (headed(dfl, syncd, upl, flags, bytes), false),
            Frame::Next { length, lost } => {
                let mut frame = vec![0; BBHEADER + 1 + usize::from(length) % LONGEST_FIELD];
                taken += slicer.fill(&STREAM[taken..], &mut frame).unwrap();
                if lost {
                    unbroken = false;
                    continue;
                }
                (frame, true)
            }
        };
        unbroken &= next && sound;
        let mut packets = vec![0; Deslicer::room(frame.len())];
        let delivered = deslicer.push(&frame, sound, &mut packets);
        assert!(delivered.errors <= delivered.packets && delivered.discontinuities <= 1, "{delivered:?}");
        received.extend_from_slice(&packets[..delivered.bytes()]);
    }
    let mut last = [0; PACKET];
    let delivered = deslicer.flush(&mut last);
    received.extend_from_slice(&last[..delivered.bytes()]);
    assert!(received.chunks(PACKET).all(|packet| packet[0] == SYNC_BYTE));
    if unbroken {
        assert!(received == STREAM[..taken / PACKET * PACKET], "{} bytes of {taken}", received.len());
    }
});

//! Any bytes as a transport stream: the packets before the first fault come back out of the BBFRAMEs, and the fault is told.
#![no_main]

use std::io::Cursor;

use bief::{Chain, sink};
use bief_dsp::dvbs2::{Deslicer, Fec, FrameSize, PACKET, Rate, RollOff, SYNC_BYTE};
use bief_fuzz::cycled;
use bief_radio::dvbs2::SliceTransportStream;
use libfuzzer_sys::arbitrary::{self, Arbitrary};
use libfuzzer_sys::fuzz_target;

#[derive(Arbitrary, Debug)]
struct Input<'a> {
    normal: bool,
    rate: u8,
    /// Bytes of the stream, and how many of its packets begin as they have to.
    length: u16,
    good: u16,
    bytes: &'a [u8],
}

fuzz_target!(|input: Input| {
    let size = if input.normal { FrameSize::Normal } else { FrameSize::Short };
    let rate = Rate::ALL[usize::from(input.rate) % Rate::ALL.len()];
    let mut stream = cycled(input.bytes, input.length.into());
    for packet in stream.chunks_mut(PACKET).take(input.good.into()) {
        packet[0] = SYNC_BYTE;
    }
    let good = stream.chunks_exact(PACKET).take_while(|packet| packet[0] == SYNC_BYTE).count() * PACKET;

    let slice = SliceTransportStream::new(Cursor::new(stream.clone()), size, rate, RollOff::R25);
    let Ok(slice) = slice else { return assert_eq!(Fec::new(size, rate), None) };
    let mut chain = Chain::new();
    let frames = chain.add(slice, ());
    let frame_bytes = frames.len();
    let (collect, collected) = sink::collect();
    chain.add(collect, &frames);
    let outcome = chain.build().unwrap().run();
    assert_eq!(outcome.is_ok(), good == stream.len(), "{outcome:?}");

    let mut deslicer = Deslicer::new();
    let mut room = vec![0; Deslicer::room(frame_bytes)];
    let mut received = Vec::new();
    for frame in collected.take().chunks(frame_bytes) {
        let delivered = deslicer.push(frame, true, &mut room);
        assert_eq!((delivered.errors, delivered.discontinuities, delivered.rejected), (0, 0, None));
        received.extend_from_slice(&room[..delivered.bytes()]);
    }
    assert_eq!(deslicer.flush(&mut room).packets, 0, "the last frame carries the last CRC-8");
    assert!(received == stream[..good], "{} bytes of {good}", received.len());
});

//! Any bytes as a transport stream, in frames of any kinds: the packets before the first fault come back out of the BBFRAMEs, null
//! packets left out or not, and the fault is told.
#![no_main]

use std::io::Cursor;
use std::sync::{Arc, Mutex};

use bief::{Chain, Flow, sink};
use bief_dsp::dvbs2::{Deslicer, Layout, NULL_PACKET, PACKET, Pls, RollOff, SYNC_BYTE};
use bief_fuzz::cycled;
use bief_radio::dvbs2::{InputStream, Slice};
use libfuzzer_sys::arbitrary::{self, Arbitrary};
use libfuzzer_sys::fuzz_target;

#[derive(Arbitrary, Debug)]
struct Input<'a> {
    frames: [u8; 3],
    delete_nulls: bool,
    /// Bytes of the stream, and how many of its packets begin as they have to.
    length: u16,
    good: u16,
    bytes: &'a [u8],
}

fuzz_target!(|input: Input| {
    let frames = input.frames.map(|value| Pls::new(value));
    let mut stream = cycled(input.bytes, input.length.into());
    for (index, packet) in stream.chunks_mut(PACKET).take(input.good.into()).enumerate() {
        packet[0] = SYNC_BYTE;
        if packet.len() == PACKET && (packet[1] & 0x9F == 0x1F && packet[2] == 0xFF || packet[3] as usize > index) {
            packet.copy_from_slice(&NULL_PACKET);
        }
    }
    let good = stream.chunks_exact(PACKET).take_while(|packet| packet[0] == SYNC_BYTE).count() * PACKET;

    let content = if input.delete_nulls { InputStream::without_null_packets } else { InputStream::transport };
    let slice = Slice::new([content(Cursor::new(stream.clone()))], frames, RollOff::R25);
    let Ok(slice) = slice else {
        let undefined = frames.iter().any(|&pls| Layout::new(pls).is_none());
        return assert!(undefined || frames.iter().all(|pls| pls.is_dummy()));
    };
    let mut chain = Chain::new();
    let (frames, _) = chain.add(slice, ());
    let kept = Arc::new(Mutex::new(Vec::new()));
    let keep = Arc::clone(&kept);
    let take = move |frame: &[u8]| {
        keep.lock().unwrap().push(frame.to_vec());
        Ok(Flow::Next)
    };
    chain.add(sink::for_each_var(take), &frames);
    let outcome = chain.build().unwrap().run();
    assert_eq!(outcome.is_ok(), good == stream.len(), "{outcome:?}");

    let mut deslicer = Deslicer::new();
    let (mut received, mut out) = (Vec::new(), Vec::new());
    for frame in kept.lock().unwrap().iter().filter(|frame| !frame.is_empty()) {
        let delivered = deslicer.push(frame, true, &mut out);
        assert_eq!((delivered.errors, delivered.gaps, delivered.rejected), (0, 0, None));
        received.extend_from_slice(&out);
    }
    let last = deslicer.flush(&mut out).expect("there is one stream");
    assert_eq!(last.packets, 0, "the last frame carries the last CRC-8");
    assert!(received == stream[..good], "{} bytes of {good}", received.len());
});

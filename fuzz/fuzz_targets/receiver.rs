//! A recording with any damage, its frames alike or of several kinds: what comes out is whole packets, as many as were counted, and
//! the same whether it is read at any place or once.
#![no_main]

use std::io::Cursor;
use std::sync::{Arc, LazyLock};

use bief::Application;
use bief_dsp::dvbs2::{PACKET, Pls, SYNC_BYTE};
use bief_fuzz::{Written, cycled};
use bief_radio::dvbs2::{Figures, Receiver, Settings, Transmitter, frame_list};
use bief_radio::{Recording, SampleFormat};
use libfuzzer_sys::arbitrary::{self, Arbitrary};
use libfuzzer_sys::fuzz_target;

static RECORDING: &[u8] = include_bytes!("../../data/dvbs2_qpsk_8-9_short.sigmf-data");
/// Bytes of a frame at two samples per symbol.
const FRAME: usize = 4 * 8_370;
/// Bytes of the recording that are damaged: they begin inside a frame, and hold three whole ones.
const LENGTH: usize = 4 * FRAME;

/// Frames of several kinds, twice each, and one more.
static MIXED: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let frames = frame_list("8psk-3/5:short:pilots,dummy,32apsk-8/9:short,16apsk-2/3:short:pilots").unwrap();
    let transmitter = Transmitter { frames, format: SampleFormat::Ci8, ..Transmitter::new(Pls::DUMMY) };
    let mut packet = [0x55; PACKET];
    packet[0] = SYNC_BYTE;
    let written = Written::default();
    let stream = Cursor::new(packet.repeat(40));
    transmitter.chain(stream, written.clone()).unwrap().build().unwrap().run().unwrap();
    written.take()
});

/// What happens to the bytes from a place on: to all of them, or to so many.
#[derive(Arbitrary, Debug)]
enum Damage {
    Overwrite(u32, u16, [u8; 4]),
    Remove(u32, u16),
    Repeat(u32, u16),
    Silence(u32, u16),
    /// A jump of the phase by half a turn.
    Negate(u32),
}

impl Damage {
    fn apply(&self, bytes: &mut Vec<u8>) {
        let end = bytes.len();
        let range = |at: u32, length: u16| {
            let start = at as usize % (end + 1);
            start..(start + usize::from(length)).min(end)
        };
        match *self {
            Damage::Overwrite(at, length, pattern) => {
                let range = range(at, length);
                let pattern = cycled(&pattern, range.len());
                bytes[range].copy_from_slice(&pattern);
            }
            Damage::Remove(at, length) => drop(bytes.drain(range(at, length))),
            Damage::Repeat(at, length) => {
                let range = range(at, length);
                let again = bytes[range.clone()].to_vec();
                bytes.splice(range.start..range.start, again);
            }
            Damage::Silence(at, length) => bytes[range(at, length)].fill(0),
            Damage::Negate(at) => {
                bytes[range(at, 0).start..].iter_mut().for_each(|byte| *byte = byte.wrapping_neg());
            }
        }
    }
}

/// Packets and figures, where there is a signal.
fn received(recording: Recording) -> Option<(Vec<u8>, Figures)> {
    let receiver = Receiver::find(recording, Settings::at(2.0), |_| ()).ok()?;
    let written = Written::default();
    let report = receiver.to(written.clone()).program().unwrap().run().unwrap();
    Some((written.take(), Figures::of(&report.figures)))
}

fuzz_target!(|input: (bool, Vec<Damage>)| {
    let (mixed, damages) = input;
    let mut bytes = if mixed { MIXED.clone() } else { RECORDING[..LENGTH].to_vec() };
    damages.iter().take(8).for_each(|damage| damage.apply(&mut bytes));
    let bytes: Arc<[u8]> = bytes.into();
    let stored = Recording::from_memory("damaged", SampleFormat::Ci8, Arc::clone(&bytes));
    let once =
        Recording { bytes: stored.bytes, ..Recording::from_reader("damaged", SampleFormat::Ci8, Cursor::new(bytes)) };
    let Some((packets, figures)) = received(stored) else { return };
    assert!(received(once) == Some((packets.clone(), figures.clone())));
    assert_eq!(packets.len() as u64, figures.packets * PACKET as u64);
    assert!(packets.chunks(PACKET).all(|packet| packet[0] == SYNC_BYTE));
    assert!(figures.packet_errors <= figures.packets && figures.frame_errors <= figures.frames);
    if damages.is_empty() {
        let kinds = if mixed { 3 } else { 1 };
        assert_eq!((figures.kinds.len(), figures.frame_errors, figures.losses), (kinds, 0, 0), "{figures:?}");
        assert_eq!(figures.frames, if mixed { 6 } else { 3 });
    }
});

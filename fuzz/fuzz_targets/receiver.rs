//! A recording with any damage: what comes out is whole packets, as many as were counted.
#![no_main]

use std::sync::Arc;

use bief_dsp::dvbs2::{PACKET, SYNC_BYTE};
use bief_fuzz::{Written, cycled};
use bief_radio::dvbs2::{Receiver, Settings, Status};
use bief_radio::{Recording, SampleFormat};
use libfuzzer_sys::arbitrary::{self, Arbitrary};
use libfuzzer_sys::fuzz_target;

static RECORDING: &[u8] = include_bytes!("../../data/dvbs2_qpsk_8-9_short.sigmf-data");
/// Bytes of a frame at two samples per symbol.
const FRAME: usize = 4 * 8_370;
/// Bytes of the recording that are damaged: they begin inside a frame, and hold three whole ones.
const LENGTH: usize = 4 * FRAME;

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

fuzz_target!(|damages: Vec<Damage>| {
    let mut bytes = RECORDING[..LENGTH].to_vec();
    damages.iter().take(8).for_each(|damage| damage.apply(&mut bytes));
    let recording = Recording::from_memory("damaged", SampleFormat::Ci8, bytes);
    let Ok(receiver) = Receiver::find(recording, Settings::at(2.0), |_| ()) else { return };

    let (written, status) = (Written::default(), Arc::new(Status::default()));
    receiver.chain(written.clone(), Arc::clone(&status)).unwrap().build().unwrap().run().unwrap();
    let (packets, figures) = (written.take(), status.figures());
    assert_eq!(packets.len() as u64, figures.packets * PACKET as u64);
    assert!(packets.chunks(PACKET).all(|packet| packet[0] == SYNC_BYTE));
    assert!(figures.packet_errors <= figures.packets && figures.frame_errors <= figures.frames);
    assert!(!damages.is_empty() || (figures.frames, figures.frame_errors, figures.losses) == (3, 0, 0), "{figures:?}");
});

//! Recordings of a signal after a channel, made in memory.

use std::io::Cursor;
use std::sync::{Arc, Mutex};

use bief_dsp::channel::Channel;
use bief_dsp::dvbs2::Pls;
use bief_radio::SampleFormat;
use bief_radio::dvbs2::Transmitter;
use num_complex::Complex32;

/// Samples per symbol, and their format.
pub(crate) const SAMPLES_PER_SYMBOL: f64 = 2.0;
pub(crate) const FORMAT: SampleFormat = SampleFormat::Ci16;

/// A writer whose bytes can be looked at afterwards.
#[derive(Clone, Default)]
struct Shared(Arc<Mutex<Vec<u8>>>);

impl std::io::Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Transport-stream packets that fill so many frames.
fn packets(pls: Pls, frames: usize) -> Vec<u8> {
    let field = pls.fec().unwrap().kbch - 80;
    let mut random = fastrand::Rng::with_seed(7);
    let mut stream = vec![0; frames * field / 1504 * 188];
    for packet in stream.chunks_exact_mut(188) {
        random.fill(packet);
        packet[0] = 0x47;
    }
    stream
}

/// Frames of one kind at this Es/N0, with offsets of carrier and clock; roll-off 0.20.
pub(crate) fn recording(pls: Pls, es_n0_db: f64, frames: usize) -> Arc<[u8]> {
    let transmitter = Transmitter { format: SampleFormat::Cf32, level: 1.0, ..Transmitter::new(pls) };
    let sent = Shared::default();
    transmitter.chain(Cursor::new(packets(pls, frames)), sent.clone()).unwrap().build().unwrap().run().unwrap();
    let sent = std::mem::take(&mut *sent.0.lock().unwrap());
    let mut samples = vec![Complex32::ZERO; sent.len() / SampleFormat::Cf32.bytes()];
    SampleFormat::Cf32.read(&sent, &mut samples);
    let channel = Channel {
        clock_ppm: 20.0,
        start: 0.3,
        carrier: 0.004,
        phase: 1.0,
        noise_power: Channel::noise_for(es_n0_db, SAMPLES_PER_SYMBOL),
        gain: 0.25,
        ..Channel::clear()
    };
    let received = channel.apply(&samples);
    let mut bytes = vec![0; FORMAT.bytes() * received.len()];
    FORMAT.write(&received, &mut bytes);
    bytes.into()
}

//! A transport stream, its recording, and what a receiver makes of it.

#![allow(dead_code, unreachable_pub, reason = "each test file uses some of them")]

pub mod snr;

use std::io::{Cursor, Read};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use bief::Application;
use bief::schedule::{Profile, Schedule, Stage};
use bief_dsp::channel::Channel;
use bief_dsp::dvbs2::{FrameSize, Pls};
use bief_radio::dvbs2::{Figures, ReceiveError, Receiver, Settings, Transmitter};
use bief_radio::{Recording, SampleFormat};
use num_complex::Complex32;

pub const PACKET: usize = 188;
/// Transport-stream bytes in a BBFRAME of QPSK 8/9 short.
pub const FRAME_BYTES: usize = 14_152 / 8;

/// A writer whose bytes can be looked at afterwards.
#[derive(Clone, Default)]
pub struct Shared(Arc<Mutex<Vec<u8>>>);

impl Shared {
    pub fn take(&self) -> Vec<u8> {
        std::mem::take(&mut *self.0.lock().unwrap())
    }
}

impl std::io::Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Packets of pseudo-random content.
pub fn packets(count: usize, seed: u64) -> Vec<u8> {
    let mut random = fastrand::Rng::with_seed(seed);
    let mut stream = vec![0; count * PACKET];
    for packet in stream.chunks_exact_mut(PACKET) {
        random.fill(packet);
        packet[0] = 0x47;
        packet[1] &= 0x7F;
    }
    stream
}

pub fn transmitter(pilots: bool) -> Transmitter {
    let pls = Pls::from_parts("qpsk-8/9".parse().unwrap(), FrameSize::Short, pilots).unwrap();
    Transmitter { format: SampleFormat::Cf32, level: 1.0, ..Transmitter::new(pls) }
}

/// The bytes of the recording.
pub fn transmit(transmitter: &Transmitter, stream: &[u8]) -> Vec<u8> {
    let out = Shared::default();
    let chain = transmitter.chain(Cursor::new(stream.to_vec()), out.clone()).unwrap();
    chain.build().unwrap().run().unwrap();
    out.take()
}

/// The samples of the recording, as complex numbers.
pub fn samples(transmitter: &Transmitter, stream: &[u8]) -> Vec<Complex32> {
    let bytes = transmit(transmitter, stream);
    let mut samples = vec![Complex32::ZERO; bytes.len() / transmitter.format.bytes()];
    transmitter.format.read(&bytes, &mut samples);
    samples
}

/// What comes through a channel, as 16-bit samples at a sensible level.
pub fn recorded(sent: &[Complex32], channel: Channel) -> Vec<u8> {
    recorded_as(SampleFormat::Ci16, sent, channel)
}

/// What comes through a channel, as samples of this format.
pub fn recorded_as(format: SampleFormat, sent: &[Complex32], channel: Channel) -> Vec<u8> {
    let received = channel.apply(sent);
    let mut bytes = vec![0; format.bytes() * received.len()];
    format.write(&received, &mut bytes);
    bytes
}

/// Counts the bytes that it gives.
struct Counted {
    bytes: Cursor<Vec<u8>>,
    given: Arc<AtomicUsize>,
}

impl Read for Counted {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let count = self.bytes.read(buffer)?;
        self.given.fetch_add(count, Ordering::Relaxed);
        Ok(count)
    }
}

/// Finds the signal in 16-bit samples, two per symbol, that come as from a radio: and the bytes that had come by then.
pub fn found_after(bytes: Vec<u8>) -> Result<(Receiver, usize), ReceiveError> {
    let given = Arc::new(AtomicUsize::new(0));
    let counted = Counted { bytes: Cursor::new(bytes), given: Arc::clone(&given) };
    let recording = Recording::from_reader("radio", SampleFormat::Ci16, counted);
    let receiver = Receiver::find(recording, Settings::at(2.0), |_| ())?;
    Ok((receiver, given.load(Ordering::Relaxed)))
}

/// Packets received on one core.
pub fn receive(bytes: Vec<u8>, format: SampleFormat, samples_per_symbol: f64) -> (Vec<u8>, Figures) {
    let recording = Recording::from_memory("test", format, bytes);
    let receiver = Receiver::find(recording, Settings::at(samples_per_symbol), |_| ()).unwrap();
    let out = Shared::default();
    let report = receiver.to(out.clone()).program().unwrap().run().unwrap();
    (out.take(), Figures::of(&report.figures))
}

/// Packets received by a pipeline: what is sequential at either end on one core each, the middle on `replicas`.
pub fn receive_replicated(recording: Recording, samples_per_symbol: f64, replicas: u32) -> (Vec<u8>, Figures) {
    let receiver = Receiver::find(recording, Settings::at(samples_per_symbol), |_| ()).unwrap();
    let profile: Profile = receiver.rehearsal(u64::MAX).unwrap().profile(10).unwrap();
    let tasks = profile.tasks();
    let front = tasks.iter().rposition(|task| task.name == "cut frames").unwrap() + 1;
    let back = tasks[front..].iter().take_while(|task| task.replicable).count();
    let kind = &profile.kinds()[0];
    let stages =
        [Stage::new(front, 1, kind), Stage::new(back, replicas, kind), Stage::new(tasks.len() - front - back, 1, kind)];
    let schedule = Schedule::new("by hand", stages, &profile).unwrap();
    let out = Shared::default();
    let program = receiver.to(out.clone()).program().unwrap();
    let report = program.pipeline(&schedule).unwrap().run().unwrap();
    (out.take(), Figures::of(&report.figures))
}

//! The whole receiver, from memory to memory: information per second on one core, and on two by its own schedule.
//!
//! `cargo bench -p bief-radio --bench receiver [-- FRAMES]`. A recording of QPSK 8/9 short frames with pilots is transmitted, sent
//! through a channel (Es/N0 7.45 dB, which is Eb/N0 5.0 dB; carrier and clock offsets), and received from memory several times,
//! one core and two in turn. As a reference an FIR filter of known work runs in between: 80 real taps on complex samples,
//! decimating by 2.

mod common;

use std::io::Cursor;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use bief::schedule::strategy::{Exact, Strategy};
use bief::schedule::{CoreKind, Platform};
use bief_dsp::channel::Channel;
use bief_dsp::dvbs2::{FrameSize, Pls, RollOff};
use bief_radio::dvbs2::{Receiver, Settings, Status, Transmitter};
use bief_radio::{Recording, SampleFormat};
use common::{fir, spread};
use num_complex::Complex32;

const ROUNDS: usize = 9;
/// Information bits of a PLFRAME (kbch).
const BITS: f64 = 14_232.0;
/// What the reference filter reaches on one core of the machine that published figures are from, Msamples/s.
const REFERENCE_FIR: f64 = 408.0;

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
fn packets(frames: usize) -> Vec<u8> {
    let mut random = fastrand::Rng::with_seed(7);
    let mut stream = vec![0; frames * 14_152 / 1504 * 188];
    for packet in stream.chunks_exact_mut(188) {
        random.fill(packet);
        packet[0] = 0x47;
    }
    stream
}

fn recording(frames: usize) -> Arc<[u8]> {
    let transmitter = Transmitter {
        pls: Pls::from_parts("qpsk-8/9".parse().unwrap(), FrameSize::Short, true),
        roll_off: RollOff::R20,
        samples_per_symbol: 2.0,
        format: SampleFormat::Cf32,
        level: 1.0,
    };
    let sent = Shared::default();
    transmitter.chain(Cursor::new(packets(frames)), sent.clone()).unwrap().build().unwrap().run().unwrap();
    let sent = std::mem::take(&mut *sent.0.lock().unwrap());
    let mut samples = vec![Complex32::ZERO; sent.len() / 8];
    SampleFormat::Cf32.read(&sent, &mut samples);
    let channel = Channel {
        clock_ppm: 20.0,
        start: 0.3,
        carrier: 0.004,
        phase: 1.0,
        noise_power: Channel::noise_for(7.45, 2.0),
        gain: 0.25,
        seed: 1,
    };
    let received = channel.apply(&samples);
    let mut bytes = vec![0; 4 * received.len()];
    SampleFormat::Ci16.write(&received, &mut bytes);
    bytes.into()
}

/// Receives everything on so many cores; Mb/s of information, and the seconds that finding the signal took.
fn receive(bytes: &Arc<[u8]>, cores: u32, show: bool) -> (f64, f64) {
    let start = Instant::now();
    let recording = Recording::from_memory("bench", SampleFormat::Ci16, Arc::clone(bytes));
    let receiver = Receiver::find(recording, Settings::at(2.0), |_| ()).unwrap();
    let found = start.elapsed().as_secs_f64();
    let profile = receiver.profile(200).unwrap();
    let status = Arc::new(Status::default());
    let program = receiver.chain(std::io::sink(), Arc::clone(&status)).unwrap().build().unwrap();
    let report = if cores == 1 {
        program.run().unwrap()
    } else {
        let platform = Platform::new([CoreKind::new(&profile.kinds()[0], cores)]).unwrap();
        let schedule = Exact.schedule(&profile, &platform).unwrap();
        program.pipeline(&schedule).unwrap().beside(&profile).unwrap().run().unwrap()
    };
    if show {
        if cores == 1 {
            let total: u64 = profile.tasks().iter().map(|task| task.ns[0]).sum();
            println!("{:<22} {:>9} {:>6}", "task", "us/frame", "share");
            for task in profile.tasks() {
                let ns = task.ns[0] as f64;
                println!("{:<22} {:>9.2} {:>5.1}%", task.name, ns / 1e3, 100.0 * ns / total as f64);
            }
            println!();
        }
        println!("{report}\n");
    }
    let figures = status.figures();
    assert_eq!(figures.packet_errors, 0, "the bench decodes without errors");
    (figures.frames as f64 * BITS / report.seconds / 1e6, found)
}

fn main() {
    let frames = std::env::args().skip(1).find_map(|argument| argument.parse().ok()).unwrap_or(3000);
    println!("making a recording of {frames} PLFRAMEs\n");
    let bytes = recording(frames);
    let (mut one, mut two, mut filter, mut found) = (vec![], vec![], vec![], vec![]);
    for round in 0..ROUNDS {
        filter.push(fir());
        let (speed, seconds) = receive(&bytes, 1, round == 0);
        one.push(speed);
        found.push(1e3 * seconds);
        two.push(receive(&bytes, 2, round == 0).0);
    }
    let ratios = two.iter().zip(&one).map(|(two, one)| two / one).collect();
    let (one, one_text) = spread(one);
    let (two, two_text) = spread(two);
    let (fir, fir_text) = spread(filter);
    println!("{:<44} {:>8}   range", "", "median");
    println!("{:<44} {one_text}", "one core, Mb/s of information");
    println!("{:<44} {two_text}", "two cores by their schedule, Mb/s");
    println!("{:<44} {}", "two cores over one, per round", spread(ratios).1);
    println!("{:<44} {}", "finding the signal, ms", spread(found).1);
    println!("{:<44} {fir_text}", "80-tap decimating FIR, Msamples/s");
    let scale = REFERENCE_FIR / fir;
    println!("{:<44} {:8.1}", "one core, scaled to 408 Msamples/s of the FIR", one * scale);
    println!("{:<44} {:8.1}", "two cores, likewise", two * scale);
}

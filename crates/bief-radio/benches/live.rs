//! The widest carrier that two cores receive live: QPSK 8/9 short with pilots, from a radio that does not wait.
//!
//! `cargo bench -p bief-radio --bench live [-- MBAUD SECONDS FORMAT]`, of 250, 60 and ci16 unless told; ci8 has half the bytes. A recording
//! without a seam, in memory, is given over and over, no sample before its time: two samples per symbol, at 7.4 dB. The receiver listens to
//! it as to any radio, and drops what it is too slow for. Its plan is that of the same signal at rest. Frames received, samples dropped, the
//! report of the run and how late the radio was read at most are told; the exit status is 1 if anything was dropped or received with errors.

mod common;

use std::io::Read;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use bief::plan::Profiling;
use bief::{Application, Machine, Planner};
use bief_dsp::channel::Channel;
use bief_dsp::dvbs2::{Layout, Pls};
use bief_radio::dvbs2::{Figures, Receiver, Settings, Transmitter};
use bief_radio::{Recording, SampleFormat};
use common::signal::{FORMAT, SAMPLES_PER_SYMBOL};
use common::tests::{PACKET, packets, recorded_as, samples, transmitter};

/// Frames after which packets begin with frames again: their data fields are of 1769 bytes.
const FRAMES: usize = PACKET;
/// Frames behind which the transmitter's filter has settled.
const SETTLED: usize = 2;
/// What a radio hands over at a time, in seconds.
const TRANSFER: f64 = 1e-3;
/// What it keeps while nobody reads, in seconds: more is lost.
const KEPT: f64 = 0.2;

/// A radio: gives no sample before its time.
struct Radio {
    bytes: Arc<[u8]>,
    bytes_per_second: f64,
    left: u64,
    given: u64,
    start: Option<Instant>,
    /// How late it was read at most, in microseconds.
    latest: Arc<AtomicU64>,
}

impl Read for Radio {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let start = *self.start.get_or_insert_with(Instant::now);
        let transfer = (self.bytes_per_second * TRANSFER) as u64;
        let from = (self.given % self.bytes.len() as u64) as usize;
        let in_transfer = (transfer - self.given % transfer).min(self.left) as usize;
        let count = buffer.len().min(self.bytes.len() - from).min(in_transfer);
        let due = ((self.given / transfer + 1) * transfer) as f64 / self.bytes_per_second;
        let due = start + Duration::from_secs_f64(due);
        let now = Instant::now();
        match due.checked_duration_since(now) {
            Some(early) => std::thread::sleep(early),
            None => {
                self.latest.fetch_max((now - due).as_micros() as u64, Ordering::Relaxed);
            }
        }
        buffer[..count].copy_from_slice(&self.bytes[from..from + count]);
        self.given += count as u64;
        self.left -= count as u64;
        Ok(count)
    }
}

/// As many frames as begin and end with a packet, cut out of a signal that repeats them.
fn recording(pls: Pls, format: SampleFormat) -> Arc<[u8]> {
    let frame = Layout::new(pls).unwrap().symbols() * SAMPLES_PER_SYMBOL as usize;
    let field = pls.fec().unwrap().kbch / 8 - 10;
    let transmitter = Transmitter { frames: vec![pls], ..transmitter(true) };
    let stream = packets(FRAMES * field / PACKET, 7).repeat(3);
    let sent = samples(&transmitter, &stream);
    let length = FRAMES * frame;
    let channel = Channel {
        // Whole turns in the recording.
        carrier: (0.004 * length as f64).round() / length as f64,
        noise_power: Channel::noise_for(7.4, SAMPLES_PER_SYMBOL),
        gain: 0.25,
        ..Channel::clear()
    };
    let bytes = recorded_as(format, &sent, channel);
    let first = length + SETTLED * frame;
    bytes[first * format.bytes()..][..length * format.bytes()].into()
}

fn main() -> ExitCode {
    let format = std::env::args().skip(1).find_map(|argument| argument.parse().ok()).unwrap_or(FORMAT);
    let numbers: Vec<f64> = std::env::args().skip(1).filter_map(|argument| argument.parse().ok()).collect();
    let [mbaud, seconds] = [(0, 250.0), (1, 60.0)].map(|(place, usual)| numbers.get(place).copied().unwrap_or(usual));
    let pls = Pls::from_parts("qpsk-8/9".parse().unwrap(), bief_dsp::dvbs2::FrameSize::Short, true).unwrap();
    let bytes_per_second = mbaud * 1e6 * SAMPLES_PER_SYMBOL * format.bytes() as f64;
    let bytes = recording(pls, format);

    // The plan first, of the same signal at rest.
    let still = Recording::from_reader("still", format, std::io::Cursor::new(Arc::clone(&bytes)));
    let still = Receiver::find(still, Settings::at(SAMPLES_PER_SYMBOL), |_| ()).unwrap();
    let profile = still.rehearsal(u64::MAX).unwrap().profile_on(&Machine::here(), Profiling::default()).unwrap();
    let planner = Planner::new(Machine::here()).cores("2").profile(profile, "the same signal at rest");
    let planned = planner.plan(&still).unwrap();

    let latest = Arc::<AtomicU64>::default();
    let left = (bytes_per_second * seconds) as u64;
    let radio = Radio { bytes, bytes_per_second, left, given: 0, start: None, latest: Arc::clone(&latest) };
    let sample_rate = Some(mbaud * 1e6 * SAMPLES_PER_SYMBOL);
    let live = Recording { sample_rate, ..Recording::from_reader("radio", format, radio) };
    let receiver = Receiver::find(live, Settings::at(SAMPLES_PER_SYMBOL), |_| ()).unwrap().live().unwrap();
    let report = planned.pipeline(&mut receiver.to(std::io::sink())).unwrap().run().unwrap();
    let figures = Figures::of(&report.figures);
    let late = latest.load(Ordering::Relaxed) as f64 / 1e6;
    println!("{pls}, {mbaud} Mbaud, {format}, for {:.1} s on two cores: {} frames", report.seconds, figures.frames);
    println!("{:.1} Mb/s of information", figures.bits as f64 / report.seconds / 1e6);
    println!("{} samples dropped, {} packets with errors", figures.lost_samples, figures.packet_errors);
    println!("{report}");
    println!("the radio was read {:.1} ms late at most", 1e3 * late);
    if figures.lost_samples == 0 && figures.packet_errors == 0 && late < KEPT {
        println!("nothing dropped");
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

//! From the last sample of a PLFRAME to its packets, in real time: QPSK 8/9 short with pilots at 1 Msymbol/s from a radio.
//!
//! `cargo bench -p bief-radio --bench latency [-- SECONDS]`. A reader gives samples as they would come from a radio, and notes when
//! the last one of each frame came; a writer notes when packets come out. The packet that a frame ends in the middle of belongs to
//! the next frame, and so does one whose CRC-8 has not come; so a frame is out when the packets that it has whole are. Then the
//! parts that no speed changes: the header behind the frame, half the matched filter, and a block of live input. The receiver
//! runs on one core and on two, as `Planner` plans by itself.

mod common;

use std::io::{Read, Write};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use bief::{Machine, Planner};
use bief_dsp::dvbs2::{HEADER, Pls};
use bief_dsp::filter::MatchedFilter;
use bief_dsp::pulse::Shaper;
use bief_radio::Recording;
use bief_radio::dvbs2::{Figures, Receiver, Settings};
use common::signal::{FORMAT, SAMPLES_PER_SYMBOL, recording};

const SYMBOL_RATE: f64 = 1e6;
/// Symbols, and transport-stream bytes, of a frame.
const SYMBOLS: f64 = 8370.0;
const FRAME_BYTES: f64 = 14_152.0 / 8.0;
/// Symbols that a radio hands over together.
const TRANSFER: f64 = 64.0;
/// Frames at the start that are not counted: while the signal is searched for, samples wait.
const WARM_UP: usize = 50;

/// A radio: gives no sample before its time.
struct Radio {
    bytes: Arc<[u8]>,
    given: usize,
    start: Option<Instant>,
}

fn time_of(symbol: f64) -> Duration {
    Duration::from_secs_f64(symbol / SYMBOL_RATE)
}

impl Read for Radio {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let start = *self.start.get_or_insert_with(Instant::now);
        let per_symbol = SAMPLES_PER_SYMBOL * FORMAT.bytes() as f64;
        let transfer = (TRANSFER * per_symbol) as usize;
        let left = self.bytes.len() - self.given;
        let count = buffer.len().min(left).min(transfer - self.given % transfer);
        let due = start + time_of(((self.given / transfer + 1) * transfer) as f64 / per_symbol);
        std::thread::sleep(due.saturating_duration_since(Instant::now()));
        buffer[..count].copy_from_slice(&self.bytes[self.given..self.given + count]);
        self.given += count;
        Ok(count)
    }
}

/// When how many bytes had come.
#[derive(Clone, Default)]
struct Noted(Arc<Mutex<Vec<(usize, Instant)>>>);

impl Write for Noted {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let mut noted = self.0.lock().unwrap();
        let before = noted.last().map_or(0, |(bytes, _)| *bytes);
        noted.push((before + bytes.len(), Instant::now()));
        Ok(bytes.len())
    }
    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Milliseconds from the last sample of each frame to the last packet that is whole in it.
fn latencies(bytes: &Arc<[u8]>, cores: u32) -> Vec<f64> {
    let radio = Radio { bytes: Arc::clone(bytes), given: 0, start: None };
    let start = Instant::now();
    let recording = Recording::from_reader("radio", FORMAT, Radio { start: Some(start), ..radio });
    let receiver = Receiver::find(recording, Settings::at(SAMPLES_PER_SYMBOL), |_| ()).unwrap().live().unwrap();
    let planned = Planner::new(Machine::here()).cores(cores.to_string()).plan(&receiver).unwrap();
    let out = Noted::default();
    let report = planned.pipeline(&mut receiver.to(out.clone())).unwrap().run().unwrap();
    let figures = Figures::of(&report.figures);
    assert_eq!((figures.packet_errors, figures.lost_samples), (0, 0), "{figures:?}");
    let noted = out.0.lock().unwrap();
    let frames = figures.frames as usize;
    let latency = |frame: usize| {
        let last = start + time_of(Shaper::DELAY as f64 + (frame + 1) as f64 * SYMBOLS);
        let whole = ((frame + 1) as f64 * FRAME_BYTES / 188.0).floor() - 1.0;
        let (_, out) = noted.iter().find(|(bytes, _)| *bytes as f64 >= whole * 188.0)?;
        Some(1e3 * out.saturating_duration_since(last).as_secs_f64())
    };
    (WARM_UP..frames - 2).filter_map(latency).collect()
}

fn main() {
    let seconds: f64 = std::env::args().skip(1).find_map(|argument| argument.parse().ok()).unwrap_or(10.0);
    let pls = Pls::new(43);
    let bytes = recording(pls, 7.4, (seconds * SYMBOL_RATE / SYMBOLS) as usize);
    println!("{pls} at 1 Msymbol/s: ms from the last sample of a frame to its packets\n");
    println!("{:<12} {:>8} {:>8} {:>8} {:>8} {:>8}", "", "frames", "least", "median", "p99", "most");
    for cores in [1, 2] {
        let mut latencies = latencies(&bytes, cores);
        latencies.sort_by(f64::total_cmp);
        let at = |share: f64| latencies[((latencies.len() - 1) as f64 * share) as usize];
        let name = format!("{cores} core{}", if cores == 1 { "" } else { "s" });
        let [least, median, p99, most] = [0.0, 0.5, 0.99, 1.0].map(at);
        println!("{name:<12} {:>8} {least:>8.2} {median:>8.2} {p99:>8.2} {most:>8.2}", latencies.len());
    }
    let filter = MatchedFilter::new(0.25, SAMPLES_PER_SYMBOL);
    let behind = HEADER as f64 + filter.half_length() as f64 / SAMPLES_PER_SYMBOL;
    println!("\nof it, waiting for what is behind the frame: {:.2} ms", 1e3 * time_of(behind).as_secs_f64());
}

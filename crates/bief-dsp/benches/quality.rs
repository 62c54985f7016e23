//! Quality of demapping and decoding under ideal synchronisation: Es/N0 at which one frame in a hundred is wrong
//! after BCH, what that loses against ideal decoding, and how fast frames are decoded 1 dB above the standard's
//! threshold.
//!
//! `cargo bench -p bief-dsp --bench quality`; `-- 25` for 25 iterations at most instead of 50. Some minutes.

#[allow(dead_code, reason = "tests use the rest of it")]
#[path = "../src/dvbs2/random.rs"]
mod random;

use std::hint::black_box;
use std::time::{Duration, Instant};

use bief_dsp::Complex32;
use bief_dsp::dvbs2::bch::{Bch, Outcome};
use bief_dsp::dvbs2::ldpc::{Code, Decoder, Encoder};
use bief_dsp::dvbs2::{Constellation, Demapper, FrameSize, Interleaver, Modcod};
use random::Random;

/// MODCOD, frame size, and Es/N0 in dB at which exact LLRs and 50 iterations of layered sum-product in
/// floating point lose one frame in a hundred.
const LINKS: [(&str, FrameSize, f64); 9] = [
    ("qpsk-1/4", FrameSize::Normal, -2.986),
    ("qpsk-1/4", FrameSize::Short, -3.891),
    ("qpsk-1/2", FrameSize::Normal, 0.790),
    ("qpsk-3/5", FrameSize::Short, 2.162),
    ("qpsk-8/9", FrameSize::Short, 6.203),
    ("8psk-3/5", FrameSize::Short, 5.425),
    ("8psk-3/4", FrameSize::Normal, 7.701),
    ("16apsk-8/9", FrameSize::Short, 12.867),
    ("32apsk-4/5", FrameSize::Normal, 13.45),
];

/// Wrong frames after which a point counts as measured, ...
const ERRORS: u32 = 60;
/// ... and frames after which it does in any case.
const FRAMES: u64 = 8_000;
/// Frames whose time is taken.
const PACE: u64 = 300;
/// Between two points, in dB.
const STEP: f64 = 0.1;
/// How much more short frames need than the standard's table of normal ones says, in dB.
const SHORT: f64 = 0.25;

struct Link {
    modcod: Modcod,
    code: &'static Code,
    encoder: Encoder,
    interleaver: Interleaver,
    constellation: Constellation,
    demapper: Demapper,
    decoder: Decoder,
    bch: Bch,
    message: Vec<u8>,
    codeword: Vec<u8>,
    labels: Vec<u8>,
    symbols: Vec<Complex32>,
    llr: Vec<i8>,
    received: Vec<u8>,
}

fn n0(esn0_db: f64) -> f64 {
    10f64.powf(-esn0_db / 10.0)
}

impl Link {
    fn new(modcod: &str, size: FrameSize, iterations: u32) -> Link {
        let modcod: Modcod = modcod.parse().unwrap();
        let code = Code::get(size, modcod.rate(size)).unwrap();
        let demapper = Demapper::new(modcod, size);
        let bch = Bch::new(size, modcod.rate(size)).unwrap();
        Link {
            modcod,
            code,
            encoder: Encoder::new(code),
            interleaver: Interleaver::new(modcod, size),
            constellation: Constellation::new(modcod, size),
            decoder: Decoder::new(code, iterations),
            message: vec![0; bch.message_bytes()],
            codeword: vec![0; code.nldpc / 8],
            labels: vec![0; demapper.symbols()],
            symbols: vec![Complex32::ZERO; demapper.symbols()],
            llr: vec![0; demapper.bits()],
            received: vec![0; code.kldpc / 8],
            demapper,
            bch,
        }
    }

    /// Sends one frame; the same for the same `seed`.
    fn send(&mut self, esn0_db: f64, seed: u64) {
        let mut noise = Random::new(seed);
        self.message.fill_with(|| (noise.next() >> 32) as u8);
        let (information, _) = self.codeword.split_at_mut(self.code.kldpc / 8);
        let (message, parity) = information.split_at_mut(self.message.len());
        message.copy_from_slice(&self.message);
        self.bch.encode(message, parity);
        self.encoder.encode(&mut self.codeword);
        self.interleaver.labels(&self.codeword, 0, &mut self.labels);
        self.constellation.map(&self.labels, &mut self.symbols);
        let deviation = (n0(esn0_db) / 2.0).sqrt();
        for symbol in &mut self.symbols {
            let (re, im) = noise.gaussian_pair();
            *symbol += Complex32::new((deviation * re) as f32, (deviation * im) as f32);
        }
    }

    /// Demaps and decodes what was sent: iterations made, and whether the message is right.
    fn receive(&mut self, esn0_db: f64) -> (u32, bool) {
        self.demapper.demap(&self.symbols, n0(esn0_db) as f32, &mut self.llr);
        let decoded = self.decoder.decode(&self.llr, &mut self.received);
        let outcome = self.bch.decode(&mut self.received);
        let right = outcome != Outcome::Uncorrectable && self.received[..self.message.len()] == self.message;
        (decoded.iterations, right)
    }

    /// Frame error rate: of all `FRAMES`, unless enough are wrong before, or next to none.
    fn measure(&mut self, esn0_db: f64) -> f64 {
        let first = ((esn0_db + 100.0) * 1e3).round() as u64 * FRAMES;
        let (mut frames, mut wrong) = (0, 0);
        while wrong < ERRORS && frames < FRAMES && (frames < FRAMES / 4 || wrong > 4) {
            self.send(esn0_db, first + frames);
            wrong += u32::from(!self.receive(esn0_db).1);
            frames += 1;
        }
        f64::from(wrong.max(1)) / frames as f64
    }

    /// Mean iterations of a frame, and its mean time.
    fn pace(&mut self, esn0_db: f64) -> (f64, Duration) {
        let (mut iterations, mut time) = (0, Duration::ZERO);
        for seed in 0..PACE {
            self.send(esn0_db, seed);
            let mut shortest = Duration::MAX;
            for _ in 0..3 {
                let start = Instant::now();
                black_box(self.receive(esn0_db));
                shortest = shortest.min(start.elapsed());
            }
            iterations += self.receive(esn0_db).0;
            time += shortest;
        }
        (f64::from(iterations) / PACE as f64, time / PACE as u32)
    }

    /// Es/N0 at which one frame in a hundred is wrong, searched from `start` on; between two points, the
    /// logarithm of the frame error rate is taken for a straight line.
    fn threshold(&mut self, start: f64) -> f64 {
        let (mut esn0_db, mut rate) = (start, self.measure(start));
        let down = rate < 0.01;
        loop {
            let next_db = if down { esn0_db - STEP } else { esn0_db + STEP };
            let next = self.measure(next_db);
            if (next < 0.01) != down {
                return esn0_db + (next_db - esn0_db) * (rate / 0.01).ln() / (rate / next).ln();
            }
            (esn0_db, rate) = (next_db, next);
        }
    }
}

fn main() {
    let iterations = std::env::args().find_map(|argument| argument.parse().ok()).unwrap_or(50);
    println!("at most {iterations} iterations; 1 core");
    println!(
        "{:<18} {:>9} {:>9} {:>6} | {:>8} {:>11} {:>9}",
        "", "ideal dB", "here dB", "loss", "1 dB up", "iterations", "Mb/s"
    );
    for (name, size, ideal) in LINKS {
        let mut link = Link::new(name, size, iterations);
        let threshold = link.threshold((10.0 * ideal).round() / 10.0);
        let short = if size == FrameSize::Short { SHORT } else { 0.0 };
        let above = f64::from(link.modcod.ideal_esn0_db()) + short + 1.0;
        let (mean, time) = link.pace(above);
        println!(
            "{:<18} {ideal:>9.2} {threshold:>9.2} {:>6.2} | {above:>8.2} {:>11.1} {:>9.0}",
            format!("{name} {size}"),
            threshold - ideal,
            mean,
            8.0 * link.message.len() as f64 / time.as_secs_f64() / 1e6,
        );
    }
}

//! Quality of demapping and decoding under ideal synchronisation: Es/N0 at which one frame in a hundred is wrong
//! after BCH, what that loses against ideal decoding, and how fast frames are decoded 1 dB above the standard's
//! threshold.
//!
//! `cargo bench -p bief-dsp --bench quality`; `-- 25` for 25 iterations at most instead of 50. Some minutes.

mod noise;

use std::time::{Duration, Instant};

use bief_dsp::Complex32;
use bief_dsp::dvbs2::bch::{Bch, Outcome};
use bief_dsp::dvbs2::ldpc::{Code, Decoder, Encoder};
use bief_dsp::dvbs2::{Constellation, Demapper, FrameSize, Interleaver, Modcod};
use noise::Noise;

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

/// Frames sent at one Es/N0.
#[derive(Default)]
struct Tally {
    frames: u64,
    wrong: u32,
    iterations: u64,
    /// Of demapping and both decoders.
    time: Duration,
}

impl Link {
    fn new(modcod: &str, size: FrameSize, iterations: u32) -> Link {
        let modcod: Modcod = modcod.parse().unwrap();
        let code = Code::get(size, modcod.rate()).unwrap();
        let demapper = Demapper::new(modcod, size);
        let bch = Bch::new(size, modcod.rate()).unwrap();
        Link {
            modcod,
            code,
            encoder: Encoder::new(code),
            interleaver: Interleaver::new(modcod, size),
            constellation: Constellation::new(modcod),
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
    fn send(&mut self, esn0_db: f64, seed: u64, tally: &mut Tally) {
        let mut noise = Noise::new(seed);
        self.message.fill_with(|| (noise.bits() >> 32) as u8);
        let (information, _) = self.codeword.split_at_mut(self.code.kldpc / 8);
        let (message, parity) = information.split_at_mut(self.message.len());
        message.copy_from_slice(&self.message);
        self.bch.encode(message, parity);
        self.encoder.encode(&mut self.codeword);
        self.interleaver.labels(&self.codeword, 0, &mut self.labels);
        self.constellation.map(&self.labels, &mut self.symbols);
        let n0 = 10f64.powf(-esn0_db / 10.0);
        let deviation = (n0 / 2.0).sqrt();
        for symbol in &mut self.symbols {
            let (re, im) = noise.pair();
            *symbol += Complex32::new((deviation * re) as f32, (deviation * im) as f32);
        }

        let start = Instant::now();
        self.demapper.demap(&self.symbols, n0 as f32, &mut self.llr);
        let decoded = self.decoder.decode(&self.llr, &mut self.received);
        let outcome = self.bch.decode(&mut self.received);
        tally.time += start.elapsed();

        tally.frames += 1;
        tally.iterations += u64::from(decoded.iterations);
        let right = outcome != Outcome::Uncorrectable && self.received[..self.message.len()] == self.message;
        tally.wrong += u32::from(!right);
    }

    /// Frames at one Es/N0: all of `FRAMES`, unless enough are wrong, or next to none.
    fn measure(&mut self, esn0_db: f64) -> f64 {
        let mut tally = Tally::default();
        while tally.wrong < ERRORS && tally.frames < FRAMES && (tally.frames < FRAMES / 4 || tally.wrong > 4) {
            self.send(esn0_db, ((esn0_db + 100.0) * 1e3).round() as u64 * FRAMES + tally.frames, &mut tally);
        }
        f64::from(tally.wrong.max(1)) / tally.frames as f64
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
        let mut tally = Tally::default();
        for seed in 0..500 {
            link.send(above, seed, &mut tally);
        }
        println!(
            "{:<18} {ideal:>9.2} {threshold:>9.2} {:>6.2} | {above:>8.2} {:>11.1} {:>9.0}",
            format!("{name} {size}"),
            threshold - ideal,
            tally.iterations as f64 / tally.frames as f64,
            8.0 * link.message.len() as f64 * tally.frames as f64 / tally.time.as_secs_f64() / 1e6,
        );
    }
}

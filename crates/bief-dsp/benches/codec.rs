//! Times of the DVB-S2 channel decoding kernels, single core, at every level of vector instructions.
//!
//! `cargo bench -p bief-dsp --bench codec`. One frame (or one iteration of it) per measured call.

#[allow(dead_code, reason = "tests use the rest of it")]
#[path = "../src/dvbs2/random.rs"]
mod random;

use std::hint::black_box;

use bief_dsp::Complex32;
use bief_dsp::dvbs2::bch::Bch;
use bief_dsp::dvbs2::ldpc::{Code, Decoder, Encoder};
use bief_dsp::dvbs2::scramble::PlScrambler;
use bief_dsp::dvbs2::{Constellation, Demapper, FrameSize, Interleaver, Layout, Modcod, Pls, Rate, SignalLevel};
use bief_dsp::simd::Level;
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use random::Random;

/// LLRs, 4 counts per unit, of the all-zero codeword sent in QPSK.
fn llr_of_zeros(bits: usize, esn0_db: f64, seed: u64) -> Vec<i8> {
    let n0 = 10f64.powf(-esn0_db / 10.0);
    let mut noise = Random::new(seed);
    (0..bits)
        .map(|_| {
            let received = 0.5f64.sqrt() + (n0 / 2.0).sqrt() * noise.gaussian();
            (4.0 * 8f64.sqrt() * received / n0).round().clamp(-127.0, 127.0) as i8
        })
        .collect()
}

const CODES: [(FrameSize, Rate); 4] = [
    (FrameSize::Short, Rate::R8_9),
    (FrameSize::Short, Rate::R3_5),
    (FrameSize::Normal, Rate::R1_2),
    (FrameSize::Normal, Rate::R9_10),
];

/// Twenty iterations on a frame too noisy to converge, for every code; elements are updates of an edge, a bit
/// that takes part in a check.
fn ldpc_iterations(c: &mut Criterion) {
    let mut group = c.benchmark_group("ldpc_20_iterations");
    for size in [FrameSize::Short, FrameSize::Normal] {
        for rate in Rate::ALL {
            let Some(code) = Code::get(size, rate) else { continue };
            let edges = code.rows.iter().map(|row| 360 * row.len()).sum::<usize>() + 2 * code.parity() - 1;
            group.throughput(Throughput::Elements(20 * edges as u64));
            let llr = llr_of_zeros(code.nldpc, -6.0, 1);
            let mut out = vec![0; code.kldpc / 8];
            let levels = if CODES.contains(&(size, rate)) { Level::all() } else { vec![Level::best()] };
            for level in levels {
                let mut decoder = Decoder::with_level(code, 20, level);
                assert_eq!(decoder.decode(&llr, &mut out).iterations, 20);
                group.bench_function(BenchmarkId::new(format!("{size} {rate}"), level), |b| {
                    b.iter(|| decoder.decode(black_box(&llr), &mut out));
                });
            }
        }
    }
    group.finish();
}

/// MODCOD, frame size and Es/N0 in dB of frames that are decoded as a whole.
const SIGNALS: [(&str, FrameSize, f64); 3] = [
    ("qpsk-8/9", FrameSize::Short, 7.4),
    ("qpsk-1/2", FrameSize::Normal, 2.0),
    ("256apsk-3/4", FrameSize::Normal, 20.8),
];
const FRAMES: u64 = 64;

/// LLRs of a random codeword that was sent by this MODCOD.
fn received(modcod: Modcod, size: FrameSize, esn0_db: f64, seed: u64) -> Vec<i8> {
    let code = Code::get(size, modcod.rate(size)).unwrap();
    let demapper = Demapper::new(modcod, size);
    let mut random = Random::new(seed);
    let mut codeword = random.bytes(code.nldpc / 8);
    Encoder::new(code).encode(&mut codeword);
    let (mut labels, mut symbols) = (vec![0; demapper.symbols()], vec![Complex32::ZERO; demapper.symbols()]);
    Interleaver::new(modcod, size).labels(&codeword, 0, &mut labels);
    Constellation::new(modcod, size).map(&labels, &mut symbols);
    let n0 = 10f64.powf(-esn0_db / 10.0);
    for symbol in &mut symbols {
        let (re, im) = random.gaussian_pair();
        *symbol += Complex32::new(re as f32, im as f32) * (n0 / 2.0).sqrt() as f32;
    }
    let mut llr = vec![0; demapper.bits()];
    demapper.demap(&symbols, n0 as f32, &mut llr);
    llr
}

/// Whole frames, as many iterations as each needs; elements are bits of information.
fn ldpc_frames(c: &mut Criterion) {
    let mut group = c.benchmark_group("ldpc_frame");
    for (name, size, esn0_db) in SIGNALS {
        let modcod: Modcod = name.parse().unwrap();
        let code = Code::get(size, modcod.rate(size)).unwrap();
        let frames: Vec<_> = (1..=FRAMES).map(|seed| received(modcod, size, esn0_db, seed)).collect();
        let mut out = vec![0; code.kldpc / 8];
        group.throughput(Throughput::Elements(code.kldpc as u64));
        for level in Level::all() {
            let mut decoder = Decoder::with_level(code, 50, level);
            let decoded: Vec<_> = frames.iter().map(|llr| decoder.decode(llr, &mut out)).collect();
            let iterations: u32 = decoded.iter().map(|decoded| decoded.iterations).sum();
            let given_up = decoded.iter().filter(|decoded| !decoded.converged).count();
            let each = f64::from(iterations) / FRAMES as f64;
            println!("{name} {size}, {esn0_db} dB, {level}: {each:.2} iterations per frame, {given_up} given up");
            let mut next = frames.iter().cycle();
            group.bench_function(BenchmarkId::new(format!("{name} {size}"), level), |b| {
                b.iter(|| decoder.decode(black_box(next.next().unwrap()), &mut out));
            });
        }
    }
    group.finish();
}

fn noise_symbols(count: usize) -> Vec<Complex32> {
    let mut noise = Random::new(1);
    (0..count).map(|_| noise.gaussian_pair()).map(|(re, im)| Complex32::new(re as f32, im as f32)).collect()
}

fn demap(c: &mut Criterion) {
    let mut group = c.benchmark_group("demap_short");
    for name in ["qpsk-8/9", "8psk-3/5", "16apsk-8/9", "32apsk-8/9"] {
        let modcod: Modcod = name.parse().unwrap();
        for level in Level::all() {
            let demapper = Demapper::with_level(modcod, FrameSize::Short, level);
            let symbols = noise_symbols(demapper.symbols());
            let mut llr = vec![0; demapper.bits()];
            group.bench_function(BenchmarkId::new(name, level), |b| {
                b.iter(|| demapper.demap(black_box(&symbols), 0.1, &mut llr));
            });
        }
        // Descrambling and taking the payload out included.
        let (demapper, scrambler) = (Demapper::new(modcod, FrameSize::Short), PlScrambler::broadcast());
        let layout = Layout::new(Pls::from_parts(modcod, FrameSize::Short, true).unwrap()).unwrap();
        let frame = noise_symbols(layout.symbols());
        let received = SignalLevel { amplitude: 1.0, n0: 0.1 };
        let mut llr = vec![0; demapper.bits()];
        group.bench_function(BenchmarkId::new(name, "PLFRAME"), |b| {
            b.iter(|| demapper.demap_plframe(black_box(&frame), &layout, scrambler, received, &mut llr));
        });
    }
    group.finish();
}

fn bch(c: &mut Criterion) {
    let mut group = c.benchmark_group("bch");
    for (size, rate) in CODES {
        let bch = Bch::new(size, rate).unwrap();
        let message = vec![0x5A; bch.message_bytes()];
        let mut parity = vec![0; bch.codeword_bytes() - bch.message_bytes()];
        group.bench_function(BenchmarkId::new(format!("{size} {rate}"), "encode"), |b| {
            b.iter(|| bch.encode(black_box(&message), &mut parity));
        });
        for errors in [0, 1, bch.correctable(), bch.correctable() + 8] {
            let mut codeword = vec![0u8; bch.codeword_bytes()];
            for i in 0..errors {
                codeword[i * bch.codeword_bytes() / errors] ^= 0x10;
            }
            let mut received = codeword.clone();
            group.bench_function(BenchmarkId::new(format!("{size} {rate}"), format!("{errors} errors")), |b| {
                b.iter(|| {
                    received.copy_from_slice(&codeword);
                    bch.decode(black_box(&mut received))
                });
            });
        }
    }
    group.finish();
}

criterion_group!(benches, ldpc_iterations, ldpc_frames, demap, bch);
criterion_main!(benches);

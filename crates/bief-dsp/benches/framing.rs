//! What framing costs per frame: slicing, inner encoding, PLFRAMEs, and the way back.

use std::hint::black_box;

use bief_dsp::Complex32;
use bief_dsp::dvbs2::ldpc::{Code, Encoder};
use bief_dsp::dvbs2::plheader;
use bief_dsp::dvbs2::scramble::{PlScrambler, scramble_bbframe};
use bief_dsp::dvbs2::{Deslicer, FrameSize, HEADER, Modcod, PACKET, PlframeBuilder, Pls, RollOff, Slicer};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};

fn pls(name: &str, size: FrameSize) -> Pls {
    let modcod: Modcod = name.parse().expect("a MODCOD");
    Pls::from_parts(modcod, size, true).unwrap()
}

/// The four corners: few and many parity bits, long and short frames.
fn frames() -> [Pls; 4] {
    [
        pls("qpsk-1/4", FrameSize::Normal),
        pls("qpsk-8/9", FrameSize::Normal),
        pls("qpsk-8/9", FrameSize::Short),
        pls("16apsk-8/9", FrameSize::Short),
    ]
}

fn bits(c: &mut Criterion) {
    let mut group = c.benchmark_group("bits");
    for pls in frames() {
        let fec = pls.fec().expect("a code");
        group.throughput(Throughput::Elements(fec.kbch as u64));
        let stream: Vec<u8> = (0..100 * PACKET).map(|i| if i % PACKET == 0 { 0x47 } else { i as u8 }).collect();
        let mut frame = vec![0; fec.kbch / 8];
        let (mut slicer, mut taken) = (Slicer::new(RollOff::R20), 0);
        let mut slice = |frame: &mut [u8]| {
            // Within the stream, and in phase with its packets.
            taken %= 50 * PACKET;
            taken += slicer.fill(&stream[taken..], frame).expect("packets");
        };
        group.bench_function(format!("slice {pls}"), |b| b.iter(|| slice(&mut frame)));
        let frames: Vec<Vec<u8>> = (0..16)
            .map(|_| {
                slice(&mut frame);
                frame.clone()
            })
            .collect();
        let mut packets = Vec::new();
        group.bench_function(format!("deslice {pls}"), |b| {
            let mut deslicer = Deslicer::new();
            let mut next = frames.iter().cycle();
            b.iter(|| deslicer.push(next.next().expect("endless"), true, &mut packets));
        });
        group.bench_function(format!("scramble {pls}"), |b| {
            b.iter(|| scramble_bbframe(black_box(&mut frame)));
        });
        let modcod = pls.modcod().expect("data");
        let code = Code::get(pls.frame_size(), modcod.rate(pls.frame_size())).expect("a code");
        let mut encoder = Encoder::new(code);
        let mut codeword: Vec<u8> = (0..fec.nldpc / 8).map(|i| (i * i) as u8).collect();
        group.bench_function(format!("encode {pls}"), |b| {
            b.iter(|| encoder.encode(black_box(&mut codeword)));
        });
    }
    group.finish();
}

fn symbols(c: &mut Criterion) {
    let mut group = c.benchmark_group("symbols");
    let scrambler = PlScrambler::broadcast();
    for pls in frames() {
        let fec = pls.fec().expect("a code");
        let builder = PlframeBuilder::new(pls, scrambler).expect("a frame");
        let codeword: Vec<u8> = (0..fec.nldpc / 8).map(|i| (i * i) as u8).collect();
        let mut frame = vec![Complex32::ZERO; builder.layout().symbols()];
        group.throughput(Throughput::Elements(frame.len() as u64));
        group.bench_function(format!("build {pls}"), |b| {
            b.iter(|| builder.build(black_box(&codeword), &mut frame));
        });
        group.bench_function(format!("descramble {pls}"), |b| {
            b.iter(|| scrambler.descramble(0, black_box(&mut frame[HEADER..])));
        });
    }
    group.throughput(Throughput::Elements(1));
    let header = plheader::header_symbols(pls("qpsk-8/9", FrameSize::Short));
    group.bench_function("decode PLS", |b| {
        b.iter(|| plheader::decode(black_box(&header)));
    });
    group.finish();
}

criterion_group!(benches, bits, symbols);
criterion_main!(benches);

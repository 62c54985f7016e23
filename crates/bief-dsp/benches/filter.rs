//! Sample-rate kernels: matched filter, decimating FIR, discriminator, rotation by a carrier.

use std::hint::black_box;

use bief_dsp::Complex32;
use bief_dsp::derotate::derotate;
use bief_dsp::discriminator::discriminate;
use bief_dsp::filter::{IntegerFilter, MatchedFilter, Recorded, Turn};
use bief_dsp::fir::Fir;
use bief_dsp::simd::Level;
use criterion::{Criterion, Throughput, criterion_group, criterion_main};

const SYMBOLS: usize = 8_370;

fn samples(count: usize) -> Vec<Complex32> {
    (0..count).map(|n| Complex32::from_polar(1.0, (n * n % 1013) as f32)).collect()
}

/// Throughput in symbols.
fn matched_filter(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("matched filter");
    group.throughput(Throughput::Elements(SYMBOLS as u64));
    let mut symbols = vec![Complex32::ZERO; SYMBOLS];
    for level in Level::all() {
        for rate in [2.0, 2.5, 4.0] {
            let filter = MatchedFilter::new(0.25, rate).with_level(level);
            let step = rate * (1.0 + 20e-6);
            let samples = samples((step * SYMBOLS as f64) as usize + 200);
            group.bench_function(format!("{rate} samples per symbol, {level}"), |bencher| {
                bencher.iter(|| filter.symbols(black_box(&samples), 100.3, step, &mut symbols));
            });
        }
    }
}

/// The same out of recorded samples, whose carrier is removed on the way.
fn recorded(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("matched filter of recorded samples");
    group.throughput(Throughput::Elements(SYMBOLS as u64));
    let mut symbols = vec![Complex32::ZERO; SYMBOLS];
    let turn = Turn { frequency: 0.003, start: 1.0.into(), constant: Complex32::ZERO, inverted: false };
    for level in Level::all() {
        for rate in [2.0, 2.5, 4.0] {
            let mut filter = IntegerFilter::new(&MatchedFilter::new(0.25, rate)).with_level(level);
            let step = rate * (1.0 + 20e-6);
            let samples = samples((step * SYMBOLS as f64) as usize + 200);
            let parts = || samples.iter().flat_map(|sample| [sample.re, sample.im]);
            let of_i16: Vec<u8> = parts().flat_map(|part| ((9e3 * part) as i16).to_le_bytes()).collect();
            let of_f32: Vec<u8> = parts().flat_map(f32::to_le_bytes).collect();
            for (form, recorded) in [("ci16", Recorded::I16(&of_i16)), ("cf32", Recorded::F32(&of_f32))] {
                group.bench_function(format!("{rate} samples per symbol, {form}, {level}"), |bencher| {
                    bencher.iter(|| filter.symbols(black_box(recorded), &turn, 700.0, (100.3, step), &mut symbols));
                });
            }
        }
    }
}

/// Throughput in input samples.
fn fir(criterion: &mut Criterion) {
    let complex = samples(24_576 + 1000);
    let real: Vec<f32> = complex.iter().map(|sample| sample.re).collect();
    for (taps, decimation) in [(80, 2), (555, 3), (925, 4)] {
        let mut group = criterion.benchmark_group(format!("{taps} taps, 1 output of {decimation}"));
        let count = 16_384 / decimation * decimation;
        group.throughput(Throughput::Elements(count as u64));
        let taps: Vec<f32> = (0..taps).map(|n| (n as f32 - 39.5).cos()).collect();
        for level in Level::all() {
            let mut filter = Fir::new(&taps, decimation).with_level(level);
            let mut out = vec![Complex32::ZERO; count / decimation];
            group.bench_function(format!("complex, {level}"), |bencher| {
                bencher.iter(|| filter.filter(&complex[..1000], black_box(&complex[1000..][..count]), &mut out));
            });
            let mut filter = Fir::new(&taps, decimation).with_level(level);
            let mut out = vec![0.0; count / decimation];
            group.bench_function(format!("real, {level}"), |bencher| {
                bencher.iter(|| filter.filter(&real[..1000], black_box(&real[1000..][..count]), &mut out));
            });
        }
    }
}

fn frequency(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("discriminator");
    let samples = samples(8_192);
    let mut out = vec![0.0; samples.len()];
    group.throughput(Throughput::Elements(samples.len() as u64));
    group.bench_function("8192 samples", |bencher| {
        bencher.iter(|| discriminate(Complex32::ONE, black_box(&samples), 1.0, &mut out));
    });
}

fn rotation(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("derotate");
    for count in [256, 16_384] {
        let mut samples = samples(count);
        group.throughput(Throughput::Elements(count as u64));
        group.bench_function(format!("{count} samples"), |bencher| {
            bencher.iter(|| derotate(black_box(&mut samples), 0.0123, 0.4));
        });
    }
}

criterion_group!(benches, matched_filter, recorded, fir, frequency, rotation);
criterion_main!(benches);

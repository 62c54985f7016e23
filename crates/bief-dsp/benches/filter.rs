//! Sample-rate kernels: matched filter, decimating FIR, rotation by a carrier.

use std::hint::black_box;

use bief_dsp::Complex32;
use bief_dsp::derotate::derotate;
use bief_dsp::filter::{DecimatingFir, MatchedFilter};
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

/// Throughput in input samples.
fn decimating_fir(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("80 taps, 1 output of 2");
    let samples = samples(16_384 + 80);
    let mut out = vec![Complex32::ZERO; 8_192];
    group.throughput(Throughput::Elements(2 * out.len() as u64));
    let taps: Vec<f32> = (0..80).map(|n| (n as f32 - 39.5).cos()).collect();
    for level in Level::all() {
        let filter = DecimatingFir::<2>::new(&taps).with_level(level);
        group.bench_function(level.to_string(), |bencher| {
            bencher.iter(|| filter.filter(black_box(&samples), &mut out));
        });
    }
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

criterion_group!(benches, matched_filter, decimating_fir, rotation);
criterion_main!(benches);

use std::hint::black_box;
use bief_dsp::{Complex32, filter::MatchedFilter, simd::Level};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
fn bench(c: &mut Criterion) {
    let n=8192;
    let samples: Vec<Complex32> = (0..4*n+400).map(|i| Complex32::from_polar(1.0, (i * i % 1013) as f32)).collect();
    let mut out = vec![Complex32::ZERO; n];
    let mut g = c.benchmark_group("matched_filter");
    g.throughput(Throughput::Elements(n as u64));
    for level in Level::all() {
      for (sps, step) in [(2.0, 2.00004), (2.5, 2.50001), (4.0, 4.0)] {
        let f = MatchedFilter::new(0.25, sps).with_level(level);
        g.bench_function(format!("{level}/{sps}"), |b| b.iter(|| f.symbols(black_box(&samples), 100.3, step, &mut out)));
        g.bench_function(format!("{level}/{sps}/one"), |b| b.iter(|| f.one(black_box(&samples), 100.3, step, &mut out)));
      }
    }
}
criterion_group!(benches, bench);
criterion_main!(benches);

//! Synchronisation of QPSK 8/9 short at 2 samples per symbol and Es/N0 = 6.5 dB: acquisition, and what each frame costs.

use std::hint::black_box;

use bief_dsp::Complex32;
use bief_dsp::channel::Channel;
use bief_dsp::dvbs2::scramble::PlScrambler;
use bief_dsp::dvbs2::{CarrierPhase, HEADER, PlframeBuilder, Pls, SignalLevel, Tracker, acquire};
use bief_dsp::filter::MatchedFilter;
use bief_dsp::gardner::Gardner;
use bief_dsp::pulse::Shaper;
use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};

const RATE: f64 = 2.0;
const FRAMES: usize = 32;

/// A noisy recording of frames of that PLS.
fn recording(pls: Pls) -> Vec<Complex32> {
    let builder = PlframeBuilder::new(pls, PlScrambler::broadcast()).unwrap();
    let mut random = fastrand::Rng::with_seed(1);
    let mut symbols = Vec::new();
    let mut frame = vec![Complex32::ZERO; builder.layout().symbols()];
    for _ in 0..FRAMES {
        let codeword: Vec<u8> = (0..2_025).map(|_| random.u8(..)).collect();
        builder.build(&codeword, &mut frame);
        symbols.extend_from_slice(&frame);
    }
    symbols.resize(symbols.len() + 2 * Shaper::DELAY, Complex32::ZERO);
    let mut shaper = Shaper::new(0.2, RATE).unwrap();
    let mut samples = vec![Complex32::ZERO; shaper.samples(symbols.len()).unwrap()];
    shaper.shape(&symbols, &mut samples);
    let noise_power = Channel::noise_for(6.5, RATE);
    let channel = Channel { clock_ppm: 20.0, start: 1.3, carrier: 0.005, noise_power, ..Channel::clear() };
    channel.apply(&samples)
}

fn synchronise(criterion: &mut Criterion) {
    let scrambler = PlScrambler::broadcast();
    let filter = MatchedFilter::new(0.25, RATE);
    for (name, value) in [("pilots", 43), ("no pilots", 42)] {
        let pls = Pls::new(value);
        let samples = recording(pls);
        let lock = acquire(&filter, &samples, scrambler).unwrap();

        let mut group = criterion.benchmark_group(format!("32 frames, {name}"));
        group.sample_size(10);
        group.bench_function("acquire", |bencher| {
            bencher.iter(|| acquire(&filter, black_box(&samples), scrambler));
        });
        group.finish();

        let mut group = criterion.benchmark_group(format!("one frame, {name}"));
        let tracker = Tracker::new(filter.clone(), &lock, 0);
        group.bench_function("track", |bencher| {
            let setup = || tracker.clone();
            bencher.iter_batched_ref(setup, |tracker| tracker.track(&samples, 0), BatchSize::LargeInput);
        });

        let sync = tracker.clone().track(&samples, 0).unwrap();
        let needed = sync.samples(&filter);
        let window = &samples[needed.start.max(0) as usize..needed.end as usize];
        let sync = sync.relative_to(needed.start.max(0));
        let length = bief_dsp::dvbs2::Layout::new(pls).unwrap().symbols();
        let mut turned = window.to_vec();
        let mut symbols = vec![Complex32::ZERO; length + HEADER];
        group.throughput(Throughput::Elements(length as u64));
        group.bench_function("remove carrier", |bencher| bencher.iter(|| sync.remove_carrier(black_box(&mut turned))));
        turned.copy_from_slice(window);
        sync.remove_carrier(&mut turned);
        group.bench_function("filter symbols", |bencher| {
            bencher.iter(|| filter.symbols(black_box(&turned), sync.position, sync.step, &mut symbols));
        });
        if pls.pilots() {
            // The closed loop instead: a matched filter for each half symbol, and the loop, which cannot be shared out.
            let mut filtered = vec![Complex32::ZERO; turned.len()];
            filter.symbols(&turned, 0.0, 1.0, &mut filtered);
            let mut gardner = Gardner::new(1e-3, 0.2);
            let mut recovered = vec![Complex32::ZERO; Gardner::most_symbols(filtered.len())];
            group.bench_function("Gardner's loop, filtered twice per symbol before", |bencher| {
                bencher.iter(|| gardner.recover(black_box(&filtered), &mut recovered));
            });
        }
        let mut phase = CarrierPhase::new();
        group.bench_function("estimate phase", |bencher| {
            bencher.iter(|| phase.estimate(pls, black_box(&symbols), scrambler));
        });
        let mut corrected = symbols.clone();
        group.bench_function("correct phase", |bencher| bencher.iter(|| phase.correct(black_box(&mut corrected))));
        corrected.copy_from_slice(&symbols);
        phase.correct(&mut corrected);
        group.bench_function("measure level", |bencher| {
            bencher.iter(|| SignalLevel::measure(pls, black_box(&corrected), scrambler));
        });
        group.finish();
    }
}

criterion_group!(benches, synchronise);
criterion_main!(benches);

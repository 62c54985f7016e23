//! Any bytes as samples, among them headers of any frames: no signal, or a lock that makes sense, from which the signal is tracked.
#![no_main]

use std::sync::LazyLock;

use bief_dsp::Complex32;
use bief_dsp::dvbs2::plheader::header_symbols;
use bief_dsp::dvbs2::scramble::PlScrambler;
use bief_dsp::dvbs2::{Layout, Pls, Tracker, acquire};
use bief_dsp::filter::MatchedFilter;
use bief_fuzz::cycled;
use bief_radio::SampleFormat;
use libfuzzer_sys::arbitrary::{self, Arbitrary};
use libfuzzer_sys::fuzz_target;

const SYMBOLS: f64 = 7_500.0;
const RATES: [f64; 4] = [1.5, 2.0, 2.7, 4.0];

static FILTERS: LazyLock<[MatchedFilter; 4]> = LazyLock::new(|| RATES.map(|rate| MatchedFilter::new(0.25, rate)));

#[derive(Arbitrary, Debug)]
struct Input<'a> {
    format: u8,
    rate: u8,
    /// PLS of each frame whose header is among the samples.
    frames: [u8; 4],
    amplitude: f32,
    /// Carrier, in 1/1000 cycles per symbol.
    frequency: i8,
    bytes: &'a [u8],
}

fuzz_target!(|input: Input| {
    let filter = &FILTERS[usize::from(input.rate) % RATES.len()];
    let rate = filter.samples_per_symbol();
    let format = SampleFormat::ALL[usize::from(input.format) % SampleFormat::ALL.len()];
    let mut samples = vec![Complex32::ZERO; (SYMBOLS * rate) as usize];
    format.read(&cycled(input.bytes, samples.len() * format.bytes()), &mut samples);

    let mut first = 0;
    for pls in input.frames.into_iter().map(Pls::new) {
        let Some(layout) = Layout::new(pls) else { continue };
        for (index, symbol) in (first..).zip(header_symbols(pls)) {
            let turn = (f64::from(input.frequency) / 1000.0 * f64::from(index)).fract() * std::f64::consts::TAU;
            let symbol = symbol * Complex32::from_polar(1.0, turn as f32) * input.amplitude;
            let range = (f64::from(index) * rate) as usize..(f64::from(index + 1) * rate) as usize;
            samples.iter_mut().take(range.end).skip(range.start).for_each(|sample| *sample += symbol);
        }
        first += layout.symbols() as u32;
    }

    let Ok(lock) = acquire(filter, &samples, PlScrambler::broadcast()) else { return };
    assert!(Layout::new(lock.pls).is_some() && lock.headers > 0, "{lock:?}");
    assert!((-rate..samples.len() as f64).contains(&lock.position), "{lock:?}");
    assert!((lock.samples_per_symbol / rate - 1.0).abs() < 1e-3, "{lock:?}");
    assert!(lock.frequency.is_finite() && lock.amplitude >= 0.0 && lock.es_n0 >= 0.0, "{lock:?}");

    let mut tracker = Tracker::new(filter.clone(), &lock, 0);
    for _ in 0..8 {
        let needed = tracker.header_samples();
        let Ok(frame) = tracker.track(&samples, 0) else { break };
        assert!(Layout::new(frame.pls).is_some(), "{frame:?}");
        assert!(frame.position.is_finite() && frame.phase.is_finite() && frame.frequency.is_finite(), "{frame:?}");
        assert!(frame.step > 0.0 && frame.amplitude >= 0.0, "{frame:?}");
        if frame.measured || !tracker.resynchronise(&samples, 0) {
            assert!(tracker.header_samples().start > needed.start, "the next header comes later");
        }
    }
});

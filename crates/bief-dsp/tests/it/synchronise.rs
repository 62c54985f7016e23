//! From samples to symbols: acquisition, tracking, carrier phase and level, on signals made here and on recordings of
//! an independent transmitter.

use std::f64::consts::TAU;
use std::fs;
use std::path::{Path, PathBuf};

use bief_dsp::Complex32;
use bief_dsp::channel::Channel;
use bief_dsp::derotate::derotate;
use bief_dsp::dvbs2::plheader::header_symbols;
use bief_dsp::dvbs2::scramble::PlScrambler;
use bief_dsp::dvbs2::{
    CarrierPhase, Constellation, FrameSize, FrameSync, HEADER, Layout, Lock, Lost, NoSignal, PhaseReport,
    PlframeBuilder, Pls, SignalLevel, Tracker, acquire,
};
use bief_dsp::filter::{MatchedFilter, root_raised_cosine};
use bief_dsp::pulse::Shaper;
use serde_json::Value;

/// Symbols that acquisition may look at.
const ACQUISITION: usize = 150_000;
/// QPSK 8/9 short, without and with pilots.
const QPSK_SHORT: u8 = 42;
const QPSK_SHORT_PILOTS: u8 = 43;

fn pls(value: u8) -> Pls {
    Pls::new(value)
}

fn length(pls: Pls) -> usize {
    Layout::new(pls).unwrap().symbols()
}

fn db(ratio: f64) -> f64 {
    10.0 * ratio.log10()
}

/// A frame as a receiver hands it to the demapper.
struct Received {
    /// Its position counts from the start of the recording.
    sync: FrameSync,
    phase: PhaseReport,
    level: SignalLevel,
    symbols: Vec<Complex32>,
}

/// The whole synchronisation of a receiver: every whole frame of a recording.
fn receive(filter: &MatchedFilter, samples: &[Complex32]) -> Result<(Lock, Vec<Received>), NoSignal> {
    let front = samples.len().min((ACQUISITION as f64 * filter.samples_per_symbol()) as usize);
    receive_from(filter, samples, front)
}

/// The same, with a signal that has to be found in the first `front` samples.
fn receive_from(
    filter: &MatchedFilter,
    samples: &[Complex32],
    front: usize,
) -> Result<(Lock, Vec<Received>), NoSignal> {
    let scrambler = PlScrambler::broadcast();
    let lock = acquire(filter, &samples[..front], scrambler)?;
    let mut tracker = Tracker::new(filter.clone(), &lock, 0);
    let mut phase = CarrierPhase::new();
    let mut frames = Vec::new();
    let end = samples.len() as i64;
    let clip = |index: i64| index.clamp(0, end) as usize;
    // A recording may end with the last symbol of a frame, without the filter's tail.
    while tracker.header_samples().end - (filter.half_length() as i64) < end {
        let needed = tracker.header_samples();
        let start = clip(needed.start);
        let Ok(sync) = tracker.track(&samples[start..clip(needed.end)], start as u64) else { break };
        let sync = sync.relative_to(-(start as i64));
        let symbols = length(sync.pls);
        if sync.position + (symbols - 1) as f64 * sync.step > end as f64 - 0.5 {
            break;
        }
        let needed = sync.samples(filter);
        let start = clip(needed.start);
        let mut window = samples[start..clip(needed.end)].to_vec();
        let mut frame = vec![Complex32::ZERO; symbols + HEADER];
        sync.relative_to(start as i64).cut(filter, &mut window, &mut frame);
        let report = phase.estimate(sync.pls, &frame, scrambler);
        phase.correct(&mut frame);
        frame.truncate(symbols);
        let level = SignalLevel::measure(sync.pls, &frame, scrambler);
        frame.iter_mut().for_each(|symbol| *symbol *= level.gain());
        frames.push(Received { sync, phase: report, level, symbols: frame });
    }
    Ok((lock, frames))
}

/// Ratio in dB of the power sent to that of the error.
fn mer(sent: &[Complex32], received: &[Complex32]) -> f64 {
    let energy: f64 = sent.iter().map(|sent| f64::from(sent.norm_sqr())).sum();
    let error: f64 = sent.iter().zip(received).map(|(sent, symbol)| f64::from((symbol - sent).norm_sqr())).sum();
    db(energy / error)
}

/// Ratio in dB of the signal's power to that of the distance to the nearest point of the constellation.
fn decided_mer(frame: &Received) -> f64 {
    let layout = Layout::new(frame.sync.pls).unwrap();
    let points = Constellation::new(frame.sync.pls.modcod().unwrap(), frame.sync.pls.frame_size());
    let mut symbols = frame.symbols.clone();
    PlScrambler::broadcast().descramble(0, &mut symbols[HEADER..]);
    let distance = |symbol: Complex32| {
        let distances = points.points().iter().map(|point| (symbol - point).norm_sqr());
        f64::from(distances.fold(f32::MAX, f32::min))
    };
    let error: f64 = layout.payload_runs().flatten().map(|index| distance(symbols[index])).sum();
    db(layout.payload_symbols() as f64 / error)
}

/// PLFRAMEs of random payload.
fn frames(kinds: &[Pls], seed: u64) -> Vec<Vec<Complex32>> {
    let mut random = fastrand::Rng::with_seed(seed);
    let frame = |kind: &Pls| {
        let builder = PlframeBuilder::new(*kind, PlScrambler::broadcast()).unwrap();
        let bytes = kind.fec().map_or(0, |fec| fec.nldpc / 8);
        let codeword: Vec<u8> = (0..bytes).map(|_| random.u8(..)).collect();
        let mut frame = vec![Complex32::ZERO; length(*kind)];
        builder.build(&codeword, &mut frame);
        frame
    };
    kinds.iter().map(frame).collect()
}

/// A recording: what was sent, and where.
struct Recording {
    samples: Vec<Complex32>,
    /// Centre of the first symbol, and distance between symbols, in samples.
    start: f64,
    step: f64,
}

/// Sends symbols, between silences, at a rate through a channel whose carrier is in cycles per symbol.
fn send(symbols: &[Complex32], rate: f64, rolloff: f64, channel: Channel) -> Recording {
    let mut shaper = Shaper::new(rolloff, rate).unwrap();
    let mut all = symbols.to_vec();
    // The shaper's delay, and symbols up to a whole round.
    all.resize(all.len() + Shaper::DELAY, Complex32::ZERO);
    while shaper.samples(all.len()).is_none() {
        all.push(Complex32::ZERO);
    }
    let mut samples = vec![Complex32::ZERO; shaper.samples(all.len()).unwrap()];
    shaper.shape(&all, &mut samples);
    let channel = Channel { carrier: channel.carrier / rate, ..channel };
    let clock = 1.0 + 1e-6 * channel.clock_ppm;
    Recording {
        samples: channel.apply(&samples),
        start: (Shaper::DELAY as f64 * rate - channel.start) / clock,
        step: rate / clock,
    }
}

#[test]
fn clean_frames_come_out_as_they_went_in() {
    let Some(vectors) = shared("dvbs2/vectors/qpsk_8_9_short") else { return };
    for (file, value) in [("7_plframe_pilots", QPSK_SHORT_PILOTS), ("7_plframe_no_pilots", QPSK_SHORT)] {
        let bytes = fs::read(vectors.join(file).with_extension("cf32")).unwrap();
        let numbers: Vec<f32> = bytes.as_chunks().0.iter().map(|four| f32::from_le_bytes(*four)).collect();
        let sent: Vec<Complex32> = numbers.as_chunks().0.iter().map(|&[re, im]| Complex32::new(re, im)).collect();
        assert_eq!(sent.len(), length(pls(value)));
        for rate in [1.5, 2.0, 2.5, 3.0, 4.0, 8.0] {
            let filter = MatchedFilter::new(0.25, rate);
            for (gain, carrier, start, phase) in
                [(1.0, 0.0, 0.0, 0.0), (1e-4, 0.02, 0.37, 2.0), (3e4, -0.02, 5.71, -1.0)]
            {
                let channel = Channel { start, carrier, phase, gain, ..Channel::clear() };
                let recording = send(&sent, rate, 0.25, channel);
                let (lock, frames) = receive(&filter, &recording.samples).unwrap();
                assert_eq!((lock.pls, frames.len()), (pls(value), 1));
                let late = (lock.position - recording.start) / recording.step;
                assert!(late.abs() < 0.01, "{file} {rate}: {late} symbols late");
                let mer = mer(&sent, &frames[0].symbols);
                assert!(mer > 35.0, "{file}, {rate} samples per symbol, carrier {carrier}: {mer} dB");
            }
        }
    }
}

#[test]
fn noise_is_all_that_is_lost() {
    println!("PLS, samples/symbol, frames, carrier, clock ppm, Es/N0 -> MER: mean (worst), measured N0");
    let cases = [
        // PLS, samples per symbol, roll-off, frames, carrier, clock error, Es/N0
        (QPSK_SHORT_PILOTS, 2.0, 0.20, 12, 0.0, 0.0, 6.5),
        (QPSK_SHORT_PILOTS, 2.0, 0.25, 12, 0.01, 50.0, 6.5),
        (QPSK_SHORT_PILOTS, 2.0, 0.35, 12, -0.01, -100.0, 8.0),
        (QPSK_SHORT_PILOTS, 2.5, 0.20, 8, 0.02, 100.0, 6.5),
        (QPSK_SHORT_PILOTS, 4.0, 0.20, 8, -0.02, -50.0, 10.0),
        (QPSK_SHORT_PILOTS, 2.0, 0.20, 3, 0.1, 80.0, 6.5),
        (QPSK_SHORT_PILOTS, 2.0, 0.20, 40, -0.1, 20.0, 8.0),
        (QPSK_SHORT, 2.0, 0.20, 12, 0.0, 0.0, 6.5),
        (QPSK_SHORT, 2.0, 0.35, 12, -0.02, 100.0, 6.5),
        (QPSK_SHORT, 2.5, 0.25, 4, 0.01, -50.0, 8.0),
        (QPSK_SHORT, 4.0, 0.25, 4, 0.1, -100.0, 10.0),
        (QPSK_SHORT, 2.0, 0.20, 1, 0.01, 0.0, 6.5),
        (QPSK_SHORT_PILOTS, 2.0, 0.20, 1, 0.01, 0.0, 6.5),
        // 8PSK 2/3 short without, 16APSK 3/4 short with, and QPSK 1/2 normal with pilots.
        (54, 2.0, 0.20, 8, 0.01, 20.0, 8.0),
        (79, 2.0, 0.20, 8, 0.01, 20.0, 10.5),
        (17, 2.0, 0.20, 4, 0.01, 20.0, 1.0),
    ];
    for (seed, (value, rate, rolloff, count, carrier, clock_ppm, es_n0)) in (1..).zip(cases) {
        let kind = pls(value);
        let sent = frames(&vec![kind; count], seed);
        let mut random = fastrand::Rng::with_seed(seed);
        let channel = Channel {
            clock_ppm,
            start: 8.0 * random.f64(),
            carrier,
            phase: TAU * random.f64(),
            noise_power: Channel::noise_for(es_n0, rate),
            gain: 0.01,
            seed,
            ..Channel::clear()
        };
        let recording = send(&sent.concat(), rate, rolloff, channel);
        let filter = MatchedFilter::new(0.25, rate);
        let (lock, received) = receive(&filter, &recording.samples).unwrap();
        let name = format!("{kind}, {rate}, {count}, {carrier}, {clock_ppm}, {es_n0}");

        assert_eq!((lock.pls, received.len(), lock.inverted), (kind, count, false), "{name}");
        let late = (lock.position - recording.start) / recording.step;
        let rate_error = 1e6 * (lock.samples_per_symbol / recording.step - 1.0);
        // At the receiver's clock, the carrier turns more per sample and less often per symbol.
        let frequency_error = lock.frequency - carrier * recording.step / rate;
        if count >= 8 {
            assert!(late.abs() < 0.02 && rate_error.abs() < 1.0, "{name}: {late} symbols, {rate_error} ppm");
            assert!(frequency_error.abs() < 5e-6, "{name}: {frequency_error} cycles per symbol");
            assert!((db(lock.es_n0.into()) - es_n0).abs() < 1.0, "{name}: {} dB", db(lock.es_n0.into()));
        }
        let mers: Vec<f64> = received.iter().zip(&sent).map(|(frame, sent)| mer(sent, &frame.symbols)).collect();
        let mean = -db(mers.iter().map(|mer| 10f64.powf(-0.1 * mer)).sum::<f64>() / count as f64);
        let worst = mers.iter().copied().fold(f64::MAX, f64::min);
        let n0 = db(received.iter().map(|frame| f64::from(frame.level.n0)).sum::<f64>() / count as f64);
        println!("{name} -> {mean:.2} ({worst:.2}), {n0:.2} dB");
        assert!(received.iter().all(|frame| frame.sync.pls == kind && frame.phase.slips == 0), "{name}");
        assert!(mean > es_n0 - 0.15 && worst > es_n0 - 0.4, "{name}: {mean} dB, worst {worst} dB");
        assert!((n0 + es_n0).abs() < 0.5, "{name}: N0 {n0} dB");
    }
}

#[test]
#[ignore = "long: part of .ci/run"]
fn every_kind_of_frame_is_received_a_decibel_above_its_limit() {
    println!("PLS, Es/N0 -> MER");
    for kind in Pls::of_s2().filter(|kind| kind.fec().is_some()) {
        let seed = kind.value().into();
        let mut random = fastrand::Rng::with_seed(seed);
        let modcod = kind.modcod().unwrap();
        let (count, more) = if kind.frame_size() == FrameSize::Short { (8, 0.3) } else { (4, 0.0) };
        let es_n0 = f64::from(modcod.ideal_esn0_db()) + 1.0 + more;
        let sent = frames(&vec![kind; count], seed);
        let channel = Channel {
            clock_ppm: 200.0 * random.f64() - 100.0,
            start: 8.0 * random.f64(),
            carrier: 0.04 * random.f64() - 0.02,
            phase: TAU * random.f64(),
            noise_power: Channel::noise_for(es_n0, 2.0),
            gain: 0.01,
            seed,
            ..Channel::clear()
        };
        let rolloff = [0.20, 0.25, 0.35][random.usize(0..3)];
        let recording = send(&sent.concat(), 2.0, rolloff, channel);
        let (lock, received) = receive(&MatchedFilter::new(0.25, 2.0), &recording.samples).unwrap();
        let late = (lock.position - recording.start) / recording.step;
        assert!(lock.pls == kind && late.abs() < 0.1, "{kind}: {lock:?}, {late} symbols late");
        assert_eq!(received.len(), count, "{kind}");
        let mers: Vec<f64> = received.iter().zip(&sent).map(|(frame, sent)| mer(sent, &frame.symbols)).collect();
        let mean = -db(mers.iter().map(|mer| 10f64.powf(-0.1 * mer)).sum::<f64>() / count as f64);
        let worst = mers.iter().copied().fold(f64::MAX, f64::min);
        println!("{kind}, {es_n0:.2} dB -> {mean:.2} ({worst:.2})");
        assert!(received.iter().all(|frame| frame.sync.pls == kind && frame.sync.measured), "{kind}");
        // Of a weak frame, the amplitude is uncertain, too.
        let (of_mean, of_worst) = if es_n0 < 1.0 { (0.35, 0.8) } else { (0.2, 0.4) };
        assert!(mean > es_n0 - of_mean && worst > es_n0 - of_worst, "{kind}: {mean} dB, worst {worst} dB");
    }
}

#[test]
fn a_recording_may_begin_anywhere() {
    let kind = pls(QPSK_SHORT_PILOTS);
    let sent = frames(&[kind; 3], 5).concat();
    let channel = Channel { noise_power: Channel::noise_for(6.5, 2.0), seed: 4, ..Channel::clear() };
    let recording = send(&sent, 2.0, 0.2, channel);
    let filter = MatchedFilter::new(0.25, 2.0);
    let frame = length(kind) as f64 * recording.step;
    let start = |k: f64| recording.start + k * frame;
    // Exactly at a frame, a symbol before and after it, a few symbols into it, in the middle, at the end.
    let cuts = [-64, -2, -1, 0, 2, 40, 200, 8_000, 16_000, 16_739];
    for cut in cuts {
        let first = (recording.start as i64 + cut) as usize;
        let lock = acquire(&filter, &recording.samples[first..], PlScrambler::broadcast()).unwrap();
        let expected = if first as f64 > start(0.0) + 0.4 * recording.step { start(1.0) } else { start(0.0) };
        let late = lock.position + first as f64 - expected;
        assert!(late.abs() < 0.1, "cut {cut}: {late} samples late");
        assert_eq!(lock.pls, kind);
    }
}

#[test]
fn one_whole_frame_suffices_but_less_does_not() {
    let kind = pls(QPSK_SHORT);
    let sent = frames(&[kind; 2], 9).concat();
    let channel = Channel { noise_power: Channel::noise_for(6.5, 2.0), seed: 7, ..Channel::clear() };
    let recording = send(&sent, 2.0, 0.2, channel);
    let filter = MatchedFilter::new(0.25, 2.0);
    let first = recording.start as usize;
    let whole = 2 * length(kind);
    let lock = |samples: &[Complex32]| acquire(&filter, samples, PlScrambler::broadcast());
    assert_eq!(lock(&recording.samples[first..first + whole]).unwrap().pls, kind);
    // Half of one frame and half of the next.
    let halves = lock(&recording.samples[first + whole / 2..first + whole / 2 + whole]);
    assert_eq!(halves, Err(NoSignal::NoWholeFrame { pls: kind, needed: halves_needed(&halves) }));
    let part = lock(&recording.samples[first..first + whole - 300]);
    assert!(matches!(part, Err(NoSignal::NoWholeFrame { .. })), "{part:?}");
}

/// What the error says, checked for reason.
fn halves_needed(result: &Result<Lock, NoSignal>) -> usize {
    let Err(NoSignal::NoWholeFrame { needed, .. }) = *result else { panic!("{result:?}") };
    assert!((2 * 16_380..2 * 16_380 + 400).contains(&needed), "{needed}");
    needed
}

#[test]
fn an_inverted_spectrum_is_recognised() {
    let kind = pls(QPSK_SHORT_PILOTS);
    let sent = frames(&[kind; 4], 11);
    let channel =
        Channel { carrier: 0.02, clock_ppm: 30.0, noise_power: Channel::noise_for(6.5, 2.0), ..Channel::clear() };
    let mut recording = send(&sent.concat(), 2.0, 0.2, channel);
    for sample in &mut recording.samples {
        *sample = sample.conj();
    }
    let (lock, received) = receive(&MatchedFilter::new(0.25, 2.0), &recording.samples).unwrap();
    assert!(lock.inverted);
    assert!((lock.frequency - 0.02).abs() < 1e-5, "{}", lock.frequency);
    assert_eq!(received.len(), 4);
    for (frame, sent) in received.iter().zip(&sent) {
        assert!(mer(sent, &frame.symbols) > 6.2);
    }
}

#[test]
fn frames_of_all_kinds_may_alternate() {
    // Dummy, QPSK 1/4 short with pilots, 8PSK 2/3 short, 16APSK 3/4 short with pilots, 32APSK 3/4 short with
    // pilots, QPSK 9/10 normal.
    let kinds = [43, 0, 7, 54, 79, 99, 0, 44, 43, 0, 42].map(pls);
    let sent = frames(&kinds, 13);
    let channel = Channel {
        clock_ppm: -40.0,
        carrier: 0.01,
        noise_power: Channel::noise_for(13.0, 2.0),
        gain: 0.2,
        ..Channel::clear()
    };
    let recording = send(&sent.concat(), 2.0, 0.2, channel);
    let (lock, received) = receive(&MatchedFilter::new(0.25, 2.0), &recording.samples).unwrap();
    assert_eq!(lock.headers, kinds.len());
    let found: Vec<Pls> = received.iter().map(|frame| frame.sync.pls).collect();
    assert_eq!(found, kinds);
    for (frame, sent) in received.iter().zip(&sent) {
        let mer = mer(sent, &frame.symbols);
        assert!(mer > 12.7, "{}: {mer} dB", frame.sync.pls);
    }
}

#[test]
fn what_is_no_signal_is_not_found() {
    let filter = MatchedFilter::new(0.25, 2.0);
    let lock = |samples: &[Complex32]| acquire(&filter, samples, PlScrambler::broadcast());
    let count = 100_000;
    let noise = |seed| {
        let channel = Channel { noise_power: 1.0, seed, ..Channel::clear() };
        channel.apply(&vec![Complex32::ZERO; count])
    };
    let refused = |name: &str, samples: &[Complex32]| {
        let result = lock(samples);
        let Err(NoSignal::NoHeader { best_quality }) = result else { panic!("{name}: {result:?}") };
        assert!((0.0..=1.0).contains(&best_quality), "{name}: {best_quality}");
    };
    for seed in 0..8 {
        refused("noise", &noise(seed));
    }
    refused("DC", &vec![Complex32::new(0.3, 0.1); count]);
    for frequency in [1e-4, 0.01, 0.0371, 0.125, 0.25, 0.4, 0.5] {
        let mut tone = vec![Complex32::ONE; count];
        derotate(&mut tone, frequency, 0.0);
        refused("tone", &tone);
        for (sample, noise) in tone.iter_mut().zip(noise(1)) {
            *sample += 0.3 * noise;
        }
        refused("noisy tone", &tone);
    }
    let mut impulse = vec![Complex32::ZERO; count];
    impulse[5_000] = Complex32::ONE;
    refused("impulse", &impulse);
    // QPSK of the right rate, without frames.
    let mut random = fastrand::Rng::with_seed(3);
    let mut point = || if random.bool() { 0.5f32 } else { -0.5 };
    let symbols: Vec<Complex32> = (0..50_000).map(|_| Complex32::new(point(), point())).collect();
    refused("QPSK", &send(&symbols, 2.0, 0.2, Channel::clear()).samples);

    assert_eq!(lock(&vec![Complex32::ZERO; count]), Err(NoSignal::Silence));
    assert_eq!(lock(&[]), Err(NoSignal::TooShort { samples: 0, needed: 6_660 }));
    assert_eq!(lock(&noise(0)[..6_000]), Err(NoSignal::TooShort { samples: 6_000, needed: 6_660 }));
    for broken in [f32::NAN, f32::INFINITY, f32::MAX] {
        let mut samples = noise(0);
        samples[77].im = broken;
        assert_eq!(lock(&samples), Err(NoSignal::NotFinite));
    }
}

#[test]
fn weak_signals_are_found_in_several_frames() {
    let kind = pls(5); // QPSK 1/4 normal, pilots
    let filter = MatchedFilter::new(0.25, 2.0);
    for (count, es_n0, seed) in [(2, 0.0, 1), (2, 0.0, 2), (4, -2.0, 3), (4, -2.0, 4)] {
        let sent = frames(&vec![kind; count], seed).concat();
        let channel = Channel {
            clock_ppm: 60.0,
            start: 3.3,
            carrier: -0.015,
            noise_power: Channel::noise_for(es_n0, 2.0),
            seed,
            ..Channel::clear()
        };
        let recording = send(&sent, 2.0, 0.2, channel);
        let lock = acquire(&filter, &recording.samples, PlScrambler::broadcast()).unwrap();
        let late = (lock.position - recording.start) / recording.step;
        assert_eq!(lock.pls, kind);
        assert!(late.abs() < 0.1, "{late} symbols late");
    }
}

#[test]
fn the_frequency_is_right_from_the_first_frames_on() {
    let filter = MatchedFilter::new(0.25, 2.0);
    let mut random = fastrand::Rng::with_seed(23);
    // QPSK 1/4 short, 8PSK 3/5 and 32APSK 3/4 normal, with pilots.
    for (kind, es_n0, starts) in [(7, -2.0, 50), (49, 5.8, 15), (97, 13.0, 15)] {
        let kind = pls(kind);
        let sent = frames(&[kind; 5], 1).concat();
        for seed in 0..starts {
            let channel = Channel {
                clock_ppm: 20.0,
                start: random.f64() * 2.0 * length(kind) as f64,
                carrier: 0.02 * random.f64() - 0.01,
                noise_power: Channel::noise_for(es_n0, 2.0),
                seed,
                ..Channel::clear()
            };
            let carrier = channel.carrier;
            let samples = send(&sent, 2.0, 0.2, channel).samples;
            let fronts = (0..).map(|growth| (8_000.0 * 1.25_f64.powi(growth)) as usize);
            let mut fronts = fronts.take_while(|front| *front <= samples.len());
            let lock =
                fronts.find_map(|front| acquire(&filter, &samples[..front], PlScrambler::broadcast()).ok()).unwrap();
            // Not off by a turn between pilot blocks, 6.8e-4 cycles per symbol.
            let off = lock.frequency - carrier;
            assert!(off.abs() < 1e-4, "{kind}, {seed}: {off:e} cycles per symbol off");
        }
    }
}

/// Samples around one header, sent at exact instants: symbols of random payload on either side.
fn header_window(
    kind: Pls,
    position: f64,
    step: f64,
    carrier: impl Fn(f64) -> f64,
    random: &mut fastrand::Rng,
) -> Vec<Complex32> {
    let around = 20usize;
    let mut point = || if random.bool() { 0.5f32.sqrt() } else { -0.5f32.sqrt() };
    let mut symbols: Vec<Complex32> = (0..around).map(|_| Complex32::new(point(), point())).collect();
    symbols.extend(header_symbols(kind));
    symbols.extend((0..around).map(|_| Complex32::new(point(), point())));
    let count = ((HEADER + 2 * around) as f64 * step) as usize + 8;
    let sample = |n: usize| {
        let time = (n as f64 - position) / step;
        let middle = (time.floor() as i64 + around as i64).clamp(0, symbols.len() as i64 - 1) as usize;
        let near = middle.saturating_sub(12)..symbols.len().min(middle + 13);
        let pulse = |k: usize| root_raised_cosine(time - (k as f64 - around as f64), 0.25) as f32;
        let value: Complex32 = near.map(|k| symbols[k] * pulse(k)).sum();
        value * Complex32::from_polar(1.0, carrier(n as f64) as f32)
    };
    let samples: Vec<Complex32> = (0..count).map(sample).collect();
    let noise = Channel { noise_power: Channel::noise_for(6.5, step), seed: random.u64(..), ..Channel::clear() };
    noise.apply(&samples)
}

#[test]
fn the_tracker_follows_for_hours() {
    // 1 Msymbol/s, 2 samples per symbol. Clock: ±0.2 ppm of wander with a period of 30 s. Carrier: 3 kHz off,
    // drifts by 20 Hz/s with a slow swing of ±1 kHz in 100 s. Every tenth frame is a dummy.
    let mut random = fastrand::Rng::with_seed(2);
    let rate = 2e6;
    let clock = |time: f64| 2.0 * (1.0 + 10e-6 + 0.2e-6 * (TAU * time / 30.0).sin());
    let carrier = |time: f64| 0.003 + 20e-6 * time + 1e-3 * (TAU * time / 100.0).sin();
    let lock = Lock {
        position: 100.3,
        samples_per_symbol: clock(0.0) * (1.0 + 0.05e-6),
        frequency: carrier(0.0) + 3e-6,
        amplitude: 1.0,
        es_n0: 4.0,
        pls: pls(QPSK_SHORT_PILOTS),
        headers: 8,
        inverted: false,
        dc: Complex32::ZERO,
    };
    // The recording has been running for three days.
    let offset = 518_400_000_000u64;
    let mut tracker = Tracker::new(MatchedFilter::new(0.25, 2.0), &lock, offset);
    let (mut origin, mut position) = (offset, lock.position);
    let (mut worst_delay, mut worst_frequency) = (0.0f64, 0.0f64);
    for index in 0..4_000 {
        let time = (origin - offset) as f64 / rate;
        let (step, frequency) = (clock(time), carrier(time));
        let kind = if index % 10 == 9 { pls(0) } else { pls(QPSK_SHORT_PILOTS) };
        let start = origin + position as u64 - 40;
        let local = position.fract() + 40.0;
        let phase = TAU * random.f64();
        let samples = header_window(kind, local, step, |n| TAU * frequency / step * n + phase, &mut random);
        let needed = tracker.header_samples();
        assert!(needed.start >= start as i64 && needed.end <= start as i64 + samples.len() as i64);
        let frame = tracker.track(&samples, start).unwrap();
        assert!(frame.measured && frame.pls == kind);
        if index > 300 {
            worst_delay = worst_delay.max((frame.position - local).abs() / step);
            worst_frequency = worst_frequency.max((frame.frequency - frequency).abs());
        }
        let end = position + step * length(kind) as f64;
        origin += end as u64;
        position = end.fract();
    }
    println!("worst of 4000 frames: {worst_delay:.4} symbols, {worst_frequency:.1e} cycles per symbol");
    assert!(worst_delay < 0.05, "{worst_delay} symbols");
    assert!(worst_frequency < 2.5e-4, "{worst_frequency} cycles per symbol");
}

/// What acquisition tells of a signal whose first header lies at sample 40.
fn locked(kind: Pls) -> Lock {
    Lock {
        position: 40.0,
        samples_per_symbol: 2.0,
        frequency: 0.01,
        amplitude: 1.0,
        es_n0: 4.0,
        pls: kind,
        headers: 8,
        inverted: false,
        dc: Complex32::ZERO,
    }
}

#[test]
fn a_short_outage_is_bridged_and_a_long_one_reported() {
    let mut random = fastrand::Rng::with_seed(8);
    let kind = pls(QPSK_SHORT_PILOTS);
    let lock = locked(kind);
    let mut tracker = Tracker::new(MatchedFilter::new(0.25, 2.0), &lock, 0);
    let mut results = Vec::new();
    for index in 0..40u64 {
        let mut samples = header_window(kind, 40.0, 2.0, |n| TAU * 0.005 * n, &mut random);
        let gone = matches!(index, 10 | 15 | 25..);
        if gone {
            let noise = Channel { noise_power: 1.0, seed: index, ..Channel::clear() };
            samples = noise.apply(&vec![Complex32::ZERO; samples.len()]);
        }
        let result = tracker.track(&samples, index * 2 * length(kind) as u64);
        if let Ok(frame) = result {
            assert_eq!(frame.measured, !gone, "{index}");
            assert!((frame.position - 40.0).abs() < 0.1, "{index}: {}", frame.position);
            assert_eq!(frame.pls, kind);
        }
        results.push(result);
        if result.is_err() {
            break;
        }
    }
    // Headers 25 and 26 are bad.
    assert_eq!(results.len(), 27);
    assert_eq!(results[26], Err(Lost::Headers(2)));
}

/// Which of 60 headers tells that the signal is not what it was, if one does, and what. Behind thirty, its carrier has
/// another frequency, in cycles per symbol, and a constant is added to it.
fn told_by(frequency: f64, constant: f32, trusting: bool) -> Option<(u64, Lost)> {
    told_behind(30, frequency, constant, trusting)
}

fn told_behind(same: u64, frequency: f64, constant: f32, trusting: bool) -> Option<(u64, Lost)> {
    let mut random = fastrand::Rng::with_seed(3);
    let kind = pls(QPSK_SHORT_PILOTS);
    let mut tracker = Tracker::new(MatchedFilter::new(0.25, 2.0), &locked(kind), 0);
    if trusting {
        tracker = tracker.trusting_constant();
    }
    (0..60).find_map(|index| {
        let (jump, constant) = if index < same { (0.0, 0.0) } else { (frequency, constant) };
        let mut samples = header_window(kind, 40.0, 2.0, |n| TAU * 0.5 * (0.01 + jump) * n, &mut random);
        samples.iter_mut().for_each(|sample| sample.re += constant);
        tracker.track(&samples, index * 2 * length(kind) as u64).err().map(|lost| (index, lost))
    })
}

#[test]
fn headers_tell_when_carrier_or_constant_jump() {
    assert_eq!(told_by(0.0, 0.0, false), None);
    for (jump, most) in [(0.0013, 2), (0.003, 1), (0.0065, 1), (0.02, 1), (0.09, 1)] {
        for jump in [jump, -jump] {
            let (index, lost) = told_by(jump, 0.0, false).unwrap();
            assert!(lost == Lost::Carrier && (30..30 + most).contains(&index), "{jump}: {index}, {lost}");
        }
    }
    let (index, lost) = told_by(0.0, 0.3, false).unwrap();
    assert!(lost == Lost::Constant && (30..33).contains(&index), "{index}, {lost}");
    assert_eq!(told_by(0.0, 0.3, true), None);
    // The header that was found is not one to acquire the signal again for: it would be found again, for ever.
    for jump in [0.003, 0.02] {
        assert_eq!(told_behind(0, jump, 0.0, false), Some((1, Lost::Carrier)), "{jump}");
    }
}

#[test]
fn behind_a_gap_the_next_header_is_where_the_clock_says() {
    let mut random = fastrand::Rng::with_seed(12);
    let kind = pls(QPSK_SHORT_PILOTS);
    let lock = locked(kind);
    let frame = 2 * length(kind) as u64;
    for longest in [3, 300, 3 * frame, 60 * frame] {
        let mut tracker = Tracker::new(MatchedFilter::new(0.25, 2.0), &lock, 0);
        // The frame that comes next, and how many samples were lost before it.
        let (mut next, mut lost) = (0, 0);
        for round in 0..40 {
            let samples = header_window(kind, 40.0, 2.0, |n| TAU * 0.005 * n, &mut random);
            let found = tracker.track(&samples, next * frame - lost).unwrap();
            assert!(found.measured && (found.position - 40.0).abs() < 0.2, "{round}: {found:?}");
            next += 1;
            // Some samples of the next frames are there, then some are not.
            let there = next * frame - lost + random.u64(0..2 * frame);
            let missing = random.u64(1..=longest);
            tracker.skip_gap(there, missing);
            lost += missing;
            let passed = (there + lost).saturating_sub(next * frame + 40).div_ceil(frame);
            next += passed;
            let start = tracker.header_samples().start + lost as i64 - (next * frame) as i64;
            assert!((-100..40).contains(&start), "{round}: {there}, {missing} missing, {passed} passed: {start}");
        }
    }
}

#[test]
fn windows_that_hold_nothing_are_bad_headers() {
    let lock = Lock {
        position: -0.3,
        samples_per_symbol: 2.0,
        frequency: 0.0,
        amplitude: 1.0,
        es_n0: 0.5, // weak: several headers may be missing
        pls: pls(QPSK_SHORT),
        headers: 1,
        inverted: true,
        dc: Complex32::ZERO,
    };
    let filter = MatchedFilter::new(0.25, 2.0);
    for window in [&[][..], &[Complex32::new(f32::NAN, 1.0); 500], &[Complex32::ZERO; 500]] {
        let mut tracker = Tracker::new(filter.clone(), &lock, 0);
        assert!(tracker.header_samples().start < 0);
        for _ in 0..7 {
            assert!(!tracker.track(window, 0).unwrap().measured);
        }
        assert!(tracker.track(window, 1 << 40).is_err());
    }
}

fn shared(path: &str) -> Option<PathBuf> {
    let directory = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared")).join(path);
    if !directory.is_dir() {
        println!("skipped: ../shared/{path} not found");
        return None;
    }
    Some(directory)
}

fn read(data: &Path, datatype: &str) -> Vec<Complex32> {
    let bytes = fs::read(data).unwrap();
    let numbers: Vec<f32> = match datatype {
        "ci16_le" => bytes.as_chunks().0.iter().map(|pair| f32::from(i16::from_le_bytes(*pair)) / 32_768.0).collect(),
        "ci8" => bytes.iter().map(|&byte| f32::from(byte as i8) / 128.0).collect(),
        _ => panic!("{datatype}"),
    };
    numbers.as_chunks().0.iter().map(|&[re, im]| Complex32::new(re, im)).collect()
}

#[test]
fn every_recording_is_synchronised() {
    let Some(directory) = shared("iq") else { return };
    let mut metas: Vec<PathBuf> = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect();
    metas.retain(|path| {
        let name = path.file_name().unwrap().to_string_lossy();
        name.starts_with("dvbs2_") && name.ends_with(".sigmf-meta")
    });
    metas.sort();
    assert!(!metas.is_empty());
    println!(
        "recording: frames; errors of position (symbols), rate (ppm), frequency (cycles/symbol); MER, genie's, N0 (dB)"
    );
    for meta in metas {
        let name = meta.file_stem().unwrap().to_string_lossy().into_owned();
        let facts: Value = serde_json::from_str(&fs::read_to_string(&meta).unwrap()).unwrap();
        let facts = &facts["global"];
        let number = |key: &str| facts[key].as_f64().unwrap();
        let samples = read(&meta.with_extension("sigmf-data"), facts["core:datatype"].as_str().unwrap());
        let rate = number("core:sample_rate");
        let (lock, received) = receive(&MatchedFilter::new(0.25, rate), &samples).unwrap();

        let symbols = number("dvbs2:plframe_symbols");
        let modcod = facts["dvbs2:modcod"].as_u64().unwrap() as u8;
        let short = facts["dvbs2:fecframe"] == "short";
        let kind = pls(modcod << 2 | u8::from(short) << 1 | u8::from(facts["dvbs2:pilots"].as_bool().unwrap()));
        assert_eq!(lock.pls, kind, "{name}");
        assert!(received.iter().all(|frame| frame.sync.pls == kind), "{name}");
        assert_eq!(received.len() as f64, number("dvbs2:num_complete_frames"), "{name}");

        let clock = 1.0 + 1e-6 * number("dvbs2:clock_ppm");
        let (step, first) = (rate / clock, number("dvbs2:first_symbol_sample"));
        let frame_start = |n: i32| first / clock + (f64::from(n) * symbols - number("dvbs2:first_symbol_index")) * step;
        let begin = (0..).map(frame_start).find(|start| *start >= -0.5 * step).unwrap();
        let late = (lock.position - begin) / step;
        let rate_error = 1e6 * (lock.samples_per_symbol / step - 1.0);
        let frequency_error = lock.frequency - number("dvbs2:cfo_cycles_per_symbol") / clock;
        assert!(late.abs() < 0.01 && rate_error.abs() < 0.1, "{name}: {late} symbols, {rate_error} ppm");
        assert!(frequency_error.abs() < 1e-6, "{name}: {frequency_error} cycles per symbol");

        let mean = |value: &dyn Fn(&Received) -> f64| received.iter().map(value).sum::<f64>() / received.len() as f64;
        let mer = -db(mean(&|frame| 10f64.powf(-0.1 * decided_mer(frame))));
        let n0 = db(mean(&|frame| frame.level.n0.into()));
        let genie = number("dvbs2:genie_mer_db");
        println!(
            "{name}: {}; {late:+.4} {rate_error:+.3} {frequency_error:+.1e}; {mer:.2} {genie:.2} {n0:.2}",
            received.len()
        );
        if genie > 40.0 {
            assert!(mer > 35.0, "{name}: {mer} dB");
        } else {
            assert!((n0 + genie).abs() < 0.2, "{name}: N0 {n0} dB, genie {genie} dB");
            if modcod == 10 {
                assert!((mer - genie).abs() < 0.2, "{name}: {mer} dB, genie {genie} dB");
            }
        }
        assert!(received.iter().all(|frame| frame.phase.slips == 0), "{name}");
    }
}

#[test]
fn a_constant_as_strong_as_the_signal_is_removed() {
    // QPSK 8/9 short, 16APSK 3/4 short without pilots, 32APSK 3/4 short with pilots, at 2, 2.5 and 1.5 samples per symbol.
    for (seed, (value, rate, es_n0, inverted)) in
        (1..).zip([(43, 2.0, 7.0, false), (78, 2.5, 12.0, true), (99, 1.5, 14.0, false), (43, 4.0, 7.0, true)])
    {
        for (count, strength) in [(6, 1.0), (6, 0.03), (3, 1.0), (6, 0.0)] {
            let kind = pls(value);
            let sent = frames(&vec![kind; count], seed);
            let channel = Channel {
                clock_ppm: 60.0,
                start: 1.7,
                carrier: 0.01,
                noise_power: Channel::noise_for(es_n0, rate),
                gain: 0.02,
                seed,
                ..Channel::clear()
            };
            let mut recording = send(&sent.concat(), rate, 0.2, channel);
            // The power of a symbol is spread over its samples.
            let dc = Complex32::from_polar(0.02 * (strength / rate).sqrt() as f32, 2.0);
            for sample in &mut recording.samples {
                *sample = if inverted { sample.conj() } else { *sample } + dc;
            }
            let (lock, received) = receive(&MatchedFilter::new(0.25, rate), &recording.samples).unwrap();
            let name = format!("{kind}, {rate} samples per symbol, {count} frames, DC {strength}");
            assert_eq!((lock.inverted, received.len()), (inverted, count), "{name}");
            assert!((lock.dc - dc).norm() < 5e-4, "{name}: {} instead of {dc}", lock.dc);
            for (frame, sent) in received.iter().zip(&sent) {
                let mer = mer(sent, &frame.symbols);
                assert!(mer > es_n0 - 0.45, "{name}: {mer} dB");
            }
        }
    }
}

#[test]
fn in_a_mixed_stream_a_missed_header_costs_its_frame_only() {
    let all: Vec<Pls> = Pls::of_s2().filter(|kind| kind.fec().is_some() || *kind == Pls::DUMMY).collect();
    let scrambler = PlScrambler::broadcast();
    let filter = MatchedFilter::new(0.25, 2.0);
    for (seed, es_n0, robust) in [(1, 17.0, false), (2, 17.0, false), (3, 2.0, true), (4, -1.0, true)] {
        let mut random = fastrand::Rng::with_seed(seed);
        // QPSK 1/2 at most in the weak streams.
        let usable = |kind: &Pls| !robust || kind.modcod().is_none_or(|modcod| modcod.number() <= 4);
        let choice: Vec<Pls> = all.iter().copied().filter(usable).collect();
        let kinds: Vec<Pls> = (0..24).map(|_| choice[random.usize(0..choice.len())]).collect();
        let mut sent = frames(&kinds, seed);
        let gone = [9, 14, 15, 19];
        for index in gone {
            sent[index][..HEADER].fill(Complex32::ZERO);
        }
        let noise_power = Channel::noise_for(es_n0, 2.0);
        let channel = Channel { clock_ppm: -70.0, carrier: 0.003, noise_power, seed, ..Channel::clear() };
        let recording = send(&sent.concat(), 2.0, 0.2, channel);
        let front: usize = kinds[..8].iter().map(|kind| 2 * length(*kind)).sum();
        let lock = acquire(&filter, &recording.samples[..front], scrambler).unwrap();
        let mut tracker = Tracker::new(filter.clone(), &lock, 0);
        let start_of = |index: usize| {
            recording.start + recording.step * kinds[..index].iter().map(|kind| length(*kind)).sum::<usize>() as f64
        };
        let mut found = Vec::new();
        while tracker.header_samples().end < recording.samples.len() as i64 {
            let frame = tracker.track(&recording.samples, 0).unwrap();
            if frame.measured {
                let index = (0..24).find(|index| (start_of(*index) - frame.position).abs() < 0.5);
                assert_eq!(index.map(|index| kinds[index]), Some(frame.pls), "stream {seed}");
                found.extend(index);
            } else if !tracker.resynchronise(&recording.samples[1_000..], 1_000) {
                break;
            }
        }
        let first = found[0];
        assert!(first < 3, "stream {seed}: {found:?}");
        let expected: Vec<usize> = (first..24).filter(|index| !gone.contains(index)).collect();
        assert_eq!(found, expected, "stream {seed}");
    }
}

#[test]
fn a_growing_front_is_enough_when_it_holds_two_frames() {
    let filter = MatchedFilter::new(0.25, 2.0);
    let mut random = fastrand::Rng::with_seed(21);
    // Every fifth kind with pilots.
    for kind in Pls::of_s2().filter(|kind| kind.fec().is_some() && kind.pilots()).step_by(5) {
        let es_n0 = (f64::from(kind.modcod().unwrap().ideal_esn0_db()) + 1.3).max(6.0);
        let sent = frames(&[kind; 5], kind.value().into());
        let channel = Channel {
            clock_ppm: 200.0 * random.f64() - 100.0,
            carrier: 0.2 * random.f64() - 0.1,
            noise_power: Channel::noise_for(es_n0, 2.0),
            seed: random.u64(..),
            ..Channel::clear()
        };
        let mut recording = send(&sent.concat(), 2.0, 0.2, channel);
        let frame = recording.step * length(kind) as f64;
        recording.samples.drain(..(recording.start + random.f64() * frame) as usize);
        let fronts = [1.2, 2.2].map(|frames| (frames * frame) as usize);
        let (_, received) =
            fronts.iter().find_map(|front| receive_from(&filter, &recording.samples, *front).ok()).unwrap();
        assert_eq!(received.len(), 4, "{kind}");
        for (received, sent) in received.iter().zip(&sent[1..]) {
            let mer = mer(sent, &received.symbols);
            assert!(received.sync.pls == kind && mer > es_n0 - 0.6, "{kind}, {es_n0} dB: {mer} dB");
        }
    }
}

#[test]
fn noise_is_no_signal_however_long() {
    let filter = MatchedFilter::new(0.25, 2.0);
    let mut random = fastrand::Rng::with_seed(22);
    let noise = Channel { noise_power: 1.0, ..Channel::clear() }.apply(&vec![Complex32::ZERO; 300_000]);
    for _ in 0..150 {
        let first = random.usize(0..250_000);
        let count = random.usize(6_660..30_000);
        let lock = acquire(&filter, &noise[first..first + count], PlScrambler::broadcast());
        assert!(matches!(lock, Err(NoSignal::NoHeader { .. })), "{first}, {count}: {lock:?}");
    }
}

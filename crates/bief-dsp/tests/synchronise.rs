//! From samples to symbols: acquisition, tracking, carrier phase and level, on recordings of an independent transmitter and
//! on signals made here.

use std::fs;
use std::path::{Path, PathBuf};

use bief_dsp::Complex32;
use bief_dsp::dvbs2::scramble::PlScrambler;
use bief_dsp::dvbs2::{
    CarrierPhase, Constellation, FrameSync, HEADER, Layout, Lock, PhaseReport, SignalLevel, Tracker, acquire,
};
use bief_dsp::filter::MatchedFilter;
use serde_json::Value;

/// Symbols that acquisition may look at.
const ACQUISITION: usize = 300_000;

struct Received {
    sync: FrameSync,
    /// Of the first sample of the stream.
    position: f64,
    phase: PhaseReport,
    level: SignalLevel,
    /// The frame, with unit energy and without carrier.
    symbols: Vec<Complex32>,
}

/// The whole synchronisation of a receiver: every whole frame of a recording.
fn receive(samples: &[Complex32], samples_per_symbol: f64) -> (Lock, Vec<Received>) {
    let scrambler = PlScrambler::broadcast();
    let filter = MatchedFilter::new(0.25, samples_per_symbol);
    let first = samples.len().min((ACQUISITION as f64 * samples_per_symbol) as usize);
    let start = std::time::Instant::now();
    let lock = acquire(&filter, &samples[..first], scrambler).expect("a signal");
    eprintln!("{:?}", start.elapsed());
    let mut tracker = Tracker::new(filter.clone(), &lock, 0);
    let mut phase = CarrierPhase::new();
    let mut frames = Vec::new();
    loop {
        let needed = tracker.header_samples();
        let offset = needed.start.max(0) as usize;
        if needed.end > samples.len() as i64 {
            break;
        }
        let sync = tracker.track(&samples[offset..needed.end as usize], offset as u64).expect("headers");
        let sync = sync.relative_to(-(offset as i64));
        let length = Layout::new(sync.pls).unwrap().symbols();
        if sync.position + (length - 1) as f64 * sync.step > (samples.len() - 1) as f64 {
            break;
        }
        let needed = sync.samples(&filter);
        let start = needed.start.max(0);
        let end = needed.end.min(samples.len() as i64);
        let mut window = samples[start as usize..end as usize].to_vec();
        let frame = sync.relative_to(start);
        let mut symbols = vec![Complex32::ZERO; length + HEADER];
        frame.cut(&filter, &mut window, &mut symbols);
        let report = phase.estimate(sync.pls, &symbols, scrambler);
        phase.correct(&mut symbols);
        symbols.truncate(length);
        let level = SignalLevel::measure(sync.pls, &symbols, scrambler);
        level.normalise(&mut symbols);
        frames.push(Received { sync, position: sync.position, phase: report, level, symbols });
    }
    (lock, frames)
}

fn db(ratio: f64) -> f64 {
    10.0 * ratio.log10()
}

/// Ratio in dB of the signal's power to that of the distance to the nearest point of the constellation.
fn decided_mer(frame: &Received) -> f64 {
    let scrambler = PlScrambler::broadcast();
    let layout = Layout::new(frame.sync.pls).unwrap();
    let points = Constellation::new(frame.sync.pls.modcod().unwrap());
    let mut symbols = frame.symbols.clone();
    scrambler.descramble(0, &mut symbols[HEADER..]);
    let (mut error, mut count) = (0.0, 0);
    for symbol in layout.payload_runs().flatten().map(|index| symbols[index]) {
        let nearest = points.points().iter().map(|point| (symbol - point).norm_sqr()).fold(f32::MAX, f32::min);
        error += f64::from(nearest);
        count += 1;
    }
    db(f64::from(count) / error)
}

fn iq() -> Option<PathBuf> {
    let path = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/iq"));
    path.is_dir().then(|| path.to_path_buf())
}

fn read(data: &Path, datatype: &str) -> Vec<Complex32> {
    let bytes = fs::read(data).unwrap();
    let numbers: Vec<f32> = match datatype {
        "ci16_le" => bytes.as_chunks().0.iter().map(|pair| f32::from(i16::from_le_bytes(*pair)) / 32768.0).collect(),
        "ci8" => bytes.iter().map(|&byte| f32::from(byte as i8) / 128.0).collect(),
        _ => panic!("{datatype}"),
    };
    numbers.as_chunks().0.iter().map(|&[re, im]| Complex32::new(re, im)).collect()
}

#[test]
fn recordings() {
    let Some(directory) = iq() else {
        println!("skipped: ../shared/iq not found");
        return;
    };
    let mut metas: Vec<PathBuf> = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect();
    metas.retain(|path| {
        let name = path.file_name().unwrap().to_string_lossy();
        name.starts_with("dvbs2_") && name.ends_with(".sigmf-meta")
    });
    metas.sort();
    assert!(!metas.is_empty());
    for meta in metas {
        let text = fs::read_to_string(&meta).unwrap();
        let facts: Value = serde_json::from_str(&text).unwrap();
        let facts = &facts["global"];
        let number = |key: &str| facts[key].as_f64().unwrap_or(f64::NAN);
        let samples = read(&meta.with_extension("sigmf-data"), facts["core:datatype"].as_str().unwrap());
        let sps = number("core:sample_rate");
        if let Ok(only) = std::env::var("ONLY") { if !meta.to_string_lossy().contains(&only) { continue; } }
        let (lock, frames) = receive(&samples, sps);
        let ppm = number("dvbs2:clock_ppm");
        let k0 = number("dvbs2:first_symbol_index");
        let length = number("dvbs2:plframe_symbols");
        let start = |k: f64| (number("dvbs2:first_symbol_sample") + (k - k0) * sps) / (1.0 + ppm * 1e-6);
        let first = (0..).map(|n| start(f64::from(n) * length)).find(|p| *p >= -0.5 * sps).unwrap();
        let timing: f64 = (frames.iter().enumerate()
            .map(|(n, f)| ((f.position - first - n as f64 * length * sps / (1.0 + ppm * 1e-6)) / sps).powi(2)).sum::<f64>() / frames.len() as f64).sqrt();
        let mer: f64 = {
            let e: f64 = frames.iter().map(|f| 10f64.powf(-0.1 * decided_mer(f))).sum::<f64>() / frames.len() as f64;
            -db(e)
        };
        let n0: f64 = frames.iter().map(|f| f.level.n0 as f64).sum::<f64>() / frames.len() as f64;
        println!(
            "{:48} {:28} {:2} hdr pos {:+.4} T step {:+.3} ppm f {:+.2e} EsN0 {:5.2} | frames {} rms pos {:.4} T f {:.1e} slips {} MER {:.2} genie {:.2} N0 {:.2} dB",
            meta.file_stem().unwrap().to_string_lossy(),
            lock.pls.to_string(), lock.headers,
            (lock.position - first) / sps,
            (lock.samples_per_symbol / sps * (1.0 + ppm * 1e-6) - 1.0) * 1e6,
            lock.frequency - number("dvbs2:cfo_cycles_per_symbol"),
            db(lock.es_n0.into()),
            frames.len(), timing,
            (frames.iter().map(|f| (f.sync.frequency - number("dvbs2:cfo_cycles_per_symbol")).powi(2)).sum::<f64>() / frames.len() as f64).sqrt(),
            frames.iter().map(|f| f.phase.slips).sum::<usize>(),
            mer, number("dvbs2:genie_mer_db"), -db(n0),
        );
    }
}

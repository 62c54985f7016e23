//! The narrowband FM receiver, from memory to memory: Msamples/s on one core, and on two.
//!
//! `cargo bench -p bief-radio --bench narrowband_fm [-- SECONDS]`. A tone is received in long
//! frames. Two cores are used in two ways: by the schedule for two
//! cores, which gives each a stage; and with the channel filter on two replicas beside the light stages before and after it, which
//! makes four threads. As a reference an FIR filter of known work runs in between: 80 real taps on complex samples, decimating
//! by 2.

mod common;

use std::f64::consts::TAU;
use std::io::Cursor;
use std::sync::Arc;

use bief::schedule::strategy::{Exact, Strategy};
use bief::schedule::{CoreKind, Platform, Profile, Schedule, Stage};
use bief::{Application, Program, Report};
use bief_radio::{NarrowbandFm, Recording, SampleFormat};
use common::{fir, over, spread};
use num_complex::Complex32;

const ROUNDS: usize = 9;
const SAMPLE_RATE: f64 = 576e3;
const CARRIER: f64 = 1200.0;
const DEVIATION: f64 = 5000.0;

fn receiver() -> NarrowbandFm {
    NarrowbandFm { block: 12_288, ..NarrowbandFm::new(SAMPLE_RATE, CARRIER, DEVIATION, 48_000) }
}

/// A tone of 1 kHz at half of the deviation.
fn recording(seconds: usize) -> Arc<[u8]> {
    let mut phase = 0.0;
    let samples: Vec<Complex32> = (0..seconds * SAMPLE_RATE as usize)
        .map(|k| {
            let audio = 0.5 * (TAU * 1000.0 * k as f64 / SAMPLE_RATE).sin();
            phase = (phase + (CARRIER + DEVIATION * audio) / SAMPLE_RATE).fract();
            Complex32::from_polar(0.5, (TAU * phase) as f32)
        })
        .collect();
    let mut bytes = vec![0; SampleFormat::Ci16.bytes() * samples.len()];
    SampleFormat::Ci16.write(&samples, &mut bytes);
    bytes.into()
}

fn program(bytes: &Arc<[u8]>) -> Program {
    let recording = Recording::from_memory("bench", SampleFormat::Ci16, Arc::clone(bytes));
    receiver().on(recording).to_wav(|| Ok(Cursor::new(Vec::new()))).program().unwrap()
}

/// The channel filter on two replicas, what comes before and after it on a thread each.
fn by_replicas(profile: &Profile) -> Schedule {
    let tasks = profile.tasks();
    let filter = tasks.iter().position(|task| task.replicable).unwrap();
    let kind = &profile.kinds()[0];
    let stages = [Stage::new(filter, 1, kind), Stage::new(1, 2, kind), Stage::new(tasks.len() - filter - 1, 1, kind)];
    Schedule::new("by replicas", stages, profile).unwrap()
}

fn by_schedule(profile: &Profile) -> Schedule {
    let platform = Platform::new([CoreKind::new(&profile.kinds()[0], 2)]).unwrap();
    Exact.schedule(profile, &platform).unwrap()
}

fn show(profile: &Profile, samples_per_frame: f64) {
    let total: u64 = profile.tasks().iter().filter_map(|task| task.ns[0]).sum();
    println!("{:<22} {:>9} {:>6}", "task", "ns/sample", "share");
    for task in profile.tasks() {
        let ns = task.ns[0].unwrap() as f64;
        println!("{:<22} {:>9.2} {:>5.1}%", task.name, ns / samples_per_frame, 100.0 * ns / total as f64);
    }
    println!();
}

fn main() {
    let seconds = std::env::args().skip(1).find_map(|argument| argument.parse().ok()).unwrap_or(30);
    let bytes = recording(seconds);
    let samples = seconds as f64 * SAMPLE_RATE;
    let speed = |report: &Report| samples / report.seconds / 1e6;
    let (mut one, mut two, mut replicas, mut filter) = (vec![], vec![], vec![], vec![]);
    for round in 0..ROUNDS {
        filter.push(fir());
        let profile = program(&bytes).profile(200).unwrap();
        let report = program(&bytes).run().unwrap();
        one.push(speed(&report));
        if round == 0 {
            show(&profile, samples / report.frames as f64);
        }
        for (schedule, speeds) in [(by_schedule(&profile), &mut two), (by_replicas(&profile), &mut replicas)] {
            let pipeline = program(&bytes).pipeline(&schedule).unwrap();
            let report = pipeline.compare_with(&profile).unwrap().run().unwrap();
            speeds.push(speed(&report));
            if round == 0 {
                println!("{report}\n");
            }
        }
    }
    println!("{:<44} {:>8}   range", "Msamples/s", "median");
    println!("{:<44} {}", "one core", spread(one.clone(), 1).1);
    println!("{:<44} {}", "two cores by their schedule", spread(two.clone(), 1).1);
    println!("{:<44} {}", "two replicas of the channel filter", spread(replicas.clone(), 1).1);
    println!("{:<44} {}", "two cores by their schedule, over one", over(&one, &two));
    println!("{:<44} {}", "two replicas, over one core", over(&one, &replicas));
    println!("{:<44} {}", "80-tap decimating FIR", spread(filter, 1).1);
}

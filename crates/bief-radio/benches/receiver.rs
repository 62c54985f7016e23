//! The whole receiver, from memory to memory: information per second on one core, and on two by their plan.
//!
//! `cargo bench -p bief-radio --bench receiver [-- [SYMBOLS] [MODCOD...]]`. For each of four kinds of frames, with pilots, or for those of
//! these MODCODs, a recording is transmitted, sent through a channel (noise, carrier and clock offsets), and received from memory several
//! times, one core and two in turn. Its 50 million symbols (2.4 GB of memory while it is made) take two cores 70 ms or more, beside which
//! beginning and end are short.
//!
//! Two references run in between: two receivers at once, each on one core, show what two cores can give; an FIR filter of known work (80 real
//! taps on complex samples, decimating by 2) shows how fast the machine is. How far apart the two cores are just now, the probe of
//! `bief lab bench runtime --only handover` tells. `BIEF_SIMD=avx2` and others choose the vector instructions.

mod common;

use std::sync::Arc;
use std::thread;
use std::time::Instant;

use bief::plan::Profiling;
use bief::schedule::Profile;
use bief::{Application, Machine as Here, Planner};
use bief_dsp::dvbs2::{FrameSize, Layout, Pls};
use bief_dsp::simd::Level;
use bief_radio::Recording;
use bief_radio::dvbs2::{Figures, Receiver, Settings};
use common::limits::Machine;
use common::signal::{FORMAT, SAMPLES_PER_SYMBOL, recording};
use common::{fir, over, spread};

const ROUNDS: usize = 9;
/// What the reference filter reaches on one core of the machine that published figures are from, Msamples/s.
const REFERENCE_FIR: f64 = 408.0;
/// MODCOD, frame size, and Es/N0 in dB: 7.45 is Eb/N0 5.0.
const SIGNALS: [(&str, FrameSize, f64); 4] = [
    ("qpsk-8/9", FrameSize::Short, 7.4),
    ("qpsk-1/2", FrameSize::Normal, 2.0),
    ("32apsk-8/9", FrameSize::Short, 16.9),
    ("256apsk-3/4", FrameSize::Normal, 20.8),
];

/// Finds the signal in a recording.
fn find(bytes: &Arc<[u8]>) -> Receiver {
    let recording = Recording::from_memory("bench", FORMAT, Arc::clone(bytes));
    Receiver::find(recording, Settings::at(SAMPLES_PER_SYMBOL), |_| ()).unwrap()
}

/// Receives everything on so many cores; Mb/s of information, and the seconds that finding the signal took.
fn receive(bytes: &Arc<[u8]>, pls: Pls, cores: u32, show: bool) -> (f64, f64) {
    let start = Instant::now();
    let receiver = find(bytes);
    let found = start.elapsed().as_secs_f64();
    // With what each cut costs.
    let profile = receiver.rehearsal(u64::MAX).unwrap().profile_on(&Here::here(), Profiling::default()).unwrap();
    let mut receiver = receiver.to(std::io::sink());
    let report = if cores == 1 {
        receiver.program().unwrap().run().unwrap()
    } else {
        let planner = Planner::new(Here::here()).cores(cores.to_string()).profile(profile.clone(), "measured");
        planner.plan(&receiver).unwrap().pipeline(&mut receiver).unwrap().run().unwrap()
    };
    let figures = Figures::of(&report.figures);
    assert_eq!(figures.packet_errors, 0, "the bench decodes without errors");
    if show {
        if cores == 1 {
            show_tasks(&profile, pls, figures.mean_iterations);
        }
        println!("{report}\n");
    }
    (figures.bits as f64 / report.seconds / 1e6, found)
}

/// Receives everything twice at once, each time on one core: Mb/s of both.
fn receive_apart(bytes: &Arc<[u8]>) -> f64 {
    let programs = [(); 2].map(|()| find(bytes).to(std::io::sink()).program().unwrap());
    let threads = programs.map(|program| thread::spawn(move || program.run().unwrap()));
    let reports = threads.map(|thread| thread.join().unwrap());
    reports.iter().map(|report| Figures::of(&report.figures).bits as f64 / report.seconds / 1e6).sum()
}

/// Each task's time per frame, its share, and how far it is from what arithmetic would allow.
fn show_tasks(profile: &Profile, pls: Pls, iterations: f64) {
    let machine = Machine::new(fir());
    let total: u64 = profile.tasks().iter().filter_map(|task| task.ns[0]).sum();
    println!("{:<18} {:>9} {:>6}   {:>8}", "task", "us/frame", "share", "limit us");
    for task in profile.tasks() {
        let ns = task.ns[0].unwrap() as f64;
        let limit = machine.limit(&task.name, pls, SAMPLES_PER_SYMBOL, iterations);
        let limit = limit.map_or_else(String::new, |(us, what)| format!("{us:8.2} {what}, {:.1} times", ns / 1e3 / us));
        println!("{:<18} {:>9.2} {:>5.1}%   {limit}", task.name, ns / 1e3, 100.0 * ns / total as f64);
    }
    let longest = profile.tasks().iter().max_by_key(|task| task.ns[0]).unwrap();
    let sequential = profile.tasks().iter().filter(|task| !task.replicable).max_by_key(|task| task.ns[0]).unwrap();
    println!("{:<18} {:>9.2}", "all", total as f64 / 1e3);
    println!("{:.2} LDPC iterations per frame; longest task: {};", iterations, longest.name);
    println!("longest that cannot be replicated, which bounds any number of cores: {}\n", sequential.name);
}

fn main() {
    // Cargo adds an option of its own.
    let arguments = std::env::args().skip(1).filter(|argument| !argument.starts_with("--"));
    let (numbers, only): (Vec<_>, Vec<_>) = arguments.partition(|argument| argument.parse::<usize>().is_ok());
    let symbols = numbers.first().and_then(|number| number.parse().ok()).unwrap_or(50_000_000);
    for name in &only {
        assert!(SIGNALS.iter().any(|(modcod, ..)| modcod == name), "`{name}` is none of the MODCODs of this bench");
    }
    println!("vector instructions: {}\n", Level::chosen().unwrap());
    for (modcod, size, es_n0_db) in
        SIGNALS.into_iter().filter(|(modcod, ..)| only.is_empty() || only.iter().any(|name| name == modcod))
    {
        let pls = Pls::from_parts(modcod.parse().unwrap(), size, true).unwrap();
        let frames = symbols / Layout::new(pls).unwrap().symbols();
        println!("{pls}, Es/N0 {es_n0_db} dB, {frames} PLFRAMEs\n");
        measure(&recording(pls, es_n0_db, frames), pls);
        println!();
    }
}

fn measure(bytes: &Arc<[u8]>, pls: Pls) {
    let (mut one, mut two, mut apart, mut filter, mut found) = (vec![], vec![], vec![], vec![], vec![]);
    for round in 0..ROUNDS {
        filter.push(fir());
        let (speed, seconds) = receive(bytes, pls, 1, round == 0);
        one.push(speed);
        found.push(1e3 * seconds);
        two.push(receive(bytes, pls, 2, round == 0).0);
        apart.push(receive_apart(bytes));
    }
    let (ratios, apart) = (over(&one, &two), over(&one, &apart));
    let (one, one_text) = spread(one, 1);
    let (two, two_text) = spread(two, 1);
    let (fir, fir_text) = spread(filter, 1);
    println!("{:<44} {:>8}   range", "", "median");
    println!("{:<44} {one_text}", "one core, Mb/s of information");
    println!("{:<44} {two_text}", "two cores by their plan, Mb/s");
    println!("{:<44} {ratios}", "two cores over one, per round");
    println!("{:<44} {apart}", "two receivers at once over one");
    println!("{:<44} {}", "finding the signal, ms", spread(found, 1).1);
    println!("{:<44} {fir_text}", "80-tap decimating FIR, Msamples/s");
    let scale = REFERENCE_FIR / fir;
    println!("{:<44} {:8.1}", "one core, scaled to 408 Msamples/s of the FIR", one * scale);
    println!("{:<44} {:8.1}", "two cores, likewise", two * scale);
}

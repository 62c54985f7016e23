//! Runs of a network on the cores that are here: the engine by itself, and Bief's plans, by turns.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Instant;

use bief::machine::Core;
use bief::machine::clock::process_time;
use bief::schedule::Stage;
use bief::{Application, Flow, Machine, Pipeline, Planner, Result};
use bief_cli::failure::Failure;
use bief_cli::units::significant;
use bief_nn::{Engine, Frames, Inference, NeuralNetwork, Runner};
use serde::Serialize;

/// A way to run the network, and what came of it.
#[derive(Debug, Serialize)]
pub(super) struct Measured {
    pub(super) name: String,
    pub(super) cores: usize,
    /// Frames per second of each round.
    pub(super) rates: Vec<f64>,
    /// Processor time of a frame in each round, in microseconds: what others do on these cores does not count.
    pub(super) cpu_us: Vec<f64>,
    /// The stages, if it was planned, and the frames per second that the plan tells.
    stages: Vec<String>,
    planned: Option<f64>,
}

/// What the columns of rates are.
pub(super) fn heading() -> String {
    format!("{:34} {:>8} {:>8} {:>8} {:>8} {:>8}", "", "median", "least", "most", "cpu us", "planned")
}

impl Measured {
    pub(super) fn row(&self) -> String {
        let sorted = |values: &[f64]| {
            let mut values = values.to_vec();
            values.sort_by(f64::total_cmp);
            values
        };
        let (rates, cpu) = (sorted(&self.rates), sorted(&self.cpu_us));
        let at = |part: f64| significant(rates[((rates.len() - 1) as f64 * part).round() as usize]);
        let cpu = significant(cpu[cpu.len() / 2]);
        let planned = self.planned.map_or_else(|| "-".to_owned(), significant);
        let stages = if self.stages.is_empty() { String::new() } else { format!("  {}", self.stages.join(", ")) };
        format!("{:34} {:>8} {:>8} {:>8} {cpu:>8} {planned:>8}{stages}", self.name, at(0.5), at(0.0), at(1.0))
    }
}

/// Something that works so many frames off.
type Run = Box<dyn FnMut(u64) -> Result<()>>;

/// All ways, by turns; the second half of the cores is so much slower where they are emulated.
pub(super) fn all(
    network: &NeuralNetwork,
    engine: &Engine,
    slower: f64,
    (rounds, seconds): (u32, f64),
) -> Result<Vec<Measured>, Failure> {
    let here = Machine::here();
    let cores = here.cores().len();
    let mut runs: Vec<(Measured, Run)> = Vec::new();
    let mut add = |name: String, cores: usize, (stages, planned): Told, run: Run| {
        runs.push((Measured { name, cores, rates: Vec::new(), cpu_us: Vec::new(), stages, planned }, run));
    };
    let unplanned = || (Vec::new(), None);
    let inference = |engine: &Engine| Inference::new(network.clone(), engine.clone()).whole();
    let frame: Arc<[f32]> = (0..network.input().len()).map(|k| (k % 17) as f32 / 8.0 - 1.0).collect();
    let told = Failure::from_error;
    let one = inference(engine).runner().map_err(told)?;
    add("engine, one thread".to_owned(), 1, unplanned(), called(one.clone(), &frame, 1));
    add("Bief, one core".to_owned(), 1, unplanned(), piped(network, engine, &frame, How::OneCore).map_err(told)?.0);
    if cores > 1 {
        let own = inference(&engine.clone().with_own_threads(cores)).runner().map_err(told)?;
        add(format!("engine, {cores} threads of its own"), cores, unplanned(), called(own, &frame, 1));
        add(format!("engine, {cores} threads that call it"), cores, unplanned(), called(one, &frame, cores));
        let (big, little) = (cores.div_ceil(2), cores / 2);
        let emulated = big_and_little(&here, big, slower).map_err(told)?;
        for (name, how) in [
            ("Bief, planned".to_owned(), How::ByNumber(&here)),
            ("Bief, planned, source in order".to_owned(), How::InOrder(&here)),
            ("Bief, a thread for each segment".to_owned(), How::ThreadPerSegment),
            (format!("Bief, planned, {big}+{little} emulated"), How::ByNumber(&emulated)),
            ("the same, source in order".to_owned(), How::InOrder(&emulated)),
        ] {
            let (run, plan) = piped(network, engine, &frame, how).map_err(told)?;
            add(name, cores, plan, run);
        }
    }
    // As many frames as take the time, about.
    let mut counts = Vec::new();
    for (_, run) in &mut runs {
        let start = Instant::now();
        run(4).map_err(told)?;
        counts.push((seconds * 4.0 / start.elapsed().as_secs_f64().max(1e-6)).ceil().clamp(4.0, 1e7) as u64);
    }
    for _ in 0..rounds {
        for ((measured, run), &count) in runs.iter_mut().zip(&counts) {
            let (start, before) = (Instant::now(), process_time());
            run(count).map_err(told)?;
            measured.rates.push(count as f64 / start.elapsed().as_secs_f64());
            let spent = process_time().saturating_sub(before);
            measured.cpu_us.push(spent.as_secs_f64() * 1e6 / count as f64);
        }
    }
    Ok(runs.into_iter().map(|(measured, _)| measured).collect())
}

/// Calls from so many threads.
fn called(runner: Runner, frame: &Arc<[f32]>, threads: usize) -> Run {
    let frame = Arc::clone(frame);
    Box::new(move |frames| {
        let next = AtomicU64::new(0);
        let call = || -> Result<()> {
            while next.fetch_add(1, Ordering::Relaxed) < frames {
                runner.run(&frame)?;
            }
            Ok(())
        };
        thread::scope(|scope| {
            let others: Vec<_> = (1..threads).map(|_| scope.spawn(call)).collect();
            let own = call();
            others.into_iter().map(|other| other.join().unwrap_or(Ok(()))).fold(own, Result::and)
        })
    })
}

/// The first cores as they are, and the others so much slower.
fn big_and_little(here: &Machine, big: usize, slower: f64) -> Result<Machine> {
    let threads = |cores: &[Core]| {
        let each: Vec<String> = cores.iter().map(|core| core.threads[0].to_string()).collect();
        each.join(",")
    };
    let (big, little) = here.cores().split_at(big);
    let text = format!(
        "[[kind]]\nname = 'big'\ncores = '{}'\n[[kind]]\nname = 'little'\ncores = '{}'\nspeed = {:?}\n",
        threads(big),
        threads(little),
        1.0 / slower
    );
    Ok(Machine::emulated(&text, here)?)
}

/// One frame so many times.
struct Wanted {
    frame: Arc<[f32]>,
    left: Arc<AtomicU64>,
}

impl Frames for Wanted {
    fn frame(&self, number: u64) -> Result<Option<&[f32]>> {
        Ok((number < self.left.load(Ordering::Relaxed)).then_some(&*self.frame))
    }
}

/// How Bief runs it.
#[derive(Clone, Copy)]
enum How<'m> {
    OneCore,
    /// Planned, with a source and a sink that need no order.
    ByNumber(&'m Machine),
    /// Planned, with a source and a sink that are sequential.
    InOrder(&'m Machine),
    ThreadPerSegment,
}

/// Stages of a plan, and the frames per second that it tells.
type Told = (Vec<String>, Option<f64>);

/// A pipeline that runs again and again, and its plan.
fn piped(network: &NeuralNetwork, engine: &Engine, frame: &Arc<[f32]>, how: How<'_>) -> Result<(Run, Told)> {
    let wanted = Arc::new(AtomicU64::new(0));
    let (frame, left) = (Arc::clone(frame), Arc::clone(&wanted));
    let inference = Inference::new(network.clone(), engine.clone()).rehearses(frame.to_vec())?;
    let inference = match how {
        How::InOrder(_) => {
            let mut number = 0;
            let read = move |slot: &mut [f32]| {
                if number == left.load(Ordering::Relaxed) {
                    number = 0;
                    return Ok(Flow::Stop);
                }
                number += 1;
                slot.copy_from_slice(&frame);
                Ok(Flow::Next)
            };
            inference.reads(read).delivers(|_| Ok(Flow::Next))
        }
        How::OneCore | How::ByNumber(_) | How::ThreadPerSegment => {
            inference.reads_from(Wanted { frame, left }).delivers_at(|_, _| Ok(Flow::Next))
        }
    };
    let mut inference = inference;
    let (mut pipeline, told): (Pipeline, Told) = match how {
        How::OneCore => (inference.whole().program()?.one_core()?, (Vec::new(), None)),
        How::ThreadPerSegment => {
            let stages = vec![Stage::new(1, 1, ""); inference.tasks().len() + 2];
            (inference.program()?.cut(&stages)?, (Vec::new(), None))
        }
        How::ByNumber(machine) | How::InOrder(machine) => {
            let planner = || Planner::new(machine.clone());
            let (planned, mut inference) = inference.plan(&planner(), &planner())?;
            let stages = planned.schedule.stages().iter().map(ToString::to_string).collect();
            let rate = 1e9 / planned.schedule.planned_period().ns();
            (planned.pipeline(&mut inference)?, (stages, Some(rate)))
        }
    };
    let run = move |frames| {
        wanted.store(frames, Ordering::Relaxed);
        pipeline.run().map(drop)
    };
    Ok((Box::new(run), told))
}

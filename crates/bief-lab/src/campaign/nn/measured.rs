//! Runs of a network on the cores that are here: the engine by itself, and Bief's plans, by turns.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Instant;

use bief::machine::Core;
use bief::machine::clock::process_time;
use bief::plan::{Load, Profiling};
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
    /// The stages of the last plan, if there is one.
    stages: Vec<String>,
    /// Frames per second that the plan of each round tells; empty without plans.
    pub(super) planned: Vec<f64>,
}

/// What the columns of rates are.
pub(super) fn heading() -> String {
    format!("{:34} {:>8} {:>8} {:>8} {:>8} {:>8} {:>6}", "", "median", "least", "most", "cpu us", "planned", "gap %")
}

fn sorted(values: impl IntoIterator<Item = f64>) -> Vec<f64> {
    let mut values: Vec<f64> = values.into_iter().collect();
    values.sort_by(f64::total_cmp);
    values
}

impl Measured {
    pub(super) fn row(&self) -> String {
        let (rates, cpu) = (sorted(self.rates.iter().copied()), sorted(self.cpu_us.iter().copied()));
        let at = |part: f64| significant(rates[((rates.len() - 1) as f64 * part).round() as usize]);
        let cpu = significant(cpu[cpu.len() / 2]);
        // Each run beside the plan of its round: the machine's speed changes.
        let gaps = sorted(self.rates.iter().zip(&self.planned).map(|(rate, planned)| 100.0 * (rate / planned - 1.0)));
        let planned = sorted(self.planned.iter().copied());
        let [planned, gap] = match planned.len() / 2 {
            _ if planned.is_empty() => ["-".to_owned(), "-".to_owned()],
            middle => [significant(planned[middle]), format!("{:.1}", gaps[middle])],
        };
        let stages = if self.stages.is_empty() { String::new() } else { format!("  {}", self.stages.join(", ")) };
        format!("{:34} {:>8} {:>8} {:>8} {cpu:>8} {planned:>8} {gap:>6}{stages}", self.name, at(0.5), at(0.0), at(1.0))
    }
}

/// Something that works so many frames off.
type Run = Box<dyn FnMut(u64) -> Result<()>>;

/// A way as it is measured.
struct Way<'m> {
    measured: Measured,
    run: Run,
    /// How it is planned: anew in each round, with what tasks take then while all cores are busy.
    planned: Option<How<'m>>,
}

impl<'m> Way<'m> {
    fn new(name: impl Into<String>, cores: usize, run: Run, planned: Option<How<'m>>) -> Self {
        let (name, [rates, cpu_us, rates_planned]) = (name.into(), [const { Vec::new() }; 3]);
        Self {
            measured: Measured { name, cores, rates, cpu_us, stages: Vec::new(), planned: rates_planned },
            run,
            planned,
        }
    }
}

/// All ways, by turns; the second half of the cores is so much slower where they are emulated.
pub(super) fn all(
    network: &NeuralNetwork,
    engine: &Engine,
    slower: f64,
    (rounds, seconds): (u32, f64),
) -> Result<Vec<Measured>, Failure> {
    let here = Machine::here();
    let cores = here.cores().len();
    let inference = |engine: &Engine| Inference::new(network.clone(), engine.clone()).whole();
    let frame: Arc<[f32]> = (0..network.input().len()).map(|k| (k % 17) as f32 / 8.0 - 1.0).collect();
    let told = Failure::from_error;
    let one = inference(engine).runner().map_err(told)?;
    let piped = |how| piped(network, engine, &frame, how).map_err(told);
    let emulated;
    let mut ways = vec![
        Way::new("engine, one thread", 1, called(one.clone(), &frame, 1), None),
        Way::new("Bief, one core", 1, piped(How::OneCore)?.0, None),
    ];
    if cores > 1 {
        let own = inference(&engine.clone().with_own_threads(cores)).runner().map_err(told)?;
        ways.push(Way::new(format!("engine, {cores} threads of its own"), cores, called(own, &frame, 1), None));
        ways.push(Way::new(format!("engine, {cores} threads that call it"), cores, called(one, &frame, cores), None));
        emulated = big_and_little(&here, cores.div_ceil(2), slower).map_err(told)?;
        let emulates = format!("Bief, planned, {}+{} emulated", cores.div_ceil(2), cores / 2);
        for (name, how) in [
            ("Bief, planned", How::ByNumber(&here)),
            ("Bief, planned, source in order", How::InOrder(&here)),
            ("Bief, a thread for each segment", How::ThreadPerSegment),
            (&emulates, How::ByNumber(&emulated)),
            ("the same, source in order", How::InOrder(&emulated)),
        ] {
            let planned = (!matches!(how, How::ThreadPerSegment)).then_some(how);
            ways.push(Way::new(name, cores, piped(how)?.0, planned));
        }
    }
    // As many frames as take the time, about.
    let mut counts = Vec::new();
    for Way { run, .. } in &mut ways {
        let start = Instant::now();
        run(4).map_err(told)?;
        counts.push((seconds * 4.0 / start.elapsed().as_secs_f64().max(1e-6)).ceil().clamp(4.0, 1e7) as u64);
    }
    for _ in 0..rounds {
        for (Way { measured, run, planned }, &count) in ways.iter_mut().zip(&counts) {
            if let Some(how) = planned {
                let (anew, plan) = piped(*how)?;
                *run = anew;
                if let Some((stages, rate)) = plan {
                    measured.stages = stages;
                    measured.planned.push(rate);
                }
                run(4).map_err(told)?;
            }
            let (start, before) = (Instant::now(), process_time());
            run(count).map_err(told)?;
            measured.rates.push(count as f64 / start.elapsed().as_secs_f64());
            let spent = process_time().saturating_sub(before);
            measured.cpu_us.push(spent.as_secs_f64() * 1e6 / count as f64);
        }
    }
    Ok(ways.into_iter().map(|way| way.measured).collect())
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
type Told = (Vec<String>, f64);

/// A pipeline that runs again and again, and its plan, if it has one.
fn piped(network: &NeuralNetwork, engine: &Engine, frame: &Arc<[f32]>, how: How<'_>) -> Result<(Run, Option<Told>)> {
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
    let (mut pipeline, told): (Pipeline, Option<Told>) = match how {
        How::OneCore => (inference.whole().program()?.one_core()?, None),
        How::ThreadPerSegment => {
            let stages = vec![Stage::new(1, 1, ""); inference.tasks().len() + 2];
            (inference.program()?.cut(&stages)?, None)
        }
        How::ByNumber(machine) | How::InOrder(machine) => {
            let profiling = Profiling { load: Load::Busy, ..Profiling::default() };
            let planner = || Planner::new(machine.clone()).profiling(profiling);
            let (planned, mut inference) = inference.plan(&planner(), &planner())?;
            let stages = planned.schedule.stages().iter().map(ToString::to_string).collect();
            let rate = 1e9 / planned.schedule.planned_period().ns();
            (planned.pipeline(&mut inference)?, Some((stages, rate)))
        }
    };
    let run = move |frames| {
        wanted.store(frames, Ordering::Relaxed);
        pipeline.run().map(drop)
    };
    Ok((Box::new(run), told))
}

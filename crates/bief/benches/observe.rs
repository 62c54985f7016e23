//! What observing costs: four tasks of 10 us on one core, as they are, watched, watched by someone who asks for figures ten times a
//! second, observed, and observed, traced and watched.
//!
//! These take turns, so that a machine that slows down or speeds up meanwhile treats them alike. Told is how much longer
//! they took: the median over all rounds, its quartiles, and that of the fastest tenth of the rounds, which others disturbed
//! least.

use std::hint::black_box;
use std::time::{Duration, Instant};

use bief::{Chain, Figures, Flow, InOut, Out, Pipeline, Result, Task};

const TASKS: usize = 4;
const TASK_TIME: Duration = Duration::from_micros(10);
const FRAMES: u64 = 250;
const ROUNDS: usize = 300;
/// How often figures are asked for.
const ASKED: Duration = Duration::from_millis(100);

/// So many multiplications, each waiting for the one before.
fn work(start: u64, steps: u64) -> u64 {
    (0..steps).fold(black_box(start), |x, _| x.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ 1)
}

/// The steps that take [`TASK_TIME`] on this machine, undisturbed.
fn calibrated() -> u64 {
    const STEPS: u64 = 10_000;
    let time = |_| {
        let start = Instant::now();
        black_box(work(1, STEPS));
        start.elapsed()
    };
    let least = (0..1000).map(time).min().expect("some were timed");
    (STEPS as f64 * TASK_TIME.as_secs_f64() / least.as_secs_f64()) as u64
}

struct Source {
    frames: u64,
}

impl Task for Source {
    type In = ();
    type Out = Out<u64>;
    fn lens(&self, (): ()) -> Result<usize> {
        Ok(1)
    }
    fn run(&mut self, (): (), _: &mut [u64]) -> Result<Flow> {
        let Some(frames) = self.frames.checked_sub(1) else { return Ok(Flow::Stop) };
        self.frames = frames;
        Ok(Flow::Next)
    }
    fn reset(&mut self) -> Result<()> {
        self.frames = FRAMES;
        Ok(())
    }
}

struct Work {
    steps: u64,
    frames: u64,
}

impl Task for Work {
    type In = InOut<u64>;
    type Out = ();
    fn lens(&self, _: usize) -> Result<()> {
        Ok(())
    }
    fn run(&mut self, x: &mut [u64], (): ()) -> Result<Flow> {
        x[0] = work(x[0], self.steps);
        self.frames += 1;
        Ok(Flow::Next)
    }
    fn figures(&self, figures: &mut Figures) {
        figures.count("worked", "frames", self.frames);
    }
    fn reset(&mut self) -> Result<()> {
        self.frames = 0;
        Ok(())
    }
}

fn pipeline(steps: u64) -> Result<Pipeline> {
    let mut chain = Chain::new();
    let mut wire = chain.add(Source { frames: FRAMES }, ());
    (0..TASKS).for_each(|_| chain.add(Work { steps, frames: 0 }, &mut wire));
    chain.build()?.one_core()
}

fn main() -> Result<()> {
    let steps = calibrated();
    let [mut watched, mut asked] = [pipeline(steps)?, pipeline(steps)?];
    let mut whole = pipeline(steps)?.trace(1000)?;
    let [_watch, mut asking, mut watch] = [&mut watched, &mut asked, &mut whole].map(Pipeline::watch);
    let mut ways = [
        ("as it is", pipeline(steps)?),
        ("watched", watched),
        ("and asked", asked),
        ("observed", pipeline(steps)?.observe()),
        ("and traced, watched", whole),
    ];
    let mut times = vec![[0.0; 5]; ROUNDS];
    let mut last_asked = Instant::now();
    for (round, times) in times.iter_mut().enumerate() {
        // None always follows the same other one.
        for turn in 0..ways.len() {
            let way = (round + turn) % ways.len();
            if last_asked.elapsed() >= ASKED {
                asking.figures();
                last_asked = Instant::now();
            }
            times[way] = ways[way].1.run()?.seconds;
        }
    }
    assert_eq!(watch.status().frames, FRAMES);
    assert_eq!(asking.figures().counted("worked"), TASKS as u64 * FRAMES);
    for (way, (name, pipeline)) in ways.iter_mut().enumerate() {
        let mut ratios: Vec<f64> = times.iter().map(|times| times[way] / times[0]).collect();
        ratios.sort_unstable_by(f64::total_cmp);
        let [low, median, high] = [1, 2, 3].map(|quarter| 100.0 * (ratios[quarter * ROUNDS / 4] - 1.0));
        let fast = |way: usize| {
            let mut times: Vec<f64> = times.iter().map(|times| times[way]).collect();
            times.sort_unstable_by(f64::total_cmp);
            times[ROUNDS / 10]
        };
        let fastest = 100.0 * (fast(way) / fast(0) - 1.0);
        let tasks = &pipeline.run()?.stages[0].tasks;
        let timed = tasks[TASKS].times.map_or(0, |times| times.count);
        println!(
            "observe/{name:<20} {median:+.2} % ({low:+.2} .. {high:+.2}), fastest tenth {fastest:+.2} %, {timed} of {FRAMES} \
             batches timed"
        );
    }
    Ok(())
}

//! What a call of a task costs: chains of 10 and 100 tasks that do nothing, on one core, in batches of 1 and 16 frames.
//!
//! The time shown is that of one call (of one task on one frame), everything around it included. `apart` tasks have
//! wires of their own, `in place` tasks all rewrite one wire, `joined` tasks each read what the one before made; `looped`
//! tasks are as `in place`, each in a loop of one turn, `chosen` ones each in a path of a switch.

use std::time::Duration;

use bief::{Chain, Flow, In, InOut, Out, Result, Task};
use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};

/// Makes frames that nobody looks at, `frames` of them.
struct Source {
    frames: u64,
}

impl Task for Source {
    type In = ();
    type Out = Out<u8>;
    fn lens(&self, (): ()) -> Result<usize> {
        Ok(1)
    }
    fn run(&mut self, (): (), _: &mut [u8]) -> Result<Flow> {
        let Some(frames) = self.frames.checked_sub(1) else { return Ok(Flow::Stop) };
        self.frames = frames;
        Ok(Flow::Next)
    }
}

struct Apart;

impl Task for Apart {
    type In = ();
    type Out = Out<u8>;
    fn lens(&self, (): ()) -> Result<usize> {
        Ok(1)
    }
    fn run(&mut self, (): (), _: &mut [u8]) -> Result<Flow> {
        Ok(Flow::Next)
    }
}

struct InPlace;

impl Task for InPlace {
    type In = InOut<u8>;
    type Out = ();
    fn lens(&self, _: usize) -> Result<()> {
        Ok(())
    }
    fn run(&mut self, _: &mut [u8], (): ()) -> Result<Flow> {
        Ok(Flow::Next)
    }
}

struct Joined;

impl Task for Joined {
    type In = In<u8>;
    type Out = Out<u8>;
    fn lens(&self, _: usize) -> Result<usize> {
        Ok(1)
    }
    fn run(&mut self, _: &[u8], _: &mut [u8]) -> Result<Flow> {
        Ok(Flow::Next)
    }
}

/// How the time of `calls` calls, in a chain of `tasks` tasks, is spent.
fn calls(shape: &str, tasks: u64, batch: usize, calls: u64) -> Duration {
    let frames = calls.div_ceil(tasks).next_multiple_of(batch as u64);
    let mut chain = Chain::new().batch(batch);
    let mut wire = chain.add(Source { frames }, ());
    let always = chain.constant(&[true]);
    for _ in 1..tasks {
        match shape {
            "apart" => drop(chain.add(Apart, ())),
            "in place" => chain.add(InPlace, &mut wire),
            "looped" => chain.repeat(1, |chain| chain.add(InPlace, &mut wire)),
            "chosen" => chain.select(&always, |paths| paths.path(|chain| chain.add(InPlace, &mut wire))),
            _ => wire = chain.add(Joined, &wire),
        }
    }
    let report = chain.build().and_then(|program| program.run()).expect("empty tasks do not fail");
    assert_eq!(report.frames, frames);
    Duration::from_secs_f64(report.seconds * calls as f64 / (frames * tasks) as f64)
}

fn call(criterion: &mut Criterion) {
    for shape in ["apart", "in place", "joined", "looped", "chosen"] {
        let mut group = criterion.benchmark_group(format!("call/{shape}"));
        for tasks in [10, 100] {
            for batch in [1, 16] {
                let id = BenchmarkId::from_parameter(format!("{tasks} tasks/batch {batch}"));
                group.bench_function(id, |bencher| bencher.iter_custom(|iters| calls(shape, tasks, batch, iters)));
            }
        }
    }
}

criterion_group!(benches, call);
criterion_main!(benches);

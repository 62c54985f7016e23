//! The chain of tasks that add 1 to every byte, and how fast it goes.

use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use bief::placement::{Pinning, Placement};
use bief::{Chain, Error, Flow, In, InOut, Machine, Out, Pipeline, Result, Task};
use bief_cli::failure::Failure;

use super::Place;
use super::size::Size;

/// Buffers that a ring holds: more would only be more memory, as all stages do the same work.
pub(super) const DEPTH: usize = 1;
/// How long one measurement takes, at least.
const TIME: Duration = Duration::from_millis(30);
/// Buffers that have gone through the whole pipeline before the time counts.
const FILLED: u64 = 4;
/// Executions of every task in the time that counts, on the mean and at least.
const EXECUTIONS: u64 = 4;
/// Between two looks at how far the tasks are.
const LOOK: Duration = Duration::from_millis(1);
/// Bytes that a task works on from one look at its core to the next, at least: a look takes some 20 ns.
const LOOK_AFTER: usize = 64 << 10;

/// What is run.
#[derive(Clone, Copy)]
pub(super) struct Shape {
    pub(super) tasks: usize,
    pub(super) size: Size,
    /// A stage for each task, or one for all.
    pub(super) staged: bool,
}

/// What one measurement found.
pub(super) struct Measured {
    /// Bytes of the buffer, in GB, that went through the whole chain per second.
    pub(super) gb_per_s: f64,
    /// For each task, the hardware threads on which it began with some of the buffers, the same for all tasks; nothing where
    /// the system does not tell.
    pub(super) seen_on: Vec<Vec<usize>>,
}

/// What the tasks tell whoever measures them.
pub(super) struct Shared {
    /// The measurement is over: what is left is let through untouched. A buffer brings the news with it: no task behind one
    /// that left it alone adds to it.
    is_over: AtomicBool,
    tasks: Vec<Progress>,
}

/// How far a task is: on cache lines of its own, which nobody else writes to.
#[repr(align(128))]
#[derive(Default)]
struct Progress {
    executions: AtomicU64,
    seen_on: Mutex<Vec<usize>>,
}

/// Runs the chain in its place, for as long as a measurement takes.
pub(super) fn measure(
    shape: Shape,
    placement: Option<&(Place, Placement)>,
    machine: &Machine,
) -> std::result::Result<Measured, Failure> {
    let (mut pipeline, shared) = pipeline(shape).map_err(Failure::from_error)?;
    if let Some((place, placement)) = placement {
        // What is not where it should be is not measured; anywhere is everywhere.
        let pinning = if *place == Place::Loose { Pinning::Try } else { Pinning::Require };
        pipeline = pipeline.place_as(placement.clone(), machine).map_err(Failure::from_error)?.pinning(pinning);
    }
    let (executions, seconds) = executions(pipeline, &shared).map_err(|error| match placement {
        Some((place, _)) if *place != Place::Loose => {
            Failure::new(format!("placed {}: {error}; give --place loose", place.policy()))
        }
        _ => Failure::from_error(error),
    })?;
    let seen_on = |task: &Progress| task.seen_on.lock().unwrap_or_else(PoisonError::into_inner).clone();
    Ok(Measured {
        gb_per_s: executions as f64 / shape.tasks as f64 * shape.size.0 as f64 / seconds / 1e9,
        seen_on: shared.tasks.iter().map(seen_on).collect(),
    })
}

/// The executions of all tasks in some time, and the seconds that this took. The time begins when the pipeline is filled and
/// ends before it is emptied, so that all its stages have work; executions, not buffers that came out, tell how much.
fn executions(mut pipeline: Pipeline, shared: &Shared) -> Result<(u64, f64)> {
    thread::scope(|scope| {
        let run = scope.spawn(|| pipeline.run());
        let until = |is_enough: &dyn Fn() -> bool| {
            while !is_enough() && !run.is_finished() {
                thread::sleep(LOOK);
            }
        };
        let last = &shared.tasks[shared.tasks.len() - 1];
        until(&|| last.executions.load(Ordering::Relaxed) >= FILLED);
        let (start, before) = (Instant::now(), shared.executions());
        let least = EXECUTIONS * shared.tasks.len() as u64;
        until(&|| start.elapsed() >= TIME && shared.executions() - before >= least);
        let (executions, seconds) = (shared.executions() - before, start.elapsed().as_secs_f64());
        shared.is_over.store(true, Ordering::Relaxed);
        run.join().unwrap_or_else(|panic| resume_unwind(panic))?;
        Ok((executions, seconds))
    })
}

/// The pipeline, not placed yet.
pub(super) fn pipeline(shape: Shape) -> Result<(Pipeline, Arc<Shared>)> {
    let tasks = (0..shape.tasks).map(|_| Progress::default()).collect();
    let shared = Arc::new(Shared { is_over: AtomicBool::new(false), tasks });
    let station = |task: usize| Station {
        task,
        shared: Arc::clone(&shared),
        executions: 0,
        look_every: (LOOK_AFTER / shape.size.0).max(1) as u64,
    };
    let mut chain = Chain::new();
    let (mut buffer, sum) = chain.add(First { station: station(0), size: shape.size, tasks: shape.tasks }, ());
    for task in 1..shape.tasks {
        if shape.staged {
            chain.stage(&format!("task {}", task + 1));
        }
        if task + 1 < shape.tasks {
            chain.add(Middle(station(task)), &mut buffer);
        } else {
            chain.add(Last(station(task)), (&mut buffer, &sum));
        }
    }
    Ok((chain.build()?.pipeline_as_marked()?.depth(DEPTH)?, shared))
}

impl Shared {
    fn executions(&self) -> u64 {
        self.tasks.iter().map(|task| task.executions.load(Ordering::Relaxed)).sum()
    }
}

/// What every task does beside its work.
struct Station {
    task: usize,
    shared: Arc<Shared>,
    executions: u64,
    look_every: u64,
}

impl Station {
    /// Whether there is work; if so, looks now and then where it is done.
    fn begins(&mut self) -> bool {
        if self.shared.is_over.load(Ordering::Relaxed) {
            return false;
        }
        if self.executions.is_multiple_of(self.look_every) {
            self.look();
        }
        true
    }

    fn look(&self) {
        #[cfg(target_os = "linux")]
        {
            const MOST_LOOKS: usize = 1 << 12;
            let mut seen_on = self.progress().seen_on.lock().unwrap_or_else(PoisonError::into_inner);
            if seen_on.len() < MOST_LOOKS {
                seen_on.push(rustix::thread::sched_getcpu());
            }
        }
    }

    fn ends(&mut self) {
        self.executions += 1;
        self.progress().executions.store(self.executions, Ordering::Relaxed);
    }

    fn progress(&self) -> &Progress {
        &self.shared.tasks[self.task]
    }
}

pub(super) fn add_one(buffer: &mut [u8]) {
    for byte in buffer {
        *byte = byte.wrapping_add(1);
    }
}

/// The first task: takes the buffer as it came back, adds to it, and tells what it will hold at the end of the chain.
struct First {
    station: Station,
    size: Size,
    tasks: usize,
}

impl Task for First {
    type In = ();
    type Out = (Out<u8>, Out<u8>);
    fn lens(&self, (): ()) -> Result<(usize, usize)> {
        Ok((self.size.0, 1))
    }
    fn run(&mut self, (): (), (buffer, sum): (&mut [u8], &mut [u8])) -> Result<Flow> {
        if !self.station.begins() {
            return Ok(Flow::Stop);
        }
        sum[0] = buffer[0].wrapping_add(self.tasks as u8);
        add_one(buffer);
        self.station.ends();
        Ok(Flow::Next)
    }
}

struct Middle(Station);

impl Task for Middle {
    type In = InOut<u8>;
    type Out = ();
    fn lens(&self, _: usize) -> Result<()> {
        Ok(())
    }
    fn run(&mut self, buffer: &mut [u8], (): ()) -> Result<Flow> {
        if self.0.begins() {
            add_one(buffer);
            self.0.ends();
        }
        Ok(Flow::Next)
    }
}

/// The last task: adds and, in the same pass, checks that every task added to every byte.
struct Last(Station);

impl Task for Last {
    type In = (InOut<u8>, In<u8>);
    type Out = ();
    fn lens(&self, _: (usize, usize)) -> Result<()> {
        Ok(())
    }
    fn run(&mut self, (buffer, sum): (&mut [u8], &[u8]), (): ()) -> Result<Flow> {
        if self.0.begins() {
            let sum = sum[0];
            let mut difference = 0;
            for byte in &mut *buffer {
                *byte = byte.wrapping_add(1);
                difference |= *byte ^ sum;
            }
            if difference != 0 {
                let wrong = buffer.iter().position(|&byte| byte != sum).unwrap_or(0);
                return Err(Error::new(format!(
                    "byte {wrong} of the buffer holds {}, not {sum}: not every task added 1 to it, or the memory is faulty; \
                     if it happens again, report it with this command line and machine",
                    buffer[wrong]
                )));
            }
            self.0.ends();
        }
        Ok(Flow::Next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_task_works_on_every_buffer() {
        for staged in [true, false] {
            let shape = Shape { tasks: 5, size: Size(3 << 10), staged };
            let (pipeline, shared) = pipeline(shape).unwrap();
            assert_eq!(pipeline.slots().len(), if staged { 5 } else { 1 });
            let (executions, seconds) = executions(pipeline, &shared).unwrap();
            assert!(executions >= EXECUTIONS * 5 && seconds > 0.0, "{executions} in {seconds} s");
            let of = |task: usize| shared.tasks[task].executions.load(Ordering::Relaxed);
            // Those that were under way at the end went through untouched.
            assert!((1..5).all(|task| of(task) <= of(task - 1)) && of(4) >= FILLED);
            if cfg!(target_os = "linux") {
                assert!(shared.tasks.iter().all(|task| !task.seen_on.lock().unwrap().is_empty()));
            }
        }
    }

    #[test]
    fn a_byte_that_was_not_added_to_is_found() {
        let (_, shared) = pipeline(Shape { tasks: 2, size: Size(100), staged: true }).unwrap();
        let mut last = Last(Station { task: 1, shared, executions: 0, look_every: 1 });
        let mut buffer = [1; 100];
        assert_eq!(last.run((&mut buffer, &[2]), ()).unwrap(), Flow::Next);
        assert_eq!(buffer, [2; 100]);
        buffer[77] = 1;
        let message = last.run((&mut buffer, &[3]), ()).unwrap_err().to_string();
        assert!(message.contains("byte 77 of the buffer holds 2, not 3"), "{message}");
    }
}

//! Chains of arithmetic of a known length.

use std::hint::black_box;
use std::sync::OnceLock;
use std::time::Duration;

use super::subject::Find;
use crate::bench::speedup::{self, turns_per_us};
use bief::device::{Device, OffloadOf};
use bief::machine::clock::thread_time;
use bief::{Application, Chain, Flow, In, InOut, Program, Result, Task, source};

/// Numbers that a task goes over.
const NUMBERS: usize = 256;

/// A task to be made: how many microseconds it is to take on a core of this machine, and whether it may be replicated.
#[derive(Debug, Clone, Copy)]
pub(super) struct Step {
    pub(super) us: u32,
    pub(super) replicable: bool,
}

/// Turns of work between two looks at the time.
const FEW_TURNS: u64 = 200;

/// A source, these tasks and a sink. Those that may be replicated can run on an emulated device, too.
#[derive(Clone)]
pub(super) struct Work {
    pub(super) steps: Vec<Step>,
    /// Bytes of a frame, of which tasks go over the first kilobyte, once.
    pub(super) bytes: usize,
    /// So that a stage on a device may be the last.
    pub(super) sink_is_replicable: bool,
    /// Tasks take so much of a core's time, in place of so much arithmetic: the clock, which is slower on a core that sleeps much, does not
    /// change it.
    pub(super) is_timed: bool,
}

impl Work {
    /// With frames of a kilobyte.
    pub(super) fn new(steps: Vec<Step>) -> Self {
        Self { steps, bytes: NUMBERS * size_of::<f32>(), sink_is_replicable: false, is_timed: false }
    }

    /// What makes it.
    pub(super) fn find(self) -> Find {
        Box::new(move || Ok(Box::new(self.clone())))
    }
}

/// Frames come as long as they are wanted: what is run is a rehearsal, too.
impl Application for Work {
    fn program(&mut self) -> Result<Program> {
        chain(self, u64::MAX)
    }

    fn rehearsal(&self, frames: u64) -> Result<Program> {
        chain(self, frames)
    }
}

/// The chain, which ends after so many frames.
fn chain(work: &Work, mut frames: u64) -> Result<Program> {
    let numbers = (work.bytes / size_of::<f32>()).max(NUMBERS);
    let mut chain = Chain::new();
    let fill = move |frame: &mut [f32]| {
        if frames == 0 {
            return Ok(Flow::Stop);
        }
        frames -= 1;
        frame[..NUMBERS].fill(0.5);
        Ok(Flow::Next)
    };
    let mut frame = chain.add(source::from_fn(numbers, fill), ());
    for (index, step) in work.steps.iter().enumerate() {
        let length = match work.is_timed {
            true => Length::Time(Duration::from_micros(step.us.into())),
            false => Length::Turns(speedup::Work(turns(step.us))),
        };
        chain.add(Lasting { name: format!("task {}", index + 1), length, replicable: step.replicable }, &mut frame);
    }
    chain.add(End { replicable: work.sink_is_replicable }, &frame);
    chain.build()
}

/// Arithmetic of a known length.
#[derive(Clone)]
struct Lasting {
    name: String,
    length: Length,
    replicable: bool,
}

#[derive(Clone, Copy)]
enum Length {
    /// In registers: a slower clock slows it as it slows everything else, and nothing else does.
    Turns(speedup::Work),
    /// Of its thread on a core.
    Time(Duration),
}

impl Task for Lasting {
    type In = InOut<f32>;
    type Out = ();
    fn name(&self) -> String {
        self.name.clone()
    }
    fn lens(&self, _: usize) -> Result<()> {
        Ok(())
    }
    fn run(&mut self, frame: &mut [f32], (): ()) -> Result<Flow> {
        go_over(&mut frame[..NUMBERS]);
        let seed = u64::from(frame[0].to_bits());
        match self.length {
            Length::Turns(work) => {
                black_box(work.done(seed));
            }
            Length::Time(time) => {
                let end = thread_time() + time;
                while thread_time() < end {
                    black_box(speedup::Work(FEW_TURNS).done(seed));
                }
            }
        }
        Ok(Flow::Next)
    }
    fn replica(&self) -> Option<Self> {
        self.replicable.then(|| self.clone())
    }
    fn on_device(&self, device: &Device) -> Option<Result<OffloadOf<Self>>> {
        self.replica().and_then(|replica| device.emulate(replica))
    }
}

/// Takes frames, and does nothing with them.
#[derive(Clone)]
struct End {
    replicable: bool,
}

impl Task for End {
    type In = In<f32>;
    type Out = ();
    fn lens(&self, _: usize) -> Result<()> {
        Ok(())
    }
    fn run(&mut self, _: &[f32], (): ()) -> Result<Flow> {
        Ok(Flow::Next)
    }
    fn replica(&self) -> Option<Self> {
        self.replicable.then(|| self.clone())
    }
    fn on_device(&self, device: &Device) -> Option<Result<OffloadOf<Self>>> {
        self.replica().and_then(|replica| device.emulate(replica))
    }
}

/// Reads and writes all numbers, so that they cross where a stage ends.
fn go_over(frame: &mut [f32]) {
    frame.iter_mut().for_each(|number| *number = *number * 0.999 + 0.001);
}

/// How many turns of work take so long: they are found out once.
fn turns(us: u32) -> u64 {
    static PER_US: OnceLock<f64> = OnceLock::new();
    (f64::from(us) * PER_US.get_or_init(turns_per_us)) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_goes_over_all_numbers_and_works() {
        let mut frame = [0.5; NUMBERS];
        go_over(&mut frame);
        assert_eq!(frame, [0.5_f32 * 0.999 + 0.001; NUMBERS]);
        // How many turns that is, a busy machine decides.
        assert!(turns(100).abs_diff(10 * turns(10)) <= 10, "{} in 10 us, {} in 100", turns(10), turns(100));
        assert_ne!(speedup::Work(2).done(1), speedup::Work(1).done(1));
    }

    #[test]
    #[ignore = "long: part of .ci/run"]
    fn a_chain_has_its_tasks_and_ends() {
        let steps = [Step { us: 1, replicable: false }, Step { us: 2, replicable: true }];
        let program = chain(&Work::new(steps.into()), 7).unwrap();
        let tasks: Vec<_> = program.tasks().map(|(name, replicable)| (name.to_owned(), replicable)).collect();
        assert_eq!(tasks[1..3], [("task 1".to_owned(), false), ("task 2".to_owned(), true)]);
        assert_eq!((tasks.len(), program.run().unwrap().frames), (4, 7));
    }
}

//! Chains of arithmetic of a known length.

use std::hint::black_box;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use super::subject::Find;
use bief::device::{Device, OffloadOf};
use bief::machine::clock::thread_time;
use bief::{Application, Chain, Flow, In, InOut, Program, Result, Task, source};

/// Numbers that a task goes over at a time.
const NUMBERS: usize = 256;

/// A task to be made: how many microseconds it is to take on a core of this machine, and whether it may be replicated.
#[derive(Debug, Clone, Copy)]
pub(super) struct Step {
    pub(super) us: u32,
    pub(super) replicable: bool,
}

/// A source, these tasks and a sink. Those that may be replicated can run on an emulated device, too.
#[derive(Clone)]
pub(super) struct Work {
    pub(super) steps: Vec<Step>,
    /// Bytes of a frame, of which tasks go over the first kilobyte.
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
            false => Length::Passes((f64::from(step.us) * passes_per_us()).ceil() as u32),
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
    /// Over its frame: a slower clock slows it as it slows everything else.
    Passes(u32),
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
        let frame = &mut frame[..NUMBERS];
        match self.length {
            Length::Passes(passes) => go_over(frame, passes),
            Length::Time(time) => {
                let end = thread_time() + time;
                while thread_time() < end {
                    go_over(frame, 4);
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

#[inline(never)]
fn go_over(frame: &mut [f32], passes: u32) {
    for _ in 0..passes {
        black_box(&mut *frame).iter_mut().for_each(|number| *number = *number * 0.999 + 0.001);
    }
}

/// Found out once: as fast as this machine was in the best of many tries, which others disturb.
fn passes_per_us() -> f64 {
    const PASSES: u32 = 20_000;
    /// As the frames of a chain are: arithmetic across cache lines is slower.
    #[repr(align(64))]
    struct Aligned([f32; NUMBERS]);
    static FOUND: OnceLock<f64> = OnceLock::new();
    *FOUND.get_or_init(|| {
        let mut frame = Aligned([0.5; NUMBERS]);
        let tries = (0..200).map(|_| {
            let start = Instant::now();
            go_over(&mut frame.0, PASSES);
            start.elapsed().as_secs_f64() * 1e6
        });
        f64::from(PASSES) / tries.fold(f64::MAX, f64::min)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pass_counts() {
        let mut frame = [0.5; NUMBERS];
        go_over(&mut frame, 2);
        let once = 0.5_f32 * 0.999 + 0.001;
        assert_eq!(frame, [once * 0.999 + 0.001; NUMBERS]);
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

//! What a planner plans: a chain that it may rehearse before it is run.

use std::time::Duration;

use bief_schedule::Profile;

use crate::error::Result;
use crate::machine::Machine;
use crate::profile::{BatchCosts, Profiling};
use crate::program::Program;

/// A chain that can be measured and tried before it is run: a receiver, a chain file, or your own.
///
/// To measure tasks, and to try a plan, a [`Planner`](crate::Planner) runs rehearsals: the same tasks on input that may be used
/// up, with outputs that keep nothing.
///
/// ```
/// use bief::{Application, Chain, Flow, Machine, Planner, Program, Result, sink, source};
///
/// /// Means of blocks of numbers.
/// struct Means(Vec<f32>);
///
/// impl Means {
///     fn program(&self, blocks: usize, write: impl FnMut(&[f32]) + Send + 'static) -> Result<Program> {
///         let (mut left, block, mut write) = (blocks, self.0.clone(), write);
///         let mut chain = Chain::new();
///         let fill = move |frame: &mut [f32]| {
///             left -= 1;
///             frame.copy_from_slice(&block);
///             Ok(if left == 0 { Flow::Stop } else { Flow::Next })
///         };
///         let blocks = chain.add(source::from_fn(self.0.len(), fill), ());
///         let take = move |frame: &[f32]| {
///             write(&[frame.iter().sum::<f32>() / frame.len() as f32]);
///             Ok(Flow::Next)
///         };
///         chain.add(sink::for_each(take), &blocks);
///         chain.build()
///     }
/// }
///
/// impl Application for Means {
///     fn program(&mut self) -> Result<Program> {
///         Means::program(self, 1000, |mean| assert_eq!(mean, [2.0]))
///     }
///     fn rehearsal(&self, frames: u64) -> Result<Program> {
///         Means::program(self, frames.min(1 << 30) as usize, |_| ())
///     }
/// }
///
/// let mut means = Means(vec![1.0, 2.0, 3.0]);
/// let planned = Planner::new(Machine::here()).plan(&means)?;
/// assert_eq!(planned.pipeline(&mut means)?.run()?.frames, 999);
/// # Ok::<(), bief::Error>(())
/// ```
pub trait Application {
    /// The program of the run that counts, on the input and the outputs that it is for.
    ///
    /// # Errors
    /// What keeps the chain from being built; a second call, where the input can be read only once.
    fn program(&mut self) -> Result<Program>;

    /// The same tasks, by name, on input that may be used up, for so many frames at most, writing nothing: the input of
    /// [`program`](Self::program) is as it was afterwards, and no output is touched.
    ///
    /// # Errors
    /// What keeps the chain from being built.
    fn rehearsal(&self, frames: u64) -> Result<Program>;

    /// What its tasks cost on each kind of core, as a [`Planner`](crate::Planner) plans with it: by default what a rehearsal shows. An
    /// application whose tasks cost something else beside each other than apart tells it.
    ///
    /// # Errors
    /// Those of [`rehearsal`](Self::rehearsal), and of [`Program::profile_on`].
    fn profile_on(&self, machine: &Machine, profiling: Profiling) -> Result<Profile> {
        self.rehearsal(u64::MAX)?.profile_on(machine, profiling)
    }

    /// What its tasks cost on each kind of core, by the number of *units* in an execution, for these numbers of units. A unit is
    /// a frame, unless the application has frames of any length: a sample of audio, say, in a receiver that takes blocks of them.
    ///
    /// # Errors
    /// Those of [`rehearsal`](Self::rehearsal), and of [`Program::costs_on`].
    fn costs_on(&self, machine: &Machine, units: &[usize], profiling: Profiling) -> Result<Vec<BatchCosts>> {
        self.rehearsal(u64::MAX)?.costs_on(machine, units, profiling)
    }

    /// The time from one unit to the next, where the application knows at which rate its input arrives.
    fn unit_period(&self) -> Option<Duration> {
        None
    }
}

//! What a planner plans: a chain that it may rehearse before it is run.

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
/// use bief::{Application, Chain, Flow, Machine, Planner, Program, Rehearsal, Result, sink, source};
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
///     fn rehearsal(&self, frames: u64) -> Result<Rehearsal> {
///         Ok(Rehearsal::new(Means::program(self, frames.min(1 << 30) as usize, |_| ())?))
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

    /// The same tasks on input that may be used up, for so many frames at most, writing nothing: the input of
    /// [`program`](Self::program) is as it was afterwards, and no output is touched.
    ///
    /// # Errors
    /// What keeps the chain from being built.
    fn rehearsal(&self, frames: u64) -> Result<Rehearsal>;
}

/// A program to measure, or to try a plan with; made by [`Application::rehearsal`].
pub struct Rehearsal {
    program: Program,
    note: Option<Box<Note>>,
}

type Note = dyn FnOnce(Profile) -> Result<Profile>;

impl Rehearsal {
    /// A rehearsal of this program.
    pub fn new(program: Program) -> Self {
        Self { program, note: None }
    }

    /// Adds to the profile what only the application knows, such as the bits that a frame carries
    /// ([`Profile::with_bits_per_frame`]): `note` is called once the tasks have been measured.
    #[must_use]
    pub fn noting(self, note: impl FnOnce(Profile) -> Result<Profile> + 'static) -> Self {
        Self { note: Some(Box::new(note)), ..self }
    }

    /// The program, to be run as it is.
    pub fn into_program(self) -> Program {
        self.program
    }

    /// Measures each task on the calling thread: [`Program::profile`], with what the application notes.
    ///
    /// # Errors
    /// Those of [`Program::profile`], and of the note.
    pub fn profile(self, executions: usize) -> Result<Profile> {
        let profile = self.program.profile(executions)?;
        noted(profile, self.note)
    }

    /// Measures each task on a core of each kind of a machine: [`Program::profile_on`], with what the application notes.
    ///
    /// # Errors
    /// Those of [`Program::profile_on`], and of the note.
    pub fn profile_on(self, machine: &Machine, profiling: Profiling) -> Result<Profile> {
        let profile = self.program.profile_on(machine, profiling)?;
        noted(profile, self.note)
    }

    /// Measures the cost of each task by the number of frames in a batch: [`Program::costs_on`].
    ///
    /// # Errors
    /// Those of [`Program::costs_on`].
    pub fn costs_on(self, machine: &Machine, batches: &[usize], profiling: Profiling) -> Result<Vec<BatchCosts>> {
        self.program.costs_on(machine, batches, profiling)
    }
}

fn noted(profile: Profile, note: Option<Box<Note>>) -> Result<Profile> {
    match note {
        Some(note) => note(profile),
        None => Ok(profile),
    }
}

impl std::fmt::Debug for Rehearsal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Rehearsal").field(&self.program).finish()
    }
}

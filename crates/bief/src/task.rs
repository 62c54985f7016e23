//! The [`Task`] trait, [`Flow`], and the type-erased form that the executor runs.

use std::sync::Arc;
use std::time::Instant;

use crate::device::{Copied, Device, Kept, OffloadOf, OnDevice};
use crate::error::{Error, Result};
use crate::figures::Figures;
use crate::frame::Batch;
use crate::shape::Shape;
use crate::socket::Socket;
use crate::wire::{Inputs, Outputs};

/// What happens to a frame after a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Flow {
    /// Pass it on.
    Next,
    /// Nothing to pass on this time: the tasks that follow do not see this frame.
    Skip,
    /// The stream has ended: neither this frame nor any later one is passed on; earlier ones are.
    Stop,
}

/// A unit of work on frames: users write it; Bief measures, schedules and replicates it.
///
/// A task owns its state and may remember from frame to frame. One that does not remember returns a copy of itself from
/// [`replica`](Task::replica); then the runtime may run several copies side by side: each frame is
/// given to one that is free, and the order stays.
///
/// ```
/// use bief::{Chain, Flow, In, Out, Result, Task, sink, source};
///
/// #[derive(Clone)]
/// struct Gain(f32);
///
/// impl Task for Gain {
///     type In = In<f32>;
///     type Out = Out<f32>;
///     fn lens(&self, input: usize) -> Result<usize> {
///         Ok(input)
///     }
///     fn run(&mut self, input: &[f32], output: &mut [f32]) -> Result<Flow> {
///         for (output, input) in output.iter_mut().zip(input) {
///             *output = self.0 * input;
///         }
///         Ok(Flow::Next)
///     }
///     fn replica(&self) -> Option<Self> {
///         Some(self.clone())
///     }
/// }
///
/// let mut chain = Chain::new();
/// let samples = chain.add(source::from_slice(&[1.0, 2.0, 3.0, 4.0], 2), ());
/// let louder = chain.add(Gain(10.0), &samples);
/// let (collect, result) = sink::collect();
/// chain.add(collect, &louder);
/// chain.build()?.run()?;
/// assert_eq!(result.take(), [10.0, 20.0, 30.0, 40.0]);
/// # Ok::<(), bief::Error>(())
/// ```
pub trait Task: Send + 'static {
    /// Input sockets: `()` for a source, [`In<T>`](crate::In), [`InOut<T>`](crate::InOut), their variable forms
    /// [`InVar<T>`](crate::InVar) and [`InOutVar<T>`](crate::InOutVar), or a tuple of them.
    type In: Inputs;
    /// Output sockets: `()` for a sink, [`Out<T>`](crate::Out), [`OutVar<T>`](crate::OutVar), or a tuple of them.
    type Out: Outputs;

    /// The task's name in profiles, reports and errors; by default the type's name.
    fn name(&self) -> String {
        type_name::<Self>()
    }

    /// Frame length of each output, from the frame length of each input. Asked once, when the task is added. The length of
    /// a variable socket is its capacity: the most elements that a frame may have.
    ///
    /// # Errors
    /// An input length that does not fit this task. The message should say what fits; the chain adds who made the wire.
    fn lens(&self, inputs: <Self::In as Inputs>::Lens) -> Result<<Self::Out as Outputs>::Lens>;

    /// Shape of each output, from the shape of each input: none, unless a task says so, and then a wire has the shape of its
    /// length. Asked once, after [`lens`](Task::lens). What the task sees stays a slice.
    ///
    /// ```
    /// use bief::raw::Shape;
    /// use bief::{Chain, Error, Flow, In, Out, Result, Task};
    /// # use bief::source;
    ///
    /// /// Half as many rows and columns.
    /// struct Halve;
    ///
    /// impl Task for Halve {
    ///     type In = In<u8>;
    ///     type Out = Out<u8>;
    ///     fn lens(&self, pixels: usize) -> Result<usize> {
    ///         Ok(pixels / 4)
    ///     }
    ///     fn shapes(&self, inputs: &[Shape]) -> Result<Vec<Shape>> {
    ///         match inputs[0].dims() {
    ///             [rows, columns] if rows % 2 == 0 && columns % 2 == 0 => Ok(vec![[rows / 2, columns / 2].into()]),
    ///             _ => Err(Error::new("a picture has rows and columns, an even number of each")),
    ///         }
    ///     }
    ///     fn run(&mut self, picture: &[u8], small: &mut [u8]) -> Result<Flow> {
    ///         // …
    /// #       Ok(Flow::Next)
    ///     }
    /// }
    ///
    /// let mut chain = Chain::new();
    /// let bytes = chain.add(source::from_slice(&[0_u8; 64], 16), ());
    /// chain.add(Halve, &bytes);
    /// assert_eq!(
    ///     chain.build().unwrap_err().to_string(),
    ///     "task `Halve`: a picture has rows and columns, an even number of each (input 0 is 16 x u8 from task `SliceSource`)"
    /// );
    /// ```
    ///
    /// # Errors
    /// A shape that does not fit this task. The message should say what fits; the chain adds who made the wire.
    fn shapes(&self, inputs: &[Shape]) -> Result<Vec<Shape>> {
        let _ = inputs;
        Ok(Vec::new())
    }

    /// Works on one frame.
    ///
    /// # Errors
    /// What went wrong: it ends the run. Frames that went before are delivered.
    fn run(
        &mut self,
        inputs: <Self::In as Inputs>::Slices<'_>,
        outputs: <Self::Out as Outputs>::Slices<'_>,
    ) -> Result<Flow>;

    /// A task that does the same, when this one remembers nothing from frame to frame; else `None`.
    fn replica(&self) -> Option<Self>
    where
        Self: Sized,
    {
        None
    }

    /// How this task runs on a device; `None` where it has nothing for it, and runs on cores alone. Asked once for each lane of a
    /// stage that is planned there, and when a chain is profiled for a machine that has [devices](crate::machine::DeviceSpec).
    ///
    /// ```
    /// use bief::device::{Device, OffloadOf};
    /// use bief::{Flow, InOut, Result, Task};
    ///
    /// #[derive(Clone)]
    /// struct Square;
    ///
    /// impl Task for Square {
    ///     type In = InOut<f32>;
    ///     type Out = ();
    ///     fn lens(&self, _: usize) -> Result<()> {
    ///         Ok(())
    ///     }
    ///     fn run(&mut self, frame: &mut [f32], (): ()) -> Result<Flow> {
    ///         frame.iter_mut().for_each(|x| *x *= *x);
    ///         Ok(Flow::Next)
    ///     }
    ///     fn replica(&self) -> Option<Self> {
    ///         Some(self.clone())
    ///     }
    ///     fn on_device(&self, device: &Device) -> Option<Result<OffloadOf<Self>>> {
    ///         device.emulate(self.clone())
    ///     }
    /// }
    /// # let _ = Square;
    /// ```
    ///
    /// # Errors
    /// Why it cannot run there although it should: the pipeline is not made. The chain adds the task and the device.
    fn on_device(&self, device: &Device) -> Option<Result<OffloadOf<Self>>> {
        let _ = device;
        None
    }

    /// Elements that this task had to drop in this run, because they came faster than it was asked for them: counted in the
    /// [`Report`](crate::Report). Asked after [`finish`](Self::finish).
    fn lost(&self) -> u64 {
        0
    }

    /// Tells what it has counted and measured in this run: asked when someone looks at the run
    /// ([`Watch::figures`](crate::pipeline::Watch::figures)), between two batches, and once it has ended, after [`finish`](Self::finish). A
    /// replica tells its own part. Nothing is told unless a task does so here.
    fn figures(&self, figures: &mut Figures) {
        let _ = figures;
    }

    /// When the frame that comes next is due, for a task of the first stage that gives frames at planned times; `None` while it
    /// has no plan. The [`Latency`](crate::report::Latency) of a batch counts from when its first frame was due, not from when the
    /// source was asked for it: a source that waits for its time adds nothing, and one that is late hides nothing. Asked before
    /// each batch of an [observed](crate::Pipeline::observe) run; a schedule that counts from its first frame begins then.
    fn due(&mut self) -> Option<Instant> {
        None
    }

    /// Called once after the last frame, also when another task ended the run by a fault: the place to flush.
    ///
    /// # Errors
    /// What could not be completed: it becomes the run's error unless there was one before.
    fn finish(&mut self) -> Result<()> {
        Ok(())
    }

    /// Called before each run of a [`Pipeline`](crate::Pipeline) but the first, on every replica: the place to begin anew.
    ///
    /// A task that does nothing here goes on where it was: a source that cannot begin anew stops at once. After an error
    /// or a panic in [`run`](Task::run) the task is as that left it, and is not used again before this call, but to tell its
    /// [`figures`](Task::figures).
    ///
    /// # Errors
    /// Why it cannot begin anew: the run does not start.
    fn reset(&mut self) -> Result<()> {
        Ok(())
    }
}

/// The name of a type without its path and parameters.
pub(crate) fn type_name<T: ?Sized>() -> String {
    let path = std::any::type_name::<T>();
    let base = path.split('<').next().unwrap_or(path);
    base.rsplit("::").next().unwrap_or(base).to_owned()
}

/// What follows after a step ran on one frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Turn {
    /// What a task said.
    Flow(Flow),
    /// The loop around the step is over for this frame.
    Leave,
}

/// A task, or a region of them, whose types have been proven and forgotten.
pub(crate) trait Step: Send {
    /// Runs on one frame.
    ///
    /// # Safety
    /// For each wire that the step is bound to, `table` points at a live buffer of its type with a frame at `position`,
    /// which no other thread uses meanwhile.
    unsafe fn run_frame(&mut self, table: &[*mut u8], position: usize) -> Result<Turn>;

    /// Runs on each live frame of the batch; `at` tells the position of the one that it ran on last, after a panic too.
    ///
    /// # Safety
    /// As [`run_frame`](Self::run_frame), for every position of the batch.
    unsafe fn run(&mut self, table: &[*mut u8], batch: &mut Batch, at: &mut usize) -> Result<()> {
        for position in 0..batch.count {
            if !batch.is_live(position) {
                continue;
            }
            *at = position;
            // SAFETY: passed on to the caller.
            match unsafe { self.run_frame(table, position)? } {
                Turn::Flow(Flow::Next) | Turn::Leave => {}
                Turn::Flow(Flow::Skip) => batch.skip(position),
                Turn::Flow(Flow::Stop) => {
                    batch.count = position;
                    batch.last = true;
                    break;
                }
            }
        }
        Ok(())
    }

    /// Runs on each live frame of several batches, each with a table of its own; `at` tells batch and position of the frame that it ran on
    /// last.
    ///
    /// # Safety
    /// As [`run`](Self::run), of each batch with its table.
    unsafe fn run_gathered(
        &mut self,
        tables: &[Box<[*mut u8]>],
        batches: &mut [Batch],
        (place, position): (&mut usize, &mut usize),
    ) -> Result<()> {
        for (index, (table, batch)) in tables.iter().zip(batches).enumerate() {
            *place = index;
            // SAFETY: passed on to the caller.
            unsafe { self.run(table, batch, position)? };
        }
        Ok(())
    }

    fn replica(&self) -> Option<Box<dyn Step>>;
    /// The same on a device, where it can run there.
    fn on_device(&self, _: &Device) -> Option<Result<Box<dyn Step>>> {
        None
    }
    /// Whether it runs on a device, and can have the frames of this wire, one of its own, there.
    fn takes_there(&self, wire: usize) -> bool {
        let _ = wire;
        false
    }
    /// Tells how it has the frames of each wire there.
    fn keep_there(&mut self, kept: &[Kept]) {
        let _ = kept;
    }
    /// What was copied of the frames of the last batch to a device, and back.
    fn copied(&mut self) -> Option<[Copied; 2]> {
        None
    }
    /// Elements that it had to drop in this run.
    fn lost(&self) -> u64 {
        0
    }
    /// What it tells of this run; a region tells of the tasks in it.
    fn figures(&self, _: &mut Figures) {}
    /// When the frame that it makes next is due.
    fn due(&mut self) -> Option<Instant> {
        None
    }
    fn finish(&mut self) -> Result<()>;
    fn reset(&mut self) -> Result<()>;
}

/// A task, or a region, in its place.
pub(crate) struct Node {
    pub(crate) name: Arc<str>,
    pub(crate) step: Box<dyn Step>,
}

impl Node {
    /// Adds what it tells of this run.
    pub(crate) fn figures(&self, figures: &mut Figures) {
        let first = figures.len();
        self.step.figures(figures);
        figures.told_by(&self.name, first);
    }

    /// What it tells of this run; nothing where it panics.
    pub(crate) fn told(&self) -> Figures {
        let told = Error::catch(|| {
            let mut figures = Figures::default();
            self.figures(&mut figures);
            Ok(figures)
        });
        told.unwrap_or_default()
    }
}

/// The names of tasks, and which may be replicated.
pub(crate) fn named(tasks: &[Node]) -> Vec<(Arc<str>, bool)> {
    tasks.iter().map(|task| (Arc::clone(&task.name), task.step.replica().is_some())).collect()
}

/// A task and the wires that it is bound to.
pub(crate) struct Bind<T> {
    pub(crate) task: T,
    pub(crate) inputs: Box<[Socket]>,
    pub(crate) outputs: Box<[Socket]>,
}

impl<T: Task> Step for Bind<T> {
    #[inline]
    unsafe fn run_frame(&mut self, table: &[*mut u8], position: usize) -> Result<Turn> {
        // SAFETY: the caller promises live buffers with a frame at this position. The sockets come from `Chain::attach`,
        // which has checked that they are of these types and that a written frame is apart from every other slice.
        let (inputs, outputs) =
            unsafe { (T::In::slices(table, &self.inputs, position), T::Out::slices(table, &self.outputs, position)) };
        self.task.run(inputs, outputs).map(Turn::Flow)
    }

    fn replica(&self) -> Option<Box<dyn Step>> {
        let task = self.task.replica()?;
        Some(Box::new(Bind { task, inputs: self.inputs.clone(), outputs: self.outputs.clone() }))
    }

    fn on_device(&self, device: &Device) -> Option<Result<Box<dyn Step>>> {
        let step = |offload| -> Box<dyn Step> {
            Box::new(OnDevice {
                offload,
                inputs: self.inputs.clone(),
                outputs: self.outputs.clone(),
                kept: Box::default(),
                copied: None,
            })
        };
        Some(self.task.on_device(device)?.map(step))
    }

    fn lost(&self) -> u64 {
        self.task.lost()
    }

    fn figures(&self, figures: &mut Figures) {
        self.task.figures(figures);
    }

    fn due(&mut self) -> Option<Instant> {
        self.task.due()
    }

    fn finish(&mut self) -> Result<()> {
        self.task.finish()
    }

    fn reset(&mut self) -> Result<()> {
        self.task.reset()
    }
}

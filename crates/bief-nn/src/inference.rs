//! A network that runs: an application that is planned, or tasks behind any wire.

use std::ops::Range;
use std::sync::Arc;

use bief::plan::Profiling;
use bief::raw::{DynTask, DynWire};
use bief::schedule::{Profile, Schedule};
use bief::{Application, Chain, Error, Flow, Machine, Planned, Planner, Program, Result, sink, source};

use crate::engine::Engine;
use crate::lent::{Frames, LentSegment, Repeated, copied, numbers};
use crate::network::NeuralNetwork;
use crate::numbered::{DeliverAt, NumberedSink, NumberedSource, ReadAt};
use crate::parts::Parts;
use crate::runner::Runner;
use crate::segment::SegmentTask;
use crate::weigh;

/// Frames of noise that rehearsals repeat where there are no others.
const REHEARSED: usize = 4;
/// How often stages are joined and planned anew, at most.
const ROUNDS: usize = 3;

/// A [`NeuralNetwork`] on an [`Engine`]: an [`Application`] with a source of frames, the network, and a sink.
///
/// Its tasks are the segments of the network, or several of them [joined](Self::joined): engines work neighbours off faster together
/// than apart.
///
/// ```
/// use bief::{Flow, Machine, Planner};
/// use bief_nn::{Engine, EngineKind, Inference, NeuralNetwork};
///
/// # fn main() -> bief::Result<()> {
/// let network = NeuralNetwork::open("data/tiny_exact.onnx".as_ref())?;
/// # let Ok(engine) = Engine::open(EngineKind::OnnxRuntime, None) else { return Ok(()) };
/// # #[cfg(any())]
/// let engine = Engine::open(EngineKind::OnnxRuntime, None)?;
/// let inference = Inference::new(network, engine);
///
/// // One frame at once …
/// let x: Vec<f32> = (0..64).map(|k| (7 * k % 11 - 5) as f32).collect();
/// assert_eq!(inference.run(&x)?, [-2552.0, 94.0, 3099.0]);
///
/// // … or many, by a plan.
/// let mut left = 100;
/// let read = move |frame: &mut [f32]| {
///     frame.copy_from_slice(&x);
///     left -= 1;
///     Ok(if left == 0 { Flow::Stop } else { Flow::Next })
/// };
/// let deliver = |y: &[f32]| { assert_eq!(y, [-2552.0, 94.0, 3099.0]); Ok(Flow::Next) };
/// let planner = || Planner::new(Machine::here());
/// let (planned, mut inference) = inference.reads(read).delivers(deliver).plan(&planner(), &planner())?;
/// assert_eq!(planned.pipeline(&mut inference)?.run()?.frames, 99);
/// # Ok(())
/// # }
/// ```
pub struct Inference {
    parts: Parts,
    /// The segments of each task.
    tasks: Vec<Range<usize>>,
    batch: usize,
    rehearsed: Arc<[f32]>,
    source: Option<Source>,
    output: Option<Output>,
    /// How rehearsals read, and whether they deliver by number.
    reading: Reading,
    delivers_at: bool,
}

/// How frames are read.
#[derive(Clone, Copy)]
enum Reading {
    InOrder,
    ByNumber,
    FromMemory,
}

type Read = dyn FnMut(&mut [f32]) -> Result<Flow> + Send;
type Deliver = dyn FnMut(&[f32]) -> Result<Flow> + Send;

/// Where frames come from.
enum Source {
    InOrder(Box<Read>),
    ByNumber(Arc<ReadAt>),
    FromMemory(Arc<dyn Frames>),
}

/// Where results go.
enum Output {
    InOrder(Box<Deliver>),
    ByNumber(Arc<DeliverAt>),
}

impl Inference {
    /// The network on an engine, each segment a task. Nothing is loaded yet.
    pub fn new(network: NeuralNetwork, engine: Engine) -> Self {
        let tasks = (0..network.segments().len()).map(|segment| segment..segment + 1).collect();
        let rehearsed = noise(network.input().len());
        Self {
            parts: Parts::new(network, engine),
            tasks,
            batch: 1,
            rehearsed,
            source: None,
            output: None,
            reading: Reading::InOrder,
            delivers_at: false,
        }
    }

    /// Where frames come from: `read` fills each as [`source::from_fn`] does.
    #[must_use]
    pub fn reads(self, read: impl FnMut(&mut [f32]) -> Result<Flow> + Send + 'static) -> Self {
        Self { source: Some(Source::InOrder(Box::new(read))), reading: Reading::InOrder, ..self }
    }

    /// Where frames come from, if any of them can be had at any time: `read` fills the one of a number, on several threads at once. It answers
    /// [`Flow::Stop`] from the first number on that is not there. Such a source may be replicated: where results are delivered
    /// [by number](Self::delivers_at), too, each core may work off frames by itself, from the first task to the last.
    ///
    /// ```
    /// use bief::{Application, Flow, Result};
    /// # use bief_nn::{Engine, EngineKind, Inference, NeuralNetwork};
    ///
    /// # fn main() -> bief::Result<()> {
    /// # let network = NeuralNetwork::open("data/tiny_exact.onnx".as_ref())?;
    /// # let Ok(engine) = Engine::open(EngineKind::OnnxRuntime, None) else { return Ok(()) };
    /// let frames = vec![1.0_f32; 10 * 64];
    /// let read = move |number: u64, frame: &mut [f32]| {
    ///     let Some(there) = frames.chunks(frame.len()).nth(number as usize) else { return Ok(Flow::Stop) };
    ///     frame.copy_from_slice(there);
    ///     Ok(Flow::Next)
    /// };
    /// let deliver = |number, result: &[f32]| { println!("{number}: {result:?}"); Ok(Flow::Next) };
    /// let mut inference = Inference::new(network, engine).whole().reads_at(read).delivers_at(deliver);
    /// let program = inference.program()?;
    /// assert!(program.tasks().all(|(_, is_replicable)| is_replicable));
    /// assert_eq!(program.run()?.frames, 10);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn reads_at(self, read: impl Fn(u64, &mut [f32]) -> Result<Flow> + Send + Sync + 'static) -> Self {
        Self { source: Some(Source::ByNumber(Arc::new(read))), reading: Reading::ByNumber, ..self }
    }

    /// As [`reads_at`](Self::reads_at), of frames that lie in memory: the engine reads them there, and nothing is copied, unless several go into one
    /// [call](Self::batch).
    ///
    /// ```
    /// use bief::{Application, Flow, Result};
    /// use bief_nn::Frames;
    /// # use bief_nn::{Engine, EngineKind, Inference, NeuralNetwork};
    ///
    /// struct Pictures(Vec<[f32; 64]>);
    ///
    /// impl Frames for Pictures {
    ///     fn frame(&self, number: u64) -> Result<Option<&[f32]>> {
    ///         Ok(self.0.get(number as usize).map(|picture| &picture[..]))
    ///     }
    /// }
    ///
    /// # fn main() -> bief::Result<()> {
    /// # let network = NeuralNetwork::open("data/tiny_exact.onnx".as_ref())?;
    /// # let Ok(engine) = Engine::open(EngineKind::OnnxRuntime, None) else { return Ok(()) };
    /// let inference = Inference::new(network, engine).whole().reads_from(Pictures(vec![[1.0; 64]; 10]));
    /// let report = inference.delivers_at(|_, _| Ok(Flow::Next)).program()?.run()?;
    /// assert_eq!(report.frames, 10);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn reads_from(self, frames: impl Frames + 'static) -> Self {
        Self { source: Some(Source::FromMemory(Arc::new(frames))), reading: Reading::FromMemory, ..self }
    }

    /// Where results go, in order.
    #[must_use]
    pub fn delivers(self, deliver: impl FnMut(&[f32]) -> Result<Flow> + Send + 'static) -> Self {
        Self { output: Some(Output::InOrder(Box::new(deliver))), delivers_at: false, ..self }
    }

    /// Where results go, in any order: `deliver` gets each with the number of its frame, on several threads at once. See
    /// [`reads_at`](Self::reads_at).
    #[must_use]
    pub fn delivers_at(self, deliver: impl Fn(u64, &[f32]) -> Result<Flow> + Send + Sync + 'static) -> Self {
        Self { output: Some(Output::ByNumber(Arc::new(deliver))), delivers_at: true, ..self }
    }

    /// Frames that rehearsals repeat, one after the other, in place of noise.
    ///
    /// # Errors
    /// No whole frame.
    pub fn rehearses(self, frames: Vec<f32>) -> Result<Self> {
        let (len, there) = (self.network().input().len(), frames.len());
        if there == 0 || !there.is_multiple_of(len) {
            let name = self.network().name();
            return Err(Error::new(format!("{name}: its frames have {len} numbers, and {there} are no whole frames")));
        }
        Ok(Self { rehearsed: frames.into(), ..self })
    }

    /// Frames in a batch: of a network that [takes batches](NeuralNetwork::takes_batches), frames in a call of the engine.
    #[must_use]
    pub fn batch(self, frames: usize) -> Self {
        Self { batch: frames, ..self }
    }

    /// Makes each of these runs of neighbouring segments one task.
    ///
    /// # Errors
    /// Segments that are left out, or not in order.
    pub fn joined(self, tasks: impl IntoIterator<Item = Range<usize>>) -> Result<Self> {
        let tasks: Vec<Range<usize>> = tasks.into_iter().collect();
        let count = self.network().segments().len();
        let ends = tasks.iter().try_fold(0, |end, task| (task.start == end && task.end > end).then_some(task.end));
        if ends != Some(count) {
            let name = self.network().name();
            return Err(Error::new(format!("{name}: {tasks:?} are not its segments 0 to {count} in order")));
        }
        Ok(Self { tasks, ..self })
    }

    /// Makes tasks of these names, of which the first is the source's and the last the sink's: those of a profile.
    ///
    /// # Errors
    /// A name that no task has whose segments are the next ones.
    pub fn named(self, names: &[&str]) -> Result<Self> {
        let count = self.network().segments().len();
        let (mut tasks, mut start) = (Vec::new(), 0);
        for &name in names.get(1..names.len().saturating_sub(1)).unwrap_or_default() {
            let Some(end) = (start + 1..=count).find(|&end| self.task_name(&(start..end)) == name) else {
                let network = self.network().name();
                return Err(Error::new(format!(
                    "{network}: no task of its segments from {start} on is called `{name}`"
                )));
            };
            tasks.push(start..end);
            start = end;
        }
        self.joined(tasks)
    }

    /// Makes the network one task: as engines run it.
    #[must_use]
    pub fn whole(self) -> Self {
        let count = self.network().segments().len();
        Self { tasks: std::iter::once(0..count).collect(), ..self }
    }

    /// The network.
    pub fn network(&self) -> &NeuralNetwork {
        self.parts.network()
    }

    pub(crate) fn parts(&self) -> &Parts {
        &self.parts
    }

    /// The segments of each of its tasks, in order.
    pub fn tasks(&self) -> &[Range<usize>] {
        &self.tasks
    }

    /// The name of a task of these segments, in profiles and reports: that of the first and, if there are more, of the last.
    pub(crate) fn task_name(&self, task: &Range<usize>) -> String {
        let name = |segment: usize| self.network().segments()[segment].name();
        match task.len() {
            1 => name(task.start).to_owned(),
            _ => format!("{} .. {}", name(task.start), name(task.end - 1)),
        }
    }

    /// Works on one frame, on the calling thread.
    ///
    /// # Errors
    /// A frame of another length; an engine that fails.
    pub fn run(&self, frame: &[f32]) -> Result<Vec<f32>> {
        self.runner()?.run(frame)
    }

    /// The network as a function, for threads of one's own.
    ///
    /// # Errors
    /// An engine that cannot load it.
    pub fn runner(&self) -> Result<Runner> {
        let network = self.network();
        let task =
            |task: &Range<usize>| Ok((self.parts.session(task)?, network.segments()[task.end - 1].output().len()));
        let tasks = self.tasks.iter().map(task).collect::<Result<_>>()?;
        Ok(Runner::new(network.name(), network.input(), tasks))
    }

    /// Puts the network behind a wire of any chain; the wire of its results comes back.
    ///
    /// ```
    /// use bief::raw::DynWire;
    /// use bief::{Chain, sink, source};
    /// # use bief_nn::{Engine, EngineKind, Inference, NeuralNetwork};
    ///
    /// # fn main() -> bief::Result<()> {
    /// # let Ok(engine) = Engine::open(EngineKind::OnnxRuntime, None) else { return Ok(()) };
    /// let network = NeuralNetwork::open("data/tiny_exact.onnx".as_ref())?;
    /// let mut chain = Chain::new();
    /// let pictures = chain.add(source::from_slice(&[1.0_f32; 640], 64), ());
    /// let results = Inference::new(network, engine).whole().after(&mut chain, &DynWire::from(&pictures))?;
    /// let (collect, collected) = sink::collect();
    /// chain.add(collect, &results.typed::<f32>()?);
    /// chain.build()?.run()?;
    /// assert_eq!(collected.take().len(), 30);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// A wire whose frames are not those of the network; an engine that cannot load it.
    pub fn after(&self, chain: &mut Chain, wire: &DynWire) -> Result<DynWire> {
        self.add(&self.tasks, chain, wire, None)
    }

    /// Adds tasks behind a wire: of frames or, where they are lent, of their numbers.
    fn add(
        &self,
        tasks: &[Range<usize>],
        chain: &mut Chain,
        wire: &DynWire,
        lent: Option<Arc<dyn Frames>>,
    ) -> Result<DynWire> {
        let (mut wire, mut lent) = (wire.clone(), lent);
        for task in tasks {
            let segments = self.network().segments();
            let segment = SegmentTask {
                name: self.task_name(task),
                session: self.parts.session(task)?,
                input: segments[task.start].input().clone(),
                output: segments[task.end - 1].output().clone(),
                takes_batches: self.network().takes_batches(),
            };
            let task = match lent.take() {
                Some(frames) => DynTask::raw(LentSegment { segment, frames }),
                None => DynTask::raw(segment),
            };
            let made = chain.add_dyn(task, &[&wire])?;
            wire = made.into_iter().next().ok_or_else(|| Error::new("a segment makes nothing"))?;
        }
        Ok(wire)
    }

    /// Plans with what segments cost inside the network, joins those of each stage to one task, and plans with what these cost, until each
    /// stage has one task. `rough` makes the first plan, which no run can correct; both have the same machine and goal.
    ///
    /// # Errors
    /// Those of [`Planner::plan`].
    pub fn plan(self, rough: &Planner, planner: &Planner) -> Result<(Planned, Self)> {
        let mut planned = rough.plan(&self)?;
        let mut inference = self;
        for _ in 0..ROUNDS {
            let tasks = inference.along(&planned.schedule);
            let is_joined = tasks == inference.tasks;
            inference = inference.joined(tasks)?;
            planned = planner.plan(&inference)?;
            if is_joined || inference.along(&planned.schedule) == inference.tasks {
                break;
            }
        }
        Ok((planned, inference))
    }

    /// The segments of each stage of a schedule, of which the first task is the source and the last one the sink.
    pub fn along(&self, schedule: &Schedule) -> Vec<Range<usize>> {
        let last = self.tasks.len();
        let (mut first, mut joined) = (0, Vec::new());
        for stage in schedule.stages() {
            let tasks = first.clamp(1, last + 1)..(first + stage.tasks).clamp(1, last + 1);
            first += stage.tasks;
            if let (Some(one), Some(other)) =
                (self.tasks.get(tasks.start - 1), self.tasks.get(tasks.end.wrapping_sub(2)))
                && !tasks.is_empty()
            {
                joined.push(one.start..other.end);
            }
        }
        joined
    }

    fn chain(&self, tasks: &[Range<usize>], source: Source, output: Output) -> Result<Program> {
        let mut chain = Chain::new().batch(self.batch);
        let frame = self.network().input();
        let mut lent = None;
        let source = match source {
            // Frames of one call lie side by side.
            Source::FromMemory(frames) if self.batch > 1 && self.network().takes_batches() => {
                Source::ByNumber(Arc::new(move |number, slot| copied(&*frames, number, slot)))
            }
            source => source,
        };
        let only = |made: Vec<DynWire>| made.into_iter().next().ok_or_else(|| Error::new("a source makes nothing"));
        let frames = match source {
            Source::InOrder(read) => DynWire::from(&chain.add(source::from_fn(frame.len(), read), ())),
            Source::ByNumber(read) => {
                only(chain.add_dyn(DynTask::raw(NumberedSource { read, frame: frame.clone() }), &[])?)?
            }
            Source::FromMemory(frames) => {
                lent = Some(Arc::clone(&frames));
                only(chain.add_dyn(DynTask::raw(numbers(frames)), &[])?)?
            }
        };
        let results = self.add(tasks, &mut chain, &frames, lent)?;
        match output {
            Output::InOrder(deliver) => chain.add(sink::for_each(deliver), &results.typed::<f32>()?),
            Output::ByNumber(deliver) => drop(chain.add_dyn(DynTask::raw(NumberedSink(deliver)), &[&results])?),
        }
        chain.build()
    }

    /// What rehearsals read: the same frames again and again.
    fn repeated(&self, frames: u64) -> Source {
        let repeated =
            Repeated { frames: Arc::clone(&self.rehearsed), len: self.network().input().len(), count: frames };
        match self.reading {
            Reading::FromMemory => Source::FromMemory(Arc::new(repeated)),
            Reading::ByNumber => Source::ByNumber(Arc::new(move |number, slot| copied(&repeated, number, slot))),
            Reading::InOrder => {
                let mut number = 0;
                Source::InOrder(Box::new(move |frame| {
                    number += 1;
                    copied(&repeated, number - 1, frame)
                }))
            }
        }
    }

    /// A rehearsal with these tasks in place of its own.
    pub(crate) fn rehearsal_of(&self, tasks: &[Range<usize>], frames: u64) -> Result<Program> {
        let output = match self.delivers_at {
            true => Output::ByNumber(Arc::new(|_, _| Ok(Flow::Next))),
            false => Output::InOrder(Box::new(|_| Ok(Flow::Next))),
        };
        self.chain(tasks, self.repeated(frames), output)
    }

    pub(crate) fn rehearsed_frame(&self) -> &[f32] {
        &self.rehearsed[..self.network().input().len()]
    }
}

impl Application for Inference {
    fn program(&mut self) -> Result<Program> {
        let name = self.network().name().to_owned();
        let missing = |what: &str| {
            Error::new(format!("{name}: it has no {what}, or that was used by another run: name one with `{what}`"))
        };
        let read = self.source.take().ok_or_else(|| missing("reads"))?;
        let deliver = self.output.take().ok_or_else(|| missing("delivers"))?;
        self.chain(&self.tasks, read, deliver)
    }

    fn rehearsal(&self, frames: u64) -> Result<Program> {
        self.rehearsal_of(&self.tasks, frames)
    }

    /// Of segments, what they cost inside of the network: see [`Inference::plan`].
    fn profile_on(&self, machine: &Machine, profiling: Profiling) -> Result<Profile> {
        match self.tasks.len() {
            tasks if tasks > 1 && tasks == self.network().segments().len() => {
                weigh::profile_on(self, machine, profiling)
            }
            _ => self.rehearsal(u64::MAX)?.profile_on(machine, profiling),
        }
    }
}

/// Noise of unit power, the same each time.
fn noise(len: usize) -> Arc<[f32]> {
    let mut state = 1_u32;
    let mut uniform = move || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) as f32 / (1 << 24) as f32 - 0.5
    };
    // Four uniform numbers have together the variance of 1/3.
    (0..len * REHEARSED).map(|_| (0..4).map(|_| uniform()).sum::<f32>() * 3_f32.sqrt()).collect()
}

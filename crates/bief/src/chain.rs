//! The builder, in which program order is data order; what chains are made of: parts of a program, elements, constants, files.

use std::any::Any;
use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::block::Block;
#[cfg(feature = "toml")]
pub use crate::chain_file::{BuiltChain, FileApplication, FileTask, Machines, UsedFile};
use crate::check;
pub use crate::constant::Constant;
pub use crate::control::{Choice, Paths};
use crate::dyn_wire::DynWire;
use crate::dynamic::{self, DynTask, Refusal, described};
use crate::error::{Error, Result};
use crate::fact::Facts;
pub use crate::frame::Element;
use crate::frame::Format;
use crate::program::Program;
use crate::shape::Shape;
use crate::socket::{Direction, Socket, SocketKind};
pub use crate::split::{Crossing, Split};
use crate::stage::Mark;
use crate::task::{Node, Step, Task, named};
use crate::wait::Waiting;
pub use crate::wire::{Input, Inputs, Output, Outputs};
use crate::wire::{Use, WireInfo, sealed::Key};

/// Builds a chain of tasks.
///
/// Tasks run in the order in which they are added. A wire joins them: [`add`](Self::add) returns the wires that a task
/// makes; `&wire` reads one, `&mut wire` rewrites it in place. Wrong element types, inputs left out, and reading what is
/// being rewritten do not compile; lengths that do not fit are told by [`build`](Self::build).
///
/// ```compile_fail,E0308
/// # use bief::{Chain, sink, source};
/// let mut chain = Chain::new();
/// let numbers = chain.add(source::from_slice(&[1_u8], 1), ());
/// let (collect, _) = sink::collect::<f32>();
/// chain.add(collect, &numbers); // expected `&Wire<f32>`, found `&Wire<u8>`
/// ```
///
/// ```compile_fail,E0308
/// # use bief::{Chain, sink};
/// let mut chain = Chain::new();
/// let (collect, _) = sink::collect::<f32>();
/// chain.add(collect, ()); // expected `&Wire<f32>`, found `()`
/// ```
///
/// ```compile_fail,E0502
/// # use bief::{Chain, Flow, In, InOut, Result, Task, source};
/// struct AddTo;
/// impl Task for AddTo {
///     type In = (In<u8>, InOut<u8>);
///     type Out = ();
///     fn lens(&self, _: (usize, usize)) -> Result<()> { Ok(()) }
///     fn run(&mut self, (a, b): (&[u8], &mut [u8]), (): ()) -> Result<Flow> { b[0] += a[0]; Ok(Flow::Next) }
/// }
/// let mut chain = Chain::new();
/// let mut numbers = chain.add(source::from_slice(&[1_u8], 1), ());
/// chain.add(AddTo, (&numbers, &mut numbers)); // read while rewriting
/// ```
///
/// [`constant`](Self::constant) makes values that every task may read. Loops ([`repeat`](Self::repeat)), switches
/// ([`select`](Self::select)) and memory of the frame before ([`feedback`](Self::feedback)) are regions, written as closures
/// over the same chain, and nested at will. A region is one task for stages, profiles and schedules, and may be replicated
/// when everything in it may.
pub struct Chain {
    pub(crate) id: u64,
    batch: usize,
    depth: Option<usize>,
    waiting: Waiting,
    tasks: Vec<Node>,
    pub(crate) wires: Vec<WireInfo>,
    marks: Vec<Mark>,
    /// Names given to tasks, those inside regions too.
    names: HashSet<Arc<str>>,
    /// What each block ever opened is, for messages; blocks are numbered from 1, 0 is the chain itself.
    pub(crate) blocks: Vec<&'static str>,
    /// The blocks that are being written, the innermost last.
    pub(crate) open: Vec<Block>,
    /// What is known of wires.
    facts: Facts,
    /// The piece that tasks are added to, before their names.
    pub(crate) scope: Option<Arc<str>>,
    /// The first thing found wrong; told by `build`.
    fault: Option<Error>,
}

impl Chain {
    /// An empty chain with batches of one frame.
    pub fn new() -> Self {
        static CHAINS: AtomicU64 = AtomicU64::new(0);
        Self {
            id: CHAINS.fetch_add(1, Ordering::Relaxed),
            batch: 1,
            depth: None,
            waiting: Waiting::default(),
            tasks: Vec::new(),
            wires: Vec::new(),
            marks: Vec::new(),
            names: HashSet::new(),
            blocks: Vec::new(),
            open: Vec::new(),
            facts: Facts::default(),
            scope: None,
            fault: None,
        }
    }

    /// Sets how many frames travel and are worked on together, at least 1: bigger batches spread the cost of a hand-over
    /// over more frames, and hold each frame back until its batch is full.
    #[must_use]
    pub fn batch(mut self, frames: usize) -> Self {
        self.batch = frames;
        self
    }

    /// Sets how many batches may wait between two stages, at least 1, unless
    /// [`Pipeline::depth`](crate::Pipeline::depth) overrides it.
    #[must_use]
    pub fn depth(mut self, batches: usize) -> Self {
        self.depth = Some(batches);
        self
    }

    /// Sets how threads wait for each other's frames, unless [`Pipeline::waiting`](crate::Pipeline::waiting) overrides
    /// it.
    #[must_use]
    pub fn waiting(mut self, waiting: Waiting) -> Self {
        self.waiting = waiting;
        self
    }

    /// Adds a task, binds its inputs, and returns the wires that it makes.
    ///
    /// `wires` is `()` for a source, `&wire` or `&mut wire` for one socket, a tuple of them for several.
    pub fn add<T: Task>(&mut self, task: T, wires: <T::In as Inputs>::Wires<'_>) -> <T::Out as Outputs>::Wires {
        match self.attach(DynTask::new(task), &T::In::untyped(&wires)) {
            Ok(made) => T::Out::wires(&made, Key(())),
            Err(refusal) => {
                self.fault.get_or_insert(refusal.error);
                let missing: Vec<DynWire> = T::Out::kinds().into_iter().map(|kind| self.missing_wire(kind)).collect();
                T::Out::wires(&missing, Key(()))
            }
        }
    }

    /// As [`add`](Self::add), for a task and wires whose types are known at run time: adds the task, binds its inputs, and
    /// returns the wires that it makes.
    ///
    /// # Errors
    /// At once, and the chain is as it was before: a number of wires that is not that of the input sockets, another element
    /// type, frames of variable length for a socket of one length or the other way round, a wire that is rewritten and bound
    /// twice, a constant that would be rewritten, and all that [`build`](Self::build) refuses for typed tasks: a frame length
    /// that does not fit, a wire of another chain, or of a loop or path that has ended. Messages name both ends of the wire.
    /// After a typed task was refused every later one is, with the same error.
    ///
    /// ```
    /// use bief::raw::{DynTask, DynWire};
    /// use bief::{Chain, sink, source};
    ///
    /// let mut chain = Chain::new();
    /// let numbers = chain.add(source::from_slice(&[1_u8, 2], 1), ());
    /// let (collect, _) = sink::collect::<f32>();
    /// let error = chain.add_dyn(DynTask::new(collect), &[&DynWire::from(&numbers)]).unwrap_err();
    /// assert_eq!(error.to_string(), "task `Collect`: input 0 reads f32, but gets u8 from task `SliceSource`");
    /// ```
    pub fn add_dyn(&mut self, task: DynTask, inputs: &[&DynWire]) -> Result<Vec<DynWire>> {
        let inputs: Vec<DynWire> = inputs.iter().map(|&wire| wire.clone()).collect();
        self.attach(task, &inputs).map_err(|refusal| refusal.error)
    }

    /// Begins a stage at the next added task; [`threads`](StageMark::threads) sets how many replicas run it.
    ///
    /// Stages marked so are what [`Program::pipeline_as_marked`] runs. Tasks added before the first mark are a stage of
    /// their own. A stage cannot begin inside a region.
    pub fn stage(&mut self, name: &str) -> StageMark<'_> {
        if let Some(block) = self.open.last() {
            let inside = self.blocks[block.number - 1];
            self.fault.get_or_insert(Error::build(format!(
                "stage `{name}` begins inside {inside}: a region runs in one stage, mark it before or after the region"
            )));
        }
        self.marks.push(Mark { name: name.into(), first_task: self.tasks.len(), threads: 1 });
        StageMark(self.marks.last_mut().expect("just pushed"))
    }

    /// Records a fact about a wire, replacing one of the same type: a finding from the signal, or a consequence of how
    /// the wire is made. Later tasks can query it while the chain is built; frames do not carry it.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use bief::raw::DynWire;
    /// use bief::{Chain, source};
    ///
    /// struct SampleRate(f64);
    ///
    /// let mut chain = Chain::new();
    /// let samples = DynWire::from(&chain.add(source::from_slice(&[0.0; 8], 4), ()));
    /// chain.note(&samples, Arc::new(SampleRate(48e3)));
    /// assert_eq!(chain.fact::<SampleRate>(&samples).unwrap().0, 48e3);
    /// assert!(chain.fact::<u32>(&samples).is_none());
    /// ```
    pub fn note<F: Any + Send + Sync>(&mut self, wire: &DynWire, fact: Arc<F>) {
        if wire.chain == self.id {
            self.facts.note(wire.socket.wire, fact);
        }
    }

    /// The recorded fact of this type about a wire.
    pub fn fact<F: Any + Send + Sync>(&self, wire: &DynWire) -> Option<Arc<F>> {
        self.facts.get(wire.socket.wire).filter(|_| wire.chain == self.id)
    }

    /// Checks the chain and makes it ready to run.
    ///
    /// # Errors
    /// The first thing found wrong: no tasks, a batch of no frames, a wire of another chain, a frame length that does not
    /// fit (the message names both ends of the wire), a wire used outside the loop or path that makes it, a marked stage
    /// that cannot be replicated as asked.
    pub fn build(mut self) -> Result<Program> {
        if let Some(fault) = self.fault.take() {
            return Err(fault);
        }
        if let Some(block) = self.open.last() {
            return Err(Error::build(format!("{} was begun and not ended", self.blocks[block.number - 1])));
        }
        self.check()?;
        let Self { tasks, wires, batch, depth, waiting, marks, .. } = self;
        Ok(Program { tasks, wires, batch, depth, waiting, marks })
    }

    /// Refuses what can be told once every task is in its place.
    pub(crate) fn check(&self) -> Result<()> {
        check::chain(&self.tasks, &self.wires, self.batch, &self.marks)
    }

    /// Refuses more threads for a stage than its tasks allow.
    pub(crate) fn check_stage(&self, name: &str, tasks: Range<usize>, threads: usize) -> Result<()> {
        check::replicable(name, 0..tasks.len(), threads, &named(&self.tasks[tasks]))
    }

    /// Adds a task, typed or not: what does not fit is refused, and the chain is as before.
    pub(crate) fn attach(&mut self, task: DynTask, wires: &[DynWire]) -> Result<Vec<DynWire>, Refusal> {
        let DynTask { name, task } = task;
        let name = self.unique_name(name);
        // Asked once: what is checked is what it is bound to.
        let (sockets, kinds) = (task.inputs(), task.outputs());
        let shapes = self.usable(&name, wires).and_then(|()| {
            dynamic::check(&sockets, wires).map_err(|refusal| refusal.of_task(&name))?;
            let shapes: Vec<Shape> = wires.iter().map(|wire| wire.shape.clone()).collect();
            let unfit = |error: Error| {
                let message = format!("{error}{}", described(wires));
                error.saying(message)
            };
            let shapes = task.lens(&shapes).map_err(unfit);
            let shapes = shapes.and_then(|shapes| dynamic::check_outputs(&kinds, &shapes).map(|()| shapes));
            shapes.map_err(|error| Refusal::from(error).of_task(&name))
        })?;
        self.bind(wires, |input| sockets[input].direction() == Direction::InOut);
        let maker: Arc<str> = format!("task `{name}`").into();
        let outputs = kinds.into_iter().zip(shapes);
        let made: Vec<DynWire> = outputs.map(|(kind, shape)| self.new_wire(kind, shape, Arc::clone(&maker))).collect();
        let inputs: Vec<_> = sockets.iter().map(SocketKind::direction).zip(wires.iter().cloned()).collect();
        self.push(name, task.bind(&inputs, &made));
        Ok(made)
    }

    /// Refuses wires that `user` may not use where it stands.
    pub(crate) fn usable(&self, user: &str, wires: &[DynWire]) -> Result<(), Refusal> {
        if let Some(fault) = &self.fault {
            // After a fault wires may be missing; only the first fault is told.
            return Err(fault.clone().into());
        }
        for (number, wire) in wires.iter().enumerate() {
            let refused = |message| Err(Refusal::of(number, message).of_task(user));
            if wire.chain != self.id {
                return refused(format!(
                    "input {number} is a wire of another chain, made there by {}: bind `{user}` to wires that this chain \
                     made",
                    wire.maker
                ));
            }
            let block = self.wires[wire.socket.wire].block;
            if block > 0 && !self.open.iter().any(|open| open.number == block) {
                if wire.read_only {
                    return refused(format!(
                        "input {number} is {}, which is there in its body alone: bind `{user}` to the wire that `feedback` \
                         returns",
                        wire.maker
                    ));
                }
                return refused(format!(
                    "input {number} is made by {} inside {}, which may not have run: let the task inside rewrite a wire \
                     that was made before (`Chain::blank` makes one), and read that",
                    wire.maker,
                    self.blocks[block - 1]
                ));
            }
        }
        Ok(())
    }

    /// Notes that the task or region being added uses these wires, and which of them it rewrites; answers where they are.
    pub(crate) fn bind(&mut self, wires: &[DynWire], rewrites: impl Fn(usize) -> bool) -> Box<[Socket]> {
        let user = self.tasks.len();
        for wire in wires.iter().flat_map(DynWire::places) {
            let wire_info = &mut self.wires[wire];
            if wire_info.constant.is_none() {
                wire_info.last_user = user;
            }
        }
        for (input, wire) in wires.iter().enumerate() {
            let used = Use { task: user, rewrites: rewrites(input), variable: wire.variable };
            self.wires[wire.socket.wire].uses.push(used);
        }
        wires.iter().map(|wire| wire.socket).collect()
    }

    /// A wire that the task or region being added makes.
    pub(crate) fn new_wire(&mut self, kind: SocketKind, shape: Shape, maker: Arc<str>) -> DynWire {
        let (wire, len) = (self.wires.len(), shape.len());
        let task = self.tasks.len();
        let wire_info = WireInfo {
            format: kind.format,
            len,
            shape: shape.clone(),
            maker: task,
            last_user: task,
            constant: None,
            block: self.block(),
            uses: Vec::new(),
        };
        if kind.is_variable() {
            let lengths = WireInfo { format: Format::of::<usize>(), len: 1, shape: 1.into(), ..wire_info.clone() };
            self.wires.extend([wire_info, lengths]);
        } else {
            self.wires.push(wire_info);
        }
        self.wire_at(Socket { wire, len, stride: len }, kind, shape, maker)
    }

    /// Stands for a wire after a fault: nothing is bound to it any more.
    fn missing_wire(&self, kind: SocketKind) -> DynWire {
        self.wire_at(Socket { wire: usize::MAX, len: 0, stride: 0 }, kind, 0.into(), "a task that was refused".into())
    }

    fn wire_at(&self, socket: Socket, kind: SocketKind, shape: Shape, maker: Arc<str>) -> DynWire {
        let (format, variable) = (kind.format, kind.is_variable());
        DynWire { chain: self.id, socket, format, shape, variable, read_only: false, maker }
    }

    /// Puts a step in its place: at the end of the block being written.
    pub(crate) fn push(&mut self, name: Arc<str>, step: Box<dyn Step>) {
        self.names.insert(Arc::clone(&name));
        self.nodes().push(Node { name, step });
    }

    /// The tasks of the block that is being written.
    fn nodes(&mut self) -> &mut Vec<Node> {
        self.open.last_mut().map_or(&mut self.tasks, |block| &mut block.nodes)
    }

    /// How many tasks there are in the block that is being written.
    pub(crate) fn count(&mut self) -> usize {
        self.nodes().len()
    }

    /// Puts another step in the place of one of the block that is being written.
    pub(crate) fn replace(&mut self, task: usize, make: impl FnOnce(Box<dyn Step>) -> Box<dyn Step>) {
        let Node { name, step } = self.nodes().remove(task);
        self.nodes().insert(task, Node { name, step: make(step) });
    }

    /// Begins a stage at a task that is there.
    pub(crate) fn mark(&mut self, name: &str, first_task: usize, threads: usize) {
        self.marks.push(Mark { name: name.into(), first_task, threads });
    }

    /// The first of these tasks that may be replicated; the first of all where none may.
    pub(crate) fn first_replicable(&self, mut tasks: Range<usize>) -> usize {
        let first = tasks.start;
        tasks.find(|&task| self.tasks[task].step.replica().is_some()).unwrap_or(first)
    }

    /// What was found wrong so far.
    pub(crate) fn fault(&self) -> Option<&Error> {
        self.fault.as_ref()
    }

    /// Notes that this task or region cannot be built.
    pub(crate) fn refuse(&mut self, task: &str, error: Error) {
        self.fault.get_or_insert(Refusal::from(error).of_task(task).error);
    }

    /// This name, or one that is not yet given, with a number behind; behind that of the piece that it is a part of.
    pub(crate) fn unique_name(&self, name: String) -> Arc<str> {
        let name = match &self.scope {
            Some(scope) => format!("{scope}/{name}"),
            None => name,
        };
        unique(name, |name| self.names.contains(name))
    }
}

/// The name, with a number behind it if it is taken.
pub(crate) fn unique(name: String, is_taken: impl Fn(&str) -> bool) -> Arc<str> {
    if !is_taken(&name) {
        return name.into();
    }
    let mut numbered = (2..).map(|number| format!("{name} {number}"));
    numbered.find(|name| !is_taken(name)).expect("some number is free").into()
}

impl Default for Chain {
    fn default() -> Self {
        Self::new()
    }
}

impl std::fmt::Debug for Chain {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.tasks.iter().map(|task| &task.name)).finish()
    }
}

/// A stage being marked; made by [`Chain::stage`].
#[derive(Debug)]
pub struct StageMark<'c>(&'c mut Mark);

impl StageMark<'_> {
    /// Runs the stage on `threads` replicas (1 unless set). More than one needs every task of the stage to be replicable.
    pub fn threads(self, threads: usize) -> Self {
        self.0.threads = threads;
        self
    }
}

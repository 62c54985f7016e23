//! The builder: program order is data order.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::check;
use crate::control::Block;
use crate::error::{Error, ErrorKind, Place, Result};
use crate::frame::Format;
use crate::program::Program;
use crate::stage::Mark;
use crate::task::{Bind, Node, Step, Task};
use crate::wire::{Inputs, Joint, Made, Outputs, Socket, Untyped, Use, sealed::Key};

/// A chain of tasks while it is being written.
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
    tasks: Vec<Node>,
    pub(crate) wires: Vec<Joint>,
    marks: Vec<Mark>,
    /// Names given to tasks, those inside regions too.
    names: HashSet<Arc<str>>,
    /// What each block ever opened is, for messages; blocks are numbered from 1, 0 is the chain itself.
    pub(crate) blocks: Vec<&'static str>,
    /// The blocks that are being written, the innermost last.
    pub(crate) open: Vec<Block>,
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
            tasks: Vec::new(),
            wires: Vec::new(),
            marks: Vec::new(),
            names: HashSet::new(),
            blocks: Vec::new(),
            open: Vec::new(),
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

    /// Adds a task, binds its inputs, and returns the wires that it makes.
    ///
    /// `wires` is `()` for a source, `&wire` or `&mut wire` for one socket, a tuple of them for several.
    pub fn add<T: Task>(&mut self, task: T, wires: <T::In as Inputs>::Wires<'_>) -> <T::Out as Outputs>::Wires {
        let name = self.unique_name(task.name());
        let (lens, inputs) = T::In::untyped(&wires);
        let bound = self.bind(&name, &inputs).and_then(|sockets| {
            let lens = task.lens(lens).map_err(|error| Error::build(format!("{error}{}", described(&inputs))))?;
            Ok((sockets, lens))
        });
        match bound {
            Ok((inputs, lens)) => {
                let maker: Arc<str> = format!("task `{name}`").into();
                let made: Vec<Untyped> =
                    T::Out::made(&lens).into_iter().map(|made| self.new_wire(made, Arc::clone(&maker))).collect();
                let outputs = made.iter().map(|wire| wire.socket).collect();
                self.push(name, Box::new(Bind { task, inputs, outputs }));
                T::Out::wires(|output| made[output].clone(), Key(()))
            }
            Err(error) => {
                self.refuse(&name, error);
                T::Out::wires(|_| self.missing_wire(), Key(()))
            }
        }
    }

    /// Begins a stage at the task that is added next; [`threads`](StageMark::threads) says how many replicas run it.
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
        check::chain(&self.tasks, &self.wires, self.batch, &self.marks)?;
        Ok(Program { tasks: self.tasks, wires: self.wires, batch: self.batch, marks: self.marks })
    }

    /// The sockets of `user` for these wires, when it may use them.
    pub(crate) fn bind(&mut self, user: &str, inputs: &[Untyped]) -> Result<Box<[Socket]>> {
        if let Some(fault) = &self.fault {
            // After a fault wires may be missing; only the first fault is told.
            return Err(fault.clone());
        }
        for (number, input) in inputs.iter().enumerate() {
            if input.chain != self.id {
                return Err(Error::build(format!(
                    "input {number} is a wire of another chain, made there by {}: bind `{user}` to wires that this chain \
                     made",
                    input.maker
                )));
            }
            let block = self.wires[input.socket.wire].block;
            if block > 0 && !self.open.iter().any(|open| open.number == block) {
                return Err(Error::build(format!(
                    "input {number} is made by {} inside {}, which may not have run: let the task inside rewrite a wire \
                     that was made before (`Chain::blank` makes one), and read that",
                    input.maker,
                    self.blocks[block - 1]
                )));
            }
        }
        let user = self.tasks.len();
        for wire in inputs.iter().flat_map(Untyped::places) {
            let joint = &mut self.wires[wire];
            if joint.constant.is_none() {
                joint.last_user = user;
            }
        }
        for input in inputs {
            let used = Use { task: user, rewrites: input.rewritten, variable: input.variable };
            self.wires[input.socket.wire].uses.push(used);
        }
        Ok(inputs.iter().map(|input| input.socket).collect())
    }

    /// A wire that the task or region being added makes.
    pub(crate) fn new_wire(&mut self, made: Made, maker: Arc<str>) -> Untyped {
        let wire = self.wires.len();
        let task = self.tasks.len();
        let joint = Joint {
            format: made.format,
            len: made.len,
            maker: task,
            last_user: task,
            constant: None,
            block: self.block(),
            uses: Vec::new(),
        };
        if made.variable {
            let lengths = Joint { format: Format::of::<usize>(), len: 1, ..joint.clone() };
            self.wires.extend([joint, lengths]);
        } else {
            self.wires.push(joint);
        }
        let socket = Socket { wire, len: made.len, stride: made.len };
        Untyped { chain: self.id, socket, variable: made.variable, element: made.format.name, maker, rewritten: false }
    }

    /// Stands for a wire after a fault: nothing is bound to it any more.
    pub(crate) fn missing_wire(&self) -> Untyped {
        let socket = Socket { wire: usize::MAX, len: 0, stride: 0 };
        let maker = "a task that was refused".into();
        Untyped { chain: self.id, socket, variable: false, element: "", maker, rewritten: false }
    }

    /// Puts a step in its place: at the end of the block being written.
    pub(crate) fn push(&mut self, name: Arc<str>, step: Box<dyn Step>) {
        let nodes = self.open.last_mut().map_or(&mut self.tasks, |block| &mut block.nodes);
        nodes.push(Node { name, step });
    }

    /// Notes that this task or region cannot be built.
    pub(crate) fn refuse(&mut self, task: &str, error: Error) {
        let place = Place { task: Some(task.into()), ..Default::default() };
        self.fault.get_or_insert(error.with_kind(ErrorKind::Build).at(place));
    }

    pub(crate) fn unique_name(&mut self, name: String) -> Arc<str> {
        let name = if self.names.contains(&*name) {
            let mut numbered = (2..).map(|number| format!("{name} {number}"));
            numbered.find(|name| !self.names.contains(&**name)).expect("some number is free")
        } else {
            name
        };
        let name: Arc<str> = name.into();
        self.names.insert(Arc::clone(&name));
        name
    }
}

/// The inputs in words, to be said after what does not fit.
fn described(inputs: &[Untyped]) -> String {
    let inputs: Vec<String> = inputs
        .iter()
        .enumerate()
        .map(|(number, input)| {
            let most = if input.variable { "up to " } else { "" };
            format!("input {number} is {most}{} x {} from {}", input.socket.len, input.element, input.maker)
        })
        .collect();
    if inputs.is_empty() { String::new() } else { format!(" ({})", inputs.join(", ")) }
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

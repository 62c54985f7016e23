//! The builder: program order is data order.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::check;
use crate::error::{Error, Result};
use crate::program::Program;
use crate::stage::Mark;
use crate::task::{Bind, Node, Task};
use crate::wire::{Bound, Inputs, Joint, Outputs, Socket};

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
pub struct Chain {
    id: u64,
    batch: usize,
    tasks: Vec<Node>,
    wires: Vec<Joint>,
    marks: Vec<Mark>,
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
        let (lens, bounds) = T::In::bound(&wires);
        let first_wire = self.wires.len();
        let made = self.bind(&name, &bounds).and_then(|()| {
            task.lens(lens).map_err(|error| Error::build(format!("{error}{}", self.described(&bounds))))
        });
        match made {
            Ok(lens) => {
                let maker = self.tasks.len();
                let outputs = T::Out::made(&lens);
                self.wires.extend(outputs.iter().map(|made| Joint {
                    format: made.format,
                    len: made.len,
                    maker,
                    last_user: maker,
                }));
                let inputs = bounds.iter().map(|bound| Socket { wire: bound.wire, len: bound.len }).collect();
                let outputs = outputs
                    .iter()
                    .enumerate()
                    .map(|(index, made)| Socket { wire: first_wire + index, len: made.len })
                    .collect();
                for bound in &bounds {
                    self.wires[bound.wire].last_user = maker;
                }
                self.tasks.push(Node { name, step: Box::new(Bind { task, inputs, outputs }) });
                T::Out::wires(first_wire, self.id, Some(&lens))
            }
            Err(error) => {
                let place = crate::Place { task: Some(name), ..Default::default() };
                self.fault.get_or_insert(error.with_kind(crate::ErrorKind::Build).at(place));
                T::Out::wires(first_wire, self.id, None)
            }
        }
    }

    /// Begins a stage at the task that is added next; [`threads`](StageMark::threads) says how many replicas run it.
    ///
    /// Stages marked so are what [`Program::pipeline_as_marked`] runs. Tasks added before the first mark are a stage of
    /// their own.
    pub fn stage(&mut self, name: &str) -> StageMark<'_> {
        self.marks.push(Mark { name: name.into(), first_task: self.tasks.len(), threads: 1 });
        StageMark(self.marks.last_mut().expect("just pushed"))
    }

    /// Checks the chain and makes it ready to run.
    ///
    /// # Errors
    /// The first thing found wrong: no tasks, a batch of no frames, a wire of another chain, a frame length that does not
    /// fit (the message names both ends of the wire), a marked stage that cannot be replicated as asked.
    pub fn build(mut self) -> Result<Program> {
        if let Some(fault) = self.fault.take() {
            return Err(fault);
        }
        check::chain(&self.tasks, self.batch, &self.marks)?;
        Ok(Program { tasks: self.tasks, wires: self.wires, batch: self.batch, marks: self.marks })
    }

    fn bind(&self, name: &str, bounds: &[Bound]) -> Result<()> {
        match bounds.iter().position(|bound| bound.chain != self.id) {
            Some(input) => Err(Error::build(format!(
                "input {input} is a wire of another chain: bind `{name}` to wires that this chain made"
            ))),
            // After a fault wires may be missing; only the first fault is told.
            None if bounds.iter().any(|bound| bound.wire >= self.wires.len()) => {
                Err(Error::build("an input is missing because a task before it was refused"))
            }
            None => Ok(()),
        }
    }

    fn described(&self, bounds: &[Bound]) -> String {
        let inputs: Vec<String> = bounds
            .iter()
            .enumerate()
            .map(|(input, bound)| {
                let wire = &self.wires[bound.wire];
                let maker = &self.tasks[wire.maker].name;
                format!("input {input} is {} x {} from task `{maker}`", bound.len, wire.format.name)
            })
            .collect();
        if inputs.is_empty() { String::new() } else { format!(" ({})", inputs.join(", ")) }
    }

    fn unique_name(&self, name: String) -> Arc<str> {
        let taken = |name: &str| self.tasks.iter().any(|task| &*task.name == name);
        if !taken(&name) {
            return name.into();
        }
        let number = (2..).find(|number| !taken(&format!("{name} {number}"))).expect("some number is free");
        format!("{name} {number}").into()
    }
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

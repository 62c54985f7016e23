//! What a kind makes of its parameters and wires: a piece of a chain.

use std::any::Any;
use std::io::Read;

use crate::chain::Chain;
use crate::dyn_wire::DynWire;
use crate::dynamic::{DynTask, Refusal};
use crate::error::{Error, Place, Result};
use crate::openers::InputAddress;
use crate::rehearsal::{Kept, record};
use crate::task::Task;

/// The piece of a chain that a [`Kind`](crate::kinds::Kind) makes: a task, or several with wires between them.
///
/// It may look at its wires, and at what is known of them ([`Chain::fact`]):
///
/// ```
/// use bief::kinds::{Kind, Param, Parameters};
/// use bief::{Chain, Flow, Registry, sink, source};
///
/// let mut registry = Registry::new();
/// let kind = Kind::piece("test.sink", "takes numbers of either width", (), |(), piece| {
///     let wire = piece.wires()[0].clone();
///     match &*wire.element() {
///         "f32" => piece.task(sink::for_each(|_: &[f32]| Ok(Flow::Next)), &[&wire]),
///         _ => piece.task(sink::for_each(|_: &[f64]| Ok(Flow::Next)), &[&wire]),
///     }
/// });
/// registry.add(kind.reads("f32 or f64"));
///
/// let mut chain = Chain::new();
/// let narrow = chain.add(source::from_slice(&[0_f32; 4], 4), ());
/// let wide = chain.add(source::from_slice(&[0_f64; 4], 4), ());
/// registry.make(&mut chain, "narrow", "test.sink", Parameters::new(), &[&(&narrow).into()])?;
/// registry.make(&mut chain, "wide", "test.sink", Parameters::new(), &[&(&wide).into()])?;
/// assert_eq!(chain.build()?.run()?.frames, 1);
/// # Ok::<(), bief::Error>(())
/// ```
pub struct Piece<'p> {
    chain: &'p mut Chain,
    name: &'p str,
    wires: &'p [DynWire],
    rehearsal: Option<u64>,
    kept: &'p Kept,
    /// The input that the last refusal was about.
    refused: Option<usize>,
}

impl<'p> Piece<'p> {
    pub(crate) fn new(
        chain: &'p mut Chain,
        name: &'p str,
        wires: &'p [DynWire],
        rehearsal: Option<u64>,
        kept: &'p Kept,
    ) -> Self {
        Self { chain, name, wires, rehearsal, kept, refused: None }
    }

    /// The wires that it is given, as many as the kind has inputs.
    pub fn wires(&self) -> &'p [DynWire] {
        self.wires
    }

    /// The chain, for what is known of wires and for regions. Tasks that are added to it directly are named
    /// `name of the piece/their own name`.
    pub fn chain(&mut self) -> &mut Chain {
        self.chain
    }

    /// Adds the task that has the name of the piece: the only one, or the one that does what the others prepare.
    ///
    /// # Errors
    /// Those of [`Chain::add_dyn`].
    pub fn task(&mut self, task: impl Task, wires: &[&DynWire]) -> Result<Vec<DynWire>> {
        self.add(DynTask::new(task).named(self.name), wires)
    }

    /// Adds another task: it is named `name of the piece/name`.
    ///
    /// # Errors
    /// Those of [`Chain::add_dyn`].
    pub fn part(&mut self, name: &str, task: impl Task, wires: &[&DynWire]) -> Result<Vec<DynWire>> {
        self.add(DynTask::new(task).named(format!("{}/{name}", self.name)), wires)
    }

    fn add(&mut self, task: DynTask, wires: &[&DynWire]) -> Result<Vec<DynWire>> {
        let wires: Vec<DynWire> = wires.iter().map(|&wire| wire.clone()).collect();
        let scope = self.chain.scope.take();
        let made = self.chain.attach(task, &wires);
        self.chain.scope = scope;
        made.map_err(|Refusal { input, error }| {
            let refused = input.and_then(|input| wires.get(input));
            self.refused =
                refused.and_then(|refused| self.wires.iter().position(|wire| wire.socket.wire == refused.socket.wire));
            error
        })
    }

    /// An error about a wire from which the piece cannot be made; in a chain file it is reported at the wire.
    pub fn unfit(&mut self, input: usize, wanted: &str) -> Error {
        self.refused = Some(input);
        let wire = &self.wires[input];
        let frames = if wire.is_variable() { "of variable length" } else { "of one length" };
        let gets = format!("{}, in frames {frames}, from {}", wire.element(), wire.maker);
        let place = Place { task: Some(self.name.into()), ..Place::default() };
        Error::build(format!("input {input} takes {wanted}, but gets {gets}")).at(place)
    }

    /// Whether the chain is a rehearsal: then nothing outside of it may be used up or written. A source that reads by
    /// [`reader`](Self::reader), and a sink that writes by [`OutputAddress::writer`](crate::kinds::OutputAddress::writer),
    /// need not ask. Any other kind with input or output makes a stand-in for its task: a task with the same sockets
    /// and times, such as one that replays a recording or leaves out the last step. The chain ends a rehearsal by
    /// itself.
    pub fn is_rehearsal(&self) -> bool {
        self.rehearsal.is_some()
    }

    /// Keeps something for when this task of the chain is made again: for the next rehearsal, or the run.
    pub fn keep(&mut self, what: impl Any + Send) {
        self.kept.keep(self.name, what);
    }

    /// Takes what was kept for this task.
    pub fn kept<T: Any>(&mut self) -> Option<T> {
        self.kept.take(self.name)
    }

    /// The bytes of an input. A rehearsal repeats the front of them, which is kept: the run gets it first, then the
    /// rest, so that even a pipe loses nothing. `frame_bytes` is the size of a frame.
    ///
    /// # Errors
    /// Those of [`InputAddress::open`]; a front that cannot be read.
    pub fn reader(&mut self, input: &InputAddress, frame_bytes: usize) -> Result<Box<dyn Read + Send>> {
        let mut reader = match self.kept::<Box<dyn Read + Send>>() {
            Some(reader) => reader,
            None => input.open()?.reader,
        };
        if !self.is_rehearsal() {
            return Ok(reader);
        }
        let played = self.recorded(&mut reader, frame_bytes).map_err(|error| input.refuse(error));
        self.keep(reader);
        played
    }

    /// Records the front of a reader, which begins anew with it, and plays it over and over: for a kind that
    /// [keeps](Self::keep) more than a reader.
    ///
    /// # Errors
    /// A front that cannot be read.
    pub fn recorded(&self, reader: &mut Box<dyn Read + Send>, frame_bytes: usize) -> Result<Box<dyn Read + Send>> {
        Ok(Box::new(record(reader, frame_bytes)?))
    }

    /// The input that the last refusal was about.
    pub(crate) fn refused(&self) -> Option<usize> {
        self.refused
    }
}

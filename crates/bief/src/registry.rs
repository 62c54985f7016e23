//! Kinds of tasks by name, and how each is made.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::File;
use std::io;
use std::path::Path;

use crate::chain::Chain;
use crate::dyn_wire::DynWire;
use crate::dynamic::{Refusal, miscounted};
use crate::error::{Error, ErrorKind, Result};
use crate::making::Making;
use crate::openers::{Opener, Openers};
use crate::param::{Parameter, Params};
use crate::parameters::{Parameters, refused};
use crate::piece::Piece;
use crate::rehearsal::{Bounded, Kept};
use crate::socket::{Direction, SocketKind};
use crate::suggest::suggestion;
use crate::task::Task;
use crate::wire::{Inputs, Outputs};

/// The kinds of tasks for chains built at run time, such as chain files, and the openers of the addresses in their
/// parameters.
///
/// See [`Parameters`] for an example.
#[derive(Debug, Default)]
pub struct Registry {
    kinds: BTreeMap<String, Kind>,
    openers: Openers,
}

impl Registry {
    /// A registry of no kinds, that opens files and standard streams.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a kind, in the place of one of the same name.
    pub fn add(&mut self, kind: Kind) {
        self.kinds.insert(kind.name.clone(), kind);
    }

    /// Registers the opener of a scheme, such as `udp`, replacing an earlier one.
    pub fn open(&mut self, scheme: impl Into<String>, opener: impl Opener + 'static) {
        self.openers.add(scheme, opener);
    }

    /// Makes the files that tasks write by `make`: see [`Openers::make_files_by`].
    pub fn make_files_by(&mut self, make: impl Fn(&Path) -> io::Result<File> + Send + Sync + 'static) {
        self.openers.make_files_by(make);
    }

    /// What opens addresses.
    pub fn openers(&self) -> &Openers {
        &self.openers
    }

    /// All kinds, in the order of their names.
    pub fn kinds(&self) -> impl Iterator<Item = &Kind> {
        self.kinds.values()
    }

    /// The kind of that name.
    ///
    /// # Errors
    /// There is none.
    pub fn kind(&self, name: &str) -> Result<&Kind> {
        let names = || self.kinds.keys().map(String::as_str);
        self.kinds
            .get(name)
            .ok_or_else(|| Error::build(format!("there is no kind of task `{name}`{}", suggestion(name, names()))))
    }

    /// Adds to a chain what a kind makes of parameters and wires: a task of that name, or several whose names begin with it.
    /// Returns the wires that they make for others.
    ///
    /// # Errors
    /// No such kind; a parameter that the kind does not have, one that is missing or does not fit; wires that do not fit; what
    /// else keeps the kind from making its task. A chain of which a part was made is not built any more.
    pub fn make(
        &self,
        chain: &mut Chain,
        name: &str,
        kind: &str,
        parameters: Parameters,
        wires: &[&DynWire],
    ) -> Result<Vec<DynWire>> {
        self.make_kept(chain, name, kind, parameters, wires, &Kept::new())
    }

    /// As [`make`](Self::make), in a chain that is built again and again: for rehearsals, and at last for the run
    /// ([`Application`](crate::Application)).
    ///
    /// # Errors
    /// Those of [`make`](Self::make).
    pub fn make_kept(
        &self,
        chain: &mut Chain,
        name: &str,
        kind: &str,
        parameters: Parameters,
        wires: &[&DynWire],
        kept: &Kept,
    ) -> Result<Vec<DynWire>> {
        let kind = self.kind(kind)?;
        let wires: Vec<DynWire> = wires.iter().map(|&wire| wire.clone()).collect();
        let (openers, rehearsal) = (&self.openers, kept.rehearsed());
        let making = Making { kind: &kind.name, parameters: &parameters, openers, rehearsal };
        kind.make(&making, chain, name, &wires, kept).map_err(|refusal| refusal.error)
    }
}

type Make = dyn Fn(&Making<'_>, &mut Piece<'_>) -> Result<Vec<DynWire>> + Send + Sync;

/// A kind of task: its name, what it does, its sockets and parameters, and how it is made.
///
/// What its tasks take from outside of the chain, or give to it, must not be used up or written in a rehearsal: see
/// [`Piece::is_rehearsal`].
pub struct Kind {
    name: String,
    summary: String,
    inputs: Vec<KindSocket>,
    outputs: Vec<KindSocket>,
    parameters: Vec<Parameter>,
    make: Box<Make>,
}

/// An input or an output of a [`Kind`]. Shown as `in-place f32`, or in words where it depends on the wires.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KindSocket {
    direction: Direction,
    shown: String,
}

impl KindSocket {
    fn of(socket: &SocketKind) -> Self {
        Self { direction: socket.direction(), shown: socket.to_string() }
    }

    /// Whether frames are read, rewritten or written.
    pub fn direction(&self) -> Direction {
        self.direction
    }
}

impl fmt::Display for KindSocket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown)
    }
}

impl Kind {
    /// A kind of one task, whose type defines its sockets; `make` gets the values of its parameters.
    ///
    /// ```
    /// use bief::kinds::{Kind, Param};
    /// use bief::{Flow, sink};
    ///
    /// let name = Param::<String>::new("name", "what to call it");
    /// let most = Param::new("most", "how many are shown").range(1..=100).default(10);
    /// let show = Kind::new("test.show", "shows numbers", (name, most), |(name, most): (String, usize)| {
    ///     Ok(sink::for_each(move |numbers: &[f32]| {
    ///         println!("{name}: {:?}", &numbers[..most.min(numbers.len())]);
    ///         Ok(Flow::Next)
    ///     }))
    /// });
    /// assert_eq!(show.inputs()[0].to_string(), "in f32");
    /// assert_eq!(show.parameters()[1].form(), "whole number, 1 to 100");
    /// ```
    pub fn new<P: Params, T: Task>(
        name: impl Into<String>,
        summary: impl Into<String>,
        parameters: P,
        make: impl Fn(P::Values) -> Result<T> + Send + Sync + 'static,
    ) -> Self {
        let sockets = |kinds: Vec<SocketKind>| kinds.iter().map(KindSocket::of).collect();
        Self {
            inputs: sockets(T::In::kinds()),
            outputs: sockets(T::Out::kinds()),
            ..Self::piece(name, summary, parameters, move |values, piece| {
                let wires: Vec<&DynWire> = piece.wires().iter().collect();
                piece.task(make(values)?, &wires)
            })
        }
    }

    /// A kind that makes a [`Piece`] of a chain, whose sockets are told by [`reads`](Self::reads), [`rewrites`](Self::rewrites)
    /// and [`makes`](Self::makes); `make` returns the wires of its outputs.
    pub fn piece<P: Params>(
        name: impl Into<String>,
        summary: impl Into<String>,
        parameters: P,
        make: impl Fn(P::Values, &mut Piece<'_>) -> Result<Vec<DynWire>> + Send + Sync + 'static,
    ) -> Self {
        Self {
            name: name.into(),
            summary: summary.into(),
            inputs: Vec::new(),
            outputs: Vec::new(),
            parameters: parameters.told(),
            make: Box::new(move |making, piece| make(parameters.values(making)?, piece)),
        }
    }

    /// Describes the next input of a piece, which is only read: its content, in words.
    #[must_use]
    pub fn reads(mut self, what: &str) -> Self {
        self.inputs.push(KindSocket { direction: Direction::In, shown: format!("in {what}") });
        self
    }

    /// Tells the next input of a piece, which is rewritten in place.
    #[must_use]
    pub fn rewrites(mut self, what: &str) -> Self {
        self.inputs.push(KindSocket { direction: Direction::InOut, shown: format!("in-place {what}") });
        self
    }

    /// Tells the next output of a piece.
    #[must_use]
    pub fn makes(mut self, what: &str) -> Self {
        self.outputs.push(KindSocket { direction: Direction::Out, shown: format!("out {what}") });
        self
    }

    /// Its name, such as `radio.read`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What its tasks do, in a few words.
    pub fn summary(&self) -> &str {
        &self.summary
    }

    /// The inputs of its tasks.
    pub fn inputs(&self) -> &[KindSocket] {
        &self.inputs
    }

    /// The outputs of its tasks.
    pub fn outputs(&self) -> &[KindSocket] {
        &self.outputs
    }

    /// Its parameters, in the order in which they are declared.
    pub fn parameters(&self) -> &[Parameter] {
        &self.parameters
    }

    pub(crate) fn make(
        &self,
        making: &Making<'_>,
        chain: &mut Chain,
        name: &str,
        wires: &[DynWire],
        kept: &Kept,
    ) -> Result<Vec<DynWire>, Refusal> {
        self.check(making.parameters)?;
        if wires.len() != self.inputs.len() {
            let sockets: Vec<String> = self.inputs.iter().map(KindSocket::to_string).collect();
            return Err(Refusal::from(Error::build(miscounted(&sockets, wires))).of_task(name));
        }
        let first_task = chain.count();
        let outside = chain.scope.replace(name.into());
        let mut piece = Piece::new(chain, name, wires, making.rehearsal, kept);
        let made = (self.make)(making, &mut piece).and_then(|made| self.counted(made));
        let refused = piece.refused();
        chain.scope = outside;
        let made = made.and_then(|made| chain.fault().map_or(Ok(made), |fault| Err(fault.clone())));
        let added = chain.count() - first_task;
        match made {
            Err(error) => {
                let error = error.with_kind(ErrorKind::Build);
                if added > 0 {
                    chain.refuse(name, error.clone());
                }
                Err(Refusal { input: refused, error })
            }
            Ok(_) if added == 0 => Err(Error::build(format!("`{}` made no task: let it make one", self.name)).into()),
            Ok(made) => {
                if let Some(frames) = making.rehearsal.filter(|_| wires.is_empty()) {
                    chain.replace(first_task, |source| Box::new(Bounded::new(source, frames)));
                }
                Ok(made)
            }
        }
    }

    /// Refuses parameters that it does not have.
    fn check(&self, parameters: &Parameters) -> Result<()> {
        let known = || self.parameters.iter().map(Parameter::name);
        match parameters.names().find(|name| known().all(|known| known != *name)) {
            Some(unknown) => {
                Err(refused(unknown, format!("`{}` has no such parameter{}", self.name, suggestion(unknown, known()))))
            }
            None => Ok(()),
        }
    }

    fn counted(&self, made: Vec<DynWire>) -> Result<Vec<DynWire>> {
        match (made.len(), self.outputs.len()) {
            (made, told) if made != told => {
                Err(Error::build(format!("`{}` made {made} wires, but declares {told} outputs", self.name)))
            }
            _ => Ok(made),
        }
    }
}

impl fmt::Debug for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, inputs, outputs, parameters, .. } = self;
        write!(f, "Kind {name} {inputs:?} {outputs:?} {parameters:?}")
    }
}

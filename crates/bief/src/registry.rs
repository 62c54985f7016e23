//! Kinds of tasks by name, and how each is made.

use std::collections::BTreeMap;
use std::fmt;

use crate::dynamic::{DynTask, SocketKind};
use crate::error::{Error, ErrorKind, Result};
use crate::parameters::{Parameters, Value};
use crate::suggest::suggestion;
use crate::task::Task;
use crate::wire::{Inputs, Outputs};

/// The kinds of tasks that a chain can be made of at run time: what chain files name.
///
/// See [`Parameters`] for an example.
#[derive(Debug, Default)]
pub struct Registry {
    kinds: BTreeMap<String, Kind>,
}

impl Registry {
    /// A registry of no kinds.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a kind, in the place of one of the same name.
    pub fn add(&mut self, kind: Kind) {
        self.kinds.insert(kind.name.clone(), kind);
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

    /// Makes a task.
    ///
    /// # Errors
    /// No such kind; a parameter that the kind does not have, one that is missing or does not fit, and what else keeps the
    /// kind from making its task.
    pub fn make(&self, kind: &str, mut parameters: Parameters) -> Result<DynTask> {
        self.kind(kind)?.make(&mut parameters)
    }
}

type Make = dyn Fn(&mut Parameters) -> Result<DynTask> + Send + Sync;

/// A kind of task: its name, what it does, its sockets and parameters, and how it is made.
pub struct Kind {
    name: String,
    summary: String,
    inputs: Vec<SocketKind>,
    outputs: Vec<SocketKind>,
    parameters: Vec<Parameter>,
    make: Box<Make>,
}

/// A parameter of a [`Kind`].
#[derive(Debug, Clone)]
pub struct Parameter {
    name: String,
    meaning: String,
    default: Option<Value>,
    required: bool,
}

impl Parameter {
    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What it means, its unit and range.
    pub fn meaning(&self) -> &str {
        &self.meaning
    }

    /// Its value where none is given.
    pub fn default(&self) -> Option<&Value> {
        self.default.as_ref()
    }

    /// Whether a value must be given. One that need not be and has no default is left out.
    pub fn is_required(&self) -> bool {
        self.required
    }
}

impl Kind {
    /// A kind without parameters, which `make` may ask for once they are added: by [`required`](Self::required),
    /// [`with_default`](Self::with_default) or [`optional`](Self::optional).
    pub fn new<T: Task>(
        name: impl Into<String>,
        summary: impl Into<String>,
        make: impl Fn(&mut Parameters) -> Result<T> + Send + Sync + 'static,
    ) -> Self {
        Self {
            name: name.into(),
            summary: summary.into(),
            inputs: T::In::kinds(),
            outputs: T::Out::kinds(),
            parameters: Vec::new(),
            make: Box::new(move |parameters| make(parameters).map(DynTask::new)),
        }
    }

    /// Adds a parameter that must be given.
    #[must_use]
    pub fn required(self, name: impl Into<String>, meaning: impl Into<String>) -> Self {
        self.parameter(name.into(), meaning.into(), None, true)
    }

    /// Adds a parameter that has a value where none is given.
    #[must_use]
    pub fn with_default(self, name: impl Into<String>, default: impl Into<Value>, meaning: impl Into<String>) -> Self {
        self.parameter(name.into(), meaning.into(), Some(default.into()), false)
    }

    /// Adds a parameter that may be left out: see [`Parameters::has`].
    #[must_use]
    pub fn optional(self, name: impl Into<String>, meaning: impl Into<String>) -> Self {
        self.parameter(name.into(), meaning.into(), None, false)
    }

    fn parameter(mut self, name: String, meaning: String, default: Option<Value>, required: bool) -> Self {
        self.parameters.push(Parameter { name, meaning, default, required });
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

    /// The input sockets of its tasks.
    pub fn inputs(&self) -> &[SocketKind] {
        &self.inputs
    }

    /// The output sockets of its tasks.
    pub fn outputs(&self) -> &[SocketKind] {
        &self.outputs
    }

    /// Its parameters, in the order in which they were added.
    pub fn parameters(&self) -> &[Parameter] {
        &self.parameters
    }

    pub(crate) fn make(&self, parameters: &mut Parameters) -> Result<DynTask> {
        let known = || self.parameters.iter().map(Parameter::name);
        let unknown = parameters.names().find(|name| known().all(|known| known != *name)).map(str::to_owned);
        if let Some(unknown) = unknown {
            let message = format!("`{}` has no such parameter{}", self.name, suggestion(&unknown, known()));
            return parameters.about(&unknown, Err(message));
        }
        for Parameter { name, meaning, default, required } in &self.parameters {
            match default {
                Some(default) => parameters.or_default(name, default),
                None if *required && !parameters.has(name) => {
                    return Err(Error::build(format!("parameter `{name}` of `{}` is missing: {meaning}", self.name)));
                }
                None => {}
            }
        }
        (self.make)(parameters).map_err(|error| error.with_kind(ErrorKind::Build))
    }
}

impl fmt::Debug for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Kind {} {:?} {:?} {:?}", self.name, self.inputs, self.outputs, self.parameters)
    }
}

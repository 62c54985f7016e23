//! Chains built at run time: tasks and wires whose types are known only when the program runs.
//!
//! The typed layer stands on this one: [`Chain::add`](crate::Chain::add) forgets the types that the compiler has proven, and goes on here.

use std::fmt;

use crate::dyn_wire::DynWire;
use crate::error::{Error, ErrorKind, Place, Result, counted};
use crate::shape::Shape;
use crate::socket::{Direction, SocketKind};
use crate::task::{Bind, Step, Task};
use crate::wire::{Inputs, Outputs};

/// A task whose sockets are known at run time; made of any [`Task`], or of a [`RawTask`](crate::raw::RawTask).
///
/// ```
/// use bief::raw::DynTask;
/// use bief::{Chain, sink, source};
///
/// let play = DynTask::new(source::from_slice(&[1.0_f32, 2.0], 1)).named("play");
/// let (collect, result) = sink::collect::<f32>();
/// let collect = DynTask::new(collect);
/// assert_eq!(collect.inputs()[0].to_string(), "in f32");
///
/// let mut chain = Chain::new();
/// let made = chain.add_dyn(play, &[])?;
/// chain.add_dyn(collect, &[&made[0]])?;
/// chain.build()?.run()?;
/// assert_eq!(result.take(), [1.0, 2.0]);
/// # Ok::<(), bief::Error>(())
/// ```
pub struct DynTask {
    pub(crate) name: String,
    pub(crate) task: Box<dyn Erased>,
}

impl DynTask {
    /// Erases the types of a task.
    pub fn new(task: impl Task) -> Self {
        Self { name: task.name(), task: Box::new(task) }
    }

    /// Renames it. If the chain already has that name, it appends a number.
    #[must_use]
    pub fn named(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// Its name in profiles, reports and errors.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The sockets that read or rewrite wires, in order.
    pub fn inputs(&self) -> Vec<SocketKind> {
        self.task.inputs()
    }

    /// The sockets that make wires, in order.
    pub fn outputs(&self) -> Vec<SocketKind> {
        self.task.outputs()
    }
}

impl fmt::Debug for DynTask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sockets: Vec<String> = self.inputs().iter().chain(&self.outputs()).map(SocketKind::to_string).collect();
        write!(f, "DynTask {} ({})", self.name, sockets.join(", "))
    }
}

/// A task whose types are forgotten, not yet bound to wires.
pub(crate) trait Erased: Send {
    fn inputs(&self) -> Vec<SocketKind>;
    fn outputs(&self) -> Vec<SocketKind>;
    /// As [`Task::lens`] and [`Task::shapes`]; there are as many `inputs` as sockets.
    fn lens(&self, inputs: &[Shape]) -> Result<Vec<Shape>>;
    /// The wires are of the kinds that it told, and [`check`]ed; inputs in the directions that it told then.
    fn bind(self: Box<Self>, inputs: &[(Direction, DynWire)], outputs: &[DynWire]) -> Box<dyn Step>;
}

impl<T: Task> Erased for T {
    fn inputs(&self) -> Vec<SocketKind> {
        T::In::kinds()
    }

    fn outputs(&self) -> Vec<SocketKind> {
        T::Out::kinds()
    }

    fn lens(&self, inputs: &[Shape]) -> Result<Vec<Shape>> {
        let lens: Vec<usize> = inputs.iter().map(Shape::len).collect();
        let lens = T::Out::lens(&Task::lens(self, T::In::lens(&lens))?);
        let shapes = self.shapes(inputs)?;
        if shapes.is_empty() {
            return Ok(lens.into_iter().map(Shape::from).collect());
        }
        let unlike = shapes.iter().zip(&lens).position(|(shape, &len)| shape.len() != len);
        match unlike {
            _ if shapes.len() != lens.len() => {
                let (outputs, shapes) = (counted(lens.len(), "output"), counted(shapes.len(), "shape"));
                Err(Error::new(format!(
                    "it has {outputs}, but its `shapes` gives {shapes}: give one for each, or none"
                )))
            }
            Some(output) => Err(Error::new(format!(
                "output {output} has the shape {}, but {} elements: let `shapes` and `lens` agree",
                shapes[output], lens[output]
            ))),
            None => Ok(shapes),
        }
    }

    fn bind(self: Box<Self>, inputs: &[(Direction, DynWire)], outputs: &[DynWire]) -> Box<dyn Step> {
        Box::new(Bind {
            task: *self,
            inputs: inputs.iter().map(|(_, wire)| wire.socket).collect(),
            outputs: outputs.iter().map(|wire| wire.socket).collect(),
        })
    }
}

/// Why a task cannot be added.
pub(crate) struct Refusal {
    /// The input that is at fault, if one is.
    pub(crate) input: Option<usize>,
    pub(crate) error: Error,
}

impl Refusal {
    pub(crate) fn of(input: usize, message: String) -> Self {
        Self { input: Some(input), error: Error::build(message) }
    }

    /// The same, said of a task or region.
    pub(crate) fn of_task(self, task: &str) -> Self {
        let place = Place { task: Some(task.into()), ..Place::default() };
        Self { error: self.error.with_kind(ErrorKind::Build).at(place), ..self }
    }
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        Self { input: None, error }
    }
}

/// Refuses wires that a task with these input sockets cannot be bound to. The executor rests on it: slices that a task gets
/// are of its types, and none that it writes is part of another.
pub(crate) fn check(sockets: &[SocketKind], wires: &[DynWire]) -> Result<(), Refusal> {
    if sockets.len() != wires.len() {
        let kinds: Vec<String> = sockets.iter().map(SocketKind::to_string).collect();
        return Err(Error::build(miscounted(&kinds, wires)).into());
    }
    for (number, (socket, wire)) in sockets.iter().zip(wires).enumerate() {
        if socket.direction == Direction::Out {
            return Err(Refusal::of(
                number,
                format!("input {number} is said to make a wire: let it read or rewrite one"),
            ));
        }
        let rewrites = socket.direction == Direction::InOut;
        if let Some((wanted, got)) = wire.mismatch(socket) {
            let does = if rewrites { "rewrites" } else { "reads" };
            return Err(Refusal::of(number, format!("input {number} {does} {wanted}, but gets {got}")));
        }
        if rewrites && wire.read_only {
            let message = format!("input {number} rewrites its wire, but {} can only be read", wire.maker);
            return Err(Refusal::of(number, message));
        }
        for (earlier, other) in wires[..number].iter().enumerate() {
            let rewriter = match (sockets[earlier].direction, socket.direction) {
                _ if other.socket.wire != wire.socket.wire => continue,
                (_, Direction::InOut) => number,
                (Direction::InOut, _) => earlier,
                _ => continue,
            };
            let message = format!(
                "inputs {earlier} and {number} are the same wire, from {}, and input {rewriter} rewrites it: give each a wire \
                 of its own",
                wire.maker
            );
            return Err(Refusal::of(number, message));
        }
    }
    Ok(())
}

/// Refuses outputs of which not each is one, with a shape.
pub(crate) fn check_outputs(sockets: &[SocketKind], shapes: &[Shape]) -> Result<()> {
    if sockets.len() != shapes.len() {
        let (outputs, shapes) = (counted(sockets.len(), "output"), counted(shapes.len(), "shape"));
        return Err(Error::build(format!("it has {outputs}, but its `lens` gives {shapes}: give one for each")));
    }
    match sockets.iter().position(|socket| socket.direction != Direction::Out) {
        Some(number) => Err(Error::build(format!("output {number} is said to read a wire: let it make one"))),
        None => Ok(()),
    }
}

/// What is said of too few wires, or too many, for these sockets.
pub(crate) fn miscounted(sockets: &[String], wires: &[DynWire]) -> String {
    let sockets = match sockets {
        [] => "no inputs".to_owned(),
        [only] => format!("1 input ({only})"),
        sockets => format!("{} inputs ({})", sockets.len(), sockets.join(", ")),
    };
    let given = match wires.len() {
        0 => "none was given".to_owned(),
        1 => "1 wire was given".to_owned(),
        wires => format!("{wires} wires were given"),
    };
    format!("it has {sockets}, but {given}{}", described(wires))
}

/// The inputs in words, to be said after what does not fit.
pub(crate) fn described(inputs: &[DynWire]) -> String {
    let inputs: Vec<String> = inputs
        .iter()
        .enumerate()
        .map(|(number, input)| {
            let most = if input.variable { "up to " } else { "" };
            format!("input {number} is {most}{} x {} from {}", input.shape, input.element(), input.maker)
        })
        .collect();
    if inputs.is_empty() { String::new() } else { format!(" ({})", inputs.join(", ")) }
}

//! Chains built at run time: tasks and wires whose types are known only when the program runs.
//!
//! The typed layer stands on this one: [`Chain::add`] forgets the types that the compiler has proven, and goes on here.

use std::fmt;
use std::sync::Arc;

use crate::chain::Chain;
use crate::dtype::Dtype;
use crate::error::{Error, ErrorKind, Place, Result, counted};
use crate::frame::{Element, Format};
use crate::shape::Shape;
use crate::task::{Bind, Step, Task};
use crate::variable::VarWire;
use crate::wire::{Inputs, Outputs, Socket, Wire};

/// What a task does with the wire of a socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Direction {
    /// Reads it.
    In,
    /// Rewrites it in place.
    InOut,
    /// Makes it.
    Out,
}

/// What a socket carries, and in which direction. Shown as `in f32`, `in-place u8`, `out variable Complex<f32>`.
#[derive(Debug, Clone, Copy)]
pub struct SocketKind {
    direction: Direction,
    variable: bool,
    pub(crate) format: Format,
}

impl SocketKind {
    /// A socket of frames of one length, for a task whose sockets are known at run time
    /// ([`RawTask`](crate::raw::RawTask)).
    ///
    /// ```
    /// use bief::raw::{Direction, SocketKind};
    ///
    /// let socket = SocketKind::fixed::<f32>(Direction::In);
    /// assert_eq!(socket.to_string(), "in f32");
    /// assert_eq!(socket.dtype().expect("a number is portable").to_string(), "f32");
    /// assert_eq!(SocketKind::variable::<u8>(Direction::Out).to_string(), "out variable u8");
    /// ```
    pub fn fixed<T: Element>(direction: Direction) -> Self {
        Self { direction, variable: false, format: Format::of::<T>() }
    }

    /// As [`fixed`](Self::fixed), for frames that have a length each.
    pub fn variable<T: Element>(direction: Direction) -> Self {
        Self { direction, variable: true, format: Format::of::<T>() }
    }

    /// As [`fixed`](Self::fixed), or as [`variable`](Self::variable), for elements of a type that is named at run time.
    ///
    /// ```
    /// use bief::raw::{Direction, SocketKind};
    ///
    /// let socket = SocketKind::of(&"complex<f32>".parse()?, Direction::InOut, false)?;
    /// assert_eq!(socket.to_string(), "in-place Complex<f32>");
    /// # Ok::<(), bief::Error>(())
    /// ```
    ///
    /// # Errors
    /// A kind of element that no known type has: see [`Dtype::register`].
    pub fn of(dtype: &Dtype, direction: Direction, variable: bool) -> Result<Self> {
        Ok(Self { direction, variable, format: dtype.format()? })
    }

    /// What the task does with its wire.
    pub fn direction(&self) -> Direction {
        self.direction
    }

    /// Whether each frame has a length of its own.
    pub fn is_variable(&self) -> bool {
        self.variable
    }

    /// The element type, such as `Complex<f32>`.
    pub fn element(&self) -> String {
        self.format.element()
    }

    /// What its elements are, for a type that is portable and known as such ([`Dtype::register`]).
    pub fn dtype(&self) -> Option<Dtype> {
        Dtype::known(self.format.id)
    }

    /// What this socket wants and the wire does not carry: what is wanted, and what there is.
    fn mismatch(&self, wire: &DynWire) -> Option<(String, String)> {
        let (wanted, got) = if self.format.id != wire.format.id {
            match (self.element(), wire.element()) {
                // Two types of one name: their paths tell which is which.
                (wanted, got) if wanted == got => (self.format.name.to_owned(), wire.format.name.to_owned()),
                different => different,
            }
        } else if self.variable != wire.variable {
            let frames = |variable| format!("frames of {} length", if variable { "variable" } else { "one" });
            (frames(self.variable), frames(wire.variable))
        } else {
            return None;
        };
        Some((wanted, format!("{got} from {}", wire.maker)))
    }
}

impl fmt::Display for SocketKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let direction = match self.direction {
            Direction::In => "in",
            Direction::InOut => "in-place",
            Direction::Out => "out",
        };
        let variable = if self.variable { "variable " } else { "" };
        write!(f, "{direction} {variable}{}", self.element())
    }
}

/// A wire whose element type is known at run time. It can be copied: what may not be read while it is rewritten is checked
/// when a task is bound to it.
///
/// It comes from [`Chain::add_dyn`], or from a typed wire by `DynWire::from(&wire)`, and becomes a typed one again by
/// [`typed`](Self::typed).
#[derive(Debug, Clone)]
pub struct DynWire {
    pub(crate) chain: u64,
    pub(crate) socket: Socket,
    pub(crate) format: Format,
    pub(crate) shape: Shape,
    /// Its frames differ in length: the lengths are the wire after it.
    pub(crate) variable: bool,
    /// No task may rewrite it: all positions of a batch, or all stages, share its one frame.
    pub(crate) read_only: bool,
    /// Who makes it, in words.
    pub(crate) maker: Arc<str>,
}

impl DynWire {
    /// The element type, such as `Complex<f32>`.
    pub fn element(&self) -> String {
        self.format.element()
    }

    /// Elements in one frame; the most that there may be, when the wire is variable.
    #[allow(clippy::len_without_is_empty, reason = "a frame's length, not a collection's")]
    pub fn len(&self) -> usize {
        self.socket.len
    }

    /// The shape of a frame: its length, unless the task that makes it says more ([`Task::shapes`]). Of a variable wire it is
    /// that of the longest frame.
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// What its elements are, for a type that is portable and known as such ([`Dtype::register`]).
    pub fn dtype(&self) -> Option<Dtype> {
        Dtype::known(self.format.id)
    }

    /// Whether each frame has a length of its own.
    pub fn is_variable(&self) -> bool {
        self.variable
    }

    /// The same wire, to be bound to tasks by [`Chain::add`].
    ///
    /// # Errors
    /// Another element type, or frames of variable length: see [`typed_var`](Self::typed_var).
    pub fn typed<T: Element>(&self) -> Result<Wire<T>> {
        self.carries(&SocketKind::fixed::<T>(Direction::In))?;
        Ok(Wire::new(self.clone()))
    }

    /// As [`typed`](Self::typed), for a wire of variable length.
    ///
    /// # Errors
    /// Another element type, or frames of one length.
    pub fn typed_var<T: Element>(&self) -> Result<VarWire<T>> {
        self.carries(&SocketKind::variable::<T>(Direction::In))?;
        Ok(VarWire::new(self.clone()))
    }

    fn carries(&self, socket: &SocketKind) -> Result<()> {
        match socket.mismatch(self) {
            None => Ok(()),
            Some((wanted, got)) => Err(Error::build(format!("a wire of {wanted} is wanted, not of {got}"))),
        }
    }

    /// The places in the table that it takes.
    pub(crate) fn places(&self) -> std::ops::Range<usize> {
        self.socket.wire..self.socket.wire + 1 + usize::from(self.variable)
    }
}

impl<T> From<&Wire<T>> for DynWire {
    fn from(wire: &Wire<T>) -> Self {
        wire.untyped.clone()
    }
}

impl<T> From<&VarWire<T>> for DynWire {
    fn from(wire: &VarWire<T>) -> Self {
        wire.untyped.clone()
    }
}

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
    /// The task, its types forgotten.
    pub fn new(task: impl Task) -> Self {
        Self { name: task.name(), task: Box::new(task) }
    }

    /// Gives it another name. A chain in which the name is taken puts a number behind it.
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
        if let Some((wanted, got)) = socket.mismatch(wire) {
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

impl Chain {
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
}

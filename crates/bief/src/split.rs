//! A program in two parts, of which one may run elsewhere: what crosses, and the tasks that carry it.

use std::sync::Arc;

use crate::chain;
use crate::dtype::Dtype;
use crate::dyn_wire::DynWire;
use crate::dynamic::{self, DynTask, Erased};
use crate::error::{Error, Place, Result};
use crate::program::Program;
use crate::raw::not_portable;
use crate::shape::Shape;
use crate::socket::{Direction, Socket, SocketKind};
use crate::stage::Mark;
use crate::task::{Node, Step};
use crate::wire::{Use, WireInfo};

/// A wire that is made before a place in a program and used after it: [`Program::crossing`].
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Crossing {
    /// Name of the task that makes it.
    pub maker: String,
    /// The element type, such as `Complex<f32>`.
    pub element: String,
    /// What its elements are; `None` for a type that is not known to be portable ([`Dtype::register`]).
    pub dtype: Option<Dtype>,
    /// The shape of a frame; of a variable wire, of the longest. It has as many elements as the wire's capacity.
    pub shape: Shape,
    /// Whether each frame has a length of its own.
    pub variable: bool,
    /// Bytes of a frame; of a variable wire, of the longest.
    pub bytes: usize,
}

impl Crossing {
    /// The socket of a task that does so with the wire.
    ///
    /// # Errors
    /// A type that is not known to be portable.
    pub fn socket(&self, direction: Direction) -> Result<SocketKind> {
        let dtype = self.dtype.as_ref();
        let dtype = dtype.ok_or_else(|| Error::build(format!("{} is not known to be portable", self.element)))?;
        SocketKind::of(dtype, direction, self.variable)
    }
}

impl Program {
    /// The wires that cross before task `at` (task 0 is the first), in the order in which they are made: what a boundary between
    /// stages there carries, and a link to another machine. Constants are at hand on both sides.
    ///
    /// ```
    /// use bief::{Chain, Flow, sink, source};
    ///
    /// let mut chain = Chain::new();
    /// let numbers = chain.add(source::from_slice(&[1.0_f32; 640], 64), ());
    /// chain.add(sink::for_each(|_: &[f32]| Ok(Flow::Next)), &numbers);
    /// let crossing = chain.build()?.crossing(1)?;
    /// assert_eq!((&*crossing[0].maker, &*crossing[0].element, crossing[0].bytes), ("SliceSource", "f32", 256));
    /// # Ok::<(), bief::Error>(())
    /// ```
    ///
    /// # Errors
    /// A place that does not lie between two tasks.
    pub fn crossing(&self, at: usize) -> Result<Vec<Crossing>> {
        Ok(self.crossing_wires(at)?.iter().map(|wire| self.described(wire)).collect())
    }

    /// Parts the program before task `at`: the tasks before it stay here, the others may go to another process, machine or device.
    /// [`Split::link`] makes programs of both.
    ///
    /// # Errors
    /// A place that does not lie between two tasks; a wire that crosses there and is not known to be portable, with both ends.
    pub fn split(self, at: usize) -> Result<Split> {
        let wires = self.crossing_wires(at)?;
        if let Some(wire) = wires.iter().find(|wire| wire.dtype().is_none()) {
            let wire_info = &self.wires[wire.socket.wire];
            let user = wire_info.uses.iter().find(|used| used.task >= at).map_or(at, |used| used.task);
            let place = Place { task: Some(Arc::clone(&self.tasks[wire_info.maker].name)), ..Place::default() };
            return Err(Error::build(format!(
                "its wire of {} to task `{}` cannot leave the process: {}, or split elsewhere",
                wire.element(),
                self.tasks[user].name,
                not_portable(wire.format).message()
            ))
            .at(place));
        }
        Ok(Split { program: self, at, wires })
    }

    fn crossing_wires(&self, at: usize) -> Result<Vec<DynWire>> {
        let count = self.tasks.len();
        if at == 0 || at >= count {
            return Err(Error::build(format!(
                "a program of {count} tasks has no two parts at task {at}: give 1 to {}",
                count - 1
            )));
        }
        // Lengths of a variable wire cross beside it, and nobody but it uses them.
        let crossing =
            |wire_info: &WireInfo| wire_info.constant.is_none() && wire_info.crosses(at) && !wire_info.uses.is_empty();
        let wires = self.wires.iter().enumerate().filter(|(_, wire_info)| crossing(wire_info));
        Ok(wires
            .map(|(wire, wire_info)| DynWire {
                chain: 0,
                socket: Socket { wire, len: wire_info.len, stride: wire_info.len },
                format: wire_info.format,
                shape: wire_info.shape.clone(),
                variable: wire_info.uses.iter().any(|used| used.variable),
                read_only: false,
                maker: format!("task `{}`", self.tasks[wire_info.maker].name).into(),
            })
            .collect())
    }

    fn described(&self, wire: &DynWire) -> Crossing {
        Crossing {
            maker: self.tasks[self.wires[wire.socket.wire].maker].name.to_string(),
            element: wire.element(),
            dtype: wire.dtype(),
            shape: wire.shape.clone(),
            variable: wire.variable,
            bytes: wire.len().saturating_mul(wire.format.size()),
        }
    }
}

/// A program in two parts, not linked yet; made by [`Program::split`].
#[derive(Debug)]
pub struct Split {
    program: Program,
    at: usize,
    wires: Vec<DynWire>,
}

impl Split {
    /// What crosses, in the order in which `send` reads it and `receive` makes it.
    pub fn crossing(&self) -> Vec<Crossing> {
        self.wires.iter().map(|wire| self.program.described(wire)).collect()
    }

    /// Two programs: the first ends with `send`, which takes the crossing wires, the second begins with `receive`,
    /// which makes them. These two [raw](DynTask::raw) tasks form the link, and are responsible for delivering every
    /// frame.
    ///
    /// Marked stages stay; the two tasks are stages of their own then.
    ///
    /// ```
    /// use std::sync::mpsc::{Receiver, Sender, channel};
    ///
    /// use bief::raw::{BatchView, RawTask};
    /// use bief::raw::{Direction, DynTask, Shape, SocketKind};
    /// use bief::{Chain, Error, Result, sink, source};
    ///
    /// struct Send(SocketKind, Sender<Vec<u8>>);
    ///
    /// impl RawTask for Send {
    ///     fn inputs(&self) -> Vec<SocketKind> {
    ///         vec![self.0]
    ///     }
    ///     fn outputs(&self) -> Vec<SocketKind> {
    ///         Vec::new()
    ///     }
    ///     fn lens(&self, _: &[Shape]) -> Result<Vec<Shape>> {
    ///         Ok(Vec::new())
    ///     }
    ///     fn run(&mut self, batch: &mut BatchView<'_>) -> Result<()> {
    ///         let input = batch.inputs.get(0)?;
    ///         batch.frames.live().try_for_each(|position| {
    ///             let frame = input.frame_bytes(position)?.to_vec();
    ///             self.1.send(frame).map_err(Error::from_source)
    ///         })
    ///     }
    /// }
    ///
    /// struct Receive(SocketKind, Shape, Receiver<Vec<u8>>);
    ///
    /// impl RawTask for Receive {
    ///     fn inputs(&self) -> Vec<SocketKind> {
    ///         Vec::new()
    ///     }
    ///     fn outputs(&self) -> Vec<SocketKind> {
    ///         vec![self.0]
    ///     }
    ///     fn lens(&self, _: &[Shape]) -> Result<Vec<Shape>> {
    ///         Ok(vec![self.1.clone()])
    ///     }
    ///     fn run(&mut self, batch: &mut BatchView<'_>) -> Result<()> {
    ///         for (position, frame) in batch.outputs.get_mut(0)?.bytes()?.chunks_mut(4 * self.1.len()).enumerate() {
    ///             match self.2.recv() {
    ///                 Ok(bytes) => frame.copy_from_slice(&bytes),
    ///                 Err(_) => {
    ///                     batch.frames.stop(position);
    ///                     break;
    ///                 }
    ///             }
    ///         }
    ///         Ok(())
    ///     }
    /// }
    ///
    /// let mut chain = Chain::new();
    /// let numbers = chain.add(source::from_slice(&[1, 2, 3, 4], 2), ());
    /// let (collect, result) = sink::collect();
    /// chain.add(collect, &numbers);
    ///
    /// let split = chain.build()?.split(1)?;
    /// let (sender, receiver) = channel();
    /// let wire = &split.crossing()[0];
    /// let send = DynTask::raw(Send(wire.socket(Direction::In)?, sender));
    /// let receive = DynTask::raw(Receive(wire.socket(Direction::Out)?, wire.shape.clone(), receiver));
    /// let (here, there) = split.link(send, receive)?;
    /// here.run()?;
    /// there.run()?;
    /// assert_eq!(result.take(), [1, 2, 3, 4]);
    /// # Ok::<(), bief::Error>(())
    /// ```
    ///
    /// # Errors
    /// A `send` that does not read exactly what crosses, or makes something; a `receive` that does not make exactly that.
    pub fn link(self, send: DynTask, receive: DynTask) -> Result<(Program, Program)> {
        let Self { program: Program { mut tasks, wires, batch, depth, waiting, marks }, at, wires: crossing } = self;
        let after = tasks.split_off(at);
        let send_name = unique(send.name, &tasks);
        let (send, rewritten) = bound_sender(send.task, &crossing, &send_name)?;
        let receive_name = unique(receive.name, &after);
        let receive = bound_receiver(receive.task, &crossing, &receive_name)?;
        let is_marked = !marks.is_empty();
        let (mut marks, mut later): (Vec<Mark>, Vec<Mark>) = marks.into_iter().partition(|mark| mark.first_task < at);
        later.iter_mut().for_each(|mark| mark.first_task = mark.first_task + 1 - at);
        if let Some(parted) = marks.last()
            && later.first().is_none_or(|next| next.first_task > 1)
        {
            // The stage in which it is parted goes on behind what receives.
            later.insert(0, Mark { name: Arc::clone(&parted.name), first_task: 1, threads: parted.threads });
        }
        if is_marked {
            marks.push(Mark { name: Arc::clone(&send_name), first_task: at, threads: 1 });
        }
        tasks.push(Node { name: send_name, step: send });
        let mut there = vec![Node { name: receive_name, step: receive }];
        there.extend(after);
        let here = Program { tasks, wires: wires_before(&wires, at, &rewritten), batch, depth, waiting, marks };
        let there = Program {
            tasks: there,
            wires: wires.into_iter().map(|wire_info| wire_info_after(wire_info, at)).collect(),
            batch,
            depth,
            waiting,
            marks: later,
        };
        Ok((here, there))
    }
}

/// A name that none of the tasks has.
fn unique(name: String, tasks: &[Node]) -> Arc<str> {
    chain::unique(name, |name| tasks.iter().any(|task| &*task.name == name))
}

/// The task that takes what crosses, and which of these wires it rewrites.
fn bound_sender(task: Box<dyn Erased>, crossing: &[DynWire], name: &Arc<str>) -> Result<(Box<dyn Step>, Vec<usize>)> {
    let sockets = task.inputs();
    dynamic::check(&sockets, crossing).map_err(|refusal| refusal.of_task(name).error)?;
    let shapes: Vec<Shape> = crossing.iter().map(|wire| wire.shape.clone()).collect();
    let made = task.lens(&shapes).map_err(|error| told(name, error.message()))?;
    if !made.is_empty() || !task.outputs().is_empty() {
        return Err(told(name, "it makes wires, but nothing comes after it: let it only read"));
    }
    let directions = sockets.iter().map(SocketKind::direction);
    let inputs: Vec<(Direction, DynWire)> = directions.zip(crossing.iter().cloned()).collect();
    let rewritten = inputs.iter().filter(|(direction, _)| *direction == Direction::InOut);
    let rewritten = rewritten.map(|(_, wire)| wire.socket.wire).collect();
    Ok((task.bind(&inputs, &[]), rewritten))
}

/// The task that makes what crosses.
fn bound_receiver(task: Box<dyn Erased>, crossing: &[DynWire], name: &Arc<str>) -> Result<Box<dyn Step>> {
    let kinds = task.outputs();
    if !task.inputs().is_empty() {
        return Err(told(name, "it reads wires, but nothing comes before it: let it only make some"));
    }
    let shapes = task.lens(&[]).and_then(|shapes| dynamic::check_outputs(&kinds, &shapes).map(|()| shapes));
    let shapes = shapes.map_err(|error| told(name, error.message()))?;
    if kinds.len() != crossing.len() {
        return Err(told(
            name,
            &format!("it makes {} wires, but {} cross: let it make each", kinds.len(), crossing.len()),
        ));
    }
    for (number, ((kind, shape), wire)) in kinds.iter().zip(&shapes).zip(crossing).enumerate() {
        if kind.format.id != wire.format.id || kind.is_variable() != wire.variable || *shape != wire.shape {
            let described = |variable, shape: &Shape, element: String| {
                format!("{}{shape} x {element}", if variable { "up to " } else { "" })
            };
            return Err(told(
                name,
                &format!(
                    "output {number} is {}, but what crosses is {} from {}: let them agree",
                    described(kind.is_variable(), shape, kind.element()),
                    described(wire.variable, &wire.shape, wire.element()),
                    wire.maker
                ),
            ));
        }
    }
    Ok(task.bind(&[], crossing))
}

fn told(task: &Arc<str>, message: &str) -> Error {
    Error::build(message).at(Place { task: Some(Arc::clone(task)), ..Place::default() })
}

/// The wires of the part before `at`, of which task `at` is now the one that sends.
fn wires_before(wires: &[WireInfo], at: usize, rewritten: &[usize]) -> Vec<WireInfo> {
    // They are in the order of their makers; constants are made before they are used.
    let made = |wire_info: &&WireInfo| wire_info.constant.is_some() || wire_info.maker < at;
    let cut = |(index, wire_info): (usize, &WireInfo)| {
        let mut uses: Vec<Use> = wire_info.uses.iter().filter(|used| used.task < at).copied().collect();
        let crosses = wire_info.constant.is_none() && wire_info.crosses(at);
        if crosses && !wire_info.uses.is_empty() {
            let variable = wire_info.uses.iter().any(|used| used.variable);
            uses.push(Use { task: at, rewrites: rewritten.contains(&index), variable });
        }
        WireInfo { last_user: if crosses { at } else { wire_info.last_user }, uses, ..wire_info.clone() }
    };
    wires.iter().take_while(made).enumerate().map(cut).collect()
}

/// A wire in the part from `at` on, of which task 0 is now the one that receives.
fn wire_info_after(wire_info: WireInfo, at: usize) -> WireInfo {
    let moved = |task: usize| task + 1 - at;
    let uses = wire_info
        .uses
        .iter()
        .filter(|used| used.task >= at)
        .map(|used| Use { task: moved(used.task), ..*used })
        .collect();
    if wire_info.constant.is_some() {
        WireInfo { uses, ..wire_info }
    } else if wire_info.maker >= at {
        WireInfo { maker: moved(wire_info.maker), last_user: moved(wire_info.last_user), uses, ..wire_info }
    } else if wire_info.crosses(at) {
        WireInfo { maker: 0, last_user: moved(wire_info.last_user), uses, ..wire_info }
    } else {
        // Nobody uses it here; it keeps its place in the table, and takes no memory.
        WireInfo { maker: usize::MAX, last_user: usize::MAX, len: 0, uses, ..wire_info }
    }
}

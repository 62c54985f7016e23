//! Wires that leave the machine: what they are, and their frames as bytes.

use bief::raw::{BatchView, Direction, DynWire, Shape, SocketKind, Sockets};
use bief::{Error, Result};
use bief_link::message::Wires;

use crate::elements::Elements;

/// What a wire carries, on both machines alike.
#[derive(Debug, Clone, PartialEq)]
pub struct WireKind {
    /// Its elements: a type that both know.
    pub elements: Elements,
    /// A frame; of a variable wire, the longest.
    pub shape: Shape,
    /// Whether each frame has a length of its own.
    pub variable: bool,
}

impl WireKind {
    /// That of a wire.
    ///
    /// # Errors
    /// Elements that mean something in this process alone.
    pub fn of(wire: &DynWire) -> Result<Self> {
        Ok(Self { elements: Elements::of(wire)?, shape: wire.shape().clone(), variable: wire.is_variable() })
    }

    /// The most bytes that a frame has in a message.
    pub fn bytes(&self) -> usize {
        self.shape.len().saturating_mul(self.elements.size())
    }

    pub(crate) fn socket(&self, direction: Direction) -> Result<SocketKind> {
        self.elements.socket(direction, self.variable)
    }

    /// The sockets of all of them; an element type that is not registered here is told when the task is made.
    pub(crate) fn sockets(kinds: &[Self], direction: Direction) -> Result<Vec<SocketKind>> {
        kinds.iter().map(|kind| kind.socket(direction)).collect()
    }

    pub(crate) fn shapes(kinds: &[Self]) -> Vec<Shape> {
        kinds.iter().map(|kind| kind.shape.clone()).collect()
    }
}

/// Frames of a task's wires as bytes.
pub(crate) struct Writer {
    kinds: Vec<WireKind>,
    /// Elements that had to be coded, of all wires of a frame.
    coded: Vec<u8>,
}

impl Writer {
    pub(crate) fn new(kinds: &[WireKind]) -> Self {
        Self { kinds: kinds.to_vec(), coded: Vec::new() }
    }

    pub(crate) fn kinds(&self) -> &[WireKind] {
        &self.kinds
    }

    /// The inputs of a batch at a position, into a buffer.
    pub(crate) fn write<'b>(
        &mut self,
        batch: &BatchView<'_>,
        position: usize,
        buffer: &'b mut Vec<u8>,
    ) -> Result<Wires<'b>> {
        self.coded.clear();
        for (number, kind) in self.kinds.iter().enumerate() {
            kind.elements.write(batch.inputs.get(number)?, position, &mut self.coded)?;
        }
        let (mut frames, mut coded) = (Vec::with_capacity(self.kinds.len()), &*self.coded);
        for (number, kind) in self.kinds.iter().enumerate() {
            let socket = batch.inputs.get(number)?;
            let elements = socket.lens().map_or(socket.len(), |lens| lens[position]);
            let bytes = match kind.elements {
                Elements::Plain(_) => socket.frame_bytes(position)?,
                Elements::Coded(_) => {
                    let (bytes, rest) = coded.split_at(elements * kind.elements.size());
                    coded = rest;
                    bytes
                }
            };
            let elements = u32::try_from(elements).map_err(|_| Error::new("a frame of more than 2^32 elements"))?;
            frames.push((elements, bytes));
        }
        Ok(Wires::of(frames, buffer))
    }
}

/// Puts what came to the sockets of a batch, from a number on, at a position.
///
/// # Errors
/// What does not fit: another number of wires, other lengths, bytes that stand for no element.
pub(crate) fn read(
    kinds: &[WireKind],
    wires: Wires<'_>,
    (sockets, first): (&mut Sockets<'_>, usize),
    position: usize,
) -> Result<()> {
    let mut came = wires.iter();
    for (number, kind) in kinds.iter().enumerate() {
        let mut socket = sockets.get_mut(first + number)?;
        let Some((elements, bytes)) = came.next() else {
            return Err(Error::new(format!("wire {number} did not come: are both sides of one version?")));
        };
        let (longest, size) = (socket.view().len(), kind.elements.size());
        let elements = elements as usize;
        let fits = if kind.variable { elements <= longest } else { elements == longest };
        if !fits || bytes.len() != elements * size {
            return Err(Error::new(format!(
                "wire {number}: {elements} elements in {} bytes came where {longest} of {size} bytes are wanted",
                bytes.len()
            )));
        }
        kind.elements
            .read(&mut socket, position, bytes)
            .map_err(|error| Error::new(format!("wire {number}: {error}")))?;
        if kind.variable {
            socket.set_len(position, elements)?;
        }
    }
    match came.next() {
        None => Ok(()),
        Some(_) => Err(Error::new("more wires came than there are: are both sides of one version?")),
    }
}

//! Wires that leave the machine: what they are, and their frames as bytes.

use bief::raw::{BatchView, Direction, Dtype, DynWire, Shape, SocketKind};
use bief::{Error, Result};
use bief_link::message::Wires;

/// What a wire carries, on both machines alike.
#[derive(Debug, Clone, PartialEq)]
pub struct WireKind {
    /// Its elements: a type that both know.
    pub dtype: Dtype,
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
        let element = wire.element();
        let dtype = wire.dtype().ok_or_else(|| {
            Error::new(format!(
                "a wire of {element} cannot leave this machine: make the type `Portable` and register it, or cut elsewhere"
            ))
        })?;
        Ok(Self { dtype, shape: wire.shape().clone(), variable: wire.is_variable() })
    }

    pub(crate) fn socket(&self, direction: Direction) -> Result<SocketKind> {
        SocketKind::of(&self.dtype, direction, self.variable)
    }

    /// The sockets of all of them; an element type that is not registered here is told when the task is made.
    pub(crate) fn sockets(kinds: &[Self], direction: Direction) -> Result<Vec<SocketKind>> {
        kinds.iter().map(|kind| kind.socket(direction)).collect()
    }

    pub(crate) fn shapes(kinds: &[Self]) -> Vec<Shape> {
        kinds.iter().map(|kind| kind.shape.clone()).collect()
    }
}

/// The inputs of a batch at a position, into a buffer.
pub(crate) fn write<'b>(batch: &BatchView<'_>, position: usize, buffer: &'b mut Vec<u8>) -> Result<Wires<'b>> {
    let mut frames = Vec::with_capacity(batch.inputs.count());
    for number in 0..batch.inputs.count() {
        let socket = batch.inputs.get(number)?;
        let elements = socket.lens().map_or(socket.len(), |lens| lens[position]);
        let elements = u32::try_from(elements).map_err(|_| Error::new("a frame of more than 2^32 elements"))?;
        frames.push((elements, socket.frame_bytes(position)?));
    }
    Ok(Wires::of(frames, buffer))
}

/// Puts what came to the outputs of a batch at a position.
///
/// # Errors
/// What does not fit: another number of wires, other lengths.
pub(crate) fn read(wires: Wires<'_>, batch: &mut BatchView<'_>, position: usize) -> Result<()> {
    let mut came = wires.iter();
    for (number, mut socket) in batch.outputs.iter_mut().enumerate() {
        let Some((elements, bytes)) = came.next() else {
            return Err(Error::new(format!("wire {number} did not come: are both sides of one version?")));
        };
        let (longest, size) = (socket.view().len(), socket.view().dtype().map_or(0, Dtype::size));
        let elements = elements as usize;
        let fits = if socket.view().is_variable() { elements <= longest } else { elements == longest };
        if !fits || bytes.len() != elements * size {
            return Err(Error::new(format!(
                "wire {number}: {elements} elements in {} bytes came where {longest} of {size} bytes are wanted",
                bytes.len()
            )));
        }
        let start = position * socket.view().stride() * size;
        socket.bytes()?[start..start + bytes.len()].copy_from_slice(bytes);
        if socket.view().is_variable() {
            socket.set_len(position, elements)?;
        }
    }
    match came.next() {
        None => Ok(()),
        Some(_) => Err(Error::new("more wires came than there are: are both sides of one version?")),
    }
}

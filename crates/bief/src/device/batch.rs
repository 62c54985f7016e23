//! The frames of a batch, or of several, as a task on a device sees them.

use std::marker::PhantomData;

use crate::error::Result;
use crate::frame::Batch;
use crate::socket::Socket;
use crate::wire::{Inputs, Outputs};

/// What a lane of a device works on at a time, a batch or several that were gathered: the frames that are there, with all that the task
/// reads and writes of each.
pub struct DeviceBatch<'b, I, O> {
    of: Batches<'b>,
    inputs: &'b [Socket],
    outputs: &'b [Socket],
    stays: &'b [bool],
    /// The batch and the frame in it that are worked on: those before are done. The first, unless `for_each` has come further.
    place: &'b mut usize,
    position: &'b mut usize,
    first: (usize, usize),
    sockets: PhantomData<fn(I, O)>,
}

/// Batches, each with what its wires point at.
#[derive(Clone, Copy)]
pub(super) enum Batches<'b> {
    One(&'b [*mut u8], &'b Batch),
    Several(&'b [Box<[*mut u8]>], &'b [Batch]),
}

impl<'b> Batches<'b> {
    fn count(self) -> usize {
        match self {
            Self::One(..) => 1,
            Self::Several(tables, batches) => tables.len().min(batches.len()),
        }
    }

    fn at(self, place: usize) -> (&'b [*mut u8], &'b Batch) {
        match self {
            Self::One(table, batch) => (table, batch),
            Self::Several(tables, batches) => (&tables[place], &batches[place]),
        }
    }

    /// Where all live frames are.
    fn live(self) -> impl Iterator<Item = (usize, usize)> {
        (0..self.count()).flat_map(move |place| {
            let (_, batch) = self.at(place);
            (0..batch.count).filter(move |&position| batch.is_live(position)).map(move |position| (place, position))
        })
    }
}

impl<'b, I: Inputs, O: Outputs> DeviceBatch<'b, I, O> {
    /// # Safety
    /// For each of the sockets, each table points at a live buffer of its type for all frames of its batch, which nobody else uses for
    /// as long as this lives; they are those of a task with these inputs and outputs.
    pub(super) unsafe fn new(
        of: Batches<'b>,
        (inputs, outputs): (&'b [Socket], &'b [Socket]),
        stays: &'b [bool],
        (place, position): (&'b mut usize, &'b mut usize),
    ) -> Self {
        let first = of.live().next().unwrap_or_default();
        (*place, *position) = first;
        Self { of, inputs, outputs, stays, place, position, first, sockets: PhantomData }
    }

    /// How many frames there are.
    pub fn frames(&self) -> usize {
        (0..self.of.count()).map(|place| self.of.at(place).1.live()).sum()
    }

    /// The number of the wire of this input, if its frames are on the device, where the task before has left them under this number.
    /// What [`for_each`](Self::for_each) gives of it then is not what was made, but for the lengths of frames.
    pub fn input_there(&self, input: usize) -> Option<usize> {
        self.there(self.inputs.get(input)?)
    }

    /// The number of the wire of this output, if its frames are to be left on the device, under this number; their lengths alone are
    /// written, by the last [`for_each`](Self::for_each): each one begins with empty frames.
    pub fn output_there(&self, output: usize) -> Option<usize> {
        self.there(self.outputs.get(output)?)
    }

    fn there(&self, socket: &Socket) -> Option<usize> {
        self.stays.get(socket.wire).is_some_and(|&stays| stays).then_some(socket.wire)
    }

    /// Does something with each frame, in order, up to the first error, which then has this frame's number: the frames before it are
    /// delivered, and so must be done.
    ///
    /// # Errors
    /// That of `act`.
    pub fn for_each(&mut self, mut act: impl FnMut(I::Slices<'_>, O::Slices<'_>) -> Result<()>) -> Result<()> {
        for (place, position) in self.of.live() {
            (*self.place, *self.position) = (place, position);
            let (table, _) = self.of.at(place);
            // SAFETY: `new`'s caller promises live buffers for every frame of each batch, which are used by nobody else; the slices of a
            // frame are gone before they are made again, as `act` cannot keep them.
            let (inputs, outputs) =
                unsafe { (I::slices(table, self.inputs, position), O::slices(table, self.outputs, position)) };
            act(inputs, outputs)?;
        }
        // Whoever fails now has done none of them.
        (*self.place, *self.position) = self.first;
        Ok(())
    }
}

impl<I, O> std::fmt::Debug for DeviceBatch<'_, I, O> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (_, batch) = self.of.at(0);
        f.debug_struct("DeviceBatch").field("first", &batch.first).field("batches", &self.of.count()).finish()
    }
}

//! The frames of a batch, or of several, as a task on a device sees them.

use std::marker::PhantomData;

use super::Kept;
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
    kept: &'b [Kept],
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

    /// How many there may be.
    fn most(self) -> usize {
        match self {
            Self::One(..) => 1,
            Self::Several(tables, _) => tables.len(),
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
        kept: &'b [Kept],
        (place, position): (&'b mut usize, &'b mut usize),
    ) -> Self {
        let first = of.live().next().unwrap_or_default();
        (*place, *position) = first;
        Self { of, inputs, outputs, kept, place, position, first, sockets: PhantomData }
    }

    /// How many frames there are.
    pub fn frames(&self) -> usize {
        (0..self.of.count()).map(|place| self.of.at(place).1.live()).sum()
    }

    /// How many frames a launch may have, if all its batches are as long as the longest of these: what to make room for at once, as room
    /// that is made again while others wait is dear.
    pub fn most_frames(&self) -> usize {
        (0..self.of.count()).map(|place| self.of.at(place).1.count).max().unwrap_or(0) * self.of.most()
    }

    /// The number of the wire of this input, if the tasks of the lane keep its frames on the device, under this number. Unless they
    /// [come](Self::input_comes) with this task, what [`for_each`](Self::for_each) gives of it then is not what was made, but for the
    /// lengths of frames.
    pub fn input_there(&self, input: usize) -> Option<usize> {
        there(self.inputs.get(input)?, self.kept)
    }

    /// Whether the frames of this input are to be copied to the device: no task of the lane has had them there before.
    pub fn input_comes(&self, input: usize) -> bool {
        self.inputs.get(input).is_none_or(|socket| kept(socket, self.kept).comes)
    }

    /// Whether the frames of this input, which the task rewrites, are to be copied back.
    pub fn input_returns(&self, input: usize) -> bool {
        self.inputs.get(input).is_none_or(|socket| kept(socket, self.kept).returns)
    }

    /// Whether cores use the frames of this wire, too, which tasks of the lane keep.
    pub fn crosses(&self, wire: usize) -> bool {
        self.kept.get(wire).is_none_or(|kept| kept.crosses)
    }

    /// The number of the wire of this output, if its frames are to be left on the device, under this number. The last
    /// [`for_each`](Self::for_each) writes their lengths: each one begins with empty frames.
    pub fn output_there(&self, output: usize) -> Option<usize> {
        there(self.outputs.get(output)?, self.kept)
    }

    /// Whether the frames of this output are to be copied back.
    pub fn output_returns(&self, output: usize) -> bool {
        self.outputs.get(output).is_none_or(|socket| kept(socket, self.kept).returns)
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

fn kept(socket: &Socket, all: &[Kept]) -> Kept {
    all.get(socket.wire).copied().unwrap_or(Kept::ALONE)
}

fn there(socket: &Socket, all: &[Kept]) -> Option<usize> {
    kept(socket, all).there.then_some(socket.wire)
}

impl<I, O> std::fmt::Debug for DeviceBatch<'_, I, O> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (_, batch) = self.of.at(0);
        f.debug_struct("DeviceBatch").field("first", &batch.first).field("batches", &self.of.count()).finish()
    }
}

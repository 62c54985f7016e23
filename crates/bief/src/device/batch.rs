//! The frames of a batch as a task on a device sees them.

use std::marker::PhantomData;

use crate::error::Result;
use crate::frame::Batch;
use crate::socket::Socket;
use crate::wire::{Inputs, Outputs};

/// A batch in a lane of a device: the frames that are there, with all that the task reads and writes of each.
pub struct DeviceBatch<'b, I, O> {
    table: &'b [*mut u8],
    inputs: &'b [Socket],
    outputs: &'b [Socket],
    stays: &'b [bool],
    batch: &'b Batch,
    /// The frame that is worked on: those before it are done. The first one, unless `for_each` has come further.
    at: &'b mut usize,
    first: usize,
    sockets: PhantomData<fn(I, O)>,
}

impl<'b, I: Inputs, O: Outputs> DeviceBatch<'b, I, O> {
    /// # Safety
    /// For each of the sockets, `table` points at a live buffer of its type for all frames of the batch, which nobody else uses for
    /// as long as this batch lives; they are those of a task with these inputs and outputs.
    pub(super) unsafe fn new(
        table: &'b [*mut u8],
        (inputs, outputs): (&'b [Socket], &'b [Socket]),
        stays: &'b [bool],
        batch: &'b Batch,
        at: &'b mut usize,
    ) -> Self {
        let first = (0..batch.count).find(|&position| batch.is_live(position)).unwrap_or(0);
        *at = first;
        Self { table, inputs, outputs, stays, batch, at, first, sockets: PhantomData }
    }

    /// How many frames there are.
    pub fn frames(&self) -> usize {
        self.batch.live()
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
        for position in (0..self.batch.count).filter(|&position| self.batch.is_live(position)) {
            *self.at = position;
            // SAFETY: `new`'s caller promises live buffers for every frame of the batch, which are used by nobody else; the slices of a
            // frame are gone before they are made again, as `act` cannot keep them.
            let (inputs, outputs) = unsafe {
                (I::slices(self.table, self.inputs, position), O::slices(self.table, self.outputs, position))
            };
            act(inputs, outputs)?;
        }
        // Whoever fails now has done none of them.
        *self.at = self.first;
        Ok(())
    }
}

impl<I, O> std::fmt::Debug for DeviceBatch<'_, I, O> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DeviceBatch").field("first", &self.batch.first).field("frames", &self.batch.live()).finish()
    }
}

//! What the tasks of one lane have in common: a queue, and the frames that stay on the device between them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use bief::Result;
use bief::chain::{Inputs, Outputs};
use bief::device::{Device, DeviceBatch};
use bief_opencl::{Buffer, OpenCl, Queue};
use bytemuck::NoUninit;
use num_complex::Complex32;

/// Bytes of a symbol.
pub(super) const SYMBOL: usize = size_of::<Complex32>();

/// A queue, and frames by their wires.
pub(super) struct Lane {
    pub(super) queue: Queue,
    there: Mutex<HashMap<usize, Room>>,
}

impl Lane {
    /// That of a device's lane.
    pub(super) fn of(device: &Device, driver: &OpenCl) -> Result<Arc<Self>> {
        device.in_common(|| Ok(Self { queue: Queue::new(driver)?, there: Mutex::default() }))
    }

    /// Does something with frames: those of a wire that the lane keeps, or others.
    pub(super) fn with<T>(
        &self,
        there: Option<Place>,
        others: &mut Room,
        act: impl FnOnce(&mut Room) -> Result<T>,
    ) -> Result<T> {
        let Some(place) = there else { return act(others) };
        let mut kept = self.there.lock().unwrap_or_else(PoisonError::into_inner);
        act(kept.entry(place.wire).or_insert_with(|| place.room()))
    }

    /// Copies frames of the first input that come from cores to the device, at equal distances: to where the lane keeps them, or to others.
    /// `copy` writes one at its place, of `stride` bytes.
    pub(super) fn bring<I: Inputs, O: Outputs>(
        &self,
        batch: &mut DeviceBatch<'_, I, O>,
        others: &mut Room,
        stride: usize,
        mut copy: impl FnMut(I::Slices<'_>, O::Slices<'_>, &mut [u8]),
    ) -> Result<()> {
        if !batch.input_comes(0) {
            return Ok(());
        }
        let frames = Frames::of(batch);
        self.with(Place::of_input(batch, 0), others, |room| {
            let mut copied = Ok(());
            let buffer = room.of_frames(&self.queue, frames, stride)?;
            self.queue.entering(|| {
                buffer.fill(frames.here * stride, |there| {
                    let mut places = there.chunks_exact_mut(stride);
                    copied = batch.for_each(|inputs, outputs| {
                        if let Some(place) = places.next() {
                            copy(inputs, outputs, place);
                        }
                        Ok(())
                    });
                })
            })?;
            copied
        })
    }

    /// Waits, and takes back what was fetched of frames that the lane keeps, or of others: `copy` gets the bytes of one frame.
    pub(super) fn take<I: Inputs, O: Outputs>(
        &self,
        batch: &mut DeviceBatch<'_, I, O>,
        there: Option<Place>,
        others: &mut Room,
        mut copy: impl FnMut(I::Slices<'_>, O::Slices<'_>, &[u8]) -> Result<()>,
    ) -> Result<()> {
        self.queue.wait()?;
        self.with(there, others, |room| {
            let stride = room.stride;
            let buffer = room.held()?;
            self.queue.leaving(|| {
                let mut rows = buffer.fetched(batch.frames() * stride).chunks_exact(stride);
                batch.for_each(|inputs, outputs| rows.next().map_or(Ok(()), |row| copy(inputs, outputs, row)))?;
                buffer.release()
            })
        })
    }

    /// The same with those of two wires.
    pub(super) fn with_both<T>(
        &self,
        [first, second]: [Option<Place>; 2],
        [others, more]: [&mut Room; 2],
        act: impl FnOnce(&mut Room, &mut Room) -> Result<T>,
    ) -> Result<T> {
        // Taken out for as long, as a map lends one at a time.
        let take = |place: &Place| self.there.lock().unwrap_or_else(PoisonError::into_inner).remove(&place.wire);
        let mut taken = second.map(|place| (place.wire, take(&place).unwrap_or_else(|| place.room())));
        let done = self.with(first, others, |first| match &mut taken {
            Some((_, second)) => act(first, second),
            None => act(first, more),
        });
        if let Some((wire, room)) = taken {
            self.there.lock().unwrap_or_else(PoisonError::into_inner).insert(wire, room);
        }
        done
    }
}

/// A wire whose frames the tasks of a lane keep on the device.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place {
    wire: usize,
    crosses: bool,
}

impl Place {
    pub(super) fn of_input<I: Inputs, O: Outputs>(batch: &DeviceBatch<'_, I, O>, input: usize) -> Option<Self> {
        batch.input_there(input).map(|wire| Self { wire, crosses: batch.crosses(wire) })
    }

    pub(super) fn of_output<I: Inputs, O: Outputs>(batch: &DeviceBatch<'_, I, O>, output: usize) -> Option<Self> {
        batch.output_there(output).map(|wire| Self { wire, crosses: batch.crosses(wire) })
    }

    fn room(self) -> Room {
        if self.crosses { Room::default() } else { Room::of_device() }
    }
}

/// How many frames there are, and how many a launch may have.
#[derive(Debug, Clone, Copy)]
pub(super) struct Frames {
    here: usize,
    most: usize,
}

impl Frames {
    pub(super) fn of<I: Inputs, O: Outputs>(batch: &DeviceBatch<'_, I, O>) -> Self {
        Self { here: batch.frames(), most: batch.most_frames() }
    }
}

/// A buffer that is made when it is known how much it must hold, and again when that is more.
#[derive(Debug, Default)]
pub(super) struct Room {
    buffer: Option<Buffer>,
    of_device: bool,
    /// Of frames that lie there: bytes from one to the next.
    pub(super) stride: usize,
}

impl Room {
    /// For what cores never touch, but for a rare look.
    pub(super) fn of_device() -> Self {
        Self { of_device: true, ..Self::default() }
    }

    /// With room for so many bytes.
    ///
    /// # Errors
    /// More than the device has.
    pub(super) fn of(&mut self, queue: &Queue, bytes: usize) -> Result<&mut Buffer> {
        if self.buffer.as_ref().is_none_or(|buffer| buffer.len() < bytes) {
            self.buffer = None;
            // Some more, so that frames that grow little by little do not make it anew each time.
            let bytes = bytes + bytes / 8;
            let make = if self.of_device { Buffer::of_device } else { Buffer::new };
            self.buffer = Some(make(queue, bytes)?);
        }
        Ok(self.buffer.as_mut().expect("it was made"))
    }

    /// With room for frames of so many bytes each, of as many as a launch may have, where the device has so much.
    ///
    /// # Errors
    /// More than the device has.
    pub(super) fn of_frames(&mut self, queue: &Queue, frames: Frames, bytes: usize) -> Result<&mut Buffer> {
        self.stride = bytes;
        let [here, most] = [frames.here, frames.most].map(|frames| frames * bytes);
        if self.buffer.as_ref().is_none_or(|buffer| buffer.len() < here) && self.of(queue, most).is_err() {
            self.of(queue, here)?;
        }
        self.held()
    }

    /// What it holds now.
    ///
    /// # Errors
    /// Nothing was put there.
    pub(super) fn held(&mut self) -> Result<&mut Buffer> {
        self.buffer.as_mut().ok_or_else(|| bief::Error::new("no frames were left on the device"))
    }

    /// With these values.
    ///
    /// # Errors
    /// More than the device has, or one that refuses.
    pub(super) fn filled<T: NoUninit>(&mut self, queue: &Queue, values: &[T]) -> Result<&Buffer> {
        let bytes: &[u8] = bytemuck::cast_slice(values);
        let buffer = self.of(queue, bytes.len())?;
        if !bytes.is_empty() {
            buffer.fill(bytes.len(), |there| there.copy_from_slice(bytes))?;
        }
        Ok(buffer)
    }
}

/// Looks at each frame of a batch. One that is wrong keeps back those before it, too: none has begun.
///
/// # Errors
/// The first that `act` tells.
pub(super) fn for_all<I: Inputs, O: Outputs>(
    batch: &mut DeviceBatch<'_, I, O>,
    mut act: impl FnMut(I::Slices<'_>, O::Slices<'_>) -> Result<()>,
) -> Result<()> {
    let mut wrong = Ok(());
    batch.for_each(|inputs, outputs| {
        if wrong.is_ok() {
            wrong = act(inputs, outputs);
        }
        Ok(())
    })?;
    wrong
}

/// Writes values to the beginning of bytes.
pub(super) fn put<T: NoUninit>(place: &mut [u8], values: &[T]) {
    let bytes = bytemuck::cast_slice(values);
    place[..bytes.len()].copy_from_slice(bytes);
}

/// Reads values from the beginning of bytes.
pub(super) fn get<T: bytemuck::Pod>(values: &mut [T], place: &[u8]) {
    let bytes = bytemuck::cast_slice_mut(values);
    bytes.copy_from_slice(&place[..bytes.len()]);
}

//! Devices: tasks that run beside the cores, in lanes.
//!
//! A stage on a device has a thread for each lane, which waits most of the time: it takes a batch, has it copied, has the tasks'
//! [`Offload`]s work on it, has the results copied back, and hands them on under the batch's number. Lanes are replicas to all
//! others: order, skipped frames, the end of the stream and faults are theirs.

mod batch;
mod emulated;
mod lane;

use std::sync::Arc;

pub use batch::DeviceBatch;
pub(crate) use lane::{Lane, OnDevice};

use crate::error::Result;
use crate::figures::Figures;
use crate::machine::{DeviceSpec, Machine};
use crate::sync::Mutex;
use crate::task::Task;
use crate::wire::{Inputs, Outputs, WireInfo};
use emulated::Emulated;

/// A device that is open: [`Task::on_device`] gets it, to say how the task runs there.
///
/// For now all devices are emulated: what a `--machine` file tells ([`DeviceSpec`]), on the cores of this machine.
#[derive(Debug, Clone)]
pub struct Device(Arc<Opened>);

#[derive(Debug)]
struct Opened {
    spec: DeviceSpec,
    /// What reads, what works and what writes: each does so for one lane at a time.
    parts: [Mutex<()>; 3],
}

impl Device {
    /// The device of that name, of those that a machine has.
    pub(crate) fn open(machine: &Machine, name: &str) -> Option<Self> {
        let spec = machine.device(name)?.clone();
        Some(Self(Arc::new(Opened { spec, parts: Default::default() })))
    }

    /// Its name, which is that of a kind in profiles and schedules.
    pub fn name(&self) -> &str {
        &self.0.spec.name
    }

    /// How many batches it has under way at a time.
    pub fn lanes(&self) -> usize {
        self.0.spec.lanes as usize
    }

    /// What a task does by its own code, frame by frame: an emulated device has no other. It takes as much longer as the device
    /// costs. Each lane has its own.
    ///
    /// A task on a device passes every frame on: one that skips a frame, or stops, fails there.
    pub fn emulate<T: Task>(&self, task: T) -> OffloadOf<T> {
        Box::new(Emulated(task))
    }
}

/// A task as one lane of a device runs it ([`Task::on_device`]). It remembers nothing from batch to batch, and passes every frame on.
pub trait Offload<I: Inputs, O: Outputs>: Send {
    /// Has the device work on a batch. It may return before that is done.
    ///
    /// # Errors
    /// What went wrong: it ends the run, as an error of [`Task::run`] does. Say what to do about it. No frame of the batch is
    /// delivered, but for those before the one at which [`for_each`](DeviceBatch::for_each) failed.
    fn enqueue(&mut self, batch: &mut DeviceBatch<'_, I, O>) -> Result<()>;

    /// Waits until the batch is done, and writes what the device cannot write.
    ///
    /// # Errors
    /// As [`enqueue`](Self::enqueue).
    fn complete(&mut self, batch: &mut DeviceBatch<'_, I, O>) -> Result<()> {
        let _ = batch;
        Ok(())
    }

    /// As [`Task::figures`].
    fn figures(&self, figures: &mut Figures) {
        let _ = figures;
    }

    /// As [`Task::finish`], once after the last batch.
    ///
    /// # Errors
    /// As there.
    fn finish(&mut self) -> Result<()> {
        Ok(())
    }

    /// As [`Task::reset`], before each run but the first.
    ///
    /// # Errors
    /// As there.
    fn reset(&mut self) -> Result<()> {
        Ok(())
    }
}

/// What [`Task::on_device`] gives for a task of that type.
pub type OffloadOf<T> = Box<dyn Offload<<T as Task>::In, <T as Task>::Out>>;

/// Bytes of a frame on all wires that cross the chain before task `end`: what is copied where a stage on a device begins or ends.
pub(crate) fn crossing_bytes(wires: &[WireInfo], end: usize) -> u64 {
    let crossing = wires.iter().filter(|wire| wire.constant.is_none() && wire.crosses(end));
    crossing.map(|wire| (wire.len * wire.format.size()) as u64).sum()
}

//! A lane: one batch under way on a device.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bief_machine::clock::nanoseconds;

use super::batch::Batches;
use super::{By, Device, DeviceBatch, Offload};
use crate::error::Result;
use crate::figures::Figures;
use crate::frame::Batch;
use crate::socket::Socket;
use crate::sync::PoisonError;
use crate::task::{Step, Turn};
use crate::wire::{Inputs, Outputs};

/// A task on a device, and the wires that it is bound to.
pub(crate) struct OnDevice<I, O> {
    pub(crate) offload: Box<dyn Offload<I, O>>,
    pub(crate) inputs: Box<[Socket]>,
    pub(crate) outputs: Box<[Socket]>,
    /// Which wires stay on the device.
    pub(crate) stays: Box<[bool]>,
    /// What the last batch took to be copied.
    pub(crate) copied: Option<[Duration; 2]>,
}

impl<I: Inputs, O: Outputs> OnDevice<I, O> {
    /// # Safety
    /// As [`Step::run`], of each of the batches.
    unsafe fn work(&mut self, batches: Batches<'_>, at: (&mut usize, &mut usize)) -> Result<()> {
        let sockets = (&*self.inputs, &*self.outputs);
        // SAFETY: the caller promises live buffers for every position of the batches; the sockets are those that the task was bound to,
        // whose inputs and outputs these are.
        let mut batch = unsafe { DeviceBatch::new(batches, sockets, &self.stays, at) };
        self.offload.enqueue(&mut batch)?;
        self.offload.complete(&mut batch)?;
        self.copied = self.offload.copied();
        Ok(())
    }
}

impl<I: Inputs + 'static, O: Outputs + 'static> Step for OnDevice<I, O> {
    unsafe fn run_frame(&mut self, table: &[*mut u8], position: usize) -> Result<Turn> {
        let mut alone = Batch::new(position + 1);
        alone.count = position + 1;
        (0..position).for_each(|before| alone.skip(before));
        // SAFETY: passed on to the caller.
        unsafe { self.run(table, &mut alone, &mut 0)? };
        Ok(Turn::Leave)
    }

    unsafe fn run(&mut self, table: &[*mut u8], batch: &mut Batch, at: &mut usize) -> Result<()> {
        // SAFETY: passed on to the caller.
        unsafe { self.work(Batches::One(table, batch), (&mut 0, at)) }
    }

    unsafe fn run_gathered(
        &mut self,
        tables: &[Box<[*mut u8]>],
        batches: &mut [Batch],
        at: (&mut usize, &mut usize),
    ) -> Result<()> {
        // SAFETY: passed on to the caller.
        unsafe { self.work(Batches::Several(tables, batches), at) }
    }

    fn replica(&self) -> Option<Box<dyn Step>> {
        None
    }

    fn takes_there(&self, wire: usize) -> bool {
        let inputs = self.inputs.iter().enumerate().filter(|(_, socket)| socket.wire == wire);
        let outputs = self.outputs.iter().enumerate().filter(|(_, socket)| socket.wire == wire);
        let (mut inputs, mut outputs) = (inputs.peekable(), outputs.peekable());
        (inputs.peek().is_some() || outputs.peek().is_some())
            && inputs.all(|(input, _)| self.offload.takes_there(input))
            && outputs.all(|(output, _)| self.offload.leaves_there(output))
    }

    fn copied(&mut self) -> Option<[Duration; 2]> {
        self.copied.take()
    }

    fn keep_there(&mut self, stays: &[bool]) {
        self.stays = stays.into();
    }

    fn figures(&self, figures: &mut Figures) {
        self.offload.figures(figures);
    }

    fn finish(&mut self) -> Result<()> {
        self.offload.finish()
    }

    fn reset(&mut self) -> Result<()> {
        self.offload.reset()
    }
}

/// What a batch has cost in this run; on an emulated device, beside its tasks' own code.
pub(crate) struct Lane {
    costs: Costs,
    /// Bytes of a frame that are copied in, and back.
    bytes: [u64; 2],
    /// How long it kept the parts of the device busy in this run.
    pub(crate) busy: [Duration; 3],
    /// How often it had the device work in this run.
    pub(crate) launches: u64,
}

/// What its tasks cost there.
pub(crate) struct Costs {
    device: Device,
    names: Vec<Arc<str>>,
}

/// The parts of a device.
const READS: usize = 0;
const WORKS: usize = 1;
const WRITES: usize = 2;

impl Lane {
    /// Of tasks with these names, which copies so many bytes of a frame in, and back.
    pub(crate) fn new(device: Device, names: Vec<Arc<str>>, bytes: [u64; 2]) -> Self {
        Self { costs: Costs { device, names }, bytes, busy: [Duration::ZERO; 3], launches: 0 }
    }

    pub(crate) fn clear(&mut self) {
        (self.busy, self.launches) = ([Duration::ZERO; 3], 0);
    }

    /// Has so many frames copied in, lets `work` work on them, and has them copied back. On an emulated device each takes its turn with
    /// the other lanes; one that is there does all of that itself, and `work` answers how long it copied.
    pub(crate) fn pass(&mut self, frames: u64, work: impl FnOnce(&Costs) -> Result<[Duration; 2]>) -> Result<()> {
        self.launches += 1;
        if let By::Driver(_) = self.costs.device.opened.by {
            let start = Instant::now();
            let [read, write] = work(&self.costs)?;
            self.busy[READS] += read;
            self.busy[WRITES] += write;
            self.busy[WORKS] += start.elapsed().saturating_sub(read + write);
            return Ok(());
        }
        let copy = |bytes: u64| {
            let time = Duration::from_nanos(self.costs.device.opened.spec.copy_ns(bytes * frames) as u64);
            move |_: &Costs| rest(time)
        };
        let [read, write] = self.bytes.map(copy);
        self.turn(READS, read);
        self.turn(WORKS, work)?;
        self.turn(WRITES, write);
        Ok(())
    }

    /// Does something while no other lane uses that part of the device.
    fn turn<T>(&mut self, part: usize, act: impl FnOnce(&Costs) -> T) -> T {
        let By::Emulation(parts) = &self.costs.device.opened.by else { return act(&self.costs) };
        let turn = parts[part].lock().unwrap_or_else(PoisonError::into_inner);
        let start = Instant::now();
        let done = act(&self.costs);
        self.busy[part] += start.elapsed();
        drop(turn);
        done
    }
}

impl Costs {
    /// Waits until a task, by its position, that took a core so long would be done on the device; answers how long that takes in all.
    pub(crate) fn work_off(&self, task: usize, time: Duration) -> Duration {
        if let By::Driver(_) = self.device.opened.by {
            return time;
        }
        let core_ns = nanoseconds(time) as f64;
        let there = Duration::from_nanos(self.device.opened.spec.task_ns(&self.names[task], core_ns) as u64);
        rest(there.saturating_sub(time));
        there.max(time)
    }
}

/// What a thread may sleep too long, about.
const OVERSLEPT: Duration = Duration::from_micros(100);

/// Waits without a core as long as that can be done in time.
fn rest(time: Duration) {
    let start = Instant::now();
    if let Some(asleep) = time.checked_sub(OVERSLEPT).filter(|asleep| !asleep.is_zero()) {
        std::thread::sleep(asleep);
    }
    while start.elapsed() < time {
        std::hint::spin_loop();
    }
}

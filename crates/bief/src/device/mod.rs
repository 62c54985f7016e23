//! Devices: tasks that run beside the cores, in lanes.
//!
//! A stage on a device has a thread for each lane, which waits most of the time: it takes a batch, has it copied, has the tasks'
//! [`Offload`]s work on it, has the results copied back, and hands them on under the batch's number. Lanes are replicas to all
//! others: order, skipped frames, the end of the stream and faults are theirs.

mod batch;
mod emulated;
mod lane;
mod parts;

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::fmt;
use std::ops::{AddAssign, Range};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

pub use batch::DeviceBatch;
pub(crate) use lane::{Lane, Launched, OnDevice, Waits};

use crate::error::{Error, Result};
use crate::figures::Figures;
use crate::machine::{DeviceSpec, Machine};
use crate::sync::PoisonError;
use crate::task::{Node, Task};
use crate::wire::{Inputs, Outputs, WireInfo};
use emulated::Emulated;
use parts::Parts;

/// A device that is open: [`Task::on_device`] gets it, to say how the task runs there.
///
/// It is there, and a crate [provides](Self::provide) what drives it; or it is emulated: what a `--machine` file tells
/// ([`DeviceSpec`]), on the cores of this machine.
#[derive(Clone)]
pub struct Device {
    opened: Arc<Opened>,
    common: Common,
}

/// What the tasks of one lane share, by type.
type Common = Arc<std::sync::Mutex<HashMap<TypeId, Driver>>>;

struct Opened {
    spec: DeviceSpec,
    by: By,
}

enum By {
    Driver(Driver),
    Emulation(Parts),
}

type Driver = Arc<dyn Any + Send + Sync>;

/// What drives devices that are there, by their backends and names.
static DRIVERS: LazyLock<std::sync::Mutex<HashMap<(String, String), Driver>>> = LazyLock::new(Default::default);

impl Device {
    /// Lets stages of this process run on a device that is there: on each machine that [has](Machine::with_device) a device of this
    /// backend and name. `driver` is what tasks that know the backend get from [`driver`](Self::driver).
    ///
    /// ```
    /// use bief::Machine;
    /// use bief::device::Device;
    /// use bief::machine::DeviceSpec;
    ///
    /// struct Accelerator;
    /// let spec = DeviceSpec::of_backend("own", "accelerator");
    /// Device::provide(&spec, Accelerator);
    /// let machine = Machine::here().with_device(spec)?;
    /// # Ok::<(), bief::machine::Error>(())
    /// ```
    pub fn provide(spec: &DeviceSpec, driver: impl Any + Send + Sync) {
        let key = (spec.backend.clone().unwrap_or_default(), spec.name.clone());
        DRIVERS.lock().unwrap_or_else(PoisonError::into_inner).insert(key, Arc::new(driver));
    }

    /// The device of that name, of those that a machine has.
    ///
    /// # Errors
    /// One that nobody in this process drives.
    pub(crate) fn open(machine: &Machine, name: &str) -> Result<Option<Self>> {
        let Some(spec) = machine.device(name).cloned() else { return Ok(None) };
        let by = match &spec.backend {
            None => By::Emulation(Parts::default()),
            Some(backend) => {
                let drivers = DRIVERS.lock().unwrap_or_else(PoisonError::into_inner);
                let driver = drivers.get(&(backend.clone(), spec.name.clone())).cloned();
                By::Driver(driver.ok_or_else(|| {
                    Error::build(format!(
                        "the device `{name}` is not open here ({backend}): leave it out (--device off)"
                    ))
                })?)
            }
        };
        Ok(Some(Self { opened: Arc::new(Opened { spec, by }), common: Common::default() }))
    }

    /// The same device, for the tasks of another lane.
    pub(crate) fn new_lane(&self) -> Self {
        Self { opened: Arc::clone(&self.opened), common: Common::default() }
    }

    /// What the tasks of one lane have in common, such as a queue: made by the one that first asks for this type. Frames that
    /// [stay](DeviceBatch::input_there) on the device are handed on here.
    ///
    /// # Errors
    /// That of `make`.
    pub fn in_common<T: Any + Send + Sync>(&self, make: impl FnOnce() -> Result<T>) -> Result<Arc<T>> {
        let mut common = self.common.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(made) = common.get(&TypeId::of::<T>()).and_then(|made| Arc::clone(made).downcast().ok()) {
            return Ok(made);
        }
        let made = Arc::new(make()?);
        common.insert(TypeId::of::<T>(), Arc::clone(&made) as Driver);
        Ok(made)
    }

    /// What drives it, if it is there and that is what drives it.
    pub fn driver<D: Any>(&self) -> Option<&D> {
        match &self.opened.by {
            By::Driver(driver) => driver.downcast_ref(),
            By::Emulation(_) => None,
        }
    }

    /// Its name, which is that of a kind in profiles and schedules.
    pub fn name(&self) -> &str {
        &self.opened.spec.name
    }

    /// How many batches it has under way at a time.
    pub fn lanes(&self) -> usize {
        self.opened.spec.lanes as usize
    }

    /// What a task does by its own code, frame by frame, on an emulated device, which has no other: it takes as much longer as the
    /// device costs. `None` where the device is there. Each lane has its own.
    ///
    /// A task on a device passes every frame on: one that skips a frame, or stops, fails there.
    pub fn emulate<T: Task>(&self, task: T) -> Option<Result<OffloadOf<T>>> {
        match self.opened.by {
            By::Driver(_) => None,
            By::Emulation(_) => Some(Ok(Box::new(Emulated(task)))),
        }
    }
}

impl fmt::Debug for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.opened.spec.fmt(f)
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

    /// Whether it can have the frames of its input of that number where the tasks of the lane keep them on the device
    /// ([`DeviceBatch::input_there`]), put them there if they [come](DeviceBatch::input_comes) from the cores, and, if it rewrites them,
    /// leave them there. Neighbours that agree on that spare the copies; tasks of one lane share what they keep there by
    /// [`Device::in_common`].
    fn takes_there(&self, input: usize) -> bool {
        let _ = input;
        false
    }

    /// Whether it can leave the frames of its output of that number on the device ([`DeviceBatch::output_there`]).
    fn leaves_there(&self, output: usize) -> bool {
        let _ = output;
        false
    }

    /// What was copied of the frames of the last batch to the device, and back; `None` where nobody knows. The time is told apart from that
    /// of the task, in profiles as what it costs a stage to begin and to end there.
    fn copied(&mut self) -> Option<[Copied; 2]> {
        None
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

/// Copies of frames, one way.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Copied {
    /// How long they took, together.
    pub time: Duration,
    /// How much they were.
    pub bytes: u64,
}

impl AddAssign for Copied {
    fn add_assign(&mut self, other: Self) {
        self.time += other.time;
        self.bytes += other.bytes;
    }
}

/// What [`Task::on_device`] gives for a task of that type.
pub type OffloadOf<T> = Box<dyn Offload<<T as Task>::In, <T as Task>::Out>>;

/// How a task on a device has the frames of a wire.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Kept {
    /// They have a place on the device, which the tasks of the lane share.
    there: bool,
    /// Cores use them, too.
    crosses: bool,
    /// They are on the cores alone when the task gets them.
    comes: bool,
    /// The cores need what it makes of them.
    returns: bool,
}

impl Kept {
    /// As a task has them that shares them with no other.
    pub(crate) const ALONE: Self = Self { there: false, crosses: true, comes: true, returns: true };
}

/// Lets frames stay on the device between tasks, which are those of `range`, where all of these that make and use them have them there:
/// they come with the first, and those that the cores need return with the last that writes them.
pub(crate) fn keep_there(tasks: &mut [Node], range: &Range<usize>, wires: &[WireInfo]) {
    let kept = |task: usize, number: usize, wire: &WireInfo| {
        let writers = wire.uses.iter().filter(|user| user.rewrites).map(|user| user.task).chain([wire.maker]);
        let users = wire.uses.iter().map(|user| user.task).chain([wire.maker, wire.last_user]);
        let mut here = users.filter(|user| range.contains(user));
        let is_there = |user: usize| tasks[user - range.start].step.takes_there(number);
        let (first, last) = (here.clone().min(), here.clone().max());
        if wire.constant.is_some() || first == last || !here.all(is_there) {
            return Kept::ALONE;
        }
        Kept {
            there: true,
            crosses: wire.crosses(range.start) || wire.crosses(range.end),
            comes: first == Some(task) && wire.maker < task,
            returns: wire.last_user >= range.end && writers.filter(|writer| range.contains(writer)).max() == Some(task),
        }
    };
    let all =
        range.clone().map(|task| wires.iter().enumerate().map(|(number, wire)| kept(task, number, wire)).collect());
    let all: Vec<Vec<Kept>> = all.collect();
    tasks.iter_mut().zip(all).for_each(|(task, kept)| task.step.keep_there(&kept));
}

/// Bytes of a frame on all wires that cross the chain before task `end`: what is copied where a stage on a device begins or ends.
pub(crate) fn crossing_bytes(wires: &[WireInfo], end: usize) -> u64 {
    let crossing = wires.iter().filter(|wire| wire.constant.is_none() && wire.crosses(end));
    crossing.map(|wire| (wire.len * wire.format.size()) as u64).sum()
}

//! Devices beside the cores, such as GPUs: those that are there, and emulated ones, as a file tells.

use std::collections::{BTreeMap, HashSet};

use bief_schedule::Profile;
use serde::{Deserialize, Serialize};

use super::document::is_speed;
use super::{CoreSpec, Machine, is_full_speed};
use crate::error::{Error, Result};

/// A device that runs tasks of a pipeline beside the cores, and is planned with as a kind of them.
///
/// Without a `backend` it is emulated: tasks run on the cores of this machine, and take as much longer as the device costs. It shows how
/// a chain is planned and run with a device before there is one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DeviceSpec {
    /// Its name among those of kinds of cores.
    pub name: String,
    /// The interface that drives it, as `opencl`, where it is there; what it costs is measured then, and not told here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backend: Option<String>,
    /// How many executions it has under way at a time, from 1 to [`Profile::MAX_LANES`]: while it works on one, it reads the
    /// input of another and writes the output of a third.
    #[serde(default = "three", skip_serializing_if = "is_three")]
    pub lanes: u32,
    /// What it takes to launch one task for one execution, in microseconds.
    #[serde(default, skip_serializing_if = "is_nothing")]
    pub launch_us: f64,
    /// How many executions a launch has at most, from 1 to [`Profile::MAX_GATHER`]: a plan says how many, and a lane takes those that wait.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub gather: u32,
    /// How fast frames are copied to it, and back, in gigabytes (10^9 bytes) per second; `None` where that takes no time, as where
    /// it shares the memory of the cores.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub copy_gb_per_s: Option<f64>,
    /// How fast it works, as a share of the speed of the core that stands for it.
    #[serde(default = "super::full_speed", skip_serializing_if = "is_full_speed")]
    pub speed: f64,
    /// Tasks with another speed than `speed`, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub task_speeds: BTreeMap<String, f64>,
}

/// Enough for a copy in, a task and a copy out at a time.
pub(super) const LANES: u32 = 3;

/// The longest launch, in microseconds: a minute.
const LONGEST_LAUNCH: f64 = 6e7;

fn three() -> u32 {
    LANES
}

fn is_three(lanes: &u32) -> bool {
    *lanes == LANES
}

fn one() -> u32 {
    1
}

fn is_one(gather: &u32) -> bool {
    *gather == 1
}

fn is_nothing(us: &f64) -> bool {
    *us == 0.0
}

impl DeviceSpec {
    /// A device that is there, with three lanes.
    pub fn of_backend(backend: impl Into<String>, name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            backend: Some(backend.into()),
            lanes: LANES,
            launch_us: 0.0,
            gather: 1,
            copy_gb_per_s: None,
            speed: 1.0,
            task_speeds: BTreeMap::new(),
        }
    }

    /// How long its copies take, in nanoseconds, for so many bytes.
    pub fn copy_ns(&self, bytes: u64) -> f64 {
        self.copy_gb_per_s.map_or(0.0, |gb_per_s| bytes as f64 / gb_per_s)
    }

    /// How long a task of that name takes on it, for one execution that takes a core of this machine so long, in nanoseconds.
    pub fn task_ns(&self, task: &str, core_ns: f64) -> f64 {
        self.launch_us * 1e3 + core_ns / self.task_speeds.get(task).copied().unwrap_or(self.speed)
    }

    /// The key that has no possible value, and why.
    pub(super) fn check(&self) -> Result<(), (&'static str, String)> {
        let most = Profile::MAX_LANES;
        if !(1..=most).contains(&self.lanes) {
            return Err(("lanes", format!("must be 1 to {most}")));
        }
        let most = Profile::MAX_GATHER;
        if !(1..=most).contains(&self.gather) {
            return Err(("gather", format!("must be 1 to {most}")));
        }
        if !(0.0..=LONGEST_LAUNCH).contains(&self.launch_us) {
            return Err(("launch_us", format!("must be 0 to {LONGEST_LAUNCH} microseconds")));
        }
        // A byte in a millisecond to more than any memory.
        if self.copy_gb_per_s.is_some_and(|rate| !(1e-6..=1e6).contains(&rate)) {
            let reason = "must be 0.000001 to 1000000 GB/s: leave it out where nothing is copied";
            return Err(("copy_gb_per_s", reason.to_owned()));
        }
        if !is_speed(self.speed) {
            return Err((
                "speed",
                "must be above 0 and at most 1, the speed of the core that stands for it".to_owned(),
            ));
        }
        match self.task_speeds.iter().find(|task| !is_speed(*task.1)) {
            Some((task, _)) => Err(("task_speeds", format!("of `{task}` must be above 0 and at most 1"))),
            None => Ok(()),
        }
    }
}

/// The first device whose name is that of another, or of a kind of cores.
pub(super) fn named_twice(kinds: &[CoreSpec], devices: &[DeviceSpec]) -> Option<usize> {
    let mut seen: HashSet<&str> = kinds.iter().map(|kind| kind.name.as_str()).collect();
    devices.iter().position(|device| !seen.insert(&device.name))
}

impl Machine {
    /// Its devices: those that a [file](Self::emulated) emulates, and those that were [added](Self::with_device).
    pub fn devices(&self) -> &[DeviceSpec] {
        &self.devices
    }

    /// The device of that name.
    pub fn device(&self, name: &str) -> Option<&DeviceSpec> {
        self.devices.iter().find(|device| device.name == name)
    }

    /// The same machine with one more device.
    ///
    /// # Errors
    /// A name that is none, or is that of a kind of cores or of another device; lanes or costs out of their ranges.
    pub fn with_device(mut self, device: DeviceSpec) -> Result<Self> {
        let refused = |reason: String| Error::invalid(format!("the device `{}`: {reason}", device.name));
        device.check().map_err(|(member, reason)| refused(format!("{member} {reason}")))?;
        super::check_kind_name(&device.name).map_err(|error| refused(error.reason().to_string()))?;
        self.devices.push(device);
        match named_twice(&self.kinds, &self.devices) {
            Some(index) => Err(Error::invalid(format!(
                "`{}` is named twice: name each kind and device once",
                self.devices[index].name
            ))),
            None => Ok(self),
        }
    }

    /// The same machine with those of its devices alone that are wanted.
    ///
    /// ```
    /// let here = bief_machine::Machine::here();
    /// let machine = bief_machine::Machine::emulated("[[device]]\nname = 'gpu'\nlaunch_us = 20", &here)?;
    /// assert_eq!(machine.devices()[0].lanes, 3);
    /// assert_eq!(machine.with_devices_where(|_| false), here);
    /// # Ok::<(), bief_machine::Error>(())
    /// ```
    pub fn with_devices_where(mut self, wanted: impl FnMut(&DeviceSpec) -> bool) -> Self {
        self.devices.retain(wanted);
        self
    }
}

//! What tasks cost on devices: their times on a core as an emulated device changes them.

use bief_schedule::{Profile, Samples, TaskProfile};

use crate::device::{Device, crossing_bytes};
use crate::emulate;
use crate::error::{Error, Place, Result};
use crate::machine::{DeviceSpec, Machine};
use crate::task::Node;
use crate::wire::WireInfo;

/// For each device of a machine, which of the tasks can run there.
pub(super) type Abilities<'m> = Vec<(&'m DeviceSpec, Vec<bool>)>;

/// Asks the tasks which of them can run on the devices.
///
/// # Errors
/// Why a task that should run on one cannot.
pub(super) fn abilities<'m>(tasks: &[Node], machine: &'m Machine) -> Result<Abilities<'m>> {
    let of_device = |spec: &'m DeviceSpec| {
        let Some(device) = Device::open(machine, &spec.name) else { return Ok((spec, vec![false; tasks.len()])) };
        let able = |task: &Node| {
            let offload = Error::catch(|| task.step.on_device(&device).transpose());
            offload.map(|offload| offload.is_some()).map_err(|error| {
                let message =
                    format!("on the device `{}`: {}: leave the device out (--device off)", spec.name, error.message());
                Error::build(message).at(Place { task: Some(task.name.clone()), ..Place::default() })
            })
        };
        Ok((spec, tasks.iter().map(able).collect::<Result<Vec<bool>>>()?))
    };
    machine.devices().iter().map(of_device).collect()
}

/// Adds to a profile of kinds of cores those devices on which a task can run.
pub(super) fn add(profile: Profile, machine: &Machine, devices: &Abilities<'_>, wires: &[WireInfo]) -> Result<Profile> {
    let devices: Vec<_> = devices.iter().filter(|(_, able)| able.contains(&true)).collect();
    if devices.is_empty() {
        return Ok(profile);
    }
    let cores = profile.kinds().len();
    let frames = u64::from(profile.frames_per_execution());
    let copied = |end: usize| {
        let bytes = crossing_bytes(wires, end) * frames;
        devices.iter().map(move |(device, _)| device.copy_ns(bytes).round() as u64)
    };
    let with_devices = |(index, task): (usize, &TaskProfile)| {
        // What it takes a core here, whatever the first kind emulates.
        let kind = &machine.kinds()[0];
        let faster = 1.0 / emulate::slowness(kind, &task.name);
        let there = |device: &DeviceSpec, ns: u64| device.task_ns(&task.name, ns as f64 * faster).round() as u64;
        let on =
            |(device, able): &&(&DeviceSpec, Vec<bool>)| task.ns[0].filter(|_| able[index]).map(|ns| there(device, ns));
        let samples = |(device, able): &&(&DeviceSpec, Vec<bool>)| {
            let seen = task.seen.as_ref()?[0].filter(|_| able[index])?;
            let [min_ns, median_ns, p99_ns] = [seen.min_ns, seen.median_ns, seen.p99_ns].map(|ns| there(device, ns));
            Some(Samples { samples: seen.samples, min_ns, median_ns, p99_ns })
        };
        let seen = task.seen.as_ref().map(|seen| seen.iter().copied().chain(devices.iter().map(samples)).collect());
        let on_cores = |ns: &Option<Vec<u64>>| ns.clone().unwrap_or_else(|| vec![0; cores]);
        TaskProfile {
            ns: task.ns.iter().copied().chain(devices.iter().map(on)).collect(),
            enter_ns: Some(on_cores(&task.enter_ns).into_iter().chain(copied(index)).collect()),
            leave_ns: Some(on_cores(&task.leave_ns).into_iter().chain(copied(index + 1)).collect()),
            seen,
            ..task.clone()
        }
    };
    let tasks: Vec<TaskProfile> = profile.tasks().iter().enumerate().map(with_devices).collect();
    let kinds =
        profile.kinds().iter().map(String::as_str).chain(devices.iter().map(|(device, _)| device.name.as_str()));
    let sync = (0..cores).map(|kind| profile.sync_ns(kind));
    // A lane hands over as a thread on a core does.
    let sync = sync.chain(devices.iter().map(|_| profile.sync_ns(0))).collect::<Vec<_>>();
    let lanes = vec![None; cores].into_iter().chain(devices.iter().map(|(device, _)| Some(device.lanes)));
    let lanes = lanes.collect::<Vec<_>>();
    let with_devices = Profile::new(kinds, tasks)?.with_sync_ns(sync)?.with_lanes(lanes)?;
    let with_devices = with_devices.with_frames_per_execution(profile.frames_per_execution())?;
    Ok(match profile.machine() {
        Some(machine) => with_devices.with_machine(machine),
        None => with_devices,
    })
}

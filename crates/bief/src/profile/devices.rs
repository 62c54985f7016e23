//! What tasks cost on devices: measured there, or their times on a core as an emulated device changes them.

use bief_schedule::{Gather, Profile, Samples, TaskProfile};

use super::{LEAST, Measured, Measurements, Profiling, Visit, weigh};
use crate::device::{Device, crossing_bytes};
use crate::emulate;
use crate::error::{Error, Place, Result};
use crate::machine::{DeviceSpec, Machine};
use crate::task::{Node, Step};
use crate::wire::WireInfo;

/// A device of a machine, and each task as it runs there, if it can.
pub(super) struct Ability<'m> {
    spec: &'m DeviceSpec,
    steps: Vec<Option<Box<dyn Step>>>,
    /// What each task took there, where the device is; an emulated one is computed with.
    measured: Option<Vec<(u64, Samples)>>,
    /// What each task took to copy its frames there, and back, in the median; 0 where that is not known.
    copies: Vec<[u64; 2]>,
}

/// Asks the tasks which of them can run on the devices.
///
/// # Errors
/// Why a task that should run on one cannot.
pub(super) fn abilities<'m>(tasks: &[Node], machine: &'m Machine) -> Result<Vec<Ability<'m>>> {
    let of_device = |spec: &'m DeviceSpec| {
        let device = Device::open(machine, &spec.name)?;
        let able = |task: &Node| {
            let Some(device) = &device else { return Ok(None) };
            Error::catch(|| task.step.on_device(device).transpose()).map_err(|error| {
                let (name, reason) = (&spec.name, error.message());
                let message = format!("on the device `{name}`: {reason}: leave the device out (--device off)");
                let place = Place { task: Some(task.name.clone()), ..Place::default() };
                Error::build(message).at(place).refused_by(name, format!("task `{}`: {reason}", task.name))
            })
        };
        Ok(Ability { spec, steps: tasks.iter().map(able).collect::<Result<_>>()?, measured: None, copies: Vec::new() })
    };
    machine.devices().iter().map(of_device).collect()
}

/// Measures the tasks on the devices that are there: the chain on the calling thread, with those tasks that can run there on the device.
pub(super) fn measure(measured: &mut Measured, devices: &mut [Ability<'_>], profiling: Profiling) -> Result<()> {
    for device in devices.iter_mut().filter(|device| device.spec.backend.is_some()) {
        let visit = Visit { executions: profiling.executions.get(), least: LEAST, time: profiling.limit };
        let mut samples = Measurements::default();
        measured.exchange(&mut device.steps);
        measured.copies.iter_mut().flatten().for_each(Vec::clear);
        let visited = measured.visit(visit, &mut samples);
        measured.exchange(&mut device.steps);
        visited?;
        let median = |copies: &mut Vec<u64>| {
            copies.sort_unstable();
            copies.get(copies.len() / 2).copied().unwrap_or(0)
        };
        device.copies = measured.copies.iter_mut().map(|copies| copies.each_mut().map(median)).collect();
        let mut sample = samples.counted()?;
        let executions = sample.executions;
        device.measured = Some(sample.tasks.iter_mut().map(|task| weigh(task, executions, 1.0)).collect());
    }
    Ok(())
}

impl Ability<'_> {
    /// What a task takes there for one execution, if it can run there: as measured, or by what it takes a core here.
    fn ns(&self, index: usize, task: &TaskProfile, faster: f64) -> Option<(u64, Option<Samples>)> {
        self.steps[index].as_ref()?;
        if let Some(measured) = &self.measured {
            let (ns, samples) = measured[index];
            return Some((ns, Some(samples)));
        }
        let there = |ns: u64| self.spec.task_ns(&task.name, ns as f64 * faster).round() as u64;
        let samples = task.seen.as_ref().and_then(|seen| seen[0]).map(|seen| {
            let [min_ns, median_ns, p99_ns] = [seen.min_ns, seen.median_ns, seen.p99_ns].map(there);
            Samples { samples: seen.samples, min_ns, median_ns, p99_ns }
        });
        Some((there(task.ns[0]?), samples))
    }
}

/// Adds to a profile of kinds of cores those devices on which a task can run.
pub(super) fn add(profile: Profile, machine: &Machine, devices: &[Ability<'_>], wires: &[WireInfo]) -> Result<Profile> {
    let devices: Vec<_> = devices.iter().filter(|device| device.steps.iter().any(Option::is_some)).collect();
    if devices.is_empty() {
        return Ok(profile);
    }
    let cores = profile.kinds().len();
    let frames = u64::from(profile.frames_per_execution());
    // One that is there was seen to copy; of an emulated one it is computed.
    let copied = |index: usize, way: usize| {
        let bytes = crossing_bytes(wires, index + way) * frames;
        devices.iter().map(move |device| match device.copies.get(index) {
            Some(copies) => copies[way],
            None => device.spec.copy_ns(bytes).round() as u64,
        })
    };
    let with_devices = |(index, task): (usize, &TaskProfile)| {
        // What it takes a core here, whatever the first kind emulates.
        let faster = 1.0 / emulate::slowness(&machine.kinds()[0], &task.name);
        let there: Vec<_> = devices.iter().map(|device| device.ns(index, task, faster)).collect();
        let samples = there.iter().map(|there| there.and_then(|(_, samples)| samples));
        let seen = task.seen.as_ref().map(|seen| seen.iter().copied().chain(samples).collect());
        let on_cores = |ns: &Option<Vec<u64>>| ns.clone().unwrap_or_else(|| vec![0; cores]);
        TaskProfile {
            ns: task.ns.iter().copied().chain(there.iter().map(|there| there.map(|(ns, _)| ns))).collect(),
            enter_ns: Some(on_cores(&task.enter_ns).into_iter().chain(copied(index, 0)).collect()),
            leave_ns: Some(on_cores(&task.leave_ns).into_iter().chain(copied(index, 1)).collect()),
            seen,
            ..task.clone()
        }
    };
    let tasks: Vec<TaskProfile> = profile.tasks().iter().enumerate().map(with_devices).collect();
    let kinds =
        profile.kinds().iter().map(String::as_str).chain(devices.iter().map(|device| device.spec.name.as_str()));
    let sync = (0..cores).map(|kind| profile.sync_ns(kind));
    // A lane hands over as a thread on a core does.
    let sync = sync.chain(devices.iter().map(|_| profile.sync_ns(0))).collect::<Vec<_>>();
    let lanes = vec![None; cores].into_iter().chain(devices.iter().map(|device| Some(device.spec.lanes)));
    let lanes = lanes.collect::<Vec<_>>();
    let gather = devices.iter().map(|device| {
        let DeviceSpec { gather: most, launch_us, .. } = *device.spec;
        (most > 1).then(|| Gather { most, launch_ns: (launch_us * 1e3).round() as u64 })
    });
    let gather = vec![None; cores].into_iter().chain(gather).collect::<Vec<_>>();
    let mut with_devices = Profile::new(kinds, tasks)?.with_sync_ns(sync)?.with_lanes(lanes)?;
    if gather.iter().any(Option::is_some) {
        with_devices = with_devices.with_gather(gather)?;
    }
    let with_devices = with_devices.with_frames_per_execution(profile.frames_per_execution())?;
    Ok(match profile.machine() {
        Some(machine) => with_devices.with_machine(machine),
        None => with_devices,
    })
}

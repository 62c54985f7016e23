//! What tasks cost on devices: measured there, or their times on a core as an emulated device changes them.

use bief_schedule::{Gather, Profile, Samples, TaskProfile};

use super::{LEAST, Measured, Measurements, Profiling, Visit, WARM_UP, core_of, hand_over, on_each_kind, weigh};
use crate::device::{Device, crossing_bytes};
use crate::emulate;
use crate::error::{Error, Place, Result};
use crate::machine::{DeviceSpec, Machine};
use crate::task::{Node, Step};
use crate::wire::WireInfo;

/// Bytes of frames of a launch that is measured: where as many executions as a launch may have need more, fewer are measured.
const ROOM: f64 = 256e6;

/// A device of a machine, and each task as it runs there, if it can.
pub(super) struct Ability<'m> {
    spec: &'m DeviceSpec,
    steps: Vec<Option<Box<dyn Step>>>,
    /// What each task took there, where the device is; an emulated one is computed with.
    measured: Option<Vec<(u64, Samples)>>,
    /// What each task took for a launch of several executions, and how many they were: there, or on a core where the device is emulated.
    gathered: Option<(u32, Vec<u64>)>,
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
        let steps = tasks.iter().map(able).collect::<Result<_>>()?;
        Ok(Ability { spec, steps, measured: None, gathered: None, copies: Vec::new() })
    };
    machine.devices().iter().map(of_device).collect()
}

/// Measures the tasks on the devices that are there: the chain on the calling thread, with those tasks that can run there on the device.
/// Then, as long as the source goes on, launches of several executions, for which an emulated device has a core.
pub(super) fn measure(
    measured: &mut Measured,
    wires: &[WireInfo],
    devices: &mut [Ability<'_>],
    machine: &Machine,
    profiling: Profiling,
    mut goes_on: bool,
) -> Result<()> {
    let frames = measured.frames;
    let bytes: f64 =
        wires.iter().filter(|wire| wire.constant.is_none()).map(|wire| wire.format.bytes(wire.len, frames)).sum();
    for device in devices.iter_mut().filter(|device| device.steps.iter().any(Option::is_some)) {
        let visit =
            Visit { warm_up: WARM_UP, executions: profiling.executions.get(), least: LEAST, time: profiling.limit };
        if device.spec.backend.is_some() {
            let mut samples = Measurements::default();
            measured.copies.iter_mut().flatten().for_each(Vec::clear);
            goes_on &= device.visit(measured, visit, &mut samples)?;
            let median = |copies: &mut Vec<u64>| {
                copies.sort_unstable();
                copies.get(copies.len() / 2).copied().unwrap_or(0)
            };
            device.copies = measured.copies.iter_mut().map(|copies| copies.each_mut().map(median)).collect();
            let mut sample = samples.counted()?;
            let executions = sample.executions;
            device.measured = Some(sample.tasks.iter_mut().map(|task| weigh(task, executions, 1.0)).collect());
        }
        let launch = device.spec.gather.min((ROOM / bytes.max(1.0)) as u32);
        if launch < 2 || !goes_on {
            continue;
        }
        measured.set_batch(wires, frames * launch as usize);
        let several = |visit: Visit| Visit {
            warm_up: visit.warm_up.div_ceil(launch as usize),
            executions: visit.executions.div_ceil(launch as usize),
            least: visit.least.div_ceil(launch as usize),
            ..visit
        };
        let mut samples = Measurements::default();
        goes_on = match device.spec.backend {
            Some(_) => device.visit(measured, several(visit), &mut samples)?,
            None => on_each_kind(measured, &[core_of(machine, 0)?], machine, profiling, |measured, _, visit| {
                measured.visit(several(visit), &mut samples)
            })?,
        };
        measured.set_batch(wires, frames);
        // A source that ends before one whole launch tells nothing of it.
        let Ok(mut sample) = samples.counted() else { continue };
        let executions = sample.executions;
        device.gathered = Some((launch, sample.tasks.iter_mut().map(|task| weigh(task, executions, 1.0).0).collect()));
    }
    Ok(())
}

impl Ability<'_> {
    /// Measures the chain with those tasks on the device that can run there. `false` when the source has ended.
    fn visit(&mut self, measured: &mut Measured, visit: Visit, samples: &mut Measurements) -> Result<bool> {
        measured.exchange(&mut self.steps);
        let visited = measured.visit(visit, samples);
        measured.exchange(&mut self.steps);
        visited
    }

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

    /// What a task takes there for a launch of several executions, where that was measured.
    fn gathered_ns(&self, index: usize, task: &TaskProfile) -> Option<u64> {
        self.steps[index].as_ref()?;
        let (_, gathered) = self.gathered.as_ref()?;
        Some(match self.spec.backend {
            Some(_) => gathered[index],
            None => self.spec.task_ns(&task.name, gathered[index] as f64).round() as u64,
        })
    }

    /// How many executions a launch may have, where it may have several: on a device that is there as many as were measured at most, as
    /// more would want too much memory.
    fn gather(&self) -> Option<Gather> {
        let measured = self.gathered.as_ref().map_or(1, |(launch, _)| *launch);
        let most = if self.spec.backend.is_some() { measured } else { self.spec.gather };
        (most > 1).then_some(Gather { most, measured })
    }
}

/// Adds to a profile of kinds of cores those devices on which a task can run; `here` is the machine as it is.
pub(super) fn add(
    profile: Profile,
    machine: &Machine,
    here: &Machine,
    devices: &[Ability<'_>],
    wires: &[WireInfo],
) -> Result<Profile> {
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
    let of_lane_ns = hand_over::of_lane_ns(here)?;
    let sync = sync.chain(devices.iter().map(|_| of_lane_ns)).collect::<Vec<_>>();
    let lanes = vec![None; cores].into_iter().chain(devices.iter().map(|device| Some(device.spec.lanes)));
    let lanes = lanes.collect::<Vec<_>>();
    let gather = vec![None; cores].into_iter().chain(devices.iter().map(|device| device.gather())).collect::<Vec<_>>();
    let mut with_devices = Profile::new(kinds, tasks)?.with_sync_ns(sync)?.with_lanes(lanes)?;
    if devices.iter().any(|device| device.spec.backend.is_some()) {
        // Measured by a thread that had it work, and waited.
        let overlap = vec![false; cores].into_iter().chain(devices.iter().map(|device| device.spec.backend.is_some()));
        with_devices = with_devices.with_overlap(overlap.collect::<Vec<_>>())?;
    }
    if gather.iter().any(Option::is_some) {
        let with_gathered = |(index, task): (usize, &TaskProfile)| {
            let there = devices.iter().map(|device| device.gathered_ns(index, task));
            task.clone().with_gathered_ns(vec![None; cores].into_iter().chain(there).collect::<Vec<_>>())
        };
        with_devices = with_devices.with_gather(gather)?;
        let tasks: Vec<TaskProfile> = with_devices.tasks().iter().enumerate().map(with_gathered).collect();
        with_devices = with_devices.with_tasks(tasks)?;
    }
    let with_devices = with_devices.with_frames_per_execution(profile.frames_per_execution())?;
    Ok(match profile.machine() {
        Some(machine) => with_devices.with_machine(machine),
        None => with_devices,
    })
}

//! Time per task on each kind of core: the weights that the schedulers need.

mod busy;
mod costs;
mod cuts;
mod devices;
mod hand_over;

use std::num::NonZeroUsize;
use std::ops::Range;
use std::thread;
use std::time::{Duration, Instant};

use bief_machine::clock::{self, nanoseconds};
use bief_schedule::{Profile, Samples, TaskProfile};

use crate::affinity;
use crate::emulate;
use crate::error::{Error, Result};
use crate::figures::Reading;
use crate::frame::Batch;
use crate::machine::{Core, CoreSpec, Machine};
use crate::stage::Stage;
use crate::task::{Node, Step};
use crate::wire::WireInfo;
use busy::BusyCores;
pub(crate) use costs::measure_on as measure_costs_on;
pub use costs::{BatchCosts, TaskCosts};

/// The first executions on a core fill caches and pages; they are run and not counted, unless the source has hardly more.
const WARM_UP: usize = 8;
/// Kinds of cores take turns, so that what changes while a profile is made changes for all of them.
const TURNS: usize = 4;
/// Executions on each kind of core, whatever time they take.
const LEAST: usize = 20;
/// The part of the time that hand-overs are measured for.
const HAND_OVERS: u32 = 4;
/// Executions of which times are kept: more tell nothing more.
const ROOM: usize = 1 << 16;

/// How the tasks of a chain are measured: [`Program::profile_on`](crate::Program::profile_on).
///
/// Beside the time of each task, a profile gets what it costs to cut the chain there: each cut is tried with the tasks before it
/// on one core and the others on its neighbour, batch by batch, through as many slots as a ring has. What those tasks take longer whose
/// data cross is the [cost](bief_schedule::TaskProfile::enter_ns), as far as it is more than what measurements differ by.
///
/// ```
/// use bief::plan::{Load, Profiling};
///
/// let quiet = Profiling::default();
/// assert_eq!((quiet.executions.get(), quiet.load), (200, Load::Idle));
/// // As many executions as asked for, however long that takes.
/// let loaded = Profiling { load: Load::Busy, limit: std::time::Duration::MAX, ..quiet };
/// # let _ = loaded;
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Profiling {
    /// Executions that count on each kind of core.
    pub executions: NonZeroUsize,
    /// What the other cores do meanwhile.
    pub load: Load,
    /// How long that may take, on all kinds of cores together, about: a machine that is busy with something else executes less often
    /// then, but 20 times on each kind of core.
    pub limit: Duration,
}

impl Default for Profiling {
    /// 200 executions within 4 seconds, while the other cores are idle.
    fn default() -> Self {
        Self { executions: const { NonZeroUsize::new(200).unwrap() }, load: Load::Idle, limit: Duration::from_secs(4) }
    }
}

/// What the other cores do while tasks are measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Load {
    /// Nothing of ours.
    #[default]
    Idle,
    /// They work, as they will in the pipeline: clocks drop when all cores work, and what they share is shared.
    Busy,
}

/// Executions on one kind of core that went alike.
#[derive(Default)]
struct Sample {
    executions: u64,
    tasks: Vec<TaskSample>,
}

/// The executions in which a task had frames.
#[derive(Default)]
struct TaskSample {
    executions: u64,
    times: Vec<u64>,
}

impl Sample {
    fn add(&mut self, times: &[Option<u64>]) {
        self.executions += 1;
        self.tasks.resize_with(times.len(), TaskSample::default);
        for (task, &time) in self.tasks.iter_mut().zip(times) {
            let Some(ns) = time else { continue };
            task.executions += 1;
            if task.times.len() < ROOM {
                task.times.push(ns);
            }
        }
    }

    /// The executions of both. Times are those of `self`, of tasks that have none there those of `other`.
    fn beside(mut self, other: Self) -> Self {
        self.executions += other.executions;
        let tasks = self.tasks.len().max(other.tasks.len());
        self.tasks.resize_with(tasks, TaskSample::default);
        for (task, other) in self.tasks.iter_mut().zip(other.tasks) {
            task.executions += other.executions;
            if task.times.is_empty() {
                task.times = other.times;
            }
        }
        self
    }
}

/// All executions on one kind of core, by how they went.
#[derive(Default)]
struct Measurements {
    whole: Sample,
    /// The thread lost its core to another one.
    interrupted: Sample,
    warm_up: Sample,
}

impl Measurements {
    /// What counts: the times of whole executions, if there are any. How often a task has work the interrupted ones tell as well:
    /// the longer an execution, the less it stays whole, and those in which a frame is skipped are short.
    fn counted(self) -> Result<Sample> {
        let sample = self.whole.beside(self.interrupted);
        let sample = if sample.executions > 0 { sample } else { self.warm_up };
        if sample.executions == 0 {
            return Err(Error::build(
                "the source ended before one whole batch on each kind of core: there is nothing to profile, give a longer input or a \
                 smaller batch",
            ));
        }
        Ok(sample)
    }
}

/// What is wanted of a stay on a core.
#[derive(Clone, Copy)]
struct Visit {
    /// Executions that come before.
    warm_up: usize,
    /// Executions that count, and how many of them at least when the time is over.
    executions: usize,
    least: usize,
    time: Duration,
}

/// A chain on one thread, measured execution by execution.
struct Measured {
    stage: Stage,
    batch: Batch,
    frames: usize,
    /// Frames so far, and those of them that passed the last task.
    done: u64,
    passed: u64,
    clock_cost: Duration,
    /// How long its thread sleeps before each execution.
    rest: Duration,
    /// Of the last execution.
    times: Vec<Option<u64>>,
    /// What each task took to copy frames to a device, and back, in each execution that was measured: beside its times.
    copies: Vec<[Vec<u64>; 2]>,
}

impl Measured {
    fn new(tasks: Vec<Node>, wires: &[WireInfo], frames: usize) -> Self {
        let count = tasks.len();
        Self {
            stage: Stage::new("profile".into(), tasks, 0..count, wires, frames),
            batch: Batch::new(frames),
            frames,
            done: 0,
            passed: 0,
            clock_cost: clock::cost(),
            rest: Duration::ZERO,
            times: vec![None; count],
            copies: vec![<[Vec<u64>; 2]>::default(); count],
        }
    }

    /// Goes on with batches of so many frames; `wires` are those that it was made with.
    fn set_batch(&mut self, wires: &[WireInfo], frames: usize) {
        self.stage.make_room(0..self.times.len(), wires, frames);
        self.batch = Batch::new(frames);
        self.frames = frames;
    }

    /// Runs the chain once, with the time of each task that had frames in `times`; answers whether the thread lost its core to
    /// another one meanwhile, or `None` when the source has ended: that is no whole execution.
    fn execute(&mut self) -> Result<Option<bool>> {
        self.begin();
        let interrupted = self.run(0..self.times.len())?;
        Ok(self.end().then_some(interrupted))
    }

    /// Begins an execution.
    fn begin(&mut self) {
        self.batch.renew(self.done);
        self.times.fill(None);
    }

    /// Runs some tasks, which follow those that ran in this execution; answers whether the thread lost its core meanwhile.
    fn run(&mut self, tasks: Range<usize>) -> Result<bool> {
        let interruptions = clock::interruptions();
        let note = |task: usize, _: Instant, time: Duration, ran: bool| {
            self.times[task] = ran.then(|| nanoseconds(time.saturating_sub(self.clock_cost)));
        };
        // SAFETY: every wire is local to the one stage.
        unsafe { self.stage.run_timed(tasks.clone(), &mut self.batch, note)? };
        for task in tasks {
            let Some(copied) = self.stage.copied_by(task) else { continue };
            for (copies, copied) in self.copies[task].iter_mut().zip(copied.map(|copied| nanoseconds(copied.time))) {
                copies.push(copied);
                self.times[task] = self.times[task].map(|ns| ns.saturating_sub(copied));
            }
        }
        Ok(clock::interruptions() != interruptions)
    }

    /// Bytes of the last execution that cross before each task; none do before the first.
    fn crossing_bytes(&self, wires: &[WireInfo]) -> Vec<u64> {
        let before = |task: usize| {
            let crossing = wires.iter().enumerate().filter(|(_, wire)| {
                // Lengths of a variable wire lie beside it, and nobody but it uses them.
                wire.constant.is_none() && wire.crosses(task) && !wire.uses.is_empty()
            });
            let elements = |(number, wire): (usize, &WireInfo)| {
                let count = match wire.uses.iter().any(|used| used.variable) {
                    // SAFETY: it is variable, and every wire is local to the one stage, with room for a batch.
                    true => unsafe { self.stage.lens(number, self.frames) }.iter().sum(),
                    false => wire.len * self.frames,
                };
                (count * wire.format.size()) as u64
            };
            crossing.map(elements).sum()
        };
        (0..self.times.len()).map(before).collect()
    }

    /// Ends an execution, of which all tasks ran; `false` when the source has ended.
    fn end(&mut self) -> bool {
        self.done += self.frames as u64;
        self.passed += self.batch.live() as u64;
        !self.batch.last
    }

    /// Measures on the core that the calling thread is on, after some executions to warm up. `false` when the source has ended.
    fn visit(&mut self, visit: Visit, samples: &mut Measurements) -> Result<bool> {
        let Visit { warm_up, executions, least, time } = visit;
        let start = Instant::now();
        let mut wanted = executions;
        for number in 0..warm_up.saturating_add(executions.saturating_mul(2)) {
            if wanted == 0 || number >= warm_up.saturating_add(least) && start.elapsed() > time {
                break;
            }
            if !self.rest.is_zero() {
                thread::sleep(self.rest);
            }
            let Some(interrupted) = self.execute()? else { return Ok(false) };
            let sample = match interrupted {
                _ if number < warm_up => &mut samples.warm_up,
                true => &mut samples.interrupted,
                false => {
                    wanted -= 1;
                    &mut samples.whole
                }
            };
            sample.add(&self.times);
        }
        Ok(true)
    }

    /// Exchanges tasks for those at their positions in `others`, if there are.
    fn exchange(&mut self, others: &mut [Option<Box<dyn Step>>]) {
        for (index, other) in others.iter_mut().enumerate() {
            if let Some(other) = other {
                self.stage.exchange(index, other);
            }
        }
    }

    /// Information that a frame carries in the mean, where the tasks tell it.
    fn bits_per_frame(&self) -> Option<u64> {
        let figures = self.stage.figures();
        let told = figures.all("information").filter(|figure| figure.unit == "bits");
        let bits = told.map(|figure| if let Reading::Count(bits) = figure.reading { bits } else { 0 });
        bits.fold(0, u64::saturating_add).checked_div(self.passed).filter(|&bits| bits > 0)
    }
}

/// Measures on the calling thread, wherever that runs, as the machine's first kind of core.
pub(crate) fn measure(tasks: Vec<Node>, wires: &[WireInfo], frames: usize, executions: usize) -> Result<Profile> {
    let machine = Machine::here();
    let facts = facts(&tasks);
    let mut measured = Measured::new(tasks, wires, frames);
    let mut samples = Measurements::default();
    measured.visit(Visit { warm_up: WARM_UP, executions, least: executions, time: Duration::MAX }, &mut samples)?;
    measured.stage.finish()?;
    let crossing = Crossing { cuts: None, bytes: measured.crossing_bytes(wires) };
    let profile = profile(&machine, &machine.kinds()[..1], facts, vec![samples.counted()?], crossing, frames)?;
    with_bits(profile, measured.bits_per_frame())
}

/// Measures on a core of each kind in turn; the calling thread waits.
pub(crate) fn measure_on(
    tasks: Vec<Node>,
    wires: &[WireInfo],
    frames: usize,
    machine: &Machine,
    profiling: Profiling,
) -> Result<Profile> {
    let facts = facts(&tasks);
    let mut on_devices = devices::abilities(&tasks, machine)?;
    let kinds = machine.kinds();
    let cores = (0..kinds.len()).map(|kind| core_of(machine, kind)).collect::<Result<Vec<_>>>()?;
    let mut measured = Measured::new(tasks, wires, frames);
    let mut samples: Vec<Measurements> = kinds.iter().map(|_| Measurements::default()).collect();
    let goes_on = on_each_kind(&mut measured, &cores, machine, profiling, |measured, kind, visit| {
        measured.visit(visit, &mut samples[kind])
    })?;
    let here = Machine::here();
    let mut cuts_of = |core: &Core| cuts::measure(&mut measured, wires, core, &here, profiling).transpose();
    let cuts: Option<Result<Vec<_>>> = if goes_on { cores.iter().map(&mut cuts_of).collect() } else { None };
    let cuts = cuts.transpose()?;
    devices::measure(&mut measured, wires, &mut on_devices, machine, profiling, goes_on)?;
    measured.stage.finish()?;
    let time = profiling.limit / (HAND_OVERS * cores.len() as u32);
    let sync = cores.iter().map(|core| hand_over::ns(core, &here, time)).collect::<Result<Vec<_>>>()?;
    let samples = samples.into_iter().map(Measurements::counted).collect::<Result<_>>()?;
    let crossing = Crossing { cuts, bytes: measured.crossing_bytes(wires) };
    let profile = profile(machine, kinds, facts, samples, crossing, frames)?;
    let switch = cores
        .iter()
        .enumerate()
        .map(|(kind, core)| hand_over::switch_ns(core, &here, time, around_replicas(profile.tasks(), kind)));
    let switch = switch.collect::<Result<Vec<_>>>()?;
    let profile = profile.with_sync_ns(sync)?.with_switch_ns(switch)?;
    let profile = devices::add(profile, machine, &here, &on_devices, wires)?;
    with_bits(profile, measured.bits_per_frame())
}

/// What the tasks take before the first one that may be replicated, up to the last one, and after it.
fn around_replicas(tasks: &[TaskProfile], kind: usize) -> [u64; 3] {
    let is_replicable = |task: &TaskProfile| task.replicable;
    let last = tasks.iter().rposition(is_replicable).map_or(0, |last| last + 1);
    let first = tasks.iter().position(is_replicable).unwrap_or(0);
    let work_ns = |tasks: &[TaskProfile]| tasks.iter().filter_map(|task| task.ns[kind]).sum();
    [&tasks[..first], &tasks[first..last], &tasks[last..]].map(work_ns)
}

fn with_bits(profile: Profile, bits_per_frame: Option<u64>) -> Result<Profile> {
    Ok(match bits_per_frame {
        Some(bits) => profile.with_bits_per_frame(bits)?,
        None => profile,
    })
}

/// The core that stands for all of its kind, or the hardware thread of one.
fn core_of(machine: &Machine, kind: usize) -> Result<Core> {
    let name = &machine.kinds()[kind].name;
    let of_kind = |machine: &Machine| {
        let kind = machine.kinds().iter().position(|kind| kind.name == *name);
        machine.cores().iter().find(|core| Some(core.kind) == kind).cloned()
    };
    let found = of_kind(machine).or_else(|| of_kind(&machine.all_divided()));
    found.ok_or_else(|| Error::build(format!("the machine has no core of the kind `{name}` to measure on")))
}

/// Measures on these cores, one of each kind, by turns, on a thread of its own that is pinned there. While one measures that is a hardware
/// thread, its siblings work, whatever else does. `visit` gets the kind and what is
/// wanted, and answers `false` when the source has ended, as does this.
fn on_each_kind(
    measured: &mut Measured,
    cores: &[Core],
    machine: &Machine,
    profiling: Profiling,
    mut visit: impl FnMut(&mut Measured, usize, Visit) -> Result<bool> + Send,
) -> Result<bool> {
    let turns = if cores.len() == 1 { 1 } else { TURNS };
    let part = Visit {
        warm_up: WARM_UP,
        executions: profiling.executions.get().div_ceil(turns),
        least: LEAST.div_ceil(turns),
        time: profiling.limit / (turns * cores.len()) as u32,
    };
    let is_place = |kind: usize| machine.kinds()[kind].smt.is_some();
    let busy = match profiling.load {
        Load::Idle if !(0..cores.len()).any(is_place) => None,
        _ => Some(BusyCores::new(machine)?),
    };
    let works = |thread: usize, kind: usize| {
        let measured = cores[kind].threads[0];
        let other = machine.core_of(thread).filter(|_| thread != measured);
        other.is_some_and(|other| {
            let is_sibling = other.threads.contains(&measured);
            match profiling.load {
                _ if is_sibling => is_place(kind),
                Load::Idle => false,
                // Whole cores work on one of their threads.
                Load::Busy => is_place(kind) || other.threads[0] == thread,
            }
        })
    };
    let measure = || {
        for _ in 0..turns {
            for (kind, core) in cores.iter().enumerate() {
                // A system that pins no threads measures on whatever core there is.
                let _ = affinity::pin(&core.threads);
                if let Some(busy) = &busy {
                    busy.only(|thread| works(thread, kind));
                }
                if !visit(measured, kind, part)? {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    };
    thread::scope(|scope| scope.spawn(measure).join()).unwrap_or_else(|payload| Err(Error::panic(payload)))
}

/// Name of each task, and whether it may be replicated.
fn facts(tasks: &[Node]) -> Vec<(String, bool)> {
    tasks.iter().map(|task| (task.name.to_string(), task.step.replica().is_some())).collect()
}

/// What crosses between tasks.
struct Crossing {
    /// What that costs, on each kind of core, where it was measured.
    cuts: Option<Vec<cuts::CutNs>>,
    /// Bytes before each task.
    bytes: Vec<u64>,
}

fn profile(
    machine: &Machine,
    kinds: &[CoreSpec],
    facts: Vec<(String, bool)>,
    mut samples: Vec<Sample>,
    crossing: Crossing,
    frames: usize,
) -> Result<Profile> {
    let tasks = facts.into_iter().enumerate().map(|(task, (name, replicable))| {
        let (mut ns, mut seen) = (Vec::new(), Vec::new());
        for (kind, sample) in kinds.iter().zip(&mut samples) {
            let slower = emulate::slowness(kind, &name);
            let (weight, measured) = weigh(&mut sample.tasks[task], sample.executions, slower);
            ns.push(Some(weight));
            seen.push(Some(measured));
        }
        let profiled = TaskProfile { replicable, ns, seen: Some(seen), ..TaskProfile::sequential(name, []) };
        let profiled = profiled.with_bytes(crossing.bytes[task]);
        match &crossing.cuts {
            None => profiled,
            Some(cuts) => {
                let of_kinds =
                    |ns: fn(&cuts::CutNs) -> &[u64]| cuts.iter().map(|cuts| ns(cuts)[task]).collect::<Vec<_>>();
                profiled.with_cut_ns(of_kinds(|cuts| &cuts.enter), of_kinds(|cuts| &cuts.leave))
            }
        }
    });
    let profile = Profile::new(kinds.iter().map(|kind| kind.name.as_str()), tasks.collect::<Vec<_>>())?;
    Ok(profile.with_machine(machine.to_string()).with_frames_per_execution(frames as u32)?)
}

/// By how much an execution of the longest hundredth counts beyond the longest of the others, at most: the system interrupts them, mostly
/// for less than that, as it will in a run. A host that takes the core away for longer does not do so steadily.
pub(crate) const INTERRUPTION_NS: u64 = 20_000;

/// The mean of times in ascending order, of which the longest hundredth counts within [`INTERRUPTION_NS`].
fn usual_ns(times: &[u64]) -> f64 {
    let most = times.len() - times.len() / 100;
    let limit = times[..most].last().map_or(0, |longest| longest + INTERRUPTION_NS);
    times.iter().map(|&ns| ns.min(limit) as f64).sum::<f64>() / times.len().max(1) as f64
}

/// A task's weight: its [usual](usual_ns) time over the executions that it had work in, times the share of executions that it had work in. A
/// task behind one that skips three frames of four counts a quarter.
fn weigh(sample: &mut TaskSample, executions: u64, slower: f64) -> (u64, Samples) {
    let times = &mut sample.times;
    times.iter_mut().for_each(|ns| *ns = (*ns as f64 * slower) as u64);
    times.sort_unstable();
    let weight = (usual_ns(times) * sample.executions as f64 / executions as f64).round() as u64;
    let at = |percent: usize| times.get((times.len() * percent / 100).min(times.len().saturating_sub(1)));
    let at = |percent| at(percent).copied().unwrap_or(0);
    (weight.max(1), Samples { samples: times.len() as u64, min_ns: at(0), median_ns: at(50), p99_ns: at(99) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interrupted_executions_tell_how_often_a_task_has_work() {
        let mut samples = Measurements::default();
        // All executions in which it had work were interrupted, but one; the others were short.
        samples.warm_up.add(&[Some(9)]);
        (0..9).for_each(|_| samples.interrupted.add(&[Some(7_000)]));
        samples.whole.add(&[Some(1_000)]);
        (0..10).for_each(|_| samples.whole.add(&[None]));
        let mut sample = samples.counted().unwrap();
        let (weight, seen) = weigh(&mut sample.tasks[0], sample.executions, 2.0);
        assert_eq!((weight, seen.samples, seen.median_ns), (1_000, 1, 2_000), "2000 ns in ten of twenty");
    }

    #[test]
    fn what_is_left_counts_where_nothing_better_is() {
        let mut samples = Measurements::default();
        samples.warm_up.add(&[Some(500)]);
        let mut only = samples.counted().unwrap();
        assert_eq!(weigh(&mut only.tasks[0], only.executions, 1.0).0, 500);
        let mut samples = Measurements::default();
        samples.warm_up.add(&[Some(500)]);
        samples.interrupted.add(&[Some(800)]);
        let mut interrupted = samples.counted().unwrap();
        assert_eq!(weigh(&mut interrupted.tasks[0], interrupted.executions, 1.0).0, 800);
        assert!(Measurements::default().counted().is_err());
    }

    #[test]
    fn more_executions_than_are_kept_do_not_make_a_task_lighter() {
        let mut sample = Sample::default();
        (0..2 * ROOM).for_each(|_| sample.add(&[Some(300)]));
        assert_eq!(weigh(&mut sample.tasks[0], sample.executions, 1.0).0, 300);
    }
}

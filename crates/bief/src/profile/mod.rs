//! Time per task on each kind of core: the weights that the schedulers need.

mod busy;
mod hand_over;

use std::num::NonZeroUsize;
use std::thread;
use std::time::{Duration, Instant};

use bief_schedule::{Profile, Seen, TaskProfile};

use crate::affinity;
use crate::clock::{self, nanoseconds};
use crate::emulate;
use crate::error::{Error, Result};
use crate::frame::Batch;
use crate::machine::{CoreKind, Machine};
use crate::stage::Stage;
use crate::task::Node;
use crate::wire::Joint;
use busy::BusyCores;

/// The first executions on a core fill caches and pages; they are run and not counted, unless the source has hardly more.
const WARM_UP: usize = 8;
/// Kinds of cores take turns, so that what changes while a profile is made changes for all of them.
const TURNS: usize = 4;
/// Executions of which times are kept: more tell nothing more.
const ROOM: usize = 1 << 16;

/// How the tasks of a chain are measured: [`Program::profile_on`](crate::Program::profile_on).
///
/// ```
/// use bief::{Load, Profiling};
///
/// let quiet = Profiling::default();
/// assert_eq!((quiet.executions.get(), quiet.load), (200, Load::Idle));
/// let loaded = Profiling { load: Load::Busy, ..quiet };
/// # let _ = loaded;
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Profiling {
    /// Executions that count on each kind of core.
    pub executions: NonZeroUsize,
    /// What the other cores do meanwhile.
    pub load: Load,
}

impl Default for Profiling {
    fn default() -> Self {
        Self { executions: const { NonZeroUsize::new(200).unwrap() }, load: Load::Idle }
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

/// What was measured of all tasks on one kind of core.
#[derive(Default)]
struct Sample {
    executions: u64,
    /// For each task, how long it took in the executions in which it had frames.
    times: Vec<Vec<u64>>,
}

impl Sample {
    fn add(&mut self, times: &[Option<u64>]) {
        self.executions += 1;
        self.times.resize_with(times.len(), || Vec::with_capacity(64));
        for (sample, time) in self.times.iter_mut().zip(times) {
            if sample.len() < ROOM {
                sample.extend(time);
            }
        }
    }
}

/// A chain on one thread, measured execution by execution.
struct Measured {
    stage: Stage,
    batch: Batch,
    frames: usize,
    done: usize,
    clock_cost: Duration,
    /// Of the last execution.
    times: Vec<Option<u64>>,
}

impl Measured {
    fn new(tasks: Vec<Node>, wires: &[Joint], frames: usize) -> Self {
        let count = tasks.len();
        Self {
            stage: Stage::new("profile".into(), tasks, 0..count, wires, frames),
            batch: Batch::new(frames),
            frames,
            done: 0,
            clock_cost: clock::cost(),
            times: vec![None; count],
        }
    }

    /// Runs the chain once; answers how it went, with the time of each task that had frames in `times`.
    fn execute(&mut self) -> Result<Execution> {
        self.batch.renew((self.done * self.frames) as u64);
        self.times.fill(None);
        let interruptions = clock::interruptions();
        let note = |task: usize, _: Instant, time: Duration, ran: bool| {
            self.times[task] = ran.then(|| nanoseconds(time.saturating_sub(self.clock_cost)));
        };
        // SAFETY: every wire is local to the one stage.
        unsafe { self.stage.run_timed(&mut self.batch, note)? };
        self.done += 1;
        Ok(match (self.batch.last, clock::interruptions() != interruptions) {
            (true, _) => Execution::Last,
            (false, true) => Execution::Interrupted,
            (false, false) => Execution::Whole,
        })
    }

    /// Measures so many executions on the core that the calling thread is on, after some to warm up. Those, and executions in
    /// which the thread lost its core to another one, are `spare`. `false` when the source has ended.
    fn visit(&mut self, executions: usize, spare: &mut Sample, good: &mut Sample) -> Result<bool> {
        let mut wanted = executions;
        for number in 0..WARM_UP.saturating_add(executions.saturating_mul(2)) {
            if wanted == 0 {
                break;
            }
            match self.execute()? {
                Execution::Last => return Ok(false),
                Execution::Whole if number >= WARM_UP => {
                    good.add(&self.times);
                    wanted -= 1;
                }
                _ => spare.add(&self.times),
            }
        }
        Ok(true)
    }
}

/// How an execution went.
enum Execution {
    Whole,
    /// The thread lost its core to another one.
    Interrupted,
    /// The source ended: it is no whole execution.
    Last,
}

/// Measures on the calling thread, wherever that runs, as the machine's first kind of core.
pub(crate) fn measure(tasks: Vec<Node>, wires: &[Joint], frames: usize, executions: usize) -> Result<Profile> {
    let machine = Machine::here();
    let facts = facts(&tasks);
    let mut measured = Measured::new(tasks, wires, frames);
    let (mut spare, mut good) = Default::default();
    measured.visit(executions, &mut spare, &mut good)?;
    measured.stage.finish()?;
    profile(&machine, &machine.kinds()[..1], facts, vec![counted(spare, good)?], frames)
}

/// Measures on a core of each kind in turn; the calling thread waits.
pub(crate) fn measure_on(
    tasks: Vec<Node>,
    wires: &[Joint],
    frames: usize,
    machine: &Machine,
    profiling: Profiling,
) -> Result<Profile> {
    let facts = facts(&tasks);
    let kinds = machine.kinds();
    let core_of = |kind: usize| {
        machine.cores().iter().find(|core| core.kind == kind).ok_or_else(|| {
            Error::build(format!("the machine has no core of the kind `{}` to measure on", kinds[kind].name))
        })
    };
    let cores = (0..kinds.len()).map(core_of).collect::<Result<Vec<_>>>()?;
    let mut measured = Measured::new(tasks, wires, frames);
    let mut samples: Vec<(Sample, Sample)> = kinds.iter().map(|_| Default::default()).collect();
    let turns = if kinds.len() == 1 { 1 } else { TURNS };
    let executions = profiling.executions.get().div_ceil(turns);
    let busy = match profiling.load {
        Load::Idle => None,
        Load::Busy => Some(BusyCores::new(machine)?),
    };
    let measure = || {
        'stream: for _ in 0..turns {
            for (core, (spare, good)) in cores.iter().zip(&mut samples) {
                // A system that pins no threads measures on whatever core there is.
                let _ = affinity::pin(&core.threads);
                if let Some(busy) = &busy {
                    busy.leave(core);
                }
                if !measured.visit(executions, spare, good)? {
                    break 'stream;
                }
            }
        }
        measured.stage.finish()
    };
    thread::scope(|scope| scope.spawn(measure).join()).unwrap_or_else(|payload| Err(Error::panic(&*payload)))?;
    drop(busy);
    let sync = cores.iter().map(|core| hand_over::ns(core)).collect::<Result<Vec<_>>>()?;
    let samples = samples.into_iter().map(|(spare, good)| counted(spare, good)).collect::<Result<_>>()?;
    Ok(profile(machine, kinds, facts, samples, frames)?.with_sync_ns(sync)?)
}

/// Name of each task, and whether it may be replicated.
fn facts(tasks: &[Node]) -> Vec<(String, bool)> {
    tasks.iter().map(|task| (task.name.to_string(), task.step.replica().is_some())).collect()
}

/// The executions that count: the good ones, if there are any.
fn counted(spare: Sample, good: Sample) -> Result<Sample> {
    let sample = if good.executions > 0 { good } else { spare };
    if sample.executions == 0 {
        return Err(Error::build(
            "the source ended before one whole batch on each kind of core: there is nothing to profile, give a longer input",
        ));
    }
    Ok(sample)
}

fn profile(
    machine: &Machine,
    kinds: &[CoreKind],
    facts: Vec<(String, bool)>,
    mut samples: Vec<Sample>,
    frames: usize,
) -> Result<Profile> {
    let tasks = facts.into_iter().enumerate().map(|(task, (name, replicable))| {
        let (mut ns, mut seen) = (Vec::new(), Vec::new());
        for (kind, sample) in kinds.iter().zip(&mut samples) {
            let slower = 1.0 + emulate::rate(kind, &name);
            let (weight, measured) = weigh(&mut sample.times[task], sample.executions, slower);
            ns.push(weight);
            seen.push(measured);
        }
        TaskProfile { name, replicable, ns, seen: Some(seen) }
    });
    let profile = Profile::new(kinds.iter().map(|kind| kind.name.as_str()), tasks.collect::<Vec<_>>())?;
    Ok(profile.with_machine(machine.to_string()).with_frames_per_execution(frames as u32)?)
}

/// A task's weight: its mean time over the executions that it had work in, without the longest hundredth, times
/// the share of executions that it had work in. A task behind one that skips three frames of four counts a
/// quarter.
fn weigh(times: &mut [u64], executions: u64, slower: f64) -> (u64, Seen) {
    times.iter_mut().for_each(|ns| *ns = (*ns as f64 * slower) as u64);
    times.sort_unstable();
    let samples = times.len() as u64;
    let usual = &times[..times.len() - times.len() / 100];
    let mean = usual.iter().map(|&ns| ns as f64).sum::<f64>() / usual.len().max(1) as f64;
    let weight = (mean * samples as f64 / executions as f64).round() as u64;
    let at = |percent: usize| times.get((times.len() * percent / 100).min(times.len().saturating_sub(1)));
    let at = |percent| at(percent).copied().unwrap_or(0);
    (weight.max(1), Seen { samples, min_ns: at(0), median_ns: at(50), p99_ns: at(99) })
}

//! What it costs to cut a chain: tasks that read what another core wrote, or write where another core read, beside the same
//! tasks all on one core. Batches that cross go round the slots of a ring, as in a run: what caches do not hold comes from memory.

use std::hint::spin_loop;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use super::{HAND_OVERS, Measured, Profiling};
use crate::affinity;
use crate::boundary;
use crate::error::{Error, Result};
use crate::frame::Slot;
use crate::machine::{Core, Machine};
use crate::wire::WireInfo;

/// Slots of a ring between two replicas, with the two that these hold, and bytes of them all, about, at most: caches hold less.
const SLOTS: usize = 6;
const ROOM: f64 = 512e6;
/// Executions with each cut: those that fill caches and all slots, those that count at least and at most.
const WARM_UP: usize = SLOTS;
const LEAST: usize = 6;
const MOST: usize = 24;
/// A cut whose fewest executions take so many times the time that it has is too slow to be tried: as of a source that waits for its
/// input, in a long chain.
const TOO_SLOW: u32 = 3;
/// A difference up to this share of a task's time is what two measurements of it differ by.
const NOISE: f64 = 0.03;
/// Looks at whose turn it is before the core is left to others.
const SPINS: u32 = 1 << 14;

/// For each task, what it costs a stage on a kind of core to begin and to end with it, in nanoseconds.
pub(super) struct CutNs {
    pub(super) enter: Vec<u64>,
    pub(super) leave: Vec<u64>,
}

/// Measures on a core, with the tasks on the other side of each cut on its nearest neighbour: batch by batch, one thread after the
/// other, so that nothing else differs from all tasks on one core. `None` where there is no neighbour, threads cannot be pinned, the
/// time is too short for so many cuts, or the source ends.
pub(super) fn measure(
    measured: &mut Measured,
    wires: &[WireInfo],
    core: &Core,
    here: &Machine,
    profiling: Profiling,
) -> Result<Option<CutNs>> {
    let Some(other) = neighbour(core, here) else { return Ok(None) };
    let tasks = measured.times.len();
    // However many executions of the whole chain are asked for, there are many cuts.
    let limit = profiling.limit.min(Profiling::default().limit);
    let time = limit / HAND_OVERS / (2 * (tasks + 1)) as u32;
    let executions = Executions { time, most: profiling.executions.get().clamp(LEAST, MOST) };
    let begins_here = Lockstep::new(measured, wires).times_of_cuts([other, core], executions)?;
    let kind = |core: &Core| here.core_of(core.threads[0]).map(|core| core.kind);
    let ends_here = match &begins_here {
        // The neighbour stands for it.
        _ if kind(other) == kind(core) => begins_here.clone(),
        Some(_) => Lockstep::new(measured, wires).times_of_cuts([core, other], executions)?,
        None => None,
    };
    Ok(begins_here.zip(ends_here).map(|(enter, leave)| CutNs {
        // With a cut before the first task all are on the second core, with one behind the last on the first.
        enter: (0..tasks).map(|cut| beyond(&enter[cut], &enter[0], readers(wires, cut))).collect(),
        leave: (0..tasks).map(|task| beyond(&leave[task + 1], &leave[tasks], writers(wires, task + 1))).collect(),
    }))
}

/// The core that shares most with this one, of those that the process may use and can keep busy beside it.
fn neighbour<'m>(core: &Core, here: &'m Machine) -> Option<&'m Core> {
    let others = here.cores().iter().filter(|other| other.threads[0] != core.threads[0]);
    let distance = |other: &&Core| {
        let differs = [other.package != core.package, other.node != core.node, other.cluster != core.cluster];
        (differs, other.threads[0].abs_diff(core.threads[0]))
    };
    others.min_by_key(distance).filter(|_| here.usable() > 1)
}

/// The tasks behind a cut that use what was made before it.
fn readers(wires: &[WireInfo], cut: usize) -> impl Iterator<Item = usize> {
    let crossing = wires.iter().filter(move |wire| wire.constant.is_none() && wire.crosses(cut));
    sorted(crossing.flat_map(|wire| &wire.uses).map(|used| used.task).filter(move |&task| task >= cut))
}

/// The tasks before a cut that make or rewrite what is used behind it.
fn writers(wires: &[WireInfo], cut: usize) -> impl Iterator<Item = usize> {
    let crossing = wires.iter().filter(move |wire| wire.constant.is_none() && wire.crosses(cut));
    let rewriters =
        |wire: &WireInfo| wire.uses.iter().filter(|used| used.rewrites).map(|used| used.task).collect::<Vec<_>>();
    sorted(
        crossing.flat_map(move |wire| rewriters(wire).into_iter().chain([wire.maker])).filter(move |&task| task < cut),
    )
}

fn sorted(tasks: impl Iterator<Item = usize>) -> impl Iterator<Item = usize> {
    let mut tasks: Vec<usize> = tasks.collect();
    tasks.sort_unstable();
    tasks.dedup();
    tasks.into_iter()
}

/// By how much some tasks took longer than without a cut, together.
fn beyond(cut: &[f64], whole: &[f64], tasks: impl Iterator<Item = usize>) -> u64 {
    let longer = |task: usize| Some(cut[task] - whole[task]).filter(|&ns| ns > NOISE * whole[task]).unwrap_or(0.0);
    tasks.map(longer).sum::<f64>().round() as u64
}

/// How often, and how long, each cut is tried.
#[derive(Clone, Copy)]
struct Executions {
    time: Duration,
    most: usize,
}

/// A chain that two threads execute by turns.
struct Lockstep<'m> {
    wires: &'m [WireInfo],
    shared: Mutex<Shared<'m>>,
    turn: AtomicUsize,
}

struct Shared<'m> {
    measured: &'m mut Measured,
    /// The first task of the second thread.
    cut: usize,
    /// The wires that cross there, and the slots that their batches go round.
    crossing: Vec<usize>,
    slots: Vec<Slot>,
    /// The second thread lost its core in this execution.
    interrupted: bool,
    fault: Option<Error>,
}

const FRONT: usize = 0;
const BACK: usize = 1;
/// One of the threads has ended.
const OVER: usize = 2;

/// Ends the other thread, too, when a thread ends, whatever the reason.
struct Ends<'t>(&'t AtomicUsize);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.store(OVER, Ordering::Release);
    }
}

impl<'m> Lockstep<'m> {
    fn new(measured: &'m mut Measured, wires: &'m [WireInfo]) -> Self {
        let shared =
            Shared { measured, cut: 0, crossing: Vec::new(), slots: Vec::new(), interrupted: false, fault: None };
        Self { wires, shared: Mutex::new(shared), turn: AtomicUsize::new(FRONT) }
    }

    /// For each cut, from before the first task to behind the last, the time of each task: those before it on the first core, the
    /// others on the second.
    fn times_of_cuts(self, cores: [&Core; 2], executions: Executions) -> Result<Option<Vec<Vec<f64>>>> {
        let times = thread::scope(|scope| {
            let back = scope.spawn(|| self.run_back(cores[1]));
            let front = scope.spawn(|| self.run_front(cores[0], executions));
            let times = front.join();
            back.join().and(times)
        });
        let mut shared = self.shared.into_inner().unwrap_or_else(PoisonError::into_inner);
        let made_whole = shared.cut_at(0, self.wires);
        match (times, shared.fault.or(made_whole.err())) {
            (Err(payload), _) => Err(Error::panic(payload)),
            (_, Some(fault)) => Err(fault),
            (Ok(times), None) => Ok(times),
        }
    }

    /// Waits for a turn; `false` where it will not come.
    fn wait_for(&self, turn: usize) -> bool {
        for spins in 0_u32.. {
            match self.turn.load(Ordering::Acquire) {
                OVER => return false,
                whose if whose == turn => break,
                // Who shares the core with the other thread must let it work.
                _ if spins > SPINS => thread::yield_now(),
                _ => spin_loop(),
            }
        }
        true
    }

    fn lock(&self) -> MutexGuard<'_, Shared<'m>> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs the tasks behind the cut, whenever it is its turn.
    fn run_back(&self, core: &Core) {
        let _ends = Ends(&self.turn);
        if affinity::pin(&core.threads).is_err() {
            return;
        }
        while self.wait_for(BACK) {
            let mut shared = self.lock();
            let tasks = shared.cut..shared.measured.times.len();
            if !shared.run(tasks) {
                return;
            }
            drop(shared);
            // The other thread may have ended meanwhile.
            let _ = self.turn.compare_exchange(BACK, FRONT, Ordering::AcqRel, Ordering::Relaxed);
        }
    }

    /// Runs the tasks before each cut, and collects the times of all.
    fn run_front(&self, core: &Core, executions: Executions) -> Option<Vec<Vec<f64>>> {
        let _ends = Ends(&self.turn);
        affinity::pin(&core.threads).ok()?;
        let tasks = self.lock().measured.times.len();
        (0..=tasks).map(|cut| self.times_of_cut(cut, executions)).collect()
    }

    /// The usual time of each task with a cut: the median.
    fn times_of_cut(&self, cut: usize, Executions { time, most }: Executions) -> Option<Vec<f64>> {
        if let Err(fault) = self.lock().cut_at(cut, self.wires) {
            self.lock().fault = Some(fault);
            return None;
        }
        let mut start = Instant::now();
        let (mut whole, mut interrupted): (Vec<Vec<u64>>, Vec<Vec<u64>>) = (Vec::new(), Vec::new());
        for number in 0..WARM_UP + 2 * most {
            if number == WARM_UP {
                start = Instant::now();
            }
            if number == WARM_UP + LEAST && start.elapsed() > TOO_SLOW * time {
                return None;
            }
            if whole.len() == most || number >= WARM_UP + LEAST && start.elapsed() > time {
                break;
            }
            if !self.wait_for(FRONT) {
                return None;
            }
            let mut shared = self.lock();
            shared.interrupted = false;
            shared.begin(number);
            if !shared.run(0..cut) {
                return None;
            }
            drop(shared);
            let _ = self.turn.compare_exchange(FRONT, BACK, Ordering::AcqRel, Ordering::Relaxed);
            if !self.wait_for(FRONT) {
                return None;
            }
            let mut shared = self.lock();
            if !shared.measured.end() {
                return None;
            }
            if number < WARM_UP {
                continue;
            }
            let times = shared.measured.times.iter().map(|time| time.unwrap_or(0)).collect();
            if shared.interrupted { &mut interrupted } else { &mut whole }.push(times);
        }
        let counted = if whole.len() >= LEAST / 2 { whole } else { interrupted };
        (!counted.is_empty()).then(|| medians(&counted))
    }
}

impl Shared<'_> {
    /// Lets what crosses a cut go round slots, and everything else stay where it is.
    fn cut_at(&mut self, cut: usize, wires: &[WireInfo]) -> Result<()> {
        let (tasks, frames) = (self.measured.times.len(), self.measured.frames);
        self.measured.stage.make_room(0..tasks, wires, frames);
        (self.cut, self.crossing) = (cut, boundary::crossing(wires, cut));
        let bytes: f64 = self.crossing.iter().map(|&wire| wires[wire].format.bytes(wires[wire].len, frames)).sum();
        let slots = ((ROOM / bytes.max(1.0)) as usize).clamp(1, SLOTS);
        let slot = |_| boundary::slot(&self.crossing, wires, frames, None);
        self.slots = (0..slots).map(slot).collect::<Result<_>>()?;
        Ok(())
    }

    /// Begins an execution.
    fn begin(&mut self, number: usize) {
        self.measured.begin();
        self.measured.stage.load(&self.crossing, &self.slots[number % self.slots.len()]);
    }

    /// Runs some tasks; `false` after a fault.
    fn run(&mut self, tasks: Range<usize>) -> bool {
        match self.measured.run(tasks) {
            Ok(interrupted) => self.interrupted |= interrupted,
            Err(fault) => self.fault = Some(fault),
        }
        self.fault.is_none()
    }
}

/// Of each task, the median of the executions in which it worked, times the share of those.
fn medians(executions: &[Vec<u64>]) -> Vec<f64> {
    let of_task = |task: usize| {
        let mut times: Vec<u64> = executions.iter().map(|times| times[task]).filter(|&ns| ns > 0).collect();
        times.sort_unstable();
        let median = times.get(times.len() / 2).copied().unwrap_or(0);
        median as f64 * times.len() as f64 / executions.len() as f64
    };
    (0..executions[0].len()).map(of_task).collect()
}

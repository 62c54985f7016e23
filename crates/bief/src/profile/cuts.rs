//! What it costs to cut a chain: tasks that read what another core wrote, or write where another core read, beside the same
//! tasks all on one core. Batches that cross go round the slots of a ring, as in a run: what caches do not hold comes from memory.

use std::collections::{BTreeMap, BTreeSet};
use std::hint::spin_loop;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use super::{HAND_OVERS, Measured, Profiling};
use crate::affinity;
use crate::boundary::{self, Contents};
use crate::error::{Error, Result};
use crate::frame::Slot;
use crate::machine::{Core, Machine};
use crate::wire::WireInfo;

/// Executions that count, one after the other: with the cut, then without it, as what a core can do changes from moment to moment. One
/// before them fills caches, and before the first with a cut as many as there are slots, two at least.
const BLOCK: usize = 3;
/// Most rounds of such blocks: so many that what a cut costs shows where it is a hundredth of a task.
const ROUNDS: usize = 48;
/// A cut whose first round takes so many times the time that it has is too slow to be tried: as of a source that waits for its input, in a
/// long chain.
const TOO_SLOW: u32 = 6;
/// A difference up to this share of a task's time, or to twice what the medians may be off by, is what two measurements of it differ by.
const NOISE: f64 = 0.005;
/// For each byte that it touches of what crosses, a task takes no longer than this: a cache line comes from memory in less, and what else
/// was different is no cost of the cut.
const SLOWEST_NS: f64 = 200.0 / 64.0;
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
    // However many executions of the whole chain are asked for, there are many cuts.
    let limit = profiling.limit.min(Profiling::default().limit);
    let time = limit / HAND_OVERS / measured.times.len() as u32;
    let rounds = Rounds { time, most: profiling.executions.get().div_ceil(BLOCK).min(ROUNDS) };
    let begins_here = Lockstep::new(measured, wires).costs_of_cuts([other, core], rounds)?;
    let kind = |core: &Core| here.core_of(core.threads[0]).map(|core| core.kind);
    if kind(other) == kind(core) {
        // The neighbour stands for it.
        return Ok(begins_here);
    }
    let ends_here = Lockstep::new(measured, wires).costs_of_cuts([core, other], rounds)?;
    Ok(begins_here.zip(ends_here).map(|(begins, ends)| CutNs { enter: begins.enter, leave: ends.leave }))
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

/// Tasks, and how many bytes of a batch each touches of what crosses a cut, at most.
type Touched = BTreeMap<usize, f64>;

/// The tasks behind a cut that use what was made before it.
fn readers(wires: &[WireInfo], cut: usize, frames: usize) -> Touched {
    touched(wires, cut, frames, |wire| wire.uses.iter().map(|used| used.task).filter(|&task| task >= cut).collect())
}

/// The tasks before a cut that make or rewrite what is used behind it.
fn writers(wires: &[WireInfo], cut: usize, frames: usize) -> Touched {
    touched(wires, cut, frames, |wire| {
        let rewriters = wire.uses.iter().filter(|used| used.rewrites).map(|used| used.task);
        rewriters.chain([wire.maker]).filter(|&task| task < cut).collect()
    })
}

fn touched(wires: &[WireInfo], cut: usize, frames: usize, by: impl Fn(&WireInfo) -> BTreeSet<usize>) -> Touched {
    let mut touched = Touched::new();
    for wire in wires.iter().filter(|wire| wire.constant.is_none() && wire.crosses(cut)) {
        for task in by(wire) {
            *touched.entry(task).or_default() += wire.format.bytes(wire.len, frames);
        }
    }
    touched
}

/// By how much some tasks took longer with a cut than without, together.
fn beyond(cut: &[Usual], whole: &[Usual], tasks: &Touched) -> u64 {
    let longer = |(&task, &bytes): (&usize, &f64)| {
        let (cut, whole) = (cut[task], whole[task]);
        let longer = cut.ns - whole.ns;
        let is_sure = longer > (NOISE * whole.ns).max(2.0 * cut.error.hypot(whole.error));
        if is_sure { longer.min(SLOWEST_NS * bytes) } else { 0.0 }
    };
    tasks.iter().map(longer).sum::<f64>().round() as u64
}

/// How often each cut is tried at most, and how long.
#[derive(Clone, Copy)]
struct Rounds {
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
    /// The wires that cross a cut, and the slots that their batches go round, the first of which has them all where there is no cut.
    crossing: Vec<usize>,
    slots: Vec<Slot>,
    /// The slot of the last batch.
    slot: usize,
    /// A thread lost its core in this execution.
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
        let shared = Shared {
            measured,
            cut: 0,
            crossing: Vec::new(),
            slots: Vec::new(),
            slot: 0,
            interrupted: false,
            fault: None,
        };
        Self { wires, shared: Mutex::new(shared), turn: AtomicUsize::new(FRONT) }
    }

    /// What each cut costs between the first core, which has the tasks before it, and the second, which has the others.
    fn costs_of_cuts(self, cores: [&Core; 2], rounds: Rounds) -> Result<Option<CutNs>> {
        let costs = thread::scope(|scope| {
            let back = scope.spawn(|| self.run_back(cores[1]));
            let front = scope.spawn(|| self.run_front(cores[0], rounds));
            let costs = front.join();
            back.join().and(costs)
        });
        let mut shared = self.shared.into_inner().unwrap_or_else(PoisonError::into_inner);
        shared.stay(self.wires);
        match (costs, shared.fault) {
            (Err(payload), _) => Err(Error::panic(payload)),
            (_, Some(fault)) => Err(fault),
            (Ok(costs), None) => Ok(costs),
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

    /// Runs the tasks before each cut, and compares.
    fn run_front(&self, core: &Core, rounds: Rounds) -> Option<CutNs> {
        let _ends = Ends(&self.turn);
        affinity::pin(&core.threads).ok()?;
        let shared = self.lock();
        let (tasks, frames) = (shared.measured.times.len(), shared.measured.frames);
        drop(shared);
        let mut costs = CutNs { enter: vec![0; tasks], leave: vec![0; tasks] };
        for cut in 1..tasks {
            let [apart, front, back] = self.times_of_cut(cut, rounds)?;
            costs.enter[cut] = beyond(&apart, &back, &readers(self.wires, cut, frames));
            costs.leave[cut - 1] = beyond(&apart, &front, &writers(self.wires, cut, frames));
        }
        Some(costs)
    }

    /// The usual time of each task with a cut, and with all tasks on the first core, and on the second.
    fn times_of_cut(&self, cut: usize, Rounds { time, most }: Rounds) -> Option<[Vec<Usual>; 3]> {
        let mut shared = self.lock();
        let tasks = shared.measured.times.len();
        if let Err(fault) = shared.go_round(cut, self.wires) {
            shared.fault = Some(fault);
            return None;
        }
        let slots = shared.slots.len();
        drop(shared);
        let start = Instant::now();
        for number in 0..slots {
            if number >= 2 && start.elapsed() > time {
                break;
            }
            self.execute(cut)?;
        }
        let mut times: [Times; 3] = Default::default();
        for round in 0..most {
            match start.elapsed() {
                taken if round == 1 && taken > TOO_SLOW * time => return None,
                taken if round > 0 && taken > time => break,
                _ => {}
            }
            // Frames may repeat: each of the three has all of them in turn.
            for turn in 0..times.len() {
                let which = (round + turn) % times.len();
                let (times, cut) = (&mut times[which], [cut, tasks, 0][which]);
                self.execute(cut)?;
                for _ in 0..BLOCK {
                    let (interrupted, executed) = self.execute(cut)?;
                    if interrupted { &mut times.interrupted } else { &mut times.whole }.push(executed);
                }
            }
        }
        Some(times.map(Times::usual))
    }

    /// Executes the chain with the tasks before a cut on this core; answers whether a thread lost its core, and the time of each task.
    fn execute(&self, cut: usize) -> Option<(bool, Vec<u64>)> {
        if !self.wait_for(FRONT) {
            return None;
        }
        let mut shared = self.lock();
        shared.begin(cut);
        if !shared.run(0..cut) {
            return None;
        }
        drop(shared);
        let _ = self.turn.compare_exchange(FRONT, BACK, Ordering::AcqRel, Ordering::Relaxed);
        if !self.wait_for(FRONT) {
            return None;
        }
        let mut shared = self.lock();
        let goes_on = shared.measured.end();
        goes_on.then(|| (shared.interrupted, shared.measured.times.iter().map(|time| time.unwrap_or(0)).collect()))
    }
}

impl Shared<'_> {
    /// Lets what crosses a cut go round slots, and everything else stay where it is.
    fn go_round(&mut self, cut: usize, wires: &[WireInfo]) -> Result<()> {
        self.stay(wires);
        let frames = self.measured.frames;
        self.crossing = boundary::crossing(wires, cut);
        let contents = Contents::new(&self.crossing, wires, frames);
        // Those of a ring between two replicas, and the two that these hold.
        let slots = contents.slots(1, 0) + 2;
        self.slots = (0..slots).map(|_| boundary::slot(&contents, None)).collect::<Result<_>>()?;
        Ok(())
    }

    /// Lets everything stay where it is.
    fn stay(&mut self, wires: &[WireInfo]) {
        let (tasks, frames) = (self.measured.times.len(), self.measured.frames);
        self.measured.stage.make_room(0..tasks, wires, frames);
        (self.crossing, self.slots) = (Vec::new(), Vec::new());
    }

    /// Begins an execution with a cut, or with all tasks on one core.
    fn begin(&mut self, cut: usize) {
        (self.cut, self.interrupted) = (cut, false);
        let is_cut = (1..self.measured.times.len()).contains(&cut);
        self.slot = if is_cut { (self.slot + 1) % self.slots.len() } else { 0 };
        self.measured.begin();
        self.measured.stage.load(&self.crossing, &self.slots[self.slot]);
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

/// The times of tasks, in executions that were whole, and in which a thread lost its core.
#[derive(Default)]
struct Times {
    whole: Vec<Vec<u64>>,
    interrupted: Vec<Vec<u64>>,
}

impl Times {
    /// The usual ones: of those executions that were whole, if these are not few.
    fn usual(self) -> Vec<Usual> {
        let executions = if self.whole.len() >= self.interrupted.len() { self.whole } else { self.interrupted };
        let tasks = executions.first().map_or(0, Vec::len);
        (0..tasks).map(|task| Usual::of(executions.iter().map(|times| times[task]).collect())).collect()
    }
}

/// The usual time of a task: the median, and about how far it may be off.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Usual {
    ns: f64,
    error: f64,
}

impl Usual {
    /// Of the executions in which it worked, times the share of those.
    fn of(mut times: Vec<u64>) -> Self {
        let executions = times.len();
        times.retain(|&ns| ns > 0);
        times.sort_unstable();
        let at = |part: f64| times.get((part * times.len() as f64) as usize).copied().unwrap_or(0) as f64;
        let share = times.len() as f64 / executions.max(1) as f64;
        // Half of normal values lie within 0.67 deviations; the error of a median is 1.25 deviations over the root of their count.
        let deviation = (at(0.75) - at(0.25)) / (2.0 * 0.67);
        Self { ns: share * at(0.5), error: share * 1.25 * deviation / (times.len().max(1) as f64).sqrt() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_that_scatter_must_differ_by_more() {
        let scattered = Usual::of((0..8).map(|number| 1000 + 100 * number).collect());
        let steady = Usual::of(vec![500; 8]);
        assert_eq!((scattered.ns, steady), (1400.0, Usual { ns: 500.0, error: 0.0 }));
        assert!((100.0..200.0).contains(&scattered.error), "{}", scattered.error);
        let with_cut = |first, second| {
            let longer = |usual: Usual, ns| Usual { ns: usual.ns + ns, ..usual };
            let touched = Touched::from([(0, 1000.0), (1, 64.0)]);
            beyond(&[longer(scattered, first), longer(steady, second)], &[scattered, steady], &touched)
        };
        assert_eq!(with_cut(300.0, 2.0), 0);
        assert_eq!(with_cut(500.0, 20.0), 520);
        assert_eq!(with_cut(-600.0, 20.0), 20);
        assert_eq!(with_cut(600.0, 900.0), 800, "one cache line");
        assert_eq!(Usual::of(vec![0, 80, 0, 80]).ns, 40.0, "it had work every other time");
    }
}

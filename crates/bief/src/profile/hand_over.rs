//! What it costs a stage, or a lane of a device, to take a batch and to pass one on: awake, asleep, or beside another one on its core.

use std::hint::{black_box, spin_loop};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use bief_machine::clock::{nanoseconds, process_time, thread_time};

use super::usual_ns;
use crate::boundary;
use crate::chain::Chain;
use crate::error::Result;
use crate::machine::{Core, Machine};
use crate::placement::Policy;
use crate::sink;
use crate::source;
use crate::task::{Flow, Task};
use crate::wait::Waiting;
use crate::wire::{In, InOut, Out};

/// Work between two hand-overs, as of a small task; how many of them, and how often that is repeated for the median.
const WORK: Duration = Duration::from_micros(20);
const BATCHES: u32 = 400;
/// What is measured of them where there is no time for more.
const FEW: u32 = 40;
const REPEATS: usize = 5;

/// Nanoseconds that a stage on this core spends on a batch beyond its tasks: measured between this core and another one, with
/// frames of one number. 0 on a machine of one core. `here` is the machine as it is: an emulated core hands over as fast as the
/// one that it stands for. Where others keep the cores busy, fewer are measured: those of so much time, about.
pub(super) fn ns(core: &Core, here: &Machine, time: Duration) -> Result<u64> {
    let Some(other) = here.cores().iter().find(|other| other.threads[0] != core.threads[0]) else { return Ok(0) };
    let policy: Policy = format!("{} | {}", other.threads[0], core.threads[0]).parse()?;
    let worked = Arc::<AtomicU64>::default();
    let work = || {
        let start = Instant::now();
        while start.elapsed() < WORK {
            spin_loop();
        }
        start.elapsed()
    };
    let start = Instant::now();
    let is_over = move || start.elapsed() > time;
    let mut left = BATCHES;
    let mut chain = Chain::new();
    let fill = move |frame: &mut [u32]| {
        work();
        frame[0] = left;
        left = if left == 0 || left < BATCHES - FEW && is_over() { BATCHES } else { left - 1 };
        Ok(if left == BATCHES { Flow::Stop } else { Flow::Next })
    };
    let numbers = chain.add(source::from_fn(1, fill), ());
    chain.stage("receive");
    let total = Arc::clone(&worked);
    let take = sink::for_each(move |_: &[u32]| {
        total.fetch_add(nanoseconds(work()), Ordering::Relaxed);
        Ok(Flow::Next)
    });
    chain.add(take, &numbers);
    // As runs are that tell how far they are.
    let mut pipeline = chain.build()?.pipeline_as_marked()?.place(&policy, here)?.observe();
    let mut beyond = Vec::new();
    while beyond.is_empty() || beyond.len() < REPEATS && !is_over() {
        worked.store(0, Ordering::Relaxed);
        let report = pipeline.run()?;
        let own = worked.load(Ordering::Relaxed) as f64 / report.executions.max(1) as f64;
        beyond.push((report.stages[1].measured_ns - own).max(0.0) as u64);
    }
    beyond.sort_unstable();
    Ok(beyond[beyond.len() / 2])
}

/// The shortest and the longest work on a batch, in all stages together, for which it is measured what sharing cores costs; for how long at a
/// time, as threads that share cores go at another pace every few milliseconds; and how often, for the median: a host that takes a core away in
/// one of them changes it by more than what is measured.
const WORK_OF_ALL: [Duration; 2] = [Duration::from_micros(4), Duration::from_millis(2)];
const LONG: Duration = Duration::from_millis(30);
const ROUNDS: usize = 5;
/// As much of the work of all as a stage of one thread has at most there, so that replicas level out the cores.
const MOST_OF_ONE: f64 = 0.375;
/// Of the stage between the two.
const REPLICAS: usize = 2;

/// Nanoseconds that cores like this one lose on a batch of each stage to going from one thread to another, where stages share them: what
/// three stages on two of them, placed as such plans are ([`Policy::Packed`]), the second of which is replicated, take longer than two stages
/// with as much work, each on a core of its own. `work_ns` is what the tasks of the chain take before those that may be replicated, these, and
/// what comes after them: the more, the longer threads that are to go on wait for those that work. 0 on a machine of one core, where nothing
/// is gained by more threads. `here`, `time`: as of [`ns`].
pub(super) fn switch_ns(core: &Core, here: &Machine, time: Duration, work_ns: [u64; 3]) -> Result<u64> {
    let one = core.threads[0];
    let kind = here.cores().iter().find(|core| core.threads.contains(&one)).map(|core| core.kind);
    let others = || here.cores().iter().filter(|core| !core.threads.contains(&one));
    let Some(other) = others().find(|core| Some(core.kind) == kind).or_else(|| others().next()) else { return Ok(0) };
    let other = other.threads[0];
    let [apart, shared] = [format!("{one} | {other}"), format!("{one} | {one}; {other} | {other}")];
    let start = Instant::now();
    let all = work_ns.iter().sum::<u64>().max(1);
    let work = Duration::from_nanos(all).clamp(WORK_OF_ALL[0], WORK_OF_ALL[1]);
    // Two cores work.
    let batches = (2 * LONG.as_nanos() / work.as_nanos()) as u32;
    let slots = boundary::usual_slots(REPLICAS, boundary::turn(work.as_nanos() as f64 / 2.0));
    let steps = steps_in(work);
    let [first, _, last] = work_ns.map(|ns| (steps as f64 * (ns as f64 / all as f64).min(MOST_OF_ONE)) as u64);
    let parts = [first, steps - first - last, last];
    let mut beyond = Vec::new();
    while beyond.is_empty() || beyond.len() < ROUNDS && start.elapsed() < time {
        let apart_ns = period_ns([steps / 2, 0, steps / 2], batches, None, &apart.parse()?, here)?;
        let shared_ns = period_ns(parts, batches, Some(slots), &shared.parse()?, here)?;
        beyond.push((2.0 * (shared_ns - apart_ns) / 3.0).max(0.0) as u64);
    }
    beyond.sort_unstable();
    Ok(beyond[beyond.len() / 2])
}

/// The period of a source, a stage in two replicas and a sink with so many steps of work each, for so many batches; the second is left out
/// where it has none. `slots`: of each ring, where they are not the usual ones of threads that have a core each. The first quarter does not
/// count: new threads are on their way to their cores, and rings fill.
fn period_ns(
    [fill, work, take]: [u64; 3],
    batches: u32,
    slots: Option<usize>,
    policy: &Policy,
    here: &Machine,
) -> Result<f64> {
    let mut chain = Chain::new();
    let fill = few_batches(batches, move || {
        steps(fill);
    });
    let mut numbers = chain.add(source::from_fn(1, fill), ());
    if work > 0 {
        chain.stage("work").threads(REPLICAS);
        chain.add(Steps(work), &mut numbers);
    }
    chain.stage("receive");
    let first = batches / 4;
    let (mut count, mut start) = (0, Instant::now());
    let took = Arc::<AtomicU64>::default();
    let taken = Arc::clone(&took);
    let take = move |_: &[u32]| {
        steps(take);
        count += 1;
        if count == first {
            start = Instant::now();
        }
        taken.store(nanoseconds(start.elapsed()), Ordering::Relaxed);
        Ok(Flow::Next)
    };
    chain.add(sink::for_each(take), &numbers);
    let mut pipeline = chain.build()?.pipeline_as_marked()?;
    if let Some(slots) = slots {
        pipeline = pipeline.depth(slots.div_ceil(REPLICAS))?;
    }
    pipeline.place(policy, here)?.run()?;
    Ok(took.load(Ordering::Relaxed) as f64 / f64::from(batches - first))
}

/// How many steps of work take so long: they are the same work in any thread, whether it keeps its core or not.
fn steps_in(time: Duration) -> u64 {
    const FEW: u64 = 1000;
    let took = |_| {
        let start = Instant::now();
        black_box(steps(FEW));
        start.elapsed()
    };
    let shortest = (0..REPEATS).map(took).min().unwrap_or(time);
    FEW * nanoseconds(time) / nanoseconds(shortest).max(1)
}

fn steps(count: u64) -> u32 {
    (0..count).fold(0_u32, |sum, step| black_box(sum.rotate_left(7) ^ step as u32))
}

/// Does so many steps of work.
#[derive(Clone)]
struct Steps(u64);

impl Task for Steps {
    type In = InOut<u32>;
    type Out = ();

    fn lens(&self, _: usize) -> Result<()> {
        Ok(())
    }

    fn run(&mut self, frame: &mut [u32], (): ()) -> Result<Flow> {
        frame[0] ^= steps(self.0);
        Ok(Flow::Next)
    }

    fn replica(&self) -> Option<Self> {
        Some(self.clone())
    }
}

/// Between two batches for a thread that sleeps meanwhile, and how many of them.
const PAUSE: Duration = Duration::from_micros(250);
const SLOW_BATCHES: u32 = 300;

/// Processor time, in nanoseconds, that both threads together spend when a batch is handed to one that sleeps, beyond what the
/// same tasks take on one thread: waking it up and putting it to sleep again. Measured once, as it takes most of a second. 0 on a
/// machine of one core.
pub(super) fn asleep_ns(machine: &Machine) -> Result<f64> {
    static KNOWN: OnceLock<f64> = OnceLock::new();
    if machine.cores().len() < 2 {
        return Ok(0.0);
    }
    if let Some(known) = KNOWN.get() {
        return Ok(*known);
    }
    let mut beyond = Vec::new();
    for _ in 0..REPEATS {
        let (apart, together) = (paused(true)?, paused(false)?);
        beyond.push(apart.saturating_sub(together).as_nanos() as f64 / f64::from(SLOW_BATCHES));
    }
    beyond.sort_by(f64::total_cmp);
    Ok(*KNOWN.get_or_init(|| beyond[REPEATS / 2]))
}

/// Fills frames for so many batches, each after what comes `before`.
fn few_batches(
    mut left: u32,
    mut before: impl FnMut() + Send + 'static,
) -> impl FnMut(&mut [u32]) -> Result<Flow> + Send + 'static {
    move |frame| {
        before();
        frame[0] = left;
        left -= 1;
        Ok(if left == 0 { Flow::Stop } else { Flow::Next })
    }
}

/// The processor time of a run whose source pauses between batches, with its sink in a stage of its own or not.
fn paused(apart: bool) -> Result<Duration> {
    let mut due = Instant::now();
    let fill = few_batches(SLOW_BATCHES, move || {
        due += PAUSE;
        thread::sleep(due.saturating_duration_since(Instant::now()));
    });
    let mut chain = Chain::new();
    let numbers = chain.add(source::from_fn(1, fill), ());
    if apart {
        chain.stage("receive");
    }
    chain.add(sink::for_each(|_: &[u32]| Ok(Flow::Next)), &numbers);
    let mut pipeline = chain.build()?.pipeline_as_marked()?.waiting(Waiting::Passive);
    let before = process_time();
    pipeline.run()?;
    Ok(process_time().saturating_sub(before))
}

/// Nanoseconds that a lane works between two launches, however long these take: it wakes both its neighbours, which sleep on another core
/// meanwhile, and takes the next batch. Measured once, with the machine as it is.
pub(super) fn of_lane_ns(here: &Machine) -> Result<u64> {
    static KNOWN: OnceLock<u64> = OnceLock::new();
    if let Some(known) = KNOWN.get() {
        return Ok(*known);
    }
    let between = Arc::<Mutex<Vec<u64>>>::default();
    let mut chain = Chain::new();
    let numbers = chain.add(source::from_fn(1, few_batches(SLOW_BATCHES, || {})), ());
    chain.stage("lane");
    let numbers = chain.add(Launches { done: None, between: Arc::clone(&between) }, &numbers);
    chain.stage("receive");
    chain.add(sink::for_each(|_: &[u32]| Ok(Flow::Next)), &numbers);
    let [lane, neighbours] = [&here.cores()[0], &here.cores()[here.cores().len() - 1]].map(|core| core.threads[0]);
    let policy: Policy = format!("{neighbours} | {lane} | {neighbours}").parse()?;
    chain.build()?.pipeline_as_marked()?.place(&policy, here)?.run()?;
    let mut between = between.lock().unwrap_or_else(PoisonError::into_inner);
    between.sort_unstable();
    Ok(*KNOWN.get_or_init(|| usual_ns(&between).round() as u64))
}

/// Sleeps as a lane does while its device works, and notes how long its thread worked from one launch to the next.
struct Launches {
    /// Processor time of the thread when the last launch was done.
    done: Option<Duration>,
    between: Arc<Mutex<Vec<u64>>>,
}

impl Task for Launches {
    type In = In<u32>;
    type Out = Out<u32>;

    fn lens(&self, len: usize) -> Result<usize> {
        Ok(len)
    }

    fn run(&mut self, input: &[u32], output: &mut [u32]) -> Result<Flow> {
        if let Some(done) = self.done {
            let worked = nanoseconds(thread_time().saturating_sub(done));
            self.between.lock().unwrap_or_else(PoisonError::into_inner).push(worked);
        }
        output.copy_from_slice(input);
        thread::sleep(PAUSE);
        self.done = Some(thread_time());
        Ok(Flow::Next)
    }
}

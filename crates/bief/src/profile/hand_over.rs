//! What it costs a stage to take a batch and to pass one on, awake or asleep.

use std::hint::spin_loop;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

use bief_machine::clock::{nanoseconds, process_time};

use crate::chain::Chain;
use crate::error::Result;
use crate::machine::{Core, Machine};
use crate::placement::Policy;
use crate::sink;
use crate::source;
use crate::task::Flow;
use crate::wait::Waiting;

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
    let mut pipeline = chain.build()?.pipeline_as_marked()?.place(&policy, here)?;
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

/// The processor time of a run whose source pauses between batches, with its sink in a stage of its own or not.
fn paused(apart: bool) -> Result<Duration> {
    let mut left = SLOW_BATCHES;
    let mut due = Instant::now();
    let fill = move |frame: &mut [u32]| {
        due += PAUSE;
        thread::sleep(due.saturating_duration_since(Instant::now()));
        frame[0] = left;
        left -= 1;
        Ok(if left == 0 { Flow::Stop } else { Flow::Next })
    };
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

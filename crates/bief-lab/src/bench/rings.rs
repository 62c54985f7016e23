//! What a ring between replicated stages costs, and what a stage of two replicas keeps of its speed when another program takes one of
//! its cores.

use std::hint::black_box;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use bief::machine::{Core, affinity};
use bief::pipeline::Waiting;
use bief::placement::Policy;
use bief::{Flow, Machine, Out, Result, Task};
use bief_cli::failure::Failure;

use super::background::Background;
use super::case::{Aim, Case};
use super::speedup::{Work, turns_per_us};
use super::stream::{Setting, Stream, add_stages};

const SHAPES: (&str, &str) = ("Two stages of equal work, on 2 cores: period, in times of a task", "x");
const DISTURBED: (&str, &str) = ("Two replicas, another program on one of 2 cores: part of a fair share", "x");

/// Replicas of the first and of the second stage.
const REPLICAS: [(usize, usize); 4] = [(1, 2), (2, 1), (2, 2), (3, 2)];
/// Microseconds of a task.
const TIMES: [u32; 3] = [1, 10, 100];
const WAITINGS: [(&str, Waiting); 3] =
    [("adaptive", Waiting::Adaptive), ("passive", Waiting::Passive), ("active", Waiting::Active)];
const SETTING: Setting = Setting { time: Duration::from_millis(100), ..Setting::DEFAULT };
/// Many slices of the scheduler.
const DISTURBED_SETTING: Setting = Setting { time: Duration::from_millis(1000), ..Setting::DEFAULT };

/// Rings of every shape, time and way to wait; and a competitor on the last core, with threads that are pinned and with those that are
/// not.
pub(super) fn cases() -> std::result::Result<Vec<Case>, Failure> {
    let turns_per_us = turns_per_us();
    let work = |us: u32| Work((f64::from(us) * turns_per_us) as u64);
    let mut cases = Vec::new();
    for (name, waiting) in WAITINGS {
        for (senders, receivers) in REPLICAS {
            for us in TIMES {
                let mut stream = shape(work(us), (senders, receivers), Setting { waiting, ..SETTING })?;
                let measure = move || Ok((stream.ns_per_frame()? / (1e3 * f64::from(us))).into());
                cases.push(Case::new(format!("rings/{senders}-{receivers}/{us}us/{name}"), SHAPES, measure));
            }
        }
    }
    let machine = Machine::here();
    let Some(last) = machine.cores().last().filter(|_| machine.cores().len() == 2) else { return Ok(cases) };
    for (name, policy) in [("loose", Policy::Loose), ("pinned", Policy::Packed)] {
        for us in TIMES {
            let mut stream = replicated(work(us))?.placed(&policy, &machine)?;
            let threads = last.threads.clone();
            let measure = move || Ok(share(&threads, || stream.ns_per_frame())?.into());
            let case = Case::new(format!("disturbed/{us}us/{name}"), DISTURBED, measure);
            cases.push(case.aiming(Some(Aim::AtLeast(0.9))));
        }
        let (machine, threads, work) = (machine.clone(), last.threads.clone(), work(TIMES[1]));
        let is_loose = policy == Policy::Loose;
        let measure = move || Ok(share(&threads, || Ok(two_threads_ns(work, &machine, is_loose)))?.into());
        cases.push(Case::new(format!("disturbed/threads/{name}"), DISTURBED, measure));
    }
    Ok(cases)
}

/// The part of a fair share that is left beside another program on these threads. Of two cores it takes a half.
fn share(
    threads: &[usize],
    mut ns_per_frame: impl FnMut() -> std::result::Result<f64, Failure>,
) -> std::result::Result<f64, Failure> {
    let alone_ns = ns_per_frame()?;
    let threads = threads.to_vec();
    let _competitor = Background::begin(1, "competitor", move |over| compete(over, &threads))?;
    Ok(alone_ns / ns_per_frame()? / 0.75)
}

/// Nanoseconds for each turn of work of two threads that do it until the time is over, without a pipeline.
fn two_threads_ns(work: Work, machine: &Machine, is_loose: bool) -> f64 {
    let start = Instant::now();
    let count = |core: &Core| {
        if !is_loose {
            // Where it may not be pinned it is loose.
            let _ = affinity::pin(&core.threads);
        }
        let mut count = 0_u64;
        while start.elapsed() < DISTURBED_SETTING.time {
            black_box(work.done(black_box(count)));
            count += 1;
        }
        count
    };
    let counts: u64 = thread::scope(|scope| {
        let threads: Vec<_> = machine.cores().iter().take(2).map(|core| scope.spawn(move || count(core))).collect();
        threads.into_iter().map(|thread| thread.join().expect("arithmetic does not panic")).sum()
    });
    start.elapsed().as_secs_f64() * 1e9 / counts.max(1) as f64
}

/// Two stages of one task each.
fn shape(work: Work, (senders, receivers): (usize, usize), setting: Setting) -> std::result::Result<Stream, Failure> {
    Stream::of(setting, |chain| {
        chain.stage("first").threads(senders);
        let mut wire = chain.add(Anew, ());
        chain.add(work, &mut wire);
        chain.stage("second").threads(receivers);
        chain.add(work, &mut wire);
    })
}

/// A source, two replicas of a task, and an end.
fn replicated(work: Work) -> std::result::Result<Stream, Failure> {
    Stream::new(DISTURBED_SETTING, |chain, mut wire| {
        chain.stage("replicated").threads(2);
        chain.add(work, &mut wire);
        add_stages(chain, &mut wire, 1);
    })
}

pub(super) fn compete(over: &AtomicBool, threads: &[usize]) {
    // Where it may not be pinned it competes with all.
    let _ = affinity::pin(threads);
    while !over.load(Ordering::Relaxed) {
        std::hint::spin_loop();
    }
}

/// Makes frames that nobody looks at, without end, on any number of threads.
struct Anew;

impl Task for Anew {
    type In = ();
    type Out = Out<u64>;
    fn lens(&self, (): ()) -> Result<usize> {
        Ok(1)
    }
    fn run(&mut self, (): (), frame: &mut [u64]) -> Result<Flow> {
        frame[0] = 1;
        Ok(Flow::Next)
    }
    fn replica(&self) -> Option<Self> {
        Some(Self)
    }
}

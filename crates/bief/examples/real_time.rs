//! A pipeline against a bound of its latency, under three scheduling classes of Linux, while other threads disturb it.
//!
//! `cargo run --release --example real_time [SECONDS] [DISTURBING_THREADS]`, with the right to set classes for all three: as
//! root, or after `sudo setcap cap_sys_nice+ep` of the program. Without it, the report says so.

use std::hint::black_box;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use bief::realtime::{Class, RealTime, StageTiming, probe};
use bief::{Chain, Flow, InOut, Out, Report, Result, Task, sink};

/// A frame each millisecond, and four at once through the chain.
const PERIOD: Duration = Duration::from_millis(1);
const BATCH: u32 = 4;
const BOUND: Duration = Duration::from_millis(12);

/// Gives numbers at planned times; each takes some work.
struct Clock {
    started: Option<Instant>,
    next: u32,
    end: u32,
    work: Work,
}

impl Clock {
    fn planned(&self, number: u32) -> Option<Instant> {
        Some(self.started? + PERIOD * number)
    }
}

impl Task for Clock {
    type In = ();
    type Out = Out<u32>;
    fn lens(&self, (): ()) -> Result<usize> {
        Ok(1)
    }
    fn run(&mut self, (): (), frame: &mut [u32]) -> Result<Flow> {
        if self.next == self.end {
            return Ok(Flow::Stop);
        }
        self.started.get_or_insert_with(Instant::now);
        let early = self.planned(self.next).map(|planned| planned.saturating_duration_since(Instant::now()));
        std::thread::sleep(early.unwrap_or_default());
        self.work.once();
        frame[0] = self.next;
        self.next += 1;
        Ok(Flow::Next)
    }
    fn due(&mut self) -> Option<Instant> {
        self.planned(self.next)
    }
}

/// Works on each number for a while.
struct Busy(Work);

impl Task for Busy {
    type In = InOut<u32>;
    type Out = ();
    fn lens(&self, _: usize) -> Result<()> {
        Ok(())
    }
    fn run(&mut self, _: &mut [u32], (): ()) -> Result<Flow> {
        self.0.once();
        Ok(Flow::Next)
    }
}

/// So many steps, always as many, however long they take.
#[derive(Clone, Copy)]
struct Work(u64);

impl Work {
    /// As much as takes about so long on a core that does nothing else.
    fn of(time: Duration) -> Self {
        let trial = Self(100_000);
        let timed = |_| {
            let start = Instant::now();
            trial.once();
            start.elapsed()
        };
        let least = (0..20).map(timed).min().unwrap_or_default().max(Duration::from_nanos(1));
        Self((trial.0 as f64 * time.as_secs_f64() / least.as_secs_f64()) as u64)
    }

    fn once(self) {
        (0..self.0).for_each(|step| {
            black_box(step);
        });
    }
}

/// What a stage works on each batch, at most.
const SOURCE: Duration = Duration::from_micros(800);
const MIDDLE: Duration = Duration::from_micros(1000);
const LAST: Duration = Duration::from_micros(500);

fn run(frames: u32, wanted: RealTime) -> Result<Report> {
    let each = |time: Duration| Work::of(time / BATCH);
    let mut chain = Chain::new().batch(BATCH as usize);
    let clock = Clock { started: None, next: 0, end: frames, work: each(SOURCE) };
    let mut numbers = chain.add(clock, ());
    chain.stage("middle");
    chain.add(Busy(each(MIDDLE)), &mut numbers);
    chain.stage("last");
    chain.add(Busy(each(LAST)), &mut numbers);
    chain.add(sink::for_each(|_: &[u32]| Ok(Flow::Next)), &numbers);
    chain.build()?.pipeline_as_marked()?.real_time(wanted)?.run()
}

/// Copies memory until it is told to stop.
fn disturb(stop: &AtomicBool) {
    let (from, mut to) = (vec![1_u8; 16 << 20], vec![0_u8; 16 << 20]);
    while !stop.load(Ordering::Relaxed) {
        to.copy_from_slice(black_box(&from));
        black_box(&mut to);
    }
}

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1).filter_map(|number| number.parse().ok());
    let mut argument = |default| arguments.next().filter(|_| cfg!(not(test))).unwrap_or(default);
    let (seconds, disturbing) = (argument(if cfg!(test) { 0 } else { 2 }), argument(0));
    let period = PERIOD * BATCH;
    let timings = [SOURCE, MIDDLE, LAST].map(|execution| StageTiming::new(period, execution));
    let wanted = [
        (Class::Ordinary, RealTime::ordinary()),
        (Class::Fifo { priority: 80 }, RealTime::fifo(80)),
        (Class::Deadline, RealTime::deadline(timings.to_vec())),
    ];
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        (0..disturbing).for_each(|_| drop(scope.spawn(|| disturb(&stop))));
        let outcome = wanted.into_iter().try_for_each(|(class, wanted)| {
            // The machine's part of a latency.
            let allowance = probe(class, Duration::from_millis(200)).map_or(Duration::ZERO, |probe| {
                println!("{class}: woken up to {} us late", probe.max_ns / 1000);
                Duration::from_nanos(probe.max_ns)
            });
            let report = run(1000 * seconds + 20, wanted.bound(BOUND, allowance))?;
            println!("{report}\n");
            Ok(())
        });
        stop.store(true, Ordering::Relaxed);
        outcome
    })
}

#[test]
fn every_frame_is_counted_against_the_bound() {
    main().unwrap();
    let report = run(20, RealTime::ordinary().bound(BOUND, Duration::ZERO)).unwrap();
    assert_eq!(report.real_time.unwrap().bound.unwrap().frames, 20);
}

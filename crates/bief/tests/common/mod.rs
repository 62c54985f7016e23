//! Small synthetic tasks that tell what they saw.

#![allow(dead_code, unreachable_pub, reason = "each test file uses some of them")]

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bief::device::{Device, OffloadOf};
use bief::{Chain, Error, Flow, In, InOut, Out, Result, Task};

/// Counts from 0 up to `end` (not included), one number per frame.
pub struct Count {
    pub next: u64,
    pub end: u64,
}

impl Count {
    pub fn to(end: u64) -> Self {
        Self { next: 0, end }
    }
}

impl Task for Count {
    type In = ();
    type Out = Out<u64>;
    fn lens(&self, (): ()) -> Result<usize> {
        Ok(1)
    }
    fn run(&mut self, (): (), frame: &mut [u64]) -> Result<Flow> {
        if self.next == self.end {
            return Ok(Flow::Stop);
        }
        frame[0] = self.next;
        self.next += 1;
        Ok(Flow::Next)
    }
    fn reset(&mut self) -> Result<()> {
        self.next = 0;
        Ok(())
    }
}

/// What a [`Probe`] does at a frame.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Act {
    Pass,
    Fail(u64),
    Panic(u64),
    Stop(u64),
    /// Skips every frame whose number is not a multiple of this.
    KeepEvery(u64),
    /// Works for pseudo-random times up to this many microseconds, so that replicas overtake each other.
    Jitter(u64),
    Sleep(Duration),
}

/// Passes numbers on, adding 1000 to each, or does what it was told.
pub struct Probe {
    pub act: Act,
    pub replicable: bool,
    pub finished: Arc<AtomicU64>,
}

impl Probe {
    pub fn new(act: Act) -> Self {
        Self { act, replicable: true, finished: Arc::default() }
    }

    pub fn sequential(act: Act) -> Self {
        Self { replicable: false, ..Self::new(act) }
    }
}

impl Task for Probe {
    type In = In<u64>;
    type Out = Out<u64>;
    fn lens(&self, input: usize) -> Result<usize> {
        Ok(input)
    }
    fn run(&mut self, input: &[u64], output: &mut [u64]) -> Result<Flow> {
        let number = input[0] % 1000;
        output[0] = input[0] + 1000;
        match self.act {
            Act::Fail(at) if number == at => return Err(Error::new(format!("told to fail at {at}"))),
            Act::Panic(at) if number == at => panic!("told to panic at {at}"),
            Act::Stop(at) if number == at => return Ok(Flow::Stop),
            Act::KeepEvery(n) if !number.is_multiple_of(n) => return Ok(Flow::Skip),
            Act::Jitter(most) => {
                let time = (number.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32) % most;
                let until = std::time::Instant::now() + Duration::from_micros(time);
                while std::time::Instant::now() < until {
                    std::hint::spin_loop();
                }
            }
            Act::Sleep(time) => std::thread::sleep(time),
            _ => {}
        }
        Ok(Flow::Next)
    }
    fn replica(&self) -> Option<Self> {
        self.replicable.then(|| Self { act: self.act, replicable: true, finished: Arc::clone(&self.finished) })
    }
    fn on_device(&self, device: &Device) -> Option<Result<OffloadOf<Self>>> {
        device.emulate(self.replica()?)
    }
    fn finish(&mut self) -> Result<()> {
        self.finished.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }
}

/// Adds a number in place.
#[derive(Clone)]
pub struct Add(pub u64);

impl Task for Add {
    type In = InOut<u64>;
    type Out = ();
    fn lens(&self, _: usize) -> Result<()> {
        Ok(())
    }
    fn run(&mut self, frame: &mut [u64], (): ()) -> Result<Flow> {
        frame[0] += self.0;
        Ok(Flow::Next)
    }
    fn replica(&self) -> Option<Self> {
        Some(self.clone())
    }
}

/// Gives both inputs as one frame.
#[derive(Clone)]
pub struct Pair;

impl Task for Pair {
    type In = (In<u64>, In<u64>);
    type Out = Out<[u64; 2]>;
    fn lens(&self, (a, b): (usize, usize)) -> Result<usize> {
        if a != b {
            return Err(Error::new(format!("both inputs must have the same length, not {a} and {b}")));
        }
        Ok(a)
    }
    fn run(&mut self, (a, b): (&[u64], &[u64]), pairs: &mut [[u64; 2]]) -> Result<Flow> {
        for (pair, (a, b)) in pairs.iter_mut().zip(a.iter().zip(b)) {
            *pair = [*a, *b];
        }
        Ok(Flow::Next)
    }
    fn replica(&self) -> Option<Self> {
        Some(self.clone())
    }
}

/// A task that cannot flush: it says so by an error, or by a panic.
pub struct Unflushed {
    pub panics: bool,
}

impl Task for Unflushed {
    type In = In<u64>;
    type Out = ();
    fn lens(&self, _: usize) -> Result<()> {
        Ok(())
    }
    fn run(&mut self, _: &[u64], (): ()) -> Result<Flow> {
        Ok(Flow::Next)
    }
    fn finish(&mut self) -> Result<()> {
        if self.panics { panic!("no space left") } else { Err(Error::new("no space left")) }
    }
}

/// A chain `Count → Probe → Probe → Probe → collect` in stages of the given threads, the probes acting as told.
pub struct Rig {
    pub chain: Chain,
    pub result: bief::sink::Collected<u64>,
    pub finished: Arc<AtomicU64>,
}

pub fn rig(frames: u64, batch: usize, threads: [usize; 3], acts: [Act; 3]) -> Rig {
    let finished = Arc::new(AtomicU64::new(0));
    let mut chain = Chain::new().batch(batch);
    let mut wire = chain.add(Count::to(frames), ());
    for (index, (threads, act)) in threads.into_iter().zip(acts).enumerate() {
        chain.stage(&format!("s{index}")).threads(threads);
        wire = chain.add(Probe { act, replicable: true, finished: Arc::clone(&finished) }, &wire);
    }
    chain.stage("out");
    let (collect, result) = bief::sink::collect();
    chain.add(collect, &wire);
    Rig { chain, result, finished }
}

/// Runs `work` on a thread and fails the test, rather than hang it, when it takes longer than 30 s.
pub fn watched<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    within(Duration::from_secs(30), work).expect("it ends within 30 s")
}

/// Runs `work` on a thread; `None`, and the thread is left behind, when it takes longer than `limit`.
pub fn within<T: Send + 'static>(limit: Duration, work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    let (done, outcome) = std::sync::mpsc::channel();
    let thread = std::thread::spawn(move || drop(done.send(work())));
    match outcome.recv_timeout(limit) {
        Err(std::sync::mpsc::RecvTimeoutError::Timeout) => None,
        outcome => {
            thread.join().unwrap_or_else(|payload| std::panic::resume_unwind(payload));
            outcome.ok()
        }
    }
}

/// Keeps panics whose message holds `text` out of what the test prints: they are meant.
pub fn silence_panics(text: &'static str) {
    let tell = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        if !info.to_string().contains(text) {
            tell(info);
        }
    }));
}

/// The system's numbers of those threads of this process whose names begin so; none where the system does not tell.
pub fn threads_named(prefix: &str) -> Vec<u64> {
    let tasks = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let named = tasks
        .filter(|task| std::fs::read_to_string(task.path().join("comm")).is_ok_and(|name| name.starts_with(prefix)));
    let mut numbers: Vec<u64> = named.filter_map(|task| task.file_name().to_str()?.parse().ok()).collect();
    numbers.sort_unstable();
    numbers
}

/// Whether all threads with such names have ended. The system may still list one for a moment after it was joined.
pub fn all_ended(prefix: &str) -> bool {
    (0..1000).any(|_| {
        let ended = threads_named(prefix).is_empty();
        if !ended {
            std::thread::sleep(Duration::from_millis(1));
        }
        ended
    })
}

/// Passes pairs on.
#[derive(Clone)]
pub struct Relay;

impl Task for Relay {
    type In = In<[u64; 2]>;
    type Out = Out<[u64; 2]>;
    fn lens(&self, len: usize) -> Result<usize> {
        Ok(len)
    }
    fn run(&mut self, input: &[[u64; 2]], output: &mut [[u64; 2]]) -> Result<Flow> {
        output.copy_from_slice(input);
        Ok(Flow::Next)
    }
    fn replica(&self) -> Option<Self> {
        Some(self.clone())
    }
}

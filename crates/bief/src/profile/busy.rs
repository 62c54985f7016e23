//! Cores kept busy while tasks are measured on another one.

use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{self, JoinHandle};

use crate::affinity;
use crate::error::{Error, Result};
use crate::machine::{Core, Machine};

/// What each core works on: more than its first cache holds.
const NUMBERS: usize = 1 << 15;

/// A thread on each core, busy with arithmetic until this is dropped.
pub(super) struct BusyCores {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

#[derive(Default)]
struct Shared {
    /// First hardware thread of the core that rests.
    resting: AtomicUsize,
    over: AtomicBool,
}

impl BusyCores {
    /// All cores of the machine; the first rests.
    pub(super) fn new(machine: &Machine) -> Result<Self> {
        let shared = Arc::<Shared>::default();
        let mut busy = Self { shared: Arc::clone(&shared), threads: Vec::new() };
        busy.leave(&machine.cores()[0]);
        for core in machine.cores() {
            let (shared, core) = (Arc::clone(&shared), core.clone());
            let thread = thread::Builder::new().name("busy".into()).spawn(move || work(&shared, &core));
            busy.threads.push(thread.map_err(Error::from_source)?);
        }
        Ok(busy)
    }

    /// Lets a core rest, and all others work.
    pub(super) fn leave(&self, core: &Core) {
        self.shared.resting.store(core.threads[0], Ordering::Relaxed);
        self.wake();
    }

    /// Lets those that rest look whether they should still.
    fn wake(&self) {
        self.threads.iter().for_each(|thread| thread.thread().unpark());
    }
}

impl Drop for BusyCores {
    fn drop(&mut self) {
        self.shared.over.store(true, Ordering::Relaxed);
        self.wake();
        for thread in self.threads.drain(..) {
            // It does nothing that could panic, and nothing is lost with it.
            let _ = thread.join();
        }
    }
}

fn work(shared: &Shared, core: &Core) {
    if affinity::pin(&core.threads).is_err() {
        // It would be in the way of what is measured.
        return;
    }
    let mut numbers = vec![1.0_f32; NUMBERS];
    while !shared.over.load(Ordering::Relaxed) {
        if shared.resting.load(Ordering::Relaxed) == core.threads[0] {
            // Until it is woken: whatever ran here now and then would be in the way, and only executions between would stay whole.
            thread::park();
        } else {
            black_box(&mut numbers).iter_mut().for_each(|number| *number = *number * 0.999 + 0.001);
        }
    }
}

//! Cores, and hardware threads of them, kept busy while tasks are measured on another one.

use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

use crate::affinity;
use crate::error::{Error, Result};
use crate::machine::Machine;

/// What each core works on: more than its first cache holds.
const NUMBERS: usize = 1 << 15;

/// A thread on each place, busy with arithmetic when it is told to, until this is dropped.
pub(super) struct BusyCores {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

struct Shared {
    places: Vec<Place>,
    over: AtomicBool,
}

/// A hardware thread.
struct Place {
    thread: usize,
    works: AtomicBool,
}

impl BusyCores {
    /// All hardware threads of the machine; they rest.
    pub(super) fn new(machine: &Machine) -> Result<Self> {
        let threads = machine.cores().iter().flat_map(|core| core.threads.iter().copied());
        let places: Vec<_> = threads.map(|thread| Place { thread, works: AtomicBool::new(false) }).collect();
        let all = 0..places.len();
        let mut busy = Self { shared: Arc::new(Shared { places, over: AtomicBool::new(false) }), threads: Vec::new() };
        for place in all {
            let shared = Arc::clone(&busy.shared);
            let thread = thread::Builder::new().name("busy".into()).spawn(move || work(&shared, &shared.places[place]));
            busy.threads.push(thread.map_err(Error::from_source)?);
        }
        Ok(busy)
    }

    /// Lets these hardware threads work, and all others rest.
    pub(super) fn only(&self, works: impl Fn(usize) -> bool) {
        for place in &self.shared.places {
            place.works.store(works(place.thread), Ordering::Relaxed);
        }
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

fn work(shared: &Shared, place: &Place) {
    if affinity::pin(&[place.thread]).is_err() {
        // It would be in the way of what is measured.
        return;
    }
    let mut numbers = vec![1.0_f32; NUMBERS];
    while !shared.over.load(Ordering::Relaxed) {
        if place.works.load(Ordering::Relaxed) {
            black_box(&mut numbers).iter_mut().for_each(|number| *number = *number * 0.999 + 0.001);
        } else {
            // Until it is woken: whatever ran here now and then would be in the way, and only executions between would stay whole.
            thread::park();
        }
    }
}

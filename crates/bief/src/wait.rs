//! How a thread waits for another: a short bounded spin, then it parks and leaves its core.

use crate::sync::{AtomicBool, Mutex, Ordering, fence, spin_loop, thread};

/// Spins that bridge a short wait, when every thread has a core of its own; some tens of microseconds.
#[cfg(not(bief_loom))]
const SPINS: u32 = 2000;
#[cfg(bief_loom)]
const SPINS: u32 = 0;

/// How many times a waiting thread looks again before it parks, when `threads` run on `cores`.
///
/// When threads outnumber cores a spinning thread only keeps the one that it waits for from running.
pub(crate) fn spins(threads: usize, cores: usize) -> u32 {
    if threads > cores { 0 } else { SPINS }
}

/// One side of a hand-over: at most one thread waits here, any thread may wake it.
#[derive(Debug, Default)]
pub(crate) struct Signal {
    waiting: AtomicBool,
    waiter: Mutex<Option<thread::Thread>>,
}

impl Signal {
    /// Returns once `ready` is true. Who makes it true must call [`wake`](Self::wake) afterwards.
    pub(crate) fn wait(&self, spins: u32, mut ready: impl FnMut() -> bool) {
        for _ in 0..spins {
            if ready() {
                return;
            }
            spin_loop();
        }
        if ready() {
            return;
        }
        *self.waiter.lock().expect("no thread panics while it holds this lock") = Some(thread::current());
        loop {
            self.waiting.store(true, Ordering::Relaxed);
            // Pairs with the fence in `wake`: either this thread sees what made it ready, or the other sees it waiting.
            fence(Ordering::SeqCst);
            if ready() {
                self.waiting.store(false, Ordering::Relaxed);
                return;
            }
            thread::park();
        }
    }

    /// Wakes the waiting thread, if there is one. A fence and a load when there is none.
    pub(crate) fn wake(&self) {
        fence(Ordering::SeqCst);
        if self.waiting.load(Ordering::Relaxed)
            && self.waiting.swap(false, Ordering::Relaxed)
            && let Some(waiter) = &*self.waiter.lock().expect("no thread panics while it holds this lock")
        {
            waiter.unpark();
        }
    }
}

#[cfg(all(test, not(bief_loom)))]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    fn threads_that_outnumber_the_cores_do_not_spin() {
        assert_eq!(spins(3, 2), 0);
        assert_eq!(spins(2, 2), SPINS);
    }

    #[test]
    fn a_parked_thread_is_woken() {
        let shared = Arc::new((Signal::default(), AtomicBool::new(false)));
        let waiter = std::thread::spawn({
            let shared = Arc::clone(&shared);
            move || shared.0.wait(0, || shared.1.load(Ordering::Acquire))
        });
        std::thread::sleep(std::time::Duration::from_millis(5));
        shared.1.store(true, Ordering::Release);
        shared.0.wake();
        waiter.join().unwrap();
    }
}

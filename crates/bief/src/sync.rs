//! The primitives that threads meet by: the standard library's, or those of a model checker, which decides who goes on.
//!
//! `cfg(bief_loom)`: every interleaving of a few steps, weak memory included. `cfg(bief_shuttle)`: random interleavings of
//! whole pipelines, with memory that everyone sees in one order.

#[cfg(bief_loom)]
pub(crate) use loom::{
    cell::UnsafeCell,
    hint::spin_loop,
    sync::atomic::{AtomicU64, AtomicUsize, Ordering, fence},
    sync::{Arc, Mutex},
    thread, thread as parking,
};

#[cfg(bief_shuttle)]
pub(crate) use shuttle::{
    hint::spin_loop,
    sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering, fence},
    sync::{Arc, Mutex},
    thread,
};

#[cfg(not(any(bief_loom, bief_shuttle)))]
pub(crate) use std::{
    hint::spin_loop,
    sync::atomic::{AtomicU64, AtomicUsize, Ordering, fence},
    sync::{Arc, Mutex},
    thread, thread as parking,
    time::Instant,
};

pub(crate) use std::sync::PoisonError;

/// Whether a model checker runs this code: it counts steps, not time.
pub(crate) const MODEL: bool = cfg!(any(bief_loom, bief_shuttle));

/// How many cores the threads may use.
#[cfg(not(any(bief_loom, bief_shuttle)))]
pub(crate) fn cores() -> usize {
    thread::available_parallelism().map_or(1, |cores| cores.get())
}

/// A core for each thread, or one for all of them.
#[cfg(any(bief_loom, bief_shuttle))]
pub(crate) fn cores() -> usize {
    if fortunate() { usize::MAX } else { 1 }
}

/// A clock without time, so that an execution can be repeated: nothing has passed, or very much.
#[cfg(any(bief_loom, bief_shuttle))]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Instant;

#[cfg(any(bief_loom, bief_shuttle))]
impl Instant {
    pub(crate) fn now() -> Self {
        Self
    }

    pub(crate) fn elapsed(&self) -> std::time::Duration {
        std::time::Duration::from_secs(if fortunate() { 0 } else { 3600 })
    }
}

/// Which of two cases the environment offers to this execution: loom sees the first alone, shuttle either.
#[cfg(any(bief_loom, bief_shuttle))]
fn fortunate() -> bool {
    #[cfg(bief_loom)]
    return true;
    #[cfg(bief_shuttle)]
    return shuttle::rand::Rng::gen_bool(&mut shuttle::rand::thread_rng(), 0.5);
}

/// Threads that park. Those of shuttle wake by themselves so often that a wake-up which never comes is not missed; these do so in
/// one half of all cases.
#[cfg(bief_shuttle)]
pub(crate) mod parking {
    use super::{Arc, AtomicBool, Ordering, fortunate, thread};

    #[derive(Debug, Clone)]
    pub(crate) struct Thread {
        thread: thread::Thread,
        woken: Arc<AtomicBool>,
    }

    shuttle::thread_local! {
        static WOKEN: Arc<AtomicBool> = Arc::new(AtomicBool::new(false));
    }

    pub(crate) fn current() -> Thread {
        Thread { thread: thread::current(), woken: WOKEN.with(Arc::clone) }
    }

    pub(crate) fn park() {
        let woken = WOKEN.with(Arc::clone);
        let only_when_woken = fortunate();
        loop {
            thread::park();
            if woken.swap(false, Ordering::SeqCst) || !only_when_woken {
                return;
            }
        }
    }

    impl Thread {
        pub(crate) fn unpark(&self) {
            self.woken.store(true, Ordering::SeqCst);
            self.thread.unpark();
        }
    }
}

/// The standard cell with the model checker's interface.
#[cfg(not(any(bief_loom, bief_shuttle)))]
#[derive(Debug)]
pub(crate) struct UnsafeCell<T>(std::cell::UnsafeCell<T>);

#[cfg(not(any(bief_loom, bief_shuttle)))]
impl<T> UnsafeCell<T> {
    pub(crate) fn new(value: T) -> Self {
        Self(std::cell::UnsafeCell::new(value))
    }

    pub(crate) fn with_mut<R>(&self, f: impl FnOnce(*mut T) -> R) -> R {
        f(self.0.get())
    }
}

/// A cell whose uses take time, so that two at once are seen. Shuttle has none: it would let every use of a plain cell pass
/// as one step with what goes before it.
#[cfg(bief_shuttle)]
#[derive(Debug)]
pub(crate) struct UnsafeCell<T> {
    value: std::cell::UnsafeCell<T>,
    used: AtomicBool,
}

#[cfg(bief_shuttle)]
impl<T> UnsafeCell<T> {
    pub(crate) fn new(value: T) -> Self {
        Self { value: std::cell::UnsafeCell::new(value), used: AtomicBool::new(false) }
    }

    pub(crate) fn with_mut<R>(&self, f: impl FnOnce(*mut T) -> R) -> R {
        // Both are steps of their own, which let other threads go first.
        assert!(!self.used.swap(true, Ordering::SeqCst), "two threads use a slot at once");
        let result = f(self.value.get());
        self.used.store(false, Ordering::SeqCst);
        result
    }
}

//! How a thread waits for another: by default it looks again for a short while, then it parks and leaves its core.

use std::time::{Duration, Instant};

use crate::sync::{AtomicBool, Mutex, Ordering, fence, spin_loop, thread};

/// How the threads of a pipeline wait for each other's frames; set by [`Pipeline::waiting`](crate::Pipeline::waiting).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Waiting {
    /// Looks again for about as long as a wake-up takes, some 50 us, then leaves its core until it is woken. Where looking
    /// did not pay lately, because frames are slow or other programs take the cores, it leaves its core at once most times;
    /// where the pipeline's threads outnumber the cores that they may use, every time.
    #[default]
    Adaptive,
    /// Leaves its core at once: the least power, and a wake-up for every wait.
    Passive,
    /// Looks again for as long as it takes: the shortest hand-over, on cores that have nothing else to do. Where the
    /// pipeline's threads outnumber the cores, it lets other threads run in between.
    Active,
}

/// How one end of a ring waits, with what it has learnt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Patience {
    /// Parks at once.
    Park,
    /// Never parks.
    Look {
        /// Lets other threads run in between.
        yields: bool,
    },
    /// Looks for a while if that paid lately, then parks.
    Adapt(Trial),
}

impl Patience {
    /// When `threads` run on `cores`. If they outnumber them, a spinning thread only keeps the one that it waits for from
    /// running.
    pub(crate) fn new(waiting: Waiting, threads: usize, cores: usize) -> Self {
        let crowded = threads > cores;
        match waiting {
            Waiting::Active => Self::Look { yields: crowded },
            Waiting::Adaptive if !crowded => Self::Adapt(Trial::default()),
            Waiting::Adaptive | Waiting::Passive => Self::Park,
        }
    }
}

/// Looks that take about as long as a wake-up: waiting so costs at most twice what the better choice would have cost.
const LOOKS: u32 = 2000;
/// The first of them, which take less time than it is worth to measure.
const FREE_LOOKS: u32 = 100;
/// Looking took longer than it can: the core was given to another program meanwhile, so parking had been better.
const INTERRUPTED: Duration = Duration::from_micros(100);
/// Most waits that park at once before looking is tried again.
const MOST_PARKED: u32 = 256;

/// Whether looking pays: after each time that it did not, it is tried half as often.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Trial {
    /// Waits that park at once before the next one looks.
    parked: u32,
    /// How many those were the last time.
    backoff: u32,
}

impl Trial {
    /// Looks, if it is time to; answers whether it became ready.
    fn look(&mut self, ready: &mut impl FnMut() -> bool) -> bool {
        if self.parked > 0 {
            self.parked -= 1;
            return ready();
        }
        if looks(FREE_LOOKS, ready) {
            self.backoff = 0;
            return true;
        }
        let start = Instant::now();
        let found = looks(LOOKS - FREE_LOOKS, ready);
        self.learn(found && start.elapsed() < INTERRUPTED);
        found
    }

    fn learn(&mut self, paid: bool) {
        self.backoff = if paid { 0 } else { (2 * self.backoff).clamp(1, MOST_PARKED) };
        self.parked = self.backoff;
    }
}

fn looks(times: u32, ready: &mut impl FnMut() -> bool) -> bool {
    (0..times).any(|_| {
        let found = ready();
        if !found {
            spin_loop();
        }
        found
    })
}

/// One side of a hand-over: at most one thread waits here, any thread may wake it.
#[derive(Debug, Default)]
pub(crate) struct Signal {
    waiting: AtomicBool,
    waiter: Mutex<Option<thread::Thread>>,
}

impl Signal {
    /// Returns once `ready` is true. Who makes it true must call [`wake`](Self::wake) afterwards.
    pub(crate) fn wait(&self, patience: &mut Patience, mut ready: impl FnMut() -> bool) {
        match patience {
            Patience::Look { yields } => {
                while !ready() {
                    if *yields { thread::yield_now() } else { spin_loop() }
                }
            }
            Patience::Adapt(trial) => {
                if !trial.look(&mut ready) {
                    self.park(ready);
                }
            }
            Patience::Park => {
                if !ready() {
                    self.park(ready);
                }
            }
        }
    }

    fn park(&self, mut ready: impl FnMut() -> bool) {
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
    fn threads_that_outnumber_the_cores_do_not_keep_them() {
        assert_eq!(Patience::new(Waiting::Adaptive, 2, 2), Patience::Adapt(Trial::default()));
        assert_eq!(Patience::new(Waiting::Adaptive, 3, 2), Patience::Park);
        assert_eq!(Patience::new(Waiting::Active, 2, 2), Patience::Look { yields: false });
        assert_eq!(Patience::new(Waiting::Active, 3, 2), Patience::Look { yields: true });
        assert_eq!(Patience::new(Waiting::Passive, 1, 2), Patience::Park);
    }

    #[test]
    fn looking_is_tried_less_often_while_it_does_not_pay_and_at_once_when_it_does() {
        /// How often it looked in one wait that ended in vain.
        fn in_vain(trial: &mut Trial) -> u32 {
            let mut looked = 0;
            assert!(!trial.look(&mut || {
                looked += 1;
                false
            }));
            looked
        }
        let mut trial = Trial::default();
        let tries: Vec<usize> = (0..1500).filter(|_| in_vain(&mut trial) == LOOKS).collect();
        assert_eq!(tries, [0, 2, 5, 10, 19, 36, 69, 134, 263, 520, 777, 1034, 1291]);
        while in_vain(&mut trial) == 1 {}
        (0..MOST_PARKED).for_each(|_| assert!(trial.look(&mut || true)));
        assert!(trial.look(&mut || true), "this one looks, and it pays");
        assert_eq!(trial, Trial::default());
    }

    #[test]
    fn a_waiting_thread_goes_on_however_it_waits() {
        for waiting in [Waiting::Adaptive, Waiting::Passive, Waiting::Active] {
            for cores in [1, 2] {
                let shared = Arc::new((Signal::default(), AtomicBool::new(false)));
                let waiter = std::thread::spawn({
                    let shared = Arc::clone(&shared);
                    let mut patience = Patience::new(waiting, 2, cores);
                    move || shared.0.wait(&mut patience, || shared.1.load(Ordering::Acquire))
                });
                std::thread::sleep(std::time::Duration::from_millis(5));
                shared.1.store(true, Ordering::Release);
                shared.0.wake();
                waiter.join().unwrap();
            }
        }
    }
}

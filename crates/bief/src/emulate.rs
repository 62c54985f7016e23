//! Cores that are slower than those at hand: a worker on such a core works longer for each batch.
//!
//! Work is inflated, as measured to be truest: after a batch the worker owes what its tasks would have taken longer, and spins
//! until that is paid. A saturated worker stays busy all the time, as on a slow core; one that waits does not wait longer. What
//! the emulation itself takes counts as paid. Only the tasks are slowed down, not the hand-over.

use std::hint::spin_loop;
use std::sync::Arc;
use std::time::Duration;

use crate::affinity;
use crate::clock::{nanoseconds, processor_time};
use crate::machine::{CoreKind, Machine};

/// Slows one worker down to the speed of the core that it runs on.
pub(crate) struct Emulation {
    /// For each kind of core and each task of the worker, the time owed for each unit of time that it works.
    rates: Vec<Vec<f64>>,
    /// For each hardware thread, its kind; all that are not known have the speed that they have.
    kinds: Arc<[Option<usize>]>,
    /// The kind of the core that this batch is worked on.
    kind: Option<usize>,
    /// The worker never leaves cores of that kind.
    fixed: bool,
    /// Time that the tasks of this batch took, and what they owe, in nanoseconds.
    worked: f64,
    owed: f64,
    /// The thread's processor time when it had last paid.
    paid: Duration,
}

/// The time owed for each unit of time that a task of that name works on a core of the kind.
pub(crate) fn rate(kind: &CoreKind, task: &str) -> f64 {
    1.0 / kind.task_speeds.get(task).copied().unwrap_or(kind.speed) - 1.0
}

impl Emulation {
    /// For a worker of `tasks`, which runs on these hardware threads; `None` where nothing is slowed down.
    pub(crate) fn new<'t>(
        machine: &Machine,
        tasks: impl Iterator<Item = &'t str> + Clone,
        threads: &[usize],
    ) -> Option<Self> {
        let rates: Vec<Vec<f64>> =
            machine.kinds().iter().map(|kind| tasks.clone().map(|task| rate(kind, task)).collect()).collect();
        let of = |&thread: &usize| machine.core_of(thread).map(|core| core.kind);
        let kind = threads.first().and_then(of);
        let fixed = threads.iter().all(|thread| of(thread) == kind);
        let is_slow = |kind: Option<usize>| kind.is_some_and(|kind| rates[kind].iter().any(|&rate| rate > 0.0));
        let any = threads.iter().any(|thread| is_slow(of(thread)));
        let most = machine.cores().iter().flat_map(|core| &core.threads).max().map_or(0, |&thread| thread + 1);
        any.then(|| Self {
            rates,
            kinds: (0..most).map(|thread| of(&thread)).collect(),
            kind,
            fixed,
            worked: 0.0,
            owed: 0.0,
            paid: Duration::ZERO,
        })
    }

    /// Begins a run, on the worker's thread.
    pub(crate) fn start(&mut self) {
        self.owed = 0.0;
        self.paid = processor_time();
    }

    /// Begins a batch.
    pub(crate) fn begin(&mut self) {
        if !self.fixed {
            self.kind = affinity::current().and_then(|thread| self.kinds.get(thread).copied().flatten());
        }
        self.worked = 0.0;
    }

    /// Notes that a task worked for so long; answers how long it would have taken on the core that is emulated.
    pub(crate) fn task(&mut self, task: usize, time: Duration) -> Duration {
        let rate = self.kind.map_or(0.0, |kind| self.rates[kind][task]);
        let ns = nanoseconds(time) as f64;
        self.worked += ns;
        self.owed += ns * rate;
        time.mul_f64(1.0 + rate)
    }

    /// Ends a batch: works off what is owed.
    pub(crate) fn pay(&mut self) {
        let start = processor_time();
        // Where the thread was interrupted the time went on, but no work was done for it.
        let used = nanoseconds(start.saturating_sub(self.paid)) as f64;
        if used < self.worked {
            self.owed *= used / self.worked;
        }
        let mut spent = 0;
        while (spent as f64) < self.owed {
            (0..16).for_each(|_| spin_loop());
            spent = nanoseconds(processor_time().saturating_sub(start));
        }
        self.owed -= spent as f64;
        self.paid = start + Duration::from_nanos(spent);
    }
}

//! Which batches the first stage has taken, and whether it may take another: a run is stopped from outside.

use std::fmt;
use std::sync::Arc;

use crate::sync::{AtomicU64, Ordering};

/// Ends a run from outside: from another thread or a signal handler. Made by
/// [`Pipeline::stopper`](crate::Pipeline::stopper); can be cloned freely.
///
/// ```
/// use bief::{Chain, Flow, sink, source};
///
/// let mut chain = Chain::new();
/// let noise = chain.add(source::from_fn(1, |frame: &mut [u32]| { frame[0] = 4; Ok(Flow::Next) }), ()); // never ends
/// chain.stage("count");
/// let (collect, result) = sink::collect();
/// chain.add(collect, &noise);
/// let mut pipeline = chain.build()?.pipeline_as_marked()?;
///
/// let stopper = pipeline.stopper();
/// let report = std::thread::scope(|scope| {
///     scope.spawn(|| {
///         std::thread::sleep(std::time::Duration::from_millis(10));
///         stopper.stop();
///     });
///     pipeline.run()
/// })?;
/// assert_eq!(result.take().len() as u64, report.frames);
/// # Ok::<(), bief::Error>(())
/// ```
#[derive(Clone)]
pub struct Stopper(Arc<Halt>);

impl Stopper {
    pub(crate) fn new(halt: &Arc<Halt>) -> Self {
        Self(Arc::clone(halt))
    }

    /// Makes the first stage take no further batch. Everything that it has taken is delivered,
    /// [`finish`](crate::Task::finish) is called on every task, and the run returns its report.
    ///
    /// It does not wait for any of that; a source that waits for input looks when it has got some. Between runs, it ends
    /// the next one before its first frame. A run that has ended leaves nothing of it behind.
    pub fn stop(&self) {
        self.0.stop();
    }
}

impl fmt::Debug for Stopper {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Stopper")
    }
}

/// One word that says both how many batches are taken and that no more may be, so that the two never contradict.
#[derive(Debug)]
pub(crate) struct Halt(AtomicU64);

/// No batch beyond those counted may be taken.
const CLOSED: u64 = 1 << 63;
/// The run is over; without this it may go on in another plan.
const STOPPED: u64 = 1 << 62;
/// The batches that are taken.
const TAKEN: u64 = STOPPED - 1;

impl Halt {
    pub(crate) fn new() -> Self {
        Self(AtomicU64::new(0))
    }

    fn stop(&self) {
        self.0.fetch_or(CLOSED | STOPPED, Ordering::Relaxed);
    }

    /// Lets the first stage take no further batch until the run [goes on](Self::go_on).
    pub(crate) fn pause(&self) {
        self.0.fetch_or(CLOSED, Ordering::Relaxed);
    }

    /// Whether the first stage was paused, and not stopped.
    pub(crate) fn is_paused(&self) -> bool {
        self.0.load(Ordering::Relaxed) & (CLOSED | STOPPED) == CLOSED
    }

    /// Lets a paused run take batches again, from number 0; answers whether it may.
    pub(crate) fn go_on(&self) -> bool {
        let open = |word: u64| (word & STOPPED == 0).then_some(0);
        self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, open).is_ok()
    }

    /// Makes ready for another run.
    pub(crate) fn clear(&self) {
        self.0.store(0, Ordering::Relaxed);
    }

    /// Takes the batch that comes next, for the first stage: the number `next` where the stage has one replica, the lowest that
    /// nobody has taken where it has more.
    ///
    /// # Errors
    /// The number that the stream ends before, once it was stopped.
    pub(crate) fn claim(&self, next: u64, replicas: usize) -> Result<u64, u64> {
        if replicas == 1 {
            let stopped = self.0.load(Ordering::Relaxed) & CLOSED != 0;
            return if stopped { Err(next) } else { Ok(next) };
        }
        let take = |taken: u64| (taken & CLOSED == 0).then_some(taken + 1);
        self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).map_err(|taken| taken & TAKEN)
    }
}

#[cfg(all(test, not(any(bief_loom, bief_shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn a_stage_of_one_takes_everything_until_it_is_stopped() {
        let halt = Halt::new();
        assert_eq!([halt.claim(0, 1), halt.claim(1, 1)], [Ok(0), Ok(1)]);
        halt.stop();
        halt.stop();
        assert_eq!(halt.claim(2, 1), Err(2));
        halt.clear();
        assert_eq!(halt.claim(0, 1), Ok(0));
    }

    #[test]
    fn replicas_take_one_number_after_the_other_until_they_are_stopped() {
        let halt = Halt::new();
        assert_eq!([0, 0, 7].map(|next| halt.claim(next, 2)), [Ok(0), Ok(1), Ok(2)]);
        halt.stop();
        assert_eq!([0, 3].map(|next| halt.claim(next, 2)), [Err(3); 2]);
    }
}

/// Every interleaving, by the model checker.
#[cfg(all(test, bief_loom))]
mod model {
    use super::*;

    /// The batches that a replica took until it ended, and where.
    fn replica(halt: &Halt) -> (Vec<u64>, Option<u64>) {
        let mut taken = Vec::new();
        for _ in 0..2 {
            match halt.claim(0, 2) {
                Ok(number) => taken.push(number),
                Err(end) => return (taken, Some(end)),
            }
        }
        (taken, None)
    }

    #[test]
    fn a_stop_leaves_no_gap_and_nothing_behind_the_end() {
        loom::model(|| {
            let halt = loom::sync::Arc::new(Halt::new());
            let other = loom::thread::spawn({
                let halt = loom::sync::Arc::clone(&halt);
                move || replica(&halt)
            });
            let stopper = loom::thread::spawn({
                let halt = loom::sync::Arc::clone(&halt);
                move || halt.stop()
            });
            let (mut taken, mine) = replica(&halt);
            let (others, their) = other.join().unwrap();
            taken.extend(others);
            stopper.join().unwrap();
            assert!(halt.claim(4, 2).is_err(), "the stop is not lost");
            taken.sort_unstable();
            assert!(taken.iter().copied().eq(0..taken.len() as u64), "taken batches follow each other: {taken:?}");
            for end in [mine, their].into_iter().flatten() {
                assert_eq!(end, taken.len() as u64);
            }
        });
    }
}

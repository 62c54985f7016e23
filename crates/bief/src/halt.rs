//! Stopping a run from outside: which batches the first stage has taken, and whether it may take another.

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

/// What a replica of the first stage does with its next batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Claim {
    /// Works on it.
    Take,
    /// Passes it on without frames: another replica has taken a later batch, which must still find its place.
    Fill,
    /// Ends: nobody has taken this batch or a later one.
    End,
}

/// One word that says both how many batches are taken and that no more may be, so that the two never contradict.
#[derive(Debug)]
pub(crate) struct Halt(AtomicU64);

/// No batch beyond those counted may be taken.
const CLOSED: u64 = 1 << 63;

impl Halt {
    pub(crate) fn new() -> Self {
        Self(AtomicU64::new(0))
    }

    fn stop(&self) {
        self.0.fetch_or(CLOSED, Ordering::Relaxed);
    }

    /// Makes ready for another run.
    pub(crate) fn clear(&self) {
        self.0.store(0, Ordering::Relaxed);
    }

    /// Asks for a batch, by its number in the stream. A stage of one replica only looks; several count what they take.
    pub(crate) fn claim(&self, batch: u64, replicas: usize) -> Claim {
        let taken = match replicas {
            1 => self.0.load(Ordering::Relaxed),
            // A closed count is greater than any batch, so it stays as it is.
            _ => self.0.fetch_max(batch + 1, Ordering::Relaxed),
        };
        if taken & CLOSED == 0 {
            Claim::Take
        } else if batch < taken & !CLOSED {
            Claim::Fill
        } else {
            Claim::End
        }
    }
}

#[cfg(all(test, not(any(bief_loom, bief_shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn a_stage_of_one_takes_everything_until_it_is_stopped() {
        let halt = Halt::new();
        assert_eq!([halt.claim(0, 1), halt.claim(1, 1)], [Claim::Take; 2]);
        halt.stop();
        halt.stop();
        assert_eq!(halt.claim(2, 1), Claim::End);
        halt.clear();
        assert_eq!(halt.claim(0, 1), Claim::Take);
    }

    #[test]
    fn a_replica_that_lags_fills_up_to_what_another_has_taken() {
        let halt = Halt::new();
        assert_eq!([0, 1, 3, 5].map(|batch| halt.claim(batch, 2)), [Claim::Take; 4]);
        halt.stop();
        let rest = [2, 4, 6, 7].map(|batch| halt.claim(batch, 2));
        assert_eq!(rest, [Claim::Fill, Claim::Fill, Claim::End, Claim::End]);
    }
}

/// Every interleaving, by the model checker.
#[cfg(all(test, bief_loom))]
mod model {
    use super::*;

    /// What a replica did with each of its batches until it ended.
    fn replica(halt: &Halt, first: u64) -> Vec<(u64, Claim)> {
        (0..2)
            .map(|turn| first + 2 * turn)
            .map(|batch| (batch, halt.claim(batch, 2)))
            .take_while(|&(_, claim)| claim != Claim::End)
            .collect()
    }

    #[test]
    fn a_stop_leaves_no_gap_and_nothing_behind_the_end() {
        loom::model(|| {
            let halt = loom::sync::Arc::new(Halt::new());
            let other = loom::thread::spawn({
                let halt = loom::sync::Arc::clone(&halt);
                move || replica(&halt, 1)
            });
            let stopper = loom::thread::spawn({
                let halt = loom::sync::Arc::clone(&halt);
                move || halt.stop()
            });
            let mut done = replica(&halt, 0);
            done.extend(other.join().unwrap());
            stopper.join().unwrap();
            assert_ne!(halt.claim(4, 2), Claim::Take, "the stop is not lost");
            done.sort_unstable_by_key(|&(batch, _)| batch);
            let last = done.iter().rposition(|&(_, claim)| claim == Claim::Take).map_or(0, |last| last + 1);
            let order: Vec<u64> = done.iter().take(last).map(|&(batch, _)| batch).collect();
            assert!(order.iter().copied().eq(0..last as u64), "taken batches find their place: {done:?}");
        });
    }
}

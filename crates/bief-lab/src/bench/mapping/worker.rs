//! Threads that need so much of a core, on cores that may be emulated.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use bief::placement::Policy;
use bief::{Chain, Flow, Machine, Pipeline, Report, sink, source};

use crate::bench::busy::work;

/// A thread works at most this often.
const PERIOD: Duration = Duration::from_millis(2);

/// A thread that works from time to time.
pub(super) struct Worker {
    done: Arc<AtomicU64>,
    thread: JoinHandle<bief::Result<Report>>,
}

/// What a thread needs: one phase after the other, beginning at the same moment for all threads.
pub(super) struct Needs {
    /// In each phase, the share of the fastest core.
    pub(super) demands: Vec<f64>,
    pub(super) phase: Duration,
    pub(super) begin: Instant,
}

impl Worker {
    /// Begins to work on a core of the place.
    pub(super) fn start(needs: Needs, place: &Policy, machine: &Machine) -> bief::Result<Self> {
        let done = Arc::<AtomicU64>::default();
        let mut pipeline = pipeline(needs, Arc::clone(&done))?.place(place, machine)?;
        let thread = thread::Builder::new().spawn(move || pipeline.run()).map_err(bief::Error::from_source)?;
        Ok(Self { done, thread })
    }

    /// Waits for its end; answers the work that it did, in seconds of the fastest core.
    pub(super) fn join(self) -> bief::Result<f64> {
        self.thread.join().unwrap_or_else(|payload| std::panic::resume_unwind(payload))?;
        Ok(self.done.load(Ordering::Relaxed) as f64 / 1e9)
    }
}

/// One stage, so that its thread is slowed down as those of pipelines are. A frame is the work of one period; where it took longer,
/// the next one begins at once, and what was missed is not made up for.
fn pipeline(needs: Needs, done: Arc<AtomicU64>) -> bief::Result<Pipeline> {
    let mut chain = Chain::new();
    chain.stage("work");
    let mut due = needs.begin;
    let wait = move |frame: &mut [u64]| {
        thread::sleep(due.saturating_duration_since(Instant::now()));
        due = (due + PERIOD).max(Instant::now());
        let phase = needs.begin.elapsed().as_nanos() / needs.phase.as_nanos().max(1);
        let Some(demand) = usize::try_from(phase).ok().and_then(|phase| needs.demands.get(phase)) else {
            return Ok(Flow::Stop);
        };
        frame[0] = (PERIOD.as_nanos() as f64 * demand) as u64;
        Ok(Flow::Next)
    };
    let needed = chain.add(source::from_fn(1, wait), ());
    let work = move |needed: &[u64]| {
        work(Duration::from_nanos(needed[0]));
        done.fetch_add(needed[0], Ordering::Relaxed);
        Ok(Flow::Next)
    };
    chain.add(sink::for_each(work), &needed);
    chain.build()?.pipeline_as_marked()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_does_more_than_is_needed() {
        let begin = Instant::now();
        let done = [[0.4, 0.4], [0.1, 0.0]].map(|demands| {
            let needs = Needs { demands: demands.into(), phase: Duration::from_millis(30), begin };
            Worker::start(needs, &Policy::Loose, &Machine::here()).unwrap().join().unwrap()
        });
        // A period more: the first one begins at once.
        let [most, less] = [0.4 * 0.062, 0.1 * 0.032];
        assert!(done[0] <= most + 1e-9 && done[1] <= less + 1e-9, "{done:?}");
    }
}

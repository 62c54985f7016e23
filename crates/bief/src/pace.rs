//! Frames let through no faster than a device would give them: by a clock, on a schedule that does not drift.

use std::marker::PhantomData;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use bief_machine::clock::{Ticker, nanoseconds};
use serde::Serialize;

use crate::error::{Error, Result};
use crate::frame::Element;
use crate::histogram::Histogram;
use crate::task::{Flow, Task};
use crate::wire::InOut;

/// Passes frames at the pace of a device; made by [`pace`].
#[derive(Debug)]
pub struct Pace<T> {
    /// Elements per second.
    rate: f64,
    /// From the first frame of a run on.
    begun: Option<Ticker>,
    frames: u64,
    /// Elements in each of them, from the build on.
    len: OnceLock<usize>,
    /// How late each frame went on that was waited for.
    late: Histogram,
    /// Frames that were due when they came, and how long they had been.
    behind: u64,
    furthest: Duration,
    releases: PaceHandle,
    element: PhantomData<fn() -> T>,
}

/// How punctual the last run of a [`pace`] was.
#[derive(Debug, Clone, Default)]
pub struct PaceHandle(Arc<Mutex<Option<Punctuality>>>);

/// When frames were released, compared with when they were due.
///
/// Percentiles are within 2 %, the greatest is exact.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Punctuality {
    /// Frames let through.
    pub frames: u64,
    /// Of these, frames that were due already when they came: what is before or after was too slow, and they went on at once.
    pub behind: u64,
    /// How long the latest of those had been due.
    pub behind_max_ns: u64,
    /// Of the frames that were waited for: by how much half of them went on too late, at most.
    pub late_median_ns: u64,
    /// By how much 99 of 100 went on too late, at most.
    pub late_p99_ns: u64,
    /// By how much the latest went on too late.
    pub late_max_ns: u64,
}

impl PaceHandle {
    /// How punctual the last run was; `None` before its end.
    pub fn last(&self) -> Option<Punctuality> {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Lets frames through as a device would give them that makes `rate` elements per second: put behind a source that could be
/// read faster.
///
/// The first frame is due when its last element would have been made, counted from when it comes here, and each further one a
/// frame's time later: every time is reckoned from the first, so that the schedule does not drift. A frame that comes early
/// waits; one that comes late goes on at once, until the schedule is caught up with. None is left out.
///
/// Waiting is one call of the system for each frame that is early, on Linux until an absolute time of the monotonic clock. How
/// late the system wakes a thread (an ordinary one is given 50 µs of slack there) is told by the [`PaceHandle`] when the run has
/// ended. A [`Stopper`](crate::pipeline::Stopper) is heeded when the frame that is waited for is due.
///
/// # Sockets
/// In-place: `T`, any frame length; the elements are left as they are.
///
/// # Errors
/// At build, a rate that is not above 0, and one so slow that a frame would take more than a minute.
///
/// # Example
/// ```
/// use bief::{Chain, sink, source};
/// let mut chain = Chain::new();
/// let mut numbers = chain.add(source::from_slice(&[1, 2, 3, 4], 2), ());
/// let (pace, releases) = source::pace(1000.0); // 1000 numbers per second: a frame each 2 ms
/// chain.add(pace, &mut numbers);
/// let (collect, result) = sink::collect();
/// chain.add(collect, &numbers);
/// let report = chain.build()?.run()?;
/// assert!(report.seconds >= 0.004);
/// assert_eq!(result.take(), [1, 2, 3, 4]);
/// assert_eq!(releases.last().unwrap().frames, 2);
/// # Ok::<(), bief::Error>(())
/// ```
pub fn pace<T: Element>(rate: f64) -> (Pace<T>, PaceHandle) {
    let releases = PaceHandle::default();
    let pace = Pace {
        rate,
        begun: None,
        frames: 0,
        len: OnceLock::new(),
        late: Histogram::new(),
        behind: 0,
        furthest: Duration::ZERO,
        releases: releases.clone(),
        element: PhantomData,
    };
    (pace, releases)
}

impl<T> Pace<T> {
    /// The longest that a frame may take, in seconds: so long a stop may have to wait.
    const LONGEST: f64 = 60.0;

    /// How long after the start the frame of that number, counted from 1, is due.
    fn after(&self, frame: u64) -> Duration {
        let len = self.len.get().copied().unwrap_or_default();
        Duration::try_from_secs_f64(frame as f64 * len as f64 / self.rate).unwrap_or(Duration::MAX)
    }

    fn punctuality(&self) -> Punctuality {
        Punctuality {
            frames: self.frames,
            behind: self.behind,
            behind_max_ns: nanoseconds(self.furthest),
            late_median_ns: self.late.percentile(50),
            late_p99_ns: self.late.percentile(99),
            late_max_ns: self.late.max(),
        }
    }
}

impl<T: Element> Task for Pace<T> {
    type In = InOut<T>;
    type Out = ();

    fn name(&self) -> String {
        "pace".to_owned()
    }

    fn lens(&self, len: usize) -> Result<()> {
        if !(self.rate > 0.0 && self.rate.is_finite()) {
            return Err(Error::new(format!("a pace of {} elements per second: give a number above 0", self.rate)));
        }
        let seconds = len as f64 / self.rate;
        if seconds > Self::LONGEST {
            return Err(Error::new(format!(
                "a frame of {len} elements takes {seconds:.0} s at {} per second: give shorter frames or a faster pace",
                self.rate
            )));
        }
        self.len.get_or_init(|| len);
        Ok(())
    }

    fn run(&mut self, _: &mut [T], (): ()) -> Result<Flow> {
        let ticker = *self.begun.get_or_insert_with(Ticker::start);
        self.frames += 1;
        let due = self.after(self.frames);
        let now = ticker.elapsed();
        if now < due {
            let woken = ticker.wait_until(due);
            self.late.record(nanoseconds(woken.saturating_sub(due)), 1);
        } else {
            self.behind += 1;
            self.furthest = self.furthest.max(now - due);
        }
        Ok(Flow::Next)
    }

    fn due(&mut self) -> Option<Instant> {
        let after = self.after(self.frames + 1);
        self.begun.get_or_insert_with(Ticker::start).at(after)
    }

    fn finish(&mut self) -> Result<()> {
        *self.releases.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(self.punctuality());
        Ok(())
    }

    fn reset(&mut self) -> Result<()> {
        (self.begun, self.frames, self.behind, self.furthest) = (None, 0, 0, Duration::ZERO);
        self.late.clear();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_schedule_does_not_drift() {
        let (pace, _) = pace::<u8>(576_000.0);
        pace.lens(744).unwrap();
        let frames = 10_u64.pow(9); // of 744: more than two weeks
        let exact = u128::from(frames) * 744 * 1_000_000_000 / 576_000;
        let due = pace.after(frames).as_nanos();
        assert!(due.abs_diff(exact) <= 1000, "{due} ns, not {exact}");
    }
}

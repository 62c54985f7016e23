//! Slices of the scheduler that other programs take from the threads of a pipeline: not a task's time, but some milliseconds.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::sync::Instant;

/// Others that run for so long are not threads that wait for each other, or what these wait for is so long that parking costs nothing.
pub(crate) const SLICE: Duration = Duration::from_millis(1);
/// A slice is one of many if the last one ended no longer ago than so many times what it took: others are taken by the host, or by what
/// seldom runs.
const SOON: u32 = 20;
/// For how many times as long as one of many slices took all waits park.
const REST: u32 = 100;

/// Whether another program takes the core of a waiting thread when that lets others run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Slices {
    /// When the last one ended.
    last: Option<Instant>,
    /// For how long nobody is let run from then on: not at all after one alone.
    rest: Duration,
}

impl Slices {
    #[cfg(all(test, bief_loom))]
    pub(crate) const NONE: Self = Self { last: None, rest: Duration::ZERO };

    pub(crate) fn are_lost(&self) -> bool {
        !self.rest.is_zero() && self.last.is_some_and(|last| last.elapsed() < self.rest)
    }

    /// Notes the longest time that others had the core in a wait, and tells if that was one of many slices.
    pub(crate) fn learn(&mut self, longest: Duration, lost: &Lost) {
        if longest < SLICE {
            return;
        }
        let soon = self.rest + longest * (1 + SOON);
        let is_one_of_many = self.last.is_some_and(|last| last.elapsed() < soon);
        *self = Self { last: Some(Instant::now()), rest: if is_one_of_many { longest * REST } else { Duration::ZERO } };
        if is_one_of_many {
            lost.tell(self.rest);
        }
    }
}

/// Whether some of the threads that hand frames to each other lose slices: whoever finds out tells the others, which wait for what that one
/// does.
#[derive(Debug)]
pub(crate) struct Lost {
    begin: Instant,
    /// Nanoseconds since the beginning; 0 where nobody ever did. Nothing but speed depends on it, so model checkers need not know of it.
    until: AtomicU64,
}

impl Lost {
    pub(crate) fn new() -> Self {
        Self { begin: Instant::now(), until: AtomicU64::new(0) }
    }

    /// Slices are taken to be lost for so long.
    pub(crate) fn tell(&self, rest: Duration) {
        self.until.fetch_max((self.begin.elapsed() + rest).as_nanos() as u64, Ordering::Relaxed);
    }

    pub(crate) fn are_lost(&self) -> bool {
        let until = self.until.load(Ordering::Relaxed);
        until > 0 && self.begin.elapsed().as_nanos() < until.into()
    }

    #[cfg(all(test, not(any(bief_loom, bief_shuttle))))]
    pub(crate) fn forget(&self) {
        self.until.store(0, Ordering::Relaxed);
    }
}

#[cfg(all(test, not(any(bief_loom, bief_shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn threads_that_lose_slices_park_for_as_long_as_these_are_worth() {
        const SLICES: Duration = Duration::from_millis(100);
        let (mut slices, lost) = (Slices::default(), Lost::new());
        let ago = |slices: &mut Slices, time| slices.last = Some(Instant::now().checked_sub(time).unwrap());
        slices.learn(Duration::from_micros(999), &lost);
        assert!(slices.last.is_none(), "threads that wait for each other take as long");
        slices.learn(SLICES, &lost);
        assert!(!slices.are_lost() && !lost.are_lost(), "one alone is no reason to park");
        slices.learn(SLICES, &lost);
        assert!(slices.are_lost() && lost.are_lost() && slices.rest == Duration::from_secs(10), "one more, soon after");
        ago(&mut slices, Duration::from_millis(10_100));
        assert!(!slices.are_lost());
        slices.learn(SLICES, &lost);
        assert!(slices.are_lost(), "the first one after a rest is one of many");
        ago(&mut slices, Duration::from_millis(12_200));
        slices.learn(SLICES, &lost);
        assert!(!slices.are_lost(), "the core was kept for long");
    }
}

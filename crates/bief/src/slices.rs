//! Slices of the scheduler that other programs take from the threads of a pipeline: not a task's time, but some milliseconds.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::sync::Instant;

/// Others that run for so long are not threads that wait for each other, or what these wait for is so long that parking costs nothing.
pub(crate) const SLICE: Duration = Duration::from_millis(1);
/// For how many times as long as the slice took all waits park. One alone is taken by the host, or by what seldom runs.
const RESTS: [u32; 2] = [2, 100];
/// As many waits in between make a slice one alone.
const ALONE: u32 = 200;

/// Whether another program takes the core of a waiting thread when that lets others run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Slices {
    /// When the last one ended, and for how long nobody is let run from then on.
    rest: Option<(Instant, Duration)>,
    /// Waits since then that lost none.
    kept: u32,
}

impl Slices {
    #[cfg(all(test, bief_loom))]
    pub(crate) const NONE: Self = Self { rest: None, kept: 0 };

    pub(crate) fn are_lost(&self) -> bool {
        self.rest.is_some_and(|(end, rest)| end.elapsed() < rest)
    }

    /// Notes the longest time that others had the core in a wait, and tells if that was a slice.
    pub(crate) fn learn(&mut self, longest: Duration, lost: &Lost) {
        if longest < SLICE {
            self.kept = self.kept.saturating_add(1);
            if self.kept == ALONE {
                self.rest = None;
            }
            return;
        }
        let rest = longest * RESTS[usize::from(self.rest.is_some())];
        *self = Self { rest: Some((Instant::now(), rest)), kept: 0 };
        lost.tell(rest);
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
        let (mut slices, lost) = (Slices::default(), Lost::new());
        let rest = |slices: &Slices| slices.rest.map(|(_, rest)| rest);
        slices.learn(Duration::from_micros(999), &lost);
        assert!(!slices.are_lost() && !lost.are_lost(), "threads that wait for each other take as long");
        slices.learn(Duration::from_secs(3), &lost);
        assert!(slices.are_lost() && lost.are_lost() && rest(&slices) == Some(Duration::from_secs(6)));
        slices.learn(Duration::from_secs(3), &lost);
        assert_eq!(rest(&slices), Some(Duration::from_secs(300)), "one more, soon after");
        (0..ALONE).for_each(|_| slices.learn(Duration::from_micros(5), &lost));
        assert!(!slices.are_lost(), "the core is kept");
        slices.learn(Duration::from_secs(3), &lost);
        assert_eq!(rest(&slices), Some(Duration::from_secs(6)), "it is one alone");
    }
}

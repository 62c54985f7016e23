//! Slices of the scheduler that other programs take from threads of this process: not a task's time, but some milliseconds.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::sync::{Instant, MODEL};

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

    /// Notes the longest time that others had the core in a wait.
    pub(crate) fn learn(&mut self, longest: Duration) {
        if longest < SLICE {
            self.kept = self.kept.saturating_add(1);
            if self.kept == ALONE {
                self.rest = None;
            }
            return;
        }
        let rest = longest * RESTS[usize::from(self.rest.is_some())];
        *self = Self { rest: Some((Instant::now(), rest)), kept: 0 };
        LOST_UNTIL.fetch_max(now_ns() + rest.as_nanos() as u64, Ordering::Relaxed);
    }
}

/// Until when some thread of this process is taken to lose slices, of the same clock as [`now_ns`]; 0 where none lately did.
static LOST_UNTIL: AtomicU64 = AtomicU64::new(0);

fn now_ns() -> u64 {
    static BEGIN: LazyLock<std::time::Instant> = LazyLock::new(std::time::Instant::now);
    BEGIN.elapsed().as_nanos() as u64
}

/// A pipeline's threads begin to learn: what those of others found out, whose tasks perhaps took as long as slices, does not count for them.
pub(crate) fn forget() {
    LOST_UNTIL.store(0, Ordering::Relaxed);
}

/// Whether some thread of this process is taken to lose slices: others, which wait for what that one does, have no time to find out.
pub(crate) fn are_lost_by_any() -> bool {
    if MODEL {
        // As its clock has it.
        return Instant::now().elapsed() > SLICE;
    }
    let until = LOST_UNTIL.load(Ordering::Relaxed);
    if until == 0 {
        return false;
    }
    let are_lost = now_ns() < until;
    if !are_lost {
        // Whoever has moved it on meanwhile is right.
        let _ = LOST_UNTIL.compare_exchange(until, 0, Ordering::Relaxed, Ordering::Relaxed);
    }
    are_lost
}

#[cfg(all(test, not(any(bief_loom, bief_shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn threads_that_lose_slices_park_for_as_long_as_these_are_worth() {
        let mut slices = Slices::default();
        let rest = |slices: &Slices| slices.rest.map(|(_, rest)| rest);
        slices.learn(Duration::from_micros(999));
        assert!(!slices.are_lost(), "threads that wait for each other take as long");
        slices.learn(Duration::from_secs(3));
        assert!(slices.are_lost() && rest(&slices) == Some(Duration::from_secs(6)));
        slices.learn(Duration::from_secs(3));
        assert_eq!(rest(&slices), Some(Duration::from_secs(300)), "one more, soon after");
        (0..ALONE).for_each(|_| slices.learn(Duration::from_micros(5)));
        assert!(!slices.are_lost(), "the core is kept");
        slices.learn(Duration::from_secs(3));
        assert_eq!(rest(&slices), Some(Duration::from_secs(6)), "it is one alone");
    }
}

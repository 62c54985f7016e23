//! The clock: where the shares of a worker's time end, and what reading it costs.

use std::hint::black_box;
use std::num::NonZeroU64;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// Time cut into shares that leave nothing out. Reading the clock takes longer than a small task: it is read once where a
/// share ends.
pub(crate) struct Laps {
    mark: Instant,
}

impl Laps {
    pub(crate) fn start() -> Self {
        Self { mark: Instant::now() }
    }

    /// Where the last share ended.
    pub(crate) fn mark(&self) -> Instant {
        self.mark
    }

    /// Ends a share; answers how long it was.
    pub(crate) fn lap(&mut self) -> Duration {
        let now = Instant::now();
        now - std::mem::replace(&mut self.mark, now)
    }
}

/// An instant in eight bytes, to travel with a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Moment(NonZeroU64);

impl Moment {
    /// Before the process first asked, it is when that was.
    pub(crate) fn of(instant: Instant) -> Self {
        let ns = instant.saturating_duration_since(epoch()).as_nanos() as u64;
        Self(NonZeroU64::MIN.saturating_add(ns))
    }

    /// How long before `instant` it was.
    pub(crate) fn until(self, instant: Instant) -> Duration {
        let then = epoch() + Duration::from_nanos(self.0.get() - 1);
        instant.saturating_duration_since(then)
    }
}

/// When the process first asked.
fn epoch() -> Instant {
    static EPOCH: OnceLock<Instant> = OnceLock::new();
    *EPOCH.get_or_init(Instant::now)
}

/// What reading the clock once costs: so much is in every time that is measured between two reads.
pub(crate) fn cost() -> Duration {
    const READS: u32 = 64;
    // A clock that ticks slowly shows nothing between two reads: many are taken together.
    let round = |_| {
        let start = Instant::now();
        for _ in 1..READS {
            black_box(Instant::now());
        }
        start.elapsed() / READS
    };
    (0..16).map(round).min().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_is_an_instant() {
        let instant = Instant::now();
        let moment = Moment::of(instant);
        let later = instant + Duration::from_nanos(123_456_789);
        // The first moment ever asked for may lie a little before the epoch.
        let lost = epoch().saturating_duration_since(instant);
        assert_eq!(moment.until(later) + lost, later - instant);
        assert_eq!(Moment::of(later).until(instant), Duration::ZERO);
        assert_eq!(size_of::<Option<Moment>>(), 8);
    }
}

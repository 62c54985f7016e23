//! The shares of a worker's time, and moments that travel with frames.

use std::num::NonZeroU64;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use bief_machine::clock::nanoseconds;

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
    pub(crate) fn of(instant: Instant) -> Self {
        // Instants have no number of their own: they are counted from one in the middle, to which some are before.
        static MIDDLE: OnceLock<Instant> = OnceLock::new();
        let middle = *MIDDLE.get_or_init(Instant::now);
        let after = nanoseconds(instant.saturating_duration_since(middle));
        let before = nanoseconds(middle.saturating_duration_since(instant));
        Self(NonZeroU64::MIN.saturating_add((1_u64 << 63).saturating_add(after).saturating_sub(before)))
    }

    /// How long before `instant` it was.
    pub(crate) fn until(self, instant: Instant) -> Duration {
        Duration::from_nanos(Self::of(instant).0.get().saturating_sub(self.0.get()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_is_an_instant() {
        let instant = Instant::now();
        let later = instant + Duration::from_nanos(123_456_789);
        // From before anybody asked, too.
        for from in [instant, instant.checked_sub(Duration::from_secs(60)).unwrap_or(instant)] {
            assert_eq!(Moment::of(from).until(later), later - from);
        }
        assert_eq!(Moment::of(later).until(instant), Duration::ZERO);
        assert_eq!(size_of::<Option<Moment>>(), 8);
    }
}

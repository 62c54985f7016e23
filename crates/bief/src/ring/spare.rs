//! The slots that a ring may have beside its own, for while threads do not get the cores that they want: for as long as another program may
//! keep one, the others go on with them. They are made when they are first needed, and kept.

use std::sync::Arc;
use std::time::Duration;

use crate::slices::Lost;
use crate::sync::{AtomicU64, Instant, Mutex, Ordering, PoisonError};

/// How a ring gets spare slots, and how many.
pub(crate) struct Spare<S> {
    pub(crate) most: usize,
    pub(crate) make: Box<dyn Fn() -> S + Send + Sync>,
    /// What all threads of the pipeline know of slices that they lose.
    pub(crate) lost: Arc<Lost>,
}

impl<S: Default + 'static> Default for Spare<S> {
    /// None at all.
    fn default() -> Self {
        Self { most: 0, make: Box::new(S::default), lost: Arc::new(Lost::new()) }
    }
}

/// Those of one ring.
pub(super) struct Spares<S> {
    spare: Spare<S>,
    /// How many are not here.
    lent: AtomicU64,
    here: Mutex<Vec<S>>,
}

impl<S: Default> Spares<S> {
    pub(super) fn new(spare: Spare<S>) -> Self {
        Self { spare, lent: AtomicU64::new(0), here: Mutex::new(Vec::new()) }
    }

    /// Exchanges `slot`, which has no memory, for a spare one, if there is any.
    pub(super) fn lend(&self, slot: &mut S) -> bool {
        let mut here = self.here.lock().unwrap_or_else(PoisonError::into_inner);
        // Changed under the lock alone.
        let lent = self.lent.load(Ordering::Relaxed);
        if lent == self.spare.most as u64 {
            return false;
        }
        *slot = here.pop().unwrap_or_else(&self.spare.make);
        self.lent.store(lent + 1, Ordering::Relaxed);
        true
    }

    /// Takes `slot` back, and leaves one without memory, if any was lent.
    pub(super) fn give_back(&self, slot: &mut S) -> bool {
        let mut here = self.here.lock().unwrap_or_else(PoisonError::into_inner);
        let lent = self.lent.load(Ordering::Relaxed);
        if lent == 0 {
            return false;
        }
        here.push(std::mem::take(slot));
        self.lent.store(lent - 1, Ordering::Relaxed);
        true
    }
}

impl<S> Spares<S> {
    /// How many slots the ring has more than its own.
    pub(super) fn lent(&self) -> u64 {
        if self.spare.most == 0 { 0 } else { self.lent.load(Ordering::Relaxed) }
    }

    pub(super) fn has_any(&self) -> bool {
        self.lent() < self.spare.most as u64
    }

    /// Whether threads go ahead of one that is kept from its core now and again.
    pub(super) fn are_wanted(&self) -> bool {
        self.spare.most > 0 && self.spare.lost.are_lost()
    }

    /// How many slots a producer that sends this number next may go ahead with: `pace` is its own.
    pub(super) fn ahead(&self, pace: &mut Option<Pace>, number: u64) -> u64 {
        if !self.are_wanted() {
            *pace = None;
            return 0;
        }
        pace.get_or_insert_with(|| Pace::new(number)).ahead(number)
    }
}

/// Twice what a scheduler gives another program at a time: this long threads go ahead of one that waits for its core.
const AHEAD: Duration = Duration::from_millis(8);
/// After so long it is told anew how fast numbers are.
const WINDOW: Duration = Duration::from_millis(100);

/// How many numbers go through a ring while a thread is kept from its core: more spare slots would be of no use, and what is sent would only
/// wait longer.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pace {
    begin: Instant,
    first: u64,
    /// As before that.
    usual: u64,
}

impl Pace {
    /// From this number on.
    fn new(number: u64) -> Self {
        Self { begin: Instant::now(), first: number, usual: 0 }
    }

    /// The same at a later number.
    fn ahead(&mut self, number: u64) -> u64 {
        let elapsed = self.begin.elapsed();
        let ahead = ahead(number - self.first, elapsed);
        if elapsed > WINDOW {
            *self = Self { usual: ahead, ..Self::new(number) };
        }
        ahead.max(self.usual)
    }
}

/// Of so many numbers in this time.
fn ahead(numbers: u64, time: Duration) -> u64 {
    (numbers as f64 * AHEAD.as_secs_f64() / time.max(AHEAD).as_secs_f64()) as u64
}

#[cfg(all(test, not(any(bief_loom, bief_shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn threads_go_ahead_by_what_goes_through_in_two_slices() {
        assert_eq!(ahead(300, Duration::ZERO), 300, "no more than there were");
        assert_eq!(ahead(1000, Duration::from_millis(80)), 100);
        assert_eq!(ahead(9, Duration::from_millis(80)), 0, "numbers that are as slow as slices");
        let mut pace = Pace::new(5);
        assert_eq!((pace.ahead(5), pace.ahead(15)), (0, 10));
        pace.begin = pace.begin.checked_sub(Duration::from_millis(160)).unwrap();
        assert_eq!(pace.ahead(215), 10);
        assert_eq!((pace.first, pace.ahead(216)), (215, 10), "a new window goes on from the one before");
    }
}

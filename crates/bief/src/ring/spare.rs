//! The slots that a ring may have beside its own, for while what is received next is late: the other producers go on with them for as
//! long as another program may keep a core. They are made when they are first needed, and kept.

use crate::sync::{AtomicU64, Mutex, Ordering, PoisonError};

/// How a ring gets spare slots, and how many.
pub(crate) struct Spare<S> {
    pub(crate) most: usize,
    pub(crate) make: Box<dyn Fn() -> S + Send + Sync>,
}

impl<S: Default + 'static> Default for Spare<S> {
    /// None at all.
    fn default() -> Self {
        Self { most: 0, make: Box::new(S::default) }
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
}

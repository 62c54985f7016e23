//! What every mapping algorithm does.

use super::slots::Slots;

/// Chooses a kind of slot for each thread, no more of a kind than it has slots.
pub(super) trait Chooser: Send + Sync {
    /// `kinds` holds the kind that each thread is on, if it is on any, and is given the new ones.
    fn choose(&mut self, slots: &Slots, demands: &[f64], kinds: &mut [Option<usize>]);
}

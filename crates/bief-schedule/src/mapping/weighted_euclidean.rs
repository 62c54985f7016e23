//! The threads in turn, each to the nearest free slot.

use super::chooser::Chooser;
use super::slots::Slots;

/// [`Algorithm::WeightedEuclidean`](super::Algorithm::WeightedEuclidean).
#[derive(Debug, Default)]
pub(super) struct WeightedEuclidean {
    free: Vec<usize>,
}

impl Chooser for WeightedEuclidean {
    fn choose(&mut self, slots: &Slots, demands: &[f64], kinds: &mut [Option<usize>]) {
        self.free.clear();
        self.free.extend(slots.counts());
        for (&demand, kind) in demands.iter().zip(kinds) {
            let free = (0..slots.kinds()).filter(|&kind| self.free[kind] > 0);
            let nearest = free.min_by(|&a, &b| slots.misfit(a, demand).total_cmp(&slots.misfit(b, demand)));
            let nearest = nearest.expect("there is a slot for each thread");
            self.free[nearest] -= 1;
            *kind = Some(nearest);
        }
    }
}

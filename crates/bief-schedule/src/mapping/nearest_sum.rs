//! The least sum of the distances between demands and shares.

use super::chooser::Chooser;
use super::slots::Slots;

/// [`Algorithm::NearestSum`](super::Algorithm::NearestSum).
///
/// There is an optimum that keeps the order, since exchanging two threads against it makes no sum of distances smaller.
/// So with threads and slots sorted, thread *i* takes one of the slots *i* to *i* + free: dynamic programming over
/// these.
#[derive(Debug, Default)]
pub(super) struct NearestSum {
    order: Vec<usize>,
    /// The kind of each slot.
    slots: Vec<usize>,
    /// The least sum of the threads so far with the slots up to *i* + the position.
    sums: Vec<f64>,
    /// For each thread and position, whether it takes that slot itself.
    takes: Vec<bool>,
}

impl Chooser for NearestSum {
    fn choose(&mut self, slots: &Slots, demands: &[f64], kinds: &mut [Option<usize>]) {
        self.order.clear();
        self.order.extend(0..demands.len());
        self.order.sort_unstable_by(|&a, &b| demands[a].total_cmp(&demands[b]).then(a.cmp(&b)));
        self.slots.clear();
        let counts = slots.counts().iter().enumerate();
        self.slots.extend(counts.flat_map(|(kind, &count)| std::iter::repeat_n(kind, count)));

        let choices = self.slots.len() - demands.len() + 1;
        self.sums.clear();
        self.sums.resize(choices, 0.0);
        self.takes.clear();
        for (rank, &thread) in self.order.iter().enumerate() {
            let mut least = f64::INFINITY;
            for (position, sum) in self.sums.iter_mut().enumerate() {
                let own = *sum + slots.misfit(self.slots[rank + position], demands[thread]);
                self.takes.push(own < least);
                least = least.min(own);
                *sum = least;
            }
        }
        let mut position = choices - 1;
        for (rank, &thread) in self.order.iter().enumerate().rev() {
            while !self.takes[rank * choices + position] {
                position -= 1;
            }
            kinds[thread] = Some(self.slots[rank + position]);
        }
    }
}

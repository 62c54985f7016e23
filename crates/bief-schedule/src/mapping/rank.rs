//! Threads and slots in order: who needs the most gets the most.

use super::chooser::Chooser;
use super::slots::Slots;

/// [`Algorithm::Rank`](super::Algorithm::Rank).
#[derive(Debug)]
pub(super) struct Rank {
    stickiness: f64,
    /// What each thread is taken to need, with the thread.
    order: Vec<(f64, usize)>,
}

impl Rank {
    pub(super) fn new(stickiness: f64) -> Self {
        Self { stickiness, order: Vec::new() }
    }
}

impl Chooser for Rank {
    fn choose(&mut self, slots: &Slots, demands: &[f64], kinds: &mut [Option<usize>]) {
        let bonus = |kind: Option<usize>| kind.map_or(0.0, |kind| self.stickiness * slots.share(kind));
        let wants = demands.iter().zip(&*kinds).map(|(&demand, &kind)| demand + bonus(kind));
        self.order.clear();
        self.order.extend(wants.zip(0..));
        self.order.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        let slots = slots.counts().iter().enumerate().rev().flat_map(|(kind, &count)| std::iter::repeat_n(kind, count));
        for (&(_, thread), kind) in self.order.iter().zip(slots) {
            kinds[thread] = Some(kind);
        }
    }
}

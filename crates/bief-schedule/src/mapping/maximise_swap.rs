//! Threads exchanged as long as this makes the throughput greater.

use super::chooser::Chooser;
use super::slots::Slots;

/// Exchanges that gain less are rounding.
const MIN_GAIN: f64 = 1e-9;

/// [`Algorithm::MaximiseThenSwap`](super::Algorithm::MaximiseThenSwap).
///
/// After Liu, Potkonjak, Clark and Davis (*Dynamic thread mapping for high-performance, power-efficient heterogeneous
/// many-core systems*, 2013), as the paper describes it; without the power budget, which they swap for and the paper
/// does not have.
#[derive(Debug, Default)]
pub(super) struct MaximiseThenSwap {
    free: Vec<usize>,
}

impl MaximiseThenSwap {
    /// Gives each thread without a slot the one in which it gets the most; of equal ones the smallest.
    fn maximise(&mut self, slots: &Slots, demands: &[f64], kinds: &mut [Option<usize>]) {
        self.free.clear();
        self.free.extend(slots.counts());
        for kind in kinds.iter_mut() {
            // More threads may be on a core than it has slots.
            *kind = kind.filter(|&kind| self.free[kind] > 0);
            if let Some(kind) = *kind {
                self.free[kind] -= 1;
            }
        }
        for (kind, &demand) in kinds.iter_mut().zip(demands) {
            if kind.is_none() {
                let free = (0..slots.kinds()).rev().filter(|&kind| self.free[kind] > 0);
                let most = free.max_by(|&a, &b| slots.share(a).min(demand).total_cmp(&slots.share(b).min(demand)));
                let most = most.expect("there is a slot for each thread");
                self.free[most] -= 1;
                *kind = Some(most);
            }
        }
    }

    /// Tries all exchanges once; whether there was one.
    fn swap(&mut self, slots: &Slots, demands: &[f64], kinds: &mut [Option<usize>]) -> bool {
        let got = |demand: f64, kind: usize| slots.share(kind).min(demand);
        let mut any = false;
        for thread in 0..demands.len() {
            for other in 0..thread {
                let (Some(here), Some(there)) = (kinds[thread], kinds[other]) else { continue };
                let (mine, theirs) = (demands[thread], demands[other]);
                let gain = got(mine, there) + got(theirs, here) - got(mine, here) - got(theirs, there);
                if gain > MIN_GAIN {
                    kinds.swap(thread, other);
                    any = true;
                }
            }
            for there in 0..slots.kinds() {
                let Some(here) = kinds[thread] else { continue };
                if self.free[there] > 0 && got(demands[thread], there) - got(demands[thread], here) > MIN_GAIN {
                    self.free[there] -= 1;
                    self.free[here] += 1;
                    kinds[thread] = Some(there);
                    any = true;
                }
            }
        }
        any
    }
}

impl Chooser for MaximiseThenSwap {
    fn choose(&mut self, slots: &Slots, demands: &[f64], kinds: &mut [Option<usize>]) {
        self.maximise(slots, demands, kinds);
        // Ends, since the throughput grows by more than rounding each time.
        while self.swap(slots, demands, kinds) {}
    }
}

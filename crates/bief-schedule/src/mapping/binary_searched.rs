//! Each thread to the kind of slot that is nearest to its demand, found by binary search.

use super::chooser::Chooser;
use super::slots::Slots;

/// [`Algorithm::BinarySearched`](super::Algorithm::BinarySearched).
#[derive(Debug)]
pub(super) struct BinarySearched {
    hysteresis: f64,
    /// The kind that each thread wants.
    wanted: Vec<usize>,
    /// Those that want a kind, kind by kind, and where each kind begins.
    bids: Vec<Bid>,
    first: Vec<usize>,
    free: Free,
}

/// A thread that wants a kind of slot. The least bid is the best: of two threads the one whose demand is nearer to the share, with
/// the hysteresis on top for a thread that comes from elsewhere; then one that is there; then the first. All of it is one
/// number, which is compared without a branch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
struct Bid(u128);

impl Bid {
    /// `misfit` is 0 or more, and so ordered as its bits are.
    fn new(misfit: f64, comes: bool, thread: usize) -> Self {
        Self(u128::from(misfit.to_bits()) << 64 | u128::from(comes) << 63 | thread as u128)
    }

    fn thread(self) -> usize {
        (self.0 as u64 & !(1 << 63)) as usize
    }
}

impl BinarySearched {
    pub(super) fn new(hysteresis: f64) -> Self {
        Self { hysteresis, wanted: Vec::new(), bids: Vec::new(), first: Vec::new(), free: Free::default() }
    }

    /// Finds the nearest kind for each thread; the one that the thread is on, where that is hardly farther.
    fn search(&mut self, slots: &Slots, demands: &[f64], kinds: &[Option<usize>]) {
        let wanted = |(&demand, &current): (&f64, &Option<usize>)| {
            let nearest = slots.nearest(demand);
            let least = slots.misfit(nearest, demand);
            current.filter(|&kind| slots.misfit(kind, demand) - least < self.hysteresis).unwrap_or(nearest)
        };
        self.wanted.clear();
        self.wanted.extend(demands.iter().zip(kinds).map(wanted));
    }

    /// Sorts the threads by the kind that they want.
    fn gather(&mut self, slots: &Slots, demands: &[f64], kinds: &[Option<usize>]) {
        self.first.clear();
        self.first.resize(slots.kinds() + 1, 0);
        for &kind in &self.wanted {
            self.first[kind + 1] += 1;
        }
        for kind in 0..slots.kinds() {
            self.first[kind + 1] += self.first[kind];
        }
        self.bids.clear();
        self.bids.resize(demands.len(), Bid::default());
        for (thread, (&kind, &demand)) in self.wanted.iter().zip(demands).enumerate() {
            let comes = kinds[thread] != Some(kind);
            let misfit = slots.misfit(kind, demand) + self.hysteresis * f64::from(comes);
            self.bids[self.first[kind]] = Bid::new(misfit, comes, thread);
            self.first[kind] += 1;
        }
        // Each kind now begins where it ended.
        self.first.rotate_right(1);
        self.first[0] = 0;
    }
}

impl Chooser for BinarySearched {
    fn choose(&mut self, slots: &Slots, demands: &[f64], kinds: &mut [Option<usize>]) {
        self.search(slots, demands, kinds);
        self.gather(slots, demands, kinds);
        for (kind, &wanted) in kinds.iter_mut().zip(&self.wanted) {
            *kind = Some(wanted);
        }
        self.free.clear(slots.counts());
        for kind in 0..slots.kinds() {
            let bids = &mut self.bids[self.first[kind]..self.first[kind + 1]];
            let count = slots.counts()[kind];
            self.free.take(kind, bids.len().min(count));
            if bids.len() > count {
                bids.select_nth_unstable(count);
                for bid in &bids[count..] {
                    kinds[bid.thread()] = None;
                }
            }
        }
        for (thread, kind) in kinds.iter_mut().enumerate().filter(|(_, kind)| kind.is_none()) {
            let nearest = self.free.nearest(slots, demands[thread], self.wanted[thread]);
            self.free.take(nearest, 1);
            *kind = Some(nearest);
        }
    }
}

/// The kinds that have a free slot, ordered. Slots are taken and never given back, so that the full kinds are runs that
/// grow together: two forests of disjoint sets, one that leads up and one that leads down.
#[derive(Debug, Default)]
struct Free {
    /// How many slots of each kind are free.
    slots: Vec<usize>,
    /// Leads to the next free kind from a kind on, `kinds` where there is none.
    up: Vec<usize>,
    /// Leads to the free kind at or before a kind, both counted from 1; 0 where there is none.
    down: Vec<usize>,
}

impl Free {
    fn clear(&mut self, counts: &[usize]) {
        self.slots.clear();
        self.slots.extend(counts);
        for forest in [&mut self.up, &mut self.down] {
            forest.clear();
            forest.extend(0..=counts.len());
        }
    }

    fn take(&mut self, kind: usize, count: usize) {
        self.slots[kind] -= count;
        if self.slots[kind] == 0 {
            self.up[kind] = kind + 1;
            self.down[kind + 1] = kind;
        }
    }

    /// The free kind next above or below `kind` whose share is nearer to the demand; of two equally near the one above.
    fn nearest(&mut self, slots: &Slots, demand: f64, kind: usize) -> usize {
        let above = root(&mut self.up, kind);
        let below = root(&mut self.down, kind + 1);
        if below == 0 {
            return above;
        }
        let below = below - 1;
        if above < slots.kinds() && slots.misfit(above, demand) <= slots.misfit(below, demand) { above } else { below }
    }
}

/// What leads to nothing but itself, with all paths to it halved.
fn root(forest: &mut [usize], mut at: usize) -> usize {
    while forest[at] != at {
        forest[at] = forest[forest[at]];
        at = forest[at];
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mapping::Cores;

    fn slots(capacities: &[f64], threads: usize) -> Slots {
        Slots::new(&Cores::new(capacities.iter().copied()).unwrap(), threads)
    }

    #[test]
    fn free_kinds_are_found_on_both_sides() {
        let mut random = fastrand::Rng::with_seed(1);
        for _ in 0..200 {
            let kinds = random.usize(1..20);
            let capacities: Vec<f64> = (1..=kinds).map(|kind| kind as f64).collect();
            let slots = slots(&capacities, kinds);
            let mut free = Free::default();
            free.clear(&vec![1; kinds]);
            let mut is_free = vec![true; kinds];
            let mut order: Vec<usize> = (0..kinds).collect();
            random.shuffle(&mut order);
            for &kind in &order[1..] {
                free.take(kind, 1);
                is_free[kind] = false;
                let full = loop {
                    let kind = random.usize(..kinds);
                    if !is_free[kind] {
                        break kind;
                    }
                };
                let demand = slots.share(full);
                let scan = (0..kinds).rev().filter(|&kind| is_free[kind]);
                let nearest = scan.min_by(|&a, &b| slots.misfit(a, demand).total_cmp(&slots.misfit(b, demand)));
                assert_eq!(Some(free.nearest(&slots, demand, full)), nearest);
            }
        }
    }

    #[test]
    fn nothing_is_allocated_once_it_has_run() {
        let capacities: Vec<f64> = (0..60).map(|core| [1.0, 0.7, 0.4, 0.25][core % 4]).collect();
        for threads in [10, 60, 150] {
            let slots = slots(&capacities, threads);
            let mut random = fastrand::Rng::with_seed(1);
            let mut mapper = BinarySearched::new(0.0);
            let mut kinds = vec![None; threads];
            let mut memory = None;
            for _ in 0..200 {
                let law = random.f64();
                let demands: Vec<f64> = (0..threads).map(|_| random.f64().powf(3.0 * law)).collect();
                mapper.choose(&slots, &demands, &mut kinds);
                let free = [&mapper.free.slots, &mapper.free.up, &mapper.free.down].map(Vec::capacity);
                let now = (mapper.bids.capacity(), [&mapper.wanted, &mapper.first].map(Vec::capacity), free);
                assert_eq!(*memory.get_or_insert(now), now);
            }
        }
    }
}

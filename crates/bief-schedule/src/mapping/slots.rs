//! The places for threads: one on each core, or more where there are more threads than cores.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use super::cores::Cores;

/// Shares that differ by less, relatively, are of one kind: 0.6 / 3 is 0.2.
const ROUNDING: f64 = 1e-9;

/// The places that cores have for a number of threads, by kind. A slot's share is the capacity of its core, divided by
/// the number of the core's slots; slots of equal share are of one kind, whatever core they are on.
#[derive(Debug, Clone)]
pub(super) struct Slots {
    /// For how many threads.
    threads: usize,
    /// The share of each kind, ascending.
    shares: Vec<f64>,
    /// How many slots there are of each kind.
    counts: Vec<usize>,
    /// The cores of each kind: from `first[kind]` to `first[kind + 1]` of `cores`, in the order of the machine's.
    first: Vec<usize>,
    cores: Vec<usize>,
    kind_of_core: Vec<usize>,
    slots_of_core: Vec<usize>,
}

/// A core that may be given a further slot: the one on which it would have the greatest share is the greatest.
struct Candidate {
    share: f64,
    core: usize,
    slots: usize,
}

impl Slots {
    /// One slot on each core. Where there are more threads than cores, as many slots as threads: each one beyond the
    /// first of every core goes where its share is the greatest, so that cores have slots in proportion to their
    /// capacities.
    pub(super) fn new(cores: &Cores, threads: usize) -> Self {
        let capacities = cores.capacities();
        let slots_of_core = deal(capacities, threads);
        let share = |core: usize| capacities[core] / slots_of_core[core] as f64;
        let mut order: Vec<usize> = (0..capacities.len()).collect();
        order.sort_by(|&a, &b| share(a).total_cmp(&share(b)));

        let mut slots = Self {
            threads,
            shares: Vec::new(),
            counts: Vec::new(),
            first: Vec::new(),
            cores: Vec::new(),
            kind_of_core: vec![0; order.len()],
            slots_of_core: Vec::new(),
        };
        for (position, &core) in order.iter().enumerate() {
            if slots.shares.last().is_none_or(|&last| share(core) > last * (1.0 + ROUNDING)) {
                slots.shares.push(share(core));
                slots.counts.push(0);
                slots.first.push(position);
            }
            let kind = slots.kinds() - 1;
            slots.counts[kind] += slots_of_core[core];
            slots.kind_of_core[core] = kind;
        }
        slots.first.push(order.len());
        for kind in slots.first.windows(2) {
            order[kind[0]..kind[1]].sort_unstable();
        }
        Self { cores: order, slots_of_core, ..slots }
    }

    pub(super) fn threads(&self) -> usize {
        self.threads
    }

    pub(super) fn kinds(&self) -> usize {
        self.shares.len()
    }

    pub(super) fn share(&self, kind: usize) -> f64 {
        self.shares[kind]
    }

    /// How far the share of the kind is from the demand.
    pub(super) fn misfit(&self, kind: usize, demand: f64) -> f64 {
        (demand - self.shares[kind]).abs()
    }

    /// The slots of each kind.
    pub(super) fn counts(&self) -> &[usize] {
        &self.counts
    }

    pub(super) fn cores_of(&self, kind: usize) -> &[usize] {
        &self.cores[self.first[kind]..self.first[kind + 1]]
    }

    pub(super) fn kind_of_core(&self, core: usize) -> usize {
        self.kind_of_core[core]
    }

    pub(super) fn slots_of_core(&self) -> &[usize] {
        &self.slots_of_core
    }

    /// The kind whose share is nearest to the demand, by binary search; of two equally near the smaller, which saves
    /// power.
    pub(super) fn nearest(&self, demand: f64) -> usize {
        let above = self.shares.partition_point(|&share| share < demand);
        // Beyond both ends of the list the two are one. No branch depends on the demand.
        let (below, above) = (above.saturating_sub(1), above.min(self.kinds() - 1));
        if demand - self.shares[below] <= self.shares[above] - demand { below } else { above }
    }
}

/// How many slots each core has.
fn deal(capacities: &[f64], threads: usize) -> Vec<usize> {
    let mut slots = vec![1; capacities.len()];
    if threads > capacities.len() {
        let candidate =
            |core: usize, slots: usize| Candidate { share: capacities[core] / (slots + 1) as f64, core, slots };
        let mut candidates: BinaryHeap<Candidate> = (0..capacities.len()).map(|core| candidate(core, 1)).collect();
        for _ in capacities.len()..threads {
            let mut next = candidates.peek_mut().expect("there is a core");
            slots[next.core] += 1;
            *next = candidate(next.core, next.slots + 1);
        }
    }
    slots
}

impl Ord for Candidate {
    fn cmp(&self, other: &Self) -> Ordering {
        // Of equal ones the core with fewer threads, then the first.
        let shares = self.share.total_cmp(&other.share);
        shares.then(other.slots.cmp(&self.slots)).then(other.core.cmp(&self.core))
    }
}

impl PartialOrd for Candidate {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Candidate {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Candidate {}

#[cfg(test)]
mod tests {
    use super::*;

    fn slots(capacities: &[f64], threads: usize) -> Slots {
        Slots::new(&Cores::new(capacities.iter().copied()).unwrap(), threads)
    }

    #[test]
    fn the_nearest_kind_is_found() {
        let three = slots(&[1.0, 0.25, 0.5], 3);
        let found = [0.0, 0.25, 0.374, 0.376, 0.74, 0.76, 1.0, 2.0].map(|demand| three.nearest(demand));
        assert_eq!(found, [0, 0, 0, 1, 1, 2, 2, 2]);
        // Halfway the smaller.
        assert_eq!([0.375, 0.75].map(|demand| three.nearest(demand)), [0, 1]);
        assert_eq!(slots(&[3.0, 3.0], 1).nearest(0.1), 0);
    }

    #[test]
    fn the_nearest_kind_is_that_of_a_scan() {
        let mut random = fastrand::Rng::with_seed(1);
        for _ in 0..300 {
            let cores = random.usize(1..20);
            let capacities: Vec<f64> = (0..cores).map(|_| f64::from(random.u32(1..=8)) / 8.0).collect();
            let slots = slots(&capacities, random.usize(..40));
            let demand = f64::from(random.u32(..40)) / 32.0;
            let scan = (0..slots.kinds()).min_by(|&a, &b| slots.misfit(a, demand).total_cmp(&slots.misfit(b, demand)));
            assert_eq!(slots.nearest(demand), scan.unwrap());
        }
    }

    #[test]
    fn cores_of_one_capacity_are_of_one_kind() {
        let slots = slots(&[1.0, 0.5, 1.0, 0.5, 0.25], 3);
        assert_eq!((&slots.shares[..], slots.counts()), (&[0.25, 0.5, 1.0][..], &[1, 2, 2][..]));
        assert_eq!([0, 1, 2].map(|kind| slots.cores_of(kind)), [&[4][..], &[1, 3], &[0, 2]]);
        assert_eq!([0, 1, 2, 3, 4].map(|core| slots.kind_of_core(core)), [2, 1, 2, 1, 0]);
    }

    #[test]
    fn more_threads_than_cores_share_them_by_capacity() {
        // The fast cores get a second slot first: all shares are then 1/2.
        let shared = slots(&[1.0, 1.0, 0.5, 0.5], 6);
        assert_eq!(
            (&shared.shares[..], shared.counts(), shared.slots_of_core()),
            (&[0.5][..], &[6][..], &[2, 2, 1, 1][..])
        );
        // The next goes where the share is 1/3: the fast ones.
        let shared = slots(&[1.0, 1.0, 0.5, 0.5], 7);
        assert_eq!((&shared.shares[..], shared.counts()), (&[1.0 / 3.0, 0.5][..], &[3, 4][..]));
        // A slow core gets one thread, however slow it is.
        assert_eq!(slots(&[1.0, 0.001], 9).slots_of_core(), [8, 1]);
        // 0.6 / 3 is 0.2.
        assert_eq!(slots(&[1.0, 0.6], 8).shares.len(), 1);
    }

    #[test]
    fn there_is_a_slot_for_each_thread_and_one_on_each_core() {
        let mut random = fastrand::Rng::with_seed(1);
        for _ in 0..300 {
            let cores = random.usize(1..20);
            let capacities: Vec<f64> = (0..cores).map(|_| f64::from(random.u32(1..=8))).collect();
            let threads = random.usize(..80);
            let slots = slots(&capacities, threads);
            assert_eq!(slots.counts().iter().sum::<usize>(), threads.max(cores));
            assert!(slots.slots_of_core().iter().all(|&slots| slots > 0));
            assert!(slots.shares.is_sorted_by(|a, b| a < b));
        }
    }
}

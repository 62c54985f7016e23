//! When each stage takes, finishes and hands on each execution.
//!
//! Replicas take executions in order, each when it is free, and slots are numbered, so no queue of events is needed: every moment
//! of execution *k* follows from moments of earlier executions, by sums, minima and maxima.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use crate::period::gcd;

/// One execution at one stage; moments in nanoseconds from the start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Visit {
    /// The replica that handled it.
    pub(super) replica: usize,
    /// The replica became free.
    pub(super) free: u64,
    /// The input was there.
    pub(super) arrived: u64,
    /// The replica took the input, which freed its slot in the ring.
    pub(super) taken: u64,
    /// The work was done.
    pub(super) done: u64,
    /// The output was handed on, which made the replica free.
    pub(super) sent: u64,
    /// How many executions up to this one no replica had claimed when it had arrived; 0 where it did not wait.
    pub(super) in_ring: u64,
}

/// A pipeline between two executions: what later moments depend on.
#[derive(Debug)]
pub(super) struct Recurrence {
    stages: Vec<State>,
    visits: Vec<Visit>,
}

#[derive(Debug)]
struct State {
    /// When each replica becomes free, the first on top.
    free: BinaryHeap<Reverse<(u64, usize)>>,
    /// When the latest executions were claimed and taken, at most `slots` of them, in their order.
    taken: VecDeque<(u64, u64)>,
    /// Slots of the ring before the stage.
    slots: u64,
}

impl Recurrence {
    /// An empty pipeline of stages with these numbers of replicas, joined by rings of `depth` slots for each replica of the side
    /// that has more, and at least as many as are told beside the replicas before it.
    pub(super) fn new(stages: impl IntoIterator<Item = (u32, u64)>, depth: u64) -> Self {
        let mut before = (1, 0);
        let stage = |(replicas, ahead): (u32, u64)| {
            let (most, least) = (before.0.max(replicas), before.1);
            before = (replicas, ahead);
            let free = (0..replicas as usize).map(|replica| Reverse((0, replica))).collect();
            State { free, taken: VecDeque::new(), slots: depth.saturating_mul(most.into()).max(least) }
        };
        Self { stages: stages.into_iter().map(stage).collect(), visits: Vec::new() }
    }

    /// Slots of the ring before `stage`.
    pub(super) fn slots(&self, stage: usize) -> u64 {
        self.stages[stage].slots
    }

    /// Passes the next execution through the pipeline; `done` tells when a replica of a stage is done with it that takes it at a
    /// moment. It is there for the first stage from `released` on, or whenever that stage is free. `None` where a moment
    /// passes 2^64 ns.
    pub(super) fn pass(
        &mut self,
        released: Option<u64>,
        mut done: impl FnMut(usize, usize, u64) -> Option<u64>,
    ) -> Option<&[Visit]> {
        self.visits.clear();
        let mut arrived = released;
        for index in 0..self.stages.len() {
            let room = self.stages.get_mut(index + 1).map_or(0, State::room);
            let stage = &mut self.stages[index];
            // The next number is for the one that has been free for longest, or will be first.
            let Reverse((free, replica)) = stage.free.pop().expect("a stage has a replica");
            let arrival = arrived.unwrap_or(free);
            let taken = arrival.max(free);
            let done = done(index, replica, taken)?;
            let sent = done.max(room);
            let mut in_ring = 0;
            if index > 0 {
                in_ring = if taken > arrival { 1 + stage.waiting(arrival) } else { 0 };
                stage.taken.push_back((free, taken));
            }
            stage.free.push(Reverse((sent, replica)));
            self.visits.push(Visit { replica, free, arrived: arrival, taken, done, sent, in_ring });
            arrived = Some(sent);
        }
        Some(&self.visits)
    }
}

impl State {
    /// When the slot that the next execution goes into was freed.
    fn room(&mut self) -> u64 {
        if self.taken.len() as u64 == self.slots { self.taken.pop_front().expect("a ring has a slot").1 } else { 0 }
    }

    /// How many earlier executions are claimed only after `moment`: their numbers are claimed in order.
    fn waiting(&self, moment: u64) -> u64 {
        (self.taken.len() - self.taken.partition_point(|&(claimed, _)| claimed <= moment)) as u64
    }
}

/// The least common multiple, or 2^64 - 1 where it is greater.
pub(super) fn lcm(a: u64, b: u64) -> u64 {
    a.saturating_mul(b / gcd(a, b).max(1))
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn least_common_multiples() {
        assert_eq!([lcm(1, 1), lcm(2, 3), lcm(4, 6), lcm(5, 1), lcm(u64::MAX, 2)], [1, 6, 12, 5, u64::MAX]);
    }

    /// What a replica is about to do.
    #[derive(Clone, Copy)]
    enum Doing {
        Receive,
        Work { until: u64 },
        Send,
    }

    struct Thread {
        stage: usize,
        execution: usize,
        doing: Doing,
        visit: Visit,
    }

    /// The runtime played event by event: threads that receive, work and send, and rings that hold what was sent. Gives the
    /// visits of each execution at each stage.
    fn played(replicas: &[u32], depth: usize, releases: Option<&[u64]>, works: &[Vec<u64>]) -> Vec<Vec<Visit>> {
        // For each stage, how many slots the ring before it has, the executions that lie in it, and the next to be taken.
        let mut slots = vec![usize::MAX];
        slots.extend(replicas.windows(2).map(|pair| depth * pair[0].max(pair[1]) as usize));
        let mut ring: Vec<BTreeSet<usize>> = vec![BTreeSet::new(); replicas.len()];
        let mut next: Vec<usize> = replicas.iter().map(|&replicas| replicas as usize).collect();
        let nothing = Visit { replica: 0, free: 0, arrived: 0, taken: 0, done: 0, sent: 0, in_ring: 0 };
        let mut threads = Vec::new();
        for (stage, &replicas) in replicas.iter().enumerate() {
            for replica in 0..replicas as usize {
                // Each claims the next number when it is free.
                threads.push(Thread { stage, execution: replica, doing: Doing::Receive, visit: nothing });
            }
        }
        // The executions that were taken from the ring before each stage.
        let mut gone: Vec<BTreeSet<usize>> = vec![BTreeSet::new(); replicas.len()];
        let mut sent: BTreeMap<(usize, usize), u64> = BTreeMap::new();
        let mut in_ring: BTreeMap<(usize, usize), u64> = BTreeMap::new();
        let mut visits: Vec<Vec<Visit>> = vec![vec![nothing; replicas.len()]; works.len()];
        let mut now = 0;
        loop {
            let mut moved = true;
            while moved {
                moved = false;
                for thread in threads.iter_mut().filter(|thread| thread.execution < works.len()) {
                    let (stage, execution) = (thread.stage, thread.execution);
                    match thread.doing {
                        Doing::Receive => {
                            let arrived = if stage > 0 {
                                if !ring[stage].remove(&execution) {
                                    continue;
                                }
                                gone[stage].insert(execution);
                                sent[&(execution, stage - 1)]
                            } else {
                                releases.map_or(now, |releases| releases[execution])
                            };
                            if arrived > now {
                                continue;
                            }
                            thread.visit = Visit { arrived, taken: now, ..thread.visit };
                            thread.doing = Doing::Work { until: now + works[execution][stage] };
                        }
                        Doing::Work { until } => {
                            if until > now {
                                continue;
                            }
                            thread.visit.done = now;
                            thread.doing = Doing::Send;
                        }
                        Doing::Send => {
                            if let Some(ring) = ring.get_mut(stage + 1) {
                                let before = execution.checked_sub(slots[stage + 1]);
                                if before.is_some_and(|before| !gone[stage + 1].contains(&before)) {
                                    continue;
                                }
                                ring.insert(execution);
                            }
                            sent.insert((execution, stage), now);
                            visits[execution][stage] = Visit { sent: now, ..thread.visit };
                            thread.visit.free = now;
                            thread.execution = next[stage];
                            next[stage] += 1;
                            thread.doing = Doing::Receive;
                        }
                    }
                    moved = true;
                }
            }
            // What was sent just now and is still in its ring has to wait there.
            for (stage, ring) in ring.iter().enumerate() {
                for &execution in ring.iter().filter(|&&execution| sent[&(execution, stage - 1)] == now) {
                    in_ring.insert((execution, stage), (execution + 1 - next[stage]) as u64);
                }
            }
            let next_event = |thread: &Thread| match thread.doing {
                Doing::Work { until } => Some(until),
                Doing::Receive if thread.stage == 0 => releases?.get(thread.execution).copied(),
                _ => None,
            };
            match threads.iter().filter_map(next_event).filter(|&event| event > now).min() {
                Some(event) => now = event,
                None => break,
            }
        }
        assert_eq!(sent.len(), works.len() * replicas.len(), "every execution passes every stage");
        for ((execution, stage), waiting) in in_ring {
            visits[execution][stage].in_ring = waiting;
        }
        visits
    }

    fn computed(replicas: &[u32], depth: u64, releases: Option<&[u64]>, works: &[Vec<u64>]) -> Vec<Vec<Visit>> {
        let mut recurrence = Recurrence::new(replicas.iter().map(|&replicas| (replicas, 0)), depth);
        let release = |execution: usize| releases.map(|releases| releases[execution]);
        let pass = |(execution, works): (usize, &Vec<u64>)| {
            let visits = recurrence.pass(release(execution), |stage, _, taken| Some(taken + works[stage])).unwrap();
            // Of replicas that are free at the same moment any may go first.
            visits.iter().map(|visit| Visit { replica: 0, ..*visit }).collect()
        };
        works.iter().enumerate().map(pass).collect()
    }

    /// Replicas and, for up to 60 executions, the work at each stage and the gap between releases.
    fn pipelines() -> impl Strategy<Value = (Vec<u32>, Vec<Vec<u64>>, Vec<u64>)> {
        prop::collection::vec(1u32..=6, 1..=5).prop_flat_map(|replicas| {
            let works = prop::collection::vec(prop_oneof![Just(0), 0u64..30, 20u64..100], replicas.len());
            let executions = prop::collection::vec((works, 0u64..60), 1..=60);
            (Just(replicas), executions).prop_map(|(replicas, executions)| {
                let (works, gaps) = executions.into_iter().unzip();
                (replicas, works, gaps)
            })
        })
    }

    proptest! {
        #[test]
        fn moments_are_those_of_threads_and_rings_played_event_by_event(
            (replicas, works, gaps) in pipelines(),
            depth in 1usize..=5,
            paced in any::<bool>(),
        ) {
            let releases: Vec<u64> =
                gaps.iter().scan(0, |release, gap| { *release += gap; Some(*release) }).collect();
            let releases = paced.then_some(&releases[..]);
            let played = played(&replicas, depth, releases, &works);
            prop_assert_eq!(computed(&replicas, depth as u64, releases, &works), played);
        }

        // By whole multiples: then whoever frees a slot of the deep ring also freed, earlier, the shallow ring's. Of other depths an
        // execution may wait for one that is taken late, as its numbered slot is that one's.
        #[test]
        fn rings_deeper_by_a_multiple_delay_nothing((replicas, works, _) in pipelines(), depth in 1u64..=5, times in 2u64..=200) {
            let shallow = computed(&replicas, depth, None, &works);
            let deep = computed(&replicas, depth * times, None, &works);
            for (shallow, deep) in shallow.iter().flatten().zip(deep.iter().flatten()) {
                prop_assert!(deep.taken <= shallow.taken && deep.sent <= shallow.sent);
            }
        }

        #[test]
        fn a_ring_never_holds_more_than_its_slots((replicas, works, _) in pipelines(), depth in 1u64..=3) {
            let slots = depth * u64::from(*replicas.iter().max().unwrap());
            for visit in computed(&replicas, depth, None, &works).iter().flatten() {
                prop_assert!(visit.in_ring <= slots);
            }
        }
    }
}

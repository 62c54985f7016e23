//! When each stage takes, finishes and hands on each execution.
//!
//! Who handles an execution and which ring it goes through depends on its number alone, so no queue of events is needed:
//! every moment of execution *k* follows from moments of earlier executions, by sums and maxima.

use std::collections::VecDeque;

use crate::period::Period;

/// One execution at one stage; moments in nanoseconds from the start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Visit {
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
    /// How many executions waited in the input's ring when this one had arrived, itself included; 0 where it did not wait.
    pub(super) in_ring: u64,
}

/// A pipeline between two executions: what later moments depend on.
#[derive(Debug)]
pub(super) struct Recurrence {
    stages: Vec<State>,
    visits: Vec<Visit>,
    passed: u64,
}

#[derive(Debug)]
struct State {
    /// When each replica becomes free.
    free: Vec<u64>,
    /// When the latest executions were taken, at most `slots` of them, the oldest first.
    taken: VecDeque<u64>,
    /// Rings before the stage.
    rings: u64,
    /// Slots of all these rings together.
    slots: u64,
}

impl Recurrence {
    /// An empty pipeline of stages with these numbers of replicas, joined by rings of `depth` slots.
    pub(super) fn new(replicas: impl IntoIterator<Item = u32>, depth: u64) -> Self {
        let mut before = 1;
        let stage = |replicas: u32| {
            let rings = lcm(u64::from(before), u64::from(replicas));
            before = replicas;
            let free = vec![0; replicas as usize];
            State { free, taken: VecDeque::new(), rings, slots: rings.saturating_mul(depth) }
        };
        Self { stages: replicas.into_iter().map(stage).collect(), visits: Vec::new(), passed: 0 }
    }

    /// Rings before `stage`.
    pub(super) fn rings(&self, stage: usize) -> u64 {
        self.stages[stage].rings
    }

    /// Passes the next execution, with its work at each stage, through the pipeline; it is there for the first stage from
    /// `released` on, or whenever that stage is free. `None` where a moment passes 2^64 ns.
    pub(super) fn pass(&mut self, released: Option<u64>, works: &[u64]) -> Option<&[Visit]> {
        self.visits.clear();
        let mut arrived = released;
        for (index, &work) in works.iter().enumerate() {
            let room = self.stages.get_mut(index + 1).map_or(0, State::room);
            let stage = &mut self.stages[index];
            let replica = (self.passed % stage.free.len() as u64) as usize;
            let free = stage.free[replica];
            let arrival = arrived.unwrap_or(free);
            let taken = arrival.max(free);
            let done = taken.checked_add(work)?;
            let sent = done.max(room);
            let mut in_ring = 0;
            if index > 0 {
                in_ring = if taken > arrival { 1 + stage.waiting(arrival) } else { 0 };
                stage.taken.push_back(taken);
            }
            stage.free[replica] = sent;
            self.visits.push(Visit { free, arrived: arrival, taken, done, sent, in_ring });
            arrived = Some(sent);
        }
        self.passed += 1;
        Some(&self.visits)
    }
}

impl State {
    /// When the slot that the next execution goes into was freed.
    fn room(&mut self) -> u64 {
        if self.taken.len() as u64 == self.slots { self.taken.pop_front().expect("a ring has a slot") } else { 0 }
    }

    /// How many earlier executions of the next one's ring are still in it after `moment`.
    fn waiting(&self, moment: u64) -> u64 {
        // One replica takes all of a ring, in order, so those that wait are the latest.
        let (mut waiting, mut beyond) = (0, self.taken.len() as u64 / self.rings + 1);
        while beyond - waiting > 1 {
            let middle = waiting.midpoint(beyond);
            let position = self.taken.len() - (middle * self.rings) as usize;
            if self.taken[position] > moment { waiting = middle } else { beyond = middle }
        }
        waiting
    }
}

/// The least common multiple, or 2^64 - 1 where it is greater.
pub(super) fn lcm(a: u64, b: u64) -> u64 {
    // What is left of `b` in lowest terms is what `a` lacks.
    a.saturating_mul(Period::new(a, b).map_or(1, Period::den))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

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
        let ring_count = |before: u32, after: u32| {
            (1..).find(|rings| rings % before as usize == 0 && rings % after as usize == 0).unwrap()
        };
        // Before the first stage there are no rings.
        let mut rings: Vec<Vec<VecDeque<usize>>> = vec![Vec::new()];
        rings.extend(replicas.windows(2).map(|pair| vec![VecDeque::new(); ring_count(pair[0], pair[1])]));
        let nothing = Visit { free: 0, arrived: 0, taken: 0, done: 0, sent: 0, in_ring: 0 };
        let mut threads = Vec::new();
        for (stage, &replicas) in replicas.iter().enumerate() {
            for replica in 0..replicas as usize {
                threads.push(Thread { stage, execution: replica, doing: Doing::Receive, visit: nothing });
            }
        }
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
                                let ring = execution % rings[stage].len();
                                if rings[stage][ring].front() != Some(&execution) {
                                    continue;
                                }
                                rings[stage][ring].pop_front();
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
                            if let Some(rings) = rings.get_mut(stage + 1) {
                                let ring = execution % rings.len();
                                if rings[ring].len() == depth {
                                    continue;
                                }
                                rings[ring].push_back(execution);
                            }
                            sent.insert((execution, stage), now);
                            visits[execution][stage] = Visit { sent: now, ..thread.visit };
                            thread.visit.free = now;
                            thread.execution += replicas[stage] as usize;
                            thread.doing = Doing::Receive;
                        }
                    }
                    moved = true;
                }
            }
            // What was sent just now and is still in its ring has to wait there.
            for (stage, rings) in rings.iter().enumerate() {
                for (position, &execution) in rings.iter().flat_map(|ring| ring.iter().enumerate()) {
                    if sent[&(execution, stage - 1)] == now {
                        in_ring.insert((execution, stage), position as u64 + 1);
                    }
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
        let mut recurrence = Recurrence::new(replicas.iter().copied(), depth);
        let release = |execution: usize| releases.map(|releases| releases[execution]);
        let pass =
            |(execution, works): (usize, &Vec<u64>)| recurrence.pass(release(execution), works).unwrap().to_vec();
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
        #![proptest_config(ProptestConfig::with_cases(1500))]

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

        #[test]
        fn deeper_rings_delay_nothing((replicas, works, _) in pipelines(), depth in 1u64..=5, more in 1u64..=1000) {
            let shallow = computed(&replicas, depth, None, &works);
            let deep = computed(&replicas, depth + more, None, &works);
            for (shallow, deep) in shallow.iter().flatten().zip(deep.iter().flatten()) {
                prop_assert!(deep.taken <= shallow.taken && deep.sent <= shallow.sent);
            }
        }

        #[test]
        fn a_ring_never_holds_more_than_its_slots((replicas, works, _) in pipelines(), depth in 1u64..=3) {
            for visit in computed(&replicas, depth, None, &works).iter().flatten() {
                prop_assert!(visit.in_ring <= depth);
            }
        }
    }
}

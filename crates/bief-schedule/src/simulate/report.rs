//! What a simulation found.

use std::collections::BTreeMap;

use serde::Serialize;

use super::recurrence::Visit;
use crate::period::Period;

/// The result of a simulated pipeline once it is filled.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PipelineReport {
    /// Executions at the start that are left out of everything below.
    pub warm_up: u64,
    /// Executions that everything below is about: those after the warm-up.
    pub executions: u64,
    /// The time in which they were completed, in nanoseconds: from the moment at which all executions of the warm-up are
    /// completed to that at which all are.
    pub span_ns: u64,
    /// The mean time from one completed execution to the next, in nanoseconds: [`period`](Self::period), rounded.
    pub period_ns: f64,
    /// Frames per second at this period; infinite (in JSON, `null`) where no time passes.
    pub frames_per_second: f64,
    /// Bits of use per second at this period, in Mb/s; `None` where the chain carries no bits.
    pub mbps: Option<f64>,
    /// How long an execution took, in nanoseconds: from its release by a paced source, or else from the moment at which the
    /// first stage began to work on it, until the last stage was done with it.
    pub latency_ns: Percentiles,
    /// The stages, in chain order.
    pub stages: Vec<StageReport>,
}

impl PipelineReport {
    /// The mean time from one completed execution to the next, exactly: [`span_ns`](Self::span_ns) /
    /// [`executions`](Self::executions).
    pub fn period(&self) -> Period {
        Period::new(self.span_ns, self.executions).expect("a simulation measures at least one execution")
    }
}

/// Percentiles of values; each is one of the values.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Percentiles {
    /// The mean.
    pub mean: f64,
    /// 50 %: the median.
    pub p50: u64,
    /// 90 %.
    pub p90: u64,
    /// 99 %.
    pub p99: u64,
    /// 99.9 %.
    pub p999: u64,
    /// The greatest value.
    pub max: u64,
}

impl Percentiles {
    /// The percentiles of at least one value.
    pub(super) fn of(mut values: Vec<u64>) -> Self {
        values.sort_unstable();
        let count = values.len();
        let per_mille = |share: usize| values[(count * share).div_ceil(1000) - 1];
        let sum: u128 = values.iter().copied().map(u128::from).sum();
        Self {
            mean: sum as f64 / count as f64,
            p50: per_mille(500),
            p90: per_mille(900),
            p99: per_mille(990),
            p999: per_mille(999),
            max: per_mille(1000),
        }
    }
}

/// The result of one stage, over its replicas. The three shares add up to 1, or are all 0 if no time passes.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StageReport {
    /// How many tasks the stage takes.
    pub tasks: usize,
    /// Its replicas; each lane of a device is one.
    pub replicas: u32,
    /// How many of them run on each kind of core.
    pub cores: BTreeMap<String, u32>,
    /// How many of the executions the cores of each kind worked on.
    pub executions: BTreeMap<String, u64>,
    /// The mean work of one execution, as drawn, hand-over included, in nanoseconds; in a lane of a device, with the time for which
    /// it waits for the parts of the device.
    pub work_ns: f64,
    /// Share of their time that the replicas worked (the utilisation of their cores), 0 to 1.
    pub busy: f64,
    /// Share of their time that they waited for input, or for a paced source to release it; 0 to 1.
    pub waiting_for_input: f64,
    /// Share of their time that they waited for room in the output, 0 to 1.
    pub waiting_for_output: f64,
    /// The ring that the stage's input comes through; `None` for the first stage.
    pub input: Option<RingReport>,
}

/// How full the ring between two stages was.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct RingReport {
    /// How many slots it has.
    pub slots: u64,
    /// How many executions waited in it, on average over time (by Little's law, of those measured).
    pub mean: f64,
    /// The most numbers up to one that arrived that no replica had claimed: at most its slots.
    pub max: u64,
}

/// Sums over the visits to one stage.
#[derive(Debug, Clone, Default)]
pub(super) struct Tally {
    visits: u64,
    busy: u128,
    waiting_for_input: u128,
    waiting_for_output: u128,
    in_ring: u128,
    max_in_ring: u64,
    /// For each replica, how many executions it took.
    taken_by: Vec<u64>,
}

impl Tally {
    pub(super) fn add(&mut self, visit: &Visit) {
        self.visits += 1;
        self.busy += u128::from(visit.done - visit.taken);
        self.waiting_for_input += u128::from(visit.taken - visit.free);
        self.waiting_for_output += u128::from(visit.sent - visit.done);
        self.in_ring += u128::from(visit.taken - visit.arrived);
        self.max_in_ring = self.max_in_ring.max(visit.in_ring);
        if self.taken_by.len() <= visit.replica {
            self.taken_by.resize(visit.replica + 1, 0);
        }
        self.taken_by[visit.replica] += 1;
    }

    /// The report of a stage whose replicas run on these kinds of core, and which is fed by a ring of so many slots, if by any.
    pub(super) fn report<'k>(
        &self,
        tasks: usize,
        kinds: impl IntoIterator<Item = &'k str>,
        slots: Option<u64>,
    ) -> StageReport {
        let (mut cores, mut executions) = (BTreeMap::new(), BTreeMap::new());
        for (replica, kind) in kinds.into_iter().enumerate() {
            *cores.entry(kind.to_owned()).or_default() += 1;
            *executions.entry(kind.to_owned()).or_default() += self.taken_by.get(replica).copied().unwrap_or(0);
        }
        let replicas = cores.values().sum();
        let all = self.busy + self.waiting_for_input + self.waiting_for_output;
        let share = |time: u128| if all > 0 { time as f64 / all as f64 } else { 0.0 };
        let input =
            |slots: u64| RingReport { slots, mean: share(self.in_ring) * f64::from(replicas), max: self.max_in_ring };
        StageReport {
            tasks,
            replicas,
            cores,
            executions,
            work_ns: self.busy as f64 / self.visits as f64,
            busy: share(self.busy),
            waiting_for_input: share(self.waiting_for_input),
            waiting_for_output: share(self.waiting_for_output),
            input: slots.map(input),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_values_that_so_many_do_not_exceed() {
        let thousand = Percentiles::of((1..=1000).rev().collect());
        assert_eq!(thousand, Percentiles { mean: 500.5, p50: 500, p90: 900, p99: 990, p999: 999, max: 1000 });
        let three = Percentiles::of(vec![7, 5, 6]);
        assert_eq!(three, Percentiles { mean: 6.0, p50: 6, p90: 7, p99: 7, p999: 7, max: 7 });
        assert_eq!(Percentiles::of(vec![u64::MAX; 2]).max, u64::MAX);
    }
}

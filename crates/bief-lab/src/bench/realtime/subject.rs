//! What runs: a pipeline, the processing graph that stands for it, and what follows from that.

use std::time::Duration;

use bief::plan::{BatchCosts, Profiling, TaskCosts};
use bief::realtime::{LatencyGoal, StageTiming};
use bief::schedule::realtime::{Analysis, Cost, CostSamples, Edge, Graph, Node};
use bief::schedule::{self, Period};
use bief::{Chain, Machine, Pipeline};
use bief_cli::failure::Failure;

use super::work::{self, three_stages};
use crate::bench::receiver::{SAMPLE_RATE, chain, cut, signal};

/// A pipeline in real time.
pub(super) struct Subject {
    pub(super) name: &'static str,
    /// A sentence for a reader.
    pub(super) about: String,
    /// A node for each stage, in the batches that it works on.
    graph: Graph,
    analysis: Analysis,
    make: Box<dyn Fn(f64) -> Result<Pipeline, Failure>>,
}

/// A bound of the latency from the oldest frame of a batch, and what the machine may add.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Bound {
    pub(super) theory: Duration,
    pub(super) allowance: Duration,
}

/// What Linux lets be reserved of each core.
const CAP: f64 = 0.9;

impl Subject {
    /// The pipeline, for about so many seconds.
    pub(super) fn pipeline(&self, seconds: f64) -> Result<Pipeline, Failure> {
        (self.make)(seconds)
    }

    /// What follows from the graph where the machine keeps each stage waiting for up to `late`.
    pub(super) fn bound(&self, late: Duration) -> Result<Bound, schedule::Error> {
        let analysis = Analysis { platform_ns: late.as_nanos() as f64, ..self.analysis };
        let bounds = analysis.bounds(&self.graph)?;
        let theory = duration(bounds.latency_ns());
        Ok(Bound { theory, allowance: duration(bounds.latency_on_platform_ns()).saturating_sub(theory) })
    }

    /// What each stage needs, from source to sink.
    pub(super) fn timings(&self) -> Result<Vec<StageTiming>, schedule::Error> {
        let bounds = self.analysis.bounds(&self.graph)?;
        Ok(bounds.tasks.iter().map(|task| StageTiming::new(duration(task.period_ns), duration(task.cost_ns))).collect())
    }
}

/// Rounded up to whole nanoseconds.
fn duration(ns: f64) -> Duration {
    Duration::from_nanos(ns.ceil() as u64)
}

fn ms(time: Duration) -> String {
    format!("{} ms", time.as_micros() as f64 / 1e3)
}

/// Three stages that work for as long as they say. The source fires for each frame, the others for each batch.
pub(super) fn three_stage() -> Result<Subject, Failure> {
    /// What waking up a stage costs, beyond its work.
    const HAND_OVER_NS: f64 = 20e3;
    let cost = |time: Duration| Cost { init_ns: time.as_nanos() as f64, per_sample_ns: 0.0 };
    let period = Period::new(work::PERIOD.as_nanos() as u64, 1).expect("a constant above 0");
    let nodes = [
        Node::source("source", period, cost(work::SOURCE)),
        Node::new("middle", cost(work::MIDDLE)),
        Node::new("last", cost(work::LAST)),
    ];
    let edges = [Edge::new("source", "middle").rates(1, work::BATCH.into()), Edge::new("middle", "last")];
    let graph = Graph::new(nodes, edges).map_err(Failure::from_error)?.with_cores(Machine::here().usable() as u32);
    let make = |seconds: f64| {
        let batches = seconds / (work::PERIOD * work::BATCH).as_secs_f64();
        let program = three_stages(batches.ceil() as u32).map_err(Failure::from_error)?;
        program.pipeline_as_marked().map_err(Failure::from_error)
    };
    Ok(Subject {
        name: "three-stage",
        about: format!(
            "three-stage: a frame each {} with {} of work, in batches of {}, on which two stages work for {} and {}",
            ms(work::PERIOD),
            ms(work::SOURCE),
            work::BATCH,
            ms(work::MIDDLE),
            ms(work::LAST)
        ),
        graph,
        analysis: Analysis { cap: CAP, handover_ns: HAND_OVER_NS, ..Analysis::default() },
        make: Box::new(make),
    })
}

/// Samples of a frame of the receiver.
const BLOCK: usize = 744;
/// What its stages consist of: reading at the radio's pace; shifting and decimating; demodulating and filtering audio.
const STAGES: [(&str, usize); 3] = [("radio", 2), ("channel", 3), ("audio", 4)];
/// What the receiver is planned for.
const LATENCY: Duration = Duration::from_millis(20);

/// The narrowband FM receiver in three stages and in batches as large as its latency allows, by what its tasks cost here.
pub(super) fn nbfm() -> Result<Subject, Failure> {
    let planned = plan().map_err(Failure::from_error)?;
    let batch = planned.plan.batch();
    let signal_for = move |seconds: f64| {
        let batches = seconds * SAMPLE_RATE / (batch * BLOCK) as f64;
        signal(batches.ceil() as usize * batch * BLOCK)
    };
    let make = move |seconds: f64| {
        let chain = chain(&signal_for(seconds), BLOCK, Some(SAMPLE_RATE)).map_err(Failure::from_error)?;
        let program = chain.batch(batch).build().map_err(Failure::from_error)?;
        cut(program, &STAGES.map(|(_, tasks)| tasks))
    };
    Ok(Subject {
        name: "nbfm",
        about: format!(
            "nbfm: the narrowband FM receiver at 576 kS/s in three stages, frames of {BLOCK} samples in batches of {batch}, as planned \
             for a latency of {} by what its tasks cost here",
            ms(LATENCY)
        ),
        graph: planned.plan.plan.graph,
        analysis: Analysis { cap: CAP, handover_ns: planned.hand_over_ns, ..Analysis::default() },
        make: Box::new(make),
    })
}

struct Planned {
    plan: bief::realtime::LatencyPlan,
    hand_over_ns: f64,
}

/// Measures the tasks, and finds the batch.
fn plan() -> bief::Result<Planned> {
    const BATCHES: [usize; 4] = [1, 2, 4, 8];
    /// Enough for the longest hundredth of each size.
    const EXECUTIONS: usize = 120;
    /// A pace that never waits: what a wait costs is added below.
    const AT_ONCE: f64 = 1e15;
    let machine = Machine::here();
    let frames = 2 * EXECUTIONS * BATCHES.iter().sum::<usize>() * machine.kinds().len();
    let program = chain(&signal(frames * BLOCK), BLOCK, Some(AT_ONCE)).and_then(Chain::build)?;
    let profiling = Profiling {
        executions: const { std::num::NonZeroUsize::new(EXECUTIONS).unwrap() },
        limit: Duration::MAX,
        ..Profiling::default()
    };
    let mut costs = program.costs_on(&machine, &BATCHES, profiling)?;
    // Threads with reservations run on any core: the slowest kind counts.
    costs.sort_by(|a, b| total_ns(a).total_cmp(&total_ns(b)));
    let costs = costs.pop().expect("a machine has a kind of cores");
    let stages = by_stage(costs);
    let goal = LatencyGoal {
        cores: machine.usable() as u32,
        cap: CAP,
        merges: false,
        ..LatencyGoal::new(Duration::from_secs_f64(BLOCK as f64 / SAMPLE_RATE), LATENCY)
    };
    Ok(Planned { plan: stages.latency_plan(&goal)?, hand_over_ns: stages.hand_over_ns })
}

fn total_ns(costs: &BatchCosts) -> f64 {
    costs.tasks.iter().flat_map(|task| &task.sizes).flat_map(|size| &size.ns).sum()
}

/// The costs of the stages: what their tasks took for the same batch, together. The source's sleep until each frame costs about
/// what a hand-over does.
fn by_stage(costs: BatchCosts) -> BatchCosts {
    let mut tasks = costs.tasks.iter();
    let mut first = true;
    let stages = STAGES.map(|(name, count)| {
        let sleep_ns = if std::mem::take(&mut first) { costs.hand_over_ns } else { 0.0 };
        let members: Vec<&TaskCosts> = tasks.by_ref().take(count).collect();
        let size = |index: usize| {
            let samples = members[0].sizes[index].samples;
            let times = members.iter().map(|task| task.sizes[index].ns.len()).min().unwrap_or(0);
            let ns = (0..times).map(|time| {
                let work: f64 = members.iter().map(|task| task.sizes[index].ns[time]).sum();
                work + sleep_ns * samples as f64
            });
            CostSamples { samples, ns: ns.collect() }
        };
        TaskCosts { name: name.to_owned(), replicable: false, sizes: (0..members[0].sizes.len()).map(size).collect() }
    });
    BatchCosts { tasks: stages.into(), ..costs }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_stages_are_bounded_by_12_ms_and_3_times_what_the_machine_adds() {
        let subject = three_stage().unwrap();
        let bound = subject.bound(Duration::from_micros(500)).unwrap();
        assert_eq!(bound.theory, Duration::from_millis(12));
        assert_eq!(bound.allowance, Duration::from_micros(1500));
        let timings = subject.timings().unwrap();
        let us = |time: Duration| time.as_micros();
        let timings: Vec<_> = timings.iter().map(|timing| (us(timing.period), us(timing.execution))).collect();
        assert_eq!(timings, [(1000, 220), (4000, 1020), (4000, 520)]);
    }

    #[test]
    fn tasks_of_a_stage_cost_what_they_cost_together() {
        let task = |ns: f64| {
            let size = |samples: u64| CostSamples { samples, ns: vec![ns * samples as f64, ns] };
            TaskCosts { name: String::new(), replicable: true, sizes: vec![size(1), size(2)] }
        };
        let costs = BatchCosts {
            machine: String::new(),
            kind: String::new(),
            tasks: (1..=9).map(|ns| task(f64::from(ns))).collect(),
            hand_over_ns: 100.0,
        };
        let stages = by_stage(costs);
        let ns = |stage: usize, size: usize| stages.tasks[stage].sizes[size].ns.clone();
        assert_eq!([ns(0, 0), ns(0, 1)], [[103.0, 103.0], [206.0, 203.0]]);
        assert_eq!([ns(1, 1), ns(2, 1)], [[24.0, 12.0], [60.0, 30.0]]);
    }
}

//! One random graph: in batches, merged, and within limits of its latency.

use bief_schedule::Error;
use bief_schedule::realtime::{
    Analysis, Graph, MergeRule, Merging, Optimiser, Plan, RandomGraphs, rate_exploiting, uniform,
};
use fastrand::Rng;

/// The sizes of batches, in samples or firings of the source.
pub(super) const SIZES: [u64; 10] = [1, 2, 4, 6, 8, 16, 32, 64, 128, 256];

/// The ways of batching.
pub(super) const BATCHINGS: [&str; 2] = ["uniform", "rate-exploiting"];

/// The batch whose tasks are merged.
pub(super) const MERGED_AT: u64 = 8;

/// The ways of merging; the first one merges nothing.
pub(super) const MERGINGS: [(&str, Option<Option<Merging>>); 4] = [
    ("none", None),
    ("serial", Some(Some(Merging::Serial))),
    ("parallel", Some(Some(Merging::Parallel))),
    ("both", Some(None)),
];

/// The limits of the latency, in microseconds.
pub(super) const LIMITS_US: [f64; 5] = [100.0, 200.0, 500.0, 1000.0, 2000.0];

/// The most source firings in a job of a plan: twice as many microseconds pass until any job of so many is done.
const MOST_FIRINGS: u64 = 1024;

/// A graph in batches of one size.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Batched {
    /// How many cores it needs, whether it fits or not.
    pub(super) utilisation: f64,
    /// `None` where it does not fit on its cores.
    pub(super) latency_us: Option<f64>,
}

/// A graph whose tasks were merged as long as that saves something.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Merged {
    pub(super) utilisation: f64,
    pub(super) latency_us: f64,
    pub(super) tasks: usize,
}

/// What became of one graph.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Outcome {
    /// For each of [`BATCHINGS`], each of [`SIZES`].
    pub(super) swept: [Vec<Batched>; 2],
    /// For each of [`MERGINGS`]; `None` where it does not fit.
    pub(super) merged: Option<Vec<Merged>>,
    /// The least utilisation within each of [`LIMITS_US`], without and with merging.
    pub(super) within: [Vec<Option<f64>>; 2],
}

/// The graph of that number: it depends on nothing that was drawn before.
fn graph(kind: usize, seed: u64, number: u64) -> Result<Graph, Error> {
    let seed = [kind as u64, number].iter().fold(seed, |seed, part| Rng::with_seed(seed ^ part).u64(..));
    [RandomGraphs::light(), RandomGraphs::heavy()][kind].sample(&mut Rng::with_seed(seed))
}

/// What becomes of the graph of that number.
pub(super) fn evaluate(kind: usize, seed: u64, number: u64) -> Result<Outcome, Error> {
    let graph = graph(kind, seed, number)?;
    let mut swept = [Vec::new(), Vec::new()];
    for size in SIZES {
        swept[0].push(batched(&graph.batched(&uniform(&graph, size)?)?));
        swept[1].push(batched(&graph.batched(&rate_exploiting(&graph, size)?)?));
    }
    let in_step = graph.batched(&rate_exploiting(&graph, MERGED_AT)?)?;
    let merged: Result<Vec<Merged>, Error> = MERGINGS.iter().map(|(_, merging)| merged(&in_step, *merging)).collect();
    let within = [None, Some(MergeRule::default())].map(|merging| {
        let optimiser = Optimiser { merging, max_firings: MOST_FIRINGS, ..Optimiser::default() };
        let front = optimiser.front(&graph).unwrap_or_default();
        let cheapest = |limit: f64| front.iter().rfind(|plan| latency_us(plan) <= limit);
        LIMITS_US.map(|limit| cheapest(limit).map(|plan| plan.bounds.utilisation)).to_vec()
    });
    Ok(Outcome { swept, merged: merged.ok(), within })
}

/// What a graph needs, and its latency where it fits.
pub(super) fn batched(graph: &Graph) -> Batched {
    let needs = (0..graph.nodes().len()).map(|node| graph.cost_ns(node) / graph.period(node).ns());
    let bounds = Analysis::default().bounds(graph);
    Batched { utilisation: needs.sum(), latency_us: bounds.ok().map(|bounds| bounds.latency_ns() / 1e3) }
}

/// The graph merged until nothing is left to merge.
fn merged(graph: &Graph, merging: Option<Option<Merging>>) -> Result<Merged, Error> {
    let rule = merging.map(|only| MergeRule { only, ..MergeRule::default() });
    let optimiser = Optimiser { merging: rule, max_firings: 1, ..Optimiser::default() };
    let front = optimiser.front(graph)?;
    // Each merge saves something: the last of the front is the most merged.
    let plan = front.last().expect("a front has at least one plan");
    Ok(Merged { utilisation: plan.bounds.utilisation, latency_us: latency_us(plan), tasks: plan.groups.len() })
}

fn latency_us(plan: &Plan) -> f64 {
    plan.bounds.latency_ns() / 1e3
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outcome_depends_on_number_kind_and_seed_only() {
        let all =
            [(0, 1, 3), (0, 1, 4), (0, 2, 3), (1, 1, 3)].map(|(kind, seed, number)| graph(kind, seed, number).unwrap());
        assert!(all.iter().enumerate().all(|(index, graph)| !all[..index].contains(graph)));
        assert_eq!(evaluate(0, 1, 3).unwrap(), evaluate(0, 1, 3).unwrap());
    }

    #[test]
    fn merging_more_kinds_needs_less_and_limits_allow_more() {
        for number in 0..5 {
            let outcome = evaluate(0, 1, number).unwrap();
            let merged = outcome.merged.unwrap();
            let needs = |index: usize| merged[index].utilisation;
            assert!(needs(1) <= needs(0) && needs(2) <= needs(0));
            assert_eq!(merged[0].latency_us, outcome.swept[1][4].latency_us.unwrap());
            for within in &outcome.within {
                let found: Vec<f64> = within.iter().flatten().copied().collect();
                assert!(found.is_sorted_by(|a, b| a >= b) && !found.is_empty());
            }
        }
    }
}

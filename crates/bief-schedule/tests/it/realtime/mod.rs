//! Processing graphs: what they are, their bounds by hand and in simulation, batches, merges, and the search for the best of
//! them.

mod batching;
mod examples;
mod graphs;
mod merging;
mod simulated;

use bief_schedule::Period;
use bief_schedule::realtime::{Cost, Edge, Graph, Node};

/// A cost that does not depend on the number of samples.
fn fixed(ns: f64) -> Cost {
    Cost { init_ns: ns, per_sample_ns: 0.0 }
}

/// A source `n0` of that period, the other nodes, whose costs are given, and edges `(from, to, produce, threshold, consume)`.
fn graph(period: u64, costs: &[f64], edges: &[(usize, usize, u64, u64, u64)]) -> Graph {
    let node = |(index, &cost): (usize, &f64)| match index {
        0 => Node::source("n0", Period::from(period), fixed(cost)),
        _ => Node::new(format!("n{index}"), fixed(cost)),
    };
    let edge = |&(from, to, produce, threshold, consume): &(usize, usize, u64, u64, u64)| {
        Edge::new(format!("n{from}"), format!("n{to}")).rates(produce, consume).threshold(threshold)
    };
    Graph::new(costs.iter().enumerate().map(node), edges.iter().map(edge)).unwrap()
}

#[track_caller]
fn assert_close(found: &[f64], expected: &[f64], tolerance: f64) {
    assert_eq!(found.len(), expected.len(), "{found:?}");
    for (found, expected) in found.iter().zip(expected) {
        assert!((found - expected).abs() <= tolerance, "{found} is not {expected}");
    }
}

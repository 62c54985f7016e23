//! Worst-case latency of a processing graph on cores that its nodes share.
//!
//! A [`Graph`] gives the tokens that its nodes produce and consume per firing, the rates of its sources, and the
//! [cost](Cost) of a job by its number of samples. An [`Analysis`] bounds its latency and its buffers under global EDF.
//! Batches ([`rate_exploiting`], [`uniform`]) and merged nodes ([`MergeRule`]) make the same processing cheaper, and
//! mostly later: an [`Optimiser`] finds those of least utilisation within the allowed latency.
//! [`GlobalEdf`](crate::simulate::GlobalEdf) runs a graph job by job.
//!
//! # Source
//!
//! T. He and B. C. Ward, *Real-Time Scheduling and Batching in GNU Radio for Bounded Response Times*: the processing
//! graph method, the marginal cost model, both ways of batching, merging, the evaluation with random graphs. Rates: S.
//! Goddard, *On the Management of Latency in the Synthesis of Real-Time Signal Processing Systems from Processing
//! Graphs* (1998); C. Liu and J. H. Anderson, *Supporting Soft Real-Time DAG-Based Systems on Multiprocessors with No
//! Utilization Loss* (RTSS 2010). Tardiness: as named at [`Method`]. Completion times, latency and buffers in closed
//! form: as derived at [`Analysis`].
//!
//! # Example
//!
//! ```
//! use bief_schedule::realtime::{Analysis, Cost, Edge, Graph, Node, Optimiser};
//!
//! let cost = |init_ns, per_sample_ns| Cost { init_ns, per_sample_ns };
//! let graph = Graph::new(
//!     [
//!         Node::source_hz("source", 1e6, cost(200.0, 10.0))?,
//!         Node::new("filter", cost(400.0, 20.0)),
//!         Node::new("decimator", cost(300.0, 50.0)),
//!         Node::new("sink", cost(200.0, 10.0)),
//!     ],
//!     [
//!         Edge::new("source", "filter"),
//!         Edge::new("filter", "decimator").rates(1, 4),
//!         Edge::new("decimator", "sink"),
//!     ],
//! )?
//! .with_cores(2);
//! let bounds = Analysis::default().bounds(&graph)?;
//! assert_eq!(bounds.latency_ns(), 13_000.0);
//! assert!((bounds.utilisation - 0.8075).abs() < 1e-9);
//!
//! // In a tenth of a millisecond more, a ninth of that is enough.
//! let plan = Optimiser::default().min_utilisation(&graph, 127_000.0)?;
//! assert_eq!((plan.batches, plan.groups), (vec![64, 64, 16, 16], vec![vec![0, 1, 2, 3]]));
//! assert!(plan.bounds.utilisation < 0.091);
//! # Ok::<(), bief_schedule::Error>(())
//! ```

mod batch;
mod bounds;
mod cost;
mod graph;
mod merge;
mod optimise;
mod random;
mod rates;
mod tardiness;

pub use batch::{rate_exploiting, uniform};
pub use bounds::{Analysis, Bounds, Budget, EdgeBounds, LatencyParts, SinkBounds, TaskBounds};
pub use cost::{Cost, CostFit, CostSamples, FitMethod, FittedSize};
pub use graph::{Edge, Graph, Link, Node};
pub use merge::{MergeRule, Merging, Refusal};
pub use optimise::{Optimiser, Plan};
pub use random::RandomGraphs;
pub use rates::FiringRate;
pub use tardiness::{Basis, Method};

/// A time for a message: four digits, rounded up, so that it may be allowed as it is written.
fn readable(ns: f64) -> String {
    let (value, unit) = match ns {
        ns if ns < 1e3 => (ns, "ns"),
        ns if ns < 1e6 => (ns / 1e3, "us"),
        ns if ns < 1e9 => (ns / 1e6, "ms"),
        ns => (ns / 1e9, "s"),
    };
    let step = match value {
        value if value < 10.0 => 1e3,
        value if value < 100.0 => 1e2,
        _ => 10.0,
    };
    // A whole number of steps may come out just above it.
    format!("{} {unit}", (value * step * (1.0 - f64::EPSILON)).ceil() / step)
}

#[cfg(test)]
mod tests {
    use super::readable;

    #[test]
    fn times_are_readable_and_not_too_short() {
        for (ns, shown) in [
            (0.5, "0.5 ns"),
            (4600.2, "4.601 us"),
            (13_000.0, "13 us"),
            (1_736.111, "1.737 us"),
            (2_657_001.0, "2.658 ms"),
            (127_031.0, "127.1 us"),
            (57.21e6, "57.21 ms"),
            (3.2e12, "3200 s"),
        ] {
            assert_eq!(readable(ns), shown);
        }
    }
}

//! The narrowband FM receiver of the paper's case study, by what its blocks cost in GNU Radio.

use bief_schedule::Error;
use bief_schedule::realtime::{Graph, rate_exploiting, uniform};

use super::evaluate::{Batched, batched};

const GRAPH: &str = include_str!("../../../../bief-cli/data/graphs/nbfm.json");

/// Samples of the source in a batch, around the paper's 750.
pub(super) const SIZES: [u64; 7] = [48, 94, 188, 375, 750, 1500, 3000];

/// The receiver in batches.
pub(super) struct Receiver {
    /// For each way of batching, each of [`SIZES`].
    pub(super) swept: [Vec<Batched>; 2],
}

impl Receiver {
    pub(super) fn evaluate() -> Result<Self, Error> {
        let graph = Graph::from_json(GRAPH)?;
        let mut swept = [Vec::new(), Vec::new()];
        for size in SIZES {
            swept[0].push(batched(&graph.batched(&uniform(&graph, size)?)?));
            swept[1].push(batched(&graph.batched(&rate_exploiting(&graph, size)?)?));
        }
        Ok(Self { swept })
    }
}

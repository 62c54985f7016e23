//! Random processing graphs as the evaluation of He and Ward draws them.

use fastrand::Rng;

use super::cost::Cost;
use super::graph::{Edge, Graph, Node};
use crate::error::Error;
use crate::period::Period;

/// Random graphs of a source at 1 MHz and nodes that either pass on each sample or decimate, as in section 7.1 of He
/// and Ward, on 8 cores.
///
/// Each node is fed by one of the four nodes before it; with a probability of 0.2 also by a second one of the same
/// rate. It decimates with a probability of 0.3, by 2, 4 or 8, and by 256 at most in all. Costs are uniform, each
/// node's independent of all others. The paper does not tell these numbers; with *I*/*D* = 8 jobs of 4 samples need
/// (*I*/4 + *D*)/(*I* + *D*) = 1/3 of the time of single ones, which is its "nearly two-thirds" less.
///
/// # Example
///
/// ```
/// use bief_schedule::realtime::{Analysis, RandomGraphs};
///
/// let mut random = fastrand::Rng::with_seed(1);
/// let graph = RandomGraphs::light().sample(&mut random)?;
/// assert!((5..=10).contains(&graph.nodes().len()));
/// assert!(Analysis::default().bounds(&graph)?.latency_ns() > 0.0);
/// # Ok::<(), bief_schedule::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RandomGraphs {
    /// The least and the greatest number of nodes.
    pub nodes: (usize, usize),
    /// The least and the greatest cost of a job's start, *I*, in nanoseconds.
    pub init_ns: (f64, f64),
    /// The least and the greatest cost of a sample, *D*, in nanoseconds.
    pub per_sample_ns: (f64, f64),
}

const SOURCE_PERIOD_NS: u64 = 1_000;
const CORES: u32 = 8;
const SECOND_INPUT: f64 = 0.2;
const DECIMATES: f64 = 0.3;
const DECIMATIONS: [u64; 3] = [2, 4, 8];
const MAX_DECIMATION: u64 = 256;
/// How far back the nodes are that may feed a node.
const REACH: usize = 4;

impl RandomGraphs {
    /// 5 to 10 nodes, *I* from 100 to 400 ns, *D* from 12.5 to 50 ns.
    pub fn light() -> Self {
        Self { nodes: (5, 10), init_ns: (100.0, 400.0), per_sample_ns: (12.5, 50.0) }
    }

    /// 15 to 30 nodes, *I* from 200 to 800 ns, *D* from 25 to 100 ns.
    pub fn heavy() -> Self {
        Self { nodes: (15, 30), init_ns: (200.0, 800.0), per_sample_ns: (25.0, 100.0) }
    }

    /// A graph. The same state of `random` gives the same one on every machine.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Graph`](crate::ErrorKind::Graph) where there may be no node, or a cost is negative or not finite.
    pub fn sample(&self, random: &mut Rng) -> Result<Graph, Error> {
        let between = |random: &mut Rng, (low, high): (f64, f64)| low + (high - low) * random.f64();
        let count = self.nodes.0 + random.usize(..=self.nodes.1.saturating_sub(self.nodes.0));
        let name = |node: usize| format!("n{node}");
        let mut nodes = Vec::new();
        let mut edges = Vec::new();
        // By how much what each node hands on is decimated.
        let mut decimation: Vec<u64> = Vec::new();
        for node in 0..count {
            let cost =
                Cost { init_ns: between(random, self.init_ns), per_sample_ns: between(random, self.per_sample_ns) };
            if node == 0 {
                nodes.push(Node::source(name(node), Period::from(SOURCE_PERIOD_NS), cost));
                decimation.push(1);
                continue;
            }
            nodes.push(Node::new(name(node), cost));
            let near = node.saturating_sub(REACH)..node;
            let from = random.usize(near.clone());
            let mut factor = 1;
            if random.f64() < DECIMATES {
                let drawn = DECIMATIONS[random.usize(..DECIMATIONS.len())];
                if decimation[from] * drawn <= MAX_DECIMATION {
                    factor = drawn;
                }
            }
            edges.push(Edge::new(name(from), name(node)).rates(1, factor));
            if random.f64() < SECOND_INPUT {
                let equal: Vec<usize> =
                    near.filter(|&other| other != from && decimation[other] == decimation[from]).collect();
                if !equal.is_empty() {
                    edges.push(Edge::new(name(equal[random.usize(..equal.len())]), name(node)).rates(1, factor));
                }
            }
            decimation.push(decimation[from] * factor);
        }
        Ok(Graph::new(nodes, edges)?.with_cores(CORES))
    }
}

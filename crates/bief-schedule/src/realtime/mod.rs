//! How soon a processing graph is done with a sample, in the worst case, on cores that its nodes share.

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
pub use bounds::{Analysis, Bounds, Budget, EdgeBounds, SinkBounds, TaskBounds};
pub use cost::{Cost, CostFit, CostSamples, FitMethod, FittedSize};
pub use graph::{Edge, Graph, Link, Node};
pub use merge::{MergeRule, Merging, Refusal};
pub use optimise::{Optimiser, Plan};
pub use random::RandomGraphs;
pub use rates::FiringRate;
pub use tardiness::Method;

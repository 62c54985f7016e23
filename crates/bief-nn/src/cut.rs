//! Where a network may be cut: places where one tensor alone is alive, so that residual blocks stay whole.

use std::collections::BTreeSet;
use std::ops::Range;

use crate::cost;
use crate::graph::{Graph, Origin};
use crate::onnx::ElementType;

/// Neighbouring nodes that a task works off.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Piece {
    pub(crate) nodes: Range<usize>,
    /// The only tensor that it gets.
    pub(crate) input: usize,
    /// The only tensor that it gives.
    pub(crate) output: usize,
}

/// A place between two nodes where one tensor alone is alive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place {
    /// The node behind it.
    pub(crate) node: usize,
    pub(crate) tensor: usize,
}

/// All places where one tensor alone is alive, in one pass.
pub(crate) fn places(graph: &Graph) -> Vec<Place> {
    let last_use = |tensor: usize| match tensor == graph.output {
        true => usize::MAX,
        false => graph.tensors[tensor].users.last().copied().unwrap_or(0),
    };
    let mut alive = BTreeSet::from([graph.input]);
    let mut places = Vec::new();
    for node in (0..graph.model.nodes.len()).filter(|&node| graph.works(node)) {
        if let (1, Some(&tensor)) = (alive.len(), alive.first())
            && matches!(graph.tensors[tensor].origin, Origin::Node(_))
            && tensor != graph.output
            && graph.fact(tensor).is_some_and(|fact| fact.element == ElementType::F32 && !fact.dims.contains(&0))
        {
            places.push(Place { node, tensor });
        }
        for tensor in graph.uses[node].iter().flatten().filter(|&&tensor| last_use(tensor) == node) {
            alive.remove(tensor);
        }
        alive.extend(graph.makes(node).iter().filter(|&&tensor| last_use(tensor) > node));
    }
    places
}

/// Operators that engines work off together with the one before them.
const FUSED: [&str; 19] = [
    "Add",
    "BatchNormalization",
    "Celu",
    "Clip",
    "Elu",
    "Flatten",
    "Gelu",
    "HardSigmoid",
    "HardSwish",
    "LeakyRelu",
    "Mish",
    "Mul",
    "PRelu",
    "Relu",
    "Reshape",
    "Selu",
    "Sigmoid",
    "Softplus",
    "Tanh",
];

/// Segments of a network, at most: a plan of more tells nothing more, and each takes time to be measured.
const MOST: usize = 64;

/// The segments: cut at all places, but those that would part an operator from what it is fused with. Where they are too many, neighbours are
/// joined until each has its share of the work.
pub(crate) fn segments(graph: &Graph) -> Vec<Piece> {
    let is_fused = |place: &Place| FUSED.contains(&&*graph.model.nodes[place.node].operator);
    let pieces = at(graph, &places(graph).into_iter().filter(|place| !is_fused(place)).collect::<Vec<_>>());
    if pieces.len() <= MOST {
        return pieces;
    }
    let works: Vec<f64> = pieces.iter().map(|piece| cost::work(graph, piece.nodes.clone())).collect();
    let share = works.iter().sum::<f64>() / MOST as f64;
    let mut joined: Vec<Piece> = Vec::new();
    // What the last of them has.
    let mut work = f64::INFINITY;
    for (piece, own) in pieces.into_iter().zip(works) {
        // The last one takes what rounding leaves.
        let is_full = work >= share && joined.len() < MOST;
        match joined.last_mut().filter(|_| !is_full) {
            Some(last) => (last.nodes.end, last.output, work) = (piece.nodes.end, piece.output, work + own),
            None => {
                joined.push(piece);
                work = own;
            }
        }
    }
    joined
}

/// The pieces between these places.
pub(crate) fn at(graph: &Graph, places: &[Place]) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let (mut begin, mut input) = (0, graph.input);
    for &Place { node, tensor } in places {
        pieces.push(Piece { nodes: begin..node, input, output: tensor });
        (begin, input) = (node, tensor);
    }
    pieces.push(Piece { nodes: begin..graph.model.nodes.len(), input, output: graph.output });
    pieces
}

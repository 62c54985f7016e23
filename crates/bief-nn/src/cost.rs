//! How much work nodes are, before anything is measured.

use std::ops::Range;

use crate::graph::Graph;

/// Multiplications and additions of a node that multiplies by weights, for one frame.
pub(crate) fn multiply_adds(graph: &Graph, node: usize) -> u64 {
    let dims = |index: usize| {
        let tensor = graph.uses[node].get(index).copied().flatten()?;
        graph.fact(tensor).map(|fact| &fact.dims[..])
    };
    let made = graph.makes(node).first().and_then(|&tensor| graph.fact(tensor)).map_or(0, |fact| fact.len());
    let each = match &*graph.model.nodes[node].operator {
        // A weight for each channel that it reads and each place of its window.
        "Conv" => dims(1).map(|dims| dims.iter().skip(1).product::<usize>()),
        "Gemm" if graph.model.nodes[node].int("transA", 0) != 0 => dims(0).and_then(|dims| dims.first().copied()),
        "Gemm" | "MatMul" => dims(0).and_then(|dims| dims.last().copied()),
        _ => None,
    };
    (made as u64).saturating_mul(each.unwrap_or(0) as u64)
}

/// Work of some nodes, in multiplications and additions or as much: each element that is made is one, too.
pub(crate) fn work(graph: &Graph, nodes: Range<usize>) -> f64 {
    let made = |node: usize| {
        graph.makes(node).iter().filter_map(|&tensor| graph.fact(tensor)).map(|fact| fact.len() as f64).sum::<f64>()
    };
    nodes.map(|node| multiply_adds(graph, node) as f64 + made(node)).sum()
}

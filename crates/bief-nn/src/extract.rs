//! A part of a network as a model of its own: the nodes and weights that it needs, byte for byte as they are in the file.

use std::collections::BTreeSet;

use crate::cut::Piece;
use crate::graph::{Graph, Origin};
use crate::onnx::{Message, declaration};

impl Graph {
    /// The nodes of a piece, and those that make constants for them, in order.
    pub(crate) fn nodes_of(&self, piece: &Piece) -> Vec<usize> {
        let mut wanted: BTreeSet<usize> = BTreeSet::new();
        let mut found: Vec<usize> = piece.nodes.clone().filter(|&node| !self.is_constant(node)).collect();
        while let Some(node) = found.pop() {
            if wanted.insert(node) {
                let constants = self.uses[node].iter().flatten().map(|&tensor| &self.tensors[tensor]);
                found.extend(constants.filter(|tensor| tensor.is_constant).filter_map(|tensor| match tensor.origin {
                    Origin::Node(maker) => Some(maker),
                    _ => None,
                }));
            }
        }
        wanted.into_iter().collect()
    }

    /// Numbers of the weights that some nodes use.
    pub(crate) fn weights_of(&self, nodes: &[usize]) -> BTreeSet<usize> {
        let used = nodes.iter().flat_map(|&node| self.uses[node].iter().flatten());
        used.filter_map(|&tensor| match self.tensors[tensor].origin {
            Origin::Weight(weight) => Some(weight),
            _ => None,
        })
        .collect()
    }

    /// An ONNX model of a piece: its input and output are the tensors that cross, with their shapes.
    pub(crate) fn extract(&self, piece: &Piece) -> Vec<u8> {
        let nodes = self.nodes_of(piece);
        let mut graph = Message::default();
        for &node in &nodes {
            graph = graph.bytes(1, &self.model.nodes[node].raw);
        }
        graph = graph.bytes(2, b"part");
        for weight in self.weights_of(&nodes) {
            graph = graph.bytes(5, &self.model.weights[weight].raw);
        }
        for (field, tensor) in [(11, piece.input), (12, piece.output)] {
            let dims = self.fact(tensor).map_or(&[][..], |fact| &fact.dims);
            graph = graph.message(field, declaration(&self.tensors[tensor].name, dims, self.batch.as_deref()));
        }
        let model = Message::default().number(1, self.model.ir_version).bytes(2, b"bief");
        let kept = self.model.kept.iter().fold(model, |model, (field, raw)| model.bytes(*field, raw));
        kept.message(7, graph).finish()
    }
}

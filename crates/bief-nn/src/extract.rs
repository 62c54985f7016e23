//! A part of a network as a model of its own: the nodes and weights that it needs, byte for byte as they are in the file.

use std::collections::BTreeSet;

use crate::cut::Piece;
use crate::graph::{Graph, Origin, Tensor};
use crate::onnx::{Message, declaration};

impl Graph {
    /// The nodes of a piece, and those that make constants for them, in order.
    pub(crate) fn nodes_of(&self, piece: &Piece) -> Vec<usize> {
        let mut wanted: BTreeSet<usize> = BTreeSet::new();
        let mut found: Vec<usize> = piece.nodes.clone().filter(|&node| self.works(node)).collect();
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
        let made = nodes.iter().flat_map(|&node| self.makes(node)).copied();
        let told = made.filter(|&tensor| self.tensors[tensor].is_told && tensor != piece.output);
        for (field, tensor) in
            [(11, piece.input), (12, piece.output)].into_iter().chain(told.map(|tensor| (13, tensor)))
        {
            let Tensor { name, fact, is_constant, .. } = &self.tensors[tensor];
            let batch = self.batch.as_deref().filter(|_| !is_constant);
            graph = fact.iter().fold(graph, |graph, fact| graph.message(field, declaration(name, fact, batch)));
        }
        let model = Message::default().number(1, self.model.ir_version).bytes(2, b"bief");
        let kept = self.model.kept.iter().fold(model, |model, (field, raw)| model.bytes(*field, raw));
        kept.message(7, graph).finish()
    }
}

//! Neural networks on the [`bief`] runtime: an ONNX file becomes segments, which are tasks like any others.

#![forbid(unsafe_code)]

mod cost;
mod cut;
mod extract;
mod graph;
mod network;
mod onnx;
mod operators;
mod shapes;

pub use network::{NeuralNetwork, Segment};

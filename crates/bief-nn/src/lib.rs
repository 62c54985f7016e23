//! Neural networks on the [`bief`] runtime: an ONNX file becomes segments, which are tasks like any others.

// Allowed below in the module that calls a C library.
#![deny(unsafe_code)]

mod classes;
mod cost;
mod cut;
#[allow(unsafe_code)]
mod engine;
mod extract;
mod graph;
mod inference;
mod iq;
mod kinds;
mod lent;
pub mod modulation;
mod network;
mod numbered;
mod onnx;
mod operators;
mod parts;
mod runner;
mod segment;
mod shapes;
mod weigh;

pub use classes::WriteClasses;
pub use engine::{Engine, EngineKind};
pub use inference::Inference;
pub use iq::RowsOfIq;
pub use kinds::register;
pub use lent::Frames;
pub use network::{NeuralNetwork, Segment};
pub use runner::Runner;

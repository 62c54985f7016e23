//! A network that is read, checked and cut.

use std::fs::File;
use std::io::Read;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use bief::raw::Shape;
use bief::{Error, Result};
use prost::bytes::Bytes;

use crate::cost;
use crate::cut::{self, Piece};
use crate::graph::Graph;
use crate::onnx::{MOST_BYTES, Model};

/// A neural network, read from an ONNX file and cut into segments.
///
/// It has one input and one output of f32, and shapes that are known, but for the number of frames in a batch: a frame is one
/// input. Segments are what one tensor alone connects; none of them parts what engines work off together, such as a convolution and the
/// activation behind it.
///
/// ```
/// use bief_nn::NeuralNetwork;
///
/// let network = NeuralNetwork::open("data/tiny_exact.onnx".as_ref())?;
/// assert_eq!((network.input().to_string(), network.output().to_string()), ("1 x 1 x 8 x 8".into(), "1 x 3".into()));
/// let names: Vec<&str> = network.segments().iter().map(|segment| segment.name()).collect();
/// assert_eq!(names, ["c1", "c2", "pool", "fc"]);
/// # Ok::<(), bief::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct NeuralNetwork {
    name: String,
    pub(crate) graph: Arc<Graph>,
    segments: Vec<Segment>,
}

/// A part of a network that is one task.
#[derive(Debug, Clone)]
pub struct Segment {
    pub(crate) piece: Piece,
    name: String,
    operators: Vec<String>,
    input: Shape,
    output: Shape,
    weight_bytes: usize,
    multiply_adds: u64,
}

impl Segment {
    /// The name of its first node.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its operators, in order.
    pub fn operators(&self) -> &[String] {
        &self.operators
    }

    /// The shape of the tensor that it gets, with one frame in a batch.
    pub fn input(&self) -> &Shape {
        &self.input
    }

    /// The shape of the tensor that it gives, with one frame in a batch.
    pub fn output(&self) -> &Shape {
        &self.output
    }

    /// Bytes of the weights that it uses, as they are in the file.
    pub fn weight_bytes(&self) -> usize {
        self.weight_bytes
    }

    /// Multiplications and additions of its convolutions and matrices, for a frame.
    pub fn multiply_adds(&self) -> u64 {
        self.multiply_adds
    }
}

impl NeuralNetwork {
    /// Reads a file.
    ///
    /// # Errors
    /// A file that cannot be read, or is damaged; what is not supported: several inputs or outputs, elements that are not f32,
    /// symbolic sizes other than that of the batch, weights in another file, sizes above 1 GiB, operators that ONNX does not have. Nodes are
    /// named, and nothing is allocated for what they would make.
    pub fn open(path: &Path) -> Result<Self> {
        let name = path.display().to_string();
        let told = |reason: String| Error::new(format!("{name}: {reason}"));
        let read = |error: std::io::Error| told(error.to_string());
        let file = File::open(path).map_err(read)?;
        // What a device or a pipe has is not known before it is read.
        let mut bytes = Vec::new();
        file.take(MOST_BYTES + 1).read_to_end(&mut bytes).map_err(read)?;
        if bytes.len() as u64 > MOST_BYTES {
            return Err(told(format!("it has more than {MOST_BYTES} bytes, which no ONNX file has")));
        }
        Self::from_bytes(&name, bytes)
    }

    /// Reads what a file would contain; `name` is what errors call it.
    ///
    /// # Errors
    /// Those of [`open`](Self::open).
    pub fn from_bytes(name: &str, bytes: impl Into<Vec<u8>>) -> Result<Self> {
        let told = |reason: String| Error::new(format!("{name}: {reason}"));
        let model = Model::read(Bytes::from(bytes.into())).map_err(told)?;
        let graph = Graph::new(model).map_err(told)?;
        let mut network = Self { name: name.to_owned(), graph: Arc::new(graph), segments: Vec::new() };
        network.segments = cut::segments(&network.graph).into_iter().map(|piece| network.segment(piece)).collect();
        Ok(network)
    }

    fn segment(&self, piece: Piece) -> Segment {
        let graph = &self.graph;
        let nodes = graph.nodes_of(&piece);
        let own: Vec<usize> = nodes.iter().copied().filter(|&node| graph.works(node)).collect();
        let first = own.first().map_or_else(String::new, |&node| graph.model.nodes[node].name.clone());
        let shape = |tensor| graph.fact(tensor).map_or_else(|| Shape::from(0), |fact| Shape::from(&fact.dims[..]));
        Segment {
            name: first,
            operators: own.iter().map(|&node| graph.model.nodes[node].operator.clone()).collect(),
            input: shape(piece.input),
            output: shape(piece.output),
            weight_bytes: graph.weights_of(&nodes).iter().map(|&weight| graph.model.weights[weight].raw.len()).sum(),
            multiply_adds: own.iter().fold(0, |all: u64, &node| all.saturating_add(cost::multiply_adds(graph, node))),
            piece,
        }
    }

    /// What errors call it: its file.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The shape of its input, with one frame in a batch.
    pub fn input(&self) -> &Shape {
        &self.segments[0].input
    }

    /// The shape of its output, with one frame in a batch.
    pub fn output(&self) -> &Shape {
        &self.segments[self.segments.len() - 1].output
    }

    /// Whether a call may work on several frames at once: the first dimension of all tensors is the number of frames.
    pub fn takes_batches(&self) -> bool {
        self.graph.batch.is_some()
    }

    /// The segments, in order.
    pub fn segments(&self) -> &[Segment] {
        &self.segments
    }

    /// Some neighbouring segments as an ONNX file of their own.
    ///
    /// ```
    /// # use bief_nn::NeuralNetwork;
    /// let network = NeuralNetwork::open("data/tiny_exact.onnx".as_ref())?;
    /// let rest = NeuralNetwork::from_bytes("the rest", network.part(1..3)?)?;
    /// assert_eq!(rest.input(), network.segments()[0].output());
    /// # Ok::<(), bief::Error>(())
    /// ```
    ///
    /// # Errors
    /// No segments, or some that it does not have.
    pub fn part(&self, segments: Range<usize>) -> Result<Vec<u8>> {
        Ok(self.graph.extract(&self.piece(segments)?))
    }

    /// Some neighbouring segments as one.
    pub(crate) fn piece(&self, segments: Range<usize>) -> Result<Piece> {
        let count = self.segments.len();
        let (Some([first, ..]), Some([.., last])) =
            (self.segments.get(segments.clone()), self.segments.get(segments.clone()))
        else {
            return Err(Error::new(format!(
                "{}: it has {count} segments, counted from 0, and not {} to {}",
                self.name, segments.start, segments.end
            )));
        };
        let (first, last) = (&first.piece, &last.piece);
        Ok(Piece { nodes: first.nodes.start..last.nodes.end, input: first.input, output: last.output })
    }
}

//! ONNX files: the container, read with bounds, and its messages.
//!
//! Field numbers are those of `onnx.proto`.

mod tensor;
mod wire;

use prost::bytes::Bytes;

pub(crate) use tensor::{Dim, ElementType, MOST_DIMS, TensorType, Weight, declaration};
pub(crate) use wire::Message;
use wire::{Damage, Fields, Value};

/// Bytes of the largest file: no protobuf message is longer.
pub(crate) const MOST_BYTES: u64 = (1 << 31) - 1;
/// Nodes, and weights; names that all nodes use and make together.
const MOST_NODES: usize = 1 << 16;
const MOST_NAMES: usize = 1 << 18;
/// Whole numbers of an attribute or a tensor that are looked at: shapes and pads have some.
pub(crate) const MOST_INTS: usize = 64;

/// What a file tells.
#[derive(Debug)]
pub(crate) struct Model {
    pub(crate) ir_version: u64,
    /// The version of the operators of ONNX itself.
    pub(crate) opset: u64,
    /// Sets of operators and functions of the file: what each part of it keeps, as fields of the model.
    pub(crate) kept: Vec<(u32, Bytes)>,
    pub(crate) inputs: Vec<Declared>,
    pub(crate) outputs: Vec<Declared>,
    /// Tensors in between, of which the type is told.
    pub(crate) inner: Vec<Declared>,
    pub(crate) nodes: Vec<Node>,
    pub(crate) weights: Vec<Weight>,
}

/// A tensor that is declared: its name, and its type, where that is told.
#[derive(Debug, Clone)]
pub(crate) struct Declared {
    pub(crate) name: String,
    pub(crate) tensor: Option<TensorType>,
}

/// An operator at its place.
#[derive(Debug, Clone)]
pub(crate) struct Node {
    /// The message, as it is in the file.
    pub(crate) raw: Bytes,
    /// Its name; of a node without, what it makes.
    pub(crate) name: String,
    pub(crate) operator: String,
    /// Empty for ONNX's own.
    pub(crate) domain: String,
    /// Empty where an optional one is left out.
    pub(crate) inputs: Vec<String>,
    pub(crate) outputs: Vec<String>,
    pub(crate) attributes: Vec<(String, Attribute)>,
}

/// The value of an attribute, of the kinds that shapes depend on.
#[derive(Debug, Clone)]
pub(crate) enum Attribute {
    Int(i64),
    Ints(Vec<i64>),
    Text(String),
    Tensor(Box<Weight>),
    Graph,
    Other,
}

impl Attribute {
    fn read(message: Bytes) -> Result<(String, Self), Damage> {
        let (mut name, mut attribute, mut ints) = (String::new(), Self::Other, Vec::new());
        for field in Fields::of(message, "an attribute") {
            match field? {
                (1, value) => name = value.text(1)?,
                (3, value) => attribute = Self::Int(value.number(3)? as i64),
                (4, value) => {
                    // It may be any bytes.
                    attribute =
                        std::str::from_utf8(&value.bytes(4)?).map_or(Self::Other, |text| Self::Text(text.to_owned()));
                }
                (5, value) => attribute = Self::Tensor(Box::new(Weight::read(value.bytes(5)?)?)),
                (6 | 11, _) => attribute = Self::Graph,
                (8, value) => value.numbers(8, MOST_INTS, &mut ints)?,
                _ => {}
            }
        }
        if !ints.is_empty() {
            attribute = Self::Ints(ints);
        }
        Ok((name, attribute))
    }
}

impl Node {
    /// The name and the operator, for errors.
    pub(crate) fn title(&self) -> String {
        format!("node `{}` ({})", self.name.escape_debug(), self.operator.escape_debug())
    }

    pub(crate) fn attribute(&self, name: &str) -> Option<&Attribute> {
        self.attributes.iter().find(|(own, _)| own == name).map(|(_, value)| value)
    }

    /// An attribute that is a whole number.
    pub(crate) fn int(&self, name: &str, default: i64) -> i64 {
        match self.attribute(name) {
            Some(&Attribute::Int(value)) => value,
            _ => default,
        }
    }

    /// An attribute of whole numbers.
    pub(crate) fn ints(&self, name: &str) -> Option<&[i64]> {
        match self.attribute(name) {
            Some(Attribute::Ints(values)) => Some(values),
            _ => None,
        }
    }
}

impl Model {
    /// Reads a file, of which the bytes are kept.
    ///
    /// # Errors
    /// What is damaged, or is more than the limits allow, in words.
    pub(crate) fn read(file: Bytes) -> Result<Self, Damage> {
        let (mut ir_version, mut opset, mut kept, mut graph) = (0, None, Vec::new(), None);
        for field in Fields::of(file, "the file") {
            match field? {
                (1, value) => ir_version = value.number(1)?,
                (7, value) => {
                    graph = match graph {
                        None => Some(value.bytes(7)?),
                        Some(_) => return Err("it has two graphs".to_owned()),
                    };
                }
                (8, value) => {
                    let raw = value.bytes(8)?;
                    let (domain, version) = operator_set(raw.clone())?;
                    if domain.is_empty() || domain == "ai.onnx" {
                        opset = Some(version);
                    }
                    keep(&mut kept, 8, raw)?;
                }
                (25, value) => keep(&mut kept, 25, value.bytes(25)?)?,
                _ => {}
            }
        }
        let graph = graph.ok_or("it has no graph: is it an ONNX file?")?;
        let mut model = Self {
            ir_version,
            opset: opset.ok_or("it tells no version of its operators (opset_import): is it an ONNX file?")?,
            kept,
            inputs: Vec::new(),
            outputs: Vec::new(),
            inner: Vec::new(),
            nodes: Vec::new(),
            weights: Vec::new(),
        };
        model.read_graph(graph)?;
        Ok(model)
    }

    fn read_graph(&mut self, graph: Bytes) -> Result<(), Damage> {
        let mut names = 0;
        for field in Fields::of(graph, "the graph") {
            match field? {
                (1, value) => {
                    let node = Node::read(value.bytes(1)?)?;
                    names += node.inputs.len() + node.outputs.len() + node.attributes.len();
                    if self.nodes.len() == MOST_NODES || names > MOST_NAMES {
                        return Err(format!(
                            "it has more than {MOST_NODES} nodes, or {MOST_NAMES} inputs, outputs and attributes of them"
                        ));
                    }
                    self.nodes.push(node);
                }
                (5, value) => {
                    if self.weights.len() == MOST_NODES {
                        return Err(format!("it has more than {MOST_NODES} weights"));
                    }
                    self.weights.push(Weight::read(value.bytes(5)?)?);
                }
                (11, value) => declare(&mut self.inputs, value)?,
                (12, value) => declare(&mut self.outputs, value)?,
                (13, value) => declare(&mut self.inner, value)?,
                (15, _) => return Err("it has sparse weights, which are not supported: save them dense".to_owned()),
                _ => {}
            }
        }
        Ok(())
    }
}

fn keep(kept: &mut Vec<(u32, Bytes)>, field: u32, raw: Bytes) -> Result<(), Damage> {
    if kept.len() == MOST_NODES {
        return Err(format!("it has more than {MOST_NODES} sets of operators and functions"));
    }
    kept.push((field, raw));
    Ok(())
}

fn declare(all: &mut Vec<Declared>, value: Value) -> Result<(), Damage> {
    if all.len() == MOST_NODES {
        return Err(format!("it declares more than {MOST_NODES} tensors"));
    }
    let mut declared = Declared { name: String::new(), tensor: None };
    for field in Fields::of(value.bytes(0)?, "a declaration of a tensor") {
        match field? {
            (1, value) => declared.name = value.text(1)?,
            (2, value) => declared.tensor = TensorType::read(value.bytes(2)?)?,
            _ => {}
        }
    }
    all.push(declared);
    Ok(())
}

/// Domain and version of a set of operators.
fn operator_set(message: Bytes) -> Result<(String, u64), Damage> {
    let (mut domain, mut version) = (String::new(), 0);
    for field in Fields::of(message, "a set of operators") {
        match field? {
            (1, value) => domain = value.text(1)?,
            (2, value) => version = value.number(2)?,
            _ => {}
        }
    }
    Ok((domain, version))
}

impl Node {
    fn read(raw: Bytes) -> Result<Self, Damage> {
        let mut node = Self {
            raw: raw.clone(),
            name: String::new(),
            operator: String::new(),
            domain: String::new(),
            inputs: Vec::new(),
            outputs: Vec::new(),
            attributes: Vec::new(),
        };
        for field in Fields::of(raw, "a node") {
            let (number, value) = field?;
            if node.inputs.len() + node.outputs.len() + node.attributes.len() > MOST_NAMES {
                return Err(format!("a node has more than {MOST_NAMES} inputs, outputs and attributes"));
            }
            match number {
                1 => node.inputs.push(value.text(1)?),
                2 => node.outputs.push(value.text(2)?),
                3 => node.name = value.text(3)?,
                4 => node.operator = value.text(4)?,
                5 => {
                    let (name, attribute) = Attribute::read(value.bytes(5)?)?;
                    node.attributes.push((name, attribute));
                }
                7 => node.domain = value.text(7)?,
                _ => {}
            }
        }
        if node.attributes.iter().any(|(_, value)| matches!(value, Attribute::Graph)) {
            return Err(format!("{} has a graph inside it, which is not supported", node.title()));
        }
        if node.domain == "ai.onnx" {
            node.domain.clear();
        }
        if node.name.is_empty() {
            node.name = node.outputs.iter().find(|name| !name.is_empty()).cloned().unwrap_or_default();
        }
        Ok(node)
    }
}

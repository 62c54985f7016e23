//! The network as a graph: who makes each tensor, who uses it, and of which shape it is. All sizes are known, and bounded, before
//! anything is allocated for them.

use std::collections::HashMap;

use crate::onnx::{Declared, Dim, ElementType, Model, Node, TensorType};
use crate::operators;
use crate::shapes::{Fact, Used, infer, shown};

/// Where a tensor comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Origin {
    Input,
    /// Its number.
    Weight(usize),
    Node(usize),
}

/// A tensor.
#[derive(Debug)]
pub(crate) struct Tensor {
    pub(crate) name: String,
    pub(crate) origin: Origin,
    /// The nodes that use it on the way to the output, in order.
    pub(crate) users: Vec<usize>,
    /// What is known of it, with one frame in a batch; `None` of one that nobody uses.
    pub(crate) fact: Option<Fact>,
    /// The same for all inputs of the network.
    pub(crate) is_constant: bool,
    /// Its shape is known because the file tells it.
    pub(crate) is_told: bool,
}

/// A network that has been checked.
#[derive(Debug)]
pub(crate) struct Graph {
    pub(crate) model: Model,
    pub(crate) tensors: Vec<Tensor>,
    /// The tensors that each node uses, `None` where an optional one is left out.
    pub(crate) uses: Vec<Vec<Option<usize>>>,
    /// The tensors that each node makes.
    makes: Vec<Vec<usize>>,
    /// Whether what each node makes leads to the output.
    is_needed: Vec<bool>,
    pub(crate) input: usize,
    pub(crate) output: usize,
    /// What the file calls the number of frames in a batch, where that is free.
    pub(crate) batch: Option<String>,
}

impl Graph {
    /// Joins the nodes of a model.
    ///
    /// # Errors
    /// What is missing, twice, in a cycle, not supported, or does not fit, by the name of the node.
    pub(crate) fn new(model: Model) -> Result<Self, String> {
        let weights: HashMap<&str, usize> =
            model.weights.iter().enumerate().map(|(index, weight)| (&*weight.name, index)).collect();
        if weights.len() < model.weights.len() {
            return Err("two of its weights have one name".to_owned());
        }
        // Files of the first versions list weights among the inputs, too.
        let inputs: Vec<&Declared> = model.inputs.iter().filter(|input| !weights.contains_key(&*input.name)).collect();
        let input = only(&inputs, "input")?.clone();
        let output = only(&model.outputs.iter().collect::<Vec<_>>(), "output")?.clone();
        let mut graph = Joining::new(&model, &input.name)?;
        for (index, node) in model.nodes.iter().enumerate() {
            graph.join(index, node, &model)?;
        }
        let Some(&made) = graph.by_name.get(&*output.name) else {
            return Err(format!("no node makes its output `{}`", output.name.escape_debug()));
        };
        let is_needed = graph.keep_needed(made);
        let Joining { tensors, by_name, uses, makes } = graph;
        if tensors[INPUT].users.is_empty() {
            let name = output.name.escape_debug();
            return Err(format!(
                "its output `{name}` does not depend on its input, or is that: there is nothing to run"
            ));
        }
        let by_name = &by_name;
        let number = |name: &str| by_name.get(name).copied();
        let declared: HashMap<usize, &TensorType> = model
            .inner
            .iter()
            .chain(&model.outputs)
            .filter_map(|declared| Some((number(&declared.name)?, declared.tensor.as_ref()?)))
            .collect();
        let typed = input_type(&input)?;
        let batch = match typed.dims.as_deref() {
            Some([Dim::Symbol(name), ..]) => Some(if name.is_empty() { "N".to_owned() } else { name.clone() }),
            _ => None,
        };
        let shaper = Shaper {
            model: &model,
            tensors: &tensors,
            uses: &uses,
            makes: &makes,
            is_needed: &is_needed,
            declared: &declared,
        };
        let (facts, told) = shaper.facts(input_fact(&input.name, typed, 1)?)?;
        let produced = facts[made].as_ref().ok_or("its output is not known")?;
        if produced.element != ElementType::F32 {
            let (name, element) = (output.name.escape_debug(), produced.element);
            return Err(format!("its output `{name}` has elements of {element}: only f32 is supported"));
        }
        if let Some(told) = declared.get(&made)
            && !agrees(told, produced)
        {
            let name = output.name.escape_debug();
            return Err(format!("its output `{name}` is {}, and the file tells another shape", shown(&produced.dims)));
        }
        let scales = |one: &Fact, two: &Fact| {
            let ([first, rest @ ..], [double, other_rest @ ..]) = (&one.dims[..], &two.dims[..]) else { return false };
            2 * first == *double && rest == other_rest
        };
        // Whether batches of two frames have two of all: a network may also mix its frames, or reshape to one.
        let in_pairs = match &batch {
            Some(_) => shaper.facts(input_fact(&input.name, typed, 2)?).ok(),
            None => None,
        };
        let is_free = in_pairs.is_some_and(|(pairs, _)| {
            tensors.iter().zip(facts.iter().zip(&pairs)).all(|(tensor, facts)| match facts {
                (Some(one), Some(two)) => tensor.is_constant || scales(one, two),
                _ => true,
            })
        });
        let mut tensors = tensors;
        tensors.iter_mut().zip(facts).for_each(|(tensor, fact)| tensor.fact = fact);
        told.into_iter().for_each(|tensor| tensors[tensor].is_told = true);
        let batch = batch.filter(|_| is_free);
        Ok(Self { model, tensors, uses, makes, is_needed, input: INPUT, output: made, batch })
    }

    /// What is known of the input, of the output, or of a tensor where the network may be cut.
    pub(crate) fn fact(&self, tensor: usize) -> Option<&Fact> {
        self.tensors[tensor].fact.as_ref()
    }

    /// Whether a node works for each frame: what it makes leads to the output, and is not the same for all inputs.
    pub(crate) fn works(&self, node: usize) -> bool {
        self.is_needed[node] && self.makes[node].iter().any(|&tensor| !self.tensors[tensor].is_constant)
    }

    /// The tensors that a node makes.
    pub(crate) fn makes(&self, node: usize) -> &[usize] {
        &self.makes[node]
    }
}

/// The only one of the inputs or outputs.
fn only<'d>(all: &[&'d Declared], what: &str) -> Result<&'d Declared, String> {
    match all {
        [one] => Ok(one),
        [] => Err(format!("it has no {what}")),
        several => {
            let count = several.len();
            let names: Vec<String> =
                several.iter().take(8).map(|one| format!("`{}`", one.name.escape_debug())).collect();
            let names = names.join(", ");
            Err(format!("it has {count} {what}s ({names}), and one is supported: cut the others off, or join them"))
        }
    }
}

fn input_type(input: &Declared) -> Result<&TensorType, String> {
    let name = input.name.escape_debug();
    let Some(typed) = &input.tensor else { return Err(format!("its input `{name}` is no tensor")) };
    if typed.element != ElementType::F32 {
        return Err(format!("its input `{name}` has elements of {}: only f32 is supported", typed.element));
    }
    Ok(typed)
}

fn input_fact(name: &str, typed: &TensorType, batch: usize) -> Result<Fact, String> {
    let name = name.escape_debug();
    let Some(dims) = &typed.dims else {
        return Err(format!("its input `{name}` has no shape: write one into the file"));
    };
    let dims = dims.iter().enumerate().map(|(index, dim)| match dim {
        Dim::Size(0) => Err(format!("its input `{name}` has no elements")),
        &Dim::Size(size) => usize::try_from(size).map_err(|_| format!("its input `{name}` is too large")),
        Dim::Symbol(_) if index == 0 => Ok(batch),
        Dim::Symbol(symbol) => Err(format!(
            "dimension {index} of its input `{name}` is symbolic (`{}`), and only the first may be: write a size into the file",
            symbol.escape_debug()
        )),
    });
    Fact::new(ElementType::F32, dims.collect::<Result<_, _>>()?)
        .map_err(|reason| format!("its input `{name}`: {reason}"))
}

/// Whether a shape is one that is declared, of which symbols may be anything.
fn agrees(told: &TensorType, made: &Fact) -> bool {
    let fits = |(told, &made): (&Dim, &usize)| matches!(told, Dim::Symbol(_)) || *told == Dim::Size(made as u64);
    told.element == made.element
        && told.dims.as_ref().is_none_or(|dims| dims.len() == made.dims.len() && dims.iter().zip(&made.dims).all(fits))
}

/// The number of the tensor that is the input.
const INPUT: usize = 0;

/// A graph to be.
struct Joining {
    tensors: Vec<Tensor>,
    by_name: HashMap<String, usize>,
    uses: Vec<Vec<Option<usize>>>,
    makes: Vec<Vec<usize>>,
}

impl Joining {
    fn new(model: &Model, input: &str) -> Result<Self, String> {
        let mut graph = Self { tensors: Vec::new(), by_name: HashMap::new(), uses: Vec::new(), makes: Vec::new() };
        graph.add(input, Origin::Input, false);
        for (index, weight) in model.weights.iter().enumerate() {
            graph.add(&weight.name, Origin::Weight(index), true);
        }
        Ok(graph)
    }

    fn add(&mut self, name: &str, origin: Origin, is_constant: bool) -> usize {
        let number = self.tensors.len();
        self.tensors.push(Tensor {
            name: name.to_owned(),
            origin,
            users: Vec::new(),
            fact: None,
            is_constant,
            is_told: false,
        });
        self.by_name.insert(name.to_owned(), number);
        number
    }

    fn join(&mut self, index: usize, node: &Node, model: &Model) -> Result<(), String> {
        let mut uses = Vec::new();
        for name in &node.inputs {
            if name.is_empty() {
                uses.push(None);
                continue;
            }
            let Some(&tensor) = self.by_name.get(name) else {
                let maker = model.nodes.iter().find(|maker| maker.outputs.contains(name));
                let (title, name) = (node.title(), name.escape_debug());
                return Err(match maker {
                    Some(maker) => format!(
                        "{title} uses `{name}`, which {} makes behind it: its nodes are in a cycle, or out of order",
                        maker.title()
                    ),
                    None => format!("{title} uses `{name}`, which is no weight, and which no node makes"),
                });
            };
            if self.tensors[tensor].users.last() != Some(&index) {
                self.tensors[tensor].users.push(index);
            }
            uses.push(Some(tensor));
        }
        // What depends on nothing that changes; a node that uses nothing makes a constant, or something random.
        let is_random = node.operator.starts_with("Random") || matches!(&*node.operator, "Bernoulli" | "Multinomial");
        let is_constant = !is_random && uses.iter().flatten().all(|&tensor| self.tensors[tensor].is_constant);
        let mut makes = Vec::new();
        for name in node.outputs.iter().filter(|name| !name.is_empty()) {
            if self.by_name.contains_key(name) {
                let (title, name) = (node.title(), name.escape_debug());
                return Err(format!("{title} makes `{name}`, which is there already"));
            }
            makes.push(self.add(name, Origin::Node(index), is_constant));
        }
        if makes.is_empty() {
            return Err(format!("{} makes nothing", node.title()));
        }
        self.uses.push(uses);
        self.makes.push(makes);
        Ok(())
    }

    /// Finds the nodes that lead to the output; no others use a tensor from now on.
    fn keep_needed(&mut self, output: usize) -> Vec<bool> {
        let mut is_needed = vec![false; self.uses.len()];
        let mut found = vec![output];
        while let Some(tensor) = found.pop() {
            if let Origin::Node(node) = self.tensors[tensor].origin
                && !std::mem::replace(&mut is_needed[node], true)
            {
                found.extend(self.uses[node].iter().flatten());
            }
        }
        self.tensors.iter_mut().for_each(|tensor| tensor.users.retain(|&node| is_needed[node]));
        is_needed
    }
}

/// Finds the shapes of all tensors.
struct Shaper<'g> {
    model: &'g Model,
    tensors: &'g [Tensor],
    uses: &'g [Vec<Option<usize>>],
    makes: &'g [Vec<usize>],
    is_needed: &'g [bool],
    declared: &'g HashMap<usize, &'g TensorType>,
}

impl Shaper<'_> {
    /// What is known of each tensor, and which of them only the file tells.
    fn facts(&self, input: Fact) -> Result<(Vec<Option<Fact>>, Vec<usize>), String> {
        let batch = input.dims.first().copied().unwrap_or(1);
        let mut told_by_file = Vec::new();
        let mut facts: Vec<Option<Fact>> = Vec::with_capacity(self.tensors.len());
        for tensor in self.tensors {
            facts.push(match tensor.origin {
                Origin::Input => Some(input.clone()),
                Origin::Weight(index) => {
                    let weight = &self.model.weights[index];
                    let fact = Fact::new(weight.element, weight.dims.clone());
                    let fact = fact.map_err(|reason| format!("weight `{}`: {reason}", weight.name.escape_debug()))?;
                    Some(Fact { ints: weight.ints.clone(), ..fact })
                }
                Origin::Node(_) => None,
            });
        }
        for (index, node) in self.model.nodes.iter().enumerate().filter(|&(index, _)| self.is_needed[index]) {
            let told = |reason: String| format!("{}: {reason}", node.title());
            let used = self.uses[index].iter().map(|tensor| tensor.and_then(|tensor| facts[tensor].as_ref())).collect();
            let mut made = infer(node, &Used(used), self.model.opset).map_err(told)?;
            if made.is_none() && node.domain.is_empty() && !operators::is_known(&node.operator) {
                return Err(told("ONNX has no operator of this name".to_owned()));
            }
            for (position, &tensor) in self.makes[index].iter().enumerate() {
                let is_first = position == 0 && !node.outputs[0].is_empty();
                if let Some(fact) = made.take().filter(|_| is_first) {
                    facts[tensor] = Some(fact);
                    continue;
                }
                facts[tensor] = match self.as_declared(tensor, batch).map_err(told)? {
                    Some(fact) => {
                        told_by_file.push(tensor);
                        Some(fact)
                    }
                    // What nobody uses may be anything.
                    None if self.tensors[tensor].users.is_empty() && !self.is_output(tensor) => None,
                    None => {
                        let name = self.tensors[tensor].name.escape_debug();
                        return Err(told(format!(
                            "the shape of `{name}` is not known: write the shapes into the file, as onnx.shape_inference does"
                        )));
                    }
                };
            }
        }
        Ok((facts, told_by_file))
    }

    fn is_output(&self, tensor: usize) -> bool {
        self.model.outputs.iter().any(|output| output.name == self.tensors[tensor].name)
    }

    /// What the file tells of a tensor, if it tells all; a first dimension that is symbolic is taken for the batch.
    fn as_declared(&self, tensor: usize, batch: usize) -> Result<Option<Fact>, String> {
        let Some(TensorType { element, dims: Some(dims) }) = self.declared.get(&tensor) else { return Ok(None) };
        let sizes = dims.iter().enumerate().map(|(index, dim)| match dim {
            &Dim::Size(size) => usize::try_from(size).ok(),
            Dim::Symbol(_) => (index == 0).then_some(batch),
        });
        sizes.collect::<Option<Vec<_>>>().map(|dims| Fact::new(*element, dims)).transpose()
    }
}

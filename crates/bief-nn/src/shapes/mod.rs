//! The shape of what an operator makes, from the shapes of what it uses.

mod rearrange;
mod window;

use crate::onnx::{Attribute, ElementType, MOST_DIMS, Node};

/// Elements of the largest tensor: 1 GiB of f32.
pub(crate) const MOST_ELEMENTS: usize = 1 << 28;

/// What is known of a tensor before the network runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fact {
    pub(crate) element: ElementType,
    pub(crate) dims: Vec<usize>,
    /// Its values, of a small one of whole numbers: other shapes depend on them.
    pub(crate) ints: Option<Vec<i64>>,
}

impl Fact {
    /// A tensor of a shape.
    ///
    /// # Errors
    /// More elements than are allowed.
    pub(crate) fn new(element: ElementType, dims: Vec<usize>) -> Result<Self, String> {
        if dims.len() > MOST_DIMS {
            return Err(format!("a tensor has {} dimensions, more than {MOST_DIMS}", dims.len()));
        }
        // Of a tensor without elements, too, no products of dimensions are huge.
        let elements = dims.iter().try_fold(1_usize, |all, &dim| all.checked_mul(dim.max(1)));
        match elements.filter(|&elements| elements <= MOST_ELEMENTS) {
            Some(_) => Ok(Self { element, dims, ints: None }),
            None => Err(format!("a tensor of {} has more than {MOST_ELEMENTS} elements", shown(&dims))),
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.dims.iter().product()
    }
}

/// Dimensions as errors tell them.
pub(crate) fn shown(dims: &[usize]) -> String {
    let dims: Vec<String> = dims.iter().map(ToString::to_string).collect();
    format!("[{}]", dims.join(", "))
}

/// What an operator uses.
pub(crate) struct Used<'f>(pub(crate) Vec<Option<&'f Fact>>);

impl<'f> Used<'f> {
    pub(crate) fn get(&self, index: usize) -> Result<&'f Fact, String> {
        self.optional(index).ok_or_else(|| format!("its input {index} is missing"))
    }

    fn optional(&self, index: usize) -> Option<&'f Fact> {
        self.0.get(index).copied().flatten()
    }

    /// The first, with at least so many dimensions.
    fn first_of_rank(&self, rank: usize) -> Result<&'f Fact, String> {
        let first = self.get(0)?;
        match first.dims.len() >= rank {
            true => Ok(first),
            false => Err(format!("it wants {rank} dimensions or more, and gets {}", shown(&first.dims))),
        }
    }
}

/// The first output of an operator; `None` of one of which nothing is known here.
///
/// # Errors
/// Inputs that do not fit it, or each other.
pub(crate) fn infer(node: &Node, used: &Used<'_>, opset: u64) -> Result<Option<Fact>, String> {
    if !node.domain.is_empty() {
        return Ok(None);
    }
    Ok(Some(match &*node.operator {
        "Relu"
        | "LeakyRelu"
        | "PRelu"
        | "Sigmoid"
        | "Tanh"
        | "Clip"
        | "Elu"
        | "Selu"
        | "Celu"
        | "Gelu"
        | "Mish"
        | "HardSigmoid"
        | "HardSwish"
        | "Softplus"
        | "Softsign"
        | "ThresholdedRelu"
        | "Softmax"
        | "LogSoftmax"
        | "Abs"
        | "Neg"
        | "Exp"
        | "Log"
        | "Sqrt"
        | "Reciprocal"
        | "Sign"
        | "Erf"
        | "Floor"
        | "Ceil"
        | "Round"
        | "Identity"
        | "Dropout"
        | "LRN"
        | "LpNormalization"
        | "InstanceNormalization"
        | "LayerNormalization" => used.get(0)?.clone(),
        "BatchNormalization" => normalised(used)?,
        "Cast" => {
            let element = ElementType::from_number(node.int("to", 0));
            Fact { element, ints: None, dims: used.get(0)?.dims.clone() }
        }
        "Add" | "Sub" | "Mul" | "Div" | "Pow" | "Min" | "Max" | "Mean" | "Sum" => {
            broadcast(used, used.get(0)?.element)?
        }
        "Equal" | "Greater" | "Less" | "GreaterOrEqual" | "LessOrEqual" | "And" | "Or" | "Xor" => {
            broadcast(used, ElementType::BOOL)?
        }
        "Where" => broadcast(used, used.get(1)?.element)?,
        "Conv" => window::convolved(node, used)?,
        "MaxPool" | "AveragePool" | "LpPool" => window::pooled(node, used)?,
        "GlobalAveragePool" | "GlobalMaxPool" | "GlobalLpPool" => {
            let first = used.first_of_rank(2)?;
            let dims = first.dims.iter().enumerate().map(|(index, &dim)| if index < 2 { dim } else { 1 });
            Fact::new(first.element, dims.collect())?
        }
        "Gemm" => product_of_matrices(node, used)?,
        "MatMul" => product(used)?,
        "Flatten" => rearrange::flattened(node, used)?,
        "Concat" => rearrange::joined(node, used)?,
        "Reshape" => match rearrange::reshaped(node, used)? {
            Some(fact) => fact,
            None => return Ok(None),
        },
        "Transpose" => rearrange::transposed(node, used)?,
        "Squeeze" | "Unsqueeze" => match rearrange::squeezed(node, used)? {
            Some(fact) => fact,
            None => return Ok(None),
        },
        "ReduceMean" | "ReduceSum" | "ReduceMax" | "ReduceMin" | "ReduceL1" | "ReduceL2" => {
            match rearrange::reduced(node, used, opset)? {
                Some(fact) => fact,
                None => return Ok(None),
            }
        }
        "Pad" => match rearrange::padded(node, used)? {
            Some(fact) => fact,
            None => return Ok(None),
        },
        "Constant" => match constant(node)? {
            Some(fact) => fact,
            None => return Ok(None),
        },
        "Shape" if node.attribute("start").is_none() && node.attribute("end").is_none() => {
            let dims = &used.get(0)?.dims;
            let ints = dims.iter().map(|&dim| dim as i64).collect();
            Fact { element: ElementType::I64, dims: vec![dims.len()], ints: Some(ints) }
        }
        _ => return Ok(None),
    }))
}

fn constant(node: &Node) -> Result<Option<Fact>, String> {
    let (dims, ints) = match node.attributes.first() {
        Some((_, Attribute::Tensor(weight))) => {
            let fact = Fact::new(weight.element, weight.dims.clone())?;
            return Ok(Some(Fact { ints: weight.ints.clone(), ..fact }));
        }
        Some((name, Attribute::Int(value))) if name == "value_int" => (Vec::new(), vec![*value]),
        Some((name, Attribute::Ints(values))) if name == "value_ints" => (vec![values.len()], values.clone()),
        _ => return Ok(None),
    };
    Ok(Some(Fact { element: ElementType::I64, dims, ints: Some(ints) }))
}

/// Each of the channels is scaled: their parameters are as many.
fn normalised(used: &Used<'_>) -> Result<Fact, String> {
    let first = used.first_of_rank(2)?;
    let channels = first.dims[1];
    for index in 1..5 {
        let parameters = used.get(index)?;
        if parameters.dims != [channels] {
            let there = shown(&parameters.dims);
            return Err(format!("its input {index} has {there} elements, and what it works on {channels} channels"));
        }
    }
    Ok(first.clone())
}

/// Dimensions that are alike or 1, from the last to the first.
fn broadcast(used: &Used<'_>, element: ElementType) -> Result<Fact, String> {
    let all: Vec<&Fact> = (0..used.0.len()).map(|index| used.get(index)).collect::<Result<_, _>>()?;
    let mut dims: Vec<usize> = Vec::new();
    for fact in &all {
        dims = spread(&dims, &fact.dims).ok_or_else(|| {
            let shapes: Vec<String> = all.iter().map(|fact| shown(&fact.dims)).collect();
            format!("shapes {} do not fit each other", shapes.join(" and "))
        })?;
    }
    Fact::new(element, dims)
}

fn spread(a: &[usize], b: &[usize]) -> Option<Vec<usize>> {
    let rank = a.len().max(b.len());
    let dim = |dims: &[usize], index: usize| (index + dims.len()).checked_sub(rank).map_or(1, |index| dims[index]);
    (0..rank)
        .map(|index| match (dim(a, index), dim(b, index)) {
            (1, other) | (other, 1) => Some(other),
            (one, other) => (one == other).then_some(one),
        })
        .collect()
}

fn product_of_matrices(node: &Node, used: &Used<'_>) -> Result<Fact, String> {
    let matrix = |index: usize, transposed: &str| {
        let fact = used.get(index)?;
        let [rows, columns] = fact.dims[..] else {
            return Err(format!("its input {index} is no matrix: it has {}", shown(&fact.dims)));
        };
        Ok(if node.int(transposed, 0) == 0 { [rows, columns] } else { [columns, rows] })
    };
    let ([rows, inner], [also_inner, columns]) = (matrix(0, "transA")?, matrix(1, "transB")?);
    if inner != also_inner {
        return Err(format!("{inner} columns are multiplied by {also_inner} rows"));
    }
    if let Some(added) = used.optional(2)
        && spread(&added.dims, &[rows, columns]).is_none_or(|dims| dims != [rows, columns])
    {
        return Err(format!("{} is added to {rows} x {columns}", shown(&added.dims)));
    }
    Fact::new(used.get(0)?.element, vec![rows, columns])
}

fn product(used: &Used<'_>) -> Result<Fact, String> {
    let (a, b) = (used.first_of_rank(2)?, used.get(1)?);
    let ([outer_a @ .., rows, inner], [outer_b @ .., also_inner, columns]) = (&a.dims[..], &b.dims[..]) else {
        return Err(format!("its input 1 has fewer than two dimensions: {}", shown(&b.dims)));
    };
    let outer = spread(outer_a, outer_b).filter(|_| inner == also_inner);
    let mut dims =
        outer.ok_or_else(|| format!("shapes {} and {} cannot be multiplied", shown(&a.dims), shown(&b.dims)))?;
    dims.extend([*rows, *columns]);
    Fact::new(a.element, dims)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(operator: &str, attributes: &[(&str, Attribute)]) -> Node {
        let attributes = attributes.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
        Node {
            raw: Default::default(),
            name: "n".into(),
            operator: operator.into(),
            domain: String::new(),
            inputs: Vec::new(),
            outputs: Vec::new(),
            attributes,
        }
    }

    fn fact(dims: &[usize]) -> Fact {
        Fact::new(ElementType::F32, dims.to_vec()).unwrap()
    }

    fn ints(values: &[i64]) -> Fact {
        Fact { element: ElementType::I64, dims: vec![values.len()], ints: Some(values.to_vec()) }
    }

    fn made(operator: &str, attributes: &[(&str, Attribute)], used: &[Fact]) -> Result<Option<Vec<usize>>, String> {
        let used = Used(used.iter().map(Some).collect());
        infer(&node(operator, attributes), &used, 17).map(|fact| fact.map(|fact| fact.dims))
    }

    #[test]
    fn shapes_are_those_of_the_standard() {
        let list = |values: &[i64]| Attribute::Ints(values.to_vec());
        let one = Attribute::Int;
        for (operator, attributes, used, expected) in [
            ("Relu", vec![], vec![fact(&[1, 2])], &[1, 2][..]),
            ("Add", vec![], vec![fact(&[4, 1, 3]), fact(&[2, 1])], &[4, 2, 3]),
            (
                "Conv",
                vec![("strides", list(&[2])), ("pads", list(&[3, 3]))],
                vec![fact(&[1, 2, 1024]), fact(&[16, 2, 7])],
                &[1, 16, 512],
            ),
            (
                "Conv",
                vec![("group", one(6)), ("dilations", list(&[2, 1]))],
                vec![fact(&[1, 6, 9, 9]), fact(&[6, 1, 3, 3])],
                &[1, 6, 5, 7],
            ),
            (
                "Conv",
                vec![("auto_pad", Attribute::Text("SAME_UPPER".into())), ("strides", list(&[2]))],
                vec![fact(&[1, 1, 9]), fact(&[1, 1, 3])],
                &[1, 1, 5],
            ),
            (
                "MaxPool",
                vec![("kernel_shape", list(&[3])), ("strides", list(&[2]))],
                vec![fact(&[1, 1, 6])],
                &[1, 1, 2],
            ),
            (
                "MaxPool",
                vec![("kernel_shape", list(&[3])), ("strides", list(&[2])), ("ceil_mode", one(1))],
                vec![fact(&[1, 1, 6])],
                &[1, 1, 3],
            ),
            (
                "MaxPool",
                vec![
                    ("kernel_shape", list(&[1])),
                    ("strides", list(&[i64::MAX - 5])),
                    ("pads", list(&[i64::MAX, i64::MAX])),
                    ("ceil_mode", one(1)),
                ],
                vec![fact(&[1, 1, 1 << 27])],
                &[1, 1, 3],
            ),
            ("GlobalAveragePool", vec![], vec![fact(&[2, 5, 7, 7])], &[2, 5, 1, 1]),
            ("Gemm", vec![("transB", one(1))], vec![fact(&[1, 4]), fact(&[3, 4]), fact(&[3])], &[1, 3]),
            ("MatMul", vec![], vec![fact(&[7, 1, 2, 3]), fact(&[5, 3, 4])], &[7, 5, 2, 4]),
            ("Flatten", vec![("axis", one(-1))], vec![fact(&[2, 3, 4])], &[6, 4]),
            ("Flatten", vec![("axis", one(3))], vec![fact(&[2, 3, 4])], &[24, 1]),
            ("Concat", vec![("axis", one(-2))], vec![fact(&[1, 2, 3]), fact(&[1, 5, 3])], &[1, 7, 3]),
            ("Reshape", vec![], vec![fact(&[2, 3, 4]), ints(&[0, -1])], &[2, 12]),
            ("Transpose", vec![("perm", list(&[0, 2, 1]))], vec![fact(&[2, 3, 4])], &[2, 4, 3]),
            ("Squeeze", vec![("axes", list(&[0]))], vec![fact(&[1, 3, 1])], &[3, 1]),
            ("Unsqueeze", vec![], vec![fact(&[3]), ints(&[0, -1])], &[1, 3, 1]),
            ("ReduceMean", vec![("axes", list(&[2, -1])), ("keepdims", one(0))], vec![fact(&[1, 8, 4, 4])], &[1, 8]),
            ("Pad", vec![], vec![fact(&[1, 4]), ints(&[0, 1, 0, -2])], &[1, 3]),
            ("Shape", vec![], vec![fact(&[1, 4])], &[2]),
        ] {
            assert_eq!(made(operator, &attributes, &used), Ok(Some(expected.to_vec())), "{operator} {attributes:?}");
        }
    }

    #[test]
    fn few_whole_numbers_are_kept() {
        let joined = |each: usize| {
            let one = Fact { ints: Some(vec![1; each]), ..fact(&[each]) };
            infer(&node("Concat", &[("axis", Attribute::Int(0))]), &Used(vec![Some(&one); 2]), 17).unwrap().unwrap()
        };
        assert_eq!(joined(32).ints, Some(vec![1; 64]));
        assert_eq!((joined(33).ints, joined(33).dims), (None, vec![66]));
    }

    #[test]
    fn what_does_not_fit_is_refused_in_words() {
        let list = |values: &[i64]| Attribute::Ints(values.to_vec());
        for (operator, attributes, used, words) in [
            ("Relu", vec![], vec![], "its input 0 is missing"),
            ("Add", vec![], vec![fact(&[2]), fact(&[3])], "[2] and [3] do not fit"),
            ("Conv", vec![], vec![fact(&[1, 3, 9]), fact(&[4, 2, 3])], "read 2 channels"),
            ("Conv", vec![], vec![fact(&[1, 1, 2]), fact(&[1, 1, 3])], "a window of 3 is longer than 2"),
            ("Conv", vec![("strides", list(&[0]))], vec![fact(&[1, 1, 9]), fact(&[1, 1, 3])], "its strides is 0"),
            (
                "Conv",
                vec![("pads", list(&[i64::MAX, i64::MAX]))],
                vec![fact(&[1, 1, 9]), fact(&[1, 1, 3])],
                "more than",
            ),
            (
                "Conv",
                vec![("pads", list(&[1 << 40, 1 << 40, 0, 0]))],
                vec![fact(&[1, 1, 9, 9]), fact(&[0, 1, 3, 3])],
                "more than",
            ),
            ("MaxPool", vec![], vec![fact(&[1, 1, 9])], "no kernel_shape"),
            ("BatchNormalization", vec![], vec![fact(&[1, 2, 3]), fact(&[3])], "2 channels"),
            ("Reshape", vec![], vec![fact(&[5]), ints(&[2, -1])], "cannot have the shape"),
            ("Transpose", vec![("perm", list(&[0, 0]))], vec![fact(&[2, 3])], "no order"),
            ("Squeeze", vec![("axes", list(&[0]))], vec![fact(&[2])], "is not 1"),
            ("Flatten", vec![("axis", Attribute::Int(i64::MIN))], vec![fact(&[2])], "is none of 1 dimensions"),
            ("Pad", vec![], vec![fact(&[1]), ints(&[i64::MAX, i64::MAX])], "it is padded by"),
            (
                "Concat",
                vec![("axis", Attribute::Int(0))],
                vec![fact(&[1 << 27]), fact(&[1 << 27]), fact(&[1])],
                "more than",
            ),
        ] {
            let told = made(operator, &attributes, &used).unwrap_err();
            assert!(told.contains(words), "{operator}: {told}");
        }
        assert_eq!(made("Resize", &[], &[fact(&[1])]), Ok(None));
    }
}

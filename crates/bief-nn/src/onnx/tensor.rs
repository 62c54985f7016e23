//! Types of tensors, and weights.

use std::fmt;

use prost::bytes::Bytes;

use super::MOST_INTS;
use super::wire::{Damage, Fields, Message, Value};
use crate::shapes::Fact;

/// Dimensions of a tensor.
pub(crate) const MOST_DIMS: usize = 8;

/// What the elements of a tensor are, by ONNX's number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ElementType(u64);

impl ElementType {
    pub(crate) const F32: Self = Self(1);
    pub(crate) const I64: Self = Self(7);
    pub(crate) const BOOL: Self = Self(9);

    /// As an attribute of a node tells it, such as the `to` of a Cast.
    pub(crate) fn from_number(number: i64) -> Self {
        Self(number as u64)
    }
}

impl fmt::Display for ElementType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const NAMES: [&str; 17] = [
            "nothing",
            "f32",
            "u8",
            "i8",
            "u16",
            "i16",
            "i32",
            "i64",
            "text",
            "bool",
            "f16",
            "f64",
            "u32",
            "u64",
            "complex<f32>",
            "complex<f64>",
            "bf16",
        ];
        match usize::try_from(self.0).ok().and_then(|number| NAMES.get(number)) {
            Some(name) => f.write_str(name),
            None => write!(f, "type {}", self.0),
        }
    }
}

/// A dimension, as it is declared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Dim {
    Size(u64),
    /// Known only when the network runs; its name, if it has one.
    Symbol(String),
}

/// The type of a tensor, as it is declared.
#[derive(Debug, Clone)]
pub(crate) struct TensorType {
    pub(crate) element: ElementType,
    /// `None` where not even their number is told.
    pub(crate) dims: Option<Vec<Dim>>,
}

impl TensorType {
    /// Of a type that is a tensor; `None` of a sequence, a map or whatever else there is.
    pub(super) fn read(message: Bytes) -> Result<Option<Self>, Damage> {
        let mut tensor = None;
        for field in Fields::of(message, "a type") {
            if let (1, value) = field? {
                tensor = Some(Self::read_tensor(value.bytes(1)?)?);
            }
        }
        Ok(tensor)
    }

    fn read_tensor(message: Bytes) -> Result<Self, Damage> {
        let mut tensor = Self { element: ElementType(0), dims: None };
        for field in Fields::of(message, "a type of a tensor") {
            match field? {
                (1, value) => tensor.element = ElementType(value.number(1)?),
                (2, value) => {
                    let mut dims = Vec::new();
                    for field in Fields::of(value.bytes(2)?, "a shape") {
                        if let (1, value) = field? {
                            if dims.len() == MOST_DIMS {
                                return Err(format!("a tensor has more than {MOST_DIMS} dimensions"));
                            }
                            dims.push(Dim::read(value.bytes(1)?)?);
                        }
                    }
                    tensor.dims = Some(dims);
                }
                _ => {}
            }
        }
        Ok(tensor)
    }
}

impl Dim {
    fn read(message: Bytes) -> Result<Self, Damage> {
        let mut dim = Self::Symbol(String::new());
        for field in Fields::of(message, "a dimension") {
            match field? {
                (1, value) => dim = Self::Size(value.number(1)?),
                (2, value) => dim = Self::Symbol(value.text(2)?),
                _ => {}
            }
        }
        Ok(dim)
    }
}

/// A declaration of a tensor, to be written; the first dimension is free where `batch` names it.
pub(crate) fn declaration(name: &str, fact: &Fact, batch: Option<&str>) -> Message {
    let mut shape = Message::default();
    for (index, &dim) in fact.dims.iter().enumerate() {
        shape = shape.message(
            1,
            match batch.filter(|_| index == 0) {
                Some(name) => Message::default().bytes(2, name.as_bytes()),
                None => Message::default().number(1, dim as u64),
            },
        );
    }
    let tensor = Message::default().number(1, fact.element.0).message(2, shape);
    Message::default().bytes(1, name.as_bytes()).message(2, Message::default().message(1, tensor))
}

/// A tensor that the file contains.
#[derive(Debug, Clone)]
pub(crate) struct Weight {
    /// The message, as it is in the file.
    pub(crate) raw: Bytes,
    pub(crate) name: String,
    pub(crate) element: ElementType,
    pub(crate) dims: Vec<usize>,
    /// Its whole numbers, where it has few, of i64.
    pub(crate) ints: Option<Vec<i64>>,
}

impl Weight {
    pub(super) fn read(raw: Bytes) -> Result<Self, Damage> {
        let (mut name, mut element, mut dims) = (String::new(), ElementType(0), Vec::new());
        let (mut ints, mut bytes, mut is_elsewhere) = (Vec::new(), None, false);
        // How many bytes of elements there are in fields of their type; how many elements where these differ in length.
        let mut typed = 0_usize;
        for field in Fields::of(raw.clone(), "a weight") {
            match field? {
                (1, value) => value.numbers(1, MOST_DIMS, &mut dims)?,
                (2, value) => element = ElementType(value.number(2)?),
                (7, value) => {
                    let few = if let Value::Bytes(ref bytes) = value { bytes.len() <= 10 * MOST_INTS } else { true };
                    match few && ints.len() < MOST_INTS {
                        true => value.numbers(7, usize::MAX, &mut ints)?,
                        false => typed = usize::MAX,
                    }
                }
                (4 | 5 | 6 | 10 | 11, value) => {
                    typed = typed.saturating_add(if let Value::Bytes(bytes) = value { bytes.len() } else { 4 });
                }
                (8, value) => name = value.text(8)?,
                (9, value) => bytes = Some(value.bytes(9)?),
                (13, _) => is_elsewhere = true,
                (14, value) => is_elsewhere |= value.number(14)? == 1,
                _ => {}
            }
        }
        let shown = name.escape_debug();
        if is_elsewhere {
            return Err(format!(
                "the values of weight `{shown}` are in another file, which is not supported: save the model as one file"
            ));
        }
        let dims: Vec<usize> = dims
            .iter()
            .map(|&dim| usize::try_from(dim).map_err(|_| format!("weight `{shown}` has {dim} elements in a dimension")))
            .collect::<Result<_, _>>()?;
        let elements = dims.iter().try_fold(1_usize, |all, &dim| all.checked_mul(dim));
        let wanted = elements.and_then(|elements| elements.checked_mul(element.size().unwrap_or(1)));
        let Some(wanted) = wanted else {
            return Err(format!("weight `{shown}` has more elements than can be counted"));
        };
        if let (Some(bytes), Some(_)) = (&bytes, element.size())
            && bytes.len() != wanted
        {
            let there = bytes.len();
            return Err(format!("weight `{shown}` of {dims:?} {element} has {there} bytes, not {wanted}"));
        }
        if bytes.is_none() && element == ElementType::F32 && typed != wanted {
            return Err(format!("weight `{shown}` of {dims:?} f32 has {typed} bytes, not {wanted}"));
        }
        if let (ElementType::I64, Some(bytes)) = (element, bytes.filter(|bytes| bytes.len() <= 8 * MOST_INTS)) {
            ints = bytes.as_chunks().0.iter().map(|&value| i64::from_le_bytes(value)).collect();
        }
        let is_read = element == ElementType::I64 && elements == Some(ints.len());
        Ok(Self { raw, name, element, dims, ints: is_read.then_some(ints) })
    }
}

impl ElementType {
    /// Bytes of an element in a file, where all have as many.
    fn size(self) -> Option<usize> {
        Some(match self.0 {
            2 | 3 | 9 => 1,
            4 | 5 | 10 | 16 => 2,
            1 | 6 | 12 => 4,
            7 | 11 | 13 | 14 => 8,
            15 => 16,
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn weight(dims: &[u64], element: u64) -> Message {
        let message = dims.iter().fold(Message::default(), |message, &dim| message.number(1, dim));
        message.number(2, element).bytes(8, b"w")
    }

    fn read(message: Message) -> Result<Weight, Damage> {
        Weight::read(message.finish().into())
    }

    #[test]
    fn small_whole_numbers_are_read_in_both_forms() {
        let raw = [3_i64, -1].map(i64::to_le_bytes).concat();
        assert_eq!(read(weight(&[2], 7).bytes(9, &raw)).unwrap().ints, Some(vec![3, -1]));
        assert_eq!(read(weight(&[2], 7).bytes(7, &[5, 6])).unwrap().ints, Some(vec![5, 6]));
        assert_eq!(read(weight(&[], 7).number(7, 9)).unwrap().ints, Some(vec![9]));
        let many = vec![0; 8 * (MOST_INTS + 1)];
        assert_eq!(read(weight(&[MOST_INTS as u64 + 1], 7).bytes(9, &many)).unwrap().ints, None);
    }

    #[test]
    fn weights_have_the_bytes_that_their_shape_wants() {
        let told = read(weight(&[2, 3], 1).bytes(9, &[0; 23])).unwrap_err();
        assert!(told.contains("`w`") && told.contains("23 bytes, not 24"), "{told}");
        assert!(read(weight(&[2, 3], 1).bytes(4, &[0; 24])).is_ok());
        assert!(read(weight(&[2, 3], 1)).unwrap_err().contains("has 0 bytes"));
        assert!(read(weight(&[1 << 40, 1 << 40], 1)).unwrap_err().contains("can be counted"));
        assert!(read(weight(&[u64::MAX], 1)).unwrap_err().contains("-1 elements"));
        assert!(read(weight(&[1; MOST_DIMS + 1], 1)).is_err());
        assert!(read(weight(&[1], 1).number(14, 1)).unwrap_err().contains("another file"));
    }

    #[test]
    fn a_declaration_is_read_as_it_was_written() {
        let message = declaration("x", &Fact::new(ElementType::F32, vec![1, 3, 8]).unwrap(), Some("N")).finish();
        let fields: Vec<_> = Fields::of(message.into(), "it").collect::<Result<_, _>>().unwrap();
        assert_eq!(fields[0].1.clone().text(1).unwrap(), "x");
        let read = TensorType::read(fields[1].1.clone().bytes(2).unwrap()).unwrap().unwrap();
        assert_eq!(read.element, ElementType::F32);
        assert_eq!(read.dims.unwrap(), [Dim::Symbol("N".into()), Dim::Size(3), Dim::Size(8)]);
    }
}

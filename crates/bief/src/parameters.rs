//! What a task is made with: values by name, as a chain file or a program gives them.

use std::collections::BTreeMap;
use std::fmt::{self, Display};
use std::path::{Path, PathBuf};

use crate::error::Error;

/// A value of a parameter. Shown as a chain file writes it.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// `true` or `false`.
    Bool(bool),
    /// A whole number.
    Integer(i64),
    /// Any other number.
    Float(f64),
    /// Text, or a path.
    Text(String),
    /// Several values.
    List(Vec<Value>),
}

impl Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bool(value) => value.fmt(f),
            Self::Integer(value) => value.fmt(f),
            Self::Float(value) => write!(f, "{value:?}"),
            Self::Text(text) => write!(f, "{text:?}"),
            Self::List(values) => {
                f.write_str("[")?;
                for (index, value) in values.iter().enumerate() {
                    write!(f, "{}{value}", if index == 0 { "" } else { ", " })?;
                }
                f.write_str("]")
            }
        }
    }
}

macro_rules! value_from {
    ($($Type:ty => $variant:ident),+) => {$(
        impl From<$Type> for Value {
            fn from(value: $Type) -> Self {
                Self::$variant(value.into())
            }
        }
    )+};
}

value_from!(bool => Bool, i64 => Integer, i32 => Integer, u32 => Integer, f64 => Float, f32 => Float, &str => Text, String => Text);

impl<V: Into<Value>> From<Vec<V>> for Value {
    fn from(values: Vec<V>) -> Self {
        Self::List(values.into_iter().map(V::into).collect())
    }
}

/// Values by name, from which a task is made; read by [`Param`](crate::kinds::Param).
///
/// ```
/// use bief::kinds::{Kind, Param, Parameters};
/// use bief::{Chain, Registry, source};
///
/// let mut registry = Registry::new();
/// let count = Param::new("count", "how many").range(1..=1_000_000);
/// registry.add(Kind::new("test.ramp", "whole numbers from 0 on", count, |count: u32| {
///     Ok(source::from_slice(&(0..count).collect::<Vec<_>>(), 1))
/// }));
/// let mut chain = Chain::new();
/// let wires = registry.make(&mut chain, "ramp", "test.ramp", Parameters::new().with("count", 8), &[])?;
/// assert_eq!(wires[0].element(), "u32");
/// let mut made = |count| registry.make(&mut chain, "ramp", "test.ramp", Parameters::new().with("count", count), &[]);
/// assert_eq!(made(0).unwrap_err().message(), "parameter `count` must be 1 to 1000000, not 0");
/// # Ok::<(), bief::Error>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct Parameters {
    values: BTreeMap<String, Value>,
    folder: PathBuf,
}

impl Parameters {
    /// No values; relative paths are relative to the current folder.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets a parameter.
    #[must_use]
    pub fn with(mut self, name: impl Into<String>, value: impl Into<Value>) -> Self {
        self.values.insert(name.into(), value.into());
        self
    }

    /// Sets the folder that relative paths are relative to.
    #[must_use]
    pub fn in_folder(mut self, folder: impl Into<PathBuf>) -> Self {
        self.folder = folder.into();
        self
    }

    pub(crate) fn get(&self, name: &str) -> Option<&Value> {
        self.values.get(name)
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// The name of each value, in the order of the alphabet.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.values.keys().map(String::as_str)
    }
}

/// A type that a parameter can have directly.
pub trait ParameterType: Sized + Send + Sync + 'static {
    /// What it is called, such as `whole number`.
    fn type_name() -> String;

    /// The value, or what it must be instead, such as `a whole number`.
    ///
    /// # Errors
    /// What a value must be.
    fn read(value: &Value) -> Result<Self, String>;

    /// The value that reads as this; numbers that [`Value`] does not hold are brought to the nearest.
    fn value(&self) -> Value;
}

impl ParameterType for bool {
    fn type_name() -> String {
        "true or false".to_owned()
    }
    fn read(value: &Value) -> Result<Self, String> {
        match value {
            Value::Bool(value) => Ok(*value),
            _ => Err(Self::type_name()),
        }
    }
    fn value(&self) -> Value {
        (*self).into()
    }
}

impl ParameterType for f64 {
    fn type_name() -> String {
        "number".to_owned()
    }
    fn read(value: &Value) -> Result<Self, String> {
        match value {
            Value::Integer(number) => Ok(*number as f64),
            Value::Float(number) if number.is_finite() => Ok(*number),
            _ => Err("a number".to_owned()),
        }
    }
    fn value(&self) -> Value {
        (*self).into()
    }
}

macro_rules! whole_numbers {
    ($($Type:ident),+) => {$(
        impl ParameterType for $Type {
            fn type_name() -> String {
                "whole number".to_owned()
            }
            fn read(value: &Value) -> Result<Self, String> {
                let Value::Integer(number) = value else { return Err("a whole number".to_owned()) };
                Self::try_from(*number)
                    .map_err(|_| concat!("a whole number that ", stringify!($Type), " holds").to_owned())
            }
            fn value(&self) -> Value {
                Value::Integer(i64::try_from(*self).unwrap_or(i64::MAX))
            }
        }
    )+};
}

whole_numbers!(u8, u16, u32, u64, usize, i32, i64);

impl ParameterType for String {
    fn type_name() -> String {
        "text".to_owned()
    }
    fn read(value: &Value) -> Result<Self, String> {
        match value {
            Value::Text(text) => Ok(text.clone()),
            _ => Err("text in quotes".to_owned()),
        }
    }
    fn value(&self) -> Value {
        self.as_str().into()
    }
}

impl<T: ParameterType> ParameterType for Vec<T> {
    fn type_name() -> String {
        format!("list of {}s", T::type_name())
    }
    fn read(value: &Value) -> Result<Self, String> {
        let elements = match value {
            Value::List(values) => values.iter().map(|value| T::read(value).ok()).collect(),
            _ => None,
        };
        elements.ok_or_else(|| format!("a {}", Self::type_name()))
    }
    fn value(&self) -> Value {
        Value::List(self.iter().map(T::value).collect())
    }
}

/// What is wrong with a parameter.
pub(crate) fn refused(parameter: &str, error: impl Display) -> Error {
    Error::build(format!("parameter `{parameter}`: {error}")).of_parameter(parameter)
}

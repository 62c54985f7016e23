//! What a task is made with: values by name, as a chain file or a program gives them.

use std::collections::BTreeMap;
use std::fmt::{self, Display};
use std::ops::{Bound, RangeBounds};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use crate::error::{Error, Result};
use crate::suggest::suggestion;

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

/// Values by name, to make a task with.
///
/// ```
/// use bief::{Kind, Parameters, Registry, source};
///
/// let mut registry = Registry::new();
/// registry.add(
///     Kind::new("test.ramp", "whole numbers from 0 on", |parameters| {
///         let numbers: Vec<u32> = (0..parameters.integer("count", 1..=1_000_000)?).collect();
///         Ok(source::from_slice(&numbers, 1))
///     })
///     .required("count", "how many, 1 to 1000000"),
/// );
/// let ramp = registry.make("test.ramp", Parameters::new().with("count", 8))?;
/// assert_eq!(ramp.outputs()[0].element(), "u32");
/// let error = registry.make("test.ramp", Parameters::new().with("count", 0)).unwrap_err();
/// assert_eq!(error.to_string(), "parameter `count` must be 1 to 1000000, not 0");
/// # Ok::<(), bief::Error>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct Parameters {
    values: BTreeMap<String, Value>,
    folder: PathBuf,
    /// The parameter that the last error was about.
    blamed: Option<String>,
    /// The files that were asked for.
    files: Vec<NamedFile>,
}

/// A file that a parameter names.
#[derive(Debug, Clone)]
pub(crate) struct NamedFile {
    pub(crate) parameter: String,
    /// Without links and detours, as far as it is there.
    pub(crate) path: PathBuf,
    pub(crate) is_written: bool,
}

impl NamedFile {
    fn new(parameter: &str, path: &Path, is_written: bool) -> Self {
        let there = path.canonicalize().or_else(|error| match (path.parent(), path.file_name()) {
            (Some(folder), Some(name)) => Ok(folder.canonicalize()?.join(name)),
            _ => Err(error),
        });
        Self { parameter: parameter.to_owned(), path: there.unwrap_or_else(|_| path.to_owned()), is_written }
    }
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

    /// Whether a parameter has a value.
    pub fn has(&self, name: &str) -> bool {
        self.values.contains_key(name)
    }

    /// A finite number, in a range such as `0.0..=1.0` or `..`.
    ///
    /// # Errors
    /// No such parameter, no number, or one outside the range.
    pub fn f64(&mut self, name: &str, range: impl RangeBounds<f64>) -> Result<f64> {
        self.get(name, |value| number(value, &range))
    }

    /// A whole number, in a range such as `1..=64`.
    ///
    /// # Errors
    /// No such parameter, no whole number, or one outside the range.
    pub fn integer<I>(&mut self, name: &str, range: impl RangeBounds<I>) -> Result<I>
    where
        I: TryFrom<i64> + PartialOrd + Display,
    {
        self.get(name, |value| {
            let Value::Integer(number) = value else { return Err("a whole number".to_owned()) };
            let number = I::try_from(*number).ok().filter(|number| range.contains(number));
            number.ok_or_else(|| match (range.start_bound(), range.end_bound()) {
                (Bound::Unbounded, Bound::Unbounded) => {
                    format!("a whole number that {} holds", std::any::type_name::<I>())
                }
                _ => in_words(&range),
            })
        })
    }

    /// `true` or `false`.
    ///
    /// # Errors
    /// No such parameter, or another value.
    pub fn bool(&mut self, name: &str) -> Result<bool> {
        self.get(name, |value| match value {
            Value::Bool(value) => Ok(*value),
            _ => Err("true or false".to_owned()),
        })
    }

    /// Text.
    ///
    /// # Errors
    /// No such parameter, or another value.
    pub fn string(&mut self, name: &str) -> Result<String> {
        self.get(name, |value| text(value).map(str::to_owned))
    }

    /// A path; a relative one is relative to the folder of the chain file.
    ///
    /// # Errors
    /// No such parameter, or one that is no text, or empty.
    pub fn path(&mut self, name: &str) -> Result<PathBuf> {
        self.file(name, false)
    }

    /// As [`path`](Self::path), of a file that the task writes: a chain file in which another task reads or writes the same
    /// file is refused.
    ///
    /// # Errors
    /// As [`path`](Self::path).
    pub fn path_to_write(&mut self, name: &str) -> Result<PathBuf> {
        self.file(name, true)
    }

    fn file(&mut self, name: &str, is_written: bool) -> Result<PathBuf> {
        let path = self.get(name, |value| match text(value)? {
            "" => Err("a path".to_owned()),
            path => Ok(PathBuf::from(path)),
        })?;
        let path = self.folder.join(path);
        self.files.push(NamedFile::new(name, &path, is_written));
        Ok(path)
    }

    /// The files that were asked for.
    pub(crate) fn files(&self) -> &[NamedFile] {
        &self.files
    }

    /// A list of finite numbers, each in a range.
    ///
    /// # Errors
    /// No such parameter, no list, or an element that is no number in the range.
    pub fn numbers(&mut self, name: &str, range: impl RangeBounds<f64>) -> Result<Vec<f64>> {
        self.get(name, |value| {
            let numbers = match value {
                Value::List(values) => values.iter().map(|value| number(value, &range).ok()).collect(),
                _ => None,
            };
            numbers.ok_or_else(|| match (range.start_bound(), range.end_bound()) {
                (Bound::Unbounded, Bound::Unbounded) => "a list of numbers".to_owned(),
                _ => format!("a list of numbers, each {}", in_words(&range)),
            })
        })
    }

    /// A list of texts.
    ///
    /// # Errors
    /// No such parameter, no list, or an element that is no text.
    pub fn strings(&mut self, name: &str) -> Result<Vec<String>> {
        self.get(name, |value| {
            let texts = match value {
                Value::List(values) => values.iter().map(|value| text(value).ok().map(str::to_owned)).collect(),
                _ => None,
            };
            texts.ok_or_else(|| "a list of texts".to_owned())
        })
    }

    /// What a text stands for, by [`FromStr`].
    ///
    /// # Errors
    /// No such parameter, no text, or what the type says of the text.
    pub fn parse<T: FromStr<Err: Display>>(&mut self, name: &str) -> Result<T> {
        let parsed = self.string(name)?.parse();
        self.about(name, parsed)
    }

    /// One of several names.
    ///
    /// # Errors
    /// No such parameter, no text, or one that is none of the names.
    pub fn choice<T: Clone>(&mut self, name: &str, choices: &[(&str, T)]) -> Result<T> {
        let chosen = self.string(name)?;
        let found = choices.iter().find(|(choice, _)| *choice == chosen).map(|(_, value)| value.clone());
        let names = choices.iter().map(|&(name, _)| name);
        let found = found.ok_or_else(|| format!("there is no {chosen:?}{}", suggestion(&chosen, names)));
        self.about(name, found)
    }

    /// Says of an error that this parameter caused it: in a chain file it is told at the line of the parameter.
    ///
    /// # Errors
    /// That of `result`, with the parameter's name before it.
    pub fn about<T, E: Display>(&mut self, name: &str, result: Result<T, E>) -> Result<T> {
        result.map_err(|error| {
            self.blamed = Some(name.to_owned());
            Error::build(format!("parameter `{name}`: {error}"))
        })
    }

    fn get<T>(&mut self, name: &str, read: impl FnOnce(&Value) -> Result<T, String>) -> Result<T> {
        let Some(value) = self.values.get(name) else {
            return Err(Error::build(format!("parameter `{name}` has no value")));
        };
        read(value).map_err(|wanted| {
            self.blamed = Some(name.to_owned());
            Error::build(format!("parameter `{name}` must be {wanted}, not {}", shown(value)))
        })
    }

    /// The name of each value, in the order of the alphabet.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.values.keys().map(String::as_str)
    }

    /// Gives a parameter a value if it has none.
    pub(crate) fn or_default(&mut self, name: &str, value: &Value) {
        if !self.has(name) {
            self.values.insert(name.to_owned(), value.clone());
        }
    }

    /// The parameter that the last error was about, if it was about one.
    pub(crate) fn blamed(&self) -> Option<&str> {
        self.blamed.as_deref()
    }
}

fn number(value: &Value, range: &impl RangeBounds<f64>) -> Result<f64, String> {
    let number = match value {
        Value::Integer(number) => Some(*number as f64),
        Value::Float(number) => Some(*number).filter(|number| number.is_finite()),
        _ => None,
    };
    number.filter(|number| range.contains(number)).ok_or_else(|| in_words(range))
}

fn text(value: &Value) -> Result<&str, String> {
    match value {
        Value::Text(text) => Ok(text),
        _ => Err("text in quotes".to_owned()),
    }
}

/// The numbers of a range.
fn in_words<N: Display>(range: &impl RangeBounds<N>) -> String {
    let lowest = match range.start_bound() {
        Bound::Included(lowest) => Some(format!("at least {lowest}")),
        Bound::Excluded(lowest) => Some(format!("above {lowest}")),
        Bound::Unbounded => None,
    };
    let highest = match range.end_bound() {
        Bound::Included(highest) => Some(format!("at most {highest}")),
        Bound::Excluded(highest) => Some(format!("below {highest}")),
        Bound::Unbounded => None,
    };
    match (range.start_bound(), range.end_bound(), lowest, highest) {
        (Bound::Included(lowest), Bound::Included(highest), ..) => format!("{lowest} to {highest}"),
        (_, _, Some(lowest), Some(highest)) => format!("{lowest} and {highest}"),
        (_, _, Some(only), None) | (_, _, None, Some(only)) => only,
        (_, _, None, None) => "a number".to_owned(),
    }
}

/// The value, or its beginning when it is long.
fn shown(value: &Value) -> String {
    const MOST: usize = 60;
    let text = value.to_string();
    if text.chars().count() <= MOST { text } else { text.chars().take(MOST - 1).chain(['…']).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parameters() -> Parameters {
        Parameters::new()
            .with("gain", 2)
            .with("big", i64::MAX)
            .with("not", f64::NAN)
            .with("name", "x")
            .with("empty", "")
            .with("on", true)
            .with("taps", vec![0.5, 1.0])
            .with("names", vec!["a", "b"])
    }

    fn told<T>(read: impl FnOnce(&mut Parameters) -> Result<T>) -> String {
        read(&mut parameters()).err().unwrap().to_string()
    }

    #[test]
    fn values_are_read_by_their_type() {
        let mut p = parameters().in_folder("chains");
        assert_eq!((p.f64("gain", ..).unwrap(), p.integer("gain", 0..=2).unwrap()), (2.0, 2_u8));
        assert_eq!((p.string("name").unwrap(), p.bool("on").unwrap()), ("x".to_owned(), true));
        assert_eq!(p.path("name").unwrap(), PathBuf::from("chains/x"));
        assert_eq!(p.numbers("taps", 0.0..=1.0).unwrap(), [0.5, 1.0]);
        assert_eq!(p.strings("names").unwrap(), ["a", "b"]);
        assert_eq!(p.parse::<char>("name").unwrap(), 'x');
        assert_eq!(p.choice("name", &[("y", 1), ("x", 2)]).unwrap(), 2);
        assert!(p.has("on") && !p.has("off"));
        assert_eq!(p.clone().with("name", "/x").path("name").unwrap(), PathBuf::from("/x"));
    }

    #[test]
    fn what_does_not_fit_names_the_parameter_and_what_would() {
        assert_eq!(told(|p| p.f64("gain", 0.0..=1.0)), "parameter `gain` must be 0 to 1, not 2");
        assert_eq!(
            told(|p| p.f64("gain", (Bound::Excluded(2.0), Bound::Unbounded))),
            "parameter `gain` must be above 2, not 2"
        );
        assert_eq!(told(|p| p.f64("gain", 3.0..4.0)), "parameter `gain` must be at least 3 and below 4, not 2");
        assert_eq!(told(|p| p.f64("not", ..)), "parameter `not` must be a number, not NaN");
        assert_eq!(told(|p| p.f64("on", ..=1.0)), "parameter `on` must be at most 1, not true");
        assert_eq!(
            told(|p| p.integer::<u8>("big", ..)),
            "parameter `big` must be a whole number that u8 holds, not 9223372036854775807"
        );
        assert_eq!(told(|p| p.integer::<u8>("not", ..)), "parameter `not` must be a whole number, not NaN");
        assert_eq!(told(|p| p.integer::<u8>("gain", 3..)), "parameter `gain` must be at least 3, not 2");
        assert_eq!(told(|p| p.bool("name")), "parameter `name` must be true or false, not \"x\"");
        assert_eq!(told(|p| p.string("on")), "parameter `on` must be text in quotes, not true");
        assert_eq!(told(|p| p.path("empty")), "parameter `empty` must be a path, not \"\"");
        assert_eq!(told(|p| p.numbers("names", ..)), "parameter `names` must be a list of numbers, not [\"a\", \"b\"]");
        assert_eq!(
            told(|p| p.numbers("taps", 0.0..1.0)),
            "parameter `taps` must be a list of numbers, each at least 0 and below 1, not [0.5, 1.0]"
        );
        assert_eq!(told(|p| p.strings("taps")), "parameter `taps` must be a list of texts, not [0.5, 1.0]");
        assert_eq!(told(|p| p.parse::<u8>("name")), "parameter `name`: invalid digit found in string");
        assert_eq!(
            told(|p| p.choice("name", &[("long", 1), ("short", 2)])),
            "parameter `name`: there is no \"x\": there are `long` and `short`"
        );
        assert_eq!(told(|p| p.bool("off")), "parameter `off` has no value");
        let long = told(|p| p.clone().with("name", "x".repeat(1000)).bool("name"));
        assert!(long.chars().count() < 120 && long.ends_with('…'), "{long}");
    }
}

//! Parameters of kinds of tasks: each is declared once, and check, help and value follow from that.

use std::fmt::{self, Display};
use std::ops::{Bound, RangeBounds};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;

use crate::error::{Error, Result};
use crate::making::Making;
use crate::openers::{InputAddress, OutputAddress};
use crate::parameters::{ParameterType, Value, refused};
use crate::suggest::suggestion;

/// A parameter of a [`Kind`](crate::kinds::Kind): name, type, unit, range, default and meaning. Reading, checks and help
/// follow from this one declaration.
///
/// ```
/// use bief::kinds::{Kind, Param, Parameters};
/// use bief::{Registry, source};
///
/// let rate = Param::<f64>::new("sample_rate", "how fast samples come").unit("Hz").range(1.0..=1e9).default(48e3);
/// let order = Param::<String>::new("order", "which comes first").one_of(&[("low", false), ("high", true)]).optional();
/// let kind = Kind::new("test.rate", "a number", (rate, order), |(rate, order): (f64, Option<bool>)| {
///     Ok(source::from_slice(&[if order == Some(true) { -rate } else { rate }], 1))
/// });
/// assert_eq!(kind.parameters()[0].form(), "number, 1 to 1000000000 Hz");
/// assert_eq!(kind.parameters()[1].form(), "text: \"low\" or \"high\"");
/// ```
pub struct Param<T> {
    told: Parameter,
    read: Arc<Read<T>>,
}

type Read<T> = dyn Fn(Option<&Value>, &Making<'_>) -> Result<T, Unfit> + Send + Sync;

impl<T> Clone for Param<T> {
    fn clone(&self) -> Self {
        Self { told: self.told.clone(), read: Arc::clone(&self.read) }
    }
}

impl<T> fmt::Debug for Param<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.told.fmt(f)
    }
}

/// Why a value does not do.
enum Unfit {
    Missing,
    /// It must be something else.
    Wanted(String),
    /// It is of the type, but not in the range.
    OutOfRange,
    Said(String),
}

/// The description of a parameter of a [`Kind`](crate::kinds::Kind).
#[derive(Debug, Clone)]
pub struct Parameter {
    name: String,
    meaning: String,
    type_name: String,
    unit: Option<String>,
    range: Option<(Bound<Value>, Bound<Value>)>,
    choices: Vec<String>,
    default: Option<Value>,
    required: bool,
    pub(crate) address: Option<AddressOf>,
}

/// What an address is for, and which files there are where it is a path.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AddressOf {
    pub(crate) is_written: bool,
    pub(crate) files: fn(&Path) -> Vec<PathBuf>,
}

impl Parameter {
    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether it names a file, a standard stream or an address that its task reads or writes.
    pub fn is_address(&self) -> bool {
        self.address.is_some()
    }

    /// What it means.
    pub fn meaning(&self) -> &str {
        &self.meaning
    }

    /// Its type in words, such as `whole number` or `list of texts`.
    pub fn type_name(&self) -> &str {
        &self.type_name
    }

    /// The unit of its numbers.
    pub fn unit(&self) -> Option<&str> {
        self.unit.as_deref()
    }

    /// The numbers that it may have, or each of its list, with the unit, such as `1 to 64`.
    pub fn range(&self) -> Option<String> {
        let (least, most) = self.range.as_ref()?;
        Some(with_unit(in_words(least, most), self.unit.as_deref()))
    }

    /// The least and the greatest number that it may have, or may not quite reach.
    pub fn bounds(&self) -> Option<(Bound<&Value>, Bound<&Value>)> {
        self.range.as_ref().map(|(least, most)| (least.as_ref(), most.as_ref()))
    }

    /// The texts that it may have; none where it may have others.
    pub fn choices(&self) -> &[String] {
        &self.choices
    }

    /// Its value where none is given.
    pub fn default(&self) -> Option<&Value> {
        self.default.as_ref()
    }

    /// Whether a value must be given. One that need not be and has no default is left out.
    pub fn is_required(&self) -> bool {
        self.required
    }

    /// Type, range, unit and choices in words, such as `whole number, 1 to 64` or `text: "long" or "short"`.
    pub fn form(&self) -> String {
        let form = &self.type_name;
        match (&self.choices[..], &self.unit, self.range()) {
            ([choices @ .., last], ..) if !choices.is_empty() => {
                let choices: Vec<String> = choices.iter().map(|choice| format!("{choice:?}")).collect();
                format!("{form}: {} or {last:?}", choices.join(", "))
            }
            (_, _, Some(range)) => format!("{form}, {range}"),
            (_, Some(unit), None) => format!("{form}, {unit}"),
            (_, None, None) => form.clone(),
        }
    }
}

fn with_unit(words: String, unit: Option<&str>) -> String {
    unit.into_iter().fold(words, |words, unit| format!("{words} {unit}"))
}

impl<T: ParameterType> Param<T> {
    /// A parameter that must be given: see [`default`](Self::default) and [`optional`](Self::optional).
    pub fn new(name: impl Into<String>, meaning: impl Into<String>) -> Self {
        Self::of(name.into(), meaning.into(), T::type_name(), None, |value, _| T::read(value).map_err(Unfit::Wanted))
    }
}

impl<T: ParameterType + PartialOrd> Param<T> {
    /// Takes numbers of a range alone, such as `1..=64`.
    #[must_use]
    pub fn range(mut self, range: impl RangeBounds<T> + Send + Sync + 'static) -> Self {
        self.told.range = Some(bounds(&range));
        self.and_then(move |value| if range.contains(&value) { Ok(value) } else { Err(Unfit::OutOfRange) })
    }
}

impl<T: ParameterType + PartialOrd> Param<Vec<T>> {
    /// Takes lists alone whose every number is in a range.
    #[must_use]
    pub fn each(mut self, range: impl RangeBounds<T> + Send + Sync + 'static) -> Self {
        self.told.range = Some(bounds(&range));
        self.and_then(
            move |list| {
                if list.iter().all(|value| range.contains(value)) { Ok(list) } else { Err(Unfit::OutOfRange) }
            },
        )
    }
}

fn bounds<T: ParameterType>(range: &impl RangeBounds<T>) -> (Bound<Value>, Bound<Value>) {
    (range.start_bound().map(T::value), range.end_bound().map(T::value))
}

impl Param<String> {
    /// Takes one of several names, which stand for values.
    #[must_use]
    pub fn one_of<V: Clone + Send + Sync + 'static>(mut self, choices: &[(&str, V)]) -> Param<V> {
        let choices: Vec<(String, V)> =
            choices.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
        self.told.choices = choices.iter().map(|(name, _)| name.clone()).collect();
        self.and_then(move |chosen| {
            let found = choices.iter().find(|(choice, _)| *choice == chosen).map(|(_, value)| value.clone());
            let names = choices.iter().map(|(name, _)| &**name);
            found.ok_or_else(|| Unfit::Said(format!("there is no {chosen:?}{}", suggestion(&chosen, names))))
        })
    }

    /// Parses a text by [`FromStr`].
    #[must_use]
    pub fn parsed<V: FromStr<Err: Display> + 'static>(self) -> Param<V> {
        self.map(|text| text.parse())
    }
}

impl Param<InputAddress> {
    /// An address that a task reads: a path (relative to the folder of the chain file), `-` for standard input, or what a
    /// registered [`Opener`](crate::kinds::Opener) opens.
    pub fn reads(name: impl Into<String>, meaning: impl Into<String>) -> Self {
        let role = AddressOf { is_written: false, files: only };
        let (name, parameter) = twice(name);
        Self::of(name, meaning.into(), "address to read".to_owned(), Some(role), move |value, making| {
            let address = address(value, making)?;
            Ok(InputAddress::new(address, parameter.clone(), making.openers.clone()))
        })
    }
}

impl Param<OutputAddress> {
    /// An address that a task writes; a file must be in a folder that exists, and is made, or emptied, when the chain runs.
    pub fn writes(name: impl Into<String>, meaning: impl Into<String>) -> Self {
        let role = AddressOf { is_written: true, files: only };
        let (name, parameter) = twice(name);
        Self::of(name, meaning.into(), "address to write".to_owned(), Some(role), move |value, making| {
            let address = address(value, making)?;
            making.openers.check_writer(&address).map_err(|error| Unfit::Said(error.to_string()))?;
            Ok(OutputAddress::new(address, parameter.clone(), making.openers.clone(), making.is_rehearsal()))
        })
    }
}

fn twice(name: impl Into<String>) -> (String, String) {
    let name = name.into();
    (name.clone(), name)
}

fn address(value: &Value, making: &Making<'_>) -> Result<crate::kinds::Address, Unfit> {
    let text = String::read(value).map_err(Unfit::Wanted)?;
    if text.is_empty() {
        return Err(Unfit::Wanted("a path or an address".to_owned()));
    }
    making.openers.address(&text, making.parameters.folder()).map_err(|error| Unfit::Said(error.to_string()))
}

fn only(path: &Path) -> Vec<PathBuf> {
    vec![path.to_owned()]
}

impl<T: 'static> Param<T> {
    fn of(
        name: String,
        meaning: String,
        type_name: String,
        address: Option<AddressOf>,
        read: impl Fn(&Value, &Making<'_>) -> Result<T, Unfit> + Send + Sync + 'static,
    ) -> Self {
        let told = Parameter {
            name,
            meaning,
            type_name,
            unit: None,
            range: None,
            choices: Vec::new(),
            default: None,
            required: true,
            address,
        };
        Self { told, read: Arc::new(move |value, making| read(value.ok_or(Unfit::Missing)?, making)) }
    }

    fn and_then<U>(self, act: impl Fn(T) -> Result<U, Unfit> + Send + Sync + 'static) -> Param<U> {
        let read = self.read;
        Param { told: self.told, read: Arc::new(move |value, making| act(read(value, making)?)) }
    }

    /// Tells the unit of its numbers.
    #[must_use]
    pub fn unit(mut self, unit: impl Into<String>) -> Self {
        self.told.unit = Some(unit.into());
        self
    }

    /// Gives it a value where none is given.
    #[must_use]
    pub fn default(mut self, value: impl Into<Value>) -> Self {
        (self.told.default, self.told.required) = (Some(value.into()), false);
        self
    }

    /// Lets it be left out: it is `None` then.
    #[must_use]
    pub fn optional(mut self) -> Param<Option<T>> {
        self.told.required = false;
        let read = self.read;
        Param {
            told: self.told,
            read: Arc::new(move |value, making| value.map(|value| read(Some(value), making)).transpose()),
        }
    }

    /// Lists the allowed texts, where the value made from them decides that.
    #[must_use]
    pub fn choices(mut self, names: impl IntoIterator<Item: Into<String>>) -> Self {
        self.told.choices = names.into_iter().map(Into::into).collect();
        self
    }

    /// Converts the value; a failure is reported at the parameter.
    #[must_use]
    pub fn map<U, E: Display>(self, make: impl Fn(T) -> Result<U, E> + Send + Sync + 'static) -> Param<U> {
        self.and_then(move |value| make(value).map_err(|error| Unfit::Said(error.to_string())))
    }

    /// Tells which files are read or written where it is the address of one: a recording may be two.
    #[must_use]
    pub fn files(mut self, files: fn(&Path) -> Vec<PathBuf>) -> Self {
        if let Some(address) = &mut self.told.address {
            address.files = files;
        }
        self
    }

    /// What is known of it.
    pub fn told(&self) -> &Parameter {
        &self.told
    }

    /// An error caused by this parameter: in a chain file it is reported at the parameter's line.
    pub fn refuse(&self, error: impl Display) -> Error {
        refused(&self.told.name, error)
    }

    fn get(&self, making: &Making<'_>) -> Result<T> {
        let Parameter { name, meaning, default, .. } = &self.told;
        let given = making.parameters.get(name);
        let value = given.or(default.as_ref());
        let wanted = |wanted: String| {
            let value = value.map_or_else(String::new, shown);
            Error::build(format!("parameter `{name}` must be {wanted}, not {value}")).of_parameter(name)
        };
        (self.read)(value, making).map_err(|unfit| match unfit {
            Unfit::Missing => {
                let (kind, form) = (making.kind, self.told.form());
                Error::build(format!("parameter `{name}` of `{kind}` is missing: {meaning} ({form})"))
            }
            // A whole number beyond its type is beyond its range, which says more.
            Unfit::Wanted(_) if self.told.range.is_some() && matches!(value, Some(Value::Integer(_))) => {
                wanted(self.told.range().unwrap_or_default())
            }
            Unfit::Wanted(words) => wanted(words),
            Unfit::OutOfRange => {
                let list = if self.told.type_name.starts_with("list") {
                    format!("a {}, each ", self.told.type_name)
                } else {
                    String::new()
                };
                wanted(list + &self.told.range().unwrap_or_default())
            }
            Unfit::Said(words) => self.refuse(words),
        })
    }
}

/// The parameters of a [`Kind`](crate::kinds::Kind) and the type of their values: none, one, or several as a tuple.
pub trait Params: Send + Sync + 'static {
    /// Their values.
    type Values;

    #[doc(hidden)]
    fn told(&self) -> Vec<Parameter>;
    #[doc(hidden)]
    fn values(&self, making: &Making<'_>) -> Result<Self::Values>;
}

impl Params for () {
    type Values = ();
    fn told(&self) -> Vec<Parameter> {
        Vec::new()
    }
    fn values(&self, _: &Making<'_>) -> Result<()> {
        Ok(())
    }
}

impl<T: 'static> Params for Param<T> {
    type Values = T;
    fn told(&self) -> Vec<Parameter> {
        vec![self.told.clone()]
    }
    fn values(&self, making: &Making<'_>) -> Result<T> {
        self.get(making)
    }
}

macro_rules! tuples {
    ($($T:ident $i:tt),+) => {
        impl<$($T: 'static),+> Params for ($(Param<$T>,)+) {
            type Values = ($($T,)+);
            fn told(&self) -> Vec<Parameter> {
                vec![$(self.$i.told.clone()),+]
            }
            fn values(&self, making: &Making<'_>) -> Result<Self::Values> {
                Ok(($(self.$i.get(making)?,)+))
            }
        }
    };
}

tuples!(A 0, B 1);
tuples!(A 0, B 1, C 2);
tuples!(A 0, B 1, C 2, D 3);
tuples!(A 0, B 1, C 2, D 3, E 4);
tuples!(A 0, B 1, C 2, D 3, E 4, F 5);
tuples!(A 0, B 1, C 2, D 3, E 4, F 5, G 6);
tuples!(A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7);

/// The numbers of a range.
fn in_words(least: &Bound<Value>, most: &Bound<Value>) -> String {
    let lowest = match least {
        Bound::Included(lowest) => Some(format!("at least {}", plain(lowest))),
        Bound::Excluded(lowest) => Some(format!("above {}", plain(lowest))),
        Bound::Unbounded => None,
    };
    let highest = match most {
        Bound::Included(highest) => Some(format!("at most {}", plain(highest))),
        Bound::Excluded(highest) => Some(format!("below {}", plain(highest))),
        Bound::Unbounded => None,
    };
    match (least, most, lowest, highest) {
        (Bound::Included(lowest), Bound::Included(highest), ..) => format!("{} to {}", plain(lowest), plain(highest)),
        (_, _, Some(lowest), Some(highest)) => format!("{lowest} and {highest}"),
        (_, _, Some(only), None) | (_, _, None, Some(only)) => only,
        (_, _, None, None) => "any number".to_owned(),
    }
}

/// A number without what a chain file writes to tell a whole one from others.
fn plain(value: &Value) -> String {
    match value {
        Value::Float(number) if number.abs() < 1e16 => number.to_string(),
        value => value.to_string(),
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
    use crate::openers::Openers;
    use crate::parameters::Parameters;

    fn got<P: Params>(params: &P) -> Result<P::Values> {
        let parameters = Parameters::new()
            .with("gain", 2)
            .with("big", i64::MAX)
            .with("not", f64::NAN)
            .with("name", "x")
            .with("long", "x".repeat(1000))
            .with("empty", "")
            .with("on", true)
            .with("taps", vec![0.5, 1.0])
            .with("names", vec!["a", "b"])
            .in_folder("chains");
        params.values(&Making { kind: "test.kind", parameters: &parameters, openers: &Openers::new(), rehearsal: None })
    }

    fn param<T: ParameterType>(name: &str) -> Param<T> {
        Param::new(name, "what it is for")
    }

    fn told<P: Params>(params: &P) -> String {
        got(params).err().unwrap().to_string()
    }

    #[test]
    fn values_are_read_by_their_type() {
        assert_eq!(got(&(param("gain"), param("gain").range(0..=2))).unwrap(), (2.0, 2_u8));
        assert_eq!(got(&(param("name"), param("on"))).unwrap(), ("x".to_owned(), true));
        assert_eq!(got(&Param::reads("name", "it")).unwrap().address().path(), Some(Path::new("chains/x")));
        assert_eq!(got(&param("taps").each(0.0..=1.0)).unwrap(), [0.5, 1.0]);
        assert_eq!(got(&param::<Vec<String>>("names")).unwrap(), ["a", "b"]);
        assert_eq!(got(&param("name").parsed::<char>()).unwrap(), 'x');
        assert_eq!(got(&param("name").one_of(&[("y", 1), ("x", 2)])).unwrap(), 2);
        assert_eq!(got(&(param::<bool>("on").optional(), param::<u8>("off").optional())).unwrap(), (Some(true), None));
        assert_eq!(got(&param::<u8>("off").default(3).map(|x| Ok::<_, Error>(x + 1))).unwrap(), 4);
        got(&()).unwrap();
    }

    #[test]
    fn what_does_not_fit_names_the_parameter_and_what_would() {
        assert_eq!(told(&param("gain").range(0.0..=1.0)), "parameter `gain` must be 0 to 1, not 2");
        let above = (Bound::Excluded(2.0), Bound::Unbounded);
        assert_eq!(told(&param("gain").unit("Hz").range(above)), "parameter `gain` must be above 2 Hz, not 2");
        assert_eq!(told(&param("gain").range(3.0..4.0)), "parameter `gain` must be at least 3 and below 4, not 2");
        assert_eq!(told(&param::<f64>("not")), "parameter `not` must be a number, not NaN");
        assert_eq!(told(&param("on").range(..=1.0)), "parameter `on` must be a number, not true");
        assert_eq!(
            told(&param::<u8>("big")),
            "parameter `big` must be a whole number that u8 holds, not 9223372036854775807"
        );
        assert_eq!(told(&param::<u8>("big").range(1..=9)), "parameter `big` must be 1 to 9, not 9223372036854775807");
        assert_eq!(told(&param::<u8>("not")), "parameter `not` must be a whole number, not NaN");
        assert_eq!(told(&param::<u8>("gain").range(3..)), "parameter `gain` must be at least 3, not 2");
        assert_eq!(told(&param::<bool>("name")), "parameter `name` must be true or false, not \"x\"");
        assert_eq!(told(&param::<String>("on")), "parameter `on` must be text in quotes, not true");
        assert_eq!(told(&Param::reads("empty", "it")), "parameter `empty` must be a path or an address, not \"\"");
        assert_eq!(
            told(&param::<Vec<f64>>("names")),
            "parameter `names` must be a list of numbers, not [\"a\", \"b\"]"
        );
        assert_eq!(
            told(&param("taps").each(0.0..1.0).unit("s")),
            "parameter `taps` must be a list of numbers, each at least 0 and below 1 s, not [0.5, 1.0]"
        );
        assert_eq!(told(&param::<Vec<String>>("taps")), "parameter `taps` must be a list of texts, not [0.5, 1.0]");
        assert_eq!(told(&param("name").parsed::<u8>()), "parameter `name`: invalid digit found in string");
        assert_eq!(
            told(&param("name").one_of(&[("long", 1), ("short", 2)])),
            "parameter `name`: there is no \"x\": there are `long` and `short`"
        );
        assert_eq!(
            told(&param::<u32>("off").range(1..=4)),
            "parameter `off` of `test.kind` is missing: what it is for (whole number, 1 to 4)"
        );
        let long = told(&param::<bool>("long"));
        assert!(long.chars().count() < 120 && long.ends_with('…'), "{long}");
    }
}

//! The keys of a table, read one by one, each with its place in the text.

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::text::{Span, Text};
use crate::error::{Error, Result};
use crate::suggest::suggestion;

/// The most characters of a name.
const LONGEST_NAME: usize = 100;

/// Something, and where it is written.
#[derive(Debug, Clone)]
pub struct At<T> {
    /// It.
    pub value: T,
    /// Where it is.
    pub span: Span,
}

/// The keys of a table that have not been read.
pub struct Table<'t> {
    text: &'t Text,
    /// What the table is, in words.
    what: &'static str,
    /// Where it begins.
    pub span: Span,
    /// In the order of the text.
    keys: Vec<(At<String>, At<DeValue<'t>>)>,
}

impl<'t> Table<'t> {
    /// The table that the whole text is, and what that is, in words.
    pub fn whole(text: &'t Text, what: &'static str) -> Result<Self> {
        let parsed = DeTable::parse(&text.text).map_err(|error| {
            let end = text.text.len();
            text.error(&error.span().unwrap_or(end..end), error.message())
        })?;
        Ok(Self::new(text, what, 0..0, parsed.into_inner()))
    }

    fn new(text: &'t Text, what: &'static str, span: Span, table: DeTable<'t>) -> Self {
        let place = |key: Spanned<_>| At { span: key.span(), value: String::from(key.into_inner()) };
        let mut keys: Vec<_> = table.into_iter().map(|(key, value)| (place(key), at(value))).collect();
        keys.sort_by_key(|(key, _)| key.span.start);
        Self { text, what, span, keys }
    }

    /// Takes a key out, if it is there.
    fn take(&mut self, name: &str) -> Option<At<DeValue<'t>>> {
        let index = self.keys.iter().position(|(key, _)| key.value == name)?;
        Some(self.keys.remove(index).1)
    }

    /// A whole number of a key that may be left out.
    pub fn integer(&mut self, name: &str, most: usize) -> Result<Option<At<usize>>> {
        let Some(At { value, span }) = self.take(name) else { return Ok(None) };
        if !value.is_integer() {
            return Err(self.unfit(&span, name, "a whole number", &value));
        }
        let number = integer(&value).and_then(|number| usize::try_from(number).ok());
        let number = number
            .filter(|number| (1..=most).contains(number))
            .ok_or_else(|| self.text.error(&span, &format!("`{name}` must be 1 to {most}")))?;
        Ok(Some(At { value: number, span }))
    }

    /// A number of a key that may be left out, whole or not.
    pub fn number(&mut self, name: &str) -> Result<Option<At<f64>>> {
        self.take(name).map(|value| self.as_number(name, value)).transpose()
    }

    fn as_number(&self, name: &str, At { value, span }: At<DeValue<'_>>) -> Result<At<f64>> {
        let number = match &value {
            DeValue::Integer(_) => integer(&value).map(|number| number as f64),
            DeValue::Float(number) => number.as_str().parse().ok(),
            _ => None,
        };
        match number {
            Some(value) => Ok(At { value, span }),
            None => Err(self.unfit(&span, name, "a number", &value)),
        }
    }

    /// Text of a key that may be left out.
    pub fn text(&mut self, name: &str) -> Result<Option<At<String>>> {
        let Some(At { value, span }) = self.take(name) else { return Ok(None) };
        match value {
            DeValue::String(text) => Ok(Some(At { value: text.into(), span })),
            other => Err(self.unfit(&span, name, "text in quotes", &other)),
        }
    }

    /// True or false, of a key that may be left out.
    pub fn flag(&mut self, name: &str) -> Result<Option<At<bool>>> {
        let Some(At { value, span }) = self.take(name) else { return Ok(None) };
        match value {
            DeValue::Boolean(value) => Ok(Some(At { value, span })),
            other => Err(self.unfit(&span, name, "true or false", &other)),
        }
    }

    /// A name of a key that may be left out.
    pub fn name(&mut self, key: &str) -> Result<Option<At<String>>> {
        let name = self.text(key)?;
        name.map(|name| self.checked(name)).transpose()
    }

    /// A name that must be there.
    pub fn needed_name(&mut self, key: &str) -> Result<At<String>> {
        self.name(key)?
            .ok_or_else(|| self.text.error(&self.span, &format!("{} needs a `{key}`, as in {key} = \"…\"", self.what)))
    }

    /// The names of a list, none where the key is left out, and where the list is.
    pub fn names(&mut self, key: &str) -> Result<(Vec<At<String>>, Option<Span>)> {
        let Some(At { value, span }) = self.take(key) else { return Ok((Vec::new(), None)) };
        let DeValue::Array(list) = value else {
            return Err(self.unfit(&span, key, "a list of names of wires, as in [\"iq\"]", &value));
        };
        let names = list.into_iter().map(|name| match at(name) {
            At { value: DeValue::String(name), span } => self.checked(At { value: name.into(), span }),
            At { value, span } => Err(self.unfit(&span, key, "a list of texts", &value)),
        });
        Ok((names.collect::<Result<_>>()?, Some(span)))
    }

    /// The tables of an array of tables.
    pub fn tables(&mut self, key: &str, what: &'static str) -> Result<Vec<Table<'t>>> {
        let Some(At { value, span }) = self.take(key) else { return Ok(Vec::new()) };
        let wanted = format!("written as [[{key}]]");
        let DeValue::Array(list) = value else { return Err(self.unfit(&span, key, &wanted, &value)) };
        let tables = list.into_iter().map(|table| match at(table) {
            At { value: DeValue::Table(table), span } => Ok(Table::new(self.text, what, span, table)),
            At { value, span } => Err(self.unfit(&span, key, &wanted, &value)),
        });
        tables.collect()
    }

    /// The numbers of a table, by name.
    pub fn numbers(&mut self, key: &str, what: &'static str) -> Result<Vec<(At<String>, At<f64>)>> {
        let Some(At { value, span }) = self.take(key) else { return Ok(Vec::new()) };
        let DeValue::Table(table) = value else { return Err(self.unfit(&span, key, "a table of numbers", &value)) };
        let table = Table::new(self.text, what, span, table);
        let number = |(name, value): (At<String>, At<DeValue<'t>>)| {
            let value = self.as_number(&name.value, value)?;
            Ok((self.checked(name)?, value))
        };
        table.keys.into_iter().map(number).collect()
    }

    /// The tables of a table, by name.
    pub fn named_tables(&mut self, key: &str, what: &'static str) -> Result<Vec<(At<String>, Table<'t>)>> {
        let Some(At { value, span }) = self.take(key) else { return Ok(Vec::new()) };
        let wanted = format!("written as [{key}.NAME]");
        let DeValue::Table(table) = value else { return Err(self.unfit(&span, key, &wanted, &value)) };
        let tables = Table::new(self.text, what, span, table).keys.into_iter().map(|(name, At { value, span })| {
            let DeValue::Table(table) = value else { return Err(self.unfit(&span, key, &wanted, &value)) };
            Ok((self.checked(name)?, Table::new(self.text, what, span, table)))
        });
        tables.collect()
    }

    /// All keys that are left, each as what `value` makes of it; where that is nothing, the error says what is `wanted`.
    pub fn rest<V>(
        mut self,
        wanted: &str,
        value: impl Fn(&DeValue<'_>) -> Option<V>,
    ) -> Result<Vec<(At<String>, At<V>)>> {
        let keys = std::mem::take(&mut self.keys);
        let read = |(key, At { value: found, span }): (At<String>, At<DeValue<'_>>)| {
            let value = value(&found)
                .ok_or_else(|| self.text.error(&span, &format!("{wanted}, not {}", an(found.type_str()))))?;
            Ok((self.checked(key)?, At { value, span }))
        };
        keys.into_iter().map(read).collect()
    }

    /// Refuses keys that nobody has read.
    pub fn nothing_else(self, known: &[&str]) -> Result<()> {
        let Some((key, _)) = self.keys.first() else { return Ok(()) };
        let message = format!("{} has no `{}`{}", self.what, key.value, suggestion(&key.value, known.iter().copied()));
        Err(self.text.error(&key.span, &message))
    }

    fn checked(&self, name: At<String>) -> Result<At<String>> {
        let length = name.value.chars().count();
        if length == 0 || length > LONGEST_NAME || name.value.contains(char::is_control) {
            let message = format!("a name is 1 to {LONGEST_NAME} characters in one line");
            return Err(self.text.error(&name.span, &message));
        }
        Ok(name)
    }

    fn unfit(&self, span: &Span, key: &str, wanted: &str, value: &DeValue<'_>) -> Error {
        self.text.error(span, &format!("`{key}` must be {wanted}, not {}", an(value.type_str())))
    }
}

fn at<'t>(value: Spanned<DeValue<'t>>) -> At<DeValue<'t>> {
    At { span: value.span(), value: value.into_inner() }
}

/// A whole number of at most 64 bits.
pub fn integer(value: &DeValue<'_>) -> Option<i64> {
    let number = value.as_integer()?;
    i64::from_str_radix(number.as_str(), number.radix()).ok()
}

/// The word with its article.
fn an(noun: &str) -> String {
    let article = if noun.starts_with(['a', 'i']) { "an" } else { "a" };
    format!("{article} {noun}")
}

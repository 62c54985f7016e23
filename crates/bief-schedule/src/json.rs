//! Reading and writing of the crate's JSON documents: the format number, errors with their line and
//! column, and a layout that keeps one task, one core kind or one stage per line.

use std::fmt;
use std::io;
use std::marker::PhantomData;

use serde::de::value::MapAccessDeserializer;
use serde::de::{DeserializeOwned, Error as _, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::ser::Formatter;

use crate::error::{Error, ErrorKind};

/// A kind of document, for the messages.
pub struct Document {
    pub name: &'static str,
    /// The smallest document of this kind, shown to who wrote another one.
    pub shape: &'static str,
}

/// The number of the only format there is. It is read from `"format": 1` and refuses any other value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Format;

const FORMAT: u64 = 1;

impl Serialize for Format {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(FORMAT)
    }
}

impl<'de> Deserialize<'de> for Format {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let found = serde_json::Value::deserialize(deserializer)?;
        if found.as_u64() == Some(FORMAT) {
            Ok(Self)
        } else {
            Err(D::Error::custom(format!(
                "format {found} is unknown: this version of bief reads format {FORMAT}; \
                 take the version of bief that wrote the document, or convert it"
            )))
        }
    }
}

/// A structure that is read from an object only. Serde would take its values from an array, too, and with
/// that make the order of its members part of the format.
pub struct Object<T>(pub T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ObjectVisitor<T>(PhantomData<T>);

        impl<'de, T: Deserialize<'de>> Visitor<'de> for ObjectVisitor<T> {
            type Value = Object<T>;

            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
                T::deserialize(MapAccessDeserializer::new(map)).map(Object)
            }
        }

        deserializer.deserialize_map(ObjectVisitor(PhantomData))
    }
}

/// Reads an array of objects.
pub fn objects<'de, D: Deserializer<'de>, T: Deserialize<'de>>(deserializer: D) -> Result<Vec<T>, D::Error> {
    let objects = Vec::<Object<T>>::deserialize(deserializer)?;
    Ok(objects.into_iter().map(|object| object.0).collect())
}

/// Reads an array of objects and nulls for a key that may be left out.
pub(crate) fn some_optional_objects<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    deserializer: D,
) -> Result<Option<Vec<Option<T>>>, D::Error> {
    let objects = Vec::<Option<Object<T>>>::deserialize(deserializer)?;
    Ok(Some(objects.into_iter().map(|object| object.map(|object| object.0)).collect()))
}

/// The one key that is looked at before all others, so that a document of another format is refused for
/// its format and not for a key of that format.
#[derive(Deserialize)]
struct Header {
    #[serde(rename = "format")]
    _format: Format,
}

/// Reads a document into the structure that mirrors its keys.
pub fn read<T: DeserializeOwned>(text: &str, document: &Document) -> Result<T, Error> {
    let parse = || -> serde_json::Result<T> {
        serde_json::from_str::<Object<Header>>(text)?;
        Ok(serde_json::from_str::<Object<T>>(text)?.0)
    };
    parse().map_err(|error| {
        let message = error.to_string();
        let position = format!(" at line {} column {}", error.line(), error.column());
        let mut reason = message.strip_suffix(&position).unwrap_or(&message).to_owned();
        if error.is_data() {
            reason = format!("{reason}; a {} reads {}", document.name, document.shape);
        } else {
            reason = format!("{reason}; the text is not JSON there");
        }
        let place = format!("{}, line {} column {}", document.name, error.line(), error.column());
        Error::new(ErrorKind::Json, place, reason)
    })
}

/// Writes a document, ended by a newline.
pub fn write<T: Serialize>(document: &T) -> String {
    let mut text = Vec::new();
    let mut serializer = serde_json::Serializer::with_formatter(&mut text, OneElementPerLine::default());
    document.serialize(&mut serializer).expect("documents are plain structures: writing them to memory cannot fail");
    text.push(b'\n');
    String::from_utf8(text).expect("serde_json writes UTF-8")
}

/// Layout: each top-level key on its line, and the objects of a top-level array each on theirs; what lies
/// deeper stays on the line.
#[derive(Default)]
struct OneElementPerLine {
    depth: usize,
    lines: bool,
}

impl Formatter for OneElementPerLine {
    fn begin_object<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        if self.depth == 2 {
            self.lines = true;
            writer.write_all(b"\n    ")?;
        }
        self.depth += 1;
        writer.write_all(b"{")
    }

    fn end_object<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.depth -= 1;
        writer.write_all(if self.depth == 0 { b"\n}" } else { b"}" })
    }

    fn begin_object_key<W: ?Sized + io::Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        if !first {
            writer.write_all(b",")?;
        }
        match (self.depth, first) {
            (1, _) => writer.write_all(b"\n  "),
            (_, true) => Ok(()),
            (_, false) => writer.write_all(b" "),
        }
    }

    fn begin_object_value<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        writer.write_all(b": ")
    }

    fn begin_array<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        if self.depth == 1 {
            self.lines = false;
        }
        self.depth += 1;
        writer.write_all(b"[")
    }

    fn end_array<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.depth -= 1;
        writer.write_all(if self.depth == 1 && self.lines { b"\n  ]" } else { b"]" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layout_keeps_one_element_per_line() {
        let document = serde_json::json!({
            "a": 1, "b": ["x", "y"], "c": [{"d": 1, "e": [1, 2]}, {"d": 2}], "f": [], "g": {"h": 1, "i": 2},
            "j": [{"k": [{"l": 1}, {"l": 2}]}]
        });
        let text = write(&document);
        let expected = r#"{
  "a": 1,
  "b": ["x","y"],
  "c": [
    {"d": 1, "e": [1,2]},
    {"d": 2}
  ],
  "f": [],
  "g": {"h": 1, "i": 2},
  "j": [
    {"k": [{"l": 1},{"l": 2}]}
  ]
}
"#;
        assert_eq!(text, expected);
        assert_eq!(serde_json::from_str::<serde_json::Value>(&text).unwrap(), document);
    }
}

//! The tasks that leave, as a text: a chain file of its own, between a task that stands for the wires that come and one for those that go.

use std::fmt::Write;

use bief::kinds::Value;
use bief::raw::Shape;
use bief::{ChainFile, Error, Registry, Result};

use crate::cut::Cut;
use crate::wires::WireKind;

/// The kinds of the two tasks that stand for the rest of the chain.
const COMES: &str = "pool.comes";
const GOES: &str = "pool.goes";

/// The longest text that is read, and the longest frame on a wire, in bytes: far more than is of use.
const MOST_TEXT: usize = 1 << 20;
const MOST_BYTES: usize = 1 << 30;

impl Cut {
    /// The tasks that leave as a text, for [`read`](Self::read) on another machine; `inputs` are what they read, as for
    /// [`segment`](Self::segment).
    pub fn text(&self, inputs: &[WireKind]) -> String {
        let tasks: Vec<_> = self.leaving().collect();
        let unused = |mut name: String| {
            while tasks.iter().any(|task| task.name() == name) {
                name.push('\'');
            }
            name
        };
        let mut text = String::new();
        task(&mut text, &unused("comes".to_owned()), COMES, &[], &list(self.inputs()));
        let elements = inputs.iter().map(|kind| Value::Text(kind.elements.to_string())).collect();
        key(&mut text, "elements", &Value::List(elements));
        let dims = |shape: &Shape| shape.dims().iter().map(|&dim| Value::Integer(dim as i64)).collect();
        key(&mut text, "shapes", &Value::List(inputs.iter().map(|kind| Value::List(dims(&kind.shape))).collect()));
        key(&mut text, "variable", &Value::List(inputs.iter().map(|kind| Value::Bool(kind.variable)).collect()));
        for leaving in &tasks {
            let (reads, makes) = (leaving.inputs().collect::<Vec<_>>(), leaving.outputs().collect::<Vec<_>>());
            task(&mut text, leaving.name(), leaving.kind(), &reads, &makes);
            leaving.parameters().for_each(|(name, value)| key(&mut text, name, value));
        }
        task(&mut text, &unused("goes".to_owned()), GOES, &list(self.outputs()), &[]);
        text
    }

    /// Reads a [`text`](Self::text): the tasks, and the wires that they read.
    ///
    /// # Errors
    /// What is no such text; kinds that are not here, that name what is on a machine, or are of another form here.
    pub fn read(text: &str, registry: &Registry) -> Result<(Self, Vec<WireKind>)> {
        if text.len() > MOST_TEXT {
            return Err(Error::new(format!("the tasks have {} bytes of text, more than {MOST_TEXT}", text.len())));
        }
        let file = ChainFile::parse(text, "the tasks")?;
        let tasks: Vec<_> = file.tasks().collect();
        let [comes, leaving @ .., goes] = &tasks[..] else { return Err(foreign()) };
        if comes.kind() != COMES || goes.kind() != GOES {
            return Err(foreign());
        }
        let parameter = |wanted| comes.parameters().find(|(name, _)| *name == wanted).map(|(_, value)| value);
        let (Some(Value::List(elements)), Some(Value::List(shapes)), Some(Value::List(variable))) =
            (parameter("elements"), parameter("shapes"), parameter("variable"))
        else {
            return Err(foreign());
        };
        let wires = elements.iter().zip(shapes).zip(variable).map(|((elements, shape), variable)| {
            let (Value::Text(elements), Value::List(dims), &Value::Bool(variable)) = (elements, shape, variable) else {
                return Err(foreign());
            };
            let dim = |dim: &Value| match dim {
                Value::Integer(dim) => usize::try_from(*dim).map_err(|_| foreign()),
                _ => Err(foreign()),
            };
            let dims = dims.iter().map(dim).collect::<Result<Vec<_>>>()?;
            let kind = WireKind { elements: elements.parse()?, shape: Shape::from(&dims[..]), variable };
            let bytes = kind.bytes();
            match bytes <= MOST_BYTES {
                true => Ok(kind),
                false => Err(Error::new(format!("a wire of {bytes} bytes a frame is longer than {MOST_BYTES}"))),
            }
        });
        let wires = wires.collect::<Result<Vec<_>>>()?;
        let cut = Self::new(&file, 1..1 + leaving.len(), registry)?;
        // The order is that of the text: what wires are called decides nothing.
        let named: Vec<&str> = comes.outputs().collect();
        if wires.len() != named.len() || !cut.inputs().iter().eq(&named) {
            return Err(foreign());
        }
        Ok((cut, wires))
    }
}

fn foreign() -> Error {
    Error::new("this is no text of tasks that leave: are both sides of one version of Bief?")
}

fn list(names: &[String]) -> Vec<&str> {
    names.iter().map(|name| &**name).collect()
}

fn task(text: &mut String, name: &str, kind: &str, reads: &[&str], makes: &[&str]) {
    text.push_str("[[task]]\n");
    let words = |names: &[&str]| Value::List(names.iter().map(|&name| Value::Text(name.to_owned())).collect());
    key(text, "name", &Value::Text(name.to_owned()));
    key(text, "kind", &Value::Text(kind.to_owned()));
    [("in", reads), ("out", makes)]
        .iter()
        .filter(|(_, names)| !names.is_empty())
        .for_each(|(name, names)| key(text, name, &words(names)));
}

fn key(text: &mut String, name: &str, value: &Value) {
    quoted(text, name);
    text.push_str(" = ");
    write(text, value);
    text.push('\n');
}

/// A value in TOML.
fn write(text: &mut String, value: &Value) {
    match value {
        Value::Text(words) => quoted(text, words),
        Value::List(values) => {
            text.push('[');
            for value in values {
                write(text, value);
                text.push(',');
            }
            text.push(']');
        }
        Value::Float(number) if number.is_nan() => text.push_str("nan"),
        // Others are written alike in Rust and TOML.
        value => write!(text, "{value}").expect("a text takes what it gets"),
    }
}

fn quoted(text: &mut String, words: &str) {
    text.push('"');
    for letter in words.chars() {
        match letter {
            '"' | '\\' => text.extend(['\\', letter]),
            letter if letter.is_control() => {
                write!(text, "\\U{:08X}", u32::from(letter)).expect("a text takes what it gets");
            }
            letter => text.push(letter),
        }
    }
    text.push('"');
}

//! The sockets of a task as text: `in complex<f32>, out 64 x f32`.

use runtime::raw::{Direction, Dtype, Shape, SocketKind};

use crate::fault::{Fault, Result};

/// A socket that a task declares.
#[derive(Debug, Clone)]
pub(crate) struct Declared {
    pub(crate) kind: SocketKind,
    /// The shape of its frames, where the text says it.
    pub(crate) shape: Option<Shape>,
    text: String,
}

impl Declared {
    /// Reads all sockets, inputs and outputs in the order in which a task gets them.
    pub(crate) fn all(text: &str) -> Result<Vec<Self>> {
        let is_empty = text.trim().is_empty();
        let parts = text.split(',').filter(|_| !is_empty);
        parts.map(|part| Self::one(part.trim()).map_err(|reason| refused(part.trim(), &reason))).collect()
    }

    fn one(text: &str) -> Result<Self, String> {
        let mut words = text.split_whitespace().peekable();
        let direction = match words.next() {
            Some("in") => Direction::In,
            Some("in-place") => Direction::InOut,
            Some("out") => Direction::Out,
            _ => return Err("it begins with `in`, `in-place` or `out`".to_owned()),
        };
        let variable = words.next_if_eq(&"variable").is_some();
        let mut words: Vec<&str> = words.collect();
        let element = words.pop().ok_or("the kind of element is missing, such as `f32`")?;
        let dtype: Dtype = element.parse().map_err(|error: runtime::Error| error.message().to_owned())?;
        let kind = SocketKind::of(&dtype, direction, variable).map_err(|error| error.message().to_owned())?;
        let dims = words.chunks(2).map(|pair| match pair {
            [number, "x"] => number.parse().map_err(|_| format!("`{number}` is no number of elements")),
            _ => Err("a length is written `64 x`".to_owned()),
        });
        let dims = dims.collect::<Result<Vec<usize>, String>>()?;
        let shape = (!dims.is_empty()).then(|| Shape::from(&*dims));
        if shape.as_ref().is_some_and(|shape| shape.len() == 0) {
            return Err("a frame has at least one element".to_owned());
        }
        Ok(Self { kind, shape, text: text.to_owned() })
    }

    pub(crate) fn is_output(&self) -> bool {
        self.kind.direction() == Direction::Out
    }

    /// Why frames of this shape do not fit.
    pub(crate) fn refuses(&self, number: usize, shape: &Shape) -> Option<String> {
        let wanted = self.shape.as_ref()?;
        let (fits, most) = match self.kind.is_variable() {
            true => (shape.len() <= wanted.len(), "at most "),
            false => (shape.len() == wanted.len(), ""),
        };
        (!fits).then(|| format!("input {number} takes frames of {most}{wanted} elements (`{}`)", self.text))
    }
}

fn refused(part: &str, reason: &str) -> Fault {
    Fault::argument(format!(
        "socket `{part}`: {reason}; write for example `in f32`, `in-place complex<f32>`, `out 64 x u8` or \
         `out variable 188 x u8`"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sockets_are_read() {
        let sockets = Declared::all("in complex<f32>, in-place variable u8,out 2 x 3 x f64").unwrap();
        let shown: Vec<String> = sockets.iter().map(|socket| socket.kind.to_string()).collect();
        assert_eq!(shown, ["in Complex<f32>", "in-place variable u8", "out f64"]);
        assert_eq!(sockets[2].shape.as_ref().unwrap().dims(), [2, 3]);
        assert!(Declared::all(" ").unwrap().is_empty());
    }

    #[test]
    fn what_is_no_socket_is_refused_with_an_example() {
        for (text, reason) in [
            ("f32", "socket `f32`: it begins with `in`, `in-place` or `out`; write"),
            ("in f32,", "socket ``: it begins with"),
            ("in", "the kind of element is missing"),
            ("in f33", "`f33` is no kind of element"),
            ("out x f32", "a length is written `64 x`"),
            ("out 1.5 x f32", "`1.5` is no number of elements"),
            ("out 0 x f32", "a frame has at least one element"),
            ("out {a: u8}", "is no kind of element"),
        ] {
            let error = format!("{:?}", Declared::all(text).unwrap_err());
            assert!(error.contains(reason), "{text}: {error}");
        }
    }
}

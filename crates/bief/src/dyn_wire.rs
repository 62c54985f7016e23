//! Wires whose element type is known only when the program runs.

use std::sync::Arc;

use crate::dtype::Dtype;
use crate::error::{Error, Result};
use crate::frame::Format;
use crate::shape::Shape;
use crate::socket::{Socket, SocketKind};

/// A wire whose element type is known at run time. It can be copied: what may not be read while it is rewritten is checked
/// when a task is bound to it.
///
/// It comes from [`Chain::add_dyn`](crate::Chain::add_dyn), or from a typed wire by `DynWire::from(&wire)`, and becomes a typed one again by
/// [`typed`](Self::typed).
#[derive(Debug, Clone)]
pub struct DynWire {
    pub(crate) chain: u64,
    pub(crate) socket: Socket,
    pub(crate) format: Format,
    pub(crate) shape: Shape,
    /// Its frames differ in length: the lengths are the wire after it.
    pub(crate) variable: bool,
    /// No task may rewrite it: all positions of a batch, or all stages, share its one frame.
    pub(crate) read_only: bool,
    /// Who makes it, in words.
    pub(crate) maker: Arc<str>,
}

impl DynWire {
    /// The element type, such as `Complex<f32>`.
    pub fn element(&self) -> String {
        self.format.element()
    }

    /// Elements in one frame; the most that there may be, when the wire is variable.
    #[allow(clippy::len_without_is_empty, reason = "a frame's length, not a collection's")]
    pub fn len(&self) -> usize {
        self.socket.len
    }

    /// The shape of a frame: its length, unless the task that makes it says more ([`Task::shapes`](crate::Task::shapes)). Of a variable wire it is
    /// that of the longest frame.
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// What its elements are, for a type that is portable and known as such ([`Dtype::register`]).
    pub fn dtype(&self) -> Option<Dtype> {
        Dtype::known(self.format.id)
    }

    /// Whether each frame has a length of its own.
    pub fn is_variable(&self) -> bool {
        self.variable
    }

    pub(crate) fn carries(&self, socket: &SocketKind) -> Result<()> {
        match self.mismatch(socket) {
            None => Ok(()),
            Some((wanted, got)) => Err(Error::build(format!("a wire of {wanted} is wanted, not of {got}"))),
        }
    }

    /// What a socket wants and this wire does not carry: what is wanted, and what there is.
    pub(crate) fn mismatch(&self, socket: &SocketKind) -> Option<(String, String)> {
        let (wanted, got) = if socket.format.id != self.format.id {
            match (socket.element(), self.element()) {
                // Two types of one name: their paths tell which is which.
                (wanted, got) if wanted == got => (socket.format.name.to_owned(), self.format.name.to_owned()),
                different => different,
            }
        } else if socket.variable != self.variable {
            let frames = |variable| format!("frames of {} length", if variable { "variable" } else { "one" });
            (frames(socket.variable), frames(self.variable))
        } else {
            return None;
        };
        Some((wanted, format!("{got} from {}", self.maker)))
    }

    /// The places in the table that it takes.
    pub(crate) fn places(&self) -> std::ops::Range<usize> {
        self.socket.wire..self.socket.wire + 1 + usize::from(self.variable)
    }
}

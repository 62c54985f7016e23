//! Sockets: what a task does with a wire, what it wants the wire to carry, and where the executor finds it.

use std::fmt;

use crate::dtype::Dtype;
use crate::error::Result;
use crate::frame::{Element, Format};

/// What a task does with the wire of a socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Direction {
    /// Reads it.
    In,
    /// Rewrites it in place.
    InOut,
    /// Makes it.
    Out,
}

/// The elements and the direction of a socket. Shown as `in f32`, `in-place u8`, `out variable Complex<f32>`.
#[derive(Debug, Clone, Copy)]
pub struct SocketKind {
    pub(crate) direction: Direction,
    pub(crate) variable: bool,
    pub(crate) format: Format,
}

impl SocketKind {
    /// A socket of frames of one length, for a task whose sockets are known at run time
    /// ([`RawTask`](crate::raw::RawTask)).
    ///
    /// ```
    /// use bief::raw::{Direction, SocketKind};
    ///
    /// let socket = SocketKind::fixed::<f32>(Direction::In);
    /// assert_eq!(socket.to_string(), "in f32");
    /// assert_eq!(socket.dtype().expect("a number is portable").to_string(), "f32");
    /// assert_eq!(SocketKind::variable::<u8>(Direction::Out).to_string(), "out variable u8");
    /// ```
    pub fn fixed<T: Element>(direction: Direction) -> Self {
        Self { direction, variable: false, format: Format::of::<T>() }
    }

    /// Like [`fixed`](Self::fixed), for frames of variable length.
    pub fn variable<T: Element>(direction: Direction) -> Self {
        Self { direction, variable: true, format: Format::of::<T>() }
    }

    /// As [`fixed`](Self::fixed), or as [`variable`](Self::variable), for elements of a type that is named at run time.
    ///
    /// ```
    /// use bief::raw::{Direction, SocketKind};
    ///
    /// let socket = SocketKind::of(&"complex<f32>".parse()?, Direction::InOut, false)?;
    /// assert_eq!(socket.to_string(), "in-place Complex<f32>");
    /// # Ok::<(), bief::Error>(())
    /// ```
    ///
    /// # Errors
    /// A kind of element that no known type has: see [`Dtype::register`].
    pub fn of(dtype: &Dtype, direction: Direction, variable: bool) -> Result<Self> {
        Ok(Self { direction, variable, format: dtype.format()? })
    }

    /// What the task does with its wire.
    pub fn direction(&self) -> Direction {
        self.direction
    }

    /// Whether each frame has a length of its own.
    pub fn is_variable(&self) -> bool {
        self.variable
    }

    /// The element type, such as `Complex<f32>`.
    pub fn element(&self) -> String {
        self.format.element()
    }

    /// What its elements are, for a type that is portable and known as such ([`Dtype::register`]).
    pub fn dtype(&self) -> Option<Dtype> {
        Dtype::known(self.format.id)
    }
}

impl fmt::Display for SocketKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let direction = match self.direction {
            Direction::In => "in",
            Direction::InOut => "in-place",
            Direction::Out => "out",
        };
        let variable = if self.variable { "variable " } else { "" };
        write!(f, "{direction} {variable}{}", self.element())
    }
}

/// One socket, as the executor sees it: which wire, and how many elements in a frame.
#[doc(hidden)]
#[derive(Debug, Clone, Copy)]
pub struct Socket {
    pub(crate) wire: usize,
    pub(crate) len: usize,
    /// Elements from one frame of a batch to the next: `len`, or 0 where all positions share one frame.
    pub(crate) stride: usize,
}

impl Socket {
    /// Where the frame at `position` of this wire's batch begins.
    ///
    /// # Safety
    /// `table[self.wire]` points at a live batch buffer of `T` with more than `position` frames.
    pub(crate) unsafe fn frame<T>(self, table: &[*mut u8], position: usize) -> *mut T {
        // SAFETY: the caller promises that the frame lies inside the buffer.
        unsafe { table[self.wire].cast::<T>().add(position * self.stride) }
    }
}

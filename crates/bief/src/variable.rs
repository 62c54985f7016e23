//! Frames whose length differs from frame to frame: sockets ([`InVar`], [`InOutVar`], [`OutVar`]), the [`VarWire`] that
//! joins them, and the [`VarFrame`] that a task fills.
//!
//! In the table such a wire is two: its elements, and after it one length per frame. So it travels like any other.

use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};

use crate::dyn_wire::DynWire;
use crate::error::{Error, Result};
use crate::frame::Element;
use crate::shape::Shape;
use crate::socket::{Direction, Socket, SocketKind};
use crate::wire::{Input, Output, sealed};

/// A socket that reads a variable wire: the task sees `&[T]`, as long as this frame is. Bound with `&wire`.
#[derive(Debug)]
pub struct InVar<T>(PhantomData<fn() -> T>);

/// A socket that rewrites a variable wire in place: the task sees a [`VarFrame`] and may change elements and length.
/// Bound with `&mut wire`.
#[derive(Debug)]
pub struct InOutVar<T>(PhantomData<fn() -> T>);

/// A socket that makes a new variable wire: the task fills an empty [`VarFrame`].
///
/// ```
/// use bief::{Chain, Flow, In, InVar, OutVar, Result, Task, VarFrame, sink, source};
///
/// /// Passes on the numbers that are not zero.
/// struct NonZero;
///
/// impl Task for NonZero {
///     type In = In<u8>;
///     type Out = OutVar<u8>;
///     fn lens(&self, input: usize) -> Result<usize> {
///         Ok(input) // at most
///     }
///     fn run(&mut self, input: &[u8], mut kept: VarFrame<'_, u8>) -> Result<Flow> {
///         for &number in input.iter().filter(|&&number| number != 0) {
///             kept.push(number)?;
///         }
///         Ok(Flow::Next)
///     }
/// }
///
/// struct Print;
///
/// impl Task for Print {
///     type In = InVar<u8>;
///     type Out = ();
///     fn lens(&self, _: usize) -> Result<()> {
///         Ok(())
///     }
///     fn run(&mut self, numbers: &[u8], (): ()) -> Result<Flow> {
///         println!("{numbers:?}");
///         Ok(Flow::Next)
///     }
/// }
///
/// let mut chain = Chain::new();
/// let numbers = chain.add(source::from_slice(&[1, 0, 2, 0, 0, 3], 3), ());
/// let kept = chain.add(NonZero, &numbers);
/// chain.add(Print, &kept); // [1, 2], then [3]
/// chain.build()?.run()?;
/// # Ok::<(), bief::Error>(())
/// ```
#[derive(Debug)]
pub struct OutVar<T>(PhantomData<fn() -> T>);

/// Frames of up to [`capacity`](VarWire::capacity) elements of `T`, each with its own length, made by a task and read
/// by later ones.
///
/// It is lent as a [`Wire`](crate::Wire) is: `&wire` to read, `&mut wire` to rewrite.
#[derive(Debug)]
pub struct VarWire<T> {
    pub(crate) untyped: DynWire,
    /// As in [`Wire`](crate::Wire).
    element: PhantomData<fn(T) -> T>,
}

impl<T> VarWire<T> {
    /// The wire seen as one of `T`, which the caller has made sure of.
    pub(crate) fn new(untyped: DynWire) -> Self {
        Self { untyped, element: PhantomData }
    }

    /// The most elements that a frame may have.
    pub fn capacity(&self) -> usize {
        self.untyped.socket.len
    }

    /// The shape of the longest frame that there may be.
    pub fn shape(&self) -> &Shape {
        &self.untyped.shape
    }
}

impl DynWire {
    /// As [`typed`](Self::typed), for a wire of variable length.
    ///
    /// # Errors
    /// Another element type, or frames of one length.
    pub fn typed_var<T: Element>(&self) -> Result<VarWire<T>> {
        self.carries(&SocketKind::variable::<T>(Direction::In))?;
        Ok(VarWire::new(self.clone()))
    }
}

impl<T> From<&VarWire<T>> for DynWire {
    fn from(wire: &VarWire<T>) -> Self {
        wire.untyped.clone()
    }
}

/// One frame of a variable wire, to be written: a slice of the frame's length, which can grow up to the capacity.
#[derive(Debug)]
pub struct VarFrame<'a, T> {
    /// As many as the capacity.
    elements: &'a mut [T],
    len: &'a mut usize,
}

impl<T: Element> VarFrame<'_, T> {
    /// The most elements that the frame may have.
    pub fn capacity(&self) -> usize {
        self.elements.len()
    }

    /// All elements up to the capacity, whatever the length: to be filled before [`set_len`](Self::set_len).
    ///
    /// Those past the length hold what an earlier frame left there (defaults at first).
    pub fn space(&mut self) -> &mut [T] {
        self.elements
    }

    /// Makes the frame `len` elements long. It does not write elements: see [`space`](Self::space).
    ///
    /// # Errors
    /// A length above the capacity; the frame stays as it is.
    pub fn set_len(&mut self, len: usize) -> Result<()> {
        if len > self.capacity() {
            return Err(self.too_long(len));
        }
        *self.len = len;
        Ok(())
    }

    /// Makes the frame empty.
    pub fn clear(&mut self) {
        *self.len = 0;
    }

    /// Appends an element.
    ///
    /// # Errors
    /// A frame that is full; it stays as it is.
    pub fn push(&mut self, element: T) -> Result<()> {
        self.extend_from_slice(&[element])
    }

    /// Appends elements.
    ///
    /// # Errors
    /// More elements than there is room for; the frame stays as it is.
    pub fn extend_from_slice(&mut self, elements: &[T]) -> Result<()> {
        let old = *self.len;
        let Some(room) = self.elements[old..].get_mut(..elements.len()) else {
            return Err(self.too_long(old.saturating_add(elements.len())));
        };
        room.copy_from_slice(elements);
        *self.len = old + elements.len();
        Ok(())
    }

    fn too_long(&self, len: usize) -> Error {
        too_long(len, self.capacity())
    }
}

impl<T> Deref for VarFrame<'_, T> {
    type Target = [T];
    fn deref(&self) -> &[T] {
        &self.elements[..*self.len]
    }
}

impl<T> DerefMut for VarFrame<'_, T> {
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.elements[..*self.len]
    }
}

/// What a frame is refused that is longer than it may be.
pub(crate) fn too_long(len: usize, capacity: usize) -> Error {
    Error::new(format!(
        "a frame of {len} elements is longer than the capacity of {capacity}: return a larger capacity from `lens`"
    ))
}

/// Where the length of the frame at `position` is.
///
/// # Safety
/// `socket` is of a variable wire: the buffer after its own in the table is live and holds a length for this position.
pub(crate) unsafe fn length(table: &[*mut u8], socket: Socket, position: usize) -> *mut usize {
    // SAFETY: the caller promises the buffer and the position in it.
    unsafe { table[socket.wire + 1].cast::<usize>().add(position) }
}

/// # Safety
/// As [`Input::slice`] with a mutable slice.
unsafe fn var_frame<'a, T>(table: &[*mut u8], socket: Socket, position: usize) -> VarFrame<'a, T> {
    // SAFETY: the caller promises a live frame of `T`, with room for the capacity, and its length in the buffer after,
    // both used by nobody else meanwhile.
    unsafe {
        VarFrame {
            elements: std::slice::from_raw_parts_mut(socket.frame(table, position), socket.len),
            len: &mut *length(table, socket, position),
        }
    }
}

impl<T: Element> sealed::Sealed for InVar<T> {}
impl<T: Element> Input for InVar<T> {
    type Wire<'w> = &'w VarWire<T>;
    type Slice<'a> = &'a [T];
    fn kind() -> SocketKind {
        SocketKind::variable::<T>(Direction::In)
    }
    fn untyped(wire: &&VarWire<T>) -> DynWire {
        wire.untyped.clone()
    }
    unsafe fn slice<'a>(table: &[*mut u8], socket: Socket, position: usize) -> &'a [T] {
        // SAFETY: the caller promises a live frame of `T` that nobody writes meanwhile. Lengths are 0 at first and are
        // written by `VarFrame` alone, which keeps them within the capacity.
        unsafe {
            let len = *length(table, socket, position);
            std::slice::from_raw_parts(socket.frame(table, position), len)
        }
    }
}

impl<T: Element> sealed::Sealed for InOutVar<T> {}
impl<T: Element> Input for InOutVar<T> {
    type Wire<'w> = &'w mut VarWire<T>;
    type Slice<'a> = VarFrame<'a, T>;
    fn kind() -> SocketKind {
        SocketKind::variable::<T>(Direction::InOut)
    }
    fn untyped(wire: &&mut VarWire<T>) -> DynWire {
        wire.untyped.clone()
    }
    unsafe fn slice<'a>(table: &[*mut u8], socket: Socket, position: usize) -> VarFrame<'a, T> {
        // SAFETY: passed on to the caller.
        unsafe { var_frame(table, socket, position) }
    }
}

impl<T: Element> sealed::Sealed for OutVar<T> {}
impl<T: Element> Output for OutVar<T> {
    type Wire = VarWire<T>;
    type Slice<'a> = VarFrame<'a, T>;
    fn kind() -> SocketKind {
        SocketKind::variable::<T>(Direction::Out)
    }
    fn wire(untyped: DynWire, _: sealed::Key) -> VarWire<T> {
        VarWire::new(untyped)
    }
    unsafe fn slice<'a>(table: &[*mut u8], socket: Socket, position: usize) -> VarFrame<'a, T> {
        // SAFETY: passed on to the caller.
        let mut frame: VarFrame<'a, T> = unsafe { var_frame(table, socket, position) };
        frame.clear();
        frame
    }
}

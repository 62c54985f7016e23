//! Typed sockets ([`In`], [`InOut`], [`Out`]), the [`Wire`]s that join them, and the slices that a task sees.
//!
//! Types are proven here, when a chain is written, and forgotten ([`DynWire`]); what runs afterwards is a table of pointers.

use std::marker::PhantomData;
use std::sync::Arc;

use crate::dyn_wire::DynWire;
use crate::error::Result;
use crate::frame::{Buffer, Element, Format};
use crate::shape::Shape;
use crate::socket::{Direction, Socket, SocketKind};

/// A socket that reads a wire: the task sees `&[T]`, one frame. Bound with `&wire`.
#[derive(Debug)]
pub struct In<T>(PhantomData<fn() -> T>);

/// A socket that rewrites a wire in place: the task sees `&mut [T]`, one frame. Bound with `&mut wire`.
///
/// Tasks added before see the old values, tasks added after it the new ones.
#[derive(Debug)]
pub struct InOut<T>(PhantomData<fn() -> T>);

/// A socket that makes a new wire: the task fills `&mut [T]`, one frame.
///
/// The frame holds whatever an earlier frame left there (defaults at first): write all of it.
#[derive(Debug)]
pub struct Out<T>(PhantomData<fn() -> T>);

/// Frames of [`len`](Wire::len) elements of `T`, made by a task and read by later ones.
///
/// A wire is made by [`Chain::add`](crate::Chain::add) and belongs to that chain. It cannot be copied: to read it lend
/// `&wire`, to rewrite it in place lend `&mut wire`.
#[derive(Debug)]
pub struct Wire<T> {
    pub(crate) untyped: DynWire,
    /// Neither a subtype nor a supertype may stand in for `T`: who reads the wire must find what others wrote to it.
    element: PhantomData<fn(T) -> T>,
}

impl<T> Wire<T> {
    /// The wire seen as one of `T`, which the caller has made sure of.
    pub(crate) fn new(untyped: DynWire) -> Self {
        Self { untyped, element: PhantomData }
    }

    /// Elements in one frame.
    #[allow(clippy::len_without_is_empty, reason = "a frame's length, not a collection's")]
    pub fn len(&self) -> usize {
        self.untyped.socket.len
    }

    /// The shape of a frame: its length, unless the task that makes it says more ([`Task::shapes`](crate::Task::shapes)).
    pub fn shape(&self) -> &Shape {
        &self.untyped.shape
    }
}

impl DynWire {
    /// The same wire, to be bound to tasks by [`Chain::add`](crate::Chain::add).
    ///
    /// # Errors
    /// Another element type, or frames of variable length: see [`typed_var`](Self::typed_var).
    pub fn typed<T: Element>(&self) -> Result<Wire<T>> {
        self.carries(&SocketKind::fixed::<T>(Direction::In))?;
        Ok(Wire::new(self.clone()))
    }
}

impl<T> From<&Wire<T>> for DynWire {
    fn from(wire: &Wire<T>) -> Self {
        wire.untyped.clone()
    }
}

/// A wire in its place.
#[derive(Debug, Clone)]
pub(crate) struct WireInfo {
    pub(crate) format: Format,
    pub(crate) len: usize,
    pub(crate) shape: Shape,
    /// The task that makes it, and the last one that uses it.
    pub(crate) maker: usize,
    pub(crate) last_user: usize,
    /// The values, when they are the same for every frame: such a wire is at hand in every stage and crosses none.
    pub(crate) constant: Option<Arc<Buffer>>,
    /// The loop, path or feedback in which it was made, when it may be used there alone.
    pub(crate) block: usize,
    /// Who uses it, in the order of the chain.
    pub(crate) uses: Vec<Use>,
}

impl WireInfo {
    /// Whether it is made before task `end` and used from there on.
    pub(crate) fn crosses(&self, end: usize) -> bool {
        self.maker < end && self.last_user >= end
    }
}

/// A task, or a region, bound to a wire.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Use {
    pub(crate) task: usize,
    pub(crate) rewrites: bool,
    /// The frames differ in length.
    pub(crate) variable: bool,
}

pub(crate) mod sealed {
    pub trait Sealed {}
    pub trait Sockets {}

    /// What it takes to make a wire: only the builder has one. A wire made of another's place in the table would give its
    /// frames another type.
    ///
    /// ```compile_fail,E0061
    /// use bief::chain::Output;
    /// use bief::raw::DynWire;
    /// use bief::{Chain, Out, Wire, source};
    /// let mut chain = Chain::new();
    /// let numbers = chain.add(source::from_slice(&[1_u64], 1), ());
    /// let texts: Wire<&str> = <Out<&str> as Output>::wire(DynWire::from(&numbers));
    /// ```
    ///
    /// Nor may a wire be taken for one of a subtype's or supertype's elements:
    ///
    /// ```compile_fail,E0308
    /// use bief::Wire;
    /// fn shorter(wire: Wire<for<'a> fn(&'a str)>) -> Wire<fn(&'static str)> {
    ///     wire
    /// }
    /// ```
    #[derive(Debug, Clone, Copy)]
    pub struct Key(pub(crate) ());
}

/// One input socket: [`In`], [`InOut`], [`InVar`](crate::InVar) or [`InOutVar`](crate::InOutVar).
pub trait Input: sealed::Sealed {
    /// What [`Chain::add`](crate::Chain::add) takes for it.
    type Wire<'w>;
    /// What the task sees of one frame.
    type Slice<'a>;
    #[doc(hidden)]
    fn kind() -> SocketKind;
    #[doc(hidden)]
    fn untyped(wire: &Self::Wire<'_>) -> DynWire;
    /// # Safety
    /// `socket.wire` is a live wire of this socket's type in `table`, with a frame at `position`; no other slice of that
    /// frame is alive for as long as this one, unless both only read.
    #[doc(hidden)]
    unsafe fn slice<'a>(table: &[*mut u8], socket: Socket, position: usize) -> Self::Slice<'a>;
}

/// One output socket: [`Out`] or [`OutVar`](crate::OutVar).
pub trait Output: sealed::Sealed {
    /// What [`Chain::add`](crate::Chain::add) returns for it.
    type Wire;
    /// What the task sees of one frame.
    type Slice<'a>;
    #[doc(hidden)]
    fn kind() -> SocketKind;
    #[doc(hidden)]
    fn wire(untyped: DynWire, key: sealed::Key) -> Self::Wire;
    /// # Safety
    /// As [`Input::slice`], for writing.
    #[doc(hidden)]
    unsafe fn slice<'a>(table: &[*mut u8], socket: Socket, position: usize) -> Self::Slice<'a>;
}

impl<T: Element> sealed::Sealed for In<T> {}
impl<T: Element> Input for In<T> {
    type Wire<'w> = &'w Wire<T>;
    type Slice<'a> = &'a [T];
    fn kind() -> SocketKind {
        SocketKind::fixed::<T>(Direction::In)
    }
    fn untyped(wire: &&Wire<T>) -> DynWire {
        wire.untyped.clone()
    }
    unsafe fn slice<'a>(table: &[*mut u8], socket: Socket, position: usize) -> &'a [T] {
        // SAFETY: the caller promises a live frame of `T` that nobody writes meanwhile.
        unsafe { std::slice::from_raw_parts(socket.frame(table, position), socket.len) }
    }
}

impl<T: Element> sealed::Sealed for InOut<T> {}
impl<T: Element> Input for InOut<T> {
    type Wire<'w> = &'w mut Wire<T>;
    type Slice<'a> = &'a mut [T];
    fn kind() -> SocketKind {
        SocketKind::fixed::<T>(Direction::InOut)
    }
    fn untyped(wire: &&mut Wire<T>) -> DynWire {
        wire.untyped.clone()
    }
    unsafe fn slice<'a>(table: &[*mut u8], socket: Socket, position: usize) -> &'a mut [T] {
        // SAFETY: the caller promises a live frame of `T` that nobody else uses meanwhile.
        unsafe { std::slice::from_raw_parts_mut(socket.frame(table, position), socket.len) }
    }
}

impl<T: Element> sealed::Sealed for Out<T> {}
impl<T: Element> Output for Out<T> {
    type Wire = Wire<T>;
    type Slice<'a> = &'a mut [T];
    fn kind() -> SocketKind {
        SocketKind::fixed::<T>(Direction::Out)
    }
    fn wire(untyped: DynWire, _: sealed::Key) -> Wire<T> {
        Wire::new(untyped)
    }
    unsafe fn slice<'a>(table: &[*mut u8], socket: Socket, position: usize) -> &'a mut [T] {
        // SAFETY: the caller promises a live frame of `T` that nobody else uses meanwhile.
        unsafe { std::slice::from_raw_parts_mut(socket.frame(table, position), socket.len) }
    }
}

/// All input sockets of a task: `()`, one [`Input`], or a tuple of up to eight.
pub trait Inputs: sealed::Sockets {
    /// Frame length of each input: `usize` for one socket, a tuple for several.
    type Lens;
    /// What [`Chain::add`](crate::Chain::add) takes: `()`, one borrowed wire, or a tuple of them.
    type Wires<'w>;
    /// What the task sees of one frame.
    type Slices<'a>;
    #[doc(hidden)]
    fn kinds() -> Vec<SocketKind>;
    /// There are as many `lens` as sockets.
    #[doc(hidden)]
    fn lens(lens: &[usize]) -> Self::Lens;
    #[doc(hidden)]
    fn untyped(wires: &Self::Wires<'_>) -> Vec<DynWire>;
    /// # Safety
    /// As [`Input::slice`], for each socket; there are as many `sockets` as this type has.
    #[doc(hidden)]
    unsafe fn slices<'a>(table: &[*mut u8], sockets: &[Socket], position: usize) -> Self::Slices<'a>;
}

/// All output sockets of a task: `()`, one [`Output`], or a tuple of up to eight.
pub trait Outputs: sealed::Sockets {
    /// Frame length of each output: `usize` for one socket, a tuple for several.
    type Lens;
    /// What [`Chain::add`](crate::Chain::add) returns: `()`, one wire, or a tuple of them.
    type Wires;
    /// What the task sees of one frame.
    type Slices<'a>;
    #[doc(hidden)]
    fn kinds() -> Vec<SocketKind>;
    #[doc(hidden)]
    fn lens(lens: &Self::Lens) -> Vec<usize>;
    /// There are as many `wires` as sockets.
    #[doc(hidden)]
    fn wires(wires: &[DynWire], key: sealed::Key) -> Self::Wires;
    /// # Safety
    /// As [`Output::slice`], for each socket; there are as many `sockets` as this type has.
    #[doc(hidden)]
    unsafe fn slices<'a>(table: &[*mut u8], sockets: &[Socket], position: usize) -> Self::Slices<'a>;
}

impl sealed::Sockets for () {}
impl Inputs for () {
    type Lens = ();
    type Wires<'w> = ();
    type Slices<'a> = ();
    fn kinds() -> Vec<SocketKind> {
        Vec::new()
    }
    fn lens(_: &[usize]) {}
    fn untyped((): &()) -> Vec<DynWire> {
        Vec::new()
    }
    unsafe fn slices<'a>(_: &[*mut u8], _: &[Socket], _: usize) -> Self::Slices<'a> {}
}

impl Outputs for () {
    type Lens = ();
    type Wires = ();
    type Slices<'a> = ();
    fn kinds() -> Vec<SocketKind> {
        Vec::new()
    }
    fn lens((): &()) -> Vec<usize> {
        Vec::new()
    }
    fn wires(_: &[DynWire], _: sealed::Key) {}
    unsafe fn slices<'a>(_: &[*mut u8], _: &[Socket], _: usize) -> Self::Slices<'a> {}
}

impl<S: sealed::Sealed> sealed::Sockets for S {}
impl<S: Input> Inputs for S {
    type Lens = usize;
    type Wires<'w> = S::Wire<'w>;
    type Slices<'a> = S::Slice<'a>;
    fn kinds() -> Vec<SocketKind> {
        vec![S::kind()]
    }
    fn lens(lens: &[usize]) -> usize {
        lens[0]
    }
    fn untyped(wire: &S::Wire<'_>) -> Vec<DynWire> {
        vec![S::untyped(wire)]
    }
    unsafe fn slices<'a>(table: &[*mut u8], sockets: &[Socket], position: usize) -> S::Slice<'a> {
        // SAFETY: passed on to the caller.
        unsafe { S::slice(table, sockets[0], position) }
    }
}

impl<S: Output> Outputs for S {
    type Lens = usize;
    type Wires = S::Wire;
    type Slices<'a> = S::Slice<'a>;
    fn kinds() -> Vec<SocketKind> {
        vec![S::kind()]
    }
    fn lens(len: &usize) -> Vec<usize> {
        vec![*len]
    }
    fn wires(wires: &[DynWire], key: sealed::Key) -> S::Wire {
        S::wire(wires[0].clone(), key)
    }
    unsafe fn slices<'a>(table: &[*mut u8], sockets: &[Socket], position: usize) -> S::Slice<'a> {
        // SAFETY: passed on to the caller.
        unsafe { S::slice(table, sockets[0], position) }
    }
}

macro_rules! tuples {
    ($($S:ident $i:tt $Len:ty),+) => {
        impl<$($S),+> sealed::Sockets for ($($S,)+) {}

        impl<$($S: Input),+> Inputs for ($($S,)+) {
            type Lens = ($($Len,)+);
            type Wires<'w> = ($($S::Wire<'w>,)+);
            type Slices<'a> = ($($S::Slice<'a>,)+);
            fn kinds() -> Vec<SocketKind> {
                vec![$($S::kind()),+]
            }
            fn lens(lens: &[usize]) -> Self::Lens {
                ($(lens[$i],)+)
            }
            fn untyped(wires: &Self::Wires<'_>) -> Vec<DynWire> {
                vec![$($S::untyped(&wires.$i)),+]
            }
            unsafe fn slices<'a>(table: &[*mut u8], sockets: &[Socket], position: usize) -> Self::Slices<'a> {
                // SAFETY: passed on to the caller; `dynamic::check` keeps a rewritten wire apart from the others.
                unsafe { ($($S::slice(table, sockets[$i], position),)+) }
            }
        }

        impl<$($S: Output),+> Outputs for ($($S,)+) {
            type Lens = ($($Len,)+);
            type Wires = ($($S::Wire,)+);
            type Slices<'a> = ($($S::Slice<'a>,)+);
            fn kinds() -> Vec<SocketKind> {
                vec![$($S::kind()),+]
            }
            fn lens(lens: &Self::Lens) -> Vec<usize> {
                vec![$(lens.$i),+]
            }
            fn wires(wires: &[DynWire], key: sealed::Key) -> Self::Wires {
                ($($S::wire(wires[$i].clone(), key),)+)
            }
            unsafe fn slices<'a>(table: &[*mut u8], sockets: &[Socket], position: usize) -> Self::Slices<'a> {
                // SAFETY: passed on to the caller; each output is a wire of its own.
                unsafe { ($($S::slice(table, sockets[$i], position),)+) }
            }
        }
    };
}

tuples!(A 0 usize, B 1 usize);
tuples!(A 0 usize, B 1 usize, C 2 usize);
tuples!(A 0 usize, B 1 usize, C 2 usize, D 3 usize);
tuples!(A 0 usize, B 1 usize, C 2 usize, D 3 usize, E 4 usize);
tuples!(A 0 usize, B 1 usize, C 2 usize, D 3 usize, E 4 usize, F 5 usize);
tuples!(A 0 usize, B 1 usize, C 2 usize, D 3 usize, E 4 usize, F 5 usize, G 6 usize);
tuples!(A 0 usize, B 1 usize, C 2 usize, D 3 usize, E 4 usize, F 5 usize, G 6 usize, H 7 usize);

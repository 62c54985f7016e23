//! Typed sockets ([`In`], [`InOut`], [`Out`]), the [`Wire`]s that join them, and the slices that a task sees.
//!
//! Types are proven here, when a chain is written; what runs afterwards is a table of pointers.

use std::marker::PhantomData;

use crate::frame::{Element, Format};

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

/// What a task makes and later tasks read: frames of [`len`](Wire::len) elements of `T`.
///
/// A wire is made by [`Chain::add`](crate::Chain::add) and belongs to that chain. It cannot be copied: to read it lend
/// `&wire`, to rewrite it in place lend `&mut wire`.
#[derive(Debug)]
pub struct Wire<T> {
    pub(crate) index: usize,
    pub(crate) chain: u64,
    len: usize,
    element: PhantomData<fn() -> T>,
}

impl<T> Wire<T> {
    /// Elements in one frame.
    #[allow(clippy::len_without_is_empty, reason = "a frame's length, not a collection's")]
    pub fn len(&self) -> usize {
        self.len
    }
}

/// One bound input socket, as the builder sees it.
#[doc(hidden)]
#[derive(Debug, Clone, Copy)]
pub struct Bound {
    pub(crate) wire: usize,
    pub(crate) chain: u64,
    pub(crate) len: usize,
}

/// One output socket, as the builder sees it.
#[doc(hidden)]
#[derive(Debug, Clone, Copy)]
pub struct Made {
    pub(crate) format: Format,
    pub(crate) len: usize,
}

/// A wire in its place.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Joint {
    pub(crate) format: Format,
    pub(crate) len: usize,
    /// The task that makes it, and the last one that uses it.
    pub(crate) maker: usize,
    pub(crate) last_user: usize,
}

/// One socket, as the executor sees it: which wire, and how many elements in a frame.
#[doc(hidden)]
#[derive(Debug, Clone, Copy)]
pub struct Socket {
    pub(crate) wire: usize,
    pub(crate) len: usize,
}

impl Socket {
    /// Where the frame at `position` of this wire's batch begins.
    ///
    /// # Safety
    /// `table[self.wire]` points at a live batch buffer of `T` with more than `position` frames.
    unsafe fn frame<T>(self, table: &[*mut u8], position: usize) -> *mut T {
        // SAFETY: the caller promises that the frame lies inside the buffer.
        unsafe { table[self.wire].cast::<T>().add(position * self.len) }
    }
}

mod sealed {
    pub trait Sealed {}
}

/// One input socket: [`In`] or [`InOut`].
pub trait Input: sealed::Sealed {
    /// What [`Chain::add`](crate::Chain::add) takes for it.
    type Wire<'w>;
    /// What the task sees of one frame.
    type Slice<'a>;
    #[doc(hidden)]
    fn bound(wire: &Self::Wire<'_>) -> Bound;
    /// # Safety
    /// `socket.wire` is a live wire of this socket's type in `table`, with a frame at `position`; no other slice of that
    /// frame is alive for as long as this one, unless both only read.
    #[doc(hidden)]
    unsafe fn slice<'a>(table: &[*mut u8], socket: Socket, position: usize) -> Self::Slice<'a>;
}

/// One output socket: [`Out`].
pub trait Output: sealed::Sealed {
    /// The element type of the wire it makes.
    type Element: Element;
    /// What [`Chain::add`](crate::Chain::add) returns for it.
    type Wire;
    /// What the task sees of one frame.
    type Slice<'a>;
    #[doc(hidden)]
    fn wire(index: usize, chain: u64, len: usize) -> Self::Wire;
    /// # Safety
    /// As [`Input::slice`], for writing.
    #[doc(hidden)]
    unsafe fn slice<'a>(table: &[*mut u8], socket: Socket, position: usize) -> Self::Slice<'a>;
}

impl<T: Element> sealed::Sealed for In<T> {}
impl<T: Element> Input for In<T> {
    type Wire<'w> = &'w Wire<T>;
    type Slice<'a> = &'a [T];
    fn bound(wire: &&Wire<T>) -> Bound {
        Bound { wire: wire.index, chain: wire.chain, len: wire.len }
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
    fn bound(wire: &&mut Wire<T>) -> Bound {
        Bound { wire: wire.index, chain: wire.chain, len: wire.len }
    }
    unsafe fn slice<'a>(table: &[*mut u8], socket: Socket, position: usize) -> &'a mut [T] {
        // SAFETY: the caller promises a live frame of `T` that nobody else uses meanwhile.
        unsafe { std::slice::from_raw_parts_mut(socket.frame(table, position), socket.len) }
    }
}

impl<T: Element> sealed::Sealed for Out<T> {}
impl<T: Element> Output for Out<T> {
    type Element = T;
    type Wire = Wire<T>;
    type Slice<'a> = &'a mut [T];
    fn wire(index: usize, chain: u64, len: usize) -> Wire<T> {
        Wire { index, chain, len, element: PhantomData }
    }
    unsafe fn slice<'a>(table: &[*mut u8], socket: Socket, position: usize) -> &'a mut [T] {
        // SAFETY: the caller promises a live frame of `T` that nobody else uses meanwhile.
        unsafe { std::slice::from_raw_parts_mut(socket.frame(table, position), socket.len) }
    }
}

/// All input sockets of a task: `()`, one [`Input`], or a tuple of up to eight.
pub trait Inputs {
    /// Frame length of each input: `usize` for one socket, a tuple for several.
    type Lens;
    /// What [`Chain::add`](crate::Chain::add) takes: `()`, one borrowed wire, or a tuple of them.
    type Wires<'w>;
    /// What the task sees of one frame.
    type Slices<'a>;
    #[doc(hidden)]
    fn bound(wires: &Self::Wires<'_>) -> (Self::Lens, Vec<Bound>);
    /// # Safety
    /// As [`Input::slice`], for each socket; there are as many `sockets` as this type has.
    #[doc(hidden)]
    unsafe fn slices<'a>(table: &[*mut u8], sockets: &[Socket], position: usize) -> Self::Slices<'a>;
}

/// All output sockets of a task: `()`, one [`Out`], or a tuple of up to eight.
pub trait Outputs {
    /// Frame length of each output: `usize` for one socket, a tuple for several.
    type Lens;
    /// What [`Chain::add`](crate::Chain::add) returns: `()`, one wire, or a tuple of them.
    type Wires;
    /// What the task sees of one frame.
    type Slices<'a>;
    #[doc(hidden)]
    fn made(lens: &Self::Lens) -> Vec<Made>;
    #[doc(hidden)]
    fn wires(first: usize, chain: u64, lens: Option<&Self::Lens>) -> Self::Wires;
    /// # Safety
    /// As [`Output::slice`], for each socket; there are as many `sockets` as this type has.
    #[doc(hidden)]
    unsafe fn slices<'a>(table: &[*mut u8], sockets: &[Socket], position: usize) -> Self::Slices<'a>;
}

impl Inputs for () {
    type Lens = ();
    type Wires<'w> = ();
    type Slices<'a> = ();
    fn bound((): &()) -> ((), Vec<Bound>) {
        ((), Vec::new())
    }
    unsafe fn slices<'a>(_: &[*mut u8], _: &[Socket], _: usize) -> Self::Slices<'a> {}
}

impl Outputs for () {
    type Lens = ();
    type Wires = ();
    type Slices<'a> = ();
    fn made((): &()) -> Vec<Made> {
        Vec::new()
    }
    fn wires(_: usize, _: u64, _: Option<&()>) {}
    unsafe fn slices<'a>(_: &[*mut u8], _: &[Socket], _: usize) -> Self::Slices<'a> {}
}

impl<S: Input> Inputs for S {
    type Lens = usize;
    type Wires<'w> = S::Wire<'w>;
    type Slices<'a> = S::Slice<'a>;
    fn bound(wire: &S::Wire<'_>) -> (usize, Vec<Bound>) {
        let bound = S::bound(wire);
        (bound.len, vec![bound])
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
    fn made(len: &usize) -> Vec<Made> {
        vec![Made { format: Format::of::<S::Element>(), len: *len }]
    }
    fn wires(first: usize, chain: u64, len: Option<&usize>) -> S::Wire {
        S::wire(first, chain, len.copied().unwrap_or(0))
    }
    unsafe fn slices<'a>(table: &[*mut u8], sockets: &[Socket], position: usize) -> S::Slice<'a> {
        // SAFETY: passed on to the caller.
        unsafe { S::slice(table, sockets[0], position) }
    }
}

macro_rules! tuples {
    ($($S:ident $i:tt $Len:ty),+) => {
        impl<$($S: Input),+> Inputs for ($($S,)+) {
            type Lens = ($($Len,)+);
            type Wires<'w> = ($($S::Wire<'w>,)+);
            type Slices<'a> = ($($S::Slice<'a>,)+);
            fn bound(wires: &Self::Wires<'_>) -> (Self::Lens, Vec<Bound>) {
                let bound = [$($S::bound(&wires.$i)),+];
                (($(bound[$i].len,)+), bound.to_vec())
            }
            unsafe fn slices<'a>(table: &[*mut u8], sockets: &[Socket], position: usize) -> Self::Slices<'a> {
                // SAFETY: passed on to the caller; the borrows of `Wires` keep a rewritten wire apart from the others.
                unsafe { ($($S::slice(table, sockets[$i], position),)+) }
            }
        }

        impl<$($S: Output),+> Outputs for ($($S,)+) {
            type Lens = ($($Len,)+);
            type Wires = ($($S::Wire,)+);
            type Slices<'a> = ($($S::Slice<'a>,)+);
            fn made(lens: &Self::Lens) -> Vec<Made> {
                vec![$(Made { format: Format::of::<$S::Element>(), len: lens.$i }),+]
            }
            fn wires(first: usize, chain: u64, lens: Option<&Self::Lens>) -> Self::Wires {
                ($($S::wire(first + $i, chain, lens.map_or(0, |lens| lens.$i)),)+)
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

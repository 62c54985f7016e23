//! Where frames enter a chain: from a slice, from a closure, or from a device that cannot wait; and how fast.

use std::marker::PhantomData;

use crate::error::Result;
use crate::frame::{Element, whole_frames};
use crate::task::{Flow, Task};
use crate::variable::{OutVar, VarFrame};
use crate::wire::{Out, Output};

pub use crate::live::{Heard, Live, Received, live};
pub use crate::pace::{Pace, PaceHandle, Punctuality, pace};

/// A source that plays a slice frame by frame and then stops; made by [`from_slice`].
#[derive(Debug)]
pub struct SliceSource<T> {
    samples: Box<[T]>,
    next: usize,
    len: usize,
}

/// Frames of `len` elements, one after the other, from a copy of `samples`. Elements after the last whole frame are not
/// played. Each run of a pipeline plays them from the beginning.
///
/// # Sockets
/// Out: `T`, `len` elements per frame.
///
/// # Errors
/// None when it runs; a `len` of zero is refused when the chain is built.
///
/// # Example
/// ```
/// use bief::{Chain, sink, source};
/// let mut chain = Chain::new();
/// let numbers = chain.add(source::from_slice(&[1, 2, 3, 4, 5], 2), ());
/// let (collect, result) = sink::collect();
/// chain.add(collect, &numbers);
/// chain.build()?.run()?;
/// assert_eq!(result.take(), [1, 2, 3, 4]);
/// # Ok::<(), bief::Error>(())
/// ```
pub fn from_slice<T: Element>(samples: &[T], len: usize) -> SliceSource<T> {
    SliceSource { samples: samples.into(), next: 0, len }
}

impl<T: Element> Task for SliceSource<T> {
    type In = ();
    type Out = Out<T>;

    fn lens(&self, (): ()) -> Result<usize> {
        whole_frames(self.len)
    }

    fn run(&mut self, (): (), frame: &mut [T]) -> Result<Flow> {
        let Some(samples) = self.samples.get(self.next..self.next + frame.len()) else { return Ok(Flow::Stop) };
        frame.copy_from_slice(samples);
        self.next += frame.len();
        Ok(Flow::Next)
    }

    fn reset(&mut self) -> Result<()> {
        self.next = 0;
        Ok(())
    }
}

/// A source whose socket `S` a closure fills; made by [`from_fn`] and [`from_fn_var`].
#[derive(Debug)]
pub struct FnSource<S, F> {
    fill: F,
    len: usize,
    socket: PhantomData<fn() -> S>,
}

/// Frames of `len` elements that `fill` writes; it ends the stream with [`Flow::Stop`], and is asked again in a later run
/// of the same pipeline.
///
/// # Sockets
/// Out: `T`, `len` elements per frame.
///
/// # Errors
/// Those of `fill`; a `len` of zero is refused when the chain is built.
///
/// # Example
/// ```
/// use bief::{Chain, Flow, sink, source};
/// let mut next = 0;
/// let mut chain = Chain::new();
/// let numbers = chain.add(
///     source::from_fn(1, move |frame: &mut [u32]| {
///         frame[0] = next;
///         next += 1;
///         Ok(if next > 3 { Flow::Stop } else { Flow::Next })
///     }),
///     (),
/// );
/// let (collect, result) = sink::collect();
/// chain.add(collect, &numbers);
/// chain.build()?.run()?;
/// assert_eq!(result.take(), [0, 1, 2]);
/// # Ok::<(), bief::Error>(())
/// ```
pub fn from_fn<T, F>(len: usize, fill: F) -> FnSource<Out<T>, F>
where
    T: Element,
    F: FnMut(&mut [T]) -> Result<Flow> + Send + 'static,
{
    FnSource { fill, len, socket: PhantomData }
}

/// As [`from_fn`], for frames that each have a length of their own, up to `capacity` elements.
///
/// # Sockets
/// Out: variable `T`, up to `capacity` elements per frame.
///
/// # Errors
/// Those of `fill`; a `capacity` of zero is refused when the chain is built.
///
/// # Example
/// See [`sink::for_each_var`](crate::sink::for_each_var).
pub fn from_fn_var<T, F>(capacity: usize, fill: F) -> FnSource<OutVar<T>, F>
where
    T: Element,
    F: FnMut(VarFrame<'_, T>) -> Result<Flow> + Send + 'static,
{
    FnSource { fill, len: capacity, socket: PhantomData }
}

impl<S, F> Task for FnSource<S, F>
where
    S: Output + 'static,
    F: FnMut(S::Slice<'_>) -> Result<Flow> + Send + 'static,
{
    type In = ();
    type Out = S;

    fn name(&self) -> String {
        "source".to_owned()
    }

    fn lens(&self, (): ()) -> Result<usize> {
        whole_frames(self.len)
    }

    fn run(&mut self, (): (), frame: S::Slice<'_>) -> Result<Flow> {
        (self.fill)(frame)
    }
}

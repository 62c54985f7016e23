//! Where frames leave a chain: into a vector, or into a closure.

use std::marker::PhantomData;
use std::sync::{Arc, Mutex, PoisonError};

use crate::error::Result;
use crate::frame::Element;
use crate::task::{Flow, Task};
use crate::variable::InVar;
use crate::wire::{In, Input};

/// A sink that gives each frame of its socket `S` to a closure; made by [`for_each`] and [`for_each_var`].
#[derive(Debug)]
pub struct FnSink<S, F> {
    take: F,
    socket: PhantomData<fn() -> S>,
}

/// Gives each frame to `take`, which may end the run early with [`Flow::Stop`].
///
/// # Sockets
/// In: `T`, any frame length.
///
/// # Errors
/// Those of `take`.
///
/// # Example
/// ```
/// use bief::{Chain, Flow, sink, source};
/// let mut chain = Chain::new();
/// let numbers = chain.add(source::from_slice(&[1, 2, 3], 1), ());
/// chain.add(sink::for_each(|frame: &[i32]| { println!("{frame:?}"); Ok(Flow::Next) }), &numbers);
/// chain.build()?.run()?;
/// # Ok::<(), bief::Error>(())
/// ```
pub fn for_each<T, F>(take: F) -> FnSink<In<T>, F>
where
    T: Element,
    F: FnMut(&[T]) -> Result<Flow> + Send + 'static,
{
    FnSink { take, socket: PhantomData }
}

/// As [`for_each`], for frames that each have a length of their own.
///
/// # Sockets
/// In: variable `T`, any capacity.
///
/// # Errors
/// Those of `take`.
///
/// # Example
/// ```
/// use bief::{Chain, Flow, VarFrame, sink, source};
/// let mut words = ["one", "three"].into_iter();
/// let mut chain = Chain::new();
/// let letters = chain.add(
///     source::from_fn_var(8, move |mut frame: VarFrame<'_, u8>| {
///         let Some(word) = words.next() else { return Ok(Flow::Stop) };
///         frame.extend_from_slice(word.as_bytes())?;
///         Ok(Flow::Next)
///     }),
///     (),
/// );
/// chain.add(sink::for_each_var(|word: &[u8]| { println!("{} letters", word.len()); Ok(Flow::Next) }), &letters);
/// chain.build()?.run()?;
/// # Ok::<(), bief::Error>(())
/// ```
pub fn for_each_var<T, F>(take: F) -> FnSink<InVar<T>, F>
where
    T: Element,
    F: FnMut(&[T]) -> Result<Flow> + Send + 'static,
{
    FnSink { take, socket: PhantomData }
}

impl<S, F> Task for FnSink<S, F>
where
    S: Input + 'static,
    F: FnMut(S::Slice<'_>) -> Result<Flow> + Send + 'static,
{
    type In = S;
    type Out = ();

    fn name(&self) -> String {
        "sink".to_owned()
    }

    fn lens(&self, _: usize) -> Result<()> {
        Ok(())
    }

    fn run(&mut self, frame: S::Slice<'_>, (): ()) -> Result<Flow> {
        (self.take)(frame)
    }
}

/// What a [`collect`] sink has taken so far.
#[derive(Debug, Clone)]
pub struct Collected<T>(Arc<Mutex<Vec<T>>>);

impl<T> Collected<T> {
    /// Takes everything collected up to now, in order.
    pub fn take(&self) -> Vec<T> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// A sink that keeps every element, and the handle to take them by. What is not taken stays when a pipeline runs again.
///
/// # Sockets
/// In: `T`, any frame length.
///
/// # Errors
/// None.
///
/// # Example
/// See [`source::from_slice`](crate::source::from_slice).
pub fn collect<T: Element>() -> (Collect<T>, Collected<T>) {
    let store = Arc::new(Mutex::new(Vec::new()));
    (Collect(Arc::clone(&store)), Collected(store))
}

/// The sink made by [`collect`].
#[derive(Debug)]
pub struct Collect<T>(Arc<Mutex<Vec<T>>>);

impl<T: Element> Task for Collect<T> {
    type In = In<T>;
    type Out = ();

    fn lens(&self, _: usize) -> Result<()> {
        Ok(())
    }

    fn run(&mut self, frame: &[T], (): ()) -> Result<Flow> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(frame);
        Ok(Flow::Next)
    }
}

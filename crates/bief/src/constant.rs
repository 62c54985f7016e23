//! Values that are the same for every frame, bound like a wire.

use std::ops::Deref;
use std::sync::Arc;

use crate::chain::Chain;
use crate::dyn_wire::DynWire;
use crate::frame::{Buffer, Element, Format};
use crate::shape::Shape;
use crate::socket::Socket;
use crate::wire::{Wire, WireInfo};

/// Values that any number of tasks may read as a wire, and none can rewrite; made by [`Chain::constant`].
///
/// `&constant` is lent where a task wants a `&Wire<T>`.
///
/// ```compile_fail,E0596
/// # use bief::{Chain, Flow, InOut, Result, Task};
/// struct Double;
/// impl Task for Double {
///     type In = InOut<f32>;
///     type Out = ();
///     fn lens(&self, _: usize) -> Result<()> { Ok(()) }
///     fn run(&mut self, x: &mut [f32], (): ()) -> Result<Flow> { x[0] *= 2.0; Ok(Flow::Next) }
/// }
/// let mut chain = Chain::new();
/// let mut taps = chain.constant(&[0.5_f32]);
/// chain.add(Double, &mut taps); // a constant cannot be rewritten
/// ```
#[derive(Debug)]
pub struct Constant<T> {
    wire: Wire<T>,
}

impl<T> Constant<T> {
    /// The wire to read it by.
    pub fn wire(&self) -> &Wire<T> {
        &self.wire
    }
}

impl<T> Deref for Constant<T> {
    type Target = Wire<T>;
    fn deref(&self) -> &Wire<T> {
        &self.wire
    }
}

impl Chain {
    /// A wire that holds `values` in every frame. All stages and replicas share one copy, which no ring carries.
    ///
    /// ```
    /// use bief::{Chain, Flow, In, Out, Result, Task, sink, source};
    ///
    /// struct Dot;
    ///
    /// impl Task for Dot {
    ///     type In = (In<i32>, In<i32>);
    ///     type Out = Out<i32>;
    ///     fn lens(&self, (a, b): (usize, usize)) -> Result<usize> {
    ///         if a == b { Ok(1) } else { Err(bief::Error::new("the two must be as long as each other")) }
    ///     }
    ///     fn run(&mut self, (a, b): (&[i32], &[i32]), dot: &mut [i32]) -> Result<Flow> {
    ///         dot[0] = a.iter().zip(b).map(|(a, b)| a * b).sum();
    ///         Ok(Flow::Next)
    ///     }
    /// }
    ///
    /// let mut chain = Chain::new();
    /// let weights = chain.constant(&[1, 10]);
    /// let numbers = chain.add(source::from_slice(&[1, 2, 3, 4], 2), ());
    /// let sums = chain.add(Dot, (&numbers, &weights));
    /// let (collect, result) = sink::collect();
    /// chain.add(collect, &sums);
    /// chain.build()?.run()?;
    /// assert_eq!(result.take(), [21, 43]);
    /// # Ok::<(), bief::Error>(())
    /// ```
    pub fn constant<T: Element>(&mut self, values: &[T]) -> Constant<T> {
        let format = Format::of::<T>();
        let shape = Shape::from(values.len());
        let socket = Socket { wire: self.wires.len(), len: values.len(), stride: 0 };
        // Maker and last user are the same, so that it crosses no boundary between stages.
        self.wires.push(WireInfo {
            format,
            len: values.len(),
            shape: shape.clone(),
            maker: 0,
            last_user: 0,
            constant: Some(Arc::new(Buffer::holding(values))),
            block: 0,
            uses: Vec::new(),
        });
        let maker = "a constant".into();
        Constant {
            wire: Wire::new(DynWire { chain: self.id, socket, format, shape, variable: false, read_only: true, maker }),
        }
    }
}

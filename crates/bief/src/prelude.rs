//! What those who build chains use: `use bief::prelude::*;`. Those who write tasks use [`prelude::task`](task).
//!
//! ```
//! use bief::prelude::*;
//!
//! let mut chain = Chain::new();
//! let numbers = chain.add(source::from_slice(&[1, 2, 3, 4], 2), ());
//! chain.add(sink::for_each(|_: &[i32]| Ok(Flow::Next)), &numbers);
//! assert_eq!(chain.build()?.run()?.frames, 2);
//! # Ok::<(), Error>(())
//! ```

#[cfg(feature = "toml")]
pub use crate::ChainFile;
pub use crate::placement::Policy;
pub use crate::plan::Profiling;
pub use crate::schedule::{Goal, Strategy};
pub use crate::{
    Application, Chain, Error, Flow, Machine, Pipeline, Planned, Planner, Program, Registry, Report, Result, Wire,
    sink, source,
};

/// What those who write tasks use: `use bief::prelude::task::*;`.
///
/// ```
/// use bief::prelude::task::*;
///
/// /// Twice each number.
/// #[derive(Clone)]
/// struct Twice;
///
/// impl Task for Twice {
///     type In = InOut<u32>;
///     type Out = ();
///     fn lens(&self, _: usize) -> Result<()> {
///         Ok(())
///     }
///     fn run(&mut self, numbers: &mut [u32], (): ()) -> Result<Flow> {
///         numbers.iter_mut().for_each(|number| *number *= 2);
///         Ok(Flow::Next)
///     }
///     fn replica(&self) -> Option<Self> {
///         Some(self.clone())
///     }
/// }
/// ```
pub mod task {
    pub use crate::Figures;
    pub use crate::chain::Element;
    pub use crate::raw::Shape;
    pub use crate::{Error, Flow, In, InOut, InOutVar, InVar, Out, OutVar, Result, Task, VarFrame};
}

//! Bief runs a chain of tasks (software-defined radio, video, audio) on all cores of a processor.
//!
//! You write tasks and join them with wires; Bief measures them, computes the best pipeline, runs it, and reports how
//! far the run was from its plan:
//!
//! ```text
//! tasks ──add──▶ Chain ──build──▶ Program (one core) ──profile──▶ Profile
//!                                    │                               │ strategy
//!                                    └──────── stages ◀────────── Schedule
//!                                                │
//!                                             Pipeline ──run──▶ Report (measured beside planned)
//! ```
//!
//! ```
//! use bief::schedule::strategy::{Exact, Strategy};
//! use bief::schedule::{CoreKind, Platform};
//! use bief::{Chain, Flow, In, Out, Result, Task, sink, source};
//!
//! #[derive(Clone)]
//! struct Energy;
//!
//! impl Task for Energy {
//!     type In = In<f32>;
//!     type Out = Out<f32>;
//!     fn lens(&self, _: usize) -> Result<usize> {
//!         Ok(1)
//!     }
//!     fn run(&mut self, x: &[f32], y: &mut [f32]) -> Result<Flow> {
//!         y[0] = x.iter().map(|x| x * x).sum();
//!         Ok(Flow::Next)
//!     }
//!     fn replica(&self) -> Option<Self> {
//!         Some(self.clone()) // it remembers nothing from frame to frame
//!     }
//! }
//!
//! fn chain() -> (Chain, sink::Collected<f32>) {
//!     let samples: Vec<f32> = (0..64_000).map(|k| (k % 7) as f32).collect();
//!     let mut chain = Chain::new();
//!     let x = chain.add(source::from_slice(&samples, 64), ());
//!     let y = chain.add(Energy, &x);
//!     let (collect, result) = sink::collect();
//!     chain.add(collect, &y);
//!     (chain, result)
//! }
//!
//! let profile = chain().0.build()?.profile(100)?;
//! let platform = Platform::new([CoreKind::new(&profile.kinds()[0], 2)])?;
//! let schedule = Exact.schedule(&profile, &platform)?;
//! let (chain, result) = chain();
//! let report = chain.build()?.pipeline(&schedule)?.compare_with(&profile)?.run()?;
//! println!("{report}");
//! assert_eq!(report.frames, 1000);
//! assert_eq!(result.take().len(), 1000);
//! # Ok::<(), bief::Error>(())
//! ```
//!
//! The compiler checks types ([`Chain`]); lengths and stages are checked when the chain is built, before any thread
//! starts. Chains can also be built at run time ([`Chain::add_dyn`]) or described in files ([`ChainFile`]), from the
//! kinds of tasks in a [`Registry`]. Frames may vary in length ([`OutVar`]); tasks may be in loops ([`Chain::repeat`]),
//! in paths of a switch ([`Chain::select`]) and in feedback ([`Chain::feedback`]). A task that may run on several cores
//! at once declares it ([`Task::replica`]); frames still keep their order. An error or a panic in any task ends the run
//! with its place, after the frames before it are delivered; a [`Stopper`](pipeline::Stopper) ends it equally in order from outside. A
//! [`Pipeline`] can run repeatedly, on the same threads, with the ring depth and the batch of each run. A slow stage
//! makes those before it wait; a source that cannot wait loses frames visibly ([`source::live`]). Stages may have
//! reserved time, or priority over other programs ([`realtime`]). Threads of any program, even one not built on this
//! crate, are mapped to kinds of cores by demand ([`machine::mapper`]).

// Allowed below in the modules that need it: the table of pointers, what crosses threads, calls of the kernel.
#![deny(unsafe_code)]
#![cfg_attr(not(feature = "toml"), allow(dead_code, reason = "some parts serve chain files alone"))]

mod address;
mod address_options;
#[allow(unsafe_code)]
mod barrier;
mod block;
mod boundary;
pub mod chain;
#[cfg(feature = "toml")]
mod chain_file;
mod check;
mod clock;
mod columns;
mod constant;
mod control;
mod count;
#[allow(unsafe_code)]
pub mod device;
mod dot;
#[allow(unsafe_code)]
mod dtype;
mod dyn_wire;
mod dynamic;
mod emulate;
mod energy;
pub mod error;
mod fact;
mod figures;
#[allow(unsafe_code)]
mod frame;
mod gap;
mod gaps;
#[allow(unsafe_code)]
mod gather;
mod halt;
mod live;
mod making;
#[allow(unsafe_code)]
pub mod memory;
mod observe;
mod openers;
mod pace;
mod param;
mod parameters;
mod per_core;
mod piece;
pub mod pipeline;
pub mod placement;
mod planner;
mod pool;
pub mod prelude;
#[allow(unsafe_code)]
mod profile;
mod program;
#[allow(unsafe_code)]
pub mod raw;
pub mod realtime;
mod refine;
#[allow(unsafe_code)]
mod region;
mod registry;
#[allow(unsafe_code)]
mod rehearsal;
pub mod report;
#[allow(unsafe_code)]
mod ring;
mod shape;
pub mod sink;
mod slices;
#[allow(unsafe_code)]
mod socket;
pub mod source;
mod split;
#[allow(unsafe_code)]
mod stage;
mod sync;
mod table;
#[allow(unsafe_code)]
mod task;
mod trace;
#[allow(unsafe_code)]
mod variable;
mod wait;
mod watch;
#[allow(unsafe_code)]
mod wire;
#[allow(unsafe_code)]
mod worker;

use bief_machine::{affinity, histogram, suggest};

pub use bief_machine as machine;
pub use bief_machine::Machine;
pub use bief_schedule as schedule;
#[doc(inline)]
pub use chain::Chain;
#[cfg(feature = "toml")]
pub use chain_file::ChainFile;
#[doc(inline)]
pub use error::{Error, Result};
pub use figures::Figures;
#[doc(inline)]
pub use pipeline::Pipeline;
pub use planner::{Application, Planned, Planner};
pub use program::Program;
pub use registry::Registry;
#[doc(inline)]
pub use report::Report;
pub use task::{Flow, Task};
pub use variable::{InOutVar, InVar, OutVar, VarFrame, VarWire};
pub use wire::{In, InOut, Out, Wire};

/// Kinds of tasks, which chain files name: their parameters, the pieces of chains that they make, and what opens addresses.
pub mod kinds {
    pub use crate::address::Address;
    pub use crate::address_options::AddressOptions;
    pub use crate::gaps::Gaps;
    pub use crate::openers::{AddressWriter, ByteSource, InputAddress, Opener, Openers, OutputAddress};
    pub use crate::param::{Param, Parameter, Params};
    pub use crate::parameters::{ParameterType, Parameters, Value};
    pub use crate::piece::Piece;
    pub use crate::registry::{Kind, KindSocket};
    pub use crate::rehearsal::Kept;
}

/// What a plan is made of: how tasks are measured, what they cost, how a plan became better by trials, and how it follows a run.
pub mod plan {
    pub use crate::planner::{Adapting, GoalHandle};
    pub use crate::profile::{BatchCosts, Load, Profiling, TaskCosts};
    pub use crate::refine::{Ended, Refined, Round};
}

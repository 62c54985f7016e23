//! The machine that a program runs on: which cores it may use, of which kinds they are, what they draw, and what the system does
//! with threads on them. Knows nothing of tasks and pipelines.
//!
//! ```
//! use bief_machine::Machine;
//! use bief_machine::clock::thread_time;
//! use bief_machine::energy::EnergyMeter;
//!
//! let machine = Machine::here();
//! for (index, kind) in machine.kinds().iter().enumerate() {
//!     println!("{} cores of kind {}", machine.count(index), kind.name);
//! }
//!
//! let measurement = EnergyMeter::find().start();
//! let before = thread_time();
//! let sum: u64 = (0..100_000).sum();
//! println!("{sum} took {:?} of a core", thread_time() - before);
//! match measurement.and_then(|measurement| measurement.stop().energy) {
//!     Some(energy) => println!("{} W of the {}, by {}", energy.watts, energy.scope, energy.source),
//!     None => println!("nothing here measures energy"),
//! }
//! ```
//!
//! Kinds of cores are found on Linux; elsewhere there is one kind, threads are not pinned, and classes are refused.

#![deny(unsafe_code)] // Allowed in the modules that call the kernel.

pub mod affinity;
pub mod class;
pub mod clock;
pub mod energy;
mod error;
pub mod histogram;
pub mod mapper;
pub mod suggest;
#[cfg(feature = "toml")]
pub mod toml_file;
mod topology;

pub use error::{Error, ErrorKind, Result};
pub use topology::{Cache, CacheContent, Core, CoreSpec, DeviceSpec, Machine, thread_list};

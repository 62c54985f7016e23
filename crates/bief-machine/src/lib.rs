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
//! | file | what it holds |
//! | --- | --- |
//! | `topology/` | [`Machine`]: `sysfs.rs` (what Linux tells, with `quota.rs` and `list.rs`) and `hwloc.rs` make a description, of which `arrange.rs` makes kinds, clusters and an order; `document.rs` (JSON), `emulated.rs` (TOML), `file.rs` (whichever it is) |
//! | `affinity.rs` | [`affinity`]: the hardware threads that a thread may run on |
//! | `clock.rs`, `histogram.rs` | [`clock`]: processor time, sleeps until a moment; [`histogram`]: how often which times occurred |
//! | `energy/` | [`energy`]: a file for each thing that tells joules; `measurement.rs` from start to stop |
//! | `class/` | [`class`]: scheduling classes of Linux: `sched.rs` sets them, `admission.rs` tells how much can be reserved, `refusal.rs` why one is refused (from `files.rs`), `probe.rs` how late threads are woken |
//! | `mapper/` | [`mapper`]: threads of any process moved between kinds of cores: `thread_mapper.rs` goes from interval to interval, over `files.rs` and `listing.rs` (which threads there are), `thread.rs` and `meter.rs` (what each did), `cores.rs`, `homes.rs` and `moves.rs` (the kinds, which affinity a thread had and is given, who goes now) |
//! | `toml_file/`, `suggest.rs` | TOML whose errors show the line, and what someone may have meant: read by `bief`, too |
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
pub use topology::{Cache, CacheContent, Core, CoreSpec, Machine, thread_list};

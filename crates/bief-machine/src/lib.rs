//! The processor that a program runs on: its cores, and what its system can do with threads.

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
pub use topology::{Cache, CacheContent, Core, CoreKind, Machine, thread_list};

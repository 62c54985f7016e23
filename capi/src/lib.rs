//! Bief as a C library. What it shows is in `include/bief.h`, which is made from these files; `README.md` says how.
//!
//! Every function checks what it is given, catches panics, and leaves what went wrong to `bief_last_error`.

#![allow(non_camel_case_types, reason = "types are named as C names them")]

mod application;
mod chain;
mod fault;
mod pipeline;
mod planning;
mod sized;
mod sockets;
mod task;
#[cfg(test)]
mod tests;
mod text;

pub use application::*;
pub use chain::*;
pub use fault::*;
pub use pipeline::*;
pub use planning::*;
pub use task::*;
pub use text::*;

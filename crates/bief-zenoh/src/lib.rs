//! Workers of a stream on other machines, over [zenoh](https://zenoh.io): the carrier of `bief-pool`.
//!
//! A `Worker` is a process that lends its cores; a `Pool` is what the machine that reads a stream knows of its workers: who comes, who
//! goes, what is sent to whom. Where nobody is there, the cores of that machine do the work.
//!
//! All of it is behind the feature `zenoh`, since that engine is 249 crates: without it this crate is empty.

#![forbid(unsafe_code)]
#![cfg(feature = "zenoh")]

mod about;
mod address;
mod keys;
mod local;
mod names;
mod network;
mod pool;
mod route;
mod worker;

pub use about::About;
pub use address::Address;
pub use keys::Keys;
pub use names::Name;
pub use network::{RUNTIME, Reach};
pub use pool::{Pool, Running, Without};
pub use worker::{Worker, WorkerOptions, WorkerStopper};

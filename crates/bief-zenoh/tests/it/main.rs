//! Runs with workers in processes of their own, over networks that break.
//!
//! `BIEF_FRAMES` is the number of frames of the long ones.

mod chain;
mod costs;
mod failures;
mod keys;
mod namespaces;
mod process;
mod relay;
mod strangers;

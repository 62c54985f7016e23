//! Runs with workers in processes of their own, over networks that break.
//!
//! `BIEF_FRAMES` is the number of frames of the long ones, `SOAK_SECONDS` the time of the soak.

mod chain;
mod costs;
mod failures;
mod keys;
mod namespaces;
mod process;
mod rates;
mod relay;
mod soak;
mod strangers;

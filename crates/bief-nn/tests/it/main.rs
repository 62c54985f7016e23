//! What the crate does, seen from outside.

mod common;
mod cuts;
mod engines;
mod files;
mod planned;

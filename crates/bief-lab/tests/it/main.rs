//! The command of the lab, run as a user runs it.

mod bench;
mod campaign;
mod fer;
mod folder;
#[cfg(unix)]
mod interrupt;

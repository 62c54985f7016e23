//! The command as its users see it.

mod bad_input;
mod documented;
mod files;
mod commands;
#[path = "../common/mod.rs"]
mod common;
mod interrupt;
mod lab;
mod map;
mod nbfm;
mod planning;
mod realtime;
mod run;

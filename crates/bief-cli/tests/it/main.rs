//! The command as its users see it.

mod adapt;
mod bad_input;
mod commands;
#[path = "../common/mod.rs"]
mod common;
mod documented;
mod files;
mod interrupt;
mod ip;
mod jobs;
mod lab;
mod map;
mod meteors;
mod nbfm;
mod network;
mod nn;
mod planning;
mod realtime;
mod run;
mod status;
mod workers;

//! The runtime as its users see it.

mod adapt;
mod again;
mod chain_file;
mod change;
#[path = "../common/mod.rs"]
mod common;
mod constants;
mod control;
mod device;
mod device_gather;
mod device_stays;
mod dot;
mod dynamic;
mod examples;
mod fault;
mod fault_matrix;
mod figures;
mod live;
mod memory;
mod observe;
mod order;
mod planner;
mod profile;
mod raw;
mod realtime;
mod refuse;
mod split;
mod stop;
mod stopper;
mod trace;
mod variable;

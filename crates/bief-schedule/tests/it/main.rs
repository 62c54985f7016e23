//! Strategies, simulation and analyses held to published values and to brute force.

#[path = "../common/mod.rs"]
mod common;
mod exact;
mod json;
mod mapping;
mod platform;
mod published;
mod realtime;
mod schedule;
mod simulate;
mod table2;

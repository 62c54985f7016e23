//! Chains of radio tasks on real signals.

#[path = "../common/mod.rs"]
mod common;
mod documentation;
mod every_modcod;
mod extremes;
mod figures;
mod first_packet;
mod loopback;
mod mixed;
mod narrowband_fm;
mod opencl;
mod parameters;
mod recordings;
mod registry;
mod steps;
mod streams;
mod vectors;

//! The machine: topologies that others have recorded, energy, and threads that are mapped.

mod energy;
#[cfg(target_os = "linux")]
mod mapper;
mod topology;

//! Signal-processing mathematics on slices: filters, modems, codes. Knows no runtime.
//!
//! [`dvbs2`] holds the DVB-S2 waveform (EN 302 307-1): what a transmitter builds and what a receiver
//! undoes, stage by stage, each stage a function on slices that a task, a test or another program can call.
//!
//! Bits are packed in bytes, most significant bit first; complex samples are [`Complex32`]; a
//! log-likelihood ratio (LLR) is positive when the bit is more likely 0.

#![forbid(unsafe_code)]

pub mod agc;
mod aligned;
pub mod channel;
pub mod convert;
pub mod derotate;
pub mod discriminator;
pub mod dvbs2;
mod fft;
pub mod filter;
pub mod fir;
pub mod fm;
pub mod gardner;
pub mod impulses;
pub mod low_pass;
pub mod one_pole;
mod planar;
pub mod pulse;
pub mod simd;
pub mod spectrum;
pub mod symbol_rate;
pub mod transport;

pub use num_complex::Complex32;

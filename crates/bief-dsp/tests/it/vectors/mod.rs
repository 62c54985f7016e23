//! The transmitter against reference data made by other programs.

mod digests;
mod files;
mod s2x;
mod transmit;

//! Tasks of the receiver on a device that OpenCL drives: each beside the task for cores that it mirrors, by kernels of `bief-dsp`.
//!
//! A walk along a frame that is sequential by nature (the carrier phase, unwrapped and smoothed; the level, of a few sums) is done by the
//! lane's thread between two kernels: some hundred numbers of a frame cross for it, and its symbols stay.

mod demap;
mod filter;
mod lane;
mod ldpc;
mod level;
mod phase;

pub(super) use demap::DemapThere;
pub(super) use filter::FilterThere;
pub(super) use ldpc::DecodeThere;
pub(super) use phase::PhaseThere;

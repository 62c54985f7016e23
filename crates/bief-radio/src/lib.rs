//! Radio tasks for [`bief`]: recordings and their formats, and the DVB-S2 chains.

#![forbid(unsafe_code)]

pub mod dvbs2;
mod files;
mod iq;
mod recording;

pub use files::{ReadBlocks, WriteBytes};
pub use iq::{Convert, SampleFormat};
pub use recording::{Recording, RecordingError, sigmf_meta};

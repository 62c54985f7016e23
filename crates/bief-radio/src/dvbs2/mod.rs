//! DVB-S2 (EN 302 307-1): the transmitter and the receiver as chains, and the tasks that they are made of.

mod cut;
mod decode;
mod deliver;
mod demap;
mod encode;
mod figures;
mod frame_list;
mod gse_feed;
mod input;
mod keep_symbols;
mod kinds;
mod modcods;
mod observe;
#[allow(unsafe_code)]
mod opencl;
mod plframe;
mod read_frames;
mod receiver;
mod receiver_file;
mod roll_off;
mod services;
mod shaping;
mod slice;
mod source;
mod stream;
mod streams;
mod symbols;
mod tables;
mod transmitter;
mod write_bbframes;

pub use cut::CutFrames;
pub use decode::{DecodeBch, DecodeLdpc, Decoding};
pub use deliver::Deliver;
pub use demap::Demap;
pub use encode::{EncodeBch, EncodeLdpc, ScrambleBb};
pub use figures::{Figures, KindFigures};
pub use frame_list::{FrameListError, frame_list};
pub use input::InputStream;
pub use keep_symbols::KeepSymbols;
pub use modcods::Modcods;
pub use observe::Observe;
pub use plframe::BuildPlframe;
pub use read_frames::ReadFrames;
pub use receiver::{MIN_SAMPLE_RATE, ReceiveError, Receiver, Settings};
pub use services::{PidReport, ServiceFigures};
pub use shaping::{Quantise, ShapePulses};
pub use slice::Slice;
pub use streams::StreamFigures;
pub use symbols::{CorrectPhase, FilterSymbols};
pub use transmitter::Transmitter;
pub use write_bbframes::WriteBbframes;

pub(crate) use kinds::kinds;
pub(crate) use tables::expect;

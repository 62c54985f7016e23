//! DVB-S2 (EN 302 307-1): the transmitter and the receiver as chains, and the tasks that they are made of.

mod baseband;
mod kinds;
mod mapping;
mod observe;
mod receiver;
mod shaping;
mod status;
mod synchronise;
mod transmitter;
mod transport;

pub use baseband::{DecodeBch, DecodeLdpc, Decoding, EncodeBch, EncodeLdpc, ScrambleBb};
pub use mapping::{BuildPlframe, Demap, TakePayload};
pub use observe::Observe;
pub use receiver::{ReceiveError, Receiver};
pub use shaping::{Quantise, ShapePulses};
pub use status::{Figures, Status};
pub use synchronise::{CorrectPhase, CutFrames, DescramblePl, FilterSymbols, MeasureLevel, RemoveCarrier};
pub use transmitter::Transmitter;
pub use transport::{SliceTransportStream, WriteTransportStream};

pub(crate) use kinds::kinds;

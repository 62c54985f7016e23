//! What gives a receiver the windows of frames: one task that reads a stream, or two where samples can be read at any place.

use bief::kinds::Piece;
use bief::raw::DynWire;
use bief::{Chain, Result, VarWire, Wire};
use bief_dsp::dvbs2::{FrameSync, Pls};

use super::cut::CutFrames;
use super::read_frames::ReadFrames;
use super::stream::{Buffered, InPlace};

/// The first tasks of a receiver.
pub(super) enum Source {
    Streamed(CutFrames<Buffered>),
    /// The first looks at headers alone; the second may be replicated.
    Stored(CutFrames<InPlace>, ReadFrames),
}

impl Source {
    /// Windows, where the frame lies in each, and what kind of frame it is.
    pub(super) fn add(self, chain: &mut Chain) -> (VarWire<u8>, Wire<Option<FrameSync>>, Wire<Pls>) {
        match self {
            Self::Streamed(cut) => chain.add(cut, ()),
            Self::Stored(cut, read) => {
                let (place, sync, pls) = chain.add(cut, ());
                (chain.add(read, (&place, &sync)), sync, pls)
            }
        }
    }

    /// The same wires, of a kind's tasks.
    pub(super) fn add_piece(self, piece: &mut Piece<'_>) -> Result<Vec<DynWire>> {
        match self {
            Self::Streamed(cut) => piece.task(cut, &[]),
            Self::Stored(cut, read) => {
                let mut made = piece.task(cut, &[])?;
                made.splice(0..1, piece.part("read frames", read, &[&made[0], &made[1]])?);
                Ok(made)
            }
        }
    }

    /// The first task alone, where the second is a kind's of its own.
    pub(super) fn add_cut(piece: &mut Piece<'_>, source: Self) -> Result<Vec<DynWire>> {
        match source {
            Self::Streamed(cut) => piece.task(cut, &[]),
            Self::Stored(cut, _) => piece.task(cut, &[]),
        }
    }
}

//! What tasks make once for each kind of frame, and what they expect of frames.

use bief::{Error, Result};
use bief_dsp::dvbs2::bch::Bch;
use bief_dsp::dvbs2::ldpc::Code;
use bief_dsp::dvbs2::{FrameSize, Layout, Pls, Rate, VlSnr};

/// Tables made when the first frame that needs them comes, and kept: a stream has few kinds of frames.
#[derive(Clone)]
pub(super) struct Tables<K, T>(Vec<(K, T)>);

impl<K, T> Default for Tables<K, T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<K: Copy + PartialEq, T> Tables<K, T> {
    /// What is kept under `key`; made now if there is nothing.
    pub(super) fn get(&mut self, key: K, make: impl FnOnce() -> Result<T>) -> Result<&mut T> {
        let index = match self.0.iter().position(|(kept, _)| *kept == key) {
            Some(index) => index,
            None => {
                self.0.push((key, make()?));
                self.0.len() - 1
            }
        };
        Ok(&mut self.0[index].1)
    }

    /// All that is kept.
    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut (K, T)> {
        self.0.iter_mut()
    }

    /// All that is kept.
    pub(super) fn iter(&self) -> impl Iterator<Item = &(K, T)> {
        self.0.iter()
    }
}

/// Refuses frames that cannot be made or received: reserved ones, and those that are passed over.
pub(super) fn defined(pls: Pls) -> Result<()> {
    if pls.is_dummy() || pls.fec().is_some() {
        return Ok(());
    }
    Err(Error::new(format!("{pls}: DVB-S2 defines no such PLFRAME")))
}

/// The frames that a PLS describes.
pub(super) fn layout(pls: Pls) -> Result<Layout> {
    Layout::new(pls).ok_or_else(|| Error::new(format!("{pls}: DVB-S2 defines no such PLFRAME")))
}

/// The two codes of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Coding {
    Of(FrameSize, Rate),
    VlSnr(VlSnr),
}

impl Coding {
    pub(super) fn ldpc(self) -> &'static Code {
        match self {
            Self::Of(size, rate) => Code::get(size, rate).expect("every frame with data has an LDPC code"),
            Self::VlSnr(kind) => kind.code(),
        }
    }

    pub(super) fn bch(self) -> Bch {
        match self {
            Self::Of(size, rate) => Bch::new(size, rate).expect("every frame with data has a BCH code"),
            Self::VlSnr(kind) => kind.bch(),
        }
    }

    /// Bytes of zeros, which are not sent, before the BCH codeword in that of the other code.
    pub(super) fn zeros(self) -> usize {
        match self {
            Self::Of(..) => 0,
            Self::VlSnr(kind) => kind.shortened_bytes(),
        }
    }
}

/// The codes of the frames that a PLS describes.
pub(super) fn code(pls: Pls) -> Result<Coding> {
    match (pls.fec(), pls.modcod(), pls.vl_snr()) {
        (Some(_), Some(modcod), _) => Ok(Coding::Of(pls.frame_size(), modcod.rate(pls.frame_size()))),
        (.., Some(kind)) => Ok(Coding::VlSnr(kind)),
        _ => Err(Error::new(format!("{pls}: carries no data"))),
    }
}

/// Refuses frames of another length.
pub(crate) fn expect(what: &str, wanted: usize, got: usize) -> Result<()> {
    if wanted == got {
        return Ok(());
    }
    Err(Error::new(format!("needs frames of {wanted} {what}, not {got}")))
}

/// Refuses a frame that is not as long as its PLS says.
pub(super) fn expect_of(pls: Pls, what: &str, wanted: usize, got: usize) -> Result<()> {
    expect(what, wanted, got).map_err(|error| Error::new(format!("{pls}: {error}")))
}

/// Symbols of a PLFRAME; what is given must hold them all.
pub(super) fn whole(pls: Pls, symbols: usize) -> Result<usize> {
    let wanted = layout(pls)?.symbols();
    if symbols < wanted {
        return Err(Error::new(format!("a frame of {pls} has {wanted} symbols, not {symbols}")));
    }
    Ok(wanted)
}

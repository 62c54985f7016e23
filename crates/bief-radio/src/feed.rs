//! Where a receiver's bytes come from: what waits to be read, or a radio, which does not wait.

use std::io::Read;

use bief::Result;

use crate::files::Input;

/// Bytes, as many at a time as the receiver needs next.
pub(crate) trait Feed: Send {
    /// Whether [`fill`](Self::fill) will fill so many at once, with nothing lost among them, if the stream does not end before.
    fn is_ready(&mut self, bytes: usize) -> bool;

    /// Fills the front of `space`; `None` when nothing has come for a while.
    fn fill(&mut self, space: &mut [u8]) -> Result<Option<Fed>>;

    /// Bytes lost so far.
    fn lost(&self) -> u64 {
        0
    }

    /// Called when the stream has ended: tells what ended it early.
    fn finish(&mut self) -> Result<()>;

    /// Called before another run.
    fn reset(&mut self) -> Result<()> {
        Ok(())
    }
}

/// What a call filled in.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Fed {
    pub(crate) bytes: usize,
    /// Bytes lost just before these.
    pub(crate) lost: u64,
    /// Nothing comes after these.
    pub(crate) ended: bool,
}

/// A reader that waits.
pub(crate) struct Waiting(Input);

impl Waiting {
    pub(crate) fn new(reader: impl Read + Send + 'static) -> Self {
        Self(Input::new(Box::new(reader)))
    }
}

impl Feed for Waiting {
    fn is_ready(&mut self, _bytes: usize) -> bool {
        true
    }

    fn fill(&mut self, space: &mut [u8]) -> Result<Option<Fed>> {
        let bytes = self.0.fill(space);
        Ok(Some(Fed { bytes, lost: 0, ended: bytes < space.len() }))
    }

    fn finish(&mut self) -> Result<()> {
        self.0.fault()
    }
}

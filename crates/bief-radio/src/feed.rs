//! Where a receiver's bytes come from: what waits to be read, or a radio, which does not wait.

use std::io::Read;

use bief::{Flow, Result, Task};

use crate::files::Input;
use crate::live::ReadLive;

/// Bytes, as many at a time as the receiver needs next.
pub(crate) trait Feed: Send {
    /// Bytes that [`fill`](Self::fill) may write, however few are wanted; 0 of what waits until as many have come as are wanted.
    fn block(&self) -> usize {
        0
    }

    /// Fills the front of `space`: as many bytes as are wanted, or a block; `None` when nothing has come for a while. `space` has
    /// room for both.
    fn fill(&mut self, space: &mut [u8], wanted: usize) -> Result<Option<Fed>>;

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
    fn fill(&mut self, space: &mut [u8], wanted: usize) -> Result<Option<Fed>> {
        let bytes = self.0.fill(&mut space[..wanted]);
        Ok(Some(Fed { bytes, lost: 0, ended: bytes < wanted }))
    }

    fn finish(&mut self) -> Result<()> {
        self.0.fault()
    }
}

impl Feed for ReadLive {
    fn block(&self) -> usize {
        self.block_bytes()
    }

    fn fill(&mut self, space: &mut [u8], _wanted: usize) -> Result<Option<Fed>> {
        let block = &mut space[..self.block_bytes()];
        let (mut filled, mut lost) = ([0], [0]);
        let flow = self.run((), (&mut *block, &mut filled, &mut lost))?;
        let bytes = filled[0] as usize;
        Ok((flow == Flow::Next).then_some(Fed { bytes, lost: lost[0], ended: bytes < block.len() }))
    }

    fn lost(&self) -> u64 {
        Task::lost(self)
    }

    fn finish(&mut self) -> Result<()> {
        Task::finish(self)
    }

    fn reset(&mut self) -> Result<()> {
        Task::reset(self)
    }
}

//! The windows of PLFRAMEs, read from where they lie in a recording.

use std::sync::Arc;

use bief::memory::prefetch;
use bief::{Error, Flow, In, Out, OutVar, Result, Task, VarFrame};
use bief_dsp::dvbs2::FrameSync;

use super::cut::is_whole_in;
use super::stream::Stretch;
use crate::recording::Stored;

const NAME: &str = "read frames";
/// Bytes of a window that are prefetched: the filter prefetches the others while it works.
const FRONT: usize = 16_384;

/// Reads the windows of PLFRAMEs from where they lie in a recording. Each is read by itself: most of the time of this task is that of the
/// system, which copies the bytes of a file, on as many cores as there are replicas.
///
/// # Sockets
/// - in: where the window of a frame lies, from [`CutFrames`](super::CutFrames), 1 per frame
/// - in: `Option<FrameSync>`, 1 per frame: where the frame lies in its window
/// - out: `u8`, variable: the window, samples as they were recorded
///
/// # Errors
/// A recording that cannot be read any more. A frame that it does not hold any more is left out, as any that it ends within: it was cut
/// short.
///
/// # Source
/// None: any bytes.
///
/// # Example
/// The chain of a [`Receiver`](super::Receiver) has it behind [`CutFrames`](super::CutFrames).
#[derive(Clone)]
pub struct ReadFrames {
    stored: Stored,
    /// Bytes of the longest window, and of a sample.
    longest: usize,
    each: usize,
}

impl ReadFrames {
    /// Reads windows of up to `longest` bytes, of samples of so many bytes each.
    pub(super) fn new(stored: Stored, longest: usize, each: usize) -> Self {
        Self { stored, longest, each }
    }

    /// The recording, if it is in memory and need not be read.
    pub(super) fn in_memory(&self) -> Option<&Arc<[u8]>> {
        self.stored.in_memory()
    }
}

impl Task for ReadFrames {
    type In = (In<Stretch>, In<Option<FrameSync>>);
    type Out = OutVar<u8>;

    fn name(&self) -> String {
        NAME.to_owned()
    }

    fn lens(&self, _: (usize, usize)) -> Result<usize> {
        Ok(self.longest)
    }

    fn run(
        &mut self,
        (stretch, sync): (&[Stretch], &[Option<FrameSync>]),
        mut window: VarFrame<'_, u8>,
    ) -> Result<Flow> {
        let Stretch { start, bytes } = stretch[0];
        let (read, fault) = self.stored.fill_at(start, &mut window.space()[..bytes]);
        if read < bytes && !sync[0].is_some_and(|frame| is_whole_in(&frame, read / self.each)) {
            return fault.map_or(Ok(Flow::Skip), |fault| Err(Error::from_source(fault)));
        }
        window.set_len(read / self.each * self.each)?;
        Ok(Flow::Next)
    }

    fn replica(&self) -> Option<Self> {
        Some(self.clone())
    }
}

/// Takes the place, and the name, of [`ReadFrames`] where a recording is in memory: windows stay where they lie, and the front of each is
/// prefetched. So the chain has the same tasks wherever a recording lies, and a plan for one fits the other.
///
/// # Sockets
/// - in: where the window of a frame lies, from [`CutFrames`](super::CutFrames), 1 per frame
/// - out: the same, 1 per frame
///
/// # Errors
/// None.
///
/// # Source
/// None: any bytes.
///
/// # Example
/// The chain of a [`Receiver`](super::Receiver) has it behind [`CutFrames`](super::CutFrames), where its recording is in memory.
#[derive(Clone)]
pub(crate) struct PrefetchFrames(pub(super) Arc<[u8]>);

impl Task for PrefetchFrames {
    type In = In<Stretch>;
    type Out = Out<Stretch>;

    fn name(&self) -> String {
        NAME.to_owned()
    }

    fn lens(&self, _: usize) -> Result<usize> {
        Ok(1)
    }

    fn run(&mut self, stretch: &[Stretch], window: &mut [Stretch]) -> Result<Flow> {
        let there = stretch[0].of(&self.0);
        prefetch(&there[..there.len().min(FRONT)]);
        window[0] = stretch[0];
        Ok(Flow::Next)
    }

    fn replica(&self) -> Option<Self> {
        Some(self.clone())
    }
}

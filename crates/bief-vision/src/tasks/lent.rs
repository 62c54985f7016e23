//! Frames that lie in memory: their numbers go through the chain, and detection looks at them where they lie.

use std::sync::Arc;

use bief::{Error, Figures, Flow, In, Out, OutVar, Result, Task, VarFrame};

use super::detect::DetectComponents;
use super::read::{Clock, Stamp};
use crate::component::Component;
use crate::size::Size;

/// Pictures one behind the other, a byte per pixel.
#[derive(Debug, Clone)]
pub(crate) struct LentFrames {
    pub(crate) name: Arc<str>,
    pub(crate) size: Size,
    pub(crate) pixels: Arc<[u8]>,
}

impl LentFrames {
    /// Those that are whole.
    fn count(&self) -> u64 {
        (self.pixels.len() / self.size.pixels()) as u64
    }

    /// The picture of a frame; behind the last one, they begin again.
    fn picture(&self, frame: u64) -> &[u8] {
        let pixels = self.size.pixels();
        let start = (frame % self.count()) as usize * pixels;
        &self.pixels[start..start + pixels]
    }
}

/// Tells number and time of each frame, and ends the stream with the last one.
pub(crate) struct NumberFrames {
    frames: LentFrames,
    clock: Clock,
    next: u64,
    /// How many there are: of rehearsals, they begin again.
    most: u64,
    repeats: bool,
}

impl NumberFrames {
    /// All frames.
    pub(crate) fn new(frames: LentFrames, clock: Clock) -> Self {
        let most = frames.count();
        Self { frames, clock, next: 0, most, repeats: false }
    }

    /// So many frames, again and again if there are fewer.
    pub(crate) fn rehearsed(frames: LentFrames, clock: Clock, most: u64) -> Self {
        Self { frames, clock, next: 0, most, repeats: true }
    }
}

impl Task for NumberFrames {
    type In = ();
    type Out = Out<Stamp>;

    fn lens(&self, (): ()) -> Result<usize> {
        Ok(1)
    }

    fn run(&mut self, (): (), stamp: &mut [Stamp]) -> Result<Flow> {
        let pixels = self.frames.size.pixels();
        let rest = self.frames.pixels.len() % pixels;
        let is_cut = rest > 0 && if self.repeats { self.frames.count() == 0 } else { self.next == self.most };
        if is_cut {
            let (name, number) = (&self.frames.name, self.next);
            return Err(Error::new(format!("{name}: frame {number}: cut short: {rest} of {pixels} bytes are there")));
        }
        if self.next >= self.most {
            return Ok(Flow::Stop);
        }
        stamp[0] = self.clock.stamp(self.next);
        self.next += 1;
        Ok(Flow::Next)
    }
}

/// As [`DetectComponents`], of frames that are where their numbers say.
pub(crate) struct DetectInMemory {
    pub(crate) detect: DetectComponents,
    pub(crate) frames: LentFrames,
}

impl Task for DetectInMemory {
    type In = In<Stamp>;
    type Out = OutVar<Component>;

    fn name(&self) -> String {
        self.detect.name()
    }

    fn lens(&self, _: usize) -> Result<usize> {
        self.detect.lens(self.frames.size.pixels())
    }

    fn run(&mut self, stamp: &[Stamp], components: VarFrame<'_, Component>) -> Result<Flow> {
        self.detect.run(self.frames.picture(stamp[0].frame), components)
    }

    fn replica(&self) -> Option<Self> {
        Some(Self { detect: self.detect.replica()?, frames: self.frames.clone() })
    }

    fn figures(&self, figures: &mut Figures) {
        self.detect.figures(figures);
    }
}

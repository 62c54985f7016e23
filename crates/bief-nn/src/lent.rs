//! Frames that lie in memory: the source tells their numbers, and the first task of the network takes them where they lie, without a copy.

use std::sync::Arc;

use bief::raw::{BatchView, Direction, RawTask, Shape, SocketKind};
use bief::{Error, Flow, Result};

use crate::numbered::NumberedSource;
use crate::segment::SegmentTask;

/// Frames that lie in memory, for [`Inference::reads_from`](crate::Inference::reads_from).
pub trait Frames: Send + Sync {
    /// The frame of a number, for several threads at once; `None` from the first number on that is not there.
    ///
    /// # Errors
    /// Whatever is wrong with the frames: the run ends there.
    fn frame(&self, number: u64) -> Result<Option<&[f32]>>;
}

/// Copies the frame of a number, if it is there.
pub(crate) fn copied(frames: &dyn Frames, number: u64, slot: &mut [f32]) -> Result<Flow> {
    let Some(frame) = frame_of(frames, number, slot.len())? else { return Ok(Flow::Stop) };
    slot.copy_from_slice(frame);
    Ok(Flow::Next)
}

/// The frame of a number, which has so many elements.
fn frame_of(frames: &dyn Frames, number: u64, len: usize) -> Result<Option<&[f32]>> {
    match frames.frame(number)? {
        Some(frame) if frame.len() != len => {
            let there = frame.len();
            Err(Error::new(format!("frame {number} has {there} numbers, and the network takes frames of {len}")))
        }
        frame => Ok(frame),
    }
}

/// Tells the numbers of the frames that are there.
pub(crate) fn numbers(frames: Arc<dyn Frames>) -> NumberedSource<u64> {
    let read = move |number, slot: &mut [u64]| {
        slot[0] = number;
        Ok(if frames.frame(number)?.is_some() { Flow::Next } else { Flow::Stop })
    };
    NumberedSource { read: Arc::new(read), frame: Shape::from(1) }
}

/// The first task of the network, which gets the numbers of frames.
pub(crate) struct LentSegment {
    pub(crate) segment: SegmentTask,
    pub(crate) frames: Arc<dyn Frames>,
}

impl RawTask for LentSegment {
    fn name(&self) -> String {
        self.segment.name()
    }

    fn inputs(&self) -> Vec<SocketKind> {
        vec![SocketKind::fixed::<u64>(Direction::In)]
    }

    fn outputs(&self) -> Vec<SocketKind> {
        self.segment.outputs()
    }

    fn lens(&self, _: &[Shape]) -> Result<Vec<Shape>> {
        Ok(vec![self.segment.output.clone()])
    }

    fn run(&mut self, batch: &mut BatchView<'_>) -> Result<()> {
        let (numbers, mut output) = (batch.inputs.get(0)?, batch.outputs.get_mut(0)?);
        for position in 0..batch.frames.count() {
            if !batch.frames.is_live(position) {
                continue;
            }
            batch.frames.begin(position);
            let number = numbers.frame::<u64>(position)?[0];
            // The source has seen that it is there.
            if let Some(frame) = frame_of(&*self.frames, number, self.segment.input.len())? {
                self.segment.session.run(frame, output.frame(position)?)?;
            }
        }
        Ok(())
    }

    fn replica(&self) -> Option<Self> {
        Some(Self { segment: self.segment.replica()?, frames: Arc::clone(&self.frames) })
    }
}

/// The same frames again and again.
pub(crate) struct Repeated {
    pub(crate) frames: Arc<[f32]>,
    /// Of a frame.
    pub(crate) len: usize,
    pub(crate) count: u64,
}

impl Frames for Repeated {
    fn frame(&self, number: u64) -> Result<Option<&[f32]>> {
        let start = (number % (self.frames.len() / self.len) as u64) as usize * self.len;
        Ok((number < self.count).then(|| &self.frames[start..start + self.len]))
    }
}

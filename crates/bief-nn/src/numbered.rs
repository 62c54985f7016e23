//! Sources and sinks that know frames by their numbers: they remember nothing, and may be replicated with the network between them.

use std::sync::Arc;

use bief::chain::Element;
use bief::raw::{BatchView, Direction, RawTask, Shape, SocketKind};
use bief::{Error, Flow, Result};

/// Fills the frame of a number.
pub(crate) type ReadAt<T = f32> = dyn Fn(u64, &mut [T]) -> Result<Flow> + Send + Sync;
/// Takes the result of the frame of a number.
pub(crate) type DeliverAt = dyn Fn(u64, &[f32]) -> Result<Flow> + Send + Sync;

/// The first frame's number of a batch at the ends of a chain.
fn first(batch: &BatchView<'_>) -> Result<u64> {
    batch.frames.first().ok_or_else(|| Error::new("frames have no numbers inside a loop, a path or a feedback"))
}

/// Makes frames by their numbers.
pub(crate) struct NumberedSource<T> {
    pub(crate) read: Arc<ReadAt<T>>,
    pub(crate) frame: Shape,
}

impl<T: Element> RawTask for NumberedSource<T> {
    fn name(&self) -> String {
        "source".to_owned()
    }

    fn inputs(&self) -> Vec<SocketKind> {
        Vec::new()
    }

    fn outputs(&self) -> Vec<SocketKind> {
        vec![SocketKind::fixed::<T>(Direction::Out)]
    }

    fn lens(&self, _: &[Shape]) -> Result<Vec<Shape>> {
        Ok(vec![self.frame.clone()])
    }

    fn run(&mut self, batch: &mut BatchView<'_>) -> Result<()> {
        let first = first(batch)?;
        let mut output = batch.outputs.get_mut(0)?;
        for position in 0..batch.frames.count() {
            batch.frames.begin(position);
            match (self.read)(first + position as u64, output.frame::<T>(position)?)? {
                Flow::Next => {}
                Flow::Skip => batch.frames.skip(position),
                Flow::Stop => {
                    batch.frames.stop(position);
                    break;
                }
            }
        }
        Ok(())
    }

    fn replica(&self) -> Option<Self> {
        Some(Self { read: Arc::clone(&self.read), frame: self.frame.clone() })
    }
}

/// Takes results by their numbers.
pub(crate) struct NumberedSink(pub(crate) Arc<DeliverAt>);

impl RawTask for NumberedSink {
    fn name(&self) -> String {
        "sink".to_owned()
    }

    fn inputs(&self) -> Vec<SocketKind> {
        vec![SocketKind::fixed::<f32>(Direction::In)]
    }

    fn outputs(&self) -> Vec<SocketKind> {
        Vec::new()
    }

    fn lens(&self, _: &[Shape]) -> Result<Vec<Shape>> {
        Ok(Vec::new())
    }

    fn run(&mut self, batch: &mut BatchView<'_>) -> Result<()> {
        let first = first(batch)?;
        let input = batch.inputs.get(0)?;
        for position in 0..batch.frames.count() {
            if !batch.frames.is_live(position) {
                continue;
            }
            batch.frames.begin(position);
            match (self.0)(first + position as u64, input.frame(position)?)? {
                Flow::Next => {}
                Flow::Skip => batch.frames.skip(position),
                Flow::Stop => {
                    batch.frames.stop(position);
                    break;
                }
            }
        }
        Ok(())
    }

    fn replica(&self) -> Option<Self> {
        Some(Self(Arc::clone(&self.0)))
    }
}

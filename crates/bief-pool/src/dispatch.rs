//! The task before the cut.

use bief::Result;
use bief::raw::{BatchView, Direction, RawTask, Shape, SocketKind};

use crate::front::Front;
use crate::segment::Segment;
use crate::wires::{WireKind, Writer};

/// Sends the frames of its inputs to workers, and passes their numbers on to [`Collect`](crate::Collect).
pub struct Dispatch {
    front: Front,
    wires: Writer,
    /// Bytes of the frame before: the next one has about as many.
    bytes: usize,
}

impl Dispatch {
    /// For the tasks of a segment.
    pub fn new(front: &Front, segment: &Segment) -> Self {
        Self { front: front.clone(), wires: Writer::new(segment.inputs()), bytes: 0 }
    }
}

impl RawTask for Dispatch {
    fn name(&self) -> String {
        "dispatch".to_owned()
    }

    fn inputs(&self) -> Vec<SocketKind> {
        WireKind::sockets(self.wires.kinds(), Direction::In).unwrap_or_default()
    }

    fn outputs(&self) -> Vec<SocketKind> {
        vec![SocketKind::fixed::<u64>(Direction::Out)]
    }

    fn lens(&self, _: &[Shape]) -> Result<Vec<Shape>> {
        Ok(vec![Shape::from(1)])
    }

    fn run(&mut self, batch: &mut BatchView<'_>) -> Result<()> {
        for position in 0..batch.frames.count() {
            if batch.frames.is_live(position) {
                batch.frames.begin(position);
                let mut frame = Vec::with_capacity(self.bytes);
                self.wires.write(batch, position, &mut frame)?;
                self.bytes = frame.len();
                let number = self.front.push(frame)?;
                batch.outputs.get_mut(0)?.frame::<u64>(position)?[0] = number;
            }
        }
        Ok(())
    }
}

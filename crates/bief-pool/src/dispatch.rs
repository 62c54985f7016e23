//! The task before the cut, and the one behind the tasks that are done here all the same.

use bief::Result;
use bief::raw::{BatchView, Direction, RawTask, Shape, SocketKind};

use crate::front::{Front, Way};
use crate::segment::Segment;
use crate::wires::{WireKind, Writer};

/// Sends the frames of its inputs to workers, or lets them stay. It tells of each frame its number, and whether it is to be worked on
/// here: that of a frame that has left is for [`Collect`](crate::Collect), that of another one for [`Done`](crate::Done).
pub struct Dispatch {
    front: Front,
    wires: Writer,
}

impl Dispatch {
    /// For the tasks of a segment.
    pub fn new(front: &Front, segment: &Segment) -> Self {
        Self { front: front.clone(), wires: Writer::new(segment.inputs()) }
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
        vec![SocketKind::fixed::<u64>(Direction::Out), SocketKind::fixed::<bool>(Direction::Out)]
    }

    fn lens(&self, _: &[Shape]) -> Result<Vec<Shape>> {
        Ok(vec![Shape::from(1); 2])
    }

    fn run(&mut self, batch: &mut BatchView<'_>) -> Result<()> {
        let first = batch.frames.first().unwrap_or(0);
        for position in 0..batch.frames.count() {
            if !batch.frames.is_live(position) {
                continue;
            }
            batch.frames.begin(position);
            let frame = first + position as u64;
            let (number, stays) = match self.front.way(frame) {
                Way::Here => (frame, true),
                Way::Away => {
                    let mut bytes = self.front.buffers().take();
                    self.wires.write(batch, position, &mut bytes)?;
                    (self.front.push(bytes)?, false)
                }
            };
            batch.outputs.get_mut(0)?.frame::<u64>(position)?[0] = number;
            batch.outputs.get_mut(1)?.frame::<bool>(position)?[0] = stays;
        }
        Ok(())
    }
}

/// Notes that a frame that stayed has been worked on, by the last of the tasks.
#[derive(Clone)]
pub struct Done(Front);

impl Done {
    /// Of the frames of a front.
    pub fn new(front: &Front) -> Self {
        Self(front.clone())
    }
}

impl RawTask for Done {
    fn name(&self) -> String {
        "done here".to_owned()
    }

    fn inputs(&self) -> Vec<SocketKind> {
        vec![SocketKind::fixed::<u64>(Direction::In)]
    }

    fn outputs(&self) -> Vec<SocketKind> {
        Vec::new()
    }

    fn lens(&self, _: &[Shape]) -> Result<Vec<Shape>> {
        Ok(Vec::new())
    }

    fn run(&mut self, batch: &mut BatchView<'_>) -> Result<()> {
        for position in batch.frames.live() {
            self.0.done_here(batch.inputs.get(0)?.frame::<u64>(position)?[0]);
        }
        Ok(())
    }

    fn replica(&self) -> Option<Self> {
        Some(self.clone())
    }
}

//! The task behind the cut.

use bief::raw::{BatchView, Direction, RawTask, Shape, SocketKind};
use bief::{Error, Result};
use bief_link::Message;
use bief_link::message::Outcome;

use crate::front::Front;
use crate::segment::Segment;
use crate::wires::{self, WireKind};

/// Waits for the results of the frames that [`Dispatch`](crate::Dispatch) sent, in their order.
pub struct Collect {
    front: Front,
    outputs: Vec<WireKind>,
}

impl Collect {
    /// For the tasks of a segment.
    pub fn new(front: &Front, segment: &Segment) -> Self {
        Self { front: front.clone(), outputs: segment.outputs().to_vec() }
    }
}

impl RawTask for Collect {
    fn name(&self) -> String {
        "collect".to_owned()
    }

    fn inputs(&self) -> Vec<SocketKind> {
        vec![SocketKind::fixed::<u64>(Direction::In)]
    }

    fn outputs(&self) -> Vec<SocketKind> {
        WireKind::sockets(&self.outputs, Direction::Out).unwrap_or_default()
    }

    fn lens(&self, _: &[Shape]) -> Result<Vec<Shape>> {
        Ok(WireKind::shapes(&self.outputs))
    }

    fn run(&mut self, batch: &mut BatchView<'_>) -> Result<()> {
        for position in 0..batch.frames.count() {
            if !batch.frames.is_live(position) {
                continue;
            }
            batch.frames.begin(position);
            let wanted = batch.inputs.get(0)?.frame::<u64>(position)?[0];
            let (number, worker, bytes) = self.front.collect()?;
            if number != wanted {
                return Err(Error::new(format!(
                    "frame {number} came where {wanted} was to come: is there one `Collect`?"
                )));
            }
            let Ok(Message::Answer { outcome, .. }) = Message::read(&bytes) else {
                return Err(Error::new(format!("what came of frame {number} is no answer")));
            };
            let named = |error: Error| Error::new(format!("worker {}: {error}", self.front.name(worker)));
            match outcome {
                Outcome::Next(wires) => wires::read(&self.outputs, wires, batch, position).map_err(named)?,
                Outcome::Skip => batch.frames.skip(position),
                Outcome::Stop => batch.frames.stop(position),
                Outcome::Failed { task, message } => {
                    return Err(named(Error::new(format!("task `{task}`: {message}"))));
                }
            }
        }
        Ok(())
    }
}

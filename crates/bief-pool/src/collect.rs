//! The task behind the cut.

use bief::raw::{BatchView, Direction, RawTask, Shape, SocketKind};
use bief::report::Figures;
use bief::{Error, Result};
use bief_link::Message;
use bief_link::message::Outcome;

use crate::front::Front;
use crate::segment::Segment;
use crate::wires::{self, WireKind};

/// Waits for the results of the frames that [`Dispatch`](crate::Dispatch) sent, in their order, and puts them into the wires that the same
/// tasks make here; those of frames that stayed are there. It reads what `Dispatch` tells, and rewrites the wires.
///
/// It tells what the tasks of workers told, put together, and what each worker did.
pub struct Collect {
    front: Front,
    outputs: Vec<WireKind>,
}

/// The inputs before the wires that it rewrites.
const TOLD: usize = 2;

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
        let told = [SocketKind::fixed::<u64>(Direction::In), SocketKind::fixed::<bool>(Direction::In)];
        told.into_iter().chain(WireKind::sockets(&self.outputs, Direction::InOut).unwrap_or_default()).collect()
    }

    fn outputs(&self) -> Vec<SocketKind> {
        Vec::new()
    }

    fn lens(&self, _: &[Shape]) -> Result<Vec<Shape>> {
        Ok(Vec::new())
    }

    fn run(&mut self, batch: &mut BatchView<'_>) -> Result<()> {
        let first = batch.frames.first().unwrap_or(0);
        for position in 0..batch.frames.count() {
            if !batch.frames.is_live(position) || batch.inputs.get(1)?.frame::<bool>(position)?[0] {
                continue;
            }
            batch.frames.begin(position);
            let wanted = batch.inputs.get(0)?.frame::<u64>(position)?[0];
            let (number, worker, bytes) = self.front.collect(first + position as u64)?;
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
                Outcome::Next(wires) => {
                    wires::read(&self.outputs, wires, (&mut batch.inputs, TOLD), position).map_err(named)?;
                }
                Outcome::Skip => batch.frames.skip(position),
                Outcome::Stop => batch.frames.stop(position),
                Outcome::Failed { task, message } => {
                    return Err(named(Error::new(format!("task `{task}`: {message}"))));
                }
            }
        }
        Ok(())
    }

    fn figures(&self, figures: &mut Figures) {
        for row in self.front.tally() {
            figures.count("worker_frames", "frames", row.frames).of("worker", &row.name);
            figures.count("worker_sent_again", "frames", row.again).of("worker", &row.name);
            figures.count("worker_late", "frames", row.late).of("worker", &row.name);
        }
        figures.merge(self.front.told());
    }

    fn finish(&mut self) -> Result<()> {
        self.front.hear_last_words();
        Ok(())
    }
}

//! A part of a network as a task.

use std::sync::Arc;

use bief::raw::{BatchView, Direction, RawTask, Shape, SocketKind};
use bief::{Error, Result};

use crate::engine::Session;

/// Works a part of a network off, frame by frame, or batch by batch where the part takes batches. It remembers nothing: replicas share the
/// session, and so the weights.
pub(crate) struct SegmentTask {
    pub(crate) name: String,
    pub(crate) session: Arc<dyn Session>,
    pub(crate) input: Shape,
    pub(crate) output: Shape,
    pub(crate) takes_batches: bool,
}

impl RawTask for SegmentTask {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn inputs(&self) -> Vec<SocketKind> {
        vec![SocketKind::fixed::<f32>(Direction::In)]
    }

    fn outputs(&self) -> Vec<SocketKind> {
        vec![SocketKind::fixed::<f32>(Direction::Out)]
    }

    fn lens(&self, inputs: &[Shape]) -> Result<Vec<Shape>> {
        let (wanted, got) = (&self.input, &inputs[0]);
        if wanted.len() != got.len() {
            return Err(Error::new(format!(
                "it wants frames of {} numbers ({wanted}), and gets {} ({got})",
                wanted.len(),
                got.len()
            )));
        }
        Ok(vec![self.output.clone()])
    }

    fn run(&mut self, batch: &mut BatchView<'_>) -> Result<()> {
        let (input, wanted, made) = (batch.inputs.get(0)?, self.input.len(), self.output.len());
        let stride = input.stride();
        let input = input.slice::<f32>()?;
        let mut output = batch.outputs.get_mut(0)?;
        let output = output.slice::<f32>()?;
        // Frames of a constant are one.
        let at_once = if self.takes_batches && stride == wanted { usize::MAX } else { 1 };
        let mut next = 0;
        loop {
            let Some(run) = batch.frames.runs().find(|run| run.end > next) else { return Ok(()) };
            let start = run.start.max(next);
            next = run.end.min(start.saturating_add(at_once));
            batch.frames.begin(start);
            let frames = &input[start * stride..start * stride + (next - start) * wanted];
            self.session.run(frames, &mut output[start * made..next * made])?;
        }
    }

    fn replica(&self) -> Option<Self> {
        Some(Self {
            name: self.name.clone(),
            session: Arc::clone(&self.session),
            input: self.input.clone(),
            output: self.output.clone(),
            takes_batches: self.takes_batches,
        })
    }
}

//! The code of a task for cores, in a lane.

use super::{DeviceBatch, Offload};
use crate::error::{Error, Result};
use crate::figures::Figures;
use crate::task::{Flow, Task};

/// Runs the task itself.
pub(super) struct Emulated<T>(pub(super) T);

impl<T: Task> Offload<T::In, T::Out> for Emulated<T> {
    fn enqueue(&mut self, batch: &mut DeviceBatch<'_, T::In, T::Out>) -> Result<()> {
        batch.for_each(|inputs, outputs| match self.0.run(inputs, outputs)? {
            Flow::Next => Ok(()),
            Flow::Skip | Flow::Stop => Err(Error::new(
                "on a device it would have to pass every frame on, and keeps this one: plan it on cores (--device off)",
            )),
        })
    }

    fn figures(&self, figures: &mut Figures) {
        self.0.figures(figures);
    }

    fn finish(&mut self) -> Result<()> {
        self.0.finish()
    }

    fn reset(&mut self) -> Result<()> {
        self.0.reset()
    }
}

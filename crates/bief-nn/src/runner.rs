//! A network that is called like a function.

use std::sync::Arc;

use bief::raw::Shape;
use bief::{Error, Result};

use crate::engine::Session;

/// A network that any thread may call, several at once: it comes from [`Inference::runner`](crate::Inference::runner).
///
/// ```
/// # use bief_nn::{Engine, EngineKind, Inference, NeuralNetwork};
/// # fn main() -> bief::Result<()> {
/// # let network = NeuralNetwork::open("data/tiny_exact.onnx".as_ref())?;
/// # let Ok(engine) = Engine::open(EngineKind::OnnxRuntime, None) else { return Ok(()) };
/// let runner = Inference::new(network, engine).whole().runner()?;
/// let (there, here) = std::thread::scope(|scope| {
///     let there = scope.spawn(|| runner.run(&[1.0; 64]));
///     (there.join().unwrap(), runner.run(&[1.0; 64]))
/// });
/// assert_eq!(there?, here?);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Runner {
    name: String,
    input: Shape,
    /// Each task, with the length of what it makes.
    tasks: Vec<(Arc<dyn Session>, usize)>,
}

impl Runner {
    pub(crate) fn new(name: &str, input: &Shape, tasks: Vec<(Arc<dyn Session>, usize)>) -> Self {
        Self { name: name.to_owned(), input: input.clone(), tasks }
    }

    /// Works on one frame, on the calling thread.
    ///
    /// # Errors
    /// A frame of another length; an engine that fails.
    pub fn run(&self, frame: &[f32]) -> Result<Vec<f32>> {
        let (wanted, there) = (&self.input, frame.len());
        if wanted.len() != there {
            let (name, len) = (&self.name, wanted.len());
            return Err(Error::new(format!(
                "{name}: its frames have {len} numbers ({wanted}), and this one has {there}"
            )));
        }
        let mut made: Option<Vec<f32>> = None;
        for (session, len) in &self.tasks {
            let mut next = vec![0.0; *len];
            session.run(made.as_deref().unwrap_or(frame), &mut next)?;
            made = Some(next);
        }
        Ok(made.unwrap_or_default())
    }
}

impl std::fmt::Debug for Runner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Runner({})", self.name)
    }
}

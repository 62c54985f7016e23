//! tract, which is built in.

use std::fmt;
use std::sync::Arc;

use bief::{Error, Result};
use tract_onnx::prelude::*;

use super::{Library, Part, Port, Session};

pub(super) struct Tract;

impl fmt::Display for Tract {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("tract")
    }
}

impl Library for Tract {
    fn session(&self, part: &Part, _: usize) -> Result<Arc<dyn Session>, String> {
        let load = || -> TractResult<Loaded> {
            let model = tract_onnx::onnx()
                .model_for_read(&mut &part.model[..])?
                .with_input_fact(0, f32::fact(&part.input.dims).into())?
                .into_optimized()?
                .into_runnable()?;
            Ok(Loaded { model, input: part.input.clone(), output: part.output.clone() })
        };
        Ok(Arc::new(load().map_err(|error| format!("{error:#}"))?))
    }
}

/// A part that is loaded, for one frame at a time.
struct Loaded {
    model: TypedRunnableModel<TypedModel>,
    input: Port,
    output: Port,
}

impl Session for Loaded {
    fn run(&self, input: &[f32], output: &mut [f32]) -> Result<()> {
        for (input, output) in input.chunks(self.input.len()).zip(output.chunks_mut(self.output.len())) {
            let mut run = || -> TractResult<()> {
                let frame = Tensor::from_shape(&self.input.dims, input)?;
                let made = self.model.run(tvec![frame.into()])?;
                output.copy_from_slice(made[0].as_slice::<f32>()?);
                Ok(())
            };
            run().map_err(|error| Error::new(format!("tract: {error:#}")))?;
        }
        Ok(())
    }
}

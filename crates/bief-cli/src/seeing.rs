//! What a run did, beyond its report: the same options in every command that runs a chain.

use std::io::Write;
use std::path::{Path, PathBuf};

use bief::{Pipeline, Report};
use clap::Args;

use crate::failure::Failure;
use crate::files::Files;
use crate::parts::put;

/// Batches of each thread that a trace keeps.
const TRACED_BATCHES: usize = 10_000;

/// Options that look closer at a run.
#[derive(Args)]
pub(crate) struct SeeingArgs {
    /// Also report task times, the fill of the rings, frame latency, and the figures of the tasks
    #[arg(long)]
    observe: bool,
    /// Write a trace of each thread's latest 10000 batches, for https://ui.perfetto.dev
    #[arg(long, value_name = "FILE.json")]
    trace: Option<PathBuf>,
    /// Write the pipeline with measured times as a Graphviz graph
    #[arg(long, value_name = "FILE.dot")]
    dot: Option<PathBuf>,
}

impl SeeingArgs {
    /// Notes the files that are written.
    pub(crate) fn claim(&self, files: &mut Files) -> Result<(), Failure> {
        for (path, option) in [(&self.trace, "--trace"), (&self.dot, "--dot")] {
            path.as_deref().map_or(Ok(()), |path| files.write(path, option))?;
        }
        Ok(())
    }

    /// A report with what tasks tell, and without what nobody asked to see: planned runs are observed all the same.
    pub(crate) fn shown(&self, report: &Report) -> String {
        let mut shown = report.clone();
        if !self.observe && self.trace.is_none() {
            shown.stages.iter_mut().flat_map(|stage| &mut stage.tasks).for_each(|task| task.times = None);
            shown.boundaries.iter_mut().for_each(|boundary| boundary.occupancy = None);
            shown.latency = None;
        }
        match self.observe && !shown.figures.is_empty() {
            true => format!("{shown}\n\n{}", shown.figures),
            false => shown.to_string(),
        }
    }

    /// Lets the pipeline note what was asked for.
    pub(crate) fn prepare(&self, mut pipeline: Pipeline) -> Result<Pipeline, Failure> {
        if self.observe {
            pipeline = pipeline.observe();
        }
        if self.trace.is_some() {
            pipeline = pipeline.trace(TRACED_BATCHES).map_err(Failure::from_error)?;
        }
        Ok(pipeline)
    }

    /// Writes what the pipeline noted in its last run, also one that a fault ended.
    pub(crate) fn write(&self, pipeline: &Pipeline) -> Result<(), Failure> {
        if let Some((path, trace)) = self.trace.as_deref().zip(pipeline.last_trace()) {
            write(path, |out| trace.write(out))?;
        }
        if let Some(path) = &self.dot {
            write(path, |out| out.write_all(pipeline.dot().as_bytes()))?;
        }
        Ok(())
    }
}

fn write(path: &Path, text: impl FnOnce(&mut dyn Write) -> std::io::Result<()>) -> Result<(), Failure> {
    put(path, text).map_err(Failure::from_error)
}

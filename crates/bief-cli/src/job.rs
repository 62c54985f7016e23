//! What a run needs as one job of many: `--resume` and `--progress`, the same in every command that writes what it receives.

use std::fs::File;
use std::io::{self, Write};
use std::path::PathBuf;

use clap::Args;
use serde_json::json;

use crate::failure::{Failure, say};
use crate::files::{Files, is_dash};
use crate::input::is_address;
use crate::json::JsonArgs;
use crate::progress::Lines;

/// Options of jobs.
#[derive(Args)]
pub(crate) struct JobArgs {
    /// Do nothing where all is done: where the file of --json is there or, without one, every output
    #[arg(long)]
    resume: bool,
    /// Tell how far the run is, as a line of JSON each second, on standard error or in FILE
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true, default_missing_value = "-")]
    progress: Option<PathBuf>,
}

impl JobArgs {
    /// Notes the file that is written.
    pub(crate) fn claim(&self, files: &mut Files) -> Result<(), Failure> {
        self.progress.as_deref().map_or(Ok(()), |path| files.write(path, "--progress"))
    }

    /// Whether a run that writes these outputs need not be: says so.
    ///
    /// # Errors
    /// Nothing tells whether it was done.
    pub(crate) fn is_done(&self, json: &JsonArgs, outputs: &[PathBuf]) -> Result<bool, Failure> {
        if !self.resume {
            return Ok(false);
        }
        // It has its name when all others have theirs.
        let telling = json.file().map_or_else(|| outputs.to_vec(), |path| vec![path.to_owned()]);
        let is_file = |path: &PathBuf| !is_dash(path) && !is_address(path) && (path.is_file() || !path.exists());
        if telling.is_empty() || !telling.iter().all(is_file) {
            let remedy = "give --json FILE, which is written last, or outputs that are files";
            return Err(Failure::usage(format!("--resume: nothing tells whether this was done before: {remedy}")));
        }
        if !telling.iter().all(|path| path.is_file()) {
            return Ok(false);
        }
        say(format_args!("bief: {} is there: nothing is left to do", telling[0].display()));
        if json.on_stdout() {
            json.write(|| format!("{:#}", json!({ "outputs": telling, "skipped": true })))?;
        }
        Ok(true)
    }

    /// What tells how far a run is, of an input of so many bytes, if someone wants to know.
    pub(crate) fn lines(&self, bytes: Option<u64>) -> Result<Option<Lines>, Failure> {
        let Some(path) = &self.progress else { return Ok(None) };
        let named = |error: io::Error| Failure::new(format!("{}: --progress: {error}", path.display()));
        let out: Box<dyn Write + Send> = match is_dash(path) {
            true => Box::new(io::stderr()),
            // It is read while it grows.
            false => Box::new(File::create(path).map_err(named)?),
        };
        Ok(Some(Lines::new(out, bytes)))
    }
}

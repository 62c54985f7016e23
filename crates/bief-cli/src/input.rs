//! A recording as an argument, the same in every command that receives one.

use std::path::{Path, PathBuf};

use bief_radio::{Recording, SampleFormat};
use clap::Args;

use crate::failure::Failure;
use crate::files::{Files, is_dash};

/// The recording to receive.
#[derive(Args)]
pub(crate) struct RecordingArgs {
    /// Recording: SigMF (a pair or an archive), WAV of IQ samples, or a raw file (see --format); `-` for standard input
    /// [default: a built-in one]
    pub(crate) input: Option<PathBuf>,
    /// Sample format of a raw input: cf32, ci16, ci8 or cu8
    #[arg(long)]
    format: Option<SampleFormat>,
}

impl RecordingArgs {
    /// Whether anything was asked for.
    pub(crate) fn is_given(&self) -> bool {
        self.input.is_some() || self.format.is_some()
    }

    /// Whether it is standard input: live, with no end but one from outside.
    pub(crate) fn is_stdin(&self) -> bool {
        self.input.as_deref().is_some_and(is_dash)
    }

    /// Notes the files that are read.
    pub(crate) fn claim(&self, files: &mut Files) {
        let Some(input) = &self.input else { return };
        files.read(input);
        if input.extension().is_some_and(|extension| extension == "sigmf-meta" || extension == "sigmf-data") {
            files.read(&input.with_extension("sigmf-meta"));
            files.read(&input.with_extension("sigmf-data"));
        }
    }

    /// Opens the recording, or the one that is built in.
    pub(crate) fn open(&self, built_in: impl FnOnce() -> Recording) -> Result<Recording, Failure> {
        match &self.input {
            None => Ok(built_in()),
            Some(_) if self.is_stdin() => Recording::from_stdin(self.format).map_err(Failure::from_error),
            Some(path) => Recording::open(path, self.format).map_err(Failure::from_error),
        }
    }
}

/// The file beside a recording that has its name and this extension.
pub(crate) fn beside(input: &Path, extension: &str) -> PathBuf {
    let known = ["sigmf-meta", "sigmf-data", "sigmf", "wav", "cf32", "ci16", "ci8", "cu8", "raw", "bin", "iq"];
    let of_input = input.extension().and_then(|extension| extension.to_str()).unwrap_or("");
    if known.contains(&of_input) && of_input != extension {
        return input.with_extension(extension);
    }
    let mut name = input.as_os_str().to_owned();
    name.push(".");
    name.push(extension);
    name.into()
}

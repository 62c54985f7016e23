//! A recording as an argument, the same in every command that receives one.

use std::path::{Path, PathBuf};

use bief_radio::{Recording, SampleFormat};
use clap::Args;

use crate::failure::Failure;
use crate::files::{Files, is_dash};
use crate::json::JsonArgs;

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

    /// Notes the file that is named; which others belong to it is known when it is [open](Self::open).
    pub(crate) fn claim(&self, files: &mut Files) -> Result<(), Failure> {
        self.input.as_deref().map_or(Ok(()), |input| files.read(input))
    }

    /// Opens the recording, or the one that is built in; notes every file that it consists of.
    pub(crate) fn open(&self, built_in: impl FnOnce() -> Recording, files: &mut Files) -> Result<Recording, Failure> {
        let recording = match &self.input {
            None => Ok(built_in()),
            Some(_) if self.is_stdin() => Recording::from_stdin(self.format),
            Some(path) => Recording::open(path, self.format),
        };
        let recording = recording.map_err(Failure::from_error)?;
        recording.files.iter().try_for_each(|file| files.read(file))?;
        Ok(recording)
    }

    /// Takes what was typed as FILE of `--json` for the input that is missing, where it is a recording: by its name, or by what it
    /// holds.
    pub(crate) fn take_from(&mut self, json: &mut JsonArgs) {
        let is_recording = |path: &Path| {
            extension(path).is_some_and(|extension| KNOWN.contains(&extension))
                || with_suffix(path, "sigmf-meta").is_file()
                || path.is_file() && Recording::open(path, self.format).is_ok()
        };
        if self.input.is_none() {
            self.input = json.misplaced_input(is_recording);
        }
    }
}

/// Extensions that recordings have.
const KNOWN: [&str; 11] =
    ["sigmf-meta", "sigmf-data", "sigmf", "wav", "cf32", "ci16", "ci8", "cu8", "raw", "bin", "iq"];

fn extension(path: &Path) -> Option<&str> {
    path.extension().and_then(|extension| extension.to_str())
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".");
    name.push(suffix);
    name.into()
}

/// The file beside a recording that has its name and this extension.
pub(crate) fn beside(input: &Path, extension: &str) -> PathBuf {
    match self::extension(input) {
        Some(known) if KNOWN.contains(&known) && known != extension => input.with_extension(extension),
        _ => with_suffix(input, extension),
    }
}

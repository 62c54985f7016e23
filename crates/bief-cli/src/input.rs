//! A recording as an argument, the same in every command that receives one.

use std::path::{Path, PathBuf};

use bief::kinds::{Address, Openers};
use bief_radio::{Recording, SampleFormat, open_recording};
use clap::Args;
use clap::builder::{OsStringValueParser, TypedValueParser};

use crate::failure::Failure;
use crate::files::{Files, is_dash};
use crate::json::JsonArgs;

/// The recording to receive.
#[derive(Args)]
pub(crate) struct RecordingArgs {
    /// Recording: SigMF (a pair or an archive), WAV of IQ samples, or a raw file (see --format); `-` for standard input,
    /// or tcp://, udp://, zmq+pull://, zmq+sub://, soapy: and rtl_tcp:// addresses
    /// [default: a built-in one]
    #[arg(value_parser = path_or_address())]
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

    /// Whether a sample format was given.
    pub(crate) fn has_format(&self) -> bool {
        self.format.is_some()
    }

    /// Whether it is standard input, or what an opener opens: live, with no end but one from outside.
    pub(crate) fn is_live(&self) -> bool {
        self.input.as_deref().is_some_and(|input| is_dash(input) || is_address(input))
    }

    /// Notes the file that is named; which others belong to it is known when it is [open](Self::open).
    pub(crate) fn claim(&self, files: &mut Files) -> Result<(), Failure> {
        self.input.as_deref().map_or(Ok(()), |input| files.read(input))
    }

    /// Opens the recording, or the one that is built in; notes every file that it consists of.
    pub(crate) fn open(&self, built_in: impl FnOnce() -> Recording, files: &mut Files) -> Result<Recording, Failure> {
        let recording = match &self.input {
            None => return Ok(built_in()),
            Some(input) => {
                let registry = crate::registry::all();
                let address = address(input, registry.openers())?;
                open_recording(&address, registry.openers(), self.format)
                    .map_err(|error| Failure::unopened(&address, error))?
            }
        };
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

/// Takes an argument for a path as it is, and `file:PATH` for the path that it names; other addresses stay as they are.
pub(crate) fn path_or_address() -> impl TypedValueParser<Value = PathBuf> {
    OsStringValueParser::new().try_map(|text| match text.to_str().map(str::parse::<Address>) {
        Some(Ok(address)) => Ok(address.path().map_or_else(|| PathBuf::from(text), Path::to_owned)),
        Some(Err(error)) => Err(error),
        None => Ok(PathBuf::from(text)),
    })
}

/// The address that an argument names.
pub(crate) fn address(input: &Path, openers: &Openers) -> Result<Address, Failure> {
    match scheme(input) {
        Some(text) => openers.address(text, Path::new("")).map_err(Failure::from_error),
        None => Ok(Address::of_path(input)),
    }
}

/// Whether this is an address with a scheme, and no path.
pub(crate) fn is_address(input: &Path) -> bool {
    scheme(input).is_some()
}

/// The text of an address with a scheme: no path, unless a file has that name.
fn scheme(input: &Path) -> Option<&str> {
    let text = input.to_str()?;
    let address: Address = text.parse().ok()?;
    (address.scheme().is_some() && !input.exists()).then_some(text)
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

//! Where `bief nbfm` writes audio.

use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};

use bief::kinds::{Address, AddressOptions};
use bief_radio::{AudioFormat, FmReceiver};
use clap::Args;

use super::SAMPLE_NAME;
use crate::failure::Failure;
use crate::files::{Files, is_dash};
use crate::input::{address, beside, is_address, path_or_address};

/// Parts of a second of audio that go to standard output at a time: who listens does not wait for more.
const PIPED: u32 = 50;

/// The file that is written.
#[derive(Args)]
pub(super) struct OutputArgs {
    /// Where audio goes: OUT.wav, or raw to OUT.s16 or OUT.f32; `-` for standard output, as raw s16, and so udp://, tcp:// and zmq+
    /// addresses unless they say ?format=f32 [default: NAME.wav next to the input]
    #[arg(short, long, value_name = "OUT.wav", value_parser = path_or_address())]
    output: Option<PathBuf>,
    /// Replace a file that is there though -o does not name it
    #[arg(long)]
    force: bool,
}

/// A place for audio, and its form there.
pub(super) struct Output {
    pub(super) path: PathBuf,
    /// Where it is no file.
    address: Option<Address>,
    form: Form,
}

#[derive(Clone, Copy)]
enum Form {
    Wav,
    Raw(AudioFormat),
}

impl OutputArgs {
    /// What was asked for, or else a file beside the input; in the current folder for the recording that is built in.
    pub(super) fn path(&self, input: Option<&Path>) -> Result<PathBuf, Failure> {
        Ok(match (&self.output, input) {
            (Some(output), _) => output.clone(),
            (None, None) => PathBuf::from(SAMPLE_NAME).with_extension("wav"),
            (None, Some(input)) if is_dash(input) => {
                return Err(Failure::usage("standard input has no name: give -o OUT.wav, or -o - for standard output"));
            }
            (None, Some(input)) if is_address(input) => {
                return Err(Failure::usage(format!("{}: no file lies beside it: give -o OUT.wav", input.display())));
            }
            (None, Some(input)) => beside(input, "wav"),
        })
    }
}

impl Output {
    /// That of the options.
    pub(super) fn new(args: &OutputArgs, input: Option<&Path>, files: &mut Files) -> Result<Self, Failure> {
        let path = args.path(input)?;
        if is_address(&path) {
            return Self::over_network(path);
        }
        let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or("").to_ascii_lowercase();
        let form = match &*extension {
            _ if is_dash(&path) => Form::Raw(AudioFormat::S16),
            "wav" => Form::Wav,
            extension => Form::Raw(extension.parse().map_err(|_| {
                Failure::usage(format!("{}: which form of audio? Name a file .wav, .s16 or .f32", path.display()))
            })?),
        };
        match (&args.output, input) {
            (None, Some(_)) => files.write_unnamed(&path, "the audio", args.force)?,
            // The audio of the recording that is built in may be written again and again.
            _ => files.write(&path, "the audio")?,
        }
        Ok(Self { path, address: None, form })
    }

    /// Raw audio for whoever takes it there.
    fn over_network(path: PathBuf) -> Result<Self, Failure> {
        let registry = crate::registry::all();
        let address = address(&path, registry.openers())?;
        registry.openers().check_writer(&address).map_err(Failure::from_error)?;
        let format = AddressOptions::of(&address).map_err(Failure::from_error)?.text("format").map(str::parse);
        let format = format.unwrap_or(Ok(AudioFormat::S16));
        let format = format.map_err(|error| Failure::usage(format!("{address}: {error}")))?;
        Ok(Self { path, address: Some(address), form: Form::Raw(format) })
    }

    pub(super) fn is_stdout(&self) -> bool {
        is_dash(&self.path)
    }

    /// How a sample is written.
    pub(super) fn form(&self) -> String {
        match self.form {
            Form::Wav => "WAV, 16 bits".to_owned(),
            Form::Raw(format) => format!("raw {format}"),
        }
    }

    /// Gives a receiver this output: the file is made once the receiver is.
    pub(super) fn of(&self, receiver: FmReceiver, files: &Files) -> FmReceiver {
        let (path, files) = (self.path.clone(), files.clone());
        let create = move || files.create(&path).map(BufWriter::new).map_err(bief::Error::from_source);
        match (self.form, self.address.clone()) {
            (Form::Raw(format), Some(address)) => {
                receiver.to_raw(move || crate::registry::all().openers().writer(&address), format)
            }
            (Form::Raw(format), None) if self.is_stdout() => {
                let bytes = (receiver.settings().audio_rate / PIPED) as usize * format.bytes();
                receiver.to_raw(move || Ok(BufWriter::with_capacity(bytes, io::stdout())), format)
            }
            (Form::Raw(format), None) => receiver.to_raw(create, format),
            (Form::Wav, _) => receiver.to_wav(create),
        }
    }
}

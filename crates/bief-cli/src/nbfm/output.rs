//! Where `bief nbfm` writes audio.

use std::fs::File;
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};

use bief::{Chain, Wire};
use bief_radio::{AudioFormat, WriteAudio, WriteWav};
use clap::Args;

use super::SAMPLE_NAME;
use crate::failure::Failure;
use crate::files::{Files, is_dash};
use crate::input::beside;

/// Parts of a second of audio that go to standard output at a time: who listens does not wait for more.
const PIPED: u32 = 50;

/// The file that is written.
#[derive(Args)]
pub(super) struct OutputArgs {
    /// Where audio goes: OUT.wav, or raw to OUT.s16 or OUT.f32; `-` for standard output, as raw s16 [default: NAME.wav
    /// next to the input]
    #[arg(short, long, value_name = "OUT.wav")]
    output: Option<PathBuf>,
    /// Replace a file that is there though -o does not name it
    #[arg(long, conflicts_with = "output")]
    force: bool,
}

/// A place for audio, and its form there.
#[derive(Clone)]
pub(super) struct Output {
    pub(super) path: PathBuf,
    form: Form,
}

#[derive(Clone, Copy)]
enum Form {
    Wav,
    Raw(AudioFormat),
}

/// What is ready to be written to.
pub(super) enum Sink {
    Wav(WriteWav<BufWriter<File>>),
    File(WriteAudio<BufWriter<File>>),
    Pipe(WriteAudio<BufWriter<io::Stdout>>),
}

impl Output {
    /// What was asked for, or else a file beside the input; in the current folder for the recording that is built in.
    pub(super) fn new(args: &OutputArgs, input: Option<&Path>, files: &mut Files) -> Result<Self, Failure> {
        let path = match (&args.output, input) {
            (Some(output), _) => output.clone(),
            (None, None) => PathBuf::from(SAMPLE_NAME).with_extension("wav"),
            (None, Some(input)) if is_dash(input) => {
                return Err(Failure::new("standard input has no name: give -o OUT.wav, or -o - for standard output"));
            }
            (None, Some(input)) => beside(input, "wav"),
        };
        let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or("").to_ascii_lowercase();
        let form = match &*extension {
            _ if is_dash(&path) => Form::Raw(AudioFormat::S16),
            "wav" => Form::Wav,
            extension => Form::Raw(extension.parse().map_err(|_| {
                Failure::new(format!("{}: which form of audio? Name a file .wav, .s16 or .f32", path.display()))
            })?),
        };
        match (&args.output, input) {
            (None, Some(_)) => files.write_unnamed(&path, "the audio", args.force)?,
            // The audio of the recording that is built in may be written again and again.
            _ => files.write(&path, "the audio")?,
        }
        Ok(Self { path, form })
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

    /// Makes the file.
    pub(super) fn open(&self, audio_rate: u32) -> Result<Sink, Failure> {
        let create = || {
            let created = File::create(&self.path).map(BufWriter::new);
            created.map_err(|error| Failure::new(format!("{}: {error}", self.path.display())))
        };
        Ok(match self.form {
            Form::Raw(format) if self.is_stdout() => {
                let bytes = (audio_rate / PIPED) as usize * format.bytes();
                Sink::Pipe(WriteAudio::new(BufWriter::with_capacity(bytes, io::stdout()), format))
            }
            Form::Raw(format) => Sink::File(WriteAudio::new(create()?, format)),
            Form::Wav => Sink::Wav(WriteWav::new(create()?, audio_rate, 1).map_err(Failure::from_error)?),
        })
    }
}

impl Sink {
    /// Adds the task that writes.
    pub(super) fn add(self, chain: &mut Chain, audio: &Wire<f32>) {
        match self {
            Self::Wav(task) => chain.add(task, audio),
            Self::File(task) => chain.add(task, audio),
            Self::Pipe(task) => chain.add(task, audio),
        }
    }
}

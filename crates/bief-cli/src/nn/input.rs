//! The frames that a network gets.

use std::fs::File;
use std::io::{self, BufReader, Cursor, Read};
use std::path::{Path, PathBuf};

use bief::raw::Shape;
use bief::{Error, Flow};
use bief_nn::Inference;
use clap::{Args, ValueEnum};

use super::npy;
use super::stored::{Place, Stored};
use crate::failure::Failure;
use crate::files::{Files, is_dash};
use crate::status::Status;
use crate::text::counted;

/// Numbers that rehearsals repeat, at most: 64 MB; and frames.
const REHEARSED: usize = 1 << 24;
const REHEARSED_FRAMES: usize = 64;

/// What numbers of a raw file are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum NumberFormat {
    F32,
    I8,
    U8,
}

impl NumberFormat {
    pub(super) fn size(self) -> usize {
        match self {
            Self::F32 => 4,
            Self::I8 | Self::U8 => 1,
        }
    }

    pub(super) fn number(self, bytes: &[u8]) -> f32 {
        match (self, bytes) {
            (Self::F32, &[a, b, c, d]) => f32::from_le_bytes([a, b, c, d]),
            (Self::I8, &[byte]) => f32::from(byte as i8),
            (Self::U8, &[byte]) => f32::from(byte),
            _ => 0.0,
        }
    }
}

/// The input.
#[derive(Args)]
pub(super) struct InputArgs {
    /// Frames, one after the other: raw numbers or .npy; `-` for raw ones from standard input
    #[arg(short, long, value_name = "FRAMES")]
    pub(super) input: Option<PathBuf>,
    /// What raw numbers are, in the stead of what the name's ending says (.f32, .i8, .u8; else f32)
    #[arg(long, value_name = "FORMAT")]
    format: Option<NumberFormat>,
    /// Multiply each number of the input by this
    #[arg(long, value_name = "X", default_value_t = 1.0, value_parser = finite)]
    pub(super) scale: f32,
    /// Work the input off so many times
    #[arg(long, value_name = "TIMES", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..))]
    pub(super) repeat: u64,
}

/// A number that has an end.
fn finite(text: &str) -> Result<f32, String> {
    let number: f32 = text.parse().map_err(|_| "it is no number".to_owned())?;
    if number.is_finite() { Ok(number) } else { Err("it must be finite".to_owned()) }
}

/// How far results may be from what is expected.
pub(super) fn tolerance(text: &str) -> Result<f32, String> {
    let tolerance = finite(text)?;
    if tolerance >= 0.0 { Ok(tolerance) } else { Err("it must not be negative".to_owned()) }
}

impl InputArgs {
    /// Of a file of numbers beside the input.
    pub(super) fn numbers() -> Self {
        Self { input: None, format: None, scale: 1.0, repeat: 1 }
    }

    pub(super) fn claim(&self, files: &mut Files) -> Result<(), Failure> {
        self.input.as_deref().map_or(Ok(()), |path| files.read(path))
    }

    pub(super) fn open(&self, path: &Path, frame: &Shape) -> Result<Frames, Failure> {
        let told = |error: io::Error| Failure::new(format!("{}: {error}", path.display())).with(Status::NoInput);
        let ends = |end: &str| path.extension().is_some_and(|extension| extension == end);
        let format = self.format.unwrap_or_else(|| match () {
            () if ends("i8") => NumberFormat::I8,
            () if ends("u8") => NumberFormat::U8,
            () => NumberFormat::F32,
        });
        let mut frames = match is_dash(path) {
            true if self.repeat > 1 => return Err(Failure::usage("--repeat needs a file, which can be read again")),
            true => Frames::of("standard input", Box::new(io::stdin()), None),
            false => {
                let file = File::open(path).map_err(told)?;
                Frames::of(&path.display().to_string(), Box::new(BufReader::new(file)), Some(path.to_owned()))
            }
        };
        (frames.format, frames.scale, frames.len, frames.left) = (format, self.scale, frame.len(), self.repeat);
        frames.is_npy = ends("npy") && !is_dash(path);
        frames.shape = frame.dims().to_vec();
        frames.skip_header().map_err(told)?;
        frames.is_whole().map_err(told)?;
        Ok(frames)
    }

    /// The frames that are built in.
    pub(super) fn built_in(&self, name: &str, bytes: &'static [u8], scale: f32, frame: &Shape) -> Frames {
        let mut frames = Frames::of(name, Box::new(Cursor::new(bytes)), None);
        (frames.format, frames.scale, frames.len) = (NumberFormat::I8, scale * self.scale, frame.len());
        (frames.left, frames.memory) = (self.repeat, Some(bytes));
        frames
    }
}

/// Frames that are read one by one.
pub(super) struct Frames {
    pub(super) name: String,
    reader: Box<dyn Read + Send>,
    /// To be read again.
    path: Option<PathBuf>,
    memory: Option<&'static [u8]>,
    format: NumberFormat,
    scale: f32,
    is_npy: bool,
    /// Of a frame.
    len: usize,
    shape: Vec<usize>,
    /// Bytes before the frames, and how many frames they tell.
    header: u64,
    told: Option<u64>,
    /// How often it is read, with the time that is on.
    left: u64,
    count: u64,
    bytes: Vec<u8>,
}

impl Frames {
    fn of(name: &str, reader: Box<dyn Read + Send>, path: Option<PathBuf>) -> Self {
        Self {
            name: name.to_owned(),
            reader,
            path,
            memory: None,
            format: NumberFormat::F32,
            scale: 1.0,
            is_npy: false,
            len: 0,
            shape: Vec::new(),
            header: 0,
            told: None,
            left: 1,
            count: 0,
            bytes: Vec::new(),
        }
    }

    /// Reads what is before the frames.
    fn skip_header(&mut self) -> io::Result<()> {
        if !self.is_npy {
            return Ok(());
        }
        let (there, header) = npy::read_header(&mut self.reader)?;
        self.header = header;
        // One frame, or several: a frame of a network is one of a batch, which may be told as a dimension of 1.
        let wanted = &self.shape[..];
        let inner = wanted.strip_prefix(&[1]).unwrap_or(wanted);
        self.told = match there.split_first() {
            _ if there == wanted || there == inner => Some(1),
            Some((&frames, rest)) if rest == inner || rest == wanted => Some(frames as u64),
            _ => {
                return Err(invalid(format!("it has the shape {there:?}, and the network takes frames of {wanted:?}")));
            }
        };
        Ok(())
    }

    /// Whether a file has the frames that its header tells.
    fn is_whole(&self) -> io::Result<()> {
        let (Some(told), Some(path)) = (self.told, &self.path) else { return Ok(()) };
        let file = std::fs::metadata(path)?;
        let (there, of_frame) = (file.len().saturating_sub(self.header), (self.len * self.format.size()) as u64);
        match !file.is_file() || told.checked_mul(of_frame) == Some(there) {
            true => Ok(()),
            false => Err(invalid(format!(
                "as a NumPy array, it tells {} of {of_frame} bytes, and has {there} bytes",
                counted(told as usize, "frame")
            ))),
        }
    }

    /// Reads the bytes of the next frame; answers how many there are, which is none or all unless the input is cut short.
    fn fill(&mut self) -> bief::Result<usize> {
        self.bytes.resize(self.len * self.format.size(), 0);
        let mut there = 0;
        while there < self.bytes.len() {
            match self.reader.read(&mut self.bytes[there..]) {
                Ok(0) if there == 0 && self.left > 1 && self.count > 0 => {
                    self.left -= 1;
                    self.rewind().map_err(|error| self.told(&error))?;
                }
                Ok(0) => break,
                Ok(read) => there += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(self.told(&error)),
            }
        }
        Ok(there)
    }

    /// Reads the next frame; `false` where there is none.
    pub(super) fn read(&mut self, frame: &mut [f32]) -> bief::Result<bool> {
        let there = self.fill()?;
        self.take(there, frame)
    }

    /// Makes numbers of the bytes, of which so many are there.
    fn take(&mut self, there: usize, frame: &mut [f32]) -> bief::Result<bool> {
        let (name, number, whole) = (&self.name, self.count, self.bytes.len());
        if there == 0 {
            return match self.told.filter(|told| !number.is_multiple_of(*told)) {
                Some(told) => {
                    Err(Error::new(format!("{name}: it tells {told} frames, and ends before frame {number}")))
                }
                None => Ok(false),
            };
        }
        if there < whole {
            return Err(Error::new(format!(
                "{name}: it ends within frame {number}: {there} of {whole} bytes are there"
            )));
        }
        for (number, bytes) in frame.iter_mut().zip(self.bytes.chunks_exact(self.format.size())) {
            *number = self.format.number(bytes) * self.scale;
        }
        self.count += 1;
        Ok(true)
    }

    fn told(&self, error: &io::Error) -> Error {
        Error::new(format!("{}: {error}", self.name))
    }

    fn rewind(&mut self) -> io::Result<()> {
        self.reader = match (&self.path, self.memory) {
            (Some(path), _) => Box::new(BufReader::new(File::open(path)?)),
            (None, Some(bytes)) => Box::new(Cursor::new(bytes)),
            (None, None) => return Err(io::Error::other("it can be read only once")),
        };
        self.skip_header()
    }

    /// The first frames, which come again: what rehearsals repeat.
    pub(super) fn front(&mut self) -> bief::Result<Vec<f32>> {
        let most = (REHEARSED / self.len.max(1)).clamp(1, REHEARSED_FRAMES);
        let (mut front, mut frame) = (Vec::new(), vec![0.0; self.len]);
        let left = std::mem::replace(&mut self.left, 1);
        let mut bytes = Vec::new();
        for _ in 0..most {
            let there = self.fill()?;
            bytes.extend_from_slice(&self.bytes[..there]);
            match self.take(there, &mut frame) {
                Ok(true) => front.extend_from_slice(&frame),
                Ok(false) => break,
                // It comes again behind the frames that are whole.
                Err(_) if !front.is_empty() => break,
                Err(error) => return Err(error),
            }
        }
        (self.left, self.count) = (left, 0);
        if front.is_empty() {
            return Err(Error::new(format!("{}: there is no frame in it", self.name)));
        }
        match self.path.is_some() || self.memory.is_some() {
            true => self.rewind().map_err(|error| self.told(&error))?,
            false => {
                let rest = std::mem::replace(&mut self.reader, Box::new(io::empty()));
                self.reader = Box::new(Cursor::new(bytes).chain(rest));
            }
        }
        Ok(front)
    }

    /// Lets an inference read them: by their numbers, where any of them can be had at any time.
    pub(super) fn into(mut self, inference: Inference) -> Result<Inference, Failure> {
        let told = |error: io::Error| Failure::new(format!("{}: {error}", self.name)).with(Status::NoInput);
        let place = match (&self.path, self.memory) {
            (Some(path), _) => {
                let file = File::open(path).map_err(told)?;
                file.metadata().map_err(told)?.is_file().then_some(Place::File(file, self.header))
            }
            (None, memory) => memory.map(Place::Memory),
        };
        Ok(match place {
            Some(place) => {
                let stored = Stored::new(&self.name, place, (self.format, self.scale), self.len, self.left);
                let stored = stored.map_err(told)?;
                match stored.is_kept() {
                    true => inference.reads_from(stored),
                    false => inference.reads_at(move |number, frame| stored.read(number, frame)),
                }
            }
            None => inference.reads(move |frame| Ok(if self.read(frame)? { Flow::Next } else { Flow::Stop })),
        })
    }
}

fn invalid(reason: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, reason)
}

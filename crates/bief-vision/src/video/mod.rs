//! Videos: y4m, raw grey and PGM by this crate alone, anything else through the program `ffmpeg`.

mod ffmpeg;
mod format;
mod pipe;

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bief::{Error, Result};

use crate::size::Size;
use crate::tasks::LentFrames;
use format::{Format, Header};
use pipe::{PAUSE, Parts};

/// Frames per second where nothing tells them.
const USUAL_RATE: f64 = 25.0;
/// Frames that are read in advance of what goes by.
const FRONT: usize = 8;
/// Bytes that are read at a time where they are few.
const BUFFER: usize = 1 << 16;

/// What is told of a video that does not tell it itself.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct VideoSettings {
    /// The size of frames without a header: raw grey, a byte per pixel.
    pub size: Option<Size>,
    /// Frames per second, in the stead of what the video tells.
    pub rate: Option<f64>,
}

/// A video, of which the header is read, and whose frames come one after another as grey levels, a byte per pixel.
///
/// ```
/// use bief_vision::{Video, VideoSettings};
///
/// let y4m = b"YUV4MPEG2 W2 H1 F25:1 Cmono\nFRAME\n\x10\x20FRAME\n\x30\x40";
/// let mut video = Video::from_memory("two frames", &y4m[..], VideoSettings::default())?;
/// assert_eq!((video.size().to_string(), video.rate()), ("2x1".into(), 25.0));
/// let mut frame = [0; 2];
/// assert!(video.read(&mut frame)? && frame == [0x10, 0x20]);
/// assert!(video.read(&mut frame)? && frame == [0x30, 0x40]);
/// assert!(!video.read(&mut frame)?);
/// # Ok::<(), bief::Error>(())
/// ```
pub struct Video {
    name: String,
    header: Header,
    rate: f64,
    origin: Origin,
    settings: VideoSettings,
    reader: BufReader<Parts>,
    program: Option<ffmpeg::Running>,
    frames: u64,
    is_over: bool,
    /// What is behind the grey levels of a frame.
    rest: Vec<u8>,
    front: Front,
}

/// Pictures that were read in advance, and which of them comes next.
#[derive(Debug, Clone, Default)]
struct Front {
    pictures: Arc<[u8]>,
    next: usize,
}

/// Where a video comes from, so that it may be read from its beginning again.
#[derive(Clone)]
enum Origin {
    File(PathBuf),
    Memory(Arc<[u8]>),
    Program(String),
    /// It goes by.
    Stream,
}

impl Video {
    /// Opens a file. y4m and PGM are known by how they begin; raw grey by the size that is given; all else is read through `ffmpeg`.
    ///
    /// # Errors
    /// A file that cannot be read, a header that makes no sense, no `ffmpeg` where it is needed.
    pub fn open(path: &Path, settings: VideoSettings) -> Result<Self> {
        let name = path.display().to_string();
        let told = |error: io::Error| Error::new(format!("{name}: {error}"));
        let kind = path.metadata().map_err(told)?.file_type();
        if kind.is_dir() {
            return Err(Error::new(format!(
                "{name}: a folder, where a video is wanted: `cat` its PGM pictures to `-`"
            )));
        }
        let file = File::open(path).map_err(told)?;
        if !kind.is_file() {
            // A named pipe, or a device: it has no beginning to come back to.
            pipe::widen(&file);
            return Self::from_reader(&name, file, settings);
        }
        let mut reader = buffered(Box::new(file));
        if settings.size.is_none() && format::is_unknown(&mut reader).map_err(told)? {
            return Self::through_ffmpeg(&name, settings);
        }
        Self::new(name, reader, Origin::File(path.to_owned()), settings)
    }

    /// A video that goes by, such as standard input: y4m, PGM, or raw grey of the size that is given.
    ///
    /// # Errors
    /// A header that makes no sense, a form that is not known.
    pub fn from_reader(name: &str, reader: impl Read + Send + 'static, settings: VideoSettings) -> Result<Self> {
        Self::new(name.to_owned(), buffered(Box::new(reader)), Origin::Stream, settings)
    }

    /// Standard input, a video that goes by.
    ///
    /// # Errors
    /// As of [`from_reader`](Self::from_reader).
    pub fn from_stdin(settings: VideoSettings) -> Result<Self> {
        let input = io::stdin();
        pipe::widen(&input);
        Self::from_reader("standard input", input, settings)
    }

    /// A video in memory.
    ///
    /// # Errors
    /// As of [`from_reader`](Self::from_reader).
    pub fn from_memory(name: &str, bytes: impl Into<Arc<[u8]>>, settings: VideoSettings) -> Result<Self> {
        let bytes: Arc<[u8]> = bytes.into();
        let reader = buffered(Box::new(io::Cursor::new(Arc::clone(&bytes))));
        Self::new(name.to_owned(), reader, Origin::Memory(bytes), settings)
    }

    /// What the program `ffmpeg` reads: a file of any form, `rtsp://…` or another address, or a camera, `/dev/video0`.
    ///
    /// # Errors
    /// No `ffmpeg`, or what it says of the input.
    pub fn through_ffmpeg(input: &str, settings: VideoSettings) -> Result<Self> {
        let started = ffmpeg::start(input, settings).map_err(|error| Error::new(format!("{input}: {error}")));
        let (reader, program) = started?;
        let origin = if ffmpeg::is_live(input) { Origin::Stream } else { Origin::Program(input.to_owned()) };
        let mut reader = buffered(reader);
        match format::header(&mut reader, None) {
            Ok(header) => Self::with(input.to_owned(), header, reader, origin, settings, Some(program)),
            // Nothing came: it says why.
            Err(error) => Err(Error::new(format!("{input}: {}", program.ended().err().unwrap_or(error)))),
        }
    }

    fn new(name: String, mut reader: BufReader<Parts>, origin: Origin, settings: VideoSettings) -> Result<Self> {
        let header = format::header(&mut reader, settings.size);
        let header = header.map_err(|error| Error::new(format!("{name}: {error}")))?;
        Self::with(name, header, reader, origin, settings, None)
    }

    fn with(
        name: String,
        header: Header,
        reader: BufReader<Parts>,
        origin: Origin,
        settings: VideoSettings,
        program: Option<ffmpeg::Running>,
    ) -> Result<Self> {
        let rate = settings.rate.or(header.rate).unwrap_or(USUAL_RATE);
        if !(rate.is_finite() && (1e-3..=1e6).contains(&rate)) {
            return Err(Error::new(format!("{name}: {rate} frames per second: give a rate from 0.001 to 1000000")));
        }
        let rest = vec![0; header.bytes_behind().min(BUFFER)];
        Ok(Self {
            name,
            header,
            rate,
            origin,
            settings,
            reader,
            program,
            frames: 0,
            is_over: false,
            rest,
            front: Front::default(),
        })
    }

    /// What messages call it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The size of its frames.
    pub fn size(&self) -> Size {
        self.header.size
    }

    /// Frames per second.
    pub fn rate(&self) -> f64 {
        self.rate
    }

    /// Frames that were read.
    pub fn frames(&self) -> u64 {
        self.frames
    }

    /// Whether it goes by, and cannot be read again.
    pub fn is_stream(&self) -> bool {
        matches!(self.origin, Origin::Stream)
    }

    /// The same video from its beginning, `None` of one that goes by.
    ///
    /// # Errors
    /// Those of opening it.
    pub fn again(&self) -> Option<Result<Self>> {
        Some(match &self.origin {
            Origin::File(path) => Self::open(path, self.settings),
            Origin::Memory(bytes) => Self::from_memory(&self.name, Arc::clone(bytes), self.settings),
            Origin::Program(input) => Self::through_ffmpeg(input, self.settings),
            Origin::Stream => return None,
        })
    }

    /// Its frames, if they lie in memory as they are, and none was read.
    pub(crate) fn lent(&self) -> Option<LentFrames> {
        match (&self.origin, &self.header.format) {
            (Origin::Memory(bytes), Format::Raw) if self.frames == 0 => {
                Some(LentFrames { name: self.name.as_str().into(), size: self.size(), pixels: Arc::clone(bytes) })
            }
            _ => None,
        }
    }

    /// Reads some frames in advance, for rehearsals: they come first again.
    ///
    /// # Errors
    /// A frame that cannot be read.
    pub(crate) fn with_front(mut self) -> Result<Self> {
        let pixels = self.size().pixels();
        let mut front = vec![0; pixels * FRONT];
        let mut read = 0;
        for frame in front.chunks_exact_mut(pixels) {
            if !self.read(frame)? {
                break;
            }
            read += 1;
        }
        front.truncate(pixels * read);
        self.front = Front { pictures: front.into(), next: 0 };
        self.frames = 0;
        Ok(self)
    }

    /// Whether frames were read in advance.
    pub(crate) fn has_front(&self) -> bool {
        !self.front.pictures.is_empty()
    }

    /// What a rehearsal reads: the video again, or its front; `None` where there is neither.
    pub(crate) fn again_or_front(&self) -> Option<Result<Self>> {
        self.again().or_else(|| {
            let settings = VideoSettings { size: Some(self.size()), rate: Some(self.rate) };
            let pictures = Arc::clone(&self.front.pictures);
            (!pictures.is_empty()).then(|| Self::from_memory(&self.name, pictures, settings))
        })
    }

    /// Waits until the next frame begins to arrive, or the video ends.
    pub(crate) fn wait(&mut self) {
        if self.front.next * self.size().pixels() >= self.front.pictures.len() {
            // What is wrong shows when it is read.
            let _ = self.reader.fill_buf();
        }
    }

    /// From now on, it is read in large parts: of a frame that arrives slowly, more is waited for.
    pub(crate) fn read_in_large_parts(&mut self) {
        self.reader.get_mut().pause = Some(PAUSE);
    }

    /// Reads the next frame; `false` at the end.
    ///
    /// # Errors
    /// A frame that is cut short, or of another size; an `ffmpeg` that failed.
    ///
    /// # Panics
    /// A frame of another size than [`size`](Self::size).
    pub fn read(&mut self, frame: &mut [u8]) -> Result<bool> {
        assert_eq!(frame.len(), self.size().pixels(), "a frame of {}", self.size());
        let next = self.front.next * frame.len();
        if let Some(picture) = self.front.pictures.get(next..next + frame.len()) {
            frame.copy_from_slice(picture);
            self.front.next += 1;
            self.frames += 1;
            return Ok(true);
        }
        if self.is_over {
            return Ok(false);
        }
        let number = self.frames;
        let read = self.header.read(&mut self.reader, frame, &mut self.rest);
        match read {
            Ok(true) => {
                self.frames += 1;
                Ok(true)
            }
            Ok(false) => {
                self.is_over = true;
                let ended = self.program.take().map_or(Ok(()), ffmpeg::Running::ended);
                ended
                    .map(|()| false)
                    .map_err(|error| Error::new(format!("{}: after frame {number}: {error}", self.name)))
            }
            Err(error) => {
                self.is_over = true;
                let cause = self.program.take().and_then(|program| program.ended().err()).unwrap_or(error);
                Err(Error::new(format!("{}: frame {number}: {cause}", self.name)))
            }
        }
    }
}

impl std::fmt::Debug for Video {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Video {{ name: {:?}, size: {}, rate: {} }}", self.name, self.size(), self.rate)
    }
}

fn buffered(reader: Box<dyn Read + Send>) -> BufReader<Parts> {
    BufReader::with_capacity(BUFFER, Parts::new(reader))
}

/// Whether this names what only `ffmpeg` can read and has no end: a camera, or an address such as `rtsp://…`.
pub fn is_camera(input: &str) -> bool {
    ffmpeg::is_live(input)
}

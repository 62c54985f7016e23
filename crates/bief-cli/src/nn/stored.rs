//! Frames that can be had at any time: of a file that has an end, or built in.

use std::cell::RefCell;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use bief::{Error, Flow};
use bief_nn::Frames;

use super::input::NumberFormat;

/// Bytes of a file that is kept in memory.
const KEPT: u64 = 64 << 20;

/// Where numbers are.
pub(super) enum Place {
    Memory(&'static [u8]),
    /// Behind so many bytes.
    File(File, u64),
}

/// Frames by their numbers.
pub(super) struct Stored {
    name: String,
    format: NumberFormat,
    scale: f32,
    /// Numbers of a frame.
    len: usize,
    /// Whole frames, and bytes behind them.
    count: u64,
    rest: u64,
    repeat: u64,
    /// All of them, where they are few.
    kept: Vec<f32>,
    place: Place,
}

thread_local! {
    /// What a frame is read into, before it is numbers.
    static BYTES: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

impl Stored {
    pub(super) fn new(
        name: &str,
        place: Place,
        (format, scale): (NumberFormat, f32),
        len: usize,
        repeat: u64,
    ) -> io::Result<Self> {
        let bytes = match &place {
            Place::Memory(bytes) => bytes.len() as u64,
            Place::File(file, before) => file.metadata()?.len().saturating_sub(*before),
        };
        let of_frame = (len * format.size()) as u64;
        let (count, rest) = (bytes / of_frame, bytes % of_frame);
        let mut stored =
            Self { name: name.to_owned(), format, scale, len, count, rest, repeat, kept: Vec::new(), place };
        if bytes <= KEPT {
            let mut kept = vec![0.0; len * count as usize];
            kept.chunks_mut(len).zip(0..).try_for_each(|(frame, number)| stored.fetch(number, frame))?;
            stored.kept = kept;
        }
        Ok(stored)
    }

    fn fetch(&self, number: u64, frame: &mut [f32]) -> io::Result<()> {
        let size = self.format.size();
        let of_frame = self.len * size;
        let convert = |bytes: &[u8], frame: &mut [f32]| {
            for (number, bytes) in frame.iter_mut().zip(bytes.chunks_exact(size)) {
                *number = self.format.number(bytes) * self.scale;
            }
        };
        match &self.place {
            Place::Memory(bytes) => convert(&bytes[number as usize * of_frame..][..of_frame], frame),
            Place::File(file, before) => BYTES.with_borrow_mut(|bytes| {
                bytes.resize(of_frame, 0);
                file.read_exact_at(bytes, before + number * of_frame as u64)?;
                convert(bytes, frame);
                io::Result::Ok(())
            })?,
        }
        Ok(())
    }

    /// Whether all frames are in memory.
    pub(super) fn is_kept(&self) -> bool {
        !self.kept.is_empty()
    }

    /// Which of the frames has this number; `None` behind the last one.
    fn place_of(&self, number: u64) -> bief::Result<Option<u64>> {
        if number >= self.count && self.rest > 0 {
            let (name, count, there, whole) = (&self.name, self.count, self.rest, self.len * self.format.size());
            return Err(Error::new(format!(
                "{name}: it ends within frame {count}: {there} of {whole} bytes are there"
            )));
        }
        Ok((number / self.repeat < self.count).then(|| number % self.count))
    }

    /// Fills the frame of this number, of a file that is not kept.
    pub(super) fn read(&self, number: u64, frame: &mut [f32]) -> bief::Result<Flow> {
        let Some(place) = self.place_of(number)? else { return Ok(Flow::Stop) };
        self.fetch(place, frame).map_err(|error| Error::new(format!("{}: {error}", self.name)))?;
        Ok(Flow::Next)
    }
}

impl Frames for Stored {
    fn frame(&self, number: u64) -> bief::Result<Option<&[f32]>> {
        let start = self.place_of(number)?.map(|place| place as usize * self.len);
        Ok(start.and_then(|start| self.kept.get(start..start + self.len)))
    }
}

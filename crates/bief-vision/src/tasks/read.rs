//! Frames of a video into a chain, each with its number and its time.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bief::source::{Live, Received, live};
use bief::{Error, Flow, In, Out, Result, Task};

use crate::size::Size;
use crate::video::Video;

/// Bytes of number and time behind the picture, in a live frame.
const STAMP: usize = 16;
/// The time from one live frame of a rehearsal to the next.
const FASTEST: Duration = Duration::from_millis(1);
/// Frames that wait between a camera and the chain: a second of most.
const QUEUE: usize = 24;

/// Refuses frames that are not of this size, with a stamp behind them or without.
pub(super) fn check_frame(size: Size, bytes: usize) -> Result<()> {
    match bytes.checked_sub(size.pixels()) {
        Some(0 | STAMP) => Ok(()),
        _ => Err(Error::new(format!("frames of {bytes} pixels, where {size} has {}", size.pixels()))),
    }
}

/// Number and time of a frame.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Stamp {
    /// From 0; frames that were lost count.
    pub frame: u64,
    /// Microseconds: since the first frame, or since 1970.
    pub time_us: i64,
}

/// What tells the times of frames.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Clock {
    /// Their numbers, at so many frames per second.
    Rate(f64),
    /// This machine's clock, when they begin to arrive.
    Arrival,
}

impl Clock {
    pub(super) fn stamp(self, frame: u64) -> Stamp {
        let time_us = match self {
            Self::Rate(rate) => (frame as f64 * 1e6 / rate).round() as i64,
            Self::Arrival => {
                let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
                i64::try_from(since.as_micros()).unwrap_or(i64::MAX)
            }
        };
        Stamp { frame, time_us }
    }
}

/// Reads a video frame by frame, and ends the stream with it.
///
/// # Sockets
/// - out: `u8`, the pixels of a frame, row by row
/// - out: [`Stamp`], 1 per frame
///
/// # Errors
/// Those of [`Video::read`]; frames that were read before are delivered. A video without any.
///
/// # Example
/// ```
/// use bief::{Chain, sink};
/// use bief_vision::{Clock, ReadFrames, Video, VideoSettings};
///
/// let video = Video::from_memory("test", &b"YUV4MPEG2 W2 H1 F25:1 Cmono\nFRAME\n\x10\x20"[..], VideoSettings::default())?;
/// let mut chain = Chain::new();
/// let (frames, stamps) = chain.add(ReadFrames::new(video, Clock::Rate(25.0)), ());
/// let (collect, pixels) = sink::collect();
/// chain.add(collect, &frames);
/// chain.add(sink::for_each(|_: &[bief_vision::Stamp]| Ok(bief::Flow::Next)), &stamps);
/// chain.build()?.run()?;
/// assert_eq!(pixels.take(), [0x10, 0x20]);
/// # Ok::<(), bief::Error>(())
/// ```
pub struct ReadFrames {
    video: Video,
    clock: Clock,
    frames: u64,
    /// The most frames, and whether a video that has ended begins again: of rehearsals.
    most: u64,
    repeats: bool,
}

impl ReadFrames {
    /// Reads all of a video.
    pub fn new(video: Video, clock: Clock) -> Self {
        Self { video, clock, frames: 0, most: u64::MAX, repeats: false }
    }

    /// Reads so many frames at most, again and again if there are fewer.
    pub(crate) fn rehearsed(video: Video, clock: Clock, most: u64) -> Self {
        Self { video, clock, frames: 0, most, repeats: true }
    }
}

impl Task for ReadFrames {
    type In = ();
    type Out = (Out<u8>, Out<Stamp>);

    fn lens(&self, (): ()) -> Result<(usize, usize)> {
        Ok((self.video.size().pixels(), 1))
    }

    fn run(&mut self, (): (), (frame, stamp): (&mut [u8], &mut [Stamp])) -> Result<Flow> {
        if self.frames >= self.most {
            return Ok(Flow::Stop);
        }
        // A frame is as old as its first pixel.
        self.video.wait();
        stamp[0] = self.clock.stamp(self.frames);
        let read = match self.video.read(frame) {
            // A rehearsal begins again before what is damaged; the run tells it.
            Err(_) if self.repeats && self.frames > 0 => Ok(false),
            read => read,
        };
        if !read? {
            if self.frames == 0 {
                return Err(Error::new(format!("{}: there is no frame in it", self.video.name())));
            }
            let again = if self.repeats { self.video.again() } else { None };
            let Some(video) = again else { return Ok(Flow::Stop) };
            self.video = video?;
            if !self.video.read(frame)? {
                return Ok(Flow::Stop);
            }
        }
        self.frames += 1;
        Ok(Flow::Next)
    }
}

/// A source of frames that cannot wait, such as a camera: what finds no room in a queue of 24 frames is lost, and counted. Its
/// frames hold number and time behind the picture: [`ReadStamps`] reads them, other tasks pass over them.
pub fn live_frames(video: Video, clock: Clock) -> Live<u8, impl FnMut(&mut [u8]) -> Result<Received> + Send + 'static> {
    let pixels = video.size().pixels();
    let mut reader = ReadFrames::new(video, clock);
    reader.video.read_in_large_parts();
    live(pixels + STAMP, QUEUE, move |block| reader.receive(block))
}

/// As [`live_frames`], of a rehearsal: frames are repeated, and come no faster than any camera's.
pub(crate) fn rehearsed_live(
    video: Video,
    clock: Clock,
    most: u64,
) -> Live<u8, impl FnMut(&mut [u8]) -> Result<Received> + Send + 'static> {
    let pixels = video.size().pixels();
    let mut reader = ReadFrames::rehearsed(video, clock, most);
    live(pixels + STAMP, QUEUE, move |block| {
        std::thread::sleep(FASTEST);
        reader.receive(block)
    })
}

impl ReadFrames {
    /// Fills a live frame.
    fn receive(&mut self, block: &mut [u8]) -> Result<Received> {
        let (frame, behind) = block.split_at_mut(block.len() - STAMP);
        let mut stamp = [Stamp::default()];
        if self.run((), (frame, &mut stamp))? != Flow::Next {
            return Ok(Received::End);
        }
        behind[..8].copy_from_slice(&stamp[0].frame.to_le_bytes());
        behind[8..].copy_from_slice(&stamp[0].time_us.to_le_bytes());
        Ok(Received::Frame { lost: 0 })
    }
}

/// Reads number and time of live frames, which are behind their pixels.
///
/// # Sockets
/// - in: `u8`, the pixels of a frame and 16 bytes
/// - in: `u64`, 1 per frame: what was lost before it
/// - out: [`Stamp`], 1 per frame
///
/// # Errors
/// When it is added: frames of 16 bytes or fewer.
///
/// # Example
/// ```
/// use bief::{Chain, Flow, sink};
/// use bief_vision::{Clock, ReadStamps, Stamp, Video, VideoSettings, live_frames};
///
/// let video = Video::from_memory("camera", &b"P5 2 1 255\n\x10\x20"[..], VideoSettings::default())?;
/// let mut chain = Chain::new();
/// let (frames, lost) = chain.add(live_frames(video, Clock::Arrival), ());
/// let stamps = chain.add(ReadStamps, (&frames, &lost));
/// chain.add(sink::for_each(|stamps: &[Stamp]| { assert_eq!(stamps[0].frame, 0); Ok(Flow::Next) }), &stamps);
/// assert_eq!(chain.build()?.run()?.frames, 1);
/// # Ok::<(), bief::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct ReadStamps;

impl Task for ReadStamps {
    type In = (In<u8>, In<u64>);
    type Out = Out<Stamp>;

    fn lens(&self, (bytes, _): (usize, usize)) -> Result<usize> {
        if bytes <= STAMP {
            return Err(Error::new("a live frame has 16 bytes behind its pixels"));
        }
        Ok(1)
    }

    fn run(&mut self, (frame, _): (&[u8], &[u64]), stamp: &mut [Stamp]) -> Result<Flow> {
        if let Some((number, time)) = frame.last_chunk::<STAMP>().and_then(|behind| behind.split_first_chunk()) {
            let time = time.first_chunk().map_or(0, |time| i64::from_le_bytes(*time));
            stamp[0] = Stamp { frame: u64::from_le_bytes(*number), time_us: time };
        }
        Ok(Flow::Next)
    }

    fn replica(&self) -> Option<Self> {
        Some(self.clone())
    }
}

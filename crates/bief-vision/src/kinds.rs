//! The tasks of this crate, as kinds of a registry: what chain files name.

use bief::kinds::{InputAddress, Kind, OutputAddress, Param};
use std::io::Write;

use bief::{Error, Registry, Result};

use crate::detect::Detection;
use crate::size::Size;
use crate::sky::Threshold;
use crate::table::{TABLE_HEADER, table_rows};
use crate::tasks::{Clock, DetectComponents, FollowTracks, ReadFrames};
use crate::tracker::Tracker;
use crate::video::{Video, VideoSettings};

/// Adds the kinds of tasks of this crate, for [`bief::ChainFile`] and [`Registry::make`].
///
/// ```
/// let mut registry = bief::Registry::new();
/// bief_vision::register(&mut registry);
/// assert!(registry.kind("vision.detect").is_ok());
/// ```
pub fn register(registry: &mut Registry) {
    for kind in [read(), detect(), follow()] {
        registry.add(kind);
    }
}

fn rate() -> Param<Option<f64>> {
    Param::<f64>::new("rate", "frames per second, in the stead of what the video tells")
        .unit("Hz")
        .range(1e-3..=1e6)
        .optional()
}

fn size() -> Param<Option<Size>> {
    Param::<String>::new("size", "of frames without a header, as in 1920x1080").parsed::<Size>().optional()
}

fn open(path: &InputAddress, settings: VideoSettings) -> Result<Video> {
    let video = match path.address().path() {
        Some(file) => Video::open(file, settings),
        None => Video::from_reader(&path.address().to_string(), path.open()?.reader, settings),
    };
    video.map_err(|error| path.refuse(error))
}

fn read() -> Kind {
    let path = Param::reads("path", "the video: y4m, PGM, raw grey, or what ffmpeg reads; \"-\" for standard input");
    let summary = "reads a video as frames of grey levels, with number and time of each";
    let kind = Kind::piece("vision.read", summary, (path, size(), rate()), |(path, size, rate), piece| {
        let video = piece.kept::<Video>().map_or_else(|| open(&path, VideoSettings { size, rate }), Ok)?;
        let clock = Clock::Rate(video.rate());
        if !piece.is_rehearsal() {
            return piece.task(ReadFrames::new(video, clock), &[]);
        }
        let video = if video.is_stream() && !video.has_front() { video.with_front()? } else { video };
        let rehearsed = video.again_or_front();
        piece.keep(video);
        match rehearsed {
            Some(video) => piece.task(ReadFrames::rehearsed(video?, clock, u64::MAX), &[]),
            None => Err(path.refuse("there is no frame in it")),
        }
    });
    kind.makes("u8, the pixels of a frame").makes("Stamp, its number and time")
}

fn detect() -> Kind {
    let parameters = (
        size_of_frames(),
        Param::<f64>::new("noise", "standard deviations of the sky's noise that count as light")
            .range(0.0..=100.0)
            .default(3.0),
        Param::<f64>::new("levels", "grey levels above the sky that count as light, at least")
            .range(0.0..=255.0)
            .default(6.0),
        grey("low", "the grey level of light, the same everywhere, in the stead of noise and levels"),
        grey("high", "the grey level that a pixel of each spot has, with low"),
    );
    let summary = "finds the components of each frame: spots brighter than the sky around them";
    Kind::new("vision.detect", summary, parameters, |(size, noise, levels, low, high)| {
        let detection = match (low, high) {
            (None, None) => {
                let threshold = Threshold::Sky { noise: noise as f32, levels: levels as f32 };
                Detection { threshold, ..Detection::default() }
            }
            (Some(low), Some(high)) if low <= high => {
                Detection { threshold: Threshold::Fixed(low), strong: high, ..Detection::fixed() }
            }
            _ => return Err(Error::new("`low` and `high` go together, and `low` is not above `high`")),
        };
        DetectComponents::new(size, detection, None)
    })
}

fn grey(name: &'static str, summary: &'static str) -> Param<Option<u8>> {
    Param::<u8>::new(name, summary).range(1..=255).optional()
}

fn size_of_frames() -> Param<Size> {
    Param::<String>::new("size", "of the frames, as in 1920x1080").parsed::<Size>()
}

fn follow() -> Kind {
    let path = Param::writes("path", "where tracks go, as CSV: the file, \"-\" for standard output, or an address");
    let rate = Param::<f64>::new("rate", "frames per second").unit("Hz").range(1e-3..=1e6);
    let summary = "follows what moves from frame to frame, and writes each track that is complete";
    Kind::new("vision.follow", summary, (size_of_frames(), rate, path), |(size, rate, path): (_, _, OutputAddress)| {
        let mut out = path.writer();
        let mut is_new = true;
        let write = move |track: &crate::Track| {
            let header = if std::mem::take(&mut is_new) { TABLE_HEADER } else { "" };
            let told = |error: std::io::Error| bief::Error::from_source(error);
            out.write_all(format!("{header}{}", table_rows(track)).as_bytes()).and_then(|()| out.flush()).map_err(told)
        };
        Ok(FollowTracks::new(Tracker::new(size, rate), write))
    })
}

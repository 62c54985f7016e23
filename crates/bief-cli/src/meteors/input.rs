//! The video that `bief meteors` searches.

use std::path::{Path, PathBuf};

use bief_vision::{Size, Video, VideoSettings, is_camera};
use clap::Args;

use crate::failure::Failure;
use crate::files::{Files, is_dash};
use crate::json::JsonArgs;
use crate::status::Status;

/// The video that is built in.
pub(super) const SAMPLE_NAME: &str = "meteors";
const SAMPLE: &[u8] = include_bytes!("../../data/meteors.y4m");
/// Extensions that videos have.
const KNOWN: [&str; 12] = ["mp4", "mkv", "avi", "mov", "y4m", "webm", "ts", "m4v", "mpg", "wmv", "pgm", "gray"];

/// The video.
#[derive(Args)]
pub(super) struct VideoArgs {
    /// Video, camera (/dev/video0) or address (rtsp://…); `-` for y4m, PGM or raw grey from standard input [default: a
    /// built-in one]
    #[arg(value_name = "VIDEO")]
    input: Option<PathBuf>,
    /// The size of frames without a header (raw grey, a byte per pixel), or that a camera is asked for
    #[arg(long, value_name = "WxH")]
    size: Option<Size>,
    /// Frames per second, in the stead of what the video tells
    #[arg(long, value_name = "HZ", value_parser = rate)]
    rate: Option<f64>,
}

fn rate(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(rate) if (1e-3..=1e6).contains(&rate) => Ok(rate),
        _ => Err("a number from 0.001 to 1000000 is needed".to_owned()),
    }
}

impl VideoArgs {
    pub(super) fn input(&self) -> Option<&Path> {
        self.input.as_deref()
    }

    /// Whether it has no end but one from outside.
    pub(super) fn is_endless(&self) -> bool {
        self.input().is_some_and(|input| is_dash(input) || is_address(input))
    }

    /// Notes the file that is named.
    pub(super) fn claim(&self, files: &mut Files) -> Result<(), Failure> {
        self.input().filter(|input| !is_address(input)).map_or(Ok(()), |input| files.read(input))
    }

    pub(super) fn open(&self) -> Result<Video, Failure> {
        let settings = VideoSettings { size: self.size, rate: self.rate };
        self.input().map_or_else(built_in, |input| open(input, settings))
    }

    /// Takes what was typed as FILE of `--json` for the video that is missing, where it is one by its name.
    pub(super) fn take_from(&mut self, json: &mut JsonArgs) {
        if self.input.is_none() {
            let is_video = |path: &Path| path.extension().is_some_and(|end| KNOWN.iter().any(|known| end == *known));
            self.input = json.misplaced_input(is_video);
        }
    }
}

/// Whether this is what only ffmpeg reads, and no file.
pub(super) fn is_address(input: &Path) -> bool {
    input.to_str().is_some_and(is_camera)
}

pub(super) fn open(input: &Path, settings: VideoSettings) -> Result<Video, Failure> {
    let video = match input.to_str() {
        Some(address) if is_camera(address) => Video::through_ffmpeg(address, settings),
        _ if is_dash(input) => Video::from_stdin(settings),
        _ => Video::open(input, settings),
    };
    let away = input.to_str().is_some_and(is_camera);
    video.map_err(|error| Failure::from_error(error).with(if away { Status::TryAgain } else { Status::NoInput }))
}

pub(super) fn built_in() -> Result<Video, Failure> {
    Video::from_memory(SAMPLE_NAME, SAMPLE, VideoSettings::default()).map_err(Failure::from_error)
}

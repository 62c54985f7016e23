//! Tracks drawn over their video: over the brightest of all frames as a PNG, or frame by frame through ffmpeg.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use bief_vision::{Kind, Sighting, Size, Track, Video};
use clap::Args;

use super::pictures::write_png;
use crate::failure::Failure;
use crate::files::Files;
use crate::parts::partial;

/// Pixels between a track and the box around it.
const AROUND: f64 = 8.0;

/// What is drawn.
#[derive(Args)]
pub(super) struct OverlayArgs {
    /// Draw tracks over the video: a PNG shows all of them over the brightest of all frames; any other file is a video that
    /// ffmpeg writes. Meteors are green
    #[arg(long, value_name = "FILE")]
    overlay: Option<PathBuf>,
}

impl OverlayArgs {
    pub(super) fn is_given(&self) -> bool {
        self.overlay.is_some()
    }

    /// Notes the file that is written.
    pub(super) fn claim(&self, files: &mut Files) -> Result<(), Failure> {
        self.overlay.as_deref().map_or(Ok(()), |path| files.write(path, "--overlay"))
    }

    /// Refuses what cannot be read twice.
    pub(super) fn check(&self, video: &Video) -> Result<(), Failure> {
        match &self.overlay {
            Some(_) if video.is_stream() => {
                let reason = "--overlay reads the video a second time, and this one goes by: keep it in a file first";
                Err(Failure::usage(format!("{}: {reason}", video.name())))
            }
            _ => Ok(()),
        }
    }

    /// Draws over the video, from its beginning.
    pub(super) fn draw(&self, video: Video, tracks: &[Track]) -> Result<(), Failure> {
        let Some(path) = &self.overlay else { return Ok(()) };
        let is_png = path.extension().is_some_and(|end| end.eq_ignore_ascii_case("png"));
        let drawn = if is_png { picture(path, video, tracks) } else { film(path, video, tracks) };
        drawn.map_err(|error| Failure::new(format!("--overlay: {error}")))
    }
}

/// The colour of a kind.
fn colour(kind: Kind) -> [u8; 3] {
    match kind {
        Kind::Meteor => [60, 255, 90],
        Kind::Satellite => [90, 160, 255],
        Kind::Plane => [255, 160, 60],
        Kind::Insect => [230, 90, 230],
        Kind::Noise => [120, 120, 120],
    }
}

fn picture(path: &Path, mut video: Video, tracks: &[Track]) -> bief::Result<()> {
    let size = video.size();
    let (mut frame, mut brightest) = (vec![0; size.pixels()], vec![0; size.pixels()]);
    while video.read(&mut frame)? {
        brightest.iter_mut().zip(&frame).for_each(|(most, &grey)| *most = grey.max(*most));
    }
    let mut canvas = Canvas::new(size, &brightest);
    for track in tracks {
        let area = track.area(size, AROUND);
        let last = |first: usize, count: usize| (first + count - 1) as i64;
        let (right, bottom) = (last(area.left, area.width), last(area.top, area.height));
        canvas.frame([area.left as i64, area.top as i64, right, bottom], colour(track.kind));
    }
    write_png(path, &canvas.pixels, size.width(), size.height(), png::ColorType::Rgb)
}

fn film(path: &Path, mut video: Video, tracks: &[Track]) -> bief::Result<()> {
    let size = video.size();
    let told = |error: std::io::Error| bief::Error::new(format!("ffmpeg: {error}: it writes what is no PNG"));
    let mut command = Command::new("ffmpeg");
    command.args(["-y", "-hide_banner", "-loglevel", "error", "-f", "rawvideo", "-pix_fmt", "rgb24"]);
    command.args(["-s", &size.to_string(), "-r", &video.rate().to_string(), "-i", "-", "-pix_fmt", "yuv420p"]);
    // Its colours need an even number of columns and rows.
    let written = partial_film(path);
    command.args(["-vf", "pad=ceil(iw/2)*2:ceil(ih/2)*2"]).arg(&written);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().map_err(told)?;
    let mut frame = vec![0; size.pixels()];
    let mut number = 0;
    let sent = (|| {
        let mut pipe = child.stdin.take();
        while video.read(&mut frame)? {
            let mut canvas = Canvas::new(size, &frame);
            for track in tracks {
                let seen = track.sightings.iter().find(|sighting| sighting.frame == number);
                seen.into_iter().for_each(|sighting| canvas.around(sighting, colour(track.kind)));
            }
            pipe.iter_mut().try_for_each(|pipe| pipe.write_all(&canvas.pixels)).map_err(told)?;
            number += 1;
        }
        Ok(())
    })();
    let status = child.wait().map_err(told)?;
    match status.success() {
        true => sent.and_then(|()| fs::rename(&written, path).map_err(told)),
        false => Err(bief::Error::new(format!("{}: ffmpeg ended with {status}", path.display()))),
    }
}

/// What a film is called until it is whole: ffmpeg takes its form from the ending.
fn partial_film(path: &Path) -> PathBuf {
    let mut name = partial(path).into_os_string();
    if let Some(ending) = path.extension() {
        name.push(".");
        name.push(ending);
    }
    name.into()
}

/// A picture in colours.
struct Canvas {
    size: Size,
    pixels: Vec<u8>,
}

impl Canvas {
    fn new(size: Size, grey: &[u8]) -> Self {
        Self { size, pixels: grey.iter().flat_map(|&grey| [grey; 3]).collect() }
    }

    fn around(&mut self, sighting: &Sighting, colour: [u8; 3]) {
        let reach = AROUND + 2.0 * f64::from(sighting.length);
        let side = |place: f64, by: f64| (place + by).round() as i64;
        let Sighting { x, y, .. } = *sighting;
        self.frame([side(x, -reach), side(y, -reach), side(x, reach), side(y, reach)], colour);
    }

    /// The border of a box.
    fn frame(&mut self, [left, top, right, bottom]: [i64; 4], colour: [u8; 3]) {
        for x in left..=right {
            self.dot(x, top, colour);
            self.dot(x, bottom, colour);
        }
        for y in top..=bottom {
            self.dot(left, y, colour);
            self.dot(right, y, colour);
        }
    }

    fn dot(&mut self, x: i64, y: i64, colour: [u8; 3]) {
        let inside = |place: i64, side: usize| usize::try_from(place).ok().filter(|&place| place < side);
        if let (Some(x), Some(y)) = (inside(x, self.size.width()), inside(y, self.size.height())) {
            let start = 3 * (y * self.size.width() + x);
            self.pixels[start..start + 3].copy_from_slice(&colour);
        }
    }
}

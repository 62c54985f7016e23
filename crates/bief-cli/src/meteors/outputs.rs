//! Where `bief meteors` writes what it finds.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use bief_vision::{Kind, Pictures, Size, TABLE_HEADER, Track, fmdt_boxes, fmdt_track, table_rows};
use clap::Args;

use super::input::{SAMPLE_NAME, VideoArgs, is_address};
use super::pictures::{crop, write_clip, write_png};
use crate::failure::Failure;
use crate::files::{Files, is_dash};

/// Seconds of a clip before and after what it shows.
const AROUND: f64 = 0.5;
/// Seconds that are kept in memory for clips.
const KEPT: f64 = 5.0;
/// Pixels around a track in its clip.
const MARGIN: f64 = 24.0;

/// The files that are written.
#[derive(Args)]
pub(super) struct OutputArgs {
    /// Where tracks go, as CSV: a line per track and frame; `-` for standard output [default: NAME.tracks.csv next to
    /// the video]
    #[arg(short, long, value_name = "TRACKS.csv")]
    output: Option<PathBuf>,
    /// Replace a file that is there though -o does not name it
    #[arg(long)]
    force: bool,
    /// Write tracks as the table of FMDT
    #[arg(long, value_name = "FILE.txt")]
    fmdt: Option<PathBuf>,
    /// Write the boxes around tracks, frame by frame, as FMDT's visualisation reads them
    #[arg(long, value_name = "FILE.txt")]
    fmdt_boxes: Option<PathBuf>,
    /// Write a clip (y4m) and a maximum stack (PNG) of each meteor to this folder
    #[arg(long, value_name = "FOLDER")]
    clips: Option<PathBuf>,
}

/// The files, by name.
pub(super) struct Outputs {
    pub(super) tracks: PathBuf,
    fmdt: Option<PathBuf>,
    boxes: Option<PathBuf>,
    pub(super) folder: Option<PathBuf>,
}

impl OutputArgs {
    /// What was asked for, or else a file beside the video; in the current folder for the one that is built in.
    fn tracks(&self, video: &VideoArgs) -> Result<PathBuf, Failure> {
        Ok(match (&self.output, video.input()) {
            (Some(output), _) => output.clone(),
            (None, None) => PathBuf::from(SAMPLE_NAME).with_extension("tracks.csv"),
            (None, Some(input)) if is_dash(input) => {
                return Err(Failure::usage(
                    "standard input has no name: give -o TRACKS.csv, or -o - for standard output",
                ));
            }
            (None, Some(input)) if is_address(input) => {
                return Err(Failure::usage(format!("{}: no file lies beside it: give -o TRACKS.csv", input.display())));
            }
            (None, Some(input)) => input.with_extension("tracks.csv"),
        })
    }

    /// The files that have their names when the search has ended.
    pub(super) fn paths(&self, video: &VideoArgs) -> Result<Vec<PathBuf>, Failure> {
        Ok([self.tracks(video)?].into_iter().chain(self.fmdt.clone()).chain(self.fmdt_boxes.clone()).collect())
    }
}

impl Outputs {
    /// Those of the options.
    pub(super) fn new(args: &OutputArgs, video: &VideoArgs, files: &mut Files) -> Result<Self, Failure> {
        let tracks = args.tracks(video)?;
        match (&args.output, video.input()) {
            (None, Some(_)) => files.write_unnamed(&tracks, "the table of tracks", args.force)?,
            _ => files.write(&tracks, "the table of tracks")?,
        }
        for (path, option) in [(&args.fmdt, "--fmdt"), (&args.fmdt_boxes, "--fmdt-boxes")] {
            path.as_deref().map_or(Ok(()), |path| files.write(path, option))?;
        }
        if let Some(folder) = &args.clips {
            let told = |error: io::Error| Failure::new(format!("{}: --clips: {error}", folder.display()));
            fs::create_dir_all(folder).map_err(told)?;
        }
        let (fmdt, boxes, folder) = (args.fmdt.clone(), args.fmdt_boxes.clone(), args.clips.clone());
        Ok(Self { tracks, fmdt, boxes, folder })
    }

    pub(super) fn is_stdout(&self) -> bool {
        is_dash(&self.tracks)
    }

    /// Makes the files.
    pub(super) fn open(&self, files: &Files) -> Result<Writers, Failure> {
        let mut table = Writer::new(&self.tracks, files)?;
        table.write(TABLE_HEADER).map_err(Failure::from_error)?;
        let writer = |path: &Option<PathBuf>| path.as_deref().map(|path| Writer::new(path, files)).transpose();
        Ok(Writers { table, fmdt: writer(&self.fmdt)?, boxes: writer(&self.boxes)? })
    }

    /// What writes clips, if they are asked for.
    pub(super) fn clips(&self, size: Size, rate: f64) -> Option<Clips> {
        self.folder.clone().map(|folder| Clips { folder, size, rate })
    }
}

struct Writer {
    path: PathBuf,
    out: Box<dyn Write + Send>,
}

impl Writer {
    fn new(path: &Path, files: &Files) -> Result<Self, Failure> {
        let out: Box<dyn Write + Send> = match is_dash(path) {
            true => Box::new(io::stdout()),
            false => Box::new(files.create(path).map_err(Failure::from_error)?),
        };
        Ok(Self { path: path.to_owned(), out })
    }

    /// Writes text as a whole: a track is on disk when it is complete.
    fn write(&mut self, text: &str) -> bief::Result<()> {
        let written = self.out.write_all(text.as_bytes()).and_then(|()| self.out.flush());
        written.map_err(|error| bief::Error::new(format!("{}: {error}", self.path.display())))
    }
}

/// The files, open.
pub(super) struct Writers {
    table: Writer,
    fmdt: Option<Writer>,
    boxes: Option<Writer>,
}

impl Writers {
    pub(super) fn write(&mut self, track: &Track) -> bief::Result<()> {
        self.table.write(&table_rows(track))?;
        self.fmdt.as_mut().map_or(Ok(()), |writer| writer.write(&fmdt_track(track)))?;
        self.boxes.as_mut().map_or(Ok(()), |writer| writer.write(&fmdt_boxes(track)))
    }
}

/// A clip and a stack of each meteor.
pub(super) struct Clips {
    folder: PathBuf,
    size: Size,
    rate: f64,
}

impl Clips {
    /// Pictures that must be kept.
    pub(super) fn pictures(&self) -> usize {
        (KEPT * self.rate).ceil().clamp(8.0, 1000.0) as usize
    }

    /// Writes those of a track, if it is a meteor.
    pub(super) fn write(&mut self, track: &Track, kept: &Pictures) -> bief::Result<()> {
        if track.kind != Kind::Meteor {
            return Ok(());
        }
        let around = (AROUND * self.rate).ceil() as u64;
        let frames = track.begin().saturating_sub(around)..=track.end() + around;
        let area = track.area(self.size, MARGIN);
        let pictures: Vec<Vec<u8>> = kept.of(frames).map(|(_, picture)| crop(picture, &area)).collect();
        let mut stack = vec![0; area.width * area.height];
        for picture in &pictures {
            stack.iter_mut().zip(picture).for_each(|(most, &grey)| *most = grey.max(*most));
        }
        let file = |end: &str| self.folder.join(format!("meteor-{:04}.{end}", track.id));
        write_clip(&file("y4m"), &pictures, &area, self.rate)?;
        write_png(&file("png"), &stack, area.width, area.height, png::ColorType::Grayscale)
    }
}

//! `bief meteors`: what moves in a video of the night sky, and which of it are meteors.

mod finding;
mod input;
mod outputs;
mod overlay;
mod pictures;

use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};

use bief::Application;
use bief_vision::{Detection, Meteors, Threshold, Track};
use clap::Args;
use indicatif::ProgressBar;

use self::finding::{Finding, show};
use self::input::VideoArgs;
use self::outputs::{OutputArgs, Outputs};
use self::overlay::OverlayArgs;
use crate::failure::{Failure, warn};
use crate::files::Files;
use crate::interrupt::{at_interrupt, ended_by_signal};
use crate::job::JobArgs;
use crate::json::JsonArgs;
use crate::page::{self, PageArgs};
use crate::planning::PlanningArgs;
use crate::progress::{followed, spinner};
use crate::rx::SignalArgs;
use crate::seeing::SeeingArgs;
use crate::text::printable;
use crate::workers::{Away, AwayArgs, Decision};

const EXAMPLES: &str = "\
Examples:
  bief meteors                           the built-in video
  bief meteors sky.mp4                   tracks go to sky.tracks.csv
  bief meteors sky.mp4 -o tracks.csv --clips events
                                         a clip and a stack of each meteor
  bief meteors sky.y4m --overlay sky.png
                                         tracks drawn over the brightest of all
                                         frames
  bief meteors sky.mp4 --ignore roof.png --json found.json
  bief meteors /dev/video0 --live -o tonight.csv
                                         a camera, until Ctrl-C
  ffmpeg -i sky.mkv -f yuv4mpegpipe - | bief meteors - -o tracks.csv
  bief meteors sky.gray --size 1920x1080 --rate 25
  bief meteors sky.mp4 --goal fewest-cores,period=40ms --refine 3
  bief meteors sky.mp4 --fixed --fmdt tracks.txt
                                         thresholds and tables as of FMDT

y4m, PGM and raw grey are read without any other program; everything else, and
cameras, through the program ffmpeg. The threshold follows the sky, so the same
settings serve for all videos. A track is written when its kind is sure: about a
second after it has ended.
Clips keep the latest 5 seconds in memory.
A file that exists is replaced only if -o names it, or with --force. Outputs are
NAME.part until they are whole, at the end of a run with exit status 0.
Ctrl-C, SIGTERM or SIGHUP ends the search and writes what was found; a second one
quits at once. The exit status is then 128 plus the signal's number (130, 143,
129), but 0 for what has no other end.";

/// Arguments of `bief meteors`.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct MeteorArgs {
    #[command(flatten)]
    video: VideoArgs,
    #[command(flatten)]
    output: OutputArgs,
    #[command(flatten)]
    overlay: OverlayArgs,
    #[command(flatten)]
    finding: FindingArgs,
    /// Input that cannot wait (a camera): drop and count frames if the search is too slow; times are those of arrival
    #[arg(long)]
    live: bool,
    /// Play a video no faster than it was taken
    #[arg(long, conflicts_with = "live")]
    pace: bool,
    #[command(flatten)]
    page: PageArgs,
    #[command(flatten)]
    planning: PlanningArgs,
    #[command(flatten)]
    seeing: SeeingArgs,
    #[command(flatten)]
    away: AwayArgs,
    #[command(flatten)]
    job: JobArgs,
    #[command(flatten)]
    json: JsonArgs,
}

/// What is taken for light.
#[derive(Args)]
struct FindingArgs {
    /// Light is brighter than the sky around it by so many times its noise
    #[arg(long, value_name = "X", default_value_t = 3.0, value_parser = from_0_to(100.0))]
    noise: f64,
    /// Light is brighter than the sky around it by so many grey levels, at least
    #[arg(long, value_name = "LEVELS", default_value_t = 6.0, value_parser = from_0_to(255.0))]
    levels: f64,
    /// Thresholds as FMDT has them, the same everywhere: light from grey level LOW on, and one pixel from HIGH on
    #[arg(long, value_name = "LOW,HIGH", num_args = 0..=1, default_missing_value = "55,80", value_parser = fixed, conflicts_with_all = ["noise", "levels"])]
    fixed: Option<Detection>,
    /// Ignore what is white in this picture, of the size of the frames (PNG or PGM)
    #[arg(long, value_name = "MASK.png")]
    ignore: Option<PathBuf>,
}

fn from_0_to(most: f64) -> impl Fn(&str) -> Result<f64, String> + Clone {
    move |text| match text.parse::<f64>() {
        Ok(value) if (0.0..=most).contains(&value) => Ok(value),
        _ => Err(format!("a number from 0 to {most} is needed")),
    }
}

fn fixed(text: &str) -> Result<Detection, String> {
    let levels =
        text.split_once(',').and_then(|(low, high)| Some((low.trim().parse().ok()?, high.trim().parse().ok()?)));
    match levels {
        Some((low, high)) if 0 < low && low <= high => {
            Ok(Detection { threshold: Threshold::Fixed(low), strong: high, ..Detection::fixed() })
        }
        _ => Err("two grey levels are needed, 1 to 255, the lower one first, as in 55,80".to_owned()),
    }
}

impl FindingArgs {
    fn detection(&self) -> Detection {
        let threshold = Threshold::Sky { noise: self.noise as f32, levels: self.levels as f32 };
        self.fixed.unwrap_or(Detection { threshold, ..Detection::default() })
    }
}

/// Searches.
pub(crate) fn run(args: MeteorArgs) -> Result<(), Failure> {
    let mut files = Files::default();
    let outcome = search(args, &mut files);
    files.end(outcome)
}

/// Writes to files of which the names tell that they are not whole yet.
fn search(mut args: MeteorArgs, files: &mut Files) -> Result<(), Failure> {
    let is_away = args.away.is_given()?;
    if is_away && (args.planning.is_given() || args.planning.placing().is_given()) {
        return Err(Failure::usage(
            "with workers, what stays here runs on two threads: leave out all options that plan or place",
        ));
    }
    if is_away && args.finding.ignore.is_some() {
        return Err(Failure::usage("workers do not know the picture of --ignore: leave it out, or leave out workers"));
    }
    args.video.take_from(&mut args.json);
    if args.job.is_done(&args.json, &args.output.paths(&args.video)?)? {
        return Ok(());
    }
    args.claim(files)?;
    let outputs = Outputs::new(&args.output, &args.video, files)?;
    if outputs.is_stdout() && args.json.on_stdout() {
        return Err(Failure::usage("tracks and JSON cannot both go to standard output: give --json a file"));
    }
    let planner = args.planning.planner()?;
    let page = args.page.bind()?;
    let video = args.video.open()?;
    if args.live && !video.is_stream() {
        let reason = "a file waits, and would be read faster than it can be searched: leave out --live, or give --pace";
        return Err(Failure::usage(format!("{}: {reason}", video.name())));
    }
    let (name, size, rate) = (video.name().to_owned(), video.size(), video.rate());
    args.overlay.check(&video)?;
    let again = args.overlay.is_given().then(|| video.again()).flatten();

    let lines = args.job.lines(None)?;
    let bar = spinner(name.clone());
    let mut meteors = Meteors::new(video).detection(args.finding.detection());
    if let Some(path) = &args.finding.ignore {
        meteors = meteors.ignore(pictures::mask(path, size)?);
    }
    if args.live {
        meteors = meteors.live();
    }
    let releases = if args.pace {
        let (paced, releases) = meteors.paced();
        meteors = paced;
        Some(releases)
    } else {
        None
    };
    let clear = |error| {
        bar.finish_and_clear();
        Failure::from_error(error)
    };
    let meteors = meteors.prepare().map_err(clear)?;
    let found = Arc::new(Mutex::new(Vec::<Track>::new()));
    let collected = Arc::clone(&found);
    let clips = outputs.clips(size, rate);
    let mut writers = outputs.open(files)?;
    let collect = move |track: &Track| {
        collected.lock().unwrap_or_else(PoisonError::into_inner).push(track.clone());
    };
    let mut meteors = match clips {
        None => meteors.deliver(move |track| {
            collect(track);
            writers.write(track)
        }),
        Some(mut clips) => meteors.deliver_with_pictures(clips.pictures(), move |track, kept| {
            collect(track);
            writers.write(track)?;
            clips.write(track, kept)
        }),
    };
    let (planned, away, pipeline) = if is_away {
        bar.set_message("looking which tasks may leave");
        let mut registry = files.registry();
        let file = meteors.into_file(&mut registry).map_err(clear)?;
        let registry = Arc::new(registry);
        match args.away.decide(&file, &registry)? {
            Decision::Leave(leaving) => {
                let (pipeline, away) = args.away.pipeline(*leaving, &file, &registry)?;
                (None, Some(away), pipeline)
            }
            Decision::Stay(planned) => {
                let pipeline = args.planning.pipeline(&planned, &mut file.application(&registry))?;
                (Some(*planned), None, pipeline)
            }
        }
    } else {
        bar.set_message("measuring each task, and planning");
        let planned = args.planning.plan(&planner, &meteors).inspect_err(|_| bar.finish_and_clear())?;
        let pipeline = args.planning.pipeline(&planned, &mut meteors)?;
        (Some(planned), None, pipeline)
    };
    let mut pipeline = args.seeing.prepare(pipeline)?;
    let (stopper, ending) = (pipeline.stopper(), away.as_ref().map(Away::ending));
    let interrupted = at_interrupt(move || {
        stopper.stop();
        ending.iter().for_each(|ending| ending());
    })?;
    let mut watch = pipeline.watch();
    let adapts = planned.as_ref().filter(|_| args.planning.adapts(&pipeline, args.live));
    let shown_page = page::show(page, format!("meteors {}", printable(&name)), &mut pipeline, adapts)?;
    let run = || match &planned {
        Some(planned) => args.planning.run(planned, &mut pipeline, args.live),
        None => pipeline.run(),
    };
    let outcome = followed(&bar, lines, || watch.figures(), show, run);
    let was_stopped = page::close(shown_page);
    let told = watch.figures();
    let pictures = args.seeing.write(&pipeline);
    let (report, fault) = match outcome {
        Ok(report) => (Some(report), None),
        Err(error) => (None, Some(error)),
    };
    let interrupted = interrupted.load(Ordering::Relaxed) || was_stopped;
    let saved = planned.as_ref().map_or(Ok(()), |planned| args.planning.save(planned, &pipeline, report.as_ref()));
    let tracks = std::mem::take(&mut *found.lock().unwrap_or_else(PoisonError::into_inner));
    let drawn = match again {
        Some(video) if fault.is_none() => args.overlay.draw(video.map_err(Failure::from_error)?, &tracks),
        _ => Ok(()),
    };
    let finding = Finding {
        name,
        size,
        rate,
        is_live: args.live,
        outputs,
        tracks,
        figures: told,
        interrupted,
        punctuality: releases.and_then(|releases| releases.last()),
        report,
        planned,
        away,
    };
    if finding.crowded() > 0 {
        warn(&finding.crowd());
    }
    args.json.deliver(files, || finding.to_json(), || finding.table(&args.seeing), finding.outputs.is_stdout())?;
    if let Some(error) = fault {
        drop(pipeline);
        let told = error.to_string();
        let message = told.strip_prefix(&format!("{}: ", finding.name)).unwrap_or(&told);
        let message = format!("{}: {message}; what was found before is kept", finding.name);
        return Err(Failure::of_run(&error, message));
    }
    pictures.and(saved).and(drawn)?;
    if interrupted && !args.video.is_endless() {
        let message = format!("{}: interrupted; what was found before is kept", finding.name);
        return Err(ended_by_signal(message));
    }
    Ok(())
}

/// The chain on a video, to be measured.
pub(crate) fn examined(signal: &SignalArgs, _: &mut Files, _: &ProgressBar) -> Result<Box<dyn Application>, Failure> {
    let video = match signal.only_input("meteors")? {
        Some(path) => input::open(path, bief_vision::VideoSettings::default())?,
        None => input::built_in()?,
    };
    let meteors = Meteors::new(video).deliver(|_| Ok(())).prepare();
    Ok(Box::new(meteors.map_err(Failure::from_error)?))
}

impl MeteorArgs {
    /// Notes the files of which the names are known from the start.
    fn claim(&self, files: &mut Files) -> Result<(), Failure> {
        self.video.claim(files)?;
        self.finding.ignore.as_deref().map_or(Ok(()), |path| files.read(path))?;
        self.overlay.claim(files)?;
        self.planning.claim(files)?;
        self.away.claim(files)?;
        self.seeing.claim(files)?;
        self.job.claim(files)?;
        self.json.claim(files)
    }
}

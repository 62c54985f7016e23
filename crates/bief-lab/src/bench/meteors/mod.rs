//! `bief lab bench meteors`: the time of a frame in each step of a search for meteors, beside a copy of the frame, and the search on two
//! cores beside its plan and beside one core.

mod light_speed;

use std::fmt::Write;
use std::hint::black_box;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bief::plan::{Load, Profiling};
use bief::{Application, Machine, Planner, Program};
use bief_cli::failure::Failure;
use bief_cli::text::{COLUMNS, wrapped};
use bief_schedule::strategy::Shared;
use bief_vision::{Component, Detection, Detector, Labeller, Meteors, Size, Sky, Tracker, Video, VideoSettings};
use clap::Args;

use super::MeasureArgs;
use super::aimed::{self, Titled};
use super::case::{self, Aim, Case};
use super::surroundings::Watch;
use crate::statistics::Sample;
use light_speed::LightSpeed;

pub(super) const EXAMPLES: &str = "\
Examples:
  bief lab bench meteors sky.mp4
  bief lab bench meteors sky_720p.y4m sky_1080p.y4m --rounds 5
  bief lab bench meteors sky.mp4 --only cores

All frames are in memory, decoded, and are gone through in turn: the caches hold
none of them. Videos of a few seconds are enough, and take 1 MB (1280x720) or
2 MB (1920x1080) of memory per frame.
Cases, for each video:
  copy/VIDEO        copying a frame to the same place again and again
  read/VIDEO        reading a frame
  sky/VIDEO         measuring the sky
  label/VIDEO       sky, threshold, regions and their sums
  detect/VIDEO      the same, and components
  follow/VIDEO      motion, stars and paths
  plain/VIDEO       labelling as FMDT does: pixel by pixel, from grey level 55 on
  whole/VIDEO       detect and follow, in copies of a frame in the same round
  reads/VIDEO       label, in times of reading a frame
  fmdt/VIDEO        how many frames take as long as one of FMDT: its labelling
                    takes nine tenths of it, and is in the same round
  cores/VIDEO       frames per second of the chain on two cores, which its stages
                    share, over those on one; both planned
  limit/VIDEO       the same of two searches that have nothing to do with each
                    other: what cores share slows both down
  plan/VIDEO        by how much a frame took longer on two cores than planned
Times are medians over the frames of a round. VIDEO is how its name begins.";

const TITLED: Titled = Titled { bench: "meteors", title: "Bief: meteors in video" };

/// Share of labelling, and of what it sums up, in what FMDT takes for a frame.
const LABELLING_OF_FMDT: f64 = 0.9;
const SOURCE: &str = "FMDT d17d7086, frames in memory, lowest times on a Zen 4: labelling takes 591 of 657 us (1280x720), and 1360 of 1507, \
                      or 1681 of 1872 (1920x1080). plain/VIDEO is the same labelling.";
/// Of FMDT's frames, on one core.
const FASTER: f64 = 5.0;
/// Reads of a frame that labelling takes, two cores over one, and percent over the plan.
const LABELLING: f64 = 3.0;
const TWO_CORES: f64 = 1.8;
const OVER_PLAN: f64 = 3.0;

/// Characters of a video's name that are shown.
const NAME: usize = 12;
/// Seconds of a run: what it takes to fill rings, whose memory is touched for the first time then, is little beside it.
const LONG: f64 = 2.0;
/// How often a clip comes while its tasks are measured.
const TIMES: usize = 6;

const STEPS: (&str, &str) = ("A frame", "us");
const COPIES: (&str, &str) = ("Detect and follow, of a copy of the frame", "copies");
const READS: (&str, &str) = ("Sky, threshold, regions, of a read of the frame", "reads");
const PEER: (&str, &str) = ("Frames in the time of one of FMDT", "x");
const CORES: (&str, &str) = ("Two cores over one", "x");
const PLAN: (&str, &str) = ("A frame on two cores, over its plan", "%");

/// Arguments of `bief lab bench meteors`.
#[derive(Args)]
pub(super) struct MeteorsArgs {
    /// Videos, y4m or what ffmpeg reads
    #[arg(value_name = "VIDEO", required = true)]
    videos: Vec<PathBuf>,
    #[command(flatten)]
    measure: MeasureArgs,
}

/// Measures, and delivers what was found.
pub(super) fn run(args: &MeteorsArgs) -> Result<(), Failure> {
    args.measure.output.check()?;
    let clips: Vec<Arc<Clip>> =
        args.videos.iter().map(|path| Clip::read(path).map(Arc::new)).collect::<Result<_, _>>()?;
    let mut cases = case::select(cases(&clips), args.measure.only.as_deref())?;
    let watch = Watch::begin();
    case::read(&mut cases, args.measure.rounds)?;
    let mut findings = aimed::findings(TITLED, &cases, &watch.end());
    if cases.iter().any(|case| case.group == PEER.0) {
        // Writing to a string cannot fail.
        let _ = write!(findings.table, "\n{}", wrapped(SOURCE, COLUMNS).join("\n"));
    }
    args.measure.output.deliver(&findings)
}

/// A video in memory.
struct Clip {
    name: String,
    size: Size,
    rate: f64,
    pixels: Arc<[u8]>,
}

impl Clip {
    fn read(path: &Path) -> Result<Self, Failure> {
        let mut video = Video::open(path, VideoSettings::default()).map_err(Failure::from_error)?;
        let (size, rate) = (video.size(), video.rate());
        let (mut frame, mut pixels) = (vec![0; size.pixels()], Vec::new());
        while video.read(&mut frame).map_err(Failure::from_error)? {
            pixels.extend_from_slice(&frame);
        }
        if pixels.is_empty() {
            return Err(Failure::new(format!("{}: there is no frame in it", path.display())));
        }
        let name = path.file_stem().unwrap_or(path.as_os_str()).to_string_lossy().chars().take(NAME).collect();
        Ok(Self { name, size, rate, pixels: pixels.into() })
    }

    fn frames(&self) -> impl Iterator<Item = &[u8]> {
        self.pixels.chunks_exact(self.size.pixels())
    }

    /// Microseconds that something takes for a frame: the median.
    fn us(&self, mut each: impl FnMut(&[u8])) -> f64 {
        let times = self.frames().map(|frame| {
            let start = Instant::now();
            each(frame);
            start.elapsed().as_secs_f64() * 1e6
        });
        Sample::new(times.collect::<Vec<_>>()).map_or(0.0, |times| times.median())
    }

    fn copy_us(&self) -> f64 {
        let mut copy = vec![0; self.size.pixels()];
        self.us(|frame| black_box(&mut copy).copy_from_slice(black_box(frame)))
    }

    fn read_us(&self) -> f64 {
        self.us(|frame| {
            black_box(frame.iter().fold(0, |all: u8, &pixel| all.max(pixel)));
        })
    }

    fn sky_us(&self) -> f64 {
        let mut sky = Sky::new(self.size, Detection::default().threshold);
        self.us(|frame| sky.measure(frame))
    }

    fn label_us(&self) -> f64 {
        let Detection { threshold, least, most, .. } = Detection::default();
        let mut labeller = Labeller::new(Sky::new(self.size, threshold));
        self.us(|frame| {
            labeller.label(frame, least, most);
            black_box(labeller.regions().count());
        })
    }

    fn detect_us(&self) -> f64 {
        let mut detector = Detector::new(self.size, Detection::default());
        self.us(|frame| {
            black_box(detector.components(frame));
        })
    }

    fn follow_us(&self) -> f64 {
        let mut detector = Detector::new(self.size, Detection::default());
        let components: Vec<Vec<Component>> = self.frames().map(|frame| detector.components(frame).to_vec()).collect();
        let (mut tracker, mut number) = (Tracker::new(self.size, self.rate), 0);
        self.us(|_| {
            tracker.follow(&components[number], number as u64, 0).for_each(drop);
            number += 1;
        })
    }

    /// Detect and follow, one after the other.
    fn whole_us(&self) -> f64 {
        let mut detector = Detector::new(self.size, Detection::default());
        let (mut tracker, mut number) = (Tracker::new(self.size, self.rate), 0);
        self.us(|frame| {
            tracker.follow(detector.components(frame), number, 0).for_each(drop);
            number += 1;
        })
    }

    fn plain_us(&self) -> f64 {
        let mut labeller = LightSpeed::new(self.size.width(), self.size.height());
        self.us(|frame| {
            black_box(labeller.label(frame));
        })
    }

    /// How much faster two searches are that have nothing to do with each other than one after the other.
    fn two_apart(&self) -> f64 {
        let alone = self.whole_us();
        let [first, second] = std::thread::scope(|scope| {
            [(); 2].map(|()| scope.spawn(|| self.whole_us())).map(|thread| thread.join().unwrap_or_default())
        });
        2.0 * alone / (0.5 * (first + second))
    }

    /// How many frames to measure: as in the run, in which the clip comes again and again and each time is another sky to what follows tracks.
    fn as_often_as_run(&self) -> NonZeroUsize {
        NonZeroUsize::MIN.saturating_add(TIMES * self.frames().count())
    }

    fn search(&self) -> bief::Result<Search> {
        let settings = VideoSettings { size: Some(self.size), rate: Some(self.rate) };
        let video = Video::from_memory(&self.name, Arc::clone(&self.pixels), settings)?;
        Ok(Search { meteors: Meteors::new(video).deliver(|_| Ok(())), frames: 0 })
    }

    /// Nanoseconds of a frame when planned and run on so many cores: as planned, and as it ran for a while.
    fn run_on(&self, cores: usize) -> bief::Result<[f64; 2]> {
        // As busy as in the run: cores that share something are slower then.
        let load = if cores > 1 { Load::Busy } else { Load::Idle };
        // Reading and following have little work: they share the cores with detection, which then has a replica on each.
        let planner = Planner::new(Machine::here()).cores(cores.to_string()).strategy(Shared).profiling(Profiling {
            load,
            executions: self.as_often_as_run(),
            limit: Duration::MAX,
        });
        let mut search = self.search()?;
        let planned = planner.plan(&search)?;
        let frame_ns: u64 = planned.profile.tasks().iter().filter_map(|task| task.ns[0]).sum();
        search.frames = (LONG * 1e9 * cores as f64 / frame_ns.max(1) as f64) as u64;
        let report = planned.pipeline(&mut search)?.run()?;
        let measured = report.seconds * 1e9 / report.frames as f64;
        Ok([report.planned_period_ns.unwrap_or(measured), measured])
    }
}

/// A search in a clip that is repeated: a run as long as one clip would measure how threads begin and end.
struct Search {
    meteors: Meteors,
    frames: u64,
}

impl Application for Search {
    fn program(&mut self) -> bief::Result<Program> {
        self.rehearsal(self.frames)
    }

    fn rehearsal(&self, frames: u64) -> bief::Result<Program> {
        self.meteors.rehearsal(frames)
    }
}

fn cases(clips: &[Arc<Clip>]) -> Vec<Case> {
    let mut cases = Vec::new();
    let mut add = |clip: &Arc<Clip>, name: &str, group, aim, measure: fn(&Clip) -> Result<f64, Failure>| {
        let (clip, name) = (Arc::clone(clip), format!("{name}/{}", clip.name));
        cases.push(Case::new(name, group, move || Ok(measure(&clip)?.into())).aiming(aim));
    };
    for clip in clips {
        add(clip, "copy", STEPS, None, |clip| Ok(clip.copy_us()));
        add(clip, "read", STEPS, None, |clip| Ok(clip.read_us()));
        add(clip, "sky", STEPS, None, |clip| Ok(clip.sky_us()));
        add(clip, "label", STEPS, None, |clip| Ok(clip.label_us()));
        add(clip, "detect", STEPS, None, |clip| Ok(clip.detect_us()));
        add(clip, "follow", STEPS, None, |clip| Ok(clip.follow_us()));
        add(clip, "plain", STEPS, None, |clip| Ok(clip.plain_us()));
    }
    for clip in clips {
        add(clip, "whole", COPIES, None, |clip| Ok(clip.whole_us() / clip.copy_us()));
    }
    for clip in clips {
        let aim = Some(Aim::AtMost(LABELLING));
        add(clip, "reads", READS, aim, |clip| Ok(clip.label_us() / clip.read_us()));
    }
    for clip in clips {
        let in_its_time = |clip: &Clip| Ok(clip.plain_us() / LABELLING_OF_FMDT / clip.whole_us());
        add(clip, "fmdt", PEER, Some(Aim::AtLeast(FASTER)), in_its_time);
    }
    for clip in clips {
        let both = |clip: &Clip| {
            let [one, two] = [1, 2].map(|cores| clip.run_on(cores).map(|[_, ns]| ns).map_err(Failure::from_error));
            Ok(one? / two?)
        };
        add(clip, "cores", CORES, Some(Aim::AtLeast(TWO_CORES)), both);
        add(clip, "limit", CORES, None, |clip| Ok(clip.two_apart()));
    }
    for clip in clips {
        let beside = |clip: &Clip| {
            let [planned, measured] = clip.run_on(2).map_err(Failure::from_error)?;
            Ok(100.0 * (measured / planned - 1.0))
        };
        add(clip, "plan", PLAN, Some(Aim::AtMost(OVER_PLAN)), beside);
    }
    cases
}

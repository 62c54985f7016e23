//! `bief lab bench realtime`: pipelines in real time under each class of Linux, with a load and without, against their bounds.

mod findings;
mod load;
mod subject;
mod work;

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::time::Duration;

use bief::machine::class::{Probe, probe};
use bief::realtime::{Class, RealTime, RealTimeReport};
use bief_cli::failure::Failure;
use bief_cli::progress::spinner;
use clap::{Args, ValueEnum};

use self::load::load;
use self::subject::{Bound, Subject};
use super::case::{self, Named};
use super::output::OutputArgs;
use super::surroundings::{Surroundings, Watch};

pub(super) const EXAMPLES: &str = "\
Examples:
  bief lab bench realtime                about 2 minutes
  bief lab bench realtime --seconds 600 --csv rt.csv --svg rt.svg
  bief lab bench realtime --case three-stage --load 0,2,8

Cases:
  three-stage   a source that works 0.2 ms on a frame each 1 ms, and two stages
                that work 1 ms and 0.5 ms on each batch of four frames
  nbfm          the narrowband FM receiver at 576 kS/s in three stages, in
                batches planned for a latency of 20 ms
Classes:
  deadline      reserved time, plus the unused time of other stages
  no-reclaim    reserved time only
  fifo:80       priority over every ordinary thread
  ordinary      the default class of threads
The reservations and the latency bound are computed from the cost of the stages.
All classes run in turn in slices, with each load. A class that the system
refuses is run all the same: its row shows the class that the stages got, and
the reason is given below. CSV: every slice. SVG: the latencies.";

/// Arguments of `bief lab bench realtime`.
#[derive(Args)]
pub(super) struct RealtimeArgs {
    /// Total duration of each class with each load
    #[arg(long, value_name = "S", default_value_t = 5.0, value_parser = seconds)]
    seconds: f64,
    /// Longest slice of a class
    #[arg(long, value_name = "S", default_value_t = 5.0, value_parser = slice)]
    slice: f64,
    /// Threads of the ordinary class that copy memory meanwhile: one number for each load
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "0,4", value_parser = threads)]
    load: Vec<usize>,
    /// The case [default: all]
    #[arg(long, value_enum)]
    case: Option<Case>,
    #[command(flatten)]
    output: OutputArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Case {
    ThreeStage,
    Nbfm,
}

fn seconds(text: &str) -> Result<f64, String> {
    let seconds = text.parse().ok().filter(|seconds| (0.05..=86_400.0).contains(seconds));
    seconds.ok_or_else(|| "give 0.05 to 86400 seconds".to_owned())
}

/// The recording of a slice is in memory.
fn slice(text: &str) -> Result<f64, String> {
    let seconds = text.parse().ok().filter(|seconds| (0.05..=60.0).contains(seconds));
    seconds.ok_or_else(|| "give 0.05 to 60 seconds".to_owned())
}

fn threads(text: &str) -> Result<usize, String> {
    text.parse()
        .ok()
        .filter(|threads| *threads <= 256)
        .ok_or_else(|| "give numbers of threads from 0 to 256".to_owned())
}

/// What threads are wanted to have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wanted {
    Deadline,
    NoReclaim,
    Fifo,
    Ordinary,
}

const PRIORITY: u32 = 80;

const WANTED: [(Wanted, &str); 4] = [
    (Wanted::Deadline, "deadline"),
    (Wanted::NoReclaim, "no-reclaim"),
    (Wanted::Fifo, "fifo:80"),
    (Wanted::Ordinary, "ordinary"),
];

impl Wanted {
    fn class(self) -> Class {
        match self {
            Self::Deadline | Self::NoReclaim => Class::Deadline,
            Self::Fifo => Class::Fifo { priority: PRIORITY },
            Self::Ordinary => Class::Ordinary,
        }
    }

    fn real_time(self, subject: &Subject) -> Result<RealTime, Failure> {
        Ok(match self {
            Self::Deadline | Self::NoReclaim => {
                RealTime::deadline(subject.timings().map_err(Failure::from_error)?).reclaim(self == Self::Deadline)
            }
            Self::Fifo => RealTime::fifo(PRIORITY),
            Self::Ordinary => RealTime::ordinary(),
        })
    }
}

/// A case under a class and a load, and what its slices found.
struct Trial {
    /// `case/load/class`.
    name: String,
    subject: Rc<Subject>,
    load: usize,
    wanted: Wanted,
    class: &'static str,
    bound: Bound,
    slices: Vec<RealTimeReport>,
}

impl Named for Trial {
    fn name(&self) -> &str {
        &self.name
    }
}

/// How it was measured.
struct Setting {
    slice: f64,
    probe_seconds: f64,
    /// How late threads were woken, by load and class wanted.
    probes: Vec<(usize, Wanted, Probe)>,
    /// What the runs noted, each once.
    notes: BTreeSet<String>,
    surroundings: Surroundings,
}

/// Measures, and delivers what was found.
pub(super) fn run(args: RealtimeArgs) -> Result<(), Failure> {
    args.output.check()?;
    let mut loads = args.load;
    loads.sort_unstable();
    loads.dedup();
    let rounds = (args.seconds / args.slice).ceil().max(1.0);
    let slice = args.seconds / rounds;
    let watch = Watch::begin();
    let bar = spinner("finding out what tasks cost and how late threads are woken".to_owned());
    let prepared = subjects(args.case).and_then(|subjects| {
        // A tenth of the time, so that its longest delays are about as rare as those of a class's run.
        let probe_seconds = (args.seconds / 10.0).clamp(0.05, 10.0);
        Ok((subjects, probe_seconds, probes(&loads, Duration::from_secs_f64(probe_seconds))?))
    });
    bar.finish_and_clear();
    let (subjects, probe_seconds, probes) = prepared?;
    let mut trials = trials(&subjects, &probes)?;
    let mut notes = BTreeSet::new();
    case::in_turn(&mut trials, rounds as u32, |trial| {
        notes.extend(trial.slice(slice)?);
        Ok(())
    })?;
    let setting = Setting { slice, probe_seconds, probes, notes, surroundings: watch.end() };
    args.output.deliver(&findings::of(&trials, &setting))
}

fn subjects(case: Option<Case>) -> Result<Vec<Rc<Subject>>, Failure> {
    let wanted = |one: Case| case.is_none_or(|case| case == one);
    let three_stage = wanted(Case::ThreeStage).then(subject::three_stage).transpose()?;
    let nbfm = wanted(Case::Nbfm).then(subject::nbfm).transpose()?;
    Ok(three_stage.into_iter().chain(nbfm).map(Rc::new).collect())
}

/// How late threads of each class are woken under each load; of a class that is refused, those of the ordinary one, which its
/// stages get.
fn probes(loads: &[usize], time: Duration) -> Result<Vec<(usize, Wanted, Probe)>, Failure> {
    let mut probes = Vec::new();
    for &threads in loads {
        let _load = load(threads)?;
        let mut of_class = BTreeMap::new();
        for (wanted, _) in WANTED {
            let class = wanted.class().to_string();
            let known = match of_class.get(&class) {
                Some(known) => *known,
                None => {
                    let found = probe(wanted.class(), time).or_else(|_| probe(Class::Ordinary, time));
                    *of_class.entry(class).or_insert(found.map_err(Failure::from_error)?)
                }
            };
            probes.push((threads, wanted, known));
        }
    }
    Ok(probes)
}

fn trials(subjects: &[Rc<Subject>], probes: &[(usize, Wanted, Probe)]) -> Result<Vec<Trial>, Failure> {
    let mut trials = Vec::new();
    for subject in subjects {
        for &(load, wanted, probe) in probes {
            let class = WANTED.iter().find(|(one, _)| *one == wanted).map_or("", |(_, name)| name);
            trials.push(Trial {
                name: format!("{}/{load}/{class}", subject.name),
                subject: Rc::clone(subject),
                load,
                wanted,
                class,
                bound: subject.bound(Duration::from_nanos(probe.max_ns)).map_err(Failure::from_error)?,
                slices: Vec::new(),
            });
        }
    }
    Ok(trials)
}

impl Trial {
    /// Runs for so long; answers what the run noted.
    fn slice(&mut self, seconds: f64) -> Result<Vec<String>, Failure> {
        let failed = |error: bief::Error| Failure::new(format!("{}: {error}", self.name));
        let wanted = self.wanted.real_time(&self.subject)?.bound(self.bound.theory, self.bound.allowance);
        let mut pipeline = self.subject.pipeline(seconds)?.real_time(wanted).map_err(failed)?;
        let load = load(self.load)?;
        let report = pipeline.run().map_err(failed)?;
        drop(load);
        self.slices.extend(report.real_time);
        Ok(report.notes)
    }
}

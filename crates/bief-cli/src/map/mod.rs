//! `bief map`: the threads of any program mapped to kinds of cores, by what they need.

mod command;
mod follow;
mod signals;
mod table;

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use bief::machine::mapper::{MapSettings, ThreadMapper};
use bief_schedule::mapping::{Algorithm, FtfcSettings};
use clap::{Args, ValueEnum};

use self::command::Program;
use self::follow::{Followed, follow};
use self::signals::Signals;
use crate::failure::{Failure, say, warn};
use crate::files::Files;
use crate::json::{JsonArgs, print};
use crate::planning::to_run_on;
use crate::units::duration;

const USAGE: &str = "\
bief map [OPTIONS] <PID>
       bief map [OPTIONS] -- <COMMAND>...";

const EXAMPLES: &str = "\
Examples:
  bief map 1234                    map the threads of process 1234 until Ctrl-C
  bief map -- ffmpeg -i in.mkv out.mp4
                                   run a program and map its threads; exit with
                                   the program's status
  bief map --dry-run --duration 10s 1234
                                   show the mapping without applying it
  bief map --algorithm bsm 1234    save power: leave fast cores to threads that
                                   need them
  bief map --machine slow.toml --json map.json -- ./server
                                   kinds of cores from slow.toml; the result
                                   as JSON

What it does:
  After each interval the mapper reads how long each thread ran, estimates how
  much of the fastest core it needs, and sets the affinity of threads that move
  to another kind of core: to all cores of that kind within the thread's
  original affinity. Linux chooses among these cores. Threads that are busy for
  less than 5 % of the time are left to Linux; so are the least demanding ones
  if there are more threads than cores, and all threads while their demand
  exceeds the cores. At the end each thread gets its original affinity
  back, also if a signal such as Ctrl-C or SIGTERM ends this command. Only after
  SIGKILL, which no program can catch, threads stay where they were mapped;
  `taskset -acp CORES PID` frees them. Programs that the process started
  meanwhile keep the affinity that they inherited.";

/// Map the threads of a process, or of a program to run, to kinds of cores by demand (Linux)
#[derive(Args)]
#[command(after_help = EXAMPLES, override_usage = USAGE)]
pub(crate) struct MapArgs {
    /// The process whose threads are mapped
    #[arg(value_name = "PID", required_unless_present = "program", conflicts_with = "program")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    pid: Option<u32>,

    /// The program to run, and its arguments, after --
    #[arg(last = true, value_name = "COMMAND")]
    program: Vec<OsString>,

    /// The machine to map to: a file that emulates kinds of cores (TOML) [default: this machine as it is]
    #[arg(long, value_name = "FILE")]
    machine: Option<PathBuf>,

    /// Interval between mappings: 1ms to 1s
    #[arg(long, value_name = "TIME", default_value = "5ms", value_parser = duration)]
    interval: Duration,

    /// Goal of the mapping
    #[arg(long, value_name = "NAME", default_value = "rank")]
    algorithm: AlgorithmName,

    /// Intervals for which a thread stays on a kind of core, at least
    #[arg(long, value_name = "N", default_value_t = MapSettings::default().residency)]
    residency: u32,

    /// Threads that move to another kind of core per interval, at most
    #[arg(long, value_name = "N", default_value_t = MapSettings::default().max_migrations)]
    migrations: usize,

    /// Map threads even while their demand exceeds the cores
    #[arg(long)]
    crowded: bool,

    /// Stop mapping after this time, such as 30s; a program started here continues
    #[arg(long, value_name = "TIME", value_parser = duration)]
    duration: Option<Duration>,

    /// Show the mapping without applying it
    #[arg(long)]
    dry_run: bool,

    #[command(flatten)]
    json: JsonArgs,
}

/// The algorithms that suit threads that run.
#[derive(Clone, Copy, ValueEnum)]
enum AlgorithmName {
    /// The most demanding thread to the fastest core, and so on: highest throughput
    Rank,
    /// Each thread to the kind of core closest to its demand (FTFC's binary searched mapping): saves power
    Bsm,
}

impl MapArgs {
    fn settings(&self) -> Result<MapSettings, Failure> {
        let usual = FtfcSettings::default();
        let algorithm = match self.algorithm {
            AlgorithmName::Rank => Algorithm::RANK,
            AlgorithmName::Bsm => usual.algorithm,
        };
        let settings = MapSettings {
            interval: self.interval,
            ftfc: FtfcSettings { algorithm, ..usual },
            residency: self.residency,
            max_migrations: self.migrations,
            yields: !self.crowded,
            dry_run: self.dry_run,
            ..MapSettings::default()
        };
        settings.check().map_err(Failure::from_error)?;
        Ok(settings)
    }
}

/// Maps threads; answers the exit status, which is that of the program where one is run.
pub(crate) fn run(args: MapArgs) -> Result<ExitCode, Failure> {
    if args.json.on_stdout() && args.pid.is_none() {
        let reason = "standard output is the program's: give --json a file";
        return Err(Failure::usage(reason));
    }
    let mut files = Files::default();
    args.machine.iter().try_for_each(|path| files.read(path))?;
    args.json.claim(&mut files)?;
    let settings = args.settings()?;
    let machine = to_run_on(args.machine.as_deref())?;
    let signals = Signals::catch()?;
    // What is longer than the clock counts has no end.
    let until = args.duration.and_then(|duration| Instant::now().checked_add(duration));
    let Some(pid) = args.pid else {
        let mut program = Program::start(&args.program)?;
        match ThreadMapper::of_process(program.pid(), &machine, settings) {
            Ok(mapper) => {
                let followed = follow(mapper, until, || program.goes_on(&signals), None)?;
                say(table::text(&followed, &settings));
                write(&args.json, &followed)?;
            }
            Err(error) if program.goes_on(&signals)? => warn(&format!("{error}; the program runs on")),
            Err(_) => warn("mapping: the program has ended before it was looked at"),
        }
        return program.end(&signals);
    };
    let mapper = ThreadMapper::of_process(pid, &machine, settings).map_err(Failure::from_error)?;
    let followed = follow(mapper, until, || Ok(signals.take().is_none()), Some(table::live))?;
    write(&args.json, &followed)?;
    if !args.json.on_stdout() {
        print(&table::text(&followed, &settings))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn write(json: &JsonArgs, followed: &Followed) -> Result<(), Failure> {
    let document = || serde_json::json!({ "report": followed.report, "threads": followed.threads });
    json.write(|| format!("{:#}", document()))
}

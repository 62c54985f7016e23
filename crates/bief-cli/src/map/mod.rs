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
                                   run a program, and map its threads; the exit
                                   status is that of the program
  bief map --dry-run --duration 10s 1234
                                   what would be done, and nothing set
  bief map --algorithm bsm 1234    save power: leave fast cores to threads that
                                   need them
  bief map --machine slow.toml --json map.json -- ./server
                                   kinds of cores as slow.toml tells; what was
                                   done, for a machine to read

What it does:
  At the end of each interval it sees for how long each thread ran, estimates
  how much of the fastest core it needs, and sets the affinity of those that go
  to another kind of core: to all cores of that kind, of those that the thread
  was allowed. Which of them it gets, Linux decides. Threads that are busy for
  less than 5 % of the time are left to Linux, as are those that want less than
  others where there are more threads than cores, and all while they want more
  than the cores have. In the end each thread gets back what it had, also where
  a signal ends this command, such as Ctrl-C or SIGTERM; not after SIGKILL,
  which nothing can catch: threads then stay where they were mapped, until
  `taskset -acp CORES PID` lets them go. Programs that the process has started
  meanwhile keep what they inherited.";

/// Map the threads of a process, or of a program that is run, to kinds of cores by what they need (Linux)
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

    /// The machine to map to: one by which cores of this machine stand for others (TOML) [default: this one as it is]
    #[arg(long, value_name = "FILE")]
    machine: Option<PathBuf>,

    /// How often threads are looked at and mapped: 1ms to 1s
    #[arg(long, value_name = "TIME", default_value = "5ms", value_parser = duration)]
    interval: Duration,

    /// What mapping is to bring. More throughput is the default: it is what a program that has slow and fast cores lacks
    #[arg(long, value_name = "NAME", default_value = "rank")]
    algorithm: AlgorithmName,

    /// How many intervals a thread stays on a kind of core at least
    #[arg(long, value_name = "N", default_value_t = MapSettings::default().residency)]
    residency: u32,

    /// How many threads go to another kind of core at the end of an interval at most
    #[arg(long, value_name = "N", default_value_t = MapSettings::default().max_migrations)]
    migrations: usize,

    /// Map threads also while they want more than all cores have
    #[arg(long)]
    crowded: bool,

    /// Map for so long only, as 30s; a program that is run goes on
    #[arg(long, value_name = "TIME", value_parser = duration)]
    duration: Option<Duration>,

    /// Tell what would be done, and set nothing
    #[arg(long)]
    dry_run: bool,

    #[command(flatten)]
    json: JsonArgs,
}

/// The algorithms that suit threads that run.
#[derive(Clone, Copy, ValueEnum)]
enum AlgorithmName {
    /// The thread that needs the most to the fastest core, and so on: the most throughput
    Rank,
    /// Each thread to the kind of core that is nearest to what it needs (FTFC's binary searched mapping): saves power
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
        return Err(Failure::new(reason));
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

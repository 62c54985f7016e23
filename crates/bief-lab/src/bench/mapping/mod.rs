//! `bief lab bench mapping`: what mapping threads to kinds of cores brings and costs, and when it is better than a plan.

mod findings;
mod gain;
mod overhead;
mod receiver;
mod worker;

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::rc::Rc;
use std::time::Duration;

use bief::machine::{Machine, thread_list};
use bief_cli::failure::Failure;
use bief_cli::planning::to_run_on;
use bief_cli::progress::spinner;
use clap::Args;

use super::MeasureArgs;
use super::case::{self, Case};
use super::surroundings::{Surroundings, Watch};

pub(super) const EXAMPLES: &str = "\
Examples:
  bief lab bench mapping                 takes about 15 minutes
  bief lab bench mapping --only gain/swap --rounds 5
  bief lab bench mapping --only overhead --seconds 5
  bief lab bench mapping --machine emulated.toml --only receiver
  bief lab bench mapping --csv map.csv --svg map.svg --json map.json

Cases:
  gain/MIX/MAPPING        the work done by threads whose demand varies. Mixes:
                          swap (as many threads as cores; 0.85 and 0.25 of a
                          fast core in turn), bimodal (as many; 0.95 or 0.15 at
                          random), crowded (twice as many). Mappings: fair
                          (Linux as it is), fixed (each on a random core),
                          bsm-1ms, bsm-5ms and rank-5ms (mapped by demand at
                          these intervals); ideal is the maximum for any sharing
                          of the cores
  overhead/WHOSE-N/EVERY  the processor time of a mapper of N threads, of its
                          own process or of another one, at these intervals: 8
                          threads that need 10 % of a core each, or 64 that need
                          little; waking-alone is the time of a thread that only
                          sleeps for the interval and wakes up
  receiver/WHEN/HOW       frames per second of the DVB-S2 receiver: the exact
                          plan packed, loose and dynamic, and a thread for each
                          task loose and dynamic; on a quiet machine, with a
                          busy thread on a fast core (disturbed), and planned
                          with the times of the two kinds of cores exchanged
                          (misplanned)
All cases run on emulated cores, unless --machine names two or more kinds.
CSV: every reading of every round.";

/// Arguments of `bief lab bench mapping`.
#[derive(Args)]
pub(super) struct MappingArgs {
    #[command(flatten)]
    measure: MeasureArgs,
    /// Duration of a case in each round; demands change after half of it, at most each second
    #[arg(long, value_name = "S", default_value = "2", value_parser = seconds)]
    seconds: f64,
    /// A machine with two or more kinds of cores [default: half of the cores here at half of their speed]
    #[arg(long, value_name = "FILE")]
    machine: Option<PathBuf>,
    /// Be the other process: N threads, until standard input ends
    #[arg(long, hide = true, value_name = "N")]
    crowd: Option<usize>,
}

fn seconds(text: &str) -> Result<f64, String> {
    let seconds = text.parse().ok().filter(|seconds| (0.05..=600.0).contains(seconds));
    seconds.ok_or_else(|| "give 0.05 to 600 seconds".to_owned())
}

/// Where and how long it is measured.
#[derive(Clone)]
struct Setting {
    machine: Rc<Machine>,
    time: Duration,
    /// What mappers and runs noted, each once.
    notes: Rc<RefCell<BTreeSet<String>>>,
}

/// Measures, and delivers what was found.
pub(super) fn run(args: MappingArgs) -> Result<(), Failure> {
    if let Some(threads) = args.crowd {
        return overhead::be_crowd(threads);
    }
    args.measure.output.check()?;
    let setting = Setting {
        machine: Rc::new(machine(&args)?),
        time: Duration::from_secs_f64(args.seconds),
        notes: Rc::default(),
    };
    let subject = Rc::new(receiver::Subject::default());
    let cases = [gain::cases(&setting), overhead::cases(&setting), receiver::cases(&setting, &subject)];
    let mut cases: Vec<Case> = case::select(cases.into_iter().flatten().collect(), args.measure.only.as_deref())?;
    if cases.iter().any(|case| case.name.starts_with(receiver::NAME)) {
        let bar = spinner("finding out how long the receiver's tasks take".to_owned());
        let prepared = subject.prepare(&setting);
        bar.finish_and_clear();
        prepared?;
    }
    let watch = Watch::begin();
    case::read(&mut cases, args.measure.rounds)?;
    let surroundings: Surroundings = watch.end();
    args.measure.output.deliver(&findings::of(&cases, &setting, &surroundings))
}

/// The machine that was asked for, or half of the cores here as slower ones.
fn machine(args: &MappingArgs) -> Result<Machine, Failure> {
    let machine = match &args.machine {
        Some(path) => to_run_on(Some(path))?,
        None => halved(&Machine::here())?,
    };
    if machine.kinds().len() < 2 {
        return Err(Failure::new(
            "--machine: its cores are all of one kind, among which there is nothing to choose: leave it out, or name a TOML file \
             that makes two kinds of cores of those here",
        ));
    }
    Ok(machine)
}

/// The second half of the cores at half of their speed.
fn halved(here: &Machine) -> Result<Machine, Failure> {
    let cores = here.cores();
    let (fast, slow) = cores.split_at(cores.len().div_ceil(2));
    if slow.is_empty() {
        return Err(Failure::new("this machine has one core: threads are mapped where there are two at least"));
    }
    let threads =
        |cores: &[bief::machine::Core]| thread_list(cores.iter().flat_map(|core| core.threads.iter().copied()));
    let text = format!(
        "[[kind]]\nname = \"fast\"\ncores = \"{}\"\n[[kind]]\nname = \"slow\"\ncores = \"{}\"\nspeed = 0.5\n",
        threads(fast),
        threads(slow)
    );
    Machine::emulated(&text, here).map_err(Failure::from_error)
}

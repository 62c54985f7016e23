//! `bief profile`: how long each task of a chain takes, on each kind of core.

mod costs;

use std::num::NonZeroUsize;
use std::path::PathBuf;

use bief::plan::{Load, Profiling};
use bief::schedule::Profile;
use clap::Args;

use crate::document::write;
use crate::failure::{Failure, warn};
use crate::files::Files;
use crate::json::print;
use crate::planning::MeasuringArgs;
use crate::progress::spinner;
use crate::rx::SignalArgs;
use crate::subject::Subject;
use crate::text::{COLUMNS, shortened, wrapped};

const EXAMPLES: &str = "\
Examples:
  bief profile rx                        the receiver, on the built-in recording
  bief profile rx capture.sigmf-meta -o receiver.json
  bief profile meteors sky.mp4 -o meteors.json
  bief profile chain.toml -o chain.json
  bief profile rx --loaded --executions 400
  bief profile rx --both -o receiver.json   idle and busy cores, for bief plan
  bief profile rx --machine emulated.toml -o two_kinds.json
  bief profile rx --batches 1,2,4,8      the cost of a batch and of each frame
  bief plan receiver.json --cores 2      plan with this profile
  bief rx capture.sigmf-meta --profile receiver.json

A task's weight is its mean time, where each of the longest hundredth counts as
20 us more than the others at most; executions in which the thread lost its core
to another one do not count. Tasks are measured pinned, kinds of cores in turn. No
input is used up, no output is written.
Enter and leave are what it costs a stage to begin and to end with a task: what
crosses lies in the caches of another core.

With --batches each task is measured with batches of each size, and lines are
fitted to its times: I per batch and D per frame. There are three lines: the
usual time (of the medians, after Theil and Sen), the time that 99 of 100
batches keep (quantile regression), and the time that none exceeded. R2 is the
share of the variation between sizes that the first line explains; `!` marks a
line that is more than 20 % off at some size, mostly because of caches.";

/// Arguments of `bief profile`.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ProfileArgs {
    /// The chain: `rx` for the DVB-S2 receiver, `nbfm` for the one of narrowband FM, `meteors` for the search of a video
    /// (INPUT is the video), or a TOML file
    #[arg(value_name = "rx|nbfm|meteors|CHAIN.toml")]
    chain: PathBuf,
    #[command(flatten)]
    signal: SignalArgs,
    #[command(flatten)]
    measuring: MeasuringArgs,
    /// Measure tasks twice, while the other cores rest and while they are busy: a plan then counts how many cores it keeps busy itself
    #[arg(long, conflicts_with_all = ["loaded", "batches"])]
    both: bool,
    /// Measure the cost of tasks by the number of frames in a batch (nbfm: samples of audio in a block), for these sizes
    #[arg(long, value_name = "N,N,...", value_delimiter = ',', num_args = 1..)]
    batches: Vec<NonZeroUsize>,
    /// Where to write the profile as JSON; `-` for standard output instead of the table
    #[arg(short, long, value_name = "FILE.json")]
    output: Option<PathBuf>,
}

/// Profiles.
pub(crate) fn run(args: ProfileArgs) -> Result<(), Failure> {
    let mut files = Files::default();
    args.measuring.claim(&mut files)?;
    let subject = Subject::of(&args.chain, &args.signal, &mut files)?;
    args.output.as_deref().map_or(Ok(()), |path| files.write(path, "-o"))?;
    if let [size] = args.batches[..] {
        return Err(Failure::usage(format!("--batches {size}: a line needs two sizes or more, for example 1,4,16")));
    }
    let machine = args.measuring.machine()?;
    let bar = spinner(subject.name.clone());
    let application = subject.application(&args.signal, &mut files, &bar)?;
    bar.set_message("measuring each task");
    let named = |error| subject.failure(error);
    let (document, table) = if args.batches.is_empty() {
        let planner = args.measuring.planner(machine);
        let (mut profile, machine, notes) = planner.measured(&*application).map_err(named)?;
        notes.iter().for_each(|note| warn(note));
        if args.both {
            bar.set_message("measuring each task while all cores are busy");
            let profiling = Profiling { load: Load::Busy, ..args.measuring.profiling() };
            let busy = application.profile_on(&machine, profiling).map_err(named)?;
            profile = profile.with_busy_measured(&busy, &machine.platform()).map_err(Failure::from_error)?;
        }
        (profile.to_json(), table(&profile))
    } else {
        let batches: Vec<usize> = args.batches.iter().map(|size| size.get()).collect();
        let costs = application.costs_on(&machine, &batches, args.measuring.profiling());
        let costs = costs::Fitted::all(costs.map_err(named)?)?;
        (costs::document(&costs), costs::table(&costs))
    };
    bar.finish_and_clear();
    match &args.output {
        Some(path) if crate::files::is_dash(path) => print(document.trim_end()),
        Some(path) => write(path, &document).and_then(|()| print(&table)),
        None => print(&table),
    }
}

/// Each task's times on each kind of core, in microseconds.
fn table(profile: &Profile) -> String {
    let microseconds = |ns: u64| format!("{:.1}", ns as f64 / 1e3);
    let frames = match profile.frames_per_execution() {
        1 => "frame".to_owned(),
        frames => format!("{frames} frames"),
    };
    let mut lines = wrapped(&format!("Measured on {}.", profile.machine().unwrap_or("this machine")), COLUMNS);
    for (kind, name) in profile.kinds().iter().enumerate() {
        lines.push(format!(
            "\n{:<26} {:>3} {:>7} {:>7} {:>7} {:>7} {:>7} {:>7}",
            shortened(&format!("on `{name}`, us per {frames}"), 26),
            "",
            "weight",
            "enter",
            "leave",
            "min",
            "median",
            "p99"
        ));
        // On a device, those that run there.
        for (number, task) in profile.tasks().iter().enumerate().filter(|(_, task)| task.ns[kind].is_some()) {
            let seen = task.seen.as_ref().and_then(|seen| seen[kind]);
            let [min, median, p99] = seen.map_or([0; 3], |seen| [seen.min_ns, seen.median_ns, seen.p99_ns]);
            let cut = |ns: u64| if ns == 0 { "-".to_owned() } else { microseconds(ns) };
            lines.push(format!(
                "{:<26} {:>3} {:>7} {:>7} {:>7} {:>7} {:>7} {:>7}",
                shortened(&task.name, 26),
                if task.replicable { "" } else { "seq" },
                task.ns[kind].map_or_else(|| "-".to_owned(), microseconds),
                cut(profile.enter_ns(number, kind)),
                cut(profile.leave_ns(number, kind)),
                microseconds(min),
                microseconds(median),
                microseconds(p99)
            ));
        }
        let work: u64 = profile.tasks().iter().filter_map(|task| task.ns[kind]).sum();
        lines.push(format!("{:<26} {:>3} {:>7}", "all tasks", "", microseconds(work)));
        if let Some(busy) = profile.busy(kind) {
            let work: u64 = busy.ns.iter().flatten().sum();
            let name = format!("the same, {} cores busy", busy.cores);
            lines.push(format!("{:<26} {:>3} {:>7}", shortened(&name, 26), "", microseconds(work)));
        }
        let mut of_stage = |name: &str, ns: u64| lines.push(format!("{name:<26} {:>3} {:>7.2}", "", ns as f64 / 1e3));
        of_stage("a hand-over", profile.sync_ns(kind));
        if let Some(switch_ns) = profile.switch_ns(kind) {
            of_stage("a change of threads", switch_ns);
        }
    }
    lines.join("\n")
}

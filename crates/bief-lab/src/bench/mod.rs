//! `bief lab bench`: what the runtime itself costs on this machine.

mod adapt;
mod aimed;
mod background;
pub(crate) mod batches;
mod busy;
mod call;
mod case;
mod device;
mod growth;
mod handover;
mod idle;
mod mapping;
mod memory;
mod meteors;
mod nbfm;
mod output;
mod peers;
mod plan;
mod probe;
mod realtime;
mod receiver;
mod rings;
mod runtime;
mod speedup;
mod stream;
pub(crate) mod surroundings;

use bief_cli::failure::Failure;
use clap::{Args, Subcommand};

use self::case::Case;
use self::output::{Findings, OutputArgs};
use self::surroundings::{Surroundings, Watch};

const EXAMPLES: &str = "\
Examples:
  bief lab bench runtime                calls, hand-overs, speed-ups, idling
  bief lab bench growth --svg growth.svg
                                        time per frame against stages, replicas,
                                        tasks and the batch, and a picture
  bief lab bench adapt                  a run whose plan follows: a competitor,
                                        slower cores, other work, fewer cores,
                                        another goal
  bief lab bench memory                 memory throughput of a chain, by buffer
                                        size and placement
  bief lab bench nbfm --svg nbfm.svg    a receiver in real time: its processor
                                        load by block length
  bief lab bench meteors sky.mp4        a search for meteors beside a copy of
                                        the frame, and beside its plan
  bief lab bench batches --svg batches.svg
                                        the cost of tasks by batch length, and
                                        with a thread for each
  bief lab bench plan                   how well a plan predicts a run
  bief lab bench realtime               latency against a bound, with reserved
                                        time, priorities and neither
  bief lab bench mapping                gain and cost of mapping threads to
                                        kinds of cores

Figures are meaningful only on an idle machine. Each bench reports how quiet the
machine was.";

const RUNTIME: &str = "\
Examples:
  bief lab bench runtime
  bief lab bench runtime --only handover --rounds 31
  bief lab bench runtime --csv runtime.csv --svg runtime.svg

Cases:
  call/TASKS/WIRING       an empty task in a chain on one core: with its own
                          wire (apart), overwriting one wire (in-place), or
                          reading the output of the task before (joined)
  handover/DEPTH/WAITING  two empty stages, with rings of DEPTH frames; a probe
                          before and after
  stages/DEPTH/WAITING    four such stages, on two cores
  rings/M-N/TIME/WAITING  two stages of M and N replicas, a task of that time in
                          each
  disturbed/TIME/PLACES   two replicas of a task of that time, with a thread of
                          another program on one of two cores, beside a fair
                          share: loose threads and pinned ones;
                          disturbed/threads: two threads, no pipeline
  speedup/TIME            eight tasks of that time: two stages against one core;
                          speedup/threads: two threads against one, no pipeline
  idle/STAGES             a source whose input never comes
  trickle/STAGES          100 frames a second
CSV: every reading of every round.";

const GROWTH: &str = "\
Examples:
  bief lab bench growth
  bief lab bench growth --only stages --rounds 31
  bief lab bench growth --csv growth.csv --svg growth.svg

Cases: stages/1 to /32, replicas/1 to /16, tasks/1 to /1000, batch/1 to /256, of
empty tasks. CSV: median and quartiles of each, over all rounds.";

/// Arguments of `bief lab bench`.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct BenchArgs {
    #[command(subcommand)]
    bench: Bench,
}

#[derive(Subcommand)]
enum Bench {
    /// The cost of calls, hand-overs, stages and idling
    #[command(after_help = RUNTIME)]
    Runtime(MeasureArgs),
    /// What a run that adapts keeps of the best plan while the world changes
    #[command(after_help = adapt::EXAMPLES)]
    Adapt(MeasureArgs),
    /// How the time per frame grows with stages, replicas, tasks and the batch
    #[command(after_help = GROWTH)]
    Growth(MeasureArgs),
    /// Memory throughput of a chain, by buffer size and placement
    #[command(after_help = memory::EXAMPLES)]
    Memory(memory::MemoryArgs),
    /// The LDPC decoder on a device, by code, batch and lanes, beside one core
    #[command(after_help = device::EXAMPLES)]
    Device(device::DeviceArgs),
    /// Processor load of a narrowband FM receiver in real time, by block length
    #[command(after_help = nbfm::EXAMPLES)]
    Nbfm(nbfm::NbfmArgs),
    /// A search for meteors: each step beside a copy of the frame, two cores beside one and beside the plan
    #[command(after_help = meteors::EXAMPLES)]
    Meteors(meteors::MeteorsArgs),
    /// The cost of tasks by batch length, and on one thread compared with a thread each
    #[command(after_help = batches::EXAMPLES)]
    Batches(batches::BatchesArgs),
    /// How well a plan predicts a run, and what closes the gap; ranks of strategies; placements
    #[command(after_help = plan::EXAMPLES)]
    Plan(plan::PlanArgs),
    /// Latency against a bound: with reserved time, priorities and neither, under load and without
    #[command(after_help = realtime::EXAMPLES)]
    Realtime(realtime::RealtimeArgs),
    /// Gain and cost of mapping threads to kinds of cores, and when it beats a plan
    #[command(after_help = mapping::EXAMPLES)]
    Mapping(mapping::MappingArgs),
}

/// What all benches take.
#[derive(Args)]
struct MeasureArgs {
    /// Rounds of measurement, each over all cases in turn
    #[arg(long, value_name = "N", default_value_t = 11, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    rounds: u32,
    /// Only the cases whose name contains this
    #[arg(long, value_name = "PATTERN")]
    only: Option<String>,
    #[command(flatten)]
    output: OutputArgs,
}

/// Measures.
pub(crate) fn run(args: BenchArgs) -> Result<(), Failure> {
    match args.bench {
        Bench::Runtime(args) => measure(&args, runtime::cases()?, aimed(runtime::TITLED)),
        Bench::Adapt(args) => measure(&args, adapt::cases()?, aimed(adapt::TITLED)),
        Bench::Growth(args) => measure(&args, growth::cases()?, growth::findings),
        Bench::Memory(args) => memory::run(args),
        Bench::Device(args) => device::run(args),
        Bench::Nbfm(args) => nbfm::run(args),
        Bench::Meteors(args) => meteors::run(&args),
        Bench::Batches(args) => batches::run(args),
        Bench::Plan(args) => plan::run(&args),
        Bench::Realtime(args) => realtime::run(args),
        Bench::Mapping(args) => mapping::run(args),
    }
}

fn aimed(titled: aimed::Titled) -> impl Fn(&[Case], &Surroundings) -> Findings {
    move |cases, surroundings| aimed::findings(titled, cases, surroundings)
}

fn measure(
    args: &MeasureArgs,
    cases: Vec<Case>,
    findings: impl Fn(&[Case], &Surroundings) -> Findings,
) -> Result<(), Failure> {
    args.output.check()?;
    let mut cases = case::select(cases, args.only.as_deref())?;
    let watch = Watch::begin();
    case::read(&mut cases, args.rounds)?;
    args.output.deliver(&findings(&cases, &watch.end()))
}

//! `bief lab bench batches`: what tasks cost by the samples of a batch, and what it costs to give each a thread of its own.

mod findings;
mod merging;
mod tasks;

use bief::schedule::realtime::{CostFit, CostSamples, FitMethod};
use bief_cli::failure::Failure;
use bief_cli::progress::spinner;
use clap::Args;

use super::case;
use super::output::OutputArgs;
use super::surroundings::Watch;
pub(crate) use merging::{Layout, Line, Merging, disturbed, merging};

pub(super) const EXAMPLES: &str = "\
Examples:
  bief lab bench batches                 about 2 minutes
  bief lab bench batches --rounds 21 --csv batches.csv --svg batches.svg

Tasks: those of the narrowband FM receiver, on one core, batch after batch;
their cost by the number of blocks of 60 samples in a batch, and by the length
of the blocks.
Cases, for each number of samples SIZE:
  source/SIZE       a source alone that makes a batch each millisecond
  merged-N/SIZE     N frequency shifts behind it, together on a second thread
  separate-N/SIZE   the same with a thread each; all sleep until a batch arrives
Figures are processor time of the whole process per batch; where the system
permits it, threads have priority over other programs (fifo:80). The lines
I + D c through the times of c samples are medians of all slopes and offsets
(Theil and Sen). CSV: every reading, and the medians of the tasks.";

/// Samples of a batch, unless others are asked for.
pub(crate) const SIZES: [u32; 5] = [64, 8192, 16_384, 32_768, 65_536];

/// Arguments of `bief lab bench batches`.
#[derive(Args)]
pub(super) struct BatchesArgs {
    /// Samples of a batch
    #[arg(
        long,
        value_name = "LIST",
        value_delimiter = ',',
        default_values_t = SIZES,
        value_parser = clap::value_parser!(u32).range(1..=65_536)
    )]
    sizes: Vec<u32>,
    /// Duration of each reading
    #[arg(long, value_name = "S", default_value_t = 0.5, value_parser = seconds)]
    seconds: f64,
    /// Rounds of measurement, each over all cases in turn
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    rounds: u32,
    #[command(flatten)]
    output: OutputArgs,
}

fn seconds(text: &str) -> Result<f64, String> {
    let seconds = text.parse().ok().filter(|seconds| (0.01..=60.0).contains(seconds));
    seconds.ok_or_else(|| "give 0.01 to 60 seconds".to_owned())
}

/// Measures, and delivers what was found.
pub(super) fn run(args: BatchesArgs) -> Result<(), Failure> {
    args.output.check()?;
    let mut sizes = args.sizes;
    sizes.sort_unstable();
    sizes.dedup();
    if sizes.len() < 2 {
        return Err(Failure::new("--sizes: one number of samples makes no line: give two or more"));
    }
    let watch = Watch::begin();
    let bar = spinner("measuring tasks".to_owned());
    let tasks = tasks::measure();
    bar.finish_and_clear();
    let tasks = tasks.map_err(Failure::from_error)?;
    let mut cases = merging::cases(&sizes, args.seconds);
    case::read(&mut cases, args.rounds)?;
    let lines = merging::lines(&cases, &sizes)?;
    args.output.deliver(&findings::of(&tasks, &cases, &lines, &watch.end()))
}

/// What each [`Layout`] costs by the samples of a batch: medians of so many readings of so many seconds.
pub(crate) fn lines(sizes: &[u32], seconds: f64, rounds: u32) -> Result<Vec<Line>, Failure> {
    let mut cases = merging::cases(sizes, seconds);
    case::read(&mut cases, rounds)?;
    merging::lines(&cases, sizes)
}

/// The line through the times of batches, that most are near to.
fn fitted(sizes: &[CostSamples]) -> bief::Result<CostFit> {
    Ok(CostFit::new(sizes, FitMethod::Typical)?)
}

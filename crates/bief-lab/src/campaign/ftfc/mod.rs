//! Threads mapped to unlike cores by what they demand: the experiments of *FTFC* (the Fastest-Thread-Fastest-Core scheduler
//! with binary searched mapping, a paper in *Mobile Information Systems*), sections 3 to 5, in simulation.

mod claims;
mod document;
mod gains;
mod growth;
mod machine;
mod naive;
mod picture;
mod policy;
mod positions;
mod published;
mod table;
mod times;

use std::time::Duration;

use bief_cli::failure::Failure;
use bief_cli::progress::progress;
use clap::Args;

use self::gains::{Point, Runs};
use self::published::Published;
use self::times::Growth;
use super::chains::ThreadArgs;
use super::claim::Claim;
use super::{Findings, TargetArgs, figure3};
use crate::bench::surroundings::{Surroundings, Watch};

const EXAMPLES: &str = "\
Examples:
  bief lab campaign ftfc
  bief lab campaign ftfc --runs 100 --seconds 20    narrower intervals
  bief lab campaign ftfc --budget 5 -o results      slow algorithms, more cores
  bief lab campaign ftfc --json > ftfc.json

Figures 4 and 5 are simulated: 3 cores of capacity 1 and 3 of r, 6 threads
whose demands change every 200 ms on average, mapped every 1 ms; a migration
takes 0.03 ms. Uniform demands are between 0.05 and 1, bimodal ones 0.1 or 1.
A core of capacity T draws 0.1 T^1.5, plus T^2.2 while it is busy. The
paper ran six PARSEC benchmarks in ESESC. HM is the paper's measure of
heterogeneity, as printed; std is the standard deviation described in its text.
Its machines, HM 0 to 0.1, appear in both readings.

Figure 3 and Table 1 are measured here, on one thread; close other programs on
this machine. A point that is expected to exceed the budget is skipped.

Files: ftfc_gains.csv, ftfc_times.csv, ftfc_figure3.svg, ftfc_figure4.svg,
ftfc_figure5.svg, ftfc_costs.svg";

/// Arguments of `bief lab campaign ftfc`.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct FtfcArgs {
    /// Runs of each policy on each machine, with different seeds; the paper took 30
    #[arg(long, value_name = "N", default_value_t = 30, value_parser = clap::value_parser!(u32).range(2..=10_000))]
    runs: u32,
    /// Simulated seconds of a run
    #[arg(long, value_name = "SECONDS", default_value_t = 6, value_parser = clap::value_parser!(u32).range(1..=3600))]
    seconds: u32,
    /// Longest measurement of a mapping time, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 0.2, value_parser = figure3::seconds)]
    budget: f64,
    /// Seed of the random demands; the same on every machine
    #[arg(long, value_name = "S", default_value_t = 1)]
    seed: u64,
    #[command(flatten)]
    threads: ThreadArgs,
    #[command(flatten)]
    pub(super) target: TargetArgs,
}

/// Everything that was found.
struct Results {
    published: Published,
    runs: u32,
    seconds: u32,
    seed: u64,
    /// For each kind of demands all machines, from equal cores to unlike ones.
    gains: [Vec<Point>; 2],
    times: Vec<times::Point>,
    growths: Vec<Growth>,
    /// While times were measured.
    surroundings: Surroundings,
    claims: Vec<Claim>,
}

pub(super) fn find(args: &FtfcArgs) -> Result<Findings, Failure> {
    let published = Published::new();
    let runs = Runs {
        machines: machine::machines(&published.heterogeneities).map_err(Failure::from_error)?,
        count: args.runs,
        span_ns: u64::from(args.seconds) * 1_000_000_000,
        seed: args.seed,
    };
    let bar = progress(Some(runs.total() + times::total()));
    let found = runs.simulate(args.threads.count(), &bar).and_then(|gains| {
        let watch = Watch::begin();
        let times = times::measure(Duration::from_secs_f64(args.budget), args.seed, &bar)?;
        Ok((gains, times, watch.end()))
    });
    bar.finish_and_clear();
    let (gains, times, surroundings) = found.map_err(Failure::from_error)?;
    let growths = times::growths(&times);
    let (runs, seconds, seed) = (args.runs, args.seconds, args.seed);
    let mut results =
        Results { published, runs, seconds, seed, gains, times, growths, surroundings, claims: Vec::new() };
    results.claims = claims::judge(&results).map_err(Failure::from_error)?;
    Ok(Findings {
        table: table::text(&results),
        json: document::to_json(&results),
        files: vec![
            ("ftfc_gains.csv", document::gains_csv(&results)),
            ("ftfc_times.csv", document::times_csv(&results)),
            ("ftfc_figure3.svg", picture::times(&results).svg()?),
            ("ftfc_figure4.svg", picture::power(&results).svg()?),
            ("ftfc_figure5.svg", picture::throughput(&results).svg()?),
            ("ftfc_costs.svg", picture::costs(&results).svg()?),
        ],
    })
}

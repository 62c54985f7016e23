//! The `bief-lab` command: experiments, and how their results are shown.

#![forbid(unsafe_code)]

mod bench;
mod campaign;
mod fer;
mod statistics;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

const EXAMPLES: &str = "\
Examples:
  bief lab campaign table1             compare all strategies on random chains
  bief lab fer --modcod qpsk-8/9 --frame short
                                       frame error rates of the receiver
  bief lab bench runtime               the cost of calls, hand-overs and waiting";

/// Experiments with Bief: runtime overhead, frame error rates, the results of the papers
#[derive(Parser)]
#[command(name = "bief-lab", bin_name = "bief lab", version, max_term_width = 80, after_help = EXAMPLES)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Repeat the experiments of the papers and compare with the published values
    Campaign(campaign::CampaignArgs),
    /// Measure frame error rates of the receiver and of an ideal one
    Fer(fer::FerArgs),
    /// Measure the overhead of the runtime on this machine
    Bench(bench::BenchArgs),
}

fn main() -> ExitCode {
    let result = match Cli::parse().command {
        Command::Campaign(args) => campaign::run(args),
        Command::Fer(args) => fer::run(args),
        Command::Bench(args) => bench::run(args),
    };
    result.map_or_else(|failure| failure.told_by("bief-lab"), |()| ExitCode::SUCCESS)
}

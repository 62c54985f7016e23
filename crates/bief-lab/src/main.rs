//! The `bief-lab` command: experiments, and how their results are shown.

#![forbid(unsafe_code)]

mod bench;
mod campaign;
mod fer;
mod statistics;

use std::process::ExitCode;

use bief_cli::failure::Failure;
use bief_dsp::simd::Level;
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
    let command = Cli::parse().command;
    if let Err(error) = Level::chosen() {
        return Failure::new(error.to_string()).told_by("bief-lab");
    }
    let result = match command {
        Command::Campaign(args) => campaign::run(args),
        Command::Fer(args) => fer::run(args),
        Command::Bench(args) => bench::run(args),
    };
    result.map_or_else(|failure| failure.told_by("bief-lab"), |()| ExitCode::SUCCESS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_that_are_documented_can_be_typed() {
        let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
        let pages = std::fs::read_dir(format!("{root}/book/src")).unwrap().map(|page| page.unwrap().path());
        let pages = pages.filter(|page| page.extension().is_some_and(|end| end == "md"));
        let mut count = 0;
        for page in pages.chain([format!("{root}/README.md").into()]) {
            let text = std::fs::read_to_string(&page).unwrap();
            for line in text.lines().filter(|line| line.starts_with("bief lab ")) {
                let words = line.split('#').next().unwrap_or(line).split_whitespace().skip(1);
                let parsed = Cli::try_parse_from(words);
                assert!(parsed.is_ok(), "{}: `{line}`: {}", page.display(), parsed.err().unwrap());
                count += 1;
            }
        }
        assert!(count > 5, "{count} commands");
    }
}

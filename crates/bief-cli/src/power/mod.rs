//! `bief power`: what a machine and its cores draw, measured and modelled.

mod fit;
mod read;
mod rows;

use clap::{Args, Subcommand};

use crate::failure::Failure;

const EXAMPLES: &str = "\
Examples:
  bief power read                       what can be measured here, and the power
                                        over 5 seconds
  bief power fit rows.csv -o machine.json
                                        what idle and busy cores draw";

/// Arguments of `bief power`.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct PowerArgs {
    #[command(subcommand)]
    command: PowerCommand,
}

#[derive(Subcommand)]
enum PowerCommand {
    /// Show what tells energy here, and measure with it
    Read(read::ReadArgs),
    /// Find what idle and the busy cores of each kind draw, from measured runs
    Fit(fit::FitArgs),
}

/// Does what is asked.
pub(crate) fn run(args: PowerArgs) -> Result<(), Failure> {
    match args.command {
        PowerCommand::Read(args) => read::run(&args),
        PowerCommand::Fit(args) => fit::run(args),
    }
}

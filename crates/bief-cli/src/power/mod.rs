//! `bief power`: what a machine and its cores draw, measured and modelled.

mod fit;
mod read;
mod rows;

use clap::{Args, Subcommand};

use crate::failure::Failure;

const EXAMPLES: &str = "\
Examples:
  bief power read                       the energy meters here, and the power
                                        over 5 seconds
  bief power fit rows.csv -o machine.json
                                        the power of idle and busy cores";

/// Arguments of `bief power`.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct PowerArgs {
    #[command(subcommand)]
    command: PowerCommand,
}

#[derive(Subcommand)]
enum PowerCommand {
    /// Show the energy meters of this machine, and measure the power
    Read(read::ReadArgs),
    /// Fit the power of idle and busy cores of each kind to measured runs
    Fit(fit::FitArgs),
}

/// Does what is asked.
pub(crate) fn run(args: PowerArgs) -> Result<(), Failure> {
    match args.command {
        PowerCommand::Read(args) => read::run(&args),
        PowerCommand::Fit(args) => fit::run(args),
    }
}

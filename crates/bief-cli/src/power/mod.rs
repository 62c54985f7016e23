//! `bief power`: what a machine and its cores draw.

mod fit;
mod rows;

use clap::{Args, Subcommand};

use crate::failure::Failure;

/// Arguments of `bief power`.
#[derive(Args)]
pub(crate) struct PowerArgs {
    #[command(subcommand)]
    command: PowerCommand,
}

#[derive(Subcommand)]
enum PowerCommand {
    /// Find what idle and the busy cores of each kind draw, from measured runs
    Fit(fit::FitArgs),
}

/// Does what is asked.
pub(crate) fn run(args: PowerArgs) -> Result<(), Failure> {
    match args.command {
        PowerCommand::Fit(args) => fit::run(args),
    }
}

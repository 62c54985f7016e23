//! `bief workers`: who is there.

use std::time::Duration;

use bief_zenoh::{About, Pool};
use clap::Args;
use serde_json::json;

use super::reach::ReachArgs;
use crate::failure::Failure;
use crate::json::{JsonArgs, print};
use crate::status::Status;
use crate::table::columns;
use crate::text::printable;

const EXAMPLES: &str = "\
Examples:
  bief workers --workers rack3,rack4:7447 --keys pool/
  bief workers --find --keys pool/ --json";

/// How long workers may take to answer.
const PATIENCE: Duration = Duration::from_secs(3);

/// Arguments of `bief workers`.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct WorkersArgs {
    #[command(flatten)]
    reach: ReachArgs,
    #[command(flatten)]
    json: JsonArgs,
}

/// Shows who is there.
pub(crate) fn list(args: WorkersArgs) -> Result<(), Failure> {
    let reach = args.reach.reach()?;
    let again = |error| Failure::from_error(error).with(Status::TryAgain);
    let pool = Pool::open(&reach).map_err(again)?;
    // Those that are found may be any number.
    let enough = if args.reach.named() > 0 { args.reach.named() } else { usize::MAX };
    let workers = pool.workers(PATIENCE, enough).map_err(again)?;
    args.json.write(|| format!("{:#}", json!(workers)))?;
    if workers.is_empty() {
        return Err(
            Failure::new("no worker answers: is one there, with keys of the same authority?").with(Status::TryAgain)
        );
    }
    if args.json.on_stdout() { Ok(()) } else { print(&table(&workers)) }
}

fn table(workers: &[About]) -> String {
    let row = |worker: &About| {
        vec![
            printable(&worker.name).to_string(),
            printable(&worker.address).to_string(),
            printable(&worker.version).to_string(),
            worker.cores.to_string(),
            worker.runs.to_string(),
            worker.frames.to_string(),
            format!("{:.1}", worker.rate),
        ]
    };
    let rows: Vec<Vec<String>> = workers.iter().map(row).collect();
    columns(&["worker", "address", "version", "cores", "runs", "frames", "frames/s"], &rows, Some(0)).join("\n")
}

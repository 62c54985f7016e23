//! `bief lab campaign`: the experiments of the papers behind the command, done again, beside the values that they printed.
//!
//! The planner's is Idouar et al., *Energy-Aware Scheduling Strategies for Partially-Replicable Task Chains on
//! Heterogeneous Processors*; its sections 6.1 and 6.2 describe the experiments. Those of [`batching`] and [`ftfc`] are named there.

mod batching;
mod chains;
mod claim;
mod contender;
mod figure1;
mod figure2;
mod figure3;
mod folder;
mod ftfc;
mod nn;
pub(crate) mod published;
mod table1;
mod table2;

use bief_cli::failure::Failure;
use bief_cli::json::{JsonArgs, print};
use clap::{Args, Subcommand};

use folder::{Folder, FolderArgs};

const EXAMPLES: &str = "\
Examples:
  bief lab campaign table1                slowdown and cores of all strategies
  bief lab campaign figure1 --chains 200  a quicker, rougher run
  bief lab campaign figure2 -o results    files go to the folder results
  bief lab campaign figure3 --budget 0.2  at most 0.2 s per point
  bief lab campaign table2 --json         the numbers as JSON
  bief lab campaign batching              batches and merges in random graphs
  bief lab campaign ftfc                  threads mapped to unequal cores
  bief lab campaign nn net.onnx           a neural network as a task chain

Each experiment compares its results with the values of the paper in a table,
and writes a CSV file and SVG plots to the folder `campaign` or --output.
Sources: Idouar et al., Energy-Aware Scheduling Strategies for
Partially-Replicable Task Chains on Heterogeneous Processors, section 6; of
batching: He and Ward, Real-Time Scheduling and Batching in GNU Radio for
Bounded Response Times, section 7; of ftfc: FTFC, Fastest-Thread-Fastest-Core,
in Mobile Information Systems.";

/// Arguments of `bief lab campaign`.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct CampaignArgs {
    #[command(subcommand)]
    experiment: Experiment,
}

#[derive(Subcommand)]
enum Experiment {
    /// Periods and cores of all strategies on random chains (Table 1)
    Table1(table1::Table1Args),
    /// Distribution of the slowdowns of the strategies (Figure 1)
    Figure1(figure1::Figure1Args),
    /// Extra cores of FERTAC compared with HeRAD (Figure 2)
    Figure2(figure2::Figure2Args),
    /// Computing time of the strategies (Figure 3)
    Figure3(figure3::Figure3Args),
    /// Schedules of a DVB-S2 receiver on four machines (Table 2)
    Table2(table2::Table2Args),
    /// Gain from batches and merges in random processing graphs (He and Ward, section 7)
    Batching(batching::BatchingArgs),
    /// Gain and cost of mapping threads by demand on unequal cores (FTFC, sections 3 to 5)
    Ftfc(ftfc::FtfcArgs),
    /// Neural networks as task chains, planned and run
    Nn(nn::NnArgs),
}

/// What all experiments take: where the results go.
#[derive(Args)]
struct TargetArgs {
    #[command(flatten)]
    folder: FolderArgs,
    #[command(flatten)]
    json: JsonArgs,
}

/// What an experiment found.
struct Findings {
    /// For the terminal, at most 80 columns wide.
    table: String,
    /// The same numbers for a machine.
    json: serde_json::Value,
    /// Names and contents of the files.
    files: Vec<(&'static str, String)>,
}

/// Does the experiment.
pub(crate) fn run(args: CampaignArgs) -> Result<(), Failure> {
    match args.experiment {
        Experiment::Table1(args) => deliver(&args.target, || table1::find(&args)),
        Experiment::Figure1(args) => deliver(&args.target, || figure1::find(&args)),
        Experiment::Figure2(args) => deliver(&args.target, || figure2::find(&args)),
        Experiment::Figure3(args) => deliver(&args.target, || figure3::find(&args)),
        Experiment::Table2(args) => deliver(&args.target, table2::find),
        Experiment::Batching(args) => deliver(&args.target, || batching::find(&args)),
        Experiment::Ftfc(args) => deliver(&args.target, || ftfc::find(&args)),
        Experiment::Nn(args) => deliver(&args.target, || nn::find(&args)),
    }
}

/// Makes sure that the results can be written, finds them, and writes them.
fn deliver(target: &TargetArgs, find: impl FnOnce() -> Result<Findings, Failure>) -> Result<(), Failure> {
    let folder = Folder::open(&target.folder)?;
    let mut findings = find()?;
    let written = findings.files.iter().map(|(name, content)| folder.write(name, content));
    let written = written.collect::<Result<Vec<_>, _>>()?;
    findings.json["files"] = written.clone().into();
    target.json.write(|| format!("{:#}", findings.json))?;
    if target.json.on_stdout() {
        return Ok(());
    }
    print(&format!("{}\n\nWritten: {}", findings.table, written.join("\n         ")))
}

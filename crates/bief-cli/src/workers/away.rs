//! Tasks of a chain file that leave this machine: which, to whom, and what became of them.

use std::cell::RefCell;
use std::sync::Arc;

use bief::{ChainFile, Pipeline, Registry};
use bief_pool::{Cut, WorkerTally};
use bief_zenoh::{Pool, Running, Without};
use clap::Args;
use serde_json::{Value, json};

use super::elements;
use super::lend::cores_here;
use super::reach::{ReachArgs, without};
use crate::failure::{Failure, warn};
use crate::status::Status;
use crate::table::columns;
use crate::text::{listed, printable};

/// Batches between `Dispatch` and `Collect` where nobody says how many: a worker that is ten times slower than others holds few of them.
const DEPTH: usize = 128;

/// Tasks on workers.
#[derive(Args)]
pub(crate) struct AwayArgs {
    #[command(flatten)]
    reach: ReachArgs,
    /// Wait for workers where none is there, instead of doing their work here
    #[arg(long)]
    wait: bool,
    /// The tasks that leave this machine, from FIRST to LAST [default: as many as may]
    #[arg(long, value_name = "FIRST..LAST")]
    leave: Option<String>,
}

/// A run whose tasks are away.
pub(crate) struct Away {
    running: Running,
}

impl AwayArgs {
    /// Whether tasks are to leave.
    ///
    /// # Errors
    /// Options that say how, where nobody is named.
    pub(crate) fn is_given(&self) -> Result<bool, Failure> {
        self.reach.check()?;
        match (self.reach.is_given(), self.wait, &self.leave) {
            (false, true, _) => Err(without("--wait")),
            (false, _, Some(_)) => Err(without("--leave")),
            (given, ..) => Ok(given),
        }
    }

    fn cut(&self, file: &ChainFile, registry: &Arc<Registry>) -> Result<Cut, Failure> {
        let Some(leave) = &self.leave else { return Cut::longest(file, registry).map_err(Failure::from_error) };
        let (first, last) = leave.split_once("..").unwrap_or((leave, leave));
        Cut::between(file, first, last, registry)
            .map_err(|error| Failure::usage(format!("--leave {leave}: {}", error.message())))
    }

    /// The pipeline of what stays, and the run with workers, which begins.
    pub(crate) fn pipeline(&self, file: &ChainFile, registry: &Arc<Registry>) -> Result<(Pipeline, Away), Failure> {
        let reach = self.reach.reach()?;
        elements::register().map_err(Failure::from_error)?;
        let cut = self.cut(file, registry)?;
        let names: Vec<String> = cut.leaving().map(|task| format!("`{}`", printable(task.name()))).collect();
        let pool = Pool::open(&reach).map_err(|error| Failure::from_error(error).with(Status::TryAgain))?;
        warn(&format!("for workers: {}", listed(&names)));
        if file.stages().next().is_some() {
            warn(
                "the stages of the file are not used: what stays runs on a thread before workers, and one behind them",
            );
        }
        let without = if self.wait { Without::Wait(cores_here()) } else { Without::Cores(cores_here()) };
        let running = RefCell::new(None);
        let depth = file.depth().unwrap_or(DEPTH);
        let chain = cut.chain(registry, file.batch(), depth, |segment, frames| {
            let started = pool.start(segment, cut.text(segment.inputs()), frames, without, warn)?;
            let front = started.front().clone();
            *running.borrow_mut() = Some(started);
            Ok(front)
        });
        let pipeline = chain.and_then(|chain| chain.build()?.pipeline_as_marked()).map_err(Failure::from_error)?;
        let running = running.into_inner().expect("the chain has a front");
        Ok((pipeline, Away { running }))
    }
}

impl Away {
    /// What is called when the run is to end before its time.
    pub(crate) fn ending(&self) -> impl Fn() + Send + 'static {
        self.running.ending()
    }

    /// A row for each worker.
    pub(crate) fn table(&self) -> String {
        let headings = ["worker", "cores", "frames", "frames/s", "sent again", "late", "came"];
        let row = |worker: WorkerTally| {
            vec![
                printable(&worker.name).to_string(),
                worker.cores.to_string(),
                worker.frames.to_string(),
                format!("{:.1}", worker.rate()),
                worker.again.to_string(),
                worker.late.to_string(),
                worker.times.to_string(),
            ]
        };
        let rows: Vec<Vec<String>> = self.running.tally().into_iter().map(row).collect();
        columns(&headings, &rows, Some(0)).join("\n")
    }

    /// The same for a machine.
    pub(crate) fn document(&self) -> Value {
        let row = |worker: WorkerTally| {
            json!({
                "name": worker.name,
                "cores": worker.cores,
                "frames": worker.frames,
                "frames_per_second": worker.rate(),
                "sent_again": worker.again,
                "late": worker.late,
                "came": worker.times,
                "seconds": worker.seconds,
            })
        };
        self.running.tally().into_iter().map(row).collect()
    }
}

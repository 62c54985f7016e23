//! Tasks of a chain file that leave this machine: which, to whom, and what became of them.

use std::cell::RefCell;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use bief::{ChainFile, Machine, Pipeline, Planned, Planner, Registry};
use bief_pool::plan::PoolPlan;
use bief_pool::{Candidates, Cut, OwnCores, WorkerTally};
use bief_schedule::Stage;
use bief_zenoh::{Pool, Running, Without};
use clap::Args;
use serde_json::{Value, json};

use super::elements;
use super::lend::cores_here;
use super::pool_plan;
use super::reach::{ReachArgs, without};
use crate::failure::{Failure, warn};
use crate::files::Files;
use crate::status::Status;
use crate::table::columns;
use crate::text::{listed, printable};

/// Batches that may wait before `Collect` where nobody says how many: a worker that is ten times slower than others holds few of them.
const DEPTH: usize = 128;
/// Cores of this machine that do not help workers where nothing was planned: what stays has two stages.
const STAGES: usize = 2;

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
    /// Measure the tasks, and let those leave that bring most with the workers of this file, as `bief plan --workers` says; where that
    /// does not pay, all stay, and no worker is asked
    #[arg(long, value_name = "FILE.toml", conflicts_with = "leave")]
    pool: Option<PathBuf>,
    /// Those that the chain file lets leave, by their places in it.
    #[arg(skip)]
    of_file: Option<Range<usize>>,
}

/// Whether tasks leave.
pub(crate) enum Decision {
    /// These do.
    Leave(Box<Leaving>),
    /// None does: this machine alone is faster.
    Stay(Box<Planned>),
}

/// The tasks that leave.
pub(crate) struct Leaving {
    cut: Cut,
    /// The stages before those that leave and behind them, where they were planned.
    stages: Option<[Vec<Stage>; 2]>,
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
        match (self.reach.is_given(), self.wait, &self.leave, &self.pool) {
            (false, true, ..) => Err(without("--wait")),
            (false, _, Some(_), _) => Err(without("--leave")),
            (false, _, _, Some(_)) => Err(without("--pool")),
            (given, ..) => Ok(given),
        }
    }

    /// Lets the tasks leave that the chain file says, for the machines that it names, unless the options say otherwise.
    ///
    /// # Errors
    /// Addresses that are none.
    pub(crate) fn follow(&mut self, file: &ChainFile) -> Result<(), Failure> {
        let Some((machines, tasks)) = file.machines() else { return Ok(()) };
        self.of_file = (self.leave.is_none() && self.pool.is_none()).then_some(tasks);
        if self.reach.is_given() { Ok(()) } else { self.reach.follow(&machines) }
    }

    /// Notes the file that is read.
    pub(crate) fn claim(&self, files: &mut Files) -> Result<(), Failure> {
        self.pool.as_deref().map_or(Ok(()), |path| files.read(path))
    }

    /// Which tasks leave: those that are named, or that a plan lets leave, or as many as may.
    ///
    /// # Errors
    /// Tasks that may not leave; a chain that cannot be built or measured.
    pub(crate) fn decide(&self, file: &ChainFile, registry: &Arc<Registry>) -> Result<Decision, Failure> {
        self.reach.reach()?;
        elements::register().map_err(Failure::from_error)?;
        let candidates = Candidates::of(file, registry).map_err(Failure::from_error)?;
        let leave = |cut, stages| Decision::Leave(Box::new(Leaving { cut, stages }));
        match (&self.leave, &self.pool) {
            (None, None) => {
                let cut = match &self.of_file {
                    Some(tasks) => candidates.cut(tasks.clone()),
                    None => candidates.longest(),
                };
                Ok(leave(cut.map_err(Failure::from_error)?, None))
            }
            (Some(names), _) => {
                let (first, last) = names.split_once("..").unwrap_or((names, names));
                let cut = candidates.between(first, last);
                let named = |error: bief::Error| Failure::usage(format!("--leave {names}: {}", error.message()));
                Ok(leave(cut.map_err(named)?, None))
            }
            (None, Some(path)) => {
                let site = pool_plan::read(path)?;
                let planned =
                    Planner::new(Machine::here()).plan(&file.application(registry)).map_err(Failure::from_error)?;
                let profile = &planned.profile;
                let plan = PoolPlan::make(profile, &planned.machine.platform(), &site, |run| {
                    candidates.cut(candidates.of_program(run.clone())?).ok()?;
                    PoolPlan::crossing(profile, run)
                });
                let plan = plan.map_err(Failure::from_error)?;
                pool_plan::sentences(&plan, profile).iter().for_each(|sentence| warn(sentence));
                let Some(away) = plan.pays() else { return Ok(Decision::Stay(Box::new(planned))) };
                let tasks = candidates.of_program(away.tasks.clone()).expect("it was found");
                let cut = candidates.cut(tasks).map_err(Failure::from_error)?;
                Ok(leave(cut, Some([away.before.clone(), away.behind.clone()])))
            }
        }
    }

    /// The pipeline of what stays, and the run with workers, which begins.
    pub(crate) fn pipeline(
        &self,
        leaving: Leaving,
        file: &ChainFile,
        registry: &Arc<Registry>,
    ) -> Result<(Pipeline, Away), Failure> {
        let Leaving { cut, stages } = leaving;
        let names: Vec<String> = cut.leaving().map(|task| format!("`{}`", printable(task.name()))).collect();
        let pool =
            Pool::open(&self.reach.reach()?).map_err(|error| Failure::from_error(error).with(Status::TryAgain))?;
        warn(&format!("for workers: {}", listed(&names)));
        // The stage that leaves, and one behind it, are as the file says.
        let as_written = if self.of_file.is_some() { 2 } else { 0 };
        if file.stages().count() > as_written {
            warn("the stages of the file are not used: what stays runs before workers, and behind them");
        }
        let cores = cores_here();
        let busy = stages.as_ref().map_or(STAGES, |[before, behind]| {
            before.iter().chain(behind).map(|stage| stage.replicas() as usize).sum()
        });
        let own = OwnCores { alone: cores, helping: cores.saturating_sub(busy) };
        let without = if self.wait { Without::Wait(cores) } else { Without::Cores(own) };
        let running = RefCell::new(None);
        let size = (file.batch(), file.depth().unwrap_or(DEPTH));
        let pipeline = cut.pipeline(registry, size, without.own(), stages, |segment, frames| {
            let started = pool.start(segment, cut.text(segment.inputs()), frames, without, warn)?;
            let front = started.front().clone();
            *running.borrow_mut() = Some(started);
            Ok(front)
        });
        let pipeline = pipeline.map_err(Failure::from_error)?;
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

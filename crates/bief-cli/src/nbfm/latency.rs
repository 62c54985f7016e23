//! `bief nbfm --latency`: the block with which audio is there in time, at the least work.

use std::num::NonZeroUsize;
use std::time::Duration;

use bief::plan::Profiling;
use bief::realtime::{Class, LatencyPlan, Mode, RealTime};
use bief::{Machine, Pipeline, Planner, Program};
use bief_radio::FmReceiver;
use clap::Args;
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::units::{duration, elapsed};

/// Executions that are timed of each block.
const EXECUTIONS: NonZeroUsize = NonZeroUsize::new(80).unwrap();

/// What is to be kept.
#[derive(Args)]
pub(super) struct LatencyArgs {
    /// Longest latency from sample to audio, such as 20ms: chooses the block and stages with the least work. The
    /// filters' own delay comes on top
    #[arg(long, value_name = "TIME", value_parser = duration, conflicts_with = "block")]
    latency: Option<Duration>,
    /// Cores to use for --latency
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1024), requires = "latency")]
    cores: u32,
    /// Reserve the time that the stages need (SCHED_DEADLINE): off, try, or require [default: try]
    #[arg(long, value_name = "MODE", requires = "latency")]
    rt: Option<Mode>,
}

/// How it is kept.
pub(super) struct Kept {
    pub(super) plan: LatencyPlan,
    pub(super) block: usize,
    pub(super) mode: Mode,
    /// The delay of the filters.
    pub(super) filters: Duration,
}

impl LatencyArgs {
    /// Refuses what no recording could be received with.
    pub(super) fn check(&self, live: Live) -> Result<(), Failure> {
        if live == Live::No && self.rt.is_some_and(|mode| mode != Mode::Off) {
            let reason = "--rt: samples of a file come all at once: give --pace, too, or `-` for live input";
            return Err(Failure::usage(reason));
        }
        Ok(())
    }

    /// Plans, if a latency is asked for.
    pub(super) fn plan(&self, receiver: &FmReceiver, live: Live) -> Result<Option<Kept>, Failure> {
        let Some(latency) = self.latency else { return Ok(None) };
        let mode = if live == Live::No { Mode::Off } else { self.rt.unwrap_or_default() };
        let profiling = Profiling { executions: EXECUTIONS, ..Profiling::default() };
        let planner = Planner::new(Machine::here()).profiling(profiling).class(Class::Deadline, mode);
        let plan = planner.latency_plan(receiver, latency, self.cores);
        let plan = plan.map_err(|error| Failure::usage(format!("--latency: {error}")))?;
        let settings = receiver.settings();
        let step = settings.decimation().map_err(Failure::from_error)?;
        let delay = settings.delay().map_err(Failure::from_error)? as f64 / settings.sample_rate;
        Ok(Some(Kept { block: plan.batch() * step, plan, mode, filters: Duration::from_secs_f64(delay) }))
    }
}

/// Whether samples come at their own rate, and why.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Live {
    No,
    Paced,
    Input,
}

impl Kept {
    /// The stages of the plan, with the time reserved that they need. Of samples that come by a clock, latencies are counted against
    /// the bound, from when the youngest sample of a block is due.
    pub(super) fn pipeline(&self, program: Program, live: Live) -> bief::Result<Pipeline> {
        let pipeline = program.pipeline(&self.plan.schedule)?;
        let wanted = match self.mode {
            Mode::Off => RealTime::ordinary(),
            mode => RealTime::deadline(self.plan.timings.clone()).mode(mode),
        };
        match live {
            Live::No => Ok(pipeline),
            Live::Input => pipeline.real_time(wanted),
            Live::Paced => pipeline.real_time(wanted.bound(self.plan.release_bound(), self.plan.allowance())),
        }
    }

    /// What is told of it, beside the figures of the run.
    pub(super) fn rows(&self) -> [(&'static str, String); 2] {
        let LatencyPlan { plan, schedule, .. } = &self.plan;
        let stages = schedule.stages().len();
        let share = 100.0 * plan.bounds.utilisation;
        let stages = if stages == 1 { "one stage".to_owned() } else { format!("{stages} stages") };
        [
            ("planned", format!("{} samples in {stages}, {share:.2} % of a core", self.block)),
            (
                "latency",
                format!(
                    "{} at most, {} for the machine; filters: {}",
                    elapsed(self.plan.bound()),
                    elapsed(self.plan.allowance()),
                    elapsed(self.filters)
                ),
            ),
        ]
    }

    pub(super) fn to_json(&self) -> Value {
        let LatencyPlan { plan, schedule, timings, .. } = &self.plan;
        let stages = schedule.stages().iter().zip(timings).map(|(stage, timing)| {
            json!({
                "tasks": stage.tasks, "period_ns": timing.period.as_nanos() as u64,
                "execution_ns": timing.execution.as_nanos() as u64,
            })
        });
        json!({
            "block": self.block, "stages": stages.collect::<Vec<Value>>(), "utilisation": plan.bounds.utilisation,
            "bound_ns": self.plan.bound().as_nanos() as u64, "allowance_ns": self.plan.allowance().as_nanos() as u64,
            "filters_ns": self.filters.as_nanos() as u64,
        })
    }
}

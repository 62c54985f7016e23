//! `bief nbfm --latency`: the block with which audio is there in time, at the least work.

use std::num::NonZeroUsize;
use std::time::Duration;

use bief::machine::class::probe;
use bief::plan::{BatchCosts, Profiling};
use bief::realtime::{Class, LatencyGoal, LatencyPlan, Mode, RealTime};
use bief::{Application, Machine, Pipeline, Program};
use bief_radio::{NarrowbandFm, Recording, SampleFormat};
use clap::Args;
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::units::{duration, elapsed};

/// Executions that are timed of each block.
const EXECUTIONS: NonZeroUsize = NonZeroUsize::new(80).unwrap();
/// How long measuring may take, about.
const LIMIT: Duration = Duration::from_secs(4);
/// How long the machine is watched for its part of the latency.
const PROBE: Duration = Duration::from_millis(300);

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
            return Err(Failure::new(reason));
        }
        Ok(())
    }

    /// Plans, if a latency is asked for. `live`: samples come at their rate, from a radio or paced as from one.
    pub(super) fn plan(
        &self,
        receiver: &NarrowbandFm,
        format: SampleFormat,
        live: Live,
    ) -> Result<Option<Kept>, Failure> {
        let Some(latency) = self.latency else { return Ok(None) };
        let mode = if live == Live::No { Mode::Off } else { self.rt.unwrap_or_default() };
        let step = receiver.decimation().map_err(Failure::from_error)?;
        let step_time = Duration::from_secs_f64(step as f64 / receiver.sample_rate);
        let most = (latency.as_secs_f64() / step_time.as_secs_f64()).floor() as usize;
        if most == 0 {
            return Err(Failure::new(format!(
                "--latency {}: one sample of audio takes {}: allow more",
                elapsed(latency),
                elapsed(step_time)
            )));
        }
        // A line needs two sizes or more; those beyond the latency are of no use.
        let mut sizes: Vec<usize> =
            std::iter::successors(Some(1), |size| Some(size * 4)).take_while(|&size| size <= most).collect();
        sizes.resize(sizes.len().max(2), 2);
        let costs = costs(receiver, format, live, &sizes)?;
        let class = if mode == Mode::Off { Class::Ordinary } else { Class::Deadline };
        // Without the right to have that class, there is no bound: the run says so.
        let allowance = probe(class, PROBE).or_else(|_| probe(Class::Ordinary, PROBE)).map_err(Failure::from_error)?;
        let goal = LatencyGoal {
            cores: self.cores,
            allowance: Duration::from_nanos(allowance.p999_ns),
            ..LatencyGoal::new(step_time, latency)
        };
        let plan = costs.latency_plan(&goal).map_err(|error| Failure::new(format!("--latency: {error}")))?;
        let filters =
            Duration::from_secs_f64(receiver.delay().map_err(Failure::from_error)? as f64 / receiver.sample_rate);
        Ok(Some(Kept { block: plan.batch() * step, plan, mode, filters }))
    }
}

/// What the receiver costs on this machine, by the samples of audio in a block, for these numbers of them.
pub(crate) fn costs(
    receiver: &NarrowbandFm,
    format: SampleFormat,
    live: Live,
    sizes: &[usize],
) -> Result<BatchCosts, Failure> {
    let step = receiver.decimation().map_err(Failure::from_error)?;
    let measured = |&size: &usize| -> bief::Result<(u64, BatchCosts)> {
        let receiver = NarrowbandFm { block: size * step, ..*receiver };
        let profiling = Profiling { executions: EXECUTIONS, limit: LIMIT / sizes.len() as u32, ..Profiling::default() };
        let receiver = receiver.on(Recording::from_memory("rehearsal", format, []));
        let receiver = if live == Live::Paced { receiver.paced().0 } else { receiver };
        let costs = receiver.rehearsal(u64::MAX)?.costs_on(&Machine::here(), &[1], profiling)?;
        Ok((size as u64, costs.into_iter().next().expect("a machine has a kind of cores")))
    };
    let parts = sizes.iter().map(measured).collect::<bief::Result<Vec<_>>>();
    parts.and_then(BatchCosts::by_size).map_err(Failure::from_error)
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

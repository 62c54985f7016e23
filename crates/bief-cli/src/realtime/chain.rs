//! Chains as processing graphs: their tasks measured on this machine.

use std::path::Path;
use std::time::Duration;

use bief::Machine;
use bief::plan::Profiling;
use bief::schedule::realtime::{FitMethod, Graph};
use bief::schedule::{Error, Goal};
use clap::{Args, ValueEnum};

use crate::failure::Failure;
use crate::files::Files;
use crate::progress::spinner;
use crate::rx::SignalArgs;
use crate::subject::{Subject, is_named};

/// Executions that tell how many bits a frame has.
const FEW: usize = 8;
/// Frames in the batches that are measured.
const BATCHES: [usize; 4] = [1, 2, 4, 8];
/// Units in the executions that are measured of a chain whose frames may have any length.
const UNITS: [usize; 5] = [1, 4, 16, 64, 256];

/// What is measured, and how fast it runs.
#[derive(Args)]
pub(super) struct ChainArgs {
    #[command(flatten)]
    signal: SignalArgs,

    /// Rate at which input arrives, unless the chain knows it: frames/s, or information as in 1Mb/s
    #[arg(long, value_name = "RATE", value_parser = at_rate)]
    rate: Option<Goal>,

    /// Which measured time counts as the cost of a job, of a chain [default: p99]
    #[arg(long, value_name = "WHICH")]
    cost: Option<Which>,
}

/// A rate as goals write it.
fn at_rate(text: &str) -> Result<Goal, Error> {
    format!("max-throughput,rate={text}").parse()
}

/// The names of [`FitMethod`].
#[derive(Clone, Copy, ValueEnum)]
enum Which {
    /// The usual time
    Usual,
    /// The time that 99 of 100 jobs keep
    P99,
    /// The time that no job exceeded
    Worst,
}

/// A measured chain.
pub(super) struct Measured {
    pub(super) title: String,
    pub(super) graph: Graph,
    pub(super) hand_over_ns: f64,
}

impl ChainArgs {
    /// The chain that is to be measured, if it is no graph; notes the files that it reads and writes.
    pub(super) fn subject(&self, graph: &Path, files: &mut Files) -> Result<Option<Subject>, Failure> {
        if is_named(graph) || graph.extension().is_some_and(|extension| extension == "toml") {
            return Subject::of(graph, &self.signal, files).map(Some);
        }
        if self.signal.is_given() || self.rate.is_some() || self.cost.is_some() {
            return Err(Failure::usage(format!(
                "{}: a graph says itself how fast it runs and what it costs: INPUT, --rate, --cost and the options of a signal go \
                 with `bief realtime rx`",
                graph.display()
            )));
        }
        files.read(graph)?;
        Ok(None)
    }

    /// Measures a chain, as a graph on one core unless the options say otherwise.
    pub(super) fn measure(&self, subject: &Subject, files: &mut Files) -> Result<Measured, Failure> {
        let name = &subject.name;
        let bar = spinner("measuring".to_owned());
        let application = subject.application(&self.signal, files, &bar)?;
        let failure = |error| subject.failure(error);
        let (period_ns, units) = match (application.unit_period(), self.rate) {
            (Some(_), Some(_)) => {
                return Err(Failure::usage(format!("{name}: it knows the rate of its input: leave out --rate")));
            }
            (Some(period), None) => (period.as_secs_f64() * 1e9, &UNITS[..]),
            (None, None) => {
                return Err(Failure::usage(format!(
                    "{name}: at which rate? Give --rate, such as 1Mb/s or 100frames/s"
                )));
            }
            (None, Some(rate)) => {
                let profile =
                    application.rehearsal(u64::MAX).and_then(|program| program.profile(FEW)).map_err(failure)?;
                let period = rate.longest_period(&profile).map_err(Failure::from_error)?.expect("a rate is demanded");
                (period.ns(), &BATCHES[..])
            }
        };
        bar.set_message("measuring each task in batches of several sizes");
        let costs = application.costs_on(&Machine::here(), units, Profiling::default()).map_err(failure)?;
        // Bounds are for equal cores.
        let costs = costs.into_iter().next().expect("a machine has a kind of cores");
        bar.finish_and_clear();
        let method = match self.cost.unwrap_or(Which::P99) {
            Which::Usual => FitMethod::Typical,
            Which::P99 => FitMethod::Quantile(0.99),
            Which::Worst => FitMethod::Worst,
        };
        let graph = costs.graph(Duration::from_nanos(period_ns.floor() as u64), 1, method).map_err(failure)?;
        Ok(Measured { title: format!("{name}, on {}", costs.machine), graph, hand_over_ns: costs.hand_over_ns })
    }
}

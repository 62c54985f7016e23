//! The receivers as processing graphs: their tasks measured on this machine.

use std::path::Path;
use std::time::Duration;

use bief::plan::{BatchCosts, Profiling};
use bief::schedule::realtime::{FitMethod, Graph};
use bief::schedule::{Error, Goal};
use bief::{Application, Machine};
use bief_radio::SampleFormat;
use clap::{Args, ValueEnum};

use crate::failure::Failure;
use crate::files::Files;
use crate::nbfm::{self, Live};
use crate::progress::spinner;
use crate::rx::SignalArgs;

/// Executions that tell how many bits a frame has.
const FEW: usize = 8;
/// Frames in the batches that the DVB-S2 receiver is measured with.
const BATCHES: [usize; 4] = [1, 2, 4, 8];
/// Samples of audio in the blocks that the FM receiver is measured with.
const BLOCKS: [usize; 5] = [1, 4, 16, 64, 256];

/// What is measured, and how fast it runs.
#[derive(Args)]
pub(super) struct ChainArgs {
    #[command(flatten)]
    signal: SignalArgs,

    /// Rate at which rx receives: frames/s, or information as in 1Mb/s
    #[arg(long, value_name = "RATE", value_parser = at_rate)]
    rate: Option<Goal>,

    /// Which measured time counts as the cost of a job, for rx and nbfm [default: p99]
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

/// A receiver that has a name here.
#[derive(Clone, Copy)]
pub(super) enum Chain {
    DvbS2,
    NarrowbandFm,
}

/// The receiver of that name.
pub(super) fn named(graph: &Path) -> Option<Chain> {
    match graph.to_str() {
        Some("rx") => Some(Chain::DvbS2),
        Some("nbfm") => Some(Chain::NarrowbandFm),
        _ => None,
    }
}

/// A measured chain.
pub(super) struct Measured {
    pub(super) title: String,
    pub(super) graph: Graph,
    pub(super) hand_over_ns: f64,
}

impl ChainArgs {
    /// Notes the files that are read.
    pub(super) fn claim(&self, files: &mut Files) -> Result<(), Failure> {
        self.signal.claim(files)
    }

    /// Refuses what goes with measured chains only.
    pub(super) fn refuse(&self, graph: &Path) -> Result<(), Failure> {
        if self.signal.is_given() || self.rate.is_some() || self.cost.is_some() {
            return Err(Failure::new(format!(
                "{}: a graph says itself how fast it runs and what it costs: INPUT, --rate, --cost and the options of a signal go \
                 with `bief realtime rx`",
                graph.display()
            )));
        }
        Ok(())
    }

    /// Measures a chain, as a graph on one core unless the options say otherwise.
    pub(super) fn measure(&self, chain: Chain, files: &mut Files) -> Result<Measured, Failure> {
        let bar = spinner("measuring".to_owned());
        let (costs, period, title) = match chain {
            Chain::DvbS2 => {
                let Some(rate) = self.rate else {
                    return Err(Failure::new("rx: at which rate? Give --rate, such as 1Mb/s or 100frames/s"));
                };
                let receiver = self.signal.find(self.signal.open(files)?, &bar)?;
                bar.set_message("measuring each task in batches of 1 to 8");
                let rehearsal = || receiver.rehearsal(u64::MAX).map_err(Failure::from_error);
                let profile = rehearsal()?.profile(FEW).map_err(Failure::from_error)?;
                let period = rate.longest_period(&profile).map_err(Failure::from_error)?.expect("a rate is demanded");
                let costs = rehearsal()?.costs_on(&Machine::here(), &BATCHES, Profiling::default());
                (first(costs.map_err(Failure::from_error)?), period.ns(), "DVB-S2 receiver, frame by frame")
            }
            Chain::NarrowbandFm => {
                if self.signal.is_given() || self.rate.is_some() {
                    let reason = "nbfm: it runs at 576 kS/s: INPUT, --rate and the options of a signal go with rx";
                    return Err(Failure::new(reason));
                }
                let receiver = nbfm::built_in_receiver();
                let step = receiver.decimation().map_err(Failure::from_error)?;
                let costs = nbfm::costs(&receiver, SampleFormat::Ci8, Live::Paced, &BLOCKS)?;
                (costs, step as f64 * 1e9 / receiver.sample_rate, "narrowband FM receiver, by samples of audio")
            }
        };
        bar.finish_and_clear();
        let method = match self.cost.unwrap_or(Which::P99) {
            Which::Usual => FitMethod::Typical,
            Which::P99 => FitMethod::Quantile(0.99),
            Which::Worst => FitMethod::Worst,
        };
        let period = Duration::from_nanos(period.floor() as u64);
        let graph = costs.graph(period, 1, method).map_err(Failure::from_error)?;
        Ok(Measured { title: format!("{title}, on {}", costs.machine), graph, hand_over_ns: costs.hand_over_ns })
    }
}

/// On the first kind of core: bounds are for equal ones.
fn first(costs: Vec<BatchCosts>) -> BatchCosts {
    costs.into_iter().next().expect("a machine has a kind of cores")
}

//! What is asked of a graph.

use std::path::PathBuf;

use bief_schedule::Period;
use bief_schedule::realtime::{Analysis, Budget, MergeRule, Method, Optimiser};
use clap::{Args, ValueEnum};

use crate::failure::Failure;
use crate::files::{Files, is_dash};
use crate::json::JsonArgs;
use crate::units::parse_time;

/// Everything but the graph.
#[derive(Args)]
pub(crate) struct RealtimeOptions {
    /// Cores that the nodes share [default: those of the graph]
    #[arg(long, value_name = "M", value_parser = clap::value_parser!(u32).range(1..=65_536))]
    pub(super) cores: Option<u32>,

    /// The longest allowed latency, such as 5ms: find the plan of least utilisation that meets it
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    pub(super) latency: Option<Period>,

    /// Keep every node a separate task
    #[arg(long)]
    no_merge: bool,

    /// Share of the smaller of two start costs that remains when two nodes are merged, 0 to 1 [default: 0.15; 1 for a
    /// measured chain, where merging saves the hand-over]
    #[arg(long, value_name = "SHARE", conflicts_with = "no_merge")]
    init_share: Option<f64>,

    /// Share of the cores' time that the tasks may use: 1 in theory, 0.95 on Linux, 0.9 from 6.12 on
    #[arg(long, value_name = "SHARE", default_value_t = 1.0)]
    cap: f64,

    /// Job cost in the bounds: cost, a multiple of it such as 1.2, or largest (up to 2 while all fit)
    #[arg(long, value_name = "BUDGET", default_value = "cost", value_parser = budget)]
    pub(super) budget: Budget,

    /// How to bound the lateness of jobs
    #[arg(long, value_name = "NAME", default_value = "automatic")]
    method: MethodName,

    /// Release jitter of sources, such as 50us
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    jitter: Option<Period>,

    /// Added cost of each job, for being woken up and waking others, such as 5us [default: measured for a chain, else
    /// 0]
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    handover: Option<Period>,

    /// Longest delay of a job by the system, such as 300us: the latency limit then includes it
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    pub(super) allowance: Option<Period>,

    /// Simulate N jobs of the fastest source, and compare them with the bounds
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=10_000_000))]
    pub(super) simulate: Option<u64>,

    #[command(flatten)]
    pub(super) json: JsonArgs,

    /// Draw the tasks and edges as SVG into FILE; - writes to standard output instead of the table
    #[arg(long, value_name = "FILE")]
    pub(super) svg: Option<PathBuf>,

    /// Draw utilisation over latency as SVG into FILE, with and without merging; - as for --svg
    #[arg(long, value_name = "FILE")]
    pub(super) curve: Option<PathBuf>,
}

/// The names of [`Method`].
#[derive(Clone, Copy, ValueEnum)]
enum MethodName {
    /// No lateness if the utilisation test allows it, else refined-vector
    Automatic,
    /// Devi and Anderson 2005
    DeviAnderson,
    /// Compliant vectors: Erickson, Devi and Baruah 2010
    Vector,
    /// Refined compliant vectors: Erickson, Anderson and Ward 2014
    RefinedVector,
    /// Priority points before the deadlines (G-FL), for unequal costs
    FairLateness,
}

impl RealtimeOptions {
    /// Notes the files that are written, each of which must be free, and at most one of which is standard output.
    pub(crate) fn claim(&self, files: &mut Files) -> Result<(), Failure> {
        let pictures = [("--svg", &self.svg), ("--curve", &self.curve)];
        let shown = pictures.iter().filter(|(_, path)| path.as_deref().is_some_and(is_dash)).map(|(name, _)| *name);
        let shown: Vec<&str> = self.json.on_stdout().then_some("--json").into_iter().chain(shown).collect();
        if let [one, other, ..] = shown[..] {
            let reason = format!("{one} and {other} cannot both go to standard output: give one of them a file");
            return Err(Failure::usage(reason));
        }
        self.json.claim(files)?;
        for (name, path) in pictures {
            if let Some(path) = path {
                files.write(path, name)?;
            }
        }
        Ok(())
    }

    /// Whether standard output is taken, so that no table may go there.
    pub(super) fn on_stdout(&self) -> bool {
        let pictures = [&self.svg, &self.curve];
        self.json.on_stdout() || pictures.iter().any(|path| path.as_deref().is_some_and(is_dash))
    }

    /// Sets what was measured, where nothing else is asked for: the cost of a hand-over, and that nothing else is saved by merging.
    pub(super) fn with_measured(mut self, handover_ns: f64) -> Self {
        self.handover = self.handover.or_else(|| Period::from_ns(handover_ns.ceil()));
        self.init_share = self.init_share.or(Some(1.0));
        self
    }

    pub(super) fn analysis(&self) -> Analysis {
        let ns = |time: Option<Period>| time.map_or(0.0, Period::ns);
        Analysis {
            method: match self.method {
                MethodName::Automatic => Method::Automatic,
                MethodName::DeviAnderson => Method::DeviAnderson,
                MethodName::Vector => Method::CompliantVector,
                MethodName::RefinedVector => Method::RefinedCompliantVector,
                MethodName::FairLateness => Method::FairLateness,
            },
            cap: self.cap,
            budget: self.budget,
            handover_ns: ns(self.handover),
            jitter_ns: ns(self.jitter),
            platform_ns: ns(self.allowance),
        }
    }

    /// Refuses what makes no sense for any graph, before one is measured.
    pub(super) fn check(&self) -> Result<(), Failure> {
        self.optimiser().check().map_err(Failure::from_error)
    }

    pub(super) fn optimiser(&self) -> Optimiser {
        let usual = MergeRule::default();
        let rule = MergeRule { init_share: self.init_share.unwrap_or(usual.init_share), ..usual };
        Optimiser { analysis: self.analysis(), merging: (!self.no_merge).then_some(rule), ..Optimiser::default() }
    }
}

fn budget(text: &str) -> Result<Budget, String> {
    match text {
        "cost" => Ok(Budget::Cost),
        "largest" => Ok(Budget::Largest),
        factor => factor
            .parse()
            .ok()
            .filter(|factor: &f64| factor.is_finite() && *factor >= 1.0)
            .map(Budget::Factor)
            .ok_or_else(|| "write cost, largest, or a factor of at least 1 as 1.2".to_owned()),
    }
}

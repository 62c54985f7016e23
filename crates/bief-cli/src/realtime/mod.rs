//! `bief realtime`: how late a processing graph may be on cores that its nodes share, and which batches and merged nodes
//! need the least of them for the latency that is allowed.

mod chain;
mod curve;
mod document;
mod options;
mod report;
mod study;

use std::path::PathBuf;

use bief_schedule::realtime::{Graph, Plan};

use self::chain::ChainArgs;
pub(crate) use self::options::RealtimeOptions;
use self::study::Study;
use crate::draw::{self, graph as picture};
use crate::failure::Failure;
use crate::files::Files;
use crate::json::print;

const EXAMPLES: &str = "\
Examples:
  bief realtime data/graphs/nbfm.json --latency 20ms
      batches and merges with the least utilisation for a narrowband FM
      receiver, and their bounds
  bief realtime graph.json
      the bounds of the graph as it is, and all possible plans
  bief realtime graph.json --cores 2 --latency 5ms --cap 0.9 --budget largest
      a plan that Linux admits as SCHED_DEADLINE, with a margin
  bief realtime graph.json --svg graph.svg --curve curve.svg
      the graph as a picture, and utilisation over latency
  bief realtime graph.json --method devi-anderson --simulate 10000
      bounds by another theory, compared with 10000 simulated source jobs
  bief realtime rx --rate 1Mb/s --latency 20ms --cores 2
      the DVB-S2 receiver on the built-in recording, its tasks measured here
  bief realtime nbfm --latency 20ms
      the narrowband FM receiver of `bief nbfm` at 576 kS/s, measured here
  bief realtime chain.toml --rate 200frames/s --latency 20ms
      a chain file, measured here
  cat graph.json | bief realtime - --latency 5ms --json > plan.json";

const GRAPH: &str = r#"Graph:
  {"format": 1, "cores": 2,
   "nodes": [
     {"name": "source", "rate_hz": 1e6, "init_ns": 200, "per_sample_ns": 10},
     {"name": "filter", "init_ns": 300, "per_sample_ns": 50}],
   "edges": [
     {"from": "source", "to": "filter",
      "produce": 1, "threshold": 7, "consume": 4, "delay": 0}]}
  A job of a node takes init_ns + per_sample_ns x samples, at worst. It fires
  when all edges that lead to it hold `threshold` tokens, takes `consume` and
  brings `produce` to each edge that leaves it. rate_hz is for sources only;
  threshold (as consume) and delay (0) may be left out; a node may have
  "own_cores": N, cores that no other uses, and "alone": true, so that it is not
  merged. See data/graphs/nbfm.json.

Model:
  Sporadic tasks under preemptive global EDF on equal cores, as Linux's
  SCHED_DEADLINE approximates it. Latencies count from the time at which the
  oldest sample of a job arrives. The bounds hold where buffers are as large as
  shown. Source: He and Ward, Real-Time Scheduling and Batching in GNU Radio for
  Bounded Response Times."#;

/// Show latency bounds of a processing graph, and the batches and merges that meet a latency
#[derive(clap::Args)]
#[command(after_help = EXAMPLES, after_long_help = format!("{GRAPH}\n\n{EXAMPLES}"))]
pub(crate) struct RealtimeArgs {
    /// The processing graph: a JSON file, - for standard input, or a chain to measure: rx, nbfm or a TOML file
    #[arg(value_name = "GRAPH.json|CHAIN")]
    graph: PathBuf,

    #[command(flatten)]
    chain: ChainArgs,

    #[command(flatten)]
    options: RealtimeOptions,
}

/// Reads a graph and shows its bounds, or the plan within a latency.
pub(crate) fn run(args: RealtimeArgs) -> Result<(), Failure> {
    let mut files = Files::default();
    let subject = args.chain.subject(&args.graph, &mut files)?;
    args.options.claim(&mut files)?;
    args.options.check()?;
    if let Some(subject) = subject {
        let measured = args.chain.measure(&subject, &mut files)?;
        let options = args.options.with_measured(measured.hand_over_ns);
        return examine(measured.graph, &measured.title, &options).map(|_| ());
    }
    let graph = crate::document::read(&args.graph, Graph::from_json)?;
    let title = match args.graph.file_name() {
        Some(name) if !crate::files::is_dash(&args.graph) => name.to_string_lossy().into_owned(),
        _ => "standard input".to_owned(),
    };
    examine(graph, &title, &args.options).map(|_| ())
}

/// The options of the command alone.
#[derive(clap::Parser)]
#[command(no_binary_name = true, disable_help_flag = true)]
struct Options {
    #[command(flatten)]
    options: RealtimeOptions,
}

/// What the command tells of a graph, which messages call `title`, by its options but for those that write: the document of
/// `--json`, the table, and the picture (SVG).
///
/// # Errors
/// Options that there are not, or that make no sense; a graph that does not fit on its cores.
pub fn studied(graph: Graph, title: &str, options: &[String]) -> Result<(String, String, String), Failure> {
    let parsed = <Options as clap::Parser>::try_parse_from(options).map_err(|error| {
        let text = error.to_string();
        let reason = text.lines().next().unwrap_or_default();
        Failure::usage(reason.strip_prefix("error: ").unwrap_or(reason))
    })?;
    parsed.options.check()?;
    let study = Study::of(graph, title, &parsed.options)?;
    let picture = picture::svg(&report::heading(&study), &report::summary(&study), &report::parts(&study));
    Ok((format!("{:#}", document::json(&study)), report::text(&study), picture))
}

/// Shows the bounds of a graph, which messages call `title`; with a latency the plan within it, which is answered.
pub(crate) fn examine(graph: Graph, title: &str, options: &RealtimeOptions) -> Result<Option<Plan>, Failure> {
    let study = Study::of(graph, title, options)?;
    options.json.write(|| format!("{:#}", document::json(&study)))?;
    if let Some(path) = &options.svg {
        draw::write(path, &picture::svg(&report::heading(&study), &report::summary(&study), &report::parts(&study)))?;
    }
    if let Some(path) = &options.curve {
        draw::write(path, curve::figure(&study)?.svg()?.trim_end())?;
    }
    if !options.on_stdout() {
        print(&report::text(&study))?;
    }
    Ok(study.chosen)
}

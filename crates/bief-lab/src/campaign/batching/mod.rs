//! What batches and merged nodes bring in random processing graphs: the evaluation of T. He and B. C. Ward, *Real-Time
//! Scheduling and Batching in GNU Radio for Bounded Response Times*, section 7, and what a block costs, section 4.

mod claims;
mod evaluate;
mod means;
mod measured;
mod picture;
mod receiver;
mod table;

use std::fmt::Write;

use bief_cli::failure::Failure;
use bief_cli::progress::progress;
use clap::Args;
use serde_json::{Value, json};

use self::evaluate::{BATCHINGS, LIMITS_US, MERGINGS, SIZES, evaluate};
use self::means::Means;
use self::measured::Measured;
use self::receiver::Receiver;
use super::chains::{ThreadArgs, in_parallel};
use super::claim::Claim;
use super::{Findings, TargetArgs};

const EXAMPLES: &str = "\
Examples:
  bief lab campaign batching
  bief lab campaign batching --graphs 100 --seed 2 -o quick
  bief lab campaign batching --json > batching.json
  bief lab campaign batching --seconds 0     no measurements: about 3 s

The paper does not say how it draws its graphs. Ours: 8 cores, a source at
1 MHz; light 5 to 10 nodes, I 0.1 to 0.4 us, D 12.5 to 50 ns; heavy 15 to 30
nodes, I 0.2 to 0.8 us, D 25 to 100 ns; each node is fed by one of the four
before it, with a probability of 0.2 by a second one of the same rate, and
decimates with 0.3, by 2, 4 or 8, by 256 at most in all. A merged node starts in
the start time of the slower one plus 0.15 of the other's. The narrowband FM
receiver is data/graphs/nbfm.json. Costs of blocks, apart and merged, are
measured on this machine: on frequency shifts, like a short
`bief lab bench batches`.

Files: batching.csv, merging.csv, limits.csv, batching.svg, limits.svg; with
measured costs also blocks.csv and blocks.svg";

/// Arguments of `bief lab campaign batching`.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct BatchingArgs {
    /// Graphs of each kind; the paper took 1000
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    graphs: u32,
    /// Seed of the random graphs; the same on every machine
    #[arg(long, value_name = "S", default_value_t = 1)]
    seed: u64,
    /// Duration of each of the 90 readings of block costs; 0 for none
    #[arg(long, value_name = "S", default_value_t = 0.2, value_parser = seconds)]
    seconds: f64,
    #[command(flatten)]
    threads: ThreadArgs,
    #[command(flatten)]
    pub(super) target: TargetArgs,
}

fn seconds(text: &str) -> Result<f64, String> {
    let seconds = text.parse().ok().filter(|seconds| *seconds == 0.0 || (0.01..=60.0).contains(seconds));
    seconds.ok_or_else(|| "give 0.01 to 60 seconds, or 0 for none".to_owned())
}

/// The kinds of random graphs.
const KINDS: [&str; 2] = ["light", "heavy"];

/// Everything that was found.
struct Results {
    graphs: u32,
    /// In the order of [`KINDS`].
    means: [Means; 2],
    receiver: Receiver,
    /// What blocks cost on this machine, if that is asked for.
    measured: Option<Measured>,
    claims: Vec<Claim>,
}

pub(super) fn find(args: &BatchingArgs) -> Result<Findings, Failure> {
    let graphs = u64::from(args.graphs);
    let bar = progress(Some(graphs * KINDS.len() as u64));
    let found: Result<Vec<Means>, Failure> = (0..KINDS.len())
        .map(|kind| {
            bar.set_message(format!("{} graphs", KINDS[kind]));
            let outcomes = in_parallel(0..graphs, args.threads.count(), |number| {
                let outcome = evaluate(kind, args.seed, number);
                bar.inc(1);
                outcome
            });
            Ok(Means::of(&outcomes.map_err(Failure::from_error)?))
        })
        .collect();
    bar.finish_and_clear();
    let means: [Means; 2] = found?.try_into().unwrap_or_else(|_| unreachable!("one for each kind"));
    let receiver = Receiver::evaluate().map_err(Failure::from_error)?;
    let measured = (args.seconds > 0.0).then(|| Measured::measure(args.seconds)).transpose()?;
    let mut claims = claims::judge(&means, &receiver);
    claims.extend(measured.iter().flat_map(Measured::claims));
    let results = Results { graphs: args.graphs, means, receiver, measured, claims };
    let mut files = vec![
        ("batching.csv", sweep_csv(&results)),
        ("merging.csv", merging_csv(&results)),
        ("limits.csv", limits_csv(&results)),
        ("batching.svg", picture::sweep(&results).svg()?),
        ("limits.svg", picture::limits(&results).svg()?),
    ];
    if let Some(measured) = &results.measured {
        files.extend([("blocks.csv", measured.csv()), ("blocks.svg", measured.figure().svg()?)]);
    }
    Ok(Findings { table: table::text(&results), json: to_json(&results, args.seed), files })
}

fn cell(value: Option<f64>) -> String {
    value.map_or_else(String::new, |value| format!("{value:.4}"))
}

fn sweep_csv(results: &Results) -> String {
    let mut text = "graphs,batching,batch,count,fitting,utilisation,latency_us\n".to_owned();
    for (kind, means) in KINDS.iter().zip(&results.means) {
        for (batching, points) in BATCHINGS.iter().zip(&means.swept) {
            for (size, point) in SIZES.iter().zip(points) {
                let (latency, count) = (cell(point.latency_us), results.graphs);
                writeln!(text, "{kind},{batching},{size},{count},{},{:.6},{latency}", point.fitting, point.utilisation)
                    .expect("memory takes all text");
            }
        }
    }
    for (batching, points) in BATCHINGS.iter().zip(&results.receiver.swept) {
        for (size, point) in receiver::SIZES.iter().zip(points) {
            let (latency, fits) = (cell(point.latency_us), u32::from(point.latency_us.is_some()));
            writeln!(text, "nbfm,{batching},{size},1,{fits},{:.6},{latency}", point.utilisation)
                .expect("memory takes all text");
        }
    }
    text
}

fn merging_csv(results: &Results) -> String {
    let mut text = "graphs,merging,batch,fitting,utilisation,latency_us,tasks,slower\n".to_owned();
    for (kind, means) in KINDS.iter().zip(&results.means) {
        for ((merging, _), merged) in MERGINGS.iter().zip(&means.merged) {
            writeln!(
                text,
                "{kind},{merging},{},{},{},{},{},{}",
                evaluate::MERGED_AT,
                means.mergeable,
                cell(merged.utilisation),
                cell(merged.latency_us),
                cell(merged.tasks),
                merged.slower
            )
            .expect("memory takes all text");
        }
    }
    text
}

fn limits_csv(results: &Results) -> String {
    let mut text = "graphs,merging,limit_us,count,within,utilisation\n".to_owned();
    for (kind, means) in KINDS.iter().zip(&results.means) {
        for (merging, points) in ["none", "both"].iter().zip(&means.within) {
            for (limit, point) in LIMITS_US.iter().zip(points) {
                let (count, needs) = (results.graphs, cell(point.utilisation));
                writeln!(text, "{kind},{merging},{limit},{count},{},{needs}", point.count)
                    .expect("memory takes all text");
            }
        }
    }
    text
}

fn to_json(results: &Results, seed: u64) -> Value {
    let kinds = KINDS.iter().zip(&results.means).map(|(kind, means)| {
        let sweeps = BATCHINGS.iter().zip(&means.swept).map(|(batching, points)| {
            let points = SIZES.iter().zip(points).map(|(size, point)| {
                json!({
                    "batch": size, "utilisation": point.utilisation, "latency_us": point.latency_us,
                    "fitting": point.fitting,
                })
            });
            json!({"batching": batching, "points": points.collect::<Vec<_>>()})
        });
        let merged = MERGINGS.iter().zip(&means.merged).map(|((merging, _), merged)| {
            json!({
                "merging": merging, "utilisation": merged.utilisation, "latency_us": merged.latency_us,
                "tasks": merged.tasks, "slower": merged.slower,
            })
        });
        let within = ["none", "both"].iter().zip(&means.within).flat_map(|(merging, points)| {
            LIMITS_US.iter().zip(points).map(move |(limit, point)| {
                json!({"merging": merging, "limit_us": limit, "within": point.count, "utilisation": point.utilisation})
            })
        });
        json!({
            "graphs": kind, "batching": sweeps.collect::<Vec<_>>(), "merging": merged.collect::<Vec<_>>(),
            "limits": within.collect::<Vec<_>>(),
        })
    });
    let receiver = BATCHINGS.iter().zip(&results.receiver.swept).map(|(batching, points)| {
        let points = receiver::SIZES.iter().zip(points).map(
            |(size, point)| json!({"batch": size, "utilisation": point.utilisation, "latency_us": point.latency_us}),
        );
        json!({"batching": batching, "points": points.collect::<Vec<_>>()})
    });
    json!({
        "experiment": "batching", "graphs": results.graphs, "seed": seed, "kinds": kinds.collect::<Vec<_>>(),
        "nbfm": receiver.collect::<Vec<_>>(), "measured": results.measured.as_ref().map(Measured::to_json),
        "claims": results.claims,
    })
}

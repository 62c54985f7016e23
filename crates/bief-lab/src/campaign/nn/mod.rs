//! Neural networks as task chains: what plans promise on big and little cores, and what runs keep of it.

mod measured;
mod planned;
mod published;

use std::path::PathBuf;

use bief::plan::Profiling;
use bief::{Application, Machine};
use bief_cli::failure::Failure;
use bief_cli::progress::spinner;
use bief_cli::text::{COLUMNS, wrapped};
use bief_nn::{Engine, EngineKind, Inference, NeuralNetwork, modulation};
use clap::Args;
use serde_json::{Value, json};

use self::measured::Measured;
use self::planned::Planned;
use super::{Findings, TargetArgs};

pub(super) const EXAMPLES: &str = "\
Examples:
  bief lab campaign nn                   the network that is built in
  bief lab campaign nn mobilenet.onnx resnet.onnx --rounds 15
  bief lab campaign nn net.onnx --slower 3 --library libonnxruntime.so

Plans are for big cores as these and little ones that are slower by --slower, with
the measured price of cuts; rates are shown beside that of all cores always busy.
Runs take the cores that are here, by turns. Last come published layer times of a
network on three clusters of a phone, planned.
Files: nn.csv (each plan, and each reading of each round)";

/// Arguments of `bief lab campaign nn`.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct NnArgs {
    /// Networks, ONNX files [default: the one that is built in]
    #[arg(value_name = "MODEL.onnx")]
    models: Vec<PathBuf>,
    /// How much slower little cores are
    #[arg(long, value_name = "TIMES", default_value_t = 2.5)]
    slower: f64,
    /// How often each run is measured
    #[arg(long, value_name = "N", default_value_t = 7, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    /// How long each run takes, about
    #[arg(long, value_name = "SECONDS", default_value_t = 0.5)]
    seconds: f64,
    /// ONNX Runtime's library, in the stead of ORT_DYLIB_PATH or the one that the system finds
    #[arg(long, value_name = "FILE")]
    library: Option<PathBuf>,
    #[command(flatten)]
    pub(super) target: TargetArgs,
}

/// What was found of a network.
struct Found {
    name: String,
    segments: usize,
    /// Of the whole, on a core as these, in nanoseconds.
    whole_ns: f64,
    plans: Vec<Planned>,
    runs: Vec<Measured>,
}

pub(super) fn find(args: &NnArgs) -> Result<Findings, Failure> {
    if !(1.0..=100.0).contains(&args.slower) || !(0.01..=60.0).contains(&args.seconds) {
        return Err(Failure::new("--slower is 1 to 100, and --seconds 0.01 to 60"));
    }
    let networks = match &args.models[..] {
        [] => vec![modulation::network().map_err(Failure::from_error)?],
        models => {
            let open = |path: &PathBuf| NeuralNetwork::open(path).map_err(Failure::from_error);
            models.iter().map(open).collect::<Result<_, _>>()?
        }
    };
    let engine = Engine::open(EngineKind::OnnxRuntime, args.library.as_deref()).map_err(Failure::from_error)?;
    let bar = spinner("networks".to_owned());
    let mut all = Vec::new();
    for network in networks {
        bar.set_message(format!("{}: measuring segments", network.name()));
        let inference = Inference::new(network.clone(), engine.clone());
        let profile = inference.profile_on(&Machine::here(), Profiling::default()).map_err(Failure::from_error)?;
        let plans = planned::all(&profile, args.slower)?;
        bar.set_message(format!("{}: running", network.name()));
        let runs = measured::all(&network, &engine, args.slower, (args.rounds, args.seconds))?;
        let weights = profile.tasks()[1..=network.segments().len()].iter();
        all.push(Found {
            name: network.name().to_owned(),
            segments: network.segments().len(),
            whole_ns: weights.map(|task| task.ns[0].unwrap_or(0) as f64).sum(),
            plans,
            runs,
        });
    }
    bar.finish_and_clear();
    let phone = published::planned()?;
    Ok(Findings {
        table: table(&all, &phone, args),
        json: to_json(&all, &phone, args),
        files: vec![("nn.csv", csv(&all))],
    })
}

fn table(all: &[Found], phone: &[published::Line], args: &NnArgs) -> String {
    let mut lines = Vec::new();
    for found in all {
        let whole = found.whole_ns / 1e6;
        lines.extend(wrapped(
            &format!(
                "{}: {} segments, {whole:.3} ms on one core. Planned frames/s on big+little cores, little ones {} times slower, and \
                 the part of all cores always busy",
                found.name, found.segments, args.slower
            ),
            COLUMNS,
        ));
        lines.push(String::new());
        lines.push(planned::heading());
        lines.extend(planned::rows(&found.plans));
        lines.push(String::new());
        lines.extend(wrapped(
            "Measured frames/s on the cores that are here, some of them emulated as little ones; processor time of a frame; frames/s that the \
             plan tells, made anew in each round while all cores were busy; and the run beside the plan of its round, in %",
            COLUMNS,
        ));
        lines.push(String::new());
        lines.push(measured::heading());
        lines.extend(found.runs.iter().map(Measured::row));
        lines.push(String::new());
    }
    lines.extend(wrapped(
        "Dense CIFAR network on a Pixel 7a, nine layers (BetterTogether's layer times, all clusters busy): milliseconds per frame, planned",
        COLUMNS,
    ));
    lines.push(String::new());
    lines.extend(phone.iter().map(published::Line::row));
    lines.join("\n")
}

fn to_json(all: &[Found], phone: &[published::Line], args: &NnArgs) -> Value {
    let network = |found: &Found| {
        json!({
            "network": found.name, "segments": found.segments, "whole_ns": found.whole_ns, "plans": found.plans,
            "runs": found.runs,
        })
    };
    json!({ "slower": args.slower, "networks": all.iter().map(network).collect::<Vec<_>>(), "phone": phone })
}

fn csv(all: &[Found]) -> String {
    let mut text = "network,what,cores,frames_per_second,cpu_us,planned_frames_per_second\n".to_owned();
    for found in all {
        let network = quoted(&found.name);
        for plan in &found.plans {
            for (name, rate) in &plan.rates {
                text += &format!(
                    "{network},{},{}+{},{rate:.3},,\n",
                    quoted(&format!("planned {name}")),
                    plan.big,
                    plan.little
                );
            }
        }
        for run in &found.runs {
            for (round, (rate, cpu)) in run.rates.iter().zip(&run.cpu_us).enumerate() {
                let what = quoted(&format!("measured {}", run.name));
                let planned = run.planned.get(round).map(|rate| format!("{rate:.3}")).unwrap_or_default();
                text += &format!("{network},{what},{},{rate:.3},{cpu:.3},{planned}\n", run.cores);
            }
        }
    }
    text
}

/// A field of CSV that may have commas.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('"', "\"\""))
}

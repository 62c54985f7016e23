//! `bief nn --segments`: where a network may be cut.

use bief::Application;
use bief::raw::Shape;
use bief::schedule::{Profile, TaskProfile};
use bief_nn::{Engine, Inference, NeuralNetwork, Segment};
use serde_json::{Value, json};

use crate::failure::{Failure, warn};
use crate::files::Files;
use crate::json::JsonArgs;
use crate::planning::PlanningArgs;
use crate::table::columns;
use crate::text::{COLUMNS, printable, wrapped};
use crate::units::{nanoseconds, significant};

/// Shows the segments, with their times if there is an engine.
pub(super) fn show(
    network: &NeuralNetwork,
    engine: Result<Engine, Failure>,
    planning: &PlanningArgs,
    json: &JsonArgs,
    files: &Files,
) -> Result<(), Failure> {
    let profile = match engine {
        Ok(engine) => {
            let (machine, profiling) = planning.measured()?;
            let profile = Inference::new(network.clone(), engine).profile_on(&machine, profiling);
            Some(profile.map_err(Failure::from_error)?)
        }
        Err(none) => {
            warn(&format!("no times: {}", none.message));
            None
        }
    };
    let to_machine = || {
        let own = json!({
            "network": network.name(), "input_shape": network.input().dims(), "output_shape": network.output().dims(),
            "segments": described(network), "profile": profile,
        });
        format!("{own:#}")
    };
    json.deliver(files, to_machine, || table(network, profile.as_ref()), false)
}

/// The segments, for a machine.
pub(super) fn described(network: &NeuralNetwork) -> Value {
    let segment = |segment: &Segment| {
        json!({
            "name": segment.name(), "operators": segment.operators(), "input": segment.input().dims(),
            "output": segment.output().dims(), "weight_bytes": segment.weight_bytes(),
            "multiply_adds": segment.multiply_adds(),
        })
    };
    network.segments().iter().map(segment).collect()
}

fn table(network: &NeuralNetwork, profile: Option<&Profile>) -> String {
    let kinds: &[String] = profile.map_or(&[], Profile::kinds);
    // The first task is the source.
    let task =
        |segment: usize| -> Option<&TaskProfile> { profile.and_then(|profile| profile.tasks().get(segment + 1)) };
    let cut = |segment: usize, kind: usize| {
        let behind = profile.map_or(0, |profile| profile.enter_ns(segment + 1, kind));
        let before = profile.filter(|_| segment > 0).map_or(0, |profile| profile.leave_ns(segment, kind));
        (behind + before) as f64
    };
    let mut headings = ["segment", "operators", "gives", "kB", "M mac"].map(str::to_owned).to_vec();
    for kind in kinds {
        headings.extend([printable(kind), "cut".to_owned()]);
    }
    let rows: Vec<Vec<String>> = network
        .segments()
        .iter()
        .enumerate()
        .map(|(index, segment)| {
            let mut row = vec![
                printable(segment.name()),
                printable(&segment.operators().join(" ")),
                gives(segment.output()),
                format!("{:.1}", segment.weight_bytes() as f64 / 1e3),
                significant(segment.multiply_adds() as f64 / 1e6),
            ];
            for kind in 0..kinds.len() {
                let ns = task(index).and_then(|task| task.ns[kind]);
                row.push(ns.map_or_else(String::new, |ns| nanoseconds(ns as f64)));
                row.push(if index == 0 { String::new() } else { nanoseconds(cut(index, kind)) });
            }
            row
        })
        .collect();
    let headings: Vec<&str> = headings.iter().map(String::as_str).collect();
    let title = format!(
        "{}: {} to {}, {} segments, {} M multiplications and additions",
        printable(network.name()),
        network.input(),
        network.output(),
        rows.len(),
        significant(network.segments().iter().map(Segment::multiply_adds).sum::<u64>() as f64 / 1e6)
    );
    let told = if kinds.is_empty() { "" } else { ", time on each kind of core, and the price of a cut before it" };
    let legend = format!("(what it gives, its weights, million multiplications and additions{told})");
    format!("{title}\n\n{}\n{}", columns(&headings, &rows, Some(1)).join("\n"), wrapped(&legend, COLUMNS).join("\n"))
}

/// A shape without the batch.
fn gives(shape: &Shape) -> String {
    let dims = shape.dims();
    let dims: Vec<String> = dims.strip_prefix(&[1]).unwrap_or(dims).iter().map(ToString::to_string).collect();
    dims.join("x")
}

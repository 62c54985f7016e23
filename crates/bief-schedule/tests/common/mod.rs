//! The published data, where it is at hand.

// Each test uses its part.
#![allow(dead_code)]

use std::fs;

use bief_schedule::{Period, Profile, Stage, TaskProfile};
use serde_json::Value;

const DATA: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data");

/// The document of that name; where there is none, the test that asks for it has nothing to check.
pub(crate) fn data(name: &str) -> Option<Value> {
    let path = format!("{DATA}/{name}");
    let Ok(text) = fs::read_to_string(&path) else {
        println!("skipped: {path} not found");
        return None;
    };
    Some(serde_json::from_str(&text).unwrap())
}

/// The chain of Table 3, in nanoseconds, as profiled on a machine.
pub(crate) fn dvbs2(profiles: &Value, machine: &str) -> Profile {
    let tasks = profiles["tasks"].as_array().unwrap().iter().map(|task| {
        let ns = |kind: &str| (task["latency_us"][machine][kind].as_f64().unwrap() * 1e3).round() as u64;
        TaskProfile {
            replicable: task["replicable"].as_bool().unwrap(),
            ..TaskProfile::sequential(task["name"].as_str().unwrap(), [ns("B"), ns("L")])
        }
    });
    let frames = profiles["platforms"][machine]["frames_per_execution"].as_u64().unwrap();
    Profile::new(["big", "little"], tasks)
        .unwrap()
        .with_frames_per_execution(frames.try_into().unwrap())
        .unwrap()
        .with_bits_per_frame(profiles["K_bits_per_frame"].as_u64().unwrap())
        .unwrap()
}

/// A small chain on few cores, all of whose optima are known by exhaustive search.
#[derive(Debug)]
pub(crate) struct Case {
    published: Value,
    pub(crate) profile: Profile,
    pub(crate) big: u32,
    pub(crate) little: u32,
}

/// The 300 small chains.
pub(crate) fn small_chains() -> Option<Vec<Case>> {
    let data = data("oracle_chains.json")?;
    let cases: Vec<_> = data["cases"].as_array().unwrap().iter().map(Case::new).collect();
    assert_eq!(cases.len(), 300);
    Some(cases)
}

impl Case {
    fn new(published: &Value) -> Self {
        let list = |key: &str| numbers(&published[key]).collect::<Vec<_>>();
        let tasks = list("wB").into_iter().zip(list("wL")).zip(list("rep")).map(|((big, little), replicable)| {
            TaskProfile { replicable: replicable == 1, ..TaskProfile::sequential("task", [big, little]) }
        });
        Self {
            profile: Profile::new(["big", "little"], tasks).unwrap(),
            big: number(&published["b"]),
            little: number(&published["l"]),
            published: published.clone(),
        }
    }

    /// The shortest period on all cores.
    pub(crate) fn period(&self) -> Period {
        fraction(&self.published["period"])
    }

    /// The Pareto-least numbers of cores that reach it, the fewest big ones first.
    pub(crate) fn front(&self) -> Vec<[u32; 2]> {
        let points = self.published["front"].as_array().unwrap().iter();
        points.map(|point| [number(&point[0]), number(&point[1])]).collect()
    }

    /// The shortest period on at most so many cores.
    pub(crate) fn optimum(&self, big: u32, little: u32) -> Period {
        fraction(&self.published["optimal_period_surface"][big as usize][little as usize])
    }

    /// The stages that the authors' program finds; `None` where it does not support the cores, or crashed.
    pub(crate) fn reference(&self, name: &str) -> Option<Vec<Stage>> {
        let stages = self.published["reference"][name]["stages"].as_array()?.iter().map(|stage| {
            let kind = if stage[2] == "B" { "big" } else { "little" };
            Stage::new(number(&stage[0]) as usize, number(&stage[1]), kind)
        });
        Some(stages.collect())
    }
}

fn numbers(value: &Value) -> impl Iterator<Item = u64> {
    value.as_array().unwrap().iter().map(|value| value.as_u64().unwrap())
}

pub(crate) fn number(value: &Value) -> u32 {
    value.as_u64().unwrap().try_into().unwrap()
}

fn fraction(value: &Value) -> Period {
    Period::new(value[0].as_u64().unwrap(), value[1].as_u64().unwrap()).unwrap()
}

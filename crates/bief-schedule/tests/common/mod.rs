//! The published data, where it is at hand.

// Each test uses its part.
#![allow(dead_code)]

use std::fs;

use bief_schedule::{Profile, TaskProfile};
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

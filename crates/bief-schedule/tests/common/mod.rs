//! The published data, where it is at hand.

use std::fs;

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

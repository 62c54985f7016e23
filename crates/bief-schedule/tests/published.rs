//! Published results: the DVB-S2 receiver on four machines, and the optima of 300 small chains.

use std::fs;

use bief_schedule::strategy::Otac;
use bief_schedule::{Limit, Period, Platform, Profile, Strategy, TaskProfile};
use serde_json::Value;

const DATA: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data");

fn data(name: &str) -> Option<Value> {
    let path = format!("{DATA}/{name}");
    let Ok(text) = fs::read_to_string(&path) else {
        println!("skipped: {path} not found");
        return None;
    };
    Some(serde_json::from_str(&text).unwrap())
}

fn numbers(value: &Value) -> impl Iterator<Item = u64> {
    value.as_array().unwrap().iter().map(|value| value.as_u64().unwrap())
}

#[test]
fn otac_reaches_the_optimum_of_every_small_chain_on_one_kind() {
    let Some(data) = data("oracle_chains.json") else { return };
    let cases = data["cases"].as_array().unwrap();
    assert_eq!(cases.len(), 300);
    let mut checked = 0;
    for case in cases {
        let times = numbers(&case["wB"]).zip(numbers(&case["wL"])).zip(numbers(&case["rep"]));
        let tasks = times.map(|((big, little), replicable)| TaskProfile {
            replicable: replicable == 1,
            ..TaskProfile::sequential("task", [big, little])
        });
        let profile = Profile::new(["big", "little"], tasks).unwrap();
        for (x, row) in case["optimal_period_surface"].as_array().unwrap().iter().enumerate() {
            for (y, period) in row.as_array().unwrap().iter().enumerate() {
                if (x == 0) == (y == 0) {
                    continue;
                }
                let optimum: Vec<u64> = numbers(period).collect();
                let platform = Platform::parse_cores(&format!("big={x},little={y}"), &profile).unwrap();
                let schedule = Otac.schedule(&profile, &platform).unwrap();
                schedule.check(&profile, &platform).unwrap();
                assert_eq!(
                    schedule.planned_period(),
                    Period::new(optimum[0], optimum[1]).unwrap(),
                    "({x}, {y}): {case}"
                );
                checked += 1;
            }
        }
    }
    println!("{checked} optima");
    assert!(checked > 300);
}

/// The chain of Table 3, in nanoseconds, as profiled on a machine.
fn dvbs2(profiles: &Value, machine: &str) -> Profile {
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

#[test]
fn otac_reproduces_its_rows_of_table_2() {
    let (Some(profiles), Some(table)) = (data("dvbs2_profiles.json"), data("dvbs2_schedules.json")) else { return };
    let mut rows = 0;
    for row in table["solutions"].as_array().unwrap() {
        let (kind, letter) = match row["strategy"].as_str().unwrap() {
            "OTAC_B" => ("big", "B"),
            "OTAC_L" => ("little", "L"),
            _ => continue,
        };
        let id = &row["id"];
        let profile = dvbs2(&profiles, row["platform"].as_str().unwrap());
        let cores = format!("{kind}={}", row["R"][letter]);
        let platform = Platform::parse_cores(&cores, &profile).unwrap();
        let schedule = Otac.schedule(&profile, &platform).unwrap();
        schedule.check(&profile, &platform).unwrap();

        // Table 3 gives times cut to 0.1 us, Table 2 periods computed before they were cut, then rounded.
        let from_table_3 = row["check"]["period_from_table3_us"].as_f64().unwrap();
        assert!((schedule.planned_period().ns() / 1e3 - from_table_3).abs() < 0.0051, "{id}");
        let Limit::Stage(slowest) = schedule.limit(&profile).unwrap() else { panic!("OTAC never oversubscribes") };
        let stage = &schedule.stages()[slowest];
        let cut_us = 0.1 * stage.tasks as f64 / f64::from(stage.cores);
        let over_us = row["period_us"].as_f64().unwrap() - schedule.planned_period().ns() / 1e3;
        assert!((-0.05..cut_us + 0.05).contains(&over_us), "{id}: the table's period is {over_us} us longer");
        let mbps = schedule.mbps(&profile).unwrap();
        assert!((row["sim_mbps"].as_f64().unwrap() - mbps).abs() <= 0.06, "{id}: {mbps} Mb/s");

        let used: u32 = schedule.cores().values().sum();
        assert!(u64::from(used) <= row["used"][letter].as_u64().unwrap(), "{id}: {used} cores");
        rows += 1;
    }
    assert_eq!(rows, 16);
}

//! `bief lab bench`: the shape of what one round gives. Times are for a reader to judge.

use std::collections::BTreeMap;

use bief::Machine;
use serde_json::Value;

use crate::folder::{Folder, stderr};

const GROUPS: [(&str, usize); 6] =
    [("call", 6), ("handover", 6), ("stages", 6), ("speedup", 4), ("idle", 2), ("trickle", 2)];

#[test]
#[ignore = "long: part of .ci/run"]
fn runtime_tells_every_case_in_every_form() {
    let folder = Folder::new("bench-runtime");
    let shown =
        folder.succeed(["bench", "runtime", "--rounds", "1", "--csv", "x.csv", "--svg", "x.svg", "--json", "x.json"]);
    assert!(shown.lines().all(|line| line.chars().count() <= 80), "{shown}");
    assert!(shown.contains("StreamPU 1.8.1: ") && shown.contains("Machine: "), "{shown}");
    let rows = |start: &str| shown.lines().filter(|line| line.starts_with(start)).count();
    let csv = String::from_utf8(folder.read("x.csv")).unwrap();
    assert!(csv.starts_with("case,unit,round,value,probe_ns\n"));
    let json: Value = serde_json::from_slice(&folder.read("x.json")).unwrap();
    let cases = json["cases"].as_array().unwrap();
    for (group, count) in GROUPS {
        let start = format!("{group}/");
        assert_eq!(rows(&start), count, "{shown}");
        assert_eq!(csv.lines().filter(|line| line.starts_with(&start)).count(), count, "{csv}");
        assert_eq!(cases.iter().filter(|case| case["case"].as_str().unwrap().starts_with(&start)).count(), count);
    }
    for line in csv.lines().skip(1) {
        let [_, _, round, value, _] = line.split(',').collect::<Vec<_>>()[..] else { panic!("{line}") };
        let value: f64 = value.parse().unwrap();
        assert!(round == "1" && value.is_finite() && value >= 0.0, "{line}");
    }
    let svg = String::from_utf8(folder.read("x.svg")).unwrap();
    assert!(svg.starts_with("<svg ") && svg.trim_end().ends_with("</svg>"));
    for text in ["10/in-place", "16/adaptive", "100us", "StreamPU 1.8.1"] {
        assert!(svg.lines().any(|line| line == text), "{text}: {svg}");
    }
}

#[test]
fn growth_tells_every_point() {
    let folder = Folder::new("bench-growth");
    let shown = folder.succeed(["bench", "growth", "--rounds", "1", "--svg", "x.svg", "--csv", "x.csv"]);
    assert!(shown.lines().all(|line| line.chars().count() <= 80), "{shown}");
    let csv = String::from_utf8(folder.read("x.csv")).unwrap();
    for (quantity, greatest, points) in
        [("stages", 32, 10), ("replicas", 16, 8), ("tasks", 1000, 10), ("batch", 256, 9)]
    {
        let of: Vec<&str> = csv.lines().filter(|line| line.starts_with(&format!("{quantity},"))).collect();
        assert_eq!(of.len(), points, "{csv}");
        assert!(
            of[0].starts_with(&format!("{quantity},1,"))
                && of[points - 1].starts_with(&format!("{quantity},{greatest},"))
        );
        assert!(shown.contains(&format!("\n{quantity:>10} ")), "{shown}");
    }
    let svg = String::from_utf8(folder.read("x.svg")).unwrap();
    assert_eq!(svg.lines().filter(|line| line.starts_with("against ")).count(), 4);
}

#[test]
fn only_some_cases_are_measured_as_often_as_asked() {
    let folder = Folder::new("bench-only");
    let csv = folder.succeed(["bench", "runtime", "--only", "call/10/", "--rounds", "3", "--csv", "-"]);
    let names: Vec<&str> = csv.lines().skip(1).map(|line| line.split(',').next().unwrap()).collect();
    assert_eq!(names, ["call/10/apart", "call/10/in-place", "call/10/joined"].map(|name| [name; 3]).concat());
    let json: Value =
        serde_json::from_str(&folder.succeed(["bench", "growth", "--only", "tasks/5", "--json"])).unwrap();
    let numbers: Vec<f64> =
        json["points"].as_array().unwrap().iter().map(|point| point["number"].as_f64().unwrap()).collect();
    assert_eq!(numbers, [5.0, 50.0, 500.0]);
}

#[test]
fn what_cannot_be_done_is_refused_before_anything_is_measured() {
    let folder = Folder::new("bench-refused");
    // With so many rounds, whatever is not refused takes hours.
    let run = |arguments: &[&str]| folder.fail(["bench", "runtime", "--rounds", "10000"].iter().chain(arguments));
    let message = run(&["--only", "nothing"]);
    assert!(message.contains("--only nothing") && message.contains("call, handover, stages"), "{message}");
    let message = run(&["--csv", "missing/x.csv"]);
    assert!(message.contains("missing/x.csv: cannot write"), "{message}");
    let message = run(&["--json", "missing/x.json"]);
    assert!(message.contains("missing/x.json: cannot write"), "{message}");
    let message = run(&["--csv", "-", "--json"]);
    assert!(message.contains("only one of --csv, --svg and --json"), "{message}");
}

#[test]
#[ignore = "long: part of .ci/run"]
fn memory_tells_every_size_and_place() {
    let folder = Folder::new("bench-memory");
    let mut arguments = vec!["bench", "memory", "--tasks", "3", "--sizes", "64KiB,1000,64KiB", "--rounds", "2"];
    arguments.extend(["--csv", "x.csv", "--svg", "x.svg", "--json", "x.json"]);
    // Where threads cannot be pinned, only the system places them.
    let places = if cfg!(target_os = "linux") { &["loose", "packed", "distant"][..] } else { &["loose"] };
    let places = places.join(",");
    arguments.extend(["--place", &places]);
    let shown = folder.succeed(&arguments);
    assert!(shown.lines().all(|line| line.chars().count() <= 80), "{shown}");
    for text in [
        "\n  1000 B one core ",
        "\n  64 KiB one core ",
        "of the 2 hand-overs",
        "A pipeline holds 6 buffers",
        "Machine: ",
    ] {
        assert!(shown.contains(text), "{text}: {shown}");
    }
    let csv = String::from_utf8(folder.read("x.csv")).unwrap();
    let json: Value = serde_json::from_slice(&folder.read("x.json")).unwrap();
    let svg = String::from_utf8(folder.read("x.svg")).unwrap();
    let points = json["points"].as_array().unwrap();
    let mut index = 0;
    for (bytes, size) in [(1000, "1000 B"), (65_536, "64 KiB")] {
        for place in ["one core"].into_iter().chain(places.split(',')) {
            let row = format!("memory/{size}/{place},{bytes},");
            let readings: Vec<_> = csv.lines().filter_map(|line| line.strip_prefix(&row)).collect();
            for (round, reading) in readings.iter().enumerate() {
                let values: Vec<f64> = reading.split(',').map(|value| value.parse().unwrap()).collect();
                assert_eq!(values[0], round as f64 + 1.0);
                assert!(values[1] > 0.0 && (values[2] - 3.0 * values[1]).abs() < 1e-8, "{reading}");
            }
            assert_eq!(readings.len(), 2, "{csv}");
            let point = &points[index];
            assert_eq!((point["bytes"].as_u64(), point["place"].as_str()), (Some(bytes), Some(place)));
            let [least, median, most] = ["min", "median", "max"].map(|part| point["gb_per_s"][part].as_f64().unwrap());
            assert!(least > 0.0 && least <= median && median <= most, "{point}");
            let boundaries = &point["boundaries"];
            assert_eq!(boundaries.is_object(), place != "one core" && cfg!(target_os = "linux"), "{point}");
            assert!(boundaries.is_null() || boundaries["other_cluster"].as_f64() <= Some(2.0), "{point}");
            assert!(svg.lines().any(|line| line == place), "{place}: {svg}");
            index += 1;
        }
    }
    assert_eq!(points.len(), index);
    assert!(csv.lines().any(|line| line.starts_with("memory/probe/1,")), "{csv}");
}

#[test]
#[ignore = "long: part of .ci/run"]
fn nbfm_tells_every_block() {
    let folder = Folder::new("bench-nbfm");
    let mut arguments = vec!["bench", "nbfm", "--blocks", "744,60,3072", "--seconds", "0.1", "--rounds", "2"];
    arguments.extend(["--csv", "x.csv", "--svg", "x.svg", "--json", "x.json"]);
    let shown = folder.succeed(&arguments);
    assert!(shown.lines().all(|line| line.chars().count() <= 80), "{shown}");
    for text in [
        "\n     60 ",
        "\n    744 ",
        "\n   3072 ",
        "\nwork alone ",
        "\nin real time, GNU Radio ",
        "Aim: at most 1.5 %",
        "Machine: ",
    ] {
        assert!(shown.contains(text), "{text}: {shown}");
    }
    let csv = String::from_utf8(folder.read("x.csv")).unwrap();
    let json: Value = serde_json::from_slice(&folder.read("x.json")).unwrap();
    for mode in ["one-core", "threads", "sleep", "work"] {
        for block in [60, 744, 3072] {
            let name = format!("{mode}/{block}");
            let readings = csv.lines().filter_map(|line| line.strip_prefix(&format!("{name},"))?.rsplit(',').next());
            let readings: Vec<f64> = readings.map(|value| value.parse().unwrap()).collect();
            assert!(readings.len() == 2 && readings.iter().all(|value| *value > 0.0), "{name}: {csv}");
            assert!(json["cases"].as_array().unwrap().iter().any(|case| case["case"] == *name), "{name}");
        }
    }
    let lines = json["lines"].as_array().unwrap();
    let names: Vec<_> = lines.iter().map(|line| line["name"].as_str().unwrap()).collect();
    assert_eq!(names.len(), 5, "{names:?}");
    for line in lines {
        let cost = &line["fit"]["cost"];
        let [init, each] = ["init_ns", "per_sample_ns"].map(|part| cost[part].as_f64().unwrap());
        assert!(init >= 0.0 && each >= 0.0 && init + each > 0.0, "{line}");
    }
    let svg = String::from_utf8(folder.read("x.svg")).unwrap();
    assert!(svg.contains("in real time") && svg.contains("GNU Radio 3.10.5") && !svg.contains("NaN"), "{svg}");
    let output = folder.command().args(["bench", "nbfm", "--blocks", "750"]).output().unwrap();
    assert!(!output.status.success() && stderr(&output).contains("give multiples of 12 from 12 to 131064"));
    let message = folder.fail(["bench", "nbfm", "--only", "nothing"]);
    assert!(message.contains("one-core, threads, sleep and work"), "{message}");
}

#[test]
#[ignore = "long: part of .ci/run"]
fn batches_tell_every_task_and_layout() {
    let folder = Folder::new("bench-batches");
    let mut arguments = vec!["bench", "batches", "--sizes", "4096,64", "--seconds", "0.02", "--rounds", "2"];
    arguments.extend(["--csv", "x.csv", "--svg", "x.svg", "--json", "x.json"]);
    let shown = folder.succeed(&arguments);
    assert!(shown.lines().all(|line| line.chars().count() <= 80), "{shown}");
    let json: Value = serde_json::from_slice(&folder.read("x.json")).unwrap();
    let rows = csv_rows(&folder, "x.csv");
    let tasks = json["tasks"].as_array().unwrap();
    assert_eq!(tasks.len(), 8, "{json}");
    for task in tasks {
        let name = task["task"].as_str().unwrap();
        assert!(shown.lines().any(|line| line.starts_with(&format!("{name} "))), "{name}: {shown}");
        for (what, part) in [("by-batch", "by_batch"), ("by-block", "by_block")] {
            let measured = rows.iter().filter(|row| row["what"] == what && row["name"] == name);
            let sizes: Vec<f64> = measured.map(|row| number(row, "samples")).collect();
            assert!(sizes.len() == 5 && sizes[0] == 60.0 && sizes[4] == 7680.0, "{sizes:?}");
            assert!(task[part]["cost"]["init_ns"].as_f64().unwrap() >= 0.0, "{task}");
        }
    }
    let layouts = json["layouts"].as_array().unwrap().iter().map(|layout| layout["layout"].as_str().unwrap());
    let layouts: Vec<_> = layouts.collect();
    assert_eq!(layouts, ["source", "merged-1", "merged-2", "separate-2", "merged-4", "separate-4"]);
    for layout in layouts {
        let measured = rows.iter().filter(|row| row["what"] == "layout" && row["name"] == layout);
        let measured: Vec<_> = measured.map(|row| (number(row, "samples"), number(row, "round"))).collect();
        assert_eq!(measured, [(64.0, 1.0), (64.0, 2.0), (4096.0, 1.0), (4096.0, 2.0)], "{layout}");
        assert!(rows.iter().all(|row| number(row, "ns") >= 0.0), "{rows:?}");
    }
    assert_eq!(json["merging"].as_array().unwrap().len(), 2);
    let svg = String::from_utf8(folder.read("x.svg")).unwrap();
    assert!(svg.contains("separate-4") && svg.contains("demodulate") && !svg.contains("NaN"), "{svg}");
    let message = folder.fail(["bench", "batches", "--sizes", "64,64"]);
    assert!(message.contains("--sizes") && message.contains("two or more"), "{message}");
}

#[test]
#[ignore = "long: part of .ci/run"]
fn realtime_tells_every_class_under_every_load() {
    let folder = Folder::new("bench-realtime");
    let mut arguments = vec!["bench", "realtime", "--seconds", "0.1", "--slice", "0.05", "--load", "1,0"];
    arguments.extend(["--csv", "x.csv", "--svg", "x.svg", "--json", "x.json"]);
    let shown = folder.succeed(&arguments);
    assert!(shown.lines().all(|line| line.chars().count() <= 80), "{shown}");
    let rows = csv_rows(&folder, "x.csv");
    let json: Value = serde_json::from_slice(&folder.read("x.json")).unwrap();
    let mut cases = json["cases"].as_array().unwrap().iter();
    for (name, load) in [("three-stage", 0), ("three-stage", 1), ("nbfm", 0), ("nbfm", 1)] {
        for class in ["deadline", "no-reclaim", "fifo:80", "ordinary"] {
            let is = |row: &&BTreeMap<String, String>| {
                row["case"] == name && row["class"] == class && number(row, "load") == f64::from(load)
            };
            let slices: Vec<_> = rows.iter().filter(is).collect();
            let case = cases.next().unwrap();
            let total = &case["total"];
            assert_eq!((slices.len(), case["slices"].as_array().unwrap().len()), (2, 2), "{case}");
            assert_eq!((case["case"].as_str(), case["class"].as_str()), (Some(name), Some(class)));
            let sum = |part| Some(slices.iter().map(|row| number(row, part)).sum::<f64>());
            for part in ["frames", "over", "beyond"] {
                assert_eq!(total[part].as_f64(), sum(part), "{case}");
            }
            assert!(total["frames"].as_u64() >= Some(60) && total["beyond"].as_u64() <= total["over"].as_u64());
            let bound = if name == "nbfm" { 1e6..=20e6 } else { 12e6..=12e6 };
            assert!(bound.contains(&case["bound_ns"].as_f64().unwrap()), "{case}");
            // Whoever has not what was wanted is told why.
            let wanted = if class == "no-reclaim" { "deadline" } else { class };
            assert!(total["got"] == wanted || !json["notes"].as_array().unwrap().is_empty(), "{json}");
        }
    }
    assert!(cases.next().is_none());
    for (option, value) in [("--slice", "61"), ("--seconds", "0"), ("--load", "none")] {
        let output = folder.command().args(["bench", "realtime", option, value]).output().unwrap();
        assert!(!output.status.success() && stderr(&output).contains("give "), "{option} {value}");
    }
    let svg = String::from_utf8(folder.read("x.svg")).unwrap();
    assert!(svg.contains("nbfm, load: 1 thread copying memory") && !svg.contains("NaN"), "{svg}");
}

#[test]
#[cfg(target_os = "linux")]
fn realtime_without_permission_says_so() {
    use std::os::unix::process::CommandExt;

    let folder = Folder::new("bench-realtime-refused");
    let arguments = ["bench", "realtime", "--case", "three-stage", "--seconds", "0.05", "--load", "0", "--json"];
    // Only root can become nobody, and not where nobody may reach the command.
    let Ok(output) = folder.command().args(arguments).uid(65_534).gid(65_534).output() else {
        println!("skipped: the command cannot be started without permission");
        return;
    };
    assert!(output.status.success(), "{}", stderr(&output));
    let json: Value = serde_json::from_slice(&output.stdout).unwrap();
    for case in json["cases"].as_array().unwrap() {
        assert_eq!(case["total"]["got"], "ordinary", "{case}");
    }
    let notes = json["notes"].to_string();
    assert!(notes.contains("CAP_SYS_NICE") && notes.contains("no bound holds"), "{notes}");
}

#[test]
fn what_cannot_be_a_chain_over_memory_is_refused() {
    let folder = Folder::new("bench-memory-refused");
    // With so many rounds, whatever is not refused takes hours.
    let refuses = |arguments: &[&str], part: &str| {
        let all = ["bench", "memory", "--rounds", "10000"].iter().chain(arguments);
        let output = folder.command().args(all).output().unwrap();
        let message = stderr(&output);
        assert!(!output.status.success() && message.contains(part), "{message}");
    };
    refuses(&["--sizes", "4kb"], "write a size as 4096, 4KiB or 16MiB");
    refuses(&["--sizes", "0"], "a buffer has 1 byte to 1 GiB");
    refuses(&["--place", "near"], "[possible values: loose, packed, distant]");
    refuses(&["--tasks", "1"], "1 is not in 2..=256");
    refuses(&["--csv", "missing/x.csv"], "missing/x.csv: cannot write");
    if cfg!(target_os = "linux") {
        // 765 GiB.
        refuses(&["--sizes", "1GiB", "--tasks", "256"], "give smaller --sizes or fewer --tasks");
    }
}

const PLANNED: [&str; 7] = [
    "two-stages/10us",
    "two-stages/100us",
    "two-stages/1000us",
    "replicated/10us",
    "replicated/100us",
    "replicated/1000us",
    "receiver",
];

/// A machine of two kinds, if there are cores for them here.
fn two_kinds(folder: &Folder) -> Option<&'static str> {
    const MACHINE: &str =
        "[[kind]]\nname = \"big\"\ncores = \"0\"\n[[kind]]\nname = \"little\"\ncores = \"1\"\nspeed = 0.5\n";
    let known = Machine::read(&folder.write("two.toml", MACHINE));
    known.map(|_| "two.toml").map_err(|error| println!("skipped: {error}")).ok()
}

/// The columns of a table with a heading: names by which its rows are read.
fn csv_rows(folder: &Folder, name: &str) -> Vec<BTreeMap<String, String>> {
    let text = String::from_utf8(folder.read(name)).unwrap();
    let mut lines = text.lines().map(|line| line.split(',').map(str::to_owned).collect::<Vec<_>>());
    let names = lines.next().unwrap();
    lines
        .map(|row| {
            assert_eq!(row.len(), names.len(), "{row:?}");
            names.iter().cloned().zip(row).collect()
        })
        .collect()
}

fn number(row: &BTreeMap<String, String>, name: &str) -> f64 {
    let value: f64 = row[name].parse().unwrap();
    assert!(value.is_finite(), "{name}: {row:?}");
    value
}

#[test]
#[ignore = "long: part of .ci/run"]
fn plan_tells_gaps_that_follow_from_its_periods() {
    let folder = Folder::new("bench-plan");
    let mut arguments = vec!["bench", "plan", "--rounds", "2", "--seconds", "0.02"];
    arguments.extend(["--csv", "x.csv", "--svg", "x.svg", "--json", "x.json"]);
    let shown = folder.succeed(&arguments);
    assert!(shown.lines().all(|line| line.chars().count() <= 80), "{shown}");
    assert!(shown.contains("Where the period goes") && shown.contains("Machine: "), "{shown}");
    let rows = csv_rows(&folder, "x.csv");
    let json: Value = serde_json::from_slice(&folder.read("x.json")).unwrap();
    let svg = String::from_utf8(folder.read("x.svg")).unwrap();
    assert_eq!((rows.len(), json["cases"].as_array().unwrap().len()), (2 * PLANNED.len(), PLANNED.len()));
    for (index, name) in PLANNED.iter().enumerate() {
        // Two spaces at least in a table, one where a line of text happens to begin with the name.
        assert_eq!(shown.lines().filter(|line| line.starts_with(&format!("{name}  "))).count(), 2, "{shown}");
        assert!(svg.lines().any(|line| line == *name), "{name}: {svg}");
        let case = &json["cases"][index];
        for (round, row) in rows[2 * index..][..2].iter().enumerate() {
            assert_eq!((row["case"].as_str(), row["round"].as_str()), (*name, ["1", "2"][round]));
            let (measured, again) = (number(row, "measured_ns"), number(row, "corrected_measured_ns"));
            for (known, measured) in
                [("idle", measured), ("busy", measured), ("busy_and_hand_over", measured), ("corrected", again)]
            {
                let planned = number(row, &format!("planned_{known}_ns"));
                let gap = number(row, &format!("gap_{known}"));
                assert!(planned > 0.0 && (gap - (measured / planned - 1.0)).abs() < 1e-3, "{known}: {row:?}");
                let told = &case["rounds"][round];
                assert!((told["gap"][known].as_f64().unwrap() - gap).abs() < 1e-5, "{told}");
                let [least, median, most] =
                    ["min", "median", "max"].map(|part| case["gap"][known][part].as_f64().unwrap());
                assert!(least <= median && median <= most, "{case}");
            }
            assert!(number(row, "planned_busy_ns") <= number(row, "planned_busy_and_hand_over_ns"), "{row:?}");
            let parts = ["stage_planned", "clock", "cache", "interrupted", "hand_over", "waiting"];
            let sum: f64 = parts.iter().map(|part| number(row, &format!("{part}_ns"))).sum();
            assert!((sum - measured).abs() < 1.0, "{row:?}");
        }
    }
}

#[test]
#[ignore = "long: part of .ci/run"]
fn plan_runs_in_the_places_of_each_policy() {
    let folder = Folder::new("bench-plan-policies");
    let mut arguments = vec!["bench", "plan", "--policies", "--only", "100us", "--rounds", "2", "--seconds", "0.02"];
    arguments.extend(["--csv", "x.csv", "--svg", "x.svg", "--json", "x.json"]);
    let shown = folder.succeed(&arguments);
    assert!(shown.lines().all(|line| line.chars().count() <= 80), "{shown}");
    let rows = csv_rows(&folder, "x.csv");
    let named: Vec<_> = rows.iter().map(|row| (row["case"].as_str(), row["place"].as_str())).collect();
    let places = ["loose", "guided", "packed", "distant", "dynamic"];
    let expected = ["two-stages/100us", "replicated/100us"].map(|case| [places.map(|place| (case, place)); 2]);
    assert_eq!(named, expected.concat().concat());
    for row in &rows {
        let gap = number(row, "measured_ns") / number(row, "planned_ns") - 1.0;
        assert!((number(row, "gap") - gap).abs() < 1e-3, "{row:?}");
    }
    let json: Value = serde_json::from_slice(&folder.read("x.json")).unwrap();
    let packed = &json["cases"][1]["places"][2];
    assert_eq!((&packed["place"], &packed["as_packed"]), (&"packed".into(), &true.into()));
    assert!(String::from_utf8(folder.read("x.svg")).unwrap().lines().any(|line| line == "distant"));
}

#[test]
#[ignore = "long: part of .ci/run"]
fn plan_ranks_strategies_on_two_kinds_of_cores() {
    let folder = Folder::new("bench-plan-strategies");
    let Some(machine) = two_kinds(&folder) else { return };
    let mut arguments = vec!["bench", "plan", "--strategies", "--machine", machine, "--rounds", "1"];
    arguments.extend(["--seconds", "0.02", "--csv", "x.csv", "--svg", "x.svg", "--json", "x.json"]);
    let shown = folder.succeed(&arguments);
    assert!(shown.lines().all(|line| line.chars().count() <= 80), "{shown}");
    assert!(shown.contains("Emulated: ") && shown.matches("rank as planned").count() == 2, "{shown}");
    let rows = csv_rows(&folder, "x.csv");
    assert_eq!(rows.len(), 14);
    let planned = |case: &str, strategy: &str| {
        let is = |row: &&BTreeMap<String, String>| row["case"] == case && row["strategy"] == strategy;
        number(rows.iter().find(is).unwrap(), "planned_frames_per_s")
    };
    for case in ["mixed", "receiver"] {
        // Whatever was measured, the exact plan is the best of those that do not share cores: HeRAD, too, cuts as if it were free.
        let exact = planned(case, "exact");
        let others = ["HeRAD", "OTAC (big)", "OTAC (little)", "FERTAC", "2CATAC"];
        assert!(others.iter().all(|other| planned(case, other) <= exact), "{rows:?}");
    }
    for row in &rows {
        let gap = number(row, "planned_frames_per_s") / number(row, "measured_frames_per_s") - 1.0;
        assert!((number(row, "gap") - gap).abs() < 1e-3, "{row:?}");
        for (strategy, kind) in [("OTAC (big)", "little"), ("OTAC (little)", "big")] {
            assert!(row["strategy"] != strategy || !row["stages"].contains(kind), "{row:?}");
        }
    }
    let json: Value = serde_json::from_slice(&folder.read("x.json")).unwrap();
    for case in json["cases"].as_array().unwrap() {
        let ranks = case["strategies"].as_array().unwrap().iter();
        let ranks: Vec<u64> = ranks.map(|strategy| strategy["measured_rank"].as_u64().unwrap()).collect();
        assert!(ranks.contains(&1) && ranks.iter().all(|rank| (1..=7).contains(rank)), "{ranks:?}");
    }
    assert_eq!(json["cases"][1]["megabits_per_frame"].as_f64(), Some(0.014232));
}

#[test]
#[ignore = "long: part of .ci/run"]
fn plan_is_told_on_emulated_cores() {
    let folder = Folder::new("bench-plan-emulated");
    let Some(machine) = two_kinds(&folder) else { return };
    let arguments = ["bench", "plan", "--machine", machine, "--only", "/100us", "--rounds", "1", "--seconds", "0.02"];
    let json: Value = serde_json::from_str(&folder.succeed(arguments.iter().chain(&["--json"]))).unwrap();
    assert!(json["machine"].as_str().unwrap().contains("little (emulated at 0.5)"), "{json}");
    assert_eq!(json["cases"].as_array().unwrap().len(), 2);
}

#[test]
fn what_no_plan_can_be_measured_with_is_refused() {
    let folder = Folder::new("bench-plan-refused");
    // With so many rounds, whatever is not refused takes hours.
    let refuses = |arguments: &[&str], part: &str| {
        let all = ["bench", "plan", "--rounds", "10000"].iter().chain(arguments);
        let output = folder.command().args(all).output().unwrap();
        let message = stderr(&output);
        assert!(!output.status.success() && message.contains(part), "{message}");
    };
    folder.write("one.toml", "[[kind]]\nname = \"only\"\ncores = \"0\"\n");
    refuses(&["--strategies", "--machine", "one.toml"], "this machine has only: give --machine FILE.toml");
    refuses(&["--machine", "missing.toml"], "missing.toml");
    refuses(&["--only", "nothing"], "the groups are two-stages, replicated and receiver");
    refuses(&["--seconds", "0"], "write seconds from 0.001 to 600");
    refuses(&["--seconds", "soon"], "write a number of seconds");
    refuses(&["--strategies", "--policies"], "cannot be used with");
    refuses(&["--svg", "missing/x.svg"], "missing/x.svg: cannot write");
}

#[test]
#[ignore = "long: part of .ci/run"]
fn mapping_tells_what_it_brings_and_costs() {
    let folder = Folder::new("bench-mapping");
    let Some(machine) = two_kinds(&folder) else { return };
    let run = |only: &str, rounds: &str, seconds: &str, more: &[&str]| {
        let mut arguments = vec!["bench", "mapping", "--machine", machine, "--seconds", seconds];
        arguments.extend(["--only", only, "--rounds", rounds, "--csv", "x.csv"]);
        let shown = folder.succeed(arguments.iter().chain(more));
        assert!(shown.lines().all(|line| line.chars().count() <= 80), "{shown}");
        // A processor with a long name has the line wrapped elsewhere.
        let words = shown.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains("Machine mapped to: ") && words.contains("little (emulated at 0.5)"), "{shown}");
        (shown, csv_rows(&folder, "x.csv"))
    };
    let (shown, rows) = run("gain/", "2", "0.1", &["--svg", "x.svg", "--json", "x.json"]);
    let json: Value = serde_json::from_slice(&folder.read("x.json")).unwrap();
    let cases = json["cases"].as_array().unwrap();
    assert_eq!((rows.len(), cases.len()), (36, 18));
    let work = |case: &str, round: usize| {
        let readings: Vec<f64> =
            rows.iter().filter(|row| row["case"] == case).map(|row| number(row, "value")).collect();
        assert_eq!(readings.len(), 2, "{case}: {rows:?}");
        readings[round]
    };
    for mix in ["swap", "bimodal", "crowded"] {
        for mapping in ["fair", "fixed", "bsm-1ms", "bsm-5ms", "rank-5ms", "ideal"] {
            let name = format!("gain/{mix}/{mapping}");
            assert!(shown.lines().any(|line| line.starts_with(&format!("{name} "))), "{name}: {shown}");
            let case = cases.iter().find(|case| case["case"] == *name).unwrap();
            let over = |round| work(&name, round) / work(&format!("gain/{mix}/fair"), round).max(1e-9) - 1.0;
            let median = (over(0) + over(1)) / 2.0;
            // CSV has four decimals.
            let told = case["over_fair"].as_f64().unwrap();
            assert!((told - median).abs() < 0.05 * (1.0 + median.abs()), "{told} {median}: {case}");
        }
    }
    assert!((work("gain/swap/ideal", 0) - 1.1).abs() < 1e-6);
    let svg = String::from_utf8(folder.read("x.svg")).unwrap();
    assert!(svg.contains("crowded: as bimodal") && !svg.contains("NaN"), "{svg}");

    let (shown, rows) = run("overhead/", "1", "0.1", &[]);
    assert_eq!((rows.len(), shown.matches("<= 0.5").count(), shown.matches("<= 1 ").count()), (10, 2, 2), "{shown}");
    assert!(rows.iter().all(|row| row["unit"] == "%" && number(row, "value") > 0.0), "{rows:?}");

    let (shown, rows) = run("receiver/", "1", "0.5", &[]);
    assert_eq!(rows.len(), 15);
    assert!(rows.iter().all(|row| number(row, "value") > 0.0), "{rows:?}");
    for when in ["quiet", "disturbed", "misplanned"] {
        let of = rows.iter().filter(|row| row["case"].starts_with(&format!("receiver/{when}/")));
        let best = of.max_by(|a, b| number(a, "value").total_cmp(&number(b, "value"))).unwrap();
        let marked = shown.lines().find(|line| line.starts_with(&best["case"])).unwrap();
        assert!(marked.ends_with('<') && shown.contains(&format!("{when}: ")), "{shown}");
    }
}

#[test]
fn what_leaves_nothing_to_map_is_refused() {
    let folder = Folder::new("bench-mapping-refused");
    folder.write("one.toml", "[[kind]]\nname = \"only\"\ncores = \"0\"\n");
    // With so many rounds, whatever is not refused takes hours.
    let refuses = |arguments: &[&str], part: &str| {
        let all = ["bench", "mapping", "--rounds", "10000"].iter().chain(arguments);
        let output = folder.command().args(all).output().unwrap();
        let message = stderr(&output);
        assert!(!output.status.success() && message.contains(part), "{message}");
    };
    refuses(&["--machine", "one.toml"], "all of one kind");
    refuses(&["--machine", "missing.toml"], "missing.toml");
    refuses(&["--seconds", "0"], "give 0.05 to 600 seconds");
    refuses(&["--csv", "missing/x.csv"], "missing/x.csv: cannot write");
    if std::thread::available_parallelism().is_ok_and(|cores| cores.get() > 1) {
        refuses(&["--only", "nothing"], "the groups are gain, overhead and receiver");
    }
}

#[test]
fn benches_have_examples() {
    let folder = Folder::new("bench-help");
    for bench in [
        &[][..],
        &["runtime"],
        &["adapt"],
        &["growth"],
        &["memory"],
        &["nbfm"],
        &["batches"],
        &["plan"],
        &["realtime"],
        &["mapping"],
    ] {
        let help = folder.succeed(["bench"].iter().chain(bench).chain(&["--help"]));
        assert!(help.contains("Examples:"), "{bench:?}");
    }
}

//! `bief bench`: the shape of what one round gives. Times are for a reader to judge.

mod common;

use common::Folder;
use serde_json::Value;

const GROUPS: [(&str, usize); 6] =
    [("call", 6), ("handover", 6), ("stages", 6), ("speedup", 4), ("idle", 2), ("trickle", 2)];

#[test]
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
fn what_cannot_be_a_chain_over_memory_is_refused() {
    let folder = Folder::new("bench-memory-refused");
    // With so many rounds, whatever is not refused takes hours.
    let refuses = |arguments: &[&str], part: &str| {
        let all = ["bench", "memory", "--rounds", "10000"].iter().chain(arguments);
        let output = folder.command().args(all).output().unwrap();
        let message = common::stderr(&output);
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

#[test]
fn benches_have_examples() {
    let folder = Folder::new("bench-help");
    for bench in [&[][..], &["runtime"], &["growth"], &["memory"]] {
        let help = folder.succeed(["bench"].iter().chain(bench).chain(&["--help"]));
        assert!(help.contains("Examples:"), "{bench:?}");
    }
}

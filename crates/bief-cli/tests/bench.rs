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
fn benches_have_examples() {
    let folder = Folder::new("bench-help");
    for bench in [&[][..], &["runtime"], &["growth"]] {
        let help = folder.succeed(["bench"].iter().chain(bench).chain(&["--help"]));
        assert!(help.contains("Examples:"), "{bench:?}");
    }
}

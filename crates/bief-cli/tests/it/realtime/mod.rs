//! Latencies that are kept: `bief realtime`, and receivers under a real-time class.

use std::process::Stdio;

use serde_json::Value;

use crate::common::{Folder, assert_narrow, assert_usage, text};
use crate::run::CONVERT;

/// A source, a decimator by 4, a sink.
const GRAPH: &str = r#"{"format": 1, "cores": 2,
  "nodes": [{"name": "src", "rate_hz": 1000, "init_ns": 500000, "per_sample_ns": 0},
            {"name": "dec4", "init_ns": 2000000, "per_sample_ns": 0},
            {"name": "sink", "init_ns": 1000000, "per_sample_ns": 0}],
  "edges": [{"from": "src", "to": "dec4", "produce": 1, "consume": 4},
            {"from": "dec4", "to": "sink", "produce": 1, "consume": 1}]}"#;

const NARROWBAND_FM: &str = include_str!("../../../data/graphs/nbfm.json");

#[test]
fn realtime_shows_the_bounds_of_a_graph() {
    let folder = Folder::new("realtime-bounds");
    folder.write("e1.json", GRAPH);
    let shown = folder.succeed(["realtime", "e1.json", "--simulate", "1000"]);
    assert_narrow(&shown);
    let expected = "\
e1.json: 3 nodes and 2 edges on 2 shared cores, by global EDF.
As it is, it needs 1.25 cores and is done within 12.0 ms.

Tasks
#  nodes   period     cost    busy  response  observed
1  src    1.00 ms   500 us  50.0 %   1.00 ms    500 us
2  dec4   4.00 ms  2.00 ms  50.0 %   4.00 ms   2.00 ms
3  sink   4.00 ms  1.00 ms  25.0 %   4.00 ms   1.00 ms

Latency, from the oldest sample of a source's job
sink  at most  filling  responses  of that late  observed
sink  12.0 ms  3.00 ms    9.00 ms          0 ns   6.50 ms

Edges, in tokens per job
edge          produce  threshold  consume  buffer  observed
src -> dec4         1          4        4       9         6
dec4 -> sink        1          1        1       3         1

Bounds: no job is late, for U = 1.25 is no more than M - (M - 1) u = 1.50
(Goossens, Funk and Baruah).
Linux: as SCHED_DEADLINE these reserve 1.25 of 2 cores, which it admits (up to
0.95 of them, 0.90 since 6.12).
Observed: the most in 1.00 s of simulated time, 1500 jobs, each as long as its
cost.

Plans to choose from";
    assert!(shown.starts_with(expected), "{shown}");
    // By other methods, with jitter and an allowance, and more cores.
    for (options, part) in [
        ("--method devi-anderson", "\nsink  17.8 ms  3.00 ms    14.8 ms       5.75 ms\n"),
        ("--method vector", "\nsink  16.8 ms  3.00 ms"),
        ("--method fair-lateness", "\nsink  15.5 ms  3.00 ms"),
        ("--jitter 100us", "\nsink  12.1 ms  3.00 ms    9.00 ms          0 ns  100 us\n"),
        ("--allowance 1ms", "done within 12.0 ms, or 15.0 ms with the allowance."),
        ("--handover 100us", "\n1  src    1.00 ms   600 us  60.0 %"),
        ("--budget 1.2", "\n1  src    1.00 ms   500 us   600 us  50.0 %"),
        ("--budget largest --cap 0.9", "these reserve 1.80 of 2 cores, which it admits"),
        ("--cores 1", "As it is, it does not fit: analysis, cores: the nodes need 1.250 cores"),
    ] {
        let shown = folder.succeed(["realtime", "e1.json"].into_iter().chain(options.split(' ')));
        assert_narrow(&shown);
        assert!(shown.replace('\n', " ").contains(&part.replace('\n', " ")), "{options}: {shown}");
    }
}

#[test]
fn realtime_finds_the_plan_within_a_latency() {
    let folder = Folder::new("realtime-plan");
    folder.write("nbfm.json", NARROWBAND_FM);
    let arguments = "realtime nbfm.json --latency 5ms --svg g.svg --curve c.svg --simulate 200";
    let shown = folder.succeed(arguments.split(' '));
    assert_narrow(&shown);
    for part in [
        "As it is, it does not fit: analysis, node `source`",
        "Within 5.00 ms: jobs of 384 firings of the fastest source, 5 nodes merged into 3 tasks.",
        "channel filter×128,",
        "source -> task 2      384        384      384    1152",
    ] {
        assert!(shown.replace('\n', " ").contains(part), "no `{part}` in {shown}");
    }
    let picture = text(&folder, "g.svg");
    assert!(picture.contains("task 2: 3 nodes") && picture.contains("384 / 384 / 384"), "{picture}");
    assert!(text(&folder, "c.svg").contains("without merging"));

    let json = |arguments: &str| -> Value { serde_json::from_str(&folder.succeed(arguments.split(' '))).unwrap() };
    let plan = json("realtime nbfm.json --latency 5ms --json");
    assert_eq!((&plan["plan"]["firings"], &plan["bounds"]), (&384.into(), &Value::Null));
    assert_eq!(plan["plan"]["bounds"]["tasks"][1]["nodes"][2], "audio filter");
    assert_eq!(plan["plan"]["batches"][4], serde_json::json!({"node": "sink", "firings": 32}));
    assert!(plan["plan"]["bounds"]["latency_ns"].as_f64().unwrap() <= 5e6);
    let apart = json("realtime nbfm.json --latency 5ms --no-merge --json");
    assert_eq!(apart["plan"]["bounds"]["tasks"].as_array().unwrap().len(), 5);
    let needs = |json: &Value| json["plan"]["bounds"]["utilisation"].as_f64().unwrap();
    assert!(needs(&plan) < needs(&apart));

    // From standard input.
    let mut child = folder
        .command()
        .args(["realtime", "-", "--svg", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), NARROWBAND_FM.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success() && output.stdout.starts_with(b"<svg"));
}

#[test]
#[ignore = "long: part of .ci/run"]
fn realtime_takes_the_receivers_as_graphs() {
    let folder = Folder::new("realtime-receivers");
    folder.write("in.ci8", [7; 20_000]);
    folder.write("copy.toml", CONVERT);
    for (arguments, nodes) in [
        ("realtime rx --rate 50frames/s --latency 200ms", 10),
        ("realtime nbfm --latency 50ms --no-merge --cores 2", 9),
        ("realtime nbfm --cost worst --cores 2", 9),
        ("realtime copy.toml --rate 1000frames/s --latency 50ms", 3),
    ] {
        assert_narrow(&folder.succeed(arguments.split(' ').chain(["--json", "measured.json"])));
        let measured: Value = serde_json::from_str(&text(&folder, "measured.json")).unwrap();
        for plan in measured["front"].as_array().unwrap() {
            let groups = plan["groups"].as_array().unwrap().iter().map(|group| group.as_array().unwrap().len());
            assert_eq!(groups.sum::<usize>(), nodes, "{arguments}: {plan}");
        }
    }
    for (arguments, told) in [
        ("realtime rx", "rx: at which rate? Give --rate"),
        ("realtime nbfm --rate 1Mb/s", "nbfm: it knows the rate of its input: leave out --rate"),
        ("realtime nbfm x.sigmf-meta", "nbfm: measured on a tone at 576 kS/s"),
        ("realtime copy.toml", "copy.toml: at which rate? Give --rate"),
        ("realtime copy.toml --sps 2 --rate 1frames/s", "copy.toml: a chain file names its input itself"),
        ("realtime g.json --cost worst", "g.json: a graph says itself how fast it runs"),
        ("realtime rx absent.sigmf-meta --rate 1Mb/s", "absent.sigmf-meta"),
    ] {
        let message = folder.fail(arguments.split(' '));
        assert!(message.contains(told), "{arguments}: {message}");
    }
}

#[test]
fn realtime_says_what_is_wrong_with_a_graph() {
    let folder = Folder::new("realtime-wrong");
    folder.write("e1.json", GRAPH);
    let fails = |graph: &str, options: &[&str]| {
        folder.write("g.json", graph);
        folder.fail(["realtime", "g.json"].iter().chain(options))
    };
    assert!(folder.fail(["realtime", "absent.json"]).contains("absent.json"));
    assert!(fails("{\"format\": 1,", &[]).contains("g.json: graph, line 1"));
    let cycle = GRAPH.replace(
        r#"{"from": "dec4", "to": "sink", "produce": 1, "consume": 1}"#,
        r#"{"from": "dec4", "to": "sink", "produce": 1, "consume": 1}, {"from": "sink", "to": "dec4", "produce": 1, "consume": 1}"#,
    );
    assert!(fails(&cycle, &[]).contains("graph, edges: cycle `dec4` -> `sink` -> `dec4`"));
    let join = GRAPH.replace(
        r#"{"from": "dec4", "#,
        r#"{"from": "src", "to": "sink", "produce": 1, "consume": 1}, {"from": "dec4", "#,
    );
    assert!(fails(&join, &[]).contains("graph, node `sink`: its inputs do not agree on a rate"));
    let heavy = GRAPH.replace(r#""init_ns": 2000000, "per_sample_ns": 0"#, r#""init_ns": 0, "per_sample_ns": 1500000"#);
    assert!(fails(&heavy, &[]).contains("analysis, node `dec4`: a job takes 6 ms every 4 ms"));
    let late = fails(GRAPH, &["--latency", "2ms", "--no-merge"]);
    assert!(
        late.contains("no plan is done within 2.00 ms: the least latency found is 12.0 ms, in jobs of 1 firing"),
        "{late}"
    );
    assert!(fails(GRAPH, &["--cap", "0"]).contains("analysis, cap: 0: write a share"));
    assert!(fails(GRAPH, &["--init-share", "2"]).contains("init_share: 2: write a share from 0 to 1"));
    assert!(fails(GRAPH, &["--cores", "1", "--simulate", "10"]).contains("give --latency, for a plan that does"));
    assert!(fails(GRAPH, &["--json", "--svg", "-"]).contains("--json and --svg cannot both go to standard output"));
    assert!(fails(GRAPH, &["--svg", "g.json"]).contains("--svg would replace the input"));
    for (option, value) in
        [("--latency", "5"), ("--jitter", "0us"), ("--budget", "0.5"), ("--method", "best"), ("--simulate", "0")]
    {
        assert_usage(&folder, &["realtime", "e1.json", option, value], option);
    }
}

#[test]
#[ignore = "long: part of .ci/run"]
fn a_receiver_runs_under_a_class() {
    let folder = Folder::new("class");
    folder.succeed(["rx", "-o", "plain.ts"]);
    let refused = folder.fail(["rx", "--rt", "try", "-o", "x.ts"]);
    assert!(refused.contains("time is reserved for a rate") && refused.contains("rate=1Mb/s"), "{refused}");
    assert_usage(&folder, &["rx", "--rt", "tri"], "`tri`");
    assert_usage(&folder, &["rx", "--class", "fifo"], "fifo:PRIORITY");
    // With permission or without.
    for options in
        [&["--rt", "try", "--goal", "fewest-cores,rate=1Mb/s"][..], &["--class", "fifo:10"], &["--rt", "off"]]
    {
        let shown = folder.succeed(["rx", "-o", "x.ts", "--executions", "20"].iter().chain(options));
        assert_eq!(shown.contains("real time  "), options[1] != "off", "{options:?}: {shown}");
        assert_eq!(folder.read("x.ts"), folder.read("plain.ts"), "{options:?}");
    }
}

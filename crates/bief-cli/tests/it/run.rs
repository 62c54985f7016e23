//! `bief run`: chain files, what is said of bad ones, and the kinds of tasks.

use crate::common::{Folder, packets, sample};
use serde_json::Value;

const TRANSMITTER: &str = include_str!("../../data/chains/dvbs2_tx.toml");

pub(crate) const CONVERT: &str = r#"
batch = 2

[[task]]
name = "read"
kind = "radio.read"
out = ["iq"]
path = "in.ci8"
frame = 1000

[[task]]
name = "quantise"
kind = "radio.quantise"
in = ["iq"]
out = ["bytes"]
format = "ci8"

[[task]]
name = "write"
kind = "file.write"
in = ["bytes"]
path = "out.ci8"
"#;

#[test]
fn the_chain_that_ships_transmits_what_is_received() {
    let folder = Folder::new("run-tx");
    let stream = packets(120);
    folder.write("packets.ts", &stream);
    folder.write("tx.toml", TRANSMITTER);
    let shown = folder.succeed(["run", "tx.toml"]);
    for part in ["14 frames, ", "\nencode                               2", "whole, per 8 frames"] {
        assert!(shown.contains(part), "no `{part}` in {shown}");
    }
    folder.succeed(["rx", "samples.ci16", "--sps", "2"]);
    assert!(folder.read("samples.ts") == stream);

    let samples = folder.read("samples.ci16");
    for options in [&["--one-core"][..], &["--batch", "3", "--depth", "1", "--waiting", "passive"]] {
        let shown = folder.succeed(["run", "tx.toml"].iter().chain(options));
        assert!(shown.contains("14 frames") && folder.read("samples.ci16") == samples, "{options:?}: {shown}");
        assert_eq!(shown.contains("encode"), !options.contains(&"--one-core"), "{shown}");
        assert_eq!(shown.contains("per 3 frames"), options.contains(&"--batch"), "{shown}");
    }
}

#[test]
#[ignore = "long: part of .ci/run"]
fn what_a_run_did_is_shown_and_written() {
    let folder = Folder::new("run-observe");
    folder.write("packets.ts", packets(120));
    folder.write("tx.toml", TRANSMITTER);
    let plain = folder.succeed(["run", "tx.toml"]);
    assert!(!plain.contains("latency") && !plain.contains("sampled"), "{plain}");
    let shown = folder.succeed(["run", "tx.toml", "--observe", "--trace", "trace.json", "--dot", "chain.dot"]);
    for part in ["\ntask, per 8 frames", "\nbetween stages", "\nlatency", "\nsource to sink"] {
        assert!(shown.contains(part), "no `{part}` in {shown}");
    }
    assert!(shown.lines().all(|line| line.chars().count() <= 80), "{shown}");
    let trace: Value = serde_json::from_slice(&folder.read("trace.json")).unwrap();
    let events = trace["traceEvents"].as_array().unwrap();
    let named = |name: &str| events.iter().filter(|event| event["args"]["name"] == name).count();
    assert_eq!((named("encode 0"), named("encode 1")), (1, 1), "a track for each replica");
    assert!(events.iter().filter(|event| event["name"] == "batch" && event["ph"] == "X").count() >= 4);
    let dot = String::from_utf8(folder.read("chain.dot")).unwrap();
    assert!(dot.starts_with("digraph") && dot.contains("measured"), "{dot}");
    let refused = folder.fail(["run", "tx.toml", "--trace", "none/trace.json"]);
    assert!(refused.contains("none/trace.json: "), "{refused}");

    folder.write("in.ci8", sample());
    let shown = folder.succeed(["rx", "in.ci8", "--sps", "2", "--trace", "rx.json", "--observe"]);
    assert!(folder.read("rx.json").starts_with(b"{"));
    assert!(shown.contains("\ncut frames ") && shown.contains("  read "), "what tasks tell: {shown}");
    assert!(shown.lines().all(|line| line.chars().count() <= 80), "{shown}");
}

#[test]
#[ignore = "long: part of .ci/run"]
fn what_tasks_tell_is_shown_to_who_observes_and_to_machines() {
    let folder = Folder::new("run-figures");
    let text = include_str!("../../../../data/chains/dvbs2_rx.toml");
    folder.write("in.ci8", sample());
    let text = text.replace("../dvbs2_qpsk_8-9_short.sigmf-meta", "in.ci8");
    folder.write("rx.toml", text.replacen("path = \"in.ci8\"", "path = \"in.ci8\"\nformat = \"ci8\"", 1));
    let shown = folder.succeed(["run", "rx.toml", "--observe"]);
    for part in [
        "\ntask           figure ",
        "\nobserve        frames 43 QPSK 8/9 short, pilots ",
        "  packets transport stream ",
    ] {
        assert!(shown.contains(part), "no `{part}` in {shown}");
    }
    assert!(shown.lines().all(|line| line.chars().count() <= 80), "{shown}");
    let plain = folder.succeed(["run", "rx.toml", "--json", "run.json"]);
    assert!(!plain.contains("es n0"), "{plain}");
    let json: Value = serde_json::from_slice(&folder.read("run.json")).unwrap();
    let told = json["report"]["figures"].as_array().unwrap();
    let packets = told.iter().find(|figure| figure["name"] == "packets").unwrap();
    assert_eq!((&packets["task"], &packets["count"]), (&"write packets".into(), &385.into()));
    // The bits that a frame carries are told too: rates may be asked for in bits.
    let profile = folder.succeed(["profile", "rx.toml", "--executions", "5", "-o", "-"]);
    let profile: Value = serde_json::from_str(&profile).unwrap();
    assert_eq!(profile["bits_per_frame"], 14_232);
}

#[test]
fn paths_are_relative_to_the_file_and_reports_go_to_machines() {
    let folder = Folder::new("run-json");
    std::fs::create_dir_all(folder.path("deep")).unwrap();
    folder.write("deep/in.ci8", &sample()[..2 * 10_500]);
    folder.write("deep/x.toml", CONVERT);
    let json: Value = serde_json::from_str(&folder.succeed(["run", "deep/x.toml", "--json"])).unwrap();
    assert_eq!((&json["chain"], &json["interrupted"]), (&"deep/x.toml".into(), &false.into()));
    assert_eq!((&json["report"]["frames"], &json["report"]["batch"]), (&11.into(), &2.into()));
    let written = [&sample()[..2 * 10_500], &[0; 2 * 500]].concat();
    assert!(folder.read("deep/out.ci8") == written, "zeros fill the last frame");
    let shown = folder.succeed(["run", "deep/x.toml", "--json", "run.json"]);
    assert!(shown.contains("11 frames") && folder.read("run.json").starts_with(b"{"), "{shown}");
    // A chain typed after --json is not overwritten.
    folder.succeed(["run", "--json", "deep/x.toml"]);
    assert!(folder.read("deep/x.toml") == CONVERT.as_bytes());
    assert!(folder.fail(["run", "--json"]).contains("no CHAIN.toml: "));
}

#[test]
fn a_check_shows_the_chain_and_writes_nothing() {
    let folder = Folder::new("run-check");
    folder.write("packets.ts", packets(1));
    folder.write("tx.toml", TRANSMITTER);
    let shown = folder.succeed(["run", "tx.toml", "--check"]);
    for part in [
        "first stage, 1 thread\n  slice packets (dvbs2.slice_packets, remembers from frame to frame)\n    makes frames (up to 1779 x u8) and pls (1 x Pls)",
        "\nstage encode, 2 threads\n  scramble bits (dvbs2.scramble_bits)\n    rewrites frames\n",
        "    reads codewords and pls\n    makes symbols (up to 8370 x Complex<f32>)\n",
    ] {
        assert!(shown.contains(part), "no `{part}` in {shown}");
    }
    assert!(!folder.path("samples.ci16").exists());
    assert!(folder.succeed(["run", "tx.toml", "--check", "--one-core"]).starts_with("one core\n  slice packets"));
    let json: Value = serde_json::from_str(&folder.succeed(["run", "tx.toml", "--check", "--json"])).unwrap();
    assert_eq!((&json["stages"][0]["name"], &json["stages"][0]["threads"]), (&"encode".into(), &2.into()));
    assert_eq!((&json["tasks"][1]["stage"], &json["tasks"][1]["replicable"]), (&"encode".into(), &true.into()));
    let wires = json["wires"].as_array().unwrap();
    let symbols = wires.iter().find(|wire| wire["name"] == "symbols").unwrap();
    assert_eq!((&symbols["element"], &symbols["length"]), (&"Complex<f32>".into(), &8370.into()));
}

#[test]
fn kinds_are_listed_and_explained() {
    let folder = Folder::new("run-kinds");
    let shown = folder.succeed(["run", "--kinds"]);
    assert!(shown.contains("\nradio.read  ") && shown.contains("\nfile.write  "), "{shown}");
    let kinds: Vec<Value> = serde_json::from_str(&folder.succeed(["run", "--kinds", "--json"])).unwrap();
    for kind in &kinds {
        let shown = folder.succeed(["run", "--kinds", kind["kind"].as_str().unwrap()]);
        assert!(shown.lines().all(|line| line.chars().count() <= 80), "{shown}");
    }
    let shown = folder.succeed(["run", "--kinds", "radio.quantise"]);
    let meaning = "  format  of the samples (text: \"cf32\", \"ci16\", \"ci8\" or \"cu8\") [\"ci16\"]\n";
    for part in ["  in Complex<f32>, in frames of one length or any\n", "1000000) [1.0]", meaning] {
        assert!(shown.contains(part), "no `{part}` in {shown}");
    }
    let json: Value = serde_json::from_str(&folder.succeed(["run", "--kinds", "radio.read", "--json"])).unwrap();
    assert_eq!((&json["outputs"][0], &json["parameters"][2]["default"]), (&"out Complex<f32>".into(), &4096.into()));
    assert_eq!(json["parameters"][0]["required"], true);
    let frame = &json["parameters"][2];
    assert_eq!((&frame["type"], &frame["range"]), (&"whole number".into(), &"1 to 16777216".into()));
    assert_eq!(json["parameters"][1]["choices"][3], "cu8");
    let json: Value = serde_json::from_str(&folder.succeed(["run", "--kinds", "radio.shift", "--json"])).unwrap();
    assert_eq!((&json["parameters"][1]["unit"], &json["parameters"][1]["range"]), (&"Hz".into(), &Value::Null));
    assert!(folder.fail(["run", "--kinds", "radio.raed"]).contains("did you mean `radio.read`?"));
    for arguments in [&["run"][..], &["run", "x.toml", "--kinds"], &["run", "x.toml", "--one-core", "--depth", "2"]] {
        assert_eq!(folder.command().args(arguments).output().unwrap().status.code(), Some(2), "{arguments:?}");
    }
    assert!(folder.succeed(["run", "--help"]).contains("Examples:"));
}

#[test]
fn each_kind_of_bad_file_is_shown_with_its_line() {
    let folder = Folder::new("run-bad");
    folder.write("in.ci8", sample());
    for (right, wrong, line, told) in [
        ("batch = 2", "batch = ", 2, "string values must be quoted"),
        ("batch = 2", "bach = 2", 2, "a chain file has no `bach`: did you mean `batch`?"),
        ("batch = 2", "batch = true", 2, "`batch` must be a whole number, not a boolean"),
        ("batch = 2", "depth = 2", 2, "`depth` is about stages, but no task names a stage"),
        ("\"quantise\"", "\"read\"", 12, "two tasks are named `read`: line 5 has the other"),
        ("radio.quantise", "radio.quantize", 13, "did you mean `radio.quantise`?"),
        ("[\"iq\"]\nout", "[\"qi\"]\nout", 14, "wire `qi` is made by no task"),
        (
            "out = [\"bytes\"]",
            "out = [\"iq\"]",
            15,
            "wire `iq` is made twice: by task `read` (line 7) and by task `quantise`",
        ),
        (
            "in = [\"bytes\"]",
            "in = [\"iq\"]",
            21,
            "input 0 takes u8, but gets Complex<f32>, in frames of one length, from task `read`",
        ),
        ("format = \"ci8\"", "formt = \"ci8\"", 16, "`radio.quantise` has no such parameter: did you mean `format`?"),
        ("format = \"ci8\"", "format = 8", 16, "parameter `format` must be text in quotes, not 8"),
        ("frame = 1000", "frame = 0", 9, "parameter `frame` must be 1 to 16777216, not 0"),
        ("in.ci8", "absent.ci8", 8, "absent.ci8: No such file"),
        ("in.ci8\"", "in.ci8\"\nstage = \"x\"\n[stage.y]", 10, "no task names stage `y`: did you mean `x`?"),
        (
            "out = [\"bytes\"]",
            "out = [\"bytes\", \"_\"]",
            15,
            "it makes 1 wire (out u8, in frames of one length or any, as its input), but `out` names 2",
        ),
    ] {
        let text = CONVERT.replacen(right, wrong, 1);
        assert_ne!(text, CONVERT, "{right}");
        folder.write("x.toml", &text);
        let message = folder.fail(["run", "x.toml"]);
        assert!(message.starts_with(&format!("bief: x.toml:{line}: ")) && message.contains(told), "{wrong}: {message}");
        let shown = text.lines().nth(line - 1).unwrap().trim_end();
        let (number, gutter) = (line.to_string(), " ".repeat(line.to_string().len()));
        let excerpt = format!("\n{gutter} |\n{number} | {shown}\n{gutter} | ");
        assert!(message.contains(&excerpt) && message.trim_end().ends_with('^'), "{message}");
    }
    assert!(!folder.path("out.ci8").exists(), "nothing is written by what is refused");
    assert!(folder.fail(["run", "absent.toml"]).contains("absent.toml: No such file"));

    let stages = CONVERT.replacen("out = [\"iq\"]", "out = [\"iq\"]\nstage = \"in\"", 1);
    folder.write("x.toml", stages + "\n[stage.in]\nthreads = 2\n");
    let message = folder.fail(["run", "x.toml"]);
    assert!(message.contains("x.toml:26: stage `in` cannot have 2 threads: task `read` remembers"), "{message}");

    // A fault while it runs names file and task.
    if std::path::Path::new("/dev/full").exists() {
        folder.write("x.toml", CONVERT.replacen("out.ci8", "/dev/full", 1));
        let message = folder.fail(["run", "x.toml"]);
        assert!(
            message.starts_with("bief: x.toml: task `write` (stage `chain`") && message.contains("/dev/full"),
            "{message}"
        );
    }
}

#[test]
fn a_check_shows_what_a_piece_became() {
    let folder = Folder::new("run-piece");
    folder.write("in.ci8", sample());
    let low_pass = "[[task]]\nname = \"filter\"\nkind = \"radio.low_pass\"\nin = [\"iq\"]\nout = [\"low\"]\n\
                    sample_rate = 8000\ncutoff = 1000\ntransition = 1000\n\n[[task]]\nname = \"quantise\"";
    let text = CONVERT.replacen("[[task]]\nname = \"quantise\"", low_pass, 1).replacen(
        "in = [\"iq\"]\nout = [\"bytes\"]",
        "in = [\"low\"]\nout = [\"bytes\"]",
        1,
    );
    folder.write("x.toml", text);
    let shown = folder.succeed(["run", "x.toml", "--check"]);
    let part = "  filter (radio.low_pass), 2 tasks:\n    task filter/history, remembers from frame to frame\n    task filter\n    \
                reads iq\n    makes low (1000 x Complex<f32>)\n";
    assert!(shown.contains(part), "{shown}");
    let json: Value = serde_json::from_str(&folder.succeed(["run", "x.toml", "--check", "--json"])).unwrap();
    assert_eq!(json["tasks"][1]["tasks"], serde_json::json!(["filter/history", "filter"]));
}

#[test]
#[ignore = "long: part of .ci/run"]
fn a_plan_eats_nothing_of_a_pipe_and_a_report_leaves_standard_output_to_the_chain() {
    use std::io::Write;
    let folder = Folder::new("run-pipe");
    let text = CONVERT.replace("\"in.ci8\"", "\"-\"\nformat = \"ci8\"").replace("\"out.ci8\"", "\"-\"");
    folder.write("x.toml", text);
    let bytes = sample();
    let mut run = folder.command();
    run.args(["run", "x.toml", "--plan", "--refine", "1"]);
    run.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
    let mut run = run.spawn().unwrap();
    let (mut stdin, sent) = (run.stdin.take().unwrap(), bytes.to_vec());
    let writer = std::thread::spawn(move || stdin.write_all(&sent));
    let output = run.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{told}");
    assert!(output.stdout[..bytes.len()] == bytes[..], "each byte, once");
    assert!(output.stdout.len() < bytes.len() + 2000 && told.contains("frames, "), "{told}");
    let refused = folder.fail(["run", "x.toml", "--json"]);
    assert!(refused.contains("x.toml: task `write` and --json cannot both write to standard output"), "{refused}");
}

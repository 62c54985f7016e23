//! Neural networks on the command line: what is built in, files and streams, and what is refused.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use serde_json::Value;

use crate::common::{Folder, assert_narrow, assert_usage, stderr};

/// A network of the crate that runs them.
fn network(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../bief-nn/data").join(name)
}

/// The input of the tiny networks, so many frames of it.
fn frames(count: usize) -> Vec<u8> {
    let frame = (0..64).flat_map(|k| ((7 * k % 11) as f32 - 5.0).to_le_bytes());
    frame.collect::<Vec<u8>>().repeat(count)
}

/// An array that tells so many of these frames, and has as many as that.
fn array(told: usize, there: usize) -> Vec<u8> {
    let head = format!("{{'descr': '<f4', 'fortran_order': False, 'shape': ({told}, 1, 8, 8), }}");
    [b"\x93NUMPY\x01\x00\x76\x00", format!("{head:<117}\n").as_bytes(), &frames(there)].concat()
}

fn floats(bytes: &[u8]) -> Vec<f32> {
    bytes.as_chunks().0.iter().map(|&bytes| f32::from_le_bytes(bytes)).collect()
}

/// What the tiny network makes of each frame.
const RESULT: [f32; 3] = [-2552.0, 94.0, 3099.0];

/// Makes the network, frames and results that the pages name; tells whether an engine is here.
pub(crate) fn prepare(folder: &Folder) -> bool {
    std::fs::copy(network("tiny_exact.onnx"), folder.path("net.onnx")).unwrap();
    folder.write("frames.f32", frames(20));
    folder.write("frames.npy", array(20, 20));
    folder.write("expected.f32", RESULT.repeat(20).iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<u8>>());
    let tried = folder.command().args(["nn", "net.onnx", "-i", "frames.f32", "--cores", "1"]).output().unwrap();
    tried.status.success()
}

/// A folder with the tiny network and its frames; `None`, and said aloud, where no engine is.
fn with_engine(name: &str) -> Option<Folder> {
    let folder = Folder::new(name);
    std::fs::copy(network("tiny_exact.onnx"), folder.path("tiny.onnx")).unwrap();
    folder.write("x.f32", frames(20));
    let tried = folder.command().args(["nn", "tiny.onnx", "-i", "x.f32", "--cores", "1"]).output().unwrap();
    let message = stderr(&tried);
    if !tried.status.success() && message.contains("there is no ONNX Runtime") {
        eprintln!("skipped: {message}");
        return None;
    }
    assert!(tried.status.success(), "{message}");
    Some(folder)
}

#[test]
fn segments_are_shown_with_or_without_an_engine() {
    let folder = Folder::new("nn-segments");
    let shown = folder.succeed(["nn", "--segments"]);
    assert!(shown.starts_with("modulation: 1 x 2 x 1024 to 1 x 10, 8 segments, 3.10 M"), "{shown}");
    let path = network("tiny_exact.onnx");
    let json = folder.succeed(["nn", path.to_str().unwrap(), "--segments", "--json"]);
    let json: Value = serde_json::from_str(&json).unwrap();
    let operators: Vec<String> =
        json["segments"].as_array().unwrap().iter().map(|segment| segment["operators"].to_string()).collect();
    assert_eq!(operators[1], r#"["Conv","Relu","Add"]"#);
    assert_eq!(json["segments"][3]["output"], serde_json::json!([1, 3]));
}

#[test]
fn results_are_written_in_each_form() {
    let Some(folder) = with_engine("nn-forms") else { return };
    let shown = folder.succeed(["nn", "tiny.onnx", "-i", "x.f32", "-o", "y.f32"]);
    for part in ["1 x 1 x 8 x 8 to 1 x 3", "onnxruntime", "frames    20", "2: 20", "to y.f32", "Planned"] {
        assert!(shown.contains(part), "no `{part}` in {shown}");
    }
    assert_narrow(&shown);
    assert_eq!(floats(&folder.read("y.f32")), RESULT.repeat(20));
    folder.succeed(["nn", "tiny.onnx", "-i", "x.f32", "-o", "y.npy", "--repeat", "2", "--batch", "8"]);
    let array = folder.read("y.npy");
    assert!(String::from_utf8_lossy(&array[..100]).contains("'shape': (40, 3, )"));
    assert_eq!(floats(&array[320..]), RESULT.repeat(40));
    // It is read again as what is expected.
    folder.write("names.txt", "low\nmiddle\nhigh\n");
    let lines = folder.succeed(
        ["nn", "tiny.onnx", "-i", "x.f32", "--repeat", "2", "--compare", "y.npy", "--tolerance", "0"]
            .into_iter()
            .chain(["-o", "-", "--top", "2", "--labels", "names.txt"]),
    );
    let lines: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 40);
    let message = folder.fail(["nn", "tiny.onnx", "-i", "x.f32", "-o", "."]);
    assert!(message.starts_with("bief: .: Is a directory"), "{message}");
    assert_eq!(lines[39]["frame"], 39);
    assert_eq!(lines[39]["top"][1], serde_json::json!({ "class": 1, "label": "middle", "value": 94.0 }));
}

#[test]
fn what_differs_fails() {
    let Some(folder) = with_engine("nn-differs") else { return };
    let mut expected: Vec<f32> = RESULT.repeat(20);
    expected[16] += 1.0;
    let bytes = |numbers: &[f32]| numbers.iter().flat_map(|number| number.to_le_bytes()).collect::<Vec<u8>>();
    folder.write("expected.f32", bytes(&expected));
    let compare = ["nn", "tiny.onnx", "-i", "x.f32", "--compare", "expected.f32"];
    let message = folder.fail(compare);
    assert!(message.contains("expected.f32: 1 of 20 results differ") && message.contains("frame 5"), "{message}");
    let json = folder.succeed(compare.into_iter().chain(["--tolerance", "1e-3", "--json"]));
    let json: Value = serde_json::from_str(&json).unwrap();
    assert_eq!((&json["results"]["compared"]["worst_frame"], &json["results"]["frames"]), (&5.into(), &20.into()));
    folder.write("one.f32", bytes(&RESULT));
    folder.succeed(["nn", "tiny.onnx", "-i", "x.f32", "--compare", "one.f32"]);
    folder.write("three.f32", bytes(&RESULT.repeat(3)));
    assert!(folder.fail(["nn", "tiny.onnx", "-i", "x.f32", "--compare", "three.f32"]).contains("it has 3 results"));
}

#[test]
fn a_stream_is_worked_off_and_its_damage_is_told() {
    let Some(folder) = with_engine("nn-stream") else { return };
    let run = |bytes: Vec<u8>| {
        let mut command = folder.command();
        let command = command.args(["nn", "tiny.onnx", "-i", "-", "-o", "y.f32"]);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        // It may end before it has read all.
        let _ = child.stdin.take().unwrap().write_all(&bytes);
        child.wait_with_output().unwrap()
    };
    let whole = run(frames(300));
    assert!(whole.status.success(), "{}", stderr(&whole));
    assert!(floats(&folder.read("y.f32")) == RESULT.repeat(300));
    // What was made before is kept, and what was whole.
    for whole in [299, 3] {
        let cut = run(frames(300)[..whole * 256 + 100].to_vec());
        let message = stderr(&cut);
        let words = format!("standard input: it ends within frame {whole}: 100 of 256 bytes");
        assert!(cut.status.code() == Some(74) && message.contains(&words), "{} {message}", cut.status);
        assert!(floats(&folder.read("y.f32.part")) == RESULT.repeat(whole));
    }
    assert_eq!(run(Vec::new()).status.code(), Some(66));
}

#[test]
fn the_built_in_network_tells_the_built_in_signals() {
    let Some(folder) = with_engine("nn-built-in") else { return };
    let json = folder.succeed(["nn", "--json"]);
    let json: Value = serde_json::from_str(&json).unwrap();
    assert_eq!((&json["results"]["frames"], &json["labels"][0]), (&200.into(), &"bpsk".into()));
    assert_eq!(json["segments"].as_array().unwrap().len(), 8);
    // A saved profile names the tasks, a saved plan their stages.
    folder.succeed(["nn", "--save-profile", "p.json", "--save-plan", "s.json"]);
    let again = folder.succeed(["nn", "--profile", "p.json", "--schedule", "s.json", "--repeat", "3", "--json"]);
    let again: Value = serde_json::from_str(&again).unwrap();
    assert_eq!(again["results"]["frames"], 600);
    let triple: Vec<u64> =
        json["results"]["classes"].as_array().unwrap().iter().map(|count| 3 * count.as_u64().unwrap()).collect();
    assert_eq!(again["results"]["classes"], serde_json::json!(triple));
    assert!(folder.fail(["nn", "--schedule", "s.json"]).contains("--schedule needs the --profile"));
    let profile = folder.succeed(["profile", "nn"]);
    assert!(profile.contains("c0") && profile.contains("logits"), "{profile}");
}

#[test]
fn what_cannot_be_is_refused() {
    let folder = Folder::new("nn-refused");
    std::fs::copy(network("tiny_exact.onnx"), folder.path("tiny.onnx")).unwrap();
    folder.write("x.f32", frames(1));
    folder.write("bad.onnx", &frames(2)[..]);
    folder.write("x.npy", frames(1));
    folder.write("few.npy", array(5, 1));
    folder.write("many.npy", array(1, 3));
    folder.write("huge.npy", array(usize::MAX, 1));
    folder.write("empty.f32", "");
    for (command, status, words) in [
        ("bad.onnx -i x.f32", 66, "bad.onnx: the file is damaged"),
        ("absent.onnx", 66, "absent.onnx: No such file"),
        (". -i x.f32", 66, ".: Is a directory"),
        ("tiny.onnx", 2, "tiny.onnx: no frames: give --input FILE, with frames of 1 x 1 x 8 x 8 numbers"),
        ("tiny.onnx -i x.npy", 66, "x.npy: as a NumPy array, it does not begin as one"),
        ("tiny.onnx -i few.npy", 66, "few.npy: as a NumPy array, it tells 5 frames of 256 bytes, and has 256 bytes"),
        ("tiny.onnx -i many.npy", 66, "it tells 1 frame of 256 bytes, and has 768 bytes"),
        ("tiny.onnx -i huge.npy", 66, "and has 256 bytes"),
        ("tiny.onnx -i x.f32 --compare empty.f32", 66, "empty.f32: there is no result in it"),
        ("tiny.onnx -i x.f32 --compare x.f32 --tolerance nan", 2, "it must be finite"),
        ("tiny.onnx -i x.f32 --compare x.f32 --tolerance=-1", 2, "it must not be negative"),
        ("tiny.onnx -i x.f32 --scale inf", 2, "it must be finite"),
        ("tiny.onnx -i x.f32 -o x.f32", 2, "--output would replace the input"),
        ("tiny.onnx -i x.f32 -o absent/y.f32", 2, "--output needs a folder that exists"),
        ("tiny.onnx -i x.f32 -o - --json", 2, "cannot both go to standard output"),
        ("tiny.onnx -i - --repeat 2", 2, "--repeat needs a file"),
        ("tiny.onnx -i x.f32 --library x.f32", 1, "x.f32"),
    ] {
        let output = folder.command().arg("nn").args(command.split(' ')).output().unwrap();
        let message = stderr(&output);
        assert!(
            output.status.code() == Some(status) && message.contains(words),
            "{command}: {} {message}",
            output.status
        );
    }
    assert_usage(&folder, &["nn", "--engine", "nothing"], "there is no engine `nothing`");
    assert_usage(&folder, &["nn", "--tolerance", "1"], "--compare");
    let mut command = folder.command();
    let none = command.args(["nn"]).env_remove("ORT_DYLIB_PATH").env("LD_LIBRARY_PATH", "").output().unwrap();
    // Unless the system has the library.
    assert!(none.status.success() || stderr(&none).contains("pip download onnxruntime"), "{}", stderr(&none));
}

/// Without a library of others.
#[cfg(feature = "tract")]
#[test]
fn the_engine_that_is_built_in_gives_the_same() {
    let folder = Folder::new("nn-tract");
    prepare(&folder);
    let compare = "net.onnx -i frames.f32 --compare expected.f32 --tolerance 0 --engine tract";
    let shown = folder.succeed(["nn"].into_iter().chain(compare.split(' ')));
    assert!(shown.contains("tract") && shown.contains("20 of 20 of the same class"), "{shown}");
    let message = folder.fail(["nn"].into_iter().chain(compare.split(' ')).chain(["--library", "lib.so"]));
    assert!(message.contains("tract is built in, and loads no library"), "{message}");
}

#[test]
fn the_chain_that_ships_tells_the_modulation_of_a_recording() {
    let Some(folder) = with_engine("nn-chain") else { return };
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("data");
    for end in ["meta", "data"] {
        let name = format!("dvbs2_qpsk_8-9_short.sigmf-{end}");
        std::fs::copy(data.join(&name), folder.path(&name)).unwrap();
    }
    let chain = include_str!("../../data/chains/modulation.toml").replace("../", "");
    folder.write("modulation.toml", &chain);
    folder.succeed(["run", "modulation.toml"]);
    let told = String::from_utf8(folder.read("modulation.csv")).unwrap();
    let lines: Vec<Vec<&str>> = told.lines().skip(1).map(|line| line.split(',').collect()).collect();
    // 700 000 samples in frames of 1024, of which the last is not whole.
    assert_eq!((lines.len(), lines[21][0]), (22, "672"), "{told}");
    // The network takes QPSK with a carrier for 8PSK: phase shift keying at least.
    assert!(lines.iter().all(|fields| fields[2].ends_with("psk")), "{told}");
    // In parts it tells the same.
    folder.write("parts.toml", chain.replace("kind = \"nn.infer\"", "kind = \"nn.infer\"\nparts = 3"));
    folder.succeed(["run", "parts.toml", "--plan"]);
    assert_eq!(String::from_utf8(folder.read("modulation.csv")).unwrap(), told);
}

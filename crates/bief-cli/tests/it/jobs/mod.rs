//! Commands as jobs of a queue, which kills them at any time and starts them again.

mod examples;
mod killed;

use std::process::Stdio;

use serde_json::Value;

use crate::common::{Folder, packets, sample, stderr};
use crate::interrupt::{send, wait_for_packets};

/// A recording of some packets.
fn recording(folder: &Folder, name: &str, content: &[u8]) {
    folder.write("in.ts", content);
    let output = format!("{name}.sigmf-meta");
    folder.succeed(["tx", "in.ts", "-o", &output, "--modcod", "qpsk-8/9", "--frame", "short", "--format", "ci8"]);
}

fn names(folder: &Folder) -> Vec<String> {
    let files = std::fs::read_dir(folder.path("")).unwrap();
    let mut names: Vec<_> = files.map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
#[ignore = "long: part of .ci/run"]
fn what_was_killed_is_partial_and_the_next_run_replaces_it() {
    let folder = Folder::new("jobs-killed");
    folder.write("x.ts", "of an earlier run");
    let mut command = folder.command();
    command.args(["rx", "-", "--format", "ci8", "--sps", "2", "-o", "x.ts", "--json", "x.json"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    send(child.stdin.take().unwrap());
    wait_for_packets(&folder);
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(names(&folder), ["x.ts", "x.ts.part"]);
    assert!(folder.read("x.ts") == b"of an earlier run");
    folder.write("x.ci8", sample());
    let again = ["rx", "x.ci8", "--sps", "2", "-o", "x.ts", "--json", "x.json"];
    folder.succeed(again);
    assert_eq!(names(&folder), ["x.ci8", "x.json", "x.ts"]);
    assert_eq!(folder.read("x.ts").len(), 385 * 188);
    // Nor does one that cannot be begun take it away.
    assert!(folder.fail(again.iter().chain(&["--gold", "262142"])).contains("262141"));
    assert_eq!(folder.read("x.ts").len(), 385 * 188);
}

#[test]
#[ignore = "long: part of .ci/run"]
fn one_output_has_one_run() {
    let folder = Folder::new("jobs-two");
    folder.write("x.ci8", sample());
    let mut command = folder.command();
    command.args(["rx", "-", "--format", "ci8", "--sps", "2", "-o", "x.ts"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    send(child.stdin.take().unwrap());
    wait_for_packets(&folder);
    let (status, message) = folder.failure(["rx", "x.ci8", "--sps", "2", "-o", "x.ts"]);
    assert_eq!(status, 75, "{message}");
    assert!(message.contains("x.ts.part: another run writes it"), "{message}");
    child.kill().unwrap();
    child.wait().unwrap();
    folder.succeed(["rx", "x.ci8", "--sps", "2", "-o", "x.ts"]);
}

#[test]
fn what_is_done_is_not_done_again() {
    let folder = Folder::new("jobs-resume");
    recording(&folder, "x", &packets(60));
    let rx = ["rx", "x.sigmf-meta", "-o", "x.ts", "--resume"];
    folder.write("x.ts.part", "of a run that was killed");
    folder.succeed(rx);
    assert!(folder.read("x.ts") == packets(60) && !folder.path("x.ts.part").exists());
    // The input is not even looked at.
    folder.write("x.sigmf-data", "");
    let output = folder.command().args(rx).output().unwrap();
    assert!(output.status.success() && stderr(&output) == "bief: x.ts is there: nothing is left to do\n");
    let told: Value = serde_json::from_str(&folder.succeed(rx.iter().chain(&["--json"]))).unwrap();
    assert_eq!((&told["skipped"], &told["outputs"][0]), (&true.into(), &"x.ts".into()));
    // The file of --json is the last of all: without it, the others may be of a run that was killed between them.
    let (status, _) = folder.failure(rx.iter().chain(&["--json", "x.json"]));
    assert_eq!(status, 66, "the recording is empty now");
    recording(&folder, "x", &packets(30));
    folder.succeed(rx.iter().chain(&["--json", "x.json"]));
    assert!(folder.read("x.ts") == packets(30));
    folder.write("x.sigmf-data", "");
    folder.succeed(rx.iter().chain(&["--json", "x.json"]));
    assert!(folder.fail("rx x.sigmf-meta -o - --resume".split(' ')).contains("nothing tells whether"));
}

#[test]
#[ignore = "long: part of .ci/run"]
fn every_command_that_is_a_job_resumes() {
    let folder = Folder::new("jobs-commands");
    folder.write("in.ts", packets(20));
    folder.write(
        "x.toml",
        "[[task]]\nname = 'read'\nkind = 'radio.read'\nout = ['iq']\npath = 'x.ci8'\n
         [[task]]\nname = 'quantise'\nkind = 'radio.quantise'\nin = ['iq']\nout = ['bytes']\nformat = 'ci8'\n
         [[task]]\nname = 'write'\nkind = 'file.write'\nin = ['bytes']\npath = 'out.ci8'\n",
    );
    folder.write("x.ci8", sample());
    for (command, output) in [
        ("tx in.ts -o t.sigmf-meta --modcod qpsk-1/2 --frame short", "t.sigmf-data"),
        ("nbfm -o n.wav", "n.wav"),
        ("meteors -o m.csv", "m.csv"),
        ("run x.toml", "out.ci8"),
        ("rx -o y.ts --bbframes", "y.ts"),
        ("ip y.ts -o p.pcap", "p.pcap"),
    ] {
        // There is no IP packet in what ships.
        let ends_well = !command.starts_with("ip");
        let run = || folder.command().args(command.split(' ')).arg("--resume").output().unwrap();
        let first = run();
        assert_eq!(first.status.success(), ends_well, "{command}: {}", stderr(&first));
        assert_eq!(folder.path(output).exists(), ends_well, "{command}");
        if ends_well {
            folder.write(output, "mine now");
            let second = run();
            assert!(second.status.success() && stderr(&second).contains("nothing is left to do"), "{command}");
            assert!(folder.read(output) == b"mine now", "{command}");
        }
    }
}

#[test]
#[ignore = "long: part of .ci/run"]
fn a_machine_is_told_how_far_a_run_is() {
    let folder = Folder::new("jobs-progress");
    folder.write("in.ts", packets(20));
    folder.write("x.ci8", sample());
    let mut command = folder.command();
    command.args("rx - --format ci8 --sps 2 -o x.ts --progress=far.jsonl".split(' '));
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    send(child.stdin.take().unwrap());
    let lines = || -> Vec<Value> {
        let text = std::fs::read_to_string(folder.path("far.jsonl")).unwrap_or_default();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    };
    let received = |line: &Value| line["figures"]["packets"].as_u64().unwrap();
    crate::interrupt::wait_for("lines about packets", || lines().last().is_some_and(|line| received(line) > 0));
    child.kill().unwrap();
    child.wait().unwrap();
    let told = lines();
    let (first, last) = (&told[0], &told[told.len() - 1]);
    assert!(received(first) <= received(last) && last["ended"] == false, "{first} {last}");
    assert!(told.is_sorted_by(|a, b| a["seconds"].as_f64() < b["seconds"].as_f64()));
    // One at the end in any case; on standard error, with nothing else that begins so.
    for arguments in
        ["rx x.ci8 --sps 2 -o y.ts", "nbfm -o n.wav", "tx in.ts -o t.sigmf-meta --modcod qpsk-1/4 --frame short"]
    {
        let output = folder.command().args(arguments.split(' ')).arg("--progress").output().unwrap();
        let told = stderr(&output);
        let lines: Vec<Value> =
            told.lines().filter(|line| line.starts_with('{')).map(|line| serde_json::from_str(line).unwrap()).collect();
        assert!(output.status.success() && lines.last().unwrap()["ended"] == true, "{arguments}: {told}");
    }
}

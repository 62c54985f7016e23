//! No output replaces an input, another output, or what is there and nobody named.

use std::fs::{self, File};
use std::process::{Command, Stdio};

use crate::common::{Folder, packets, sample, stderr};

const META: &str = r#"{"global": {"core:datatype": "ci8", "core:sample_rate": 2.0}, "captures": []}"#;

fn meta_of(dataset: &str) -> String {
    format!(
        r#"{{"global": {{"core:datatype": "ci8", "core:sample_rate": 2.0, "core:dataset": "{dataset}"}}, "captures": []}}"#
    )
}

/// Every command is refused, and all files stay as they are.
fn all_refused(folder: &Folder, commands: &[&str]) {
    let content = |folder: &Folder| {
        let mut files: Vec<_> = fs::read_dir(folder.path("")).unwrap().map(|file| file.unwrap().path()).collect();
        files.sort();
        files.into_iter().map(|file| (fs::read(&file).unwrap(), file)).collect::<Vec<_>>()
    };
    let before = content(folder);
    for command in commands {
        let message = folder.fail(command.split(' '));
        assert!(message.contains(" would replace "), "{command}: {message}");
        assert!(content(folder) == before, "{command}");
    }
}

#[test]
fn no_output_is_a_file_of_the_recording() {
    let folder = Folder::new("files-recording");
    folder.write("y.sigmf-data", sample());
    folder.write("y.sigmf-meta", META);
    folder.write("x.ci8", sample());
    for name in ["hard.ts", "hard.json"] {
        fs::hard_link(folder.path("x.ci8"), folder.path(name)).unwrap();
    }
    folder.write("set.sigmf-meta", meta_of("set.ts"));
    folder.write("set.ts", sample());
    folder.write("n.sigmf-meta", meta_of("n.wav"));
    folder.write("n.wav", sample());
    all_refused(
        &folder,
        &[
            // Their common name.
            "rx y -o y.sigmf-data",
            "rx y -o y.sigmf-meta",
            "rx y --json y.sigmf-data",
            "nbfm y -o y.s16 --json y.sigmf-data",
            "profile rx y -o y.sigmf-data",
            "realtime rx y --rate 1Mb/s --json y.sigmf-meta",
            // Links.
            "rx x.ci8 --sps 2 -o hard.ts",
            "rx x.ci8 --sps 2 --json hard.json",
            "rx x.ci8 --sps 2 --save-profile hard.json",
            "rx x.ci8 --sps 2 --save-plan hard.json",
            "rx x.ci8 --sps 2 --save-place hard.json",
            "rx x.ci8 --sps 2 --trace hard.json",
            "rx x.ci8 --sps 2 --dot hard.json",
            "rx x.ci8 --sps 2 --constellation hard.json",
            "tx x.ci8 --generic --modcod qpsk-1/4 --frame short -o out.sigmf-meta --json hard.json",
            // What the description names; by default, too.
            "rx set.sigmf-meta",
            "rx set.sigmf-meta --force",
            "rx set -o set.ts",
            "nbfm n.sigmf-meta",
            "nbfm n.sigmf-meta --force",
            "nbfm n -o n.wav",
        ],
    );
}

#[test]
fn no_output_is_a_document_that_is_read() {
    let folder = Folder::new("files-documents");
    let profile = folder.succeed(["plan", "ai370", "--json"]);
    folder.write("p.json", profile);
    folder.write("rows.csv", "big,watts\n1,2\n");
    folder.write("chain.toml", "[[task]]\nname = 'read'\nkind = 'radio.read'\nout = ['iq']\npath = 'y'\n");
    folder.write("y.sigmf-data", sample());
    folder.write("y.sigmf-meta", META);
    all_refused(
        &folder,
        &[
            "plan p.json --svg p.json",
            "plan p.json --cores 2 --json p.json",
            "plan ai370 --platform p.json --svg p.json",
            "power fit rows.csv --platform p.json -o p.json",
            "power fit rows.csv --platform p.json -o rows.csv",
            "power fit rows.csv --json rows.csv",
            "power read --meter rows.csv --json rows.csv",
            "realtime p.json --json p.json --svg p.svg",
            // The samples behind a task that reads their description.
            "run chain.toml --json y.sigmf-data",
            "run chain.toml --trace y.sigmf-data",
            "run chain.toml --dot y.sigmf-meta",
            "run chain.toml --plan --save-plan y.sigmf-data",
        ],
    );
}

#[test]
fn redirections_are_files_like_others() {
    let folder = Folder::new("files-redirected");
    folder.write("x.ci8", sample());
    folder.write("p.json", "{}");
    let refused = |script: &str| {
        let script = format!("exec \"$0\" {script}");
        let output = Command::new("sh")
            .args(["-c", &script, env!("CARGO_BIN_EXE_bief")])
            .current_dir(folder.path(""))
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let message = stderr(&output);
        assert!(output.status.code() == Some(2) && message.contains(" would replace "), "{script}: {message}");
        assert!(folder.read("x.ci8") == sample() && folder.read("p.json") == b"{}", "{script}");
    };
    refused("rx - --format ci8 --sps 2 -o x.ci8 < x.ci8");
    refused("rx - --format ci8 --sps 2 -o - < x.ci8 >> x.ci8");
    refused("rx x.ci8 --sps 2 >> x.ci8");
    refused("rx x.ci8 --sps 2 -o - >> x.ci8");
    refused("rx x.ci8 --sps 2 -o /dev/stdout >> x.ci8");
    refused("nbfm - --format ci8 --rate 576e3 -o x.wav --json x.ci8 < x.ci8");
    refused("plan - --svg p.json < p.json");
    refused("plan p.json >> p.json");
    assert!(!folder.path("x.ts").exists() && !folder.path("x.wav").exists());
}

#[test]
#[ignore = "long: part of .ci/run"]
fn what_nobody_named_is_not_replaced() {
    let folder = Folder::new("files-default");
    folder.write("in.ts", packets(60));
    folder.succeed("tx in.ts -o in.sigmf-meta --modcod qpsk-8/9 --frame short".split(' '));
    let message = folder.fail(["rx", "in.sigmf-meta"]);
    assert!(message.contains("in.ts: ") && message.contains("-o") && message.contains("--force"), "{message}");
    assert!(folder.read("in.ts") == packets(60));
    folder.succeed(["rx", "in.sigmf-meta", "--force"]);
    folder.succeed(["rx", "in.sigmf-meta", "-o", "in.ts"]);
    folder.succeed(["rx", "in.sigmf-meta", "-o", "in.ts", "--force"]);
    folder.fail(["rx", "in.sigmf-meta", "-o", "in.sigmf-data", "--force"]);
    // The names of these are known when the streams are found.
    folder.succeed("tx in.ts -o g.sigmf-meta --generic --modcod qpsk-1/4 --frame short".split(' '));
    folder.succeed("tx in.ts -o i.sigmf-meta --isi 7 --modcod qpsk-8/9 --frame short".split(' '));
    for (recording, name) in [("g.sigmf-meta", "g.bin"), ("i.sigmf-meta", "i.isi7.ts")] {
        folder.write(name, "precious");
        let message = folder.fail(["rx", recording]);
        assert!(message.contains(&format!("{name}: ")) && message.contains("--force"), "{message}");
        assert!(folder.read(name) == b"precious");
        folder.succeed(["rx", recording, "--force"]);
        assert!(folder.read(name) != b"precious");
    }
    folder.write("y.sigmf-data", sample());
    folder.write("y.sigmf-meta", META.replace("2.0", "576e3"));
    folder.write("y.wav", "precious");
    let nbfm = ["nbfm", "y.sigmf-meta", "--carrier", "0", "--fixed"];
    assert!(folder.fail(nbfm).contains("y.wav: "));
    assert!(folder.read("y.wav") == b"precious");
    folder.succeed(nbfm.iter().chain(&["--force"]));
    // What is built in gives the same again.
    for command in ["rx", "rx", "nbfm", "nbfm"] {
        folder.succeed([command]);
    }
}

#[test]
fn outputs_that_got_nothing_are_removed() {
    let folder = Folder::new("files-full");
    folder.write("x.ci8", sample());
    folder.write("in.ts", packets(60));
    // No file may grow, as on a disk that is full.
    for (command, status, outputs) in [
        ("rx x.ci8 --sps 2", 74, &["x.ts"][..]),
        ("nbfm -o n.wav", 74, &["n.wav"]),
        ("tx in.ts -o t.sigmf-meta --modcod qpsk-8/9 --frame short", 1, &["t.sigmf-meta", "t.sigmf-data"]),
        ("plan mac_studio --json p.json --svg p.svg", 1, &["p.json", "p.svg"]),
    ] {
        let script = format!("trap '' XFSZ; ulimit -f 0; exec \"$0\" {command}");
        let mut shell = Command::new("sh");
        shell.args(["-c", &script, env!("CARGO_BIN_EXE_bief")]).current_dir(folder.path("")).stdin(Stdio::null());
        let output = shell.output().unwrap();
        assert_eq!(output.status.code(), Some(status), "{command}: {}", stderr(&output));
        for name in outputs {
            let partial = format!("{name}.part");
            assert!(!folder.path(name).exists() && !folder.path(&partial).exists(), "{command}: {}", stderr(&output));
        }
    }
}

#[test]
#[ignore = "long: part of .ci/run"]
fn json_goes_to_its_file_unless_that_is_a_recording() {
    let folder = Folder::new("files-json");
    for _ in 0..2 {
        folder.succeed(["rx", "--json", "result.txt"]);
        folder.succeed(["nbfm", "--json", "audio.txt"]);
    }
    folder.succeed(["machine", "--json", "here.txt"]);
    for name in ["result.txt", "audio.txt", "here.txt"] {
        assert!(serde_json::from_slice::<serde_json::Value>(&folder.read(name)).is_ok(), "{name}");
    }
    folder.write("y.sigmf-data", sample());
    folder.write("y.sigmf-meta", META);
    folder.write("raw", sample());
    for arguments in [&["y"][..], &["y.sigmf-meta"], &["raw", "--format", "ci8", "--sps", "2"]] {
        let shown = folder.succeed(["rx", "-o", "out.ts", "--json"].iter().chain(arguments));
        let json: serde_json::Value = serde_json::from_str(&shown).unwrap();
        assert!(json["input"].as_str().unwrap().starts_with(arguments[0]), "{arguments:?}");
    }
    assert!(folder.read("raw") == sample() && folder.read("y.sigmf-meta") == META.as_bytes());
    // A recording that is not there is missed, not written.
    assert!(folder.fail(["rx", "--json", "absent.ci8"]).contains("absent.ci8: No such file"));
    assert!(!folder.path("absent.ci8").exists());
}

#[test]
#[ignore = "long: part of .ci/run"]
fn reports_that_nobody_can_read_change_no_status() {
    let folder = Folder::new("files-stderr");
    folder.write("bad.toml", "x");
    for (command, status) in [
        ("rx -o -", 0),
        ("nbfm -o -", 0),
        ("rx absent.ci8", 66),
        ("run bad.toml", 2),
        ("rx --isi x", 2),
        ("map -- sh -c 'exit 3'", 3),
        ("map -- no-such-program", 127),
    ] {
        for to in ["2>&-", "2>/dev/full"] {
            let script = format!("\"$0\" {command} {to} > /dev/null");
            let mut shell = Command::new("sh");
            let shell = shell.args(["-c", &script, env!("CARGO_BIN_EXE_bief")]).current_dir(folder.path(""));
            let ended = shell.stdin(Stdio::null()).status().unwrap();
            assert_eq!(ended.code(), Some(status), "{command} {to}");
        }
    }
}

#[test]
fn documents_have_an_end() {
    let folder = Folder::new("files-endless");
    if File::open("/dev/zero").is_err() {
        eprintln!("skipped: there is no /dev/zero");
        return;
    }
    folder.write("p.json", "{}");
    for command in [
        "plan /dev/zero",
        "plan ai370 --platform /dev/zero",
        "power fit /dev/zero",
        "realtime /dev/zero",
        "rx --profile /dev/zero",
        "rx --schedule /dev/zero",
        "rx --watts /dev/zero",
        "machine --place /dev/zero",
        "run /dev/zero",
        "machine /dev/zero",
    ] {
        let message = folder.fail(command.split(' '));
        assert!(message.contains("longer than"), "{command}: {message}");
    }
    let mut plan = folder.command();
    let output = plan.args(["plan", "-"]).stdin(File::open("/dev/zero").unwrap()).output().unwrap();
    assert!(output.status.code() == Some(66) && stderr(&output).contains("longer than"), "{}", stderr(&output));
}

#[test]
fn escape_sequences_of_others_are_not_passed_on() {
    let folder = Folder::new("files-escape");
    let evil = "\u{1b}[2Jevil\u{9b}31m";
    folder.write("y.sigmf-data", sample());
    folder.write("y.sigmf-meta", META.replace("ci8", "ci8\\u001b[2J"));
    let file = format!("{evil}.ci8");
    folder.write(&file, sample());
    folder.write("p.json", format!(r#"{{"format": 1, "kinds": ["cpu"], "{}": 1}}"#, evil.replace('\u{1b}', "\\u001b")));
    folder.write("c.toml", format!("[[task]]\nname = 'x'\nkind = 'x{evil}'\n"));
    folder.write("rows.csv", format!("{evil},watts\n1,{evil}\n"));
    for arguments in [
        &["rx", "y.sigmf-meta"][..],
        &["rx", &file, "--sps", "2"],
        &["plan", "p.json", "--cores", "2"],
        &["run", "c.toml"],
        &["machine", "c.toml"],
        &["power", "fit", "rows.csv"],
        &["realtime", "p.json"],
        &["rx", "--profile", &file],
        &["nbfm", &format!("absent{file}"), "--rate", "576e3"],
    ] {
        let output = folder.command().args(arguments).output().unwrap();
        let shown = format!("{}{}", String::from_utf8_lossy(&output.stdout), stderr(&output));
        assert!(
            !shown.is_empty() && !shown.contains(|c: char| c.is_control() && c != '\n'),
            "{arguments:?}: {shown:?}"
        );
        assert!(shown.lines().all(|line| line.chars().count() <= 2000), "{arguments:?}");
    }
}

/// Addresses mean the same in every command, and in chain files.
#[test]
#[ignore = "long: part of .ci/run"]
fn inputs_and_outputs_may_be_addresses() {
    let folder = Folder::new("files-addresses");
    folder.write("x.ci8", sample());
    folder.succeed(["rx", "x.ci8", "--sps", "2", "-o", "plain.ts"]);
    folder.succeed(["rx", "file:x.ci8", "--sps", "2", "-o", "file:named.ts"]);
    folder.succeed(["rx", "file:x.ci8", "--sps", "2"]);
    let stream = folder.read("plain.ts");
    assert!(folder.read("named.ts") == stream && folder.read("x.ts") == stream);
    let transmit = "--modcod qpsk-8/9 --frame short";
    folder.succeed(format!("tx plain.ts -o plain.sigmf-meta {transmit}").split(' '));
    folder.succeed(format!("tx file:plain.ts -o file:named.sigmf-meta {transmit}").split(' '));
    assert!(folder.read("plain.sigmf-data") == folder.read("named.sigmf-data"));
    for arguments in [
        "rx udpp://localhost:1 -o x.wav",
        "nbfm udpp://localhost:1 -o x.wav",
        "tx udpp://x:1 -o y.sigmf-meta --modcod qpsk-1/2 --frame short",
    ] {
        let message = folder.fail(arguments.split(' '));
        assert!(message.contains("nothing opens `udpp:`"), "{arguments}: {message}");
    }
    for command in ["rx", "nbfm"] {
        let message = folder.fail([command, "udpp://localhost:1"]);
        assert!(message.contains("udpp://localhost:1: no file lies beside it: give -o OUT."), "{message}");
    }
    assert!(!folder.path("y.sigmf-data").exists() && !folder.path("x.wav").exists());
    // A file that is named like an address is a file.
    folder.write("a:b", sample());
    folder.succeed(["rx", "a:b", "--format", "ci8", "--sps", "2", "-o", "odd.ts"]);
    assert!(folder.read("odd.ts") == stream);
    // What is read is not replaced, however it is named.
    assert!(folder.fail(["rx", "file:x.ci8", "--sps", "2", "-o", "x.ci8"]).contains("would replace the input"));
}

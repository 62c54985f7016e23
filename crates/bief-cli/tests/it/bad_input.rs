//! What is wrong with the input is said, with the remedy; the exit status tells; what was received before is kept.

use std::io::{Read, Write};
use std::process::Stdio;

use crate::common::{Folder, packets, sample, stderr};

/// Bytes of one PLFRAME in the sample: 8370 symbols, 2 samples each, 2 bytes each.
const FRAME: usize = 8370 * 4;

#[test]
fn missing_and_empty_files() {
    let folder = Folder::new("missing");
    assert!(folder.fail(["rx", "absent.sigmf-meta"]).contains("absent.sigmf-meta: No such file"));
    assert!(folder.fail(["rx", "absent.cf32", "--sps", "2"]).contains("absent.cf32"));
    folder.write("empty.cf32", "");
    assert!(folder.fail(["rx", "empty.cf32", "--sps", "2"]).contains("empty.cf32: is empty"));
    assert!(folder.fail(["rx", ".", "--format", "ci8", "--sps", "2"]).contains("directory"));
    assert!(
        folder
            .fail(["tx", "absent.ts", "-o", "x.sigmf-meta", "--modcod", "qpsk-8/9", "--frame", "short"])
            .contains("absent.ts")
    );
    assert!(folder.fail(["plan", "absent.json", "--cores", "2"]).contains("absent.json"));
}

#[test]
fn what_is_not_said_about_a_raw_file() {
    let folder = Folder::new("raw");
    folder.write("x.dat", sample());
    folder.write("x.ci8", sample());
    assert!(folder.fail(["rx", "x.dat", "--sps", "2"]).contains("give --format"));
    assert!(folder.fail(["rx", "x.ci8", "--symbol-rate", "1e6"]).contains("give --sps in place of --symbol-rate"));
    assert!(folder.fail(["rx", "x.ci8", "--sps", "0.5"]).contains("1.5 to 8"));
    assert!(folder.fail(["rx", "-", "--format", "ci8", "--sps", "2"]).contains("give -o"));
    assert!(folder.fail(["rx", "x.ci8", "--sps", "2", "--live"]).contains("a file waits"));
    assert!(folder.fail(["rx", "--live"]).contains("leave out --live"));
}

#[test]
fn a_file_cut_inside_a_sample_gives_what_it_has() {
    let folder = Folder::new("truncated");
    folder.write("x.ci8", &sample()[..9 * FRAME + 1]);
    let message = folder.fail(["rx", "x.ci8", "--sps", "2"]);
    assert!(message.contains("ends inside a sample (1 of 2 bytes)"), "{message}");
    assert!(message.contains("kept: see x.ts.part") && !folder.path("x.ts").exists(), "{message}");
    assert_eq!(folder.read("x.ts.part").len() / 188, 74, "the packets of the 8 whole frames");
}

#[test]
fn sigmf_that_is_not_complete_or_not_understood() {
    let folder = Folder::new("sigmf");
    let meta = r#"{"global": {"core:datatype": "ci8", "core:sample_rate": 2.0}, "captures": []}"#;
    folder.write("lonely.sigmf-meta", meta);
    assert!(folder.fail(["rx", "lonely.sigmf-meta"]).contains("lonely.sigmf-data is missing"));
    folder.write("odd.sigmf-data", sample());
    folder.write("odd.sigmf-meta", meta.replace("ci8", "rf64_le"));
    assert!(folder.fail(["rx", "odd.sigmf-meta"]).contains("core:datatype `rf64_le` is not one of"));
    folder.write("odd.sigmf-meta", &meta[..40]);
    assert!(folder.fail(["rx", "odd.sigmf-meta"]).contains("not a SigMF description"));
    folder.write("odd.sigmf-meta", meta.replace("2.0", "2e6"));
    assert!(folder.fail(["rx", "odd.sigmf-meta", "--symbol-rate", "1e5"]).contains("20 samples per symbol"));
    folder.succeed(["rx", "odd.sigmf-meta", "--symbol-rate", "1e6"]);
}

#[test]
#[ignore = "long: part of .ci/run"]
fn noise_silence_and_a_tone_are_no_signal() {
    let folder = Folder::new("noise");
    let mut state = 9_u64;
    let noise: Vec<u8> = (0..4_000_000)
        .map(|_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 56) as u8
        })
        .collect();
    folder.write("noise.ci8", noise);
    folder.write("silence.ci8", vec![0; 4_000_000]);
    folder.write("tone.ci8", [100, 0, 0, 100, 156, 0, 0, 156].repeat(500_000));
    for name in ["noise", "silence", "tone"] {
        let message = folder.fail(["rx", &format!("{name}.ci8"), "--sps", "2"]);
        assert!(message.contains("no DVB-S2 signal in 2000000 samples"), "{message}");
        // Nor if nobody says how many samples a symbol has.
        let message = folder.fail(["rx", &format!("{name}.ci8")]);
        assert!(message.contains("2000000 samples") && message.contains("--sps"), "{message}");
        assert!(!folder.path(&format!("{name}.ts")).exists(), "nothing is written");
    }
}

#[test]
fn what_cannot_be_asked_for_is_named() {
    let folder = Folder::new("asked");
    assert!(folder.fail(["rx", "--gold", "262142"]).contains("use 0 (broadcast) to 262141"));
    assert!(folder.fail(["rx", "--sps", "9"]).contains("9 samples per symbol: give 1.5 to 8"));
    // Options that are no values of theirs are refused by the parser, with the usage.
    for arguments in [["rx", "--isi", "256"], ["rx", "--modcod", "qpsk-7/8"]] {
        let output = folder.command().args(arguments).output().unwrap();
        let message = stderr(&output);
        assert!(output.status.code() == Some(2) && message.contains(arguments[2]), "{message}");
    }
    // A stream that the carrier does not have: what it has is told.
    let message = folder.fail(["rx", "--isi", "3"]);
    assert!(
        message.contains("it carries no input stream 3") && message.contains("single transport stream"),
        "{message}"
    );
}

#[test]
#[ignore = "long: part of .ci/run"]
fn outputs_that_cannot_be_written() {
    let folder = Folder::new("output");
    assert!(folder.fail(["rx", "-o", "no/such/folder/x.ts"]).contains("no/such/folder/x.ts: No such file"));
    assert!(folder.fail(["rx", "-o", "."]).contains("directory"));
    assert!(folder.fail(["rx", "-o", "-", "--json"]).contains("give --json a file"));
    if std::path::Path::new("/dev/full").exists() {
        let message = folder.fail(["rx", "-o", "/dev/full"]);
        assert!(message.contains("write packets") && message.contains("No space left"), "{message}");
    }
    folder.write("in.ts", packets(10));
    let refused = ["tx", "in.ts", "-o", "no/x.sigmf-meta", "--modcod", "qpsk-8/9", "--frame", "short"];
    assert!(folder.fail(refused).contains("no/x.sigmf-data"));
}

#[test]
fn a_reader_that_goes_away_ends_the_run() {
    let folder = Folder::new("pipe");
    let mut child =
        folder.command().args(["rx", "-o", "-"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut some = [0; 188];
    let mut stdout = child.stdout.take().unwrap();
    stdout.read_exact(&mut some).unwrap();
    drop(stdout);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(74));
    let message = stderr(&output);
    assert!(message.contains("Broken pipe") && !message.contains("panicked"), "{message}");
}

#[test]
fn a_reader_of_a_table_that_goes_away_has_what_it_wanted() {
    let folder = Folder::new("head");
    for arguments in
        [&["plan", "mac_studio"][..], &["plan", "mac_studio", "--json"], &["plan", "ai370", "--svg", "-"], &["machine"]]
    {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output = folder.command().args(arguments).stdout(writer).stderr(Stdio::piped()).output().unwrap();
        assert_eq!((output.status.code(), &stderr(&output)[..]), (Some(0), ""), "{arguments:?}");
    }
    if let Ok(full) = std::fs::File::create("/dev/full") {
        let output = folder.command().args(["plan", "mac_studio"]).stdout(full).output().unwrap();
        let message = stderr(&output);
        assert!(output.status.code() == Some(1) && message.contains("standard output: No space left"), "{message}");
    }
}

#[test]
fn a_sender_that_goes_away_is_the_end_of_the_input() {
    let folder = Folder::new("stdin");
    let mut child = folder
        .command()
        .args(["rx", "-", "--format", "ci8", "--sps", "2", "-o", "x.ts"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(&sample()[..12 * FRAME]).unwrap();
    assert!(child.wait().unwrap().success());
    assert_eq!(folder.read("x.ts").len() / 188, 102, "the packets of the 11 whole frames");
}

#[test]
#[ignore = "long: part of .ci/run"]
fn a_transport_stream_with_a_fault_is_sent_up_to_it() {
    let folder = Folder::new("transmit");
    let mut stream = packets(60);
    stream[40 * 188] = 0x46;
    folder.write("in.ts", &stream);
    let transmit = ["tx", "in.ts", "-o", "x.sigmf-meta", "--modcod", "qpsk-8/9", "--frame", "short", "--pilots"];
    let message = folder.fail(transmit);
    assert!(message.contains("from byte 7520 on") && message.contains("0x46"), "{message}");
    // What it is worth is for a person to say.
    let take = || {
        for name in ["x.sigmf-data", "x.sigmf-meta"] {
            assert!(!folder.path(name).exists());
            std::fs::rename(folder.path(&format!("{name}.part")), folder.path(name)).unwrap();
        }
    };
    take();
    folder.succeed(["rx", "x.sigmf-meta", "--force"]);
    assert!(folder.read("x.ts") == stream[..40 * 188], "the packets before the fault");
    ["x.sigmf-data", "x.sigmf-meta"].iter().for_each(|name| std::fs::remove_file(folder.path(name)).unwrap());

    folder.write("in.ts", &packets(60)[..50 * 188 + 7]);
    assert!(folder.fail(transmit).contains("ends inside a packet: 7 bytes of 188"));
    take();
    folder.succeed(["rx", "x.sigmf-meta", "--force"]);
    assert_eq!(folder.read("x.ts").len() / 188, 50);

    folder.write("in.ts", "");
    assert!(folder.fail(transmit).contains("is empty"));
    folder.write("in.ts", packets(1));
    assert!(
        folder.fail(["tx", "in.ts", "-o", "x.iq", "--modcod", "qpsk-8/9", "--frame", "short"]).contains("sigmf-meta")
    );
    let no_rate = ["tx", "in.ts", "-o", "y.sigmf-meta", "--modcod", "qpsk-9/10", "--frame", "short"];
    assert!(folder.fail(no_rate).contains("QPSK 9/10 short: DVB-S2 defines no such PLFRAME"));
    assert!(!folder.path("y.sigmf-data").exists());
}

#[test]
fn what_cannot_be_transmitted_is_named() {
    let folder = Folder::new("untransmitted");
    folder.write("a.ts", packets(3));
    folder.write("b.ts", &packets(3)[..200]);
    let modcod = ["-o", "x.sigmf-meta", "--modcod", "8psk-3/5", "--frame", "short"];
    for (arguments, told) in [
        (&["a.ts", "b.ts"][..], "2 inputs share the carrier: give --isi one number for each, as in --isi 1,2"),
        (&["a.ts", "b.ts", "--isi", "1"], "2 inputs share the carrier"),
        (&["a.ts", "b.ts", "--isi", "1,2,3"], "--isi has 3 numbers for 2 inputs: give one for each"),
        (&["a.ts", "b.ts", "--isi", "4,4"], "two input streams have ISI 4: give each its own"),
        (&["-", "-", "--isi", "1,2"], "standard input can be read once"),
        (&["a.ts", "--gold", "262142"], "PL scrambling code 262142 does not exist; use 0 (broadcast) to 262141"),
        (&["a.ts", "--generic=1"], "generic packets have 2 to 8191 bytes, not 1"),
        (&["a.ts", "--sps", "3.14159"], "ratio of small numbers"),
        (&["a.ts", "--symbol-rate", "20"], "40 samples per second would be read as samples per symbol"),
    ] {
        let message = folder.fail(["tx"].iter().chain(arguments).chain(&modcod));
        assert!(message.contains(told), "{arguments:?}: {message}");
        assert!(!folder.path("x.sigmf-data").exists(), "{arguments:?}");
    }
    for (list, told) in [
        ("qpsk-1/2:normal,8psk-7/8:short", "--vcm: `8psk-7/8:short`: `8psk-7/8` is no DVB-S2 MODCOD"),
        (
            "qpsk-1/2:normal,qpsk-9/10:short",
            "--vcm: `qpsk-9/10:short`: QPSK 9/10 short: DVB-S2 defines no such PLFRAME",
        ),
        ("qpsk-1/2", "--vcm: `qpsk-1/2`: say the FECFRAME size"),
        ("dummy", "no PLFRAME carries data: give at least one MODCOD"),
    ] {
        let message = folder.fail(["tx", "a.ts", "-o", "x.sigmf-meta", "--vcm", list]);
        assert!(message.contains(told), "{list}: {message}");
    }
    for arguments in [
        &["a.ts", "--isi", "256"][..],
        &["a.ts", "--dummy", "0"],
        &["a.ts", "--vcm", "qpsk-1/2:normal"],
        &["a.ts", "--generic", "--delete-nulls"],
    ] {
        let output = folder.command().args(["tx"].iter().chain(arguments).chain(&modcod)).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
    }
    assert_eq!(folder.command().args(["tx", "a.ts", "-o", "x.sigmf-meta"]).output().unwrap().status.code(), Some(2));
    // Of several inputs the one that is wrong is named.
    let message = folder.fail(["tx", "a.ts", "b.ts", "--isi", "1,2"].iter().chain(&modcod));
    assert!(message.contains("b.ts: the transport stream ends inside a packet: 12 bytes of 188"), "{message}");
}

#[test]
fn profiles_and_platforms_that_do_not_fit() {
    let folder = Folder::new("plan-bad-input");
    let profile = r#"{"format": 1, "kinds": ["big", "little"], "frames_per_execution": 1, "bits_per_frame": 100,
        "tasks": [{"name": "a", "replicable": false, "ns": [100, 200]}]}"#;
    folder.write("two.json", profile);
    let message = folder.fail(["plan", "two.json", "--cores", "4"]);
    assert!(message.contains("big=4"), "{message}");
    folder.write("odd.json", profile.replace("\"format\": 1", "\"format\": 2"));
    assert!(folder.fail(["plan", "odd.json", "--cores", "big=1"]).contains("format"));
    folder.write("odd.json", profile.replace("\"tasks\"", "\"task\""));
    assert!(folder.fail(["plan", "odd.json", "--cores", "big=1"]).contains("task"));
    folder.write("odd.json", "{");
    assert!(folder.fail(["plan", "odd.json", "--cores", "big=1"]).contains("odd.json"));
}

#[test]
fn names_cores_and_goals_that_there_are_not() {
    let folder = Folder::new("names");
    let message = folder.fail(["plan", "mac_mini"]);
    assert!(message.contains("mac_mini: No such file"), "{message}");
    assert!(message.contains("orange_pi_5_plus, mac_studio, ai370, x7_ti"), "{message}");
    assert!(folder.fail(["plan", "ai370", "--platform", "mac_mini"]).contains("mac_studio"));
    folder.write(
        "p.json",
        r#"{"format": 1, "kinds": ["big", "little"], "frames_per_execution": 1,
            "tasks": [{"name": "a", "replicable": false, "ns": [100, 200]}]}"#,
    );
    let message = folder.fail(["plan", "p.json"]);
    assert!(message.contains("give --cores big=4,little=4, or --platform"), "{message}");
    assert!(folder.fail(["plan", "ai370", "--cores", "medium=1"]).contains("no kind `medium`"));
    assert!(folder.fail(["plan", "-", "--platform", "-"]).contains("not both"));

    let message = folder.fail(["plan", "ai370", "--goal", "fewest-cores", "--strategy", "otac"]);
    assert!(message.contains("leave the goal out"), "{message}");
    assert!(folder.fail(["plan", "ai370", "--goal", "least-power,period=1ns"]).contains("1ns"));
    assert!(folder.fail(["plan", "p.json", "--cores", "big=1", "--goal", "least-power"]).contains("watts"));
    for goal in ["fastest", "least-power,rate=fast", ""] {
        let output = folder.command().args(["plan", "ai370", "--goal", goal]).output().unwrap();
        let message = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{message}");
        assert!(message.contains("least-power"), "{message}");
    }
    assert!(folder.fail(["plan", "ai370", "--svg", "no/x.svg"]).contains("no/x.svg: No such file"));
    assert!(folder.fail(["plan", "ai370", "--svg", "-", "--json"]).contains("give --json or --svg a file"));
    for arguments in [&["plan", "--json", "p.json"][..], &["plan", "--json"]] {
        assert!(folder.fail(arguments).contains("no PROFILE: "), "{arguments:?}");
    }
    assert!(folder.read("p.json").starts_with(b"{\"format\""), "the profile is not overwritten");
    assert_eq!(folder.command().arg("plan").output().unwrap().status.code(), Some(2));
}

#[test]
fn no_output_replaces_the_input_or_another_output() {
    let folder = Folder::new("replace");
    folder.write("x.ci8", sample());
    folder.write("y.sigmf-data", sample());
    folder.write("y.sigmf-meta", r#"{"global": {"core:datatype": "ci8", "core:sample_rate": 2.0}, "captures": []}"#);
    let raw = ["rx", "x.ci8", "--sps", "2"];
    for (rest, word) in [
        (["-o", "./x.ci8"].as_slice(), "the received stream would replace the input"),
        (&["--json", "x.ci8"], "--json would replace the input"),
        (&["--trace", "x.ci8"], "--trace would replace the input"),
        (&["--json", "x.ts"], "the received stream would replace --json"),
        (&["--dot", "a", "--constellation", "a"], "--dot would replace --constellation"),
    ] {
        let message = folder.fail(raw.iter().chain(rest));
        assert!(message.contains(word), "{message}");
    }
    assert!(folder.fail(["rx", "y.sigmf-meta", "-o", "y.sigmf-data"]).contains("would replace the input"));
    assert_eq!((folder.read("x.ci8"), folder.read("y.sigmf-data")), (sample(), sample()));

    folder.write("a.ts", packets(20));
    let tx = |options: &[&str]| {
        let message = folder.fail([&["tx", "--modcod", "qpsk-1/4", "--frame", "short"], options].concat());
        assert!(message.contains("would replace"), "{message}");
    };
    tx(&["a.ts", "-o", "b.sigmf-meta", "--json", "a.ts"]);
    tx(&["a.ts", "-o", "b.sigmf-meta", "--json", "b.sigmf-data"]);
    tx(&["y.sigmf-data", "--generic", "-o", "y.sigmf-meta"]);
    assert_eq!((folder.read("a.ts"), folder.read("y.sigmf-data")), (packets(20), sample()));

    // The name of a generic stream is known when it is found.
    folder.succeed(["tx", "a.ts", "-o", "g.sigmf-meta", "--generic", "--modcod", "qpsk-1/4", "--frame", "short"]);
    let recording = folder.read("g.sigmf-data");
    folder.write("g.bin", &recording);
    let message = folder.fail(["rx", "g.bin", "--format", "ci16", "--sps", "2"]);
    assert!(message.contains("a single generic continuous stream would replace the input"), "{message}");
    assert_eq!(folder.read("g.bin"), recording);
    // Two streams that differ in kind alone have two files, unless one is named for both.
    folder.succeed(["tx", "a.ts", "-o", "t.sigmf-meta", "--modcod", "qpsk-1/4", "--frame", "short"]);
    folder.write("both.ci16", [folder.read("t.sigmf-data"), recording].concat());
    let both = ["rx", "both.ci16", "--sps", "2"];
    let message = folder.fail(both.iter().chain(&["-o", "one.ts"]));
    assert!(
        message.contains("would replace a single transport stream: name another file, or leave out -o"),
        "{message}"
    );
    assert_eq!(folder.read("one.ts.part"), packets(20));
    folder.succeed(both);
    assert_eq!((folder.read("both.ts"), folder.read("both.bin")), (packets(20), packets(20)));
}

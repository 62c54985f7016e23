//! `bief lab fer`: frame error rates that are repeatable, continued, and refused where they make no sense.

use serde_json::Value;

use crate::folder::{Folder, stderr};

/// QPSK 8/9 short, and what else is given.
fn fer(more: &str) -> Vec<&str> {
    "fer --modcod qpsk-8/9 --frame short".split(' ').chain(more.split_whitespace()).collect()
}

fn csv(folder: &Folder, name: &str) -> String {
    String::from_utf8(folder.read(name)).unwrap()
}

/// Values of a column, one for each point.
fn column(csv: &str, name: &str) -> Vec<f64> {
    let mut lines = csv.lines().map(|line| line.split(','));
    let place = lines.next().unwrap().position(|column| column == name).unwrap();
    lines.map(|mut values| values.nth(place).unwrap().parse().unwrap()).collect()
}

#[test]
#[ignore = "long: part of .ci/run"]
fn results_depend_neither_on_cores_nor_on_how_often_it_was_interrupted() {
    let folder = Folder::new("fer-resume");
    let points = "--esn0 5.9,6.2 --with receiver,ideal --frames 90";
    folder.succeed(fer(&format!("{points} --frame-errors 40 --cores 1 -o whole.csv")));
    folder.succeed(fer(&format!("{points} --frame-errors 9 --cores 2 -o parts.csv")));
    let half = column(&csv(&folder, "parts.csv"), "frames");
    folder.succeed(fer(&format!("{points} --frame-errors 40 --cores 3 -o parts.csv")));
    let whole = csv(&folder, "whole.csv");
    assert_eq!(csv(&folder, "parts.csv"), whole);
    assert!(half.iter().zip(column(&whole, "frames")).any(|(half, whole)| *half < whole), "{half:?}");
    // Nothing is left to do.
    let shown = folder.succeed(fer(&format!("{points} --frame-errors 40 -o whole.csv")));
    assert!(csv(&folder, "whole.csv") == whole && !shown.contains("measured in"), "{shown}");
    // Another seed is another measurement.
    folder.succeed(fer(&format!("{points} --frame-errors 40 --seed 2 -o other.csv")));
    assert_ne!(column(&csv(&folder, "other.csv"), "frame_errors"), column(&whole, "frame_errors"));
}

#[test]
#[ignore = "long: part of .ci/run"]
fn where_threads_are_refused_fewer_measure_or_it_is_said() {
    let folder = Folder::new("fer-threads");
    let measured = |setup: &str, output: &str| {
        let script = format!("{setup}; exec \"$0\" \"$@\" -o {output}");
        let mut shell = std::process::Command::new("sh");
        shell.args(["-c", &script, env!("CARGO_BIN_EXE_bief-lab")]).current_dir(folder.path(""));
        shell.args(fer("--esn0 5.9 --with ideal --frames 60 --cores 16")).output().unwrap()
    };
    let output = measured("true", "whole.csv");
    assert!(output.status.success(), "{}", stderr(&output));
    // Stacks of 256 MiB, and room for a few of them.
    let output = measured("ulimit -v 1500000; export RUST_MIN_STACK=268435456", "few.csv");
    assert!(output.status.success(), "{}", stderr(&output));
    assert_eq!(csv(&folder, "few.csv"), csv(&folder, "whole.csv"));
    let output = measured("export RUST_MIN_STACK=200000000000000", "none.csv");
    let message = stderr(&output);
    assert!(output.status.code() == Some(1) && message.contains("no thread can be started"), "{message}");
}

#[test]
#[ignore = "long: part of .ci/run"]
fn curves_fall_and_are_drawn() {
    let folder = Folder::new("fer-curve");
    let more = "--esn0 5.8:6.4:0.3 --with ideal,receiver --frames 200 --frame-errors 25 -o x.csv --svg x.svg";
    let shown = folder.succeed(fer(more));
    assert!(shown.lines().all(|line| line.chars().count() <= 80), "{shown}");
    let csv = csv(&folder, "x.csv");
    assert_eq!(column(&csv, "esn0_db"), [5.8, 6.1, 6.4, 5.8, 6.1, 6.4]);
    for curve in column(&csv, "fer").chunks(3) {
        assert!(curve.windows(2).all(|pair| pair[1] < pair[0]), "{curve:?}");
        // Published for the ideal chain: 0.01 at 6.21 dB.
        assert!(curve[0] > 0.5 && curve[2] < 0.02, "{curve:?}");
    }
    assert!(column(&csv, "frames_lost").iter().all(|lost| *lost == 0.0), "{csv}");
    let bounds = column(&csv, "fer_low").into_iter().zip(column(&csv, "fer_high"));
    assert!(bounds.zip(column(&csv, "fer")).all(|((low, high), fer)| low <= fer && fer <= high && low < high));
    let svg = String::from_utf8(folder.read("x.svg")).unwrap();
    assert!(svg.starts_with("<svg") && svg.contains("Table 13") && svg.matches("<circle").count() >= 4, "{svg}");
}

#[test]
fn the_loss_is_the_distance_of_the_curves() {
    let folder = Folder::new("fer-loss");
    folder.succeed(fer("--esn0 9 --with ideal --frames 1 -o x.csv"));
    let measured = csv(&folder, "x.csv");
    let (setup, _) = measured.split_once(",ideal,").unwrap();
    // A factor of 25 in 0.1 dB: both curves are at 0.01 half-way between their points.
    let points =
        ["receiver,6.200,9,5000,250", "receiver,6.300,9,20000,40", "ideal,6.100,9,5000,250", "ideal,6.200,9,20000,40"];
    let points = points.map(|point| format!("{},{point},0,0,0,0", setup.lines().last().unwrap()));
    folder.write("x.csv", format!("{}\n{}\n", measured.lines().next().unwrap(), points.join("\n")));
    // Nothing is left to be measured there.
    let again = fer("--esn0 6.2 --with ideal,receiver --frame-errors 40 -o x.csv --json x.json");
    let shown = folder.succeed(again);
    assert!(shown.contains("receiver at FER 0.01: Es/N0 6.25 dB (6.24 to 6.26)"), "{shown}");
    assert!(shown.contains("ideal at FER 0.01: Es/N0 6.15 dB"), "{shown}");
    assert!(shown.contains("loss at FER 0.01: 0.10 dB (0.09 to 0.11)"), "{shown}");
    let json: Value = serde_json::from_slice(&folder.read("x.json")).unwrap();
    assert!((json["loss"]["db"].as_f64().unwrap() - 0.1).abs() < 1e-9, "{json}");
}

#[test]
#[ignore = "long: part of .ci/run"]
fn without_points_the_curve_is_found() {
    let folder = Folder::new("fer-search");
    let shown = folder.succeed(fer("--with ideal --frames 60 --frame-errors 20 -o x.csv"));
    assert!(shown.contains("ideal at FER 0.01: unknown\nUnknown: "), "{shown}");
    let csv = csv(&folder, "x.csv");
    let rates = column(&csv, "fer");
    assert!(rates[0] > 0.3 && rates[rates.len() - 1] < 0.3 && column(&csv, "esn0_db")[0] == 6.0, "{csv}");
}

#[test]
#[ignore = "long: part of .ci/run"]
fn impairments_are_overcome() {
    let folder = Folder::new("fer-impairments");
    let more = "--esn0 9 --frames 60 --carrier -0.02 --clock 50 --sps 2.5 --rolloff 0.35 --pilots on --phase-noise -6 --symbol-rate 20e6";
    let json: Value = serde_json::from_str(&folder.succeed(fer(&format!("{more} --json")))).unwrap();
    assert_eq!(json["chains"][0]["points"][0]["frame_errors"], 0, "{json}");
    for (name, value) in [("carrier", "-0.02"), ("clock_ppm", "50"), ("sps", "2.5"), ("phase_noise_db", "-6")] {
        assert_eq!(json["setup"][name], value);
    }
    // So much phase noise is too much.
    let json: Value =
        serde_json::from_str(&folder.succeed(fer("--esn0 9 --frames 30 --phase-noise +20 --symbol-rate 1e6 --json")))
            .unwrap();
    assert!(json["chains"][0]["points"][0]["fer"].as_f64().unwrap() > 0.9, "{json}");
}

#[test]
fn what_makes_no_sense_is_refused_with_the_remedy() {
    let folder = Folder::new("fer-refused");
    for (more, words) in [
        ("--with ideal --carrier 0.01", "--carrier: changes nothing for chains that need not synchronise"),
        ("--with ideal --pilots off", "--pilots: changes nothing"),
        ("--symbol-rate 1e6", "--symbol-rate: changes nothing without phase noise"),
        ("--phase-noise mask", "give --symbol-rate"),
        ("--phase-noise mask --symbol-rate 3", "--symbol-rate 3: give a number from 1e3 to 1e9"),
        ("--sps 1", "--sps 1: give 1.5 to 8"),
        ("--sps nan", "--sps NaN: give"),
        ("--sps 3.14159265", "3.14159265 samples per symbol cannot be made"),
        ("--carrier 0.7", "--carrier 0.7: give a number from -0.5 to 0.5"),
        ("--clock -2000", "--clock -2000: give a number from -1000 to 1000"),
        ("-o -", "-o -: points go to a file"),
        ("-o no/such/x.csv", "no/such/x.csv: No such file"),
        ("-o .", ".: it is no file"),
        ("-o p --svg p", "--svg would replace -o"),
        ("--svg no/x.svg", "no/x.svg: No such file"),
        ("--json no/x.json", "no/x.json: No such file"),
        ("--json --svg -", "give --json or --svg a file"),
    ] {
        let message = folder.fail(fer(more));
        assert!(message.contains(words), "{more}: {message}");
    }
    for chain in ["receiver", "ideal"] {
        let message = folder.fail(["fer", "--modcod", "qpsk-9/10", "--frame", "short", "--with", chain]);
        assert!(message.contains("DVB-S2 has no QPSK 9/10"), "{message}");
    }
    for (more, words) in [
        ("--esn0 six", "`six` is no Es/N0"),
        ("--esn0 7:6:0.1", "rises from FROM to TO"),
        ("--with both", "possible values: receiver, ideal"),
        ("--phase-noise loud", "give off, mask, or a number of dB"),
        ("--rolloff 0.3", "0.35, 0.25 and 0.20"),
        ("--frame-errors 0", "--frame-errors"),
        ("--cores 0", "--cores"),
        ("--pilots maybe", "possible values: on, off"),
    ] {
        let output = folder.command().args(fer(more)).output().unwrap();
        let message = stderr(&output);
        assert!(output.status.code() == Some(2) && message.contains(words), "{more}: {message}");
    }
}

#[test]
fn a_file_of_something_else_is_not_touched() {
    let folder = Folder::new("fer-file");
    let point = "--with ideal --esn0 8 --frames 16";
    folder.succeed(fer(&format!("{point} -o x.csv")));
    let before = folder.read("x.csv");
    let message = folder.fail(fer(&format!("{point} --seed 7 -o x.csv")));
    assert!(
        message.contains("x.csv: line 2: seed is 1, not 7") && message.contains("another file with -o"),
        "{message}"
    );
    let message = folder.fail(["fer", "--modcod", "qpsk-3/4", "--frame", "short", "--with", "ideal", "-o", "x.csv"]);
    assert!(message.contains("modcod is qpsk-8/9, not qpsk-3/4"), "{message}");
    assert_eq!(folder.read("x.csv"), before);
    folder.write("notes.csv", "dear diary\n");
    let message = folder.fail(fer(&format!("{point} -o notes.csv")));
    assert!(message.contains("notes.csv: its first line"), "{message}");
    assert_eq!(folder.read("notes.csv"), b"dear diary\n");
    #[cfg(unix)]
    {
        let _socket = std::os::unix::net::UnixListener::bind(folder.path("socket")).unwrap();
        let message = folder.fail(fer(&format!("{point} -o socket")));
        assert!(message.contains("socket: it is no file"), "{message}");
        assert!(!folder.path("socket").is_file());
        std::os::unix::fs::symlink("x.csv", folder.path("link.csv")).unwrap();
        folder.succeed(fer("--with ideal --esn0 9 --frames 16 -o link.csv"));
        assert!(folder.path("link.csv").is_symlink());
        assert!(folder.read("x.csv").starts_with(&before) && folder.read("x.csv").len() > before.len());
    }
}

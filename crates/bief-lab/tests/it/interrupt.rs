//! Ctrl-C ends a measurement in order.

use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::folder::{Folder, stderr};

/// What a terminal does at Ctrl-C.
fn interrupt(child: &Child) {
    let sent = Command::new("sh").arg("-c").arg(format!("kill -INT {}", child.id())).status().unwrap();
    assert!(sent.success());
}

/// Where whoever started the tests lets them ignore Ctrl-C, the command does so too.
fn is_deaf() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| u64::from_str_radix(line.strip_prefix("SigIgn:")?.trim(), 16).ok());
    let deaf = ignored.is_some_and(|signals| signals & 0b10 != 0);
    if deaf {
        eprintln!("skipped: SIGINT is ignored here");
    }
    deaf
}

/// Waits until something is true, but not for ever.
fn wait_for(what: &str, mut is_so: impl FnMut() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < Duration::from_secs(60), "still waiting for: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn frame_error_rates_measured_so_far_are_kept() {
    if is_deaf() {
        return;
    }
    let folder = Folder::new("fer-interrupt");
    let mut command = folder.command();
    command.args(["fer", "--modcod", "qpsk-8/9", "--frame", "short", "--with", "ideal", "--esn0", "9"]);
    command.args(["--frames", "100000000", "--cores", "1", "-o", "x.csv", "--json"]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // The file is written from time to time: then there is something to be kept.
    let csv = || std::fs::read_to_string(folder.path("x.csv")).unwrap_or_default();
    wait_for("a point", || csv().lines().count() == 2);
    interrupt(&child);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{}", stderr(&output));
    assert!(stderr(&output).contains("interrupted; what was measured is kept in x.csv"), "{}", stderr(&output));
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let frames = json["chains"][0]["points"][0]["frames"].as_u64().unwrap();
    assert!(frames > 0 && csv().contains(&format!(",{frames},0,0,")), "{json} {}", csv());
}

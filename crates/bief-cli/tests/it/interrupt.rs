//! Ctrl-C, SIGTERM and SIGHUP end a reception in order, a second one at once.

#![cfg(unix)]

use std::io::Write;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::common::{Folder, sample, stderr};

/// What a terminal does at Ctrl-C.
fn interrupt(child: &Child) {
    signal(child, "INT");
}

fn signal(child: &Child, name: &str) {
    let sent = Command::new("sh").arg("-c").arg(format!("kill -{name} {}", child.id())).status().unwrap();
    assert!(sent.success());
}

/// Where whoever started the tests lets them ignore Ctrl-C or SIGHUP, the command does so too.
fn is_deaf() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| u64::from_str_radix(line.strip_prefix("SigIgn:")?.trim(), 16).ok());
    let deaf = ignored.is_some_and(|signals| signals & 0b11 != 0);
    if deaf {
        eprintln!("skipped: SIGINT or SIGHUP is ignored here");
    }
    deaf
}

/// Waits until something is true, but not for ever.
pub(crate) fn wait_for(what: &str, mut is_so: impl FnMut() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < Duration::from_secs(60), "still waiting for: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Waits until packets have been written: then the command listens to Ctrl-C.
pub(crate) fn wait_for_packets(folder: &Folder) {
    wait_for("packets", || std::fs::metadata(folder.path("x.ts.part")).is_ok_and(|file| file.len() > 0));
}

/// Sends the sample over and over until nobody listens.
pub(crate) fn send(mut to: impl Write + Send + 'static) {
    std::thread::spawn(move || {
        let sample = sample();
        while to.write_all(&sample).is_ok() {}
    });
}

#[test]
fn live_input_ends_in_order() {
    if is_deaf() {
        return;
    }
    for name in ["INT", "TERM", "HUP"] {
        let folder = Folder::new(&format!("live-{name}"));
        let mut command = folder.command();
        command.args(["rx", "-", "--format", "ci8", "--sps", "2", "-o", "x.ts", "--json"]);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        send(child.stdin.take().unwrap());
        wait_for_packets(&folder);
        ends_in_order(&folder, child, name);
    }
}

#[test]
fn a_radio_that_is_silent_does_not_hold_up_the_end() {
    if is_deaf() {
        return;
    }
    let folder = Folder::new("silent");
    let mut command = folder.command();
    command.args(["rx", "-", "--live", "--format", "ci8", "--sps", "2", "-o", "x.ts", "--json"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut radio = child.stdin.take().unwrap();
    (0..4).for_each(|_| radio.write_all(&sample()).unwrap());
    wait_for_packets(&folder);
    ends_in_order(&folder, child, "INT");
    drop(radio);
}

/// Ends it by a signal; everything that it counted must be in the file.
fn ends_in_order(folder: &Folder, child: Child, name: &str) {
    signal(&child, name);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(json["interrupted"], true);
    let written = folder.read("x.ts");
    assert_eq!(json["figures"]["packets"], written.len() / 188, "all that was received is in the file");
    assert!(written.chunks(188).all(|packet| packet.len() == 188 && packet[0] == 0x47));
}

#[test]
fn a_part_of_a_file_is_not_taken_for_the_whole() {
    if is_deaf() {
        return;
    }
    for (name, status) in [("INT", 130), ("TERM", 143), ("HUP", 129)] {
        a_part_is_told(name, status);
    }
}

fn a_part_is_told(name: &str, status: i32) {
    let folder = Folder::new(&format!("part-{name}"));
    // A file that is as long as it takes.
    let file = folder.path("x.ci8");
    assert!(Command::new("mkfifo").arg(&file).status().unwrap().success());
    let mut command = folder.command();
    let child =
        command.args(["rx", "x.ci8", "--sps", "2"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    send(std::fs::File::create(&file).unwrap());
    wait_for_packets(&folder);
    signal(&child, name);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(status));
    assert!(
        stderr(&output).contains("interrupted; what was received before is kept: see x.ts.part"),
        "{}",
        stderr(&output)
    );
    let shown = String::from_utf8(output.stdout).unwrap();
    assert!(shown.contains("interrupted") && shown.contains("planned us"), "{shown}");
    assert_eq!(folder.read("x.ts.part").len() % 188, 0);
    assert!(!folder.path("x.ts").exists());
}

#[test]
fn a_second_time_ends_it_at_once() {
    if is_deaf() {
        return;
    }
    // Where the first Ctrl-C comes before the receiver waits for its radio, it ends in order and needs no second one.
    wait_for("an end at the second time", || match status_when_interrupted_until_the_end() {
        Some(130) => true,
        in_order => {
            assert_eq!(in_order, Some(0));
            false
        }
    });
}

fn status_when_interrupted_until_the_end() -> Option<i32> {
    let folder = Folder::new("twice");
    let mut command = folder.command();
    command.args(["rx", "-", "--format", "ci8", "--sps", "2", "-o", "x.ts"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    // Enough to find a signal and to receive something; then the radio is silent, and keeps the line.
    let mut radio = child.stdin.take().unwrap();
    (0..4).for_each(|_| radio.write_all(&sample()).unwrap());
    wait_for_packets(&folder);
    let mut status = None;
    wait_for("the end", || {
        interrupt(&child);
        std::thread::sleep(Duration::from_millis(50));
        status = child.try_wait().unwrap();
        status.is_some()
    });
    drop(radio);
    status.unwrap().code()
}

#[test]
fn a_chain_ends_in_order() {
    if is_deaf() {
        return;
    }
    let folder = Folder::new("chain");
    let (fifo, out) = (folder.path("in.ci8"), folder.path("out.ci8.part"));
    assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    folder.write(
        "x.toml",
        "[[task]]\nname = 'read'\nkind = 'radio.read'\nout = ['iq']\npath = 'in.ci8'\n
         [[task]]\nname = 'quantise'\nkind = 'radio.quantise'\nstage = 'x'\nin = ['iq']\nout = ['bytes']\nformat = 'ci8'\n
         [[task]]\nname = 'write'\nkind = 'file.write'\nin = ['bytes']\npath = 'out.ci8'\n",
    );
    let mut command = folder.command();
    let child =
        command.args(["run", "x.toml", "--json"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    send(std::fs::File::create(&fifo).unwrap());
    wait_for("samples", || std::fs::metadata(&out).is_ok_and(|file| file.len() > 0));
    interrupt(&child);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{}", stderr(&output));
    assert!(
        stderr(&output).contains("x.toml: interrupted; what was taken before is delivered: see out.ci8.part"),
        "{}",
        stderr(&output)
    );
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(json["interrupted"], true);
    assert_eq!(json["report"]["frames"].as_u64().unwrap() * 2 * 4096, folder.read("out.ci8.part").len() as u64);
}

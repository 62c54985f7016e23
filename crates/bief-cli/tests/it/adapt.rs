//! A run that goes on when the system takes cores away and gives them back.

#![cfg(target_os = "linux")]

use std::process::{Command, Stdio};
use std::time::Duration;

use bief::Machine;
use bief::machine::affinity::Mask;
use serde_json::Value;

use crate::common::{Folder, stderr};
use crate::interrupt::{send, wait_for, wait_for_packets};

/// What the tasks of the receiver are called, and with them the threads of its stages.
const TASKS: [&str; 8] = ["cut ", "read ", "filter ", "correct ", "measure ", "demap", "decode ", "write "];

/// Nanoseconds that threads of stages have run which may use more than these hardware threads, or others.
fn worked_elsewhere(process: u32, places: &Mask) -> u64 {
    let tasks = std::fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
    let elsewhere = tasks.filter(|task| {
        let name = std::fs::read_to_string(task.path().join("comm")).unwrap_or_default();
        let thread = task.file_name().to_str().and_then(|name| name.parse().ok());
        let place = thread.and_then(|thread| Mask::of_thread(thread).ok());
        TASKS.iter().any(|task| name.starts_with(task)) && place.is_some_and(|place| place != *places)
    });
    let ran = elsewhere.filter_map(|task| std::fs::read_to_string(task.path().join("schedstat")).ok());
    ran.filter_map(|text| text.split(' ').next()?.parse::<u64>().ok()).sum()
}

#[test]
fn a_run_follows_the_cores_that_it_may_use() {
    follows("exact");
}

#[test]
fn a_run_whose_stages_may_share_cores_follows_those_that_it_may_use() {
    follows("shared");
}

/// A run that is planned by this strategy loses all hardware threads but those of the first core, and gets them back.
fn follows(strategy: &str) {
    let machine = Machine::here();
    let threads: Vec<usize> = machine.cores().iter().flat_map(|core| core.threads.clone()).collect();
    if machine.platform().kinds().iter().map(|kind| kind.cores).sum::<u32>() < 2 {
        eprintln!("skipped: a core can be taken away where there are two");
        return;
    }
    let folder = Folder::new(&format!("adapt-cores-{strategy}"));
    let mut command = folder.command();
    let options = "rx - --format ci8 --sps 2 --executions 20 --adapt --json -o x.ts --strategy";
    command.args(options.split(' ')).arg(strategy);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    send(child.stdin.take().unwrap());
    wait_for_packets(&folder);
    let process = i32::try_from(child.id()).unwrap();
    let (one, all) = (Mask::of(&threads[..1]).unwrap(), Mask::of(&threads).unwrap());
    // A thread that no plan needs any more stays, and rests.
    let is_spread = || {
        let before = worked_elsewhere(child.id(), &one);
        std::thread::sleep(Duration::from_millis(200));
        worked_elsewhere(child.id(), &one) > before
    };
    wait_for("work on more than one core", is_spread);
    one.set(process).unwrap();
    wait_for("all work on one core", || !is_spread());
    all.set(process).unwrap();
    wait_for("work on more than one core again", is_spread);
    assert!(Command::new("kill").args(["-TERM", &process.to_string()]).status().unwrap().success());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let json: Value = serde_json::from_slice(&output.stdout).unwrap();
    let changes = json["report"]["changes"].as_array().unwrap();
    let told =
        |change: &Value| change["reason"].as_str().is_some_and(|reason| reason.starts_with("the hardware threads"));
    assert!(changes.iter().filter(|change| told(change)).count() >= 2, "{changes:?}");
    assert_eq!(json["figures"]["packets"], folder.read("x.ts").len() / 188, "all that was received is in the file");
}

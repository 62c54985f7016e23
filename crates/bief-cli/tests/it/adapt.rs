//! A run that goes on when the system takes cores away and gives them back.

#![cfg(target_os = "linux")]

use std::ops::RangeBounds;
use std::process::{Command, Stdio};
use std::time::Duration;

use bief::Machine;
use bief::machine::affinity::Mask;
use serde_json::Value;

use crate::common::{Folder, stderr};
use crate::interrupt::{send, wait_for, wait_for_packets};

/// Nanoseconds that those threads of the process have run whose place is one of these.
fn worked(process: u32, is_one: impl Fn(Mask) -> bool) -> u64 {
    let tasks = std::fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
    let ones = tasks.filter(|task| {
        let thread = task.file_name().to_str().and_then(|name| name.parse().ok());
        thread.and_then(|thread| Mask::of_thread(thread).ok()).is_some_and(&is_one)
    });
    let ran = ones.filter_map(|task| std::fs::read_to_string(task.path().join("schedstat")).ok());
    ran.filter_map(|text| text.split(' ').next()?.parse::<u64>().ok()).sum()
}

#[test]
fn a_run_follows_the_cores_that_it_may_use() {
    // Threads have cores of their own: some may not use the first one.
    follows("exact", 2.., |process, one| {
        let elsewhere = || worked(process, |place| place.and(one).is_empty());
        // A thread that no plan needs any more stays, and rests.
        let before = elsewhere();
        std::thread::sleep(Duration::from_millis(200));
        elsewhere() > before
    });
}

#[test]
fn a_run_whose_stages_share_cores_follows_those_that_it_may_use() {
    // Threads may use both cores, and none works that may use the first one alone.
    follows("shared", 2..3, |process, one| {
        let there = || worked(process, |place| place == *one);
        let before = there();
        std::thread::sleep(Duration::from_millis(200));
        there() == before
    });
}

/// A run loses all hardware threads but the first and gets them back. `is_spread` says whether it works on more than these.
fn follows(strategy: &str, cores: impl RangeBounds<u32>, is_spread: impl Fn(u32, &Mask) -> bool) {
    let machine = Machine::here();
    let threads: Vec<usize> = machine.cores().iter().flat_map(|core| core.threads.clone()).collect();
    let here = machine.platform().kinds().iter().map(|kind| kind.cores).sum::<u32>();
    if !cores.contains(&here) {
        eprintln!("skipped: this machine has another number of cores than the plan is for: {here}");
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
    let is_spread = || is_spread(child.id(), &one);
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

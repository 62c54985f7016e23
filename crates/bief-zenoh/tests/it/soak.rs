//! A long run, over which workers come and go: memory stays what it is.

use std::thread;
use std::time::{Duration, Instant};

use bief::ChainFile;
use bief_zenoh::Without;

use crate::chain::{away_of, until};
use crate::process::{Process, Role, free, reach};

/// How long, where SOAK_SECONDS does not say.
const SECONDS: u64 = 60;
/// From one worker that is killed to the next.
const EACH: Duration = Duration::from_secs(2);
/// What is less is no growth: what allocators keep varies.
const VARIES_KB: u64 = 8 << 10;

/// Resident memory of a process, in kB.
fn resident_kb(process: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.split_whitespace().next().unwrap().parse().unwrap()
}

#[test]
#[ignore = "long: part of .ci/deep workers"]
fn memory_stays_what_it_is() {
    let seconds = std::env::var("SOAK_SECONDS").map_or(SECONDS, |seconds| seconds.parse().unwrap());
    let text = format!(
        "[[task]]\nname = 'play'\nkind = 'test.play'\nout = ['numbers']\nframes = {}\nseconds = {seconds}\n\
         [[task]]\nname = 'mix'\nkind = 'test.mix'\nin = ['numbers']\nout = ['mixed']\ntime_us = 500\n\
         [[task]]\nname = 'see'\nkind = 'test.see'\nin = ['mixed']",
        u64::MAX >> 1
    );
    let file = ChainFile::parse(&text, "soak.toml").unwrap();
    let places = [free(), free()];
    let start = |number: usize| {
        Process::worker(&Role { name: ["a", "b"][number], place: places[number].clone(), cores: 1, ..Role::default() })
    };
    let stays = start(0);
    let now = || [resident_kb(std::process::id()), resident_kb(stays.id())];
    let (mut kills, mut before, mut after) = (0, [0; 2], [0; 2]);
    let outcome = away_of((&file, None), &reach(&places), Without::Wait(1), |seen| {
        let mut goes = start(1);
        until(seen, 1);
        let begin = Instant::now();
        let part = |part: u32| Duration::from_secs(seconds) * part / 10;
        while begin.elapsed() < part(9) {
            thread::sleep(EACH);
            goes.kill();
            goes = start(1);
            kills += 1;
            // All that is used again has been used by then.
            if begin.elapsed() < part(3) {
                before = now();
            } else {
                let [front, worker] = now();
                after = [after[0].max(front), after[1].max(worker)];
            }
        }
    });
    outcome.ended.as_ref().unwrap();
    let [[front, worker], [most_front, most_worker]] = [before, after];
    println!(
        "{} frames in {:.0} s, {kills} kills: the front had {front} kB, at most {most_front} later; a worker {worker}, {most_worker}",
        outcome.seen.frames, outcome.seconds
    );
    assert!(most_front < front + VARIES_KB && most_worker < worker + VARIES_KB, "memory grows");
}

//! Recordings that are jobs, killed at random and queued again: every output is whole, and that of a quiet run.

use std::collections::VecDeque;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use super::{names, recording};
use crate::common::{Folder, packets};

/// Recordings, unless the environment says another number.
const FEW: usize = 8;
/// Jobs at a time: more than cores, as on a machine that others use too.
const WORKERS: usize = 3;

/// A job that runs, and when it is killed.
struct Running {
    number: usize,
    child: Child,
    /// `None` where it may run to its end.
    end: Option<Instant>,
}

#[test]
#[ignore = "long: part of .ci/run"]
fn jobs_that_are_killed_and_queued_again_leave_whole_outputs() {
    let count = std::env::var("BIEF_JOBS").map_or(FEW, |count| count.parse().expect("BIEF_JOBS: a number"));
    let seed = std::env::var("BIEF_SEED")
        .map_or_else(|_| fastrand::u64(..), |seed| seed.parse().expect("BIEF_SEED: a number"));
    println!("{count} recordings, BIEF_SEED={seed}");
    let mut chance = fastrand::Rng::with_seed(seed);
    let folder = Folder::new("jobs-random");
    let expected: Vec<Vec<u8>> = (0..count)
        .map(|number| {
            let content = packets(20 + 3 * number)[188 * (number % 7)..].to_vec();
            recording(&folder, &format!("r{number}"), &content);
            content
        })
        .collect();
    // How long one takes undisturbed, which most kills are to be in the midst of.
    let start = Instant::now();
    folder.succeed(["rx", "r0.sigmf-meta", "-o", "quiet.ts"]);
    let usual = start.elapsed();
    assert!(folder.read("quiet.ts") == expected[0]);

    let mut queue: VecDeque<(usize, u32)> = (0..count).map(|number| (number, 0)).collect();
    let mut tries = vec![0_u32; count];
    let (mut running, mut kills) = (Vec::<Running>::new(), 0);
    while !queue.is_empty() || !running.is_empty() {
        while running.len() < WORKERS
            && let Some((number, tried)) = queue.pop_front()
        {
            // The first at once. Later tries are left in peace, so that the test ends on any machine.
            let patience = match tried {
                0 if number == 0 => Duration::ZERO,
                0..3 => usual.mul_f64(1.5 * chance.f64()),
                _ => Duration::MAX,
            };
            tries[number] = tried;
            running.push(Running {
                number,
                child: start_job(&folder, number),
                end: Instant::now().checked_add(patience),
            });
        }
        let mut index = 0;
        while index < running.len() {
            let job = &mut running[index];
            if let Some(status) = job.child.try_wait().unwrap() {
                assert!(status.success(), "r{}: {status}", job.number);
                running.swap_remove(index);
            } else if job.end.is_some_and(|end| Instant::now() >= end) {
                job.child.kill().unwrap();
                job.child.wait().unwrap();
                kills += 1;
                queue.push_back((job.number, tries[job.number] + 1));
                running.swap_remove(index);
            } else {
                index += 1;
            }
        }
        // At no time is there a part of an output under its name.
        for (number, expected) in expected.iter().enumerate() {
            if let Ok(output) = std::fs::read(folder.path(&format!("r{number}.ts"))) {
                assert!(output == *expected, "r{number}.ts is not whole");
            }
            if folder.path(&format!("r{number}.json")).exists() {
                assert!(folder.path(&format!("r{number}.ts")).exists(), "r{number}.json came before its packets");
            }
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    println!("{kills} kills");
    assert!(kills > 0, "no job was killed: nothing was tried");
    for (number, expected) in expected.iter().enumerate() {
        assert!(folder.read(&format!("r{number}.ts")) == *expected, "r{number}");
        let told: serde_json::Value = serde_json::from_slice(&folder.read(&format!("r{number}.json"))).unwrap();
        assert_eq!(told["figures"]["packets"], expected.len() / 188, "r{number}");
    }
    assert!(!names(&folder).iter().any(|name| name.ends_with(".part")), "{:?}", names(&folder));
}

fn start_job(folder: &Folder, number: usize) -> Child {
    let [input, output, json] = ["sigmf-meta", "ts", "json"].map(|ending| format!("r{number}.{ending}"));
    let mut command = folder.command();
    command.args(["rx", &input, "-o", &output, "--json", &json, "--resume"]);
    command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

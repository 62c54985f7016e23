//! Random pipelines for as long as one likes, each run several times, against the same program in plain Rust.
//!
//! `.ci/deep soak` runs it for `SOAK_SECONDS` and prints how it goes; where that is not set, small pipelines run for 2 s. A failure names
//! the variables that begin with its pipeline.

mod common;
#[path = "common/random.rs"]
mod random;

use std::sync::Arc;
use std::time::{Duration, Instant};

use common::{silence_panics, within};
use random::{LARGE, Plan, SMALL, Told, check};

/// Resident memory in KiB and threads of this process; `None` where the system does not tell.
fn held() -> Option<(u64, u64)> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let field =
        |name: &str| status.lines().find_map(|line| line.strip_prefix(name)?.split_whitespace().next()?.parse().ok());
    Some((field("VmRSS:")?, field("Threads:")?))
}

/// The least that was held between two pipelines, in each half of the time after a warm-up of a fifth.
#[derive(Debug, Default, Clone, Copy)]
struct Least([Option<(u64, u64)>; 2]);

impl Least {
    /// Notes what is held when this share of the time has passed.
    fn note(&mut self, share: f64, (memory, threads): (u64, u64)) {
        if share >= 0.2 {
            let half = &mut self.0[usize::from(share >= 0.6)];
            let (least_memory, least_threads) = half.unwrap_or((memory, threads));
            *half = Some((memory.min(least_memory), threads.min(least_threads)));
        }
    }

    /// Nothing grows: the second half holds no more threads, and at most 2 MiB more memory (the allocator's own ups and
    /// downs), than the first.
    fn grown(&self) -> Option<String> {
        const UPS_AND_DOWNS: u64 = 2048;
        let [Some((memory, threads)), Some((later_memory, later_threads))] = self.0 else { return None };
        let grown = later_threads > threads || later_memory > memory + UPS_AND_DOWNS;
        grown.then(|| {
            format!("from {memory} KiB and {threads} threads to {later_memory} KiB and {later_threads} threads")
        })
    }
}

#[test]
fn random_pipelines_do_what_plain_rust_does_and_nothing_grows() {
    silence_panics("told to panic");
    let number = |name: &str| std::env::var(name).ok().map(|value| value.parse::<u64>().expect("a number"));
    let first = number("BIEF_SOAK_SEED").unwrap_or_else(|| fastrand::u64(..1 << 32));
    // A large pipeline may take ten seconds.
    let (seconds, sizes, again) = match number("SOAK_SECONDS") {
        Some(seconds) => (seconds, &LARGE, "SOAK_SECONDS=2 "),
        None => (2, &SMALL, ""),
    };
    let time = Duration::from_secs(seconds);
    println!("from seed {first}, for {} s", time.as_secs());

    let (mut least, mut frames, mut next_line) = (Least::default(), 0, 0.0);
    let start = Instant::now();
    for seed in first.. {
        let plan = Arc::new(Plan::draw(seed, sizes));
        let _told = Told { plan: Arc::clone(&plan), again: format!("{again}BIEF_SOAK_SEED={seed}") };
        frames += within(Duration::from_secs(60), move || check(&plan)).expect("it ends within 60 s");
        let elapsed = start.elapsed();
        let share = elapsed.as_secs_f64() / time.as_secs_f64();
        if let Some(held) = held() {
            least.note(share, held);
            if share >= next_line {
                let (seconds, pipelines, (memory, threads)) = (elapsed.as_secs(), seed + 1 - first, held);
                println!(
                    "{seconds:>4} s {pipelines:>8} pipelines {frames:>10} frames {memory:>7} KiB {threads:>3} threads"
                );
                next_line += 0.05;
            }
        }
        if elapsed >= time {
            break;
        }
    }
    // In a few seconds an allocator does not come to rest.
    if time >= Duration::from_secs(30) {
        assert_eq!(least.grown(), None, "what is held between two pipelines grows");
    }
}

#[test]
fn growth_is_seen() {
    let soak = |memory: fn(u64) -> u64, threads: fn(u64) -> u64| {
        let mut least = Least::default();
        (0..1000).for_each(|step| least.note(step as f64 / 1000.0, (memory(step), threads(step))));
        least.grown()
    };
    assert_eq!(soak(|step| 20_000 + 5000 * (step % 7), |step| 2 + step % 3), None, "ups and downs");
    assert_eq!(soak(|step| step.min(150) * 1000, |_| 2), None, "a warm-up");
    assert!(soak(|step| 20_000 + 6 * step, |_| 2).is_some());
    assert!(soak(|_| 20_000, |step| 2 + step / 500).is_some());
}

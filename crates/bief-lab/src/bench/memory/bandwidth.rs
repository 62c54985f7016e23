//! What the memory itself gives: the same work on a piece of memory that no cache holds, without a pipeline.

use std::hint::black_box;
use std::sync::Barrier;
use std::thread;
use std::time::Instant;

use super::super::case::Case;
use super::chain::add_one;
use super::size::Size;

/// More than caches of most processors hold, in all; of those that hold more, a part comes from them.
pub(super) const BYTES: Size = Size(256 << 20);
/// Times that the threads go over it.
const PASSES: usize = 2;

/// The threads of each probe: one, and one for each core.
pub(super) fn threads(cores: usize) -> Vec<usize> {
    let mut threads = vec![1, cores];
    threads.dedup();
    threads
}

/// The probes: GB per second that are read, added to and written.
pub(super) fn cases(cores: usize) -> Vec<Case> {
    let case = |threads: usize| {
        let group = ("GB of memory added to per second", "GB/s");
        Case::new(format!("memory/probe/{threads}"), group, move || Ok(gb_per_s(threads, BYTES.0).into()))
    };
    threads(cores).into_iter().map(case).collect()
}

/// Each thread goes over a part of its own, which it was the first to touch, so that it lies in memory near to it.
fn gb_per_s(threads: usize, bytes: usize) -> f64 {
    let part = bytes / threads;
    let together = Barrier::new(threads);
    let times: Vec<(Instant, Instant)> = thread::scope(|scope| {
        let go = || {
            let mut memory = vec![1_u8; part];
            together.wait();
            let start = Instant::now();
            for _ in 0..PASSES {
                add_one(black_box(&mut memory));
            }
            (start, Instant::now())
        };
        let running: Vec<_> = (0..threads).map(|_| scope.spawn(go)).collect();
        running.into_iter().map(|thread| thread.join().expect("adding does not panic")).collect()
    });
    let start = times.iter().map(|time| time.0).min();
    let end = times.iter().map(|time| time.1).max();
    let seconds = start.zip(end).map_or(f64::NAN, |(start, end)| (end - start).as_secs_f64());
    (PASSES * part * threads) as f64 / seconds / 1e9
}

#[cfg(test)]
mod tests {
    #[test]
    fn memory_gives_something() {
        for threads in [1, 3] {
            let gb_per_s = super::gb_per_s(threads, 3 << 20);
            assert!(gb_per_s > 0.0 && gb_per_s.is_finite(), "{gb_per_s}");
        }
    }
}

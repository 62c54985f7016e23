//! The probe: how long a cache line takes from one core to another and back, just now.

use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::statistics::Sample;

/// Round trips that are timed together: many more than reading the clock takes, and so few that other programs disturb few.
const TRIPS: u64 = 40;
/// How often that is done; the median counts.
const TIMES: usize = 501;
/// A probe ends after this time, on a machine where others take the cores.
const LONGEST: Duration = Duration::from_millis(50);
/// A thread that has looked so often in vain may hold the core that the other one needs.
const LOOKS: u32 = 20_000;
/// What takes longer is no cache line on its way, but a thread that waits for a core.
const SLOWEST: f64 = 2000.0;
/// Ends the other thread.
const END: u64 = u64::MAX;

/// The only thing on its cache line, and on the next one, which processors fetch with it.
#[repr(align(128))]
struct Ball(AtomicU64);

impl Ball {
    /// Looks until the ball has a value that is wanted, and answers it.
    fn wait(&self, wanted: impl Fn(u64) -> bool) -> u64 {
        let mut looks = 0;
        loop {
            let value = self.0.load(Ordering::Acquire);
            if wanted(value) {
                return value;
            }
            looks += 1;
            if looks % LOOKS == 0 {
                thread::yield_now();
            }
        }
    }
}

/// Nanoseconds of one round trip between two threads that only look: the median of many. The threads run where the system
/// puts them, as those of a pipeline do; `None` where they did not run at the same time.
pub(super) fn round_trip_ns() -> Option<f64> {
    let ball = Ball(AtomicU64::new(0));
    thread::scope(|scope| {
        scope.spawn(|| {
            loop {
                let value = ball.wait(|value| value % 2 == 1);
                if value == END {
                    return;
                }
                ball.0.store(value + 1, Ordering::Release);
            }
        });
        let mut next = 1;
        let mut trip = || {
            ball.0.store(next, Ordering::Release);
            next = ball.wait(|value| value == next + 1) + 1;
        };
        trip(); // the other thread has started
        let start = Instant::now();
        let mut times = Vec::with_capacity(TIMES);
        while times.len() < TIMES && (times.is_empty() || start.elapsed() < LONGEST) {
            let start = Instant::now();
            (0..TRIPS).for_each(|_| trip());
            times.push(start.elapsed().as_secs_f64() * 1e9 / TRIPS as f64);
        }
        ball.0.store(END, Ordering::Release);
        let median = Sample::new(times)?.median();
        (median < SLOWEST).then_some(median)
    })
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_round_trip_takes_some_time_and_ends() {
        assert!(super::round_trip_ns().is_none_or(|ns| ns > 0.0));
    }
}

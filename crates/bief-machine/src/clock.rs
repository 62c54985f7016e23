//! Clocks: processor time of threads and of the process, sleeps until a moment, and what reading a clock costs.

#![allow(unsafe_code, reason = "calls of the kernel that no safe library wraps")]

use std::hint::black_box;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// Whole nanoseconds; all that there are of a longer time.
pub fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// How long the processor has worked for the calling thread; where no system tells, how long this process has run.
pub fn thread_time() -> Duration {
    #[cfg(all(unix, not(miri)))]
    if let Some(time) = time_of(libc::CLOCK_THREAD_CPUTIME_ID) {
        return time;
    }
    running_time()
}

/// How long processors have worked for all threads of this process; where no system tells, how long it has run.
pub fn process_time() -> Duration {
    #[cfg(all(unix, not(miri)))]
    if let Some(time) = time_of(libc::CLOCK_PROCESS_CPUTIME_ID) {
        return time;
    }
    running_time()
}

/// How long processors have worked for a thread of this process; `None` where it has ended, is of another process, or no
/// system tells.
pub fn thread_time_of(thread: i32) -> Option<Duration> {
    #[cfg(all(target_os = "linux", not(miri)))]
    {
        // As the kernel makes a clock of a thread's number: its processor time (2), of one thread (4).
        time_of((!thread << 3) | 6)
    }
    #[cfg(not(all(target_os = "linux", not(miri))))]
    {
        let _ = thread;
        None
    }
}

/// How often the kernel brings the times of running threads up to date, where nothing else makes it do so.
pub fn tick() -> Duration {
    #[cfg(all(target_os = "linux", not(miri)))]
    {
        let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: the call writes to `time`, which lives as long.
        if unsafe { libc::clock_getres(libc::CLOCK_MONOTONIC_COARSE, &mut time) } == 0 {
            return Duration::new(time.tv_sec as u64, time.tv_nsec as u32);
        }
    }
    Duration::from_millis(10)
}

#[cfg(all(unix, not(miri)))]
fn time_of(clock: libc::clockid_t) -> Option<Duration> {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the call writes to `time`, which lives as long.
    let told = unsafe { libc::clock_gettime(clock, &mut time) } == 0;
    told.then(|| Duration::new(time.tv_sec as u64, time.tv_nsec as u32))
}

fn running_time() -> Duration {
    static START: OnceLock<Instant> = OnceLock::new();
    START.get_or_init(Instant::now).elapsed()
}

/// A clock that a thread can sleep by until an absolute time, counted from when it was started.
#[derive(Debug, Clone, Copy)]
pub struct Ticker {
    /// The start, by the monotonic clock of the system and by that of the standard library.
    start: Duration,
    instant: Instant,
}

impl Ticker {
    /// A clock that starts now.
    pub fn start() -> Self {
        Self { start: monotonic(), instant: Instant::now() }
    }

    /// The time since the start.
    pub fn elapsed(&self) -> Duration {
        monotonic().saturating_sub(self.start)
    }

    /// The moment so long after the start; `None` where there is none so late.
    pub fn at(&self, after: Duration) -> Option<Instant> {
        self.instant.checked_add(after)
    }

    /// Sleeps until so long after the start; answers how long after it that is over, which is never less.
    pub fn wait_until(&self, after: Duration) -> Duration {
        loop {
            sleep_until(self.start.saturating_add(after));
            let now = self.elapsed();
            if now >= after {
                return now;
            }
        }
    }
}

/// The time of the monotonic clock.
fn monotonic() -> Duration {
    #[cfg(all(target_os = "linux", not(miri)))]
    if let Some(time) = time_of(libc::CLOCK_MONOTONIC) {
        return time;
    }
    running_time()
}

/// Sleeps until a time of the monotonic clock, or until a signal comes.
fn sleep_until(time: Duration) {
    #[cfg(all(target_os = "linux", not(miri)))]
    if let Ok(seconds) = libc::time_t::try_from(time.as_secs()) {
        let until = libc::timespec { tv_sec: seconds, tv_nsec: time.subsec_nanos() as _ };
        // SAFETY: the call reads `until`, which lives as long, and is given nowhere to write what is left of the time.
        let woken =
            unsafe { libc::clock_nanosleep(libc::CLOCK_MONOTONIC, libc::TIMER_ABSTIME, &until, std::ptr::null_mut()) };
        if matches!(woken, 0 | libc::EINTR) {
            return;
        }
    }
    std::thread::sleep(time.saturating_sub(monotonic()));
}

/// How often the calling thread has lost its core to another one while it had work; 0 where no system tells.
pub fn interruptions() -> u64 {
    #[cfg(all(target_os = "linux", not(miri)))]
    {
        // SAFETY: the structure is plain numbers, for which all zeros are valid, and lives as long as the call that writes it.
        unsafe {
            let mut usage: libc::rusage = std::mem::zeroed();
            if libc::getrusage(libc::RUSAGE_THREAD, &mut usage) == 0 {
                return usage.ru_nivcsw as u64;
            }
        }
    }
    0
}

/// What reading the clock once costs: so much is in every time that is measured between two reads.
pub fn cost() -> Duration {
    cost_of(|| {
        black_box(Instant::now());
    })
}

/// What calling `read` once costs.
pub fn cost_of(read: impl Fn()) -> Duration {
    const READS: u32 = 64;
    // A clock that ticks slowly shows nothing between two reads: many are taken together.
    let round = |_| {
        let start = Instant::now();
        (1..READS).for_each(|_| read());
        start.elapsed() / READS
    };
    (0..16).map(round).min().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sleep_ends_at_its_time_and_not_before() {
        let ticker = Ticker::start();
        let due = Duration::from_millis(3);
        assert!(ticker.wait_until(due) >= due && ticker.elapsed() >= due);
        // A time that is over is not slept for.
        assert!(ticker.wait_until(due) >= due);
    }

    #[test]
    fn processor_time_goes_on_while_a_thread_works() {
        let start = thread_time();
        while thread_time() <= start {}
    }
}

//! The clock: where the shares of a worker's time end, and what reading it costs.

use std::hint::black_box;
use std::num::NonZeroU64;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// Time cut into shares that leave nothing out. Reading the clock takes longer than a small task: it is read once where a
/// share ends.
pub(crate) struct Laps {
    mark: Instant,
}

impl Laps {
    pub(crate) fn start() -> Self {
        Self { mark: Instant::now() }
    }

    /// Where the last share ended.
    pub(crate) fn mark(&self) -> Instant {
        self.mark
    }

    /// Ends a share; answers how long it was.
    pub(crate) fn lap(&mut self) -> Duration {
        let now = Instant::now();
        now - std::mem::replace(&mut self.mark, now)
    }
}

/// An instant in eight bytes, to travel with a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Moment(NonZeroU64);

impl Moment {
    pub(crate) fn of(instant: Instant) -> Self {
        // Instants have no number of their own: they are counted from one in the middle, to which some are before.
        static MIDDLE: OnceLock<Instant> = OnceLock::new();
        let middle = *MIDDLE.get_or_init(Instant::now);
        let after = nanoseconds(instant.saturating_duration_since(middle));
        let before = nanoseconds(middle.saturating_duration_since(instant));
        Self(NonZeroU64::MIN.saturating_add((1_u64 << 63).saturating_add(after).saturating_sub(before)))
    }

    /// How long before `instant` it was.
    pub(crate) fn until(self, instant: Instant) -> Duration {
        Duration::from_nanos(Self::of(instant).0.get().saturating_sub(self.0.get()))
    }
}

/// Whole nanoseconds; all that there are of a longer time.
pub(crate) fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// How long the processor has worked for the calling thread; where no system tells, how long this process has run.
pub(crate) fn processor_time() -> Duration {
    #[cfg(all(target_os = "linux", not(miri)))]
    if let Some(time) = time_of(libc::CLOCK_THREAD_CPUTIME_ID) {
        return time;
    }
    running_time()
}

/// How long processors have worked for all threads of this process; where no system tells, how long it has run.
pub(crate) fn process_time() -> Duration {
    #[cfg(all(target_os = "linux", not(miri)))]
    if let Some(time) = time_of(libc::CLOCK_PROCESS_CPUTIME_ID) {
        return time;
    }
    running_time()
}

/// How long processors have worked for a thread of this process; `None` where it has ended, is of another process, or no
/// system tells.
pub(crate) fn thread_time(thread: i32) -> Option<Duration> {
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
pub(crate) fn tick() -> Duration {
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

#[cfg(all(target_os = "linux", not(miri)))]
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
pub(crate) struct Ticker {
    /// The start, by the monotonic clock of the system and by that of the standard library.
    start: Duration,
    instant: Instant,
}

impl Ticker {
    pub(crate) fn start() -> Self {
        Self { start: monotonic(), instant: Instant::now() }
    }

    /// The time since the start.
    pub(crate) fn elapsed(&self) -> Duration {
        monotonic().saturating_sub(self.start)
    }

    /// The moment so long after the start; `None` where there is none so late.
    pub(crate) fn at(&self, after: Duration) -> Option<Instant> {
        self.instant.checked_add(after)
    }

    /// Sleeps until so long after the start; answers how long after it that is over, which is never less.
    pub(crate) fn wait_until(&self, after: Duration) -> Duration {
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
pub(crate) fn interruptions() -> u64 {
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
pub(crate) fn cost() -> Duration {
    cost_of(|| {
        black_box(Instant::now());
    })
}

/// What calling `read` once costs.
pub(crate) fn cost_of(read: impl Fn()) -> Duration {
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
    fn a_moment_is_an_instant() {
        let instant = Instant::now();
        let later = instant + Duration::from_nanos(123_456_789);
        // From before anybody asked, too.
        for from in [instant, instant.checked_sub(Duration::from_secs(60)).unwrap_or(instant)] {
            assert_eq!(Moment::of(from).until(later), later - from);
        }
        assert_eq!(Moment::of(later).until(instant), Duration::ZERO);
        assert_eq!(size_of::<Option<Moment>>(), 8);
    }

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
        let start = processor_time();
        while processor_time() <= start {}
    }
}

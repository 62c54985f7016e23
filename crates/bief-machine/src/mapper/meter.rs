//! For how long a thread has run, and waited for a core.
//!
//! The clock of a thread is exact, and the kernel shows it to threads of its process alone. For those of another process there is
//! `schedstat`, which the kernel brings up to date when a thread leaves its core or arrives on one, and else at every tick: at
//! 250 ticks per second, a thread that always runs seems to run for 4 or 8 ms of every 5 ms. [`Account`] makes up for that.

use std::fs::File;
use std::io;
use std::time::Duration;

use crate::clock;

/// What a thread did since it was read before.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Used {
    pub(super) ran: Duration,
    /// The share of the time in which it was ready, and another thread had the core, since that was asked for before; `None` where it
    /// was not asked for now.
    pub(super) waited: Option<f64>,
}

/// Reads what a thread does.
pub(super) struct Meter {
    thread: i32,
    /// What tells of it, and that kept open: it is read at every interval.
    path: String,
    file: Option<File>,
    account: Account,
    is_own: bool,
    /// When it was last asked for how long it had waited, and the answer.
    waited: Option<(Duration, Duration)>,
}

impl Meter {
    /// Of a thread of this process, or of another one, from now on.
    ///
    /// # Errors
    /// There is no such thread, or it cannot be looked at.
    pub(super) fn new(thread: i32, folder: &str, is_own: bool, now: Duration) -> io::Result<Self> {
        let path = format!("{folder}/schedstat");
        let mut meter = Self { thread, path, file: None, account: Account::default(), is_own, waited: None };
        let seen = if is_own {
            let ran = clock::thread_time_of(thread).ok_or(io::ErrorKind::NotFound)?;
            SchedStat { ran, ..SchedStat::default() }
        } else {
            meter.open()?;
            let seen = meter.seen()?;
            meter.waited = Some((now, seen.waited));
            seen
        };
        meter.account = Account { seen, ran: seen.ran, ..Account::default() };
        Ok(meter)
    }

    /// What it did since the latest look; `now` counts from any moment. `None` where it has ended.
    pub(super) fn read(&mut self, now: Duration, tick: Duration, with_waiting: bool) -> Option<Used> {
        if !self.is_own {
            let seen = self.seen().ok()?;
            let waited = self.waited_since(now, seen.waited);
            return Some(Used { ran: self.account.add(seen, now, tick), waited: Some(waited) });
        }
        let ran = clock::thread_time_of(self.thread)?;
        let before = std::mem::replace(&mut self.account.seen.ran, ran);
        // Where it is not told, nothing is known to have waited.
        let waited = with_waiting.then(|| {
            let waited = self.waited().unwrap_or_default();
            self.waited_since(now, waited)
        });
        Some(Used { ran: ran.saturating_sub(before), waited })
    }

    /// Whether it was asked before for how long it had waited: the first answer is what later ones are compared with.
    pub(super) fn has_begun(&self) -> bool {
        self.waited.is_some()
    }

    /// The share of the time in which it waited, until now `waited` in all.
    fn waited_since(&mut self, now: Duration, waited: Duration) -> f64 {
        let before = self.waited.replace((now, waited));
        before.map_or(0.0, |(then, before)| share(waited.saturating_sub(before), now.saturating_sub(then)))
    }

    /// Whether the kernel keeps no such account: a thread that there is has arrived on a core at least once.
    pub(super) fn is_untold(&self) -> bool {
        !self.is_own && self.account.seen.arrivals == 0 && self.account.seen.ran.is_zero()
    }

    /// For how long it has waited in all.
    fn waited(&mut self) -> io::Result<Duration> {
        if self.file.is_none() {
            self.open()?;
        }
        Ok(self.seen()?.waited)
    }

    fn open(&mut self) -> io::Result<()> {
        self.file = Some(File::open(&self.path)?);
        Ok(())
    }

    fn seen(&self) -> io::Result<SchedStat> {
        let mut text = [0; 96];
        let file = self.file.as_ref().ok_or(io::ErrorKind::NotFound)?;
        let length = read_start(file, &mut text)?;
        SchedStat::parse(&text[..length]).ok_or_else(|| io::ErrorKind::InvalidData.into())
    }
}

/// A time as a share of another one, at most all of it.
pub(super) fn share(time: Duration, of: Duration) -> f64 {
    if of.is_zero() { 0.0 } else { (time.as_secs_f64() / of.as_secs_f64()).min(1.0) }
}

/// Reads a file from its beginning.
pub(super) fn read_start(file: &File, text: &mut [u8]) -> io::Result<usize> {
    #[cfg(unix)]
    return std::os::unix::fs::FileExt::read_at(file, text, 0);
    #[cfg(not(unix))]
    {
        let _ = (file, text);
        Err(io::ErrorKind::Unsupported.into())
    }
}

/// What `schedstat` shows of a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct SchedStat {
    ran: Duration,
    waited: Duration,
    /// How often it came to a core.
    arrivals: u64,
}

impl SchedStat {
    fn parse(text: &[u8]) -> Option<Self> {
        let mut numbers = text.trim_ascii_end().split(|&byte| byte == b' ').map(|number| {
            let digit = |byte: &u8| byte.is_ascii_digit().then(|| u64::from(byte - b'0'));
            let number = Some(number).filter(|number| !number.is_empty())?;
            number.iter().try_fold(0_u64, |all, byte| all.checked_mul(10)?.checked_add(digit(byte)?))
        });
        let mut next = || numbers.next().flatten();
        let (ran, waited, arrivals) = (next()?, next()?, next()?);
        Some(Self { ran: Duration::from_nanos(ran), waited: Duration::from_nanos(waited), arrivals })
    }
}

/// Makes what a thread ran for of numbers that may lag by up to a tick.
///
/// A thread whose time grew while it arrived nowhere was on its core when it was looked at before. It is taken to be there still,
/// and to have run since, up to a tick more than is told: so a thread that runs all the time does so in every interval. Where
/// it has left meanwhile, the numbers soon show it, and what was counted too early is not counted again: the sum is never off by more
/// than a tick.
#[derive(Debug, Default)]
struct Account {
    seen: SchedStat,
    /// What was counted.
    ran: Duration,
    runs: bool,
    /// When it was last seen, and when it was last seen to have run.
    at: Duration,
    grew: Duration,
}

impl Account {
    /// For how long it ran since it was seen before.
    fn add(&mut self, seen: SchedStat, now: Duration, tick: Duration) -> Duration {
        let before = self.seen;
        let (stays, grows) = (seen.arrivals == before.arrivals, seen.ran > before.ran);
        if grows {
            self.grew = now;
        }
        // The tick itself may be late.
        let told_lately = now.saturating_sub(self.grew) < tick * 2;
        self.runs = stays && (grows || (self.runs && told_lately));
        let sure = seen.ran.max(self.ran);
        let ran = if self.runs {
            let since = self.ran + now.saturating_sub(self.at);
            since.min(seen.ran + tick).max(sure)
        } else {
            sure
        };
        let used = ran.saturating_sub(self.ran);
        (self.seen, self.ran, self.at) = (seen, ran, now);
        used
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TICK: u64 = 4_000;

    /// A thread that the kernel looks at when it leaves its core and at every tick: microseconds in which it runs and
    /// sleeps, again and again.
    struct Thread {
        runs: u64,
        sleeps: u64,
    }

    impl Thread {
        /// What it ran for until then, what is told of that, and how often it has arrived.
        fn at(&self, time: u64) -> (u64, u64, u64) {
            let (mut ran, mut told, mut arrivals, mut start) = (0, 0, 0, 0);
            while start <= time {
                arrivals += 1;
                let end = start + self.runs;
                if end <= time {
                    ran += self.runs;
                    told = ran;
                } else {
                    let tick = time / TICK * TICK;
                    told = ran + tick.saturating_sub(start);
                    ran += time - start;
                }
                start = end + self.sleeps;
            }
            (ran, told, arrivals)
        }

        /// The share in which it is counted to run, in each interval, and in which it did.
        fn counted(&self, interval: u64, intervals: u64) -> Vec<[f64; 2]> {
            let (mut account, mut before) = (Account::default(), 0);
            let shares = (1..=intervals).map(|index| {
                let now = index * interval + 700;
                let (ran, told, arrivals) = self.at(now);
                let seen = SchedStat { ran: Duration::from_micros(told), waited: Duration::ZERO, arrivals };
                let used = account.add(seen, Duration::from_micros(now), Duration::from_micros(TICK));
                let told = account.seen.ran.as_micros() as u64;
                let counted = account.ran.as_micros() as u64;
                assert!((told..=told + TICK).contains(&counted) && counted.abs_diff(ran) <= TICK);
                let share = |ran: u64| ran as f64 / interval as f64;
                [share(used.as_micros() as u64), share(ran - std::mem::replace(&mut before, ran))]
            });
            shares.collect()
        }
    }

    #[test]
    fn a_thread_that_always_runs_does_so_in_every_interval() {
        for interval in [1_000, 2_000, 5_000, 20_000] {
            let shares = Thread { runs: u64::MAX / 2, sleeps: 0 }.counted(interval, 100);
            // Until the first tick nothing is told.
            assert!(shares[8..].iter().all(|[counted, _]| *counted == 1.0), "{interval}: {shares:?}");
        }
    }

    #[test]
    fn a_thread_that_sleeps_is_counted_right_in_the_mean() {
        let mut random = fastrand::Rng::with_seed(1);
        for _ in 0..200 {
            let thread = Thread { runs: random.u64(50..20_000), sleeps: random.u64(50..20_000) };
            let interval = random.u64(1_000..20_000);
            let shares = thread.counted(interval, 200);
            let sum = |index: usize| shares.iter().map(|share| share[index]).sum::<f64>();
            assert!((sum(0) - sum(1)).abs() * interval as f64 <= (2 * TICK) as f64, "{}", sum(0) - sum(1));
        }
    }

    #[test]
    fn numbers_are_read_as_linux_writes_them() {
        let seen = SchedStat::parse(b"1170598 23 4\n").unwrap();
        assert_eq!(
            seen,
            SchedStat { ran: Duration::from_nanos(1_170_598), waited: Duration::from_nanos(23), arrivals: 4 }
        );
        for text in [&b""[..], b"1 2", b"1 x 3", b"1 2 99999999999999999999", b"1  3"] {
            assert_eq!(SchedStat::parse(text), None);
        }
    }
}

//! The thread that has a radio, and who looks whether its driver still answers.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use bief::{Error, Result};

/// How often who waits for the thread looks after it.
pub(crate) const LOOK: Duration = Duration::from_millis(100);
/// How long the thread may take to end.
const GRACE: Duration = Duration::from_secs(2);

/// What a driver is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Step {
    Open,
    Answer,
    Rate,
    Bandwidth,
    Antenna,
    Ppm,
    Frequency,
    Agc,
    Gain,
    Setting,
    Setup,
    Activate,
    Read,
    Write,
    Deactivate,
    Close,
    Unmake,
}

impl Step {
    const ALL: [(Self, &str); 17] = [
        (Self::Open, "open"),
        (Self::Answer, "answer a question"),
        (Self::Rate, "take the sample rate"),
        (Self::Bandwidth, "take the bandwidth"),
        (Self::Antenna, "take the antenna"),
        (Self::Ppm, "take the correction"),
        (Self::Frequency, "take the frequency"),
        (Self::Agc, "find its gain"),
        (Self::Gain, "take the gain"),
        (Self::Setting, "take a setting"),
        (Self::Setup, "set up a stream"),
        (Self::Activate, "begin its stream"),
        (Self::Read, "give samples"),
        (Self::Write, "take samples"),
        (Self::Deactivate, "end its stream"),
        (Self::Close, "close its stream"),
        (Self::Unmake, "close"),
    ];

    /// What the radio should do: "the radio does not …".
    pub(crate) fn words(self) -> &'static str {
        Self::ALL[self as usize].1
    }
}

/// Limits of what is waited for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    /// How long a radio may take to open: some get their program then.
    pub(crate) open: Duration,
    /// How long any other call of a driver may take.
    pub(crate) call: Duration,
    /// How long a radio may give no samples.
    pub(crate) silence: Duration,
    /// Between two tries to open a radio again.
    pub(crate) again: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            open: Duration::from_secs(60),
            call: Duration::from_secs(10),
            silence: Duration::from_secs(5),
            again: Duration::from_secs(1),
        }
    }
}

/// Knows which function of a driver runs, and since when.
#[derive(Debug)]
pub(crate) struct Beat {
    begun: Instant,
    limits: Limits,
    step: AtomicU8,
    /// In ms, counted from 1 on; 0 while none runs.
    since: AtomicU64,
}

impl Beat {
    pub(crate) fn new(limits: Limits) -> Self {
        Self { begun: Instant::now(), limits, step: AtomicU8::new(0), since: AtomicU64::new(0) }
    }

    /// How long the radio has been in use.
    pub(crate) fn elapsed(&self) -> Duration {
        self.begun.elapsed()
    }

    fn now(&self) -> u64 {
        1 + self.begun.elapsed().as_millis() as u64
    }

    /// Calls a function of the driver.
    pub(crate) fn during<T>(&self, step: Step, call: impl FnOnce() -> T) -> T {
        self.step.store(step as u8, Ordering::Relaxed);
        self.since.store(self.now(), Ordering::Release);
        let answer = call();
        self.since.store(0, Ordering::Release);
        answer
    }

    /// An error once a function has run for too long.
    pub(crate) fn check(&self) -> Result<()> {
        let since = self.since.load(Ordering::Acquire);
        let (step, words) = Step::ALL[self.step.load(Ordering::Relaxed) as usize];
        let limit = if step == Step::Open { self.limits.open } else { self.limits.call };
        let long = self.now().saturating_sub(since);
        if since == 0 || u128::from(long) < limit.as_millis() {
            return Ok(());
        }
        Err(Error::new(format!("the driver hangs: told to {words}, it has not returned for {} s", long / 1000)))
    }
}

/// The thread.
#[derive(Debug)]
pub(crate) struct Worker {
    pub(crate) beat: Arc<Beat>,
    told_to_end: Arc<AtomicBool>,
    thread: Option<JoinHandle<Result<()>>>,
}

impl Worker {
    /// Starts it; `work` gets its beat, and what tells it to end.
    ///
    /// # Errors
    /// A thread that the system refuses.
    pub(crate) fn start(
        limits: Limits,
        work: impl FnOnce(&Beat, &AtomicBool) -> Result<()> + Send + 'static,
    ) -> Result<Self> {
        let (beat, told_to_end) = (Arc::new(Beat::new(limits)), Arc::<AtomicBool>::default());
        let (its_beat, end) = (Arc::clone(&beat), Arc::clone(&told_to_end));
        let thread = thread::Builder::new().name("radio".to_owned()).spawn(move || work(&its_beat, &end));
        Ok(Self { beat, told_to_end, thread: Some(thread.map_err(Error::from_source)?) })
    }

    /// How the thread ended, which has ended or is about to.
    pub(crate) fn outcome(&mut self) -> Result<()> {
        let Some(thread) = self.thread.take() else { return Ok(()) };
        thread.join().unwrap_or_else(|_| Err(Error::new("the radio's thread panicked")))
    }

    /// Tells the thread to end.
    pub(crate) fn tell_to_end(&self) {
        self.told_to_end.store(true, Ordering::Relaxed);
    }

    /// Waits until the thread has ended, but not for ever: one that hangs in a driver is left there.
    ///
    /// # Errors
    /// What ended it; a driver that hangs.
    pub(crate) fn wait(&mut self) -> Result<()> {
        let Some(thread) = &self.thread else { return Ok(()) };
        while !thread.is_finished() {
            if let Err(error) = self.beat.check() {
                self.thread = None;
                return Err(error);
            }
            thread::sleep(Duration::from_millis(2));
        }
        self.outcome()
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.tell_to_end();
        let until = Instant::now() + GRACE;
        // A radio is given back before the program ends.
        let runs = |thread: &JoinHandle<_>| !thread.is_finished() && self.beat.check().is_ok();
        while self.thread.as_ref().is_some_and(runs) && Instant::now() < until {
            thread::sleep(Duration::from_millis(2));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_where_their_numbers_say() {
        for (at, (step, _)) in Step::ALL.iter().enumerate() {
            assert_eq!(*step as usize, at);
        }
    }
}

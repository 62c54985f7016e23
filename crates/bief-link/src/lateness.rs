//! When a frame is late: measured against those that came back.

use std::time::Duration;

/// Answers that count; an odd number has a median.
const ANSWERS: usize = 63;

/// The times from sending to answer of the latest frames.
#[derive(Debug)]
pub(crate) struct Lateness {
    least: Duration,
    factor: u32,
    times: Vec<Duration>,
    /// Where the next one goes.
    next: usize,
    median: Duration,
}

impl Lateness {
    pub(crate) fn new(least: Duration, factor: u32) -> Self {
        Self { least, factor, times: Vec::with_capacity(ANSWERS), next: 0, median: Duration::ZERO }
    }

    /// Notes how long an answer took.
    pub(crate) fn note(&mut self, time: Duration) {
        match self.times.get_mut(self.next) {
            Some(old) => *old = time,
            None => self.times.push(time),
        }
        self.next = (self.next + 1) % ANSWERS;
        let mut sorted = [Duration::ZERO; ANSWERS];
        let sorted = &mut sorted[..self.times.len()];
        sorted.copy_from_slice(&self.times);
        let middle = sorted.len() / 2;
        self.median = *sorted.select_nth_unstable(middle).1;
    }

    /// How long after it was sent a frame is late.
    pub(crate) fn limit(&self) -> Duration {
        self.least.max(self.median.saturating_mul(self.factor))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_follows_the_median_of_the_latest() {
        let ms = Duration::from_millis;
        let mut lateness = Lateness::new(ms(100), 8);
        assert_eq!(lateness.limit(), ms(100));
        (0..40).for_each(|_| lateness.note(ms(20)));
        // A few that took long change little.
        (0..5).for_each(|_| lateness.note(ms(5000)));
        assert_eq!(lateness.limit(), ms(160));
        (0..ANSWERS).for_each(|_| lateness.note(ms(50)));
        assert_eq!(lateness.limit(), ms(400));
        (0..ANSWERS).for_each(|_| lateness.note(ms(1)));
        assert_eq!(lateness.limit(), ms(100));
    }
}

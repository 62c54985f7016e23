//! When a frame is late: measured against those that came back.

use std::collections::VecDeque;
use std::time::Duration;

/// Answers that count; an odd number has a median.
const ANSWERS: usize = 63;

/// The times from sending to answer of the latest frames.
#[derive(Debug)]
pub(crate) struct Lateness {
    least: Duration,
    factor: u32,
    /// In the order in which they came, ...
    times: VecDeque<Duration>,
    /// ... and of their lengths.
    sorted: Vec<Duration>,
}

impl Lateness {
    pub(crate) fn new(least: Duration, factor: u32) -> Self {
        Self { least, factor, times: VecDeque::with_capacity(ANSWERS), sorted: Vec::with_capacity(ANSWERS) }
    }

    /// Notes how long an answer took.
    pub(crate) fn note(&mut self, time: Duration) {
        let place = |sorted: &[Duration], time| sorted.partition_point(|&other| other < time);
        if self.times.len() == ANSWERS
            && let Some(oldest) = self.times.pop_front()
        {
            self.sorted.remove(place(&self.sorted, oldest));
        }
        self.times.push_back(time);
        self.sorted.insert(place(&self.sorted, time), time);
    }

    /// How long after it was sent a frame is late.
    pub(crate) fn limit(&self) -> Duration {
        let median = self.sorted.get(self.sorted.len() / 2).copied().unwrap_or_default();
        self.least.max(median.saturating_mul(self.factor))
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

//! How much is missing before some samples.

use std::time::{Duration, Instant};

/// Without an overflow that was told, a jump of the stamps counts from this part of a block on: stamps of a computer's clock jitter.
const JITTER: f64 = 0.01;
/// By the clock alone, a difference below this part of what came counts for nothing.
const UNSURE: f64 = 0.01;

/// Counts what is missing, from stamps where a radio has them and else by the clock.
#[derive(Debug)]
pub(crate) struct Losses {
    rate: f64,
    /// The radio said that samples were lost since the last ones.
    told: bool,
    /// The stamp of the last samples, and how long they are, in ns.
    last: Option<(i64, f64)>,
    /// Since when samples are counted, and how many came since.
    since: Option<Instant>,
    came: u64,
}

impl Losses {
    /// Of a radio at so many samples per second.
    pub(crate) fn new(rate: f64) -> Self {
        Self { rate, told: false, last: None, since: None, came: 0 }
    }

    /// The radio says that it lost samples.
    pub(crate) fn overflow(&mut self) {
        self.told = true;
    }

    /// Samples that are missing before these, which have come now; `stamp` is the time of the first, in ns.
    pub(crate) fn before(&mut self, samples: usize, stamp: Option<i64>, now: Instant) -> u64 {
        let length = samples as f64 / self.rate;
        let missing = match (stamp, self.last) {
            (Some(stamp), Some((last, long))) => {
                let jump = ((stamp.saturating_sub(last) as f64 - long) * self.rate / 1e9).round();
                let least = if self.told { 1.0 } else { (samples as f64 * JITTER).max(2.0) };
                if jump >= least { jump as u64 } else { 0 }
            }
            (None, _) if self.told => self.by_clock(length, now),
            _ => 0,
        };
        self.last = stamp.map(|stamp| (stamp, length * 1e9));
        if self.since.is_none() || missing > 0 {
            (self.since, self.came) = (Some(now), 0);
        } else {
            self.came += samples as u64;
        }
        self.told = false;
        missing
    }

    /// What should have come since samples are counted, but for these.
    fn by_clock(&self, length: f64, now: Instant) -> u64 {
        let Some(since) = self.since else { return 0 };
        let due = (now.duration_since(since).as_secs_f64() - length) * self.rate;
        let missing = due - self.came as f64;
        if missing > UNSURE * due { missing.round() as u64 } else { 0 }
    }

    /// Begins anew behind a pause: what is missing by the clock.
    pub(crate) fn after_pause(&mut self, pause: Duration, rate: f64) -> u64 {
        *self = Self::new(rate);
        (pause.as_secs_f64() * rate).round() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stamps_tell_exactly_what_is_missing() {
        let rate = 28.8e6 / 14.0;
        let stamp = |sample: u64| Some(1_700_000_000_000_000_000 + (sample as f64 * 1e9 / rate).round() as i64);
        let mut losses = Losses::new(rate);
        let (mut sample, now) = (0, Instant::now());
        for (lost, told) in [(0, false), (0, false), (10_000, true), (0, true), (1, true), (500, false), (0, false)] {
            if told {
                losses.overflow();
            }
            sample += lost;
            assert_eq!(losses.before(16_384, stamp(sample), now), lost);
            sample += 16_384;
        }
        // A clock that jitters, or is set back, is no loss.
        assert_eq!(losses.before(16_384, stamp(sample + 100), now), 0);
        assert_eq!(losses.before(16_384, stamp(5), now), 0);
        assert_eq!(losses.before(16_384, stamp(5 + 16_384 + 7000), now), 7000);
    }

    #[test]
    fn without_stamps_the_clock_tells() {
        let mut losses = Losses::new(1e6);
        let start = Instant::now();
        let at = |ms: u64| start + Duration::from_millis(ms);
        assert_eq!(losses.before(10_000, None, at(0)), 0);
        assert_eq!(losses.before(10_000, None, at(30)), 0, "late, and nothing was told");
        losses.overflow();
        assert_eq!(losses.before(10_000, None, at(50)), 30_000);
        losses.overflow();
        assert_eq!(losses.before(10_000, None, at(60)), 0, "nothing that the clock shows");
        assert_eq!(losses.after_pause(Duration::from_secs(2), 2e6), 4_000_000);
        losses.overflow();
        assert_eq!(losses.before(10_000, Some(0), at(70)), 0, "nothing came before");
    }
}

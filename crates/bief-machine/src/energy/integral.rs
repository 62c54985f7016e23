//! Energy as the sum of power over time.

/// The area under straight lines from reading to reading (the trapezoid rule).
#[derive(Debug, Clone)]
pub(super) struct Integral {
    /// Longest time that a line is drawn over, in seconds.
    longest: f64,
    /// The reading before: seconds and watts.
    last: Option<(f64, f64)>,
    pub(super) joules: f64,
    /// Time that lines were drawn over.
    pub(super) seconds: f64,
    pub(super) readings: u64,
    /// Pairs of readings that no line was drawn between: time stood still or ran backwards, or they are too far apart.
    pub(super) breaks: u64,
}

impl Integral {
    pub(super) fn new(longest: f64) -> Self {
        Self { longest, last: None, joules: 0.0, seconds: 0.0, readings: 0, breaks: 0 }
    }

    /// Adds a reading.
    pub(super) fn add(&mut self, seconds: f64, watts: f64) {
        self.readings += 1;
        if let Some((before, watts_before)) = self.last.replace((seconds, watts)) {
            let apart = seconds - before;
            if apart > 0.0 && apart <= self.longest {
                self.joules += apart * (watts_before + watts) / 2.0;
                self.seconds += apart;
            } else {
                self.breaks += 1;
            }
        }
    }

    /// The mean of the power, where there is any time to take it over.
    pub(super) fn watts(&self) -> Option<f64> {
        (self.seconds > 0.0).then(|| self.joules / self.seconds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_drawn_between_readings_that_follow_each_other() {
        let mut integral = Integral::new(10.0);
        for (seconds, watts) in [(1.0, 2.0), (3.0, 4.0), (3.0, 100.0), (2.0, 100.0), (20.0, 5.0), (21.0, 5.0)] {
            integral.add(seconds, watts);
        }
        assert_eq!((integral.joules, integral.seconds, integral.breaks), (6.0 + 5.0, 3.0, 3));
        assert_eq!(integral.watts(), Some(11.0 / 3.0));
        assert_eq!(Integral::new(1.0).watts(), None);
    }
}

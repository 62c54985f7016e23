//! Frames and errors of a point, and what they say about the frame error rate.

/// The number of standard deviations on either side that hold 95 % of a normal distribution.
pub(super) const DEVIATIONS: f64 = 1.959_963_985;

/// What happened in a block.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Tally {
    /// Frames sent.
    pub(super) frames: u64,
    /// Those of them that did not come out as they were sent.
    pub(super) errors: u64,
    /// Those of the errors that no decoder saw: synchronisation lost them.
    pub(super) lost: u64,
}

/// What happened in the first blocks of a point.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Count {
    pub(super) blocks: u64,
    pub(super) all: Tally,
}

/// When a point is done.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rule {
    /// Frame errors that are enough.
    pub(super) errors: u64,
    /// Frames that are enough, whatever the errors.
    pub(super) frames: u64,
}

impl Count {
    pub(super) fn add(&mut self, block: Tally) {
        self.blocks += 1;
        self.all.frames += block.frames;
        self.all.errors += block.errors;
        self.all.lost += block.lost;
    }

    pub(super) fn is_enough(&self, rule: &Rule) -> bool {
        self.all.errors >= rule.errors || self.all.frames >= rule.frames
    }

    /// The frame error rate measured; 0 before the first frame.
    pub(super) fn rate(&self) -> f64 {
        self.all.errors as f64 / self.all.frames.max(1) as f64
    }

    /// Where the frame error rate lies with a confidence of 95 % (Wilson's score interval); anywhere before the first frame.
    pub(super) fn interval(&self) -> (f64, f64) {
        let (n, p) = (self.all.frames as f64, self.rate());
        if n == 0.0 {
            return (0.0, 1.0);
        }
        let z2 = DEVIATIONS * DEVIATIONS;
        let middle = (p + z2 / (2.0 * n)) / (1.0 + z2 / n);
        let half = DEVIATIONS / (1.0 + z2 / n) * (p * (1.0 - p) / n + z2 / (4.0 * n * n)).sqrt();
        // The ends of what can be are met exactly, whatever the rounding.
        let low = if self.all.errors == 0 { 0.0 } else { middle - half };
        let high = if self.all.errors == self.all.frames { 1.0 } else { middle + half };
        (low, high)
    }
}

#[cfg(test)]
pub(super) use tests::count;

#[cfg(test)]
mod tests {
    use super::*;

    pub(in super::super) fn count(frames: u64, errors: u64) -> Count {
        Count { blocks: 1, all: Tally { frames, errors, lost: 0 } }
    }

    #[test]
    fn intervals_are_those_of_wilson() {
        // Newcombe, Statistics in Medicine 17 (1998), Table I, method 3.
        for (frames, errors, low, high) in
            [(263, 81, 0.2553, 0.3662), (148, 15, 0.0624, 0.1605), (20, 0, 0.0, 0.1611), (29, 1, 0.0061, 0.1718)]
        {
            let interval = count(frames, errors).interval();
            assert!((interval.0 - low).abs() < 6e-5 && (interval.1 - high).abs() < 6e-5, "{interval:?}");
        }
        assert_eq!(count(20, 20).interval().1, 1.0);
        assert_eq!(Count::default().interval(), (0.0, 1.0));
    }

    #[test]
    fn a_point_is_done_at_either_limit() {
        let rule = Rule { errors: 10, frames: 1000 };
        assert!(count(999, 10).is_enough(&rule) && count(1000, 0).is_enough(&rule) && !count(999, 9).is_enough(&rule));
    }
}

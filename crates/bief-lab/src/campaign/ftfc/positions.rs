//! The order of estimates that are known to within an interval.

use std::fmt;

use bief_schedule::simulate::Mean;
use serde::Serialize;

/// The positions that an estimate may have among others, 1 for the greatest. Two whose intervals overlap are a tie: each
/// may be before the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(super) struct Positions {
    pub(super) best: usize,
    pub(super) worst: usize,
}

impl Positions {
    /// The positions of all estimates.
    pub(super) fn of(estimates: &[Mean]) -> Vec<Self> {
        let positions = |this: &Mean| Self {
            best: 1 + estimates.iter().filter(|other| other.low() > this.high()).count(),
            worst: estimates.len() - estimates.iter().filter(|other| other.high() < this.low()).count(),
        };
        estimates.iter().map(positions).collect()
    }
}

impl fmt::Display for Positions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.best == self.worst {
            true => write!(f, "{}", self.best),
            false => write!(f, "{}-{}", self.best, self.worst),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(estimates: &[(f64, f64)]) -> Vec<String> {
        let estimates: Vec<Mean> = estimates.iter().map(|&(mean, margin)| Mean { mean, margin }).collect();
        Positions::of(&estimates).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn estimates_apart_have_one_position_each() {
        assert_eq!(shown(&[(1.0, 0.1), (3.0, 0.5), (2.0, 0.4)]), ["3", "1", "2"]);
    }

    #[test]
    fn estimates_that_overlap_share_positions() {
        assert_eq!(shown(&[(1.0, 0.1), (3.0, 0.6), (2.0, 0.6)]), ["3", "1-2", "1-2"]);
        // The first and the last are apart, and both may be equal to the one between.
        assert_eq!(shown(&[(3.0, 0.6), (2.0, 0.6), (1.0, 0.6)]), ["1-2", "1-3", "2-3"]);
        assert_eq!(shown(&[(0.0, 0.0); 3]), ["1-3"; 3]);
        // Intervals that touch.
        assert_eq!(shown(&[(1.0, 0.5), (2.0, 0.5)]), ["1-2"; 2]);
        assert_eq!(shown(&[(1.0, f64::INFINITY), (5.0, 0.0)]), ["1-2"; 2]);
    }

    #[test]
    fn ties_have_a_position_in_common() {
        let mut random = fastrand::Rng::with_seed(1);
        for _ in 0..300 {
            let estimates: Vec<Mean> =
                (0..random.usize(1..9)).map(|_| Mean { mean: random.f64(), margin: 0.3 * random.f64() }).collect();
            let positions = Positions::of(&estimates);
            for (a, one) in estimates.iter().zip(&positions) {
                assert!(one.best <= one.worst);
                for (b, other) in estimates.iter().zip(&positions) {
                    let tie = a.low() <= b.high() && b.low() <= a.high();
                    assert!(!tie || (one.best <= other.worst && other.best <= one.worst));
                    assert!(tie || a.mean < b.mean || (one.best < other.best && one.worst < other.worst));
                }
            }
        }
    }
}

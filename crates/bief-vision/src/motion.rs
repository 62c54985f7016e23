//! How the view moves from one picture to the next: rigid motion, from pairs of places some of which are wrong.

use serde::Serialize;

/// A turn about the origin, then a shift: where what was at a place is now.
///
/// ```
/// use bief_vision::Rigid;
///
/// let quarter = Rigid::fit(&[([0.0, 0.0], [5.0, 5.0]), ([1.0, 0.0], [5.0, 6.0])]).unwrap();
/// let [x, y] = quarter.apply([0.0, 2.0]);
/// assert!((x - 3.0).abs() < 1e-9 && (y - 5.0).abs() < 1e-9);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Rigid {
    /// Radians, from x towards y.
    pub turn: f64,
    /// Pixels, after the turn.
    pub x: f64,
    /// Pixels, after the turn.
    pub y: f64,
}

/// A place before, and the one after.
pub type Pair = ([f64; 2], [f64; 2]);

impl Rigid {
    /// No motion.
    pub const STILL: Self = Self { turn: 0.0, x: 0.0, y: 0.0 };

    /// A shift alone.
    pub fn shift(x: f64, y: f64) -> Self {
        Self { turn: 0.0, x, y }
    }

    /// Where a place is after the motion.
    pub fn apply(&self, [x, y]: [f64; 2]) -> [f64; 2] {
        let (sin, cos) = self.turn.sin_cos();
        [cos * x - sin * y + self.x, sin * x + cos * y + self.y]
    }

    /// Where a place was before the motion.
    pub fn undo(&self, [x, y]: [f64; 2]) -> [f64; 2] {
        let (sin, cos) = self.turn.sin_cos();
        let (x, y) = (x - self.x, y - self.y);
        [cos * x + sin * y, cos * y - sin * x]
    }

    /// The motion with the least sum of squared distances; `None` of no pairs. Of one pair, a shift.
    pub fn fit(pairs: &[Pair]) -> Option<Self> {
        if pairs.is_empty() {
            return None;
        }
        let count = pairs.len() as f64;
        let mut middle = [[0.0; 2]; 2];
        for (before, after) in pairs {
            for axis in 0..2 {
                middle[0][axis] += before[axis] / count;
                middle[1][axis] += after[axis] / count;
            }
        }
        let (mut along, mut across) = (0.0, 0.0);
        for (before, after) in pairs {
            let (x, y) = (before[0] - middle[0][0], before[1] - middle[0][1]);
            let (u, v) = (after[0] - middle[1][0], after[1] - middle[1][1]);
            along += x * u + y * v;
            across += x * v - y * u;
        }
        let turn = if along == 0.0 && across == 0.0 { 0.0 } else { across.atan2(along) };
        let (sin, cos) = turn.sin_cos();
        let [x, y] = middle[0];
        Some(Self { turn, x: middle[1][0] - cos * x + sin * y, y: middle[1][1] - sin * x - cos * y })
    }

    /// As [`fit`](Self::fit), with pairs left out that are further from the motion than `most` pixels, or than three times the
    /// distance that half of them keep: again and again, until they are the same. Answers how many were kept, too; they come first
    /// in `pairs` then.
    pub fn fit_trimmed(pairs: &mut [Pair], most: f64) -> Option<(Self, usize)> {
        let mut motion = Self::fit(pairs)?;
        let mut kept = pairs.len();
        for _ in 0..8 {
            let distance = |(before, after): &Pair| apart(motion.apply(*before), *after);
            pairs.sort_unstable_by(|a, b| distance(a).total_cmp(&distance(b)));
            let limit = most.min(3.0 * distance(&pairs[pairs.len() / 2])).max(1e-9);
            let within = pairs.partition_point(|pair| distance(pair) <= limit).max(1);
            motion = Self::fit(&pairs[..within])?;
            if within == kept {
                break;
            }
            kept = within;
        }
        Some((motion, kept))
    }
}

/// The distance of two places.
pub(crate) fn apart(a: [f64; 2], b: [f64; 2]) -> f64 {
    (a[0] - b[0]).hypot(a[1] - b[1])
}

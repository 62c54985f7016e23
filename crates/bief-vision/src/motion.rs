//! How the view moves from one picture to the next: rigid motion, from pairs of places some of which are wrong.

/// A turn about the origin, then a shift: where what was at a place is now.
///
/// ```
/// use bief_vision::Rigid;
///
/// let quarter = Rigid::fit(&[([0.0, 0.0], [5.0, 5.0]), ([1.0, 0.0], [5.0, 6.0])]).unwrap();
/// let [x, y] = quarter.apply([0.0, 2.0]);
/// assert!((x - 3.0).abs() < 1e-9 && (y - 5.0).abs() < 1e-9);
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rigid {
    cos: f64,
    sin: f64,
    shift: [f64; 2],
}

/// A place before, and the one after.
pub type Pair = ([f64; 2], [f64; 2]);

impl Rigid {
    /// No motion.
    pub const STILL: Self = Self { cos: 1.0, sin: 0.0, shift: [0.0; 2] };

    /// A turn by so many radians, from x towards y, then a shift by so many pixels.
    pub fn new(turn: f64, shift: [f64; 2]) -> Self {
        let (sin, cos) = turn.sin_cos();
        Self { cos, sin, shift }
    }

    /// The turn in radians, from x towards y.
    pub fn turn(&self) -> f64 {
        self.sin.atan2(self.cos)
    }

    /// The shift in pixels, after the turn.
    pub fn shift(&self) -> [f64; 2] {
        self.shift
    }

    /// Where a place is after the motion.
    pub fn apply(&self, [x, y]: [f64; 2]) -> [f64; 2] {
        [self.cos * x - self.sin * y + self.shift[0], self.sin * x + self.cos * y + self.shift[1]]
    }

    /// Where a place was before the motion.
    pub(crate) fn undo(&self, [x, y]: [f64; 2]) -> [f64; 2] {
        let (x, y) = (x - self.shift[0], y - self.shift[1]);
        [self.cos * x + self.sin * y, self.cos * y - self.sin * x]
    }

    /// This motion, then another one.
    pub(crate) fn then(&self, next: &Self) -> Self {
        Self {
            cos: next.cos * self.cos - next.sin * self.sin,
            sin: next.sin * self.cos + next.cos * self.sin,
            shift: next.apply(self.shift),
        }
    }

    /// The same turn with another shift.
    pub(crate) fn with_shift(&self, shift: [f64; 2]) -> Self {
        Self { shift, ..*self }
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
                middle[0][axis] += before[axis];
                middle[1][axis] += after[axis];
            }
        }
        let middle = middle.map(|sum| sum.map(|sum| sum / count));
        let (mut along, mut across) = (0.0, 0.0);
        for (before, after) in pairs {
            let (x, y) = (before[0] - middle[0][0], before[1] - middle[0][1]);
            let (u, v) = (after[0] - middle[1][0], after[1] - middle[1][1]);
            along += x * u + y * v;
            across += x * v - y * u;
        }
        let length = length([along, across]);
        let (cos, sin) = if length == 0.0 { (1.0, 0.0) } else { (along / length, across / length) };
        let ([x, y], [u, v]) = (middle[0], middle[1]);
        Some(Self { cos, sin, shift: [u - cos * x + sin * y, v - sin * x - cos * y] })
    }

    /// As [`fit`](Self::fit), with pairs left out that are further from the motion than `most` pixels, or than three times the
    /// distance that half of them keep: again and again, until they are the same. Answers how many were kept, too; they come first
    /// in `pairs` then.
    pub fn fit_trimmed(pairs: &mut [Pair], most: f64) -> Option<(Self, usize)> {
        let mut motion = Self::fit(pairs)?;
        let mut kept = pairs.len();
        let mut squares = Vec::with_capacity(pairs.len());
        for _ in 0..8 {
            let square = |(before, after): &Pair| square_apart(motion.apply(*before), *after);
            // The bits of numbers from 0 on have the order of the numbers.
            squares.clear();
            squares.extend(pairs.iter().map(|pair| square(pair).to_bits()));
            let (_, &mut half, _) = squares.select_nth_unstable(pairs.len() / 2);
            let limit = (most * most).min(9.0 * f64::from_bits(half)).max(1e-18);
            let mut within = 0;
            for index in 0..pairs.len() {
                if square(&pairs[index]) <= limit {
                    pairs.swap(index, within);
                    within += 1;
                }
            }
            let within = within.max(1);
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
    square_apart(a, b).sqrt()
}

/// The same, squared.
#[inline]
pub(crate) fn square_apart(a: [f64; 2], b: [f64; 2]) -> f64 {
    let (x, y) = (a[0] - b[0], a[1] - b[1]);
    x * x + y * y
}

/// The length of a way. Of pixels, no square is too large: this is much faster than `hypot`.
pub(crate) fn length([x, y]: [f64; 2]) -> f64 {
    (x * x + y * y).sqrt()
}

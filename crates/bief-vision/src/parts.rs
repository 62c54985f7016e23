//! Places in a picture, by the part of it that they are in.

/// Columns and rows of a square, in pixels.
const SQUARE: f64 = 4.0;

/// Parts of a picture, in columns and rows, around whole multiples of their side.
#[derive(Debug, Clone)]
pub(crate) struct Parts {
    per_pixel: f64,
    /// The last column and the last row.
    last: [f64; 2],
}

impl Parts {
    /// Those of a picture, with sides of so many pixels.
    pub(crate) fn new(width: usize, height: usize, side: f64) -> Self {
        Self { per_pixel: 1.0 / side, last: [width, height].map(|pixels| (pixels as f64 / side).ceil().max(1.0) - 1.0) }
    }

    /// How many there are: columns and rows.
    pub(crate) fn count(&self) -> [usize; 2] {
        self.last.map(|last| last as usize + 1)
    }

    /// The one that a place is in: column and row. Of one outside, the nearest one.
    #[inline]
    pub(crate) fn of(&self, place: [f64; 2]) -> [usize; 2] {
        /// A number that is added to it is rounded to a whole one, in the low bits. A cast takes several times longer: it takes care of
        /// all that does not fit, which is cut off here.
        const WHOLE: f64 = (1_u64 << 52) as f64;
        [0, 1].map(|axis| {
            let at = place[axis] * self.per_pixel;
            // No number is 0.
            let at = if at > 0.0 { at } else { 0.0 };
            let at = if at < self.last[axis] { at } else { self.last[axis] };
            (at + WHOLE).to_bits() as u32 as usize
        })
    }
}

/// Small squares of a picture, some of which are marked.
#[derive(Debug, Clone)]
pub(crate) struct Squares {
    squares: Parts,
    /// Words of a row, one more than its squares need.
    words: usize,
    /// A bit for each square.
    bits: Vec<u64>,
}

impl Squares {
    /// Those of a picture, of which none is marked.
    pub(crate) fn new(width: usize, height: usize) -> Self {
        let squares = Parts::new(width, height, SQUARE);
        let [columns, rows] = squares.count();
        let words = columns.div_ceil(64) + 1;
        Self { squares, words, bits: vec![0; words * rows] }
    }

    pub(crate) fn clear(&mut self) {
        self.bits.fill(0);
    }

    /// Marks all that a rectangle reaches into.
    #[inline]
    pub(crate) fn mark(&mut self, first: [f64; 2], last: [f64; 2]) {
        let ([mut left, top], [right, bottom]) = (self.squares.of(first), self.squares.of(last));
        while left <= right {
            let count = (right - left + 1).min(64);
            // They may go on in the next word.
            let squares = ((1 << count) - 1_u128) << (left % 64);
            for row in top..=bottom {
                let word = row * self.words + left / 64;
                self.bits[word] |= squares as u64;
                self.bits[word + 1] |= (squares >> 64) as u64;
            }
            left += count;
        }
    }

    /// Whether the one that a place is in is marked.
    #[inline]
    pub(crate) fn is_marked(&self, place: [f64; 2]) -> bool {
        let [column, row] = self.squares.of(place);
        self.bits[row * self.words + column / 64] >> (column % 64) & 1 != 0
    }
}

//! Places by where they are: what lies near a place is found without looking at all of them.

/// Columns and rows of a cell, in pixels.
const CELL: f64 = 32.0;
/// Columns and rows of a square, in pixels.
const SQUARE: f64 = 4.0;
/// A place is close to a square if it is at most so far away from a place in it: less than half a square, so that it is close to two
/// along each axis at most. Most lookups reach no further.
const CLOSE: f64 = 1.9;

/// Numbered places, sorted into the cells of a picture; those outside belong to the cells at the border.
///
/// ```
/// use bief_vision::Grid;
///
/// let mut grid = Grid::new(640, 480);
/// grid.fill([[10.0, 10.0], [300.0, 200.0], [12.0, 10.0]]);
/// let mut near = Vec::new();
/// grid.near([11.0, 10.0], 5.0, |number| near.push(number));
/// near.sort();
/// assert_eq!(near, [0, 2]);
/// ```
#[derive(Debug, Clone)]
pub struct Grid {
    parts: Parts,
    columns: usize,
    /// Where the places of each cell begin in `order`, and one more.
    starts: Vec<u32>,
    /// The cell of each place, in the order in which they came.
    cells: Vec<u32>,
    /// Places and their numbers, cell by cell, and in each by rising number.
    sorted: Vec<([f64; 2], u32)>,
    close: Option<Close>,
}

/// Squares to which a place is close, of small ones: most lookups find nothing, and these tell it at once.
#[derive(Debug, Clone)]
struct Close {
    squares: Parts,
    words: usize,
    /// A bit for each square, in whole words for each row.
    bits: Vec<u64>,
}

impl Grid {
    /// A grid over a picture of this size.
    pub fn new(width: usize, height: usize) -> Self {
        let squares = Parts::new(width, height, SQUARE);
        let [columns, rows] = squares.count();
        let words = columns.div_ceil(64);
        let close = Close { squares, words, bits: vec![0; words * rows] };
        Self { close: Some(close), ..Self::for_few_lookups(width, height) }
    }

    /// As [`new`](Self::new), filled faster, for fewer lookups than there are places.
    pub(crate) fn for_few_lookups(width: usize, height: usize) -> Self {
        let parts = Parts::new(width, height, CELL);
        let [columns, rows] = parts.count();
        let starts = vec![0; columns * rows + 1];
        Self { columns, starts, cells: Vec::new(), sorted: Vec::new(), parts, close: None }
    }

    /// Sorts these places in, in the stead of those before.
    pub fn fill(&mut self, places: impl IntoIterator<Item = [f64; 2], IntoIter: Clone>) {
        let places = places.into_iter();
        let mut cells = std::mem::take(&mut self.cells);
        cells.clear();
        cells.extend(places.clone().map(|place| self.cell(place) as u32));
        // Each start is that of the cell before, and moves to its end while places are sorted in.
        self.starts.fill(0);
        for &cell in &cells {
            if let Some(start) = self.starts.get_mut(cell as usize + 2) {
                *start += 1;
            }
        }
        let mut start = 0;
        for count in &mut self.starts {
            start += *count;
            *count = start;
        }
        self.sorted.clear();
        self.sorted.resize(cells.len(), Default::default());
        for ((number, place), &cell) in (0..).zip(places).zip(&cells) {
            let start = &mut self.starts[cell as usize + 1];
            self.sorted[*start as usize] = (place, number);
            *start += 1;
        }
        self.cells = cells;
        if let Some(close) = &mut self.close {
            close.fill(&self.sorted);
        }
    }

    /// Whether a place so far away may be there.
    #[inline]
    fn may_be(&self, place: [f64; 2], distance: f64) -> bool {
        self.close.as_ref().is_none_or(|close| distance > CLOSE || close.is_close(place))
    }

    /// Tells the numbers of the places that are at most so far away, in no particular order.
    pub fn near(&self, place: [f64; 2], distance: f64, mut each: impl FnMut(usize)) {
        let [first_column, first_row] = self.parts.of([place[0] - distance, place[1] - distance]);
        let [last_column, last_row] = self.parts.of([place[0] + distance, place[1] + distance]);
        // Most cells are empty: loops pass over them faster than iterators do.
        for row in first_row..=last_row {
            for &([x, y], number) in self.cells_of(row, first_column, last_column) {
                if (x - place[0]) * (x - place[0]) + (y - place[1]) * (y - place[1]) <= distance * distance {
                    each(number as usize);
                }
            }
        }
    }

    /// What is in some cells of a row.
    fn cells_of(&self, row: usize, first: usize, last: usize) -> &[([f64; 2], u32)] {
        let row = row * self.columns;
        &self.sorted[self.starts[row + first] as usize..self.starts[row + last + 1] as usize]
    }

    /// The number of the nearest place that is at most so far away, and its distance.
    #[inline]
    pub fn nearest(&self, place: [f64; 2], distance: f64) -> Option<(usize, f64)> {
        if self.may_be(place, distance) { self.nearest_in_cells(place, distance) } else { None }
    }

    fn nearest_in_cells(&self, place: [f64; 2], distance: f64) -> Option<(usize, f64)> {
        let [first_column, first_row] = self.parts.of([place[0] - distance, place[1] - distance]);
        let [last_column, last_row] = self.parts.of([place[0] + distance, place[1] + distance]);
        let (mut nearest, mut least) = (u32::MAX, distance * distance);
        for row in first_row..=last_row {
            for &([x, y], number) in self.cells_of(row, first_column, last_column) {
                let square = (x - place[0]) * (x - place[0]) + (y - place[1]) * (y - place[1]);
                if square < least || square == least && number < nearest {
                    (nearest, least) = (number, square);
                }
            }
        }
        (nearest != u32::MAX).then(|| (nearest as usize, least.sqrt()))
    }

    fn cell(&self, place: [f64; 2]) -> usize {
        let [column, row] = self.parts.of(place);
        row * self.columns + column
    }
}

impl Close {
    fn fill(&mut self, places: &[([f64; 2], u32)]) {
        self.bits.fill(0);
        for (place, _) in places {
            let first = self.squares.of(place.map(|side| side - CLOSE));
            let last = self.squares.of(place.map(|side| side + CLOSE));
            for [column, row] in [first, [last[0], first[1]], [first[0], last[1]], last] {
                self.bits[row * self.words + column / 64] |= 1 << (column % 64);
            }
        }
    }

    #[inline]
    fn is_close(&self, place: [f64; 2]) -> bool {
        let [column, row] = self.squares.of(place);
        self.bits[row * self.words + column / 64] >> (column % 64) & 1 != 0
    }
}

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

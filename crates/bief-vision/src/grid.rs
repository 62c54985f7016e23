//! Places by where they are: what lies near a place is found without looking at all of them.

use crate::motion::square_apart;
use crate::parts::Parts;

/// Columns and rows of a cell, in pixels.
const CELL: f64 = 32.0;
/// As far as most lookups reach.
const CLOSE: f64 = 1.9;
/// The side of a square over that distance: a little more than two, so that a place is close to squares of two columns and two rows at most.
const SIDE: f64 = 2.1;
/// What a square has instead of a number where no place is close to it, and where more than one is.
const NOTHING: u16 = 0;
const SEVERAL: u16 = u16::MAX;

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
    /// Places, in the order in which they came.
    places: Vec<[f64; 2]>,
    /// Most lookups are for what is close, and find nothing, or the only place there is. Squares tell it at once: each has the number
    /// of the place that is close to it, plus one, or that nothing is, or several are.
    squares: Parts,
    close: Vec<u16>,
    /// From a place in a square to one that is close to it, at most.
    closeness: f64,
}

impl Grid {
    /// A grid over a picture of this size.
    pub fn new(width: usize, height: usize) -> Self {
        Self::for_lookups(width, height, CLOSE)
    }

    /// As [`new`](Self::new), for lookups that mostly reach so far, and find nothing.
    pub(crate) fn for_lookups(width: usize, height: usize, distance: f64) -> Self {
        let (parts, squares) = (Parts::new(width, height, CELL), Parts::new(width, height, SIDE * distance));
        let [columns, rows] = parts.count();
        Self {
            columns,
            starts: vec![0; columns * rows + 1],
            cells: Vec::new(),
            sorted: Vec::new(),
            places: Vec::new(),
            close: vec![NOTHING; squares.count().iter().product()],
            parts,
            squares,
            closeness: distance,
        }
    }

    /// Sorts these places in, in the stead of those before.
    pub fn fill(&mut self, places: impl IntoIterator<Item = [f64; 2]>) {
        self.places.clear();
        self.places.extend(places);
        let (places, mut cells) = (std::mem::take(&mut self.places), std::mem::take(&mut self.cells));
        cells.clear();
        cells.extend(places.iter().map(|&place| self.cell(place) as u32));
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
        for ((number, &place), &cell) in (0..).zip(&places).zip(&cells) {
            let start = &mut self.starts[cell as usize + 1];
            self.sorted[*start as usize] = (place, number);
            *start += 1;
        }
        self.close.fill(NOTHING);
        let columns = self.squares.count()[0];
        for (number, place) in (1..).zip(&places) {
            let entry = if number < usize::from(SEVERAL) { number as u16 } else { SEVERAL };
            let [left, top] = self.squares.of(place.map(|side| side - self.closeness));
            let [right, bottom] = self.squares.of(place.map(|side| side + self.closeness));
            // Four times, even if these are fewer squares: how many there are cannot be foretold.
            for square in
                [top * columns + left, top * columns + right, bottom * columns + left, bottom * columns + right]
            {
                let close = &mut self.close[square];
                *close = if *close == NOTHING || *close == entry { entry } else { SEVERAL };
            }
        }
        (self.places, self.cells) = (places, cells);
    }

    /// What [`close`](Self::close) has of a place.
    #[inline]
    fn close_to(&self, place: [f64; 2]) -> u16 {
        let ([column, row], [columns, _]) = (self.squares.of(place), self.squares.count());
        self.close[row * columns + column]
    }

    /// Tells the numbers of the places that are at most so far away, in no particular order.
    #[inline]
    pub fn near(&self, place: [f64; 2], distance: f64, each: impl FnMut(usize)) {
        if distance > self.closeness || self.close_to(place) != NOTHING {
            self.near_in_cells(place, distance, each);
        }
    }

    fn near_in_cells(&self, place: [f64; 2], distance: f64, mut each: impl FnMut(usize)) {
        let [first_column, first_row] = self.parts.of([place[0] - distance, place[1] - distance]);
        let [last_column, last_row] = self.parts.of([place[0] + distance, place[1] + distance]);
        // Most cells are empty: loops pass over them faster than iterators do.
        for row in first_row..=last_row {
            for &(other, number) in self.cells_of(row, first_column, last_column) {
                if square_apart(other, place) <= distance * distance {
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

    /// The number of the nearest place that is at most so far away.
    #[inline(always)]
    pub fn nearest(&self, place: [f64; 2], distance: f64) -> Option<usize> {
        let close = if distance > self.closeness { SEVERAL } else { self.close_to(place) };
        match close {
            NOTHING => None,
            SEVERAL => self.nearest_in_cells(place, distance),
            _ => {
                let number = usize::from(close) - 1;
                (square_apart(self.places[number], place) <= distance * distance).then_some(number)
            }
        }
    }

    fn nearest_in_cells(&self, place: [f64; 2], distance: f64) -> Option<usize> {
        let [first_column, first_row] = self.parts.of([place[0] - distance, place[1] - distance]);
        let [last_column, last_row] = self.parts.of([place[0] + distance, place[1] + distance]);
        let (mut nearest, mut least) = (u32::MAX, distance * distance);
        for row in first_row..=last_row {
            for &(other, number) in self.cells_of(row, first_column, last_column) {
                let square = square_apart(other, place);
                if square < least || square == least && number < nearest {
                    (nearest, least) = (number, square);
                }
            }
        }
        (nearest != u32::MAX).then_some(nearest as usize)
    }

    fn cell(&self, place: [f64; 2]) -> usize {
        let [column, row] = self.parts.of(place);
        row * self.columns + column
    }
}

//! Places by where they are: what lies near a place is found without looking at all of them.

/// Columns and rows of a cell, in pixels.
const CELL: f64 = 16.0;

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
    columns: usize,
    rows: usize,
    /// Where the places of each cell begin in `order`, and one more.
    starts: Vec<u32>,
    /// The cell of each place, in the order in which they came.
    cells: Vec<u32>,
    /// Places and their numbers, cell by cell, and in each by rising number.
    sorted: Vec<([f64; 2], u32)>,
}

impl Grid {
    /// A grid over a picture of this size.
    pub fn new(width: usize, height: usize) -> Self {
        let columns = (width as f64 / CELL).ceil().max(1.0) as usize;
        let rows = (height as f64 / CELL).ceil().max(1.0) as usize;
        Self { columns, rows, starts: vec![0; columns * rows + 1], cells: Vec::new(), sorted: Vec::new() }
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
    }

    /// Tells the numbers of the places that are at most so far away, in no particular order.
    pub fn near(&self, place: [f64; 2], distance: f64, mut each: impl FnMut(usize)) {
        let (first_column, first_row) = self.column_and_row([place[0] - distance, place[1] - distance]);
        let (last_column, last_row) = self.column_and_row([place[0] + distance, place[1] + distance]);
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
    pub fn nearest(&self, place: [f64; 2], distance: f64) -> Option<(usize, f64)> {
        let (first_column, first_row) = self.column_and_row([place[0] - distance, place[1] - distance]);
        let (last_column, last_row) = self.column_and_row([place[0] + distance, place[1] + distance]);
        let mut nearest: Option<(u32, f64)> = None;
        let mut limit = distance * distance;
        for row in first_row..=last_row {
            for &([x, y], number) in self.cells_of(row, first_column, last_column) {
                let square = (x - place[0]) * (x - place[0]) + (y - place[1]) * (y - place[1]);
                if square <= limit && nearest.is_none_or(|(other, least)| square < least || number < other) {
                    (nearest, limit) = (Some((number, square)), square);
                }
            }
        }
        nearest.map(|(number, square)| (number as usize, square.sqrt()))
    }

    fn column_and_row(&self, [x, y]: [f64; 2]) -> (usize, usize) {
        // What is below 0, or no number, is 0.
        (((x / CELL) as usize).min(self.columns - 1), ((y / CELL) as usize).min(self.rows - 1))
    }

    fn cell(&self, place: [f64; 2]) -> usize {
        let (column, row) = self.column_and_row(place);
        row * self.columns + column
    }
}

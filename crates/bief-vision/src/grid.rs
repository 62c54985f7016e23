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
/// let mut near: Vec<usize> = grid.near([11.0, 10.0], 5.0).collect();
/// near.sort();
/// assert_eq!(near, [0, 2]);
/// ```
#[derive(Debug, Clone)]
pub struct Grid {
    columns: usize,
    rows: usize,
    /// Where the places of each cell begin in `order`, and one more.
    starts: Vec<u32>,
    order: Vec<u32>,
    places: Vec<[f64; 2]>,
}

impl Grid {
    /// A grid over a picture of this size.
    pub fn new(width: usize, height: usize) -> Self {
        let columns = (width as f64 / CELL).ceil().max(1.0) as usize;
        let rows = (height as f64 / CELL).ceil().max(1.0) as usize;
        Self { columns, rows, starts: vec![0; columns * rows + 1], order: Vec::new(), places: Vec::new() }
    }

    /// Sorts these places in, in the stead of those before.
    pub fn fill(&mut self, places: impl IntoIterator<Item = [f64; 2]>) {
        self.places.clear();
        self.places.extend(places);
        self.starts.fill(0);
        for &place in &self.places {
            let cell = self.cell(place);
            self.starts[cell + 1] += 1;
        }
        for cell in 1..self.starts.len() {
            self.starts[cell] += self.starts[cell - 1];
        }
        self.order.clear();
        self.order.resize(self.places.len(), 0);
        // Each start moves to the end of its cell, which is the start of the next one.
        for (index, &place) in self.places.iter().enumerate().rev() {
            let cell = self.cell(place);
            self.starts[cell + 1] -= 1;
            self.order[self.starts[cell + 1] as usize] = index as u32;
        }
        self.starts.rotate_left(1);
        let last = self.starts.len() - 1;
        self.starts[last] = self.places.len() as u32;
    }

    /// The numbers of the places that are at most so far away, in no particular order.
    pub fn near(&self, place: [f64; 2], distance: f64) -> impl Iterator<Item = usize> {
        let (first_column, first_row) = self.column_and_row([place[0] - distance, place[1] - distance]);
        let (last_column, last_row) = self.column_and_row([place[0] + distance, place[1] + distance]);
        let cells = (first_row..=last_row).flat_map(move |row| {
            let start = self.starts[row * self.columns + first_column] as usize;
            &self.order[start..self.starts[row * self.columns + last_column + 1] as usize]
        });
        cells.map(|&index| index as usize).filter(move |&index| {
            let [x, y] = self.places[index];
            (x - place[0]) * (x - place[0]) + (y - place[1]) * (y - place[1]) <= distance * distance
        })
    }

    /// The number of the nearest place that is at most so far away, and its distance.
    pub fn nearest(&self, place: [f64; 2], distance: f64) -> Option<(usize, f64)> {
        let (first_column, first_row) = self.column_and_row([place[0] - distance, place[1] - distance]);
        let (last_column, last_row) = self.column_and_row([place[0] + distance, place[1] + distance]);
        let mut nearest: Option<(usize, f64)> = None;
        // Most cells are empty: loops pass over them faster than the iterator of `near` does.
        for row in first_row..=last_row {
            let cells = &self.starts[row * self.columns + first_column..=row * self.columns + last_column + 1];
            for &index in &self.order[cells[0] as usize..cells[cells.len() - 1] as usize] {
                let [x, y] = self.places[index as usize];
                let square = (x - place[0]) * (x - place[0]) + (y - place[1]) * (y - place[1]);
                let is_nearer =
                    nearest.is_none_or(|(other, least)| square < least || square == least && (index as usize) < other);
                if square <= distance * distance && is_nearer {
                    nearest = Some((index as usize, square));
                }
            }
        }
        nearest.map(|(index, square)| (index, square.sqrt()))
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

//! Where in the picture something always flickers: a burned-in clock, a lamp, the edge of a roof.

/// Columns and rows of a cell, in pixels.
const CELL: f64 = 16.0;
/// What is left of a cell's count after a frame.
const FADE: f32 = 0.95;
/// Counts from which a cell is restless: something new in a third of the latest frames.
const RESTLESS: f32 = 6.5;

/// How often something new was seen in each cell of the picture, lately.
#[derive(Debug, Clone)]
pub(super) struct Restless {
    columns: usize,
    counts: Vec<f32>,
    /// Cells that have counted in this frame.
    marked: Vec<bool>,
}

impl Restless {
    pub(super) fn new(width: usize, height: usize) -> Self {
        let columns = (width as f64 / CELL).ceil() as usize;
        let cells = columns * (height as f64 / CELL).ceil() as usize;
        Self { columns, counts: vec![0.0; cells], marked: vec![false; cells] }
    }

    pub(super) fn fade(&mut self) {
        self.counts.iter_mut().for_each(|count| *count *= FADE);
        self.marked.fill(false);
    }

    pub(super) fn add(&mut self, place: [f64; 2]) {
        let cell = self.cell(place);
        if !std::mem::replace(&mut self.marked[cell], true) {
            self.counts[cell] += 1.0;
        }
    }

    pub(super) fn is_restless(&self, place: [f64; 2]) -> bool {
        self.counts[self.cell(place)] >= RESTLESS
    }

    fn cell(&self, [x, y]: [f64; 2]) -> usize {
        let (column, row) = ((x / CELL) as usize, (y / CELL) as usize);
        (row * self.columns + column.min(self.columns - 1)).min(self.counts.len() - 1)
    }
}

//! Where in the picture something always flickers: a burned-in clock, a lamp, the edge of a roof.

use crate::parts::Parts;

/// Columns and rows of a cell, in pixels.
const CELL: f64 = 16.0;
/// What is left of a cell's count after a frame.
const FADE: f32 = 0.95;
/// Counts from which a cell is restless: something new in a third of the latest frames.
const RESTLESS: f32 = 6.5;

/// How often something new was seen in each cell of the picture, lately.
#[derive(Debug, Clone)]
pub(super) struct Restless {
    cells: Parts,
    columns: usize,
    counts: Vec<f32>,
    /// Cells that have counted in this frame.
    marked: Vec<bool>,
}

impl Restless {
    pub(super) fn new(width: usize, height: usize) -> Self {
        let cells = Parts::new(width, height, CELL);
        let [columns, rows] = cells.count();
        Self { cells, columns, counts: vec![0.0; columns * rows], marked: vec![false; columns * rows] }
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

    fn cell(&self, place: [f64; 2]) -> usize {
        let [column, row] = self.cells.of(place.map(|side| side - CELL / 2.0));
        row * self.columns + column
    }
}

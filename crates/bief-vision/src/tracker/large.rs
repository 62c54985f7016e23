//! Components that may have taken stars in.

use super::is_in;
use crate::component::Component;
use crate::parts::Squares;

/// Columns or rows, less one, of a component that may have taken in a star that is not near its middle.
const LARGE: u16 = 4;
/// Pixels around its box that are its own, too.
const MARGIN: f64 = 0.5;
/// Rows of a band.
const BAND: usize = 8;

/// The large components of a picture by the bands of rows that they reach into: a star need not be looked for in all of them.
#[derive(Debug, Clone)]
pub(super) struct Large {
    bands: Vec<Vec<u32>>,
    /// Where one of them may be: mostly none is.
    reached: Squares,
}

impl Large {
    /// For pictures of this size.
    pub(super) fn new(width: usize, height: usize) -> Self {
        Self { bands: vec![Vec::new(); height.div_ceil(BAND)], reached: Squares::new(width, height) }
    }

    /// Takes those of a picture, in the stead of those before.
    pub(super) fn fill(&mut self, components: &[Component]) {
        self.bands.iter_mut().for_each(Vec::clear);
        self.reached.clear();
        for (index, &Component { left, right, top, bottom, .. }) in components.iter().enumerate() {
            if left <= right && top <= bottom && (right - left >= LARGE || bottom - top >= LARGE) {
                let first = [left, top].map(|side| f64::from(side) - MARGIN);
                let last = [right, bottom].map(|side| f64::from(side) + MARGIN);
                self.reached.mark(first, last);
                let bands = self.band(first[1])..=self.band(last[1]);
                self.bands[bands].iter_mut().for_each(|band| band.push(index as u32));
            }
        }
    }

    /// The first one whose box a place lies in.
    pub(super) fn around(&self, at: [f64; 2], components: &[Component]) -> Option<usize> {
        if !self.reached.is_marked(at) {
            return None;
        }
        let mut band = self.bands[self.band(at[1])].iter().map(|&index| index as usize);
        band.find(|&index| is_in(&components[index], at, MARGIN))
    }

    /// The band of a row; one outside belongs to the band at the border.
    fn band(&self, row: f64) -> usize {
        // What is below 0, or no number, is 0.
        ((row / BAND as f64) as usize).min(self.bands.len() - 1)
    }
}

//! Components that may have taken stars in.

use super::is_in;
use crate::component::Component;

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
}

impl Large {
    /// For pictures with so many rows.
    pub(super) fn new(height: usize) -> Self {
        Self { bands: vec![Vec::new(); height.div_ceil(BAND)] }
    }

    /// Takes those of a picture, in the stead of those before.
    pub(super) fn fill(&mut self, components: &[Component]) {
        self.bands.iter_mut().for_each(Vec::clear);
        for (index, &Component { left, right, top, bottom, .. }) in components.iter().enumerate() {
            if left <= right && top <= bottom && (right - left >= LARGE || bottom - top >= LARGE) {
                let bands = self.band(f64::from(top) - MARGIN)..=self.band(f64::from(bottom) + MARGIN);
                self.bands[bands].iter_mut().for_each(|band| band.push(index as u32));
            }
        }
    }

    /// The first one whose box a place lies in.
    pub(super) fn around(&self, at: [f64; 2], components: &[Component]) -> Option<usize> {
        let mut band = self.bands[self.band(at[1])].iter().map(|&index| index as usize);
        band.find(|&index| is_in(&components[index], at, MARGIN))
    }

    /// The band of a row; one outside belongs to the band at the border.
    fn band(&self, row: f64) -> usize {
        // What is below 0, or no number, is 0.
        ((row / BAND as f64) as usize).min(self.bands.len() - 1)
    }
}

//! Components that may have taken stars in.

use super::is_in;
use crate::component::Component;
use crate::grid::Grid;
use crate::parts::Squares;

/// Columns or rows, less one, of a component that may have taken in a star that is not near its middle.
const LARGE: u16 = 4;
/// The same, of one whose middle may be far from a place in its box.
const HUGE: u16 = 12;
/// Pixels around its box that are its own, too.
const MARGIN: f64 = 0.5;
/// From the middle of one that is not huge to a place in its box, at most.
const NEAR: f64 = 1.42 * (HUGE as f64 + MARGIN);

/// The large components of a picture.
#[derive(Debug, Clone)]
pub(super) struct Large {
    /// Where one of them may be: mostly none is.
    reached: Squares,
    huge: Vec<usize>,
}

impl Large {
    /// For pictures of this size.
    pub(super) fn new(width: usize, height: usize) -> Self {
        Self { reached: Squares::new(width, height), huge: Vec::new() }
    }

    /// Takes those of a picture, in the stead of those before.
    pub(super) fn fill(&mut self, components: &[Component]) {
        self.reached.clear();
        self.huge.clear();
        for (number, &Component { left, right, top, bottom, .. }) in components.iter().enumerate() {
            let side = right.saturating_sub(left).max(bottom.saturating_sub(top));
            if side >= LARGE {
                let first = [left, top].map(|side| f64::from(side) - MARGIN);
                let last = [right, bottom].map(|side| f64::from(side) + MARGIN);
                self.reached.mark(first, last);
            }
            if side > HUGE {
                self.huge.push(number);
            }
        }
    }

    /// The first of all components, whose places are in this grid, whose box a place lies in.
    pub(super) fn around(&self, at: [f64; 2], components: &[Component], grid: &Grid) -> Option<usize> {
        if !self.reached.is_marked(at) {
            return None;
        }
        let is_around = |number: usize| is_in(&components[number], at, MARGIN);
        let mut first = self.huge.iter().copied().find(|&number| is_around(number));
        grid.near(at, NEAR, |number| {
            if is_around(number) && first.is_none_or(|first| number < first) {
                first = Some(number);
            }
        });
        first
    }
}

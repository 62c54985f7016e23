//! The filter of integers for devices: its text, and what it reads.

use super::integers::IntegerFilter;
use super::{PHASES, TILE, is_near};

/// What the kernel `filter` of [`FilterTables::SOURCE`] reads of an [`IntegerFilter`].
///
/// ```
/// use bief_dsp::filter::{FilterTables, IntegerFilter, MatchedFilter};
///
/// let filter = IntegerFilter::new(&MatchedFilter::new(0.25, 2.0));
/// let tables = FilterTables::new(&filter);
/// assert_eq!((tables.taps.len(), tables.length), (128 * 32, 32));
/// let mut places = Vec::new();
/// let run = tables.places(60.25, 2.0, 65, &mut places);
/// assert_eq!((run.outputs, run.rate, &places[..]), (64, 2, &[7_712, 24_096][..])); // in 128th of a sample
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct FilterTables {
    /// Of each of the 128 positions between two samples `length` taps.
    pub taps: Vec<i16>,
    /// Taps of a position.
    pub length: usize,
    /// Which of them is at the centre.
    pub centre: usize,
    whole_rate: usize,
    scale: f32,
}

/// How outputs share a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Run {
    /// How many follow each other.
    pub outputs: usize,
    /// Samples from one of them to the next.
    pub rate: usize,
}

impl FilterTables {
    /// OpenCL C 1.2. Its kernel `filter` wants work-groups of 64 items, as many for each frame as the longest one takes, and
    /// gives the outputs of [`IntegerFilter::symbols`], bit for bit.
    pub const SOURCE: &'static str = include_str!("filter.cl");

    /// Those of a filter.
    pub fn new(filter: &IntegerFilter) -> Self {
        let (taps, length) = filter.taps();
        let (centre, whole_rate, scale) = filter.centre();
        Self { taps, length, centre, whole_rate, scale }
    }

    /// Adds the places of `count` outputs centred on `start + k · step`, in samples: one for each run of them, in 128th of a sample.
    pub fn places(&self, start: f64, step: f64, count: usize, places: &mut Vec<i32>) -> Run {
        let nearest = |position: f64| (position * PHASES as f64).round_ties_even() as i32;
        if !is_near(self.whole_rate, step) {
            places.extend((0..count).map(|k| nearest(start + k as f64 * step)));
            return Run { outputs: 1, rate: 0 };
        }
        // One phase serves a whole tile: the one that is right in its middle.
        let drift = (step - self.whole_rate as f64) * (TILE / 2) as f64;
        let tiles = count.div_ceil(TILE);
        places.extend((0..tiles).map(|tile| nearest(start + (tile * TILE) as f64 * step + drift)));
        Run { outputs: TILE, rate: self.whole_rate }
    }

    /// What the kernel multiplies its sums by, to have `gain` times the filter's output.
    pub fn gain(&self, gain: f32) -> f32 {
        gain / self.scale
    }
}

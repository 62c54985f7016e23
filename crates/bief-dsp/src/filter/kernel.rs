//! The filter of integers for devices: its text, and what it reads.

use super::integers::{IntegerFilter, SHARING};
use super::turn::{Recorded, Turn};
use super::{PHASES, TILE};

/// What the kernel `filter` of [`FilterTables::SOURCE`] reads of an [`IntegerFilter`].
///
/// ```
/// use bief_dsp::Complex32;
/// use bief_dsp::filter::{FilterFrames, FilterTables, IntegerFilter, MatchedFilter, Recorded, Turn};
///
/// let mut tables = FilterTables::new(&IntegerFilter::new(&MatchedFilter::new(0.25, 2.0)));
/// assert_eq!((tables.taps.len(), tables.length), (128 * 32, 32));
/// let (window, mut frames) = (vec![0; 4 * 300], FilterFrames::default());
/// let turn = Turn { frequency: 0.01, start: 1.0.into(), constant: Complex32::ZERO, inverted: false };
/// tables.add(Recorded::I16(&window), (&turn, 500.0), (60.25, 2.0), (0, 65), &mut frames);
/// assert_eq!((frames.frames.len(), frames.anchors.len()), (1, 2)); // 64 outputs, and one
/// assert_eq!(frames.places, [7_712, 24_096]); // in 128th of a sample
/// ```
#[derive(Debug, Clone)]
pub struct FilterTables {
    /// Of each of the 128 positions between two samples `length` taps.
    pub taps: Vec<i16>,
    /// Taps of a position.
    pub length: usize,
    /// Which of them is at the centre.
    pub centre: usize,
    filter: IntegerFilter,
}

/// What the kernel reads of frames, in the layout of its numbers and vectors.
#[derive(Debug, Clone, Default)]
pub struct FilterFrames {
    /// Of each frame: the first byte of its window and its samples, their form and the shift of their products, its first place, outputs
    /// that share one and samples from one of these to the next, its first output and how many it has, how many of them share samples,
    /// its first anchor, its first phasor and how many it has.
    pub frames: Vec<[u32; 13]>,
    /// Where outputs, or tiles of 64, are centred, in 128th of a sample.
    pub places: Vec<i32>,
    /// What outputs are multiplied by that share samples.
    pub anchors: Vec<[f32; 2]>,
    /// What each of these samples is multiplied by, and what is added.
    pub phasors: Vec<[u32; 8]>,
    /// Bytes of all windows.
    bytes: usize,
}

impl FilterFrames {
    /// Forgets all frames.
    pub fn clear(&mut self) {
        self.frames.clear();
        self.places.clear();
        self.anchors.clear();
        self.phasors.clear();
        self.bytes = 0;
    }

    /// Bytes of their windows, which lie one after the other.
    pub fn bytes(&self) -> usize {
        self.bytes
    }
}

impl FilterTables {
    /// OpenCL C 1.2. Its kernel `filter` wants work-groups of 64 items, as many for each frame as the longest one takes, and
    /// gives the outputs of [`IntegerFilter::symbols`], bit for bit: where samples are floats, those of its richer instructions.
    pub const SOURCE: &'static str = include_str!("filter.cl");

    /// Those of a filter.
    pub fn new(filter: &IntegerFilter) -> Self {
        let (taps, length) = filter.taps();
        let (centre, _) = filter.centre();
        Self { taps, length, centre, filter: filter.clone() }
    }

    /// Adds a frame: of a window that lies behind those of the frames before, `count` outputs, which go to the places from `output` on;
    /// else as [`IntegerFilter::symbols`].
    pub fn add(
        &mut self,
        window: Recorded<'_>,
        (turn, level): (&Turn, f32),
        (start, step): (f64, f64),
        (output, count): (usize, usize),
        to: &mut FilterFrames,
    ) {
        let is_whole = self.filter.prepare(window, turn, level, step);
        let (first_place, first_anchor, first_phasor) = (to.places.len(), to.anchors.len(), to.phasors.len());
        let shift = self.filter.turned().add_phasors(window, &mut to.phasors);
        let (outputs, rate, sharing) = match is_whole {
            true => (TILE, self.filter.centre().1, TILE),
            false => (1, 0, SHARING),
        };
        // One phase serves a whole tile of a whole rate: the one that is right in its middle.
        let drift = if is_whole { (step - rate as f64) * (TILE / 2) as f64 } else { 0.0 };
        let mut anchor = self.filter.anchor(turn, level);
        for first in (0..count).step_by(sharing) {
            for k in (first..count.min(first + sharing)).step_by(outputs) {
                let (sample, phase) = self.filter.at(start + k as f64 * step + drift);
                to.places.push(((sample + self.centre as i64) * PHASES as i64 + phase as i64) as i32);
                if k == first {
                    let gain = anchor.at(sample);
                    to.anchors.push([gain.re, gain.im]);
                }
            }
        }
        let (form, samples) = (window.form(), window.samples());
        let turned = to.phasors.len() - first_phasor;
        let numbers = [first_place, outputs, rate, output, count, sharing, first_anchor, first_phasor, turned];
        let [a, b, c, d, e, f, g, h, i] = numbers.map(|number| number as u32);
        to.frames.push([to.bytes as u32, samples as u32, form, shift, a, b, c, d, e, f, g, h, i]);
        to.bytes += window.bytes().len();
    }
}

//! Connected regions of pixels that are more than sky: found by runs.
//!
//! A row becomes bits, 64 pixels at a time; bits become runs; a run joins the runs of the row above that it touches, corners
//! included. Regions that turn out to be one are merged. What a region adds up, it adds up run by run: the sums of places in closed
//! form, those of grey levels pixel by pixel.

use crate::bits::{Bits, WORD};
use crate::sky::{STRIP, Sky};

/// A connected region of pixels: where it is, and its sums. Rows and columns count from 0.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Region {
    /// First column.
    pub left: u16,
    /// Last column.
    pub right: u16,
    /// First row.
    pub top: u16,
    /// Last row.
    pub bottom: u16,
    /// Pixels.
    pub pixels: u64,
    /// Sum of columns.
    pub x: u64,
    /// Sum of rows.
    pub y: u64,
    /// Sum of squares of columns.
    pub xx: u64,
    /// Sum of squares of rows.
    pub yy: u64,
    /// Sum of columns times rows.
    pub xy: u64,
    /// Sum of grey levels.
    pub sum: u64,
    /// The brightest grey level.
    pub max: u8,
    /// Sum of grey levels times columns.
    pub grey_x: u64,
    /// Sum of grey levels times rows.
    pub grey_y: u64,
    /// Sum of grey levels times squares of columns.
    pub grey_xx: u64,
    /// Sum of grey levels times squares of rows.
    pub grey_yy: u64,
    /// Sum of grey levels times columns times rows.
    pub grey_xy: u64,
}

impl Region {
    /// Adds a run of pixels.
    fn add(&mut self, run: &Run, pixels: &[u8]) {
        let (first, y, count) = (u64::from(run.first), u64::from(run.row), pixels.len() as u64);
        let last = first + count - 1;
        let x = (first + last) * count / 2;
        // Squares of places from the first one on: n (n + 1) (2 n + 1) / 6 up to n.
        let (n, offsets) = (count - 1, x - first * count);
        let xx = first * first * count + 2 * first * offsets + n * (n + 1) * (2 * n + 1) / 6;
        let (grey, by_place, by_square, max) = sums(pixels);
        let grey_x = first * grey + by_place;
        self.left = self.left.min(run.first);
        self.right = self.right.max(run.end - 1);
        self.bottom = run.row;
        self.pixels += count;
        self.x += x;
        self.y += y * count;
        self.xx += xx;
        self.yy += y * y * count;
        self.xy += x * y;
        self.sum += grey;
        self.max = self.max.max(max);
        self.grey_x += grey_x;
        self.grey_y += y * grey;
        self.grey_xx += first * first * grey + 2 * first * by_place + by_square;
        self.grey_yy += y * y * grey;
        self.grey_xy += y * grey_x;
    }
}

/// The sums of a run's grey levels, by place from its first one and by its square, and the brightest.
fn sums(pixels: &[u8]) -> (u64, u64, u64, u8) {
    let (mut sum, mut by_place, mut by_square, mut max) = (0, 0, 0, 0);
    for (place, &pixel) in pixels.iter().enumerate() {
        let (place, light) = (place as u64, u64::from(pixel));
        sum += light;
        by_place += place * light;
        by_square += place * place * light;
        max = max.max(pixel);
    }
    (sum, by_place, by_square, max)
}

/// Pixels of a row that lie side by side, all of them more than sky.
#[derive(Debug, Clone, Copy, Default)]
struct Run {
    row: u16,
    first: u16,
    /// Behind the last one.
    end: u16,
    region: u32,
}

/// Finds the connected regions of pictures. It keeps its room from picture to picture, and nothing else.
///
/// ```
/// use bief_vision::{Labeller, Size, Sky, Threshold};
///
/// let size = Size::new(5, 3)?;
/// let mut labeller = Labeller::new(Sky::new(size, Threshold::Fixed(100)));
/// let regions = labeller.label(&[
///       0, 200,   0,   0, 150, //
///     100,   0,   0,   0, 150, //
///       0,   0,   0,   0,   0, //
/// ], 1, 100);
/// assert_eq!(regions.len(), 2); // corners touch
/// assert_eq!((regions[0].pixels, regions[0].sum, regions[1].right), (2, 300, 4));
/// # Ok::<(), bief::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Labeller {
    sky: Sky,
    limits: Vec<u8>,
    bits: Bits,
    /// Of the whole picture, row by row.
    runs: Vec<Run>,
    /// The region that each one is a part of, an earlier one or itself.
    parents: Vec<u32>,
    /// Pixels of each region, of what is a part of it too.
    pixels: Vec<u32>,
    /// Where in `regions` each one is.
    kept: Vec<u32>,
    regions: Vec<Region>,
}

impl Labeller {
    /// Finds regions of what is brighter than this sky.
    pub fn new(sky: Sky) -> Self {
        let words = sky.size().width().div_ceil(WORD);
        Self {
            limits: vec![255; words * WORD],
            bits: Bits::new(sky.size(), sky.level()),
            runs: Vec::new(),
            parents: Vec::new(),
            pixels: Vec::new(),
            kept: Vec::new(),
            regions: Vec::new(),
            sky,
        }
    }

    /// The regions that it found last, and the sky that they are in.
    pub fn found(&self) -> (&[Region], &Sky) {
        (&self.regions, &self.sky)
    }

    /// The regions of a picture that have `least` to `most` pixels, in the order in which their first pixels are read, row by row.
    ///
    /// # Panics
    /// A picture of another size.
    pub fn label(&mut self, picture: &[u8], least: u32, most: u32) -> &[Region] {
        self.sky.measure(picture);
        self.runs.clear();
        self.parents.clear();
        self.pixels.clear();
        let width = self.sky.size().width();
        for (row, pixels) in picture.chunks_exact(width).enumerate() {
            if row % STRIP == 0 {
                self.sky.limits(row / STRIP, &mut self.limits);
            }
            self.bits.compare(row, pixels, &self.limits);
        }
        self.bits.remove_small(least);
        let (mut above, mut end) = (0, 0);
        for row in 0..self.sky.size().height() {
            self.find_runs(row);
            self.join(above, end);
            (above, end) = (end, self.runs.len());
        }
        self.put_together(picture, least, most);
        &self.regions
    }

    /// The runs of a row, from its bits.
    fn find_runs(&mut self, row: usize) {
        let mut before = NOWHERE;
        for (block, words) in self.bits.row(row).chunks(WORD).enumerate() {
            // Where noise is, it cannot be foretold which words have runs, nor how many: each turn takes a run, and chooses the next
            // word without a branch.
            let mut filled = 0;
            for (index, &word) in words.iter().enumerate() {
                filled |= u64::from(word != 0) << index;
            }
            let mut index = filled.trailing_zeros() as usize % WORD;
            let mut word = words[index];
            while filled != 0 {
                // Adding its lowest bit carries over the lowest run, to the place behind it.
                let carried = word.wrapping_add(word & word.wrapping_neg());
                let place = ((block * WORD + index) * WORD) as u16;
                let (first, end) = (place + word.trailing_zeros() as u16, place + carried.trailing_zeros() as u16);
                if first == before {
                    // It goes on from the word before.
                    let last = self.runs.len() - 1;
                    self.runs[last].end = end;
                } else {
                    self.runs.push(Run { row: row as u16, first, end, region: 0 });
                }
                before = end;
                word &= carried;
                filled = if word == 0 { filled & (filled - 1) } else { filled };
                index = filled.trailing_zeros() as usize % WORD;
                word = if word == 0 { words[index] } else { word };
            }
        }
    }

    /// Gives each of the runs from `end` on the region that it touches in the row above, whose runs are `above..end`, or a new one.
    fn join(&mut self, above: usize, end: usize) {
        let (earlier, runs) = self.runs.split_at_mut(end);
        let mut above = &earlier[above..];
        for run in runs {
            // Those that end before this run begins touch no later one either.
            while let Some((_, rest)) = above.split_first().filter(|(first, _)| first.end < run.first) {
                above = rest;
            }
            let mut own = None;
            for touched in above.iter().take_while(|above| above.first <= run.end) {
                let root = root(&mut self.parents, touched.region);
                own = Some(match own {
                    None => root,
                    Some(own) if own == root => own,
                    Some(own) => {
                        let (first, second) = (root.min(own), root.max(own));
                        self.parents[second as usize] = first;
                        self.pixels[first as usize] += self.pixels[second as usize];
                        first
                    }
                });
            }
            run.region = own.unwrap_or_else(|| {
                self.parents.push(self.parents.len() as u32);
                self.pixels.push(0);
                self.parents.len() as u32 - 1
            });
            self.pixels[run.region as usize] += u32::from(run.end - run.first);
        }
    }

    /// Adds up the regions that are large enough, and not too large.
    fn put_together(&mut self, picture: &[u8], least: u32, most: u32) {
        self.regions.clear();
        self.kept.clear();
        self.kept.resize(self.parents.len(), NONE);
        let width = self.sky.size().width();
        for run in &self.runs {
            let root = root(&mut self.parents, run.region) as usize;
            if !(least..=most).contains(&self.pixels[root]) {
                continue;
            }
            let start = usize::from(run.row) * width;
            let pixels = &picture[start + usize::from(run.first)..start + usize::from(run.end)];
            if self.kept[root] == NONE {
                self.kept[root] = self.regions.len() as u32;
                self.regions.push(Region { left: run.first, top: run.row, ..Region::default() });
            }
            self.regions[self.kept[root] as usize].add(run, pixels);
        }
    }
}

/// No place: no run begins there.
const NOWHERE: u16 = u16::MAX;
/// No region.
const NONE: u32 = u32::MAX;

/// The region that one is a part of; the way there gets shorter.
fn root(parents: &mut [u32], mut region: u32) -> u32 {
    while parents[region as usize] != region {
        let next = parents[region as usize];
        parents[region as usize] = parents[next as usize];
        region = next;
    }
    region
}

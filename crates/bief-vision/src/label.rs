//! Connected regions of pixels that are more than sky: found by runs.
//!
//! A row becomes bits, 64 pixels at a time; bits become runs; a run joins the runs of the row above that it touches, corners
//! included. Regions that turn out to be one are merged. What a region adds up, it adds up run by run: the sums of places in closed
//! form, those of light pixel by pixel.

use fearless_simd::{Level, Simd, dispatch, prelude::*, u8x64};

use crate::sky::{STRIP, Sky};

/// Pixels that are compared at a time.
const WORD: usize = 64;

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
    /// The brightest pixel above the sky around it, in grey levels.
    pub peak: f32,
    /// The brightest pixel above the sky around it, over what is asked for there: 1 or more. 0 where the threshold is fixed.
    pub strength: f32,
    /// Light: grey levels above the sky, and their moments by columns and rows.
    pub light: Light,
}

/// Sums of light, weighted by place: columns and rows from the region's first pixel in reading order.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Light {
    /// The column that places count from.
    pub from_x: f64,
    /// The row that places count from.
    pub from_y: f64,
    /// Sum.
    pub sum: f64,
    /// Sum by columns.
    pub x: f64,
    /// Sum by rows.
    pub y: f64,
    /// Sum by squares of columns.
    pub xx: f64,
    /// Sum by squares of rows.
    pub yy: f64,
    /// Sum by columns times rows.
    pub xy: f64,
}

impl Light {
    /// The same light, places counted from elsewhere.
    fn from(&self, x: f64, y: f64) -> Self {
        let (dx, dy) = (self.from_x - x, self.from_y - y);
        Self {
            from_x: x,
            from_y: y,
            sum: self.sum,
            x: self.x + dx * self.sum,
            y: self.y + dy * self.sum,
            xx: self.xx + 2.0 * dx * self.x + dx * dx * self.sum,
            yy: self.yy + 2.0 * dy * self.y + dy * dy * self.sum,
            xy: self.xy + dx * self.y + dy * self.x + dx * dy * self.sum,
        }
    }

    fn add(&mut self, other: &Self) {
        let other = other.from(self.from_x, self.from_y);
        self.sum += other.sum;
        self.x += other.x;
        self.y += other.y;
        self.xx += other.xx;
        self.yy += other.yy;
        self.xy += other.xy;
    }
}

impl Region {
    fn merge(&mut self, other: &Self) {
        self.left = self.left.min(other.left);
        self.right = self.right.max(other.right);
        self.top = self.top.min(other.top);
        self.bottom = self.bottom.max(other.bottom);
        self.pixels += other.pixels;
        self.x += other.x;
        self.y += other.y;
        self.xx += other.xx;
        self.yy += other.yy;
        self.xy += other.xy;
        self.sum += other.sum;
        self.max = self.max.max(other.max);
        self.peak = self.peak.max(other.peak);
        self.strength = self.strength.max(other.strength);
        self.light.add(&other.light);
    }

    /// The region that a run of pixels is.
    fn of(run: &Run, pixels: &[u8], sky: &Sky) -> Self {
        let row = run.row;
        let (first, count) = (u64::from(run.first), pixels.len() as u64);
        let y = u64::from(row);
        let last = first + count - 1;
        // Sums of squares up to n: n (n + 1) (2 n + 1) / 6.
        let squares = |n: u64| n * (n + 1) * (2 * n + 1) / 6;
        let x = (first + last) * count / 2;
        let xx = squares(last) - if first == 0 { 0 } else { squares(first - 1) };
        let (sum, by_place, by_square, max) = sums(pixels);
        let middle = 0.5 * (first + last) as f32;
        let (background, margin) = sky.at(middle, f32::from(row));
        let peak = f32::from(max) - background;
        let (n, sky) = ((count - 1) as f64, f64::from(background));
        let light = Light {
            from_x: first as f64,
            from_y: y as f64,
            sum: sum as f64 - sky * (n + 1.0),
            x: by_place as f64 - sky * n * (n + 1.0) / 2.0,
            xx: by_square as f64 - sky * n * (n + 1.0) * (2.0 * n + 1.0) / 6.0,
            ..Light::default()
        };
        Self {
            left: run.first,
            right: run.end - 1,
            top: row,
            bottom: row,
            pixels: count,
            x,
            y: y * count,
            xx,
            yy: y * y * count,
            xy: x * y,
            sum,
            max,
            peak,
            strength: if margin > 0.0 { peak / margin } else { 0.0 },
            light,
        }
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
    level: Level,
    limits: Vec<u8>,
    bits: Vec<u64>,
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
            level: sky.level(),
            limits: vec![255; words * WORD],
            bits: vec![0; words],
            runs: Vec::new(),
            parents: Vec::new(),
            pixels: Vec::new(),
            kept: Vec::new(),
            regions: Vec::new(),
            sky,
        }
    }

    /// The sky that it measured last.
    pub fn sky(&self) -> &Sky {
        &self.sky
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
        let (mut above, mut end) = (0, 0);
        for (row, pixels) in picture.chunks_exact(width).enumerate() {
            if row % STRIP == 0 {
                self.sky.limits(row / STRIP, &mut self.limits);
            }
            let (limits, bits) = (&self.limits, &mut self.bits);
            if dispatch!(self.level, simd => compare(simd, pixels, limits, bits)) {
                self.find_runs(row as u16);
                self.join(above, end);
            }
            (above, end) = (end, self.runs.len());
        }
        self.put_together(picture, least, most);
        &self.regions
    }

    /// The runs of a row, from its bits.
    fn find_runs(&mut self, row: u16) {
        let (mut before, mut first) = (0, 0);
        for (index, &word) in self.bits.iter().enumerate() {
            // A bit where a run begins or has ended.
            let mut edges = word ^ (word << 1 | before);
            while edges != 0 {
                let place = (index * WORD) as u32 + edges.trailing_zeros();
                if word >> (place % WORD as u32) & 1 == 1 {
                    first = place as u16;
                } else {
                    self.runs.push(Run { row, first, end: place as u16, region: 0 });
                }
                edges &= edges - 1;
            }
            before = word >> (WORD - 1);
        }
        if before == 1 {
            self.runs.push(Run { row, first, end: (self.bits.len() * WORD) as u16, region: 0 });
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
            let part = Region::of(run, pixels, &self.sky);
            match self.regions.get_mut(self.kept[root] as usize) {
                Some(region) => region.merge(&part),
                None => {
                    self.kept[root] = self.regions.len() as u32;
                    self.regions.push(part);
                }
            }
        }
    }
}

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

/// Sets a bit for each pixel that is above its limit, and tells whether there is one.
#[inline(always)]
fn compare<S: Simd>(simd: S, pixels: &[u8], limits: &[u8], bits: &mut [u64]) -> bool {
    let (words, rest) = pixels.as_chunks::<WORD>();
    let (of_words, of_rest) = limits.as_chunks::<WORD>().0.split_at(words.len());
    let mut any = 0;
    for (index, (word, limits)) in words.iter().zip(of_words).enumerate() {
        let above = u8x64::from_slice(simd, word).simd_gt(u8x64::from_slice(simd, limits)).to_bitmask();
        bits[index] = above;
        any |= above;
    }
    if let Some(limits) = of_rest.first() {
        let mut last = [0; WORD];
        last[..rest.len()].copy_from_slice(rest);
        let above = u8x64::from_slice(simd, &last).simd_gt(u8x64::from_slice(simd, limits)).to_bitmask();
        bits[words.len()] = above;
        any |= above;
    }
    any != 0
}

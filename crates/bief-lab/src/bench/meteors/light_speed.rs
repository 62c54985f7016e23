//! Light Speed Labeling, pixel by pixel: what FMDT does with a frame for nine tenths of its time, as a reference on the machine at hand.
//!
//! The method is Lacassagne's and Zavidovique's (Light speed labeling: efficient connected component labeling on RISC architectures,
//! Journal of Real-Time Image Processing 6, 2011), with the threshold that FMDT begins with, and the sums that it makes of each region.

/// From this grey level on a pixel is light.
const LEAST: u8 = 55;

/// A region: pixels, sums of their columns and rows, and the box around them.
#[derive(Clone, Copy)]
struct Region {
    pixels: u32,
    x: u32,
    y: u32,
    left: u32,
    right: u32,
    top: u32,
    bottom: u32,
}

impl Region {
    const NONE: Self = Self { pixels: 0, x: 0, y: 0, left: u32::MAX, right: 0, top: u32::MAX, bottom: 0 };
}

/// Room for frames of one size.
pub(super) struct LightSpeed {
    width: usize,
    /// Of each pixel how many runs have begun and ended in its row: odd if it is light.
    relative: Vec<u32>,
    /// Where the runs of each row begin and end, in turn, and how many there are.
    ends: Vec<u32>,
    runs: Vec<usize>,
    /// Of each run, row by row, its provisional label; and for each of these the least one known to be the same.
    provisional: Vec<u32>,
    same: Vec<u32>,
    labels: Vec<u32>,
    regions: Vec<Region>,
}

impl LightSpeed {
    pub(super) fn new(width: usize, height: usize) -> Self {
        let pixels = width * height;
        Self {
            width,
            relative: vec![0; pixels],
            ends: vec![0; (width + 1) * height],
            runs: vec![0; height],
            provisional: vec![0; pixels],
            same: Vec::new(),
            labels: vec![0; pixels],
            regions: Vec::new(),
        }
    }

    /// Labels the pixels of a frame and sums up its regions; how many there are.
    pub(super) fn label(&mut self, frame: &[u8]) -> usize {
        self.labels.fill(0);
        self.find_runs(frame);
        self.join_runs();
        let count = self.number_regions();
        self.sum_up(count);
        count
    }

    fn find_runs(&mut self, frame: &[u8]) {
        let rows = frame.chunks_exact(self.width).zip(self.relative.chunks_exact_mut(self.width));
        for (((pixels, relative), ends), runs) in
            rows.zip(self.ends.chunks_exact_mut(self.width + 1)).zip(&mut self.runs)
        {
            let (mut before, mut number) = (0, 0);
            for (x, (&pixel, relative)) in (0..).zip(pixels.iter().zip(relative)) {
                let light = u32::from(pixel >= LEAST);
                ends[number as usize] = x;
                number += light ^ before;
                *relative = number;
                before = light;
            }
            ends[number as usize] = pixels.len() as u32;
            *runs = (number + before) as usize / 2;
        }
    }

    fn join_runs(&mut self) {
        self.same.clear();
        let width = self.width;
        for y in 0..self.runs.len() {
            let (above, row) = self.provisional.split_at_mut(y * width);
            let above = y.checked_sub(1).map(|y| (&self.relative[y * width..][..width], &above[y * width..]));
            let ends = self.ends[y * (width + 1)..].as_chunks().0.iter().take(self.runs[y]);
            for (label, &[first, end]) in row.iter_mut().zip(ends) {
                // Corners touch, too.
                let touched = above.map_or(&[][..], |(relative, labels)| {
                    let (left, right) =
                        (relative[first.saturating_sub(1) as usize], relative[(end as usize).min(width - 1)]);
                    labels.get(left as usize / 2..right.div_ceil(2) as usize).unwrap_or_default()
                });
                let Some((&own, others)) = touched.split_first() else {
                    *label = self.same.len() as u32;
                    self.same.push(*label);
                    continue;
                };
                let mut own = root(&self.same, own);
                for &other in others {
                    let other = root(&self.same, other);
                    self.same[own.max(other) as usize] = own.min(other);
                    own = own.min(other);
                }
                *label = own;
            }
        }
    }

    fn number_regions(&mut self) -> usize {
        let mut count = 0;
        for label in 0..self.same.len() {
            let same = self.same[label];
            // An earlier label has its number already.
            self.same[label] = if same == label as u32 {
                count += 1;
                count - 1
            } else {
                self.same[same as usize]
            };
        }
        count as usize
    }

    fn sum_up(&mut self, count: usize) {
        self.regions.clear();
        self.regions.resize(count, Region::NONE);
        for (y, &runs) in self.runs.iter().enumerate() {
            let start = y * self.width;
            let ends = self.ends[y * (self.width + 1)..].as_chunks().0.iter().take(runs);
            for (&label, &[first, end]) in self.provisional[start..].iter().zip(ends) {
                let number = self.same[label as usize];
                let y = y as u32;
                for x in first..end {
                    self.labels[start + x as usize] = number + 1;
                    let region = &mut self.regions[number as usize];
                    region.pixels += 1;
                    region.x += x;
                    region.y += y;
                    region.left = region.left.min(x);
                    region.right = region.right.max(x);
                    region.top = region.top.min(y);
                    region.bottom = region.bottom.max(y);
                }
            }
        }
    }
}

fn root(same: &[u32], mut label: u32) -> u32 {
    while same[label as usize] != label {
        label = same[label as usize];
    }
    label
}

#[cfg(test)]
mod tests {
    use bief_vision::{Labeller, Size, Sky, Threshold};

    use super::*;

    #[test]
    fn it_finds_the_regions_that_the_labeller_finds() {
        let mut random = fastrand::Rng::with_seed(1);
        for (width, height, share) in [(1, 1, 2), (7, 5, 2), (64, 40, 3), (131, 90, 4), (131, 90, 12)] {
            let size = Size::new(width, height).unwrap();
            let frame: Vec<u8> =
                (0..size.pixels()).map(|_| if random.u8(..share) == 0 { LEAST } else { LEAST - 1 }).collect();
            let mut plain = LightSpeed::new(width, height);
            let mut labeller = Labeller::new(Sky::new(size, Threshold::Fixed(LEAST)));
            labeller.label(&frame, 1, u32::MAX);
            let count = plain.label(&frame);
            let mut expected: Vec<_> = labeller.regions().map(|region| [region.pixels, region.x, region.y]).collect();
            let mut found: Vec<_> =
                plain.regions.iter().map(|region| [region.pixels, region.x, region.y].map(u64::from)).collect();
            expected.sort_unstable();
            found.sort_unstable();
            assert_eq!((count, found), (expected.len(), expected), "{size}");
        }
    }
}

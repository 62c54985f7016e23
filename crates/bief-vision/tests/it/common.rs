//! A naive oracle, skies to find things in, and the videos that are shared beside the checkout.

use std::path::PathBuf;

/// The folder of shared videos, if it is there.
pub(crate) fn videos() -> Option<PathBuf> {
    let folder = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/video"));
    if folder.is_dir() {
        return Some(folder);
    }
    eprintln!("skipped: no ../shared/video beside the checkout");
    None
}

/// A region by flood fill: bounding box and sums, in integers.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Naive {
    pub(crate) bounds: [u16; 4],
    /// Pixels, x, y, x², y², x y, grey levels, greatest of them.
    pub(crate) sums: [u64; 8],
    /// The same of grey levels: times x, y, x², y², x y.
    pub(crate) grey: [u64; 5],
}

/// All regions of pixels that `is_light` tells, corners included, in the order of their first pixels.
pub(crate) fn naive(picture: &[u8], width: usize, is_light: impl Fn(usize) -> bool) -> Vec<Naive> {
    let height = picture.len() / width;
    let mut seen = vec![false; picture.len()];
    let mut regions = Vec::new();
    for start in 0..picture.len() {
        if seen[start] || !is_light(start) {
            continue;
        }
        let mut region = Naive { bounds: [u16::MAX, 0, u16::MAX, 0], sums: [0; 8], grey: [0; 5] };
        let mut open = vec![start];
        seen[start] = true;
        while let Some(pixel) = open.pop() {
            let (x, y) = (pixel % width, pixel / width);
            let bounds = &mut region.bounds;
            *bounds =
                [bounds[0].min(x as u16), bounds[1].max(x as u16), bounds[2].min(y as u16), bounds[3].max(y as u16)];
            let (u, v, grey) = (x as u64, y as u64, u64::from(picture[pixel]));
            let greatest = region.sums[7].max(grey);
            for (sum, more) in region.sums.iter_mut().zip([1, u, v, u * u, v * v, u * v, grey, 0]) {
                *sum += more;
            }
            region.sums[7] = greatest;
            for (sum, more) in region.grey.iter_mut().zip([u, v, u * u, v * v, u * v]) {
                *sum += grey * more;
            }
            for row in y.saturating_sub(1)..(y + 2).min(height) {
                for column in x.saturating_sub(1)..(x + 2).min(width) {
                    let next = row * width + column;
                    if !seen[next] && is_light(next) {
                        seen[next] = true;
                        open.push(next);
                    }
                }
            }
        }
        regions.push(region);
    }
    regions
}

/// A dark sky with stars, a spot of light per object, and noise: the same for the same seed.
pub(crate) struct Scene {
    pub(crate) width: usize,
    pub(crate) height: usize,
    pub(crate) stars: Vec<[f64; 3]>,
    random: fastrand::Rng,
}

impl Scene {
    pub(crate) fn new(width: usize, height: usize, stars: usize) -> Self {
        let mut random = fastrand::Rng::with_seed(7);
        let side = |random: &mut fastrand::Rng, side: usize| random.f64() * (side + 200) as f64 - 100.0;
        let star = |random: &mut fastrand::Rng| {
            [side(random, width), side(random, height), 60.0 + 900.0 * random.f64().powi(4)]
        };
        let stars = (0..stars).map(|_| star(&mut random)).collect();
        Self { width, height, stars, random }
    }

    /// A frame: stars moved by `shift`, and streaks of light from one place to another.
    pub(crate) fn frame(&mut self, shift: [f64; 2], streaks: &[([f64; 2], [f64; 2], f64)]) -> Vec<u8> {
        let mut light: Vec<f64> = vec![20.0; self.width * self.height];
        for index in 0..self.stars.len() {
            let [x, y, star] = self.stars[index];
            self.add(&mut light, [x + shift[0], y + shift[1]], star);
        }
        for &(from, to, sum) in streaks {
            let steps = 12;
            for step in 0..steps {
                let share = (f64::from(step) + 0.5) / f64::from(steps);
                let at = [0, 1].map(|axis| from[axis] + share * (to[axis] - from[axis]));
                self.add(&mut light, at, sum / f64::from(steps));
            }
        }
        let noise = |random: &mut fastrand::Rng| (0..4).map(|_| random.f64() - 0.5).sum::<f64>() * 2.0;
        light.iter().map(|light| (light + noise(&mut self.random)).round().clamp(0.0, 255.0) as u8).collect()
    }

    fn add(&self, light: &mut [f64], [x, y]: [f64; 2], sum: f64) {
        let near = |place: f64, side: usize| (place as i64 - 5).max(0)..(place as i64 + 6).clamp(0, side as i64);
        for row in near(y, self.height) {
            for column in near(x, self.width) {
                let square = (column as f64 - x).powi(2) + (row as f64 - y).powi(2);
                light[row as usize * self.width + column as usize] += sum / 7.6 * (-square / 2.42).exp();
            }
        }
    }
}

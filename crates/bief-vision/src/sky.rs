//! How bright the sky is, and from which grey level on a pixel is more than sky: for each place of the picture, from this picture alone.
//!
//! Tiles of 32 x 32 pixels tell median and noise from four of their rows. Between the middles of tiles both are interpolated: in each
//! column, and anew for each strip of eight rows.

use fearless_simd::{Level, Simd, dispatch, prelude::*, u8x64};

use crate::size::Size;

/// Columns and rows of a tile.
const TILE: usize = 32;
/// Rows of a tile that are looked at.
const ROWS: usize = 4;
/// Pixels of a tile that are looked at: two vectors.
const SAMPLES: usize = ROWS * TILE;
/// Tiles that are measured together: steps of one wait for each other, those of several do not.
const TOGETHER: usize = 4;
/// Rows that have one line of thresholds.
pub(crate) const STRIP: usize = 8;
/// Thresholds of tiles are in such parts of a grey level: between two tiles they are weighed with 32nds in 16 bits.
const PARTS: f32 = 8.0;
/// A normal distribution's mean distance to its median on one side, counting zero on the other, in standard deviations.
const ONE_SIDED: f32 = 0.398_942_3;
/// The least noise, in grey levels: rounding alone has 0.29.
const LEAST_NOISE: f32 = 0.3;

/// Where a pixel stops being sky.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Threshold {
    /// Where it is brighter than the sky around it by so many times the noise there, and by so many grey levels.
    Sky {
        /// Standard deviations of the noise, 0 or more.
        noise: f32,
        /// Grey levels, above 0: H.264 removes noise, and leaves what looks like stars.
        levels: f32,
    },
    /// Where it has this grey level or more, as FMDT has it; 1 to 255.
    Fixed(u8),
}

impl Default for Threshold {
    fn default() -> Self {
        Self::Sky { noise: 3.0, levels: 6.0 }
    }
}

/// Sky and noise of a tile, in grey levels.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Tile {
    /// Median.
    pub sky: f32,
    /// Standard deviation, told by the pixels below the median: stars do not count.
    pub noise: f32,
}

/// The sky of one picture, measured tile by tile, and the thresholds that follow.
///
/// ```
/// use bief_vision::{Size, Sky, Threshold};
///
/// let size = Size::new(64, 64)?;
/// let mut sky = Sky::new(size, Threshold::Sky { noise: 3.0, levels: 6.0 });
/// let picture: Vec<u8> = (0..64 * 64).map(|pixel| 20 + (pixel % 64) as u8 / 4).collect(); // brighter to the right
/// sky.measure(&picture);
/// let (level, margin) = sky.at(31.5, 20.0);
/// assert!((level - 27.5).abs() < 1.0 && margin >= 6.0);
/// # Ok::<(), bief::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Sky {
    size: Size,
    threshold: Threshold,
    level: Level,
    columns: usize,
    tiles: Vec<Tile>,
    /// Of each tile: the brightest grey level that is sky, in parts; and of a line of them.
    limits: Vec<u16>,
    line: Vec<u16>,
}

impl Sky {
    /// Room for pictures of this size.
    pub fn new(size: Size, threshold: Threshold) -> Self {
        Self::with_level(size, threshold, Level::new())
    }

    /// As [`new`](Self::new), with these vector instructions.
    pub fn with_level(size: Size, threshold: Threshold, level: Level) -> Self {
        let (columns, rows) = (size.width().div_ceil(TILE), size.height().div_ceil(TILE));
        Self {
            size,
            threshold,
            level,
            columns,
            tiles: vec![Tile::default(); columns * rows],
            limits: vec![0; columns * rows],
            line: vec![0; columns],
        }
    }

    /// The size of its pictures.
    pub fn size(&self) -> Size {
        self.size
    }

    pub(crate) fn level(&self) -> Level {
        self.level
    }

    /// Measures a picture: a byte per pixel, row by row.
    ///
    /// # Panics
    /// A picture of another size.
    pub fn measure(&mut self, picture: &[u8]) {
        assert_eq!(picture.len(), self.size.pixels(), "a picture of {}", self.size);
        let Threshold::Sky { noise, levels } = self.threshold else { return };
        let (size, columns) = (self.size, self.columns);
        let tiles = &mut self.tiles;
        dispatch!(self.level, simd => measure_tiles(simd, picture, size, columns, tiles));
        for (limit, tile) in self.limits.iter_mut().zip(&self.tiles) {
            let limit_of_sky = tile.sky + (noise * tile.noise).max(levels);
            *limit = (limit_of_sky.clamp(0.0, 255.0) * PARTS) as u16;
        }
    }

    /// The tiles that were measured, row by row.
    pub fn tiles(&self) -> &[Tile] {
        &self.tiles
    }

    /// The sky at a place and by how much a pixel must be brighter there, in grey levels; both 0 where the threshold is fixed.
    pub fn at(&self, x: f32, y: f32) -> (f32, f32) {
        let Threshold::Sky { noise, levels } = self.threshold else { return (0.0, 0.0) };
        let rows = self.tiles.len() / self.columns;
        let ((left, right, to_right), (above, below, down)) = (neighbours(x, self.columns), neighbours(y, rows));
        let across = |row: usize| {
            let (a, b) = (self.tiles[row * self.columns + left], self.tiles[row * self.columns + right]);
            (a.sky + to_right * (b.sky - a.sky), a.noise + to_right * (b.noise - a.noise))
        };
        let (upper, lower) = (across(above), across(below));
        let sky = upper.0 + down * (lower.0 - upper.0);
        let noise = noise * (upper.1 + down * (lower.1 - upper.1));
        (sky, noise.max(levels))
    }

    /// The brightest grey level that is sky, for each column, in the rows of a strip. What is behind the last column is all sky.
    pub(crate) fn limits(&mut self, strip: usize, limits: &mut [u8]) {
        if let Threshold::Fixed(least) = self.threshold {
            limits.fill(255);
            limits[..self.size.width()].fill(least.saturating_sub(1));
            return;
        }
        let middle = (strip * STRIP) as f32 + 0.5 * (STRIP as f32 - 1.0);
        let (above, below, down) = neighbours(middle, self.limits.len() / self.columns);
        let (upper, lower) = (&self.limits[above * self.columns..], &self.limits[below * self.columns..]);
        let down = (down * 256.0) as u32;
        for (column, limit) in self.line.iter_mut().enumerate() {
            *limit = ((u32::from(upper[column]) * (256 - down) + u32::from(lower[column]) * down) >> 8) as u16;
        }
        let (line, width) = (&self.line, self.size.width());
        dispatch!(self.level, _simd => spread(line, width, limits));
    }
}

/// The two tiles between whose middles a pixel lies, along one axis, and how far it is from the first to the second.
fn neighbours(place: f32, tiles: usize) -> (usize, usize, f32) {
    let at = ((place + 0.5) / TILE as f32 - 0.5).clamp(0.0, (tiles - 1) as f32);
    let first = at as usize;
    (first, (first + 1).min(tiles - 1), at - first as f32)
}

/// Fills a line of pixels with what lies between the values at the middles of tiles.
#[inline(always)]
fn spread(line: &[u16], width: usize, limits: &mut [u8]) {
    let half = TILE / 2;
    limits.fill(255);
    let fill = |space: &mut [u8], value: u16| space.fill((value as f32 / PARTS) as u8);
    fill(&mut limits[..half.min(width)], line[0]);
    for column in 1..line.len() {
        let (from, to) = (line[column - 1], line[column]);
        let start = column * TILE - half;
        let space = &mut limits[start..];
        let Some(space) = space.first_chunk_mut::<TILE>() else { break };
        for (index, limit) in space.iter_mut().enumerate() {
            let index = index as u16;
            // 32nds of eighths: all of it fits.
            *limit = ((from * (TILE as u16 - index) + to * index) >> 8) as u8;
        }
    }
    let last = line.len() * TILE - half;
    if last < width {
        fill(&mut limits[last..width], line[line.len() - 1]);
    }
    limits[width..].fill(255);
}

/// Measures all tiles. At the right and lower border, tiles are as large as the others and begin earlier, where there is room.
#[inline(always)]
fn measure_tiles<S: Simd>(simd: S, picture: &[u8], size: Size, columns: usize, tiles: &mut [Tile]) {
    let mut samples = [[0; SAMPLES]; TOGETHER];
    for (group, tiles) in tiles.chunks_mut(TOGETHER).enumerate() {
        for (number, samples) in samples[..tiles.len()].iter_mut().enumerate() {
            let index = group * TOGETHER + number;
            take_samples(picture, size, index % columns, index / columns, samples);
        }
        tiles.copy_from_slice(&measure_samples(simd, &samples)[..tiles.len()]);
    }
}

/// The pixels of a tile that are looked at.
#[inline(always)]
fn take_samples(picture: &[u8], size: Size, column: usize, row: usize, samples: &mut [u8; SAMPLES]) {
    let (width, height) = (size.width(), size.height());
    let left = (column * TILE).min(width.saturating_sub(TILE));
    let top = row * TILE;
    let step = TILE / ROWS;
    if width >= TILE {
        for (number, space) in samples.as_chunks_mut::<TILE>().0.iter_mut().enumerate() {
            let y = (top + step / 2 + number * step).min(height - 1);
            let start = y * width + left;
            space.copy_from_slice(&picture[start..start + TILE]);
        }
    } else {
        for (number, sample) in samples.iter_mut().enumerate() {
            let y = (top + step / 2 + number / TILE * step).min(height - 1);
            *sample = picture[y * width + number % TILE % width];
        }
    }
}

/// Median and noise of the pixels of each tile.
#[inline(always)]
fn measure_samples<S: Simd>(simd: S, samples: &[[u8; SAMPLES]; TOGETHER]) -> [Tile; TOGETHER] {
    let mut vectors = [[u8x64::splat(simd, 0); 2]; TOGETHER];
    for (vectors, samples) in vectors.iter_mut().zip(samples) {
        let (first, second) = samples.split_at(SAMPLES / 2);
        *vectors = [u8x64::from_slice(simd, first), u8x64::from_slice(simd, second)];
    }
    let below = |vectors: &[u8x64<S>; 2], level: u8| {
        let level = u8x64::splat(simd, level);
        vectors[0].simd_lt(level).to_bitmask().count_ones() + vectors[1].simd_lt(level).to_bitmask().count_ones()
    };
    // The greatest level that at most half of the pixels are below.
    let mut medians = [0_u8; TOGETHER];
    for bit in (0..8).rev() {
        for (median, vectors) in medians.iter_mut().zip(&vectors) {
            // No branch: nobody could guess it.
            let higher = *median | 1 << bit;
            *median |= u8::from(below(vectors, higher) <= SAMPLES as u32 / 2) << bit;
        }
    }
    let mut tiles = [Tile::default(); TOGETHER];
    for (index, tile) in tiles.iter_mut().enumerate() {
        let (median, vectors) = (medians[index], &vectors[index]);
        let fewer = below(vectors, median);
        let upto = if median == u8::MAX { SAMPLES as u32 } else { below(vectors, median + 1) };
        // All of it fits into 16 bits.
        let mut depths = 0_u16;
        for &sample in &samples[index] {
            depths += u16::from(median.saturating_sub(sample));
        }
        // Grey levels are rounded: those of the median's own lie evenly in it.
        let beyond = (SAMPLES as f32 / 2.0 - fewer as f32) / (upto - fewer).max(1) as f32 - 0.5;
        let depth = f32::from(depths) / SAMPLES as f32 + 0.5 * beyond;
        *tile = Tile { sky: f32::from(median) + beyond, noise: (depth / ONE_SIDED).max(LEAST_NOISE) };
    }
    tiles
}

//! How bright the sky is, and from which grey level on a pixel is more than sky: for each place of the picture, from this picture alone.
//!
//! Tiles of 32 x 32 pixels tell median and noise from four of their rows. Between the middles of tiles both are interpolated: in each
//! column, and anew for each strip of eight rows.

use fearless_simd::{Level, Simd, dispatch, prelude::*, u8x32, u8x64, u16x16};

use crate::size::Size;

/// Columns and rows of a tile.
const TILE: usize = 32;
/// Rows of a tile that are looked at.
const ROWS: usize = 4;
/// Pixels of a tile that are looked at.
const SAMPLES: usize = ROWS * TILE;
/// Rows that have one line of thresholds, and one row of which a tile looks at its part.
pub(crate) const STRIP: usize = TILE / ROWS;
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
    rows: usize,
    tiles: Vec<Tile>,
    /// Rows of tiles that are measured.
    measured: usize,
    /// Of each tile: the brightest grey level that is sky, in parts; and of a line of them.
    limits: Vec<u16>,
    line: Vec<u16>,
    /// Of the tiles of the row that was measured last.
    ranks: Vec<Ranks>,
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
            rows,
            measured: 0,
            tiles: vec![Tile::default(); columns * rows],
            limits: vec![0; columns * rows],
            line: vec![0; columns],
            ranks: vec![Ranks::default(); columns],
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
        self.begin();
        let rows = self.rows;
        dispatch!(self.level, simd => self.measure_rows(simd, picture, rows));
    }

    /// Begins a picture.
    pub(crate) fn begin(&mut self) {
        self.measured = 0;
    }

    /// Measures tiles, until so many rows of them are measured.
    #[inline(always)]
    fn measure_rows<S: Simd>(&mut self, simd: S, picture: &[u8], rows: usize) {
        let Threshold::Sky { noise, levels } = self.threshold else { return };
        while self.measured < rows {
            let first = self.measured * self.columns;
            let (width, height) = (self.size.width(), self.size.height());
            let rows: [&[u8]; ROWS] = std::array::from_fn(|number| {
                let y = (self.measured * TILE + number * STRIP + STRIP / 2).min(height - 1);
                &picture[y * width..(y + 1) * width]
            });
            // A row that is shorter than a tile is repeated.
            let mut long = [[0; TILE]; ROWS];
            let rows = match width < TILE {
                true => {
                    let repeated = long.iter_mut().zip(rows).map(|(long, row)| {
                        long.iter_mut().zip(row.iter().cycle()).for_each(|(pixel, &of_row)| *pixel = of_row);
                        &*long
                    });
                    let mut repeated = repeated.map(|row| &row[..]);
                    std::array::from_fn(|_| repeated.next().unwrap_or_default())
                }
                false => rows,
            };
            // At the right border, tiles are as large as the others and begin earlier.
            let last = rows.map(|row| row.last_chunk().unwrap_or(&[0; TILE]));
            let [a, b, c, d] = rows.map(|row| row.as_chunks().0);
            let parts = a.iter().zip(b).zip(c).zip(d).map(|(((a, b), c), d)| [a, b, c, d]).chain([last]);
            for ((ranks, tile), parts) in self.ranks.iter_mut().zip(&self.tiles[first..]).zip(parts) {
                // In most pictures the sky is as in the one before.
                *ranks = Ranks::of(simd, samples(simd, parts), (tile.sky + 0.5) as u8);
            }
            let tiles = self.tiles[first..].iter_mut().zip(&mut self.limits[first..]);
            for ((tile, limit), ranks) in tiles.zip(&self.ranks) {
                *tile = Tile::of(ranks);
                let brightest = tile.sky + (noise * tile.noise).max(levels);
                *limit = (brightest.clamp(0.0, 255.0) * PARTS) as u16;
            }
            self.measured += 1;
        }
    }

    /// The tiles that were measured, row by row.
    pub fn tiles(&self) -> &[Tile] {
        &self.tiles
    }

    /// The sky at a place and by how much a pixel must be brighter there, in grey levels; both 0 where the threshold is fixed.
    #[inline(always)]
    pub fn at(&self, x: f32, y: f32) -> (f32, f32) {
        let Threshold::Sky { noise, levels } = self.threshold else { return (0.0, 0.0) };
        let ((left, right, to_right), (above, below, down)) = (neighbours(x, self.columns), neighbours(y, self.rows));
        let across = |row: usize| {
            let (a, b) = (self.tiles[row * self.columns + left], self.tiles[row * self.columns + right]);
            (a.sky + to_right * (b.sky - a.sky), a.noise + to_right * (b.noise - a.noise))
        };
        let (upper, lower) = (across(above), across(below));
        let sky = upper.0 + down * (lower.0 - upper.0);
        let noise = noise * (upper.1 + down * (lower.1 - upper.1));
        (sky, noise.max(levels))
    }

    /// The brightest grey level that is sky, for each column, in the rows of a strip. What is behind the last column is all sky. Of a
    /// picture that was [begun](Self::begin), strips are to be asked for from above.
    #[inline(always)]
    pub(crate) fn limits<S: Simd>(&mut self, simd: S, picture: &[u8], strip: usize, limits: &mut [u8]) {
        let width = self.size.width();
        if let Threshold::Fixed(least) = self.threshold {
            limits.fill(255);
            limits[..width].fill(least.saturating_sub(1));
            return;
        }
        let middle = (strip * STRIP) as f32 + 0.5 * (STRIP as f32 - 1.0);
        let (above, below, down) = neighbours(middle, self.rows);
        self.measure_rows(simd, picture, below + 1);
        let (upper, lower) = (&self.limits[above * self.columns..], &self.limits[below * self.columns..]);
        let down = (down * 256.0) as u32;
        for ((limit, &upper), &lower) in self.line.iter_mut().zip(upper).zip(lower) {
            *limit = ((u32::from(upper) * (256 - down) + u32::from(lower) * down) >> 8) as u16;
        }
        spread(simd, &self.line, width, limits);
    }
}

/// The two tiles between whose middles a pixel lies, along one axis, and how far it is from the first to the second.
#[inline(always)]
fn neighbours(place: f32, tiles: usize) -> (usize, usize, f32) {
    let at = ((place + 0.5) / TILE as f32 - 0.5).clamp(0.0, (tiles - 1) as f32);
    let first = at as usize;
    (first, (first + 1).min(tiles - 1), at - first as f32)
}

/// Fills a line of pixels with what lies between the values at the middles of tiles; what is behind `width` is 255.
#[inline(always)]
fn spread<S: Simd>(simd: S, line: &[u16], width: usize, limits: &mut [u8]) {
    const HALF: usize = TILE / 2;
    let of_parts = |value: u16| (value as f32 / PARTS) as u8;
    let number: [u16; HALF] = std::array::from_fn(|index| index as u16);
    let number = u16x16::simd_from(simd, number);
    limits[..HALF.min(width)].fill(of_parts(line[0]));
    let (spaces, _) = limits[HALF.min(width)..].as_chunks_mut::<TILE>();
    for (pair, space) in line.windows(2).zip(spaces) {
        // 32nds of eighths: all of it fits 16 bits, and what a difference below 0 lacks comes back.
        let [from, to] = [pair[0], pair[1]].map(|value| u16x16::splat(simd, value));
        let (start, step) = (from << TILE.ilog2(), to - from);
        let first = start + number * step;
        let second = first + (step << HALF.ilog2());
        *space = (first >> 8).narrow(second >> 8).into();
    }
    let last = line.len() * TILE - HALF;
    if last < width {
        limits[last..width].fill(of_parts(line[line.len() - 1]));
    }
    limits[width..].fill(255);
}

/// The pixels of a tile that are looked at, from each of its rows.
#[inline(always)]
fn samples<S: Simd>(simd: S, [a, b, c, d]: [&[u8; TILE]; ROWS]) -> [u8x64<S>; ROWS / 2] {
    let (a, b) = (u8x32::from_slice(simd, a), u8x32::from_slice(simd, b));
    let (c, d) = (u8x32::from_slice(simd, c), u8x32::from_slice(simd, d));
    [a.combine(b), c.combine(d)]
}

impl Tile {
    #[inline(always)]
    fn of(ranks: &Ranks) -> Self {
        let [median, fewer, with, depths] = [ranks.median, ranks.fewer, ranks.with, ranks.depths].map(f32::from);
        // Grey levels are rounded: those of the median's own lie evenly in it.
        let beyond = (SAMPLES as f32 / 2.0 - fewer) / (with - fewer).max(1.0) - 0.5;
        let depth = depths / SAMPLES as f32 + 0.5 * beyond;
        Self { sky: median + beyond, noise: (depth / ONE_SIDED).max(LEAST_NOISE) }
    }
}

/// How the pixels of a tile that are looked at lie around their median.
#[derive(Debug, Clone, Copy, Default)]
struct Ranks {
    /// The greatest grey level that at most half of the pixels are below.
    median: u16,
    /// Pixels below it, and those together with its own.
    fewer: u16,
    with: u16,
    /// How far below it they are, all in all.
    depths: u16,
}

impl Ranks {
    /// Faster where the median is `guess`, or next to it.
    #[inline(always)]
    fn of<S: Simd>(simd: S, vectors: [u8x64<S>; ROWS / 2], guess: u8) -> Self {
        const HALF: u32 = SAMPLES as u32 / 2;
        let guess = guess.min(u8::MAX - 2);
        // Without a branch for each: which one is the median changes from tile to tile.
        let counts = [
            below(simd, &vectors, guess.saturating_sub(1)),
            below(simd, &vectors, guess),
            below(simd, &vectors, guess + 1),
            below(simd, &vectors, guess + 2),
        ];
        let (median, fewer, with) = if counts[0] <= HALF && counts[3] > HALF {
            let index = usize::from(counts[1] <= HALF) + usize::from(counts[2] <= HALF);
            (guess + index as u8 - 1, counts[index], counts[index + 1])
        } else {
            let mut median = 0;
            for bit in (0..8).rev() {
                let higher = median | 1 << bit;
                median = if below(simd, &vectors, higher) <= HALF { higher } else { median };
            }
            let with = if median < u8::MAX { below(simd, &vectors, median + 1) } else { SAMPLES as u32 };
            (median, below(simd, &vectors, median), with)
        };
        let level = u8x64::splat(simd, median);
        let [first, second] = [level.saturating_sub(vectors[0]), level.saturating_sub(vectors[1])];
        // All of it fits into 16 bits.
        let depths = (first.pairwise_widening_add() + second.pairwise_widening_add()).reduce_sum();
        Self { median: median.into(), fewer: fewer as u16, with: with as u16, depths }
    }
}

/// How many pixels are below a level. A function: what a closure has may stay without the vector instructions around it.
#[inline(always)]
fn below<S: Simd>(simd: S, [first, second]: &[u8x64<S>; ROWS / 2], level: u8) -> u32 {
    let level = u8x64::splat(simd, level);
    // Where there is no comparison of unsigned numbers, this one takes an instruction less than the other.
    let others = first.simd_ge(level).to_bitmask().count_ones() + second.simd_ge(level).to_bitmask().count_ones();
    SAMPLES as u32 - others
}

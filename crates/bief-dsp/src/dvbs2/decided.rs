//! What decided symbols of APSK show of the carrier phase.

use std::sync::OnceLock;

use num_complex::{Complex32, Complex64};

use super::known::KnownParts;
use super::line::{Line, Payload, middle};
use super::scramble::{PlScrambler, turn_back};
use super::walk::Point;
use super::walk::STILL;
use super::{Constellation, FrameSize, HEADER, Modcod};
use crate::derotate::multiply_by_phasor;
use crate::simd::{Level, Simd, dispatch, f32x16, prelude::*};

/// Symbols that the kernel decides side by side.
const LANES: usize = 16;
/// Points of a constellation in a sector, at most.
const SECTOR: usize = 64;
/// Distance of a point from the reflection of another, below which they are the same to a decision.
const ALIKE: f32 = 2e-3;
/// Angle in radians by which symbols are turned to see what their decisions tell of a phase.
const TURN: f32 = 0.1;
/// What the likelihood of a line counts, of that which right decisions would have: where many are wrong, lines differ by chance more
/// than it says. A right line is known by far less.
const TRUST: f64 = 0.1;
/// Share of a phase error that shows in decided symbols, below which they are too often wrong.
const LEAST_GAIN: f64 = 0.1;

/// The payload of a frame without pilots.
pub(super) struct Decisions<'a> {
    level: Level,
    sector: &'static Sector,
    payload: &'a [Complex32],
    /// Quarter turns of the payload by PL scrambling, where they matter.
    rotations: Option<&'a [u8]>,
    /// What brings symbols to unit energy.
    scale: f64,
    /// Variance of a phase measured on one known symbol.
    pub(super) variance: f64,
}

impl Decisions<'_> {
    /// Of a frame of APSK of this kind.
    pub(super) fn new<'a>(
        level: Level,
        (modcod, size): (Modcod, FrameSize),
        frame: &'a [Complex32],
        known: &KnownParts,
        scrambler: &'a PlScrambler,
    ) -> Decisions<'a> {
        let (header, payload) = frame.split_at(HEADER);
        let power = |symbols: &[Complex32]| {
            symbols.iter().map(|symbol| f64::from(symbol.norm_sqr())).sum::<f64>() / symbols.len() as f64
        };
        let explained = (known.parts()[0].correlation() / known.parts()[0].length()).norm_sqr();
        // The header leaves one complex amplitude open.
        let noise = (power(header) - explained).max(0.0) * (HEADER as f64 / (HEADER - 1) as f64);
        let energy = power(payload) - noise;
        let scale = if energy > 0.0 { energy.sqrt().recip() } else { 0.0 };
        let variance = (0.5 * noise * scale * scale).max(f64::MIN_POSITIVE);
        let sector = Sector::of(modcod, size);
        let rotations = (!sector.is_octant).then(|| scrambler.rotations());
        Decisions { level, sector, payload, rotations, scale, variance }
    }

    fn blocks(&self) -> impl Iterator<Item = (usize, &[Complex32])> {
        self.payload.chunks(STILL).enumerate().map(|(index, block)| (index * STILL, block))
    }

    /// Decides the block whose first symbol is number `first` of the payload, `turn` radians beside a line.
    fn decide(&self, first: usize, block: &[Complex32], line: Line, turn: f64) -> Decided {
        let start = Complex64::from_polar(self.scale, turn - line.at((HEADER + first) as f64));
        // What the block lacks is decided without error.
        let mut turned = [self.sector.point(); STILL];
        turned[..block.len()].copy_from_slice(block);
        if let Some(rotations) = self.rotations {
            turn_back(&mut turned[..block.len()], &rotations[first..first + block.len()]);
        }
        multiply_by_phasor(&mut turned[..block.len()], -line.frequency, start);
        let turned = &turned[..block.len().next_multiple_of(LANES)];
        let level = self.level;
        dispatch!(level, simd => self.sector.decide(simd, turned))
    }
}

impl Payload for Decisions<'_> {
    fn misfit(&self, line: Line) -> f64 {
        let distance = |(first, block)| f64::from(self.decide(first, block, line, 0.0).distance);
        // Of normal distances of unknown variance.
        TRUST * self.payload.len() as f64 * self.blocks().map(distance).sum::<f64>().ln()
    }

    fn beside(&self, line: Line, course: &mut Vec<Point>) -> Option<f64> {
        let (mut bend, mut squares) = (0.0, 0.0);
        let added = course.len();
        for (first, block) in self.blocks() {
            let [back, on_line, ahead] = [-TURN, 0.0, TURN].map(|turn| self.decide(first, block, line, turn.into()));
            bend += f64::from(back.distance + ahead.distance - 2.0 * on_line.distance);
            squares += f64::from(on_line.squares);
            let count = block.len();
            let phase = f64::from(on_line.across) / count as f64;
            course.push(Point { position: middle(first, count), phase, variance: 1.0 / count as f64 });
        }
        let symbols = self.payload.len() as f64;
        for point in &mut course[added..] {
            point.variance *= squares / symbols;
        }
        // Distances grow by (turn · modulus)² where decisions are right, whatever the noise.
        let gain = bend / (2.0 * f64::from(TURN).powi(2) * symbols);
        (gain > LEAST_GAIN).then(|| gain.recip())
    }
}

/// Sums over symbols.
#[derive(Clone, Copy, Default)]
struct Decided {
    /// Squared distances from the nearest points.
    distance: f32,
    /// Imaginary parts of symbol · conj(nearest point): phase error times energy.
    across: f32,
    /// Their squares.
    squares: f32,
}

/// The points of a constellation from 0 to 45 degrees, if reflections at the axes and the diagonals, which PL scrambling is made
/// of too, make all others of them; else those from 0 to 90 degrees, and reflections at the axes.
struct Sector {
    re: [f32; SECTOR],
    im: [f32; SECTOR],
    half_energy: [f32; SECTOR],
    count: usize,
    is_octant: bool,
}

impl Sector {
    /// Of a kind of APSK, made when it is first asked for, and kept.
    fn of(modcod: Modcod, size: FrameSize) -> &'static Sector {
        static MADE: [[OnceLock<Sector>; 2]; 256] = [const { [const { OnceLock::new() }; 2] }; 256];
        MADE[usize::from(modcod.number())][size as usize].get_or_init(|| Sector::new(modcod, size))
    }

    fn new(modcod: Modcod, size: FrameSize) -> Sector {
        let points = Constellation::new(modcod, size).points();
        let in_quadrant = |point: &Complex32| point.im > -1e-6 && point.re > -1e-6;
        let in_octant = |point: &Complex32| point.im > -1e-6 && point.im < point.re + 1e-6;
        let is_there = |image: Complex32| points.iter().any(|point| (point - image).norm() < ALIKE);
        let is_octant = points.iter().all(|point| is_there(Complex32::new(point.im, point.re)));
        let inside = points.iter().filter(|point| if is_octant { in_octant(point) } else { in_quadrant(point) });
        let [re, im, half_energy] = [[0.0; SECTOR]; 3];
        let mut sector = Sector { re, im, half_energy, count: 0, is_octant };
        for (k, point) in inside.enumerate() {
            (sector.re[k], sector.im[k]) = (point.re, point.im);
            sector.half_energy[k] = 0.5 * point.norm_sqr();
            sector.count = k + 1;
        }
        sector
    }

    /// One of them.
    fn point(&self) -> Complex32 {
        Complex32::new(self.re[0], self.im[0])
    }

    /// Decides symbols of unit energy, a multiple of [`LANES`] of them.
    #[inline(always)]
    fn decide<S: Simd>(&self, simd: S, symbols: &[Complex32]) -> Decided {
        let splat = |value: f32| f32x16::splat(simd, value);
        let [mut distance, mut across, mut squares] = [splat(0.0); 3];
        for part in symbols.as_chunks::<LANES>().0 {
            let parts = part.map(|symbol| [symbol.re, symbol.im]);
            let (low, high) = parts.as_flattened().split_at(LANES);
            let (low, high) = (f32x16::from_slice(simd, low), f32x16::from_slice(simd, high));
            let (re, im) = (low.unzip_low(high), low.unzip_high(high));
            let (mut x, mut y) = (re.abs(), im.abs());
            if self.is_octant {
                (x, y) = (x.max(y), x.min(y));
            }
            // The nearest point is the one with the largest real part of symbol · conj(point) - |point|² / 2.
            let mut best = splat(f32::MIN);
            let [mut point_re, mut point_im] = [splat(0.0); 2];
            for k in 0..self.count.min(SECTOR) {
                let (re, im) = (splat(self.re[k]), splat(self.im[k]));
                let score = x * re + y * im - splat(self.half_energy[k]);
                let better = score.simd_gt(best);
                best = better.select(score, best);
                point_re = better.select(re, point_re);
                point_im = better.select(im, point_im);
            }
            let (dx, dy) = (x - point_re, y - point_im);
            distance += dx * dx + dy * dy;
            let error = y * point_re - x * point_im;
            squares += error * error;
            // A reflection turns the sense of rotation.
            let mut sense = splat(1.0).copysign(re) * splat(1.0).copysign(im);
            if self.is_octant {
                sense *= splat(1.0).copysign(re.abs() - im.abs());
            }
            across += sense * error;
        }
        let sum = |lanes: f32x16<S>| <[f32; LANES]>::from(lanes).iter().sum();
        Decided { distance: sum(distance), across: sum(across), squares: sum(squares) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn symbols_are_decided_for_the_nearest_of_all_points() {
        let mut random = fastrand::Rng::with_seed(1);
        let kinds =
            ["16apsk-2/3", "32apsk-9/10", "8apsk-26/45-l", "64apsk-5/6", "128apsk-3/4", "256apsk-3/4", "256apsk-2/3-l"];
        for modcod in kinds.map(|name| name.parse::<Modcod>().unwrap()) {
            let size = FrameSize::Normal;
            let constellation = Constellation::new(modcod, size);
            let sector = Sector::new(modcod, size);
            let mut part = || 3.0 * random.f32() - 1.5;
            let symbols: Vec<Complex32> = (0..64).map(|_| Complex32::new(part(), part())).collect();
            let mut expected = Decided::default();
            for symbol in &symbols {
                let distance = |point: &&Complex32| (symbol - *point).norm_sqr();
                let nearest = constellation.points().iter().min_by(|a, b| distance(a).total_cmp(&distance(b))).unwrap();
                let error = (symbol * nearest.conj()).im;
                expected.distance += distance(&nearest);
                expected.across += error;
                expected.squares += error * error;
            }
            for level in Level::all() {
                let found = dispatch!(level, simd => sector.decide(simd, &symbols));
                let errors = [
                    found.distance - expected.distance,
                    found.across - expected.across,
                    found.squares - expected.squares,
                ];
                // 128APSK is an octant of points but for 0.001.
                assert!(errors.iter().all(|error| error.abs() < 0.02), "{modcod}, {level}: {errors:?}");
            }
        }
    }
}

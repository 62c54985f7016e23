//! What decided symbols of 16APSK and 32APSK show of the carrier phase.

use num_complex::{Complex32, Complex64};

use super::known::KnownParts;
use super::line::{Line, Payload, middle};
use super::walk::Point;
use super::walk::STILL;
use super::{Constellation, HEADER, Modcod};
use crate::derotate::multiply_by_phasor;
use crate::simd::{Level, Simd, dispatch, f32x16, prelude::*};

/// Symbols that the kernel decides side by side.
const LANES: usize = 16;
/// Points of a constellation between 0 and 45 degrees, at most.
const OCTANT: usize = 6;
/// Angle in radians by which symbols are turned to see what their decisions tell of a phase.
const TURN: f32 = 0.1;
/// Share of a phase error that shows in decided symbols, below which they are too often wrong.
const LEAST_GAIN: f64 = 0.1;

/// The payload of a frame without pilots.
pub(super) struct Decisions<'a> {
    level: Level,
    octant: Octant,
    payload: &'a [Complex32],
    /// What brings symbols to unit energy.
    scale: f64,
    /// Variance of a phase measured on one known symbol.
    pub(super) variance: f64,
}

impl Decisions<'_> {
    /// Of a frame of 16APSK or 32APSK.
    pub(super) fn new<'a>(level: Level, modcod: Modcod, frame: &'a [Complex32], known: &KnownParts) -> Decisions<'a> {
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
        Decisions { level, octant: Octant::new(modcod), payload, scale, variance }
    }

    fn blocks(&self) -> impl Iterator<Item = (usize, &[Complex32])> {
        self.payload.chunks(STILL).enumerate().map(|(index, block)| (index * STILL, block))
    }

    /// Decides the block whose first symbol is number `first` of the payload, `turn` radians beside a line.
    fn decide(&self, first: usize, block: &[Complex32], line: Line, turn: f64) -> Decided {
        let start = Complex64::from_polar(self.scale, turn - line.at((HEADER + first) as f64));
        // What the block lacks is decided without error.
        let mut turned = [self.octant.point(); STILL];
        turned[..block.len()].copy_from_slice(block);
        multiply_by_phasor(&mut turned[..block.len()], -line.frequency, start);
        let turned = &turned[..block.len().next_multiple_of(LANES)];
        let level = self.level;
        dispatch!(level, simd => self.octant.decide(simd, turned))
    }
}

impl Payload for Decisions<'_> {
    fn misfit(&self, line: Line) -> f64 {
        let distance = |(first, block)| f64::from(self.decide(first, block, line, 0.0).distance);
        // Of normal distances of unknown variance.
        self.payload.len() as f64 * self.blocks().map(distance).sum::<f64>().ln()
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

/// The points of a constellation from 0 to 45 degrees. Reflections at the axes and the diagonals, which PL scrambling is made of
/// too, make all others of them.
struct Octant {
    re: [f32; OCTANT],
    im: [f32; OCTANT],
    half_energy: [f32; OCTANT],
    count: usize,
}

impl Octant {
    /// Of 16APSK or 32APSK.
    fn new(modcod: Modcod) -> Octant {
        let constellation = Constellation::new(modcod);
        let inside = |point: &&Complex32| point.im > -1e-6 && point.im < point.re + 1e-6;
        let points = constellation.points().iter().filter(inside);
        let mut octant = Octant { re: [0.0; OCTANT], im: [0.0; OCTANT], half_energy: [0.0; OCTANT], count: 0 };
        for (k, point) in points.enumerate() {
            (octant.re[k], octant.im[k]) = (point.re, point.im);
            octant.half_energy[k] = 0.5 * point.norm_sqr();
            octant.count = k + 1;
        }
        octant
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
            let (x, y) = (re.abs().max(im.abs()), re.abs().min(im.abs()));
            // The nearest point is the one with the largest real part of symbol · conj(point) - |point|² / 2.
            let mut best = splat(f32::MIN);
            let [mut point_re, mut point_im] = [splat(0.0); 2];
            for k in 0..self.count.min(OCTANT) {
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
            let sense = splat(1.0).copysign(re) * splat(1.0).copysign(im) * splat(1.0).copysign(re.abs() - im.abs());
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
        for modcod in Modcod::all().filter(|modcod| modcod.number() >= 18) {
            let constellation = Constellation::new(modcod);
            let octant = Octant::new(modcod);
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
                let found = dispatch!(level, simd => octant.decide(simd, &symbols));
                let errors = [
                    found.distance - expected.distance,
                    found.across - expected.across,
                    found.squares - expected.squares,
                ];
                assert!(errors.iter().all(|error| error.abs() < 1e-3), "{modcod}, {level}: {errors:?}");
            }
        }
    }
}

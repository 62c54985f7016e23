//! What decided symbols of 16APSK and 32APSK show of the carrier phase.

use num_complex::{Complex32, Complex64};

use super::known::KnownParts;
use super::line::{Line, Payload, STILL, middle};
use super::walk::Point;
use super::{Constellation, HEADER, Modcod};
use crate::derotate::multiply_by_phasor;
use crate::simd::{Level, dispatch};

/// Symbols in a row that the kernel decides.
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
        let mut turned = [Complex32::ZERO; STILL];
        let turned = &mut turned[..block.len()];
        turned.copy_from_slice(block);
        multiply_by_phasor(turned, -line.frequency, start);
        let level = self.level;
        dispatch!(level => self.octant.decide(turned))
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
}

impl Octant {
    /// Of 16APSK or 32APSK.
    fn new(modcod: Modcod) -> Octant {
        let constellation = Constellation::new(modcod);
        let inside = |point: &&Complex32| point.im > -1e-6 && point.im < point.re + 1e-6;
        let points = constellation.points().iter().filter(inside);
        // Slots that are left stay out of reach.
        let mut octant = Octant { re: [1e6; OCTANT], im: [0.0; OCTANT] };
        for ((re, im), point) in octant.re.iter_mut().zip(&mut octant.im).zip(points) {
            (*re, *im) = (point.re, point.im);
        }
        octant
    }

    /// Decides symbols of unit energy.
    #[inline(always)]
    fn decide(&self, symbols: &[Complex32]) -> Decided {
        let mut distance = [0.0; LANES];
        let mut across = [0.0; LANES];
        let mut squares = [0.0; LANES];
        for part in symbols.chunks(LANES) {
            for (i, symbol) in part.iter().enumerate() {
                let (re, im) = (symbol.re.abs(), symbol.im.abs());
                let (x, y) = (re.max(im), re.min(im));
                let mut nearest = f32::MAX;
                let mut error = 0.0;
                for k in 0..OCTANT {
                    let (dx, dy) = (x - self.re[k], y - self.im[k]);
                    let candidate = dx * dx + dy * dy;
                    let closer = candidate < nearest;
                    nearest = if closer { candidate } else { nearest };
                    error = if closer { y * self.re[k] - x * self.im[k] } else { error };
                }
                // A reflection turns the sense of rotation.
                let turned = (symbol.re < 0.0) ^ (symbol.im < 0.0) ^ (im > re);
                distance[i] += nearest;
                across[i] += if turned { -error } else { error };
                squares[i] += error * error;
            }
        }
        Decided { distance: distance.iter().sum(), across: across.iter().sum(), squares: squares.iter().sum() }
    }
}

//! The course of the carrier phase that the payload of 16APSK and 32APSK shows: decided symbol by symbol.

use std::f64::consts::TAU;

use num_complex::{Complex32, Complex64};

use super::known::{Known, KnownParts};
use super::walk::{Point, smooth_walk, wrap};
use super::{Constellation, HEADER, Modcod};
use crate::derotate::multiply_by_phasor;
use crate::simd::{Level, dispatch};

/// Symbols decided together, over which the phase is taken to stand still.
const BLOCK: usize = 256;
/// Symbols in a row that the kernel decides.
const LANES: usize = 16;
/// Symbols of the longest 16APSK or 32APSK frame: normal, without pilots.
const LONGEST: usize = 16_290;
/// Points of a constellation between 0 and 45 degrees, at most.
const OCTANT: usize = 6;
/// Distance in cycles per frame between the frequencies tried where no second header tells the phase at the end.
const STEP: f64 = 1.0 / 24.0;
/// Frequencies tried on either side of zero, in standard deviations.
const RANGE: f64 = 4.0;
/// Angle in radians by which symbols are turned to see what their decisions tell of a phase.
const TURN: f32 = 0.1;
/// Share of a phase error that shows in decided symbols, below which they are too often wrong.
const LEAST_GAIN: f64 = 0.1;
/// Header, blocks of the payload, header of the next frame.
pub(super) const MAX_POINTS: usize = (LONGEST - HEADER).div_ceil(BLOCK) + 2;

/// A phase that changes steadily.
#[derive(Clone, Copy, Debug)]
struct Line {
    /// In cycles per symbol.
    frequency: f64,
    /// At the first symbol of the frame.
    phase: f64,
}

impl Line {
    fn at(&self, position: f64) -> f64 {
        self.phase + TAU * self.frequency * position
    }
}

/// The course of the phase along a frame without pilots whose residual frequency has the standard deviation `deviation`, in
/// cycles per symbol. Returns the frequency; `course` gets points whose phases need no unwrapping.
///
/// Headers tell the phase at both ends, but not how often it turned in between. Of all straight lines that the headers leave,
/// or of a fine grid if there is one header only, the payload fits one. What its decided symbols show beside that line is
/// followed.
pub(super) fn follow_decisions(
    level: Level,
    modcod: Modcod,
    frame: &[Complex32],
    known: &KnownParts,
    deviation: f64,
    course: &mut Vec<Point>,
) -> f64 {
    let payload = &frame[HEADER..];
    let octant = Octant::new(modcod);
    let header = &known.parts()[0];
    // The header leaves one complex amplitude open.
    let noise = (power(&frame[..HEADER]) - (header.correlation() / header.length()).norm_sqr())
        * (header.length() / (header.length() - 1.0));
    let amplitude = (power(payload) - noise).max(0.0).sqrt();
    let scale = if amplitude > 0.0 { amplitude.recip() } else { 0.0 };
    let fit = |line: Line| -> f64 {
        let blocks = payload.chunks(BLOCK).enumerate();
        blocks.map(|(index, block)| f64::from(octant.decide(level, block, line.turn(index, scale)).distance)).sum()
    };

    let through_header =
        |frequency: f64| Line { frequency, phase: header.correlation().arg() - TAU * frequency * header.position };
    let next = known.parts().last().filter(|_| known.next_header);
    let span = next.map_or(frame.len() as f64, |next| next.position - header.position);
    let (nearest, step) = match next {
        Some(next) => ((next.correlation() * header.correlation().conj()).arg() / (TAU * span), 1.0 / span),
        None => (0.0, STEP / span),
    };
    let turns = (RANGE * deviation / step).ceil() as i32;
    let score = |line: &Line| payload.len() as f64 * fit(*line).ln() + 0.5 * (line.frequency / deviation).powi(2);
    let lines = (-turns..=turns).map(|turn| through_header(nearest + f64::from(turn) * step));
    let best = lines.map(|line| (score(&line), line)).min_by(|a, b| a.0.total_cmp(&b.0));
    let line = best.map_or(through_header(0.0), |(_, line)| line);

    // Variance of a phase measured on one known symbol.
    let variance = (0.5 * noise * scale * scale).max(f64::MIN_POSITIVE);
    let of_known = |known: &Known| {
        let beside = wrap(known.correlation().arg() - line.at(known.position));
        Point { position: known.position, phase: beside, variance: variance / known.length() }
    };
    course.clear();
    course.push(of_known(header));
    let decided = Decisions::of(level, &octant, payload, line, scale, course);
    if decided.gain > LEAST_GAIN {
        for (point, block) in course[1..].iter_mut().zip(payload.chunks(BLOCK)) {
            point.phase /= decided.gain;
            point.variance = decided.variance / (decided.gain * decided.gain * block.len() as f64);
        }
    } else {
        course.truncate(1);
    }
    course.extend(next.map(of_known));
    smooth_walk(course, variance);
    for point in course.iter_mut() {
        point.phase += line.at(point.position);
    }
    match course[..] {
        [first, .., last] => (last.phase - first.phase) / (TAU * (last.position - first.position)),
        _ => line.frequency,
    }
}

impl Line {
    /// What turns block `index` of the payload back: frequency, and factor of its first symbol.
    fn turn(&self, index: usize, scale: f64) -> (f64, Complex64) {
        (-self.frequency, Complex64::from_polar(scale, -self.at((HEADER + index * BLOCK) as f64)))
    }
}

fn power(symbols: &[Complex32]) -> f64 {
    symbols.iter().map(|symbol| f64::from(symbol.norm_sqr())).sum::<f64>() / symbols.len() as f64
}

/// What decided symbols tell of phase errors.
struct Decisions {
    /// Phase shown per phase error: 1 where all decisions are right.
    gain: f64,
    /// Variance of the phase shown by one symbol.
    variance: f64,
}

impl Decisions {
    /// Adds a point beside `line` for each block of the payload, its phase as shown.
    fn of(
        level: Level,
        octant: &Octant,
        payload: &[Complex32],
        line: Line,
        scale: f64,
        course: &mut Vec<Point>,
    ) -> Decisions {
        let (mut bend, mut squares) = (0.0, 0.0);
        for (index, block) in payload.chunks(BLOCK).enumerate() {
            let (frequency, start) = line.turn(index, scale);
            let decide = |turn: f32| octant.decide(level, block, (frequency, start * Complex64::cis(turn.into())));
            let (back, on_line, ahead) = (decide(-TURN), decide(0.0), decide(TURN));
            bend += f64::from(back.distance + ahead.distance - 2.0 * on_line.distance);
            squares += f64::from(on_line.squares);
            let phase = f64::from(on_line.across) / block.len() as f64;
            let position = (HEADER + index * BLOCK) as f64 + 0.5 * (block.len() - 1) as f64;
            course.push(Point { position, phase, variance: 0.0 });
        }
        let symbols = payload.len() as f64;
        // Distances grow by (turn · modulus)² where decisions are right, whatever the noise.
        let gain = bend / (2.0 * f64::from(TURN).powi(2) * symbols);
        Decisions { gain, variance: squares / symbols }
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

    /// Decides up to [`BLOCK`] symbols, turned by a frequency in cycles per symbol and the factor of the first one.
    fn decide(&self, level: Level, block: &[Complex32], (frequency, start): (f64, Complex64)) -> Decided {
        let mut turned = [Complex32::ZERO; BLOCK];
        let turned = &mut turned[..block.len()];
        turned.copy_from_slice(block);
        multiply_by_phasor(turned, frequency, start);
        dispatch!(level => self.decide_turned(turned))
    }

    #[inline(always)]
    fn decide_turned(&self, symbols: &[Complex32]) -> Decided {
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

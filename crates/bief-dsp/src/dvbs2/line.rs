//! The course of the carrier phase along a frame without pilots: beside the straight line that headers and payload show together.

use std::f64::consts::TAU;

use super::HEADER;
use super::known::{Known, KnownParts};
use super::walk::{Point, smooth_walk, wrap};

/// Distance in cycles per frame between the frequencies tried where no second header tells the phase at the end.
const STEP: f64 = 1.0 / 24.0;
/// Frequencies tried on either side of zero, in standard deviations.
const RANGE: f64 = 4.0;

/// How unlikely it is that a frequency is not what a [`Tracker`](super::Tracker) leaves: the negative logarithm of a hundredth.
const UNTRACKED: f64 = 4.6;

/// Standard deviations that the residual frequency of frames may have, in cycles per symbol.
#[derive(Clone, Copy, Debug)]
pub(super) struct Residual {
    /// Nearly always: of what a tracker leaves.
    pub(super) tracked: f64,
    /// Of all that is looked for.
    pub(super) widest: f64,
}

impl Residual {
    /// One standard deviation, whatever was before.
    pub(super) fn of(deviation: f64) -> Residual {
        Residual { tracked: deviation, widest: deviation }
    }

    /// How unlikely a frequency is: a negative logarithm of the likelihood, from anywhere.
    fn misfit(self, frequency: f64) -> f64 {
        let by = |deviation: f64| 0.5 * (frequency / deviation).powi(2) + deviation.ln();
        by(self.tracked).min(by(self.widest) + UNTRACKED)
    }
}

/// A phase that changes steadily.
#[derive(Clone, Copy, Debug)]
pub(super) struct Line {
    /// In cycles per symbol.
    pub(super) frequency: f64,
    /// At the first symbol of the frame.
    phase: f64,
}

impl Line {
    pub(super) fn at(&self, position: f64) -> f64 {
        self.phase + TAU * self.frequency * position
    }
}

/// What a payload of unknown symbols tells of its carrier phase.
pub(super) trait Payload {
    /// How unlikely a line is: a negative logarithm of the likelihood, from anywhere.
    fn misfit(&self, line: Line) -> f64;

    /// Adds a point for each [`STILL`] symbols: phase and variance of what they show beside the line, a constant times too small
    /// each. Returns the constant for the phases; none when nothing can be seen.
    fn beside(&self, line: Line, course: &mut Vec<Point>) -> Option<f64>;
}

/// Follows the phase along a frame of so many symbols. `variance` is that of a phase measured on one known symbol. Returns the
/// frequency; `course` gets points whose phases need no unwrapping.
///
/// Headers tell the phase at both ends, but not how often it turned in between. Of all straight lines that the headers leave,
/// or of a fine grid if there is one header only, the payload fits one. What it shows beside that line is followed.
pub(super) fn follow_line(
    payload: &impl Payload,
    symbols: usize,
    known: &KnownParts,
    residual: Residual,
    variance: f64,
    course: &mut Vec<Point>,
) -> f64 {
    let header = &known.parts()[0];
    let through_header =
        |frequency: f64| Line { frequency, phase: header.correlation().arg() - TAU * frequency * header.position };
    let next = known.parts().last().filter(|_| known.next_header);
    let (nearest, step) = match next {
        Some(next) => {
            let span = next.position - header.position;
            ((next.correlation() * header.correlation().conj()).arg() / (TAU * span), 1.0 / span)
        }
        None => (0.0, STEP / symbols as f64),
    };
    let turns = (RANGE * residual.widest / step).ceil() as i32;
    let lines = (-turns..=turns).map(|turn| through_header(nearest + f64::from(turn) * step));
    let scored = lines.map(|line| (payload.misfit(line) + residual.misfit(line.frequency), line));
    let best = scored.min_by(|a, b| a.0.total_cmp(&b.0));
    let line = best.map_or(through_header(nearest), |(_, line)| line);

    let of_known = |known: &Known| {
        let beside = wrap(known.correlation().arg() - line.at(known.position));
        Point { position: known.position, phase: beside, variance: variance / known.length() }
    };
    course.clear();
    course.push(of_known(header));
    match payload.beside(line, course) {
        Some(scale) => {
            for point in &mut course[1..] {
                point.phase *= scale;
                point.variance *= scale * scale;
            }
        }
        None => course.truncate(1),
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

/// Place in the frame of the middle of payload symbols.
pub(super) fn middle(first: usize, count: usize) -> f64 {
    (HEADER + first) as f64 + 0.5 * (count as f64 - 1.0)
}

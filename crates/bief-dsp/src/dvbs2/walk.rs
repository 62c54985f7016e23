//! Smoothing of phases measured along a frame.

use std::f64::consts::TAU;

use super::{MAX_SYMBOLS, PILOT_BLOCK, PILOT_PERIOD};

/// A phase measured at a place of the frame, with the variance of the measurement.
#[derive(Clone, Copy, Debug)]
pub(super) struct Point {
    pub(super) position: f64,
    pub(super) phase: f64,
    pub(super) variance: f64,
}

/// Payload symbols over which the phase is taken to stand still.
pub(super) const STILL: usize = 256;
/// The most points of a frame: one for every [`STILL`] symbols, and both headers.
const MOST: usize = MAX_SYMBOLS.div_ceil(STILL) + 2;

/// Smooths phases as those of a random walk, by a Kalman filter over the frame and back.
///
/// `variance` is that of a phase measured on one known symbol. How fast the phase walks is told by the phases
/// themselves, and never less than a quarter of the noise from one pilot block to the next: a frame is too short
/// to trust that it stands still.
pub(super) fn smooth_walk(points: &mut [Point], variance: f64) {
    let gap = |before: &Point, after: &Point| after.position - before.position;
    let (mut excess, mut span) = (0.0, 0.0);
    for pair in points.windows(2) {
        excess += (pair[1].phase - pair[0].phase).powi(2) - pair[0].variance - pair[1].variance;
        span += gap(&pair[0], &pair[1]);
    }
    let least = 0.25 * variance / (PILOT_BLOCK * PILOT_PERIOD) as f64;
    let walk = if span > 0.0 { (excess / span).max(least) } else { least };

    let mut filtered = [0.0; MOST];
    let Some(first) = points.first() else { return };
    let mut last = *first;
    filtered[0] = last.variance;
    for (point, filtered) in points.iter_mut().zip(&mut filtered).skip(1) {
        let predicted = last.variance + walk * gap(&last, point);
        let gain = predicted / (predicted + point.variance);
        point.phase = last.phase + gain * (point.phase - last.phase);
        last = Point { variance: (1.0 - gain) * predicted, ..*point };
        *filtered = last.variance;
    }
    for index in (1..points.len()).rev() {
        let share = filtered[index - 1] / (filtered[index - 1] + walk * gap(&points[index - 1], &points[index]));
        points[index - 1].phase += share * (points[index].phase - points[index - 1].phase);
    }
}

/// To -π..π.
pub(super) fn wrap(angle: f64) -> f64 {
    angle - TAU * nearest(angle / TAU)
}

/// The nearest whole number, up to 2⁵¹: additions, where rounding is a call of a library on many processors.
pub(super) fn nearest(number: f64) -> f64 {
    // From here on, a double holds whole numbers only.
    const WHOLE: f64 = 1.5 * (1u64 << 52) as f64;
    number + WHOLE - WHOLE
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_whole_number_is_found() {
        for k in -4000..4000 {
            let number = f64::from(k) * 0.037;
            assert_eq!(nearest(number), number.round_ties_even());
            assert_eq!(nearest(1e9 * number), (1e9 * number).round_ties_even());
        }
        assert!(nearest(f64::NAN).is_nan());
    }

    #[test]
    fn angles_are_wrapped() {
        for turns in -5..5 {
            for angle in [-3.1, -1.0, 0.0, 2.0, 3.1] {
                assert!((wrap(angle + TAU * f64::from(turns)) - angle).abs() < 1e-12);
            }
        }
    }
}

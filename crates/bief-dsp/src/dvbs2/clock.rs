//! The symbol clock of a signal, from its power alone.

use std::f64::consts::TAU;

use num_complex::{Complex32, Complex64};

use crate::filter::MatchedFilter;

/// Symbols over which the symbol clock is taken to stand still.
const TIMING_BLOCK: usize = 512;
/// Relative error of the symbol rate that is searched, on either side.
const MAX_CLOCK_ERROR: f64 = 150e-6;

/// Position of the symbol that is nearest to the start, and distance between symbols, in samples.
///
/// The power of the filtered signal has a line at the symbol rate (Oerder and Meyr); the line's exact frequency is
/// searched, so that the whole recording is added up in phase.
pub(super) fn symbol_clock(filter: &MatchedFilter, samples: &[Complex32]) -> (f64, f64) {
    let rate = filter.samples_per_symbol();
    let block = TIMING_BLOCK as f64;
    let blocks = (samples.len() as f64 / (rate * block)).floor() as usize;
    let mut out = [Complex32::ZERO; TIMING_BLOCK];
    let lines: Vec<Complex64> = (0..blocks)
        .map(|index| {
            let [p0, p1, p2, p3] = [0.0, 0.25, 0.5, 0.75].map(|quarter| {
                filter.symbols(samples, (index as f64 * block + quarter) * rate, rate, &mut out);
                f64::from(out.iter().map(Complex32::norm_sqr).sum::<f32>())
            });
            Complex64::new(p0 - p2, p3 - p1)
        })
        .collect();
    let middle = 0.5 * (blocks as f64 - 1.0);
    // Block k turns by 2π · clock error · symbols up to its middle.
    let add_up = |error: f64| {
        let turn = Complex64::cis(TAU * error * block);
        let mut phasor = Complex64::cis(-TAU * error * block * middle);
        let mut sum = Complex64::ZERO;
        let mut moment = Complex64::ZERO;
        for (index, line) in lines.iter().enumerate() {
            let turned = line * phasor;
            sum += turned;
            moment += turned * (block * (index as f64 - middle));
            phasor *= turn;
        }
        (sum, moment)
    };
    let bins = (4.0 * MAX_CLOCK_ERROR * block * blocks as f64).ceil() as i32;
    let step = MAX_CLOCK_ERROR / f64::from(bins);
    let (_, mut error) = (-bins..=bins)
        .map(|bin| f64::from(bin) * step)
        .map(|error| (add_up(error).0.norm_sqr(), error))
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .expect("there are bins");
    let spread = block * block * ((blocks * blocks) as f64 - 1.0) / 12.0;
    for _ in 0..3 {
        let (sum, moment) = add_up(error);
        let correction = -(moment * sum.conj()).im / (TAU * spread * sum.norm_sqr());
        if correction.abs() < step {
            error += correction;
        }
    }
    // The line's argument is -2π · delay in the middle of the recording; symbols count from the first one there.
    let delay = -add_up(error).0.arg() / TAU;
    let step = 1.0 + error;
    let in_the_middle = (block * (middle + 0.5)).floor() + delay;
    let start = in_the_middle - step * (in_the_middle / step).round();
    (rate * start, rate * step)
}

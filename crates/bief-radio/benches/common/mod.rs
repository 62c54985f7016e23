//! What the benches measure beside their chain, and how they tell it.

#![allow(dead_code, reason = "each bench uses some of them")]

pub(crate) mod layer;
pub(crate) mod limits;
pub(crate) mod signal;
#[path = "../../tests/common/mod.rs"]
pub(crate) mod tests;

use std::time::Instant;

use bief_dsp::fir::Fir;
use num_complex::Complex32;

/// Msamples/s into the reference filter, the best of several runs.
pub(crate) fn fir() -> f64 {
    let taps: Vec<f32> = (0..80).map(|k| 1.0 / (1.0 + k as f32)).collect();
    let mut filter = Fir::new(&taps, 2);
    let input: Vec<Complex32> = (0..16_384 + 80).map(|k| Complex32::cis(0.1 * k as f32)).collect();
    let mut output = vec![Complex32::ZERO; 8192];
    let mut best = f64::INFINITY;
    for _ in 0..200 {
        let start = Instant::now();
        filter.filter(&input[..80], std::hint::black_box(&input[80..]), &mut output);
        std::hint::black_box(&output);
        best = best.min(start.elapsed().as_secs_f64());
    }
    16_384.0 / best / 1e6
}

/// What speeds are over those of one core, round by round: the median in words, as of [`spread`].
pub(crate) fn over(one: &[f64], speeds: &[f64]) -> String {
    spread(speeds.iter().zip(one).map(|(speed, one)| speed / one).collect(), 2).1
}

/// The median, and it in words with the least and the greatest, with so many digits behind the point.
pub(crate) fn spread(mut values: Vec<f64>, digits: usize) -> (f64, String) {
    values.sort_by(f64::total_cmp);
    let median = values[values.len() / 2];
    (median, format!("{median:8.digits$}   {:.digits$} .. {:.digits$}", values[0], values[values.len() - 1]))
}

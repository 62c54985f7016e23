//! Parameters of tasks, checked where a task is made.

use bief::{Error, Result};

/// Beyond any rate, frequency, time or level, and so near that their products and quotients are numbers above 0, as `f32` too.
const SMALLEST: f64 = 1e-15;
pub(crate) const GREATEST: f64 = 1e15;

/// A number above 0.
pub(crate) fn positive(what: &str, value: f64) -> Result<f64> {
    if (SMALLEST..=GREATEST).contains(&value) {
        return Ok(value);
    }
    if value > 0.0 && value.is_finite() {
        let range = format!("from {SMALLEST:e} to {GREATEST:e}");
        return Err(Error::new(format!("{what} is {value:e}: give a number {range}")));
    }
    Err(Error::new(format!("{what} is {value}: give a number above 0")))
}

/// A frequency above 0 and below half of a rate.
pub(crate) fn below_half(what: &str, hz: f64, sample_rate: f64) -> Result<f64> {
    if positive(what, hz)? < sample_rate / 2.0 {
        return Ok(hz);
    }
    Err(Error::new(format!("{what} is {hz} Hz: it must be below half of the sample rate, {} Hz", sample_rate / 2.0)))
}

/// How many times the one rate is the other.
pub(crate) fn whole_ratio(high: (&str, f64), low: (&str, f64)) -> Result<usize> {
    let ratio = high.1 / low.1;
    let whole = ratio.round();
    if whole >= 1.0 && (ratio / whole - 1.0).abs() < 1e-9 {
        return Ok(whole as usize);
    }
    Err(Error::new(format!("{} is {} Hz: it must be a whole multiple of {}, {} Hz", high.0, high.1, low.0, low.1)))
}

//! A mean of several runs, and how far it is known.

use serde::Serialize;

/// The two-sided 95 % points of Student's distribution, for 1 to 30 degrees of freedom.
const STUDENT: [f64; 30] = [
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120,
    2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
];

/// The half-width of a 95 % confidence interval in standard errors: the two-sided point of Student's distribution for
/// these degrees of freedom; infinite for 0.
///
/// ```
/// use bief_schedule::simulate::student;
///
/// assert_eq!(student(2), 4.303);
/// assert!((student(1000) - 1.962).abs() < 1e-3);
/// ```
pub fn student(freedom: usize) -> f64 {
    match freedom {
        0 => f64::INFINITY,
        _ => STUDENT.get(freedom - 1).copied().unwrap_or(1.96 + 2.4 / freedom as f64),
    }
}

/// A mean with its 95 % confidence interval, by Student's distribution.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Mean {
    /// The mean of the values; not a number where there are none.
    pub mean: f64,
    /// Half of the width of the interval; infinite where there are fewer than two values.
    pub margin: f64,
}

impl Mean {
    /// The mean of values that do not depend on each other.
    ///
    /// ```
    /// use bief_schedule::simulate::Mean;
    ///
    /// let mean = Mean::of(&[1.0, 2.0, 3.0]);
    /// assert_eq!(mean.mean, 2.0);
    /// assert!((mean.margin - 4.303 / 3f64.sqrt()).abs() < 1e-12);
    /// ```
    pub fn of(values: &[f64]) -> Self {
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count;
        if values.len() < 2 {
            return Self { mean, margin: f64::INFINITY };
        }
        let freedom = values.len() - 1;
        let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / freedom as f64;
        Self { mean, margin: student(freedom) * (variance / count).sqrt() }
    }

    /// The least value of the interval.
    pub fn low(self) -> f64 {
        self.mean - self.margin
    }

    /// The greatest value of the interval.
    pub fn high(self) -> f64 {
        self.mean + self.margin
    }
}

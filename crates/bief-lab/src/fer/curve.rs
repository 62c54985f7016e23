//! Where a measured curve crosses a frame error rate.

use super::count::{Count, DEVIATIONS};
use super::setup::EsN0;

/// The frame error rate at which chains are compared.
pub(super) const COMPARED: f64 = 1e-2;

/// A value in dB and its standard deviation.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Level {
    pub(super) db: f64,
    deviation: f64,
}

impl Level {
    /// How much this lies above another, independent one.
    pub(super) fn above(self, other: Self) -> Self {
        Self { db: self.db - other.db, deviation: self.deviation.hypot(other.deviation) }
    }

    /// Where the value lies with a confidence of 95 %.
    pub(super) fn interval(self) -> (f64, f64) {
        (self.db - DEVIATIONS * self.deviation, self.db + DEVIATIONS * self.deviation)
    }
}

/// Es/N0 at which the frame error rate falls to `rate`: on the straight line, over the logarithm of the rate, between the first
/// two neighbouring points with errors that lie on either side. The points come in the order of Es/N0.
pub(super) fn crossing(points: &[(EsN0, Count)], rate: f64) -> Option<Level> {
    let with_errors: Vec<_> = points.iter().filter(|(_, count)| count.all.errors > 0).collect();
    let pair = with_errors.windows(2).find(|pair| pair[0].1.rate() >= rate && pair[1].1.rate() < rate)?;
    let [(x0, above), (x1, below)] = [pair[0], pair[1]];
    let log = |count: &Count| (count.rate() / rate).ln();
    // Of the logarithm of a rate that was measured: its relative variance.
    let variance = |count: &Count| (1.0 - count.rate()) / count.all.errors as f64;
    let (high, low) = (log(above), log(below));
    let slope = (x1.db() - x0.db()) / (high - low);
    let share = high / (high - low);
    let errors = (1.0 - share).powi(2) * variance(above) + share.powi(2) * variance(below);
    Some(Level { db: x0.db() + slope * high, deviation: slope * errors.sqrt() })
}

#[cfg(test)]
mod tests {
    use super::super::count::count;
    use super::*;

    #[test]
    fn a_straight_waterfall_is_crossed_where_it_should_be() {
        let points = [(EsN0(6000), count(1000, 100)), (EsN0(6200), count(100_000, 100)), (EsN0(6300), count(9, 0))];
        let level = crossing(&points, 1e-2).unwrap();
        assert!((level.db - 6.1).abs() < 1e-9);
        // Both logarithms are uncertain by about a tenth, and count half each: of 0.2 dB per factor 100.
        let expected = 0.2 / 100_f64.ln() * (0.25 * (0.009 + 0.00999_f64)).sqrt();
        assert!((level.deviation - expected).abs() < 1e-6, "{level:?}");
        assert!((crossing(&points, 0.05).unwrap().db - (6.0 + 0.1 * 2_f64.log10())).abs() < 1e-9);
    }

    #[test]
    fn what_was_not_measured_on_both_sides_is_not_known() {
        let points = [(EsN0(6000), count(1000, 100)), (EsN0(6100), count(1000, 20)), (EsN0(6200), count(1000, 0))];
        assert_eq!(crossing(&points, 1e-2), None);
        assert_eq!(crossing(&points[..0], 1e-2), None);
        assert_eq!(crossing(&points, 0.2), None);
    }

    /// The deviation that is told is that of many measurements.
    #[test]
    fn crossings_scatter_as_their_deviation_says() {
        let mut random = fastrand::Rng::with_seed(3);
        let mut measured = |rate: f64| count(4000, (0..4000).filter(|_| random.f64() < rate).count() as u64);
        let levels: Vec<Level> = (0..300)
            .map(|_| crossing(&[(EsN0(0), measured(0.04)), (EsN0(100), measured(0.005))], 1e-2).unwrap())
            .collect();
        let mean = levels.iter().map(|level| level.db).sum::<f64>() / 300.0;
        let scatter = (levels.iter().map(|level| (level.db - mean).powi(2)).sum::<f64>() / 299.0).sqrt();
        let told = levels.iter().map(|level| level.deviation).sum::<f64>() / 300.0;
        assert!((scatter / told - 1.0).abs() < 0.15, "{scatter} {told}");
        let inside = levels.iter().filter(|level| {
            let (low, high) = level.interval();
            (low..high).contains(&(0.1 * 4_f64.ln() / 8_f64.ln()))
        });
        assert!((270..=297).contains(&inside.count()));
    }
}

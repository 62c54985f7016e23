//! What a sample says, and whether a printed value agrees with it.

/// How far apart, in standard errors, two samples of one distribution are allowed to lie.
const ERRORS: f64 = 3.0;

/// A value that was printed with one decimal: most of the paper's are cut there, some are rounded.
pub(crate) const CUT: Print = Print { below: 0.05, above: 0.1 };

/// A value that was rounded to one decimal.
pub(crate) const ROUNDED: Print = Print { below: 0.05, above: 0.05 };

/// How far below and above the printed value the value behind it can lie.
#[derive(Clone, Copy)]
pub(crate) struct Print {
    below: f64,
    above: f64,
}

/// Where a value may lie that describes another sample of the same distribution.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Spread {
    low: f64,
    high: f64,
}

impl Spread {
    /// Whether a value that was printed so may lie in it.
    pub(crate) fn agrees(self, printed: f64, print: Print) -> bool {
        // A hair more, for decimals that binary numbers do not hold.
        self.low - 1e-9 <= printed + print.above && printed - print.below <= self.high + 1e-9
    }
}

/// Numbers in ascending order, at least one.
pub(crate) struct Sample(Vec<f64>);

impl Sample {
    /// The sample of these values; `None` where there is none.
    pub(crate) fn new(values: impl IntoIterator<Item = f64>) -> Option<Self> {
        let mut values: Vec<f64> = values.into_iter().collect();
        values.sort_by(f64::total_cmp);
        (!values.is_empty()).then_some(Self(values))
    }

    fn count(&self) -> f64 {
        self.0.len() as f64
    }

    pub(crate) fn mean(&self) -> f64 {
        self.0.iter().sum::<f64>() / self.count()
    }

    /// The standard deviation of the distribution, estimated; 0 for one value.
    pub(crate) fn deviation(&self) -> f64 {
        let mean = self.mean();
        let squares: f64 = self.0.iter().map(|value| (value - mean).powi(2)).sum();
        (squares / (self.count() - 1.0).max(1.0)).sqrt()
    }

    /// The middle value, or the mean of the two in the middle.
    pub(crate) fn median(&self) -> f64 {
        self.quantile(0.5)
    }

    /// The value below which that part of the values lies, from 0 to 1: between two values, in proportion.
    pub(crate) fn quantile(&self, part: f64) -> f64 {
        let place = part * (self.0.len() - 1) as f64;
        let (below, above) = (self.0[place.floor() as usize], self.0[place.ceil() as usize]);
        below + (above - below) * place.fract()
    }

    pub(crate) fn max(&self) -> f64 {
        self.0[self.0.len() - 1]
    }

    /// The percentage of the values that are at most `limit`.
    pub(crate) fn percent_up_to(&self, limit: f64) -> f64 {
        100.0 * self.0.partition_point(|&value| value <= limit) as f64 / self.count()
    }

    /// Each different value with the percentage of the values that are at most as great.
    pub(crate) fn distribution(&self) -> impl Iterator<Item = (f64, f64)> {
        let last_of_equals = |index: usize| self.0.get(index + 1) != Some(&self.0[index]);
        let places = (0..self.0.len()).filter(move |&index| last_of_equals(index));
        places.map(|index| (self.0[index], 100.0 * (index + 1) as f64 / self.count()))
    }

    /// Where the mean of `others` values may lie: the standard error of the difference of two means.
    pub(crate) fn mean_spread(&self, others: u32) -> Spread {
        let error = self.deviation() * (1.0 / self.count() + 1.0 / f64::from(others)).sqrt();
        Spread { low: self.mean() - ERRORS * error, high: self.mean() + ERRORS * error }
    }

    /// Where the median of `others` values may lie: between two values of this sample. How many values lie below the true
    /// median is binomial, with a deviation of half the root of their number, whatever the distribution.
    pub(crate) fn median_spread(&self, others: u32) -> Spread {
        let shift = ERRORS * 0.5 * (self.count() * (1.0 + self.count() / f64::from(others))).sqrt();
        let middle = (self.count() - 1.0) / 2.0;
        let at = |place: f64| self.0[place.clamp(0.0, self.count() - 1.0) as usize];
        Spread { low: at((middle - shift).floor()), high: at((middle + shift).ceil()) }
    }

    /// Where one more value may lie, as far as the deviation of these tells: for values such as the maxima of batches.
    pub(crate) fn value_spread(&self) -> Spread {
        let error = self.deviation() * (1.0 + 1.0 / self.count()).sqrt();
        Spread { low: self.mean() - ERRORS * error, high: self.mean() + ERRORS * error }
    }
}

/// Where the percentage of hits among `others` trials may lie, given `hits` among `count`, if it is `printed`: the normal
/// interval of the difference of two shares, whose common variance comes from both.
pub(crate) fn percent_spread(hits: usize, count: usize, printed: f64, others: u32) -> Spread {
    let (count, others) = (count as f64, f64::from(others));
    let share = hits as f64 / count;
    let common = (hits as f64 + others * printed / 100.0) / (count + others);
    let error = (common * (1.0 - common) * (1.0 / count + 1.0 / others)).max(0.0).sqrt();
    Spread { low: 100.0 * (share - ERRORS * error), high: 100.0 * (share + ERRORS * error) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(values: &[f64]) -> Sample {
        Sample::new(values.iter().copied()).unwrap()
    }

    #[test]
    fn moments_of_small_samples() {
        let four = sample(&[4.0, 1.0, 2.0, 5.0]);
        assert_eq!((four.mean(), four.median(), four.max()), (3.0, 3.0, 5.0));
        assert_eq!(four.deviation(), (10.0f64 / 3.0).sqrt());
        assert_eq!(sample(&[3.0, 1.0, 9.0]).median(), 3.0);
        assert_eq!([0.0, 0.25, 0.5, 1.0].map(|part| four.quantile(part)), [1.0, 1.75, 3.0, 5.0]);
        let one = sample(&[7.0]);
        assert_eq!((one.mean(), one.deviation(), one.median()), (7.0, 0.0, 7.0));
        assert!(Sample::new([]).is_none());
    }

    #[test]
    fn the_distribution_counts_equals_together() {
        let values = sample(&[1.0, 2.0, 1.0, 4.0]);
        assert_eq!(values.distribution().collect::<Vec<_>>(), [(1.0, 50.0), (2.0, 75.0), (4.0, 100.0)]);
        assert_eq!(
            (values.percent_up_to(0.9), values.percent_up_to(1.0), values.percent_up_to(3.0)),
            (0.0, 50.0, 75.0)
        );
    }

    #[test]
    fn a_mean_agrees_within_three_errors_and_the_print() {
        // Mean 1, deviation 1 (nearly): the error of the difference of two means of 1000 is 0.0447.
        let values = Sample::new((0..1000).map(|index| f64::from(index % 2 * 2))).unwrap();
        let spread = values.mean_spread(1000);
        assert!(spread.agrees(1.1, CUT) && spread.agrees(0.8, CUT));
        assert!(!spread.agrees(1.3, CUT) && !spread.agrees(0.7, CUT));
    }

    #[test]
    fn a_median_agrees_between_two_ranks() {
        // The ranks are 3 * sqrt(1000 * 2) / 2 = 67 places from the middle.
        let values = Sample::new((0..1000).map(f64::from)).unwrap();
        assert_eq!(values.median_spread(1000), Spread { low: 432.0, high: 567.0 });
        // Few values: all of them.
        assert_eq!(sample(&[1.0, 2.0, 3.0]).median_spread(1000), Spread { low: 1.0, high: 3.0 });
    }

    #[test]
    fn a_percentage_agrees_within_three_binomial_errors() {
        // The error of the difference of two shares near one half of 1000 is 2.24 %.
        let agrees = |printed: f64| percent_spread(500, 1000, printed, 1000).agrees(printed, ROUNDED);
        assert!(agrees(50.0) && agrees(56.7) && agrees(43.3));
        assert!(!agrees(56.9) && !agrees(43.1));
        // All or none has no spread, only the print.
        let agrees = |printed: f64| percent_spread(1000, 1000, printed, 1000).agrees(printed, ROUNDED);
        assert!(agrees(100.0) && !agrees(90.0));
    }

    #[test]
    fn a_cut_value_stands_for_more() {
        let spread = Spread { low: 1.09, high: 1.09 };
        assert!(spread.agrees(1.0, CUT) && spread.agrees(1.1, CUT));
        assert!(!spread.agrees(1.0, ROUNDED) && !spread.agrees(1.2, CUT));
    }

    #[test]
    fn maxima_agree_within_three_deviations() {
        let spread = sample(&[1.0, 1.2, 1.4]).value_spread();
        assert!(spread.agrees(1.8, CUT) && !spread.agrees(2.0, CUT));
        assert_eq!(sample(&[1.0]).value_spread(), Spread { low: 1.0, high: 1.0 });
    }
}

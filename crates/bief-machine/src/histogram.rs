//! How often which times occurred, in memory of fixed size: exact count, least and greatest, percentiles within a few
//! percent.

/// The logarithm of [`PARTS`].
const PART_BITS: u32 = 5;
/// Buckets from one power of two to the next: none is wider than a 32nd of what it holds.
const PARTS: u64 = 1 << PART_BITS;
/// Numbers below [`PARTS`] have a bucket each, those of every further bit [`PARTS`] together.
const BUCKETS: usize = (PARTS as usize) * ROWS;
const ROWS: usize = 1 + (u64::BITS - PART_BITS) as usize;

/// Numbers by size: nanoseconds, here.
#[derive(Debug, Clone)]
pub struct Histogram {
    buckets: Box<[u64]>,
    count: u64,
    /// The sums of the numbers in each row of [`PARTS`] buckets.
    sums: [u128; ROWS],
    min: u64,
    max: u64,
}

impl Default for Histogram {
    fn default() -> Self {
        Self::new()
    }
}

impl Histogram {
    /// Nothing counted yet.
    pub fn new() -> Self {
        Self { buckets: vec![0; BUCKETS].into(), count: 0, sums: [0; ROWS], min: u64::MAX, max: 0 }
    }

    /// Counts `value` so many times. Nothing is allocated.
    pub fn record(&mut self, value: u64, times: u64) {
        if times == 0 {
            return;
        }
        self.buckets[bucket(value)] += times;
        self.count += times;
        self.sums[bucket(value) / PARTS as usize] += u128::from(value) * u128::from(times);
        self.min = self.min.min(value);
        self.max = self.max.max(value);
    }

    /// Counts what `other` has counted too.
    pub fn merge(&mut self, other: &Self) {
        for (mine, theirs) in self.buckets.iter_mut().zip(&other.buckets) {
            *mine += theirs;
        }
        self.count += other.count;
        for (mine, theirs) in self.sums.iter_mut().zip(&other.sums) {
            *mine += theirs;
        }
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.buckets.fill(0);
        (self.count, self.sums, self.min, self.max) = (0, [0; ROWS], u64::MAX, 0);
    }

    /// How many numbers were counted.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The least of the numbers, 0 if there are none.
    pub fn min(&self) -> u64 {
        if self.count == 0 { 0 } else { self.min }
    }

    /// The greatest of the numbers, 0 if there are none.
    pub fn max(&self) -> u64 {
        self.max
    }

    /// The mean, exactly; 0 if there are none.
    pub fn mean(&self) -> f64 {
        if self.count == 0 { 0.0 } else { self.sums.iter().sum::<u128>() as f64 / self.count as f64 }
    }

    /// The mean, to which each of the `most` greatest numbers adds no more than the greatest of the others and `beyond`; those are
    /// known within 2 %. 0 if there are no numbers.
    pub fn mean_within(&self, most: u64, beyond: u64) -> f64 {
        if self.count == 0 {
            return 0.0;
        }
        let greatest = most.min(self.count - 1);
        let limit = self.ranked(self.count - greatest).saturating_add(beyond);
        let mut left = greatest;
        let mut sum = self.sums.iter().sum::<u128>() as f64;
        for row in (0..ROWS).rev() {
            let buckets = row * PARTS as usize..(row + 1) * PARTS as usize;
            let count: u64 = self.buckets[buckets.clone()].iter().sum();
            // What a row holds is known exactly.
            let is_whole = count <= left;
            sum -= if is_whole { self.sums[row] as f64 } else { 0.0 };
            for bucket in buckets.rev() {
                let taken = self.buckets[bucket].min(left);
                let number = middle(bucket).clamp(self.min, self.max);
                let without = if is_whole { 0.0 } else { number as f64 };
                sum += (number.min(limit) as f64 - without) * taken as f64;
                left -= taken;
            }
            if left == 0 {
                break;
            }
        }
        (sum / self.count as f64).max(self.min as f64)
    }

    /// The least number that at least `percent` of the numbers do not exceed, within 2 % of it; 0 if there are none.
    pub fn percentile(&self, percent: u64) -> u64 {
        self.per_mille(10 * percent)
    }

    /// As [`percentile`](Self::percentile), in thousandths.
    pub fn per_mille(&self, thousandths: u64) -> u64 {
        self.ranked((u128::from(self.count) * u128::from(thousandths)).div_ceil(1000) as u64)
    }

    /// The number that so many do not exceed, itself included, within 2 % of it; 0 if there are none.
    fn ranked(&self, rank: u64) -> u64 {
        let mut below = 0;
        let reached = |&count: &u64| {
            below += count;
            below >= rank.max(1)
        };
        match self.buckets.iter().position(reached) {
            Some(bucket) => middle(bucket).clamp(self.min, self.max),
            None => 0,
        }
    }
}

/// The bucket that counts `value`.
fn bucket(value: u64) -> usize {
    if value < PARTS {
        return value as usize;
    }
    let shift = value.ilog2() - PART_BITS;
    let part = (value >> shift) - PARTS;
    (u64::from(shift + 1) * PARTS + part) as usize
}

/// The number halfway through a bucket.
fn middle(bucket: usize) -> u64 {
    let (row, part) = (bucket as u64 / PARTS, bucket as u64 % PARTS);
    match row.checked_sub(1) {
        None => part,
        Some(shift) => ((PARTS + part) << shift) + ((1 << shift) - 1) / 2,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn of(values: &[u64]) -> Histogram {
        let mut histogram = Histogram::new();
        values.iter().for_each(|&value| histogram.record(value, 1));
        histogram
    }

    /// Numbers of every size.
    fn values() -> impl Strategy<Value = Vec<u64>> {
        let value = (0..64_u32, any::<u64>()).prop_map(|(shift, value)| value >> shift);
        proptest::collection::vec(value, 1..300)
    }

    #[test]
    fn the_greatest_add_to_the_mean_within_bounds() {
        let numbers: Vec<u64> = (0..1000).map(|number| if number % 100 == 7 { 5_000_000 } else { 10_000 }).collect();
        let histogram = of(&numbers);
        assert_eq!(histogram.mean(), 59_900.0);
        let close = |mean: f64, expected: f64| assert!((mean / expected - 1.0).abs() < 1e-3, "{mean}, not {expected}");
        close(histogram.mean_within(10, 0), 10_000.0);
        close(histogram.mean_within(10, 20_000), 10_200.0);
        close(histogram.mean_within(5, 20_000), 10_000.0 + 4_990_000.0 / 100.0);
        assert_eq!(histogram.mean_within(0, 0), 59_900.0);
        let even = of(&(0..1000).map(|number| 10_000 + number).collect::<Vec<_>>());
        close(even.mean_within(10, 0), 10_499.4);
        close(even.mean_within(10, 1000), 10_499.5);
        assert_eq!(of(&[3, 5]).mean_within(0, 0), 4.0);
        assert_eq!(of(&[3, 5]).mean_within(2, 0), 3.0, "one of them limits");
        assert_eq!(of(&[3, 5]).mean_within(2, 1), 3.5);
        assert_eq!(of(&[]).mean_within(1, 1), 0.0);
    }

    #[test]
    fn nothing_recorded_is_zero() {
        let histogram = of(&[]);
        assert_eq!((histogram.count(), histogram.min(), histogram.max(), histogram.percentile(50)), (0, 0, 0, 0));
    }

    #[test]
    fn small_numbers_are_exact_and_the_greatest_has_a_bucket() {
        let histogram = of(&(0..=31).collect::<Vec<_>>());
        assert_eq!([0, 25, 50, 100].map(|percent| histogram.percentile(percent)), [0, 7, 15, 31]);
        assert_eq!(bucket(u64::MAX), BUCKETS - 1);
        assert_eq!(of(&[u64::MAX]).percentile(99), u64::MAX);
    }

    #[test]
    fn every_bucket_holds_its_middle() {
        assert!((0..BUCKETS).all(|number| bucket(middle(number)) == number));
    }

    #[test]
    fn many_at_once_are_as_many_one_by_one() {
        let mut histogram = of(&[1000; 7]);
        histogram.record(50, 3);
        histogram.record(1, 0);
        assert_eq!((histogram.count(), histogram.min(), histogram.max()), (10, 50, 1000));
        assert_eq!((histogram.percentile(30), histogram.percentile(50)), (50, 999));
    }

    proptest! {
        #[test]
        fn quantiles_are_those_of_the_sorted_numbers(mut values in values(), thousandths in 0..=1000_u64) {
            let histogram = of(&values);
            values.sort_unstable();
            prop_assert_eq!(histogram.count(), values.len() as u64);
            prop_assert_eq!((histogram.min(), histogram.max()), (values[0], values[values.len() - 1]));
            let rank = (values.len() as u64 * thousandths).div_ceil(1000).max(1);
            let exact = values[rank as usize - 1];
            let found = histogram.per_mille(thousandths);
            prop_assert!(found.abs_diff(exact) <= exact / 50, "{} for {}", found, exact);
        }

        #[test]
        fn merged_is_as_recorded_together(one in values(), other in values(), percent in 0..=100_u64) {
            let mut merged = of(&one);
            merged.merge(&of(&other));
            let together = of(&[one, other].concat());
            prop_assert_eq!(&merged.buckets, &together.buckets);
            prop_assert_eq!((merged.count(), merged.min(), merged.max()), (together.count(), together.min(), together.max()));
            prop_assert_eq!(merged.percentile(percent), together.percentile(percent));
            merged.clear();
            prop_assert_eq!((merged.count(), merged.percentile(percent)), (0, 0));
        }
    }
}

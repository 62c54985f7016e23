//! Measurements in a row whose mean changes from one to the next: a receiver that was tuned, a mixer whose constant jumped.

use std::ops::Range;

use num_complex::Complex64;

/// Squared difference of the means of two parts, over its variance, from which they differ: noise does not reach it at any of some
/// hundred places.
const SIGNIFICANT: f64 = 30.0;
/// Measurements from which their own differences tell their variance.
const TELLING: usize = 8;
/// Variance over the median of squared differences of neighbours: that of numbers, above that of complex ones.
const OVER_MEDIAN: f64 = 1.1;

/// Ranges of measurements, in order, in each of which their mean stays the same. The variance of each is `least` or more, which
/// their differences tell; means that differ by no more than `same` are the same.
pub(super) fn steady_parts(values: &[Complex64], least: f64, same: f64) -> Vec<Range<usize>> {
    let (mut parts, all) = (Vec::new(), 0..values.len());
    let mut rest = vec![all];
    while let Some(part) = rest.pop() {
        match change(&values[part.clone()], least, same) {
            Some(place) => rest.extend([part.start + place..part.end, part.start..part.start + place]),
            None => parts.push(part),
        }
    }
    parts
}

/// Where the mean changes most, if it does.
fn change(values: &[Complex64], least: f64, same: f64) -> Option<usize> {
    let total: Complex64 = values.iter().sum();
    let mut before = Complex64::ZERO;
    let differences = (1..values.len()).map(|place| {
        before += values[place - 1];
        let (left, right) = (place as f64, (values.len() - place) as f64);
        let difference = before / left - (total - before) / right;
        (difference.norm_sqr() / (1.0 / left + 1.0 / right), difference.norm(), place)
    });
    let (weighted, difference, place) = differences.max_by(|a, b| a.0.total_cmp(&b.0))?;
    let (left, right) = values.split_at(place);
    let variance = [values, left, right].into_iter().filter_map(own_variance).fold(least, f64::max);
    (difference > same && weighted > SIGNIFICANT * variance).then_some(place)
}

/// The variance that the differences of neighbours show, however often the mean changes.
fn own_variance(values: &[Complex64]) -> Option<f64> {
    let mut squares: Vec<f64> = values.windows(2).map(|pair| (pair[1] - pair[0]).norm_sqr()).collect();
    squares.sort_by(f64::total_cmp);
    (values.len() >= TELLING).then(|| OVER_MEDIAN * squares[(squares.len() - 1) / 2])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn steps(sizes: &[(usize, f64)], noise: f64, seed: u64) -> Vec<Complex64> {
        let mut random = fastrand::Rng::with_seed(seed);
        let mut noise = move || noise * (0..12).map(|_| random.f64() - 0.5).sum::<f64>();
        sizes.iter().flat_map(|(count, mean)| vec![*mean; *count]).map(|mean| (mean + noise()).into()).collect()
    }

    /// Where parts end; they follow each other from the first measurement on.
    fn ends(values: &[Complex64], least: f64, same: f64) -> Vec<usize> {
        let parts = steady_parts(values, least, same);
        let starts = std::iter::once(0).chain(parts.iter().map(|part| part.end));
        assert!(parts.iter().zip(starts).all(|(part, start)| part.start == start));
        parts.into_iter().map(|part| part.end).collect()
    }

    #[test]
    fn steps_are_found_where_they_are() {
        for seed in 0..20 {
            let one = steps(&[(20, 0.0), (30, 8.0)], 1.0, seed);
            assert_eq!(ends(&one, 0.0, 0.0), [20, 50]);
            let two = steps(&[(10, 0.0), (10, -9.0), (12, 0.0)], 1.0, seed);
            assert_eq!(ends(&two, 0.0, 0.0), [10, 20, 32]);
            assert_eq!(ends(&one, 0.0, 10.0), [50]);
        }
    }

    #[test]
    fn noise_has_no_steps() {
        for count in [0, 1, 2, 3, 7, 8, 9, 64, 150] {
            for seed in 0..50 {
                assert_eq!(ends(&steps(&[(count, 3.0)], 1.0, seed), 1.0, 0.0), [count], "{seed}");
            }
        }
    }

    #[test]
    fn what_is_not_a_number_is_not_judged() {
        let mut values = steps(&[(20, 0.0)], 1.0, 1);
        values[7] = Complex64::new(f64::NAN, 0.0);
        assert_eq!(ends(&values, 1.0, 0.0), [20]);
    }
}

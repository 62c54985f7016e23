//! How unlike the cores of a machine are, as one number.

use super::cores::check_capacity;
use crate::error::Error;

/// How [`heterogeneity`] interprets the formula of the paper.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum HeterogeneityMeasure {
    /// As it is printed: √(Σ ((*T* - *T*avg) / *T*max)²), the sum over the *N* cores.
    ///
    /// From 0 to √*N* / 2, where half of the cores are off: it grows with the number of cores, and is below 1 for *N* ≤
    /// 3 only. *N* equal pairs of cores are √*N* times as unlike as one of these pairs.
    Printed,
    /// The standard deviation that the paper's text speaks of: the same with the mean of the squares in place of their
    /// sum, √(Σ ((*T* - *T*avg) / *T*max)² / *N*).
    ///
    /// From 0 to 1/2, where half of the cores are off. The same for one pair of cores and for many.
    #[default]
    Deviation,
}

/// How unlike the capacities of cores are: 0 where all are equal. `capacities` holds the speed of each core, in any
/// unit, 0 for one that is off.
///
/// # What the paper says of it, and what holds
///
/// The paper calls the measure the standard deviation of the cores' normalised performances, prints it without the
/// division by their number, and says: (1) a measure of 1/√2 of two cores means that one is twice as fast as the other;
/// (2) it is never 1 or more, and 1 where only one core works. Of two cores with capacities 1 and 1/2 the measure is
/// 0.354 (printed) or 0.25 (deviation); it is 1/√2, as printed, where the second one is *off*. So (1) holds in neither
/// reading. (2) holds in the deviation as far as it is never 1; as printed it is 1 for capacities 1, 1, 0, 0 and beyond
/// that for more cores. One working core of *N* gives √((*N* - 1) / *N*) and √(*N* - 1) / *N*, never 1.
///
/// # Errors
///
/// [`ErrorKind::Mapping`](crate::ErrorKind::Mapping) where there is no core, all are off, or a capacity is negative or
/// not finite.
///
/// # Source
///
/// Equation 1 of *FTFC*, as named at [`mapping`](crate::mapping).
///
/// # Example
///
/// ```
/// use bief_schedule::mapping::{HeterogeneityMeasure, heterogeneity};
///
/// let big_little = [1024.0, 1024.0, 1024.0, 512.0, 512.0, 512.0];
/// assert_eq!(heterogeneity(&big_little, HeterogeneityMeasure::Deviation)?, 0.25);
/// assert!((heterogeneity(&big_little, HeterogeneityMeasure::Printed)? - 0.6124).abs() < 1e-4);
/// # Ok::<(), bief_schedule::Error>(())
/// ```
pub fn heterogeneity(capacities: &[f64], measure: HeterogeneityMeasure) -> Result<f64, Error> {
    for (core, &capacity) in capacities.iter().enumerate() {
        check_capacity(core, capacity)?;
    }
    let greatest = super::cores::greatest(capacities)?;
    let count = capacities.len() as f64;
    let mean = capacities.iter().map(|capacity| capacity / greatest).sum::<f64>() / count;
    let squares: f64 = capacities.iter().map(|capacity| (capacity / greatest - mean).powi(2)).sum();
    Ok(match measure {
        HeterogeneityMeasure::Printed => squares.sqrt(),
        HeterogeneityMeasure::Deviation => (squares / count).sqrt(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use HeterogeneityMeasure::{Deviation, Printed};

    fn both(capacities: &[f64]) -> [f64; 2] {
        [Printed, Deviation].map(|measure| heterogeneity(capacities, measure).unwrap())
    }

    #[test]
    fn both_readings_of_known_machines() {
        let half = 0.5f64.sqrt();
        let cases: [(&[f64], [f64; 2]); 7] = [
            (&[1.0, 0.5], [half / 2.0, 0.25]),
            (&[1.0, 0.0], [half, 0.5]),
            (&[1.0, 1.0, 0.0, 0.0], [1.0, 0.5]),
            (&[1.0, 1.0, 1.0, 0.5, 0.5, 0.5], [1.5f64.sqrt() / 2.0, 0.25]),
            (&[1.0, 1.0, 1.0, 0.0, 0.0, 0.0], [1.5f64.sqrt(), 0.5]),
            (&[3.0; 5], [0.0, 0.0]),
            (&[7.0], [0.0, 0.0]),
        ];
        for (capacities, expected) in cases {
            for (found, expected) in both(capacities).into_iter().zip(expected) {
                assert!((found - expected).abs() < 1e-12, "{capacities:?}: {found} is not {expected}");
            }
        }
    }

    #[test]
    fn neither_reading_says_all_that_the_paper_says_of_it() {
        // One core twice as fast as the other should be 1/√2: that is one core that is off, as printed.
        assert!(both(&[1.0, 0.5]).iter().all(|&found| found < 0.36));
        // Never 1 or more: of four cores and more it is, as printed.
        assert!(both(&[1.0, 1.0, 0.0, 0.0])[0] >= 1.0);
        // 1 where one core works: never.
        for cores in 2..100 {
            let mut one = vec![0.0; cores];
            one[cores / 2] = 2.0;
            let (count, [printed, deviation]) = (cores as f64, both(&one));
            assert!((printed - ((count - 1.0) / count).sqrt()).abs() < 1e-12 && printed < 1.0);
            assert!((deviation - (count - 1.0).sqrt() / count).abs() < 1e-12 && deviation <= 0.5);
        }
    }

    #[test]
    fn ranges_are_those_that_are_documented() {
        let mut random = fastrand::Rng::with_seed(1);
        for _ in 0..1000 {
            let cores = random.usize(1..=12);
            let mut capacities: Vec<f64> =
                (0..cores).map(|_| if random.bool() { random.f64() } else { f64::from(random.bool()) }).collect();
            capacities.push(1.0);
            let [printed, deviation] = both(&capacities);
            assert!((0.0..=0.5).contains(&deviation));
            assert!(printed <= (capacities.len() as f64).sqrt() / 2.0 + 1e-12);
            assert!(printed < 1.0 || capacities.len() > 3);
        }
    }

    #[test]
    fn capacities_that_are_none_are_refused() {
        for capacities in [&[][..], &[0.0, 0.0], &[1.0, f64::NAN], &[1.0, -0.5], &[f64::INFINITY]] {
            assert!(heterogeneity(capacities, Printed).is_err(), "{capacities:?}");
        }
    }
}

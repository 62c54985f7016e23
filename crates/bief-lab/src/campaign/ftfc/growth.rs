//! How times grow: powers of what they depend on, fitted to what was measured.

use bief_schedule::simulate::{Mean, student};

/// The power with which times grow, with its 95 % interval, from points of what they grow with and the time: a straight
/// line through logarithms by least squares. Groups of points have one power and each a factor of its own. `None` where
/// there are too few points, or all of a group are at one place.
pub(super) fn power(groups: &[Vec<(f64, f64)>]) -> Option<Mean> {
    let centred = groups.iter().filter(|group| group.len() > 1).map(|group| centred(group));
    let centred: Vec<Vec<(f64, f64)>> = centred.collect();
    let points = || centred.iter().flatten();
    let squares: f64 = points().map(|(x, _)| x * x).sum();
    if squares <= 0.0 {
        return None;
    }
    // Each group's factor is estimated, too.
    let freedom = points().count().checked_sub(centred.len() + 1)?;
    let mean = points().map(|(x, y)| x * y).sum::<f64>() / squares;
    let rest: f64 = points().map(|(x, y)| (y - mean * x).powi(2)).sum();
    let margin = match freedom {
        0 => f64::INFINITY,
        _ => student(freedom) * (rest / freedom as f64 / squares).sqrt(),
    };
    Some(Mean { mean, margin })
}

/// The logarithms, less their means.
fn centred(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let count = points.len() as f64;
    let mean = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / count;
    let (x, y) = (mean(|point| point.0.ln()), mean(|point| point.1.ln()));
    points.iter().map(|point| (point.0.ln() - x, point.1.ln() - y)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn group(factor: f64, power: f64, xs: &[f64]) -> Vec<(f64, f64)> {
        xs.iter().map(|&x| (x, factor * x.powf(power))).collect()
    }

    #[test]
    fn powers_are_found_whatever_the_factors() {
        for power_of in [-1.0, 0.0, 1.0, 2.5] {
            let groups = [group(3.0, power_of, &[1.0, 10.0, 40.0]), group(0.2, power_of, &[5.0, 7.0])];
            let found = power(&groups).unwrap();
            assert!((found.mean - power_of).abs() < 1e-9 && found.margin < 1e-6, "{found:?}");
        }
    }

    #[test]
    fn intervals_hold_the_power_in_95_of_100_cases() {
        let mut random = fastrand::Rng::with_seed(1);
        // The sum of twelve uniform numbers is nearly normal.
        let mut noise = || (0..12).map(|_| random.f64()).sum::<f64>() - 6.0;
        let mut held = 0;
        for _ in 0..2000 {
            let groups = [2.0, 9.0].map(|factor| {
                let points = group(factor, 1.5, &[1.0, 2.0, 5.0, 20.0]).into_iter();
                points.map(|(x, y)| (x, y * (0.2 * noise()).exp())).collect()
            });
            let found = power(&groups).unwrap();
            held += u32::from((found.mean - 1.5).abs() < found.margin);
        }
        assert!((1870..1930).contains(&held), "{held}");
    }

    #[test]
    fn too_few_points_are_no_power() {
        assert_eq!(power(&[]), None);
        assert_eq!(power(&[vec![(1.0, 1.0)], vec![(2.0, 4.0)]]), None);
        assert_eq!(power(&[vec![(2.0, 1.0), (2.0, 4.0), (2.0, 4.0)]]), None);
        // A line through two points is not known to any margin.
        let found = power(&[vec![(1.0, 1.0), (2.0, 4.0)]]).unwrap();
        assert!((found.mean - 2.0).abs() < 1e-12 && found.margin.is_infinite());
    }
}

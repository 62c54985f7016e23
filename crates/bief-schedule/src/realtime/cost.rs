//! What a job costs by the number of samples that it handles, and how that is found from measured times.

use serde::Serialize;

use crate::error::{Error, ErrorKind};

/// The marginal cost model (Eisenklam, Hedgecock and Ward 2024; He and Ward, section 4): a job that handles *c* samples
/// takes *e*(*c*) = *I* + *D* *c*. *I* is paid once per job, for waking up, switching, warming caches; so larger
/// batches cost less per sample.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct Cost {
    /// *I*: nanoseconds per job; 0 or more.
    pub init_ns: f64,
    /// *D*: nanoseconds per sample; 0 or more.
    pub per_sample_ns: f64,
}

impl Cost {
    /// The time that a job of `samples` samples takes, in nanoseconds.
    pub fn ns(self, samples: u64) -> f64 {
        self.init_ns + self.per_sample_ns * samples as f64
    }

    /// What is wrong with the cost, and the remedy.
    pub(super) fn check(self) -> Result<(), String> {
        for (name, ns) in [("init_ns", self.init_ns), ("per_sample_ns", self.per_sample_ns)] {
            if !(ns.is_finite() && ns >= 0.0) {
                return Err(format!("`{name}` is {ns}: write a finite number of nanoseconds, 0 or more"));
            }
        }
        Ok(())
    }
}

/// The measured times of jobs of one size.
#[derive(Debug, Clone, PartialEq)]
pub struct CostSamples {
    /// How many samples each of the jobs handled; at least 1.
    pub samples: u64,
    /// How long each took, in nanoseconds; 0 or more, at least one.
    pub ns: Vec<f64>,
}

/// The line that a [`CostFit`] looks for. All have *I* ≥ 0 and *D* ≥ 0.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum FitMethod {
    /// What jobs usually take: *D* is the median of the slopes between the medians of all pairs of sizes (Theil 1950,
    /// Sen 1968), *I* the median of what that leaves. A size that is off, or half of the times, does not move it.
    Typical,
    /// What that share of the jobs does not exceed, above 0 and below 1 (0.99, say): quantile regression over all times
    /// (Koenker and Bassett 1978).
    Quantile(f64),
    /// What no measured job exceeded: of all lines that pass no longest time below, that of the least sum over the
    /// sizes.
    Worst,
}

/// A line *I* + *D* *c* through measured times.
///
/// # Example
///
/// ```
/// use bief_schedule::realtime::{Cost, CostFit, CostSamples, FitMethod};
///
/// let measured = [(1, 11.0), (2, 12.0), (4, 14.0), (8, 18.0), (16, 126.0)];
/// let rows = measured.map(|(samples, ns)| CostSamples { samples, ns: vec![ns] });
/// let fit = CostFit::new(&rows, FitMethod::Typical)?;
/// assert_eq!(fit.cost, Cost { init_ns: 10.0, per_sample_ns: 1.0 });
/// // The line does not hold for jobs of 16 samples.
/// assert_eq!(fit.poor().map(|row| row.samples).collect::<Vec<_>>(), [16]);
/// # Ok::<(), bief_schedule::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CostFit {
    /// The line.
    pub cost: Cost,
    /// How much of what differs between the sizes the line explains (*R*²): 1 for all of it. It is below 0 where the
    /// mean of the sizes explains more.
    pub r_squared: f64,
    /// The sizes, in ascending order.
    pub rows: Vec<FittedSize>,
}

/// A [`CostFit`] at the jobs of one size.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct FittedSize {
    /// How many samples each job handled.
    pub samples: u64,
    /// What the line stands for, in nanoseconds: the median, the quantile or the longest of the measured times.
    pub ns: f64,
    /// The line there, in nanoseconds.
    pub fitted_ns: f64,
}

impl FittedSize {
    /// The relative error of the line: 0.01 if it is 1 % above the measurement.
    pub fn error(&self) -> f64 {
        if self.fitted_ns == self.ns { 0.0 } else { self.fitted_ns / self.ns - 1.0 }
    }
}

/// The error from which on a line does not hold for a size.
const POOR: f64 = 0.2;

impl CostFit {
    /// The line through the times of at least two sizes.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Cost`] where there are fewer than two sizes, a size is 0, given twice or without times, a time is
    /// negative or not finite, or the quantile not between 0 and 1.
    pub fn new(rows: &[CostSamples], method: FitMethod) -> Result<Self, Error> {
        let rows = checked(rows, method)?;
        let statistic = |row: &CostSamples| match method {
            FitMethod::Typical => median(&row.ns),
            FitMethod::Quantile(share) => row.ns[rank(row.ns.len(), share)],
            FitMethod::Worst => row.ns[row.ns.len() - 1],
        };
        let points: Vec<(f64, f64)> = rows.iter().map(|row| (row.samples as f64, statistic(row))).collect();
        let cost = match method {
            FitMethod::Typical => theil_sen(&points),
            FitMethod::Quantile(share) => quantile_line(&rows, share),
            FitMethod::Worst => upper_line(&points),
        };
        let fitted = |(row, &(_, ns)): (&CostSamples, &(f64, f64))| FittedSize {
            samples: row.samples,
            ns,
            fitted_ns: cost.ns(row.samples),
        };
        let rows: Vec<FittedSize> = rows.iter().zip(&points).map(fitted).collect();
        let mean = points.iter().map(|point| point.1).sum::<f64>() / points.len() as f64;
        let left: f64 = rows.iter().map(|row| (row.ns - row.fitted_ns).powi(2)).sum();
        let all: f64 = rows.iter().map(|row| (row.ns - mean).powi(2)).sum();
        let r_squared = if left == 0.0 { 1.0 } else { 1.0 - left / all };
        Ok(Self { cost, r_squared, rows })
    }

    /// The sizes for which the line is more than 20 % from what was measured, as beyond the size of a cache: take a fit
    /// of the sizes that are of use, without the others.
    pub fn poor(&self) -> impl Iterator<Item = &FittedSize> {
        self.rows.iter().filter(|row| row.error().abs() > POOR)
    }
}

/// The rows by size, the times of each in ascending order.
fn checked(rows: &[CostSamples], method: FitMethod) -> Result<Vec<CostSamples>, Error> {
    let wrong = |place: &str, reason: String| Err(Error::new(ErrorKind::Cost, format!("cost fit, {place}"), reason));
    if let FitMethod::Quantile(share) = method
        && !(share > 0.0 && share < 1.0)
    {
        return wrong("quantile", format!("{share}: write a share above 0 and below 1, or ask for the worst"));
    }
    let mut rows = rows.to_vec();
    rows.sort_by_key(|row| row.samples);
    if let Some(row) = rows.first()
        && row.samples == 0
    {
        return wrong("0 samples", "jobs of 0 samples tell nothing: leave them out".to_owned());
    }
    for pair in rows.windows(2) {
        if pair[0].samples == pair[1].samples {
            return wrong(
                &format!("{} samples", pair[0].samples),
                "the size is given twice: join the times".to_owned(),
            );
        }
    }
    for row in &mut rows {
        let place = format!("{} samples", row.samples);
        if row.ns.is_empty() {
            return wrong(&place, "there are no times: measure at least one job, or leave the size out".to_owned());
        }
        if let Some(ns) = row.ns.iter().find(|ns| !(ns.is_finite() && **ns >= 0.0)) {
            return wrong(&place, format!("a time of {ns} ns: give finite times of 0 ns or more"));
        }
        row.ns.sort_by(f64::total_cmp);
    }
    if rows.len() < 2 {
        return wrong("sizes", format!("there are {}: measure jobs of at least two sizes", rows.len()));
    }
    Ok(rows)
}

/// The median of ascending values.
fn median(ascending: &[f64]) -> f64 {
    let middle = ascending.len() / 2;
    if ascending.len() % 2 == 1 { ascending[middle] } else { f64::midpoint(ascending[middle - 1], ascending[middle]) }
}

fn median_of(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    median(&values)
}

/// Which of so many ascending values that share of them does not exceed.
fn rank(count: usize, share: f64) -> usize {
    ((count as f64 * share).ceil() as usize).clamp(1, count) - 1
}

fn theil_sen(points: &[(f64, f64)]) -> Cost {
    let pairs = points.iter().enumerate().flat_map(|(index, a)| points[..index].iter().map(move |b| (a, b)));
    let slope = median_of(pairs.map(|(a, b)| (a.1 - b.1) / (a.0 - b.0)));
    if slope < 0.0 {
        return Cost { init_ns: median_of(points.iter().map(|point| point.1)), per_sample_ns: 0.0 };
    }
    let init_ns = median_of(points.iter().map(|point| point.1 - slope * point.0));
    if init_ns < 0.0 {
        return Cost { init_ns: 0.0, per_sample_ns: median_of(points.iter().map(|point| point.1 / point.0)) };
    }
    Cost { init_ns, per_sample_ns: slope }
}

/// The line of the least check loss: a time above the line counts its distance by `share`, one below it by the rest to
/// 1.
///
/// For a given *D* the best *I* is the quantile of what *D* leaves, or 0 where that is negative. What is left to be
/// found, the least loss by *D*, is convex: its least value lies where a search by thirds ends.
fn quantile_line(rows: &[CostSamples], share: f64) -> Cost {
    let points: Vec<(f64, f64)> =
        rows.iter().flat_map(|row| row.ns.iter().map(|&ns| (row.samples as f64, ns))).collect();
    let mut left = vec![0.0; points.len()];
    let rank = rank(points.len(), share);
    let mut best_init = |slope: f64| {
        for (left, point) in left.iter_mut().zip(&points) {
            *left = point.1 - slope * point.0;
        }
        left.select_nth_unstable_by(rank, f64::total_cmp).1.max(0.0)
    };
    let loss = |cost: Cost| -> f64 {
        let check = |above: f64| if above >= 0.0 { share * above } else { (share - 1.0) * above };
        points.iter().map(|point| check(point.1 - cost.per_sample_ns * point.0 - cost.init_ns)).sum()
    };
    let mut line = |slope: f64| Cost { init_ns: best_init(slope), per_sample_ns: slope };
    // A steeper line than this passes above all points.
    let (mut low, mut high) = (0.0, points.iter().map(|point| point.1 / point.0).fold(0.0, f64::max));
    let mut best = line(low);
    let mut least = loss(best);
    for _ in 0..SEARCH_STEPS {
        let thirds = [low + (high - low) / 3.0, high - (high - low) / 3.0];
        let lines = thirds.map(&mut line);
        let losses = lines.map(loss);
        for (line, loss) in lines.into_iter().zip(losses) {
            if loss < least {
                (best, least) = (line, loss);
            }
        }
        if losses[0] <= losses[1] { high = thirds[1] } else { low = thirds[0] }
    }
    best
}

/// Each step leaves two thirds of the range: these leave 1e-16 of it.
const SEARCH_STEPS: u32 = 90;

/// The line above all points with the least sum over them, which is the least at their mean size: an edge of their
/// upper hull, unless that slopes down or begins below 0.
fn upper_line(points: &[(f64, f64)]) -> Cost {
    let mean = points.iter().map(|point| point.0).sum::<f64>() / points.len() as f64;
    let mut hull: Vec<(f64, f64)> = Vec::new();
    for &point in points {
        while let [.., a, b] = hull[..]
            && (b.1 - a.1) * (point.0 - a.0) <= (point.1 - a.1) * (b.0 - a.0)
        {
            hull.pop();
        }
        hull.push(point);
    }
    let edge =
        hull.windows(2).find(|edge| edge[1].0 >= mean).expect("the hull reaches from the least to the greatest size");
    let slope = (edge[1].1 - edge[0].1) / (edge[1].0 - edge[0].0);
    let init_ns = edge[0].1 - slope * edge[0].0;
    if slope < 0.0 {
        return Cost { init_ns: points.iter().map(|point| point.1).fold(0.0, f64::max), per_sample_ns: 0.0 };
    }
    if init_ns < 0.0 {
        return Cost { init_ns: 0.0, per_sample_ns: points.iter().map(|point| point.1 / point.0).fold(0.0, f64::max) };
    }
    Cost { init_ns, per_sample_ns: slope }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn rows(points: &[(u64, f64)]) -> Vec<CostSamples> {
        points.iter().map(|&(samples, ns)| CostSamples { samples, ns: vec![ns] }).collect()
    }

    #[track_caller]
    fn assert_line(fit: &CostFit, init_ns: f64, per_sample_ns: f64) {
        let close = |a: f64, b: f64| (a - b).abs() < 1e-6 * (1.0 + b.abs());
        let cost = fit.cost;
        assert!(close(cost.init_ns, init_ns) && close(cost.per_sample_ns, per_sample_ns), "{cost:?}");
    }

    const METHODS: [FitMethod; 3] = [FitMethod::Typical, FitMethod::Quantile(0.9), FitMethod::Worst];

    #[test]
    fn all_methods_find_a_line_that_is_one() {
        let rows = rows(&[(1, 11.0), (2, 12.0), (4, 14.0), (8, 18.0), (16, 26.0)]);
        for method in METHODS {
            let fit = CostFit::new(&rows, method).unwrap();
            assert_line(&fit, 10.0, 1.0);
            assert!(fit.r_squared > 1.0 - 1e-9);
            assert_eq!(fit.poor().count(), 0);
        }
    }

    #[test]
    fn a_size_that_is_off_moves_only_the_worst() {
        let rows = rows(&[(1, 11.0), (2, 12.0), (4, 14.0), (8, 18.0), (16, 126.0)]);
        let typical = CostFit::new(&rows, FitMethod::Typical).unwrap();
        assert_line(&typical, 10.0, 1.0);
        assert_eq!(typical.poor().map(|row| row.samples).collect::<Vec<_>>(), [16]);
        assert!(typical.r_squared < 0.2);
        let worst = CostFit::new(&rows, FitMethod::Worst).unwrap();
        assert_line(&worst, 10.0 / 3.0, 23.0 / 3.0);
    }

    #[test]
    fn a_quantile_lies_above_its_share_of_the_times() {
        let row = |samples, ns: [f64; 5]| CostSamples { samples, ns: ns.into() };
        let rows = [
            row(10, [20.0, 21.0, 22.0, 23.0, 30.0]),
            row(20, [30.0, 31.0, 32.0, 33.0, 40.0]),
            row(40, [50.0, 51.0, 52.0, 53.0, 60.0]),
        ];
        let fit = CostFit::new(&rows, FitMethod::Quantile(0.9)).unwrap();
        assert_line(&fit, 20.0, 1.0);
        assert_eq!(fit.rows[2].ns, 60.0);
        let typical = CostFit::new(&rows, FitMethod::Typical).unwrap();
        assert_line(&typical, 12.0, 1.0);
    }

    #[test]
    fn lines_neither_fall_nor_begin_below_zero() {
        let falling = rows(&[(1, 30.0), (2, 20.0), (4, 10.0)]);
        let steep = rows(&[(1, 1.0), (2, 10.0), (4, 40.0)]);
        for method in METHODS {
            let (falling, steep) = (CostFit::new(&falling, method).unwrap(), CostFit::new(&steep, method).unwrap());
            assert!((0.0..1e-9).contains(&falling.cost.per_sample_ns), "{method:?}: {falling:?}");
            assert!((0.0..1e-9).contains(&steep.cost.init_ns), "{method:?}: {steep:?}");
        }
        assert_line(&CostFit::new(&falling, FitMethod::Worst).unwrap(), 30.0, 0.0);
        assert_line(&CostFit::new(&steep, FitMethod::Worst).unwrap(), 0.0, 10.0);
        assert_line(&CostFit::new(&steep, FitMethod::Typical).unwrap(), 0.0, 5.0);
    }

    #[test]
    fn measurements_that_tell_nothing_are_refused() {
        let row = |samples, ns: &[f64]| CostSamples { samples, ns: ns.to_vec() };
        let fit = |rows: &[CostSamples], method| CostFit::new(rows, method).unwrap_err().to_string();
        for (rows, message) in [
            (vec![], "cost fit, sizes: there are 0: measure jobs of at least two sizes"),
            (vec![row(4, &[1.0])], "cost fit, sizes: there are 1: measure jobs of at least two sizes"),
            (
                vec![row(0, &[1.0]), row(1, &[1.0])],
                "cost fit, 0 samples: jobs of 0 samples tell nothing: leave them out",
            ),
            (vec![row(1, &[1.0]), row(1, &[2.0])], "cost fit, 1 samples: the size is given twice: join the times"),
            (
                vec![row(1, &[1.0]), row(2, &[])],
                "cost fit, 2 samples: there are no times: measure at least one job, or leave the size out",
            ),
            (
                vec![row(1, &[1.0, -2.0]), row(2, &[1.0])],
                "cost fit, 1 samples: a time of -2 ns: give finite times of 0 ns or more",
            ),
        ] {
            assert_eq!(fit(&rows, FitMethod::Typical), message);
        }
        assert!(fit(&rows(&[(1, 1.0), (2, 2.0)]), FitMethod::Quantile(1.0)).contains("above 0 and below 1"));
        assert!(fit(&rows(&[(1, f64::NAN), (2, 2.0)]), FitMethod::Worst).contains("NaN"));
    }

    proptest! {
        /// The least sum over the sizes of all lines above all points, found by trying all lines that could be it.
        #[test]
        fn the_worst_line_is_the_lowest_above_all(
            sizes in prop::collection::btree_map(1u64..200, 0u32..1000, 2..9),
        ) {
            let points: Vec<(f64, f64)> = sizes.iter().map(|(&c, &e)| (c as f64, f64::from(e))).collect();
            let rows: Vec<_> = sizes.iter().map(|(&c, &e)| CostSamples { samples: c, ns: vec![f64::from(e)] }).collect();
            let sum = |cost: Cost| points.iter().map(|p| cost.init_ns + cost.per_sample_ns * p.0).sum::<f64>();
            let above = |cost: Cost| points.iter().all(|p| cost.init_ns + cost.per_sample_ns * p.0 >= p.1 - 1e-6);
            let mut lines = vec![];
            for a in &points {
                lines.push(Cost { init_ns: a.1, per_sample_ns: 0.0 });
                lines.push(Cost { init_ns: 0.0, per_sample_ns: a.1 / a.0 });
                for b in points.iter().filter(|b| b.0 > a.0) {
                    let slope = (b.1 - a.1) / (b.0 - a.0);
                    lines.push(Cost { init_ns: a.1 - slope * a.0, per_sample_ns: slope });
                }
            }
            lines.retain(|&line| line.init_ns >= 0.0 && line.per_sample_ns >= 0.0 && above(line));
            let least = lines.into_iter().map(sum).fold(f64::INFINITY, f64::min);
            let fit = CostFit::new(&rows, FitMethod::Worst).unwrap();
            prop_assert!(above(fit.cost) && (sum(fit.cost) - least).abs() <= 1e-6 * (1.0 + least));
        }

        /// No line through two of the points, or at the ends of what is allowed, has a smaller loss.
        #[test]
        fn the_quantile_line_has_the_least_loss(
            times in prop::collection::btree_map(1u64..60, prop::collection::vec(0u32..300, 1..4), 2..6),
            share in 0.05f64..0.95,
        ) {
            let rows: Vec<_> = times.iter().map(|(&samples, ns)| {
                CostSamples { samples, ns: ns.iter().copied().map(f64::from).collect() }
            }).collect();
            let points: Vec<(f64, f64)> =
                rows.iter().flat_map(|row| row.ns.iter().map(|&ns| (row.samples as f64, ns))).collect();
            let loss = |cost: Cost| points.iter().map(|p| {
                let above = p.1 - cost.init_ns - cost.per_sample_ns * p.0;
                if above >= 0.0 { share * above } else { (share - 1.0) * above }
            }).sum::<f64>();
            let found = loss(CostFit::new(&rows, FitMethod::Quantile(share)).unwrap().cost);
            for a in &points {
                for cost in [Cost { init_ns: a.1, per_sample_ns: 0.0 }, Cost { init_ns: 0.0, per_sample_ns: a.1 / a.0 }] {
                    prop_assert!(found <= loss(cost) + 1e-6);
                }
                for b in points.iter().filter(|b| b.0 > a.0) {
                    let slope = (b.1 - a.1) / (b.0 - a.0);
                    let cost = Cost { init_ns: a.1 - slope * a.0, per_sample_ns: slope };
                    if cost.init_ns >= 0.0 && slope >= 0.0 {
                        prop_assert!(found <= loss(cost) + 1e-6);
                    }
                }
            }
        }
    }
}

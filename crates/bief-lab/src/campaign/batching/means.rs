//! What all graphs of a kind have in common.

use super::evaluate::{LIMITS_US, MERGINGS, Merged, Outcome, SIZES};

/// A size of batch.
pub(super) struct Swept {
    /// Of all graphs, mean.
    pub(super) utilisation: f64,
    /// Of the graphs that fit in batches of every size, mean.
    pub(super) latency_us: Option<f64>,
    /// How many graphs fit.
    pub(super) fitting: usize,
}

/// A way of merging; means, `None` where no graph fits.
pub(super) struct MergedMeans {
    pub(super) utilisation: Option<f64>,
    pub(super) latency_us: Option<f64>,
    pub(super) tasks: Option<f64>,
    /// How many graphs are done later than with nothing merged.
    pub(super) slower: usize,
}

/// A limit.
pub(super) struct Within {
    /// How many graphs have a plan within it.
    pub(super) count: usize,
    /// The mean of what these need.
    pub(super) utilisation: Option<f64>,
}

/// The means over all graphs of a kind, in the order of what they are of.
pub(super) struct Means {
    pub(super) swept: [Vec<Swept>; 2],
    pub(super) merged: Vec<MergedMeans>,
    /// How many graphs fit in the batch that is merged.
    pub(super) mergeable: usize,
    pub(super) within: [Vec<Within>; 2],
}

impl Means {
    pub(super) fn of(outcomes: &[Outcome]) -> Self {
        let always = |outcome: &&Outcome| outcome.swept.iter().flatten().all(|batched| batched.latency_us.is_some());
        let swept = [0, 1].map(|batching| {
            let of_size = |size: usize| {
                let points = || outcomes.iter().map(|outcome| outcome.swept[batching][size]);
                let latencies =
                    outcomes.iter().filter(always).filter_map(|outcome| outcome.swept[batching][size].latency_us);
                Swept {
                    utilisation: mean(points().map(|point| point.utilisation)).unwrap_or(0.0),
                    latency_us: mean(latencies),
                    fitting: points().filter(|point| point.latency_us.is_some()).count(),
                }
            };
            (0..SIZES.len()).map(of_size).collect()
        });
        let fitting: Vec<&Vec<Merged>> = outcomes.iter().filter_map(|outcome| outcome.merged.as_ref()).collect();
        let merged = (0..MERGINGS.len()).map(|merging| {
            let of = |value: fn(&Merged) -> f64| mean(fitting.iter().map(|merged| value(&merged[merging])));
            MergedMeans {
                utilisation: of(|merged| merged.utilisation),
                latency_us: of(|merged| merged.latency_us),
                tasks: of(|merged| merged.tasks as f64),
                slower: fitting.iter().filter(|of| of[merging].latency_us > of[0].latency_us * (1.0 + 1e-9)).count(),
            }
        });
        let within = [0, 1].map(|merging| {
            let of_limit = |limit: usize| {
                let needs = || outcomes.iter().filter_map(|outcome| outcome.within[merging][limit]);
                Within { count: needs().count(), utilisation: mean(needs()) }
            };
            (0..LIMITS_US.len()).map(of_limit).collect()
        });
        Self { swept, merged: merged.collect(), mergeable: fitting.len(), within }
    }
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (sum, count) = values.fold((0.0, 0), |(sum, count), value| (sum + value, count + 1));
    (count > 0).then(|| sum / f64::from(count))
}

//! Figures 4 and 5: what the policies bring, by how unlike the cores are.

use bief_schedule::Error;
use bief_schedule::simulate::{Comparison, FairReport, FairShare, PhaseDemand, Workload};
use fastrand::Rng;
use indicatif::ProgressBar;

use super::machine::{CORES, Machine};
use super::policy::{FAIR, contenders};
use super::positions::Positions;
use crate::campaign::chains::in_parallel;

/// What threads demand in their phases.
pub(super) const DEMANDS: [(&str, PhaseDemand); 2] =
    [("uniform", PhaseDemand::Uniform { least: 0.05, most: 1.0 }), ("bimodal", PhaseDemand::Either(0.1, 1.0))];

/// The paper's interval.
pub(super) const INTERVAL_NS: u64 = 1_000_000;

/// Which runs there are.
pub(super) struct Runs {
    pub(super) machines: Vec<Machine>,
    /// Of each policy on each machine with each kind of demands.
    pub(super) count: u32,
    pub(super) span_ns: u64,
    pub(super) seed: u64,
}

/// All policies on one machine.
pub(super) struct Point {
    pub(super) machine: Machine,
    /// In the order of [`contenders`].
    pub(super) outcomes: Vec<Outcome>,
}

/// A policy in the mean over all runs.
pub(super) struct Outcome {
    pub(super) comparison: Comparison,
    /// The most migrations per second of a run.
    pub(super) max_migrations: f64,
    /// By throughput, among all policies.
    pub(super) positions: Positions,
}

impl Runs {
    /// How many runs the bar counts.
    pub(super) fn total(&self) -> u64 {
        (DEMANDS.len() * self.machines.len()) as u64 * u64::from(self.count)
    }

    /// The points of each of [`DEMANDS`].
    pub(super) fn simulate(&self, threads: usize, bar: &ProgressBar) -> Result<[Vec<Point>; 2], Error> {
        let mut random = Rng::with_seed(self.seed);
        let seeds: Vec<u64> = (0..self.count).map(|_| random.u64(..)).collect();
        let contenders = contenders();
        let found = DEMANDS.map(|(name, demand)| {
            bar.set_message(format!("threads, {name} demands"));
            let workload = Workload { threads: CORES, demand, ..Workload::default() };
            let machines = self.machines.iter().map(|machine| {
                let simulated = FairShare::new(machine.cores()?, workload)?.interval_ns(INTERVAL_NS)?;
                let runs = in_parallel(0..u64::from(self.count), threads, |run| {
                    let seed = seeds[run as usize];
                    let reports =
                        contenders.iter().map(|contender| simulated.run(contender.policy, self.span_ns, seed));
                    let reports = reports.collect::<Result<Vec<_>, _>>();
                    bar.inc(1);
                    reports
                });
                Ok(Point { machine: *machine, outcomes: outcomes(&runs?) })
            });
            machines.collect::<Result<Vec<_>, Error>>()
        });
        let [uniform, bimodal] = found;
        Ok([uniform?, bimodal?])
    }
}

/// The points of machines that are no more unlike than that in a reading.
pub(super) fn within(points: &[Point], reading: usize, most: f64) -> Vec<&Point> {
    points.iter().filter(|point| point.machine.heterogeneity[reading] <= most + 1e-9).collect()
}

/// The most migrations per second that there can be: of each thread at the end of each interval.
pub(super) fn migration_bound() -> f64 {
    CORES as f64 * 1e9 / INTERVAL_NS as f64
}

/// What the policies came to; `runs` holds the reports of all policies for each seed.
fn outcomes(runs: &[Vec<FairReport>]) -> Vec<Outcome> {
    let comparisons = (0..runs[0].len()).map(|at| Comparison::of(runs.iter().map(|run| (&run[at], &run[FAIR]))));
    let comparisons: Vec<Comparison> = comparisons.collect();
    let gains: Vec<_> = comparisons.iter().map(|comparison| comparison.throughput_percent).collect();
    let outcome = |(at, (&comparison, positions)): (usize, (&Comparison, Positions))| Outcome {
        comparison,
        max_migrations: runs.iter().map(|run| run[at].migrations_per_second).fold(0.0, f64::max),
        positions,
    };
    comparisons.iter().zip(Positions::of(&gains)).enumerate().map(outcome).collect()
}

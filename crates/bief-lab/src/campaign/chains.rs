//! The random chains of an experiment, and what the strategies make of them.

use std::num::NonZero;
use std::panic::resume_unwind;
use std::thread::{available_parallelism, scope};

use bief_cli::failure::Failure;
use bief_schedule::{Error, Period, Profile, sample_chain};
use clap::Args;
use fastrand::Rng;
use indicatif::ProgressBar;

use super::contender::{Contender, Cores, Ready};

/// The cores of the paper's simulations.
pub(crate) const CORES: [Cores; 3] =
    [Cores { big: 16, little: 4 }, Cores { big: 10, little: 10 }, Cores { big: 4, little: 16 }];

/// The stateless ratios of the paper's simulations: the share of tasks that may be replicated.
pub(crate) const RATIOS: [f64; 3] = [0.2, 0.5, 0.8];

/// The tasks of each chain in Table 1 and in Figures 1 and 2.
pub(crate) const TASKS: usize = 20;

/// Which chains are drawn.
#[derive(Args)]
pub(crate) struct ChainArgs {
    /// Chains per scenario; the paper took 1000
    #[arg(long, value_name = "N", default_value_t = super::published::CHAINS, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(crate) chains: u32,
    /// Seed of the random chains; the same on every machine
    #[arg(long, value_name = "S", default_value_t = 1)]
    pub(crate) seed: u64,
    #[command(flatten)]
    threads: ThreadArgs,
}

impl ChainArgs {
    /// The threads to use.
    pub(crate) fn threads(&self) -> usize {
        self.threads.count()
    }
}

/// How many threads compute.
#[derive(Args)]
pub(super) struct ThreadArgs {
    /// Threads that compute; the result does not depend on it [default: one per core of this machine]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    threads: Option<u32>,
}

impl ThreadArgs {
    /// The threads to use.
    pub(super) fn count(&self) -> usize {
        self.threads.map_or_else(|| available_parallelism().map_or(1, NonZero::get), |threads| threads as usize)
    }
}

/// A family of random chains, each known by its number.
#[derive(Clone, Copy)]
pub(crate) struct Family {
    pub(crate) tasks: usize,
    pub(crate) ratio: f64,
    pub(crate) seed: u64,
}

impl Family {
    /// The chain of that number. Each has a generator of its own, so that it depends on nothing that was drawn before.
    pub(crate) fn chain(&self, number: u64) -> Result<Profile, Error> {
        let parts = [self.tasks as u64, self.ratio.to_bits(), number];
        let seed = parts.iter().fold(self.seed, |seed, part| Rng::with_seed(seed ^ part).u64(..));
        sample_chain(&mut Rng::with_seed(seed), self.tasks, self.ratio)
    }
}

/// What a strategy made of a chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Outcome {
    pub(crate) period: Period,
    pub(crate) cores: Cores,
}

/// What each contender made of each chain, both in order.
pub(crate) struct Outcomes(Vec<Vec<Outcome>>);

impl Outcomes {
    /// Schedules the chains of `numbers` with each contender on `cores`, on several threads.
    pub(crate) fn compute(
        family: Family,
        numbers: std::ops::Range<u64>,
        contenders: &[Contender],
        cores: Cores,
        threads: usize,
        bar: &ProgressBar,
    ) -> Result<Self, Failure> {
        let ready = contenders.iter().map(|contender| contender.on(cores)).collect::<Result<Vec<_>, _>>();
        let ready = ready.map_err(Failure::from_error)?;
        let of_chains = in_parallel(numbers, threads, |number| {
            let chain = family.chain(number)?;
            let outcomes = ready.iter().map(|ready| outcome(ready, &chain)).collect::<Result<Vec<_>, _>>();
            bar.inc(1);
            outcomes
        });
        Ok(Self(of_chains.map_err(Failure::from_error)?))
    }

    /// What the contender at that position made of the chains.
    pub(crate) fn of(&self, contender: usize) -> impl Iterator<Item = Outcome> {
        self.0.iter().map(move |outcomes| outcomes[contender])
    }

    /// The period of the contender at that position, divided by that of the one at the position `best`.
    pub(crate) fn slowdowns(&self, contender: usize, best: usize) -> impl Iterator<Item = f64> {
        self.0.iter().map(move |outcomes| {
            let (period, best) = (outcomes[contender].period, outcomes[best].period);
            // Equal periods are exactly 1 apart, whatever their quotient rounds to.
            if period == best { 1.0 } else { period.ns() / best.ns() }
        })
    }

    /// On how many chains the contender at that position has exactly the period of the one at the position `best`.
    pub(crate) fn equal_periods(&self, contender: usize, best: usize) -> usize {
        self.0.iter().filter(|outcomes| outcomes[contender].period == outcomes[best].period).count()
    }
}

fn outcome(ready: &Ready, chain: &Profile) -> Result<Outcome, Error> {
    let schedule = ready.schedule(chain)?;
    let used = |kind: &str| schedule.cores().get(kind).copied().unwrap_or(0);
    Ok(Outcome { period: schedule.planned_period(), cores: Cores { big: used("big"), little: used("little") } })
}

/// What `each` makes of all numbers, in their order, computed by `threads` threads.
pub(super) fn in_parallel<T: Send, E: Send>(
    numbers: std::ops::Range<u64>,
    threads: usize,
    each: impl Fn(u64) -> Result<T, E> + Sync,
) -> Result<Vec<T>, E> {
    let share = (numbers.end - numbers.start).div_ceil(threads as u64).max(1);
    scope(|scope| {
        let starts = numbers.clone().step_by(share as usize);
        let workers: Vec<_> = starts
            .map(|start| {
                let (each, end) = (&each, numbers.end.min(start + share));
                scope.spawn(move || (start..end).map(each).collect::<Result<Vec<_>, _>>())
            })
            .collect();
        let mut all = Vec::new();
        for worker in workers {
            all.extend(worker.join().unwrap_or_else(|panic| resume_unwind(panic))?);
        }
        Ok(all)
    })
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    const FAMILY: Family = Family { tasks: 12, ratio: 0.5, seed: 7 };

    #[test]
    fn a_chain_depends_on_its_number_and_family_only() {
        let json = |family: Family, number: u64| family.chain(number).unwrap().to_json();
        assert_eq!(json(FAMILY, 3), json(FAMILY, 3));
        let others = [
            json(FAMILY, 3),
            json(FAMILY, 4),
            json(Family { seed: 8, ..FAMILY }, 3),
            json(Family { ratio: 0.8, ..FAMILY }, 3),
            json(Family { tasks: 13, ..FAMILY }, 3),
        ];
        assert_eq!(others.iter().collect::<HashSet<_>>().len(), others.len());
    }

    #[test]
    fn results_do_not_depend_on_the_number_of_threads() {
        let contenders = [Contender::OtacLittle, Contender::OtacBig];
        let cores = Cores { big: 3, little: 4 };
        let compute = |threads: usize| {
            Outcomes::compute(FAMILY, 5..28, &contenders, cores, threads, &ProgressBar::hidden()).unwrap().0
        };
        let alone = compute(1);
        assert_eq!(alone.len(), 23);
        for threads in [2, 3, 22, 23, 100] {
            assert_eq!(compute(threads), alone, "{threads} threads");
        }
    }

    #[test]
    fn an_error_comes_through() {
        let found = in_parallel(0..10, 3, |number| if number == 8 { Err(number) } else { Ok(number) });
        assert_eq!(found, Err(8));
    }

    #[test]
    fn slowdowns_compare_exactly() {
        let outcome = |num, den| Outcome { period: Period::new(num, den).unwrap(), cores: CORES[0] };
        let outcomes = Outcomes(vec![vec![outcome(10, 3), outcome(10, 3)], vec![outcome(5, 1), outcome(4, 1)]]);
        assert_eq!(outcomes.slowdowns(0, 1).collect::<Vec<_>>(), [1.0, 1.25]);
        assert_eq!(outcomes.equal_periods(0, 1), 1);
        assert_eq!(outcomes.of(1).count(), 2);
    }
}

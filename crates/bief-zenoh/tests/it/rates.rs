//! How fast workers are together, beside one of them and beside a plan. Their work takes time, but no processor: so there may be more of
//! them than this machine has cores. Figures, which decide nothing.

use std::time::Instant;

use bief::{Machine, Planner};
use bief_pool::Candidates;
use bief_pool::plan::{PoolPlan, Site};
use bief_zenoh::Without;

use crate::chain::{away_of, file, here, long, registry, until};
use crate::process::{Process, Role, free, reach};

/// A frame takes so long, ...
const TIME_US: u64 = 2_000;
/// ... and ten times as long with a slow worker.
const MORE_US: u64 = 18_000;

/// Workers of some cores, of which the first ones are slow.
struct Pool {
    workers: usize,
    slow: usize,
    cores: usize,
}

impl Pool {
    fn new(workers: usize, slow: usize, cores: usize) -> Self {
        Self { workers, slow, cores }
    }

    /// What one worker that is not slow does is 1.
    fn sum(&self) -> f64 {
        (self.workers - self.slow) as f64 + 0.1 * self.slow as f64
    }

    /// As a plan knows it.
    fn site(&self) -> Site {
        let worker = |number: usize| {
            let speed = if number < self.slow { 0.1 } else { 1.0 };
            format!("[[worker]]\nname = 'w{number}'\ncores = {}\nspeed = {speed}\n", self.cores)
        };
        Site::parse(&(0..self.workers).map(worker).collect::<String>(), "pool.toml").unwrap()
    }

    /// Frames per second with it, and where a plan is made of them, of that plan.
    fn rates(&self, frames: u64, is_planned: bool) -> (f64, f64) {
        let file = file(frames, &format!("time_us = {TIME_US}"));
        let (mut stages, mut planned_rate) = (None, 0.0);
        if is_planned {
            let (registry, _) = registry();
            let candidates = Candidates::of(&file, &registry).unwrap();
            let planned = Planner::new(Machine::here()).plan(&file.application(&registry)).unwrap();
            // With as many cores as it may have, this machine may be faster than those workers.
            let here = planned.machine.platform().parse_part("2").unwrap();
            let plan = PoolPlan::make(&planned.profile, &here, &self.site(), |run| {
                candidates.cut(candidates.of_program(run.clone())?).ok()?;
                PoolPlan::crossing(&planned.profile, run)
            });
            let away = plan.unwrap().pays().expect("it takes longer here").clone();
            planned_rate = planned.profile.frames_per_second(away.period.ns());
            stages = Some([away.before, away.behind]);
        }
        let places: Vec<String> = (0..self.workers).map(|_| free()).collect();
        let names: Vec<String> = (0..self.workers).map(|number| format!("w{number}")).collect();
        let worker = |number: usize| {
            let time_us = if number < self.slow { MORE_US } else { 0 };
            let (name, place, cores) = (&*names[number], places[number].clone(), self.cores);
            Process::worker(&Role { name, place, time_us, cores, ..Role::default() })
        };
        let workers: Vec<_> = (0..self.workers).map(worker).collect();
        let mut rate = 0.0;
        let outcome = away_of((&file, stages), &reach(&places), Without::Wait(1), |seen| {
            // In the middle of the run: workers come one after the other.
            let at = |part: u64| {
                until(seen, frames * part / 4);
                (seen.lock().unwrap().frames, Instant::now())
            };
            let (begin, end) = (at(1), at(3));
            rate = (end.0 - begin.0) as f64 / (end.1 - begin.1).as_secs_f64();
        });
        drop(workers);
        let what = format!("{} workers of {} cores, {} slow", self.workers, self.cores, self.slow);
        outcome.check(&what, &here(frames));
        (rate, planned_rate)
    }
}

#[test]
#[ignore = "long: part of .ci/deep workers"]
fn workers_are_as_fast_as_all_of_them() {
    let frames = long(6_000);
    let (one, _) = Pool::new(1, 0, 1).rates(frames / 4, false);
    for pool in [Pool::new(2, 0, 1), Pool::new(4, 0, 1), Pool::new(4, 1, 1)] {
        let (rate, _) = pool.rates(frames, false);
        println!(
            "{} workers, {} of them ten times slower: {:.2} times one, {:.1} % of the sum",
            pool.workers,
            pool.slow,
            rate / one,
            100.0 * rate / one / pool.sum()
        );
    }
}

#[test]
#[ignore = "long: part of .ci/deep workers"]
fn the_rate_is_that_of_the_plan() {
    let frames = long(6_000);
    for pool in [Pool::new(1, 0, 2), Pool::new(2, 0, 2), Pool::new(4, 0, 1), Pool::new(4, 1, 1)] {
        let (rate, planned) = pool.rates(frames, true);
        println!(
            "{} workers of {} cores, {} of them ten times slower: {rate:.0} frames/s, {:.1} % of the {planned:.0} planned",
            pool.workers,
            pool.cores,
            pool.slow,
            100.0 * rate / planned
        );
    }
}

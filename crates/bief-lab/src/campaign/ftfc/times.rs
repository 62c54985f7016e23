//! Figure 3 and Table 1: how long it takes to map threads to cores.

use std::hint::black_box;
use std::time::{Duration, Instant};

use bief_cli::draw::plot::Rgb;
use bief_schedule::Error;
use bief_schedule::mapping::{Algorithm, Cores, Mapper, Mapping};
use bief_schedule::simulate::Mean;
use fastrand::Rng;
use indicatif::ProgressBar;

use super::growth::power;
use super::naive::min_sum;
use crate::statistics::Sample;

/// Cores, and as many threads; the paper went from 2 to 1000.
pub(super) const COUNTS: [usize; 9] = [2, 5, 10, 20, 50, 100, 200, 500, 1000];
/// Kinds of cores, no more than there are cores.
pub(super) const KINDS: [usize; 4] = [2, 4, 8, 16];
/// Which part of the demands is new at each call.
pub(super) const NEWS: [(&str, f64); 2] = [("1 % new", 0.01), ("all new", 1.0)];

/// Sets of demands; each call takes the next one.
const SETS: usize = 256;
/// Readings of a point, if the budget allows, and the least that the clock is to see of each.
const READINGS: usize = 31;
const READING: Duration = Duration::from_micros(100);

/// From how many cores on times grow as they do for many: before that, what a call takes anyway is a part of it.
pub(super) const MANY: usize = 50;
/// The same for the naive algorithm, whose times grow soon.
const MANY_NAIVE: usize = 5;
/// Cores beyond which the naive algorithm is not tried, whatever the budget.
const MOST_NAIVE: usize = 12;

/// An algorithm whose time is measured.
pub(super) struct Timed {
    pub(super) name: &'static str,
    pub(super) color: Rgb,
    /// `None`: all mappings are tried.
    algorithm: Option<Algorithm>,
}

impl Timed {
    /// How its time grows is measured over these numbers.
    fn counts(&self) -> Vec<usize> {
        match self.algorithm {
            Some(_) => COUNTS.to_vec(),
            None => (2..=MOST_NAIVE).collect(),
        }
    }

    /// The naive algorithm does not look at kinds, nor at earlier mappings.
    pub(super) fn kinds(&self) -> &'static [usize] {
        if self.algorithm.is_some() { &KINDS } else { &KINDS[..1] }
    }

    fn news(&self) -> &'static [(&'static str, f64)] {
        if self.algorithm.is_some() { &NEWS } else { &NEWS[1..] }
    }
}

/// The algorithms: those of Table 1 and `rank`.
pub(super) const TIMED: [Timed; 5] = [
    Timed { name: "BSM", color: (0, 114, 178), algorithm: Some(Algorithm::BINARY_SEARCHED) },
    Timed { name: "rank", color: (0, 158, 115), algorithm: Some(Algorithm::RANK) },
    Timed { name: "WED", color: (204, 121, 167), algorithm: Some(Algorithm::WeightedEuclidean) },
    Timed { name: "MTS", color: (230, 159, 0), algorithm: Some(Algorithm::MaximiseThenSwap) },
    Timed { name: "naive", color: (34, 34, 34), algorithm: None },
];

/// A machine and the demands of as many threads.
pub(super) struct Point {
    pub(super) algorithm: &'static str,
    pub(super) news: &'static str,
    pub(super) kinds: usize,
    pub(super) count: usize,
    /// `None` where it would have gone beyond the budget.
    pub(super) time: Option<Time>,
}

/// The time of a call: median and quartiles over readings.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Time {
    pub(super) median_us: f64,
    pub(super) quartiles_us: [f64; 2],
    pub(super) readings: usize,
}

/// How the time of an algorithm grows.
pub(super) struct Growth {
    pub(super) algorithm: &'static str,
    pub(super) news: &'static str,
    /// With which power of the cores; for the naive algorithm, of N!.
    pub(super) with_cores: Option<Mean>,
    /// With which power of the kinds.
    pub(super) with_kinds: Option<Mean>,
}

/// The points that are measured.
pub(super) fn total() -> u64 {
    let points = |timed: &Timed| {
        let machines =
            timed.kinds().iter().flat_map(|&kinds| timed.counts().into_iter().filter(move |&count| count >= kinds));
        machines.count() * timed.news().len()
    };
    TIMED.iter().map(points).sum::<usize>() as u64
}

/// Measures all points, one after the other on this thread.
pub(super) fn measure(budget: Duration, seed: u64, bar: &ProgressBar) -> Result<Vec<Point>, Error> {
    let mut points = Vec::new();
    for timed in &TIMED {
        bar.set_message(format!("time of {}", timed.name));
        for (&(news, share), &kinds) in
            timed.news().iter().flat_map(|news| timed.kinds().iter().map(move |kinds| (news, kinds)))
        {
            let mut before: Vec<(f64, f64)> = Vec::new();
            for count in timed.counts().into_iter().filter(|&count| count >= kinds) {
                let affordable = expected_us(&before, count as f64) <= budget.as_secs_f64() * 1e6;
                let time = affordable.then(|| time(timed.algorithm, kinds, count, share, seed, budget)).transpose()?;
                before.extend(time.map(|time| (count as f64, time.median_us)));
                points.push(Point { algorithm: timed.name, news, kinds, count, time });
                bar.inc(1);
            }
        }
    }
    Ok(points)
}

/// The time for so many cores, if it grows on with the power that it last grew with; nothing is known of the first two.
fn expected_us(before: &[(f64, f64)], count: f64) -> f64 {
    let [.., (one, one_us), (two, two_us)] = *before else { return 0.0 };
    two_us * (count / two).powf(((two_us / one_us).ln() / (two / one).ln()).max(0.0))
}

/// The time of a call, with as many threads as cores and the mapping carried on from call to call.
fn time(
    algorithm: Option<Algorithm>,
    kinds: usize,
    count: usize,
    share: f64,
    seed: u64,
    budget: Duration,
) -> Result<Time, Error> {
    let cores = Cores::new((0..count).map(|core| (core % kinds + 1) as f64 / kinds as f64))?;
    let sets = demands(count, share, seed);
    let mut turn = sets.iter().cycle();
    let mut next = || turn.next().expect("sets go round");
    Ok(match algorithm {
        Some(algorithm) => {
            let mut mapper = Mapper::new(&cores, algorithm)?;
            let mut mapping = Mapping::new(vec![None; count]);
            readings(budget, || mapper.map(black_box(next()), &mut mapping).expect("demands and mapping fit"))
        }
        None => readings(budget, || {
            black_box(min_sum(cores.capacities(), black_box(next())));
        }),
    })
}

/// Sets of uniform demands, of which that share is new from one to the next.
fn demands(count: usize, share: f64, seed: u64) -> Vec<Vec<f64>> {
    let mut random = Rng::with_seed(seed);
    let mut set: Vec<f64> = (0..count).map(|_| random.f64()).collect();
    let next = |_| {
        for demand in &mut set {
            if random.f64() < share {
                *demand = random.f64();
            }
        }
        set.clone()
    };
    (0..SETS).map(next).collect()
}

/// Readings of the time of a call, as many as the budget allows and at least one. The first call, which finds cold caches and
/// threads on no core, counts only where there is no time for another.
fn readings(budget: Duration, mut call: impl FnMut()) -> Time {
    let begin = Instant::now();
    let mut timed = |calls: u32| {
        let start = Instant::now();
        (0..calls).for_each(|_| call());
        start.elapsed().as_secs_f64() * 1e6 / f64::from(calls)
    };
    let first = timed(1);
    let mut calls = 1;
    let mut found = Vec::new();
    while found.len() < READINGS && begin.elapsed() + Duration::from_secs_f64(first / 1e6) <= budget {
        let us = timed(calls);
        if us * f64::from(calls) < READING.as_secs_f64() * 1e6 / 2.0 {
            // Too short for the clock, or for the caches: what was found so far does not count.
            calls *= 2;
            found.clear();
        } else {
            found.push(us);
        }
    }
    let readings = found.len().max(1);
    let sample = Sample::new(found).unwrap_or_else(|| Sample::new([first]).expect("it holds a value"));
    Time { median_us: sample.median(), quartiles_us: [0.25, 0.75].map(|part| sample.quantile(part)), readings }
}

/// The median of a point, if it was measured.
pub(super) fn median_us(points: &[Point], algorithm: &str, news: &str, kinds: usize, count: usize) -> Option<f64> {
    let is =
        |point: &&Point| (point.algorithm, point.news, point.kinds, point.count) == (algorithm, news, kinds, count);
    points.iter().find(is)?.time.map(|time| time.median_us)
}

/// How the times of all algorithms grow.
pub(super) fn growths(points: &[Point]) -> Vec<Growth> {
    let mut growths = Vec::new();
    for timed in &TIMED {
        for &(news, _) in timed.news() {
            let of = |kinds: usize, count: usize| median_us(points, timed.name, news, kinds, count);
            let many = if timed.algorithm.is_some() { MANY } else { MANY_NAIVE };
            let counts: Vec<usize> = timed.counts().into_iter().filter(|&count| count >= many).collect();
            // What the naive algorithm is said to grow with is N!.
            let size = |count: usize| match timed.algorithm {
                Some(_) => count as f64,
                None => (1..=count).map(|factor| factor as f64).product(),
            };
            let by_kinds = timed.kinds().iter().map(|&kinds| {
                counts.iter().filter_map(|&count| Some((size(count), of(kinds, count)?))).collect::<Vec<_>>()
            });
            let by_counts = counts.iter().map(|&count| {
                timed.kinds().iter().filter_map(|&kinds| Some((kinds as f64, of(kinds, count)?))).collect::<Vec<_>>()
            });
            growths.push(Growth {
                algorithm: timed.name,
                news,
                with_cores: power(&by_kinds.collect::<Vec<_>>()),
                with_kinds: power(&by_counts.collect::<Vec<_>>()),
            });
        }
    }
    growths
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Times by a formula.
    fn points(us: impl Fn(&str, f64, f64) -> f64) -> Vec<Point> {
        let mut points = Vec::new();
        for timed in &TIMED {
            for (&(news, _), &kinds) in
                timed.news().iter().flat_map(|news| timed.kinds().iter().map(move |kinds| (news, kinds)))
            {
                for count in timed.counts().into_iter().filter(|&count| count >= kinds) {
                    let median_us = us(timed.name, count as f64, kinds as f64);
                    let time = Time { median_us, quartiles_us: [median_us; 2], readings: 1 };
                    points.push(Point { algorithm: timed.name, news, kinds, count, time: Some(time) });
                }
            }
        }
        points
    }

    #[test]
    fn growth_is_found_for_each_algorithm() {
        let factorial = |count: f64| (1..=count as u32).map(f64::from).product::<f64>();
        let all = points(|name, count, kinds| match name {
            "MTS" => count * count / kinds,
            "naive" => 3.0 * factorial(count),
            _ => 0.01 * count * kinds,
        });
        assert_eq!(all.len() as u64, total());
        for growth in growths(&all) {
            let (cores, kinds) = (growth.with_cores.unwrap().mean, growth.with_kinds.map(|power| power.mean));
            let (expected, of_kinds) = match growth.algorithm {
                "MTS" => (2.0, Some(-1.0)),
                "naive" => (1.0, None),
                _ => (1.0, Some(1.0)),
            };
            assert!((cores - expected).abs() < 1e-9, "{}: {cores}", growth.algorithm);
            assert_eq!(kinds.map(f64::round), of_kinds, "{}", growth.algorithm);
        }
    }

    #[test]
    fn times_that_will_be_too_long_are_seen_before() {
        assert_eq!(expected_us(&[], 2.0), 0.0);
        assert_eq!(expected_us(&[(1.0, 5.0)], 2.0), 0.0);
        assert!((expected_us(&[(1.0, 5.0), (10.0, 500.0)], 20.0) - 2000.0).abs() < 1e-6);
        // Noise is no reason to expect less.
        assert_eq!(expected_us(&[(1.0, 5.0), (10.0, 4.0)], 20.0), 4.0);
    }

    #[test]
    fn the_share_of_new_demands_is_as_told() {
        for (share, least, most) in [(0.01, 0.005, 0.02), (1.0, 1.0, 1.0)] {
            let sets = demands(100, share, 1);
            let new = sets.windows(2).flat_map(|pair| pair[0].iter().zip(&pair[1])).filter(|(a, b)| a != b).count();
            let found = new as f64 / (100 * (SETS - 1)) as f64;
            assert!((least..=most).contains(&found), "{found}");
        }
    }

    #[test]
    fn without_a_budget_each_point_is_called_once() {
        let mut calls = 0;
        let time = readings(Duration::ZERO, || calls += 1);
        assert_eq!((calls, time.readings), (1, 1));
        let time = readings(Duration::from_secs(60), || std::thread::sleep(READING));
        assert_eq!(time.readings, READINGS);
        assert!(time.quartiles_us[0] <= time.median_us && time.median_us <= time.quartiles_us[1]);
    }
}

//! Algorithms beside exhaustive search, and how far the greedy one is from the optimum.

use bief_schedule::mapping::Algorithm;
use fastrand::Rng;

use super::mapped;

/// The best sum over all ways to give each thread a core of its own.
fn search(capacities: &[f64], demands: &[f64], better: fn(f64, f64) -> f64, value: fn(f64, f64) -> f64) -> f64 {
    let Some((&demand, rest)) = demands.split_first() else { return 0.0 };
    let sums = (0..capacities.len()).map(|core| {
        let mut left = capacities.to_vec();
        value(demand, left.swap_remove(core)) + search(&left, rest, better, value)
    });
    sums.reduce(better).unwrap()
}

fn distance(demand: f64, capacity: f64) -> f64 {
    (demand - capacity).abs()
}

fn sum(demands: &[f64], mapped: &[f64], value: fn(f64, f64) -> f64) -> f64 {
    demands.iter().zip(mapped).map(|(&demand, &capacity)| value(demand, capacity)).sum()
}

/// Cores of up to `kinds` kinds, one of capacity 1, and the demands of up to as many threads.
fn instance(random: &mut Rng, cores: usize, kinds: usize, threads: usize) -> (Vec<f64>, Vec<f64>) {
    let values: Vec<f64> = (0..kinds).map(|_| 0.05 + 0.95 * random.f64()).collect();
    let mut capacities: Vec<f64> = (0..cores).map(|_| values[random.usize(..kinds)]).collect();
    capacities[0] = 1.0;
    let demands = (0..threads).map(|_| random.f64()).collect();
    (capacities, demands)
}

#[test]
fn the_optimal_ones_are_as_good_as_exhaustive_search() {
    let mut random = Rng::with_seed(1);
    for _ in 0..300 {
        let cores = random.usize(1..=6);
        let (kinds, threads) = (random.usize(1..=4), random.usize(1..=cores));
        let (capacities, demands) = instance(&mut random, cores, kinds, threads);
        let most = search(&capacities, &demands, f64::max, f64::min);
        for algorithm in [Algorithm::GREATEST_THROUGHPUT, Algorithm::MaximiseThenSwap] {
            let found = sum(&demands, &mapped(&capacities, algorithm, &demands), f64::min);
            assert!((found - most).abs() < 1e-7, "{algorithm:?}: {found} is not {most}: {capacities:?}, {demands:?}");
        }
        let least = search(&capacities, &demands, f64::min, distance);
        let nearest = sum(&demands, &mapped(&capacities, Algorithm::NearestSum, &demands), distance);
        assert!((nearest - least).abs() < 1e-9, "{nearest} is not {least}: {capacities:?}, {demands:?}");
        // Without free cores the order is the least sum of distances too.
        if threads == cores {
            let ranked = sum(&demands, &mapped(&capacities, Algorithm::GREATEST_THROUGHPUT, &demands), distance);
            assert!((ranked - least).abs() < 1e-9, "{ranked} is not {least}: {capacities:?}, {demands:?}");
        }
    }
}

/// By how much the sum of distances is above the least, per thread: the mean and the greatest over random instances.
fn gap(algorithm: Algorithm, cores: usize, kinds: usize, threads: usize) -> (f64, f64) {
    let mut random = Rng::with_seed(7);
    let gaps: Vec<f64> = (0..300)
        .map(|_| {
            let (capacities, demands) = instance(&mut random, cores, kinds, threads);
            let cost = |algorithm| sum(&demands, &mapped(&capacities, algorithm, &demands), distance);
            (cost(algorithm) - cost(Algorithm::NearestSum)) / threads as f64
        })
        .collect();
    assert!(gaps.iter().all(|&gap| gap > -1e-9), "nothing is below the least");
    (gaps.iter().sum::<f64>() / gaps.len() as f64, gaps.iter().copied().fold(0.0, f64::max))
}

#[test]
fn binary_searched_mapping_is_near_the_least_sum_of_distances() {
    for (cores, kinds) in [(6, 2), (8, 3), (16, 4), (64, 4), (64, 16)] {
        for threads in [cores / 2, cores] {
            let [bsm, wed] = [Algorithm::BINARY_SEARCHED, Algorithm::WeightedEuclidean]
                .map(|which| gap(which, cores, kinds, threads));
            println!(
                "{threads:3} threads on {cores:3} cores of {kinds:2} kinds, above the least, per thread: \
                 BSM mean {:.4}, most {:.4}; WED mean {:.4}, most {:.4}",
                bsm.0, bsm.1, wed.0, wed.1
            );
            assert!(bsm.0 < 0.06 && bsm.1 < 0.25, "{bsm:?}");
            assert!(bsm.0 <= wed.0 + 1e-9, "{bsm:?}, {wed:?}");
        }
    }
}

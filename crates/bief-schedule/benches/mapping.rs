//! Time to map threads to cores: one thread per core, the mapping carried on. From call to call one demand in a hundred
//! is new, as in phases of a hundred intervals, or all are.

use std::time::Duration;

use bief_schedule::mapping::{Algorithm, Cores, Mapper, Mapping};
use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use fastrand::Rng;

/// Sets of demands per figure: each call takes the next one.
const SETS: usize = 256;

const ALGORITHMS: [(&str, Algorithm); 5] = [
    ("BSM", Algorithm::BINARY_SEARCHED),
    ("rank", Algorithm::RANK),
    ("nearest sum", Algorithm::NearestSum),
    ("WED", Algorithm::WeightedEuclidean),
    ("MTS", Algorithm::MaximiseThenSwap),
];

const NEWS: [(&str, f64); 2] = [("1 % new", 0.01), ("all new", 1.0)];

fn mapping(criterion: &mut Criterion) {
    for ((name, algorithm), (news, share)) in ALGORITHMS.into_iter().flat_map(|which| NEWS.map(|news| (which, news))) {
        let mut group = criterion.benchmark_group(format!("mapping, {name}, {news}"));
        group.warm_up_time(Duration::from_millis(300)).measurement_time(Duration::from_secs(1)).sample_size(20);
        for kinds in [2, 4, 8, 16] {
            for count in [10, 100, 1000].into_iter().filter(|&count| count >= kinds) {
                let mut random = Rng::with_seed(1);
                let capacities = (0..count).map(|core| (core % kinds + 1) as f64 / kinds as f64);
                let cores = Cores::new(capacities).unwrap();
                let mut demands = vec![0.0; count];
                let mut next = |share: f64| {
                    for demand in demands.iter_mut() {
                        if random.f64() < share {
                            *demand = random.f64();
                        }
                    }
                    demands.clone()
                };
                next(1.0);
                let sets: Vec<Vec<f64>> = (0..SETS).map(|_| next(share)).collect();
                let mut mapper = Mapper::new(&cores, algorithm).unwrap();
                let mut mapping = Mapping::new(vec![None; count]);
                let mut turn = sets.iter().cycle();
                group.bench_function(BenchmarkId::new(format!("{kinds} kinds"), count), |b| {
                    b.iter(|| mapper.map(turn.next().unwrap(), &mut mapping).unwrap());
                });
            }
        }
    }
}

criterion_group!(benches, mapping);
criterion_main!(benches);

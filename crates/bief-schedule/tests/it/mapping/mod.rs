//! Threads mapped to cores: demands, algorithms by hand and beside exhaustive search, and all of it in simulation.

mod algorithms;
mod churn;
mod demands;
mod optima;
mod simulated;

use bief_schedule::mapping::{Algorithm, Cores, Mapper, Mapping};

const ALGORITHMS: [Algorithm; 7] = [
    Algorithm::BINARY_SEARCHED,
    Algorithm::BinarySearched { hysteresis: 0.05 },
    Algorithm::WeightedEuclidean,
    Algorithm::MaximiseThenSwap,
    Algorithm::RANK,
    Algorithm::GREATEST_THROUGHPUT,
    Algorithm::NearestSum,
];

fn cores(capacities: &[f64]) -> Cores {
    Cores::new(capacities.iter().copied()).unwrap()
}

/// The capacities of the cores to which threads are mapped that were nowhere before.
fn mapped(capacities: &[f64], algorithm: Algorithm, demands: &[f64]) -> Vec<f64> {
    let cores = cores(capacities);
    let mut mapping = Mapping::new(vec![None; demands.len()]);
    Mapper::new(&cores, algorithm).unwrap().map(demands, &mut mapping).unwrap();
    mapping.cores().iter().map(|core| cores.capacities()[core.unwrap()]).collect()
}

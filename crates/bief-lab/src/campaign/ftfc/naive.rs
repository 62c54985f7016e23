//! All ways to map threads to cores, tried one after the other.

/// The least sum of the distances between the demand of a thread and the capacity of its core, over all ways to give each
/// thread a core of its own; there are as many cores as threads or more.
pub(super) fn min_sum(capacities: &[f64], demands: &[f64]) -> f64 {
    let mut free: Vec<f64> = capacities.to_vec();
    try_all(&mut free, demands, 0.0)
}

/// The least sum with the first threads mapped, which brought `sum`, on the cores that are free.
fn try_all(free: &mut [f64], demands: &[f64], sum: f64) -> f64 {
    let Some((&demand, others)) = demands.split_first() else { return sum };
    let mut least = f64::INFINITY;
    for core in 0..free.len() {
        free.swap(0, core);
        let sum = sum + (demand - free[0]).abs();
        least = least.min(try_all(&mut free[1..], others, sum));
        free.swap(0, core);
    }
    least
}

#[cfg(test)]
mod tests {
    use bief_schedule::mapping::{Algorithm, Cores, Mapper, Mapping};

    use super::*;

    #[test]
    fn it_finds_the_smallest_sum() {
        let mut random = fastrand::Rng::with_seed(1);
        for _ in 0..100 {
            let mut capacities: Vec<f64> = (0..random.usize(..6)).map(|_| 0.05 + 0.95 * random.f64()).collect();
            capacities.push(1.0);
            let demands: Vec<f64> = (0..random.usize(1..=capacities.len())).map(|_| random.f64()).collect();
            let mut mapping = Mapping::new(vec![None; demands.len()]);
            let mut mapper = Mapper::new(&Cores::new(capacities.clone()).unwrap(), Algorithm::NearestSum).unwrap();
            mapper.map(&demands, &mut mapping).unwrap();
            let cores = demands.iter().zip(mapping.cores());
            let exact: f64 = cores.map(|(demand, core)| (demand - capacities[core.unwrap()]).abs()).sum();
            assert!((min_sum(&capacities, &demands) - exact).abs() < 1e-9);
        }
    }
}

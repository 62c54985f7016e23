//! Time to compute a schedule: exact on the sizes that matter.

use std::hint::black_box;

use bief_schedule::strategy::Exact;
use bief_schedule::{Platform, Profile, TaskProfile, sample_chain};
use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use fastrand::Rng;

/// Chains per figure: each iteration takes the next one.
const CHAINS: u64 = 15;

/// A chain of the paper's generator with more kinds, each slower than the one before by the same law.
fn chain(kinds: usize, tasks: usize, stateless_ratio: f64, seed: u64) -> Profile {
    let mut random = Rng::with_seed(seed);
    let two = sample_chain(&mut random, tasks, stateless_ratio).unwrap();
    let tasks: Vec<_> = two
        .tasks()
        .iter()
        .map(|task| {
            let mut task: TaskProfile = task.clone();
            while task.ns.len() < kinds {
                let slowest = task.ns[task.ns.len() - 1];
                task.ns.push((slowest as f64 * (1.0 + 4.0 * random.f64())).ceil() as u64);
            }
            task
        })
        .collect();
    Profile::new(["big", "little", "tiny", "least"].into_iter().take(kinds), tasks).unwrap()
}

fn exact(c: &mut Criterion) {
    let mut group = c.benchmark_group("exact");
    let mut case = |name: String, profiles: Vec<Profile>, cores: &[u32]| {
        let spec: Vec<_> =
            profiles[0].kinds().iter().zip(cores).map(|(kind, cores)| format!("{kind}={cores}")).collect();
        let platform = Platform::parse_cores(&spec.join(","), &profiles[0]).unwrap();
        let mut turn = profiles.iter().cycle();
        group.bench_function(BenchmarkId::new("optimum", &name), |b| {
            b.iter(|| {
                let optimum = Exact.optimum(turn.next().unwrap(), black_box(&platform)).unwrap();
                optimum.stages(0)
            });
        });
        group.bench_function(BenchmarkId::new("fewest_stages", &name), |b| {
            let optimum = Exact.optimum(&profiles[0], &platform).unwrap();
            b.iter(|| optimum.fewest_stages().unwrap());
        });
    };
    for (tasks, cores, stateless_ratio) in [
        (20, [20, 20], 0.5),
        (60, [20, 20], 0.5),
        (160, [20, 20], 0.5),
        (160, [100, 100], 0.2),
        (160, [100, 100], 0.5),
        (160, [100, 100], 0.8),
        (1000, [1000, 1000], 0.8),
    ] {
        let profiles = (0..CHAINS).map(|seed| chain(2, tasks, stateless_ratio, seed)).collect();
        case(format!("n={tasks} {cores:?} SR={stateless_ratio}"), profiles, &cores);
    }
    let profiles = (0..CHAINS).map(|seed| chain(3, 60, 0.5, seed)).collect();
    case("n=60 [6, 8, 2] SR=0.5".to_owned(), profiles, &[6, 8, 2]);
    let profiles = (0..CHAINS).map(|seed| chain(4, 60, 0.5, seed)).collect();
    case("n=60 [4, 4, 4, 4] SR=0.5".to_owned(), profiles, &[4, 4, 4, 4]);
}

criterion_group!(benches, exact);
criterion_main!(benches);

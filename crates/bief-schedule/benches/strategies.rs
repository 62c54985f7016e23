//! Time to compute a schedule: every strategy on the same chains, exact also where the others end.
//!
//! `exact` is measured as period, front and the stages of its first point; `exact, all stages` is what the schedules with
//! the fewest stages of all other points of the front cost on top. Both with stages that kinds of core share, and (`one-kind`)
//! without.

use std::hint::black_box;
use std::time::Duration;

use bief_schedule::strategy::Exact;
use bief_schedule::{Platform, Profile, Strategy, TaskProfile, sample_chain, strategies};
use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, BenchmarkId, Criterion, criterion_group, criterion_main};
use fastrand::Rng;

/// Chains per figure: each call takes the next one.
const CHAINS: u64 = 15;

const KINDS: [&str; 4] = ["big", "little", "small", "tiny"];

/// Chains of the paper's generator; kinds after the second are slower than the one before by the same law.
fn chains(kinds: usize, tasks: usize, stateless_ratio: f64) -> Vec<Profile> {
    let chain = |seed| {
        let mut random = Rng::with_seed(seed);
        let two = sample_chain(&mut random, tasks, stateless_ratio).unwrap();
        let with_kinds = |task: &TaskProfile| {
            let mut task = task.clone();
            while task.ns.len() < kinds {
                let slowest = task.ns[task.ns.len() - 1].unwrap() as f64;
                task.ns.push(Some((slowest * (1.0 + 4.0 * random.f64())).ceil() as u64));
            }
            task
        };
        let tasks: Vec<_> = two.tasks().iter().map(with_kinds).collect();
        Profile::new(KINDS[..kinds].iter().copied(), tasks).unwrap()
    };
    (0..CHAINS).map(chain).collect()
}

fn platform(profile: &Profile, cores: &[u32]) -> Platform {
    let each = profile.kinds().iter().zip(cores).map(|(kind, cores)| format!("{kind}={cores}"));
    Platform::parse_cores(&each.collect::<Vec<_>>().join(","), profile).unwrap()
}

fn exact(group: &mut BenchmarkGroup<WallTime>, case: &str, profiles: &[Profile], cores: &[u32]) {
    let platform = platform(&profiles[0], cores);
    for exact in [Exact::ONE_KIND, Exact] {
        let name = exact.name();
        let optima: Result<Vec<_>, _> = profiles.iter().map(|profile| exact.optimum(profile, &platform)).collect();
        let optima = match optima {
            Ok(optima) => optima,
            Err(error) => {
                println!("{case} is left out: {error}");
                continue;
            }
        };
        let mut turn = profiles.iter().cycle();
        group.bench_function(BenchmarkId::new(name, case), |b| {
            b.iter(|| exact.optimum(turn.next().unwrap(), black_box(&platform)).unwrap().stages(0));
        });
        let mut turn = optima.iter().cycle();
        group.bench_function(BenchmarkId::new(format!("{name}, all stages"), case), |b| {
            b.iter(|| turn.next().unwrap().fewest_stages().unwrap());
        });
    }
}

fn others(group: &mut BenchmarkGroup<WallTime>, case: &str, profiles: &[Profile], cores: &[u32]) {
    let both = platform(&profiles[0], cores);
    let big = platform(&profiles[0], &cores[..1]);
    for strategy in strategies().iter().filter(|strategy| !strategy.name().starts_with(Exact.name())) {
        let platform = if strategy.capabilities().max_kinds == 1 { &big } else { &both };
        let mut turn = profiles.iter().cycle();
        group.bench_function(BenchmarkId::new(strategy.name(), case), |b| {
            b.iter(|| strategy.schedule(turn.next().unwrap(), black_box(platform)).unwrap());
        });
    }
}

/// The DVB-S2 receiver on the four machines of the paper, all cores and half of them.
fn receiver(c: &mut Criterion) {
    let mut group = c.benchmark_group("receiver");
    group.warm_up_time(Duration::from_millis(300)).measurement_time(Duration::from_secs(1));
    let machines = [("orange_pi_5_plus", [4, 4]), ("mac_studio", [16, 4]), ("ai370", [4, 8]), ("x7_ti", [6, 8])];
    for (name, all) in machines {
        let path = format!("{}/../../data/profiles/{name}.json", env!("CARGO_MANIFEST_DIR"));
        let Ok(profile) = std::fs::read_to_string(&path) else {
            eprintln!("{name} is left out: {path} is in the repository, not in this package");
            continue;
        };
        let profiles = [Profile::from_json(&profile).unwrap()];
        for cores in [all, all.map(|cores| cores / 2)] {
            let case = format!("{name} {cores:?}");
            exact(&mut group, &case, &profiles, &cores);
            others(&mut group, &case, &profiles, &cores);
        }
    }
}

/// Random chains on two kinds of cores. HeRAD takes seconds for each of the largest.
fn random(c: &mut Criterion) {
    let mut group = c.benchmark_group("random");
    group.warm_up_time(Duration::from_millis(300)).measurement_time(Duration::from_secs(1)).sample_size(15);
    for (tasks, cores, stateless_ratio) in
        [(20, 20, 0.5), (60, 20, 0.5), (160, 20, 0.5), (160, 100, 0.2), (160, 100, 0.5), (160, 100, 0.8)]
    {
        let profiles = chains(2, tasks, stateless_ratio);
        let case = format!("n={tasks} ({cores}, {cores}) SR={stateless_ratio}");
        exact(&mut group, &case, &profiles, &[cores, cores]);
        others(&mut group, &case, &profiles, &[cores, cores]);
    }
}

/// Where only exact goes: a thousand tasks, three and four kinds.
fn large(c: &mut Criterion) {
    let mut group = c.benchmark_group("large");
    group.warm_up_time(Duration::from_millis(300)).measurement_time(Duration::from_secs(1));
    for (tasks, cores, stateless_ratio) in [
        (1000, &[1000, 1000][..], 0.8),
        (60, &[6, 8, 2], 0.2),
        (60, &[6, 8, 2], 0.5),
        (60, &[6, 8, 2], 0.8),
        (160, &[20, 20, 20], 0.5),
        (60, &[4, 4, 4, 4], 0.5),
    ] {
        let profiles = chains(cores.len(), tasks, stateless_ratio);
        exact(&mut group, &format!("n={tasks} {cores:?} SR={stateless_ratio}"), &profiles, cores);
    }
}

/// Chains that it costs up to a fifth of a task's time to cut before and behind it.
fn cuts(c: &mut Criterion) {
    let mut group = c.benchmark_group("cuts");
    group.warm_up_time(Duration::from_millis(300)).measurement_time(Duration::from_secs(1));
    for (tasks, cores, stateless_ratio) in
        [(23, [6, 8], 0.5), (160, [100, 100], 0.2), (160, [100, 100], 0.5), (160, [100, 100], 0.8)]
    {
        let mut random = Rng::with_seed(1);
        let profiles: Vec<Profile> = chains(2, tasks, stateless_ratio)
            .iter()
            .map(|profile| {
                let with_cuts = |task: &TaskProfile| {
                    let mut cut = || task.ns.iter().map(|ns| random.u64(0..=ns.unwrap() / 5)).collect::<Vec<_>>();
                    task.clone().with_cut_ns(cut(), cut())
                };
                let tasks: Vec<_> = profile.tasks().iter().map(with_cuts).collect();
                Profile::new(KINDS[..2].iter().copied(), tasks).unwrap()
            })
            .collect();
        exact(&mut group, &format!("n={tasks} {cores:?} SR={stateless_ratio}"), &profiles, &cores);
    }
}

criterion_group!(benches, receiver, random, large, cuts);
criterion_main!(benches);

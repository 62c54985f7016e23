//! Exact beside published fronts of the DVB-S2 receiver, and beside HeRAD on thousands of random chains.

use crate::common::{data, dvbs2, number};
use bief_schedule::strategy::{Exact, Herad};
use bief_schedule::{Period, Platform, Profile, Schedule, Strategy, TaskProfile};
use fastrand::Rng;
use serde_json::Value;

fn platform(profile: &Profile, big: usize, little: usize) -> Platform {
    Platform::parse_cores(&format!("big={big},little={little}"), profile).unwrap()
}

#[test]
fn the_receiver_has_the_published_fronts() {
    let (Some(profiles), Some(fronts)) = (data("dvbs2_profiles.json"), data("dvbs2_fronts.json")) else { return };
    let fronts = fronts.as_array().unwrap();
    assert_eq!(fronts.len(), 8);
    for published in fronts {
        let profile = dvbs2(&profiles, published["platform"].as_str().unwrap());
        let cores = platform(&profile, number(&published["R"]["B"]) as usize, number(&published["R"]["L"]) as usize);
        let optimum = Exact::ONE_KIND.optimum(&profile, &cores).unwrap();
        // Published in tenths of microseconds.
        let num = published["period_num"].as_u64().unwrap() * 100;
        assert_eq!(Some(optimum.period()), Period::new(num, published["period_den"].as_u64().unwrap()));
        let points = published["front"].as_array().unwrap();
        let counts: Vec<_> = points.iter().map(|point| [number(&point["B"]), number(&point["L"])]).collect();
        assert_eq!(optimum.front().collect::<Vec<_>>(), counts);
        for (point, published) in optimum.fewest_stages().unwrap().iter().zip(points) {
            assert_eq!(point.stages.len() as u64, published["min_stages"].as_u64().unwrap());
            let schedule = Schedule::new("exact", point.stages.clone(), &profile).unwrap();
            assert_eq!(schedule.planned_period(), optimum.period());
            assert_eq!(schedule.cores(), &point.cores);
        }
    }
}

/// A receiver for a known rate leaves cores free.
#[test]
fn slower_rates_need_fewer_cores() {
    let Some(profiles) = data("dvbs2_profiles.json") else { return };
    let profile = dvbs2(&profiles, "ai370");
    let cores = platform(&profile, 4, 8);
    let front = |us: u64| -> Vec<[u32; 2]> {
        let optimum = Exact::ONE_KIND.within(&profile, &cores, Period::from(us * 100)).unwrap().unwrap();
        optimum.front().map(|point| [point[0], point[1]]).collect()
    };
    assert_eq!(front(43_075), [[0, 7], [1, 5], [2, 4], [3, 2], [4, 1]]);
    assert_eq!(front(60_000), [[0, 5], [1, 3], [2, 1], [3, 0]]);
    assert!(Exact.within(&profile, &cores, Period::from(3_000_000)).unwrap().is_none());
    let plan = Exact.plan(&profile, &cores, &"fewest-cores,period=6ms".parse().unwrap()).unwrap();
    assert_eq!(plan.stages().iter().map(|stage| stage.replicas()).sum::<u32>(), 3);
}

/// A chain of up to 60 tasks: of the paper's generator, with times that have nothing to do with each other, with many equal
/// ones, or of all magnitudes.
fn any_chain(random: &mut Rng) -> Profile {
    let stateless_ratio = [0.0, 0.2, 0.5, 0.8, 1.0, random.f64()][random.usize(..6)];
    let family = random.u32(..4);
    let time = move |random: &mut Rng| match family {
        0 => random.u64(1..=100),
        1 => random.u64(1..=4),
        2 => [1, 1, 1, 50][random.usize(..4)],
        _ => {
            let shift = random.u32(..34);
            random.u64(..=1 << shift)
        }
    };
    let length = random.usize(1..=60);
    let tasks = (0..length).map(|_| {
        let big = time(random);
        let little = if family == 1 || random.u32(..4) == 0 { time(random) } else { big * random.u64(1..=5) };
        TaskProfile { replicable: random.f64() < stateless_ratio, ..TaskProfile::sequential("task", [big, little]) }
    });
    let tasks: Vec<_> = tasks.collect();
    Profile::new(["big", "little"], tasks).unwrap()
}

#[test]
#[ignore = "long: part of .ci/run"]
fn herad_is_the_first_point_of_the_front() {
    let mut random = Rng::with_seed(3);
    let mut fronts = 0;
    for number in 0..6000 {
        let profile = any_chain(&mut random);
        let (big, little) = (random.usize(..=14), random.usize(..=14));
        if big + little == 0 {
            continue;
        }
        let cores = platform(&profile, big, little);
        let herad = Herad.schedule(&profile, &cores).unwrap();
        let optimum = Exact::ONE_KIND.optimum(&profile, &cores).unwrap();
        assert_eq!(optimum.period(), herad.planned_period(), "chain {number} on ({big}, {little}): {profile:?}");
        let used = ["big", "little"].map(|kind| herad.cores().get(kind).copied().unwrap_or(0));
        assert_eq!(optimum.front().next().unwrap(), used, "chain {number} on ({big}, {little}): {profile:?}");
        // Merging neighbours does not always give the fewest stages.
        let fewest = optimum.fewest_stages().unwrap();
        assert!(fewest[0].stages.len() <= herad.stages().len(), "chain {number} on ({big}, {little}): {profile:?}");
        for point in &fewest {
            let schedule = Schedule::new("exact", point.stages.clone(), &profile).unwrap();
            assert_eq!(schedule.planned_period(), optimum.period());
            assert_eq!(schedule.cores(), &point.cores);
        }
        fronts += u32::from(fewest.len() > 1);
    }
    println!("{fronts} fronts of more than one point");
    assert!(fronts > 1000);
}

/// A chain of exhaustive search: its profile, and its cores.
fn oracle(chain: &Value) -> (Profile, Platform) {
    let task = |(index, task): (usize, &Value)| {
        let made = TaskProfile::sequential("t", numbers(&task["ns"]));
        let made = TaskProfile { replicable: task["replicable"].as_bool().unwrap(), ..made };
        made.with_cut_ns(numbers(&chain["enter_ns"][index]), numbers(&chain["leave_ns"][index]))
    };
    let tasks: Vec<TaskProfile> = chain["tasks"].as_array().unwrap().iter().enumerate().map(task).collect();
    let profile = Profile::new(["big", "little"], tasks).unwrap();
    let cores = platform(&profile, number(&chain["big"]) as usize, number(&chain["little"]) as usize);
    (profile, cores)
}

fn numbers(value: &Value) -> Vec<u64> {
    value.as_array().unwrap().iter().map(|ns| ns.as_u64().unwrap()).collect()
}

/// Numbers of any length.
fn fraction(value: &Value) -> Period {
    let number = |value: &Value| value.to_string().parse::<u128>().unwrap();
    Period::wide(number(&value[0]), number(&value[1])).unwrap()
}

fn check_front(exact: Exact, profile: &Profile, cores: &Platform, chain: &Value) {
    let optimum = exact.optimum(profile, cores).unwrap();
    assert_eq!(optimum.period(), fraction(&chain["period"]), "{}", chain["id"]);
    let front: Vec<Vec<u64>> = chain["front"].as_array().unwrap().iter().map(numbers).collect();
    let found: Vec<Vec<u64>> = optimum.front().map(|point| point.iter().map(|&cores| cores.into()).collect()).collect();
    assert_eq!(found, front, "{}", chain["id"]);
}

/// Chains that it costs something to cut, beside exhaustive search.
#[test]
fn chains_with_dear_cuts_are_cut_as_well_as_can_be() {
    let Some(chains) = data("oracle_cut_costs.json") else { return };
    let chains = chains.as_array().unwrap();
    assert_eq!(chains.len(), 400);
    let mut matters = 0;
    for chain in chains {
        let (profile, cores) = oracle(chain);
        check_front(Exact::ONE_KIND, &profile, &cores, chain);
        // Written and read, it is the same chain.
        assert_eq!(Profile::from_json(&profile.to_json()).unwrap(), profile);
        let free = profile.tasks().iter().cloned();
        let free = free.map(|task| TaskProfile { enter_ns: None, leave_ns: None, ..task });
        let free = Profile::new(["big", "little"], free).unwrap();
        let free = Exact::ONE_KIND.optimum(&free, &cores).unwrap().period();
        assert_eq!(free, fraction(&chain["period_if_free"]), "{}", chain["id"]);
        matters += usize::from(free < fraction(&chain["period"]));
    }
    assert_eq!(matters, 358);
}

/// Chains whose stages may have cores of both kinds, beside exhaustive search; it costs something to cut every other one.
#[test]
fn kinds_share_stages_as_well_as_can_be() {
    let Some(chains) = data("oracle_mixed_stages.json") else { return };
    let chains = chains.as_array().unwrap();
    assert_eq!(chains.len(), 300);
    let mut matters = 0;
    for chain in chains {
        let (profile, cores) = oracle(chain);
        check_front(Exact, &profile, &cores, chain);
        let one_kind = Exact::ONE_KIND.optimum(&profile, &cores).unwrap().period();
        assert_eq!(one_kind, fraction(&chain["period_of_one_kind_stages"]), "{}", chain["id"]);
        matters += usize::from(fraction(&chain["period"]) < one_kind);
        let schedule = Exact.schedule(&profile, &cores).unwrap();
        schedule.check(&profile, &cores).unwrap();
        assert_eq!(schedule.period(&profile).unwrap(), fraction(&chain["period"]));
        assert_eq!(Schedule::from_json(&schedule.to_json()).unwrap(), schedule);
    }
    assert_eq!(matters, 99);
}

/// The receiver on the ten budgets of the paper's platforms beside HeRAD's optimum: what cores of several kinds for a stage bring.
#[test]
fn the_receiver_is_faster_where_kinds_share_stages() {
    let Some(profiles) = data("dvbs2_profiles.json") else { return };
    let budgets = [
        ("orange_pi_5_plus", 2, 2, 7026.8, 7026.8),
        ("orange_pi_5_plus", 4, 2, 4700.8, 4609.3),
        ("orange_pi_5_plus", 4, 4, 3520.5, 3415.0),
        ("mac_studio", 8, 2, 1018.2, 950.9),
        ("mac_studio", 16, 4, 950.9, 950.9),
        ("ai370", 2, 4, 4032.1, 3998.1),
        ("ai370", 4, 4, 3262.0, 3262.0),
        ("ai370", 4, 8, 3262.0, 3262.0),
        ("x7_ti", 3, 4, 2707.3, 2428.0),
        ("x7_ti", 6, 8, 1342.5, 1342.5),
    ];
    let tenths = |period: Period| (period.ns() / 100.0).round() / 10.0;
    for (machine, big, little, herad_us, mixed_us) in budgets {
        let profile = dvbs2(&profiles, machine);
        let cores = platform(&profile, big, little);
        let herad = Herad.schedule(&profile, &cores).unwrap().planned_period();
        let mixed = Exact.schedule(&profile, &cores).unwrap();
        mixed.check(&profile, &cores).unwrap();
        let found = (tenths(herad), tenths(mixed.planned_period()));
        assert_eq!(found, (herad_us, mixed_us), "{machine} on {big}, {little}");
        let is_mixed = mixed.stages().iter().any(|stage| stage.kind().is_none());
        assert!(is_mixed || herad == mixed.planned_period(), "{machine} on {big}, {little}");
    }
}

//! Exact beside published optima: 300 small chains, and the DVB-S2 receiver on four machines.

mod common;

use bief_schedule::strategy::Exact;
use bief_schedule::{Period, Platform, Profile, Schedule, Stage, TaskProfile};
use common::{data, dvbs2};
use serde_json::Value;

fn number(value: &Value) -> u32 {
    value.as_u64().unwrap().try_into().unwrap()
}

fn fraction(value: &Value) -> Period {
    Period::new(value[0].as_u64().unwrap(), value[1].as_u64().unwrap()).unwrap()
}

fn platform(profile: &Profile, big: usize, little: usize) -> Platform {
    Platform::parse_cores(&format!("big={big},little={little}"), profile).unwrap()
}

#[test]
fn periods_and_fronts_of_every_small_chain_are_found() {
    let Some(data) = data("oracle_chains.json") else { return };
    let cases = data["cases"].as_array().unwrap();
    assert_eq!(cases.len(), 300);
    let mut optima = 0;
    for case in cases {
        let list = |key: &str| case[key].as_array().unwrap().clone();
        let tasks =
            list("wB").into_iter().zip(list("wL")).zip(list("rep")).map(|((big, little), replicable)| TaskProfile {
                replicable: replicable == 1,
                ..TaskProfile::sequential("task", [big.as_u64().unwrap(), little.as_u64().unwrap()])
            });
        let profile = Profile::new(["big", "little"], tasks).unwrap();

        let all = platform(&profile, number(&case["b"]) as usize, number(&case["l"]) as usize);
        let optimum = Exact.optimum(&profile, &all).unwrap();
        assert_eq!(optimum.period(), fraction(&case["period"]), "{case}");
        let front: Vec<_> = list("front").iter().map(|point| [number(&point[0]), number(&point[1])]).collect();
        assert_eq!(optimum.front().collect::<Vec<_>>(), front, "{case}");

        for (big, row) in list("optimal_period_surface").iter().enumerate() {
            for (little, period) in row.as_array().unwrap().iter().enumerate() {
                if big + little > 0 {
                    let cores = platform(&profile, big, little);
                    assert_eq!(Exact.optimum(&profile, &cores).unwrap().period(), fraction(period), "{case}");
                    optima += 1;
                }
            }
        }
    }
    assert_eq!(optima, 4315);
}

#[test]
fn the_receiver_has_the_published_fronts() {
    let (Some(profiles), Some(fronts)) = (data("dvbs2_profiles.json"), data("dvbs2_fronts.json")) else { return };
    let fronts = fronts.as_array().unwrap();
    assert_eq!(fronts.len(), 8);
    for published in fronts {
        let profile = dvbs2(&profiles, published["platform"].as_str().unwrap());
        let cores = platform(&profile, number(&published["R"]["B"]) as usize, number(&published["R"]["L"]) as usize);
        let optimum = Exact.optimum(&profile, &cores).unwrap();
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
        let optimum = Exact.within(&profile, &cores, Period::from(us * 100)).unwrap().unwrap();
        optimum.front().map(|point| [point[0], point[1]]).collect()
    };
    assert_eq!(front(43_075), [[0, 7], [1, 5], [2, 4], [3, 2], [4, 1]]);
    assert_eq!(front(60_000), [[0, 5], [1, 3], [2, 1], [3, 0]]);
    assert!(Exact.within(&profile, &cores, Period::from(3_000_000)).unwrap().is_none());
    let plan = Exact.plan(&profile, &cores, &"fewest-cores,period=6ms".parse().unwrap()).unwrap();
    assert_eq!(plan.stages().iter().map(|stage: &Stage| stage.cores).sum::<u32>(), 3);
}

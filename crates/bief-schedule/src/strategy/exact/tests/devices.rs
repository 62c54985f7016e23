//! Kinds that are devices: lanes overlap, and stages are not shared.

use super::*;
use crate::brute::work;
use crate::strategy::{strategies, strategy};

/// Chains of whose kinds those that are chosen are devices with so many lanes, which overlap some of their work or all of it.
fn with_devices(chains: impl Strategy<Value = Profile>) -> impl Strategy<Value = Profile> {
    let lanes = prop_oneof![1 => Just(None), 2 => ((1u32..=4), any::<bool>()).prop_map(Some)];
    (chains, proptest::collection::vec(lanes, 4)).prop_map(|(profile, mut lanes)| {
        lanes.truncate(profile.kinds().len());
        let overlap: Vec<bool> = lanes.iter().map(|lanes| lanes.is_some_and(|(_, overlap)| overlap)).collect();
        let lanes: Vec<Option<u32>> = lanes.iter().map(|lanes| lanes.map(|(lanes, _)| lanes)).collect();
        profile.with_lanes(lanes).unwrap().with_overlap(overlap).unwrap()
    })
}

proptest! {
    #[test]
    fn devices_alone(profile in with_devices(with_cut_costs(chain(1, 6))), devices in 1u32..=5) {
        check(&profile, &[devices])?;
    }

    #[test]
    fn cores_and_a_device(
        profile in with_devices(with_cut_costs(with_absent_times(chain(2, 5)))),
        cores in [0u32..=4, 0u32..=2],
    ) {
        check(&profile, &cores)?;
        check_stages(&profile, &cores, StageKinds::Mixed)?;
    }

    #[test]
    fn lanes_without_cuts(profile in with_devices(with_absent_times(chain(2, 5))), cores in [0u32..=3, 0u32..=3]) {
        check(&profile, &cores)?;
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn cores_that_share_stages_and_devices(
        profile in with_devices(with_cut_costs(with_absent_times(chain(3, 3)))),
        cores in [0u32..=2, 0u32..=2, 0u32..=2],
    ) {
        check(&profile, &cores)?;
        check_stages(&profile, &cores, StageKinds::Mixed)?;
    }

    #[test]
    fn plans_with_devices_serve_their_goals(
        profile in with_devices(with_cut_costs(with_absent_times(light_chain(2, 3)))),
        cores in [0u32..=3, 0u32..=2],
        goal in goals(),
    ) {
        prop_assume!(cores != [0, 0]);
        check_plan(&profile, &with_watts(&profile, &cores), &cores, &goal)?;
    }

    #[test]
    fn plans_with_shared_stages_and_devices_serve_their_goals(
        profile in with_devices(with_cut_costs(light_chain(3, 2))),
        cores in [0u32..=2, 0u32..=2, 0u32..=2],
        goal in goals(),
    ) {
        prop_assume!(cores != [0, 0, 0]);
        check_plan_of(Exact, &profile, &with_watts(&profile, &cores), &cores, &goal)?;
    }
}

proptest! {
    #[test]
    fn the_pace_is_what_lanes_leave(profile in with_devices(with_cut_costs(chain(2, 5))), kind in 0usize..2) {
        for from in 0..profile.tasks().len() {
            for to in from + 1..=profile.tasks().len() {
                let work = work(&profile, from..to, kind).unwrap();
                prop_assert_eq!(profile.stage_ns(from..to, kind), Some(work));
                let pace = profile.pace_ns(from..to, kind).unwrap();
                prop_assert_eq!(pace, crate::brute::pace(&profile, from..to, kind).unwrap());
                prop_assert!(pace <= work && pace * u64::from(profile.lanes(kind).unwrap_or(1)) >= work);
            }
        }
    }
}

/// A receiver whose decoder a GPU does faster than it can be fed by one lane.
fn receiver() -> Profile {
    let tasks = [
        TaskProfile::sequential("receive", [300, 0]).not_on(1).with_cut_ns([0, 0], [20, 0]),
        TaskProfile::replicable("decode", [9000, 400]).with_cut_ns([30, 250], [30, 50]),
        TaskProfile::sequential("send", [100, 0]).not_on(1),
    ];
    Profile::new(["cpu", "gpu"], tasks).unwrap().with_lanes([None, Some(3)]).unwrap()
}

#[test]
fn a_device_takes_the_task_that_it_is_fast_at() {
    let profile = receiver();
    let plan = |cores: &str| Exact.schedule(&profile, &Platform::parse_cores(cores, &profile).unwrap()).unwrap();
    let schedule = plan("cpu=2,gpu=1");
    let stages = [Stage::new(1, 1, "cpu"), Stage::new(1, 1, "gpu"), Stage::new(1, 1, "cpu")];
    assert_eq!((schedule.stages(), schedule.planned_period()), (&stages[..], Period::from(400)));
    assert_eq!(schedule.latency_ns(&profile).unwrap(), 320 + (250 + 400 + 50) + 100);
    assert_eq!(schedule.busy_cores(&profile, 800.0).unwrap()["gpu"], 0.5, "400 ns of every 800");
    assert_eq!(plan("cpu=2,gpu=2").planned_period(), Period::from(320));
    assert_eq!(plan("cpu=2").planned_period(), Period::from(30 + 9000 + 100));
    // With one lane it waits for what it copies.
    let profile = receiver().with_lanes([None, Some(1)]).unwrap();
    let platform = Platform::parse_cores("cpu=2,gpu=1", &profile).unwrap();
    assert_eq!(Exact.schedule(&profile, &platform).unwrap().planned_period(), Period::from(700));
}

#[test]
fn strategies_for_cores_refuse_devices() {
    let profile = receiver();
    let platform = Platform::parse_cores("cpu=4,gpu=1", &profile).unwrap();
    for strategy in strategies().iter().filter(|strategy| !strategy.capabilities().devices) {
        let error = strategy.schedule(&profile, &platform).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Strategy);
        assert!(
            error.reason().ends_with("is a device with lanes: leave that out, or take one of: exact, exact:one-kind")
        );
        // Without it they plan as ever.
        let cores = Platform::parse_cores("cpu=4", &profile).unwrap();
        strategy.schedule(&profile, &cores).unwrap().check(&profile, &cores).unwrap();
    }
    assert!(strategy("otac").unwrap().schedule(&profile, &platform).is_err());
}

#[test]
fn a_device_shares_no_stage() {
    let profile = receiver();
    let stages = [Stage::new(1, 1, "cpu"), Stage::mixed(1, [("cpu", 2), ("gpu", 1)]), Stage::new(1, 1, "cpu")];
    assert_eq!(
        Schedule::new("hand", stages, &profile).unwrap_err().to_string(),
        "schedule, stages[1]: it has 2 cpu + 1 gpu, but `gpu` is a device, which shares no stage with another kind: give the \
         stage one kind"
    );
    assert_eq!(profile.mixed_period(1..2, [(0, 2), (1, 1)]), None);
    assert_eq!(profile.mixed_period(1..2, [(0, 0), (1, 2)]), Some(Period::from(200)));
}

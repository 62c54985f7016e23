//! A text is refused as a schedule, or it is read, written and read back; one that passes the check has a period.
#![no_main]

use std::sync::LazyLock;

use bief_schedule::{CoreKind, Platform, Profile, Schedule, TaskProfile};
use libfuzzer_sys::fuzz_target;

static CHAIN: LazyLock<(Profile, Platform)> = LazyLock::new(|| {
    let tasks = [
        TaskProfile::sequential("receive", [200, 300]),
        TaskProfile::replicable("filter", [600, 900]),
        TaskProfile::replicable("decode", [900, 1500]),
    ];
    let platform = Platform::new([CoreKind::new("big", 4), CoreKind::new("little", 8)]);
    (Profile::new(["big", "little"], tasks).unwrap(), platform.unwrap())
});

fuzz_target!(|text: &str| {
    let Ok(schedule) = Schedule::from_json(text) else { return };
    assert_eq!(Schedule::from_json(&schedule.to_json()).as_ref(), Ok(&schedule));
    let (profile, platform) = &*CHAIN;
    if schedule.check(profile, platform).is_ok() {
        let loads = schedule.loads(profile).unwrap();
        let slowest = loads.iter().map(|load| load.period).max();
        assert!(schedule.period(profile).unwrap() >= slowest.unwrap());
        schedule.limit(profile).unwrap();
    }
});

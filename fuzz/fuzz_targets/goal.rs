//! A text is refused as a goal, or it is read, written and read back, and planned for.
#![no_main]

use std::sync::LazyLock;

use bief_schedule::strategy::Exact;
use bief_schedule::{ErrorKind, Goal, Platform, Profile, Strategy, TaskProfile};
use libfuzzer_sys::fuzz_target;

static CHAIN: LazyLock<(Profile, Platform)> = LazyLock::new(|| {
    let tasks = [
        TaskProfile::sequential("receive", [200, 300]),
        TaskProfile::replicable("filter", [600, 900]),
        TaskProfile::replicable("decode", [900, 1500]),
        TaskProfile::sequential("send", [100, 90]),
    ];
    let profile = Profile::new(["big", "little"], tasks).unwrap().with_bits_per_frame(1000).unwrap();
    let platform = Platform::from_json(
        r#"{"format": 1, "kinds": [{"name": "big", "cores": 3, "watts": 5}, {"name": "little", "cores": 4, "watts": 1}],
            "idle_watts": 2}"#,
    );
    (profile, platform.unwrap())
});

fuzz_target!(|text: &str| {
    let Ok(goal) = text.parse::<Goal>() else { return };
    assert_eq!(goal.to_string().parse(), Ok(goal));
    let (profile, platform) = &*CHAIN;
    match Exact.plan(profile, platform, &goal) {
        Ok(schedule) => schedule.check(profile, platform).unwrap(),
        Err(error) => assert_eq!(error.kind(), ErrorKind::Goal),
    }
});

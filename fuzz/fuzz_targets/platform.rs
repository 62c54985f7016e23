//! A text is refused as a platform, or it is read, written and read back; the same for cores of a command line.
#![no_main]

use std::sync::LazyLock;

use bief_schedule::{Platform, Profile, TaskProfile};
use libfuzzer_sys::fuzz_target;

static PROFILES: LazyLock<[Profile; 2]> = LazyLock::new(|| {
    let task = |ns: &[u64]| [TaskProfile::replicable("fir", ns)];
    [Profile::new(["big"], task(&[1])).unwrap(), Profile::new(["big", "little"], task(&[1, 2])).unwrap()]
});

fuzz_target!(|text: &str| {
    let from_command_line = PROFILES.iter().filter_map(|profile| {
        let platform = Platform::parse_cores(text, profile).ok()?;
        let cores = platform.cores_for(profile).unwrap();
        assert!(cores.iter().any(|&cores| cores > 0), "{text} gives no core");
        Some(platform)
    });
    for platform in from_command_line.chain(Platform::from_json(text)) {
        assert_eq!(Platform::from_json(&platform.to_json()), Ok(platform));
    }
});

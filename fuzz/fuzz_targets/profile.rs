//! A text is refused as a profile, or it is read, written, read back and scheduled.
#![no_main]

use bief_fuzz::check_schedules;
use bief_schedule::Profile;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let Ok(profile) = Profile::from_json(text) else { return };
    assert_eq!(Profile::from_json(&profile.to_json()).as_ref(), Ok(&profile));
    for cores in [1, 3, 40] {
        check_schedules(&profile, cores);
    }
});

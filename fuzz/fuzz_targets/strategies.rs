//! Chains of any times, up to the largest, on up to the most cores that a platform may have.
#![no_main]

use bief_fuzz::check_schedules;
use bief_schedule::{Platform, Profile, TaskProfile};
use libfuzzer_sys::arbitrary::{self, Arbitrary};
use libfuzzer_sys::fuzz_target;

/// Times of all magnitudes: a time shifted to the right; or none, where the task cannot run on the kind.
#[derive(Arbitrary, Debug)]
struct Time(u64, u8);

impl Time {
    fn ns(&self) -> u64 {
        self.0 >> (self.1 % 64)
    }

    fn is_absent(&self) -> bool {
        self.1 >= 240
    }
}

fuzz_target!(|chain: (Vec<(bool, Time, Time)>, Time, u16)| {
    let (tasks, sync, cores) = chain;
    let tasks = tasks.iter().take(50).map(|(replicable, big, little)| {
        let task = TaskProfile::sequential("t", [big.ns(), little.ns()]);
        let absent = [big, little].into_iter().enumerate().filter(|(_, time)| time.is_absent());
        TaskProfile { replicable: *replicable, ..absent.fold(task, |task, (kind, _)| task.not_on(kind)) }
    });
    let profile = Profile::new(["big", "little"], tasks);
    let Ok(profile) = profile.and_then(|profile| profile.with_sync_ns([sync.ns(), 0])) else { return };
    check_schedules(&profile, 1 + u32::from(cores) % Platform::MAX_CORES);
});

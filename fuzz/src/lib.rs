//! What several fuzz targets share.

use std::io;
use std::sync::{Arc, Mutex};

use bief_schedule::strategy::{Exact, Fertac, Nicol, Otac, RecursiveBisection, Strategy, ThreadPerTask, TwoCatac};
use bief_schedule::{CoreKind, ErrorKind, Platform, Profile, Schedule};

/// `len` bytes: those of `bytes` over and over, or zeros where there are none.
pub fn cycled(bytes: &[u8], len: usize) -> Vec<u8> {
    let bytes = if bytes.is_empty() { &[0] } else { bytes };
    bytes.iter().copied().cycle().take(len).collect()
}

/// Schedules the chain on `cores` cores of each kind, or as many kinds as a strategy can use, and on each kind
/// alone, and checks what comes out.
pub fn check_schedules(profile: &Profile, cores: u32) {
    let on = |kinds: &[String], cores: u32| Platform::new(kinds.iter().map(|kind| CoreKind::new(kind, cores))).unwrap();
    let all = on(profile.kinds(), cores);
    let four = &profile.kinds()[..profile.kinds().len().min(4)];
    check_strategy(&Exact, profile, &on(four, if four.len() > 2 { cores.min(8) } else { cores }));
    for threads in [ThreadPerTask::R1, ThreadPerTask::R2, ThreadPerTask::R3] {
        check_strategy(&threads, profile, &all);
    }
    let two = &profile.kinds()[..profile.kinds().len().min(2)];
    let exact = check_strategy(&Exact, profile, &on(two, cores));
    let fertac = check_strategy(&Fertac, profile, &on(two, cores));
    if let Some(fertac) = fertac {
        let exact = exact.expect("there is a schedule");
        assert!(exact.planned_period() <= fertac.planned_period(), "{exact:?} is slower than {fertac:?}");
    }
    // It takes time and memory for each number of cores that can be left.
    check_strategy(&TwoCatac, profile, &on(two, cores.min(40)));
    for (index, kind) in profile.kinds().iter().enumerate() {
        let platform = Platform::new([CoreKind::new(kind, cores)]).unwrap();
        let one_core = profile.stage_period(0..profile.tasks().len(), 1, index);
        let strategies: [&dyn Strategy; 4] = [&Exact, &Otac, &Nicol, &RecursiveBisection];
        let schedules = strategies.map(|strategy| check_strategy(strategy, profile, &platform));
        let [Some(exact), Some(otac), Some(nicol), Some(bisected)] = &schedules else {
            assert!(schedules.iter().all(Option::is_none) && one_core.is_none());
            continue;
        };
        let one_core = one_core.expect("the chain runs on the kind");
        assert_eq!(exact.planned_period(), otac.planned_period(), "{exact:?}, {otac:?}");
        let periods = [otac, nicol, bisected].map(|schedule| schedule.planned_period());
        assert!(periods.is_sorted(), "{otac:?}, {nicol:?}, {bisected:?}: the better must not be the slower");
        assert!(periods[2] <= one_core, "{bisected:?} is slower than one core: {one_core}");
    }
}

/// The schedule, which there must be where every task runs on every kind.
fn check_strategy(strategy: &dyn Strategy, profile: &Profile, platform: &Platform) -> Option<Schedule> {
    match strategy.schedule(profile, platform) {
        Ok(schedule) => {
            check_schedule(&schedule, profile, platform);
            Some(schedule)
        }
        Err(error) => {
            let everywhere = profile.tasks().iter().all(|task| task.ns.iter().all(Option::is_some));
            assert!(!everywhere && error.kind() == ErrorKind::Strategy, "{error}");
            None
        }
    }
}

fn check_schedule(schedule: &Schedule, profile: &Profile, platform: &Platform) {
    schedule.check(profile, platform).unwrap();
    assert_eq!(schedule.period(profile), Ok(schedule.planned_period()));
    assert_eq!(Schedule::from_json(&schedule.to_json()).as_ref(), Ok(schedule));
}

/// A writer whose bytes can be looked at afterwards.
#[derive(Clone, Default)]
pub struct Written(Arc<Mutex<Vec<u8>>>);

impl Written {
    /// Takes all that was written.
    pub fn take(&self) -> Vec<u8> {
        std::mem::take(&mut self.0.lock().unwrap())
    }
}

impl io::Write for Written {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

//! What several fuzz targets share.

use std::io;
use std::sync::{Arc, Mutex};

use bief_schedule::strategy::{Otac, Strategy, ThreadPerTask};
use bief_schedule::{CoreKind, Platform, Profile, Schedule};

/// `len` bytes: those of `bytes` over and over, or zeros where there are none.
pub fn cycled(bytes: &[u8], len: usize) -> Vec<u8> {
    let bytes = if bytes.is_empty() { &[0] } else { bytes };
    bytes.iter().copied().cycle().take(len).collect()
}

/// Schedules the chain with every strategy on `cores` cores of each kind, and checks what comes out.
pub fn check_schedules(profile: &Profile, cores: u32) {
    let platform = Platform::new(profile.kinds().iter().map(|kind| CoreKind::new(kind, cores))).unwrap();
    check_schedule(&ThreadPerTask.schedule(profile, &platform).unwrap(), profile, &platform);
    for (index, kind) in profile.kinds().iter().enumerate() {
        let platform = Platform::new([CoreKind::new(kind, cores)]).unwrap();
        let schedule = Otac.schedule(profile, &platform).unwrap();
        check_schedule(&schedule, profile, &platform);
        let one_core = profile.stage_period(0..profile.tasks().len(), 1, index);
        assert!(schedule.planned_period() <= one_core, "{schedule:?} is slower than one core: {one_core}");
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

//! A thread that is looked at.

use std::io;
use std::time::Duration;

use bief_schedule::mapping::ThreadDemand;

use super::files::{self, Locator};
use super::meter::{Meter, Used};
use super::report::{Steering, ThreadStatus};

/// After so many intervals of little work, a mapped thread is left to the system.
const REST: u32 = 20;
/// The weight of the latest interval in the share of time in which a thread is busy.
const SMOOTHING: f64 = 0.5;

pub(super) struct Thread {
    pub(super) tid: i32,
    pub(super) name: String,
    /// It may have got its name after it was seen first.
    is_young: bool,
    meter: Meter,
    locator: Option<Locator>,
    /// What its affinity was.
    pub(super) home: usize,
    /// The kind that it is mapped to, and since which interval.
    pub(super) kind: Option<usize>,
    pub(super) since: u64,
    /// Where it was found in a dry run.
    pub(super) found_on: Option<usize>,
    /// Its number among those that are mapped.
    pub(super) slot: Option<usize>,
    /// What is known of its demand while it is not mapped.
    pub(super) demand: ThreadDemand,
    /// What it did in the latest interval.
    pub(super) used: Used,
    /// The share of the time in which it is busy, averaged.
    pub(super) share: f64,
    resting: u32,
    pub(super) migrations: u64,
    pub(super) is_refused: bool,
    /// Processor time on each kind, and then on any.
    on_kinds: Vec<Duration>,
}

impl Thread {
    /// # Errors
    /// It has ended, or cannot be looked at.
    pub(super) fn new(
        tid: i32,
        process: &str,
        is_own: bool,
        is_dry: bool,
        home: usize,
        kinds: usize,
    ) -> io::Result<Self> {
        let folder = files::of_thread(process, tid);
        Ok(Self {
            tid,
            name: files::name(&folder).unwrap_or_default(),
            is_young: true,
            locator: if is_dry { Some(Locator::new(&folder)?) } else { None },
            meter: Meter::new(tid, folder, is_own)?,
            home,
            kind: None,
            since: 0,
            found_on: None,
            slot: None,
            demand: ThreadDemand::default(),
            used: Used::default(),
            share: 0.0,
            resting: 0,
            migrations: 0,
            is_refused: false,
            on_kinds: vec![Duration::ZERO; kinds + 1],
        })
    }

    /// Looks at it at the end of an interval; `false` where it has ended.
    pub(super) fn look(
        &mut self,
        [now, elapsed, tick]: [Duration; 3],
        with_waiting: bool,
        kind_of: &[Option<usize>],
    ) -> bool {
        let Some(used) = self.meter.read(now, tick, with_waiting) else { return false };
        self.used = used;
        self.share += SMOOTHING * (share(used.ran, elapsed) - self.share);
        let on = match &self.locator {
            Some(locator) => {
                let at = locator.hardware_thread();
                self.found_on = at.and_then(|thread| kind_of.get(thread).copied().flatten());
                self.found_on
            }
            None => self.kind,
        };
        let any = self.on_kinds.len() - 1;
        self.on_kinds[on.unwrap_or(any)] += used.ran;
        true
    }

    /// Whether the kernel does not tell how long it ran.
    pub(super) fn is_untold(&self) -> bool {
        self.meter.is_untold()
    }

    /// Notes whether it needs little; answers whether it has for so long that it is left to the system.
    pub(super) fn rests(&mut self, least_share: f64) -> bool {
        self.resting = if self.share < least_share / 2.0 { self.resting + 1 } else { 0 };
        let rests = self.resting >= REST;
        if rests {
            self.resting = 0;
        }
        rests
    }

    /// Reads its name again, if that may be another one by now.
    pub(super) fn grow_up(&mut self, process: &str) {
        if std::mem::take(&mut self.is_young) {
            self.rename(process);
        }
    }

    pub(super) fn rename(&mut self, process: &str) {
        if let Some(name) = files::name(&files::of_thread(process, self.tid)) {
            self.name = name;
        }
    }

    /// As messages call it.
    pub(super) fn called(&self) -> String {
        called(self.tid, &self.name)
    }

    pub(super) fn cpu_time(&self) -> Duration {
        self.on_kinds.iter().sum()
    }

    pub(super) fn status(&self, steering: Steering, demand: f64) -> ThreadStatus {
        let all = self.cpu_time().as_secs_f64();
        let (_, on_kinds) = self.on_kinds.split_last().expect("there is one for any kind");
        let share = |time: &Duration| if all > 0.0 { time.as_secs_f64() / all } else { 0.0 };
        ThreadStatus {
            tid: self.tid.unsigned_abs(),
            name: self.name.clone(),
            steering,
            demand,
            kind: self.kind,
            cpu_seconds: all,
            on_kinds: on_kinds.iter().map(share).collect(),
            migrations: self.migrations,
        }
    }
}

pub(super) fn called(tid: i32, name: &str) -> String {
    if name.is_empty() { format!("thread {tid}") } else { format!("thread {tid} `{name}`") }
}

/// A time as a share of an interval, at most all of it.
pub(super) fn share(time: Duration, interval: Duration) -> f64 {
    (time.as_secs_f64() / interval.as_secs_f64()).min(1.0)
}

//! A thread that is looked at.

use std::io;
use std::time::Duration;

use bief_schedule::mapping::ThreadDemand;

use super::files::{self, Stat};
use super::meter::{Meter, Used};
use super::report::{Steering, ThreadStatus};

/// After so many intervals of little work, a mapped thread is left to the system.
const REST: u32 = 20;
/// The weight of the latest interval in the share of time in which a thread is busy.
const SMOOTHING: f64 = 0.5;
/// A thread that waits for a larger share of the time shares its core.
const CONTENDED: f64 = 0.05;

pub(super) struct Thread {
    pub(super) tid: i32,
    pub(super) name: String,
    /// It may get its name yet: a thread gives itself one when it runs.
    is_new: bool,
    meter: Meter,
    folder: String,
    /// Opened when it is looked at first.
    stat: Option<Stat>,
    is_dry: bool,
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
    /// When it was looked at, and what it had done since it was before.
    looked_at: Duration,
    pub(super) used: Used,
    /// The share of the time in which it is busy, averaged.
    pub(super) share: f64,
    /// The share in which it waits for a core.
    waits: f64,
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
        now: Duration,
    ) -> io::Result<Self> {
        let folder = files::of_thread(process, tid);
        Ok(Self {
            tid,
            name: files::name(&folder).unwrap_or_default(),
            is_new: true,
            meter: Meter::new(tid, &folder, is_own)?,
            folder,
            stat: None,
            is_dry,
            home,
            kind: None,
            since: 0,
            found_on: None,
            slot: None,
            demand: ThreadDemand::default(),
            looked_at: now,
            used: Used::default(),
            share: 0.0,
            waits: 0.0,
            resting: 0,
            migrations: 0,
            is_refused: false,
            on_kinds: vec![Duration::ZERO; kinds + 1],
        })
    }

    /// Looks at it at the end of an interval; `false` where it has ended.
    pub(super) fn look(&mut self, now: Duration, tick: Duration, kind_of: &[Option<usize>]) -> bool {
        let elapsed = now.saturating_sub(self.looked_at);
        if elapsed.is_zero() {
            return true;
        }
        // A thread that has to wait, for one of another program too, needs more than it gets.
        let Some(mut used) = self.meter.read(now, tick, self.slot.is_some()) else { return false };
        // A wait is told when it is over. Of a thread that has waited lately, the state tells of one that goes on.
        if used == Used::default() && self.waits > CONTENDED && self.stat().is_some_and(Stat::is_ready) {
            used.waited = elapsed;
        }
        (self.used, self.looked_at) = (used, now);
        self.share += SMOOTHING * (share(used.ran, elapsed) - self.share);
        self.waits += SMOOTHING * (share(used.waited, elapsed) - self.waits);
        if self.is_dry {
            let found = self.stat().and_then(Stat::hardware_thread);
            self.found_on = found.and_then(|thread| kind_of.get(thread).copied().flatten());
        }
        let on = if self.is_dry { self.found_on } else { self.kind };
        let any = self.on_kinds.len() - 1;
        self.on_kinds[on.unwrap_or(any)] += used.ran;
        true
    }

    fn stat(&mut self) -> Option<&Stat> {
        if self.stat.is_none() {
            self.stat = Stat::open(&self.folder).ok();
        }
        self.stat.as_ref()
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

    /// Reads its name again where that may be another one by now: of a thread that was new, and of one that `may_execute` another
    /// program.
    pub(super) fn rename_if(&mut self, may_execute: bool) {
        if std::mem::take(&mut self.is_new) || may_execute {
            self.rename();
        }
    }

    pub(super) fn rename(&mut self) {
        if let Some(name) = files::name(&self.folder) {
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

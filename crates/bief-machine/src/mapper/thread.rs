//! A thread that is looked at.

use std::io;
use std::time::Duration;

use bief_schedule::mapping::{ThreadDemand, Usage};

use super::files::{self, Stat};
use super::meter::{Meter, share};
use super::report::{Steering, ThreadStatus};

/// After so many intervals of little work, a mapped thread is left to the system.
const REST: u64 = 20;
/// The weight of the latest look in the share of time in which a thread is busy.
const SMOOTHING: f64 = 0.5;
/// A thread that waits for a larger share of the time shares its core.
const CONTENDED: f64 = 0.05;
/// A thread that wants to run for a smaller share of the time is looked at less often: once in so many intervals, and where it is not
/// mapped and needs next to nothing, in so many.
const LIGHT: f64 = 0.25;
const LIGHT_TURNS: u64 = 4;
const RESTING_TURNS: u64 = 8;
/// For how long it had to wait is asked at one in so many looks where it hardly does: that takes four times as long as the look itself.
const LOOKS_PER_WAIT: u32 = 4;

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
    looked_at: Duration,
    looks: u32,
    /// The shares of the time in which it ran, and waited for a core, as it was looked at last.
    pub(super) usage: Usage,
    /// Averaged, the share in which it runs.
    pub(super) share: f64,
    /// The share in which it waits.
    waits: f64,
    /// What of it is counted in what all threads want.
    pub(super) counted: f64,
    /// From which interval on it has needed little.
    little_since: Option<u64>,
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
            meter: Meter::new(tid, &folder, is_own, now)?,
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
            looks: 0,
            usage: Usage { busy: 0.0, ready: 0.0 },
            share: 0.0,
            waits: 0.0,
            counted: 0.0,
            little_since: None,
            migrations: 0,
            is_refused: false,
            on_kinds: vec![Duration::ZERO; kinds + 1],
        })
    }

    /// Looks at it at the end of an interval; `false` where it has ended. `may_be_mapped`: what it had to wait counts, too.
    pub(super) fn look(
        &mut self,
        now: Duration,
        tick: Duration,
        may_be_mapped: bool,
        kind_of: &[Option<usize>],
    ) -> bool {
        let elapsed = now.saturating_sub(self.looked_at);
        if elapsed.is_zero() {
            return true;
        }
        self.looks = self.looks.wrapping_add(1);
        // A thread that has to wait, for one of another program too, needs more than it gets.
        let shares = self.waits > CONTENDED && self.wants() >= LIGHT;
        let is_time = shares || self.looks.is_multiple_of(LOOKS_PER_WAIT) || !self.meter.has_begun();
        let Some(used) = self.meter.read(now, tick, may_be_mapped && is_time) else { return false };
        self.looked_at = now;
        self.usage.busy = share(used.ran, elapsed);
        if let Some(waited) = used.waited {
            // A wait is told when it is over. Of a thread that has waited lately, the state tells of one that goes on.
            let goes_on = used.ran.is_zero() && waited == 0.0 && self.waits > CONTENDED;
            self.usage.ready = if goes_on && self.stat().is_some_and(Stat::is_ready) { 1.0 } else { waited };
            self.waits += SMOOTHING * (self.usage.ready - self.waits);
        }
        self.share += SMOOTHING * (self.usage.busy - self.share);
        if self.is_dry {
            let found = self.stat().and_then(Stat::hardware_thread);
            self.found_on = found.and_then(|thread| kind_of.get(thread).copied().flatten());
        }
        let on = if self.is_dry { self.found_on } else { self.kind };
        let any = self.on_kinds.len() - 1;
        self.on_kinds[on.unwrap_or(any)] += used.ran;
        true
    }

    /// The share of the time in which it wants to run.
    pub(super) fn wants(&self) -> f64 {
        (self.share + self.waits).min(1.0)
    }

    /// In how many intervals it is looked at once.
    pub(super) fn turns(&self, min_share: f64) -> u64 {
        if self.slot.is_none() && self.share < min_share / 2.0 {
            RESTING_TURNS
        } else if self.wants() < LIGHT {
            LIGHT_TURNS
        } else {
            1
        }
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

    /// Notes whether it needs little in this interval; answers whether it has for so long that it is left to the system.
    pub(super) fn rests(&mut self, min_share: f64, interval: u64) -> bool {
        let since = (self.share < min_share / 2.0).then(|| self.little_since.unwrap_or(interval));
        let rests = since.is_some_and(|since| interval - since >= REST);
        self.little_since = since.filter(|_| !rests);
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

//! The loop: looks, estimates, maps, sets.

use std::time::Duration;

use bief_schedule::mapping::{Ftfc, Usage};

use super::cores::KindsOfCores;
use super::crowding::Crowding;
use super::files;
use super::homes::Homes;
use super::listing::{LISTING, Listing};
use super::moves::Wish;
use super::refusal;
use super::refused;
use super::report::{Lateness, MapReport, Steering, ThreadStatus};
use super::settings::MapSettings;
use super::thread::{Thread, called};
use crate::affinity::Mask;
use crate::clock::{self, Ticker, thread_time};
use crate::error::{Error, Result};
use crate::topology::{Machine, thread_list};

/// How often a process is looked through for threads that were born while others got their affinity back.
const MAX_ROUNDS: usize = 64;
/// More notes than anyone reads.
const MAX_NOTES: usize = 20;

/// Maps the threads of a process to kinds of cores while they run. See the [module](super).
///
/// Whoever has one calls [`wait`](Self::wait) and [`step`](Self::step) in turn, on a thread of its own. A step allocates nothing as
/// long as the same threads are mapped, but that it reads which threads a process has. Dropped, it gives every thread the affinity
/// back that it had.
pub struct ThreadMapper {
    pub(super) settings: MapSettings,
    pub(super) kinds: KindsOfCores,
    pub(super) homes: Homes,
    pub(super) ftfc: Ftfc,
    pub(super) listing: Listing,
    /// What all threads want that may be mapped, as shares of the time.
    pub(super) wanted: f64,
    pub(super) crowding: Crowding,
    /// Whether threads that are not known yet are mapped, too.
    pub(super) takes_new: bool,
    pub(super) is_own: bool,
    /// By number, ascending.
    pub(super) threads: Vec<Thread>,
    /// For each number of the mapping, the position of its thread.
    pub(super) slots: Vec<usize>,
    pub(super) ended: Vec<ThreadStatus>,
    pub(super) ticker: Ticker,
    pub(super) tick: Duration,
    pub(super) due: Duration,
    pub(super) latest: Duration,
    pub(super) list_at: Duration,
    pub(super) intervals: u64,
    pub(super) seen: u64,
    pub(super) migrations: u64,
    pub(super) crowded: Duration,
    pub(super) own: Duration,
    /// The processor time that this thread had at the latest step.
    pub(super) took: Option<Duration>,
    pub(super) late: Lateness,
    pub(super) notes: Vec<String>,
    /// Whether it was told that an affinity may not be set, is not set, and that a thread is not looked at.
    pub(super) told: [bool; 3],
    /// Whether a thread has been found to have ended since threads were listed.
    pub(super) one_has_ended: bool,
    pub(super) usages: Vec<Usage>,
    pub(super) before: Vec<Option<usize>>,
    pub(super) wishes: Vec<Wish>,
    /// For each kind, by how many there are more threads on it than should be.
    pub(super) surplus: Vec<i64>,
}

impl ThreadMapper {
    /// Maps all threads of a process, those too that it will start.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Invalid`](crate::ErrorKind::Invalid) where a setting is out of its range, there is no such process, it may run on no core of the machine, or the
    /// kernel does not tell what threads do; [`ErrorKind::Affinity`](crate::ErrorKind::Affinity) where the affinity of its threads may not be set.
    pub fn of_process(pid: u32, machine: &Machine, settings: MapSettings) -> Result<Self> {
        settings.check()?;
        let process = files::of_process(Some(pid));
        let mut listed = Vec::new();
        files::list(&process, &mut listed)
            .map_err(|error| refused(format!("the threads of process {pid} cannot be listed: {error}")))?;
        if listed.is_empty() {
            return Err(refused(format!("there is no process {pid}, or it has ended")));
        }
        let is_own = pid == std::process::id();
        let mut mapper = Self::new(&listed, process, is_own, machine, settings)?;
        mapper.takes_new = true;
        // One that was just born has come to no core yet, and need not have the highest number: numbers begin anew after the last one.
        if !mapper.threads.is_empty() && mapper.threads.iter().all(Thread::is_untold) {
            return Err(refused(format!(
                "this kernel does not tell what threads do (/proc/{pid}/schedstat holds zeros): it needs CONFIG_SCHED_INFO"
            )));
        }
        mapper.try_to_set()?;
        Ok(mapper)
    }

    /// Maps these threads of the calling process, and no others.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Invalid`](crate::ErrorKind::Invalid) where a setting is out of its range, none of these threads is there, or they may run on no core of the machine.
    pub fn of_threads(tids: &[u32], machine: &Machine, settings: MapSettings) -> Result<Self> {
        settings.check()?;
        let mut tids: Vec<i32> = tids.iter().filter_map(|&tid| i32::try_from(tid).ok()).collect();
        tids.sort_unstable();
        tids.dedup();
        Self::new(&tids, files::of_process(None), true, machine, settings)
    }

    fn new(tids: &[i32], process: String, is_own: bool, machine: &Machine, settings: MapSettings) -> Result<Self> {
        let masks: Vec<Mask> = tids.iter().filter_map(|&tid| Mask::of_thread(tid).ok()).collect();
        let allowed = masks.into_iter().reduce(|all, mask| all.or(&mask));
        let allowed = allowed.ok_or_else(|| refused("there are no such threads on this system"))?;
        let kinds = KindsOfCores::new(machine, &allowed)?;
        let ticker = Ticker::start();
        let mut mapper = Self {
            settings,
            homes: Homes::new(kinds.masks.clone()),
            ftfc: Ftfc::new(&kinds.cores()?, [], settings.ftfc)?,
            listing: Listing::new(process),
            wanted: 0.0,
            crowding: Crowding::default(),
            takes_new: false,
            is_own,
            threads: Vec::new(),
            slots: Vec::new(),
            ended: Vec::new(),
            ticker,
            tick: clock::tick(),
            due: settings.interval,
            latest: ticker.elapsed(),
            list_at: LISTING,
            intervals: 0,
            seen: 0,
            migrations: 0,
            crowded: Duration::ZERO,
            own: Duration::ZERO,
            took: None,
            late: Lateness::default(),
            notes: Vec::new(),
            told: [false; 3],
            one_has_ended: false,
            usages: Vec::new(),
            before: Vec::new(),
            wishes: Vec::new(),
            surplus: Vec::new(),
            kinds,
        };
        mapper.note_kinds(&allowed);
        tids.iter().for_each(|&tid| mapper.take(tid));
        if mapper.threads.is_empty() {
            let reason = mapper.notes.pop().filter(|_| mapper.told[2]);
            return Err(refused(reason.unwrap_or_else(|| "the threads have ended".to_owned())));
        }
        Ok(mapper)
    }

    /// Says where there is nothing to gain.
    fn note_kinds(&mut self, allowed: &Mask) {
        let used: Vec<&str> = self.kinds.used().map(|kind| self.kinds.names[kind].as_str()).collect();
        if self.kinds.names.len() == 1 {
            self.note(format!(
                "all cores are of one kind, `{}`: there is nothing to gain, and nothing is moved",
                used[0]
            ));
        } else if used.len() == 1 {
            self.note(format!(
                "the threads may run on {} alone, which are of one kind, `{}`: nothing is moved",
                thread_list(allowed.threads()),
                used[0]
            ));
        } else if !self.kinds.speeds_are_known {
            self.note(
                "the system does not tell how fast the kinds of cores are, and they are taken to be equally fast: describe them \
                 in a machine file"
                    .to_owned(),
            );
        }
    }

    pub(super) fn note(&mut self, note: String) {
        if self.notes.len() < MAX_NOTES {
            self.notes.push(note);
        }
    }

    /// Sets the affinity of a thread to what it is, to see whether that is permitted.
    fn try_to_set(&mut self) -> Result<()> {
        let Some(first) = self.threads.first().filter(|first| self.homes.has_choice(first.home)) else { return Ok(()) };
        if self.settings.dry_run {
            return Ok(());
        }
        match self.homes.original(first.home).set(first.tid) {
            Err(error) if refusal::is_denied(&error) => {
                let reason = refusal::of_affinity(&first.called(), &error);
                Err(Error::affinity(format!("mapping: {reason}")))
            }
            _ => Ok(()),
        }
    }

    /// Sleeps until the interval ends. Where that is over for long, the intervals that were missed are left out.
    pub fn wait(&mut self) {
        let woken = self.ticker.wait_until(self.due);
        self.late.add(woken.saturating_sub(self.due));
        self.due += self.settings.interval;
        if self.due <= woken {
            self.due = woken + self.settings.interval;
        }
    }

    /// Ends an interval, however long it was: looks at what the threads did, and maps them. Answers whether there are any left.
    ///
    /// # Errors
    ///
    /// None are known: what the system refuses is told by [`MapReport::notes`], once each.
    pub fn step(&mut self) -> Result<bool> {
        let took = thread_time();
        let before = self.took.replace(took).unwrap_or(took);
        self.own += took.saturating_sub(before);
        let now = self.ticker.elapsed();
        let elapsed = now.saturating_sub(self.latest);
        if !elapsed.is_zero() {
            self.latest = now;
            self.intervals += 1;
            self.look(now)?;
            if now >= self.list_at || self.threads.is_empty() {
                self.list_at = now + LISTING;
                self.list(now);
            }
            self.yield_to_crowds(elapsed)?;
            self.map()?;
        }
        Ok(!self.threads.is_empty())
    }

    /// Tells of a refusal, once for each cause.
    pub(super) fn tell(&mut self, cause: usize, note: impl FnOnce() -> String) {
        if !std::mem::replace(&mut self.told[cause], true) {
            self.note(note());
        }
    }

    /// Gives every thread the affinity back that it had before it was mapped, those too that have come since. Affinities that others have
    /// set meanwhile stay. Threads are mapped again by the next [`step`](Self::step).
    pub fn restore(&mut self) {
        while !self.slots.is_empty() {
            self.unmap(self.slots[0]);
        }
        if !self.settings.dry_run {
            for _ in 0..MAX_ROUNDS {
                if !self.restore_all() {
                    break;
                }
            }
        }
        self.threads.iter_mut().for_each(|thread| thread.kind = None);
    }

    /// Gives all threads that there are back what they had; answers whether there were any to give it to.
    fn restore_all(&mut self) -> bool {
        let mut listed = Vec::new();
        if !self.takes_new || files::list(&self.listing.process, &mut listed).is_err() {
            listed = self.threads.iter().map(|thread| thread.tid).collect();
        }
        let mut any = false;
        for &tid in &listed {
            let Ok(mask) = Mask::of_thread(tid) else { continue };
            let known = self.threads.binary_search_by_key(&tid, |thread| thread.tid).ok();
            let home = known.map_or_else(|| self.homes.of(&mask), |position| self.threads[position].home);
            if self.homes.kind_of(home, &mask).is_none() {
                continue;
            }
            match self.homes.original(home).set(tid) {
                Ok(()) => any = true,
                Err(error) if refusal::is_end(&error) => {}
                Err(error) => {
                    let name = known.map_or("", |position| &self.threads[position].name);
                    let note = format!("{} keeps the affinity that it was given: {error}", called(tid, name));
                    self.note(note);
                }
            }
        }
        any
    }

    /// All threads that there are, by number, and those that have ended; of more than 1000 of these the ones that had the most
    /// processor time. Reads their names.
    pub fn threads(&mut self) -> Vec<ThreadStatus> {
        for thread in &mut self.threads {
            thread.rename();
        }
        let status = |thread: &Thread| {
            let (steering, demand) = match thread.slot {
                Some(slot) => (Steering::Mapped, self.ftfc.demands()[slot]),
                None if thread.is_refused => (Steering::Refused, thread.share),
                None if !self.homes.has_choice(thread.home) => (Steering::Fixed, thread.share),
                None if thread.share >= self.settings.min_share => (Steering::Crowded, thread.share),
                None => (Steering::Light, thread.share),
            };
            thread.status(steering, demand)
        };
        self.threads.iter().map(status).chain(self.ended.iter().cloned()).collect()
    }

    /// What was done so far.
    pub fn report(&self) -> MapReport {
        MapReport {
            kinds: self.kinds.names.clone(),
            capacities: self.kinds.capacities.clone(),
            dry_run: self.settings.dry_run,
            intervals: self.intervals,
            seconds: self.latest.as_secs_f64(),
            crowded_seconds: self.crowded.as_secs_f64(),
            threads: self.seen,
            migrations: self.migrations,
            own_cpu_seconds: self.own.as_secs_f64(),
            late_seconds: self.late.seconds(),
            notes: self.notes.clone(),
        }
    }
}

impl std::fmt::Debug for ThreadMapper {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ThreadMapper")
            .field("process", &self.listing.process)
            .field("settings", &self.settings)
            .finish_non_exhaustive()
    }
}

impl Drop for ThreadMapper {
    fn drop(&mut self) {
        self.restore();
    }
}

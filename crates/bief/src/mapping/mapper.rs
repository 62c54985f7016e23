//! The loop: looks, estimates, maps, sets.

use std::io;
use std::time::Duration;

use bief_schedule::mapping::{Algorithm, Ftfc, Usage};

use super::cores::KindsOfCores;
use super::files;
use super::homes::Homes;
use super::moves::{Rules, Wish};
use super::refusal;
use super::refused;
use super::report::{Lateness, MapReport, Steering, ThreadStatus};
use super::settings::MapSettings;
use super::thread::{Thread, called, share};
use crate::affinity::Mask;
use crate::clock::{self, Ticker, processor_time};
use crate::error::{Error, ErrorKind, Result};
use crate::machine::{Machine, thread_list};

/// How often it is looked which threads there are, and whether somebody else has set their affinity.
const LISTING: Duration = Duration::from_millis(50);
/// A thread that sleeps is looked at once in so many intervals.
const SLEEPERS: u64 = 4;
/// How many threads that have ended are remembered: those that had the most processor time.
const MOST_ENDED: usize = 1000;
/// How often a process is looked through for threads that were born while others got their affinity back.
const MOST_ROUNDS: usize = 64;
/// More notes than anyone reads.
const MOST_NOTES: usize = 20;

/// Maps the threads of a process to kinds of cores while they run. See the [module](super).
///
/// Whoever has one calls [`wait`](Self::wait) and [`step`](Self::step) in turn, on a thread of its own. A step allocates nothing as
/// long as the same threads are mapped, but for the list of the threads of a process, which it reads every 50 ms. Dropped, it gives every thread the affinity back that it had.
pub struct ThreadMapper {
    settings: MapSettings,
    kinds: KindsOfCores,
    homes: Homes,
    ftfc: Ftfc,
    /// The folder of the process.
    process: String,
    /// Whether threads that are not known yet are mapped, too.
    takes_new: bool,
    is_own: bool,
    /// By number, ascending.
    threads: Vec<Thread>,
    /// For each number of the mapping, the position of its thread.
    slots: Vec<usize>,
    ended: Vec<ThreadStatus>,
    ticker: Ticker,
    tick: Duration,
    due: Duration,
    latest: Duration,
    list_at: Duration,
    intervals: u64,
    seen: u64,
    migrations: u64,
    own: Duration,
    late: Lateness,
    notes: Vec<String>,
    /// Whether it was told that an affinity may not be set, is not set, and that a thread is not looked at.
    told: [bool; 3],
    listed: Vec<i32>,
    usages: Vec<Usage>,
    before: Vec<Option<usize>>,
    wishes: Vec<Wish>,
    /// For each kind, by how many there are more threads on it than should be.
    surplus: Vec<i64>,
}

impl ThreadMapper {
    /// Maps all threads of a process, those too that it will start.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Build`] where a setting is out of its range, there is no such process, it may run on no core of the machine, or the
    /// kernel does not tell what threads do; [`ErrorKind::Placement`] where the affinity of its threads may not be set.
    pub fn of_process(pid: u32, machine: &Machine, settings: MapSettings) -> Result<Self> {
        settings.check()?;
        let process = files::of_process(Some(pid));
        let mut listed = Vec::new();
        files::list(&process, &mut listed)
            .map_err(|error| refused(format!("the threads of process {pid} are not told: {error}")))?;
        if listed.is_empty() {
            return Err(refused(format!("there is no process {pid}, or it has ended")));
        }
        let is_own = pid == std::process::id();
        let mut mapper = Self::new(&listed, process, is_own, machine, settings)?;
        mapper.takes_new = true;
        if mapper.threads.first().is_some_and(Thread::is_untold) {
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
    /// [`ErrorKind::Build`] where a setting is out of its range, none of these threads is there, or they may run on no core of the machine.
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
            process,
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
            own: Duration::ZERO,
            late: Lateness::default(),
            notes: Vec::new(),
            told: [false; 3],
            listed: Vec::new(),
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

    fn note(&mut self, note: String) {
        if self.notes.len() < MOST_NOTES {
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
                Err(Error::new(format!("mapping: {reason}")).with_kind(ErrorKind::Placement))
            }
            _ => Ok(()),
        }
    }

    /// Sleeps until the interval ends. Where that is over for long, the intervals that were missed are left out.
    pub fn wait(&mut self) {
        let begin = processor_time();
        let woken = self.ticker.wait_until(self.due);
        self.late.add(woken.saturating_sub(self.due));
        self.due += self.settings.interval;
        if self.due <= woken {
            self.due = woken + self.settings.interval;
        }
        self.own += processor_time().saturating_sub(begin);
    }

    /// Ends an interval, however long it was: looks at what the threads did, and maps them. Answers whether there are any left.
    ///
    /// # Errors
    ///
    /// None are known: what the system refuses is told by [`MapReport::notes`], once each.
    pub fn step(&mut self) -> Result<bool> {
        let begin = processor_time();
        let now = self.ticker.elapsed();
        let elapsed = now.saturating_sub(self.latest);
        if !elapsed.is_zero() {
            self.latest = now;
            self.intervals += 1;
            self.look(now);
            if now >= self.list_at || self.threads.is_empty() {
                self.list_at = now + LISTING;
                self.list();
            }
            self.admit()?;
            self.map(elapsed)?;
        }
        self.own += processor_time().saturating_sub(begin);
        Ok(!self.threads.is_empty())
    }

    /// Looks at what each thread did.
    fn look(&mut self, now: Duration) {
        let mut position = 0;
        while position < self.threads.len() {
            let thread = &mut self.threads[position];
            // Of those that sleep a part is looked at in each interval: most threads of most programs do.
            let is_due = (self.intervals + u64::from(thread.tid.unsigned_abs())).is_multiple_of(SLEEPERS);
            let sleeps = thread.slot.is_none() && thread.share < self.settings.least_share / 2.0;
            if (sleeps && !is_due) || thread.look(now, self.tick, &self.kinds.of_threads) {
                position += 1;
            } else {
                self.forget(position);
            }
        }
    }

    /// Takes note of a thread.
    fn take(&mut self, tid: i32) {
        let Ok(mask) = Mask::of_thread(tid) else { return };
        let home = self.homes.of(&mask);
        let (is_dry, kinds) = (self.settings.dry_run, self.kinds.names.len());
        let now = self.ticker.elapsed();
        match Thread::new(tid, &self.process, self.is_own, is_dry, home, kinds, now) {
            Ok(mut thread) => {
                thread.kind = self.homes.kind_of(home, &mask).filter(|_| !is_dry);
                thread.since = self.intervals;
                let position = self.threads.partition_point(|other| other.tid < tid);
                self.threads.insert(position, thread);
                self.seen += 1;
                self.number();
            }
            Err(error) if refusal::is_end(&error) => {}
            Err(error) => self.tell(2, || refusal::of_look(&called(tid, ""), &error)),
        }
    }

    /// Forgets a thread that has ended.
    fn forget(&mut self, position: usize) {
        self.unmap(position);
        let thread = self.threads.remove(position);
        self.number();
        let demand = thread.demand.get();
        self.ended.push(thread.status(Steering::Ended, demand));
        if self.ended.len() >= 2 * MOST_ENDED {
            self.ended.sort_by(|one, other| other.cpu_seconds.total_cmp(&one.cpu_seconds));
            self.ended.truncate(MOST_ENDED);
        }
    }

    /// Finds threads that have come, and affinities that others have set.
    fn list(&mut self) {
        if self.takes_new {
            let mut listed = std::mem::take(&mut self.listed);
            if files::list(&self.process, &mut listed).is_err() {
                listed.clear();
            }
            if listed.is_empty() {
                // The process has ended, also where its threads can still be looked at.
                (0..self.threads.len()).rev().for_each(|position| self.forget(position));
            }
            for &tid in &listed {
                if self.threads.binary_search_by_key(&tid, |thread| thread.tid).is_err() {
                    self.take(tid);
                }
            }
            self.listed = listed;
        }
        for position in 0..self.threads.len() {
            // The first thread of a process stays when that executes another program.
            self.threads[position].rename_if(position == 0 && self.takes_new);
            self.check_home(position);
        }
    }

    /// The mask that a thread should have.
    fn mask(&self, thread: &Thread) -> &Mask {
        self.homes.mask(thread.home, thread.kind.filter(|_| !self.settings.dry_run))
    }

    /// Where somebody else has set the affinity of a thread, that is what it has from now on.
    fn check_home(&mut self, position: usize) {
        let thread = &self.threads[position];
        let Ok(mask) = Mask::of_thread(thread.tid) else { return };
        if mask == *self.mask(thread) {
            return;
        }
        // It may be one that was given to it before: whoever reads a thread's mask and sets it again later does that.
        let home = match self.homes.kind_of(thread.home, &mask) {
            Some(_) => thread.home,
            None => self.homes.of(&mask),
        };
        let kind = self.homes.kind_of(home, &mask).filter(|_| !self.settings.dry_run);
        let thread = &mut self.threads[position];
        (thread.home, thread.kind, thread.since) = (home, kind, self.intervals);
        if let Some(slot) = thread.slot {
            let core = kind.and_then(|kind| self.kinds.a_core(kind));
            // The thread and the core are there.
            let _ = self.ftfc.place(slot, core);
        }
    }

    /// Gives threads that need something a part in the mapping, and takes it from those that need little.
    fn admit(&mut self) -> Result<()> {
        let least = self.settings.least_share;
        for position in 0..self.threads.len() {
            let thread = &mut self.threads[position];
            let may_be_mapped = !thread.is_refused && self.homes.has_choice(thread.home);
            if thread.slot.is_some() {
                if !may_be_mapped || thread.rests(least) {
                    self.unmap(position);
                    self.release(position);
                }
            } else if may_be_mapped && thread.share >= least {
                let core = thread.kind.and_then(|kind| self.kinds.a_core(kind));
                thread.slot = Some(self.ftfc.insert(core, thread.demand)?);
                self.number();
            } else if thread.kind.is_some() {
                self.release(position);
            }
        }
        Ok(())
    }

    /// Takes a thread out of the mapping, if it is there.
    fn unmap(&mut self, position: usize) {
        let Some(slot) = self.threads[position].slot.take() else { return };
        if let Some(demand) = self.ftfc.remove(slot) {
            self.threads[position].demand = demand;
        }
        let later = self.threads.iter_mut().filter_map(|thread| thread.slot.as_mut()).filter(|other| **other > slot);
        later.for_each(|other| *other -= 1);
        self.number();
    }

    /// Notes which thread has which number of the mapping.
    fn number(&mut self) {
        self.slots.clear();
        self.slots.resize(self.ftfc.demands().len(), 0);
        for (position, thread) in self.threads.iter().enumerate() {
            if let Some(slot) = thread.slot {
                self.slots[slot] = position;
            }
        }
    }

    /// Maps threads anew, and sets what changes.
    fn map(&mut self, elapsed: Duration) -> Result<()> {
        if self.slots.is_empty() {
            return Ok(());
        }
        self.usages.clear();
        for slot in 0..self.slots.len() {
            self.usages.push(self.usage(slot, elapsed));
        }
        self.before.clear();
        self.before.extend(self.ftfc.mapping().cores());
        self.ftfc.step(&self.usages)?;

        self.wishes.clear();
        self.surplus.clear();
        self.surplus.resize(self.kinds.names.len(), 0);
        for (slot, &position) in self.slots.iter().enumerate() {
            let thread = &self.threads[position];
            let Some(core) = self.ftfc.mapping().cores()[slot] else { continue };
            let nearest = self.kinds.nearest(self.kinds.of_core(core), self.homes.kinds(thread.home));
            let Some(to) = nearest else { continue };
            self.surplus[to] -= 1;
            thread.kind.inspect(|&from| self.surplus[from] += 1);
            if thread.kind != Some(to) {
                let (demand, stayed) = (self.ftfc.demands()[slot], self.intervals - thread.since);
                self.wishes.push(Wish { thread: position, from: thread.kind, to, demand, stayed });
            }
        }
        let rules = Rules {
            capacities: &self.kinds.capacities,
            saturated: self.settings.ftfc.estimator.saturated,
            saves_power: !matches!(self.settings.ftfc.algorithm, Algorithm::Rank { .. } | Algorithm::MaximiseThenSwap),
            residency: self.settings.residency,
            most: self.settings.most_migrations,
        };
        rules.grant(&mut self.wishes, &mut self.surplus);
        let wishes = std::mem::take(&mut self.wishes);
        wishes.iter().for_each(|wish| self.go(wish.thread, wish.to));
        self.wishes = wishes;
        self.place_where_they_are()
    }

    /// What a thread did, as it would have been on the core that it is mapped to.
    fn usage(&self, slot: usize, elapsed: Duration) -> Usage {
        let thread = &self.threads[self.slots[slot]];
        let mut usage = Usage { busy: share(thread.used.ran, elapsed), ready: share(thread.used.waited, elapsed) };
        // In a dry run it is elsewhere.
        let mapped = self.ftfc.mapping().cores()[slot].map(|core| self.kinds.of_core(core));
        if let (Some(found), Some(mapped)) = (thread.found_on, mapped)
            && usage.busy + usage.ready < self.settings.ftfc.estimator.saturated
        {
            usage.busy = (usage.busy * self.kinds.capacities[found] / self.kinds.capacities[mapped]).min(1.0);
        }
        usage
    }

    /// Tells the mapping of threads that did not go where it wants them.
    fn place_where_they_are(&mut self) -> Result<()> {
        for (slot, &position) in self.slots.iter().enumerate() {
            let kind = self.threads[position].kind;
            let is_on = |core: &Option<usize>| core.map(|core| self.kinds.of_core(core)) == kind;
            if !is_on(&self.ftfc.mapping().cores()[slot]) {
                let before = Some(self.before[slot]).filter(is_on);
                let core = before.unwrap_or_else(|| kind.and_then(|kind| self.kinds.a_core(kind)));
                self.ftfc.place(slot, core)?;
            }
        }
        Ok(())
    }

    /// Lets a thread go to a kind.
    fn go(&mut self, position: usize, kind: usize) {
        let before = self.threads[position].kind;
        if self.set(position, Some(kind)) && before.is_some() {
            self.threads[position].migrations += 1;
            self.migrations += 1;
        }
    }

    /// Gives a thread back what it had.
    fn release(&mut self, position: usize) {
        if self.threads[position].kind.is_some() {
            self.set(position, None);
        }
    }

    /// Sets the affinity of a thread; answers whether that was done.
    fn set(&mut self, position: usize, kind: Option<usize>) -> bool {
        let thread = &self.threads[position];
        let done = if self.settings.dry_run {
            Ok(())
        } else {
            kind.inspect(|&kind| self.homes.give(thread.home, kind));
            self.homes.mask(thread.home, kind).set(thread.tid)
        };
        match done {
            Ok(()) => {
                let thread = &mut self.threads[position];
                (thread.kind, thread.since) = (kind, self.intervals);
                true
            }
            Err(error) => {
                self.refuse(position, &error);
                false
            }
        }
    }

    /// Leaves a thread alone of which the affinity is not set, and says why.
    fn refuse(&mut self, position: usize, error: &io::Error) {
        if refusal::is_end(error) {
            return;
        }
        let thread = &mut self.threads[position];
        thread.is_refused = true;
        let called = thread.called();
        self.tell(usize::from(!refusal::is_denied(error)), || refusal::of_affinity(&called, error));
    }

    /// Tells of a refusal, once for each cause.
    fn tell(&mut self, cause: usize, note: impl FnOnce() -> String) {
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
            for _ in 0..MOST_ROUNDS {
                if !self.restore_all() {
                    break;
                }
            }
        }
        self.threads.iter_mut().for_each(|thread| thread.kind = None);
    }

    /// Gives all threads that there are back what they had; answers whether there were any to give it to.
    fn restore_all(&mut self) -> bool {
        let mut listed = std::mem::take(&mut self.listed);
        let told =
            if self.takes_new { files::list(&self.process, &mut listed) } else { Err(io::ErrorKind::Other.into()) };
        if told.is_err() {
            listed.clear();
            listed.extend(self.threads.iter().map(|thread| thread.tid));
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
        self.listed = listed;
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
            .field("process", &self.process)
            .field("settings", &self.settings)
            .finish_non_exhaustive()
    }
}

impl Drop for ThreadMapper {
    fn drop(&mut self) {
        self.restore();
    }
}

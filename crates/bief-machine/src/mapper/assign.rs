//! Which threads are mapped, to which kinds, and that they go there.

use std::io;
use std::time::Duration;

use bief_schedule::mapping::{Algorithm, Usage};

use super::moves::{Rules, Wish};
use super::refusal;
use super::thread_mapper::ThreadMapper;
use crate::error::Result;

/// Where all cores are taken, a thread is mapped in another one's place if it wants that much more of the time.
const MARGIN: f64 = 0.1;

impl ThreadMapper {
    /// Leaves all threads to the system while they want more than all cores have.
    pub(super) fn yield_to_crowds(&mut self, elapsed: Duration) -> Result<()> {
        if !self.settings.yields {
            return Ok(());
        }
        let before = self.crowding.is_crowded();
        if self.crowding.update(self.wanted, self.kinds.number()) {
            self.crowded += elapsed;
            if !before {
                (0..self.threads.len()).try_for_each(|position| self.judge(position))?;
            }
        }
        Ok(())
    }

    /// Gives a thread that needs something a part in the mapping, and takes it from one that needs little.
    pub(super) fn judge(&mut self, position: usize) -> Result<()> {
        let is_mapped = self.threads[position].slot.is_some();
        let rests = is_mapped && self.threads[position].rests(self.settings.min_share, self.intervals);
        if self.crowding.is_crowded() || rests || !self.may_be_mapped(position) {
            self.unmap(position);
            self.release(position);
        } else if !is_mapped && self.has_room_for(position) {
            self.enter(position)?;
        }
        Ok(())
    }

    /// Whether there is a core for a thread: one that is left, or that of the thread which wants the least, and much less than this
    /// one. That is then left to the system.
    fn has_room_for(&mut self, position: usize) -> bool {
        if self.slots.len() < self.kinds.number() {
            return true;
        }
        let wants = |position: usize| self.threads[position].wants();
        let least = self.slots.iter().copied().min_by(|&one, &other| wants(one).total_cmp(&wants(other)));
        let Some(least) = least.filter(|&least| wants(least) + MARGIN < wants(position)) else { return false };
        self.unmap(least);
        self.release(least);
        true
    }

    /// Gives a thread a part in the mapping.
    fn enter(&mut self, position: usize) -> Result<()> {
        self.check_home(position);
        let thread = &self.threads[position];
        let core = thread.kind.and_then(|kind| self.kinds.a_core(kind));
        let slot = self.ftfc.insert(core, thread.demand)?;
        self.threads[position].slot = Some(slot);
        self.number();
        Ok(())
    }

    /// Whether there is a choice of kinds for a thread.
    fn may_go(&self, position: usize) -> bool {
        let thread = &self.threads[position];
        !thread.is_refused && self.homes.has_choice(thread.home)
    }

    /// Whether a thread is mapped, or would be if there were not too many.
    pub(super) fn may_be_mapped(&self, position: usize) -> bool {
        let thread = &self.threads[position];
        self.may_go(position) && (thread.slot.is_some() || thread.share >= self.settings.min_share)
    }

    /// Takes a thread out of the mapping, if it is there.
    pub(super) fn unmap(&mut self, position: usize) {
        let Some(slot) = self.threads[position].slot.take() else { return };
        if let Some(demand) = self.ftfc.remove(slot) {
            self.threads[position].demand = demand;
        }
        let later = self.threads.iter_mut().filter_map(|thread| thread.slot.as_mut()).filter(|other| **other > slot);
        later.for_each(|other| *other -= 1);
        self.number();
    }

    /// Notes which thread has which number of the mapping.
    pub(super) fn number(&mut self) {
        self.slots.clear();
        self.slots.resize(self.ftfc.demands().len(), 0);
        for (position, thread) in self.threads.iter().enumerate() {
            if let Some(slot) = thread.slot {
                self.slots[slot] = position;
            }
        }
    }

    /// Maps threads anew, and sets what changes.
    pub(super) fn map(&mut self) -> Result<()> {
        if self.slots.is_empty() {
            return Ok(());
        }
        self.usages.clear();
        for slot in 0..self.slots.len() {
            self.usages.push(self.usage(slot));
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
            most: self.settings.max_migrations,
        };
        rules.grant(&mut self.wishes, &mut self.surplus);
        let wishes = std::mem::take(&mut self.wishes);
        wishes.iter().for_each(|wish| self.go(wish.thread, wish.to));
        self.wishes = wishes;
        self.place_where_they_are()
    }

    /// What a thread did, as it would have been on the core that it is mapped to.
    fn usage(&self, slot: usize) -> Usage {
        let thread = &self.threads[self.slots[slot]];
        let mut usage = thread.usage;
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
    pub(super) fn release(&mut self, position: usize) {
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
}

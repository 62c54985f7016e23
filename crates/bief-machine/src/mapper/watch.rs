//! Which threads there are, what they do, and the affinity that they have.

use std::time::Duration;

use super::refusal;
use super::report::Steering;
use super::thread::{Thread, called};
use super::thread_mapper::ThreadMapper;
use crate::affinity::Mask;
use crate::error::Result;

/// Of intervals that are longer, fewer are left out for threads that want little.
const USUAL: Duration = Duration::from_millis(5);
/// How many threads that have ended are remembered: those that had the most processor time.
const MAX_ENDED: usize = 1000;

impl ThreadMapper {
    /// Looks at what threads did, and gives them a part in the mapping, or takes it from them. Of those that want little some are
    /// left out in each interval: most threads of most programs do, and are not in any cache when it begins.
    pub(super) fn look(&mut self, now: Duration) -> Result<()> {
        let usual = (USUAL.as_secs_f64() / self.settings.interval.as_secs_f64()).min(1.0);
        let mut position = 0;
        while position < self.threads.len() {
            let thread = &self.threads[position];
            let skips = (thread.turns(self.settings.min_share) - 1) as f64 * usual;
            if !(self.intervals + u64::from(thread.tid.unsigned_abs())).is_multiple_of(skips as u64 + 1) {
                position += 1;
                continue;
            }
            let counts = self.may_be_mapped(position);
            let thread = &mut self.threads[position];
            if !thread.look(now, self.tick, counts, &self.kinds.of_threads) {
                self.forget(position);
                continue;
            }
            let wants = if counts { thread.wants() } else { 0.0 };
            self.wanted += wants - std::mem::replace(&mut thread.counted, wants);
            self.judge(position)?;
            position += 1;
        }
        Ok(())
    }

    /// Takes note of a thread.
    pub(super) fn take(&mut self, tid: i32) {
        let Ok(mask) = Mask::of_thread(tid) else { return };
        let home = self.homes.of(&mask);
        let (is_dry, kinds) = (self.settings.dry_run, self.kinds.names.len());
        let now = self.ticker.elapsed();
        match Thread::new(tid, &self.listing.process, self.is_own, is_dry, home, kinds, now) {
            Ok(mut thread) => {
                thread.kind = self.homes.kind_of(home, &mask).filter(|_| !is_dry);
                thread.since = self.intervals;
                let position = self.threads.partition_point(|other| other.tid < tid);
                self.threads.insert(position, thread);
                self.seen += 1;
                self.number();
                // One that was born on a kind.
                self.release(position);
            }
            Err(error) if refusal::is_end(&error) => {}
            Err(error) => self.tell(2, || refusal::of_look(&called(tid, ""), &error)),
        }
    }

    /// Forgets a thread that has ended.
    fn forget(&mut self, position: usize) {
        self.unmap(position);
        let thread = self.threads.remove(position);
        self.one_has_ended = true;
        self.wanted -= thread.counted;
        self.number();
        let demand = thread.demand.get();
        self.ended.push(thread.status(Steering::Ended, demand));
        if self.ended.len() >= 2 * MAX_ENDED {
            self.ended.sort_by(|one, other| other.cpu_seconds.total_cmp(&one.cpu_seconds));
            self.ended.truncate(MAX_ENDED);
        }
    }

    /// Finds threads that have come, and affinities that others have set.
    pub(super) fn list(&mut self, now: Duration) {
        let lists = self.takes_new && self.listing.update(now, std::mem::take(&mut self.one_has_ended));
        if lists {
            let listed = std::mem::take(&mut self.listing.threads);
            if listed.is_empty() {
                // The process has ended, also where its threads can still be looked at.
                (0..self.threads.len()).rev().for_each(|position| self.forget(position));
            }
            for &tid in &listed {
                if self.threads.binary_search_by_key(&tid, |thread| thread.tid).is_err() {
                    self.take(tid);
                }
            }
            self.listing.threads = listed;
        }
        for position in 0..self.threads.len() {
            if lists {
                // The first thread of a process stays when that executes another program.
                self.threads[position].rename_if(position == 0);
            }
            // Of those that are not mapped it does not matter yet.
            if lists || self.threads[position].kind.is_some() {
                self.check_home(position);
            }
        }
    }

    /// The mask that a thread should have.
    fn mask(&self, thread: &Thread) -> &Mask {
        self.homes.mask(thread.home, thread.kind.filter(|_| !self.settings.dry_run))
    }

    /// Where somebody else has set the affinity of a thread, that is what it has from now on.
    pub(super) fn check_home(&mut self, position: usize) {
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
}

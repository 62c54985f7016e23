//! How a thread waits for another: by default it looks again for a short while, then it parks and leaves its core.

use std::iter::Sum;
use std::sync::Arc;
use std::time::Duration;

use crate::affinity;
use crate::barrier::Barrier;
use crate::error::{Error, Result};
use crate::per_core;
use crate::slices::{Lost, SLICE, Slices};
use crate::suggest::suggestion;
use crate::sync::{AtomicUsize, Instant, MODEL, Mutex, Ordering, parking, spin_loop, thread};

/// How the threads of a pipeline wait for each other's frames; set by [`Pipeline::waiting`](crate::Pipeline::waiting).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Waiting {
    /// Looks again for about as long as a wake-up takes, some 50 us, then leaves its core until it is woken. Where looking
    /// did not pay lately, because frames are slow or other programs take the cores, it leaves its core at once most times.
    /// Where the pipeline's threads outnumber the cores that they may use, it lets others run before each look, unless another program
    /// takes the core then; and before its next batch a replica lets a thread run that is the only one of its stage and wants the same core.
    #[default]
    Adaptive,
    /// Leaves its core at once: the least power, and a wake-up for every wait.
    Passive,
    /// Looks again for as long as it takes: the shortest hand-over, on cores that have nothing else to do. Where the
    /// pipeline's threads outnumber the cores, it lets other threads run in between.
    Active,
}

impl Waiting {
    /// Every way, by its name.
    pub const NAMED: [(&str, Self); 3] =
        [("adaptive", Self::Adaptive), ("passive", Self::Passive), ("active", Self::Active)];
}

impl std::str::FromStr for Waiting {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        let found = Self::NAMED.iter().find(|(known, _)| *known == name);
        found.map(|&(_, waiting)| waiting).ok_or_else(|| {
            Error::build(format!(
                "there is no way to wait named `{name}`{}",
                suggestion(name, Self::NAMED.map(|(name, _)| name))
            ))
        })
    }
}

/// How one end of a ring waits, with what it has learnt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WaitPolicy {
    /// Parks at once.
    Park,
    /// Never parks.
    Look(Look),
    /// Looks for a while if that paid lately, then parks.
    Adapt(Look, Trial),
}

/// How a thread looks again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Look {
    /// At once, keeping its core.
    Spin,
    /// After other threads had the core: if the pipeline's threads outnumber the cores, a spinning thread only keeps the one
    /// that it waits for from running.
    Yield,
}

impl WaitPolicy {
    /// When `threads` run on `cores`.
    pub(crate) fn new(waiting: Waiting, threads: usize, cores: usize) -> Self {
        let look = if threads > cores { Look::Yield } else { Look::Spin };
        if look == Look::Spin && waiting != Waiting::Passive {
            // Measured now, not at the end of a run that it would make longer.
            look_ns();
        }
        match waiting {
            Waiting::Active => Self::Look(look),
            Waiting::Adaptive => Self::Adapt(look, Trial::default()),
            Waiting::Passive => Self::Park,
        }
    }

    /// Whether threads are woken on cores on which others of the pipeline work.
    pub(crate) fn shares_cores(&self) -> bool {
        matches!(self, Self::Adapt(Look::Yield, _))
    }

    /// Lets others run before this thread takes work that another one could do as well, if a thread that nobody can stand in for wants this
    /// core. Answers how long they ran.
    pub(crate) fn give_way(&self) -> Option<Duration> {
        if !self.shares_cores() || !per_core::is_wanted() {
            return None;
        }
        let start = Instant::now();
        thread::yield_now();
        Some(start.elapsed())
    }

    /// How to look, and how often before parking.
    fn plan(&mut self) -> (Look, u64) {
        match self {
            Self::Park => (Look::Yield, 0),
            Self::Look(look) => (*look, u64::MAX),
            Self::Adapt(look, trial) => (*look, if trial.is_due() { look.longest() } else { 0 }),
        }
    }

    /// Notes whether looking found what was waited for, and how long it and the longest of the looks took; tells of lost slices.
    fn learn(&mut self, found: bool, took: Duration, longest: Duration, lost: &Lost) {
        match self {
            Self::Adapt(Look::Spin, trial) => trial.learn(found && took < INTERRUPTED),
            Self::Adapt(Look::Yield, trial) => {
                trial.learn(found);
                trial.slices.learn(longest, lost);
            }
            Self::Park | Self::Look(_) => {}
        }
    }
}

impl Look {
    /// Looks up to `times` times; answers at which one it was ready.
    fn until(self, times: u64, ready: &mut impl FnMut() -> bool) -> Option<u64> {
        (1..=times).find(|_| {
            match self {
                Self::Spin => spin_loop(),
                Self::Yield => thread::yield_now(),
            }
            ready()
        })
    }

    /// The same, as long as the core comes back soon; answers whether it was ready, and how long the longest look took of those that
    /// let others run.
    fn until_late(self, times: u64, start: Instant, ready: &mut impl FnMut() -> bool) -> (bool, Duration) {
        if self == Self::Spin {
            return (self.until(times, ready).is_some(), Duration::ZERO);
        }
        let (mut before, mut longest) = (Duration::ZERO, Duration::ZERO);
        for _ in 0..times {
            thread::yield_now();
            let is_ready = ready();
            let now = start.elapsed();
            longest = longest.max(now.saturating_sub(before));
            before = now;
            if is_ready || longest >= SLICE {
                return (is_ready, longest);
            }
        }
        (false, longest)
    }

    /// Looks that take about as long as a wake-up: waiting so costs at most twice what the better choice would have cost.
    fn longest(self) -> u64 {
        match self {
            _ if MODEL => 2,
            Self::Spin => (WAKE_UP_NS / look_ns()) as u64,
            Self::Yield => 40,
        }
    }
}

/// What a wake-up takes, about, where the woken thread's core sleeps.
const WAKE_UP_NS: f64 = 50_000.0;
/// As many looks take less time than it is worth to measure.
const SHORT: u64 = if MODEL { 1 } else { 100 };
/// Looking took longer than it can: the core was given to another program meanwhile, so parking had been better.
const INTERRUPTED: Duration = Duration::from_micros(100);
/// Most waits that park at once before looking is tried again.
const MOST_PARKED: u32 = 256;

/// Whether looking pays: after each time that it did not, it is tried half as often.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Trial {
    /// Waits that park at once before the next one looks.
    parked: u32,
    /// How many those were the last time.
    backoff: u32,
    /// What letting others run costs.
    slices: Slices,
}

impl Trial {
    /// Whether it is time to look.
    fn is_due(&mut self) -> bool {
        let due = self.parked == 0 && !self.slices.are_lost();
        self.parked = self.parked.saturating_sub(1);
        due
    }

    fn learn(&mut self, paid: bool) {
        self.backoff = if paid { 0 } else { (2 * self.backoff).clamp(1, MOST_PARKED) };
        self.parked = self.backoff;
    }
}

/// How often and how long one end of a ring waited.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Waited {
    /// Counted by who waits: not every wait ends with a slot.
    pub(crate) times: u64,
    /// The shortest waits, counted in looks: to read the clock would take as long as they.
    looks: u64,
    timed: Duration,
}

impl Waited {
    /// Notes that others had the core for so long.
    pub(crate) fn gave_way(&mut self, took: Duration) {
        self.timed += took;
    }

    pub(crate) fn duration(&self) -> Duration {
        let looked = if self.looks > 0 { self.looks as f64 * look_ns() } else { 0.0 };
        self.timed + Duration::from_nanos(looked as u64)
    }
}

impl Sum for Waited {
    fn sum<I: Iterator<Item = Self>>(parts: I) -> Self {
        parts.fold(Self::default(), |sum, part| Self {
            times: sum.times + part.times,
            looks: sum.looks + part.looks,
            timed: sum.timed + part.timed,
        })
    }
}

/// What one look takes, on this machine.
fn look_ns() -> f64 {
    static LOOK: std::sync::OnceLock<f64> = std::sync::OnceLock::new();
    if MODEL {
        return 1.0;
    }
    *LOOK.get_or_init(|| {
        let looks = || {
            let start = Instant::now();
            Look::Spin.until(1000, &mut || false);
            start.elapsed()
        };
        let ns = (0..10).map(|_| looks()).min().unwrap_or_default().as_nanos() as f64 / 1000.0;
        // A clock that ticks slowly may see none of it.
        ns.max(1.0)
    })
}

/// One side of a hand-over: threads wait here, any thread may wake them.
#[derive(Debug)]
pub(crate) struct Signal {
    /// How many threads are about to park, or have.
    waiting: AtomicUsize,
    waiters: Mutex<Vec<Waiter>>,
    /// `None` if nobody ever parks.
    barrier: Option<Barrier>,
    /// Whether each thread is meant to have a core of its own.
    apart: bool,
    /// The core of whoever woke a waiting thread last.
    waker: AtomicUsize,
    lost: Arc<Lost>,
}

/// A thread that waits, and the key that it waits under.
#[derive(Debug)]
struct Waiter {
    key: u64,
    thread: parking::Thread,
}

/// Between waits of this length it does not matter where a thread is woken, and the system moves one that stays busy.
const SELDOM: Duration = Duration::from_millis(1);
/// No core that the system knows.
const NOWHERE: usize = usize::MAX;

impl Signal {
    /// For so many threads that wait with this policy, and tell of slices that they lose.
    pub(crate) fn new(policy: WaitPolicy, threads: usize, lost: Arc<Lost>) -> Self {
        let barrier = match policy {
            WaitPolicy::Look(_) => None,
            // Frames are many, parks are few.
            WaitPolicy::Adapt(Look::Spin, _) => Some(Barrier::cheapest()),
            // Threads that share cores park as often as they hand over, while another program takes these.
            WaitPolicy::Adapt(Look::Yield, _) | WaitPolicy::Park => Some(Barrier::Even),
        };
        Self {
            waiting: AtomicUsize::new(0),
            waiters: Mutex::new(Vec::with_capacity(threads)),
            barrier,
            apart: matches!(policy, WaitPolicy::Adapt(Look::Spin, _)),
            waker: AtomicUsize::new(NOWHERE),
            lost,
        }
    }

    /// Returns once `ready` is true; answers whether it was not at first. Who makes it true must wake this thread afterwards. `key`: what
    /// no other of those has that wait here.
    pub(crate) fn wait(
        &self,
        key: u64,
        policy: &mut WaitPolicy,
        waited: &mut Waited,
        ready: impl FnMut() -> bool,
    ) -> bool {
        self.wait_unless(|| false, key, policy, waited, ready)
    }

    /// As [`wait`](Self::wait), but returns instead of parking if `helped` is true then.
    pub(crate) fn wait_unless(
        &self,
        helped: impl FnOnce() -> bool,
        key: u64,
        policy: &mut WaitPolicy,
        waited: &mut Waited,
        mut ready: impl FnMut() -> bool,
    ) -> bool {
        if ready() {
            return false;
        }
        let _away = per_core::Away::new();
        let (look, looks) = policy.plan();
        let short = if look == Look::Spin { looks.min(SHORT) } else { 0 };
        let found = look.until(short, &mut ready);
        waited.looks += found.unwrap_or(short);
        if found.is_some() {
            policy.learn(true, Duration::ZERO, Duration::ZERO, &self.lost);
            return true;
        }
        let start = Instant::now();
        let may_park = self.barrier.is_some();
        let (found, longest) = match may_park {
            true => look.until_late(looks - short, start, &mut ready),
            false => (look.until(looks - short, &mut ready).is_some(), Duration::ZERO),
        };
        if looks > 0 {
            policy.learn(found, start.elapsed(), longest, &self.lost);
        }
        if !found && !helped() {
            self.park(key, start, ready);
        }
        waited.timed += start.elapsed();
        true
    }

    /// Parks, in a wait that began at `start`.
    fn park(&self, key: u64, start: Instant, mut ready: impl FnMut() -> bool) {
        let barrier = self.barrier.expect("only a thread that may park does");
        loop {
            self.change(|waiters| {
                // A thread may return from its park without being woken.
                if waiters.iter().all(|waiter| waiter.key != key) {
                    waiters.push(Waiter { key, thread: parking::current() });
                }
            });
            // Pairs with the fence in `rouse`: either this thread sees what made it ready, or the other sees it waiting.
            barrier.heavy();
            if ready() {
                self.change(|waiters| waiters.retain(|waiter| waiter.key != key));
                return;
            }
            parking::park();
            // Whoever woke this thread goes on with the next frame: on one core, they would take turns.
            if self.apart
                && start.elapsed() < SELDOM
                && let Some(core) = affinity::current()
                && core == self.waker.swap(NOWHERE, Ordering::Relaxed)
            {
                affinity::leave(core);
            }
        }
    }

    /// Wakes one of the waiting threads, if there is any and something for it. A load when there is none.
    pub(crate) fn wake_one(&self, ready: impl FnOnce() -> bool) {
        self.rouse(|waiters| ready().then(|| waiters.pop())?);
    }

    /// Wakes all waiting threads.
    pub(crate) fn wake_all(&self) {
        while self.rouse(|waiters| waiters.pop()) {}
    }

    /// Wakes the thread that `choose` takes away; answers whether there was one.
    fn rouse(&self, choose: impl FnOnce(&mut Vec<Waiter>) -> Option<Waiter>) -> bool {
        let Some(barrier) = self.barrier else { return false };
        barrier.light();
        if self.waiting.load(Ordering::Relaxed) == 0 {
            return false;
        }
        let chosen = self.change(choose);
        if let Some(waiter) = &chosen {
            if self.apart {
                self.waker.store(affinity::current().unwrap_or(NOWHERE), Ordering::Relaxed);
            }
            waiter.thread.unpark();
        }
        chosen.is_some()
    }

    /// Changes who waits, and says how many do.
    fn change<R>(&self, change: impl FnOnce(&mut Vec<Waiter>) -> R) -> R {
        let mut waiters = self.waiters.lock().expect("no thread panics while it holds this lock");
        let changed = change(&mut waiters);
        // An exchange: loom loses the order of a store that overwrites another one.
        self.waiting.swap(waiters.len(), Ordering::Relaxed);
        changed
    }
}

#[cfg(all(test, not(any(bief_loom, bief_shuttle))))]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::AtomicBool;

    #[test]
    fn threads_that_outnumber_the_cores_do_not_keep_them() {
        let fresh = Trial::default();
        assert_eq!(WaitPolicy::new(Waiting::Adaptive, 2, 2), WaitPolicy::Adapt(Look::Spin, fresh));
        assert_eq!(WaitPolicy::new(Waiting::Adaptive, 3, 2), WaitPolicy::Adapt(Look::Yield, fresh));
        assert_eq!(WaitPolicy::new(Waiting::Active, 2, 2), WaitPolicy::Look(Look::Spin));
        assert_eq!(WaitPolicy::new(Waiting::Active, 3, 2), WaitPolicy::Look(Look::Yield));
        assert_eq!(WaitPolicy::new(Waiting::Passive, 1, 2), WaitPolicy::Park);
    }

    #[test]
    fn looking_is_tried_less_often_while_it_does_not_pay_and_at_once_when_it_does() {
        let mut trial = Trial::default();
        let mut tries = Vec::new();
        for wait in 0..1500 {
            if trial.is_due() {
                tries.push(wait);
                trial.learn(false);
            }
        }
        assert_eq!(tries, [0, 2, 5, 10, 19, 36, 69, 134, 263, 520, 777, 1034, 1291]);
        trial.learn(true);
        assert!(trial.is_due(), "it paid: the next wait looks");
    }

    #[test]
    fn a_thread_gives_way_only_where_cores_are_shared_and_one_that_nobody_stands_in_for_wants_its_core() {
        let Some(core) = affinity::current() else { return };
        let (tell, told) = std::sync::mpsc::channel();
        let (answer, answers) = std::sync::mpsc::channel();
        let other = std::thread::spawn(move || {
            let only = affinity::pin(&[core]).ok().map(|()| per_core::Only::new());
            answer.send(only.is_some()).unwrap();
            told.recv().unwrap();
        });
        let is_there = answers.recv().unwrap() && affinity::pin(&[core]).is_ok();
        if is_there {
            assert!(WaitPolicy::new(Waiting::Adaptive, 3, 2).give_way().is_some());
            assert!(WaitPolicy::new(Waiting::Adaptive, 2, 2).give_way().is_none());
            assert!(WaitPolicy::new(Waiting::Active, 3, 2).give_way().is_none());
        }
        tell.send(()).unwrap();
        other.join().unwrap();
    }

    #[test]
    fn a_waiting_thread_goes_on_however_it_waits() {
        for waiting in [Waiting::Adaptive, Waiting::Passive, Waiting::Active] {
            for cores in [1, 2] {
                let mut policy = WaitPolicy::new(waiting, 2, cores);
                let shared =
                    Arc::new((Signal::new(policy, 1, std::sync::Arc::new(Lost::new())), AtomicBool::new(false)));
                let waiter = std::thread::spawn({
                    let shared = Arc::clone(&shared);
                    let mut waited = Waited::default();
                    move || {
                        let had_to = shared.0.wait(0, &mut policy, &mut waited, || shared.1.load(Ordering::Acquire));
                        had_to || waited.duration().is_zero()
                    }
                });
                std::thread::sleep(std::time::Duration::from_millis(5));
                shared.1.store(true, Ordering::Release);
                shared.0.wake_one(|| true);
                assert!(waiter.join().unwrap(), "who did not wait took no time");
            }
        }
    }
}

/// Every interleaving, by the model checker.
#[cfg(all(test, bief_loom))]
mod model {
    use super::*;
    use crate::sync::{Arc, AtomicUsize};

    /// Every way to wait, with what an adaptive one may have learnt.
    const POLICIES: [WaitPolicy; 4] = [
        WaitPolicy::Park,
        WaitPolicy::Adapt(Look::Spin, Trial { parked: 0, backoff: 0, slices: Slices::NONE }),
        WaitPolicy::Adapt(Look::Yield, Trial { parked: 1, backoff: 1, slices: Slices::NONE }),
        WaitPolicy::Look(Look::Yield),
    ];

    /// One thread waits for one wake-up after the other, given by so many threads in so many turns.
    fn every_wake_up_arrives(wakers: usize, turns: usize) {
        for policy in POLICIES {
            let mut builder = loom::model::Builder::new();
            builder.preemption_bound = Some(3);
            builder.check(move || {
                let shared = Arc::new((Signal::new(policy, 1, std::sync::Arc::new(Lost::new())), AtomicUsize::new(0)));
                let waits = {
                    let (shared, mut policy) = (Arc::clone(&shared), policy);
                    move || {
                        for count in 1..=wakers * turns {
                            let ready = || shared.1.load(Ordering::Acquire) >= count;
                            shared.0.wait(0, &mut policy, &mut Waited::default(), ready);
                        }
                    }
                };
                let wakes = move || {
                    for _ in 0..turns {
                        shared.1.fetch_add(1, Ordering::Release);
                        shared.0.wake_one(|| true);
                    }
                };
                // The thread that joins must not be the one that is woken: loom takes a late wake-up for what it waits for.
                let mut threads = vec![thread::spawn(waits)];
                threads.extend((0..wakers).map(|_| thread::spawn(wakes.clone())));
                threads.into_iter().for_each(|thread| thread.join().unwrap());
            });
        }
    }

    #[test]
    fn a_wake_up_is_never_lost() {
        every_wake_up_arrives(1, 3);
    }

    #[test]
    fn either_of_two_threads_wakes() {
        every_wake_up_arrives(2, 1);
    }
}

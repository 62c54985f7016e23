//! The machine that reads the stream: its window, what is sent to workers, and what its own cores do in their place.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, TryLockError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use bief::report::Figures;
use bief::{Error, Result};
use bief_link::message::Malformed;
use bief_link::{Leaving, Limits, Message, Window, WorkerId};

use crate::buffer::{Buffer, Buffers, Payload};
use crate::own::{OwnCores, OwnFrames};
use crate::tally::{Tally, WorkerTally};
use crate::told;

/// Bytes before the wires of a frame, or a few more.
const HEAD: usize = 32;
/// Where frames wait for workers, so many results are collected at a time, or as many as come in this time: a thread that is woken for
/// each costs more than what it does.
const AT_A_TIME: usize = 16;
const OFTEN: Duration = Duration::from_millis(1);
/// At most so many frames wait for credit: caches hold what is written, sent and used again.
const MOST_WAITING: usize = 24;
/// Whoever has more sleeps until no more than so many wait, and is woken for several at a time ...
const FEW_WAITING: usize = 8;
/// ... or for this long.
const SOON: Duration = Duration::from_millis(10);
/// How often workers are asked what their tasks tell.
const ASK: Duration = Duration::from_secs(1);
/// How long the last words of workers are waited for at the end of a run.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// What carries messages to workers, in their order. It must not wait, as it is called by whoever has a frame and by threads of the
/// network, and never calls the front; credit keeps a worker from getting more than it takes. It may lose messages, and must
/// [tell](Front::gone) when a worker is gone.
pub trait Carrier: Send + Sync + 'static {
    /// Sends a message to a worker. To one that is gone it goes nowhere.
    fn send(&self, worker: WorkerId, letter: Letter);
}

/// A message to a worker, on its way.
#[derive(Debug)]
pub struct Letter {
    /// What it begins with.
    pub head: Vec<u8>,
    /// The bytes behind that, if it has some.
    pub payload: Option<Payload>,
    /// Frames that the worker has not answered for, as far as is known, that of this message among them: no more can be on their way.
    pub open: usize,
}

/// What a message of a worker told, beyond frames.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Told {
    /// It has made the tasks, and works from now on.
    Ready(WorkerId),
    /// It cannot make them, for this reason.
    Refused(WorkerId, String),
    /// It has left, by its own will.
    Left(WorkerId),
}

/// What [`Dispatch`](crate::Dispatch), [`Collect`](crate::Collect) and a network share. Clones are the same.
#[derive(Clone)]
pub struct Front(Arc<Inner>);

struct Inner {
    number: u32,
    begin: Instant,
    own: OwnCores,
    buffers: Buffers,
    carrier: Box<dyn Carrier>,
    state: Mutex<State>,
    /// Messages that are to be sent, in their order; whoever can have `sends` sends them.
    letters: Mutex<VecDeque<(WorkerId, Letter)>>,
    sends: Mutex<()>,
    /// The run is over.
    ends: Condvar,
    /// Something came.
    came: Condvar,
    /// There is room for more frames.
    room: Condvar,
    clock: Mutex<Option<JoinHandle<()>>>,
}

struct State {
    /// Frames as bytes of their wires; results as messages.
    window: Window<Payload, (WorkerId, Buffer)>,
    /// Those that were welcomed and have not gone, ready or not.
    workers: BTreeMap<WorkerId, Known>,
    welcomed: u32,
    own: OwnFrames,
    tally: Tally,
    /// What the tasks of each worker told last, also of those that have gone.
    told: BTreeMap<WorkerId, Figures>,
    /// Workers whose last words have not come.
    owing: BTreeSet<WorkerId>,
    /// What is called when the first worker is ready.
    helped: Option<Box<dyn FnOnce() + Send>>,
    /// Whoever sends frames waits for fewer that wait.
    sender_waits: bool,
    /// Whoever collects waits to be told that something came.
    collector_waits: bool,
    /// When that was last told.
    told_at: Duration,
    has_ended: bool,
}

/// A worker that is there.
struct Known {
    name: String,
    /// Since when it works.
    since: Option<Duration>,
}

/// What is to become of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    /// Cores of this machine do it in place.
    Here,
    /// It leaves.
    Away,
}

impl Front {
    /// A front, which a number tells from others of the pool. `limits` must allow as many frames as may be between `Dispatch` and
    /// `Collect`.
    ///
    /// # Errors
    /// No thread can be started.
    pub fn new(number: u32, limits: Limits, own: OwnCores, carrier: impl Carrier) -> Result<Self> {
        let state = State {
            window: Window::new(limits),
            workers: BTreeMap::new(),
            welcomed: 0,
            own: OwnFrames::new(own),
            tally: Tally::default(),
            told: BTreeMap::new(),
            owing: BTreeSet::new(),
            helped: None,
            sender_waits: false,
            collector_waits: false,
            told_at: Duration::ZERO,
            has_ended: false,
        };
        let front = Self(Arc::new(Inner {
            number,
            begin: Instant::now(),
            own,
            buffers: Buffers::default(),
            carrier: Box::new(carrier),
            state: Mutex::new(state),
            letters: Mutex::default(),
            sends: Mutex::default(),
            ends: Condvar::new(),
            came: Condvar::new(),
            room: Condvar::new(),
            clock: Mutex::new(None),
        }));
        let inner = Arc::clone(&front.0);
        let look = limits.least_late.min(ASK);
        let clock = thread::Builder::new().name("pool".into()).spawn(move || inner.watch_clock(look));
        *front.0.clock.lock().unwrap_or_else(PoisonError::into_inner) = Some(clock?);
        Ok(front)
    }

    /// Its number.
    pub fn number(&self) -> u32 {
        self.0.number
    }

    /// The cores of this machine that do the work of workers.
    pub(crate) fn own(&self) -> OwnCores {
        self.0.own
    }

    /// Where messages that come may lie.
    pub fn buffers(&self) -> &Buffers {
        &self.0.buffers
    }

    /// Calls `helped` when the first worker is ready, or now if one is or was.
    pub(crate) fn when_helped(&self, helped: impl FnOnce() + Send + 'static) {
        let mut state = self.0.lock();
        if state.tally.is_empty() {
            state.helped = Some(Box::new(helped));
        } else {
            drop(state);
            helped();
        }
    }

    /// A worker has come: all messages to it and from it name this run, `number << 32` and a count. One that comes back gets another.
    /// It gets frames when it says that it is ready.
    pub fn welcome(&self, name: &str) -> WorkerId {
        let mut state = self.0.lock();
        let worker = WorkerId(u64::from(self.0.number) << 32 | u64::from(state.welcomed));
        state.welcomed = state.welcomed.wrapping_add(1);
        state.workers.insert(worker, Known { name: name.to_owned(), since: None });
        worker
    }

    /// A worker has gone.
    pub fn gone(&self, worker: WorkerId, how: Leaving) {
        let mut state = self.0.lock();
        state.leave(worker, how, self.0.begin.elapsed());
        self.0.go_on(&mut state);
        drop(state);
        self.0.send();
        self.0.came.notify_all();
    }

    /// Takes what a worker sent. What is of a worker that has gone, or of another front, is passed over, but for last words.
    ///
    /// # Errors
    /// What is no message of a worker: whoever sends it is to be left out.
    pub fn take(&self, bytes: impl Into<Buffer>) -> Result<Option<Told>, Malformed> {
        let bytes = bytes.into();
        let message = Message::read(&bytes)?;
        let worker = WorkerId(message.run());
        let mut guard = self.0.lock();
        let state = &mut *guard;
        if let Message::Told { figures, .. } = message {
            let is_ours = worker.0 >> 32 == u64::from(self.0.number) && (worker.0 as u32) < state.welcomed;
            if let Some(figures) = told::read(figures).filter(|_| is_ours) {
                state.told.insert(worker, figures);
            }
            if state.owing.remove(&worker) {
                self.0.came.notify_all();
            }
            return Ok(None);
        }
        let Some(known) = state.workers.get_mut(&worker) else { return Ok(None) };
        let now = self.0.begin.elapsed();
        let mut told = None;
        let holding = match message {
            Message::Ready { cores, credit, .. } => {
                // It may say so twice: it works already.
                if known.since.is_none() {
                    known.since = Some(now);
                    state.window.join(worker, cores as usize, credit as usize);
                    state.tally.came(worker, &known.name, cores);
                    told = Some(Told::Ready(worker));
                }
                None
            }
            Message::Refused { reason, .. } => {
                told = Some(Told::Refused(worker, reason.to_owned()));
                state.leave(worker, Leaving::InOrder, now);
                None
            }
            Message::Leave { .. } => {
                told = Some(Told::Left(worker));
                state.leave(worker, Leaving::InOrder, now);
                None
            }
            Message::Answer { number, holding, .. } => Some((Some(number), holding)),
            Message::Report { holding, .. } => Some((None, holding)),
            Message::Begin { .. }
            | Message::Frame { .. }
            | Message::Ask { .. }
            | Message::Tell { .. }
            | Message::Told { .. }
            | Message::End { .. } => {
                return Err(Malformed::Foreign);
            }
        };
        if let Some((number, holding)) = holding {
            let (seen, held) = (holding.seen, holding.numbers().collect::<Vec<_>>());
            if let Some(number) = number {
                state.window.answer(worker, number, (worker, bytes), now);
            }
            state.window.report(worker, seen, &held);
        }
        let is_news = told.is_some() || state.is_to_be_collected(now);
        if is_news {
            (state.collector_waits, state.told_at) = (false, now);
        }
        let helped = if matches!(told, Some(Told::Ready(_))) { state.helped.take() } else { None };
        self.0.go_on(state);
        drop(guard);
        if let Some(helped) = helped {
            helped();
        }
        if is_news {
            self.0.came.notify_all();
        }
        self.0.send();
        Ok(told)
    }

    /// Whether any worker is there and ready.
    pub fn has_workers(&self) -> bool {
        self.0.lock().window.has_workers()
    }

    /// Whether frames are with workers, or wait for some.
    pub fn has_frames(&self) -> bool {
        !self.0.lock().window.is_empty()
    }

    /// Whether the run ends at a frame over which too many workers were lost.
    pub fn is_poisoned(&self) -> bool {
        self.0.lock().window.is_poisoned()
    }

    /// What each worker did so far, by name, and this machine in their place.
    pub fn tally(&self) -> Vec<WorkerTally> {
        let state = self.0.lock();
        let now = self.0.begin.elapsed();
        let here = state.workers.iter().filter_map(|(&worker, known)| Some((worker, now.saturating_sub(known.since?))));
        let here = here.map(|(worker, time)| (worker, time, state.window.counts(worker)));
        let mut rows = state.tally.with(here);
        state.own.add_to(&mut rows, now);
        rows
    }

    /// What the tasks of all workers told, put together.
    pub(crate) fn told(&self) -> Figures {
        let state = self.0.lock();
        let mut all = Figures::default();
        state.told.values().for_each(|figures| all.merge(figures.clone()));
        all
    }

    /// Decides whether a frame leaves, which the source counts as that one.
    pub(crate) fn way(&self, frame: u64) -> Way {
        let mut state = self.0.lock();
        let (has_workers, has_waiting) = (state.window.has_workers(), state.window.waiting() > 0);
        if state.own.takes(frame, has_workers, has_waiting) { Way::Here } else { Way::Away }
    }

    /// Cores of this machine have done a frame.
    pub(crate) fn done_here(&self, frame: u64) {
        self.0.lock().own.done(frame);
    }

    /// Sends a frame on its way; its number. Where many wait for credit that nobody here helps with, it waits a moment until they are fewer.
    pub(crate) fn push(&self, wires: Buffer) -> Result<u64> {
        let mut state = self.0.lock();
        // Cores of this machine that help are to have the next frame when they are free: the rings hold up whoever makes them.
        if self.0.own.helping == 0 && state.window.waiting() >= MOST_WAITING {
            state.sender_waits = true;
            let is_full = |state: &mut State| state.window.waiting() > FEW_WAITING;
            state = self.0.room.wait_timeout_while(state, SOON, is_full).unwrap_or_else(PoisonError::into_inner).0;
            state.sender_waits = false;
        }
        let pushed = state.window.push(Payload::new(wires, 0)).map_err(|_| {
            Error::new("more frames are under way than the window takes: give it as many as may be between `Dispatch` and `Collect`")
        });
        self.0.go_on(&mut state);
        drop(state);
        self.0.send();
        pushed
    }

    /// Waits for the result of the next frame, which the source counts as `frame`: its number, who made it, and the message.
    pub(crate) fn collect(&self, frame: u64) -> Result<(u64, WorkerId, Buffer)> {
        let mut state = self.0.lock();
        state.own.passed(frame);
        loop {
            if let Some((number, result)) = state.window.collect() {
                let (worker, message) = result.map_err(Error::from_source)?;
                return Ok((number, worker, message));
            }
            state.collector_waits = true;
            state = self.0.came.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// The name of a worker that is or was here.
    pub fn name(&self, worker: WorkerId) -> String {
        let state = self.0.lock();
        let here = state.workers.get(&worker).map(|known| known.name.clone());
        here.or_else(|| state.tally.name(worker)).unwrap_or_else(|| worker.0.to_string())
    }

    /// Ends the run: nothing is sent any more, and workers are told so.
    pub fn end(&self) {
        let mut guard = self.0.lock();
        let state = &mut *guard;
        if !std::mem::replace(&mut state.has_ended, true) {
            for (&worker, known) in &state.workers {
                self.0.tell(worker, &Message::End { run: worker.0 });
                // Others have made nothing that could tell.
                if known.since.is_some() {
                    state.owing.insert(worker);
                }
            }
        }
        drop(guard);
        self.0.send();
        self.0.ends.notify_all();
        let clock = self.0.clock.lock().unwrap_or_else(PoisonError::into_inner).take();
        // It has nothing to tell, but a carrier that panicked.
        clock.into_iter().for_each(|clock| drop(clock.join()));
    }

    /// Ends the run, and waits a little for what the tasks of workers tell of all of it.
    pub(crate) fn hear_last_words(&self) {
        self.end();
        let end = Instant::now() + LAST_WORDS;
        let mut state = self.0.lock();
        while !state.owing.is_empty() {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            state = self.0.came.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

impl State {
    /// Whether whoever collects results is to be woken.
    fn is_to_be_collected(&self, now: Duration) -> bool {
        let is_time = || now.saturating_sub(self.told_at) >= OFTEN || self.window.waiting() == 0;
        self.collector_waits && self.window.has_result() && (is_time() || self.window.has_results(AT_A_TIME))
    }

    fn leave(&mut self, worker: WorkerId, how: Leaving, now: Duration) {
        let Some(known) = self.workers.remove(&worker) else { return };
        self.owing.remove(&worker);
        self.window.leave(worker, how);
        if let Some(since) = known.since {
            self.tally.went(worker, now.saturating_sub(since), self.window.counts(worker));
        }
        self.window.forget(worker);
    }
}

impl Inner {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes what is to be sent now. Nobody else may come between, as messages to a worker must keep their order.
    fn go_on(&self, state: &mut State) {
        if state.has_ended {
            return;
        }
        let now = self.begin.elapsed();
        while let Some(sending) = state.window.send(now) {
            let mut head = Vec::with_capacity(HEAD);
            Message::write_frame_head(sending.worker.0, sending.sequence, sending.number, &mut head);
            self.post(sending.worker, Letter { head, payload: Some(sending.payload), open: sending.open });
        }
        if state.sender_waits && state.window.waiting() <= FEW_WAITING {
            state.sender_waits = false;
            self.room.notify_all();
        }
        while let Some(asking) = state.window.ask(now) {
            self.tell(asking.worker, &Message::Ask { run: asking.worker.0, sent: asking.sent });
        }
    }

    fn tell(&self, worker: WorkerId, message: &Message<'_>) {
        let mut head = Vec::new();
        message.write(&mut head);
        self.post(worker, Letter { head, payload: None, open: 0 });
    }

    fn letters(&self) -> MutexGuard<'_, VecDeque<(WorkerId, Letter)>> {
        self.letters.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn post(&self, worker: WorkerId, letter: Letter) {
        self.letters().push_back((worker, letter));
    }

    /// Sends what was written, while the window is free for others.
    fn send(&self) {
        while !self.letters().is_empty() {
            let _turn = match self.sends.try_lock() {
                Ok(turn) => turn,
                Err(TryLockError::Poisoned(turn)) => turn.into_inner(),
                // Whoever sends looks for more before it ends, and behind its end.
                Err(TryLockError::WouldBlock) => return,
            };
            loop {
                let next = self.letters().pop_front();
                let Some((worker, letter)) = next else { break };
                self.carrier.send(worker, letter);
            }
        }
    }

    /// Looks for frames that are late, which nobody else notices, and has workers tell, until the front has ended.
    fn watch_clock(&self, look: Duration) {
        let mut asked = Duration::ZERO;
        let mut state = self.lock();
        while !state.has_ended {
            self.go_on(&mut state);
            let now = self.begin.elapsed();
            if now.saturating_sub(asked) >= ASK {
                asked = now;
                let ready = state.workers.iter().filter(|(_, known)| known.since.is_some());
                ready.for_each(|(&worker, _)| self.tell(worker, &Message::Tell { run: worker.0 }));
            }
            drop(state);
            self.send();
            state = self.lock();
            if state.has_ended {
                return;
            }
            // What is sent from now on is late after one look at the earliest.
            let wait = state.window.late_at().map_or(look, |late| late.saturating_sub(now).min(look));
            state = self.ends.wait_timeout(state, wait).unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

impl fmt::Debug for Front {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Front").field("number", &self.0.number).finish_non_exhaustive()
    }
}

//! The machine that reads the stream: its window, and the thread that sends what is to be sent.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use bief::{Error, Result};
use bief_link::message::Malformed;
use bief_link::{Leaving, Limits, Message, Poison, Window, WorkerId};

use crate::tally::{Tally, WorkerTally};

/// How long the sending thread sleeps where nothing is under way.
const IDLE: Duration = Duration::from_secs(1);

/// The bytes of a frame's wires, which all workers that it is sent to share.
pub type Payload = Arc<Vec<u8>>;

/// What carries messages to workers. It may wait a little, as credit keeps a worker from getting more than it takes; it may lose
/// messages, and must [tell](Front::gone) when a worker is gone.
pub trait Carrier: Send + 'static {
    /// Sends a message to a worker: its head, and the bytes behind it, if it has some. To one that is gone they go nowhere.
    fn send(&mut self, worker: WorkerId, head: &[u8], payload: Option<&Payload>);
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
    state: Mutex<State>,
    /// Something is to be sent.
    sends: Condvar,
    /// Something came.
    came: Condvar,
    sender: Mutex<Option<JoinHandle<()>>>,
}

struct State {
    /// Frames as bytes of their wires; results as messages.
    window: Window<Payload, (WorkerId, Vec<u8>)>,
    /// Those that were welcomed and have not gone, ready or not.
    workers: BTreeMap<WorkerId, Known>,
    welcomed: u32,
    tally: Tally,
    fault: Option<Error>,
    has_ended: bool,
}

/// A worker that is there.
struct Known {
    name: String,
    /// Since when it works.
    since: Option<Duration>,
}

impl Front {
    /// A front, which a number tells from others of the pool. `limits` must allow as many frames as lie between `Dispatch` and
    /// `Collect`: those of the ring, and a batch in the hands of each.
    ///
    /// # Errors
    /// No thread can be started.
    pub fn new(number: u32, limits: Limits, carrier: impl Carrier) -> Result<Self> {
        let state = State {
            window: Window::new(limits),
            workers: BTreeMap::new(),
            welcomed: 0,
            tally: Tally::default(),
            fault: None,
            has_ended: false,
        };
        let front = Self(Arc::new(Inner {
            number,
            begin: Instant::now(),
            state: Mutex::new(state),
            sends: Condvar::new(),
            came: Condvar::new(),
            sender: Mutex::new(None),
        }));
        let inner = Arc::clone(&front.0);
        let sender = thread::Builder::new().name("pool".into()).spawn(move || inner.send(carrier));
        *front.0.sender.lock().unwrap_or_else(PoisonError::into_inner) = Some(sender?);
        Ok(front)
    }

    /// Its number.
    pub fn number(&self) -> u32 {
        self.0.number
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
        drop(state);
        self.0.sends.notify_one();
        self.0.came.notify_all();
    }

    /// Takes what a worker sent. What is of a worker that has gone, or of another front, is passed over.
    ///
    /// # Errors
    /// What is no message of a worker: whoever sends it is to be left out.
    pub fn take(&self, bytes: Vec<u8>) -> Result<Option<Told>, Malformed> {
        let message = Message::read(&bytes)?;
        let worker = WorkerId(message.run());
        let mut guard = self.0.lock();
        let state = &mut *guard;
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
            Message::Begin { .. } | Message::Frame { .. } | Message::Ask { .. } | Message::End { .. } => {
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
        drop(guard);
        self.0.sends.notify_one();
        self.0.came.notify_all();
        Ok(told)
    }

    /// Whether any worker is there and ready.
    pub fn has_workers(&self) -> bool {
        self.0.lock().window.has_workers()
    }

    /// What each worker did so far, by name.
    pub fn tally(&self) -> Vec<WorkerTally> {
        let state = self.0.lock();
        let now = self.0.begin.elapsed();
        let here = state.workers.iter().filter_map(|(&worker, known)| Some((worker, now.saturating_sub(known.since?))));
        let here = here.map(|(worker, time)| (worker, time, state.window.counts(worker)));
        state.tally.with(here)
    }

    /// Sends a frame on its way; its number.
    pub(crate) fn push(&self, wires: Vec<u8>) -> Result<u64> {
        let mut state = self.0.lock();
        if let Some(fault) = &state.fault {
            return Err(fault.clone());
        }
        let pushed = state.window.push(Arc::new(wires)).map_err(|_| {
            Error::new("more frames are under way than the window takes: give it as many as the ring to `Collect` has, and two batches")
        });
        drop(state);
        self.0.sends.notify_one();
        pushed
    }

    /// Waits for the result of the next frame: its number, who made it, and the message.
    pub(crate) fn collect(&self) -> Result<(u64, WorkerId, Vec<u8>)> {
        let mut state = self.0.lock();
        loop {
            if let Some(fault) = &state.fault {
                return Err(fault.clone());
            }
            if let Some((number, (worker, message))) = state.window.collect() {
                return Ok((number, worker, message));
            }
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
        self.0.lock().has_ended = true;
        self.0.sends.notify_one();
        let sender = self.0.sender.lock().unwrap_or_else(PoisonError::into_inner).take();
        // It has nothing to tell, but a carrier that panicked.
        sender.into_iter().for_each(|sender| drop(sender.join()));
    }
}

impl State {
    fn leave(&mut self, worker: WorkerId, how: Leaving, now: Duration) {
        let Some(known) = self.workers.remove(&worker) else { return };
        if let Err(poison) = self.window.leave(worker, how) {
            let Poison { number, losses } = poison;
            let message = format!(
                "{losses} workers were lost, one after the other, while they worked on frame {number} or had just answered for it"
            );
            self.fault.get_or_insert(Error::new(message));
        }
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

    /// Sends what is to be sent, until the front has ended.
    fn send(&self, mut carrier: impl Carrier) {
        let mut head = Vec::new();
        let mut state = self.lock();
        while !state.has_ended {
            let now = self.begin.elapsed();
            head.clear();
            if let Some(sending) = state.window.send(now) {
                drop(state);
                Message::write_frame_head(sending.worker.0, sending.sequence, sending.number, &mut head);
                carrier.send(sending.worker, &head, Some(&sending.payload));
            } else if let Some(asking) = state.window.ask(now) {
                drop(state);
                Message::Ask { run: asking.worker.0, sent: asking.sent }.write(&mut head);
                carrier.send(asking.worker, &head, None);
            } else {
                let wait = state.window.late_at().map_or(IDLE, |late| late.saturating_sub(now));
                let waited = self.sends.wait_timeout(state, wait);
                state = waited.unwrap_or_else(PoisonError::into_inner).0;
                continue;
            }
            state = self.lock();
        }
        let workers: Vec<WorkerId> = state.workers.keys().copied().collect();
        drop(state);
        for worker in workers {
            head.clear();
            Message::End { run: worker.0 }.write(&mut head);
            carrier.send(worker, &head, None);
        }
    }
}

impl fmt::Debug for Front {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Front").field("number", &self.0.number).finish_non_exhaustive()
    }
}

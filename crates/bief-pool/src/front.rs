//! The machine that reads the stream: its window, and the thread that sends what is to be sent.

use std::fmt;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use bief::{Error, Result};
use bief_link::message::{Malformed, Wires};
use bief_link::{Leaving, Limits, Message, Poison, Window, WorkerId};

/// How long the sending thread sleeps where nothing is under way.
const IDLE: Duration = Duration::from_secs(1);

/// What carries messages to workers. It may wait a little, as credit keeps a worker from getting more than it takes; it may lose
/// messages, and must [tell](Front::gone) when a worker is gone.
pub trait Carrier: Send + 'static {
    /// Sends bytes to a worker; to one that is gone they go nowhere.
    fn send(&mut self, worker: WorkerId, message: &[u8]);
}

/// What [`Dispatch`](crate::Dispatch), [`Collect`](crate::Collect) and a network share. Clones are the same.
#[derive(Clone)]
pub struct Front(Arc<Inner>);

struct Inner {
    run: u64,
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
    window: Window<Arc<[u8]>, (WorkerId, Vec<u8>)>,
    fault: Option<Error>,
    has_ended: bool,
}

impl Front {
    /// A front of a run, which a number tells from others of the pool. `limits` must allow as many frames as lie between `Dispatch` and
    /// `Collect`: those of the ring, and a batch in the hands of each.
    ///
    /// # Errors
    /// No thread can be started.
    pub fn new(run: u64, limits: Limits, carrier: impl Carrier) -> Result<Self> {
        let state = State { window: Window::new(limits), fault: None, has_ended: false };
        let front = Self(Arc::new(Inner {
            run,
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

    /// The run, which messages name.
    pub fn run(&self) -> u64 {
        self.0.run
    }

    /// A worker has gone.
    pub fn gone(&self, worker: WorkerId, how: Leaving) {
        let mut state = self.0.lock();
        if let Err(poison) = state.window.leave(worker, how) {
            let Poison { number, losses } = poison;
            let message =
                format!("{losses} workers were lost, one after the other, while they worked on frame {number}");
            state.fault.get_or_insert(Error::new(message));
        }
        drop(state);
        self.0.sends.notify_one();
        self.0.came.notify_all();
    }

    /// Takes what a worker sent: that it is ready, an answer, a report. What is of another run is passed over.
    ///
    /// # Errors
    /// What is no message of a worker: whoever sends it is to be left out.
    pub fn take(&self, worker: WorkerId, bytes: Vec<u8>) -> Result<(), Malformed> {
        let message = Message::read(&bytes)?;
        if message.run() != self.0.run {
            return Ok(());
        }
        let mut state = self.0.lock();
        let holding = match message {
            Message::Ready { cores, credit, .. } => {
                state.window.join(worker, cores as usize, credit as usize);
                None
            }
            Message::Answer { number, holding, .. } => Some((Some(number), holding)),
            Message::Report { holding, .. } => Some((None, holding)),
            Message::Frame { .. } | Message::Ask { .. } | Message::End { .. } => return Err(Malformed::Foreign),
        };
        if let Some((number, holding)) = holding {
            let (seen, held) = (holding.seen, holding.numbers().collect::<Vec<_>>());
            if let Some(number) = number {
                let now = self.0.begin.elapsed();
                state.window.answer(worker, number, (worker, bytes), now);
            }
            state.window.report(worker, seen, &held);
        }
        drop(state);
        self.0.sends.notify_one();
        self.0.came.notify_all();
        Ok(())
    }

    /// Sends a frame on its way; its number.
    pub(crate) fn push(&self, wires: Wires<'_>) -> Result<u64> {
        let mut state = self.0.lock();
        if let Some(fault) = &state.fault {
            return Err(fault.clone());
        }
        let pushed = state.window.push(wires.bytes().into()).map_err(|_| {
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
}

impl Inner {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends what is to be sent, until the front is gone.
    fn send(&self, mut carrier: impl Carrier) {
        let mut message = Vec::new();
        let mut state = self.lock();
        while !state.has_ended {
            let now = self.begin.elapsed();
            message.clear();
            let to = if let Some(sending) = state.window.send(now) {
                drop(state);
                let (sequence, number) = (sending.sequence, sending.number);
                let wires = Wires::from_bytes(&sending.payload).expect("it was written here");
                Message::Frame { run: self.run, sequence, number, wires }.write(&mut message);
                sending.worker
            } else if let Some(asking) = state.window.ask(now) {
                drop(state);
                Message::Ask { run: self.run, sent: asking.sent }.write(&mut message);
                asking.worker
            } else {
                let wait = state.window.late_at().map_or(IDLE, |late| late.saturating_sub(now));
                let waited = self.sends.wait_timeout(state, wait);
                state = waited.unwrap_or_else(PoisonError::into_inner).0;
                continue;
            };
            carrier.send(to, &message);
            state = self.lock();
        }
    }
}

impl Front {
    /// Ends the run: nothing is sent any more.
    pub fn end(&self) {
        self.0.lock().has_ended = true;
        self.0.sends.notify_one();
        let sender = self.0.sender.lock().unwrap_or_else(PoisonError::into_inner).take();
        // It has nothing to tell, but a carrier that panicked.
        sender.into_iter().for_each(|sender| drop(sender.join()));
    }
}

impl fmt::Debug for Front {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Front").field("run", &self.0.run).finish_non_exhaustive()
    }
}

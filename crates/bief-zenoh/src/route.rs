//! Ways to workers: each with a thread that sends, so that one that takes nothing holds up nobody else.

use std::collections::HashMap;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use bief::Result;
use bief_link::WorkerId;
use bief_pool::{Carrier, Payload};

/// How long the last messages to workers may take to go out.
const PATIENCE: Duration = Duration::from_millis(500);

type Message = (Vec<u8>, Option<Payload>);

/// Where messages to a worker go: what sends them, and its thread.
struct Way(Sender<Message>, JoinHandle<()>);

/// The ways to all workers; clones are the same.
#[derive(Clone, Default)]
pub(crate) struct Routes(Arc<Mutex<HashMap<WorkerId, Way>>>);

impl Routes {
    /// Messages to a worker are given to `say` from now on, in their order.
    pub(crate) fn open(
        &self,
        worker: WorkerId,
        mut say: impl FnMut(Vec<u8>, Option<Payload>) + Send + 'static,
    ) -> Result<()> {
        // As long as its credit: frames are not more, and all else is short.
        let (to, messages) = channel::<Message>();
        let send = move || messages.into_iter().for_each(|(head, payload)| say(head, payload));
        let sender = thread::Builder::new().name("to worker".into()).spawn(send)?;
        self.lock().insert(worker, Way(to, sender));
        Ok(())
    }

    /// Nothing goes to a worker any more. Its thread ends when what it sends has gone, or goes nowhere.
    pub(crate) fn close(&self, worker: WorkerId) {
        self.lock().remove(&worker);
    }

    /// Ends all ways, when what is on them has gone out; one that takes nothing is left.
    pub(crate) fn finish(&self) {
        let end = Instant::now() + PATIENCE;
        for Way(to, sender) in std::mem::take(&mut *self.lock()).into_values() {
            drop(to);
            while !sender.is_finished() && Instant::now() < end {
                thread::sleep(PATIENCE / 100);
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<WorkerId, Way>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Carrier for Routes {
    fn send(&self, worker: WorkerId, head: Vec<u8>, payload: Option<Payload>) {
        if let Some(Way(to, _)) = self.lock().get(&worker) {
            // The thread ends with the way alone.
            let _ = to.send((head, payload));
        }
    }
}

//! Ways to workers: each with a thread that sends, so that one that takes nothing holds up nobody else.

use std::collections::HashMap;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use bief::Result;
use bief_link::WorkerId;
use bief_pool::{Carrier, Payload, Workplace};

use crate::network::Mouth;

/// How long the last messages to workers may take to go out.
const PATIENCE: Duration = Duration::from_millis(500);

type Message = (Vec<u8>, Option<Payload>);

/// Where messages to a worker go.
enum Way {
    Away(Sender<Message>, JoinHandle<()>),
    Here(Arc<Workplace>),
}

/// The ways to all workers; clones are the same.
#[derive(Clone, Default)]
pub(crate) struct Routes(Arc<Mutex<HashMap<WorkerId, Way>>>);

impl Routes {
    /// Messages to a worker go out here from now on.
    pub(crate) fn open(&self, worker: WorkerId, mouth: Mouth) -> Result<()> {
        // As long as its credit: frames are not more, and all else is short.
        let (to, messages) = channel::<Message>();
        let send = move || messages.into_iter().for_each(|(head, payload)| mouth.say(&head, payload.as_ref()));
        let sender = thread::Builder::new().name("to worker".into()).spawn(send)?;
        self.lock().insert(worker, Way::Away(to, sender));
        Ok(())
    }

    /// Messages to a worker go to cores of this machine.
    pub(crate) fn open_here(&self, worker: WorkerId, workplace: Arc<Workplace>) {
        self.lock().insert(worker, Way::Here(workplace));
    }

    /// Nothing goes to a worker any more. Its thread ends when what it sends has gone, or goes nowhere.
    pub(crate) fn close(&self, worker: WorkerId) {
        self.lock().remove(&worker);
    }

    /// Ends all ways, when what is on them has gone out; one that takes nothing is left.
    pub(crate) fn finish(&self) {
        let end = Instant::now() + PATIENCE;
        for way in std::mem::take(&mut *self.lock()).into_values() {
            let Way::Away(to, sender) = way else { continue };
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
    fn send(&mut self, worker: WorkerId, head: &[u8], payload: Option<&Payload>) {
        let here = match self.lock().get(&worker) {
            None => return,
            Some(Way::Away(to, _)) => {
                // The thread ends with the way alone.
                let _ = to.send((head.to_vec(), payload.cloned()));
                return;
            }
            Some(Way::Here(workplace)) => Arc::clone(workplace),
        };
        here.take_parts(head, payload).expect("a front sends what a worker takes");
    }
}

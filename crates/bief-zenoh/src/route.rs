//! Ways to workers: what is sure not to wait is sent at once, all else by a thread of each, so that one that takes nothing holds up
//! nobody else.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use bief::Result;
use bief_link::WorkerId;
use bief_pool::{Carrier, Letter};

/// How long the last messages to workers may take to go out.
const PATIENCE: Duration = Duration::from_millis(500);

/// Where messages to a worker go.
struct Way {
    say: Box<dyn Fn(Letter) + Send + Sync>,
    /// As long as no more of its frames are open than this, none waits for room.
    at_once: Option<usize>,
    /// To the thread, which has so many that are not on their way.
    to: Sender<Letter>,
    waiting: AtomicUsize,
}

/// The ways to all workers, whose threads end with them; clones are the same.
#[derive(Clone, Default)]
pub(crate) struct Routes(Arc<Mutex<HashMap<WorkerId, Arc<Way>>>>);

impl Routes {
    /// Messages to a worker are given to `say` from now on, in their order: by whoever sends them, where no more frames are open than
    /// `at_once`, else by a thread.
    pub(crate) fn open(
        &self,
        worker: WorkerId,
        at_once: Option<usize>,
        say: impl Fn(Letter) + Send + Sync + 'static,
    ) -> Result<()> {
        // As long as its credit: frames are not more, and all else is short.
        let (to, letters) = channel::<Letter>();
        let way = Arc::new(Way { say: Box::new(say), at_once, to, waiting: AtomicUsize::new(0) });
        let says = Arc::downgrade(&way);
        let send = move || {
            for letter in letters {
                let Some(way) = says.upgrade() else { return };
                (way.say)(letter);
                way.waiting.fetch_sub(1, Ordering::Release);
            }
        };
        thread::Builder::new().name("to worker".into()).spawn(send)?;
        self.lock().insert(worker, way);
        Ok(())
    }

    /// Sends a message by the thread.
    pub(crate) fn send_later(&self, worker: WorkerId, head: Vec<u8>) {
        if let Some(way) = self.way(worker) {
            way.send_later(Letter { head, payload: None, open: 0 });
        }
    }

    /// Nothing goes to a worker any more. Its thread ends when what it sends has gone, or goes nowhere.
    pub(crate) fn close(&self, worker: WorkerId) {
        self.lock().remove(&worker);
    }

    /// Ends all ways, when what is on them has gone out; one that takes nothing is left.
    pub(crate) fn finish(&self) {
        let end = Instant::now() + PATIENCE;
        for way in std::mem::take(&mut *self.lock()).into_values() {
            while way.waiting.load(Ordering::Acquire) > 0 && Instant::now() < end {
                thread::sleep(PATIENCE / 100);
            }
        }
    }

    fn way(&self, worker: WorkerId) -> Option<Arc<Way>> {
        self.lock().get(&worker).map(Arc::clone)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<WorkerId, Arc<Way>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Way {
    fn send_later(&self, letter: Letter) {
        self.waiting.fetch_add(1, Ordering::Relaxed);
        // The thread ends with the way alone.
        let _ = self.to.send(letter);
    }
}

impl Carrier for Routes {
    fn send(&self, worker: WorkerId, letter: Letter) {
        let Some(way) = self.way(worker) else { return };
        let has_room = way.at_once.is_some_and(|most| letter.open <= most);
        // None overtakes another.
        if has_room && way.waiting.load(Ordering::Acquire) == 0 { (way.say)(letter) } else { way.send_later(letter) }
    }
}

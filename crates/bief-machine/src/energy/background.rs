//! A thread that works until it is told to end, and that nobody waits for without end: what it reads may be a device that does
//! not answer.

use std::io;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// How long its end is waited for. After that it is left to end when it can.
const GRACE: Duration = Duration::from_secs(2);

/// The thread, and what it leaves. Dropped, it tells the thread to end and does not wait.
#[derive(Debug)]
pub(super) struct Background<T> {
    /// Gone, it tells the thread to end.
    stop: Option<SyncSender<()>>,
    /// Behind a lock that nobody waits for, so that who holds this may be looked at by several threads.
    left: Mutex<Receiver<T>>,
}

/// What the thread looks at.
pub(super) struct Told(Receiver<()>);

impl Told {
    /// Waits so long, or until it is told to end; tells whether it is.
    pub(super) fn to_end_within(&self, time: Duration) -> bool {
        self.0.recv_timeout(time) != Err(RecvTimeoutError::Timeout)
    }
}

impl<T: Send + 'static> Background<T> {
    /// Starts the thread.
    ///
    /// # Errors
    /// The system has no thread to give.
    pub(super) fn start(name: &str, work: impl FnOnce(&Told) -> T + Send + 'static) -> io::Result<Self> {
        let (stop, told) = sync_channel(0);
        let (leave, left) = sync_channel(1);
        let work = move || {
            // Nobody may be there any more who wants it.
            let _ = leave.send(work(&Told(told)));
        };
        thread::Builder::new().name(name.to_owned()).spawn(work)?;
        Ok(Self { stop: Some(stop), left: Mutex::new(left) })
    }

    /// Tells it to end, and does not wait.
    pub(super) fn tell_to_end(&mut self) {
        self.stop = None;
    }

    /// Tells it to end; what it leaves, or `None` where it does not answer.
    pub(super) fn end(&mut self) -> Option<T> {
        self.tell_to_end();
        self.left.get_mut().unwrap_or_else(PoisonError::into_inner).recv_timeout(GRACE).ok()
    }
}

//! A source that cannot wait: the device has a thread of its own, a bounded queue lies between it and the task, and what
//! finds no room in it is lost, counted, and marked in the stream.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::error::{Error, Result};
use crate::frame::{Element, can_allocate, whole_frames};
use crate::task::{Flow, Task};
use crate::wire::Out;

/// How long the task waits for a block before its worker looks whether the run was stopped.
const LOOK: Duration = Duration::from_millis(10);
/// How long the end of a run waits for the device.
const GRACE: Duration = Duration::from_secs(1);

/// The outcome of reading a device; see [`live`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Received {
    /// The block is full.
    Frame {
        /// Elements just before this block that the device itself says were lost.
        lost: u64,
    },
    /// Nothing came for a while, or a part of the block: the same block is given again, as it is.
    Nothing,
    /// Nothing more will come: the stream ends. What is in the block is not played.
    End,
}

/// What [`Live::hear`] brings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Heard<T> {
    /// A block, and how many elements were lost just before it.
    Block(Box<[T]>, u64),
    /// None has come.
    Nothing,
    /// None will come: the stream has ended.
    End,
}

/// A source that cannot wait; made by [`live`].
pub struct Live<T, F> {
    len: usize,
    blocks: usize,
    /// Locked by the device's thread as long as that runs.
    fill: Arc<Mutex<F>>,
    /// `None` before the thread starts and after it has ended.
    device: Option<Device<T>>,
    /// The stream of this run has ended.
    over: bool,
    lost: u64,
}

/// The thread, as the task sees it.
struct Device<T> {
    /// Blocks and what was lost before each; closed when the thread ends.
    heard: Receiver<(Box<[T]>, u64)>,
    free: SyncSender<Box<[T]>>,
    told_to_end: Arc<AtomicBool>,
    thread: JoinHandle<Ending>,
}

/// What a thread leaves.
struct Ending {
    /// Elements lost after the last block that came through.
    lost: u64,
    outcome: Result<()>,
}

/// Frames of `len` elements from a device that cannot wait: a radio, a sound card, a socket.
///
/// `fill` runs on a thread of its own, at the device's pace, and fills block after block of `len` elements. A queue of
/// `blocks` of them lies between it and the chain. When the chain is so slow that the queue is full, what comes is dropped until
/// half of it is free again: a few long gaps, not many short ones. The second output tells how many elements are missing just
/// before each frame, so that what follows can find its place again, and [`Report::lost`](crate::Report::lost) tells the sum.
///
/// The thread starts with the first frame that is asked for, or with [`Live::listen`]. `fill` must return within a fraction of
/// a second, with [`Received::Nothing`] if need be: at the end of a run the thread is told to end, and is waited for a second. If
/// `fill` does not return then, the thread is left to end when it does, and a later run, which needs it, is refused unless it
/// has. A device that is silent does not hold up a [`Stopper`](crate::pipeline::Stopper), which is looked at every 10 ms for each frame
/// of a batch.
///
/// What is in the queue when a run is stopped from elsewhere is not played and not counted: it came after the end. A later run
/// begins with an empty queue and the same `fill`.
///
/// # Sockets
/// - out: `T`, `len` elements per frame
/// - out: `u64`, 1 per frame: elements lost just before this frame, by the queue and by the device
///
/// # Errors
/// Those of `fill`, a panic too, once every block that it filled before is played. At build, a `len` or `blocks` of 0.
///
/// # Example
/// A device that loses three elements by itself:
/// ```
/// use bief::source::{self, Received};
/// use bief::{Chain, sink};
///
/// let mut next = 0;
/// let fill = move |block: &mut [u32]| {
///     let lost = if next == 4 { 3 } else { 0 };
///     next += lost;
///     if next >= 9 {
///         return Ok(Received::End);
///     }
///     block.fill_with(|| { next += 1; next - 1 });
///     Ok(Received::Frame { lost: lost.into() })
/// };
/// let mut chain = Chain::new();
/// let (numbers, lost) = chain.add(source::live(2, 16, fill), ());
/// let (collect, heard) = sink::collect();
/// chain.add(collect, &numbers);
/// let (collect, marks) = sink::collect();
/// chain.add(collect, &lost);
/// let report = chain.build()?.run()?;
/// assert_eq!(heard.take(), [0, 1, 2, 3, 7, 8]);
/// assert_eq!(marks.take(), [0, 0, 3]);
/// assert_eq!(report.lost, 3);
/// # Ok::<(), bief::Error>(())
/// ```
pub fn live<T, F>(len: usize, blocks: usize, fill: F) -> Live<T, F>
where
    T: Element,
    F: FnMut(&mut [T]) -> Result<Received> + Send + 'static,
{
    Live { len, blocks, fill: Arc::new(Mutex::new(fill)), device: None, over: false, lost: 0 }
}

impl<T, F> Live<T, F>
where
    T: Element,
    F: FnMut(&mut [T]) -> Result<Received> + Send + 'static,
{
    /// Starts the device's thread now, unless it runs: samples that arrive before the first frame is requested wait in
    /// the queue.
    ///
    /// # Errors
    /// A `len` or `blocks` that [`live`] does not take, a thread that the system refuses.
    pub fn listen(&mut self) -> Result<()> {
        if self.device.is_some() || self.over {
            return Ok(());
        }
        self.lens(())?;
        // Each has room for all the blocks that there are.
        let ((full, heard), (free, freed)) = (sync_channel(self.blocks), sync_channel(self.blocks));
        let told_to_end = Arc::<AtomicBool>::default();
        let listener = Listener {
            block: block(self.len),
            free: Vec::with_capacity(self.blocks),
            unmade: self.blocks,
            enough: self.blocks.div_ceil(2),
            freed,
            full,
            dropping: false,
            lost: 0,
            told_to_end: Arc::clone(&told_to_end),
        };
        let fill = Arc::clone(&self.fill);
        let work = move || {
            let mut fill = fill.lock().unwrap_or_else(PoisonError::into_inner);
            listener.listen(&mut *fill)
        };
        let thread = thread::Builder::new().name("live".to_owned()).spawn(work).map_err(Error::from_source)?;
        self.device = Some(Device { heard, free, told_to_end, thread });
        Ok(())
    }

    /// The next block itself, for a task that takes blocks apart; waits for it for `wait` at most. A block that is not
    /// [given back](Self::give_back) is missing in the queue.
    ///
    /// # Errors
    /// Those of [`live`].
    pub fn hear(&mut self, wait: Duration) -> Result<Heard<T>> {
        self.listen()?;
        let Some(device) = &self.device else { return Ok(Heard::End) };
        match device.heard.recv_timeout(wait) {
            Ok((block, lost)) => {
                self.lost = self.lost.saturating_add(lost);
                return Ok(Heard::Block(block, lost));
            }
            Err(RecvTimeoutError::Timeout) => return Ok(Heard::Nothing),
            Err(RecvTimeoutError::Disconnected) => {}
        }
        self.over = true;
        if let Some(Ending { lost, outcome }) = self.device.take().map(Device::join) {
            self.lost = self.lost.saturating_add(lost);
            outcome?;
        }
        Ok(Heard::End)
    }

    /// Lets a block that [`hear`](Self::hear) brought be filled again. One of another length is dropped.
    pub fn give_back(&mut self, block: Box<[T]>) {
        if let Some(device) = self.device.as_ref().filter(|_| block.len() == self.len) {
            // It is refused only when the thread has ended.
            let _ = device.free.try_send(block);
        }
    }

    /// Tells the thread to end and waits for that, but not for ever: how it ended, or `None` if it has not.
    fn close(&mut self) -> Option<Result<()>> {
        let Some(device) = &self.device else { return Some(Ok(())) };
        device.told_to_end.store(true, Ordering::Relaxed);
        let until = Instant::now() + GRACE;
        loop {
            match device.heard.recv_timeout(until.saturating_duration_since(Instant::now())) {
                Ok(_) => {}
                Err(RecvTimeoutError::Timeout) => return None,
                Err(RecvTimeoutError::Disconnected) => return self.device.take().map(|device| device.join().outcome),
            }
        }
    }
}

impl<T> Device<T> {
    /// What the thread leaves, which has ended or is about to.
    fn join(self) -> Ending {
        self.thread.join().unwrap_or_else(|payload| Ending { lost: 0, outcome: Err(Error::panic(payload)) })
    }
}

fn block<T: Element>(len: usize) -> Box<[T]> {
    vec![T::default(); len].into()
}

/// The task, as the device's thread sees it.
struct Listener<T> {
    /// The one that is being filled.
    block: Box<[T]>,
    /// Blocks that came back, which caches still hold.
    free: Vec<Box<[T]>>,
    /// Blocks that were never needed: they are made when the queue is longer than it ever was.
    unmade: usize,
    /// Free blocks with which it goes on after it dropped some.
    enough: usize,
    /// Where blocks come back.
    freed: Receiver<Box<[T]>>,
    full: SyncSender<(Box<[T]>, u64)>,
    /// The queue was full, and there are not enough free blocks yet.
    dropping: bool,
    /// Elements lost since the last block that was sent.
    lost: u64,
    told_to_end: Arc<AtomicBool>,
}

impl<T: Element> Listener<T> {
    fn listen(mut self, fill: &mut impl FnMut(&mut [T]) -> Result<Received>) -> Ending {
        let outcome = loop {
            if self.told_to_end.load(Ordering::Relaxed) {
                break Ok(());
            }
            // After a panic `fill` is used again by a later run alone, as any task is.
            match Error::catch(|| fill(&mut self.block)) {
                Ok(Received::Frame { lost }) => {
                    self.lost = self.lost.saturating_add(lost);
                    self.pass_on();
                }
                Ok(Received::Nothing) => {}
                Ok(Received::End) => break Ok(()),
                Err(error) => break Err(error),
            }
        };
        Ending { lost: self.lost, outcome }
    }

    fn make(&mut self) -> Option<Box<[T]>> {
        self.unmade = self.unmade.checked_sub(1)?;
        Some(block(self.block.len()))
    }

    /// Sends the block, or drops what is in it.
    fn pass_on(&mut self) {
        if self.free.is_empty() || self.dropping {
            self.free.extend(self.freed.try_iter());
        }
        self.dropping &= self.free.len() + self.unmade < self.enough;
        let next = if self.dropping { None } else { self.free.pop().or_else(|| self.make()) };
        match next {
            Some(next) => {
                let block = std::mem::replace(&mut self.block, next);
                // It is refused only when the task is gone, which tells this thread to end.
                let _ = self.full.try_send((block, std::mem::take(&mut self.lost)));
            }
            None => {
                self.dropping = true;
                self.lost = self.lost.saturating_add(self.block.len() as u64);
            }
        }
    }
}

impl<T, F> Task for Live<T, F>
where
    T: Element,
    F: FnMut(&mut [T]) -> Result<Received> + Send + 'static,
{
    type In = ();
    type Out = (Out<T>, Out<u64>);

    fn name(&self) -> String {
        "live".to_owned()
    }

    fn lens(&self, (): ()) -> Result<(usize, usize)> {
        if self.blocks == 0 {
            return Err(Error::new("a queue of no blocks loses every frame: give it at least 1"));
        }
        // One more is in the device's hands, and each has a place in two queues.
        let block = size_of::<T>() as f64 * self.len as f64 + 2.0 * size_of::<(Box<[T]>, u64)>() as f64;
        if !can_allocate(block * (self.blocks as f64 + 1.0)) {
            return Err(Error::new(format!(
                "a queue of {} blocks of {} x {} is more than memory can hold: give it fewer",
                self.blocks,
                self.len,
                std::any::type_name::<T>()
            )));
        }
        Ok((whole_frames(self.len)?, 1))
    }

    fn run(&mut self, (): (), (frame, lost): (&mut [T], &mut [u64])) -> Result<Flow> {
        match self.hear(LOOK)? {
            Heard::Block(block, before) => {
                frame.copy_from_slice(&block);
                lost[0] = before;
                self.give_back(block);
                Ok(Flow::Next)
            }
            Heard::Nothing => Ok(Flow::Skip),
            Heard::End => Ok(Flow::Stop),
        }
    }

    fn lost(&self) -> u64 {
        self.lost
    }

    fn finish(&mut self) -> Result<()> {
        self.close().unwrap_or(Ok(()))
    }

    fn reset(&mut self) -> Result<()> {
        let Some(outcome) = self.close() else {
            return Err(Error::new(
                "the device has not returned since the last run: let `fill` return `Received::Nothing` when nothing comes",
            ));
        };
        outcome?;
        self.over = false;
        self.lost = 0;
        Ok(())
    }
}

impl<T, F> Drop for Live<T, F> {
    fn drop(&mut self) {
        if let Some(device) = &self.device {
            device.told_to_end.store(true, Ordering::Relaxed);
        }
    }
}

impl<T, F> std::fmt::Debug for Live<T, F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Live {{ len: {}, blocks: {}, lost: {} }}", self.len, self.blocks, self.lost)
    }
}

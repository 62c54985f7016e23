//! The machine that reads the stream: which frame goes to which worker, and when again; results in order.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use crate::lateness::Lateness;
use crate::member::Member;

/// A worker, as long as it is there: one that comes back is another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WorkerId(pub u64);

/// How far a window goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Frames under way at a time, from the one that is collected next on: their payloads and results are all the memory of a window.
    pub frames: usize,
    /// A frame is late when it has taken this long, at least, ...
    pub least_late: Duration,
    /// ... and so many times the median of the latest answers: another worker gets it, too.
    pub late_factor: u32,
    /// So many workers may be lost over a frame: it is then taken for the cause.
    pub losses: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self { frames: 64, least_late: Duration::from_secs(1), late_factor: 8, losses: 3 }
    }
}

/// A frame that is to be sent now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sending<P> {
    /// To whom.
    pub worker: WorkerId,
    /// The number of this message among those with frames to this worker.
    pub sequence: u64,
    /// The number of the frame.
    pub number: u64,
    /// The frame.
    pub payload: P,
    /// Frames that the worker has not answered for, as far as is known, this one among them.
    pub open: usize,
}

/// What an answer was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answered {
    /// The first for its frame: it counts.
    First,
    /// Another was before it, and this one is dropped.
    Again,
    /// Of a frame that was never sent: not of this run, or of no protocol.
    Unknown,
}

/// How a worker goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Leaving {
    /// By its own will: its frames are not to blame.
    InOrder,
    /// It is not there any more, or the network to it.
    Lost,
}

/// What came of the frames that a worker was sent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Its answers that counted: the first ones for their frames.
    pub answered: u64,
    /// Frames that nobody has any more, as it went or lost them: they are sent again.
    pub again: u64,
    /// Frames without a result that were late: each as often as it was.
    pub late: u64,
}

/// What comes of a frame over which workers were lost: no other one gets it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{losses} workers were lost, one after the other, while they worked on this frame or had just answered for it")]
pub struct Poison {
    /// Workers that were lost.
    pub losses: u32,
}

/// Frames under way to workers and back: `P` is a frame, which workers share, `R` its result.
#[derive(Debug)]
pub struct Window<P, R> {
    limits: Limits,
    /// The number of the frame that is collected next, at the front of `frames`.
    first: u64,
    frames: VecDeque<Frame<P, R>>,
    members: BTreeMap<WorkerId, Member>,
    counts: BTreeMap<WorkerId, Counts>,
    /// Frames without a result that no worker has.
    waiting: BTreeSet<u64>,
    /// Frames without a result that a worker has had for too long.
    late: BTreeSet<u64>,
    /// Copies, in the order in which they were sent, or were last late: those at the front are late next.
    sent: VecDeque<Sent>,
    /// Workers that hold late frames, as far as is known.
    asked: BTreeSet<WorkerId>,
    lateness: Lateness,
    poisoned: bool,
}

#[derive(Debug)]
enum Frame<P, R> {
    /// Without a result. Workers have so many copies of it, and so many were lost while they worked on it.
    Open {
        payload: P,
        copies: usize,
        losses: u32,
    },
    /// It is not sent any more; an answer may be under way yet.
    Poisoned(Poison),
    Done(R),
}

/// A copy that was sent.
#[derive(Debug, Clone, Copy)]
struct Sent {
    time: Duration,
    worker: WorkerId,
    sequence: u64,
    number: u64,
}

/// A question to a worker: what does it hold, now that so many messages with frames were sent to it? Its answer is a
/// [`report`](Window::report).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Asking {
    /// Whom.
    pub worker: WorkerId,
    /// Messages with frames to it so far.
    pub sent: u64,
}

impl<P: Clone, R> Window<P, R> {
    /// A window without workers.
    pub fn new(limits: Limits) -> Self {
        Self {
            limits,
            first: 0,
            frames: VecDeque::new(),
            members: BTreeMap::new(),
            counts: BTreeMap::new(),
            waiting: BTreeSet::new(),
            late: BTreeSet::new(),
            sent: VecDeque::new(),
            asked: BTreeSet::new(),
            lateness: Lateness::new(limits.least_late, limits.late_factor),
            poisoned: false,
        }
    }

    /// Whether another frame may be under way; else whoever reads waits, or drops.
    pub fn has_room(&self) -> bool {
        self.frames.len() < self.limits.frames
    }

    /// How many frames are under way.
    pub fn len(&self) -> usize {
        self.frames.len()
    }

    /// Whether no frame is under way.
    pub fn is_empty(&self) -> bool {
        self.frames.is_empty()
    }

    /// Takes the next frame; its number.
    ///
    /// # Errors
    /// The frame, where there is no room.
    pub fn push(&mut self, payload: P) -> Result<u64, P> {
        if !self.has_room() {
            return Err(payload);
        }
        let number = self.first + self.frames.len() as u64;
        self.frames.push_back(Frame::Open { payload, copies: 0, losses: 0 });
        self.waiting.insert(number);
        Ok(number)
    }

    /// A worker has come: it works on up to `cores` frames at a time and takes up to `credit`. One that was there begins anew.
    pub fn join(&mut self, worker: WorkerId, cores: usize, credit: usize) {
        self.leave(worker, Leaving::InOrder);
        self.members.insert(worker, Member::new(cores, credit));
        self.counts.entry(worker).or_default();
    }

    /// A worker has gone: others get its frames, but for one over which as many were lost as may be.
    pub fn leave(&mut self, worker: WorkerId, how: Leaving) {
        let Some(member) = self.members.remove(&worker) else { return };
        self.asked.remove(&worker);
        let (held, worked_on) = member.into_held();
        for (place, number) in held.into_iter().enumerate() {
            // One more than it works on: the answer for the first may be lost with it.
            if how == Leaving::Lost && place <= worked_on {
                self.suspect(number);
            }
            self.without_copy(worker, number);
        }
    }

    /// A worker was lost that may have worked on a frame.
    fn suspect(&mut self, number: u64) {
        let most = self.limits.losses;
        let Some(frame) = self.frame(number) else { return };
        let Frame::Open { losses, .. } = frame else { return };
        *losses += 1;
        let losses = *losses;
        if losses >= most {
            *frame = Frame::Poisoned(Poison { losses });
            self.late.remove(&number);
            self.poisoned = true;
        }
    }

    /// The next frame to send, to the worker with the most free credit; `None` until something else happens, or it is
    /// [`late_at`](Self::late_at).
    pub fn send(&mut self, now: Duration) -> Option<Sending<P>> {
        self.find_late(now);
        // Late frames hold up all behind them.
        let late = self.late.iter().find_map(|&number| Some((number, self.free_worker(Some(number))?)));
        let (number, worker) = match late {
            Some(found) => found,
            None => (*self.waiting.first()?, self.free_worker(None)?),
        };
        self.late.remove(&number);
        self.waiting.remove(&number);
        let Some(Frame::Open { payload, copies, .. }) = self.frame(number) else {
            unreachable!("frames that are to be sent have no result")
        };
        *copies += 1;
        let payload = payload.clone();
        let member = self.members.get_mut(&worker).expect("it was found");
        let (sequence, open) = (member.send(number, now), member.open());
        self.sent.push_back(Sent { time: now, worker, sequence, number });
        Some(Sending { worker, sequence, number, payload, open })
    }

    /// The next worker to ask what it holds: one that is late. What was sent to it, or what it sent, may be lost.
    pub fn ask(&mut self, now: Duration) -> Option<Asking> {
        self.find_late(now);
        let worker = self.asked.pop_first()?;
        Some(Asking { worker, sent: self.members.get(&worker)?.sent() })
    }

    /// When the next frame is late; `None` where none is with a worker. Then frames are to be [sent](Self::send), and workers
    /// [asked](Self::ask).
    pub fn late_at(&mut self) -> Option<Duration> {
        self.forget_sent();
        self.sent.front().map(|sent| sent.time + self.lateness.limit())
    }

    /// A worker has answered for a frame. It may have gone meanwhile.
    pub fn answer(&mut self, worker: WorkerId, number: u64, result: R, now: Duration) -> Answered {
        if let Some(sent) = self.members.get_mut(&worker).and_then(|member| member.answered(number)) {
            self.lateness.note(now.saturating_sub(sent));
        }
        if number < self.first {
            return Answered::Again;
        }
        match self.frame(number) {
            None => Answered::Unknown,
            Some(Frame::Done(_)) => Answered::Again,
            Some(frame) => {
                *frame = Frame::Done(result);
                if let Some(counts) = self.counts.get_mut(&worker) {
                    counts.answered += 1;
                }
                self.waiting.remove(&number);
                self.late.remove(&number);
                Answered::First
            }
        }
    }

    /// A worker has told which frames it holds, and how many messages with frames it has seen: others of them are lost. What came with an
    /// answer is told behind it.
    pub fn report(&mut self, worker: WorkerId, seen: u64, held: &[u64]) {
        let lost = self.members.get_mut(&worker).map_or_else(Vec::new, |member| member.lost(seen, held));
        lost.into_iter().for_each(|number| self.without_copy(worker, number));
    }

    /// What came of the frames that a worker was sent: of one that has gone, until it is forgotten.
    pub fn counts(&self, worker: WorkerId) -> Counts {
        self.counts.get(&worker).copied().unwrap_or_default()
    }

    /// Whether any worker is there.
    pub fn has_workers(&self) -> bool {
        !self.members.is_empty()
    }

    /// Counts no more for a worker that has gone.
    pub fn forget(&mut self, worker: WorkerId) {
        self.counts.remove(&worker);
    }

    /// Whether something came of the next frame.
    pub fn has_result(&self) -> bool {
        self.has_results(1)
    }

    /// Whether something came of each of so many next frames.
    pub fn has_results(&self, frames: usize) -> bool {
        let is_done = |frame: &&Frame<P, R>| matches!(frame, Frame::Done(_) | Frame::Poisoned(_));
        self.frames.iter().take(frames).take_while(is_done).count() == frames
    }

    /// Whether a frame is or was under way that is not sent any more.
    pub fn is_poisoned(&self) -> bool {
        self.poisoned
    }

    /// How many frames wait for a worker with credit.
    pub fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// What came of the next frame, and its number.
    pub fn collect(&mut self) -> Option<(u64, Result<R, Poison>)> {
        if !self.has_result() {
            return None;
        }
        let result = match self.frames.pop_front()? {
            Frame::Done(result) => Ok(result),
            Frame::Poisoned(poison) => Err(poison),
            Frame::Open { .. } => unreachable!("it was looked at"),
        };
        self.first += 1;
        Some((self.first - 1, result))
    }

    fn frame(&mut self, number: u64) -> Option<&mut Frame<P, R>> {
        let place = usize::try_from(number.checked_sub(self.first)?).ok()?;
        self.frames.get_mut(place)
    }

    /// A worker does not have a frame any more: where no other has it, it waits again.
    fn without_copy(&mut self, worker: WorkerId, number: u64) {
        if let Some(Frame::Open { copies, .. }) = self.frame(number) {
            *copies -= 1;
            if *copies == 0 {
                self.late.remove(&number);
                self.waiting.insert(number);
                self.counts.entry(worker).or_default().again += 1;
            }
        }
    }

    /// The worker with the most free credit, if any has some: one that does not have this frame.
    fn free_worker(&self, but: Option<u64>) -> Option<WorkerId> {
        let fits = self.members.iter().filter(|(_, member)| but.is_none_or(|number| !member.has(number)));
        let most = fits.max_by_key(|(_, member)| member.free())?;
        (most.1.free() > 0).then_some(*most.0)
    }

    fn find_late(&mut self, now: Duration) {
        let limit = self.lateness.limit();
        loop {
            self.forget_sent();
            match self.sent.front() {
                Some(&sent) if now.saturating_sub(sent.time) >= limit => {
                    self.sent.pop_front();
                    // Once more after the same time.
                    self.sent.push_back(Sent { time: now, ..sent });
                    self.asked.insert(sent.worker);
                    if matches!(self.frame(sent.number), Some(Frame::Open { .. })) {
                        self.late.insert(sent.number);
                        self.counts.entry(sent.worker).or_default().late += 1;
                    }
                }
                _ => return,
            }
        }
    }

    /// Drops copies from the front that nobody has any more.
    fn forget_sent(&mut self) {
        let is_held = |sent: &Sent| {
            self.members.get(&sent.worker).is_some_and(|member| member.has_copy(sent.number, sent.sequence))
        };
        while self.sent.front().is_some_and(|sent| !is_held(sent)) {
            self.sent.pop_front();
        }
    }
}

//! A worker: its cores, each with the tasks of a segment.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

use bief::pipeline::Watch;
use bief::raw::{BatchView, Direction, RawTask, Shape, SocketKind};
use bief::report::Figures;
use bief::{Error, Report, Result};
use bief_link::message::{Holding, Malformed, Outcome, Wires};
use bief_link::{Message, Worker};

use crate::buffer::{Buffer, Buffers, Payload};
use crate::front::Letter;
use crate::segment::Segment;
use crate::told;
use crate::wires::{self, WireKind, Writer};

/// The tasks of a segment on some cores, for one run of a front.
pub struct Workplace {
    shared: Arc<Shared>,
    credit: usize,
    cores: Vec<JoinHandle<()>>,
}

/// What the cores share.
struct Shared {
    run: u64,
    state: Mutex<State>,
    /// Whoever gives an answer has this first: they leave in the order in which they are given, while frames come.
    answers: Mutex<Answers>,
    /// A frame came, or the end.
    came: Condvar,
    figures: Mutex<CoreFigures>,
    buffers: Buffers,
}

/// What the tasks of all cores tell.
#[derive(Default)]
struct CoreFigures {
    /// Of those that have ended.
    before: Figures,
    /// Of each core, if its tasks are at work; it is asked.
    cores: Vec<Option<Watch>>,
    /// Cores that have not ended.
    left: usize,
}

/// Sends a message to the front: its head, and the wires of an answer behind it.
type Answer = dyn FnMut(&[u8], Option<Payload>) + Send;

struct State {
    worker: Worker<Payload>,
    /// Cores that wait for a frame.
    idle: usize,
    has_ended: bool,
    /// Frames that were answered for.
    answered: u64,
}

struct Answers {
    answer: Box<Answer>,
    head: Vec<u8>,
    held: Vec<u8>,
}

impl Workplace {
    /// Starts working on so many cores, for a run; up to `credit` frames are here at a time. `answer` sends messages to the front, in order:
    /// a head, and what follows it, if something does. The first says that this worker is ready, the last what its tasks told.
    ///
    /// # Errors
    /// No threads can be started.
    pub fn start(
        run: u64,
        segment: &Segment,
        cores: usize,
        credit: usize,
        answer: impl FnMut(&[u8], Option<Payload>) + Send + 'static,
    ) -> Result<Self> {
        let workplace = Self::silent(run, segment, cores, credit, answer)?;
        workplace.greet();
        Ok(workplace)
    }

    /// As [`start`](Self::start), but says nothing before it is to [`greet`](Self::greet).
    ///
    /// # Errors
    /// No threads can be started.
    pub fn silent(
        run: u64,
        segment: &Segment,
        cores: usize,
        credit: usize,
        answer: impl FnMut(&[u8], Option<Payload>) + Send + 'static,
    ) -> Result<Self> {
        let state = State { worker: Worker::new(credit), idle: 0, has_ended: false, answered: 0 };
        let answers = Answers { answer: Box::new(answer), head: Vec::new(), held: Vec::new() };
        let figures = CoreFigures { cores: (0..cores).map(|_| None).collect(), left: cores, ..CoreFigures::default() };
        let shared = Arc::new(Shared {
            run,
            state: Mutex::new(state),
            answers: Mutex::new(answers),
            came: Condvar::new(),
            figures: Mutex::new(figures),
            buffers: Buffers::default(),
        });
        let mut workplace = Self { shared: Arc::clone(&shared), credit, cores: Vec::new() };
        for core in 0..cores {
            let (shared, segment) = (Arc::clone(&shared), segment.clone());
            let work = move || shared.work(core, &segment);
            workplace.cores.push(thread::Builder::new().name(format!("core {core}")).spawn(work)?);
        }
        Ok(workplace)
    }

    /// Says that this worker is ready.
    pub fn greet(&self) {
        let count = |count| u32::try_from(count).unwrap_or(u32::MAX);
        let (run, cores, credit) = (self.shared.run, count(self.cores.len()), count(self.credit));
        self.shared.answers().send(&Message::Ready { run, cores, credit });
    }

    /// Frames that were answered for so far.
    pub fn answered(&self) -> u64 {
        self.shared.lock().answered
    }

    /// Takes what the front sent. What is of another run is passed over.
    ///
    /// # Errors
    /// What is no message of a front.
    pub fn take(&self, bytes: impl Into<Buffer>) -> Result<(), Malformed> {
        let bytes = bytes.into();
        let message = Message::read(&bytes)?;
        if message.run() != self.shared.run {
            return Ok(());
        }
        match message {
            Message::Frame { sequence, number, wires, .. } => {
                let start = bytes.len() - wires.bytes().len();
                self.take_frame(sequence, number, Payload::new(bytes, start));
            }
            Message::Ask { sent, run } => {
                let mut answers = self.shared.answers();
                let mut held = std::mem::take(&mut answers.held);
                let holding = Holding::of(self.shared.lock().worker.asked(sent), &mut held);
                answers.send(&Message::Report { run, holding });
                answers.held = held;
            }
            Message::Tell { .. } => self.shared.tell(),
            Message::End { .. } => self.shared.end(self.shared.lock()),
            _ => return Err(Malformed::Foreign),
        }
        Ok(())
    }

    /// As [`take`](Self::take), where the front is in this process: a message in two parts, of which the second need not be copied.
    ///
    /// # Errors
    /// Those of [`take`](Self::take).
    pub fn take_letter(&self, letter: Letter) -> Result<(), Malformed> {
        let Letter { head, payload, .. } = letter;
        let Some(payload) = payload else { return self.take(head) };
        let (run, sequence, number) = Message::read_frame_head(&head)?;
        if run == self.shared.run {
            self.take_frame(sequence, number, payload);
        }
        Ok(())
    }

    fn take_frame(&self, sequence: u64, number: u64, frame: Payload) {
        let mut state = self.shared.lock();
        // One that is too many is left out: it will be late, and sent again.
        let _ = state.worker.take(sequence, number, frame);
        let is_awaited = state.idle > 0;
        drop(state);
        if is_awaited {
            self.shared.came.notify_one();
        }
    }
}

impl Drop for Workplace {
    fn drop(&mut self) {
        self.shared.end(self.shared.lock());
        // Faults of tasks were answered; a thread has nothing else to tell.
        self.cores.drain(..).for_each(|core| drop(core.join()));
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn end(&self, mut state: MutexGuard<'_, State>) {
        state.has_ended = true;
        drop(state);
        self.came.notify_all();
    }

    /// Works on frames until the end: by a chain of one core, made anew where a task ended it. The last core tells what all tasks told.
    fn work(self: &Arc<Self>, core: usize, segment: &Segment) {
        while !self.lock().has_ended {
            let current = Arc::new(Mutex::new(None));
            let feed =
                Feed { shared: Arc::clone(self), kinds: segment.inputs().to_vec(), current: Arc::clone(&current) };
            let drain = Drain {
                shared: Arc::clone(self),
                wires: Writer::new(segment.outputs()),
                current: Arc::clone(&current),
            };
            let ended = self.run(core, segment, feed, drain);
            let open = current.lock().unwrap_or_else(PoisonError::into_inner).take();
            match (open, ended) {
                (Some(number), Err(error)) => self.failed(number, &error),
                (Some(number), Ok(_)) => self.answer(number, Outcome::Stop),
                // It cannot even be made: whatever comes fails.
                (None, Err(error)) => match self.next() {
                    Some((number, _)) => self.failed(number, &error),
                    None => break,
                },
                (None, Ok(_)) => {}
            }
        }
        let mut figures = self.figures();
        figures.left -= 1;
        let is_last = figures.left == 0;
        drop(figures);
        if is_last {
            self.tell();
        }
    }

    /// Runs the tasks between the ends until one of them ends them; what they tell can be asked meanwhile, and is kept.
    fn run(&self, core: usize, segment: &Segment, feed: Feed, drain: Drain) -> Result<Report> {
        let mut pipeline = segment.between(feed, drain)?.one_core()?;
        let mut watch = pipeline.watch();
        self.figures().cores[core] = Some(pipeline.watch());
        let ended = pipeline.run();
        let mut figures = self.figures();
        figures.cores[core] = None;
        figures.before.merge(watch.figures());
        drop(figures);
        pipeline.close().and(ended)
    }

    fn figures(&self) -> MutexGuard<'_, CoreFigures> {
        self.figures.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells what the tasks of all cores told so far.
    fn tell(&self) {
        let mut figures = self.figures();
        let mut all = figures.before.clone();
        figures.cores.iter_mut().flatten().for_each(|watch| all.merge(watch.figures()));
        drop(figures);
        self.answers().send(&Message::Told { run: self.run, figures: &told::write(&all) });
    }

    fn failed(&self, number: u64, error: &Error) {
        let task = error.place().task.as_deref().unwrap_or("");
        self.answer(number, Outcome::Failed { task, message: error.message() });
    }

    /// Waits for the next frame; `None` at the end.
    fn next(&self) -> Option<(u64, Payload)> {
        let mut state = self.lock();
        loop {
            if state.has_ended {
                return None;
            }
            if let Some(next) = state.worker.next() {
                return Some(next);
            }
            state.idle += 1;
            state = self.came.wait(state).unwrap_or_else(PoisonError::into_inner);
            state.idle -= 1;
        }
    }

    fn answer(&self, number: u64, outcome: Outcome<'_>) {
        self.answer_with(number, |run, holding, answers| {
            answers.send(&Message::Answer { run, number, outcome, holding });
        });
    }

    /// Answers with wires, which are not copied.
    fn answer_wires(&self, number: u64, wires: Buffer) {
        self.answer_with(number, |run, holding, answers| {
            answers.head.clear();
            Message::write_answer_head(run, number, holding, &mut answers.head);
            (answers.answer)(&answers.head, Some(Payload::new(wires, 0)));
        });
    }

    fn answer_with(&self, number: u64, send: impl FnOnce(u64, Holding<'_>, &mut Answers)) {
        let mut answers = self.answers();
        let mut held = std::mem::take(&mut answers.held);
        let mut state = self.lock();
        state.answered += 1;
        let holding = Holding::of(state.worker.done(number), &mut held);
        drop(state);
        send(self.run, holding, &mut answers);
        answers.held = held;
    }

    fn answers(&self) -> MutexGuard<'_, Answers> {
        self.answers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Answers {
    fn send(&mut self, message: &Message<'_>) {
        self.head.clear();
        message.write(&mut self.head);
        (self.answer)(&self.head, None);
    }
}

/// The number of the frame that a core works on, if no answer was given for it.
type Current = Arc<Mutex<Option<u64>>>;

/// The source of a core: frames that came.
struct Feed {
    shared: Arc<Shared>,
    kinds: Vec<WireKind>,
    current: Current,
}

impl RawTask for Feed {
    fn inputs(&self) -> Vec<SocketKind> {
        Vec::new()
    }

    fn outputs(&self) -> Vec<SocketKind> {
        WireKind::sockets(&self.kinds, Direction::Out).unwrap_or_default()
    }

    fn lens(&self, _: &[Shape]) -> Result<Vec<Shape>> {
        Ok(WireKind::shapes(&self.kinds))
    }

    fn run(&mut self, batch: &mut BatchView<'_>) -> Result<()> {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        // The one before did not reach the end of the tasks, which did not end either.
        if let Some(skipped) = current.take() {
            self.shared.answer(skipped, Outcome::Skip);
        }
        let Some((number, bytes)) = self.shared.next() else {
            batch.frames.stop(0);
            return Ok(());
        };
        *current = Some(number);
        let wires = Wires::from_bytes(bytes.as_ref()).map_err(Error::from_source)?;
        wires::read(&self.kinds, wires, (&mut batch.outputs, 0), 0)
    }
}

/// The sink of a core: answers.
struct Drain {
    shared: Arc<Shared>,
    wires: Writer,
    current: Current,
}

impl RawTask for Drain {
    fn inputs(&self) -> Vec<SocketKind> {
        WireKind::sockets(self.wires.kinds(), Direction::In).unwrap_or_default()
    }

    fn outputs(&self) -> Vec<SocketKind> {
        Vec::new()
    }

    fn lens(&self, _: &[Shape]) -> Result<Vec<Shape>> {
        Ok(Vec::new())
    }

    fn run(&mut self, batch: &mut BatchView<'_>) -> Result<()> {
        let mut wires = self.shared.buffers.take();
        self.wires.write(batch, 0, &mut wires)?;
        if let Some(number) = self.current.lock().unwrap_or_else(PoisonError::into_inner).take() {
            self.shared.answer_wires(number, wires);
        }
        Ok(())
    }
}

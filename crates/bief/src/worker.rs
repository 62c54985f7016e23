//! One replica of a stage at work: gets a batch, runs the tasks, hands it on, until the stream ends on either side.
//!
//! The end of the stream is a number that is not sent any more: everything before it is received first. A receiver that goes
//! away makes its senders stop in turn. So a stop, an error and a panic all end a run the same way: the frames before are
//! delivered, and every worker ends.

use std::fmt::Display;
use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

use bief_machine::clock::thread_time;

use crate::affinity::Mask;
use crate::boundary::{Inlet, Outlet, carried};
use crate::clock::{Laps, Moment};
use crate::count::Count;
use crate::device::{Lane, Waits};
use crate::emulate::Emulation;
use crate::error::{Error, ErrorKind, Place, Result};
use crate::frame::Batch;
use crate::gather::{Gathered, places};
use crate::halt::Halt;
use crate::machine::Machine;
use crate::observe::{Launch, Observer, Recorder, Visit};
use crate::per_core::Only;
use crate::placement::Pinning;
use crate::stage::Stage;
use crate::sync::{Mutex, PoisonError};
use crate::trace::Track;
use crate::watch::Meter;
use crate::wire::WireInfo;

/// The first fault of a run.
#[derive(Default)]
pub(crate) struct Fault(Mutex<Option<Error>>);

impl Fault {
    pub(crate) fn note(&self, error: Error) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
    }

    pub(crate) fn is_noted(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    pub(crate) fn take(&self) -> Option<Error> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// One replica of a stage. It lasts from run to run; its ends of the rings last for one.
pub(crate) struct Worker {
    /// Number of its stage.
    pub(crate) stage_index: usize,
    pub(crate) stage: Stage,
    pub(crate) replica: usize,
    pub(crate) replicas: usize,
    /// Its pipeline has more threads than cores.
    pub(crate) shares_cores: bool,
    /// The batch of a chain on one core.
    own: Batch,
    /// Number of the next batch in this plan, when this stage is the first.
    pub(crate) next: u64,
    /// Frames of the run before this plan.
    first_frame: u64,
    /// When it took no further batch.
    pub(crate) left: Option<Instant>,
    /// It saw the last batch of the stream.
    pub(crate) has_ended: bool,
    /// Its tasks were not told the end of the run.
    unfinished: bool,
    pub(crate) inlet: Option<Inlet>,
    pub(crate) outlet: Option<Outlet>,
    /// Wires that only pass through: where they stand in the inlet and in the outlet.
    pub(crate) carried: Vec<(usize, usize)>,
    pub(crate) count: Count,
    /// Batches that went no further than this worker: counted for those who watch alone.
    pub(crate) ended: u64,
    /// Notes more than the counts, if the pipeline is observed.
    pub(crate) observer: Option<Box<Observer>>,
    /// Shows the counts while it works, if the pipeline is watched.
    meter: Option<Arc<Meter>>,
    /// When the batch that is made next is due, if this stage is the first and one of its tasks says so.
    due: Option<Instant>,
    /// Signals about used up budgets that its thread got in the last run.
    pub(crate) signals: u64,
    /// The hardware threads that its thread may run on; `None` for those of the thread that starts it.
    threads: Option<Vec<usize>>,
    /// What the system said when it refused the thread these in the last run.
    pub(crate) refusal: Option<String>,
    /// Makes it slower, on a core that is emulated.
    emulation: Option<Box<Emulation>>,
    /// What it does beside its tasks, if it is a lane of a device.
    pub(crate) lane: Option<Box<Lane>>,
    /// What it has of several batches, if it works on them at a time.
    pub(crate) gathered: Option<Box<Gathered>>,
}

impl Worker {
    /// Replica number `replica` of `replicas`, for batches of so many frames.
    pub(crate) fn new(stage_index: usize, stage: Stage, (replica, replicas): (usize, usize), batch: usize) -> Self {
        Self {
            stage_index,
            stage,
            replica,
            replicas,
            shares_cores: false,
            own: Batch::new(batch),
            next: 0,
            first_frame: 0,
            left: None,
            has_ended: false,
            unfinished: false,
            inlet: None,
            outlet: None,
            carried: Vec::new(),
            count: Count::default(),
            ended: 0,
            observer: None,
            meter: None,
            due: None,
            signals: 0,
            threads: None,
            refusal: None,
            emulation: None,
            lane: None,
            gathered: None,
        }
    }

    /// Gives its thread a place, on a machine that may be emulated.
    pub(crate) fn place(&mut self, threads: &[usize], machine: &Machine) {
        let tasks = self.stage.tasks().iter().map(|task| &*task.name);
        // A lane's tasks take as long as they do on its device, wherever it runs.
        let on_core = self.lane.is_none().then(|| Emulation::new(machine, tasks, threads));
        self.emulation = on_core.flatten().map(Box::new);
        self.threads = Some(threads.to_vec());
    }

    /// The hardware threads of its place, if it was given one.
    pub(crate) fn threads(&self) -> Option<&[usize]> {
        self.threads.as_deref()
    }

    /// Notes more than the counts from now on.
    pub(crate) fn observe(&mut self) -> &mut Observer {
        let seed = ((self.stage_index as u64) << 32) + self.replica as u64;
        self.observer.get_or_insert_with(|| Box::new(Observer::new(self.stage.tasks().len(), seed)))
    }

    /// Shows what it does from now on.
    pub(crate) fn meter(&mut self) -> Arc<Meter> {
        let tasks = self.stage.tasks().len();
        Arc::clone(self.meter.get_or_insert_with(|| Arc::new(Meter::new(tasks))))
    }

    /// What its thread is called.
    pub(crate) fn name(&self) -> String {
        // A thread's name ends at a null.
        format!("{} {}", self.stage.name().replace('\0', ""), self.replica)
    }

    /// What it has recorded of the run, if it records.
    pub(crate) fn track(&self) -> Option<Track> {
        let recorder = self.observer.as_ref()?.recorder.as_ref()?;
        Some(self.track_of(recorder.clone()))
    }

    /// The same, of a worker that records nothing any more.
    pub(crate) fn take_track(&mut self) -> Option<Track> {
        let recorder = self.observer.as_mut()?.recorder.take()?;
        Some(self.track_of(recorder))
    }

    fn track_of(&self, recorder: Recorder) -> Track {
        let tasks = self.stage.tasks().iter().map(|task| Arc::clone(&task.name)).collect();
        let lane = self.lane.as_ref().map(|lane| format!("{} lane {}", lane.device(), self.replica));
        Track { stage: self.stage_index, name: self.name(), tasks, lane, recorder }
    }

    /// Makes it ready for batches of another size; its stage has tasks `range` of the chain of `wires`.
    pub(crate) fn set_batch(&mut self, range: Range<usize>, wires: &[WireInfo], batch: usize) {
        self.stage.make_room(range, wires, batch);
        self.own = Batch::new(batch);
        self.count = Count::default();
    }

    /// Gives it its ends of the rings for one run, or for one plan of a run that has had so many frames: none at the ends of the
    /// chain.
    pub(crate) fn join(&mut self, inlet: Option<Inlet>, outlet: Option<Outlet>, first_frame: u64) {
        self.carried = match (&inlet, &outlet) {
            (Some(inlet), Some(outlet)) => carried(&inlet.wires, &outlet.wires),
            _ => Vec::new(),
        };
        let places = inlet.as_ref().map_or(0, |inlet| places(inlet, outlet.as_ref()));
        self.gathered = (places > 0).then(|| Box::new(Gathered::new(places + 1)));
        (self.inlet, self.outlet) = (inlet, outlet);
        (self.next, self.first_frame) = (0, first_frame);
        (self.left, self.has_ended, self.unfinished) = (None, false, false);
        self.count = Count::default();
        self.ended = 0;
        if let Some(lane) = &mut self.lane {
            lane.clear();
        }
        if let Some(observer) = &mut self.observer {
            observer.clear();
        }
        self.show();
    }

    /// Lets go of the rings, so that the neighbours learn that this worker has ended.
    pub(crate) fn leave(&mut self) {
        if let Some(outlet) = self.outlet.take() {
            let waited = outlet.waited();
            (self.count.waits_for_output, self.count.blocked) = (waited.times, waited.duration());
        }
        if let Some(inlet) = self.inlet.take() {
            let waited = inlet.waited();
            (self.count.waits_for_input, self.count.starved) = (waited.times, waited.duration());
        }
    }

    /// Works until the stream ends, by a stop or by a fault; then lets the neighbours know, and the tasks flush. First it takes
    /// its place, unless `pinning` is `None`: then its thread has it.
    pub(crate) fn work(&mut self, halt: &Halt, fault: &Fault, pinning: Option<Pinning>) {
        if let Err(error) = pinning.map_or(Ok(()), |pinning| self.take_place(0, pinning)) {
            fault.note(error);
            self.leave();
            return;
        }
        if let Some(emulation) = &mut self.emulation {
            emulation.start();
        }
        let before = self.lane.is_some().then(thread_time);
        let start = Instant::now();
        let seen = self.observer.is_some() || self.meter.is_some() || self.emulation.is_some() || self.lane.is_some();
        let outcome = match () {
            () if self.gathered.is_some() => self.run_gathered(halt),
            () if seen => self.run::<true>(halt),
            () => self.run::<false>(halt),
        };
        let elapsed = start.elapsed();
        if let Some((lane, before)) = self.lane.as_mut().zip(before) {
            lane.host = thread_time().saturating_sub(before);
        }
        if let Err(error) = outcome {
            fault.note(error);
            let delivered = if self.gathered.is_some() { self.deliver_gathered() } else { self.deliver_before_fault() };
            if let Err(error) = delivered {
                fault.note(error);
            }
        }
        self.left = Some(Instant::now());
        self.leave();
        self.count.busy = elapsed.saturating_sub(self.count.starved + self.count.blocked);
        // The run may go on with these tasks in another plan.
        self.unfinished = halt.is_paused();
        if !self.unfinished {
            self.finish(fault);
        }
        self.tell();
    }

    /// Lets its tasks flush, if they were not yet told the end of the run.
    pub(crate) fn finish_if_unfinished(&mut self, fault: &Fault) {
        if std::mem::take(&mut self.unfinished) {
            self.finish(fault);
            self.tell();
        }
    }

    fn finish(&mut self, fault: &Fault) {
        if let Err(error) = self.stage.finish() {
            fault.note(error);
        }
    }

    /// Lets its thread, the calling one where it is 0, run in its place.
    pub(crate) fn take_place(&mut self, thread: i32, pinning: Pinning) -> Result<()> {
        let Some(threads) = &self.threads else { return Ok(()) };
        let placed = Mask::of(threads).and_then(|place| place.set(thread));
        self.refusal = placed.err().map(|error| error.to_string());
        match &self.refusal {
            Some(refusal) if pinning == Pinning::Require => Err(self.refused(threads, refusal)),
            _ => Ok(()),
        }
    }

    /// Lets its thread run on each of these sets, as far as they are of its place; it is left on the last.
    ///
    /// # Errors
    /// The first set that the system refuses.
    pub(crate) fn try_places(&self, thread: i32, sets: &[Vec<usize>]) -> Result<()> {
        let Some(threads) = &self.threads else { return Ok(()) };
        for set in sets {
            let part: Vec<usize> = set.iter().copied().filter(|thread| threads.contains(thread)).collect();
            if !part.is_empty() {
                let placed = Mask::of(&part).and_then(|place| place.set(thread));
                placed.map_err(|error| self.refused(&part, error))?;
            }
        }
        Ok(())
    }

    fn refused(&self, threads: &[usize], reason: impl Display) -> Error {
        let place = Place { stage: Some(self.stage.name().into()), ..Place::default() };
        Error::new(format!("replica {} may not run on hardware thread {threads:?}: {reason}", self.replica))
            .with_kind(ErrorKind::Placement)
            .at(place)
    }

    /// `SEEN`: the pipeline is observed or watched, its core is emulated, or it is a lane. One that is not reads no clock in this loop, which takes longer than a
    /// small task.
    fn run<const SEEN: bool>(&mut self, halt: &Halt) -> Result<()> {
        let is_only = self.shares_cores && self.replicas == 1 && self.lane.is_none();
        let only = is_only.then(Only::new);
        let mut laps = Laps::start();
        // In a trace no batch begins before it came, whatever kept the thread meanwhile.
        let is_traced = self.observer.as_ref().is_some_and(|observer| observer.recorder.is_some());
        let reads_arrival = is_traced && self.inlet.is_some();
        let mut waits = self.waits();
        // What did not wait took no time to speak of: less than reading the clock.
        let mut has_waited = |worker: &Self| {
            let before = std::mem::replace(&mut waits, worker.waits());
            before != waits
        };
        loop {
            let asked = laps.mark();
            let sampled = SEEN && self.samples()?;
            if !self.next_batch(halt) {
                break;
            }
            if SEEN && (has_waited(self) || reads_arrival) {
                laps.lap();
            }
            let begin = laps.mark();
            let mut frames = None;
            if self.batch().count > 0 {
                self.load();
                let batch = at_hand(&mut self.inlet, &mut self.outlet, &mut self.own);
                // SAFETY: the slots just loaded are this worker's own, made for the crossing wires and this batch size; they
                // stay in place until `send`.
                unsafe {
                    if SEEN && self.lane.is_some() {
                        self.run_in_lane(sampled)?;
                    } else if SEEN && (sampled || self.emulation.is_some()) {
                        self.run_timed(sampled)?;
                    } else {
                        self.stage.run(batch)?;
                    }
                };
                let live = self.batch().live() as u64;
                self.count.batches += 1;
                self.count.frames += live;
                frames = Some(live);
            }
            if SEEN {
                self.count.busy += laps.lap();
                let first = self.batch().first;
                let launch = frames.and_then(|_| self.launch());
                self.note(Visit { first, frames, asked, begin, end: laps.mark(), sampled, launch });
            }
            self.has_ended = self.batch().last;
            if !self.give() || self.has_ended || !self.take() {
                break;
            }
            if let Some(only) = &only {
                only.follow();
            }
            let gave_way = self.replicas > 1 && self.inlet.as_mut().is_some_and(Inlet::give_way);
            if SEEN && (has_waited(self) || gave_way) {
                laps.lap();
            }
        }
        Ok(())
    }

    /// Hands on those frames of its batch that come before the one on which a task failed, once the tasks that follow have
    /// worked on them. Nothing comes after them.
    fn deliver_before_fault(&mut self) -> Result<()> {
        let batch = at_hand(&mut self.inlet, &mut self.outlet, &mut self.own);
        // SAFETY: the stage has just failed on this batch, whose slots are loaded and still this worker's own; or it failed before,
        // and the batch has no frames.
        let outcome = unsafe { self.stage.run_before_fault(batch) };
        if batch.count > 0 {
            batch.last = true;
            self.count.batches += 1;
            self.count.frames += batch.live() as u64;
            self.show();
            self.give();
        }
        outcome
    }

    fn batch(&mut self) -> &mut Batch {
        at_hand(&mut self.inlet, &mut self.outlet, &mut self.own)
    }

    /// Runs every task on the batch and lets the observer note the times, if it `samples` them: on an emulated core as long
    /// as they would be there. Not a part of the loop, which is kept small.
    ///
    /// # Safety
    /// As [`Stage::run`].
    #[inline(never)]
    unsafe fn run_timed(&mut self, samples: bool) -> Result<()> {
        let mut observer = self.observer.as_mut().filter(|_| samples);
        if let Some(observer) = &mut observer {
            observer.begin();
        }
        let mut emulation = self.emulation.as_mut();
        if let Some(emulation) = &mut emulation {
            emulation.begin();
        }
        let note = |task, start, time, had_frames: bool| {
            let time = emulation.as_mut().map_or(time, |emulation| emulation.task(task, time));
            if let Some(observer) = &mut observer {
                observer.task(task, had_frames.then_some((start, time)), 1);
            }
        };
        let batch = at_hand(&mut self.inlet, &mut self.outlet, &mut self.own);
        // SAFETY: passed on to the caller.
        unsafe { self.stage.run_timed(0..self.stage.tasks().len(), batch, note)? };
        if let Some(emulation) = &mut self.emulation {
            emulation.pay();
        }
        Ok(())
    }

    /// Runs every task on the batch on the device of its lane, and lets the observer note the times, if it `samples` them.
    ///
    /// # Safety
    /// As [`Stage::run`].
    #[inline(never)]
    unsafe fn run_in_lane(&mut self, samples: bool) -> Result<()> {
        let (start, waits) = (self.begin_launch(0), self.waits());
        let Self { lane, stage, observer, inlet, outlet, own, .. } = self;
        let Some(lane) = lane else { return Ok(()) };
        let batch = at_hand(inlet, outlet, own);
        let mut observer = observer.as_mut().filter(|_| samples);
        if let Some(observer) = &mut observer {
            observer.begin();
        }
        lane.pass(start, (batch.live() as u64, 1), waits, |note| {
            let tasks = 0..stage.tasks().len();
            // SAFETY: passed on to the caller.
            unsafe { stage.run_timed(tasks, batch, note)? };
            Ok(stage.copied())
        })?;
        if let Some(observer) = &mut observer {
            lane.tasks().for_each(|(task, time)| observer.task(task, time, 1));
        }
        Ok(())
    }

    /// Begins a launch, with so many further batches. A device has the frames copied to it; whoever emulates one has them come to this
    /// core, before the tasks are timed: else these would wait for what lies in the cache of another.
    pub(crate) fn begin_launch(&self, further: usize) -> Instant {
        let start = Instant::now();
        if self.lane.as_ref().is_some_and(|lane| lane.is_emulated()) {
            self.inlet.iter().for_each(|inlet| inlet.fetch(further));
            self.outlet.iter().for_each(|outlet| outlet.fetch(further));
        }
        start
    }

    /// How often it has waited for its neighbours.
    pub(crate) fn waits(&self) -> Waits {
        let input = self.inlet.as_ref().map_or(0, |inlet| inlet.waited().times);
        [input, self.outlet.as_ref().map_or(0, |outlet| outlet.waited().times)]
    }

    /// What its device did for the batches that it has, if it is a lane.
    pub(crate) fn launch(&self) -> Option<Launch> {
        self.lane.as_ref().and_then(|lane| lane.last)
    }

    /// Whether the next batch is timed; if so, the observer looks how many wait. The first stage says when it is due.
    #[inline(never)]
    pub(crate) fn samples(&mut self) -> Result<bool> {
        if self.inlet.is_none() {
            self.due = self.stage.due().inspect_err(|_| self.batch().count = 0)?;
        }
        let held = || self.inlet.as_ref().map(Inlet::held);
        Ok(self.observer.as_mut().is_some_and(|observer| observer.samples(held)))
    }

    /// Lets the observer note what became of the batch, and shows the counts.
    #[inline(never)]
    pub(crate) fn note(&mut self, visit: Visit) {
        let replicas = self.replicas;
        let ends = self.outlet.is_none() || self.batch().count == 0 || drops(self.batch(), replicas);
        self.ended += u64::from(visit.frames.is_some() && ends);
        self.show();
        // Of several batches that were worked on together, this is the first.
        let frames = self.batch().live() as u64;
        let Some(observer) = &mut self.observer else { return };
        let made = Moment::of(self.due.unwrap_or(visit.asked));
        let begun = self.inlet.as_ref().map_or(Some(made), |inlet| inlet.slot.begun);
        match &mut self.outlet {
            Some(outlet) => outlet.slot.begun = begun,
            None if visit.frames.is_some() => observer.delivered(begun, frames, visit.end),
            None => {}
        }
        observer.visited(visit, &self.count, self.meter.as_deref());
    }

    /// Shows the counts to whoever watches, and what the tasks tell to who has asked for it.
    pub(crate) fn show(&self) {
        if let Some(meter) = &self.meter {
            meter.show(self.count.batches, self.count.frames, self.count.busy, self.ended);
            if meter.is_asked() {
                self.tell();
            }
        }
    }

    /// Shows what the tasks tell to whoever watches.
    fn tell(&self) {
        if let Some(meter) = &self.meter {
            meter.tell(self.stage.figures(), self.inlet.as_ref().map(Inlet::held));
        }
    }

    /// Gets the next batch; `false` at the end of the stream.
    pub(crate) fn next_batch(&mut self, halt: &Halt) -> bool {
        let number = match &mut self.inlet {
            Some(inlet) => inlet.receive(),
            None => halt.claim(self.next, self.replicas),
        };
        // What replicas hand on has the number of what they got; a stage of one counts what it hands on, and may drop some.
        if let Some(outlet) = &mut self.outlet
            && self.replicas > 1
        {
            outlet.number(number.unwrap_or_else(|end| end));
        }
        let Ok(number) = number else { return false };
        match (&mut self.inlet, &mut self.outlet) {
            (Some(inlet), Some(outlet)) => std::mem::swap(&mut inlet.slot.batch, &mut outlet.slot.batch),
            (Some(_), None) => {}
            (None, _) => {
                self.next = number + 1;
                let first_frame = self.first_frame;
                let batch = self.batch();
                batch.renew(first_frame + number * batch.capacity() as u64);
            }
        }
        true
    }

    /// Points the stage's table at the wires of the batch.
    pub(crate) fn load(&mut self) {
        if let (Some(inlet), Some(outlet)) = (&mut self.inlet, &mut self.outlet) {
            for &(from, to) in &self.carried {
                std::mem::swap(&mut inlet.slot.buffers[from], &mut outlet.slot.buffers[to]);
            }
        }
        // Carried wires are now on the outlet's side, so its buffers are noted last.
        if let Some(inlet) = &self.inlet {
            self.stage.load(&inlet.wires, &inlet.slot);
        }
        if let Some(outlet) = &self.outlet {
            self.stage.load(&outlet.wires, &outlet.slot);
        }
    }

    /// Hands the batch on, for which it has to [`take`](Self::take) a slot; `false` when nobody receives it any more.
    fn give(&mut self) -> bool {
        match &mut self.outlet {
            Some(outlet) if !drops(&outlet.slot.batch, self.replicas) => outlet.give(None),
            _ => true,
        }
    }

    /// Gets empty slots for those that it has given. Not at its end: there may be none any more, as those of later numbers stay where they
    /// are.
    pub(crate) fn take(&mut self) -> bool {
        self.outlet.as_mut().is_none_or(Outlet::take)
    }
}

/// The batch being worked on: it lies in the slot that is sent next, or in the one received if nothing follows.
fn at_hand<'w>(inlet: &'w mut Option<Inlet>, outlet: &'w mut Option<Outlet>, own: &'w mut Batch) -> &'w mut Batch {
    match (inlet, outlet) {
        (_, Some(outlet)) => &mut outlet.slot.batch,
        (Some(inlet), None) => &mut inlet.slot.batch,
        (None, None) => own,
    }
}

/// Whether a stage keeps the batch to itself. One whose frames were all skipped still travels from a replicated stage, to
/// keep its place; a stage of one replica drops it.
pub(crate) fn drops(batch: &Batch, replicas: usize) -> bool {
    replicas == 1 && batch.is_empty() && !batch.last
}

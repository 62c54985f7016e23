//! Stages: as the user marks them, as they are planned, and as one core runs them: flat steps over one table of pointers.

use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::device::{Copied, Device};
use crate::error::{Error, Place, Result};
use crate::figures::Figures;
use crate::frame::{Batch, Buffer, Slot};
use crate::task::{Node, Step};
use crate::wire::WireInfo;

/// Where a stage begins, as the user marked it.
#[derive(Debug)]
pub(crate) struct Mark {
    pub(crate) name: Arc<str>,
    pub(crate) first_task: usize,
    pub(crate) threads: usize,
}

/// A stage to be: which tasks, on how many replicas.
#[derive(Debug, Clone)]
pub(crate) struct StagePlan {
    pub(crate) name: Arc<str>,
    pub(crate) tasks: Range<usize>,
    pub(crate) threads: usize,
    /// The kind of core of each replica; empty where any will do.
    pub(crate) kinds: Vec<String>,
    /// Planned time per execution, already divided by the replicas.
    pub(crate) planned_ns: Option<f64>,
    /// The device that it runs on: then the replicas are its lanes.
    pub(crate) device: Option<Device>,
    /// How many batches a replica has at a time: more than one only where it is a lane.
    pub(crate) gather: usize,
    /// How many batches the ring behind it holds at least, so that no fast core waits for a slow one; 0 where it has one kind, or no
    /// profile tells.
    pub(crate) ahead: usize,
    /// The depth of the ring before it, where it has one of its own.
    pub(crate) depth: Option<usize>,
}

/// The stages of a schedule for tasks of these names.
pub(crate) fn plans<'n>(stages: &[bief_schedule::Stage], names: impl Iterator<Item = &'n Arc<str>>) -> Vec<StagePlan> {
    let names: Vec<&Arc<str>> = names.collect();
    let mut first = 0_usize;
    let plan = |stage: &bief_schedule::Stage| {
        let tasks = first..first.saturating_add(stage.tasks);
        first = tasks.end;
        let named = stage.cores.iter().filter(|(kind, _)| !kind.is_empty());
        let kinds = named.flat_map(|(kind, &cores)| std::iter::repeat_n(kind.clone(), cores as usize)).collect();
        StagePlan::named(&names, tasks, stage.replicas() as usize, kinds)
    };
    stages.iter().map(plan).collect()
}

impl StagePlan {
    /// A stage named after its first task and, if there are more, its last.
    pub(crate) fn named(names: &[&Arc<str>], tasks: Range<usize>, threads: usize, kinds: Vec<String>) -> Self {
        let name = match names.get(tasks.clone()) {
            Some([only]) => Arc::clone(only),
            Some([first, .., last]) => format!("{first} .. {last}").into(),
            _ => "".into(),
        };
        Self { name, tasks, threads, kinds, planned_ns: None, device: None, gather: 1, ahead: 0, depth: None }
    }

    /// Gives it lanes on a device, of which it has one, for launches of so many batches.
    pub(crate) fn put_on(&mut self, device: Device, replicable: bool, gather: usize) {
        self.gather = gather;
        self.threads = if replicable { device.lanes() } else { 1 };
        self.kinds = vec![device.name().to_owned(); self.threads];
        self.device = Some(device);
    }

    /// How many replicas have each kind of core, in their order.
    pub(crate) fn threads_by_kind(&self) -> Vec<(&str, usize)> {
        self.kinds.chunk_by(|a, b| a == b).map(|alike| (alike[0].as_str(), alike.len())).collect()
    }

    /// The cores that it has, in words.
    pub(crate) fn cores(&self) -> String {
        match &self.threads_by_kind()[..] {
            [] => self.threads.to_string(),
            kinds => {
                let each: Vec<String> = kinds.iter().map(|(kind, threads)| format!("{threads} {kind}")).collect();
                each.join(" + ")
            }
        }
    }

    /// The kind of core of all replicas, if they have one.
    pub(crate) fn kind(&self) -> Option<&str> {
        match self.threads_by_kind()[..] {
            [(kind, _)] => Some(kind),
            _ => None,
        }
    }
}

impl std::fmt::Display for StagePlan {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} on {}", self.name, self.cores())
    }
}

/// One replica of a stage: its tasks, the buffers of the wires that never leave it, and where every wire is just now.
pub(crate) struct Stage {
    name: Arc<str>,
    tasks: Vec<Node>,
    /// For each wire of the chain, where its batch is. Wires that this stage does not know are null.
    table: Box<[*mut u8]>,
    /// The same of each of several batches that are worked on at a time, where they are.
    tables: Box<[Box<[*mut u8]>]>,
    /// Owns what the tables point at, for wires made and last used in this stage.
    local: Vec<Buffer>,
    /// Keeps the constants that the table points at.
    _constants: Vec<Arc<Buffer>>,
    /// The task that runs or ran last; after a fault the one that failed.
    current: usize,
    /// Which frame of its batch that was.
    position: usize,
    /// Which of several batches.
    place: usize,
    /// The tasks that failed since the last reset.
    failed: Vec<usize>,
}

// SAFETY: the pointers in the table are to buffers that this stage owns or that were handed to it with a slot; tasks and
// buffers are `Send`.
unsafe impl Send for Stage {}

impl Stage {
    /// The stage of the given `tasks`, which are numbers `range` of the chain.
    pub(crate) fn new(name: Arc<str>, tasks: Vec<Node>, range: Range<usize>, wires: &[WireInfo], batch: usize) -> Self {
        let mut table = vec![std::ptr::null_mut(); wires.len()].into_boxed_slice();
        let mut constants = Vec::new();
        for (entry, wire) in table.iter_mut().zip(wires) {
            if let Some(constant) = &wire.constant {
                *entry = constant.as_ptr();
                constants.push(Arc::clone(constant));
            }
        }
        let mut stage = Self {
            name,
            tasks,
            table,
            tables: Box::default(),
            local: Vec::new(),
            _constants: constants,
            current: 0,
            position: 0,
            place: 0,
            failed: Vec::new(),
        };
        stage.make_room(range, wires, batch);
        stage
    }

    /// Makes the buffers of the wires that never leave it, for batches of so many frames; `range` and `wires` are those that it
    /// was made with.
    pub(crate) fn make_room(&mut self, range: Range<usize>, wires: &[WireInfo], batch: usize) {
        self.local.clear();
        for table in std::iter::once(&mut self.table).chain(&mut self.tables) {
            for (entry, wire) in table.iter_mut().zip(wires) {
                if wire.constant.is_none() && range.contains(&wire.maker) && range.contains(&wire.last_user) {
                    let buffer = Buffer::new(wire.format, wire.len * batch);
                    *entry = buffer.as_ptr();
                    self.local.push(buffer);
                }
            }
        }
    }

    /// Lets it work on so many batches at a time, of so many frames each; else as [`make_room`](Self::make_room).
    pub(crate) fn gather(&mut self, batches: usize, range: Range<usize>, wires: &[WireInfo], batch: usize) {
        self.tables = vec![self.table.clone(); batches].into();
        self.make_room(range, wires, batch);
    }

    /// Gives its tasks away.
    pub(crate) fn take_tasks(&mut self) -> Vec<Node> {
        std::mem::take(&mut self.tasks)
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn tasks(&self) -> &[Node] {
        &self.tasks
    }

    /// The lengths of the frames of a variable wire.
    ///
    /// # Safety
    /// The wire is variable, made and last used in this stage, and has room for so many frames.
    pub(crate) unsafe fn lens(&self, wire: usize, frames: usize) -> &[usize] {
        // SAFETY: the buffer after that of a variable wire, which this stage owns, holds a length for each position; no task runs.
        unsafe { std::slice::from_raw_parts(self.table[wire + 1].cast::<usize>(), frames) }
    }

    /// Notes where the crossing `wires` are: in the buffers of `slot`, in this order.
    pub(crate) fn load(&mut self, wires: &[usize], slot: &Slot) {
        for (&wire, buffer) in wires.iter().zip(&slot.buffers) {
            self.table[wire] = buffer.as_ptr();
        }
    }

    /// The same for one of several batches.
    pub(crate) fn load_at(&mut self, place: usize, wires: &[usize], slot: &Slot) {
        for (&wire, buffer) in wires.iter().zip(&slot.buffers) {
            self.tables[place][wire] = buffer.as_ptr();
        }
    }

    /// Runs every task on several batches, each on all of them together, timing each; `note` gets the task, when it began, how long it
    /// took, and whether it had any frame to work on.
    ///
    /// # Safety
    /// As [`run`](Self::run), of the slots that were [`load_at`](Self::load_at)ed for so many batches.
    pub(crate) unsafe fn run_gathered(
        &mut self,
        batches: &mut [Batch],
        mut note: impl FnMut(usize, Instant, Duration, bool),
    ) -> Result<()> {
        // SAFETY: passed on to the caller.
        unsafe { self.run_gathered_from(0, batches, &mut note) }
    }

    /// As [`run_before_fault`](Self::run_before_fault), of several batches: those behind the one with the frame lose all of theirs.
    /// Answers which that is, too.
    ///
    /// # Safety
    /// As [`run_gathered`](Self::run_gathered), which has failed on these batches.
    pub(crate) unsafe fn run_gathered_before_fault(&mut self, batches: &mut [Batch]) -> (usize, Result<()>) {
        let mut result = Ok(());
        loop {
            let (whole, rest) = batches.split_at_mut(self.place);
            for (index, batch) in rest.iter_mut().enumerate() {
                batch.count = if index == 0 { batch.count.min(self.position) } else { 0 };
            }
            let place = whole.len();
            // SAFETY: passed on to the caller.
            match unsafe { self.run_gathered_from(self.current + 1, batches, &mut |_, _, _, _| ()) } {
                Ok(()) => return (place, result),
                Err(error) => result = result.and(Err(error)),
            }
        }
    }

    /// # Safety
    /// As [`run_gathered`](Self::run_gathered).
    unsafe fn run_gathered_from(
        &mut self,
        first: usize,
        batches: &mut [Batch],
        note: &mut dyn FnMut(usize, Instant, Duration, bool),
    ) -> Result<()> {
        self.place = 0;
        let ran = Error::catch(|| {
            for index in first..self.tasks.len() {
                self.current = index;
                let has_frames = batches.iter().any(|batch| !batch.is_empty());
                let start = Instant::now();
                let at = (&mut self.place, &mut self.position);
                // SAFETY: the caller's promise, and `make_room`'s for the local wires.
                unsafe { self.tasks[index].step.run_gathered(&self.tables, batches, at)? };
                note(index, start, start.elapsed(), has_frames);
            }
            Ok(())
        });
        ran.map_err(|error| {
            let first = batches.get(self.place).map_or(0, |batch| batch.first);
            self.failed_at(first, error)
        })
    }

    /// Runs every task on the batch.
    ///
    /// # Safety
    /// Every crossing wire that this stage uses was [`load`](Self::load)ed from a slot that lives, belongs to this thread
    /// alone, and was made for the same wires and batch size.
    pub(crate) unsafe fn run(&mut self, batch: &mut Batch) -> Result<()> {
        // SAFETY: passed on to the caller.
        unsafe { self.run_from(0, batch) }
    }

    /// Runs the tasks that follow a failed one on the frames before that on which it failed, and leaves those alone in the
    /// batch; the first error that comes of it is told.
    ///
    /// # Safety
    /// As [`run`](Self::run), which has failed on this batch.
    pub(crate) unsafe fn run_before_fault(&mut self, batch: &mut Batch) -> Result<()> {
        let mut result = Ok(());
        loop {
            batch.count = batch.count.min(self.position);
            // SAFETY: passed on to the caller.
            match unsafe { self.run_from(self.current + 1, batch) } {
                Ok(()) => return result,
                Err(error) => result = result.and(Err(error)),
            }
        }
    }

    /// # Safety
    /// As [`run`](Self::run).
    #[inline]
    unsafe fn run_from(&mut self, first: usize, batch: &mut Batch) -> Result<()> {
        self.guarded(batch, |stage, batch| {
            for index in first..stage.tasks.len() {
                stage.current = index;
                // SAFETY: the caller's promise, and `new`'s for the local wires.
                unsafe { stage.tasks[index].step.run(&stage.table, batch, &mut stage.position)? };
            }
            Ok(())
        })
    }

    /// As [`run`](Self::run), of these tasks alone, timing each; `note` gets the task, when it began, how long it took, and
    /// whether it had any frame to work on.
    ///
    /// # Safety
    /// As [`run`](Self::run).
    pub(crate) unsafe fn run_timed(
        &mut self,
        tasks: Range<usize>,
        batch: &mut Batch,
        mut note: impl FnMut(usize, Instant, Duration, bool),
    ) -> Result<()> {
        self.guarded(batch, |stage, batch| {
            for index in tasks {
                stage.current = index;
                let has_frames = !batch.is_empty();
                let start = Instant::now();
                // SAFETY: the caller's promise, and `new`'s for the local wires.
                unsafe { stage.tasks[index].step.run(&stage.table, batch, &mut stage.position)? };
                note(index, start, start.elapsed(), has_frames);
            }
            Ok(())
        })
    }

    /// Runs `work`, turning a panic into an error and giving every error its place.
    fn guarded(&mut self, batch: &mut Batch, work: impl FnOnce(&mut Self, &mut Batch) -> Result<()>) -> Result<()> {
        // After a panic the batch is not passed on, and the failed task is not used again before it is reset.
        Error::catch(|| work(self, batch)).map_err(|error| self.failed_at(batch.first, error))
    }

    /// Gives an error of the current task, in a batch that begins with that frame, its place.
    fn failed_at(&mut self, first: u64, error: Error) -> Error {
        self.failed.push(self.current);
        error.at(Place {
            stage: Some(Arc::clone(&self.name)),
            task: Some(Arc::clone(&self.tasks[self.current].name)),
            frame: Some(first + self.position as u64),
        })
    }

    /// What was copied of the frames of the last batch to a device, and back, by all its tasks.
    pub(crate) fn copied(&mut self) -> [Copied; 2] {
        let mut all = [Copied::default(); 2];
        for copied in self.tasks.iter_mut().filter_map(|task| task.step.copied()) {
            all.iter_mut().zip(copied).for_each(|(all, copied)| *all += copied);
        }
        all
    }

    /// The same by one of them, where it is known.
    pub(crate) fn copied_by(&mut self, task: usize) -> Option<[Copied; 2]> {
        self.tasks[task].step.copied()
    }

    /// Exchanges a task for one with the same wires.
    pub(crate) fn exchange(&mut self, index: usize, other: &mut Box<dyn Step>) {
        std::mem::swap(&mut self.tasks[index].step, other);
    }

    /// Elements that its tasks had to drop in this run.
    pub(crate) fn lost(&self) -> Result<u64> {
        self.tasks.iter().try_fold(0, |sum: u64, task| {
            let lost =
                Error::catch(|| Ok(task.step.lost())).map_err(|error| between_frames(&self.name, &task.name, error))?;
            Ok(sum.saturating_add(lost))
        })
    }

    /// What its tasks tell of this run; nothing of one that panics.
    pub(crate) fn figures(&self) -> Figures {
        let mut all = Figures::default();
        self.tasks.iter().for_each(|task| all.merge(task.told()));
        all
    }

    /// When the batch that it makes next is due, if one of its tasks knows.
    pub(crate) fn due(&mut self) -> Result<Option<Instant>> {
        for (index, task) in self.tasks.iter_mut().enumerate() {
            let due = told(&self.name, task, |task| Ok(task.step.due())).inspect_err(|_| self.failed.push(index))?;
            if due.is_some() {
                return Ok(due);
            }
        }
        Ok(None)
    }

    /// Lets every task begin anew, a failed one too; the first error is told.
    pub(crate) fn reset(&mut self) -> Result<()> {
        self.failed.clear();
        self.current = 0;
        self.tasks.iter_mut().try_for_each(|task| told(&self.name, task, |task| task.step.reset()))
    }

    /// Lets every task but a failed one flush; the first error is told.
    pub(crate) fn finish(&mut self) -> Result<()> {
        let mut result = Ok(());
        for (index, task) in self.tasks.iter_mut().enumerate() {
            if self.failed.contains(&index) {
                continue;
            }
            result = result.and(told(&self.name, task, |task| task.step.finish()));
        }
        result
    }

    /// Drops its tasks; the first one that panics is told.
    pub(crate) fn close(&mut self) -> Result<()> {
        let mut result = Ok(());
        for Node { name, step } in self.tasks.drain(..) {
            let dropped = Error::catch(|| {
                drop(step);
                Ok(())
            });
            result = result.and(dropped.map_err(|error| between_frames(&self.name, &name, error)));
        }
        result
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        // Whoever wants to know of a task that panics closes the stage first.
        let _ = self.close();
    }
}

/// Calls a task between frames, turning a panic into an error and giving every error its place.
fn told<T>(stage: &Arc<str>, task: &mut Node, call: impl FnOnce(&mut Node) -> Result<T>) -> Result<T> {
    Error::catch(|| call(task)).map_err(|error| between_frames(stage, &task.name, error))
}

/// The error with its place, which is no frame.
fn between_frames(stage: &Arc<str>, task: &Arc<str>, error: Error) -> Error {
    error.at(Place { stage: Some(Arc::clone(stage)), task: Some(Arc::clone(task)), frame: None })
}

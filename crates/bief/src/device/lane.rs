//! A lane: one batch under way on a device.

use std::iter::Sum;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bief_machine::clock::{interruptions, nanoseconds, thread_time};

use super::batch::Batches;
use super::parts::Parts;
use super::{By, Copied, Device, DeviceBatch, Kept, Offload};
use crate::error::Result;
use crate::figures::Figures;
use crate::frame::Batch;
use crate::observe::{Launch, TaskTime};
use crate::socket::Socket;
use crate::task::{Step, Turn};
use crate::wire::{Inputs, Outputs};

/// A task on a device, and the wires that it is bound to.
pub(crate) struct OnDevice<I, O> {
    pub(crate) offload: Box<dyn Offload<I, O>>,
    pub(crate) inputs: Box<[Socket]>,
    pub(crate) outputs: Box<[Socket]>,
    /// How it has the frames of each wire.
    pub(crate) kept: Box<[Kept]>,
    /// What was copied of the last batch.
    pub(crate) copied: Option<[Copied; 2]>,
}

impl<I: Inputs, O: Outputs> OnDevice<I, O> {
    /// # Safety
    /// As [`Step::run`], of each of the batches.
    unsafe fn work(&mut self, batches: Batches<'_>, at: (&mut usize, &mut usize)) -> Result<()> {
        let sockets = (&*self.inputs, &*self.outputs);
        // SAFETY: the caller promises live buffers for every position of the batches; the sockets are those that the task was bound to,
        // whose inputs and outputs these are.
        let mut batch = unsafe { DeviceBatch::new(batches, sockets, &self.kept, at) };
        self.offload.enqueue(&mut batch)?;
        self.offload.complete(&mut batch)?;
        self.copied = self.offload.copied();
        Ok(())
    }
}

impl<I: Inputs + 'static, O: Outputs + 'static> Step for OnDevice<I, O> {
    unsafe fn run_frame(&mut self, table: &[*mut u8], position: usize) -> Result<Turn> {
        let mut alone = Batch::new(position + 1);
        alone.count = position + 1;
        (0..position).for_each(|before| alone.skip(before));
        // SAFETY: passed on to the caller.
        unsafe { self.run(table, &mut alone, &mut 0)? };
        Ok(Turn::Leave)
    }

    unsafe fn run(&mut self, table: &[*mut u8], batch: &mut Batch, at: &mut usize) -> Result<()> {
        // SAFETY: passed on to the caller.
        unsafe { self.work(Batches::One(table, batch), (&mut 0, at)) }
    }

    unsafe fn run_gathered(
        &mut self,
        tables: &[Box<[*mut u8]>],
        batches: &mut [Batch],
        at: (&mut usize, &mut usize),
    ) -> Result<()> {
        // SAFETY: passed on to the caller.
        unsafe { self.work(Batches::Several(tables, batches), at) }
    }

    fn replica(&self) -> Option<Box<dyn Step>> {
        None
    }

    fn takes_there(&self, wire: usize) -> bool {
        let inputs = self.inputs.iter().enumerate().filter(|(_, socket)| socket.wire == wire);
        let outputs = self.outputs.iter().enumerate().filter(|(_, socket)| socket.wire == wire);
        let (mut inputs, mut outputs) = (inputs.peekable(), outputs.peekable());
        (inputs.peek().is_some() || outputs.peek().is_some())
            && inputs.all(|(input, _)| self.offload.takes_there(input))
            && outputs.all(|(output, _)| self.offload.leaves_there(output))
    }

    fn copied(&mut self) -> Option<[Copied; 2]> {
        self.copied.take()
    }

    fn keep_there(&mut self, kept: &[Kept]) {
        self.kept = kept.into();
    }

    fn figures(&self, figures: &mut Figures) {
        self.offload.figures(figures);
    }

    fn finish(&mut self) -> Result<()> {
        self.offload.finish()
    }

    fn reset(&mut self) -> Result<()> {
        self.offload.reset()
    }
}

/// What it does beside its tasks' own code, and what that has cost in this run.
pub(crate) struct Lane {
    device: Device,
    names: Vec<Arc<str>>,
    /// Bytes of a frame that are copied in, and back.
    bytes: [u64; 2],
    /// What it did in its first launch in this run on a device that is there, which may make buffers, and in all others.
    pub(crate) first: Launched,
    pub(crate) usual: Launched,
    /// Processor time of its thread in this run.
    pub(crate) host: Duration,
    /// The times of its tasks in the last launch.
    tasks: Vec<TaskTime>,
    /// The last launch, unless it failed.
    pub(crate) last: Option<Launch>,
    /// On an emulated device, the launch before.
    before: Last,
}

/// What launches did.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Launched {
    pub(crate) launches: u64,
    pub(crate) batches: u64,
    /// How long they kept the parts of the device busy.
    pub(crate) busy: [Duration; 3],
    /// Bytes that were copied in, and back.
    pub(crate) copied: [u64; 2],
}

impl Sum for Launched {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), |sum, next| Self {
            launches: sum.launches + next.launches,
            batches: sum.batches + next.batches,
            busy: std::array::from_fn(|part| sum.busy[part] + next.busy[part]),
            copied: std::array::from_fn(|way| sum.copied[way] + next.copied[way]),
        })
    }
}

/// How often a lane had waited for its neighbours, before it and behind it, when a launch began.
pub(crate) type Waits = [u64; 2];

/// When an emulated device was done with the last launch of a lane, and the processor time of the lane then, which had slept too long, or a
/// little less than it should. The next launch has begun on the device when the lane has worked for so long since, as if it had got its core
/// at once whenever it could work, unless it had to wait for its neighbours meanwhile.
#[derive(Default)]
struct Last {
    done: Option<(Instant, Duration)>,
    waits: Waits,
}

/// What a thread sleeps too long, about.
const OVERSLEPT: Duration = Duration::from_micros(60);

/// What a lane makes up for: one that is later had too few cores.
const LATEST: Duration = Duration::from_millis(10);

impl Last {
    /// When a launch that begins now, after so much processor time, has begun on the device.
    fn begin(&self, now: Instant, worked: Duration, waits: Waits) -> Instant {
        let Some((device, lane)) = self.done else { return now };
        let begin = if waits == self.waits { device + worked.saturating_sub(lane) } else { now };
        begin.max(device).max(now.checked_sub(LATEST).unwrap_or(now))
    }

    /// Sleeps until the device is done, about.
    fn rest(&mut self, done: Instant, waits: Waits) {
        let left = done.saturating_duration_since(Instant::now());
        if left > OVERSLEPT {
            std::thread::sleep(left - OVERSLEPT);
        }
        *self = Self { done: Some((done, thread_time())), waits };
    }
}

impl Lane {
    /// Of tasks with these names, which copies so many bytes of a frame in, and back.
    pub(crate) fn new(device: Device, names: Vec<Arc<str>>, bytes: [u64; 2]) -> Self {
        let tasks = vec![None; names.len()];
        let (first, usual) = <(Launched, Launched)>::default();
        let (host, last, before) = (Duration::ZERO, None, Last::default());
        Self { device, names, bytes, first, usual, host, tasks, last, before }
    }

    pub(crate) fn clear(&mut self) {
        (self.first, self.usual) = <(Launched, Launched)>::default();
        (self.host, self.last, self.before) = (Duration::ZERO, None, Last::default());
    }

    /// The name of its device.
    pub(crate) fn device(&self) -> &str {
        self.device.name()
    }

    /// The times of its tasks in the last launch; none of one that may have made buffers.
    pub(crate) fn tasks(&self) -> impl Iterator<Item = (usize, TaskTime)> {
        let is_usual = self.usual.launches > 0;
        self.tasks.iter().filter(move |_| is_usual).copied().enumerate()
    }

    /// Whether this machine's cores do its work.
    pub(crate) fn is_emulated(&self) -> bool {
        matches!(self.device.opened.by, By::Emulation(_))
    }

    /// Lets `work` work on so many frames, of so many batches, in a launch that has begun at `start`: it gets what it is to note the times
    /// of tasks with, and answers what was copied of frames to the device, and back, where that is there. An emulated device does none of
    /// it: the lane sleeps until it would have.
    pub(crate) fn pass(
        &mut self,
        start: Instant,
        (frames, batches): (u64, usize),
        waits: Waits,
        work: impl FnOnce(&mut dyn FnMut(usize, Instant, Duration, bool)) -> Result<[Copied; 2]>,
    ) -> Result<()> {
        self.last = None;
        self.tasks.fill(None);
        let tasks = &mut self.tasks;
        let mut note = |task: usize, start, time, had_frames: bool| tasks[task] = had_frames.then_some((start, time));
        let By::Emulation(parts) = &self.device.opened.by else {
            let copied = work(&mut note)?;
            let whole = start.elapsed();
            let [read, write] = copied.map(|copied| copied.time);
            // Events are told by the device's own clock.
            let read = read.min(whole);
            let write = write.min(whole - read);
            // Frames come with the first task, and go with the last; what others copy is for themselves, or goes on meanwhile.
            let (mut came, mut went) = (Duration::ZERO, Duration::ZERO);
            if let Some((start, time)) = self.tasks.iter_mut().flatten().next() {
                came = read.min(*time);
                (*start, *time) = (*start + came, *time - came);
            }
            if let Some((_, time)) = self.tasks.iter_mut().flatten().next_back() {
                went = write.min(*time);
                *time -= went;
            }
            let (begin, end) = (start + came, start + whole - went);
            let parts = [(start, came), (begin, end.saturating_duration_since(begin)), (end, went)];
            self.note(
                Launch { batches, parts },
                [read, whole - read - write, write],
                copied.map(|copied| copied.bytes),
            );
            return Ok(());
        };
        let counted = (interruptions(), thread_time());
        let working = Instant::now();
        work(&mut note)?;
        let worked = working.elapsed();
        // Where the thread lost its core the time went on, but no work was done for it.
        let had = match interruptions() == counted.0 {
            true => 1.0,
            false => share(thread_time().saturating_sub(counted.1), worked),
        };
        let spec = &self.device.opened.spec;
        let mut all = Duration::ZERO;
        for (task, name) in self.tasks.iter_mut().zip(&self.names) {
            let Some((_, time)) = task else { continue };
            *time = Duration::from_nanos(spec.task_ns(name, nanoseconds(*time) as f64 * had).round() as u64);
            all += *time;
        }
        let copied = self.bytes.map(|bytes| bytes * frames);
        let [read, write] = copied.map(|bytes| Duration::from_nanos(spec.copy_ns(bytes).round() as u64));
        let times = [read, all, write];
        let begin = self.before.begin(start, counted.1, waits);
        let starts = parts.work(begin, times);
        let mut next = starts[Parts::WORKS];
        for (start, time) in self.tasks.iter_mut().flatten() {
            *start = next;
            next += *time;
        }
        let launch = Launch { batches, parts: std::array::from_fn(|part| (starts[part], times[part])) };
        self.note(launch, times, copied);
        self.before.rest(launch.end(), waits);
        Ok(())
    }

    fn note(&mut self, launch: Launch, busy: [Duration; 3], copied: [u64; 2]) {
        let is_first = !self.is_emulated() && self.first.launches == 0;
        let all = if is_first { &mut self.first } else { &mut self.usual };
        let launched = Launched { launches: 1, batches: launch.batches as u64, busy, copied };
        *all = [*all, launched].into_iter().sum();
        self.last = Some(launch);
    }
}

/// The part of a whole that is no more than that.
fn share(part: Duration, whole: Duration) -> f64 {
    if part < whole { part.as_secs_f64() / whole.as_secs_f64() } else { 1.0 }
}

#[cfg(all(test, not(any(bief_loom, bief_shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn a_lane_that_slept_too_long_makes_up_for_it_unless_it_waited() {
        let (zero, us) = (Instant::now() + Duration::from_secs(1), Duration::from_micros);
        let at = |after| zero + us(after);
        let last = Last { done: Some((at(100), us(40))), waits: [3, 4] };
        assert_eq!(Last::default().begin(at(5), us(1), [0, 0]), at(5));
        assert_eq!(last.begin(at(135), us(45), [3, 4]), at(105), "it was 30 us late, and took 5 to hand over");
        assert_eq!(last.begin(at(85), us(45), [3, 4]), at(105), "it was early");
        assert_eq!(last.begin(at(255), us(45), [3, 4]), at(105), "another thread had its core for 120 us");
        assert_eq!(last.begin(at(135), us(45), [4, 4]), at(135), "nothing was to be done");
        assert_eq!(last.begin(at(85), us(45), [3, 5]), at(100), "the device was not done");
        assert_eq!(last.begin(at(50_005), us(45), [3, 4]), at(40_005), "it had no core");
    }

    #[test]
    fn a_share_is_no_more_than_the_whole() {
        let ms = Duration::from_millis;
        assert_eq!([share(ms(1), ms(4)), share(ms(5), ms(4)), share(ms(0), ms(0))], [0.25, 1.0, 1.0]);
    }
}

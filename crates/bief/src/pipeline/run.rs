//! Runs of a pipeline: from the first frame to the last, or to the first fault.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::Pipeline;
use super::change::{Earlier, NextPlan, Traced};
use crate::affinity;
use crate::boundary::{Inlet, Outlet, connect};
use crate::check;
use crate::error::{Error, Result};
use crate::machine::energy::{EnergyMeter, Measurement};
use crate::placement::{Pinning, Placement};
use crate::pool::WorkerPool;
use crate::realtime::{RealTime, Session};
use crate::report::Report;
use crate::slices::Lost;
use crate::sync;
use crate::wait::{WaitPolicy, Waiting};
use crate::worker::{Fault, Worker};

impl Pipeline {
    /// Runs until the source stops, a task stops the stream, or a [`Stopper`](crate::pipeline::Stopper) does.
    ///
    /// The first run starts the threads; they wait, parked, for later runs, and end when the pipeline is dropped. Before
    /// each later run every task is told to begin anew ([`Task::reset`](crate::Task::reset)), after an error or a panic too.
    ///
    /// # Errors
    /// Rings of more than memory can hold, or than the [`Memory`](crate::memory::Memory) of their boundary gives; a real-time class, or with [`Policy::Dynamic`](crate::placement::Policy::Dynamic) a place, that is
    /// required and refused, before any frame is worked on.
    /// Otherwise the first error or panic of a task, with its place: frames before it were
    /// delivered, every other task was given [`finish`](crate::Task::finish), and no thread works any more.
    pub fn run(&mut self) -> Result<Report> {
        let outcome = self.run_once();
        self.halt.clear();
        outcome
    }

    /// Ends its threads and drops its tasks.
    ///
    /// A pipeline that goes out of scope does the same, and keeps a task that panics meanwhile to itself.
    ///
    /// # Errors
    /// The first task that panics when it is dropped, with its place; the others are dropped all the same.
    pub fn close(mut self) -> Result<()> {
        let mut result = Ok(());
        for worker in &mut self.workers {
            result = result.and(worker.stage.close());
        }
        result
    }

    fn run_once(&mut self) -> Result<Report> {
        self.check_threads()?;
        if self.has_run {
            self.workers.iter_mut().try_for_each(|worker| worker.stage.reset())?;
        }
        (self.earlier, self.first_frame, self.traced) = (Earlier::default(), 0, Traced::default());
        if self.wanted.is_some() {
            // It was asked for when the run before had ended.
            self.halt.pause();
        }
        self.cores = sync::cores();
        self.begin_plan()?;
        let seats = self.slots();
        let steers = self.real_time.is_some() || self.dynamic.is_some();
        let threads = self.pool.as_ref().filter(|_| steers).map(WorkerPool::threads).unwrap_or_default();
        let session = self.real_time.as_ref().map(|wanted| Session::begin(wanted, &seats, &threads)).transpose()?;
        let dynamic = self.dynamic.as_ref();
        let mapping = dynamic.map(|dynamic| dynamic.begin(&mut self.workers, &threads, self.pinning)).transpose()?;
        // Threads that are mapped have their places.
        let pinning = mapping.is_none().then_some(self.pinning);
        self.has_run = true;
        let fault = Arc::new(Fault::default());
        let measurement = self.meter.as_ref().and_then(EnergyMeter::start);
        self.measured = measurement.as_ref().map(Measurement::so_far);
        // Not the plan that the run before ended in.
        self.show_stages();
        let elapsed = self.work(&fault, pinning);
        self.shown.iter().for_each(|shown| shown.end());
        let moved = mapping.map(|mapping| mapping.end(&mut self.workers, &threads)).unwrap_or_default();
        let measured = measurement.map(Measurement::stop).unwrap_or_default();
        let signals: Vec<u64> = self.workers.iter().map(|worker| worker.signals).collect();
        let outcome = session.zip(self.real_time.as_ref()).map(|(session, wanted)| session.end(wanted, &signals));
        fault.take().map_or_else(|| self.report(elapsed, measured, outcome, moved), Err)
    }

    /// Works until the stream ends, by a stop or by a fault, in one plan after the other; answers how long in the last one.
    fn work(&mut self, fault: &Arc<Fault>, pinning: Option<Pinning>) -> Duration {
        let mut start = Instant::now();
        loop {
            self.shown.iter().for_each(|shown| shown.begin());
            match &mut self.pool {
                Some(pool) => self.workers = pool.run(std::mem::take(&mut self.workers), &self.halt, fault, pinning),
                None => self.workers.iter_mut().for_each(|worker| worker.work(&self.halt, fault, pinning)),
            }
            let elapsed = start.elapsed();
            match self.next_plan(fault) {
                Some(next) => {
                    start = Instant::now();
                    if let Err(error) = self.change_plan(next, elapsed) {
                        fault.note(error);
                        return start.elapsed();
                    }
                }
                None => {
                    self.workers.iter_mut().for_each(|worker| worker.finish_if_unfinished(fault));
                    if let Err(error) = self.earlier.aside.finish() {
                        fault.note(error);
                    }
                    return elapsed;
                }
            }
        }
    }

    /// The plan that the run goes on in, if it does: its workers have ended, as they were paused and for no other reason.
    fn next_plan(&self, fault: &Fault) -> Option<NextPlan> {
        let ended = fault.is_noted() || self.workers.iter().any(|worker| worker.has_ended);
        (!ended).then(|| self.wanted.take(&self.halt)).flatten()
    }

    /// Starts the threads that the plan in force needs, and gives its workers new rings.
    pub(super) fn begin_plan(&mut self) -> Result<()> {
        check::memory(&self.stages, &self.wires, (self.batch, self.depth), &self.memories)?;
        if let Some(pool) = &mut self.pool {
            pool.start_threads(&self.workers)?;
        }
        if self.has_far_memory {
            // A thread that goes from place to place touches memory first: the caller's thread stays where it is.
            return std::thread::scope(|scope| scope.spawn(|| self.join_workers(true)).join())
                .unwrap_or_else(|payload| Err(Error::panic(payload)));
        }
        self.join_workers(false)
    }

    /// Gives every worker new rings to its neighbours. `travels`: memory is first touched where it is used, and the calling
    /// thread may be moved for that.
    ///
    /// # Errors
    /// What the memory of a boundary refuses.
    fn join_workers(&mut self, travels: bool) -> Result<()> {
        let threads = self.workers.len();
        let cores = if self.placement.as_ref().is_some_and(Placement::shares_cores) { 1 } else { self.cores };
        self.shares_cores = threads > cores;
        // A thread that looks for frames is busy, whatever it needs.
        let parks = self.real_time.as_ref().is_some_and(RealTime::parks) || self.dynamic.is_some();
        let waiting = if parks { Waiting::Passive } else { self.waiting };
        let policy = WaitPolicy::new(waiting, threads, cores);
        let lost = Arc::new(Lost::new());
        let go_to = |worker: &Worker| {
            // Memory elsewhere is slower, not wrong.
            let _ = worker.threads().filter(|_| travels).map(affinity::pin);
        };
        if travels {
            for worker in &mut self.workers {
                go_to(worker);
                worker.stage.make_room(self.stages[worker.stage_index].tasks.clone(), &self.wires, self.batch);
            }
        }
        let mut inlets: Vec<Option<Inlet>> = (0..self.stages[0].threads).map(|_| None).collect();
        let mut outlets: Vec<Option<Outlet>> = Vec::new();
        let mut first = 0;
        for (pair, memory) in self.stages.windows(2).zip(&self.memories) {
            let connected = connect(
                self.ends(&pair[0], &pair[1]),
                pair[0].tasks.end,
                &self.wires,
                self.batch,
                memory.as_ref(),
                (policy, &lost),
                |sender| go_to(&self.workers[first + sender]),
            );
            let (sending, receiving) = connected.map_err(|error| {
                let message = format!("between stage `{}` and stage `{}`: {error}", pair[0].name, pair[1].name);
                Error::build(format!("{message}: choose another memory, or a smaller batch or depth"))
            })?;
            first += pair[0].threads;
            outlets.extend(sending.into_iter().map(Some));
            inlets.extend(receiving.into_iter().map(Some));
        }
        outlets.resize_with(threads, || None);
        for (worker, (inlet, outlet)) in self.workers.iter_mut().zip(inlets.into_iter().zip(outlets)) {
            worker.shares_cores = policy.shares_cores();
            worker.join(inlet, outlet, self.first_frame);
        }
        Ok(())
    }
}

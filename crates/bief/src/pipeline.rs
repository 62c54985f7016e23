//! Threads: stages and their replicas, started, joined by rings, drained and joined; the first error, or a panic, brought
//! home.
//!
//! Order is by construction. Between a stage of *m* replicas and one of *n* there are lcm(*m*, *n*) rings, each with one
//! sender and one receiver; the *k*-th batch goes through ring *k* mod lcm(*m*, *n*). So each replica knows, without
//! asking, where its next batch comes from and where it goes, and nothing is ever sorted. A batch whose frames were all
//! skipped still travels through a replicated stage; a stage of one replica drops it.
//!
//! The end of the stream is a ring whose sender is gone: everything sent before is received first. A receiver that goes
//! away makes its senders stop in turn. So a stop, an error and a panic all end the run the same way: the frames before
//! are delivered, and every thread ends.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use bief_schedule::Profile;

use crate::check;
use crate::error::{Error, ErrorKind, Result};
use crate::frame::{Batch, Buffer, Slot};
use crate::report::{Report, StageReport};
use crate::ring::{Consumer, Producer, ring};
use crate::stage::{Stage, StagePlan};
use crate::task::Node;
use crate::wait;
use crate::wire::Joint;

/// Slots of each ring unless set: enough to ride out a short delay on either side.
const DEFAULT_DEPTH: usize = 4;

/// A chain cut into stages, ready to run on threads of its own.
///
/// ```
/// use bief::{Chain, sink, source};
/// # use bief::{Flow, InOut, Result, Task};
/// # #[derive(Clone)] struct Double;
/// # impl Task for Double {
/// #     type In = InOut<u32>;
/// #     type Out = ();
/// #     fn lens(&self, _: usize) -> Result<()> { Ok(()) }
/// #     fn run(&mut self, frame: &mut [u32], (): ()) -> Result<Flow> { frame.iter_mut().for_each(|x| *x *= 2); Ok(Flow::Next) }
/// #     fn replica(&self) -> Option<Self> { Some(self.clone()) }
/// # }
/// let numbers: Vec<u32> = (0..100).collect();
/// let mut chain = Chain::new();
/// let mut frames = chain.add(source::from_slice(&numbers, 10), ());
/// chain.stage("double").threads(3);
/// chain.add(Double, &mut frames);
/// chain.stage("out");
/// let (collect, result) = sink::collect();
/// chain.add(collect, &frames);
///
/// let report = chain.build()?.pipeline_as_marked()?.run()?;
/// assert_eq!(report.frames, 10);
/// assert_eq!(result.take(), (0..100).map(|x| 2 * x).collect::<Vec<_>>());
/// # Ok::<(), bief::Error>(())
/// ```
pub struct Pipeline {
    tasks: Vec<Node>,
    wires: Vec<Joint>,
    batch: usize,
    stages: Vec<StagePlan>,
    depth: usize,
    planned_period_ns: Option<f64>,
    own_threads: bool,
}

impl Pipeline {
    pub(crate) fn new(tasks: Vec<Node>, wires: Vec<Joint>, batch: usize, stages: Vec<StagePlan>) -> Result<Self> {
        check::stages(&stages, &tasks)?;
        Ok(Self { tasks, wires, batch, stages, depth: DEFAULT_DEPTH, planned_period_ns: None, own_threads: true })
    }

    /// The whole chain as one stage, run by the calling thread.
    pub(crate) fn on_one_core(tasks: Vec<Node>, wires: Vec<Joint>, batch: usize) -> Self {
        let range = 0..tasks.len();
        let stage = StagePlan { name: "chain".into(), tasks: range, threads: 1, kind: None, planned_ns: None };
        let stages = vec![stage];
        Self { tasks, wires, batch, stages, depth: DEFAULT_DEPTH, planned_period_ns: None, own_threads: false }
    }

    pub(crate) fn with_planned_period(mut self, period_ns: f64) -> Self {
        self.planned_period_ns = Some(period_ns);
        self
    }

    /// Sets how many batches each ring holds, at least 1 (4 unless set). A pipeline never holds more frames than its rings
    /// and threads have slots for: a slow stage makes those before it wait.
    ///
    /// # Errors
    /// A depth of 0.
    pub fn depth(mut self, batches: usize) -> Result<Self> {
        if batches == 0 {
            return Err(Error::build("a ring of depth 0 holds nothing: give a depth of at least 1"));
        }
        self.depth = batches;
        Ok(self)
    }

    /// Puts the planned period of each stage beside the measured one in the report.
    ///
    /// # Errors
    /// A profile of other tasks than this chain's, or without the kinds of cores that the stages name.
    pub fn beside(mut self, profile: &Profile) -> Result<Self> {
        if profile.tasks().len() != self.tasks.len() {
            return Err(Error::build(format!(
                "the profile has {} tasks, but this chain has {}: profile this chain",
                profile.tasks().len(),
                self.tasks.len()
            )));
        }
        for stage in &mut self.stages {
            let kind = match &stage.kind {
                None => 0,
                Some(name) => profile.kind(name).ok_or_else(|| {
                    Error::build(format!(
                        "stage `{}` runs on `{name}`, a kind that the profile does not have",
                        stage.name
                    ))
                })?,
            };
            let cores = stage.threads as u32;
            stage.planned_ns = Some(profile.stage_period(stage.tasks.clone(), cores, kind).ns());
        }
        Ok(self)
    }

    /// Runs until the source stops, or a task stops the stream.
    ///
    /// # Errors
    /// The first error or panic of a task, with its place. Frames before it were delivered, every other task was given
    /// [`finish`](crate::Task::finish), and every thread has ended.
    pub fn run(self) -> Result<Report> {
        let task_names: Vec<String> = self.tasks.iter().map(|task| task.name.to_string()).collect();
        let plans = self.stages.clone();
        let (batch, planned_period_ns, own_threads) = (self.batch, self.planned_period_ns, self.own_threads);
        let workers = self.workers();
        let fault = Fault::default();
        let start = Instant::now();
        let counts = if own_threads { on_threads(workers, &fault)? } else { on_this_thread(workers, &fault) };
        let elapsed = start.elapsed();
        if let Some(error) = fault.take() {
            return Err(error);
        }
        let executions = counts.iter().filter(|(stage, _)| *stage == 0).map(|(_, count)| count.batches).sum();
        let stages = plans.iter().enumerate().map(|(index, plan)| {
            let replicas: Vec<&Count> =
                counts.iter().filter(|(stage, _)| *stage == index).map(|(_, count)| count).collect();
            let sum = |part: fn(&Count) -> Duration| replicas.iter().map(|count| part(count)).sum::<Duration>();
            StageReport::new(
                plan,
                task_names[plan.tasks.clone()].to_vec(),
                executions,
                elapsed,
                sum(|count| count.busy),
                sum(|count| count.starved),
                sum(|count| count.blocked),
                replicas.iter().map(|count| count.frames).sum(),
            )
        });
        Ok(Report::new(batch, executions, elapsed, planned_period_ns, stages.collect()))
    }

    /// One worker per replica of each stage, joined by rings.
    fn workers(self) -> Vec<Worker> {
        let Self { tasks, wires, batch, stages, depth, .. } = self;
        let threads: usize = stages.iter().map(|stage| stage.threads).sum();
        let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get());
        let spins = wait::spins(threads, cores);
        let boundaries: Vec<Vec<usize>> = stages.iter().map(|stage| crossing(&wires, stage.tasks.end)).collect();
        let mut tasks = tasks.into_iter();
        let mut inlets: Vec<Option<Inlet>> = (0..stages[0].threads).map(|_| None).collect();
        let mut workers = Vec::new();
        for (index, plan) in stages.iter().enumerate() {
            let outlets: Vec<Option<Outlet>> = match stages.get(index + 1) {
                None => (0..plan.threads).map(|_| None).collect(),
                Some(next) => {
                    let make = || new_slot(&wires, &boundaries[index], batch);
                    let (outlets, next_inlets) =
                        connect(plan.threads, next.threads, depth, spins, &boundaries[index], make);
                    inlets.extend(next_inlets.into_iter().map(Some));
                    outlets.into_iter().map(Some).collect()
                }
            };
            let originals: Vec<Node> = tasks.by_ref().take(plan.tasks.len()).collect();
            let mut replicas: Vec<Vec<Node>> = (1..plan.threads).map(|_| replicate(&originals)).collect();
            replicas.push(originals);
            let ends = inlets.drain(..plan.threads).collect::<Vec<_>>().into_iter().zip(outlets);
            for (replica, (tasks, (inlet, outlet))) in replicas.into_iter().zip(ends).enumerate() {
                let carried = match (&inlet, &outlet) {
                    (Some(inlet), Some(outlet)) => carried(&inlet.wires, &outlet.wires),
                    _ => Vec::new(),
                };
                workers.push(Worker {
                    stage_index: index,
                    thread_name: format!("{} {replica}", plan.name),
                    stage: Stage::new(plan.name.clone(), tasks, plan.tasks.clone(), &wires, batch),
                    batch: Batch::new(batch),
                    next_frame: (replica * batch) as u64,
                    stride: (plan.threads * batch) as u64,
                    drops_empty: plan.threads == 1,
                    inlet,
                    outlet,
                    carried,
                });
            }
        }
        workers
    }
}

fn replicate(tasks: &[Node]) -> Vec<Node> {
    let replica = |task: &Node| task.step.replica().expect("checked: every task of a replicated stage has a replica");
    tasks.iter().map(|task| Node { name: task.name.clone(), step: replica(task) }).collect()
}

/// The wires that are made before task `end` and used from there on.
fn crossing(wires: &[Joint], end: usize) -> Vec<usize> {
    (0..wires.len()).filter(|&wire| wires[wire].maker < end && wires[wire].last_user >= end).collect()
}

/// Where the wires that only pass through a stage stand on either side.
fn carried(inlet: &[usize], outlet: &[usize]) -> Vec<(usize, usize)> {
    let position = |wire: &usize| outlet.iter().position(|other| other == wire);
    inlet.iter().enumerate().filter_map(|(from, wire)| Some((from, position(wire)?))).collect()
}

fn new_slot(wires: &[Joint], crossing: &[usize], batch: usize) -> Box<Slot> {
    let buffers = crossing.iter().map(|&wire| Buffer::new(wires[wire].format, wires[wire].len * batch)).collect();
    Box::new(Slot { batch: Batch::new(batch), buffers })
}

/// The rings between `senders` and `receivers` replicas.
fn connect(
    senders: usize,
    receivers: usize,
    depth: usize,
    spins: u32,
    wires: &[usize],
    make: impl Fn() -> Box<Slot>,
) -> (Vec<Outlet>, Vec<Inlet>) {
    let mut outlets: Vec<Outlet> =
        (0..senders).map(|_| Outlet { rings: Vec::new(), next: 0, slot: make(), wires: wires.to_vec() }).collect();
    let mut inlets: Vec<Inlet> =
        (0..receivers).map(|_| Inlet { rings: Vec::new(), next: 0, slot: make(), wires: wires.to_vec() }).collect();
    for index in 0..lcm(senders, receivers) {
        let (producer, consumer) = ring((0..depth).map(|_| make()).collect(), spins);
        outlets[index % senders].rings.push(producer);
        inlets[index % receivers].rings.push(consumer);
    }
    (outlets, inlets)
}

fn lcm(a: usize, b: usize) -> usize {
    let (mut x, mut y) = (a, b);
    while y != 0 {
        (x, y) = (y, x % y);
    }
    a / x * b
}

impl std::fmt::Debug for Pipeline {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(&self.stages).finish()
    }
}

/// Where a replica gets its batches.
struct Inlet {
    rings: Vec<Consumer<Box<Slot>>>,
    next: usize,
    slot: Box<Slot>,
    wires: Vec<usize>,
}

/// Where a replica hands its batches on.
struct Outlet {
    rings: Vec<Producer<Box<Slot>>>,
    next: usize,
    slot: Box<Slot>,
    wires: Vec<usize>,
}

impl Inlet {
    fn receive(&mut self) -> bool {
        let received = self.rings[self.next].receive(&mut self.slot);
        self.next = (self.next + 1) % self.rings.len();
        received
    }
}

impl Outlet {
    fn send(&mut self) -> bool {
        let sent = self.rings[self.next].send(&mut self.slot);
        self.next = (self.next + 1) % self.rings.len();
        sent
    }
}

/// The first fault of a run.
#[derive(Default)]
struct Fault(Mutex<Option<Error>>);

impl Fault {
    fn note(&self, error: Error) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
    }

    fn take(&self) -> Option<Error> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// What one replica did.
#[derive(Debug, Default, Clone)]
struct Count {
    batches: u64,
    /// Frames that left the stage.
    frames: u64,
    busy: Duration,
    /// Waiting for input.
    starved: Duration,
    /// Waiting for room in the output.
    blocked: Duration,
}

/// One replica of a stage and its ends of the rings.
struct Worker {
    stage_index: usize,
    thread_name: String,
    stage: Stage,
    batch: Batch,
    /// Number of the next frame, when this stage is the first.
    next_frame: u64,
    stride: u64,
    drops_empty: bool,
    inlet: Option<Inlet>,
    outlet: Option<Outlet>,
    carried: Vec<(usize, usize)>,
}

impl Worker {
    /// Works until the stream ends, on either side or by a fault; then lets the tasks flush and the neighbours know.
    fn work(mut self, fault: &Fault) -> (usize, Count) {
        let mut count = Count::default();
        if let Err(error) = self.run(&mut count) {
            fault.note(error);
        }
        // Those after this stage may finish while its tasks flush.
        drop(self.outlet.take());
        if let Err(error) = self.stage.finish() {
            fault.note(error);
        }
        (self.stage_index, count)
    }

    fn run(&mut self, count: &mut Count) -> Result<()> {
        let mut mark = Instant::now();
        let mut lap = || std::mem::replace(&mut mark, Instant::now()).elapsed();
        loop {
            if !self.next_batch() {
                return Ok(());
            }
            count.starved += lap();
            // SAFETY: the slots just loaded are this worker's own, made for the crossing wires and this batch size; they
            // stay in place until `send`.
            unsafe { self.stage.run(&mut self.batch)? };
            count.busy += lap();
            count.batches += 1;
            count.frames += self.batch.live() as u64;
            let last = self.batch.last;
            if !self.hand_on() {
                return Ok(());
            }
            count.blocked += lap();
            if last {
                return Ok(());
            }
        }
    }

    /// Gets the next batch and points the stage's table at its wires; `false` at the end of the stream.
    fn next_batch(&mut self) -> bool {
        match &mut self.inlet {
            None => {
                self.batch.renew(self.next_frame);
                self.next_frame += self.stride;
            }
            Some(inlet) => {
                if !inlet.receive() {
                    return false;
                }
                std::mem::swap(&mut self.batch, &mut inlet.slot.batch);
            }
        }
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
        true
    }

    /// Passes the batch on; `false` when nobody takes it any more.
    fn hand_on(&mut self) -> bool {
        let Some(outlet) = &mut self.outlet else { return true };
        if self.drops_empty && self.batch.is_empty() && !self.batch.last {
            return true;
        }
        std::mem::swap(&mut self.batch, &mut outlet.slot.batch);
        outlet.send()
    }
}

fn on_this_thread(workers: Vec<Worker>, fault: &Fault) -> Vec<(usize, Count)> {
    workers.into_iter().map(|worker| worker.work(fault)).collect()
}

fn on_threads(workers: Vec<Worker>, fault: &Fault) -> Result<Vec<(usize, Count)>> {
    std::thread::scope(|scope| {
        let mut handles = Vec::new();
        let mut refused = None;
        for worker in workers {
            let name = worker.thread_name.clone();
            match std::thread::Builder::new().name(name.clone()).spawn_scoped(scope, || worker.work(fault)) {
                Ok(handle) => handles.push(handle),
                // The rings of this worker went with it, so those already started come to an end.
                Err(error) => {
                    refused.get_or_insert(
                        Error::from_source(error)
                            .with_kind(ErrorKind::Build)
                            .at(crate::Place { stage: Some(name.into()), ..Default::default() }),
                    );
                }
            }
        }
        let mut counts = Vec::new();
        for handle in handles {
            match handle.join() {
                Ok(count) => counts.push(count),
                Err(payload) => fault.note(Error::panic(&*payload)),
            }
        }
        refused.map_or(Ok(counts), Err)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn least_common_multiples() {
        assert_eq!([lcm(1, 1), lcm(2, 3), lcm(4, 6), lcm(5, 1)], [1, 6, 12, 5]);
    }

    #[test]
    fn wires_that_jump_over_a_stage_are_carried() {
        assert_eq!(carried(&[0, 3, 5], &[1, 3, 0]), [(0, 2), (1, 1)]);
    }
}

//! Stages on threads: built once, run any number of times; the first error, or a panic, brought home.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bief_schedule::Profile;

use crate::boundary::{Inlet, Outlet, connect, rings};
use crate::check;
use crate::crew::Crew;
use crate::error::{Error, Result};
use crate::halt::{Halt, Stopper};
use crate::report::{Report, StageReport};
use crate::stage::{Stage, StagePlan};
use crate::task::Node;
use crate::wait::{Patience, Waiting};
use crate::wire::Joint;
use crate::worker::{Count, Fault, Worker};

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
    task_names: Vec<Arc<str>>,
    wires: Vec<Joint>,
    batch: usize,
    stages: Vec<StagePlan>,
    depth: usize,
    waiting: Waiting,
    planned_period_ns: Option<f64>,
    /// One per replica of each stage, from source to sink.
    workers: Vec<Worker>,
    /// `None` for a pipeline of one worker on the calling thread.
    crew: Option<Crew>,
    halt: Arc<Halt>,
    has_run: bool,
}

impl Pipeline {
    pub(crate) fn new(tasks: Vec<Node>, wires: Vec<Joint>, batch: usize, stages: Vec<StagePlan>) -> Result<Self> {
        check::stages(&stages, &tasks)?;
        Self::of(tasks, wires, batch, stages, Some(Crew::default()))
    }

    /// The whole chain as one stage, run by the calling thread.
    pub(crate) fn on_one_core(tasks: Vec<Node>, wires: Vec<Joint>, batch: usize) -> Result<Self> {
        let range = 0..tasks.len();
        let stage = StagePlan { name: "chain".into(), tasks: range, threads: 1, kind: None, planned_ns: None };
        Self::of(tasks, wires, batch, vec![stage], None)
    }

    fn of(
        tasks: Vec<Node>,
        wires: Vec<Joint>,
        batch: usize,
        stages: Vec<StagePlan>,
        crew: Option<Crew>,
    ) -> Result<Self> {
        Ok(Self {
            task_names: tasks.iter().map(|task| Arc::clone(&task.name)).collect(),
            workers: workers(tasks, &wires, batch, &stages)?,
            wires,
            batch,
            stages,
            depth: DEFAULT_DEPTH,
            waiting: Waiting::default(),
            planned_period_ns: None,
            crew,
            halt: Arc::new(Halt::new()),
            has_run: false,
        })
    }

    pub(crate) fn with_planned_period(mut self, period_ns: f64) -> Self {
        self.planned_period_ns = Some(period_ns);
        self
    }

    /// Sets how many batches each ring holds, at least 1 (4 unless set). A pipeline never holds more frames than its rings
    /// and threads have room for ([`Report::most_frames_in_flight`]): a slow stage makes those before it wait.
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

    /// Sets how its threads wait for each other's frames.
    #[must_use]
    pub fn waiting(mut self, waiting: Waiting) -> Self {
        self.waiting = waiting;
        self
    }

    /// Puts the planned period of each stage beside the measured one in the report.
    ///
    /// # Errors
    /// A profile of other tasks than this chain's, or without the kinds of cores that the stages name.
    pub fn beside(mut self, profile: &Profile) -> Result<Self> {
        if profile.tasks().len() != self.task_names.len() {
            return Err(Error::build(format!(
                "the profile has {} tasks, but this chain has {}: profile this chain",
                profile.tasks().len(),
                self.task_names.len()
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

    /// What stops this pipeline's runs from elsewhere: from another thread, or where a signal is handled.
    pub fn stopper(&self) -> Stopper {
        Stopper::new(&self.halt)
    }

    /// Runs until the source stops, a task stops the stream, or a [`Stopper`] does.
    ///
    /// The first run starts the threads; they wait, parked, for later runs, and end when the pipeline is dropped. Before
    /// each later run every task is told to begin anew ([`Task::reset`](crate::Task::reset)), after an error or a panic too.
    ///
    /// # Errors
    /// The first error or panic of a task, with its place. Frames before it were delivered, every other task was given
    /// [`finish`](crate::Task::finish), and no thread works any more.
    pub fn run(&mut self) -> Result<Report> {
        let outcome = self.run_once();
        self.halt.clear();
        outcome
    }

    fn run_once(&mut self) -> Result<Report> {
        if let Some(crew) = &mut self.crew {
            crew.enlist(&self.workers)?;
        }
        if self.has_run {
            self.workers.iter_mut().try_for_each(|worker| worker.stage.reset())?;
        }
        self.has_run = true;
        self.join_workers();
        let fault = Arc::new(Fault::default());
        let start = Instant::now();
        match &self.crew {
            Some(crew) => self.workers = crew.run(std::mem::take(&mut self.workers), &self.halt, &fault),
            None => self.workers.iter_mut().for_each(|worker| worker.work(&self.halt, &fault)),
        }
        let elapsed = start.elapsed();
        fault.take().map_or_else(|| Ok(self.report(elapsed)), Err)
    }

    /// Gives every worker new rings to its neighbours.
    fn join_workers(&mut self) {
        let threads = self.workers.len();
        let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get());
        let patience = Patience::new(self.waiting, threads, cores);
        let mut inlets: Vec<Option<Inlet>> = (0..self.stages[0].threads).map(|_| None).collect();
        let mut outlets: Vec<Option<Outlet>> = Vec::new();
        for pair in self.stages.windows(2) {
            let (sending, receiving) = connect(
                (pair[0].threads, pair[1].threads),
                pair[0].tasks.end,
                &self.wires,
                self.batch,
                self.depth,
                patience,
            );
            outlets.extend(sending.into_iter().map(Some));
            inlets.extend(receiving.into_iter().map(Some));
        }
        outlets.resize_with(threads, || None);
        for (worker, (inlet, outlet)) in self.workers.iter_mut().zip(inlets.into_iter().zip(outlets)) {
            worker.join(inlet, outlet);
        }
    }

    fn report(&self, elapsed: Duration) -> Report {
        let counts_of = |stage: usize| {
            self.workers.iter().filter(move |worker| worker.stage_index == stage).map(|worker| &worker.count)
        };
        let executions = counts_of(0).map(|count| count.batches).sum();
        let stages = self.stages.iter().enumerate().map(|(index, plan)| {
            let sum = |part: fn(&Count) -> Duration| counts_of(index).map(part).sum::<Duration>();
            StageReport::new(
                plan,
                self.task_names[plan.tasks.clone()].iter().map(|name| name.to_string()).collect(),
                executions,
                elapsed,
                sum(|count| count.busy),
                sum(|count| count.starved),
                sum(|count| count.blocked),
                counts_of(index).map(|count| count.frames).sum(),
            )
        });
        let slots: usize =
            self.stages.windows(2).map(|pair| rings(pair[0].threads, pair[1].threads) * self.depth).sum();
        let most_in_flight = (self.batch * (slots + self.workers.len())) as u64;
        Report::new(self.batch, executions, elapsed, self.planned_period_ns, most_in_flight, stages.collect())
    }
}

/// One worker per replica of each stage.
fn workers(tasks: Vec<Node>, wires: &[Joint], batch: usize, stages: &[StagePlan]) -> Result<Vec<Worker>> {
    let mut tasks = tasks.into_iter();
    let mut workers = Vec::new();
    for (index, plan) in stages.iter().enumerate() {
        let originals: Vec<Node> = tasks.by_ref().take(plan.tasks.len()).collect();
        let mut replicas = (1..plan.threads).map(|_| replicate(&originals)).collect::<Result<Vec<_>>>()?;
        replicas.push(originals);
        workers.extend(replicas.into_iter().enumerate().map(|(replica, tasks)| {
            let stage = Stage::new(plan.name.clone(), tasks, plan.tasks.clone(), wires, batch);
            Worker::new(index, stage, (replica, plan.threads), batch)
        }));
    }
    Ok(workers)
}

fn replicate(tasks: &[Node]) -> Result<Vec<Node>> {
    let replica = |task: &Node| {
        let step = task.step.replica().ok_or_else(|| {
            Error::build(format!(
                "task `{}` made a replica once and then none: let its `replica` always agree",
                task.name
            ))
        })?;
        Ok(Node { name: task.name.clone(), step })
    };
    tasks.iter().map(replica).collect()
}

impl std::fmt::Debug for Pipeline {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(&self.stages).finish()
    }
}

//! What [`Chain::build`](crate::Chain::build) makes: the checked chain, ready to run on one core, to profile, or to cut
//! into stages.

use bief_schedule::{Profile, Schedule, Stage};

use crate::check;
use crate::device::Device;
use crate::dot;
use crate::error::{Error, Result};
use crate::machine::Machine;
use crate::pipeline::Pipeline;
use crate::profile::{self, BatchCosts, Profiling};
use crate::report::Report;
use crate::stage::{Mark, StagePlan, plans};
use crate::task::Node;
use crate::wait::Waiting;
use crate::wire::WireInfo;

/// A checked chain.
///
/// ```
/// use bief::{Chain, sink, source};
///
/// let mut chain = Chain::new().batch(2);
/// let numbers = chain.add(source::from_slice(&[1, 2, 3], 1), ());
/// let (collect, result) = sink::collect();
/// chain.add(collect, &numbers);
/// let report = chain.build()?.run()?;
/// assert_eq!(result.take(), [1, 2, 3]);
/// assert_eq!(report.frames, 3);
/// # Ok::<(), bief::Error>(())
/// ```
pub struct Program {
    pub(crate) tasks: Vec<Node>,
    pub(crate) wires: Vec<WireInfo>,
    pub(crate) batch: usize,
    pub(crate) depth: Option<usize>,
    pub(crate) waiting: Waiting,
    pub(crate) marks: Vec<Mark>,
}

impl Program {
    /// Name of each task, in order, and whether it may be replicated.
    pub fn tasks(&self) -> impl ExactSizeIterator<Item = (&str, bool)> {
        self.tasks.iter().map(|task| (&*task.name, task.step.replica().is_some()))
    }

    /// Runs the chain on the calling thread until its source stops.
    ///
    /// # Errors
    /// The first error or panic of a task, also when it is dropped, with its place. Frames before it were delivered, and every task was given
    /// [`finish`](crate::Task::finish).
    pub fn run(self) -> Result<Report> {
        let mut pipeline = self.one_core()?;
        let outcome = pipeline.run();
        let closed = pipeline.close();
        let report = outcome?;
        closed.map(|()| report)
    }

    /// The whole chain as a pipeline of one stage that runs on the calling thread: to observe and watch it, and to run it
    /// again.
    ///
    /// ```
    /// use bief::{Chain, Flow, sink, source};
    ///
    /// let mut chain = Chain::new();
    /// let numbers = chain.add(source::from_slice(&[1, 2, 3], 1), ());
    /// chain.add(sink::for_each(|_: &[i32]| Ok(Flow::Next)), &numbers);
    /// let mut pipeline = chain.build()?.one_core()?.observe();
    /// for _ in 0..2 {
    ///     let report = pipeline.run()?;
    ///     assert_eq!(report.stages[0].tasks[1].name, "sink");
    ///     println!("{report}");
    /// }
    /// # Ok::<(), bief::Error>(())
    /// ```
    ///
    /// # Errors
    /// More than memory can hold.
    pub fn one_core(self) -> Result<Pipeline> {
        Pipeline::on_one_core(self.tasks, self.wires, self.batch)
    }

    /// The chain as a graph in the DOT language, which Graphviz draws: tasks, rounded where they may be replicated, and an
    /// arrow for each wire from whoever wrote it last, with its length and element type. A region is one task; constants
    /// have dashed arrows.
    ///
    /// ```
    /// use bief::{Chain, Flow, sink, source};
    ///
    /// let mut chain = Chain::new();
    /// let numbers = chain.add(source::from_slice(&[1_u8, 2, 3, 4], 2), ());
    /// chain.add(sink::for_each(|_: &[u8]| Ok(Flow::Next)), &numbers);
    /// assert!(chain.build()?.dot().contains(r#"t0 -> t1 [label="2 x u8"];"#));
    /// # Ok::<(), bief::Error>(())
    /// ```
    pub fn dot(&self) -> String {
        dot::chain(&self.tasks, &self.wires)
    }

    /// Runs the chain on the calling thread for up to `executions` batches and times each task.
    ///
    /// The frames are really worked on, and are gone from the source afterwards: profile one copy of a chain (with a source
    /// that can be read again, and a sink that keeps nothing) and run another.
    ///
    /// Where a task tells a count `information` in `bits` ([`Task::figures`](crate::Task::figures)), the profile has bits per frame
    /// ([`Profile::bits_per_frame`]): those that were told over the frames that passed the last task.
    ///
    /// # Errors
    /// Those of [`run`](Self::run), a source that ends before anything could be measured, and more than memory can
    /// hold.
    pub fn profile(self, executions: usize) -> Result<Profile> {
        let whole = self.named_stage(0..self.tasks.len(), 1, Vec::new());
        check::memory(&[whole], &self.wires, (self.batch, Some(1)), &[])?;
        profile::measure(self.tasks, &self.wires, self.batch, executions)
    }

    /// Measures each task on a core of each kind of a machine, on a thread of its own that is pinned there; on cores that the
    /// machine emulates, tasks take as long as they would there. What a stage spends on handing over is measured, too
    /// ([`Profile::sync_ns`]).
    ///
    /// A task's weight is its mean time, of executions in which the thread kept its core; each of the longest hundredth counts as 20 us more
    /// than the longest of the others at most, since the system interrupts runs as well. Least time, median and 99th percentile are kept
    /// beside it ([`TaskProfile::seen`](bief_schedule::TaskProfile::seen)). The frames are worked on and gone, as with
    /// [`profile`](Self::profile).
    ///
    /// ```
    /// use bief::plan::Profiling;
    /// use bief::{Chain, Flow, Machine, sink, source};
    ///
    /// let mut chain = Chain::new();
    /// let frames = chain.add(source::from_fn(64, |frame: &mut [f32]| { frame.fill(0.5); Ok(Flow::Next) }), ());
    /// chain.add(sink::for_each(|_: &[f32]| Ok(Flow::Next)), &frames);
    ///
    /// let machine = Machine::here();
    /// let profile = chain.build()?.profile_on(&machine, Profiling::default())?;
    /// assert_eq!(profile.kinds().len(), machine.kinds().len());
    /// # Ok::<(), bief::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`profile`](Self::profile); a kind without a core.
    pub fn profile_on(self, machine: &Machine, profiling: Profiling) -> Result<Profile> {
        let whole = self.named_stage(0..self.tasks.len(), 1, Vec::new());
        check::memory(&[whole], &self.wires, (self.batch, Some(1)), &[])?;
        profile::measure_on(self.tasks, &self.wires, self.batch, machine, profiling)
    }

    /// Measures the cost of each task by the number of frames in a batch: on a core of each kind of a machine, pinned
    /// there, in batches of each of these sizes in turn. In real time, larger batches cost less per frame and make each
    /// frame wait longer. Threads sleep between batches, here too, since caches change meanwhile.
    ///
    /// The batch that the chain was made with does not count here. The frames are worked on and gone, as with
    /// [`profile`](Self::profile).
    ///
    /// ```
    /// use bief::schedule::realtime::FitMethod;
    /// use bief::plan::Profiling;
    /// use bief::{Chain, Flow, Machine, sink, source};
    ///
    /// let mut chain = Chain::new();
    /// let frames = chain.add(source::from_fn(64, |frame: &mut [f32]| { frame.fill(0.5); Ok(Flow::Next) }), ());
    /// chain.add(sink::for_each(|_: &[f32]| Ok(Flow::Next)), &frames);
    ///
    /// let costs = chain.build()?.costs_on(&Machine::here(), &[1, 4, 16], Profiling::default())?;
    /// for task in &costs[0].tasks {
    ///     let fit = task.fit(FitMethod::Typical)?.cost;
    ///     println!("{}: {} ns per batch and {} ns per frame", task.name, fit.init_ns, fit.per_sample_ns);
    /// }
    /// # Ok::<(), bief::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`profile_on`](Self::profile_on); no sizes, one that is given twice or 0; a task that never had a frame to work on.
    pub fn costs_on(self, machine: &Machine, batches: &[usize], profiling: Profiling) -> Result<Vec<BatchCosts>> {
        let whole = [self.named_stage(0..self.tasks.len(), 1, Vec::new())];
        let Some(&most) = batches.iter().max() else {
            return Err(Error::build("no sizes of batches to measure: give two or more"));
        };
        if let Some(twice) = batches.iter().enumerate().find(|(index, size)| batches[..*index].contains(size)) {
            return Err(Error::build(format!("batches of {} are measured once: leave out the second", twice.1)));
        }
        for &batch in batches {
            check::batch(batch, &self.wires, |task| std::sync::Arc::clone(&self.tasks[task].name))?;
        }
        check::memory(&whole, &self.wires, (most, Some(1)), &[])?;
        profile::measure_costs_on(self.tasks, &self.wires, machine, batches, profiling)
    }

    /// Whether a profile is one of this chain: the same tasks, in the same order, of which none may be replicated that may not be here.
    ///
    /// # Errors
    /// The first task that differs.
    pub fn fits(&self, profile: &Profile) -> Result<()> {
        check::profile(profile, self.tasks())
    }

    /// Cuts the chain into the stages of a schedule.
    ///
    /// # Errors
    /// A schedule for another number of tasks, or one that replicates a task that cannot be; more than memory can hold.
    pub fn pipeline(self, schedule: &Schedule) -> Result<Pipeline> {
        Ok(self.cut(schedule.stages())?.of_schedule(schedule))
    }

    /// Cuts the chain into the stages of a schedule, of which those on a [device](Machine::devices) of the machine run there, with a thread
    /// for each of its lanes if they may be replicated.
    ///
    /// # Errors
    /// Those of [`pipeline`](Self::pipeline); a stage on a device with a task that has nothing for it ([`Task::on_device`](crate::Task::on_device)), and
    /// why one that should run there cannot; one that wants more devices than there are.
    pub fn pipeline_on(self, schedule: &Schedule, machine: &Machine) -> Result<Pipeline> {
        let mut stages = plans(schedule.stages(), self.tasks.iter().map(|task| &task.name));
        for (stage, planned) in stages.iter_mut().zip(schedule.stages()) {
            let Some(device) = stage.kind().map_or(Ok(None), |kind| Device::open(machine, kind))? else { continue };
            if stage.threads > 1 {
                return Err(Error::build(format!(
                    "stage `{}` wants {} devices `{}`, and there is 1: plan with this machine",
                    stage.name,
                    stage.threads,
                    device.name()
                )));
            }
            let tasks = self.tasks.get(stage.tasks.clone()).unwrap_or_default();
            let replicable = tasks.iter().all(|task| task.step.replica().is_some());
            stage.put_on(device, replicable, planned.gather as usize);
        }
        Ok(self.staged(stages)?.of_schedule(schedule))
    }

    /// Cuts the chain into these stages, without a plan: each has a number of neighbouring tasks, in order, and of
    /// threads. A stage with an empty kind may be placed on cores of any kind.
    ///
    /// ```
    /// use bief::schedule::Stage;
    /// use bief::{Chain, Flow, sink, source};
    ///
    /// let mut chain = Chain::new();
    /// let frames = chain.add(source::from_slice(&[1, 2, 3, 4], 2), ());
    /// chain.add(sink::for_each(|_: &[i32]| Ok(Flow::Next)), &frames);
    /// let mut pipeline = chain.build()?.cut(&[Stage::new(1, 1, ""), Stage::new(1, 1, "")])?;
    /// assert_eq!(pipeline.run()?.stages.len(), 2);
    /// # Ok::<(), bief::Error>(())
    /// ```
    ///
    /// # Errors
    /// Stages that have more or fewer tasks than the chain, none of them, or no threads; one that replicates a task that cannot
    /// be; more than memory can hold.
    pub fn cut(self, stages: &[Stage]) -> Result<Pipeline> {
        let stages = plans(stages, self.tasks.iter().map(|task| &task.name));
        self.staged(stages)
    }

    /// Cuts the chain into the stages that were marked with [`Chain::stage`](crate::Chain::stage).
    ///
    /// # Errors
    /// A stage that replicates a task that cannot be; more than memory can hold.
    pub fn pipeline_as_marked(self) -> Result<Pipeline> {
        let mut stages = Vec::new();
        let first_mark = self.marks.first().map_or(self.tasks.len(), |mark| mark.first_task);
        if first_mark > 0 {
            stages.push(self.named_stage(0..first_mark, 1, Vec::new()));
        }
        for (index, mark) in self.marks.iter().enumerate() {
            let end = self.marks.get(index + 1).map_or(self.tasks.len(), |next| next.first_task);
            let tasks = mark.first_task..end;
            let names: Vec<_> = self.tasks.iter().map(|task| &task.name).collect();
            let plan = StagePlan::named(&names, tasks, mark.threads, Vec::new());
            stages.push(StagePlan { name: mark.name.clone(), ..plan });
        }
        self.staged(stages)
    }

    fn staged(self, stages: Vec<StagePlan>) -> Result<Pipeline> {
        let pipeline = Pipeline::new(self.tasks, self.wires, self.batch, stages)?.waiting(self.waiting);
        match self.depth {
            Some(depth) => pipeline.depth(depth),
            None => Ok(pipeline),
        }
    }

    fn named_stage(&self, tasks: std::ops::Range<usize>, threads: usize, kinds: Vec<String>) -> StagePlan {
        let names: Vec<_> = self.tasks.iter().map(|task| &task.name).collect();
        StagePlan::named(&names, tasks, threads, kinds)
    }
}

impl std::fmt::Debug for Program {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.tasks.iter().map(|task| &task.name)).finish()
    }
}

//! Stages on threads: built once, run any number of times; the first error, or a panic, brought home. And what watches, traces and
//! stops a run.

mod change;
mod outcome;
mod run;

use std::sync::Arc;

use bief_machine::mapper::MapSettings;
use bief_schedule::{Platform, Profile, Schedule};

use crate::boundary::{Ends, turn};
use crate::check;
use crate::device::{Device, Lane, crossing_bytes, keep_there};
use crate::dot;
use crate::energy::Watts;
use crate::error::{Error, Result, counted};
use crate::halt::Halt;
pub use crate::halt::Stopper;
use crate::machine::Machine;
use crate::machine::class::Forecast;
use crate::machine::energy::{EnergyMeter, SoFar};
use crate::memory::Memory;
use crate::placement::{Dynamic, Pinning, Placement, Policy, SharedCores, StageSlots};
use crate::pool::WorkerPool;
use crate::realtime::{Mode, RealTime, Tally, Wanted};
use crate::report;
use crate::stage::{Stage, StagePlan};
use crate::task::{Node, named};
use crate::trace::PlanTrace;
pub use crate::trace::Trace;
pub use crate::wait::Waiting;
pub use crate::watch::{RingStatus, StageStatus, Status, Watch};
use crate::watch::{Shown, ShownPlan, ShownStage};
use crate::wire::WireInfo;
use crate::worker::Worker;
pub use change::Changer;
use change::{Earlier, Pending, Traced};

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
    /// Name of each task, and whether it may be replicated.
    tasks: Arc<[(Arc<str>, bool)]>,
    wires: Vec<WireInfo>,
    batch: usize,
    stages: Vec<StagePlan>,
    /// What the slots between two stages lie in, where it is not plain memory.
    memories: Vec<Option<Arc<dyn Memory>>>,
    /// The budget of each boundary.
    depth: Option<usize>,
    waiting: Waiting,
    planned_period_ns: Option<f64>,
    /// Frames of a batch over those of a batch of the chain, to which schedules relate.
    planned_scale: f64,
    /// The profile that it is compared with.
    profile: Option<Profile>,
    /// One per replica of each stage, from source to sink.
    workers: Vec<Worker>,
    /// `None` for a pipeline of one worker on the calling thread.
    pool: Option<WorkerPool>,
    halt: Arc<Halt>,
    has_run: bool,
    placement: Option<Placement>,
    shared_cores: SharedCores,
    /// What its threads were placed by, if it was a policy.
    policy: Option<(Policy, Machine)>,
    /// The plan that it goes on in when it is paused.
    wanted: Pending,
    /// What the run did in plans before the one in force, and how many frames it had when that began.
    earlier: Earlier,
    first_frame: u64,
    traced: Traced,
    /// What those who watch look at, if anybody does.
    shown: Option<Arc<Shown>>,
    /// What its threads are mapped to while a run goes on, if they are placed so.
    dynamic: Option<Dynamic>,
    pinning: Pinning,
    meter: Option<EnergyMeter>,
    /// What that has measured so far, while a run goes on.
    measured: Option<SoFar>,
    watts: Option<Watts>,
    /// In the last run, threads shared cores.
    shares_cores: bool,
    /// How many cores its threads may use, which is asked before a plan begins: the system takes a tenth of a millisecond to say.
    cores: usize,
    real_time: Option<RealTime>,
    /// Its threads are placed on a machine whose memory is not equally near to all cores.
    has_far_memory: bool,
}

impl Pipeline {
    pub(crate) fn new(tasks: Vec<Node>, wires: Vec<WireInfo>, batch: usize, stages: Vec<StagePlan>) -> Result<Self> {
        Self::of(tasks, wires, batch, stages, Some(WorkerPool::default()))
    }

    /// The whole chain as one stage, run by the calling thread.
    pub(crate) fn on_one_core(tasks: Vec<Node>, wires: Vec<WireInfo>, batch: usize) -> Result<Self> {
        let range = 0..tasks.len();
        let stage = StagePlan { name: "chain".into(), ..StagePlan::named(&[], range, 1, Vec::new()) };
        Self::of(tasks, wires, batch, vec![stage], None)
    }

    fn of(
        tasks: Vec<Node>,
        wires: Vec<WireInfo>,
        batch: usize,
        stages: Vec<StagePlan>,
        pool: Option<WorkerPool>,
    ) -> Result<Self> {
        let names = named(&tasks);
        check::stages(&stages, &names)?;
        // The rings are made for a run, when their depth is known.
        check::memory(&stages, &wires, (batch, Some(1)), &[])?;
        let copies = tasks.into_iter().map(|task| vec![task]).collect();
        Ok(Self {
            memories: vec![None; stages.len() - 1],
            tasks: names.into(),
            workers: workers(copies, &mut Vec::new(), &wires, batch, &stages, |_| Ok(()))?,
            wires,
            batch,
            stages,
            depth: None,
            waiting: Waiting::default(),
            planned_period_ns: None,
            planned_scale: 1.0,
            profile: None,
            pool,
            halt: Arc::new(Halt::new()),
            has_run: false,
            placement: None,
            shared_cores: SharedCores::default(),
            policy: None,
            wanted: Pending::default(),
            earlier: Earlier::default(),
            first_frame: 0,
            traced: Traced::default(),
            shown: None,
            dynamic: None,
            pinning: Pinning::default(),
            meter: None,
            measured: None,
            watts: None,
            shares_cores: false,
            cores: 1,
            real_time: None,
            has_far_memory: false,
        })
    }

    pub(crate) fn frames_per_batch(&self) -> usize {
        self.batch
    }

    pub(crate) fn of_schedule(mut self, schedule: &Schedule) -> Self {
        self.planned_period_ns = Some(schedule.planned_period().ns());
        self.shared_cores = SharedCores::of(schedule);
        self
    }

    /// Sets how many batches may lie between two stages for each replica of the larger one, at least 1. Unless set these are 4. Where the
    /// threads of a plan share cores, a ring holds as many batches as pass in 300 us by the plan, up to 64, if those are more: each thread works
    /// until it has no batch or no room left, and to go from one thread to another takes a core 2 to 3 us. Where all of them would take more than
    /// 4 MB, a ring holds fewer, but 1 for each replica at least: what goes round in more memory has left the caches before it is read. A pipeline never
    /// holds more frames than its rings and threads have room for
    /// ([`Report::max_frames_in_flight`](crate::Report::max_frames_in_flight)): a slow stage makes those before it wait.
    ///
    /// The replicas of a stage take whatever batch comes next, and the order stays: so one that is held up, by another program on its
    /// core, holds up the others once they are as many batches ahead as the ring behind them holds
    /// ([`BoundaryReport::slots`](crate::report::BoundaryReport::slots)). Unless the depth is set they go on for a while, at most
    /// 2048 batches and 4 MB more ([`BoundaryReport::spare_slots`](crate::report::BoundaryReport::spare_slots)). Where threads outnumber
    /// the cores and lose slices of the scheduler to another program, every stage may go ahead of the next one, too, by as many batches as
    /// pass in 8 ms. They give these slots back once the late batch has come, or the cores are kept again. That memory is allocated when it is
    /// first needed; threads with a [real-time class](Self::real_time) do without.
    ///
    /// # Errors
    /// A depth of 0. One that memory cannot hold is refused by the run.
    pub fn depth(mut self, batches: usize) -> Result<Self> {
        if batches == 0 {
            return Err(Error::build("a ring of depth 0 holds nothing: give a depth of at least 1"));
        }
        self.depth = Some(batches);
        Ok(self)
    }

    /// Sets how many batches may wait before one of the stages, counted from 0, instead of [`depth`](Self::depth); after a change of plan
    /// that holds again.
    ///
    /// ```
    /// use bief::{Chain, Flow, sink, source};
    ///
    /// let mut chain = Chain::new();
    /// let numbers = chain.add(source::from_slice(&[1, 2, 3], 1), ());
    /// chain.stage("sink");
    /// chain.add(sink::for_each(|_: &[i32]| Ok(Flow::Next)), &numbers);
    /// let mut pipeline = chain.build()?.pipeline_as_marked()?.depth_before(1, 32)?;
    /// assert_eq!(pipeline.run()?.boundaries[0].slots, 32);
    /// # Ok::<(), bief::Error>(())
    /// ```
    ///
    /// # Errors
    /// A depth of 0; a stage that there is not, or the first one, which has no ring before it.
    pub fn depth_before(mut self, stage: usize, batches: usize) -> Result<Self> {
        self.set_depth_before(stage, batches)?;
        Ok(self)
    }

    /// What is on both sides of the ring between two stages. Threads with a real-time class make no slots while they run.
    fn ends(&self, before: &StagePlan, after: &StagePlan) -> Ends {
        let ends = Ends::of(before, after, self.depth);
        let turn = self.planned_period_ns.filter(|_| self.shared_cores.are_any()).map_or(0, turn);
        Ends { turn, grows: ends.grows && self.real_time.is_none(), ..ends }
    }

    fn set_depth_before(&mut self, stage: usize, batches: usize) -> Result<()> {
        let before = self.stages.get_mut(stage).filter(|_| stage > 0 && batches > 0);
        let no_ring = || {
            Error::build(format!(
                "no ring lies before stage {stage}, or of depth {batches}: give a later stage, and at least 1"
            ))
        };
        before.ok_or_else(no_ring)?.depth = Some(batches);
        Ok(())
    }

    /// Sets the frames per batch, at least 1, instead of [`Chain::batch`](crate::Chain::batch); planned periods, which
    /// are per batch, grow with it.
    ///
    /// ```
    /// use bief::{Chain, sink, source};
    ///
    /// let mut chain = Chain::new();
    /// let numbers = chain.add(source::from_slice(&[1, 2, 3, 4, 5], 1), ());
    /// chain.stage("out");
    /// let (collect, result) = sink::collect();
    /// chain.add(collect, &numbers);
    /// let mut pipeline = chain.build()?.pipeline_as_marked()?;
    /// for (batch, depth) in [(1, 8), (4, 2)] {
    ///     pipeline = pipeline.batch(batch)?.depth(depth)?;
    ///     assert_eq!(pipeline.run()?.batch, batch);
    ///     assert_eq!(result.take(), [1, 2, 3, 4, 5]);
    /// }
    /// # Ok::<(), bief::Error>(())
    /// ```
    ///
    /// # Errors
    /// A batch of 0 frames, or of more than memory can hold; another one than reservations of time were given for.
    pub fn batch(mut self, frames: usize) -> Result<Self> {
        if frames != self.batch && self.reservations().is_some() {
            return Err(Error::build(format!(
                "time is reserved for batches of {}: set the batch first, then the times that it takes",
                counted(self.batch, "frame")
            )));
        }
        check::batch(frames, &self.wires, |task| Arc::clone(&self.tasks[task].0))?;
        check::memory(&self.stages, &self.wires, (frames, Some(1)), &self.memories)?;
        let scale = frames as f64 / self.batch as f64;
        self.planned_scale *= scale;
        let planned = self.stages.iter_mut().map(|stage| &mut stage.planned_ns).chain([&mut self.planned_period_ns]);
        planned.flatten().for_each(|ns| *ns *= scale);
        for worker in &mut self.workers {
            worker.set_batch(self.stages[worker.stage_index].tasks.clone(), &self.wires, frames);
        }
        self.batch = frames;
        Ok(self)
    }

    /// Chooses the [`Memory`] that the frames between two stages lie in: boundary 0 is behind the first stage, and so on. Wires
    /// that do not leave a stage lie in plain memory.
    ///
    /// # Errors
    /// A boundary that there is not. What the memory refuses is told by the run, with the boundary and how much it was.
    pub fn memory(mut self, boundary: usize, memory: Arc<dyn Memory>) -> Result<Self> {
        let count = self.memories.len();
        let Some(place) = self.memories.get_mut(boundary) else {
            return Err(Error::build(format!(
                "there is no boundary {boundary}: between {} there {} {count}, counted from 0",
                counted(count + 1, "stage"),
                if count == 1 { "is" } else { "are" }
            )));
        };
        *place = Some(memory);
        Ok(self)
    }

    /// Sets how its threads wait for each other's frames.
    #[must_use]
    pub fn waiting(mut self, waiting: Waiting) -> Self {
        self.waiting = waiting;
        self
    }

    /// The stages as a [`Policy`] needs them to place their threads.
    pub fn slots(&self) -> Vec<StageSlots> {
        let seats = |plan: &StagePlan| StageSlots {
            name: plan.name.to_string(),
            kinds: plan.kinds.clone(),
            threads: plan.threads,
            planned_ns: plan.planned_ns.map(|ns| ns as u64),
        };
        self.stages.iter().map(seats).collect()
    }

    /// Gives each thread a place on a machine by a [`Policy`], as [`place_as`](Self::place_as) does.
    ///
    /// ```
    /// use bief::placement::Policy;
    /// use bief::{Chain, Flow, Machine, sink, source};
    ///
    /// let mut chain = Chain::new();
    /// let frames = chain.add(source::from_slice(&[1, 2, 3, 4], 2), ());
    /// chain.stage("out");
    /// chain.add(sink::for_each(|_: &[i32]| Ok(Flow::Next)), &frames);
    ///
    /// let machine = Machine::here();
    /// let mut pipeline = chain.build()?.pipeline_as_marked()?.place(&Policy::Packed, &machine)?;
    /// println!("{}", pipeline.placement().expect("it was placed"));
    /// assert_eq!(pipeline.run()?.frames, 2);
    /// # Ok::<(), bief::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`Policy::place`] and of [`place_as`](Self::place_as).
    pub fn place(self, policy: &Policy, machine: &Machine) -> Result<Self> {
        let part = self.shared_cores.part_of(machine, policy);
        let placement = policy.place(&part, &self.slots())?;
        let placed = self.place_as(placement, &part)?;
        Ok(Self { policy: Some((policy.clone(), machine.clone())), ..placed })
    }

    /// Gives each thread its place in a [`Placement`], and slows down threads on emulated cores.
    ///
    /// A thread takes its place when a run begins; what happens where the system refuses it is [`pinning`](Self::pinning)'s.
    /// On a machine with several NUMA nodes, the buffers of a stage and the slots that it sends are first touched on its own
    /// cores.
    ///
    /// # Errors
    /// Those of [`Placement::check`]; places for other stages; a pipeline that runs on the calling thread; less than all cores
    /// for a thread for which time is reserved; [`Policy::Dynamic`] for threads of a real-time class, or that wait
    /// [`Waiting::Active`].
    pub fn place_as(mut self, placement: Placement, machine: &Machine) -> Result<Self> {
        placement.check_stages(&self.slots())?;
        placement.check(machine)?;
        if self.pool.is_none() {
            return Err(Error::build(
                "a chain on one core runs on the calling thread, which is not placed: make a pipeline of one stage",
            ));
        }
        self.policy = None;
        self.seat(placement, machine);
        let settings = self.dynamic.take().map(|dynamic| dynamic.settings).unwrap_or_default();
        self.dynamic = self
            .placement
            .as_ref()
            .is_some_and(Placement::is_dynamic)
            .then(|| Dynamic { machine: machine.clone(), settings });
        self.check_threads()?;
        Ok(self)
    }

    /// Gives each thread its place in a placement that was checked.
    fn seat(&mut self, placement: Placement, machine: &Machine) {
        let places = placement.stages().iter().flat_map(|stage| &stage.threads);
        self.workers.iter_mut().zip(places).for_each(|(worker, threads)| worker.place(threads, machine));
        self.has_far_memory = machine.cores().iter().any(|core| core.node != machine.cores()[0].node);
        self.placement = Some(placement);
    }

    /// Sets how threads are mapped to kinds of cores that are placed [`Policy::Dynamic`], in place of [`MapSettings::default`]. How it
    /// went is in [`Report::dynamic`](crate::Report::dynamic).
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// use bief::machine::mapper::MapSettings;
    /// use bief::placement::Policy;
    /// use bief::{Chain, Flow, Machine, sink, source};
    ///
    /// let mut chain = Chain::new();
    /// let frames = chain.add(source::from_slice(&[1, 2, 3, 4], 2), ());
    /// chain.stage("out");
    /// chain.add(sink::for_each(|_: &[i32]| Ok(Flow::Next)), &frames);
    ///
    /// let pipeline = chain.build()?.pipeline_as_marked()?.place(&Policy::Dynamic, &Machine::here())?;
    /// let often = MapSettings { interval: Duration::from_millis(1), ..MapSettings::default() };
    /// let report = pipeline.mapping(often)?.run()?;
    /// println!("{report}"); // on cores that are all of one kind it says so, and nothing is moved
    /// # Ok::<(), bief::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`MapSettings::check`]; a pipeline that is not placed so.
    pub fn mapping(mut self, settings: MapSettings) -> Result<Self> {
        settings.check()?;
        let dynamic = self.dynamic.as_mut().ok_or_else(|| {
            Error::build("its threads are not moved while it runs, so nothing maps them: place it `dynamic` first")
        })?;
        dynamic.settings = settings;
        Ok(self)
    }

    /// Where its threads were placed.
    pub fn placement(&self) -> Option<&Placement> {
        self.placement.as_ref()
    }

    /// Sets what happens when the system refuses a thread its place.
    #[must_use]
    pub fn pinning(mut self, pinning: Pinning) -> Self {
        self.pinning = pinning;
        self
    }

    /// Measures the energy of its runs with this meter ([`Report::energy`](crate::Report::energy)); of what it measures, the
    /// widest scope counts.
    ///
    /// Short runs are not measured well: sensors are read ten times a second. Everything else that runs meanwhile is measured,
    /// too.
    #[must_use]
    pub fn meter(mut self, meter: EnergyMeter) -> Self {
        self.meter = Some(meter);
        self
    }

    /// Models the energy of its runs with the watts of this platform, if there is no meter: its idle power, plus the
    /// power of each kind of core while its cores are busy. `origin` names the source of these watts.
    ///
    /// ```
    /// use bief::schedule::Platform;
    /// use bief::{Chain, Flow, sink, source};
    ///
    /// let mut chain = Chain::new();
    /// let frames = chain.add(source::from_slice(&[1_u8; 4096], 64), ());
    /// chain.add(sink::for_each(|_: &[u8]| Ok(Flow::Next)), &frames);
    ///
    /// let json = r#"{"format": 1, "kinds": [{"name": "cpu", "cores": 2, "watts": 3.0}], "idle_watts": 4.0}"#;
    /// let report = chain.build()?.one_core()?.watts(Platform::from_json(json)?, "the data sheet").run()?;
    /// let energy = report.energy.expect("the watts are known");
    /// assert!(energy.watts > 4.0 && energy.watts <= 7.0);
    /// # Ok::<(), bief::Error>(())
    /// ```
    #[must_use]
    pub fn watts(mut self, platform: Platform, origin: impl Into<String>) -> Self {
        self.watts = Some(Watts { platform, origin: origin.into() });
        self
    }

    /// Gives its threads a scheduling class in each run, and counts frames against a latency bound; the result is in
    /// [`Report::real_time`](crate::Report::real_time).
    ///
    /// Threads of such a class wait parked: [`Waiting::Adaptive`] does not look for a while first. [`Mode::Off`] takes back what
    /// was set before.
    ///
    /// # Errors
    /// Times or priorities that the system does not take, and which limit they violate; times for other stages; reserved time
    /// for a thread that is pinned; [`Waiting::Active`]; a pipeline that runs on the calling thread. What the system refuses is
    /// told by the run.
    pub fn real_time(mut self, wanted: RealTime) -> Result<Self> {
        let bound = wanted.bound.filter(|_| wanted.mode != Mode::Off);
        if bound.is_some() {
            self = self.observe();
        }
        for observer in self.workers.iter_mut().filter_map(|worker| worker.observer.as_mut()) {
            observer.tally = bound.map(|(bound, allowance)| Tally::new(bound, allowance));
        }
        self.real_time = (wanted.mode != Mode::Off).then_some(wanted);
        self.check_threads()?;
        Ok(self)
    }

    /// What Linux will say about the time that is to be reserved for its stages, if any is: it may know of more.
    pub fn forecast(&self) -> Option<Forecast> {
        let real_time = self.reservations()?;
        Some(Forecast::here(&real_time.demands(&self.slots())))
    }

    fn reservations(&self) -> Option<&RealTime> {
        self.real_time.as_ref().filter(|real_time| matches!(real_time.wanted, Wanted::Deadline { .. }))
    }

    /// Whether its threads can be moved as they are to be, and have the class that is wanted for them.
    fn check_threads(&self) -> Result<()> {
        if self.dynamic.is_some() && self.waiting == Waiting::Active {
            return Err(Error::build(
                "threads with `active` waiting are always busy, so that mapping cannot see which of them need a fast core: choose \
                 another way to wait, or a placement other than `dynamic`",
            ));
        }
        let Some(real_time) = &self.real_time else { return Ok(()) };
        if let Some(device) = self.stages.iter().find_map(|stage| stage.device.as_ref()) {
            return Err(Error::build(format!(
                "the threads of a stage on the device `{}` wait for it, and have no class: leave the class out, or the device (--device \
                 off)",
                device.name()
            )));
        }
        if self.pool.is_none() {
            return Err(Error::build(
                "a chain on one core runs on the calling thread, whose class is left alone: make a pipeline of one stage",
            ));
        }
        real_time.check(&self.slots(), self.waiting, self.placement.as_ref())
    }

    /// Puts the planned period of each stage beside the measured one in the report and, if its runs are
    /// [observed](Self::observe), says where the difference comes from ([`Gap`](crate::report::Gap)).
    ///
    /// The ring behind a stage that cores of several kinds share then holds as many batches as the fast ones make while a slow one works
    /// on one ([`Profile::ahead`](bief_schedule::Profile::ahead)), where that is more than its [depth](Self::depth).
    ///
    /// # Errors
    /// A profile of other tasks than this chain's, or without the kinds of cores that the stages name, or by which a task cannot
    /// run on a kind of its stage.
    pub fn compare_with(mut self, profile: &Profile) -> Result<Self> {
        check::profile(profile, self.tasks.iter().map(|(name, replicable)| (&**name, *replicable)))?;
        self.plan_stages(profile)?;
        // Its schedule is for executions as the profile counts them.
        let scale = self.batch as f64 / f64::from(profile.frames_per_execution());
        let before = std::mem::replace(&mut self.planned_scale, scale);
        self.planned_period_ns = self.planned_period_ns.map(|ns| ns * scale / before);
        self.profile = Some(profile.clone());
        Ok(self)
    }

    /// Notes what a profile says of its stages.
    fn plan_stages(&mut self, profile: &Profile) -> Result<()> {
        for stage in &mut self.stages {
            let mut cores = Vec::new();
            let lanes = stage.device.as_ref().map_or(1, |_| stage.threads);
            for (name, threads) in stage.threads_by_kind() {
                let kind = profile.kind(name).ok_or_else(|| {
                    Error::build(format!(
                        "stage `{}` runs on `{name}`, a kind that the profile does not have",
                        stage.name
                    ))
                })?;
                cores.push((kind, (threads / lanes) as u32));
            }
            if cores.is_empty() {
                cores.push((0, stage.threads as u32));
            }
            if let Some((kind, _)) = cores.iter().find(|&&(kind, _)| !profile.can_run(stage.tasks.clone(), kind)) {
                let kind = &profile.kinds()[*kind];
                let reason = format!("the profile has a task of stage `{}` that cannot run on `{kind}`", stage.name);
                return Err(Error::build(reason));
            }
            let scale = self.batch as f64 / f64::from(profile.frames_per_execution());
            // Executions of a launch share it.
            let gathering = profile.gathering(cores[0].0, stage.gather as u32);
            let ahead = gathering.ahead(stage.tasks.clone(), cores.iter().copied());
            stage.ahead = usize::try_from(ahead).unwrap_or(usize::MAX);
            let planned = gathering.mixed_period(stage.tasks.clone(), cores).ok_or_else(|| {
                Error::build(format!(
                    "stage `{}`: its tasks take so long that the period of the kinds of core that share it has no exact \
                     fraction: give it cores of one kind",
                    stage.name
                ))
            })?;
            stage.planned_ns = Some(planned.ns() * scale);
        }
        Ok(())
    }

    /// Adds to the report the times of each task ([`TaskReport::times`](crate::report::TaskReport::times)), the fill of the
    /// rings ([`BoundaryReport::occupancy`](crate::report::BoundaryReport::occupancy)) and the latency of frames
    /// ([`Report::latency`](crate::Report::latency)).
    ///
    /// Tasks are timed in as many batches as take about a quarter of a percent of the time; beside that the clock is read once
    /// per batch, some 25 ns, and once more for each wait. Every task takes 15 KiB for each replica.
    ///
    /// ```
    /// use bief::{Chain, Flow, sink, source};
    ///
    /// let numbers: Vec<u32> = (0..1000).collect();
    /// let mut chain = Chain::new();
    /// let frames = chain.add(source::from_slice(&numbers, 10), ());
    /// chain.stage("out");
    /// chain.add(sink::for_each(|_: &[u32]| Ok(Flow::Next)), &frames);
    ///
    /// let report = chain.build()?.pipeline_as_marked()?.observe().run()?;
    /// let source = &report.stages[0].tasks[0];
    /// println!("{}: {} ns at most", source.name, source.times.expect("it ran").max_ns);
    /// assert_eq!(report.latency.expect("frames arrived").frames, 100);
    /// # Ok::<(), bief::Error>(())
    /// ```
    #[must_use]
    pub fn observe(mut self) -> Self {
        for worker in &mut self.workers {
            worker.observe();
        }
        self
    }

    /// Lets its runs keep the latest `max_batches` of each replica for [`last_trace`](Self::last_trace), at least 1, and
    /// note all that [`observe`](Self::observe) notes. Every batch kept takes about 100 bytes for each replica, and 32 more
    /// for each of its tasks.
    ///
    /// # Errors
    /// No batches, or more than memory can hold.
    pub fn trace(mut self, max_batches: usize) -> Result<Self> {
        if max_batches == 0 {
            return Err(Error::build("a trace of 0 batches shows nothing: ask for at least 1"));
        }
        for worker in &mut self.workers {
            worker.observe().record(Some(max_batches))?;
        }
        Ok(self)
    }

    /// The latest batches of the last run, up to its fault if it had one; `None` unless [`trace`](Self::trace) asked for it
    /// before. Of a run whose plan changed, those of its last five plans, each with what it was changed for.
    ///
    /// ```
    /// use bief::{Chain, Flow, sink, source};
    ///
    /// let mut chain = Chain::new();
    /// let frames = chain.add(source::from_slice(&[1, 2, 3, 4], 2), ());
    /// chain.stage("out");
    /// chain.add(sink::for_each(|_: &[i32]| Ok(Flow::Next)), &frames);
    ///
    /// let mut pipeline = chain.build()?.pipeline_as_marked()?.trace(1000)?;
    /// pipeline.run()?;
    /// let mut json = Vec::new(); // a file, most often
    /// pipeline.last_trace().expect("it was asked for").write(&mut json)?;
    /// # Ok::<(), bief::Error>(())
    /// ```
    pub fn last_trace(&self) -> Option<Trace> {
        let tracks = self.workers.iter().map(Worker::track).collect::<Option<_>>()?;
        let last = PlanTrace { switch: self.traced.switch.clone(), tracks };
        Some(Trace::new(self.traced.plans.iter().cloned().chain([last]).collect()))
    }

    /// A handle to observe runs in progress from another thread. There may be any number of them.
    pub fn watch(&mut self) -> Watch {
        let shown = Arc::clone(self.shown.get_or_insert_default());
        self.show_stages();
        Watch::new(shown)
    }

    /// Lets those who watch see the stages as they are now, and what the run did before.
    fn show_stages(&mut self) {
        let Some(shown) = &self.shown else { return };
        let stages = self.stages.iter().enumerate().map(|(index, plan)| {
            let replicas = self.workers.iter_mut().filter(|worker| worker.stage_index == index);
            let replicas = replicas.map(|worker| {
                let kind = plan.kinds.get(worker.replica).cloned();
                (worker.meter(), kind)
            });
            ShownStage {
                name: Arc::clone(&plan.name),
                cores: plan.cores(),
                tasks: self.tasks[plan.tasks.clone()].iter().map(|(name, _)| Arc::clone(name)).collect(),
                planned_ns: plan.planned_ns,
                replicas: replicas.collect(),
            }
        });
        let Earlier { frames, elapsed, busy, aside, changes, .. } = &self.earlier;
        shown.show(ShownPlan {
            stages: stages.collect(),
            frames: *frames,
            figures: aside.figures(),
            seconds: elapsed.as_secs_f64(),
            busy: busy.clone(),
            changes: changes.clone(),
            measured: self.measured.clone(),
            watts: self.watts.clone(),
            bits_per_frame: self.profile.as_ref().and_then(Profile::bits_per_frame),
        });
    }

    /// The stages as a graph in the DOT language, which Graphviz draws: in each its tasks, rounded where they may be
    /// replicated, its threads and its kind of cores, the planned time per execution if there is a plan, and the measured
    /// one after a run. Wires are arrows.
    pub fn dot(&self) -> String {
        let executions = self.count(0).batches;
        let stages = self.stages.iter().enumerate().map(|(index, plan)| {
            let mut replicas = self.workers_of(index);
            dot::Cluster {
                plan,
                tasks: replicas.next().map_or(&[], |worker| worker.stage.tasks()),
                measured_ns: (executions > 0)
                    .then(|| report::measured_ns(&self.count(index), executions, plan.threads)),
            }
        });
        dot::pipeline(stages, &self.wires)
    }

    /// What stops this pipeline's runs from elsewhere: from another thread, or where a signal is handled.
    pub fn stopper(&self) -> Stopper {
        Stopper::new(&self.halt)
    }
}

/// One worker per replica of each stage, of the copies that there are of each task; more are made where they are needed, and those
/// that are not go `aside`, each with the number of its task. `made` hears of each that is made.
fn workers(
    mut copies: Vec<Vec<Node>>,
    aside: &mut Vec<(usize, Node)>,
    wires: &[WireInfo],
    batch: usize,
    stages: &[StagePlan],
    made: impl Fn(&mut Node) -> Result<()>,
) -> Result<Vec<Worker>> {
    let mut workers = Vec::new();
    for (index, plan) in stages.iter().enumerate() {
        for copies in &mut copies[plan.tasks.clone()] {
            while copies.len() < plan.threads {
                let mut replica = replicate(&copies[0])?;
                made(&mut replica)?;
                copies.push(replica);
            }
        }
        for replica in 0..plan.threads {
            let mut tasks: Vec<Node> = copies[plan.tasks.clone()].iter_mut().filter_map(Vec::pop).collect();
            if let Some(device) = &plan.device {
                let lane = device.new_lane();
                tasks = tasks.iter().map(|task| on_device(task, &lane)).collect::<Result<_>>()?;
                keep_there(&mut tasks, &plan.tasks, wires);
            }
            let mut stage = Stage::new(plan.name.clone(), tasks, plan.tasks.clone(), wires, batch);
            if plan.gather > 1 {
                stage.gather(plan.gather, plan.tasks.clone(), wires, batch);
            }
            let mut worker = Worker::new(index, stage, (replica, plan.threads), batch);
            worker.lane = plan.device.as_ref().map(|device| {
                let bytes = [plan.tasks.start, plan.tasks.end].map(|cut| crossing_bytes(wires, cut));
                let names = worker.stage.tasks().iter().map(|task| Arc::clone(&task.name)).collect();
                Box::new(Lane::new(device.clone(), names, bytes))
            });
            workers.push(worker);
        }
    }
    aside.extend((0..).zip(copies).flat_map(|(task, copies)| copies.into_iter().map(move |copy| (task, copy))));
    Ok(workers)
}

/// The task as a lane of the device runs it.
fn on_device(task: &Node, device: &Device) -> Result<Node> {
    let refused = |reason: &str| {
        let place = format!("task `{}` on the device `{}`", task.name, device.name());
        Err(Error::build(format!("{place}: {reason}: plan it on cores (--device off)")))
    };
    match Error::catch(|| task.step.on_device(device).transpose()) {
        Ok(Some(step)) => Ok(Node { name: task.name.clone(), step }),
        Ok(None) => refused("it has nothing that runs there"),
        Err(error) => refused(error.message()),
    }
}

fn replicate(task: &Node) -> Result<Node> {
    let step = task.step.replica().ok_or_else(|| {
        Error::build(format!("task `{}` made a replica once and then none: let its `replica` always agree", task.name))
    })?;
    Ok(Node { name: task.name.clone(), step })
}

impl std::fmt::Debug for Pipeline {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(&self.stages).finish()
    }
}

//! From a chain to a plan: machine, profile, schedule, places, class. What `bief rx` and `bief run` do is a [`Planner`] filled from
//! options.

mod adapt;
mod application;
mod latency;
mod placing;
mod usual;

use std::sync::Arc;
use std::time::Duration;

use bief_schedule::strategy::{Exact, Strategy};
use bief_schedule::{BusyPlan, Goal, Platform, Profile, Schedule};

pub use adapt::{Adapting, GoalHandle};
pub use application::Application;
use placing::{Class, Placing};
use usual::Usual;

use crate::energy::Watts;
use crate::error::{Error, Result};
use crate::machine::{DeviceSpec, Machine};
use crate::pipeline::Pipeline;
use crate::placement::{Pinning, Placement, Policy};
use crate::profile::Profiling;
use crate::realtime::{self, Mode};
use crate::refine::{Refined, refine};
use crate::report::Report;

/// How long a trial of a plan is to last, about, in nanoseconds, and the least frames that it has.
const TRIAL_NS: f64 = 1e9;
const MIN_TRIAL_FRAMES: f64 = 200.0;
/// Trials of a plan with a device that works for all lanes at a time, unless told otherwise: what it takes for one alone tells little of
/// that.
const TRIALS: usize = 3;

/// Measures the tasks of an [`Application`], computes the best pipeline for a goal, and says where its threads run.
///
/// Unless told otherwise it measures on all kinds of cores of its machine, looks for the shortest period on the fewest big cores by the
/// strategy [`Exact`](struct@Exact), and places threads [`Policy::Packed`]. On up to four cores, where the period is shorter if stages
/// share them, with what that costs, they do ([`Shared`](bief_schedule::strategy::Shared)): not with a class.
///
/// ```
/// # use bief::{Application, Chain, Flow, InOut, Program, Result, Task, sink, source};
/// # #[derive(Clone)] struct Square;
/// # impl Task for Square {
/// #     type In = InOut<f32>;
/// #     type Out = ();
/// #     fn lens(&self, _: usize) -> Result<()> { Ok(()) }
/// #     fn run(&mut self, frame: &mut [f32], (): ()) -> Result<Flow> { frame.iter_mut().for_each(|x| *x *= *x); Ok(Flow::Next) }
/// #     fn replica(&self) -> Option<Self> { Some(self.clone()) }
/// # }
/// # struct Squares;
/// # fn program(frames: u64) -> Result<Program> {
/// #     let mut left = frames;
/// #     let mut chain = Chain::new();
/// #     let fill = move |frame: &mut [f32]| { left -= 1; frame.fill(0.5); Ok(if left == 0 { Flow::Stop } else { Flow::Next }) };
/// #     let mut frames = chain.add(source::from_fn(512, fill), ());
/// #     chain.add(Square, &mut frames);
/// #     chain.add(sink::for_each(|frame: &[f32]| { assert_eq!(frame[7], 0.25); Ok(Flow::Next) }), &frames);
/// #     chain.build()
/// # }
/// # impl Application for Squares {
/// #     fn program(&mut self) -> Result<Program> { program(1001) }
/// #     fn rehearsal(&self, frames: u64) -> Result<Program> { program(frames) }
/// # }
/// use bief::placement::Policy;
/// use bief::{Machine, Planner};
///
/// let mut squares = Squares; // an application
/// let planned = Planner::new(Machine::here())
///     .goal("fewest-cores".parse()?)
///     .refine(2)
///     .place(Policy::Guided)
///     .plan(&squares)?;
/// println!("{} frames per second", planned.profile.frames_per_second(planned.schedule.planned_period().ns()));
/// let report = planned.pipeline(&mut squares)?.run()?;
/// assert_eq!(report.frames, 1000);
/// # Ok::<(), bief::Error>(())
/// ```
#[derive(Clone)]
pub struct Planner {
    machine: Machine,
    cores: Option<String>,
    goal: Option<Goal>,
    /// By which to cut the chain, if not by the usual one.
    strategy: Option<Chosen>,
    profiling: Profiling,
    profile: Option<Given<Profile>>,
    schedule: Option<Given<Schedule>>,
    rounds: Option<usize>,
    watts: Option<Watts>,
    placing: Placing,
    class: Class,
    requires_devices: bool,
}

impl Planner {
    /// Plans for all cores of a machine; one that emulates kinds of cores has them tried here.
    pub fn new(machine: Machine) -> Self {
        Self {
            machine,
            cores: None,
            goal: None,
            strategy: None,
            profiling: Profiling::default(),
            profile: None,
            schedule: None,
            rounds: None,
            watts: None,
            placing: Placing::default(),
            class: Class::default(),
            requires_devices: false,
        }
    }

    /// Refuses plans without the [devices](Machine::devices) of the machine. Unless this is called, a device on which no task can run, on
    /// which one cannot that should (its kernel does not compile), or that the strategy cannot plan for, is left out, and the
    /// [notes](Planned::notes) say why.
    #[must_use]
    pub fn require_devices(mut self) -> Self {
        self.requires_devices = true;
        self
    }

    /// Uses these cores at most, in place of all: `4`, or by kind as in `big=2,little=4` ([`Platform::parse_cores`]).
    #[must_use]
    pub fn cores(mut self, cores: impl Into<String>) -> Self {
        self.cores = Some(cores.into());
        self
    }

    /// Looks for this, in place of the shortest period on the fewest big cores.
    #[must_use]
    pub fn goal(mut self, goal: Goal) -> Self {
        self.goal = Some(goal);
        self
    }

    /// Cuts the chain into stages by this strategy alone, in place of [`Exact`](struct@Exact) and, where stages that share cores are faster,
    /// [`Shared`](bief_schedule::strategy::Shared).
    #[must_use]
    pub fn strategy(mut self, strategy: impl Strategy + Send + 'static) -> Self {
        self.strategy = Some(Chosen(Arc::new(strategy)));
        self
    }

    /// Measures tasks in this way, in place of [`Profiling::default`].
    #[must_use]
    pub fn profiling(mut self, profiling: Profiling) -> Self {
        self.profiling = profiling;
        self
    }

    /// Plans with this profile instead of measuring the tasks; errors name `origin`, such as its file.
    #[must_use]
    pub fn profile(mut self, profile: Profile, origin: impl Into<String>) -> Self {
        self.profile = Some(Given { value: profile, origin: origin.into() });
        self
    }

    /// Runs this schedule instead of planning; errors name `origin`.
    #[must_use]
    pub fn schedule(mut self, schedule: Schedule, origin: impl Into<String>) -> Self {
        self.schedule = Some(Given { value: schedule, origin: origin.into() });
        self
    }

    /// Tries the plan, corrects the profile with the measured times and plans again, up to this many times: until a run
    /// keeps its plan, or no better plan is left ([`Refined`]). Unless this is called, so are plans with a
    /// [device that works for all lanes at a time](Profile::with_overlap), up to three times, where the tasks are measured.
    #[must_use]
    pub fn refine(mut self, rounds: usize) -> Self {
        self.rounds = Some(rounds);
        self
    }

    /// Places threads by this policy, in place of [`Policy::Packed`] ([`Policy::Guided`] where they share cores and no stage has a thread on
    /// each; [`Policy::Loose`] where time is reserved, as Linux does not bind a thread that has some).
    #[must_use]
    pub fn place(mut self, policy: Policy) -> Self {
        self.placing.place = Some(placing::Place::By(policy));
        self
    }

    /// Places threads explicitly, instead of by a policy; errors name `origin`.
    #[must_use]
    pub fn place_as(mut self, placement: Placement, origin: impl Into<String>) -> Self {
        self.placing.place = Some(placing::Place::As(Given { value: placement, origin: origin.into() }));
        self
    }

    /// Sets what happens when the system refuses a thread its place.
    #[must_use]
    pub fn pinning(mut self, pinning: Pinning) -> Self {
        self.placing.pinning = pinning;
        self
    }

    /// Gives threads a scheduling class of Linux, and sets what happens if the system refuses it.
    /// [`Class::Deadline`](realtime::Class::Deadline) reserves what each stage needs at the goal's rate or period,
    /// which the goal must then give.
    #[must_use]
    pub fn class(mut self, class: realtime::Class, mode: Mode) -> Self {
        self.class = Class { class, mode };
        self
    }

    /// Plans for least power with the watts of this platform, and models the energy of runs with them if there is no
    /// meter; `origin` names their source. Only kinds of cores that the machine has count.
    #[must_use]
    pub fn watts(mut self, platform: &Platform, origin: impl Into<String>) -> Self {
        let platform = self.machine.platform().with_power_of(platform);
        self.watts = Some(Watts { platform, origin: origin.into() });
        self
    }

    /// The machine that is planned for.
    pub fn machine(&self) -> &Machine {
        &self.machine
    }

    /// Refuses what cannot be planned, before anything is measured; [`plan`](Self::plan) begins with it.
    ///
    /// # Errors
    /// Cores that the machine does not have, or devices where they are required; a goal that the strategy does not serve; a class that reserves time for a rate that
    /// the goal does not name; places that are not on the machine.
    pub fn check(&self) -> Result<()> {
        if let (Some(cores), None) = (&self.cores, &self.profile) {
            self.machine.platform().parse_part(cores)?;
        }
        self.chosen().0.serves(&self.goal.unwrap_or_default())?;
        if self.requires_devices && self.machine.devices().is_empty() {
            return Err(Error::build(
                "a device is required, and this machine has none: name a machine that emulates one (--machine FILE), or leave the demand \
                 out",
            ));
        }
        self.class.check(self.goal)?;
        self.placing.check(&self.machine)
    }

    /// Plans an application: measures its tasks, schedules them for the goal, and refines the plan by trials if that is wanted.
    ///
    /// # Errors
    /// Those of [`check`](Self::check); those of a rehearsal; a given profile of another chain; a goal that no plan reaches.
    pub fn plan(&self, application: &(impl Application + ?Sized)) -> Result<Planned> {
        self.check()?;
        let Some(given) = &self.profile else {
            let (profile, machine, notes) = self.measured(application)?;
            let planned = Self { machine, ..self.clone() }.plan_with(application, profile)?;
            return Ok(Planned { notes: notes.into_iter().chain(planned.notes).collect(), ..planned });
        };
        let program = application.rehearsal(1)?;
        program.fits(&given.value).map_err(|error| given.named(error))?;
        self.plan_with(application, given.value.clone())
    }

    /// Measures an application's tasks, as [`plan`](Self::plan) does; answers beside the profile with the machine that it is of, which lacks
    /// those devices that refuse a task, and with what a person should know of these.
    ///
    /// # Errors
    /// Those of a rehearsal; a device that refuses a task, where devices are [required](Self::require_devices).
    pub fn measured(&self, application: &(impl Application + ?Sized)) -> Result<(Profile, Machine, Vec<String>)> {
        let (mut machine, mut notes) = (self.machine.clone(), Vec::new());
        loop {
            let error = match application.profile_on(&machine, self.profiling) {
                Ok(profile) => return Ok((profile, machine, notes)),
                Err(error) => error,
            };
            let Some((device, reason)) = error.refusal().filter(|_| !self.requires_devices) else { return Err(error) };
            notes.push(format!("planned without the device `{device}`: {reason}"));
            machine = machine.with_devices_where(|spec| spec.name != device);
        }
    }

    /// The strategy that was asked for, or the usual one. Threads of a class that is above others do not take turns.
    fn chosen(&self) -> Chosen {
        let usual: Arc<dyn Strategy + Send> = match self.class.is_ordinary() {
            true => Arc::new(Usual),
            false => Arc::new(Exact),
        };
        self.strategy.clone().unwrap_or(Chosen(usual))
    }

    /// Plans with a profile of the application on the machine.
    fn plan_with(&self, application: &(impl Application + ?Sized), profile: Profile) -> Result<Planned> {
        if let Some(given) = &self.schedule {
            given.value.period(&profile).map_err(|error| given.named(error.into()))?;
            let clocks = given.value.clocks().iter();
            let note = |(kind, mhz)| {
                format!(
                    "the schedule is for {kind} cores at {mhz} MHz, which only you can set (cpupower frequency-set)"
                )
            };
            let notes = clocks.map(note).collect();
            let cores = given.value.cores();
            let machine = self.machine.divided(|kind| cores.get(kind).copied().unwrap_or(0));
            let platform = machine.platform();
            return Ok(Self { machine, ..self.clone() }.planned(profile, platform, given.value.clone(), None, notes));
        }
        let (platform, notes) = self.platform(&profile)?;
        let goal = self.goal.unwrap_or_default();
        // What it tells of busy cores is for as many as the schedule keeps busy, from here on, and cores are whole or divided.
        let Chosen(strategy) = self.chosen();
        let BusyPlan { schedule, profile, platform } = BusyPlan::find(&*strategy, &profile, &platform, &goal)?;
        let here = Self { machine: self.machine.divided(|kind| platform.cores(kind)), ..self.clone() };
        let rounds = self.rounds.unwrap_or_else(|| {
            let kinds = schedule.stages().iter().flat_map(|stage| &stage.cores);
            let mut kinds = kinds.filter_map(|(name, _)| profile.kind(name));
            if self.profile.is_none() && kinds.any(|kind| profile.overlaps(kind)) { TRIALS } else { 0 }
        });
        if rounds == 0 {
            return Ok(here.planned(profile, platform, schedule, None, notes));
        }
        let plan = |profile: &Profile| Ok(strategy.plan(profile, &platform, &goal)?);
        let refined = refine(profile, rounds, plan, |profile, schedule| here.trial(application, profile, schedule))?;
        let (profile, schedule) = (refined.profile.clone(), refined.schedule.clone());
        Ok(here.planned(profile, platform, schedule, Some(refined), notes))
    }

    fn planned(
        &self,
        profile: Profile,
        platform: Platform,
        schedule: Schedule,
        refined: Option<Refined>,
        notes: Vec<String>,
    ) -> Planned {
        Planned {
            goal_handle: GoalHandle::new(self.goal.unwrap_or_default(), self.chosen()),
            strategy: self.chosen(),
            cores: self.cores.clone(),
            platform,
            machine: self.machine.clone(),
            profile,
            schedule,
            refined,
            notes,
            goal: self.goal,
            watts: self.watts.clone(),
            placing: self.placing.clone(),
            class: self.class,
        }
    }

    /// Runs a plan on a rehearsal, long enough to tell how it is kept.
    fn trial(
        &self,
        application: &(impl Application + ?Sized),
        profile: &Profile,
        schedule: &Schedule,
    ) -> Result<Report> {
        let per_frame = schedule.period(profile)?.ns() / f64::from(profile.frames_per_execution());
        let frames = (TRIAL_NS / per_frame.max(1.0)).max(MIN_TRIAL_FRAMES) as u64;
        let pipeline = application.rehearsal(frames)?.pipeline_on(schedule, &self.machine)?.compare_with(profile)?;
        self.placing.place(pipeline, &Policy::usual(schedule), &self.machine)?.observe().run()
    }

    /// The cores and those devices that can be planned for; and why the others cannot.
    fn with_devices(&self, there: Platform, profile: &Profile) -> Result<(Platform, Vec<String>)> {
        let Chosen(strategy) = self.chosen();
        let knows_devices = strategy.capabilities().devices;
        let mut notes = Vec::new();
        let mut left = there.kinds().to_vec();
        for device in self.machine.devices() {
            let reason = match profile.kind(&device.name) {
                Some(kind) if profile.lanes(kind).is_none() => "the profile takes it for a kind of cores".to_owned(),
                Some(_) if knows_devices => continue,
                Some(_) => format!("the strategy `{}` plans for cores alone", strategy.name()),
                None if self.profile.is_some() => "the profile has no times on it".to_owned(),
                None => "no task of this chain has anything that runs there".to_owned(),
            };
            if self.requires_devices {
                return Err(Error::build(format!("the device `{}` is required: {reason}", device.name)));
            }
            notes.push(format!("planned without the device `{}`: {reason}", device.name));
            left.retain(|kind| kind.name != device.name);
        }
        Ok((Platform::new(left)?.with_power_of(&there), notes))
    }

    /// The cores to plan for: those that are there, or fewer; and what is to be said of them.
    fn platform(&self, profile: &Profile) -> Result<(Platform, Vec<String>)> {
        let there = self.watts.as_ref().map_or_else(|| self.machine.platform(), |watts| watts.platform.clone());
        let (there, mut notes) = self.with_devices(there, profile)?;
        let quoted = |names: Vec<&str>| names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
        let names = || profile.kinds().iter().map(String::as_str).filter(|name| self.machine.device(name).is_none());
        let (known, unknown): (Vec<&str>, Vec<&str>) = names().partition(|name| there.kind(name).is_some());
        if !unknown.is_empty() {
            let here = quoted(there.kinds().iter().map(|kind| kind.name.as_str()).collect());
            let unknown = quoted(unknown);
            let told = format!("the profile tells times on cores of the kind {unknown}, this machine has {here}");
            if known.is_empty() {
                return Err(Error::build(format!(
                    "{told}: profile the chain here, or plan for a machine that emulates them"
                )));
            }
            notes.push(told);
        }
        let Some(cores) = &self.cores else { return Ok((there, notes)) };
        let mut kinds = Platform::parse_cores(cores, profile)?.kinds().to_vec();
        let left_out = |device: &&DeviceSpec| kinds.iter().all(|kind| kind.name != device.name || kind.cores == 0);
        if let Some(device) = self.machine.devices().iter().find(left_out).filter(|_| self.requires_devices) {
            let name = &device.name;
            return Err(Error::build(format!(
                "the device `{name}` is required, and the cores `{cores}` leave it out: add {name}=1"
            )));
        }
        for kind in &mut kinds {
            let available = there.cores(&kind.name);
            if kind.cores > available {
                let (asked, name) = (kind.cores, &kind.name);
                notes.push(format!(
                    "{asked} {name} cores were asked for, this machine has {available}: using {available}"
                ));
                kind.cores = available;
            }
        }
        Ok((Platform::new(kinds)?.with_power_of(&there), notes))
    }
}

impl std::fmt::Debug for Planner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { machine, cores, goal, strategy, rounds, .. } = self;
        let mut shown = f.debug_struct("Planner");
        shown.field("machine", &machine.to_string()).field("cores", cores).field("goal", goal);
        shown.field("strategy", strategy).field("rounds", rounds).finish_non_exhaustive()
    }
}

/// The strategy that plans are made by.
#[derive(Clone)]
struct Chosen(Arc<dyn Strategy + Send>);

impl std::fmt::Debug for Chosen {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.0.name())
    }
}

/// What was given in place of being worked out, and what errors call it.
#[derive(Debug, Clone)]
struct Given<T> {
    value: T,
    origin: String,
}

impl<T> Given<T> {
    fn named(&self, error: Error) -> Error {
        Error::build(format!("{}: {error}", self.origin))
    }
}

/// A plan with its profile, machine and settings.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Planned {
    /// The machine that it is for.
    pub machine: Machine,
    /// The time of each task on each kind of core; corrected, where the plan was refined.
    pub profile: Profile,
    /// The stages, and the cores of each.
    pub schedule: Schedule,
    /// How the plan was refined, if it was.
    pub refined: Option<Refined>,
    /// What a person should know of it: cores that were asked for and are not there.
    pub notes: Vec<String>,
    goal_handle: GoalHandle,
    strategy: Chosen,
    /// The cores that were asked for, in place of all.
    cores: Option<String>,
    /// The cores that it may use.
    platform: Platform,
    goal: Option<Goal>,
    watts: Option<Watts>,
    placing: Placing,
    class: Class,
}

impl Planned {
    /// The application's program as a pipeline: cut into the stages of the plan, its threads placed and given their class, observed
    /// beside the plan.
    ///
    /// # Errors
    /// Those of [`Application::program`]; stages or places that the program cannot have, where it is not the one that was
    /// planned.
    pub fn pipeline(&self, application: &mut (impl Application + ?Sized)) -> Result<Pipeline> {
        let pipeline =
            application.program()?.pipeline_on(&self.schedule, &self.machine)?.compare_with(&self.profile)?.observe();
        let usual = if self.class.reserves() { Policy::Loose } else { Policy::usual(&self.schedule) };
        let pipeline = self.placing.place(pipeline, &usual, &self.machine)?;
        let pipeline = self.class.give(pipeline, (&self.schedule, &self.profile), || self.period())?;
        Ok(match &self.watts {
            Some(Watts { platform, origin }) => pipeline.watts(platform.clone(), origin),
            None => pipeline,
        })
    }

    /// The cores that a plan of the same settings may use on a machine as it is now.
    fn platform_on(&self, machine: &Machine) -> Result<Platform> {
        let there = match &self.watts {
            Some(watts) => machine.platform().with_power_of(&watts.platform),
            None => machine.platform(),
        };
        let Some(cores) = &self.cores else { return Ok(there) };
        let mut kinds = Platform::parse_cores(cores, &self.profile)?.kinds().to_vec();
        kinds.iter_mut().for_each(|kind| kind.cores = kind.cores.min(there.cores(&kind.name)));
        Ok(Platform::new(kinds)?.with_power_of(&there))
    }

    /// How often executions come at most, by the goal.
    fn period(&self) -> Result<Duration> {
        let longest = self.goal.unwrap_or_default().longest_period(&self.profile)?;
        Ok(Duration::from_nanos(longest.map_or(0.0, |period| period.ns()) as u64))
    }
}

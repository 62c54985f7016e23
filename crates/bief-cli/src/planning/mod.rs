//! From a chain to a plan, the same in every command that runs or measures one: machine, profile, schedule, places.

mod class;
mod device;
mod outcome;
mod stages;
mod watts;

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use bief::machine::energy::{EnergyMeter, Meter};
use bief::placement::{Pinning, Placement, Policy};
use bief::plan::{Adapting, Load, Profiling};
use bief::schedule::strategy::{Exact, Strategy};
use bief::schedule::{Goal, Profile, Schedule, strategy};
use bief::{Application, Machine, Pipeline, Planned, Planner, Report};
use bief_opencl::Memory;
use clap::Args;

use crate::document::{read, write};
use crate::failure::{Failure, warn};
use crate::files::Files;
use crate::status::Status;
use class::ClassArgs;
pub(crate) use device::DeviceChoice;
use outcome::tells;
pub(crate) use outcome::{against_plan, record};
pub(crate) use stages::StagesArgs;

/// All options that measure, plan and place, by what the parser calls them: for those that go with none of them.
pub(crate) const OPTIONS: [&str; 22] = [
    "machine",
    "device",
    "loaded",
    "executions",
    "cores",
    "goal",
    "strategy",
    "stages",
    "profile",
    "schedule",
    "refine",
    "adapt",
    "no_adapt",
    "rt",
    "class",
    "watts",
    "meter",
    "save_profile",
    "save_plan",
    "place",
    "pin",
    "save_place",
];

/// How tasks are measured.
#[derive(Args)]
pub(crate) struct MeasuringArgs {
    /// The machine to measure and plan for: a file (TOML) that emulates kinds of cores and devices, or plans with hardware threads of
    /// cores [default: this machine as it is]
    #[arg(long, value_name = "FILE")]
    machine: Option<PathBuf>,
    /// The devices of the machine (`bief machine` lists them): `off` leaves them out, `try` plans without one that cannot be used and says
    /// why, `require` fails then; require=NAME takes that device alone [default: those that --machine emulates, as with try]
    #[arg(long, value_name = "off|try|require[=NAME]")]
    device: Option<DeviceChoice>,
    /// How cores and a device that is here have the same frames: `copy` lets its driver copy them, `pinned` out of memory that it reaches
    /// by itself, `host` has it work in the memory of the cores, `shared` in memory that both address
    #[arg(long, value_name = "copy|pinned|host|shared", default_value = "copy", requires = "device")]
    memory: Memory,
    /// Executions that a device that is here has under way at a time, 1 to 64: each lane has a thread, which copies and prepares, and
    /// buffers on the device. Emulated devices have those of their file [default: 3]
    #[arg(long, value_name = "N", requires = "device", value_parser = clap::value_parser!(u32).range(1..=64))]
    lanes: Option<u32>,
    /// Measure tasks while all other cores are busy: clocks drop when all cores work
    #[arg(long)]
    loaded: bool,
    /// Executions to measure of each task, on each kind of core, however long they take [default: 100, fewer after 4 seconds]
    #[arg(long, value_name = "N")]
    executions: Option<NonZeroUsize>,
}

const EXECUTIONS: NonZeroUsize = NonZeroUsize::new(100).unwrap();

/// This machine, or the one that `--machine` names: its cores are here.
pub fn to_run_on(file: Option<&Path>) -> Result<Machine, Failure> {
    let here = Machine::here();
    let Some(path) = file else { return Ok(here) };
    let machine = Machine::read(path).map_err(Failure::from_error)?;
    let is_here = |core: &bief::machine::Core| core.threads.iter().all(|&thread| here.core_of(thread).is_some());
    if machine.model() == here.model() && machine.cores().iter().all(is_here) {
        return Ok(machine);
    }
    let path = path.display();
    Err(Failure::usage(format!(
        "{path}: this is `{machine}`, and tasks run here, on `{here}`: leave out --machine, or name a TOML file by which cores of \
         this machine stand for others"
    )))
}

impl MeasuringArgs {
    fn is_given(&self) -> bool {
        self.machine.is_some() || self.device.is_some() || self.loaded || self.executions.is_some()
    }

    /// Notes the file that is read.
    pub(crate) fn claim(&self, files: &mut Files) -> Result<(), Failure> {
        self.machine.as_deref().map_or(Ok(()), |path| files.read(path))
    }

    /// This machine, or the one that was asked for: its cores are here; with those devices that are wanted.
    pub(crate) fn machine(&self) -> Result<Machine, Failure> {
        device::with_devices(to_run_on(self.machine.as_deref())?, self.device.as_ref(), (self.memory, self.lanes))
    }

    /// What measures on that machine, and plans for it.
    pub(crate) fn planner(&self, machine: Machine) -> Planner {
        let planner = Planner::new(machine).profiling(self.profiling());
        match &self.device {
            Some(choice) if choice.is_required() => planner.require_devices(),
            _ => planner,
        }
    }

    pub(crate) fn profiling(&self) -> Profiling {
        let load = if self.loaded { Load::Busy } else { Load::Idle };
        // As many as asked for take their time.
        let limit = if self.executions.is_some() { Duration::MAX } else { Profiling::default().limit };
        Profiling { executions: self.executions.unwrap_or(EXECUTIONS), load, limit }
    }
}

/// How a chain is planned and placed.
#[derive(Args)]
pub(crate) struct PlanningArgs {
    #[command(flatten)]
    measuring: MeasuringArgs,
    /// Most cores to use: N, or by kind as in big=2,little=4 [default: all of this machine]
    #[arg(long, value_name = "CORES")]
    cores: Option<String>,
    /// What to optimise, as in `bief plan --goal`: for example least-power,rate=30Mb/s [default: fewest-big]
    #[arg(long, value_name = "GOAL")]
    goal: Option<Goal>,
    /// How to cut the chain into stages, as in `bief plan --strategy` [default: exact, or on up to
    /// four cores shared where that is faster]
    #[arg(long, value_name = "NAME")]
    strategy: Option<String>,
    #[command(flatten)]
    stages: StagesArgs,
    /// Plan with this profile of the chain instead of measuring its tasks
    #[arg(long, value_name = "FILE.json", conflicts_with_all = ["loaded", "executions"])]
    profile: Option<PathBuf>,
    /// Run this schedule, written by --save-plan or `bief plan --json`, instead of planning
    #[arg(long, value_name = "FILE.json", conflicts_with_all = ["cores", "goal", "strategy", "stages", "refine"])]
    schedule: Option<PathBuf>,
    /// Try the plan, correct the profile with the measured times, plan again: up to N times, until the gap is below 1 %
    /// or no better plan is left [default: 3 for a plan with a device that is here, whose lanes share it, else 0]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=100))]
    refine: Option<u32>,
    /// Change the plan while the chain runs, where its tasks take other times than planned and another plan is 5 % better
    /// [default: for live input]
    #[arg(long)]
    adapt: bool,
    /// Keep the plan for the whole run, of live input, too
    #[arg(long, conflicts_with = "adapt")]
    no_adapt: bool,
    #[command(flatten)]
    class: ClassArgs,
    #[command(flatten)]
    placing: PlacingArgs,
    /// Power of idle and busy cores, used without an energy meter: a platform file from `bief power fit` [default: that
    /// of this machine if known, else of a similar one]
    #[arg(long, value_name = "FILE.json")]
    watts: Option<PathBuf>,
    /// An external meter that writes its readings to FILE, as for `bief power read`
    #[arg(long, value_name = "FILE")]
    meter: Option<PathBuf>,
    /// Write the profile, corrected by the run if it was long enough
    #[arg(long, value_name = "FILE.json")]
    save_profile: Option<PathBuf>,
    /// Write the schedule of the run
    #[arg(long, value_name = "FILE.json")]
    save_plan: Option<PathBuf>,
}

/// Where threads run.
#[derive(Args)]
pub(crate) struct PlacingArgs {
    /// Where threads run: loose, guided, packed, distant, dynamic (demanding threads move to fast kinds of cores during
    /// the run), places such as `0; 1-3 | c2 | little`, or a file from --save-place [default: packed for planned
    /// stages; loose with reserved time]
    #[arg(long, value_name = "WHERE")]
    place: Option<Where>,
    /// Fail if the system refuses a thread its place, instead of reporting it
    #[arg(long)]
    pin: bool,
    /// Write the placement of the threads
    #[arg(long, value_name = "FILE.json")]
    save_place: Option<PathBuf>,
}

/// What says where threads run.
#[derive(Clone)]
enum Where {
    Policy(Policy),
    File(PathBuf),
}

impl FromStr for Where {
    type Err = bief::Error;

    fn from_str(text: &str) -> bief::Result<Self> {
        match Path::new(text).extension().is_some_and(|extension| extension == "json") {
            true => Ok(Self::File(text.into())),
            false => text.parse().map(Self::Policy),
        }
    }
}

impl PlacingArgs {
    /// Whether anything was asked for.
    pub(crate) fn is_given(&self) -> bool {
        self.place.is_some() || self.pin || self.save_place.is_some()
    }

    /// Notes the files that are read and written.
    fn claim(&self, files: &mut Files) -> Result<(), Failure> {
        if let Some(Where::File(path)) = &self.place {
            files.read(path)?;
        }
        self.save_place.as_deref().map_or(Ok(()), |path| files.write(path, "--save-place"))
    }

    /// Says to a planner where threads run.
    fn fill(&self, planner: Planner) -> Result<Planner, Failure> {
        let planner = match &self.place {
            None => planner,
            Some(Where::Policy(policy)) => planner.place(policy.clone()),
            Some(Where::File(path)) => planner.place_as(read(path, Placement::from_json)?, path.display().to_string()),
        };
        Ok(planner.pinning(self.pinning()))
    }

    /// Gives the threads of a pipeline that nobody planned their places.
    pub(crate) fn place(&self, pipeline: Pipeline, machine: &Machine) -> Result<Pipeline, Failure> {
        let placed = match &self.place {
            Some(Where::File(path)) => {
                let named = |error| Failure::usage(format!("{}: {error}", path.display()));
                pipeline.place_as(read(path, Placement::from_json)?, machine).map_err(named)
            }
            Some(Where::Policy(policy)) => pipeline.place(policy, machine).map_err(Failure::from_error),
            None => pipeline.place(&Policy::default(), machine).map_err(Failure::from_error),
        };
        Ok(placed?.pinning(self.pinning()))
    }

    fn pinning(&self) -> Pinning {
        if self.pin { Pinning::Require } else { Pinning::Try }
    }

    /// Writes where they ran.
    pub(crate) fn save(&self, pipeline: &Pipeline) -> Result<(), Failure> {
        match self.save_place.as_deref().zip(pipeline.placement()) {
            Some((path, placement)) => write(path, &placement.to_json()),
            None => Ok(()),
        }
    }
}

impl PlanningArgs {
    /// Whether anything was asked for.
    pub(crate) fn is_given(&self) -> bool {
        self.measuring.is_given()
            || self.cores.is_some()
            || self.goal.is_some()
            || self.strategy.is_some()
            || self.stages.is_given()
            || self.profile.is_some()
            || self.schedule.is_some()
            || self.refine.is_some()
            || self.adapt
            || self.no_adapt
            || self.class.is_given()
            || self.save_profile.is_some()
            || self.save_plan.is_some()
            || self.watts.is_some()
            || self.meter.is_some()
    }

    /// The planner that the options ask for: what cannot be is refused, before anything is measured.
    pub(crate) fn planner(&self) -> Result<Planner, Failure> {
        let machine = self.measuring.machine()?;
        if let Some(path) = &self.meter {
            // It is opened when the run begins.
            path.metadata()
                .map_err(|error| Failure::new(format!("--meter {}: {error}", path.display())).with(Status::NoInput))?;
        }
        let (platform, origin) = watts::watts(&machine, self.watts.as_deref())?;
        let planner = self.measuring.planner(machine);
        let mut planner = planner.watts(&platform, origin);
        if let Some(rounds) = self.refine {
            planner = planner.refine(rounds as usize);
        }
        if let Some(cores) = &self.cores {
            planner = planner.cores(cores);
        }
        if let Some(goal) = self.goal {
            planner = planner.goal(goal);
        }
        if self.strategy.is_some() || self.stages.is_given() {
            let name = self.stages.strategy(self.strategy.as_deref().unwrap_or(Exact.name()))?;
            planner = planner.strategy(strategy(&name).map_err(Failure::from_error)?);
        }
        if let Some(path) = &self.profile {
            planner = planner.profile(read(path, Profile::from_json)?, path.display().to_string());
        }
        if let Some(path) = &self.schedule {
            planner = planner.schedule(read(path, Schedule::from_json)?, path.display().to_string());
        }
        let planner = self.class.fill(self.placing.fill(planner)?);
        planner.check().map_err(Failure::from_error)?;
        Ok(planner)
    }

    /// Plans an application, and says what a person should know of the plan.
    pub(crate) fn plan(&self, planner: &Planner, application: &dyn Application) -> Result<Planned, Failure> {
        let planned = planner.plan(application).map_err(Failure::from_error)?;
        planned.notes.iter().for_each(|note| warn(note));
        Ok(planned)
    }

    /// The planned pipeline; its energy is measured, if anything measures it.
    pub(crate) fn pipeline(&self, planned: &Planned, application: &mut dyn Application) -> Result<Pipeline, Failure> {
        let pipeline = planned.pipeline(application).map_err(Failure::from_error)?;
        let mut meter = EnergyMeter::find();
        if let Some(path) = &self.meter {
            let external =
                Meter::open(path).map_err(|error| Failure::new(format!("--meter {error}")).with(Status::NoInput))?;
            meter = meter.with_meter(external);
        }
        Ok(pipeline.meter(meter))
    }

    /// Whether the plan follows the run.
    pub(crate) fn adapts(&self, pipeline: &Pipeline, is_live: bool) -> bool {
        self.adapt || (is_live && !self.no_adapt && pipeline.changer().is_ok())
    }

    /// Runs a planned pipeline, in other plans where these become better; unless told otherwise, only live input has the time for
    /// that.
    pub(crate) fn run(&self, planned: &Planned, pipeline: &mut Pipeline, is_live: bool) -> bief::Result<Report> {
        if self.adapts(pipeline, is_live) {
            return planned.run_adapting(pipeline, Adapting::default());
        }
        pipeline.run()
    }

    /// The profile that was given, if one was.
    pub(crate) fn given_profile(&self) -> Result<Option<Profile>, Failure> {
        self.profile.as_deref().map(|path| read(path, Profile::from_json)).transpose()
    }

    /// Whether a schedule was given.
    pub(crate) fn has_schedule(&self) -> bool {
        self.schedule.is_some()
    }

    /// The machine that tasks are measured for, and how.
    pub(crate) fn measured(&self) -> Result<(Machine, Profiling), Failure> {
        Ok((self.measuring.machine()?, self.measuring.profiling()))
    }

    pub(crate) fn placing(&self) -> &PlacingArgs {
        &self.placing
    }

    /// Notes the files that are read and written.
    pub(crate) fn claim(&self, files: &mut Files) -> Result<(), Failure> {
        self.measuring.claim(files)?;
        let read = self.profile.iter().chain(&self.schedule).chain(&self.watts).chain(&self.meter);
        read.into_iter().try_for_each(|path| files.read(path))?;
        for (path, option) in [(&self.save_profile, "--save-profile"), (&self.save_plan, "--save-plan")] {
            path.as_deref().map_or(Ok(()), |path| files.write(path, option))?;
        }
        self.placing.claim(files)
    }

    /// Writes what was asked for of a plan, and of the run that followed it.
    pub(crate) fn save(&self, planned: &Planned, pipeline: &Pipeline, report: Option<&Report>) -> Result<(), Failure> {
        if let Some(path) = &self.save_plan {
            write(path, &planned.schedule.to_json())?;
        }
        if let Some(path) = &self.save_profile {
            let corrected =
                report.filter(|report| tells(report)).and_then(|report| report.corrected(&planned.profile).ok());
            write(path, &corrected.as_ref().unwrap_or(&planned.profile).to_json())?;
        }
        self.placing.save(pipeline)
    }
}

//! From a chain to a plan, the same in every command that runs or measures one: machine, profile, schedule, places.

mod class;
mod outcome;
mod watts;

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use bief::energy::{EnergyMeter, Meter};
use bief::schedule::strategy::{Exact, Strategy};
use bief::schedule::{Goal, Platform, Profile, Schedule, strategy};
use bief::{Load, Machine, Pinning, Pipeline, Placement, Policy, Profiling, Program, Refined, Report, refine};
use clap::Args;

use crate::document::{read, write};
use crate::failure::Failure;
use crate::files::Files;
use crate::text::listed;
use class::ClassArgs;
use outcome::tells;
pub(crate) use outcome::{against_plan, rounds};

/// A trial run is to last about so long, in nanoseconds, of at least so many frames.
const TRIAL_NS: f64 = 1e9;
const LEAST_TRIAL: f64 = 200.0;

/// All options that measure, plan and place, by what the parser calls them: for those that go with none of them.
pub(crate) const OPTIONS: [&str; 18] = [
    "machine",
    "loaded",
    "executions",
    "cores",
    "goal",
    "strategy",
    "profile",
    "schedule",
    "refine",
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
    /// The machine to measure and plan for: one that emulates kinds of cores (TOML) [default: this one as it is]
    #[arg(long, value_name = "FILE")]
    machine: Option<PathBuf>,
    /// Measure tasks while all other cores are busy, too: clocks drop when all cores work
    #[arg(long)]
    loaded: bool,
    /// Executions of each task that count, on each kind of core [default: 100]
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
    Err(Failure::new(format!(
        "{path}: this is `{machine}`, and tasks run here, on `{here}`: leave out --machine, or name a TOML file by which cores of \
         this machine stand for others"
    )))
}

impl MeasuringArgs {
    fn is_given(&self) -> bool {
        self.machine.is_some() || self.loaded || self.executions.is_some()
    }

    /// Notes the file that is read.
    pub(crate) fn claim(&self, files: &mut Files) {
        self.machine.iter().for_each(|path| files.read(path));
    }

    /// This machine, or the one that was asked for: its cores are here.
    pub(crate) fn machine(&self) -> Result<Machine, Failure> {
        to_run_on(self.machine.as_deref())
    }

    pub(crate) fn profiling(&self) -> Profiling {
        let load = if self.loaded { Load::Busy } else { Load::Idle };
        Profiling { executions: self.executions.unwrap_or(EXECUTIONS), load }
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
    /// What to look for, as `bief plan --goal`: for example least-power,rate=30Mb/s [default: fewest-big]
    #[arg(long, value_name = "GOAL")]
    goal: Option<Goal>,
    /// How to cut the chain into stages, as `bief plan --strategy` [default: exact]
    #[arg(long, value_name = "NAME")]
    strategy: Option<String>,
    /// Plan with this profile of the chain, in place of measuring its tasks
    #[arg(long, value_name = "FILE.json", conflicts_with_all = ["loaded", "executions"])]
    profile: Option<PathBuf>,
    /// Run this schedule, which --save-plan or `bief plan --json` wrote, in place of planning
    #[arg(long, value_name = "FILE.json", conflicts_with_all = ["cores", "goal", "strategy", "refine"])]
    schedule: Option<PathBuf>,
    /// Try the plan, correct the profile by what was measured, plan again: up to N times, until the gap is below 1 % or no
    /// better plan is left
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100))]
    refine: Option<u32>,
    #[command(flatten)]
    class: ClassArgs,
    #[command(flatten)]
    placing: PlacingArgs,
    /// What idle and busy cores draw, where nothing measures it: a platform as `bief power fit` writes it [default: those of
    /// this machine if they are known, else of one like it]
    #[arg(long, value_name = "FILE.json")]
    watts: Option<PathBuf>,
    /// An external meter that writes its readings into FILE, as for `bief power read`
    #[arg(long, value_name = "FILE")]
    meter: Option<PathBuf>,
    /// Write the profile, corrected by the run if that was long enough
    #[arg(long, value_name = "FILE.json")]
    save_profile: Option<PathBuf>,
    /// Write the schedule that was run
    #[arg(long, value_name = "FILE.json")]
    save_plan: Option<PathBuf>,
}

/// Where threads run.
#[derive(Args)]
pub(crate) struct PlacingArgs {
    /// Where threads run: loose, guided, packed, distant, dynamic (the demanding ones are moved to fast kinds of cores
    /// meanwhile), places such as `0; 1-3 | c2 | little`, or a file that --save-place wrote [default: packed, for stages that
    /// are planned; loose where time is reserved]
    #[arg(long, value_name = "WHERE")]
    place: Option<Where>,
    /// Fail where the system refuses a thread its place, instead of saying so
    #[arg(long)]
    pin: bool,
    /// Write where the threads ran
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
            files.read(path);
        }
        self.save_place.as_deref().map_or(Ok(()), |path| files.write(path, "--save-place"))
    }

    /// Whether the hardware threads that are named are there, before anything runs.
    fn check(&self, machine: &Machine) -> Result<(), Failure> {
        match &self.place {
            None => Ok(()),
            Some(Where::Policy(policy)) => policy.check(machine).map_err(Failure::from_error),
            Some(Where::File(path)) => read(path, Placement::from_json)?.check(machine).map_err(named(path)),
        }
    }

    /// Gives the threads of a pipeline their places.
    pub(crate) fn place(&self, pipeline: Pipeline, machine: &Machine) -> Result<Pipeline, Failure> {
        self.place_or(&Policy::default(), pipeline, machine)
    }

    /// Places them by that policy, where nothing else is asked for.
    fn place_or(&self, usual: &Policy, pipeline: Pipeline, machine: &Machine) -> Result<Pipeline, Failure> {
        let pipeline = match &self.place {
            Some(Where::File(path)) => {
                let placement = read(path, Placement::from_json)?;
                pipeline.place_as(placement, machine).map_err(named(path))
            }
            Some(Where::Policy(policy)) => pipeline.place(policy, machine).map_err(Failure::from_error),
            None => pipeline.place(usual, machine).map_err(Failure::from_error),
        };
        let pinning = if self.pin { Pinning::Require } else { Pinning::Try };
        Ok(pipeline?.pinning(pinning))
    }

    /// Writes where they ran.
    pub(crate) fn save(&self, pipeline: &Pipeline) -> Result<(), Failure> {
        match self.save_place.as_deref().zip(pipeline.placement()) {
            Some((path, placement)) => write(path, &placement.to_json()),
            None => Ok(()),
        }
    }
}

/// What is run, and what it was planned with.
pub(crate) struct Planned {
    pub(crate) machine: Machine,
    /// What its cores draw, and where that is from.
    watts: (Platform, String),
    pub(crate) profile: Profile,
    pub(crate) schedule: Schedule,
    /// How the plan was refined, if it was.
    pub(crate) refined: Option<Refined>,
}

impl PlanningArgs {
    /// Whether anything was asked for.
    pub(crate) fn is_given(&self) -> bool {
        self.measuring.is_given()
            || self.cores.is_some()
            || self.goal.is_some()
            || self.strategy.is_some()
            || self.profile.is_some()
            || self.schedule.is_some()
            || self.refine.is_some()
            || self.class.is_given()
            || self.save_profile.is_some()
            || self.save_plan.is_some()
            || self.watts.is_some()
            || self.meter.is_some()
    }

    /// Gives the threads of a planned pipeline their places and their class, and lets its runs be observed and their energy
    /// measured or modelled.
    pub(crate) fn prepare(&self, pipeline: Pipeline, planned: &Planned) -> Result<Pipeline, Failure> {
        // Linux does not bind a thread that has time reserved.
        let usual = if self.class.reserves() { Policy::Loose } else { Policy::default() };
        let pipeline = self.placing.place_or(&usual, pipeline.observe(), &planned.machine)?;
        let pipeline = self.class.class(pipeline, planned, self.goal).map_err(Failure::from_error)?;
        let mut meter = EnergyMeter::find();
        if let Some(path) = &self.meter {
            let external = Meter::open(path).map_err(|error| Failure::new(format!("--meter {error}")))?;
            meter = meter.with_meter(external);
        }
        let (platform, origin) = &planned.watts;
        Ok(pipeline.meter(meter).watts(platform.clone(), origin))
    }

    pub(crate) fn placing(&self) -> &PlacingArgs {
        &self.placing
    }

    pub(crate) fn machine(&self) -> Result<Machine, Failure> {
        self.measuring.machine()
    }

    /// Notes the files that are read and written.
    pub(crate) fn claim(&self, files: &mut Files) -> Result<(), Failure> {
        self.measuring.claim(files);
        self.profile.iter().chain(&self.schedule).chain(&self.watts).for_each(|path| files.read(path));
        for (path, option) in [(&self.save_profile, "--save-profile"), (&self.save_plan, "--save-plan")] {
            path.as_deref().map_or(Ok(()), |path| files.write(path, option))?;
        }
        self.placing.claim(files)
    }

    /// Plans a chain: measures its tasks, unless a profile was given, and refines the plan by trial runs if that was asked for.
    ///
    /// `rehearse` builds the chain, on input that it may use up, for so many frames at most.
    pub(crate) fn plan(
        &self,
        rehearse: impl Fn(u64) -> bief::Result<Program>,
        measure: impl FnOnce(&Machine, Profiling) -> bief::Result<Profile>,
    ) -> Result<Planned, Failure> {
        let machine = self.machine()?;
        self.placing.check(&machine)?;
        self.class.check(self.goal)?;
        let watts = watts::watts(&machine, self.watts.as_deref())?;
        let strategy = strategy(self.strategy.as_deref().unwrap_or(Exact.name())).map_err(Failure::from_error)?;
        let goal = self.goal.unwrap_or_default();
        strategy.serves(&goal).map_err(Failure::from_error)?;
        let given = self.schedule.as_deref().map(|path| Ok((path, read(path, Schedule::from_json)?))).transpose()?;
        let profile = match &self.profile {
            None => measure(&machine, self.measuring.profiling()).map_err(Failure::from_error)?,
            Some(path) => {
                let profile = read(path, Profile::from_json)?;
                rehearse(1).map_err(Failure::from_error)?.fits(&profile).map_err(named(path))?;
                profile
            }
        };
        if let Some((path, schedule)) = given {
            schedule.period(&profile).map_err(|error| named(path)(error.into()))?;
            return Ok(Planned { machine, watts, profile, schedule, refined: None });
        }
        let platform = self.platform(&watts.0, &profile)?;
        let plan = |profile: &Profile| -> bief::Result<Schedule> { Ok(strategy.plan(profile, &platform, &goal)?) };
        let Some(most) = self.refine else {
            let schedule = plan(&profile).map_err(Failure::from_error)?;
            return Ok(Planned { machine, watts, profile, schedule, refined: None });
        };
        let trial = |profile: &Profile, schedule: &Schedule| -> bief::Result<Report> {
            let per_frame = schedule.period(profile)?.ns() / f64::from(profile.frames_per_execution());
            let frames = (TRIAL_NS / per_frame.max(1.0)).max(LEAST_TRIAL) as u64;
            let pipeline = rehearse(frames)?.pipeline(schedule)?.beside(profile)?;
            let placed = self.placing.place(pipeline, &machine).map_err(|failure| bief::Error::new(failure.message))?;
            placed.observe().run()
        };
        let refined = refine(profile, most as usize, plan, trial).map_err(Failure::from_error)?;
        let (profile, schedule) = (refined.profile.clone(), refined.schedule.clone());
        Ok(Planned { machine, watts, profile, schedule, refined: Some(refined) })
    }

    /// The cores to plan for: those that are there, or fewer.
    fn platform(&self, there: &Platform, profile: &Profile) -> Result<Platform, Failure> {
        let (known, unknown): (Vec<&String>, Vec<&String>) =
            profile.kinds().iter().partition(|kind| there.kinds().iter().any(|there| there.name == **kind));
        if !unknown.is_empty() {
            let quoted = |name: &String| format!("`{name}`");
            let unknown = listed(&unknown.into_iter().map(quoted).collect::<Vec<_>>());
            let there = listed(&there.kinds().iter().map(|kind| quoted(&kind.name)).collect::<Vec<_>>());
            let told = format!("the profile tells times on cores of the kind {unknown}, this machine has {there}");
            if known.is_empty() {
                let remedy = "profile the chain here, or name a --machine that emulates them";
                return Err(Failure::new(format!("{told}: {remedy}")));
            }
            eprintln!("bief: {told}");
        }
        let Some(cores) = &self.cores else { return Ok(there.clone()) };
        let wanted = Platform::parse_cores(cores, profile).map_err(Failure::from_error)?;
        let mut kinds = wanted.kinds().to_vec();
        for kind in &mut kinds {
            let available = there.cores(&kind.name);
            if kind.cores > available {
                let (asked, name) = (kind.cores, &kind.name);
                eprintln!("bief: {asked} {name} cores were asked for, this machine has {available}: using {available}");
                kind.cores = available;
            }
        }
        Ok(Platform::new(kinds).map_err(Failure::from_error)?.with_power_of(there))
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

/// An error that is about a file.
fn named(path: &Path) -> impl Fn(bief::Error) -> Failure {
    move |error| Failure::new(format!("{}: {error}", path.display()))
}

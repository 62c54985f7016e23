//! Plans: a profile, cores and a goal become a schedule.

use std::ffi::c_char;

use runtime::placement::Policy;
use runtime::plan::Profiling;
use runtime::schedule::{Goal, Platform, Profile, Schedule, strategy};
use runtime::{Machine, Planner};

use crate::fault::{Fault, Result, guarded};
use crate::sized::{self, Versioned};
use crate::text::{give, optional};

/// What is planned, and for what. All fields but the size may be 0.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct bief_planning {
    /// sizeof(bief_planning), set by the program.
    pub size: usize,
    /// The times of the tasks, a JSON document as `bief profile` writes it; NULL measures them.
    pub profile: *const c_char,
    /// The cores to use: "4", or by kind as in "big=2,little=4"; NULL for all of the platform or machine.
    pub cores: *const c_char,
    /// What the cores draw, and, for bief_plan without `cores`, how many there are: a platform, a JSON document; NULL for unknown.
    pub platform: *const c_char,
    /// What to optimise, as "fewest-cores,rate=30Mb/s"; NULL for the shortest period on the fewest big cores.
    pub goal: *const c_char,
    /// How to cut the chain into stages; NULL for "exact".
    pub strategy: *const c_char,
    /// The machine to plan for, as `bief machine --json` writes it, or kinds of cores to emulate, in TOML; NULL for this one.
    /// Not for bief_plan.
    pub machine: *const c_char,
    /// The schedule to run instead of planning, a JSON document; NULL plans. Not for bief_plan.
    pub schedule: *const c_char,
    /// Where threads run, as bief_options.place; NULL for packed. Not for bief_plan.
    pub place: *const c_char,
    /// How often at most the plan is tried and corrected. Not for bief_plan.
    pub refine: usize,
    /// How many batches are measured on each kind of core at most; 0 for 200. Not for bief_plan.
    pub executions: usize,
}

// SAFETY: `repr(C)`, the size first; zeros are null pointers and numbers.
unsafe impl Versioned for bief_planning {
    const NAME: &'static str = "bief_planning";
}

/// The same, read.
#[derive(Default)]
pub(crate) struct Planning<'p> {
    profile: Option<&'p str>,
    cores: Option<&'p str>,
    platform: Option<&'p str>,
    goal: Option<&'p str>,
    strategy: Option<&'p str>,
    machine: Option<&'p str>,
    schedule: Option<&'p str>,
    place: Option<&'p str>,
    refine: usize,
    executions: usize,
}

impl<'p> Planning<'p> {
    /// # Safety
    /// `planning` is null or as the header asks, and its texts stay.
    pub(crate) unsafe fn read(planning: *const bief_planning) -> Result<Self> {
        if planning.is_null() {
            return Ok(Self::default());
        }
        // SAFETY: passed on to the caller.
        let given = unsafe { sized::read(planning)? };
        // SAFETY: passed on to the caller.
        let text = |text, what| unsafe { optional(text, what) };
        Ok(Self {
            profile: text(given.profile, "bief_planning.profile")?,
            cores: text(given.cores, "bief_planning.cores")?,
            platform: text(given.platform, "bief_planning.platform")?,
            goal: text(given.goal, "bief_planning.goal")?,
            strategy: text(given.strategy, "bief_planning.strategy")?,
            machine: text(given.machine, "bief_planning.machine")?,
            schedule: text(given.schedule, "bief_planning.schedule")?,
            place: text(given.place, "bief_planning.place")?,
            refine: given.refine,
            executions: given.executions,
        })
    }

    /// A planner filled from all that is given.
    pub(crate) fn planner(&self) -> Result<Planner> {
        let machine = match self.machine {
            None => Machine::here(),
            Some(text) if text.trim_start().starts_with('{') => {
                Machine::from_json(text).map_err(runtime::Error::from)?
            }
            Some(text) => Machine::emulated(text, &Machine::here()).map_err(runtime::Error::from)?,
        };
        let mut profiling = Profiling::default();
        if let Some(executions) = std::num::NonZeroUsize::new(self.executions) {
            profiling.executions = executions;
        }
        let mut planner = Planner::new(machine).refine(self.refine).profiling(profiling);
        if let Some(cores) = self.cores {
            planner = planner.cores(cores);
        }
        if let Some(goal) = self.goal {
            planner = planner.goal(goal.parse::<Goal>()?);
        }
        if let Some(name) = self.strategy {
            planner = planner.strategy(strategy(name)?);
        }
        if let Some(text) = self.platform {
            planner = planner.watts(&Platform::from_json(text)?, "bief_planning.platform");
        }
        if let Some(text) = self.profile {
            planner = planner.profile(Profile::from_json(text)?, "bief_planning.profile");
        }
        if let Some(text) = self.schedule {
            planner = planner.schedule(Schedule::from_json(text)?, "bief_planning.schedule");
        }
        if let Some(text) = self.place {
            planner = planner.place(text.parse::<Policy>()?);
        }
        planner.check()?;
        Ok(planner)
    }

    /// The schedule of a profile, without any thread.
    fn schedule(&self) -> Result<Schedule> {
        let beyond = [
            ("machine", self.machine.is_some()),
            ("schedule", self.schedule.is_some()),
            ("place", self.place.is_some()),
            ("refine", self.refine > 0),
            ("executions", self.executions > 0),
        ];
        if let Some((field, _)) = beyond.iter().find(|(_, is_given)| *is_given) {
            return Err(Fault::argument(format!("bief_planning.{field}: bief_plan runs nothing; leave it 0")));
        }
        let Some(profile) = self.profile else {
            return Err(Fault::argument("no bief_planning.profile: bief_plan plans what was measured before"));
        };
        let profile = Profile::from_json(profile)?;
        let known = self.platform.map(Platform::from_json).transpose()?;
        let platform = match (self.cores, known) {
            (Some(cores), Some(known)) => Platform::parse_cores(cores, &profile)?.with_power_of(&known),
            (Some(cores), None) => Platform::parse_cores(cores, &profile)?,
            (None, Some(known)) => known,
            (None, None) => return Err(Fault::argument("no bief_planning.cores, and no platform: give one of them")),
        };
        let goal = self.goal.map(str::parse::<Goal>).transpose()?.unwrap_or_default();
        Ok(strategy(self.strategy.unwrap_or("exact"))?.plan(&profile, &platform, &goal)?)
    }
}

/// Plans a profile: gives the schedule that `bief plan --json` prints.
///
/// # Safety
/// `planning` is as its documentation says, `schedule` may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bief_plan(planning: *const bief_planning, schedule: *mut *mut c_char) -> i32 {
    guarded(|| {
        // SAFETY: passed on to the caller.
        let planned = unsafe { Planning::read(planning)? }.schedule()?;
        // SAFETY: passed on to the caller.
        unsafe { give(schedule, planned.to_json().trim_end().to_owned()) }
    })
}

/// Gives the cores that this process may use, their kinds and what they share, as a JSON document.
///
/// # Safety
/// `machine` may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bief_machine(machine: *mut *mut c_char) -> i32 {
    // SAFETY: passed on to the caller.
    guarded(|| unsafe { give(machine, Machine::here().to_json()) })
}

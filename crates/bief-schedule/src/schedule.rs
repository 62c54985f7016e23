//! How a chain is cut into stages, and the cores that each stage gets.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Number;

use crate::error::{Error, ErrorKind};
use crate::json::{self, Document, Format, Object};
use crate::period::Period;
use crate::platform::Platform;
use crate::profile::{Profile, counted};
use crate::smt;
pub use crate::stage::Stage;

const DOCUMENT: Document = Document {
    name: "schedule",
    shape: r#"{"format": 1, "strategy": "otac", "period_ns": 5013000, "cores": {"big": 4}, "stages": [{"tasks": 5, "cores": 1, "kind": "big"}]}; "period_exact", "oversubscribed", "watts", "clocks" and "front" may be left out"#,
};

/// Stages on Pareto-least numbers of cores for the schedule's period or, where a period was demanded, for one that is no
/// longer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FrontPoint {
    /// The cores used of each kind.
    pub cores: BTreeMap<String, u32>,
    /// The stages, in order.
    #[serde(deserialize_with = "json::objects")]
    pub stages: Vec<Stage>,
}

impl FrontPoint {
    /// The point of these stages: the cores that they use.
    pub(crate) fn new(stages: Vec<Stage>) -> Self {
        Self { cores: threads(&stages), stages }
    }
}

/// A chain cut into stages, with the cores of each stage and the period that follows (eqs 1 and 2).
///
/// A schedule stands alone: it names its kinds and counts its tasks, and is checked against a profile and a
/// platform with [`check`](Self::check). Stages follow each other in chain order; there is at least one.
///
/// # JSON
///
/// ```json
/// {
///   "format": 1,
///   "strategy": "otac",
///   "period_ns": 5013000,
///   "cores": {"big": 4},
///   "stages": [
///     {"tasks": 5, "cores": 1, "kind": "big"},
///     {"tasks": 3, "cores": 3, "kind": "big"}
///   ]
/// }
/// ```
///
/// A [stage](Stage) on cores of several kinds lists them: `{"tasks": 3, "cores": {"big": 2, "little": 1}}`.
///
/// `cores` counts the cores that the stages use. Keys that may be left out: `period_exact` (the period as a
/// text `"num/den"`, written where it is no integer; without it `period_ns` is read as the simplest
/// fraction that rounds to it), `oversubscribed` (true where the stages have more threads than there are
/// cores: `cores` then counts the cores that they share), `watts` (what the strategy expects the machine to
/// draw), `clocks` (kinds that are to have another clock than the profile's times are of, in megahertz: `{"big": 1200}`; period and
/// watts are those with it) and `front` (a list of `{"cores": {…}, "stages": […]}`: other stages for the same or a demanded period). A key
/// that is not named here is refused, as is another `format`.
///
/// # Example
///
/// ```
/// use bief_schedule::{Limit, Period, Profile, Schedule, Stage, TaskProfile};
///
/// let profile = Profile::new(
///     ["big"],
///     [TaskProfile::sequential("receive", [200]), TaskProfile::replicable("decode", [900])],
/// )?;
/// let by_hand = Schedule::new("hand", [Stage::new(1, 1, "big"), Stage::new(1, 4, "big")], &profile)?;
/// assert_eq!(by_hand.planned_period(), Period::from(225));
/// assert_eq!(by_hand.limit(&profile)?, Limit::Stage(1));
/// assert_eq!(Schedule::from_json(&by_hand.to_json())?, by_hand);
/// # Ok::<(), bief_schedule::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Object<ScheduleJson>", into = "ScheduleJson")]
pub struct Schedule {
    strategy: String,
    period: Period,
    oversubscribed: bool,
    watts: Option<f64>,
    clocks: BTreeMap<String, u32>,
    cores: BTreeMap<String, u32>,
    stages: Vec<Stage>,
    front: Vec<FrontPoint>,
}

/// The keys of the JSON document.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ScheduleJson {
    format: Format,
    strategy: String,
    period_ns: Number,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    period_exact: Option<String>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    oversubscribed: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    watts: Option<f64>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    clocks: BTreeMap<String, u32>,
    cores: BTreeMap<String, u32>,
    #[serde(deserialize_with = "json::objects")]
    stages: Vec<Stage>,
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "json::objects")]
    front: Vec<FrontPoint>,
}

impl Schedule {
    /// A schedule of these stages, made by a strategy or by hand; its period is that of `profile`.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Schedule`] where the stages do not go with the profile (see [`check`](Self::check)).
    pub fn new(
        strategy: impl Into<String>,
        stages: impl IntoIterator<Item = Stage>,
        profile: &Profile,
    ) -> Result<Self, Error> {
        let stages: Vec<_> = stages.into_iter().collect();
        let cores = threads(&stages);
        Self::built(strategy.into(), stages, cores, profile)
    }

    /// The schedule of stages that have more threads than cores: the operating system shares the `cores`
    /// of each kind among them, and the period is at least the work on a kind divided by its cores.
    ///
    /// To go from one thread to another takes a core [some time](Profile::with_switch_ns) beside that. Where no kind has more threads than
    /// cores this is [`new`](Self::new).
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Schedule`] where the stages do not go with the profile (see [`check`](Self::check)), or
    /// run on a kind without cores.
    pub fn sharing(
        strategy: impl Into<String>,
        stages: impl IntoIterator<Item = Stage>,
        cores: &BTreeMap<String, u32>,
        profile: &Profile,
    ) -> Result<Self, Error> {
        let stages: Vec<_> = stages.into_iter().collect();
        let mut used = threads(&stages);
        for (kind, used) in &mut used {
            *used = (*used).min(cores.get(kind).copied().unwrap_or(0));
        }
        Self::built(strategy.into(), stages, used, profile)
    }

    /// The same stages, with the period that another profile of the chain promises for them; without power, clocks and front.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Schedule`] where the stages do not go with the profile (see [`check`](Self::check)).
    pub fn with_times_of(&self, profile: &Profile) -> Result<Self, Error> {
        Self::built(self.strategy.clone(), self.stages.clone(), self.cores.clone(), profile)
    }

    fn built(
        strategy: String,
        stages: Vec<Stage>,
        cores: BTreeMap<String, u32>,
        profile: &Profile,
    ) -> Result<Self, Error> {
        let mut schedule = Self {
            strategy,
            period: Period::ZERO,
            oversubscribed: cores != threads(&stages),
            watts: None,
            clocks: BTreeMap::new(),
            cores,
            stages,
            front: Vec::new(),
        };
        schedule.check_itself()?;
        schedule.period = schedule.period(profile)?;
        Ok(schedule)
    }

    /// The same schedule, for which the machine is expected to draw `watts` watts.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Schedule`] where `watts` is negative or not finite.
    pub fn with_watts(mut self, watts: f64) -> Result<Self, Error> {
        self.watts = Some(watts);
        self.check_itself()?;
        Ok(self)
    }

    /// The same schedule, for kinds with other clocks than the profile's times are of, in megahertz.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Schedule`] where a kind is not in use, or its clock 0.
    pub fn with_clocks(mut self, clocks: impl IntoIterator<Item = (String, u32)>) -> Result<Self, Error> {
        self.clocks = clocks.into_iter().collect();
        self.check_itself()?;
        Ok(self)
    }

    /// The same schedule with other stages that have its period, or one that is no longer than was demanded.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Schedule`] where a point takes other tasks than the schedule, or its cores are not those
    /// of its stages.
    pub fn with_front(mut self, front: impl IntoIterator<Item = FrontPoint>) -> Result<Self, Error> {
        self.front = front.into_iter().collect();
        self.check_itself()?;
        Ok(self)
    }

    /// Reads the JSON document described at [`Schedule`].
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Json`] with line and column where the text is not such a document;
    /// [`ErrorKind::Schedule`] with the key where its contents contradict each other.
    pub fn from_json(text: &str) -> Result<Self, Error> {
        Object(json::read::<ScheduleJson>(text, &DOCUMENT)?).try_into()
    }

    /// Writes the JSON document described at [`Schedule`], one stage per line.
    pub fn to_json(&self) -> String {
        json::write(self)
    }

    /// The name of the strategy that made it.
    pub fn strategy(&self) -> &str {
        &self.strategy
    }

    /// The stages, in chain order.
    pub fn stages(&self) -> &[Stage] {
        &self.stages
    }

    /// The period that the schedule was made for. Compare [`period`](Self::period).
    pub fn planned_period(&self) -> Period {
        self.period
    }

    /// The cores used of each kind; kinds without a core in use are left out.
    pub fn cores(&self) -> &BTreeMap<String, u32> {
        &self.cores
    }

    /// Whether there are more threads than cores, so that threads wait for a core.
    pub fn is_oversubscribed(&self) -> bool {
        self.oversubscribed
    }

    /// The power that the strategy expects, in watts, if it does.
    pub fn watts(&self) -> Option<f64> {
        self.watts
    }

    /// The clocks that it was made for, in megahertz, of kinds that are to have another one than the profile's times are of.
    pub fn clocks(&self) -> &BTreeMap<String, u32> {
        &self.clocks
    }

    /// Stages on each Pareto-least number of cores that reaches the period or, where one was demanded, a period that is no
    /// longer; the schedule's own cores are among them. Empty where the strategy does not look for them.
    pub fn front(&self) -> &[FrontPoint] {
        &self.front
    }

    /// The information rate at the planned period, in Mb/s; `None` if the chain carries no bits.
    pub fn mbps(&self, profile: &Profile) -> Option<f64> {
        profile.mbps(self.period.ns())
    }

    /// Checks that the schedule can run the profiled chain on the platform: the stages take all its tasks,
    /// a stage with a task that may not be replicated has one core (eq. 1), every kind is known, every task can run on
    /// the kinds of its stage, and no more cores are used than there are (eq. 3).
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Schedule`] with the stage, the reason and the remedy.
    pub fn check(&self, profile: &Profile, platform: &Platform) -> Result<(), Error> {
        check_stages(&self.stages, profile)?;
        for (kind, &used) in &self.cores {
            let given = platform.cores(kind);
            if used > given {
                let reason = format!(
                    "it uses {} of kind `{kind}`, the platform has {given}: \
                     schedule for this platform, or give it more cores",
                    counted(used as usize, "core")
                );
                return Err(refused("cores", reason));
            }
        }
        let used = profile.kinds().iter().map(|kind| self.cores.get(kind).copied().unwrap_or(0)).collect();
        let taken = smt::cores_taken(platform, profile.kinds(), used);
        if let Some((kind, taken)) =
            profile.kinds().iter().zip(taken).find(|(kind, taken)| platform.cores(kind) < *taken)
        {
            let reason = format!(
                "it uses {} of kind `{kind}`, whole and by their hardware threads, the platform has {}: schedule for this platform, or give \
                 it more cores",
                counted(taken as usize, "core"),
                platform.cores(kind)
            );
            return Err(refused("cores", reason));
        }
        Ok(())
    }

    /// Checks what can be checked without a profile.
    fn check_itself(&self) -> Result<(), Error> {
        if self.strategy.is_empty() {
            return Err(refused("strategy", "the name is empty: name the strategy, or write `hand`"));
        }
        if let Some(watts) = self.watts
            && !(watts.is_finite() && watts >= 0.0)
        {
            let reason = format!("{watts} W: write a power of 0 W or more, or leave the key out");
            return Err(refused("watts", reason));
        }
        for (kind, &mhz) in &self.clocks {
            if mhz == 0 || !self.cores.contains_key(kind) {
                let reason = format!("`{kind}` at {mhz} MHz: write a frequency above 0, of kinds in use only");
                return Err(refused("clocks", reason));
            }
        }
        check_shape("", &self.stages, &self.cores, self.oversubscribed)?;
        let tasks = taken(&self.stages);
        for (index, point) in self.front.iter().enumerate() {
            let key = format!("front[{index}].");
            check_shape(&key, &point.stages, &point.cores, false)?;
            let here = taken(&point.stages);
            if here != tasks {
                let reason = format!(
                    "the stages take {}, those of the schedule {tasks}: all must take the same chain",
                    counted(here, "task")
                );
                return Err(refused(&format!("{key}stages"), reason));
            }
        }
        Ok(())
    }
}

/// The threads that the stages have on each kind of core.
fn threads(stages: &[Stage]) -> BTreeMap<String, u32> {
    let mut threads = BTreeMap::new();
    for (kind, &cores) in stages.iter().flat_map(|stage| &stage.cores) {
        let count: &mut u32 = threads.entry(kind.clone()).or_default();
        *count = count.saturating_add(cores);
    }
    threads
}

/// How many tasks the stages take together.
fn taken(stages: &[Stage]) -> usize {
    stages.iter().fold(0, |taken, stage| taken.saturating_add(stage.tasks))
}

/// Stages of some tasks and cores, and `cores` counting the latter.
fn check_shape(key: &str, stages: &[Stage], cores: &BTreeMap<String, u32>, oversubscribed: bool) -> Result<(), Error> {
    if stages.is_empty() {
        return Err(refused(&format!("{key}stages"), "there is none: a schedule has at least one stage"));
    }
    for (index, stage) in stages.iter().enumerate() {
        let place = format!("{key}stages[{index}]");
        if stage.tasks == 0 {
            return Err(refused(&place, "0 tasks: a stage has at least one; leave an empty stage out"));
        }
        let wrong = |&&cores: &&u32| cores == 0 || cores > Platform::MAX_CORES;
        let wrong = if stage.cores.is_empty() { Some(&0) } else { stage.cores.values().find(wrong) };
        if let Some(cores) = wrong {
            let of_each = if stage.cores.len() > 1 { " of each of its kinds" } else { "" };
            let reason = format!("{cores} cores: a stage has from 1 to {} cores{of_each}", Platform::MAX_CORES);
            return Err(refused(&place, reason));
        }
    }
    if oversubscribed && let Some(index) = stages.iter().position(|stage| stage.cores.len() > 1) {
        let reason = "oversubscribed, but it has cores of several kinds, which share its frames only where each has a core of \
                      its own: give it cores of one kind, or as many cores as there are threads";
        return Err(refused(&format!("{key}stages[{index}]"), reason));
    }
    let key = format!("{key}cores");
    let threads = threads(stages);
    for (kind, &counted_cores) in cores {
        if counted_cores > 0 && !threads.contains_key(kind) {
            let reason = format!("kind `{kind}` is counted but no stage runs on it: leave it out");
            return Err(refused(&key, reason));
        }
    }
    for (kind, &threads) in &threads {
        let cores = cores.get(kind).copied().unwrap_or(0);
        if cores == threads || (oversubscribed && 0 < cores && cores < threads) {
            continue;
        }
        let reason = if oversubscribed {
            format!("{cores} of kind `{kind}` for {threads} threads: write from 1 to {threads}")
        } else {
            format!(
                "{cores} of kind `{kind}`, but the stages use {threads}: write {threads}, \
                 or \"oversubscribed\": true if the threads share fewer cores"
            )
        };
        return Err(refused(&key, reason));
    }
    if oversubscribed && threads.iter().all(|(kind, threads)| cores.get(kind) == Some(threads)) {
        let reason = "oversubscribed, but there are no fewer cores than threads: leave \"oversubscribed\" out";
        return Err(refused(&key, reason));
    }
    Ok(())
}

/// Stages that take all tasks of the profile on kinds that it has and on which they can run, one core for what is
/// sequential.
pub(crate) fn check_stages(stages: &[Stage], profile: &Profile) -> Result<(), Error> {
    let (taken, tasks) = (taken(stages), profile.tasks().len());
    if taken != tasks {
        let taken = counted(taken, "task");
        let reason = format!("they take {taken}, the profile has {tasks}: schedule for this profile");
        return Err(refused("stages", reason));
    }
    let mut start = 0;
    for (index, stage) in stages.iter().enumerate() {
        let place = format!("stages[{index}]");
        let tasks = start..start + stage.tasks;
        start = tasks.end;
        for name in stage.cores.keys() {
            let Some(kind) = profile.kind(name) else {
                let reason = format!(
                    "it runs on cores of kind `{name}`, the profile has times for {}: schedule for this profile",
                    profile.kind_list()
                );
                return Err(refused(&place, reason));
            };
            let elsewhere = profile.tasks()[tasks.clone()].iter().find(|task| task.ns[kind].is_none());
            if let Some(task) = elsewhere {
                let reason = format!(
                    "it runs on cores of kind `{name}`, on which its task `{}` cannot run: give that task a stage on {}",
                    task.name,
                    profile.kinds_of(task)
                );
                return Err(refused(&place, reason));
            }
        }
        let is_device = |name: &&String| profile.kind(name).is_some_and(|kind| profile.lanes(kind).is_some());
        if stage.cores.len() > 1
            && let Some(name) = stage.cores.keys().find(is_device)
        {
            let reason = format!(
                "it has {}, but `{name}` is a device, which shares no stage with another kind: give the stage one kind",
                stage.core_list()
            );
            return Err(refused(&place, reason));
        }
        let sequential = profile.tasks()[tasks].iter().find(|task| !task.replicable);
        if let Some(task) = sequential
            && stage.replicas() > 1
        {
            let reason = format!(
                "it has {} cores, but its task `{}` may not be replicated: give the stage 1 core, or cut it there",
                stage.replicas(),
                task.name
            );
            return Err(refused(&place, reason));
        }
    }
    Ok(())
}

fn refused(key: &str, reason: impl Into<String>) -> Error {
    Error::new(ErrorKind::Schedule, format!("schedule, {key}"), reason)
}

impl TryFrom<Object<ScheduleJson>> for Schedule {
    type Error = Error;

    fn try_from(Object(json): Object<ScheduleJson>) -> Result<Self, Error> {
        let schedule = Self {
            period: read_period(&json)?,
            strategy: json.strategy,
            oversubscribed: json.oversubscribed,
            watts: json.watts,
            clocks: json.clocks,
            cores: json.cores.into_iter().filter(|&(_, cores)| cores > 0).collect(),
            stages: json.stages,
            front: json.front,
        };
        schedule.check_itself()?;
        Ok(schedule)
    }
}

impl From<Schedule> for ScheduleJson {
    fn from(schedule: Schedule) -> Self {
        let period = schedule.period;
        let fraction = Number::from_f64(period.ns()).filter(|_| period.den() > 1);
        Self {
            format: Format,
            strategy: schedule.strategy,
            period_exact: fraction.as_ref().map(|_| period.to_string()),
            period_ns: fraction.unwrap_or(Number::from(period.whole())),
            oversubscribed: schedule.oversubscribed,
            watts: schedule.watts,
            clocks: schedule.clocks,
            cores: schedule.cores,
            stages: schedule.stages,
            front: schedule.front,
        }
    }
}

/// The period of `period_exact`, or else of `period_ns`; the two must agree as far as a rounded number can.
fn read_period(json: &ScheduleJson) -> Result<Period, Error> {
    let no_period = || {
        let reason = format!("{} is no period: write nanoseconds, from 0 to 2^64", json.period_ns);
        refused("period_ns", reason)
    };
    let ns = json.period_ns.as_f64().filter(|&ns| ns >= 0.0).ok_or_else(no_period)?;
    let Some(text) = &json.period_exact else {
        let read = match json.period_ns.as_u64() {
            Some(ns) => Some(Period::from(ns)),
            None => Period::from_ns(ns),
        };
        return read.ok_or_else(no_period);
    };
    let exact: Period = text.parse().map_err(|error| refused("period_exact", format!("`{text}` is {error}")))?;
    if (exact.ns() - ns).abs() > f64::max(1.0, 1e-6 * exact.ns()) {
        let reason = format!(
            "{text} ns, but period_ns says {}: correct the one that is wrong, or leave period_exact out",
            json.period_ns
        );
        return Err(refused("period_exact", reason));
    }
    Ok(exact)
}

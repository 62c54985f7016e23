//! What a chain costs: its tasks, and the time that each takes on each kind of core.

use std::borrow::Cow;
use std::collections::HashSet;
use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::error::{Error, ErrorKind};
use crate::json::{self, Document, Format, Object};
use crate::period::Period;
use crate::platform::Platform;
use crate::share::shared_period;

const DOCUMENT: Document = Document {
    name: "profile",
    shape: r#"{"format": 1, "kinds": ["big", "little"], "frames_per_execution": 16, "tasks": [{"name": "receive", "replicable": false, "ns": [216300, 227100]}]}, its times in whole nanoseconds; "bits_per_frame", "machine", "sync_ns", "busy", "lanes", "gather" and, in a task, "gathered_ns", "enter_ns", "leave_ns", "bytes" and "seen" may be left out; a time is null for a kind of core on which the task cannot run"#,
};

/// What a list of times has for each kind of core.
const NANOSECONDS: &str = "integer of nanoseconds";

/// What a task's list of times has for each kind of core.
const NANOSECONDS_OR_NULL: &str = "integer of nanoseconds, or null";

/// One task of a profiled chain.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TaskProfile {
    /// The task's name; not empty. Two tasks may share a name.
    pub name: String,
    /// Whether several cores may run copies of the task on different frames. A task that remembers
    /// something from frame to frame may not.
    pub replicable: bool,
    /// The time of one execution on each kind of core, in nanoseconds, in the order of the profile's kinds; `None` for a
    /// kind on which the task cannot run.
    pub ns: Vec<Option<u64>>,
    /// The time of a whole launch of [several executions](Gather::measured) on each kind that is a device, in nanoseconds; `None` for
    /// cores, and where executions share nothing. See [`Profile::with_gather`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gathered_ns: Option<Vec<Option<u64>>>,
    /// What it costs a stage, on each kind of core, to begin with this task: the bytes that it reads and that another stage
    /// wrote, in nanoseconds per execution, beside the [hand-over](Profile::with_sync_ns). Nothing for the chain's first
    /// task, and where it is `None`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub enter_ns: Option<Vec<u64>>,
    /// What it costs a stage, on each kind of core, to end with this task, for what later stages read; nothing for the
    /// chain's last task, and where it is `None`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub leave_ns: Option<Vec<u64>>,
    /// Bytes of one execution that tasks before this one made and that it or later ones use: what a link to another machine would carry
    /// there. For whoever plans such a link: no strategy uses them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// The measurements behind `ns`, one entry per kind, `None` where `ns` is. For the reader: no strategy uses them.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "json::some_optional_objects")]
    pub seen: Option<Vec<Option<Samples>>>,
}

/// The spread of a task's measured times, over the executions in which it had work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Samples {
    /// How many executions were measured.
    pub samples: u64,
    /// The shortest time, in nanoseconds.
    pub min_ns: u64,
    /// The time that half of the executions took at most, in nanoseconds.
    pub median_ns: u64,
    /// The time that 99 of 100 executions took at most, in nanoseconds.
    pub p99_ns: u64,
}

impl TaskProfile {
    /// A task that may be replicated, and its nanoseconds on each kind of core.
    pub fn replicable(name: impl Into<String>, ns: impl Into<Vec<u64>>) -> Self {
        let ns = ns.into().into_iter().map(Some).collect();
        Self {
            name: name.into(),
            replicable: true,
            ns,
            gathered_ns: None,
            enter_ns: None,
            leave_ns: None,
            bytes: None,
            seen: None,
        }
    }

    /// A task that must run on one core, and its nanoseconds on each kind of core.
    pub fn sequential(name: impl Into<String>, ns: impl Into<Vec<u64>>) -> Self {
        Self { replicable: false, ..Self::replicable(name, ns) }
    }

    /// The same task with what it costs, on each kind of core, to begin and to end a stage with it.
    ///
    /// ```
    /// use bief_schedule::{Period, Platform, Profile, Strategy, TaskProfile, strategy::Exact};
    ///
    /// // Much crosses between the first two tasks, little behind the second.
    /// let tasks = [
    ///     TaskProfile::sequential("read", [40]).with_cut_ns([0], [20]),
    ///     TaskProfile::sequential("filter", [50]).with_cut_ns([60], [1]),
    ///     TaskProfile::sequential("decode", [60]).with_cut_ns([2], [0]),
    /// ];
    /// let profile = Profile::new(["cpu"], tasks)?;
    /// assert_eq!(profile.stage_ns(1..2, 0), Some(60 + 50 + 1));
    /// let schedule = Exact.schedule(&profile, &Platform::parse_cores("3", &profile)?)?;
    /// assert_eq!(schedule.planned_period(), Period::from(40 + 50 + 1)); // one cut, where it costs least
    /// # Ok::<(), bief_schedule::Error>(())
    /// ```
    pub fn with_cut_ns(self, enter_ns: impl Into<Vec<u64>>, leave_ns: impl Into<Vec<u64>>) -> Self {
        Self { enter_ns: Some(enter_ns.into()), leave_ns: Some(leave_ns.into()), ..self }
    }

    /// The same task with the time of [a launch of several executions](Self::gathered_ns).
    pub fn with_gathered_ns(self, gathered_ns: impl Into<Vec<Option<u64>>>) -> Self {
        Self { gathered_ns: Some(gathered_ns.into()), ..self }
    }

    /// The same task with the bytes that cross [before it](Self::bytes).
    pub fn with_bytes(self, bytes: u64) -> Self {
        Self { bytes: Some(bytes), ..self }
    }

    /// The same task, which cannot run on cores of the kind at that position among the profile's kinds. Its time there is
    /// dropped, whatever it was.
    ///
    /// ```
    /// use bief_schedule::TaskProfile;
    ///
    /// // Of a CPU and a GPU, only the GPU has the code for it.
    /// let task = TaskProfile::sequential("detect", [0, 4_000_000]).not_on(0);
    /// assert_eq!(task.ns, [None, Some(4_000_000)]);
    /// ```
    ///
    /// # Panics
    ///
    /// Where the task has no time for such a kind.
    pub fn not_on(mut self, kind: usize) -> Self {
        self.ns[kind] = None;
        if let Some(seen) = &mut self.seen {
            seen[kind] = None;
        }
        if let Some(gathered_ns) = &mut self.gathered_ns {
            gathered_ns[kind] = None;
        }
        self
    }
}

/// The tasks of a chain, in order, with the time that each takes on each kind of core.
///
/// Times are whole nanoseconds per execution; one execution handles
/// [`frames_per_execution`](Self::frames_per_execution) frames. Kinds go from the most to the least
/// power-hungry. A profile has at least one kind, and from one to [`MAX_TASKS`](Self::MAX_TASKS) tasks; the work of all
/// its tasks on one kind, hand-overs included, stays below 2^64 ns.
///
/// A task need not run on every kind, only on one of them: code for a GPU has no time on a CPU. No schedule puts it on a
/// kind where it cannot run.
///
/// # JSON
///
/// ```json
/// {
///   "format": 1,
///   "kinds": ["big", "little"],
///   "frames_per_execution": 16,
///   "bits_per_frame": 14232,
///   "tasks": [
///     {"name": "receive", "replicable": false, "ns": [216300, 227100]},
///     {"name": "decode", "replicable": true, "ns": [3959000, 5220400]}
///   ]
/// }
/// ```
///
/// Keys that may be left out: `bits_per_frame` (the chain carries no bits), `machine` (free text: where the
/// times were measured), `sync_ns` (see [`with_sync_ns`](Self::with_sync_ns)), `busy` (`[{"cores": 8, "ns": [240000, 4700000]}, null]`,
/// see [`with_busy`](Self::with_busy)), `lanes` (`[null, 3]`, see
/// [`with_lanes`](Self::with_lanes)), `gather` (`[null, {"most": 16, "measured": 8}]`, see [`with_gather`](Self::with_gather)) and,
/// in a task, `gathered_ns` (`[null, 98000]`, see [`TaskProfile::gathered_ns`]), `enter_ns` and `leave_ns`
/// (`[1200, 900]`, see [`TaskProfile::enter_ns`]), `bytes` (see [`TaskProfile::bytes`]) and `seen`
/// (`[{"samples": 400, "min_ns": 216000, "median_ns": 216300, "p99_ns": 219000}, …]`, see [`Samples`]). A key that is not named here is refused, as is another `format`.
///
/// A time in `ns`, and with it the entry in `seen`, is `null` for a kind on which the task cannot run. The format remains
/// 1: documents without `null` are read and written as ever. Versions of bief that do not know of it refuse a document
/// with one, as they find `null` where they expect a number, and name the line.
///
/// # Example
///
/// ```
/// use bief_schedule::{Period, Profile, TaskProfile};
///
/// let profile = Profile::new(
///     ["big", "little"],
///     [
///         TaskProfile::sequential("receive", [200, 300]),
///         TaskProfile::replicable("filter", [600, 900]),
///         TaskProfile::replicable("decode", [900, 1500]),
///     ],
/// )?;
/// let little = profile.kind("little").unwrap();
/// assert_eq!(profile.stage_ns(1..3, little), Some(2400));
/// assert_eq!(profile.stage_period(1..3, 4, little), Some(Period::from(600)));
/// # Ok::<(), bief_schedule::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Object<ProfileJson>", into = "ProfileJson")]
pub struct Profile {
    machine: Option<String>,
    kinds: Vec<String>,
    frames_per_execution: u32,
    bits_per_frame: Option<u64>,
    sync_ns: Option<Vec<u64>>,
    busy: Option<Vec<Option<Busy>>>,
    lanes: Option<Vec<Option<u32>>>,
    gather: Option<Vec<Option<Gather>>>,
    tasks: Vec<TaskProfile>,
    /// For each kind, the work of those of the first 0, 1, … n tasks that can run on it, in nanoseconds.
    prefix_ns: Vec<Vec<u64>>,
    /// For each kind, and each `to` from 0 to n, the first `from` such that all tasks of `from..to` can run on the kind;
    /// `None` for a kind on which all tasks can.
    runnable_from: Vec<Option<Vec<usize>>>,
    /// How many of the first 0, 1, … n tasks may not be replicated.
    prefix_sequential: Vec<usize>,
    /// For each kind, what cutting costs; `None` where no cut costs anything, on any kind.
    cuts: Option<Vec<Cuts>>,
}

/// How long tasks take while many cores of their kind work: clocks drop, and what cores share is shared.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Busy {
    /// How many cores of the kind work, that of the task among them; at least 2.
    pub cores: u32,
    /// The time of each task, in nanoseconds, no shorter than while the other cores rest; `None` where the task cannot run on the kind.
    pub ns: Vec<Option<u64>>,
}

/// How many executions a launch of a device may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Gather {
    /// The most executions of one launch, from 1 to [`Profile::MAX_GATHER`].
    pub most: u32,
    /// The executions of the launches of which tasks tell the [time](TaskProfile::gathered_ns), from 1 to `most`; where it is 1, they tell
    /// none.
    pub measured: u32,
}

impl Gather {
    /// The share of one execution in a launch of so many of a task that takes `ns` alone, in whole nanoseconds, rounded up. At most the
    /// longer of both times.
    fn share_ns(self, ns: u64, gathered_ns: u64, executions: u32) -> u64 {
        // A launch of more takes no less.
        let more = u128::from(gathered_ns.saturating_sub(ns)) * u128::from(executions - 1);
        let launch_ns = u128::from(ns) + more.div_ceil(u128::from(self.measured - 1));
        u64::try_from(launch_ns.div_ceil(executions.into())).unwrap_or(u64::MAX)
    }
}

/// What a stage on cores of one kind costs by where it begins and ends, beside its tasks and its hand-over.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Cuts {
    /// For each task that a stage may begin with; 0 for the first, behind no cut.
    pub(crate) enter_ns: Vec<u64>,
    /// For each `to` from 0 to n, of a stage that ends before task `to`; 0 for the end of the chain, and for no task at all.
    pub(crate) leave_ns: Vec<u64>,
}

/// The keys of the JSON document.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ProfileJson {
    format: Format,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    machine: Option<String>,
    kinds: Vec<String>,
    frames_per_execution: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    bits_per_frame: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    sync_ns: Option<Vec<u64>>,
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "json::some_optional_objects")]
    busy: Option<Vec<Option<Busy>>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    lanes: Option<Vec<Option<u32>>>,
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "json::some_optional_objects")]
    gather: Option<Vec<Option<Gather>>>,
    #[serde(deserialize_with = "json::objects")]
    tasks: Vec<TaskProfile>,
}

impl Profile {
    /// The most tasks of a profile: a single plan then computes for a few seconds at most.
    pub const MAX_TASKS: usize = 100_000;

    /// The most lanes of a device: more than it can have work under way.
    pub const MAX_LANES: u32 = 64;

    /// The most executions of a launch on a device: their frames are all in memory at once.
    pub const MAX_GATHER: u32 = 1024;

    /// A profile of `tasks` on `kinds` of cores, one frame per execution, which carries no bits.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Profile`] where there is no kind, no task or more than [`MAX_TASKS`](Self::MAX_TASKS), a kind's name is
    /// empty, given twice or not writable in `big=4,little=8`, a task has no name, not one time per kind or can run on no
    /// kind, or the times of a kind do not add up below 2^64 ns.
    pub fn new<K: Into<String>>(
        kinds: impl IntoIterator<Item = K>,
        tasks: impl IntoIterator<Item = TaskProfile>,
    ) -> Result<Self, Error> {
        Self::checked(ProfileJson {
            format: Format,
            machine: None,
            kinds: kinds.into_iter().map(Into::into).collect(),
            frames_per_execution: 1,
            bits_per_frame: None,
            sync_ns: None,
            busy: None,
            lanes: None,
            gather: None,
            tasks: tasks.into_iter().collect(),
        })
    }

    /// The same profile with other times: of tasks that run on the same kinds. What it told of [busy](Self::with_busy) cores is dropped.
    ///
    /// ```
    /// use bief_schedule::{Profile, TaskProfile};
    ///
    /// let profile = Profile::new(["big"], [TaskProfile::replicable("decode", [900])])?.with_sync_ns([20])?;
    /// let slower = profile.with_tasks([TaskProfile::replicable("decode", [1800])])?;
    /// assert_eq!((slower.tasks()[0].ns[0], slower.sync_ns(0)), (Some(1800), 20));
    /// # Ok::<(), bief_schedule::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Those of [`new`](Self::new) that regard tasks.
    pub fn with_tasks(self, tasks: impl IntoIterator<Item = TaskProfile>) -> Result<Self, Error> {
        Self::checked(ProfileJson { tasks: tasks.into_iter().collect(), busy: None, ..self.into() })
    }

    /// The same profile on cores of one kind that are so many times as slow: tasks, cuts and hand-overs take that much longer, rounded to
    /// nanoseconds. What was measured is dropped.
    ///
    /// # Errors
    ///
    /// Those of [`new`](Self::new) that regard tasks: the times of the kind do not add up below 2^64 ns.
    pub(crate) fn slowed(&self, kind: usize, slowdown: f64) -> Result<Self, Error> {
        let slow = |ns: &mut u64| *ns = (*ns as f64 * slowdown).round() as u64;
        let mut json = ProfileJson::from(self.clone());
        for task in &mut json.tasks {
            task.ns[kind].iter_mut().for_each(slow);
            task.gathered_ns.iter_mut().flat_map(|ns| &mut ns[kind]).for_each(slow);
            for costs in [&mut task.enter_ns, &mut task.leave_ns].into_iter().flatten() {
                slow(&mut costs[kind]);
            }
            task.seen = None;
        }
        if let Some(sync_ns) = &mut json.sync_ns {
            slow(&mut sync_ns[kind]);
        }
        if let Some(busy) = json.busy.as_mut().and_then(|busy| busy[kind].as_mut()) {
            busy.ns.iter_mut().flatten().for_each(slow);
        }
        Self::checked(json)
    }

    /// The same profile with a word about the machine that it was measured on.
    pub fn with_machine(mut self, machine: impl Into<String>) -> Self {
        self.machine = Some(machine.into());
        self
    }

    /// The same profile, its times being those of `frames` frames each.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Profile`] where `frames` is zero.
    pub fn with_frames_per_execution(self, frames: u32) -> Result<Self, Error> {
        Self::checked(ProfileJson { frames_per_execution: frames, ..self.into() })
    }

    /// The same profile of a chain that delivers `bits` bits with each frame.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Profile`] where `bits` is zero.
    pub fn with_bits_per_frame(self, bits: u64) -> Result<Self, Error> {
        Self::checked(ProfileJson { bits_per_frame: Some(bits), ..self.into() })
    }

    /// The same profile with the cost of handing over: the nanoseconds per kind that each stage spends,
    /// once per execution, to take its input and to pass on its output. It counts as work of the stage.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Profile`] where there is not one value per kind, or the sum of all work overflows.
    pub fn with_sync_ns(self, sync_ns: impl Into<Vec<u64>>) -> Result<Self, Error> {
        Self::checked(ProfileJson { sync_ns: Some(sync_ns.into()), ..self.into() })
    }

    /// The same profile, which tells for kinds of cores how long tasks take while many cores of the kind work: `None` for a kind where
    /// that makes no difference. Its other times are those while the other cores of the kind rest; with so many of them at work as
    /// there are between the two, the times are on a line between them ([`while_busy`](Self::while_busy)).
    ///
    /// Strategies take a profile by its word, while the others rest; [`BusyPlan`](crate::BusyPlan) finds the schedule that is best
    /// with the times that its own number of cores makes for.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Profile`] where there is not one value per kind, one is for fewer than 2 cores, of a device, or has not one time
    /// for each task that can run on the kind, no shorter than while the others rest.
    pub fn with_busy(self, busy: impl Into<Vec<Option<Busy>>>) -> Result<Self, Error> {
        Self::checked(ProfileJson { busy: Some(busy.into()), ..self.into() })
    }

    /// The same profile, measured while the other cores rested, with what one of the same tasks tells that was measured while all of
    /// `platform`'s cores worked. Where a time is shorter there, which is noise, it is taken to be the same.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Profile`] where the two are not of the same tasks and kinds; [`ErrorKind::Platform`] where the platform has
    /// cores of other kinds.
    pub fn with_busy_measured(self, busy: &Self, platform: &Platform) -> Result<Self, Error> {
        let names = |profile: &Self| profile.tasks.iter().map(|task| task.name.clone()).collect::<Vec<_>>();
        if self.kinds != busy.kinds || names(&self) != names(busy) {
            return Err(refused("busy", "it is measured of other tasks or kinds of core: measure the same chain"));
        }
        let cores = platform.cores_for(&self)?;
        let of_kind = |(kind, &cores): (usize, &u32)| {
            let times = self.tasks.iter().zip(&busy.tasks).map(|(idle, busy)| {
                let (idle, busy) = (idle.ns[kind]?, busy.ns[kind]);
                Some(busy.map_or(idle, |busy| busy.max(idle)))
            });
            let is_alone = cores < 2 || self.lanes(kind).is_some();
            (!is_alone).then(|| Busy { cores, ns: times.collect() })
        };
        let busy: Vec<_> = cores.iter().enumerate().map(of_kind).collect();
        if busy.iter().all(Option::is_none) { Ok(self) } else { self.with_busy(busy) }
    }

    /// The same profile, of whose kinds those with a number of lanes are devices, such as GPUs: `None` for a kind of cores.
    ///
    /// A device works on several executions at a time, one in each lane: while it executes the tasks for one, it reads the
    /// input of the next, and writes the output of the one before. Lanes overlap what a stage
    /// [enters](TaskProfile::enter_ns) with, its tasks and what it [leaves](TaskProfile::leave_ns) with; each of the three is
    /// done for one execution at a time. So the time from one execution to the next, [`pace_ns`](Self::pace_ns), is shorter
    /// than the [work](Self::stage_ns) of one. Only a stage that may be replicated has more than one lane, and a stage on
    /// a device has cores of no other kind.
    ///
    /// ```
    /// use bief_schedule::{Period, Profile, TaskProfile};
    ///
    /// let tasks = [
    ///     TaskProfile::sequential("receive", [300, 0]).not_on(1),
    ///     TaskProfile::replicable("decode", [9000, 400]).with_cut_ns([0, 250], [0, 50]),
    ///     TaskProfile::sequential("send", [100, 0]).not_on(1),
    /// ];
    /// let profile = Profile::new(["cpu", "gpu"], tasks)?.with_lanes([None, Some(3)])?;
    /// assert_eq!(profile.stage_ns(1..2, 1), Some(250 + 400 + 50)); // of one execution
    /// assert_eq!(profile.pace_ns(1..2, 1), Some(400)); // copies go on while it decodes
    /// assert_eq!(profile.stage_period(1..2, 2, 1), Some(Period::from(200)));
    /// # Ok::<(), bief_schedule::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Profile`] where there is not one value per kind, or a number of lanes is not from 1 to
    /// [`MAX_LANES`](Self::MAX_LANES).
    pub fn with_lanes(self, lanes: impl Into<Vec<Option<u32>>>) -> Result<Self, Error> {
        Self::checked(ProfileJson { lanes: Some(lanes.into()), ..self.into() })
    }

    /// Reads the JSON document described at [`Profile`].
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Json`] with line and column where the text is not such a document;
    /// [`ErrorKind::Profile`] with the key where its contents are refused.
    pub fn from_json(text: &str) -> Result<Self, Error> {
        Self::checked(json::read(text, &DOCUMENT)?)
    }

    /// Writes the JSON document described at [`Profile`], one task per line.
    pub fn to_json(&self) -> String {
        json::write(self)
    }

    fn checked(json: ProfileJson) -> Result<Self, Error> {
        check_kinds(&json.kinds)?;
        if json.tasks.is_empty() {
            return Err(refused("tasks", "there is none: a chain has at least one task"));
        }
        if json.tasks.len() > Self::MAX_TASKS {
            let reason = format!(
                "{} tasks, at most {} are planned: profile neighbouring tasks together, as one",
                json.tasks.len(),
                Self::MAX_TASKS
            );
            return Err(refused("tasks", reason));
        }
        if json.frames_per_execution == 0 {
            return Err(refused(
                "frames_per_execution",
                "0 frames: write how many frames one execution of the chain handles, at least 1",
            ));
        }
        if json.bits_per_frame == Some(0) {
            return Err(refused("bits_per_frame", "0 bits: leave the key out for a chain that carries no bits"));
        }
        if let Some(sync_ns) = &json.sync_ns {
            check_per_kind("sync_ns", sync_ns, NANOSECONDS, &json.kinds)?;
        }
        if let Some(lanes) = &json.lanes {
            check_per_kind("lanes", lanes, "number of lanes, or null for cores,", &json.kinds)?;
            let wrong = lanes.iter().flatten().find(|lanes| !(1..=Self::MAX_LANES).contains(lanes));
            if let Some(wrong) = wrong {
                let most = Self::MAX_LANES;
                let reason = format!("{wrong} lanes: a device has from 1 to {most}, a kind of cores has null");
                return Err(refused("lanes", reason));
            }
        }
        if let Some(gather) = &json.gather {
            check_per_kind("gather", gather, "object, or null for cores,", &json.kinds)?;
            let most = Self::MAX_GATHER;
            if let Some(wrong) = gather.iter().flatten().find(|gather| !(1..=most).contains(&gather.most)) {
                let reason = format!("{} executions a launch: write from 1 to {most}", wrong.most);
                return Err(refused("gather", reason));
            }
            if let Some(wrong) = gather.iter().flatten().find(|gather| !(1..=gather.most).contains(&gather.measured)) {
                let reason = format!(
                    "measured by launches of {} executions: write from 1 to most, {}",
                    wrong.measured, wrong.most
                );
                return Err(refused("gather", reason));
            }
        }
        for (index, task) in json.tasks.iter().enumerate() {
            let key = |member: &str| format!("tasks[{index}].{member}");
            if task.name.is_empty() {
                return Err(refused(&key("name"), "the name is empty: name the task"));
            }
            let named = |member: &str| format!("{} (`{}`)", key(member), task.name);
            check_per_kind(&named("ns"), &task.ns, NANOSECONDS_OR_NULL, &json.kinds)?;
            if task.ns.iter().all(Option::is_none) {
                let reason = format!(
                    "it can run on no kind of core: write its time on at least one of {}",
                    json.kinds.join(", ")
                );
                return Err(refused(&named("ns"), reason));
            }
            for (member, cut_ns) in [("enter_ns", &task.enter_ns), ("leave_ns", &task.leave_ns)] {
                cut_ns.as_ref().map_or(Ok(()), |ns| check_per_kind(&named(member), ns, NANOSECONDS, &json.kinds))?;
            }
            if let Some(gathered_ns) = &task.gathered_ns {
                check_per_kind(&named("gathered_ns"), gathered_ns, NANOSECONDS_OR_NULL, &json.kinds)?;
                let is_measured = |kind: usize| {
                    let gather = json.gather.as_ref().and_then(|gather| gather[kind]);
                    task.ns[kind].is_some() && gather.is_some_and(|gather| gather.measured > 1)
                };
                if let Some(kind) =
                    (0..json.kinds.len()).find(|&kind| gathered_ns[kind].is_some() && !is_measured(kind))
                {
                    let reason = format!(
                        "the time of a launch of several executions on `{}`, where the task cannot run or `gather` tells of none: write \
                         null",
                        json.kinds[kind]
                    );
                    return Err(refused(&named("gathered_ns"), reason));
                }
            }
            if let Some(seen) = &task.seen {
                check_per_kind(&named("seen"), seen, "object, or null", &json.kinds)?;
                let differs = |kind: &usize| seen[*kind].is_none() != task.ns[*kind].is_none();
                if let Some(kind) = (0..json.kinds.len()).find(differs) {
                    let reason =
                        format!("on `{}` one of ns and seen is null: write both, or null for both", json.kinds[kind]);
                    return Err(refused(&named("seen"), reason));
                }
            }
        }
        if let Some(busy) = &json.busy {
            check_busy(&json, busy)?;
        }
        let cuts: Vec<Cuts> = (0..json.kinds.len()).map(|kind| Cuts::of(&json.tasks, kind)).collect();
        let cuts = cuts.iter().any(Cuts::cost).then_some(cuts);
        let prefix_ns = (0..json.kinds.len()).map(|kind| prefix_sums(&json, kind)).collect::<Result<_, _>>()?;
        let runnable_from = (0..json.kinds.len()).map(|kind| runnable_from(&json.tasks, kind)).collect();
        let mut prefix_sequential = vec![0];
        for task in &json.tasks {
            prefix_sequential.push(prefix_sequential[prefix_sequential.len() - 1] + usize::from(!task.replicable));
        }
        Ok(Self {
            machine: json.machine,
            kinds: json.kinds,
            frames_per_execution: json.frames_per_execution,
            bits_per_frame: json.bits_per_frame,
            sync_ns: json.sync_ns,
            busy: json.busy,
            lanes: json.lanes,
            gather: json.gather,
            tasks: json.tasks,
            prefix_ns,
            runnable_from,
            prefix_sequential,
            cuts,
        })
    }

    /// Where the times were measured, in free words.
    pub fn machine(&self) -> Option<&str> {
        self.machine.as_deref()
    }

    /// The kinds of cores, from the most to the least power-hungry.
    pub fn kinds(&self) -> &[String] {
        &self.kinds
    }

    /// The position of the kind of that name among [`kinds`](Self::kinds).
    pub fn kind(&self, name: &str) -> Option<usize> {
        self.kinds.iter().position(|kind| kind == name)
    }

    /// The tasks, in the order that frames meet them.
    pub fn tasks(&self) -> &[TaskProfile] {
        &self.tasks
    }

    /// How many frames one execution of a task handles.
    pub fn frames_per_execution(&self) -> u32 {
        self.frames_per_execution
    }

    /// How many bits of use the chain delivers with each frame, where it carries bits.
    pub fn bits_per_frame(&self) -> Option<u64> {
        self.bits_per_frame
    }

    /// How long the oldest frame of an execution waits for the others, when executions come at that period; rounded up.
    pub(crate) fn filling_ns(&self, pace: Period) -> u64 {
        let frames = u128::from(self.frames_per_execution());
        let (waited, more) = pace.times(u64::from(self.frames_per_execution()) - 1);
        u64::try_from(waited.saturating_add(more.into()).div_ceil(frames)).unwrap_or(u64::MAX)
    }

    /// What a stage on cores of `kind` spends on handing over, in nanoseconds per execution.
    ///
    /// # Panics
    ///
    /// Where `kind` is no position among the kinds.
    pub fn sync_ns(&self, kind: usize) -> u64 {
        assert!(kind < self.kinds.len(), "the profile has no kind {kind}");
        self.sync_ns.as_ref().map_or(0, |sync_ns| sync_ns[kind])
    }

    /// How long tasks take while many cores of `kind` work, where the profile tells it ([`with_busy`](Self::with_busy)).
    ///
    /// # Panics
    ///
    /// Where `kind` is no position among the kinds.
    pub fn busy(&self, kind: usize) -> Option<&Busy> {
        assert!(kind < self.kinds.len(), "the profile has no kind {kind}");
        self.busy.as_ref().and_then(|busy| busy[kind].as_ref())
    }

    /// The profile while so many cores of each kind work, in the order of the kinds: it tells these times alone, rounded up, and where
    /// they were measured says so.
    ///
    /// ```
    /// use bief_schedule::{Busy, Profile, TaskProfile};
    ///
    /// let profile = Profile::new(["cpu"], [TaskProfile::replicable("decode", [900])])?
    ///     .with_busy([Some(Busy { cores: 4, ns: vec![Some(1050)] })])?;
    /// let ns = |busy| profile.while_busy(&[busy]).tasks()[0].ns[0].unwrap();
    /// assert_eq!([1, 2, 3, 4, 8].map(ns), [900, 950, 1000, 1050, 1050]);
    /// # Ok::<(), bief_schedule::Error>(())
    /// ```
    ///
    /// # Panics
    ///
    /// Where there is not one number per kind.
    pub fn while_busy(&self, cores: &[u32]) -> Cow<'_, Self> {
        assert_eq!(cores.len(), self.kinds.len(), "one number of cores for each kind");
        let Some(busy) = &self.busy else { return Cow::Borrowed(self) };
        let mut json = ProfileJson { busy: None, ..ProfileJson::from(self.clone()) };
        let working = self.kinds.iter().zip(cores).filter(|&(_, &cores)| cores > 0);
        let working: Vec<String> = working.map(|(kind, cores)| format!("{cores} {kind}")).collect();
        let machine = json.machine.get_or_insert_with(|| "this machine".to_owned());
        machine.push_str(&format!(" with {} at work", working.join(" and ")));
        for (kind, (busy, &cores)) in busy.iter().zip(cores).enumerate() {
            let Some(busy) = busy else { continue };
            let (others, all) = (u128::from(cores.clamp(1, busy.cores) - 1), u128::from(busy.cores - 1));
            for (task, busy_ns) in json.tasks.iter_mut().zip(&busy.ns) {
                if let (Some(ns), Some(busy_ns)) = (&mut task.ns[kind], busy_ns) {
                    *ns += (u128::from(busy_ns - *ns) * others).div_ceil(all) as u64;
                }
                if others > 0 {
                    // They are of other times.
                    task.seen.iter_mut().for_each(|seen| seen[kind] = None);
                }
            }
        }
        for task in &mut json.tasks {
            task.seen.take_if(|seen| seen.iter().zip(&task.ns).any(|(seen, ns)| seen.is_some() != ns.is_some()));
        }
        Cow::Owned(Self::checked(json).expect("times between those that were checked"))
    }

    /// How many lanes a device of `kind` has ([`with_lanes`](Self::with_lanes)); `None` for a kind of cores.
    ///
    /// # Panics
    ///
    /// Where `kind` is no position among the kinds.
    pub fn lanes(&self, kind: usize) -> Option<u32> {
        assert!(kind < self.kinds.len(), "the profile has no kind {kind}");
        self.lanes.as_ref().and_then(|lanes| lanes[kind])
    }

    /// The same profile, of whose devices those with a [`Gather`] can be launched for several executions at a time: a launch takes them
    /// less time than each of them alone, as tasks tell by their [`gathered_ns`](TaskProfile::gathered_ns). Between one execution and as
    /// many as were measured, and beyond, the time of a launch grows by the same for each.
    ///
    /// ```
    /// use bief_schedule::{Gather, Period, Platform, Profile, Strategy, TaskProfile, strategy::Exact};
    ///
    /// let tasks = [
    ///     TaskProfile::sequential("read", [30, 0]).not_on(1),
    ///     TaskProfile::replicable("decode", [900, 100]),
    /// ];
    /// let profile = Profile::new(["cpu", "gpu"], tasks.clone())?.with_lanes([None, Some(3)])?;
    /// let profile = profile.with_gather([None, Some(Gather { most: 16, measured: 11 })])?;
    /// let [read, decode] = tasks;
    /// let profile = profile.with_tasks([read, decode.with_gathered_ns([None, Some(300)])])?;
    /// let schedule = Exact.schedule(&profile, &Platform::parse_cores("cpu=1,gpu=1", &profile)?)?;
    /// // Each execution more takes 20: a launch of eight 100 + 7 * 20. Sixteen would wait for each other for nothing: reading takes 30.
    /// assert_eq!((schedule.planned_period(), schedule.stages()[1].gather), (Period::from(30), 8));
    /// # Ok::<(), bief_schedule::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Profile`] where there is not one value per kind, a launch has no execution or more than
    /// [`MAX_GATHER`](Self::MAX_GATHER), or more were measured than it may have.
    pub fn with_gather(self, gather: impl Into<Vec<Option<Gather>>>) -> Result<Self, Error> {
        Self::checked(ProfileJson { gather: Some(gather.into()), ..self.into() })
    }

    /// How many executions a launch of a device of `kind` may have, where it may have several.
    ///
    /// # Panics
    ///
    /// Where `kind` is no position among the kinds.
    pub fn gather(&self, kind: usize) -> Option<Gather> {
        assert!(kind < self.kinds.len(), "the profile has no kind {kind}");
        self.gather.as_ref().and_then(|gather| gather[kind])
    }

    /// The same profile where launches of `kind` have so many executions: times are those of one of them.
    ///
    /// # Panics
    ///
    /// Where `kind` is no position among the kinds.
    pub fn gathering(&self, kind: usize, executions: u32) -> Cow<'_, Self> {
        let Some(gather) = self.gather(kind).filter(|_| executions > 1) else { return Cow::Borrowed(self) };
        let mut json = ProfileJson::from(self.clone());
        for task in &mut json.tasks {
            let gathered_ns = task.gathered_ns.as_mut().and_then(|ns| ns[kind].take());
            if let (Some(ns), Some(gathered_ns)) = (&mut task.ns[kind], gathered_ns) {
                *ns = gather.share_ns(*ns, gathered_ns, executions);
            }
        }
        if let Some(gather) = &mut json.gather {
            gather[kind] = None;
        }
        Cow::Owned(Self::checked(json).expect("times of the same kinds, none above the longest that were checked"))
    }

    /// Whether all `tasks` may be replicated, and with them a stage made of them.
    ///
    /// # Panics
    ///
    /// Where `tasks` leaves the chain.
    pub fn is_replicable(&self, tasks: Range<usize>) -> bool {
        self.prefix_sequential[tasks.start] == self.prefix_sequential[tasks.end]
    }

    /// Whether all `tasks` can run on cores of `kind`.
    ///
    /// # Panics
    ///
    /// Where `tasks` leaves the chain or `kind` is no position among the kinds.
    pub fn can_run(&self, tasks: Range<usize>, kind: usize) -> bool {
        self.runnable_from[kind].as_ref().is_none_or(|from| from[tasks.end] <= tasks.start)
    }

    /// Whether it costs anything to cut the chain, beside the hand-over: where some task has
    /// [`enter_ns`](TaskProfile::enter_ns) or [`leave_ns`](TaskProfile::leave_ns) that count.
    pub fn has_cut_costs(&self) -> bool {
        self.cuts.is_some()
    }

    /// What a stage on cores of `kind` pays to begin with `task`, in nanoseconds per execution: 0 for the chain's first task.
    ///
    /// # Panics
    ///
    /// Where there is no such task, or `kind` is no position among the kinds.
    pub fn enter_ns(&self, task: usize, kind: usize) -> u64 {
        assert!(task < self.tasks.len(), "the profile has no task {task}");
        self.cuts(kind).map_or(0, |cuts| cuts.enter_ns[task])
    }

    /// What a stage on cores of `kind` pays to end with `task`, in nanoseconds per execution: 0 for the chain's last task.
    ///
    /// # Panics
    ///
    /// Where there is no such task, or `kind` is no position among the kinds.
    pub fn leave_ns(&self, task: usize, kind: usize) -> u64 {
        assert!(task < self.tasks.len(), "the profile has no task {task}");
        self.cuts(kind).map_or(0, |cuts| cuts.leave_ns[task + 1])
    }

    /// What a stage of `tasks` on cores of `kind` pays for the cuts on its sides, in nanoseconds per execution.
    ///
    /// # Panics
    ///
    /// Where `tasks` leaves the chain or `kind` is no position among the kinds.
    pub fn cut_ns(&self, tasks: Range<usize>, kind: usize) -> u64 {
        self.cuts(kind).map_or(0, |cuts| cuts.ns(tasks.start, tasks.end))
    }

    /// The work of a stage: the nanoseconds that one core of `kind` needs for one execution of `tasks`,
    /// for one hand-over, and for the cuts on both sides; `None` where one of them cannot run on the kind.
    ///
    /// # Panics
    ///
    /// Where `tasks` leaves the chain or `kind` is no position among the kinds.
    pub fn stage_ns(&self, tasks: Range<usize>, kind: usize) -> Option<u64> {
        let prefix = &self.prefix_ns[kind];
        let cut_ns = self.cut_ns(tasks.clone(), kind);
        let work_ns = prefix[tasks.end] - prefix[tasks.start] + self.sync_ns(kind) + cut_ns;
        self.can_run(tasks, kind).then_some(work_ns)
    }

    /// The time from one execution of a stage to the next on one core of `kind`, in nanoseconds: its [work](Self::stage_ns), but
    /// on a [device](Self::with_lanes), if all its tasks may be replicated, the longest of what it enters with, its tasks, what
    /// it leaves with, and its work divided by the lanes, rounded up. `None` where one of them cannot run on the kind.
    ///
    /// # Panics
    ///
    /// Where `tasks` leaves the chain or `kind` is no position among the kinds.
    pub fn pace_ns(&self, tasks: Range<usize>, kind: usize) -> Option<u64> {
        let work_ns = self.stage_ns(tasks.clone(), kind)?;
        let Some(lanes) = self.lanes(kind).filter(|_| self.is_replicable(tasks.clone())) else { return Some(work_ns) };
        let (enter_ns, leave_ns) = self.cuts(kind).map_or((0, 0), |cuts| cuts.sides(tasks.start, tasks.end));
        let tasks_ns = work_ns - self.sync_ns(kind) - enter_ns - leave_ns;
        Some(overlapped_ns([enter_ns, tasks_ns, leave_ns], work_ns, lanes))
    }

    /// The period of a stage (eq. 1): its work, divided by its cores if all its tasks may be replicated, and on a device its
    /// [pace](Self::pace_ns), divided by the devices; `None` where one of them cannot run on the kind.
    ///
    /// # Panics
    ///
    /// Where `cores` is zero, `tasks` leaves the chain, or `kind` is no position among the kinds.
    pub fn stage_period(&self, tasks: Range<usize>, cores: u32, kind: usize) -> Option<Period> {
        assert!(cores > 0, "a stage without cores has no period");
        let replicas = if self.is_replicable(tasks.clone()) { cores } else { 1 };
        self.pace_ns(tasks, kind).map(|pace_ns| Period::shared(pace_ns, replicas))
    }

    /// The period of a stage that cores of several kinds share, so many of each, given by their positions: 1 / Σ(cores / work). `None` where
    /// a task cannot run on one of them, one of several is a [device](Self::with_lanes), there is no core, or the period is no
    /// fraction of 128-bit numbers.
    ///
    /// ```
    /// use bief_schedule::{Period, Profile, TaskProfile};
    ///
    /// let profile = Profile::new(["big", "little"], [TaskProfile::replicable("decode", [600, 900])])?;
    /// assert_eq!(profile.mixed_period(0..1, [(0, 2), (1, 1)]), Some(Period::from(225)));
    /// # Ok::<(), bief_schedule::Error>(())
    /// ```
    ///
    /// # Panics
    ///
    /// Where `tasks` leaves the chain, or a kind is no position among the kinds.
    pub fn mixed_period(&self, tasks: Range<usize>, cores: impl IntoIterator<Item = (usize, u32)>) -> Option<Period> {
        let cores: Vec<_> = cores.into_iter().filter(|&(_, cores)| cores > 0).collect();
        if cores.is_empty() || cores.len() > 1 && cores.iter().any(|&(kind, _)| self.lanes(kind).is_some()) {
            return None;
        }
        let share = |(kind, cores)| Some((self.pace_ns(tasks.clone(), kind)?, cores));
        shared_period(cores.into_iter().map(share).collect::<Option<Vec<_>>>()?)
    }

    /// How many executions the ring behind a stage that cores of several kinds share must hold, for none of them to wait: as many as all
    /// do while the slowest does one, whose turn comes before these, and one more for each core. 0 for a stage of one kind, and
    /// where it has no [period](Self::mixed_period).
    ///
    /// ```
    /// use bief_schedule::{Profile, TaskProfile};
    ///
    /// let profile = Profile::new(["big", "little"], [TaskProfile::replicable("decode", [100, 1000])])?;
    /// assert_eq!(profile.ahead(0..1, [(0, 1), (1, 1)]), 10 + 1 + 2);
    /// # Ok::<(), bief_schedule::Error>(())
    /// ```
    ///
    /// # Panics
    ///
    /// Where `tasks` leaves the chain, or a kind is no position among the kinds.
    pub fn ahead(&self, tasks: Range<usize>, cores: impl IntoIterator<Item = (usize, u32)>) -> u64 {
        let cores: Vec<_> = cores.into_iter().filter(|&(_, cores)| cores > 0).collect();
        if cores.len() < 2 {
            return 0;
        }
        let slowest_ns = cores.iter().filter_map(|&(kind, _)| self.pace_ns(tasks.clone(), kind)).max();
        let replicas = cores.iter().map(|&(_, cores)| u64::from(cores)).sum::<u64>();
        let done = slowest_ns.zip(self.mixed_period(tasks, cores)).and_then(|(ns, period)| period.goes_into(ns));
        done.map_or(0, |(executions, more)| {
            u64::try_from(executions).unwrap_or(u64::MAX).saturating_add(u64::from(more) + replicas)
        })
    }

    /// The frames per second of a pipeline with a period of `period_ns` nanoseconds; infinite where the
    /// period is zero.
    pub fn frames_per_second(&self, period_ns: f64) -> f64 {
        f64::from(self.frames_per_execution) * 1e9 / period_ns
    }

    /// The bits of use per second, in Mb/s, of a pipeline with a period of `period_ns` nanoseconds; `None`
    /// where the chain carries no bits.
    ///
    /// ```
    /// use bief_schedule::{Profile, TaskProfile};
    ///
    /// let chain = Profile::new(["big"], [TaskProfile::replicable("decode", [4_307_500])])?
    ///     .with_frames_per_execution(16)?
    ///     .with_bits_per_frame(14232)?;
    /// assert_eq!(chain.mbps(4_307_500.0).unwrap().round(), 53.0);
    /// # Ok::<(), bief_schedule::Error>(())
    /// ```
    pub fn mbps(&self, period_ns: f64) -> Option<f64> {
        let bits = self.bits_per_frame? as f64;
        Some(bits * self.frames_per_second(period_ns) / 1e6)
    }

    /// The work of those of the first 0, 1, … n tasks that can run on cores of `kind`, in nanoseconds, without hand-overs.
    pub(crate) fn prefix_ns(&self, kind: usize) -> &[u64] {
        &self.prefix_ns[kind]
    }

    /// What cutting costs on cores of `kind`; `None` where no cut costs anything, on any kind.
    pub(crate) fn cuts(&self, kind: usize) -> Option<&Cuts> {
        self.cuts.as_ref().map(|cuts| &cuts[kind])
    }

    /// How many of the first 0, 1, … n tasks may not be replicated.
    pub(crate) fn prefix_sequential(&self) -> &[usize] {
        &self.prefix_sequential
    }

    /// For each `to` from 0 to n, the first `from` such that all tasks of `from..to` can run on cores of `kind`; `None`
    /// where all tasks of the chain can.
    pub(crate) fn runnable_from(&self, kind: usize) -> Option<&[usize]> {
        self.runnable_from[kind].as_deref()
    }

    /// The kinds on which a task can run, listed for a message.
    pub(crate) fn kinds_of(&self, task: &TaskProfile) -> String {
        let able = self.kinds.iter().zip(&task.ns).filter(|(_, ns)| ns.is_some());
        able.map(|(kind, _)| format!("`{kind}`")).collect::<Vec<_>>().join(" or ")
    }

    /// The kinds, listed for a message.
    pub(crate) fn kind_list(&self) -> String {
        self.kinds.join(", ")
    }
}

impl Cuts {
    fn of(tasks: &[TaskProfile], kind: usize) -> Self {
        let last = tasks.len() - 1;
        let of_kind = |ns: &Option<Vec<u64>>| ns.as_ref().map_or(0, |ns| ns[kind]);
        let enter = |(index, task): (usize, &TaskProfile)| if index == 0 { 0 } else { of_kind(&task.enter_ns) };
        let leave = |(index, task): (usize, &TaskProfile)| if index == last { 0 } else { of_kind(&task.leave_ns) };
        let leave_ns = std::iter::once(0).chain(tasks.iter().enumerate().map(leave)).collect();
        // A stage of no tasks at the end of the chain has no work.
        Self { enter_ns: tasks.iter().enumerate().map(enter).chain([0]).collect(), leave_ns }
    }

    fn cost(&self) -> bool {
        self.enter_ns.iter().chain(&self.leave_ns).any(|&ns| ns > 0)
    }

    /// Of a stage of the tasks `from..to`.
    #[inline]
    pub(crate) fn ns(&self, from: usize, to: usize) -> u64 {
        self.enter_ns[from] + self.leave_ns[to]
    }

    /// The same, of where it begins and of where it ends.
    #[inline]
    pub(crate) fn sides(&self, from: usize, to: usize) -> (u64, u64) {
        (self.enter_ns[from], self.leave_ns[to])
    }

    /// The most that any stage has.
    pub(crate) fn max_ns(&self) -> u64 {
        let most = |ns: &[u64]| ns.iter().copied().max().unwrap_or(0);
        most(&self.enter_ns) + most(&self.leave_ns)
    }
}

impl TryFrom<Object<ProfileJson>> for Profile {
    type Error = Error;

    fn try_from(json: Object<ProfileJson>) -> Result<Self, Error> {
        Self::checked(json.0)
    }
}

impl From<Profile> for ProfileJson {
    fn from(profile: Profile) -> Self {
        Self {
            format: Format,
            machine: profile.machine,
            kinds: profile.kinds,
            frames_per_execution: profile.frames_per_execution,
            bits_per_frame: profile.bits_per_frame,
            sync_ns: profile.sync_ns,
            busy: profile.busy,
            lanes: profile.lanes,
            gather: profile.gather,
            tasks: profile.tasks,
        }
    }
}

fn refused(key: &str, reason: impl Into<String>) -> Error {
    Error::new(ErrorKind::Profile, format!("profile, {key}"), reason)
}

fn check_busy(json: &ProfileJson, busy: &[Option<Busy>]) -> Result<(), Error> {
    check_per_kind("busy", busy, "object, or null,", &json.kinds)?;
    for (kind, busy) in busy.iter().enumerate() {
        let Some(Busy { cores, ns }) = busy else { continue };
        let key = |member: &str| format!("busy[{kind}].{member}");
        if json.lanes.as_ref().is_some_and(|lanes| lanes[kind].is_some()) {
            return Err(refused(
                &format!("busy[{kind}]"),
                "a device has no cores that work beside each other: write null",
            ));
        }
        if !(2..=Platform::MAX_CORES).contains(cores) {
            let reason = format!("{cores} cores: write how many worked, from 2 to {}", Platform::MAX_CORES);
            return Err(refused(&key("cores"), reason));
        }
        if ns.len() != json.tasks.len() {
            let reason =
                format!("{} for {}: write one for each", counted(ns.len(), "time"), counted(json.tasks.len(), "task"));
            return Err(refused(&key("ns"), reason));
        }
        for (index, (task, &busy_ns)) in json.tasks.iter().zip(ns).enumerate() {
            let idle_ns = task.ns[kind];
            if busy_ns.is_some() != idle_ns.is_some() || busy_ns < idle_ns {
                let shown = |ns: Option<u64>| ns.map_or("null".to_owned(), |ns| ns.to_string());
                let reason = format!(
                    "task `{}` has {}, and {} while the other cores rest: write a time that is no shorter, or null for both",
                    task.name,
                    shown(busy_ns),
                    shown(idle_ns)
                );
                return Err(refused(&format!("busy[{kind}].ns[{index}]"), reason));
            }
        }
        let tasks_ns = ns.iter().flatten().try_fold(0u64, |sum, &ns| sum.checked_add(ns));
        if tasks_ns.and_then(|tasks_ns| with_hand_overs(json, kind, tasks_ns)).is_none() {
            let reason = "with the hand-overs they add up to 2^64 ns or more: the times must be in nanoseconds";
            return Err(refused(&key("ns"), reason));
        }
    }
    Ok(())
}

fn check_kinds(kinds: &[String]) -> Result<(), Error> {
    if kinds.is_empty() {
        return Err(refused("kinds", "there is none: name at least one kind of core"));
    }
    let mut seen = HashSet::new();
    for (index, kind) in kinds.iter().enumerate() {
        let key = format!("kinds[{index}]");
        check_kind_name(kind).map_err(|reason| refused(&key, reason))?;
        if !seen.insert(kind) {
            return Err(refused(&key, format!("`{kind}` is named twice: name each kind once")));
        }
    }
    Ok(())
}

/// A kind's name must be writable in `big=4,little=8`.
pub(crate) fn check_kind_name(name: &str) -> Result<(), String> {
    if name.is_empty() {
        return Err("the name is empty: name the kind of core, for example `big`".to_owned());
    }
    let reserved = |c: char| c == '=' || c == ',' || c.is_whitespace() || c.is_control();
    if name.contains(reserved) {
        return Err(format!("{name:?} has a space, `=` or `,` in it: write a name without them, for example `big`"));
    }
    Ok(())
}

fn check_per_kind<T>(key: &str, values: &[T], what: &str, kinds: &[String]) -> Result<(), Error> {
    if values.len() == kinds.len() {
        return Ok(());
    }
    let reason = format!(
        "{} given for {} ({}): write one {what} per kind, in that order",
        counted(values.len(), "value"),
        counted(kinds.len(), "kind"),
        kinds.join(", ")
    );
    Err(refused(key, reason))
}

/// The time from one execution to the next where so many lanes overlap these parts of their `work_ns`.
#[inline]
pub(crate) fn overlapped_ns(parts_ns: [u64; 3], work_ns: u64, lanes: u32) -> u64 {
    parts_ns.into_iter().fold(work_ns.div_ceil(lanes.into()), u64::max)
}

pub(crate) fn counted(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

fn prefix_sums(json: &ProfileJson, kind: usize) -> Result<Vec<u64>, Error> {
    let overflow = || {
        let reason = format!(
            "the tasks and hand-overs on `{}` add up to 2^64 ns or more: the times must be in nanoseconds",
            json.kinds[kind]
        );
        refused("tasks", reason)
    };
    let mut sums = vec![0u64];
    for task in &json.tasks {
        let sum = sums[sums.len() - 1].checked_add(task.ns[kind].unwrap_or(0)).ok_or_else(overflow)?;
        sums.push(sum);
    }
    // However many executions share a launch, none counts for more than all that were measured.
    let mut gathered_ns = json.tasks.iter().flat_map(|task| &task.gathered_ns).filter_map(|ns| ns[kind]);
    let all_ns = gathered_ns.try_fold(sums[sums.len() - 1], u64::checked_add).ok_or_else(overflow)?;
    with_hand_overs(json, kind, all_ns).ok_or_else(overflow)?;
    Ok(sums)
}

/// The times of all tasks on a kind with as many hand-overs and all cuts, at most one stage per task: the sum over any schedule's stages must
/// stay below 2^64 as well.
fn with_hand_overs(json: &ProfileJson, kind: usize, tasks_ns: u64) -> Option<u64> {
    let sync_ns = json.sync_ns.as_ref().map_or(0, |sync_ns| sync_ns[kind]);
    let hand_overs = (json.tasks.len() as u64).checked_mul(sync_ns)?;
    let cut_ns = json.tasks.iter().flat_map(|task| task.enter_ns.iter().chain(&task.leave_ns)).map(|ns| ns[kind]);
    cut_ns.chain([hand_overs]).try_fold(tasks_ns, u64::checked_add)
}

/// What [`Profile::runnable_from`] says.
fn runnable_from(tasks: &[TaskProfile], kind: usize) -> Option<Vec<usize>> {
    if tasks.iter().all(|task| task.ns[kind].is_some()) {
        return None;
    }
    let mut starts = vec![0];
    for (index, task) in tasks.iter().enumerate() {
        starts.push(if task.ns[kind].is_some() { starts[index] } else { index + 1 });
    }
    Some(starts)
}

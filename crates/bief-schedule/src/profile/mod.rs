//! What a chain costs: its tasks, and the time that each takes on each kind of core.

mod busy;
mod cuts;
mod document;
mod gather;
mod task;

use std::borrow::Cow;
use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::json::{Format, Object};
use crate::period::Period;
use crate::share::shared_period;

pub use busy::Busy;
pub(crate) use cuts::Cuts;
use document::ProfileJson;
pub(crate) use document::{check_kind_name, counted};
pub use gather::Gather;
pub use task::{Samples, TaskProfile};

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
/// times were measured), `sync_ns` (see [`with_sync_ns`](Self::with_sync_ns)), `switch_ns` (see [`with_switch_ns`](Self::with_switch_ns)), `busy` (`[{"cores": 8, "ns": [240000, 4700000]}, null]`,
/// see [`with_busy`](Self::with_busy)), `lanes` (`[null, 3]`, see
/// [`with_lanes`](Self::with_lanes)), `overlap` (`[false, true]`, see [`with_overlap`](Self::with_overlap)), `gather` (`[null, {"most": 16, "measured": 8}]`, see [`with_gather`](Self::with_gather)) and,
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
    switch_ns: Option<Vec<u64>>,
    busy: Option<Vec<Option<Busy>>>,
    lanes: Option<Vec<Option<u32>>>,
    overlap: Option<Vec<bool>>,
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
    /// [`ErrorKind::Profile`](crate::ErrorKind::Profile) where there is no kind, no task or more than [`MAX_TASKS`](Self::MAX_TASKS), a kind's name is
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
            switch_ns: None,
            busy: None,
            lanes: None,
            overlap: None,
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
        for of_stage in [&mut json.sync_ns, &mut json.switch_ns].into_iter().flatten() {
            slow(&mut of_stage[kind]);
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
    /// [`ErrorKind::Profile`](crate::ErrorKind::Profile) where `frames` is zero.
    pub fn with_frames_per_execution(self, frames: u32) -> Result<Self, Error> {
        Self::checked(ProfileJson { frames_per_execution: frames, ..self.into() })
    }

    /// The same profile of a chain that delivers `bits` bits with each frame.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Profile`](crate::ErrorKind::Profile) where `bits` is zero.
    pub fn with_bits_per_frame(self, bits: u64) -> Result<Self, Error> {
        Self::checked(ProfileJson { bits_per_frame: Some(bits), ..self.into() })
    }

    /// The same profile with the cost of handing over: the nanoseconds per kind that each stage spends,
    /// once per execution, or once per launch of a [device](Self::with_gather), to take its input and to pass on its output. It counts
    /// as work of the stage.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Profile`](crate::ErrorKind::Profile) where there is not one value per kind, or the sum of all work overflows.
    pub fn with_sync_ns(self, sync_ns: impl Into<Vec<u64>>) -> Result<Self, Error> {
        Self::checked(ProfileJson { sync_ns: Some(sync_ns.into()), ..self.into() })
    }

    /// The same profile with what it costs threads to share cores: the nanoseconds per kind that a core loses, once per execution of each
    /// stage, to going from one thread to another. In schedules with [more threads than cores](crate::Schedule::sharing) it counts as work of
    /// the stage.
    ///
    /// ```
    /// use bief_schedule::strategy::Shared;
    /// use bief_schedule::{Period, Platform, Profile, Strategy, TaskProfile};
    ///
    /// let tasks = [
    ///     TaskProfile::sequential("read", [100]),
    ///     TaskProfile::replicable("decode", [1000]),
    ///     TaskProfile::sequential("write", [100]),
    /// ];
    /// let profile = Profile::new(["cpu"], tasks)?.with_switch_ns([10])?;
    /// let shared = Shared.schedule(&profile, &Platform::parse_cores("2", &profile)?)?;
    /// assert_eq!(shared.planned_period(), Period::from((1200 + 3 * 10) / 2));
    /// # Ok::<(), bief_schedule::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Profile`](crate::ErrorKind::Profile) where there is not one value per kind, or the sum of all work overflows.
    pub fn with_switch_ns(self, switch_ns: impl Into<Vec<u64>>) -> Result<Self, Error> {
        Self::checked(ProfileJson { switch_ns: Some(switch_ns.into()), ..self.into() })
    }

    /// The same profile where threads share cores: each stage spends a [change of threads](Self::with_switch_ns) beside its hand-over.
    pub(crate) fn while_sharing(&self) -> Cow<'_, Self> {
        let Some(switch_ns) = &self.switch_ns else { return Cow::Borrowed(self) };
        let sync_ns = switch_ns.iter().enumerate().map(|(kind, switch_ns)| self.sync_ns(kind) + switch_ns).collect();
        Cow::Owned(Self { sync_ns: Some(sync_ns), switch_ns: None, ..self.clone() })
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
    /// [`ErrorKind::Profile`](crate::ErrorKind::Profile) where there is not one value per kind, or a number of lanes is not from 1 to
    /// [`MAX_LANES`](Self::MAX_LANES).
    pub fn with_lanes(self, lanes: impl Into<Vec<Option<u32>>>) -> Result<Self, Error> {
        Self::checked(ProfileJson { lanes: Some(lanes.into()), ..self.into() })
    }

    /// The same profile, of whose devices those with `true` work for all lanes at a time: also what a stage enters with, its tasks and
    /// what it leaves with overlap with those of other lanes, and the time from one execution to the next is its work divided by the
    /// lanes.
    ///
    /// So it is where those times are what a thread saw that had the device work, and waited for it: a lane's own work is in them, and
    /// what the device did for others meanwhile.
    ///
    /// ```
    /// use bief_schedule::{Profile, TaskProfile};
    ///
    /// let tasks = [TaskProfile::replicable("decode", [9000, 600])];
    /// let profile = Profile::new(["cpu", "gpu"], tasks)?.with_lanes([None, Some(3)])?;
    /// assert_eq!(profile.pace_ns(0..1, 1), Some(600));
    /// assert_eq!(profile.with_overlap([false, true])?.pace_ns(0..1, 1), Some(200));
    /// # Ok::<(), bief_schedule::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Profile`](crate::ErrorKind::Profile) where there is not one value per kind, or a kind of cores overlaps.
    pub fn with_overlap(self, overlap: impl Into<Vec<bool>>) -> Result<Self, Error> {
        Self::checked(ProfileJson { overlap: Some(overlap.into()), ..self.into() })
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

    /// What a core of `kind` loses to changing threads, in nanoseconds per execution of each stage, where stages share cores; `None` where
    /// that was not measured.
    ///
    /// # Panics
    ///
    /// Where `kind` is no position among the kinds.
    pub fn switch_ns(&self, kind: usize) -> Option<u64> {
        assert!(kind < self.kinds.len(), "the profile has no kind {kind}");
        self.switch_ns.as_ref().map(|switch_ns| switch_ns[kind])
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

    /// Whether a device of `kind` works for all lanes at a time ([`with_overlap`](Self::with_overlap)).
    ///
    /// # Panics
    ///
    /// Where `kind` is no position among the kinds.
    pub fn overlaps(&self, kind: usize) -> bool {
        assert!(kind < self.kinds.len(), "the profile has no kind {kind}");
        self.overlap.as_ref().is_some_and(|overlap| overlap[kind])
    }

    /// The lanes of a device, and what they overlap; `None` for a kind of cores.
    pub(crate) fn overlapping(&self, kind: usize) -> Option<Overlap> {
        self.lanes(kind).map(|lanes| Overlap { lanes, is_whole: self.overlaps(kind) })
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
    /// it leaves with, and its work divided by the lanes, rounded up; where lanes [overlap](Self::with_overlap) all of it, the last
    /// alone. `None` where one of them cannot run on the kind.
    ///
    /// # Panics
    ///
    /// Where `tasks` leaves the chain or `kind` is no position among the kinds.
    pub fn pace_ns(&self, tasks: Range<usize>, kind: usize) -> Option<u64> {
        let work_ns = self.stage_ns(tasks.clone(), kind)?;
        let Some(overlap) = self.overlapping(kind).filter(|_| self.is_replicable(tasks.clone())) else {
            return Some(work_ns);
        };
        let (enter_ns, leave_ns) = self.cuts(kind).map_or((0, 0), |cuts| cuts.sides(tasks.start, tasks.end));
        let tasks_ns = work_ns - self.sync_ns(kind) - enter_ns - leave_ns;
        Some(overlap.pace_ns([enter_ns, tasks_ns, leave_ns], work_ns))
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

/// What the lanes of a device overlap.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Overlap {
    lanes: u32,
    /// All of their work: else each part of it is done for one of them at a time.
    is_whole: bool,
}

impl Overlap {
    /// The time from one execution to the next, of these parts of the work.
    #[inline]
    pub(crate) fn pace_ns(self, parts_ns: [u64; 3], work_ns: u64) -> u64 {
        let shared_ns = work_ns.div_ceil(self.lanes.into());
        if self.is_whole { shared_ns } else { parts_ns.into_iter().fold(shared_ns, u64::max) }
    }

    /// What tasks of so much work add to that time at least.
    #[inline]
    pub(crate) fn least_ns(self, tasks_ns: u64) -> u64 {
        if self.is_whole { tasks_ns / u64::from(self.lanes) } else { tasks_ns }
    }
}

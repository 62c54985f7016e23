//! What one task costs.

use serde::{Deserialize, Serialize};

use crate::json;

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
    /// The time of a whole launch of [several executions](super::Gather::measured) on each kind that is a device, in nanoseconds; `None` for
    /// cores, and where executions share nothing. See [`Profile::with_gather`](super::Profile::with_gather).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gathered_ns: Option<Vec<Option<u64>>>,
    /// What it costs a stage, on each kind of core, to begin with this task: the bytes that it reads and that another stage
    /// wrote, in nanoseconds per execution, beside the [hand-over](super::Profile::with_sync_ns). Nothing for the chain's first
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

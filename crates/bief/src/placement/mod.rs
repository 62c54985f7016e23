//! Where the threads of a pipeline run: loose, guided, packed, distant, dynamic, or as told.

mod dynamic;
mod explicit;
mod policy;
mod sharing;

use std::fmt;

use bief_schedule::json::{self, Document, Format};
use serde::{Deserialize, Serialize};

pub(crate) use dynamic::Dynamic;
pub use dynamic::DynamicReport;
pub use explicit::Places;
pub use policy::Policy;
pub(crate) use sharing::SharedCores;

use crate::error::{Error, Result, counted};
use crate::machine::{Machine, thread_list};

/// What to do if the system refuses a thread its [`Placement`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Pinning {
    /// The thread runs where it is, and the report says so ([`Report::notes`](crate::Report::notes)).
    #[default]
    Try,
    /// The run ends with an error that names the stage. Where threads are placed [`Policy::Dynamic`], each kind of core is tried
    /// before the run; what the system refuses later, because somebody has changed what the process may use, is noted.
    Require,
}

/// Which hardware threads each thread of a pipeline may run on.
///
/// A [`Policy`] makes one for a machine; it can be printed, written as JSON, changed and read again. It is checked against a
/// machine and a pipeline before any thread is pinned ([`Pipeline::place`](crate::Pipeline::place)).
///
/// # JSON
///
/// ```json
/// {
///   "format": 1,
///   "policy": "packed",
///   "stages": [
///     {"name": "read .. filter", "threads": [[0]]},
///     {"name": "decode", "threads": [[1],[2],[3]]}
///   ]
/// }
/// ```
///
/// `threads` has for each replica of the stage the numbers of the hardware threads that it may run on, as the system counts
/// them. With the policy `"dynamic"`, a mapper moves it between kinds of cores within these. A key that is not named here is refused.
///
/// # Example
///
/// ```
/// use bief::placement::{Placement, Policy, StageSlots};
/// use bief::Machine;
///
/// let machine = Machine::here();
/// let stages = [StageSlots { name: "front".into(), kinds: Vec::new(), threads: 1, planned_ns: None }];
/// let placement = Policy::Packed.place(&machine, &stages)?;
/// assert_eq!(placement.stages()[0].threads[0], machine.cores()[0].threads);
/// assert_eq!(Placement::from_json(&placement.to_json())?, placement);
/// # Ok::<(), bief::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Placement {
    format: Format,
    policy: String,
    #[serde(deserialize_with = "json::objects")]
    stages: Vec<PlacedStage>,
}

const DOCUMENT: Document = Document {
    name: "placement",
    shape: r#"{"format": 1, "policy": "packed", "stages": [{"name": "decode", "threads": [[0], [1]]}]}"#,
};

/// Where the replicas of one stage run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlacedStage {
    /// The stage's name.
    pub name: String,
    /// For each replica, the hardware threads that it may run on: at least one.
    pub threads: Vec<Vec<usize>>,
}

/// A stage that needs a place for its threads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StageSlots {
    /// The stage's name.
    pub name: String,
    /// The kind of core that its schedule asks for, for each of its threads; empty where any will do.
    pub kinds: Vec<String>,
    /// How many threads it has.
    pub threads: usize,
    /// The time that it takes for an execution by its plan, in nanoseconds, divided by its threads, which take turns; `None` without a
    /// plan.
    pub planned_ns: Option<u64>,
}

impl StageSlots {
    /// The kind of core that a thread is to run on; `None` where any will do.
    pub(crate) fn kind_of(&self, thread: usize) -> Option<&str> {
        self.kinds.get(thread).map(String::as_str)
    }
}

impl Placement {
    fn new(policy: &Policy, stages: Vec<PlacedStage>) -> Self {
        Self { format: Format, policy: policy.to_string(), stages }
    }

    /// Reads the JSON document described at [`Placement`].
    ///
    /// # Errors
    /// A text that is not such a document.
    pub fn from_json(text: &str) -> Result<Self> {
        Ok(json::read(text, &DOCUMENT)?)
    }

    /// Writes the JSON document described at [`Placement`].
    pub fn to_json(&self) -> String {
        json::write(self)
    }

    /// The policy that made it, as [`Policy`] is written.
    pub fn policy(&self) -> &str {
        &self.policy
    }

    /// Its stages, from source to sink.
    pub fn stages(&self) -> &[PlacedStage] {
        &self.stages
    }

    /// Whether each thread has a place, on hardware threads that this process may use of the machine.
    ///
    /// # Errors
    /// A thread without a place, or one on a hardware thread that the machine does not have, with its stage.
    pub fn check(&self, machine: &Machine) -> Result<()> {
        for stage in &self.stages {
            let refused = |reason: String| Error::build(format!("placement, stage `{}`: {reason}", stage.name));
            for (replica, threads) in stage.threads.iter().enumerate() {
                if threads.is_empty() {
                    return Err(refused(format!("replica {replica} has no hardware thread to run on")));
                }
                if let Some(thread) = threads.iter().find(|&&thread| machine.core_of(thread).is_none()) {
                    return Err(refused(format!(
                        "replica {replica} wants hardware thread {thread}, which this process may not use: it has {}",
                        thread_list(all_threads(machine))
                    )));
                }
            }
        }
        Ok(())
    }

    /// Whether it goes with these stages.
    pub(crate) fn check_stages(&self, stages: &[StageSlots]) -> Result<()> {
        if self.stages.len() != stages.len() {
            return Err(Error::build(format!(
                "the placement is for {}, the pipeline has {}: place this pipeline",
                counted(self.stages.len(), "stage"),
                stages.len()
            )));
        }
        match self.stages.iter().zip(stages).find(|(placed, stage)| placed.threads.len() != stage.threads) {
            Some((placed, stage)) => Err(Error::build(format!(
                "placement, stage `{}`: it has {}, the stage has {}: give one for each",
                stage.name,
                counted(placed.threads.len(), "place"),
                counted(stage.threads, "thread")
            ))),
            None => Ok(()),
        }
    }

    /// Whether its threads are moved while a run goes on.
    pub(crate) fn is_dynamic(&self) -> bool {
        self.policy == Policy::Dynamic.to_string()
    }

    /// The first stage with a thread that may not run on all of so many hardware threads.
    pub(crate) fn pinned(&self, all: usize) -> Option<&str> {
        let is_pinned = |stage: &&PlacedStage| stage.threads.iter().any(|threads| threads.len() < all);
        self.stages.iter().find(is_pinned).map(|stage| &*stage.name)
    }

    /// Whether threads outnumber the hardware threads that some of them are bound to, so that one of them waits for a core.
    pub(crate) fn shares_cores(&self) -> bool {
        let all = || self.stages.iter().flat_map(|stage| &stage.threads);
        all().any(|set| all().filter(|other| other.iter().all(|thread| set.contains(thread))).count() > set.len())
    }
}

/// All hardware threads that may be used.
pub(crate) fn all_threads(machine: &Machine) -> Vec<usize> {
    let mut threads: Vec<usize> = machine.cores().iter().flat_map(|core| core.threads.iter().copied()).collect();
    threads.sort_unstable();
    threads
}

/// A line per stage: where its threads run.
impl fmt::Display for Placement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "placed {}", self.policy)?;
        for stage in &self.stages {
            let threads: Vec<String> =
                stage.threads.iter().map(|threads| thread_list(threads.iter().copied())).collect();
            write!(f, "\n  {}: on {}", stage.name, threads.join("; "))?;
        }
        Ok(())
    }
}

#[cfg(all(test, not(any(bief_loom, bief_shuttle))))]
mod tests;

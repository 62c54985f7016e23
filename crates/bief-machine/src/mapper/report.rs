//! What a mapper did.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// What a mapper does with a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Steering {
    /// It is mapped by its demand.
    Mapped,
    /// It needs little, and is left to the system.
    Light,
    /// There are more threads than cores, and it is left to the system: all are while they want more than the cores have, and else those
    /// that want less than others.
    Crowded,
    /// Its affinity, or the machine, leaves it one kind of core.
    Fixed,
    /// The system refused to set its affinity.
    Refused,
    /// It has ended.
    Ended,
}

/// A thread that a mapper looked at.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ThreadStatus {
    /// Its number.
    pub tid: u32,
    /// What it calls itself.
    pub name: String,
    /// What is done with it.
    pub steering: Steering,
    /// What it was last seen to need: 1 is all of the fastest core. Of a thread that is not mapped, the share of the time in which
    /// it was busy, on whichever core.
    pub demand: f64,
    /// The kind of core that it is mapped to, as an index into [`MapReport::kinds`]; `None` where it may run on all that its affinity
    /// allows. In a dry run, the one that it would be mapped to.
    pub kind: Option<usize>,
    /// The processor time that it had since it was first seen, in seconds.
    pub cpu_seconds: f64,
    /// The share of that which it had on each kind; what is missing to 1 it had while it might run on several. In a dry run these are
    /// the kinds of the cores on which it was found.
    pub on_kinds: Vec<f64>,
    /// How often it went to another kind of core; in a dry run, how often it would have gone.
    pub migrations: u64,
}

/// What a mapper did in all.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MapReport {
    /// The names of the kinds of cores, from the fastest to the slowest.
    pub kinds: Vec<String>,
    /// How fast these are: the fastest that is used is 1.
    pub capacities: Vec<f64>,
    /// Whether nothing was set.
    pub dry_run: bool,
    /// How many intervals ended.
    pub intervals: u64,
    /// The time that they took together, in seconds.
    pub seconds: f64,
    /// For how long of this more threads wanted to run than there are cores, and all were left to the system, in seconds.
    pub crowded_seconds: f64,
    /// How many threads were seen.
    pub threads: u64,
    /// How often threads went to another kind of core; in a dry run, how often they would have gone.
    pub migrations: u64,
    /// The processor time of the thread that maps, from the first step to the latest, in seconds.
    pub own_cpu_seconds: f64,
    /// By how much intervals ended late, in the mean and at most, in seconds; 0 where nobody waited for their ends.
    pub late_seconds: [f64; 2],
    /// What was odd, a sentence each.
    pub notes: Vec<String>,
}

impl MapReport {
    /// The share of a core that mapping took.
    pub fn own_share(&self) -> f64 {
        if self.seconds > 0.0 { self.own_cpu_seconds / self.seconds } else { 0.0 }
    }
}

/// How late intervals ended.
#[derive(Debug, Default)]
pub(super) struct Lateness {
    waits: u32,
    sum: Duration,
    most: Duration,
}

impl Lateness {
    pub(super) fn add(&mut self, late: Duration) {
        self.waits = self.waits.saturating_add(1);
        self.sum = self.sum.saturating_add(late);
        self.most = self.most.max(late);
    }

    pub(super) fn seconds(&self) -> [f64; 2] {
        [self.sum.as_secs_f64() / f64::from(self.waits.max(1)), self.most.as_secs_f64()]
    }
}

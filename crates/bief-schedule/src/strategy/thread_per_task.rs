//! One thread per task: what a system without a scheduler of its own does.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::{Capabilities, Strategy, given_cores};
use crate::error::Error;
use crate::period::Period;
use crate::platform::Platform;
use crate::profile::{Profile, TaskProfile};
use crate::schedule::{Schedule, Stage};

/// One stage per task, with one thread if it is sequential, else with one, two or three: the baseline of runtimes
/// that leave scheduling to the operating system.
///
/// [`R1`](Self::R1), `thread_per_task`, replicates nothing; [`R2`](Self::R2), `thread_per_task:2`, and [`R3`](Self::R3),
/// `thread_per_task:3`, give each task that may be replicated two and three threads: the strategies R1 to R3 of Idouar et
/// al., *Energy-Aware Scheduling Strategies for Partially-Replicable Task Chains on Heterogeneous Processors*.
///
/// The period is that of the heaviest stage, but at least the work of all tasks divided by the cores. There
/// may be more threads than cores, and the schedule then says so
/// ([`is_oversubscribed`](Schedule::is_oversubscribed)): which thread runs where and when is up to the
/// operating system, and the period is what it would be if that cost nothing.
///
/// Where several kinds of cores are given, each task, the heaviest first, is counted with all its threads on the
/// kind whose period it leaves shortest, of those on which it can run; among equals, on the least power-hungry. This stands
/// for an operating system that knows what its cores can do; a real one does worse.
///
/// ```
/// use bief_schedule::strategy::ThreadPerTask;
/// use bief_schedule::{Period, Platform, Profile, Strategy, TaskProfile};
///
/// let profile = Profile::new(
///     ["cpu"],
///     [
///         TaskProfile::sequential("receive", [300]),
///         TaskProfile::replicable("filter", [400]),
///         TaskProfile::replicable("decode", [500]),
///     ],
/// )?;
/// let schedule = ThreadPerTask::R1.schedule(&profile, &Platform::parse_cores("2", &profile)?)?;
/// assert_eq!(schedule.stages().len(), 3);
/// assert!(schedule.is_oversubscribed());
/// assert_eq!(schedule.planned_period(), Period::from(600));
///
/// let schedule = ThreadPerTask::R2.schedule(&profile, &Platform::parse_cores("5", &profile)?)?;
/// assert!(!schedule.is_oversubscribed());
/// assert_eq!(schedule.planned_period(), Period::from(300));
/// # Ok::<(), bief_schedule::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ThreadPerTask {
    name: &'static str,
    summary: &'static str,
    /// The threads of a task that may be replicated.
    threads: u32,
}

impl ThreadPerTask {
    /// One thread for every task.
    pub const R1: Self = Self {
        name: "thread_per_task",
        summary: "One thread per task, placed by the operating system: the baseline to compare with.",
        threads: 1,
    };

    /// Two threads for each task that may be replicated.
    pub const R2: Self = Self {
        name: "thread_per_task:2",
        summary: "Two threads per task that may be replicated, else one, placed by the operating system.",
        threads: 2,
    };

    /// Three threads for each task that may be replicated.
    pub const R3: Self = Self {
        name: "thread_per_task:3",
        summary: "Three threads per task that may be replicated, else one, placed by the operating system.",
        threads: 3,
    };
}

impl Strategy for ThreadPerTask {
    fn name(&self) -> &'static str {
        self.name
    }

    fn summary(&self) -> &'static str {
        self.summary
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            max_kinds: usize::MAX,
            goals: false,
            absent_times: true,
            cut_costs: true,
            devices: false,
            parameters: &["1", "2", "3"],
        }
    }

    fn schedule(&self, profile: &Profile, platform: &Platform) -> Result<Schedule, Error> {
        let given = given_cores(self, profile, platform)?;
        let pool = |&(kind, cores): &(usize, u32)| Pool { kind, cores, work_ns: 0, slowest: Period::ZERO };
        let mut pools: Vec<Pool> = given.iter().map(pool).collect();

        let lightest = |task: usize| pools.iter().filter_map(|pool| self.stage_period(profile, task, pool.kind)).min();
        let mut heaviest_first: Vec<usize> = (0..profile.tasks().len()).collect();
        heaviest_first.sort_by_cached_key(|&task| Reverse(lightest(task)));

        let mut kind_of = vec![0; profile.tasks().len()];
        for task in heaviest_first {
            let with_task = |pool: &Pool| {
                let work_ns = pool.work_ns + profile.stage_ns(task..task + 1, pool.kind)?;
                let slowest = pool.slowest.max(self.stage_period(profile, task, pool.kind)?);
                Some(Pool { work_ns, slowest, ..*pool })
            };
            let choices = pools.iter().enumerate().rev().filter_map(|(at, pool)| Some((at, with_task(pool)?)));
            let (at, pool) = choices
                .min_by_key(|(_, pool)| pool.period())
                .expect("checked: each task can run on a kind that has cores");
            pools[at] = pool;
            kind_of[task] = pool.kind;
        }

        let kinds = profile.kinds();
        let shared: BTreeMap<_, _> = given.iter().map(|&(kind, cores)| (kinds[kind].clone(), cores)).collect();
        let stages = kind_of.into_iter().zip(profile.tasks());
        let stages = stages.map(|(kind, task)| Stage::new(1, self.threads_of(task), kinds[kind].as_str()));
        Schedule::sharing(self.name(), stages, &shared, profile)
    }
}

impl ThreadPerTask {
    fn threads_of(&self, task: &TaskProfile) -> u32 {
        if task.replicable { self.threads } else { 1 }
    }

    fn stage_period(&self, profile: &Profile, task: usize, kind: usize) -> Option<Period> {
        profile.stage_period(task..task + 1, self.threads, kind)
    }
}

/// The cores of one kind and the threads that share them.
#[derive(Clone, Copy)]
struct Pool {
    kind: usize,
    cores: u32,
    work_ns: u64,
    /// The period of the slowest stage.
    slowest: Period,
}

impl Pool {
    fn period(&self) -> Period {
        Period::shared(self.work_ns, self.cores).max(self.slowest)
    }
}

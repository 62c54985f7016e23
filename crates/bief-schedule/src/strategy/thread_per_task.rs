//! One thread per task: what a system without a scheduler of its own does.

use std::collections::BTreeMap;

use super::Strategy;
use crate::error::Error;
use crate::period::Period;
use crate::platform::Platform;
use crate::profile::Profile;
use crate::schedule::{Schedule, Stage};

/// One stage and one thread per task, nothing replicated: the baseline of runtimes that leave scheduling
/// to the operating system.
///
/// The period is that of the heaviest task, but at least the work of all tasks divided by the cores. There
/// may be more threads than cores, and the schedule then says so
/// ([`is_oversubscribed`](Schedule::is_oversubscribed)): which thread runs where and when is up to the
/// operating system, and the period is what it would be if that cost nothing.
///
/// Where several kinds of cores are given, each task, the heaviest first, is counted on the kind whose
/// period it leaves shortest; among equals, on the least power-hungry. This stands for an operating system
/// that knows what its cores can do; a real one does worse.
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
/// let schedule = ThreadPerTask.schedule(&profile, &Platform::parse_cores("2", &profile)?)?;
/// assert_eq!(schedule.stages().len(), 3);
/// assert!(schedule.is_oversubscribed());
/// assert_eq!(schedule.planned_period(), Period::from(600));
/// # Ok::<(), bief_schedule::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ThreadPerTask;

impl Strategy for ThreadPerTask {
    fn name(&self) -> &'static str {
        "thread_per_task"
    }

    fn summary(&self) -> &'static str {
        "One thread per task, placed by the operating system: the baseline to compare with."
    }

    fn most_kinds(&self) -> usize {
        usize::MAX
    }

    fn schedule(&self, profile: &Profile, platform: &Platform) -> Result<Schedule, Error> {
        let cores = platform.cores_for(profile)?;
        let mut pools: Vec<Pool> = cores
            .iter()
            .enumerate()
            .filter(|&(_, &cores)| cores > 0)
            .map(|(kind, &cores)| Pool { kind, cores, work_ns: 0, heaviest_ns: 0 })
            .collect();

        let lightest_ns = |task: usize| pools.iter().map(|pool| profile.stage_ns(task..task + 1, pool.kind)).min();
        let mut heaviest_first: Vec<usize> = (0..profile.tasks().len()).collect();
        heaviest_first.sort_by_key(|&task| std::cmp::Reverse(lightest_ns(task)));

        let mut kind_of = vec![0; profile.tasks().len()];
        for task in heaviest_first {
            let stage_ns = |pool: &Pool| profile.stage_ns(task..task + 1, pool.kind);
            let pool = pools
                .iter_mut()
                .rev()
                .min_by_key(|pool| pool.period_with(stage_ns(pool)))
                .expect("a platform has at least one core, of a kind that the profile has");
            let ns = stage_ns(pool);
            pool.work_ns += ns;
            pool.heaviest_ns = pool.heaviest_ns.max(ns);
            kind_of[task] = pool.kind;
        }

        let kinds = profile.kinds();
        let shared: BTreeMap<_, _> = kinds.iter().cloned().zip(cores).collect();
        let stages = kind_of.into_iter().map(|kind| Stage::new(1, 1, kinds[kind].as_str()));
        Schedule::sharing(self.name(), stages, &shared, profile)
    }
}

/// The cores of one kind and the threads that share them.
struct Pool {
    kind: usize,
    cores: u32,
    work_ns: u64,
    heaviest_ns: u64,
}

impl Pool {
    /// The period of the pool with one more thread of `ns` nanoseconds.
    fn period_with(&self, ns: u64) -> Period {
        let shared = Period::shared(self.work_ns + ns, self.cores);
        shared.max(Period::from(self.heaviest_ns.max(ns)))
    }
}

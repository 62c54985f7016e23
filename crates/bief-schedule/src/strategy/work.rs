//! The work of stages on one kind of cores, where they may be replicated, and which of two takes less time.

use crate::profile::{Cuts, Overlap, Profile};

/// What the runs of tasks `from..to` of a chain cost on cores of one kind, hand-over included. The work of a stage on a device is the
/// time from one execution to the next, its [pace](Profile::pace_ns).
#[derive(Debug, Clone, Copy)]
pub(super) struct Work<'a> {
    /// The work of the first 0, 1, … n tasks.
    prefix_ns: &'a [u64],
    sync_ns: u64,
    /// What cutting costs; `None` where it costs nothing.
    cuts: Option<&'a Cuts>,
    /// For each `to`, the first `from` such that all tasks of `from..to` can run on the kind; `None` where all tasks can.
    runnable_from: Option<&'a [usize]>,
    /// What the lanes of a device overlap, and how many of the first 0, 1, … n tasks may not be replicated; `None` for cores.
    lanes: Option<(Overlap, &'a [usize])>,
}

impl<'a> Work<'a> {
    /// As if cutting were free, beside the hand-over.
    pub(super) fn new(profile: &'a Profile, kind: usize) -> Self {
        Self {
            prefix_ns: profile.prefix_ns(kind),
            sync_ns: profile.sync_ns(kind),
            cuts: None,
            runnable_from: profile.runnable_from(kind),
            lanes: profile.overlapping(kind).map(|overlap| (overlap, profile.prefix_sequential())),
        }
    }

    /// With what cutting costs.
    pub(super) fn with_cuts(profile: &'a Profile, kind: usize) -> Self {
        Self { cuts: profile.cuts(kind), ..Self::new(profile, kind) }
    }

    /// How many tasks the chain has.
    pub(super) fn tasks(self) -> usize {
        self.prefix_ns.len() - 1
    }

    /// The first `from` such that all tasks of `from..to` can run on the kind. It never falls as `to` grows.
    #[inline]
    pub(super) fn runnable_from(self, to: usize) -> usize {
        self.runnable_from.map_or(0, |runnable_from| runnable_from[to])
    }

    /// Whether all tasks of `from..to` can run on the kind.
    #[inline]
    pub(super) fn can_run(self, from: usize, to: usize) -> bool {
        self.runnable_from(to) <= from
    }

    /// The greatest `to` up to `end` such that all tasks of `from..to` can run on the kind.
    pub(super) fn runnable_to(self, from: usize, end: usize) -> usize {
        match self.runnable_from {
            None => end,
            Some(runnable_from) => from + runnable_from[from + 1..=end].partition_point(|&first| first <= from),
        }
    }

    /// The work of a stage of the tasks `from..to`, which can all run on the kind, in nanoseconds.
    #[inline]
    pub(super) fn ns(self, from: usize, to: usize) -> u64 {
        debug_assert!(self.can_run(from, to), "a task of {from}..{to} cannot run on the kind");
        self.pace_ns(from, to, self.cuts.map_or((0, 0), |cuts| cuts.sides(from, to)))
    }

    /// That work without what the cuts on its sides cost: it grows with the tasks.
    #[inline]
    pub(super) fn uncut_ns(self, from: usize, to: usize) -> u64 {
        self.pace_ns(from, to, (0, 0))
    }

    /// How long one execution is under way: on cores, the work.
    pub(super) fn latency_ns(self, from: usize, to: usize) -> u64 {
        self.tasks_ns(from, to) + self.sync_ns + self.cuts.map_or(0, |cuts| cuts.ns(from, to))
    }

    #[inline]
    fn tasks_ns(self, from: usize, to: usize) -> u64 {
        self.prefix_ns[to] - self.prefix_ns[from]
    }

    #[inline]
    fn pace_ns(self, from: usize, to: usize, (enter_ns, leave_ns): (u64, u64)) -> u64 {
        let tasks_ns = self.tasks_ns(from, to);
        let all_ns = tasks_ns + self.sync_ns + enter_ns + leave_ns;
        match self.lanes {
            Some((overlap, sequential)) if sequential[from] == sequential[to] => {
                overlap.pace_ns([enter_ns, tasks_ns, leave_ns], all_ns)
            }
            _ => all_ns,
        }
    }

    /// The work of all tasks as a single stage; `None` where one of them cannot run on the kind.
    pub(super) fn all_ns(self) -> Option<u64> {
        let tasks = self.tasks();
        self.can_run(0, tasks).then(|| self.ns(0, tasks))
    }

    /// The work of all tasks that can run on the kind, of a hand-over, and of the dearest cuts: no stage on the kind has more.
    pub(super) fn max_ns(self) -> u64 {
        self.prefix_ns[self.tasks()] + self.sync_ns + self.cuts.map_or(0, Cuts::max_ns)
    }

    /// The work of a stage that ends before the task `to`, by where it begins: at `runnable_from(to)` or later. Where cutting
    /// costs, [`ns`](Self::ns) tells it.
    #[inline]
    pub(super) fn ending_at(self, to: usize) -> impl Fn(usize) -> u64 {
        debug_assert!(self.cuts.is_none() && self.lanes.is_none(), "cutting costs, or lanes overlap");
        let (prefix_ns, end_ns) = (&self.prefix_ns[..=to], self.prefix_ns[to] + self.sync_ns);
        move |from| end_ns - prefix_ns[from]
    }

    /// What a task adds to the work of a stage at least, without handing over; `None` where it cannot run on the kind.
    #[inline]
    pub(super) fn task_ns(self, task: usize) -> Option<u64> {
        let task_ns = self.prefix_ns[task + 1] - self.prefix_ns[task];
        let shared_ns = self.lanes.map_or(task_ns, |(overlap, _)| overlap.least_ns(task_ns));
        self.can_run(task, task + 1).then_some(shared_ns)
    }

    /// Where the longest stage ends that begins at `from`, ends at `end` or before, can run on the kind and has at most
    /// `max_ns` of work: `from` where the first task alone cannot, or has more.
    pub(super) fn reach(self, from: usize, end: usize, max_ns: u64) -> usize {
        let Some(tasks_ns) = max_ns.checked_sub(self.sync_ns) else { return from };
        let end = self.runnable_to(from, end);
        let prefix_limit = self.prefix_ns[from].saturating_add(tasks_ns);
        from + self.prefix_ns[from + 1..=end].partition_point(|&prefix_ns| prefix_ns <= prefix_limit)
    }
}

/// For each `to`, the first `from` such that all tasks of `from..to` may be replicated.
pub(super) fn run_starts(profile: &Profile) -> Vec<usize> {
    let mut starts = Vec::with_capacity(profile.tasks().len() + 1);
    starts.push(0);
    for (index, task) in profile.tasks().iter().enumerate() {
        starts.push(if task.replicable { starts[index] } else { index + 1 });
    }
    starts
}

/// Whether the first work, shared by the first cores, takes less time than the second.
#[inline]
pub(super) fn less(a: (u64, usize), b: (u64, usize)) -> bool {
    u128::from(a.0) * (b.1 as u128) < u128::from(b.0) * (a.1 as u128)
}

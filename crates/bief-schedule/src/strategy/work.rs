//! The work of stages on one kind of cores, where they may be replicated, and which of two takes less time.

use crate::profile::Profile;

/// What the runs of tasks `from..to` of a chain cost on cores of one kind, hand-over included.
#[derive(Debug, Clone, Copy)]
pub(super) struct Work<'a> {
    /// The work of the first 0, 1, … n tasks.
    prefix_ns: &'a [u64],
    sync_ns: u64,
}

impl<'a> Work<'a> {
    pub(super) fn new(profile: &'a Profile, kind: usize) -> Self {
        Self { prefix_ns: profile.prefix_ns(kind), sync_ns: profile.sync_ns(kind) }
    }

    /// How many tasks the chain has.
    pub(super) fn tasks(self) -> usize {
        self.prefix_ns.len() - 1
    }

    /// The work of a stage of the tasks `from..to`, in nanoseconds.
    #[inline]
    pub(super) fn ns(self, from: usize, to: usize) -> u64 {
        self.prefix_ns[to] - self.prefix_ns[from] + self.sync_ns
    }

    /// The work of a stage that ends before the task `to`, by where it begins.
    #[inline]
    pub(super) fn ending_at(self, to: usize) -> impl Fn(usize) -> u64 {
        let (prefix_ns, end_ns) = (&self.prefix_ns[..=to], self.prefix_ns[to] + self.sync_ns);
        move |from| end_ns - prefix_ns[from]
    }

    /// The work of each task, without handing over.
    pub(super) fn tasks_ns(self) -> impl Iterator<Item = u64> + use<'a> {
        self.prefix_ns.windows(2).map(|pair| pair[1] - pair[0])
    }

    /// Where the longest stage ends that begins at `from`, ends at `end` or before, and has at most `most_ns`
    /// of work: `from` where the first task alone has more.
    pub(super) fn reach(self, from: usize, end: usize, most_ns: u64) -> usize {
        let Some(tasks_ns) = most_ns.checked_sub(self.sync_ns) else { return from };
        let prefix_limit = self.prefix_ns[from].saturating_add(tasks_ns);
        from + self.prefix_ns[from + 1..=end].partition_point(|&prefix_ns| prefix_ns <= prefix_limit)
    }
}

/// For each `to`, the first `from` such that all tasks of `from..to` may be replicated.
pub(super) fn run_starts(profile: &Profile) -> Vec<usize> {
    let mut starts = vec![0];
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

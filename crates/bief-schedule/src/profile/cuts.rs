//! What it costs to cut a chain.

use std::ops::Range;

use super::{Profile, TaskProfile};

/// What a stage on cores of one kind costs by where it begins and ends, beside its tasks and its hand-over.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Cuts {
    /// For each task that a stage may begin with; 0 for the first, behind no cut.
    pub(crate) enter_ns: Vec<u64>,
    /// For each `to` from 0 to n, of a stage that ends before task `to`; 0 for the end of the chain, and for no task at all.
    pub(crate) leave_ns: Vec<u64>,
}

impl Profile {
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

    /// What cutting costs on cores of `kind`; `None` where no cut costs anything, on any kind.
    pub(crate) fn cuts(&self, kind: usize) -> Option<&Cuts> {
        self.cuts.as_ref().map(|cuts| &cuts[kind])
    }
}

impl Cuts {
    pub(super) fn of(tasks: &[TaskProfile], kind: usize) -> Self {
        let last = tasks.len() - 1;
        let of_kind = |ns: &Option<Vec<u64>>| ns.as_ref().map_or(0, |ns| ns[kind]);
        let enter = |(index, task): (usize, &TaskProfile)| if index == 0 { 0 } else { of_kind(&task.enter_ns) };
        let leave = |(index, task): (usize, &TaskProfile)| if index == last { 0 } else { of_kind(&task.leave_ns) };
        let leave_ns = std::iter::once(0).chain(tasks.iter().enumerate().map(leave)).collect();
        // A stage of no tasks at the end of the chain has no work.
        Self { enter_ns: tasks.iter().enumerate().map(enter).chain([0]).collect(), leave_ns }
    }

    pub(super) fn cost(&self) -> bool {
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

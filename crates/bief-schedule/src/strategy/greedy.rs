//! What the greedy strategies share: the search for a period, and the stage that is built next.
//!
//! These are Algorithms 1 to 3 of Idouar et al., *Energy-Aware Scheduling Strategies for Partially-Replicable
//! Task Chains on Heterogeneous Processors*, with these corrections of the printed text:
//!
//! - The lower bound takes the heaviest sequential task, not the heaviest task, and for each task the kind of
//!   cores that is fastest for it.
//! - The upper bound is none for many light sequential tasks on few cores. Where no period below it can be kept,
//!   it is doubled until one can, at most to the period of the whole chain on one core.
//! - A stage gives its last tasks to the next stage (Algorithm 2, lines 9 to 11) only if what is left of it keeps
//!   the period on one core fewer.
//! - A stage ends before a task that cannot run on its kind of cores; where some kind cannot run some task, the last period
//!   that is tried is that in which every stage fits on one core.
//! - A stage cut short for want of cores (line 7) has the cores that it then needs, not all that are left.

use super::work::{Work, less};
use crate::error::Error;
use crate::profile::Profile;
use crate::schedule::Stage;

/// The most kinds of cores that the greedy strategies use together.
pub(super) const MAX_KINDS: usize = 2;

/// For each kind of cores, the most power-hungry first, how many; 0 for a kind that there is not.
pub(super) type Cores = [u32; MAX_KINDS];

/// A chain and the cores to schedule it on.
///
/// Tasks are numbered from 0, kinds by their position among those that have cores.
pub(super) struct Greedy<'a> {
    profile: &'a Profile,
    kinds: Vec<Kind<'a>>,
    /// For each task, the first sequential one from there on, or the end of the chain.
    run_end: Vec<usize>,
}

struct Kind<'a> {
    /// The position among the kinds of the profile.
    in_profile: usize,
    cores: u32,
    work: Work<'a>,
}

/// A stage from a task that the context knows up to, without it, the task `to`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct GreedyStage {
    pub(super) to: usize,
    pub(super) cores: u32,
    pub(super) kind: usize,
}

/// The stage to build where enough cores are left.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wide {
    /// The cores that must be left; the stage may leave one of them to the next.
    needs: u32,
    stage: GreedyStage,
}

/// A time in units of 2^-48 ns: fine enough to tell the periods of [`MAX_CORES`](crate::Platform::MAX_CORES)
/// cores apart, and coarse enough that the work of so many cores in 2^65 ns is below 2^128.
type Fine = u128;

const PLACES: u32 = 48;

/// `work_ns` shared by `cores`, rounded down.
fn fine(work_ns: u64, cores: u32) -> Fine {
    (Fine::from(work_ns) << PLACES) / Fine::from(cores)
}

/// A period to keep.
#[derive(Debug, Clone, Copy)]
pub(super) struct Target {
    period: Fine,
    /// The work that one core does in it, in whole nanoseconds.
    core_ns: u64,
}

impl Target {
    fn new(period: Fine) -> Self {
        Self { period, core_ns: Self::whole_ns(period) }
    }

    fn whole_ns(work: Fine) -> u64 {
        u64::try_from(work >> PLACES).unwrap_or(u64::MAX)
    }

    /// The work that `cores` cores do in the period, in whole nanoseconds.
    fn capacity_ns(self, cores: u32) -> u64 {
        Self::whole_ns(self.period * Fine::from(cores))
    }

    /// The fewest cores that share `work_ns` in the period; `None` where `most` do not suffice.
    fn required_cores(self, work_ns: u64, most: u32) -> Option<u32> {
        let suffice = |cores: u32| Fine::from(work_ns) << PLACES <= self.period * Fine::from(cores);
        if most == 0 || !suffice(most) {
            return None;
        }
        // The quotient of rounded numbers is at most a step or two away, and found faster than an exact one.
        let guess = (work_ns as f64 / (self.period as f64 / (1u64 << PLACES) as f64)).ceil();
        let mut cores = (guess as u32).clamp(1, most);
        while !suffice(cores) {
            cores += 1;
        }
        while cores > 1 && suffice(cores - 1) {
            cores -= 1;
        }
        Some(cores)
    }
}

impl<'a> Greedy<'a> {
    /// `given` names the kinds by their position in the profile, and has one or two with at least one core each.
    pub(super) fn new(profile: &'a Profile, given: &[(usize, u32)]) -> Self {
        assert!((1..=MAX_KINDS).contains(&given.len()), "greedy strategies are for one kind or two");
        let tasks = profile.tasks();
        let mut run_end = vec![tasks.len(); tasks.len()];
        let mut end = tasks.len();
        for (index, task) in tasks.iter().enumerate().rev() {
            if !task.replicable {
                end = index;
            }
            run_end[index] = end;
        }
        let kinds = given.iter().map(|&(kind, cores)| Kind { in_profile: kind, cores, work: Work::new(profile, kind) });
        Self { profile, kinds: kinds.collect(), run_end }
    }

    /// How many tasks the chain has.
    pub(super) fn tasks(&self) -> usize {
        self.run_end.len()
    }

    /// How many kinds have cores.
    pub(super) fn kinds(&self) -> usize {
        self.kinds.len()
    }

    /// The cores of each kind.
    pub(super) fn cores(&self) -> Cores {
        let mut cores = Cores::default();
        for (cores, kind) in cores.iter_mut().zip(&self.kinds) {
            *cores = kind.cores;
        }
        cores
    }

    /// Searches the shortest period that `solve` keeps (Algorithm 1), by halving, until a shorter one would be
    /// shorter by less than `1 / precision` nanoseconds; `precision` is at most 2^30. Returns the stages for it.
    ///
    /// `solve` (ComputeSolution) adds the stages that keep a period, on no more cores than there are, to an
    /// empty list and returns true, or returns false where it finds none. In the period of the whole chain on
    /// one core it must find some. Where no kind runs the whole chain it may find none in any period: then this returns
    /// `None`.
    ///
    /// # Errors
    ///
    /// The first that `solve` meets.
    pub(super) fn search(
        &self,
        precision: u32,
        mut solve: impl FnMut(Target, &mut Vec<GreedyStage>) -> Result<bool, Error>,
    ) -> Result<Option<Vec<Stage>>, Error> {
        let epsilon = fine(1, precision);
        let (mut low, mut high) = self.bounds();
        let (mut best, mut stages) = (Vec::new(), Vec::new());
        let mut period = (low + high) / 2;
        loop {
            stages.clear();
            if solve(Target::new(period), &mut stages)? {
                std::mem::swap(&mut best, &mut stages);
                high = self.period(&best);
            } else {
                low = period;
            }
            period = if high >= low + epsilon {
                (low + high) / 2
            } else if !best.is_empty() {
                return Ok(Some(self.named(&best)));
            } else if period == self.longest() {
                return Ok(None);
            } else {
                high = (2 * high).min(self.longest());
                high
            };
        }
    }

    /// The first bounds of the period (Algorithm 1, lines 1 and 2).
    fn bounds(&self) -> (Fine, Fine) {
        let cores: u32 = self.kinds.iter().map(|kind| kind.cores).sum();
        let works = || self.kinds.iter().map(|kind| kind.work);
        let (mut all_ns, mut sequential_ns, mut heaviest_ns) = (0, 0, 0);
        for task in 0..self.tasks() {
            let stage_ns = || works().filter_map(|work| Some(work.task_ns(task)? + work.ns(task, task)));
            let task_ns = works().filter_map(|work| work.task_ns(task));
            all_ns += task_ns.min().unwrap_or(0);
            heaviest_ns = stage_ns().max().unwrap_or(0).max(heaviest_ns);
            if self.run_end[task] == task {
                sequential_ns = stage_ns().min().unwrap_or(0).max(sequential_ns);
            }
        }
        // At least one stage hands over.
        all_ns += works().map(|work| work.ns(0, 0)).min().unwrap_or(0);
        let low = fine(all_ns, cores).max(fine(sequential_ns, 1));
        (low, low + fine(heaviest_ns, 1))
    }

    /// The longest period to try: that of the whole chain on the fastest single core, or, where none runs the whole chain,
    /// one in which every stage fits on one core.
    fn longest(&self) -> Fine {
        let one_core_ns = self.kinds.iter().filter_map(|kind| kind.work.all_ns()).min();
        let any_stage_ns = self.kinds.iter().map(|kind| kind.work.max_ns()).max();
        fine(one_core_ns.or(any_stage_ns).expect("a platform has a core"), 1)
    }

    /// The period of the slowest stage (eq. 2).
    fn period(&self, stages: &[GreedyStage]) -> Fine {
        let (mut from, mut slowest) = (0, (0, 1));
        for stage in stages {
            let load = (self.kinds[stage.kind].work.ns(from, stage.to), stage.cores as usize);
            if less(slowest, load) {
                slowest = load;
            }
            from = stage.to;
        }
        fine(slowest.0, slowest.1 as u32)
    }

    fn named(&self, stages: &[GreedyStage]) -> Vec<Stage> {
        let mut from = 0;
        let name = |stage: &GreedyStage| {
            let tasks = stage.to - from;
            from = stage.to;
            let kind = self.kinds[stage.kind].in_profile;
            Stage::new(tasks, stage.cores, self.profile.kinds()[kind].as_str())
        };
        stages.iter().map(name).collect()
    }

    /// Builds each stage on cores of the least power-hungry kind that can keep the period (Algorithm 4). On
    /// cores of one kind this finds stages wherever there are some.
    pub(super) fn least_power_first(&self, target: Target, stages: &mut Vec<GreedyStage>) -> bool {
        let mut left = self.cores();
        let mut from = 0;
        while from < self.tasks() {
            let with_cores = (0..self.kinds()).rev().filter(|&kind| left[kind] > 0);
            let mut built =
                with_cores.map(|kind| self.stage(from, left[kind], kind, target, self.wide_stage(from, kind, target)));
            let Some(stage) = built.find_map(|stage| stage) else { return false };
            left[stage.kind] -= stage.cores;
            from = stage.to;
            stages.push(stage);
        }
        true
    }

    /// The stage from `from` on, with `left` cores of `kind` left (Algorithm 2), which keeps the period;
    /// `None` where there is none. `wide` is the [`wide_stage`](Self::wide_stage) there.
    pub(super) fn stage(
        &self,
        from: usize,
        left: u32,
        kind: usize,
        target: Target,
        wide: Option<Wide>,
    ) -> Option<GreedyStage> {
        match wide {
            Some(wide) if wide.needs <= left => Some(wide.stage),
            _ => self.short_stage(from, left, kind, target),
        }
    }

    /// The stage from `from` on if there are cores enough for it, `None` where `kind` has not so many: the
    /// longest on one core, or, where that ends among replicable tasks, all of those.
    pub(super) fn wide_stage(&self, from: usize, kind: usize, target: Target) -> Option<Wide> {
        let Kind { cores, work, .. } = self.kinds[kind];
        let run_end = work.runnable_to(from, self.run_end[from]);
        let one_core_end = work.reach(from, self.tasks(), target.core_ns);
        if one_core_end > from && one_core_end >= run_end {
            return Some(Wide { needs: 1, stage: GreedyStage { to: one_core_end, cores: 1, kind } });
        }
        if run_end == from {
            return None;
        }
        let needs = target.required_cores(work.ns(from, run_end), cores)?;
        let mut stage = GreedyStage { to: run_end, cores: needs, kind };
        if run_end < self.tasks() && work.can_run(run_end, run_end + 1) {
            // A sequential task follows: with the last tasks of this stage it may still need but one core. With
            // all of them it needs more, so that what is kept is never empty.
            let cut = work.reach(from, run_end, target.capacity_ns(needs - 1));
            if work.ns(cut, run_end + 1) <= target.core_ns {
                stage = GreedyStage { to: cut, cores: needs - 1, kind };
            }
        }
        Some(Wide { needs, stage })
    }

    /// As many replicable tasks from `from` on as `left` cores can take.
    fn short_stage(&self, from: usize, left: u32, kind: usize, target: Target) -> Option<GreedyStage> {
        let work = self.kinds[kind].work;
        let to = work.reach(from, self.run_end[from], target.capacity_ns(left));
        if to == from {
            return None;
        }
        let cores = target.required_cores(work.ns(from, to), left)?;
        Some(GreedyStage { to, cores, kind })
    }
}

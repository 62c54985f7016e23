//! 2CATAC: each stage on both kinds of cores, and the better of the two.

use super::greedy::{Cores, Greedy, GreedyStage, MAX_KINDS, Target, Wide};
use super::{Capabilities, Strategy, given_cores, no_schedule};
use crate::error::{Error, ErrorKind};
use crate::platform::Platform;
use crate::profile::{Profile, counted};
use crate::schedule::Schedule;

/// A short period on cores of two kinds: each stage is tried on either, and what trades big cores for little ones
/// is kept, or else what uses fewer cores.
///
/// *Two-Choice Allocation for Task Chains* (Algorithms 5 and 6 of Idouar et al., *Energy-Aware Scheduling
/// Strategies for Partially-Replicable Task Chains on Heterogeneous Processors*) halves an interval of periods
/// down to `1 / (big + little)` nanoseconds, and packs each stage as [`Otac`](super::Otac) does. The packing is
/// greedy, so that the period may be longer than the shortest. The published errors are corrected.
///
/// Of two ways that use the same number of cores, the one that changes the kind after a stage is taken, and the
/// one that begins on little cores at the start: so does the implementation behind the published results, while
/// the printed text always prefers little cores.
///
/// The first kind of the profile that has cores is big, the second little; with cores of one kind only, all
/// stages are on them.
///
/// The published recursion doubles with each stage. What follows a stage depends on no more than where it ends
/// and the cores that are left, though, so that each such state is solved once: one period is tried in time
/// proportional to the states, of which there are at most `tasks · (big + 1) · (little + 1)`, and in practice
/// a small part of these.
///
/// ```
/// use bief_schedule::strategy::TwoCatac;
/// use bief_schedule::{Period, Platform, Profile, Stage, Strategy, TaskProfile};
///
/// let profile = Profile::new(
///     ["big", "little"],
///     [
///         TaskProfile::sequential("receive", [200, 300]),
///         TaskProfile::replicable("filter", [600, 900]),
///         TaskProfile::sequential("send", [500, 500]),
///     ],
/// )?;
/// let schedule = TwoCatac.schedule(&profile, &Platform::parse_cores("big=2,little=2", &profile)?)?;
/// assert_eq!(schedule.planned_period(), Period::from(500));
/// let stages = [Stage::new(1, 1, "little"), Stage::new(1, 2, "big"), Stage::new(1, 1, "little")];
/// assert_eq!(schedule.stages(), stages);
/// # Ok::<(), bief_schedule::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TwoCatac;

/// More states than chains of a thousand tasks have on a hundred cores, in less than a gigabyte.
const MAX_STATES: usize = 1 << 22;

/// The most states of all periods that are tried together: some ten seconds.
const MAX_SOLVED: usize = 1 << 26;

/// Positions of the two kinds of cores.
const BIG: usize = 0;
const LITTLE: usize = 1;

impl Strategy for TwoCatac {
    fn name(&self) -> &'static str {
        "two_catac"
    }

    fn summary(&self) -> &'static str {
        "A short period on two kinds of cores, the better kind chosen for each stage."
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities { max_kinds: MAX_KINDS, absent_times: true, ..Capabilities::default() }
    }

    fn schedule(&self, profile: &Profile, platform: &Platform) -> Result<Schedule, Error> {
        let greedy = Greedy::new(profile, &given_cores(self, profile, platform)?);
        let precision = greedy.cores().iter().sum();
        let mut table = Table::new(&greedy);
        let stages = greedy.search(precision, |target, stages| {
            if !table.fill(target) {
                let reason = format!(
                    "the {} have too many schedules on these cores to try: give fewer cores, or take `exact`",
                    counted(greedy.tasks(), "task")
                );
                return Err(Error::new(ErrorKind::Strategy, format!("strategy `{}`", self.name()), reason));
            }
            Ok(table.take_best(stages))
        })?;
        let stages = stages.ok_or_else(|| no_schedule(self, "take `exact`, or give more cores"))?;
        Schedule::new(self.name(), stages, profile)
    }
}

/// What can be done in the period that is being tried.
struct Table<'a> {
    greedy: &'a Greedy<'a>,
    /// What can be done where some tasks are left for some cores, in the order of the first of the tasks.
    states: Vec<Choices>,
    /// For each first task, the ways to get there.
    arrivals: Vec<Vec<Arrival>>,
    /// How many states were solved, in all periods so far.
    solved: usize,
}

/// For each kind of cores, what begins with a stage on it, if that keeps the period.
type Choices = [Option<Choice>; MAX_KINDS];

#[derive(Clone, Copy)]
struct Choice {
    stage: GreedyStage,
    /// The state after the stage; none where it ends the chain.
    next: usize,
    /// The kind to choose there.
    next_kind: usize,
    /// The cores that the stage and all after it use.
    used: Cores,
}

/// A state that has been reached by a stage.
struct Arrival {
    left: Cores,
    /// The state before the stage, and the stage's kind.
    before: usize,
    kind: usize,
}

impl<'a> Table<'a> {
    fn new(greedy: &'a Greedy<'a>) -> Self {
        let arrivals = (0..greedy.tasks()).map(|_| Vec::new()).collect();
        Self { greedy, states: Vec::new(), arrivals, solved: 0 }
    }

    /// Finds all states of a period and what is best in each; false where they are too many.
    fn fill(&mut self, target: Target) -> bool {
        self.states.clear();
        for from in 0..self.greedy.tasks() {
            if !self.visit(from, target) {
                return false;
            }
        }
        for state in (0..self.states.len()).rev() {
            self.solve(state);
        }
        self.solved += self.states.len();
        self.solved <= MAX_SOLVED
    }

    /// Makes a state of each number of cores that can be left for the tasks from `from` on.
    fn visit(&mut self, from: usize, target: Target) -> bool {
        let mut arrivals = std::mem::take(&mut self.arrivals[from]);
        arrivals.sort_unstable_by_key(|arrival| arrival.left);
        let mut wide = [None; MAX_KINDS];
        if from == 0 || !arrivals.is_empty() {
            for (kind, wide) in wide.iter_mut().enumerate().take(self.greedy.kinds()) {
                *wide = self.greedy.wide_stage(from, kind, target);
            }
        }
        if from == 0 {
            self.open(0, self.greedy.cores(), &wide, target);
        }
        for same in arrivals.chunk_by(|a, b| a.left == b.left) {
            if self.states.len() == MAX_STATES {
                return false;
            }
            let next = self.states.len();
            for arrival in same {
                let choice = &mut self.states[arrival.before][arrival.kind];
                choice.as_mut().expect("a stage led here").next = next;
            }
            self.open(from, same[0].left, &wide, target);
        }
        arrivals.clear();
        self.arrivals[from] = arrivals;
        true
    }

    /// Adds a state and builds its first stage on each kind of cores.
    fn open(&mut self, from: usize, left: Cores, wide: &[Option<Wide>; MAX_KINDS], target: Target) {
        let before = self.states.len();
        let mut choices = [None; MAX_KINDS];
        for kind in 0..self.greedy.kinds() {
            let Some(stage) = self.greedy.stage(from, left[kind], kind, target, wide[kind]) else { continue };
            let mut used = Cores::default();
            used[kind] = stage.cores;
            choices[kind] = Some(Choice { stage, next: 0, next_kind: LITTLE, used });
            if stage.to < self.greedy.tasks() {
                let mut left = left;
                left[kind] -= stage.cores;
                self.arrivals[stage.to].push(Arrival { left, before, kind });
            }
        }
        self.states.push(choices);
    }

    /// Chooses what follows each first stage of a state; the states after it are solved.
    fn solve(&mut self, state: usize) {
        for kind in 0..self.greedy.kinds() {
            let Some(mut choice) = self.states[state][kind] else { continue };
            let mut solved = true;
            if choice.stage.to < self.greedy.tasks() {
                match best(&self.states[choice.next], kind) {
                    Some((next_kind, rest)) => {
                        choice.next_kind = next_kind;
                        for (used, rest) in choice.used.iter_mut().zip(rest.used) {
                            *used += rest;
                        }
                    }
                    None => solved = false,
                }
            }
            self.states[state][kind] = solved.then_some(choice);
        }
    }

    /// Adds the stages of the best solution, if there is one.
    fn take_best(&self, stages: &mut Vec<GreedyStage>) -> bool {
        let Some((_, mut choice)) = best(&self.states[0], BIG) else { return false };
        loop {
            stages.push(choice.stage);
            if choice.stage.to == self.greedy.tasks() {
                return true;
            }
            let next = self.states[choice.next][choice.next_kind];
            choice = next.expect("a solution leads to solved states only");
        }
    }
}

/// The better of the choices and its kind (Algorithm 6); of equals, the one not of the `last` kind.
fn best(choices: &Choices, last: usize) -> Option<(usize, Choice)> {
    let other = if last == BIG { LITTLE } else { BIG };
    let choice = |kind: usize| choices[kind].map(|choice| (kind, choice));
    match (choice(last), choice(other)) {
        (Some(same), Some(changed)) if is_better(same.1.used, changed.1.used) => Some(same),
        (same, changed) => changed.or(same),
    }
}

/// Whether cores are better used: little ones in place of big ones, or else fewer in all.
fn is_better(used: Cores, than: Cores) -> bool {
    if used[LITTLE] > than[LITTLE] && used[BIG] < than[BIG] {
        return true;
    }
    if used[LITTLE] < than[LITTLE] && used[BIG] > than[BIG] {
        return false;
    }
    used.iter().sum::<u32>() < than.iter().sum()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::tests::{chains_with, pairs, tasks_of};
    use super::{Strategy, *};

    /// Algorithms 5 and 6 as they are printed, but for the preference among equals: a recursion that solves
    /// every state as often as it is met.
    struct Recursion<'a> {
        greedy: &'a Greedy<'a>,
        target: Target,
    }

    impl Recursion<'_> {
        /// The stages from the last to the first, and the cores that they use.
        fn solve(&self, from: usize, left: Cores, last: usize) -> Option<(Vec<GreedyStage>, Cores)> {
            let mut solutions = [BIG, LITTLE].map(|kind| {
                let wide = self.greedy.wide_stage(from, kind, self.target);
                let stage = self.greedy.stage(from, left[kind], kind, self.target, wide)?;
                let mut rest = left;
                rest[kind] -= stage.cores;
                let (mut stages, mut used) = match stage.to == self.greedy.tasks() {
                    true => (Vec::new(), Cores::default()),
                    false => self.solve(stage.to, rest, kind)?,
                };
                stages.push(stage);
                used[kind] += stage.cores;
                Some((stages, used))
            });
            let other = if last == BIG { LITTLE } else { BIG };
            match (solutions[last].take(), solutions[other].take()) {
                (Some(same), Some(changed)) if is_better(same.1, changed.1) => Some(same),
                (same, changed) => changed.or(same),
            }
        }
    }

    proptest! {
        #[test]
        fn the_table_holds_what_the_recursion_finds(
            tasks in chains_with(12, pairs),
            cores in [1u32..=8, 1u32..=8],
        ) {
            let profile = Profile::new(["big", "little"], tasks_of(&tasks)).unwrap();
            let greedy = Greedy::new(&profile, &[(BIG, cores[BIG]), (LITTLE, cores[LITTLE])]);
            let mut table = Table::new(&greedy);
            let periods = greedy.search(16, |target, stages| {
                assert!(table.fill(target));
                let found = table.take_best(stages);
                let mut expected = Recursion { greedy: &greedy, target }.solve(0, greedy.cores(), BIG);
                if let Some((expected, _)) = &mut expected {
                    expected.reverse();
                }
                assert_eq!(expected.map(|(stages, _)| stages), found.then(|| stages.clone()));
                Ok(found)
            });
            prop_assert!(periods.is_ok());
        }
    }

    /// Each stage needs another number of cores on either kind, so that each choice leaves others.
    #[test]
    #[ignore = "long: part of .ci/run"]
    fn too_many_states_are_refused() {
        let tasks: Vec<_> =
            (0..48).flat_map(|bit| [(true, [1 << (bit % 8), 3 << (bit % 8)]), (false, [1, 1])]).collect();
        let profile = Profile::new(["big", "little"], tasks_of(&tasks)).unwrap();
        let platform = Platform::parse_cores("big=16000,little=16000", &profile).unwrap();
        let error = TwoCatac.schedule(&profile, &platform).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Strategy);
        assert!(error.reason().ends_with("give fewer cores, or take `exact`"), "{error}");
    }
}

//! What tasks take now, beside what their profile says.

use bief_schedule::{Profile, TaskProfile};

use crate::error::Result;
use crate::watch::TaskTime;

/// A task counts as looked at on a kind once so many of its batches were timed there.
const MIN_SAMPLES: u64 = 5;
/// What a look says of a task's time beside what was known before, unless that is off by more than a jump: then it says all.
const NEW_SHARE: f64 = 0.5;
const JUMP: f64 = 1.25;

/// For each task and each kind its time over that of the profile, as it was seen there last.
///
/// Where a task has never run, what most of the work on a kind has in common is taken for the kind's, and the rest for the task's. What
/// was seen of a task on a kind stays right while it runs on another one, but for what it alone changes there.
pub(super) struct Times {
    /// Frames of a batch over those of an execution of the profile.
    scale: f64,
    seen: Vec<Vec<Seen>>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Seen {
    /// Since it was taken into account last.
    count: u64,
    ns: f64,
    planned_ns: f64,
    ratio: Option<f64>,
}

/// A task that a look found on a kind, and what its ratio is to that of before, if there was one.
struct Look {
    task: usize,
    kind: usize,
    change: Option<f64>,
}

impl Times {
    pub(super) fn new(profile: &Profile, scale: f64) -> Self {
        Self { scale, seen: vec![vec![Seen::default(); profile.kinds().len()]; profile.tasks().len()] }
    }

    /// Leaves out what was seen of another plan and not taken into account yet.
    pub(super) fn begin_anew(&mut self) {
        for seen in self.seen.iter_mut().flatten() {
            *seen = Seen { ratio: seen.ratio, ..Seen::default() };
        }
    }

    pub(super) fn learn(&mut self, profile: &Profile, times: &[TaskTime]) {
        for time in times.iter().filter(|time| time.count > 0) {
            let kind = time.kind.as_ref().map_or(Some(0), |name| profile.kind(name));
            let planned = kind.and_then(|kind| Some((kind, profile.tasks()[time.task].ns[kind]?)));
            let Some((kind, planned_ns)) = planned else { continue };
            let seen = &mut self.seen[time.task][kind];
            seen.count += time.count;
            seen.ns += time.ns as f64;
            seen.planned_ns += self.scale * planned_ns as f64 * time.count as f64;
        }
        let looks = self.looks(profile);
        for kind in 0..profile.kinds().len() {
            let here = || looks.iter().filter(|look| look.kind == kind);
            let weight = |task: usize| profile.tasks()[task].ns[kind].unwrap_or_default();
            let changes = here().filter_map(|look| Some((look.change?, weight(look.task))));
            let Some(common) = weighted_median(changes.collect()) else { continue };
            for look in here() {
                let is_here = |other: usize| looks.iter().any(|seen| (seen.task, seen.kind) == (look.task, other));
                let Some(change) = look.change else { continue };
                for (_, seen) in self.seen[look.task].iter_mut().enumerate().filter(|&(other, _)| !is_here(other)) {
                    seen.ratio = seen.ratio.map(|ratio| ratio * change / common);
                }
            }
        }
    }

    /// Takes into account what was seen often enough.
    fn looks(&mut self, profile: &Profile) -> Vec<Look> {
        let mut looks = Vec::new();
        let kinds = self.kinds(profile);
        for task in 0..self.seen.len() {
            for kind in 0..kinds.len() {
                let Seen { count, ns, planned_ns, ratio } = self.seen[task][kind];
                if count < MIN_SAMPLES || planned_ns <= 0.0 {
                    continue;
                }
                let before = self.ratio(task, kind, &kinds);
                let seen = ns / planned_ns;
                let is_jump = !(1.0 / JUMP..=JUMP).contains(&(seen / before));
                let now = if is_jump { seen } else { before + NEW_SHARE * (seen - before) };
                looks.push(Look { task, kind, change: ratio.map(|ratio| now / ratio) });
                self.seen[task][kind] = Seen { ratio: Some(now), ..Seen::default() };
            }
        }
        looks
    }

    /// What most of the work on each kind has in common.
    fn kinds(&self, profile: &Profile) -> Vec<f64> {
        let common = |kind: usize| {
            let tasks = self.seen.iter().zip(profile.tasks());
            let ratios = tasks.filter_map(|(seen, task)| Some((seen[kind].ratio?, task.ns[kind]?)));
            weighted_median(ratios.collect()).unwrap_or(1.0)
        };
        (0..profile.kinds().len()).map(common).collect()
    }

    fn ratio(&self, task: usize, kind: usize, kinds: &[f64]) -> f64 {
        if let Some(ratio) = self.seen[task][kind].ratio {
            return ratio;
        }
        let elsewhere = self.seen[task].iter().zip(kinds).filter_map(|(seen, common)| Some(seen.ratio? / common));
        let (sum, count) = elsewhere.fold((0.0, 0), |(sum, count), own| (sum + own, count + 1));
        kinds[kind] * if count > 0 { sum / f64::from(count) } else { 1.0 }
    }

    /// The profile with the times of now.
    pub(super) fn corrected(&self, profile: &Profile) -> Result<Profile> {
        let kinds = self.kinds(profile);
        let tasks = profile.tasks().iter().enumerate().map(|(number, task)| {
            let now = |(kind, ns): (usize, &Option<u64>)| {
                ns.map(|ns| ((ns as f64 * self.ratio(number, kind, &kinds)).round() as u64).max(1))
            };
            TaskProfile { seen: None, ns: task.ns.iter().enumerate().map(now).collect(), ..task.clone() }
        });
        Ok(profile.clone().with_tasks(tasks)?)
    }

    /// Words for the task whose time is farthest from what the profile says.
    pub(super) fn farthest(&self, profile: &Profile) -> String {
        let ratios =
            self.seen.iter().enumerate().flat_map(|(task, kinds)| kinds.iter().map(move |seen| (task, seen.ratio)));
        let known = ratios.filter_map(|(task, ratio)| Some((task, ratio?)));
        let most = known.max_by(|a, b| a.1.ln().abs().total_cmp(&b.1.ln().abs()));
        let Some((task, ratio)) = most else { return "nothing was timed yet".to_owned() };
        format!("`{}` takes {ratio:.2} times as long as it was measured", profile.tasks()[task].name)
    }
}

/// The value that half of all weight lies on either side of.
fn weighted_median(mut values: Vec<(f64, u64)>) -> Option<f64> {
    values.sort_by(|a, b| a.0.total_cmp(&b.0));
    let all: u128 = values.iter().map(|&(_, weight)| u128::from(weight)).sum();
    let mut below = 0;
    let reaches_half = |&(_, weight): &(f64, u64)| {
        below += u128::from(weight);
        2 * below >= all
    };
    values.into_iter().find(reaches_half).map(|(value, _)| value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn profile() -> Profile {
        let task = |(name, ns): (&str, u64)| TaskProfile::replicable(name, [ns, 2 * ns]);
        Profile::new(["big", "little"], [("a", 10_000), ("b", 4_000), ("c", 5_000)].map(task)).unwrap()
    }

    /// What 20 batches took of each of these tasks on a kind, in us.
    fn times(kind: &str, us: &[(usize, u64)]) -> Vec<TaskTime> {
        let time = |&(task, us)| TaskTime { task, kind: Some(kind.to_owned()), ns: us * 1000 * 20, count: 20 };
        us.iter().map(time).collect()
    }

    /// Microseconds of each task on each kind, once these times were seen often.
    fn corrected(times: &mut Times, seen: &[TaskTime]) -> Vec<[u64; 2]> {
        (0..20).for_each(|_| times.learn(&profile(), seen));
        let corrected = times.corrected(&profile()).unwrap();
        let us = |ns: Option<u64>| (ns.unwrap() + 500) / 1000;
        corrected.tasks().iter().map(|task| [us(task.ns[0]), us(task.ns[1])]).collect()
    }

    #[test]
    fn what_all_work_on_a_kind_has_in_common_is_the_kinds() {
        let mut times = Times::new(&profile(), 1.0);
        let seen = self::times("big", &[(0, 20), (1, 8), (2, 10)]);
        assert_eq!(corrected(&mut times, &seen), [[20, 20], [8, 8], [10, 10]], "the little cores are as they were");
        assert_eq!(times.farthest(&profile()), "`c` takes 2.00 times as long as it was measured");
    }

    #[test]
    fn what_one_task_takes_more_is_the_tasks() {
        let mut times = Times::new(&profile(), 1.0);
        let seen = self::times("big", &[(0, 10), (1, 16), (2, 5)]);
        assert_eq!(corrected(&mut times, &seen), [[10, 20], [16, 32], [5, 10]]);
    }

    #[test]
    fn a_task_that_another_plan_takes_elsewhere_shows_whose_it_was() {
        let mut times = Times::new(&profile(), 1.0);
        // Task 0, most of the work, is slower, and not the big cores.
        corrected(&mut times, &self::times("big", &[(0, 40), (1, 4), (2, 5)]));
        let elsewhere = [self::times("little", &[(0, 80)]), self::times("big", &[(1, 4), (2, 5)])].concat();
        assert_eq!(corrected(&mut times, &elsewhere), [[40, 80], [4, 8], [5, 10]]);
        let elsewhere = [self::times("little", &[(0, 40)]), self::times("big", &[(1, 4), (2, 5)])].concat();
        assert_eq!(corrected(&mut times, &elsewhere)[0][1], 40);
    }

    #[test]
    fn few_samples_are_collected() {
        let mut times = Times::new(&profile(), 1.0);
        let one = TaskTime { task: 2, kind: Some("big".into()), ns: 10_000, count: 1 };
        for look in 1..=MIN_SAMPLES {
            assert_eq!(times.seen[2][0].ratio, None, "before look {look}");
            times.learn(&profile(), std::slice::from_ref(&one));
        }
        assert_eq!(times.seen[2][0].ratio, Some(2.0), "a jump is taken whole");
        let close = TaskTime { ns: 11_000 * MIN_SAMPLES, count: MIN_SAMPLES, ..one };
        times.learn(&profile(), &[close]);
        assert!((times.seen[2][0].ratio.unwrap() - 2.1).abs() < 1e-9, "{:?}", times.seen[2][0].ratio);
    }

    #[test]
    fn half_of_the_weight_lies_on_either_side() {
        assert_eq!(weighted_median(vec![(3.0, 1), (1.0, 1), (2.0, 1)]), Some(2.0));
        assert_eq!(weighted_median(vec![(1.0, 1), (9.0, 5), (2.0, 1)]), Some(9.0));
        assert_eq!(weighted_median(Vec::new()), None);
    }
}

//! Plan, run, correct, plan again: until a run keeps its plan, or no better plan is left.

use bief_schedule::{Profile, Schedule};
use serde::Serialize;

use crate::error::Result;
use crate::report::Report;

/// A run is as planned when its period differs from the planned one by less than this share.
const AS_PLANNED: f64 = 0.01;

/// The rounds of [`Planner::refine`](crate::Planner::refine) and its best plan.
#[derive(Debug, Clone, Serialize)]
pub struct Refined {
    /// The last profile, corrected by what was run.
    pub profile: Profile,
    /// The schedule of the shortest measured period, with the period that the last profile promises for it.
    pub schedule: Schedule,
    /// What was run, in order.
    pub rounds: Vec<Round>,
    /// Why there are no more rounds.
    pub ended: Ended,
}

/// One plan and its run.
#[derive(Debug, Clone, Serialize)]
pub struct Round {
    /// What was planned.
    pub schedule: Schedule,
    /// What became of it.
    pub report: Report,
    /// Measured period over planned period, less one: 0.03 is 3 % too long.
    pub gap: f64,
}

/// Why there was no further round.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Ended {
    /// A run was as planned, within 1 %.
    AsPlanned,
    /// What was learned leads to a plan that was run already: none is better.
    NoBetterPlan,
    /// As many rounds as there may be.
    Rounds,
}

/// Plans, runs, corrects the profile by what was measured, and begins anew: at most `most` times, at least once.
///
/// `plan` makes a schedule of a profile; `run` runs it observed, beside that profile, on input that is the same each time.
///
/// # Errors
/// The first of `plan` and `run`.
pub(crate) fn refine(
    mut profile: Profile,
    most: usize,
    mut plan: impl FnMut(&Profile) -> Result<Schedule>,
    mut run: impl FnMut(&Profile, &Schedule) -> Result<Report>,
) -> Result<Refined> {
    let mut schedule = plan(&profile)?;
    let mut rounds: Vec<Round> = Vec::new();
    let ended = loop {
        let report = run(&profile, &schedule)?;
        let planned = schedule.period(&profile)?.ns() * report.batch as f64 / f64::from(profile.frames_per_execution());
        let gap = report.measured_period_ns / planned - 1.0;
        profile = report.corrected(&profile)?;
        rounds.push(Round { schedule, report, gap });
        let next = plan(&profile)?;
        let is_next = |round: &Round| round.schedule.stages() == next.stages();
        // A plan that is kept is run once more, to see whether its corrected period is kept, too.
        let is_kept = rounds.last().is_some_and(is_next);
        let runs = rounds.iter().filter(|round| is_next(round)).count();
        let is_known = if is_kept { runs > 1 } else { runs > 0 };
        schedule = next;
        if gap.abs() < AS_PLANNED {
            break Ended::AsPlanned;
        }
        if is_known {
            break Ended::NoBetterPlan;
        }
        if rounds.len() >= most {
            break Ended::Rounds;
        }
    };
    let shortest = |a: &&Round, b: &&Round| a.report.measured_period_ns.total_cmp(&b.report.measured_period_ns);
    let best = &rounds.iter().min_by(shortest).expect("there is at least one round").schedule;
    let schedule = best.with_times_of(&profile)?;
    Ok(Refined { profile, schedule, rounds, ended })
}

#[cfg(test)]
mod tests {
    use bief_schedule::{Platform, strategy};

    use super::*;
    use crate::gap::tests::{profile, run};

    fn refined(truth: &Profile, wait: u64, most: usize) -> Refined {
        let guess =
            profile(&[(false, 2_000, 4_000), (true, 9_000, 12_000), (true, 5_000, 9_000), (false, 900, 1_900)], 50);
        let platform = Platform::parse_cores("big=2,little=2", &guess).unwrap();
        let plan = |profile: &Profile| Ok(strategy("exact")?.schedule(profile, &platform)?);
        refine(guess, most, plan, |_, schedule| Ok(run(schedule, truth, wait))).unwrap()
    }

    #[test]
    fn what_was_wrong_is_learned_until_the_plan_is_kept() {
        // The third task takes four times as long as supposed, and handing over ten times.
        let truth =
            profile(&[(false, 2_100, 4_100), (true, 9_500, 12_000), (true, 20_000, 36_000), (false, 900, 2_000)], 500);
        let refined = refined(&truth, 0, 10);
        assert_eq!(refined.ended, Ended::AsPlanned);
        let gaps: Vec<f64> = refined.rounds.iter().map(|round| round.gap).collect();
        assert!(gaps.len() > 1 && gaps[0] > 0.3 && gaps[gaps.len() - 1].abs() < AS_PLANNED, "{gaps:?}");
        let period = |schedule: &Schedule| schedule.period(&truth).unwrap().ns();
        assert!((refined.schedule.planned_period().ns() / period(&refined.schedule) - 1.0).abs() < 0.02);
        assert!(refined.rounds.iter().all(|round| period(&refined.schedule) <= period(&round.schedule)));
    }

    #[test]
    fn where_nothing_more_can_be_learned_it_ends() {
        let truth =
            profile(&[(false, 2_000, 4_000), (true, 9_000, 12_000), (true, 5_000, 9_000), (false, 900, 1_900)], 50);
        // All times are as planned, but each execution waits.
        let refined = refined(&truth, 2_000, 10);
        assert_eq!((refined.ended, refined.rounds.len()), (Ended::NoBetterPlan, 2));
    }

    #[test]
    fn no_more_rounds_than_were_asked_for() {
        let truth =
            profile(&[(false, 2_100, 4_100), (true, 9_500, 12_000), (true, 20_000, 36_000), (false, 900, 2_000)], 500);
        let refined = refined(&truth, 0, 1);
        assert_eq!((refined.ended, refined.rounds.len()), (Ended::Rounds, 1));
    }
}

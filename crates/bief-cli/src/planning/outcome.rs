//! What became of a plan, in sentences.

use bief::plan::{Ended, Refined};
use bief::report::{Gap, PlanChange};
use bief::{Planned, Report};
use serde_json::{Value, json};

use crate::text::{COLUMNS, counted, printable, wrapped};

/// A difference from the plan by less than this share is none: refining ends there, too.
const AS_PLANNED: f64 = 0.01;

/// What became of the plan of a run, in lines of a terminal; empty where nothing was planned.
pub(crate) fn against_plan(planned: Option<&Planned>, report: &Report, is_live: bool) -> String {
    let refined = planned.and_then(|planned| planned.refined.as_ref()).into_iter().flat_map(rounds);
    let all = refined.chain(changes(report)).chain(distance(report, is_live));
    all.flat_map(|line| wrapped(&line, COLUMNS)).collect::<Vec<_>>().join("\n")
}

/// What a command tells of its run, for a machine: an object of its `own`, with the plan and the report behind it.
pub(crate) fn record(mut own: Value, planned: Option<&Planned>, report: Option<&Report>) -> String {
    own["machine"] = json!(planned.map(|planned| &planned.machine));
    own["profile"] = json!(planned.map(|planned| &planned.profile));
    own["schedule"] = json!(planned.map(|planned| &planned.schedule));
    own["refined"] = json!(planned.map(|planned| &planned.refined));
    own["report"] = json!(report);
    format!("{own:#}")
}

/// A stage's gap by cause, in nanoseconds, each with the words for it.
fn causes(gap: &Gap) -> [(f64, String); 6] {
    let slowest = gap.slowest_task.as_ref().map_or_else(String::new, |task| format!(", most in `{}`", printable(task)));
    [
        (gap.clock_ns, "all tasks alike (the clock)".to_owned()),
        (gap.cache_ns, format!("single tasks (caches, memory{slowest})")),
        (gap.copy_ns, "copies to the device and back".to_owned()),
        (gap.interrupted_ns, "interruptions (other threads, the host)".to_owned()),
        (gap.hand_over_ns, "handing over".to_owned()),
        (gap.waiting_ns, "waiting for the other stages".to_owned()),
    ]
}

/// Whether a run was so long that its period shows how the plan was kept. Until all threads have work, and while the last of
/// them still have, a run takes about as many periods as there are threads: they are to be too few to count.
pub(super) fn tells(report: &Report) -> bool {
    report.executions >= least_executions(report)
}

fn least_executions(report: &Report) -> u64 {
    let threads: usize = report.stages.iter().map(|stage| stage.threads).sum();
    (threads as f64 / AS_PLANNED).round() as u64
}

/// How far a run was from its plan, and what made most of the difference in the stage that limits; the pace of live input, which waits for
/// nobody. `None` where nothing was planned.
fn distance(report: &Report, is_live: bool) -> Option<String> {
    let planned = report.planned_period_ns?;
    let frames = if report.batch == 1 { "frame".to_owned() } else { format!("{} frames", report.batch) };
    if is_live && report.frames > 0 {
        let given = report.seconds * report.batch as f64 / report.frames as f64;
        return Some(format!(
            "Planned {:.1} us per {frames}; live input came at {:.1} us per {frames}.",
            planned / 1e3,
            given * 1e6
        ));
    }
    if !tells(report) {
        return Some(format!(
            "Planned {:.1} us per {frames}. The run was too short to tell whether that is kept: {}, {} would tell.",
            planned / 1e3,
            counted(usize::try_from(report.executions).unwrap_or(usize::MAX), "execution"),
            least_executions(report)
        ));
    }
    let share = report.measured_period_ns / planned - 1.0;
    let heading = format!(
        "Planned {:.1} us per {frames}, measured {:.1} us: {:+.1} %",
        planned / 1e3,
        report.measured_period_ns / 1e3,
        100.0 * share
    );
    let stage = &report.stages[report.limiting_stage];
    let Some(gap) = stage.gap.as_ref().filter(|_| share.abs() >= AS_PLANNED) else {
        return Some(format!("{heading}."));
    };
    let mut causes: Vec<(f64, String)> =
        causes(gap).into_iter().filter(|(ns, _)| ns.signum() == share.signum()).collect();
    causes.sort_by(|a, b| b.0.abs().total_cmp(&a.0.abs()));
    let told: Vec<String> = causes
        .iter()
        .filter(|(ns, _)| ns.abs() >= AS_PLANNED / 4.0 * planned)
        .take(3)
        .map(|(ns, cause)| format!("{:+.1} us {cause}", ns / 1e3))
        .collect();
    let told = if told.is_empty() { String::new() } else { format!(" {}.", told.join("; ")) };
    Some(format!("{heading}, in the stage `{}`:{told}", printable(&stage.name)))
}

/// The plans that a run was changed to, and why: a line for each, of the last few.
fn changes(report: &Report) -> Vec<String> {
    const SHOWN: usize = 5;
    let left_out = report.changes.len().saturating_sub(SHOWN);
    let change = |change: &PlanChange| {
        format!(
            "after {:.2} s, from frame {}: {} ({}); it paused for {:.1} ms",
            change.seconds,
            change.frame,
            change.stages.iter().map(|stage| printable(stage).to_string()).collect::<Vec<_>>().join(" | "),
            printable(&change.reason),
            1e3 * change.pause_seconds
        )
    };
    let heading = (!report.changes.is_empty()).then(|| {
        let shown = if left_out > 0 { format!(", the last {SHOWN} of them") } else { String::new() };
        format!("The plan was changed {}{shown}:", counted(report.changes.len(), "time"))
    });
    heading.into_iter().chain(report.changes.iter().skip(left_out).map(change)).collect()
}

/// How a plan was refined: a line for each round, and why there are no more.
fn rounds(refined: &Refined) -> Vec<String> {
    let round = |(index, round): (usize, &bief::plan::Round)| {
        let stages: Vec<String> = round.schedule.stages().iter().map(ToString::to_string).collect();
        format!(
            "round {}: measured {:.1} us per execution, {:+.1} % from the plan; tasks: {}",
            index + 1,
            round.report.measured_period_ns / 1e3,
            100.0 * round.gap,
            stages.join(", ")
        )
    };
    let ended = match refined.ended {
        Ended::AsPlanned => "as planned",
        Ended::NoBetterPlan => "no better plan is left",
        Ended::Rounds => "as many rounds as there may be",
    };
    refined.rounds.iter().enumerate().map(round).chain([format!("refined: {ended}")]).collect()
}

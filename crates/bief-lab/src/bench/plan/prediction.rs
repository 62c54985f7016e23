//! How far runs are from their plans: by what the plan was made with, and where the period goes.

use bief::placement::Policy;
use bief::plan::Load;
use bief::report::Gap;
use bief::schedule::Profile;
use bief::{Error, Result};
use bief_cli::draw::plot::Figure;
use bief_cli::text::counted;
use bief_cli::units::significant;
use serde_json::{Value, json};

use super::figure::{COLORS, Series, legend, panel};
use super::subject::Subject;
use super::trial::{Bench, gap};
use super::{Case, Found, Setting, in_json, percent};
use crate::bench::output::Findings;
use crate::statistics::Sample;

/// What a plan was made with: what it is called in a table and in JSON, and in words.
const KNOWN: [(&str, &str, &str); 4] = [
    ("idle", "idle", "profiled with the other cores idle"),
    ("busy", "busy", "profiled with them busy"),
    ("+hand", "busy_and_hand_over", "and the hand-over"),
    ("corr.", "corrected", "corrected by a run"),
];

/// Where the period of a stage goes: as in a table, and what of a gap it is.
type Cause = (&'static str, fn(&Gap) -> f64);
const CAUSES: [Cause; 6] = [
    ("planned", |gap| gap.planned_ns),
    ("clock", |gap| gap.clock_ns),
    ("tasks", |gap| gap.cache_ns),
    ("interr.", |gap| gap.interrupted_ns),
    ("hand", |gap| gap.hand_over_ns),
    ("waiting", |gap| gap.waiting_ns),
];

/// What one round found.
pub(super) struct Round {
    /// The period that was planned, by what the plan was made with.
    planned_ns: [f64; 4],
    /// The period of the first run, which the first three were for.
    measured_ns: f64,
    /// The period of the second run, of the plan by the corrected profile.
    again_ns: f64,
    /// What two cores need that hand nothing over, where that is known.
    apart_ns: Option<f64>,
    /// The stage that limits the first run, and where its time went.
    stage: String,
    gap: Gap,
}

impl Round {
    /// By what the plan was made with.
    fn gaps(&self) -> [f64; 4] {
        let [idle, busy, hand_over, corrected] = self.planned_ns;
        let first = |planned_ns: f64| gap(self.measured_ns, planned_ns);
        [first(idle), first(busy), first(hand_over), gap(self.again_ns, corrected)]
    }

    /// By how much two cores that hand nothing over are slower than what was planned without hand-overs, with them busy.
    fn apart(&self) -> Option<f64> {
        Some(gap(self.apart_ns?, self.planned_ns[1]))
    }
}

/// Does what a user does who wants a good plan: profiles, plans, runs, corrects the profile, plans and runs again.
pub(super) fn follow(bench: &mut Bench, subject: &Subject) -> Result<Round> {
    let platform = bench.platform();
    let idle = subject.profile(&bench.machine, Load::Idle)?;
    let busy = subject.profile(&bench.machine, Load::Busy)?;
    let schedule = subject.schedule(&busy, &platform)?;
    let first = bench.run(subject, &busy, &schedule, &Policy::Packed)?;
    let apart_ns = bench.apart_ns(subject, first.planned_ns)?;
    let corrected = first.report.corrected(&busy)?;
    let again = bench.run(subject, &corrected, &subject.schedule(&corrected, &platform)?, &Policy::Packed)?;
    let planned = |profile: Profile| -> Result<f64> { Ok(schedule.period(&profile)?.ns()) };
    let stage = &first.report.stages[first.report.limiting_stage];
    Ok(Round {
        planned_ns: [planned(alone(idle)?)?, planned(alone(busy)?)?, first.planned_ns, again.planned_ns],
        measured_ns: first.measured_ns(),
        again_ns: again.measured_ns(),
        apart_ns,
        stage: stage.name.clone(),
        gap: stage.gap.clone().ok_or_else(|| Error::new("a run told no times of its tasks: give more --seconds"))?,
    })
}

/// The profile without what handing over costs.
fn alone(profile: Profile) -> Result<Profile> {
    let kinds = profile.kinds().len();
    Ok(profile.with_sync_ns(vec![0; kinds])?.with_switch_ns(vec![0; kinds])?)
}

/// The rounds of a case in numbers.
struct Told<'c> {
    case: &'c Case<Round>,
    planned_ns: [Sample; 4],
    measured_ns: Sample,
    again_ns: Sample,
    /// By how much two cores that hand nothing over are slower than the plan.
    apart: Option<Sample>,
    gaps: [Sample; 4],
    causes: [Sample; 6],
}

impl<'c> Told<'c> {
    fn new(case: &'c Case<Round>) -> Self {
        Self {
            case,
            planned_ns: [0, 1, 2, 3].map(|known| case.sample(|round| round.planned_ns[known])),
            measured_ns: case.sample(|round| round.measured_ns),
            again_ns: case.sample(|round| round.again_ns),
            apart: Sample::new(case.counted().filter_map(Round::apart)),
            gaps: [0, 1, 2, 3].map(|known| case.sample(|round| round.gaps()[known])),
            causes: CAUSES.map(|(_, cause)| case.sample(|round| cause(&round.gap))),
        }
    }
}

pub(super) fn findings(cases: &[Case<Round>], setting: &Setting) -> Findings {
    let told: Vec<Told> = cases.iter().map(Told::new).collect();
    Findings {
        table: table(cases, &told, setting),
        csv: csv(cases),
        figure: figure(&told),
        json: to_json(&told, setting),
    }
}

fn table(cases: &[Case<Round>], told: &[Told], setting: &Setting) -> String {
    let us = |sample: &Sample| significant(sample.median() / 1e3);
    let rounds = counted(told[0].case.rounds.len(), "round");
    let mut lines = vec![
        format!("Plan against run; medians of {rounds}: us, and the gap in %."),
        String::new(),
        format!("{:35}{:^28}  corrected", "", "gap with the profile"),
    ];
    let known = KNOWN.map(|(name, ..)| format!("{name:>7}")).concat();
    lines.push(format!("{:17} {:>8} {:>8}{known}  min..max", "case", "planned", "measured"));
    for told in told {
        let gaps: String = told.gaps.iter().map(|gap| format!("{:>7}", percent(gap.median()))).collect();
        let corrected = &told.gaps[3];
        let spread = format!("{}..{}", percent(corrected.quantile(0.0)), percent(corrected.max()));
        let name = &told.case.subject.name;
        lines.push(format!("{name:17} {:>8} {:>8}{gaps}  {spread}", us(&told.planned_ns[2]), us(&told.measured_ns)));
    }
    lines.push(String::new());
    lines.push("Where the period goes, in the stage that limits the first run; medians, us:".to_owned());
    let causes = CAUSES.map(|(name, _)| format!("{name:>9}")).concat();
    lines.push(format!("{:17}{causes} {:>8}", "case", "measured"));
    for told in told {
        let [planned, causes @ ..] = &told.causes;
        let causes: String = causes.iter().map(|cause| format!("{:>9}", signed(cause.median() / 1e3))).collect();
        lines.push(format!("{:17}{:>9}{causes} {:>8}", told.case.subject.name, us(planned), us(&told.measured_ns)));
    }
    lines.push(String::new());
    lines.extend(setting.facts(cases, facts(told)));
    lines.join("\n")
}

/// With its sign, and as many digits as help beside a period.
fn signed(us: f64) -> String {
    match us {
        us if us.abs() < 0.0005 => "0".to_owned(),
        us if us < 0.0 => format!("-{}", significant(-us)),
        us => format!("+{}", significant(us)),
    }
}

fn facts(told: &[Told]) -> Vec<String> {
    let sizes = KNOWN.iter().enumerate().map(|(known, (name, ..))| {
        let all = told.iter().flat_map(|told| told.case.counted()).map(|round| round.gaps()[known].abs());
        let middle = Sample::new(all).expect("there is at least one round").median();
        format!("{name} {:.1} %", 100.0 * middle)
    });
    let apart = told.iter().filter_map(|told| {
        let apart = told.apart.as_ref()?;
        Some(format!("{} {} %", told.case.subject.name, percent(apart.median())))
    });
    let apart: Vec<String> = apart.collect();
    let apart = (!apart.is_empty()).then(|| {
        format!(
            "The tasks of the two stages on two cores that hand nothing over: the slower core beside the plan for busy cores, \
             {}. No plan knows which core will be the slower one.",
            apart.join(", ")
        )
    });
    let mut facts = vec![
        format!("Gaps of all rounds and cases without their signs, median: {}.", sizes.collect::<Vec<_>>().join(", ")),
        "Planned: with busy cores and the hand-over. Gap: measured over planned period, less one, of the same run for a \
         profile with the other cores idle, with them busy, and with the hand-over beside; corrected: of a second run, \
         planned with the profile that the first run corrected."
            .to_owned(),
        "Clock: what all tasks took longer alike; tasks: what single ones took beyond that (caches, memory); interr.: \
         interruptions by other threads and by the host; hand: hand-overs beyond the planned one; waiting: for the other \
         stages, and for the run to begin and to end. Planned is of that stage alone, with one hand-over: where stages share \
         cores, what the others take is under interr. and waiting."
            .to_owned(),
    ];
    facts.extend(apart);
    facts
}

fn csv(cases: &[Case<Round>]) -> String {
    let mut text = "case,round,taken_by_others,measured_ns,corrected_measured_ns,apart_ns".to_owned();
    KNOWN.iter().for_each(|(_, name, _)| text += &format!(",planned_{name}_ns"));
    KNOWN.iter().for_each(|(_, name, _)| text += &format!(",gap_{name}"));
    text += ",stage_planned_ns,clock_ns,cache_ns,interrupted_ns,hand_over_ns,waiting_ns\n";
    for case in cases {
        for (index, round) in case.rounds.iter().enumerate() {
            let Found { of: round, taken } = round;
            text += &format!("{},{},{taken:.4}", case.subject.name, index + 1);
            [round.measured_ns, round.again_ns].iter().for_each(|ns| text += &format!(",{ns:.3}"));
            text += &round.apart_ns.map_or_else(|| ",".to_owned(), |ns| format!(",{ns:.3}"));
            round.planned_ns.iter().for_each(|ns| text += &format!(",{ns:.3}"));
            round.gaps().iter().for_each(|gap| text += &format!(",{gap:.6}"));
            CAUSES.iter().for_each(|(_, cause)| text += &format!(",{:.3}", cause(&round.gap)));
            text.push('\n');
        }
    }
    text
}

fn figure(told: &[Told]) -> Figure {
    let series: Vec<Series> = KNOWN
        .iter()
        .zip(COLORS)
        .enumerate()
        .map(|(known, ((.., label), color))| Series {
            label: (*label).to_owned(),
            color,
            values: told.iter().map(|told| told.case.sample(|round| 100.0 * round.gaps()[known])).collect(),
        })
        .collect();
    let names = told.iter().map(|told| told.case.subject.name.clone()).collect();
    Figure {
        title: "Bief: how far runs are from their plans".to_owned(),
        caption: format!("medians and quartiles of {}", counted(told[0].case.rounds.len(), "round")),
        legend: legend(&series),
        panel: (960, 400),
        rows: vec![vec![panel("", names, &series, "measured over planned period, less one, in %")]],
    }
}

fn to_json(told: &[Told], setting: &Setting) -> Value {
    let by_known = |samples: &[Sample; 4]| -> Value {
        KNOWN.iter().zip(samples).map(|((_, name, _), values)| ((*name).to_owned(), in_json(values))).collect()
    };
    let round = |Found { of: round, taken }: &Found<Round>| {
        let [planned, gaps] = [round.planned_ns, round.gaps()].map(|values| -> Value {
            KNOWN.iter().zip(values).map(|((_, name, _), value)| ((*name).to_owned(), json!(value))).collect()
        });
        json!({
            "cores_taken_by_others": taken, "planned_ns": planned, "measured_ns": round.measured_ns, "corrected_measured_ns": round.again_ns,
            "apart_ns": round.apart_ns, "gap": gaps, "limiting_stage": round.stage, "period": round.gap,
        })
    };
    let case = |told: &Told| {
        json!({
            "case": told.case.subject.name, "planned_ns": by_known(&told.planned_ns),
            "measured_ns": in_json(&told.measured_ns), "corrected_measured_ns": in_json(&told.again_ns),
            "gap": by_known(&told.gaps), "rounds": told.case.rounds.iter().map(round).collect::<Vec<_>>(),
        })
    };
    setting.to_json(told.iter().map(case).collect())
}

#[cfg(test)]
mod tests {
    use bief::Machine;

    use super::*;
    use crate::bench::plan::subject;
    use crate::bench::surroundings::Watch;
    use bief_cli::text::COLUMNS;

    /// Of every case, with these periods of its rounds in microseconds, planned and measured.
    fn found(rounds: &[(f64, f64)]) -> Findings {
        let round = |&(planned, measured): &(f64, f64)| Round {
            planned_ns: [planned * 1e3; 4],
            measured_ns: measured * 1e3,
            again_ns: measured * 1e3,
            apart_ns: Some(measured * 1e3),
            stage: "stage".to_owned(),
            gap: Gap {
                planned_ns: planned * 1e3,
                clock_ns: -0.6,
                copy_ns: 0.0,
                cache_ns: 1.07,
                slowest_task: None,
                interrupted_ns: (measured - planned) * 1e3,
                hand_over_ns: 0.0,
                waiting_ns: -0.47,
            },
        };
        let rounds = || rounds.iter().map(|one| Found { of: round(one), taken: 0.0 }).collect();
        let cases = subject::predicted().into_iter().map(|subject| Case { subject, rounds: rounds() });
        let setting = Setting {
            machine: Machine::here(),
            seconds: 0.4,
            surroundings: Watch::begin().end(),
            notes: vec!["a note".to_owned()],
        };
        findings(&cases.collect::<Vec<_>>(), &setting)
    }

    #[test]
    fn the_farthest_runs_fit_the_table() {
        for rounds in [&[(10.0, 10.0)][..], &[(10.0, 0.1), (10.0, 2e3)], &[(1e5, 9e6), (1e5, 9e6)], &[(1e-3, 2e-3)]] {
            let found = found(rounds);
            assert!(found.table.lines().all(|line| line.chars().count() <= COLUMNS), "{}", found.table);
            let svg = found.figure.svg().unwrap();
            assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
        }
    }

    #[test]
    fn a_gap_is_of_the_run_that_was_planned() {
        let found = found(&[(100.0, 110.0), (100.0, 90.0), (100.0, 140.0)]);
        let case = &found.json["cases"][0];
        for (_, known, _) in KNOWN {
            let [least, median, most] = ["min", "median", "max"].map(|part| case["gap"][known][part].as_f64().unwrap());
            assert!([least + 0.1, median - 0.1, most - 0.4].iter().all(|error| error.abs() < 1e-12), "{case}");
        }
        assert!(found.table.contains("  +10.0  -10.0..+40.0\n"), "{}", found.table);
    }
}

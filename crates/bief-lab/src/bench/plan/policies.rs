//! What places are worth: the same plan, placed by each policy.

use bief::Result;
use bief::placement::Policy;
use bief::plan::Load;
use bief_cli::draw::plot::Figure;
use bief_cli::text::counted;
use bief_cli::units::significant;
use serde_json::{Value, json};

use super::figure::{COLORS, Series, legend, panel};
use super::subject::Subject;
use super::trial::Bench;
use super::{Case, Setting, in_json, percent};
use crate::bench::output::Findings;
use crate::statistics::Sample;

const POLICIES: [Policy; COUNT] = Policy::NAMED;
const COUNT: usize = Policy::NAMED.len();

/// What one round found, in nanoseconds.
pub(super) struct Round {
    planned_ns: f64,
    /// By policy.
    measured_ns: [f64; COUNT],
    /// By policy, whether its places are those of packed.
    as_packed: [bool; COUNT],
}

impl Round {
    fn gap(&self, policy: usize) -> f64 {
        super::trial::gap(self.measured_ns[policy], self.planned_ns)
    }
}

/// Profiles, plans, and runs the plan in the places of each policy; another one begins in each round.
pub(super) fn compare(bench: &mut Bench, subject: &Subject, round: usize) -> Result<Round> {
    let profile = subject.profile(&bench.machine, Load::Busy)?;
    let schedule = subject.schedule(&profile, &bench.platform())?;
    let mut measured_ns = [0.0; COUNT];
    let mut places = [const { None }; COUNT];
    for turn in 0..POLICIES.len() {
        let policy = (round + turn) % POLICIES.len();
        let trial = bench.run(subject, &profile, &schedule, &POLICIES[policy])?;
        measured_ns[policy] = trial.measured_ns();
        places[policy] = trial.report.placement.map(|placement| placement.stages().to_vec());
    }
    let packed = POLICIES.iter().position(|policy| *policy == Policy::Packed).and_then(|packed| places[packed].clone());
    let as_packed = places.map(|places| places == packed);
    Ok(Round { planned_ns: schedule.period(&profile)?.ns(), measured_ns, as_packed })
}

pub(super) fn findings(cases: &[Case<Round>], setting: &Setting) -> Findings {
    Findings {
        table: table(cases, setting),
        csv: csv(cases),
        figure: figure(cases),
        json: setting.to_json(cases.iter().map(to_json).collect()),
    }
}

fn table(cases: &[Case<Round>], setting: &Setting) -> String {
    let us = |ns: f64| significant(ns / 1e3);
    let rounds = counted(cases[0].rounds.len(), "round");
    let mut lines =
        vec![format!("The same plan in the places of each policy; medians of {rounds}: us."), String::new()];
    lines.push(format!(
        "{:17} {:8} {:>8} {:>8} {:>15} {:>7}",
        "case", "place", "planned", "measured", "min..max", "gap %"
    ));
    for case in cases {
        let mut name = case.subject.name.as_str();
        for (index, policy) in POLICIES.iter().enumerate() {
            let (planned, measured) =
                (case.sample(|round| round.planned_ns), case.sample(|round| round.measured_ns[index]));
            let gap = case.sample(|round| round.gap(index));
            let spread = format!("{}..{}", us(measured.quantile(0.0)), us(measured.max()));
            let same = *policy != Policy::Packed && case.rounds.iter().all(|round| round.of.as_packed[index]);
            let line = format!(
                "{name:17} {:8} {:>8} {:>8} {spread:>15} {:>7}  {}",
                policy.to_string(),
                us(planned.median()),
                us(measured.median()),
                percent(gap.median()),
                if same { "as packed" } else { "" }
            );
            lines.push(line.trim_end().to_owned());
            name = "";
        }
    }
    lines.push(String::new());
    lines.extend(setting.facts(cases, vec![
        "Loose: on any core, the system decides; guided: on any core of the kind that was planned; packed: on a core each, \
         neighbours in the chain near each other; distant: by turns from different packages and clusters; dynamic: on any core, \
         the demanding ones moved to fast kinds meanwhile. As packed: the same places on this machine, so that what differs is \
         noise."
            .to_owned(),
        "Gap: measured over planned period, less one; planned with a profile of busy cores and the hand-over.".to_owned(),
    ]));
    lines.join("\n")
}

fn csv(cases: &[Case<Round>]) -> String {
    let mut text = "case,place,round,taken_by_others,planned_ns,measured_ns,gap\n".to_owned();
    for case in cases {
        for (index, round) in case.rounds.iter().enumerate() {
            for (place, policy) in POLICIES.iter().enumerate() {
                text += &format!(
                    "{},{policy},{},{:.4},{:.3},{:.3},{:.6}\n",
                    case.subject.name,
                    index + 1,
                    round.taken,
                    round.of.planned_ns,
                    round.of.measured_ns[place],
                    round.of.gap(place)
                );
            }
        }
    }
    text
}

fn figure(cases: &[Case<Round>]) -> Figure {
    let series: Vec<Series> = POLICIES
        .iter()
        .zip(COLORS)
        .enumerate()
        .map(|(index, (policy, color))| Series {
            label: policy.to_string(),
            color,
            values: cases.iter().map(|case| case.sample(|round| 100.0 * round.gap(index))).collect(),
        })
        .collect();
    let names = cases.iter().map(|case| case.subject.name.clone()).collect();
    Figure {
        title: "Bief: the same plan in other places".to_owned(),
        caption: format!("medians and quartiles of {}", counted(cases[0].rounds.len(), "round")),
        legend: legend(&series),
        panel: (960, 400),
        rows: vec![vec![panel("", names, &series, "measured over planned period, less one, in %")]],
    }
}

fn to_json(case: &Case<Round>) -> Value {
    let place = |(index, policy): (usize, &Policy)| {
        json!({
            "place": policy.to_string(), "measured_ns": in_json(&case.sample(|round| round.measured_ns[index])),
            "gap": in_json(&case.sample(|round| round.gap(index))),
            "as_packed": case.rounds.iter().all(|round| round.of.as_packed[index]),
        })
    };
    let planned: Sample = case.sample(|round| round.planned_ns);
    json!({
        "case": case.subject.name, "rounds": case.rounds.len(), "planned_ns": in_json(&planned),
        "places": POLICIES.iter().enumerate().map(place).collect::<Vec<_>>(),
    })
}

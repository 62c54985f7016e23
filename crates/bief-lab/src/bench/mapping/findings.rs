//! The readings as tables, CSV, a figure and JSON.

use bief_cli::draw::plot::{Figure, INK, Key, Mark, Pattern, Rgb};
use bief_cli::table::columns;
use bief_cli::text::{COLUMNS, counted, wrapped};
use bief_cli::units::significant;
use serde_json::{Value, json};

use super::{Setting, gain, overhead, receiver};
use crate::bench::aimed::{AIM, BIEF, csv, groups, panel};
use crate::bench::case::{Aim, Case};
use crate::bench::output::Findings;
use crate::bench::surroundings::Surroundings;
use crate::statistics::Sample;

pub(super) fn of(cases: &[Case], setting: &Setting, surroundings: &Surroundings) -> Findings {
    let json = json!({
        "bench": "mapping",
        "surroundings": surroundings.to_json(),
        "machine": setting.machine.to_string(),
        "seconds": setting.time.as_secs_f64(),
        "rounds": cases[0].readings.len(),
        "notes": *setting.notes.borrow(),
        "cases": cases.iter().map(|case| to_json(case, cases)).collect::<Vec<_>>(),
    });
    Findings { table: table(cases, setting, surroundings), csv: csv(cases), figure: figure(cases), json }
}

/// The parts of a case's name.
fn parts(case: &Case) -> [&str; 3] {
    let mut parts = case.name.split('/');
    [(); 3].map(|()| parts.next().unwrap_or_default())
}

/// By what share more was done than by another mapping in the same round, of those of the same threads.
fn over(case: &Case, other: &str, cases: &[Case]) -> Option<Sample> {
    let [name, mix, _] = parts(case);
    let other = cases.iter().find(|of| parts(of) == [name, mix, other])?;
    let readings = case.readings.iter().zip(&other.readings);
    Sample::new(readings.map(|(reading, other)| reading.value / other.value.max(1e-9) - 1.0))
}

fn quartiles(sample: &Sample) -> String {
    format!("{}..{}", significant(sample.quantile(0.25)), significant(sample.quantile(0.75)))
}

fn percent(share: Option<Sample>) -> String {
    share.map_or_else(|| "-".to_owned(), |share| format!("{:+.1}", 100.0 * share.median()))
}

fn table(cases: &[Case], setting: &Setting, surroundings: &Surroundings) -> String {
    let mut lines = Vec::new();
    let mut told = Vec::new();
    for group in groups(cases) {
        let [name, ..] = parts(&group[0]);
        lines.push(format!("{} ({})", group[0].group, group[0].unit));
        match name {
            gain::NAME => lines.extend(gains(group)),
            overhead::NAME => lines.extend(overheads(group)),
            _ => {
                lines.extend(rates(group));
                told.extend(winner(group));
            }
        }
        lines.push(String::new());
    }
    let emulated = format!("Machine mapped to: {}.", setting.machine);
    let facts = told.into_iter().chain(about(cases)).chain([emulated]).chain(surroundings.facts());
    lines.extend(facts.chain(notes(setting)).flat_map(|fact| wrapped(&fact, COLUMNS)));
    lines.join("\n")
}

fn gains(group: &[Case]) -> Vec<String> {
    let row = |case: &Case| {
        let values = case.values();
        let over = |other: &str| percent(over(case, other, group));
        let is_mapped = ![gain::FAIR, gain::FIXED, gain::IDEAL].contains(&parts(case)[2]);
        let met = self::over(case, gain::FAIR, group).filter(|_| is_mapped).map(|gain| gain.median() >= gain::AIM);
        vec![
            case.name.clone(),
            significant(values.median()),
            quartiles(&values),
            over(gain::FAIR),
            met.map_or_else(String::new, |met| if met { "met" } else { "no" }.to_owned()),
            over(gain::FIXED),
        ]
    };
    let headings = ["case", "median", "quartiles", "over fair %", "aim", "over fixed %"];
    columns(&headings, &group.iter().map(row).collect::<Vec<_>>(), Some(0))
}

fn overheads(group: &[Case]) -> Vec<String> {
    let row = |case: &Case| {
        let values = case.values();
        let aim = match case.aim {
            Some(Aim::AtMost(limit)) => format!("<= {limit}"),
            _ => String::new(),
        };
        let met = case.is_met().map_or("", |met| if met { "met" } else { "no" });
        vec![case.name.clone(), significant(values.median()), quartiles(&values), aim, met.to_owned()]
    };
    columns(&["case", "median", "quartiles", "aim", ""], &group.iter().map(row).collect::<Vec<_>>(), Some(0))
}

fn rates(group: &[Case]) -> Vec<String> {
    let best = best(group).map(|case| &case.name);
    let row = |case: &Case| {
        let values = case.values();
        let first = if best == Some(&case.name) { "<" } else { "" };
        vec![case.name.clone(), significant(values.median()), quartiles(&values), first.to_owned()]
    };
    columns(&["case", "median", "quartiles", ""], &group.iter().map(row).collect::<Vec<_>>(), Some(0))
}

fn best(group: &[Case]) -> Option<&Case> {
    group.iter().max_by(|a, b| a.values().median().total_cmp(&b.values().median()))
}

/// Who is first, and by how much.
fn winner(group: &[Case]) -> Option<String> {
    let best = best(group)?;
    let others: Vec<&Case> = group.iter().filter(|case| case.name != best.name).collect();
    let second = others.into_iter().max_by(|a, b| a.values().median().total_cmp(&b.values().median()))?;
    let [_, when, how] = parts(best);
    let [.., second_how] = parts(second);
    let (first, next) = (best.values(), second.values());
    let lead = 100.0 * (first.median() / next.median().max(1e-9) - 1.0);
    let noise = if first.quantile(0.25) <= next.quantile(0.75) { ", within what the rounds differ" } else { "" };
    Some(format!(
        "{when}: {} is first with {} frames/s, {lead:.1} % before {}{noise}.",
        receiver::in_words(how),
        significant(first.median()),
        receiver::in_words(second_how)
    ))
}

fn about(cases: &[Case]) -> Vec<String> {
    let has = |name: &str| cases.iter().any(|case| parts(case)[0] == name);
    let rounds = counted(cases[0].readings.len(), "round");
    let mut facts = vec![format!("Medians and quartiles of {rounds}.")];
    if has(gain::NAME) {
        facts.push(format!(
            "Work: what a core of the fastest kind does in a second is 1. Over fair, over fixed: the median of what each round had \
             more than that of the same demands under fair and fixed. Ideal: no sharing of the cores could do more. Aim: {:.0} % \
             over fair.",
            100.0 * gain::AIM
        ));
    }
    if has(receiver::NAME) {
        facts.push(
            "Plan: the exact one, made once with the times of the tasks on each kind of core while the other cores were busy.".to_owned(),
        );
    }
    facts
}

fn notes(setting: &Setting) -> Vec<String> {
    setting.notes.borrow().iter().map(|note| format!("{note}.")).collect()
}

fn to_json(case: &Case, cases: &[Case]) -> Value {
    let values = case.values();
    let gain =
        |other: &str| over(case, other, cases).filter(|_| parts(case)[0] == gain::NAME).map(|over| over.median());
    let aim = match case.aim {
        Some(Aim::AtMost(limit)) => Some(limit),
        _ => None,
    };
    json!({
        "case": case.name, "unit": case.unit,
        "median": values.median(), "lower_quartile": values.quantile(0.25), "upper_quartile": values.quantile(0.75),
        "over_fair": gain(gain::FAIR), "over_fixed": gain(gain::FIXED),
        "at_most": aim, "met": case.is_met(),
    })
}

fn figure(cases: &[Case]) -> Figure {
    let key = |label: &str, color: Rgb, mark: Mark| Key { label: label.to_owned(), color, mark };
    let panels: Vec<&[Case]> = groups(cases).collect();
    Figure {
        title: "Bief: what mapping threads to kinds of cores brings and costs".to_owned(),
        caption: format!("medians of {}", counted(cases[0].readings.len(), "round")),
        legend: vec![
            key("median", BIEF, Mark::Box),
            key("quartiles", INK, Mark::Thin(Pattern::Solid)),
            key("aim", AIM, Mark::Dashes),
        ],
        panel: (540, 280),
        rows: panels.chunks(2).map(|pair| pair.iter().map(|group| panel(group)).collect()).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::case::Reading;

    fn case(name: &str, readings: &[f64]) -> Case {
        let mut case = Case::new(name.to_owned(), ("a group", "x"), || Ok(1.0.into()));
        case.readings = readings.iter().map(|&value| Reading::from(value)).collect();
        case
    }

    #[test]
    fn gains_are_those_of_the_same_round() {
        let cases = [
            case("gain/swap/fair", &[1.0, 2.0, 4.0]),
            case("gain/swap/rank-5ms", &[1.1, 2.4, 4.4]),
            case("gain/crowded/fixed", &[1.0, 1.0, 1.0]),
        ];
        assert!((over(&cases[1], gain::FAIR, &cases).unwrap().median() - 0.1).abs() < 1e-9);
        assert!(over(&cases[1], gain::FIXED, &cases).is_none(), "of other threads");
        let lines = gains(&cases[..2]);
        assert!(lines[2].contains("+10.0") && lines[2].contains(" met "), "{lines:?}");
    }

    #[test]
    fn who_is_first_follows_from_the_medians() {
        let group = [
            case("receiver/quiet/plan-packed", &[90.0, 100.0, 110.0]),
            case("receiver/quiet/tasks-dynamic", &[190.0, 200.0, 210.0]),
            case("receiver/quiet/tasks-loose", &[80.0, 80.0, 80.0]),
        ];
        assert_eq!(
            winner(&group).unwrap(),
            "quiet: a thread per task, dynamic is first with 200 frames/s, 100.0 % before the plan, packed."
        );
        let close =
            [case("receiver/quiet/plan-packed", &[99.0, 100.0]), case("receiver/quiet/plan-loose", &[98.0, 100.0])];
        assert!(winner(&close).unwrap().ends_with("within what the rounds differ."));
        assert!(winner(&close[..1]).is_none());
    }
}

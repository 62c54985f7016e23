//! Cases beside their aims, and a peer where there is one: as a table, CSV, a figure and JSON.

use bief_cli::draw::plot::{Axis, Figure, INK, Key, Mark, Panel, Pattern, Rgb, Shape};
use bief_cli::text::{COLUMNS, counted, wrapped};
use bief_cli::units::{decade_name, significant};
use serde_json::{Value, json};

use super::case::{Aim, Case};
use super::output::Findings;
use super::peers;
use super::surroundings::Surroundings;
use crate::statistics::Sample;

/// A bench, and the heading of its figure.
#[derive(Clone, Copy)]
pub(super) struct Titled {
    pub(super) bench: &'static str,
    pub(super) title: &'static str,
}

pub(super) fn findings(titled: Titled, cases: &[Case], surroundings: &Surroundings) -> Findings {
    let probes = Sample::new(cases.iter().flat_map(|case| &case.readings).filter_map(|reading| reading.probe_ns));
    let json = json!({
        "bench": titled.bench,
        "surroundings": surroundings.to_json(),
        "rounds": cases[0].readings.len(),
        "probe_ns": probes.as_ref().map(Sample::median),
        "cases": cases.iter().map(to_json).collect::<Vec<_>>(),
    });
    let figure = figure(titled.title, cases);
    Findings { table: table(cases, probes.as_ref(), surroundings), csv: csv(cases), figure, json }
}

fn to_json(case: &Case) -> Value {
    let values = case.values();
    let aim = case.aim.map(|aim| match aim {
        Aim::AtMost(limit) => json!({ "at_most": limit }),
        Aim::AtLeast(limit) => json!({ "at_least": limit }),
        Aim::ProbesAtMost(limit) => json!({ "at_most_probes": limit }),
    });
    json!({
        "case": case.name, "unit": case.unit,
        "median": values.median(), "lower_quartile": values.quantile(0.25), "upper_quartile": values.quantile(0.75),
        "probes": case.in_probes().map(|probes| probes.median()),
        "aim": aim, "met": case.is_met(), "streampu": peers::streampu(&case.name),
    })
}

/// Consecutive cases of one group.
pub(super) fn groups(cases: &[Case]) -> impl Iterator<Item = &[Case]> {
    cases.chunk_by(|a, b| a.group == b.group)
}

fn table(cases: &[Case], probes: Option<&Sample>, surroundings: &Surroundings) -> String {
    let mut lines = Vec::new();
    let mut row = |cells: [&str; 7]| {
        let [name, median, quartiles, probes, aim, met, peer] = cells;
        let row = format!("{name:<20} {median:>8} {quartiles:>15} {probes:>6} {aim:>13} {met:<3} {peer:>8}");
        lines.push(row.trim_end().to_owned());
    };
    for group in groups(cases) {
        row([&format!("{} ({})", group[0].group, group[0].unit), "", "", "", "", "", ""]);
        let has = |is: fn(&Case) -> bool, heading| if cases.iter().any(is) { heading } else { "" };
        let probes = has(|case| case.in_probes().is_some(), "probes");
        let peer = has(|case| peers::streampu(&case.name).is_some(), "StreamPU");
        row(["case", "median", "quartiles", probes, "aim", "", peer]);
        for case in group {
            let values = case.values();
            let aim = case.aim.map(|aim| match aim {
                Aim::AtMost(limit) => format!("<= {limit}"),
                Aim::AtLeast(limit) => format!(">= {limit}"),
                Aim::ProbesAtMost(limit) => format!("<= {limit} probes"),
            });
            row([
                &case.name,
                &short(values.median()),
                &format!("{}..{}", short(values.quantile(0.25)), short(values.quantile(0.75))),
                &case.in_probes().map_or_else(String::new, |probes| short(probes.median())),
                &aim.unwrap_or_default(),
                case.is_met().map_or("", |met| if met { "met" } else { "no" }),
                &peers::streampu(&case.name).map_or_else(String::new, short),
            ]);
        }
        row([""; 7]);
    }
    let mut facts = Vec::new();
    if let Some(probes) = probes {
        facts.push(format!(
            "A probe is the round trip of a cache line between two threads that only look, taken just before and after each \
             hand-over: {} ns in the median, {} to {} ns. No thread is pinned.",
            significant(probes.median()),
            significant(probes.quantile(0.0)),
            significant(probes.max())
        ));
    }
    if cases.iter().any(|case| peers::streampu(&case.name).is_some()) {
        facts.push(peers::SOURCE.to_owned());
    }
    facts.extend(surroundings.facts());
    lines.extend(facts.iter().flat_map(|fact| wrapped(fact, COLUMNS)));
    lines.join("\n")
}

/// Three digits that count, in at most seven characters.
fn short(value: f64) -> String {
    if value >= 1e5 { format!("{value:.2e}") } else { significant(value) }
}

/// Every reading.
pub(super) fn csv(cases: &[Case]) -> String {
    let mut text = "case,unit,round,value,probe_ns\n".to_owned();
    for case in cases {
        for (round, reading) in case.readings.iter().enumerate() {
            let probe = reading.probe_ns.map_or_else(String::new, |ns| format!("{ns:.2}"));
            text += &format!("{},{},{},{:.4},{probe}\n", case.name, case.unit, round + 1, reading.value);
        }
    }
    text
}

pub(super) const BIEF: Rgb = (86, 180, 233);
pub(super) const AIM: Rgb = (0, 158, 115);
const PEER: Rgb = (213, 94, 0);

fn figure(title: &str, cases: &[Case]) -> Figure {
    let key = |label: &str, color: Rgb, mark: Mark| Key { label: label.to_owned(), color, mark };
    let panels: Vec<&[Case]> = groups(cases).collect();
    let mut legend = vec![
        key("median", BIEF, Mark::Box),
        key("quartiles", INK, Mark::Thin(Pattern::Solid)),
        key("aim", AIM, Mark::Dashes),
    ];
    if cases.iter().any(|case| peers::streampu(&case.name).is_some()) {
        legend.push(key("StreamPU 1.8.1", PEER, Mark::Ring));
    }
    Figure {
        title: title.to_owned(),
        caption: format!("medians of {}", counted(cases[0].readings.len(), "round")),
        legend,
        panel: (540, 280),
        rows: panels.chunks(2).map(|pair| pair.iter().map(|group| panel(group)).collect()).collect(),
    }
}

/// Bars of the medians of one group.
pub(super) fn panel(group: &[Case]) -> Panel {
    let mut shapes = Vec::new();
    let mut peers = Vec::new();
    let mut heights = Vec::new();
    for (place, case) in group.iter().enumerate() {
        let (place, values) = (place as f64, case.values());
        let sides = [place - 0.36, place + 0.36];
        let quartiles = [values.quantile(0.25), values.quantile(0.75)];
        shapes.push(Shape::Box { from: (sides[0], 0.0), to: (sides[1], values.median()), color: BIEF });
        let points = quartiles.map(|value| (place, value)).into();
        shapes.push(Shape::Thin { points, color: INK, pattern: Pattern::Solid });
        let aim = match case.aim {
            Some(Aim::AtMost(limit) | Aim::AtLeast(limit)) => Some(limit),
            // As long as the probes of the rounds were, on the median.
            Some(Aim::ProbesAtMost(limit)) => {
                Sample::new(case.readings.iter().filter_map(|reading| reading.probe_ns)).map(|ns| limit * ns.median())
            }
            None => None,
        };
        if let Some(aim) = aim {
            shapes.push(Shape::Line { points: sides.map(|side| (side, aim)).into(), color: AIM, dashed: true });
        }
        let peer = peers::streampu(&case.name);
        peers.extend(peer.map(|value| (place, value)));
        heights.extend([values.median(), quartiles[1]].into_iter().chain(aim).chain(peer));
    }
    shapes.push(Shape::Dots { points: peers, color: PEER, filled: false });
    Panel {
        title: group[0].group.to_owned(),
        x: Axis::names(short_names(group)),
        y: height_axis(&heights).named(group[0].unit),
        shapes,
    }
}

/// The names of the cases, without their first parts where these are all the same.
fn short_names(group: &[Case]) -> Vec<String> {
    let parts = || group.iter().filter_map(|case| case.name.split_once('/'));
    if parts().all(|(first, _)| group[0].name.starts_with(&format!("{first}/"))) {
        parts().map(|(_, rest)| rest.to_owned()).collect()
    } else {
        group.iter().map(|case| case.name.clone()).collect()
    }
}

/// Logarithmic where values lie far apart.
fn height_axis(heights: &[f64]) -> Axis {
    let most = heights.iter().copied().fold(0.0, f64::max).max(1e-3);
    let least = heights.iter().copied().filter(|height| *height > 0.0).fold(most, f64::min).max(1e-3);
    if most > 30.0 * least {
        // Half of the least, so that its bar has a height.
        return Axis::decades(least / 2.0, most, decade_name);
    }
    let decade = 10f64.powf((most / 4.0).log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].map(|part| part * decade).into_iter().find(|step| most / step <= 6.0);
    let step = step.unwrap_or(10.0 * decade);
    let decimals = (-step.log10().floor()).max(0.0) as usize;
    Axis::linear(0.0, (most * 1.05 / step).ceil() * step, step, decimals)
}

#[cfg(test)]
mod tests {
    use super::super::case::Reading;
    use super::super::surroundings::Watch;
    use super::*;

    fn read() -> Vec<Case> {
        let mut cases = super::super::runtime::cases().unwrap();
        for (index, case) in cases.iter_mut().enumerate() {
            let probed = case.name.starts_with("handover");
            let reading = |round: u32| Reading {
                value: 10f64.powi(index as i32 % 13 - 2) * f64::from(round),
                probe_ns: probed.then_some(100.0),
            };
            case.readings = (1..=5).map(reading).collect();
        }
        cases
    }

    #[test]
    fn every_case_has_a_row_a_bar_and_its_readings() {
        let cases = read();
        let found = findings(super::super::runtime::TITLED, &cases, &Watch::begin().end());
        assert!(found.table.lines().all(|line| line.chars().count() <= COLUMNS), "{}", found.table);
        for case in &cases {
            assert!(found.table.lines().any(|line| line.starts_with(&format!("{} ", case.name))));
        }
        assert_eq!(found.csv.lines().count(), 1 + 5 * cases.len());
        assert_eq!(found.json["cases"].as_array().unwrap().len(), cases.len());
        assert_eq!(found.json["probe_ns"], 100.0);
        let svg = found.figure.svg().unwrap();
        assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
        assert_eq!(svg.matches("#56B4E9").count(), 1 + cases.len(), "a key and a bar for each");
    }

    #[test]
    fn heights_fit_their_axis() {
        for heights in [&[0.0][..], &[0.0, 0.002], &[5.6, 6.0, 17.6], &[1.9, 2.0], &[0.2, 7_510_000.0], &[1e-9, 0.5]] {
            let figure = Figure {
                title: String::new(),
                caption: String::new(),
                legend: Vec::new(),
                panel: (300, 200),
                rows: vec![vec![Panel {
                    title: String::new(),
                    x: Axis::names(heights.iter().map(f64::to_string)),
                    y: height_axis(heights),
                    shapes: vec![Shape::Dots {
                        points: heights.iter().enumerate().map(|(place, &height)| (place as f64, height)).collect(),
                        color: INK,
                        filled: true,
                    }],
                }]],
            };
            let shown = heights.iter().filter(|height| **height > 1e-3 || heights.len() == 1).count();
            assert!(figure.svg().unwrap().matches("<circle").count() >= shown, "{heights:?}");
        }
    }
}

//! The slices as a table, CSV, a figure and JSON.

use bief::realtime::{AgainstBound, RealTimeReport};
use bief_cli::draw::plot::{Axis, Figure, Key, Mark, Panel, Rgb, Shape};
use bief_cli::text::{COLUMNS, counted, wrapped};
use bief_cli::units::{decade_name, significant};
use serde_json::{Value, json};

use super::{Setting, Trial, WANTED};
use crate::bench::output::Findings;
use crate::statistics::Sample;

pub(super) fn of(trials: &[Trial], setting: &Setting) -> Findings {
    let json = json!({
        "bench": "realtime",
        "surroundings": setting.surroundings.to_json(),
        "slice_seconds": setting.slice,
        "probe_seconds": setting.probe_seconds,
        "probes": setting.probes.iter().map(|(load, _, probe)| json!({ "load": load, "probe": probe })).collect::<Vec<_>>(),
        "notes": setting.notes,
        "cases": trials.iter().map(to_json).collect::<Vec<_>>(),
    });
    Findings { table: table(trials, setting), csv: csv(trials), figure: figure(trials, setting), json }
}

/// What the slices of a class found together.
struct Total {
    got: String,
    frames: u64,
    /// Medians over the slices.
    median_ns: f64,
    p99_ns: f64,
    max_ns: u64,
    over: u64,
    beyond: u64,
    overruns: Option<u64>,
    stolen_seconds: Option<f64>,
}

impl Total {
    /// `None` where no frame passed.
    fn of(slices: &[RealTimeReport]) -> Option<Self> {
        let bounds: Vec<&AgainstBound> = slices.iter().filter_map(|slice| slice.bound.as_ref()).collect();
        let median =
            |part: fn(&AgainstBound) -> u64| Some(Sample::new(bounds.iter().map(|bound| part(bound) as f64))?.median());
        let sum = |part: fn(&AgainstBound) -> u64| bounds.iter().map(|bound| part(bound)).sum();
        Some(Self {
            got: got(slices),
            frames: sum(|bound| bound.frames),
            median_ns: median(|bound| bound.median_ns)?,
            p99_ns: median(|bound| bound.p99_ns)?,
            max_ns: bounds.iter().map(|bound| bound.max_ns).max()?,
            over: sum(|bound| bound.over),
            beyond: sum(|bound| bound.beyond),
            overruns: slices.iter().map(overruns).sum(),
            stolen_seconds: slices.iter().map(|slice| slice.stolen_seconds).sum(),
        })
    }
}

/// Budgets that were used up.
fn overruns(slice: &RealTimeReport) -> Option<u64> {
    slice.stages.iter().map(|stage| stage.overruns).sum()
}

/// The class that all stages had in all slices, if it was the same.
fn got(slices: &[RealTimeReport]) -> String {
    let mut classes = slices.iter().flat_map(|slice| &slice.stages).map(|stage| stage.class);
    let first = classes.next();
    match first {
        Some(first) if classes.all(|class| class == first) => first.to_string(),
        _ => "mixed".to_owned(),
    }
}

/// The trials of one case under one load.
fn groups(trials: &[Trial]) -> impl Iterator<Item = &[Trial]> {
    trials.chunk_by(|a, b| a.load == b.load && a.subject.name == b.subject.name)
}

fn under(load: usize) -> String {
    if load == 0 { "no load".to_owned() } else { format!("load: {} copying memory", counted(load, "thread")) }
}

fn table(trials: &[Trial], setting: &Setting) -> String {
    let ms = |ns: f64| significant(ns / 1e6);
    let or_dash = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
    let mut lines = Vec::new();
    for group in groups(trials) {
        let first = &group[0];
        let bound = ms(first.bound.theory.as_nanos() as f64);
        lines.push(format!("{}, {}: bound {bound} ms", first.subject.name, under(first.load)));
        lines.push(format!(
            "{:<10} {:<8} {:>7} {:>5} {:>5} {:>6} {:>6} {:>6} {:>6} {:>5} {:>5}",
            "class", "got", "frames", "p50", "p99", "max", "over", "allow", "beyond", "overr", "steal"
        ));
        for trial in group {
            let Some(total) = Total::of(&trial.slices) else { continue };
            lines.push(format!(
                "{:<10} {:<8} {:>7} {:>5} {:>5} {:>6} {:>6} {:>6} {:>6} {:>5} {:>5}",
                trial.class,
                total.got,
                total.frames,
                ms(total.median_ns),
                ms(total.p99_ns),
                ms(total.max_ns as f64),
                total.over,
                ms(trial.bound.allowance.as_nanos() as f64),
                total.beyond,
                or_dash(total.overruns.map(|count| count.to_string())),
                or_dash(total.stolen_seconds.map(significant)),
            ));
        }
        lines.push(String::new());
    }
    lines.extend(facts(trials, setting).iter().flat_map(|fact| wrapped(fact, COLUMNS)));
    lines.join("\n")
}

fn facts(trials: &[Trial], setting: &Setting) -> Vec<String> {
    let mut facts: Vec<String> = Vec::new();
    for trial in trials {
        let about = format!("{}.", trial.subject.about);
        if !facts.contains(&about) {
            facts.push(about);
        }
    }
    facts.push(format!(
        "Times in ms, from when the oldest frame of a batch was due until it was delivered, in {} of {} s for each class; p50 and \
         p99: medians of the slices. over: frames over the bound, which holds for reserved time on a machine that does nothing \
         else to it. allow: what this one may add, the longest that a thread of that class was woken late in {} s under that \
         load, once for each stage; beyond: frames over both. overr: budgets used up. steal: seconds of all cores that the host \
         kept for itself meanwhile.",
        counted(trials[0].slices.len(), "slice"),
        significant(setting.slice),
        significant(setting.probe_seconds)
    ));
    for (load, wanted, probe) in &setting.probes {
        let name = WANTED.iter().find(|(one, _)| one == wanted).map_or("", |(_, name)| name);
        if name != "no-reclaim" {
            let us = |ns: u64| significant(ns as f64 / 1e3);
            facts.push(format!(
                "Woken late, {name}{}, {}: p50 {}, p99 {}, at most {} us.",
                if probe.class == wanted.class() { "" } else { " wanted, ordinary got" },
                under(*load),
                us(probe.median_ns),
                us(probe.p99_ns),
                us(probe.max_ns)
            ));
        }
    }
    facts.extend(setting.notes.iter().cloned());
    facts.extend(setting.surroundings.facts());
    facts
}

/// Every slice.
fn csv(trials: &[Trial]) -> String {
    let mut text =
        "case,load,class,slice,got,frames,median_ns,p99_ns,p999_ns,max_ns,bound_ns,over,allowance_ns,beyond,overruns,\
                    interruptions,stolen_seconds\n"
            .to_owned();
    for trial in trials {
        for (index, slice) in trial.slices.iter().enumerate() {
            let Some(bound) = &slice.bound else { continue };
            let interruptions: Option<u64> = slice.stages.iter().map(|stage| stage.interruptions).sum();
            let number = |number: Option<u64>| number.map_or_else(String::new, |number| number.to_string());
            text += &format!(
                "{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}\n",
                trial.subject.name,
                trial.load,
                trial.class,
                index + 1,
                got(std::slice::from_ref(slice)),
                bound.frames,
                bound.median_ns,
                bound.p99_ns,
                bound.p999_ns,
                bound.max_ns,
                bound.bound_ns,
                bound.over,
                bound.allowance_ns,
                bound.beyond,
                number(overruns(slice)),
                number(interruptions),
                slice.stolen_seconds.map_or_else(String::new, |seconds| seconds.to_string()),
            );
        }
    }
    text
}

fn to_json(trial: &Trial) -> Value {
    let total = Total::of(&trial.slices).map(|total| {
        json!({
            "got": total.got, "frames": total.frames, "median_ns": total.median_ns, "p99_ns": total.p99_ns, "max_ns": total.max_ns,
            "over": total.over, "beyond": total.beyond, "overruns": total.overruns, "stolen_seconds": total.stolen_seconds,
        })
    });
    json!({
        "case": trial.subject.name,
        "about": trial.subject.about,
        "load": trial.load,
        "class": trial.class,
        "bound_ns": trial.bound.theory.as_nanos() as u64,
        "allowance_ns": trial.bound.allowance.as_nanos() as u64,
        "total": total,
        "slices": trial.slices,
    })
}

/// Colours that colour-blind readers tell apart (Okabe and Ito).
const MEDIAN: Rgb = (0, 114, 178);
const P99: Rgb = (230, 159, 0);
const MOST: Rgb = (213, 94, 0);
const BOUND: Rgb = (0, 158, 115);

fn figure(trials: &[Trial], setting: &Setting) -> Figure {
    let key = |label: &str, color: Rgb, mark: Mark| Key { label: label.to_owned(), color, mark };
    let panels: Vec<&[Trial]> = groups(trials).collect();
    let loads = panels.iter().take_while(|group| group[0].subject.name == trials[0].subject.name).count();
    Figure {
        title: "Bief: latency in real time, by class".to_owned(),
        caption: format!(
            "{} of {} s for each class",
            counted(trials[0].slices.len(), "slice"),
            significant(setting.slice)
        ),
        legend: vec![
            key("p50", MEDIAN, Mark::Dot),
            key("p99", P99, Mark::Dot),
            key("longest", MOST, Mark::Dot),
            key("bound", BOUND, Mark::Dashes),
            key("with what the machine may add", BOUND, Mark::Ring),
        ],
        panel: (430, 320),
        rows: panels.chunks(loads).map(|row| row.iter().map(|group| panel(group)).collect()).collect(),
    }
}

/// The classes of one case under one load.
fn panel(group: &[Trial]) -> Panel {
    let ms = |ns: f64| ns / 1e6;
    let bound = ms(group[0].bound.theory.as_nanos() as f64);
    let mut series = [(MEDIAN, Vec::new()), (P99, Vec::new()), (MOST, Vec::new())];
    let mut allowed = Vec::new();
    for (place, trial) in group.iter().enumerate() {
        let place = place as f64;
        allowed.push((place, ms((trial.bound.theory + trial.bound.allowance).as_nanos() as f64)));
        let Some(total) = Total::of(&trial.slices) else { continue };
        for ((_, points), ns) in series.iter_mut().zip([total.median_ns, total.p99_ns, total.max_ns as f64]) {
            points.push((place, ms(ns)));
        }
    }
    let values = || series.iter().flat_map(|(_, points)| points).chain(&allowed).map(|point| point.1).chain([bound]);
    let (least, most) = (values().fold(f64::MAX, f64::min).max(1e-3), values().fold(0.0, f64::max));
    let ends = [(-0.5, bound), (group.len() as f64 - 0.5, bound)];
    let line = Shape::Line { points: ends.into(), color: BOUND, dashed: true };
    let dots = series.into_iter().map(|(color, points)| Shape::Dots { points, color, filled: true });
    Panel {
        title: format!("{}, {}", group[0].subject.name, under(group[0].load)),
        x: Axis::names(group.iter().map(|trial| trial.class.to_owned())),
        y: Axis::decades(least, most, decade_name).named("ms"),
        shapes: [line, Shape::Dots { points: allowed, color: BOUND, filled: false }].into_iter().chain(dots).collect(),
    }
}

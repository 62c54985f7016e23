//! What was measured: as a table, CSV, JSON and a figure.

use bief_cli::draw::plot::{Axis, Figure, INK, Key, Mark, Panel, Pattern, Rgb, Shape};
use bief_cli::text::{COLUMNS, counted, wrapped};
use bief_cli::units::{decade_name, significant};
use serde_json::{Value, json};

use super::chain::DEPTH;
use super::crossings::Crossings;
use super::size::Size;
use super::{Experiment, Place, Point, bandwidth, caches, name};
use crate::bench::case::Case;
use crate::bench::output::Findings;
use crate::bench::surroundings::Surroundings;
use crate::statistics::Sample;

/// What is told of a point.
struct Told<'p> {
    point: &'p Point,
    values: Sample,
    /// Nanoseconds of a hand-over beyond the work; `None` where they are lost in the differences of the work.
    handover_ns: Option<f64>,
    crossings: Option<Crossings>,
}

/// `probes`: with one thread, and with all where there are more.
pub(super) fn findings(
    experiment: &Experiment,
    probes: &[Case],
    points: &[Point],
    surroundings: &Surroundings,
) -> Findings {
    let told: Vec<Told> = points
        .iter()
        .map(|point| Told {
            point,
            values: point.case.values(),
            handover_ns: handover_ns(experiment, points, point),
            crossings: experiment.crossings(point),
        })
        .collect();
    Findings {
        table: table(experiment, probes, &told, surroundings),
        csv: csv(experiment, probes, points),
        figure: figure(experiment, probes, &told),
        json: to_json(experiment, probes, &told, surroundings),
    }
}

/// What a stage's part of a buffer's way takes longer than its task takes on one core: the median of the rounds, each beside
/// its own measurement on one core, where at least three quarters of them are more than nothing.
fn handover_ns(experiment: &Experiment, points: &[Point], point: &Point) -> Option<f64> {
    point.place?;
    let on_one_core = points.iter().find(|other| other.size == point.size && other.place.is_none())?;
    let ns_per_buffer = |gb_per_s: f64| point.size.0 as f64 / gb_per_s;
    let rounds = point.case.readings.iter().zip(&on_one_core.case.readings).map(|(staged, one)| {
        let work = ns_per_buffer(one.value) / experiment.tasks as f64;
        ns_per_buffer(staged.value) / experiment.turns() as f64 - work
    });
    let beyond = Sample::new(rounds)?;
    (beyond.quantile(0.25) > 0.0).then(|| beyond.median())
}

fn table(experiment: &Experiment, probes: &[Case], told: &[Told], surroundings: &Surroundings) -> String {
    let tasks = experiment.tasks;
    let rounds = counted(told[0].point.case.readings.len(), "round");
    let heading = format!("{tasks} stages that each add 1 to every byte of a buffer; medians of {rounds}.");
    let mut lines = wrapped(&heading, COLUMNS);
    let mut row = |cells: [&str; 9]| {
        let [size, place, rate, spread, traffic, handover, same, cluster, package] = cells;
        lines.push(format!(
            "{size:>8} {place:<8} {rate:>7} {spread:>16} {traffic:>7} {handover:>7} {same:>4} {cluster:>7} {package:>7}"
        ));
        let line = lines.last_mut().expect("just pushed");
        line.truncate(line.trim_end().len());
    };
    row(["", "", "", "", "all", "hand-", "same", "other", "other"]);
    row(["buffer", "place", "GB/s", "min..max", "tasks", "over us", "core", "cluster", "package"]);
    for of_size in told.chunk_by(|a, b| a.point.size == b.point.size) {
        let mut size = of_size[0].point.size.to_string();
        for told in of_size {
            // What is not known of a pipeline; on one core there is nothing to know.
            let unknown = if told.point.place.is_some() { "-" } else { "" };
            let boundaries = told.crossings.map(|crossings| {
                [crossings.same_core, crossings.other_cluster, crossings.other_package].map(in_tenths)
            });
            let [same, cluster, package] = boundaries.unwrap_or_else(|| [unknown; 3].map(str::to_owned));
            let rate = told.values.median();
            row([
                &size,
                &name(told.point.place),
                &significant(rate),
                &format!("{}..{}", significant(told.values.quantile(0.0)), significant(told.values.max())),
                &significant(rate * tasks as f64),
                &told.handover_ns.map_or_else(|| unknown.to_owned(), |ns| significant(ns / 1000.0)),
                &same,
                &cluster,
                &package,
            ]);
            size.clear();
        }
    }
    lines.push(String::new());
    let facts = facts(experiment, probes).into_iter().chain(surroundings.facts());
    lines.extend(facts.flat_map(|fact| wrapped(&fact, COLUMNS)));
    lines.join("\n")
}

/// With one decimal where it is not whole.
fn in_tenths(count: f64) -> String {
    if count.fract() == 0.0 { count.to_string() } else { format!("{count:.1}") }
}

/// Sentences about what the table shows.
fn facts(experiment: &Experiment, probes: &[Case]) -> Vec<String> {
    let (tasks, cores) = (experiment.tasks, experiment.machine.cores().len());
    let mut facts = vec![
        format!(
            "GB/s: bytes of the buffer that go through the whole pipeline; all tasks: {tasks} times as many, each read, added \
             to and written. One core: the same tasks in one stage."
        ),
        "Hand-over: microseconds that a stage takes longer for a buffer than its task takes on one core, so with fetching \
         the buffer from where the stage before left it; - where the rounds do not tell it from the work."
            .to_owned(),
        format!(
            "Same core, other cluster, other package: of the {} between stages, those that join one core, cores of different \
             clusters, and of different packages. Loose: as seen, the mean of many buffers.",
            counted(tasks - 1, "hand-over")
        ),
    ];
    if tasks > cores {
        facts.push(format!(
            "There are {tasks} stages on {}: threads share cores, up to {} on one, and waiting for a core is part of a \
             hand-over.",
            counted(cores, "core"),
            experiment.turns()
        ));
    }
    if let [Some(packed), Some(distant)] = [Place::Packed, Place::Distant].map(|place| experiment.placement(place))
        && packed.stages() == distant.stages()
    {
        facts.push("Packed and distant are the same places on this machine: between them is noise alone.".to_owned());
    }
    let probed = bandwidth::threads(cores).into_iter().zip(probes).map(|(threads, probe)| {
        format!("{} GB/s with {}", significant(probe.values().median()), counted(threads, "thread"))
    });
    facts.push(format!(
        "Memory without a pipeline, {} of it, each byte read, added to and written: {}.",
        bandwidth::BYTES,
        probed.collect::<Vec<_>>().join(", ")
    ));
    let caches: Vec<String> =
        caches::of_first_core(&experiment.machine).iter().map(|(level, size)| format!("L{level} {size}")).collect();
    let held = format!("A pipeline holds {} buffers (rings of {DEPTH}).", experiment.buffers());
    facts.push(match caches.is_empty() {
        true => held,
        false => format!("{held} Caches of a core: {}.", caches.join(", ")),
    });
    facts
}

/// Every reading.
fn csv(experiment: &Experiment, probes: &[Case], points: &[Point]) -> String {
    let mut text = "case,bytes,round,gb_per_s,all_tasks_gb_per_s\n".to_owned();
    let mut add = |case: &Case, size: Size, tasks: usize| {
        for (round, reading) in case.readings.iter().enumerate() {
            let (name, rate) = (&case.name, reading.value);
            text += &format!("{name},{},{},{rate:.9},{:.9}\n", size.0, round + 1, rate * tasks as f64);
        }
    };
    probes.iter().for_each(|probe| add(probe, bandwidth::BYTES, 1));
    points.iter().for_each(|point| add(&point.case, point.size, experiment.tasks));
    text
}

fn to_json(experiment: &Experiment, probes: &[Case], told: &[Told], surroundings: &Surroundings) -> Value {
    let rate = |values: &Sample| json!({ "median": values.median(), "min": values.quantile(0.0), "max": values.max() });
    let point = |told: &Told| {
        let boundaries = told.crossings.map(|crossings| {
            let Crossings { same_core, other_cluster, other_package } = crossings;
            json!({ "same_core": same_core, "other_cluster": other_cluster, "other_package": other_package })
        });
        json!({
            "bytes": told.point.size.0, "place": name(told.point.place), "gb_per_s": rate(&told.values),
            "all_tasks_gb_per_s": told.values.median() * experiment.tasks as f64, "handover_ns": told.handover_ns,
            "boundaries": boundaries,
        })
    };
    let caches = caches::of_first_core(&experiment.machine);
    json!({
        "bench": "memory",
        "surroundings": surroundings.to_json(),
        "rounds": told[0].point.case.readings.len(),
        "tasks": experiment.tasks,
        "buffers": experiment.buffers(),
        "caches": caches.iter().map(|(level, size)| json!({ "level": level, "bytes": size.0 })).collect::<Vec<_>>(),
        "memory": bandwidth::threads(experiment.machine.cores().len()).into_iter().zip(probes)
            .map(|(threads, probe)| json!({ "threads": threads, "gb_per_s": rate(&probe.values()) })).collect::<Vec<_>>(),
        "points": told.iter().map(point).collect::<Vec<_>>(),
    })
}

const CACHE: Rgb = (150, 150, 150);
const MEMORY: Rgb = (204, 121, 167);

fn color(place: Option<Place>) -> Rgb {
    match place {
        None => (110, 110, 110),
        Some(Place::Loose) => (230, 159, 0),
        Some(Place::Packed) => (0, 114, 178),
        Some(Place::Distant) => (0, 158, 115),
    }
}

fn figure(experiment: &Experiment, probes: &[Case], told: &[Told]) -> Figure {
    let kib = |size: Size| size.0 as f64 / 1024.0;
    let probe = probes.last().map_or(f64::NAN, |probe| probe.values().median() / experiment.tasks as f64);
    let rates = told.iter().flat_map(|told| [told.values.quantile(0.0), told.values.max()]).chain([probe]);
    let (least, most) = rates.fold((f64::MAX, 0.0_f64), |(least, most), rate| (least.min(rate), most.max(rate)));
    let [first, last] = [&experiment.sizes[0], &experiment.sizes[experiment.sizes.len() - 1]].map(|size| kib(*size));
    // The axes reach to whole powers.
    let (top, bottom) = (10f64.powf(most.log10().ceil()), 10f64.powf(least.log10().floor()));
    let [left, right] = [2f64.powf(first.log2().floor()), 2f64.powf(last.log2().ceil())];

    let mut legend = Vec::new();
    let mut shapes =
        vec![Shape::Thin { points: vec![(left, probe), (right, probe)], color: MEMORY, pattern: Pattern::Dashes }];
    for (level, size) in caches::of_first_core(&experiment.machine) {
        if (left..=right).contains(&kib(size)) {
            let points = [bottom, top].map(|rate| (kib(size), rate)).into();
            shapes.push(Shape::Thin { points, color: CACHE, pattern: Pattern::Dots });
            shapes.push(Shape::Label { at: (kib(size), top / 1.2), text: format!("L{level}"), color: INK });
        }
    }
    for place in std::iter::once(None).chain(experiment.places.iter().map(|(place, _)| Some(*place))) {
        let color = color(place);
        legend.push(Key { label: name(place), color, mark: Mark::Line });
        let of_place = || told.iter().filter(|told| told.point.place == place);
        let points: Vec<_> = of_place().map(|told| (kib(told.point.size), told.values.median())).collect();
        shapes.extend(of_place().map(|told| Shape::Thin {
            points: [told.values.quantile(0.0), told.values.max()].map(|rate| (kib(told.point.size), rate)).into(),
            color,
            pattern: Pattern::Solid,
        }));
        shapes.push(Shape::Line { points: points.clone(), color, dashed: false });
        shapes.push(Shape::Dots { points, color, filled: true });
    }
    let memory = format!("memory / {} tasks", experiment.tasks);
    legend.push(Key { label: memory, color: MEMORY, mark: Mark::Thin(Pattern::Dashes) });
    legend.push(Key { label: "cache of a core".to_owned(), color: CACHE, mark: Mark::Thin(Pattern::Dots) });
    Figure {
        title: format!("Bief: {} stages that go over memory", experiment.tasks),
        caption: format!(
            "median, least and greatest of {}, on {}",
            counted(told[0].point.case.readings.len(), "round"),
            counted(experiment.machine.cores().len(), "core")
        ),
        legend,
        panel: (760, 420),
        rows: vec![vec![Panel {
            title: String::new(),
            x: Axis::doublings(first, last).named("KiB of the buffer"),
            y: Axis::decades(least, most, decade_name).named("GB/s through the pipeline"),
            shapes,
        }]],
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::rc::Rc;

    use super::*;
    use crate::bench::case::Reading;
    use crate::bench::surroundings::Watch;

    /// Two tasks on whatever machine this is, with these rates of one core and of the only place, in each round.
    fn found(size: Size, rounds: &[(f64, f64)]) -> Findings {
        let experiment = Experiment::new(2, vec![size], vec![Place::Loose]).unwrap();
        let case = |rates: Vec<f64>| {
            let mut case = Case::new("memory/x/1".into(), ("", ""), || unreachable!("it is not measured"));
            case.readings = rates.into_iter().map(Reading::from).collect();
            case
        };
        let readings = [rounds.iter().map(|round| round.0).collect(), rounds.iter().map(|round| round.1).collect()];
        let points = experiment.points().zip(readings);
        let points: Vec<Point> = points
            .map(|((size, place), rates)| Point { size, place, case: case(rates), seen: Rc::<RefCell<_>>::default() })
            .collect();
        let probes: Vec<Case> = bandwidth::threads(experiment.machine.cores().len())
            .iter()
            .map(|_| case(vec![10.0; rounds.len()]))
            .collect();
        findings(&experiment, &probes, &points, &Watch::begin().end())
    }

    #[test]
    fn the_slowest_and_the_fastest_fit_the_table() {
        for (size, rate) in [(Size(1), 1e-9), (Size((1 << 20) - 1), 0.000_555), (Size(1 << 30), 1e6)] {
            let found = found(size, &[(2.0 * rate, rate); 3]);
            assert!(found.table.lines().all(|line| line.chars().count() <= COLUMNS), "{}", found.table);
            let svg = found.figure.svg().unwrap();
            assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
        }
    }

    #[test]
    fn a_handover_is_told_where_it_is_more_than_noise() {
        let told = |rounds: &[(f64, f64)]| found(Size(1000), rounds).json["points"][1]["handover_ns"].as_f64();
        // 1000 bytes take both tasks 500 ns on one core, and the pipeline 1500 ns.
        let turns = 2_usize.div_ceil(bief::Machine::here().cores().len()) as f64;
        let ns = told(&[(2.0, 2.0 / 3.0)]).unwrap();
        assert!((ns - (1500.0 / turns - 250.0)).abs() < 1e-6, "{ns}");
        assert_eq!(told(&[(2.0, 2.0 / 3.0), (2.0, 20.0), (2.0, 20.0)]), None, "most were faster than the work");
    }
}

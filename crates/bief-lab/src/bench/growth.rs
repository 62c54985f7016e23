//! `bief lab bench growth`: how the time per frame grows with stages, replicas, tasks and the batch.

use std::time::Duration;

use bief_cli::draw::plot::{Axis, Figure, INK, Key, Mark, Panel, Pattern, Rgb, Shape};
use bief_cli::failure::Failure;
use bief_cli::text::{COLUMNS, counted, wrapped};
use bief_cli::units::{decade_name, significant};
use serde_json::json;

use super::case::Case;
use super::output::Findings;
use super::stream::{Empty, Setting, Stream, add_stages};
use super::surroundings::Surroundings;

/// Something of which there can be more.
struct Quantity {
    /// The group of its cases.
    name: &'static str,
    heading: &'static str,
    numbers: &'static [u32],
    line: Line,
    stream: fn(u32) -> Result<Stream, Failure>,
}

/// How the time per frame is expected to grow: a straight line with logarithmic axes.
#[derive(Clone, Copy)]
enum Line {
    /// In proportion, as seen from the greatest number: what each one more takes outweighs what a frame takes anyway.
    Proportional,
    /// Not at all, as seen from the least.
    Constant,
    /// In inverse proportion, as seen from the least, until what remains for each frame is a floor.
    Inverse,
}

const SETTING: Setting = Setting { time: Duration::from_millis(20), ..Setting::DEFAULT };

const QUANTITIES: [Quantity; 4] = [
    Quantity {
        name: "stages",
        heading: "Stages of one empty task each; past the cores of this machine, threads take turns",
        numbers: &[1, 2, 3, 4, 6, 8, 12, 16, 24, 32],
        line: Line::Proportional,
        stream: |stages| Stream::of_stages(stages as usize, SETTING),
    },
    Quantity {
        name: "replicas",
        heading: "Replicas of the second of three stages of one empty task each: nothing to gain, all overhead",
        numbers: &[1, 2, 3, 4, 6, 8, 12, 16],
        line: Line::Constant,
        stream: |replicas| {
            Stream::new(SETTING, |chain, mut wire| {
                chain.stage("replicated").threads(replicas as usize);
                chain.add(Empty, &mut wire);
                add_stages(chain, &mut wire, 1);
            })
        },
    },
    Quantity {
        name: "tasks",
        heading: "Empty tasks on one core",
        numbers: &[1, 2, 5, 10, 20, 50, 100, 200, 500, 1000],
        line: Line::Proportional,
        stream: |tasks| Stream::new(SETTING, |chain, mut wire| (1..tasks).for_each(|_| chain.add(Empty, &mut wire))),
    },
    Quantity {
        name: "batch",
        heading: "Frames per batch, between two stages of one empty task each",
        numbers: &[1, 2, 4, 8, 16, 32, 64, 128, 256],
        line: Line::Inverse,
        stream: |frames| Stream::of_stages(2, Setting { batch: frames as usize, ..SETTING }),
    },
];

pub(super) fn cases() -> Result<Vec<Case>, Failure> {
    let of = |quantity: &'static Quantity| {
        quantity.numbers.iter().map(|&number| {
            let mut stream = (quantity.stream)(number)?;
            let measure = move || Ok(stream.ns_per_frame()?.into());
            Ok(Case::new(format!("{}/{number}", quantity.name), (quantity.heading, "ns"), measure))
        })
    };
    QUANTITIES.iter().flat_map(of).collect()
}

/// One number of something: the time per frame, and where the line is there.
struct Point {
    number: f64,
    ns: f64,
    quartiles: [f64; 2],
    line_ns: f64,
}

/// The points of a quantity that were measured.
fn points(quantity: &Quantity, cases: &[Case]) -> Vec<Point> {
    let mut points: Vec<Point> = quantity
        .numbers
        .iter()
        .filter_map(|number| {
            let case = cases.iter().find(|case| case.name == format!("{}/{number}", quantity.name))?;
            let values = case.values();
            let quartiles = [values.quantile(0.25), values.quantile(0.75)];
            Some(Point { number: f64::from(*number), ns: values.median(), quartiles, line_ns: f64::NAN })
        })
        .collect();
    let [Some(first), Some(last)] = [points.first(), points.last()].map(|end| end.map(|end| (end.number, end.ns)))
    else {
        return points;
    };
    for point in &mut points {
        point.line_ns = match quantity.line {
            Line::Proportional => last.1 * point.number / last.0,
            Line::Constant => first.1,
            Line::Inverse => first.1 * first.0 / point.number,
        };
    }
    points
}

pub(super) fn findings(cases: &[Case], surroundings: &Surroundings) -> Findings {
    let measured: Vec<(&Quantity, Vec<Point>)> = QUANTITIES
        .iter()
        .map(|quantity| (quantity, points(quantity, cases)))
        .filter(|(_, points)| !points.is_empty())
        .collect();
    let rounds = cases[0].readings.len();
    let json_points = |(quantity, points): &(&Quantity, Vec<Point>)| -> Vec<_> {
        let point = |point: &Point| {
            json!({
                "quantity": quantity.name, "number": point.number, "ns_per_frame": point.ns,
                "lower_quartile": point.quartiles[0], "upper_quartile": point.quartiles[1], "line_ns": point.line_ns,
            })
        };
        points.iter().map(point).collect()
    };
    let json = json!({
        "bench": "growth",
        "surroundings": surroundings.to_json(),
        "rounds": rounds,
        "points": measured.iter().flat_map(json_points).collect::<Vec<_>>(),
    });
    Findings {
        table: table(&measured, surroundings),
        csv: csv(&measured, rounds),
        figure: figure(&measured, rounds, surroundings.cores),
        json,
    }
}

fn table(measured: &[(&Quantity, Vec<Point>)], surroundings: &Surroundings) -> String {
    let mut lines = Vec::new();
    for (quantity, points) in measured {
        lines.extend(wrapped(&format!("{}.", quantity.heading), COLUMNS));
        let shares = matches!(quantity.line, Line::Proportional);
        lines.push(format!(
            "{:>10} {:>13} {:>21} {:>13} {:>9}",
            quantity.name,
            "ns per frame",
            "quartiles",
            if shares { "ns for each" } else { "" },
            "of line"
        ));
        for point in points {
            let for_each = if shares { significant(point.ns / point.number) } else { String::new() };
            let quartiles = point.quartiles.map(significant).join("-");
            let line = format!(
                "{:>10} {:>13} {:>21} {for_each:>13} {:>9.2}",
                point.number,
                significant(point.ns),
                quartiles,
                point.ns / point.line_ns,
            );
            lines.push(line);
        }
        lines.push(String::new());
    }
    let line = "Line: in proportion to stages and tasks, drawn through the greatest number; the same for any number of replicas; \
                in inverse proportion to the batch.";
    let facts = [line.to_owned()].into_iter().chain(surroundings.facts());
    lines.extend(facts.flat_map(|fact| wrapped(&fact, COLUMNS)));
    lines.join("\n")
}

fn csv(measured: &[(&Quantity, Vec<Point>)], rounds: usize) -> String {
    let mut text =
        "quantity,number,median_ns_per_frame,lower_quartile_ns,upper_quartile_ns,line_ns,rounds\n".to_owned();
    for (quantity, points) in measured {
        for point in points {
            let [low, high] = point.quartiles;
            text += &format!(
                "{},{},{:.3},{low:.3},{high:.3},{:.3},{rounds}\n",
                quantity.name, point.number, point.ns, point.line_ns
            );
        }
    }
    text
}

const BIEF: Rgb = (0, 114, 178);
const EXPECTED: Rgb = (230, 159, 0);

fn figure(measured: &[(&Quantity, Vec<Point>)], rounds: usize, cores: usize) -> Figure {
    let key = |label: &str, color: Rgb, mark: Mark| Key { label: label.to_owned(), color, mark };
    let panels: Vec<Panel> = measured.iter().map(|(quantity, points)| panel(quantity, points)).collect();
    let mut rows: Vec<Vec<Panel>> = Vec::new();
    for panel in panels {
        match rows.last_mut() {
            Some(row) if row.len() == 1 => row.push(panel),
            _ => rows.push(vec![panel]),
        }
    }
    Figure {
        title: "Bief: time per frame of empty tasks".to_owned(),
        caption: format!("medians of {}, on {}", counted(rounds, "round"), counted(cores, "core")),
        legend: vec![
            key("median", BIEF, Mark::Dot),
            key("quartiles", INK, Mark::Thin(Pattern::Solid)),
            key("straight line", EXPECTED, Mark::Dashes),
        ],
        panel: (460, 300),
        rows,
    }
}

fn panel(quantity: &Quantity, points: &[Point]) -> Panel {
    let of = |value: fn(&Point) -> f64| -> Vec<(f64, f64)> {
        points.iter().map(|point| (point.number, value(point))).collect()
    };
    let mut shapes = vec![Shape::Line { points: of(|point| point.line_ns), color: EXPECTED, dashed: true }];
    shapes.extend(points.iter().map(|point| Shape::Thin {
        points: point.quartiles.map(|ns| (point.number, ns)).into(),
        color: INK,
        pattern: Pattern::Solid,
    }));
    shapes.push(Shape::Line { points: of(|point| point.ns), color: BIEF, dashed: false });
    shapes.push(Shape::Dots { points: of(|point| point.ns), color: BIEF, filled: true });
    let times = || points.iter().flat_map(|point| [point.ns, point.quartiles[0], point.quartiles[1]]);
    let [least, most] = [times().fold(f64::MAX, f64::min), times().fold(0.0, f64::max)];
    let [first, last] = [points[0].number, points[points.len() - 1].number];
    Panel {
        title: format!("against {}", quantity.name),
        x: Axis::doublings(first, last).named(quantity.name),
        y: Axis::decades(least, most, decade_name).named("ns per frame"),
        shapes,
    }
}

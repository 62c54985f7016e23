//! `bief lab bench memory --device`: what each memory of a device costs, as on the poster: a first run, which may have to move the
//! data, and a second.

use std::fmt::Write;
use std::time::Duration;

use bief_cli::draw::plot::{Axis, Figure, Key, Mark, Panel, Rgb, Shape};
use bief_cli::failure::Failure;
use bief_cli::text::{COLUMNS, wrapped};
use bief_opencl::{Found, Memory, Probe, find};
use serde_json::{Value, json};

use super::size::Size;
use crate::bench::output::Findings;
use crate::bench::surroundings::{Surroundings, Watch};

const FIRST: Rgb = (0, 114, 178);
const SECOND: Rgb = (230, 159, 0);

/// A memory and a size, and what they took.
struct Point {
    memory: Memory,
    size: Size,
    probe: Probe,
}

/// The device of that name.
pub(in crate::bench) fn named(name: &str) -> Result<Found, Failure> {
    let found = find().map_err(|error| Failure::usage(format!("--device {name}: {error}")))?;
    let names: Vec<&str> = found.iter().map(|found| found.name.as_str()).collect();
    let names = if names.is_empty() { "no device".to_owned() } else { names.join(", ") };
    let device = found.into_iter().find(|found| found.name == name);
    device.ok_or_else(|| Failure::usage(format!("--device {name}: this machine has {names}")))
}

/// Measures each memory with each size.
pub(super) fn measure(name: &str, memories: &[Memory], sizes: &[Size], rounds: u32) -> Result<Findings, Failure> {
    let found = named(name)?;
    let watch = Watch::begin();
    let mut points = Vec::new();
    let mut notes = String::new();
    for &memory in memories {
        for &size in sizes {
            match Probe::measure(&found, memory, size.0, rounds) {
                Ok(probe) => points.push(Point { memory, size, probe }),
                Err(error) => writeln!(notes, "{memory}, {size}: {error}").expect("a text takes it"),
            }
        }
    }
    if points.is_empty() {
        return Err(Failure::new(format!("nothing could be measured:\n{}", notes.trim_end())));
    }
    let surroundings = watch.end();
    Ok(Findings {
        table: format!("{}{notes}", table(&found, &points, rounds, &surroundings)),
        csv: csv(&points),
        figure: figure(&found, &points),
        json: to_json(&found, &points, rounds, &surroundings),
    })
}

fn us(time: Duration) -> f64 {
    1e6 * time.as_secs_f64()
}

impl Point {
    /// All bytes in that time, in GB per second.
    fn gb_per_s(&self, time: Duration) -> f64 {
        self.size.0 as f64 / 1e9 / time.as_secs_f64().max(1e-12)
    }
}

fn table(found: &Found, points: &[Point], rounds: u32, surroundings: &Surroundings) -> String {
    let mut text = format!("{} ({}), {rounds} rounds; us\n\n", found.name, found.title);
    text += "memory size    allocate  1st run  2nd run     back GB/s   in  out CPU us launch\n";
    for point in points {
        let Probe { allocate, first_run, second_run, read_back, round, give, take, waiting_time, launch, .. } =
            point.probe;
        let round = point.gb_per_s(round);
        let [give, take] = [give, take].map(|time| match time {
            // Nothing was copied.
            time if time < Duration::from_micros(1) => "-".to_owned(),
            time => format!("{:.1}", point.gb_per_s(time)),
        });
        let [allocate, first_run, second_run, read_back, waiting_time, launch] =
            [allocate, first_run, second_run, read_back, waiting_time, launch].map(us);
        writeln!(
            text,
            "{:<6} {:<7} {allocate:>8.1} {first_run:>8.1} {second_run:>8.1} {read_back:>8.1} {round:>4.1} \
             {give:>4} {take:>4} {waiting_time:>6.1} {launch:>6.1}",
            point.memory.to_string(),
            point.size.to_string(),
        )
        .expect("a text takes it");
    }
    text += "\nback: read back. GB/s: of rounds, in which it is filled, a kernel changes it,\nand it is read back and checked; in, out: of what the device is given and what\nis taken from it, alone. CPU us: processor time of the wait in a round.\n";
    for fact in surroundings.facts().iter().flat_map(|fact| wrapped(fact, COLUMNS)) {
        writeln!(text, "{fact}").expect("a text takes it");
    }
    text
}

fn csv(points: &[Point]) -> String {
    let mut text =
        "memory,bytes,allocate_us,first_run_us,second_run_us,read_back_us,round_us,gb_per_s,give_us,take_us,waiting_cpu,waiting_us,\
         launch_us\n"
            .to_owned();
    for point in points {
        let Probe { allocate, first_run, second_run, read_back, round, give, take, .. } = point.probe;
        let Probe { waiting_cpu, waiting_time, launch, .. } = point.probe;
        let times = [allocate, first_run, second_run, read_back, round].map(us).map(|us| format!("{us:.3}")).join(",");
        let copies = [give, take].map(us).map(|us| format!("{us:.3}")).join(",");
        let (memory, bytes, rate) = (point.memory, point.size.0, point.gb_per_s(round));
        let [waiting_time, launch] = [waiting_time, launch].map(us);
        writeln!(text, "{memory},{bytes},{times},{rate:.4},{copies},{waiting_cpu:.4},{waiting_time:.3},{launch:.3}")
            .expect("a text takes it");
    }
    text
}

fn to_json(found: &Found, points: &[Point], rounds: u32, surroundings: &Surroundings) -> Value {
    let point = |point: &Point| {
        let Probe { allocate, first_run, second_run, read_back, round, give, take, .. } = point.probe;
        let Probe { waiting_cpu, waiting_time, launch, .. } = point.probe;
        json!({
            "memory": point.memory.to_string(), "bytes": point.size.0, "allocate_us": us(allocate), "first_run_us": us(first_run),
            "second_run_us": us(second_run), "read_back_us": us(read_back), "round_us": us(round), "gb_per_s": point.gb_per_s(round),
            "give_us": us(give), "take_us": us(take),
            "waiting_cpu": waiting_cpu, "waiting_us": us(waiting_time), "launch_us": us(launch),
        })
    };
    json!({
        "format": 1, "bench": "memory of a device", "device": found.name, "title": found.title, "rounds": rounds,
        "points": points.iter().map(point).collect::<Vec<_>>(), "surroundings": surroundings.to_json(),
    })
}

/// Bars: for each memory the first and the second run of the largest size that all have.
fn figure(found: &Found, points: &[Point]) -> Figure {
    let size = points.iter().map(|point| point.size).max().unwrap_or(Size(1));
    let bars: Vec<&Point> = points.iter().filter(|point| point.size == size).collect();
    let all = bars.iter().flat_map(|point| [us(point.probe.first_run), us(point.probe.second_run)]);
    let y = Axis::around(0.0, all.fold(1.0, f64::max));
    let shapes = bars.iter().enumerate().flat_map(|(place, point)| {
        let bar = |from: f64, to: f64, time: Duration, color| Shape::Box {
            from: (place as f64 + from, 0.0),
            to: (place as f64 + to, us(time)),
            color,
        };
        [bar(-0.35, 0.0, point.probe.first_run, FIRST), bar(0.0, 0.35, point.probe.second_run, SECOND)]
    });
    let key = |label: &str, color| Key { label: label.to_owned(), color, mark: Mark::Line };
    Figure {
        title: format!("Bief: {size} on {}, by memory", found.name),
        caption: "a kernel that adds 1 to each byte: filled and run for the first time, and run again".to_owned(),
        legend: vec![key("first run", FIRST), key("second run", SECOND)],
        panel: (560, 360),
        rows: vec![vec![Panel {
            title: String::new(),
            x: Axis::names(bars.iter().map(|point| point.memory.to_string())).named("memory"),
            y: y.named("us"),
            shapes: shapes.collect(),
        }]],
    }
}

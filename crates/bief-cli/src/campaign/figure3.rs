//! Figure 3: the time that the strategies take to compute.

use std::hint::black_box;
use std::time::{Duration, Instant};

use bief_schedule::Profile;
use clap::Args;
use indicatif::ProgressBar;
use serde_json::{Value, json};

use super::chains::{Family, RATIOS};
use super::contender::{Contender, Cores};
use super::published::{self, HERAD_MS, ReferenceTime};
use super::statistics::Sample;
use super::{Findings, TargetArgs};
use crate::draw::plot::{Axis, Figure, Key, Mark, Panel, Shape};
use crate::failure::Failure;
use crate::progress::progress;
use crate::text::{COLUMNS, wrapped};

const EXAMPLES: &str = "\
Examples:
  bief campaign figure3                  a few minutes
  bief campaign figure3 --budget 0.2     at most about 0.2 s per point
  bief campaign figure3 --budget 60      every point, some on few chains; long
  bief campaign figure3 --json > figure3.json

Everything runs on one thread; close what else keeps this machine busy. A point
is the median over random chains, as many as --chains says or as the budget
allows. A point whose first chain is expected to exceed the budget is skipped,
with all larger ones of its line: its time in the CSV is empty.
The authors' times beside it are those of their C++ program, measured on one
core of an AMD EPYC (Zen 4). 2CATAC as published takes exponential time; here it
remembers what it tried.

Files: figure3.csv, figure3.svg";

/// Arguments of `bief campaign figure3`.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Figure3Args {
    /// Seconds that a point may take
    #[arg(long, value_name = "SECONDS", default_value_t = 3.0, value_parser = seconds)]
    budget: f64,
    /// Most chains per point; the paper took 50
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    chains: u32,
    /// Which random chains: each number gives others, the same on every machine
    #[arg(long, value_name = "S", default_value_t = 1)]
    seed: u64,
    #[command(flatten)]
    pub(super) target: TargetArgs,
}

fn seconds(text: &str) -> Result<f64, String> {
    let seconds: f64 = text.parse().map_err(|_| "write a number of seconds, for example 0.5".to_owned())?;
    if (0.0..=1e6).contains(&seconds) { Ok(seconds) } else { Err("write seconds from 0 to 1000000".to_owned()) }
}

/// The steps of all axes: 20, 40, … 160 tasks, or cores of each kind.
const STEPS: [u32; 8] = [20, 40, 60, 80, 100, 120, 140, 160];

/// What grows along a part of the figure, and what stays.
#[derive(Debug, Clone, Copy)]
enum Part {
    /// More tasks on so many cores of each kind.
    Tasks { cores: u32 },
    /// More cores for so many tasks.
    Cores { tasks: usize },
}

/// The paper does not say which numbers of tasks its lower two parts have; the authors' times are for 20 tasks, and the times
/// in its text are near those of 100.
const PARTS: [Part; 4] =
    [Part::Tasks { cores: 20 }, Part::Tasks { cores: 100 }, Part::Cores { tasks: 20 }, Part::Cores { tasks: 100 }];

impl Part {
    fn name(self) -> String {
        match self {
            Self::Tasks { cores } => format!("R = ({cores}, {cores})"),
            Self::Cores { tasks } => format!("{tasks} tasks"),
        }
    }

    fn axis(self) -> &'static str {
        match self {
            Self::Tasks { .. } => "tasks",
            Self::Cores { .. } => "cores of each kind",
        }
    }

    /// The tasks and cores at a step.
    fn at(self, step: u32) -> (usize, Cores) {
        match self {
            Self::Tasks { cores } => (step as usize, Cores { big: cores, little: cores }),
            Self::Cores { tasks } => (tasks, Cores { big: step, little: step }),
        }
    }
}

/// One strategy on chains of one stateless ratio: a line of the figure.
struct Line {
    part: Part,
    ratio: f64,
    strategy: Contender,
    /// One for each of [`STEPS`].
    points: Vec<Point>,
}

struct Point {
    step: u32,
    /// `None` where the point was skipped.
    time: Option<Time>,
    /// The time of the authors' program.
    reference_us: Option<f64>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct Time {
    median_us: f64,
    chains: usize,
}

pub(super) fn find(args: &Figure3Args) -> Result<Findings, Failure> {
    let lines = PARTS.len() * RATIOS.len() * Contender::ALL.len();
    let bar = progress(Some((lines * STEPS.len()) as u64));
    let references = published::reference_times();
    let mut lines = Vec::with_capacity(lines);
    for part in PARTS {
        for ratio in RATIOS {
            for strategy in Contender::ALL {
                bar.set_message(format!("{}, SR {ratio}, {}", part.name(), strategy.name()));
                let line = line(part, ratio, strategy, args, &references, &bar);
                lines.push(line.inspect_err(|_| bar.finish_and_clear())?);
            }
        }
    }
    bar.finish_and_clear();
    Ok(Findings {
        table: table(&lines),
        json: to_json(&lines, args),
        files: vec![("figure3.csv", csv(&lines)), ("figure3.svg", figure(&lines).svg()?)],
    })
}

fn line(
    part: Part,
    ratio: f64,
    strategy: Contender,
    args: &Figure3Args,
    references: &[ReferenceTime],
    bar: &ProgressBar,
) -> Result<Line, Failure> {
    let budget = Duration::from_secs_f64(args.budget);
    let mut measured: Vec<(f64, f64)> = Vec::new();
    let mut points = Vec::with_capacity(STEPS.len());
    for step in STEPS {
        let (tasks, cores) = part.at(step);
        let affordable = points.iter().all(|point: &Point| point.time.is_some())
            && expected_us(&measured, f64::from(step)).is_none_or(|us| us <= args.budget * 1e6);
        let time = if affordable {
            let family = Family { tasks, ratio, seed: args.seed };
            let time = measure(family, strategy, cores, args.chains, budget).map_err(Failure::from_error)?;
            measured.push((f64::from(step), time.median_us));
            Some(time)
        } else {
            None
        };
        points.push(Point {
            step,
            time,
            reference_us: published::reference_us(references, strategy, tasks, cores, ratio),
        });
        bar.inc(1);
    }
    Ok(Line { part, ratio, strategy, points })
}

/// The time at a step, from the times before it: they grow with a power, which the last two tell.
fn expected_us(measured: &[(f64, f64)], step: f64) -> Option<f64> {
    let &(last_step, last_us) = measured.last()?;
    let power = match measured.len().checked_sub(2).map(|before| measured[before]) {
        Some((step, us)) if us > 0.0 && last_us > us => (last_us / us).ln() / (last_step / step).ln(),
        // HeRAD's, in the number of cores.
        _ => 3.0,
    };
    Some(last_us * (step / last_step).powf(power))
}

/// The median time of a strategy on up to `chains` chains, as long as the budget lasts.
fn measure(
    family: Family,
    strategy: Contender,
    cores: Cores,
    chains: u32,
    budget: Duration,
) -> Result<Time, bief_schedule::Error> {
    let ready = strategy.on(cores)?;
    let us = |chain: &Profile| {
        let start = Instant::now();
        let schedule = ready.schedule(black_box(chain))?;
        let time = start.elapsed();
        black_box(schedule);
        Ok::<f64, bief_schedule::Error>(time.as_secs_f64() * 1e6)
    };
    let start = Instant::now();
    // The first run finds cold caches; it counts only where there is no time for another.
    let first = us(&family.chain(0)?)?;
    let mut times = Vec::new();
    for number in 0..u64::from(chains) {
        if start.elapsed() + Duration::from_secs_f64(first / 1e6) > budget {
            break;
        }
        times.push(us(&family.chain(number)?)?);
    }
    let chains = times.len().max(1);
    Ok(Time { median_us: Sample::new(times).map_or(first, |times| times.median()), chains })
}

fn table(lines: &[Line]) -> String {
    let heading = "Figure 3: median time to schedule a chain, here and as the authors' program takes on an AMD EPYC (Zen 4); \
                   R = (big, little). All steps are in the CSV.";
    let mut text = wrapped(heading, COLUMNS);
    for part in PARTS {
        text.push(String::new());
        text.push(format!("{}, by {}", part.name(), part.axis()));
        let names: String = Contender::ALL.iter().map(|strategy| format!(" {:>11}", strategy.name())).collect();
        text.push(format!("SR{:>5}{}", "", names.trim_end()));
        for ratio in RATIOS {
            for (index, step) in STEPS.iter().enumerate().filter(|(_, step)| [20, 80, 160].contains(*step)) {
                let cells =
                    lines.iter().filter(|line| line.ratio == ratio && line.part.name() == part.name()).map(|line| {
                        let point = &line.points[index];
                        let here = point.time.map_or_else(|| "-".to_owned(), |time| short(time.median_us));
                        let there = point.reference_us.map_or_else(String::new, short);
                        format!(" {here:>5} {there:>5}")
                    });
                let row = format!("{ratio} {step:>3}{}", cells.collect::<String>());
                text.push(row.trim_end().to_owned());
            }
        }
    }
    text.push(String::new());
    text.extend(herad_as_printed(lines));
    text.push(String::new());
    text.extend(wrapped(&speed(lines), COLUMNS));
    text.join("\n")
}

/// The times that the paper's text tells, beside those of here.
fn herad_as_printed(lines: &[Line]) -> Vec<String> {
    let mut text = vec!["HeRAD, SR 0.8: here, the authors' program, printed for the authors' laptop".to_owned()];
    for (tasks, cores, ms) in HERAD_MS {
        let point = lines
            .iter()
            .filter(|line| line.strategy == Contender::Herad && line.ratio == 0.8)
            .find_map(|line| line.points.iter().find(|point| line.part.at(point.step) == (tasks, cores)));
        let here = point.and_then(|point| point.time).map(|time| time.median_us);
        let there = point.and_then(|point| point.reference_us);
        let [here, there] = [here, there].map(|us| us.map_or_else(|| "-".to_owned(), short));
        text.push(format!(
            "{tasks:>3} tasks, R = {:10} {here:>6} {there:>6} {:>6}",
            cores.to_string(),
            short(ms * 1e3)
        ));
    }
    text
}

/// How many times as fast the exact search is as HeRAD, and as HeRAD in the authors' program.
fn speed(lines: &[Line]) -> String {
    let of =
        |strategy: Contender| lines.iter().filter(move |line| line.strategy == strategy).flat_map(|line| &line.points);
    let ratios = |us: fn(&Point) -> Option<f64>| {
        let pairs = of(Contender::Herad).zip(of(Contender::Exact));
        Sample::new(pairs.filter_map(|(herad, exact)| Some(us(herad)? / exact.time?.median_us)))
    };
    let times = |ratios: Option<Sample>| {
        ratios.map(|ratios| format!("{:.0} times (at most {:.0})", ratios.median(), ratios.max())).unwrap_or_default()
    };
    format!(
        "On a median point the exact search is {} as fast as HeRAD here, and {} as fast as HeRAD in the authors' program. \
         u, m, s: micro-, milliseconds, seconds; -: skipped, see --budget.",
        times(ratios(|point| Some(point.time?.median_us))),
        times(ratios(|point| point.reference_us)),
    )
}

/// A time in at most five characters.
fn short(us: f64) -> String {
    let (value, unit) = match us {
        us if us < 999.5 => (us, "u"),
        us if us < 999_500.0 => (us / 1e3, "m"),
        us => (us / 1e6, "s"),
    };
    let decimals = if value < 9.995 { 2 } else { usize::from(value < 99.95) };
    format!("{value:.decimals$}{unit}")
}

fn csv(lines: &[Line]) -> String {
    let mut text = "strategy,tasks,big,little,ratio,chains,median_us,reference_us\n".to_owned();
    for line in lines {
        for point in &line.points {
            let (tasks, cores) = line.part.at(point.step);
            let time =
                point.time.map_or_else(|| "0,".to_owned(), |time| format!("{},{:.3}", time.chains, time.median_us));
            let reference = point.reference_us.map_or_else(String::new, |us| us.to_string());
            text += &format!(
                "{},{tasks},{},{},{},{time},{reference}\n",
                line.strategy.name(),
                cores.big,
                cores.little,
                line.ratio
            );
        }
    }
    text
}

fn to_json(lines: &[Line], args: &Figure3Args) -> Value {
    let points = lines.iter().flat_map(|line| {
        line.points.iter().map(|point| {
            let (tasks, cores) = line.part.at(point.step);
            json!({
                "strategy": line.strategy.name(), "tasks": tasks, "big": cores.big, "little": cores.little,
                "ratio": line.ratio, "chains": point.time.map_or(0, |time| time.chains),
                "median_us": point.time.map(|time| time.median_us), "reference_us": point.reference_us,
            })
        })
    });
    json!({
        "experiment": "figure3", "chains": args.chains, "seed": args.seed, "budget_seconds": args.budget,
        "points": points.collect::<Vec<_>>(),
    })
}

/// A panel per part and stateless ratio; the authors' times as dashed lines.
fn figure(lines: &[Line]) -> Figure {
    let times = |line: &Line| -> Vec<(f64, f64)> {
        let time = |point: &Point| Some((f64::from(point.step), point.time?.median_us));
        line.points.iter().filter_map(time).collect()
    };
    let references = |line: &Line| -> Vec<(f64, f64)> {
        let time = |point: &Point| Some((f64::from(point.step), point.reference_us?));
        line.points.iter().filter_map(time).collect()
    };
    let all = || lines.iter().flat_map(|line| times(line).into_iter().chain(references(line))).map(|point| point.1);
    let (least, most) = (all().fold(1e6, f64::min).max(1e-3), all().fold(1.0, f64::max));
    let panel = |part: Part, ratio: f64| {
        let of_panel = lines.iter().filter(|line| line.ratio == ratio && line.part.name() == part.name());
        let shapes = of_panel.flat_map(|line| {
            let color = line.strategy.color();
            [
                Shape::Line { points: references(line), color, dashed: true },
                Shape::Line { points: times(line), color, dashed: false },
                Shape::Dots { points: times(line), color, filled: true },
            ]
        });
        Panel {
            title: format!("{}, SR {ratio}", part.name()),
            x: Axis::linear(12.0, 168.0, 20.0, 0).named(part.axis()),
            y: Axis::decades(least, most, decade_name).named(if ratio == RATIOS[0] { "time" } else { "" }),
            shapes: shapes.collect(),
        }
    };
    let key =
        |strategy: Contender| Key { label: strategy.name().to_owned(), color: strategy.color(), mark: Mark::Line };
    let mut legend: Vec<Key> = Contender::ALL.map(key).into();
    legend.push(Key { label: "authors' program".to_owned(), color: (120, 120, 120), mark: Mark::Dashes });
    Figure {
        title: "Figure 3: time to schedule a chain".to_owned(),
        caption: "median over random chains, one thread; dashed: the authors' C++ program on an AMD EPYC (Zen 4)"
            .to_owned(),
        legend,
        panel: (330, 270),
        rows: PARTS.iter().map(|&part| RATIOS.iter().map(|&ratio| panel(part, ratio)).collect()).collect(),
    }
}

fn decade_name(us: f64) -> String {
    match us {
        us if us < 0.9 => format!("{:.0} ns", us * 1e3),
        us if us < 0.9e3 => format!("{us:.0} µs"),
        us if us < 0.9e6 => format!("{:.0} ms", us / 1e3),
        us => format!("{:.0} s", us / 1e6),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines() -> Vec<Line> {
        let mut lines = Vec::new();
        for part in PARTS {
            for ratio in RATIOS {
                for strategy in Contender::ALL {
                    let point = |&step: &u32| Point {
                        step,
                        time: (step < 100).then_some(Time { median_us: 999.4, chains: 50 }),
                        reference_us: (strategy != Contender::Exact).then_some(15.8e6),
                    };
                    lines.push(Line { part, ratio, strategy, points: STEPS.iter().map(point).collect() });
                }
            }
        }
        lines
    }

    #[test]
    fn the_table_fits_the_terminal() {
        let table = table(&lines());
        assert!(table.lines().all(|line| line.chars().count() <= COLUMNS), "{table}");
        assert!(table.contains("0.8 160     - 15.8s     - 15.8s"), "{table}");
        let last = "the exact search is 1 times (at most 1) as fast as HeRAD here, and 15809 times (at most 15809) as";
        assert!(table.replace('\n', " ").contains(last), "{table}");
    }

    #[test]
    fn skipped_points_have_no_time() {
        let text = csv(&lines());
        assert_eq!(text.lines().count(), 1 + 4 * 3 * 6 * 8);
        assert!(text.contains("\nHeRAD,100,80,80,0.8,50,999.400,15800000\n"), "{text}");
        assert!(text.contains("\nHeRAD,100,100,100,0.8,0,,15800000\n"), "{text}");
        assert!(text.contains("\nexact,160,20,20,0.2,0,,\n"), "{text}");
    }

    #[test]
    fn times_are_extrapolated_by_the_power_that_they_grow_with() {
        assert_eq!(expected_us(&[], 20.0), None);
        assert_eq!(expected_us(&[(20.0, 5.0)], 40.0), Some(40.0));
        let us = expected_us(&[(20.0, 1.0), (40.0, 4.0)], 80.0).unwrap();
        assert!((us - 16.0).abs() < 1e-9, "{us}");
    }

    #[test]
    fn a_budget_of_nothing_measures_one_chain() {
        let family = Family { tasks: 20, ratio: 0.5, seed: 1 };
        let cores = Cores { big: 4, little: 4 };
        assert_eq!(measure(family, Contender::OtacBig, cores, 50, Duration::ZERO).unwrap().chains, 1);
        assert_eq!(measure(family, Contender::OtacBig, cores, 7, Duration::from_secs(60)).unwrap().chains, 7);
    }

    #[test]
    fn short_times_have_five_characters() {
        for (us, shown) in [
            (0.5, "0.50u"),
            (9.996, "10.0u"),
            (123.4, "123u"),
            (999.6, "1.00m"),
            (15_829_168.0, "15.8s"),
            (68e6, "68.0s"),
        ] {
            assert_eq!(short(us), shown);
        }
    }
}

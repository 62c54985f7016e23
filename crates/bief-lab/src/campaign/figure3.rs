//! Figure 3: the time that the strategies take to compute.

use std::hint::black_box;
use std::time::{Duration, Instant};

use bief_cli::draw::plot::{Axis, Figure, Key, Mark, Panel, Pattern, Shape};
use bief_cli::failure::Failure;
use bief_cli::progress::progress;
use bief_cli::text::{COLUMNS, wrapped};
use bief_schedule::Profile;
use clap::Args;
use indicatif::ProgressBar;
use serde_json::{Value, json};

use super::chains::{Family, RATIOS};
use super::contender::{Contender, Cores};
use super::published::{self, HERAD_MS, ReferenceTime};
use super::{Findings, TargetArgs};
use crate::statistics::Sample;

const EXAMPLES: &str = "\
Examples:
  bief lab campaign figure3                 a few minutes
  bief lab campaign figure3 --budget 0.2    at most about 0.2 s per point
  bief lab campaign figure3 --budget 60     all points, some on few chains; long
  bief lab campaign figure3 --json > figure3.json

Everything runs on one thread; close other programs on this machine. A point is
the median over random chains, as many as --chains says or the budget allows. A
point whose first chain is expected to exceed the budget is skipped, and its
time in the CSV is empty: over tasks and cores, times are expected to keep
growing with the same power; over stateless ratios, not to grow.

Every strategy makes one schedule. The time of the exact search includes finding
all core counts that reach the shortest period, but the schedule is for one of
them, and its stages may not be the fewest.
The authors' times are those of their C++ program, measured on one core of an
AMD EPYC (Zen 4). 2CATAC as published takes exponential time; here it is
memoised.
Thin lines, which are not in the paper: nicol and recursive bisection (RB), on
big cores only, and one thread per task (R1). They replicate no task.

Files: figure3.csv, figure3.svg";

/// Arguments of `bief lab campaign figure3`.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Figure3Args {
    /// Longest time of a point, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 3.0, value_parser = seconds)]
    budget: f64,
    /// Most chains per point; the paper took 50
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    chains: u32,
    /// Seed of the random chains; the same on every machine
    #[arg(long, value_name = "S", default_value_t = 1)]
    seed: u64,
    #[command(flatten)]
    pub(super) target: TargetArgs,
}

pub(super) fn seconds(text: &str) -> Result<f64, String> {
    let seconds: f64 = text.parse().map_err(|_| "write a number of seconds, for example 0.5".to_owned())?;
    if (0.0..=1e6).contains(&seconds) { Ok(seconds) } else { Err("write seconds from 0 to 1000000".to_owned()) }
}

/// The strategies in their order: those of the paper, the exact search, and those without replicas.
const TIMED: [Contender; 9] = {
    let [otac_little, otac_big, fertac, two_catac, herad, exact] = Contender::COMPARED;
    let [nicol, bisection, thread_per_task] = Contender::WITHOUT_REPLICAS;
    [otac_little, otac_big, fertac, two_catac, herad, exact, nicol, bisection, thread_per_task]
};

/// How the lines without replicas are drawn.
const THIN: [(Contender, Pattern); 3] = {
    let [nicol, bisection, thread_per_task] = Contender::WITHOUT_REPLICAS;
    [(nicol, Pattern::Solid), (bisection, Pattern::Dashes), (thread_per_task, Pattern::Dots)]
};

/// A chain of so many tasks and of a stateless ratio, on so many cores.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Scenario {
    tasks: usize,
    cores: Cores,
    ratio: f64,
}

/// What grows along a panel of the figure, and what stays.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Sweep {
    /// More tasks on so many cores of each kind.
    Tasks { cores: u32, ratio: f64 },
    /// More cores for so many tasks.
    Cores { tasks: usize, ratio: f64 },
    /// More tasks that may be replicated, on so many cores of each kind.
    Ratio { tasks: usize, cores: u32 },
}

/// The tasks, and the cores of each kind, of the panels over stateless ratios.
const OVER_RATIOS: [(usize, u32); 3] = [(20, 20), (60, 20), (160, 100)];

/// The panels, row by row.
///
/// The paper does not say which numbers of tasks the two rows over cores have; the authors' times are for 20 tasks, and the
/// times in its text are near those of 100. The last row is not in the paper.
fn panels() -> [[Sweep; 3]; 5] {
    [
        RATIOS.map(|ratio| Sweep::Tasks { cores: 20, ratio }),
        RATIOS.map(|ratio| Sweep::Tasks { cores: 100, ratio }),
        RATIOS.map(|ratio| Sweep::Cores { tasks: 20, ratio }),
        RATIOS.map(|ratio| Sweep::Cores { tasks: 100, ratio }),
        OVER_RATIOS.map(|(tasks, cores)| Sweep::Ratio { tasks, cores }),
    ]
}

impl Sweep {
    /// What a row of panels has in common.
    fn row(self) -> String {
        match self {
            Self::Tasks { cores, .. } => format!("R = ({cores}, {cores}), by tasks"),
            Self::Cores { tasks, .. } => format!("{tasks} tasks, by cores of each kind"),
            Self::Ratio { .. } => {
                let scenarios = OVER_RATIOS.map(|(tasks, cores)| format!("{tasks} tasks on ({cores}, {cores})"));
                format!("{}, by SR", scenarios.join(", "))
            }
        }
    }

    fn title(self) -> String {
        match self {
            Self::Tasks { cores, ratio } => format!("R = ({cores}, {cores}), SR {ratio}"),
            Self::Cores { tasks, ratio } => format!("{tasks} tasks, SR {ratio}"),
            Self::Ratio { tasks, cores } => format!("{tasks} tasks, R = ({cores}, {cores})"),
        }
    }

    fn axis(self) -> Axis {
        match self {
            Self::Tasks { .. } => Axis::linear(12.0, 168.0, 20.0, 0).named("tasks"),
            Self::Cores { .. } => Axis::linear(12.0, 168.0, 20.0, 0).named("cores of each kind"),
            Self::Ratio { .. } => Axis::linear(-0.05, 1.05, 0.2, 1).named("stateless ratio (SR)"),
        }
    }

    /// The steps along the axis: 20, 40, … 160 tasks, or cores of each kind; or 0, 0.1, … 1.
    fn steps(self) -> Vec<f64> {
        match self {
            Self::Tasks { .. } | Self::Cores { .. } => (1..=8u32).map(|step| f64::from(20 * step)).collect(),
            // Divided, each is the number nearest to its decimal, as those of RATIOS are.
            Self::Ratio { .. } => (0..=10u32).map(|tenths| f64::from(tenths) / 10.0).collect(),
        }
    }

    fn at(self, step: f64) -> Scenario {
        let both = |cores: u32| Cores { big: cores, little: cores };
        match self {
            Self::Tasks { cores, ratio } => Scenario { tasks: step as usize, cores: both(cores), ratio },
            Self::Cores { tasks, ratio } => Scenario { tasks, cores: both(step as u32), ratio },
            Self::Ratio { tasks, cores } => Scenario { tasks, cores: both(cores), ratio: step },
        }
    }

    /// The time at a step, from the steps and times before it. It grows along tasks and cores with a power, which the last
    /// two tell; along ratios it may as well shrink.
    fn expected_us(self, measured: &[(f64, f64)], step: f64) -> Option<f64> {
        let &(last_step, last_us) = measured.last()?;
        if matches!(self, Self::Ratio { .. }) {
            return Some(last_us);
        }
        let power = match measured.len().checked_sub(2).map(|before| measured[before]) {
            Some((step, us)) if us > 0.0 && last_us > us => (last_us / us).ln() / (last_step / step).ln(),
            // HeRAD's, in the number of cores.
            _ => 3.0,
        };
        Some(last_us * (step / last_step).powf(power))
    }
}

/// One strategy in one panel.
struct Line {
    sweep: Sweep,
    strategy: Contender,
    /// One for each step.
    points: Vec<Point>,
}

struct Point {
    step: f64,
    scenario: Scenario,
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
    let sweeps = panels();
    let sweeps = sweeps.as_flattened();
    let steps: usize = sweeps.iter().map(|sweep| sweep.steps().len()).sum();
    let bar = progress(Some((steps * TIMED.len()) as u64));
    let references = published::reference_times();
    let mut lines = Vec::with_capacity(sweeps.len() * TIMED.len());
    for &sweep in sweeps {
        for strategy in TIMED {
            bar.set_message(format!("{}, {}", sweep.title(), strategy.name()));
            let line = line(sweep, strategy, args, &references, &lines, &bar);
            lines.push(line.inspect_err(|_| bar.finish_and_clear())?);
        }
    }
    bar.finish_and_clear();
    Ok(Findings {
        table: table(&lines),
        json: to_json(&lines, args),
        files: vec![("figure3.csv", csv(&lines)), ("figure3.svg", figure(&lines).svg()?)],
    })
}

/// Measures a line. What one of the `earlier` lines has measured is not measured again.
fn line(
    sweep: Sweep,
    strategy: Contender,
    args: &Figure3Args,
    references: &[ReferenceTime],
    earlier: &[Line],
    bar: &ProgressBar,
) -> Result<Line, Failure> {
    let budget = Duration::from_secs_f64(args.budget);
    let known = |scenario: Scenario| {
        let lines = earlier.iter().filter(|line| line.strategy == strategy);
        lines.flat_map(|line| &line.points).filter(|point| point.scenario == scenario).find_map(|point| point.time)
    };
    let mut measured: Vec<(f64, f64)> = Vec::new();
    let mut points = Vec::new();
    for step in sweep.steps() {
        let scenario = sweep.at(step);
        let Scenario { tasks, cores, ratio } = scenario;
        let affordable = sweep.expected_us(&measured, step).is_none_or(|us| us <= args.budget * 1e6);
        let time = match known(scenario) {
            None if affordable => {
                let family = Family { tasks, ratio, seed: args.seed };
                Some(measure(family, strategy, cores, args.chains, budget).map_err(Failure::from_error)?)
            }
            known => known,
        };
        measured.extend(time.map(|time| (step, time.median_us)));
        let reference_us = published::reference_us(references, strategy, tasks, cores, ratio);
        points.push(Point { step, scenario, time, reference_us });
        bar.inc(1);
    }
    Ok(Line { sweep, strategy, points })
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
        let schedule = ready.one_schedule(black_box(chain))?;
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
                   R = (big, little). All steps, and the strategies without replicas, are in the CSV.";
    let mut text = wrapped(heading, COLUMNS);
    for row in panels() {
        text.push(String::new());
        text.push(row[0].row());
        let names: String = Contender::COMPARED.iter().map(|strategy| format!(" {:>11}", strategy.name())).collect();
        text.push(format!("SR{:>5}{}", "", names.trim_end()));
        for sweep in row {
            let steps = sweep.steps();
            for index in [0, (steps.len() - 1) / 2, steps.len() - 1] {
                let Scenario { tasks, cores, ratio } = sweep.at(steps[index]);
                let number = if matches!(sweep, Sweep::Cores { .. }) { cores.big as usize } else { tasks };
                let shown = Contender::COMPARED.into_iter().filter_map(|strategy| line_of(lines, sweep, strategy));
                let cells = shown.map(|line| {
                    let point = &line.points[index];
                    let here = point.time.map_or_else(|| "-".to_owned(), |time| short(time.median_us));
                    let there = point.reference_us.map_or_else(String::new, short);
                    format!(" {here:>5} {there:>5}")
                });
                let row = format!("{ratio:.1} {number:>3}{}", cells.collect::<String>());
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

fn line_of(lines: &[Line], sweep: Sweep, strategy: Contender) -> Option<&Line> {
    lines.iter().find(|line| line.sweep == sweep && line.strategy == strategy)
}

/// The times that the paper's text tells, beside those of here.
fn herad_as_printed(lines: &[Line]) -> Vec<String> {
    let mut text = vec!["HeRAD, SR 0.8: here, the authors' program, printed for the authors' laptop".to_owned()];
    for (tasks, cores, ms) in HERAD_MS {
        let scenario = Scenario { tasks, cores, ratio: 0.8 };
        let herad = lines.iter().filter(|line| line.strategy == Contender::Herad);
        let point = herad.flat_map(|line| &line.points).find(|point| point.scenario == scenario);
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
            let Scenario { tasks, cores, ratio } = point.scenario;
            let time =
                point.time.map_or_else(|| "0,".to_owned(), |time| format!("{},{:.3}", time.chains, time.median_us));
            let reference = point.reference_us.map_or_else(String::new, |us| us.to_string());
            text += &format!(
                "{},{tasks},{},{},{ratio},{time},{reference}\n",
                line.strategy.name(),
                cores.big,
                cores.little
            );
        }
    }
    text
}

fn to_json(lines: &[Line], args: &Figure3Args) -> Value {
    let points = lines.iter().flat_map(|line| {
        line.points.iter().map(|point| {
            let Scenario { tasks, cores, ratio } = point.scenario;
            json!({
                "strategy": line.strategy.name(), "tasks": tasks, "big": cores.big, "little": cores.little,
                "ratio": ratio, "chains": point.time.map_or(0, |time| time.chains),
                "median_us": point.time.map(|time| time.median_us), "reference_us": point.reference_us,
            })
        })
    });
    json!({
        "experiment": "figure3", "chains": args.chains, "seed": args.seed, "budget_seconds": args.budget,
        "points": points.collect::<Vec<_>>(),
    })
}

/// The authors' times as dashed lines.
fn figure(lines: &[Line]) -> Figure {
    let times = |line: &Line| -> Vec<(f64, f64)> {
        line.points.iter().filter_map(|point| Some((point.step, point.time?.median_us))).collect()
    };
    let references = |line: &Line| -> Vec<(f64, f64)> {
        line.points.iter().filter_map(|point| Some((point.step, point.reference_us?))).collect()
    };
    // The panels of a row compare: they have one axis.
    let axis = |row: [Sweep; 3]| {
        let of_row = lines.iter().filter(|line| row.contains(&line.sweep));
        let all = of_row.flat_map(|line| times(line).into_iter().chain(references(line))).map(|point| point.1);
        let (least, most) = all.fold((1e6, 1.0), |(least, most): (f64, f64), us| (least.min(us), most.max(us)));
        Axis::decades(least.max(1e-3), most, decade_name)
    };
    let panel = |sweep: Sweep, y: Axis| {
        let drawn = |strategy: Contender| line_of(lines, sweep, strategy);
        let thin = THIN.iter().filter_map(|&(strategy, pattern)| {
            Some(Shape::Thin { points: times(drawn(strategy)?), color: strategy.color(), pattern })
        });
        let others = Contender::COMPARED.into_iter().filter_map(drawn).flat_map(|line| {
            let color = line.strategy.color();
            [
                Shape::Line { points: references(line), color, dashed: true },
                Shape::Line { points: times(line), color, dashed: false },
                Shape::Dots { points: times(line), color, filled: true },
            ]
        });
        Panel { title: sweep.title(), x: sweep.axis(), y, shapes: thin.chain(others).collect() }
    };
    let key =
        |strategy: Contender, mark: Mark| Key { label: strategy.name().to_owned(), color: strategy.color(), mark };
    let mut legend: Vec<Key> = Contender::COMPARED.map(|strategy| key(strategy, Mark::Line)).into();
    legend.push(Key { label: "authors' program".to_owned(), color: (120, 120, 120), mark: Mark::Dashes });
    legend.extend(THIN.map(|(strategy, pattern)| key(strategy, Mark::Thin(pattern))));
    Figure {
        title: "Figure 3: time to schedule a chain".to_owned(),
        caption: "median over random chains, one thread, one schedule; exact: with all optimal numbers of cores; \
                  dashed: the authors' C++ program on an AMD EPYC (Zen 4)"
            .to_owned(),
        legend,
        panel: (352, 310),
        rows: panels()
            .map(|row| {
                let y = axis(row);
                row.map(|sweep| panel(sweep, y.clone().named(if sweep == row[0] { "time" } else { "" }))).into()
            })
            .into(),
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
        let line = |sweep: Sweep, strategy: Contender| {
            let point = |(index, step): (usize, f64)| Point {
                step,
                scenario: sweep.at(step),
                time: (index < 4).then_some(Time { median_us: 999.4, chains: 50 }),
                reference_us: Contender::PUBLISHED.contains(&strategy).then_some(15.8e6),
            };
            Line { sweep, strategy, points: sweep.steps().into_iter().enumerate().map(point).collect() }
        };
        let sweeps = panels().into_iter().flatten();
        sweeps.flat_map(|sweep| TIMED.map(|strategy| line(sweep, strategy))).collect()
    }

    #[test]
    fn the_table_fits_the_terminal() {
        let table = table(&lines());
        assert!(table.lines().all(|line| line.chars().count() <= COLUMNS), "{table}");
        assert!(table.contains("0.8 160     - 15.8s     - 15.8s"), "{table}");
        assert!(table.contains("\n0.0  60  999u 15.8s  999u 15.8s"), "{table}");
        assert!(!table.contains("R1"), "{table}");
        let last = "the exact search is 1 times (at most 1) as fast as HeRAD here, and 15809 times (at most 15809) as";
        assert!(table.replace('\n', " ").contains(last), "{table}");
    }

    #[test]
    fn skipped_points_have_no_time() {
        let text = csv(&lines());
        assert_eq!(text.lines().count(), 1 + (4 * 8 + 11) * 3 * 9);
        assert!(text.contains("\nHeRAD,100,80,80,0.8,50,999.400,15800000\n"), "{text}");
        assert!(text.contains("\nHeRAD,100,100,100,0.8,0,,15800000\n"), "{text}");
        assert!(text.contains("\nexact,160,20,20,0.2,0,,\n"), "{text}");
        assert!(text.contains("\nR1,60,20,20,0.3,50,999.400,\n"), "{text}");
    }

    #[test]
    fn times_are_extrapolated_by_the_power_that_they_grow_with() {
        let tasks = Sweep::Tasks { cores: 20, ratio: 0.5 };
        assert_eq!(tasks.expected_us(&[], 20.0), None);
        assert_eq!(tasks.expected_us(&[(20.0, 5.0)], 40.0), Some(40.0));
        let us = tasks.expected_us(&[(20.0, 1.0), (40.0, 4.0)], 80.0).unwrap();
        assert!((us - 16.0).abs() < 1e-9, "{us}");
    }

    #[test]
    fn times_are_not_expected_to_grow_along_ratios() {
        let ratios = Sweep::Ratio { tasks: 20, cores: 20 };
        assert_eq!(ratios.expected_us(&[], 0.0), None);
        for measured in [&[(0.0, 3.0)][..], &[(0.0, 1.0), (0.1, 3.0)]] {
            assert_eq!(ratios.expected_us(measured, 0.2), Some(3.0));
        }
    }

    #[test]
    fn the_ratios_of_the_paper_are_steps() {
        let steps = Sweep::Ratio { tasks: 20, cores: 20 }.steps();
        assert!(RATIOS.iter().all(|ratio| steps.contains(ratio)), "{steps:?}");
        assert_eq!(steps.last(), Some(&1.0));
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

//! The results as pictures.

use bief_cli::draw::plot::{Axis, Figure, INK, Key, Mark, Panel, Pattern, Rgb, Shape};
use bief_cli::units::decade_name;
use bief_schedule::simulate::Mean;

use super::Results;
use super::gains::{DEMANDS, Outcome, Point, within};
use super::machine::{Machine, READINGS};
use super::policy::{Contender, FAIR, contenders};
use super::published::Gain;
use super::times::{COUNTS, KINDS, NEWS, TIMED, Timed};

/// What is drawn over how unlike the cores are.
struct Quantity {
    name: &'static str,
    of: fn(&Outcome) -> Mean,
    /// What the paper prints.
    published: Option<fn(&Gain) -> f64>,
    /// The most that any mapping can bring.
    most: Option<fn(Machine) -> f64>,
}

/// Figure 4.
pub(super) fn power(results: &Results) -> Figure {
    let quantity = Quantity {
        name: "power, % above fair",
        of: |outcome| outcome.comparison.power_percent,
        published: Some(|gain| gain.power_percent),
        most: None,
    };
    beside_published("Power by how unlike the cores are (Figure 4)", results, &quantity)
}

/// Figure 5.
pub(super) fn throughput(results: &Results) -> Figure {
    let quantity = Quantity {
        name: "throughput, % above fair",
        of: |outcome| outcome.comparison.throughput_percent,
        published: Some(|gain| gain.throughput_percent),
        most: Some(Machine::max_gain_percent),
    };
    beside_published("Throughput by how unlike the cores are (Figure 5)", results, &quantity)
}

/// What the paper does not show.
pub(super) fn costs(results: &Results) -> Figure {
    let quantities = [
        Quantity {
            name: "energy/work, % above fair",
            of: |outcome| outcome.comparison.energy_percent,
            published: None,
            most: None,
        },
        Quantity { name: "fairness (Jain)", of: |outcome| outcome.comparison.fairness, published: None, most: None },
        Quantity {
            name: "migrations per second",
            of: |outcome| outcome.comparison.migrations_per_second,
            published: None,
            most: None,
        },
    ];
    let row = |quantity: &Quantity| {
        let panel = |reading: usize, demands: usize| {
            panel(results, quantity, demands, reading, f64::INFINITY, format!("{} demands", DEMANDS[demands].0))
        };
        // The deviation, once for each kind of demands.
        vec![panel(1, 0), panel(1, 1)]
    };
    Figure {
        title: "Energy, fairness and migrations by how unlike the cores are".to_owned(),
        caption: caption(results),
        legend: legend(&contenders()),
        panel: (460, 260),
        rows: quantities.iter().map(row).collect(),
    }
}

fn caption(results: &Results) -> String {
    format!(
        "means and 95 % intervals of {} runs; 3 + 3 cores, 6 threads; HM as printed is √6 times the std",
        results.runs
    )
}

fn legend(contenders: &[Contender]) -> Vec<Key> {
    let key =
        |contender: &Contender| Key { label: contender.name.to_owned(), color: contender.color, mark: Mark::Line };
    contenders.iter().map(key).collect()
}

/// The paper's range and all machines, in both readings of the measure, for both kinds of demands.
fn beside_published(title: &str, results: &Results, quantity: &Quantity) -> Figure {
    let most = results.published.heterogeneities[results.published.heterogeneities.len() - 1];
    let row = |demands: usize| {
        let of = |reading: usize, most: f64, range: &str| {
            let title = format!("{} demands, {range}", DEMANDS[demands].0);
            panel(results, quantity, demands, reading, most, title)
        };
        vec![
            of(0, most, "the paper's range"),
            of(1, most, "the paper's range"),
            of(0, f64::INFINITY, "all"),
            of(1, f64::INFINITY, "all"),
        ]
    };
    let mut legend = legend(&contenders());
    if quantity.most.is_some() {
        let label = "1/r - 1: no mapping gains more".to_owned();
        legend.push(Key { label, color: INK, mark: Mark::Thin(Pattern::Dashes) });
    }
    legend.push(Key { label: "printed in the paper for FTFC".to_owned(), color: INK, mark: Mark::Ring });
    Figure {
        title: title.to_owned(),
        caption: caption(results),
        legend,
        panel: (360, 280),
        rows: (0..DEMANDS.len()).map(row).collect(),
    }
}

/// A quantity of all policies over machines that are no more unlike than `most` in a reading.
fn panel(results: &Results, quantity: &Quantity, demands: usize, reading: usize, most: f64, title: String) -> Panel {
    let points = within(&results.gains[demands], reading, most);
    let mut shapes = Vec::new();
    let mut heights = vec![0.0];
    for (at, contender) in contenders().iter().enumerate() {
        let place = |point: &&Point| (point.machine.heterogeneity[reading], (quantity.of)(&point.outcomes[at]));
        let estimates: Vec<(f64, Mean)> = points.iter().map(place).collect();
        heights.extend(estimates.iter().flat_map(|(_, mean)| [mean.low(), mean.high()]));
        shapes.extend(curve(&estimates, contender.color, at == FAIR));
    }
    if let Some(published) = quantity.published {
        let rings: Vec<(f64, f64)> =
            results.published.gains.iter().map(|gain| (gain.heterogeneity, published(gain))).collect();
        heights.extend(rings.iter().map(|ring| ring.1));
        shapes.push(Shape::Dots { points: rings, color: INK, filled: false });
    }
    if let Some(most) = quantity.most {
        let highest = heights.iter().copied().fold(0.0, f64::max);
        let bound = points.iter().map(|point| (point.machine.heterogeneity[reading], most(point.machine)));
        let points = bound.filter(|bound| bound.1 <= highest).collect();
        shapes.push(Shape::Thin { points, color: INK, pattern: Pattern::Dashes });
    }
    // All fairness lies far above 0.
    if heights[1..].iter().all(|height| *height > 0.5) {
        heights.remove(0);
    }
    let least = heights.iter().copied().fold(f64::INFINITY, f64::min);
    let highest = heights.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let widest = points.iter().map(|point| point.machine.heterogeneity[reading]).fold(0.0, f64::max);
    Panel {
        title,
        x: Axis::around(0.0, widest).named(format!("HM, {}", READINGS[reading].1)),
        y: Axis::around(least, highest).named(quantity.name),
        shapes,
    }
}

/// A curve with its intervals.
fn curve(estimates: &[(f64, Mean)], color: Rgb, dashed: bool) -> Vec<Shape> {
    let points: Vec<(f64, f64)> = estimates.iter().map(|(x, mean)| (*x, mean.mean)).collect();
    let bars = estimates.iter().map(|(x, mean)| bar(*x, [mean.low(), mean.high()], color));
    let mut shapes: Vec<Shape> = bars.collect();
    shapes.push(Shape::Line { points: points.clone(), color, dashed });
    shapes.push(Shape::Dots { points, color, filled: true });
    shapes
}

fn bar(x: f64, [low, high]: [f64; 2], color: Rgb) -> Shape {
    Shape::Thin { points: vec![(x, low), (x, high)], color, pattern: Pattern::Solid }
}

/// Figure 3.
pub(super) fn times(results: &Results) -> Figure {
    let most = COUNTS[COUNTS.len() - 1];
    let [few, .., many] = KINDS;
    let of_cores = |news: &str| {
        let mut shapes = Vec::new();
        for timed in &TIMED {
            for kinds in [few, many] {
                shapes.extend(line(
                    results,
                    timed,
                    news,
                    kinds == few,
                    |kinds_of, _| kinds_of == kinds,
                    |_, count| count,
                ));
            }
        }
        Panel {
            title: format!("{news}: {few} kinds dashed, {many} solid"),
            x: Axis::decades(1.0, most as f64, decade_name).named("cores and threads N"),
            y: time_axis(results),
            shapes,
        }
    };
    let of_kinds = |news: &str| {
        let lines = TIMED
            .iter()
            .flat_map(|timed| line(results, timed, news, false, |_, count| count == most, |kinds, _| kinds));
        Panel {
            title: format!("{news}: {most} cores"),
            x: Axis::doublings(few as f64, many as f64).named("kinds of cores M"),
            y: time_axis(results),
            shapes: lines.collect(),
        }
    };
    let key = |timed: &Timed| Key { label: timed.name.to_owned(), color: timed.color, mark: Mark::Line };
    Figure {
        title: "Time to map threads to cores (Figure 3 and Table 1)".to_owned(),
        caption: "medians and quartiles of a call on one thread, by the share of demands that are new at each call"
            .to_owned(),
        legend: TIMED.iter().map(key).collect(),
        panel: (460, 320),
        rows: vec![NEWS.map(|(news, _)| of_cores(news)).into(), NEWS.map(|(news, _)| of_kinds(news)).into()],
    }
}

/// All panels have one axis: they compare.
fn time_axis(results: &Results) -> Axis {
    let times = || results.times.iter().filter_map(|point| point.time).map(|time| time.median_us);
    let (least, most) = (times().fold(1.0, f64::min), times().fold(1.0, f64::max));
    Axis::decades(least, most, decade_name).named("us")
}

/// The times of an algorithm at the points that `shown` picks, by kinds and cores; `x` says where.
fn line(
    results: &Results,
    timed: &Timed,
    news: &str,
    dashed: bool,
    shown: impl Fn(usize, usize) -> bool,
    x: impl Fn(usize, usize) -> usize,
) -> Vec<Shape> {
    let points = results.times.iter().filter(|point| point.algorithm == timed.name && point.news == news);
    let points = points.filter(|point| shown(point.kinds, point.count));
    let found: Vec<_> = points.filter_map(|point| Some((x(point.kinds, point.count) as f64, point.time?))).collect();
    let mut shapes: Vec<Shape> = found.iter().map(|(x, time)| bar(*x, time.quartiles_us, timed.color)).collect();
    let medians = found.iter().map(|(x, time)| (*x, time.median_us)).collect();
    shapes.push(Shape::Line { points: medians, color: timed.color, dashed });
    shapes
}

//! The results as pictures.

use bief_cli::draw::plot::{Axis, Figure, Key, Mark, Panel, Rgb, Shape};
use bief_cli::units::decade_name;

use super::evaluate::{BATCHINGS, LIMITS_US, SIZES};
use super::means::Means;
use super::{KINDS, Results, receiver};

/// Of uniform and of rate-exploiting batches; of plans without and with merging.
const COLORS: [Rgb; 2] = [(154, 91, 18), (37, 99, 168)];

fn legend(names: [&str; 2]) -> Vec<Key> {
    let key = |(name, color): (&str, Rgb)| Key { label: name.to_owned(), color, mark: Mark::Line };
    names.into_iter().zip(COLORS).map(key).collect()
}

fn curve(points: Vec<(f64, f64)>, color: Rgb) -> [Shape; 2] {
    [Shape::Line { points: points.clone(), color, dashed: false }, Shape::Dots { points, color, filled: true }]
}

/// Utilisation and latency over the batch, for both kinds of random graphs and for the receiver.
pub(super) fn sweep(results: &Results) -> Figure {
    let random = results.means.iter().zip(KINDS).map(|(means, kind)| {
        let of = |value: &dyn Fn(usize, usize) -> Option<f64>| {
            [0, 1].map(|way| {
                let points = SIZES.iter().enumerate();
                points.filter_map(|(index, &size)| Some((size as f64, value(way, index)?))).collect::<Vec<_>>()
            })
        };
        let utilisation = of(&|way, index| Some(means.swept[way][index].utilisation));
        (format!("{kind} graphs"), utilisation, of(&|way, index| means.swept[way][index].latency_us))
    });
    let of_receiver = |value: &dyn Fn(usize, usize) -> Option<f64>| {
        [0, 1].map(|way| {
            let points = receiver::SIZES.iter().enumerate();
            points.filter_map(|(index, &size)| Some((size as f64, value(way, index)?))).collect::<Vec<_>>()
        })
    };
    let swept = &results.receiver.swept;
    let utilisation = of_receiver(&|way, index| Some(swept[way][index].utilisation));
    let receiver = ("narrowband FM".to_owned(), utilisation, of_receiver(&|way, index| swept[way][index].latency_us));

    let mut rows = vec![Vec::new(), Vec::new()];
    for (title, utilisation, latency) in random.chain([receiver]) {
        for (row, (curves, name)) in [(utilisation, "cores busy"), (latency, "latency in us")].into_iter().enumerate() {
            let values = || curves.iter().flatten();
            let sizes = values().map(|point| point.0);
            let (first, last) = (sizes.clone().fold(f64::INFINITY, f64::min), sizes.fold(1.0, f64::max));
            let y = match row {
                0 => Axis::around(0.0, values().map(|point| point.1).fold(0.0, f64::max)),
                _ => {
                    let least = values().map(|point| point.1).fold(f64::INFINITY, f64::min);
                    let most = values().map(|point| point.1).fold(1.0, f64::max);
                    Axis::decades(least.min(most), most, decade_name)
                }
            };
            rows[row].push(Panel {
                title: if row == 0 { title.clone() } else { String::new() },
                x: Axis::doublings(first.min(last), last).named(if row == 1 { "batch" } else { "" }),
                y: y.named(name),
                shapes: curves.into_iter().zip(COLORS).flat_map(|(points, color)| curve(points, color)).collect(),
            });
        }
    }
    Figure {
        title: "Utilisation and latency by the size of the batches (Figures 6, 7 and 8)".to_owned(),
        caption: format!("means of {} random graphs of each kind on 8 cores; bounds under global EDF", results.graphs),
        legend: legend(BATCHINGS),
        panel: (360, 270),
        rows,
    }
}

/// The cores that plans within a limit need, and how many graphs have one.
pub(super) fn limits(results: &Results) -> Figure {
    let percent = 100.0 / f64::from(results.graphs);
    let row = |title: &str, of: &dyn Fn(&Means, usize, usize) -> Option<f64>, full: bool| -> Vec<Panel> {
        let panel = |(means, kind): (&Means, &str)| {
            let curves = [0, 1].map(|merging| {
                let points = LIMITS_US.iter().enumerate();
                points.filter_map(|(index, &limit)| Some((limit, of(means, merging, index)?))).collect::<Vec<_>>()
            });
            let most = curves.iter().flatten().map(|point| point.1).fold(0.0, f64::max);
            let y = if full { Axis::linear(0.0, 103.0, 20.0, 0) } else { Axis::around(0.0, most) };
            Panel {
                title: if full { String::new() } else { format!("{kind} graphs") },
                x: Axis::decades(LIMITS_US[0], LIMITS_US[LIMITS_US.len() - 1], decade_name).named(if full {
                    "latency allowed, in us"
                } else {
                    ""
                }),
                y: y.named(title),
                shapes: curves.into_iter().zip(COLORS).flat_map(|(points, color)| curve(points, color)).collect(),
            }
        };
        results.means.iter().zip(KINDS).map(panel).collect()
    };
    Figure {
        title: "The plans of least utilisation within a latency".to_owned(),
        caption: format!(
            "of {} random graphs of each kind on 8 cores; above: mean of those that have a plan",
            results.graphs
        ),
        legend: legend(["batches", "batches and merging"]),
        panel: (420, 270),
        rows: vec![
            row("cores busy", &|means, merging, index| means.within[merging][index].utilisation, false),
            row(
                "% of graphs",
                &|means, merging, index| Some(percent * means.within[merging][index].count as f64),
                true,
            ),
        ],
    }
}

//! Utilisation over latency: what there is to choose from.

use bief_schedule::Period;
use bief_schedule::realtime::Plan;

use super::study::Study;
use crate::draw::plot::{Axis, Figure, INK, Key, Mark, Panel, Pattern, Rgb, Shape};
use crate::failure::Failure;
use crate::units::{decade_name, significant};

const MERGED: Rgb = (37, 99, 168);
const APART: Rgb = (154, 91, 18);
const CHOSEN: Rgb = (200, 50, 31);

/// The latency in microseconds, and the utilisation.
fn points(plans: &[Plan]) -> Vec<(f64, f64)> {
    plans.iter().map(point).collect()
}

fn point(plan: &Plan) -> (f64, f64) {
    (plan.bounds.latency_on_platform_ns() / 1e3, plan.bounds.utilisation)
}

/// The plans with and without merging, the graph as it is, and what was chosen.
pub(super) fn figure(study: &Study) -> Result<Figure, Failure> {
    let apart = points(study.apart.as_deref().unwrap_or_default());
    let merged = if study.optimiser.merging.is_some() { points(&study.front) } else { Vec::new() };
    let as_it_is: Vec<(f64, f64)> =
        study.as_it_is.iter().map(|bounds| (bounds.latency_on_platform_ns() / 1e3, bounds.utilisation)).collect();
    let chosen: Vec<(f64, f64)> = study.chosen.iter().map(point).collect();
    let limit = study.limit.map(|limit| limit.ns() / 1e3);

    let all = || apart.iter().chain(&merged).chain(&as_it_is);
    let latencies = || all().map(|point| point.0).chain(limit);
    let (least, greatest) = (latencies().fold(f64::INFINITY, f64::min), latencies().fold(0.0, f64::max));
    if !(least > 0.0 && greatest.is_finite()) {
        return Err(Failure::usage("--curve: there is no latency above 0 to draw"));
    }
    let most = all().map(|point| point.1).fold(1e-9, f64::max);
    let step = 10f64.powf((most / 2.0).log10().floor());
    let step =
        [1.0, 2.0, 5.0, 10.0].map(|times| times * step).into_iter().find(|step| most / step <= 6.0).unwrap_or(most);

    let mut legend = Vec::new();
    let mut shapes = Vec::new();
    let mut add = |label: String, color: Rgb, mark: Mark, drawn: Vec<Shape>| {
        legend.push(Key { label, color, mark });
        shapes.extend(drawn);
    };
    if let Some(limit) = limit {
        let points = vec![(limit, 0.0), (limit, most * 1.1)];
        add(
            "limit".to_owned(),
            CHOSEN,
            Mark::Thin(Pattern::Dashes),
            vec![Shape::Thin { points, color: CHOSEN, pattern: Pattern::Dashes }],
        );
    }
    for (label, color, points) in [("without merging", APART, apart), ("with merging", MERGED, merged)] {
        if !points.is_empty() {
            let dots = Shape::Dots { points: points.clone(), color, filled: true };
            add(label.to_owned(), color, Mark::Line, vec![Shape::Line { points, color, dashed: false }, dots]);
        }
    }
    for (label, color, points) in [("as it is", INK, as_it_is), ("chosen", CHOSEN, chosen)] {
        if let [(_, utilisation)] = points[..] {
            let label = format!("{label}: {} cores", significant(utilisation));
            add(label, color, Mark::Ring, vec![Shape::Dots { points, color, filled: false }]);
        }
    }
    let within = study
        .limit
        .map(Period::ns)
        .map_or_else(String::new, |limit| format!(", limit {}", crate::units::nanoseconds(limit)));
    Ok(Figure {
        title: format!("{}: utilisation over latency{within}", study.title),
        caption: "batches and merges of which none is better in both".to_owned(),
        legend,
        panel: (640, 420),
        rows: vec![vec![Panel {
            title: String::new(),
            x: Axis::decades(least, greatest, decade_name).named("latency in us"),
            y: Axis::linear(0.0, most * 1.1, step, usize::from(step < 1.0) + usize::from(step < 0.1))
                .named("cores busy"),
            shapes,
        }]],
    })
}

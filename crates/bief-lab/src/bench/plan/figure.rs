//! Medians and quartiles of several series beside each other, for each of some names.

use bief_cli::draw::plot::{Axis, INK, Key, Mark, Panel, Pattern, Rgb, Shape};

use crate::statistics::Sample;

/// Colours that colour-blind readers tell apart (Okabe and Ito).
pub(super) const COLORS: [Rgb; 5] = [(86, 180, 233), (230, 159, 0), (0, 158, 115), (213, 94, 0), (204, 121, 167)];

/// What has a colour of its own: a sample for each name.
pub(super) struct Series {
    pub(super) label: String,
    pub(super) color: Rgb,
    pub(super) values: Vec<Sample>,
}

/// The keys of the series, and of what is drawn through each.
pub(super) fn legend(series: &[Series]) -> Vec<Key> {
    let medians = series.iter().map(|series| Key { label: series.label.clone(), color: series.color, mark: Mark::Dot });
    let quartiles = Key { label: "quartiles".to_owned(), color: INK, mark: Mark::Thin(Pattern::Solid) };
    medians.chain([quartiles]).collect()
}

/// A place for each name, in which each series has its median and quartiles; the axis has 0.
pub(super) fn panel(title: &str, names: Vec<String>, series: &[Series], unit: &str) -> Panel {
    /// What the series take of a place.
    const WIDTH: f64 = 0.7;
    let quartiles = |sample: &Sample| [0.25, 0.5, 0.75].map(|part| sample.quantile(part));
    let all = series.iter().flat_map(|series| &series.values).flat_map(quartiles);
    let (low, high) = all.fold((0.0_f64, 0.0_f64), |(low, high), value| (low.min(value), high.max(value)));
    let ends = [-0.5, names.len() as f64 - 0.5];
    let zero = ends.map(|end| (end, 0.0)).into();
    let mut shapes = vec![Shape::Thin { points: zero, color: INK, pattern: Pattern::Solid }];
    for (index, one) in series.iter().enumerate() {
        let shift = WIDTH * ((index as f64 + 0.5) / series.len() as f64 - 0.5);
        for (place, sample) in one.values.iter().enumerate() {
            let place = place as f64 + shift;
            let [least, median, most] = quartiles(sample);
            let points = vec![(place, least), (place, most)];
            shapes.push(Shape::Thin { points, color: INK, pattern: Pattern::Solid });
            shapes.push(Shape::Dots { points: vec![(place, median)], color: one.color, filled: true });
        }
    }
    Panel { title: title.to_owned(), x: Axis::names(names), y: axis(low, high).named(unit), shapes }
}

/// An axis with some eight steps.
fn axis(low: f64, high: f64) -> Axis {
    let range = (high - low).max(1e-3);
    let decade = 10f64.powf((range / 8.0).log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].map(|part| part * decade).into_iter().find(|step| range / step <= 8.0);
    let step = step.unwrap_or(10.0 * decade);
    let decimals = (-step.log10().floor()).max(0.0) as usize;
    let ends = [(low / step).floor(), (high / step).ceil().max(1.0)].map(|steps| steps * step);
    Axis::linear(ends[0], ends[1], step, decimals)
}

#[cfg(test)]
mod tests {
    use super::*;
    use bief_cli::draw::plot::Figure;

    #[test]
    fn every_median_is_drawn() {
        for values in [[0.0, 0.0], [-3.0, 250.0], [1e-5, 2e-5], [4e6, 5e6], [-0.2, -0.1]] {
            let values: Vec<Sample> = values.iter().map(|&value| Sample::new([value]).unwrap()).collect();
            let series = [Series { label: "one".to_owned(), color: COLORS[0], values }];
            let figure = Figure {
                title: String::new(),
                caption: String::new(),
                legend: Vec::new(),
                panel: (300, 200),
                rows: vec![vec![panel("", vec!["a".to_owned(), "b".to_owned()], &series, "%")]],
            };
            let svg = figure.svg().unwrap();
            assert_eq!(svg.matches("<circle").count(), 2, "{svg}");
            assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
        }
    }
}

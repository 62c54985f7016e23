//! The state of a run as JSON: what the page draws, and scripts read.

use std::borrow::Cow;

use bief::pipeline::Status;
use bief::report::{EnergyOrigin, Figure, PlanChange, Reading, RunEnergy};
use serde::{Serialize, Serializer};

use crate::base64;
use crate::look::Look;

/// Points of all scatter plots together.
const POINTS: usize = 1024;

#[derive(Serialize)]
struct State<'a> {
    title: &'a str,
    version: &'a str,
    status: &'a Status,
    energy: Option<Energy>,
    changes: &'a [PlanChange],
    replans: bool,
    replanned: Option<&'a str>,
    figures: Vec<Told<'a>>,
}

#[derive(Serialize)]
struct Energy {
    joules: f64,
    watts: f64,
    joules_per_frame: Option<f64>,
    joules_per_bit: Option<f64>,
    origin: String,
}

/// A figure; a plot in bytes as base64.
#[derive(Serialize)]
struct Told<'a> {
    task: &'a str,
    name: &'a str,
    #[serde(serialize_with = "as_map")]
    labels: &'a [(Cow<'static, str>, String)],
    unit: &'a str,
    #[serde(flatten)]
    value: Shown<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
enum Shown<'a> {
    Count(u64),
    Level(f64),
    Text(&'a str),
    Scatter(Scatter),
    Curve(Curve),
}

/// Pairs of signed bytes, 127 of which are `scale`.
#[derive(Serialize)]
struct Scatter {
    scale: f32,
    points: String,
}

/// Bytes, of which 0 is `low` and 255 `high`.
#[derive(Serialize, Default)]
struct Curve {
    start: f64,
    step: f64,
    low: f32,
    high: f32,
    values: String,
}

fn as_map<S: Serializer>(labels: &[(Cow<'static, str>, String)], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(labels.iter().map(|(name, value)| (name, value)))
}

pub(crate) fn json(title: &str, look: &Look) -> serde_json::Result<String> {
    let plots = look.figures.iter().filter(|figure| matches!(figure.reading, Reading::Scatter(_))).count();
    serde_json::to_string(&State {
        title,
        version: env!("CARGO_PKG_VERSION"),
        status: &look.status,
        energy: look.energy.as_ref().map(energy),
        changes: &look.changes,
        replans: look.replans,
        replanned: look.replanned.as_deref(),
        figures: look.figures.iter().map(|told| figure(told, POINTS / plots.max(1))).collect(),
    })
}

fn energy(energy: &RunEnergy) -> Energy {
    Energy {
        joules: energy.joules,
        watts: energy.watts,
        joules_per_frame: energy.joules_per_frame,
        joules_per_bit: energy.joules_per_bit,
        origin: match &energy.origin {
            EnergyOrigin::Measured { source, scope } => format!("measured by {source}, of the {scope}"),
            EnergyOrigin::Modelled { watts_of } => format!("modelled with the watts of {watts_of}"),
            _ => "unknown".to_owned(),
        },
    }
}

/// A figure; a plot with `most` of its points.
fn figure(figure: &Figure, most: usize) -> Told<'_> {
    let value = match &figure.reading {
        Reading::Count(count) => Shown::Count(*count),
        Reading::Level { mean, .. } => Shown::Level(*mean),
        Reading::Text(text) => Shown::Text(text),
        Reading::Scatter(points) => Shown::Scatter(scatter(points, most)),
        Reading::Curve { start, step, values } => Shown::Curve(curve(*start, *step, values)),
    };
    Told { task: &figure.task, name: &figure.name, labels: &figure.labels, unit: &figure.unit, value }
}

fn scatter(points: &[[f32; 2]], most: usize) -> Scatter {
    let finite: Vec<&[f32; 2]> = points.iter().filter(|point| point.iter().all(|x| x.is_finite())).collect();
    let kept = finite.len().min(most);
    let chosen: Vec<f32> = (0..kept).flat_map(|index| *finite[index * finite.len() / kept]).collect();
    let scale = chosen.iter().fold(0.0_f32, |most, x| most.max(x.abs())).max(f32::MIN_POSITIVE);
    let bytes: Vec<u8> = chosen.iter().map(|x| ((x / scale * 127.0).round() as i8).cast_unsigned()).collect();
    Scatter { scale, points: base64::encode(&bytes) }
}

fn curve(start: f64, step: f64, values: &[f32]) -> Curve {
    let finite = || values.iter().copied().filter(|value| value.is_finite());
    let (low, high) = (finite().fold(f32::INFINITY, f32::min), finite().fold(f32::NEG_INFINITY, f32::max));
    if low > high {
        return Curve { start, step, ..Curve::default() };
    }
    let span = (high - low).max(f32::MIN_POSITIVE);
    let byte = |value: &f32| if value.is_finite() { ((value - low) / span * 255.0).round() as u8 } else { 0 };
    let bytes: Vec<u8> = values.iter().map(byte).collect();
    Curve { start, step, low, high, values: base64::encode(&bytes) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plots_are_bytes() {
        let points = [[1.0, -2.0], [f32::NAN, 0.0], [0.5, 2.0]];
        let plot = scatter(&points, 100);
        assert_eq!((plot.scale, plot.points), (2.0, base64::encode(&[64, 129, 32, 127])));
        assert_eq!(scatter(&points, 1).points, base64::encode(&[64, 129]));
        assert_eq!(scatter(&[[0.0; 2]; 9], 4).points, base64::encode(&[0; 8]));
        assert_eq!(scatter(&[[f32::INFINITY; 2]], 4).points, "");
        let line = curve(-1.0, 0.5, &[-10.0, f32::NEG_INFINITY, 10.0, 0.0]);
        assert_eq!((line.low, line.high, line.values), (-10.0, 10.0, base64::encode(&[0, 0, 255, 128])));
        assert_eq!(curve(0.0, 1.0, &[f32::NAN]).values, "");
        assert_eq!(curve(0.0, 1.0, &[3.0; 2]).values, base64::encode(&[0, 0]));
    }
}

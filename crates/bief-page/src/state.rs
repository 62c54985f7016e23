//! The state of a run as JSON: what the page draws, and scripts read.

use bief::report::{EnergyOrigin, Figure, Reading};
use serde_json::{Map, Value, json};

use crate::base64;
use crate::look::Look;

/// Points of all scatter plots together.
const POINTS: usize = 1024;

pub(crate) fn json(title: &str, look: &Look) -> Value {
    let plots = look.figures.iter().filter(|figure| matches!(figure.reading, Reading::Scatter(_))).count();
    let figures = look.figures.iter().map(|told| figure(told, POINTS / plots.max(1)));
    json!({
        "title": title,
        "version": env!("CARGO_PKG_VERSION"),
        "status": look.status,
        "energy": look.energy.as_ref().map(|energy| json!({
            "joules": energy.joules,
            "watts": energy.watts,
            "joules_per_frame": energy.joules_per_frame,
            "joules_per_bit": energy.joules_per_bit,
            "origin": match &energy.origin {
                EnergyOrigin::Measured { source, scope } => format!("measured by {source}, of the {scope}"),
                EnergyOrigin::Modelled { watts_of } => format!("modelled with the watts of {watts_of}"),
                _ => "unknown".to_owned(),
            },
        })),
        "changes": look.changes,
        "replans": look.replans,
        "replanned": look.replanned,
        "figures": figures.collect::<Vec<_>>(),
    })
}

/// A figure; a plot with `most` of its points, in bytes as base64.
fn figure(figure: &Figure, most: usize) -> Value {
    let (kind, value) = match &figure.reading {
        Reading::Count(count) => ("count", json!(count)),
        Reading::Level { mean, .. } => ("level", json!(mean)),
        Reading::Text(text) => ("text", json!(text)),
        Reading::Scatter(points) => ("scatter", scatter(points, most)),
        Reading::Curve { start, step, values } => ("curve", curve(*start, *step, values)),
    };
    let labels = figure.labels.iter().map(|(name, value)| (name.to_string(), json!(value)));
    json!({
        "task": figure.task, "name": figure.name, "labels": labels.collect::<Map<_, _>>(), "unit": figure.unit, kind: value,
    })
}

/// Pairs of signed bytes, 127 of which are `scale`.
fn scatter(points: &[[f32; 2]], most: usize) -> Value {
    let finite: Vec<&[f32; 2]> = points.iter().filter(|point| point.iter().all(|x| x.is_finite())).collect();
    let kept = finite.len().min(most);
    let chosen: Vec<f32> = (0..kept).flat_map(|index| *finite[index * finite.len() / kept]).collect();
    let scale = chosen.iter().fold(0.0_f32, |most, x| most.max(x.abs())).max(f32::MIN_POSITIVE);
    let bytes: Vec<u8> = chosen.iter().map(|x| ((x / scale * 127.0).round() as i8).cast_unsigned()).collect();
    json!({ "scale": scale, "points": base64::encode(&bytes) })
}

/// Bytes, of which 0 is `low` and 255 `high`.
fn curve(start: f64, step: f64, values: &[f32]) -> Value {
    let finite = || values.iter().copied().filter(|value| value.is_finite());
    let (low, high) = (finite().fold(f32::INFINITY, f32::min), finite().fold(f32::NEG_INFINITY, f32::max));
    if low > high {
        return json!({ "start": start, "step": step, "low": 0, "high": 0, "values": "" });
    }
    let span = (high - low).max(f32::MIN_POSITIVE);
    let byte = |value: &f32| if value.is_finite() { ((value - low) / span * 255.0).round() as u8 } else { 0 };
    let bytes: Vec<u8> = values.iter().map(byte).collect();
    json!({ "start": start, "step": step, "low": low, "high": high, "values": base64::encode(&bytes) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plots_are_bytes() {
        let points = [[1.0, -2.0], [f32::NAN, 0.0], [0.5, 2.0]];
        let plot = scatter(&points, 100);
        assert_eq!(
            (plot["scale"].as_f64(), plot["points"].as_str()),
            (Some(2.0), Some(&*base64::encode(&[64, 129, 32, 127])))
        );
        assert_eq!(
            scatter(&points, 1)["points"],
            base64::encode(&[63, 129].map(|byte| if byte == 63 { 64 } else { byte }))
        );
        assert_eq!(scatter(&[[0.0; 2]; 9], 4)["points"], base64::encode(&[0; 8]));
        assert_eq!(scatter(&[[f32::INFINITY; 2]], 4)["points"], "");
        let line = curve(-1.0, 0.5, &[-10.0, f32::NEG_INFINITY, 10.0, 0.0]);
        assert_eq!((line["low"].as_f64(), line["high"].as_f64()), (Some(-10.0), Some(10.0)));
        assert_eq!(line["values"], base64::encode(&[0, 0, 255, 128]));
        assert_eq!(curve(0.0, 1.0, &[f32::NAN])["values"], "");
        assert_eq!(curve(0.0, 1.0, &[3.0; 2])["values"], base64::encode(&[0, 0]));
    }
}

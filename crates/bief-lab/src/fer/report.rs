//! What is told of the curves: a table, JSON and a picture.

use std::time::Duration;

use bief_cli::draw::plot::{Axis, Figure, INK, Key, Mark, Panel, Pattern, Rgb, Shape};
use bief_cli::text::{COLUMNS, wrapped};
use bief_cli::units::{elapsed, significant};
use serde_json::{Value, json};

use super::count::Rule;
use super::curve::{COMPARED, Level, crossing};
use super::ideal::ITERATIONS;
use super::results::Results;
use super::setup::{CARRIER, CLOCK_PPM, Kind, Setup};

/// Curves, and what was asked for.
pub(super) struct Report<'a> {
    pub(super) setup: &'a Setup,
    pub(super) rule: &'a Rule,
    pub(super) results: &'a Results,
    /// The time that was measured in this run, and the frames.
    pub(super) took: (Duration, u64),
}

impl Report<'_> {
    /// Es/N0 of a chain at the rate at which chains are compared.
    fn level(&self, kind: Kind) -> Option<Level> {
        crossing(&self.results.curve(kind), COMPARED)
    }

    /// By how much more Es/N0 the receiver, or else its decoders alone, need than the best other chain that was measured.
    fn loss(&self) -> Option<Level> {
        let kinds = self.kinds();
        let first = |order: [Kind; 2]| order.into_iter().find(|kind| kinds.contains(kind));
        let (worse, better) = (first([Kind::Receiver, Kind::Decoder])?, first([Kind::Ideal, Kind::Decoder])?);
        if worse == better { None } else { Some(self.level(worse)?.above(self.level(better)?)) }
    }

    /// The chains that have points.
    fn kinds(&self) -> Vec<Kind> {
        Kind::ALL.into_iter().filter(|kind| !self.results.curve(*kind).is_empty()).collect()
    }

    fn about(&self, kind: Kind) -> String {
        let Setup { samples_per_symbol, carrier, clock_ppm, oscillator, .. } = *self.setup;
        match kind {
            Kind::Ideal => format!(
                "ideal: perfect synchronisation, exact LLRs, sum-product of {ITERATIONS} layered iterations, BCH"
            ),
            Kind::Decoder => "decoder: perfect synchronisation, demapper and decoders of the receiver".to_owned(),
            Kind::Receiver => {
                let carrier = carrier.map_or_else(|| format!("within ±{CARRIER}"), |cycles| cycles.to_string());
                let clock = clock_ppm.map_or_else(|| format!("within ±{CLOCK_PPM}"), |ppm| ppm.to_string());
                let noise = oscillator.map_or_else(String::new, |oscillator| {
                    format!(
                        ", phase noise {:+} dB over the DVB-S2 mask at {} symbols/s",
                        oscillator.shift_db, oscillator.symbol_rate
                    )
                });
                format!(
                    "receiver: the whole receiver at {samples_per_symbol} samples per symbol, roll-off {:.2}; carrier {carrier} \
                     cycles per symbol, clock {clock} ppm{noise}",
                    self.setup.roll_off.value()
                )
            }
        }
    }

    pub(super) fn table(&self) -> String {
        let mut lines = vec![self.setup.pls().to_string()];
        for kind in self.kinds() {
            lines.extend(wrapped(&self.about(kind), COLUMNS));
        }
        lines.push(String::new());
        lines.push(format!(
            "{:8}  {:>8}  {:>9}  {:>7}  {:>7}  {:>8}  {:>20}",
            "chain", "Es/N0 dB", "frames", "errors", "lost", "FER", "95 %"
        ));
        for kind in self.kinds() {
            for (es_n0, count) in self.results.curve(kind) {
                let (low, high) = count.interval();
                lines.push(format!(
                    "{:8}  {es_n0:>8}  {:>9}  {:>7}  {:>7}  {:>8}  {:>20}",
                    kind.name(),
                    count.all.frames,
                    count.all.errors,
                    count.all.lost,
                    significant(count.rate()),
                    format!("{} to {}", significant(low), significant(high))
                ));
            }
        }
        lines.push(String::new());
        for kind in self.kinds() {
            lines.push(format!("{} at FER {COMPARED}: {}", kind.name(), shown(self.level(kind), "Es/N0 ")));
        }
        if self.kinds().len() > 1 {
            lines.push(format!("loss at FER {COMPARED}: {}", shown(self.loss(), "")));
        }
        if self.kinds().into_iter().any(|kind| self.level(kind).is_none()) {
            let remedy = format!(
                "Unknown: there is no point with errors on both sides of FER {COMPARED}. Give --esn0 around it, or more --frames."
            );
            lines.extend(wrapped(&remedy, COLUMNS));
        }
        let table13 = format!(
            "Table 13 (normal frames, one packet in 10^7, no pilots): {:.2} dB",
            self.setup.modcod.ideal_esn0_db()
        );
        lines.extend(wrapped(&table13, COLUMNS));
        let (time, frames) = self.took;
        if frames > 0 {
            let rate = significant(frames as f64 / time.as_secs_f64());
            lines.push(format!("{frames} frames measured in {}: {rate} per second", elapsed(time)));
        }
        lines.join("\n")
    }

    pub(super) fn json(&self) -> Value {
        let level = |level: Option<Level>| {
            level.map(|level| {
                let (low, high) = level.interval();
                json!({ "db": level.db, "low_db": low, "high_db": high })
            })
        };
        let chains = self.kinds().into_iter().map(|kind| {
            let point = |(es_n0, count): (super::setup::EsN0, super::count::Count)| {
                let (low, high) = count.interval();
                json!({
                    "es_n0_db": es_n0.db(), "blocks": count.blocks, "frames": count.all.frames,
                    "frame_errors": count.all.errors, "frames_lost": count.all.lost, "fer": count.rate(),
                    "fer_low": low, "fer_high": high,
                })
            };
            let points: Vec<Value> = self.results.curve(kind).into_iter().map(point).collect();
            json!({ "chain": kind.name(), "points": points, "es_n0": level(self.level(kind)) })
        });
        let setup: serde_json::Map<String, Value> =
            self.setup.columns().into_iter().map(|(name, value)| (name.to_owned(), value.into())).collect();
        json!({
            "setup": setup,
            "frame_errors_wanted": self.rule.errors,
            "most_frames": self.rule.frames,
            "confidence": 0.95,
            "chains": chains.collect::<Vec<_>>(),
            "compared_at_fer": COMPARED,
            "loss": level(self.loss()),
            "table_13_db": (f64::from(self.setup.modcod.ideal_esn0_db()) * 100.0).round() / 100.0,
            "seconds": self.took.0.as_secs_f64(),
        })
    }

    /// Frame error rates over Es/N0, with their intervals.
    pub(super) fn figure(&self) -> Figure {
        let threshold = f64::from(self.setup.modcod.ideal_esn0_db());
        let curves: Vec<_> = self.kinds().into_iter().map(|kind| (kind, self.results.curve(kind))).collect();
        let levels = || curves.iter().flat_map(|(_, curve)| curve.iter().map(|(es_n0, _)| es_n0.db()));
        let [from, to] = [levels().fold(threshold, f64::min), levels().fold(threshold, f64::max)];
        let (from, to, step) = span(from, to);
        let rates = || curves.iter().flat_map(|(_, curve)| curve.iter().map(|(_, count)| count.rate()));
        let least = rates().filter(|rate| *rate > 0.0).fold(COMPARED, f64::min) / 2.0;
        let mut shapes = vec![Shape::Line {
            points: vec![(threshold, least / 10.0), (threshold, 1.0)],
            color: THRESHOLD,
            dashed: true,
        }];
        let mut legend = vec![Key { label: "Table 13".to_owned(), color: THRESHOLD, mark: Mark::Dashes }];
        for (kind, curve) in &curves {
            let color = color(*kind);
            legend.push(Key { label: kind.name().to_owned(), color, mark: Mark::Line });
            // A rate of 0 has no place on a logarithmic axis: its interval begins at the foot.
            shapes.extend(curve.iter().map(|(es_n0, count)| {
                let (low, high) = count.interval();
                Shape::Thin {
                    points: [low.max(least / 10.0), high].map(|rate| (es_n0.db(), rate)).into(),
                    color: INK,
                    pattern: Pattern::Solid,
                }
            }));
            let points: Vec<_> = curve
                .iter()
                .filter(|(_, count)| count.all.errors > 0)
                .map(|(es_n0, count)| (es_n0.db(), count.rate()))
                .collect();
            shapes.push(Shape::Line { points: points.clone(), color, dashed: false });
            shapes.push(Shape::Dots { points, color, filled: true });
        }
        legend.push(Key { label: "95 % interval".to_owned(), color: INK, mark: Mark::Thin(Pattern::Solid) });
        let loss =
            self.loss().map_or_else(String::new, |loss| format!("; loss at {COMPARED}: {}", shown(Some(loss), "")));
        Figure {
            title: format!("Bief: frame error rate of {}", self.setup.pls()),
            caption: format!("{} frame errors or {} frames per point{loss}", self.rule.errors, self.rule.frames),
            legend,
            panel: (760, 500),
            rows: vec![vec![Panel {
                title: String::new(),
                x: Axis::linear(from, to, step, 1).named("Es/N0 in dB"),
                y: Axis::decades(least, 1.0, |rate| rate.to_string()).named("frame error rate"),
                shapes,
            }]],
        }
    }
}

const THRESHOLD: Rgb = (120, 120, 120);

fn color(kind: Kind) -> Rgb {
    match kind {
        Kind::Receiver => (0, 114, 178),
        Kind::Ideal => (230, 159, 0),
        Kind::Decoder => (0, 158, 115),
    }
}

/// A range around these values, and the distance of its ticks, about ten of them.
fn span(from: f64, to: f64) -> (f64, f64, f64) {
    let steps = [0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0];
    let step = steps.into_iter().find(|step| (to - from) / step <= 10.0).unwrap_or(20.0);
    let margin = 0.05_f64.max(0.03 * (to - from));
    (from - margin, to + margin, step)
}

fn shown(level: Option<Level>, what: &str) -> String {
    level.map_or_else(
        || "unknown".to_owned(),
        |level| {
            let (low, high) = level.interval();
            format!("{what}{:.2} dB ({low:.2} to {high:.2})", level.db)
        },
    )
}

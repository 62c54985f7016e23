//! Figures as metrics: Prometheus' text format, and OpenMetrics.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use bief::report::{EnergyOrigin, Figure, Reading};

use crate::look::Look;

/// How metrics are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    /// The text format 0.0.4.
    Text,
    OpenMetrics,
}

impl Format {
    pub(crate) fn content_type(self) -> &'static str {
        match self {
            Self::Text => "text/plain; version=0.0.4; charset=utf-8",
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Counter,
    Gauge,
}

/// All metrics, by name: each has one kind, one meaning, and one value for each set of labels.
#[derive(Default)]
struct Metrics(BTreeMap<String, Family>);

struct Family {
    kind: Kind,
    help: String,
    /// Which of them, as it is written between braces; and the value.
    samples: Vec<(String, f64)>,
    seen: BTreeSet<String>,
}

impl Metrics {
    /// A value of the metric `bief_NAME`, or `bief_NAME_UNIT`. What is there already under these labels stays.
    fn add(&mut self, kind: Kind, (name, unit): (&str, &str), help: &str, labels: &[(&str, &str)], value: f64) {
        let mut family = format!("bief_{}", plain(name));
        // Collectors want these in full.
        let unit = match unit {
            "s" => "seconds".to_owned(),
            "ns" => "nanoseconds".to_owned(),
            "Hz" => "hertz".to_owned(),
            unit => plain(unit),
        };
        if !unit.is_empty() && !family.ends_with(&format!("_{unit}")) {
            let _ = write!(family, "_{unit}");
        }
        // These ends mean something else in one of the formats.
        for end in ["_total", "_created", "_bucket", "_count", "_sum", "_info"] {
            while let Some(rest) = family.strip_suffix(end) {
                family.truncate(rest.len());
            }
        }
        // Of two kinds, the second has a name of its own.
        if self.0.get(&family).is_some_and(|known| known.kind != kind) {
            family += match kind {
                Kind::Counter => "_counted",
                Kind::Gauge => "_level",
            };
        }
        let mut written = String::new();
        let mut names = BTreeSet::new();
        for (name, value) in labels {
            let mut name = plain(name);
            while !names.insert(name.clone()) {
                name.insert_str(0, "of_");
            }
            let _ = write!(written, "{}{name}=\"{}\"", if written.is_empty() { "" } else { "," }, escaped(value));
        }
        let family = self.0.entry(family).or_insert_with(|| Family {
            kind,
            help: help.to_owned(),
            samples: Vec::new(),
            seen: BTreeSet::new(),
        });
        if family.seen.insert(written.clone()) {
            family.samples.push((written, value));
        }
    }

    fn write(&self, format: Format) -> String {
        let mut text = String::new();
        for (name, Family { kind, help, samples, .. }) in &self.0 {
            let total = format!("{name}_total");
            // OpenMetrics names the family, the text format the sample.
            let (head, sample, kind) = match (kind, format) {
                (Kind::Counter, Format::OpenMetrics) => (name, &total, "counter"),
                (Kind::Counter, Format::Text) => (&total, &total, "counter"),
                (Kind::Gauge, _) => (name, name, "gauge"),
            };
            let _ = writeln!(text, "# HELP {head} {}\n# TYPE {head} {kind}", escaped(help));
            for (labels, value) in samples {
                let labels = if labels.is_empty() { String::new() } else { format!("{{{labels}}}") };
                let _ = writeln!(text, "{sample}{labels} {value}");
            }
        }
        if format == Format::OpenMetrics {
            text += "# EOF\n";
        }
        text
    }

    fn figure(&mut self, figure: &Figure) {
        let labels = || {
            let of = figure.labels.iter().map(|(name, value)| (name.as_ref(), value.as_str()));
            [("task", figure.task.as_str())].into_iter().chain(of)
        };
        let help = format!("What tasks tell as {}.", figure.name.replace('_', " "));
        let name = (figure.name.as_ref(), figure.unit.as_ref());
        match &figure.reading {
            Reading::Count(count) => self.add(Kind::Counter, name, &help, &labels().collect::<Vec<_>>(), *count as f64),
            Reading::Level { mean, .. } => self.add(Kind::Gauge, name, &help, &labels().collect::<Vec<_>>(), *mean),
            Reading::Text(text) => {
                let labels: Vec<_> = labels().chain([("is", text.as_str())]).collect();
                self.add(Kind::Gauge, (&format!("{}_is", figure.name), ""), &help, &labels, 1.0);
            }
            // A collector has no use for pictures.
            Reading::Scatter(_) | Reading::Curve { .. } => {}
        }
    }
}

/// The metrics of a run: those of the pipeline first, whose names no task takes away.
pub(crate) fn metrics(title: &str, look: &Look, format: Format) -> String {
    let mut all = Metrics::default();
    let status = &look.status;
    let mut one = |kind, name, help, value| all.add(kind, name, help, &[], value);
    one(Kind::Gauge, ("running", ""), "Whether the run goes on.", f64::from(u8::from(status.is_running)));
    one(Kind::Gauge, ("run", "seconds"), "Time since the run began.", status.seconds);
    one(Kind::Counter, ("frames_delivered", ""), "Frames that passed the last task.", status.frames as f64);
    one(Kind::Gauge, ("batches_in_flight", ""), "Batches on their way.", status.batches_in_flight as f64);
    one(Kind::Counter, ("plan_changes", ""), "Changes of the plan.", look.changes.len() as f64);
    let version = env!("CARGO_PKG_VERSION");
    all.add(
        Kind::Gauge,
        ("build", ""),
        "What runs, and which Bief it is.",
        &[("title", title), ("version", version)],
        1.0,
    );
    for (number, stage) in status.stages.iter().enumerate() {
        let number = number.to_string();
        let labels = [("stage", number.as_str()), ("name", &stage.name), ("cores", &stage.cores)];
        let mut add = |kind, name, help, value| all.add(kind, name, help, &labels, value);
        add(Kind::Gauge, ("stage_threads", ""), "Replicas of the stage.", stage.threads as f64);
        add(
            Kind::Counter,
            ("stage_busy", "seconds"),
            "Time that the replicas worked, in this plan.",
            stage.busy_seconds,
        );
        for (name, help, ns) in [
            ("stage_planned", "Planned time of a batch, divided by the replicas.", stage.planned_ns),
            ("stage_measured", "Time of a batch, divided by the replicas.", stage.measured_ns),
        ] {
            if let Some(ns) = ns {
                add(Kind::Gauge, (name, "seconds"), help, ns / 1e9);
            }
        }
    }
    for ring in &status.rings {
        let stage = ring.stage.to_string();
        let labels = [("before_stage", stage.as_str())];
        all.add(Kind::Gauge, ("ring_batches", ""), "Batches that wait before the stage.", &labels, ring.held as f64);
        all.add(Kind::Gauge, ("ring_slots", ""), "Batches that may wait before the stage.", &labels, ring.slots as f64);
    }
    if let Some(energy) = &look.energy {
        let origin = match &energy.origin {
            EnergyOrigin::Measured { .. } => "measured",
            _ => "modelled",
        };
        let labels = [("origin", origin)];
        all.add(Kind::Counter, ("energy", "joules"), "What the run has cost.", &labels, energy.joules);
        all.add(Kind::Gauge, ("power", "watts"), "The mean power of the run.", &labels, energy.watts);
    }
    look.figures.iter().for_each(|figure| all.figure(figure));
    all.write(format)
}

/// A part of a name: small letters, digits and single `_`, none at either end.
fn plain(name: &str) -> String {
    let words = name.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    let plain = words.map(str::to_ascii_lowercase).collect::<Vec<_>>().join("_");
    // A label of its own must not begin with a digit.
    if plain.starts_with(|c: char| c.is_ascii_digit()) { format!("of_{plain}") } else { plain }
}

fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('\n', "\\n").replace('"', "\\\"")
}

#[cfg(test)]
mod tests {
    use bief::Figures;

    use super::*;

    fn written(tell: impl FnOnce(&mut Figures), format: Format) -> String {
        let mut figures = Figures::default();
        tell(&mut figures);
        metrics("a \"test\"\n", &Look { figures, ..Look::default() }, format)
    }

    #[test]
    fn figures_become_metrics_of_both_formats() {
        let tell = |figures: &mut Figures| {
            figures.count("read", "bytes", 7).of("isi", "a\"b\\c\n");
            figures.level("es_n0", "dB", 7.5, 1.0);
            figures.text("heard", "signal");
            figures.level("demodulated", "s", 1.5, 1.0);
            figures.scatter("symbols", "", vec![[0.0; 2]]);
            figures.count("pid_rate", "bit/s", 3);
        };
        let text = written(tell, Format::Text);
        for line in [
            "# TYPE bief_read_bytes_total counter",
            r#"bief_read_bytes_total{task="",isi="a\"b\\c\n"} 7"#,
            "# TYPE bief_es_n0_db gauge",
            r#"bief_es_n0_db{task=""} 7.5"#,
            r#"bief_heard_is{task="",is="signal"} 1"#,
            r#"bief_pid_rate_bit_s_total{task=""} 3"#,
            r#"bief_build{title="a \"test\"\n",version="0.1.0"} 1"#,
            r#"bief_demodulated_seconds{task=""} 1.5"#,
            "bief_running 0",
        ] {
            assert!(text.lines().any(|known| known == line), "{line}\n{text}");
        }
        assert!(!text.contains("symbols") && !text.contains("EOF"));
        let open = written(tell, Format::OpenMetrics);
        assert!(
            open.contains("# TYPE bief_read_bytes counter\nbief_read_bytes_total{") && open.ends_with("# EOF\n"),
            "{open}"
        );
    }

    #[test]
    fn names_that_meet_are_told_apart_and_no_sample_stands_twice() {
        let text = written(
            |figures| {
                figures.count("lost", "", 1);
                figures.level("lost", "", 2.0, 1.0);
                figures.count("lost", "", 3);
                figures.count("frames_total", "", 4).of("task", "x").of("Task!", "y");
                figures.count("9 lives", "", 5).of("7", "z");
                figures.level("running", "", 9.0, 1.0);
                figures.count("run_seconds", "", 6);
            },
            Format::OpenMetrics,
        );
        for line in [
            r#"bief_lost_total{task=""} 1"#,
            r#"bief_lost_level{task=""} 2"#,
            r#"bief_frames_total{task="",of_task="x",of_of_task="y"} 4"#,
            r#"bief_of_9_lives_total{task="",of_7="z"} 5"#,
            r#"bief_run_seconds_counted_total{task=""} 6"#,
            "bief_running 0",
        ] {
            assert!(text.lines().any(|known| known == line), "{line}\n{text}");
        }
        let mut samples: Vec<&str> =
            text.lines().filter_map(|line| line.rsplit_once(' ').map(|(name, _)| name)).collect();
        let all = samples.len();
        samples.sort_unstable();
        samples.dedup();
        assert_eq!(samples.len(), all, "{text}");
    }
}

//! What tasks tell of their work: counts, levels, texts and small plots, by name.

use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::columns::{COLUMNS, fitted};

/// Points of a scatter plot at most.
const MAX_POINTS: usize = 4096;
/// Columns of a task's name and of a value at most, in a table.
const TASK: usize = 18;
const VALUE: usize = 27;

/// Figures that tasks report, in the order of reporting.
///
/// A task writes them in [`Task::figures`](crate::Task::figures); they are read while a run goes on
/// ([`Watch::figures`](crate::pipeline::Watch::figures)) and after it ([`Report::figures`](crate::Report::figures)). Those of the replicas of a
/// task are put together: counts add up, levels become means.
///
/// ```
/// use bief::report::{Figures, Reading};
/// use bief::{Chain, Flow, In, Result, Task, source};
///
/// #[derive(Default)]
/// struct Peaks {
///     clipped: u64,
///     sum: f64,
///     frames: u64,
/// }
///
/// impl Task for Peaks {
///     type In = In<f32>;
///     type Out = ();
///     fn lens(&self, _: usize) -> Result<()> {
///         Ok(())
///     }
///     fn run(&mut self, frame: &[f32], (): ()) -> Result<Flow> {
///         let peak = frame.iter().fold(0.0_f32, |peak, x| peak.max(x.abs()));
///         self.clipped += u64::from(peak >= 1.0);
///         self.sum += f64::from(peak);
///         self.frames += 1;
///         Ok(Flow::Next)
///     }
///     fn figures(&self, figures: &mut Figures) {
///         figures.count("clipped", "frames", self.clipped);
///         figures.level("peak", "", self.sum / self.frames as f64, self.frames as f64);
///     }
/// }
///
/// let mut chain = Chain::new();
/// let samples = chain.add(source::from_slice(&[0.5_f32, 1.0, 0.0, -0.5], 2), ());
/// chain.add(Peaks::default(), &samples);
/// let report = chain.build()?.run()?;
/// assert_eq!(report.figures.counted("clipped"), 1);
/// assert!(matches!(report.figures.get("peak").unwrap().reading, Reading::Level { mean, .. } if mean == 0.75));
/// # Ok::<(), bief::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Figures(Vec<Figure>);

/// One figure that a task reports.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Figure {
    /// The task that tells it.
    pub task: String,
    /// What it is, in lower case with `_` between words, as in `frame_errors`.
    pub name: Cow<'static, str>,
    /// What it is of, where a task tells one thing of several: name and value, as `modcod` and `QPSK 8/9`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<(Cow<'static, str>, String)>,
    /// The unit, such as `samples`, `dB`, `Hz`; empty for what has none.
    #[serde(default, skip_serializing_if = "str::is_empty")]
    pub unit: Cow<'static, str>,
    /// Its value.
    #[serde(flatten)]
    pub reading: Reading,
}

/// The value of a [`Figure`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reading {
    /// How often something happened in this run, or how much of something there was. Replicas add up.
    Count(u64),
    /// What was measured. Replicas become their mean by weight.
    Level {
        /// The measured value; finite.
        mean: f64,
        /// How much stands behind it: frames, most often.
        weight: f64,
    },
    /// A name or state. Of replicas, what the last one tells.
    Text(String),
    /// Points of a plane, such as received symbols: at most 4096. Those of replicas are mixed.
    Scatter(Vec<[f32; 2]>),
    /// Values at equal distances, such as a spectrum. Replicas become their mean.
    Curve {
        /// Where the first value stands.
        start: f64,
        /// How far the next one is.
        step: f64,
        /// The values.
        values: Vec<f32>,
    },
}

impl Figures {
    /// Reports a count.
    pub fn count(
        &mut self,
        name: impl Into<Cow<'static, str>>,
        unit: impl Into<Cow<'static, str>>,
        count: u64,
    ) -> &mut Figure {
        self.push(name, unit, Reading::Count(count))
    }

    /// Reports a measured value with its weight. A value that is not finite, or has no weight, is left out.
    pub fn level(
        &mut self,
        name: impl Into<Cow<'static, str>>,
        unit: impl Into<Cow<'static, str>>,
        mean: f64,
        weight: f64,
    ) {
        if mean.is_finite() && weight > 0.0 && weight.is_finite() {
            self.push(name, unit, Reading::Level { mean, weight });
        }
    }

    /// Reports a name or a state.
    pub fn text(&mut self, name: impl Into<Cow<'static, str>>, text: impl Into<String>) -> &mut Figure {
        self.push(name, "", Reading::Text(text.into()))
    }

    /// Reports points of a plane; of more than 4096 it keeps an evenly spread selection.
    pub fn scatter(&mut self, name: &'static str, unit: &'static str, points: Vec<[f32; 2]>) -> &mut Figure {
        self.push(name, unit, Reading::Scatter(thinned(points)))
    }

    /// Reports values at equal distances: the first at `start`, each next one `step` further.
    pub fn curve(
        &mut self,
        name: &'static str,
        unit: &'static str,
        (start, step): (f64, f64),
        values: Vec<f32>,
    ) -> &mut Figure {
        self.push(name, unit, Reading::Curve { start, step, values })
    }

    fn push(
        &mut self,
        name: impl Into<Cow<'static, str>>,
        unit: impl Into<Cow<'static, str>>,
        reading: Reading,
    ) -> &mut Figure {
        let (name, unit) = (name.into(), unit.into());
        self.0.push(Figure { task: String::new(), name, labels: Vec::new(), unit, reading });
        self.0.last_mut().expect("just pushed")
    }

    /// All figures.
    pub fn iter(&self) -> impl Iterator<Item = &Figure> {
        self.0.iter()
    }

    /// Whether nothing was reported.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The first figure of that name.
    pub fn get(&self, name: &str) -> Option<&Figure> {
        self.all(name).next()
    }

    /// The figures of that name, of all labels and tasks.
    pub fn all<'f>(&'f self, name: &str) -> impl Iterator<Item = &'f Figure> {
        self.0.iter().filter(move |figure| figure.name == name)
    }

    /// The sum of the counts of that name; 0 where there is none.
    pub fn counted(&self, name: &str) -> u64 {
        let counts = self.all(name).filter_map(|figure| match figure.reading {
            Reading::Count(count) => Some(count),
            _ => None,
        });
        counts.fold(0, u64::saturating_add)
    }

    /// The level of that name, from the first task that reports one.
    pub fn measured(&self, name: &str) -> Option<f64> {
        self.all(name).find_map(|figure| match figure.reading {
            Reading::Level { mean, .. } => Some(mean),
            _ => None,
        })
    }

    /// Says of figures `first..` which task they are of, unless a task in it has said so.
    pub(crate) fn told_by(&mut self, task: &str, first: usize) {
        let nameless = self.0[first..].iter_mut().filter(|figure| figure.task.is_empty());
        nameless.for_each(|figure| task.clone_into(&mut figure.task));
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Merges the figures of a replica, or of another part of the work, into these.
    pub fn merge(&mut self, others: Self) {
        for other in others.0 {
            let same = |figure: &&mut Figure| {
                figure.name == other.name && figure.task == other.task && figure.labels == other.labels
            };
            match self.0.iter_mut().find(same) {
                Some(figure) => figure.reading.merge(other.reading),
                None => self.0.push(other),
            }
        }
    }
}

impl Figure {
    /// Labels the figure, if a task reports the same one of several things.
    pub fn of(&mut self, label: &'static str, value: impl fmt::Display) -> &mut Self {
        self.labels.push((label.into(), value.to_string()));
        self
    }

    /// The value of a label.
    pub fn label(&self, name: &str) -> Option<&str> {
        self.labels.iter().find(|(label, _)| label == name).map(|(_, value)| value.as_str())
    }

    /// Task, name and what it is of, and value.
    fn row(&self) -> [String; 3] {
        let labels: String = self.labels.iter().map(|(_, value)| format!(" {value}")).collect();
        let unit = if self.unit.is_empty() { String::new() } else { format!(" {}", self.unit) };
        let value = match &self.reading {
            Reading::Count(count) => format!("{count}{unit}"),
            Reading::Level { mean, .. } => format!("{mean:.4}{unit}"),
            Reading::Text(text) => text.clone(),
            Reading::Scatter(points) => format!("{} points", points.len()),
            Reading::Curve { values, .. } => format!("{} values", values.len()),
        };
        [self.task.clone(), format!("{}{labels}", self.name.replace('_', " ")), value]
    }
}

impl Reading {
    fn merge(&mut self, other: Self) {
        match (self, other) {
            (Self::Count(count), Self::Count(other)) => *count = count.saturating_add(other),
            (Self::Level { mean, weight }, Self::Level { mean: other, weight: behind }) => {
                let all = *weight + behind;
                *mean += (other - *mean) * behind / all;
                *weight = all;
            }
            (Self::Scatter(points), Self::Scatter(others)) => {
                points.extend(others);
                *points = thinned(std::mem::take(points));
            }
            (Self::Curve { values, .. }, Self::Curve { values: others, .. }) if values.len() == others.len() => {
                values.iter_mut().zip(others).for_each(|(value, other)| *value = 0.5 * (*value + other));
            }
            // Replicas that tell different things: the last one is heard.
            (reading, other) => *reading = other,
        }
    }
}

/// At most so many points, evenly spread.
fn thinned(points: Vec<[f32; 2]>) -> Vec<[f32; 2]> {
    match points.len() {
        0..=MAX_POINTS => points,
        all => (0..MAX_POINTS).map(|index| points[index * all / MAX_POINTS]).collect(),
    }
}

/// A table of at most 80 columns: task, name and what it is of, and the value. Plots tell how many points they have.
impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let headings = ["task", "figure", "value"].map(str::to_owned);
        let rows: Vec<[String; 3]> = std::iter::once(headings).chain(self.0.iter().map(Figure::row)).collect();
        let widest = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
        let (task, value) = (widest(0).min(TASK), widest(2).min(VALUE));
        let figure = widest(1).min(COLUMNS - 4 - task - value);
        for (index, row) in rows.iter().enumerate() {
            // The task is named once.
            let teller = if index > 1 && rows[index - 1][0] == row[0] { "" } else { &row[0] };
            let (teller, name) = (fitted(teller, task), fitted(&row[1], figure));
            let line = format!("{teller:<task$}  {name:<figure$}  {}", fitted(&row[2], value));
            write!(f, "{}{}", if index == 0 { "" } else { "\n" }, line.trim_end())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(tell: impl FnOnce(&mut Figures)) -> Figures {
        let mut figures = Figures::default();
        tell(&mut figures);
        figures.told_by("task", 0);
        figures
    }

    #[test]
    fn replicas_are_put_together() {
        let mut figures = told(|figures| {
            figures.count("frames", "", 3).of("modcod", "QPSK");
            figures.level("level", "dB", 1.0, 3.0);
            figures.text("state", "locked");
            figures.scatter("symbols", "", vec![[0.0, 1.0]; 3000]);
            figures.curve("spectrum", "dB", (-0.5, 0.5), vec![1.0, 2.0]);
        });
        figures.merge(told(|figures| {
            figures.count("frames", "", 4).of("modcod", "QPSK");
            figures.count("frames", "", 5).of("modcod", "8PSK");
            figures.level("level", "dB", 5.0, 1.0);
            figures.text("state", "searching");
            figures.scatter("symbols", "", vec![[1.0, 0.0]; 3000]);
            figures.curve("spectrum", "dB", (-0.5, 0.5), vec![3.0, 4.0]);
        }));
        assert_eq!(figures.counted("frames"), 12);
        let qpsk = figures.all("frames").find(|figure| figure.label("modcod") == Some("QPSK")).unwrap();
        assert_eq!(qpsk.reading, Reading::Count(7));
        assert_eq!(figures.measured("level"), Some(2.0));
        assert_eq!(figures.get("state").unwrap().reading, Reading::Text("searching".into()));
        let Reading::Scatter(points) = &figures.get("symbols").unwrap().reading else { panic!("a scatter plot") };
        assert!(points.len() == 4096 && points.contains(&[0.0, 1.0]) && points.contains(&[1.0, 0.0]));
        let curve = Reading::Curve { start: -0.5, step: 0.5, values: vec![2.0, 3.0] };
        assert_eq!(figures.get("spectrum").unwrap().reading, curve);
    }

    #[test]
    fn what_is_not_known_is_not_told() {
        let figures = told(|figures| {
            figures.level("a", "dB", f64::NAN, 1.0);
            figures.level("b", "dB", 1.0, 0.0);
            figures.level("c", "dB", 1.0, f64::INFINITY);
        });
        assert!(figures.is_empty());
        assert_eq!((figures.counted("a"), figures.measured("b")), (0, None));
    }

    #[test]
    fn they_are_read_back() {
        let figures = told(|figures| {
            figures.count("frames", "frames", u64::MAX).of("isi", 7);
            figures.level("es_n0", "dB", 7.25, 10.0);
            figures.curve("spectrum", "dB", (0.0, 1.0), vec![0.5]);
        });
        let json = serde_json::to_string(&figures).unwrap();
        assert_eq!(serde_json::from_str::<Figures>(&json).unwrap(), figures, "{json}");
        let table = figures.to_string();
        let rows: Vec<&str> = table.lines().collect();
        assert_eq!(rows[0], "task  figure    value");
        assert_eq!(rows[1], format!("task  frames 7  {} frames", u64::MAX));
        assert_eq!(rows[2..], ["      es n0     7.2500 dB", "      spectrum  1 values"]);
    }

    #[test]
    fn the_table_fits_a_terminal() {
        let mut figures = told(|figures| {
            figures.text("state", "x".repeat(100)).of("of", "y".repeat(100));
            figures.count("frames", "frames", u64::MAX).of("of", "a\nb");
        });
        figures.0[0].task = "z".repeat(100);
        let table = figures.to_string();
        assert!(table.lines().count() == 3 && table.lines().all(|line| line.chars().count() <= 80), "{table}");
    }
}

//! What the paper measured on a machine: what a block costs by its samples, and two blocks apart and merged.

use bief_cli::draw::plot::{Axis, Figure, Key, Mark, Panel, Rgb, Shape};
use bief_cli::failure::Failure;
use bief_cli::units::significant;
use serde_json::{Value, json};

use crate::bench::batches::{Layout, Line, Merging, SIZES, disturbed, lines, merging};
use crate::campaign::claim::Claim;

/// How often each batch is measured.
const ROUNDS: u32 = 3;
/// What a straight line must explain of times that are "highly linear".
const LINEAR: f64 = 0.99;
/// What "significantly smaller" is of a whole, "slightly larger" of a part, and "largely unchanged" of the same.
const SMALLER: f64 = 0.75;
const LARGER: f64 = 1.25;
const UNCHANGED: std::ops::RangeInclusive<f64> = 0.85..=1.15;

/// The layouts of Figures 3 and 9, of frequency shifts: like the paper's add_const, blocks of next to no work.
const SHOWN: [(Layout, &str, Rgb); 3] = [
    (Layout::Merged(1), "one block", (37, 99, 168)),
    (Layout::Separate(2), "two blocks, a thread each", (154, 91, 18)),
    (Layout::Merged(2), "two blocks, merged", (0, 158, 115)),
];

/// The lines of all layouts.
pub(super) struct Measured {
    lines: Vec<Line>,
    disturbed: Option<String>,
}

impl Measured {
    /// By readings of so many seconds each.
    pub(super) fn measure(seconds: f64) -> Result<Self, Failure> {
        Ok(Self { lines: lines(&SIZES, seconds, ROUNDS)?, disturbed: disturbed() })
    }

    fn line(&self, layout: Layout) -> &Line {
        self.lines.iter().find(|line| line.layout == layout).expect("all layouts are measured")
    }

    fn shown(&self) -> impl Iterator<Item = (&Line, &'static str, Rgb)> {
        SHOWN.into_iter().map(|(layout, name, color)| (self.line(layout), name, color))
    }

    fn two(&self) -> Option<Merging> {
        merging(&self.lines).into_iter().find(|found| found.tasks == 2)
    }

    pub(super) fn rows(&self) -> Vec<Vec<String>> {
        let row = |(line, name, _): (&Line, &str, Rgb)| {
            let alone = line.beyond_source;
            vec![
                name.to_owned(),
                significant(alone.init_ns / 1e3),
                significant(alone.per_sample_ns),
                format!("{:.4}", line.fit.r_squared),
            ]
        };
        self.shown().map(row).collect()
    }

    /// Why the figures are not those of a machine that does nothing else.
    pub(super) fn disturbed(&self) -> Option<&str> {
        self.disturbed.as_deref()
    }

    pub(super) fn claims(&self) -> Vec<Claim> {
        let one = self.line(Layout::Merged(1)).beyond_source;
        let least = self.shown().map(|(line, ..)| line.fit.r_squared).fold(f64::INFINITY, f64::min);
        let two = self.two();
        let share = |part: fn(&Merging) -> Option<f64>| two.as_ref().and_then(part);
        let (of_separate, of_one) = (share(|two| two.init_of_separate), share(|two| two.init_of_one));
        let of_sum = of_one.map(|share| share / 2.0);
        let per_sample = share(|two| two.per_sample_of_separate);
        let told = |share: Option<f64>| {
            share.map_or_else(|| "nothing to compare with".to_owned(), |share| format!("{share:.2}"))
        };
        let holds = |share: Option<f64>, test: &dyn Fn(f64) -> bool| share.is_some_and(test);
        vec![
            Claim {
                what: "measured: the time of a batch is linear in its samples (R² of a straight line)",
                section: Some("4"),
                printed: String::new(),
                found: format!("R² = {least:.4} or more"),
                holds: Some(least >= LINEAR),
                why: String::new(),
            },
            Claim {
                what: "measured: a block's I dominates: it is what thousands of samples cost (add_const: 11 081 and 2.8 cycles)",
                section: Some("4"),
                printed: "3958 samples".to_owned(),
                found: format!("{:.0} samples", one.init_ns / one.per_sample_ns.max(1e-3)),
                holds: Some(one.init_ns >= 1000.0 * one.per_sample_ns),
                why: String::new(),
            },
            Claim {
                what: "measured: the I of two merged blocks is significantly smaller than the sum of both (3/4 or less)",
                section: Some("7.3"),
                printed: String::new(),
                found: format!("{} of it; {} of what both take on a thread each", told(of_sum), told(of_separate)),
                holds: Some(holds(of_sum, &|share| share <= SMALLER)),
                why: String::new(),
            },
            Claim {
                what: "measured: it is only slightly larger than the larger one (5/4 or less)",
                section: Some("7.3"),
                printed: String::new(),
                found: format!("{} of it", told(of_one)),
                holds: Some(holds(of_one, &|share| share <= LARGER)),
                why: String::new(),
            },
            Claim {
                what: "measured: the D of merged blocks is largely that of separate ones (within 15 %)",
                section: Some("7.3"),
                printed: String::new(),
                found: format!("{} of it", told(per_sample)),
                holds: Some(holds(per_sample, &|share| UNCHANGED.contains(&share))),
                why: String::new(),
            },
        ]
    }

    pub(super) fn csv(&self) -> String {
        let mut text = "layout,samples,ns,fitted_ns\n".to_owned();
        for line in &self.lines {
            for row in &line.fit.rows {
                text += &format!("{},{},{:.1},{:.1}\n", line.layout.name(), row.samples, row.ns, row.fitted_ns);
            }
        }
        text
    }

    pub(super) fn to_json(&self) -> Value {
        let line =
            |line: &Line| json!({"layout": line.layout.name(), "fit": line.fit, "beyond_source": line.beyond_source});
        json!({"layouts": self.lines.iter().map(line).collect::<Vec<_>>(), "merging": merging(&self.lines)})
    }

    /// Measured times beyond those of the source, in microseconds by thousands of samples, and the line through them.
    fn shapes(&self, line: &Line, color: Rgb) -> [Shape; 2] {
        let (source, alone) = (self.line(Layout::Source).fit.cost, line.beyond_source);
        let dots = line.fit.rows.iter().map(|row| {
            let samples = row.samples as f64;
            (samples / 1e3, (row.ns - source.init_ns - source.per_sample_ns * samples) / 1e3)
        });
        let ends = [0, SIZES[SIZES.len() - 1]].map(f64::from);
        let at = |samples: f64| (samples / 1e3, (alone.init_ns + alone.per_sample_ns * samples) / 1e3);
        [
            Shape::Line { points: ends.map(at).to_vec(), color, dashed: true },
            Shape::Dots { points: dots.collect(), color, filled: true },
        ]
    }

    pub(super) fn figure(&self) -> Figure {
        let most = self.shown().flat_map(|(line, ..)| line.fit.rows.iter().map(|row| row.ns / 1e3)).fold(1.0, f64::max);
        let panel = |title: &str, blocks: usize| Panel {
            title: title.to_owned(),
            x: Axis::linear(0.0, 66.0, 16.0, 0).named("thousand samples of a batch"),
            y: Axis::around(0.0, most).named("us"),
            shapes: self.shown().take(blocks).flat_map(|(line, _, color)| self.shapes(line, color)).collect(),
        };
        let key = |(_, name, color): (_, &str, _)| Key { label: name.to_owned(), color, mark: Mark::Dot };
        Figure {
            title: "Processor time of a batch, measured (Figures 3 and 9)".to_owned(),
            caption: "a frequency shift on a thread that sleeps until a batch comes; without what the source takes"
                .to_owned(),
            legend: SHOWN.into_iter().map(key).collect(),
            panel: (420, 300),
            rows: vec![vec![panel("one block", 1), panel("two blocks", SHOWN.len())]],
        }
    }
}

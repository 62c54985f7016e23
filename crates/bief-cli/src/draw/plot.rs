//! Figures as SVG: panels with axes, and lines, dots, boxes and labels in them, under one title and one legend.

use std::ops::Range;

use plotters::coord::Shift;
use plotters::coord::ranged1d::{DefaultFormatting, KeyPointHint, Ranged};
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use crate::failure::Failure;

/// A colour: red, green, blue.
pub type Rgb = (u8, u8, u8);

/// Text and axes.
pub const INK: Rgb = (34, 34, 34);
/// What stands behind the data.
const FAINT: Rgb = (225, 225, 225);

/// Panels in rows, under a title and a legend.
pub struct Figure {
    /// The first line.
    pub title: String,
    /// One line below the title: what was drawn, in which units.
    pub caption: String,
    /// Its entries, from left to right.
    pub legend: Vec<Key>,
    /// The width and height of one panel with its axes, in pixels.
    pub panel: (u32, u32),
    /// The panels of each row, from the top.
    pub rows: Vec<Vec<Panel>>,
}

/// An entry of the legend.
pub struct Key {
    /// What the mark stands for.
    pub label: String,
    /// The colour of the mark.
    pub color: Rgb,
    /// What stands before the label.
    pub mark: Mark,
}

/// How an entry of the legend looks.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Mark {
    /// A line.
    Line,
    /// A dashed line.
    Dashes,
    /// A thin line.
    Thin(Pattern),
    /// A filled box.
    Box,
    /// A filled circle.
    Dot,
    /// An empty circle.
    Ring,
}

/// What tells thin lines apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pattern {
    /// No gaps.
    Solid,
    /// Long dashes.
    Dashes,
    /// Short dashes.
    Dots,
}

/// How a line is drawn, in pixels.
#[derive(Clone, Copy)]
struct Stroke {
    width: u32,
    /// The lengths of a dash and of the gap behind it.
    dash: Option<(u32, u32)>,
}

impl Stroke {
    const LINE: Self = Self { width: 2, dash: None };
    const DASHES: Self = Self { width: 2, dash: Some((5, 4)) };

    fn thin(pattern: Pattern) -> Self {
        let dash = match pattern {
            Pattern::Solid => None,
            Pattern::Dashes => Some((9, 4)),
            Pattern::Dots => Some((2, 3)),
        };
        Self { width: 1, dash }
    }
}

/// Axes and what is drawn between them.
pub struct Panel {
    /// Stands above the axes.
    pub title: String,
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis.
    pub y: Axis,
    /// What is drawn, each shape over those before it.
    pub shapes: Vec<Shape>,
}

/// Something drawn at values of the axes: points are pairs of x and y.
#[allow(missing_docs, reason = "each variant tells what its fields are")]
pub enum Shape {
    /// A line through points; it is cut where it leaves the axes.
    Line { points: Vec<(f64, f64)>, color: Rgb, dashed: bool },
    /// A thin line, which lies behind where it is drawn before others.
    Thin { points: Vec<(f64, f64)>, color: Rgb, pattern: Pattern },
    /// A dot at each point, filled or a ring.
    Dots { points: Vec<(f64, f64)>, color: Rgb, filled: bool },
    /// A filled box between two corners.
    Box { from: (f64, f64), to: (f64, f64), color: Rgb },
    /// A text around a point.
    Label { at: (f64, f64), text: String, color: Rgb },
}

/// A range of values, its ticks and its name.
#[derive(Clone)]
pub struct Axis {
    label: String,
    logarithmic: bool,
    from: f64,
    to: f64,
    ticks: Vec<(f64, String)>,
    grid: bool,
}

impl Axis {
    /// An axis over `from ..= to`, with ticks at multiples of `step` that show `decimals` decimals.
    pub fn linear(from: f64, to: f64, step: f64, decimals: usize) -> Self {
        let first = (from / step).ceil() as i64;
        let last = (to / step + 1e-9).floor() as i64;
        let ticks = (first..=last).map(|tick| tick as f64 * step);
        let ticks = ticks.map(|tick| (tick, format!("{tick:.decimals$}"))).collect();
        Self { label: String::new(), logarithmic: false, from, to, ticks, grid: true }
    }

    /// An axis over `from ..= to` and 5 % more at each end that is not 0, with seven ticks at most.
    pub fn around(from: f64, to: f64) -> Self {
        let range = (to - from).max(1e-6);
        let margin = |end: f64| if end == 0.0 { 0.0 } else { 0.05 * range };
        let decade = 10f64.powf(range.log10().floor() - 1.0);
        let steps = [1.0, 2.0, 5.0, 10.0, 20.0].map(|times| times * decade);
        let step = steps.into_iter().find(|step| range / step <= 6.0).unwrap_or(range);
        let decimals = (-step.log10().floor()).max(0.0) as usize;
        Self::linear(from - margin(from), from + range + margin(to), step, decimals)
    }

    /// A logarithmic axis over the decades around `from ..= to`, both above 0, with a tick at each decade that `name` names.
    pub fn decades(from: f64, to: f64, name: impl Fn(f64) -> String) -> Self {
        let (first, last) = (from.log10().floor() as i32, to.log10().ceil() as i32);
        let ticks = (first..=last).map(|decade| (f64::from(decade), name(10f64.powi(decade)))).collect();
        Self::logarithmic(f64::from(first), f64::from(last.max(first + 1)), ticks)
    }

    /// A logarithmic axis over the powers of two around `from ..= to`, both at least 1, with a tick at each.
    pub fn doublings(from: f64, to: f64) -> Self {
        let (first, last) = (from.log2().floor() as i32, to.log2().ceil() as i32);
        let ticks = (first..=last).map(|power| (2f64.powi(power).log10(), 2f64.powi(power).to_string())).collect();
        Self::logarithmic(2f64.powi(first).log10(), 2f64.powi(last.max(first + 1)).log10(), ticks)
    }

    fn logarithmic(from: f64, to: f64, ticks: Vec<(f64, String)>) -> Self {
        Self { label: String::new(), logarithmic: true, from, to, ticks, grid: true }
    }

    /// An axis with a place for each name, at 0, 1, 2 …
    pub fn names(names: impl IntoIterator<Item = String>) -> Self {
        let ticks: Vec<_> = names.into_iter().enumerate().map(|(place, name)| (place as f64, name)).collect();
        Self { label: String::new(), logarithmic: false, from: -0.5, to: ticks.len() as f64 - 0.5, ticks, grid: false }
    }

    /// The same axis with a name.
    pub fn named(self, label: impl Into<String>) -> Self {
        Self { label: label.into(), ..self }
    }

    /// Where a value lies in the coordinates of the axis, no further out than its ends.
    fn place(&self, value: f64) -> f64 {
        let place = if self.logarithmic { value.log10() } else { value };
        place.clamp(self.from, self.to)
    }

    fn holds(&self, value: f64) -> bool {
        let place = if self.logarithmic { value.log10() } else { value };
        (self.from..=self.to).contains(&place)
    }

    fn name(&self, place: f64) -> String {
        let tick = self.ticks.iter().find(|tick| tick.0 == place);
        tick.map_or_else(String::new, |(_, name)| name.clone())
    }
}

impl Ranged for Axis {
    type FormatOption = DefaultFormatting;
    type ValueType = f64;

    fn map(&self, place: &f64, (low, high): (i32, i32)) -> i32 {
        low + ((place - self.from) / (self.to - self.from) * f64::from(high - low)).round() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, _: Hint) -> Vec<f64> {
        self.ticks.iter().map(|tick| tick.0).collect()
    }

    fn range(&self) -> Range<f64> {
        self.from..self.to
    }
}

/// What the figure's margins take.
const TITLE: i32 = 34;
const CAPTION: i32 = 22;
const LEGEND: i32 = 30;
const MARGIN: i32 = 14;

/// What the axis and the margin take at the sides of a panel.
const LEFT: i32 = 62;
const RIGHT: i32 = 16;

impl Figure {
    /// The figure as an SVG document.
    pub fn svg(&self) -> Result<String, Failure> {
        let mut text = String::new();
        self.draw(&mut text).map_err(|error| Failure::new(format!("{}: cannot draw: {error}", self.title)))?;
        Ok(text)
    }

    fn draw(&self, text: &mut String) -> Result<(), Box<dyn std::error::Error>> {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0) as u32;
        let width = columns * self.panel.0 + 2 * MARGIN as u32;
        let legend = if self.legend.is_empty() { 0 } else { LEGEND };
        let top = MARGIN + TITLE + CAPTION + legend;
        let height = self.rows.len() as u32 * self.panel.1 + (top + MARGIN) as u32;
        let root = SVGBackend::with_string(text, (width, height)).into_drawing_area();
        root.fill(&WHITE)?;
        let left = HPos::Left;
        root.draw(&Text::new(self.title.clone(), (MARGIN, MARGIN), font(21, INK, left)))?;
        root.draw(&Text::new(self.caption.clone(), (MARGIN, MARGIN + TITLE - 4), font(14, (90, 90, 90), left)))?;
        self.draw_legend(&root, MARGIN + TITLE + CAPTION)?;
        for (row, panels) in self.rows.iter().enumerate() {
            for (column, panel) in panels.iter().enumerate() {
                let corner = (MARGIN + column as i32 * self.panel.0 as i32, top + row as i32 * self.panel.1 as i32);
                panel.draw(&root.clone().shrink(corner, self.panel))?;
            }
        }
        root.present()?;
        Ok(())
    }

    fn draw_legend<DB: DrawingBackend>(
        &self,
        root: &DrawingArea<DB, Shift>,
        top: i32,
    ) -> Result<(), DrawingAreaErrorKind<DB::ErrorType>> {
        const MARK: i32 = 26;
        let (mut x, y) = (MARGIN, top + 8);
        for key in &self.legend {
            let color = rgb(key.color);
            match key.mark {
                Mark::Line => root.draw(&PathElement::new([(x, y), (x + MARK, y)], color.stroke_width(3)))?,
                Mark::Dashes => draw_key_line(root, x..x + MARK, y, key.color, Stroke::DASHES)?,
                Mark::Thin(pattern) => draw_key_line(root, x..x + MARK, y, key.color, Stroke::thin(pattern))?,
                Mark::Box => root.draw(&Rectangle::new([(x + 4, y - 7), (x + MARK - 2, y + 7)], color.filled()))?,
                Mark::Dot => root.draw(&Circle::new((x + MARK / 2, y), 4, color.filled()))?,
                Mark::Ring => root.draw(&Circle::new((x + MARK / 2, y), 4, color.stroke_width(2)))?,
            }
            let style = font(14, INK, HPos::Left).pos(Pos::new(HPos::Left, VPos::Center));
            root.draw(&Text::new(key.label.clone(), (x + MARK + 6, y), style))?;
            x += MARK + 6 + 7 * key.label.chars().count() as i32 + 20;
        }
        Ok(())
    }
}

impl Panel {
    fn draw<DB: DrawingBackend>(
        &self,
        area: &DrawingArea<DB, Shift>,
    ) -> Result<(), DrawingAreaErrorKind<DB::ErrorType>> {
        let middle = (LEFT + area.dim_in_pixel().0 as i32 - RIGHT) / 2;
        area.draw(&Text::new(self.title.clone(), (middle, 4), font(15, INK, HPos::Center)))?;
        let mut chart = ChartBuilder::on(area)
            .margin_top(26)
            .margin_right(RIGHT)
            .margin_bottom(10)
            .x_label_area_size(44)
            .y_label_area_size(LEFT)
            .build_cartesian_2d(self.x.clone(), self.y.clone())?;
        let mut mesh = chart.configure_mesh();
        if !self.x.grid {
            mesh.disable_x_mesh();
        }
        if !self.y.grid {
            mesh.disable_y_mesh();
        }
        mesh.x_desc(&self.x.label)
            .y_desc(&self.y.label)
            .x_labels(self.x.ticks.len())
            .y_labels(self.y.ticks.len())
            .x_label_formatter(&|place| self.x.name(*place))
            .y_label_formatter(&|place| self.y.name(*place))
            .label_style(font(13, INK, HPos::Left))
            .axis_desc_style(font(14, INK, HPos::Left))
            .bold_line_style(rgb(FAINT))
            .light_line_style(TRANSPARENT)
            .axis_style(rgb((120, 120, 120)))
            .draw()?;
        let place = |&(x, y): &(f64, f64)| (self.x.place(x), self.y.place(y));
        for shape in &self.shapes {
            match shape {
                Shape::Line { points, color, dashed } => {
                    self.draw_line(&mut chart, points, *color, if *dashed { Stroke::DASHES } else { Stroke::LINE })?;
                }
                Shape::Thin { points, color, pattern } => {
                    self.draw_line(&mut chart, points, *color, Stroke::thin(*pattern))?;
                }
                Shape::Dots { points, color, filled } => {
                    let color = rgb(*color);
                    let style = if *filled { color.filled() } else { color.stroke_width(2) };
                    let inside = points.iter().filter(|point| self.x.holds(point.0) && self.y.holds(point.1));
                    chart.draw_series(
                        inside.map(|point| Circle::new(place(point), if *filled { 3 } else { 4 }, style)),
                    )?;
                }
                Shape::Box { from, to, color } => {
                    chart.draw_series([Rectangle::new([place(from), place(to)], rgb(*color).filled())])?;
                }
                Shape::Label { at, text, color } => {
                    let style = font(13, *color, HPos::Center).pos(Pos::new(HPos::Center, VPos::Center));
                    chart.draw_series([Text::new(text.clone(), place(at), style)])?;
                }
            }
        }
        Ok(())
    }

    fn draw_line<DB: DrawingBackend>(
        &self,
        chart: &mut ChartContext<'_, DB, Cartesian2d<Axis, Axis>>,
        points: &[(f64, f64)],
        color: Rgb,
        stroke: Stroke,
    ) -> Result<(), DrawingAreaErrorKind<DB::ErrorType>> {
        let inside = points.iter().filter(|point| self.x.holds(point.0));
        let points: Vec<_> = inside.map(|&(x, y)| (self.x.place(x), self.y.place(y))).collect();
        let style = rgb(color).stroke_width(stroke.width);
        match stroke.dash {
            Some((dash, gap)) => {
                chart.draw_series(DashedLineSeries::new(points, dash, gap, style))?;
            }
            None => {
                chart.draw_series(LineSeries::new(points, style))?;
            }
        }
        Ok(())
    }
}

/// A horizontal line in the legend.
fn draw_key_line<DB: DrawingBackend>(
    root: &DrawingArea<DB, Shift>,
    x: Range<i32>,
    y: i32,
    color: Rgb,
    stroke: Stroke,
) -> Result<(), DrawingAreaErrorKind<DB::ErrorType>> {
    let (dash, gap) = stroke.dash.map_or((x.len() as i32, 0), |(dash, gap)| (dash as i32, gap as i32));
    for from in x.clone().step_by((dash + gap) as usize) {
        let to = (from + dash).min(x.end);
        root.draw(&PathElement::new([(from, y), (to, y)], rgb(color).stroke_width(stroke.width)))?;
    }
    Ok(())
}

fn rgb((red, green, blue): Rgb) -> RGBColor {
    RGBColor(red, green, blue)
}

fn font(size: u32, color: Rgb, horizontal: HPos) -> TextStyle<'static> {
    ("sans-serif", size).into_font().color(&rgb(color)).pos(Pos::new(horizontal, VPos::Top))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn panel(x: Axis, y: Axis, shapes: Vec<Shape>) -> String {
        let panel = Panel { title: "a < b & c".to_owned(), x, y, shapes };
        let key = |mark: Mark| Key { label: "key".to_owned(), color: (1, 2, 3), mark };
        Figure {
            title: "title".to_owned(),
            caption: "caption".to_owned(),
            legend: [Mark::Line, Mark::Dashes, Mark::Thin(Pattern::Dots), Mark::Box].map(key).into(),
            panel: (300, 200),
            rows: vec![vec![panel]],
        }
        .svg()
        .unwrap()
    }

    #[test]
    fn ticks_lie_at_multiples_of_the_step() {
        let axis = Axis::linear(1.0, 1.5, 0.1, 1);
        let names: Vec<&str> = axis.ticks.iter().map(|tick| tick.1.as_str()).collect();
        assert_eq!(names, ["1.0", "1.1", "1.2", "1.3", "1.4", "1.5"]);
        let names: Vec<String> = Axis::linear(12.0, 168.0, 20.0, 0).ticks.into_iter().map(|tick| tick.1).collect();
        assert_eq!(names.first().zip(names.last()), Some((&"20".to_owned(), &"160".to_owned())));
    }

    #[test]
    fn ticks_around_values_are_few_and_round() {
        for (from, to, expected) in [
            (0.0, 52.62, &["0", "10", "20", "30", "40", "50"][..]),
            (-2.3, 0.4, &["-2.0", "-1.5", "-1.0", "-0.5", "0.0", "0.5"]),
            (0.0, 0.0, &["0.0000000", "0.0000002", "0.0000004", "0.0000006", "0.0000008", "0.0000010"]),
        ] {
            let axis = Axis::around(from, to);
            assert_eq!(axis.ticks.iter().map(|tick| tick.1.as_str()).collect::<Vec<_>>(), expected);
            assert!(axis.holds(from) && axis.holds(to));
        }
    }

    #[test]
    fn decades_hold_all_values() {
        let axis = Axis::decades(3.0, 1200.0, |value| format!("{value:.0}"));
        let names: Vec<&str> = axis.ticks.iter().map(|tick| tick.1.as_str()).collect();
        assert_eq!(names, ["1", "10", "100", "1000", "10000"]);
        assert!(axis.holds(1.0) && axis.holds(1e4) && !axis.holds(0.9));
        let axis = Axis::doublings(1.0, 1000.0);
        assert!(axis.ticks.len() == 11 && axis.ticks[10].1 == "1024" && axis.holds(1000.0) && axis.holds(1.0));
        assert!(Axis::doublings(8.0, 8.0).holds(8.0));
        // A single value still has an axis of some length.
        assert_eq!(Axis::decades(10.0, 10.0, |value| value.to_string()).range(), 1.0..2.0);
    }

    #[test]
    fn what_lies_outside_the_axes_is_not_drawn_there() {
        let dots = Shape::Dots { points: vec![(1.0, 1.0), (2.0, 5.0), (11.0, 5.0)], color: INK, filled: true };
        let svg = panel(Axis::linear(0.0, 10.0, 5.0, 0), Axis::linear(0.0, 4.0, 1.0, 0), vec![dots]);
        assert_eq!(svg.matches("<circle").count(), 1, "{svg}");
    }

    #[test]
    fn texts_and_names_appear_as_they_are() {
        let label = Shape::Label { at: (1.0, 1.0), text: "12.5".to_owned(), color: INK };
        let names = ["+1", "0"].map(str::to_owned);
        let svg = panel(Axis::names(names).named("cores"), Axis::linear(0.0, 4.0, 1.0, 0).named("%"), vec![label]);
        for text in ["12.5", "+1", "cores", "title", "caption", "key", "a &lt; b &amp; c"] {
            assert!(svg.lines().any(|line| line == text), "{text}: {svg}");
        }
    }

    #[test]
    fn nothing_to_draw_still_makes_a_figure() {
        let mut lines: Vec<_> =
            [false, true].map(|dashed| Shape::Line { points: Vec::new(), color: INK, dashed }).into();
        lines.push(Shape::Thin { points: Vec::new(), color: INK, pattern: Pattern::Dots });
        let svg = panel(Axis::names([]), Axis::linear(0.0, 1.0, 1.0, 0), lines);
        assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"));
    }
    #[test]
    fn thin_lines_differ_in_their_pattern() {
        let drawn = [Pattern::Solid, Pattern::Dashes, Pattern::Dots].map(|pattern| {
            let line = Shape::Thin { points: vec![(0.0, 1.0), (10.0, 3.0)], color: (9, 8, 7), pattern };
            let svg = panel(Axis::linear(0.0, 10.0, 5.0, 0), Axis::linear(0.0, 4.0, 1.0, 0), vec![line]);
            svg.matches("#090807").count()
        });
        assert!(drawn[0] == 1 && drawn[0] < drawn[1] && drawn[1] < drawn[2], "{drawn:?}");
    }
}

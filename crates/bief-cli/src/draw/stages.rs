//! A schedule as a picture: a box for each stage, as wide as the stage is busy and as high as it has cores.

use bief_schedule::{Period, Platform, Profile, Schedule, StageLoad};

use super::svg::{Anchor, Svg, fitted, lines, text_width};
use crate::failure::Failure;
use crate::text::{counted, printable};
use crate::units::{Unit, share, time};

const WIDTH: f64 = 1040.0;
const MARGIN: f64 = 24.0;
/// How wide a line of a sentence may be: bold letters need some more room than is reckoned.
const SENTENCE: f64 = 920.0;
/// Where the names of a stage's tasks stand.
const NAMES: [f64; 2] = [64.0, 340.0];
/// Where boxes begin, and where the period ends.
const BOXES: [f64; 2] = [356.0, 862.0];
/// Where percentages end.
const PERCENT: f64 = 918.0;

const ONE_CORE: f64 = 26.0;
/// The height of a core's lane in a stage of several, while there is room for it.
const LANE: f64 = 22.0;
/// The highest box. A stage of very many cores is drawn without lanes: they would be thinner than what parts them.
const HIGHEST: f64 = 176.0;
const MOST_LANES: u32 = 24;
/// The most lines of task names that stand beside a box.
const MOST_LINES: usize = 24;
const LINE: f64 = 15.0;
const GAP: f64 = 18.0;
/// The narrowest part of a box that bears a name; narrower ones bear the task's number.
const LEAST_LABEL: f64 = 72.0;

/// The colours of kinds: of tasks that may not be replicated, and of those that may.
pub(crate) const KINDS: [[&str; 2]; 6] = [
    ["#2563a8", "#a9cdf2"],
    ["#2c7d4f", "#abdcbb"],
    ["#9a5b12", "#f4cf9f"],
    ["#6d46a8", "#d2c0ee"],
    ["#a63a66", "#f3bdd1"],
    ["#3f6870", "#b4d6dc"],
];

const STYLE: &str = "
.paper{fill:#fff}.ink{fill:#1d2330}.soft{fill:#5b6474}.bold{font-weight:600}.number,.on-dark{fill:#fff}
.on-light{fill:#16202e}.node{fill:#5b6474}.limit,.limiting{fill:#c8321f}.sync{fill:#c3c9d3}
.grid{stroke:#e3e7ee}.path{stroke:#b9c1ce;stroke-width:2}.gap{stroke:#fff;stroke-width:2}.gap.thin{stroke-width:1}
.period{stroke:#c8321f;stroke-width:1.5;stroke-dasharray:5 4}
@media (prefers-color-scheme:dark){
.paper{fill:#141a23}.ink{fill:#e8ecf3}.soft{fill:#a3adbd}.number{fill:#141a23}
.node{fill:#a3adbd}.limit,.limiting{fill:#f58a78}.sync{fill:#5b6474}
.grid{stroke:#2a3341}.path{stroke:#4a5566}.gap{stroke:#141a23}.period{stroke:#f58a78}}
";

/// The picture of a schedule: its `title`, then the sentences of `facts`, then a row for each stage.
pub(crate) fn svg(
    profile: &Profile,
    platform: &Platform,
    schedule: &Schedule,
    title: &str,
    facts: &[String],
) -> Result<String, Failure> {
    let mut picture = Picture { profile, schedule, drawing: Svg::new() };
    let mut y = picture.sentence(MARGIN, title, 16.0, "ink bold");
    for fact in facts {
        y = picture.sentence(y + 2.0, fact, 13.0, "soft");
    }
    y = picture.legend(y + 14.0, platform);

    let mut top = y + 44.0;
    let mut rows = Vec::new();
    for (stage, load) in schedule.loads(profile).map_err(Failure::from_error)?.into_iter().enumerate() {
        let row = picture.row(stage, load, top);
        top += row.height + GAP;
        rows.push(row);
    }
    picture.axis(y + 44.0, top - GAP);
    for neighbours in rows.windows(2) {
        let [from, to] = [neighbours[0].node(), neighbours[1].node()];
        picture.drawing.line(from, to, "path");
    }
    for row in &rows {
        picture.stage(row);
    }
    Ok(picture.drawing.document([WIDTH, top - GAP + MARGIN], title, &style()))
}

struct Picture<'a> {
    profile: &'a Profile,
    schedule: &'a Schedule,
    drawing: Svg,
}

/// Where a stage is drawn.
struct Row {
    stage: usize,
    load: StageLoad,
    /// The names of its tasks, in lines.
    names: Vec<String>,
    top: f64,
    /// Of all that is drawn.
    height: f64,
    /// Of the box alone.
    box_height: f64,
}

impl Row {
    /// Where the stage's number stands.
    fn node(&self) -> [f64; 2] {
        [MARGIN + 14.0, self.top + ONE_CORE / 2.0]
    }
}

impl Picture<'_> {
    /// Draws text from `y` on and answers where it ends.
    fn sentence(&mut self, mut y: f64, text: &str, size: f64, class: &str) -> f64 {
        for line in lines(&printable(text), SENTENCE, size) {
            y += size * 1.3;
            self.drawing.text([MARGIN, y], size, Anchor::Start, class, &line);
        }
        y
    }

    /// Draws what the colours mean, and answers where that ends.
    fn legend(&mut self, mut y: f64, platform: &Platform) -> f64 {
        let schedule = self.schedule;
        let given = platform.kinds().iter().filter(|kind| kind.cores > 0);
        let mut entries: Vec<([String; 2], String)> = given
            .map(|kind| {
                let used = schedule.cores().get(&kind.name).copied().unwrap_or(0);
                let classes = [true, false].map(|replicable| self.task_class(&kind.name, replicable));
                (classes, format!("{}: {used} of {}", kind.name, counted(kind.cores as usize, "core")))
            })
            .collect();
        let kinds = self.profile.kinds().len();
        if self.profile.has_cut_costs() || (0..kinds).any(|kind| self.profile.sync_ns(kind) > 0) {
            entries.push((["sync".to_owned(), "sync".to_owned()], "hand-over".to_owned()));
        }
        let mut x = MARGIN;
        y += 12.0;
        for (classes, text) in entries {
            let text = fitted(&text, 300.0, 12.0);
            let width = 38.0 + text_width(&text, 12.0) + 16.0;
            if x + width > WIDTH - MARGIN && x > MARGIN {
                (x, y) = (MARGIN, y + 20.0);
            }
            for (half, class) in classes.iter().enumerate() {
                self.drawing.rect([x + 16.0 * half as f64, y - 10.0, 16.0, 12.0], 0.0, class);
            }
            self.drawing.text([x + 38.0, y], 12.0, Anchor::Start, "ink", &text);
            x += width;
        }
        let note =
            "A box is as wide as its stage is busy, with a lane for each core; dark tasks may not be replicated.";
        self.sentence(y + 6.0, note, 12.0, "soft")
    }

    /// Draws parts of the period, from the first stage to the last.
    fn axis(&mut self, top: f64, bottom: f64) {
        let [left, right] = BOXES;
        for quarter in 0..4 {
            let x = left + (right - left) * f64::from(quarter) / 4.0;
            self.drawing.line([x, top - 8.0], [x, bottom], "grid");
            self.drawing.text([x, top - 14.0], 11.0, Anchor::Middle, "soft", &format!("{} %", 25 * quarter));
        }
        self.drawing.line([right, top - 8.0], [right, bottom], "period");
        let label = format!("period {}", time(self.schedule.planned_period()));
        self.drawing.text([right, top - 14.0], 12.0, Anchor::Middle, "limiting bold", &label);
    }

    fn row(&self, stage: usize, load: StageLoad, top: f64) -> Row {
        let room = NAMES[1] - NAMES[0];
        // A name is not parted where it fits a line: spaces that do not break stand in for its own.
        let listed: Vec<String> =
            load.tasks.clone().map(|task| fitted(&self.label(task).replace(' ', "\u{a0}"), room - 8.0, 11.0)).collect();
        let mut names = lines(&listed.join(", "), room, 11.0);
        if names.len() > MOST_LINES {
            names.truncate(MOST_LINES - 1);
            let shown = names.join(" ").matches(", ").count() + 1;
            names.push(format!("and {} more", listed.len() - shown));
        }
        let cores = self.schedule.stages()[stage].replicas();
        let box_height = if cores == 1 { ONE_CORE } else { (LANE * f64::from(cores)).min(HIGHEST) };
        let height = box_height.max(ONE_CORE - 8.0 + LINE * names.len() as f64);
        Row { stage, load, names, top, height, box_height }
    }

    fn stage(&mut self, row: &Row) {
        let stage = &self.schedule.stages()[row.stage];
        let period = self.schedule.planned_period();
        let busy = share(row.load.period, period);
        let limits = period != Period::ZERO && row.load.period == period;

        let [x, y] = row.node();
        self.drawing.circle([x, y], 14.0, if limits { "limit" } else { "node" });
        self.drawing.text([x, y + 4.5], 12.0, Anchor::Middle, "number bold", &(row.stage + 1).to_string());
        let heading: Vec<String> = stage.cores.iter().map(|(kind, cores)| format!("{cores} × {kind}")).collect();
        let heading = heading.join(" + ");
        let heading = fitted(&heading, NAMES[1] - NAMES[0], 13.0);
        self.drawing.text([NAMES[0], row.top + 13.0], 13.0, Anchor::Start, "ink bold", &heading);
        for (line, names) in row.names.iter().enumerate() {
            let y = row.top + ONE_CORE + 3.0 + LINE * line as f64;
            self.drawing.text([NAMES[0], y], 11.0, Anchor::Start, "soft", names);
        }

        let width = busy * (BOXES[1] - BOXES[0]);
        let replicas = stage.replicas();
        let mut top = row.top;
        for (kind, &cores) in &stage.cores {
            let height = row.box_height * f64::from(cores) / f64::from(replicas);
            let lane = height / f64::from(if replicas <= MOST_LANES { cores } else { 1 });
            self.tasks(row, kind, [BOXES[0], top, width, height], lane);
            top += height;
        }
        if replicas <= MOST_LANES {
            for lane in 1..replicas {
                let y = row.top + row.box_height * f64::from(lane) / f64::from(replicas);
                self.drawing.line([BOXES[0], y], [BOXES[0] + width, y], "gap");
            }
        }

        let class = if limits { "limiting bold" } else { "ink" };
        let y = row.top + row.box_height / 2.0 + 4.5;
        self.drawing.text([PERCENT, y], 13.0, Anchor::End, class, &format!("{:.0} %", busy * 100.0));
        let period = Unit::for_times_up_to(period).show(row.load.period);
        self.drawing.text([WIDTH - MARGIN, y], 12.0, Anchor::End, "soft", &period);
    }

    /// Draws a stage's tasks side by side as they run on a kind of core, in a box (left, top, width, height) with lanes of that
    /// height.
    fn tasks(&mut self, row: &Row, name: &str, [left, top, width, height]: [f64; 4], lane: f64) {
        let profile = self.profile;
        let kind = profile.kind(name).expect("the schedule's loads are known, hence its kinds");
        let work = Period::from(row.load.works_ns[name]);
        let mut x = left;
        for task in row.load.tasks.clone() {
            let of = &profile.tasks()[task];
            let ns = of.ns[kind].expect("the schedule's loads are known, hence its tasks run on its kinds");
            let wide = width * share(Period::from(ns), work);
            let class = self.task_class(name, of.replicable);
            self.drawing.rect([x, top, wide, height], 0.0, &class);
            if x > left && wide > 3.0 {
                self.drawing.line([x, top], [x, top + height], "gap thin");
            }
            let number = (task + 1).to_string();
            if lane >= 14.0 && text_width(&number, 11.0) + 6.0 <= wide {
                let text = if wide < LEAST_LABEL { number } else { fitted(&self.label(task), wide - 6.0, 11.0) };
                let class = if of.replicable { "on-light" } else { "on-dark" };
                let y = top + lane.min(ONE_CORE) / 2.0 + 4.0;
                self.drawing.text([x + wide / 2.0, y], 11.0, Anchor::Middle, class, &text);
            }
            x += wide;
        }
        // With what the cuts on both sides cost.
        let beside_ns = profile.sync_ns(kind) + profile.cut_ns(row.load.tasks.clone(), kind);
        let beside = width * share(Period::from(beside_ns), work);
        if beside > 0.0 {
            self.drawing.rect([x, top, beside, height], 0.0, "sync");
        }
    }

    /// The number and the name of a task.
    fn label(&self, task: usize) -> String {
        format!("{} {}", task + 1, printable(&self.profile.tasks()[task].name))
    }

    /// The class of a task on a kind of core.
    fn task_class(&self, kind: &str, replicable: bool) -> String {
        let kind = self.profile.kind(kind).unwrap_or(0) % KINDS.len();
        format!("kind{kind}{}", if replicable { "r" } else { "s" })
    }
}

fn style() -> String {
    let kinds = KINDS.iter().enumerate().map(|(kind, [sequential, replicable])| {
        format!(".kind{kind}s{{fill:{sequential}}}.kind{kind}r{{fill:{replicable}}}\n")
    });
    format!("{STYLE}{}", kinds.collect::<String>())
}

#[cfg(test)]
mod tests {
    use bief_schedule::{CoreKind, Stage, TaskProfile};

    use super::*;

    /// What stands between `<` and `>`, and the text that follows each; panics where tags do not match.
    fn parsed(svg: &str) -> Vec<(String, String)> {
        let mut open: Vec<&str> = Vec::new();
        let mut found = Vec::new();
        for part in svg.split('<').skip(1) {
            let (tag, text) = part.split_once('>').unwrap();
            if let Some(name) = tag.strip_prefix('/') {
                assert_eq!(open.pop(), Some(name));
            } else if !tag.ends_with('/') {
                open.push(tag.split(' ').next().unwrap());
            }
            assert!(!text.contains('>') && tag.matches('"').count() % 2 == 0);
            found.push((tag.to_owned(), text.to_owned()));
        }
        assert!(open.is_empty(), "{open:?}");
        found
    }

    /// The left, top, right and lower end of each text, and the text.
    fn texts(svg: &str) -> Vec<([f64; 4], String)> {
        let value = |tag: &str, key: &str| -> String {
            let (_, rest) = tag.split_once(&format!(" {key}=\"")).unwrap();
            rest.split('"').next().unwrap().to_owned()
        };
        let place = |(tag, text): &(String, String)| {
            let number = |key: &str| value(tag, key).parse::<f64>().unwrap();
            let size = number("font-size");
            let text = text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&");
            let width = text_width(&text, size);
            let left = match value(tag, "text-anchor").as_str() {
                "start" => number("x"),
                "middle" => number("x") - width / 2.0,
                _ => number("x") - width,
            };
            ([left, number("y") - 0.8 * size, left + width, number("y") + 0.2 * size], text)
        };
        parsed(svg).iter().filter(|(tag, _)| tag.starts_with("text ")).map(place).collect()
    }

    fn chain(tasks: usize, name: &str) -> Profile {
        let tasks = (0..tasks as u64).map(|task| {
            let ns = [1_000 + 70 * (task % 13) * (task % 7), 3_000];
            let name = format!("{name} {task}");
            if task % 3 == 0 { TaskProfile::sequential(name, ns) } else { TaskProfile::replicable(name, ns) }
        });
        Profile::new(["big", "little"], tasks).unwrap().with_sync_ns([100, 200]).unwrap()
    }

    fn drawn(profile: &Profile, stages: Vec<Stage>) -> String {
        let schedule = Schedule::new("hand", stages, profile).unwrap();
        let platform = Platform::new(profile.kinds().iter().map(|kind| CoreKind::new(kind, 16_000))).unwrap();
        svg(profile, &platform, &schedule, "A title", &["A fact.".to_owned()]).unwrap()
    }

    #[test]
    fn no_text_lies_on_another_or_leaves_the_paper() {
        let pictures = [
            drawn(&chain(23, "synchronize & <decode>"), vec![Stage::new(23, 1, "little")]),
            drawn(&chain(400, "x"), vec![Stage::new(400, 1, "big")]),
            drawn(&chain(60, "filter"), (0..60).map(|s| Stage::new(1, 1, ["big", "little"][s % 2])).collect()),
            drawn(
                &chain(9, "a name \u{1b} that goes on and on, past the end of every line that there is"),
                vec![
                    Stage::new(1, 1, "big"),
                    Stage::new(2, 100, "big"),
                    Stage::new(4, 1, "big"),
                    Stage::new(2, 24, "little"),
                ],
            ),
        ];
        for svg in &pictures {
            let texts = texts(svg);
            let bottom: f64 = svg.split_once("height=\"").unwrap().1.split('"').next().unwrap().parse().unwrap();
            for (index, ([left, top, right, low], text)) in texts.iter().enumerate() {
                assert!(*left >= 0.0 && *right <= WIDTH && *top >= 0.0 && *low <= bottom, "`{text}` leaves the paper");
                for ([left2, top2, right2, low2], text2) in &texts[index + 1..] {
                    let apart = right <= left2 || right2 <= left || low <= top2 || low2 <= top;
                    assert!(apart, "`{text}` and `{text2}` overlap");
                }
            }
        }
    }

    #[test]
    fn boxes_are_as_wide_as_stages_are_busy() {
        let profile =
            Profile::new(["big"], [TaskProfile::sequential("a", [500]), TaskProfile::replicable("b", [4_000])])
                .unwrap();
        let svg = drawn(&profile, vec![Stage::new(1, 1, "big"), Stage::new(1, 4, "big")]);
        let full = BOXES[1] - BOXES[0];
        for (class, width, height) in [("kind0s", full / 2.0, ONE_CORE), ("kind0r", full, 4.0 * LANE)] {
            let size = format!(r#"width="{width:.2}" height="{height:.2}""#);
            assert!(parsed(&svg).iter().any(|(tag, _)| tag.contains(class) && tag.contains(&size)), "{size} in {svg}");
        }
        assert_eq!(svg.matches(r#"class="gap""#).count(), 3, "four lanes");
        assert_eq!(svg.matches(r#"class="limit""#).count(), 1, "one stage limits");
    }

    #[test]
    fn a_chain_that_weighs_nothing_is_drawn() {
        let profile = Profile::new(["cpu"], [TaskProfile::replicable("t", [0])]).unwrap();
        let svg = drawn(&profile, vec![Stage::new(1, 2, "cpu")]);
        assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
        assert!(!svg.contains(r#"class="limit""#), "no stage limits a chain without a period: {svg}");
    }
}

//! A machine as a picture: boxes in boxes, the cores inside, coloured by their kind.

use bief::Machine;
use bief::machine::{Core, thread_list};
use bief::placement::Placement;

use super::parts::{Part, Parts, facts, own_caches};
use crate::draw::stages::KINDS;
use crate::draw::svg::{Anchor, Svg, fitted, lines, text_width};

const WIDTH: f64 = 1040.0;
const MARGIN: f64 = 24.0;
/// Between a box and what is in it, and between boxes.
const GAP: f64 = 10.0;
const LINE: f64 = 15.0;
const TEXT: f64 = 11.0;
/// The widest that text makes a box.
const LONGEST: f64 = 320.0;
/// A core's box; as wide as the numbers of its threads where these need more.
const CORE: [f64; 2] = [44.0, 30.0];
const WIDEST_CORE: f64 = 120.0;

const STYLE: &str = "
.paper{fill:#fff}.ink{fill:#1d2330}.soft{fill:#5b6474}.bold{font-weight:600}.on-light{fill:#16202e}
.box{fill:#5b6474;fill-opacity:.07;stroke:#b9c1ce}
@media (prefers-color-scheme:dark){
.paper{fill:#141a23}.ink{fill:#e8ecf3}.soft{fill:#a3adbd}.box{fill:#a3adbd;stroke:#4a5566}}
";

/// The picture of a machine, and of where the threads of a pipeline may run on it: each core names the stages.
pub(super) fn svg(machine: &Machine, placement: Option<&Placement>) -> String {
    let mut drawing = Svg::new();
    let mut facts = facts(machine).into_iter();
    let (_, model) = facts.next().unwrap_or_default();
    let mut y = MARGIN;
    let room = WIDTH - 2.0 * MARGIN;
    let kinds = machine.kinds().len();
    for line in lines(&model, room - 60.0, 16.0) {
        y += 20.0;
        drawing.text([MARGIN, y], 16.0, Anchor::Start, "ink bold", &line);
    }
    for (index, (name, value)) in facts.enumerate() {
        // The first is the number of all cores; then come kinds, which have a colour.
        let is_kind = (1..=kinds).contains(&index);
        let left = MARGIN + if is_kind { 20.0 } else { 0.0 };
        for (number, line) in lines(&format!("{name}: {value}"), room - 20.0, 13.0).iter().enumerate() {
            y += 18.0;
            if is_kind && number == 0 {
                drawing.rect([MARGIN, y - 10.0, 12.0, 12.0], 2.0, &kind_class(index - 1));
            }
            drawing.text([left, y], 13.0, Anchor::Start, "soft", line);
        }
    }
    let parts = Parts::of(machine);
    if !parts.caches.is_empty() {
        y += 18.0;
        drawing.text([MARGIN, y], 13.0, Anchor::Start, "soft", &format!("all share {}", parts.caches));
    }
    for (index, stage) in placement.iter().flat_map(|placement| placement.stages()).enumerate() {
        let threads =
            if stage.threads.len() == 1 { String::new() } else { format!(", {} threads", stage.threads.len()) };
        let text = format!("{}: {}{threads}", mark(index), stage.name);
        y += 18.0;
        drawing.text([MARGIN, y], 13.0, Anchor::Start, "ink", &fitted(&text, room, 13.0));
    }
    let height = if placement.is_some() { CORE[1] + LINE } else { CORE[1] };
    let picture = Picture { machine, placement, core: [core_width(machine), height] };
    let frames = picture.frames(&parts.packages, room);
    let (places, [_, height]) = flow(frames.iter().map(|frame| frame.size), room);
    y += 2.0 * GAP;
    for (frame, at) in frames.iter().zip(places) {
        frame.draw(&picture, &mut drawing, [MARGIN + at[0], y + at[1]]);
    }
    let colours =
        KINDS.iter().enumerate().map(|(kind, [dark, light])| format!(".kind{kind}{{fill:{light};stroke:{dark}}}\n"));
    let style = format!("{STYLE}{}", colours.collect::<String>());
    drawing.document([WIDTH, y + height + MARGIN], &model, &style)
}

struct Picture<'m> {
    machine: &'m Machine,
    placement: Option<&'m Placement>,
    /// Width and height of a core.
    core: [f64; 2],
}

/// A part, the lines of text in it, and where below them its parts or cores stand.
struct Frame<'p> {
    part: &'p Part,
    text: Vec<String>,
    frames: Vec<Frame<'p>>,
    places: Vec<[f64; 2]>,
    size: [f64; 2],
}

/// What a stage is called on the cores.
fn mark(stage: usize) -> String {
    format!("S{}", stage + 1)
}

impl Picture<'_> {
    /// The stages of which threads may run on a core.
    fn stages_on(&self, core: &Core) -> Vec<String> {
        let stages = self.placement.iter().flat_map(|placement| placement.stages()).enumerate();
        let is_here = |threads: &Vec<usize>| core.threads.iter().any(|thread| threads.contains(thread));
        stages.filter(|(_, stage)| stage.threads.iter().any(is_here)).map(|(index, _)| mark(index)).collect()
    }

    /// Lays parts out, each at most `room` pixels wide.
    fn frames<'p>(&self, parts: &'p [Part], room: f64) -> Vec<Frame<'p>> {
        parts.iter().map(|part| self.frame(part, room - 2.0 * GAP)).collect()
    }

    fn frame<'p>(&self, part: &'p Part, room: f64) -> Frame<'p> {
        let frames = self.frames(&part.parts, room);
        let mut text = vec![format!("{} {}", part.level.name(), part.number), part.caches.clone()];
        let (places, inside) = if part.parts.is_empty() {
            let own = own_caches(self.machine, part.cores.start);
            if !own.is_empty() && part.cores.clone().all(|core| own_caches(self.machine, core) == own) {
                text.push(format!("each core: {own}"));
            }
            // Few cores in a row, many in about twice as many columns as rows.
            let columns = (2.0 * part.cores.len() as f64).sqrt().ceil().max(4.0);
            flow(part.cores.clone().map(|_| self.core), room.min(columns * (self.core[0] + GAP)))
        } else {
            flow(frames.iter().map(|frame| frame.size), room)
        };
        text.retain(|line| !line.is_empty());
        let longest = text.iter().map(|line| text_width(line, TEXT)).fold(0.0, f64::max);
        let width = longest.min(LONGEST.min(room)).max(inside[0]);
        let text: Vec<String> = text.iter().map(|line| fitted(line, width, TEXT)).collect();
        let size = [width + 2.0 * GAP, inside[1] + heading(&text) + GAP];
        Frame { part, text, frames, places, size }
    }
}

/// How high the text of a part is, with what is left free above and below.
fn heading(text: &[String]) -> f64 {
    GAP + LINE * text.len() as f64 + 4.0
}

impl Frame<'_> {
    fn draw(&self, picture: &Picture, drawing: &mut Svg, [x, y]: [f64; 2]) {
        drawing.rect([x, y, self.size[0], self.size[1]], 6.0, "box");
        for (index, line) in self.text.iter().enumerate() {
            let class = if index == 0 { "ink bold" } else { "soft" };
            drawing.text([x + GAP, y + GAP + LINE * (index as f64 + 0.7)], TEXT, Anchor::Start, class, line);
        }
        let inside = |at: &[f64; 2]| [x + GAP + at[0], y + heading(&self.text) + at[1]];
        for (frame, at) in self.frames.iter().zip(&self.places) {
            frame.draw(picture, drawing, inside(at));
        }
        if self.frames.is_empty() {
            for (core, at) in picture.machine.cores()[self.part.cores.clone()].iter().zip(&self.places) {
                let ([x, y], [width, height]) = (inside(at), picture.core);
                drawing.rect([x, y, width, height], 4.0, &kind_class(core.kind));
                let label = fitted(&thread_list(core.threads.iter().copied()), width - 6.0, TEXT);
                drawing.text([x + width / 2.0, y + CORE[1] / 2.0 + 4.0], TEXT, Anchor::Middle, "on-light", &label);
                let stages = fitted(&picture.stages_on(core).join(" "), width - 6.0, TEXT);
                if !stages.is_empty() {
                    drawing.text([x + width / 2.0, y + height - 8.0], TEXT, Anchor::Middle, "on-light bold", &stages);
                }
            }
        }
    }
}

/// Puts things of these sizes side by side, in rows of at most `room` pixels: where each stands, and how wide and high they are
/// together.
fn flow(sizes: impl IntoIterator<Item = [f64; 2]>, room: f64) -> (Vec<[f64; 2]>, [f64; 2]) {
    let [mut x, mut y, mut row, mut widest] = [0.0_f64; 4];
    let mut places = Vec::new();
    for [width, height] in sizes {
        // Sums of lengths are not exact.
        if x > 0.0 && x + width > room + 0.01 {
            (x, y, row) = (0.0, y + row + GAP, 0.0);
        }
        places.push([x, y]);
        x += width + GAP;
        widest = widest.max(x - GAP);
        row = row.max(height);
    }
    (places, [widest, y + row])
}

fn core_width(machine: &Machine) -> f64 {
    let widths = machine.cores().iter().map(|core| text_width(&thread_list(core.threads.iter().copied()), TEXT) + 10.0);
    widths.fold(CORE[0], f64::max).min(WIDEST_CORE)
}

fn kind_class(kind: usize) -> String {
    format!("kind{}", kind % KINDS.len())
}

#[cfg(test)]
mod tests {
    use bief::placement::{Policy, StageSlots};

    use super::*;

    /// Position and size of the rectangles of a class, and how many texts there are.
    fn rects(svg: &str, class: &str) -> Vec<[f64; 4]> {
        let value = |rect: &str, key: &str| -> f64 {
            let (_, rest) = rect.split_once(&format!(" {key}=\"")).unwrap();
            rest.split('"').next().unwrap().parse().unwrap()
        };
        let of_class = svg.split('<').filter(|tag| tag.starts_with(&format!("rect class=\"{class}")));
        of_class.map(|rect| ["x", "y", "width", "height"].map(|key| value(rect, key))).collect()
    }

    fn is_inside([x, y, width, height]: [f64; 4], [left, top, wide, high]: [f64; 4]) -> bool {
        x >= left && y >= top && x + width <= left + wide + 0.1 && y + height <= top + high + 0.1
    }

    #[test]
    fn every_core_is_in_a_box_and_none_hides_another() {
        let server = super::super::server(4, 2, 4, 16);
        for machine in [Machine::here(), super::super::x7_ti(), server] {
            let svg = svg(&machine, None);
            let boxes = rects(&svg, "box");
            let mut cores = rects(&svg, "kind");
            // The first rectangles are those that tell the kinds.
            cores.drain(..machine.kinds().len());
            assert_eq!(cores.len(), machine.cores().len());
            let (_, view) = svg.split_once("viewBox=\"0 0 ").unwrap();
            let view: Vec<f64> = view.split(['"', ' ']).take(2).map(|length| length.parse().unwrap()).collect();
            assert!(boxes.iter().all(|&one| is_inside(one, [0.0, 0.0, view[0], view[1]])));
            for (index, &core) in cores.iter().enumerate() {
                assert!(boxes.iter().filter(|&&one| is_inside(core, one)).count() >= 3, "package, node and cluster");
                let [x, y, ..] = core;
                assert!(
                    cores[..index]
                        .iter()
                        .all(|other| (other[0] - x).abs() >= core[2] || (other[1] - y).abs() >= core[3])
                );
            }
        }
    }
    #[test]
    fn cores_name_the_stages_that_run_on_them() {
        let machine = super::super::x7_ti();
        let seats = |name: &str, kind: &str, threads| StageSlots {
            name: name.into(),
            kinds: vec![kind.into(); threads],
            threads,
            planned_ns: None,
        };
        let stages = [seats("front <1>", "big", 1), seats("decode", "medium", 3), seats("out", "little", 1)];
        let placed = |policy: Policy| svg(&machine, Some(&policy.place(&machine, &stages).unwrap()));
        let count = |svg: &str, mark: &str| svg.matches(&format!(">{mark}<")).count();
        let packed = placed(Policy::Packed);
        assert_eq!(["S1", "S2", "S3"].map(|mark| count(&packed, mark)), [1, 3, 1]);
        assert!(packed.contains("S1: front &lt;1&gt;") && packed.contains("S2: decode, 3 threads"), "{packed}");
        let guided = placed(Policy::Guided);
        assert_eq!(["S1", "S2", "S3"].map(|mark| count(&guided, mark)), [6, 8, 2]);
    }
}

//! A processing graph as a picture: a box for each task, a row for each step from the sources, arrows between them.

use super::svg::{Anchor, Svg, fitted, lines, text_width};
use crate::text::printable;

/// A task.
pub(crate) struct Block {
    pub(crate) title: String,
    /// Sentences below the title; empty ones are left out.
    pub(crate) lines: Vec<String>,
    /// How much of a core it is busy.
    pub(crate) busy: f64,
}

/// An edge between two blocks, by index.
pub(crate) struct Arrow {
    pub(crate) from: usize,
    pub(crate) to: usize,
    pub(crate) label: String,
}

/// What is drawn. Arrows make no cycle.
pub(crate) struct Parts {
    pub(crate) blocks: Vec<Block>,
    pub(crate) arrows: Vec<Arrow>,
    /// What boxes and arrows mean.
    pub(crate) note: String,
}

const MARGIN: f64 = 24.0;
/// The narrowest paper.
const WIDTH: f64 = 720.0;
const BOX: f64 = 250.0;
/// The way of an arrow past a row of boxes.
const LANE: f64 = 70.0;
const GAP: f64 = 28.0;
/// Between two rows.
const ROOM: f64 = 74.0;
const INSET: f64 = 12.0;
const LINE: f64 = 15.0;
/// The most lines of text in a box, below its title.
const MOST_LINES: usize = 8;

const STYLE: &str = "
.paper{fill:#fff}.ink{fill:#1d2330}.soft{fill:#5b6474}.bold{font-weight:600}
.box{fill:#eef3f9;stroke:#2563a8}.idle{fill:#d5deea}.busy{fill:#2563a8}.over{fill:#c8321f}
.arrow{fill:none;stroke:#7d8899;stroke-width:1.5}.head{fill:#7d8899}.label{fill:#fff}
@media (prefers-color-scheme:dark){
.paper,.label{fill:#141a23}.ink{fill:#e8ecf3}.soft{fill:#a3adbd}
.box{fill:#1c2634;stroke:#6ea3dc}.idle{fill:#2d394a}.busy{fill:#6ea3dc}.over{fill:#f58a78}
.arrow{stroke:#8b97a8}.head{fill:#8b97a8}}
";

/// A place in a row: a block, or an arrow that passes the row.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Slot {
    Block(usize),
    Pass(usize),
}

/// The picture of a graph, under its title and the sentences of `facts`.
pub(crate) fn svg(title: &str, facts: &[String], parts: &Parts) -> String {
    let rows = rows(parts);
    let slot_width = |slot: &Slot| if matches!(slot, Slot::Block(_)) { BOX } else { LANE };
    let row_width =
        |row: &Vec<Slot>| row.iter().map(slot_width).sum::<f64>() + GAP * row.len().saturating_sub(1) as f64;
    let width = rows.iter().map(row_width).fold(WIDTH - 2.0 * MARGIN, f64::max) + 2.0 * MARGIN;

    let mut drawing = Svg::new();
    let mut y = MARGIN;
    let sentences = facts.iter().chain([&parts.note]).map(|fact| (fact.as_str(), 13.0, "soft"));
    for (text, size, class) in [(title, 16.0, "ink bold")].into_iter().chain(sentences) {
        for line in lines(&printable(text), width - 2.0 * MARGIN, size) {
            y += size * 1.4;
            drawing.text([MARGIN, y], size, Anchor::Start, class, &line);
        }
    }
    y += 26.0;

    // Where each block stands, and where each arrow passes each row.
    let mut places = vec![[0.0; 4]; parts.blocks.len()];
    let mut passes: Vec<Vec<[f64; 4]>> = vec![Vec::new(); parts.arrows.len()];
    let texts: Vec<Vec<String>> = parts.blocks.iter().map(block_lines).collect();
    for row in &rows {
        let mut x = (width - row_width(row)) / 2.0;
        let height = |slot: &Slot| match slot {
            Slot::Block(block) => 44.0 + LINE * texts[*block].len() as f64,
            Slot::Pass(_) => 0.0,
        };
        let highest = row.iter().map(height).fold(0.0, f64::max);
        for slot in row {
            match *slot {
                Slot::Block(block) => places[block] = [x, y, BOX, height(slot)],
                Slot::Pass(arrow) => passes[arrow].push([x, y, LANE, highest]),
            }
            x += slot_width(slot) + GAP;
        }
        y += highest + ROOM;
    }
    let mut labels = Vec::new();
    for index in 0..parts.arrows.len() {
        labels.push(draw_arrow(&mut drawing, parts, &places, &passes, index));
    }
    for ((block, place), texts) in parts.blocks.iter().zip(&places).zip(&texts) {
        draw_block(&mut drawing, block, *place, texts);
    }
    for ([x, y], label) in labels {
        let wide = text_width(&label, 11.0) + 6.0;
        drawing.rect([x - wide / 2.0, y - 11.0, wide, 15.0], 3.0, "label");
        drawing.text([x, y], 11.0, Anchor::Middle, "soft", &label);
    }
    drawing.document([width, y - ROOM + MARGIN], title, STYLE)
}

fn block_lines(block: &Block) -> Vec<String> {
    let room = BOX - 2.0 * INSET;
    let mut all: Vec<String> = block.lines.iter().flat_map(|text| lines(&printable(text), room, 11.0)).collect();
    if all.len() > MOST_LINES {
        all.truncate(MOST_LINES - 1);
        all.push("…".to_owned());
    }
    all
}

fn draw_block(drawing: &mut Svg, block: &Block, [x, y, width, height]: [f64; 4], texts: &[String]) {
    drawing.rect([x, y, width, height], 6.0, "box");
    let busy = format!("{:.0} %", 100.0 * block.busy);
    let room = width - 2.0 * INSET - text_width(&busy, 13.0) - 10.0;
    let title = fitted(&printable(&block.title), room, 13.0);
    drawing.text([x + INSET, y + 20.0], 13.0, Anchor::Start, "ink bold", &title);
    drawing.text([x + width - INSET, y + 20.0], 13.0, Anchor::End, "ink", &busy);
    for (line, text) in texts.iter().enumerate() {
        drawing.text([x + INSET, y + 36.0 + LINE * line as f64], 11.0, Anchor::Start, "soft", text);
    }
    let bar = [x + INSET, y + height - 11.0, width - 2.0 * INSET, 5.0];
    drawing.rect(bar, 2.0, "idle");
    let filled = bar[2] * block.busy.clamp(0.0, 1.0);
    drawing.rect([bar[0], bar[1], filled, bar[3]], 2.0, if block.busy > 1.0 { "over" } else { "busy" });
}

/// Draws an arrow and answers where its label stands.
fn draw_arrow(
    drawing: &mut Svg,
    parts: &Parts,
    places: &[[f64; 4]],
    passes: &[Vec<[f64; 4]>],
    index: usize,
) -> ([f64; 2], String) {
    let arrow = &parts.arrows[index];
    let middle = |[x, _, width, _]: [f64; 4]| x + width / 2.0;
    // Where an arrow goes next from its block, and where it comes from to the other.
    let next = |arrow: usize| middle(passes[arrow].first().copied().unwrap_or(places[parts.arrows[arrow].to]));
    let last = |arrow: usize| middle(passes[arrow].last().copied().unwrap_or(places[parts.arrows[arrow].from]));
    // Arrows that leave or reach the same block do so side by side, in the order of their other ends.
    let port = |block: usize, end: fn(&Arrow) -> usize, other: &dyn Fn(usize) -> f64| {
        let mut all: Vec<usize> = (0..parts.arrows.len()).filter(|&arrow| end(&parts.arrows[arrow]) == block).collect();
        all.sort_by(|&a, &b| other(a).total_cmp(&other(b)));
        let place = all.iter().position(|&arrow| arrow == index).unwrap_or(0);
        let [x, _, width, _] = places[block];
        x + width * (place as f64 + 1.0) / (all.len() as f64 + 1.0)
    };
    let [_, top, _, height] = places[arrow.from];
    let mut points = vec![[port(arrow.from, |arrow| arrow.from, &next), top + height]];
    for [x, y, width, height] in &passes[index] {
        points.extend([[x + width / 2.0, *y], [x + width / 2.0, y + height]]);
    }
    points.push([port(arrow.to, |arrow| arrow.to, &last), places[arrow.to][1]]);
    drawing.arrow(&points, ["arrow", "head"]);
    let [from, to] = [points[points.len() - 2], points[points.len() - 1]];
    // Nearer to one end or the other, where several lie close together.
    let beside = |other: &Arrow| other.from == arrow.from || other.to == arrow.to;
    let along = match parts.arrows.iter().filter(|other| beside(other)).count() {
        1 => 0.5,
        _ => [0.5, 0.3, 0.7][index % 3],
    };
    ([from[0] + (to[0] - from[0]) * along, from[1] + (to[1] - from[1]) * along + 4.0], arrow.label.clone())
}

/// The blocks in rows, each below all that feed it, and the ways of arrows that pass a row.
fn rows(parts: &Parts) -> Vec<Vec<Slot>> {
    let mut depth = vec![0; parts.blocks.len()];
    // As often as the longest path may be long.
    for _ in 0..parts.blocks.len() {
        for arrow in &parts.arrows {
            depth[arrow.to] = depth[arrow.to].max(depth[arrow.from] + 1);
        }
    }
    let count = depth.iter().max().map_or(0, |deepest| deepest + 1);
    let mut rows: Vec<Vec<Slot>> = vec![Vec::new(); count];
    for row in 0..count {
        let mut slots: Vec<(f64, Slot)> = Vec::new();
        let place = |slot: Slot| {
            let above: &Vec<Slot> = &rows[row - 1];
            above.iter().position(|&other| other == slot).map(|place| (place as f64 + 0.5) / above.len() as f64)
        };
        // Where an arrow comes from in the row above.
        let source = |arrow: usize| {
            let from = parts.arrows[arrow].from;
            place(if depth[from] + 1 == row { Slot::Block(from) } else { Slot::Pass(arrow) })
        };
        for block in (0..parts.blocks.len()).filter(|&block| depth[block] == row) {
            let inputs = (0..parts.arrows.len()).filter(|&arrow| parts.arrows[arrow].to == block);
            let above: Vec<f64> = if row == 0 { Vec::new() } else { inputs.filter_map(source).collect() };
            let middle = if above.is_empty() { 0.5 } else { above.iter().sum::<f64>() / above.len() as f64 };
            slots.push((middle, Slot::Block(block)));
        }
        for (index, arrow) in parts.arrows.iter().enumerate() {
            if depth[arrow.from] < row && row < depth[arrow.to] {
                slots.push((source(index).unwrap_or(0.5), Slot::Pass(index)));
            }
        }
        slots.sort_by(|a, b| a.0.total_cmp(&b.0));
        rows[row] = slots.into_iter().map(|(_, slot)| slot).collect();
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(blocks: usize, arrows: &[(usize, usize)]) -> Parts {
        let block = |index: usize| Block {
            title: format!("block {index} & a long name that has no room"),
            lines: vec!["1000 Hz, every 1.00 ms, 500 us".to_owned(), "many <nodes> ".repeat(3 * index)],
            busy: 0.4 * index as f64,
        };
        let arrow = |&(from, to): &(usize, usize)| Arrow { from, to, label: "1 / 7 / 4".to_owned() };
        Parts {
            blocks: (0..blocks).map(block).collect(),
            arrows: arrows.iter().map(arrow).collect(),
            note: "A note.".to_owned(),
        }
    }

    #[test]
    fn blocks_stand_below_what_feeds_them_and_long_arrows_pass() {
        let parts = parts(4, &[(0, 1), (0, 2), (1, 2), (2, 3), (0, 3)]);
        let rows = rows(&parts);
        assert_eq!(rows.len(), 4);
        assert_eq!(rows[0], [Slot::Block(0)]);
        assert!(
            rows[1].contains(&Slot::Block(1)) && rows[1].contains(&Slot::Pass(1)) && rows[1].contains(&Slot::Pass(4))
        );
        assert!(rows[2].contains(&Slot::Block(2)) && rows[2].contains(&Slot::Pass(4)) && rows[2].len() == 2);
        assert_eq!(rows[3], [Slot::Block(3)]);
    }

    #[test]
    fn every_block_and_arrow_is_drawn_on_the_paper() {
        for parts in [parts(1, &[]), parts(4, &[(0, 1), (0, 2), (1, 3), (2, 3), (0, 3)]), parts(9, &[(0, 8), (1, 8)])] {
            let svg = svg("A title", &["A fact.".to_owned()], &parts);
            assert_eq!(svg.matches(r#"class="box""#).count(), parts.blocks.len());
            assert_eq!(svg.matches(r#"class="head""#).count(), parts.arrows.len());
            assert_eq!(svg.matches("1 / 7 / 4").count(), parts.arrows.len());
            let number = |text: &str, key: &str| -> f64 {
                let (_, rest) = text.split_once(&format!(" {key}=\"")).unwrap();
                rest.split('"').next().unwrap().parse().unwrap()
            };
            let (width, height) = (number(&svg, "width"), number(&svg, "height"));
            for tag in svg.split('<').filter(|tag| tag.starts_with("rect ") && tag.contains(" x=")) {
                assert!(number(tag, "x") >= 0.0 && number(tag, "x") + number(tag, "width") <= width, "{tag}");
                assert!(number(tag, "y") >= 0.0 && number(tag, "y") + number(tag, "height") <= height, "{tag}");
            }
        }
    }
}

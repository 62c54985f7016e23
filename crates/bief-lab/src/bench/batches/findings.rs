//! Tasks and layouts as a table, CSV, a figure and JSON.

use bief::schedule::realtime::{Cost, CostFit, FittedSize};
use bief_cli::draw::plot::{Axis, Figure, Key, Mark, Panel, Rgb, Shape};
use bief_cli::text::{COLUMNS, counted, shortened, wrapped};
use bief_cli::units::{decade_name, significant};
use serde_json::json;

use super::merging::{LAYOUTS, Layout, Line, Merging, disturbed, merging};
use super::tasks::{BLOCK, TaskLines, Tasks};
use crate::bench::case::Case;
use crate::bench::output::Findings;
use crate::bench::surroundings::Surroundings;

/// What GNU Radio 3.10.5 takes for a call of a block: its name, I and D in nanoseconds.
const GNU_RADIO: [(&str, f64, f64); 4] = [
    ("add_const_ff", 83.0, 0.26),
    ("multiply_const_cc", 69.0, 0.20),
    ("FIR, 32 taps", 66.0, 11.0),
    ("FIR, 128 taps", 75.0, 19.8),
];
const SOURCE: &str = "GNU Radio 3.10.5: work() alone, by the items of a call, each item being one of the block itself; 2 vCPU of an AMD EPYC \
                      (Zen 4). A call with all that its scheduler does takes it 600 to 700 ns.";
const CLAIM: &str = "He and Ward (Figure 9) found for two blocks of GNU Radio that, merged, their I is much smaller than the sum of both and \
                     slightly larger than the larger one, and D the same.";

pub(super) fn of(tasks: &Tasks, cases: &[Case], lines: &[Line], surroundings: &Surroundings) -> Findings {
    let json = json!({
        "bench": "batches",
        "surroundings": surroundings.to_json(),
        "rounds": cases[0].readings.len(),
        "kind": tasks.kind,
        "hand_over_ns": tasks.hand_over_ns,
        "tasks": tasks
            .tasks
            .iter()
            .map(|task| json!({ "task": task.name, "by_batch": task.by_batch, "by_block": task.by_block }))
            .collect::<Vec<_>>(),
        "gnu_radio": GNU_RADIO
            .map(|(block, init, each)| json!({ "block": block, "init_ns": init, "per_sample_ns": each })),
        "layouts": lines
            .iter()
            .map(|line| json!({ "layout": line.layout.name(), "fit": line.fit, "beyond_source": line.beyond_source }))
            .collect::<Vec<_>>(),
        "merging": merging(lines),
    });
    Findings {
        table: table(tasks, cases, lines, surroundings),
        csv: csv(tasks, cases),
        figure: figure(tasks, cases, lines),
        json,
    }
}

fn table(tasks: &Tasks, cases: &[Case], lines: &[Line], surroundings: &Surroundings) -> String {
    let heading = format!(
        "Frequency shifts behind a source, in real time: medians of {}",
        counted(cases[0].readings.len(), "round")
    );
    let mut rows = vec!["Tasks on one core: I + D c for a batch of c samples".to_owned()];
    rows.extend(rows_of_tasks(tasks));
    rows.extend([String::new(), heading]);
    rows.extend(rows_of_layouts(lines));
    rows.push(String::new());
    let mut facts = vec![
        format!(
            "Tasks: samples are those of the recording at 576 kS/s, at whatever rate a task works; by how many blocks of {BLOCK} are \
             in a batch, and by the length of a batch's only block, where a filter copies less for each sample. I is a call; \
             handing a batch to a thread that sleeps takes {} us more.",
            significant(tasks.hand_over_ns / 1e3)
        ),
        SOURCE.to_owned(),
        "Layouts: alone: without what the source takes. of one: I alone of the merged tasks over that of one task; of apart: \
         over that of as many tasks on a thread each; D: the same of D alone."
            .to_owned(),
        CLAIM.to_owned(),
    ];
    facts.extend(disturbed().map(|reason| format!("Layouts, threads among those of other programs: {reason}.")));
    facts.extend(surroundings.facts());
    rows.extend(facts.iter().flat_map(|fact| wrapped(fact, COLUMNS)));
    rows.join("\n")
}

/// Each task, all of them, and blocks of GNU Radio.
fn rows_of_tasks(tasks: &Tasks) -> Vec<String> {
    let row = |name: &str, [a, b, c]: [&str; 3], [d, e, f]: [&str; 3]| {
        let name = shortened(name, 28);
        format!("{name:<28} {a:>7} {b:>8} {c:>6}   {d:>7} {e:>8} {f:>6}").trim_end().to_owned()
    };
    let head = ["I ns", "D ns", "R2"];
    let mut rows =
        vec![row("", ["blocks", &format!("of {BLOCK}"), ""], ["length", "of block", ""]), row("task", head, head)];
    let [mut by_batch, mut by_block] = [Cost::default(); 2];
    for task in &tasks.tasks {
        let cells = |fit: &CostFit, total: &mut Cost| {
            total.init_ns += fit.cost.init_ns;
            total.per_sample_ns += fit.cost.per_sample_ns;
            [significant(fit.cost.init_ns), significant(fit.cost.per_sample_ns), format!("{:.3}", fit.r_squared)]
        };
        let (left, right) = (cells(&task.by_batch, &mut by_batch), cells(&task.by_block, &mut by_block));
        rows.push(row(&task.name, left.each_ref().map(String::as_str), right.each_ref().map(String::as_str)));
    }
    let cells = |cost: Cost| [significant(cost.init_ns), significant(cost.per_sample_ns), String::new()];
    let (left, right) = (cells(by_batch), cells(by_block));
    rows.push(row("all", left.each_ref().map(String::as_str), right.each_ref().map(String::as_str)));
    let peers = GNU_RADIO.map(|(block, init_ns, per_sample_ns)| {
        let cells = cells(Cost { init_ns, per_sample_ns });
        row(&format!("GNU Radio {block}"), [""; 3], cells.each_ref().map(String::as_str))
    });
    rows.extend(peers);
    rows
}

/// Each layout, and what merging makes of its line.
fn rows_of_layouts(lines: &[Line]) -> Vec<String> {
    let mut rows = vec![format!(
        "{:<12} {:>6} {:>6} {:>6}  {:>7} {:>7}  {:>8} {:>8} {:>8}",
        "layout", "I us", "D ns", "R2", "I alone", "D alone", "I of one", "of apart", "D"
    )];
    let found = merging(lines);
    for line in lines {
        let merged = found.iter().find(|found| line.layout == Layout::Merged(found.tasks));
        let share = |part: fn(&Merging) -> Option<f64>| match merged.map(part) {
            Some(share) => share.map_or_else(|| "-".to_owned(), |share| format!("{share:.2}")),
            None => String::new(),
        };
        let row = format!(
            "{:<12} {:>6} {:>6} {:>6.3}  {:>7} {:>7}  {:>8} {:>8} {:>8}",
            line.layout.name(),
            significant(line.fit.cost.init_ns / 1e3),
            significant(line.fit.cost.per_sample_ns),
            line.fit.r_squared,
            significant(line.beyond_source.init_ns / 1e3),
            significant(line.beyond_source.per_sample_ns),
            share(|found| found.init_of_one),
            share(|found| found.init_of_separate),
            share(|found| found.per_sample_of_separate),
        );
        rows.push(row.trim_end().to_owned());
    }
    rows
}

fn csv(tasks: &Tasks, cases: &[Case]) -> String {
    let mut text = "what,name,samples,round,ns\n".to_owned();
    for task in &tasks.tasks {
        for (what, fit) in [("by-batch", &task.by_batch), ("by-block", &task.by_block)] {
            for row in &fit.rows {
                text += &format!("{what},{},{},,{:.2}\n", task.name, row.samples, row.ns);
            }
        }
    }
    for case in cases {
        let (layout, size) = case.name.split_once('/').unwrap_or((&case.name, ""));
        for (round, reading) in case.readings.iter().enumerate() {
            text += &format!("layout,{layout},{size},{},{:.2}\n", round + 1, reading.value);
        }
    }
    text
}

/// Colours that colour-blind readers tell apart (Okabe and Ito).
const COLORS: [Rgb; 6] = [(0, 0, 0), (86, 180, 233), (0, 158, 115), (230, 159, 0), (0, 114, 178), (213, 94, 0)];
/// How many tasks are drawn: those that take most.
const DRAWN: usize = 3;

fn figure(tasks: &Tasks, cases: &[Case], lines: &[Line]) -> Figure {
    let by_layout: Vec<(&CostFit, Rgb)> = lines.iter().map(|line| &line.fit).zip(COLORS).collect();
    let legend =
        LAYOUTS.into_iter().zip(COLORS).map(|(layout, color)| Key { label: layout.name(), color, mark: Mark::Dot });
    let line = Key { label: "I + D c".to_owned(), color: COLORS[0], mark: Mark::Dashes };
    Figure {
        title: "Bief: what batches cost".to_owned(),
        caption: format!(
            "below: processor time of all threads, medians of {}",
            counted(cases[0].readings.len(), "round")
        ),
        legend: legend.chain([line]).collect(),
        panel: (520, 340),
        rows: vec![
            vec![
                of_tasks(&format!("tasks on one core, by blocks of {BLOCK}"), tasks, |task| &task.by_batch),
                of_tasks("tasks on one core, by the length of a block", tasks, |task| &task.by_block),
            ],
            vec![panel("frequency shifts in real time", &by_layout)],
        ],
    }
}

/// The tasks that take most, each with its name.
fn of_tasks(title: &str, tasks: &Tasks, fit: fn(&TaskLines) -> &CostFit) -> Panel {
    let most = |task: &TaskLines| fit(task).rows.last().map_or(0.0, |row| row.ns);
    let mut drawn: Vec<&TaskLines> = tasks.tasks.iter().collect();
    drawn.sort_by(|a, b| most(b).total_cmp(&most(a)));
    drawn.truncate(DRAWN);
    let fits: Vec<(&CostFit, Rgb)> = drawn.iter().map(|task| fit(task)).zip(COLORS.into_iter().skip(3)).collect();
    let mut panel = panel(title, &fits);
    for (index, (task, &(fit, color))) in drawn.iter().zip(&fits).enumerate() {
        // Below a point that no other name is at.
        let row = &fit.rows[index.min(fit.rows.len() - 1)];
        let at = (1.6 * row.samples as f64, 0.7 * row.ns);
        panel.shapes.push(Shape::Label { at, text: task.name.clone(), color });
    }
    panel
}

/// Measured times, and the lines through them.
fn panel(title: &str, fits: &[(&CostFit, Rgb)]) -> Panel {
    let rows = || fits.iter().flat_map(|(fit, _)| &fit.rows);
    let samples = || rows().map(|row| row.samples as f64);
    let ns = || rows().map(|row| row.ns).filter(|ns| *ns > 0.0);
    let range = |values: &mut dyn Iterator<Item = f64>| {
        values.fold((f64::MAX, f64::MIN_POSITIVE), |(least, most), value| (least.min(value), most.max(value)))
    };
    let ((first, last), (least, most)) = (range(&mut samples()), range(&mut ns()));
    let shapes = fits.iter().flat_map(|&(fit, color)| {
        let points =
            |part: fn(&FittedSize) -> f64| fit.rows.iter().map(|row| (row.samples as f64, part(row))).collect();
        [
            Shape::Line { points: points(|row| row.fitted_ns), color, dashed: true },
            Shape::Dots { points: points(|row| row.ns), color, filled: true },
        ]
    });
    Panel {
        title: title.to_owned(),
        x: Axis::doublings(first, last).named("samples of a batch"),
        y: Axis::decades(least.min(most), most, decade_name).named("ns"),
        shapes: shapes.collect(),
    }
}

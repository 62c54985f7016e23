//! The results for a terminal.

use bief_cli::table::{columns, section};
use bief_cli::units::{nanoseconds, significant};

use super::evaluate::{BATCHINGS, LIMITS_US, MERGED_AT, MERGINGS, SIZES};
use super::{KINDS, Results, receiver};
use crate::campaign::claim;

pub(super) fn text(results: &Results) -> String {
    let mut lines = Vec::new();
    section(
        &mut lines,
        &format!(
            "Figures 6 and 7: {} random graphs of each kind on 8 cores, by the size of the batches: the cores that they \
             need (mean of all), the latency (mean of those that fit in batches of every size), and how many fit. How \
             graphs are drawn is ours: see --help.",
            results.graphs
        ),
        sweep(results),
    );
    section(
        &mut lines,
        &format!("Merged, in rate-exploiting batches of {MERGED_AT}: means of the graphs that fit."),
        merged(results),
    );
    section(
        &mut lines,
        "Within a latency: how many graphs have a plan, and the mean of the cores that these need.",
        limits(results),
    );
    section(
        &mut lines,
        "Figure 8: a narrowband FM receiver (data/graphs/nbfm.json) at 576 kHz on 4 cores, by the size of the batches.",
        case_study(results),
    );
    if let Some(measured) = &results.measured {
        let mut heading =
            "Figures 3 and 9: what a block costs on this machine, a frequency shift on a thread that sleeps until a \
             batch comes: I + D c for c samples. In the paper, add_const: I 11 081 cycles, D 2.8."
                .to_owned();
        if let Some(reason) = measured.disturbed() {
            heading += &format!(" Among threads of other programs: {reason}.");
        }
        section(&mut lines, &heading, columns(&["layout", "I us", "D ns", "R²"], &measured.rows(), Some(0)));
    }
    section(&mut lines, "What the paper says, and what was found:", claim::rows(&results.claims));
    lines.join("\n")
}

fn time(us: Option<f64>) -> String {
    us.map_or_else(|| "-".to_owned(), |us| nanoseconds(us * 1e3))
}

fn cores(utilisation: Option<f64>) -> String {
    utilisation.map_or_else(|| "-".to_owned(), significant)
}

fn sweep(results: &Results) -> Vec<String> {
    let mut rows = Vec::new();
    for (kind, means) in KINDS.iter().zip(&results.means) {
        for (index, size) in SIZES.iter().enumerate() {
            let mut row = vec![if index == 0 { (*kind).to_owned() } else { String::new() }, size.to_string()];
            for points in &means.swept {
                let point = &points[index];
                row.extend([significant(point.utilisation), time(point.latency_us), point.fitting.to_string()]);
            }
            rows.push(row);
        }
    }
    let headings = ["graphs", "batch", "uniform: cores", "latency", "fit", "in step: cores", "latency", "fit"];
    let mut lines = columns(&headings, &rows, Some(0));
    lines.push(format!("in step: {} batches", BATCHINGS[1]));
    lines
}

fn merged(results: &Results) -> Vec<String> {
    let rows: Vec<Vec<String>> = MERGINGS
        .iter()
        .enumerate()
        .map(|(index, (merging, _))| {
            let mut row = vec![(*merging).to_owned()];
            for means in &results.means {
                let merged = &means.merged[index];
                let tasks = merged.tasks.map_or_else(|| "-".to_owned(), |tasks| format!("{tasks:.1}"));
                row.extend([cores(merged.utilisation), time(merged.latency_us), tasks]);
            }
            row
        })
        .collect();
    columns(&["merging", "light: cores", "latency", "tasks", "heavy: cores", "latency", "tasks"], &rows, Some(0))
}

fn limits(results: &Results) -> Vec<String> {
    let rows: Vec<Vec<String>> = LIMITS_US
        .iter()
        .enumerate()
        .map(|(index, limit)| {
            let mut row = vec![nanoseconds(limit * 1e3)];
            for points in results.means.iter().flat_map(|means| &means.within) {
                row.extend([points[index].count.to_string(), cores(points[index].utilisation)]);
            }
            row
        })
        .collect();
    let headings = ["limit", "light: plans", "cores", "merged", "cores", "heavy: plans", "cores", "merged", "cores"];
    columns(&headings, &rows, None)
}

fn case_study(results: &Results) -> Vec<String> {
    let rows: Vec<Vec<String>> = receiver::SIZES
        .iter()
        .enumerate()
        .map(|(index, size)| {
            let mut row = vec![size.to_string()];
            for points in &results.receiver.swept {
                row.extend([significant(points[index].utilisation), time(points[index].latency_us)]);
            }
            row
        })
        .collect();
    columns(&["batch", "uniform: cores", "latency", "in step: cores", "latency"], &rows, None)
}

//! The results for a terminal.

use bief_cli::table::{columns, section};
use bief_cli::text::{COLUMNS, wrapped};
use bief_cli::units::nanoseconds;
use bief_schedule::simulate::Mean;

use super::Results;
use super::gains::{DEMANDS, Point, migration_bound};
use super::machine::{CORES, READINGS};
use super::policy::{FAIR, contenders};
use super::times::{COUNTS, KINDS, NEWS, TIMED, median_us};
use crate::campaign::claim;

/// The policies whose gains are shown; the others are in the CSV file, and among the positions.
const SHOWN: [&str; 5] = ["FTFC", "BSM", "rank", "WED", "oracle"];
/// The capacities of slow cores for which everything is shown: 0.1 in both readings of the measure, and more unlike ones.
const CLOSE: [f64; 4] = [0.918, 0.8, 0.4, 0.1];

pub(super) fn text(results: &Results) -> String {
    let mut lines = Vec::new();
    let names = contenders().map(|contender| format!("{}: {}", contender.name, contender.what)).join("; ");
    for (points, (name, _)) in results.gains.iter().zip(DEMANDS) {
        section(
            &mut lines,
            &format!(
                "Figure 5, {name} demands: throughput above that of a fair scheduler in %, mean and 95 % interval of {} \
                 runs; 3 cores of capacity 1 and 3 of r, {CORES} threads; HM: the paper's measure as printed, std: as \
                 standard deviation.",
                results.runs
            ),
            gains(points),
        );
        section(
            &mut lines,
            &format!(
                "Positions by throughput, {name} demands. Policies whose intervals overlap are a tie; 1-3 is one that may be \
                 the first to the third."
            ),
            positions(points),
        );
    }
    lines.extend(wrapped(&format!("{names}."), COLUMNS));
    for (points, (name, _)) in results.gains.iter().zip(DEMANDS) {
        let heading = format!(
            "Figure 4 and what else it costs, {name} demands: against a fair scheduler in %, Jain's index of the \
             threads' shares, migrations per second (most: of a run; {:.0} is the bound).",
            migration_bound()
        );
        section(&mut lines, &heading, costs(points));
    }
    for (news, _) in NEWS {
        let what =
            if news == NEWS[0].0 { "1 % of the demands new at each call" } else { "all demands new at each call" };
        let heading = format!("Figure 3: median time to map N threads to N cores of 2 and of 16 kinds, {what}.");
        section(&mut lines, &heading, times(results, news));
    }
    lines.push(String::new());
    lines.extend(growths(results));
    lines.push(String::new());
    lines.extend(results.surroundings.facts().iter().flat_map(|fact| wrapped(fact, COLUMNS)));
    section(&mut lines, "What the paper says, and what was found:", claim::rows(&results.claims));
    lines.join("\n")
}

/// A mean with its interval.
pub(super) fn interval(mean: Mean) -> String {
    let digits = if mean.mean.abs() < 10.0 { 2 } else { 1 };
    let shown = format!("{:.digits$}±{:.digits$}", mean.mean, mean.margin);
    // What is rounded to 0 has no sign.
    shown.strip_prefix('-').filter(|rest| rest.starts_with("0.00±")).map(str::to_owned).unwrap_or(shown)
}

/// How the columns of [`machine`] are called.
const HEADINGS: [&str; 3] = ["r", "HM", READINGS[1].1];

/// The machine at the start of a row: r, and both readings of the measure.
fn machine(point: &Point) -> Vec<String> {
    let [printed, deviation] = point.machine.heterogeneity;
    [point.machine.slow, printed, deviation].map(|value| format!("{value:.3}")).into()
}

fn gains(points: &[Point]) -> Vec<String> {
    let shown: Vec<usize> = (0..contenders().len()).filter(|&at| SHOWN.contains(&contenders()[at].name)).collect();
    let rows: Vec<Vec<String>> = points
        .iter()
        .map(|point| {
            let gains = shown.iter().map(|&at| interval(point.outcomes[at].comparison.throughput_percent));
            machine(point).into_iter().chain(gains).collect()
        })
        .collect();
    let headings: Vec<&str> = HEADINGS.into_iter().chain(SHOWN).collect();
    columns(&headings, &rows, None)
}

fn positions(points: &[Point]) -> Vec<String> {
    let row = |point: &Point| {
        let positions = point.outcomes.iter().map(|outcome| outcome.positions.to_string());
        machine(point).into_iter().chain(positions).collect()
    };
    let rows: Vec<Vec<String>> = points.iter().map(row).collect();
    let headings: Vec<&str> = HEADINGS.into_iter().chain(contenders().map(|contender| contender.name)).collect();
    columns(&headings, &rows, None)
}

fn costs(points: &[Point]) -> Vec<String> {
    let close = points.iter().filter(|point| CLOSE.iter().any(|slow| (point.machine.slow - slow).abs() < 5e-4));
    let rows: Vec<Vec<String>> = close
        .flat_map(|point| {
            contenders().into_iter().zip(&point.outcomes).enumerate().map(|(at, (contender, outcome))| {
                let found = &outcome.comparison;
                vec![
                    if at == FAIR { format!("{:.3}", point.machine.slow) } else { String::new() },
                    contender.name.to_owned(),
                    interval(found.power_percent),
                    interval(found.energy_percent),
                    format!("{:.3}±{:.3}", found.fairness.mean, found.fairness.margin),
                    interval(found.migrations_per_second),
                    format!("{:.0}", outcome.max_migrations),
                ]
            })
        })
        .collect();
    columns(&["r", "policy", "power %", "energy/work %", "fairness", "migrations/s", "most"], &rows, None)
}

fn times(results: &Results, news: &str) -> Vec<String> {
    let kinds = [KINDS[0], KINDS[KINDS.len() - 1]];
    let shown: Vec<(&str, usize)> = TIMED
        .iter()
        .filter(|timed| timed.kinds() == KINDS)
        .flat_map(|timed| kinds.map(|kinds| (timed.name, kinds)))
        .collect();
    let rows: Vec<Vec<String>> = COUNTS
        .iter()
        .map(|&count| {
            let times = shown.iter().map(|&(name, kinds)| median_us(&results.times, name, news, kinds, count));
            let times = times.map(|us| us.map_or_else(|| "-".to_owned(), |us| nanoseconds(us * 1e3)));
            std::iter::once(count.to_string()).chain(times).collect()
        })
        .collect();
    let names: Vec<String> = shown.iter().map(|(name, kinds)| format!("{name} {kinds}")).collect();
    let headings: Vec<&str> = std::iter::once("N").chain(names.iter().map(String::as_str)).collect();
    let mut lines = columns(&headings, &rows, None);
    if news == NEWS[1].0 {
        let naive = results.times.iter().filter(|point| point.algorithm == "naive");
        let shown =
            naive.filter_map(|point| Some(format!("{} {}", point.count, nanoseconds(point.time?.median_us * 1e3))));
        let shown = shown.collect::<Vec<_>>().join(", ");
        lines.extend(wrapped(&format!("naive, whatever the kinds, by N: {shown}."), COLUMNS));
    }
    let skipped = results.times.iter().filter(|point| point.time.is_none()).count();
    if skipped > 0 {
        lines.extend(wrapped("-: fewer cores than kinds, or beyond the budget (see --budget).", COLUMNS));
    }
    lines
}

fn growths(results: &Results) -> Vec<String> {
    let rows: Vec<Vec<String>> = results
        .growths
        .iter()
        .map(|growth| {
            let power = |found: Option<Mean>| found.map_or_else(|| "-".to_owned(), interval);
            vec![
                growth.algorithm.to_owned(),
                growth.news.to_owned(),
                power(growth.with_cores),
                power(growth.with_kinds),
                results.published.complexity(growth.algorithm).unwrap_or("-").to_owned(),
            ]
        })
        .collect();
    let heading = "Powers of N and M (cores and kinds) with which these times grow, from 50 cores on, fitted to the medians \
                   with 95 % intervals; of N! for the naive search, from 5 cores on.";
    let mut lines = wrapped(heading, COLUMNS);
    lines.push(String::new());
    lines.extend(columns(&["algorithm", "demands", "power of N", "power of M", "Table 1"], &rows, None));
    lines
}

//! What was mapped, for a reader.

use bief::machine::mapper::{MapReport, MapSettings, Steering, ThreadStatus};

use super::follow::Followed;
use crate::table::{columns, facts};
use crate::text::{COLUMNS, counted, printable, shortened, wrapped};
use crate::units::elapsed;

/// The most threads that are shown, on a terminal while it goes on and in the end.
const LIVE_ROWS: usize = 16;
const ROWS: usize = 40;
/// The longest name that Linux gives a thread.
const NAME: usize = 15;

/// The table that is drawn again and again.
pub(super) fn live(followed: &Followed) -> String {
    let report = &followed.report;
    let lines = rows(followed, LIVE_ROWS);
    format!(
        "{}\n{} s, {}, the mapper takes {} of a core{}",
        lines.join("\n"),
        report.seconds.round(),
        counted(report.migrations as usize, "migration"),
        percent(report.own_share()),
        if report.dry_run { "; dry run" } else { "" }
    )
}

/// The table of the end.
pub(super) fn text(followed: &Followed, settings: &MapSettings) -> String {
    let report = &followed.report;
    let mut lines = rows(followed, ROWS);
    lines.push(String::new());
    let [mean, most] = report.late_seconds.map(|late| elapsed(std::time::Duration::from_secs_f64(late)));
    let took = elapsed(std::time::Duration::from_secs_f64(report.own_cpu_seconds));
    let whole = elapsed(std::time::Duration::from_secs_f64(report.seconds));
    let facts = facts(&[
        ("kinds of cores", kinds(report)),
        ("mapped for", format!("{whole}, {}{}", counted(report.intervals as usize, "interval"), crowded(report))),
        ("migrations", migrations(report)),
        ("the mapper took", format!("{} of a core, {took}", percent(report.own_share()))),
        ("intervals ended", format!("{mean} late in the mean, {most} at most, of {:?}", settings.interval)),
    ]);
    lines.extend(facts.lines().map(str::to_owned));
    for note in &report.notes {
        lines.push(String::new());
        lines.extend(wrapped(&format!("Note: {}", printable(note)), COLUMNS));
    }
    lines.join("\n")
}

fn crowded(report: &MapReport) -> String {
    if report.crowded_seconds > 0.0 && report.seconds > 0.0 {
        format!("; too few cores, and left to Linux, in {} of it", percent(report.crowded_seconds / report.seconds))
    } else {
        String::new()
    }
}

fn kinds(report: &MapReport) -> String {
    let kinds = report.kinds.iter().zip(&report.capacities);
    kinds.map(|(name, capacity)| format!("{name} {capacity:.2}")).collect::<Vec<_>>().join(", ")
}

fn migrations(report: &MapReport) -> String {
    let rate = report.migrations as f64 / report.seconds.max(1e-9);
    let would = if report.dry_run { "; a dry run: nothing was set" } else { "" };
    format!("{}, {rate:.1} per second{would}", report.migrations)
}

/// The threads that had the most processor time, and how many others there were.
fn rows(followed: &Followed, most: usize) -> Vec<String> {
    let mut threads: Vec<&ThreadStatus> = followed.threads.iter().collect();
    threads.sort_by(|one, other| other.cpu_seconds.total_cmp(&one.cpu_seconds).then(one.tid.cmp(&other.tid)));
    let kinds = followed.report.kinds.iter().map(|name| shortened(&printable(name), 8));
    let headings: Vec<String> = ["thread", "name", "needs", "CPU"]
        .map(str::to_owned)
        .into_iter()
        .chain(kinds)
        .chain(["any", "moves"].map(str::to_owned))
        .collect();
    let headings: Vec<&str> = headings.iter().map(String::as_str).collect();
    let shown: Vec<Vec<String>> = threads.iter().take(most).map(|thread| row(thread)).collect();
    let mut lines = columns(&headings, &shown, Some(1));
    if threads.len() > most {
        let others = &threads[most..];
        let time: f64 = others.iter().map(|thread| thread.cpu_seconds).sum();
        lines.push(format!("and {} with {time:.2} s together", counted(others.len(), "other thread")));
    }
    lines
}

fn row(thread: &ThreadStatus) -> Vec<String> {
    let needs = match thread.steering {
        Steering::Light => "little".to_owned(),
        Steering::Crowded => "crowded".to_owned(),
        Steering::Fixed => "fixed".to_owned(),
        Steering::Refused => "refused".to_owned(),
        _ => format!("{:.2}", thread.demand),
    };
    let on_kinds = thread.on_kinds.iter().copied();
    let any = (1.0 - on_kinds.clone().sum::<f64>()).max(0.0);
    let shares = on_kinds.chain([any]).map(|share| match thread.cpu_seconds > 0.0 {
        true => format!("{:.0} %", 100.0 * share),
        false => "-".to_owned(),
    });
    let name = shortened(&printable(&thread.name), NAME);
    let first = [thread.tid.to_string(), name, needs, format!("{:.2} s", thread.cpu_seconds)];
    first.into_iter().chain(shares).chain([thread.migrations.to_string()]).collect()
}

fn percent(share: f64) -> String {
    format!("{:.2} %", 100.0 * share)
}

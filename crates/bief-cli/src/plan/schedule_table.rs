//! One schedule for a reader: a line per stage.

use std::ops::Range;

use bief_schedule::{Profile, Stage};

use super::facts::Plan;
use crate::failure::Failure;
use crate::text::{COLUMNS, printable, shortened, wrapped};
use crate::units::{Unit, share};

/// The stages, and the facts about them.
pub(super) fn table(plan: &Plan) -> Result<String, Failure> {
    let Plan { profile, schedule, .. } = *plan;
    let loads = schedule.loads(profile).map_err(Failure::from_error)?;
    let period = schedule.planned_period();
    let unit = Unit::for_times_up_to(period);
    let rows: Vec<Row> = schedule
        .stages()
        .iter()
        .zip(&loads)
        .enumerate()
        .map(|(index, (stage, load))| Row {
            number: (index + 1).to_string(),
            tasks: span(&load.tasks),
            cores: cores(stage),
            period: unit.show(load.period),
            load: share(load.period, period),
        })
        .collect();
    let widest = |title: &str, cell: fn(&Row) -> &str| {
        rows.iter().map(|row| cell(row).chars().count()).chain([title.len()]).max().unwrap_or(0)
    };
    let number = widest("#", |row| &row.number);
    let tasks = widest("tasks", |row| &row.tasks);
    let cores = widest("cores", |row| &row.cores);
    let time = widest("period", |row| &row.period);
    // Six gaps of two, four columns for the percentage, and a bar.
    let names = (COLUMNS - BAR - 4 - 12).saturating_sub(number + tasks + cores + time).max(LEAST_NAMES);

    let mut lines = wrapped(&plan.heading(), COLUMNS);
    lines.push(String::new());
    let mut line = |cells: [&str; 7]| {
        let [n, t, names_cell, c, p, percent, bar] = cells;
        let row =
            format!("{n:>number$}  {t:<tasks$}  {names_cell:<names$}  {c:>cores$}  {p:>time$}  {percent:>4}  {bar}");
        lines.push(row.trim_end().to_owned());
    };
    line(["#", "tasks", "names", "cores", "period", "load", ""]);
    for (row, load) in rows.iter().zip(&loads) {
        let bar = "#".repeat((row.load * BAR as f64).round() as usize);
        let percent = format!("{:.0}%", row.load * 100.0);
        line([
            &row.number,
            &row.tasks,
            &task_names(profile, &load.tasks, names),
            &row.cores,
            &row.period,
            &percent,
            &bar,
        ]);
    }
    lines.push(String::new());
    for fact in plan.facts()? {
        lines.extend(wrapped(&fact, COLUMNS));
    }
    Ok(lines.join("\n"))
}

/// The length of the bar of a stage that is busy all the time.
const BAR: usize = 10;
/// The width of the cores of a stage that several kinds share.
const MOST_CORES: usize = 21;
/// The width of the names, which is left beside the longest times and the largest numbers of all.
const LEAST_NAMES: usize = 5;

struct Row {
    number: String,
    tasks: String,
    cores: String,
    period: String,
    load: f64,
}

/// The cores of a stage by kind, in a column that leaves room for the others.
fn cores(stage: &Stage) -> String {
    let each = MOST_CORES / stage.cores.len().max(1);
    let of_kind = |(kind, cores): (&String, &u32)| {
        let cores = cores.to_string();
        format!("{cores} {}", shortened(kind, each.saturating_sub(cores.len() + 3).clamp(1, 12)))
    };
    let listed: Vec<String> = stage.cores.iter().map(of_kind).collect();
    shortened(&listed.join(" + "), MOST_CORES.max(listed[0].chars().count()))
}

/// Positions as a reader counts them, from 1.
fn span(tasks: &Range<usize>) -> String {
    match tasks.len() {
        1 => tasks.end.to_string(),
        _ => format!("{}-{}", tasks.start + 1, tasks.end),
    }
}

/// The narrowest column that shows the names of two tasks.
const LEAST_FOR_TWO: usize = 12;

/// The names of the tasks in at most `width` characters: all of them, or the first and the last.
fn task_names(profile: &Profile, tasks: &Range<usize>, width: usize) -> String {
    let names: Vec<_> = profile.tasks()[tasks.clone()].iter().map(|task| printable(&task.name)).collect();
    let all = names.join(", ");
    if all.chars().count() <= width {
        return all;
    }
    let [first, .., last] = &names[..] else {
        return shortened(&all, width);
    };
    if width < LEAST_FOR_TWO {
        return shortened(&all, width);
    }
    let between = if names.len() == 2 { ", " } else { " to " };
    let room = width - between.chars().count();
    let last_room = (room / 2).max(room.saturating_sub(first.chars().count()));
    let last = shortened(last, last_room);
    let first = shortened(first, room - last.chars().count());
    format!("{first}{between}{last}")
}

#[cfg(test)]
mod tests {
    use bief_schedule::{Platform, TaskProfile, strategy};

    use super::super::tests::receiver;
    use super::*;

    fn shown(profile: &Profile, cores: &str, name: &str) -> String {
        let platform = Platform::parse_cores(cores, profile).unwrap();
        let schedule = strategy(name).unwrap().schedule(profile, &platform).unwrap();
        table(&Plan { profile, platform: &platform, schedule: &schedule, pace: None }).unwrap()
    }

    #[test]
    fn the_table_shows_stages_rate_and_limit() {
        let expected = "\
otac: 4 tasks in 3 stages on 8 of 8 little cores

#  tasks  names                               cores     period  load
1  1      receive                          1 little   227.1 us   16%  ##
2  2-3    demodulate, decode               6 little  1417.0 us  100%  ##########
3  4      send                             1 little    35.2 us    2%

Period 1417.0 us, 161 Mb/s (11292 frames/s).
A frame spends 8764.1 us in the stages.
Limited by stage 2: its 2 tasks are shared by 6 cores; all cores are in use.
What would help: one more little core: 1214.5 us (-14 %).";
        assert_eq!(shown(&receiver(["big", "little"]), "little=8", "otac"), expected);
    }

    #[test]
    fn cores_of_several_kinds_are_all_named() {
        let text = shown(&receiver(["big", "little"]), "big=1,little=8", "thread_per_task");
        assert!(
            text.starts_with("thread_per_task: 4 tasks in 4 stages on 1 of 1 big and 3 of 8 little cores\n"),
            "{text}"
        );
    }

    #[test]
    fn every_line_fits_the_terminal() {
        let spaced = "a name \u{1b}[31m that goes on and on, well past any column";
        let long = "name".repeat(30);
        for (task, kinds) in [
            (spaced, ["performance-cores", "efficiency-cores"]),
            (&long, [&format!("{long}1")[..], &format!("{long}2")]),
        ] {
            for ns in [9_000_000_000, 70_000_000_000_000_000] {
                let tasks = (0..120).map(|index| TaskProfile::sequential(task, [ns + index, ns / 2]));
                let profile = Profile::new(kinds, tasks).unwrap().with_machine(task);
                let [big, little] = kinds;
                for (cores, name) in [
                    (format!("{big}=60"), "otac"),
                    (format!("{little}=16000"), "otac"),
                    (format!("{big}=8,{little}=100"), "thread_per_task"),
                    (format!("{big}=8,{little}=100"), "exact"),
                ] {
                    let text = shown(&profile, &cores, name);
                    assert!(!text.contains('\u{1b}'));
                    for line in text.lines() {
                        assert!(line.chars().count() <= COLUMNS, "{line}");
                    }
                }
            }
        }
    }

    #[test]
    fn names_are_shortened_from_both_sides() {
        let profile = receiver(["big", "little"]);
        assert_eq!(task_names(&profile, &(0..4), 40), "receive, demodulate, decode, send");
        assert_eq!(task_names(&profile, &(0..4), 16), "receive to send");
        assert_eq!(task_names(&profile, &(0..3), 15), "recei… to deco…");
        assert_eq!(task_names(&profile, &(1..3), 14), "demod…, decode");
        assert_eq!(task_names(&profile, &(1..2), 8), "demodul…");
        assert_eq!(task_names(&profile, &(0..4), LEAST_NAMES), "rece…");
    }
}

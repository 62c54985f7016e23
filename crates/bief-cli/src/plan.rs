//! `bief plan`: the schedule for a profile on given cores, as a table or as JSON.

use std::fs;
use std::io::{self, Read};
use std::ops::Range;
use std::path::{Path, PathBuf};

use bief_schedule::{Limit, Period, Platform, Profile, Schedule, StageLoad, strategies, strategy};
use clap::builder::{PossibleValue, PossibleValuesParser};

use crate::failure::Failure;
use crate::json::{self, JsonArgs};

/// The widest line that is printed, in characters.
const COLUMNS: usize = 80;

const EXAMPLES: &str = "\
Examples:
  bief plan receiver.json --cores 4
      the best pipeline on 4 cores, for a profile with one kind of core
  bief plan receiver.json --cores little=8
      the same on 8 cores of one of the profile's kinds
  bief plan receiver.json --platform laptop.json --strategy thread_per_task
      what one thread per task would reach on the cores that laptop.json lists
  bief plan receiver.json --cores 4 --json schedule.json
      the table, and the schedule in a file
  cat receiver.json | bief plan - --cores 4 --json > schedule.json
      profile from standard input, schedule to standard output";

/// Show the schedule of a profiled chain on given cores: stages, periods, rate, and what limits it
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct PlanArgs {
    /// The chain's profile, a JSON file; - reads standard input
    profile: PathBuf,

    /// The cores to use: N, or by kind as in big=4,little=8
    #[arg(long, value_name = "CORES", required_unless_present = "platform", conflicts_with = "platform")]
    cores: Option<String>,

    /// The cores to use, a JSON file that lists kinds and numbers; - reads standard input
    #[arg(long, value_name = "FILE")]
    platform: Option<PathBuf>,

    /// How to cut the chain into stages
    #[arg(long, value_name = "NAME", default_value = "otac", value_parser = strategy_names())]
    strategy: String,

    #[command(flatten)]
    json: JsonArgs,
}

fn strategy_names() -> PossibleValuesParser {
    let names = strategies().iter().map(|strategy| PossibleValue::new(strategy.name()).help(strategy.summary()));
    PossibleValuesParser::new(names)
}

/// Plans, and prints the schedule.
pub(crate) fn run(args: PlanArgs) -> Result<(), Failure> {
    let from_stdin = |path: &Path| path == Path::new("-");
    if from_stdin(&args.profile) && args.platform.as_deref().is_some_and(from_stdin) {
        return Err(Failure::new(
            "standard input can be the profile or the platform, not both: name a file for one of them",
        ));
    }
    let profile = load(&args.profile, Profile::from_json)?;
    let platform = match (&args.platform, &args.cores) {
        (Some(path), _) => load(path, Platform::from_json)?,
        (None, Some(cores)) => Platform::parse_cores(cores, &profile).map_err(Failure::from_error)?,
        (None, None) => return Err(Failure::new("no cores: name them with --cores or --platform")),
    };
    let schedule = strategy(&args.strategy)
        .and_then(|strategy| strategy.schedule(&profile, &platform))
        .map_err(Failure::from_error)?;

    args.json.write(|| schedule.to_json().trim_end().to_owned())?;
    if args.json.on_stdout() {
        return Ok(());
    }
    json::print(&table(&profile, &platform, &schedule)?)
}

fn load<T>(path: &Path, parse: impl Fn(&str) -> Result<T, bief_schedule::Error>) -> Result<T, Failure> {
    let mut text = String::new();
    let (name, read) = if path == Path::new("-") {
        ("standard input".to_owned(), io::stdin().read_to_string(&mut text))
    } else {
        let read = fs::File::open(path).and_then(|mut file| file.read_to_string(&mut text));
        (path.display().to_string(), read)
    };
    read.map_err(|error| Failure::new(format!("cannot read {name}: {error}")))?;
    parse(&text).map_err(|error| Failure::new(format!("{name}: {error}")))
}

/// The schedule for a reader: a line per stage, the rate, and what limits it.
fn table(profile: &Profile, platform: &Platform, schedule: &Schedule) -> Result<String, Failure> {
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
            cores: format!("{} {}", stage.cores, shortened(&stage.kind, 12)),
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
    let names = (COLUMNS - BAR - 4 - 12).saturating_sub(number + tasks + cores + time).max(12);

    let mut lines = wrapped(&heading(profile, platform, schedule));
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
    lines.extend(wrapped(&rate(profile, schedule, unit)));
    lines.extend(wrapped(&limit(profile, platform, schedule, &loads)?));
    Ok(lines.join("\n"))
}

/// The length of the bar of a stage that is busy all the time.
const BAR: usize = 10;

struct Row {
    number: String,
    tasks: String,
    cores: String,
    period: String,
    load: f64,
}

fn heading(profile: &Profile, platform: &Platform, schedule: &Schedule) -> String {
    let given = platform.kinds().iter().filter(|kind| kind.cores > 0);
    let used = given.map(|kind| {
        let used = schedule.cores().get(&kind.name).copied().unwrap_or(0);
        format!("{used} of {} {}", kind.cores, kind.name)
    });
    let machine = profile.machine().map(|machine| format!(" (profile: {})", printable(machine))).unwrap_or_default();
    format!(
        "{}: {} in {} on {} cores{machine}",
        schedule.strategy(),
        counted(profile.tasks().len(), "task"),
        counted(schedule.stages().len(), "stage"),
        used.collect::<Vec<_>>().join(" and "),
    )
}

fn rate(profile: &Profile, schedule: &Schedule, unit: Unit) -> String {
    let period = schedule.planned_period();
    if period == Period::ZERO {
        return "The tasks weigh nothing: no period, and no limit to the rate.".to_owned();
    }
    let frames = format!("{} frames/s", significant(profile.frames_per_second(period.ns())));
    let rate = match schedule.mbps(profile) {
        Some(mbps) => format!("{} Mb/s ({frames})", significant(mbps)),
        None => frames,
    };
    format!("Period {}, {rate}.", unit.show(period))
}

/// Which stage takes the whole period, and why it takes that long.
fn limit(profile: &Profile, platform: &Platform, schedule: &Schedule, loads: &[StageLoad]) -> Result<String, Failure> {
    let first = match schedule.limit(profile).map_err(Failure::from_error)? {
        Limit::Stage(first) => first,
        Limit::Cores(kind) => {
            let threads: u32 =
                schedule.stages().iter().filter(|stage| stage.kind == kind).map(|stage| stage.cores).sum();
            return Ok(format!(
                "Limited by the {kind} cores: {threads} threads share {}, which are busy all the time.",
                schedule.cores()[&kind]
            ));
        }
    };
    // Of the stages that take the whole period, one that no schedule can make shorter is the true reason.
    let task_alone = |task: usize, stage: usize| {
        let kind = profile.kind(&schedule.stages()[stage].kind);
        kind.is_some_and(|kind| profile.stage_period(task..task + 1, 1, kind) == loads[first].period)
    };
    let hard = (first..loads.len()).filter(|&stage| loads[stage].period == loads[first].period).find_map(|stage| {
        let task =
            loads[stage].tasks.clone().find(|&task| !profile.tasks()[task].replicable && task_alone(task, stage));
        task.map(|task| (stage, task))
    });
    let name = |task: usize| printable(&profile.tasks()[task].name);
    if let Some((stage, task)) = hard {
        return Ok(format!(
            "Limited by stage {}: its task `{}` may not be replicated and takes the whole period by itself; \
             only a faster task or a faster core shortens it.",
            stage + 1,
            name(task)
        ));
    }

    let stage = &schedule.stages()[first];
    let tasks = loads[first].tasks.clone();
    let sequential = tasks.clone().find(|&task| !profile.tasks()[task].replicable);
    let reason = match (sequential, tasks.len(), stage.cores) {
        (Some(task), count, _) => format!("its {count} tasks have one core, as `{}` may not be replicated", name(task)),
        (None, 1, 1) => format!("its task `{}` has one core", name(tasks.start)),
        (None, 1, cores) => format!("its task `{}` is shared by {cores} cores", name(tasks.start)),
        (None, count, 1) => format!("its {count} tasks have one core"),
        (None, count, cores) => format!("its {count} tasks are shared by {cores} cores"),
    };
    let given: u32 = platform.kinds().iter().map(|kind| kind.cores).sum();
    let used: u32 = schedule.cores().values().sum();
    let remedy = if used == given {
        "all cores are in use, and more can shorten the period".to_owned()
    } else {
        format!(
            "`{}` finds no better use for the {} left",
            schedule.strategy(),
            counted((given - used) as usize, "core")
        )
    };
    Ok(format!("Limited by stage {}: {reason}; {remedy}.", first + 1))
}

/// Positions as a reader counts them, from 1.
fn span(tasks: &Range<usize>) -> String {
    match tasks.len() {
        1 => tasks.end.to_string(),
        _ => format!("{}-{}", tasks.start + 1, tasks.end),
    }
}

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
    let between = if names.len() == 2 { ", " } else { " to " };
    let room = width - between.chars().count();
    let last_room = (room / 2).max(room.saturating_sub(first.chars().count()));
    let last = shortened(last, last_room);
    let first = shortened(first, room - last.chars().count());
    format!("{first}{between}{last}")
}

/// The text in at most `width` characters, an ellipsis standing for what is missing.
fn shortened(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    let start: String = text.chars().take(width.saturating_sub(1)).collect();
    format!("{}…", start.trim_end_matches(|c: char| !c.is_alphanumeric()))
}

/// The text without what would move the cursor or break the line.
fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '?' } else { c }).collect()
}

/// The text in lines of at most [`COLUMNS`] characters, where its words allow it.
fn wrapped(text: &str) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= COLUMNS => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

fn counted(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

/// A number with at least three digits that count.
fn significant(value: f64) -> String {
    match value {
        v if v >= 100.0 => format!("{v:.0}"),
        v if v >= 10.0 => format!("{v:.1}"),
        v => format!("{v:.3}"),
    }
}

fn share(part: Period, whole: Period) -> f64 {
    if whole == Period::ZERO { 0.0 } else { part.ns() / whole.ns() }
}

/// The unit that all times of a table are shown in.
#[derive(Clone, Copy)]
struct Unit {
    name: &'static str,
    ns: f64,
}

impl Unit {
    fn for_times_up_to(longest: Period) -> Self {
        match longest.ns() {
            ns if ns < 1e4 => Self { name: "ns", ns: 1.0 },
            ns if ns < 1e8 => Self { name: "us", ns: 1e3 },
            _ => Self { name: "ms", ns: 1e6 },
        }
    }

    fn show(self, time: Period) -> String {
        format!("{:.1} {}", time.ns() / self.ns, self.name)
    }
}

#[cfg(test)]
mod tests {
    use bief_schedule::TaskProfile;

    use super::*;

    fn shown(profile: &Profile, cores: &str, name: &str) -> String {
        let platform = Platform::parse_cores(cores, profile).unwrap();
        let schedule = strategy(name).unwrap().schedule(profile, &platform).unwrap();
        table(profile, &platform, &schedule).unwrap()
    }

    fn receiver() -> Profile {
        Profile::new(
            ["big", "little"],
            [
                TaskProfile::sequential("receive", [216_300, 227_100]),
                TaskProfile::replicable("demodulate", [2_491_100, 3_281_400]),
                TaskProfile::replicable("decode", [3_959_000, 5_220_400]),
                TaskProfile::sequential("send", [27_500, 35_200]),
            ],
        )
        .and_then(|profile| profile.with_frames_per_execution(16)?.with_bits_per_frame(14_232))
        .unwrap()
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
Limited by stage 2: its 2 tasks are shared by 6 cores; all cores are in use, and
more can shorten the period.";
        assert_eq!(shown(&receiver(), "little=8", "otac"), expected);
    }

    #[test]
    fn a_sequential_task_that_takes_the_period_is_named() {
        let text = shown(&receiver(), "big=100", "otac");
        assert!(text.contains("otac: 4 tasks in 3 stages on 32 of 100 big cores"), "{text}");
        let sentence =
            "Limited by stage 1: its task `receive` may not be replicated and takes the whole period by itself;";
        assert!(text.replace('\n', " ").contains(sentence), "{text}");
    }

    #[test]
    fn cores_of_several_kinds_are_all_named() {
        let text = shown(&receiver(), "big=1,little=8", "thread_per_task");
        assert!(
            text.starts_with("thread_per_task: 4 tasks in 4 stages on 1 of 1 big and 3 of 8 little cores\n"),
            "{text}"
        );
    }

    #[test]
    fn other_limits_are_explained() {
        let ends_with = |cores: &str, name: &str, end: &str| {
            let text = shown(&receiver(), cores, name).replace('\n', " ");
            assert!(text.ends_with(end), "{text}");
        };
        ends_with(
            "big=1",
            "otac",
            "Limited by stage 1: its 4 tasks have one core, as `receive` may not be replicated; all cores are in use, and more can shorten the period.",
        );
        ends_with(
            "big=5",
            "thread_per_task",
            "Limited by stage 3: its task `decode` has one core; `thread_per_task` finds no better use for the 1 core left.",
        );
        ends_with(
            "big=1",
            "thread_per_task",
            "Limited by the big cores: 4 threads share 1, which are busy all the time.",
        );
    }

    #[test]
    fn chains_without_bits_or_weight_have_a_rate_all_the_same() {
        let profile = Profile::new(["cpu"], [TaskProfile::replicable("t", [250])]).unwrap();
        assert!(shown(&profile, "2", "otac").contains("Period 125.0 ns, 8000000 frames/s."));
        let profile = Profile::new(["cpu"], [TaskProfile::replicable("t", [0])]).unwrap();
        assert!(shown(&profile, "2", "otac").contains("The tasks weigh nothing"));
    }

    #[test]
    fn every_line_fits_the_terminal() {
        let long = "a name \u{1b}[31m that goes on and on, well past any column";
        let tasks = (0..120).map(|task| TaskProfile::sequential(long, [9_000_000_000 + task, 10_000_000_000]));
        let profile = Profile::new(["performance-cores", "efficiency-cores"], tasks).unwrap().with_machine(long);
        for (cores, name) in [
            ("performance-cores=60", "otac"),
            ("efficiency-cores=16000", "otac"),
            ("performance-cores=8,efficiency-cores=100", "thread_per_task"),
        ] {
            let text = shown(&profile, cores, name);
            assert!(!text.contains('\u{1b}'));
            for line in text.lines() {
                assert!(line.chars().count() <= COLUMNS, "{line}");
            }
        }
    }

    #[test]
    fn names_are_shortened_from_both_sides() {
        let profile = receiver();
        assert_eq!(task_names(&profile, &(0..4), 40), "receive, demodulate, decode, send");
        assert_eq!(task_names(&profile, &(0..4), 16), "receive to send");
        assert_eq!(task_names(&profile, &(0..3), 15), "recei… to deco…");
        assert_eq!(task_names(&profile, &(1..3), 14), "demod…, decode");
        assert_eq!(task_names(&profile, &(1..2), 8), "demodul…");
    }
}

//! What would leave with the workers of a file, and what that brings.

use std::path::{Path, PathBuf};

use bief_pool::plan::{Away, AwayLimit, PoolPlan, Site};
use bief_schedule::{Platform, Profile, Stage};
use clap::Args;
use serde_json::{Value, json};

use crate::document;
use crate::failure::Failure;
use crate::files::Files;
use crate::json::{JsonArgs, print};
use crate::table::columns;
use crate::text::{COLUMNS, counted, printable, wrapped};
use crate::units::{nanoseconds, significant, time};

/// Workers to plan with.
#[derive(Args)]
pub(crate) struct PoolArgs {
    /// Plan with the workers of this file, too: what would leave this machine, and what that brings
    ///
    /// In TOML: [[worker]] with name, cores, speed (of a core, where one of the profile's first kind has 1) and link_mb_per_s; [message]
    /// with send_us, send_ns_per_byte, receive_us and receive_ns_per_byte, what one costs a core here; and link_mb_per_s of this machine.
    /// The profile must tell the bytes that cross between tasks, as `bief profile` writes it.
    #[arg(long, value_name = "FILE.toml", conflicts_with_all = ["goal", "strategy", "stages", "svg"])]
    workers: Option<PathBuf>,
}

impl PoolArgs {
    /// Notes the file that is read.
    pub(crate) fn claim(&self, files: &mut Files) -> Result<(), Failure> {
        self.workers.as_deref().map_or(Ok(()), |path| files.read(path))
    }

    /// Plans with workers and shows it, if that is wanted.
    pub(crate) fn show(&self, profile: &Profile, platform: &Platform, json: &JsonArgs) -> Result<bool, Failure> {
        let Some(path) = &self.workers else { return Ok(false) };
        let site = read(path)?;
        if !tells_bytes(profile) {
            return Err(Failure::usage(
                "the profile does not tell the bytes that cross between tasks: measure the chain again, as with `bief profile`",
            ));
        }
        let plan = PoolPlan::make(profile, platform, &site, |run| PoolPlan::crossing(profile, run));
        let plan = plan.map_err(Failure::from_error)?;
        json.write(|| format!("{:#}", document(&plan, profile, &site)))?;
        if !json.on_stdout() {
            print(&text(&plan, profile, &site))?;
        }
        Ok(true)
    }
}

/// Reads a file of workers.
pub(super) fn read(path: &Path) -> Result<Site, Failure> {
    let (name, text) = document::text(path);
    let text = text.map_err(|error| document::unreadable(&name, error))?;
    Site::parse(&text, &name).map_err(|error| Failure::usage(error.to_string()))
}

fn tells_bytes(profile: &Profile) -> bool {
    profile.tasks()[1..].iter().all(|task| task.bytes.is_some())
}

/// The names of the tasks that leave.
fn leaving(away: &Away, profile: &Profile) -> String {
    let tasks = &profile.tasks()[away.tasks.clone()];
    match tasks {
        [task] => format!("`{}`", printable(&task.name)),
        [first, .., last] => format!("`{}` to `{}`", printable(&first.name), printable(&last.name)),
        [] => String::new(),
    }
}

/// The plan in sentences, with the figures that decide.
pub(super) fn sentences(plan: &PoolPlan, profile: &Profile) -> Vec<String> {
    let rate = |ns: f64| format!("{} frames/s", significant(profile.frames_per_second(ns)));
    let own = plan.here.planned_period();
    let here = format!("all tasks on this machine: a period of {}, {}", time(own), rate(own.ns()));
    let Some(away) = &plan.away else {
        return vec![
            format!("Stay on this machine: {here}."),
            "No run of tasks can leave: those that remember nothing lie between tasks that stay, which need a core before workers \
             and one behind them."
                .to_owned(),
        ];
    };
    let (tasks, brings) = (leaving(away, profile), own.ns() / away.period.ns());
    let with = format!("{}, {}", time(away.period), rate(away.period.ns()));
    let decision = match plan.pays() {
        Some(_) => format!(
            "Let {tasks} leave: a period of {with}, {} times as many as on this machine alone ({}).",
            significant(brings),
            rate(own.ns())
        ),
        None => {
            format!("Stay on this machine: {here}. With workers {tasks} would best leave, for a period of {with}.")
        }
    };
    let [out, back] = away.bytes;
    let [send, collect] = away.crossing_ns.map(|ns| nanoseconds(ns as f64));
    let cost = format!(
        "To send {out} bytes costs a core here {send}, to collect {back} bytes {collect}; the tasks that would leave take {} here.",
        nanoseconds(away.work_ns as f64)
    );
    let limit = match away.limit {
        AwayLimit::Front => "It is limited by what stays here, with sending and collecting.",
        AwayLimit::Workers => "It is limited by the cores of workers.",
        AwayLimit::Links => "It is limited by links.",
    };
    vec![decision, cost, limit.to_owned()]
}

fn text(plan: &PoolPlan, profile: &Profile, site: &Site) -> String {
    let mut lines: Vec<String> =
        sentences(plan, profile).iter().flat_map(|sentence| wrapped(sentence, COLUMNS)).collect();
    let Some(away) = &plan.away else { return lines.join("\n") };
    let named = |stages: &[Stage], names: Vec<&str>| {
        let mut first = 0;
        let row = |stage: &Stage| {
            let end = first + stage.tasks;
            let tasks = match names[first..end] {
                [first, .., last] => format!("{} to {}", printable(first), printable(last)),
                _ => printable(names[first]),
            };
            first = end;
            vec![tasks, stage.core_list()]
        };
        stages.iter().map(row).collect::<Vec<_>>()
    };
    let names = |tasks: &[bief_schedule::TaskProfile]| tasks.iter().map(|task| task.name.clone()).collect::<Vec<_>>();
    let (before, behind) = (names(&profile.tasks()[..away.tasks.start]), names(&profile.tasks()[away.tasks.end..]));
    let before = named(&away.before, before.iter().map(String::as_str).chain(["send"]).collect());
    let behind = named(&away.behind, ["collect"].into_iter().chain(behind.iter().map(String::as_str)).collect());
    let rows: Vec<Vec<String>> = before
        .into_iter()
        .chain([vec![format!("workers: {}", leaving(away, profile).replace('`', "")), String::new()]])
        .chain(behind)
        .collect();
    lines.push(String::new());
    lines.extend(columns(&["stage", "cores"], &rows, Some(0)));
    let frames = f64::from(profile.frames_per_execution());
    let row = |(worker, rate): (&bief_pool::plan::Worker, &f64)| {
        vec![printable(&worker.name), worker.cores.to_string(), significant(rate * frames)]
    };
    let rows: Vec<Vec<String>> = site.workers.iter().zip(&away.rates).map(row).collect();
    lines.push(String::new());
    lines.extend(columns(&["worker", "cores", "most frames/s"], &rows, Some(0)));
    lines.push(String::new());
    let all = counted(profile.tasks().len(), "task");
    let note = format!(
        "{} of {all} would leave. A profile does not tell whether wires may: `bief run --leave` refuses those that may not.",
        away.tasks.len()
    );
    lines.extend(wrapped(&note, COLUMNS));
    lines.join("\n")
}

fn document(plan: &PoolPlan, profile: &Profile, site: &Site) -> Value {
    let away = plan.away.as_ref().map(|away| {
        let frames = f64::from(profile.frames_per_execution());
        let names: Vec<&str> = profile.tasks()[away.tasks.clone()].iter().map(|task| &*task.name).collect();
        let worker = |(worker, rate): (&bief_pool::plan::Worker, &f64)| {
            json!({ "name": worker.name, "cores": worker.cores, "most_frames_per_second": rate * frames })
        };
        json!({
            "first_task": away.tasks.start,
            "tasks": names,
            "period_ns": away.period.ns(),
            "before": away.before,
            "behind": away.behind,
            "bytes_out": away.bytes[0],
            "bytes_back": away.bytes[1],
            "send_ns": away.crossing_ns[0],
            "collect_ns": away.crossing_ns[1],
            "work_ns": away.work_ns,
            "workers": site.workers.iter().zip(&away.rates).map(worker).collect::<Vec<_>>(),
            "limit": match away.limit {
                AwayLimit::Front => "front",
                AwayLimit::Workers => "workers",
                AwayLimit::Links => "links",
            },
        })
    });
    json!({ "pays": plan.pays().is_some(), "here": plan.here, "away": away })
}

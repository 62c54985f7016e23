//! `bief run`: a chain that a file describes, and the kinds of tasks that it can be made of.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use bief::chain::BuiltChain;
use bief::kinds::{Kind, KindSocket, Parameter};
use bief::pipeline::{Status as RunStatus, Waiting, Watch};
use bief::raw::{Direction, DynWire};
use bief::{ChainFile, Machine, Pipeline, Planned, Registry};
use clap::Args;
use indicatif::ProgressBar;
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::files::Files;
use crate::interrupt::{at_interrupt, ended_by_signal};
use crate::job::JobArgs;
use crate::json::{JsonArgs, print};
use crate::page::{self, PageArgs};
use crate::planning::{OPTIONS, PlanningArgs, against_plan, record};
use crate::progress::{followed, spinner};
use crate::seeing::SeeingArgs;
use crate::status::Status;
use crate::text::{COLUMNS, counted, listed, printable, wrapped};
use crate::workers::{Away, AwayArgs, Decision};

const EXAMPLES: &str = "\
Examples:
  bief run chain.toml                    run it, and show what each stage did
  bief run chain.toml --check            build it only, and show tasks and wires
  bief run chain.toml --batch 16 --one-core
  bief run chain.toml --observe --trace trace.json
  bief run chain.toml --plan             measure the tasks, and plan the stages
  bief run chain.toml --goal fewest-cores,period=1ms --refine 3
  bief run chain.toml --place packed     pin the threads of the stages it marks
  bief run chain.toml --place dynamic    map threads to kinds of cores by demand
  bief run chain.toml --json             the report as JSON
  bief run --kinds                       all kinds of tasks
  bief run --kinds radio.read            one of them, with its parameters

A chain file lists tasks in the order in which they run:

  [[task]]
  name = \"read\"
  kind = \"radio.read\"
  out = [\"iq\"]                  # names of the wires that it makes
  path = \"capture.sigmf-meta\"   # all other keys are parameters of the kind

  [[task]]
  name = \"quantise\"
  kind = \"radio.quantise\"
  stage = \"convert\"             # begins a stage, which has threads of its own
  in = [\"iq\"]                   # wires that it reads or rewrites
  out = [\"bytes\"]

  [[task]]
  name = \"write\"
  kind = \"file.write\"
  stage = \"out\"
  in = [\"bytes\"]
  path = \"capture.ci16\"         # relative to the folder of the file

  [stage.convert]
  threads = 2

To measure and refine a plan, tasks are tried on the front of their input: a
pipe loses nothing, and no output is touched.
Where bytes are read or written, `-` is standard input or output, and
`SCHEME://…` an address for another opener. If a chain writes to standard
output, its report goes to standard error.
Before the first task, `batch = 16` sets the frames per batch, `depth = 8` the
batches that may wait between stages, `waiting = \"passive\"` the same as
--waiting.
Without stages the chain runs on one core.
Files that it writes are NAME.part until they are whole, at the end of a run with
exit status 0.
Ctrl-C, SIGTERM or SIGHUP ends the run in order: everything that the first task
took is delivered, and the exit status is 128 plus the signal's number (130, 143,
129). A second one quits at once.";

/// Arguments of `bief run`.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct RunArgs {
    /// The chain, a TOML file
    #[arg(value_name = "CHAIN.toml", required_unless_present_any = ["kinds", "target"])]
    chain: Option<PathBuf>,
    /// Frames per batch, instead of the file's value
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=65_536))]
    batch: Option<u32>,
    /// Batches that may wait between two stages, instead of the file's value
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=65_536))]
    depth: Option<u32>,
    /// How threads wait for each other: adaptive, passive (sleep at once) or active (never sleep)
    #[arg(long)]
    waiting: Option<Waiting>,
    /// Ignore the stages: run the whole chain on one core
    #[arg(long, conflicts_with_all = ["depth", "waiting"], conflicts_with_all = OPTIONS)]
    one_core: bool,
    /// Measure the tasks and plan the stages, instead of those marked in the file; implied by the planning options
    #[arg(long, conflicts_with_all = ["one_core", "check"])]
    plan: bool,
    #[command(flatten)]
    planning: PlanningArgs,
    /// Only build the chain: show its tasks, stages and wires
    #[arg(long, conflicts_with_all = ["observe", "trace", "dot", "page", "resume", "progress"], conflicts_with_all = OPTIONS)]
    check: bool,
    /// Show all kinds of tasks, or one with its parameters
    #[arg(
        long,
        value_name = "KIND",
        num_args = 0..=1,
        conflicts_with_all = ["chain", "batch", "depth", "waiting", "one_core", "plan", "check", "observe", "trace", "dot", "page", "resume", "progress"],
        conflicts_with_all = OPTIONS
    )]
    kinds: Option<Option<String>>,
    #[command(flatten)]
    page: PageArgs,
    #[command(flatten)]
    seeing: SeeingArgs,
    #[command(flatten)]
    away: AwayArgs,
    #[command(flatten)]
    job: JobArgs,
    #[command(flatten)]
    json: JsonArgs,
}

/// Runs a chain, or shows what chains can be made of.
pub(crate) fn run(args: RunArgs) -> Result<(), Failure> {
    let mut files = Files::default();
    let outcome = run_or_show(args, &mut files);
    files.end(outcome)
}

fn run_or_show(mut args: RunArgs, files: &mut Files) -> Result<(), Failure> {
    let registry = Arc::new(files.registry());
    // Of others, the chain file may name workers.
    let runs = args.kinds.is_none() && !args.check;
    if !runs && args.away.is_given()? {
        no_other_plan(&args)?;
    }
    if let Some(kind) = &args.kinds {
        return show_kinds(kind.as_deref(), &registry, &args.json);
    }
    let path = args.chain.take().or_else(|| args.json.misplaced_input(|_| true)).ok_or_else(|| {
        Failure::usage("no CHAIN.toml: put it before --json, as in bief run chain.toml --json, or behind --json FILE")
    })?;
    let mut file = ChainFile::read(&path).map_err(|error| {
        let failure = Failure::from_error(error);
        if path.exists() { failure } else { failure.with(Status::NoInput) }
    })?;
    if let Some(batch) = args.batch {
        file = file.with_batch(batch as usize);
    }
    if let Some(depth) = args.depth {
        file = file.with_depth(depth as usize);
    }
    if let Some(waiting) = args.waiting {
        file = file.with_waiting(waiting);
    }
    if args.one_core {
        file = file.without_stages();
    }
    if args.check {
        let built = file.build(&registry).map_err(Failure::from_error)?;
        return show_chain(&file, &registry, built, &args.json);
    }

    args.away.follow(&file)?;
    if args.away.is_given()? {
        no_other_plan(&args)?;
    }
    files.read(&path)?;
    files.chain(&file, &registry)?;
    let used = file.files(&registry).map_err(Failure::from_error)?;
    let on_stdout = used.iter().find(|file| file.is_standard() && file.is_written);
    if let Some(task) = on_stdout.filter(|_| args.json.on_stdout()) {
        let (path, task) = (path.display(), &task.task);
        return Err(Failure::usage(format!(
            "{path}: task `{task}` and --json cannot both write to standard output: give --json a file"
        )));
    }
    args.planning.claim(files)?;
    args.away.claim(files)?;
    args.seeing.claim(files)?;
    args.job.claim(files)?;
    args.json.claim(files)?;
    let written: Vec<PathBuf> = used.iter().filter(|file| file.is_written).map(|file| file.path.clone()).collect();
    if args.job.is_done(&args.json, &written)? {
        return Ok(());
    }
    let takes_stdout = on_stdout.is_some();
    run_chain(&args, &path, &file, &registry, takes_stdout, files).map_err(|failure| {
        // What a chain reads is its input, at whichever line that is told.
        let misses = used.iter().any(|file| !file.is_written && !file.is_standard() && !file.path.exists());
        if misses && failure.status == Status::Usage as u8 { failure.with(Status::NoInput) } else { failure }
    })
}

fn run_chain(
    args: &RunArgs,
    path: &Path,
    file: &ChainFile,
    registry: &Arc<Registry>,
    takes_stdout: bool,
    files: &Files,
) -> Result<(), Failure> {
    let page = args.page.bind()?;
    let mut planned = match args.plan || args.planning.is_given() {
        false => None,
        true => Some(args.planning.plan(&args.planning.planner()?, &file.application(registry))?),
    };
    let decision = if args.away.is_given()? { Some(args.away.decide(file, registry)?) } else { None };
    let leaving = match decision {
        Some(Decision::Leave(leaving)) => Some(leaving),
        Some(Decision::Stay(alone)) => {
            planned = Some(*alone);
            None
        }
        None => None,
    };
    let (pipeline, away) = match leaving {
        Some(leaving) => args.away.pipeline(*leaving, file, registry).map(|(pipeline, away)| (pipeline, Some(away)))?,
        None => (pipeline(args, path, file, registry, planned.as_ref())?, None),
    };
    let mut pipeline = args.seeing.prepare(pipeline)?;
    let (stopper, ending) = (pipeline.stopper(), away.as_ref().map(Away::ending));
    let interrupted = at_interrupt(move || {
        stopper.stop();
        ending.iter().for_each(|ending| ending());
    })?;
    let bar = spinner(path.display().to_string());
    // A pipeline that nobody watches does not stop to show itself.
    let lines = args.job.lines(None)?;
    let mut watch = (!bar.is_hidden() || lines.is_some()).then(|| pipeline.watch());
    let look = || watch.as_mut().map(Watch::status);
    let show = |bar: &ProgressBar, status: &Option<RunStatus>| {
        status.iter().for_each(|status| bar.set_message(status.to_string()));
    };
    let adapts = planned.as_ref().filter(|_| args.planning.adapts(&pipeline, false));
    let shown_page =
        page::show(page, format!("run {}", printable(&path.display().to_string())), &mut pipeline, adapts)?;
    let run = || match &planned {
        Some(planned) => args.planning.run(planned, &mut pipeline, false),
        None => pipeline.run(),
    };
    let outcome = followed(&bar, lines, look, show, run);
    let interrupted = interrupted.load(Ordering::Relaxed) | page::close(shown_page);
    args.seeing.write(&pipeline)?;
    let report = match outcome {
        Ok(report) => report,
        Err(error) => {
            // What its tasks hold is written when they go.
            drop(pipeline);
            return Err(Failure::of_run(&error, format!("{}: {error}", path.display())));
        }
    };
    let saved = match &planned {
        Some(planned) => args.planning.save(planned, &pipeline, Some(&report)),
        None => args.planning.placing().save(&pipeline),
    };
    let to_machine = || {
        let mut own = json!({ "chain": path, "interrupted": interrupted });
        if let Some(away) = &away {
            own["workers"] = away.document();
        }
        record(own, planned.as_ref(), Some(&report))
    };
    let to_person = || {
        let plan = against_plan(planned.as_ref(), &report, false);
        let parts = [away.as_ref().map_or_else(String::new, Away::table), plan];
        let behind: String = parts.iter().filter(|part| !part.is_empty()).map(|part| format!("\n\n{part}")).collect();
        let shown = args.seeing.shown(&report);
        format!("{}, {:.3} s\n\n{shown}{behind}", frames(report.frames), report.seconds)
    };
    args.json.deliver(files, to_machine, to_person, takes_stdout)?;
    saved?;
    if interrupted {
        let message = format!("{}: interrupted; what was taken before is delivered", path.display());
        return Err(ended_by_signal(message));
    }
    Ok(())
}

/// The pipeline of a run on this machine alone: as planned, or as the file says.
fn pipeline(
    args: &RunArgs,
    path: &Path,
    file: &ChainFile,
    registry: &Registry,
    planned: Option<&Planned>,
) -> Result<Pipeline, Failure> {
    if let Some(planned) = planned {
        return args.planning.pipeline(planned, &mut file.application(registry));
    }
    let placing = args.planning.placing();
    if !placing.is_given() {
        return file.pipeline(registry).map_err(Failure::from_error);
    }
    if file.stages().next().is_none() {
        let path = path.display();
        return Err(Failure::usage(format!(
            "{path}: it names no stages, and runs on one core, where no thread is placed: give --plan"
        )));
    }
    placing.place(file.pipeline(registry).map_err(Failure::from_error)?, &Machine::here())
}

/// Refuses options of a run on this machine alone, where tasks are to leave.
fn no_other_plan(args: &RunArgs) -> Result<(), Failure> {
    let planned = args.plan || args.planning.is_given() || args.planning.placing().is_given();
    if planned || args.one_core || args.check || args.kinds.is_some() {
        return Err(Failure::usage(
            "with workers, what stays here runs on two threads: leave out --check, --kinds, --one-core, --plan and all options that \
             plan or place",
        ));
    }
    Ok(())
}

fn frames(count: u64) -> String {
    counted(usize::try_from(count).unwrap_or(usize::MAX), "frame")
}

fn show_kinds(kind: Option<&str>, registry: &Registry, json: &JsonArgs) -> Result<(), Failure> {
    let shown = match kind {
        Some(name) => {
            let kind = registry.kind(name).map_err(Failure::from_error)?;
            json.write(|| format!("{:#}", described(kind)))?;
            one_kind(kind)
        }
        None => {
            json.write(|| format!("{:#}", Value::from(registry.kinds().map(described).collect::<Vec<_>>())))?;
            let width = registry.kinds().map(|kind| kind.name().len()).max().unwrap_or(0);
            let lines: Vec<String> = registry.kinds().map(|kind| entry(kind.name(), width, kind.summary())).collect();
            lines.join("\n")
        }
    };
    if json.on_stdout() { Ok(()) } else { print(&shown) }
}

/// A name and its meaning, in as many lines as it takes, those behind the first indented.
fn entry(name: &str, width: usize, meaning: &str) -> String {
    let room = COLUMNS.saturating_sub(width + 2).max(COLUMNS / 2);
    format!("{name:<width$}  {}", wrapped(meaning, room).join(&format!("\n{}", " ".repeat(width + 2))))
}

fn one_kind(kind: &Kind) -> String {
    let mut lines = vec![entry(kind.name(), kind.name().len(), kind.summary()), String::new()];
    for socket in kind.inputs().iter().chain(kind.outputs()) {
        lines.extend(wrapped(&socket.to_string(), COLUMNS - 2).iter().map(|line| format!("  {line}")));
    }
    if !kind.parameters().is_empty() {
        lines.push(String::new());
    }
    let width = kind.parameters().iter().map(|parameter| parameter.name().len() + 2).max().unwrap_or(0);
    for parameter in kind.parameters() {
        let given = match parameter.default() {
            Some(default) => format!("[{default}]"),
            None if parameter.is_required() => "[required]".to_owned(),
            None => "[optional]".to_owned(),
        };
        let meaning = format!("{} ({}) {given}", parameter.meaning(), parameter.form());
        lines.push(entry(&format!("  {}", parameter.name()), width, &meaning));
    }
    lines.join("\n")
}

fn described(kind: &Kind) -> Value {
    let sockets = |sockets: &[KindSocket]| sockets.iter().map(ToString::to_string).collect::<Vec<_>>();
    json!({
        "kind": kind.name(),
        "summary": kind.summary(),
        "inputs": sockets(kind.inputs()),
        "outputs": sockets(kind.outputs()),
        "parameters": kind.parameters().iter().map(parameter).collect::<Vec<_>>(),
    })
}

fn parameter(parameter: &Parameter) -> Value {
    let choices = Some(parameter.choices()).filter(|choices| !choices.is_empty());
    json!({
        "name": parameter.name(),
        "meaning": parameter.meaning(),
        "type": parameter.type_name(),
        "unit": parameter.unit(),
        "range": parameter.range(),
        "choices": choices,
        "required": parameter.is_required(),
        "default": parameter.default().map(as_json),
    })
}

fn as_json(value: &bief::kinds::Value) -> Value {
    match value {
        bief::kinds::Value::Bool(value) => (*value).into(),
        bief::kinds::Value::Integer(value) => (*value).into(),
        bief::kinds::Value::Float(value) => (*value).into(),
        bief::kinds::Value::Text(text) => text.as_str().into(),
        bief::kinds::Value::List(values) => values.iter().map(as_json).collect::<Vec<_>>().into(),
    }
}

/// A wire in words: `iq (4096 x Complex<f32>)`.
fn wire(name: &str, wires: &BTreeMap<String, DynWire>) -> String {
    match wires.get(name) {
        Some(wire) => {
            let most = if wire.is_variable() { "up to " } else { "" };
            format!("{name} ({most}{} x {})", wire.len(), wire.element())
        }
        None => name.to_owned(),
    }
}

/// A task of the chain that a task of the file became, and whether it may be replicated.
type Part = (String, bool);

fn show_chain(file: &ChainFile, registry: &Registry, built: BuiltChain, json: &JsonArgs) -> Result<(), Failure> {
    let BuiltChain { chain, wires, pieces } = built;
    let program = chain.build().map_err(Failure::from_error)?;
    let made: Vec<Part> = program.tasks().map(|(name, replicable)| (name.to_owned(), replicable)).collect();
    let tasks: Vec<_> = file.tasks().zip(pieces.iter().map(|piece| &made[piece.clone()])).collect();
    json.write(|| {
        let tasks: Vec<Value> = tasks
            .iter()
            .map(|(task, parts)| {
                let names: Vec<&str> = parts.iter().map(|(name, _)| &**name).collect();
                json!({
                    "name": task.name(),
                    "kind": task.kind(),
                    "stage": task.stage(),
                    "tasks": names,
                    "replicable": parts.iter().all(|(_, replicable)| *replicable),
                    "inputs": task.inputs().collect::<Vec<_>>(),
                    "outputs": task.outputs().collect::<Vec<_>>(),
                })
            })
            .collect();
        let stages: Vec<Value> =
            file.stages().map(|(name, threads)| json!({ "name": name, "threads": threads })).collect();
        let wires: Vec<Value> = wires
            .iter()
            .map(|(name, wire)| {
                json!({
                    "name": name,
                    "element": wire.element(),
                    "length": wire.len(),
                    "variable": wire.is_variable(),
                })
            })
            .collect();
        format!("{:#}", json!({ "tasks": tasks, "stages": stages, "wires": wires }))
    })?;
    if json.on_stdout() {
        return Ok(());
    }
    let remembers = |replicable: bool| if replicable { "" } else { ", remembers from frame to frame" };
    let mut lines = Vec::new();
    let mut shown = None;
    for (task, parts) in tasks {
        if shown != Some(task.stage()) {
            shown = Some(task.stage());
            lines.push(match file.stages().find(|&(name, _)| Some(name) == task.stage()) {
                Some((name, threads)) => format!("stage {name}, {}", counted(threads, "thread")),
                None if file.stages().next().is_some() => "first stage, 1 thread".to_owned(),
                None => "one core".to_owned(),
            });
        }
        match parts {
            [(_, replicable)] => {
                lines.push(format!("  {} ({}{})", task.name(), task.kind(), remembers(*replicable)));
            }
            parts => {
                lines.push(format!("  {} ({}), {}:", task.name(), task.kind(), counted(parts.len(), "task")));
                lines.extend(
                    parts.iter().map(|(name, replicable)| format!("    task {name}{}", remembers(*replicable))),
                );
            }
        }
        let directions = registry.kind(task.kind()).map_err(Failure::from_error)?.inputs();
        let used = |direction| {
            let inputs = task.inputs().zip(directions);
            inputs.filter(|(_, socket)| socket.direction() == direction).map(|(name, _)| name.to_owned()).collect()
        };
        let made = task.outputs().map(|name| wire(name, &wires)).collect();
        let parts: [(&str, Vec<String>); 3] =
            [("reads", used(Direction::In)), ("rewrites", used(Direction::InOut)), ("makes", made)];
        for (does, names) in parts.iter().filter(|(_, names)| !names.is_empty()) {
            let text = wrapped(&format!("{does} {}", listed(names)), COLUMNS - 4);
            lines.extend(text.iter().map(|line| format!("    {line}")));
        }
    }
    print(&lines.join("\n"))
}

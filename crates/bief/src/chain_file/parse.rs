//! From keys to tasks, wires and stages: what a chain file says, before any kind of task is known.

use std::collections::HashMap;

use bief_machine::Result;
use bief_machine::toml_file::{At, Span, Table, Text, integer};
use toml::de::DeValue;

use super::machines::{self, Machines};
use crate::parameters::Value;
use crate::suggest::suggestion;
use crate::wait::Waiting;

/// What a chain file can ask for at most: far more than makes sense, far less than brings a machine down.
const MOST_FRAMES_IN_BATCH: usize = 65_536;
const MOST_DEPTH: usize = 65_536;
const MOST_THREADS: usize = 1024;

/// What a parameter can be.
const PARAMETER: &str =
    "a parameter is text in quotes, true or false, a number (a whole one of 64 bits), or a list of these";

/// What a wire is called that nobody reads.
pub(super) const NOBODY: &str = "_";

/// What a file describes.
#[derive(Debug, Clone)]
pub(super) struct Description {
    pub(super) batch: Option<usize>,
    pub(super) depth: Option<At<usize>>,
    pub(super) waiting: Option<At<Waiting>>,
    pub(super) tasks: Vec<TaskEntry>,
    pub(super) stages: Vec<StageEntry>,
}

/// A task of the file.
#[derive(Debug, Clone)]
pub(super) struct TaskEntry {
    pub(super) name: At<String>,
    pub(super) kind: At<String>,
    pub(super) inputs: Vec<At<String>>,
    pub(super) inputs_span: Option<Span>,
    pub(super) outputs: Vec<At<String>>,
    pub(super) outputs_span: Option<Span>,
    pub(super) parameters: Vec<(At<String>, At<Value>)>,
}

/// A stage that a task names: from that task to the next one that names another.
#[derive(Debug, Clone)]
pub(super) struct StageEntry {
    pub(super) name: String,
    /// Where its threads are told, or else where a task names it.
    pub(super) span: Span,
    pub(super) first_task: usize,
    pub(super) threads: usize,
    /// Other machines that its tasks may leave for.
    pub(super) machines: Option<Machines>,
}

/// Reads a chain file.
pub(super) fn parse(text: &Text) -> Result<Description> {
    let mut file = Table::whole(text, "a chain file")?;
    let batch = file.integer("batch", MOST_FRAMES_IN_BATCH)?.map(|batch| batch.value);
    let depth = file.integer("depth", MOST_DEPTH)?;
    let waiting = file.text("waiting")?.map(|At { value, span }| match value.parse::<Waiting>() {
        Ok(value) => Ok(At { value, span }),
        Err(error) => Err(text.error(&span, &error.to_string())),
    });
    let waiting = waiting.transpose()?;
    let (tables, settings) = (file.tables("task", "a task")?, file.named_tables("stage", "a stage")?);
    let machines = machines::read(text, file.named_tables("machines", "machines")?)?;
    file.nothing_else(&["batch", "depth", "waiting", "task", "stage", "machines"])?;
    if tables.is_empty() {
        return Err(text.error(&(0..0), "there is no task: begin each with [[task]]"));
    }
    let (mut tasks, mut named) = (Vec::new(), Vec::new());
    for mut table in tables {
        let (name, kind) = (table.needed_name("name")?, table.needed_name("kind")?);
        let (inputs, inputs_span) = table.names("in")?;
        let (outputs, outputs_span) = table.names("out")?;
        named.extend(table.name("stage")?.map(|stage| (tasks.len(), stage)));
        let parameters = table.rest(PARAMETER, parameter)?;
        tasks.push(TaskEntry { name, kind, inputs, inputs_span, outputs, outputs_span, parameters });
    }
    check_names(text, &tasks)?;
    check_wires(text, &tasks)?;
    let stages = stages(text, &tasks, named, (settings, &machines))?;
    Ok(Description { batch, depth, waiting, tasks, stages })
}

/// The value of a parameter; `None` for what is none: a table, a date, an integer of more than 64 bits.
fn parameter(value: &DeValue<'_>) -> Option<Value> {
    Some(match value {
        DeValue::Boolean(value) => Value::Bool(*value),
        DeValue::Integer(_) => Value::Integer(integer(value)?),
        DeValue::Float(number) => Value::Float(number.as_str().parse().ok()?),
        DeValue::String(text) => Value::Text(text.clone().into()),
        DeValue::Array(list) => {
            Value::List(list.iter().map(|value| parameter(value.get_ref())).collect::<Option<_>>()?)
        }
        DeValue::Datetime(_) | DeValue::Table(_) => return None,
    })
}

fn check_names(text: &Text, tasks: &[TaskEntry]) -> Result<()> {
    let mut names: HashMap<&str, &Span> = HashMap::new();
    for task in tasks {
        if let Some(other) = names.insert(&task.name.value, &task.name.span) {
            let message =
                format!("two tasks are named `{}`: line {} has the other", task.name.value, text.line(other.start));
            return Err(text.error(&task.name.span, &message));
        }
    }
    Ok(())
}

/// Each wire is made once, before it is used.
fn check_wires(text: &Text, tasks: &[TaskEntry]) -> Result<()> {
    let mut makers: HashMap<&str, (usize, &Span)> = HashMap::new();
    for (index, task) in tasks.iter().enumerate() {
        for wire in task.outputs.iter().filter(|wire| wire.value != NOBODY) {
            if let Some((maker, span)) = makers.insert(&wire.value, (index, &wire.span)) {
                let message = format!(
                    "wire `{}` is made twice: by task `{}` (line {}) and by task `{}`",
                    wire.value,
                    tasks[maker].name.value,
                    text.line(span.start),
                    task.name.value
                );
                return Err(text.error(&wire.span, &message));
            }
        }
    }
    for (index, task) in tasks.iter().enumerate() {
        for wire in &task.inputs {
            let name = &wire.value;
            let reason = match makers.get(&**name) {
                Some(&(maker, _)) if maker < index => continue,
                Some(&(maker, _)) if maker == index => {
                    "is made by this task itself: what it rewrites in place is listed in `in` alone".to_owned()
                }
                Some(&(maker, span)) => format!(
                    "is made later, by task `{}` (line {}): tasks run in the order of the file, so put that one before",
                    tasks[maker].name.value,
                    text.line(span.start)
                ),
                None => {
                    let before = tasks[..index].iter().flat_map(|task| &task.outputs).map(|wire| &*wire.value);
                    format!("is made by no task{}", suggestion(name, before.filter(|&wire| wire != NOBODY)))
                }
            };
            return Err(text.error(&wire.span, &format!("task `{}`: wire `{name}` {reason}", task.name.value)));
        }
    }
    Ok(())
}

/// Tables by their names.
type Named<'t> = Vec<(At<String>, Table<'t>)>;

/// The stages that tasks name, each a run of tasks.
fn stages(
    text: &Text,
    tasks: &[TaskEntry],
    named: Vec<(usize, At<String>)>,
    (settings, machines): (Named<'_>, &[At<Machines>]),
) -> Result<Vec<StageEntry>> {
    let mut stages: Vec<StageEntry> = Vec::new();
    for (first_task, At { value: name, span }) in named {
        if stages.last().is_some_and(|stage| stage.name == name) {
            continue;
        }
        if let Some(before) = stages.iter().position(|stage| stage.name == name) {
            let between = &stages[before + 1];
            let message = format!(
                "stage `{name}` holds task `{}` and cannot go on with task `{}`: task `{}` between them begins stage `{}`; a \
                 stage is a run of tasks",
                tasks[stages[before].first_task].name.value,
                tasks[first_task].name.value,
                tasks[between.first_task].name.value,
                between.name
            );
            return Err(text.error(&span, &message));
        }
        stages.push(StageEntry { name, span, first_task, threads: 1, machines: None });
    }
    for (name, mut table) in settings {
        let At { value: name, span } = name;
        let Some(stage) = stages.iter().position(|stage| stage.name == name) else {
            let names = stages.iter().map(|stage| &*stage.name);
            let message = format!("no task names stage `{name}`{}", suggestion(&name, names));
            return Err(text.error(&span, &message));
        };
        if let Some(threads) = table.integer("threads", MOST_THREADS)? {
            (stages[stage].threads, stages[stage].span) = (threads.value, threads.span);
        }
        if let Some(wanted) = table.name("machines")? {
            if let Some(other) = stages.iter().find(|stage| stage.machines.is_some()) {
                let message =
                    format!("the tasks of stage `{}` leave already: one stage may have `machines`", other.name);
                return Err(text.error(&wanted.span, &message));
            }
            stages[stage].machines = Some(machines::named(text, machines, &wanted)?.clone());
        }
        table.nothing_else(&["threads", "machines"])?;
    }
    let is_used =
        |machines: &&At<Machines>| stages.iter().any(|stage| stage.machines.as_ref() == Some(&machines.value));
    if let Some(unused) = machines.iter().find(|machines| !is_used(machines)) {
        let name = &unused.value.name;
        let message =
            format!("no stage is for them: write machines = \"{name}\" into a [stage.NAME], or leave them out");
        return Err(text.error(&unused.span, &message));
    }
    let all: usize = stages.iter().map(|stage| stage.threads).sum();
    if let Some(widest) = stages.iter().max_by_key(|stage| stage.threads).filter(|_| all > MOST_THREADS) {
        let message = format!("the stages have {all} threads in all: give them at most {MOST_THREADS}");
        return Err(text.error(&widest.span, &message));
    }
    Ok(stages)
}

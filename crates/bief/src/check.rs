//! Everything that can be refused before a thread starts, with the reason.

use std::ops::Range;
use std::sync::Arc;

use crate::error::{Error, Place, Result};
use crate::stage::{Mark, StagePlan};
use crate::task::Node;
use crate::wire::Joint;

/// What `Chain::build` refuses once every task is in its place.
pub(crate) fn chain(tasks: &[Node], wires: &[Joint], batch: usize, marks: &[Mark]) -> Result<()> {
    if tasks.is_empty() {
        return Err(Error::build("the chain has no tasks: add a source first"));
    }
    self::batch(batch, wires, |task| Arc::clone(&tasks[task].name))?;
    for pair in marks.windows(2) {
        if pair[0].first_task == pair[1].first_task {
            return Err(empty_stage(&pair[0].name));
        }
    }
    match marks.last() {
        Some(mark) if mark.first_task == tasks.len() => Err(empty_stage(&mark.name)),
        _ => Ok(()),
    }
}

/// What a batch of no frames, or of more than memory can hold, is refused with; `name` tells what a task is called.
pub(crate) fn batch(batch: usize, wires: &[Joint], name: impl Fn(usize) -> Arc<str>) -> Result<()> {
    if batch == 0 {
        return Err(Error::build("a batch of 0 frames never moves: give a batch of at least 1"));
    }
    match wires.iter().find(|wire| wire.constant.is_none() && !wire.format.fits(wire.len, batch)) {
        Some(wire) => Err(Error::build(format!(
            "it makes frames of {} x {}, {batch} in a batch: that is more than memory can hold",
            wire.len,
            wire.format.element()
        ))
        .at(Place { task: Some(name(wire.maker)), ..Place::default() })),
        None => Ok(()),
    }
}

fn empty_stage(name: &str) -> Error {
    Error::build(format!("stage `{name}` has no tasks: mark a stage before the first task that it contains"))
}

/// What a pipeline refuses: stages that do not cover the tasks, or replicas of tasks that remember.
pub(crate) fn stages(stages: &[StagePlan], tasks: &[Node]) -> Result<()> {
    let covered: usize = stages.iter().map(|stage| stage.tasks.len()).sum();
    if covered != tasks.len() {
        return Err(Error::build(format!(
            "the schedule is for {covered} tasks, but this chain has {}: make the schedule from this chain's profile",
            tasks.len()
        )));
    }
    stages.iter().try_for_each(|stage| replicable(&stage.name, stage.tasks.clone(), stage.threads, tasks))
}

pub(crate) fn replicable(stage: &str, range: Range<usize>, threads: usize, tasks: &[Node]) -> Result<()> {
    if threads == 0 {
        return Err(Error::build(format!("stage `{stage}` has no threads: give it at least 1")));
    }
    if range.is_empty() {
        return Err(empty_stage(stage));
    }
    match tasks[range].iter().find(|task| threads > 1 && task.step.replica().is_none()) {
        Some(task) => Err(Error::build(format!(
            "stage `{stage}` cannot have {threads} threads: task `{}` remembers from frame to frame (its `replica` is \
             None); give the stage 1 thread or put that task in a stage of its own",
            task.name
        ))),
        None => Ok(()),
    }
}

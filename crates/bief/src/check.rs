//! Everything that can be refused before a thread starts, with the reason.

use std::ops::Range;
use std::sync::Arc;

use bief_schedule::Profile;

use crate::boundary::{Contents, Ends, crossing};
use crate::error::{Error, Place, Result, counted};
use crate::frame::can_allocate;
use crate::memory::Memory;
use crate::stage::{Mark, StagePlan};
use crate::task::Node;
use crate::wire::WireInfo;
use crate::worker::Worker;

/// What `Chain::build` refuses once every task is in its place.
pub(crate) fn chain(tasks: &[Node], wires: &[WireInfo], batch: usize, marks: &[Mark]) -> Result<()> {
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
pub(crate) fn batch(batch: usize, wires: &[WireInfo], name: impl Fn(usize) -> Arc<str>) -> Result<()> {
    if batch == 0 {
        return Err(Error::build("a batch of 0 frames never moves: give a batch of at least 1"));
    }
    let too_long = |wire: &&WireInfo| wire.constant.is_none() && !can_allocate(wire.format.bytes(wire.len, batch));
    match wires.iter().find(too_long) {
        Some(wire) => Err(Error::build(format!(
            "it makes frames of {} x {}, {batch} in a batch: that is more than memory can hold",
            wire.len,
            wire.format.element()
        ))
        .at(Place { task: Some(name(wire.maker)), ..Place::default() })),
        None => Ok(()),
    }
}

/// What is refused because memory cannot hold it: the replicas of the stages, each with buffers for a batch, and between
/// them rings of this depth, if they lie in plain memory: others tell by themselves what they cannot hold.
pub(crate) fn memory(
    stages: &[StagePlan],
    wires: &[WireInfo],
    (batch, depth): (usize, Option<usize>),
    memories: &[Option<Arc<dyn Memory>>],
) -> Result<()> {
    let bytes = |is_here: &dyn Fn(&WireInfo) -> bool| {
        let here = wires.iter().filter(|wire| wire.constant.is_none() && is_here(wire));
        here.map(|wire| wire.format.bytes(wire.len, batch)).sum::<f64>() + batch as f64
    };
    let replicas = stages.iter().map(|stage| {
        let local = |wire: &WireInfo| stage.tasks.contains(&wire.maker) && stage.tasks.contains(&wire.last_user);
        stage.threads as f64 * (stage.gather as f64 * bytes(&local) + size_of::<Worker>() as f64)
    });
    let replicas = replicas.sum::<f64>();
    if !can_allocate(replicas) {
        return Err(Error::build(format!(
            "batches of {batch} frame(s) on {} threads are more than memory can hold: give a smaller batch or fewer threads",
            stages.iter().map(|stage| stage.threads as u128).sum::<u128>()
        )));
    }
    let plain = stages.windows(2).enumerate().filter(|(index, _)| !matches!(memories.get(*index), Some(Some(_))));
    let rings = plain.map(|(_, pair)| {
        let contents = Contents::new(&crossing(wires, pair[0].tasks.end), wires, batch);
        let slots = Ends::of(&pair[0], &pair[1], depth).slots(&contents);
        let held = |stage: &StagePlan| stage.threads as f64 * stage.gather as f64;
        (slots, (slots as f64 + held(&pair[0]) + held(&pair[1])) * contents.bytes())
    });
    let (slots, rings) = rings.fold((0, 0.0), |(most, all), (slots, bytes)| (most.max(slots), all + bytes));
    if !can_allocate(replicas + rings) {
        return Err(Error::build(format!(
            "rings that hold up to {slots} batches of {batch} frame(s) are more than memory can hold: give a smaller batch or depth"
        )));
    }
    Ok(())
}

fn empty_stage(name: &str) -> Error {
    Error::build(format!("stage `{name}` has no tasks: mark a stage before the first task that it contains"))
}

/// What a profile of another chain is refused with. `tasks` are this chain's: the name of each, and whether it may be replicated;
/// a profile may well keep one from being replicated.
pub(crate) fn profile<'a>(profile: &Profile, tasks: impl ExactSizeIterator<Item = (&'a str, bool)>) -> Result<()> {
    let (here, there) = (tasks.len(), profile.tasks().len());
    if here != there {
        return Err(Error::build(format!(
            "the profile has {}, but this chain has {here}: profile this chain",
            counted(there, "task")
        )));
    }
    for (index, ((name, replicable), other)) in tasks.zip(profile.tasks()).enumerate() {
        let number = index + 1;
        if name != other.name {
            let other = &other.name;
            return Err(Error::build(format!(
                "task {number} of the profile is `{other}`, of this chain it is `{name}`: profile this chain"
            )));
        }
        if other.replicable && !replicable {
            return Err(Error::build(format!(
                "task {number} of the profile, `{name}`, may be replicated there, but not in this chain: profile this chain"
            )));
        }
    }
    Ok(())
}

/// What a pipeline refuses: stages that do not cover the tasks, or replicas of tasks that remember.
pub(crate) fn stages(stages: &[StagePlan], tasks: &[(Arc<str>, bool)]) -> Result<()> {
    let covered: usize = stages.iter().map(|stage| stage.tasks.len()).sum();
    if covered != tasks.len() {
        return Err(Error::build(format!(
            "the stages have {covered} tasks, but this chain has {}: make the schedule from this chain's profile, or count again",
            tasks.len()
        )));
    }
    stages.iter().try_for_each(|stage| replicable(&stage.name, stage.tasks.clone(), stage.threads, tasks))
}

/// What a stage of some of the `tasks` refuses: each has a name, and may be replicated or not.
pub(crate) fn replicable(stage: &str, range: Range<usize>, threads: usize, tasks: &[(Arc<str>, bool)]) -> Result<()> {
    if threads == 0 {
        return Err(Error::build(format!("stage `{stage}` has no threads: give it at least 1")));
    }
    if range.is_empty() {
        return Err(empty_stage(stage));
    }
    match tasks[range].iter().find(|(_, is_replicable)| threads > 1 && !is_replicable) {
        Some((task, _)) => Err(Error::build(format!(
            "stage `{stage}` cannot have {threads} threads: task `{task}` remembers from frame to frame (its `replica` is \
             None); give the stage 1 thread or put that task in a stage of its own"
        ))),
        None => Ok(()),
    }
}

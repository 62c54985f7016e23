//! The JSON document of a profile, and what is refused in one.

use std::collections::HashSet;

use serde::{Deserialize, Serialize};

use super::busy::check_busy;
use super::{Busy, Cuts, Gather, Profile, TaskProfile};
use crate::error::{Error, ErrorKind};
use crate::json::{self, Document, Format, Object};

const DOCUMENT: Document = Document {
    name: "profile",
    shape: r#"{"format": 1, "kinds": ["big", "little"], "frames_per_execution": 16, "tasks": [{"name": "receive", "replicable": false, "ns": [216300, 227100]}]}, its times in whole nanoseconds; "bits_per_frame", "machine", "sync_ns", "switch_ns", "busy", "lanes", "overlap", "gather" and, in a task, "gathered_ns", "enter_ns", "leave_ns", "bytes" and "seen" may be left out; a time is null for a kind of core on which the task cannot run"#,
};

/// What a list of times has for each kind of core.
const NANOSECONDS: &str = "integer of nanoseconds";

/// What a task's list of times has for each kind of core.
const NANOSECONDS_OR_NULL: &str = "integer of nanoseconds, or null";

/// The keys of the JSON document.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ProfileJson {
    pub(super) format: Format,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) machine: Option<String>,
    pub(super) kinds: Vec<String>,
    pub(super) frames_per_execution: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) bits_per_frame: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) sync_ns: Option<Vec<u64>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) switch_ns: Option<Vec<u64>>,
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "json::some_optional_objects")]
    pub(super) busy: Option<Vec<Option<Busy>>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) lanes: Option<Vec<Option<u32>>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) overlap: Option<Vec<bool>>,
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "json::some_optional_objects")]
    pub(super) gather: Option<Vec<Option<Gather>>>,
    #[serde(deserialize_with = "json::objects")]
    pub(super) tasks: Vec<TaskProfile>,
}

impl Profile {
    /// Reads the JSON document described at [`Profile`].
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Json`] with line and column where the text is not such a document;
    /// [`ErrorKind::Profile`] with the key where its contents are refused.
    pub fn from_json(text: &str) -> Result<Self, Error> {
        Self::checked(json::read(text, &DOCUMENT)?)
    }

    /// Writes the JSON document described at [`Profile`], one task per line.
    pub fn to_json(&self) -> String {
        json::write(self)
    }

    pub(super) fn checked(json: ProfileJson) -> Result<Self, Error> {
        check_kinds(&json.kinds)?;
        if json.tasks.is_empty() {
            return Err(refused("tasks", "there is none: a chain has at least one task"));
        }
        if json.tasks.len() > Self::MAX_TASKS {
            let reason = format!(
                "{} tasks, at most {} are planned: profile neighbouring tasks together, as one",
                json.tasks.len(),
                Self::MAX_TASKS
            );
            return Err(refused("tasks", reason));
        }
        if json.frames_per_execution == 0 {
            return Err(refused(
                "frames_per_execution",
                "0 frames: write how many frames one execution of the chain handles, at least 1",
            ));
        }
        if json.bits_per_frame == Some(0) {
            return Err(refused("bits_per_frame", "0 bits: leave the key out for a chain that carries no bits"));
        }
        if let Some(sync_ns) = &json.sync_ns {
            check_per_kind("sync_ns", sync_ns, NANOSECONDS, &json.kinds)?;
        }
        if let Some(switch_ns) = &json.switch_ns {
            check_per_kind("switch_ns", switch_ns, NANOSECONDS, &json.kinds)?;
        }
        if let Some(lanes) = &json.lanes {
            check_per_kind("lanes", lanes, "number of lanes, or null for cores,", &json.kinds)?;
            let wrong = lanes.iter().flatten().find(|lanes| !(1..=Self::MAX_LANES).contains(lanes));
            if let Some(wrong) = wrong {
                let most = Self::MAX_LANES;
                let reason = format!("{wrong} lanes: a device has from 1 to {most}, a kind of cores has null");
                return Err(refused("lanes", reason));
            }
        }
        if let Some(overlap) = &json.overlap {
            check_per_kind("overlap", overlap, "true or false", &json.kinds)?;
            let has_lanes = |kind: usize| json.lanes.as_ref().is_some_and(|lanes| lanes[kind].is_some());
            if let Some(kind) = (0..json.kinds.len()).find(|&kind| overlap[kind] && !has_lanes(kind)) {
                let reason =
                    format!("true for `{}`, which has no lanes: only those of a device overlap", json.kinds[kind]);
                return Err(refused("overlap", reason));
            }
        }
        if let Some(gather) = &json.gather {
            check_per_kind("gather", gather, "object, or null for cores,", &json.kinds)?;
            let most = Self::MAX_GATHER;
            if let Some(wrong) = gather.iter().flatten().find(|gather| !(1..=most).contains(&gather.most)) {
                let reason = format!("{} executions a launch: write from 1 to {most}", wrong.most);
                return Err(refused("gather", reason));
            }
            if let Some(wrong) = gather.iter().flatten().find(|gather| !(1..=gather.most).contains(&gather.measured)) {
                let reason = format!(
                    "measured by launches of {} executions: write from 1 to most, {}",
                    wrong.measured, wrong.most
                );
                return Err(refused("gather", reason));
            }
        }
        for (index, task) in json.tasks.iter().enumerate() {
            let key = |member: &str| format!("tasks[{index}].{member}");
            if task.name.is_empty() {
                return Err(refused(&key("name"), "the name is empty: name the task"));
            }
            let named = |member: &str| format!("{} (`{}`)", key(member), task.name);
            check_per_kind(&named("ns"), &task.ns, NANOSECONDS_OR_NULL, &json.kinds)?;
            if task.ns.iter().all(Option::is_none) {
                let reason = format!(
                    "it can run on no kind of core: write its time on at least one of {}",
                    json.kinds.join(", ")
                );
                return Err(refused(&named("ns"), reason));
            }
            for (member, cut_ns) in [("enter_ns", &task.enter_ns), ("leave_ns", &task.leave_ns)] {
                cut_ns.as_ref().map_or(Ok(()), |ns| check_per_kind(&named(member), ns, NANOSECONDS, &json.kinds))?;
            }
            if let Some(gathered_ns) = &task.gathered_ns {
                check_per_kind(&named("gathered_ns"), gathered_ns, NANOSECONDS_OR_NULL, &json.kinds)?;
                let is_measured = |kind: usize| {
                    let gather = json.gather.as_ref().and_then(|gather| gather[kind]);
                    task.ns[kind].is_some() && gather.is_some_and(|gather| gather.measured > 1)
                };
                if let Some(kind) =
                    (0..json.kinds.len()).find(|&kind| gathered_ns[kind].is_some() && !is_measured(kind))
                {
                    let reason = format!(
                        "the time of a launch of several executions on `{}`, where the task cannot run or `gather` tells of none: write \
                         null",
                        json.kinds[kind]
                    );
                    return Err(refused(&named("gathered_ns"), reason));
                }
            }
            if let Some(seen) = &task.seen {
                check_per_kind(&named("seen"), seen, "object, or null", &json.kinds)?;
                let differs = |kind: &usize| seen[*kind].is_none() != task.ns[*kind].is_none();
                if let Some(kind) = (0..json.kinds.len()).find(differs) {
                    let reason =
                        format!("on `{}` one of ns and seen is null: write both, or null for both", json.kinds[kind]);
                    return Err(refused(&named("seen"), reason));
                }
            }
        }
        if let Some(busy) = &json.busy {
            check_busy(&json, busy)?;
        }
        let cuts: Vec<Cuts> = (0..json.kinds.len()).map(|kind| Cuts::of(&json.tasks, kind)).collect();
        let cuts = cuts.iter().any(Cuts::cost).then_some(cuts);
        let prefix_ns = (0..json.kinds.len()).map(|kind| prefix_sums(&json, kind)).collect::<Result<_, _>>()?;
        let runnable_from = (0..json.kinds.len()).map(|kind| runnable_from(&json.tasks, kind)).collect();
        let mut prefix_sequential = vec![0];
        for task in &json.tasks {
            prefix_sequential.push(prefix_sequential[prefix_sequential.len() - 1] + usize::from(!task.replicable));
        }
        Ok(Self {
            machine: json.machine,
            kinds: json.kinds,
            frames_per_execution: json.frames_per_execution,
            bits_per_frame: json.bits_per_frame,
            sync_ns: json.sync_ns,
            switch_ns: json.switch_ns,
            busy: json.busy,
            lanes: json.lanes,
            overlap: json.overlap,
            gather: json.gather,
            tasks: json.tasks,
            prefix_ns,
            runnable_from,
            prefix_sequential,
            cuts,
        })
    }
}

impl TryFrom<Object<ProfileJson>> for Profile {
    type Error = Error;

    fn try_from(json: Object<ProfileJson>) -> Result<Self, Error> {
        Self::checked(json.0)
    }
}

impl From<Profile> for ProfileJson {
    fn from(profile: Profile) -> Self {
        Self {
            format: Format,
            machine: profile.machine,
            kinds: profile.kinds,
            frames_per_execution: profile.frames_per_execution,
            bits_per_frame: profile.bits_per_frame,
            sync_ns: profile.sync_ns,
            switch_ns: profile.switch_ns,
            busy: profile.busy,
            lanes: profile.lanes,
            overlap: profile.overlap,
            gather: profile.gather,
            tasks: profile.tasks,
        }
    }
}

pub(super) fn refused(key: &str, reason: impl Into<String>) -> Error {
    Error::new(ErrorKind::Profile, format!("profile, {key}"), reason)
}

fn check_kinds(kinds: &[String]) -> Result<(), Error> {
    if kinds.is_empty() {
        return Err(refused("kinds", "there is none: name at least one kind of core"));
    }
    let mut seen = HashSet::new();
    for (index, kind) in kinds.iter().enumerate() {
        let key = format!("kinds[{index}]");
        check_kind_name(kind).map_err(|reason| refused(&key, reason))?;
        if !seen.insert(kind) {
            return Err(refused(&key, format!("`{kind}` is named twice: name each kind once")));
        }
    }
    Ok(())
}

/// A kind's name must be writable in `big=4,little=8`.
pub(crate) fn check_kind_name(name: &str) -> Result<(), String> {
    if name.is_empty() {
        return Err("the name is empty: name the kind of core, for example `big`".to_owned());
    }
    let reserved = |c: char| c == '=' || c == ',' || c.is_whitespace() || c.is_control();
    if name.contains(reserved) {
        return Err(format!("{name:?} has a space, `=` or `,` in it: write a name without them, for example `big`"));
    }
    Ok(())
}

pub(super) fn check_per_kind<T>(key: &str, values: &[T], what: &str, kinds: &[String]) -> Result<(), Error> {
    if values.len() == kinds.len() {
        return Ok(());
    }
    let reason = format!(
        "{} given for {} ({}): write one {what} per kind, in that order",
        counted(values.len(), "value"),
        counted(kinds.len(), "kind"),
        kinds.join(", ")
    );
    Err(refused(key, reason))
}

pub(crate) fn counted(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

fn prefix_sums(json: &ProfileJson, kind: usize) -> Result<Vec<u64>, Error> {
    let overflow = || {
        let reason = format!(
            "the tasks and hand-overs on `{}` add up to 2^64 ns or more: the times must be in nanoseconds",
            json.kinds[kind]
        );
        refused("tasks", reason)
    };
    let mut sums = vec![0u64];
    for task in &json.tasks {
        let sum = sums[sums.len() - 1].checked_add(task.ns[kind].unwrap_or(0)).ok_or_else(overflow)?;
        sums.push(sum);
    }
    // However many executions share a launch, none counts for more than all that were measured.
    let mut gathered_ns = json.tasks.iter().flat_map(|task| &task.gathered_ns).filter_map(|ns| ns[kind]);
    let all_ns = gathered_ns.try_fold(sums[sums.len() - 1], u64::checked_add).ok_or_else(overflow)?;
    with_hand_overs(json, kind, all_ns).ok_or_else(overflow)?;
    Ok(sums)
}

/// The times of all tasks on a kind with as many hand-overs and all cuts, at most one stage per task: the sum over any schedule's stages must
/// stay below 2^64 as well.
pub(super) fn with_hand_overs(json: &ProfileJson, kind: usize, tasks_ns: u64) -> Option<u64> {
    let of_stage = [&json.sync_ns, &json.switch_ns].map(|ns| ns.as_ref().map_or(0, |ns| ns[kind]));
    let hand_overs = (json.tasks.len() as u64).checked_mul(of_stage[0].checked_add(of_stage[1])?)?;
    let cut_ns = json.tasks.iter().flat_map(|task| task.enter_ns.iter().chain(&task.leave_ns)).map(|ns| ns[kind]);
    cut_ns.chain([hand_overs]).try_fold(tasks_ns, u64::checked_add)
}

/// What [`Profile::runnable_from`] says.
fn runnable_from(tasks: &[TaskProfile], kind: usize) -> Option<Vec<usize>> {
    if tasks.iter().all(|task| task.ns[kind].is_some()) {
        return None;
    }
    let mut starts = vec![0];
    for (index, task) in tasks.iter().enumerate() {
        starts.push(if task.ns[kind].is_some() { starts[index] } else { index + 1 });
    }
    Some(starts)
}

//! A machine as a JSON document.

use bief_schedule::json::{self, Document, Format, Object};
use serde::{Deserialize, Serialize};

use super::device::named_twice;
use super::{Cache, Core, CoreSpec, DeviceSpec, MAX_THREADS, Machine, check_kind_name, platform};
use crate::error::{Error, Result};

const DOCUMENT: Document = Document {
    name: "machine",
    shape: r#"{"format": 1, "model": "A board", "kinds": [{"name": "big", "capacity": 1024}, {"name": "little"}], "cores": [{"threads": [0], "kind": 0, "cluster": 0, "package": 0, "node": 0}]}; "caches", "devices", "quota" and "notes", and of a kind "capacity", "max_mhz", "speed", "task_speeds" and "smt" may be left out"#,
};

/// The keys of the JSON document.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct MachineJson {
    format: Format,
    model: String,
    #[serde(deserialize_with = "json::objects")]
    kinds: Vec<CoreSpec>,
    #[serde(deserialize_with = "json::objects")]
    cores: Vec<Core>,
    #[serde(default, deserialize_with = "json::objects", skip_serializing_if = "Vec::is_empty")]
    caches: Vec<Cache>,
    #[serde(default, deserialize_with = "json::objects", skip_serializing_if = "Vec::is_empty")]
    devices: Vec<DeviceSpec>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    quota: Option<f64>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    notes: Vec<String>,
}

impl Machine {
    /// Reads the JSON document that [`to_json`](Self::to_json) writes.
    ///
    /// # Errors
    ///
    /// Where the text is no such document, with line and column; where its contents contradict themselves, with the key.
    pub fn from_json(text: &str) -> Result<Self> {
        Self::checked(json::read(text, &DOCUMENT)?)
    }

    /// Writes a JSON document, one kind, core and cache per line:
    ///
    /// ```json
    /// {
    ///   "format": 1,
    ///   "model": "A board",
    ///   "kinds": [
    ///     {"name": "big", "capacity": 1024, "max_mhz": 2400},
    ///     {"name": "little", "capacity": 446, "max_mhz": 1800, "speed": 0.5, "task_speeds": {"decode": 0.4}}
    ///   ],
    ///   "cores": [
    ///     {"threads": [0], "kind": 1, "cluster": 0, "package": 0, "node": 0},
    ///     {"threads": [4, 5], "kind": 0, "cluster": 1, "package": 0, "node": 0}
    ///   ],
    ///   "caches": [
    ///     {"level": 1, "holds": "data", "bytes": 32768, "cores": [0]},
    ///     {"level": 3, "holds": "both", "cores": [0, 1]}
    ///   ],
    ///   "devices": [
    ///     {"name": "gpu", "lanes": 2, "launch_us": 20.0, "copy_gb_per_s": 10.0, "speed": 0.8}
    ///   ],
    ///   "quota": 1.5,
    ///   "notes": ["What was odd."]
    /// }
    /// ```
    ///
    /// A core's `kind` is a position among the kinds, a cache's `cores` are positions among the cores, and the cores stand in
    /// the order of package, node, cluster and first hardware thread. A kind with `"smt": {"of": "big", "threads": 2}` are the hardware
    /// threads of another kind's cores, and has none of its own. Keys that may be left out: `caches`, `devices`,
    /// `quota`, `notes` and, in a kind and in a [device](DeviceSpec), all but `name`; in a cache, `bytes`. A key that is not named here is refused, as is another `format`.
    ///
    /// ```
    /// let machine = bief_machine::Machine::here();
    /// assert_eq!(bief_machine::Machine::from_json(&machine.to_json())?, machine);
    /// # Ok::<(), bief_machine::Error>(())
    /// ```
    pub fn to_json(&self) -> String {
        json::write(self)
    }

    fn checked(json: MachineJson) -> Result<Self> {
        let MachineJson { format: Format, model, kinds, cores, caches, devices, quota, notes } = json;
        check_kinds(&kinds)?;
        check_cores(&cores, kinds.len())?;
        check_caches(&caches, cores.len())?;
        check_threads(&kinds, &cores)?;
        let count = |kind: usize| cores.iter().filter(|core| core.kind == kind).count();
        platform(kinds.iter().enumerate().map(|(index, kind)| (kind.name.as_str(), count(index), &kind.smt)))
            .map_err(|error| refused(error.place().trim_start_matches("platform, "), error.reason()))?;
        for (index, device) in devices.iter().enumerate() {
            let key = |member: &str| format!("devices[{index}].{member}");
            device.check().map_err(|(member, reason)| refused(&key(member), reason))?;
            check_kind_name(&device.name).map_err(|error| refused(&key("name"), error.reason()))?;
        }
        if let Some(index) = named_twice(&kinds, &devices) {
            let reason = format!("`{}` is named twice: name each kind and device once", devices[index].name);
            return Err(refused(&format!("devices[{index}].name"), reason));
        }
        if let Some(quota) = quota
            && !(quota > 0.0 && quota.is_finite())
        {
            return Err(refused("quota", "must be a number of cores above 0: leave it out where there is no limit"));
        }
        Ok(Self { model, cores, kinds, caches, devices, quota, notes })
    }
}

/// What is wrong with a machine, and at which key.
fn refused(key: &str, reason: impl std::fmt::Display) -> Error {
    Error::invalid(format!("machine, {key}: {reason}"))
}

/// Whether a share is one that cores can be slowed down to.
pub(super) fn is_speed(speed: f64) -> bool {
    speed > 0.0 && speed <= 1.0
}

fn check_kinds(kinds: &[CoreSpec]) -> Result<()> {
    for (index, kind) in kinds.iter().enumerate() {
        let key = |member: &str| format!("kinds[{index}].{member}");
        if kind.capacity.is_some_and(|capacity| !(1..=1024).contains(&capacity)) {
            return Err(refused(&key("capacity"), "must be 1 to 1024, the fastest being 1024"));
        }
        if kind.max_mhz == Some(0) {
            return Err(refused(&key("max_mhz"), "must be 1 or more: leave it out where it is not known"));
        }
        if !is_speed(kind.speed) {
            return Err(refused(&key("speed"), "must be above 0 and at most 1"));
        }
        if let Some(task) = kind.task_speeds.iter().find(|task| !is_speed(*task.1)) {
            return Err(refused(&key("task_speeds"), format!("of `{}` must be above 0 and at most 1", task.0)));
        }
    }
    Ok(())
}

fn check_cores(cores: &[Core], kinds: usize) -> Result<()> {
    if cores.len() > MAX_THREADS {
        return Err(refused("cores", format!("{} are too many: at most {MAX_THREADS} are possible", cores.len())));
    }
    let mut seen = [false; MAX_THREADS];
    for (index, core) in cores.iter().enumerate() {
        let key = |member: &str| format!("cores[{index}].{member}");
        if core.kind >= kinds {
            return Err(refused(&key("kind"), format!("there is no kind {} among the {kinds} kinds", core.kind)));
        }
        if core.threads.is_empty() || !core.threads.is_sorted_by(|one, next| one < next) {
            return Err(refused(&key("threads"), "must be one or more numbers, ascending"));
        }
        for &thread in &core.threads {
            match seen.get_mut(thread) {
                None => return Err(refused(&key("threads"), format!("{thread} must be below {MAX_THREADS}"))),
                Some(true) => return Err(refused(&key("threads"), format!("{thread} is of another core, too"))),
                Some(seen) => *seen = true,
            }
        }
    }
    for (index, pair) in cores.windows(2).enumerate() {
        let [one, next] = pair else { continue };
        let place = |core: &Core| (core.package, core.node);
        if place(one) > place(next) || (one.cluster, one.threads[0]) > (next.cluster, next.threads[0]) {
            let reason = "must come after the core before it: sort by package, node, cluster and first thread";
            return Err(refused(&format!("cores[{}]", index + 1), reason));
        }
        if one.cluster == next.cluster && (place(one), one.kind) != (place(next), next.kind) {
            let reason = "is of one cluster with a core of another kind, package or node: give it one of its own";
            return Err(refused(&format!("cores[{}].cluster", index + 1), reason));
        }
    }
    Ok(())
}

/// Kinds of hardware threads have no cores, and those of their cores that are there have so many.
fn check_threads(kinds: &[CoreSpec], cores: &[Core]) -> Result<()> {
    for (index, kind) in kinds.iter().enumerate() {
        let Some(smt) = &kind.smt else { continue };
        if let Some(core) = cores.iter().position(|core| core.kind == index) {
            let reason =
                format!("kind `{}` are the hardware threads of `{}`: let the core be of that kind", kind.name, smt.of);
            return Err(refused(&format!("cores[{core}].kind"), reason));
        }
        let is_of = |core: &&Core| kinds[core.kind].name == smt.of;
        if let Some(core) = cores.iter().filter(is_of).find(|core| core.threads.len() != smt.threads as usize) {
            let reason =
                format!("a core of `{}` has {} hardware threads, not {}", smt.of, core.threads.len(), smt.threads);
            return Err(refused(&format!("kinds[{index}].smt"), reason));
        }
    }
    Ok(())
}

fn check_caches(caches: &[Cache], cores: usize) -> Result<()> {
    let mut seen = std::collections::HashSet::new();
    for (index, cache) in caches.iter().enumerate() {
        let key = |member: &str| format!("caches[{index}].{member}");
        if !(1..=9).contains(&cache.level) {
            return Err(refused(&key("level"), "must be 1 to 9"));
        }
        if cache.bytes == Some(0) {
            return Err(refused(&key("bytes"), "must be 1 or more: leave it out where it is not known"));
        }
        if cache.cores.is_empty() || !cache.cores.is_sorted_by(|one, next| one < next) {
            return Err(refused(&key("cores"), "must be one or more positions of cores, ascending"));
        }
        for &core in &cache.cores {
            if core >= cores {
                return Err(refused(&key("cores"), format!("there is no core {core} among the {cores} cores")));
            }
            if !seen.insert((cache.level, cache.holds, core)) {
                return Err(refused(&key("cores"), format!("core {core} has another cache of that level, too")));
            }
        }
    }
    Ok(())
}

impl TryFrom<Object<MachineJson>> for Machine {
    type Error = Error;

    fn try_from(json: Object<MachineJson>) -> Result<Self> {
        Self::checked(json.0)
    }
}

impl From<Machine> for MachineJson {
    fn from(machine: Machine) -> Self {
        let Machine { model, cores, kinds, caches, devices, quota, notes } = machine;
        Self { format: Format, model, kinds, cores, caches, devices, quota, notes }
    }
}

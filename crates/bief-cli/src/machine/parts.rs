//! A machine as packages, NUMA nodes, clusters and cores, each with what its cores share.

use std::ops::Range;

use bief::machine::{Cache, CacheContent, Core, CoreSpec, DeviceSpec, Machine};

use crate::text::{counted, printable};

/// What a part is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Level {
    Package,
    Node,
    Cluster,
}

impl Level {
    const ALL: [Self; 3] = [Self::Package, Self::Node, Self::Cluster];

    /// What it is called.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Package => "package",
            Self::Node => "node",
            Self::Cluster => "cluster",
        }
    }

    fn number(self, core: &Core) -> usize {
        match self {
            Self::Package => core.package,
            Self::Node => core.node,
            Self::Cluster => core.cluster,
        }
    }
}

/// Cores that stand side by side in the machine.
pub(super) struct Part {
    pub(super) level: Level,
    pub(super) number: usize,
    pub(super) cores: Range<usize>,
    /// What several of its cores share, unless a part of it has them all.
    pub(super) caches: String,
    /// Parts of the next level; none of a cluster.
    pub(super) parts: Vec<Part>,
}

/// The packages, and the caches that no package has alone.
pub(super) struct Parts {
    pub(super) packages: Vec<Part>,
    pub(super) caches: String,
}

impl Parts {
    /// The parts of a machine.
    pub(super) fn of(machine: &Machine) -> Self {
        let mut shared: Vec<&Cache> = machine.caches().iter().filter(|cache| cache.cores.len() > 1).collect();
        let all = 0..machine.cores().len();
        let packages = parts(machine, all.clone(), &Level::ALL, &mut shared);
        Self { packages, caches: caches(&shared, all.len()) }
    }
}

/// Cuts cores into parts of the first level, and takes the caches away that these have.
fn parts(machine: &Machine, cores: Range<usize>, levels: &[Level], shared: &mut Vec<&Cache>) -> Vec<Part> {
    let Some((&level, deeper)) = levels.split_first() else { return Vec::new() };
    let mut start = cores.start;
    let groups = machine.cores()[cores].chunk_by(|one, next| level.number(one) == level.number(next));
    let part = |group: &[Core]| {
        let cores = start..start + group.len();
        start = cores.end;
        let inside = |cache: &&Cache| cache.cores.iter().all(|core| cores.contains(core));
        let (mut own, others): (Vec<&Cache>, Vec<&Cache>) = shared.iter().partition(|cache| inside(cache));
        *shared = others;
        let parts = parts(machine, cores.clone(), deeper, &mut own);
        Part { level, number: level.number(&group[0]), caches: caches(&own, cores.len()), cores, parts }
    };
    groups.map(part).collect()
}

/// The caches of which no other core has a share.
pub(super) fn own_caches(machine: &Machine, core: usize) -> String {
    let own: Vec<&Cache> = machine.caches().iter().filter(|cache| cache.cores == [core]).collect();
    caches(&own, 1)
}

/// Caches of a part with so many cores: `L1d 32 KiB, 2 x L2 1 MiB of 4 cores`.
fn caches(caches: &[&Cache], cores: usize) -> String {
    let mut told: Vec<(String, usize)> = Vec::new();
    for cache in caches {
        let letter = match cache.holds {
            CacheContent::Data => "d",
            CacheContent::Instructions => "i",
            CacheContent::Both => "",
        };
        let mut text = format!("L{}{letter}", cache.level);
        if let Some(bytes) = cache.bytes {
            text += &match bytes {
                bytes if bytes % (1 << 20) == 0 => format!(" {} MiB", bytes >> 20),
                bytes if bytes >= 1 << 20 => format!(" {:.2} MiB", bytes as f64 / f64::from(1 << 20)),
                bytes if bytes % (1 << 10) == 0 => format!(" {} KiB", bytes >> 10),
                bytes => format!(" {bytes} B"),
            };
        }
        if cache.cores.len() != cores {
            text += &format!(" of {}", counted(cache.cores.len(), "core"));
        }
        match told.iter_mut().find(|(other, _)| *other == text) {
            Some((_, count)) => *count += 1,
            None => told.push((text, 1)),
        }
    }
    let told = told.into_iter().map(|(text, count)| if count == 1 { text } else { format!("{count} x {text}") });
    told.collect::<Vec<_>>().join(", ")
}

/// The devices that are here, if there is a driver for them.
pub(super) fn devices() -> Vec<(String, String)> {
    let told = |found: bief_opencl::Found| {
        let cores = if found.is_cpu { ", made of the cores" } else { "" };
        let text = format!("OpenCL, {:.1} GB{cores}: {}", found.bytes as f64 / 1e9, printable(&found.title));
        (found.name, text)
    };
    bief_opencl::find().unwrap_or_default().into_iter().map(told).collect()
}

/// What there is to say of the whole machine: names and values.
pub(super) fn facts(machine: &Machine) -> Vec<(String, String)> {
    let threads: usize = machine.cores().iter().map(|core| core.threads.len()).sum();
    let mut cores = machine.cores().len().to_string();
    if threads > machine.cores().len() {
        cores += &format!(", {threads} hardware threads");
    }
    let mut facts = vec![("processor".to_owned(), printable(machine.model())), ("cores".to_owned(), cores)];
    for (index, kind) in machine.kinds().iter().enumerate() {
        facts.push((printable(&kind.name), format!("{}{}", machine.count(index), speed(kind))));
    }
    for device in machine.devices() {
        facts.push((printable(&device.name), self::device(device)));
    }
    if let Some(quota) = machine.quota().filter(|&quota| quota < machine.cores().len() as f64) {
        let each = machine.kinds().iter().enumerate().map(|(index, kind)| (machine.usable_of(index), kind));
        let each =
            each.filter(|(count, _)| *count > 0).map(|(count, kind)| format!("{count} {}", printable(&kind.name)));
        let each = each.collect::<Vec<_>>().join(", ");
        facts.push(("quota".to_owned(), format!("processor time of {quota:.2} cores: plan for {each}")));
    }
    facts
}

/// What a device costs.
fn device(device: &DeviceSpec) -> String {
    let lanes = counted(device.lanes as usize, "lane");
    if let Some(backend) = &device.backend {
        return format!("device, {lanes}, by {backend}");
    }
    let mut text = format!("emulated device, {lanes}, {} us per launch", device.launch_us);
    match device.copy_gb_per_s {
        Some(rate) => text += &format!(", copies at {rate} GB/s"),
        None => text += ", nothing is copied",
    }
    if device.speed != 1.0 {
        text += &format!(", works at {} of a core's speed", device.speed);
    }
    for (task, speed) in &device.task_speeds {
        text += &format!(", `{}` at {speed}", printable(task));
    }
    text
}

/// How fast a kind is, where that is known, and to what it is slowed down.
fn speed(kind: &CoreSpec) -> String {
    let mut text = String::new();
    if let Some(capacity) = kind.capacity {
        text += &format!(", capacity {capacity} of 1024");
    }
    if let Some(mhz) = kind.max_mhz {
        text += &format!(", up to {mhz} MHz");
    }
    if kind.speed != 1.0 {
        text += &format!(", slowed down to {} of that", kind.speed);
    }
    for (task, speed) in &kind.task_speeds {
        text += &format!(", `{}` to {speed}", printable(task));
    }
    text
}

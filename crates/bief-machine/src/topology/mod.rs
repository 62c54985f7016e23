//! The processor that a program runs on: which cores it may use, of which kinds they are, and what they share.

mod arrange;
mod device;
mod document;
#[cfg(feature = "toml")]
mod emulated;
mod file;
mod files;
#[cfg(feature = "hwloc")]
mod hwloc;
pub(crate) mod list;
mod part;
mod quota;
mod smt;
mod sysfs;

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

use bief_schedule::json::Object;
use bief_schedule::{CoreKind, Platform, Smt};
use serde::{Deserialize, Serialize};

pub use device::DeviceSpec;
use document::MachineJson;
pub use list::thread_list;

/// The most hardware threads and cores of a machine, more than Linux can be built for: a damaged file must not make a
/// machine without end. Each has a number below.
const MAX_THREADS: usize = 8192;

/// A core that this process may run on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Core {
    /// The numbers that the system knows its hardware threads by, ascending: one, or more where cores work on several threads
    /// at a time (SMT), a thread that is pinned to the core may use any of them.
    pub threads: Vec<usize>,
    /// Index into [`Machine::kinds`].
    pub kind: usize,
    /// Number of its cluster: the cores of its kind that share the smallest cache that more than one core shares.
    pub cluster: usize,
    /// Number of its package (socket).
    pub package: usize,
    /// Number of the NUMA node whose memory is nearest to it.
    pub node: usize,
}

/// What the cores of one kind, which are equally fast, are like. How many there are to plan with, and what they draw, a
/// [`bief_schedule::CoreKind`] says.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CoreSpec {
    /// `cpu` when all are equal; else `big`, `medium`, `little` or `kind1`, `kind2`, … from the fastest to the slowest.
    pub name: String,
    /// The system's measure of speed, the fastest being 1024; `None` where it gives none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capacity: Option<u32>,
    /// The highest clock that a core of this kind may reach, in MHz; `None` where the system does not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_mhz: Option<u32>,
    /// Speed to which cores of this kind are slowed down, as a share of the speed that they have: 1 unless they are
    /// emulated.
    #[serde(default = "full_speed", skip_serializing_if = "is_full_speed")]
    pub speed: f64,
    /// Tasks that are slowed down to another speed than `speed`, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub task_speeds: BTreeMap<String, f64>,
    /// Whose hardware threads these are, where a core of that kind may also work on all of its threads, each a place of its own:
    /// [`Machine::cores`] then has none of this kind, until some are [divided](Machine::divided).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub smt: Option<Smt>,
}

fn full_speed() -> f64 {
    1.0
}

fn is_full_speed(speed: &f64) -> bool {
    *speed == 1.0
}

/// A cache, and the cores that share it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cache {
    /// Distance from the core: 1 for the nearest.
    pub level: u8,
    /// What it keeps.
    pub holds: CacheContent,
    /// Its size in bytes; `None` where the system does not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// Positions of its cores in [`Machine::cores`], ascending.
    pub cores: Vec<usize>,
}

/// What a cache keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CacheContent {
    /// Data alone.
    Data,
    /// Instructions alone.
    Instructions,
    /// Data and instructions.
    Both,
}

/// The cores that a process may use, their kinds, and what they share.
///
/// ```
/// let machine = bief_machine::Machine::here();
/// assert!(!machine.cores().is_empty());
/// ```
///
/// # What Linux tells
///
/// [`here`](Self::here) and [`under`](Self::under) read `/sys` and `/proc`. **Cores** are those online that the process may run
/// on (`Cpus_allowed_list`, which affinity masks and cpusets narrow); a core of which it may use one hardware thread counts. A
/// **quota** of processor time (cgroup version 2 `cpu.max`, version 1 `cpu.cfs_quota_us`, the narrowest of all groups that the
/// process is in) takes no core away: see [`usable`](Self::usable).
///
/// **Kinds** are told by, in this order:
///
/// 1. the lists of performance and efficiency cores of Intel's hybrid processors (`/sys/devices/cpu_core/cpus`, `cpu_atom`,
///    `cpu_lowpower`): cores of two lists are never of one kind;
/// 2. the first of these measures that parts the cores: `cpu_capacity`, `cpufreq/cpuinfo_max_freq`,
///    `acpi_cppc/highest_perf`. Sorted by it, cores are of two kinds where one is more than a tenth slower than the next
///    faster one; what is less is turbo and binning.
///
/// A measure counts only if the system tells it of every core. Kinds are those of the whole machine: the little cores stay
/// `little` to a process that may use no others.
///
/// A **cluster** is the smallest group of at least two cores of one kind, package and NUMA node that share a cache or that the
/// system calls a cluster (`cluster_cpus_list`); where there is none, all cores of the kind in the package and node. On an RK3588,
/// whose third-level cache serves all cores, these are the four Cortex-A55 and two pairs of Cortex-A76.
///
/// What is missing is left out, and what makes no sense is told by [`notes`](Self::notes): there is always at least one core,
/// of one kind.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Object<MachineJson>", into = "MachineJson")]
pub struct Machine {
    model: String,
    /// In the order of their distance: cores with neighbouring positions share most.
    cores: Vec<Core>,
    kinds: Vec<CoreSpec>,
    caches: Vec<Cache>,
    devices: Vec<DeviceSpec>,
    quota: Option<f64>,
    notes: Vec<String>,
}

impl Machine {
    /// This machine. What cannot be read is left out: there is always at least one core, of one kind.
    pub fn here() -> Self {
        let fallback = std::thread::available_parallelism().map_or(1, |cores| cores.get());
        sysfs::read(Path::new("/"), fallback)
    }

    /// The machine that the files under `root` describe (`root/sys/devices`, `root/sys/fs/cgroup`, `root/proc`), so that
    /// another machine's files can be studied. Links that leave `root` are not followed.
    pub fn under(root: &Path) -> Self {
        sysfs::read(root, 1)
    }

    /// What the processor, or else the board, calls itself.
    pub fn model(&self) -> &str {
        &self.model
    }

    /// The cores that this process may use, ordered by package, NUMA node, cluster and number.
    pub fn cores(&self) -> &[Core] {
        &self.cores
    }

    /// The kinds of these cores, from the fastest to the slowest.
    pub fn kinds(&self) -> &[CoreSpec] {
        &self.kinds
    }

    /// The caches of these cores, from the nearest to the farthest.
    pub fn caches(&self) -> &[Cache] {
        &self.caches
    }

    /// The core that has this hardware thread.
    pub fn core_of(&self, thread: usize) -> Option<&Core> {
        self.cores.iter().find(|core| core.threads.contains(&thread))
    }

    /// Whether any of its kinds of cores is slower than the cores that it stands for.
    pub fn is_emulated(&self) -> bool {
        self.kinds.iter().any(|kind| kind.speed != 1.0 || !kind.task_speeds.is_empty())
    }

    /// How many cores of the kind with this index there are, or hardware threads that may be places of their own.
    pub fn count(&self, kind: usize) -> usize {
        match self.whole_kind(kind) {
            Some((whole, threads)) => self.count(whole) * threads,
            None => self.cores.iter().filter(|core| core.kind == kind).count(),
        }
    }

    /// The processor time that the process is given, as the number of cores that it keeps busy; `None` where all cores may be
    /// busy all the time.
    pub fn quota(&self) -> Option<f64> {
        self.quota
    }

    /// How many cores can be kept busy at a time: all, or as many whole ones as the [quota](Self::quota) pays for, at least one. With
    /// more, the system would stop them all from time to time.
    ///
    /// ```
    /// let machine = bief_machine::Machine::here();
    /// let each = (0..machine.kinds().len()).map(|kind| machine.usable_of(kind));
    /// assert_eq!(each.sum::<usize>(), machine.usable()); // of this machine, whose cores are not to be divided
    /// ```
    pub fn usable(&self) -> usize {
        let all = self.cores.len();
        self.quota.map_or(all, |quota| (quota as usize).clamp(1, all))
    }

    /// How many cores of the kind with this index can be kept busy at a time: where a quota limits, the slowest are left out first. Under
    /// a quota hardware threads are no places of their own, as the time of each counts.
    pub fn usable_of(&self, kind: usize) -> usize {
        if self.kinds[kind].smt.is_some() {
            return if self.quota.is_none() { self.count(kind) } else { 0 };
        }
        let cores = |kind: usize| if self.kinds[kind].smt.is_none() { self.count(kind) } else { 0 };
        let faster: usize = (0..kind).map(cores).sum();
        self.count(kind).min(self.usable().saturating_sub(faster))
    }

    /// The cores that can be kept busy at a time, by kind, and the devices, as strategies take them.
    ///
    /// ```
    /// let machine = bief_machine::Machine::here();
    /// let platform = machine.platform();
    /// assert_eq!(platform.cores(&machine.kinds()[0].name) as usize, machine.usable_of(0));
    /// ```
    pub fn platform(&self) -> Platform {
        let cores = self.kinds.iter().enumerate().map(|(kind, of)| (of.name.as_str(), self.usable_of(kind), &of.smt));
        let devices = self.devices.iter().map(|device| (device.name.as_str(), 1, &None));
        platform(cores.chain(devices)).expect("kinds and devices are checked when a machine is made")
    }

    /// What was odd about the description of the machine, a sentence each; empty where all made sense.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }
}

/// In a line: what the processor calls itself, and how many cores of each kind this process may use.
impl fmt::Display for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.model)?;
        for (index, kind) in self.kinds.iter().enumerate() {
            let comma = if index == 0 { "" } else { ", " };
            write!(f, "{comma}{} {}", self.count(index), kind.name)?;
            if let Some(smt) = &kind.smt {
                write!(f, " (of {} a core)", smt.threads)?;
            }
            if kind.speed != 1.0 || !kind.task_speeds.is_empty() {
                write!(f, " (emulated at {})", kind.speed)?;
            }
        }
        for device in &self.devices {
            write!(f, ", device {} ({})", device.name, device.backend.as_deref().unwrap_or("emulated"))?;
        }
        Ok(())
    }
}

/// Kinds of these names with so many cores each, or hardware threads of other kinds.
fn platform<'n>(
    kinds: impl Iterator<Item = (&'n str, usize, &'n Option<Smt>)>,
) -> Result<Platform, bief_schedule::Error> {
    Platform::new(kinds.map(|(name, cores, smt)| CoreKind { smt: smt.clone(), ..CoreKind::new(name, cores as u32) }))
}

/// Whether a kind can have this name.
fn check_kind_name(name: &str) -> Result<(), bief_schedule::Error> {
    platform([(name, 1, &None)].into_iter()).map(|_| ())
}

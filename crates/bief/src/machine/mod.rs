//! The processor that this program runs on: which cores it may use, and of which kinds they are.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::path::Path;

use bief_schedule::Platform;
use serde::{Deserialize, Serialize};

/// A core that this process may run on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Core {
    /// The numbers that the system knows its hardware threads by, ascending: one, or more where cores work on several threads
    /// at a time (SMT): a thread that is pinned to the core may use any of them.
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

/// Cores of equal speed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CoreKind {
    /// `cpu` when all are equal; else `big`, `medium`, `little` or `kind1`, `kind2`, … from the fastest to the slowest.
    pub name: String,
    /// The system's measure of speed, the fastest being 1024; `None` where it gives none.
    pub capacity: Option<u32>,
    /// Speed to which cores of this kind are slowed down, as a share of the speed that they have: 1 unless they are
    /// emulated.
    pub speed: f64,
    /// Tasks that are slowed down to another speed than `speed`, by name.
    pub task_speeds: BTreeMap<String, f64>,
}

/// The cores that this process may use, as Linux describes them in `/sys` and `/proc`.
///
/// ```
/// let machine = bief::Machine::here();
/// assert!(!machine.cores().is_empty());
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Machine {
    model: String,
    /// In the order of their distance: cores with neighbouring positions share most.
    cores: Vec<Core>,
    kinds: Vec<CoreKind>,
}

impl Machine {
    /// This machine. What cannot be read is left out: there is always at least one core, of one kind.
    pub fn here() -> Self {
        let mut machine = Self::under(Path::new("/"));
        // A container may be given less processor time than its cores.
        if let Ok(limit) = std::thread::available_parallelism() {
            machine.cores.truncate(limit.get());
        }
        machine
    }

    /// The machine that the files under `root` describe (`root/sys/devices/system/cpu`, `root/proc`), so that another
    /// machine's files can be studied.
    pub fn under(root: &Path) -> Self {
        let read = |path: &str| fs::read_to_string(root.join(path)).ok();
        let allowed = read("proc/self/status").and_then(|status| {
            Some(status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?.to_owned())
        });
        let online = read("sys/devices/system/cpu/online");
        let mut ids = online.as_deref().map(core_list).unwrap_or_default();
        if let Some(allowed) = allowed.as_deref().map(core_list) {
            ids.retain(|id| allowed.contains(id));
        }
        if ids.is_empty() {
            ids = (0..std::thread::available_parallelism().map_or(1, |cores| cores.get())).collect();
        }
        let capacity = |id: &usize| -> Option<u32> {
            read(&format!("sys/devices/system/cpu/cpu{id}/cpu_capacity"))?.trim().parse().ok()
        };
        let capacities: Vec<Option<u32>> = ids.iter().map(capacity).collect();
        let mut speeds = capacities.clone();
        speeds.sort_unstable_by(|a, b| b.cmp(a));
        speeds.dedup();
        let kinds = speeds
            .iter()
            .enumerate()
            .map(|(index, &capacity)| CoreKind {
                name: kind_name(index, speeds.len()),
                capacity,
                speed: 1.0,
                task_speeds: BTreeMap::new(),
            })
            .collect();
        let cores = ids
            .into_iter()
            .zip(capacities)
            .map(|(id, capacity)| Core {
                threads: vec![id],
                kind: speeds.iter().position(|speed| *speed == capacity).unwrap_or(0),
                cluster: 0,
                package: 0,
                node: 0,
            })
            .collect();
        let model = read("proc/cpuinfo").and_then(|text| model_name(&text)).unwrap_or_else(|| "unknown".to_owned());
        Self { model, cores, kinds }
    }

    /// A machine that is made up.
    #[cfg(test)]
    pub(crate) fn with_cores(model: &str, kinds: &[&str], cores: Vec<Core>) -> Self {
        let kind = |name: &&str| CoreKind {
            name: (*name).to_owned(),
            capacity: None,
            speed: 1.0,
            task_speeds: BTreeMap::new(),
        };
        Self { model: model.to_owned(), cores, kinds: kinds.iter().map(kind).collect() }
    }

    /// What the processor calls itself.
    pub fn model(&self) -> &str {
        &self.model
    }

    /// The cores that this process may use.
    pub fn cores(&self) -> &[Core] {
        &self.cores
    }

    /// The kinds of these cores, from the fastest to the slowest.
    pub fn kinds(&self) -> &[CoreKind] {
        &self.kinds
    }

    /// The core that has this hardware thread.
    pub fn core_of(&self, thread: usize) -> Option<&Core> {
        self.cores.iter().find(|core| core.threads.contains(&thread))
    }

    /// Whether any of its kinds is slower than the cores that it stands for.
    pub fn is_emulated(&self) -> bool {
        self.kinds.iter().any(|kind| kind.speed != 1.0 || !kind.task_speeds.is_empty())
    }

    /// The cores that may be planned for, by kind.
    pub fn platform(&self) -> Platform {
        let kinds = self.kinds.iter().enumerate();
        Platform::new(kinds.map(|(index, kind)| bief_schedule::CoreKind::new(&kind.name, self.count(index) as u32)))
            .expect("a machine has a core, and its kinds have different names")
    }

    /// How many cores of the kind with this index there are.
    pub fn count(&self, kind: usize) -> usize {
        self.cores.iter().filter(|core| core.kind == kind).count()
    }
}

/// In a line: what the processor calls itself, and how many cores of each kind this process may use.
impl fmt::Display for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.model)?;
        for (index, kind) in self.kinds.iter().enumerate() {
            let comma = if index == 0 { "" } else { ", " };
            write!(f, "{comma}{} {}", self.count(index), kind.name)?;
            if kind.speed != 1.0 || !kind.task_speeds.is_empty() {
                write!(f, " (emulated at {})", kind.speed)?;
            }
        }
        Ok(())
    }
}

fn kind_name(index: usize, kinds: usize) -> String {
    let names: &[&str] = match kinds {
        1 => &["cpu"],
        2 => &["big", "little"],
        3 => &["big", "medium", "little"],
        _ => &[],
    };
    names.get(index).map_or_else(|| format!("kind{}", index + 1), |name| (*name).to_owned())
}

/// Reads a list such as `0-3,8`; parts that are not of this form are passed over.
fn core_list(text: &str) -> Vec<usize> {
    /// More cores than any system has: a damaged file must not make a list without end.
    const MOST: usize = 1 << 16;
    let number = |text: &str| text.trim().parse::<usize>().ok().filter(|&id| id < MOST);
    text.split(',')
        .filter_map(|part| match part.split_once('-') {
            Some((first, last)) => Some(number(first)?..=number(last)?),
            None => number(part).map(|id| id..=id),
        })
        .flatten()
        .collect()
}

fn model_name(cpuinfo: &str) -> Option<String> {
    let value = |key: &str| {
        cpuinfo
            .lines()
            .filter_map(|line| line.split_once(':'))
            .find(|(name, _)| name.trim() == key)
            .map(|(_, value)| value.trim().to_owned())
    };
    // x86 names the model; Arm boards name themselves or only their hardware.
    value("model name").or_else(|| value("Model")).or_else(|| value("Hardware")).filter(|name| !name.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A directory of files that describe a machine, removed when dropped.
    struct Tree(std::path::PathBuf);

    impl Tree {
        fn new(name: &str, files: &[(&str, &str)]) -> Self {
            let root = std::env::temp_dir().join(format!("bief-machine-{name}-{}", std::process::id()));
            for (path, text) in files {
                let path = root.join(path);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, text).unwrap();
            }
            Self(root)
        }
    }

    impl Drop for Tree {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn two_capacities_are_big_and_little() {
        let tree = Tree::new(
            "biglittle",
            &[
                ("sys/devices/system/cpu/online", "0-3\n"),
                ("sys/devices/system/cpu/cpu0/cpu_capacity", "446\n"),
                ("sys/devices/system/cpu/cpu1/cpu_capacity", "446\n"),
                ("sys/devices/system/cpu/cpu2/cpu_capacity", "1024\n"),
                ("sys/devices/system/cpu/cpu3/cpu_capacity", "1024\n"),
                ("proc/self/status", "Name:\tx\nCpus_allowed_list:\t1-3\n"),
                ("proc/cpuinfo", "processor\t: 0\nModel\t\t: A Board\n"),
            ],
        );
        let machine = Machine::under(&tree.0);
        assert_eq!(machine.model(), "A Board");
        assert_eq!(machine.kinds().iter().map(|kind| kind.name.as_str()).collect::<Vec<_>>(), ["big", "little"]);
        assert_eq!((machine.count(0), machine.count(1)), (2, 1), "core 0 is not allowed");
        assert_eq!((machine.cores()[0].threads.as_slice(), machine.cores()[0].kind), (&[1][..], 1));
    }

    #[test]
    fn a_tree_without_files_is_a_machine_with_one_kind() {
        let machine = Machine::under(Path::new("/nonexistent"));
        assert!(!machine.cores().is_empty());
        assert_eq!((machine.kinds()[0].name.as_str(), machine.kinds()[0].capacity), ("cpu", None));
        assert_eq!(machine.model(), "unknown");
    }

    #[test]
    fn damaged_lists_do_no_harm() {
        assert_eq!(core_list("0-2,5"), [0, 1, 2, 5]);
        assert_eq!(core_list("x,3-,-,2\n"), [2]);
        assert!(core_list("0-99999999999,7-3").is_empty());
    }
}

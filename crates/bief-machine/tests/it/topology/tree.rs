//! Folders and files that describe machines, and what holds of every machine.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use bief_machine::{CacheContent, Machine};

pub(super) const CPUS: &str = "sys/devices/system/cpu";

/// The files of a machine, by path.
pub(super) type Files = BTreeMap<String, String>;

/// Reads `path = content` lines of `tests/machines/NAME.txt`.
pub(super) fn files(name: &str) -> Files {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/machines/{name}.txt"));
    let text = fs::read_to_string(path).unwrap();
    let mut files = Files::new();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let (path, content) = line.split_once(" = ").unwrap();
        let content = content.replace("\\t", "\t").replace("\\n", "\n") + "\n";
        match path.split_once('{') {
            None => {
                files.insert(path.to_owned(), content);
            }
            Some((before, rest)) => {
                let (list, after) = rest.split_once('}').unwrap();
                for number in numbers(list) {
                    files.insert(format!("{before}{number}{after}"), content.replace("{}", &number.to_string()));
                }
            }
        }
    }
    files
}

fn numbers(list: &str) -> Vec<usize> {
    let range = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        first.parse::<usize>().unwrap()..=last.parse().unwrap()
    };
    list.split(',').flat_map(range).collect()
}

/// A folder of such files, removed when dropped.
pub(super) struct Tree(pub(super) PathBuf);

impl Tree {
    pub(super) fn new(files: &Files) -> Self {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        // Thousands of small files: in memory, where there is such a folder.
        let memory = Path::new("/dev/shm");
        let base = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
        let root = base.join(format!("bief-machine-{}-{number}", std::process::id()));
        fs::create_dir_all(&root).unwrap();
        let tree = Self(root);
        files.iter().for_each(|(path, content)| tree.write(path, content));
        tree
    }

    pub(super) fn write(&self, path: &str, content: impl AsRef<[u8]>) {
        let path = self.0.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    /// The machine, which must be one that can be written and read back.
    pub(super) fn machine(&self) -> Machine {
        let machine = Machine::under(&self.0);
        check(&machine);
        machine
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

pub(super) fn machine(name: &str) -> Machine {
    Tree::new(&files(name)).machine()
}

pub(super) fn xml(name: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/machines/{name}.xml"))).unwrap()
}

/// The machine after some of its files got other contents.
pub(super) fn with(name: &str, changes: &[(&str, &str)]) -> Machine {
    let mut files = files(name);
    files.extend(changes.iter().map(|&(path, content)| (path.to_owned(), content.to_owned())));
    Tree::new(&files).machine()
}

/// What holds of every machine.
pub(super) fn check(machine: &Machine) {
    assert_eq!(Machine::from_json(&machine.to_json()).unwrap(), *machine, "its contents do not contradict themselves");
    assert!((1..=machine.cores().len()).contains(&machine.usable()));
    let kinds = 0..machine.kinds().len();
    assert_eq!(kinds.clone().map(|kind| machine.usable_of(kind)).sum::<usize>(), machine.usable());
    assert!(kinds.clone().all(|kind| machine.count(kind) > 0), "every kind has cores");
    assert_eq!(machine.platform().kinds().len(), kinds.len());
}

/// Kind, number of cores.
pub(super) fn kinds(machine: &Machine) -> Vec<(&str, usize)> {
    machine.kinds().iter().enumerate().map(|(index, kind)| (kind.name.as_str(), machine.count(index))).collect()
}

/// Of each cluster, kind and first hardware threads.
pub(super) fn clusters(machine: &Machine) -> Vec<(&str, Vec<usize>)> {
    let mut clusters: Vec<(&str, Vec<usize>)> = Vec::new();
    for core in machine.cores() {
        if core.cluster == clusters.len() {
            clusters.push((&machine.kinds()[core.kind].name, Vec::new()));
        }
        clusters[core.cluster].1.push(core.threads[0]);
    }
    clusters
}

/// Level, content, KiB and number of cores of the caches.
pub(super) fn caches(machine: &Machine, level: u8, holds: CacheContent) -> Vec<(u64, usize)> {
    let caches = machine.caches().iter().filter(|cache| (cache.level, cache.holds) == (level, holds));
    caches.map(|cache| (cache.bytes.unwrap() >> 10, cache.cores.len())).collect()
}

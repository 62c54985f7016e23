//! A machine as Linux describes it in `/sys` and `/proc`.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use super::arrange::{Claim, Described, Description, Notes};
use super::{CacheContent, MAX_THREADS, Machine, list, quota};

const CPUS: &str = "sys/devices/system/cpu";
/// The lists of hybrid processors, from the fastest class of cores to the slowest.
const CLASSES: [&str; 3] = ["cpu_core", "cpu_atom", "cpu_lowpower"];
/// More hardware threads than any core has.
const MAX_SIBLINGS: usize = 16;
/// More caches than any core sees.
const MAX_CACHES: usize = 10;
const MAX_MHZ: u32 = 100_000;

/// The machine that the files under `root` describe; one of `fallback` cores where they tell none.
pub(super) fn read(root: &Path, fallback: usize) -> Machine {
    let mut files = Files::new(root);
    let (mut online, allowed) = threads(&mut files);
    if online.is_empty() {
        files.notes.add(|| format!("{CPUS} tells no processor: {fallback} supposed."));
        online = (0..fallback.clamp(1, MAX_THREADS)).collect();
    }
    let mut description =
        Description { model: model(&mut files), cores: cores(&mut files, &online), ..Default::default() };
    for core in &description.cores {
        caches(&mut files, core, &mut description.caches);
        description
            .clusters
            .extend(files.threads(&format!("{CPUS}/cpu{}/topology/cluster_cpus_list", core.threads[0])));
    }
    description.clusters.sort_unstable();
    description.clusters.dedup();
    description.quota = quota::quota(&mut files);
    let is_allowed = |thread: &usize| allowed.as_ref().is_none_or(|allowed| allowed.binary_search(thread).is_ok());
    let any = online.iter().any(is_allowed);
    if !any {
        let note = "proc/self/status allows no processor that is online: all are taken to be allowed.";
        files.notes.add(|| note.to_owned());
    }
    description.notes = files.notes;
    description.machine(|thread| !any || is_allowed(&thread))
}

/// The hardware threads that are online, and those that the process may run on, where the system tells.
fn threads(files: &mut Files) -> (Vec<usize>, Option<Vec<usize>>) {
    let status = files.text("proc/self/status").unwrap_or_default();
    let allowed = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    let allowed = allowed.and_then(|text| files.parsed("proc/self/status", text, list::threads));
    let online = match files.threads(&format!("{CPUS}/online")) {
        Some(online) => online,
        None => files.processors(),
    };
    // A container's file system may count the processors of `online` anew; those that are allowed are there all the same.
    if let Some(allowed) = &allowed
        && !allowed.iter().any(|thread| online.binary_search(thread).is_ok())
    {
        let there: Vec<usize> =
            allowed.iter().copied().filter(|thread| files.is_folder(&format!("{CPUS}/cpu{thread}"))).collect();
        if !there.is_empty() {
            return (there, Some(allowed.clone()));
        }
    }
    (online, allowed)
}

/// The physical cores, by the number of their first hardware thread.
fn cores(files: &mut Files, online: &[usize]) -> Vec<Described> {
    let siblings = siblings(files, online);
    let nodes = nodes(files);
    let classes = CLASSES.map(|class| files.threads(&format!("sys/devices/{class}/cpus")).unwrap_or_default());
    let hybrid = classes.iter().any(|class| !class.is_empty());
    let mut cores = Vec::with_capacity(siblings.len());
    for threads in siblings {
        let first = threads[0];
        let class = classes.iter().position(|class| class.binary_search(&first).is_ok());
        let cpu = format!("{CPUS}/cpu{first}");
        cores.push(Described {
            package: files.package(&format!("{cpu}/topology/physical_package_id")),
            node: nodes.get(&first).copied().unwrap_or(0),
            class: class.unwrap_or(if hybrid { classes.len() } else { 0 }),
            capacity: files.number(&format!("{cpu}/cpu_capacity"), 1..=1024),
            // In kHz.
            max_mhz: files
                .number(&format!("{cpu}/cpufreq/cpuinfo_max_freq"), 1000..=MAX_MHZ * 1000)
                .map(|khz| khz / 1000),
            performance: files.number(&format!("{cpu}/acpi_cppc/highest_perf"), 1..=u32::MAX),
            threads,
        });
    }
    cores
}

/// The hardware threads of each core. Threads share a core only if both sides say so.
fn siblings(files: &mut Files, online: &[usize]) -> Vec<Vec<usize>> {
    let mut lists: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for &thread in online {
        let topology = format!("{CPUS}/cpu{thread}/topology");
        // The older name is still written beside the newer.
        let path = format!("{topology}/core_cpus_list");
        let list = files.threads(&path).or_else(|| files.threads(&format!("{topology}/thread_siblings_list")));
        let mut list = list.unwrap_or_else(|| vec![thread]);
        if list.len() > MAX_SIBLINGS || !list.contains(&thread) {
            files.odd(&path, "does not tell the threads of this core");
            list = vec![thread];
        }
        lists.insert(thread, list);
    }
    let mut cores: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (&thread, list) in &lists {
        let leader = list.iter().find(|other| lists.get(other).is_some_and(|others| others.contains(&thread)));
        cores.entry(*leader.unwrap_or(&thread)).or_default().push(thread);
    }
    cores.into_values().collect()
}

/// The NUMA node of each hardware thread.
fn nodes(files: &mut Files) -> BTreeMap<usize, usize> {
    let mut nodes = BTreeMap::new();
    for node in files.threads("sys/devices/system/node/online").unwrap_or_default() {
        let path = format!("sys/devices/system/node/node{node}/cpulist");
        for thread in files.threads(&path).unwrap_or_default() {
            if *nodes.entry(thread).or_insert(node) != node {
                files.odd(&path, "names processors of another node");
            }
        }
    }
    nodes
}

/// Adds the caches that the first hardware thread of a core sees.
fn caches(files: &mut Files, core: &Described, claims: &mut Vec<Claim>) {
    for index in 0..MAX_CACHES {
        let cache = format!("{CPUS}/cpu{}/cache/index{index}", core.threads[0]);
        let Some(level) = files.number(&format!("{cache}/level"), 1..=9) else {
            if files.is_folder(&cache) { continue } else { break }
        };
        let holds = match files.text(&format!("{cache}/type")).as_deref().map(str::trim) {
            Some("Data") => CacheContent::Data,
            Some("Instruction") => CacheContent::Instructions,
            _ => CacheContent::Both,
        };
        let size = format!("{cache}/size");
        let bytes = files.text(&size).and_then(|text| files.parsed(&size, &text, bytes));
        let list = format!("{cache}/shared_cpu_list");
        let mut threads = files.threads(&list).unwrap_or_default();
        if !threads.contains(&core.threads[0]) {
            files.odd(&list, "does not name this processor");
            threads = core.threads.clone();
        }
        claims.push(Claim { level: level as u8, holds, bytes, threads });
    }
}

/// A size such as `32K`.
fn bytes(text: &str) -> Option<u64> {
    let text = text.trim();
    let (number, unit) = match text.strip_suffix('K') {
        Some(number) => (number, 1 << 10),
        None => text.strip_suffix('M').map_or((text, 1), |number| (number, 1 << 20)),
    };
    number.parse::<u32>().ok().filter(|&number| number > 0).map(|number| u64::from(number) * unit)
}

/// What x86 processors call themselves, else what the board is called.
fn model(files: &mut Files) -> String {
    let cpuinfo = files.text("proc/cpuinfo").unwrap_or_default();
    let value = |key: &str| {
        let lines = cpuinfo.lines().filter_map(|line| line.split_once(':'));
        lines
            .map(|(name, value)| (name.trim(), value))
            .find(|(name, _)| *name == key)
            .map(|(_, value)| value.to_owned())
    };
    let names =
        [value("model name"), files.text("sys/firmware/devicetree/base/model"), value("Model"), value("Hardware")];
    let is_name = |name: &String| name.chars().any(|c| !c.is_control() && !c.is_whitespace());
    names.into_iter().flatten().find(is_name).unwrap_or_default()
}

/// Files under a root, which may be damaged or made to do harm.
pub(super) struct Files {
    root: PathBuf,
    /// Links lead where they will on this machine, whose files are what they are; elsewhere not out of the root.
    is_here: bool,
    notes: Notes,
}

/// What is read of a file, in bytes: more than any has that is read whole.
const LONGEST: u64 = 1 << 16;
/// Characters of a text that are shown in a note.
const SHOWN: usize = 40;

impl Files {
    fn new(root: &Path) -> Self {
        let is_here = root == Path::new("/");
        Self { root: root.canonicalize().unwrap_or_else(|_| root.to_owned()), is_here, notes: Notes::default() }
    }

    /// The beginning of a file; `None` where there is none that can be read.
    pub(super) fn text(&mut self, path: &str) -> Option<String> {
        let mut place = self.root.join(path);
        if !self.is_here {
            let real = place.canonicalize().ok()?;
            if !real.starts_with(&self.root) {
                self.odd(path, "is a link that leaves the folder");
                return None;
            }
            place = real;
        }
        // A pipe or a device might never answer.
        if !fs::metadata(&place).ok()?.is_file() {
            self.odd(path, "is not a file");
            return None;
        }
        let mut bytes = Vec::new();
        File::open(place).ok()?.take(LONGEST).read_to_end(&mut bytes).ok()?;
        Some(String::from_utf8_lossy(&bytes).into_owned())
    }

    fn is_folder(&self, path: &str) -> bool {
        self.root.join(path).is_dir()
    }

    /// A whole number; one that is not in `range` is noted.
    fn number(&mut self, path: &str, range: std::ops::RangeInclusive<u32>) -> Option<u32> {
        let text = self.text(path)?;
        self.parsed(path, &text, |text| u32::from_str(text.trim()).ok().filter(|number| range.contains(number)))
    }

    /// A list of hardware threads.
    fn threads(&mut self, path: &str) -> Option<Vec<usize>> {
        let text = self.text(path)?;
        self.parsed(path, &text, list::threads)
    }

    /// The number of a package, which is -1 where the system knows of none.
    fn package(&mut self, path: &str) -> usize {
        let Some(text) = self.text(path) else { return 0 };
        if text.trim() == "-1" {
            return 0;
        }
        self.parsed(path, &text, |text| usize::from_str(text.trim()).ok().filter(|&id| id < MAX_THREADS)).unwrap_or(0)
    }

    /// The numbers of the folders of processors.
    fn processors(&self) -> Vec<usize> {
        let Ok(folder) = fs::read_dir(self.root.join(CPUS)) else { return Vec::new() };
        let number = |name: &str| name.strip_prefix("cpu")?.parse().ok().filter(|&thread| thread < MAX_THREADS);
        let names = folder.take(2 * MAX_THREADS).filter_map(|entry| number(entry.ok()?.file_name().to_str()?));
        let mut processors: Vec<usize> = names.collect();
        processors.sort_unstable();
        processors.dedup();
        processors
    }

    fn parsed<T>(&mut self, path: &str, text: &str, parse: impl Fn(&str) -> Option<T>) -> Option<T> {
        let value = parse(text);
        if value.is_none() {
            let text: String = text.trim().chars().take(SHOWN).collect();
            self.odd(path, &format!("reads {text:?}"));
        }
        value
    }

    /// Notes that a file is not what it should be, which is why it is not used.
    pub(super) fn odd(&mut self, path: &str, what: &str) {
        self.notes.add(|| format!("{path} {what}: it is not used."));
    }
}

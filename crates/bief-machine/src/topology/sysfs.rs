//! A machine as Linux describes it in `/sys` and `/proc`.

use std::collections::BTreeMap;
use std::path::Path;

use super::arrange::{Claim, Described, Description};
use super::files::{CPUS, Files};
use super::{CacheContent, MAX_THREADS, Machine, list, quota};

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
